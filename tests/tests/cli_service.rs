//! The node as a service of the system, before a stand-in for `systemctl` that does what the definition says.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{fs, os::unix::net::UnixDatagram, path::PathBuf};

use frith_tests::{Sandbox, run::write_program, wait_for};
use rustix::process::Signal;

/// Notes what it is asked, and runs what the unit starts. A unit's node is told of by its process.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$*" in
"--user start "*)
    unit="$XDG_CONFIG_HOME/systemd/user/$3.service"
    line=$(sed -n 's/^ExecStart=//p' "$unit")
    eval "setsid $line </dev/null >/dev/null 2>&1 &"
    echo $! > "$HOME/main-process"
    while ! test -S "$FRITH_HOME/node.sock"; do sleep 0.02; done ;;
"--user show --property=MainPID "*) echo "MainPID=$(cat "$HOME/main-process" 2>/dev/null || echo 0)" ;;
esac
"#;

fn machine() -> Sandbox {
    let sandbox = Sandbox::new();
    write_program(&sandbox.root().join("bin/systemctl"), SYSTEMCTL).unwrap();
    write_program(&sandbox.root().join("bin/loginctl"), "#!/bin/sh\necho Linger=no\n").unwrap();
    sandbox
}

fn unit(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join(".config/systemd/user/frith.service")
}

fn asked(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.root().join("asked")).unwrap_or_default()
}

/// What the unit says under a key.
fn said(sandbox: &Sandbox, key: &str) -> String {
    let text = fs::read_to_string(unit(sandbox)).unwrap();
    text.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap_or_else(|| panic!("no {key}: {text}")).to_owned()
}

