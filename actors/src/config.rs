//! What a node is told about itself: limits, and the kinds of agent it can launch.
//!
//! Plain data. Where it comes from, and in which order sources win, is the command line's business.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use crate::kinds::{Kind, RulesWay, built_in_kinds};

/// Where a node's configuration comes from. It may change while the node runs: each decision goes by what is said then.
pub trait Configured: Send + Sync {
    /// What is said now. It is asked within calls, so it takes no longer than to look at one small file.
    fn now(&self) -> Arc<NodeConfig>;

    /// What is said now where a repository has something to say too. It reads files.
    fn in_repository(&self, _top: Option<&Path>) -> Arc<NodeConfig> {
        self.now()
    }
}

/// A configuration that never changes.
impl Configured for NodeConfig {
    fn now(&self) -> Arc<NodeConfig> {
        Arc::new(self.clone())
    }
}

/// A node's configuration.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// The most agents it runs at once.
    pub max_agents: usize,
    /// What it can launch, by name.
    pub kinds: BTreeMap<String, Kind>,
    /// The longest that making a fork's folder may take.
    pub checkout_timeout: Duration,
    /// How long an agent that is asked to end may take before it is killed.
    pub stop_grace: Duration,
    /// Whether sessions of hosts are registered, and messages pushed to them.
    pub agents_enabled: bool,
    /// Whether worktrees are kept: made, adopted, listed and removed.
    pub worktrees_enabled: bool,
    /// After how long without a sign of life an agent is idle.
    pub idle: Duration,
    /// The most bytes of messages pushed to an agent at once.
    pub push_bytes: usize,
    /// Below which folder worktrees are made; frith's own when absent.
    pub worktree_root: Option<PathBuf>,
    /// The longest that asking origin may take.
    pub fetch_timeout: Duration,
    /// Whether a new worktree is left without the files of git-lfs.
    pub skips_lfs: bool,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            max_agents: 16,
            kinds: built_in_kinds(),
            checkout_timeout: Duration::from_secs(30 * 60),
            stop_grace: Duration::from_secs(5),
            agents_enabled: true,
            worktrees_enabled: true,
            idle: Duration::from_secs(30 * 60),
            push_bytes: 1024,
            worktree_root: None,
            fetch_timeout: Duration::from_secs(20),
            skips_lfs: false,
        }
    }
}
