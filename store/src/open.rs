//! The store: opened once by the one node of a home, read by anybody at any time, written in batches.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use redb::StorageBackend;

use crate::{
    blobs::Blobs,
    database::{Database, Keep},
    derive::{Deriver, clear, rebuild},
    error::{Failure, StoreError},
    facts,
    id::MachineId,
    invariants::{self, Violation},
    migrate,
    rows::RowsMut,
    time::Timestamp,
    tx::Desk,
    view::View,
};

pub use crate::{
    backend::{file_backend, file_backend_read_only},
    job::{Job, Undone, job},
    tx::{Identity, Signer, Tx},
};

/// How a store is opened.
pub struct Options {
    /// What people know the store as; errors name it.
    pub path: PathBuf,
    /// How many bytes of rows are kept in memory.
    pub cache_bytes: usize,
    /// How many documents are kept in memory for the next change to them.
    pub documents: usize,
    /// Told how many documents of how many are done while views are built anew.
    pub progress: Box<dyn FnMut(u64, u64) + Send>,
}

impl Options {
    /// The usual options for the store at `path`.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), cache_bytes: 16 * 1024 * 1024, documents: 512, progress: Box::new(|_, _| {}) }
    }
}

/// Where a store's bytes are.
pub struct Disk {
    /// The rows.
    pub backend: Arc<dyn StorageBackend>,
    /// Long texts and attachments.
    pub blobs: Arc<dyn Blobs>,
}

/// The store of a machine.
pub struct Store {
    database: Database,
    blobs: Arc<dyn Blobs>,
    machine: MachineId,
    desk: Mutex<Desk>,
    unsettled: AtomicBool,
    given_back: AtomicU64,
    pins: RwLock<()>,
}

/// Figures of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// How many documents there are.
    pub documents: u64,
    /// How many bytes the file has.
    pub bytes: u64,
    /// How many bytes of it were given back to the disk since it was opened.
    pub given_back: u64,
}

/// The bytes of a file below which giving some back is not worth anybody's waiting.
const WORTH_LEAST: u64 = 8 * 1024 * 1024;

impl Store {
    /// Opens a store, or begins one on an empty disk. An older one is brought to the present format; views of another version
    /// are built anew, which reads every document.
    ///
    /// # Errors
    /// The store is damaged, in use, newer, or cannot be read or written. Nothing is ever deleted.
    pub fn open(disk: Disk, identity: Identity, options: Options) -> Result<Self, StoreError> {
        let Options { path, cache_bytes, documents, mut progress } = options;
        let database = Database::open(disk.backend, path, cache_bytes)?;
        let store = Self::new(database, disk.blobs, identity, documents);
        let found = migrate::look(&store.database.begin_read()?)?;
        if !found.is_current() {
            store.database.write(|rows| {
                migrate::migrate(rows, found)?;
                if found.stale_views && found.format.is_some() {
                    store.rebuild_in(rows, &mut *progress)?;
                }
                Ok(((), Keep::Commit))
            })?;
        }
        Ok(store)
    }

    /// Opens a store that may not be written: every write is answered [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// The store is damaged, in use, newer or older, was not closed cleanly, or cannot be read.
    pub fn open_read_only(disk: Disk, identity: Identity, options: Options) -> Result<Self, StoreError> {
        let path = options.path.clone();
        let database = Database::open_read_only(disk.backend, options.path, options.cache_bytes)?;
        let found = migrate::look(&database.begin_read()?)?;
        if !found.is_current() {
            return Err(StoreError::NeedsRepair { path });
        }
        Ok(Self::new(database, disk.blobs, identity, options.documents))
    }

    fn new(database: Database, blobs: Arc<dyn Blobs>, identity: Identity, documents: usize) -> Self {
        let machine = identity.machine;
        let documents = NonZeroUsize::new(documents).unwrap_or(NonZeroUsize::MIN);
        let desk = Desk::new(identity, Arc::clone(&blobs), documents);
        Self {
            database,
            blobs,
            machine,
            desk: Mutex::new(desk),
            unsettled: AtomicBool::new(true),
            given_back: AtomicU64::new(0),
            pins: RwLock::default(),
        }
    }

    /// This machine.
    pub fn machine(&self) -> MachineId {
        self.machine
    }

