//! The store on a real disk: what it opens, what it refuses to open, what it survives; and its queues under many callers.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use frith_sim::workload::{FIRST, Request, Workload, carry_out, person};
use frith_store::{
    blobs::BlobFolder,
    database::{Database, Keep, WriteRows},
    docs::{About, CHANGES_MOST, Document, log::Fact, task::TaskState},
    error::{Failure, StoreError},
    facts::{self, DocumentMeta},
    id::{CallId, MachineId, OpenToken, PlaceId, TaskId},
    invariants::{self, Violation},
    migrate::FORMAT,
    model::{Assignee, By, Missed, Schedule, Status},
    open::{Disk, Identity, Options, Store, file_backend, file_backend_read_only},
    refusal::{PlaceNamed, Refusal},
    rows::{Key, RowsMut as _, Scan, Table, scan_prefix},
    time::Timestamp,
    tx::{NewTask, TaskEdit},
};
use frith_tests::signer::Plain;
use proptest::prelude::*;

fn identity(run: u8) -> Identity {
    Identity { machine: MachineId::of_key(&[7; 32]), incarnation: [run; 8], signer: Arc::new(Plain(7)) }
}

fn disk(home: &Path) -> Result<Disk, StoreError> {
    Ok(Disk { backend: file_backend(&home.join("store.redb"))?, blobs: Arc::new(BlobFolder::new(home.join("blobs"))) })
}

fn open(home: &Path, run: u8) -> Result<Store, StoreError> {
    Store::open(disk(home)?, identity(run), Options::at(&home.join("store.redb")))
}

fn give(store: &Store, requests: Vec<Request>) {
    for request in requests {
        store.write(Timestamp::from_ms(1), move |tx| carry_out(tx, request)).unwrap();
    }
}

/// A store with a team, a workspace and this many tasks.
fn with_tasks(home: &Path, tasks: u8) -> Store {
    let store = open(home, 1).unwrap();
    give(&store, Workload::beginning());
    give(&store, (1..=tasks).map(|n| Request::Task(Box::new(new_task(n, Assignee::Agent)))).collect());
    store
}

fn new_task(n: u8, assignee: Assignee) -> NewTask {
    NewTask {
        id: TaskId::from_bytes([n; 16]),
        place: PlaceId::from_bytes(FIRST),
        title: format!("task {n}"),
        body: "b".repeat(5_000),
        assignee,
        position: Some(i64::from(n)),
        allow_all_commands: false,
        clear_context: None,
        token: OpenToken::from_bytes([n; 16]),
        schedule: None,
    }
}

fn counts(store: &Store) -> u64 {
    store.read(|view| view.counts(PlaceId::from_bytes(FIRST))).unwrap().total()
}

/// Takes what is next, the way a node does it: choice and record in one transaction.
fn take_next(store: &Store, caller: u8) -> Result<TaskId, Failure> {
    let by = By::Person(format!("caller {caller}"));
    store.write(Timestamp::from_ms(2), move |tx| {
        let place = tx.require_place(PlaceId::from_bytes(FIRST))?;
        let candidates = tx.next_candidates(place.id, &by)?;
        let next = candidates.left.into_iter().next().or(candidates.waiting);
        let task = next.ok_or(Refusal::QueueEmpty { place: PlaceNamed { id: place.id, name: place.name } })?;
        let (call, token) = (CallId::from_bytes([caller; 16]), OpenToken::from_bytes([caller + 100; 16]));
        tx.append(Fact::Taken { task: task.id, place: place.id, epoch: 1, holder: by, call, token })?;
        Ok(task.id)
    })
}

