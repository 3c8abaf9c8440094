//! Claims: whose a worktree is. That it still stands, and whether it has git's lock, only its machine's disk can tell.

use super::{Space, View};
use crate::{
    error::StoreError,
    id::MachineId,
    model::{Claimed, WorktreeId},
    rows::{Key, Table, get_as},
    text::PathText,
};

/// The key under which the claim on a worktree stands.
pub(crate) fn claim_key(machine: MachineId, record: &PathText) -> Key {
    let hash = blake3::hash(record.as_bytes());
    Space::Claim.key().bytes(machine.as_bytes()).bytes(&hash.as_bytes()[..16])
}

impl View<'_> {
    /// The claim on a worktree of a machine, if it is on that one and not on an earlier one that git kept under the same name.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn claim(&self, machine: MachineId, worktree: &WorktreeId) -> Result<Option<Claimed>, StoreError> {
        let found: Option<Claimed> = get_as(self.rows, Table::Views, &claim_key(machine, &worktree.record), Space::Claim.word())?;
        Ok(found.filter(|found| found.claim.worktree == *worktree))
    }

    /// The claims on worktrees of a machine.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn claims_on(&self, machine: MachineId) -> Result<Vec<Claimed>, StoreError> {
        self.values(&Space::Claim.key().bytes(machine.as_bytes()), Space::Claim)
    }

    /// The claims on worktrees of every machine, by machine.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn claims(&self) -> Result<Vec<Claimed>, StoreError> {
        self.values(&Space::Claim.key(), Space::Claim)
    }
}
