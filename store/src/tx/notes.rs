//! Saving notes.

use super::Tx;
use crate::{
    docs::{
        About,
        note::{VERSIONS_MOST, VersionRecord, add_version, version_hash, versions},
    },
    error::StoreError,
    facts,
    id::{PlaceId, VersionHash},
    model::By,
};

impl Tx<'_> {
    /// Saves a version of a note that replaces these; without a text it deletes the note as far as it replaces it.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn save_note(
        &mut self,
        place: PlaceId,
        name: &str,
        text: Option<&str>,
        replaces: Vec<VersionHash>,
        by: &By,
    ) -> Result<VersionHash, StoreError> {
        let text = text.map(|text| self.text(text)).transpose()?;
        let about = About::Note { place, name: name.to_owned(), part: self.part_for_more(place, name)? };
        let (now, writer) = (self.now, self.writer());
        let mut document = self.document_or_new(&about)?;
        let record = document.encode(&VersionRecord { replaces, by: by.clone(), at: now, text })?;
        let hash = version_hash(document.id(), writer, document.next_seq(writer), &record);
        let change = document.edit(writer, now, |tx, seq| add_version(tx, writer, seq, record))?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        Ok(hash)
    }

    /// Every version of a note, also those that others replace. Reads its documents, so it is for a base that is none of
    /// what counts.
    ///
    /// # Errors
    /// A document cannot be read.
    pub fn all_versions(&mut self, place: PlaceId, name: &str) -> Result<Vec<VersionHash>, StoreError> {
        let mut all = Vec::new();
        for part in 0..=self.last_note_part(place, name)? {
            let about = About::Note { place, name: name.to_owned(), part };
            if facts::meta(self.rows, about.doc_id())?.is_none() {
                continue;
            }
            let document = self.document(&about)?;
            all.extend(versions(&document).into_iter().map(|version| version.hash));
            self.put_back(document);
        }
        Ok(all)
    }

    /// The part that takes the next version: the latest, or one after it once that is full.
    fn part_for_more(&self, place: PlaceId, name: &str) -> Result<u32, StoreError> {
        let last = self.last_note_part(place, name)?;
        let about = About::Note { place, name: name.to_owned(), part: last };
        let changes = facts::meta(self.rows, about.doc_id())?.map_or(0, |meta| meta.changes);
        Ok(if changes > VERSIONS_MOST { last + 1 } else { last })
    }
}
