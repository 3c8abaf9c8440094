//! A disk that misbehaves as disks do. What was not synced when the power went may be there, be gone, be there in part, or
//! have arrived in another order; and the disk can become full. One seed gives one fate.
//!
//! The store under test runs on it unchanged: it sees a `StorageBackend` and a place for blobs.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use frith_store::{
    blobs::{Blobs, InMemory},
    error::StoreError,
    id::{BlobHash, UploadId},
    open::Disk,
};
use redb::StorageBackend;

use crate::dice::Dice;

/// The bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;
/// The bytes that a file takes from the disk at a time.
const BLOCK: u64 = 4_096;

/// A disk with the one file of a store and its blobs. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    dice: Dice,
    /// What a power cut cannot take.
    synced: Vec<u8>,
    /// What the running system reads.
    current: Vec<u8>,
    unsynced: Vec<Write>,
    kept: InMemory,
    blocks: BTreeSet<u64>,
    limit: Option<u64>,
    /// Counts the times the power came on: what was opened before is dead.
    boot: u64,
    powered: bool,
    cut_after: Option<u64>,
    operations: u64,
}

#[derive(Debug, Clone)]
enum Write {
    Bytes { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl SimDisk {
    /// An empty disk, whose power cuts follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            dice: Dice::new(seed, "disk"),
            synced: Vec::new(),
            current: Vec::new(),
            unsynced: Vec::new(),
            kept: InMemory::default(),
            blocks: BTreeSet::new(),
            limit: None,
            boot: 0,
            powered: true,
            cut_after: None,
            operations: 0,
        })))
    }

    /// The disk as a store opens it. After a power cut it is dead: take another once the power is on.
    pub fn mount(&self) -> Disk {
        let handle = Handle { disk: self.clone(), boot: self.state().boot };
        Disk { backend: Arc::new(handle.clone()), blobs: Arc::new(handle) }
    }

    /// Cuts the power after this many more operations, in the middle of the next one.
    pub fn cut_power_after(&self, operations: u64) {
        self.state().cut_after = Some(operations);
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        !self.state().powered
    }

    /// Cuts the power if it is on, decides what becomes of every unsynced write, and turns it on again.
    pub fn power_on(&self) {
        let mut state = self.state();
        state.settle();
        state.powered = true;
        state.cut_after = None;
        state.boot += 1;
    }

    /// Leaves this many bytes for file and blobs together; none is no limit. What is there stays.
    pub fn limit(&self, bytes: Option<u64>) {
        self.state().limit = bytes;
    }

    /// The bytes that file and blobs take.
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// How many times the disk was written or synced.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn used(&self) -> u64 {
        let uploads = self.kept.uploads.values().map(|(bytes, _)| bytes.len());
        let blobs: usize = self.kept.blobs.values().map(Vec::len).chain(uploads).sum();
        self.blocks.len() as u64 * BLOCK + blobs as u64
    }

    /// Takes the blocks that a write needs.
    fn allocate(&mut self, offset: usize, length: usize) -> io::Result<()> {
        let (first, last) = (offset as u64 / BLOCK, (offset + length.max(1) - 1) as u64 / BLOCK);
        let new = (first..=last).filter(|block| !self.blocks.contains(block)).count() as u64;
        if new > 0 && self.limit.is_some_and(|limit| self.used() + new * BLOCK > limit) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.blocks.extend(first..=last);
        Ok(())
    }

    /// Counts an operation; the power goes in the middle of the one that is one too many.
    fn tick(&mut self) -> bool {
        self.operations += 1;
        match &mut self.cut_after {
            Some(0) => self.powered = false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.powered
    }

    /// Decides the fate of each unsynced write. At one cut all arrive, at another none, at most some; the worst are those
    /// where only few are missing.
    fn settle(&mut self) {
        let lost_of_48 = [0, 1, 4, 16, 48][self.dice.below(5) as usize];
        let mut writes = std::mem::take(&mut self.unsynced);
        if lost_of_48 > 0 {
            for last in (1..writes.len()).rev() {
                let other = self.dice.below(last as u64 + 1) as usize;
                writes.swap(last, other);
            }
        }
        for write in writes {
            match self.dice.below(48) {
                roll if roll < lost_of_48 => {}
                roll if roll < 2 * lost_of_48 => self.tear(write),
                _ => apply(&mut self.synced, &write),
            }
        }
        self.current = self.synced.clone();
    }

    fn tear(&mut self, write: Write) {
        let Write::Bytes { offset, bytes } = write else { return };
        for (at, sector) in (offset..).step_by(SECTOR).zip(bytes.chunks(SECTOR)) {
            if self.dice.below(2) == 0 {
                apply(&mut self.synced, &Write::Bytes { offset: at, bytes: sector.to_vec() });
            }
        }
    }
}

