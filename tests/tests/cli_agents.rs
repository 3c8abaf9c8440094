//! Agents in terminals: watched, typed to, stopped with everything they started, and ended with their node.

use std::fs;

use frith_tests::{Sandbox, run::write_program, wait_for};
use rustix::process::Signal;

/// What detaches a viewer: control and backslash, then `d`.
const DETACH: &str = "\x1cd";

fn with_idle(sandbox: &Sandbox) {
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
}

fn commands(sandbox: &Sandbox) -> Vec<String> {
    sandbox.processes().into_iter().map(|process| process.command).collect()
}

#[test]
fn an_agent_is_watched_typed_to_and_left_running() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("ready");
    viewer.type_in("hello there\r");
    viewer.wait_for("hello there\r\nhello there");
    viewer.type_in(DETACH);
    assert_eq!(viewer.end(), 0);
    sandbox.wait_for_agent("app");
    let late = sandbox.view(["agents", "attach", "app"]);
    late.wait_for("hello there");
}

#[test]
fn a_viewer_that_only_watches_types_nothing() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let mut watching = sandbox.view(["agents", "attach", "app", "--read-only"]);
    watching.wait_for("ready");
    watching.type_in("unheard\r");
    let mut typing = sandbox.view(["agents", "attach", "app"]);
    typing.wait_for("ready");
    typing.type_in("heard\r");
    watching.wait_for("heard\r\nheard");
    assert!(!watching.shown().contains("unheard"), "{}", watching.shown());
}

#[test]
fn attach_restores_the_terminal_also_when_the_node_is_killed() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("ready");
    assert_eq!(viewer.is_cooked(), Some(false));
    sandbox.kill_node();
    wait_for("the terminal is as it was", || (viewer.is_cooked() == Some(true)).then_some(()));
    assert_ne!(viewer.end(), 0);
}

#[test]
fn the_viewer_that_typed_last_gives_the_agent_its_size() {
    let sandbox = Sandbox::new();
    let agent = sandbox.root().join("bin/size-agent");
    write_program(&agent, "#!/bin/sh\necho ready\nwhile read -r line; do stty size; done\n").unwrap();
    sandbox.config("[launch.size]\ncommand = [\"size-agent\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "size"]).ok();
    let mut first = sandbox.view(["agents", "attach", "app"]);
    let mut second = sandbox.view(["agents", "attach", "app"]);
    first.wait_for("ready");
    second.wait_for("ready");
    second.resize(71, 17);
    second.type_in("x\r");
    second.wait_for("17 71");
    first.type_in("x\r");
    first.wait_for("30 100");
}

#[test]
fn e03_an_agent_lives_on_when_its_viewer_and_its_launcher_are_gone() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("ready");
    viewer.close();
    sandbox.wait_for_agent("app");
    sandbox.view(["agents", "attach", "app"]).wait_for("ready");
}

#[test]
fn e05_agents_that_ended_take_no_room() {
    let sandbox = Sandbox::new();
    sandbox
        .config("[node]\nmax_agents = 1\n[launch.idle]\ncommand = [\"sh\", \"-c\", \"exec cat\"]\n[launch.brief]\ncommand = [\"true\"]\n");
    sandbox.workspace("app");
    sandbox.workspace("web");
    for _ in 0..3 {
        let _ = sandbox.frith(["agents", "launch", "app", "--kind", "brief"]).ok();
        wait_for("the brief agent's end", || sandbox.show_place("app")["agent"].is_null().then_some(()));
    }
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let second = sandbox.frith(["agents", "launch", "web", "--kind", "idle"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&second]));
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let _ = sandbox.frith(["agents", "launch", "web", "--kind", "idle"]).ok();
}

#[test]
fn e14_a_storm_of_size_signals_disturbs_no_viewer() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("ready");
    for n in 0..200 {
        viewer.resize(80 + n % 40, 24 + n % 10);
    }
    viewer.type_in("still here\r");
    viewer.wait_for("still here\r\nstill here");
}

