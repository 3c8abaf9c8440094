//! A machine's log: what it alone decides or knows, as a hash chain cut into segments of a thousand entries, each segment a
//! document that only its machine writes. The outbox is cut the same way.

use automerge::{
    AutomergeError,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Document, map_in};
use crate::{
    error::StoreError,
    id::{AgentId, CallId, MachineId, OpenToken, PlaceId, TaskId},
    model::{By, CheckoutKind, Claim, EndHow, HostSession, Mailbox, OutboxEntry, Outcome, ProcessRef, WorktreeId},
    text::PathText,
    time::Timestamp,
};

pub(crate) const ENTRIES: &str = "e";

/// How many entries a segment has when it is sealed.
pub const SEGMENT_ENTRIES: u64 = 1_000;

/// What a machine says in its log. New facts are added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Who decides for a place from this epoch on.
    Seat {
        /// The place.
        place: PlaceId,
        /// The epoch.
        epoch: u64,
        /// The machine that decides.
        home: MachineId,
        /// The machines that may vote in a take-over of this epoch.
        electorate: Vec<MachineId>,
    },
    /// The folder of a place on this machine; none takes it back.
    Folder {
        /// The place.
        place: PlaceId,
        /// The folder.
        folder: Option<PathText>,
    },
    /// A fork's folder was made on this machine.
    Checkout {
        /// The fork.
        fork: PlaceId,
        /// The folder.
        path: PathText,
        /// Where the agent starts in it.
        start_in: PathText,
        /// How it was made.
        kind: CheckoutKind,
    },
    /// A fork's folder was removed from this machine.
    CheckoutRemoved {
        /// The fork.
        fork: PlaceId,
    },
    /// An agent is being launched.
    Launch {
        /// The agent.
        agent: AgentId,
        /// The kind it is launched as.
        kind: String,
        /// Where it will work.
        place: PlaceId,
        /// The epoch of the place's seat.
        epoch: u64,
        /// Who asked for it.
        by: By,
        /// The model asked for.
        model: Option<String>,
        /// The effort asked for.
        effort: Option<String>,
        /// Where it starts, when that is known already.
        folder: Option<PathText>,
    },
    /// A launched agent's process runs.
    Started {
        /// The agent.
        agent: AgentId,
        /// Its process.
        process: ProcessRef,
        /// The command that started it, without secrets.
        command: Vec<String>,
        /// Where it started.
        folder: PathText,
    },
    /// An agent ended.
    End {
        /// The agent.
        agent: AgentId,
        /// How.
        how: EndHow,
    },
    /// Somebody took a task in hand.
    Taken {
        /// The task.
        task: TaskId,
        /// The place whose queue handed it out.
        place: PlaceId,
        /// The epoch of that place's seat.
        epoch: u64,
        /// Who has it.
        holder: By,
        /// The call that took it.
        call: CallId,
        /// The open token that the taking puts, by which the task's own register names it.
        token: OpenToken,
    },
    /// A task in hand was given back.
    Released {
        /// The task.
        task: TaskId,
        /// The place whose queue had handed it out.
        place: PlaceId,
        /// The epoch of that place's seat.
        epoch: u64,
    },
    /// A fork was merged; this holds for ever.
    Merge {
        /// The fork.
        fork: PlaceId,
        /// Its parent.
        parent: PlaceId,
        /// The epoch of the fork's seat.
        epoch: u64,
        /// Who asked for it.
        by: By,
        /// How many tasks went over.
        moved: u32,
    },
    /// This machine goes on in the place of another, from whose backup it was restored. That one's log ended here, and its
    /// agents ended with it.
    Replaces {
        /// The other machine.
        machine: MachineId,
        /// Where its log ended.
        log: ChainEnd,
    },
    /// A slot of a schedule came.
    Fired {
        /// The task with the schedule.
        template: TaskId,
        /// The place it stood in.
        place: PlaceId,
        /// The epoch of that place's seat.
        epoch: u64,
        /// The slot.
        slot: Timestamp,
        /// What became of it.
        outcome: Outcome,
    },
    /// A host's session registered, or one that had is there again: whatever ended it before counts no more. For an agent that a
    /// node launched it says which session that is.
    Registered {
        /// The agent.
        agent: AgentId,
        /// Its session.
        session: HostSession,
        /// The agent whose sub-agent it is.
        parent: Option<AgentId>,
        /// The model it runs; none where nothing is said of it now.
        model: Option<String>,
        /// Where it works; none where nothing is said of it now.
        folder: Option<PathText>,
        /// The place of that folder.
        place: Option<PlaceId>,
    },
    /// An agent took messages over that wait for whoever works in its place, or that were left there unread by one that ended.
    Took {
        /// The agent.
        agent: AgentId,
        /// The messages.
        messages: Vec<OutboxEntry>,
    },
    /// Messages were handed to the one whose mailbox they are in, and that was acknowledged.
    Delivered {
        /// The mailbox.
        mailbox: Mailbox,
        /// The messages.
        messages: Vec<OutboxEntry>,
        /// Whether they were asked for, and so count as read; else they were pushed.
        read: bool,
    },
    /// A worktree of this machine is somebody's from now on, whoever had it before.
    WorktreeClaimed {
        /// Whose, and which.
        claim: Claim,
    },
    /// A worktree is nobody's any more: it is gone, or was given back.
    WorktreeReleased {
        /// Which.
        worktree: WorktreeId,
    },
}

/// One link of a chain: of a machine's log or of its outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<T> {
    /// Counts from 0 over all segments.
    pub number: u64,
    /// The hash of the entry before; zeros before the first.
    pub previous: [u8; 32],
    /// When it was written, by that machine's clock.
    pub at: Timestamp,
    /// What it says.
    pub fact: T,
}

