//! Documents: the replicated state, one small Automerge document for each task, place, thread part, log segment and team.
//!
//! A document begins with a genesis change that follows from what it is about, so two machines that make the same one make
//! the same bytes. Nothing here reads a clock or draws randomness: who writes and when are handed in.

use std::{collections::BTreeMap, sync::Arc};

use automerge::{
    ActorId, Automerge, AutomergeError, Change, ChangeHash, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Value,
    transaction::{CommitOptions, Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::{DocumentFault, StoreError},
    id::{BlobHash, DocId, MachineId, PlaceId, TaskId, TeamId, Writer},
    model::PlaceKind,
    time::Timestamp,
};

pub mod log;
pub mod outbox;
pub mod place;
pub mod task;
pub mod team;

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
        }
    }

    /// The maps that its genesis makes: a map made later by two writers would hide one side.
    fn maps(&self) -> &'static [&'static str] {
        match self {
            Self::Task { .. } => &[task::OPEN, task::MESSAGES, task::HISTORY],
            Self::Thread { .. } => &[task::MESSAGES],
            Self::Log { .. } | Self::Outbox { .. } => &[log::ENTRIES],
            Self::Team { .. } => &[team::MEMBERS, team::NAMES],
            Self::Place { .. } => &[],
        }
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

/// The last change of one writer in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// Its number: the writer's changes in a document count from 1.
    pub seq: u64,
    /// Its hash, which covers all the writer's changes before it.
    pub hash: [u8; 32],
}

/// A change as it is stored and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawChange {
    /// Who wrote it.
    pub writer: Writer,
    /// Its number and its hash.
    pub tip: Tip,
    /// Its bytes, uncompressed.
    pub bytes: Vec<u8>,
}

impl RawChange {
    fn of(change: &Change) -> Result<Self, DocumentFault> {
        let writer: [u8; 16] = change.actor_id().to_bytes().try_into().map_err(|_| DocumentFault::HeadsDiffer)?;
        let tip = Tip { seq: change.seq(), hash: change.hash().0 };
        Ok(Self { writer: Writer::from_bytes(writer), tip, bytes: change.raw_bytes().to_vec() })
    }
}

/// A document in memory.
#[derive(Debug, Clone)]
pub struct Document {
    id: DocId,
    automerge: Automerge,
    tips: BTreeMap<Writer, Tip>,
}

/// What is stored of a document.
#[derive(Debug, Default)]
pub struct Stored {
    /// A compacted beginning, if there is one.
    pub snapshot: Option<Vec<u8>>,
    /// The changes after it.
    pub changes: Vec<Vec<u8>>,
    /// The last change of each writer, all of which must be there after loading.
    pub tips: BTreeMap<Writer, Tip>,
}

impl Document {
    /// A document with nothing but its genesis, and that change.
    ///
    /// # Errors
    /// Automerge refuses the change.
    pub fn born(about: &About) -> Result<(Self, RawChange), StoreError> {
        let id = about.doc_id();
        let writer = genesis_writer(id);
        let mut document = Self { id, automerge: Automerge::new().with_actor(actor(writer)), tips: BTreeMap::new() };
        let header = document.encode(&Header { format: FORMAT, about: about.clone() })?;
        let change = document.edit(writer, Timestamp::default(), |tx, _| {
            tx.put(ROOT, HEADER, header)?;
            about.maps().iter().try_for_each(|map| tx.put_object(ROOT, *map, ObjType::Map).map(drop))
        })?;
        let change = change.ok_or(StoreError::Document { doc: id, fault: DocumentFault::HeadsDiffer })?;
        Ok((document, change))
    }

