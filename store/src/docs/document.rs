//! A document in memory: born, loaded, changed, read.

use std::{collections::BTreeMap, sync::Arc};

use automerge::{
    ActorId, Automerge, AutomergeError, Change, ChangeHash, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Value,
    transaction::{CommitOptions, Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{About, FORMAT, HEADER, Header, genesis_writer};
use crate::{
    error::{DocumentFault, StoreError},
    id::{DocId, Writer},
    time::Timestamp,
};

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
            about.maps().iter().try_for_each(|map| tx.put_object(ROOT, *map, ObjType::Map).map(drop))?;
            about.token().map_or(Ok(()), |token| super::task::open(tx, token))
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

    /// Shows the bytes of every value that stands at present, also of those that lost to another of the same moment.
    pub fn each_value(&self, visit: &mut dyn FnMut(&[u8])) {
        self.values_of(&ROOT, visit);
    }

    fn values_of(&self, object: &ObjId, visit: &mut dyn FnMut(&[u8])) {
        for key in self.automerge.keys(object) {
            for (value, id) in self.automerge.get_all(object, key.as_str()).unwrap_or_default() {
                match value {
                    Value::Scalar(scalar) => {
                        if let ScalarValue::Bytes(bytes) = scalar.as_ref() {
                            visit(bytes);
                        }
                    }
                    Value::Object(_) => self.values_of(&id, visit),
                }
            }
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

    /// Every value that was written to a register at once with others, in the same order everywhere; one that is no such
    /// record, as after a return to nothing, counts as absent.
    pub fn records<T: DeserializeOwned>(&self, key: &str) -> Vec<Option<T>> {
        let record = |(value, _): (Value<'_>, ObjId)| match value {
            Value::Scalar(value) => match value.into_owned() {
                ScalarValue::Bytes(bytes) => postcard::from_bytes(&bytes).ok(),
                _ => None,
            },
            Value::Object(_) => None,
        };
        self.automerge.get_all(&self.object, key).map(|values| values.into_iter().map(record).collect()).unwrap_or_default()
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
