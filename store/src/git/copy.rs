//! Copying a folder that is in no repository, to a place where nothing is yet.
//!
//! Everything is opened relative to its parent and without following links, on both sides: no link in the source or in
//! the copy can lead the copy elsewhere. What is gone when its turn comes is skipped, since builds and editors go on.
//! Sockets, FIFOs and devices are counted and left out. Folders get their modes and times last, deepest first.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::error::MakeError;
use super::links::bytes_path;
use super::watch::{Counts, Progress, Watch};

/// Names at the top of the source that speak for the parent and would make the fork speak as it.
pub(super) const LEFT_OUT_AT_TOP: [&CStr; 2] = [c".mcp.json", c".frith.toml"];

/// Read and written at once; files up to this size take two calls.
const BLOCK: usize = 128 * 1024;

/// How often the counts are told.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The mode and times of the copy's top folder. They are given to it where it stays: a folder its owner may not write
/// cannot be renamed into another.
#[derive(Debug)]
pub(super) struct TopAttributes {
    mode: Mode,
    times: Timestamps,
}

impl TopAttributes {
    /// Gives them to the finished folder.
    pub(super) fn give(&self, folder: &Path) -> io::Result<()> {
        let folder = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty())?;
        give(folder.as_fd(), self.mode, &self.times)
    }
}

pub(super) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
// A FIFO that took a file's place must not make the open wait.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Copies `source` to `target`, which must not exist. Folders in `own` are left out wherever they appear, known by
/// identity. The copy ends with an error once `until` passes on the watch's clock.
pub(super) fn copy_folder(
    source: &Path,
    target: &Path,
    own: &[PathBuf],
    until: Duration,
    watch: &mut dyn Watch,
) -> Result<(TopAttributes, Counts), MakeError> {
    let at = |doing| move |error: Errno| MakeError::Io { doing, path: source.to_path_buf(), source: error.into() };
    let made = |error: Errno| MakeError::Io { doing: "made", path: target.to_path_buf(), source: error.into() };
    // The parent's folder itself may be named by a link; nothing below it may.
    let from = rustix::fs::openat(CWD, source, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty()).map_err(at("opened"))?;
    let stat = rustix::fs::fstat(&from).map_err(at("looked at"))?;
    rustix::fs::mkdirat(CWD, target, Mode::RWXU).map_err(made)?;
    let into = rustix::fs::openat(CWD, target, FOLDER, Mode::empty()).map_err(made)?;
    let identities = own.iter().filter_map(|folder| folder.metadata().ok()).map(|found| (found.dev(), found.ino()));
    let top = into.try_clone().map_err(|source| MakeError::Io { doing: "made", path: target.to_path_buf(), source })?;
    let mut copy = Copying { own: identities.collect(), ..Copying::of_files(source, top, until, watch) };
    copy.everything(from, into, stat)?;
    copy.watch.progress(Progress::Copied(copy.counts));
    Ok((TopAttributes { mode: mode_kept(&stat), times: times(&stat) }, copy.counts))
}

pub(super) struct Copying<'a> {
    source: PathBuf,
    /// The copy's top, from which hard links are made.
    top: OwnedFd,
    own: BTreeSet<(u64, u64)>,
    /// The folder being copied, from the top.
    pub(super) below: PathBuf,
    /// Where a file with several names was copied to first.
    linked: BTreeMap<(u64, u64), PathBuf>,
    /// Whether the file system still may share blocks between files.
    clones: bool,
    block: Vec<u8>,
    pub(super) counts: Counts,
    until: Duration,
    told: Duration,
    watch: &'a mut dyn Watch,
}

/// One folder on the way down.
struct Level {
    from: OwnedFd,
    into: OwnedFd,
    stat: Stat,
    names: std::vec::IntoIter<(CString, FileType)>,
}

impl<'a> Copying<'a> {
    /// A copy of single files of `source` into the folder `top`, which is there.
    pub(super) fn of_files(source: &Path, top: OwnedFd, until: Duration, watch: &'a mut dyn Watch) -> Self {
        Self {
            source: source.to_path_buf(),
            top,
            own: BTreeSet::new(),
            below: PathBuf::new(),
            linked: BTreeMap::new(),
            clones: true,
            block: vec![0; BLOCK],
            counts: Counts::default(),
            until,
            told: watch.elapsed(),
            watch,
        }
    }
}

