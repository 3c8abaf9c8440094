//! The queues of places: their tasks by status in order, their counts, and what is handed out next.
//!
//! Rows stand under (place, status, position, created, id), so a filter is a range. The tasks of forks that were merged into
//! a place keep their rows and are merged into the order while reading.

use std::ops::Bound;

use super::{Space, View};
use crate::{
    error::StoreError,
    id::{PlaceId, TaskId},
    model::{By, Counts, Status, Task},
    rows::{Key, Scan, Table, decode, id_at},
    time::Timestamp,
};

/// How many rows a stream reads at once from each range.
const PAGE: usize = 128;

/// Where a task stands among those of its place: position, then creation, then id.
pub(crate) fn order_of(task: &Task) -> (i64, Timestamp, TaskId) {
    (task.position, task.created, task.id)
}

/// The key of a task's row in the queue of its own place, or in that place's trash.
pub(crate) fn queue_key(task: &Task) -> Key {
    if let Some(trashed) = &task.deleted {
        return Space::Trash.key().bytes(task.place.as_bytes()).signed(trashed.at.ms()).bytes(task.id.as_bytes());
    }
    let key = Space::Queue.key().bytes(task.place.as_bytes()).byte(task.status as u8);
    key.signed(task.position).signed(task.created.ms()).bytes(task.id.as_bytes())
}

/// Why a task is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Offer {
    /// Its holder ended and left it.
    Left = 0,
    /// It is not started, and for agents.
    Waiting = 1,
}

pub(crate) fn offer_key(task: &Task, offer: Offer) -> Key {
    let key = Space::Offer.key().bytes(task.place.as_bytes()).byte(offer as u8);
    key.signed(task.position).signed(task.created.ms()).bytes(task.id.as_bytes())
}

/// What `task next` chooses from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// What the caller has in hand in the place already, in queue order.
    pub held: Vec<Task>,
    /// What holders that ended left, in queue order.
    pub left: Vec<Task>,
    /// The first that is not started and is for agents.
    pub waiting: Option<Task>,
}

impl<'a> View<'a> {
    /// The tasks of a place with one of these statuses, in queue order, with those of forks merged into it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn tasks(&self, place: PlaceId, statuses: &[Status]) -> Result<Vec<Task>, StoreError> {
        let mut tasks = Vec::new();
        let ranges = self.ranges(place, statuses)?;
        for range in &ranges {
            crate::rows::scan_prefix(self.rows, Table::Views, range, &mut |_, value| {
                tasks.push(decode(value, Space::Queue.word())?);
                Ok(Scan::On)
            })?;
        }
        if ranges.len() > 1 {
            tasks.sort_by_key(order_of);
        }
        Ok(tasks)
    }

    /// The first `most` of [`Self::tasks`].
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn tasks_limited(&self, place: PlaceId, statuses: &[Status], most: usize) -> Result<Vec<Task>, StoreError> {
        self.task_stream(place, statuses)?.take(most).collect()
    }

    /// [`Self::tasks`] one after another, for when there are too many to hold.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn task_stream(&self, place: PlaceId, statuses: &[Status]) -> Result<TaskStream<'a>, StoreError> {
        let ranges = self.ranges(place, statuses)?.into_iter().map(Range::new).collect();
        Ok(TaskStream { view: *self, ranges })
    }

    /// The tasks of a place that are in the trash, with those of forks merged into it, the last deleted first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn trash(&self, place: PlaceId) -> Result<Vec<Task>, StoreError> {
        let mut tasks: Vec<Task> = Vec::new();
        for place in self.places_within(self.resolve(place)?)? {
            tasks.extend(self.values(&Space::Trash.key().bytes(place.as_bytes()), Space::Trash)?);
        }
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.deleted.as_ref().map(|trashed| trashed.at)), order_of(task)));
        Ok(tasks)
    }

    /// The beginnings of the keys of these tasks: one for each place and status.
    fn ranges(&self, place: PlaceId, statuses: &[Status]) -> Result<Vec<Key>, StoreError> {
        let mut ranges = Vec::new();
        for place in self.places_within(self.resolve(place)?)? {
            for (status, _) in Status::ALL.iter().filter(|(status, _)| statuses.contains(status)) {
                ranges.push(Space::Queue.key().bytes(place.as_bytes()).byte(*status as u8));
            }
        }
        Ok(ranges)
    }

    /// How many tasks a place has of each status, with those of forks merged into it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn counts(&self, place: PlaceId) -> Result<Counts, StoreError> {
        let mut counts = Counts::default();
        for place in self.places_within(self.resolve(place)?)? {
            counts += self.row(Space::Counts, place.as_bytes())?.unwrap_or_default();
        }
        Ok(counts)
    }

    /// What `by` has in hand in a place, what was left there, and the first task that waits for an agent. Costs the same
    /// however long the queue is.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn next_candidates(&self, place: PlaceId, by: &By) -> Result<Candidates, StoreError> {
        let place = self.resolve(place)?;
        let mut held = Vec::new();
        for task in self.held_by(by)? {
            if self.resolve(task.place)? == place {
                held.push(task);
            }
        }
        held.sort_by_key(order_of);
        let within = self.places_within(place)?;
        let mut left = self.offered(&within, Offer::Left, usize::MAX)?;
        left.retain(|task| task.holder.as_ref().is_none_or(|holder| holder.by != *by));
        let waiting = self.offered(&within, Offer::Waiting, 1)?.into_iter().next();
        Ok(Candidates { held, left, waiting })
    }

    fn offered(&self, places: &[PlaceId], offer: Offer, most: usize) -> Result<Vec<Task>, StoreError> {
        let mut tasks = Vec::new();
        for place in places {
            let prefix = Space::Offer.key().bytes(place.as_bytes()).byte(offer as u8);
            let mut ids = Vec::new();
            crate::rows::scan_prefix(self.rows, Table::Views, &prefix, &mut |key, _| {
                ids.push(TaskId::from_bytes(id_at(key, key.len() - 16, Space::Offer.word())?));
                Ok(if ids.len() < most { Scan::On } else { Scan::Enough })
            })?;
            for id in ids {
                tasks.extend(self.task(id)?);
            }
        }
        tasks.sort_by_key(order_of);
        tasks.truncate(most);
        Ok(tasks)
    }
}

