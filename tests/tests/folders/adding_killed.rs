//! Makings of worktrees that are stopped, killed, or many at once.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use frith_store::git::{AddError, Limits, Progress, RemoveError, Step, Watch, make_worktree, sweep_worktrees};
use frith_tests::wait_for;

use crate::support::*;

/// Not a test of its own: the process that [`another_process`] starts makes a worktree here and ends.
#[test]
fn the_maker() {
    let Some(temp) = std::env::var_os("FRITH_TEST_ADDER") else { return };
    let variable = |name: &str| std::env::var_os(name);
    let (temp, task) = (PathBuf::from(temp), variable("FRITH_TEST_TASK").unwrap().into_string().unwrap());
    let repository = variable("FRITH_TEST_REPOSITORY").map_or_else(|| temp.join("source"), PathBuf::from);
    let new = NewWorktree {
        home: temp.join("home"),
        root: variable("FRITH_TEST_ROOT").map_or_else(|| temp.canonicalize().unwrap().join("root"), PathBuf::from),
        base: git(&repository, &["rev-parse", "HEAD"]),
        repository,
        directory: format!("source-{task}").into(),
        branch: task.clone(),
        lock: lock_of(&task),
        limits: Limits::default(),
        skip_lfs: false,
        include_from: None,
    };
    let made = make_worktree(&new, &mut Follower::default()).unwrap();
    if let Some(note) = variable("FRITH_TEST_NOTE") {
        assert!(format!("{:?}", made.notes).contains(note.to_str().unwrap()), "{:?}", made.notes);
    }
}

/// This test binary once more, to make the worktree of a task.
pub fn another_process(place: &Place, task: &str) -> Command {
    let mut maker = Command::new(std::env::current_exe().unwrap());
    maker.args(["--exact", "adding_killed::the_maker"]).stdout(std::process::Stdio::null());
    maker.env("FRITH_TEST_ADDER", place.temp.path()).env("FRITH_TEST_TASK", task);
    maker
}

#[test]
fn a47_eight_at_once_twenty_times_over() {
    let place = Place::with_repository();
    let before = config(&place.source());
    for round in 0..20 {
        std::thread::scope(|scope| {
            for number in 0..8 {
                let place = &place;
                scope.spawn(move || make_worktree(&place.new_worktree(&format!("t{round}-{number}")), &mut Follower::default()).unwrap());
            }
        });
    }
    assert_eq!((worktrees(&place.source()), names(&place.root()).len()), (161, 160));
    for number in 0..8 {
        assert_added(&place, &format!("t7-{number}"));
    }
    assert_eq!((config(&place.source()), names(&place.home().join("worktrees"))), (before, vec![]));
}

#[test]
fn a47_eight_processes_at_once() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let mut makers: Vec<_> = (0..8).map(|number| another_process(&place, &format!("t{number}")).spawn().unwrap()).collect();
    assert!(makers.iter_mut().all(|maker| maker.wait().unwrap().success()));
    (0..8).for_each(|number| assert_added(&place, &format!("t{number}")));
    assert_eq!((config(&place.source()), worktrees(&place.source())), (before, 9));
}

#[test]
fn a63_one_task_is_made_once_however_many_try() {
    let place = Place::with_repository();
    let made: Vec<_> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..6).map(|_| scope.spawn(|| make_worktree(&place.new_worktree("t1"), &mut Follower::default()))).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|one| one.is_ok()).count(), 1);
    for error in made.iter().filter_map(|one| one.as_ref().err()) {
        let expected = matches!(error, AddError::BeingMade { .. } | AddError::PathExists { .. } | AddError::BranchExists { .. });
        assert!(expected, "{error}");
    }
    assert_added(&place, "t1");
}

