//! Worktrees: requests and replies.

pub use frith_store::rules::worktree::{Collected, Kept, Reason};
use frith_store::{
    id::{AgentId, MachineId},
    model::{Presence, Proof},
    text::PathText,
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    agents::{AgentInfo, MachineName},
    path_argument,
};

/// Make a worktree for a task, on a branch of its own, locked as yours.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(
    description = "Make a git worktree for a task, on a new branch from a fresh origin default branch, claimed as yours. Work in the path it answers."
)]
pub struct Add {
    /// What it is for: a letter or digit, then letters, digits, `.`, `_`, `-`.
    #[arg(value_name = "TASK")]
    #[schemars(description = "Task id, such as t42.")]
    pub task: String,
    /// A word more for its branch: `<task>-<slug>`.
    #[arg(value_name = "SLUG")]
    #[schemars(description = "Branch becomes <task>-<slug>.")]
    pub slug: Option<String>,
    /// Where it starts; the latest commit of origin's default branch when absent.
    #[arg(long, value_name = "REVISION")]
    #[schemars(description = "Start at this revision instead.")]
    pub base: Option<String>,
    /// Take the last known commit of origin when origin cannot be reached.
    #[arg(long)]
    #[schemars(description = "Accept the last known commit of origin.")]
    pub offline: bool,
    /// Whose it is, in words; counts for nothing in an agent's shell.
    #[arg(long, value_name = "NAME")]
    #[schemars(skip)]
    pub owner: Option<String>,
}

/// Take over a worktree that a host made; its folder stays where it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "Claim a worktree that your host made. The folder stays.")]
pub struct Adopt {
    /// The worktree, or a folder in it; the current folder when absent.
    #[arg(value_name = "PATH", value_parser = path_argument())]
    #[schemars(description = "The worktree; absent: the folder you are in.")]
    pub path: Option<PathText>,
    /// What it is for; told by its lock or its branch when absent.
    #[arg(long, value_name = "TASK")]
    #[schemars(description = "Task id; absent: from its lock or branch.")]
    pub task: Option<String>,
}

/// Claim a worktree that you name, with git's lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The worktree, or a folder in it.
    #[arg(value_name = "PATH", value_parser = path_argument())]
    pub path: PathText,
    /// What it is for; told by its lock or its branch when absent.
    #[arg(long, value_name = "TASK")]
    #[serde(default)]
    pub task: Option<String>,
    /// Whose it is, in words; counts for nothing in an agent's shell.
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    pub owner: Option<String>,
}

/// List the worktrees of this repository: whose, in which state, how large, how old.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "List the worktrees of your repository: owner, agent, state (merged, dirty …), age.")]
pub struct List {
    /// Also those that other machines have of it, and their agents claimed.
    #[arg(long, short = 'a')]
    #[schemars(description = "Also other machines'.")]
    pub all: bool,
    /// Leave sizes and ages out, which takes a fraction of the time.
    #[arg(long)]
    #[schemars(description = "Leave sizes and ages out: faster.")]
    pub no_sizes: bool,
}

/// Remove a clean worktree of yours, and its branch when that is merged.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "Remove your own clean worktree, and its branch when merged. Never forced.")]
pub struct Remove {
    /// The worktree: a path, or the task it is for.
    #[arg(value_name = "PATH|TASK", value_parser = path_argument())]
    #[schemars(description = "Path or task id.")]
    pub worktree: PathText,
    /// Keep the branch, as for one that is not merged.
    #[arg(long)]
    #[schemars(description = "Keep the branch; needed when it is not merged.")]
    pub keep_branch: bool,
    /// Whose it is, in words; counts for nothing in an agent's shell.
    #[arg(long, value_name = "NAME")]
    #[schemars(skip)]
    pub owner: Option<String>,
}

/// Sweep finished and forgotten worktrees; only tells what it would do until `--yes`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Gc {
    /// Really do it.
    #[arg(skip)]
    pub yes: bool,
    /// Leave alone what was written to more lately than this, in milliseconds.
    #[arg(skip)]
    pub idle_ms: u64,
    /// Leave alone what somebody else locked for this long at least, in milliseconds.
    #[arg(skip)]
    pub stale_lock_ms: u64,
    /// Whose locks are yours, in words; counts for nothing in an agent's shell.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
}

/// How long a worktree is left alone when nothing else is said: a day.
pub const IDLE_MS: u64 = 24 * 60 * 60 * 1000;
/// How long somebody else's lock is honoured on what would lose nothing: a week.
pub const STALE_LOCK_MS: u64 = 7 * IDLE_MS;

