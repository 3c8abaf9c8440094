//! The lock of a home: whoever holds it is its node. It is the kernel's, so it ends with its process, whatever number
//! another process gets later.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::OFlags;

use super::LocalError;

/// The lock of a home, held.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
}

/// Whether the lock was to be had.
#[derive(Debug)]
pub enum Locked {
    /// It is ours.
    Ours(HomeLock),
    /// Another process has it; its number as it wrote it down, for people only.
    Taken(Option<u32>),
}

impl HomeLock {
    /// Takes the lock of a node, if it is free.
    ///
    /// # Errors
    /// The lock file cannot be opened.
    pub fn take(home: &Path) -> Result<Locked, LocalError> {
        Self::take_file(&home.join("node.lock"))
    }

    /// Takes the lock under which a process starts a node for others, if it is free.
    ///
    /// # Errors
    /// The lock file cannot be opened.
    pub fn take_to_start(home: &Path) -> Result<Locked, LocalError> {
        Self::take_file(&home.join("start.lock"))
    }

    /// Whether the file of the lock that is held is the one that the next node would look at.
    pub fn is_of(&self, home: &Path) -> bool {
        let there = std::fs::symlink_metadata(home.join("node.lock"));
        let same = |there: &std::fs::Metadata, held: &std::fs::Metadata| (there.dev(), there.ino()) == (held.dev(), held.ino());
        there.is_ok_and(|there| self.file.metadata().is_ok_and(|held| same(&there, &held)))
    }

    fn take_file(path: &Path) -> Result<Locked, LocalError> {
        let failed = |error| LocalError::io(path, "locked", error);
        let mut file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                note_owner(&mut file).map_err(failed)?;
                Ok(Locked::Ours(Self { file }))
            }
            Err(TryLockError::WouldBlock) => Ok(Locked::Taken(owner(&mut file))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("no ordinary file")) }
}

fn note_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e08_a_lock_file_naming_a_live_process_locks_nothing() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("node.lock"), "1").unwrap();
        assert!(matches!(HomeLock::take(home.path()).unwrap(), Locked::Ours(_)));
    }

    #[test]
    fn e10_a_second_node_is_told_who_has_the_lock_and_takes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let Locked::Ours(first) = HomeLock::take(home.path()).unwrap() else { panic!("it was free") };
        assert!(matches!(HomeLock::take(home.path()).unwrap(), Locked::Taken(Some(pid)) if pid == std::process::id()));
        assert!(matches!(HomeLock::take_to_start(home.path()).unwrap(), Locked::Ours(_)));
        drop(first);
        assert!(matches!(HomeLock::take(home.path()).unwrap(), Locked::Ours(_)));
    }

    #[test]
    fn g03_a_lock_file_that_is_a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let victim = home.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, home.path().join("node.lock")).unwrap();
        assert!(HomeLock::take(home.path()).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
