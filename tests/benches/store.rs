//! The store alone, on a file and with its syncs: what a change and a reading cost with few tasks and with many.

use divan::Bencher;
use frith_store::{
    id::{OpenToken, PlaceId},
    model::{By, Status},
    open::Store,
    view::View,
};
use frith_tests::seed::{add_task, filled, id, time};
use tempfile::TempDir;

/// How many tasks the place has.
const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];

fn main() {
    divan::main();
}

struct Filled {
    store: Store,
    place: PlaceId,
    _folder: TempDir,
}

fn with(count: usize) -> Filled {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (store, place) = filled(folder.path(), count);
    Filled { store, place, _folder: folder }
}

/// One change of a task's status, made durable.
#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn status_change(bencher: Bencher<'_, '_>, count: usize) {
    let filled = with(count);
    let mut round = 0_u64;
    bencher.bench_local(|| {
        round += 1;
        let status = if round.is_multiple_of(2) { Status::Ongoing } else { Status::Blocked };
        let token = OpenToken::from_random(u128::from(round).to_be_bytes());
        let by = By::Person("ada".to_owned());
        let task = id(usize::try_from(round).unwrap_or_default() % count.min(100));
        filled.store.write(time(count), move |tx| tx.set_status(task, status, token, &by)).expect("the store can be written");
    });
}

/// One task added, made durable.
#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn add(bencher: Bencher<'_, '_>, count: usize) {
    let Filled { store, place, _folder } = with(count);
    let mut number = count;
    bencher.bench_local(|| {
        number += 1;
        store.write(time(number), move |tx| add_task(tx, place, number)).expect("the store can be written");
    });
}

/// The ongoing tasks of a place, a hundredth of all.
#[divan::bench(args = SIZES)]
fn list_ongoing(bencher: Bencher<'_, '_>, count: usize) {
    read(bencher, count, |view, place| view.tasks(place, &[Status::Ongoing]).map(|tasks| tasks.len()));
}

/// What `task next` reads.
#[divan::bench(args = SIZES)]
fn next_candidates(bencher: Bencher<'_, '_>, count: usize) {
    read(bencher, count, |view, place| view.next_candidates(place, &By::Person("ada".to_owned())).map(|_| 1));
}

fn read(bencher: Bencher<'_, '_>, count: usize, work: fn(&View<'_>, PlaceId) -> Result<usize, frith_store::error::StoreError>) {
    let filled = with(count);
    bencher.bench_local(|| filled.store.read(|view| work(view, filled.place)).expect("the store can be read"));
}
