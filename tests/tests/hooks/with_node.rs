//! Hooks with the real node: a session registers, is told who it is, and ends; what was kept without a node is taken in.

use std::fs;

use frith_tests::{Sandbox, run::Run, wait::wait_for};
use serde_json::{Value, json};

use crate::node::make_home;

fn hook(sandbox: &Sandbox, event: &str, payload: &Value) -> Run {
    let file = sandbox.root().join("exports.sh");
    sandbox.call(["hook", event, "--host", "claude"]).input(&payload.to_string()).env("CLAUDE_ENV_FILE", file).run()
}

fn payload(session: &str) -> Value {
    json!({"session_id": session, "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "hello"})
}

/// The agent of a session, once the node lists it.
fn agent_of(sandbox: &Sandbox, session: &str) -> Option<Value> {
    let listed = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
    let agents = listed["agents"].as_array().cloned().unwrap_or_default();
    agents.into_iter().find(|agent| agent["agent"]["session"]["id"] == session)
}

#[test]
fn b07_a_session_registers_is_told_who_it_is_and_ends() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    let started = hook(&sandbox, "SessionStart", &payload("s-1"));
    let agent = agent_of(&sandbox, "s-1").expect("it registered");
    let id = agent["agent"]["id"].as_str().expect("it has an id").to_owned();
    let said: Value = serde_json::from_str(&started.stdout).expect("one object");
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], "SessionStart");
    assert!(said["hookSpecificOutput"]["additionalContext"].as_str().is_some_and(|context| context.contains(&id)), "{said}");
    assert_eq!(fs::read_to_string(sandbox.root().join("exports.sh")).expect("it was written"), format!("export FRITH_AGENT_ID={id}\n"));
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        assert_eq!(hook(&sandbox, event, &payload("s-1")).stdout, "{}", "{event}");
    }
    assert_eq!(hook(&sandbox, "SessionEnd", &payload("s-1")).stdout, "{}");
    assert!(!agent_of(&sandbox, "s-1").expect("it stays listed")["agent"]["ended"].is_null());
}

#[test]
fn a_start_and_an_end_that_no_node_heard_are_taken_in_by_the_next() {
    let sandbox = Sandbox::new();
    make_home(&sandbox);
    for (event, session) in [("SessionStart", "lives"), ("SessionStart", "over"), ("SessionEnd", "over"), ("SessionEnd", "never seen")] {
        assert_eq!(hook(&sandbox, event, &payload(session)).stdout, "{}");
    }
    assert!(sandbox.nodes().is_empty());
    let _ = sandbox.frith(["up"]).ok();
    let lives = wait_for("the session is known", || agent_of(&sandbox, "lives"));
    assert!(lives["agent"]["ended"].is_null());
    let over = wait_for("the other one is known", || agent_of(&sandbox, "over"));
    assert!(!over["agent"]["ended"].is_null());
    assert_eq!(agent_of(&sandbox, "never seen"), None);
    let left = fs::read_dir(sandbox.home().join("spool"))
        .expect("it is there")
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())));
    assert_eq!(left.count(), 0);
}

#[test]
fn with_agents_switched_off_the_node_says_nothing_and_nobody_registers() {
    let sandbox = Sandbox::new();
    sandbox.config("[agents]\nenabled = false\n");
    let _ = sandbox.frith(["up"]).ok();
    assert_eq!(hook(&sandbox, "SessionStart", &payload("s-1")).stdout, "{}");
    assert_eq!(agent_of(&sandbox, "s-1"), None);
}
