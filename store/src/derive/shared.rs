//! The rows of skills, and of what a workspace shares with its forks.

use super::Deriver;
use crate::{
    docs::{
        Document,
        shared::{sites, skills_on},
        skill::skill,
    },
    error::StoreError,
    id::PlaceId,
    view::{Space, skill_on_key},
};

impl Deriver<'_> {
    pub(super) fn skill(&self, name: &str, document: &Document) -> Result<(), StoreError> {
        let key = Space::Skill.key().bytes(name.as_bytes());
        match skill(document)? {
            Some(skill) => self.put(Space::Skill, &key, &skill),
            None => self.delete(&key),
        }
    }

    /// The switches and sites in a workspace's document.
    pub(super) fn shared(&self, place: PlaceId, document: &Document) -> Result<(), StoreError> {
        self.delete_all(&Space::SkillOn.key().bytes(place.as_bytes()))?;
        for name in skills_on(document) {
            self.mark(&skill_on_key(place, &name))?;
        }
        let prefix = Space::Site.key().bytes(place.as_bytes());
        self.delete_all(&prefix)?;
        for site in sites(document) {
            self.put(Space::Site, &prefix.clone().bytes(site.url.as_bytes()), &site)?;
        }
        Ok(())
    }
}
