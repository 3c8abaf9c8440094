//! `.worktreeinclude`: which ignored files a new worktree gets, and which it never does.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use frith_store::git::{LineFault, MadeNote, MadeWorktree, SkippedWhy, Step, make_worktree};

use crate::support::*;

/// A repository that ignores `*.env`, `secrets.json` and `cache/`, with a `.worktreeinclude`.
fn with_include(lines: &[u8]) -> Place {
    let place = Place::with_repository();
    place.write(".gitignore", "*.env\nsecrets.json\ncache/\n.worktreeinclude\n");
    commit(&place.source(), "ignored");
    std::fs::write(place.source().join(".worktreeinclude"), lines).unwrap();
    place
}

fn made(place: &Place, task: &str) -> MadeWorktree {
    let new = NewWorktree { include_from: Some(place.source()), ..place.new_worktree(task) };
    let made = make_worktree(&new, &mut Follower::default()).unwrap();
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "", "a worktree is clean from its first moment");
    made
}

fn skipped(made: &MadeWorktree) -> Vec<(PathBuf, SkippedWhy)> {
    made.notes
        .iter()
        .filter_map(|note| if let MadeNote::IncludeSkipped(path, why) = note { Some((path.clone(), why.clone())) } else { None })
        .collect()
}

#[test]
fn a60_lines_are_read_as_git_reads_them() {
    let place = with_include(b"\xef\xbb\xbf# what agents need\r\n**/secrets.json\r\n[\r\n\r\n*.env\r\n!public.env\r\nback\\\r\n");
    place.write("cache/deep/er/secrets.json", "deep");
    place.write("secrets.json", "top");
    place.write("sub/local.env", "env");
    place.write("public.env", "left out");
    place.write("cache/other", "not asked for");
    set_mode(place.source().join("sub/local.env"), 0o640);
    let made = made(&place, "t1");
    let read = |name: &str| std::fs::read_to_string(made.path.join(name)).ok();
    assert_eq!(read("cache/deep/er/secrets.json").as_deref(), Some("deep"));
    assert_eq!((read("secrets.json").as_deref(), read("sub/local.env").as_deref()), (Some("top"), Some("env")));
    assert_eq!((read("public.env"), read("cache/other"), read(".worktreeinclude")), (None, None, None));
    assert_eq!(made.path.join("sub/local.env").metadata().unwrap().mode() & 0o777, 0o640);
    let expected = [
        MadeNote::IncludeLine { line: 3, what: LineFault::Bracket },
        MadeNote::IncludeLine { line: 7, what: LineFault::Backslash },
        MadeNote::Included { files: 3, bytes: 10 },
    ];
    assert_eq!(made.notes, expected);
}

#[test]
fn only_what_git_ignores_on_both_sides_is_copied_and_nothing_is_overwritten() {
    let place = with_include(b"*\n");
    place.write("new", "not ignored");
    place.write("x.env", "ignored");
    place.write("sub/b", "changed here");
    std::fs::write(place.source().join(".git/info/exclude"), "only-here\n").unwrap();
    place.write("cache/tracked", "committed");
    git(&place.source(), &["add", "-f", "cache/tracked"]);
    git(&place.source(), &["commit", "-q", "-m", "tracked"]);
    place.write("cache/tracked", "changed");
    let made = made(&place, "t1");
    assert_eq!(std::fs::read_to_string(made.path.join("sub/b")).unwrap(), "b\n");
    assert_eq!(std::fs::read_to_string(made.path.join("cache/tracked")).unwrap(), "committed");
    assert!(made.path.join("x.env").exists() && !made.path.join("new").exists());
    assert_eq!(skipped(&made), [("new".into(), SkippedWhy::NotIgnored)]);

    place.write(".gitignore", "*.env\nsecrets.json\ncache/\n.worktreeinclude\nlate\n");
    place.write("late", "ignored since");
    let made = self::made(&place, "t2");
    assert!(skipped(&made).contains(&("late".into(), SkippedWhy::NotIgnoredThere)), "{:?}", made.notes);
}

#[test]
fn a56_nested_checkouts_are_passed_over() {
    let place = with_include(b"**/.env\ncache/\n");
    std::fs::write(place.source().join(".git/info/exclude"), ".claude/\n").unwrap();
    for number in 0..10 {
        let nested = place.source().join(format!(".claude/worktrees/n{number}"));
        git(&place.source(), &["worktree", "add", "-q", "-b", &format!("n{number}"), nested.to_str().unwrap()]);
        std::fs::write(nested.join(".env"), "nested").unwrap();
    }
    new_repository(&place.source().join("cache/vendored"));
    place.write("cache/vendored/x.env", "vendored");
    place.write("cache/plain/.env", "plain");
    place.write(".env", "top");
    let made = made(&place, "t1");
    assert!(!made.path.join(".claude").exists() && !made.path.join("cache/vendored").exists());
    assert_eq!(std::fs::read_to_string(made.path.join("cache/plain/.env")).unwrap(), "plain");
    assert_eq!(skipped(&made), [("cache/vendored".into(), SkippedWhy::Checkout)]);
    assert!(made.notes.contains(&MadeNote::Included { files: 2, bytes: 8 }), "{:?}", made.notes);
}

