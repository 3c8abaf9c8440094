//! The door to the files by which a host in an agent's folder is told what it may do. Everything here blocks.
//!
//! A file is named by its path below the folder, and nothing outside the folder is ever read or written.

use std::{io, path::Path};

/// Files of hosts in agents' folders.
pub trait HostFiles: Send + Sync {
    /// The text of a file; none when it is not there.
    ///
    /// # Errors
    /// It cannot be read, is no text, or lies outside the folder.
    fn read(&self, folder: &Path, file: &str) -> io::Result<Option<String>>;

    /// Replaces a file whole, or makes it, readable by this user alone. Answers whether a folder was made for it.
    ///
    /// # Errors
    /// It cannot be written, or lies outside the folder.
    fn write(&self, folder: &Path, file: &str, text: &str) -> io::Result<bool>;

    /// Takes a file away, and the folder it is in when that is empty and `and_folder` says so.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&self, folder: &Path, file: &str, and_folder: bool) -> io::Result<()>;

    /// Whether the repository has committed a file: a change to it would be shown, and committed with the next.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn is_committed(&self, folder: &Path, file: &str) -> io::Result<bool>;

    /// Has git pass over a file that it does not know, in this repository only and in no file that is committed.
    ///
    /// # Errors
    /// The repository's own list cannot be written.
    fn keep_out_of_git(&self, folder: &Path, file: &str) -> io::Result<()>;
}
