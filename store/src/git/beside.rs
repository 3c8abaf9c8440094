//! What a folder may hold that neither its commits nor its status tell of, and that would go with it: other file systems that are
//! mounted in it, and edits that git was told to look away from.

use std::io;
use std::path::{Path, PathBuf};

use gix::index::entry::Flags;

use super::error::ReadError;
use super::links;
use super::read::{Repository, unreadable};

/// Where other file systems, or folders of this one, are mounted in a folder.
pub(super) fn mounted_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    // A mount is told under its real path.
    let folder = match folder.canonicalize() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut mounts = platform::mounts(&folder)?;
    mounts.retain(|mount| mount != &folder && mount.starts_with(&folder));
    Ok(mounts)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::io;
    use std::path::{Path, PathBuf};

    use super::super::links::bytes_path;

    /// Every mount of this process. Two folders of one file system may be mounted into each other, which no device number tells.
    pub(super) fn mounts(_folder: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(points(&std::fs::read("/proc/self/mountinfo")?))
    }

    /// The fifth word of each line, in which spaces and the like stand as a backslash and three octal digits.
    pub(super) fn points(table: &[u8]) -> Vec<PathBuf> {
        let lines = table.split(|byte| *byte == b'\n');
        let words = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
        words.map(|word| bytes_path(&plain(word)).to_path_buf()).collect()
    }

    fn plain(mut word: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(word.len());
        while let Some((first, rest)) = word.split_first() {
            let digits = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let escaped = digits.filter(|_| *first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
            out.push(escaped.unwrap_or(*first));
            word = if escaped.is_some() { &rest[3..] } else { rest };
        }
        out
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    /// The folders below one that are on another device: where nothing but whole file systems can be mounted, that is all.
    pub(super) fn mounts(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let device = folder.symlink_metadata()?.dev();
        let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    continue;
                }
                let is_other = entry.metadata()?.dev() != device;
                if is_other { found.push(entry.path()) } else { folders.push(entry.path()) }
            }
        }
        Ok(found)
    }
}

/// Tracked files that differ from the index although git was told to take them for unchanged, or to leave them out: status says
/// nothing of them. What is left out and not there is no edit.
pub(super) fn hidden_edits(repository: &Repository) -> Result<Vec<PathBuf>, ReadError> {
    let (gix, Some(top)) = (repository.gix(), repository.top()) else { return Ok(Vec::new()) };
    let index = gix.index_or_empty().map_err(|error| unreadable(top, error))?;
    let hidden = index.entries().iter().filter(|entry| entry.flags.intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE));
    let mut edits = Vec::new();
    for entry in hidden {
        let below = links::bytes_path(entry.path(&index)).to_path_buf();
        let Some(content) = content_of(&top.join(&below))? else { continue };
        let id = gix::objs::compute_hash(gix.object_hash(), gix::objs::Kind::Blob, &content);
        if id.is_ok_and(|id| id == entry.id) {
            continue;
        }
        edits.push(below);
    }
    Ok(edits)
}

/// What git would keep of a file or a link; nothing of what is not there, or is a folder.
fn content_of(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    use std::os::unix::ffi::OsStrExt as _;
    let failed = |source| ReadError::Unreadable { path: path.to_path_buf(), source };
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => std::fs::read(path).map(Some).map_err(failed),
        Ok(found) if found.is_symlink() => {
            let target = std::fs::read_link(path).map_err(failed)?;
            Ok(Some(target.as_os_str().as_bytes().to_vec()))
        }
        Ok(_) => Ok(None),
        Err(error) if links::absent(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_told_under_their_plain_names() {
        let table = b"36 35 98:0 / / rw - ext4 /dev/sda rw\n40 36 98:0 /x /w/a\\040b/c rw,noatime shared:1 - ext4 /dev/sda rw\n\n";
        assert_eq!(platform::points(table), [PathBuf::from("/"), PathBuf::from("/w/a b/c")]);
    }

    #[test]
    fn nothing_is_mounted_in_a_fresh_folder_and_something_is_in_the_top_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(mounted_below(folder.path()).unwrap(), Vec::<PathBuf>::new());
        assert!(!mounted_below(Path::new("/")).unwrap().is_empty());
        assert_eq!(mounted_below(&folder.path().join("gone")).unwrap(), Vec::<PathBuf>::new());
    }
}
