//! The doors of the world: every trait through which the node reaches outside itself, one small file each.
//!
//! A node is built from an environment and nothing else, so the simulator can put models in these places.
//! This module declares doors and pure helpers of theirs; it never opens one: only `real` does.

pub mod launch_env;
pub mod process;
pub mod folders;
pub mod worktrees;
pub mod host_files;
pub mod notify;
pub mod world;
pub mod real;

use std::{path::Path, sync::Arc};

use frith_store::{id::MachineId, tx::Signer};

/// The world a node lives in. Cheap to clone.
#[derive(Clone)]
pub struct Env {
    /// FRITH_HOME.
    pub home: Arc<Path>,
    /// The name of the user whose node it is.
    pub user: Arc<str>,
    /// This machine.
    pub machine: MachineId,
    /// What this machine is called when its team is founded.
    pub machine_name: Arc<str>,
    /// This machine's key.
    pub signer: Arc<dyn Signer>,
    /// The wall clock.
    pub clock: Arc<dyn world::WallClock>,
    /// Randomness.
    pub random: Arc<dyn world::Random>,
    /// Work that blocks.
    pub blocking: Arc<dyn world::Blocking>,
    /// The disk.
    pub disk: Arc<dyn world::Disk>,
    /// Folders and git.
    pub folders: Arc<dyn folders::Folders>,
    /// Git worktrees.
    pub worktrees: Arc<dyn worktrees::Worktrees>,
    /// Files of hosts in agents' folders.
    pub host_files: Arc<dyn host_files::HostFiles>,
    /// Processes and terminals.
    pub processes: Arc<dyn process::Processes>,
    /// The person's desktop.
    pub notifier: Arc<dyn notify::Notifier>,
    /// This node's own process.
    pub itself: Arc<dyn world::Itself>,
    /// Points at which a test may end the node.
    pub faults: Arc<dyn world::Faults>,
}