#[test]
fn d02_ten_takers_get_five_tasks() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 5);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (1..=10)
            .map(|caller| {
                scope.spawn({
                    let store = &store;
                    move || take_next(store, caller)
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let mut taken: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), 5);
    assert_eq!(answers.iter().filter(|answer| matches!(answer, Err(Failure::Refused(_)))).count(), 5);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn d09_a_task_that_nobody_takes_hides_none_behind_it() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path(), 1).unwrap();
    give(&store, Workload::beginning());
    let tasks = (1..=150).map(|n| new_task(n, if n < 150 { Assignee::Person } else { Assignee::Agent }));
    give(&store, tasks.map(|task| Request::Task(Box::new(task))).collect());
    assert_eq!(take_next(&store, 1).unwrap(), TaskId::from_bytes([150; 16]));
    let place = PlaceId::from_bytes(FIRST);
    let all: Vec<_> = store.read(|view| view.tasks(place, &[Status::NotStarted, Status::Ongoing])).unwrap();
    assert_eq!(all.len(), 150, "a list is by state and has no window");
    let first: Vec<_> = store.read(|view| view.tasks_limited(place, &[Status::NotStarted, Status::Ongoing], 130)).unwrap();
    assert_eq!(first, all[..130]);
}

#[test]
fn e08_e10_a_store_is_open_once_and_free_as_soon_as_its_process_is_gone() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("store.redb.lock"), "1").unwrap();
    let store = open(home.path(), 1).unwrap();
    let second = open(home.path(), 2);
    assert!(matches!(second, Err(StoreError::InUse { .. })));
    assert!(second.err().unwrap().hint().unwrap().contains("frith status"));
    give(&store, Workload::beginning());
    drop(store);
    open(home.path(), 3).unwrap();
}

#[test]
fn e09_one_damaged_document_leaves_the_others_at_work() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 3);
    store.close().unwrap();
    drop(store);
    let damaged = About::Task { task: TaskId::from_bytes([2; 16]) }.doc_id();
    edit_rows(home.path(), |rows| {
        let mut keys = Vec::new();
        scan_prefix(rows, Table::Facts, &Key::new(2).bytes(damaged.as_bytes()), &mut |key, _| {
            keys.push(key.to_vec());
            Ok(Scan::On)
        })?;
        rows.put(Table::Facts, &keys[0], b"no change")
    });
    let store = open(home.path(), 2).unwrap();
    assert_eq!(counts(&store), 3, "what was derived can still be read");
    let edit = |n: u8| {
        let edit = TaskEdit { title: Some("new".into()), ..TaskEdit::default() };
        store.write(Timestamp::from_ms(3), move |tx| tx.edit_task(TaskId::from_bytes([n; 16]), edit, &person()))
    };
    assert!(matches!(edit(2), Err(Failure::Broken(StoreError::Document { doc, .. })) if doc == damaged));
    edit(1).unwrap();
    store.rebuild_views(&mut |_, _| {}).unwrap();
    assert_eq!(counts(&store), 2, "views built anew leave the damaged one out");
    edit(3).unwrap();
}

#[test]
fn f20_the_one_file_copied_while_closed_is_the_whole_store() {
    let (home, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = with_tasks(home.path(), 3);
    store.close().unwrap();
    drop(store);
    let names: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the store, the blobs, and no file beside them: {names:?}");
    fs::copy(home.path().join("store.redb"), copy.path().join("store.redb")).unwrap();
    let copied = open(copy.path(), 2).unwrap();
    assert_eq!(counts(&copied), 3);
    assert_eq!(copied.read(|view| view.body(TaskId::from_bytes([1; 16]))).unwrap().len(), 5_000, "views hold whole texts");
    assert!(fs::metadata(home.path().join("store.redb")).unwrap().permissions().mode() & 0o777 == 0o600);
}

#[test]
fn a_damaged_store_says_so_offers_a_way_out_and_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.redb");
    drop(with_tasks(home.path(), 3));
    let whole = fs::read(&path).unwrap();
    let mut wrong_root = whole.clone();
    wrong_root[64..192].fill(0xff);
    for bytes in [b"this is no store at all".to_vec(), whole[..whole.len() / 3].to_vec(), wrong_root, vec![0; 9_000]] {
        fs::write(&path, &bytes).unwrap();
        let error = open(home.path(), 2).err().expect("a damaged store is not opened");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(error.hint().unwrap().contains("move the file away"));
        assert!(fs::read(&path).unwrap().len() >= bytes.len(), "nothing is deleted");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(counts(&open(home.path(), 3).unwrap()), 3);
}

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    drop(with_tasks(home.path(), 1));
    edit_rows(home.path(), |rows| rows.put(Table::Local, &[1], &postcard::to_stdvec(&99_u32).unwrap()));
    let error = open(home.path(), 2).err().unwrap();
    assert!(matches!(error, StoreError::Newer { found: 99, known: FORMAT }));
    assert!(error.hint().unwrap().contains("update frith"));
    edit_rows(home.path(), |rows| rows.put(Table::Local, &[1], &postcard::to_stdvec(&1_u32).unwrap()));
    assert_eq!(counts(&open(home.path(), 2).unwrap()), 1);
}