impl Default for Gc {
    fn default() -> Self {
        Self { yes: false, idle_ms: IDLE_MS, stale_lock_ms: STALE_LOCK_MS, owner: None }
    }
}

/// Delete idle build caches in worktrees; only tells what it would do until `--yes`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Clean {
    /// Only in these worktrees; in all but the current one when absent.
    #[arg(value_name = "PATH", value_parser = path_argument())]
    pub paths: Vec<PathText>,
    /// Really do it.
    #[arg(skip)]
    pub yes: bool,
    /// Leave alone what was written to more lately than this, in milliseconds.
    #[arg(skip)]
    pub idle_ms: u64,
}

impl Default for Clean {
    fn default() -> Self {
        Self { paths: Vec::new(), yes: false, idle_ms: IDLE_MS }
    }
}

/// Tell which agent calls, in which worktree it is, and which it has.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Whoami {}

/// Make a worktree for a session of a host, which asks by a hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct ForHost {
    /// The host.
    #[arg(skip)]
    pub host: String,
    /// Its own id of the session.
    #[arg(skip)]
    pub session: Option<String>,
    /// The folder the session is in.
    #[arg(skip)]
    pub folder: PathText,
    /// What it calls the worktree.
    #[arg(skip)]
    pub name: String,
}

/// Remove a worktree that a host is done with, which says so by a hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct EndForHost {
    /// The host.
    #[arg(skip)]
    pub host: String,
    /// Its own id of the session.
    #[arg(skip)]
    pub session: Option<String>,
    /// The worktree.
    #[arg(skip)]
    pub path: PathText,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Added {
    /// Where it stands.
    pub path: PathText,
    /// Its branch.
    pub branch: String,
    /// What it is for.
    pub task: String,
    /// The agent whose it is.
    pub agent: Option<AgentId>,
    /// Whose it is, in words.
    pub owner: String,
    /// Where it starts.
    pub base: StartedAt,
    /// What is worth telling of how it was made.
    pub notes: Vec<String>,
}

/// Where a worktree starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedAt {
    /// What it was taken from, as `origin/main`.
    pub name: String,
    /// The commit, in hex.
    pub commit: String,
    /// When it was committed.
    pub committed: Option<Timestamp>,
    /// False only where origin could not be asked, and what was last known of it was taken.
    pub fresh: bool,
}

/// A worktree that was taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Adopted {
    /// Where it stands.
    pub path: PathText,
    /// What it is for.
    pub task: String,
    /// What made it.
    pub origin: String,
    /// The agent whose it is now.
    pub agent: Option<AgentId>,
    /// Whose it is, in words.
    pub owner: Option<String>,
    /// Whether it has git's lock.
    pub locked: bool,
    /// Whether it waits for its agent: nobody could be told yet.
    pub pending: bool,
    /// Whether anything changed.
    pub changed: bool,
}

/// The state of a worktree in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorktreeState {
    /// The main checkout, or one that has the default branch.
    Main,
    /// Its folder is gone.
    Stale,
    /// It has a claim, and neither its folder nor git's record of it is there.
    Missing,
    /// Git cannot read it.
    Broken,
    /// Something in it is in no commit, or that cannot be told.
    Dirty,
    /// Its work is in the base.
    Finished,
    /// It has no commit of its own.
    New,
    /// It has commits that are not in the base.
    Unmerged,
    /// A folder that git has forgotten.
    Orphan,
}

/// One worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeInfo {
    /// Where it stands.
    pub path: PathText,
    /// Its branch; null when it is on none.
    pub branch: Option<String>,
    /// Its commit, in hex.
    pub commit: Option<String>,
    /// Its state.
    pub state: WorktreeState,
    /// How it is known that its work is in the base.
    pub proof: Option<Proof>,
    /// How many commits it is ahead of the base.
    pub ahead: Option<u32>,
    /// How many changes are in no commit; null when that cannot be told, or was not asked.
    pub changes: Option<u32>,
    /// What git is in the middle of there.
    pub operation: Option<String>,
    /// Why git cannot read it.
    pub fault: Option<String>,
    /// Whether the caller is in it.
    pub current: bool,
    /// Whether another worktree has the same branch.
    pub doubled: bool,
    /// What made it.
    pub origin: String,
    /// What it is for.
    pub task: Option<String>,
    /// Whose it is, in words; null when nobody's, or when its lock says nothing.
    pub owner: Option<String>,
    /// The words of git's lock; null when it has none.
    pub lock: Option<String>,
    /// Whether it waits for its agent.
    pub pending: bool,
    /// The agent whose it is.
    pub agent: Option<AgentId>,
    /// Whether that agent is there; null when it is not known.
    pub presence: Option<Presence>,
    /// The agent that was seen in it last.
    pub session: Option<AgentId>,
    /// Bytes of what is in it without build caches.
    pub bytes: Option<u64>,
    /// Bytes of build caches.
    pub cache_bytes: Option<u64>,
    /// When something in it was written last.
    pub modified: Option<Timestamp>,
}