#[test]
fn a74_killed_between_any_two_steps_the_next_making_succeeds() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let steps = at_every_step(|number, follower| {
        let new = place.new_worktree(&format!("t{number}"));
        let halted = match make_worktree(&new, follower) {
            Err(AddError::Halted { .. }) => true,
            other => other.map(|_| false).unwrap(),
        };
        match make_worktree(&new, &mut Follower::default()) {
            Err(AddError::PathExists { .. }) => assert!(!halted || follower.steps.contains(&Step::Link), "{:?}", follower.steps),
            other => drop(other.unwrap()),
        }
        assert_added(&place, &new.branch);
        halted
    });
    assert!(steps >= 7, "{steps}");
    assert_eq!((config(&place.source()), names(&place.home().join("worktrees"))), (before, vec![]));
}

#[test]
fn a74_killed_twice_in_a_row_the_sweep_leaves_nothing() {
    let place = Place::with_repository();
    at_every_step(|number, follower| {
        let task = format!("t{number}");
        let halted = matches!(make_worktree(&place.new_worktree(&task), follower), Err(AddError::Halted { .. }));
        let whole = place.root().join(format!("source-{task}")).exists();
        at_every_step(|_, follower| matches!(sweep_worktrees(&place.home(), Limits::default(), follower), Err(RemoveError::Halted { .. })));
        let swept = sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
        assert!(swept.kept.is_empty() && swept.removed.is_empty(), "the sweep before came to its end: {swept:?}");
        if whole {
            assert_added(&place, &task);
        } else {
            assert_nothing_left(&place, &task);
        }
        halted
    });
}

#[test]
fn a_stop_at_any_step_leaves_nothing() {
    let place = Place::with_repository();
    let before = git(&place.source(), &["for-each-ref"]);
    let mut stopped = 0;
    for number in 0.. {
        let mut follower = Follower { cancel_before: Some(number), ..Follower::default() };
        match make_worktree(&place.new_worktree("t1"), &mut follower) {
            Err(AddError::Cancelled) => stopped += 1,
            other => {
                other.unwrap();
                break;
            }
        }
        assert_nothing_left(&place, "t1");
        assert!(!place.root().exists());
        assert_eq!((worktrees(&place.source()), git(&place.source(), &["for-each-ref"])), (1, before.clone()));
    }
    assert!(stopped >= 4, "{stopped}");
    assert_added(&place, "t1");
}

/// Does something just before a step.
struct Before<'a> {
    inner: Follower<'a>,
    step: Step,
    act: Box<dyn FnMut() + 'a>,
}