/// A transcript without the search path, which is that of whoever runs the tests.
fn transcript<'a>(sandbox: &Sandbox, runs: impl IntoIterator<Item = &'a frith_tests::Run>) -> String {
    let text = sandbox.transcript(runs);
    text.lines()
        .map(|line| if line.contains("\"PATH=") { "  Environment=\"PATH=…\"" } else { line })
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_service_is_shown_installed_left_alone_and_removed() {
    let sandbox = machine();
    let shown = sandbox.frith(["up", "--install-service", "--dry-run"]).ok();
    assert!(!unit(&sandbox).exists() && asked(&sandbox).is_empty(), "it was only shown");
    let installed = sandbox.frith(["up", "--install-service"]).ok();
    let first = sandbox.nodes();
    assert_eq!(first.len(), 1, "it runs");
    let again = sandbox.frith(["up", "--install-service"]).ok();
    let status = sandbox.frith(["status"]).ok();
    let removed = sandbox.frith(["up", "--uninstall-service"]).ok();
    let absent = sandbox.frith(["up", "--uninstall-service"]).ok();
    assert_eq!(sandbox.nodes(), first, "a node is not ended by it");
    assert!(!unit(&sandbox).exists());
    insta::assert_snapshot!(transcript(&sandbox, [&shown, &installed, &again, &status, &removed, &absent]));
    insta::assert_snapshot!("what_systemctl_is_asked", asked(&sandbox));
}

#[test]
fn the_definition_names_home_and_search_path_and_no_secret() {
    let sandbox = machine();
    let _ = sandbox.call(["up", "--install-service"]).env("API_TOKEN", "s3cret").run().ok();
    let text = fs::read_to_string(unit(&sandbox)).unwrap();
    assert!(!text.contains("s3cret") && text.contains(&format!("FRITH_HOME={}", sandbox.home().display())), "{text}");
    assert_eq!(text.matches("Environment=").count(), 2, "{text}");
    assert_eq!((said(&sandbox, "KillMode").as_str(), said(&sandbox, "Type").as_str()), ("mixed", "notify"));
}

#[test]
fn another_home_has_a_service_of_its_own() {
    let sandbox = machine();
    let home = sandbox.root().join("other");
    let run = sandbox.call(["up", "--install-service", "--dry-run", "--json"]).env("FRITH_HOME", &home).run().ok();
    let name = run.json()["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("frith-") && run.json()["file"].as_str().unwrap().ends_with(&format!("{name}.service")), "{name}");
}

#[test]
fn commands_start_the_node_by_its_service_and_down_is_down() {
    let sandbox = machine();
    let _ = sandbox.frith(["up", "--install-service"]).ok();
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    fs::remove_file(sandbox.root().join("asked")).unwrap();
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
    assert_eq!(asked(&sandbox), "--user start frith\n");
    // A manager that fails keeps nobody from working.
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    write_program(&sandbox.root().join("bin/systemctl"), "#!/bin/sh\necho it is broken >&2\nexit 1\n").unwrap();
    let run = sandbox.frith(["workspace", "show", "app"]).ok();
    assert!(run.stderr.contains("it is broken; starting the node without its service"), "{}", run.transcript());
}

#[test]
fn e11_a_service_beside_a_node_that_was_started_by_hand_does_not_loop() {
    let sandbox = machine();
    let _ = sandbox.frith(["up"]).ok();
    let by_hand = sandbox.nodes();
    let installed = sandbox.frith(["up", "--install-service", "--quiet"]).ok();
    let told = sandbox.frith(["up", "--install-service"]).ok();
    assert!(told.stdout.contains("goes on beside it"), "{}", told.transcript());
    assert!(!asked(&sandbox).contains("start"), "{}", installed.transcript());
    // As the manager would start it at the next login.
    let line = said(&sandbox, "ExecStart");
    let run = sandbox.shell(&format!("exec {line}"), sandbox.root()).run();
    assert_eq!((said(&sandbox, "Restart").as_str(), said(&sandbox, "RestartPreventExitStatus")), ("on-failure", run.code.to_string()));
    let run = sandbox.shell(&format!("exec {line} --yield"), sandbox.root()).run().ok();
    assert!(run.stderr.contains("has the home"), "{}", run.transcript());
    assert_eq!(sandbox.nodes(), by_hand);
}

#[test]
fn an_upgrade_writes_the_definition_anew_and_a_foreign_one_stays() {
    let sandbox = machine();
    let _ = sandbox.frith(["up", "--install-service"]).ok();
    let before = fs::read_to_string(unit(&sandbox)).unwrap();
    let moved = sandbox.root().join("bin/frith-2");
    fs::copy(fs::canonicalize(sandbox.root().join("bin/frith")).unwrap(), &moved).unwrap();
    let found = sandbox.shell("frith-2 doctor", sandbox.root()).run();
    assert!(found.stdout.contains("service: ") && found.stdout.contains("mend: frith up --install-service"), "{}", found.transcript());
    let again = sandbox.shell("frith-2 up --install-service --json", sandbox.root()).run().ok();
    assert_eq!(again.json()["done"], "written");
    let after = fs::read_to_string(unit(&sandbox)).unwrap();
    assert!(after != before && said(&sandbox, "ExecStart").contains("frith-2"), "{after}");
    fs::write(unit(&sandbox), "[Service]\nExecStart=/bin/true\n").unwrap();
    let foreign = sandbox.frith(["up", "--install-service"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&foreign]));
    assert_eq!(fs::read_to_string(unit(&sandbox)).unwrap(), "[Service]\nExecStart=/bin/true\n");
}

/// Agents are found by the search path of the shell that installed the service, whatever shell asks later.
#[test]
fn a_service_is_as_it_should_be_from_a_shell_with_another_search_path() {
    let sandbox = machine();
    let _ = sandbox.frith(["up", "--install-service"]).ok();
    let found = sandbox.shell("PATH=\"/nonexistent:$PATH\" frith doctor", sandbox.root()).run();
    assert!(found.stdout.contains("is as it should be"), "{}", found.transcript());
}

#[test]
fn where_no_manager_answers_nothing_is_written() {
    let sandbox = machine();
    write_program(&sandbox.root().join("bin/systemctl"), "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n")
        .unwrap();
    let run = sandbox.frith(["up", "--install-service"]).ends_with(2);
    insta::assert_snapshot!(sandbox.transcript([&run]));
    assert!(!unit(&sandbox).exists() && sandbox.nodes().is_empty());
    let _ = sandbox.frith(["up", "--install-service", "--dry-run"]).ok();
}

#[test]
fn the_manager_is_told_when_the_node_is_up_and_when_it_ends() {
    let sandbox = Sandbox::new();
    let path = sandbox.root().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let told = || {
        let mut bytes = [0; 256];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..count].to_vec()).unwrap()
    };
    let node = sandbox.call(["up", "--foreground"]).env("NOTIFY_SOCKET", &path).spawn();
    assert!(told().starts_with("READY=1\nSTATUS=machine "));
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
    wait_for("its node", || (!sandbox.nodes().is_empty()).then_some(()));
    sandbox.signal_node(Signal::TERM);
    assert_eq!(told(), "STOPPING=1");
    let _ = node.end().ok();
}
