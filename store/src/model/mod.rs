//! Records: what a machine knows of the team, as views hold it and replies carry it.
//!
//! A record is derived from documents and logs and is never itself replicated.

mod agent;
mod attachment;
mod machine;
mod message;
mod note;
mod place;
mod schedule;
mod skill;
mod task;
mod worktree;

pub use agent::{Agent, AgentEnd, EndHow, HostSession, Launched, Presence, ProcessRef, Sighting};
pub use attachment::Attachment;
pub use machine::{Capability, Machine, Role};
pub use message::{
    HeldFor, HeldMessage, Mail, MailCounts, MailEvent, MailHappened, MailState, Mailbox, OutboxEntry, Recipient, Stage, Standing,
};
pub use note::{NoteHead, NoteInfo, NoteVersion};
pub use place::{Checkout, CheckoutKind, Merged, Notice, Place, PlaceKind, Revived, Seat, Setting, Settings, Work};
pub use schedule::{Fired, Missed, Outcome, RunOf, Schedule, Skip};
pub use skill::{FolderEntry, Found, Site, Skill, SkillFile};
pub use task::{Assignee, Counts, Holder, Message, Status, StatusChange, Task, Trashed, UnknownWord};
pub use worktree::{Claim, Claimed, Proof, WorktreeId};

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// A person, by their user name on the machine where they did it.
    Person(String),
    /// An agent.
    Agent(AgentId),
    /// The node itself, following a rule.
    Node,
}
