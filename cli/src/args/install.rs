//! The arguments of what concerns hosts: installing into them, what they run themselves, and for whom a program of theirs would work.

use clap::Args;
use frith_store::id::PlaceId;

/// Arguments of `agents install`.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentsInstall {
    /// The hosts, by their ids; `frith agents list` shows them.
    #[arg(value_name = "HOST", value_delimiter = ',', required_unless_present = "all")]
    pub hosts: Vec<String>,
    /// Every host that is on this machine.
    #[arg(long, conflicts_with = "hosts")]
    pub all: bool,
    /// Into the repository of this folder: its hosts then have each worktree adopted that they make (cursor, windsurf, devin, kilo).
    #[arg(long, conflicts_with = "all")]
    pub project: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `agents uninstall`.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentsUninstall {
    /// The hosts, by their ids, whether they are on this machine or not.
    #[arg(value_name = "HOST", value_delimiter = ',', required_unless_present = "all")]
    pub hosts: Vec<String>,
    /// Every host that has something of frith's.
    #[arg(long, conflicts_with = "hosts")]
    pub all: bool,
    /// Out of the repository of this folder.
    #[arg(long, conflicts_with = "all")]
    pub project: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `agents list`.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentsList {
    /// Also hosts that are not on this machine.
    #[arg(long)]
    pub all: bool,
}

/// Arguments of `agents whoami`.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentWhoami {
    /// Tell whom a program that this host started, as its MCP server, would work for; this registers nobody.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
}

/// Arguments of `hook`.
#[derive(Debug, Clone, Args)]
pub struct Hook {
    /// The event, as the host calls it.
    #[arg(value_name = "EVENT")]
    pub event: String,
    /// The host, as `docs/hosts.md` names it.
    #[arg(long, value_name = "HOST")]
    pub host: String,
}

/// Arguments of `mcp`.
#[derive(Debug, Clone, Args)]
pub struct Mcp {
    /// The host that starts it, as `docs/hosts.md` names it.
    #[arg(long, value_name = "HOST")]
    pub host: String,
    /// The place that the entry is for, by its whole id: an agent of another one is refused.
    #[arg(long, value_name = "ID")]
    pub place: Option<PlaceId>,
}
