//! Local rows: replies to calls and steps under way.

use serde::Serialize;

use super::Tx;
use crate::{
    error::StoreError,
    id::CallId,
    rows::{Key, Table, put_as},
    view::{CallRow, LocalSpace},
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

    pub(super) fn put_local<T: Serialize>(&mut self, key: &Key, space: &'static str, value: &T) -> Result<(), StoreError> {
        self.desk.writes += 1;
        put_as(self.rows, Table::Local, key, space, value)
    }
}
