//! What can go wrong here, about one type per operation. Each error carries its facts, and its hint beside it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::watch::Step;

/// A run of `git` that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("`git` cannot be started: {source}")]
    NotStarted {
        /// What the system said.
        source: io::Error,
    },
    /// Git said no.
    #[error("`{command}` failed{}: {}", exit_words(*.code), last_words(.lines))]
    Refused {
        /// The command as one would type it.
        command: String,
        /// Exit code, none when a signal ended it.
        code: Option<i32>,
        /// The last lines it printed.
        lines: Vec<String>,
    },
    /// It took longer than allowed and was ended.
    #[error("`{command}` was ended because it took longer than {}", minutes(*.allowed))]
    TimedOut {
        /// The command as one would type it.
        command: String,
        /// What it was allowed.
        allowed: Duration,
    },
    /// A stop was asked for while it ran.
    #[error("`{command}` was stopped")]
    Cancelled {
        /// The command as one would type it.
        command: String,
    },
    /// Its output could not be read, or its end not awaited.
    #[error("`{command}` cannot be followed: {source}")]
    Stream {
        /// The command as one would type it.
        command: String,
        /// What the system said.
        source: io::Error,
    },
}

impl GitError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotStarted { .. } => Some("install git 2.36 or newer where the node's PATH finds it".into()),
            Self::Refused { lines, .. } if lines.len() > 1 => Some(lines.join("\n")),
            _ => None,
        }
    }
}

/// A repository that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The owner of the repository is someone else, and git will not work in it.
    #[error("the repository at `{}` belongs to another user, so git refuses it (`safe.directory`)", .path.display())]
    DubiousOwnership {
        /// The top of the work tree, or the git folder of a bare one.
        path: PathBuf,
    },
    /// A `.git` file that leads nowhere.
    #[error("`{}` leads to git data that is gone", .path.display())]
    BrokenLink {
        /// The `.git` file.
        path: PathBuf,
    },
    /// The folder is inside a `.git` folder.
    #[error("`{}` is inside the repository's own data", .path.display())]
    InsideGitData {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("`{}` cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Git's data is of a newer kind than this can read.
    #[error("the repository at `{}` has `{extension}`, which frith cannot read", .path.display())]
    Unsupported {
        /// Where it is.
        path: PathBuf,
        /// The setting that says so, and its value.
        extension: String,
    },
    /// Git's data cannot be understood.
    #[error("the repository at `{}` cannot be read: {source}", .path.display())]
    Repository {
        /// Where it is.
        path: PathBuf,
        /// What the reader said.
        source: Box<gix::error::Error>,
    },
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::DubiousOwnership { path } => {
                Some(format!("if you trust it: git config --global --add safe.directory {}", crate::shell::quoted(path)))
            }
            Self::BrokenLink { .. } => Some("`git worktree repair`, run in the main work tree, mends a moved one".into()),
            Self::InsideGitData { .. } => Some("choose the work tree instead".into()),
            Self::Unsupported { .. } => Some("`git refs migrate --ref-format=files` makes it readable".into()),
            _ => None,
        }
    }
}

