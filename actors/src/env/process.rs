//! The door to processes and terminals: starting a command in a pseudo-terminal, its facts, its end.
//!
//! The trait has what a node needs and a simulator can model. A process is named by its id and its start time
//! together ([`ProcessRef`]), never by the id alone, because ids are used again. This module never touches a
//! process itself and never reads the node's own environment or folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

pub use frith_store::model::ProcessRef;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// What takes a while in the outside world: polled on the runtime, never blocking it.
pub type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Everything a node needs of the processes and terminals of its machine.
pub trait Processes: Send + Sync + 'static {
    /// Finds `command` as the caller's shell would: an absolute path as it is, a bare name on `search_path`.
    ///
    /// Only absolute entries of `search_path` count, so that the current folder is never searched.
    fn find_command(&self, command: OsString, search_path: OsString) -> Pending<Result<PathBuf, CommandError>>;

    /// Opens a pseudo-terminal of `size` and starts the command in it, in a session and process group of its own.
    ///
    /// Dropping the future before it is ready ends whatever it started.
    fn start(&self, launch: Launch, size: TerminalSize) -> Pending<Result<RunningProcess, StartError>>;

    /// What is known of a process now; `None` when no such process runs (one that ended and was not reaped yet runs nothing).
    ///
    /// # Errors
    /// When the system would not say. That is never to be read as "it does not run".
    fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError>;

    /// For how long a process has run; none where the system does not tell.
    fn age(&self, process: &ProcessRef) -> Option<Duration> {
        let _ = process;
        None
    }

    /// Whether a process carries an entry in its environment; false where the system does not tell.
    fn carries(&self, pid: Pid, mark: &EnvMark) -> bool {
        let _ = (pid, mark);
        false
    }

    /// The living processes whose folder is `folder` or below it, as far as the system tells. Blocks.
    ///
    /// # Errors
    /// When the system would not say.
    fn working_in(&self, folder: &Path) -> Result<Vec<ProcessFacts>, ProbeError> {
        let _ = folder;
        Ok(Vec::new())
    }

    /// The living processes of the trees that `roots` head: the roots, their descendants, and whoever shares a session
    /// or group that a root leads; and whoever carries `mark` in its environment, with its descendants, whatever became
    /// of its root. The calling node is never among them.
    ///
    /// Of a root that is gone, nothing but the mark tells its children from strangers with its number.
    ///
    /// # Errors
    /// When the system would not say.
    fn tree(&self, roots: Vec<ProcessRef>, mark: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>>;

    /// Signals each of `processes` that is still the one named; one that is gone is passed over.
    fn signal(&self, processes: Vec<ProcessRef>, signal: ProcessSignal) -> Pending<()>;

    /// Whether exactly this process, and no later one with its id, still runs.
    fn life(&self, process: &ProcessRef) -> Life {
        match self.facts(process.pid.into()) {
            Ok(Some(facts)) if facts.process == *process => Life::Alive,
            Ok(_) => Life::Gone,
            Err(_) => Life::Unknown,
        }
    }

    /// The processes above `pid`, nearest first, at most `limit`; shorter where the chain can no longer be read.
    fn ancestors(&self, pid: Pid, limit: usize) -> Vec<ProcessFacts> {
        let mut found: Vec<ProcessFacts> = Vec::new();
        let mut next = self.facts(pid).ok().flatten().and_then(|it| it.parent);
        while let Some(parent) = next.filter(|_| found.len() < limit) {
            let Ok(Some(facts)) = self.facts(parent) else {
                break;
            };
            next = facts.parent;
            found.push(facts);
        }
        found
    }
}

/// A process id of this machine. It says nothing by itself about *which* process: see [`ProcessRef`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pid(u32);

impl Pid {
    /// Names the process with this id.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<u32> for Pid {
    fn from(id: u32) -> Self {
        Self(id)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the system says about a running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Which process.
    pub process: ProcessRef,
    /// The process above it; `None` for the first process of the system.
    pub parent: Option<Pid>,
    /// The session of the system that it is in, by the number of the process that leads it; 0 where the system does not tell.
    pub session: u32,
    /// The file name of its executable, without folders.
    pub executable: OsString,
}

/// Whether a process still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Alive,
    /// It ended, or its id belongs to another process now.
    Gone,
    /// The system would not say. Not to be treated as gone: what is started beside a living agent is a second one.
    Unknown,
}

/// The variable that names an agent to its processes, and by which they are known as its.
pub const AGENT_VARIABLE: &str = "FRITH_AGENT_ID";

/// An environment entry that a launched agent's processes carry and others do not.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvMark {
    /// The variable's name.
    pub name: OsString,
    /// Its value.
    pub value: OsString,
}