/// A worktree that another machine's log tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Elsewhere {
    /// The machine it stands on.
    pub machine: MachineId,
    /// The machine's name.
    pub machine_name: String,
    /// Where it stands there.
    pub path: PathText,
    /// The branch it was claimed on.
    pub branch: Option<String>,
    /// What it is for.
    pub task: String,
    /// What made it.
    pub origin: String,
    /// The agent whose it is.
    pub agent: Option<AgentId>,
    /// Whose it is, in words.
    pub owner: Option<String>,
    /// Since when.
    pub claimed: Timestamp,
}

/// The worktrees of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktrees {
    /// The main checkout; the git folder of a repository without.
    pub repository: PathText,
    /// What everything is compared with, as `origin/main`.
    pub base: Option<String>,
    /// The worktrees, the main checkout first.
    pub worktrees: Vec<WorktreeInfo>,
    /// Folders that git has forgotten.
    pub orphans: Vec<WorktreeInfo>,
    /// Those of other machines, when they were asked for.
    pub elsewhere: Vec<Elsewhere>,
}

/// A worktree that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedWorktree {
    /// Where it stood.
    pub path: PathText,
    /// Its branch.
    pub branch: Option<String>,
    /// The commit its branch, or it, was at, in hex: `git branch <name> <commit>` brings the work back.
    pub tip: Option<String>,
    /// Whether the branch went with it.
    pub branch_deleted: bool,
    /// Why the branch stayed that was to go.
    pub branch_fault: Option<String>,
    /// How it is known that nothing is lost.
    pub proof: Option<Proof>,
    /// What is left of its folder, out of the way, when not all of it could be deleted.
    pub left: Option<PathText>,
    /// Whether it was gone already.
    pub was_gone: bool,
}

/// What a sweep did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Each worktree.
    pub worktrees: Vec<SweptWorktree>,
    /// False when it was only asked what would happen.
    pub done: bool,
}

/// What a sweep did with a worktree, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweptWorktree {
    /// Where it stands, or stood.
    pub path: PathText,
    /// Its branch.
    pub branch: Option<String>,
    /// What it is for.
    pub task: Option<String>,
    /// Whose it is, in words; null when nobody's, or when its lock says nothing.
    pub owner: Option<String>,
    /// What is done with it, and why.
    pub decision: Collected,
    /// What was removed.
    pub removed: Option<RemovedWorktree>,
    /// Why what was decided could not be done.
    pub fault: Option<String>,
    /// When something in it was written last.
    pub modified: Option<Timestamp>,
}

/// Caches that were deleted, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cleaned {
    /// Each cache.
    pub caches: Vec<CleanedCache>,
    /// False when it was only asked what would happen.
    pub done: bool,
}

/// A build cache: a folder whose program tagged it as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanedCache {
    /// The folder.
    pub path: PathText,
    /// The worktree it is in.
    pub worktree: PathText,
    /// Its bytes.
    pub bytes: u64,
    /// When something in it was written last.
    pub modified: Option<Timestamp>,
    /// Whether it is deleted: it was not used for long enough.
    pub goes: bool,
    /// Why it could not be deleted.
    pub fault: Option<String>,
}

/// Who calls, and which worktrees it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InWorktree {
    /// The agent that calls; null for a person.
    pub agent: Option<AgentInfo>,
    /// The machine.
    pub machine: MachineName,
    /// Below which folder worktrees are made.
    pub root: PathText,
    /// The main checkout of the repository the caller is in; null outside of any.
    pub repository: Option<PathText>,
    /// The worktree the caller is in; null in the main checkout and outside of any.
    pub worktree: Option<PathText>,
    /// The worktrees it has.
    pub held: Vec<Held>,
}

/// A worktree that one has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// Where it stands.
    pub path: PathText,
    /// What it is for.
    pub task: String,
    /// The branch it was claimed on.
    pub branch: Option<String>,
    /// Whether its folder is gone.
    pub missing: bool,
}

/// Where a host's session has its worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MadeForHost {
    /// The worktree.
    pub path: PathText,
}
