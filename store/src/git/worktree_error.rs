//! What can go wrong with worktrees that agents work in. Each error carries its facts, and its hint beside it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::error::{GitError, MakeError, ReadError, RemoveError, minutes, reason_words};
use super::watch::Step;
use crate::shell::quoted;

/// Why a worktree was not made. What the call made was taken back, except after `Halted`.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// Nowhere to put it.
    #[error("no root for worktrees is set")]
    RootEmpty,
    /// A root must be named from the top, without steps back.
    #[error("`{}` is no plain absolute path", .root.display())]
    RootNotPlain {
        /// As given.
        root: PathBuf,
    },
    /// What the system clears away is no place for work.
    #[error("the root `{}` is under `{}`, which the system empties", .root.display(), .temporary.display())]
    RootTemporary {
        /// Where worktrees were to be put.
        root: PathBuf,
        /// The folder of temporary files.
        temporary: PathBuf,
    },
    /// A checkout inside another is scanned, copied and deleted with it.
    #[error("the root `{}` is inside the worktree `{}`", .root.display(), .worktree.display())]
    RootInsideWorktree {
        /// Where worktrees were to be put.
        root: PathBuf,
        /// The top of the work tree around it.
        worktree: PathBuf,
    },
    /// The name is not that of a folder.
    #[error("`{}` is not the name of a folder", .name.display())]
    BadDirectory {
        /// As given.
        name: OsString,
    },
    /// Git takes no such name for a branch.
    #[error("`{branch}` is not the name of a branch")]
    BadBranch {
        /// As given.
        branch: String,
    },
    /// The folder is in no repository.
    #[error("`{}` is in no git repository", .folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
    },
    /// Something stands there.
    #[error("`{}` is there already", .path.display())]
    PathExists {
        /// Where the worktree was to be.
        path: PathBuf,
    },
    /// Git has a record of a worktree there.
    #[error("git still has a worktree at `{}`, which is gone{}", .path.display(), locked_words(.locked.as_deref()))]
    StillRegistered {
        /// Where the worktree was to be.
        path: PathBuf,
        /// The words of its lock, when it is locked.
        locked: Option<String>,
    },
    /// The branch is there.
    #[error("branch `{branch}` is there already, at {tip}{}", checked_out_words(.checked_out.as_ref()))]
    BranchExists {
        /// Without `refs/heads/`.
        branch: String,
        /// Its tip, in hex.
        tip: String,
        /// The work tree that has it.
        checked_out: Option<PathBuf>,
    },
    /// There is no such commit.
    #[error("the repository has no commit {base}")]
    BaseUnknown {
        /// As given.
        base: String,
    },
    /// Another call is making the same worktree.
    #[error("`{}` is being made by another call", .path.display())]
    BeingMade {
        /// Where the worktree is to be.
        path: PathBuf,
    },
    /// What an earlier try left cannot be taken back.
    #[error("what an earlier try left at `{}` cannot be cleared away: {source}", .path.display())]
    Leftover {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: Box<RemoveError>,
    },
    /// A stop was asked for.
    #[error("making the worktree was stopped")]
    Cancelled,
    /// The limit passed.
    #[error("the worktree was not ready after {}", minutes(*.allowed))]
    TimedOut {
        /// What it was allowed.
        allowed: Duration,
    },
    /// Git said no.
    #[error(transparent)]
    Git(GitError),
    /// A repository cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The new worktree is not what was asked for.
    #[error("git made `{}` otherwise than asked: {what}", .path.display())]
    NotAsAsked {
        /// Where it is.
        path: PathBuf,
        /// In what.
        what: &'static str,
    },
    /// The system said no.
    #[error("`{}` cannot be {doing}: {source}", .path.display())]
    Io {
        /// A participle: "copied", "made".
        doing: &'static str,
        /// What it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `Watch::step` ended it; everything stands as it stood at that moment.
    #[error("halted before step {step:?}")]
    Halted {
        /// The step that was not taken.
        step: Step,
    },
}

