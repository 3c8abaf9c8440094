//! A machine's outbox: the messages its agents and persons sent, as a chain cut into segments like the log.
//! What becomes of a message stands in the logs of those who take it over and hand it out, never here.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MessageId, TaskId},
    model::By,
};

pub use crate::model::Recipient;

use super::Text;

/// What an entry of an outbox says. New kinds are added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outgoing {
    /// A message.
    Message {
        /// Its id, which follows from the call that sent it and from whom it goes to, so that a retry is the same message.
        id: MessageId,
        /// Who sends.
        from: By,
        /// To whom.
        to: Recipient,
        /// The task it is about.
        task: Option<TaskId>,
        /// What it says.
        text: Text,
    },
}
