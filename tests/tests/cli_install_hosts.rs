//! What single hosts do with their own files beside what is entered there: they write below our entry, switch hooks off, and keep
//! texts in them that only JSON allows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{fs, path::Path};

use frith_store::hosts;
use frith_tests::{Run, Sandbox, run::write_program};
use serde_json::{Value, json};

/// A machine on which a host is found by its first command, or by its place below the person's folder.
fn with_host(id: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let signs = hosts::host(id).unwrap().here.signs[0];
    let places = if cfg!(target_os = "macos") { signs.macos } else { signs.linux };
    let place = places.iter().find_map(|path| path.strip_prefix("~/")).map(str::to_owned);
    let path = signs.commands.first().map(|command| format!("bin/{command}")).or(place).unwrap();
    let path = sandbox.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_program(&path, "#!/bin/sh\necho 1.2.3\n").unwrap();
    sandbox
}

fn frith(sandbox: &Sandbox, line: &[&str]) -> Run {
    sandbox.call(line).env("PATH", sandbox.root().join("bin")).run()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn listed(sandbox: &Sandbox, host: &str) -> Value {
    let listed = frith(sandbox, &["agents", "list", "--all", "--json"]).ok().json();
    listed["hosts"].as_array().unwrap().iter().find(|it| it["host"] == host).unwrap().clone()
}

fn entry_of(host: &Value) -> &str {
    host["parts"].as_array().unwrap().iter().find(|part| part["what"] == "entry").unwrap()["state"].as_str().unwrap()
}

#[test]
fn what_codex_notes_below_our_entry_is_no_edit_and_goes_with_it() {
    let sandbox = with_host("codex");
    let path = sandbox.root().join(".codex/config.toml");
    put(&path, "model = \"o\"\n");
    let _ = frith(&sandbox, &["agents", "install", "codex"]).ok();
    let entered = read(&path);
    let noted = format!("{entered}\n[mcp_servers.frith.tools.agent_send]\napproval_mode = \"approve\"\n\n[features]\nx = true\n");
    put(&path, &noted);
    assert_eq!(entry_of(&listed(&sandbox, "codex")), "current");
    let again = frith(&sandbox, &["agents", "install", "codex"]).ok();
    assert!(again.stdout.contains("codex: as it was"), "{}", again.transcript());
    assert_eq!(read(&path), noted);
    put(&path, &noted.replace("[\"mcp\"", "[\"-v\", \"mcp\""));
    assert_eq!(entry_of(&listed(&sandbox, "codex")), "edited", "what a person changes is theirs all the same");
    let command = entered.lines().find(|line| line.starts_with("command = ")).unwrap();
    put(&path, &noted.replace(command, "command = \"/gone/frith\""));
    let mended = frith(&sandbox, &["agents", "install", "codex"]).ok();
    assert!(read(&path).contains(command) && read(&path).contains("\"approve\""), "{}", mended.transcript());
    put(&path, &noted);
    let out = frith(&sandbox, &["agents", "uninstall", "codex"]).ok();
    let left: Vec<_> = read(&path).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect();
    assert_eq!(left, ["model = \"o\"", "[features]", "x = true"], "{}", out.transcript());
}

#[test]
fn hooks_that_a_host_has_switched_off_are_told() {
    for (host, name, off, key) in [
        ("claude", ".claude/settings.json", json!({"disableAllHooks": true}), "disableAllHooks"),
        ("zcode", ".zcode/cli/config.json", json!({"hooks": {"enabled": false}}), "hooks.enabled"),
    ] {
        let sandbox = with_host(host);
        let path = sandbox.root().join(name);
        put(&path, &off.to_string());
        let _ = frith(&sandbox, &["agents", "install", host]).ok();
        assert_eq!(listed(&sandbox, host)["hooksOff"], json!([{"file": path, "key": key}]));
        let list = frith(&sandbox, &["agents", "list"]).ok();
        assert!(list.stdout.contains(&format!("{host}: its hooks are switched off by `{key}`")), "{}", list.transcript());
        let told = frith(&sandbox, &["doctor"]);
        assert!(told.stdout.contains(&format!("`{host}`: its hooks are switched off by `{key}`")), "{}", told.transcript());
        let _ = frith(&sandbox, &["agents", "uninstall", host]).ok();
        assert_eq!(read(&path), off.to_string());
    }
}

#[test]
fn half_a_pair_that_json_allows_is_no_fault_and_stays_as_it_is() {
    let sandbox = with_host("claude");
    let path = sandbox.root().join(".claude.json");
    let text = "{\n  \"history\": [\"cut \\ud83d\", \"\\uDE00 \\\\ud83d \\ud83d\\ude00\"],\n  \"\\ud800\": 1\n}\n";
    put(&path, text);
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(read(&path).contains("\"cut \\ud83d\", \"\\uDE00 \\\\ud83d \\ud83d\\ude00\"") && read(&path).contains("\"frith\""));
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(read(&path), text);
}

#[test]
fn every_shell_of_copilot_gets_a_command_that_ends_well_without_frith() {
    let sandbox = with_host("copilot");
    let _ = frith(&sandbox, &["agents", "install", "copilot"]).ok();
    let file =
        listed(&sandbox, "copilot")["parts"].as_array().unwrap().iter().find(|part| part["what"] != "entry").unwrap()["file"].clone();
    let hooks: Value = serde_json::from_str(&read(Path::new(file.as_str().unwrap()))).unwrap();
    for (event, list) in hooks["hooks"].as_object().unwrap() {
        let wanted = format!("if (Get-Command frith -ErrorAction SilentlyContinue) {{ frith hook {event} --host copilot }}; exit 0");
        assert_eq!(list[0]["powershell"], json!(wanted));
        assert!(list[0]["bash"].as_str().unwrap().ends_with("; exit 0'"));
    }
}

#[test]
fn a_file_that_only_looks_like_a_backup_of_ours_is_never_removed() {
    let sandbox = with_host("claude");
    sandbox.config("[install]\nbackup_files = 1\n");
    let path = sandbox.root().join(".claude/settings.json");
    put(&path, "{}");
    let own = path.with_file_name("settings.json.bak-20200101T000000000Z");
    put(&own, "mine");
    for _ in 0..2 {
        let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
        let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    }
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let backups: Vec<_> = names.filter(|name| name.contains(".bak-")).collect();
    assert!(backups.len() == 2 && read(&own) == "mine", "{backups:?}");
}
