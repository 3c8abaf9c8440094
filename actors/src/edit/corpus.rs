//! Files as hosts and their users have them, with our entries put into them and taken out again.

#[cfg(test)]
mod tests {
    use frith_store::hosts::Format::{self, Json, Jsonc, Toml, Yaml};
    use serde_json::{Value, json};

    use super::super::{EditError, Match, Step, proof, put, read, take};

    /// A file, and where something of ours goes in it.
    struct Row {
        name: &'static str,
        format: Format,
        text: &'static str,
        at: Vec<Step>,
        value: Value,
    }

    fn keys(keys: &[&str]) -> Vec<Step> {
        keys.iter().map(|key| Step::Key((*key).to_owned())).collect()
    }

    fn server() -> Value {
        json!({"command": "frith", "args": ["mcp", "--host", "x"], "type": "stdio"})
    }

    macro_rules! row {
        ($name:literal, $format:expr, $keys:expr) => {
            Row { name: $name, format: $format, text: include_str!(concat!("fixtures/", $name)), at: keys(&$keys), value: server() }
        };
        ($name:literal, $format:expr, $keys:expr, in a list $value:expr) => {{
            let value = $value;
            let at = [keys(&$keys), vec![Step::Item(Match::Equal(value.clone()))]].concat();
            Row { name: $name, format: $format, text: include_str!(concat!("fixtures/", $name)), at, value }
        }};
    }

    fn rows() -> Vec<Row> {
        let group = || json!({"matcher": "*", "hooks": [{"type": "command", "command": "frith hook PostToolUse", "timeout": 5}]});
        let named = json!({"name": "frith", "command": "frith", "args": ["mcp"]});
        vec![
            row!("claude.json", Json, ["mcpServers", "frith"]),
            row!("claude.json", Json, ["projects", "/home/ada/C:\\work, {old}", "mcpServers", "frith"]),
            row!("claude-settings.json", Json, ["hooks", "PostToolUse"], in a list group()),
            row!("claude-settings.json", Json, ["hooks", "Stop"], in a list group()),
            row!("claude-settings.json", Json, ["hooks", "SessionStart"], in a list group()),
            row!("vscode-mcp.json", Jsonc, ["servers", "frith"]),
            row!("zed-settings.json", Jsonc, ["context_servers", "frith"]),
            row!("amp-settings.json", Jsonc, ["amp.mcpServers", "frith"]),
            row!("codex-config.toml", Toml, ["mcp_servers", "frith"]),
            row!("kimi-config.toml", Toml, ["hooks"], in a list json!({"event": "Stop", "command": "frith hook Stop", "timeout": 5})),
            row!("codewhale-config.toml", Toml, ["hooks", "hooks"], in a list json!({"name": "frith", "event": "session_end", "command": "frith"})),
            row!("goose-config.yaml", Yaml, ["extensions", "frith"]),
            row!("continue-config.yaml", Yaml, ["mcpServers"], in a list named),
            row!("copilot-hooks.json", Json, ["hooks", "sessionStart"], in a list json!({"type": "command", "bash": "frith"})),
            row!("crush.json", Json, ["mcp", "frith"]),
            row!("opencode.jsonc", Jsonc, ["mcp", "frith"]),
            row!("zcode-config.json", Json, ["mcp", "servers", "frith"]),
            row!("zcode-config.json", Json, ["hooks", "events", "PostToolUse"], in a list group()),
        ]
    }

    /// The same file as other editors would have saved it.
    fn variants(text: &str) -> Vec<String> {
        let windows = text.replace('\n', "\r\n");
        let bare = text.trim_end().to_owned();
        vec![
            text.to_owned(),
            format!("\u{feff}{text}"),
            format!("\u{feff}{windows}"),
            windows.clone(),
            text.replacen('\n', "\r\n", 5),
            bare,
            format!("{text}\n\n"),
        ]
    }

    #[test]
    fn every_real_file_takes_our_entry_and_loses_it_again() {
        for row in rows() {
            for text in variants(row.text) {
                assert!(
                    proof::check(row.format, Some(&text), &row.at, &row.value),
                    "{}: {:?}",
                    row.name,
                    put(row.format, Some(&text), &row.at, &row.value)
                );
            }
            assert!(proof::check(row.format, None, &row.at, &row.value), "{}", row.name);
        }
    }

    #[test]
    fn real_files_with_our_entry() {
        let of =
            |row: &Row| format!("{} {:?}\n{}", row.name, row.format, put(row.format, Some(row.text), &row.at, &row.value).unwrap().text);
        insta::assert_snapshot!(rows().iter().map(of).collect::<Vec<_>>().join("\n----\n"));
    }

