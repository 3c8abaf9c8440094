//! What an id names, in words.

use serde::{Deserialize, Serialize};

/// What an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A workspace or a fork.
    Place,
    /// A task.
    Task,
    /// An agent.
    Agent,
    /// A machine.
    Machine,
    /// A version of a note.
    Version,
    /// A file that is attached to a task.
    Attachment,
    /// A message that is held back.
    Message,
    /// A skill of the team.
    Skill,
    /// A file of a skill.
    SkillFile,
    /// A shared site.
    Site,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Place => "place",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Machine => "machine",
            Self::Version => "version",
            Self::Attachment => "attachment",
            Self::Message => "message",
            Self::Skill => "skill",
            Self::SkillFile => "file of the skill",
            Self::Site => "site",
        })
    }
}

impl What {
    /// One of them, as in `an agent`.
    pub(super) fn with_article(self) -> String {
        let article = if matches!(self, Self::Agent | Self::Attachment) { "an" } else { "a" };
        format!("{article} {self}")
    }
}
