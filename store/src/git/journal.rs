//! Which worktrees are being made, removed or locked anew just now, written under FRITH_HOME before anything is changed.
//!
//! Worktrees stand anywhere on the machine. A call that was killed leaves its line here, and by it the next one finds what
//! to finish or to take back; without a line nothing is looked for, and nothing is ever found by guess.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::home::{self, OwnFolder};
use super::links;
use super::lock::{Lock, folders_lock};

/// What a call is about to do with a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    /// It is made.
    Making,
    /// It is removed, or a folder in it is.
    Removing,
    /// The words of its lock are replaced: the old ones are given back unless the new ones are there, or the worktree is
    /// another one by now than that which was made at `stamp`.
    Relocking { stamp: i64 },
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    place: Vec<u8>,
    doing: Doing,
    lock: Option<String>,
}

impl Entry {
    fn new(own: &OwnFolder, doing: Doing) -> Self {
        Self { place: own.folder().as_os_str().as_bytes().to_vec(), doing, lock: own.lock().map(str::to_owned) }
    }
}

/// Writes down what is about to be done, before it is. `false` when another call is making a worktree at this place: what
/// that one wrote down stays.
pub(super) fn note(own: &OwnFolder, doing: Doing) -> io::Result<bool> {
    let _folders = lock(own.home(), own)?;
    if own.staging().symlink_metadata().is_ok() {
        return Ok(false);
    }
    let file = file(own)?;
    let bytes = postcard::to_stdvec(&Entry::new(own, doing)).map_err(io::Error::other)?;
    let new = file.with_extension("new");
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, &file)?;
    Ok(true)
}

/// Takes the line away once nothing of the call is left. One that another call wrote over it stays.
pub(super) fn close(own: &OwnFolder, doing: Doing) -> io::Result<()> {
    let _folders = lock(own.home(), own)?;
    if !own.siblings()?.is_empty() {
        return Ok(());
    }
    let file = file(own)?;
    let others = lines(own.home())?.into_iter().any(|(other, _)| other.beside() == own.beside() && other.folder() != own.folder());
    if !others {
        // What is not empty is another's, who knows nothing of this journal.
        let _ = std::fs::remove_dir(own.beside());
    }
    if read(&file).is_none_or(|entry| entry == Entry::new(own, doing)) {
        match std::fs::remove_file(&file) {
            Err(error) if !links::absent(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Every line, as the place it is about and what was to be done there, in the order of their files.
pub(super) fn lines(home: &Path) -> io::Result<Vec<(OwnFolder, Doing)>> {
    let entries = match std::fs::read_dir(folder(home)) {
        Ok(entries) => entries,
        Err(error) if links::absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_none());
    files.sort();
    Ok(files.iter().filter_map(|file| line(home, file)).collect())
}

/// What was written down about one place.
pub(super) fn line_of(own: &OwnFolder) -> io::Result<Option<(OwnFolder, Doing)>> {
    Ok(line(own.home(), &file(own)?))
}

fn line(home: &Path, file: &Path) -> Option<(OwnFolder, Doing)> {
    let entry = read(file)?;
    let own = OwnFolder::worktree(home, links::bytes_path(&entry.place))?.with_lock(entry.lock);
    Some((own, entry.doing))
}

/// Half a line is none: it is renamed to its name when it is whole, before anything is changed.
fn read(file: &Path) -> Option<Entry> {
    postcard::from_bytes(&std::fs::read(file).ok()?).ok()
}

fn file(own: &OwnFolder) -> io::Result<PathBuf> {
    let folder = folder(own.home());
    home::make_private(&folder)?;
    let hash = blake3::hash(own.folder().as_os_str().as_bytes()).to_hex();
    Ok(folder.join(&hash[..32]))
}

fn folder(home: &Path) -> PathBuf {
    home.join("worktrees")
}

fn lock(home: &Path, own: &OwnFolder) -> io::Result<Lock> {
    Lock::take(&folders_lock(home, own.folders_lock())?, || Ok(()))
}