/// Why a fork's folder is not made. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The id is not one this product makes, so it is not used as a file name.
    #[error("`{id}` is not a fork's id")]
    BadForkId {
        /// As given.
        id: String,
    },
    /// A folder must be named from the root.
    #[error("`{}` is not an absolute path", .path.display())]
    Relative {
        /// As given.
        path: PathBuf,
    },
    /// The parent's folder is not there.
    #[error("the parent's folder `{}` is gone", .path.display())]
    SourceGone {
        /// The parent's folder.
        path: PathBuf,
    },
    /// The parent's folder is something else.
    #[error("`{}` is not a folder", .path.display())]
    SourceNotAFolder {
        /// The parent's folder.
        path: PathBuf,
    },
    /// The parent's folder may not be looked at.
    #[error("the parent's folder `{}` cannot be read: {source}", .path.display())]
    SourceUnreadable {
        /// The parent's folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The parent's folder is where this product keeps its own files.
    #[error("`{}` is frith's own folder", .path.display())]
    SourceIsHome {
        /// The parent's folder.
        path: PathBuf,
    },
    /// The parent's repository cannot be used.
    #[error(transparent)]
    Repository(#[from] ReadError),
    /// There is nothing to check out.
    #[error("the repository at `{}` has no commit yet", .repository.display())]
    NoCommit {
        /// The top of its work tree.
        repository: PathBuf,
    },
    /// A bare repository has no folder to take over.
    #[error("the repository at `{}` is bare: it has no files to work on", .repository.display())]
    Bare {
        /// The git folder.
        repository: PathBuf,
    },
    /// The agent would have nowhere to start.
    #[error("`{}` is not part of commit {commit}, so a new worktree would not have it", .folder.display())]
    SubfolderNotCommitted {
        /// The parent's folder, from the top of its repository.
        folder: PathBuf,
        /// The commit, in hex.
        commit: String,
    },
    /// The agent would have nowhere to start, because the checkout is sparse.
    #[error("`{}` is outside the sparse checkout, so a new worktree would not have it", .folder.display())]
    SubfolderSparse {
        /// The parent's folder, from the top of its repository.
        folder: PathBuf,
    },
    /// Git checks a branch out once only.
    #[error("branch `{branch}` is checked out at `{}`", .folder.display())]
    BranchInUse {
        /// The fork's branch.
        branch: String,
        /// The work tree that has it.
        folder: PathBuf,
    },
    /// Someone locked the worktree that is gone, perhaps because its disk is away.
    #[error("the worktree `{}` is gone but locked{}", .folder.display(), reason_words(.reason))]
    GoneButLocked {
        /// Where it was.
        folder: PathBuf,
        /// The words given to `git worktree lock`.
        reason: String,
    },
    /// Something else stands at the fork's place.
    #[error("`{}` is there and is not a folder", .path.display())]
    TargetNotAFolder {
        /// The fork's folder.
        path: PathBuf,
    },
    /// The fork's place cannot be looked at.
    #[error("the fork's folder `{}` cannot be looked at: {source}", .path.display())]
    TargetUnreadable {
        /// The fork's folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What stands at the fork's place was not made whole by this product, or lost its git data since.
    #[error("`{}` is there but is no finished folder of this fork: {}", .path.display(), .why.words())]
    NotFinished {
        /// The fork's folder.
        path: PathBuf,
        /// What is missing.
        why: Unfinished,
    },
    /// The finished folder no longer has the sub-folder to start in.
    #[error("`{}` is gone from the fork's folder", .folder.display())]
    StartGone {
        /// The folder the agent would start in.
        folder: PathBuf,
    },
}

/// What a folder lacks to be a finished one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Its `.git` file names an administrative folder that is not there.
    GitDataGone,
    /// Git registered it for another place.
    RegisteredElsewhere,
    /// It was never checked out.
    NeverCheckedOut,
}

impl Unfinished {
    fn words(self) -> &'static str {
        match self {
            Self::GitDataGone => "git's data of it is gone",
            Self::RegisteredElsewhere => "git knows it under another path",
            Self::NeverCheckedOut => "it was never checked out",
        }
    }
}

impl PlanError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Repository(error) => error.hint(),
            Self::Relative { .. } => Some("name the folder from the root".into()),
            Self::SourceGone { .. } | Self::SourceNotAFolder { .. } | Self::SourceIsHome { .. } => {
                Some("choose it anew: `frith workspace set <parent> --folder <path>`".into())
            }
            Self::NoCommit { .. } => Some("commit something first".into()),
            Self::Bare { .. } => Some("choose one of its worktrees as the parent's folder".into()),
            Self::SubfolderNotCommitted { .. } => Some("commit a file in it first, or choose the folder above".into()),
            Self::SubfolderSparse { folder } => Some(format!("git sparse-checkout add {}", crate::shell::quoted(folder))),
            Self::BranchInUse { folder, .. } => Some(format!("switch `{}` to another branch, or remove that worktree", folder.display())),
            Self::GoneButLocked { folder, .. } => Some(format!("git worktree unlock {}", crate::shell::quoted(folder))),
            Self::TargetNotAFolder { .. } | Self::NotFinished { .. } | Self::StartGone { .. } => {
                Some("move it away, then start again: the branch is kept".into())
            }
            Self::BadForkId { .. } | Self::SourceUnreadable { .. } | Self::TargetUnreadable { .. } => None,
        }
    }
}

