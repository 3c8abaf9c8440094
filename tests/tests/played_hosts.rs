//! The hosts that tests play are hosts: processes with hooks, shells and servers below them, each told what that host tells.

use frith_tests::{Host, Run, Sandbox, errand::Program, wait_for};

/// What a line of a shell says below a host.
fn said(host: &mut Host<'_>, line: &str) -> Run {
    let words = ["sh", "-c", line].map(str::to_owned).to_vec();
    host.run(Program { words, folder: host.folder.clone(), ..Program::default() }, line).ok()
}

#[test]
fn what_a_host_starts_runs_below_it_and_ends_with_its_word() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("app");
    let mut host = Host::start(&sandbox, "claude", &folder);
    assert_eq!(said(&mut host, "echo $PPID; pwd").stdout, format!("{}\n{}\n", host.pid, folder.display()));
    let mut other = host.fork("codex");
    let above = format!("ps -o ppid= -p {}", other.pid);
    assert_eq!(said(&mut host, &above).stdout.trim(), host.pid.to_string());
    assert_eq!(said(&mut other, "echo $PPID").stdout.trim(), other.pid.to_string());
    host.kill_fork(other);
    assert_eq!(said(&mut host, &format!("{above}; true")).stdout, "");
    host.kill();
}

#[test]
fn a_shell_a_hook_and_a_server_are_told_what_their_host_tells_them() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("app");
    let mut host = Host::start(&sandbox, "claude", &folder);
    std::fs::write(&host.exports, "export MARK=kept\n").unwrap();
    std::fs::remove_file(sandbox.root().join("bin/frith")).unwrap();
    let shown = "#!/bin/sh\necho \"$1 $CLAUDE_CODE_SESSION_ID ${CLAUDE_PROJECT_DIR:-no folder} ${CLAUDE_ENV_FILE:+exports} $MARK $SET_BY_HAND\"; cat";
    frith_tests::run::write_program(&sandbox.root().join("bin/frith"), shown).unwrap();
    host.session = "after-clear".into();
    let runs = [host.begin(), host.tool("make"), host.frith_with(["shell"], &[("SET_BY_HAND", "by hand")]), host.server(["server"])];
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

/// A hook's standard input that stays open ends with the hook, and the host goes on.
#[test]
fn a_hook_that_leaves_its_input_unread_holds_no_host_up() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("app");
    let mut host = Host::start(&sandbox, "qwen", &folder);
    let words = ["sh", "-c", "echo done; exit 3"].map(str::to_owned).to_vec();
    let program = Program { words, folder: folder.clone(), input: "x".repeat(1 << 20), endless: true, ..Program::default() };
    let run = host.run(program, "true").ends_with(3);
    assert_eq!(run.stdout, "done\n");
    drop(host);
    wait_for("the host is gone", || sandbox.processes().is_empty().then_some(()));
}
