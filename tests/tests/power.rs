//! The store on a disk that fails: power cuts in the middle of anything, and a disk that becomes full.
//!
//! A second store on a disk without faults does the same and says what should be there.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{collections::BTreeMap, sync::Arc};

use frith_sim::disk::SimDisk;
use frith_store::{
    docs::log::Fact,
    error::{Failure, StoreError},
    id::{AgentId, CallId, MachineId, OpenToken, PlaceId, TaskId, TeamId},
    invariants,
    model::{Assignee, By, EndHow, PlaceKind, Status},
    open::{Identity, Job, Options, Signer, Store, Tx, job},
    rows::Table,
    time::Timestamp,
    tx::{NewPlace, NewTask, PlaceEdit, TaskEdit},
};

/// How many disks are tried, and how often the power of each is cut.
const DISKS: u64 = 32;
const CUTS: u64 = 8;

/// Signs recognisably; that signatures are real ones is not this test's matter.
struct Plain;

impl Signer for Plain {
    fn public_key(&self) -> [u8; 32] {
        [7; 32]
    }
    fn sign(&self, message: &[u8]) -> [u8; 64] {
        std::array::from_fn(|i| message[i % message.len()])
    }
}

fn open(disk: &SimDisk, run: u64) -> Result<Store, StoreError> {
    let identity = Identity { machine: MachineId::of_key(&[7; 32]), incarnation: run.to_be_bytes(), signer: Arc::new(Plain) };
    let options = Options { cache_bytes: 256 * 1024, documents: 16, ..Options::at("store.redb".as_ref()) };
    Store::open(disk.mount(), identity, options)
}

/// Numbers that follow from a seed, apart from those of the disk.
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
    fn id(&mut self) -> [u8; 16] {
        std::array::from_fn(|_| self.below(256) as u8)
    }
}

/// One request, in a form that can be made of two stores.
#[derive(Debug, Clone)]
enum Request {
    Found(TeamId),
    Place(PlaceId, Option<PlaceId>),
    Task(TaskId, PlaceId, OpenToken, usize),
    Title(TaskId, u64),
    Status(TaskId, Status, OpenToken),
    Move(TaskId, PlaceId),
    Message(TaskId, usize),
    Settings(PlaceId, u32),
    Fact(Fact),
    Call(CallId),
}

fn person() -> By {
    By::Person("ada".into())
}

fn carry_out(tx: &mut Tx<'_>, request: Request) -> Result<(), Failure> {
    let by = person();
    match request {
        Request::Found(team) => tx.found_team(team, "laptop", &by)?,
        Request::Place(id, parent) => {
            let kind = parent.map_or(PlaceKind::Workspace, |parent| PlaceKind::Fork { parent });
            let folder = Some(format!("/home/ada/{id}").parse().unwrap());
            let (description, icon, spun_up_for) = (String::new(), String::new(), None);
            tx.create_place(NewPlace { id, kind, name: format!("p-{}", id.short()), description, icon, folder, spun_up_for }, &by)?;
        }
        Request::Task(id, place, token, length) => {
            let (title, body, assignee) = (format!("task {id}"), "b".repeat(length), Assignee::Agent);
            let (position, allow_all_commands, clear_context) = (None, false, None);
            tx.create_task(NewTask { id, place, title, body, assignee, position, allow_all_commands, clear_context, token }, &by)?;
        }
        Request::Title(id, n) => tx.edit_task(id, TaskEdit { title: Some(format!("title {n}")), ..TaskEdit::default() }, &by)?,
        Request::Status(id, status, token) => tx.set_status(id, status, token, &by)?,
        Request::Move(id, to) => tx.move_task(id, to, &by)?,
        Request::Message(id, length) => tx.add_message(id, &"m".repeat(length), &by)?,
        Request::Settings(id, send_delay_seconds) => {
            let mut settings = tx.require_place(id)?.settings;
            settings.send_delay_seconds = send_delay_seconds;
            tx.set_place(id, PlaceEdit { settings: Some(settings), ..PlaceEdit::default() }, &by)?;
        }
        Request::Fact(fact) => tx.append(fact)?,
        Request::Call(call) => tx.record_call(call, b"reply")?,
    }
    Ok(())
}

