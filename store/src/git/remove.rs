//! Removing a fork's folder: only in the state it was seen in after its agent's confirmed stop, and only by a rename.
//!
//! The check comes before the rename and again after it, when nobody can find the folder by its name any more; a
//! change in between brings it back. The branch stays. Nothing is deleted through a link.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change;
use super::error::RemoveError;
use super::home::{self, ForkFolder, SiblingKind};
use super::leftovers::{finish_removal, io_error, step};
use super::links::{self, Links, Registered};
use super::read::{self, Head};
use super::watch::{Limits, Step, Watch};

/// How many changed paths are named.
const NAMED: usize = 8;

/// What stands at a fork's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FolderKind {
    /// Nothing.
    Gone,
    /// A worktree that git knows.
    Worktree,
    /// A folder of files.
    Copy,
}

/// A folder as it was at one moment: small, whatever the folder's size, and equal only if nothing was written since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderState {
    kind: FolderKind,
    commit: Option<String>,
    branch: Option<String>,
    index: [u8; 32],
    entries: u64,
    digest: [u8; 32],
    /// The latest change of any entry, as the file system dates it: seconds and nanoseconds.
    newest: (i64, i64),
}

impl FolderState {
    /// What stood there.
    pub fn kind(&self) -> FolderKind {
        self.kind
    }

    /// How many files, folders and links were in it.
    pub fn entries(&self) -> u64 {
        self.entries
    }
}

/// A fork's folder that is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub folder: PathBuf,
    /// What it was; `Gone` when it had been removed before.
    pub kind: FolderKind,
    /// The fork's branch, which is kept, without `refs/heads/`, and its tip in hex. None for a copy.
    pub branch: Option<(String, String)>,
}

/// Looks at a fork's folder, ignored files included: mode, size and times of every entry, and git's `HEAD` and index.
/// No file is read.
pub fn seen(fork: &ForkFolder) -> Result<FolderState, RemoveError> {
    let folder = fork.folder();
    match standing(&folder)? {
        None => Ok(FolderState {
            kind: FolderKind::Gone,
            commit: None,
            branch: None,
            index: [0; 32],
            entries: 0,
            digest: [0; 32],
            newest: (0, 0),
        }),
        Some(registered) => seen_at(&folder, registered.as_ref()),
    }
}

/// Removes a fork's folder if it still is as it was seen. Gone already is done.
pub fn remove(fork: &ForkFolder, state: &FolderState, limits: Limits, watch: &mut dyn Watch) -> Result<Removed, RemoveError> {
    let folder = fork.folder();
    let Some(registered) = standing(&folder)? else {
        end_earlier_removals(fork, limits, watch)?;
        return Ok(Removed { folder, kind: FolderKind::Gone, branch: None });
    };
    refuse_changed(&folder, &folder, registered.as_ref(), state)?;
    if let Some(registered) = &registered {
        refuse_loss(&folder, registered, limits, watch)?;
    }
    let branch = registered.as_ref().map(|one| tip(fork, one)).transpose()?.flatten();
    step(watch, Step::SetAside)?;
    let trash = home::set_aside(fork.own(), &folder, "trash").map_err(io_error("renamed", &folder))?;
    if let Err(changed) = refuse_changed(&folder, &trash, registered.as_ref(), state) {
        home::rename_new(&trash, &folder).map_err(io_error("renamed back", &trash))?;
        return Err(changed);
    }
    finish_removal(fork.own(), &trash, limits, watch)?;
    Ok(Removed { folder, kind: state.kind, branch })
}

/// Finishes what an earlier removal of this fork began.
fn end_earlier_removals(fork: &ForkFolder, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let siblings = fork.siblings().map_err(io_error("listed", &fork.forks()))?;
    for trash in siblings.into_iter().filter(|one| one.kind == SiblingKind::Trash) {
        finish_removal(fork.own(), &trash.path, limits, watch)?;
    }
    Ok(())
}

/// `None` when nothing is there; else git's record of it, when git has one.
#[expect(clippy::option_option, reason = "whether there is a folder, and whether git knows it, are two questions")]
fn standing(folder: &Path) -> Result<Option<Option<Registered>>, RemoveError> {
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(RemoveError::NotAFolder { path: folder.to_path_buf() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("looked at", folder)(error)),
    }
    Ok(Some(match links::links(folder).map_err(io_error("looked at", folder))? {
        Links::Whole(registered) | Links::Moved(registered) => Some(registered),
        Links::None | Links::Dangling | Links::Foreign(_) => None,
    }))
}

