//! Forks: requests and replies.

use frith_store::{
    id::{AgentId, MachineId, MachineRef, PlaceId, PlaceRef, TaskId, TaskRef},
    model::CheckoutKind,
    text::PathText,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{agents::AgentInfo, workspace::PlaceInfo};

/// Make a fork of a workspace: a second queue, folder and agent, to be merged back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Create {
    /// The workspace to fork, by name or id; the one of the current folder when absent.
    #[arg(value_name = "WORKSPACE")]
    pub workspace_id: Option<PlaceRef>,
    /// The fork's name; made from the workspace's when absent.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Give a task a fork of its own: fork, move the task there, launch an agent on it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct SpinUp {
    /// The task, not started or blocked.
    #[arg(value_name = "TASK")]
    pub task: TaskRef,
    /// The kind of agent; the one last launched in the parent when absent.
    #[arg(long, short = 'k', value_name = "KIND")]
    #[serde(default)]
    pub kind: Option<String>,
    /// The machine that is to run it; this one when absent.
    #[arg(long, value_name = "MACHINE")]
    #[serde(default)]
    pub on: Option<MachineRef>,
    /// The model, from the kind's list.
    #[arg(long, value_name = "MODEL")]
    #[serde(default)]
    pub model: Option<String>,
    /// The effort, from the kind's list.
    #[arg(long, value_name = "EFFORT")]
    #[serde(default)]
    pub effort: Option<String>,
}

/// Merge a fork back: its tasks become the parent's, its agent is stopped. No git merge is made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Merge {
    /// The fork, by name or id.
    #[arg(value_name = "FORK")]
    pub workspace_id: PlaceRef,
    /// Also remove its folder; the branch is kept, uncommitted changes go.
    #[arg(long)]
    #[serde(default)]
    pub delete_folder: bool,
    /// Only tell what would happen.
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
}

/// What spinning a task up made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpunUp {
    /// The fork.
    pub fork: PlaceInfo,
    /// The task, now in it.
    pub task: TaskId,
    /// The agent.
    pub agent: AgentInfo,
    /// True when an earlier try had made the fork already.
    pub continued: bool,
}

/// What merging a fork did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// The fork.
    pub fork_id: PlaceId,
    /// The fork's name.
    pub fork: String,
    /// Where its tasks are now.
    pub parent_id: PlaceId,
    /// The parent's name.
    pub parent: String,
    /// How many tasks went over.
    pub moved_tasks: u32,
    /// How many of them are templates, whose schedules go on in the parent.
    pub schedules: u32,
    /// The agent that was, or would be, stopped.
    pub stopped_agent: Option<AgentId>,
    /// The fork's folders.
    pub folders: Vec<MergedFolder>,
    /// False when it was only asked what would happen.
    pub done: bool,
}

/// One folder of a merged fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergedFolder {
    /// The machine it stands on.
    pub machine: MachineId,
    /// The folder.
    pub path: PathText,
    /// Worktree or copy.
    pub kind: CheckoutKind,
    /// How many uncommitted changes it has; null when that cannot be told.
    pub uncommitted: Option<u64>,
    /// What became of it.
    pub fate: FolderFate,
}

/// What became of a merged fork's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FolderFate {
    /// It was left alone.
    Kept,
    /// It was removed; a worktree's branch was kept at this commit.
    Removed {
        /// The branch's tip, when it was a worktree.
        tip: Option<String>,
    },
    /// It was to be removed and was kept, for this reason.
    KeptBecause(String),
    /// It was gone already.
    Gone,
    /// It would be removed, with its uncommitted changes; a worktree's branch would be kept.
    ToBeRemoved,
}
