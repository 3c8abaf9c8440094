//! Making and changing places, and founding the team.

use super::Tx;
use crate::{
    docs::{
        About,
        log::Fact,
        place,
        team::{self, Member, SignedMember, supervisor_of},
        trash::{Retirement, written},
    },
    error::StoreError,
    id::{PlaceId, TaskId, TeamId},
    model::{By, PlaceKind, Role, Settings},
    text::PathText,
    time::Timestamp,
    view::LocalSpace,
};

/// A place to make.
#[derive(Debug, Clone)]
pub struct NewPlace {
    /// Its id.
    pub id: PlaceId,
    /// Workspace, fork or supervisor.
    pub kind: PlaceKind,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A short text or emoji.
    pub icon: String,
    /// Its folder on this machine.
    pub folder: Option<PathText>,
    /// The task it is spun up for.
    pub spun_up_for: Option<TaskId>,
}

/// What to change of a place; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceEdit {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// A short text or emoji.
    pub icon: Option<String>,
    /// Whether it is read-only.
    pub archived: Option<bool>,
    /// When it went to the trash; `Some(None)` takes it back.
    pub deleted: Option<Option<Timestamp>>,
    /// All its own settings; only those that differ are written.
    pub settings: Option<Settings>,
}

impl Tx<'_> {
    /// Founds the team of a machine that is in none: its document with this machine as admin, and the supervisor workspace.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn found_team(&mut self, team: TeamId, machine_name: &str, by: &By) -> Result<(), StoreError> {
        self.add_itself(team, Role::Admin, machine_name)?;
        self.put_local(&LocalSpace::Team.key(), "team", &team)?;
        self.create_place(
            NewPlace {
                id: supervisor_of(team),
                kind: PlaceKind::Supervisor,
                name: "supervisor".into(),
                description: String::new(),
                icon: String::new(),
                folder: None,
                spun_up_for: None,
            },
            by,
        )
    }

    /// Makes this machine a member by its own word, where nobody else is there to give one.
    pub(super) fn add_itself(&mut self, team: TeamId, role: Role, name: &str) -> Result<(), StoreError> {
        let about = About::Team { team };
        let (machine, now, writer) = (self.machine(), self.now, self.writer());
        let signer = std::sync::Arc::clone(&self.desk.identity.signer);
        let mut document = self.document_or_new(&about)?;
        let member = Member { team, public_key: signer.public_key(), role, joined: now, granted_by: machine };
        let signature = signer.sign(&team::signed_bytes(&document.encode(&member)?)).to_vec();
        let record = document.encode(&SignedMember { member, signature })?;
        let change = document.edit(writer, now, |tx, _| {
            team::add_member(tx, machine, record)?;
            team::set_name(tx, machine, name)
        })?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        Ok(())
    }

    /// Makes a place, with its seat: epoch 1, this machine, the members that are known.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn create_place(&mut self, new: NewPlace, by: &By) -> Result<(), StoreError> {
        let about = About::Place { place: new.id, kind: new.kind };
        let (now, writer) = (self.now, self.writer());
        let mut document = self.document_or_new(&about)?;
        let by = document.encode(by)?;
        let description = document.encode(&self.text(&new.description)?)?;
        let change = document.edit(writer, now, |tx, _| {
            place::give_birth(tx, now, by, new.spun_up_for)?;
            place::set_description(tx, description)?;
            place::set_icon(tx, new.icon)?;
            place::set_name(tx, new.name)
        })?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        let electorate = self.members()?.into_iter().map(|machine| machine.id).collect();
        let home = self.machine();
        self.append(Fact::Seat { place: new.id, epoch: 1, home, electorate })?;
        match new.folder {
            Some(folder) => self.append(Fact::Folder { place: new.id, folder: Some(folder) }),
            None => Ok(()),
        }
    }

    /// Changes a place's registers.
    ///
    /// # Errors
    /// The place is not known, or something could not be written.
    pub fn set_place(&mut self, id: PlaceId, edit: PlaceEdit, by: &By) -> Result<(), StoreError> {
        let old = self.place(id)?;
        let about = About::Place { place: id, kind: old.as_ref().map_or(PlaceKind::Workspace, |place| place.kind) };
        let old = old.map(|place| place.settings).unwrap_or_default();
        let (now, writer) = (self.now, self.writer());
        let mut document = self.document(&about)?;
        let settings = match edit.settings.map(Settings::canonical) {
            Some(new) => place::changed_settings(&document, &old, &new, &self.text(&new.self_learning_note)?)?,
            None => Vec::new(),
        };
        let description = edit.description.map(|description| document.encode(&self.text(&description)?)).transpose()?;
        let retires = edit.archived == Some(true) || matches!(edit.deleted, Some(Some(_)));
        let returns = edit.archived == Some(false) || edit.deleted == Some(None);
        let retirement = if retires { Some(document.encode(&self.retirement(id, by)?)?) } else { None };
        let change = document.edit(writer, now, |tx, _| {
            edit.name.map_or(Ok(()), |name| place::set_name(tx, name))?;
            description.map_or(Ok(()), |description| place::set_description(tx, description))?;
            edit.icon.map_or(Ok(()), |icon| place::set_icon(tx, icon))?;
            edit.archived.map_or(Ok(()), |archived| place::set_archived(tx, archived))?;
            edit.deleted.map_or(Ok(()), |deleted| place::set_deleted(tx, deleted))?;
            if retires || returns {
                place::set_retired(tx, retirement)?;
            }
            settings.into_iter().try_for_each(|(key, value)| place::set_register(tx, key, value))
        })?;
        self.keep(&about, &document, change)?;
        self.deriver().document(&document)?;
        self.put_back(document);
        Ok(())
    }

    /// What is known of a place's work when it is archived or deleted: whatever else there is brings it back.
    fn retirement(&self, place: PlaceId, by: &By) -> Result<Retirement, StoreError> {
        let marks: Vec<_> = self.marks(place)?.into_iter().map(|(_, mark)| mark).collect();
        Ok(Retirement { at: self.now, by: by.clone(), seen: self.text(&written(&marks))? })
    }
}
