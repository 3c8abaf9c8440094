//! Schedules: templates, their runs, and what becomes of slots that cannot run. The clock is set, so nothing waits for a
//! time of day.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;

use frith_store::{
    database::{Database, Keep, WriteRows},
    open::file_backend,
    rows::{Key, RowsMut as _, Scan, Table, scan_prefix},
};
use frith_tests::{Run, Sandbox, wait_for};
use serde_json::Value;

/// Runs a command as if it were this time; a node that it starts goes on from there.
fn at(sandbox: &Sandbox, time: &str, args: &[&str]) -> Run {
    sandbox.call(args).env("FRITH_CLOCK", time).run()
}

const MORNING: &str = "2026-03-27T06:00:00Z";
/// Seconds after 8:30: a slot of that minute is noticed on time.
const HALF_PAST_8: &str = "2026-03-27T08:30:05Z";
const DAYS_LATER: &str = "2026-03-30T12:00:00Z";
/// The byte before the records of slots.
const SLOTS: u8 = 27;

/// Ends the node and starts another at this time.
fn restart_at(sandbox: &Sandbox, time: &str) {
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let _ = at(sandbox, time, &["up"]).ok();
}

/// A machine at this time, with a workspace `app`.
fn machine_at(time: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let _ = at(&sandbox, time, &["up"]).ok();
    sandbox.workspace("app");
    sandbox
}

/// Adds a template to `app` and answers its whole id.
fn template(sandbox: &Sandbox, schedule: &str, more: &[&str]) -> String {
    let line = ["task", "add", "-w", "app", "Look after it", "--quiet", "--schedule", schedule];
    sandbox.frith(line.iter().chain(more)).ok().id()
}

/// The slots of a template, the latest first, as `slot outcome`.
fn slots(sandbox: &Sandbox, template: &str) -> Vec<String> {
    let shown = sandbox.show_task(template);
    let word = |outcome: &Value| match &outcome["skipped"] {
        Value::Null => outcome.as_str().unwrap().to_owned(),
        skipped => format!("{} {}", skipped["why"].as_str().unwrap(), skipped["slots"]),
    };
    let slots = shown["slots"].as_array().unwrap().iter();
    slots.map(|fired| format!("{} {}", fired["slot"].as_str().unwrap().replace(":00.000Z", ""), word(&fired["outcome"]))).collect()
}

/// Waits until the latest slot of a template is this, with what became of it.
fn wait_for_slot(sandbox: &Sandbox, template: &str, slot: &str) {
    wait_for(&format!("the slot {slot}"), || (slots(sandbox, template).first().map(String::as_str) == Some(slot)).then_some(()));
}