    /// Reads a state that was true at one moment, and stays so while `f` runs.
    ///
    /// # Errors
    /// What `f` fails with, or that the file cannot be read.
    pub fn read<T, E: From<StoreError>>(&self, f: impl FnOnce(&View<'_>) -> Result<T, E>) -> Result<T, E> {
        let rows = self.database.begin_read()?;
        f(&View::over(&rows))
    }

    /// Runs jobs in their order in one transaction, makes it durable, and only then tells each how it ended. When the
    /// transaction fails, every job is told so, and none of them wrote anything.
    pub fn commit(&self, jobs: Vec<Box<dyn Job>>) {
        let mut desk = self.desk();
        let mut jobs = jobs;
        let mut broken: Vec<Option<StoreError>> = Vec::with_capacity(jobs.len());
        let outcome = self.database.write(|rows| Self::run_batch(&mut desk, rows, &mut jobs, &mut broken));
        self.unsettled.store(true, Ordering::Relaxed);
        if outcome.is_err() {
            desk.start_over();
        }
        drop(desk);
        broken.resize(jobs.len(), None);
        for (job, broken) in jobs.into_iter().zip(broken) {
            job.finish(match broken {
                Some(error) => Err(error),
                None => outcome.clone(),
            });
        }
    }

    /// Runs one piece of work in a transaction of its own.
    ///
    /// # Errors
    /// What `work` fails with, or that it could not be made durable; then nothing was written.
    pub fn write<T: Send + 'static>(
        &self,
        now: Timestamp,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let done = move |answer| drop(sender.send(answer));
        self.commit(vec![job(now, work, done)]);
        receiver.recv().unwrap_or(Err(Failure::Broken(StoreError::Interrupted)))
    }

    /// Long texts and attachments.
    pub fn blobs(&self) -> &dyn Blobs {
        &*self.blobs
    }

    /// While this is held nothing takes a text or an attachment away: whoever does holds the other side of the lock.
    pub(crate) fn blob_pins(&self) -> &RwLock<()> {
        &self.pins
    }

    /// The same lock, for whoever reads all of them.
    pub(crate) fn pin_blobs(&self) -> RwLockReadGuard<'_, ()> {
        self.pins.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every invariant of the store that does not hold (see [`crate::invariants`]). Reads everything: for tests and `doctor`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn check(&self) -> Result<Vec<Violation>, StoreError> {
        self.read(|view| invariants::all(view, &*self.blobs, self.machine))
    }

