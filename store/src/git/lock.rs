//! Locks between processes: an advisory lock on a file of its own, given back by the system when its holder dies.
//!
//! The files stay; an empty file costs less than the races of deleting one that another process waits on.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// A held lock. Dropping it gives it back; if this process dies instead, it is given back once every child process that
/// was given its file has ended too.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock if nobody holds it; waits for nobody.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self { file })),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes the lock as soon as it is free. `wait` is asked before each further try; its error ends the waiting.
    pub(super) fn take<E: From<io::Error>>(path: &Path, mut wait: impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            wait()?;
            super::watch::pause(Duration::from_millis(5));
        }
    }

    /// The locked file for a child process, whose life then holds the lock too.
    pub(super) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a process that another thread is just starting may have it open for a moment more.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// The lock of a repository: one file for all its worktrees, whichever of them a call starts from.
pub(super) fn repository_lock(home: &Path, common_dir: &Path) -> io::Result<PathBuf> {
    let hash = blake3::hash(common_dir.as_os_str().as_bytes()).to_hex();
    Ok(locks(home)?.join(format!("repository-{}", &hash[..16])))
}

/// The lock of the folders that hold all forks, or all worktrees, held only while a staging folder is made, judged or
/// renamed.
pub(super) fn folders_lock(home: &Path, of: &str) -> io::Result<PathBuf> {
    Ok(locks(home)?.join(of))
}

fn locks(home: &Path) -> io::Result<PathBuf> {
    let folder = home.join("locks");
    super::home::make_private(&folder)?;
    Ok(folder)
}
