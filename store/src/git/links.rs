//! The two links of a linked worktree: its `.git` file names git's record of it, and the record's `gitdir` file names
//! the folder. Read here and compared by identity; changed by `git` alone.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::model::WorktreeId;

/// Git's record of a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    /// `<common>/worktrees/<id>`.
    pub(super) record: PathBuf,
    /// Where git thinks the folder is, in git's spelling; it need not exist.
    pub(super) folder: PathBuf,
    /// The words of `git worktree lock`, when locked.
    pub(super) locked: Option<String>,
}

/// How a folder and git's record of it lead to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Links {
    /// The folder has no `.git` file: it is no linked worktree.
    None,
    /// The `.git` file names a record that is gone.
    Dangling,
    /// The record names another place, where nothing is: the folder was moved.
    Moved(Registered),
    /// The record belongs to a folder elsewhere that does exist.
    Foreign(Registered),
    /// Both lead to each other.
    Whole(Registered),
}

/// Reads both links of a folder.
pub(super) fn links(folder: &Path) -> io::Result<Links> {
    let Some(record) = record_of(folder)? else { return Ok(Links::None) };
    let Some(registered) = registered(&record)? else { return Ok(Links::Dangling) };
    if same(&registered.folder, folder) {
        return Ok(Links::Whole(registered));
    }
    match registered.folder.join(".git").symlink_metadata() {
        Ok(_) => Ok(Links::Foreign(registered)),
        Err(error) if absent(&error) => Ok(Links::Moved(registered)),
        Err(error) => Err(error),
    }
}

/// By what a record is told apart from a later one of the same name.
pub(super) fn identity(record: &Path) -> io::Result<WorktreeId> {
    let written = record.join("commondir").metadata()?;
    let stamp = written.mtime().saturating_mul(1_000_000_000).saturating_add(written.mtime_nsec());
    Ok(WorktreeId { record: record.into(), stamp })
}

/// Every record of a repository, in the order of their names. One that is only half written is left out.
pub(super) fn all_registered(common_dir: &Path) -> io::Result<Vec<Registered>> {
    let read = records(common_dir)?.into_iter().map(|record| registered(&record));
    Ok(read.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The folders of all records of a repository, in the order of their names, whatever is in them.
pub(super) fn records(common_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(common_dir.join("worktrees")) {
        Ok(entries) => entries,
        Err(error) if absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut records = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    records.sort();
    Ok(records)
}

/// The repository's shared folder, from a record in it.
pub(super) fn common_dir(record: &Path) -> Option<&Path> {
    record.parent()?.parent()
}

/// The `.git` file's target; nothing when there is no `.git` file, as in a copy or in a main work tree.
pub(super) fn record_of(folder: &Path) -> io::Result<Option<PathBuf>> {
    record_seen_from(folder, folder)
}

/// The same of a folder that was renamed: a relative link starts where it stood.
pub(super) fn record_seen_from(folder: &Path, stood: &Path) -> io::Result<Option<PathBuf>> {
    let dot_git = folder.join(".git");
    match dot_git.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let text = std::fs::read(&dot_git)?;
    Ok(text.strip_prefix(b"gitdir: ").map(|target| stood.join(path(target))))
}

/// Whether two spellings name the same existing folder.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Whether a path is simply not there.
pub(super) fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A path as git writes it into its files: the bytes up to the line's end.
pub(super) fn path(text: &[u8]) -> &Path {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    bytes_path(&text[..end])
}

/// A path from its bytes.
pub(super) fn bytes_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// What a record says; `None` when it is only half written.
pub(super) fn registered(record: &Path) -> io::Result<Option<Registered>> {
    let text = match std::fs::read(record.join("gitdir")) {
        Ok(text) if text.trim_ascii().is_empty() => return Ok(None),
        Ok(text) => text,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // A relative link starts at the record; git since 2.48 writes such when asked to.
    let dot_git = record.join(path(&text));
    let folder = dot_git.parent().unwrap_or(&dot_git).to_path_buf();
    let locked = match std::fs::read(record.join("locked")) {
        Ok(reason) => Some(String::from_utf8_lossy(&reason).trim().to_owned()),
        Err(error) if absent(&error) => None,
        Err(error) => return Err(error),
    };
    Ok(Some(Registered { record: record.to_path_buf(), folder, locked }))
}

/// A folder below another, which is the other itself when nothing is between.
pub(super) fn below(folder: &Path, subfolder: &Path) -> PathBuf {
    if subfolder.as_os_str().is_empty() { folder.to_path_buf() } else { folder.join(subfolder) }
}
