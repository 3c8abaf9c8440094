//! Installing into hosts through the real command: each host's own files, entered into and given back to the byte. Hosts are
//! programs that do nothing, on a search path of their own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use frith_store::hosts::{self, Format, Host};
use frith_tests::{
    Run, Sandbox,
    run::{Call, write_program},
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A call on a machine whose search path has nothing but what a test puts there.
fn call(sandbox: &Sandbox, line: &[&str]) -> Call {
    sandbox.call(line).env("PATH", sandbox.root().join("bin"))
}

fn frith(sandbox: &Sandbox, line: &[&str]) -> Run {
    call(sandbox, line).run()
}

/// Puts a host there, as its row says that it is found: each variant by its first command, place or extension.
fn put_host(sandbox: &Sandbox, host: &Host) {
    for signs in host.here.signs {
        let place = |path: &str| path.replacen('~', &sandbox.root().to_string_lossy(), 1);
        let places = if cfg!(target_os = "macos") { signs.macos } else { signs.linux };
        match (signs.commands, signs.extensions, places.iter().find(|path| path.starts_with('~'))) {
            ([command, ..], ..) => {
                let program = sandbox.root().join("bin").join(command);
                write_program(&program, &format!("#!/bin/sh\necho {command} 1.2.3\n")).unwrap();
            }
            (_, [extension, ..], _) => {
                let folder = sandbox.root().join(format!(".vscode/extensions/{extension}-4.5.6"));
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("package.json"), "{}").unwrap();
            }
            (.., Some(path)) => {
                let path = PathBuf::from(place(path));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                write_program(&path, "#!/bin/sh\n").unwrap();
            }
            _ => {}
        }
    }
}

fn with_host(id: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    put_host(&sandbox, hosts::host(id).unwrap());
    sandbox
}

fn with_all_hosts() -> Sandbox {
    let sandbox = Sandbox::new();
    hosts::all().iter().for_each(|host| put_host(&sandbox, host));
    sandbox
}

/// Every file and folder below the user's folder that is not the node's or the test's own, with what is in it.
fn tree(sandbox: &Sandbox) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    fn walk(folder: &Path, into: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
        // What goes while it is looked at is not there.
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                into.insert(path.clone(), None);
                walk(&path, into);
            } else if let Ok(bytes) = fs::read(&path) {
                into.insert(path, Some(bytes));
            }
        }
    }
    let own = [".frith", "bin", "run", "tmp", ".vscode"];
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(sandbox.root()).unwrap().map(Result::unwrap).filter(|it| own.iter().all(|own| it.file_name() != *own)) {
        let path = entry.path();
        if path.is_dir() {
            found.insert(path.clone(), None);
            walk(&path, &mut found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.insert(path, Some(bytes));
        }
    }
    found
}

fn without_backups(mut tree: BTreeMap<PathBuf, Option<Vec<u8>>>) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    tree.retain(|path, _| !path.to_string_lossy().contains(".bak-"));
    tree
}

fn listed(sandbox: &Sandbox, host: &str) -> Value {
    let listed = frith(sandbox, &["agents", "list", "--all", "--json"]).ok().json();
    listed["hosts"].as_array().unwrap().iter().find(|it| it["host"] == host).unwrap().clone()
}

/// The states of a host's parts, each once.
fn states(host: &Value) -> Vec<String> {
    let mut states: Vec<_> = host["parts"].as_array().unwrap().iter().map(|part| part["state"].as_str().unwrap().to_owned()).collect();
    states.sort();
    states.dedup();
    states
}

