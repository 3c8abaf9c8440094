//! The rows of a place: its registers, its name while it is live, and its standing among its parent's forks.

use super::Deriver;
use crate::{
    docs::{
        Document, Text,
        place::{self, PlaceState},
        trash::{Mark, Retirement, read_marks},
    },
    error::StoreError,
    id::{MachineId, PlaceId, TaskId},
    model::{Merged, PlaceKind, Revived, Work},
    rows::{Key, Table, get_as},
    text::PathText,
    view::{MergedRow, RetiredRow, SeatRow, Space},
};

impl Deriver<'_> {
    pub(super) fn place(&self, document: &Document) -> Result<(), StoreError> {
        let text = |text: &Text| self.text_or_notice(text);
        let Some(state) = PlaceState::read(document, &text)? else { return Ok(()) };
        let old = self.place_state(state.id)?;
        self.put(Space::Place, &Space::Place.key().bytes(state.id.as_bytes()), &state)?;
        if let PlaceKind::Fork { parent } = state.kind {
            self.mark(&Space::ForkOf.key().bytes(parent.as_bytes()).bytes(state.id.as_bytes()))?;
        }
        if let Some(old) = old {
            self.delete(&name_key(&old.name, old.id))?;
        }
        self.retired(&state, document)?;
        self.name(&state)?;
        match state.kind {
            PlaceKind::Fork { parent } => self.look_for_work(parent),
            PlaceKind::Workspace | PlaceKind::Supervisor => Ok(()),
        }
    }

    /// What was known of the place when it was archived or deleted.
    fn retired(&self, state: &PlaceState, document: &Document) -> Result<(), StoreError> {
        let key = Space::Retired.key().bytes(state.id.as_bytes());
        let is_retired = state.archived || state.deleted.is_some();
        let all: Vec<Retirement> = place::retirements(document).into_iter().flatten().filter(|_| is_retired).collect();
        let Some(last) = all.iter().max_by_key(|retirement| retirement.at) else {
            self.delete(&key)?;
            return self.delete(&Space::Revived.key().bytes(state.id.as_bytes()));
        };
        let mut seen: Vec<Mark> = all.iter().flat_map(|retirement| read_marks(&self.text_or_notice(&retirement.seen))).collect();
        seen.sort_unstable();
        self.put(Space::Retired, &key, &RetiredRow { at: last.at, by: last.by.clone(), seen })?;
        self.look_for_work(state.id)
    }

    /// Looks again whether a place that was archived or deleted has work that was not known then. A merged fork's work is its
    /// parent's.
    pub(super) fn look_for_work(&self, place: PlaceId) -> Result<(), StoreError> {
        let Some(retired) = self.retired_row(place)? else { return Ok(()) };
        let merged = self.view().merged(place)?.is_some();
        let work = if merged { None } else { self.view().unseen_work(place, &retired.seen)? };
        self.revive(place, retired, work)
    }

    /// The same after one task of the place changed, or left it, which costs nothing however many tasks there are, unless
    /// that task is the work by which the place is live.
    pub(super) fn look_at_task(&self, place: PlaceId, task: TaskId) -> Result<(), StoreError> {
        let Some(retired) = self.retired_row(place)? else { return Ok(()) };
        let known = self.view().revived(place)?.map(|revived| revived.work);
        if known == Some(Work::Task(task)) {
            return self.look_for_work(place);
        }
        let is_there = self.view().task(task)?.map_or(Ok(false), |task| self.view().resolve(task.place).map(|at| at == place))?;
        let earlier = known.is_none_or(|known| Work::Task(task) < known);
        if is_there && earlier && self.view().is_unseen(task, &retired.seen)? {
            return self.revive(place, retired, Some(Work::Task(task)));
        }
        Ok(())
    }

    /// Looks at every place that was archived or deleted, once all rows are there.
    pub(super) fn look_at_retired_places(&self) -> Result<(), StoreError> {
        let places = self.view().ids(&Space::Retired.key(), Space::Retired)?;
        places.into_iter().try_for_each(|place| self.look_for_work(PlaceId::from_bytes(place)))
    }

    fn retired_row(&self, place: PlaceId) -> Result<Option<RetiredRow>, StoreError> {
        if self.follows { self.view().row(Space::Retired, place.as_bytes()) } else { Ok(None) }
    }

    fn revive(&self, place: PlaceId, retired: RetiredRow, work: Option<Work>) -> Result<(), StoreError> {
        let key = Space::Revived.key().bytes(place.as_bytes());
        match work {
            Some(work) => self.put(Space::Revived, &key, &Revived { retired: retired.at, by: retired.by, work })?,
            None => self.delete(&key)?,
        }
        self.place_state(place)?.map_or(Ok(()), |state| self.name(&state))
    }

    /// A name is a live place's alone.
    fn name(&self, state: &PlaceState) -> Result<(), StoreError> {
        let key = name_key(&state.name, state.id);
        let view = self.view();
        let live = (state.deleted.is_none() || view.revived(state.id)?.is_some()) && view.merged(state.id)?.is_none();
        if live { self.mark(&key) } else { self.delete(&key) }
    }

    pub(super) fn seat(&self, place: PlaceId, new: &SeatRow) -> Result<(), StoreError> {
        let key = Space::Seat.key().bytes(place.as_bytes());
        let old: Option<SeatRow> = get_as(self.rows, Table::Views, &key, Space::Seat.word())?;
        let rank = |row: &SeatRow| (row.seat.epoch, std::cmp::Reverse(row.entry));
        if old.is_none_or(|old| rank(&old) < rank(new)) { self.put(Space::Seat, &key, new) } else { Ok(()) }
    }

    /// Of two merges the one of the lower epoch holds, whichever arrives first.
    pub(super) fn merge(&self, fork: PlaceId, new: &MergedRow) -> Result<(), StoreError> {
        let key = Space::Merged.key().bytes(fork.as_bytes());
        let old: Option<MergedRow> = get_as(self.rows, Table::Views, &key, Space::Merged.word())?;
        if let Some(old) = old {
            if (old.epoch, old.entry) <= (new.epoch, new.entry) {
                return Ok(());
            }
            self.delete(&merged_into_key(fork, &old.merged))?;
        }
        self.put(Space::Merged, &key, new)?;
        self.mark(&merged_into_key(fork, &new.merged))?;
        self.place_state(fork)?.map_or(Ok(()), |state| self.name(&state))?;
        self.look_for_work(fork)?;
        self.look_for_work(self.view().resolve(fork)?)
    }

    pub(super) fn folder(&self, machine: MachineId, place: PlaceId, folder: Option<&PathText>) -> Result<(), StoreError> {
        let key = Space::Folder.key().bytes(machine.as_bytes()).bytes(place.as_bytes());
        let old: Option<PathText> = get_as(self.rows, Table::Views, &key, Space::Folder.word())?;
        if let Some(old) = old {
            self.delete(&path_key(machine, &old, place))?;
        }
        match folder {
            Some(folder) => {
                self.put(Space::Folder, &key, folder)?;
                self.mark(&path_key(machine, folder, place))
            }
            None => self.delete(&key),
        }
    }

    pub(super) fn place_state(&self, place: PlaceId) -> Result<Option<PlaceState>, StoreError> {
        get_as(self.rows, Table::Views, &Space::Place.key().bytes(place.as_bytes()), Space::Place.word())
    }
}

pub(super) fn name_key(name: &str, place: PlaceId) -> Key {
    Space::Name.key().bytes(name.as_bytes()).byte(0).bytes(place.as_bytes())
}

fn merged_into_key(fork: PlaceId, merged: &Merged) -> Key {
    Space::MergedInto.key().bytes(merged.into.as_bytes()).bytes(fork.as_bytes())
}

pub(super) fn path_key(machine: MachineId, path: &PathText, place: PlaceId) -> Key {
    crate::view::path_prefix(machine, path.as_path()).bytes(place.as_bytes())
}