/// The ids of the runs in a place.
fn runs(sandbox: &Sandbox, place: &str) -> Vec<String> {
    let listed = sandbox.frith(["task", "list", "-w", place, "--json"]).ok().json();
    let tasks = listed["tasks"].as_array().unwrap().iter().filter(|task| !task["runOf"].is_null());
    tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_schedule_from_its_making_to_its_end() {
    let now = MORNING;
    let sandbox = machine_at(now);
    let schedule = ["--schedule", "30 9 * * 1-5", "--time-zone", "europe/berlin"];
    let add = at(&sandbox, now, &[["task", "add", "-w", "app", "Update the dependencies"].as_slice(), &schedule].concat()).ok();
    let id = add.id();
    let _ = sandbox.task("app", "An ordinary task");
    let lines: &[&[&str]] = &[
        &["task", "list", "-w", "app"],
        &["task", "list", "-w", "app", "--status", "cron"],
        &["task", "show", &id],
        &["task", "edit", &id, "--schedule", "0 8,20 1,15 * *", "--missed", "once"],
        &["task", "edit", &id, "--time-zone", "UTC"],
        &["task", "edit", &id, "--pause"],
        &["task", "list", "-w", "app", "--status", "cron"],
        &["task", "show", &id],
        &["task", "edit", &id, "--resume"],
        &["status"],
        &["task", "edit", &id, "--no-schedule"],
        &["task", "show", &id],
    ];
    let shown: Vec<Run> = lines.iter().map(|line| at(&sandbox, now, line).ok()).collect();
    insta::assert_snapshot!(sandbox.transcript([&add].into_iter().chain(&shown)));
}

#[test]
fn a_slot_makes_a_run_that_is_an_ordinary_task() {
    let sandbox = machine_at(MORNING);
    let add = ["--body", "All of them.", "--assignee", "agent", "--allow-all-commands", "--clear-context", "true"];
    let id = template(&sandbox, "30 8 * * *", &add);
    let notes = sandbox.folder("drafts").join("notes.txt");
    let _ = sandbox.frith(["task", "attach", &id, notes.to_str().unwrap()]).ok();
    restart_at(&sandbox, "2026-03-27T08:29:59Z");
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 ran");
    let now = "2026-03-27T08:31:30Z";
    let run = runs(&sandbox, "app").swap_remove(0);
    let lines: &[&[&str]] = &[
        &["task", "list", "-w", "app"],
        &["task", "show", &id],
        &["task", "next", "-w", "app"],
        &["task", "status", &run, "completed"],
        &["task", "show", &run],
        &["task", "list", "-w", "app", "--status", "cron"],
    ];
    let shown: Vec<Run> = lines.iter().map(|line| at(&sandbox, now, line).ok()).collect();
    insta::assert_snapshot!(sandbox.transcript(&shown));
    let _ = sandbox.frith(["task", "next", "-w", "app"]).ends_with(1);
    let (run, template) = (sandbox.show_task(&run), sandbox.show_task(&id));
    for field in ["title", "assignee", "allowAllCommands", "clearContext"] {
        assert_eq!(run["task"][field], template["task"][field], "{field}");
    }
    assert_eq!((&run["body"], &run["attachments"][0]["hash"]), (&template["body"], &template["attachments"][0]["hash"]));
    assert_eq!(template["schedule"]["lastRun"]["task"], run["task"]["id"]);
    assert_eq!(template["schedule"]["nextRun"], "2026-03-28T08:30:00.000Z");
}

#[test]
fn without_a_time_zone_the_machines_own_counts() {
    for (machines, ours) in [("Europe/Berlin", "Europe/Berlin"), ("<+03>-3", "UTC")] {
        let sandbox = Sandbox::new();
        let _ = sandbox.call(["up"]).env("TZ", machines).run().ok();
        sandbox.workspace("app");
        let id = template(&sandbox, "30 8 * * *", &[]);
        assert_eq!(sandbox.show_task(&id)["task"]["schedule"]["timeZone"], ours, "{machines}");
        let _ = sandbox.frith(["task", "edit", &id, "--time-zone", "Asia/Tokyo"]).ok();
        let _ = sandbox.frith(["task", "edit", &id, "--schedule", "45 8 * * *"]).ok();
        assert_eq!(sandbox.show_task(&id)["task"]["schedule"]["timeZone"], "Asia/Tokyo", "an edit keeps what it does not name");
    }
}

#[test]
fn many_slots_at_once_all_make_their_runs() {
    let sandbox = machine_at(MORNING);
    for _ in 0..70 {
        template(&sandbox, "30 8 * * *", &[]);
    }
    restart_at(&sandbox, HALF_PAST_8);
    wait_for("70 runs", || (runs(&sandbox, "app").len() == 70).then_some(()));
    assert_eq!(sandbox.frith(["status", "--json"]).ok().json()["nextRun"], "2026-03-28T08:30:00.000Z");
}

#[test]
fn d12_a_time_that_clocks_jump_over_runs_at_the_first_minute_after() {
    let sandbox = machine_at("2026-03-08T00:00:00Z");
    let id = template(&sandbox, "30 2 * * *", &["--time-zone", "America/New_York"]);
    restart_at(&sandbox, "2026-03-08T07:00:05Z");
    wait_for_slot(&sandbox, &id, "2026-03-08T07:00 ran");
    restart_at(&sandbox, "2026-03-08T07:31:00Z");
    assert_eq!(sandbox.show_task(&id)["schedule"]["nextRun"], "2026-03-09T06:30:00.000Z");
    assert_eq!(runs(&sandbox, "app").len(), 1);
}

#[test]
fn d12_a_time_that_clocks_show_twice_runs_once_at_first() {
    let sandbox = machine_at("2026-11-01T00:00:00Z");
    let id = template(&sandbox, "30 1 * * *", &["--time-zone", "America/New_York"]);
    restart_at(&sandbox, "2026-11-01T05:30:05Z");
    wait_for_slot(&sandbox, &id, "2026-11-01T05:30 ran");
    restart_at(&sandbox, "2026-11-01T06:30:30Z");
    assert_eq!(sandbox.show_task(&id)["schedule"]["nextRun"], "2026-11-02T06:30:00.000Z");
    assert_eq!(runs(&sandbox, "app").len(), 1);
}

#[test]
fn what_came_while_the_machine_was_off_is_skipped_or_made_up_for_once() {
    let sandbox = machine_at(MORNING);
    let skip = template(&sandbox, "30 8 * * *", &[]);
    let once = template(&sandbox, "45 8 * * *", &["--missed", "once"]);
    restart_at(&sandbox, DAYS_LATER);
    wait_for_slot(&sandbox, &skip, "2026-03-30T08:30 missed 4");
    wait_for_slot(&sandbox, &once, "2026-03-30T08:45 ran");
    assert_eq!(slots(&sandbox, &once), ["2026-03-30T08:45 ran", "2026-03-29T08:45 missed 3"]);
    assert_eq!(runs(&sandbox, "app").len(), 1);
    restart_at(&sandbox, "2026-03-30T12:00:30Z");
    assert_eq!((slots(&sandbox, &skip).len(), slots(&sandbox, &once).len(), runs(&sandbox, "app").len()), (1, 2, 1), "nothing comes twice");
    let show = at(&sandbox, "2026-03-30T12:01:00Z", &["task", "show", &once]).ok();
    insta::assert_snapshot!(sandbox.transcript([&show]));
}

#[test]
fn d14_a_paused_schedule_is_skipped_and_never_said_to_have_run() {
    let sandbox = machine_at(MORNING);
    let id = template(&sandbox, "30 8 * * *", &["--missed", "once"]);
    let _ = sandbox.frith(["task", "edit", &id, "--pause"]).ok();
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 paused 1");
    restart_at(&sandbox, DAYS_LATER);
    let show = at(&sandbox, DAYS_LATER, &["task", "show", &id]).ok();
    let resume = at(&sandbox, DAYS_LATER, &["task", "edit", &id, "--resume"]).ok();
    wait_for_slot(&sandbox, &id, "2026-03-30T08:30 paused 3");
    let after = at(&sandbox, DAYS_LATER, &["task", "show", &id]).ok();
    insta::assert_snapshot!(sandbox.transcript([&show, &resume, &after]));
    assert!(runs(&sandbox, "app").is_empty(), "what passed in a pause is not made up for");
}

#[test]
fn d15_a_run_whose_folder_is_gone_is_made_and_its_launch_is_refused() {
    let sandbox = machine_at(MORNING);
    sandbox.config("[launch.idle]\ncommand = [\"cat\"]\n");
    let id = template(&sandbox, "30 8 * * *", &[]);
    fs::remove_dir_all(sandbox.root().join("app")).unwrap();
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 ran");
    let launch = sandbox.frith(["agents", "launch", "app", "--kind", "idle"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&launch]));
    assert_eq!(runs(&sandbox, "app").len(), 1);
}