fn apply(file: &mut Vec<u8>, write: &Write) {
    match write {
        Write::Length(length) => file.resize(*length, 0),
        Write::Bytes { offset, bytes } => {
            let end = offset + bytes.len();
            if file.len() < end {
                file.resize(end, 0);
            }
            file[*offset..end].copy_from_slice(bytes);
        }
    }
}

/// The disk as one boot sees it.
#[derive(Debug, Clone)]
struct Handle {
    disk: SimDisk,
    boot: u64,
}

impl Handle {
    fn live(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.powered && state.boot == self.boot { Ok(state) } else { Err(off()) }
    }

    fn write_down(&self, write: Write) -> io::Result<()> {
        let mut state = self.live()?;
        if let Write::Bytes { offset, bytes } = &write {
            state.allocate(*offset, bytes.len())?;
        }
        let done = state.tick();
        apply(&mut state.current, &write);
        state.unsynced.push(write);
        if done { Ok(()) } else { Err(off()) }
    }
}

fn off() -> io::Error {
    io::Error::other("the power is off")
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.live()?.current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.live()?;
        let offset = offset as usize;
        let bytes = state.current.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.write_down(Write::Length(len as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.live()?;
        if !state.tick() {
            return Err(off());
        }
        state.synced = state.current.clone();
        state.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_down(Write::Bytes { offset: offset as usize, bytes: data.to_vec() })
    }
}

impl Blobs for Handle {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let hash = BlobHash::of(bytes);
        self.with_room_for(bytes.len())?.kept.blobs.insert(hash, bytes.to_vec());
        Ok(hash)
    }

    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        let state = self.live().map_err(|error| StoreError::from_io("read a text", error))?;
        state.kept.blobs.get(&hash).cloned().ok_or(StoreError::Blob { hash, damaged: false })
    }

    fn receive(&self, upload: UploadId, offset: u64, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.with_room_for(bytes.len())?.kept.receive(upload, offset, bytes))
    }

    fn complete(&self, upload: UploadId) -> Result<Option<(BlobHash, u64)>, StoreError> {
        Ok(self.with_room_for(0)?.kept.complete(upload))
    }

    fn adopt(&self, upload: UploadId, hash: BlobHash) -> Result<(), StoreError> {
        self.with_room_for(0)?.kept.adopt(upload, hash);
        Ok(())
    }

    fn forget_uploads(&self, _all: bool) -> Result<(), StoreError> {
        self.with_room_for(0)?.kept.uploads.clear();
        Ok(())
    }

    fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        let state = self.live().map_err(|error| StoreError::from_io("list the texts", error))?;
        Ok(state.kept.blobs.keys().copied().collect())
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        self.with_room_for(0)?.kept.blobs.remove(&hash);
        Ok(())
    }
}

impl Handle {
    /// The disk, after it has done one more thing and where it has room for these bytes.
    fn with_room_for(&self, bytes: usize) -> Result<MutexGuard<'_, State>, StoreError> {
        let io = |error| StoreError::from_io("keep a text", error);
        let mut state = self.live().map_err(io)?;
        if !state.tick() {
            return Err(io(off()));
        }
        match state.limit {
            Some(limit) if state.used() + bytes as u64 > limit => Err(StoreError::Full),
            _ => Ok(state),
        }
    }
}
