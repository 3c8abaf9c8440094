//! Deleting a folder that was renamed out of the way, without following a link and whatever its modes are.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::beside::mounted_below;

/// Deletes all of a folder, unless something else is mounted in it, which would be emptied. Gone already is done.
pub(super) fn delete_tree(folder: &Path) -> io::Result<()> {
    if let Some(mount) = mounted_below(folder)?.first() {
        return Err(io::Error::other(format!("something is mounted at `{}`", mount.display())));
    }
    match delete(folder) {
        // A folder its owner may not write cannot be emptied, so those are opened up first.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder)?;
            delete(folder)
        }
        other => other,
    }
}

/// The standard library opens every folder relative to its parent and never through a link.
fn delete(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open_up(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let metadata = folder.symlink_metadata()?;
        if !metadata.is_dir() {
            continue;
        }
        if metadata.mode() & 0o700 != 0o700 {
            std::fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        }
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
