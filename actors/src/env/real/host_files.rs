//! The real files of hosts, on this machine's disk.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use frith_store::git::read;

use crate::env::host_files::HostFiles;

/// What stands above a line of ours in git's own list.
const MARK: &str = "# frith";
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
        replace(&path, text.as_bytes())?;
        Ok(made)
    }

    fn remove(&self, folder: &Path, file: &str, and_folder: bool) -> io::Result<()> {
        let Some(path) = found(folder, file)? else { return Ok(()) };
        fs::remove_file(&path)?;
        // A line too many in git's list hides nothing that is there.
        let _ = let_git_show(folder, file);
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
        // Bytes, since paths of others in it may be of any encoding. It is looked at first: what reads it after this waits for no pipe.
        let known = bytes_of(&list)?;
        if repository.ignores(&path).map_err(io::Error::other)? {
            return Ok(());
        }
        if known.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes()) {
            return Ok(());
        }
        if let Some(above) = list.parent() {
            fs::create_dir_all(above)?;
        }
        let gap = if known.is_empty() || known.ends_with(b"\n") { "" } else { "\n" };
        OpenOptions::new().create(true).append(true).open(list)?.write_all(format!("{gap}{MARK}\n{line}\n").as_bytes())
    }
}

/// Takes back what had git pass over a file, once no checkout of the repository has it any more. A line of somebody's own stays.
fn let_git_show(folder: &Path, file: &str) -> io::Result<()> {
    let Some((repository, path)) = in_repository(folder, file)? else { return Ok(()) };
    if checkouts(&repository)?.iter().any(|top| top.join(&path).symlink_metadata().is_ok()) {
        return Ok(());
    }
    let list = repository.common_dir().join("info/exclude").canonicalize()?;
    let known = bytes_of(&list)?;
    let ours = format!("{MARK}\n/{}\n", escaped(&path.to_string_lossy()));
    let begins = |at: &usize| *at == 0 || known[at - 1] == b'\n';
    let at = known.windows(ours.len()).enumerate().filter(|(_, there)| *there == ours.as_bytes()).map(|(at, _)| at).find(begins);
    at.map_or(Ok(()), |at| replace(&list, &[&known[..at], &known[at + ours.len()..]].concat()))
}

/// The top of every checkout of a repository, as git's records tell them.
fn checkouts(repository: &read::Repository) -> io::Result<Vec<PathBuf>> {
    let common = repository.common_dir();
    let mut tops: Vec<PathBuf> = common.parent().filter(|_| !repository.is_bare()).map(Path::to_owned).into_iter().collect();
    let records = match fs::read_dir(common.join("worktrees")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(tops),
        read => read?,
    };
    for record in records {
        let link = bytes_of(&record?.path().join("gitdir"))?;
        let link = PathBuf::from(OsStr::from_bytes(link.strip_suffix(b"\n").unwrap_or(&link)));
        tops.extend(link.parent().map(Path::to_owned));
    }
    Ok(tops)
}

/// What is in a file; nothing when it is not there. A pipe in its place, which would wait for its writer, is none.
fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(facts) if facts.is_file() => fs::read(file),
        Ok(_) => Err(io::Error::other(format!("`{}` is no file", file.display()))),
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
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.frith-new"));
    let mode = fs::metadata(path).map(|facts| facts.permissions()).ok();
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    let written = file.write_all(text).and_then(|()| mode.map_or(Ok(()), |mode| file.set_permissions(mode)));
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
    fn what_git_passes_over_is_taken_back_with_the_last_file_and_nothing_else_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let git = |line: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(line).current_dir(folder.path().join("app"));
            assert!(command.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success());
        };
        let (main, linked) = (folder.path().join("app"), folder.path().join("linked"));
        fs::create_dir(&main).unwrap();
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        git(&["worktree", "add", "--quiet", "../linked"]);
        let list = main.join(".git/info/exclude");
        fs::create_dir_all(list.parent().unwrap()).unwrap();
        fs::write(&list, "# mine\n*.log\n").unwrap();
        for top in [&main, &linked] {
            Disk.keep_out_of_git(top, ".mcp.json").unwrap();
            Disk.write(top, ".mcp.json", "{}").unwrap();
        }
        let with = "# mine\n*.log\n# frith\n/.mcp.json\n";
        assert_eq!(fs::read_to_string(&list).unwrap(), with);
        Disk.remove(&main, ".mcp.json", false).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), with, "the other checkout has it still");
        Disk.remove(&linked, ".mcp.json", false).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), "# mine\n*.log\n");
        fs::write(&list, "/.mcp.json\n").unwrap();
        Disk.write(&main, ".mcp.json", "{}").unwrap();
        Disk.keep_out_of_git(&main, ".mcp.json").unwrap();
        Disk.remove(&main, ".mcp.json", false).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), "/.mcp.json\n", "somebody's own");
        fs::remove_file(&list).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&list).status().unwrap().success());
        assert!(Disk.keep_out_of_git(&main, ".mcp.json").unwrap_err().to_string().contains("is no file"));
    }

    #[test]
    fn a_path_with_signs_of_gits_own_is_meant_as_it_is() {
        assert_eq!(escaped("a b/[x]*.json"), "a\\ b/\\[x]\\*.json");
    }
}
