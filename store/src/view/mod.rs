//! Typed reads of the view rows. Never a document: what is read here was derived when the document changed.
//!
//! A view lies over a read transaction, a state that was true at one moment, or over the open write transaction alike.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    docs::trash::Mark,
    error::StoreError,
    id::{BlobHash, CallId, MachineId, OpenToken, TaskId},
    model::{By, HostSession, Merged, Seat, Task},
    rows::{Key, Rows, Scan, Table, get_as, scan_prefix},
    time::Timestamp,
};

mod agents;
mod find;
mod local;
mod mail;
mod notes;
mod places;
mod queue;
mod schedules;
mod shared;
mod tasks;
mod work;
mod worktrees;

pub use local::StepRow;
pub(crate) use local::{CallRow, HELD, LocalSpace, SEEN, held_key, is_backed_up, unused_key};
pub use mail::{MailOrder, Placed};
pub(crate) use mail::{entry_key, mail_of_key, mailbox_key, sent_key, whose_key};
pub(crate) use notes::{NotePartRow, VersionRow, note_key};
pub(crate) use places::path_prefix;
pub use queue::{Candidates, TaskStream};
pub(crate) use queue::{Offer, offer_key, queue_key};
pub(crate) use schedules::fired_key;
pub(crate) use shared::skill_on_key;
pub(crate) use worktrees::claim_key;

/// The version of the rows below. When it differs from the one in the store, all views are built anew.
pub const VIEWS: u32 = 4;

/// Which rows: the first byte of a key. A space is never given another meaning; a new one gets a new byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Space {
    /// place → its document's registers
    Place = 1,
    /// place → [`SeatRow`]
    Seat,
    /// fork → [`MergedRow`]
    Merged,
    /// parent, fork → nothing
    ForkOf,
    /// place, fork merged into it → nothing
    MergedInto,
    /// name, 0, place → nothing, live places only
    Name,
    /// task → the key of its queue row
    Task,
    /// place, status, position, created, task → [`TaskRow`]
    Queue,
    /// place, class, position, created, task → nothing
    Offer,
    /// place → counts
    Counts,
    /// task → [`BodyRow`]
    Body,
    /// task, counter, writer, seq → message
    Message,
    /// task, counter, writer, seq → status change
    History,
    /// token → [`TakenRow`]
    Taken,
    /// hash of a holder, task → nothing
    Held,
    /// agent → agent
    Agent,
    /// agent → nothing, not ended ones only
    LiveAgent,
    /// place, agent → nothing, launched and not ended ones only
    AgentIn,
    /// machine, place → folder
    Folder,
    /// machine, path, 0, place → nothing
    FolderPath,
    /// fork, machine → checkout
    Checkout,
    /// machine → machine
    Machine,
    /// place, name, 0, part → [`NotePartRow`]
    NotePart,
    /// machine that is gone → [`ReplacedRow`]
    Replaced,
    /// task, time, writer, seq → attachment
    Attachment,
    /// task → nothing, those with a schedule only
    Scheduled,
    /// task, slot (the latest first), machine → what became of it
    Fired,
    /// place, when it was deleted, task → [`TaskRow`]
    Trash,
    /// place → [`RetiredRow`]
    Retired,
    /// place → [`crate::model::Revived`]
    Revived,
    /// name → skill
    Skill,
    /// place, name → nothing, skills that are on only
    SkillOn,
    /// place, address → site
    Site,
    /// hash of a machine and a host's session → the agent that it is
    Session,
    /// machine, number in its outbox → message
    Mail,
    /// message → [`crate::model::OutboxEntry`]
    MailId,
    /// machine, number in its outbox → what logs say of the message
    MailEvents,
    /// machine, number in its outbox → [`crate::model::Standing`]
    Standing,
    /// whose it is, stage, time, machine, number in its outbox → nothing
    Mailbox,
    /// whose it is → how many there are of each stage
    MailCounts,
    /// hash of a sender, time, machine, number in its outbox → nothing
    SentBy,
    /// agent on which it depends where the message is, machine, number in its outbox → nothing
    MailOf,
    /// machine, hash of git's record of a worktree → [`crate::model::Claimed`]
    Claim,
}

