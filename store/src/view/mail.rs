//! Mail: whose mailbox holds what, how far each message is, and what somebody sent. Each mailbox is a range of rows of its own,
//! so an empty one costs one look however much lies in others.

use super::{Space, View};
use crate::{
    error::StoreError,
    id::{AgentId, MachineId, MessageId, PlaceId},
    model::{Agent, By, Mail, MailCounts, MailEvent, OutboxEntry, Recipient, Stage, Standing},
    rows::{Key, Scan, Table, decode, get_as, scan_prefix},
    rules::mailbox::{follows, may_take},
    time::Timestamp,
};

/// A message and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The message.
    pub mail: Mail,
    /// Where it is, and how far.
    pub at: Standing,
}

/// An agent that may take over what waits for whoever works in its place.
struct Taker {
    agent: Agent,
    /// The agent that was launched there.
    launched: Option<AgentId>,
    /// Where it waits.
    places: Vec<PlaceId>,
}

/// By what messages are sorted everywhere: when they were sent, and of one machine always as they were.
pub type MailOrder = (Timestamp, OutboxEntry);

impl Placed {
    /// Its place among all.
    pub fn order(&self) -> MailOrder {
        (self.mail.sent, self.mail.entry)
    }
}

/// The key of a row that stands for one entry of an outbox.
pub(crate) fn entry_key(space: Space, entry: OutboxEntry) -> Key {
    space.key().bytes(entry.machine.as_bytes()).number(entry.number)
}

/// The key under which the messages of a mailbox or a place stand, or how many there are.
pub(crate) fn whose_key(space: Space, whose: &Recipient) -> Key {
    match whose {
        Recipient::Agent(agent) => space.key().byte(1).bytes(agent.as_bytes()),
        Recipient::Place(place) => space.key().byte(2).bytes(place.as_bytes()),
        Recipient::Person(person) => space.key().byte(3).bytes(&hash(person.as_bytes())),
    }
}

/// The key under which a message stands in its mailbox.
pub(crate) fn mailbox_key(mail: &Mail, at: &Standing) -> Key {
    ordered(whose_key(Space::Mailbox, &at.with).byte(at.stage as u8), mail.sent, mail.entry)
}

/// The key under which a message stands among those of its sender.
pub(crate) fn sent_key(mail: &Mail) -> Result<Key, StoreError> {
    Ok(ordered(sender_key(&mail.from)?, mail.sent, mail.entry))
}

/// The key under which a message stands that depends on an agent.
pub(crate) fn mail_of_key(agent: AgentId, entry: OutboxEntry) -> Key {
    Space::MailOf.key().bytes(agent.as_bytes()).bytes(entry.machine.as_bytes()).number(entry.number)
}

fn sender_key(by: &By) -> Result<Key, StoreError> {
    let bytes = postcard::to_stdvec(by).map_err(|source| StoreError::Row { space: Space::SentBy.word(), source })?;
    Ok(Space::SentBy.key().bytes(&hash(&bytes)))
}

fn hash(bytes: &[u8]) -> [u8; 16] {
    let hash = blake3::hash(bytes);
    std::array::from_fn(|i| hash.as_bytes()[i])
}

fn ordered(key: Key, sent: Timestamp, entry: OutboxEntry) -> Key {
    key.signed(sent.ms()).bytes(entry.machine.as_bytes()).number(entry.number)
}

/// The entry that a key names with its last 16 bytes.
pub(crate) fn entry_at_end(key: &[u8]) -> Option<OutboxEntry> {
    let (machine, number) = key.get(key.len().checked_sub(16)?..)?.split_at_checked(8)?;
    let machine = MachineId::from_bytes(machine.try_into().ok()?);
    Some(OutboxEntry { machine, number: u64::from_be_bytes(number.try_into().ok()?) })
}

/// When a message was sent, by the first 8 bytes behind the key of its sender.
fn sent_at_start(rest: &[u8]) -> Option<Timestamp> {
    let number = u64::from_be_bytes(rest.get(..8)?.try_into().ok()?);
    Some(Timestamp::from_ms((number ^ (1 << 63)).cast_signed()))
}

