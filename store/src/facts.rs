//! Documents as rows: what is known of each, its changes in (writer, number) order, its frontier, the signature of each
//! writer's tip, and digests that are kept up change by change, so that two machines compare without loading anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use serde::{Deserialize, Serialize};

use crate::{
    docs::{About, Document, RawChange, Sought, Stored, Tip, log::ChainEnd},
    error::{DocumentFault, StoreError},
    id::{DocId, MachineId, Writer},
    rows::{Key, Rows, RowsMut, Scan, Table, decode, get_as, id_at, put_as, scan_prefix},
    time::Timestamp,
};

/// Which rows: the first byte of a key. A space is never given another meaning; a new one gets a new byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Space {
    /// document → [`DocumentMeta`]
    Meta = 1,
    /// document, writer, number → the change's bytes
    Change,
    /// document, writer → [`Tip`]
    Frontier,
    /// document, writer → [`TipSignature`]
    Signature,
    /// document → a compacted beginning
    Snapshot,
    /// bucket, document → digest
    Digest,
    /// bucket → digest
    Bucket,
    /// kind, machine → [`ChainEnd`]
    Chain,
    /// document → nothing: it waits for compaction
    Long,
    /// nothing → how many documents there are
    Count,
    /// document → when it was purged
    Tombstone,
    /// kind, machine, segment that was buried → [`Beyond`]
    Beyond,
}

impl Space {
    fn of(self, doc: DocId) -> Key {
        Key::new(self as u8).bytes(doc.as_bytes())
    }

    fn bucket(self, doc: DocId) -> Key {
        Key::new(self as u8).byte(bucket_of(doc))
    }
}

/// How many changes a document may have beside its compacted beginning before it waits for compaction.
pub const LOOSE_MOST: u32 = 64;

/// What is known of a document without loading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMeta {
    /// What it is about.
    pub about: About,
    /// How many changes it has, its genesis among them.
    pub changes: u64,
    /// How many of them stand beside its compacted beginning.
    pub loose: u32,
}

/// A machine's signature of the last change of one of its writers, which covers all that writer's changes before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TipSignature {
    /// The number of the change.
    pub seq: u64,
    /// The Ed25519 signature over [`tip_bytes`].
    pub signature: Vec<u8>,
}

/// What the signature of a tip covers.
pub fn tip_bytes(doc: DocId, writer: Writer, tip: Tip) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("frith tip signature 1");
    hasher.update(doc.as_bytes());
    hasher.update(writer.as_bytes());
    hasher.update(&tip.seq.to_be_bytes());
    hasher.update(&tip.hash);
    *hasher.finalize().as_bytes()
}

/// What is known of a document.
///
/// # Errors
/// The rows cannot be read.
pub fn meta(rows: &dyn Rows, doc: DocId) -> Result<Option<DocumentMeta>, StoreError> {
    get_as(rows, Table::Facts, &Space::Meta.of(doc), "documents")
}

/// Every document that is there, by id: not those that were purged.
///
/// # Errors
/// The rows cannot be read.
pub fn documents(rows: &dyn Rows) -> Result<Vec<(DocId, DocumentMeta)>, StoreError> {
    let mut documents = Vec::new();
    scan_prefix(rows, Table::Facts, &Key::new(Space::Meta as u8), &mut |key, value| {
        documents.push((DocId::from_bytes(id_at(key, 1, "documents")?), decode(value, "documents")?));
        Ok(Scan::On)
    })?;
    let buried: BTreeSet<DocId> = buried(rows)?.into_iter().collect();
    documents.retain(|(doc, _)| !buried.contains(doc));
    Ok(documents)
}

/// The documents that were purged, by id.
///
/// # Errors
/// The rows cannot be read.
pub fn buried(rows: &dyn Rows) -> Result<Vec<DocId>, StoreError> {
    let mut buried = Vec::new();
    scan_prefix(rows, Table::Facts, &Key::new(Space::Tombstone as u8), &mut |key, _| {
        buried.push(DocId::from_bytes(id_at(key, 1, "tombstones")?));
        Ok(Scan::On)
    })?;
    Ok(buried)
}

/// When a document was purged, if it was.
///
/// # Errors
/// The rows cannot be read.
pub fn tombstone(rows: &dyn Rows, doc: DocId) -> Result<Option<Timestamp>, StoreError> {
    get_as(rows, Table::Facts, &Space::Tombstone.of(doc), "tombstones")
}

