//! What is attached to a task: registers at the root of its document, one for each file, whose bytes are blobs. A register
//! is written by who attaches and once more by who takes the file away, so removing wins and nothing else is lost.

use automerge::{
    AutomergeError, ROOT,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use super::{Document, parse_record_key, record_key, task::Keyed};
use crate::{
    id::{BlobHash, Writer},
    model::By,
    time::Timestamp,
};

/// How the keys of these registers begin.
const PREFIX: &str = "a/";

/// A file as the document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachmentRecord {
    /// It is attached.
    Here {
        /// Its name.
        name: String,
        /// The hash of its bytes.
        hash: BlobHash,
        /// How many bytes it has.
        size: u64,
        /// Who attached it.
        by: By,
        /// When.
        at: Timestamp,
    },
    /// It was taken away, and its bytes are pointed to no more.
    Removed {
        /// Its name.
        name: String,
        /// Who took it away.
        by: By,
        /// When.
        at: Timestamp,
    },
}

/// The files of a task, also those that were taken away.
pub fn attachments(document: &Document) -> Vec<Keyed<AttachmentRecord>> {
    let root = document.root();
    let keyed = |key: String| {
        let (writer, seq) = parse_record_key(key.strip_prefix(PREFIX)?)?;
        Some(Keyed { writer, seq, record: root.record(&key)? })
    };
    root.keys().filter_map(keyed).collect()
}

/// Writes the register of a file that this writer attached with its change of this number; `record` are the bytes of an
/// [`AttachmentRecord`].
pub(crate) fn set_attachment(tx: &mut Transaction<'_>, writer: Writer, seq: u64, record: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, format!("{PREFIX}{}", record_key(writer, seq)), record)
}
