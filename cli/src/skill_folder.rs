//! Reading a folder that is to become a skill: what lies in it, with the rights of whoever runs the command. Nothing is followed
//! out of it, and no more is read than a skill may have. What of it may become one is the node's to say.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use frith_actors::api::skill::Add;
use frith_store::{
    model::{FolderEntry, Found},
    refusal::{FolderFault, Refusal, SKILL_FILE_MOST, SKILL_FILES_MOST},
    text::PathText,
};

use crate::failure::{Failure, Told};

/// How deep folders are looked into: deeper ones are no paths of a skill.
const DEPTH_MOST: usize = 16;

/// What lies in a folder. It ends with the first file that is one too many.
///
/// # Errors
/// It is no folder, or something in it cannot be read.
pub fn read(folder: &Path) -> Result<Add, Failure> {
    let shown = PathText::from(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).as_path());
    let bad = |fault| Failure::Refused(Box::new(Refusal::BadFolder { path: shown.clone(), fault }));
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(bad(FolderFault::NotAFolder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(bad(FolderFault::Gone)),
        Err(_) => return Err(bad(FolderFault::Unreadable)),
    }
    let mut reader = Reader { root: folder, entries: Vec::new(), files: 0 };
    reader.walk(&PathBuf::new(), DEPTH_MOST).map_err(|(path, error)| {
        Failure::Broken(
            Told::because(format!("`{}` cannot be read", path.display()), &error).hint("make it readable, or take it out of the folder"),
        )
    })?;
    Ok(Add { folder: shown, entries: reader.entries })
}

struct Reader<'a> {
    root: &'a Path,
    entries: Vec<FolderEntry>,
    files: usize,
}

impl Reader<'_> {
    fn walk(&mut self, below: &Path, depth: usize) -> Result<(), (PathBuf, io::Error)> {
        let folder = self.root.join(below);
        let at_folder = |error| (folder.clone(), error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(at_folder)? {
            names.push(entry.map_err(at_folder)?.file_name());
        }
        names.sort();
        for name in names {
            if self.files > SKILL_FILES_MOST {
                break;
            }
            let path = below.join(&name);
            if name.as_encoded_bytes().starts_with(b".") {
                self.add(&path, Found::Hidden);
                continue;
            }
            let whole = self.root.join(&path);
            let metadata = fs::symlink_metadata(&whole).map_err(|error| (whole.clone(), error))?;
            match metadata.file_type() {
                kind if kind.is_dir() && depth > 0 => self.walk(&path, depth - 1)?,
                kind if kind.is_symlink() => self.add(&path, Found::Link),
                kind if kind.is_file() => self.add_file(&path, &whole)?,
                _ => self.add(&path, Found::Special),
            }
        }
        Ok(())
    }

    /// Opens what was seen to be a file, and looks again: a link or a FIFO that took its place is not followed or waited for.
    fn add_file(&mut self, path: &Path, whole: &Path) -> Result<(), (PathBuf, io::Error)> {
        let failed = |error| (whole.to_owned(), error);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(whole).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            self.add(path, Found::Special);
            return Ok(());
        }
        let mut bytes = Vec::new();
        // One byte more than is accepted, so that the node says that it is too long.
        file.take(SKILL_FILE_MOST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        self.files += 1;
        self.add(path, Found::File { bytes, executable: metadata.mode() & 0o100 != 0 });
        Ok(())
    }

    fn add(&mut self, path: &Path, found: Found) {
        self.entries.push(FolderEntry { path: path.into(), found });
    }
}
