//! Messages: to whom they go, whose mailbox they are in, how far they are; and those that wait on this machine before they are
//! sent, so that who wrote one can take it back.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{
    id::{AgentId, MachineId, MessageId, PlaceId, TaskId},
    time::Timestamp,
};

/// To whom a message goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Recipient {
    /// One agent.
    Agent(AgentId),
    /// Whoever works in a place, now or next.
    Place(PlaceId),
    /// A person, as `user@machine`.
    Person(String),
}

/// Whose mailbox a message is handed out from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mailbox {
    /// An agent's.
    Agent(AgentId),
    /// A person's, as `user@machine`.
    Person(String),
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mail {
    /// Its id, which a retry of sending it has too.
    pub id: MessageId,
    /// The machine it was sent from.
    pub machine: MachineId,
    /// Its number in that machine's outbox: what one sends stays in this order.
    pub number: u64,
    /// Who sent it.
    pub from: By,
    /// To whom.
    pub to: Recipient,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What it says: data, never an instruction.
    pub text: String,
    /// When it was sent, by that machine's clock.
    pub sent: Timestamp,
}

/// How far a message is, as whoever sent it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MailState {
    /// It waits here for the machine of its recipient.
    Queued,
    /// It is on the machine of its recipient.
    OnItsMachine,
    /// It was pushed to its recipient, or returned.
    Delivered,
    /// Its recipient asked for it and has it.
    Read,
    /// Its recipient ended before.
    RecipientEnded,
    /// Its recipient ended so long ago that nobody will read it.
    Expired,
}

/// A message that is held back. Nobody but this machine knows of it yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldMessage {
    /// Its id, by which it can be taken back.
    pub id: MessageId,
    /// Who wrote it.
    pub by: By,
    /// When it was written.
    pub written: Timestamp,
    /// When it is sent.
    pub due: Timestamp,
    /// Where it goes.
    pub to: HeldFor,
    /// What it says: data, never an instruction.
    pub text: String,
}

/// Where a message that is held back goes. New ones are added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HeldFor {
    /// The thread of a task.
    Thread(TaskId),
}
