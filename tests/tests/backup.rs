//! Backups and what is made of them, on real files: the same records on another machine, damage found, hostile bytes refused.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{
    fs,
    io::{Cursor, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use frith_sim::{
    disk::SimDisk,
    workload::{FIRST, Request, Workload, carry_out, person},
};
use frith_store::{
    backup::{BackupError, Extras, Here, Reader, VERSION, restore, write_file},
    blobs::BlobFolder,
    docs::log::Fact,
    error::StoreError,
    id::{AgentId, BlobHash, MachineId, PlaceId},
    model::{EndHow, Recipient, Stage, Status},
    open::{Disk, Identity, Options, Store, file_backend},
    refusal::Refusal,
    text::PathText,
    time::Timestamp,
    tx::Restored,
};
use frith_tests::signer::Plain;
use proptest::prelude::*;

fn machine(key: u8) -> MachineId {
    MachineId::of_key(&[key; 32])
}

fn identity(key: u8) -> Identity {
    Identity { machine: machine(key), incarnation: [key; 8], signer: Arc::new(Plain(key)) }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

/// A store that many requests have filled, among them long texts, forks, merges and agents.
fn filled(seed: u64, requests: usize) -> Store {
    let store = Store::open(SimDisk::new(1).mount(), identity(7), Options::at("store.redb".as_ref())).unwrap();
    let mut workload = Workload::new(seed);
    let more: Vec<_> = (0..requests).map(|_| workload.request()).collect();
    for (ms, request) in (1..).zip(Workload::beginning().into_iter().chain(more)) {
        store.write(at(ms), move |tx| carry_out(tx, request)).unwrap();
    }
    store
}

fn extras() -> Extras {
    Extras { made: at(9_000), frith: "0.0.0".into(), config: Some(b"# mine\n".to_vec()) }
}

fn back_up(store: &Store, to: &Path) {
    write_file(store, &extras(), to, false, &mut |_, _| {}).unwrap();
}

type Outcome = Result<(Restored, Option<Vec<u8>>), BackupError>;

fn restored_by(key: u8, bytes: Vec<u8>, home: &Path, folders: &[&str]) -> Outcome {
    let mut reader = Reader::over(Cursor::new(bytes), "backup".parse().unwrap())?;
    let disk = Disk { backend: file_backend(&home.join("store.redb"))?, blobs: Arc::new(BlobFolder::new(home.join("blobs"))) };
    let is_place = |path: &Path| folders.contains(&path.to_str().unwrap());
    let here = Here { disk, identity: identity(key), name: "new".into(), now: at(10_000), is_place: &is_place, is_fork: &is_place };
    restore(&mut reader, here, Options::at(&home.join("store.redb")), &mut |_, _, _| {})
}

fn open(key: u8, home: &Path) -> Store {
    let disk = Disk { backend: file_backend(&home.join("store.redb")).unwrap(), blobs: Arc::new(BlobFolder::new(home.join("blobs"))) };
    Store::open(disk, identity(key), Options::at(&home.join("store.redb"))).unwrap()
}

/// Everything of the tasks that people see, place by place.
fn tasks(store: &Store) -> Vec<String> {
    store
        .read::<_, StoreError>(|view| {
            let mut lines = Vec::new();
            for place in view.places()? {
                for task in view.tasks(place.id, &[])? {
                    let (body, messages, history) = (view.body(task.id)?, view.messages(task.id)?, view.history(task.id)?);
                    let (title, status) = (&task.title, task.status);
                    lines.push(format!("{} {title} {status:?} {body} {messages:?} {history:?}", place.id));
                }
            }
            Ok(lines)
        })
        .unwrap()
}

/// What waits for the person whose mailbox is used, and what was sent in all.
fn mail(store: &Store) -> (Vec<String>, u64) {
    let person = Recipient::Person("ada@laptop".into());
    let read = store.read::<_, StoreError>(|view| {
        let unread = [Stage::Waiting, Stage::Pushed].map(|stage| view.mail_in(&person, stage, usize::MAX));
        let unread = unread.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        Ok((unread.into_iter().map(|placed| placed.mail.text).collect(), view.mail_counts(&person)?.all()))
    });
    read.unwrap()
}

#[test]
fn a_backup_restores_everything_that_people_see() {
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(seed, 150);
        let file = folder.path().join("b");
        back_up(&store, &file);
        let (restored, config) = restored_by(8, fs::read(&file).unwrap(), folder.path(), &[]).unwrap();
        assert_eq!(config.as_deref(), Some(&b"# mine\n"[..]));
        let new = open(8, folder.path());
        assert_eq!(new.check().unwrap(), [], "seed {seed}");
        assert_eq!(tasks(&new), tasks(&store), "seed {seed}");
        assert_eq!(mail(&new), mail(&store), "seed {seed}");
        assert!(restored.seats >= 2, "seed {seed}: {restored:?}");
    }
}

#[test]
fn a_restored_machine_decides_for_all_that_the_other_did_and_its_agents_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(1, 0);
    let (place, agent) = (PlaceId::from_bytes(FIRST), AgentId::from_bytes([9; 16]));
    let launch = Fact::Launch { agent, kind: "k".into(), place, epoch: 1, by: person(), model: None, effort: None, folder: None };
    for fact in [launch, Fact::Folder { place, folder: Some("/src/app".parse().unwrap()) }] {
        store.write(at(50), move |tx| carry_out(tx, Request::Fact(Box::new(fact)))).unwrap();
    }
    let file = folder.path().join("b");
    back_up(&store, &file);
    let bytes = fs::read(&file).unwrap();
    let here = folder.path().join("here");
    let away = folder.path().join("away");
    for home in [&here, &away] {
        fs::create_dir(home).unwrap();
    }
    let (kept, _) = restored_by(8, bytes.clone(), &here, &["/src/app"]).unwrap();
    let (missing, _) = restored_by(9, bytes, &away, &[]).unwrap();
    assert_eq!((kept.kept.len(), kept.missing.len(), kept.agents), (1, 0, 1));
    assert_eq!((missing.kept.len(), missing.missing.len()), (0, 1));
    let new = open(8, &here);
    new.read::<_, StoreError>(|view| {
        let seat = view.place(place)?.unwrap().seat;
        assert_eq!((seat.epoch, seat.home, seat.electorate), (2, machine(8), vec![machine(8)]));
        assert_eq!(view.agent(agent)?.unwrap().ended.unwrap().how, EndHow::Lost);
        assert!(view.live_agents()?.is_empty() && view.agent_in(place)?.is_none());
        assert_eq!(view.folder(place, machine(8))?, Some("/src/app".parse().unwrap()));
        assert_eq!(view.members()?.iter().map(|member| member.id).collect::<Vec<_>>(), [machine(8)]);
        assert_eq!(view.successor(machine(7))?, Some(machine(8)));
        Ok(())
    })
    .unwrap();
    new.rebuild_views(&mut |_, _| {}).unwrap();
    assert_eq!(new.check().unwrap(), []);
    assert_eq!(open(9, &away).read(|view| view.folder(place, machine(9))).unwrap(), None);
}

