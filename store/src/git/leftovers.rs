//! Taking back what a making that failed or was killed has left, and nothing else.
//!
//! A making writes down what it is about to change before it changes it. What it left is judged by that record and by
//! git's own state, never by guess, and every step may be repeated: it may itself be killed at any point.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change;
use super::delete::delete_tree;
use super::error::RemoveError;
use super::home::{self, ForkFolder, SiblingKind};
use super::links::{self, Links, Registered};
use super::lock::{Lock, forks_lock, repository_lock};
use super::read;
use super::watch::{Limits, Step, Watch};

/// The words git locks a record with while it makes it.
const GITS_OWN_LOCK: &str = "initializing";

/// What one making is about to change in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    common_dir: Vec<u8>,
    /// The fork's branch.
    pub(super) branch: String,
    /// Where it starts, in hex.
    pub(super) base: String,
    /// Whether this making creates the branch.
    pub(super) new_branch: bool,
}

impl Record {
    pub(super) fn new(common_dir: &Path, branch: &str, base: &str, new_branch: bool) -> Self {
        let common_dir = common_dir.as_os_str().as_bytes().to_vec();
        Self { common_dir, branch: branch.to_owned(), base: base.to_owned(), new_branch }
    }

    pub(super) fn common_dir(&self) -> &Path {
        links::bytes_path(&self.common_dir)
    }

    pub(super) fn write(&self, staging: &Path) -> io::Result<()> {
        let bytes = postcard::to_stdvec(self).map_err(io::Error::other)?;
        std::fs::write(staging.join("record"), bytes)
    }

    /// `None` when nothing was written, or not all of it: then nothing was changed either.
    pub(super) fn read(staging: &Path) -> Option<Self> {
        postcard::from_bytes(&std::fs::read(staging.join("record")).ok()?).ok()
    }
}

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// Leftovers that are gone now.
    pub removed: Vec<PathBuf>,
    /// Leftovers that could not be cleared away, and why. The next sweep tries again.
    pub kept: Vec<(PathBuf, RemoveError)>,
}

/// Clears away what earlier processes left beside the finished folders of FRITH_HOME: makings whose maker is gone, and
/// folders set aside but not yet deleted. A living maker's is not touched, and neither is any name that is not ours.
pub fn sweep(home: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<Swept, RemoveError> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    let listed = home::siblings(&home).map_err(io_error("looked at", &home))?;
    let mut swept = Swept::default();
    for sibling in listed {
        let result = match sibling.kind {
            SiblingKind::Making => match set_aside_if_dead(&sibling.fork) {
                Ok(Some(unmade)) => take_back(&sibling.fork, &unmade, limits, watch),
                Ok(None) => continue,
                Err(error) => Err(error),
            },
            SiblingKind::Unmade => take_back(&sibling.fork, &sibling.path, limits, watch),
            SiblingKind::Trash => finish_removal(&sibling.fork, &sibling.path, limits, watch),
        };
        match result {
            Ok(()) => swept.removed.push(sibling.path),
            Err(halted @ RemoveError::Halted { .. }) => return Err(halted),
            Err(error) => swept.kept.push((sibling.path, error)),
        }
    }
    Ok(swept)
}