    #[test]
    fn b23_settings_with_comments_and_last_commas_are_kept_to_the_byte() {
        let row = rows().into_iter().find(|row| row.name == "zed-settings.json").unwrap();
        let put = put(Jsonc, Some(row.text), &row.at, &row.value).unwrap();
        let ours = "    \"frith\": {\n      \"command\": \"frith\",\n      \"args\": [\n        \"mcp\",\n        \"--host\",\n        \"x\",\n      ],\n      \"type\": \"stdio\",\n    },\n";
        assert_eq!(put.text.replacen(ours, "", 1), row.text);
        for blank in ["", " ", "\r\n", "\u{feff}", "\0"] {
            let refused =
                [super::super::put(Jsonc, Some(blank), &row.at, &row.value).map(drop), take(Jsonc, Some(blank), &row.at, 1).map(drop)];
            assert!(refused.iter().all(|it| matches!(it, Err(EditError::NotParsed { line: 1 | 2, .. }))), "{blank:?} {refused:?}");
        }
    }

    #[test]
    fn b24_hooks_of_others_for_the_same_event_stay_in_their_order() {
        for row in rows().iter().filter(|row| matches!(row.at.last(), Some(Step::Item(_)))) {
            let list = &row.at[..row.at.len() - 1];
            let before = read(row.format, Some(row.text), list).unwrap().unwrap_or_else(|| json!([]));
            let put = put(row.format, Some(row.text), &row.at, &row.value).unwrap();
            let after = read(row.format, Some(&put.text), list).unwrap().unwrap();
            let (ours, theirs) = after.as_array().unwrap().split_last().unwrap();
            assert_eq!((ours, theirs), (&row.value, before.as_array().unwrap().as_slice()), "{}", row.name);
        }
    }

    #[test]
    fn b26_the_key_of_another_host_is_not_the_one() {
        let row = rows().into_iter().find(|row| row.name == "opencode.jsonc").unwrap();
        let put = put(row.format, Some(row.text), &row.at, &row.value).unwrap();
        assert_eq!(read(Jsonc, Some(&put.text), &keys(&["mcpServers"])).unwrap(), Some(json!({"never": "read by this host"})));
        let amp = rows().into_iter().find(|row| row.name == "amp-settings.json").unwrap();
        let put = super::super::put(Jsonc, Some(amp.text), &amp.at, &amp.value).unwrap();
        assert_eq!(read(Jsonc, Some(&put.text), &keys(&["amp", "mcpServers"])).unwrap(), Some(json!({"not": "this one"})));
    }

    #[test]
    fn b29_the_state_of_trust_survives_a_second_install_and_a_change() {
        let row = rows().into_iter().find(|row| row.name == "codex-config.toml").unwrap();
        let once = put(Toml, Some(row.text), &row.at, &row.value).unwrap().text;
        assert_eq!(put(Toml, Some(&once), &row.at, &row.value).unwrap().text, once);
        let newer = put(Toml, Some(&once), &row.at, &json!({"command": "/opt/frith", "args": []})).unwrap().text;
        for text in [&once, &newer] {
            assert!(text.starts_with(row.text), "{text}");
            assert_eq!(read(Toml, Some(text), &keys(&["hooks"])), read(Toml, Some(row.text), &keys(&["hooks"])));
        }
        let theirs = newer.replace("trust_level = \"untrusted\"", "trust_level = \"trusted\"");
        let left = take(Toml, Some(&theirs), &row.at, 0).unwrap().unwrap();
        assert_eq!(left, row.text.replace("trust_level = \"untrusted\"", "trust_level = \"trusted\""));
    }

    #[test]
    fn a_file_of_ten_megabytes_is_changed_in_one_place() {
        let history: Vec<Value> =
            (0..40_000).map(|number| json!({"display": "x".repeat(200), "number": number, "pastedContents": {}})).collect();
        let mut whole: Value = serde_json::from_str(include_str!("fixtures/claude.json")).unwrap();
        whole["projects"]["/home/ada/app"]["history"] = history.into();
        for text in [serde_json::to_string_pretty(&whole).unwrap(), whole.to_string()] {
            assert!(text.len() > 9 << 20, "{}", text.len());
            let put = put(Json, Some(&text), &keys(&["mcpServers", "frith"]), &server()).unwrap();
            assert_eq!(take(Json, Some(&put.text), &keys(&["mcpServers", "frith"]), put.made).unwrap(), Some(text));
        }
    }
}
