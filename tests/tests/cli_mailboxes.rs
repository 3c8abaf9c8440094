//! Mailboxes of agents, as agents read and fill them from their own shells: each message reaches whom it is for, once, and what one
//! leaves unread reaches the next.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use frith_tests::{Run, Sandbox, run::write_program, wait_for};
use serde_json::Value;

/// An agent that runs the shell lines that are left in its folder, one after the other.
const PUPPET: &str = "#!/bin/sh
echo ready
while :; do
  if test -f .git/todo; then
    mv .git/todo .git/doing
    sh .git/doing > .git/out 2> .git/err
    echo $? > .git/code.new
    mv .git/code.new .git/code
  fi
  sleep 0.01
done
";

fn machine(places: &[&str]) -> (Sandbox, Vec<PathBuf>) {
    let sandbox = Sandbox::new();
    write_program(&sandbox.root().join("bin/puppet"), PUPPET).unwrap();
    sandbox.config("[launch.puppet]\ncommand = [\"puppet\"]\n");
    let folders = places.iter().map(|place| sandbox.workspace(place)).collect();
    (sandbox, folders)
}

/// Launches an agent in a place and answers its id.
#[track_caller]
fn launch(sandbox: &Sandbox, place: &str) -> String {
    sandbox.frith(["agents", "launch", place, "--kind", "puppet", "--quiet"]).ok().id()
}

/// What `frith` answers in the shell of the agent that works in a folder.
#[track_caller]
fn from_agent(folder: &Path, args: &str) -> Run {
    let git = folder.join(".git");
    // What an earlier line left there is not this one's.
    drop(fs::remove_file(git.join("code")));
    fs::write(git.join("todo.new"), format!("frith {args}\n")).unwrap();
    fs::rename(git.join("todo.new"), git.join("todo")).unwrap();
    let code = wait_for("the agent ran a line", || fs::read_to_string(git.join("code")).ok());
    let text = |name: &str| fs::read_to_string(git.join(name)).unwrap();
    Run {
        at: folder.file_name().unwrap().to_string_lossy().into_owned(),
        line: format!("frith {args}"),
        code: code.trim().parse().unwrap(),
        stdout: text("out"),
        stderr: text("err"),
    }
}

fn said(letters: &Value) -> Vec<&str> {
    letters["messages"].as_array().unwrap().iter().map(|letter| letter["text"].as_str().unwrap()).collect()
}

#[test]
fn c03_each_reads_what_was_sent_to_it_and_nothing_else() {
    let (sandbox, folders) = machine(&["app", "lib", "web"]);
    let ids: Vec<String> = ["app", "lib", "web"].iter().map(|place| launch(&sandbox, place)).collect();
    let person = sandbox.person();
    for (from, to, text) in [
        (0, ids[1].as_str(), "one to two"),
        (0, "web", "one to the third place"),
        (1, ids[0].as_str(), "two to one"),
        (2, person.as_str(), "three to the person"),
    ] {
        let sent = from_agent(&folders[from], &format!("agents send {to} \"{text}\"")).ok();
        assert!(sent.stdout.ends_with(": on its machine\n"), "{}", sent.transcript());
    }
    let inboxes = folders.iter().map(|folder| from_agent(folder, "agents inbox --json").ok().json()).collect::<Vec<_>>();
    let inboxes: Vec<_> = inboxes.iter().map(said).collect();
    assert_eq!(inboxes, [vec!["two to one"], vec!["one to two"], vec!["one to the third place"]]);
    let own = sandbox.frith(["agents", "inbox", "--json"]).ok().json();
    assert_eq!(said(&own), ["three to the person"]);
    let sent = from_agent(&folders[0], "agents inbox --sent --json").ok().json();
    let states: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|letter| letter["state"].as_str().unwrap()).collect();
    assert_eq!((said(&sent), states), (vec!["one to two", "one to the third place"], vec!["read", "read"]));
}

#[test]
fn c07_what_an_agent_left_unread_reaches_the_next_of_its_place() {
    let (sandbox, folders) = machine(&["app", "lib"]);
    let [old, lib] = ["app", "lib"].map(|place| launch(&sandbox, place));
    let _ = from_agent(&folders[1], &format!("agents send {old} \"read before you go\"")).ok();
    let _ = from_agent(&folders[0], "agents inbox").ok();
    let _ = from_agent(&folders[1], &format!("agents send {old} \"the build moved\"")).ok();
    let _ = sandbox.frith(["agents", "stop", "app"]).ok();
    let nobody = from_agent(&folders[1], &format!("agents send {old} hello")).ends_with(1);
    let new = launch(&sandbox, "app");
    let other = from_agent(&folders[1], &format!("agents send {old} hello")).ends_with(1);
    assert!(other.stderr.contains(&new[..8]) && !nobody.stderr.contains(&new[..8]), "{}", other.transcript());
    let states = from_agent(&folders[1], "agents inbox --sent").ok();
    let read = from_agent(&folders[0], "agents inbox").ok();
    let again = from_agent(&folders[0], "agents inbox --unread").ok();
    insta::assert_snapshot!(sandbox.transcript([&nobody, &other, &states, &read, &again]));
    assert!(lib != new && read.stdout.contains(&format!("passed on from {}, which ended", &old[..8])), "{}", read.transcript());
}

