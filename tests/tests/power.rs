//! The store on a disk that fails: power cuts in the middle of anything, and a disk that becomes full.
//!
//! A second store on a disk without faults does the same and says what should be there.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{collections::BTreeMap, sync::Arc};

use frith_sim::{
    dice::Dice,
    disk::SimDisk,
    workload::{Request, Workload, carry_out},
};
use frith_store::{
    error::{Failure, StoreError},
    id::MachineId,
    invariants,
    open::{Identity, Job, Options, Store, job},
    rows::Table,
    time::Timestamp,
};
use frith_tests::signer::Plain;

/// How many disks are tried, and how often the power of each is cut.
const DISKS: u64 = 32;
const CUTS: u64 = 8;

fn open(disk: &SimDisk, run: u64) -> Result<Store, StoreError> {
    let identity = Identity { machine: MachineId::of_key(&[7; 32]), incarnation: run.to_be_bytes(), signer: Arc::new(Plain(7)) };
    let options = Options { cache_bytes: 256 * 1024, documents: 16, ..Options::at("store.redb".as_ref()) };
    Store::open(disk.mount(), identity, options)
}

/// Whether the batch was acknowledged.
fn commit(store: &Store, requests: &[Request], at: i64) -> Result<(), StoreError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let jobs: Vec<Box<dyn Job>> = requests
        .iter()
        .map(|request| {
            let (request, sender) = (request.clone(), sender.clone());
            job(Timestamp::from_ms(at), move |tx| carry_out(tx, request), move |answer| sender.send(answer).unwrap())
        })
        .collect();
    store.commit(jobs);
    let answers: Vec<_> = receiver.try_iter().collect();
    assert_eq!(answers.len(), requests.len(), "each job is answered once");
    let broken = answers.iter().find_map(|answer| match answer {
        Ok(()) => None,
        Err(Failure::Broken(error)) => Some(error.clone()),
        Err(Failure::Refused(refusal)) => panic!("{refusal}"),
    });
    broken.map_or(Ok(()), Err)
}

type Rows = [BTreeMap<Vec<u8>, Vec<u8>>; 3];

fn rows(store: &Store) -> Rows {
    let read = |table| store.read(|view| invariants::table(view, table)).unwrap();
    [read(Table::Facts), read(Table::Views), read(Table::Local)]
}

/// Nothing acknowledged is lost and nothing is there in part: the store equals the one without faults, before or after the
/// batch that was under way. Says which.
fn came_through(store: &Store, reference: &Store, under_way: &[Request], at: i64) -> bool {
    assert_eq!(store.check().unwrap(), []);
    if rows(store) == rows(reference) {
        return false;
    }
    commit(reference, under_way, at).unwrap();
    assert!(rows(store) == rows(reference), "after a power cut the store is neither before nor after the batch under way");
    true
}

/// Opens the store, with the power going again and again while that is done.
fn open_at_last(disk: &SimDisk, run: u64, cuts: &mut Dice) -> Store {
    while cuts.below(2) == 0 {
        disk.cut_power_after(cuts.below(12));
        if let Ok(store) = open(disk, run) {
            drop(store);
        }
        disk.power_on();
    }
    open(disk, run).unwrap()
}

#[test]
fn f21_power_cuts_lose_nothing_acknowledged_and_tear_nothing() {
    let mut survived = 0;
    for seed in 0..DISKS {
        let (disk, faultless) = (SimDisk::new(seed), SimDisk::new(0));
        let mut known = Workload::new(seed);
        let mut cuts = Dice::new(seed, "cuts");
        let mut founded = false;
        for run in 0..CUTS {
            let reference = open(&faultless, run).unwrap();
            let store = open(&disk, run).unwrap();
            disk.cut_power_after(cuts.below(60));
            for at in 0.. {
                let mut after = known.clone();
                let under_way = if founded { after.batch() } else { Workload::beginning() };
                // Giving back moves pages, and the power goes in the middle of that as well.
                if at % 5 == 4 {
                    drop(store.shrink_now());
                }
                if commit(&store, &under_way, at).is_ok() {
                    commit(&reference, &under_way, at).unwrap();
                    (known, founded) = (after, true);
                    continue;
                }
                assert!(disk.is_off(), "nothing else than the power fails here");
                disk.power_on();
                drop(store);
                let store = open_at_last(&disk, run + 1_000, &mut cuts);
                if came_through(&store, &reference, &under_way, at) {
                    (known, founded) = (after, true);
                    survived += 1;
                }
                break;
            }
            disk.power_on();
        }
    }
    assert!(survived > 0, "some batch under way must have come through, or the cuts all fall before the writes");
}

#[test]
fn a_full_disk_writes_nothing_of_a_request_and_the_store_goes_on_when_there_is_space() {
    let mut times_full = 0;
    for seed in 0..DISKS {
        let (disk, faultless) = (SimDisk::new(seed), SimDisk::new(0));
        let (store, reference) = (open(&disk, 1).unwrap(), open(&faultless, 1).unwrap());
        let mut known = Workload::new(seed);
        let mut space = Dice::new(seed, "space");
        commit(&store, &Workload::beginning(), 0).unwrap();
        commit(&reference, &Workload::beginning(), 0).unwrap();
        for at in 0..60 {
            let mut after = known.clone();
            let batch = vec![after.request()];
            disk.limit((space.below(3) == 0).then(|| disk.used() + space.below(40_000)));
            let outcome = commit(&store, &batch, at);
            if let Err(error) = outcome {
                assert!(matches!(error, StoreError::Full), "{error:?}");
                assert!(store.read(|view| view.places()).is_ok_and(|places| !places.is_empty()), "a full disk can be read");
                times_full += 1;
                disk.limit(None);
                assert!(rows(&store) == rows(&reference), "a request was told that nothing was written, and something was");
                continue;
            }
            commit(&reference, &batch, at).unwrap();
            assert!(rows(&store) == rows(&reference));
            known = after;
        }
        assert_eq!(store.check().unwrap(), []);
    }
    assert!(times_full > 0, "the disk must have been full at some time");
}
