//! Local rows: replies to calls and steps under way.

use std::ops::Bound;

use serde::Serialize;

use super::Tx;
use crate::{
    error::StoreError,
    id::{AgentId, CallId},
    model::{HeldMessage, Sighting},
    rows::{Key, Scan, Table, id_at, put_as},
    rules::trash::Noted,
    time::Timestamp,
    view::{CallRow, HELD, LocalSpace, SEEN, held_key},
};

impl Tx<'_> {
    /// Records the reply to a call, so that the same call again is answered the same.
    ///
    /// # Errors
    /// The row cannot be written.
    pub fn record_call(&mut self, call: CallId, reply: &[u8]) -> Result<(), StoreError> {
        let row = CallRow { at: self.now, reply: reply.to_vec() };
        self.put_local(&LocalSpace::Call.key().bytes(call.as_bytes()), "calls", &row)?;
        let by_time = LocalSpace::CallTime.key().signed(self.now.ms()).bytes(call.as_bytes());
        self.rows.put(Table::Local, by_time.as_slice(), &[])
    }

    /// Forgets the replies to calls that were answered before `oldest`.
    ///
    /// # Errors
    /// The rows cannot be read or removed.
    pub fn forget_calls_before(&mut self, oldest: Timestamp) -> Result<(), StoreError> {
        let mut old = Vec::new();
        let end = LocalSpace::CallTime.key().signed(oldest.ms());
        self.rows.scan(Table::Local, Bound::Included(LocalSpace::CallTime.key().as_slice()), end.as_slice(), &mut |key, _| {
            old.push(key.to_vec());
            Ok(Scan::On)
        })?;
        for key in old {
            let call = id_at(&key, key.len().saturating_sub(16), "calls")?;
            self.rows.delete(Table::Local, LocalSpace::Call.key().bytes(&call).as_slice())?;
            self.rows.delete(Table::Local, &key)?;
            self.desk.writes += 1;
        }
        Ok(())
    }

    /// Writes down a step before it is acted on.
    ///
    /// # Errors
    /// The row cannot be written.
    pub fn set_step(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.desk.writes += 1;
        self.rows.put(Table::Local, LocalSpace::Step.key().bytes(key).as_slice(), value)
    }

    /// Forgets a step that is done.
    ///
    /// # Errors
    /// The row cannot be removed.
    pub fn clear_step(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.desk.writes += 1;
        self.rows.delete(Table::Local, LocalSpace::Step.key().bytes(key).as_slice())
    }

    /// Notes something of what is in the trash; none forgets it.
    ///
    /// # Errors
    /// The row cannot be written.
    pub fn note_trash(&mut self, key: &[u8], noted: Option<Noted>) -> Result<(), StoreError> {
        let key = LocalSpace::Trash.key().bytes(key);
        match noted {
            Some(noted) => self.put_local(&key, "notes of the trash", &noted),
            None => {
                self.desk.writes += 1;
                self.rows.delete(Table::Local, key.as_slice())
            }
        }
    }

    /// Holds a message back until it is due.
    ///
    /// # Errors
    /// The row cannot be written.
    pub fn hold_message(&mut self, message: &HeldMessage) -> Result<(), StoreError> {
        self.put_local(&held_key(message.due, message.id), HELD, message)
    }

    /// Lets go of a message that was held back: it was sent, or taken back.
    ///
    /// # Errors
    /// The row cannot be removed.
    pub fn release_message(&mut self, message: &HeldMessage) -> Result<(), StoreError> {
        self.desk.writes += 1;
        self.rows.delete(Table::Local, held_key(message.due, message.id).as_slice())
    }

    /// Notes when an agent of this machine was seen last, and what it did then.
    ///
    /// # Errors
    /// The row cannot be written.
    pub fn note_sighting(&mut self, agent: AgentId, sighting: &Sighting) -> Result<(), StoreError> {
        self.put_local(&LocalSpace::Seen.key().bytes(agent.as_bytes()), SEEN, sighting)
    }

    /// Forgets when an agent was seen.
    ///
    /// # Errors
    /// The row cannot be removed.
    pub fn forget_sighting(&mut self, agent: AgentId) -> Result<(), StoreError> {
        self.desk.writes += 1;
        self.rows.delete(Table::Local, LocalSpace::Seen.key().bytes(agent.as_bytes()).as_slice())
    }

    pub(super) fn put_local<T: Serialize>(&mut self, key: &Key, space: &'static str, value: &T) -> Result<(), StoreError> {
        self.desk.writes += 1;
        put_as(self.rows, Table::Local, key, space, value)
    }
}
