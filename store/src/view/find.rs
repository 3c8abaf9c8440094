//! What somebody meant by a name, an id or the beginning of one. Too short, unknown and ambiguous are three answers.

use std::ops::Bound;

use super::{Space, View};
use crate::{
    error::{Failure, StoreError},
    id::{AgentId, AgentRef, MachineId, MachineRef, MessageId, MessageRef, NoPrefix, PlaceId, PlaceRef, Prefix, TaskId, TaskRef},
    model::{HeldMessage, Place},
    refusal::{Refusal, What},
    rows::{Scan, Table},
};

impl View<'_> {
    /// The place somebody named: by its exact name, which wins, by its id or by the beginning of its id, or by its label. A
    /// merged or deleted place has no name any more.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_place(&self, named: &PlaceRef) -> Result<PlaceId, Failure> {
        if let Some((name, machine)) = named.0.split_once('@') {
            return self.find_labelled(&named.0, name, machine);
        }
        match self.places_named(&named.0)?.as_slice() {
            [] => self.find(What::Place, Space::Place, &named.0).map(PlaceId::from_bytes),
            [one] => Ok(*one),
            several => Err(ambiguous(What::Place, &named.0, several.iter().map(ToString::to_string).collect())),
        }
    }

    /// The place that a label names, as [`View::label`] gives it.
    fn find_labelled(&self, given: &str, name: &str, machine: &str) -> Result<PlaceId, Failure> {
        let (machine, id) = machine.split_once('~').map_or((machine, ""), |(machine, id)| (machine, id));
        let mut found = Vec::new();
        for place in self.places_named(name)? {
            if self.home_name(place)?.is_some_and(|home| home == machine) && place.to_string().starts_with(id) {
                found.push(place);
            }
        }
        match found.as_slice() {
            [] => Err(unknown(What::Place, given)),
            [one] => Ok(*one),
            several => Err(ambiguous(What::Place, given, several.iter().map(ToString::to_string).collect())),
        }
    }

    /// What names a place and no other: its name alone where no other live place has it, else with its home machine, and with
    /// its id where even that is not enough (machines.md, "Names").
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn label(&self, place: &Place) -> Result<String, StoreError> {
        let mut others = self.places_named(&place.name)?;
        others.retain(|other| *other != place.id);
        if others.is_empty() || !place.is_live() {
            return Ok(place.name.clone());
        }
        let home = self.home_name(place.id)?.unwrap_or_else(|| place.seat.home.short());
        for other in others {
            if self.home_name(other)?.as_deref() == Some(home.as_str()) {
                return Ok(format!("{}@{home}~{}", place.name, place.id.short()));
            }
        }
        Ok(format!("{}@{home}", place.name))
    }

    fn home_name(&self, place: PlaceId) -> Result<Option<String>, StoreError> {
        let Some(place) = self.place(place)? else { return Ok(None) };
        let machine = self.machine(place.seat.home)?;
        Ok(Some(machine.map_or_else(|| place.seat.home.short(), |machine| machine.name)))
    }

    /// The task somebody named by its id or the beginning of it.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_task(&self, named: &TaskRef) -> Result<TaskId, Failure> {
        self.find(What::Task, Space::Task, &named.0).map(TaskId::from_bytes)
    }

    /// The agent somebody named by its id or the beginning of it.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_agent(&self, named: &AgentRef) -> Result<AgentId, Failure> {
        self.find(What::Agent, Space::Agent, &named.0).map(AgentId::from_bytes)
    }

    /// The message that is held back which somebody named by its id or the beginning of it.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_held(&self, named: &MessageRef) -> Result<HeldMessage, Failure> {
        let prefix = prefix(What::Message, &named.0)?;
        let mut found: Vec<_> = self.held_messages()?.into_iter().filter(|message| prefix.matches(message.id.as_bytes())).collect();
        match (found.pop(), found.is_empty()) {
            (None, _) => Err(unknown(What::Message, &named.0)),
            (Some(one), true) => Ok(one),
            (Some(last), false) => {
                let ids = found.iter().chain([&last]).map(|message| message.id.to_string()).collect();
                Err(ambiguous(What::Message, &named.0, ids))
            }
        }
    }

    /// The message that was sent which somebody named by its id or the beginning of it.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_mail(&self, named: &MessageRef) -> Result<MessageId, Failure> {
        self.find(What::Message, Space::MailId, &named.0).map(MessageId::from_bytes)
    }

    /// The machine somebody named: by its exact name, which wins, by its id or by the beginning of its id.
    ///
    /// # Errors
    /// Refused when it is too short, unknown or ambiguous.
    pub fn find_machine(&self, named: &MachineRef) -> Result<MachineId, Failure> {
        let machines = self.machines()?;
        let by_name: Vec<MachineId> = machines.iter().filter(|machine| machine.name == named.0).map(|machine| machine.id).collect();
        let found = if by_name.is_empty() {
            let prefix = prefix(What::Machine, &named.0)?;
            machines.iter().map(|machine| machine.id).filter(|id| prefix.matches(id.as_bytes())).collect()
        } else {
            by_name
        };
        match found.as_slice() {
            [] => Err(unknown(What::Machine, &named.0)),
            [one] => Ok(*one),
            several => Err(ambiguous(What::Machine, &named.0, several.iter().map(ToString::to_string).collect())),
        }
    }

    fn find(&self, what: What, space: Space, given: &str) -> Result<[u8; 16], Failure> {
        let found = self.matching(space, &prefix(what, given)?)?;
        match found.as_slice() {
            [] => Err(unknown(what, given)),
            [one] => Ok(*one),
            several => Err(ambiguous(what, given, several.iter().map(|id| uuid::Uuid::from_bytes(*id).to_string()).collect())),
        }
    }

    fn matching(&self, space: Space, prefix: &Prefix) -> Result<Vec<[u8; 16]>, StoreError> {
        let first = space.key().bytes(&prefix.first());
        let end = space.key().bytes(&prefix.last()).end();
        let mut found = Vec::new();
        self.rows.scan(Table::Views, Bound::Included(first.as_slice()), &end, &mut |key, _| {
            found.push(crate::rows::id_at(key, 1, space.word())?);
            Ok(Scan::On)
        })?;
        Ok(found)
    }
}

fn prefix(what: What, given: &str) -> Result<Prefix, Failure> {
    Prefix::parse(given).map_err(|fault| match fault {
        NoPrefix::TooShort => Refusal::TooShort { what, given: given.to_owned() }.into(),
        NoPrefix::NotAnId => unknown(what, given),
    })
}

fn unknown(what: What, given: &str) -> Failure {
    Refusal::Unknown { what, given: given.to_owned() }.into()
}

fn ambiguous(what: What, given: &str, ids: Vec<String>) -> Failure {
    Refusal::Ambiguous { what, given: given.to_owned(), ids }.into()
}
