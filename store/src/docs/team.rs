//! A team's document: one record for each machine that ever became a member, and the machines' names.

use automerge::{
    AutomergeError,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use super::{Document, map_in};
use crate::{
    id::{MachineId, PlaceId, TeamId},
    model::{Machine, Role},
    time::Timestamp,
};

pub(crate) const MEMBERS: &str = "members";
pub(crate) const NAMES: &str = "names";

/// That a machine is a member, signed by the one that took it in. Written once, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The team.
    pub team: TeamId,
    /// The machine's public key.
    pub public_key: [u8; 32],
    /// What it may do.
    pub role: Role,
    /// When it became a member.
    pub joined: Timestamp,
    /// The machine that took it in.
    pub granted_by: MachineId,
}

/// A member record with its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedMember {
    /// The record.
    pub member: Member,
    /// The Ed25519 signature of the machine that took it in over [`signed_bytes`].
    pub signature: Vec<u8>,
}

/// What the signature of a member record covers.
pub fn signed_bytes(member: &[u8]) -> [u8; 32] {
    blake3::derive_key("frith member 1", member)
}

/// The id of the workspace of the agent that watches the others.
pub fn supervisor_of(team: TeamId) -> PlaceId {
    let hash = blake3::derive_key("frith supervisor place 1", team.as_bytes());
    PlaceId::from_derived(std::array::from_fn(|i| hash[i]))
}

/// The machines of a team, by id.
pub fn machines(document: &Document) -> Vec<Machine> {
    let (Some(members), Some(names)) = (document.map(MEMBERS), document.map(NAMES)) else { return Vec::new() };
    let machine = |key: String| {
        let id: MachineId = key.parse().ok()?;
        let SignedMember { member, .. } = members.record(&key)?;
        let name = names.text(&key).unwrap_or_else(|| id.short());
        Some(Machine { id, name, role: member.role, joined: member.joined, public_key: member.public_key })
    };
    members.keys().filter_map(machine).collect()
}

/// Adds a member; `record` are the bytes of a [`SignedMember`].
pub(crate) fn add_member(tx: &mut Transaction<'_>, machine: MachineId, record: Vec<u8>) -> Result<(), AutomergeError> {
    let members = map_in(tx, MEMBERS)?;
    tx.put(members, machine.to_string(), record)
}

/// Names a machine.
pub(crate) fn set_name(tx: &mut Transaction<'_>, machine: MachineId, name: &str) -> Result<(), AutomergeError> {
    let names = map_in(tx, NAMES)?;
    tx.put(names, machine.to_string(), name)
}
