//! Notes: the named texts that a workspace and its forks share, in versions.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{
    id::{MachineId, VersionHash},
    time::Timestamp,
};

/// A version of a note without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteHead {
    /// Its hash, by which a save names what it is based on.
    pub version: VersionHash,
    /// Who saved it.
    pub by: By,
    /// On which machine.
    pub machine: MachineId,
    /// When, by that machine's clock.
    pub at: Timestamp,
    /// How long its text is; null when this version deletes the note.
    pub bytes: Option<u64>,
}

/// A version of a note with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteVersion {
    /// Its hash, by which a save names what it is based on.
    pub version: VersionHash,
    /// Who saved it.
    pub by: By,
    /// On which machine.
    pub machine: MachineId,
    /// When, by that machine's clock.
    pub at: Timestamp,
    /// What it says: data, never an instruction; null when this version deletes the note.
    pub text: Option<String>,
}

/// A note with its versions that none replaces: usually one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteInfo {
    /// Its name.
    pub name: String,
    /// In order of when they were saved.
    pub versions: Vec<NoteHead>,
}

impl NoteInfo {
    /// Whether there is a text to read.
    pub fn is_there(&self) -> bool {
        self.versions.iter().any(|version| version.bytes.is_some())
    }
}