#[test]
fn views_of_another_version_are_built_anew_from_documents_and_logs() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 3);
    take_next(&store, 1).unwrap();
    drop(store);
    edit_rows(home.path(), |rows| {
        rows.put(Table::Local, &[2], &postcard::to_stdvec(&0_u32).unwrap())?;
        rows.put(Table::Views, &[1, 2, 3], b"of another version")?;
        rows.delete(Table::Views, Key::new(7).bytes(&[1; 16]).as_slice())
    });
    let mut told = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let options = Options { progress: Box::new(move |done, of| sender.send((done, of)).unwrap()), ..Options::at(home.path()) };
    let store = Store::open(disk(home.path()).unwrap(), identity(2), options).unwrap();
    told.extend(receiver.try_iter());
    assert_eq!(store.check().unwrap(), []);
    assert_eq!((counts(&store), told.last().map(|(done, of)| done == of)), (3, Some(true)));
}

#[test]
fn a_store_that_may_not_be_written_is_read() {
    let home = tempfile::tempdir().unwrap();
    drop(with_tasks(home.path(), 2));
    let path = home.path().join("store.redb");
    let read_only = || {
        let blobs = Arc::new(BlobFolder::new(home.path().join("blobs")));
        let disk = Disk { backend: file_backend_read_only(&path)?, blobs };
        Store::open_read_only(disk, identity(2), Options::at(&path))
    };
    let store = read_only().unwrap();
    assert_eq!(counts(&store), 2);
    let refused = store.write(Timestamp::from_ms(1), |tx| Ok(tx.set_step(b"key", b"value")?));
    assert!(matches!(refused, Err(Failure::Broken(StoreError::ReadOnly { .. }))));
    assert_eq!(counts(&store), 2, "a write that was not allowed does not end the reading");
}

#[test]
fn f05_f08_a_long_document_is_put_into_one_piece_off_the_way_and_loads_the_same() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 1);
    let id = TaskId::from_bytes([1; 16]);
    for n in 0..200_u8 {
        let message = Request::Message(id, usize::from(n) + 1);
        give(&store, vec![message]);
    }
    assert!(store.compact(8).unwrap() > 0);
    while store.compact(8).unwrap() > 0 {}
    assert_eq!(store.check().unwrap(), []);
    drop(store);
    let store = open(home.path(), 2).unwrap();
    give(&store, vec![Request::Message(id, 7)]);
    let messages = store.read(|view| view.messages(id)).unwrap();
    assert_eq!(messages.iter().map(|message| message.text.len()).collect::<Vec<_>>()[198..], [199, 200, 7]);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn a_thread_goes_on_in_parts_of_its_own_and_is_read_as_one() {
    let world = frith_sim::disk::SimDisk::new(1);
    let store = Store::open(world.mount(), identity(1), Options::at("store.redb".as_ref())).unwrap();
    give(&store, Workload::beginning());
    let id = TaskId::from_bytes([1; 16]);
    give(&store, vec![Request::Task(Box::new(new_task(1, Assignee::Agent)))]);
    store.write(Timestamp::from_ms(9), move |tx| (1..=1_010).try_for_each(|n| tx.add_message(id, &n.to_string(), &person()))).unwrap();
    let messages = store.read(|view| view.messages(id)).unwrap();
    assert!(messages.iter().map(|message| message.text.clone()).eq((1..=1_010).map(|n| n.to_string())));
    let task = store.read::<_, Failure>(|view| view.require_task(id)).unwrap();
    assert_eq!((task.messages, task.changed), (1_010, Timestamp::from_ms(9)));
    assert_eq!(store.stats().unwrap().documents, 7, "the team, two places, the log, the task and two parts of its thread");
}

