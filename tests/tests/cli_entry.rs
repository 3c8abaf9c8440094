//! How a launched agent is told of frith's tools, and what stays of it: an entry in a fork's folder, arguments elsewhere, and
//! a token in its environment alone.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use frith_tests::{Sandbox, wait::wait_for};
use serde_json::Value;

/// Kinds that write down their environment and wait.
fn kinds(sandbox: &Sandbox) {
    let kind = |name: &str| format!("[launch.{name}]\ncommand = [\"sh\", \"-c\", 'env > \"$HOME/seen\"; exec cat']\n");
    sandbox.config(&["claude", "codex", "gemini", "opencode"].map(kind).concat());
}

fn variable(sandbox: &Sandbox, name: &str) -> String {
    let start = format!("{name}=");
    wait_for("the agent has written down its environment", || {
        let seen = fs::read_to_string(sandbox.root().join("seen")).ok()?;
        seen.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    })
}

fn launch(sandbox: &Sandbox, place: &str, kind: &str) -> Value {
    let _ = sandbox.frith(["agents", "launch", place, "--kind", kind]).ok();
    sandbox.frith(["agents", "show", place, "--json"]).ok().json()
}

/// A fork called `side` of a repository that commits these files.
fn fork(sandbox: &Sandbox, files: &[(&str, &str)]) -> (PathBuf, String) {
    let repo = sandbox.workspace("app");
    for (file, text) in files {
        let file = repo.join(file);
        fs::create_dir_all(file.parent().expect("it is below the repository")).expect("a folder can be made");
        fs::write(file, text).expect("the folder is ours");
    }
    if !files.is_empty() {
        sandbox.commit(&repo, "files");
    }
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    (repo, sandbox.show_place("side")["id"].as_str().expect("a place has an id").to_owned())
}

fn folder(sandbox: &Sandbox) -> PathBuf {
    PathBuf::from(sandbox.show_place("side")["folder"].as_str().expect("it was launched in"))
}

fn entry(file: &Path) -> Value {
    let text = fs::read_to_string(file).expect("it is there");
    serde_json::from_str::<Value>(&text).expect("it is JSON")["mcpServers"]["frith"].clone()
}

fn words(command: &Value) -> Vec<&str> {
    command["agent"]["launch"]["command"].as_array().expect("it was launched").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_forks_agent_finds_the_entry_of_its_fork_in_its_folder_and_nothing_of_it_stays() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let (_, fork) = fork(&sandbox, &[]);
    let shown = launch(&sandbox, "side", "claude");
    let (folder, file) = (folder(&sandbox), folder(&sandbox).join(".mcp.json"));
    assert_eq!(entry(&file)["args"], serde_json::json!(["mcp", "--host", "claude", "--place", fork]));
    assert!(Path::new(entry(&file)["command"].as_str().unwrap()).is_absolute());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(sandbox.git(&folder, &["status", "--porcelain"]), "", "git passes over it");
    assert!(words(&shown).contains(&r#"--settings={"enabledMcpjsonServers":["frith"]}"#), "the host does not ask about it");
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    assert!(!file.exists());
}

#[test]
fn an_entry_that_git_cannot_be_told_to_pass_over_is_not_written() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let (repo, _) = fork(&sandbox, &[]);
    let exclude = repo.join(".git/info/exclude");
    let _ = fs::remove_file(&exclude);
    std::os::unix::fs::symlink("/nowhere/at/all", &exclude).unwrap();
    let refused = sandbox.frith(["agents", "launch", "side", "--kind", "claude"]).ends_with(2).stderr;
    assert!(refused.contains("the entry for frith's tools cannot be written to"), "{refused}");
    assert!(!folder(&sandbox).join(".mcp.json").exists());
}

#[test]
fn an_agents_token_is_in_its_environment_and_nowhere_else() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let _ = fork(&sandbox, &[]);
    let shown = launch(&sandbox, "side", "claude");
    let token = variable(&sandbox, "FRITH_AGENT_TOKEN");
    assert_eq!(token.len(), 64);
    assert_eq!(variable(&sandbox, "FRITH_AGENT_ID"), shown["agent"]["id"].as_str().unwrap());
    let told = [shown.to_string(), fs::read_to_string(folder(&sandbox).join(".mcp.json")).unwrap(), sandbox.log()];
    assert!(told.iter().all(|text| !text.contains(&token)));
    let store = fs::read(sandbox.home().join("store.redb")).unwrap();
    assert!(!store.windows(token.len()).any(|bytes| bytes == token.as_bytes()));
    fs::remove_file(sandbox.root().join("seen")).unwrap();
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    let _ = launch(&sandbox, "side", "claude");
    assert_ne!(variable(&sandbox, "FRITH_AGENT_TOKEN"), token);
}

