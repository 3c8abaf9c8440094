//! What the settings of a workspace do: rules given to agents and taken back, messages held back, notifications raised.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{fs, path::Path};

use frith_tests::{Run, Sandbox, wait_for};

fn machine() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.prompt_kinds();
    sandbox.workspace("app");
    sandbox
}

fn rules_file(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(".prompt/settings.json")).ok()
}

#[test]
fn a_rule_is_added_and_taken_away_and_a_fork_asks_for_its_parent() {
    let sandbox = machine();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let runs = [
        sandbox.frith(["workspace", "allow", "Bash(git   status *)", "-w", "app"]).ok(),
        sandbox.frith(["workspace", "allow", "Read", "-w", "side"]).ok(),
        sandbox.frith(["workspace", "show", "side"]).ok(),
        sandbox.frith(["workspace", "allow", "Bash(git status *)", "-w", "side", "--remove"]).ok(),
        sandbox.frith(["workspace", "allow", "Write", "-w", "app", "--remove"]).ends_with(1),
        sandbox.frith(["workspace", "allow", "Read", "-w", "app", "--remove", "--quiet"]).ok(),
        sandbox.frith(["workspace", "allow", "Read", "-w", "app", "--remove"]).ends_with(1),
        sandbox.frith(["workspace", "allow", " ", "-w", "app"]).ends_with(1),
        sandbox.frith(["workspace", "set", "side", "--auto-allowed-tools", "Read"]).ends_with(1),
    ];
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn an_agent_widens_nothing() {
    let sandbox = machine();
    let program = sandbox.root().join("bin/greedy");
    let lines = [
        "workspace allow Read",
        "task add more --allow-all-commands",
        "task edit $1 --allow-all-commands true",
        "workspace set --auto-allowed-tools Read",
        "agents unsend",
    ];
    let script: String = lines.iter().map(|line| format!("frith {line} 2>> \"$HOME/said\"\n")).collect();
    let task = sandbox.task("app", "one");
    let script = format!("#!/bin/sh\nset -- {task}\n{script}touch \"$HOME/tried\"\nexec cat\n");
    frith_tests::run::write_program(&program, &script).unwrap();
    sandbox.config("[launch.greedy]\ncommand = [\"greedy\"]\n");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "greedy"]).ok();
    wait_for("the agent has tried", || sandbox.root().join("tried").exists().then_some(()));
    insta::assert_snapshot!(fs::read_to_string(sandbox.root().join("said")).unwrap());
}

