//! What a machine writes first after it was restored from another's backup: that it goes on in that one's place.

use std::collections::BTreeSet;

use super::Tx;
use crate::{
    docs::log::Fact,
    error::StoreError,
    facts::{self, Chain},
    id::{MachineId, PlaceId, TeamId},
    model::{Checkout, Place},
    refusal::PlaceNamed,
    rules::{named, restore::ReplacePlan},
    text::PathText,
};

/// What came of going on in another machine's place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// How many places are decided here now.
    pub seats: u64,
    /// How many agents were running when the backup was made.
    pub agents: u64,
    /// The places whose folder is here too.
    pub kept: Vec<(PlaceNamed, PathText)>,
    /// The places whose folder is not here.
    pub missing: Vec<(PlaceNamed, PathText)>,
    /// The forks whose folder is not here. What was committed there is in their repository.
    pub forks: Vec<PlaceNamed>,
}

/// Which folders of the machine that is gone are on this disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Those that places can work in.
    pub places: BTreeSet<PathText>,
    /// Those of forks, where this node would make them too.
    pub forks: BTreeSet<PathText>,
}

impl Tx<'_> {
    /// Goes on in the place of a machine that is gone: this one becomes a member, closes the other's log, takes its seats with
    /// the next epoch, and has those of its folders that are there.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn replace_machine(&mut self, plan: &ReplacePlan, team: TeamId, name: &str, folders: &Folders) -> Result<Restored, StoreError> {
        let gone = plan.gone();
        let agents = self.live_agents()?.into_iter().filter(|agent| agent.machine == gone).count() as u64;
        self.add_itself(team, plan.role(), name)?;
        let log = facts::chain_end(self.rows, Chain::Log, gone)?;
        self.append(Fact::Replaces { machine: gone, log })?;
        let mut places = self.places()?;
        places.sort_by(|a, b| a.name.cmp(&b.name));
        let mut restored = Restored { agents, seats: self.take_seats(&places, gone)?, ..Restored::default() };
        for place in places.iter().filter(|place| place.is_live()) {
            if let Some(folder) = self.folder(place.id, gone)? {
                self.restate_folder(place, folder, folders, &mut restored)?;
            }
            self.restate_checkout(place, gone, folders, &mut restored)?;
        }
        Ok(restored)
    }

    /// Takes the seats of every place, also of merged and deleted ones: somebody has to decide for those that come back.
    fn take_seats(&mut self, places: &[Place], gone: MachineId) -> Result<u64, StoreError> {
        let home = self.machine();
        let mut taken = 0;
        for place in places.iter().filter(|place| place.seat.home == gone) {
            self.append(Fact::Seat { place: place.id, epoch: place.seat.epoch + 1, home, electorate: vec![home] })?;
            taken += 1;
        }
        Ok(taken)
    }

    fn restate_folder(&mut self, place: &Place, folder: PathText, folders: &Folders, restored: &mut Restored) -> Result<(), StoreError> {
        if !folders.places.contains(&folder) {
            restored.missing.push((named(place), folder));
            return Ok(());
        }
        self.append(Fact::Folder { place: place.id, folder: Some(folder.clone()) })?;
        restored.kept.push((named(place), folder));
        Ok(())
    }

    fn restate_checkout(&mut self, place: &Place, gone: MachineId, folders: &Folders, restored: &mut Restored) -> Result<(), StoreError> {
        let Some(checkout) = self.checkout_of(place.id, gone)? else { return Ok(()) };
        let Checkout { fork, path, start_in, kind, .. } = checkout;
        if !folders.forks.contains(&path) {
            restored.forks.push(named(place));
            return Ok(());
        }
        restored.kept.push((named(place), path.clone()));
        self.append(Fact::Checkout { fork, path, start_in, kind })
    }

    /// The folder of a fork on a machine, unless it was removed.
    fn checkout_of(&self, fork: PlaceId, machine: MachineId) -> Result<Option<Checkout>, StoreError> {
        Ok(self.checkouts(fork)?.into_iter().find(|checkout| checkout.machine == machine && checkout.removed.is_none()))
    }
}
