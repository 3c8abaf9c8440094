//! What only this machine keeps: its team, steps under way, and replies to calls, so that a retry is answered the same.

use serde::{Deserialize, Serialize};

use super::View;
use crate::{
    error::StoreError,
    id::{AgentId, BlobHash, CallId, MessageId, TeamId},
    model::{HeldMessage, Sighting},
    rows::{Key, Scan, Table, get_as, scan_prefix},
    rules::trash::Noted,
    time::Timestamp,
};

/// Local rows: the first byte of a key. A space is never given another meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LocalSpace {
    /// The format of the store.
    Format = 1,
    /// The version of the views.
    Views,
    /// The team this machine is in.
    Team,
    /// call → reply
    Call,
    /// time, call → nothing
    CallTime,
    /// key → value
    Step,
    /// due, message → [`HeldMessage`]
    Held,
    /// hash of a blob that nothing points to → since when
    Unused,
    /// what is in the trash → [`Noted`]
    Trash,
    /// agent of this machine → [`Sighting`]
    Seen,
}

impl LocalSpace {
    pub(crate) fn key(self) -> Key {
        Key::new(self as u8)
    }

    /// Whether its rows go into a backup: what people did does; what only this run and this disk can go on with does not.
    fn is_backed_up(self) -> bool {
        match self {
            Self::Format | Self::Team | Self::Held => true,
            Self::Views | Self::Call | Self::CallTime | Self::Step | Self::Unused | Self::Trash | Self::Seen => false,
        }
    }

    /// Every space.
    const ALL: [Self; 10] =
        [Self::Format, Self::Views, Self::Team, Self::Call, Self::CallTime, Self::Step, Self::Held, Self::Unused, Self::Trash, Self::Seen];
}

/// Whether a local row with this key goes into a backup.
pub(crate) fn is_backed_up(key: &[u8]) -> bool {
    LocalSpace::ALL.iter().any(|space| key.first() == Some(&(*space as u8)) && space.is_backed_up())
}

/// What the rows of messages that are held back are called.
pub(crate) const HELD: &str = "held messages";

/// What the rows of sightings are called.
pub(crate) const SEEN: &str = "sightings";

/// The key under which a message is held back: by when it is due, then by its id.
pub(crate) fn held_key(due: Timestamp, id: MessageId) -> Key {
    LocalSpace::Held.key().signed(due.ms()).bytes(id.as_bytes())
}

/// The key under which it stands since when nothing points to a blob. Whoever names the blob takes the row away.
pub(crate) fn unused_key(hash: BlobHash) -> Key {
    LocalSpace::Unused.key().bytes(hash.as_bytes())
}

/// The key and the value of a step under way.
pub type StepRow = (Vec<u8>, Vec<u8>);

/// The reply to a call, with when it was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallRow {
    pub at: Timestamp,
    pub reply: Vec<u8>,
}

impl View<'_> {
    /// The team this machine is in; none before it was founded or joined.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn team(&self) -> Result<Option<TeamId>, StoreError> {
        get_as(self.rows, Table::Local, &LocalSpace::Team.key(), "team")
    }

    /// The reply that was recorded for a call.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn recorded_call(&self, call: CallId) -> Result<Option<Vec<u8>>, StoreError> {
        let row: Option<CallRow> = get_as(self.rows, Table::Local, &LocalSpace::Call.key().bytes(call.as_bytes()), "calls")?;
        Ok(row.map(|row| row.reply))
    }

    /// What this machine has noted of what is in the trash, by a key of the caller's.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn trash_notes(&self) -> Result<Vec<(Vec<u8>, Noted)>, StoreError> {
        let mut notes = Vec::new();
        scan_prefix(self.rows, Table::Local, &LocalSpace::Trash.key(), &mut |key, value| {
            notes.push((key[1..].to_vec(), crate::rows::decode(value, "notes of the trash")?));
            Ok(Scan::On)
        })?;
        Ok(notes)
    }

    /// The steps under way, with their keys, in the order of the keys.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn steps(&self) -> Result<Vec<StepRow>, StoreError> {
        let mut steps = Vec::new();
        scan_prefix(self.rows, Table::Local, &LocalSpace::Step.key(), &mut |key, value| {
            steps.push((key[1..].to_vec(), value.to_vec()));
            Ok(Scan::On)
        })?;
        Ok(steps)
    }

    /// The steps under way whose keys begin like this.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn steps_of(&self, prefix: &[u8]) -> Result<Vec<StepRow>, StoreError> {
        let mut steps = Vec::new();
        scan_prefix(self.rows, Table::Local, &LocalSpace::Step.key().bytes(prefix), &mut |key, value| {
            steps.push((key[1..].to_vec(), value.to_vec()));
            Ok(Scan::On)
        })?;
        Ok(steps)
    }

    /// When an agent of this machine was seen last, and what it did then.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn sighting(&self, agent: AgentId) -> Result<Option<Sighting>, StoreError> {
        get_as(self.rows, Table::Local, &LocalSpace::Seen.key().bytes(agent.as_bytes()), SEEN)
    }

    /// The agents of this machine that were ever seen and are not forgotten, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn sighted(&self) -> Result<Vec<AgentId>, StoreError> {
        let mut agents = Vec::new();
        scan_prefix(self.rows, Table::Local, &LocalSpace::Seen.key(), &mut |key, _| {
            agents.push(AgentId::from_bytes(crate::rows::id_at(key, 1, SEEN)?));
            Ok(Scan::On)
        })?;
        Ok(agents)
    }

    /// The messages that are held back, in the order in which they are due.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn held_messages(&self) -> Result<Vec<HeldMessage>, StoreError> {
        let mut held = Vec::new();
        scan_prefix(self.rows, Table::Local, &LocalSpace::Held.key(), &mut |_, value| {
            held.push(crate::rows::decode(value, HELD)?);
            Ok(Scan::On)
        })?;
        Ok(held)
    }

    /// When the next of the messages that are held back is due.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn next_held(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut next = None;
        scan_prefix(self.rows, Table::Local, &LocalSpace::Held.key(), &mut |_, value| {
            next = Some(crate::rows::decode::<HeldMessage>(value, HELD)?.due);
            Ok(Scan::Enough)
        })?;
        Ok(next)
    }

    /// One step under way.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn step(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.rows.get(Table::Local, LocalSpace::Step.key().bytes(key).as_slice())
    }
}
