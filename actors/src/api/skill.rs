//! Skills: folders of files that tell an agent how to do something. They are the team's, and on or off in each workspace.

use frith_store::{
    id::PlaceRef,
    model::{FolderEntry, Skill},
    text::PathText,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{piece::Piece, workspace::PlaceName};

/// Add a skill to the team, or a new version of one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Add {
    /// The folder it was read from.
    pub folder: PathText,
    /// What lies in it.
    pub entries: Vec<FolderEntry>,
}

/// List the skills of the team, and whether each is on in a workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    pub workspace: Option<PlaceRef>,
}

/// Read a skill: what it is for, its files, and one of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "Read a file of a skill that is switched on here. The skills are listed as resources, skill://<name>/SKILL.md.")]
pub struct Load {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The file to read; `SKILL.md` when absent.
    #[arg(long, short = 'f', value_name = "PATH")]
    #[serde(default)]
    #[schemars(description = "`SKILL.md` when absent.")]
    pub file: Option<String>,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

/// Switch a skill on in a workspace and its forks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct On {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The workspace, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    pub workspace: Option<PlaceRef>,
}

/// Switch a skill off in a workspace and its forks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Off {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The workspace, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    pub workspace: Option<PlaceRef>,
}

/// Remove a skill from the team.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Only tell what would go.
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
}

/// A skill that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Added {
    /// The skill.
    pub skill: Skill,
    /// Whether it is new, and no new version of one.
    pub is_new: bool,
    /// Whether it was there as it is already, and nothing was written.
    pub unchanged: bool,
    /// Files that it did not have before.
    pub new_files: Vec<String>,
    /// Files that were others before.
    pub changed_files: Vec<String>,
    /// Files that it has no more.
    pub removed_files: Vec<String>,
    /// What was hidden in the folder, and so left out.
    pub left_out: Vec<String>,
}

/// Skills of the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skills {
    /// The workspace whose switches are told; null when none is meant.
    pub place: Option<PlaceName>,
    /// By name; for an agent those that are on where it works.
    pub skills: Vec<SkillInfo>,
}

/// A skill with its switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// The skill.
    pub skill: Skill,
    /// Whether it is on in the workspace; null when none is meant.
    pub on: Option<bool>,
}

/// A skill with one of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loaded {
    /// The skill.
    pub skill: Skill,
    /// The workspace whose switch is told; null when none is meant.
    pub place: Option<PlaceName>,
    /// Whether it is on in the workspace; null when none is meant.
    pub on: Option<bool>,
    /// The path of the file that was read.
    pub path: String,
    /// The file as text; null when it is none.
    pub text: Option<String>,
    /// The file's bytes when it is no text.
    pub bytes: Option<Piece>,
}

/// A switch that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Switched {
    /// The workspace.
    pub place: PlaceName,
    /// The skill.
    pub name: String,
    /// Whether it is on now.
    pub on: bool,
    /// Whether it was so already.
    pub unchanged: bool,
}

/// A skill that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The skill.
    pub name: String,
    /// How many files it has.
    pub files: u32,
    /// The workspaces it is on in.
    pub on_in: Vec<PlaceName>,
    /// False when it was only asked what would go.
    pub done: bool,
}
