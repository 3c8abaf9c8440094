//! A thousand hooks killed at random moments: no message is lost, none is delivered twice in the ledger, and none counts as
//! delivered that was not written to the host.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::collections::BTreeSet;

use frith_tests::{Sandbox, errand::Program, host::Host};
use serde_json::Value;

/// How many hooks are killed.
const KILLED: u64 = 1_000;
/// After how many of them another message is sent.
const SEND_EVERY: u64 = 3;
/// The latest moment of a kill after the start of the hook, in µs: about twice what a hook takes.
const LATEST_US: u64 = 24_000;

fn body(number: u64) -> String {
    format!("killed {number}")
}

/// The messages whose frames stand whole in what a hook wrote.
fn written(stdout: &str) -> Vec<String> {
    let Ok(answer) = serde_json::from_str::<Value>(stdout) else { return Vec::new() };
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned();
    context.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned).collect()
}

/// Numbers that look random and are the same in every run.
fn spread(number: u64) -> u64 {
    let mixed = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number >> 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

#[test]
fn b03_a_thousand_hooks_killed_at_any_moment_lose_no_message_and_deliver_none_twice() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let (mut reader, mut sender) = (Host::begun(&sandbox, "claude", &repo), Host::begun(&sandbox, "codex", &repo));
    let id = reader.id();
    let payload = format!(
        r#"{{"session_id":"{}","cwd":"{}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"true"}}}}"#,
        reader.session,
        repo.display()
    );
    let hook = |killed_after_us| Program {
        words: ["frith", "hook", "PostToolUse", "--host", "claude"].map(str::to_owned).to_vec(),
        folder: repo.clone(),
        input: payload.clone(),
        killed_after_us,
        ..Program::default()
    };
    let (mut seen, mut killed) = (BTreeSet::new(), 0);
    for round in 0..KILLED {
        if round % SEND_EVERY == 0 {
            let _ = sender.frith(["agents", "send", &id, &body(round)]).ok();
        }
        let run = reader.run(hook(Some(spread(round) % LATEST_US)), "a hook that is killed");
        assert!(run.stderr.is_empty(), "{}", run.stderr);
        killed += u64::from(run.code != 0);
        seen.extend(written(&run.stdout));
    }
    assert!(killed > KILLED / 10 && killed < KILLED, "{killed} of {KILLED} were killed in time, which tells little");
    loop {
        let pushed = written(&reader.run(hook(None), "a hook").ok().stdout);
        if pushed.is_empty() {
            break;
        }
        seen.extend(pushed);
    }
    let sent: BTreeSet<String> = (0..KILLED).filter(|round| round % SEND_EVERY == 0).map(body).collect();
    let (there, delivered) = unread(&mut reader);
    assert!(there == sent, "of {} messages {} are there", sent.len(), there.len());
    assert!(delivered == sent, "never pushed: {:?}", sent.difference(&delivered));
    assert!(delivered.is_subset(&seen), "delivered and never written: {:?}", delivered.difference(&seen));
    let _ = sandbox.frith(["doctor", "--thorough"]).ok();
}

/// The texts of all messages that an agent has not read, each of them once, and of those among them that count as delivered.
fn unread(reader: &mut Host<'_>) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut there, mut delivered) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let read = reader.frith(["agents", "inbox", "--unread", "--json", "--limit", "100"]).ok().json();
        let messages = read["messages"].as_array().unwrap();
        if messages.is_empty() {
            return (there, delivered);
        }
        for message in messages {
            let text = message["text"].as_str().unwrap().to_owned();
            if !message["delivered"].is_null() {
                delivered.insert(text.clone());
            }
            assert!(there.insert(text), "twice: {message}");
        }
    }
}