impl Space {
    pub(crate) fn key(self) -> Key {
        Key::new(self as u8)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Place => "places",
            Self::Seat => "seats",
            Self::Merged => "merges",
            Self::ForkOf => "forks",
            Self::MergedInto => "merged forks",
            Self::Name => "names",
            Self::Task => "tasks",
            Self::Queue => "queues",
            Self::Offer => "offers",
            Self::Counts => "counts",
            Self::Body => "bodies",
            Self::Message => "messages",
            Self::History => "history",
            Self::Taken => "takings",
            Self::Held => "held tasks",
            Self::Agent => "agents",
            Self::LiveAgent => "live agents",
            Self::AgentIn => "agents of places",
            Self::Folder => "folders",
            Self::FolderPath => "paths",
            Self::Checkout => "checkouts",
            Self::Machine => "machines",
            Self::NotePart => "notes",
            Self::Replaced => "replaced machines",
            Self::Attachment => "attachments",
            Self::Scheduled => "schedules",
            Self::Fired => "slots",
            Self::Trash => "trash",
            Self::Retired => "archived places",
            Self::Revived => "revived places",
            Self::Skill => "skills",
            Self::SkillOn => "switches of skills",
            Self::Site => "sites",
            Self::Session => "sessions",
            Self::Mail => "mail",
            Self::MailId => "messages sent",
            Self::MailEvents => "deliveries",
            Self::Standing => "mail's whereabouts",
            Self::Mailbox => "mailboxes",
            Self::MailCounts => "counts of mail",
            Self::SentBy => "mail by sender",
            Self::MailOf => "mail by agent",
            Self::Claim => "claims",
        }
    }
}

/// Who decides for a place, with what breaks a tie of epochs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeatRow {
    pub seat: Seat,
    pub entry: [u8; 32],
}

/// That a place was archived or deleted, with the tasks that were known then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetiredRow {
    pub at: Timestamp,
    pub by: By,
    /// In order.
    pub seen: Vec<Mark>,
}

/// That a fork was merged, with what decides between two merges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MergedRow {
    pub merged: Merged,
    pub epoch: u64,
    pub entry: [u8; 32],
}

/// That another machine goes on in the place of one, with what decides between two that do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplacedRow {
    pub by: MachineId,
    pub at: Timestamp,
    pub entry: [u8; 32],
}

/// A task as its queue row holds it: the record first, so that a list need not decode the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskRow {
    pub task: Task,
    pub open: Vec<OpenToken>,
    /// The taking that counts.
    pub taken: Option<OpenToken>,
    /// The highest counter in thread and history.
    pub counter: u64,
    /// When the latest message was written.
    pub latest: Timestamp,
}

/// A task's text as its view holds it: whole, so that reading needs nothing but the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BodyRow {
    Text(String),
    /// The text was not here, or damaged, when the row was derived.
    Missing {
        hash: BlobHash,
        damaged: bool,
    },
}

/// Who took a task, by the token of the taking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TakenRow {
    pub task: TaskId,
    pub holder: By,
    pub since: Timestamp,
    pub call: CallId,
}

/// What is known, at one moment.
#[derive(Clone, Copy)]
pub struct View<'a> {
    rows: &'a dyn Rows,
}

impl<'a> View<'a> {
    /// The views in these rows.
    pub fn over(rows: &'a dyn Rows) -> Self {
        Self { rows }
    }

    /// The rows themselves, for what compares them.
    pub fn rows(&self) -> &'a dyn Rows {
        self.rows
    }

    pub(crate) fn row<T: DeserializeOwned>(&self, space: Space, id: &[u8]) -> Result<Option<T>, StoreError> {
        get_as(self.rows, Table::Views, &space.key().bytes(id), space.word())
    }

    /// The rest of each key that begins with `prefix`.
    pub(crate) fn keys(&self, prefix: &Key) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut keys = Vec::new();
        let skip = prefix.as_slice().len();
        scan_prefix(self.rows, Table::Views, prefix, &mut |key, _| {
            keys.push(key[skip..].to_vec());
            Ok(Scan::On)
        })?;
        Ok(keys)
    }

    /// The 16-byte ids that follow `prefix` at the end of their keys.
    pub(crate) fn ids(&self, prefix: &Key, space: Space) -> Result<Vec<[u8; 16]>, StoreError> {
        self.keys(prefix)?.iter().map(|rest| crate::rows::id_at(rest, 0, space.word())).collect()
    }

    /// The values of every key that begins with `prefix`, decoded.
    fn values<T: DeserializeOwned>(&self, prefix: &Key, space: Space) -> Result<Vec<T>, StoreError> {
        let mut values = Vec::new();
        scan_prefix(self.rows, Table::Views, prefix, &mut |_, value| {
            values.push(crate::rows::decode(value, space.word())?);
            Ok(Scan::On)
        })?;
        Ok(values)
    }
}

/// The key under which the agent stands that a host's session on a machine is.
pub(crate) fn session_key(machine: MachineId, session: &HostSession) -> Result<Key, StoreError> {
    let bytes = postcard::to_stdvec(session).map_err(|source| StoreError::Row { space: Space::Session.word(), source })?;
    let mut hasher = blake3::Hasher::new_derive_key("frith session key 1");
    hasher.update(machine.as_bytes()).update(&bytes);
    Ok(Space::Session.key().bytes(&hasher.finalize().as_bytes()[..16]))
}

/// The key under which a holder's tasks stand.
pub(crate) fn holder_key(by: &By) -> Result<Key, StoreError> {
    let bytes = postcard::to_stdvec(by).map_err(|source| StoreError::Row { space: Space::Held.word(), source })?;
    Ok(Space::Held.key().bytes(&blake3::hash(&bytes).as_bytes()[..16]))
}
