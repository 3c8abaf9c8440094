//! Texts and files that nothing points to any more go after their time, and nothing else ever does.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use frith_sim::workload::{FIRST, Workload, carry_out, person};
use frith_store::{
    blobs::BlobFolder,
    error::Failure,
    id::{BlobHash, MachineId, OpenToken, PlaceId, TaskId, UploadId},
    model::Assignee,
    open::{Disk, Identity, Options, Store, file_backend},
    refusal::Refusal,
    sweep::{DAYS_KEPT, Swept},
    time::Timestamp,
    tx::{NewAttachment, NewTask, PlaceEdit, TaskEdit, Tx},
};
use frith_tests::signer::Plain;
use proptest::prelude::*;

fn day(number: i64) -> Timestamp {
    Timestamp::from_ms(1_700_000_000_000 + number * 24 * 60 * 60 * 1000)
}

/// A store on a real disk, and the number of the day.
struct Kept {
    store: Store,
    home: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = open(home.path());
        for request in Workload::beginning() {
            store.write(day(0), move |tx| carry_out(tx, request)).unwrap();
        }
        Self { store, home }
    }

    fn write(&self, on: i64, work: impl FnOnce(&mut Tx<'_>) -> Result<(), Failure> + Send + 'static) {
        self.store.write(day(on), work).unwrap();
    }

    fn sweep(&self, on: i64) -> Swept {
        self.store.sweep_blobs(day(on)).unwrap()
    }

    fn has(&self, text: &str) -> bool {
        self.store.blobs().get(BlobHash::of(text.as_bytes())).is_ok()
    }
}

fn open(home: &Path) -> Store {
    let identity = Identity { machine: MachineId::of_key(&[7; 32]), incarnation: [1; 8], signer: Arc::new(Plain(7)) };
    let path = home.join("store.redb");
    let disk = Disk { backend: file_backend(&path).unwrap(), blobs: Arc::new(BlobFolder::new(home.join("blobs"))) };
    Store::open(disk, identity, Options::at(&path)).unwrap()
}

fn long(letter: char) -> String {
    letter.to_string().repeat(5_000)
}

fn place() -> PlaceId {
    PlaceId::from_bytes(FIRST)
}

fn task(n: u8) -> TaskId {
    TaskId::from_bytes([n; 16])
}

fn add(kept: &Kept, on: i64, n: u8, body: String) {
    let new = NewTask {
        id: task(n),
        place: place(),
        title: "task".into(),
        body,
        assignee: Assignee::Agent,
        position: None,
        allow_all_commands: false,
        clear_context: None,
        schedule: None,
        token: OpenToken::from_bytes([n; 16]),
    };
    kept.write(on, move |tx| Ok(tx.create_task(new, &person())?));
}

fn set_body(kept: &Kept, on: i64, body: String) {
    kept.write(on, move |tx| tx.edit_task(task(1), TaskEdit { body: Some(body), ..TaskEdit::default() }, &person()));
}

#[test]
fn a_replaced_text_goes_once_it_was_unused_for_its_days_and_no_sooner() {
    let kept = Kept::new();
    add(&kept, 0, 1, long('a'));
    set_body(&kept, 1, long('b'));
    assert_eq!(kept.sweep(2), Swept { used: 1, waiting: 1, removed: 0 }, "its time begins when it is noticed");
    assert_eq!(kept.sweep(2 + DAYS_KEPT - 1).removed, 0);
    assert!(kept.has(&long('a')));
    assert_eq!(kept.sweep(2 + DAYS_KEPT), Swept { used: 1, waiting: 0, removed: 1 });
    assert!(!kept.has(&long('a')) && kept.has(&long('b')));
    assert_eq!(kept.sweep(500), Swept { used: 1, waiting: 0, removed: 0 });
    assert_eq!(kept.store.read(|view| view.body(task(1))).unwrap(), long('b'));
    assert_eq!(kept.store.check().unwrap(), []);
}

#[test]
fn a_text_that_was_named_again_begins_anew_and_one_named_at_the_last_moment_stays() {
    let kept = Kept::new();
    add(&kept, 0, 1, long('a'));
    set_body(&kept, 0, long('b'));
    kept.sweep(0);
    set_body(&kept, 20, long('a'));
    set_body(&kept, 21, long('b'));
    assert_eq!(kept.sweep(DAYS_KEPT + 1).removed, 0, "it was in use on day 20");
    add(&kept, 80, 2, long('a'));
    assert_eq!(kept.sweep(80).removed, 0, "a task names it since a moment ago");
    assert_eq!(kept.store.read(|view| view.body(task(2))).unwrap(), long('a'));
    kept.sweep(DAYS_KEPT * 9);
    assert!(kept.has(&long('a')) && kept.has(&long('b')));
}