/// Makes up requests over what it made up before.
#[derive(Debug, Clone)]
struct Workload {
    dice: Dice,
    places: Vec<PlaceId>,
    forks: Vec<PlaceId>,
    tasks: Vec<TaskId>,
    agents: Vec<AgentId>,
}

impl Workload {
    fn new(seed: u64) -> Self {
        let places = vec![PlaceId::from_bytes([1; 16])];
        Self { dice: Dice(seed + 1), places, forks: Vec::new(), tasks: Vec::new(), agents: Vec::new() }
    }

    fn beginning() -> Vec<Request> {
        vec![Request::Found(TeamId::from_bytes([9; 16])), Request::Place(PlaceId::from_bytes([1; 16]), None)]
    }

    fn batch(&mut self) -> Vec<Request> {
        (0..=self.dice.below(4)).map(|_| self.request()).collect()
    }

    fn pick<T: Copy>(dice: &mut Dice, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[dice.below(list.len() as u64) as usize])
    }

    fn request(&mut self) -> Request {
        let dice = &mut self.dice;
        let task = Self::pick(dice, &self.tasks);
        let place = Self::pick(dice, &self.places).expect("the first place is there from the beginning");
        let length = [10, 3_000][dice.below(2) as usize];
        match (dice.below(12), task) {
            (0, _) => {
                let id = PlaceId::from_random(dice.id());
                let fork = dice.below(2) == 0;
                let parent = fork.then_some(PlaceId::from_bytes([1; 16]));
                if fork {
                    self.forks.push(id)
                } else {
                    self.places.push(id)
                }
                Request::Place(id, parent)
            }
            (1, _) => Request::Settings(place, dice.below(9) as u32),
            (2, _) => Request::Call(CallId::from_random(dice.id())),
            (3, Some(task)) => Request::Move(task, place),
            (4, Some(task)) => Request::Message(task, length),
            (5, Some(task)) => Request::Title(task, dice.below(99)),
            (6 | 7, Some(task)) => {
                let status = Status::ALL[dice.below(5) as usize].0;
                Request::Status(task, status, OpenToken::from_random(dice.id()))
            }
            (8, Some(task)) => self.take(task, place),
            (9, _) => self.log(place),
            _ => {
                let id = TaskId::from_random(dice.id());
                self.tasks.push(id);
                Request::Task(id, place, OpenToken::from_random(self.dice.id()), length)
            }
        }
    }

    fn take(&mut self, task: TaskId, place: PlaceId) -> Request {
        let holder = Self::pick(&mut self.dice, &self.agents).map_or_else(person, By::Agent);
        let (call, token) = (CallId::from_random(self.dice.id()), OpenToken::from_random(self.dice.id()));
        Request::Fact(Fact::Taken { task, place, epoch: 1, holder, call, token })
    }

    fn log(&mut self, place: PlaceId) -> Request {
        let agent = AgentId::from_random(self.dice.id());
        Request::Fact(match (self.dice.below(3), self.agents.pop(), self.forks.pop()) {
            (0, Some(agent), _) => Fact::End { agent, how: EndHow::Exited(0) },
            (1, _, Some(fork)) => Fact::Merge { fork, parent: PlaceId::from_bytes([1; 16]), epoch: 1, by: person(), moved: 0 },
            _ => {
                self.agents.push(agent);
                let (kind, by) = ("claude".into(), person());
                Fact::Launch { agent, kind, place, epoch: 1, by, model: None, effort: None, folder: None }
            }
        })
    }
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
        let mut cuts = Dice(seed + 1_000);
        let mut founded = false;
        for run in 0..CUTS {
            let reference = open(&faultless, run).unwrap();
            let store = open(&disk, run).unwrap();
            disk.cut_power_after(cuts.below(60));
            for at in 0.. {
                let mut after = known.clone();
                let under_way = if founded { after.batch() } else { Workload::beginning() };
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
        let mut space = Dice(seed + 1);
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