/// Tasks in queue order, read a page at a time.
pub struct TaskStream<'a> {
    view: View<'a>,
    ranges: Vec<Range>,
}

/// One place and status: the rows read from it, the next one last, and where to go on.
struct Range {
    page: Vec<Task>,
    from: Option<Bound<Vec<u8>>>,
    end: Vec<u8>,
}

impl Range {
    fn new(prefix: Key) -> Self {
        Self { page: Vec::new(), end: prefix.end(), from: Some(Bound::Included(prefix.as_slice().to_vec())) }
    }

    fn first(&mut self, view: &View<'_>) -> Result<Option<&Task>, StoreError> {
        if self.page.is_empty()
            && let Some(from) = self.from.take()
        {
            let (page, last) = self.read(view, &from)?;
            self.from = (page.len() == PAGE).then_some(Bound::Excluded(last));
            self.page = page;
            self.page.reverse();
        }
        Ok(self.page.last())
    }

    fn read(&self, view: &View<'_>, from: &Bound<Vec<u8>>) -> Result<(Vec<Task>, Vec<u8>), StoreError> {
        let mut page = Vec::new();
        let mut last = Vec::new();
        view.rows.scan(Table::Views, from.as_ref().map(Vec::as_slice), &self.end, &mut |key, value| {
            page.push(decode(value, Space::Queue.word())?);
            if page.len() < PAGE {
                return Ok(Scan::On);
            }
            last = key.to_vec();
            Ok(Scan::Enough)
        })?;
        Ok((page, last))
    }
}

impl TaskStream<'_> {
    fn advance(&mut self) -> Result<Option<Task>, StoreError> {
        let mut best: Option<(usize, (i64, Timestamp, TaskId))> = None;
        for (at, range) in self.ranges.iter_mut().enumerate() {
            let Some(order) = range.first(&self.view)?.map(order_of) else { continue };
            if best.is_none_or(|(_, first)| order < first) {
                best = Some((at, order));
            }
        }
        Ok(best.and_then(|(at, _)| self.ranges[at].page.pop()))
    }
}

impl Iterator for TaskStream<'_> {
    type Item = Result<Task, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
