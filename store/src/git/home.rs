//! Where a fork's folder stands, and the names beside it that its making and removing use.
//!
//! All of them are siblings in `<home>/forks`, so that a rename is all it takes to move between them:
//! `<fork id>` is a finished folder and nothing else, `<fork id>.making` is being built, `<fork id>.unmade-<n>` is what
//! a failed or killed making left, `<fork id>.trash-<n>` is a finished folder on its way out.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::error::PlanError;

/// The place of one fork's folder on this machine. It is worked out from the fork's id alone, so no message from
/// elsewhere can point a removal at anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkFolder {
    home: PathBuf,
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
        Ok(Self { home, id: fork_id.to_owned() })
    }

    /// FRITH_HOME.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The finished folder: `<home>/forks/<fork id>`.
    pub fn folder(&self) -> PathBuf {
        self.forks().join(&self.id)
    }

    /// The branch of its worktree, without `refs/heads/`.
    pub fn branch(&self) -> String {
        format!("frith/fork-{}", self.id)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn forks(&self) -> PathBuf {
        forks_of(&self.home)
    }

    /// The folder in which one making works: a lock, a record, and the folder being built.
    pub(super) fn staging(&self) -> PathBuf {
        self.forks().join(format!("{}.making", self.id))
    }

    /// The folder being built. It has its final name, because git names its record of a worktree after it.
    pub(super) fn staged(&self) -> PathBuf {
        self.staging().join(&self.id)
    }

    /// What stands in `<home>/forks` with this fork's id and a suffix.
    pub(super) fn siblings(&self) -> io::Result<Vec<Sibling>> {
        Ok(siblings(&self.home)?.into_iter().filter(|one| one.fork.id == self.id).collect())
    }
}

/// Something beside the finished folders.
#[derive(Debug, Clone)]
pub(super) struct Sibling {
    pub(super) fork: ForkFolder,
    pub(super) path: PathBuf,
    pub(super) kind: SiblingKind,
}

/// What a name in `<home>/forks` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SiblingKind {
    Making,
    Unmade,
    Trash,
}

/// All that is beside finished folders, in the order of names. Names we never give are left alone.
pub(super) fn siblings(home: &Path) -> io::Result<Vec<Sibling>> {
    let entries = match std::fs::read_dir(forks_of(home)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths.into_iter().filter_map(|path| sibling(home, path)).collect())
}

fn sibling(home: &Path, path: PathBuf) -> Option<Sibling> {
    let (id, suffix) = path.file_name()?.to_str()?.split_once('.')?;
    let kind = match suffix.split_once('-') {
        None if suffix == "making" => SiblingKind::Making,
        Some(("unmade", number)) if number.parse::<u32>().is_ok() => SiblingKind::Unmade,
        Some(("trash", number)) if number.parse::<u32>().is_ok() => SiblingKind::Trash,
        _ => return None,
    };
    let fork = ForkFolder::new(home, id).ok()?;
    Some(Sibling { fork, kind, path })
}

fn forks_of(home: &Path) -> PathBuf {
    home.join("forks")
}

/// Makes a folder and those above it, readable by this user alone. One that exists keeps its mode.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Renames to the first free of `<fork id>.<suffix>-1`, `-2` … and returns that name.
pub(super) fn set_aside(fork: &ForkFolder, path: &Path, suffix: &str) -> io::Result<PathBuf> {
    for number in 1u32.. {
        let aside = fork.forks().join(format!("{}.{suffix}-{number}", fork.id));
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
        for foreign in ["a", "a.trash", "a.trash-x", "a.making-1", ".trash-1", "a.backup"] {
            assert_eq!(kind(foreign), None, "{foreign}");
        }
    }
}
