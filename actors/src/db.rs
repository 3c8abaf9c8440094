//! The node's way to its store: reads beside the runtime, writes in groups.
//!
//! A write is a closure that decides and then writes, in one transaction. What queues up while a group is being
//! committed goes into the next one, so many writers share a commit and none waits for a window to fill.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use frith_store::{
    error::{Failure, StoreError},
    id::CallId,
    open::{Job, Store, job},
    time::Timestamp,
    tx::Tx,
    view::View,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{oneshot, watch};

use crate::env::world::{Blocking, WallClock, blocking};

/// How often the store is looked after.
const UPKEEP_EVERY: Duration = Duration::from_secs(2);
/// How many times in a row nothing may have been written before what the file does not use is given back.
const QUIET_BEFORE_GIVING_BACK: u32 = 30;
/// The bytes by which the file has to have grown before all of it is looked at for what it does not use.
const GROWN_LEAST: u64 = 8 << 20;
/// How long after the last look there is another all the same.
const LOOK_EVERY_MS: u64 = 24 * 60 * 60 * 1000;
/// How long it is left alone when that failed, as on a full disk.
const UPKEEP_AFTER_FAILURE: Duration = Duration::from_secs(60);
/// When texts that nothing points to are first looked for, after the node has started and its first callers had their answers.
const SWEEP_FIRST: Duration = Duration::from_secs(90);
/// How often after that.
const SWEEP_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many long documents are put into one piece before a write that came meanwhile has its turn.
const COMPACTED_AT_ONCE: usize = 4;

/// The store of a node. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    clock: Arc<dyn WallClock>,
    blocking: Arc<dyn Blocking>,
    queue: Mutex<Queue>,
    /// Changes with every group that was written.
    written: watch::Sender<()>,
    /// How many bytes the file had when it was last looked at for what it does not use, and when that was.
    looked: Mutex<Option<(u64, Timestamp)>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    committing: bool,
    /// How often the store was looked after since the last write.
    quiet: u32,
}