pub(super) fn refuse_changed(folder: &Path, at: &Path, registered: Option<&Registered>, state: &FolderState) -> Result<(), RemoveError> {
    let now = seen_at(at, registered)?;
    if now == *state {
        return Ok(());
    }
    let mut what = Vec::new();
    if now.kind != state.kind {
        what.push("it was made anew".to_owned());
    }
    if (&now.commit, &now.branch) != (&state.commit, &state.branch) {
        what.push(format!("HEAD is now at {}", now.commit.as_deref().unwrap_or("no commit")));
    }
    if now.index != state.index {
        what.push("something was staged".to_owned());
    }
    if now.digest != state.digest {
        what.extend(newer_than(at, state.newest)?);
    }
    what.truncate(NAMED);
    Err(RemoveError::Changed { folder: folder.to_path_buf(), what })
}

/// What a person could not get back from the branch: a lock says someone wants it kept, and a commit on no branch would
/// be git's to collect.
fn refuse_loss(folder: &Path, registered: &Registered, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    if let Some(reason) = registered.locked.clone() {
        return Err(RemoveError::Locked { folder: folder.to_path_buf(), reason });
    }
    let Head::Detached { commit } = read::of_git_dir(&registered.record)?.head()? else { return Ok(()) };
    let common_dir = links::common_dir(&registered.record).unwrap_or(&registered.record);
    if change::reference_with(common_dir, &commit).run(limits.quick, watch)?.is_empty() {
        return Err(RemoveError::DetachedWork { folder: folder.to_path_buf(), commit });
    }
    Ok(())
}

fn tip(fork: &ForkFolder, registered: &Registered) -> Result<Option<(String, String)>, RemoveError> {
    let tip = read::of_git_dir(&registered.record)?.branch_tip(&fork.branch())?;
    Ok(tip.map(|tip| (fork.branch(), tip)))
}

pub(super) fn seen_at(folder: &Path, registered: Option<&Registered>) -> Result<FolderState, RemoveError> {
    let mut state = walked(folder)?;
    if let Some(registered) = registered {
        let repository = read::of_git_dir(&registered.record)?;
        let head = repository.head()?;
        state.kind = FolderKind::Worktree;
        state.commit = head.commit().map(str::to_owned);
        state.branch = if let Head::Branch { name, .. } = head { Some(name) } else { None };
        state.index = repository.index_digest()?;
    }
    Ok(state)
}

fn walked(folder: &Path) -> Result<FolderState, RemoveError> {
    let mut hash = blake3::Hasher::new();
    let (mut entries, mut newest) = (0, (0, 0));
    walk(folder, |path, metadata| {
        entries += 1;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        newest = newest.max(changed);
        hash.update(path.as_os_str().as_bytes()).update(&[0]);
        for number in [metadata.mtime(), metadata.mtime_nsec(), changed.0, changed.1] {
            hash.update(&number.to_le_bytes());
        }
        for number in [metadata.ino(), metadata.size(), metadata.mode().into()] {
            hash.update(&number.to_le_bytes());
        }
    })
    .map_err(io_error("looked at", folder))?;
    let digest = *hash.finalize().as_bytes();
    Ok(FolderState { kind: FolderKind::Copy, commit: None, branch: None, index: [0; 32], entries, digest, newest })
}

/// The paths changed after a moment. A deletion shows as a change of the folder it was in.
fn newer_than(folder: &Path, moment: (i64, i64)) -> Result<Vec<String>, RemoveError> {
    let mut newer = Vec::new();
    walk(folder, |path, metadata| {
        if newer.len() < NAMED && (metadata.ctime(), metadata.ctime_nsec()) > moment {
            newer.push(format!("`{}`", path.display()));
        }
    })
    .map_err(io_error("looked at", folder))?;
    if newer.is_empty() {
        newer.push("a file in it".to_owned());
    }
    Ok(newer)
}

/// Visits every entry below a folder, in the order of names, with its path from there. The folder itself counts by its
/// modification time alone, as an empty path would: a rename of it changes the rest.
fn walk(folder: &Path, mut visit: impl FnMut(&Path, &std::fs::Metadata)) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let mut entries = std::fs::read_dir(folder.join(&below))?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let metadata = entry.metadata()?;
            let path = below.join(entry.file_name());
            visit(&path, &metadata);
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}
