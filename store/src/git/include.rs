//! `.worktreeinclude`: ignored files of the main checkout that a new worktree is to have too, such as `.env`.
//!
//! The file has the syntax of `.gitignore` and comes with the repository, so what it asks for is trusted with nothing: only
//! files that git ignores in both work trees are copied, no link is followed on either side, nested checkouts are passed
//! over, and nothing that is there is overwritten. Everything is opened relative to its parent.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use gix::bstr::{BStr, ByteSlice as _};
use gix::glob::pattern::Case;
use gix::ignore::search::Ignore;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::copy::{Copying, FOLDER, LEFT_OUT_AT_TOP, Problem, identity};
use super::error::MakeError;
use super::links::bytes_path;
use super::read::{self, Ignored};
use super::watch::Watch;

/// The file's name, at the top of the main checkout.
const NAME: &CStr = c".worktreeinclude";
/// The most bytes of it; no person writes more.
const MOST: u64 = 1024 * 1024;
/// How many files that were passed over are named.
const NAMED: usize = 20;

/// What was copied, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Included {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Lines that mean nothing, counted from one.
    pub(super) lines: Vec<(u32, LineFault)>,
    /// Files that were asked for and are not there, from the top.
    pub(super) skipped: Vec<(PathBuf, SkippedWhy)>,
    /// How many more of these there were.
    pub(super) more: u64,
}

/// Why a line of `.worktreeinclude` means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    /// A `[` without its `]`.
    Bracket,
    /// A `\` that stands before nothing.
    Backslash,
    /// A `..`: it would lead out of the repository.
    LeadsOut,
}

/// Why a file that `.worktreeinclude` names was not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedWhy {
    /// Git does not ignore it where it is.
    NotIgnored,
    /// Git would not ignore it in the new worktree, which would not be clean from its first moment.
    NotIgnoredThere,
    /// The new worktree has something of that name.
    Exists,
    /// A link on the way leads elsewhere, or it is one that does.
    Link,
    /// It is a checkout of its own.
    Checkout,
    /// It is a socket, a FIFO or a device.
    Special,
    /// It speaks for the agent of the folder it is in.
    Speaks,
    /// It cannot be read; what the system said.
    Unreadable(String),
}

/// Copies what the `.worktreeinclude` of the checkout `from` names into the fresh worktree `into`. `None` when there is no
/// such file. Folders in `own` are passed over, known by identity; `until` is the end by the watch's clock.
pub(super) fn include(
    from: &Path,
    into: &Path,
    own: &[PathBuf],
    until: Duration,
    watch: &mut dyn Watch,
) -> Result<Option<Included>, MakeError> {
    let failed = |doing, path: &Path| {
        let path = path.to_path_buf();
        move |error: Errno| MakeError::Io { doing, path: path.clone(), source: error.into() }
    };
    let top = rustix::fs::openat(CWD, from, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty()).map_err(failed("opened", from))?;
    let mut included = Included::default();
    let patterns = match patterns(top.as_fd(), &mut included) {
        Ok(Some(patterns)) => patterns,
        Ok(None) => return Ok(None),
        Err(error) => {
            let why = if error == Errno::LOOP { SkippedWhy::Link } else { SkippedWhy::Unreadable(error.to_string()) };
            included.skip(os(NAME).into(), why);
            return Ok(Some(included));
        }
    };
    let (source, target) = (read::of_work_tree(from)?, read::of_work_tree(into)?);
    let target_top = rustix::fs::openat(CWD, into, FOLDER, Mode::empty()).map_err(failed("opened", into))?;
    let identities = own.iter().filter_map(|folder| folder.metadata().ok()).map(|found| (found.dev(), found.ino()));
    let linked_from = target_top.try_clone().map_err(|source| MakeError::Io { doing: "opened", path: into.to_path_buf(), source })?;
    let mut including = Including {
        patterns,
        source: source.ignored()?,
        target: target.ignored()?,
        own: identities.collect(),
        top: target_top,
        copying: Copying::of_files(from, linked_from, until, watch),
        included,
    };
    including.everything(top)?;
    let Including { copying, mut included, .. } = including;
    (included.files, included.bytes) = (copying.counts.files + copying.counts.links, copying.counts.bytes);
    Ok(Some(included))
}

