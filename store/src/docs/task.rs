//! A task's document: registers at the root, open tokens, and the messages and history of each writer.
//!
//! A task is open while any open token is there. Closing deletes the tokens the closer saw, so an opening that it did not
//! see survives it.

use automerge::{
    AutomergeError, ROOT, ReadDoc as _, ScalarValue,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use super::{Document, Text, add_to_map, map_in, parse_record_key, trash::Deletion};
use crate::{
    id::{OpenToken, PlaceId, Writer},
    model::{Assignee, By, Missed, RunOf, Schedule, Status},
    time::Timestamp,
};

pub(crate) const OPEN: &str = "open";
pub(crate) const MESSAGES: &str = "m";
pub(crate) const HISTORY: &str = "h";

const TITLE: &str = "title";
const BODY: &str = "body";
const PLACE: &str = "place";
const MOVED_FROM: &str = "moved-from";
const ASSIGNEE: &str = "assignee";
const POSITION: &str = "position";
const CREATED: &str = "created";
const CREATED_BY: &str = "by";
const CHANGED: &str = "changed";
const PROGRESS: &str = "progress";
const CLOSED_AS: &str = "closed-as";
const ALLOW_ALL: &str = "allow-all";
const CLEAR_CONTEXT: &str = "clear-context";
const SCHEDULE: &str = "schedule";
const PAUSED: &str = "paused";
const DELETED: &str = "deleted";

/// The most messages in a task's own document; later ones go to documents of their own, as many in each.
pub const MESSAGES_MOST: u32 = 500;

/// Where an open task stands, and by which token somebody has it in hand: one register, so both change together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Not started, ongoing or blocked.
    pub status: Status,
    /// The token of the taking that counts.
    pub taken: Option<OpenToken>,
}

/// A schedule as its register holds it. That it is paused is a register of its own, so that pausing and changing it meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRecord {
    /// Five fields.
    pub expression: String,
    /// The name of the time zone.
    pub time_zone: String,
    /// What becomes of missed slots.
    pub missed: Missed,
    /// Slots up to this moment do not count.
    pub from: Timestamp,
}

impl ScheduleRecord {
    /// What the register holds of a schedule.
    pub fn of(schedule: &Schedule) -> Self {
        let Schedule { expression, time_zone, missed, from, .. } = schedule.clone();
        Self { expression, time_zone, missed, from }
    }
}

/// A message as the document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// One more than the highest counter its writer had seen in the task: what orders a thread.
    pub counter: u64,
    /// Who wrote it.
    pub by: By,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub text: Text,
}

/// A change of status or place as the document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRecord {
    /// As for a message.
    pub counter: u64,
    /// The status afterwards.
    pub status: Status,
    /// Where it was moved to, when it was moved.
    pub moved_to: Option<PlaceId>,
    /// Who changed it.
    pub by: By,
    /// When.
    pub at: Timestamp,
}

/// A record with who wrote it and its number, which together are its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed<T> {
    /// Who wrote it.
    pub writer: Writer,
    /// The number of the change that holds it.
    pub seq: u64,
    /// The record.
    pub record: T,
}

/// What the registers of a task's document say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: Text,
    /// Its place.
    pub place: PlaceId,
    /// Where it was before it was last moved.
    pub moved_from: Option<PlaceId>,
    /// Who is to do it.
    pub assignee: Assignee,
    /// Its position in the queue.
    pub position: i64,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub created_by: By,
    /// When it last changed.
    pub changed: Timestamp,
    /// Where it stands while it is open.
    pub progress: Progress,
    /// What it is closed as while it is not.
    pub closed_as: Status,
    /// Its open tokens, in order.
    pub open: Vec<OpenToken>,
    /// Whether the agent may run every command for it.
    pub allow_all_commands: bool,
    /// Whether it asks for a fresh context.
    pub clear_context: Option<bool>,
    /// When it makes runs.
    pub schedule: Option<Schedule>,
    /// What it is a run of.
    pub run_of: Option<RunOf>,
    /// The deletions, and returns from the trash, that were written at once.
    pub deletions: Vec<Option<Deletion>>,
}

