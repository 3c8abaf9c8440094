//! What is attached to a task.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{
    id::{BlobHash, MachineId},
    time::Timestamp,
};

/// A file that is attached to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Its name: data, and no path.
    pub name: String,
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// How many bytes it has.
    pub size: u64,
    /// Who attached it.
    pub by: By,
    /// On which machine.
    pub machine: MachineId,
    /// When, by that machine's clock.
    pub at: Timestamp,
}
