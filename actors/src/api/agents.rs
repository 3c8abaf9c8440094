//! Agents: requests and replies.

use frith_store::{
    id::{AgentId, AgentRef, MachineRef, MessageRef, PlaceId, PlaceRef},
    model::{Agent, HeldMessage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::{Home, PlaceName};
use crate::terminal::Attention;

/// Launch an agent in a place, in a terminal of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(value_name = "PLACE")]
    pub place: Option<PlaceRef>,
    /// The kind of agent, as configured; the one last launched there when absent.
    #[arg(long, short = 'k', value_name = "KIND")]
    pub kind: Option<String>,
    /// The machine that is to run it; this one when absent.
    #[arg(long, value_name = "MACHINE")]
    pub on: Option<MachineRef>,
    /// The model, from the kind's list.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The effort, from the kind's list.
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
}

/// Stop an agent and every process it started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// The agent's id, or the name of the place it works in.
    #[arg(value_name = "AGENT|PLACE")]
    pub agent: AgentRef,
}

/// Watch an agent's terminal and type into it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Attach {
    /// The agent's id, or the name of the place it works in.
    #[arg(value_name = "AGENT|PLACE")]
    pub agent: AgentRef,
    /// Only watch: nothing typed goes to the agent.
    #[arg(long, short = 'r')]
    #[serde(default)]
    pub read_only: bool,
}

/// List agents: kind, place, since when, how they ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Sessions {
    /// Also those that ended.
    #[arg(long, short = 'a')]
    pub all: bool,
}

/// Show one agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Show {
    /// The agent's id, or the name of the place it works in.
    #[arg(value_name = "AGENT|PLACE")]
    pub agent: AgentRef,
}

/// Tell which agent is calling.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Whoami {}

/// Take back a message that is held back and not sent yet; without one, list those that are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Unsend {
    /// The message, by the id that sending it answered.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<MessageRef>,
}

/// What was taken back, and what still waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unsent {
    /// The message that was taken back; none when none was named.
    pub unsent: Option<HeldMessage>,
    /// The messages that are held back, in the order in which they are sent.
    pub messages: Vec<HeldMessage>,
}

/// One agent, with where it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The agent.
    pub agent: Agent,
    /// The place it works in.
    pub place: Option<PlaceName>,
    /// The machine it runs on.
    pub machine: String,
    /// How many people watch its terminal.
    pub attached: u32,
    /// What its screen says it does; null when it is not known.
    pub attention: Option<Attention>,
}

/// Agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    /// Those that run first, then by when they started, newest first.
    pub agents: Vec<AgentInfo>,
}

/// The answer before an attached terminal's output begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// The agent.
    pub agent: AgentId,
    /// The place it works in.
    pub place: Option<PlaceName>,
}

/// Which agent is calling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its id.
    pub id: AgentId,
    /// The kind it was launched as.
    pub host: String,
    /// The place it works in.
    pub place: Option<PlaceName>,
    /// The machine it runs on.
    pub machine: Home,
    /// The tasks it has in hand.
    pub holds: Vec<frith_store::id::TaskId>,
    /// The place whose id its tools name.
    pub place_id: Option<PlaceId>,
    /// How it was told apart.
    pub linked_by: String,
}