#[test]
fn what_was_restored_is_backed_up_and_restored_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = filled(3, 60);
    let before = tasks(&store);
    for key in 8..11 {
        let home = folder.path().join(key.to_string());
        fs::create_dir(&home).unwrap();
        back_up(&store, &home.join("b"));
        restored_by(key, fs::read(home.join("b")).unwrap(), &home, &[]).unwrap();
        store = open(key, &home);
        assert_eq!(store.check().unwrap(), []);
    }
    assert_eq!(tasks(&store), before);
    assert_eq!(store.read(|view| view.members()).unwrap().len(), 1);
}

#[test]
fn a_file_that_is_there_is_written_over_only_when_told_and_closed_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = filled(1, 5);
    let file = folder.path().join("b");
    fs::write(&file, "precious").unwrap();
    let write = |over| write_file(&store, &extras(), &file, over, &mut |_, _| {});
    assert!(matches!(write(false), Err(BackupError::Refused(refusal)) if matches!(*refusal, Refusal::FileThere { .. })));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    write(true).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let gone = write_file(&store, &extras(), &folder.path().join("no/b"), false, &mut |_, _| {});
    assert!(matches!(gone, Err(BackupError::Io { .. })));
}

/// A backup of a small store, made once.
fn small() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b");
    back_up(&filled(2, 40), &file);
    fs::read(file).unwrap()
}

fn refused(bytes: Vec<u8>) -> BackupError {
    let home = tempfile::tempdir().unwrap();
    restored_by(8, bytes, home.path(), &[]).unwrap_err()
}

#[test]
fn what_is_no_whole_backup_is_told_apart() {
    let whole = small();
    assert!(matches!(refused(Vec::new()), BackupError::Foreign));
    assert!(matches!(refused(b"PK\x03\x04 something else".to_vec()), BackupError::Foreign));
    assert!(matches!(refused(whole[..10].to_vec()), BackupError::Cut));
    for length in [20, 100, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(refused(whole[..length].to_vec()), BackupError::Cut), "{length}");
    }
    let mut later = whole.clone();
    later[16..20].copy_from_slice(&(VERSION + 1).to_be_bytes());
    assert!(matches!(refused(later), BackupError::Newer { found } if found == VERSION + 1));
    let mut longer = whole;
    longer.extend(b"more");
    assert!(matches!(refused(longer), BackupError::Cut | BackupError::Damaged { .. }));
}

