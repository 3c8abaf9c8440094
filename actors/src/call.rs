//! A call: one request with everything that travels beside it, and what comes back.
//!
//! These are the payloads of the local socket. They carry no identity: who calls is read from the kernel.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use frith_store::{
    error::{Failure, StoreError},
    id::{CallId, PlaceId},
    model::HostSession,
    refusal::Refusal,
    text::PathText,
};
use serde::{Deserialize, Serialize};

use crate::{api::Operation, env::world::WorkLost, terminal::wire};

/// A request and what travels beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Envelope {
    /// Names this call: sent again with the same one, it is answered with the same outcome.
    pub call: CallId,
    /// The caller's folder.
    pub folder: Option<PathText>,
    /// The caller's environment, for a launch; empty otherwise.
    pub environment: Vec<(Bytes, Bytes)>,
    /// The caller's terminal as columns and rows, for a launch and an attach.
    pub size: Option<(u16, u16)>,
    /// What the caller's environment says of the agent it belongs to.
    pub claims: Claims,
    /// What is asked.
    pub operation: Operation,
}

/// What a caller's environment says of the agent it belongs to. It only chooses among the agents that the kernel's word for the
/// caller leaves: by itself it proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// What the variable of agents' shells says, as it is: an id or the beginning of one.
    pub agent: Option<String>,
    /// The sessions that variables of hosts name, the surest first.
    pub sessions: Vec<HostSession>,
    /// What an MCP server says, where one asks for the agent it works for.
    pub server: Option<Server>,
}

/// What an MCP server says of itself and of the call of a tool that it passes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// The host that it was started by.
    pub host: String,
    /// The place that it was entered for; none where its entry names none.
    pub place: Option<PlaceId>,
    /// Which of the session's agents calls, as the host tells.
    pub by: Option<CalledBy>,
}

/// Which of a session's agents calls a tool. It only chooses among the sub-agents of the agent that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CalledBy {
    /// The one that makes the tool call with this id of the host.
    ToolUse(String),
    /// The one with this id of the host; the session's when it is the main agent.
    Agent(String),
}

/// Text of the system that need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes(Vec<u8>);

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Bytes> for OsString {
    fn from(bytes: Bytes) -> Self {
        Self::from_vec(bytes.0)
    }
}

/// What a client sends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToNode {
    /// A call; the first thing on a connection.
    Call(Box<Envelope>),
    /// What an attached viewer does.
    Terminal(wire::FromViewer),
    /// What the answer held was handed to whoever it is for; after an answer that waits to hear so.
    Written,
}

/// What a node sends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromNode {
    /// How far a long call is.
    Progress(Progress),
    /// The answer: the reply, serialised, or why there is none.
    Answer(Result<Vec<u8>, Failed>),
    /// What an attached viewer is shown, after the answer.
    Terminal(wire::ToViewer),
}

/// How far a long call is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub what: String,
    /// How much is done, and of how much, where that is known.
    pub part: Option<(u64, u64)>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failed {
    /// Understood, and no.
    Refused(Box<Refusal>),
    /// Something broke.
    Broken {
        /// The fact, then its causes.
        facts: Vec<String>,
        /// What would mend it.
        hint: Option<String>,
    },
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Refused(refusal),
            Failure::Broken(error) => Self::broken(&error),
        }
    }
}

impl Failed {
    fn broken(error: &StoreError) -> Self {
        Self::Broken { facts: facts(error), hint: error.hint() }
    }

    /// That something broke, and by what.
    pub fn broken_by(fact: &str, cause: &dyn std::error::Error) -> Self {
        Self::Broken { facts: [vec![fact.to_owned()], facts(cause)].concat(), hint: None }
    }

    /// That work beside the runtime was lost: a bug, of which the log has more.
    pub fn from_work(lost: WorkLost) -> Self {
        Self::Broken { facts: facts(&lost), hint: Some("`frith logs` has the details".into()) }
    }
}

fn facts(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect()
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Broken { facts, .. } => f.write_str(&facts.join(": ")),
        }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::broken(&error)
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
