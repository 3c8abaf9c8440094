//! A machine's outbox: the messages its agents and persons sent, as a chain cut into segments like the log. Nothing writes
//! one yet; the format stands so that it need not change.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, CallId, PlaceId, TaskId},
    model::By,
};

use super::Text;

/// To whom a message goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipient {
    /// One agent.
    Agent(AgentId),
    /// Whoever works in a place, now or next.
    Place(PlaceId),
    /// A person, as `user@machine`.
    Person(String),
}

/// What an entry of an outbox says. New kinds are added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outgoing {
    /// A message.
    Message {
        /// The call that sent it, so that a retry is the same message.
        id: CallId,
        /// Who sends.
        from: By,
        /// To whom.
        to: Recipient,
        /// The task it is about.
        task: Option<TaskId>,
        /// What it says.
        text: Text,
    },
}