/// The same backup with these records, and a hash that is right.
fn forged(header: &[u8], records: &[u8], rows: u64, files: u64) -> Vec<u8> {
    let whole = small();
    let mut bytes = whole[..20].to_vec();
    bytes.extend((header.len() as u32).to_be_bytes());
    bytes.extend(header);
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(records).unwrap();
    bytes.extend(packer.finish().unwrap());
    let length = bytes.len() as u64;
    for number in [rows, files, records.len() as u64, length] {
        bytes.extend(number.to_be_bytes());
    }
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

fn header_of(whole: &[u8]) -> Vec<u8> {
    let length = u32::from_be_bytes(whole[20..24].try_into().unwrap()) as usize;
    whole[24..24 + length].to_vec()
}

fn record(kind: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((key.len() as u32).to_be_bytes());
    bytes.extend((value.len() as u32).to_be_bytes());
    bytes.extend(key);
    bytes.extend(value);
    bytes
}

#[test]
fn a_backup_with_a_right_hash_and_wrong_records_is_refused() {
    let header = header_of(&small());
    let end = record(0, &[], &[]);
    let lying = [vec![1], u32::MAX.to_be_bytes().to_vec(), vec![0; 4]].concat();
    let cases = [
        ("no end", vec![], 0),
        ("an unknown kind", record(77, &[], &[]), 0),
        ("a length beyond all bounds", lying, 1),
        ("a cut record", [record(1, b"key", b"value"), vec![1, 0, 0]].concat(), 1),
        ("fewer rows than it says", end.clone(), 9),
        ("nothing", end.clone(), 0),
        ("rows of nonsense", [record(1, &[1; 17], b"nonsense"), record(2, &[3], b"x"), end].concat(), 2),
    ];
    for (name, records, rows) in cases {
        let error = refused(forged(&header, &records, rows, 0));
        assert!(!matches!(error, BackupError::Io { .. }), "{name}: {error}");
    }
    assert!(matches!(refused(forged(b"\xff\xff", &record(0, &[], &[]), 0, 0)), BackupError::Damaged { .. }));
}

#[test]
fn a_team_of_several_is_not_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b");
    let store = filled(1, 5);
    // What another machine wrote that nobody goes on for is what a second member looks like.
    back_up(&store, &file);
    let mut whole = fs::read(&file).unwrap();
    let header = header_of(&whole);
    let mut other = header.clone();
    let at = other.windows(8).position(|bytes| bytes == machine(7).as_bytes()).unwrap();
    other[at..at + 8].copy_from_slice(&[5; 8]);
    whole[24..24 + header.len()].copy_from_slice(&other);
    let body = whole.len() - 32;
    let hash = blake3::hash(&whole[..body]);
    whole[body..].copy_from_slice(hash.as_bytes());
    let error = refused(whole);
    assert!(matches!(&error, BackupError::Refused(refusal) if matches!(**refusal, Refusal::OtherMembers { .. })), "{error}");
}

#[test]
fn a_text_that_is_damaged_stays_out_and_the_rest_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let store = open(7, &home);
    for request in Workload::beginning() {
        store.write(at(1), move |tx| carry_out(tx, request)).unwrap();
    }
    let long = "long ".repeat(1_000);
    let hash = store.blobs().put(long.as_bytes()).unwrap();
    let name = hash.to_string();
    let path: PathBuf = home.join("blobs").join(&name[..2]).join(&name[2..]);
    fs::write(&path, "other").unwrap();
    back_up(&store, &folder.path().join("b"));
    restored_by(8, fs::read(folder.path().join("b")).unwrap(), folder.path(), &[]).unwrap();
    let new = open(8, folder.path());
    assert_eq!(new.blobs().list().unwrap(), Vec::<BlobHash>::new());
    assert_eq!(new.check().unwrap(), []);
}

#[test]
fn a_backup_says_what_it_holds_before_anything_is_made_of_it() {
    let whole = small();
    let reader = Reader::over(Cursor::new(whole), PathText::default()).unwrap();
    let header = reader.header();
    assert_eq!((header.made, header.machine, header.frith.as_str()), (at(9_000), machine(7), "0.0.0"));
    let store = filled(2, 40);
    let open = store.read(|view| view.tasks(PlaceId::from_bytes(FIRST), &[Status::Ongoing])).unwrap();
    assert!(header.contents.tasks >= open.len() as u64 && header.contents.documents > header.contents.tasks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_flipped_bit_is_always_found(position in any::<prop::sample::Index>(), bit in 0..8_u8) {
        static WHOLE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(small);
        let mut bytes = WHOLE.clone();
        let at = position.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Reader::over(Cursor::new(bytes), PathText::default()).is_err(), "at {at}");
    }

    #[test]
    fn hostile_bytes_are_refused_and_never_a_panic(records in proptest::collection::vec(any::<u8>(), 0..400), rows in 0..4_u64) {
        static HEADER: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| header_of(&small()));
        let home = tempfile::tempdir().unwrap();
        let mut records = records;
        if let Some(first) = records.first_mut() {
            *first %= 5;
        }
        prop_assert!(restored_by(8, forged(&HEADER, &records, rows, 0), home.path(), &[]).is_err());
    }
}