impl Db {
    /// The way to this store.
    pub fn new(store: Store, clock: Arc<dyn WallClock>, blocking: Arc<dyn Blocking>) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                clock,
                blocking,
                queue: Mutex::default(),
                written: watch::Sender::new(()),
                looked: Mutex::default(),
            }),
        }
    }

    /// The store itself, for facts about it.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Now, by this machine's clock.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Changes whenever something was written.
    pub fn written(&self) -> watch::Receiver<()> {
        self.shared.written.subscribe()
    }

    /// Reads a state that was true at one moment.
    ///
    /// # Errors
    /// What the closure answers, or that the store broke.
    pub async fn read<T: Send + 'static>(&self, read: impl FnOnce(&View<'_>) -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
        let shared = Arc::clone(&self.shared);
        let answer = blocking(&self.shared.blocking, move || shared.store.read(read)).await;
        answer.unwrap_or(Err(Failure::Broken(StoreError::Interrupted)))
    }

    /// Decides and writes, and answers once that is on disk. A closure that refuses must not have written.
    ///
    /// # Errors
    /// What the closure answers, or that the store broke.
    pub async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = oneshot::channel();
        // Whoever asked may have gone away; what was written stays written.
        self.enqueue(job(self.now(), write, move |outcome| drop(answer.send(outcome))));
        answered.await.unwrap_or(Err(Failure::Broken(StoreError::Interrupted)))
    }

    /// As [`Db::write`], once for a call: the same call again is answered with what was answered first.
    ///
    /// # Errors
    /// As [`Db::write`].
    pub async fn write_once<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        call: CallId,
        write: impl FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.write(move |tx| {
            if let Some(earlier) = tx.recorded_call(call)? {
                return Ok(frith_store::rows::decode(&earlier, "calls")?);
            }
            let reply = write(tx)?;
            let bytes = postcard::to_stdvec(&reply).map_err(|source| StoreError::Row { space: "calls", source })?;
            tx.record_call(call, &bytes)?;
            Ok(reply)
        })
        .await
    }

    /// Keeps the store small and ready for a sudden end while nothing waits to be written, as long as anybody uses it.
    pub fn keep_up(&self) -> impl Future<Output = ()> + Send + use<> {
        self.keep_up_every(UPKEEP_EVERY)
    }

    fn keep_up_every(&self, usual: Duration) -> impl Future<Output = ()> + Send + use<> {
        let (shared, doing) = (Arc::downgrade(&self.shared), Arc::clone(&self.shared.blocking));
        async move {
            let mut pause = usual;
            loop {
                tokio::time::sleep(pause).await;
                let Some(shared) = shared.upgrade() else { return };
                let kept_up = blocking(&doing, move || shared.upkeep()).await;
                pause = match kept_up {
                    Ok(Ok(())) => usual,
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "the store could not be prepared for a sudden end");
                        UPKEEP_AFTER_FAILURE
                    }
                    Err(_) => UPKEEP_AFTER_FAILURE,
                };
            }
        }
    }

    /// Looks once a day for texts and files that nothing points to, as long as anybody uses the store.
    pub fn sweep_blobs(&self) -> impl Future<Output = ()> + Send + use<> {
        let (shared, doing) = (Arc::downgrade(&self.shared), Arc::clone(&self.shared.blocking));
        async move {
            let mut pause = SWEEP_FIRST;
            loop {
                tokio::time::sleep(pause).await;
                let Some(shared) = shared.upgrade() else { return };
                // What is lost was logged by whoever lost it.
                let _ = blocking(&doing, move || shared.sweep()).await;
                pause = SWEEP_EVERY;
            }
        }
    }

    fn enqueue(&self, job: Box<dyn Job>) {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        queue.quiet = 0;
        if queue.committing {
            return;
        }
        queue.committing = true;
        drop(queue);
        self.start_committing();
    }

    fn start_committing(&self) {
        let db = self.clone();
        self.shared.blocking.run(Box::new(move || db.commit_all()));
    }

    /// Commits group after group until nothing is queued.
    fn commit_all(&self) {
        let mut again = AgainAfterPanic { db: self, is_due: true };
        loop {
            let group: Vec<Box<dyn Job>> = {
                let mut queue = self.queue();
                if queue.jobs.is_empty() {
                    queue.committing = false;
                    again.is_due = false;
                    return;
                }
                queue.jobs.drain(..).collect()
            };
            self.shared.store.commit(group);
            self.shared.written.send_replace(());
        }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn sweep(&self) {
        let swept = self.store.blobs().forget_uploads(false).and_then(|()| self.store.sweep_blobs(self.clock.now()));
        match swept {
            Ok(swept) if swept.removed > 0 => {
                tracing::info!(removed = swept.removed, "texts and files that nothing points to were removed")
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "unused texts and files could not be looked for, and none was removed"),
        }
    }

    fn upkeep(&self) -> Result<(), StoreError> {
        let busy = || self.queue.lock().unwrap_or_else(PoisonError::into_inner).committing;
        while !busy() && self.store.compact(COMPACTED_AT_ONCE)? > 0 {}
        if busy() {
            return Ok(());
        }
        self.store.settle()?;
        if self.has_been_quiet() && self.is_worth_a_look()? {
            let given = self.store.give_back()?;
            if given > 0 {
                tracing::info!(bytes = given, "the store gave back what it does not use");
                self.store.settle()?;
            }
        }
        Ok(())
    }

    /// Whether the file may hold much that it does not use. To find out reads all of it, so that is done when it grew a good
    /// deal since the last time, else once a day.
    fn is_worth_a_look(&self) -> Result<bool, StoreError> {
        let (bytes, now) = (self.store.stats()?.bytes, self.clock.now());
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes_then, then) = *looked.get_or_insert((bytes, now));
        let is_due = has_grown(bytes_then, bytes) || now.ms_since(then) >= LOOK_EVERY_MS;
        if is_due {
            *looked = Some((bytes, now));
        }
        Ok(is_due)
    }

    /// Whether it has been quiet for long enough now; once after each write.
    fn has_been_quiet(&self) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.quiet = queue.quiet.saturating_add(1);
        queue.quiet == QUIET_BEFORE_GIVING_BACK
    }
}

/// Whether a file that had so many bytes has grown a good deal.
fn has_grown(then: u64, now: u64) -> bool {
    now.saturating_sub(then) >= GROWN_LEAST.max(then / 4)
}

/// Goes on with what is queued when a write panicked: its group is lost and told so, and no other waits for ever.
struct AgainAfterPanic<'a> {
    db: &'a Db,
    is_due: bool,
}

