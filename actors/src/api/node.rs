//! The node itself: requests and replies.

use frith_store::{
    backup::Contents,
    id::{MachineId, TeamId},
    text::PathText,
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::AgentInfo;

/// Show this machine's node: version, machine, agents, store.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Status {}

/// Stop the node and every agent it runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Down {}

/// Write everything of this machine's store into one file: places, tasks, threads, attachments, and the configuration.
///
/// It is taken from the running node and holds what was true at one moment. The machine's key is not in it, and neither are
/// the folders of workspaces and forks: what was committed there is in your repositories. `frith restore` makes a store of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Backup {
    /// The file to write.
    #[arg(value_name = "FILE", value_parser = super::path_argument())]
    pub file: PathText,
    /// Write over a file that is there already.
    #[arg(long)]
    pub force: bool,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackedUp {
    /// The file.
    pub file: PathText,
    /// When what it holds was true.
    pub made: Timestamp,
    /// What it holds, counted.
    pub contents: Contents,
    /// How many long texts and attachments it holds.
    pub files: u64,
    /// How many of them were damaged and are not in it.
    pub left_out: u64,
    /// Whether it holds the configuration.
    pub config: bool,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Check that everything in the store agrees: queues with tasks, views with documents, logs with their chains.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Check {}

/// What does not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// How many documents were read.
    pub documents: u64,
    /// What was found, in words; nothing when all is well.
    pub found: Vec<String>,
}

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// This machine.
    pub machine: MachineId,
    /// Its name.
    pub name: String,
    /// The node's version.
    pub version: String,
    /// The node's process.
    pub pid: u32,
    /// Since when it runs.
    pub started: Timestamp,
    /// Where everything of it lies.
    pub home: PathText,
    /// Its binary was replaced while it runs: `frith down` and `frith up` take the new one.
    pub binary_replaced: bool,
    /// It runs as root, and so does every agent it starts.
    pub root: bool,
    /// The agents it runs.
    pub agents: Vec<AgentInfo>,
    /// How many it may run.
    pub max_agents: u32,
    /// How many workspaces and forks there are.
    pub places: u64,
    /// How many documents there are.
    pub documents: u64,
    /// The store's size in bytes.
    pub store_bytes: u64,
    /// What fails again and again, in words.
    pub troubles: Vec<String>,
    /// The team it is in.
    pub team: Option<TeamId>,
    /// The other machines of the team.
    pub peers: Vec<Peer>,
    /// How many tasks have a schedule.
    pub schedules: u64,
    /// When the next slot of a schedule comes, if one does.
    pub next_run: Option<Timestamp>,
    /// How many bytes the store gave back to the disk since the node runs.
    pub store_given_back: u64,
    /// How many messages are held back and not sent yet.
    pub unsent: u64,
    /// How many messages wait for the one who asks, unread.
    pub unread: u64,
}

/// Another machine of the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// The machine.
    pub machine: MachineId,
    /// Its name.
    pub name: String,
}

/// That the node stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// The node's process, which ends now.
    pub pid: u32,
    /// How many agents were stopped.
    pub agents: u32,
}
