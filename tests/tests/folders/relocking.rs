//! Locks of worktrees, replaced only while they are what they were taken for.

use std::path::Path;

use frith_store::git::{AddError, Limits, RelockError, RemoveError, Step, make_worktree, relock, sweep_worktrees};

use crate::support::*;

fn lock_now(place: &Place, path: &Path) -> Option<String> {
    let listed = git(&place.source(), &["worktree", "list", "--porcelain"]);
    let row = listed.split("\n\n").find(|row| row.starts_with(&format!("worktree {}\n", path.display()))).unwrap().to_owned();
    row.lines().find_map(|line| line.strip_prefix("locked").map(|words| words.trim().to_owned()))
}

fn attempt(place: &Place, path: &Path, expected: Option<&str>, new: Option<&str>, follower: &mut Follower<'_>) -> Result<(), RelockError> {
    relock(&place.home(), &place.source().join(".git"), path, expected, new, Limits::default(), follower)
}

#[test]
fn a_lock_is_replaced_only_while_it_is_what_it_was_taken_for() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let path = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap().path;
    let (first, mut follower) = (lock_of("t1"), Follower::default());
    attempt(&place, &path, Some(&first), Some("second"), &mut follower).unwrap();
    assert_eq!(lock_now(&place, &path).as_deref(), Some("second"));
    for (expected, new) in [(Some(first.as_str()), Some("mine")), (None, Some("mine")), (Some(&first), None)] {
        let refused = attempt(&place, &path, expected, new, &mut follower).unwrap_err();
        assert!(matches!(&refused, RelockError::Changed { found: Some(words), .. } if words == "second"), "{refused}");
    }
    attempt(&place, &path, Some("second"), None, &mut follower).unwrap();
    assert_eq!(lock_now(&place, &path), None);
    assert!(matches!(attempt(&place, &path, Some("second"), None, &mut follower), Err(RelockError::Changed { found: None, .. })));
    attempt(&place, &path, None, None, &mut follower).unwrap();
    attempt(&place, &path, None, Some("third"), &mut follower).unwrap();
    assert_eq!(lock_now(&place, &path).as_deref(), Some("third"));
    let main = attempt(&place, &place.source(), None, Some("x"), &mut follower).unwrap_err();
    assert!(matches!(main, RelockError::NotAWorktree { .. }), "{main}");
    assert_eq!((config(&place.source()), names(&place.home().join("worktrees"))), (before, vec![]));
}

#[test]
fn killed_between_any_two_steps_the_sweep_gives_the_lock_back() {
    let place = Place::with_repository();
    let path = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap().path;
    let steps = at_every_step(|_, follower| match attempt(&place, &path, Some(&lock_of("t1")), Some("next"), follower) {
        Err(RelockError::Halted { .. }) => {
            at_every_step(|_, follower| {
                matches!(sweep_worktrees(&place.home(), Limits::default(), follower), Err(RemoveError::Halted { .. }))
            });
            assert_eq!(lock_now(&place, &path), Some(lock_of("t1")), "{:?}", follower.steps);
            assert_eq!(names(&place.home().join("worktrees")), [""; 0]);
            true
        }
        other => {
            other.unwrap();
            false
        }
    });
    assert_eq!((steps, lock_now(&place, &path).as_deref()), (2, Some("next")));
}

#[test]
fn words_that_cannot_be_set_leave_the_old_ones() {
    let place = Place::with_repository();
    let path = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap().path;
    let mut follower = Follower::default();
    let refused = attempt(&place, &path, Some(&lock_of("t1")), Some("nul \0 inside"), &mut follower).unwrap_err();
    assert!(matches!(refused, RelockError::NotLocked { restored: true, .. }), "{refused}");
    assert_eq!(follower.steps, [Step::Unlock, Step::Lock]);
    assert_eq!(lock_now(&place, &path), Some(lock_of("t1")));
}

#[test]
fn a_lock_that_was_taken_off_is_given_back_by_an_adding_of_the_same_name() {
    let place = Place::with_repository();
    let path = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap().path;
    let mut follower = Follower { halt_before: Some(1), ..Follower::default() };
    let halted = attempt(&place, &path, Some(&lock_of("t1")), Some("next"), &mut follower).unwrap_err();
    assert!(matches!(halted, RelockError::Halted { step: Step::Lock }), "{halted}");
    assert_eq!(lock_now(&place, &path), None);
    let there = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap_err();
    assert!(matches!(there, AddError::PathExists { .. }), "{there}");
    assert_eq!((lock_now(&place, &path), names(&place.home().join("worktrees"))), (Some(lock_of("t1")), vec![]));
}

#[test]
fn a22_a_lock_is_not_given_back_to_a_later_worktree_at_the_same_place() {
    let place = Place::with_repository();
    let path = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap().path;
    let mut follower = Follower { halt_before: Some(1), ..Follower::default() };
    attempt(&place, &path, Some(&lock_of("t1")), Some("next"), &mut follower).unwrap_err();
    git(&place.source(), &["worktree", "remove", path.to_str().unwrap()]);
    git(&place.source(), &["worktree", "add", "-q", path.to_str().unwrap(), "t1"]);
    sweep_worktrees(&place.home(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!((lock_now(&place, &path), names(&place.home().join("worktrees"))), (None, vec![]));
}
