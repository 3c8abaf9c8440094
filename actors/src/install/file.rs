//! Files of hosts, read and written so that nobody's change is lost and nobody ever reads half of one.
//!
//! A file is looked at, a new text is made of it elsewhere, and it is written only where it still is what was seen. Whoever
//! writes holds the kernel's lock on the file's folder: it leaves nothing behind and ends with its process. Links are written
//! through, and never replaced. Nothing here knows what is in a file.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use frith_store::time::Timestamp;
use rustix::fs::{Access, Gid, OFlags, Uid};

use crate::env::world::{Faults, NoFaults};

/// How many backups of a file are kept where nothing else is said.
pub const BACKUPS: usize = 5;
/// The most bytes of a file that is read; no host keeps a larger one.
const FILE_MOST: u64 = 256 * 1024 * 1024;
/// The most links that one path leads through, as kernels have it.
const LINKS_MOST: usize = 40;
/// How long another writer is waited for: ten seconds.
const LOCK_LOOKS: usize = 1_000;
/// Between two looks for the lock.
const LOCK_NAP: Duration = Duration::from_millis(10);

/// A file as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its path as asked.
    pub path: PathBuf,
    /// Where it really is, links followed.
    pub real: PathBuf,
    /// What is in it; none when it is not there.
    pub bytes: Option<Vec<u8>>,
    kept: Option<Kept>,
}

/// What a file keeps when it is written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    mode: u32,
    user: u32,
    group: u32,
}

/// On which terms a file is written.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The time that a backup carries in its name.
    pub now: Timestamp,
    /// How many backups are kept, this one among them; none is made where it is 0.
    pub backups: usize,
    /// Who may do what with a file that is made.
    pub rights: Rights,
    /// The backups that a record tells of: no other file is taken for one, whatever its name. None goes by names alone.
    pub ours: Option<&'a BTreeSet<PathBuf>>,
    /// Whether a file that is removed is backed up, since more than what its maker wrote goes with it.
    pub keeps_removed: bool,
    /// Where a test ends the process.
    pub faults: &'a dyn Faults,
}

/// Who may do what with a file that is made. One that is there keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Its owner alone reads it.
    Private,
    /// It may be run from its first moment.
    Program,
    /// Everybody may read it, as what a repository holds.
    Shared,
}

impl Rights {
    fn mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Program => 0o755,
            Self::Shared => 0o644,
        }
    }
}

impl Terms<'_> {
    /// The terms on which a configuration file is written where nothing else is said.
    pub fn usual(now: Timestamp) -> Self {
        Self { now, backups: BACKUPS, rights: Rights::Private, ours: None, keeps_removed: false, faults: &NoFaults }
    }
}

/// A file that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Where it lies as it was; none when it was not there or nothing changed.
    pub backup: Option<PathBuf>,
}

/// Why a file was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something else has its name.
    #[error("`{}` is {what}, and no file", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// It is larger than any configuration.
    #[error("`{}` has {bytes} bytes, more than a configuration has", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// How many.
        bytes: u64,
    },
    /// It may not be written.
    #[error("`{}` is read-only", path.display())]
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// It is another file now than the one that was seen.
    #[error("`{}` was changed meanwhile", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// Somebody else holds the lock on its folder.
    #[error("`{}` is being written by another process", path.display())]
    Busy {
        /// The path.
        path: PathBuf,
    },
    /// The system says no.
    #[error("`{}` cannot be {doing}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        error: io::Error,
    },
}

impl FileError {
    fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, doing, error }
    }
}

