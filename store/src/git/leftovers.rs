//! Taking back what a making that failed or was killed has left, and nothing else.
//!
//! A making writes down what it is about to change before it changes it. What it left is judged by that record and by
//! git's own state, never by guess, and every step may be repeated: it may itself be killed at any point.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change;
use super::delete::delete_tree;
use super::error::RemoveError;
use super::home::{self, OwnFolder, Sibling, SiblingKind};
use super::inventory::settled;
use super::links::{self, Links, Registered};
use super::lock::{Lock, folders_lock, repository_lock};
use super::read;
use super::watch::{Limits, Progress, Step, Watch};

/// The words git locks a record with while it makes it.
const GITS_OWN_LOCK: &str = "initializing";

/// What one making is about to change in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    common_dir: Vec<u8>,
    /// The new folder's branch.
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
        swept.add(sibling, limits, watch)?;
    }
    Ok(swept)
}

impl Swept {
    /// Clears one leftover away.
    pub(super) fn add(&mut self, sibling: Sibling, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        let Sibling { own, path, kind } = sibling;
        let result = match kind {
            SiblingKind::Making => match set_aside_if_dead(&own) {
                Ok(Some(unmade)) => take_back(&own, &unmade, limits, watch),
                Ok(None) => return Ok(()),
                Err(error) => Err(error),
            },
            SiblingKind::Unmade => take_back(&own, &path, limits, watch),
            SiblingKind::Leaving => bring_back(&own, &path, limits, watch),
            SiblingKind::Trash => finish_removal(&own, &path, limits, watch),
        };
        match result {
            Ok(()) => self.removed.push(path),
            Err(halted @ RemoveError::Halted { .. }) => return Err(halted),
            Err(error) => self.kept.push((path, error)),
        }
        Ok(())
    }
}

/// Makes the staging folder and takes its lock, which the maker holds until it ends. None while another is at work in it.
pub(super) fn stage(own: &OwnFolder) -> io::Result<Option<Lock>> {
    let staging = own.staging();
    let _folders = Lock::take(&folders_lock(own.home(), own.folders_lock())?, || io::Result::Ok(()))?;
    home::make_private(own.beside())?;
    match std::fs::create_dir(&staging) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        other => other.and_then(|()| Lock::try_take(&staging.join("lock"))),
    }
}