/// Takes a document's content away for good. What it was about, its frontier, signatures and digest stay as its tombstone,
/// so a peer that still has it has nothing to tell, and only what is new can bring it back.
///
/// # Errors
/// The rows cannot be read or written.
pub fn bury(rows: &dyn RowsMut, doc: DocId, at: Timestamp) -> Result<(), StoreError> {
    if meta(rows, doc)?.is_none() || tombstone(rows, doc)?.is_some() {
        return Ok(());
    }
    let mut keys = vec![Space::Snapshot.of(doc).as_slice().to_vec(), Space::Long.of(doc).as_slice().to_vec()];
    scan_prefix(rows, Table::Facts, &Space::Change.of(doc), &mut |key, _| {
        keys.push(key.to_vec());
        Ok(Scan::On)
    })?;
    keys.iter().try_for_each(|key| rows.delete(Table::Facts, key))?;
    put_as(rows, Table::Facts, &Key::new(Space::Count as u8), "documents", &document_count(rows)?.saturating_sub(1))?;
    put_as(rows, Table::Facts, &Space::Tombstone.of(doc), "tombstones", &at)
}

/// How many documents there are.
///
/// # Errors
/// The rows cannot be read.
pub fn document_count(rows: &dyn Rows) -> Result<u64, StoreError> {
    Ok(get_as(rows, Table::Facts, &Key::new(Space::Count as u8), "documents")?.unwrap_or_default())
}

/// Loads a document, checked to have every change that was written.
///
/// # Errors
/// The rows cannot be read, or the document cannot be loaded from them.
pub fn load(rows: &dyn Rows, doc: DocId) -> Result<Option<Document>, StoreError> {
    if meta(rows, doc)?.is_none() || tombstone(rows, doc)?.is_some() {
        return Ok(None);
    }
    let mut changes = Vec::new();
    scan_prefix(rows, Table::Facts, &Space::Change.of(doc), &mut |_, value| {
        changes.push(value.to_vec());
        Ok(Scan::On)
    })?;
    let snapshot = rows.get(Table::Facts, Space::Snapshot.of(doc).as_slice())?;
    Document::load(doc, Stored { snapshot, changes, tips: frontier(rows, doc)? }).map(Some)
}

/// Whether a document may name one of these blobs, told without loading it: one of its changes has the bytes of its hash, or
/// there is a compacted beginning, of which this cannot be told.
///
/// # Errors
/// The rows cannot be read.
pub fn may_name(rows: &dyn Rows, doc: DocId, sought: &Sought) -> Result<bool, StoreError> {
    if rows.get(Table::Facts, Space::Snapshot.of(doc).as_slice())?.is_some() {
        return Ok(true);
    }
    let mut found = false;
    scan_prefix(rows, Table::Facts, &Space::Change.of(doc), &mut |_, value| {
        found = sought.is_in(value);
        Ok(if found { Scan::Enough } else { Scan::On })
    })?;
    Ok(found)
}

/// The last change of each writer of a document.
///
/// # Errors
/// The rows cannot be read.
pub fn frontier(rows: &dyn Rows, doc: DocId) -> Result<BTreeMap<Writer, Tip>, StoreError> {
    let mut tips = BTreeMap::new();
    scan_prefix(rows, Table::Facts, &Space::Frontier.of(doc), &mut |key, value| {
        tips.insert(Writer::from_bytes(id_at(key, 17, "frontiers")?), decode(value, "frontiers")?);
        Ok(Scan::On)
    })?;
    Ok(tips)
}

/// The signature of a writer's last change in a document. The genesis has none: it follows from what the document is about.
///
/// # Errors
/// The rows cannot be read.
pub fn signature(rows: &dyn Rows, doc: DocId, writer: Writer) -> Result<Option<TipSignature>, StoreError> {
    get_as(rows, Table::Facts, &Space::Signature.of(doc).bytes(writer.as_bytes()), "signatures")
}

/// The changes of one writer of a document after number `after`, in order. Those that were compacted are not among them.
///
/// # Errors
/// The rows cannot be read.
pub fn changes_after(rows: &dyn Rows, doc: DocId, writer: Writer, after: u64) -> Result<Vec<Vec<u8>>, StoreError> {
    let prefix = Space::Change.of(doc).bytes(writer.as_bytes());
    let from = prefix.clone().number(after);
    let mut changes = Vec::new();
    rows.scan(Table::Facts, Bound::Excluded(from.as_slice()), &prefix.end(), &mut |_, value| {
        changes.push(value.to_vec());
        Ok(Scan::On)
    })?;
    Ok(changes)
}

