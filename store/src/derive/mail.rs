//! The rows of mail: from the entries of outboxes, from what logs say of a message, and from the record of the agent it is for.
//! Whichever of them comes last, the rows are the same.

use super::Deriver;
use crate::{
    docs::{
        About,
        log::{Entry, SEGMENT_ENTRIES},
        outbox::Outgoing,
    },
    error::StoreError,
    facts,
    id::{AgentId, MachineId, MessageId},
    model::{Mail, MailCounts, MailEvent, OutboxEntry, Recipient, Stage, Standing},
    rows::{Table, get_as},
    rules::mailbox::{depends_on, standing},
    view::{Space, entry_key, mail_of_key, mailbox_key, sent_key, whose_key},
};

impl Deriver<'_> {
    /// Derives what an entry of `machine`'s outbox says.
    pub(crate) fn sent(&self, machine: MachineId, entry: &Entry<Outgoing>) -> Result<(), StoreError> {
        let Outgoing::Message { id, from, to, task, text } = entry.fact.clone();
        let stands = OutboxEntry { machine, number: entry.number };
        let mail = Mail { id, entry: stands, from, to, task, text: self.text_or_notice(&text), sent: entry.at };
        self.put(Space::Mail, &entry_key(Space::Mail, stands), &mail)?;
        let first = self.named_by(id)?.map_or(stands, |other| other.min(stands));
        self.put(Space::MailId, &Space::MailId.key().bytes(id.as_bytes()), &first)?;
        self.mark(&sent_key(&mail)?)?;
        self.settle(stands)
    }

    /// Derives what a log says of messages. Of one that went for good it says nothing any more.
    pub(super) fn happened(&self, messages: &[OutboxEntry], event: &MailEvent) -> Result<(), StoreError> {
        for message in messages {
            let segment = About::Outbox { machine: message.machine, segment: message.number / SEGMENT_ENTRIES };
            if facts::tombstone(self.rows, segment.doc_id())?.is_some() {
                continue;
            }
            let mut events = self.view().mail_events(*message)?;
            if let Err(at) = events.binary_search(event) {
                events.insert(at, event.clone());
                self.put(Space::MailEvents, &entry_key(Space::MailEvents, *message), &events)?;
                self.settle(*message)?;
            }
        }
        Ok(())
    }

    /// Looks again at the messages whose whereabouts depend on an agent.
    pub(super) fn settle_mail_of(&self, agent: AgentId) -> Result<(), StoreError> {
        self.view().mail_of(agent)?.into_iter().try_for_each(|entry| self.settle(entry))
    }

    /// Takes away every row of a message.
    pub(crate) fn forget_mail(&self, entry: OutboxEntry) -> Result<(), StoreError> {
        let mail: Option<Mail> = get_as(self.rows, Table::Views, &entry_key(Space::Mail, entry), Space::Mail.word())?;
        if let Some(mail) = &mail {
            if let Some(at) = self.view().mail_standing(entry)? {
                self.leave_mailbox(mail, &at)?;
            }
            self.delete(&sent_key(mail)?)?;
            if self.named_by(mail.id)? == Some(entry) {
                self.delete(&Space::MailId.key().bytes(mail.id.as_bytes()))?;
            }
        }
        [Space::Mail, Space::MailEvents, Space::Standing].iter().try_for_each(|space| self.delete(&entry_key(*space, entry)))
    }

    fn settle(&self, entry: OutboxEntry) -> Result<(), StoreError> {
        let mail: Option<Mail> = get_as(self.rows, Table::Views, &entry_key(Space::Mail, entry), Space::Mail.word())?;
        // What logs say of a message may come before it.
        let Some(mail) = mail else { return Ok(()) };
        let events = self.view().mail_events(entry)?;
        let agent = depends_on(&mail.to, &events).map(|agent| self.view().agent(agent)).transpose()?.flatten();
        let (old, new) = (self.view().mail_standing(entry)?, standing(&mail.to, &events, agent.as_ref()));
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        if let Some(old) = old {
            self.leave_mailbox(&mail, &old)?;
        }
        self.put(Space::Standing, &entry_key(Space::Standing, entry), &new)?;
        self.mark(&mailbox_key(&mail, &new))?;
        self.count_mail(&new.with, new.stage, 1)?;
        new.depends_on.map_or(Ok(()), |agent| self.mark(&mail_of_key(agent, entry)))
    }

    fn leave_mailbox(&self, mail: &Mail, at: &Standing) -> Result<(), StoreError> {
        self.delete(&mailbox_key(mail, at))?;
        self.count_mail(&at.with, at.stage, -1)?;
        at.depends_on.map_or(Ok(()), |agent| self.delete(&mail_of_key(agent, mail.entry)))
    }

    fn count_mail(&self, whose: &Recipient, stage: Stage, change: i64) -> Result<(), StoreError> {
        let mut counts = self.view().mail_counts(whose)?;
        let count = counts.of_mut(stage);
        *count = count.saturating_add_signed(change);
        let key = whose_key(Space::MailCounts, whose);
        if counts == MailCounts::default() { self.delete(&key) } else { self.put(Space::MailCounts, &key, &counts) }
    }

    fn named_by(&self, id: MessageId) -> Result<Option<OutboxEntry>, StoreError> {
        self.view().row(Space::MailId, id.as_bytes())
    }
}
