//! The rows of a note: one for each part of it, from that part alone.

use super::Deriver;
use crate::{
    docs::{
        Document, Text,
        note::{Version, ends},
    },
    error::StoreError,
    id::PlaceId,
    view::{NotePartRow, VersionRow, note_key},
};

impl Deriver<'_> {
    pub(super) fn note(&self, place: PlaceId, name: &str, part: u32, document: &Document) -> Result<(), StoreError> {
        let said = ends(document);
        let row = NotePartRow { ends: said.ends.into_iter().map(|version| self.version(version)).collect(), outside: said.outside };
        let key = note_key(place, name).number(part.into());
        if row == NotePartRow::default() { self.delete(&key) } else { self.put(crate::view::Space::NotePart, &key, &row) }
    }

    fn version(&self, version: Version) -> VersionRow {
        let Version { hash, writer, record } = version;
        let bytes = record.text.as_ref().map(|text| match text {
            Text::Inline(text) => text.len() as u64,
            Text::Kept { length, .. } => *length,
        });
        let text = record.text.map(|text| self.text(&text));
        VersionRow { version: hash, by: record.by, machine: writer.machine(), at: record.at, bytes, text }
    }
}
