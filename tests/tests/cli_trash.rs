//! The trash: what goes there, what comes back, what goes for good; and figures, in which none of it counts.

use std::collections::BTreeMap;

use frith_store::{
    id::{PlaceId, TaskId},
    model::By,
    time::Timestamp,
    tx::PlaceEdit,
};
use frith_tests::{Run, Sandbox, redact, seed, wait_for};

#[test]
fn tasks_go_to_the_trash_and_come_back_all_or_none() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let (one, two) = (sandbox.task("app", "one"), sandbox.task("app", "two"));
    let kept = sandbox.task("app", "three");
    let runs: Vec<Run> = [
        ["task", "delete", &one].as_slice(),
        &["task", "delete", &one, &two, "--dry-run"],
        &["task", "delete", &one, &two, "--yes"],
        &["task", "list", "-w", "app"],
        &["task", "list", "-w", "app", "--deleted"],
        &["task", "show", &one],
        &["task", "reply", &one, "more"],
        &["task", "move", &one, "--to", "supervisor"],
        &["fork", "spin-up", &one, "--kind", "idle"],
        &["task", "edit", &kept, "--after", &one],
        &["task", "delete", &kept, &one, "--yes"],
        &["task", "restore", &one, &kept],
        &["task", "restore", &one, &two],
        &["task", "list", "-w", "app", "--deleted"],
    ]
    .map(|line| sandbox.frith(line))
    .into();
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(sandbox.titles("app"), ["one", "two", "three"]);
}

/// What is in the trash of a fork holds up no merge, and is in the parent's afterwards.
#[test]
fn a_task_in_the_trash_holds_up_no_merge_and_goes_along() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let task = sandbox.task("side", "not needed");
    let refused = sandbox.frith(["fork", "merge", "side", "--yes"]).ends_with(1);
    assert!(refused.stderr.contains("1 unfinished task"), "{}", refused.transcript());
    let _ = sandbox.frith(["task", "delete", &task, "--yes"]).ok();
    let _ = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    let trash = sandbox.frith(["task", "list", "-w", "app", "--deleted", "--json"]).ok().json();
    assert_eq!(trash["tasks"][0]["id"], task.as_str());
    let _ = sandbox.frith(["task", "restore", &task]).ok();
    assert_eq!(sandbox.titles("app"), ["not needed"]);
}

/// Starts the node as on this day, and ends it once it answers.
fn node_on(sandbox: &Sandbox, day: &str) {
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let _ = sandbox.call(["up"]).env("FRITH_CLOCK", format!("{day}T12:00:00Z")).run().ok();
}

#[test]
fn what_was_deleted_a_month_ago_goes_for_good_at_the_second_look() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "create", "gone", "--folder", &sandbox.folder("gone").to_string_lossy()]).ok();
    let place: PlaceId = sandbox.show_place("gone")["id"].as_str().unwrap().parse().unwrap();
    let within = sandbox.task("gone", "goes with its place");
    let (old, new) = (sandbox.task("app", "old"), sandbox.task("app", "new"));
    let _ = sandbox.frith(["agents", "launch", "gone", "--kind", "idle"]).ok();
    let agent = sandbox.frith(["agents", "stop", "gone", "--json"]).ok().json()["agent"]["id"].as_str().unwrap().to_owned();
    let old_id: TaskId = old.parse().unwrap();
    let deleted = Timestamp::from_ms(1_700_000_000_000);
    seed::write(&sandbox, deleted, move |tx| {
        let by = By::Person("ada".into());
        tx.delete_task(old_id, &by)?;
        Ok(tx.set_place(place, PlaceEdit { deleted: Some(Some(tx.now())), ..PlaceEdit::default() }, &by)?)
    });
    let unknown = |task: &str| sandbox.frith(["task", "show", task]).stderr.contains("no task");
    node_on(&sandbox, "2023-11-16");
    node_on(&sandbox, "2023-12-20");
    assert!(!unknown(&old) && !unknown(&within), "one look takes nothing away");
    let _ = sandbox.frith(["task", "delete", &new, "--yes"]).ok();
    node_on(&sandbox, "2023-12-21");
    wait_for("the trash is emptied", || (unknown(&old) && unknown(&within)).then_some(()));
    let shown = sandbox.frith(["agents", "sessions", "--all", "--json"]).ok().json();
    assert_eq!(shown["agents"][0]["agent"]["id"], agent.as_str(), "what ran there is still told");
    let _ = sandbox.frith(["agents", "show", &agent]).ok();
    let listed = sandbox.frith(["workspace", "list", "--all"]).ok();
    assert!(!listed.stdout.contains("gone"), "{}", listed.transcript());
    assert_eq!(sandbox.show_task(&new)["task"]["deleted"]["by"]["person"], "ada", "one that was just deleted stays");
    let folder = sandbox.root().join("gone").to_string_lossy().into_owned();
    let _ = sandbox.frith(["workspace", "create", "gone", "--folder", &folder]).ok();
    let _ = sandbox.frith(["down"]).ok();
    let _ = sandbox.frith(["status"]).ok();
}

