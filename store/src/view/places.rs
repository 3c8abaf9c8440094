//! Places, their folders and their forks.

use std::path::{Path, PathBuf};

use super::{MergedRow, SeatRow, Space, View};
use crate::{
    docs::place::PlaceState,
    error::{Failure, StoreError},
    id::{MachineId, PlaceId},
    model::{Checkout, Merged, Place, PlaceKind, Seat, Settings},
    refusal::{Refusal, What},
    rows::{Key, id_at},
    text::PathText,
};

/// How far merged forks are followed; forks of forks are not made, so more would be a circle.
const HOPS_MOST: usize = 16;

impl View<'_> {
    /// A place, also a merged, archived or deleted one.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn place(&self, id: PlaceId) -> Result<Option<Place>, StoreError> {
        let state: Option<PlaceState> = self.row(Space::Place, id.as_bytes())?;
        state.map(|state| self.assemble(state)).transpose()
    }

    /// A place that has to be there.
    ///
    /// # Errors
    /// Refused when it is not known.
    pub fn require_place(&self, id: PlaceId) -> Result<Place, Failure> {
        Ok(self.place(id)?.ok_or_else(|| Refusal::Unknown { what: What::Place, given: id.to_string() })?)
    }

    /// Every place, also merged, archived and deleted ones, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn places(&self) -> Result<Vec<Place>, StoreError> {
        let states: Vec<PlaceState> = self.values(&Space::Place.key(), Space::Place)?;
        states.into_iter().map(|state| self.assemble(state)).collect()
    }

    /// The live places with exactly this name: more than one after machines that were apart chose the same.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn places_named(&self, name: &str) -> Result<Vec<PlaceId>, StoreError> {
        let ids = self.ids(&Space::Name.key().bytes(name.as_bytes()).byte(0), Space::Name)?;
        Ok(ids.into_iter().map(PlaceId::from_bytes).collect())
    }

    /// The forks of a workspace, also merged ones, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn forks_of(&self, parent: PlaceId) -> Result<Vec<Place>, StoreError> {
        let ids = self.ids(&Space::ForkOf.key().bytes(parent.as_bytes()), Space::ForkOf)?;
        let forks = ids.into_iter().map(|id| self.place(PlaceId::from_bytes(id)));
        forks.filter_map(Result::transpose).collect()
    }

    /// Where the tasks of a place are: a merged fork leads to its parent.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn resolve(&self, id: PlaceId) -> Result<PlaceId, StoreError> {
        let mut place = id;
        for _ in 0..HOPS_MOST {
            match self.merged(place)? {
                Some(merged) => place = merged.into,
                None => break,
            }
        }
        Ok(place)
    }

    /// That a fork was merged, if it was.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn merged(&self, fork: PlaceId) -> Result<Option<Merged>, StoreError> {
        let row: Option<MergedRow> = self.row(Space::Merged, fork.as_bytes())?;
        Ok(row.map(|row| row.merged))
    }

    /// The place itself and every fork that was merged into it, directly or through another.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn places_within(&self, place: PlaceId) -> Result<Vec<PlaceId>, StoreError> {
        let mut within = vec![place];
        let mut next = 0;
        while let Some(place) = within.get(next).copied() {
            let ids = self.ids(&Space::MergedInto.key().bytes(place.as_bytes()), Space::MergedInto)?;
            let new: Vec<_> = ids.into_iter().map(PlaceId::from_bytes).filter(|id| !within.contains(id)).collect();
            within.extend(new);
            next += 1;
        }
        Ok(within)
    }

    /// The folder of a place on a machine, once it was chosen.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn folder(&self, place: PlaceId, machine: MachineId) -> Result<Option<PathText>, StoreError> {
        let key = Space::Folder.key().bytes(machine.as_bytes()).bytes(place.as_bytes());
        crate::rows::get_as(self.rows, crate::rows::Table::Views, &key, Space::Folder.word())
    }

    /// The place whose folder or checkout on `machine` contains `path`, the deepest one. Both are compared component by
    /// component as they are written, so the caller brings them to one form first. The folder left by a merged fork is
    /// its parent's.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn place_with_folder(&self, path: &Path, machine: MachineId) -> Result<Option<PlaceId>, StoreError> {
        for folder in path.ancestors() {
            for id in self.ids(&path_prefix(machine, folder), Space::FolderPath)? {
                let place = self.resolve(PlaceId::from_bytes(id))?;
                if self.place(place)?.is_some_and(|place| place.is_live()) {
                    return Ok(Some(place));
                }
            }
        }
        Ok(None)
    }

    /// The settings that count in a place: a fork has its parent's.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn effective_settings(&self, place: &Place) -> Result<Settings, StoreError> {
        let Some(parent) = place.parent() else { return Ok(place.settings.clone()) };
        Ok(self.place(parent)?.map(|parent| parent.settings).unwrap_or_default())
    }

    /// The folders of a fork, on every machine that ever ran it, also removed ones.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn checkouts(&self, fork: PlaceId) -> Result<Vec<Checkout>, StoreError> {
        self.values(&Space::Checkout.key().bytes(fork.as_bytes()), Space::Checkout)
    }

    fn assemble(&self, state: PlaceState) -> Result<Place, StoreError> {
        let seat: Option<SeatRow> = self.row(Space::Seat, state.id.as_bytes())?;
        let merged = match state.kind {
            PlaceKind::Fork { .. } => self.merged(state.id)?,
            PlaceKind::Workspace | PlaceKind::Supervisor => None,
        };
        let retired = state.archived || state.deleted.is_some();
        let revived = if retired { self.revived(state.id)? } else { None };
        let stands = revived.is_none();
        Ok(Place {
            id: state.id,
            name: state.name,
            kind: state.kind,
            description: state.description,
            icon: state.icon,
            archived: state.archived && stands,
            deleted: state.deleted.filter(|_| stands),
            created: state.created,
            created_by: state.created_by,
            settings: state.settings,
            seat: seat.map_or_else(nobody, |row| row.seat),
            merged,
            spun_up_for: state.spun_up_for,
            revived,
        })
    }

    /// The places that have a folder on a machine, with it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn folders(&self, machine: MachineId) -> Result<Vec<(PlaceId, PathText)>, StoreError> {
        let prefix = Space::Folder.key().bytes(machine.as_bytes());
        let mut folders = Vec::new();
        crate::rows::scan_prefix(self.rows, crate::rows::Table::Views, &prefix, &mut |key, value| {
            let id = id_at(key, prefix.as_slice().len(), Space::Folder.word())?;
            folders.push((PlaceId::from_bytes(id), crate::rows::decode(value, Space::Folder.word())?));
            Ok(crate::rows::Scan::On)
        })?;
        Ok(folders)
    }
}

/// The key under which the places with this folder stand: one key for one path, with or without a slash at its end.
pub(crate) fn path_prefix(machine: MachineId, path: &Path) -> Key {
    let path: PathBuf = path.components().collect();
    Space::FolderPath.key().bytes(machine.as_bytes()).bytes(PathText::from(path.as_path()).as_bytes()).byte(0)
}

/// The seat of a place whose own has not arrived: epoch 0, which no machine holds.
fn nobody() -> Seat {
    Seat { epoch: 0, home: MachineId::from_bytes([0; 8]), electorate: Vec::new() }
}