#[test]
fn a_clock_that_went_back_removes_nothing_early() {
    let kept = Kept::new();
    add(&kept, 0, 1, long('a'));
    set_body(&kept, 0, long('b'));
    kept.sweep(400);
    assert_eq!(kept.sweep(0).removed, 0);
    assert_eq!(kept.sweep(400 + DAYS_KEPT).removed, 1);
}

/// Keeps a file as an upload and attaches it.
fn attach(kept: &Kept, on: i64, to: u8, name: &'static str, bytes: &[u8]) -> BlobHash {
    let upload = UploadId::from_bytes([to; 16]);
    assert!(kept.store.blobs().receive(upload, 0, bytes).unwrap());
    let (hash, size) = kept.store.blobs().complete(upload).unwrap().unwrap();
    let file = NewAttachment { name: name.into(), hash, size, upload: Some(upload) };
    kept.write(on, move |tx| tx.attach(task(to), vec![file], &person()).map(drop));
    hash
}

#[test]
fn a_file_that_was_taken_away_goes_unless_another_task_has_it() {
    let kept = Kept::new();
    (1..=3).for_each(|n| add(&kept, 0, n, "short".into()));
    let shared = attach(&kept, 0, 1, "shared.bin", &[1; 9_000]);
    attach(&kept, 0, 2, "shared.bin", &[1; 9_000]);
    let alone = attach(&kept, 0, 3, "alone.bin", b"small, and a file all the same");
    kept.write(1, move |tx| Ok(tx.detach(task(1), "shared.bin", shared, &person())?));
    kept.write(1, move |tx| Ok(tx.detach(task(3), "alone.bin", alone, &person())?));
    kept.sweep(1);
    assert_eq!(kept.sweep(1 + DAYS_KEPT), Swept { used: 1, waiting: 0, removed: 1 });
    assert_eq!(kept.store.blobs().check(shared).unwrap(), 9_000);
    assert_eq!(kept.store.read(|view| view.attachments(task(2))).unwrap().len(), 1);
    assert_eq!(kept.store.read(|view| view.attachments(task(3))).unwrap(), []);
    assert_eq!(kept.store.check().unwrap(), []);
}

#[test]
fn a_copy_of_attachments_moves_no_bytes_and_keeps_them() {
    let kept = Kept::new();
    (1..=2).for_each(|n| add(&kept, 0, n, "short".into()));
    let hash = attach(&kept, 0, 1, "brief.bin", &[5; 4_000]);
    for added in [1, 0] {
        kept.write(1, move |tx| Ok(tx.copy_attachments(task(1), task(2), &person()).map(|copied| assert_eq!(copied, added))?));
    }
    kept.write(2, move |tx| Ok(tx.detach(task(1), "brief.bin", hash, &person())?));
    kept.sweep(2);
    kept.sweep(2 + DAYS_KEPT);
    assert_eq!(kept.store.blobs().check(hash).unwrap(), 4_000);
}

#[test]
fn attaching_has_a_bound_and_a_copy_for_a_run_is_never_refused() {
    let kept = Kept::new();
    (1..=2).for_each(|n| add(&kept, 0, n, "short".into()));
    let file = |n: usize| NewAttachment { name: format!("{n}"), hash: BlobHash::of(b"all"), size: 3, upload: None };
    let files = move |range: std::ops::Range<usize>| range.map(file).collect::<Vec<_>>();
    kept.write(1, move |tx| tx.attach(task(1), files(0..100), &person()).map(|added| assert_eq!(added, 100)));
    kept.write(1, move |tx| tx.attach(task(2), files(50..150), &person()).map(|added| assert_eq!(added, 100)));
    let refused = kept.store.write(day(1), move |tx| tx.attach(task(1), files(99..101), &person()));
    assert!(matches!(refused, Err(Failure::Refused(no)) if matches!(*no, Refusal::TooManyAttachments { there: 100, added: 1, .. })));
    kept.write(1, move |tx| Ok(tx.copy_attachments(task(1), task(2), &person()).map(|copied| assert_eq!(copied, 50))?));
    kept.write(1, move |tx| Ok(tx.detach(task(2), "149", BlobHash::of(b"all"), &person())?));
    assert_eq!(kept.store.read(|view| view.attachments(task(2))).unwrap().len(), 149);
    assert_eq!(kept.store.check().unwrap(), [], "rows that are derived one by one are those of the whole");
}

