//! Removing folders, and the sweep.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use frith_store::git::{FolderKind, Limits, Progress, RemoveError, Step, Watch, make, remove, seen, sweep};
use frith_tests::wait_for;

use crate::support::*;

#[test]
fn d23_a_removed_worktree_leaves_its_branch_and_nothing_else() {
    let place = Place::with_repository();
    let made = place.make("f1");
    let tip = commit(&made.path, "work");
    std::fs::write(made.path.join("uncommitted"), "x").unwrap();
    symlink(place.source(), made.path.join("link")).unwrap();
    let state = seen(&place.fork("f1")).unwrap();
    assert_eq!(state.kind(), FolderKind::Worktree);
    let removed = remove(&place.fork("f1"), &state, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(removed.branch, Some(("frith/fork-f1".into(), tip.clone())));
    assert_eq!((place.forks().len(), worktrees(&place.source())), (0, 1));
    assert_eq!(git(&place.source(), &["rev-parse", "frith/fork-f1"]), tip);
    assert!(place.source().join("a").exists(), "links are not followed");
    let again = remove(&place.fork("f1"), &state, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(again.kind, FolderKind::Gone);
}

#[test]
fn a16_what_changed_after_the_stop_is_kept_and_named() {
    let place = Place::with_repository();
    let fork = place.fork("f1");
    let made = place.make("f1");
    std::fs::write(made.path.join(".gitignore"), "ignored\n").unwrap();
    commit(&made.path, "ignore");
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("`a`", |top| std::fs::write(top.join("a"), "z\n").unwrap()),
        ("`new`", |top| std::fs::write(top.join("new"), "").unwrap()),
        ("`ignored`", |top| std::fs::write(top.join("ignored"), "").unwrap()),
        ("`sub`", |top| std::fs::remove_file(top.join("sub/b")).unwrap()),
        ("something was staged", |top| drop(git(top, &["add", "-A"]))),
        ("HEAD is now at", |top| drop(commit(top, "more"))),
    ];
    for (words, change) in changes {
        let state = seen(&fork).unwrap();
        wait_for("the file system's clock goes on", || {
            // The file system's clock must have moved on for a change to be dated later.
            std::fs::write(place.temp.path().join("tick"), "").unwrap();
            let ticked = ticked(&made.path, &place.temp.path().join("tick"));
            (state == seen(&fork).unwrap() && ticked).then_some(())
        });
        change(&made.path);
        let refused = remove(&fork, &state, Limits::default(), &mut Follower::default()).unwrap_err();
        let RemoveError::Changed { what, .. } = &refused else { panic!("{refused}") };
        assert!(what.iter().any(|one| one.contains(words)), "{words}: {what:?}");
        assert!(made.path.join("run").exists());
    }
    let state = seen(&fork).unwrap();
    git(&made.path, &["status"]);
    assert_eq!(seen(&fork).unwrap(), state, "looking changes nothing");
    let trash = place.home().join("forks/f1.trash-1");
    let mut late = Late { inner: Follower::default(), write: made.path.join("late") };
    let refused = remove(&fork, &state, Limits::default(), &mut late).unwrap_err();
    assert!(matches!(refused, RemoveError::Changed { .. }), "written between the check and the rename: {refused}");
    assert!(made.path.join("late").exists() && !trash.exists());
}

/// Writes into the folder just before it is renamed.
struct Late<'a> {
    inner: Follower<'a>,
    write: PathBuf,
}

impl Watch for Late<'_> {
    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn progress(&mut self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn step(&mut self, step: Step) -> ControlFlow<()> {
        if step == Step::SetAside {
            std::fs::write(&self.write, "late").unwrap();
        }
        ControlFlow::Continue(())
    }
}

fn ticked(folder: &Path, tick: &Path) -> bool {
    let stamp = |path: &Path| path.metadata().map(|one| (one.ctime(), one.ctime_nsec())).unwrap();
    inventory(folder).iter().all(|one| {
        let found = folder.join(&one.0).symlink_metadata().unwrap();
        (found.ctime(), found.ctime_nsec()) < stamp(tick)
    })
}