impl Copying<'_> {
    /// An explicit stack, so that a deep tree costs memory and not the thread's stack.
    fn everything(&mut self, from: OwnedFd, into: OwnedFd, stat: Stat) -> Result<(), MakeError> {
        let mut levels = vec![self.level(from, into, stat)?];
        while let Some(level) = levels.last_mut() {
            if let Some((name, kind)) = level.names.next() {
                self.look_up(&name)?;
                if let Some(deeper) = self.entry(level, &name, kind)? {
                    self.below.push(os(&name));
                    levels.push(self.level(deeper.0, deeper.1, deeper.2)?);
                }
                continue;
            }
            let done = levels.pop().expect("the loop runs while there is one");
            if !levels.is_empty() {
                give(done.into.as_fd(), mode_kept(&done.stat), &times(&done.stat)).map_err(|error| self.failed("made", c"", error))?;
                self.below.pop();
            }
        }
        Ok(())
    }

    fn level(&self, from: OwnedFd, into: OwnedFd, stat: Stat) -> Result<Level, MakeError> {
        let failed = |error: Errno| self.failed("listed", c"", error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&from).map_err(failed)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::NOENT) => break,
                Err(error) => return Err(failed(error)),
            };
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        Ok(Level { from, into, stat, names: names.into_iter() })
    }

    /// Copies one entry; a folder is made and returned, to be filled next.
    fn entry(&mut self, level: &Level, name: &CStr, kind: FileType) -> Result<Option<(OwnedFd, OwnedFd, Stat)>, MakeError> {
        if self.below.as_os_str().is_empty() && LEFT_OUT_AT_TOP.contains(&name) {
            return Ok(None);
        }
        let result = match kind {
            FileType::RegularFile => self.file(level.from.as_fd(), level.into.as_fd(), name).map(|()| None),
            FileType::Directory => self.folder(level, name),
            FileType::Symlink => self.link(level.from.as_fd(), level.into.as_fd(), name).map(|()| None),
            FileType::Unknown => return self.looked_at(level, name),
            _ => {
                self.counts.special += 1;
                return Ok(None);
            }
        };
        match result {
            Err(Problem::Source(Errno::NOENT | Errno::STALE)) => {
                self.counts.vanished += 1;
                Ok(None)
            }
            // Another kind of entry took its place since the folder was listed.
            Err(Problem::Source(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::MLINK | Errno::INVAL)) => self.looked_at(level, name),
            Err(Problem::Source(error)) => Err(self.failed("read", name, error.into())),
            Err(Problem::Target(error)) => Err(self.failed("copied", name, error)),
            Err(Problem::Stop(error)) => Err(error),
            Ok(deeper) => Ok(deeper),
        }
    }

    /// Copies an entry whose kind is not known, or not any more.
    fn looked_at(&mut self, level: &Level, name: &CStr) -> Result<Option<(OwnedFd, OwnedFd, Stat)>, MakeError> {
        match rustix::fs::statat(&level.from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::Unknown => Ok(None),
                kind => self.entry(level, name, kind),
            },
            Err(Errno::NOENT | Errno::STALE) => {
                self.counts.vanished += 1;
                Ok(None)
            }
            Err(error) => Err(self.failed("looked at", name, error.into())),
        }
    }

    fn folder(&mut self, level: &Level, name: &CStr) -> Result<Option<(OwnedFd, OwnedFd, Stat)>, Problem> {
        let from = rustix::fs::openat(&level.from, name, FOLDER, Mode::empty()).map_err(Problem::Source)?;
        let stat = rustix::fs::fstat(&from).map_err(Problem::Source)?;
        if self.own.contains(&identity(&stat)) {
            return Ok(None);
        }
        rustix::fs::mkdirat(&level.into, name, Mode::RWXU).map_err(target)?;
        let into = rustix::fs::openat(&level.into, name, FOLDER, Mode::empty()).map_err(target)?;
        self.counts.folders += 1;
        Ok(Some((from, into, stat)))
    }

    pub(super) fn link(&mut self, from: BorrowedFd<'_>, into: BorrowedFd<'_>, name: &CStr) -> Result<(), Problem> {
        let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW).map_err(Problem::Source)?;
        let leads_to = rustix::fs::readlinkat(from, name, Vec::new()).map_err(Problem::Source)?;
        rustix::fs::symlinkat(leads_to, into, name).map_err(target)?;
        rustix::fs::utimensat(into, name, &times(&stat), AtFlags::SYMLINK_NOFOLLOW).map_err(target)?;
        self.counts.links += 1;
        Ok(())
    }

    pub(super) fn file(&mut self, from: BorrowedFd<'_>, into: BorrowedFd<'_>, name: &CStr) -> Result<(), Problem> {
        let folder = into;
        let from = File::from(rustix::fs::openat(from, name, FILE, Mode::empty()).map_err(Problem::Source)?);
        let stat = rustix::fs::fstat(&from).map_err(Problem::Source)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Problem::Source(Errno::INVAL));
        }
        if name == c".git" && self.leads_out(&from) {
            self.counts.git_links += 1;
            return Ok(());
        }
        if stat.st_nlink > 1 && self.hard_link(folder, name, &stat)? {
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if !(self.clones && size > 0 && self.clone_file(&from, folder, name, &stat)?) {
            let into = File::from(rustix::fs::openat(folder, name, NEW_FILE, Mode::RUSR | Mode::WUSR).map_err(target)?);
            self.content(&from, &into, &stat)?;
            give(into.as_fd(), mode_kept(&stat), &times(&stat)).map_err(Problem::Target)?;
        }
        self.counts.files += 1;
        self.counts.bytes += size;
        Ok(())
    }

    /// Shares the file's blocks instead of copying them. `false` when the file system cannot, with nothing made.
    #[cfg(target_os = "linux")]
    fn clone_file(&mut self, from: &File, folder: BorrowedFd, name: &CStr, stat: &Stat) -> Result<bool, Problem> {
        let into = rustix::fs::openat(folder, name, NEW_FILE, Mode::RUSR | Mode::WUSR).map_err(target)?;
        match rustix::fs::ioctl_ficlone(&into, from) {
            Ok(()) => give(into.as_fd(), mode_kept(stat), &times(stat)).map(|()| true).map_err(Problem::Target),
            Err(error) => {
                // One file may be beyond sharing; anything but that is the file system's answer for all.
                self.clones = error == Errno::INVAL;
                rustix::fs::unlinkat(folder, name, AtFlags::empty()).map_err(target)?;
                Ok(false)
            }
        }
    }

    /// Shares the file's blocks instead of copying them. `false` when the file system cannot, with nothing made.
    #[cfg(not(target_os = "linux"))]
    fn clone_file(&mut self, from: &File, folder: BorrowedFd, name: &CStr, stat: &Stat) -> Result<bool, Problem> {
        match rustix::fs::fclonefileat(from, folder, name, rustix::fs::CloneFlags::NOOWNERCOPY) {
            Ok(()) => {
                // The clone has its attributes but for the bits that would lend someone else's powers.
                let mode = mode_kept(stat);
                rustix::fs::chmodat(folder, name, mode, AtFlags::empty()).map_err(target)?;
                Ok(true)
            }
            Err(error) => {
                self.clones = error == Errno::INVAL;
                Ok(false)
            }
        }
    }

    fn content(&mut self, from: &File, into: &File, stat: &Stat) -> Result<(), Problem> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let stored = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        if size > BLOCK as u64 && stored < size {
            return self.sparse(from, into, size);
        }
        self.range(from, into, u64::MAX, size)
    }

    /// Copies what a file with holes holds, and leaves the holes.
    fn sparse(&mut self, from: &File, into: &File, size: u64) -> Result<(), Problem> {
        use rustix::fs::SeekFrom;
        let seek = |file: &File, to| rustix::fs::seek(file, to);
        let mut end = 0;
        while end < size {
            let start = match seek(from, SeekFrom::Data(end)) {
                Ok(start) => start,
                Err(Errno::NXIO) => break,
                // No such notion here: the zeros are copied too.
                Err(Errno::INVAL) if end == 0 => return self.range(from, into, u64::MAX, size),
                Err(error) => return Err(Problem::Source(error)),
            };
            end = seek(from, SeekFrom::Hole(start)).map_err(Problem::Source)?;
            seek(from, SeekFrom::Start(start)).map_err(Problem::Source)?;
            seek(into, SeekFrom::Start(start)).map_err(target)?;
            self.range(from, into, end - start, end - start)?;
        }
        into.set_len(size).map_err(Problem::Target)
    }

    /// Copies up to `most` bytes, or to the end; `expected` says how many there should be, to save the last look.
    fn range(&mut self, mut from: &File, mut into: &File, most: u64, expected: u64) -> Result<(), Problem> {
        let mut done = 0;
        while done < most {
            let room = BLOCK.min(usize::try_from(most - done).unwrap_or(BLOCK));
            let count = match from.read(&mut self.block[..room]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Problem::Source(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
            };
            into.write_all(&self.block[..count]).map_err(Problem::Target)?;
            done += count as u64;
            if count == 0 || (count < room && done == expected) {
                break;
            }
            if done > BLOCK as u64 {
                self.may_go_on().map_err(Problem::Stop)?;
            }
        }
        Ok(())
    }

    /// Makes a further name of a file that was copied already.
    fn hard_link(&mut self, folder: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Result<bool, Problem> {
        if let Some(first) = self.linked.get(&identity(stat)) {
            rustix::fs::linkat(&self.top, first, folder, name, AtFlags::empty()).map_err(target)?;
            self.counts.files += 1;
            return Ok(true);
        }
        self.linked.insert(identity(stat), self.below.join(os(name)));
        Ok(false)
    }

    /// Whether a `.git` file names git data outside the source. A copy of it would make the copy act on the original's
    /// index and branch.
    fn leads_out(&self, from: &File) -> bool {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 4096];
        let read = from.read_at(&mut text, 0).unwrap_or(0);
        let Some(target) = text[..read].strip_prefix(b"gitdir: ") else { return false };
        let mut depth = self.below.components().count();
        for part in bytes_path(target).components() {
            match part {
                std::path::Component::RootDir | std::path::Component::Prefix(_) => return true,
                std::path::Component::ParentDir if depth == 0 => return true,
                std::path::Component::ParentDir => depth -= 1,
                std::path::Component::CurDir => {}
                std::path::Component::Normal(_) => depth += 1,
            }
        }
        false
    }

    /// Before each entry: whether to go on, and the counts from time to time.
    fn look_up(&mut self, _name: &CStr) -> Result<(), MakeError> {
        self.may_go_on()?;
        let now = self.watch.elapsed();
        if now.saturating_sub(self.told) >= TELL_EVERY {
            self.told = now;
            self.watch.progress(Progress::Copied(self.counts));
        }
        Ok(())
    }

    pub(super) fn may_go_on(&self) -> Result<(), MakeError> {
        if self.watch.cancelled() {
            return Err(MakeError::Cancelled);
        }
        if self.watch.elapsed() >= self.until {
            return Err(MakeError::TimedOut { allowed: Duration::ZERO });
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str, name: &CStr, source: io::Error) -> MakeError {
        MakeError::Io { doing, path: self.source.join(&self.below).join(os(name)), source }
    }
}

/// What went wrong with one entry, and on which side.
pub(super) enum Problem {
    Source(Errno),
    Target(io::Error),
    Stop(MakeError),
}

fn target(error: Errno) -> Problem {
    Problem::Target(error.into())
}

fn give(file: BorrowedFd, mode: Mode, times: &Timestamps) -> io::Result<()> {
    rustix::fs::futimens(file, times)?;
    Ok(rustix::fs::fchmod(file, mode)?)
}

/// All of the mode, but for the bits that run a file as its owner or group when the owner is another than ours.
fn mode_kept(stat: &Stat) -> Mode {
    let mode = Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o7777);
    if stat.st_uid == rustix::process::geteuid().as_raw() { mode } else { mode - Mode::SUID - Mode::SGID }
}

fn times(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        #[expect(clippy::useless_conversion, reason = "the widths differ between systems")]
        last_modification: Timespec { tv_sec: stat.st_mtime.into(), tv_nsec: stat.st_mtime_nsec as _ },
    }
}

pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "other systems have narrower ones"))]
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}
