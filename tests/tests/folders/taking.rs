//! Worktrees removed: decided on what is found, brought back when anything is amiss, finished after a kill.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use frith_store::git::{
    Gone, Limits, MadeWorktree, Order, Progress, Removal, RemoveError, RemoveFailure, Step, Watch, make_worktree, remove_worktree,
    sweep_worktrees,
};
use frith_store::model::Proof;

use crate::support::*;

fn removal(place: &Place, made: &MadeWorktree) -> Removal {
    let (home, repository) = (place.home(), place.source());
    Removal { home, repository, path: made.path.clone(), id: made.id.clone(), limits: Limits::default() }
}

fn take(removal: &Removal, watch: &mut dyn Watch) -> Result<Gone, RemoveFailure<&'static str>> {
    let mut decide = |_: &_, _: &_, judged: &frith_store::git::Judged| {
        if judged.is_clean() { Ok(Order { delete_branch: judged.merged.is_some() }) } else { Err("dirty") }
    };
    remove_worktree(removal, &mut decide, watch)
}

fn failed(result: Result<Gone, RemoveFailure<&'static str>>) -> RemoveError {
    match result {
        Err(RemoveFailure::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn added(place: &Place, task: &str) -> MadeWorktree {
    make_worktree(&place.new_worktree(task), &mut Follower::default()).unwrap()
}

#[test]
fn a09_a_finished_worktree_goes_with_its_branch_and_links_are_not_followed() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let made = added(&place, "t1");
    let outside = place.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "kept").unwrap();
    symlink(&outside, made.path.join("link")).unwrap();
    let tip = commit(&made.path, "a link");
    git(&place.source(), &["merge", "-q", "--squash", "t1"]);
    commit(&place.source(), "squashed");
    git(&place.source(), &["pack-refs", "--all"]);
    let mut seen = None;
    let mut decide = |inventory: &frith_store::git::Inventory, checkout: &frith_store::git::Checkout, judged: &frith_store::git::Judged| {
        assert_eq!((inventory.checkouts.len(), checkout.lock.as_deref()), (2, Some(lock_of("t1").as_str())));
        seen = judged.merged;
        Ok::<_, &str>(Order { delete_branch: judged.is_finished() })
    };
    let gone = remove_worktree(&removal(&place, &made), &mut decide, &mut Follower::default()).unwrap();
    assert!(matches!(seen, Some(Proof::SameTree | Proof::AddsNothing)), "{seen:?}");
    assert_eq!((gone.branch.as_deref(), gone.tip.as_deref(), gone.branch_deleted), (Some("t1"), Some(tip.as_str()), true));
    assert!(gone.bytes > 0 && gone.branch_fault.is_none() && gone.left_in_trash.is_none(), "{gone:?}");
    assert_nothing_left(&place, "t1");
    assert_eq!((names(&outside), config(&place.source()), worktrees(&place.source())), (vec!["kept".into()], before, 1));
    assert!(matches!(failed(take(&removal(&place, &made), &mut Follower::default())), RemoveError::Replaced { .. }));
}

#[test]
fn a16_a_refusal_comes_before_anything_is_touched() {
    let place = Place::with_repository();
    let made = added(&place, "t1");
    std::fs::write(made.path.join("new"), "work").unwrap();
    let mut follower = Follower::default();
    let refused = take(&removal(&place, &made), &mut follower);
    assert!(matches!(refused, Err(RemoveFailure::Refused("dirty"))), "{refused:?}");
    assert_eq!(follower.steps, []);
    assert!(made.path.join("new").exists());
    std::fs::remove_file(made.path.join("new")).unwrap();
    assert_added(&place, "t1");
}

/// Does something just before a step, once.
struct Before<'a> {
    inner: Follower<'a>,
    step: Step,
    done: Cell<bool>,
    act: Box<dyn Fn() + 'a>,
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
        if step == self.step && !self.done.replace(true) {
            (self.act)();
        }
        ControlFlow::Continue(())
    }
}

fn before<'a>(step: Step, act: impl Fn() + 'a) -> Before<'a> {
    Before { inner: Follower::default(), step, done: Cell::new(false), act: Box::new(act) }
}

