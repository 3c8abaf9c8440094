//! Memory: the notes that a workspace and its forks share.

use frith_store::{
    id::{PlaceRef, VersionHash, VersionRef},
    model::{NoteHead, NoteInfo, NoteVersion},
    rules::note::INDEX,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::PlaceName;

/// List the notes of a workspace and its forks.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "List the notes.")]
pub struct List {
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

/// Read a note: every version that counts, with who saved it and when.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(
    description = "Read a note that the agents of your workspace and its forks share. `memory.md` is the index. Versions saved side by side are all returned."
)]
pub struct Load {
    /// The note's name; `memory.md`, which tells of the others, when absent.
    #[arg(value_name = "NAME", default_value = INDEX, hide_default_value = true)]
    #[schemars(description = "`memory.md` when absent.")]
    pub name: String,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

impl Default for Load {
    fn default() -> Self {
        Self { name: INDEX.into(), workspace: None }
    }
}

/// Save a note whole, in at most 16 KiB. A save that names the versions it was based on replaces those and no others.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "Save a shared note whole, at most 16 KiB.")]
pub struct Save {
    /// The note's name, such as `memory.md`.
    #[arg(value_name = "NAME")]
    #[schemars(description = "Such as `memory.md`.")]
    pub name: String,
    /// The whole text; `-`, or nothing, reads it from standard input.
    #[arg(value_name = "TEXT", default_value = "-", hide_default_value = true, allow_hyphen_values = true)]
    #[schemars(description = "The whole text.")]
    pub text: String,
    /// The version it is based on, as `memory get` names it; several times, or with commas, to replace several.
    #[arg(long, short = 'b', value_name = "VERSION", value_delimiter = ',')]
    #[serde(default)]
    #[schemars(description = "The versions it replaces, as memory_load names them.")]
    pub base: Vec<VersionRef>,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

/// Delete a note. A version that was saved meanwhile and is not named survives it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "Delete a shared note.")]
pub struct Delete {
    /// The note's name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The version it is based on, as `memory get` names it; several times, or with commas, to replace several.
    #[arg(long, short = 'b', value_name = "VERSION", value_delimiter = ',')]
    #[serde(default)]
    #[schemars(description = "The versions that are meant, as memory_load names them.")]
    pub base: Vec<VersionRef>,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

/// The notes of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notes {
    /// The workspace they are kept under: a fork's is its parent.
    pub place: PlaceName,
    /// By name.
    pub notes: Vec<NoteInfo>,
}

/// A note as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The workspace it is kept under: a fork's is its parent.
    pub place: PlaceName,
    /// Its name.
    pub name: String,
    /// Its text when it has one; null when it was never written or was deleted, and when several versions count.
    pub text: Option<String>,
    /// The versions that count, in order of when they were saved: one, or several that were saved from one base.
    pub versions: Vec<NoteVersion>,
}

/// A note that was saved or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// The workspace it is kept under: a fork's is its parent.
    pub place: PlaceName,
    /// Its name.
    pub name: String,
    /// The version that says it now; null when a note that is not there was to be deleted.
    pub version: Option<VersionHash>,
    /// The versions that were replaced.
    pub replaced: Vec<NoteHead>,
    /// Whether no base was named, and what was current was taken for it.
    pub implied: bool,
    /// Whether it said so already, and nothing was written.
    pub unchanged: bool,
    /// The versions that count beside it, saved from the same base or an older one.
    pub beside: Vec<NoteHead>,
}
