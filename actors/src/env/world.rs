//! The smaller doors of the world: wall clock, randomness, blocking work, the disk, and the points at which a test may
//! end the node.

use std::{fmt, path::PathBuf, sync::Arc};

use frith_store::{
    backup::{BackupError, Contents},
    error::StoreError,
    open::Store,
    time::Timestamp,
    tx::Identity,
};

/// The wall clock: what people read. Spans and deadlines use tokio's clock, which a simulated world can pause.
pub trait WallClock: Send + Sync {
    /// Now, by this machine's clock.
    fn now(&self) -> Timestamp;

    /// The IANA name of this machine's time zone; `UTC` where that is not known.
    fn time_zone(&self) -> String {
        "UTC".to_owned()
    }
}

/// What randomness is drawn for. Each purpose has a stream of its own, so drawing more for one moves no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Ids of places, tasks and agents.
    Ids,
    /// Tokens that keep tasks open.
    Tokens,
    /// What tells one run of a node from another.
    Incarnation,
    /// Secrets.
    Secrets,
}

/// Randomness.
pub trait Random: Send + Sync {
    /// Fills `out` from the stream of `purpose`.
    fn fill(&self, purpose: Purpose, out: &mut [u8]);
}

impl dyn Random {
    /// Random bytes, as many as the type has.
    pub fn bytes<const N: usize>(&self, purpose: Purpose) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(purpose, &mut bytes);
        bytes
    }
}

/// Work that blocks: it runs beside the runtime, or at once in a simulated world.
pub trait Blocking: Send + Sync {
    /// Runs `work` soon; what it has to say it sends itself.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// The disk a node's store lies on.
pub trait Disk: Send + Sync {
    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or was written by a later frith.
    fn open_store(&self, identity: Identity) -> Result<Store, StoreError>;

    /// Writes a backup of the open store into a file, with the configuration beside the store.
    ///
    /// # Errors
    /// The file is there already and `over` is not said, or something cannot be read or written.
    fn back_up(&self, store: &Store, wanted: &BackupWanted, watch: &mut dyn FnMut(u64, u64)) -> Result<BackupMade, BackupError>;
}

/// A backup to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupWanted {
    /// Where.
    pub to: PathBuf,
    /// Whether a file that is there is written over.
    pub over: bool,
    /// The time it is made at.
    pub made: Timestamp,
}

/// A backup that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupMade {
    /// What it holds, counted.
    pub contents: Contents,
    /// How many long texts and attachments.
    pub files: u64,
    /// How many of them were damaged and are not in it.
    pub left_out: u64,
    /// Whether it holds the configuration.
    pub config: bool,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Named points between two steps. At most one of them, chosen by a test, ends the node as a power cut would.
pub trait Faults: Send + Sync {
    /// The node has come to this point.
    fn reached(&self, point: &'static str);
}

/// This node's own process.
pub trait Itself: Send + Sync {
    /// What is true of it now.
    fn facts(&self) -> ItselfFacts;

    /// The file it was started from.
    fn program(&self) -> PathBuf;
}

/// What is true of this node's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItselfFacts {
    /// Its number.
    pub pid: u32,
    /// Whether it has root's powers.
    pub root: bool,
    /// Whether another file stands now where its binary was.
    pub binary_replaced: bool,
}

/// A world in which nothing is made to fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn reached(&self, _point: &'static str) {}
}

/// Runs blocking work and waits for what it answers.
///
/// # Errors
/// [`WorkLost`] when the work panicked.
pub async fn blocking<T: Send + 'static>(blocking: &Arc<dyn Blocking>, work: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkLost> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    blocking.run(Box::new(move || {
        // Nobody waits any more when the caller went away: the work was done all the same.
        let _ = answer.send(work());
    }));
    answered.await.map_err(|_| WorkLost)
}

/// Blocking work ended without an answer: it panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("work in the background ended without an answer")]
pub struct WorkLost;

impl fmt::Debug for dyn Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}