/// Its value may be a secret, which no log is told.
impl std::fmt::Debug for EnvMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvMark").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The variable that carries the secret of a launched agent to its processes.
pub const TOKEN_VARIABLE: &str = "FRITH_AGENT_TOKEN";

/// The secret of a launched agent, by which its first processes are known until that in its terminal is. Its id would not do:
/// everybody reads that. It is in memory and in the agent's environment, in no file, argument or log.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchToken(String);

impl LaunchToken {
    /// One of these random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes).to_hex().to_string())
    }

    /// The entry that carries it.
    pub fn mark(&self) -> EnvMark {
        EnvMark { name: TOKEN_VARIABLE.into(), value: self.0.clone().into() }
    }
}

impl std::fmt::Debug for LaunchToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LaunchToken")
    }
}

/// A signal to processes. What is stopped is continued after it, or it could not act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Asks to end (`SIGTERM`).
    Terminate,
    /// Ends without asking (`SIGKILL`).
    Kill,
}

/// What to start in a terminal. Nothing is inherited from the node: `env` is the whole environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// A bare name, looked up on the `PATH` of `env`, or an absolute path. Executed directly, never through a shell.
    pub command: OsString,
    /// Its arguments, without the command itself.
    pub args: Vec<OsString>,
    /// The whole environment (see [`launch_env`](super::launch_env::launch_env)).
    pub env: Vec<(OsString, OsString)>,
    /// The folder it starts in. Where that is missing nothing is started.
    pub folder: PathBuf,
}

impl Launch {
    /// The entry by which what this starts is known, if it has one.
    pub fn mark(&self) -> Option<EnvMark> {
        let (name, value) = self.env.iter().find(|(name, _)| name == AGENT_VARIABLE)?;
        Some(EnvMark { name: name.clone(), value: value.clone() })
    }
}

/// How many rows and columns a terminal has; always within what a screen can sensibly hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u16, u16)", into = "(u16, u16)")]
pub struct TerminalSize {
    rows: u16,
    cols: u16,
}

impl TerminalSize {
    /// 24 rows of 80 columns: what a terminal has that nobody looked at yet.
    pub const DEFAULT: Self = Self { rows: 24, cols: 80 };

    /// A size, brought into 4 to 500 rows and 10 to 1,000 columns: a viewer must not make the node hold a giant screen.
    #[must_use]
    pub fn new(rows: u16, cols: u16) -> Self {
        Self { rows: rows.clamp(4, 500), cols: cols.clamp(10, 1000) }
    }

    /// How many rows.
    #[must_use]
    pub const fn rows(self) -> u16 {
        self.rows
    }

    /// How many columns.
    #[must_use]
    pub const fn cols(self) -> u16 {
        self.cols
    }
}

impl From<(u16, u16)> for TerminalSize {
    fn from((rows, cols): (u16, u16)) -> Self {
        Self::new(rows, cols)
    }
}

impl From<TerminalSize> for (u16, u16) {
    fn from(size: TerminalSize) -> Self {
        (size.rows, size.cols)
    }
}

/// A command that runs in its terminal.
pub struct RunningProcess {
    /// Which process it is.
    pub process: ProcessRef,
    /// Its output as it comes, bounded: who does not read slows the command. The last item is its end.
    pub output: mpsc::Receiver<ProcessOutput>,
    /// The hand on it. Dropping this kills the whole tree and closes the terminal.
    pub handle: Box<dyn ProcessHandle>,
}

/// What comes out of a terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum ProcessOutput {
    /// The next bytes, in order.
    Bytes(Vec<u8>),
    /// The command ended, and so did what it left behind; nothing follows.
    Ended(ProcessEnd),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnd {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// The system would not say how.
    Unknown,
}

/// The hand on a running command and its terminal. No method waits.
pub trait ProcessHandle: Send {
    /// Types `bytes`, whole and after everything typed before.
    ///
    /// # Errors
    /// When the command has not read the megabyte typed before this, or has ended. Nothing of `bytes` was typed then.
    fn write(&mut self, bytes: Vec<u8>) -> Result<(), InputRefused>;

    /// Tells the terminal its new size, and by that the command.
    ///
    /// # Errors
    /// When the system refuses.
    fn resize(&mut self, size: TerminalSize) -> io::Result<()>;

    /// Signals the command's whole tree. The end, if it brings one, comes through the output.
    fn signal(&mut self, signal: ProcessSignal);
}

/// Why nothing was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputRefused {
    /// Too much typed before is still unread.
    #[error("the agent has not read what was typed before")]
    Full,
    /// Nobody reads any more.
    #[error("the agent has ended")]
    Ended,
}

