//! What goes wrong with a node and its home, told by `doctor` with what mends it, and mended where nothing is lost by it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::Command,
};

use frith_tests::{Sandbox, wait_for};
use rustix::process::Signal;

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn fact(sandbox: &Sandbox, args: &[&str], what: &str) -> (String, String) {
    let found = sandbox.frith(["doctor", "--json"].iter().chain(args)).json();
    let finding = found["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == what && finding["state"] != "good");
    let finding = finding.unwrap_or_else(|| panic!("nothing of {what}: {found}"));
    (finding["state"].as_str().unwrap().to_owned(), finding["fact"].as_str().unwrap().to_owned())
}

#[test]
fn e07_a_socket_that_was_taken_away_is_made_anew_by_the_node_that_runs() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("ready");
    let (nodes, socket) = (sandbox.nodes(), sandbox.home().join("node.sock"));
    fs::remove_file(&socket).unwrap();
    let (state, fact) = fact(&sandbox, &[], "socket");
    assert_eq!((state.as_str(), fact.as_str()), ("mended", "it was gone, and the node made it anew"));
    assert_eq!(sandbox.titles("app"), Vec::<String>::new());
    assert_eq!(sandbox.nodes(), nodes, "it is the same node");
    viewer.type_in("still here\r");
    viewer.wait_for("still here");
    fs::remove_file(&socket).unwrap();
    let down = sandbox.frith(["down"]).ok();
    assert!(down.stdout.contains("1 agent stopped"), "{}", down.transcript());
}

#[test]
fn e08_a_lock_file_that_was_taken_away_is_made_anew_and_no_second_node_runs() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
    let (nodes, lock) = (sandbox.nodes(), sandbox.home().join("node.lock"));
    let before = inode(&lock);
    fs::remove_file(&lock).unwrap();
    wait_for("the node has its lock again", || lock.exists().then(|| inode(&lock)).filter(|now| *now != before));
    let second = sandbox.frith(["up", "--foreground"]).ends_with(1);
    assert!(second.stderr.contains(&nodes[0].pid.to_string()), "{}", second.transcript());
    assert_eq!(sandbox.nodes(), nodes);
}

#[test]
fn a_node_whose_home_is_gone_ends_and_makes_no_other() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    fs::remove_dir_all(sandbox.home()).unwrap();
    wait_for("the end of all of them", || sandbox.processes().is_empty().then_some(()));
    assert!(!sandbox.home().exists());
}

#[test]
fn a_node_that_was_stopped_is_told_and_how_it_is_let_go_on() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    sandbox.signal_node(Signal::STOP);
    let run = sandbox.frith(["status"]).ends_with(3);
    let (state, fact) = fact(&sandbox, &[], "node");
    sandbox.signal_node(Signal::CONT);
    assert_eq!(state, "bad", "{fact}");
    let pid = sandbox.nodes()[0].pid.to_string();
    assert!(run.stderr.contains(&format!("kill -CONT {pid}")), "{}", run.transcript());
    insta::assert_snapshot!(sandbox.transcript([&run]).replace(&pid, "[PID]"));
    let _ = sandbox.frith(["status"]).ok();
}

#[test]
fn doctor_mends_what_loses_nothing_and_says_each_thing_it_does() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let home = sandbox.home();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(&home.join("store.redb"), 0o644);
    open(&home.join("key"), 0o640);
    open(&home.join("node.log"), 0o644);
    open(&home, 0o755);
    sandbox.config("# mine\nnode = 3\n[git]\nlfs = \"maybe\" # why\n");
    open(&home, 0o755);
    let before = sandbox.frith(["doctor", "--quiet"]).ends_with(1);
    let mended = sandbox.frith(["doctor", "--fix", "--quiet"]).ok();
    let after = sandbox.frith(["doctor", "--quiet"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&before, &mended, &after]));
    assert_eq!(fs::read_to_string(home.join("config.toml")).unwrap(), "");
    assert_eq!(fs::read_to_string(home.join("config.toml.before-fix-0")).unwrap(), "# mine\nnode = 3\n[git]\nlfs = \"maybe\" # why\n");
    assert_eq!(sandbox.nodes().len(), 1, "and it started the node");
}

