//! Adding, switching and removing skills; adding and removing sites.

use automerge::{AutomergeError, transaction::Transaction};

use super::Tx;
use crate::{
    docs::{
        About,
        shared::{set_site, set_skill_on},
        skill::{SkillRecord, set_skill},
    },
    error::{Failure, StoreError},
    id::PlaceId,
    model::{By, Site, SkillFile},
    rules::skill::PlannedFile,
};

impl Tx<'_> {
    /// Adds a skill, or a new version of one; its files are durable before the change that names them.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn save_skill(&mut self, name: &str, description: &str, files: &[PlannedFile], by: &By) -> Result<(), StoreError> {
        let mut kept = Vec::with_capacity(files.len());
        for PlannedFile { path, bytes, executable } in files {
            let hash = self.desk.blobs.put(bytes)?;
            self.named(hash)?;
            kept.push(SkillFile { path: path.clone(), hash, size: bytes.len() as u64, executable: *executable });
        }
        let record = SkillRecord::Here { description: description.to_owned(), files: kept, by: by.clone(), at: self.now };
        self.set_skill_record(name, &record)
    }

    /// Removes a skill. Where it was on it is on again when it is added again.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn remove_skill(&mut self, name: &str, by: &By) -> Result<(), StoreError> {
        let record = SkillRecord::Removed { by: by.clone(), at: self.now };
        self.set_skill_record(name, &record)
    }

    /// Switches a skill on or off in a workspace.
    ///
    /// # Errors
    /// The place is not known, or something could not be written.
    pub fn switch_skill(&mut self, place: PlaceId, name: &str, on: bool) -> Result<(), Failure> {
        self.change_shared(place, |tx| set_skill_on(tx, name, on))
    }

    /// Adds a site to a workspace or changes its note; without a note it is taken away.
    ///
    /// # Errors
    /// The place is not known, or something could not be written.
    pub fn set_site(&mut self, place: PlaceId, url: &str, note: Option<&str>, by: &By) -> Result<(), Failure> {
        let site = note.map(|note| Site { url: url.to_owned(), note: note.to_owned(), by: by.clone(), at: self.now });
        let record = postcard::to_stdvec(&site).map_err(|source| StoreError::Row { space: "sites", source })?;
        self.change_shared(place, |tx| set_site(tx, url, record))
    }

    fn set_skill_record(&mut self, name: &str, record: &SkillRecord) -> Result<(), StoreError> {
        let about = About::Skill { name: name.to_owned() };
        let (now, writer) = (self.now, self.writer());
        let mut document = self.document_or_new(&about)?;
        let record = document.encode(record)?;
        let change = document.edit(writer, now, |tx, _| set_skill(tx, record))?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        Ok(())
    }

    fn change_shared(
        &mut self,
        place: PlaceId,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<(), AutomergeError>,
    ) -> Result<(), Failure> {
        let kind = self.require_place(place)?.kind;
        let about = About::Place { place, kind };
        let (now, writer) = (self.now, self.writer());
        let mut document = self.document(&about)?;
        let change = document.edit(writer, now, |tx, _| work(tx))?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        Ok(())
    }
}
