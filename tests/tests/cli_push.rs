//! What hosts push to their agents: whole frames, each once, and only what the host was really given.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use frith_tests::{Host, Run, Sandbox, wait_for};
use serde_json::Value;

/// All text in a hook's answer, whatever the host's shape for it is.
fn pushed(hook: &Run) -> String {
    fn text(answer: &Value) -> String {
        match answer {
            Value::String(text) => format!("{text}\n"),
            Value::Object(fields) => fields.values().map(text).collect(),
            _ => String::new(),
        }
    }
    let hook = hook.clone().ok();
    if hook.stdout.trim().is_empty() { String::new() } else { text(&serde_json::from_str(&hook.stdout).unwrap()) }
}

/// What the next hook that has something to push pushes.
#[track_caller]
fn next_push(host: &mut Host<'_>) -> String {
    wait_for("a hook pushes something", || {
        Some(pushed(&host.prompt())).filter(|text| text.contains("frith message") || text.contains(" more:"))
    })
}

fn state(sandbox: &Sandbox, agent: &str) -> Vec<String> {
    let letters = sandbox.frith(["agents", "inbox", agent, "--json"]).ok().json();
    letters["messages"].as_array().unwrap().iter().map(|letter| letter["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn agents_of_two_hosts_write_to_each_other_and_what_does_not_fit_is_counted() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let (mut claude, mut codex) = (Host::begun(&sandbox, "claude", &repo), Host::begun(&sandbox, "codex", &repo));
    let (from, to) = (claude.id(), codex.id());
    let sent = claude.frith(["agents", "send", &to, "the parser is yours"]).ok();
    let _ = claude.frith(["agents", "send", &to, &"x".repeat(2_000)]).ok();
    let first = next_push(&mut codex);
    let again = pushed(&codex.prompt());
    let read = codex.frith(["agents", "inbox", "--unread", "--limit", "1"]).ok();
    let answer = codex.frith(["agents", "send", &from, "thanks"]).ok();
    let back = next_push(&mut claude);
    let firsts = [("codex", &first), ("codex", &again), ("claude", &back)].map(|(host, text)| format!("{host} is pushed\n{text}"));
    insta::assert_snapshot!(format!("{}\n{}", sandbox.transcript([&sent, &read, &answer]), sandbox.redact(&firsts.join("\n"))));
    assert_eq!(state(&sandbox, &from), ["delivered"], "pushed is not read");
}

#[test]
fn b10_fifty_messages_of_two_kilobytes_stay_below_what_hosts_cut() {
    let sandbox = Sandbox::new();
    sandbox.config("[agents]\npush_bytes = 65536\n");
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let to = claude.id();
    for n in 0..50 {
        let _ = sandbox.frith(["agents", "send", &to, &format!("{n} {}", "x".repeat(2_000))]).ok();
    }
    let text = next_push(&mut claude);
    let frames = text.matches("[frith message ").count();
    assert!(text.chars().count() < 10_000 && frames == 4, "{frames} frames");
    assert_eq!(text.matches("[end of message ").count(), frames);
    assert!(text.trim_end().ends_with("… and 46 more: `agent_inbox` reads them"), "{text}");
}

#[test]
fn with_agents_switched_off_nothing_is_pushed() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let to = claude.id();
    let _ = sandbox.frith(["config", "set", "agents.enabled", "false"]).ok();
    let _ = sandbox.frith(["agents", "send", &to, "hello"]).ok();
    assert_eq!(pushed(&claude.prompt()), "");
    assert_eq!(state(&sandbox, &to), ["onItsMachine"]);
}
