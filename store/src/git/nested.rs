//! Which other checkouts stand inside one: a removal takes whole folders, and no status of the outer one tells of them.
//!
//! Folders are only listed, and links are not followed. A submodule that the index names is part of the checkout around it;
//! anything else with a `.git` is somebody's work, whatever git ignores. Nothing here changes anything.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::links::absent;
use super::read;

/// The topmost folders with a `.git` of their own inside a checkout, from its top. `submodules` are those its index names,
/// and those of its submodules come to be in it. One that cannot be opened has none, so that what is in it counts.
pub(super) fn within(top: &Path, submodules: &mut BTreeSet<PathBuf>) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let is_top = folder.as_os_str().is_empty();
        let at = top.join(&folder);
        let (mut below, mut has_git) = (Vec::new(), false);
        let entries = match std::fs::read_dir(&at) {
            // Whatever was deleted meanwhile is not there.
            Err(error) if absent(&error) && !is_top => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name() == ".git" {
                has_git = true;
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(folder.join(entry.file_name()));
            }
        }
        if has_git && !is_top {
            if !submodules.contains(&folder) {
                found.push(folder);
                continue;
            }
            let inner = read::of_work_tree(&at).and_then(|submodule| submodule.submodules()).unwrap_or_default();
            submodules.extend(inner.into_iter().map(|inner| folder.join(inner)));
        }
        folders.append(&mut below);
    }
    found.sort();
    Ok(found)
}
