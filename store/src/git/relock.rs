//! Replacing the words of a worktree's lock, which git can only take off and put on: a lock of somebody else is never
//! taken, and the old words are given back when the new ones cannot be set, also by the next sweep after a kill.

use std::io;
use std::path::Path;

use super::change;
use super::error::{GitError, RemoveError};
use super::home::OwnFolder;
use super::journal::{self, Doing};
use super::leftovers;
use super::links::{self, Links, Registered};
use super::watch::{Limits, Step, Undoing, Watch};
use super::worktree_error::RelockError;

/// Replaces the words of git's lock on a worktree, if they still are `expected`: none stands for no lock, before and after.
/// On an error they are what they were, except after [`RelockError::Halted`] and where the error says otherwise.
pub fn relock(
    home: &Path,
    common_dir: &Path,
    worktree: &Path,
    expected: Option<&str>,
    new: Option<&str>,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<(), RelockError> {
    let not_one = || RelockError::NotAWorktree { path: worktree.to_path_buf() };
    let (home, real) = (home.canonicalize().unwrap_or_else(|_| home.to_path_buf()), worktree.canonicalize().map_err(|_| not_one())?);
    let own = OwnFolder::worktree(&home, &real).ok_or_else(not_one)?.with_lock(expected.map(str::to_owned));
    let _repository = leftovers::take_repository(&home, common_dir, limits, watch).map_err(refused)?;
    let registered = registered(&real, common_dir)?;
    if registered.locked.as_deref() != expected.map(str::trim) {
        return Err(RelockError::Changed { path: real, found: registered.locked });
    }
    if expected.map(str::trim) == new.map(str::trim) {
        return Ok(());
    }
    let io = |source| RelockError::Io { doing: "written", path: home.clone(), source };
    let stamp = links::identity(&registered.record).map_err(io)?.stamp;
    let doing = Doing::Relocking { stamp };
    if expected.is_some() && !journal::note(&own, doing).map_err(io)? {
        return Err(RelockError::Busy { repository: common_dir.to_path_buf() });
    }
    let Relocked { result, settled } = replace(common_dir, &registered, expected, new, limits, watch)?;
    if settled {
        journal::close(&own, doing).map_err(io)?;
    }
    result
}

/// How it ended, and whether the lock is as it should be after that.
struct Relocked {
    result: Result<(), RelockError>,
    settled: bool,
}

fn replace(
    common_dir: &Path,
    registered: &Registered,
    expected: Option<&str>,
    new: Option<&str>,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<Relocked, RelockError> {
    let folder = &registered.folder;
    if expected.is_some() {
        step(watch, Step::Unlock)?;
        if let Err(error) = change::unlock(common_dir, folder).run(limits.quick, watch) {
            let there = links::links(folder).is_ok_and(|links| matches!(links, Links::Whole(one) if one.locked == registered.locked));
            return Ok(Relocked { result: Err(error.into()), settled: there });
        }
    }
    let Some(words) = new else { return Ok(Relocked { result: Ok(()), settled: true }) };
    step(watch, Step::Lock)?;
    let Err(source) = change::lock(common_dir, folder, words).run(limits.quick, watch) else {
        return Ok(Relocked { result: Ok(()), settled: true });
    };
    let restored = restore(common_dir, folder, expected, limits, watch).is_ok();
    Ok(Relocked { result: Err(RelockError::NotLocked { path: folder.clone(), restored, source }), settled: restored })
}

fn restore(common_dir: &Path, folder: &Path, words: Option<&str>, limits: Limits, watch: &mut dyn Watch) -> Result<(), GitError> {
    let Some(words) = words else { return Ok(()) };
    change::lock(common_dir, folder, words).run(limits.quick, &mut Undoing(watch)).map(drop)
}

/// Gives back a lock that a killed call had taken off, unless the worktree is locked by now, or is not the one made at `stamp`.
/// A living call is waited for: it has the repository's lock.
pub(super) fn give_back(own: &OwnFolder, stamp: i64, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let folder = own.folder();
    let found = links::links(&folder).map_err(leftovers::io_error("looked at", &folder))?;
    let (Some(words), Links::Whole(found)) = (own.lock(), found) else { return Ok(()) };
    let Some(common_dir) = links::common_dir(&found.record) else { return Ok(()) };
    let _repository = leftovers::take_repository(own.home(), common_dir, limits, watch)?;
    match links::links(&folder).map_err(leftovers::io_error("looked at", &folder))? {
        Links::Whole(now) if now.locked.is_none() && links::identity(&now.record).is_ok_and(|id| id.stamp == stamp) => {
            leftovers::step(watch, Step::Lock)?;
            change::lock(common_dir, &folder, words).run(limits.quick, watch)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn registered(worktree: &Path, common_dir: &Path) -> Result<Registered, RelockError> {
    let looked = links::links(worktree).map_err(|source| RelockError::Io { doing: "looked at", path: worktree.to_path_buf(), source })?;
    match looked {
        Links::Whole(one) if links::common_dir(&one.record).is_some_and(|of| links::same(of, common_dir)) => Ok(one),
        _ => Err(RelockError::NotAWorktree { path: worktree.to_path_buf() }),
    }
}

fn refused(error: RemoveError) -> RelockError {
    match error {
        RemoveError::Busy { repository } => RelockError::Busy { repository },
        RemoveError::Io { doing, path, source } => RelockError::Io { doing, path, source },
        RemoveError::Halted { step } => RelockError::Halted { step },
        other => RelockError::Io { doing: "locked", path: Default::default(), source: io::Error::other(other) },
    }
}

fn step(watch: &mut dyn Watch, step: Step) -> Result<(), RelockError> {
    if watch.step(step).is_break() { Err(RelockError::Halted { step }) } else { Ok(()) }
}