/// Why a command cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A bare name that is nowhere on the search path.
    #[error("`{}` is not on the search path `{}`", .command.display(), .search_path.display())]
    NotFound {
        /// What was looked for.
        command: OsString,
        /// Where.
        search_path: OsString,
    },
    /// A path that is not absolute: nobody could say which folder it starts from.
    #[error("`{}` is neither a bare name nor an absolute path", .command.display())]
    NotAbsolute {
        /// As configured.
        command: OsString,
    },
    /// The file is missing, no file, or may not be executed.
    #[error("`{}` is not an executable file", .path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
}

/// Why a launch came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command cannot be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The folder is missing or no folder; nothing is ever started elsewhere.
    #[error("the folder `{}` is missing", .folder.display())]
    FolderMissing {
        /// The folder it should have started in.
        folder: PathBuf,
    },
    /// No terminal could be opened: often there are no more.
    #[error("no terminal could be opened")]
    Terminal(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The system would not start it.
    #[error("`{}` could not be started", .path.display())]
    Spawn {
        /// The file that was to be executed.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It started and was ended again, because the system would not say its start time.
    #[error(transparent)]
    Unidentified(#[from] ProbeError),
}

/// The system would not tell about processes.
#[derive(Debug, thiserror::Error)]
#[error("the system does not tell about process {pid}")]
pub struct ProbeError {
    /// The process asked about.
    pub pid: Pid,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// How a survivor of a crashed node came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurvivorEnd {
    /// Nothing of it ran any more.
    WasGone,
    /// It ended when asked.
    Terminated,
    /// It had to be killed.
    Killed,
}

/// Why a survivor may still run. Nothing else may be started in its place.
#[derive(Debug, thiserror::Error)]
pub enum SurvivorError {
    /// Nobody knows whether it runs.
    #[error(transparent)]
    Unknown(#[from] ProbeError),
    /// It runs and does not end.
    #[error("process {} does not end", .0.pid)]
    StillThere(ProcessRef),
}

/// How long a killed process may take to disappear before it counts as one that does not end.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How often a tree is looked at while it ends. The system tells nobody but the parent when a process ends.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ends what a node that crashed left running: asks, waits up to `grace`, kills, and makes sure.
///
/// Only the process with this id *and* start time, its tree, and what carries `mark` are touched. Without a survivor, a
/// node that ended before it could write one down, the mark alone finds it.
///
/// # Errors
/// When it is unknown whether something of it still runs, or it does and will not end.
pub async fn end_survivor(
    processes: &dyn Processes,
    survivor: Option<ProcessRef>,
    mark: Option<EnvMark>,
    grace: Duration,
) -> Result<SurvivorEnd, SurvivorError> {
    if let Some(Err(error)) = survivor.as_ref().map(|survivor| processes.facts(survivor.pid.into())) {
        return Err(error.into());
    }
    let mut known: BTreeSet<ProcessRef> = survivor.into_iter().collect();
    if living(processes, &mut known, mark.clone()).await?.is_empty() {
        return Ok(SurvivorEnd::WasGone);
    }
    let first = signal_until_gone(processes, &mut known, mark.clone(), ProcessSignal::Terminate, grace);
    if first.await?.is_none() {
        return Ok(SurvivorEnd::Terminated);
    }
    let second = signal_until_gone(processes, &mut known, mark, ProcessSignal::Kill, KILL_PATIENCE);
    match second.await? {
        None => Ok(SurvivorEnd::Killed),
        Some(left) => Err(SurvivorError::StillThere(left)),
    }
}

/// Signals the tree of `known` and waits until nothing of it lives; answers one that still does after `patience`.
///
/// `known` grows by what is found, because a child whose parent ended is found by nothing else. A kill is repeated
/// for whoever was born meanwhile; asking is done once.
///
/// # Errors
/// When the system would not say what lives.
pub async fn signal_until_gone(
    processes: &dyn Processes,
    known: &mut BTreeSet<ProcessRef>,
    mark: Option<EnvMark>,
    signal: ProcessSignal,
    patience: Duration,
) -> Result<Option<ProcessRef>, ProbeError> {
    let deadline = tokio::time::Instant::now() + patience;
    let mut asked = false;
    loop {
        let left = living(processes, known, mark.clone()).await?;
        let Some(one) = left.first().cloned() else {
            return Ok(None);
        };
        if tokio::time::Instant::now() >= deadline {
            return Ok(Some(one));
        }
        if !asked || signal == ProcessSignal::Kill {
            processes.signal(left, signal).await;
            asked = true;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn living(processes: &dyn Processes, known: &mut BTreeSet<ProcessRef>, mark: Option<EnvMark>) -> Result<Vec<ProcessRef>, ProbeError> {
    let left = processes.tree(known.iter().cloned().collect(), mark).await?;
    known.extend(left.iter().cloned());
    Ok(left)
}