/// Every host that takes an entry has all that it is to have. One that is found in the system's own folders alone cannot be
/// played.
fn require_all_current(sandbox: &Sandbox, done: &Run) {
    let listed = frith(sandbox, &["agents", "list", "--all", "--json"]).ok().json();
    let (here, away): (Vec<_>, Vec<_>) =
        listed["hosts"].as_array().unwrap().iter().filter(|it| it["takesEntry"] == true).partition(|it| it["found"] != json!([]));
    for state in here {
        assert_eq!(states(state), ["current"], "{state:#}\n{}", done.transcript());
        assert_eq!(state["faults"], json!([]));
    }
    assert!(away.len() <= 1, "{away:#?}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

/// The texts that each file of a host may hold before, by its format; none stands for a file that is not there.
const TEXTS: &[(Format, &[Option<&str>])] = &[
    (
        Format::Json,
        &[
            None,
            Some("{}"),
            Some("{\n  \"theme\": \"dark\"\n}\n"),
            Some("{\"mcpServers\": {\"other\": {\"command\": \"x\", \"args\": []}}, \"z\": 1, \"a\": 2}"),
            Some("{\r\n\t\"mcpServers\": {},\r\n\t\"hooks\": {}\r\n}\r\n"),
            Some("\u{feff}{\n    // a note\n    \"a\": [1, 2,], /* and one */\n}\n"),
            Some("{\n\t\"a\": {\n\t\t\"b\": null\n\t}\n}"),
        ],
    ),
    (
        Format::Toml,
        &[
            None,
            Some(""),
            Some("# mine\nmodel = \"large\" # the best\n\n[other]\nx = 1\n"),
            Some("[mcp_servers.other]\r\ncommand = \"x\"\r\n"),
            Some("\u{feff}a = 1\n"),
            Some("[a]\nb = { c = 1 }"),
            Some("[[list]]\nname = \"one\"\n\n[[list]]\nname = \"two\"\n"),
        ],
    ),
    (
        Format::Yaml,
        &[
            None,
            Some(""),
            Some("# mine\nname: ada\nlist:\n  - one\n  - two\n"),
            Some("a: 1\r\nb:\r\n    c: 2\r\n"),
            Some("\u{feff}a: 1\n"),
            Some("extensions:\n  other:\n    enabled: true\n"),
            Some("a: 1 # no line end"),
        ],
    ),
];

fn format_of(path: &Path) -> Format {
    match path.extension().and_then(|it| it.to_str()) {
        Some("toml") => Format::Toml,
        Some("yaml") => Format::Yaml,
        _ => Format::Json,
    }
}

/// The configuration files of every host, as `list` names them.
fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let listed = frith(sandbox, &["agents", "list", "--all", "--json"]).ok().json();
    let parts = listed["hosts"].as_array().unwrap().iter().flat_map(|host| host["parts"].as_array().unwrap().clone());
    let mut files: Vec<_> = parts.map(|part| PathBuf::from(part["file"].as_str().unwrap())).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "json" || it == "toml" || it == "yaml"));
    files.sort();
    files.dedup();
    files
}

