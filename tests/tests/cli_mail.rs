//! Messages as people send and read them: in their frames, to places and to people, and the ways in which none is sent.

use std::process::Stdio;

use frith_tests::Sandbox;

#[test]
fn a_person_writes_to_places_and_people_and_sees_how_far_each_message_is() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let person = sandbox.person();
    let runs = [
        sandbox.frith(["agents", "send", "app", "read CONTRIBUTING first"]),
        sandbox.call(["agents", "send", &person, "-"]).input("two\n  lines\n").dir(&repo).run(),
        sandbox.frith(["agents", "send", "app", "--", "--force is what broke it"]),
        sandbox.frith(["agents", "inbox"]),
        sandbox.frith(["agents", "inbox", "--unread"]),
        sandbox.frith(["agents", "inbox"]),
        sandbox.frith(["agents", "inbox", "app", "--limit", "1"]),
        sandbox.frith(["agents", "inbox", "--sent"]),
        sandbox.frith(["agents", "inbox", "--sent", "--limit", "1"]),
        sandbox.frith(["agents", "inbox", "--sent", "--quiet"]),
        sandbox.frith(["agents", "send", "app", "quiet", "--quiet"]),
    ];
    assert!(runs.iter().all(|run| run.code == 0), "{}", sandbox.transcript(&runs));
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn c20_what_cannot_be_sent_or_read_says_why_and_a_slash_behind_a_name_loses_nothing() {
    let sandbox = Sandbox::new();
    let _ = sandbox.workspace("app");
    let long = "ü".repeat(2_049);
    let known = sandbox.frith(["agents", "send", "app", &"ü".repeat(2_048), "--quiet"]).ok().id();
    let refused: &[&[&str]] = &[
        &["agents", "send", "app", &long],
        &["agents", "send", "app", "\u{7} \n"],
        &["agents", "send", "0000ffff", "hello"],
        &["agents", "send", "nobody", "hello"],
        &["agents", "send", "bo@nowhere", "hello"],
        &["agents", "send", &format!("bo@{}", sandbox.person().split_once('@').unwrap_or_default().1), "hello"],
        &["agents", "send", "app", "hello", "--task", "0000ffff"],
        &["agents", "send", "--all-live", "anybody there?"],
        &["agents", "inbox", "--limit", "0"],
        &["agents", "inbox", "--limit", "101"],
        &["agents", "inbox", "nobody"],
        &["agents", "inbox", "0000ffff"],
        &["agents", "send", "@", "hello"],
        &["agents", "send", "bo@", "hello"],
        &["agents", "unsend", "0000ffff"],
        &["agents", "unsend", &known[..8]],
    ];
    let runs: Vec<_> = refused.iter().map(|line| sandbox.frith(*line).ends_with(1)).collect();
    let wrong: &[&[&str]] = &[
        &["agents", "send", "app"],
        &["agents", "send", "app", "two", "words"],
        &["agents", "send", "--all-live", "app", "hello"],
        &["agents", "inbox", "app", "--sent"],
        &["agents", "inbox", "--limit", "x"],
    ];
    let wrong: Vec<_> = wrong.iter().map(|line| sandbox.frith(*line).ends_with(2)).collect();
    let slash = sandbox.frith(["agents", "send", "app/", "a slash behind it"]).ok();
    let shown = sandbox.transcript(runs.iter().chain(&wrong).chain([&slash]));
    insta::assert_snapshot!(shown.replace(&long, "[4098 bytes]"));
}

/// What was read is what reached its reader: one that could not take it finds it unread.
#[test]
fn c10_messages_that_nobody_could_take_stay_unread() {
    let sandbox = Sandbox::new();
    let person = sandbox.person();
    let _ = sandbox.frith(["agents", "send", &person, "the review is done"]).ok();
    let (reads, writes) = rustix::pipe::pipe().unwrap();
    drop(reads);
    let mut deaf = sandbox.call(["agents", "inbox", "--json"]).into_command();
    let _ = deaf.stdin(Stdio::null()).stdout(Stdio::from(writes)).stderr(Stdio::null()).status().unwrap();
    let status = sandbox.frith(["status"]).ok();
    assert!(status.stdout.contains("1 unread: frith agents inbox\n"), "{}", status.transcript());
    let unread = sandbox.frith(["agents", "inbox", "--unread"]).ok();
    assert!(unread.stdout.contains("> the review is done\n"), "{}", unread.transcript());
    let none = sandbox.frith(["agents", "inbox", "--unread"]).ok();
    assert_eq!(none.stdout, "no unread message\n");
    assert!(!sandbox.frith(["status"]).ok().stdout.contains("unread"));
}

/// Ids say nothing of what was written, so nobody has read it.
#[test]
fn c10_who_asks_for_ids_alone_has_read_nothing() {
    let sandbox = Sandbox::new();
    let person = sandbox.person();
    for text in ["one", "two", "three"] {
        let _ = sandbox.frith(["agents", "send", &person, text]).ok();
    }
    let ids = sandbox.frith(["agents", "inbox", "--quiet"]).ok();
    assert_eq!(ids.stdout.lines().count(), 3, "{}", ids.transcript());
    let sent = sandbox.frith(["agents", "inbox", "--sent", "--limit", "1", "--json"]).ok().json();
    assert_eq!((sent["messages"][0]["text"].as_str(), sent["more"].as_u64()), (Some("three"), Some(2)));
    let unread = sandbox.frith(["agents", "inbox", "--unread", "--quiet", "--json"]).ok().json();
    assert_eq!(unread["messages"].as_array().map(Vec::len), Some(3), "still unread, and read by who asks for all of it");
    assert_eq!(sandbox.frith(["agents", "inbox", "--unread"]).ok().stdout, "no unread message\n");
}

#[test]
fn what_a_person_sends_can_be_taken_back_while_it_is_held_back() {
    let sandbox = Sandbox::new();
    let _ = sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "set", "app", "--send-delay-seconds", "60"]).ok();
    let sent = sandbox.frith(["agents", "send", "app", "stop!"]).ok();
    let held = sandbox.frith(["agents", "unsend"]).ok();
    let waits = sandbox.frith(["agents", "inbox", "app"]).ok();
    let taken = sandbox.frith(["agents", "unsend", &sent.stdout[..8]]).ok();
    let late = sandbox.frith(["agents", "unsend", &sent.stdout[..8]]).ends_with(1);
    let none = sandbox.frith(["agents", "inbox", "app"]).ok();
    insta::assert_snapshot!(frith_tests::redact::seconds(&sandbox.transcript([&sent, &held, &waits, &taken, &late, &none])));
}

#[test]
fn c15_what_was_said_to_be_sent_is_there_after_a_crash() {
    let sandbox = Sandbox::new();
    let _ = sandbox.workspace("app");
    let sent = sandbox.frith(["agents", "send", "app", "before the crash", "--quiet"]).ok().id();
    sandbox.kill_node();
    let letters = sandbox.frith(["agents", "inbox", "app", "--json"]).ok().json();
    assert_eq!((&letters["messages"][0]["id"], &letters["messages"][0]["text"]), (&sent.into(), &"before the crash".into()));
}