impl AddError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::RootEmpty | Self::RootNotPlain { .. } => Some("name a folder from the top as the root of worktrees".into()),
            Self::RootTemporary { .. } | Self::RootInsideWorktree { .. } => {
                Some("choose a root outside of every worktree, such as a folder beside the repository".into())
            }
            Self::PathExists { .. } => Some("choose another task, or adopt what is there".into()),
            Self::StillRegistered { path, locked: Some(_) } => Some(format!("git worktree unlock {}", quoted(path))),
            Self::StillRegistered { .. } => Some("`frith worktree gc --yes` drops records of folders that are gone".into()),
            Self::BranchExists { checked_out: Some(_), .. } => Some("adopt the worktree that has it, or choose another task".into()),
            Self::BranchExists { .. } => Some("choose another task, or delete the branch if its work is merged".into()),
            Self::BeingMade { .. } | Self::Cancelled => Some("start it again".into()),
            Self::Git(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Leftover { source, .. } => source.hint(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("make room on the disk, then start it again".into())
            }
            _ => None,
        }
    }
}

impl From<GitError> for AddError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Cancelled { .. } => Self::Cancelled,
            other => Self::Git(other),
        }
    }
}

impl From<MakeError> for AddError {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Cancelled => Self::Cancelled,
            MakeError::TimedOut { allowed } => Self::TimedOut { allowed },
            MakeError::Git(error) => error.into(),
            MakeError::Read(error) => error.into(),
            MakeError::Io { doing, path, source } => Self::Io { doing, path, source },
            MakeError::Halted { step } => Self::Halted { step },
            MakeError::Leftover { path, source } => Self::Leftover { path, source },
            MakeError::BeingMade { folder } | MakeError::Stale { folder } => Self::BeingMade { path: folder },
            MakeError::StartMissing { folder } | MakeError::LinksWrong { folder } => {
                Self::NotAsAsked { path: folder, what: "its links do not lead to each other" }
            }
        }
    }
}

/// Why the words of a worktree's lock were not replaced. They are what they were, except after `Halted`.
#[derive(Debug, thiserror::Error)]
pub enum RelockError {
    /// Git has no worktree there.
    #[error("`{}` is not a linked worktree of the repository", .path.display())]
    NotAWorktree {
        /// The folder.
        path: PathBuf,
    },
    /// The lock is another than the one that was to be replaced.
    #[error("the lock of `{}` changed meanwhile: it {}", .path.display(), found_words(.found.as_deref()))]
    Changed {
        /// The worktree.
        path: PathBuf,
        /// Its words now; none when it is not locked.
        found: Option<String>,
    },
    /// The new words could not be set; the old ones are back unless `restored` says otherwise.
    #[error("`{}` cannot be locked anew: {source}", .path.display())]
    NotLocked {
        /// The worktree.
        path: PathBuf,
        /// Whether the old lock is there again.
        restored: bool,
        /// What git said.
        source: GitError,
    },
    /// Another call keeps changing the repository, or a stop was asked for while this one waited.
    #[error("the repository at `{}` is being changed by another call", .repository.display())]
    Busy {
        /// The git folder all its work trees share.
        repository: PathBuf,
    },
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The system said no.
    #[error("`{}` cannot be {doing}: {source}", .path.display())]
    Io {
        /// A participle: "looked at".
        doing: &'static str,
        /// What it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `Watch::step` ended it; everything stands as it stood at that moment.
    #[error("halted before step {step:?}")]
    Halted {
        /// The step that was not taken.
        step: Step,
    },
}

impl RelockError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } | Self::Changed { .. } => Some("try again in a moment".into()),
            Self::NotLocked { restored: false, path, .. } => Some(format!("git worktree lock {}", quoted(path))),
            Self::NotLocked { source, .. } | Self::Git(source) => source.hint(),
            _ => None,
        }
    }
}

fn locked_words(locked: Option<&str>) -> String {
    locked.map(|words| format!(", and locked{}", reason_words(words))).unwrap_or_default()
}

fn checked_out_words(folder: Option<&PathBuf>) -> String {
    folder.map(|folder| format!(", checked out at `{}`", folder.display())).unwrap_or_default()
}

fn found_words(found: Option<&str>) -> String {
    found.map_or_else(|| "is not locked".into(), |words| format!("is locked{}", reason_words(words)))
}