#[test]
fn an_archived_place_runs_nothing_and_says_why() {
    let sandbox = machine_at(MORNING);
    let id = template(&sandbox, "30 8 * * *", &["--missed", "once"]);
    let _ = sandbox.frith(["workspace", "archive", "app"]).ok();
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 archived 1");
    restart_at(&sandbox, DAYS_LATER);
    let edit = sandbox.frith(["task", "edit", &id, "--pause"]).ends_with(1);
    let show = at(&sandbox, DAYS_LATER, &["task", "show", &id]).ok();
    let _ = sandbox.frith(["workspace", "unarchive", "app"]).ok();
    wait_for_slot(&sandbox, &id, "2026-03-30T08:30 archived 3");
    assert!(runs(&sandbox, "app").is_empty());
    restart_at(&sandbox, "2026-03-31T08:30:05Z");
    wait_for_slot(&sandbox, &id, "2026-03-31T08:30 ran");
    let after = at(&sandbox, "2026-03-31T08:31:00Z", &["task", "show", &id]).ok();
    insta::assert_snapshot!(sandbox.transcript([&edit, &show, &after]));
    assert_eq!(runs(&sandbox, "app").len(), 1, "the next slot after the return");
}

#[test]
fn a_template_runs_again_when_its_workspace_is_back_from_the_trash() {
    let sandbox = machine_at(MORNING);
    let id = template(&sandbox, "30 8 * * *", &[]);
    let _ = sandbox.frith(["workspace", "delete", "app", "--yes"]).ok();
    restart_at(&sandbox, HALF_PAST_8);
    restart_at(&sandbox, "2026-03-28T12:00:00Z");
    let _ = sandbox.frith(["workspace", "unarchive", "app"]).ok();
    restart_at(&sandbox, "2026-03-29T08:30:05Z");
    wait_for_slot(&sandbox, &id, "2026-03-29T08:30 ran");
    assert_eq!(slots(&sandbox, &id)[1..], ["2026-03-28T08:30 deleted 1", "2026-03-27T08:30 deleted 1"]);
}