#[test]
fn e17_an_agent_has_the_environment_of_its_launcher_and_not_of_its_node() {
    let sandbox = Sandbox::new();
    let agent = sandbox.root().join("bin/env-agent");
    write_program(&agent, "#!/bin/sh\nenv > \"$HOME/seen\"\nexec cat\n").unwrap();
    sandbox.config("[launch.env]\ncommand = [\"env-agent\"]\nenvironment = [\"MODEL_*\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let _ = sandbox.call(["up"]).env("NODES_SECRET", "a").env("MODEL_KEY", "nodes").run().ok();
    let launch = sandbox.call(["agents", "launch", "app", "--kind", "env"]);
    let _ = launch.env("CALLERS_SECRET", "b").env("MODEL_KEY", "callers").run().ok();
    let seen = wait_for("the agent wrote its environment", || {
        fs::read_to_string(sandbox.root().join("seen")).ok().filter(|text| text.contains("HOME="))
    });
    let has = |line: &str| seen.lines().any(|seen| seen == line);
    assert!(has("MODEL_KEY=callers"), "{seen}");
    assert!(!seen.contains("SECRET"), "{seen}");
    assert!(has("USER=ada") && seen.lines().any(|line| line.starts_with("FRITH_AGENT_ID=")), "{seen}");
}

#[test]
fn e18_survivors_of_a_killed_node_are_ended_before_anything_else_starts() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    sandbox.wait_for_agent("app");
    sandbox.kill_node();
    let _ = sandbox.frith(["workspace", "list"]).ok();
    assert_eq!(commands(&sandbox).len(), 1, "only the node runs: {:?}", commands(&sandbox));
    let agents = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
    assert!(!agents["agents"][0]["agent"]["ended"].is_null(), "{agents}");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
}

#[test]
fn e18_no_survivor_keeps_running_although_it_ignores_its_terminals_end() {
    let sandbox = Sandbox::new();
    let agent = sandbox.root().join("bin/deaf-agent");
    write_program(&agent, "#!/bin/sh\ntrap '' HUP TERM INT\necho ready\nwhile :; do sleep 0.1; done\n").unwrap();
    sandbox.config("[launch.deaf]\ncommand = [\"deaf-agent\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "deaf"]).ok();
    sandbox.wait_for_agent("app");
    sandbox.kill_node();
    assert!(commands(&sandbox).iter().any(|command| command.contains("deaf-agent")), "it survives its node");
    let _ = sandbox.frith(["workspace", "list"]).ok();
    wait_for("its end", || (!commands(&sandbox).iter().any(|command| command.contains("deaf-agent"))).then_some(()));
}

#[test]
fn e20_stopping_an_agent_ends_the_whole_tree_of_its_processes() {
    let sandbox = Sandbox::new();
    let agent = sandbox.root().join("bin/tree-agent");
    write_program(&agent, "#!/bin/sh\n(sleep 1000 | cat) &\nsh -c 'sleep 1001; true' &\necho ready\nsleep 1002 | cat\n").unwrap();
    sandbox.config("[launch.tree]\ncommand = [\"tree-agent\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "tree"]).ok();
    wait_for("three sleepers", || {
        (commands(&sandbox).iter().filter(|command| command.starts_with("sleep 100")).count() == 3).then_some(())
    });
    let stop = sandbox.frith(["agents", "stop", "app"]).ok();
    wait_for("the end of the tree", || (commands(&sandbox).len() == 1).then_some(()));
    insta::assert_snapshot!(sandbox.transcript([&stop]));
}

#[cfg(target_os = "linux")]
#[test]
fn e24_viewers_that_crash_leave_nothing_open_in_the_node() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    let open = |sandbox: &Sandbox| fs::read_dir(format!("/proc/{}/fd", sandbox.nodes()[0].pid)).unwrap().count();
    let watch_and_crash = || {
        let viewer = sandbox.view(["agents", "attach", "app"]);
        viewer.wait_for("ready");
        for process in sandbox.processes().iter().filter(|process| process.command.contains("attach")) {
            process.signal(Signal::KILL);
        }
        viewer.close();
    };
    watch_and_crash();
    let before = open(&sandbox);
    for _ in 0..20 {
        watch_and_crash();
    }
    wait_for("the node closed what it had open", || (open(&sandbox) <= before).then_some(()));
}

#[test]
fn e25_a_killed_node_is_followed_by_one_that_needs_no_help() {
    let sandbox = Sandbox::new();
    with_idle(&sandbox);
    for _ in 0..3 {
        sandbox.kill_node();
        let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
        sandbox.wait_for_agent("app");
    }
}

#[test]
fn e27_no_shell_stands_between_the_node_and_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let launch = sandbox.call(["agents", "launch", "app", "--kind", "idle"]).env("SHELL", "/no/such/shell");
    let _ = launch.run().ok();
    sandbox.wait_for_agent("app");
}