    /// Figures of the store.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let rows = self.database.begin_read()?;
        Ok(Stats {
            documents: facts::document_count(&rows)?,
            bytes: self.database.bytes()?,
            given_back: self.given_back.load(Ordering::Relaxed),
        })
    }

    /// Prepares the file for a sudden end, so that opening it afterwards takes no longer than after a clean one: otherwise
    /// that reads the whole file. It costs as much as a write, or nothing when nothing was written since the last time: for
    /// when the node has had nothing to write for a while.
    ///
    /// # Errors
    /// It could not be made durable.
    pub fn settle(&self) -> Result<(), StoreError> {
        let _alone = self.desk();
        if self.unsettled.swap(false, Ordering::Relaxed) {
            self.database.settle().inspect_err(|_| self.unsettled.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    }

    /// Puts up to `most` documents with many changes into one piece each. Says how many there were: call it again while that
    /// is not zero. No request waits for it but for the time of one call, so it is for when the node is idle.
    ///
    /// # Errors
    /// The rows cannot be read or written.
    pub fn compact(&self, most: usize) -> Result<usize, StoreError> {
        let _alone = self.desk();
        self.database.write(|rows| {
            let long = facts::long_documents(rows, most)?;
            for doc in &long {
                if let Err(error) = facts::compact(rows, *doc)? {
                    tracing::error!(%doc, %error, "a document was not compacted");
                }
            }
            self.unsettled.store(true, Ordering::Relaxed);
            Ok((long.len(), if long.is_empty() { Keep::Nothing } else { Keep::Commit }))
        })
    }

    /// Gives back to the disk what the file holds and does not use, when that is worth the time: every page is looked at, and
    /// everybody waits while pages are moved. So it is for when nobody has written for a while. Answers how many bytes.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn give_back(&self) -> Result<u64, StoreError> {
        let _alone = self.desk();
        let before = self.database.bytes()?;
        if before < WORTH_LEAST || self.database.spare()? < before / 2 || !self.shrink()? {
            return Ok(0);
        }
        let given = before.saturating_sub(self.database.bytes()?);
        self.given_back.fetch_add(given, Ordering::Relaxed);
        Ok(given)
    }

    /// Gives back whatever the file does not use, worth it or not. Answers whether nobody was in the way.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn shrink_now(&self) -> Result<bool, StoreError> {
        let _alone = self.desk();
        self.shrink()
    }

    fn shrink(&self) -> Result<bool, StoreError> {
        self.unsettled.store(true, Ordering::Relaxed);
        self.database.shrink()
    }

    /// Does something to the rows while no request does.
    pub(crate) fn exclusively<T>(&self, work: impl FnOnce(&dyn RowsMut) -> Result<(T, Keep), StoreError>) -> Result<T, StoreError> {
        let _alone = self.desk();
        self.unsettled.store(true, Ordering::Relaxed);
        self.database.write(|rows| work(rows))
    }

    /// Derives all views anew from documents and logs.
    ///
    /// # Errors
    /// The rows cannot be read or written.
    pub fn rebuild_views(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        let _alone = self.desk();
        self.database.write(|rows| self.rebuild_in(rows, progress).map(|()| ((), Keep::Commit)))
    }

    /// Closes the store cleanly, so that the next opening has nothing to mend.
    ///
    /// # Errors
    /// The last writes could not be made durable.
    pub fn close(&self) -> Result<(), StoreError> {
        let _alone = self.desk();
        self.database.close()
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(|poisoned| {
            let mut desk = PoisonError::into_inner(poisoned);
            desk.start_over();
            self.desk.clear_poison();
            desk
        })
    }

    fn run_batch(
        desk: &mut Desk,
        rows: &dyn RowsMut,
        jobs: &mut [Box<dyn Job>],
        broken: &mut Vec<Option<StoreError>>,
    ) -> Result<((), Keep), StoreError> {
        desk.writes = 0;
        for job in jobs {
            let before = desk.writes;
            let undone = job.run(&mut Tx::new(rows, desk, job.now()));
            let wrote = desk.writes > before;
            broken.push(match undone {
                Ok(()) => None,
                Err(Undone::Refused) if wrote => {
                    tracing::error!("a request wrote before it was refused");
                    return Err(StoreError::RefusedAfterWriting);
                }
                Err(Undone::Broken(error)) if wrote => return Err(error),
                Err(Undone::Refused) => None,
                Err(Undone::Broken(error)) => Some(error),
            });
        }
        desk.sign(rows)?;
        Ok(((), if desk.writes > 0 { Keep::Commit } else { Keep::Nothing }))
    }

    fn rebuild_in(&self, rows: &dyn RowsMut, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        clear(rows)?;
        for (doc, error) in rebuild(Deriver::new(rows, &*self.blobs), progress)? {
            tracing::error!(%doc, %error, "a document was left out of the views");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        blobs::MemoryBlobs,
        docs::log::Fact,
        id::{AgentId, CallId, OpenToken, PlaceId, PlaceRef, TaskId, TaskRef, TeamId},
        model::{Assignee, By, EndHow, PlaceKind, Status},
        refusal::Refusal,
        tx::{NewPlace, NewTask},
    };

    struct Key(ed25519_dalek::SigningKey);

    impl Signer for Key {
        fn public_key(&self) -> [u8; 32] {
            self.0.verifying_key().to_bytes()
        }
        fn sign(&self, message: &[u8]) -> [u8; 64] {
            ed25519_dalek::Signer::sign(&self.0, message).to_bytes()
        }
    }

    fn key() -> Key {
        Key(ed25519_dalek::SigningKey::from_bytes(&[7; 32]))
    }

    fn identity(run: u8) -> Identity {
        Identity { machine: MachineId::of_key(&key().public_key()), incarnation: [run; 8], signer: Arc::new(key()) }
    }

    fn memory() -> Store {
        let disk = Disk { backend: Arc::new(redb::backends::InMemoryBackend::new()), blobs: Arc::new(MemoryBlobs::default()) };
        Store::open(disk, identity(1), Options::at(Path::new("memory"))).unwrap()
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn person() -> By {
        By::Person("ada".into())
    }

    fn place(id: u8, name: &str, kind: PlaceKind) -> NewPlace {
        let (name, description, icon) = (name.into(), String::new(), String::new());
        NewPlace { id: PlaceId::from_bytes([id; 16]), kind, name, description, icon, folder: None, spun_up_for: None }
    }

    fn task(id: u8, place: u8) -> NewTask {
        NewTask {
            id: TaskId::from_bytes([id; 16]),
            place: PlaceId::from_bytes([place; 16]),
            title: format!("task {id}"),
            body: "text".into(),
            assignee: Assignee::Agent,
            position: None,
            allow_all_commands: false,
            clear_context: None,
            token: OpenToken::from_bytes([id; 16]),
            schedule: None,
        }
    }

    #[test]
    fn a_task_is_made_taken_left_and_closed() {
        let store = memory();
        let (place_id, task_id) = (PlaceId::from_bytes([1; 16]), TaskId::from_bytes([2; 16]));
        let agent = AgentId::from_bytes([3; 16]);
        store
            .write(at(1), move |tx| {
                tx.found_team(TeamId::from_bytes([9; 16]), "laptop", &person())?;
                tx.create_place(place(1, "app", PlaceKind::Workspace), &person())?;
                tx.create_task(task(2, 1), &person())?;
                let launch = Fact::Launch {
                    agent,
                    kind: "claude".into(),
                    place: place_id,
                    epoch: 1,
                    by: person(),
                    model: None,
                    effort: None,
                    folder: None,
                };
                Ok(tx.append(launch)?)
            })
            .unwrap();
        let by = By::Agent(agent);
        let taken = Fact::Taken {
            task: task_id,
            place: place_id,
            epoch: 1,
            holder: by.clone(),
            call: CallId::from_bytes([4; 16]),
            token: OpenToken::from_bytes([5; 16]),
        };
        store.write(at(2), move |tx| Ok(tx.append(taken)?)).unwrap();
        store
            .read::<_, Failure>(|view| {
                assert_eq!(view.find_place(&PlaceRef("app".into()))?, place_id);
                assert_eq!(view.find_task(&TaskRef("0202".into()))?, task_id);
                let held = view.next_candidates(place_id, &by)?.held;
                assert_eq!(held[0].holder.as_ref().unwrap().by, by);
                assert_eq!(view.counts(place_id)?.ongoing, 1);
                Ok(())
            })
            .unwrap();
        store.write(at(3), move |tx| Ok(tx.append(Fact::End { agent, how: EndHow::Exited(0) })?)).unwrap();
        let other = store.read::<_, Failure>(|view| Ok(view.next_candidates(place_id, &person())?)).unwrap();
        assert_eq!(other.left.len(), 1);
        store.write(at(4), move |tx| tx.set_status(task_id, Status::Completed, OpenToken::from_bytes([6; 16]), &person())).unwrap();
        let task = store.read::<_, Failure>(|view| view.require_task(task_id)).unwrap();
        assert_eq!((task.status, task.holder), (Status::Completed, None));
        assert_eq!(store.read::<_, Failure>(|view| Ok(view.history(task_id)?.len())).unwrap(), 3);
    }

    #[test]
    fn a_request_that_wrote_and_then_was_refused_takes_its_batch_with_it() {
        let store = memory();
        let refused = store.write(at(1), |tx| {
            tx.create_place(place(1, "app", PlaceKind::Workspace), &person())?;
            Err::<(), _>(Refusal::Stale.into())
        });
        assert!(matches!(refused, Err(Failure::Broken(StoreError::RefusedAfterWriting))));
        assert!(store.read::<_, StoreError>(|view| view.places()).unwrap().is_empty());
        let refused = store.write(at(1), |_| Err::<(), _>(Refusal::Stale.into()));
        assert!(matches!(refused, Err(Failure::Refused(_))));
    }

    #[test]
    fn the_tip_of_every_document_is_signed_and_counted_in_its_bucket() {
        let store = memory();
        store
            .write(at(1), |tx| {
                tx.found_team(TeamId::from_bytes([9; 16]), "laptop", &person())?;
                tx.create_place(place(1, "app", PlaceKind::Workspace), &person())?;
                tx.create_task(task(2, 1), &person())?;
                tx.add_message(TaskId::from_bytes([2; 16]), "one", &person())?;
                tx.add_message(TaskId::from_bytes([2; 16]), "two", &person())
            })
            .unwrap();
        let rows = store.database.begin_read().unwrap();
        let writer = identity(1).writer();
        let mut buckets = std::collections::BTreeMap::<u8, [u8; 32]>::new();
        for (doc, meta) in facts::documents(&rows).unwrap() {
            let frontier = facts::frontier(&rows, doc).unwrap();
            assert_eq!(frontier.values().map(|tip| tip.seq).sum::<u64>(), meta.changes);
            let (tip, signed) = (frontier[&writer], facts::signature(&rows, doc, writer).unwrap().unwrap());
            assert_eq!(signed.seq, tip.seq);
            let signature = ed25519_dalek::Signature::from_slice(&signed.signature).unwrap();
            key().0.verifying_key().verify_strict(&facts::tip_bytes(doc, writer, tip), &signature).unwrap();
            let bucket = buckets.entry(facts::bucket_of(doc)).or_default();
            for (writer, tip) in frontier {
                bucket.iter_mut().zip(facts::tip_digest(doc, writer, tip)).for_each(|(sum, part)| *sum ^= part);
            }
        }
        for bucket in 0..=u8::MAX {
            assert_eq!(facts::bucket_digest(&rows, bucket).unwrap(), buckets.get(&bucket).copied().unwrap_or_default());
        }
        assert_eq!(store.stats().unwrap().documents, facts::documents(&rows).unwrap().len() as u64);
    }
}