/// What the file's lines match. Lines that mean nothing are told and match nothing.
fn patterns(top: BorrowedFd<'_>, included: &mut Included) -> Result<Option<gix::ignore::Search>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(top, NAME, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    let read = file.take(MOST).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    let mut kept = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        match fault(line) {
            Some(fault) => included.lines.push((number, fault)),
            None => kept.extend_from_slice(line),
        }
        kept.push(b'\n');
    }
    let mut search = gix::ignore::Search::default();
    let parsed = search.add_patterns_buffer(&kept, bytes_path(NAME.to_bytes()), None, Ignore { support_precious: false });
    parsed.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(search))
}

fn fault(line: &[u8]) -> Option<LineFault> {
    if line.starts_with(b"#") {
        return None;
    }
    let path = line.strip_prefix(b"!").unwrap_or(line);
    if path.split(|byte| *byte == b'/').any(|part| part.trim_ascii_end() == b"..") {
        return Some(LineFault::LeadsOut);
    }
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        at += match byte {
            b'\\' if at + 1 == line.len() => return Some(LineFault::Backslash),
            b'\\' => 2,
            b'[' => match class_end(&line[at + 1..]) {
                Some(length) => length + 2,
                None => return Some(LineFault::Bracket),
            },
            _ => 1,
        };
    }
    None
}

/// Where a character class ends, from after its `[`.
fn class_end(rest: &[u8]) -> Option<usize> {
    let mut at = usize::from(matches!(rest.first(), Some(b'!' | b'^')));
    // A bracket that comes first stands for itself.
    at += usize::from(rest.get(at) == Some(&b']'));
    loop {
        match rest.get(at)? {
            b']' => return Some(at),
            b'\\' => at += 2,
            b'[' if rest.get(at + 1) == Some(&b':') => at += rest[at..].find(":]").map_or(1, |end| end + 2),
            _ => at += 1,
        }
    }
}

struct Including<'a> {
    patterns: gix::ignore::Search,
    source: Ignored<'a>,
    target: Ignored<'a>,
    own: BTreeSet<(u64, u64)>,
    /// The new worktree.
    top: OwnedFd,
    copying: Copying<'a>,
    included: Included,
}

/// One folder on the way down.
struct Level {
    from: OwnedFd,
    names: std::vec::IntoIter<(CString, FileType)>,
    /// Whether it was asked for as a whole.
    chosen: bool,
    /// Its path from the top.
    below: PathBuf,
}

