//! Documents: the replicated state, one small Automerge document for each task, place, thread part, log segment and team.
//!
//! A document begins with a genesis change that follows from what it is about, so two machines that make the same one make
//! the same bytes. Nothing here reads a clock or draws randomness: who writes and when are handed in.

use automerge::{
    AutomergeError, ObjId, ObjType, ROOT, ReadDoc as _, Value,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use crate::{
    id::{BlobHash, DocId, MachineId, OpenToken, PlaceId, TaskId, TeamId, Writer},
    model::{PlaceKind, RunOf},
    time::Timestamp,
};

pub mod attachment;
mod document;
pub mod log;
mod named;
pub mod note;
pub mod outbox;
pub mod place;
pub mod shared;
pub mod skill;
pub mod task;
pub mod team;
pub mod trash;

pub use document::{Document, RawChange, Registers, Stored, Tip};
pub use named::Sought;

/// The most changes an author adds to one document; only what ends it comes after.
pub const CHANGES_MOST: u64 = 4_000;
/// A text longer than this many bytes is kept beside the store, and its document holds the hash.
pub const INLINE_MOST: usize = 1_024;

const HEADER: &str = "header";
const FORMAT: u16 = 1;

/// What a document is about: enough to derive its id and its first change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// A task.
    Task {
        /// The task.
        task: TaskId,
    },
    /// A workspace or a fork, whose kind and parent never change.
    Place {
        /// The place.
        place: PlaceId,
        /// Its kind.
        kind: PlaceKind,
    },
    /// A later part of a task's thread.
    Thread {
        /// The task.
        task: TaskId,
        /// 1 for the messages after those in the task's own document, then 2, and so on.
        part: u32,
    },
    /// A segment of a machine's log.
    Log {
        /// The machine, which alone writes it.
        machine: MachineId,
        /// Counts from 0.
        segment: u64,
    },
    /// A segment of a machine's outbox.
    Outbox {
        /// The machine, which alone writes it.
        machine: MachineId,
        /// Counts from 0.
        segment: u64,
    },
    /// The membership of a team.
    Team {
        /// The team.
        team: TeamId,
    },
    /// A part of a note's versions.
    Note {
        /// The workspace it is kept under; a fork's notes are its parent's.
        place: PlaceId,
        /// Its name.
        name: String,
        /// 0, then 1 once that is full, and so on.
        part: u32,
    },
    /// A task that a schedule made: its id and its first token follow from both.
    Run {
        /// The task whose schedule made it.
        template: TaskId,
        /// The slot it was made for.
        slot: Timestamp,
    },
    /// A skill of the team.
    Skill {
        /// Its name.
        name: String,
    },
}

/// The first register of every document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u16,
    about: About,
}

impl About {
    /// The id of the document: its kind, then a hash of kind, owner and what it is about.
    pub fn doc_id(&self) -> DocId {
        let (kind, owner, about) = self.identity();
        let mut hasher = blake3::Hasher::new_derive_key("frith document id 1");
        hasher.update(&[kind, u8::from(owner.is_some())]);
        if let Some(owner) = owner {
            hasher.update(owner.as_bytes());
        }
        hasher.update(&about);
        let hash = hasher.finalize();
        let mut id = [kind; 16];
        id[1..].copy_from_slice(&hash.as_bytes()[..15]);
        DocId::from_bytes(id)
    }

    /// The machine that alone may write it, where there is one.
    pub fn owner(&self) -> Option<MachineId> {
        self.identity().1
    }

    /// Kinds are numbered for ever: 1 task, 2 place, 3 note, 4 skill, 5 thread, 6 log, 7 outbox, 8 team.
    fn identity(&self) -> (u8, Option<MachineId>, Vec<u8>) {
        match self {
            Self::Task { task } => (1, None, task.as_bytes().to_vec()),
            Self::Place { place, .. } => (2, None, place.as_bytes().to_vec()),
            Self::Thread { task, part } => (5, None, [&task.as_bytes()[..], &part.to_be_bytes()].concat()),
            Self::Log { machine, segment } => (6, Some(*machine), segment.to_be_bytes().to_vec()),
            Self::Outbox { machine, segment } => (7, Some(*machine), segment.to_be_bytes().to_vec()),
            Self::Team { team } => (8, None, team.as_bytes().to_vec()),
            Self::Skill { name } => (4, None, name.as_bytes().to_vec()),
            Self::Note { place, name, part } => (3, None, [&place.as_bytes()[..], &part.to_be_bytes(), name.as_bytes()].concat()),
            Self::Run { template, slot } => Self::Task { task: RunOf { template: *template, slot: *slot }.task() }.identity(),
        }
    }

    /// The maps that its genesis makes: a map made later by two writers would hide one side.
    fn maps(&self) -> &'static [&'static str] {
        match self {
            Self::Task { .. } | Self::Run { .. } => &[task::OPEN, task::MESSAGES, task::HISTORY],
            Self::Thread { .. } => &[task::MESSAGES],
            Self::Log { .. } | Self::Outbox { .. } => &[log::ENTRIES],
            Self::Team { .. } => &[team::MEMBERS, team::NAMES],
            Self::Place { .. } | Self::Skill { .. } => &[],
            Self::Note { .. } => &[note::VERSIONS],
        }
    }

    /// The task whose own document it is.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Task { task } => Some(*task),
            Self::Run { .. } => self.run_of().map(|run| run.task()),
            _ => None,
        }
    }

    /// The template and the slot of a run.
    pub fn run_of(&self) -> Option<RunOf> {
        match self {
            Self::Run { template, slot } => Some(RunOf { template: *template, slot: *slot }),
            _ => None,
        }
    }

    /// The token that its genesis puts.
    fn token(&self) -> Option<OpenToken> {
        self.run_of().map(|run| run.token())
    }

    /// The writer of its first change.
    pub fn genesis_writer(&self) -> Writer {
        genesis_writer(self.doc_id())
    }
}

fn genesis_writer(doc: DocId) -> Writer {
    let hash = blake3::derive_key("frith genesis actor 1", doc.as_bytes());
    Writer::from_bytes(std::array::from_fn(|i| hash[i]))
}

/// The object of a map that the genesis made.
pub(crate) fn map_in(tx: &Transaction<'_>, name: &str) -> Result<ObjId, AutomergeError> {
    match tx.get(ROOT, name)? {
        Some((Value::Object(ObjType::Map), object)) => Ok(object),
        _ => Err(AutomergeError::Fail),
    }
}

/// The key of a writer's record in a map that many write to.
pub(crate) fn record_key(writer: Writer, seq: u64) -> String {
    format!("{writer}/{seq:08x}")
}

/// Adds a writer's record to one of these maps.
pub(crate) fn add_to_map(tx: &mut Transaction<'_>, map: &str, writer: Writer, seq: u64, record: Vec<u8>) -> Result<(), AutomergeError> {
    let map = map_in(tx, map)?;
    tx.put(map, record_key(writer, seq), record)
}

/// The writer and the number in such a key.
pub(crate) fn parse_record_key(key: &str) -> Option<(Writer, u64)> {
    let (writer, seq) = key.split_once('/')?;
    Some((writer.parse().ok()?, u64::from_str_radix(seq, 16).ok()?))
}

/// A text as a document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Text {
    /// The text itself: up to [`INLINE_MOST`] bytes, and of a message all of it.
    Inline(String),
    /// A longer one, kept beside the store.
    Kept {
        /// The hash of its bytes.
        hash: BlobHash,
        /// How many bytes it has.
        length: u64,
    },
}
