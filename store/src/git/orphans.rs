//! Folders that git has forgotten: beside known worktrees, with a `.git` file that names a record of this repository which is
//! gone. They are found and named here; nothing is ever guessed to be one, and nothing is deleted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::links::{self, absent};

/// The orphans of a repository whose checkouts are known, in the order of their paths.
pub(super) fn find(common_dir: &Path, main: Option<&Path>, known: &BTreeSet<&Path>) -> Vec<PathBuf> {
    let beside = known.iter().filter_map(|path| path.parent().map(Path::to_path_buf));
    let within = main.map(|main| main.join(".claude/worktrees"));
    let searched: BTreeSet<PathBuf> = beside.chain(within.filter(|folder| folder.is_dir())).collect();
    let mut found = BTreeSet::new();
    for folder in searched {
        // A folder that may not be listed hides only what nobody could have listed.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        found.extend(folders.filter(|path| !known.contains(path.as_path()) && is_orphan(common_dir, path)));
    }
    found.into_iter().collect()
}

/// Whether a folder's `.git` file names a record of this repository that is not there.
pub(super) fn is_orphan(common_dir: &Path, folder: &Path) -> bool {
    let Ok(Some(record)) = links::record_of(folder) else { return false };
    let Some(records) = record.parent() else { return false };
    let gone = record.symlink_metadata().is_err_and(|error| absent(&error));
    // Git deletes `worktrees` with the last record in it, so only the folder around it is sure to be there.
    gone && records.file_name() == Some("worktrees".as_ref()) && records.parent().is_some_and(|common| links::same(common, common_dir))
}
