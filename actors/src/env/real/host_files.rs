//! The real files of hosts, on this machine's disk.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use frith_store::git::read;

use crate::env::host_files::HostFiles;

/// The most bytes of such a file; no person keeps a larger one.
const FILE_MOST: u64 = 1024 * 1024;

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl HostFiles for Disk {
    fn read(&self, folder: &Path, file: &str) -> io::Result<Option<String>> {
        let Some(path) = found(folder, file)? else { return Ok(None) };
        let opened = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
        let facts = opened.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if facts.len() > FILE_MOST {
            return Err(io::Error::other(format!("it has more than {FILE_MOST} bytes")));
        }
        let mut text = String::new();
        opened.take(FILE_MOST).read_to_string(&mut text)?;
        Ok(Some(text))
    }

    fn write(&self, folder: &Path, file: &str, text: &str) -> io::Result<bool> {
        let path = match found(folder, file)? {
            Some(path) => path,
            None => folder.join(file),
        };
        let above = path.parent().unwrap_or(folder);
        let made = !above.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(above)?;
        require_within(folder, above)?;
        replace(&path, text)?;
        Ok(made)
    }

    fn remove(&self, folder: &Path, file: &str, and_folder: bool) -> io::Result<()> {
        let Some(path) = found(folder, file)? else { return Ok(()) };
        fs::remove_file(&path)?;
        if and_folder && let Some(above) = path.parent().filter(|above| *above != folder) {
            // One that something else was put into stays.
            let _ = fs::remove_dir(above);
        }
        Ok(())
    }

    fn is_committed(&self, folder: &Path, file: &str) -> io::Result<bool> {
        let Some((repository, path)) = in_repository(folder, file)? else { return Ok(false) };
        Ok(repository.committed(&path).map_err(io::Error::other)?.is_some())
    }

    fn keep_out_of_git(&self, folder: &Path, file: &str) -> io::Result<()> {
        let Some((repository, path)) = in_repository(folder, file)? else { return Ok(()) };
        let line = format!("/{}", escaped(&path.to_string_lossy()));
        let list = repository.common_dir().join("info/exclude");
        // Bytes, since paths of others in it may be of any encoding.
        let known = match fs::read(&list) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        if known.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes()) {
            return Ok(());
        }
        if let Some(above) = list.parent() {
            fs::create_dir_all(above)?;
        }
        let gap = if known.is_empty() || known.ends_with(b"\n") { "" } else { "\n" };
        OpenOptions::new().create(true).append(true).open(list)?.write_all(format!("{gap}{line}\n").as_bytes())
    }
}

/// The repository that a folder is in, and the path of one of its files there; none outside every repository.
fn in_repository(folder: &Path, file: &str) -> io::Result<Option<(read::Repository, PathBuf)>> {
    let Some(repository) = read::find(folder).map_err(io::Error::other)? else { return Ok(None) };
    let folder = folder.canonicalize()?;
    let Some(top) = repository.top().map(Path::canonicalize).transpose()? else { return Ok(None) };
    let below = folder.strip_prefix(top).map(|below| below.join(file)).ok();
    Ok(below.map(|path| (repository, path)))
}

/// Where a file below a folder really is, links followed; none when it is not there.
fn found(folder: &Path, file: &str) -> io::Result<Option<PathBuf>> {
    match folder.join(file).canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(path) => require_within(folder, &path).map(|()| Some(path)),
    }
}

/// A repository may come with a link that leads elsewhere: what is there is not the agent's.
fn require_within(folder: &Path, path: &Path) -> io::Result<()> {
    let (folder, path) = (folder.canonicalize()?, path.canonicalize()?);
    if path.starts_with(folder) { Ok(()) } else { Err(io::Error::other(format!("it leads to `{}`, outside the folder", path.display()))) }
}

/// Writes beside the file and renames over it, so that nobody reads half of it. One that was there keeps its mode.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.frith-new"));
    let mode = fs::metadata(path).map(|facts| facts.permissions()).ok();
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| mode.map_or(Ok(()), |mode| file.set_permissions(mode)));
    let done = written.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // What was written beside it is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// A path as a line of git's list, in which some characters stand for others.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for character in path.chars() {
        if matches!(character, '\\' | '*' | '?' | '[' | ' ' | '!' | '#') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_made_private_and_keeps_its_mode_and_goes_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = ".host/settings.json";
        assert_eq!(Disk.read(folder.path(), file).unwrap(), None);
        assert!(Disk.write(folder.path(), file, "one").unwrap());
        let path = folder.path().join(file);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!Disk.write(folder.path(), file, "two").unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(Disk.read(folder.path(), file).unwrap().as_deref(), Some("two"));
        Disk.remove(folder.path(), file, true).unwrap();
        assert!(!folder.path().join(".host").exists());
    }

    #[test]
    fn a_link_that_leads_out_of_the_folder_is_followed_by_nobody() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("settings.json"), "{}").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".host")).unwrap();
        for file in [".host/settings.json", ".host/new.json"] {
            let fault = Disk.write(folder.path(), file, "{\"a\": 1}").unwrap_err().to_string();
            assert!(fault.contains("outside the folder"), "{fault}");
        }
        assert_eq!(fs::read_to_string(elsewhere.path().join("settings.json")).unwrap(), "{}");
        assert!(!elsewhere.path().join("new.json").exists());
    }

    #[test]
    fn a_path_with_signs_of_gits_own_is_meant_as_it_is() {
        assert_eq!(escaped("a b/[x]*.json"), "a\\ b/\\[x]\\*.json");
    }
}