#[test]
fn rules_are_there_while_the_agent_runs_and_the_folder_is_as_it_was_after_it() {
    let sandbox = machine();
    let app = sandbox.root().join("app");
    let _ = sandbox.frith(["workspace", "allow", "Bash(git status *)", "-w", "app"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    insta::assert_snapshot!(rules_file(&app).unwrap());
    assert_eq!(sandbox.git(&app, &["status", "--porcelain"]), "");
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app"]).ok();
    wait_for("a new rule is given to the running agent", || rules_file(&app).filter(|text| text.contains("\"Read\"")));
    let _ = sandbox.frith(["workspace", "allow", "Bash(git status *)", "-w", "app", "--remove"]).ok();
    wait_for("a rule that is gone is taken back", || rules_file(&app).filter(|text| !text.contains("git status")));
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app", "--remove"]).ok();
    wait_for("nothing is left to give", || rules_file(&app).is_none().then_some(()));
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app"]).ok();
    wait_for("and again", || rules_file(&app));
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    assert!(!app.join(".prompt").exists());
}

#[test]
fn what_a_person_wrote_into_the_file_stays_byte_for_byte() {
    let sandbox = machine();
    let app = sandbox.root().join("app");
    let own = "{\r\n\t// mine\r\n\t\"model\": \"x\",\r\n\t\"permissions\": { \"allow\": [\"Read\",], \"deny\": [] },\r\n}";
    fs::create_dir(app.join(".prompt")).unwrap();
    fs::write(app.join(".prompt/settings.json"), own).unwrap();
    for rule in ["Read", "Write"] {
        let _ = sandbox.frith(["workspace", "allow", rule, "-w", "app"]).ok();
    }
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    let given = rules_file(&app).unwrap();
    assert!(given.contains("\"Write\"") && given.contains("// mine") && given.matches("\"Read\"").count() == 1, "{given}");
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    assert_eq!(rules_file(&app).unwrap(), own);
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    let edited = rules_file(&app).unwrap().replace("\"x\"", "\"y\"");
    fs::write(app.join(".prompt/settings.json"), &edited).unwrap();
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let left = rules_file(&app).unwrap();
    assert!(left.contains("\"y\"") && left.contains("\"Read\"") && !left.contains("\"Write\""), "{left}");
}

/// A file that nobody can read when the agent ends is somebody's to mend; the rules in it are still ours to take back then.
#[test]
fn rules_in_a_file_that_was_broken_meanwhile_are_taken_back_once_it_is_mended() {
    let sandbox = machine();
    let app = sandbox.root().join("app");
    let _ = sandbox.frith(["workspace", "allow", "Bash(git status *)", "-w", "app"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    let given = rules_file(&app).unwrap();
    let file = app.join(".prompt/settings.json");
    fs::write(&file, "{\"a").unwrap();
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    assert_eq!(rules_file(&app).unwrap(), "{\"a");
    fs::write(&file, given).unwrap();
    let _ = sandbox.frith(["down"]).ok();
    let _ = sandbox.frith(["status"]).ok();
    assert_eq!(rules_file(&app), None);
}

#[test]
fn the_next_node_takes_back_what_the_agents_of_a_killed_one_were_given() {
    let sandbox = machine();
    let app = sandbox.root().join("app");
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    assert!(rules_file(&app).is_some());
    sandbox.kill_node();
    let _ = sandbox.frith(["workspace", "list"]).ok();
    assert_eq!(rules_file(&app), None);
}

#[test]
fn a_file_that_cannot_take_rules_keeps_the_agent_from_starting_and_is_named() {
    let sandbox = machine();
    let file = sandbox.root().join("app/.prompt/settings.json");
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app"]).ok();
    let launch = || sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ends_with(1);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  \"permissions\": oops,\n}\n").unwrap();
    let unreadable = launch();
    fs::write(&file, "{\"permissions\": {\"allow\": \"Read\"}}").unwrap();
    let other = launch();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let folder = launch();
    insta::assert_snapshot!(sandbox.transcript([&unreadable, &other, &folder]));
    assert_eq!(sandbox.show_place("app")["agent"], serde_json::Value::Null);
}

#[test]
fn a_kind_that_cannot_be_told_of_a_rule_says_so_at_its_launch() {
    let sandbox = machine();
    sandbox.config("[launch.idle]\ncommand = [\"sh\", \"-c\", \"echo ready; exec cat\"]\n[launch.words]\ncommand = [\"sh\", \"-c\", \"echo $0 $@; exec cat\", \"given:\"]\nrules_args = [\"--allow\", \"{}\"]\n");
    let _ = sandbox.frith(["workspace", "allow", "Read", "-w", "app"]).ok();
    let told = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&told]));
    sandbox.view(["agents", "attach", "app"]).wait_for("kind `idle` cannot be given these permission rules, so it will ask: Read");
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "words"]).ok();
    sandbox.view(["agents", "attach", "app"]).wait_for("given: --allow Read");
}

#[test]
fn a_task_that_allows_all_is_spun_up_with_the_kinds_flag_or_not_at_all() {
    let sandbox = machine();
    sandbox.config(concat!(
        "[launch.bold]\ncommand = [\"sh\", \"-c\", \"echo $0 $@; exec cat\", \"given:\"]\nallow_all_args = [\"--all\"]\n",
        "[launch.idle]\ncommand = [\"sh\", \"-c\", \"exec cat\"]\n",
    ));
    let task = sandbox.frith(["task", "add", "-w", "app", "risky", "--allow-all-commands", "--quiet"]).ok().id();
    let refused = sandbox.frith(["fork", "spin-up", &task, "--kind", "idle"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&refused]));
    let _ = sandbox.frith(["fork", "spin-up", &task, "--kind", "bold"]).ok();
    sandbox.view(["agents", "attach", "risky"]).wait_for("given: --all");
}

