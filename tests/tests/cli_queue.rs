//! Queues under many takers: each task is handed out once, none is lost, a holder's end gives its task back.

use std::collections::BTreeSet;

use frith_tests::{Sandbox, wait_for};
use rustix::process::Signal;

/// Starts all these commands at once and waits for all of them.
fn at_once(sandbox: &Sandbox, commands: &[Vec<&str>]) -> Vec<frith_tests::Run> {
    let running: Vec<_> = commands.iter().map(|args| sandbox.call(args).spawn()).collect();
    running.into_iter().map(frith_tests::run::Running::end).collect()
}

#[test]
fn d02_ten_takers_get_five_tasks() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let added: BTreeSet<_> = (1..=5).map(|n| sandbox.task("app", &format!("task {n}"))).collect();
    let runs = at_once(&sandbox, &vec![vec!["task", "next", "-w", "app", "--quiet"]; 10]);
    let (taken, refused): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.code == 0);
    assert_eq!(taken.iter().map(frith_tests::Run::id).collect::<BTreeSet<_>>(), added);
    assert_eq!((taken.len(), refused.len()), (5, 5));
    for run in refused {
        assert!(run.ends_with(1).stderr.contains("no task waits in `app`"));
    }
}

#[test]
fn d04_a_task_in_hand_is_offered_to_nobody_else() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "only one");
    assert_eq!(sandbox.frith(["task", "next", "-w", "app", "--quiet"]).ok().id(), task);
    sandbox.kill_node();
    let _ = sandbox.frith(["task", "next", "-w", "app"]).ends_with(1);
}

#[test]
fn d07_tasks_added_at_once_are_all_there() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let titles: Vec<_> = (0..20).map(|n| format!("task {n:02}")).collect();
    let commands: Vec<_> = titles.iter().map(|title| vec!["task", "add", "-w", "app", title]).collect();
    for run in at_once(&sandbox, &commands) {
        let _ = run.ok();
    }
    let listed: BTreeSet<_> = sandbox.titles("app").into_iter().collect();
    assert_eq!(listed, titles.into_iter().collect());
}

/// A task that has been in several places stands in one list, once.
#[test]
fn d17_a_task_is_listed_once_wherever_it_has_been() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "well travelled");
    for fork in ["one", "two"] {
        let _ = sandbox.frith(["fork", "create", "app", "--name", fork]).ok();
        let _ = sandbox.frith(["task", "move", &task, "--to", fork]).ok();
        let _ = sandbox.frith(["task", "status", &task, "blocked"]).ok();
        let _ = sandbox.frith(["task", "status", &task, "completed"]).ok();
        let _ = sandbox.frith(["fork", "merge", fork, "--yes"]).ok();
    }
    assert_eq!(sandbox.titles("app"), ["well travelled"]);
    let shown = sandbox.show_place("app");
    assert_eq!((&shown["tasks"]["completed"], &shown["unfinishedTasks"]), (&1.into(), &0.into()));
}

#[test]
fn d08_a_killed_holders_task_is_offered_again() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.taker]\ncommand = [\"sh\", \"-c\", \"frith task next; exec cat\"]\n");
    sandbox.workspace("app");
    let task = sandbox.task("app", "left behind");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "taker"]).ok();
    sandbox.wait_for_status(&task, "ongoing");
    let first = sandbox.show_task(&task)["task"]["holder"]["by"].clone();
    for process in sandbox.processes().iter().filter(|process| process.command == "cat") {
        process.signal(Signal::KILL);
    }
    wait_for("the task is left", || (sandbox.show_task(&task)["task"]["holder"]["left"] == true).then_some(()));
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "taker"]).ok();
    wait_for("another agent has it", || {
        let holder = sandbox.show_task(&task)["task"]["holder"].clone();
        (holder["left"] == false && holder["by"] != first).then_some(())
    });
}

#[test]
fn d09_a_task_nobody_takes_hides_none_behind_it() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["task", "add", "-w", "app", "for a person", "--assignee", "person"]).ok();
    let stuck = sandbox.task("app", "stuck");
    let _ = sandbox.frith(["task", "status", &stuck, "blocked"]).ok();
    let waiting = sandbox.task("app", "waiting");
    assert_eq!(sandbox.frith(["task", "next", "-w", "app", "--quiet"]).ok().id(), waiting);
    assert_eq!(sandbox.titles("app").len(), 3);
}

#[test]
fn d06_a_task_spun_up_twice_at_once_gets_one_fork_and_one_agent() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let task = sandbox.task("app", "fix it");
    let runs = at_once(&sandbox, &vec![vec!["fork", "spin-up", &task, "--kind", "idle"]; 3]);
    assert!(runs.iter().any(|run| run.code == 0), "{}", sandbox.transcript(&runs));
    let places = sandbox.frith(["workspace", "list", "--json"]).ok().json();
    let forks = places["workspaces"].as_array().map_or(0, |all| all.iter().filter(|place| !place["forkOfId"].is_null()).count());
    assert_eq!(forks, 1);
    let agents = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
    assert_eq!(agents["agents"].as_array().map(Vec::len), Some(1));
}

#[test]
fn d22_work_that_could_not_be_committed_keeps_the_fork_from_merging() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    frith_tests::run::write_program(&repo.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
    let task = sandbox.task("app", "fix it");
    // The agent may end before it counts as launched.
    let _ = sandbox.frith(["fork", "spin-up", &task, "--kind", "script"]);
    wait_for("the agent ended over its failed commit", || (sandbox.show_task(&task)["task"]["holder"]["left"] == true).then_some(()));
    let merge = sandbox.frith(["fork", "merge", "fix-it", "--yes"]).ends_with(1);
    assert!(merge.stderr.contains("1 unfinished task"), "{}", merge.transcript());
}

#[test]
fn d25_a_task_opened_while_the_agent_stops_keeps_the_fork() {
    let sandbox = Sandbox::new();
    let agent = sandbox.root().join("bin/late-agent");
    let script = "#!/bin/sh\ntrap 'frith task add late; exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n";
    frith_tests::run::write_program(&agent, script).unwrap();
    sandbox.config("[launch.late]\ncommand = [\"late-agent\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "late"]).ok();
    sandbox.view(["agents", "attach", "side", "--read-only"]).wait_for("ready");
    let merge = sandbox.frith(["fork", "merge", "side", "--yes"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&merge]));
    assert_eq!(sandbox.show_place("side")["agent"], serde_json::Value::Null);
    assert_eq!(sandbox.titles("side"), ["late"]);
}

#[test]
fn d23_merged_forks_whose_folder_was_kept_can_be_listed() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let _ = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    assert!(!sandbox.frith(["workspace", "list"]).ok().stdout.contains("side"));
    let all = sandbox.frith(["workspace", "list", "--all"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&all]));
}
