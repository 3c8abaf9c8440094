//! Tasks: their life, their order, their thread, their moves, and what is refused.

use frith_tests::{Run, Sandbox};

#[test]
fn a_task_from_its_first_line_to_its_last() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let add = sandbox.frith(["task", "add", "-w", "app", "Fix the login", "--body", "It fails.\n\nOn *every* page."]).ok();
    let task = add.id();
    let runs = [
        ["task", "list", "-w", "app"].as_slice(),
        &["task", "next", "-w", "app"],
        &["task", "reply", &task, "found it"],
        &["task", "edit", &task, "--title", "Fix the log-in"],
        &["task", "status", &task, "blocked"],
        &["task", "status", &task, "completed"],
        &["task", "status", &task, "ongoing"],
        &["task", "status", &task, "rejected"],
        &["task", "show", &task],
        &["task", "list", "-w", "app", "--status", "rejected"],
        &["task", "list", "-w", "app", "--status", "ongoing,blocked"],
    ]
    .map(|args| sandbox.frith(args).ok());
    insta::assert_snapshot!(sandbox.transcript([&add].into_iter().chain(&runs)));
}

#[test]
fn a_queue_keeps_the_order_it_is_given() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let ids = ["one", "two", "three"].map(|title| sandbox.task("app", title));
    let _ = sandbox.frith(["task", "add", "-w", "app", "zero", "--first"]).ok();
    assert_eq!(sandbox.titles("app"), ["zero", "one", "two", "three"]);
    let _ = sandbox.frith(["task", "edit", &ids[2], "--before", &ids[0]]).ok();
    assert_eq!(sandbox.titles("app"), ["zero", "three", "one", "two"]);
    let _ = sandbox.frith(["task", "edit", &ids[2], "--after", &ids[1]]).ok();
    assert_eq!(sandbox.titles("app"), ["zero", "one", "two", "three"]);
    let _ = sandbox.frith(["task", "edit", &ids[1], "--first"]).ok();
    assert_eq!(sandbox.titles("app"), ["two", "zero", "one", "three"]);
}

#[test]
fn several_tasks_move_together_or_not_at_all() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    sandbox.workspace("web");
    let ids = ["one", "two"].map(|title| sandbox.task("app", title));
    let _ = sandbox.frith(["task", "reply", &ids[0], "a thought"]).ok();
    let none = sandbox.frith(["task", "move", &ids[0], "00000000", "--to", "web"]).ends_with(1);
    assert_eq!(sandbox.titles("web"), [""; 0]);
    let both = sandbox.frith(["task", "move", &ids[0], &ids[1], "--to", "web"]).ok();
    let again = sandbox.frith(["task", "move", &ids[0], "--to", "web"]).ok();
    let show = sandbox.frith(["task", "show", &ids[0]]).ok();
    insta::assert_snapshot!(sandbox.transcript([&none, &both, &again, &show]));
    assert_eq!((sandbox.titles("app").len(), sandbox.titles("web")), (0, vec!["one".to_owned(), "two".to_owned()]));
}

#[test]
fn a_task_in_an_agents_hands_moves_only_by_force() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.taker]\ncommand = [\"sh\", \"-c\", \"frith task next; exec cat\"]\n");
    sandbox.workspace("app");
    sandbox.workspace("web");
    let task = sandbox.task("app", "in hand");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "taker"]).ok();
    sandbox.wait_for_status(&task, "ongoing");
    let refused = sandbox.frith(["task", "move", &task, "--to", "web"]).ends_with(1);
    let spin_up = sandbox.frith(["fork", "spin-up", &task, "--kind", "taker"]).ends_with(1);
    let forced = sandbox.frith(["task", "move", &task, "--to", "web", "--force"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&refused, &spin_up, &forced]));
}

#[test]
fn what_is_no_task_or_no_title_is_refused_in_its_own_words() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "one");
    let long = "x".repeat(256);
    let commands: &[&[&str]] = &[
        &["task", "show", &task[..3]],
        &["task", "show", "00000000"],
        &["task", "show", "not-an-id"],
        &["task", "add", "-w", "app", ""],
        &["task", "add", "-w", "app", "  \n "],
        &["task", "add", "-w", "app", &long],
        &["task", "add", "-w", "nosuch", "title"],
        &["task", "add", "title"],
        &["task", "edit", &task],
        &["task", "edit", &task, "--after", &task],
        &["task", "reply", &task, ""],
        &["task", "status", &task, "cron"],
        &["task", "status", &task, "done"],
        &["task", "move", &task, "--to", "nosuch"],
        &["task", "next", "-w", "supervisor"],
        &["task", "list", "-w", "app", "--status", "open"],
    ];
    let runs: Vec<Run> = commands.iter().map(|args| sandbox.frith(*args)).collect();
    for run in &runs {
        let usage = run.line.ends_with(" done") || run.line.ends_with(" open");
        assert_eq!(run.code, if usage { 2 } else { 1 }, "{}", run.transcript());
    }
    let transcript = sandbox.transcript(&runs).replace(&long, "[256 x]");
    insta::assert_snapshot!(transcript.replace(&task[..3], "[3 OF ID]"));
}

#[test]
fn a_prefix_that_names_two_tasks_lists_both_whole() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    // Among 700 random ids two share their first 4 characters with a chance of 97 %; more are added until two do.
    let mut ids: Vec<String> = Vec::new();
    let twin = loop {
        let id = sandbox.task("app", "one of many");
        if let Some(twin) = ids.iter().find(|known| known[..4] == id[..4]) {
            break (twin.clone(), id);
        }
        ids.push(id);
    };
    let run = sandbox.frith(["task", "show", &twin.0[..4]]).ends_with(1);
    assert!(run.stderr.contains(&twin.0) && run.stderr.contains(&twin.1), "{}", run.transcript());
}

#[test]
fn text_comes_from_standard_input_and_is_shown_as_data() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let body = "line one\nline two with \u{1b}[31mcolour\u{1b}[0m and a bell\u{7}\n";
    let task = sandbox.call(["task", "add", "-w", "app", "from a pipe", "--body", "-", "--quiet"]).input(body).run().ok().id();
    let shown = sandbox.frith(["task", "show", &task]).ok();
    assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']), "{:?}", shown.stdout);
    assert_eq!(sandbox.show_task(&task)["body"], body);
    let huge = "y".repeat(1024 * 1024 + 1);
    let refused = sandbox.call(["task", "reply", &task, "-"]).input(&huge).run().ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&shown, &refused]));
}

#[test]
fn a_call_repeated_after_the_node_died_is_the_same_call() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "once");
    let took = sandbox.frith(["task", "next", "-w", "app", "--quiet"]).ok();
    assert_eq!(took.id(), task);
    sandbox.kill_node();
    assert_eq!(sandbox.show_task(&task)["task"]["status"], "ongoing");
}
