//! Notes: their versions that none replaces. Each part of a note says what it has, and reading puts the parts together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{BodyRow, Space, View};
use crate::{
    error::StoreError,
    id::{MachineId, PlaceId, VersionHash},
    model::{By, NoteHead, NoteInfo, NoteVersion},
    rows::{Key, Scan, Table, decode, scan_prefix},
    time::Timestamp,
};

/// What one part of a note says: its own versions that none of its own replaces, and what it replaces of other parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotePartRow {
    pub ends: Vec<VersionRow>,
    pub outside: BTreeSet<VersionHash>,
}

/// A version with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionRow {
    pub version: VersionHash,
    pub by: By,
    pub machine: MachineId,
    pub at: Timestamp,
    pub bytes: Option<u64>,
    pub text: Option<BodyRow>,
}

/// The key under which the parts of a note stand.
pub(crate) fn note_key(place: PlaceId, name: &str) -> Key {
    Space::NotePart.key().bytes(place.as_bytes()).bytes(name.as_bytes()).byte(0)
}

impl View<'_> {
    /// The notes of a workspace with what counts of each, by name; also those that were deleted.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn notes(&self, place: PlaceId) -> Result<Vec<NoteInfo>, StoreError> {
        let prefix = Space::NotePart.key().bytes(place.as_bytes());
        let skip = prefix.as_slice().len();
        let mut parts: BTreeMap<Vec<u8>, Vec<NotePartRow>> = BTreeMap::new();
        scan_prefix(self.rows, Table::Views, &prefix, &mut |key, value| {
            let name = key[skip..].split(|byte| *byte == 0).next().unwrap_or_default();
            parts.entry(name.to_vec()).or_default().push(decode(value, Space::NotePart.word())?);
            Ok(Scan::On)
        })?;
        let info = |(name, parts): (Vec<u8>, _)| NoteInfo {
            name: String::from_utf8_lossy(&name).into_owned(),
            versions: together(parts).iter().map(head).collect(),
        };
        Ok(parts.into_iter().map(info).collect())
    }

    /// What counts of a note, without texts; nothing when it was never written.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn note_heads(&self, place: PlaceId, name: &str) -> Result<Vec<NoteHead>, StoreError> {
        Ok(together(self.note_parts(place, name)?).iter().map(head).collect())
    }

    /// What counts of a note, in order of when it was saved; nothing when it was never written.
    ///
    /// # Errors
    /// The rows cannot be read, or a text was not on this machine when it was last looked for.
    pub fn note(&self, place: PlaceId, name: &str) -> Result<Vec<NoteVersion>, StoreError> {
        together(self.note_parts(place, name)?).into_iter().map(whole).collect()
    }

    /// The name and the part of each of a workspace's note documents.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn note_documents(&self, place: PlaceId) -> Result<Vec<(String, u32)>, StoreError> {
        let documents = self.keys(&Space::NotePart.key().bytes(place.as_bytes()))?.into_iter().filter_map(|rest| {
            let (name, part) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
            let part = u32::try_from(u64::from_be_bytes(part.try_into().ok()?)).ok()?;
            Some((String::from_utf8_lossy(name.strip_suffix(&[0])?).into_owned(), part))
        });
        Ok(documents.collect())
    }

    fn note_parts(&self, place: PlaceId, name: &str) -> Result<Vec<NotePartRow>, StoreError> {
        self.values(&note_key(place, name), Space::NotePart)
    }

    /// The number of a note's latest part.
    pub(crate) fn last_note_part(&self, place: PlaceId, name: &str) -> Result<u32, StoreError> {
        let keys = self.keys(&note_key(place, name))?;
        let number = |key: &Vec<u8>| key.as_slice().try_into().ok().map(u64::from_be_bytes).and_then(|part| u32::try_from(part).ok());
        Ok(keys.last().and_then(number).unwrap_or_default())
    }
}

/// What counts of a note: what is an end in its own part and replaced by no other.
fn together(parts: Vec<NotePartRow>) -> Vec<VersionRow> {
    let replaced: BTreeSet<VersionHash> = parts.iter().flat_map(|part| part.outside.iter().copied()).collect();
    let mut ends: Vec<_> = parts.into_iter().flat_map(|part| part.ends).filter(|end| !replaced.contains(&end.version)).collect();
    ends.sort_by_key(|end| (end.at, end.version));
    ends
}

fn head(row: &VersionRow) -> NoteHead {
    NoteHead { version: row.version, by: row.by.clone(), machine: row.machine, at: row.at, bytes: row.bytes }
}

fn whole(row: VersionRow) -> Result<NoteVersion, StoreError> {
    let text = match row.text {
        None => None,
        Some(BodyRow::Text(text)) => Some(text),
        Some(BodyRow::Missing { hash, damaged }) => return Err(StoreError::Blob { hash, damaged }),
    };
    Ok(NoteVersion { version: row.version, by: row.by, machine: row.machine, at: row.at, text })
}
