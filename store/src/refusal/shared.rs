//! Refusals about what a workspace shares with its forks, and about what is attached to tasks: their faults as data, their
//! sentences, and what would help.

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::{id::VersionHash, model::By, time::Timestamp};

/// The most bytes a note may have.
pub const NOTE_MOST: usize = 16 * 1024;
/// The most bytes an attachment may have.
pub const ATTACHMENT_MOST: u64 = 25 * 1024 * 1024;
/// The most characters a note's name may have, its ending counted.
pub const NOTE_NAME_MOST: usize = 32;

/// Why a note cannot be called so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoteNameFault {
    /// Nothing of it can be part of a name.
    Blank,
    /// More than [`NOTE_NAME_MOST`] characters.
    TooLong,
    /// Letters outside `a` to `z`.
    Letters,
}

/// Why a file cannot be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentFault {
    /// It has no name that an attachment may have.
    Name,
    /// It has this many bytes, which are more than [`ATTACHMENT_MOST`].
    TooLarge(u64),
    /// It is not there.
    Gone,
    /// It is a folder.
    Folder,
    /// It is a FIFO, a socket or a device.
    Special,
    /// It cannot be read.
    Unreadable,
    /// It changed while it was read.
    Changed,
}

/// A version of a note that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionNamed {
    /// Its hash.
    pub version: VersionHash,
    /// Who saved it.
    pub by: By,
    /// When.
    pub at: Timestamp,
}

pub(super) fn note_name_fault(given: &str, fault: NoteNameFault) -> String {
    match fault {
        NoteNameFault::Blank => format!("`{given}` has no letter or digit that a note's name could have"),
        NoteNameFault::TooLong => format!("`{given}` makes a name of more than {NOTE_NAME_MOST} characters"),
        NoteNameFault::Letters => format!("`{given}` has letters outside `a` to `z`, which no note's name has"),
    }
}

pub(super) fn attachment_fault(name: &str, fault: AttachmentFault) -> String {
    match fault {
        AttachmentFault::Name => format!("`{name}` is no name that an attachment may have"),
        AttachmentFault::TooLarge(size) => format!("`{name}` has {size} bytes, and {} MiB are the most", ATTACHMENT_MOST >> 20),
        AttachmentFault::Gone => format!("`{name}` is not there"),
        AttachmentFault::Folder => format!("`{name}` is a folder"),
        AttachmentFault::Special => format!("`{name}` is no file but a FIFO, a socket or a device"),
        AttachmentFault::Unreadable => format!("`{name}` cannot be read"),
        AttachmentFault::Changed => format!("`{name}` changed while it was read, so nothing was attached"),
    }
}

/// Who did something, in a sentence.
pub(super) fn who(by: &By) -> String {
    match by {
        By::Person(name) => name.clone(),
        By::Agent(agent) => format!("agent {}", agent.short()),
        By::Node => "the node".into(),
    }
}

pub(super) fn versions(versions: &[VersionNamed]) -> String {
    versions.iter().map(|one| format!("{} by {}", one.version.short(), who(&one.by))).collect::<Vec<_>>().join(" and ")
}

impl Refusal {
    pub(super) fn shared_hint(&self) -> Option<String> {
        Some(match self {
            Self::BadNoteName { .. } => "a note is called by words of `a-z0-9` joined by hyphens, such as `build-steps.md`".into(),
            Self::LongNote { .. } => "split it into several notes that `memory.md` names".into(),
            Self::NoBase { note, version } => {
                format!("read it (`frith memory get {note}`), then name what was read: `--base {}`", version.version.short())
            }
            Self::SeveralVersions { note, versions } => {
                let bases: Vec<_> = versions.iter().map(|one| one.version.short()).collect();
                format!("read them (`frith memory get {note}`), then save one text for all: `--base {}`", bases.join(","))
            }
            Self::BadAttachment { fault, .. } => attachment_hint(*fault).into(),
            Self::UploadLost { .. } => "run it again".into(),
            _ => return None,
        })
    }
}

fn attachment_hint(fault: AttachmentFault) -> &'static str {
    match fault {
        AttachmentFault::Name => "give the file a name of 1 to 255 characters without control characters",
        AttachmentFault::TooLarge(_) => "put it where the task's agent can read it, and name the place in the task",
        AttachmentFault::Gone => "name a file that is there",
        AttachmentFault::Folder => "pack it into one file first: `tar -czf <name>.tar.gz <folder>`",
        AttachmentFault::Special => "copy what it gives into a file first",
        AttachmentFault::Unreadable => "make it readable for this user",
        AttachmentFault::Changed => "run it again once the file is complete",
    }
}
