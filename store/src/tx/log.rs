//! Adding to this machine's log.

use super::Tx;
use crate::{
    docs::{
        About,
        log::{ChainEnd, Entry, Fact, add_entry, entry_hash},
    },
    error::StoreError,
    facts::{self, Chain},
    time::Timestamp,
};

impl Tx<'_> {
    /// Adds a fact to this machine's log, with the rows that follow from it. [`Fact::Taken`] also makes the task ongoing and
    /// names the taking in the task's own register; [`Fact::Released`] gives it back there.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn append(&mut self, fact: Fact) -> Result<(), StoreError> {
        match &fact {
            Fact::Taken { task, token, holder, .. } => self.take_in_hand(*task, *token, holder)?,
            Fact::Released { task, .. } => self.give_back(*task)?,
            _ => {}
        }
        let (machine, writer, at) = (self.machine(), self.writer(), self.time_of(&fact)?);
        let end = facts::chain_end(self.rows, Chain::Log, machine)?;
        let about = About::Log { machine, segment: end.segment() };
        let mut document = self.document_or_new(&about)?;
        let entry = Entry { number: end.entries, previous: end.hash, at, fact };
        let bytes = document.encode(&entry)?;
        let hash = entry_hash(&bytes);
        let change = document.edit(writer, at, |tx, _| add_entry(tx, entry.number, bytes))?;
        self.keep(&about, &document, change)?;
        facts::record_chain_end(self.rows, Chain::Log, machine, ChainEnd { entries: entry.number + 1, hash })?;
        self.deriver().entry(machine, &entry, hash)?;
        self.put_back(document);
        Ok(())
    }

    /// When a fact is said to be from: now, but what becomes of a message comes after what became of it before, though a clock
    /// was set back meanwhile or another machine's is ahead.
    fn time_of(&self, fact: &Fact) -> Result<Timestamp, StoreError> {
        let (Fact::Took { messages, .. } | Fact::Delivered { messages, .. }) = fact else { return Ok(self.now) };
        messages.iter().try_fold(self.now, |at, message| {
            let last = self.mail_events(*message)?.last().map(|event| Timestamp::from_ms(event.at.ms().saturating_add(1)));
            Ok(last.map_or(at, |last| last.max(at)))
        })
    }
}
