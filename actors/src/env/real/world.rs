//! The real clock, randomness, threads and disk.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use frith_store::{
    backup::{self, BackupError, Extras},
    blobs::BlobFolder,
    error::StoreError,
    open::{self, Identity, Options, Store},
    time::Timestamp,
};

use crate::env::world::{BackupMade, BackupWanted, Blocking, Disk, Faults, Itself, ItselfFacts, Purpose, Random, WallClock};

/// The system's clock, or one that a test has set.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock {
    ahead_ms: i64,
}

impl SystemClock {
    /// A clock that shows `time` now and goes on from there.
    pub fn set_to(time: Timestamp) -> Self {
        Self { ahead_ms: time.ms() - system_ms() }
    }
}

impl WallClock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(system_ms() + self.ahead_ms)
    }

    fn time_zone(&self) -> String {
        let zone = jiff::tz::TimeZone::try_system().ok();
        zone.and_then(|zone| zone.iana_name().map(str::to_owned)).unwrap_or_else(|| "UTC".to_owned())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the door that reads the clock")]
fn system_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
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
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => {
                Err(StoreError::Corrupt { path, fault: "it is empty, and no store ever is".to_owned() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.begin_store(&path, identity),
            _ => self.open_at(&path, &path, identity),
        }
    }

    fn back_up(&self, store: &Store, wanted: &BackupWanted, watch: &mut dyn FnMut(u64, u64)) -> Result<BackupMade, BackupError> {
        let config = match std::fs::read(self.0.join("config.toml")) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::from_io("read the configuration beside it", error).into()),
        };
        let extras = Extras { made: wanted.made, frith: env!("CARGO_PKG_VERSION").to_owned(), config };
        let (header, figures) = backup::write_file(store, &extras, &wanted.to, wanted.over, watch)?;
        let bytes = std::fs::metadata(&wanted.to).map_or(0, |facts| facts.len());
        Ok(BackupMade {
            contents: header.contents,
            files: figures.files,
            left_out: figures.left_out,
            config: extras.config.is_some(),
            bytes,
        })
    }
}

impl HomeDisk {
    /// A store gets its name once it is one, so that an empty file under that name is always a damaged store.
    fn begin_store(&self, path: &Path, identity: Identity) -> Result<Store, StoreError> {
        let failed = |error| StoreError::from_io("begin", error);
        let begun = self.0.join("store.redb.new");
        if let Err(error) = std::fs::remove_file(&begun)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed(error));
        }
        let store = self.open_at(&begun, path, identity)?;
        std::fs::rename(&begun, path).map_err(failed)?;
        let folder = std::fs::File::open(&self.0).map_err(failed)?;
        folder.sync_all().map_err(failed)?;
        Ok(store)
    }

    fn open_at(&self, file: &Path, known_as: &Path, identity: Identity) -> Result<Store, StoreError> {
        let disk = open::Disk { backend: open::file_backend(file)?, blobs: Arc::new(BlobFolder::new(self.0.join("blobs"))) };
        Store::open(disk, identity, Options::at(known_as))
    }
}

/// Ends this process as a power cut would when it comes to one chosen point; or waits there, when a file is named behind it with
/// a `=`, until that file is there.
#[derive(Debug, Clone)]
pub struct FaultAt(pub Option<String>);

/// Between two looks for the file.
const NAP: Duration = Duration::from_millis(10);

impl Faults for FaultAt {
    fn reached(&self, point: &'static str) {
        if let Some((_, file)) = self.0.as_deref().and_then(|chosen| chosen.split_once('=')).filter(|(chosen, _)| *chosen == point) {
            while !Path::new(file).exists() {
                std::thread::sleep(NAP);
            }
        }
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

    fn program(&self) -> PathBuf {
        self.binary.clone()
    }
}

/// Device and number of a file: another file under the same name has others.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
