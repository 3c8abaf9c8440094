//! Workspaces: making, listing, showing, changing, archiving, deleting.

use std::collections::BTreeMap;

use frith_store::{
    docs::log::Fact,
    error::Failure,
    id::{MachineId, PlaceId},
    model::{Counts, Place, PlaceKind, Settings},
    refusal::{FolderFault, Refusal},
    rules::{
        launch::agent_runs,
        named,
        place::{can_allow, can_be_rule, can_name, can_retire, can_revive, can_set, can_write, numbered},
        trash::DAYS_IN_TRASH,
    },
    text::{PathText, kebab},
    tx::{NewPlace, PlaceEdit, Tx},
    view::View,
};

use super::task::name;
use crate::{
    api::workspace::{self, PlaceInfo},
    caller::{Caller, parent_of},
};

/// A folder that was looked at: it exists and can be read, and is spelled without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealFolder(pub(crate) PathText);

/// Makes a workspace.
///
/// # Errors
/// The name is bad or taken, or the folder is another place's.
pub fn create(
    tx: &mut Tx<'_>,
    caller: &Caller,
    request: &workspace::Create,
    folder: Option<&RealFolder>,
    id: [u8; 16],
) -> Result<PlaceInfo, Failure> {
    let id = PlaceId::from_random(id);
    if let Some(folder) = folder {
        require_free(tx, caller.here, folder, id)?;
    }
    let holder = |name: &str| live_named(tx, name).ok().flatten();
    let name = match (&request.name, folder) {
        (Some(name), _) => can_name(name, holder(name.trim()).as_ref())?,
        (None, Some(folder)) => numbered(&folder_name(folder), &|name| holder(name).is_some()),
        (None, None) => can_name("", None)?,
    };
    let new = NewPlace {
        id,
        kind: PlaceKind::Workspace,
        name: name.into_string(),
        description: request.description.clone().unwrap_or_default(),
        icon: request.icon.clone().unwrap_or_default(),
        folder: folder.map(|folder| folder.0.clone()),
        spun_up_for: None,
    };
    tx.create_place(new, &caller.by())?;
    info(tx, caller.here, &tx.require_place(id)?)
}

fn folder_name(folder: &RealFolder) -> String {
    let last = folder.0.as_path().file_name().map(|name| kebab(&name.to_string_lossy())).unwrap_or_default();
    if last.is_empty() { "workspace".into() } else { last }
}

