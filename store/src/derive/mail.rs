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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, ops::Bound};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        blobs::MemoryBlobs,
        docs::{Text, log::Fact},
        id::PlaceId,
        model::{By, EndHow, HostSession, Mailbox},
        rows::{MemoryViews, Rows, Visit},
        time::Timestamp,
    };

    /// Facts of a store that has none.
    struct Nothing;

    impl Rows for Nothing {
        fn get(&self, _: Table, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(None)
        }
        fn scan(&self, _: Table, _: Bound<&[u8]>, _: &[u8], _: Visit<'_>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn machine(n: u8) -> MachineId {
        MachineId::from_bytes([n; 8])
    }

    fn agent(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    fn place(n: u8) -> PlaceId {
        PlaceId::from_bytes([n; 16])
    }

    /// What one machine says, in its order: in its outbox or in its log.
    #[derive(Debug, Clone)]
    enum Said {
        Sent(Outgoing),
        Fact(Fact),
    }

    fn sent() -> impl Strategy<Value = Outgoing> {
        let to = prop_oneof![
            (0_u8..3).prop_map(|n| Recipient::Agent(agent(n))),
            (8_u8..10).prop_map(|n| Recipient::Place(place(n))),
            Just(Recipient::Person("ada@oak".into())),
        ];
        (any::<[u8; 16]>(), to, 0_u8..3).prop_map(|(id, to, from)| Outgoing::Message {
            id: MessageId::from_random(id),
            from: By::Agent(agent(from)),
            to,
            task: None,
            text: Text::Inline("hello".into()),
        })
    }

    fn fact() -> impl Strategy<Value = Fact> {
        let entries = || {
            proptest::collection::vec((1_u8..3, 0_u64..6), 1..3)
                .prop_map(|all| all.into_iter().map(|(n, number)| OutboxEntry { machine: machine(n), number }).collect::<Vec<_>>())
        };
        let mailbox = prop_oneof![(0_u8..3).prop_map(|n| Mailbox::Agent(agent(n))), Just(Mailbox::Person("ada@oak".into()))];
        prop_oneof![
            (0_u8..3, entries()).prop_map(|(n, messages)| Fact::Took { agent: agent(n), messages }),
            (mailbox, entries(), any::<bool>()).prop_map(|(mailbox, messages, read)| Fact::Delivered { mailbox, messages, read }),
            (0_u8..3).prop_map(|n| Fact::End { agent: agent(n), how: EndHow::Gone }),
            (0_u8..3, 8_u8..10).prop_map(|(n, in_place)| Fact::Registered {
                agent: agent(n),
                session: HostSession { host: "played".into(), id: Some(n.to_string()), sub_agent: None },
                parent: None,
                model: None,
                folder: "/src".parse().ok(),
                place: Some(place(in_place)),
            }),
        ]
    }

    /// The views after what three machines say, each in its own order, arrived in turns: two outboxes, and the log of the machine
    /// that the agents run on.
    fn views(said: &[Vec<Said>], turns: &[usize]) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let (rows, blobs) = (MemoryViews::over(&Nothing), MemoryBlobs::default());
        let deriver = Deriver::new(&rows, &blobs);
        let mut next = vec![0; said.len()];
        let rest = (0..said.len()).flat_map(|of| std::iter::repeat_n(of, said[of].len()));
        for of in turns.iter().copied().chain(rest) {
            let Some(one) = said[of].get(next[of]) else { continue };
            let (number, machine) = (next[of] as u64, machine(of as u8 + 1));
            let at = Timestamp::from_ms(number as i64 * 10);
            match one.clone() {
                Said::Sent(fact) => deriver.sent(machine, &Entry { number, previous: [0; 32], at, fact }).unwrap(),
                Said::Fact(fact) => deriver.entry(machine, &Entry { number, previous: [0; 32], at, fact }, [0; 32]).unwrap(),
            }
            next[of] += 1;
        }
        rows.into_views()
    }

    proptest! {
        #[test]
        fn rows_of_mail_are_the_same_in_whatever_order_outboxes_and_logs_arrive(
            one in proptest::collection::vec(sent().prop_map(Said::Sent), 0..6),
            two in proptest::collection::vec(sent().prop_map(Said::Sent), 0..6),
            log in proptest::collection::vec(fact().prop_map(Said::Fact), 0..20),
            turns in proptest::collection::vec(0_usize..3, 0..32),
        ) {
            let said = [one, two, log];
            prop_assert_eq!(views(&said, &turns), views(&said, &[]));
        }

        #[test]
        fn c03_a_message_is_in_one_mailbox_and_is_counted_there(
            one in proptest::collection::vec(sent().prop_map(Said::Sent), 0..6),
            log in proptest::collection::vec(fact().prop_map(Said::Fact), 0..20),
        ) {
            let messages = one.len() as u64;
            let views = views(&[one, vec![], log], &[]);
            let count = |space: Space| views.keys().filter(|key| key[0] == space as u8).count() as u64;
            prop_assert_eq!(count(Space::Mailbox), messages);
            let counted = views.iter().filter(|(key, _)| key[0] == Space::MailCounts as u8);
            let counts: Vec<MailCounts> = counted.map(|(_, value)| crate::rows::decode(value, "counts").unwrap()).collect();
            prop_assert_eq!(counts.iter().map(|count| count.unread() + count.read).sum::<u64>(), messages);
        }
    }
}