#[test]
fn a16_what_changes_in_between_brings_the_worktree_back() {
    let place = Place::with_repository();
    let made = added(&place, "t1");
    let path = made.path.to_str().unwrap();
    let relock = |words: &str| {
        git(&place.source(), &["worktree", "unlock", path]);
        git(&place.source(), &["worktree", "lock", "--reason", words, path]);
    };
    let work = || std::fs::write(made.path.join("late"), "work").unwrap();
    let error = failed(take(&removal(&place, &made), &mut before(Step::SetAside, work)));
    assert!(matches!(&error, RemoveError::ChangedMeanwhile { what, .. } if what == &["`late`"]), "{error}");
    assert_eq!(std::fs::read_to_string(made.path.join("late")).unwrap(), "work");
    std::fs::remove_file(made.path.join("late")).unwrap();

    let error = failed(take(&removal(&place, &made), &mut before(Step::SetAside, || relock("somebody's"))));
    assert!(matches!(&error, RemoveError::ChangedMeanwhile { what, .. } if what == &["its lock is another"]), "{error}");
    assert!(made.path.join("a").exists());
    relock(&lock_of("t1"));
    assert_added(&place, "t1");
    assert_eq!(names(&place.home().join("worktrees")), [""; 0]);
}

#[test]
fn a_failing_git_brings_folder_and_lock_back() {
    let place = Place::with_repository();
    let made = added(&place, "t1");
    let theirs = made.path.clone();
    let records = place.source().join(".git/worktrees");
    // Git refuses to forget a worktree whose place is taken by something else.
    let act = || {
        std::fs::create_dir(&theirs).unwrap();
        std::fs::write(theirs.join("mine"), "mine").unwrap();
    };
    let error = failed(take(&removal(&place, &made), &mut before(Step::Forget, act)));
    assert!(matches!(error, RemoveError::Git(_) | RemoveError::Io { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(theirs.join("mine")).unwrap(), "mine");
    assert!(records.join("source-t1").exists());
    assert!(place.root().join(".frith-worktrees/source-t1.trash-1/a").exists(), "nothing of it is deleted");
}

#[test]
fn a22_a_later_worktree_at_the_same_path_is_another() {
    let place = Place::with_repository();
    let first = added(&place, "t1");
    take(&removal(&place, &first), &mut Follower::default()).unwrap();
    let second = added(&place, "t1");
    assert!(matches!(failed(take(&removal(&place, &first), &mut Follower::default())), RemoveError::Replaced { .. }));
    git(&second.path, &["branch", "-q", "-m", "renamed"]);
    let gone = take(&removal(&place, &second), &mut Follower::default()).unwrap();
    assert_eq!((gone.branch.as_deref(), gone.branch_deleted), (Some("renamed"), true));
}

#[test]
fn a02_a_branch_that_moved_or_is_out_elsewhere_is_kept_and_told() {
    let place = Place::with_repository();
    let made = added(&place, "t1");
    let other = place.temp.path().join("other");
    git(&place.source(), &["worktree", "add", "-q", "-f", other.to_str().unwrap(), "t1"]);
    let gone = take(&removal(&place, &made), &mut Follower::default()).unwrap();
    assert!(!gone.branch_deleted && gone.branch_fault.unwrap().contains("checked out at"));
    let made = added(&place, "t2");
    let moved = || drop(git(&place.source(), &["update-ref", "refs/heads/t2", &commit(&place.source(), "elsewhere")]));
    let gone = take(&removal(&place, &made), &mut before(Step::DropBranch, moved)).unwrap();
    assert!(!gone.branch_deleted && gone.branch_fault.is_some(), "{gone:?}");
    assert_eq!(git(&place.source(), &["branch", "--format=%(refname:short)"]), "main\nt1\nt2");
}

#[test]
fn a20_the_default_branch_and_that_of_the_main_checkout_stay_whatever_was_decided() {
    let place = Place::with_repository();
    git(&place.source(), &["switch", "-q", "-c", "wip"]);
    for branch in ["main", "wip"] {
        let made = added(&place, "t1");
        git(&made.path, &["switch", "-q", "--ignore-other-worktrees", branch]);
        git(&place.source(), &["branch", "-q", "-D", "t1"]);
        let mut careless = |_: &_, _: &_, _: &_| Ok::<_, &str>(Order { delete_branch: true });
        let gone = remove_worktree(&removal(&place, &made), &mut careless, &mut Follower::default()).unwrap();
        assert!(!gone.branch_deleted && gone.branch_fault.unwrap().contains("main checkout"));
        assert_nothing_left(&place, "t1");
    }
    assert_eq!(git(&place.source(), &["branch", "--format=%(refname:short)"]), "main\nwip");
}

#[test]
fn a16_checkouts_inside_a_worktree_hold_it() {
    let place = Place::with_repository();
    place.write(".gitignore", "/nest/\n");
    commit(&place.source(), "ignore");
    let made = added(&place, "t1");
    let (clone, inner) = (made.path.join("nest/clone"), made.path.join("nest/inner"));
    git(&place.source(), &["worktree", "add", "-q", "-b", "inner", inner.to_str().unwrap()]);
    git(&place.source(), &["clone", "-q", ".", clone.to_str().unwrap()]);
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "", "no status tells of them");
    let mut follower = Follower::default();
    let mut told = Vec::new();
    let mut decide = |_: &_, _: &_, judged: &frith_store::git::Judged| {
        told = judged.nested.clone();
        Ok::<_, &str>(Order { delete_branch: true })
    };
    let error = failed(remove_worktree(&removal(&place, &made), &mut decide, &mut follower));
    assert_eq!(told, [clone.clone(), inner.clone()]);
    assert!(matches!(&error, RemoveError::Nested { nested, .. } if *nested == [clone.clone(), inner.clone()]), "{error}");
    git(&place.source(), &["worktree", "remove", inner.to_str().unwrap()]);
    let error = failed(take(&removal(&place, &made), &mut follower));
    assert!(matches!(&error, RemoveError::Nested { nested, .. } if nested == std::slice::from_ref(&clone)), "{error}");
    assert!(error.to_string().contains("nest/clone") && error.hint().unwrap().contains("nest/clone"));
    assert_eq!((follower.steps.as_slice(), names(&place.home().join("worktrees"))), (&[][..], vec![]));
    assert!(made.path.join("a").exists() && clone.join("a").exists());
    std::fs::remove_dir_all(&clone).unwrap();
    let late = || drop(git(&place.source(), &["init", "-q", clone.to_str().unwrap()]));
    let error = failed(take(&removal(&place, &made), &mut before(Step::SetAside, late)));
    assert!(matches!(&error, RemoveError::ChangedMeanwhile { what, .. } if what.contains(&"`nest/clone`".to_owned())), "{error}");
    assert!(clone.join(".git/HEAD").exists());
    std::fs::remove_dir_all(&clone).unwrap();
    git(&place.source(), &["branch", "-q", "-D", "inner"]);
    take(&removal(&place, &made), &mut Follower::default()).unwrap();
    assert_nothing_left(&place, "t1");
}

#[test]
fn a26_initialised_submodules_hinder_nothing_but_work_in_them_does() {
    let place = Place::with_repository();
    new_repository(&place.temp.path().join("library"));
    git(&place.source(), &["submodule", "add", "-q", "../library", "inner"]);
    commit(&place.source(), "submodule");
    let made = added(&place, "t1");
    git(&made.path, &["submodule", "update", "-q", "--init"]);
    let before = config(&place.source());
    let work = commit(&made.path.join("inner"), "in the submodule");
    git(&made.path.join("inner"), &["switch", "-q", "-c", "topic"]);
    git(&made.path.join("inner"), &["switch", "-q", "--detach", "HEAD~1"]);
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    let mut careless = |_: &_, _: &_, _: &_| Ok(Order { delete_branch: true });
    let error = failed(remove_worktree(&removal(&place, &made), &mut careless, &mut Follower::default()));
    assert!(matches!(&error, RemoveError::SubmoduleWork { commit, .. } if *commit == work), "{error}");
    git(&made.path.join("inner"), &["push", "-q", "origin", "topic"]);
    take(&removal(&place, &made), &mut Follower::default()).unwrap();
    assert_nothing_left(&place, "t1");
    assert_eq!((config(&place.source()), place.source().join("inner/a").exists()), (before, true));
}

#[test]
fn edits_that_git_was_told_to_look_away_from_are_not_lost() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let place = Place::with_repository();
        let made = added(&place, "t1");
        git(&made.path, &["update-index", flag, "a"]);
        std::fs::write(made.path.join("a"), "edited\n").unwrap();
        assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
        let error =
            failed(remove_worktree(&removal(&place, &made), &mut |_, _, _| Ok(Order { delete_branch: true }), &mut Follower::default()));
        assert!(matches!(&error, RemoveError::HiddenEdits { files, .. } if *files == [std::path::PathBuf::from("a")]), "{error}");
        assert_eq!(std::fs::read_to_string(made.path.join("a")).unwrap(), "edited\n");
        git(&made.path, &["update-index", &flag.replace("--", "--no-"), "a"]);
        git(&made.path, &["checkout", "-q", "--", "a"]);
        take(&removal(&place, &made), &mut Follower::default()).unwrap();
        assert_nothing_left(&place, "t1");
    }
}