#[test]
fn what_was_taken_meanwhile_is_not_taken_back() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("shared").to_string_lossy().into_owned();
    let make = |name: &str| sandbox.frith(["workspace", "create", name, "--folder", &folder, "--quiet"]).ok().id();
    let first = make("first");
    let _ = sandbox.frith(["workspace", "delete", "first", "--yes"]).ok();
    let second = make("second");
    let folder_taken = sandbox.frith(["workspace", "unarchive", &first]).ends_with(1);
    let _ = sandbox.frith(["workspace", "set", &second, "--name", "first"]).ok();
    let name_taken = sandbox.frith(["workspace", "unarchive", &first]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&folder_taken, &name_taken]));
}

/// Times differ from run to run, so the words are compared and the numbers are checked to be there.
#[test]
fn figures_count_a_merged_fork_under_its_parent() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let (one, two) = (sandbox.task("app", "one"), sandbox.task("app", "two"));
    let _ = sandbox.frith(["fork", "spin-up", &one, "--kind", "script"]).ok();
    sandbox.wait_for_status(&one, "completed");
    let _ = sandbox.frith(["fork", "merge", "one", "--yes"]).ok();
    let _ = sandbox.frith(["task", "delete", &two, "--yes"]).ok();
    let stats = sandbox.frith(["workspace", "stats", "app"]).ok();
    insta::assert_snapshot!(redact::spans(&sandbox.transcript([&stats])));
    let figures = sandbox.frith(["workspace", "stats", "app", "--days", "1", "--json"]).ok().json();
    let numbers: BTreeMap<_, _> = ["deleted", "closed", "messages", "agents"].map(|key| (key, figures[key].as_u64().unwrap())).into();
    assert_eq!(numbers, [("deleted", 1), ("closed", 1), ("messages", 1), ("agents", 1)].into());
    assert_eq!(figures["startToClose"]["count"], 1);
    assert!(figures["agentsMs"].as_u64().unwrap() > 0);
    let refused = sandbox.frith(["workspace", "stats", "nowhere"]).ends_with(1);
    assert!(refused.stderr.contains("no place `nowhere`"), "{}", refused.transcript());
}

/// A template in the trash makes no runs, and has its schedule again when it is taken back.
#[test]
fn a_template_rests_in_the_trash() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.frith(["task", "add", "--quiet", "-w", "app", "nightly", "--schedule", "0 3 * * *"]).ok().id();
    let next = |task: &str| sandbox.show_task(task)["schedule"]["nextRun"].clone();
    assert!(next(&task).is_string());
    let _ = sandbox.frith(["task", "delete", &task, "--yes"]).ok();
    assert!(next(&task).is_null());
    let _ = sandbox.frith(["task", "restore", &task]).ok();
    assert!(next(&task).is_string());
}

/// What was acknowledged is there afterwards, also a reply whose time had not come when its task was deleted.
#[test]
fn a_reply_that_is_held_back_goes_to_the_trash_with_its_task() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "3600"]).ok();
    let task = sandbox.task("app", "one");
    let _ = sandbox.frith(["task", "reply", &task, "important"]).ok();
    let _ = sandbox.frith(["task", "delete", &task, "--yes"]).ok();
    let _ = sandbox.frith(["task", "restore", &task]).ok();
    assert_eq!(sandbox.show_task(&task)["thread"][0]["text"], "important");
}
