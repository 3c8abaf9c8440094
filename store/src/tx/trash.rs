//! Emptying the trash: what was deleted long enough ago goes for good, and leaves a tombstone.

use super::Tx;
use crate::{
    docs::About,
    error::StoreError,
    facts,
    id::{PlaceId, TaskId},
    model::PlaceKind,
};

impl Tx<'_> {
    /// Takes a task away for good, with its thread. It stands in the trash, or in a place that does.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn purge_task(&mut self, task: TaskId) -> Result<(), StoreError> {
        let parts = self.thread_parts(task)?.len();
        self.deriver().forget_task(task)?;
        self.bury(&About::Task { task })?;
        (1..).take(parts).try_for_each(|part| self.bury(&About::Thread { task, part }))
    }

    /// Takes a place away for good, with the forks that were merged into it. Its tasks went before.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn purge_place(&mut self, place: PlaceId) -> Result<(), StoreError> {
        for place in self.places_within(place)?.into_iter().rev() {
            let kind = self.place(place)?.map_or(PlaceKind::Workspace, |place| place.kind);
            for (name, part) in self.note_documents(place)? {
                self.bury(&About::Note { place, name, part })?;
            }
            self.deriver().forget_place(place)?;
            self.bury(&About::Place { place, kind })?;
        }
        Ok(())
    }

    pub(super) fn bury(&mut self, about: &About) -> Result<(), StoreError> {
        let doc = about.doc_id();
        self.desk.documents.pop(&doc);
        self.desk.writes += 1;
        facts::bury(self.rows, doc, self.now)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        blobs::MemoryBlobs,
        docs::{Document, RawChange},
        error::Failure,
        id::{MachineId, OpenToken, TeamId},
        model::{Assignee, By, Place, Status, Task, Work},
        open::{Disk, Identity, Options, Signer, Store},
        time::Timestamp,
        tx::{NewPlace, NewTask, PlaceEdit},
        view::View,
    };

    struct Unsigned(u8);

    impl Signer for Unsigned {
        fn public_key(&self) -> [u8; 32] {
            [self.0; 32]
        }
        fn sign(&self, _: &[u8]) -> [u8; 64] {
            [0; 64]
        }
    }

    impl Tx<'_> {
        /// Takes in what these documents have and this store lacks.
        fn take_in(&mut self, documents: Vec<(About, Vec<RawChange>)>) -> Result<(), StoreError> {
            for (about, theirs) in documents {
                let doc = about.doc_id();
                let known = facts::frontier(self.rows, doc)?;
                let new: Vec<_> =
                    theirs.into_iter().filter(|change| known.get(&change.writer).is_none_or(|tip| tip.seq < change.tip.seq)).collect();
                let mut document = match facts::load(self.rows, doc)? {
                    Some(document) => document,
                    None => Document::born(&about)?.0,
                };
                document.apply(new.iter().map(|change| change.bytes.as_slice()))?;
                self.desk.writes += 1;
                self.desk.documents.pop(&doc);
                facts::record(self.rows, doc, &about, &new)?;
                self.deriver().document(&document)?;
            }
            Ok(())
        }
    }

    const DAY: i64 = 24 * 60 * 60 * 1000;

    fn app() -> PlaceId {
        PlaceId::from_bytes([1; 16])
    }

    fn task_id(n: u8) -> TaskId {
        TaskId::from_bytes([n; 16])
    }

    fn person() -> By {
        By::Person("ada".into())
    }

    fn machine(n: u8) -> Store {
        let disk = Disk { backend: Arc::new(redb::backends::InMemoryBackend::new()), blobs: Arc::new(MemoryBlobs::default()) };
        let identity = Identity { machine: MachineId::of_key(&[n; 32]), incarnation: [n; 8], signer: Arc::new(Unsigned(n)) };
        Store::open(disk, identity, Options::at("memory".as_ref())).unwrap()
    }

    fn new_place(id: PlaceId, kind: PlaceKind) -> NewPlace {
        let (name, description, icon) = (format!("p-{}", id.short()), String::new(), String::new());
        NewPlace { id, kind, name, description, icon, folder: None, spun_up_for: None }
    }

    fn new_task(n: u8, place: PlaceId) -> NewTask {
        NewTask {
            id: task_id(n),
            place,
            title: format!("task {n}"),
            body: String::new(),
            assignee: Assignee::Agent,
            position: None,
            allow_all_commands: false,
            clear_context: None,
            schedule: None,
            token: OpenToken::from_bytes([n; 16]),
        }
    }

    /// Two machines that know the same: a workspace with the tasks 2 and 3.
    fn two() -> (Store, Store) {
        let (here, there) = (machine(1), machine(2));
        write(&here, 1, |tx| {
            tx.found_team(TeamId::from_bytes([9; 16]), "oak", &person())?;
            tx.create_place(new_place(app(), PlaceKind::Workspace), &person())?;
            tx.create_task(new_task(2, app()), &person())?;
            Ok(tx.create_task(new_task(3, app()), &person())?)
        });
        meet(&here, &there);
        (here, there)
    }

    fn write(store: &Store, ms: i64, work: impl FnOnce(&mut Tx<'_>) -> Result<(), Failure> + Send + 'static) {
        store.write(Timestamp::from_ms(ms), work).unwrap();
        assert_eq!(store.check().unwrap(), []);
    }

    /// Every document of a store but the logs, which stay with their machine.
    fn shared(view: &View<'_>) -> Result<Vec<(About, Vec<RawChange>)>, StoreError> {
        let documents = facts::documents(view.rows())?.into_iter().filter(|(_, meta)| meta.about.owner().is_none());
        documents
            .filter_map(|(doc, meta)| Some((meta.about, facts::load(view.rows(), doc).transpose()?)))
            .map(|(about, document)| Ok((about, document?.changes()?)))
            .collect()
    }

    /// Each takes in what the other has.
    fn meet(a: &Store, b: &Store) {
        for (from, to) in [(a, b), (b, a)] {
            let documents = from.read(shared).unwrap();
            to.write(Timestamp::from_ms(9), move |tx| Ok::<_, Failure>(tx.take_in(documents)?)).unwrap();
            assert_eq!(to.check().unwrap(), []);
        }
    }

    fn place(store: &Store) -> Place {
        store.read::<_, Failure>(|view| view.require_place(app())).unwrap()
    }

    fn task(store: &Store, n: u8) -> Task {
        store.read::<_, Failure>(move |view| view.require_task(task_id(n))).unwrap()
    }

    fn retire(store: &Store, archived: bool) {
        write(store, 5, move |tx| {
            let edit = match archived {
                true => PlaceEdit { archived: Some(true), ..PlaceEdit::default() },
                false => PlaceEdit { deleted: Some(Some(tx.now())), ..PlaceEdit::default() },
            };
            Ok(tx.set_place(app(), edit, &person())?)
        });
    }

    #[test]
    fn a_deleted_task_leaves_queue_and_counts_and_comes_back_as_it_was() {
        let (here, there) = two();
        write(&here, 5, |tx| Ok(tx.delete_task(task_id(2), &person())?));
        meet(&here, &there);
        for store in [&here, &there] {
            let (listed, trash, counts) = store
                .read::<_, StoreError>(|view| Ok((view.tasks(app(), &[Status::NotStarted])?, view.trash(app())?, view.counts(app())?)))
                .unwrap();
            assert_eq!((listed.len(), trash.len(), counts.total()), (1, 1, 1));
            assert_eq!(trash[0].deleted.as_ref().unwrap().by, person());
        }
        write(&there, 6, |tx| Ok(tx.restore_task(task_id(2))?));
        meet(&here, &there);
        assert_eq!(task(&here, 2).deleted, None);
        assert_eq!(here.read::<_, StoreError>(|view| view.counts(app())).unwrap().notstarted, 2);
    }

    #[test]
    fn what_is_written_elsewhere_to_a_deleted_task_takes_it_out_again() {
        let (here, there) = two();
        write(&here, 5, |tx| Ok(tx.delete_task(task_id(2), &person())?));
        write(&there, 5, |tx| tx.add_message(task_id(2), "still needed", &person()));
        meet(&here, &there);
        for store in [&here, &there] {
            assert_eq!((task(store, 2).deleted, task(store, 2).messages), (None, 1));
        }
        write(&here, 6, |tx| Ok(tx.delete_task(task_id(2), &person())?));
        write(&there, 6, |tx| Ok(tx.delete_task(task_id(2), &person())?));
        meet(&here, &there);
        assert!(task(&here, 2).deleted.is_some(), "two deletions at once are no work");
        assert_eq!(task(&here, 2).deleted, task(&there, 2).deleted);
    }

    #[test]
    fn a_message_in_a_later_part_of_the_thread_is_work_too() {
        let (here, there) = two();
        for n in 0..crate::docs::task::MESSAGES_MOST {
            here.write(Timestamp::from_ms(2), move |tx| tx.add_message(task_id(2), &n.to_string(), &person())).unwrap();
        }
        write(&here, 3, |tx| tx.add_message(task_id(2), "the first of a later part", &person()));
        meet(&here, &there);
        write(&here, 5, |tx| Ok(tx.delete_task(task_id(2), &person())?));
        assert!(task(&here, 2).deleted.is_some());
        write(&there, 5, |tx| tx.add_message(task_id(2), "one more", &person()));
        meet(&here, &there);
        assert_eq!((task(&here, 2).deleted, task(&there, 2).deleted), (None, None));
    }

    #[test]
    fn an_archived_place_stays_so_until_there_is_work_that_was_not_known() {
        let (here, there) = two();
        retire(&here, true);
        meet(&here, &there);
        assert!(place(&here).archived && place(&there).archived);
        write(&there, 6, |tx| Ok(tx.create_task(new_task(4, app()), &person())?));
        meet(&here, &there);
        for store in [&here, &there] {
            let place = place(store);
            assert!(!place.archived);
            assert_eq!(place.revived.unwrap().work, Work::Task(task_id(4)));
        }
        retire(&here, true);
        meet(&here, &there);
        assert!(place(&there).archived, "archived again with the new task known");
    }

    #[test]
    fn a_fork_that_was_made_meanwhile_keeps_a_deleted_place() {
        let (here, there) = two();
        retire(&here, false);
        let fork = PlaceId::from_bytes([8; 16]);
        write(&there, 5, move |tx| Ok(tx.create_place(new_place(fork, PlaceKind::Fork { parent: app() }), &person())?));
        meet(&here, &there);
        for store in [&here, &there] {
            assert_eq!(place(store).revived.map(|revived| revived.work), Some(Work::Fork(fork)));
            assert!(place(store).is_live());
            assert_eq!(store.read::<_, StoreError>(|view| view.places_named("p-01010101")).unwrap(), [app()]);
        }
    }

    #[test]
    fn a_task_that_moves_away_again_lets_the_place_rest() {
        let (here, there) = two();
        let other = PlaceId::from_bytes([7; 16]);
        write(&here, 2, move |tx| {
            tx.create_place(new_place(other, PlaceKind::Workspace), &person())?;
            Ok(tx.create_task(new_task(4, other), &person())?)
        });
        meet(&here, &there);
        retire(&here, false);
        write(&there, 5, |tx| Ok(tx.move_task(task_id(4), app(), &person())?));
        meet(&here, &there);
        assert!(place(&here).is_live());
        write(&there, 6, move |tx| Ok(tx.move_task(task_id(4), other, &person())?));
        meet(&here, &there);
        assert!(!place(&here).is_live() && !place(&there).is_live());
    }

    #[test]
    fn a_return_at_the_same_time_as_a_deletion_wins() {
        let (here, there) = two();
        retire(&here, false);
        meet(&here, &there);
        let back = PlaceEdit { archived: Some(false), deleted: Some(None), ..PlaceEdit::default() };
        write(&there, 6, move |tx| Ok(tx.set_place(app(), back, &person())?));
        retire(&here, false);
        meet(&here, &there);
        assert!(place(&here).is_live() && place(&there).is_live());
    }

    #[test]
    fn what_is_purged_is_gone_and_its_tombstone_stays() {
        let (here, _) = two();
        let before: Vec<_> = (0..=u8::MAX).map(|bucket| here.read(|view| facts::bucket_digest(view.rows(), bucket)).unwrap()).collect();
        write(&here, 3, |tx| Ok(tx.save_note(app(), "memory.md", Some("a note"), Vec::new(), &person()).map(drop)?));
        retire(&here, false);
        let deleted = here.read::<_, StoreError>(|view| view.places_deleted()).unwrap();
        assert_eq!(deleted, [(app(), Timestamp::from_ms(5))]);
        write(&here, 31 * DAY, |tx| {
            [2, 3].into_iter().try_for_each(|n| tx.purge_task(task_id(n)))?;
            Ok(tx.purge_place(app())?)
        });
        let left = here.read::<_, StoreError>(|view| Ok((view.place(app())?, view.task(task_id(2))?, view.body(task_id(2))?))).unwrap();
        assert_eq!(left, (None, None, String::new()));
        assert!(here.read::<_, StoreError>(|view| view.notes(app())).unwrap().is_empty());
        let docs = [About::Task { task: task_id(2) }.doc_id(), About::Task { task: task_id(3) }.doc_id()];
        let buried = here.read::<_, StoreError>(|view| facts::buried(view.rows())).unwrap();
        assert!(docs.iter().all(|doc| buried.contains(doc)) && buried.len() == 4, "the tasks, the place and its note");
        for doc in docs {
            let bucket = usize::from(facts::bucket_of(doc));
            let now = here.read::<_, StoreError>(|view| facts::bucket_digest(view.rows(), bucket as u8)).unwrap();
            assert_eq!(now, before[bucket], "a peer that still has the task has nothing to tell");
        }
    }
}
