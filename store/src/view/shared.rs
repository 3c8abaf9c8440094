//! Skills of the team, which of them are on where, and sites.

use super::{Space, View};
use crate::{
    error::StoreError,
    id::PlaceId,
    model::{Site, Skill},
    rows::{Key, Table},
};

/// The key under which it stands that a skill is on in a workspace.
pub(crate) fn skill_on_key(place: PlaceId, name: &str) -> Key {
    Space::SkillOn.key().bytes(place.as_bytes()).bytes(name.as_bytes())
}

impl View<'_> {
    /// The skills of the team, by name.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn skills(&self) -> Result<Vec<Skill>, StoreError> {
        self.values(&Space::Skill.key(), Space::Skill)
    }

    /// A skill of the team.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn skill(&self, name: &str) -> Result<Option<Skill>, StoreError> {
        self.row(Space::Skill, name.as_bytes())
    }

    /// Whether a skill is switched on in a workspace; a fork has its parent's switches.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn is_skill_on(&self, place: PlaceId, name: &str) -> Result<bool, StoreError> {
        Ok(self.rows.get(Table::Views, skill_on_key(place, name).as_slice())?.is_some())
    }

    /// The sites of a workspace, in order of their addresses.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn sites(&self, place: PlaceId) -> Result<Vec<Site>, StoreError> {
        self.values(&Space::Site.key().bytes(place.as_bytes()), Space::Site)
    }
}
