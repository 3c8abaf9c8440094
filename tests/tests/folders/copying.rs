//! Copies of folders that are in no repository.

use std::cell::Cell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use frith_store::git::{FolderKind, ForkFolder, Limits, MakeError, Progress, Step, Way, make, plan, remove, seen};

use crate::support::*;

/// A folder in no repository with one of everything.
fn with_everything() -> Place {
    let place = Place::new();
    let source = place.source();
    place.write("file", "content");
    place.write("deep/er/file", "deep");
    place.write("deep/.mcp.json", "not at the top");
    place.write(".mcp.json", "the parent's");
    place.write(".frith.toml", "the parent's");
    set_mode(place.write("deep/script", "#!"), 0o4751);
    set_mode(place.write("sealed/inside", "x"), 0o400);
    std::fs::hard_link(source.join("file"), source.join("deep/same")).unwrap();
    std::fs::write(source.join(OsStr::from_bytes(b"odd\n\xff")), "odd").unwrap_or_default();
    symlink("/etc", source.join("outside")).unwrap();
    symlink("nowhere", source.join("dangling")).unwrap();
    std::fs::create_dir(source.join("empty")).unwrap();
    std::os::unix::net::UnixListener::bind(source.join("socket")).unwrap();
    assert!(Command::new("mkfifo").arg(source.join("fifo")).status().unwrap().success());
    let sparse = std::fs::File::create(source.join("sparse")).unwrap();
    sparse.write_all_at(b"far", 3 << 20).unwrap();
    sparse.set_len(8 << 20).unwrap();
    let time = std::time::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_000);
    for name in ["file", "sealed"] {
        std::fs::File::open(source.join(name)).unwrap().set_modified(time).unwrap();
    }
    set_mode(source.join("sealed"), 0o555);
    place
}