/// The digest of a bucket: equal where the frontiers of all its documents are.
///
/// # Errors
/// The rows cannot be read.
pub fn bucket_digest(rows: &dyn Rows, bucket: u8) -> Result<[u8; 32], StoreError> {
    Ok(get_as(rows, Table::Facts, &Key::new(Space::Bucket as u8).byte(bucket), "digests")?.unwrap_or_default())
}

/// The documents of a bucket with their digests, by id.
///
/// # Errors
/// The rows cannot be read.
pub fn bucket(rows: &dyn Rows, bucket: u8) -> Result<Vec<(DocId, [u8; 32])>, StoreError> {
    let mut digests = Vec::new();
    scan_prefix(rows, Table::Facts, &Key::new(Space::Digest as u8).byte(bucket), &mut |key, value| {
        digests.push((DocId::from_bytes(id_at(key, 2, "digests")?), decode(value, "digests")?));
        Ok(Scan::On)
    })?;
    Ok(digests)
}

/// The digest of a document; zeros when it is not known.
///
/// # Errors
/// The rows cannot be read.
pub fn digest(rows: &dyn Rows, doc: DocId) -> Result<[u8; 32], StoreError> {
    Ok(get_as(rows, Table::Facts, &Space::Digest.bucket(doc).bytes(doc.as_bytes()), "digests")?.unwrap_or_default())
}

/// The bucket of a document: the first byte of its hash.
pub fn bucket_of(doc: DocId) -> u8 {
    doc.as_bytes()[1]
}

/// What one writer's tip adds to the digest of its document, and so to that of its bucket: digests are sums of these without
/// carry, so a new tip changes them without the others being read.
pub fn tip_digest(doc: DocId, writer: Writer, tip: Tip) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("frith tip digest 1");
    hasher.update(doc.as_bytes());
    hasher.update(writer.as_bytes());
    hasher.update(&tip.seq.to_be_bytes());
    hasher.update(&tip.hash);
    *hasher.finalize().as_bytes()
}

/// Records changes that a document got, in order: their bytes, the frontier and the digests.
///
/// # Errors
/// The rows cannot be read or written.
pub fn record(rows: &dyn RowsMut, doc: DocId, about: &About, changes: &[RawChange]) -> Result<(), StoreError> {
    let mut meta = match meta(rows, doc)? {
        Some(meta) => meta,
        None => {
            put_as(rows, Table::Facts, &Key::new(Space::Count as u8), "documents", &(document_count(rows)? + 1))?;
            DocumentMeta { about: about.clone(), changes: 0, loose: 0 }
        }
    };
    let mut delta = [0; 32];
    for change in changes {
        let of_writer = |space: Space| space.of(doc).bytes(change.writer.as_bytes());
        let old: Option<Tip> = get_as(rows, Table::Facts, &of_writer(Space::Frontier), "frontiers")?;
        if let Some(old) = old {
            add(&mut delta, &tip_digest(doc, change.writer, old));
        }
        add(&mut delta, &tip_digest(doc, change.writer, change.tip));
        rows.put(Table::Facts, of_writer(Space::Change).number(change.tip.seq).as_slice(), &change.bytes)?;
        put_as(rows, Table::Facts, &of_writer(Space::Frontier), "frontiers", &change.tip)?;
        meta.changes += 1;
        meta.loose += 1;
    }
    for key in [Space::Digest.bucket(doc).bytes(doc.as_bytes()), Space::Bucket.bucket(doc)] {
        let mut digest: [u8; 32] = get_as(rows, Table::Facts, &key, "digests")?.unwrap_or_default();
        add(&mut digest, &delta);
        put_as(rows, Table::Facts, &key, "digests", &digest)?;
    }
    if meta.loose > LOOSE_MOST {
        rows.put(Table::Facts, Space::Long.of(doc).as_slice(), &[])?;
    }
    put_as(rows, Table::Facts, &Space::Meta.of(doc), "documents", &meta)
}

/// Records the signature of a writer's tip.
///
/// # Errors
/// The row cannot be written.
pub fn record_signature(rows: &dyn RowsMut, doc: DocId, writer: Writer, signature: &TipSignature) -> Result<(), StoreError> {
    put_as(rows, Table::Facts, &Space::Signature.of(doc).bytes(writer.as_bytes()), "signatures", signature)
}

/// The documents that wait for compaction, up to `most`.
///
/// # Errors
/// The rows cannot be read.
pub fn long_documents(rows: &dyn Rows, most: usize) -> Result<Vec<DocId>, StoreError> {
    let mut long = Vec::new();
    scan_prefix(rows, Table::Facts, &Key::new(Space::Long as u8), &mut |key, _| {
        if long.len() == most {
            return Ok(Scan::Enough);
        }
        long.push(DocId::from_bytes(id_at(key, 1, "documents")?));
        Ok(Scan::On)
    })?;
    Ok(long)
}