impl TaskState {
    /// Reads the registers; none while the change that made the task has not arrived.
    pub fn read(document: &Document) -> Option<Self> {
        let root = document.root();
        let open = document.map(OPEN)?;
        Some(Self {
            title: root.text(TITLE)?,
            body: root.record(BODY).unwrap_or(Text::Inline(String::new())),
            place: PlaceId::from_bytes(root.id(PLACE)?),
            moved_from: root.id(MOVED_FROM).map(PlaceId::from_bytes),
            assignee: root.text(ASSIGNEE).and_then(|word| word.parse().ok()).unwrap_or(Assignee::Agent),
            position: root.number(POSITION).unwrap_or_default(),
            created: Timestamp::from_ms(root.number(CREATED)?),
            created_by: root.record(CREATED_BY)?,
            changed: Timestamp::from_ms(root.number(CHANGED)?),
            progress: root.record(PROGRESS).unwrap_or(Progress { status: Status::NotStarted, taken: None }),
            closed_as: root.text(CLOSED_AS).and_then(|word| word.parse().ok()).unwrap_or(Status::Completed),
            open: open.keys().filter_map(|token| token.parse().ok()).collect(),
            allow_all_commands: root.flag(ALLOW_ALL).unwrap_or_default(),
            clear_context: root.flag(CLEAR_CONTEXT),
            schedule: root.record(SCHEDULE).map(|record: ScheduleRecord| Schedule {
                expression: record.expression,
                time_zone: record.time_zone,
                missed: record.missed,
                from: record.from,
                paused: root.number(PAUSED).map(Timestamp::from_ms),
            }),
            run_of: document.about().ok()?.run_of(),
            deletions: root.records(DELETED),
        })
    }

    /// Where the task stands.
    pub fn status(&self) -> Status {
        if self.schedule.is_some() { Status::Cron } else { self.status_without_schedule() }
    }

    /// Where it stands once its schedule is gone.
    pub fn status_without_schedule(&self) -> Status {
        if self.open.is_empty() { self.closed_as } else { self.progress.status }
    }

    /// The token of the taking by which somebody has it in hand, if one counts.
    pub fn taken(&self) -> Option<OpenToken> {
        matches!(self.status(), Status::Ongoing | Status::Blocked).then_some(self.progress.taken).flatten()
    }
}

/// The messages in a task's document or in a later part of its thread.
pub fn messages(document: &Document) -> Vec<Keyed<MessageRecord>> {
    records(document, MESSAGES)
}

/// The history in a task's document.
pub fn history(document: &Document) -> Vec<Keyed<HistoryRecord>> {
    records(document, HISTORY)
}

fn records<T: serde::de::DeserializeOwned>(document: &Document, map: &str) -> Vec<Keyed<T>> {
    let Some(map) = document.map(map) else { return Vec::new() };
    let keyed = |key: String| {
        let (writer, seq) = parse_record_key(&key)?;
        Some(Keyed { writer, seq, record: map.record(&key)? })
    };
    map.keys().filter_map(keyed).collect()
}

/// The first content of a new task.
#[derive(Debug)]
pub struct Birth {
    /// Its title.
    pub title: String,
    /// Its body, as the bytes of a [`Text`].
    pub body: Vec<u8>,
    /// Its place.
    pub place: PlaceId,
    /// Who is to do it.
    pub assignee: Assignee,
    /// Its position in the queue.
    pub position: i64,
    /// When it is made.
    pub at: Timestamp,
    /// Who makes it, as the bytes of a [`By`].
    pub by: Vec<u8>,
    /// Whether the agent may run every command for it.
    pub allow_all_commands: bool,
    /// Whether it asks for a fresh context.
    pub clear_context: Option<bool>,
    /// The token that opens it; a run has its own from its genesis.
    pub token: Option<OpenToken>,
    /// When it makes runs, as the bytes of a [`ScheduleRecord`].
    pub schedule: Option<Vec<u8>>,
    /// When somebody made it, or the slot it was made for.
    pub created: Timestamp,
}

