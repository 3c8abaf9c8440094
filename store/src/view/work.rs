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

    /// The first work in a place that is not among these marks: a fork of it that was not merged, else the first such task.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn unseen_work(&self, place: PlaceId, seen: &[Mark]) -> Result<Option<Work>, StoreError> {
        let forks = self.forks_of(place)?;
        // A fork is never in the trash, so one that was not merged is live.
        if let Some(fork) = forks.iter().find(|fork| fork.merged.is_none()) {
            return Ok(Some(Work::Fork(fork.id)));
        }
        let mut tasks = self.all_tasks(place)?;
        tasks.sort_unstable();
        for task in tasks {
            if self.is_unseen(task, seen)? {
                return Ok(Some(Work::Task(task)));
            }
        }
        Ok(None)
    }

    /// Whether a task is work that is not among these marks. One in the trash is none.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn is_unseen(&self, task: TaskId, seen: &[Mark]) -> Result<bool, StoreError> {
        let deleted = self.task(task)?.is_none_or(|task| task.deleted.is_some());
        Ok(!deleted && seen.binary_search(&self.mark(task)?).is_err())
    }

    /// The tasks that were put into the trash before this moment, with when. One that cannot be read keeps no other from
    /// being found.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn tasks_deleted_before(&self, before: Timestamp) -> Result<Vec<(TaskId, Timestamp)>, StoreError> {
        let mut tasks = Vec::new();
        crate::rows::scan_prefix(self.rows, Table::Views, &Space::Trash.key(), &mut |_, value| {
            let task: Option<Task> = crate::rows::decode(value, Space::Trash.word()).ok();
            let when = task.and_then(|task| Some((task.id, task.deleted?.at)));
            tasks.extend(when.filter(|(_, at)| *at < before));
            Ok(Scan::On)
        })?;
        Ok(tasks)
    }

    /// The places that are in the trash and that no later work brought back, with since when.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn places_deleted(&self) -> Result<Vec<(PlaceId, Timestamp)>, StoreError> {
        let when = |place: Place| Some((place.id, place.deleted?));
        Ok(self.places()?.into_iter().filter_map(when).collect())
    }

    /// All tasks of a place, of whatever status and also in the trash, with those of forks merged into it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn all_tasks(&self, place: PlaceId) -> Result<Vec<TaskId>, StoreError> {
        self.some_tasks(place, usize::MAX)
    }

    /// The first `most` of [`Self::all_tasks`].
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn some_tasks(&self, place: PlaceId, most: usize) -> Result<Vec<TaskId>, StoreError> {
        let mut tasks = Vec::new();
        for place in self.places_within(place)? {
            for space in [Space::Queue, Space::Trash] {
                crate::rows::scan_prefix(self.rows, Table::Views, &space.key().bytes(place.as_bytes()), &mut |key, _| {
                    if tasks.len() == most {
                        return Ok(Scan::Enough);
                    }
                    tasks.push(TaskId::from_bytes(crate::rows::id_at(key, key.len().saturating_sub(16), space.word())?));
                    Ok(Scan::On)
                })?;
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
