//! Makings that are stopped, late, killed, or many at once.

use std::path::Path;
use std::process::Command;

use frith_store::git::{ForkFolder, Limits, MakeError, PlanError, RemoveError, Step, Way, make, plan, read, remove, seen, sweep};
use frith_tests::wait_for;

use crate::support::*;

#[test]
fn a47_eight_makings_at_once() {
    let place = Place::with_repository();
    let config = std::fs::read(place.source().join(".git/config")).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let place = &place;
            scope.spawn(move || place.make(&format!("f{number}")));
        }
    });
    assert_eq!(worktrees(&place.source()), 9);
    for number in 0..8 {
        assert_eq!(git(&place.fork(&format!("f{number}")).folder(), &["status", "--porcelain"]), "");
    }
    assert_eq!(std::fs::read(place.source().join(".git/config")).unwrap(), config);
    assert_eq!(place.forks().len(), 8);
}

#[test]
fn one_fork_is_made_once_however_many_try() {
    let place = Place::with_repository();
    let made: Vec<_> = std::thread::scope(|scope| {
        let tries: Vec<_> =
            (0..6).map(|_| scope.spawn(|| make(&place.plan("f1")?, &mut Follower::default()).map_err(Failed::from))).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for failed in made.iter().filter_map(|one| one.as_ref().err()) {
        assert!(matches!(failed, Failed(None | Some(MakeError::BeingMade { .. } | MakeError::Stale { .. }))), "{failed:?}");
    }
    assert!(made.iter().any(Result::is_ok));
    let again = place.make("f1");
    assert_eq!(again.way, Way::Reuse);
    assert_whole(&place, &again);
}

#[derive(Debug)]
struct Failed(Option<MakeError>);

impl From<PlanError> for Failed {
    fn from(_: PlanError) -> Self {
        Self(None)
    }
}

impl From<MakeError> for Failed {
    fn from(error: MakeError) -> Self {
        Self(Some(error))
    }
}

#[test]
fn a74_killed_between_any_two_steps_the_next_making_succeeds() {
    let place = Place::with_repository();
    let config = std::fs::read(place.source().join(".git/config")).unwrap();
    let steps = at_every_step(|number, follower| {
        let id = format!("f{number}");
        let halted = match make(&place.plan(&id).unwrap(), follower) {
            Err(MakeError::Halted { .. }) => true,
            other => other.map(|_| false).unwrap(),
        };
        let again = place.plan(&id).unwrap();
        assert_ne!(again.way(), Way::ExistingBranch, "a killed making's branch is none of ours: {:?}", follower.steps);
        let made = make(&again, &mut Follower::default()).unwrap();
        assert_whole(&place, &made);
        halted
    });
    assert!(steps >= 8, "{steps}");
    assert_eq!(std::fs::read(place.source().join(".git/config")).unwrap(), config);
}

#[test]
fn a74_killed_twice_in_a_row_the_sweep_leaves_nothing() {
    let place = Place::with_repository();
    at_every_step(|number, follower| {
        let id = format!("f{number}");
        let mut halted = matches!(make(&place.plan(&id).unwrap(), follower), Err(MakeError::Halted { .. }));
        let whole = place.fork(&id).folder().exists();
        at_every_step(|_, follower| matches!(sweep(&place.home(), Limits::default(), follower), Err(RemoveError::Halted { .. })));
        let swept = sweep(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
        assert!(swept.kept.is_empty() && swept.removed.is_empty(), "the sweep before came to its end: {swept:?}");
        assert!(place.forks().iter().all(|name| !name.contains('.')), "{:?}", place.forks());
        let branch = git(&place.source(), &["branch", "--list", &format!("frith/fork-{id}")]);
        assert_eq!(branch.is_empty(), !whole, "after {:?}", follower.steps);
        if whole {
            assert_whole(&place, &place.make(&id));
            halted &= remove(&place.fork(&id), &seen(&place.fork(&id)).unwrap(), Limits::default(), &mut Follower::default()).is_ok();
        }
        assert_eq!(worktrees(&place.source()), 1);
        halted
    });
}

#[test]
fn a_stop_at_any_step_leaves_nothing() {
    let place = Place::with_repository();
    let hook = place.source().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    set_mode(&hook, 0o755);
    let before = git(&place.source(), &["for-each-ref"]);
    let mut stopped = 0;
    for number in 0.. {
        let mut follower = Follower { cancel_before: Some(number), ..Follower::default() };
        match make(&place.plan("f1").unwrap(), &mut follower) {
            Err(MakeError::Cancelled) => stopped += 1,
            other => {
                other.unwrap();
                break;
            }
        }
        assert_eq!(place.forks(), [""; 0], "after {:?}", follower.steps);
        assert_eq!((worktrees(&place.source()), git(&place.source(), &["for-each-ref"])), (1, before.clone()));
        assert_eq!(names(&place.source().join(".git/worktrees")), [""; 0]);
    }
    assert!(stopped >= 6, "{stopped}");
}

/// A repository whose checkout waits in a filter until `go` exists. The filter says it runs by making `running`.
fn with_slow_checkout() -> Place {
    let place = Place::with_repository();
    let (running, go) = (place.temp.path().join("running"), place.temp.path().join("go"));
    let script = format!("touch '{}'; while ! test -e '{}'; do read x < /dev/null; done; cat", running.display(), go.display());
    git(&place.source(), &["config", "filter.slow.smudge", &script]);
    place.write(".gitattributes", "slow filter=slow\n");
    place.write("slow", "slow\n");
    git(&place.source(), &["config", "filter.slow.clean", "cat"]);
    commit(&place.source(), "slow");
    place
}

#[test]
fn a_stop_and_a_limit_end_a_git_that_hangs() {
    let place = with_slow_checkout();
    let running = place.temp.path().join("running");
    let stop = Follower { on_look: Some(Box::new(|follower| follower.cancelled.set(running.exists()))), ..Follower::default() };
    let mut stop = stop;
    assert!(matches!(make(&place.plan("f1").unwrap(), &mut stop), Err(MakeError::Cancelled)));
    std::fs::remove_file(&running).unwrap();
    let late = |follower: &Follower<'_>| {
        if running.exists() {
            follower.looks.set(1_000_000_000);
        }
    };
    let mut late = Follower { on_look: Some(Box::new(late)), ..Follower::default() };
    let error = make(&place.plan("f1").unwrap(), &mut late).unwrap_err();
    assert!(matches!(error, MakeError::TimedOut { .. }) && error.to_string().contains("30 min"), "{error}");
    assert_eq!((place.forks().len(), worktrees(&place.source())), (0, 1));
    assert_eq!(git(&place.source(), &["branch", "--list", "frith/*"]), "");
}

/// Not a test of its own: the process that [`another_process`] starts makes a folder here and ends.
#[test]
fn the_maker() {
    if let Some(root) = std::env::var_os("FRITH_TEST_MAKER") {
        let root = Path::new(&root);
        let fork = ForkFolder::new(&root.join("home"), "f1").unwrap();
        let made = make(&plan(&root.join("source"), &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
        assert_eq!(read::find(&made.path).unwrap().unwrap().changes().unwrap().total(), 0);
    }
}

/// This test binary once more, to make the folder of fork `f1` of this place.
fn another_process(place: &Place) -> Command {
    let mut maker = Command::new(std::env::current_exe().unwrap());
    maker.args(["--exact", "killed::the_maker"]).env("FRITH_TEST_MAKER", place.temp.path()).stdout(std::process::Stdio::null());
    maker
}

#[test]
fn a39_neither_our_environment_nor_a_persons_configuration_steers_git() {
    let place = Place::with_repository();
    let global = place.temp.path().join("gitconfig");
    std::fs::write(
        &global,
        "[core]\nhooksPath = /nonexistent\nsplitIndex = true\nuntrackedCache = true\nquotePath = true\n[index]\nversion = 4\n\
         [color]\nui = always\n[checkout]\nworkers = 8\nthresholdForParallelism = 0\n\
         [log]\nshowSignature = true\n[status]\nshort = true\nbranch = true\nshowUntrackedFiles = no\n[submodule]\nrecurse = true\n\
         [worktree]\nuseRelativePaths = true\nguessRemote = true\n[branch]\nautoSetupMerge = inherit\nautoSetupRebase = always\n\
         [alias]\ncheckout = !false\nworktree = !false\n",
    )
    .unwrap();
    let mut maker = another_process(&place);
    maker.env("GIT_CONFIG_GLOBAL", &global).env("GIT_DIR", "/nonexistent").env("GIT_WORK_TREE", "/nonexistent");
    maker.env("GIT_INDEX_FILE", "/nonexistent/index").env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.bare");
    maker.env("GIT_CONFIG_VALUE_0", "true").env("GIT_PREFIX", "sub/").env("GIT_TRACE", "1").env("LC_ALL", "de_DE.UTF-8");
    assert!(maker.status().unwrap().success());
    let again = place.make("f1");
    assert_eq!(again.way, Way::Reuse);
    assert_whole(&place, &again);
    remove(&place.fork("f1"), &seen(&place.fork("f1")).unwrap(), Limits::default(), &mut Follower::default()).unwrap();
}

#[test]
fn a74_the_maker_is_killed_and_its_git_lives_on() {
    let place = with_slow_checkout();
    let mut maker = another_process(&place).spawn().unwrap();
    wait_for("the filter runs", || place.temp.path().join("running").exists().then_some(()));
    maker.kill().unwrap();
    maker.wait().unwrap();
    assert!(!place.fork("f1").folder().exists());
    let busy = make(&place.plan("f1").unwrap(), &mut Follower::default()).unwrap_err();
    assert!(matches!(busy, MakeError::BeingMade { .. }), "{busy}");
    let swept = sweep(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert!(swept.removed.is_empty() && swept.kept.is_empty(), "a git at work is nobody's leftover");
    std::fs::write(place.temp.path().join("go"), "").unwrap();
    let made = wait_for("the git left alone has ended", || match make(&place.plan("f1").unwrap(), &mut Follower::default()) {
        Err(MakeError::BeingMade { .. }) => None,
        other => Some(other.unwrap()),
    });
    assert_whole(&place, &made);
}

#[test]
fn a74_a_record_git_had_only_begun_is_cleared() {
    let place = Place::with_repository();
    let mut follower = Follower { halt_before: Some(4), ..Follower::default() };
    assert!(make(&place.plan("f1").unwrap(), &mut follower).is_err());
    assert_eq!(follower.steps.last(), Some(&Step::CheckOut));
    let record = place.source().join(".git/worktrees/f1");
    std::fs::remove_dir_all(&record).unwrap();
    std::fs::create_dir(&record).unwrap();
    std::fs::write(record.join("locked"), "initializing").unwrap();
    let foreign = place.source().join(".git/worktrees/f1x");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("locked"), "initializing").unwrap();
    let made = place.make("f1");
    assert_eq!(names(&place.source().join(".git/worktrees")), ["f1", "f1x"]);
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
}

#[test]
fn a_killed_makings_branch_with_commits_on_it_is_kept() {
    let place = Place::with_repository();
    let mut follower = Follower { halt_before: Some(5), ..Follower::default() };
    assert!(make(&place.plan("f1").unwrap(), &mut follower).is_err());
    let staged = place.home().join("forks/f1.making/f1");
    let work = commit(&staged, "someone worked here");
    let again = place.plan("f1").unwrap();
    assert_eq!((again.way(), again.base()), (Way::ExistingBranch, Some(work.as_str())));
    assert_eq!(make(&again, &mut Follower::default()).unwrap().commit, Some(work));
}

#[test]
fn a_full_refusal_of_git_is_passed_on_and_taken_back() {
    let place = Place::with_repository();
    git(&place.source(), &["config", "filter.bad.smudge", "echo out of order >&2; false"]);
    git(&place.source(), &["config", "filter.bad.required", "true"]);
    git(&place.source(), &["config", "filter.bad.clean", "cat"]);
    place.write(".gitattributes", "bad filter=bad\n");
    place.write("bad", "bad\n");
    commit(&place.source(), "bad");
    let error = make(&place.plan("f1").unwrap(), &mut Follower::default()).unwrap_err();
    assert!(matches!(error, MakeError::Git(_)), "{error}");
    assert!(error.hint().unwrap().contains("out of order"), "{:?}", error.hint());
    assert_eq!((place.forks().len(), worktrees(&place.source())), (0, 1));
    assert_eq!(git(&place.source(), &["branch", "--list", "frith/*"]), "");
}