/// Writes a new task's registers.
pub(crate) fn give_birth(tx: &mut Transaction<'_>, birth: Birth) -> Result<(), AutomergeError> {
    tx.put(ROOT, TITLE, birth.title)?;
    tx.put(ROOT, BODY, birth.body)?;
    tx.put(ROOT, PLACE, birth.place.as_bytes().to_vec())?;
    tx.put(ROOT, POSITION, birth.position)?;
    tx.put(ROOT, CREATED, birth.created.ms())?;
    tx.put(ROOT, CREATED_BY, birth.by)?;
    set_assignee(tx, birth.assignee)?;
    set_allow_all(tx, birth.allow_all_commands)?;
    set_clear_context(tx, birth.clear_context)?;
    birth.schedule.map_or(Ok(()), |schedule| set_schedule(tx, Some(schedule)))?;
    touch(tx, birth.at)?;
    birth.token.map_or(Ok(()), |token| open(tx, token))
}

/// Says when the task changed.
pub(crate) fn touch(tx: &mut Transaction<'_>, at: Timestamp) -> Result<(), AutomergeError> {
    tx.put(ROOT, CHANGED, at.ms())
}

pub(crate) fn set_title(tx: &mut Transaction<'_>, title: String) -> Result<(), AutomergeError> {
    tx.put(ROOT, TITLE, title)
}

pub(crate) fn set_body(tx: &mut Transaction<'_>, body: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, BODY, body)
}

pub(crate) fn set_assignee(tx: &mut Transaction<'_>, assignee: Assignee) -> Result<(), AutomergeError> {
    let word = Assignee::ALL.iter().find(|(one, _)| *one == assignee).map_or("agent", |(_, word)| *word);
    tx.put(ROOT, ASSIGNEE, word)
}

pub(crate) fn set_position(tx: &mut Transaction<'_>, position: i64) -> Result<(), AutomergeError> {
    tx.put(ROOT, POSITION, position)
}

/// Absent and no are the same, so that a task that never asked costs nothing.
pub(crate) fn set_allow_all(tx: &mut Transaction<'_>, allow: bool) -> Result<(), AutomergeError> {
    if allow || tx.get(ROOT, ALLOW_ALL)?.is_some() { tx.put(ROOT, ALLOW_ALL, allow) } else { Ok(()) }
}

pub(crate) fn set_clear_context(tx: &mut Transaction<'_>, clear: Option<bool>) -> Result<(), AutomergeError> {
    match clear {
        Some(clear) => tx.put(ROOT, CLEAR_CONTEXT, clear),
        None if tx.get(ROOT, CLEAR_CONTEXT)?.is_some() => tx.put(ROOT, CLEAR_CONTEXT, ScalarValue::Null),
        None => Ok(()),
    }
}

/// Sets when the task makes runs, or that it makes none; `schedule` are the bytes of a [`ScheduleRecord`].
pub(crate) fn set_schedule(tx: &mut Transaction<'_>, schedule: Option<Vec<u8>>) -> Result<(), AutomergeError> {
    tx.put(ROOT, SCHEDULE, schedule.map_or(ScalarValue::Null, ScalarValue::Bytes))
}

/// Says since when the schedule is paused, or that it is not.
pub(crate) fn set_paused(tx: &mut Transaction<'_>, paused: Option<Timestamp>) -> Result<(), AutomergeError> {
    match paused {
        Some(since) => tx.put(ROOT, PAUSED, since.ms()),
        None if tx.get(ROOT, PAUSED)?.is_some() => tx.put(ROOT, PAUSED, ScalarValue::Null),
        None => Ok(()),
    }
}

/// Puts the task into the trash; `deletion` are the bytes of a [`Deletion`]. None takes it out.
pub(crate) fn set_deleted(tx: &mut Transaction<'_>, deletion: Option<Vec<u8>>) -> Result<(), AutomergeError> {
    match deletion {
        Some(deletion) => tx.put(ROOT, DELETED, deletion),
        None => tx.put(ROOT, DELETED, ScalarValue::Null),
    }
}

/// Puts a token that keeps the task open.
pub(crate) fn open(tx: &mut Transaction<'_>, token: OpenToken) -> Result<(), AutomergeError> {
    let tokens = map_in(tx, OPEN)?;
    tx.put(tokens, token.to_string(), true)
}

/// Says where the open task stands; `progress` are the bytes of a [`Progress`].
pub(crate) fn set_progress(tx: &mut Transaction<'_>, progress: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, PROGRESS, progress)
}

