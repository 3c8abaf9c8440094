//! A workspace or a fork: its kind, seat, settings and folders.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{By, task::UnknownWord};
use crate::{
    id::{MachineId, PlaceId, TaskId},
    text::PathText,
    time::Timestamp,
};

/// What kind of place it is, fixed at its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PlaceKind {
    /// An ordinary workspace.
    Workspace,
    /// A second workspace made from `parent`.
    Fork {
        /// The workspace it was made from, for ever.
        parent: PlaceId,
    },
    /// The workspace of the agent that watches the others; one in a team.
    Supervisor,
}

/// Who decides for a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Seat {
    /// Counts the holders; 1 at birth.
    pub epoch: u64,
    /// The machine that holds the seat.
    pub home: MachineId,
    /// The machines that may vote in a take-over of this epoch.
    pub electorate: Vec<MachineId>,
}

/// That a fork was merged: from then on its tasks are its parent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// The parent.
    pub into: PlaceId,
    /// When.
    pub at: Timestamp,
    /// Who asked for it.
    pub by: By,
    /// How many tasks went over.
    pub moved_tasks: u32,
}

/// A workspace or a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Its id.
    pub id: PlaceId,
    /// Its name, kebab-case.
    pub name: String,
    /// Workspace, fork or supervisor.
    pub kind: PlaceKind,
    /// What it is for.
    pub description: String,
    /// A short text or emoji.
    pub icon: String,
    /// Read-only when set.
    pub archived: bool,
    /// When it went to the trash, if it did.
    pub deleted: Option<Timestamp>,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub created_by: By,
    /// Its own settings; a fork reads its parent's.
    pub settings: Settings,
    /// Who decides for it.
    pub seat: Seat,
    /// Set when it is a fork that was merged.
    pub merged: Option<Merged>,
    /// The task it was spun up for: spinning that task up again continues with this fork.
    pub spun_up_for: Option<TaskId>,
    /// Set when it was archived or deleted, and is neither because of work that whoever did so had not seen.
    pub revived: Option<Revived>,
}

/// Work that whoever archived or deleted a place had not seen, so that the place is live all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revived {
    /// When it was archived or deleted.
    pub retired: Timestamp,
    /// Who did so.
    pub by: By,
    /// The work, or the first of several.
    pub work: Work,
}

/// Work in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Work {
    /// A fork was made from it.
    Fork(PlaceId),
    /// A task was added, moved there or written to.
    Task(TaskId),
}

impl Place {
    /// The parent of a fork.
    pub fn parent(&self) -> Option<PlaceId> {
        match self.kind {
            PlaceKind::Fork { parent } => Some(parent),
            PlaceKind::Workspace | PlaceKind::Supervisor => None,
        }
    }

    /// Whether work may happen in it: neither merged nor in the trash. An archived place is live, and read-only.
    pub fn is_live(&self) -> bool {
        self.merged.is_none() && self.deleted.is_none()
    }
}

/// An event that can raise a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// A task was completed or rejected.
    TaskFinished,
    /// A task is blocked, or its agent waits for somebody.
    TaskWaiting,
    /// A launch was refused.
    LaunchRefused,
    /// An agent ended.
    AgentEnded,
    /// A fork was merged.
    MergeDone,
    /// A message for the person arrived.
    Mail,
}

impl Notice {
    /// Every event, with the word for it.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::TaskFinished, "task-finished"),
        (Self::TaskWaiting, "task-waiting"),
        (Self::LaunchRefused, "launch-refused"),
        (Self::AgentEnded, "agent-ended"),
        (Self::MergeDone, "merge-done"),
        (Self::Mail, "mail"),
    ];
}

impl FromStr for Notice {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        UnknownWord::look_up(text, &Self::ALL)
    }
}

/// The settings that a fork inherits. Each is compared by meaning: absent, false and empty are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Which events raise a notification.
    pub notifications: Vec<Notice>,
    /// Permission rules that a launched agent is given.
    pub auto_allowed_tools: Vec<String>,
    /// Whether a launched agent may run every command unasked.
    pub allow_all_commands: bool,
    /// Whether new tasks ask for a fresh context.
    pub clear_context: bool,
    /// Appended once to the body of each task handed to an agent.
    pub self_learning_note: String,
    /// Seconds a person's message waits and can be taken back.
    pub send_delay_seconds: u32,
}

/// One of the [`Settings`], by the key under which its register stands in a place's document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// [`Settings::notifications`].
    Notifications,
    /// [`Settings::auto_allowed_tools`].
    AutoAllowedTools,
    /// [`Settings::allow_all_commands`].
    AllowAllCommands,
    /// [`Settings::clear_context`].
    ClearContext,
    /// [`Settings::self_learning_note`].
    SelfLearningNote,
    /// [`Settings::send_delay_seconds`].
    SendDelay,
}

impl Setting {
    /// The one list of what a fork inherits.
    pub const ALL: [Self; 6] =
        [Self::Notifications, Self::AutoAllowedTools, Self::AllowAllCommands, Self::ClearContext, Self::SelfLearningNote, Self::SendDelay];

    /// Its key in a place's document, and the word for it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Notifications => "notifications",
            Self::AutoAllowedTools => "auto-allowed-tools",
            Self::AllowAllCommands => "allow-all-commands",
            Self::ClearContext => "clear-context",
            Self::SelfLearningNote => "self-learning-note",
            Self::SendDelay => "send-delay",
        }
    }
}

impl Settings {
    /// The same settings in the one form in which equal meanings are equal values.
    pub fn canonical(mut self) -> Self {
        self.notifications.sort_unstable();
        self.notifications.dedup();
        for rule in &mut self.auto_allowed_tools {
            *rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        self.auto_allowed_tools.retain(|rule| !rule.is_empty());
        self.auto_allowed_tools.sort_unstable();
        self.auto_allowed_tools.dedup();
        self.self_learning_note = self.self_learning_note.trim().to_owned();
        self
    }

    /// The settings in which this and `other` differ in meaning.
    pub fn differing(&self, other: &Self) -> Vec<Setting> {
        let (a, b) = (self.clone().canonical(), other.clone().canonical());
        let differs = |setting: &Setting| match setting {
            Setting::Notifications => a.notifications != b.notifications,
            Setting::AutoAllowedTools => a.auto_allowed_tools != b.auto_allowed_tools,
            Setting::AllowAllCommands => a.allow_all_commands != b.allow_all_commands,
            Setting::ClearContext => a.clear_context != b.clear_context,
            Setting::SelfLearningNote => a.self_learning_note != b.self_learning_note,
            Setting::SendDelay => a.send_delay_seconds != b.send_delay_seconds,
        };
        Setting::ALL.into_iter().filter(differs).collect()
    }
}

/// How a fork's folder was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckoutKind {
    /// A git worktree.
    Worktree {
        /// Its branch.
        branch: String,
        /// The commit the branch began at, in hexadecimal.
        base: String,
    },
    /// A copy of the parent's folder.
    Copy,
}

/// A fork's folder on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checkout {
    /// The fork.
    pub fork: PlaceId,
    /// The machine it stands on.
    pub machine: MachineId,
    /// The folder itself.
    pub path: PathText,
    /// Where the agent starts in it.
    pub start_in: PathText,
    /// Worktree or copy.
    pub kind: CheckoutKind,
    /// When it was made.
    pub made: Timestamp,
    /// When it was removed, if it was.
    pub removed: Option<Timestamp>,
}
