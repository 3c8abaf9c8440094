//! Many tasks at once: written into a stopped node's store with the node's own key, as the node would have written them.

use std::{ops::Range, path::Path, sync::Arc};

use frith_net::key::MachineKey;
use frith_store::{
    blobs::BlobFolder,
    docs::log::Fact,
    error::Failure,
    id::{AgentId, MessageId, OpenToken, PlaceId, TaskId, TeamId},
    model::{Assignee, By, HostSession, Missed, PlaceKind, Recipient, Schedule, Status},
    open::{Disk, Identity, Options, Store, file_backend},
    time::Timestamp,
    tx::{NewMail, NewPlace, NewTask, TaskEdit, Tx},
};

use crate::Sandbox;

/// How many tasks go into one transaction.
const BATCH: usize = 500;
/// Every how many tasks one is ongoing.
const ONGOING_EVERY: usize = 100;

/// Adds this many tasks to a place of a sandbox, each hundredth of them ongoing, and answers the id of an ongoing one. The
/// node is stopped for it.
///
/// # Panics
/// The store cannot be written.
pub fn fill(sandbox: &Sandbox, place: &str, count: usize) -> String {
    fill_with_schedules(sandbox, place, count, 0)
}

/// The same, where this many of the tasks, the last ones, are templates, each of which comes once a year.
///
/// # Panics
/// The store cannot be written.
pub fn fill_with_schedules(sandbox: &Sandbox, place: &str, count: usize, schedules: usize) -> String {
    let place: PlaceId = sandbox.show_place(place)["id"].as_str().and_then(|id| id.parse().ok()).expect("the place has an id");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let key = MachineKey::load(&sandbox.home().join("key")).ok().flatten().expect("the node made a key");
    let store = open(&sandbox.home(), key);
    add_tasks(&store, place, count);
    schedule(&store, count - schedules..count);
    store.close().expect("the store can be closed");
    id(0).to_string()
}

/// Adds this many agents and messages that they sent each other, none of them read. The node is stopped for it.
///
/// # Panics
/// The store cannot be written.
pub fn fill_with_mail(sandbox: &Sandbox, agents: usize, messages: usize) {
    let agent = move |number: usize| AgentId::from_random(spread(number % agents, 5));
    write(sandbox, time(0), move |tx| {
        (0..agents).try_for_each(|number| {
            let session = HostSession { host: "codex".to_owned(), id: Some(format!("session {number}")), sub_agent: None };
            let (parent, model, folder, place) = (None, None, None, None);
            Ok(tx.append(Fact::Registered { agent: agent(number), session, parent, model, folder, place })?)
        })
    });
    for start in (0..messages).step_by(BATCH) {
        let mut batch = start..messages.min(start + BATCH);
        write(sandbox, time(start), move |tx| {
            batch.try_for_each(|number| {
                let (id, to) = (MessageId::from_random(spread(number, 6)), Recipient::Agent(agent(number + 1)));
                let text = format!("message {number} of many, in a line as agents write them");
                Ok(tx.send(&NewMail { id, to, task: None, text }, &By::Agent(agent(number)))?)
            })
        });
    }
}

/// Writes to a sandbox's store as its node would have at this time. The node is stopped for it, and starts with the next command.
///
/// # Panics
/// The store cannot be written.
pub fn write(sandbox: &Sandbox, at: Timestamp, work: impl FnOnce(&mut Tx<'_>) -> Result<(), Failure> + Send + 'static) {
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let key = MachineKey::load(&sandbox.home().join("key")).ok().flatten().expect("the node made a key");
    let store = open(&sandbox.home(), key);
    store.write(at, work).expect("the store can be written");
    store.close().expect("the store can be closed");
}

/// A new store in a folder, with one place of this many tasks, each hundredth of them ongoing.
///
/// # Panics
/// The store cannot be written.
pub fn filled(folder: &Path, count: usize) -> (Store, PlaceId) {
    let store = open(folder, MachineKey::from_secret(&[7; 32]));
    let place = PlaceId::from_random(spread(0, 3));
    let new = NewPlace {
        id: place,
        kind: PlaceKind::Workspace,
        name: "app".to_owned(),
        description: String::new(),
        icon: String::new(),
        folder: None,
        spun_up_for: None,
    };
    let made = store.write(time(0), move |tx| {
        tx.found_team(TeamId::from_random(spread(0, 4)), "laptop", &ada())?;
        Ok(tx.create_place(new, &ada())?)
    });
    made.expect("the store can be written");
    add_tasks(&store, place, count);
    (store, place)
}

/// Adds tasks with the numbers from 0 up to this one.
fn add_tasks(store: &Store, place: PlaceId, count: usize) {
    for start in (0..count).step_by(BATCH) {
        let mut batch = start..count.min(start + BATCH);
        let written = store.write(time(start), move |tx| batch.try_for_each(|number| add_task(tx, place, number)));
        written.expect("the store can be written");
    }
}

/// Gives these tasks a schedule.
fn schedule(store: &Store, tasks: Range<usize>) {
    let starts = tasks.clone().step_by(BATCH);
    for start in starts {
        let mut batch = start..tasks.end.min(start + BATCH);
        let written = store.write(time(start), move |tx| {
            batch.try_for_each(|number| {
                let expression = format!("{} {} 1 1 *", number % 60, number / 60 % 24);
                let (time_zone, missed) = ("Europe/Berlin".to_owned(), Missed::Skip);
                let schedule = Schedule { expression, time_zone, missed, from: tx.now(), paused: None };
                tx.edit_task(id(number), TaskEdit { schedule: Some(Some(schedule)), ..TaskEdit::default() }, &ada())
            })
        });
        written.expect("the store can be written");
    }
}

fn open(home: &Path, key: MachineKey) -> Store {
    let identity = Identity { machine: key.machine(), incarnation: *b"measured", signer: Arc::new(key) };
    let path = home.join("store.redb");
    let backend = file_backend(&path).expect("the folder can be written");
    let disk = Disk { backend, blobs: Arc::new(BlobFolder::new(home.join("blobs"))) };
    Store::open(disk, identity, Options::at(&path)).expect("nobody else has the store open")
}

fn ada() -> By {
    By::Person("ada".to_owned())
}

/// Adds the task of this number.
///
/// # Errors
/// The store cannot be written.
pub fn add_task(tx: &mut Tx<'_>, place: PlaceId, number: usize) -> Result<(), Failure> {
    let by = ada();
    let task = NewTask {
        id: id(number),
        place,
        title: format!("task {number} of many"),
        body: "What is to be done, in a line.".to_owned(),
        assignee: Assignee::Agent,
        position: None,
        allow_all_commands: false,
        clear_context: None,
        token: OpenToken::from_random(spread(number, 1)),
        schedule: None,
    };
    tx.create_task(task, &by)?;
    if number.is_multiple_of(ONGOING_EVERY) {
        tx.set_status(id(number), Status::Ongoing, OpenToken::from_random(spread(number, 2)), &by)?;
    }
    Ok(())
}

/// The id of the task of this number.
pub fn id(number: usize) -> TaskId {
    TaskId::from_random(spread(number, 0))
}

/// Bytes that differ for each number, spread as random ones are.
fn spread(number: usize, purpose: u8) -> [u8; 16] {
    let mut state = (number as u64) << 8 | u64::from(purpose);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).to_be_bytes()
    };
    let halves = [next(), next()].concat();
    std::array::from_fn(|at| halves[at])
}

/// The time at which the task of this number was made.
pub fn time(number: usize) -> Timestamp {
    Timestamp::from_ms(1_750_000_000_000 + number as i64)
}