#[test]
fn a46_a_sparse_worktree_is_clean_and_goes() {
    let place = Place::with_repository();
    git(&place.source(), &["sparse-checkout", "set", "sub"]);
    let before = config(&place.source());
    let made = added(&place, "t1");
    take(&removal(&place, &made), &mut Follower::default()).unwrap();
    assert_nothing_left(&place, "t1");
    assert_eq!(config(&place.source()), before, "a44 too: nothing of a sparse worktree stays");
}

#[test]
fn a65_a_caller_whose_folder_is_gone_is_no_hindrance() {
    let place = Place::with_repository();
    let made = added(&place, "t1");
    let from_inside = Removal { repository: made.path.join("sub"), ..removal(&place, &made) };
    take(&from_inside, &mut Follower::default()).unwrap();
    assert!(matches!(failed(take(&from_inside, &mut Follower::default())), RemoveError::Replaced { .. }));
    assert_nothing_left(&place, "t1");
}

#[test]
fn a74_killed_between_any_two_steps_the_removal_is_finished_or_taken_back() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let steps = at_every_step(|number, follower| {
        let task = format!("t{number}");
        let made = added(&place, &task);
        let halted = match take(&removal(&place, &made), follower) {
            Err(RemoveFailure::Failed(RemoveError::Halted { .. })) => true,
            other => other.map(|_| false).unwrap(),
        };
        let decided = !halted || follower.steps.last().is_some_and(|step| *step != Step::SetAside && *step != Step::Decide);
        at_every_step(|_, follower| matches!(sweep_worktrees(&place.home(), Limits::default(), follower), Err(RemoveError::Halted { .. })));
        let swept = sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
        assert!(swept.kept.is_empty() && swept.removed.is_empty(), "{swept:?}");
        if decided {
            assert!(!made.path.exists() && names(&place.source().join(".git/worktrees")).is_empty(), "{:?}", follower.steps);
        } else {
            assert_added(&place, &task);
            take(&removal(&place, &made), &mut Follower::default()).unwrap();
        }
        assert!(!place.root().join(".frith-worktrees").exists());
        halted
    });
    assert_eq!(steps, 5);
    assert_eq!((config(&place.source()), names(&place.home().join("worktrees"))), (before, vec![]));
}

