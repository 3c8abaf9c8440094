//! The schedule of a task, the runs it makes, and what became of its slots.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::task::UnknownWord;
use crate::{
    id::{MachineId, OpenToken, TaskId},
    time::Timestamp,
};

/// What becomes of slots that came while the machine was off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// Nothing.
    #[default]
    Skip,
    /// The latest one makes a run.
    Once,
}

impl Missed {
    /// Both, with the words for them.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Skip, "skip"), (Self::Once, "once")];
}

impl FromStr for Missed {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        UnknownWord::look_up(text, &Self::ALL)
    }
}

/// When a template makes runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Five fields with a fixed minute: minute, hour, day of month, month, day of week.
    pub expression: String,
    /// The IANA name of the time zone in which they are meant.
    pub time_zone: String,
    /// What becomes of slots that came while the machine was off.
    pub missed: Missed,
    /// Slots up to this moment do not count: it was made, changed or resumed then.
    pub from: Timestamp,
    /// Since when it is paused, if it is.
    pub paused: Option<Timestamp>,
}

/// The template and the slot of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOf {
    /// The task whose schedule made it.
    pub template: TaskId,
    /// The moment it was made for.
    pub slot: Timestamp,
}

impl RunOf {
    /// The id of the run, which follows from both: whoever makes it makes the same task.
    pub fn task(&self) -> TaskId {
        TaskId::from_derived(self.derived("frith run id 1"))
    }

    /// The token that opens it. It follows from both too, so making the run late opens nothing that was closed.
    pub fn token(&self) -> OpenToken {
        OpenToken::from_derived(self.derived("frith run token 1"))
    }

    fn derived(&self, purpose: &str) -> [u8; 16] {
        let hash = blake3::derive_key(purpose, &[&self.template.as_bytes()[..], &self.slot.ms().to_be_bytes()].concat());
        std::array::from_fn(|i| hash[i])
    }
}

/// Why slots made no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Skip {
    /// The machine was off.
    Missed,
    /// The schedule was paused.
    Paused,
    /// The place was archived.
    Archived,
    /// The place was in the trash.
    Deleted,
}

impl Skip {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Paused => "paused",
            Self::Archived => "archived",
            Self::Deleted => "deleted",
        }
    }

    /// Whether it goes on until somebody ends it: then only its first slot is recorded until it ends.
    pub fn lasts(self) -> bool {
        self != Self::Missed
    }
}

/// What became of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// A run was made.
    Ran,
    /// None was made.
    Skipped {
        /// Why.
        why: Skip,
        /// How many slots since the one before, this one the last of them.
        slots: u32,
    },
}

/// A slot of a schedule that came, with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fired {
    /// The slot.
    pub slot: Timestamp,
    /// What became of it.
    pub outcome: Outcome,
    /// Which machine says so.
    pub machine: MachineId,
    /// When it did.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_follows_from_its_template_and_its_slot_alone() {
        let run = RunOf { template: TaskId::from_bytes([1; 16]), slot: Timestamp::from_ms(60_000) };
        assert_eq!((run.task(), run.token()), (RunOf { ..run }.task(), RunOf { ..run }.token()));
        let later = RunOf { slot: Timestamp::from_ms(120_000), ..run };
        let other = RunOf { template: TaskId::from_bytes([2; 16]), ..run };
        assert!(run.task() != later.task() && run.task() != other.task() && run.token() != later.token());
    }
}