/// Work that is given to somebody else meanwhile: whoever works in the place when it is read gets it.
#[test]
fn c21_mail_for_a_place_reaches_whoever_works_there_when_it_is_read() {
    let (sandbox, folders) = machine(&["app", "lib"]);
    let _ = sandbox.frith(["agents", "send", "app", "a fix is needed"]).ok();
    let waits = sandbox.frith(["agents", "inbox", "app", "--json"]).ok().json();
    assert_eq!((said(&waits), &waits["messages"][0]["state"]), (vec!["a fix is needed"], &"onItsMachine".into()));
    let _ = launch(&sandbox, "lib");
    assert_eq!(said(&from_agent(&folders[1], "agents inbox --json").ok().json()), [""; 0]);
    let _ = launch(&sandbox, "app");
    assert_eq!(said(&from_agent(&folders[0], "agents inbox --json").ok().json()), ["a fix is needed"]);
    let none = sandbox.frith(["agents", "inbox", "app", "--unread", "--json"]).ok().json();
    assert_eq!(said(&none), [""; 0]);
}

#[test]
fn what_an_agent_may_not_send_or_read_says_why() {
    let (sandbox, folders) = machine(&["app", "lib"]);
    let [app, lib] = ["app", "lib"].map(|place| launch(&sandbox, place));
    let runs = [
        from_agent(&folders[0], &format!("agents send {app} hello")).ends_with(1),
        from_agent(&folders[0], &format!("agents inbox {lib}")).ends_with(1),
        from_agent(&folders[0], "agents inbox lib").ends_with(1),
        from_agent(&folders[0], &format!("agents inbox {}", sandbox.person())).ends_with(1),
        from_agent(&folders[0], "agents inbox nosuch").ends_with(1),
        from_agent(&folders[0], &format!("agents send {lib} hello --task {}", sandbox.task("lib", "not its own"))).ends_with(1),
    ];
    insta::assert_snapshot!(sandbox.transcript(&runs));
    let _ = from_agent(&folders[0], &format!("agents send {lib} hello")).ok();
    assert_eq!(said(&sandbox.frith(["agents", "inbox", &lib, "--json"]).ok().json()), ["hello"], "a person reads any");
    assert_eq!(said(&from_agent(&folders[1], "agents inbox --unread --json").ok().json()), ["hello"], "and marks nothing");
}

/// A limit leaves the rest as it is, and so does reading what is about one task.
#[test]
fn an_inbox_marks_what_it_returned() {
    let (sandbox, folders) = machine(&["app"]);
    let _ = launch(&sandbox, "app");
    let task = sandbox.task("app", "the build");
    for text in ["one", "two", "three"] {
        let _ = sandbox.frith(["agents", "send", "app", text]).ok();
    }
    let _ = sandbox.frith(["agents", "send", "app", "about the build", "--task", &task]).ok();
    let about = from_agent(&folders[0], &format!("agents inbox --task {task} --json")).ok().json();
    assert_eq!(said(&about), ["about the build"]);
    let first = from_agent(&folders[0], "agents inbox --unread --limit 2 --json").ok().json();
    assert_eq!((said(&first), &first["more"]), (vec!["one", "two"], &1.into()));
    let rest = from_agent(&folders[0], "agents inbox --unread --json").ok().json();
    assert_eq!(said(&rest), ["three"]);
    let all = from_agent(&folders[0], "agents inbox --json").ok().json();
    assert_eq!(said(&all), ["one", "two", "three", "about the build"], "what was read is still there");
}

#[test]
fn a_message_to_all_reaches_every_live_agent_of_the_repository_but_its_sender() {
    let (sandbox, mut folders) = machine(&["app", "other"]);
    // Two repositories that begin alike within one second begin with the same commit.
    sandbox.git(&folders[1], &["commit", "--quiet", "--amend", "--message", "another beginning"]);
    let clone = sandbox.root().join("clone");
    sandbox.git(sandbox.root(), &["clone", "--quiet", &folders[0].to_string_lossy(), &clone.to_string_lossy()]);
    sandbox.git(&clone, &["remote", "remove", "origin"]);
    let _ = sandbox.frith(["workspace", "create", "clone", "--folder", &clone.to_string_lossy()]).ok();
    folders.push(clone);
    let alone = from_agent_when_launched(&sandbox, &folders[0], "app", "agents send --all-live hello").ends_with(1);
    assert!(alone.stderr.contains("no other agent of this repository is live"), "{}", alone.transcript());
    ["other", "clone"].map(|place| launch(&sandbox, place)).iter().for_each(|id| assert!(!id.is_empty()));
    let sent = from_agent(&folders[0], "agents send --all-live --json hello").ok().json();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1, "{sent}");
    let got = |folder: &Path| said(&from_agent(folder, "agents inbox --json").ok().json()).len();
    assert_eq!([got(&folders[0]), got(&folders[1]), got(&folders[2])], [0, 0, 1]);
}