fn thread(sandbox: &Sandbox, task: &str) -> Vec<String> {
    let shown = sandbox.show_task(task);
    shown["thread"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

fn redacted_seconds(sandbox: &Sandbox, runs: &[Run]) -> String {
    let text = sandbox.transcript(runs);
    regex::Regex::new(r"in \d+ s").unwrap().replace_all(&text, "in [N] s").into_owned()
}

#[test]
fn a_message_that_is_held_back_can_be_taken_back() {
    let sandbox = machine();
    let task = sandbox.task("app", "one");
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "600"]).ok();
    let sent = sandbox.frith(["task", "reply", &task, "not this one"]).ok();
    let message = sent.stdout.split(' ').next().unwrap().to_owned();
    let runs = [
        sent,
        sandbox.frith(["agents", "unsend"]).ok(),
        sandbox.frith(["agents", "unsend", &message]).ok(),
        sandbox.frith(["agents", "unsend", &message]).ends_with(1),
        sandbox.frith(["agents", "unsend", "abc"]).ends_with(1),
        sandbox.frith(["agents", "unsend"]).ok(),
    ];
    insta::assert_snapshot!(redacted_seconds(&sandbox, &runs));
    assert_eq!(thread(&sandbox, &task), Vec::<String>::new());
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "0"]).ok();
    let _ = sandbox.frith(["task", "reply", &task, "at once"]).ok();
    assert_eq!(thread(&sandbox, &task), ["at once"]);
}

#[test]
fn messages_that_are_held_back_are_sent_in_order_also_by_a_node_that_starts_anew() {
    let sandbox = machine();
    let task = sandbox.task("app", "one");
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "3"]).ok();
    let _ = sandbox.frith(["task", "reply", &task, "first"]).ok();
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "1"]).ok();
    let _ = sandbox.frith(["task", "reply", &task, "second"]).ok();
    assert_eq!(thread(&sandbox, &task), Vec::<String>::new());
    sandbox.kill_node();
    wait_for("both are sent", || (thread(&sandbox, &task) == ["first", "second"]).then_some(()));
}

#[test]
fn an_agents_reply_is_never_held_back() {
    let sandbox = machine();
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "600"]).ok();
    let task = sandbox.task("app", "one");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    sandbox.wait_for_status(&task, "completed");
    assert_eq!(thread(&sandbox, &task), ["done"]);
}

#[test]
fn notifications_tell_what_others_did_and_only_what_was_asked_for() {
    let sandbox = machine();
    let notices = sandbox.root().join("notices");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let _ = sandbox.call(["up"]).env("FRITH_NOTICES", &notices).run().ok();
    let _ = sandbox.frith(["workspace", "set", "app", "--notifications", "task-finished,task-waiting,agent-ended"]).ok();
    let own = sandbox.task("app", "done by a person");
    let _ = sandbox.frith(["task", "status", &own, "completed"]).ok();
    let task = sandbox.task("app", "done by an agent");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "asking"]).ok();
    sandbox.wait_for_attention("app", "needsPerson");
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("allow? [y/n]");
    viewer.type_in("y\r");
    sandbox.wait_for_status(&task, "completed");
    let pid = sandbox.frith(["agents", "show", "app", "--json"]).ok().json()["agent"]["launch"]["process"]["pid"].clone();
    let agent = sandbox.processes().into_iter().find(|process| pid == process.pid).unwrap();
    agent.signal(rustix::process::Signal::KILL);
    let told = wait_for("the end is told", || fs::read_to_string(&notices).ok().filter(|text| text.contains("agent ended")));
    insta::assert_snapshot!(sandbox.redact(&told));
    let _ = sandbox.frith(["workspace", "set", "app", "--notifications", "task-finished"]).ok();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "prompt"]).ok();
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    assert_eq!(fs::read_to_string(&notices).unwrap(), told);
}
