//! Workspaces: requests and replies.

use frith_store::{
    id::{AgentId, MachineId, PlaceId, PlaceRef},
    model::{By, Checkout, Counts, Merged, Notice, PlaceKind, Revived, Settings},
    rules::stats::Spread,
    text::PathText,
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_argument;

/// Make a workspace: one queue of tasks and one agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Create {
    /// Its name in kebab-case; made from the folder's name when absent.
    pub name: Option<String>,
    /// The folder its agents work in, on this machine.
    #[arg(long, short = 'f', value_name = "PATH", value_parser = path_argument())]
    pub folder: Option<PathText>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// A short text or emoji shown beside its name.
    #[arg(long, value_name = "TEXT")]
    pub icon: Option<String>,
}

/// List workspaces, each with its forks below it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    /// Also those that were merged, archived or deleted.
    #[arg(long, short = 'a')]
    pub all: bool,
}

/// Show one workspace or fork: folder, settings, tasks, agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Show {
    /// Its name or id; the place of the current folder when absent.
    #[arg(value_name = "PLACE")]
    pub place: Option<PlaceRef>,
}

/// Change a workspace: its name, folder or settings.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Set {
    /// Its name or id; the place of the current folder when absent.
    #[arg(value_name = "PLACE")]
    pub place: Option<PlaceRef>,
    /// A new name.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// A short text or emoji shown beside its name.
    #[arg(long, value_name = "TEXT")]
    pub icon: Option<String>,
    /// The folder its agents work in, on this machine.
    #[arg(long, short = 'f', value_name = "PATH", value_parser = path_argument())]
    pub folder: Option<PathText>,
    /// Events that raise a notification on this machine's desktop, separated by commas; an empty list for none.
    ///
    /// They are task-finished, task-waiting, launch-refused, agent-ended, merge-done and mail. What you do yourself raises none.
    #[arg(long, value_name = "EVENTS", value_parser = notices)]
    pub notifications: Option<Notices>,
    /// Permission rules a launched agent is given, separated by commas; an empty list for none.
    ///
    /// Each kind takes them its own way, and what a kind cannot take is said when it is launched. `workspace allow` adds one.
    #[arg(long, value_name = "RULES", value_parser = rules)]
    pub auto_allowed_tools: Option<Rules>,
    /// Whether a launched agent may run every command unasked; refused at the launch of a kind that has no flag for it.
    #[arg(long, value_name = "BOOL")]
    pub allow_all_commands: Option<bool>,
    /// Whether tasks ask for a fresh context: the agent's is cleared before it is told of one.
    #[arg(long, value_name = "BOOL")]
    pub clear_context: Option<bool>,
    /// A note appended once to the body of each task handed to an agent.
    #[arg(long, value_name = "TEXT")]
    pub self_learning_note: Option<String>,
    /// Seconds a person's reply to a task waits and can be taken back: `agents unsend`.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=3600))]
    pub send_delay_seconds: Option<u32>,
}

/// Add a permission rule for a workspace's agents, or take one away; asked in a fork, it is the parent's.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Allow {
    /// The rule: a tool, as in `Read`, or a tool and what it may do, as in `Bash(git status *)`.
    pub rule: String,
    /// The place, by name or id; the one of the current folder when absent.
    #[arg(long, short = 'w', value_name = "PLACE")]
    pub workspace: Option<PlaceRef>,
    /// Take the rule away again.
    #[arg(long)]
    pub remove: bool,
}

/// A list of events, as one argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Notices(pub Vec<Notice>);

/// A list of permission rules, as one argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rules(pub Vec<String>);

fn notices(text: &str) -> Result<Notices, frith_store::model::UnknownWord> {
    words(text).map(str::parse).collect::<Result<_, _>>().map(Notices)
}

fn rules(text: &str) -> Result<Rules, std::convert::Infallible> {
    Ok(Rules(split_rules(text)))
}

/// Rules between commas; a comma in brackets is part of a rule.
fn split_rules(text: &str) -> Vec<String> {
    let (mut rules, mut depth) = (vec![String::new()], 0_usize);
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match rules.last_mut() {
            Some(rule) if character != ',' || depth > 0 => rule.push(character),
            _ => rules.push(String::new()),
        }
    }
    rules.iter().map(|rule| rule.trim().to_owned()).filter(|rule| !rule.is_empty()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// Make a workspace read-only and take it out of lists.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    /// Its name or id.
    #[arg(value_name = "PLACE")]
    pub place: PlaceRef,
}

/// Make an archived workspace writable again, or take a deleted one out of the trash.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Unarchive {
    /// Its name or id.
    #[arg(value_name = "PLACE")]
    pub place: PlaceRef,
}