/// The live place that has a name.
///
/// # Errors
/// The rows cannot be read.
pub fn live_named(view: &View<'_>, name: &str) -> Result<Option<Place>, Failure> {
    for id in view.places_named(name)? {
        if let Some(place) = view.place(id)?.filter(Place::is_live) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

fn require_free(view: &View<'_>, here: MachineId, folder: &RealFolder, wanting: PlaceId) -> Result<(), Failure> {
    for (id, _) in view.folders(here)?.into_iter().filter(|(id, path)| *id != wanting && *path == folder.0) {
        // A place that was purged has left its folder in the log.
        let Some(place) = view.place(id)? else { continue };
        if place.is_live() {
            return Err(Refusal::BadFolder { path: folder.0.clone(), fault: FolderFault::Taken(named(&place)) }.into());
        }
    }
    Ok(())
}

/// Lists places, forks behind their parent.
///
/// # Errors
/// The rows cannot be read.
pub fn list(view: &View<'_>, caller: &Caller, request: &workspace::List) -> Result<workspace::Places, Failure> {
    let mut tops = Vec::new();
    let mut forks: BTreeMap<PlaceId, Vec<Place>> = BTreeMap::new();
    for place in view.places()? {
        let shown = request.all || (place.is_live() && !place.archived);
        if !shown || caller.may_touch(view, &place).is_err() {
            continue;
        }
        match place.parent().filter(|parent| caller.may_see(*parent)) {
            Some(parent) => forks.entry(parent).or_default().push(place),
            None => tops.push(place),
        }
    }
    tops.sort_by(|a, b| a.name.cmp(&b.name));
    let mut workspaces = Vec::new();
    for top in tops {
        let below = forks.remove(&top.id).unwrap_or_default();
        workspaces.push(info(view, caller.here, &top)?);
        for fork in sorted(below) {
            workspaces.push(info(view, caller.here, &fork)?);
        }
    }
    for fork in sorted(forks.into_values().flatten().collect()) {
        workspaces.push(info(view, caller.here, &fork)?);
    }
    Ok(workspace::Places { workspaces })
}

fn sorted(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_by(|a, b| a.name.cmp(&b.name));
    places
}

/// Shows one place.
///
/// # Errors
/// It is none the caller may see.
pub fn show(view: &View<'_>, caller: &Caller, request: &workspace::Show) -> Result<PlaceInfo, Failure> {
    info(view, caller.here, &caller.place(view, request.place.as_ref())?)
}

/// Changes a place's name, folder or settings.
///
/// # Errors
/// It takes no writes, a new value is none, or a setting is inherited.
pub fn set(tx: &mut Tx<'_>, caller: &Caller, request: &workspace::Set, folder: Option<&RealFolder>) -> Result<PlaceInfo, Failure> {
    let place = caller.place(tx, request.place.as_ref())?;
    let parent = parent_of(tx, &place)?;
    can_write(&place, parent.as_ref())?;
    let mut edit = PlaceEdit { description: request.description.clone(), icon: request.icon.clone(), ..PlaceEdit::default() };
    if let Some(new) = request.name.as_deref().filter(|name| name.trim() != place.name) {
        edit.name = Some(new_name(tx, &place, new)?);
    }
    let before = parent.as_ref().map_or(&place.settings, |parent| &parent.settings);
    for rule in request.auto_allowed_tools.iter().flat_map(|rules| &rules.0) {
        can_be_rule(rule)?;
    }
    let wanted = wanted_settings(request, before.clone());
    let asks_settings = asks_settings(request);
    edit.settings = can_set(&place, parent.as_ref(), wanted)?.map(frith_store::rules::place::SettingsPlan::into_settings);
    let new_folder = folder.map(|folder| choose_folder(tx, caller.here, &place, folder)).transpose()?.flatten();
    let asks = asks_settings || folder.is_some() || request.name.is_some() || request.description.is_some() || request.icon.is_some();
    if !asks {
        return Err(Refusal::NothingToChange.into());
    }
    if edit != PlaceEdit::default() {
        tx.set_place(place.id, edit, &caller.by())?;
    }
    if let Some(path) = new_folder {
        tx.append(Fact::Folder { place: place.id, folder: Some(path) })?;
    }
    info(tx, caller.here, &tx.require_place(place.id)?)
}

/// Adds a permission rule to a workspace's, or takes one away.
///
/// # Errors
/// It takes no writes, the text is no rule, or the rule to be taken away is not there.
pub fn allow(tx: &mut Tx<'_>, caller: &Caller, request: &workspace::Allow) -> Result<PlaceInfo, Failure> {
    let place = caller.place(tx, request.workspace.as_ref())?;
    let parent = parent_of(tx, &place)?;
    let plan = can_allow(&place, parent.as_ref(), &request.rule, request.remove)?;
    let holder = plan.place();
    if let Some(settings) = plan.into_settings() {
        tx.set_place(holder, PlaceEdit { settings: Some(settings), ..PlaceEdit::default() }, &caller.by())?;
    }
    info(tx, caller.here, &tx.require_place(holder)?)
}

fn new_name(view: &View<'_>, place: &Place, name: &str) -> Result<String, Failure> {
    if place.kind == PlaceKind::Supervisor {
        return Err(Refusal::Supervisor { verb: "renamed".into() }.into());
    }
    Ok(can_name(name, live_named(view, name.trim())?.as_ref())?.into_string())
}

fn choose_folder(view: &View<'_>, here: MachineId, place: &Place, folder: &RealFolder) -> Result<Option<PathText>, Failure> {
    if place.parent().is_some() {
        return Err(Refusal::ForkFolder { fork: named(place) }.into());
    }
    require_free(view, here, folder, place.id)?;
    let same = view.folder(place.id, here)?.is_some_and(|path| path == folder.0);
    Ok((!same).then(|| folder.0.clone()))
}

fn asks_settings(request: &workspace::Set) -> bool {
    request.notifications.is_some()
        || request.auto_allowed_tools.is_some()
        || request.allow_all_commands.is_some()
        || request.clear_context.is_some()
        || request.self_learning_note.is_some()
        || request.send_delay_seconds.is_some()
}

fn wanted_settings(request: &workspace::Set, now: Settings) -> Settings {
    Settings {
        notifications: request.notifications.clone().map_or(now.notifications, |list| list.0),
        auto_allowed_tools: request.auto_allowed_tools.clone().map_or(now.auto_allowed_tools, |list| list.0),
        allow_all_commands: request.allow_all_commands.unwrap_or(now.allow_all_commands),
        clear_context: request.clear_context.unwrap_or(now.clear_context),
        self_learning_note: request.self_learning_note.clone().unwrap_or(now.self_learning_note),
        send_delay_seconds: request.send_delay_seconds.unwrap_or(now.send_delay_seconds),
    }
}

/// Archives a workspace.
///
/// # Errors
/// It is a fork, has forks, is the supervisor workspace, or an agent works there.
pub fn archive(tx: &mut Tx<'_>, caller: &Caller, request: &workspace::Archive) -> Result<PlaceInfo, Failure> {
    let place = retiring(tx, caller, &request.place, "archived")?;
    if !place.archived {
        tx.set_place(place.id, PlaceEdit { archived: Some(true), ..PlaceEdit::default() }, &caller.by())?;
    }
    info(tx, caller.here, &tx.require_place(place.id)?)
}

/// Makes a workspace writable again, or takes it out of the trash.
///
/// # Errors
/// It is neither archived nor deleted, or its name or its folder was taken meanwhile.
pub fn unarchive(tx: &mut Tx<'_>, caller: &Caller, request: &workspace::Unarchive) -> Result<PlaceInfo, Failure> {
    let place = match caller.place(tx, Some(&request.place)) {
        Err(Failure::Refused(refusal)) => match *refusal {
            Refusal::InTrash { place } => tx.require_place(place.id)?,
            other => return Err(other.into()),
        },
        found => found?,
    };
    can_revive(&place, live_named(tx, &place.name)?.as_ref())?;
    if let Some(folder) = tx.folder(place.id, caller.here)? {
        require_free(tx, caller.here, &RealFolder(folder), place.id)?;
    }
    let edit = PlaceEdit { archived: Some(false), deleted: Some(None), ..PlaceEdit::default() };
    tx.set_place(place.id, edit, &caller.by())?;
    info(tx, caller.here, &tx.require_place(place.id)?)
}

/// What deleting a workspace takes with it; decided again when it is done.
///
/// # Errors
/// As [`archive`].
pub fn deletion(view: &View<'_>, caller: &Caller, request: &workspace::Delete) -> Result<workspace::Deleted, Failure> {
    let place = retiring(view, caller, &request.place, "deleted")?;
    let tasks = view.counts(place.id)?;
    Ok(workspace::Deleted { id: place.id, name: place.name, tasks, days_in_trash: DAYS_IN_TRASH, done: false })
}

/// Puts a workspace into the trash.
///
/// # Errors
/// As [`archive`].
pub fn delete(tx: &mut Tx<'_>, caller: &Caller, request: &workspace::Delete) -> Result<workspace::Deleted, Failure> {
    let plan = deletion(tx, caller, request)?;
    let now = tx.now();
    tx.set_place(plan.id, PlaceEdit { deleted: Some(Some(now)), ..PlaceEdit::default() }, &caller.by())?;
    Ok(workspace::Deleted { done: true, ..plan })
}

fn retiring(view: &View<'_>, caller: &Caller, named_as: &frith_store::id::PlaceRef, verb: &str) -> Result<Place, Failure> {
    let place = caller.place(view, Some(named_as))?;
    let forks: Vec<Place> = view.forks_of(place.id)?.into_iter().filter(Place::is_live).collect();
    can_retire(&place, &forks, verb)?;
    frith_store::rules::seat::can_decide(&place, caller.here)?;
    match view.agent_in(place.id)? {
        Some(agent) => Err(agent_runs(&place, &agent).into()),
        None => Ok(place),
    }
}

/// Everything a reply says of a place.
///
/// # Errors
/// The rows cannot be read.
pub fn info(view: &View<'_>, here: MachineId, place: &Place) -> Result<PlaceInfo, Failure> {
    let parent = parent_of(view, place)?;
    let forks = view.forks_of(place.id)?.into_iter().filter(Place::is_live);
    let checkouts = view.checkouts(place.id)?;
    let tasks = if place.merged.is_some() { Counts::default() } else { view.counts(place.id)? };
    Ok(PlaceInfo {
        id: place.id,
        name: place.name.clone(),
        label: view.label(place)?,
        kind: place.kind,
        description: place.description.clone(),
        icon: place.icon.clone(),
        fork_of_id: place.parent(),
        fork_of: parent.as_ref().map(|parent| parent.name.clone()),
        forks: forks.map(|fork| name(&fork)).collect(),
        archived: place.archived,
        deleted: place.deleted,
        revived: place.revived.clone(),
        merged: place.merged.clone(),
        created: place.created,
        created_by: place.created_by.clone(),
        home: home(view, place)?,
        folder: folder_here(view, here, place, &checkouts)?,
        settings: view.effective_settings(place)?,
        settings_from: parent.as_ref().map(name),
        unfinished_tasks: tasks.unfinished(),
        tasks,
        agent: view.agent_in(place.id)?.map(|agent| workspace::AgentHere {
            id: agent.id,
            running: agent.is_running(),
            since: agent.started,
            kind: agent.host,
        }),
        checkouts,
    })
}

fn home(view: &View<'_>, place: &Place) -> Result<workspace::Home, Failure> {
    let id = place.seat.home;
    let name = view.machine(id)?.map(|machine| machine.name);
    Ok(workspace::Home { id, name: name.unwrap_or_else(|| id.short()), epoch: place.seat.epoch })
}

fn folder_here(
    view: &View<'_>,
    here: MachineId,
    place: &Place,
    checkouts: &[frith_store::model::Checkout],
) -> Result<Option<PathText>, Failure> {
    if place.parent().is_none() {
        return Ok(view.folder(place.id, here)?);
    }
    let here = checkouts.iter().find(|one| one.machine == here && one.removed.is_none());
    Ok(here.map(|checkout| checkout.path.clone()))
}