#[test]
fn what_must_not_be_removed_is_not() {
    let place = Place::with_repository();
    let fork = place.fork("f1");
    let made = place.make("f1");
    git(&place.source(), &["worktree", "lock", "--reason", "mine", made.path.to_str().unwrap()]);
    let refused = remove(&fork, &seen(&fork).unwrap(), Limits::default(), &mut Follower::default()).unwrap_err();
    assert!(matches!(&refused, RemoveError::Locked { reason, .. } if reason == "mine"), "{refused}");
    git(&place.source(), &["worktree", "unlock", made.path.to_str().unwrap()]);

    git(&made.path, &["switch", "-q", "--detach"]);
    let lost = commit(&made.path, "on no branch");
    let refused = remove(&fork, &seen(&fork).unwrap(), Limits::default(), &mut Follower::default()).unwrap_err();
    assert!(matches!(&refused, RemoveError::DetachedWork { commit, .. } if *commit == lost), "{refused}");
    git(&made.path, &["branch", "keep"]);
    let state = seen(&fork).unwrap();

    std::fs::rename(&made.path, place.temp.path().join("moved")).unwrap();
    symlink(place.source(), &made.path).unwrap();
    let refused = remove(&fork, &state, Limits::default(), &mut Follower::default()).unwrap_err();
    assert!(matches!(refused, RemoveError::NotAFolder { .. }), "{refused}");
    assert!(place.source().join("a").exists());
    std::fs::remove_file(&made.path).unwrap();
    std::fs::rename(place.temp.path().join("moved"), &made.path).unwrap();
    remove(&fork, &state, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(git(&place.source(), &["rev-parse", "keep"]), lost);
}

#[test]
fn a13_removing_one_folder_prunes_no_other_record() {
    let place = Place::with_repository();
    place.make("f1");
    let away = place.temp.path().join("away");
    git(&place.source(), &["worktree", "add", "-q", away.to_str().unwrap()]);
    std::fs::rename(&away, place.temp.path().join("unmounted")).unwrap();
    remove(&place.fork("f1"), &seen(&place.fork("f1")).unwrap(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(names(&place.source().join(".git/worktrees")), ["away"]);
}

#[test]
fn a_removal_killed_at_any_step_is_finished_by_the_next_start() {
    let place = Place::with_repository();
    let steps = at_every_step(|number, follower| {
        let fork = place.fork(&format!("f{number}"));
        place.make(&format!("f{number}"));
        let state = seen(&fork).unwrap();
        let halted = remove(&fork, &state, Limits::default(), follower).is_err();
        if number % 2 == 0 {
            let swept = sweep(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
            assert!(swept.kept.is_empty(), "{swept:?}");
        }
        remove(&fork, &state, Limits::default(), &mut Follower::default()).unwrap();
        assert_eq!((place.forks().len(), worktrees(&place.source())), (0, 1), "after {:?}", follower.steps);
        assert!(!git(&place.source(), &["branch", "--list", &fork.branch()]).is_empty());
        halted
    });
    assert_eq!(steps, 3);
}

#[test]
fn a_worktree_whose_repository_is_gone_can_be_removed() {
    let place = Place::with_repository();
    place.make("f1");
    std::fs::remove_dir_all(place.source()).unwrap();
    let state = seen(&place.fork("f1")).unwrap();
    remove(&place.fork("f1"), &state, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(place.forks(), [""; 0]);
}

#[test]
fn the_sweep_leaves_strangers_and_the_living_alone() {
    let place = Place::with_repository();
    let made = place.make("f1");
    let forks = place.home().join("forks");
    for stranger in ["notes.txt", "f1.backup", "f1.trash-old", ".trash-1"] {
        std::fs::create_dir(forks.join(stranger)).unwrap();
    }
    let checked = Cell::new(false);
    let look = |_: &Follower<'_>| {
        let swept = sweep(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
        assert!(swept.removed.is_empty() && swept.kept.is_empty(), "{swept:?}");
        checked.set(true);
    };
    let mut living = Follower { on_look: Some(Box::new(look)), ..Follower::default() };
    make(&place.plan("f2").unwrap(), &mut living).unwrap();
    assert!(checked.get());
    let expected: BTreeSet<_> = ["f1", "f2", "notes.txt", "f1.backup", "f1.trash-old", ".trash-1"].map(String::from).into();
    assert_eq!(place.forks().into_iter().collect::<BTreeSet<_>>(), expected);
    assert!(made.path.join("a").exists());
}