#[test]
fn a_full_document_is_only_closed_and_moved() {
    let home = tempfile::tempdir().unwrap();
    drop(with_tasks(home.path(), 1));
    let (id, at) = (TaskId::from_bytes([1; 16]), Timestamp::from_ms(1));
    let about = About::Task { task: id };
    edit_rows(home.path(), |rows| {
        let meta = DocumentMeta { about: about.clone(), changes: CHANGES_MOST, loose: 2 };
        rows.put(Table::Facts, Key::new(1).bytes(about.doc_id().as_bytes()).as_slice(), &postcard::to_stdvec(&meta).unwrap())
    });
    let store = open(home.path(), 2).unwrap();
    let full = |outcome| matches!(outcome, Err(Failure::Refused(no)) if matches!(*no, Refusal::DocumentFull { changes: CHANGES_MOST }));
    assert!(full(store.write(at, move |tx| tx.add_message(id, "more", &person()))));
    assert!(full(store.write(at, move |tx| tx.edit_task(id, TaskEdit::default(), &person()))));
    assert!(full(store.write(at, move |tx| tx.set_status(id, Status::Ongoing, OpenToken::from_bytes([9; 16]), &person()))));
    store.write(at, move |tx| tx.set_status(id, Status::Completed, OpenToken::from_bytes([9; 16]), &person())).unwrap();
    store.write(at, move |tx| Ok(tx.move_task(id, PlaceId::from_bytes([2; 16]), &person())?)).unwrap();
}

#[test]
fn a_closed_store_answers_that_it_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 1);
    store.settle().unwrap();
    store.close().unwrap();
    assert!(matches!(store.read(|view| view.places()), Err(StoreError::Closed)));
}

type Row = (Vec<u8>, Vec<u8>);

/// The rows of a view's space, by its byte.
fn space(store: &Store, byte: u8) -> Vec<Row> {
    let rows = store.read(|view| invariants::table(view, Table::Views)).unwrap();
    rows.into_iter().filter(|(key, _)| key[0] == byte).collect()
}

/// Something that damages rows.
type Edit<'a> = dyn Fn(&WriteRows<'_>, &[Row]) -> Result<(), StoreError> + 'a;

#[test]
fn each_invariant_finds_what_breaks_it() {
    let (queue_rows, counts_rows, held_rows) = (8, 10, 15);
    let (id, token) = (TaskId::from_bytes([1; 16]), OpenToken::from_bytes([77; 16]));
    let broken = |edit: &Edit<'_>| {
        let home = tempfile::tempdir().unwrap();
        let store = with_tasks(home.path(), 2);
        give(&store, vec![Request::Status(id, Status::Completed, token)]);
        let closed = space(&store, queue_rows);
        give(&store, vec![Request::Status(id, Status::NotStarted, token)]);
        take_next(&store, 1).unwrap();
        assert_eq!(store.check().unwrap(), []);
        drop(store);
        edit_rows(home.path(), |rows| edit(rows, &closed));
        let found = open(home.path(), 2).unwrap().check().unwrap();
        found.into_iter().map(|violation| violation.invariant).collect::<std::collections::BTreeSet<_>>()
    };
    let first = |rows: &WriteRows<'_>, byte: u8| {
        let mut found = None;
        scan_prefix(rows, Table::Views, &Key::new(byte), &mut |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            Ok(Scan::Enough)
        })?;
        Ok::<_, StoreError>(found.unwrap())
    };
    assert!(broken(&|rows, _| rows.delete(Table::Views, &first(rows, queue_rows)?.0)).contains(&1), "a task in no queue");
    assert!(broken(&|rows, _| rows.put(Table::Views, &first(rows, counts_rows)?.0, &[9; 6])).contains(&1), "a wrong count");
    assert!(broken(&|rows, _| rows.delete(Table::Views, &first(rows, held_rows)?.0)).contains(&14), "a holder that holds nothing");
    let shown_closed = broken(&|rows, closed| {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        scan_prefix(rows, Table::Views, &Key::new(7).bytes(id.as_bytes()), &mut |_, pointer| {
            key = pointer.to_vec();
            Ok(Scan::Enough)
        })?;
        value.extend(closed.iter().find(|(key, _)| key.ends_with(id.as_bytes())).unwrap().1.iter());
        rows.put(Table::Views, &key, &value)
    });
    assert!(shown_closed.contains(&5), "a task that is shown closed and is open");
    assert!(broken(&|rows, _| rows.put(Table::Views, &[9, 9], b"left behind")).contains(&0), "a row that follows from nothing");
}

