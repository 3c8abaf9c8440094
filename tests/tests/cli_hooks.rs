//! The hook that hosts call, with a node at the other end: what it tells is known, and what it is given to say arrives once.

use std::{fs, io::Read as _};

use frith_tests::{Host, Run, Sandbox, wait_for};
use serde_json::json;

/// That a hook harmed nobody: it ended well, and said nothing but one object or nothing.
#[track_caller]
fn assert_harmless(run: &Run) {
    assert_eq!(run.code, 0, "{}", run.transcript());
    let said = run.stdout.trim();
    assert!(said.is_empty() || serde_json::from_str::<serde_json::Value>(said).is_ok_and(|said| said.is_object()), "{}", run.transcript());
    assert_eq!(run.stderr, "", "{}", run.transcript());
}

/// A payload as a host writes it.
fn payload(host: &Host<'_>, event: &str) -> String {
    json!({ "session_id": host.session, "cwd": host.folder, "hook_event_name": event, "prompt": "go on", "tool_name": "Bash" }).to_string()
}

/// With no node a hook starts none, and what it was told is taken in by the next one.
#[test]
fn without_a_node_a_registration_and_an_end_wait_for_the_next_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut codex = Host::begun(&sandbox, "codex", &repo);
    let ended = codex.id();
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    assert_harmless(&codex.end_session());
    let mut claude = Host::start(&sandbox, "claude", &repo);
    for run in [claude.begin(), claude.prompt(), claude.tool("make")] {
        assert_harmless(&run);
    }
    assert!(sandbox.nodes().is_empty(), "a hook starts no node");
    let _ = sandbox.frith(["up"]).ok();
    sandbox.wait_for_presence(&ended, "ended");
    let id = wait_for("the session is known", || {
        let who = claude.frith(["agents", "whoami", "--quiet"]);
        (who.code == 0).then(|| who.id())
    });
    let shown = sandbox.frith(["agents", "show", &id, "--json"]).ok().json();
    assert_eq!(shown["agent"]["host"], "claude");
    let told = claude.told(Host::prompt);
    assert!(told.stdout.contains(&id[..8]), "it is told who it is as soon as a node can tell: {}", told.transcript());
}

/// A message counts as pushed once the host has it: a hook whose answer nobody could read leaves it unread and undelivered.
#[test]
fn b03_a_message_whose_hook_could_not_write_is_pushed_again() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let _ = sandbox.frith(["agents", "send", &id, "read me once"]).ok();
    // The host is gone from the other end of the pipe when the hook answers.
    let script = format!(
        "mkfifo gone; (exec 3<gone) & exec 3>gone; wait; echo '{}' | frith hook UserPromptSubmit --host claude >&3",
        payload(&claude, "UserPromptSubmit")
    );
    let program = frith_tests::errand::Program {
        words: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        folder: claude.folder.clone(),
        ..Default::default()
    };
    let run = claude.run(program, "a hook whose host is gone");
    assert!(!run.stdout.contains("read me once"), "{}", run.transcript());
    let states = sandbox.frith(["agents", "inbox", "--sent", "--json"]).ok().json();
    assert_eq!(states["messages"][0]["state"], "onItsMachine");
    let told = claude.told(Host::prompt);
    assert!(told.stdout.contains("read me once"), "{}", told.transcript());
    wait_for("it counts as delivered", || {
        let states = sandbox.frith(["agents", "inbox", "--sent", "--json"]).ok().json();
        (states["messages"][0]["state"] == "delivered").then_some(())
    });
}

#[test]
fn b13_an_answer_names_its_event_and_a_stop_is_answered_with_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let _ = sandbox.frith(["agents", "send", &id, "at the prompt"]).ok();
    let prompt = claude.told(Host::prompt);
    let _ = sandbox.frith(["agents", "send", &id, "after a tool"]).ok();
    let tool = claude.told(|host| host.tool("make"));
    for (run, event) in [(&prompt, "UserPromptSubmit"), (&tool, "PostToolUse")] {
        assert_eq!(run.json()["hookSpecificOutput"]["hookEventName"], event, "{}", run.transcript());
    }
    let _ = sandbox.frith(["agents", "send", &id, "not while it stops"]).ok();
    let stop = claude.stop();
    assert_harmless(&stop);
    assert!(["", "{}"].contains(&stop.stdout.trim()), "context at a stop starts the model again: {}", stop.transcript());
    sandbox.wait_for_attention(&id, "atPrompt");
}

#[test]
fn b11_an_event_that_comes_twice_pushes_once() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let _ = sandbox.frith(["agents", "send", &id, "only once"]).ok();
    let told = claude.told(Host::prompt);
    let again = claude.prompt().ok();
    assert_eq!((told.stdout.matches("only once").count(), again.stdout.matches("only once").count()), (1, 0));
}

/// Text of messages and prompts goes into no log and no command line.
#[test]
fn what_is_said_is_in_no_log() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let _ = sandbox.call(["up"]).env("FRITH_LOG", "debug").run();
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let _ = sandbox.call(["agents", "send", &id, "-"]).input("the secret word is mistletoe").run().ok();
    let _ = claude.told(Host::prompt);
    let _ = claude.frith(["agents", "inbox"]).ok();
    let _ = claude.hook("UserPromptSubmit", json!({ "prompt": "mistletoe" })).ok();
    let _ = claude.hook("PostToolUse", json!({ "tool_name": "Write", "tool_input": { "file_path": "a", "content": "mistletoe" } })).ok();
    assert!(!sandbox.log().contains("mistletoe"), "{}", sandbox.log());
    let shown = sandbox.frith(["agents", "show", &id]).ok();
    assert!(!shown.stdout.contains("mistletoe"), "{}", shown.transcript());
    let mut spool = String::new();
    for entry in fs::read_dir(sandbox.home()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let mut bytes = Vec::new();
        let _ = fs::File::open(entry.path()).and_then(|mut file| file.read_to_end(&mut bytes));
        if entry.file_name().to_string_lossy().contains("spool") {
            spool.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    assert!(!spool.contains("mistletoe"), "{spool}");
}