#[track_caller]
fn from_agent_when_launched(sandbox: &Sandbox, folder: &Path, place: &str, args: &str) -> Run {
    let _ = launch(sandbox, place);
    from_agent(folder, args)
}

#[test]
fn c13_messages_that_are_sent_at_once_are_all_there() {
    let (sandbox, folders) = machine(&["app"]);
    let _ = launch(&sandbox, "app");
    let running: Vec<_> = (0..20).map(|n| sandbox.call(["agents", "send", "app", &format!("message {n}")]).spawn()).collect();
    running.into_iter().for_each(|call| drop(call.end().ok()));
    let letters = from_agent(&folders[0], "agents inbox --limit 100 --json").ok().json();
    let mut all: Vec<String> = said(&letters).into_iter().map(str::to_owned).collect();
    all.sort();
    let mut expected: Vec<String> = (0..20).map(|n| format!("message {n}")).collect();
    expected.sort();
    assert_eq!(all, expected);
}

/// A message's text is not typed: neither into a prompt nor into a question.
#[test]
fn c27_a_message_answers_no_question_and_is_told_of_at_a_prompt() {
    let sandbox = Sandbox::new();
    sandbox.prompt_kinds();
    sandbox.workspace("app");
    let _ = sandbox.frith(["agents", "launch", "app", "--kind", "asking"]).ok();
    sandbox.wait_for_attention("app", "needsPerson");
    let _ = sandbox.frith(["agents", "send", "app", "y"]).ok();
    let listed = sandbox.frith(["agents", "inbox", "app", "--json"]).ok().json();
    assert_eq!(listed["messages"][0]["state"], "onItsMachine");
    let mut viewer = sandbox.view(["agents", "attach", "app"]);
    viewer.wait_for("allow? [y/n]");
    sandbox.wait_for_attention("app", "needsPerson");
    assert!(!viewer.shown().contains("ready>") && !viewer.shown().contains("message waits"), "{}", viewer.shown());
    viewer.type_in("n\r");
    let letters = wait_for("the agent was told and read its mail", || {
        fs::read_to_string(sandbox.root().join("letters")).ok().filter(|text| text.contains("> y\n"))
    });
    assert_eq!(letters.matches("[frith message ").count(), 1, "{letters}");
}

#[test]
fn a_persons_mail_and_mail_for_a_place_that_wants_it_raise_a_note_that_says_nothing_of_the_text() {
    let (sandbox, folders) = machine(&["app", "lib", "web"]);
    let (notices, person) = (sandbox.root().join("notices"), sandbox.person());
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let _ = sandbox.call(["up"]).env("FRITH_NOTICES", &notices).run().ok();
    let _ = sandbox.frith(["workspace", "set", "lib", "--notifications", "mail"]).ok();
    let agent = launch(&sandbox, "app");
    let _ = sandbox.frith(["agents", "send", "lib", "a person knows what it did"]).ok();
    for to in ["web", "lib", &person] {
        let _ = from_agent(&folders[0], &format!("agents send {to} secret")).ok();
    }
    let told = wait_for("both are told", || fs::read_to_string(&notices).ok().filter(|text| text.matches(&agent[..8]).count() == 2));
    assert!(!told.contains("secret") && told.contains("lib: mail") && !told.contains("web"), "{told}");
}

/// What is held back survives a crash, and keeps the order in which it was written.
#[test]
fn mail_that_is_held_back_is_sent_when_it_is_due_also_after_a_crash() {
    let (sandbox, _) = machine(&["app"]);
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "2"]).ok();
    let held = sandbox.frith(["agents", "send", "app", "first", "--json"]).ok().json();
    assert!(held["messages"][0]["state"].is_null() && !held["messages"][0]["due"].is_null(), "{held}");
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "1"]).ok();
    let _ = sandbox.frith(["agents", "send", "app", "second"]).ok();
    sandbox.kill_node();
    wait_for("both are sent", || {
        let letters = sandbox.frith(["agents", "inbox", "app", "--json"]).ok().json();
        (said(&letters) == ["first", "second"]).then_some(())
    });
}
