//! Power cuts: what was acknowledged is there, and what was half done is finished or undone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use frith_tests::{Sandbox, run::write_program, wait_for};
use serde_json::Value;

/// How many times the node is killed while it writes.
const KILLS: usize = 50;
/// How many write at the same time.
const WRITERS: usize = 3;

#[test]
fn nothing_acknowledged_is_lost_however_often_the_node_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let acknowledged = Mutex::new(BTreeSet::new());
    for kill in 0..KILLS {
        kill_under_load(&sandbox, kill, &acknowledged);
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    let there: BTreeSet<_> = sandbox.titles("app").into_iter().collect();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged tasks are gone: {lost:?}", lost.len(), acknowledged.len());
    assert!(acknowledged.len() >= KILLS, "too few writes were acknowledged to prove anything: {}", acknowledged.len());
}

/// Several writers add tasks; the node under them is killed after a number of acknowledged writes that differs from
/// round to round. The next write starts another.
fn kill_under_load(sandbox: &Sandbox, kill: usize, acknowledged: &Mutex<BTreeSet<String>>) {
    let before = acknowledged.lock().unwrap().len();
    let killed = AtomicBool::new(false);
    let killed = &killed;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for n in 0.. {
                    if killed.load(Ordering::Relaxed) {
                        return;
                    }
                    let title = format!("task {kill}-{writer}-{n}");
                    if sandbox.frith(["task", "add", "-w", "app", &title]).code == 0 {
                        acknowledged.lock().unwrap().insert(title);
                    }
                }
            });
        }
        wait_for("some writes were acknowledged", || (acknowledged.lock().unwrap().len() > before + kill % 5).then_some(()));
        sandbox.nodes().iter().for_each(|node| node.signal(rustix::process::Signal::KILL));
        killed.store(true, Ordering::Relaxed);
    });
}

/// One test for each point between two steps at which the node is ended, as by a power cut.
macro_rules! cut_at {
    ($way:ident: $($name:ident = $point:literal),+ $(,)?) => {
        mod $way {
            /// The points of these tests.
            pub const POINTS: &[&str] = &[$($point),+];
            $(
                #[test]
                fn $name() {
                    super::$way($point);
                }
            )+
        }
    };
}

cut_at! { a_launch_in_a_new_worktree:
    recorded = "launch.recorded",
    leftovers_set_aside = "folder.set-aside",
    folder_to_be_staged = "folder.stage",
    folder_to_be_recorded = "folder.record",
    folder_to_be_registered = "folder.register",
    folder_to_be_checked_out = "folder.check-out",
    folder_to_be_placed = "folder.place",
    folder_to_be_linked = "folder.link",
    hook_to_be_run = "folder.hook",
    staging_to_be_deleted = "folder.unstage",
    folder_made = "launch.folder-made",
    folder_recorded = "launch.folder-recorded",
    agent_spawned = "launch.spawned",
    agent_recorded = "launch.running",
}

cut_at! { a_launch_in_a_new_copy:
    folder_to_be_staged = "folder.stage",
    folder_to_be_copied = "folder.copy",
    folder_to_be_placed = "folder.place",
    folder_made = "launch.folder-made",
}

cut_at! { a_merge_that_deletes_the_folder:
    decided = "merge.decided",
    agent_stopped = "merge.agent-stopped",
    merge_recorded = "merge.committed",
    folder_to_be_set_aside = "folder.set-aside",
    folder_to_be_forgotten = "folder.forget",
    trash_to_be_deleted = "folder.delete",
    folder_removed = "merge.folder-removed",
    done = "merge.done",
}

cut_at! { a_slot_that_comes:
    found_due = "schedule.due",
    recorded_with_its_run = "schedule.fired",
}

#[test]
fn there_is_a_cut_at_every_point() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tree = frith_tests::tidy::Tree::read(root).unwrap();
    let actors = tree.rust().filter(|file| file.is_below("actors")).map(|file| file.product.with_strings.as_str());
    let strings: BTreeSet<_> = actors.flat_map(|text| text.split('"')).collect();
    let all = strings
        .into_iter()
        .filter(|text| ["launch.", "folder.", "merge.", "schedule."].iter().any(|part| text.strip_prefix(part).is_some_and(is_step)));
    // Taking back what failed is reached by no launch and no merge that goes well.
    let cut = [
        a_launch_in_a_new_worktree::POINTS,
        a_launch_in_a_new_copy::POINTS,
        a_merge_that_deletes_the_folder::POINTS,
        a_slot_that_comes::POINTS,
        &["folder.drop-branch"],
        ONLY_OF_WORKTREES,
    ]
    .concat();
    let missing: Vec<_> = all.filter(|point| !cut.contains(point)).collect();
    assert!(missing.is_empty(), "nothing is cut at {missing:?}");
}

/// Steps that only the worktrees of agents take; the tests of folders end their making and their removal before each of them, and kill
/// them in the middle.
const ONLY_OF_WORKTREES: &[&str] = &["folder.decide", "folder.include", "folder.lock", "folder.unlock"];

