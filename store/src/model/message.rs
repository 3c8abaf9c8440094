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

/// Where a message stands in the outbox it was sent from: by this, facts name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutboxEntry {
    /// The machine whose outbox it is.
    pub machine: MachineId,
    /// The number of the entry there.
    pub number: u64,
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mail {
    /// Its id, which a retry of sending it has too.
    pub id: MessageId,
    /// Where it stands in its machine's outbox: what one sends stays in this order.
    pub entry: OutboxEntry,
    /// Who sent it.
    pub from: By,
    /// To whom.
    pub to: Recipient,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What it says: data, never an instruction.
    pub text: String,
    /// When it was sent, by its machine's clock; never before what was sent there before it.
    pub sent: Timestamp,
}

/// What a log says of a message. The order of these is the order in which they count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MailEvent {
    /// When, by the clock of the machine whose log it is.
    pub at: Timestamp,
    /// The machine whose log it is.
    pub machine: MachineId,
    /// The number of the log's entry.
    pub number: u64,
    /// What happened.
    pub what: MailHappened,
}

impl MailEvent {
    /// Before everything that a log says.
    pub fn first() -> Self {
        let what = MailHappened::Took(AgentId::from_bytes([0; 16]));
        Self { at: Timestamp::from_ms(i64::MIN), machine: MachineId::from_bytes([0; 8]), number: 0, what }
    }

    /// Whether it was said after another: in one log by its entry, since the log's clock may have been set back between the two.
    pub fn is_after(&self, other: &Self) -> bool {
        if self.machine == other.machine { self.number > other.number } else { self.order() > other.order() }
    }

    /// By what it comes before others. Several messages may share it, since one entry of a log can name many.
    pub fn order(&self) -> (Timestamp, MachineId, u64) {
        (self.at, self.machine, self.number)
    }
}

/// What can happen to a message once it was sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MailHappened {
    /// An agent took it over.
    Took(AgentId),
    /// It was handed to the one whose mailbox it was in.
    Delivered {
        /// The mailbox.
        mailbox: Mailbox,
        /// Whether that one had asked for it; else it was pushed.
        read: bool,
    },
}

/// How far a message is in the mailbox it is in. In this order mailboxes keep theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// It was not handed out.
    Waiting,
    /// It was pushed and counts as unread.
    Pushed,
    /// It was asked for.
    Read,
}

/// Where a message is, as it follows from its outbox, from what logs say of it and from the agent it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Who has it now: an agent or a person in whose mailbox it is, or the place whose next agent takes it.
    pub with: Recipient,
    /// The agent that had it before and ended without reading it.
    pub passed_from: Option<AgentId>,
    /// How far it is there.
    pub stage: Stage,
    /// When it was first handed to whoever has it now.
    pub delivered: Option<Timestamp>,
    /// When it was read.
    pub read: Option<Timestamp>,
    /// The agent on whose end and place all this depends, as long as it does.
    pub depends_on: Option<AgentId>,
}

impl From<Mailbox> for Recipient {
    fn from(mailbox: Mailbox) -> Self {
        match mailbox {
            Mailbox::Agent(agent) => Self::Agent(agent),
            Mailbox::Person(person) => Self::Person(person),
        }
    }
}

/// How many messages a mailbox has, by how far they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailCounts {
    /// Not handed out.
    pub waiting: u64,
    /// Pushed and not read.
    pub pushed: u64,
    /// Read.
    pub read: u64,
}

impl MailCounts {
    /// Those that were not read.
    pub fn unread(self) -> u64 {
        self.waiting + self.pushed
    }

    /// All of them: it grows with each that comes.
    pub fn all(self) -> u64 {
        self.unread() + self.read
    }

    /// The number for a stage.
    pub fn of_mut(&mut self, stage: Stage) -> &mut u64 {
        match stage {
            Stage::Waiting => &mut self.waiting,
            Stage::Pushed => &mut self.pushed,
            Stage::Read => &mut self.read,
        }
    }
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
    /// Whoever it is sent to.
    Mail {
        /// To whom.
        to: Recipient,
        /// The task it is about.
        task: Option<TaskId>,
    },
}