#[test]
fn a_schedule_that_is_taken_away_in_a_pause_leaves_no_trace_in_the_next() {
    let sandbox = machine_at(MORNING);
    let id = template(&sandbox, "30 8 * * *", &[]);
    let _ = sandbox.frith(["task", "edit", &id, "--pause"]).ok();
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 paused 1");
    restart_at(&sandbox, "2026-03-28T12:00:00Z");
    let _ = sandbox.frith(["task", "edit", &id, "--no-schedule"]).ok();
    restart_at(&sandbox, DAYS_LATER);
    let _ = sandbox.frith(["task", "edit", &id, "--schedule", "30 8 * * *"]).ok();
    restart_at(&sandbox, "2026-03-31T08:30:05Z");
    wait_for_slot(&sandbox, &id, "2026-03-31T08:30 ran");
    assert_eq!(slots(&sandbox, &id), ["2026-03-31T08:30 ran", "2026-03-28T08:30 paused 1", "2026-03-27T08:30 paused 1"]);
}

#[test]
fn a_template_that_cannot_be_read_keeps_no_other_from_its_run() {
    let sandbox = machine_at(MORNING);
    let (broken, sound) = (template(&sandbox, "30 8 * * *", &[]), template(&sandbox, "45 8 * * *", &[]));
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &broken, "2026-03-27T08:30 ran");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    spoil_slots(&sandbox);
    let _ = at(&sandbox, "2026-03-28T08:45:05Z", &["up"]).ok();
    wait_for_slot(&sandbox, &sound, "2026-03-28T08:45 ran");
    let shown = sandbox.frith(["task", "show", &broken]);
    assert!(shown.code != 0 && shown.stderr.contains("cannot be read"), "{}", shown.transcript());
}

/// Damages the records of all slots behind the store's back.
fn spoil_slots(sandbox: &Sandbox) {
    let path = sandbox.home().join("store.redb");
    let database = Database::open(file_backend(&path).unwrap(), path, 1 << 20).unwrap();
    let spoil = |rows: &WriteRows<'_>| {
        let mut keys = Vec::new();
        scan_prefix(rows, Table::Views, &Key::new(SLOTS), &mut |key, _| {
            keys.push(key.to_vec());
            Ok(Scan::On)
        })?;
        assert_eq!(keys.len(), 1);
        keys.iter().try_for_each(|key| rows.put(Table::Views, key, &[]))?;
        Ok(((), Keep::Commit))
    };
    database.write(spoil).unwrap();
    database.close().unwrap();
}

#[test]
fn a_deleted_template_runs_nothing_and_goes_on_when_it_is_back() {
    let sandbox = machine_at(MORNING);
    let id = template(&sandbox, "30 8 * * *", &["--missed", "once"]);
    let _ = sandbox.frith(["task", "delete", &id, "--yes"]).ok();
    restart_at(&sandbox, DAYS_LATER);
    let _ = sandbox.frith(["task", "restore", &id]).ok();
    assert_eq!(sandbox.show_task(&id)["schedule"]["nextRun"], "2026-03-31T08:30:00.000Z");
    assert!(slots(&sandbox, &id).is_empty() && runs(&sandbox, "app").is_empty(), "what passed in the trash is not made up for");
    restart_at(&sandbox, "2026-03-31T08:30:05Z");
    wait_for_slot(&sandbox, &id, "2026-03-31T08:30 ran");
}