    /// The document whose parts were stored.
    ///
    /// # Errors
    /// A part cannot be decoded or applied, or a change that was written is missing afterwards.
    pub fn load(id: DocId, stored: Stored) -> Result<Self, StoreError> {
        let fail = |fault| StoreError::Document { doc: id, fault };
        let mut automerge = match &stored.snapshot {
            Some(bytes) => Automerge::load(bytes).map_err(|error| fail(DocumentFault::Changes(Arc::new(error))))?,
            None => Automerge::new(),
        };
        automerge.set_actor(actor(genesis_writer(id)));
        let mut document = Self { id, automerge, tips: BTreeMap::new() };
        document.apply(stored.changes.iter().map(Vec::as_slice))?;
        document.tips = stored.tips;
        let there = |tip: &Tip| document.automerge.get_change_meta_by_hash(&ChangeHash(tip.hash)).is_some();
        if !document.tips.values().all(there) {
            return Err(fail(DocumentFault::HeadsDiffer));
        }
        Ok(document)
    }

    /// Its id.
    pub fn id(&self) -> DocId {
        self.id
    }

    /// The last change of each writer.
    pub fn tips(&self) -> &BTreeMap<Writer, Tip> {
        &self.tips
    }

    /// What it is about.
    ///
    /// # Errors
    /// It has no genesis, or one of a later format.
    pub fn about(&self) -> Result<About, StoreError> {
        let header: Option<Header> = self.root().record(HEADER);
        let known = header.filter(|header| header.format == FORMAT && header.about.doc_id() == self.id);
        known.map(|header| header.about).ok_or(StoreError::Document { doc: self.id, fault: DocumentFault::Unknown })
    }

    /// The number the next change of `writer` gets.
    pub fn next_seq(&self, writer: Writer) -> u64 {
        self.tips.get(&writer).map_or(0, |tip| tip.seq) + 1
    }

    /// Makes one change. `work` is told the number the change gets; when it changes nothing, there is no change.
    ///
    /// # Errors
    /// `work` fails; then the document is as it was.
    pub fn edit(
        &mut self,
        writer: Writer,
        at: Timestamp,
        work: impl FnOnce(&mut Transaction<'_>, u64) -> Result<(), AutomergeError>,
    ) -> Result<Option<RawChange>, StoreError> {
        let seq = self.next_seq(writer);
        self.automerge.set_actor(actor(writer));
        let mut transaction = self.automerge.transaction();
        if let Err(error) = work(&mut transaction, seq) {
            transaction.rollback();
            return Err(self.fault(DocumentFault::Changes(Arc::new(error))));
        }
        let (hash, _) = transaction.commit_with(CommitOptions::default().with_time(at.seconds()));
        let Some(hash) = hash else { return Ok(None) };
        let change = self.automerge.get_change_by_hash(&hash).ok_or_else(|| self.fault(DocumentFault::HeadsDiffer))?;
        let change = RawChange::of(&change).map_err(|fault| self.fault(fault))?;
        self.tips.insert(writer, change.tip);
        Ok(Some(change))
    }

    /// Applies changes made elsewhere, in any order and any number of times. What a missing change stands before waits for it.
    ///
    /// # Errors
    /// A change cannot be decoded or applied.
    pub fn apply<'a>(&mut self, changes: impl Iterator<Item = &'a [u8]>) -> Result<(), StoreError> {
        let decode = |bytes| Change::try_from(bytes).map_err(|error| self.fault(DocumentFault::Decode(Arc::new(error))));
        let changes = changes.map(decode).collect::<Result<Vec<_>, _>>()?;
        for change in &changes {
            let raw = RawChange::of(change).map_err(|fault| self.fault(fault))?;
            let known = self.tips.entry(raw.writer).or_insert(raw.tip);
            if known.seq < raw.tip.seq {
                *known = raw.tip;
            }
        }
        self.automerge.apply_changes(changes).map_err(|error| self.fault(DocumentFault::Changes(Arc::new(error))))
    }