impl Drop for AgainAfterPanic<'_> {
    fn drop(&mut self) {
        if self.is_due {
            tracing::error!("a write panicked, and nothing of its group was written");
            self.db.start_committing();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use frith_store::{
        blobs::MemoryBlobs,
        id::{MachineId, TeamId},
        model::By,
        open::{Disk, Identity, Options, Signer},
        refusal::Refusal,
    };

    use super::*;

    struct Unsigned;
    impl Signer for Unsigned {
        fn public_key(&self) -> [u8; 32] {
            [0; 32]
        }
        fn sign(&self, _: &[u8]) -> [u8; 64] {
            [0; 64]
        }
    }

    struct Clock;
    impl WallClock for Clock {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(1)
        }
    }

    /// Runs work at once, and counts it.
    #[derive(Default)]
    struct Inline(AtomicUsize);
    impl Blocking for Inline {
        fn run(&self, work: Box<dyn FnOnce() + Send>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            // A panic of the work is the work's own.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
    }

    /// A store in memory.
    pub(crate) fn db() -> Db {
        let disk = Disk { backend: Arc::new(redb::backends::InMemoryBackend::new()), blobs: Arc::new(MemoryBlobs::default()) };
        let identity = Identity { machine: MachineId::from_bytes([1; 8]), incarnation: [2; 8], signer: Arc::new(Unsigned) };
        let store = Store::open(disk, identity, Options::at(std::path::Path::new("memory"))).unwrap();
        Db::new(store, Arc::new(Clock), Arc::new(Inline::default()))
    }

    #[tokio::test]
    async fn a_call_again_is_answered_with_the_first_answer() {
        let db = db();
        db.write(|tx| Ok(tx.found_team(TeamId::from_random([1; 16]), "here", &By::Node)?)).await.unwrap();
        let call = CallId::from_random([7; 16]);
        assert_eq!(db.write_once(call, |_| Ok(1_u32)).await.unwrap(), 1);
        assert_eq!(db.write_once(call, |_| Ok(2_u32)).await.unwrap(), 1);
        assert_eq!(db.write_once(CallId::from_random([8; 16]), |_| Ok(2_u32)).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_refusal_is_the_answer_of_its_own_write_only() {
        let db = db();
        let refused = db.write(|_| Err::<(), _>(Refusal::BlankTitle.into())).await;
        assert!(matches!(refused, Err(Failure::Refused(refusal)) if *refusal == Refusal::BlankTitle));
        assert_eq!(db.write(|_| Ok(3)).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn a_write_that_panics_fails_alone_and_the_next_one_is_done() {
        let db = db();
        let lost = db.write(|_| -> Result<(), Failure> { panic!("a bug") }).await;
        assert!(matches!(lost, Err(Failure::Broken(StoreError::Interrupted))));
        assert_eq!(db.write(|_| Ok(4)).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn the_whole_file_is_looked_at_only_when_it_grew() {
        let db = db();
        assert!(!db.shared.is_worth_a_look().unwrap(), "the first time tells how large it is");
        assert!(!db.shared.is_worth_a_look().unwrap());
        assert!(has_grown(0, GROWN_LEAST) && !has_grown(1, GROWN_LEAST), "a small file");
        assert!(has_grown(400 << 20, 500 << 20) && !has_grown(400 << 20, 499 << 20), "a large one");
        let bytes = db.store().stats().unwrap().bytes;
        let long_ago = Timestamp::from_ms(db.now().ms() - LOOK_EVERY_MS as i64);
        *db.shared.looked.lock().unwrap() = Some((bytes, long_ago));
        assert!(db.shared.is_worth_a_look().unwrap() && !db.shared.is_worth_a_look().unwrap());
    }

    #[tokio::test]
    async fn what_is_not_used_is_given_back_once_after_a_quiet_while() {
        let db = db();
        let rounds = || (0..2 * QUIET_BEFORE_GIVING_BACK).filter(|_| db.shared.has_been_quiet()).count();
        assert_eq!((rounds(), rounds()), (1, 0));
        db.write(|tx| Ok(tx.set_step(b"key", b"value")?)).await.unwrap();
        assert_eq!(rounds(), 1);
    }

    #[tokio::test]
    async fn the_store_is_looked_after_while_it_is_used_and_no_longer() {
        let db = db();
        db.write(|tx| Ok(tx.found_team(TeamId::from_random([1; 16]), "here", &By::Node)?)).await.unwrap();
        db.shared.upkeep().unwrap();
        let keeping_up = tokio::spawn(db.keep_up_every(Duration::from_millis(1)));
        db.write(|tx| Ok(tx.set_step(b"key", b"value")?)).await.unwrap();
        assert!(!keeping_up.is_finished());
        drop(db);
        keeping_up.await.unwrap();
    }
}
