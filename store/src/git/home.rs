//! Where a folder of ours stands, and the names beside it that its making and removing use.
//!
//! All of them are in one folder of the same disk, so that a rename is all it takes to move between them. For a fork that
//! is `<home>/forks`, where `<fork id>` is a finished folder and nothing else. For a worktree it is `.frith-worktrees`
//! beside it, since others put their own things there too. `<name>.making` is being built, `<name>.unmade-<n>` is what a
//! failed or killed making left, `<name>.leaving-<n>` is looked at once more and goes back if anything is amiss, and
//! `<name>.trash-<n>` is on its way out.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::error::PlanError;

/// What is beside worktrees while they are made and removed.
const BESIDE_WORKTREES: &str = ".frith-worktrees";

/// Whose folders stand at a place, which says how much may be taken for granted about what is found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// `<home>/forks`: nobody else puts anything there.
    Ours,
    /// Any folder of the machine: what stands at the place may be anyone's.
    Anyones,
}

/// A place for one folder that is made and removed as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnFolder {
    home: PathBuf,
    within: PathBuf,
    beside: PathBuf,
    name: OsString,
    whose: Whose,
    /// The words of a git lock that may be taken off here; none but git's own when there are none.
    lock: Option<String>,
}

impl OwnFolder {
    /// The place of a worktree, `path`; none when that is a root. Both paths are without symbolic links.
    pub(super) fn worktree(home: &Path, path: &Path) -> Option<Self> {
        let (within, name) = (path.parent()?.to_path_buf(), path.file_name()?.to_owned());
        let beside = within.join(BESIDE_WORKTREES);
        Some(Self { home: home.to_path_buf(), within, beside, name, whose: Whose::Anyones, lock: None })
    }

    /// The same place, where a git lock with these words is ours to take off.
    pub(super) fn with_lock(self, lock: Option<String>) -> Self {
        Self { lock, ..self }
    }

    /// FRITH_HOME.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The finished folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.within.join(&self.name)
    }

    /// What the finished folder stands in.
    pub(super) fn within(&self) -> &Path {
        &self.within
    }

    /// Its last name, after which git names its record of a worktree.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Where the names beside it are.
    pub(super) fn beside(&self) -> &Path {
        &self.beside
    }

    /// The folder in which one making works: a lock, a record, and the folder being built.
    pub(super) fn staging(&self) -> PathBuf {
        self.beside.join(self.named("making"))
    }

    /// The folder being built. It has its final name, because git names its record of a worktree after it.
    pub(super) fn staged(&self) -> PathBuf {
        self.staging().join(&self.name)
    }

    /// Whether what stands at the place can only be of our making.
    pub(super) fn is_ours_alone(&self) -> bool {
        self.whose == Whose::Ours
    }

    /// The words of a git lock that may be taken off here.
    pub(super) fn lock(&self) -> Option<&str> {
        self.lock.as_deref()
    }

    /// The name of the lock between processes under which a staging folder is made, judged or renamed.
    pub(super) fn folders_lock(&self) -> &'static str {
        match self.whose {
            Whose::Ours => "forks",
            Whose::Anyones => "worktrees",
        }
    }

    /// What stands beside it with its name and a suffix.
    pub(super) fn siblings(&self) -> io::Result<Vec<Sibling>> {
        let mut found = Vec::new();
        for path in listed(&self.beside)? {
            if let Some((name, kind)) = path.file_name().and_then(sibling_name)
                && name == self.name
                && self.may_have(kind)
            {
                found.push(Sibling { own: self.clone(), path, kind });
            }
        }
        Ok(found)
    }

    fn may_have(&self, kind: SiblingKind) -> bool {
        kind != SiblingKind::Leaving || self.whose == Whose::Anyones
    }

    fn named(&self, suffix: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(".");
        name.push(suffix);
        name
    }
}

/// The place of one fork's folder on this machine. It is worked out from the fork's id alone, so no message from
/// elsewhere can point a removal at anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkFolder {
    own: OwnFolder,
    id: String,
}

impl ForkFolder {
    /// `home` is FRITH_HOME, absolute; `fork_id` is 1 to 64 ASCII letters, digits and inner hyphens.
    pub fn new(home: &Path, fork_id: &str) -> Result<Self, PlanError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if fork_id.is_empty() || fork_id.len() > 64 || fork_id.starts_with('-') || !fork_id.bytes().all(plain) {
            return Err(PlanError::BadForkId { id: fork_id.to_owned() });
        }
        if !home.is_absolute() {
            return Err(PlanError::Relative { path: home.to_path_buf() });
        }
        // Git writes real paths into its records; ours are compared with them.
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        let forks = forks_of(&home);
        let own = OwnFolder { home, within: forks.clone(), beside: forks, name: fork_id.into(), whose: Whose::Ours, lock: None };
        Ok(Self { own, id: fork_id.to_owned() })
    }

    /// FRITH_HOME.
    pub fn home(&self) -> &Path {
        self.own.home()
    }

    /// The finished folder: `<home>/forks/<fork id>`.
    pub fn folder(&self) -> PathBuf {
        self.own.folder()
    }

    /// The branch of its worktree, without `refs/heads/`.
    pub fn branch(&self) -> String {
        format!("frith/fork-{}", self.id)
    }

    pub(super) fn own(&self) -> &OwnFolder {
        &self.own
    }

    pub(super) fn forks(&self) -> PathBuf {
        self.own.beside.clone()
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.own.staging()
    }

    pub(super) fn staged(&self) -> PathBuf {
        self.own.staged()
    }

    /// What stands in `<home>/forks` with this fork's id and a suffix.
    pub(super) fn siblings(&self) -> io::Result<Vec<Sibling>> {
        self.own.siblings()
    }
}