/// Not a test of its own: the process that the next test kills removes a worktree here.
#[test]
fn the_remover() {
    let Some(temp) = std::env::var_os("FRITH_TEST_REMOVER") else { return };
    let temp = Path::new(&temp);
    let found = frith_store::git::inventory(&temp.join("source")).unwrap().unwrap();
    let id = found.checkouts[1].id.clone().unwrap();
    let path = found.checkouts[1].path.clone();
    let removal = Removal { home: temp.join("home"), repository: temp.join("source"), path, id, limits: Limits::default() };
    let stop = || {
        std::fs::write(temp.join("reached"), "").unwrap();
        loop {
            std::thread::park();
        }
    };
    let step = if std::env::var_os("FRITH_TEST_LATE").is_some() { Step::Forget } else { Step::Decide };
    take(&removal, &mut before(step, stop)).unwrap();
}

#[test]
fn a74_a_killed_remover_leaves_what_the_next_call_finishes_or_brings_back() {
    for late in [false, true] {
        let place = Place::with_repository();
        let made = added(&place, "t1");
        let mut remover = Command::new(std::env::current_exe().unwrap());
        remover.args(["--exact", "taking::the_remover"]).env("FRITH_TEST_REMOVER", place.temp.path()).stdout(std::process::Stdio::null());
        if late {
            remover.env("FRITH_TEST_LATE", "1");
        }
        let mut remover = remover.spawn().unwrap();
        frith_tests::wait_for("the step is reached", || place.temp.path().join("reached").exists().then_some(()));
        assert!(!made.path.exists());
        remover.kill().unwrap();
        remover.wait().unwrap();
        let again = take(&removal(&place, &made), &mut Follower::default());
        assert_eq!(again.is_ok(), !late, "once decided it is finished: {again:?}");
        assert!(!made.path.exists() && !place.root().join(".frith-worktrees").exists());
        assert_eq!((worktrees(&place.source()), names(&place.home().join("worktrees"))), (1, vec![]));
    }
}
