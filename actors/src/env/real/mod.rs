//! The real world behind the doors: the one place where threads, clocks, processes and files of this machine are touched.
//!
//! It never decides anything: what to start, whom to end and when is said by its callers.

pub mod process;
mod process_io;
mod process_table;
pub mod world;
pub mod folders;
pub mod worktrees;
pub mod host_files;
pub mod notify;
pub mod stdio;
pub mod stopwatch;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use frith_net::key::MachineKey;

use super::Env;

/// What a real node is told of its world.
pub struct Told<'a> {
    /// FRITH_HOME, absolute and there.
    pub home: &'a Path,
    /// The name of the user.
    pub user: &'a str,
    /// What this machine is called.
    pub machine_name: &'a str,
    /// This machine's key.
    pub key: MachineKey,
    /// Where blocking work runs.
    pub runtime: tokio::runtime::Handle,
    /// The point at which a test ends the node.
    pub fault: Option<String>,
    /// The clock.
    pub clock: world::SystemClock,
    /// The file in which a test wants notifications recorded.
    pub notices: Option<PathBuf>,
}

/// The real world of this process.
///
/// # Errors
/// The system does not tell which file this process was started from.
pub fn env(told: Told<'_>) -> io::Result<Env> {
    let key = Arc::new(told.key);
    Ok(Env {
        home: told.home.into(),
        user: told.user.into(),
        machine: key.machine(),
        machine_name: told.machine_name.into(),
        signer: key,
        clock: Arc::new(told.clock),
        random: Arc::new(world::SystemRandom),
        blocking: Arc::new(world::Threads(told.runtime.clone())),
        disk: Arc::new(world::HomeDisk(told.home.to_owned())),
        folders: Arc::new(folders::HomeFolders(told.home.to_owned())),
        worktrees: Arc::new(worktrees::HomeWorktrees::new(told.home.to_owned())),
        host_files: Arc::new(host_files::Disk),
        processes: Arc::new(process::RealProcesses::new()),
        notifier: match told.notices {
            Some(file) => Arc::new(notify::Recorded(file)),
            None => Arc::new(notify::Desktop::new(told.runtime.clone())),
        },
        itself: Arc::new(world::ThisProcess::note()?),
        faults: Arc::new(world::FaultAt(told.fault)),
    })
}