fn is_step(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn restart_with_fault(sandbox: &Sandbox, point: &str) {
    let _ = sandbox.frith(["down"]);
    sandbox.wait_for_no_node();
    let _ = sandbox.call(["up"]).env("FRITH_FAULT", point).run().ok();
}

fn a_launch_in_a_new_worktree(point: &str) {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    write_program(&repo.join(".git/hooks/post-checkout"), "#!/bin/sh\nexit 0\n").unwrap();
    let folder = cut_and_launched_again(&sandbox, "app", point);
    assert_eq!(sandbox.git(folder.as_ref(), &["status", "--porcelain"]), "", "{point}: the folder is not whole");
    assert_eq!(sandbox.git(&repo, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2, "{point}");
    assert_eq!(sandbox.git(&repo, &["branch", "--list", "frith/*"]).lines().count(), 1, "{point}");
}

fn a_launch_in_a_new_copy(point: &str) {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let plain = sandbox.folder("plain");
    let _ = sandbox.frith(["workspace", "create", "plain", "--folder", plain.to_str().unwrap()]).ok();
    let folder = cut_and_launched_again(&sandbox, "plain", point);
    assert_eq!(fs::read_to_string(format!("{folder}/notes.txt")).unwrap(), "one\n", "{point}");
}

/// Launches an agent in a fork of this place with a cut, looks at what is left, and launches again; answers the folder.
fn cut_and_launched_again(sandbox: &Sandbox, place: &str, point: &str) -> String {
    let _ = sandbox.frith(["fork", "create", place, "--name", "side"]).ok();
    restart_with_fault(sandbox, point);
    let cut = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]);
    sandbox.wait_for_no_node();
    assert_ne!(cut.code, 1, "{point}: a power cut is no refusal\n{}", cut.transcript());
    assert_eq!(sandbox.show_place("side")["agent"], Value::Null, "{point}");
    let commands: Vec<_> = sandbox.processes().into_iter().map(|process| process.command).collect();
    assert_eq!(commands.len(), 1, "{point}: more than the node runs: {commands:?}");
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    sandbox.wait_for_agent("side");
    let place = sandbox.show_place("side");
    let forks = sandbox.home().join("forks");
    let names: Vec<_> = fs::read_dir(forks).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, [place["id"].as_str().unwrap()], "{point}: something is left beside the folder");
    place["folder"].as_str().unwrap().to_owned()
}

fn a_merge_that_deletes_the_folder(point: &str) {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    let id = sandbox.frith(["fork", "create", "app", "--name", "side", "--quiet"]).ok().id();
    let task = sandbox.task("side", "done");
    let _ = sandbox.frith(["task", "status", &task, "completed"]).ok();
    // The folder is made before, so that the cut comes in its removal.
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    restart_with_fault(&sandbox, point);
    if point.starts_with("merge.") {
        let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
        sandbox.wait_for_agent("side");
    }
    let _ = sandbox.frith(["fork", "merge", "side", "--delete-folder", "--yes"]);
    sandbox.wait_for_no_node();
    merged_again(&sandbox, point, &id);
    assert_eq!(sandbox.git(&repo, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1, "{point}");
    assert!(sandbox.git(&repo, &["branch", "--list", "frith/*"]).contains(&format!("frith/fork-{id}")), "{point}: the branch is gone");
}

/// Either nothing was merged, and merging again does it; or all of it was, and merging again says so. At the end the
/// folder is gone, and so is the agent.
fn merged_again(sandbox: &Sandbox, point: &str, fork: &str) {
    let again = sandbox.frith(["fork", "merge", fork, "--delete-folder", "--yes"]);
    assert!(again.code <= 1, "{point}: {}", again.transcript());
    assert!(!sandbox.show_place(fork)["merged"].is_null(), "{point}: {}", again.transcript());
    assert_eq!(sandbox.titles("app"), ["done"], "{point}");
    wait_for(&format!("{point}: the folder is gone"), || {
        fs::read_dir(sandbox.home().join("forks")).map_or(true, |mut entries| entries.next().is_none()).then_some(())
    });
    wait_for(&format!("{point}: only the node runs"), || (sandbox.processes().len() == 1).then_some(()));
}

/// A slot makes its run once, whether the node ends before or after that is on disk.
fn a_slot_that_comes(point: &str) {
    let sandbox = Sandbox::new();
    let at = |time: &str, fault: &str| sandbox.call(["up"]).env("FRITH_CLOCK", time).env("FRITH_FAULT", fault).run();
    let _ = at("2026-03-27T06:00:00Z", "").ok();
    sandbox.workspace("app");
    let id = sandbox.frith(["task", "add", "-w", "app", "daily", "--quiet", "--schedule", "30 8 * * *"]).ok().id();
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    // The slot is due as the node starts, so that it may be gone before it has answered.
    let _ = at("2026-03-27T08:30:05Z", point);
    sandbox.wait_for_no_node();
    let _ = at("2026-03-27T08:30:10Z", "").ok();
    wait_for(&format!("{point}: the slot has its run"), || (sandbox.show_task(&id)["slots"][0]["outcome"] == "ran").then_some(()));
    assert_eq!(sandbox.show_task(&id)["slots"].as_array().unwrap().len(), 1, "{point}");
    assert_eq!(sandbox.titles("app"), ["daily", "daily"], "{point}: one template and one run");
}
