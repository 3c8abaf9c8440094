//! Tasks with a schedule, and what became of its slots.

use std::ops::Bound;

use super::{Space, View};
use crate::{
    error::StoreError,
    id::TaskId,
    model::{Fired, Outcome},
    rows::{Key, Scan, Table, decode},
    time::Timestamp,
};

/// The beginning of the key of a slot: of one task the latest comes first.
pub(crate) fn fired_key(template: TaskId, slot: Timestamp) -> Key {
    Space::Fired.key().bytes(template.as_bytes()).signed(slot.ms().saturating_neg())
}

impl View<'_> {
    /// The tasks that have a schedule, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn scheduled(&self) -> Result<Vec<TaskId>, StoreError> {
        Ok(self.ids(&Space::Scheduled.key(), Space::Scheduled)?.into_iter().map(TaskId::from_bytes).collect())
    }

    /// What became of up to `most` slots of a task, the latest first, none of them after `until`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn fired(&self, template: TaskId, until: Timestamp, most: usize) -> Result<Vec<Fired>, StoreError> {
        let mut found = Vec::new();
        self.scan_fired(template, until, &mut |fired| {
            found.push(fired);
            found.len() < most
        })?;
        Ok(found)
    }

    /// The latest slot of a task that made a run.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn last_run(&self, template: TaskId) -> Result<Option<Fired>, StoreError> {
        let mut ran = None;
        self.scan_fired(template, Timestamp::from_ms(i64::MAX), &mut |fired| {
            ran = Some(fired).filter(|fired| fired.outcome == Outcome::Ran);
            ran.is_none()
        })?;
        Ok(ran)
    }

    fn scan_fired(&self, template: TaskId, until: Timestamp, goes_on: &mut dyn FnMut(Fired) -> bool) -> Result<(), StoreError> {
        let (from, all) = (fired_key(template, until), Space::Fired.key().bytes(template.as_bytes()));
        self.rows.scan(Table::Views, Bound::Included(from.as_slice()), &all.end(), &mut |_, value| {
            Ok(if goes_on(decode(value, Space::Fired.word())?) { Scan::On } else { Scan::Enough })
        })
    }
}
