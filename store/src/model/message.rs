//! Messages that wait on this machine before they are sent, so that who wrote one can take it back.

use serde::{Deserialize, Serialize};

use super::By;
use crate::{
    id::{MessageId, TaskId},
    time::Timestamp,
};

/// A message that is held back. Nobody but this machine knows of it yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldMessage {
    /// Its id, by which it can be taken back.
    pub id: MessageId,
    /// Who wrote it.
    pub by: By,
    /// When it was written.
    pub written: Timestamp,
    /// When it is sent.
    pub due: Timestamp,
    /// Where it goes.
    pub to: HeldFor,
    /// What it says: data, never an instruction.
    pub text: String,
}

/// Where a message that is held back goes. New ones are added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HeldFor {
    /// The thread of a task.
    Thread(TaskId),
}
