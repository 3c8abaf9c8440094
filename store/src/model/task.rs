//! A task, its thread and its history, and who did what.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{By, RunOf, Schedule};
use crate::{
    id::{CallId, MachineId, PlaceId, TaskId},
    time::Timestamp,
};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waiting in the queue.
    NotStarted,
    /// Being worked on.
    Ongoing,
    /// Waiting for something or somebody.
    Blocked,
    /// Finished, done.
    Completed,
    /// Finished, not done.
    Rejected,
    /// A template that a schedule makes runs of.
    Cron,
}

impl Status {
    /// Every status, with the word for it.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::NotStarted, "notstarted"),
        (Self::Ongoing, "ongoing"),
        (Self::Blocked, "blocked"),
        (Self::Completed, "completed"),
        (Self::Rejected, "rejected"),
        (Self::Cron, "cron"),
    ];

    /// The statuses of a task that stands in the way of a merge.
    pub const UNFINISHED: [Self; 3] = [Self::NotStarted, Self::Ongoing, Self::Blocked];

    /// Completed or rejected.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected)
    }

    /// Neither finished nor a template.
    pub fn is_unfinished(self) -> bool {
        Self::UNFINISHED.contains(&self)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl FromStr for Status {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        UnknownWord::look_up(text, &Self::ALL)
    }
}

/// Who is to do a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Assignee {
    /// The place's agent; `task next` hands it out.
    Agent,
    /// A person; `task next` passes over it.
    Person,
}

impl Assignee {
    /// Every assignee, with the word for it.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Agent, "agent"), (Self::Person, "person")];
}

impl FromStr for Assignee {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        UnknownWord::look_up(text, &Self::ALL)
    }
}

/// A word that is none of those a list allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is none of {}", allowed.join(", "))]
pub struct UnknownWord {
    /// What was given.
    pub given: String,
    /// What is allowed.
    pub allowed: Vec<&'static str>,
}

impl UnknownWord {
    /// Finds the value a word stands for.
    ///
    /// # Errors
    /// The word is not in the list.
    pub fn look_up<T: Copy>(given: &str, list: &[(T, &'static str)]) -> Result<T, Self> {
        let found = list.iter().find(|(_, word)| *word == given).map(|(value, _)| *value);
        found.ok_or_else(|| Self { given: given.to_owned(), allowed: list.iter().map(|(_, word)| *word).collect() })
    }
}

/// Who has a task in hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The agent or the person.
    pub by: By,
    /// Since when.
    pub since: Timestamp,
    /// The call that took it: the same call again is answered with the same task.
    pub call: CallId,
    /// Set when the holder ended and left it: it is offered again.
    pub left: bool,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// 1 to 255 characters.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// The place its register names; a merged fork's tasks are its parent's.
    pub place: PlaceId,
    /// Who is to do it.
    pub assignee: Assignee,
    /// Its position in the queue; lower comes first, then earlier creation.
    pub position: i64,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub created_by: By,
    /// When it last changed.
    pub changed: Timestamp,
    /// Who has it in hand.
    pub holder: Option<Holder>,
    /// How many messages its thread has.
    pub messages: u32,
    /// Whether the agent may run every command for it unasked.
    pub allow_all_commands: bool,
    /// Whether it asks for a fresh context; the place's default when absent.
    pub clear_context: Option<bool>,
    /// Where it was before it was last moved, with who moved it.
    pub moved_from: Option<PlaceId>,
    /// When it makes runs, if it is a template.
    pub schedule: Option<Schedule>,
    /// The template and the slot it was made for, if it is a run.
    pub run_of: Option<RunOf>,
    /// Set while it is in the trash.
    pub deleted: Option<Trashed>,
}

/// That something is in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trashed {
    /// Since when.
    pub at: Timestamp,
    /// Who put it there.
    pub by: By,
}

/// One entry of a task's thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Who wrote it.
    pub by: By,
    /// On which machine.
    pub machine: MachineId,
    /// When, by that machine's clock.
    pub at: Timestamp,
    /// What it says: data, never an instruction.
    pub text: String,
}

/// One change of a task's status or place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusChange {
    /// The status it got.
    pub status: Status,
    /// The place it was moved to, when this was a move.
    pub moved_to: Option<PlaceId>,
    /// Who changed it.
    pub by: By,
    /// On which machine.
    pub machine: MachineId,
    /// When, by that machine's clock.
    pub at: Timestamp,
}

/// How many tasks a place has of each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Waiting in the queue.
    pub notstarted: u64,
    /// Being worked on.
    pub ongoing: u64,
    /// Waiting for something.
    pub blocked: u64,
    /// Finished, done.
    pub completed: u64,
    /// Finished, not done.
    pub rejected: u64,
    /// Templates.
    pub cron: u64,
}

impl Counts {
    /// The number for one status, to change.
    pub fn of_mut(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::NotStarted => &mut self.notstarted,
            Status::Ongoing => &mut self.ongoing,
            Status::Blocked => &mut self.blocked,
            Status::Completed => &mut self.completed,
            Status::Rejected => &mut self.rejected,
            Status::Cron => &mut self.cron,
        }
    }

    /// How many stand in the way of a merge.
    pub fn unfinished(&self) -> u64 {
        self.notstarted + self.ongoing + self.blocked
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.unfinished() + self.completed + self.rejected + self.cron
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.notstarted += other.notstarted;
        self.ongoing += other.ongoing;
        self.blocked += other.blocked;
        self.completed += other.completed;
        self.rejected += other.rejected;
        self.cron += other.cron;
    }
}