/// Put a workspace into the trash with its tasks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    /// Its name or id.
    #[arg(value_name = "PLACE")]
    pub place: PlaceRef,
    /// Only tell what would go.
    #[arg(long)]
    pub dry_run: bool,
}

/// Figures of a place: its tasks by status, what they took, and the hours of its agents. A merged fork's count under its parent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase", default)]
pub struct Stats {
    /// Its name or id; the place of the current folder when absent.
    #[arg(value_name = "PLACE")]
    pub place: Option<PlaceRef>,
    /// Only what happened in the last so many days.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub days: Option<u32>,
}

/// Figures of a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceStats {
    /// The place.
    pub place: PlaceName,
    /// Where the time that is counted begins; everything when null.
    pub since: Option<Timestamp>,
    /// How many tasks there are now, by status.
    pub tasks: Counts,
    /// How many of its tasks are in the trash, which count nowhere else.
    pub deleted: u64,
    /// How many tasks were closed.
    pub closed: u64,
    /// The time from a task's first start to its close; null when none that was started was closed.
    pub start_to_close: Option<Spread>,
    /// Milliseconds in which tasks were ongoing, added up.
    pub worked_ms: u64,
    /// Milliseconds in which tasks were blocked, added up.
    pub blocked_ms: u64,
    /// Milliseconds in which tasks waited to be started, added up.
    pub waiting_ms: u64,
    /// How many messages were written.
    pub messages: u64,
    /// How many agents ran there.
    pub agents: u64,
    /// Milliseconds for which they ran, added up.
    pub agents_ms: u64,
}

/// A place that another one names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceName {
    /// Its id.
    pub id: PlaceId,
    /// Its name.
    pub name: String,
}

/// The machine that decides for a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// Its id.
    pub id: MachineId,
    /// Its name.
    pub name: String,
    /// Counts the holders of the seat.
    pub epoch: u64,
}

/// The agent that works in a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentHere {
    /// Its id.
    pub id: AgentId,
    /// The kind it was launched as.
    pub kind: String,
    /// False while it is being started.
    pub running: bool,
    /// Since when.
    pub since: Timestamp,
}

/// One workspace or fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceInfo {
    /// Its id.
    pub id: PlaceId,
    /// Its name.
    pub name: String,
    /// What names it and no other: the name, with its machine where two places have the same.
    pub label: String,
    /// Workspace, fork or supervisor.
    pub kind: PlaceKind,
    /// What it is for.
    pub description: String,
    /// A short text or emoji.
    pub icon: String,
    /// The parent, when it is a fork.
    pub fork_of_id: Option<PlaceId>,
    /// The parent's name, when it is a fork.
    pub fork_of: Option<String>,
    /// Its forks that are not merged.
    pub forks: Vec<PlaceName>,
    /// Read-only when set.
    pub archived: bool,
    /// When it went to the trash, if it did.
    pub deleted: Option<Timestamp>,
    /// Set when it was archived or deleted and is live all the same, since there was work that was not known then.
    pub revived: Option<Revived>,
    /// Set when it is a fork that was merged.
    pub merged: Option<Merged>,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub created_by: By,
    /// The machine that decides for it.
    pub home: Home,
    /// Its folder on this machine; null when none was chosen or, for a fork, made.
    pub folder: Option<PathText>,
    /// Every folder of a fork, on every machine that ran it.
    pub checkouts: Vec<Checkout>,
    /// The settings that count here.
    pub settings: Settings,
    /// The parent whose settings these are, when it is a fork.
    pub settings_from: Option<PlaceName>,
    /// How many tasks it has.
    pub tasks: Counts,
    /// How many of them stand in the way of a merge.
    pub unfinished_tasks: u64,
    /// The agent that works there.
    pub agent: Option<AgentHere>,
}

/// Workspaces, each followed by its forks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Places {
    /// In order of name, forks behind their parent.
    pub workspaces: Vec<PlaceInfo>,
}

/// What went, or would go, to the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    /// Its id, by which it can be taken back.
    pub id: PlaceId,
    /// Its name.
    pub name: String,
    /// How many tasks go with it.
    pub tasks: Counts,
    /// Days it stays in the trash.
    pub days_in_trash: u32,
    /// False when it was only asked what would go.
    pub done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_brackets_is_part_of_a_rule() {
        assert_eq!(split_rules(" Bash(git log, git show) ,Read,, "), ["Bash(git log, git show)", "Read"]);
        assert_eq!(split_rules("Bash(a"), ["Bash(a"]);
        assert!(split_rules(" ").is_empty());
    }
}
