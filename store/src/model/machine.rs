//! A machine of the team and what it may do there.

use serde::{Deserialize, Serialize};

use crate::{id::MachineId, time::Timestamp};

/// What a machine may do in its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Writes only what is its own.
    ReadOnly,
    /// Works.
    Member,
    /// Works, invites and revokes.
    Admin,
}

/// Something a machine's node can do that an older one could not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Makes, runs and removes a fork's folder.
    ForkFolder,
}

/// A computer in the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// Its id.
    pub id: MachineId,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it became a member.
    pub joined: Timestamp,
    /// Its Ed25519 public key.
    #[schemars(with = "Vec<u8>")]
    pub public_key: [u8; 32],
}
