//! The node: started by the first command that needs it, once; ended cleanly; its files private.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

use frith_tests::{Sandbox, wait_for};
use rustix::process::Signal;

#[test]
fn quickstart_ends_with_three_commands_that_work() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.repo("app");
    let start = sandbox.call(["quickstart", "--yes", "--no-install"]).dir(&repo).run().ok();
    insta::assert_snapshot!(sandbox.transcript([&start]));
    let commands: Vec<_> = start.stdout.lines().filter_map(|line| line.trim().strip_prefix("frith ")).collect();
    assert_eq!(commands.len(), 3, "{}", start.stdout);
    let again = sandbox.call(["quickstart", "--yes", "--no-install"]).dir(&repo).run().ok();
    insta::assert_snapshot!(sandbox.transcript([&again]));
}

#[test]
fn ten_commands_at_once_start_one_node() {
    let sandbox = Sandbox::new();
    let running: Vec<_> = (0..10).map(|_| sandbox.call(["workspace", "list", "--json"]).spawn()).collect();
    for run in running {
        let _ = run.end().ok();
    }
    assert_eq!(sandbox.nodes().len(), 1, "{:?}", sandbox.nodes());
}

#[test]
fn a_started_node_does_not_hold_the_commands_output_open() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.call(["workspace", "list"]).into_command();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // This reads both to their ends, which come only when nobody has them open any more.
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(sandbox.nodes().len(), 1);
}

#[test]
fn up_status_and_down_tell_of_the_node() {
    let sandbox = Sandbox::new();
    let runs = [["up"].as_slice(), &["up"], &["status"], &["down"], &["down"]].map(|args| sandbox.frith(args));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    sandbox.wait_for_no_node();
}

#[test]
fn everything_of_the_node_is_private() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["workspace", "list"]).ok();
    let mode = |name: &str| fs::symlink_metadata(sandbox.home().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    for name in ["key", "store.redb", "node.sock", "node.log"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

#[test]
fn a_signal_ends_the_node_and_every_agent_and_records_each_end() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let sandbox = Sandbox::new();
        sandbox.script_kind();
        sandbox.workspace("app");
        let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
        sandbox.wait_for_agent("app");
        sandbox.signal_node(signal);
        wait_for("the end of all of them", || sandbox.processes().is_empty().then_some(()));
        let agents = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
        assert!(!agents["agents"][0]["agent"]["ended"].is_null(), "{signal:?}: {agents}");
    }
}

#[test]
fn e01_a_node_outlives_the_terminal_that_started_it() {
    let sandbox = Sandbox::new();
    let viewer = sandbox.view(["up"]);
    wait_for("the node", || sandbox.nodes().into_iter().next());
    viewer.close();
    let before = sandbox.nodes();
    let _ = sandbox.frith(["workspace", "list"]).ok();
    assert_eq!(sandbox.nodes(), before);
}

#[test]
fn e08_what_a_dead_node_left_behind_does_not_keep_the_next_from_starting() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
    sandbox.kill_node();
    assert!(sandbox.home().join("node.sock").exists(), "a killed node leaves its socket");
    // The number of a process that lives, and that is no node.
    fs::write(sandbox.home().join("node.lock"), "1").unwrap();
    let _ = sandbox.frith(["workspace", "show", "app"]).ok();
    assert_eq!(sandbox.nodes().len(), 1);
}

#[test]
fn e10_a_second_node_for_one_home_is_refused_by_name_of_the_first() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    let first = sandbox.nodes();
    let second = sandbox.frith(["up", "--foreground"]);
    insta::assert_snapshot!(sandbox.transcript([&second]));
    assert_ne!(second.code, 0);
    assert!(second.stderr.contains(&first[0].pid.to_string()), "{}", second.stderr);
    assert_eq!(sandbox.nodes(), first);
}

#[test]
fn e12_a_node_whose_binary_was_replaced_says_so_and_goes_on() {
    let sandbox = Sandbox::new();
    let link = sandbox.root().join("bin/frith");
    let binary = fs::canonicalize(&link).unwrap();
    fs::remove_file(&link).unwrap();
    fs::copy(&binary, &link).unwrap();
    let _ = sandbox.frith(["up"]).ok();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&binary, &link).unwrap();
    assert_eq!(sandbox.frith(["status", "--json"]).ok().json()["binaryReplaced"], true);
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
}

#[test]
fn nothing_reaches_a_node_through_a_home_that_others_can_write() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let run = sandbox.frith(["workspace", "list"]);
    // Either it is made private again or it is refused; it is never used as it is.
    let mode = fs::metadata(sandbox.home()).unwrap().permissions().mode() & 0o777;
    assert!(mode == 0o700 || run.code != 0, "{}\nmode {mode:o}", run.transcript());
}
