//! What would be lost of submodules with the worktree around them: git keeps a submodule's whole repository in the record of
//! its linked worktree, so commits that were never pushed go when that does. Nothing here changes anything.

use std::path::Path;

use super::error::ReadError;
use super::read::{self, Repository};

/// How many submodules, those in submodules counted, have a commit that is on no branch of a remote. One that cannot be read
/// counts, because nobody knows.
pub(super) fn unpushed(repository: &Repository) -> Result<usize, ReadError> {
    let Some(top) = repository.top() else { return Ok(0) };
    let mut count = 0;
    for path in repository.submodules()? {
        let folder = top.join(path);
        if folder.join(".git").symlink_metadata().is_ok() {
            count += within(&folder).unwrap_or_else(|error| {
                tracing::debug!(path = %folder.display(), %error, "a submodule cannot be read");
                1
            });
        }
    }
    Ok(count)
}

fn within(folder: &Path) -> Result<usize, ReadError> {
    let submodule = read::of_work_tree(folder)?;
    Ok(usize::from(submodule.has_unpushed()?) + unpushed(&submodule)?)
}
