//! Sites: addresses that a workspace shares with its forks and their agents.

use frith_store::{id::PlaceRef, model::Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::PlaceName;

/// Share a site, or change the note of one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Add {
    /// Its address: http or https, without a user or a password in it.
    #[arg(value_name = "URL")]
    pub url: String,
    /// What it is for, on one line; a site that is there keeps its note when absent.
    #[arg(long, short = 'n', value_name = "TEXT")]
    #[serde(default)]
    pub note: Option<String>,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    pub workspace: Option<PlaceRef>,
}

/// List the sites of a workspace and its forks.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "List the web addresses that your workspace shares, with what each is for.")]
pub struct List {
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[schemars(extend("x-tool" = "supervisors"))]
    pub workspace: Option<PlaceRef>,
}

/// Share a site no more.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// Its address.
    #[arg(value_name = "URL")]
    pub url: String,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    #[serde(default)]
    pub workspace: Option<PlaceRef>,
}

/// A site that was shared, changed or taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteChange {
    /// The workspace it is kept under: a fork's is its parent.
    pub place: PlaceName,
    /// The site.
    pub site: Site,
    /// Whether it was there before.
    pub was_there: bool,
    /// Whether it was so already, and nothing was written.
    pub unchanged: bool,
}

/// Sites of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sites {
    /// The workspace they are kept under: a fork's is its parent.
    pub place: PlaceName,
    /// In order of their addresses.
    pub sites: Vec<Site>,
}