impl Including<'_> {
    fn everything(&mut self, top: OwnedFd) -> Result<(), MakeError> {
        let mut levels: Vec<_> = level(top, false, PathBuf::new()).into_iter().collect();
        while let Some(level) = levels.last_mut() {
            let Some((name, kind)) = level.names.next() else {
                levels.pop();
                continue;
            };
            self.copying.may_go_on()?;
            let path = level.below.join(os(&name));
            match settled(level.from.as_fd(), &name, kind) {
                Some(FileType::Directory) => {
                    let deeper = self.folder(level, &name, path);
                    levels.extend(deeper);
                }
                Some(kind) if level.chosen || self.is_chosen(&path, false) => self.file(level, &name, kind, path)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The folder to look into next. What cannot be opened, or is a checkout of its own, is passed over.
    fn folder(&mut self, above: &Level, name: &CStr, path: PathBuf) -> Option<Level> {
        if name == c".git" {
            return None;
        }
        let from = rustix::fs::openat(&above.from, name, FOLDER, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&from).ok()?;
        if self.own.contains(&identity(&stat)) {
            return None;
        }
        let chosen = above.chosen || self.is_chosen(&path, true);
        if rustix::fs::statat(&from, c".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            if chosen {
                self.included.skip(path, SkippedWhy::Checkout);
            }
            return None;
        }
        level(from, chosen, path)
    }

    fn is_chosen(&self, path: &Path, is_folder: bool) -> bool {
        let path = BStr::new(path.as_os_str().as_bytes());
        let found = self.patterns.pattern_matching_relative_path(path, Some(is_folder), Case::Sensitive);
        found.is_some_and(|found| !found.pattern.is_negative())
    }

    fn file(&mut self, level: &Level, name: &CStr, kind: FileType, path: PathBuf) -> Result<(), MakeError> {
        // What git tracks comes with the checkout.
        if self.source.is_tracked(&path) {
            return Ok(());
        }
        if let Some(why) = self.refused(level, name, kind, &path)? {
            self.included.skip(path, why);
            return Ok(());
        }
        let below = level.below.as_path();
        let into = match self.folder_in_target(level.from.as_fd(), below) {
            Ok(into) => into,
            Err(Errno::LOOP | Errno::NOTDIR) => {
                self.included.skip(path, SkippedWhy::Link);
                return Ok(());
            }
            Err(error) => return Err(MakeError::Io { doing: "copied", path, source: error.into() }),
        };
        if rustix::fs::statat(&into, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            self.included.skip(path, SkippedWhy::Exists);
            return Ok(());
        }
        self.copying.below = below.to_path_buf();
        let copied = match kind {
            FileType::Symlink => self.copying.link(level.from.as_fd(), into.as_fd(), name),
            _ => self.copying.file(level.from.as_fd(), into.as_fd(), name),
        };
        match copied {
            Ok(()) | Err(Problem::Source(Errno::NOENT | Errno::STALE)) => Ok(()),
            Err(Problem::Source(error)) => {
                self.included.skip(path, SkippedWhy::Unreadable(io::Error::from(error).to_string()));
                Ok(())
            }
            Err(Problem::Target(source)) => Err(MakeError::Io { doing: "copied", path, source }),
            Err(Problem::Stop(error)) => Err(error),
        }
    }

    fn refused(&mut self, level: &Level, name: &CStr, kind: FileType, path: &Path) -> Result<Option<SkippedWhy>, MakeError> {
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
            return Ok(Some(SkippedWhy::Special));
        }
        if level.below.as_os_str().is_empty() && LEFT_OUT_AT_TOP.contains(&name) {
            return Ok(Some(SkippedWhy::Speaks));
        }
        if kind == FileType::Symlink && leads_out(level, name) {
            return Ok(Some(SkippedWhy::Link));
        }
        if !self.source.is_ignored(path)? {
            return Ok(Some(SkippedWhy::NotIgnored));
        }
        if self.target.is_tracked(path) {
            return Ok(Some(SkippedWhy::Exists));
        }
        Ok((!self.target.is_ignored(path)?).then_some(SkippedWhy::NotIgnoredThere))
    }

    /// Opens a folder of the new worktree, from its top and through no link, and makes what is missing of it.
    fn folder_in_target(&self, from: BorrowedFd<'_>, below: &Path) -> Result<OwnedFd, Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(from)?.st_mode) & Mode::from_raw_mode(0o777);
        let mut folder = rustix::fs::openat(&self.top, c".", FOLDER, Mode::empty())?;
        for part in below.components() {
            let name = part.as_os_str();
            match rustix::fs::mkdirat(&folder, name, mode | Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }
}

impl Included {
    fn skip(&mut self, path: PathBuf, why: SkippedWhy) {
        if self.skipped.len() < NAMED {
            self.skipped.push((path, why));
        } else {
            self.more += 1;
        }
    }
}

/// A folder's entries. One that is gone by now has none.
fn level(from: OwnedFd, chosen: bool, below: PathBuf) -> Option<Level> {
    let entries = Dir::read_from(&from).ok()?;
    let names = entries.map_while(Result::ok).filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    let mut names: Vec<_> = names.map(|entry| (entry.file_name().to_owned(), entry.file_type())).collect();
    names.sort_by(|one, other| one.0.cmp(&other.0));
    Some(Level { from, names: names.into_iter(), chosen, below })
}

/// An entry's kind, looked up where the file system does not tell it; none when it is gone.
fn settled(folder: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Option<FileType> {
    if kind != FileType::Unknown {
        return Some(kind);
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Whether a link leads anywhere but to somewhere in its own checkout, by its words alone.
fn leads_out(level: &Level, name: &CStr) -> bool {
    let Ok(target) = rustix::fs::readlinkat(&level.from, name, Vec::new()) else { return true };
    let mut depth = level.below.components().count();
    for part in bytes_path(target.to_bytes()).components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
        }
    }
    false
}

fn os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a60_a_line_that_means_nothing_is_found() {
        for (line, expected) in [
            ("[", Some(LineFault::Bracket)),
            ("a[b", Some(LineFault::Bracket)),
            ("a[]", Some(LineFault::Bracket)),
            ("a[!]b]", None),
            ("[[:digit:]]x", None),
            ("[[:digit:]x", Some(LineFault::Bracket)),
            ("\\[", None),
            ("a\\", Some(LineFault::Backslash)),
            ("# [", None),
            ("**/x", None),
            ("", None),
        ] {
            assert_eq!(fault(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn g06_a_line_that_leads_out_is_found() {
        for line in ["..", "../x", "a/../x", "!../x", "/..", "a/.. "] {
            assert_eq!(fault(line.as_bytes()), Some(LineFault::LeadsOut), "{line}");
        }
        assert_eq!(fault(b"a..b/..c"), None);
    }
}
