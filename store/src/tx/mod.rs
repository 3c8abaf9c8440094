//! Writing. Each method changes documents and, in the same transaction, their raw changes, frontiers, digests, signatures and
//! every view row that follows. Nothing here decides whether a request is allowed: rules do, before.

use std::{collections::BTreeMap, num::NonZeroUsize, ops::Deref, sync::Arc};

use lru::LruCache;

use crate::{
    blobs::Blobs,
    derive::Deriver,
    docs::{About, Document, INLINE_MOST, RawChange, Text, Tip},
    error::StoreError,
    facts::{self, TipSignature, tip_bytes},
    id::{BlobHash, DocId, MachineId, Writer},
    rows::{RowsMut, Table},
    time::Timestamp,
    view::{View, unused_key},
};

mod agents;
mod attachments;
mod local;
mod log;
mod mail;
mod notes;
mod places;
mod restored;
mod schedules;
mod shared;
mod tasks;
mod trash;

pub use agents::Registration;
pub use attachments::NewAttachment;
pub use mail::NewMail;
pub use places::{NewPlace, PlaceEdit};
pub use restored::{Folders, Restored};
pub use tasks::{NewTask, TaskEdit};

/// Signs with a machine's key.
pub trait Signer: Send + Sync {
    /// The machine's Ed25519 public key.
    fn public_key(&self) -> [u8; 32];
    /// The Ed25519 signature of `message`.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

/// Who writes: this machine, in this run of its node.
#[derive(Clone)]
pub struct Identity {
    /// The machine.
    pub machine: MachineId,
    /// 8 random bytes drawn when the node started, so that a run that lost its last writes never reuses a change's number.
    pub incarnation: [u8; 8],
    /// The machine's key.
    pub signer: Arc<dyn Signer>,
}

impl Identity {
    /// The name under which this run writes.
    pub fn writer(&self) -> Writer {
        Writer::new(self.machine, self.incarnation)
    }
}

/// What the one writer keeps between transactions: its name, the documents it used last, and what the open transaction did.
pub(crate) struct Desk {
    pub identity: Identity,
    pub blobs: Arc<dyn Blobs>,
    pub documents: LruCache<DocId, Document>,
    /// Our tips that are not signed yet.
    unsigned: BTreeMap<DocId, Tip>,
    /// How many writes the transaction did.
    pub writes: u64,
}

impl Desk {
    pub fn new(identity: Identity, blobs: Arc<dyn Blobs>, documents: NonZeroUsize) -> Self {
        Self { identity, blobs, documents: LruCache::new(documents), unsigned: BTreeMap::new(), writes: 0 }
    }

    /// Forgets what a transaction did that did not become durable.
    pub fn start_over(&mut self) {
        self.documents.clear();
        self.unsigned.clear();
        self.writes = 0;
    }

    /// Signs the last change of every document that was changed.
    pub fn sign(&mut self, rows: &dyn RowsMut) -> Result<(), StoreError> {
        let writer = self.identity.writer();
        for (doc, tip) in std::mem::take(&mut self.unsigned) {
            let signature = self.identity.signer.sign(&tip_bytes(doc, writer, tip));
            facts::record_signature(rows, doc, writer, &TipSignature { seq: tip.seq, signature: signature.to_vec() })?;
        }
        Ok(())
    }
}

/// An open write transaction. It reads as a [`View`] does, and sees what it wrote.
pub struct Tx<'a> {
    view: View<'a>,
    rows: &'a dyn RowsMut,
    desk: &'a mut Desk,
    now: Timestamp,
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;
    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl<'a> Tx<'a> {
    pub(crate) fn new(rows: &'a dyn RowsMut, desk: &'a mut Desk, now: Timestamp) -> Self {
        Self { view: View::over(rows), rows, desk, now }
    }

    /// The transaction's time, given by the caller of the job.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// This machine.
    pub fn machine(&self) -> MachineId {
        self.desk.identity.machine
    }

    fn writer(&self) -> Writer {
        self.desk.identity.writer()
    }

    fn deriver(&self) -> Deriver<'_> {
        Deriver::new(self.rows, &*self.desk.blobs)
    }

    /// A document that is there already.
    fn document(&mut self, about: &About) -> Result<Document, StoreError> {
        let id = about.doc_id();
        let found = match self.desk.documents.pop(&id) {
            Some(document) => Some(document),
            None => facts::load(self.rows, id)?,
        };
        found.ok_or(StoreError::Document { doc: id, fault: crate::error::DocumentFault::Unknown })
    }

    /// A document that is made now unless it is there.
    fn document_or_new(&mut self, about: &About) -> Result<Document, StoreError> {
        let id = about.doc_id();
        if self.desk.documents.contains(&id) || facts::meta(self.rows, id)?.is_some() {
            return self.document(about);
        }
        let (document, genesis) = Document::born(about)?;
        self.record(about, &document, &[genesis])?;
        Ok(document)
    }

    /// Stores a change that was just made here.
    fn keep(&mut self, about: &About, document: &Document, change: Option<RawChange>) -> Result<(), StoreError> {
        let Some(change) = change else { return Ok(()) };
        self.desk.unsigned.insert(document.id(), change.tip);
        self.record(about, document, &[change])
    }

    fn record(&mut self, about: &About, document: &Document, changes: &[RawChange]) -> Result<(), StoreError> {
        self.desk.writes += 1;
        facts::record(self.rows, document.id(), about, changes)
    }

    /// Takes a document back for the next change to it.
    fn put_back(&mut self, document: Document) {
        self.desk.documents.put(document.id(), document);
    }

    /// Says that a change of this transaction names a blob: the time for which nothing pointed to it counts no more.
    fn named(&self, hash: BlobHash) -> Result<(), StoreError> {
        let key = unused_key(hash);
        match self.rows.get(Table::Local, key.as_slice())? {
            Some(_) => self.rows.delete(Table::Local, key.as_slice()),
            None => Ok(()),
        }
    }

    /// A text for a register. A long one is made durable beside the store first, so it is there before the change that names it.
    fn text(&self, text: &str) -> Result<Text, StoreError> {
        if text.len() <= INLINE_MOST {
            return Ok(Text::Inline(text.to_owned()));
        }
        let hash = self.desk.blobs.put(text.as_bytes())?;
        self.named(hash)?;
        Ok(Text::Kept { hash, length: text.len() as u64 })
    }
}
