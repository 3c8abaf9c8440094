//! What can break in the store, and what to do about it. Whether a request is allowed is never an error: that is a refusal.

use std::{io, path::PathBuf, sync::Arc};

use crate::{
    id::{BlobHash, DocId, MachineId},
    refusal::Refusal,
};

/// Something broke. A copy of it goes to everybody whose request was in the same batch.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The system failed to read or write.
    #[error("the store could not {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk is full; nothing of the request was written.
    #[error("the disk is full, so nothing was written")]
    Full,
    /// The store may be read only.
    #[error("the store `{}` cannot be written", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// The store was not closed cleanly and may not be written, so it cannot be mended for reading.
    #[error("the store `{}` was not closed cleanly and cannot be written, so it cannot be opened", path.display())]
    NeedsRepair {
        /// The store.
        path: PathBuf,
    },
    /// Another process has the store open.
    #[error("another process has the store `{}` open", path.display())]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// The file is no store, or it was damaged by something else than frith.
    #[error("the store `{}` is damaged: {fault}", path.display())]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What was found.
        fault: String,
    },
    /// A later frith wrote the store.
    #[error("the store has format {found}, and this frith knows formats up to {known}")]
    Newer {
        /// The format of the store.
        found: u32,
        /// The latest this program reads.
        known: u32,
    },
    /// A document cannot be read or changed.
    #[error("document {doc} cannot be used: {fault}")]
    Document {
        /// The document.
        doc: DocId,
        /// Why.
        #[source]
        fault: DocumentFault,
    },
    /// A row of a view cannot be read.
    #[error("a row of the view `{space}` cannot be read")]
    Row {
        /// Which rows.
        space: &'static str,
        /// What the decoder said.
        #[source]
        source: postcard::Error,
    },
    /// A text or an attachment that is kept beside the store is missing or damaged.
    #[error("the content {hash} is {}", if *damaged { "damaged" } else { "not on this machine" })]
    Blob {
        /// Its hash.
        hash: BlobHash,
        /// Whether it is there but has other bytes.
        damaged: bool,
    },
    /// The log of a machine is no unbroken chain.
    #[error("the log of this machine is broken at entry {number}")]
    BrokenChain {
        /// The first entry that does not follow from the one before.
        number: u64,
    },
    /// A request was refused after it had written, so the batch it was in was given up.
    #[error("a request wrote before it was refused, so nothing of its batch was written")]
    RefusedAfterWriting,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The machine's key is not the one the store was written with.
    #[error("the store belongs to another machine's key than this one, whose id is {key}")]
    OtherKey {
        /// The machine of the key.
        key: MachineId,
    },
    /// The file was closed while it was being read, after a failure to write.
    #[error("the store was closed by an earlier failure")]
    Interrupted,
}

/// Why a document cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DocumentFault {
    /// Its changes cannot be decoded or applied.
    #[error("its changes cannot be applied")]
    Changes(#[source] Arc<automerge::AutomergeError>),
    /// A stored change cannot be decoded.
    #[error("a stored change cannot be decoded")]
    Decode(#[source] Arc<automerge::LoadChangeError>),
    /// After loading it lacks a change that was written.
    #[error("a change that was written is missing from it")]
    HeadsDiffer,
    /// It is not known here.
    #[error("it is not known here")]
    Unknown,
    /// A record in it cannot be encoded or decoded.
    #[error("a record in it cannot be read")]
    Record(#[source] postcard::Error),
}

impl StoreError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Full => "free some space, then run it again".into(),
            Self::ReadOnly { path } => format!("make `{}` and its folder writable", path.display()),
            Self::NeedsRepair { path } => format!("make `{}` writable and start once more, which mends it", path.display()),
            Self::InUse { .. } => "`frith status` shows the node that uses it; `frith down` ends it".into(),
            Self::Corrupt { path, .. } => {
                format!("nothing was deleted: put a copy of `{}` in its place, or move the file away to begin anew", path.display())
            }
            Self::Newer { .. } => "update frith; the store was left as it is".into(),
            Self::Document { .. } | Self::Row { .. } | Self::BrokenChain { .. } => "`frith doctor` shows what is affected".into(),
            Self::Blob { .. } => "writing or attaching the same once more mends it; a machine that has it can bring it back".into(),
            Self::OtherKey { .. } => "put back the file `key` that was beside it; nothing was written".into(),
            Self::Interrupted => "run it again".into(),
            Self::Closed => "start the node again".into(),
            Self::Io { .. } => "`frith doctor` looks at the disk".into(),
            Self::RefusedAfterWriting => return None,
        })
    }

    /// What an error of the system means while `doing` something.
    pub fn from_io(doing: &'static str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io { doing, source: Arc::new(error) },
        }
    }
}

/// Why a request has no answer: it was refused, or something broke.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// Understood, and no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Something broke.
    #[error(transparent)]
    Broken(#[from] StoreError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Refused(refusal)
    }
}
