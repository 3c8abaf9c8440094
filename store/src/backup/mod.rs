//! Backups: a whole store in one file, as it was at one moment, and a store made from one.
//!
//! A file is: a mark, a version, a header in clear, one packed stream of records, figures, and a hash of all before it. It
//! holds documents, what this machine alone keeps of people's doing, long texts and attachments, and the configuration. It
//! never holds the machine's key: a restored store goes on under a new one, so that no two nodes ever share one. Views are
//! not in it, since they follow from the rest.

use std::{io, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{error::StoreError, id::MachineId, invariants::Violation, refusal::Refusal, text::PathText, time::Timestamp};

mod read;
mod restore;
mod write;

pub use read::Reader;
pub use restore::{Here, restore};
pub use write::{Extras, write_file};

/// The version this program writes. A reader refuses a later one.
pub const VERSION: u32 = 1;

/// The first bytes of a backup. The line ends tell a file that was copied as text.
const MARK: &[u8; 16] = b"frith backup\r\n\x1a\n";
/// The bytes of the figures and the hash at the end.
const TAIL: u64 = 8 * 5 + 32;
/// The most bytes of a header.
const HEADER_MOST: u32 = 64 * 1024;
/// The most bytes of a row's key.
const KEY_MOST: u32 = 64 * 1024;
/// The most bytes of a row's value, of a text or an attachment.
const VALUE_MOST: u32 = 256 * 1024 * 1024;

/// What a backup says of itself, in clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// When it was made: it holds what was true then.
    pub made: Timestamp,
    /// The version of frith that made it.
    pub frith: String,
    /// The machine that made it.
    pub machine: MachineId,
    /// Its name.
    pub machine_name: String,
    /// The format of the rows.
    pub format: u32,
    /// What is in it, counted.
    pub contents: Contents,
}

/// What a backup holds, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Workspaces, archived and deleted ones too, without the supervisor.
    pub workspaces: u64,
    /// Forks, merged ones too.
    pub forks: u64,
    /// Tasks.
    pub tasks: u64,
    /// Documents.
    pub documents: u64,
}

/// What stands at the end of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// How many rows it has.
    pub rows: u64,
    /// How many long texts and attachments.
    pub files: u64,
    /// How many of them were damaged and are not in it.
    pub left_out: u64,
    /// How many bytes its records have unpacked.
    pub unpacked: u64,
    /// How many bytes stand before the figures.
    length: u64,
}

/// The kinds of records, as their first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Nothing follows.
    End = 0,
    /// A row of a document.
    Fact = 1,
    /// A row that only this machine has.
    Local = 2,
    /// A long text or an attachment.
    File = 3,
    /// The configuration.
    Config = 4,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        [Self::End, Self::Fact, Self::Local, Self::File, Self::Config].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Why a backup was not written or not restored. What is there already stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Understood, and no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The store broke.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be read or written.
    #[error("`{path}` could not be {verb}")]
    Io {
        /// The file.
        path: PathText,
        /// What was tried.
        verb: &'static str,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// It is something else.
    #[error("it is no backup of frith")]
    Foreign,
    /// A later frith made it.
    #[error("it has version {found}, and this frith reads versions up to {VERSION}")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Its end is missing.
    #[error("it is cut short")]
    Cut,
    /// Its bytes are not those that were written.
    #[error("it is damaged: {fault}")]
    Damaged {
        /// What was found.
        fault: &'static str,
    },
    /// What it holds contradicts itself.
    #[error("what it holds breaks a rule of the store: {}", first.found)]
    Broken {
        /// How many rules.
        count: usize,
        /// The first of them.
        first: Violation,
    },
}

impl From<Refusal> for BackupError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl BackupError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Refused(refusal) => return refusal.hint(),
            Self::Store(error) => return error.hint(),
            Self::Io { source, verb: "written", .. } if source.kind() == io::ErrorKind::NotFound => "its folder has to be there".into(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => "free some space, then run it again".into(),
            Self::Io { .. } => return None,
            Self::Foreign => "`frith backup <file>` makes one".into(),
            Self::Newer { .. } => "update frith".into(),
            Self::Cut | Self::Damaged { .. } => "copy it once more from where it was made, or take an older one".into(),
            Self::Broken { .. } => "take an older one; nothing was changed".into(),
        })
    }
}

/// A refusal or an error about `path`.
fn io_error(path: &std::path::Path, verb: &'static str) -> impl Fn(io::Error) -> BackupError + use<> {
    let path = PathText::from(path);
    move |source| BackupError::Io { path: path.clone(), verb, source: Arc::new(source) }
}
