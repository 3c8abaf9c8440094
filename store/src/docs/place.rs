//! A place's document: its registers. Its kind and its parent stand in the genesis; its seat, its folders and that it was
//! merged stand in the logs of machines.

use automerge::{
    AutomergeError, ROOT, ReadDoc as _, ScalarValue,
    transaction::{Transactable as _, Transaction},
};
use serde::{Deserialize, Serialize};

use super::{About, Document, Text, trash::Retirement};
use crate::{
    error::StoreError,
    id::{PlaceId, TaskId},
    model::{By, PlaceKind, Setting, Settings},
    time::Timestamp,
};

const NAME: &str = "name";
const DESCRIPTION: &str = "description";
const ICON: &str = "icon";
const ARCHIVED: &str = "archived";
const DELETED: &str = "deleted";
const CREATED: &str = "created";
const CREATED_BY: &str = "by";
const SPUN_UP_FOR: &str = "spun-up-for";
const RETIRED: &str = "retired";

/// What a place's document says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceState {
    /// The place.
    pub id: PlaceId,
    /// Its kind.
    pub kind: PlaceKind,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A short text or emoji.
    pub icon: String,
    /// Whether it is read-only.
    pub archived: bool,
    /// When it went to the trash, if it did.
    pub deleted: Option<Timestamp>,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub created_by: By,
    /// Its own settings.
    pub settings: Settings,
    /// The task it was spun up for.
    pub spun_up_for: Option<TaskId>,
}

impl PlaceState {
    /// Reads the registers, with `text` finding the long ones; none while the change that made the place has not arrived, or when this is no place's document.
    ///
    /// # Errors
    /// The document has no genesis.
    pub fn read(document: &Document, text: &dyn Fn(&Text) -> String) -> Result<Option<Self>, StoreError> {
        let About::Place { place, kind } = document.about()? else { return Ok(None) };
        let root = document.root();
        let (Some(name), Some(created), Some(created_by)) = (root.text(NAME), root.number(CREATED), root.record(CREATED_BY)) else {
            return Ok(None);
        };
        // A return from the archive or the trash that was written at once with a retirement wins: nothing is hidden by chance.
        let returned = retirements(document).iter().any(Option::is_none);
        Ok(Some(Self {
            id: place,
            kind,
            name,
            description: root.record(DESCRIPTION).as_ref().map(text).unwrap_or_default(),
            icon: root.text(ICON).unwrap_or_default(),
            archived: root.flag(ARCHIVED).unwrap_or_default() && !returned,
            deleted: root.number(DELETED).map(Timestamp::from_ms).filter(|_| !returned),
            created: Timestamp::from_ms(created),
            created_by,
            settings: read_settings(document, text),
            spun_up_for: root.id(SPUN_UP_FOR).map(TaskId::from_bytes),
        }))
    }
}

/// When and by whom the place was archived or deleted, and when it was brought back, as far as that was written at once.
pub fn retirements(document: &Document) -> Vec<Option<Retirement>> {
    document.root().records(RETIRED)
}

fn read_settings(document: &Document, text: &dyn Fn(&Text) -> String) -> Settings {
    let root = document.root();
    Settings {
        notifications: root.record(Setting::Notifications.key()).unwrap_or_default(),
        auto_allowed_tools: root.record(Setting::AutoAllowedTools.key()).unwrap_or_default(),
        allow_all_commands: root.record(Setting::AllowAllCommands.key()).unwrap_or_default(),
        clear_context: root.record(Setting::ClearContext.key()).unwrap_or_default(),
        self_learning_note: root.record(Setting::SelfLearningNote.key()).as_ref().map(text).unwrap_or_default(),
        send_delay_seconds: root.record(Setting::SendDelay.key()).unwrap_or_default(),
    }
}

/// The registers of those settings in which `new` differs from `old`, as key and bytes; `note` is the new note as a document
/// holds it.
pub(crate) fn changed_settings(
    document: &Document,
    old: &Settings,
    new: &Settings,
    note: &Text,
) -> Result<Vec<(&'static str, Vec<u8>)>, StoreError> {
    let bytes = |setting: Setting| match setting {
        Setting::Notifications => document.encode(&new.notifications),
        Setting::AutoAllowedTools => document.encode(&new.auto_allowed_tools),
        Setting::AllowAllCommands => document.encode(&new.allow_all_commands),
        Setting::ClearContext => document.encode(&new.clear_context),
        Setting::SelfLearningNote => document.encode(note),
        Setting::SendDelay => document.encode(&new.send_delay_seconds),
    };
    old.differing(new).into_iter().map(|setting| Ok((setting.key(), bytes(setting)?))).collect()
}

/// Writes what never changes after a place was made; `by` are the bytes of a [`By`].
pub(crate) fn give_birth(tx: &mut Transaction<'_>, at: Timestamp, by: Vec<u8>, spun_up_for: Option<TaskId>) -> Result<(), AutomergeError> {
    tx.put(ROOT, CREATED, at.ms())?;
    tx.put(ROOT, CREATED_BY, by)?;
    spun_up_for.map_or(Ok(()), |task| tx.put(ROOT, SPUN_UP_FOR, task.as_bytes().to_vec()))
}

pub(crate) fn set_name(tx: &mut Transaction<'_>, name: String) -> Result<(), AutomergeError> {
    tx.put(ROOT, NAME, name)
}

/// `description` are the bytes of a [`Text`].
pub(crate) fn set_description(tx: &mut Transaction<'_>, description: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, DESCRIPTION, description)
}

pub(crate) fn set_icon(tx: &mut Transaction<'_>, icon: String) -> Result<(), AutomergeError> {
    tx.put(ROOT, ICON, icon)
}

pub(crate) fn set_archived(tx: &mut Transaction<'_>, archived: bool) -> Result<(), AutomergeError> {
    tx.put(ROOT, ARCHIVED, archived)
}

pub(crate) fn set_deleted(tx: &mut Transaction<'_>, deleted: Option<Timestamp>) -> Result<(), AutomergeError> {
    match deleted {
        Some(at) => tx.put(ROOT, DELETED, at.ms()),
        None if tx.get(ROOT, DELETED)?.is_some() => tx.put(ROOT, DELETED, ScalarValue::Null),
        None => Ok(()),
    }
}

/// Says who archived or deleted the place and what they had seen; `retirement` are the bytes of a [`Retirement`].
pub(crate) fn set_retired(tx: &mut Transaction<'_>, retirement: Option<Vec<u8>>) -> Result<(), AutomergeError> {
    match retirement {
        Some(retirement) => tx.put(ROOT, RETIRED, retirement),
        None if tx.get(ROOT, RETIRED)?.is_some() => tx.put(ROOT, RETIRED, ScalarValue::Null),
        None => Ok(()),
    }
}

pub(crate) fn set_register(tx: &mut Transaction<'_>, key: &'static str, value: Vec<u8>) -> Result<(), AutomergeError> {
    tx.put(ROOT, key, value)
}
