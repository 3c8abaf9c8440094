//! Refusals about what a workspace shares with its forks, and about what is attached to tasks: their faults as data, their
//! sentences, and what would help.

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::{id::VersionHash, model::By, time::Timestamp};

/// The most bytes a note may have.
pub const NOTE_MOST: usize = 16 * 1024;
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
            _ => return None,
        })
    }
}