    /// The whole document in one piece, checked by loading it again.
    ///
    /// # Errors
    /// What was saved does not load as the same document.
    pub fn snapshot(&self) -> Result<Vec<u8>, StoreError> {
        let bytes = self.automerge.save_and_verify().map_err(|error| self.fault(DocumentFault::Changes(Arc::new(error))))?;
        let again = Automerge::load(&bytes).map_err(|error| self.fault(DocumentFault::Changes(Arc::new(error))))?;
        if again.get_heads() != self.automerge.get_heads() {
            return Err(self.fault(DocumentFault::HeadsDiffer));
        }
        Ok(bytes)
    }

    /// Every change, in an order in which each follows what it depends on.
    ///
    /// # Errors
    /// A writer's name is none of ours.
    pub fn changes(&self) -> Result<Vec<RawChange>, StoreError> {
        self.automerge.get_changes(&[]).iter().map(|change| RawChange::of(change).map_err(|fault| self.fault(fault))).collect()
    }

    /// Every change taken apart into its operations, for what checks a document without trusting its state.
    pub fn decoded(&self) -> Vec<automerge::ExpandedChange> {
        self.automerge.get_changes(&[]).iter().map(Change::decode).collect()
    }

    /// The registers at its root.
    pub fn root(&self) -> Registers<'_> {
        Registers { automerge: &self.automerge, object: ROOT }
    }

    /// The entries of one of the maps its genesis made.
    pub fn map(&self, name: &str) -> Option<Registers<'_>> {
        match self.automerge.get(ROOT, name) {
            Ok(Some((Value::Object(ObjType::Map), object))) => Some(Registers { automerge: &self.automerge, object }),
            _ => None,
        }
    }

    /// The bytes of a record for one of its registers.
    ///
    /// # Errors
    /// The record cannot be encoded.
    pub fn encode<T: Serialize>(&self, record: &T) -> Result<Vec<u8>, StoreError> {
        postcard::to_stdvec(record).map_err(|error| self.fault(DocumentFault::Record(error)))
    }

    fn fault(&self, fault: DocumentFault) -> StoreError {
        StoreError::Document { doc: self.id, fault }
    }
}

fn actor(writer: Writer) -> ActorId {
    ActorId::from(&writer.as_bytes()[..])
}

/// Registers of one map, read by key. A register that holds something else than expected counts as absent: a later frith, or
/// somebody's fault, may have put it there.
pub struct Registers<'a> {
    automerge: &'a Automerge,
    object: ObjId,
}

impl Registers<'_> {
    /// A text.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.scalar(key)? {
            ScalarValue::Str(text) => Some(text.to_string()),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.scalar(key)? {
            ScalarValue::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Yes or no.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.scalar(key)? {
            ScalarValue::Boolean(flag) => Some(flag),
            _ => None,
        }
    }

    /// Bytes.
    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        match self.scalar(key)? {
            ScalarValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The 16 bytes of an id.
    pub fn id(&self, key: &str) -> Option<[u8; 16]> {
        self.bytes(key)?.try_into().ok()
    }

    /// A record.
    pub fn record<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        postcard::from_bytes(&self.bytes(key)?).ok()
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = String> {
        self.automerge.keys(&self.object)
    }

    fn scalar(&self, key: &str) -> Option<ScalarValue> {
        match self.automerge.get(&self.object, key).ok()?? {
            (Value::Scalar(value), _) => Some(value.into_owned()),
            (Value::Object(_), _) => None,
        }
    }
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

/// The writer and the number in such a key.
pub(crate) fn parse_record_key(key: &str) -> Option<(Writer, u64)> {
    let (writer, seq) = key.split_once('/')?;
    Some((writer.parse().ok()?, u64::from_str_radix(seq, 16).ok()?))
}

/// A text as a document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Text {
    /// The text itself, up to [`INLINE_MOST`] bytes.
    Inline(String),
    /// A longer one, kept beside the store.
    Kept {
        /// The hash of its bytes.
        hash: BlobHash,
        /// How many bytes it has.
        length: u64,
    },
}