/// Why making the fork's folder did not succeed. What this call made was taken back, except after `Halted`.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A stop was asked for.
    #[error("making the fork's folder was stopped")]
    Cancelled,
    /// The limit passed.
    #[error("the fork's folder was not ready after {}", minutes(*.allowed))]
    TimedOut {
        /// What it was allowed.
        allowed: Duration,
    },
    /// Another call is making the same folder.
    #[error("`{}` is being made by another call", .folder.display())]
    BeingMade {
        /// The fork's folder.
        folder: PathBuf,
    },
    /// The world changed since the plan.
    #[error("`{}` changed since this was planned", .folder.display())]
    Stale {
        /// The fork's folder.
        folder: PathBuf,
    },
    /// What an earlier try left cannot be taken back.
    #[error("what an earlier try left at `{}` cannot be cleared away: {source}", .path.display())]
    Leftover {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: Box<RemoveError>,
    },
    /// Git said no.
    #[error(transparent)]
    Git(GitError),
    /// A repository cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The sub-folder to start in was not checked out.
    #[error("`{}` was not checked out, so the agent has nowhere to start", .folder.display())]
    StartMissing {
        /// The sub-folder, from the top of the repository.
        folder: PathBuf,
    },
    /// The links between the folder and git's record of it do not lead to each other.
    #[error("git's links of `{}` cannot be made right", .folder.display())]
    LinksWrong {
        /// The fork's folder.
        folder: PathBuf,
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

impl MakeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Git(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Leftover { source, .. } => source.hint(),
            Self::Stale { .. } | Self::Cancelled | Self::BeingMade { .. } => Some("start it again".into()),
            Self::StartMissing { folder } => Some(format!("git sparse-checkout add {}", crate::shell::quoted(folder))),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("make room on the disk, then start it again".into())
            }
            _ => None,
        }
    }
}

impl From<GitError> for MakeError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Cancelled { .. } => Self::Cancelled,
            other => Self::Git(other),
        }
    }
}