#[test]
fn e16_after_much_load_and_many_failures_an_idle_node_is_well() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.brief]\ncommand = [\"sh\", \"-c\", \"exit 3\"]\n[launch.idle]\ncommand = [\"cat\"]\n");
    sandbox.workspace("app");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for number in 0..10 {
                    let _ = sandbox.frith(["task", "add", "-w", "app", &format!("{writer}-{number}")]).ok();
                    let _ = sandbox.frith(["task", "show", "00000000"]).ends_with(1);
                }
            });
        }
    });
    for _ in 0..3 {
        let _ = sandbox.frith(["agents", "launch", "app", "--kind", "brief"]).ends_with(1);
    }
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ok();
    let agent = sandbox.wait_for_agent("app")["id"].as_str().unwrap().to_owned();
    let process = sandbox.processes().into_iter().find(|process| process.command == "cat").unwrap();
    process.signal(Signal::KILL);
    wait_for("its end", || {
        let agent = sandbox.frith(["agents", "show", &agent, "--json"]).ok().json();
        (!agent["agent"]["ended"].is_null()).then_some(())
    });
    let status = sandbox.frith(["status", "--json"]).ok().json();
    assert_eq!((&status["troubles"], &status["agents"]), (&serde_json::json!([]), &serde_json::json!([])));
    let doctor = sandbox.frith(["doctor"]).ok();
    assert!(doctor.stdout.contains("which all agree"), "{}", doctor.transcript());
}

/// Damages the first change of one task's document, and has the views built anew.
fn damage_a_task(store: &Path) {
    type Rows = redb::TableDefinition<'static, &'static [u8], &'static [u8]>;
    let (facts, local) = (Rows::new("facts"), Rows::new("local"));
    let database = redb::Database::open(store).unwrap();
    let writing = database.begin_write().unwrap();
    {
        let mut facts = writing.open_table(facts).unwrap();
        // A change of a document whose kind is a task.
        let key = {
            use redb::ReadableTable as _;
            let mut rows = facts.range::<&[u8]>([2_u8, 1].as_slice()..[2, 2].as_slice()).unwrap();
            rows.next().unwrap().unwrap().0.value().to_vec()
        };
        facts.insert(key.as_slice(), [7_u8; 40].as_slice()).unwrap();
        writing.open_table(local).unwrap().insert([2_u8].as_slice(), [0_u8].as_slice()).unwrap();
    }
    writing.commit().unwrap();
}

#[test]
fn e09_a_damaged_record_is_told_and_the_node_goes_on_with_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    for title in ["one", "two", "three"] {
        sandbox.task("app", title);
    }
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    damage_a_task(&sandbox.home().join("store.redb"));
    assert_eq!(sandbox.titles("app").len(), 2, "the other two are there");
    let node = sandbox.nodes();
    let _ = sandbox.frith(["task", "add", "-w", "app", "four"]).ok();
    let doctor = sandbox.frith(["doctor"]).ends_with(1);
    assert!(doctor.stdout.contains("BAD   store: document ") && doctor.stdout.contains("mend: frith restore"), "{}", doctor.transcript());
    assert_eq!(sandbox.nodes(), node, "it never ended itself");
    assert!(sandbox.log().contains("a document was left out of the views"), "{}", sandbox.log());
}

#[test]
fn e30_doctor_looks_at_a_few_files_whatever_lies_in_the_home() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    // A pipe that nobody writes into keeps whoever opens it waiting for ever, and so would a walk.
    let deep = sandbox.home().join("forks/0/1/2");
    fs::create_dir_all(&deep).unwrap();
    for name in ["forks/0/1/2/pipe", "config.toml", "key.old", "blobs"] {
        let made = Command::new("mkfifo").arg(sandbox.home().join(name)).status().unwrap();
        assert!(made.success());
    }
    for number in 0..2_000 {
        fs::write(deep.join(number.to_string()), "").unwrap();
    }
    let doctor = sandbox.frith(["doctor"]).ends_with(1);
    assert!(doctor.stdout.contains("BAD   configuration: "), "{}", doctor.transcript());
}

#[test]
fn e15_a_command_that_comes_while_the_node_opens_its_store_waits_and_is_told() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    sandbox.task("app", "kept");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let go = sandbox.root().join("go");
    fs::remove_file(sandbox.home().join("node.sock")).ok();
    let node = sandbox.call(["up", "--foreground"]).env("FRITH_FAULT", format!("store.opening={}", go.display())).spawn();
    wait_for("its socket", || sandbox.home().join("node.sock").exists().then_some(()));
    let early = sandbox.view(["task", "list", "-w", "app"]);
    early.wait_for("waiting for the node to open its store");
    fs::write(&go, "").unwrap();
    early.wait_for("kept");
    assert_eq!(early.end(), 0);
    let _ = sandbox.frith(["down"]).ok();
    let _ = node.end().ok();
}
