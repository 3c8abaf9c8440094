//! Looking at an agent's terminal, as a person at a real one does.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use frith_tests::{Sandbox, Viewer, processes::Process, wait_for};
use rustix::process::Signal;

/// A machine with a place for each kind named, and an agent in it.
fn with_agents(kinds: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let table = |(kind, script): &(&str, &str)| format!("[launch.{kind}]\ncommand = [\"sh\", \"-c\", {script:?}]\n");
    sandbox.config(&kinds.iter().map(table).collect::<String>());
    for (kind, _) in kinds {
        let folder = sandbox.folder(kind);
        let _ = sandbox.frith(["workspace", "create", kind, "--folder", folder.to_str().unwrap()]).ok();
        let _ = sandbox.frith(["agents", "launch", kind, "--kind", kind]).ok();
    }
    sandbox
}

/// It says again what is typed.
const ECHO: (&str, &str) = ("echo", "stty -echo; echo ready; while read line; do echo \"<$line>\"; done");

fn attached(sandbox: &Sandbox, place: &str) -> Viewer {
    let viewer = sandbox.view(["agents", "attach", place]);
    viewer.wait_for("ready");
    viewer
}

/// The process of a command that is attached, which is neither the node nor an agent.
fn attaching(sandbox: &Sandbox) -> Process {
    wait_for("the command that is attached", || sandbox.processes().into_iter().find(|process| process.command.contains("agents attach")))
}

fn is_running(sandbox: &Sandbox, place: &str) -> bool {
    sandbox.show_place(place)["agent"]["running"] == true
}

fn wait_until_cooked(viewer: &Viewer) {
    wait_for("the terminal given back", || (viewer.is_cooked() == Some(true)).then_some(()));
}

#[test]
fn a_person_watches_types_and_detaches_and_the_agent_goes_on() {
    let sandbox = with_agents(&[ECHO]);
    let mut viewer = attached(&sandbox, "echo");
    assert_eq!(viewer.is_cooked(), Some(false));
    viewer.type_in("one line\r");
    viewer.wait_for("<one line>");
    viewer.type_in("\x1cd");
    viewer.wait_for("detached from");
    wait_until_cooked(&viewer);
    assert_eq!(viewer.end(), 0);
    assert!(is_running(&sandbox, "echo"));
    let again = attached(&sandbox, "echo");
    again.wait_for("<one line>");
}

#[test]
fn e03_closing_the_window_leaves_the_agent_alone() {
    let sandbox = with_agents(&[ECHO]);
    let window = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let call = sandbox.call(["agents", "attach", "echo"]).into_command();
    let mut command = portable_pty::CommandBuilder::new(call.get_program());
    command.args(call.get_args());
    command.env_clear();
    call.get_envs().for_each(|(name, value)| command.env(name, value.unwrap()));
    window.slave.spawn_command(command).unwrap();
    drop(window.slave);
    let is_watched = || sandbox.frith(["agents", "sessions"]).ok().stdout.contains("watched by 1").then_some(());
    wait_for("the viewer", is_watched);
    drop(window.master);
    wait_for("the end of the command", || {
        sandbox.processes().iter().all(|process| !process.command.contains("agents attach")).then_some(())
    });
    assert!(is_running(&sandbox, "echo"));
}

#[test]
fn a_command_told_to_end_gives_the_terminal_back() {
    let sandbox = with_agents(&[ECHO]);
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let viewer = attached(&sandbox, "echo");
        attaching(&sandbox).signal(signal);
        wait_until_cooked(&viewer);
        assert_eq!(viewer.end(), code, "{signal:?}");
    }
    assert!(is_running(&sandbox, "echo"));
}

#[test]
fn a_node_that_is_killed_gives_the_terminal_back_and_leaves_no_agent() {
    let sandbox = with_agents(&[ECHO]);
    let viewer = attached(&sandbox, "echo");
    sandbox.kill_node();
    wait_until_cooked(&viewer);
    viewer.wait_for("the node closed the terminal");
    assert_eq!(viewer.end(), 3);
    let _ = sandbox.frith(["status"]).ok();
    wait_for("the end of the survivor", || (!is_running(&sandbox, "echo")).then_some(()));
    let left: Vec<_> = sandbox.processes().into_iter().filter(|process| !process.is_node()).collect();
    assert_eq!(left, []);
}

#[test]
fn the_agent_has_the_size_of_who_looks_and_of_who_types() {
    let sandbox = with_agents(&[("sized", "stty -echo; echo ready; while read line; do echo \"$line $(stty size)\"; done")]);
    let mut first = attached(&sandbox, "sized");
    first.type_in("one\r");
    first.wait_for("one 30 100");
    let mut second = attached(&sandbox, "sized");
    second.resize(70, 20);
    // What it is shown now ends with the last row of its own.
    second.wait_for("\x1b[20;1H");
    second.type_in("two\r");
    second.wait_for("two 20 70");
    first.type_in("three\r");
    first.wait_for("three 30 100");
}

#[test]
fn a_viewer_that_stands_still_slows_nobody_and_catches_up() {
    let sandbox = with_agents(&[("flood", "stty -echo; echo ready; read line; seq 1 200000; printf 'fin%s\\n' ished; exec cat")]);
    let mut still = attached(&sandbox, "flood");
    let stopped = attaching(&sandbox);
    stopped.signal(Signal::STOP);
    let mut quick = attached(&sandbox, "flood");
    quick.type_in("\r");
    quick.wait_for("finished");
    assert!(!still.shown().contains("finished"));
    stopped.signal(Signal::CONT);
    still.wait_for("finished");
    still.type_in("still here\r");
    still.wait_for("still here");
}

#[test]
fn without_a_terminal_the_text_is_printed_until_the_agent_ends() {
    let sandbox = with_agents(&[ECHO]);
    let following = sandbox.call(["agents", "attach", "echo"]).spawn();
    attaching(&sandbox);
    let mut viewer = attached(&sandbox, "echo");
    viewer.type_in("seen by both\r");
    viewer.wait_for("<seen by both>");
    let _ = sandbox.frith(["agents", "stop", "echo"]).ok();
    let run = following.end().ok();
    assert!(run.stdout.contains("ready\n<seen by both>\n"), "{:?}", run.stdout);
    assert!(!run.stdout.contains('\x1b'), "{:?}", run.stdout);
    assert!(run.stderr.contains("ended by signal 15"), "{:?}", run.stderr);
    viewer.wait_for("ended by signal 15");
    assert_eq!(viewer.end(), 0);
}