/// Renames a staging folder away if nobody is at work in it: neither its maker nor a git that outlived its maker.
pub(super) fn set_aside_if_dead(fork: &ForkFolder) -> Result<Option<PathBuf>, RemoveError> {
    let staging = fork.staging();
    let failed = io_error("renamed", &staging);
    let path = forks_lock(fork.home()).map_err(&failed)?;
    let _forks = Lock::take(&path, || Ok(())).map_err(&failed)?;
    match Lock::try_take(&staging.join("lock")) {
        Ok(Some(_ours)) => home::set_aside(fork, &staging, "unmade").map(Some).map_err(failed),
        Ok(None) => Ok(None),
        Err(error) if links::absent(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Undoes one making that was set aside. Everything it changed is taken back unless the fork has a finished folder:
/// then the making had come that far, and only git's link to it is mended.
pub(super) fn take_back(fork: &ForkFolder, unmade: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    if let Some(record) = Record::read(unmade).filter(|record| record.common_dir().is_dir()) {
        let _lock = take_repository(fork, record.common_dir(), limits, watch)?;
        match links::links(&fork.folder()).map_err(io_error("looked at", &fork.folder()))? {
            Links::Moved(_) => mend(fork, record.common_dir(), limits, watch)?,
            _ if fork.folder().symlink_metadata().is_ok() => {}
            _ => take_back_from_git(fork, &record, limits, watch)?,
        }
    }
    step(watch, Step::Delete)?;
    delete_tree(unmade).map_err(|source| RemoveError::LeftInTrash { trash: unmade.to_path_buf(), source })
}

/// Ends a removal: git forgets the folder that was renamed into the trash, then the trash goes.
pub(super) fn finish_removal(fork: &ForkFolder, trash: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let record = links::record_of(trash).map_err(io_error("looked at", trash))?;
    if let Some(common_dir) = record.as_deref().and_then(links::common_dir).filter(|folder| folder.is_dir()) {
        step(watch, Step::Forget)?;
        let _lock = take_repository(fork, common_dir, limits, watch)?;
        forget_gone(fork, common_dir, limits, watch)?;
    }
    step(watch, Step::Delete)?;
    delete_tree(trash).map_err(|source| RemoveError::LeftInTrash { trash: trash.to_path_buf(), source })
}

/// Makes git's record name the place a finished folder was renamed to.
pub(super) fn mend(fork: &ForkFolder, common_dir: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    step(watch, Step::Link)?;
    // Git also looks at every other worktree and fails when one of those is beyond mending; what counts is the link.
    let repaired = change::repair(common_dir, &fork.folder()).run(limits.quick, watch);
    match links::links(&fork.folder()).map_err(io_error("looked at", &fork.folder()))? {
        Links::Whole(_) => Ok(()),
        _ => repaired.map(drop).map_err(RemoveError::from),
    }
}

/// Waits for the repository's lock, no longer than a making may hold it.
fn take_repository(fork: &ForkFolder, common_dir: &Path, limits: Limits, watch: &dyn Watch) -> Result<Lock, RemoveError> {
    let failed = io_error("locked", common_dir);
    let path = repository_lock(fork.home(), common_dir).map_err(&failed)?;
    let started = watch.elapsed();
    let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
    let may_wait = || !watch.cancelled() && watch.elapsed().saturating_sub(started) < limits.making;
    Lock::take(&path, || may_wait().then_some(()).ok_or_else(busy)).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => RemoveError::Busy { repository: common_dir.to_path_buf() },
        _ => failed(error),
    })
}

/// Drops git's records of this fork's places where no folder is. A lock someone put on a record is honoured.
pub(super) fn forget_gone(fork: &ForkFolder, common_dir: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let records = links::all_registered(common_dir).map_err(io_error("looked at", common_dir))?;
    let gone = |one: &Registered| is_ours(fork, one) && one.folder.symlink_metadata().is_err();
    for one in records.into_iter().filter(gone) {
        match one.locked.as_deref() {
            Some(GITS_OWN_LOCK) => drop(change::unlock(common_dir, &one.folder).run(limits.quick, watch)?),
            Some(_) => continue,
            None => {}
        }
        change::forget(common_dir, &one.folder).run(limits.quick, watch)?;
    }
    Ok(())
}

/// Whether a record names the fork's folder or the one it is built in.
pub(super) fn is_ours(fork: &ForkFolder, one: &Registered) -> bool {
    one.folder == fork.staged() || one.folder == fork.folder()
}

fn take_back_from_git(fork: &ForkFolder, record: &Record, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    step(watch, Step::Forget)?;
    drop_half_written(fork, record.common_dir()).map_err(io_error("cleared", record.common_dir()))?;
    forget_gone(fork, record.common_dir(), limits, watch)?;
    if !record.new_branch {
        return Ok(());
    }
    step(watch, Step::DropBranch)?;
    let repository = read::of_git_dir(record.common_dir())?;
    let untouched = repository.branch_tip(&record.branch)?.as_ref() == Some(&record.base);
    if untouched && repository.checked_out_at(&record.branch)?.is_none() {
        change::delete_branch(record.common_dir(), &record.branch, &record.base).run(limits.quick, watch)?;
    }
    Ok(())
}

/// Deletes a record that git had only begun: it has git's own lock and does not say yet which folder it is for, so no
/// git command can name it. Its name is the fork's id, to which git adds digits.
fn drop_half_written(fork: &ForkFolder, common_dir: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(common_dir.join("worktrees")) {
        Ok(entries) => entries,
        Err(error) if links::absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(digits) = name.to_str().and_then(|name| name.strip_prefix(fork.id())) else { continue };
        let record = entry.path();
        let begun = || !record.join("gitdir").exists() && nothing_but_gits_lock(&record);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) && begun() {
            // Only an empty folder goes: whatever else is in it, it is not ours.
            let _ = std::fs::remove_file(record.join("locked"));
            let _ = std::fs::remove_dir(&record);
        }
    }
    Ok(())
}

fn nothing_but_gits_lock(record: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(record) else { return false };
    let only_lock = entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "locked"));
    let words = std::fs::read_to_string(record.join("locked")).unwrap_or_default();
    only_lock && (words.is_empty() || words.trim() == GITS_OWN_LOCK)
}

pub(super) fn step(watch: &mut dyn Watch, step: Step) -> Result<(), RemoveError> {
    if watch.step(step).is_break() { Err(RemoveError::Halted { step }) } else { Ok(()) }
}

/// Gives a system's error its path and what was attempted.
pub(super) fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> RemoveError + use<> {
    let path = path.to_path_buf();
    move |source| RemoveError::Io { doing, path: path.clone(), source }
}
