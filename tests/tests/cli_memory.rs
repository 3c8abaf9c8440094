//! Memory: notes in versions, shared by a workspace and its forks, of which none disappears unless another replaces it.

use frith_tests::{Run, Sandbox, wait_for};

#[test]
fn a_note_from_its_first_version_to_its_deletion() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let runs = [
        ["memory", "get", "-w", "app"].as_slice(),
        &["memory", "list", "-w", "app"],
        &["memory", "set", "memory.md", "-w", "app", "- see Build Steps"],
        &["memory", "set", "Build Steps", "-w", "app", "Run `make`."],
        &["memory", "get", "build_steps", "-w", "app"],
        &["memory", "set", "build-steps.md", "-w", "app", "Run `make all`."],
        &["memory", "set", "build-steps.md", "-w", "app", "Run `make all`."],
        &["memory", "list", "-w", "app"],
        &["memory", "delete", "build-steps.md", "-w", "app", "--yes"],
        &["memory", "delete", "build-steps.md", "-w", "app"],
        &["memory", "get", "build-steps.md", "-w", "app"],
        &["memory", "delete", "never-written", "-w", "app"],
        &["memory", "list", "-w", "app"],
    ]
    .map(|args| sandbox.frith(args).ok());
    insta::assert_snapshot!(sandbox.transcript(&runs));
    let never = sandbox.frith(["memory", "get", "nothing-here", "-w", "app", "--json"]).ok().json();
    assert_eq!((&never["text"], &never["versions"]), (&serde_json::Value::Null, &serde_json::json!([])));
}

/// A note of app with one version by ada, and the hash of that version.
fn noted(sandbox: &Sandbox) -> String {
    sandbox.workspace("app");
    set(sandbox, "base", &[])
}

/// Saves `memory.md` of app and answers the whole hash of the version.
fn set(sandbox: &Sandbox, text: &str, bases: &[&str]) -> String {
    let base = bases.iter().flat_map(|base| ["--base", base]);
    sandbox.frith(["memory", "set", "memory.md", text, "-w", "app", "--quiet"].into_iter().chain(base)).ok().id()
}

#[test]
fn two_saves_of_one_base_are_both_kept_until_one_replaces_both() {
    let sandbox = Sandbox::new();
    let base = noted(&sandbox);
    let one = set(&sandbox, "one", &[&base]);
    let mut runs = vec![sandbox.frith(["memory", "set", "memory.md", "two", "-w", "app", "--base", &base[..8]]).ok()];
    runs.push(sandbox.frith(["memory", "get", "-w", "app"]).ok());
    runs.push(sandbox.frith(["memory", "list", "-w", "app"]).ok());
    runs.push(sandbox.frith(["memory", "set", "memory.md", "three", "-w", "app"]).ends_with(1));
    runs.push(sandbox.frith(["memory", "delete", "memory.md", "-w", "app", "--yes"]).ends_with(1));
    runs.push(sandbox.frith(["memory", "delete", "memory.md", "-w", "app", "--base", &one, "--yes"]).ok());
    runs.push(sandbox.frith(["memory", "get", "-w", "app"]).ok());
    let both = sandbox.frith(["memory", "get", "-w", "app", "--quiet"]).ok();
    let bases: Vec<&str> = both.stdout.lines().collect();
    assert_eq!(bases.len(), 2, "a delete takes no other version with it");
    runs.push(sandbox.frith(["memory", "set", "memory.md", "three", "-w", "app", "--base", &bases.join(",")]).ok());
    runs.push(sandbox.frith(["memory", "get", "-w", "app"]).ok());
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn what_is_no_name_no_text_and_no_base_is_refused_in_its_own_words() {
    let sandbox = Sandbox::new();
    let base = noted(&sandbox);
    let _ = sandbox.frith(["workspace", "create", "old"]).ok();
    let _ = sandbox.frith(["workspace", "archive", "old"]).ok();
    let long = "x".repeat(16 * 1024 + 1);
    let commands: &[&[&str]] = &[
        &["memory", "get", "", "-w", "app"],
        &["memory", "set", "größe", "text", "-w", "app"],
        &["memory", "set", "a name of many words is too long for a note", "text", "-w", "app"],
        &["memory", "set", "memory.md", &long, "-w", "app"],
        &["memory", "set", "memory.md", "text", "-w", "app", "--base", "abc"],
        &["memory", "set", "memory.md", "text", "-w", "app", "--base", "00000000"],
        &["memory", "set", "memory.md", "text", "-w", "old"],
        &["memory", "get"],
        &["memory", "get", "-w", "nosuch"],
    ];
    let runs: Vec<Run> = commands.iter().map(|args| sandbox.frith(*args).ends_with(1)).collect();
    insta::assert_snapshot!(sandbox.transcript(&runs).replace(&long, "[16385 x]"));
    assert_eq!(sandbox.frith(["memory", "get", "-w", "app", "--quiet"]).ok().id(), base, "nothing was written");
    let most = sandbox.call(["memory", "set", "big", "-w", "app"]).input(&long[1..]).run().ok();
    assert!(most.stdout.contains("saved"), "{}", most.transcript());
    let read = sandbox.frith(["memory", "get", "big", "-w", "app", "--json"]).ok().json();
    assert_eq!(read["text"].as_str().map(str::len), Some(16 * 1024), "never cut");
}

#[test]
fn a_fork_reads_and_writes_its_parents_notes_and_they_outlive_its_merge() {
    let sandbox = Sandbox::new();
    noted(&sandbox);
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let read = sandbox.frith(["memory", "get", "-w", "side"]).ok();
    let saved = sandbox.frith(["memory", "set", "from-the-fork", "found it", "-w", "side"]).ok();
    let _ = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    let after = sandbox.frith(["memory", "get", "from-the-fork", "-w", "app"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&read, &saved, &after]));
}

/// The agent tries to save over what it has not read, then reads and names it.
#[test]
fn an_agent_replaces_only_what_it_has_read_or_written() {
    let sandbox = Sandbox::new();
    sandbox.config(concat!(
        "[launch.noter]\ncommand = [\"sh\", \"-c\", \"",
        "frith memory set memory.md blind 2> refused; frith memory set memory.md seen --base $(frith memory get -q); ",
        "frith memory set memory.md again; frith memory list -w app 2> outside; touch done; exec cat\"]\n"
    ));
    noted(&sandbox);
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "noter"]).ok();
    let folder = std::path::PathBuf::from(sandbox.show_place("side")["folder"].as_str().unwrap_or_default());
    wait_for("the agent is done", || folder.join("done").exists().then_some(()));
    let told = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let read = sandbox.frith(["memory", "get", "-w", "app"]).ok();
    insta::assert_snapshot!(sandbox.redact(&[told("refused"), told("outside"), read.transcript()].join("\n")));
}
