//! Agents that wait at their prompt: told of a task by themselves, never typed to while they ask something.

use std::{fs, path::Path};

use frith_tests::{Sandbox, wait_for};

fn machine() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.prompt_kinds();
    sandbox.workspace("app");
    sandbox
}

fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.root().join(name)).unwrap_or_default()
}

#[test]
fn an_agent_at_its_prompt_gets_a_task_by_itself() {
    let sandbox = machine();
    let launched = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    sandbox.wait_for_attention("app", "atPrompt");
    let waiting = sandbox.frith(["agents", "sessions"]).ok();
    let added = sandbox.frith(["task", "add", "-w", "app", "Greet by name"]).ok();
    let task = added.stdout.split(' ').next().unwrap().to_owned();
    sandbox.wait_for_status(&task, "completed");
    let done = sandbox.frith(["task", "list", "-w", "app"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&launched, &waiting, &added, &done]));
    let second = sandbox.task("app", "Say goodbye");
    sandbox.wait_for_status(&second, "completed");
}

#[test]
fn d10_a_task_made_before_the_agent_is_there_or_while_it_starts_arrives() {
    let sandbox = machine();
    let before = sandbox.task("app", "before");
    let launch = sandbox.call(["agents", "launch", "app", "--kind", "prompt"]).spawn();
    let while_starting = sandbox.task("app", "while it starts");
    let _ = launch.end().ok();
    sandbox.wait_for_status(&before, "completed");
    sandbox.wait_for_status(&while_starting, "completed");
}

#[test]
fn an_agent_that_asks_something_needs_a_person_and_is_not_typed_to() {
    let sandbox = machine();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "asking"]).ok();
    sandbox.wait_for_attention("app", "needsPerson");
    let task = sandbox.task("app", "wait for the answer");
    let listed = sandbox.frith(["agents", "sessions"]).ok();
    let shown = sandbox.frith(["agents", "show", "app"]).ok();
    assert!(shown.stdout.contains("needs a person; answer it: frith agents attach"), "{}", shown.stdout);
    let status = sandbox.frith(["status"]).ok();
    assert!(status.stdout.contains("needs a person: frith agents attach"), "{}", status.stdout);
    insta::assert_snapshot!(sandbox.transcript([&listed]));
    assert_eq!(sandbox.show_task(&task)["task"]["status"], "notstarted");
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("allow? [y/n]");
    assert!(!viewer.shown().contains("go on"), "{}", viewer.shown());
    viewer.type_in("y\r");
    sandbox.wait_for_status(&task, "completed");
}

#[test]
fn a_fresh_context_is_made_once_before_a_task_is_told() {
    let sandbox = machine();
    let _ = sandbox.frith(["workspace", "set", "app", "--clear-context", "true"]).ok();
    let first = sandbox.task("app", "first");
    let second = sandbox.task("app", "second");
    let without = sandbox.frith(["task", "add", "-w", "app", "third", "--clear-context", "false", "--quiet"]).ok().id();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    for task in [&first, &second, &without] {
        sandbox.wait_for_status(task, "completed");
    }
    assert_eq!(read(&sandbox, "cleared"), "/clear\n/clear\n");
    let refused = read(&sandbox, "refused");
    let refused: Vec<_> = refused.lines().take(2).collect();
    insta::assert_snapshot!(sandbox.redact(&refused.join("\n")));
}

#[test]
fn the_note_of_a_workspace_comes_once_with_each_task_handed_to_an_agent() {
    let sandbox = machine();
    let _ = sandbox.frith(["workspace", "set", "app", "--self-learning-note", "Write down what you learnt."]).ok();
    let task = sandbox.frith(["task", "add", "-w", "app", "Explain", "--body", "In the README.", "--quiet"]).ok().id();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    sandbox.wait_for_status(&task, "completed");
    insta::assert_snapshot!(sandbox.redact(&read(&sandbox, "handed")));
    assert_eq!(sandbox.show_task(&task)["body"], "In the README.");
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let own = sandbox.frith(["task", "add", "-w", "app", "mine", "--body", "mine", "--quiet"]).ok().id();
    let handed = sandbox.frith(["task", "next", "-w", "app", "--json"]).ok().json();
    assert_eq!((handed["task"]["id"].as_str(), handed["body"].as_str()), (Some(own.as_str()), Some("mine")));
}

#[test]
fn a_rule_that_a_person_allows_in_a_forks_own_dialog_is_the_parents() {
    let sandbox = machine();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "asking"]).ok();
    sandbox.wait_for_attention("side", "needsPerson");
    let mut viewer = sandbox.view(["agents", "attach", "side"]);
    viewer.wait_for("allow? [y/n]");
    viewer.type_in("always\r");
    let rules = |place: &str| sandbox.show_place(place)["settings"]["autoAllowedTools"].clone();
    wait_for("the rule is the parent's", || (rules("app") == serde_json::json!(["Bash(make *)"])).then_some(()));
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    let folder = sandbox.show_place("side")["folder"].as_str().unwrap().to_owned();
    let kept = fs::read_to_string(Path::new(&folder).join(".prompt/settings.json")).unwrap();
    assert_eq!(kept, "{\"permissions\": {\"allow\": [\"Bash(make *)\"]}}\n", "what the person allowed in the fork stays there");
}

#[test]
fn d20_an_agent_that_waits_is_never_ended_by_its_node() {
    let sandbox = machine();
    let _ = sandbox.frith(["config", "set", "agents.idle", "1s"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    let task = sandbox.frith(["task", "add", "-w", "app", "wait for CI", "--assignee", "person", "--quiet"]).ok().id();
    sandbox.wait_for_attention("app", "atPrompt");
    let since = sandbox.frith(["agents", "show", "app", "--json"]).ok().json()["agent"]["started"].clone();
    let deadline = frith_tests::wait::Deadline::after(std::time::Duration::from_secs(3));
    wait_for("the agent has waited for longer than it may be idle", || deadline.is_past().then_some(()));
    let agent = sandbox.frith(["agents", "show", "app", "--json"]).ok().json();
    assert_eq!((&agent["agent"]["ended"], &agent["agent"]["started"]), (&serde_json::Value::Null, &since));
    assert_eq!(sandbox.show_task(&task)["task"]["status"], "notstarted");
}

#[test]
fn d21_a_fork_without_tasks_stays_until_somebody_merges_it() {
    let sandbox = machine();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "prompt"]).ok();
    sandbox.wait_for_attention("side", "atPrompt");
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    let _ = sandbox.frith(["down"]).ok();
    assert_eq!(sandbox.show_place("side")["merged"], serde_json::Value::Null);
    let task = sandbox.task("app", "comes two seconds later");
    let _ = sandbox.frith(["task", "move", &task, "--to", "side"]).ok();
    assert_eq!(sandbox.titles("side"), ["comes two seconds later"]);
}
