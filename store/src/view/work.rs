//! What work there is in a place, for whoever archives or deletes it and for whoever learns of that later.

use super::{Space, View};
use crate::{
    docs::{About, trash::Mark},
    error::StoreError,
    facts,
    id::{PlaceId, TaskId},
    model::{Place, Revived, Task, Work},
    rows::{Scan, Table},
    time::Timestamp,
};

impl View<'_> {
    /// The tasks of a place, also those in the trash, each with a mark of everything that is known of it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn marks(&self, place: PlaceId) -> Result<Vec<(TaskId, Mark)>, StoreError> {
        self.all_tasks(place)?.into_iter().map(|task| Ok((task, self.mark(task)?))).collect()
    }

    fn mark(&self, task: TaskId) -> Result<Mark, StoreError> {
        let mut hasher = blake3::Hasher::new_derive_key("frith seen task 1");
        let parts = self.thread_parts(task)?.len();
        let documents = std::iter::once(About::Task { task }).chain((1..).map(|part| About::Thread { task, part }).take(parts));
        for about in documents {
            let doc = about.doc_id();
            hasher.update(doc.as_bytes());
            hasher.update(&facts::digest(self.rows, doc)?);
        }
        let hash = hasher.finalize();
        Ok(std::array::from_fn(|i| hash.as_bytes()[i]))
    }

    /// The first work in a place that is not among these marks: a fork of it that is live, else the first such task.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn unseen_work(&self, place: PlaceId, seen: &[Mark]) -> Result<Option<Work>, StoreError> {
        let forks = self.forks_of(place)?;
        if let Some(fork) = forks.iter().find(|fork| fork.is_live()) {
            return Ok(Some(Work::Fork(fork.id)));
        }
        let unseen = self.marks(place)?.into_iter().filter(|(_, mark)| seen.binary_search(mark).is_err());
        Ok(unseen.map(|(task, _)| Work::Task(task)).min())
    }

    /// The tasks that were put into the trash before this moment, by place and time.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn tasks_deleted_before(&self, before: Timestamp) -> Result<Vec<TaskId>, StoreError> {
        let mut tasks = Vec::new();
        crate::rows::scan_prefix(self.rows, Table::Views, &Space::Trash.key(), &mut |_, value| {
            let task: Task = crate::rows::decode(value, Space::Trash.word())?;
            tasks.extend(task.deleted.filter(|trashed| trashed.at < before).map(|_| task.id));
            Ok(Scan::On)
        })?;
        Ok(tasks)
    }

    /// The places that were deleted before this moment and that no later work brought back.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn places_deleted_before(&self, before: Timestamp) -> Result<Vec<PlaceId>, StoreError> {
        let gone = |place: &Place| place.deleted.is_some_and(|at| at < before);
        Ok(self.places()?.into_iter().filter(gone).map(|place| place.id).collect())
    }

    /// All tasks of a place, of whatever status and also in the trash, with those of forks merged into it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn all_tasks(&self, place: PlaceId) -> Result<Vec<TaskId>, StoreError> {
        let mut tasks = Vec::new();
        for place in self.places_within(place)? {
            for space in [Space::Queue, Space::Trash] {
                for rest in self.keys(&space.key().bytes(place.as_bytes()))? {
                    tasks.push(TaskId::from_bytes(crate::rows::id_at(&rest, rest.len().saturating_sub(16), space.word())?));
                }
            }
        }
        Ok(tasks)
    }

    /// That a place is live though it was archived or deleted.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn revived(&self, place: PlaceId) -> Result<Option<Revived>, StoreError> {
        self.row(Space::Revived, place.as_bytes())
    }
}