#[test]
fn a_copy_keeps_what_is_worth_keeping() {
    let place = with_everything();
    let link = place.temp.path().join("link");
    symlink(place.source(), &link).unwrap();
    let planned = plan(&link, &place.fork("f1"), Limits::default()).unwrap();
    assert_eq!((planned.way(), planned.lines().len()), (Way::Copy, 0));
    let mut follower = Follower::default();
    let made = make(&planned, &mut follower).unwrap();
    assert_eq!((made.way, made.branch.as_ref(), &made.start_in), (Way::Copy, None, &made.path));
    let mut expected = inventory(&place.source());
    expected.retain(|one| ![Path::new(".mcp.json"), Path::new(".frith.toml")].contains(&one.0.as_path()));
    assert_eq!(inventory(&made.path), expected);
    let metadata = |name: &str| made.path.join(name).metadata().unwrap();
    assert_eq!(metadata("file").ino(), metadata("deep/same").ino());
    assert!(metadata("sparse").blocks() * 512 < 1 << 20, "holes stay holes");
    assert!(made.path.join("deep/.mcp.json").exists());
    let told = follower.told.into_inner();
    let Some(Progress::Copied(counts)) = told.last() else { panic!("{told:?}") };
    assert_eq!((counts.special, counts.links, counts.folders, counts.vanished), (2, 2, 4, 0));
    assert_eq!(place.plan("f1").unwrap().way(), Way::Reuse);
    assert_eq!(place.forks(), ["f1"]);

    let state = seen(&place.fork("f1")).unwrap();
    let removed = remove(&place.fork("f1"), &state, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!((removed.kind, removed.branch), (FolderKind::Copy, None));
    assert_eq!((place.forks().len(), Path::new("/etc/passwd").exists()), (0, true));
}

#[test]
fn a_folder_its_owner_may_not_write_is_copied_and_removed_too() {
    let place = Place::new();
    place.write("file", "x");
    set_mode(place.source(), 0o555);
    let made = place.make("f1");
    assert_eq!(made.path.metadata().unwrap().mode() & 0o777, 0o555);
    remove(&place.fork("f1"), &seen(&place.fork("f1")).unwrap(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(place.forks(), [""; 0]);
}

#[test]
fn our_own_folder_is_left_out_by_identity() {
    let place = Place::new();
    place.write("file", "x");
    let home = place.source().join("deep/.frith");
    std::fs::create_dir_all(home.join("keys")).unwrap();
    symlink(&home, place.temp.path().join("spelled")).unwrap();
    for (number, spelling) in
        [home.clone(), place.temp.path().join("spelled"), place.source().join("deep/../deep/.frith")].iter().enumerate()
    {
        let fork = ForkFolder::new(spelling, &format!("f{number}")).unwrap();
        let made = make(&plan(&place.source(), &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
        assert_eq!((names(&made.path), names(&made.path.join("deep"))), (vec!["deep".into(), "file".into()], vec![]));
    }
}

#[test]
fn a56_a_copy_never_acts_on_the_originals_git_data() {
    let place = Place::new();
    let (main, linked) = (place.source().join("main"), place.source().join("linked"));
    new_repository(&main);
    git(&main, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let mut follower = Follower::default();
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    assert!(!made.path.join("linked/.git").exists() && made.path.join("linked/a").exists());
    assert_eq!(git(&made.path.join("main"), &["status", "--porcelain"]), "");
    assert!(matches!(follower.told.into_inner().last(), Some(Progress::Copied(counts)) if counts.git_links == 1));
}

#[test]
fn a57_a_link_in_the_source_leads_nothing_out_of_the_copy() {
    let place = Place::new();
    let outside = place.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    place.write("folder/file", "x");
    let folder = place.source().join("folder");
    let swapped = Cell::new(false);
    let swap = |_: &Follower<'_>| {
        if place.home().join("forks/f1.making/f1").exists() && !swapped.replace(true) {
            std::fs::rename(&folder, place.temp.path().join("was")).unwrap();
            symlink(&outside, &folder).unwrap();
        }
    };
    let mut follower = Follower { on_look: Some(Box::new(swap)), ..Follower::default() };
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    assert_eq!(std::fs::read_link(made.path.join("folder")).unwrap(), outside);
    assert_eq!(names(&outside), [""; 0]);
}

#[test]
fn a58_what_vanishes_during_the_copy_is_skipped() {
    let place = Place::new();
    for number in 0..20 {
        place.write(&format!("file{number}"), "x");
        place.write(&format!("folder{number}/file"), "x");
    }
    let gone = Cell::new(false);
    let vanish = |_: &Follower<'_>| {
        if place.home().join("forks/f1.making/f1").exists() && !gone.replace(true) {
            std::fs::remove_dir_all(place.source().join("folder7")).unwrap();
            std::fs::remove_file(place.source().join("file7")).unwrap();
        }
    };
    let mut follower = Follower { on_look: Some(Box::new(vanish)), ..Follower::default() };
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    assert_eq!(names(&made.path).len(), 38);
    assert!(matches!(follower.told.into_inner().last(), Some(Progress::Copied(counts)) if counts.vanished == 2));
}

#[test]
fn a_copy_killed_stopped_or_late_leaves_nothing_in_its_place() {
    let place = with_everything();
    at_every_step(|number, follower| {
        let id = format!("f{number}");
        let halted = make(&place.plan(&id).unwrap(), follower).is_err();
        let made = place.make(&id);
        assert_eq!(inventory(&made.path).len() + 2, inventory(&place.source()).len());
        halted
    });
    assert!(place.forks().iter().all(|name| !name.contains('.')), "{:?}", place.forks());
    let mut copied = Follower { cancel_before: Some(2), ..Follower::default() };
    assert!(matches!(make(&place.plan("g").unwrap(), &mut copied), Err(MakeError::Cancelled)));
    assert_eq!(copied.steps[2], Step::Copy);
    let limits = Limits { making: Duration::from_millis(5), ..Limits::default() };
    let late = make(&plan(&place.source(), &place.fork("g"), limits).unwrap(), &mut Follower::default()).unwrap_err();
    assert!(matches!(late, MakeError::TimedOut { allowed } if allowed == limits.making), "{late}");
    assert!(!place.forks().iter().any(|name| name.starts_with('g')), "{:?}", place.forks());
}

#[test]
fn an_unreadable_file_fails_the_copy_by_name() {
    if is_root() {
        return; // Root reads everything.
    }
    let place = Place::new();
    let secret = place.write("deep/secret", "x");
    set_mode(&secret, 0);
    let error = make(&place.plan("f1").unwrap(), &mut Follower::default()).unwrap_err();
    assert!(matches!(&error, MakeError::Io { path, .. } if path.ends_with("deep/secret")), "{error}");
    assert_eq!(place.forks(), [""; 0]);
}
