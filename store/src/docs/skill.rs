//! A skill's document: one register with its present version. Its files are blobs.

use automerge::{
    AutomergeError, ROOT,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use super::{About, Document};
use crate::{
    error::StoreError,
    model::{By, Skill, SkillFile},
    time::Timestamp,
};

const SKILL: &str = "skill";

/// A version of a skill as the document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkillRecord {
    /// It is there.
    Here {
        /// When it is of use.
        description: String,
        /// Its files, by path.
        files: Vec<SkillFile>,
        /// Who added it.
        by: By,
        /// When.
        at: Timestamp,
    },
    /// It was removed.
    Removed {
        /// Who removed it.
        by: By,
        /// When.
        at: Timestamp,
    },
}

/// The skill of a document, while it is there.
///
/// # Errors
/// The document has no genesis.
pub fn skill(document: &Document) -> Result<Option<Skill>, StoreError> {
    let About::Skill { name } = document.about()? else { return Ok(None) };
    Ok(match document.root().record(SKILL) {
        Some(SkillRecord::Here { description, files, by, at }) => Some(Skill { name, description, files, by, at }),
        Some(SkillRecord::Removed { .. }) | None => None,
    })
}

/// `record` are the bytes of a [`SkillRecord`].
pub(crate) fn set_skill(tx: &mut Transaction<'_>, record: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, SKILL, record)
}
