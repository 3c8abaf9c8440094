//! The real clock, randomness, threads and disk.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use frith_store::{
    blobs::BlobFolder,
    error::StoreError,
    open::{self, Identity, Options, Store},
    time::Timestamp,
};

use crate::env::world::{Blocking, Disk, Faults, Itself, ItselfFacts, Purpose, Random, WallClock};

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, _purpose: Purpose, out: &mut [u8]) {
        getrandom::fill(out).expect("a system without randomness cannot make an id that is its own");
    }
}

/// Tokio's threads for blocking work.
#[derive(Debug, Clone)]
pub struct Threads(pub tokio::runtime::Handle);

impl Blocking for Threads {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.spawn_blocking(work);
    }
}

/// The store and the texts of a home.
#[derive(Debug, Clone)]
pub struct HomeDisk(pub PathBuf);

impl Disk for HomeDisk {
    fn open_store(&self, identity: Identity) -> Result<Store, StoreError> {
        let path = self.0.join("store.redb");
        let disk = open::Disk { backend: open::file_backend(&path)?, blobs: Arc::new(BlobFolder::new(self.0.join("blobs"))) };
        Store::open(disk, identity, Options::at(&path))
    }
}

/// Ends this process as a power cut would when it comes to one chosen point.
#[derive(Debug, Clone)]
pub struct FaultAt(pub Option<String>);

impl Faults for FaultAt {
    fn reached(&self, point: &'static str) {
        if self.0.as_deref() == Some(point) {
            let itself = rustix::process::getpid();
            // A process that cannot be killed goes on, and the test that asked for its end fails.
            let _ = rustix::process::kill_process(itself, rustix::process::Signal::KILL);
        }
    }
}

/// This process.
#[derive(Debug, Clone)]
pub struct ThisProcess {
    binary: PathBuf,
    identity: Option<(u64, u64)>,
}

impl ThisProcess {
    /// Notes which file this process was started from.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn note() -> io::Result<Self> {
        let binary = std::env::current_exe()?;
        let identity = file_identity(&binary);
        Ok(Self { binary, identity })
    }
}

impl Itself for ThisProcess {
    fn facts(&self) -> ItselfFacts {
        ItselfFacts {
            pid: std::process::id(),
            root: rustix::process::geteuid().is_root(),
            binary_replaced: file_identity(&self.binary) != self.identity,
        }
    }
}

/// Device and number of a file: another file under the same name has others.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