/// Something beside the finished folders.
#[derive(Debug, Clone)]
pub(super) struct Sibling {
    pub(super) own: OwnFolder,
    pub(super) path: PathBuf,
    pub(super) kind: SiblingKind,
}

/// What a name beside finished folders stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SiblingKind {
    Making,
    Unmade,
    Leaving,
    Trash,
}

/// All that is beside finished folders of forks, in the order of names. Names we never give are left alone.
pub(super) fn siblings(home: &Path) -> io::Result<Vec<Sibling>> {
    Ok(listed(&forks_of(home))?.into_iter().filter_map(|path| sibling(home, path)).collect())
}

fn sibling(home: &Path, path: PathBuf) -> Option<Sibling> {
    let (name, kind) = sibling_name(path.file_name()?)?;
    let own = ForkFolder::new(home, name.to_str()?).ok()?.own;
    own.may_have(kind).then_some(Sibling { own, path, kind })
}

fn sibling_name(file_name: &OsStr) -> Option<(&OsStr, SiblingKind)> {
    let bytes = file_name.as_bytes();
    let dot = bytes.iter().rposition(|byte| *byte == b'.')?;
    let (name, suffix) = (OsStr::from_bytes(&bytes[..dot]), std::str::from_utf8(&bytes[dot + 1..]).ok()?);
    let kind = match suffix.split_once('-') {
        None if suffix == "making" => SiblingKind::Making,
        Some(("unmade", number)) if number.parse::<u32>().is_ok() => SiblingKind::Unmade,
        Some(("leaving", number)) if number.parse::<u32>().is_ok() => SiblingKind::Leaving,
        Some(("trash", number)) if number.parse::<u32>().is_ok() => SiblingKind::Trash,
        _ => return None,
    };
    Some((name, kind))
}

fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn forks_of(home: &Path) -> PathBuf {
    home.join("forks")
}

/// Makes a folder and those above it, readable by this user alone. One that exists keeps its mode.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Renames to the first free of `<name>.<suffix>-1`, `-2` … beside the folder and returns that name.
pub(super) fn set_aside(own: &OwnFolder, path: &Path, suffix: &str) -> io::Result<PathBuf> {
    make_private(&own.beside)?;
    for number in 1u32.. {
        let aside = own.beside.join(own.named(&format!("{suffix}-{number}")));
        match rename_new(path, &aside) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Renames, and never onto something that is there, an empty folder included.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems know only the plain rename. It too refuses a folder that is not empty.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_err() => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_become_names() {
        let home = Path::new("/nonexistent/home");
        for bad in ["", ".", "..", "a/b", "-f", "a.making", "a b", "é", &"a".repeat(65)] {
            assert!(matches!(ForkFolder::new(home, bad), Err(PlanError::BadForkId { .. })), "{bad}");
        }
        let fork = ForkFolder::new(home, "0b8f-1").expect("a good id");
        assert_eq!(fork.folder(), Path::new("/nonexistent/home/forks/0b8f-1"));
        assert_eq!(fork.branch(), "frith/fork-0b8f-1");
        assert!(matches!(ForkFolder::new(Path::new("home"), "a"), Err(PlanError::Relative { .. })));
    }

    #[test]
    fn foreign_names_are_left_alone() {
        let home = Path::new("/nonexistent/home");
        let kind = |name: &str| sibling(home, home.join("forks").join(name)).map(|one| one.kind);
        assert_eq!(kind("a.making"), Some(SiblingKind::Making));
        assert_eq!(kind("a.unmade-3"), Some(SiblingKind::Unmade));
        assert_eq!(kind("a.trash-12"), Some(SiblingKind::Trash));
        for foreign in ["a", "a.trash", "a.trash-x", "a.leaving-1", "a.making-1", ".trash-1", "a.backup"] {
            assert_eq!(kind(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn worktrees_share_their_root_with_anyones_folders() {
        let own = OwnFolder::worktree(Path::new("/nonexistent/home"), Path::new("/roots/app-t.making")).expect("no root");
        assert_eq!(own.staged(), Path::new("/roots/.frith-worktrees/app-t.making.making/app-t.making"));
        let read = |name: &str| sibling_name(OsStr::new(name)).map(|(name, kind)| (name.to_owned(), kind));
        assert_eq!(read("app-t.making.making"), Some((own.name().to_owned(), SiblingKind::Making)));
        assert_eq!(read("app.leaving-2"), Some(("app".into(), SiblingKind::Leaving)));
        assert!(OwnFolder::worktree(Path::new("/nonexistent/home"), Path::new("/")).is_none());
    }
}
