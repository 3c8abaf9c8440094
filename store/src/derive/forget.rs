//! Taking away the rows of what was purged: exactly those that its documents had given.

use super::Deriver;
use crate::{
    error::StoreError,
    id::{PlaceId, TaskId},
    model::PlaceKind,
    rows::{Key, Table},
    view::{Space, queue_key},
};

impl Deriver<'_> {
    /// Removes the rows of a task.
    pub(crate) fn forget_task(&self, task: TaskId) -> Result<(), StoreError> {
        let row = self.view().task_row(task)?;
        if let Some(row) = &row {
            self.leave(&row.task)?;
            self.delete(&queue_key(&row.task))?;
        }
        for space in [Space::Task, Space::Body] {
            self.delete(&space.key().bytes(task.as_bytes()))?;
        }
        for space in [Space::Message, Space::History, Space::Attachment] {
            self.delete_all(&space.key().bytes(task.as_bytes()))?;
        }
        row.map_or(Ok(()), |row| self.look_at_task(self.view().resolve(row.task.place)?, task))
    }

    /// Removes the rows of a place without tasks, and those of what it shared. What logs say of it stays, as the logs do.
    pub(crate) fn forget_place(&self, place: PlaceId) -> Result<(), StoreError> {
        if let Some(state) = self.place_state(place)? {
            self.delete(&super::place::name_key(&state.name, place))?;
            if let PlaceKind::Fork { parent } = state.kind {
                self.delete(&Space::ForkOf.key().bytes(parent.as_bytes()).bytes(place.as_bytes()))?;
            }
        }
        for space in [Space::Place, Space::Retired, Space::Revived] {
            self.delete(&space.key().bytes(place.as_bytes()))?;
        }
        for space in [Space::NotePart, Space::SkillOn, Space::Site] {
            self.delete_all(&space.key().bytes(place.as_bytes()))?;
        }
        Ok(())
    }

    /// Removes every row whose key begins so.
    pub(super) fn delete_all(&self, prefix: &Key) -> Result<(), StoreError> {
        for rest in self.view().keys(prefix)? {
            self.rows.delete(Table::Views, prefix.clone().bytes(&rest).as_slice())?;
        }
        Ok(())
    }
}