#[test]
fn a_template_does_not_hold_up_a_merge_and_runs_in_the_parent_afterwards() {
    let sandbox = machine_at(MORNING);
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let id = template(&sandbox, "30 8 * * *", &[]);
    let _ = sandbox.frith(["task", "move", &id, "--to", "side"]).ok();
    let merge = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    assert!(merge.stdout.contains("1 task moved") && merge.stdout.contains("1 schedule goes on there"), "{}", merge.transcript());
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 ran");
    let run = sandbox.show_task(&runs(&sandbox, "app")[0]);
    assert_eq!((&run["place"]["name"], &sandbox.show_task(&id)["place"]["name"]), (&"app".into(), &"app".into()));
}

#[test]
fn a_moved_template_runs_where_it_is() {
    let sandbox = machine_at(MORNING);
    sandbox.workspace("web");
    let id = template(&sandbox, "30 8 * * *", &[]);
    let _ = sandbox.frith(["task", "move", &id, "--to", "web"]).ok();
    restart_at(&sandbox, HALF_PAST_8);
    wait_for_slot(&sandbox, &id, "2026-03-27T08:30 ran");
    assert_eq!((runs(&sandbox, "web").len(), runs(&sandbox, "app").len()), (1, 0));
}

#[test]
fn what_is_no_schedule_and_what_no_template_does_is_refused_in_its_own_words() {
    let sandbox = machine_at(MORNING);
    sandbox.config("[launch.idle]\ncommand = [\"cat\"]\n");
    let (id, plain) = (template(&sandbox, "30 8 * * *", &[]), sandbox.task("app", "plain"));
    let _ = sandbox.frith(["task", "status", &plain, "completed"]).ok();
    let mut lines: Vec<Vec<&str>> = Vec::new();
    for schedule in ["* * * * *", "*/5 * * * *", "0 24 * * *", "0 0 31 2 *", "0 0 * * mon#1", "0 0 * *", "@daily"] {
        lines.push(vec!["task", "add", "-w", "app", "never", "--schedule", schedule]);
    }
    for zone in ["Berlin", "Mars/Olympus"] {
        lines.push(vec!["task", "edit", &id, "--time-zone", zone]);
    }
    lines.push(vec!["task", "edit", &plain, "--pause"]);
    lines.push(vec!["task", "edit", &plain, "--no-schedule"]);
    lines.push(vec!["task", "status", &id, "completed"]);
    lines.push(vec!["task", "status", &plain, "cron"]);
    lines.push(vec!["task", "next", "-w", "app"]);
    lines.push(vec!["fork", "spin-up", &id, "--kind", "idle"]);
    let refused: Vec<Run> = lines.iter().map(|line| sandbox.frith(line).ends_with(1)).collect();
    insta::assert_snapshot!(sandbox.transcript(&refused));
    let wrong = [["--time-zone", "UTC"].as_slice(), &["--missed", "twice"], &["--missed", "once"]];
    for more in wrong {
        let _ = sandbox.frith(["task", "add", "-w", "app", "no"].iter().chain(more)).ends_with(2);
    }
    let _ = sandbox.frith(["task", "edit", &id, "--pause", "--resume"]).ends_with(2);
    let _ = sandbox.frith(["task", "edit", &id, "--no-schedule", "--pause"]).ends_with(2);
}

#[test]
fn a_task_in_an_agents_hands_becomes_no_template() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.taker]\ncommand = [\"sh\", \"-c\", \"frith task next; exec cat\"]\n");
    sandbox.workspace("app");
    let task = sandbox.task("app", "in hand");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "taker"]).ok();
    sandbox.wait_for_status(&task, "ongoing");
    let refused = sandbox.frith(["task", "edit", &task, "--schedule", "0 8 * * *"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&refused]));
}