#[test]
fn equal_frontiers_with_other_views_are_found() {
    let filled = |broken: bool| {
        let home = tempfile::tempdir().unwrap();
        drop(with_tasks(home.path(), 2));
        if broken {
            edit_rows(home.path(), |rows| rows.put(Table::Views, &[9, 9], b"left behind"));
        }
        (open(home.path(), 2).unwrap(), home)
    };
    let compare = |a: &Store, b: &Store| a.read(|a| b.read(|b| invariants::equal_frontiers_have_equal_views(a, b))).unwrap();
    let ((one, _one), (same, _same), (other, _other)) = (filled(false), filled(false), filled(true));
    assert_eq!(compare(&one, &same), []);
    assert_eq!(compare(&one, &other).len(), 1);
    give(&same, vec![Request::Message(TaskId::from_bytes([1; 16]), 5)]);
    assert_eq!(compare(&one, &same), [], "other frontiers promise nothing");
}

/// Changes rows behind the store's back.
fn edit_rows(home: &Path, edit: impl FnOnce(&WriteRows<'_>) -> Result<(), StoreError>) {
    let path = home.join("store.redb");
    let database = Database::open(file_backend(&path).unwrap(), path, 1 << 20).unwrap();
    database.write(|rows| edit(rows).map(|()| ((), Keep::Commit))).unwrap();
    database.close().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn f16_any_requests_leave_views_equal_to_views_built_anew(seed: u64, requests in 1_usize..60) {
        prop_assert_eq!(violations(seed, requests), []);
    }
}

/// What is wrong with a store after so many requests, all of them at one time by its clock.
fn violations(seed: u64, requests: usize) -> Vec<Violation> {
    let world = frith_sim::disk::SimDisk::new(seed);
    let store = Store::open(world.mount(), identity(1), Options::at("store.redb".as_ref())).unwrap();
    give(&store, Workload::beginning());
    let mut workload = Workload::new(seed);
    give(&store, (0..requests).map(|_| workload.request()).collect());
    store.check().unwrap()
}

#[test]
fn a_push_after_a_reading_that_counts_as_later_than_the_clock_is_in_order() {
    assert_eq!(violations(17_523_970_842_554_544_252, 32), []);
}

/// A store of its own with a template, whose slot at 9:00 has come; answers the beginning of its run.
fn fired_alone(home: &Path, run: u8) -> (Store, Document) {
    let store = open(home, run).unwrap();
    give(&store, Workload::beginning());
    let (expression, time_zone) = ("0 9 * * *".into(), "UTC".into());
    let schedule = Schedule { expression, time_zone, missed: Missed::Once, from: Timestamp::from_ms(0), paused: None };
    let template = NewTask { schedule: Some(schedule), ..new_task(1, Assignee::Agent) };
    give(&store, vec![Request::Task(Box::new(template))]);
    let nine = Timestamp::from_ms(9 * 3_600_000);
    store.write(nine, |tx| carry_out(tx, Request::Fire(TaskId::from_bytes([1; 16])))).unwrap();
    let document = store.read(|view| facts::load(view.rows(), run_at_nine().doc_id())).unwrap();
    (store, document.unwrap())
}

fn run_at_nine() -> About {
    About::Run { template: TaskId::from_bytes([1; 16]), slot: Timestamp::from_ms(9 * 3_600_000) }
}

#[test]
fn d11_two_machines_that_fire_one_slot_make_one_task() {
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (store, mut here) = fired_alone(homes[0].path(), 1);
    let (_other, mut there) = fired_alone(homes[1].path(), 2);
    let begins_alike = |document: &Document| document.changes().unwrap().swap_remove(0);
    assert_eq!(begins_alike(&here), begins_alike(&there));
    let changes = |document: &Document| document.changes().unwrap().into_iter().map(|change| change.bytes).collect::<Vec<_>>();
    let (ours, theirs) = (changes(&here), changes(&there));
    here.apply(theirs.iter().map(Vec::as_slice)).unwrap();
    there.apply(ours.iter().map(Vec::as_slice)).unwrap();
    let state = TaskState::read(&here).unwrap();
    assert_eq!((&state, state.open.len()), (&TaskState::read(&there).unwrap(), 1));
    let task = store.read(|view| view.task(run_at_nine().task().unwrap())).unwrap().unwrap();
    assert_eq!((task.title.as_str(), task.status, task.created), ("task 1", Status::NotStarted, Timestamp::from_ms(9 * 3_600_000)));
    let again = Timestamp::from_ms(9 * 3_600_000 + 60_000);
    store.write(again, |tx| carry_out(tx, Request::Fire(TaskId::from_bytes([1; 16])))).unwrap();
    assert_eq!(store.read(|view| view.fired(TaskId::from_bytes([1; 16]), again, 9)).unwrap().len(), 1);
    assert_eq!(store.check().unwrap(), []);
}

/// A store of many megabytes of which little is in use.
fn spacious(home: &Path) -> Store {
    let store = with_tasks(home, 20);
    for round in 0..40_u8 {
        let step = vec![round; 512 * 1024];
        store.write(Timestamp::from_ms(1), move |tx| Ok(tx.set_step(&[round], &step)?)).unwrap();
        give(&store, vec![Request::Call(CallId::from_bytes([round; 16]))]);
    }
    for round in 0..40_u8 {
        store.write(Timestamp::from_ms(1), move |tx| Ok(tx.clear_step(&[round])?)).unwrap();
    }
    store
}

#[test]
fn what_a_store_does_not_use_is_given_back_when_nobody_reads() {
    let home = tempfile::tempdir().unwrap();
    let store = spacious(home.path());
    let (before, rows) = (store.stats().unwrap().bytes, store.read(|view| invariants::table(view, Table::Views)).unwrap());
    assert!(before > 16 << 20, "{before}");
    let during = store.read(|_| store.give_back()).unwrap();
    assert_eq!((during, store.stats().unwrap().bytes), (0, before), "somebody was reading");
    let given = store.give_back().unwrap();
    let after = store.stats().unwrap();
    assert!(after.bytes < before / 4 && given == before - after.bytes && after.given_back == given, "{before} {after:?}");
    assert_eq!(store.give_back().unwrap(), 0, "there is nothing more");
    assert!(store.read(|view| invariants::table(view, Table::Views)).unwrap() == rows);
    assert_eq!(store.check().unwrap(), []);
    give(&store, vec![Request::Task(Box::new(new_task(99, Assignee::Agent)))]);
    drop(store);
    assert_eq!(open(home.path(), 2).unwrap().check().unwrap(), []);
}

#[test]
fn a_store_under_churn_does_not_grow_for_ever() {
    let home = tempfile::tempdir().unwrap();
    let store = with_tasks(home.path(), 4);
    let churn = |rounds: u8| {
        for round in 0..rounds {
            for task in 1..=4_u8 {
                let edit = TaskEdit { title: Some(format!("{round}").repeat(60)), ..TaskEdit::default() };
                give(&store, vec![Request::Edit(TaskId::from_bytes([task; 16]), edit)]);
            }
            while store.compact(4).unwrap() > 0 {}
        }
        store.stats().unwrap().bytes
    };
    let first = churn(60);
    let last = churn(120);
    assert!(last <= first * 2, "{first} bytes, then {last}");
}