/// Puts a document's changes into one piece, checked to load as the same document, in the place of the loose ones. A document
/// that fails the check keeps its changes and waits no longer.
///
/// # Errors
/// The rows cannot be read or written.
pub fn compact(rows: &dyn RowsMut, doc: DocId) -> Result<Result<(), StoreError>, StoreError> {
    rows.delete(Table::Facts, Space::Long.of(doc).as_slice())?;
    let saved = load(rows, doc).and_then(|document| match document {
        Some(document) => document.snapshot(),
        None => Err(StoreError::Document { doc, fault: DocumentFault::Unknown }),
    });
    let (snapshot, Some(mut meta)) = (saved, meta(rows, doc)?) else { return Ok(Ok(())) };
    let snapshot = match snapshot {
        Ok(snapshot) => snapshot,
        Err(error @ StoreError::Document { .. }) => return Ok(Err(error)),
        Err(error) => return Err(error),
    };
    let mut keys = Vec::new();
    scan_prefix(rows, Table::Facts, &Space::Change.of(doc), &mut |key, _| {
        keys.push(key.to_vec());
        Ok(Scan::On)
    })?;
    rows.put(Table::Facts, Space::Snapshot.of(doc).as_slice(), &snapshot)?;
    for key in keys {
        rows.delete(Table::Facts, &key)?;
    }
    meta.loose = 0;
    put_as(rows, Table::Facts, &Space::Meta.of(doc), "documents", &meta)?;
    Ok(Ok(()))
}

/// The two chains a machine writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Chain {
    /// Its log.
    Log = 1,
    /// Its outbox.
    Outbox = 2,
}

/// Where a machine's chain ends.
///
/// # Errors
/// The rows cannot be read.
pub fn chain_end(rows: &dyn Rows, chain: Chain, machine: MachineId) -> Result<ChainEnd, StoreError> {
    Ok(get_as(rows, Table::Facts, &chain_key(chain, machine), "chains")?.unwrap_or_default())
}

/// Records where a machine's chain ends.
///
/// # Errors
/// The row cannot be written.
pub fn record_chain_end(rows: &dyn RowsMut, chain: Chain, machine: MachineId, end: ChainEnd) -> Result<(), StoreError> {
    put_as(rows, Table::Facts, &chain_key(chain, machine), "chains", &end)
}

/// Where a chain goes on behind a segment that was buried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beyond {
    /// Where the chain ended with the segment.
    pub end: ChainEnd,
    /// When the segment's last entry was written.
    pub at: Timestamp,
}

/// Where a chain goes on behind a segment, if that was buried.
///
/// # Errors
/// The rows cannot be read.
pub fn beyond(rows: &dyn Rows, chain: Chain, machine: MachineId, segment: u64) -> Result<Option<Beyond>, StoreError> {
    get_as(rows, Table::Facts, &beyond_key(chain, machine, segment), "chains")
}

/// Records where a chain goes on behind a segment that is about to be buried.
///
/// # Errors
/// The row cannot be written.
pub fn record_beyond(rows: &dyn RowsMut, chain: Chain, machine: MachineId, segment: u64, beyond: &Beyond) -> Result<(), StoreError> {
    put_as(rows, Table::Facts, &beyond_key(chain, machine, segment), "chains", beyond)
}

fn beyond_key(chain: Chain, machine: MachineId, segment: u64) -> Key {
    Key::new(Space::Beyond as u8).byte(chain as u8).bytes(machine.as_bytes()).number(segment)
}

/// The beginning of a segment of a chain: where the one before it ended, over those that were buried. None when one between
/// was neither followed nor buried.
///
/// # Errors
/// The rows cannot be read.
pub fn skip_buried(rows: &dyn Rows, chain: Chain, machine: MachineId, end: ChainEnd, segment: u64) -> Result<Option<ChainEnd>, StoreError> {
    let mut end = end;
    while end.segment() < segment {
        match beyond(rows, chain, machine, end.segment())? {
            Some(beyond) => end = beyond.end,
            None => return Ok(None),
        }
    }
    Ok(Some(end))
}

fn chain_key(chain: Chain, machine: MachineId) -> Key {
    Key::new(Space::Chain as u8).byte(chain as u8).bytes(machine.as_bytes())
}

fn add(sum: &mut [u8; 32], part: &[u8; 32]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum ^= part);
}