/// Why a fork's folder was not removed. It is still there, except after `Halted` and `LeftInTrash`.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// Something in it changed since the state it was to be removed in.
    #[error("`{}` changed since the agent was stopped: {}", .folder.display(), .what.join(", "))]
    Changed {
        /// The fork's folder.
        folder: PathBuf,
        /// What, in a few words each; at most eight.
        what: Vec<String>,
    },
    /// Something changed while it was removed, so it was brought back.
    #[error("`{}` changed while it was removed: {}", .folder.display(), .what.join(", "))]
    ChangedMeanwhile {
        /// The worktree.
        folder: PathBuf,
        /// What, in a few words each; at most eight.
        what: Vec<String>,
    },
    /// Git has no such worktree there, or by now another one.
    #[error("`{}` is not the worktree that was to be removed", .folder.display())]
    Replaced {
        /// The folder.
        folder: PathBuf,
    },
    /// The worktree's folder is there, so git's record of it is not to be dropped.
    #[error("`{}` is there", .folder.display())]
    NotGone {
        /// The folder.
        folder: PathBuf,
    },
    /// Git has nothing any more by which the folder could be a worktree again.
    #[error("git's record of `{}` is gone, and no other belongs to it", .folder.display())]
    RecordGone {
        /// The folder.
        folder: PathBuf,
    },
    /// Commits in a submodule that no remote has would be lost with the worktree.
    #[error("commit {commit} of the submodule at `{}` is on no remote", .folder.display())]
    SubmoduleWork {
        /// The submodule, or git's data of it.
        folder: PathBuf,
        /// The commit, in hex.
        commit: String,
    },
    /// What is mounted in it would be emptied with it.
    #[error("something else is mounted in `{}`: {}", .folder.display(), paths(.mounts))]
    Mounted {
        /// The folder.
        folder: PathBuf,
        /// Where.
        mounts: Vec<PathBuf>,
    },
    /// Edits of which status says nothing would be lost with it.
    #[error("`{}` has edits that git was told to look away from: {}", .folder.display(), paths(.files))]
    HiddenEdits {
        /// The worktree.
        folder: PathBuf,
        /// The files, from its top.
        files: Vec<PathBuf>,
    },
    /// Other checkouts stand in it, and would go with it.
    #[error("other checkouts stand in `{}` and would go with it: {}", .folder.display(), paths(.nested))]
    Nested {
        /// The worktree.
        folder: PathBuf,
        /// The other ones.
        nested: Vec<PathBuf>,
    },
    /// The folder is not one that can be made again.
    #[error("`{}` is not a build cache to delete: {why}", .folder.display())]
    NotACache {
        /// The folder.
        folder: PathBuf,
        /// What is against it.
        why: &'static str,
    },
    /// What stands at the fork's place is a link or a file.
    #[error("`{}` is not a folder of frith's making", .path.display())]
    NotAFolder {
        /// The fork's place.
        path: PathBuf,
    },
    /// Someone locked the worktree.
    #[error("the worktree `{}` is locked{}", .folder.display(), reason_words(.reason))]
    Locked {
        /// The fork's folder.
        folder: PathBuf,
        /// The words given to `git worktree lock`.
        reason: String,
    },
    /// Commits that no branch holds would be lost with the folder.
    #[error("commit {commit} in `{}` is on no branch", .folder.display())]
    DetachedWork {
        /// The fork's folder.
        folder: PathBuf,
        /// The commit, in hex.
        commit: String,
    },
    /// A repository cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// It is out of its place and git has forgotten it, but not all of it could be deleted. The next sweep tries again.
    #[error("not all of `{}` could be deleted: {source}", .trash.display())]
    LeftInTrash {
        /// What is left.
        trash: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another call keeps changing the repository, or a stop was asked for while this one waited.
    #[error("the repository at `{}` is being changed by another call", .repository.display())]
    Busy {
        /// The git folder all its work trees share.
        repository: PathBuf,
    },
    /// The system said no.
    #[error("`{}` cannot be {doing}: {source}", .path.display())]
    Io {
        /// A participle: "renamed", "looked at".
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

impl RemoveError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => Some("try again in a moment".into()),
            Self::Changed { .. } => Some("look at it, then delete it by hand".into()),
            Self::Locked { folder, .. } => Some(format!("git worktree unlock {}", crate::shell::quoted(folder))),
            Self::ChangedMeanwhile { .. } => Some("look at it, then try again".into()),
            Self::SubmoduleWork { .. } => Some("push it from the submodule first".into()),
            Self::Mounted { .. } => Some("unmount it first".into()),
            Self::HiddenEdits { .. } => {
                Some("`git update-index --no-skip-worktree <file>`, or `--no-assume-unchanged`, has git look at one again".into())
            }
            Self::Nested { nested, .. } => {
                let first = nested.first().map(|one| crate::shell::quoted(one)).unwrap_or_default();
                Some(format!("move each elsewhere, or delete it if nobody needs it, such as {first}; `git worktree move` moves a worktree"))
            }
            Self::RecordGone { .. } => Some("copy what you need out of it, then delete it by hand".into()),
            Self::DetachedWork { commit, .. } => Some(format!("git branch <name> {commit} keeps it")),
            Self::Git(error) => error.hint(),
            Self::Read(error) => error.hint(),
            _ => None,
        }
    }
}

/// At most eight paths, and how many more there are.
fn paths(paths: &[PathBuf]) -> String {
    let mut named: Vec<String> = paths.iter().take(8).map(|path| format!("`{}`", path.display())).collect();
    if paths.len() > named.len() {
        named.push(format!("{} more", paths.len() - named.len()));
    }
    named.join(", ")
}

fn exit_words(code: Option<i32>) -> String {
    code.map_or_else(|| " by a signal".into(), |code| format!(" with exit code {code}"))
}

fn last_words(lines: &[String]) -> &str {
    let fatal = lines.iter().rev().find(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
    fatal.or(lines.last()).map_or("it printed nothing", String::as_str)
}

pub(super) fn reason_words(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

pub(super) fn minutes(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