#[test]
fn nothing_is_written_into_a_workspaces_folder() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let repo = sandbox.workspace("app");
    let place = sandbox.show_place("app")["id"].as_str().unwrap().to_owned();
    let shown = launch(&sandbox, "app", "claude");
    let document = words(&shown).iter().find_map(|word| word.strip_prefix("--mcp-config=")).map(serde_json::from_str::<Value>);
    assert_eq!(document.unwrap().unwrap()["mcpServers"]["frith"]["args"][4], place.as_str());
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let shown = launch(&sandbox, "app", "codex");
    assert!(words(&shown).contains(&r#"mcp_servers.frith.env_vars=["FRITH_HOME"]"#));
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    fs::remove_file(sandbox.root().join("seen")).unwrap();
    let _ = launch(&sandbox, "app", "opencode");
    let document: Value = serde_json::from_str(&variable(&sandbox, "OPENCODE_CONFIG_CONTENT")).unwrap();
    assert_eq!(document["mcp"]["frith"]["command"][5], place.as_str());
    assert_eq!(sandbox.git(&repo, &["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn a_file_that_is_committed_is_not_written_to() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let theirs = r#"{"mcpServers": {"other": {"command": "other"}}}"#;
    let _ = fork(&sandbox, &[(".mcp.json", theirs), (".gemini/settings.json", theirs)]);
    let shown = launch(&sandbox, "side", "claude");
    let folder = folder(&sandbox);
    assert!(words(&shown).iter().any(|word| word.starts_with("--mcp-config=")), "it is told otherwise");
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    let told = sandbox.frith(["agents", "launch", "side", "--kind", "gemini"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&told]));
    for file in [".mcp.json", ".gemini/settings.json"] {
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), theirs);
    }
}

#[test]
fn what_a_person_has_beside_the_entry_stays() {
    let sandbox = Sandbox::new();
    kinds(&sandbox);
    let _ = fork(&sandbox, &[]);
    let _ = launch(&sandbox, "side", "gemini");
    let file = folder(&sandbox).join(".gemini/settings.json");
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    assert!(!file.parent().unwrap().exists());
    let theirs = "{\n  // mine\n  \"theme\": \"dark\", \n}\n";
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, theirs).unwrap();
    let _ = launch(&sandbox, "side", "gemini");
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("--place") && written.contains("// mine"), "{written}");
    fs::write(&file, written.replace("dark", "light")).unwrap();
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs.replace("dark", "light"));
    fs::write(&file, "{ oops").unwrap();
    let refused = sandbox.frith(["agents", "launch", "side", "--kind", "gemini"]).ends_with(1);
    assert!(refused.stderr.contains(".gemini/settings.json` cannot be read as JSON with an entry"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ oops");
}

#[test]
fn an_entry_that_a_killed_node_left_is_taken_back_by_the_next() {
    for point in ["given.written", "launch.running"] {
        let sandbox = Sandbox::new();
        kinds(&sandbox);
        let _ = fork(&sandbox, &[]);
        let _ = launch(&sandbox, "side", "claude");
        let file = folder(&sandbox).join(".mcp.json");
        let _ = sandbox.frith(["down"]).ok();
        sandbox.wait_for_no_node();
        assert!(!file.exists(), "a node that is asked to end takes it back");
        let _ = sandbox.call(["up"]).env("FRITH_FAULT", point).run().ok();
        let _ = sandbox.frith(["agents", "launch", "side", "--kind", "claude"]);
        sandbox.wait_for_no_node();
        assert!(file.exists(), "{point}");
        let _ = sandbox.frith(["up"]).ok();
        assert!(!file.exists(), "{point}");
    }
}