#[test]
fn of_a_note_the_versions_that_count_stay_and_replaced_ones_go() {
    let kept = Kept::new();
    let save = |on, text: String, replaces: Vec<_>| {
        let saved = kept.store.write(day(on), move |tx| Ok(tx.save_note(place(), "memory.md", Some(&text), replaces, &person())?));
        saved.unwrap()
    };
    let base = save(0, long('a'), vec![]);
    save(1, long('b'), vec![base]);
    save(1, long('c'), vec![base]);
    kept.sweep(1);
    assert_eq!(kept.sweep(1 + DAYS_KEPT).removed, 1);
    let texts: BTreeSet<_> = kept.store.read(|view| view.note(place(), "memory.md")).unwrap().into_iter().map(|one| one.text).collect();
    assert_eq!(texts, BTreeSet::from([Some(long('b')), Some(long('c'))]));
    assert_eq!(kept.store.check().unwrap(), []);
}

#[test]
fn a_note_goes_on_after_its_first_document_is_full() {
    let kept = Kept::new();
    let mut last = Vec::new();
    for n in 0..1_100 {
        let replaces = last;
        let text = format!("version {n}");
        last = vec![kept.store.write(day(0), move |tx| Ok(tx.save_note(place(), "memory.md", Some(&text), replaces, &person())?)).unwrap()];
    }
    let note = kept.store.read(|view| view.note(place(), "memory.md")).unwrap();
    assert_eq!((note.len(), note[0].text.as_deref(), note[0].version), (1, Some("version 1099"), last[0]));
    assert_eq!(kept.store.check().unwrap(), []);
    let all = kept.store.write(day(1), |tx| Ok(tx.all_versions(place(), "memory.md")?)).unwrap();
    assert_eq!(all.len(), 1_100);
}

#[test]
fn texts_of_every_kind_stay_also_when_their_document_was_compacted() {
    let kept = Kept::new();
    add(&kept, 0, 1, long('a'));
    kept.write(0, |tx| tx.add_message(task(1), &long('m'), &person()));
    let edit = PlaceEdit { description: Some(long('d')), ..PlaceEdit::default() };
    kept.write(0, move |tx| Ok(tx.set_place(place(), edit, &person())?));
    kept.write(0, |tx| {
        let mut settings = tx.require_place(place())?.settings;
        settings.self_learning_note = long('n');
        Ok(tx.set_place(place(), PlaceEdit { settings: Some(settings), ..PlaceEdit::default() }, &person())?)
    });
    (0..80).for_each(|n| kept.write(0, move |tx| tx.add_message(task(1), &format!("message {n}"), &person())));
    while kept.store.compact(4).unwrap() > 0 {}
    kept.sweep(0);
    assert_eq!(kept.sweep(10 * DAYS_KEPT), Swept { used: 4, waiting: 0, removed: 0 });
    assert_eq!(kept.store.check().unwrap(), []);
}

#[test]
fn what_is_no_blob_is_never_touched_and_a_missing_one_is_no_failure() {
    let kept = Kept::new();
    add(&kept, 0, 1, long('a'));
    set_body(&kept, 0, long('b'));
    let folder = kept.home.path().join("blobs");
    let odd = [folder.join("README"), folder.join("ab"), folder.join("incoming")];
    fs::write(&odd[0], "mine").unwrap();
    odd[1..].iter().for_each(|path| fs::create_dir_all(path).unwrap());
    fs::write(odd[1].join("notes.txt"), "mine").unwrap();
    kept.sweep(0);
    let name = BlobHash::of(long('a').as_bytes()).to_string();
    fs::remove_file(folder.join(&name[..2]).join(&name[2..])).unwrap();
    assert_eq!(kept.sweep(DAYS_KEPT).removed, 0);
    assert!(odd[0].exists() && odd[1].join("notes.txt").exists() && odd[2].exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever was asked for and however the days passed: what views say is what documents and blobs give anew.
    #[test]
    fn nothing_that_is_used_ever_goes(seed in any::<u64>(), pauses in prop::collection::vec(0_i64..40, 120)) {
        let kept = Kept::new();
        let mut workload = Workload::new(seed);
        let (mut today, mut removed) = (0, 0);
        for (n, pause) in pauses.into_iter().enumerate() {
            let request = workload.request();
            // A request may be refused, as when its document is full.
            let _ = kept.store.write(day(today), move |tx| carry_out(tx, request));
            if n % 3 == 0 {
                let body = long(char::from(b'a' + (n % 5) as u8));
                if n == 0 { add(&kept, today, 1, body) } else { set_body(&kept, today, body) }
            }
            if n % 4 == 0 {
                today += pause;
                removed += kept.sweep(today).removed;
            }
        }
        prop_assert_eq!(kept.store.check().unwrap(), []);
        prop_assert!(removed > 0, "the test would prove nothing");
    }
}