#[test]
fn c31_a_node_started_from_an_agents_shell_does_not_hand_on_who_that_was() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.who]\ncommand = [\"sh\", \"-c\", \"frith agents whoami --json > $HOME/who; exec cat\"]\n");
    sandbox.workspace("app");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let stranger = "11111111-2222-4333-8444-555555555555";
    let _ = sandbox.call(["up"]).env("FRITH_AGENT_ID", stranger).run();
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "who"]).ok();
    let who =
        wait_for("the agent asked who it is", || fs::read_to_string(sandbox.root().join("who")).ok().filter(|text| text.contains('}')));
    let agent = sandbox.wait_for_agent("app");
    let who: serde_json::Value = serde_json::from_str(&who).unwrap();
    assert_eq!(who["id"], agent["id"]);
}

#[test]
fn an_agent_sees_its_own_place_only() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.peek]\ncommand = [\"sh\", \"-c\", \"frith task list -w app; frith task list; frith workspace delete side --yes; exec cat\"]\n");
    sandbox.workspace("app");
    sandbox.task("app", "secret of the parent");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    sandbox.task("side", "own task");
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "peek"]).ok();
    let viewer = sandbox.view(["agents", "attach", "side", "--read-only"]);
    viewer.wait_for("only a person may");
    viewer.wait_for("own task");
    viewer.wait_for("an agent sees only its own place");
    assert!(!viewer.shown().contains("secret of the parent"), "{}", viewer.shown());
}

#[test]
fn a_launch_that_cannot_be_is_refused_before_anything_exists() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "create", "nowhere"]).ok();
    let first = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let refused = [
        ["agents", "launch", "app", "--kind", "idle"].as_slice(),
        &["agents", "launch", "nowhere", "--kind", "idle"],
        &["agents", "launch", "app", "--kind", "nosuch"],
        &["agents", "launch", "app", "--kind", "claude"],
        &["agents", "launch", "nosuch", "--kind", "idle"],
        &["agents", "stop", "nowhere"],
        &["agents", "attach", "nowhere"],
        &["agents", "whoami"],
    ];
    let mut runs: Vec<_> = refused.iter().map(|args| sandbox.call(*args).env("PATH", sandbox.root().join("bin")).run()).collect();
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    fs::rename(&repo, sandbox.root().join("away")).unwrap();
    runs.push(sandbox.frith(["agents", "launch", "app", "--kind", "idle"]));
    assert!(runs.iter().all(|run| run.code == 1), "{}", sandbox.transcript(&runs));
    insta::assert_snapshot!(sandbox.transcript([&first].into_iter().chain(&runs)));
    let agents = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
    assert_eq!(agents["agents"].as_array().map(Vec::len), Some(1), "{agents}");
}

/// What runs in the command itself asks no node, and still tells an agent from a person.
#[test]
fn an_agents_shell_neither_configures_nor_mends_nor_restores() {
    let sandbox = Sandbox::new();
    let lines: [&[&str]; 5] = [
        &["config", "set", "node.max_agents", "9"],
        &["config", "unset", "node.max_agents"],
        &["doctor", "--fix"],
        &["up", "--uninstall-service"],
        &["restore", "backup"],
    ];
    for line in lines {
        let refused = sandbox.call(line).env("FRITH_AGENT_ID", "4b1d0c2e-0000-4000-8000-000000000000").run().ends_with(1);
        assert!(refused.stderr.contains("only a person may"), "{}", refused.transcript());
    }
}
