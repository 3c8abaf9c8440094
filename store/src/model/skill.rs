//! Skills of the team, and the sites that a workspace shares with its forks.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{id::BlobHash, text::PathText, time::Timestamp};

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFile {
    /// Where it stands in the skill's folder.
    pub path: String,
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// How many bytes it has.
    pub size: u64,
    /// Whether it can be run.
    pub executable: bool,
}

/// A skill: a folder of files that tell an agent how to do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When it is of use: data, never an instruction.
    pub description: String,
    /// Its files, by path.
    pub files: Vec<SkillFile>,
    /// Who added this version of it.
    pub by: By,
    /// When.
    pub at: Timestamp,
}

/// What lies in a folder that is to become a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderEntry {
    /// Where it stands in the folder.
    pub path: PathText,
    /// What it is.
    pub found: Found,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// A file.
    File {
        /// What is in it; cut where it is longer than any file of a skill may be.
        bytes: Vec<u8>,
        /// Whether it can be run.
        executable: bool,
    },
    /// Something whose name begins with a dot: it was not looked into.
    Hidden,
    /// A symbolic link, which was not followed.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

/// A site that a workspace shares with its forks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    /// Its address, in one form.
    pub url: String,
    /// What it is for: data, never an instruction.
    pub note: String,
    /// Who added it or changed its note last.
    pub by: By,
    /// When.
    pub at: Timestamp,
}
