//! Mail: sending it, taking it over, saying that it was handed out, and taking away what was read long ago.

use super::Tx;
use crate::{
    docs::{
        About, Text,
        log::{ChainEnd, Entry, Fact, SEGMENT_ENTRIES, add_entry, entry_hash, last_entry},
        outbox::Outgoing,
    },
    error::StoreError,
    facts::{self, Beyond, Chain},
    id::{AgentId, MessageId, TaskId},
    model::{By, Mailbox, OutboxEntry, Recipient, Stage},
    rules::mail::is_done_with,
    time::Timestamp,
    view::Placed,
};

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// Its id: the same for a retry.
    pub id: MessageId,
    /// To whom.
    pub to: Recipient,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What it says.
    pub text: String,
}

impl Tx<'_> {
    /// Sends a message, once: one of this id that was sent already stays as it is.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn send(&mut self, mail: &NewMail, by: &By) -> Result<(), StoreError> {
        if self.mail(mail.id)?.is_some() {
            return Ok(());
        }
        let (machine, writer) = (self.machine(), self.writer());
        let end = facts::chain_end(self.rows, Chain::Outbox, machine)?;
        let at = self.now.max(self.last_sent(end)?);
        let about = About::Outbox { machine, segment: end.segment() };
        // A message is short and is never saved again, so it stands in the outbox itself, and one sync makes it durable.
        let text = Text::Inline(mail.text.clone());
        let mut document = self.document_or_new(&about)?;
        let fact = Outgoing::Message { id: mail.id, from: by.clone(), to: mail.to.clone(), task: mail.task, text };
        let entry = Entry { number: end.entries, previous: end.hash, at, fact };
        let bytes = document.encode(&entry)?;
        let hash = entry_hash(&bytes);
        let change = document.edit(writer, at, |tx, _| add_entry(tx, entry.number, bytes))?;
        self.keep(&about, &document, change)?;
        facts::record_chain_end(self.rows, Chain::Outbox, machine, ChainEnd { entries: entry.number + 1, hash })?;
        self.deriver().sent(machine, &entry)?;
        self.put_back(document);
        Ok(())
    }

    /// When the last message was sent from here. The next is not sent before it, though the clock was set back meanwhile.
    fn last_sent(&self, end: ChainEnd) -> Result<Timestamp, StoreError> {
        let Some(number) = end.entries.checked_sub(1) else { return Ok(Timestamp::default()) };
        let machine = self.machine();
        if let Some(last) = self.mail_at(OutboxEntry { machine, number })? {
            return Ok(last.mail.sent);
        }
        let beyond = facts::beyond(self.rows, Chain::Outbox, machine, number / SEGMENT_ENTRIES)?;
        Ok(beyond.map(|beyond| beyond.at).unwrap_or_default())
    }

    /// Lets an agent take over what waits for whoever works in its place, as [`crate::view::View::mail_to_take`] has it. Answers how
    /// many it took.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn take_mail(&mut self, agent: AgentId, most: usize, wanted: &dyn Fn(&Placed) -> bool) -> Result<usize, StoreError> {
        let taking: Vec<_> = self.mail_to_take(agent, most, wanted)?.into_iter().map(|placed| placed.mail.entry).collect();
        if taking.is_empty() {
            return Ok(0);
        }
        let count = taking.len();
        self.append(Fact::Took { agent, messages: taking })?;
        Ok(count)
    }

    /// Says that messages were handed to the one whose mailbox they are in: pushed, or returned because that one asked. Those
    /// that are in another mailbox by now, or of which as much was said already, are left out. Answers how many it said it of.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn deliver_mail(&mut self, mailbox: &Mailbox, messages: &[OutboxEntry], read: bool) -> Result<usize, StoreError> {
        let whose = Recipient::from(mailbox.clone());
        let mut new = Vec::with_capacity(messages.len());
        for message in messages {
            let Some(at) = self.mail_standing(*message)?.filter(|at| at.with == whose) else { continue };
            if at.stage == Stage::Waiting || (read && at.stage == Stage::Pushed) {
                new.push(*message);
            }
        }
        let count = new.len();
        if count > 0 {
            self.append(Fact::Delivered { mailbox: mailbox.clone(), messages: new, read })?;
        }
        Ok(count)
    }

    /// Takes away a segment of this machine's outbox that is full and whose messages were all read long ago, if there is one.
    ///
    /// # Errors
    /// Something could not be read or written.
    pub fn bury_read_mail(&mut self) -> Result<bool, StoreError> {
        let machine = self.machine();
        let sealed = facts::chain_end(self.rows, Chain::Outbox, machine)?.segment();
        for segment in 0..sealed {
            if facts::beyond(self.rows, Chain::Outbox, machine, segment)?.is_none() && self.bury_segment(segment)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn bury_segment(&mut self, segment: u64) -> Result<bool, StoreError> {
        let machine = self.machine();
        let entries = (segment * SEGMENT_ENTRIES..).take(SEGMENT_ENTRIES as usize).map(|number| OutboxEntry { machine, number });
        for entry in entries.clone() {
            if !self.mail_standing(entry)?.is_some_and(|at| is_done_with(&at, self.now)) {
                return Ok(false);
            }
        }
        let about = About::Outbox { machine, segment };
        let Some(document) = facts::load(self.rows, about.doc_id())? else { return Ok(false) };
        let last = last_entry::<Outgoing>(&document)?.map(|(end, at)| Beyond { end, at });
        let Some(beyond) = last.filter(|beyond| beyond.end.entries == (segment + 1) * SEGMENT_ENTRIES) else { return Ok(false) };
        facts::record_beyond(self.rows, Chain::Outbox, machine, segment, &beyond)?;
        for entry in entries {
            self.deriver().forget_mail(entry)?;
        }
        self.bury(&about)?;
        Ok(true)
    }
}