#[test]
fn a57_no_link_leads_the_copy_elsewhere() {
    let place = with_include(b"cache/\n*.env\nout/\nout\n");
    let outside = place.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("id.env"), "secret").unwrap();
    // What the branch tracks as a link is a folder with ignored files in the main checkout.
    symlink(&outside, place.source().join("linked")).unwrap();
    commit(&place.source(), "a link in the branch");
    std::fs::remove_file(place.source().join("linked")).unwrap();
    place.write("linked/x.env", "written through a link");
    std::fs::create_dir(place.source().join("cache")).unwrap();
    symlink(&outside, place.source().join("cache/away")).unwrap();
    symlink("../../outside/id.env", place.source().join("up.env")).unwrap();
    symlink("a", place.source().join("near.env")).unwrap();
    let new = NewWorktree { include_from: Some(place.source()), ..place.new_worktree("t1") };
    let made = make_worktree(&new, &mut Follower::default()).unwrap();
    assert_eq!(names(&outside), ["id.env"]);
    assert_eq!(std::fs::read_link(made.path.join("near.env")).unwrap(), PathBuf::from("a"));
    let left = skipped(&made);
    for name in ["cache/away", "linked/x.env", "up.env"] {
        assert!(left.contains(&(name.into(), SkippedWhy::Link)), "{name}: {left:?}");
        assert!(made.path.join(name).symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn g06_nothing_from_outside_is_copied() {
    let place = with_include(b"../outside.env\n../../etc/passwd\n/etc/passwd\nsub/../../outside.env\n*.env\n");
    std::fs::write(place.temp.path().join("outside.env"), "secret").unwrap();
    place.write("in.env", "in");
    let made = made(&place, "t1");
    let lines = [1, 2, 4].map(|line| MadeNote::IncludeLine { line, what: LineFault::LeadsOut });
    assert_eq!(made.notes[..3], lines);
    assert_eq!(made.notes[3..], [MadeNote::Included { files: 1, bytes: 2 }]);
    assert_eq!(names(&place.root()), ["source-t1"]);

    let place = with_include(b"");
    let elsewhere = place.temp.path().join("lines");
    std::fs::write(&elsewhere, "*.env\n").unwrap();
    std::fs::remove_file(place.source().join(".worktreeinclude")).unwrap();
    symlink(&elsewhere, place.source().join(".worktreeinclude")).unwrap();
    assert_eq!(skipped(&self::made(&place, "t1")), [(".worktreeinclude".into(), SkippedWhy::Link)]);
}

#[test]
fn a58_what_vanishes_or_is_no_file_stops_nothing() {
    let place = with_include(b"cache/\nsecrets.json\n");
    place.write("cache/kept", "kept");
    place.write("cache/z-gone", "gone");
    std::os::unix::net::UnixListener::bind(place.source().join("cache/socket")).unwrap();
    assert!(Command::new("mkfifo").arg(place.source().join("cache/fifo")).status().unwrap().success());
    place.write("secrets.json", "sealed");
    set_mode(place.source().join("secrets.json"), 0o000);
    let mut new = NewWorktree { include_from: Some(place.source()), ..place.new_worktree("t1") };
    new.limits.making = std::time::Duration::from_secs(3600);
    let gone = place.source().join("cache/z-gone");
    // The first look at the stop after the include began is at the first entry of the top.
    let mut follower = Follower { on_look: Some(Box::new(|_| drop(std::fs::remove_file(&gone)))), ..Follower::default() };
    let made = make_worktree(&new, &mut follower).unwrap();
    assert!(follower.steps.contains(&Step::Include));
    assert_eq!(names(&made.path.join("cache")), ["kept"]);
    let left = skipped(&made);
    assert!(left.contains(&("cache/fifo".into(), SkippedWhy::Special)) && left.contains(&("cache/socket".into(), SkippedWhy::Special)));
    let unreadable = left.iter().any(|(path, why)| path.ends_with("secrets.json") && matches!(why, SkippedWhy::Unreadable(_)));
    assert_eq!(unreadable, !is_root(), "{left:?}");
}

#[test]
fn a_stop_in_the_middle_leaves_nothing() {
    let place = with_include(b"cache/\n");
    place.write("cache/one", "1");
    let include_began = |follower: &Follower<'_>| {
        if follower.steps.contains(&Step::Include) {
            follower.cancelled.set(true);
        }
    };
    let mut follower = Follower { on_look: Some(Box::new(include_began)), ..Follower::default() };
    let new = NewWorktree { include_from: Some(place.source()), ..place.new_worktree("t1") };
    assert!(make_worktree(&new, &mut follower).is_err());
    assert_nothing_left(&place, "t1");
}