/// Entries with their hashes.
pub type Hashed<T> = Vec<(Entry<T>, [u8; 32])>;

/// Where a chain ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEnd {
    /// How many entries it has.
    pub entries: u64,
    /// The hash of the last; zeros when there is none.
    pub hash: [u8; 32],
}

impl ChainEnd {
    /// The segment that the next entry goes to.
    pub fn segment(&self) -> u64 {
        self.entries / SEGMENT_ENTRIES
    }
}

/// The hash of an entry with these bytes.
pub fn entry_hash(bytes: &[u8]) -> [u8; 32] {
    blake3::derive_key("frith log entry 1", bytes)
}

/// Adds an entry to its segment.
pub(crate) fn add_entry(tx: &mut Transaction<'_>, number: u64, bytes: Vec<u8>) -> Result<(), AutomergeError> {
    let entries = map_in(tx, ENTRIES)?;
    tx.put(entries, entry_key(number), bytes)
}

fn entry_key(number: u64) -> String {
    format!("{:04}", number % SEGMENT_ENTRIES)
}

/// The entries of a segment in order, each checked to follow from the one before; `end` is where the chain ended before the
/// segment, and afterwards where it ends with it.
///
/// # Errors
/// An entry is missing, cannot be read, or does not follow.
pub fn follow<T: DeserializeOwned>(segment: &Document, end: &mut ChainEnd) -> Result<Hashed<T>, StoreError> {
    let broken = |number| StoreError::BrokenChain { number };
    let map = segment.map(ENTRIES).ok_or(broken(end.entries))?;
    let mut entries = Vec::new();
    for key in map.keys() {
        let number = end.entries;
        let bytes = map.bytes(&key).ok_or(broken(number))?;
        let entry: Entry<T> = postcard::from_bytes(&bytes).map_err(|_| broken(number))?;
        if key != entry_key(number) || entry.number != number || entry.previous != end.hash {
            return Err(broken(number));
        }
        *end = ChainEnd { entries: number + 1, hash: entry_hash(&bytes) };
        entries.push((entry, end.hash));
    }
    Ok(entries)
}

/// Where a chain ends with a segment, and when that entry was written, unchecked; none when the segment is empty.
///
/// # Errors
/// The entry cannot be read.
pub(crate) fn last_entry<T: DeserializeOwned>(segment: &Document) -> Result<Option<(ChainEnd, Timestamp)>, StoreError> {
    let Some(map) = segment.map(ENTRIES) else { return Ok(None) };
    let Some(bytes) = map.keys().last().and_then(|key| map.bytes(&key)) else { return Ok(None) };
    let entry: Entry<T> = postcard::from_bytes(&bytes).map_err(|source| StoreError::Row { space: "outboxes", source })?;
    Ok(Some((ChainEnd { entries: entry.number + 1, hash: entry_hash(&bytes) }, entry.at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{docs::About, id::Writer};

    fn machine() -> MachineId {
        MachineId::from_bytes([1; 8])
    }

    fn fact(n: u64) -> Fact {
        Fact::Folder { place: PlaceId::from_bytes([n as u8; 16]), folder: None }
    }

    /// A segment with these entries, each put under its key as it is given.
    fn segment(entries: &[(u64, Vec<u8>)]) -> Document {
        let (mut document, _) = Document::born(&About::Log { machine: machine(), segment: 0 }).unwrap();
        for (number, bytes) in entries {
            let writer = Writer::new(machine(), [1; 8]);
            document.edit(writer, Timestamp::from_ms(1), |tx, _| add_entry(tx, *number, bytes.clone())).unwrap();
        }
        document
    }

    fn chain(length: u64) -> Vec<(u64, Vec<u8>)> {
        let mut previous = [0; 32];
        let link = |number| {
            let entry = Entry { number, previous, at: Timestamp::from_ms(number as i64), fact: fact(number) };
            let bytes = postcard::to_stdvec(&entry).unwrap();
            previous = entry_hash(&bytes);
            (number, bytes)
        };
        (0..length).map(link).collect()
    }

    #[test]
    fn a_log_is_followed_to_its_end() {
        let (entries, mut end) = (chain(12), ChainEnd::default());
        let followed = follow::<Fact>(&segment(&entries), &mut end).unwrap();
        assert_eq!(followed.iter().map(|(entry, _)| entry.fact.clone()).collect::<Vec<_>>(), (0..12).map(fact).collect::<Vec<_>>());
        assert_eq!(end, ChainEnd { entries: 12, hash: entry_hash(&entries[11].1) });
        assert_eq!((ChainEnd { entries: 999, ..end }.segment(), ChainEnd { entries: 1_000, ..end }.segment()), (0, 1));
    }

    #[test]
    fn a_changed_an_exchanged_and_a_missing_entry_are_found() {
        let broken_at = |entries: &[(u64, Vec<u8>)]| match follow::<Fact>(&segment(entries), &mut ChainEnd::default()) {
            Err(StoreError::BrokenChain { number }) => number,
            other => panic!("{other:?}"),
        };
        let whole = chain(12);
        let mut changed = whole.clone();
        *changed[5].1.last_mut().unwrap() ^= 1;
        assert!(matches!(broken_at(&changed), 5 | 6), "itself or what follows it");
        let mut other = chain(12);
        let entry = Entry { number: 5, previous: [0; 32], at: Timestamp::from_ms(1), fact: fact(5) };
        other[5].1 = postcard::to_stdvec(&entry).unwrap();
        assert_eq!(broken_at(&other), 5);
        let mut missing = whole.clone();
        missing.remove(5);
        assert_eq!(broken_at(&missing), 5);
    }
}