/// Deletes every token this document shows, and says what the task is closed as.
pub(crate) fn close(tx: &mut Transaction<'_>, closed_as: Status) -> Result<(), AutomergeError> {
    let tokens = map_in(tx, OPEN)?;
    let seen: Vec<String> = tx.keys(&tokens).collect();
    for token in seen {
        tx.delete(&tokens, token)?;
    }
    tx.put(ROOT, CLOSED_AS, closed_as.word())
}

pub(crate) fn set_place(tx: &mut Transaction<'_>, from: PlaceId, to: PlaceId) -> Result<(), AutomergeError> {
    tx.put(ROOT, MOVED_FROM, from.as_bytes().to_vec())?;
    tx.put(ROOT, PLACE, to.as_bytes().to_vec())
}

/// Adds a message or an entry of the history to its map.
pub(crate) fn add_record(tx: &mut Transaction<'_>, map: &str, writer: Writer, seq: u64, record: Vec<u8>) -> Result<(), AutomergeError> {
    add_to_map(tx, map, writer, seq, record)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::docs::{About, RawChange, place, place::PlaceState};
    use crate::{
        id::{MachineId, TaskId},
        model::{PlaceKind, Setting},
    };

    const REPLICAS: usize = 3;

    /// One thing a replica does: an edit, or taking in what another one has.
    #[derive(Debug, Clone)]
    enum Step {
        Edit { replica: usize, kind: u8, value: u8 },
        Fetch { from: usize, to: usize },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let edit = (0..REPLICAS, 0..8_u8, any::<u8>()).prop_map(|(replica, kind, value)| Step::Edit { replica, kind, value });
        let fetch = (0..REPLICAS, 0..REPLICAS).prop_map(|(from, to)| Step::Fetch { from, to });
        prop::collection::vec(prop_oneof![3 => edit, 1 => fetch], 1..40)
    }

    fn writer(replica: usize) -> Writer {
        Writer::new(MachineId::from_bytes([replica as u8; 8]), [1; 8])
    }

    /// Replicas of one document, with every change that was ever made.
    struct World {
        replicas: Vec<Document>,
        changes: Vec<RawChange>,
        /// For each change by which replicas know it.
        known: Vec<[bool; REPLICAS]>,
    }

    impl World {
        fn new(about: &About) -> Self {
            let (document, genesis) = Document::born(about).unwrap();
            let again = Document::born(about).unwrap().1;
            assert_eq!(genesis, again, "two machines make the same beginning");
            Self { replicas: vec![document; REPLICAS], changes: vec![genesis], known: vec![[true; REPLICAS]] }
        }

        fn edit(&mut self, replica: usize, work: impl FnOnce(&mut Transaction<'_>, u64) -> Result<(), AutomergeError>) {
            let change = self.replicas[replica].edit(writer(replica), Timestamp::from_ms(1), work).unwrap();
            self.changes.extend(change.clone());
            self.known.extend(change.map(|_| std::array::from_fn(|one| one == replica)));
        }

        fn fetch(&mut self, from: usize, to: usize) {
            for (change, known) in self.changes.iter().zip(&mut self.known).filter(|(_, known)| known[from] && !known[to]) {
                self.replicas[to].apply(std::iter::once(change.bytes.as_slice())).unwrap();
                known[to] = true;
            }
        }

        /// Every change in this order, some of them twice, to a replica that has seen nothing.
        fn anew(&self, about: &About, order: &[prop::sample::Index]) -> Document {
            let mut document = Document::born(about).unwrap().0;
            let mut rest: Vec<&RawChange> = self.changes.iter().collect();
            for index in order.iter().take(self.changes.len()) {
                let change = rest.remove(index.index(rest.len()));
                let twice = [change.bytes.as_slice(); 2];
                document.apply(twice.into_iter().take(1 + change.bytes.len() % 2)).unwrap();
            }
            document.apply(rest.iter().map(|change| change.bytes.as_slice())).unwrap();
            document
        }
    }

    fn edit_task(world: &mut World, replica: usize, kind: u8, value: u8, at: usize) {
        let token = OpenToken::from_bytes([at as u8 + 1; 16]);
        let progress = |status, taken| postcard::to_stdvec(&Progress { status, taken }).unwrap();
        let at = Timestamp::from_ms(at as i64);
        let record =
            postcard::to_stdvec(&MessageRecord { counter: u64::from(value), by: By::Node, at, text: Text::Inline(value.to_string()) });
        world.edit(replica, |tx, seq| {
            touch(tx, at)?;
            match kind {
                0 => set_title(tx, format!("title {value}")),
                1 => close(tx, if value.is_multiple_of(2) { Status::Completed } else { Status::Rejected }),
                2 => open(tx, token).and_then(|()| set_progress(tx, progress(Status::Ongoing, Some(token)))),
                3 => open(tx, token).and_then(|()| set_progress(tx, progress(Status::NotStarted, None))),
                4 => set_progress(tx, progress(Status::Blocked, None)),
                5 => set_place(tx, PlaceId::from_bytes([1; 16]), PlaceId::from_bytes([value; 16])),
                6 => set_clear_context(tx, (value > 85).then_some(value > 170)),
                _ => add_record(tx, MESSAGES, writer(replica), seq, record.unwrap()),
            }
        });
    }

    fn born_task(world: &mut World) {
        let birth = Birth {
            title: "task".into(),
            body: postcard::to_stdvec(&Text::Inline("text".into())).unwrap(),
            place: PlaceId::from_bytes([1; 16]),
            assignee: Assignee::Agent,
            position: 0,
            at: Timestamp::from_ms(1),
            by: postcard::to_stdvec(&By::Node).unwrap(),
            allow_all_commands: false,
            clear_context: None,
            token: Some(OpenToken::from_bytes([255; 16])),
            schedule: None,
            created: Timestamp::from_ms(1),
        };
        world.edit(0, |tx, _| give_birth(tx, birth));
        (1..REPLICAS).for_each(|to| world.fetch(0, to));
    }

    /// What the tokens say without Automerge: a close takes exactly the openings its replica knew.
    #[derive(Clone, Default)]
    struct Openings {
        put: Vec<OpenToken>,
        seen: std::collections::BTreeSet<OpenToken>,
    }

    proptest! {
        #[test]
        fn f16_tasks_come_out_equal_whatever_the_order_and_duplication(
            steps in steps(),
            order in prop::collection::vec(any::<prop::sample::Index>(), 64),
        ) {
            let about = About::Task { task: TaskId::from_bytes([1; 16]) };
            let mut world = World::new(&about);
            born_task(&mut world);
            let mut openings = vec![Openings { put: vec![OpenToken::from_bytes([255; 16])], ..Openings::default() }; REPLICAS];
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Edit { replica, kind, value } => {
                        edit_task(&mut world, replica, kind, value, at);
                        let here = &mut openings[replica];
                        match kind {
                            1 => here.seen.extend(here.put.iter()),
                            2 | 3 => here.put.push(OpenToken::from_bytes([at as u8 + 1; 16])),
                            _ => {}
                        }
                    }
                    Step::Fetch { from, to } => {
                        world.fetch(from, to);
                        let there = openings[from].clone();
                        openings[to].put.extend(there.put);
                        openings[to].seen.extend(there.seen);
                    }
                }
            }
            (1..REPLICAS).for_each(|from| world.fetch(from, 0));
            let whole = &world.replicas[0];
            let state = TaskState::read(whole).unwrap();
            for other in [world.anew(&about, &order), world.anew(&about, &order[32..])] {
                prop_assert_eq!(TaskState::read(&other).unwrap(), state.clone());
                prop_assert_eq!(messages(&other), messages(whole));
                prop_assert_eq!(other.tips(), whole.tips());
            }
            let all_seen = openings.iter().flat_map(|one| &one.put).all(|token| openings.iter().any(|one| one.seen.contains(token)));
            prop_assert_eq!(state.status().is_finished(), all_seen);
        }

        #[test]
        fn f16_places_come_out_equal_whatever_the_order_and_duplication(
            steps in steps(),
            order in prop::collection::vec(any::<prop::sample::Index>(), 64),
        ) {
            let about = About::Place { place: PlaceId::from_bytes([1; 16]), kind: PlaceKind::Workspace };
            let mut world = World::new(&about);
            let by = postcard::to_stdvec(&By::Node).unwrap();
            world.edit(0, |tx, _| {
                place::give_birth(tx, Timestamp::from_ms(1), by, None)?;
                place::set_name(tx, "app".into())
            });
            for step in steps {
                match step {
                    Step::Fetch { from, to } => world.fetch(from, to),
                    Step::Edit { replica, kind, value } => world.edit(replica, |tx, _| match kind {
                        0 => place::set_name(tx, format!("name-{value}")),
                        1 => place::set_archived(tx, value % 2 == 0),
                        2 => place::set_deleted(tx, (value % 2 == 0).then(|| Timestamp::from_ms(i64::from(value)))),
                        3 => place::set_icon(tx, value.to_string()),
                        _ => place::set_register(tx, Setting::SendDelay.key(), vec![value % 128]),
                    }),
                }
            }
            (1..REPLICAS).for_each(|from| world.fetch(from, 0));
            let state = PlaceState::read(&world.replicas[0], &|text| format!("{text:?}")).unwrap();
            for order in [&order[..], &order[32..]] {
                let other = world.anew(&about, order);
                prop_assert_eq!(PlaceState::read(&other, &|text| format!("{text:?}")).unwrap(), state.clone());
            }
        }
    }

    /// What a machine adds to the beginning of a run.
    fn make_run(document: &mut Document, machine: usize, place: u8) -> Vec<u8> {
        let birth = Birth {
            title: "daily".into(),
            body: postcard::to_stdvec(&Text::Inline("text".into())).unwrap(),
            place: PlaceId::from_bytes([place; 16]),
            assignee: Assignee::Agent,
            position: 0,
            at: Timestamp::from_ms(5),
            by: postcard::to_stdvec(&By::Node).unwrap(),
            allow_all_commands: false,
            clear_context: None,
            token: None,
            schedule: None,
            created: Timestamp::from_ms(1),
        };
        document.edit(writer(machine), Timestamp::from_ms(5), |tx, _| give_birth(tx, birth)).unwrap().unwrap().bytes
    }

    #[test]
    fn d11_a_run_that_another_machine_makes_late_takes_nothing_back() {
        let about = About::Run { template: TaskId::from_bytes([1; 16]), slot: Timestamp::from_ms(60_000) };
        let (mut here, genesis) = Document::born(&about).unwrap();
        let (mut there, other) = Document::born(&about).unwrap();
        assert_eq!(genesis, other, "both begin with the same bytes");
        let mut changes = vec![make_run(&mut here, 0, 1)];
        let later = here.edit(writer(0), Timestamp::from_ms(9), |tx, _| {
            set_title(tx, "renamed".into())?;
            set_place(tx, PlaceId::from_bytes([1; 16]), PlaceId::from_bytes([7; 16]))?;
            close(tx, Status::Completed)
        });
        changes.push(later.unwrap().unwrap().bytes);
        let late = make_run(&mut there, 1, 2);
        here.apply(std::iter::once(late.as_slice())).unwrap();
        there.apply(changes.iter().map(Vec::as_slice)).unwrap();
        let kept = TaskState::read(&here).unwrap();
        assert_eq!((kept.title.as_str(), kept.place, kept.status()), ("renamed", PlaceId::from_bytes([7; 16]), Status::Completed));
        assert_eq!(TaskState::read(&there).unwrap(), kept);
    }

    #[test]
    fn f05_thousands_of_changes_made_while_others_arrive_save_and_load_the_same() {
        let about = About::Task { task: TaskId::from_bytes([1; 16]) };
        let mut world = World::new(&about);
        born_task(&mut world);
        for at in 0..600 {
            edit_task(&mut world, at % REPLICAS, [0, 4, 7][at % 3], at as u8, at % 200);
            if at % 50 == 0 {
                world.fetch(at % REPLICAS, (at + 1) % REPLICAS);
            }
        }
        (1..REPLICAS).for_each(|from| world.fetch(from, 0));
        let document = &world.replicas[0];
        let stored =
            crate::docs::Stored { snapshot: Some(document.snapshot().unwrap()), changes: Vec::new(), tips: document.tips().clone() };
        let loaded = Document::load(document.id(), stored).unwrap();
        assert_eq!(TaskState::read(&loaded), TaskState::read(document));
        assert_eq!(messages(&loaded), messages(document));
        let cut = crate::docs::Stored {
            snapshot: None,
            changes: world.changes[..9].iter().map(|change| change.bytes.clone()).collect(),
            tips: document.tips().clone(),
        };
        assert!(Document::load(document.id(), cut).is_err(), "a change that is missing is noticed");
    }
}