/// Looks at a file, which need not be there.
///
/// # Errors
/// It is no ordinary file, cannot be read, or is larger than any configuration.
pub fn look(path: &Path) -> Result<Seen, FileError> {
    let real = real_path(path).map_err(FileError::io(path, "read"))?;
    let Some(facts) = found(fs::symlink_metadata(&real)).map_err(FileError::io(path, "read"))? else {
        return Ok(Seen { path: path.to_owned(), real, bytes: None, kept: None });
    };
    require_file(path, &facts)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(&real).map_err(FileError::io(path, "read"))?;
    let facts = file.metadata().map_err(FileError::io(path, "read"))?;
    require_file(path, &facts)?;
    let mut bytes = Vec::new();
    file.take(FILE_MOST).read_to_end(&mut bytes).map_err(FileError::io(path, "read"))?;
    let kept = Kept { mode: facts.mode() & 0o7777, user: facts.uid(), group: facts.gid() };
    Ok(Seen { path: path.to_owned(), real, bytes: Some(bytes), kept: Some(kept) })
}

/// Writes a file where it still is what was seen, or removes it, on the usual terms.
///
/// # Errors
/// As [`write_on`].
pub fn write(seen: &Seen, text: Option<&str>, now: Timestamp) -> Result<Written, FileError> {
    write_on(seen, text, Terms::usual(now))
}

/// Writes a file where it still is what was seen. No text removes it: only whoever made the file whole may ask for that.
/// Whenever this process ends, the file is whole, as it was or as it should be.
///
/// # Errors
/// [`FileError::Changed`] when it is another file now, so that its reader looks again; it may not be written; or the system
/// says no.
pub fn write_on(seen: &Seen, text: Option<&str>, terms: Terms<'_>) -> Result<Written, FileError> {
    let folder = seen.real.parent().unwrap_or(Path::new("/"));
    if text.is_some() {
        fs::create_dir_all(folder).map_err(FileError::io(&seen.path, "written"))?;
    } else if seen.bytes.is_none() {
        return Ok(Written::default());
    }
    let _lock = locked(folder, &seen.path)?;
    let there = look(&seen.path)?;
    if there.real != seen.real || there.bytes != seen.bytes {
        return Err(FileError::Changed { path: seen.path.clone() });
    }
    if there.bytes.as_deref() == text.map(str::as_bytes) {
        return Ok(Written::default());
    }
    require_writable(&there)?;
    let written = match text {
        None => removed(&there, terms)?,
        Some(text) => replaced(&there, text, terms)?,
    };
    // What was renamed is there; a power cut may still take it back, and then the file is as it was.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(Written { backup: written })
}

/// Whether a file could be written or removed as it was seen, as far as that shows before it is tried.
///
/// # Errors
/// It is read-only, or nothing may be made in the folder in which it lies or would be made.
pub fn require_open(seen: &Seen) -> Result<(), FileError> {
    require_writable(seen)?;
    let folder = seen.real.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let may = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(|error| FileError::io(&seen.path, "written")(error.into()))
}

/// Takes away what a writer left beside a file that was ended before it could rename it.
pub fn forget_begun(path: &Path) {
    let Ok(real) = real_path(path) else { return };
    let (new, folder) = (new_file(&real), real.parent().unwrap_or(Path::new("/")));
    // One of a writer that is not ended goes with it, or gets its name.
    if let (true, Ok(_lock)) = (new.exists(), locked(folder, path)) {
        // What cannot be taken away is of no use to anybody, and does no harm.
        let _ = fs::remove_file(new);
    }
}

/// Removes the file; answers with the backup, where one is wanted.
fn removed(there: &Seen, terms: Terms<'_>) -> Result<Option<PathBuf>, FileError> {
    let kept = if terms.keeps_removed { backed_up(there, terms) } else { Ok(None) };
    let backup = kept.map_err(FileError::io(&there.path, "written"))?;
    fs::remove_file(&there.real).map_err(FileError::io(&there.path, "removed"))?;
    if let Some(backup) = &backup {
        forget_old(&there.real, backup, terms);
    }
    Ok(backup)
}

