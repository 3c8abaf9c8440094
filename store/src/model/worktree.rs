//! Worktrees: which one is meant, whose it is, and how it is known that its work is in the base.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, MachineId},
    text::PathText,
    time::Timestamp,
};

/// A linked worktree, told apart from a later one at the same path: git's record of it, and when that was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeId {
    /// `<git folder>/worktrees/<name>`: a branch may be renamed and a folder moved, and this stays.
    pub record: PathText,
    /// When git made the record, in nanoseconds since 1970 as its file system tells: only ever compared for equality.
    pub stamp: i64,
}

/// How it is known that merging a branch into the base would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// The base has its last commit.
    Ancestor,
    /// Both have the same files.
    SameTree,
    /// A trial merge gives the files of the base, as after a squash or a rebase.
    AddsNothing,
    /// The base has a commit with the same change, and was changed at the same lines since.
    SameChange,
}

/// That a worktree is somebody's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The worktree.
    pub worktree: WorktreeId,
    /// Where it stands.
    pub path: PathText,
    /// The main checkout of its repository; the git folder of one without.
    pub repository: PathText,
    /// The branch it was on when it was claimed, without `refs/heads/`.
    pub branch: Option<String>,
    /// What it is for.
    pub task: String,
    /// Whose it is; none while nobody has said, as when a host made it before its session was known.
    pub agent: Option<AgentId>,
    /// Who it is, in words: a host and its model, or what a person said.
    pub owner: Option<String>,
    /// What made it, as `hosts::pools` labels its path.
    pub origin: String,
    /// The commit that the repository's history began with, in hex: by this its clones on other machines are known.
    pub history: Option<String>,
}

impl Claim {
    /// Whether it waits for its agent.
    pub fn is_pending(&self) -> bool {
        self.agent.is_none() && self.owner.is_none()
    }
}

/// A claim, on the machine where its worktree stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claimed {
    /// The claim.
    pub claim: Claim,
    /// Where the worktree stands.
    pub machine: MachineId,
    /// Since when.
    pub at: Timestamp,
}
