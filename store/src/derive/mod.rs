//! From documents and logs to view rows. Each row follows from facts alone, whatever the order they arrived in, so rows kept
//! up change by change are the rows that building them anew would give.
//!
//! Nothing here writes facts, decides anything or reads a clock.

use crate::{
    blobs::Blobs,
    docs::{About, Document},
    error::StoreError,
    rows::{Key, RowsMut, Table},
    view::{Space, View},
};

mod forget;
mod log;
mod mail;
mod note;
mod place;
mod rebuild;
mod shared;
mod task;

pub use rebuild::{clear, rebuild};
pub(crate) use task::FreshRecords;

/// Writes view rows.
#[derive(Clone, Copy)]
pub struct Deriver<'a> {
    rows: &'a dyn RowsMut,
    blobs: &'a dyn Blobs,
    /// Whether each row is followed at once to what depends on many: not while all are built anew.
    follows: bool,
}

impl<'a> Deriver<'a> {
    /// Writes to `rows`, taking long texts from `blobs`.
    pub fn new(rows: &'a dyn RowsMut, blobs: &'a dyn Blobs) -> Self {
        Self { rows, blobs, follows: true }
    }

    /// Derives everything again that follows from one document; a log's entries are derived one by one instead.
    ///
    /// # Errors
    /// The document has no genesis, or a row cannot be read or written.
    pub fn document(&self, document: &Document) -> Result<(), StoreError> {
        match document.about()? {
            about @ (About::Task { .. } | About::Run { .. }) => about.task().map_or(Ok(()), |task| self.task(task, document, None)),
            About::Thread { task, .. } => self.thread(task, document, None),
            About::Place { place, .. } => {
                self.shared(place, document)?;
                self.place(document)
            }
            About::Team { .. } => self.team(document),
            About::Skill { name } => self.skill(&name, document),
            About::Note { place, name, part } => self.note(place, &name, part, document),
            About::Log { .. } | About::Outbox { .. } => Ok(()),
        }
    }

    fn view(&self) -> View<'a> {
        View::over(self.rows)
    }

    fn put<T: serde::Serialize>(&self, space: Space, key: &Key, value: &T) -> Result<(), StoreError> {
        crate::rows::put_as(self.rows, Table::Views, key, space.word(), value)
    }

    fn mark(&self, key: &Key) -> Result<(), StoreError> {
        self.rows.put(Table::Views, key.as_slice(), &[])
    }

    fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.rows.delete(Table::Views, key.as_slice())
    }

    fn team(&self, document: &Document) -> Result<(), StoreError> {
        for machine in crate::docs::team::machines(document) {
            self.put(Space::Machine, &Space::Machine.key().bytes(machine.id.as_bytes()), &machine)?;
        }
        Ok(())
    }
}