#[test]
fn every_host_is_entered_once_and_given_back_to_the_byte_whatever_its_files_hold() {
    let sandbox = with_all_hosts();
    let files = files(&sandbox);
    assert!(files.len() > 35, "{files:?}");
    for at in 0..TEXTS[0].1.len() {
        for path in &files {
            let texts = TEXTS.iter().find(|(format, _)| *format == format_of(path)).unwrap().1;
            if let Some(text) = texts[at] {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let before = tree(&sandbox);
        let done = frith(&sandbox, &["agents", "install", "--all"]).ok();
        let entered = tree(&sandbox);
        require_all_current(&sandbox, &done);
        let again = frith(&sandbox, &["agents", "install", "--all", "--json"]).ok().json();
        assert!(
            again["hosts"].as_array().unwrap().iter().all(|host| host["files"].as_array().unwrap().iter().all(|it| it["diff"].is_null()))
        );
        assert_eq!(tree(&sandbox), entered, "form {at}: nothing changes, not even a backup is made");
        let _ = frith(&sandbox, &["agents", "uninstall", "--all"]).ok();
        let after = without_backups(tree(&sandbox));
        for (path, bytes) in &before {
            let text = |bytes: Option<&Option<Vec<u8>>>| bytes.cloned().flatten().map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(text(after.get(path)), text(Some(bytes)), "form {at}: {}", path.display());
        }
        let left: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(left.is_empty(), "form {at}: {left:?}");
        for path in before.keys().chain(tree(&sandbox).keys()).filter(|path| path.is_file()) {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_host_is_listed_installed_and_taken_out() {
    let sandbox = with_host("claude");
    let settings = sandbox.root().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    let runs = [
        ["agents", "list"].as_slice(),
        &["agents", "install", "claude", "--dry-run"],
        &["agents", "install", "claude"],
        &["agents", "install", "claude"],
        &["agents", "list"],
        &["agents", "uninstall", "claude"],
        &["agents", "uninstall", "claude"],
    ]
    .map(|line| frith(&sandbox, line).ok());
    let text = sandbox.transcript(&runs);
    let text = text.lines().map(|line| line.split(".bak-").next().unwrap()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text);
    assert_eq!(read(&settings), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!sandbox.root().join(".claude.json").exists() && !sandbox.root().join(".claude/skills").exists());
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let sandbox = with_host("codex");
    let run = frith(&sandbox, &["agents", "install", "codex", "--dry-run"]).ok();
    assert!(run.stdout.contains("+[mcp_servers.frith]") && run.stdout.contains("--- /dev/null"), "{}", run.transcript());
    assert!(tree(&sandbox).is_empty() && !sandbox.home().exists());
}

#[test]
fn a_host_that_is_not_here_is_refused_by_name_before_anything_is_written() {
    let sandbox = with_host("claude");
    fs::create_dir_all(sandbox.root().join(".codex")).unwrap();
    fs::write(sandbox.root().join(".codex/config.toml"), "model = \"o\"\n").unwrap();
    let before = tree(&sandbox);
    let run = frith(&sandbox, &["agents", "install", "claude,codex,gemini"]).ends_with(1);
    assert!(run.stderr.contains("`codex`, `gemini` are not on this machine"), "{}", run.transcript());
    assert_eq!(tree(&sandbox), before, "a folder that was left does not count");
}

#[test]
fn all_takes_those_that_are_here_and_says_which_not() {
    let sandbox = with_host("gemini");
    put_host(&sandbox, hosts::host("aider").unwrap());
    let run = frith(&sandbox, &["agents", "install", "--all"]).ok();
    assert!(run.stdout.contains("passed over, since it takes no entry: aider"), "{}", run.transcript());
    assert!(run.stdout.contains("not on this machine: claude, cursor, codex"), "{}", run.transcript());
    assert!(run.stdout.contains("only in folders that you trust"), "{}", run.transcript());
    assert!(sandbox.root().join(".gemini/settings.json").exists());
}

#[test]
fn files_lie_where_the_hosts_own_variables_say() {
    let sandbox = with_host("codex");
    let elsewhere = sandbox.root().join("elsewhere");
    let _ = call(&sandbox, &["agents", "install", "codex"]).env("CODEX_HOME", &elsewhere).run().ok();
    assert!(elsewhere.join("config.toml").exists() && elsewhere.join("hooks.json").exists() && !sandbox.root().join(".codex").exists());
    let listed = frith(&sandbox, &["agents", "list", "--json"]).ok().json();
    let codex = listed["hosts"].as_array().unwrap().iter().find(|host| host["host"] == "codex").unwrap();
    let there = elsewhere.to_str().unwrap();
    let stands = |part: &Value| part["state"] == "current";
    assert!(codex["parts"].as_array().unwrap().iter().all(stands), "what was entered is looked for where it was: {codex:#}");
    assert!(codex["parts"][0]["file"].as_str().unwrap().starts_with(there), "{codex:#}");
    // What was entered there is taken out there, also when the variable is not set any more.
    let _ = frith(&sandbox, &["agents", "uninstall", "codex"]).ok();
    assert!(!elsewhere.exists());
}

#[test]
fn what_cannot_be_installed_is_refused_with_what_would_help() {
    let sandbox = with_host("claude");
    let lines = [
        ["agents", "install", "cluade"].as_slice(),
        &["agents", "install", "claude,codex,gemini"],
        &["agents", "install", "aider"],
        &["agents", "install", "claude", "--project"],
        &["agents", "uninstall", "cursor,claude", "--project"],
        &["agents", "install", "cursor", "--project"],
        &["agents", "uninstall", "nothing-at-all"],
    ];
    let runs = lines.map(|line| frith(&sandbox, line).ends_with(1));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert!(tree(&sandbox).is_empty());
}

#[test]
fn only_a_person_installs() {
    let sandbox = with_host("claude");
    let refused = call(&sandbox, &["agents", "install", "claude"]).env("FRITH_AGENT_ID", "3fa9").run().ends_with(1);
    assert!(refused.stderr.contains("install into hosts"), "{}", refused.transcript());
    assert!(tree(&sandbox).is_empty());
}

#[test]
fn b20_b23_a_file_that_cannot_be_read_is_refused_with_its_line_and_keeps_its_bytes() {
    for (host, name, text) in [
        ("claude", ".claude.json", "{\n  \"a\": {\n"),
        // Of a host's files the last one that is looked at.
        ("claude", ".claude/settings.json", "{\n  \"hooks\": {\n"),
        ("zed", ".config/zed/settings.json", "{\n  \"a\" 1\n}\n"),
        ("codex", ".codex/config.toml", "a = [\n"),
        ("goose", ".config/goose/config.yaml", "a: [\n"),
    ] {
        let sandbox = with_host(host);
        let path = sandbox.root().join(name);
        for verb in ["install", "uninstall"] {
            if verb == "uninstall" {
                fs::remove_file(&path).unwrap();
                let _ = frith(&sandbox, &["agents", "install", host]).ok();
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let before = tree(&sandbox);
            let run = frith(&sandbox, &["agents", verb, host]).ends_with(2);
            let told = run.stderr.contains(&format!("`{host}` was left as it is")) && run.stderr.contains("line ");
            assert!(told && run.stderr.contains(name), "{}", run.transcript());
            assert_eq!(tree(&sandbox), before, "{verb} {host}");
        }
    }
}

#[test]
fn b20_an_empty_file_of_json_is_no_fresh_file() {
    let sandbox = with_host("claude");
    let path = sandbox.root().join(".claude.json");
    fs::write(&path, "").unwrap();
    let run = frith(&sandbox, &["agents", "install", "claude"]).ends_with(2);
    assert!(run.stderr.contains(".claude.json"), "{}", run.transcript());
    assert!(read(&path).is_empty() && !sandbox.root().join(".claude/settings.json").exists(), "nothing else of it is written either");
}

#[test]
fn b24_others_hooks_for_the_same_event_keep_their_place_and_only_ours_go() {
    let sandbox = with_host("claude");
    let path = sandbox.root().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let theirs = |n: u8| format!("{{\"matcher\": \"Bash\", \"hooks\": [{{\"type\": \"command\", \"command\": \"other {n}\"}}]}}");
    let text = format!("{{\n  \"hooks\": {{\n    \"PostToolUse\": [{}, {}],\n    \"Stop\": []\n  }}\n}}\n", theirs(1), theirs(2));
    fs::write(&path, &text).unwrap();
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    let list = json_of(&path)["hooks"]["PostToolUse"].clone();
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!((list[0]["hooks"][0]["command"].as_str(), list[1]["hooks"][0]["command"].as_str()), (Some("other 1"), Some("other 2")));
    assert!(list[2]["hooks"][0]["command"].as_str().unwrap().contains("frith hook PostToolUse --host claude"));
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(read(&path), text);
}

#[test]
fn what_a_person_changes_elsewhere_meanwhile_stays_changed() {
    let sandbox = with_host("gemini");
    let path = sandbox.root().join(".gemini/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\n  // mine\n  \"theme\": \"dark\"\n}\n").unwrap();
    let _ = frith(&sandbox, &["agents", "install", "gemini"]).ok();
    fs::write(&path, read(&path).replace("\"dark\"", "\"light\"")).unwrap();
    let _ = frith(&sandbox, &["agents", "uninstall", "gemini"]).ok();
    assert_eq!(read(&path), "{\n  // mine\n  \"theme\": \"light\"\n}\n");
}

#[test]
fn an_entry_that_somebody_changed_is_left_and_replaced_only_with_a_yes() {
    let sandbox = with_host("cursor");
    let path = sandbox.root().join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let edited =
        "{\"mcpServers\": {\"frith\": {\"command\": \"frith\", \"args\": [\"mcp\", \"--host\", \"cursor\"], \"env\": {\"A\": \"1\"}}}}";
    for text in [edited, "{\"mcpServers\": {\"frith\": {\"command\": \"mine\", \"args\": []}}}"] {
        // Once without a record of the entry, then with one.
        let _ = path.exists().then(|| frith(&sandbox, &["agents", "install", "cursor", "--yes"]).ok());
        fs::write(&path, text).unwrap();
        let run = frith(&sandbox, &["agents", "install", "cursor"]).ok();
        assert!(run.stdout.contains("left: the entry"), "{}", run.transcript());
        let out = frith(&sandbox, &["agents", "uninstall", "cursor"]).ok();
        assert_eq!(read(&path), text, "{}", out.transcript());
    }
    let foreign = read(&path);
    let run = frith(&sandbox, &["agents", "install", "cursor", "--yes"]).ok();
    assert_eq!(read(&path), foreign, "what is somebody else's stays: {}", run.transcript());
    fs::write(&path, edited).unwrap();
    let _ = frith(&sandbox, &["agents", "install", "cursor", "--yes"]).ok();
    let entry = &json_of(&path)["mcpServers"]["frith"];
    assert_eq!((&entry["args"], entry.get("env")), (&json!(["mcp", "--host", "cursor"]), None));
}

#[test]
fn without_a_record_exactly_what_is_recognisably_ours_goes() {
    let sandbox = with_host("claude");
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    let (entry, hooks) = (sandbox.root().join(".claude.json"), sandbox.root().join(".claude/settings.json"));
    let mut json = json_of(&entry);
    json["mcpServers"]["other"] = json!({"command": "other"});
    fs::write(&entry, json.to_string()).unwrap();
    fs::remove_file(sandbox.home().join("installs.json")).unwrap();
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(json_of(&entry), json!({"mcpServers": {"other": {"command": "other"}}}));
    assert!(!read(&hooks).contains("frith"), "{}", read(&hooks));
    assert!(!sandbox.root().join(".claude/skills/worktrees/SKILL.md").exists());
}

#[test]
fn b11_a_hook_that_stands_twice_is_shown_and_mended() {
    let sandbox = with_host("claude");
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    let path = sandbox.root().join(".claude/settings.json");
    let entered = read(&path);
    let mut json = json_of(&path);
    let stop = json["hooks"]["Stop"].as_array_mut().unwrap();
    stop.push(json!({"hooks": [{"type": "command", "command": "frith hook Stop --host claude"}]}));
    fs::write(&path, serde_json::to_string_pretty(&json).unwrap() + "\n").unwrap();
    assert!(states(&listed(&sandbox, "claude")).contains(&"doubled".to_owned()));
    let told = frith(&sandbox, &["doctor"]);
    assert!(told.stdout.contains("`claude`: 1 hook entered twice"), "{}", told.transcript());
    let mended = frith(&sandbox, &["doctor", "--fix"]);
    assert!(mended.stdout.contains("entered anew"), "{}", mended.transcript());
    assert_eq!(json_of(&path), serde_json::from_str::<Value>(&entered).unwrap());
    let _ = frith(&sandbox, &["down"]);
}

#[test]
fn b18_an_application_gets_the_whole_path_and_doctor_sees_when_nothing_is_there_any_more() {
    let sandbox = with_host("zed");
    let program = sandbox.root().join("bin/frith");
    let path = sandbox.root().join(".config/zed/settings.json");
    let _ = frith(&sandbox, &["agents", "install", "zed"]).ok();
    assert_eq!(json_of(&path)["context_servers"]["frith"]["command"], json!(program));
    // As after an upgrade that put the program elsewhere.
    let elsewhere = sandbox.root().join("opt/frith");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::rename(&program, &elsewhere).unwrap();
    let moved = |line: &[&str]| sandbox.program("frith-under-test", line).env("PATH", sandbox.root().join("bin")).run();
    let told = moved(&["doctor"]);
    assert!(told.stdout.contains("`zed`: the entry stale"), "{}", told.transcript());
    let mended = moved(&["doctor", "--fix"]);
    assert!(mended.stdout.contains("entered anew"), "{}", mended.transcript());
    let _ = moved(&["down"]);
    let entered = json_of(&path)["context_servers"]["frith"]["command"].as_str().unwrap().to_owned();
    assert!(Path::new(&entered).is_absolute() && Path::new(&entered).exists(), "{entered}");
}

#[test]
fn b17_a_command_of_a_shell_gets_the_name_and_hooks_need_no_shell_of_the_persons() {
    let sandbox = with_host("claude");
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert_eq!(json_of(&sandbox.root().join(".claude.json"))["mcpServers"]["frith"]["command"], json!("frith"));
    let hooks = json_of(&sandbox.root().join(".claude/settings.json"))["hooks"].clone();
    for (event, groups) in hooks.as_object().unwrap() {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        let inside = command.strip_prefix("/bin/sh -c '").and_then(|rest| rest.strip_suffix('\'')).unwrap();
        let is_more = event.starts_with("Worktree");
        assert!(
            !inside.contains('\'') && (is_more || !inside.contains(['$', '\\'])) && inside.contains(&format!("hook {event} --host claude")),
            "{command}"
        );
    }
}

#[test]
fn b26_each_host_has_its_entry_under_its_own_key() {
    let sandbox = with_host("opencode");
    let _ = frith(&sandbox, &["agents", "install", "opencode"]).ok();
    let json = json_of(&sandbox.root().join(".config/opencode/opencode.json"));
    assert_eq!(json["mcp"]["frith"]["command"], json!(["frith", "mcp", "--host", "opencode"]));
    assert!(json.get("mcpServers").is_none());
}

#[test]
fn b27_a_link_is_written_through_and_stays_a_link() {
    let sandbox = with_host("claude");
    let (dotfiles, link) = (sandbox.root().join("dotfiles"), sandbox.root().join(".claude"));
    fs::create_dir_all(dotfiles.join("claude")).unwrap();
    std::os::unix::fs::symlink("dotfiles/claude", &link).unwrap();
    fs::write(dotfiles.join("real.json"), "{\"a\": 1}\n").unwrap();
    std::os::unix::fs::symlink("../real.json", dotfiles.join("claude/settings.json")).unwrap();
    fs::set_permissions(dotfiles.join("real.json"), fs::Permissions::from_mode(0o640)).unwrap();
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(link.is_symlink() && dotfiles.join("claude/settings.json").is_symlink());
    assert!(read(&dotfiles.join("real.json")).contains("frith hook"));
    assert_eq!(fs::metadata(dotfiles.join("real.json")).unwrap().permissions().mode() & 0o777, 0o640);
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(read(&dotfiles.join("real.json")), "{\"a\": 1}\n");
}

#[test]
fn b29_what_a_person_trusted_in_the_host_stays_trusted() {
    let sandbox = with_host("codex");
    let path = sandbox.root().join(".codex/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let trust = "[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:abc\"\n\n[projects.\"/r\"]\ntrust_level = \"trusted\"\n";
    fs::write(&path, trust).unwrap();
    for _ in 0..2 {
        let run = frith(&sandbox, &["agents", "install", "codex"]).ok();
        assert!(run.stdout.contains("reviewed"), "{}", run.transcript());
        assert!(read(&path).contains(trust.trim_end()), "{}", read(&path));
    }
    let _ = frith(&sandbox, &["agents", "uninstall", "codex"]).ok();
    assert_eq!(read(&path), trust);
}

#[test]
fn b30_a_host_that_was_taken_out_stays_out() {
    let sandbox = with_host("claude");
    let before = tree(&sandbox);
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    let mended = frith(&sandbox, &["doctor", "--fix"]);
    assert!(!mended.stdout.contains("`claude`"), "{}", mended.transcript());
    let _ = frith(&sandbox, &["down"]);
    let _ = frith(&sandbox, &["up"]).ok();
    assert_eq!(without_backups(tree(&sandbox)), before);
    assert_eq!(listed(&sandbox, "claude")["installed"], json!(false));
}

#[test]
fn what_is_missing_of_an_installation_is_mended() {
    let sandbox = with_host("kimi");
    let _ = frith(&sandbox, &["agents", "install", "kimi"]).ok();
    let entered = tree(&sandbox);
    fs::remove_file(sandbox.root().join(".kimi-code/mcp.json")).unwrap();
    let told = frith(&sandbox, &["doctor"]);
    assert!(told.stdout.contains("`kimi`: the entry missing"), "{}", told.transcript());
    let _ = frith(&sandbox, &["doctor", "--fix"]);
    assert_eq!(without_backups(tree(&sandbox)), entered);
    let _ = frith(&sandbox, &["down"]);
}

#[test]
fn two_installations_at_once_lose_nothing() {
    let sandbox = with_all_hosts();
    let running: Vec<_> = (0..4).map(|_| call(&sandbox, &["agents", "install", "--all"]).spawn()).collect();
    running.into_iter().for_each(|it| drop(it.end().ok()));
    let last = frith(&sandbox, &["agents", "list"]).ok();
    require_all_current(&sandbox, &last);
    let _ = frith(&sandbox, &["agents", "uninstall", "--all"]).ok();
    assert!(without_backups(tree(&sandbox)).is_empty());
}

#[test]
fn an_installation_that_is_killed_leaves_whole_files_and_is_finished_or_taken_back() {
    let sandbox = with_all_hosts();
    let path = sandbox.root().join(".claude/settings.json");
    let text = "{\n  \"model\": \"opus\"\n}\n";
    for round in 0..12 {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let mut running = call(&sandbox, &["agents", "install", "--all"]).spawn();
        // Killed at another point each time: as soon as so many files are there, or at its end.
        while tree(&sandbox).len() < 3 + round * 5 && running.child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let pid = rustix::process::Pid::from_child(&running.child);
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        drop(running.end());
        for (path, bytes) in tree(&sandbox) {
            if let (Some(bytes), Some("json")) = (bytes, path.extension().and_then(|it| it.to_str())) {
                assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "{}", path.display());
            }
        }
        if round % 2 == 0 {
            let _ = frith(&sandbox, &["agents", "install", "--all"]).ok();
        }
        let _ = frith(&sandbox, &["agents", "uninstall", "--all"]).ok();
        assert_eq!(read(&path), text);
        let left: Vec<_> =
            without_backups(tree(&sandbox)).into_iter().filter(|(it, bytes)| bytes.is_some() && *it != path).map(|(it, _)| it).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