impl Watch for Before<'_> {
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
        if step == self.step {
            (self.act)();
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn what_somebody_puts_at_the_place_meanwhile_is_left_as_it_is() {
    let place = Place::with_repository();
    for (number, step) in [Step::Stage, Step::Register, Step::CheckOut, Step::Place].into_iter().enumerate() {
        let task = format!("t{number}");
        let theirs = place.root().join(format!("source-{task}"));
        let act = || {
            std::fs::create_dir_all(&theirs).unwrap();
            std::fs::write(theirs.join("mine"), "mine").unwrap();
        };
        let mut watch = Before { inner: Follower::default(), step, act: Box::new(act) };
        let refused = make_worktree(&place.new_worktree(&task), &mut watch).unwrap_err();
        assert!(matches!(refused, AddError::PathExists { .. }), "{refused}");
        drop(watch);
        assert_eq!(std::fs::read_to_string(theirs.join("mine")).unwrap(), "mine");
        assert_eq!((worktrees(&place.source()), git(&place.source(), &["branch", "--list", "t*"])), (1, String::new()));
        assert!(!place.root().join(".frith-worktrees").exists());
    }
}

#[test]
fn a_folder_put_at_the_place_of_a_killed_making_is_left_as_it_is() {
    let place = Place::with_repository();
    let mut follower = Follower { halt_before: Some(4), ..Follower::default() };
    assert!(make_worktree(&place.new_worktree("t1"), &mut follower).is_err());
    let theirs = place.root().join("source-t1");
    git(&place.source(), &["worktree", "add", "-q", "-b", "theirs", theirs.to_str().unwrap()]);
    std::fs::write(theirs.join("mine"), "mine").unwrap();
    let swept = sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!((swept.removed.len(), swept.kept.len()), (1, 0), "{swept:?}");
    assert_eq!(std::fs::read_to_string(theirs.join("mine")).unwrap(), "mine");
    assert_eq!((worktrees(&place.source()), git(&place.source(), &["branch", "--list", "t1"])), (2, String::new()));
}

#[test]
fn a_killed_makings_branch_with_commits_on_it_is_kept() {
    let place = Place::with_repository();
    let mut follower = Follower { halt_before: Some(4), ..Follower::default() };
    assert!(make_worktree(&place.new_worktree("t1"), &mut follower).is_err());
    let staged = place.root().join(".frith-worktrees/source-t1.making/source-t1");
    let work = commit(&staged, "someone worked here");
    sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(git(&place.source(), &["rev-parse", "t1"]), work);
}

#[test]
fn names_that_nothing_was_written_down_about_are_nobodys_leftovers() {
    let place = Place::with_repository();
    let beside = place.root().join(".frith-worktrees");
    for name in ["source-t1.making", "source-t1.trash-1", "source-t9.trash-1", "notes"] {
        std::fs::create_dir_all(beside.join(name)).unwrap();
        std::fs::write(beside.join(name).join("x"), "x").unwrap();
    }
    let swept = sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert!(swept.removed.is_empty() && swept.kept.is_empty(), "{swept:?}");
    assert_eq!(names(&beside).len(), 4);
    let refused = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap_err();
    assert!(matches!(refused, AddError::BeingMade { .. }), "{refused}");
    make_worktree(&place.new_worktree("t2"), &mut Follower::default()).unwrap();
    assert_eq!(names(&beside).len(), 4);
}

#[test]
fn a74_the_maker_is_killed_and_its_git_lives_on() {
    let place = Place::with_repository();
    let (running, go) = (place.temp.path().join("running"), place.temp.path().join("go"));
    let script = format!("touch '{}'; while ! test -e '{}'; do read x < /dev/null; done; cat", running.display(), go.display());
    git(&place.source(), &["config", "filter.slow.smudge", &script]);
    git(&place.source(), &["config", "filter.slow.clean", "cat"]);
    place.write(".gitattributes", "slow filter=slow\n");
    place.write("slow", "slow\n");
    commit(&place.source(), "slow");
    let mut maker = another_process(&place, "t1").spawn().unwrap();
    wait_for("the filter runs", || running.exists().then_some(()));
    maker.kill().unwrap();
    maker.wait().unwrap();
    let busy = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap_err();
    assert!(matches!(busy, AddError::BeingMade { .. }), "{busy}");
    let swept = sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert!(swept.removed.is_empty() && swept.kept.is_empty(), "a git at work is nobody's leftover");
    std::fs::write(go, "").unwrap();
    wait_for("the git left alone has ended", || match make_worktree(&place.new_worktree("t1"), &mut Follower::default()) {
        Err(AddError::BeingMade { .. }) => None,
        other => Some(other.unwrap()),
    });
    assert_added(&place, "t1");
}

#[test]
fn a74_a_record_git_had_only_begun_is_cleared() {
    let place = Place::with_repository();
    let mut follower = Follower { halt_before: Some(3), ..Follower::default() };
    assert!(make_worktree(&place.new_worktree("t1"), &mut follower).is_err());
    assert_eq!(follower.steps.last(), Some(&Step::CheckOut), "{:?}", follower.steps);
    let records = place.source().join(".git/worktrees");
    std::fs::remove_dir_all(records.join("source-t1")).unwrap();
    let begun = |name: &str, words: &str| {
        std::fs::create_dir(records.join(name)).unwrap();
        std::fs::write(records.join(name).join("locked"), words).unwrap();
    };
    begun("source-t1", &lock_of("t1"));
    begun("source-t1x", "initializing");
    begun("source-t11", "somebody's");
    make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert_eq!(names(&records), ["source-t1", "source-t11", "source-t1x"]);
    assert_added(&place, "t1");
    assert!(records.join(OsStr::from_bytes(b"source-t1/gitdir")).exists() && Path::new(&records).exists());
}