/// Renames a staging folder away if nobody is at work in it: neither its maker nor a git that outlived its maker.
pub(super) fn set_aside_if_dead(own: &OwnFolder) -> Result<Option<PathBuf>, RemoveError> {
    let staging = own.staging();
    let failed = io_error("renamed", &staging);
    let path = folders_lock(own.home(), own.folders_lock()).map_err(&failed)?;
    let _forks = Lock::take(&path, || Ok(())).map_err(&failed)?;
    match Lock::try_take(&staging.join("lock")) {
        Ok(Some(_ours)) => home::set_aside(own, &staging, "unmade").map(Some).map_err(failed),
        Ok(None) => Ok(None),
        Err(error) if links::absent(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Undoes one making that was set aside. Everything it changed is taken back unless its finished folder is in its place:
/// then the making had come that far, and only git's link to it is mended. What others put there is left as it is.
pub(super) fn take_back(own: &OwnFolder, unmade: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    if let Some(record) = Record::read(unmade).filter(|record| record.common_dir().is_dir()) {
        let _lock = take_repository(own.home(), record.common_dir(), limits, watch)?;
        match links::links(&own.folder()).map_err(io_error("looked at", &own.folder()))? {
            Links::Moved(one) if own.is_ours_alone() || is_ours(own, &one) => mend(own, record.common_dir(), limits, watch)?,
            _ if own.is_ours_alone() && own.folder().symlink_metadata().is_ok() => {}
            _ => take_back_from_git(own, &record, limits, watch)?,
        }
    }
    step(watch, Step::Delete)?;
    delete_tree(unmade).map_err(|source| RemoveError::LeftInTrash { trash: unmade.to_path_buf(), source })
}

/// Renames a folder back that was to be looked at once more before its removal, and never was: nothing was decided.
fn bring_back(own: &OwnFolder, leaving: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let record = links::record_seen_from(leaving, &own.folder()).map_err(io_error("looked at", leaving))?;
    let common_dir = record.as_deref().and_then(links::common_dir).filter(|folder| folder.is_dir());
    // A remover at work holds the repository's lock; what it has dealt with meanwhile is gone from here.
    let _lock = common_dir.map(|common_dir| take_repository(own.home(), common_dir, limits, watch)).transpose()?;
    step(watch, Step::SetAside)?;
    match home::rename_new(leaving, &own.folder()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && leaving.symlink_metadata().is_err() => Ok(()),
        other => other.map_err(io_error("renamed back", leaving)),
    }
}

/// Ends a removal: git forgets the folder that was renamed into the trash, then the trash goes.
pub(super) fn finish_removal(own: &OwnFolder, trash: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let record = links::record_seen_from(trash, &own.folder()).map_err(io_error("looked at", trash))?;
    if let Some(common_dir) = record.as_deref().and_then(links::common_dir).filter(|folder| folder.is_dir()) {
        step(watch, Step::Forget)?;
        let _lock = take_repository(own.home(), common_dir, limits, watch)?;
        forget_gone(own, common_dir, limits, watch)?;
    }
    step(watch, Step::Delete)?;
    delete_tree(trash).map_err(|source| RemoveError::LeftInTrash { trash: trash.to_path_buf(), source })
}

/// Makes git's record name the place a finished folder was renamed to.
pub(super) fn mend(own: &OwnFolder, common_dir: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    step(watch, Step::Link)?;
    // Git also looks at every other worktree and fails when one of those is beyond mending; what counts is the link.
    let repaired = change::repair(common_dir, &own.folder()).run(limits.quick, watch);
    match links::links(&own.folder()).map_err(io_error("looked at", &own.folder()))? {
        Links::Whole(_) => Ok(()),
        _ => repaired.map(drop).map_err(RemoveError::from),
    }
}

/// Waits for the repository's lock, no longer than a making may hold it.
pub(super) fn take_repository(home: &Path, common_dir: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<Lock, RemoveError> {
    let failed = io_error("locked", common_dir);
    let path = repository_lock(home, common_dir).map_err(&failed)?;
    let started = watch.elapsed();
    let mut told = false;
    let may_wait = || {
        if !std::mem::replace(&mut told, true) {
            watch.progress(Progress::Waiting { repository: common_dir.to_path_buf() });
        }
        let goes_on = !watch.cancelled() && watch.elapsed().saturating_sub(started) < limits.making;
        goes_on.then_some(()).ok_or_else(|| io::Error::from(io::ErrorKind::ResourceBusy))
    };
    Lock::take(&path, may_wait).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => RemoveError::Busy { repository: common_dir.to_path_buf() },
        _ => failed(error),
    })
}

/// Drops git's records of this place, and of the one it is built in, where no folder is. A lock that someone else put on
/// a record is honoured.
pub(super) fn forget_gone(own: &OwnFolder, common_dir: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let records = links::all_registered(common_dir).map_err(io_error("looked at", common_dir))?;
    let gone = |one: &Registered| is_ours(own, one) && one.folder.symlink_metadata().is_err();
    for one in records.into_iter().filter(gone) {
        match one.locked.as_deref() {
            Some(words) if words == GITS_OWN_LOCK || own.lock() == Some(words) => {
                drop(change::unlock(common_dir, &one.folder).run(limits.quick, watch)?)
            }
            Some(_) => continue,
            None => {}
        }
        change::forget(common_dir, &one.folder).run(limits.quick, watch)?;
    }
    Ok(())
}

/// Whether a record names the folder or the one it is built in.
pub(super) fn is_ours(own: &OwnFolder, one: &Registered) -> bool {
    let folder = settled(&one.folder);
    folder == own.staged() || folder == own.folder()
}

fn take_back_from_git(own: &OwnFolder, record: &Record, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    step(watch, Step::Forget)?;
    drop_half_written(own, record.common_dir()).map_err(io_error("cleared", record.common_dir()))?;
    forget_gone(own, record.common_dir(), limits, watch)?;
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

/// Deletes a record that git had only begun: it has the lock it is begun with and does not say yet which folder it is for,
/// so no git command can name it. Its name is the folder's, to which git adds digits.
fn drop_half_written(own: &OwnFolder, common_dir: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(common_dir.join("worktrees")) {
        Ok(entries) => entries,
        Err(error) if links::absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(digits) = name.as_bytes().strip_prefix(as_record_name(own.name()).as_slice()) else { continue };
        let record = entry.path();
        let begun = || !record.join("gitdir").exists() && nothing_but_its_lock(own, &record);
        if digits.iter().all(u8::is_ascii_digit) && begun() {
            // Only an empty folder goes: whatever else is in it, it is not ours.
            let _ = std::fs::remove_file(record.join("locked"));
            let _ = std::fs::remove_dir(&record);
        }
    }
    Ok(())
}

/// A folder's name as git makes the name of a record of it: as it would be part of a reference's name.
fn as_record_name(name: &OsStr) -> Vec<u8> {
    let mut made: Vec<u8> = Vec::new();
    for &byte in name.as_bytes() {
        let refused = byte <= b' ' || matches!(byte, 0x7f | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\');
        let second_dot = byte == b'.' && made.last().is_none_or(|last| *last == b'.');
        made.push(if refused || second_dot { b'-' } else { byte });
    }
    made
}

fn nothing_but_its_lock(own: &OwnFolder, record: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(record) else { return false };
    let only_lock = entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "locked"));
    let words = std::fs::read_to_string(record.join("locked")).unwrap_or_default();
    only_lock && (words.is_empty() || words.trim() == GITS_OWN_LOCK || own.lock() == Some(words.trim()))
}

pub(super) fn step(watch: &mut dyn Watch, step: Step) -> Result<(), RemoveError> {
    if watch.step(step).is_break() { Err(RemoveError::Halted { step }) } else { Ok(()) }
}

/// Gives a system's error its path and what was attempted.
pub(super) fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> RemoveError + use<> {
    let path = path.to_path_buf();
    move |source| RemoveError::Io { doing, path: path.clone(), source }
}