impl View<'_> {
    /// A message by its id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail(&self, id: MessageId) -> Result<Option<Placed>, StoreError> {
        let entry: Option<OutboxEntry> = self.row(Space::MailId, id.as_bytes())?;
        entry.map(|entry| self.mail_at(entry)).transpose().map(Option::flatten)
    }

    /// How many messages are in a mailbox, or wait for whoever works in a place.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_counts(&self, whose: &Recipient) -> Result<MailCounts, StoreError> {
        let counts = get_as(self.rows, Table::Views, &whose_key(Space::MailCounts, whose), Space::MailCounts.word())?;
        Ok(counts.unwrap_or_default())
    }

    /// The messages of a mailbox that are at one stage, oldest first, up to `most`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_in(&self, whose: &Recipient, stage: Stage, most: usize) -> Result<Vec<Placed>, StoreError> {
        let mut entries = Vec::new();
        if most > 0 {
            scan_prefix(self.rows, Table::Views, &whose_key(Space::Mailbox, whose).byte(stage as u8), &mut |key, _| {
                entries.extend(entry_at_end(key));
                Ok(if entries.len() < most { Scan::On } else { Scan::Enough })
            })?;
        }
        self.each(entries)
    }

    /// Each message of a mailbox that is at one stage, oldest first; `take` says whether more are wanted.
    ///
    /// # Errors
    /// The rows cannot be read, or what `take` says.
    pub fn each_mail_in(
        &self,
        whose: &Recipient,
        stage: Stage,
        take: &mut dyn FnMut(Placed) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for rest in self.keys(&whose_key(Space::Mailbox, whose).byte(stage as u8))? {
            if let Some(placed) = entry_at_end(&rest).map(|entry| self.readable(entry)).transpose()?.flatten()
                && !take(placed)?
            {
                break;
            }
        }
        Ok(())
    }

    /// The messages of a mailbox that were read, the latest first; `take` says whether more are wanted.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_read(&self, whose: &Recipient, take: &mut dyn FnMut(Placed) -> bool) -> Result<(), StoreError> {
        let prefix = whose_key(Space::Mailbox, whose).byte(Stage::Read as u8);
        self.latest_first(&prefix, take)
    }

    /// When somebody sent which messages, the latest first. None of them is read for that.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_sent_by(&self, by: &By) -> Result<Vec<MailOrder>, StoreError> {
        let keys = self.keys(&sender_key(by)?)?;
        Ok(keys.iter().rev().filter_map(|rest| Some((sent_at_start(rest)?, entry_at_end(rest)?))).collect())
    }

    /// The message of an entry; none also for one whose rows cannot be understood.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_entry(&self, entry: OutboxEntry) -> Result<Option<Placed>, StoreError> {
        self.readable(entry)
    }

    /// Whether anything may wait in an agent's place that it could take over: neither what it sent itself nor anything while another
    /// is to have it. Beyond the first `looked_at` in a place of its own it is not looked, and something may.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn may_have_mail_to_take(&self, agent: AgentId, looked_at: usize) -> Result<bool, StoreError> {
        let Some(taker) = self.taker(agent)? else { return Ok(false) };
        for place in &taker.places {
            let first = self.mail_in(&Recipient::Place(*place), Stage::Waiting, looked_at)?;
            if first.len() >= looked_at {
                return Ok(true);
            }
            for placed in &first {
                if self.is_for(&taker, placed)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// An agent that may take over what waits for whoever works in its place; none when it may not.
    fn taker(&self, agent: AgentId) -> Result<Option<Taker>, StoreError> {
        let Some(record) = self.agent(agent)? else { return Ok(None) };
        let Some(place) = record.place.map(|place| self.resolve(place)).transpose()? else { return Ok(None) };
        let launched = self.agent_in(place)?.map(|launched| launched.id);
        let places = if may_take(&record, launched) { self.mail_places(place)? } else { return Ok(None) };
        Ok(Some(Taker { agent: record, launched, places }))
    }

    /// Whether an agent may have this one of those that wait in its place.
    fn is_for(&self, taker: &Taker, placed: &Placed) -> Result<bool, StoreError> {
        if placed.mail.from == By::Agent(taker.agent.id) {
            return Ok(false);
        }
        let Recipient::Agent(before) = placed.mail.to else { return Ok(true) };
        Ok(self.agent(before)?.is_none_or(|before| follows(&taker.agent, &before, taker.launched)))
    }

    /// The place and the forks that were merged into it: wherever mail waits for whoever works there.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_places(&self, place: PlaceId) -> Result<Vec<PlaceId>, StoreError> {
        let merged = self.ids(&Space::MergedInto.key().bytes(place.as_bytes()), Space::MergedInto)?;
        Ok(std::iter::once(place).chain(merged.into_iter().map(PlaceId::from_bytes)).collect())
    }

    /// What an agent may take over of what waits for whoever works in its place, oldest first and up to `most`, where `wanted` says
    /// so: neither what it sent itself, nor what was sent to one that ended after it had started, nor anything while another is to
    /// have it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn mail_to_take(&self, agent: AgentId, most: usize, wanted: &dyn Fn(&Placed) -> bool) -> Result<Vec<Placed>, StoreError> {
        let Some(taker) = self.taker(agent)?.filter(|_| most > 0) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for place in &taker.places {
            let mut left = most;
            self.each_mail_in(&Recipient::Place(*place), Stage::Waiting, &mut |placed| {
                if wanted(&placed) && self.is_for(&taker, &placed)? {
                    found.push(placed);
                    left -= 1;
                }
                Ok(left > 0)
            })?;
        }
        found.sort_by_key(Placed::order);
        found.truncate(most);
        Ok(found)
    }

    pub(crate) fn mail_at(&self, entry: OutboxEntry) -> Result<Option<Placed>, StoreError> {
        let mail: Option<Mail> = get_as(self.rows, Table::Views, &entry_key(Space::Mail, entry), Space::Mail.word())?;
        let at = self.mail_standing(entry)?;
        Ok(mail.zip(at).map(|(mail, at)| Placed { mail, at }))
    }

    pub(crate) fn mail_standing(&self, entry: OutboxEntry) -> Result<Option<Standing>, StoreError> {
        get_as(self.rows, Table::Views, &entry_key(Space::Standing, entry), Space::Standing.word())
    }

    /// What logs say of a message, in order, whether or not it is known.
    pub(crate) fn mail_events(&self, entry: OutboxEntry) -> Result<Vec<MailEvent>, StoreError> {
        let events = get_as(self.rows, Table::Views, &entry_key(Space::MailEvents, entry), Space::MailEvents.word())?;
        Ok(events.unwrap_or_default())
    }

    /// The messages whose whereabouts depend on an agent.
    pub(crate) fn mail_of(&self, agent: AgentId) -> Result<Vec<OutboxEntry>, StoreError> {
        let keys = self.keys(&Space::MailOf.key().bytes(agent.as_bytes()))?;
        Ok(keys.iter().filter_map(|rest| entry_at_end(rest)).collect())
    }

    /// Every message that is known, in the order of outboxes. One that cannot be read is told of where views are compared.
    pub(crate) fn all_mail(&self) -> Result<Vec<(OutboxEntry, Mail)>, StoreError> {
        let mut all = Vec::new();
        scan_prefix(self.rows, Table::Views, &Space::Mail.key(), &mut |key, value| {
            all.extend(entry_at_end(key).zip(decode(value, Space::Mail.word()).ok()));
            Ok(Scan::On)
        })?;
        Ok(all)
    }

    fn latest_first(&self, prefix: &Key, take: &mut dyn FnMut(Placed) -> bool) -> Result<(), StoreError> {
        let mut entries: Vec<OutboxEntry> = self.keys(prefix)?.iter().filter_map(|rest| entry_at_end(rest)).collect();
        while let Some(entry) = entries.pop() {
            if let Some(placed) = self.readable(entry)?
                && !take(placed)
            {
                break;
            }
        }
        Ok(())
    }

    fn each(&self, entries: Vec<OutboxEntry>) -> Result<Vec<Placed>, StoreError> {
        entries.into_iter().filter_map(|entry| self.readable(entry).transpose()).collect()
    }

    /// A message; one whose rows cannot be understood keeps no other from being read.
    fn readable(&self, entry: OutboxEntry) -> Result<Option<Placed>, StoreError> {
        match self.mail_at(entry) {
            Err(StoreError::Row { space, source }) => {
                tracing::error!(machine = %entry.machine, number = entry.number, space, %source, "a message cannot be read and is left out");
                Ok(None)
            }
            Ok(None) => {
                tracing::error!(machine = %entry.machine, number = entry.number, "a message stands in a mailbox and is not there");
                Ok(None)
            }
            found => found,
        }
    }
}