/// Writes the text beside the file and renames it over it; answers with the backup.
fn replaced(there: &Seen, text: &str, terms: Terms<'_>) -> Result<Option<PathBuf>, FileError> {
    let failed = FileError::io(&there.path, "written");
    let backup = backed_up(there, terms).map_err(failed)?;
    terms.faults.reached("install.backed_up");
    let new = new_file(&there.real);
    if let Err(error) = renamed_over(there, &new, text, terms) {
        // What was written beside it is of no use to anybody, and neither is a backup of what still is there.
        let _ = fs::remove_file(&new);
        let _ = backup.as_ref().map(fs::remove_file);
        return Err(error);
    }
    terms.faults.reached("install.renamed");
    if let Some(backup) = &backup {
        forget_old(&there.real, backup, terms);
    }
    Ok(backup)
}

fn renamed_over(there: &Seen, new: &Path, text: &str, terms: Terms<'_>) -> Result<(), FileError> {
    let kept = there.kept.unwrap_or(Kept { mode: terms.rights.mode(), user: u32::MAX, group: u32::MAX });
    written_new(new, text.as_bytes(), kept).map_err(FileError::io(&there.path, "written"))?;
    terms.faults.reached("install.beside");
    // The host itself takes no lock, and may have written while the disk was slow.
    if look(&there.path)? != *there {
        return Err(FileError::Changed { path: there.path.clone() });
    }
    fs::rename(new, &there.real).map_err(FileError::io(&there.path, "written"))
}

/// Where a path leads. What is not there yet has a path too: that of a file that a link names, or below a folder that is there.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MOST {
        match found(fs::symlink_metadata(&path))? {
            Some(facts) if facts.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("/")).join(target);
            }
            Some(_) => return path.canonicalize(),
            None => {
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
                return Ok(found(folder.canonicalize())?.map_or_else(|| path.clone(), |folder| folder.join(name)));
            }
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn found<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    match looked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        looked => looked.map(Some),
    }
}

