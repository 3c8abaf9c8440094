//! An agent, its process and its end, as the machine that runs it recorded them.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{
    id::{AgentId, MachineId, PlaceId},
    text::PathText,
    time::Timestamp,
};

/// A process, told apart from a later one with the same number by when it started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRef {
    /// Its number.
    pub pid: u32,
    /// When it started, as its system tells it: only ever compared for equality.
    pub started: String,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EndHow {
    /// Its process returned this code.
    Exited(i32),
    /// Its process was ended by this signal.
    Signalled(i32),
    /// Somebody stopped it.
    Stopped(By),
    /// It never started, for this reason.
    NotStarted(String),
    /// Its node was gone, and the next one found and ended what was left of it.
    Lost,
    /// Its host said that the session is over.
    SessionOver,
    /// Its host's process was found to be gone.
    Gone,
}

impl EndHow {
    /// How it failed, when nobody stopped it and it did not end well by itself.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Exited(0) | Self::Stopped(_) | Self::NotStarted(_) | Self::Lost | Self::SessionOver | Self::Gone => None,
            Self::Exited(code) => Some(format!("ended with code {code}")),
            Self::Signalled(signal) => Some(format!("was ended by signal {signal}")),
        }
    }
}

/// That an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEnd {
    /// When.
    pub at: Timestamp,
    /// How.
    pub how: EndHow,
}

/// What is known of an agent that a node launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Launched {
    /// The epoch of the place's seat under which it was launched.
    pub epoch: u64,
    /// Who asked for it.
    pub by: By,
    /// The command that started it, without secrets; empty until it is known.
    pub command: Vec<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// The effort asked for.
    pub effort: Option<String>,
    /// Its process, once it runs.
    pub process: Option<ProcessRef>,
}

/// The session of a host that an agent is, as the host names it. Two hosts may use the same id, and one host may use it again,
/// so it finds an agent and is never its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSession {
    /// The host that says so.
    pub host: String,
    /// The host's own id of the session; none where it has none.
    pub id: Option<String>,
    /// The host's own id of the sub-agent; none for the session's main agent.
    pub sub_agent: Option<String>,
}

/// Whether an agent is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// It was seen not long ago.
    Live,
    /// It did not end, and nothing was heard of it for a while.
    Idle,
    /// It ended.
    Ended,
}

/// What the machine of an agent alone knows of it: when it was seen last, and what it did then. It is replaced again and again and
/// is no fact that others need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// When something of it was heard last.
    pub at: Timestamp,
    /// A tool and the beginning of its main argument.
    pub activity: Option<String>,
    /// What it says of itself.
    pub status: Option<String>,
    /// Where it works.
    pub folder: Option<PathText>,
    /// The process of its host.
    pub process: Option<ProcessRef>,
    /// The first processes above its hooks, the nearest first.
    pub ancestors: Vec<ProcessRef>,
    /// Whether it waits at its prompt; none while nobody said.
    pub at_prompt: Option<bool>,
}

/// One session of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The kind it was launched as, or the host it registered from.
    pub host: String,
    /// The model it runs, where its host tells.
    pub model: Option<String>,
    /// The session it is, once its host told.
    pub session: Option<HostSession>,
    /// The agent whose sub-agent it is.
    pub parent: Option<AgentId>,
    /// The machine it runs on.
    pub machine: MachineId,
    /// The place it works in.
    pub place: Option<PlaceId>,
    /// The folder it started in, or the last one that was recorded.
    pub folder: Option<PathText>,
    /// When it started.
    pub started: Timestamp,
    /// Set when it ended.
    pub ended: Option<AgentEnd>,
    /// Set when a node launched it.
    pub launch: Option<Launched>,
}

impl Agent {
    /// Whether its process runs already, as far as is recorded.
    pub fn is_running(&self) -> bool {
        self.ended.is_none() && self.launch.as_ref().is_none_or(|launch| launch.process.is_some())
    }
}