fn require_file(path: &Path, facts: &fs::Metadata) -> Result<(), FileError> {
    let kind = facts.file_type();
    let what = match () {
        () if kind.is_file() && facts.len() > FILE_MOST => {
            return Err(FileError::TooLarge { path: path.to_owned(), bytes: facts.len() });
        }
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(FileError::NoFile { path: path.to_owned(), what })
}

/// A file that its owner made read-only is not written around by a rename, which would not ask.
fn require_writable(there: &Seen) -> Result<(), FileError> {
    let Some(kept) = there.kept else { return Ok(()) };
    let may = kept.mode & 0o222 != 0 && rustix::fs::access(&there.real, Access::WRITE_OK).is_ok();
    if may { Ok(()) } else { Err(FileError::ReadOnly { path: there.path.clone() }) }
}

/// The lock on a folder, which ends with what is answered. A file system that knows no locks is written without.
fn locked(folder: &Path, path: &Path) -> Result<Option<File>, FileError> {
    let lock = File::open(folder).map_err(FileError::io(path, "written"))?;
    for _ in 0..LOCK_LOOKS {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_NAP),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
    Err(FileError::Busy { path: path.to_owned() })
}

/// A new file with these bytes, on disk.
fn written_new(path: &Path, bytes: &[u8], kept: Kept) -> io::Result<()> {
    // One that a process left that was ended meanwhile; whoever holds the lock may take it away.
    found(fs::remove_file(path))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let owner = (kept.user != u32::MAX).then(|| (Uid::from_raw(kept.user), Gid::from_raw(kept.group)));
    let facts = file.metadata()?;
    if let Some((user, group)) = owner.filter(|_| (facts.uid(), facts.gid()) != (kept.user, kept.group)) {
        // Only root gives files away; anybody else's new file stays their own.
        let _ = rustix::fs::fchown(&file, Some(user), Some(group));
    }
    file.set_permissions(Permissions::from_mode(kept.mode))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A copy of the file as it is, beside it; none where there is none, or none is wanted.
fn backed_up(there: &Seen, terms: Terms<'_>) -> io::Result<Option<PathBuf>> {
    let (Some(bytes), Some(kept)) = (&there.bytes, there.kept) else { return Ok(None) };
    if terms.backups == 0 {
        return Ok(None);
    }
    let time = jiff::Timestamp::from_millisecond(terms.now.ms()).map_err(io::Error::other)?;
    let time = time.strftime("%Y%m%dT%H%M%S%3fZ").to_string();
    let mut path = beside(&there.real, "", &format!(".bak-{time}"));
    for more in 2.. {
        if found(fs::symlink_metadata(&path))?.is_none() {
            break;
        }
        path = beside(&there.real, "", &format!(".bak-{time}-{more:02}"));
    }
    // Renamed when whole, so that a backup never is half a file.
    let new = new_file(&there.real);
    let done = written_new(&new, bytes, kept).and_then(|()| fs::rename(&new, &path));
    done.inspect_err(|_| drop(fs::remove_file(&new)))?;
    Ok(Some(path))
}

/// Where a file is written before it gets its name.
fn new_file(real: &Path) -> PathBuf {
    beside(real, ".", ".frith-new")
}

/// A path beside another: its name with something before and behind it.
fn beside(path: &Path, before: &str, behind: &str) -> PathBuf {
    let mut name = OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(behind);
    path.with_file_name(name)
}

/// Removes the oldest backups. Only names that a backup of this file has are looked at, and one that stays does no harm.
fn forget_old(real: &Path, newest: &Path, terms: Terms<'_>) {
    let Some(entries) = real.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return };
    let begin = beside(real, "", ".bak-");
    let Some(begin) = begin.file_name().and_then(|begin| begin.to_str()) else { return };
    let is_known = |path: &Path| path == newest || terms.ours.is_none_or(|ours| ours.contains(path));
    let is_ours = |name: &String| name.strip_prefix(begin).is_some_and(is_time) && is_known(&real.with_file_name(name));
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(is_ours).collect();
    names.sort_unstable();
    for old in names.iter().rev().skip(terms.backups) {
        let _ = fs::remove_file(real.with_file_name(old));
    }
}

/// Whether this is how a backup's name ends: a time to the millisecond, and a number where several have the same.
fn is_time(text: &str) -> bool {
    let (time, more) = text.split_at_checked("20261130T220000000Z".len()).unwrap_or((text, "?"));
    let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        18 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    let is_more = |more: &str| more.len() >= 2 && more.bytes().all(|byte| byte.is_ascii_digit());
    is_time && (more.is_empty() || more.strip_prefix('-').is_some_and(is_more))
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::symlink,
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Mutex,
    };

    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn with(name: &str, text: &str) -> (Self, PathBuf) {
            let home = Self::new();
            let path = home.path(name);
            fs::write(&path, text).unwrap();
            (home, path)
        }

        /// The names in a folder of it.
        fn names(&self, folder: &str) -> BTreeSet<String> {
            fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_ms(1_796_072_645_123 + second * 1_000)
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    #[test]
    fn a_file_is_written_with_its_mode_and_lies_as_it_was_beside_itself() {
        let (home, path) = Home::with("settings.json", "one");
        fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
        let written = write(&look(&path).unwrap(), Some("two"), at(0)).unwrap();
        let backup = home.path("settings.json.bak-20261130T210405123Z");
        assert_eq!(written.backup.as_ref(), Some(&backup));
        assert_eq!((text(&path).as_str(), text(&backup).as_str()), ("two", "one"));
        assert_eq!((mode(&path), mode(&backup)), (0o664, 0o664));
        assert_eq!(home.names("").len(), 2);
    }

    #[test]
    fn a_file_that_is_not_there_is_made_private_and_goes_again_without_a_trace() {
        let home = Home::new();
        let path = home.path("a/b/hooks.json");
        let seen = look(&path).unwrap();
        assert_eq!((&seen.bytes, &seen.real), (&None, &path));
        assert_eq!(write(&seen, Some("{}"), at(0)).unwrap().backup, None);
        assert_eq!((text(&path).as_str(), mode(&path)), ("{}", 0o600));
        assert_eq!(write(&look(&path).unwrap(), None, at(1)).unwrap().backup, None);
        assert!(home.names("a/b").is_empty());
        assert_eq!(write(&look(&path).unwrap(), None, at(2)).unwrap(), Written::default());
    }

    #[test]
    fn nothing_to_change_writes_nothing_and_backs_nothing_up() {
        let (home, path) = Home::with("a.json", "one");
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        let before = fs::metadata(&path).unwrap();
        assert_eq!(write(&look(&path).unwrap(), Some("one"), at(0)).unwrap(), Written::default());
        assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
        assert_eq!(home.names("").len(), 1);
    }

    #[test]
    fn a_file_that_somebody_else_changed_is_not_written() {
        let (home, path) = Home::with("a.json", "one");
        let seen = look(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(write(&seen, Some("two"), at(0)), Err(FileError::Changed { .. })));
        assert!(matches!(write(&seen, None, at(0)), Err(FileError::Changed { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(write(&seen, Some("two"), at(0)), Err(FileError::Changed { .. })));
        assert!(home.names("").is_empty());
        let none = look(&path).unwrap();
        fs::write(&path, "made").unwrap();
        let error = write(&none, Some("two"), at(0)).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` was changed meanwhile", path.display()));
        assert_eq!(text(&path), "made");
    }

    #[test]
    fn five_backups_stay_and_files_of_others_with_such_names_do_too() {
        let (home, path) = Home::with("a.json", "0");
        let theirs = ["a.json.bak", "a.json.bak-mine", "a.json.bak-20200101T000000000Z.old", "b.json.bak-20200101T000000000Z"];
        theirs.iter().for_each(|name| fs::write(home.path(name), "theirs").unwrap());
        for number in 1..=8 {
            write(&look(&path).unwrap(), Some(&number.to_string()), at(number)).unwrap();
        }
        // Two in one millisecond are two.
        write(&look(&path).unwrap(), Some("9"), at(8)).unwrap();
        let names = home.names("");
        let ours: Vec<_> = names.iter().filter(|name| name.starts_with("a.json.bak-2026")).map(|name| text(&home.path(name))).collect();
        assert_eq!(ours, ["4", "5", "6", "7", "8"]);
        assert!(theirs.iter().all(|name| names.contains(*name)));
        let terms = Terms { backups: 0, ..Terms::usual(at(9)) };
        assert_eq!(write_on(&look(&path).unwrap(), Some("10"), terms).unwrap().backup, None);
    }

    #[test]
    fn b27_links_are_written_through_and_stay() {
        let home = Home::new();
        fs::create_dir_all(home.path("dotfiles/host")).unwrap();
        fs::write(home.path("dotfiles/x.json"), "one").unwrap();
        symlink("dotfiles/host", home.path(".host")).unwrap();
        symlink("../x.json", home.path("dotfiles/host/settings.json")).unwrap();
        let path = home.path(".host/settings.json");
        let seen = look(&path).unwrap();
        assert_eq!(seen.real, home.path("dotfiles/x.json"));
        write(&seen, Some("two"), at(0)).unwrap();
        assert_eq!(text(&home.path("dotfiles/x.json")), "two");
        for link in [".host", "dotfiles/host/settings.json"] {
            assert!(fs::symlink_metadata(home.path(link)).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(home.names("dotfiles/host").len(), 1);
    }

    #[test]
    fn b27_a_link_to_a_file_that_is_not_there_leads_to_where_it_is_made() {
        let home = Home::new();
        fs::create_dir_all(home.path("dotfiles")).unwrap();
        symlink("dotfiles/new/x.json", home.path("settings.json")).unwrap();
        let path = home.path("settings.json");
        let seen = look(&path).unwrap();
        assert_eq!((&seen.bytes, &seen.real), (&None, &home.path("dotfiles/new/x.json")));
        write(&seen, Some("one"), at(0)).unwrap();
        assert_eq!(text(&home.path("dotfiles/new/x.json")), "one");
        write(&look(&path).unwrap(), None, at(1)).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn links_in_a_circle_lead_nowhere() {
        let home = Home::new();
        symlink("b", home.path("a")).unwrap();
        symlink("a", home.path("b")).unwrap();
        assert!(matches!(look(&home.path("a")), Err(FileError::Io { doing: "read", .. })));
    }

    #[test]
    fn b20_a_file_that_may_not_be_written_or_read_stays_as_it_is() {
        let (home, path) = Home::with("a.json", "one");
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let error = write(&look(&path).unwrap(), Some("two"), at(0)).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` is read-only", path.display()));
        assert!(matches!(write(&look(&path).unwrap(), None, at(0)), Err(FileError::ReadOnly { .. })));
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        match look(&path) {
            Ok(seen) => assert!(is_root() && matches!(write(&seen, Some("two"), at(0)), Err(FileError::ReadOnly { .. }))),
            Err(error) => assert!(!is_root() && error.to_string().contains("cannot be read: "), "{error}"),
        }
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!((text(&path).as_str(), home.names("").len()), ("one", 1));
    }

    #[test]
    fn a_folder_that_may_not_be_written_keeps_its_file() {
        let home = Home::new();
        fs::create_dir(home.path("host")).unwrap();
        let path = home.path("host/a.json");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(home.path("host"), Permissions::from_mode(0o555)).unwrap();
        let written = write(&look(&path).unwrap(), Some("two"), at(0));
        fs::set_permissions(home.path("host"), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(written.is_ok(), is_root());
        assert_eq!(text(&path), if is_root() { "two" } else { "one" });
    }

    #[test]
    fn what_is_no_file_is_neither_read_nor_written() {
        let home = Home::new();
        fs::create_dir(home.path("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(home.path("socket")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(home.path("pipe")).status().unwrap().success());
        symlink("pipe", home.path("link")).unwrap();
        for (name, what) in [("folder", "a folder"), ("pipe", "a pipe"), ("link", "a pipe"), ("socket", "a socket")] {
            let error = look(&home.path(name)).unwrap_err().to_string();
            assert_eq!(error, format!("`{}` is {what}, and no file", home.path(name).display()));
        }
        fs::write(home.path("file"), "").unwrap();
        let below_a_file = look(&home.path("file/a.json")).unwrap_err();
        assert!(below_a_file.to_string().contains("cannot be read"), "{below_a_file}");
        let large = File::create(home.path("large")).unwrap();
        large.set_len(FILE_MOST + 1).unwrap();
        assert!(matches!(look(&home.path("large")), Err(FileError::TooLarge { .. })));
    }

    #[test]
    fn a_file_of_many_megabytes_is_read_and_written_whole() {
        let (_home, path) = Home::with("a.json", &"x".repeat(10 << 20));
        write(&look(&path).unwrap(), Some(&"y".repeat(11 << 20)), at(0)).unwrap();
        assert_eq!(text(&path).len(), 11 << 20);
    }

    /// Looks at the file at each point, as one would who comes after this process ended there, and ends at one of them.
    struct EndsAt<'a> {
        path: &'a Path,
        point: &'static str,
        seen: Mutex<Vec<(&'static str, String)>>,
    }

    impl Faults for EndsAt<'_> {
        fn reached(&self, point: &'static str) {
            self.seen.lock().unwrap().push((point, text(self.path)));
            assert_ne!(point, self.point, "the process ends here");
        }
    }

    #[test]
    fn a_writer_that_ends_at_any_point_leaves_a_whole_file_and_the_next_one_goes_on() {
        for (point, there) in [("install.backed_up", "one"), ("install.beside", "one"), ("install.renamed", "two")] {
            let (home, path) = Home::with("a.json", "one");
            let faults = EndsAt { path: &path, point, seen: Mutex::new(Vec::new()) };
            let seen = look(&path).unwrap();
            let terms = Terms { faults: &faults, ..Terms::usual(at(0)) };
            assert!(catch_unwind(AssertUnwindSafe(|| write_on(&seen, Some("two"), terms))).is_err());
            assert_eq!(faults.seen.into_inner().unwrap_or_default().last(), Some(&(point, there.to_owned())));
            assert_eq!(text(&path), there);
            write(&look(&path).unwrap(), Some("three"), at(1)).unwrap();
            assert_eq!(text(&path), "three");
            assert!(home.names("").iter().all(|name| name == "a.json" || name.starts_with("a.json.bak-")), "{point}");
        }
    }

    /// Tells the mode of what lies beside the file, and of the file.
    struct Modes<'a> {
        beside: &'a Path,
        path: &'a Path,
        seen: Mutex<Vec<u32>>,
    }

    impl Faults for Modes<'_> {
        fn reached(&self, point: &'static str) {
            match point {
                "install.beside" => self.seen.lock().unwrap().push(mode(self.beside)),
                "install.renamed" => self.seen.lock().unwrap().push(mode(self.path)),
                _ => {}
            }
        }
    }

    #[test]
    fn a_program_may_be_run_from_the_moment_it_has_its_name() {
        let home = Home::new();
        let (path, beside) = (home.path("TaskStart"), home.path(".TaskStart.frith-new"));
        let faults = Modes { beside: &beside, path: &path, seen: Mutex::default() };
        let terms = Terms { rights: Rights::Program, faults: &faults, ..Terms::usual(at(0)) };
        write_on(&look(&path).unwrap(), Some("#!/bin/sh\n"), terms).unwrap();
        assert_eq!(faults.seen.into_inner().unwrap(), [0o755, 0o755]);
    }

    #[test]
    fn what_is_removed_lies_beside_where_that_is_wanted() {
        for keeps_removed in [false, true] {
            let (home, path) = Home::with("SKILL.md", "one");
            let terms = Terms { keeps_removed, ..Terms::usual(at(0)) };
            let backup = write_on(&look(&path).unwrap(), None, terms).unwrap().backup;
            assert_eq!(backup.map(|it| text(&it)), keeps_removed.then(|| "one".to_owned()));
            assert_eq!((path.exists(), home.names("").len()), (false, usize::from(keeps_removed)));
        }
    }

    /// A host that takes no lock, and writes while ours is being written.
    struct HostWrites<'a>(&'a Path);

    impl Faults for HostWrites<'_> {
        fn reached(&self, point: &'static str) {
            if point == "install.beside" {
                fs::write(self.0, "theirs").unwrap();
            }
        }
    }

    #[test]
    fn what_a_host_writes_meanwhile_is_not_written_over() {
        for before in [Some("one"), None] {
            let home = Home::new();
            let path = home.path("a.json");
            before.iter().for_each(|before| fs::write(&path, before).unwrap());
            let terms = Terms { faults: &HostWrites(&path), ..Terms::usual(at(0)) };
            let error = write_on(&look(&path).unwrap(), Some("two"), terms).unwrap_err();
            assert!(matches!(error, FileError::Changed { .. }), "{error}");
            assert_eq!((text(&path).as_str(), home.names("").len()), ("theirs", 1));
        }
    }

    #[test]
    fn writers_at_once_lose_nothing() {
        let (home, path) = Home::with("a.txt", "");
        let add = |word: String| loop {
            let seen = look(&path).unwrap();
            let text = format!("{}{word}\n", String::from_utf8(seen.bytes.clone().unwrap()).unwrap());
            match write(&seen, Some(&text), at(0)) {
                Ok(_) => return,
                Err(FileError::Changed { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || (0..12).for_each(|number| add(format!("{writer}-{number}"))));
            }
        });
        let words: BTreeSet<_> = text(&path).lines().map(str::to_owned).collect();
        assert_eq!((words.len(), text(&path).lines().count()), (48, 48));
        assert!(!home.names("").contains(".a.txt.frith-new"));
    }

    #[test]
    fn a_writer_waits_for_another_and_goes_on_when_that_one_is_done() {
        let (home, path) = Home::with("a.json", "one");
        let lock = File::open(home.path("")).unwrap();
        lock.lock().unwrap();
        let seen = look(&path).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(&seen, Some("two"), at(0)));
            assert_eq!(text(&path), "one");
            lock.unlock().unwrap();
            writer.join().unwrap().unwrap();
        });
        assert_eq!(text(&path), "two");
    }
}
