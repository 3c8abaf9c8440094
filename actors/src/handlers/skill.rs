//! Skills: added, listed, read, switched, removed. Only people change them; an agent reads those that are on where it works.

use frith_store::{
    error::Failure,
    id::{BlobHash, PlaceRef},
    model::{Place, Skill, SkillFile},
    refusal::{Refusal, What},
    rules::{
        place::can_write,
        skill::{PlannedFile, SKILL_FILE, SkillPlan, can_add, can_load, can_switch},
    },
    tx::Tx,
    view::View,
};

use super::{memory::keeper, task::name};
use crate::{
    api::skill::{self, Added, Loaded, Removed, SkillInfo, Skills, Switched},
    caller::{Caller, Who, parent_of},
};

/// Adds a skill, or a new version of one.
///
/// # Errors
/// The folder cannot be a skill.
pub fn add(tx: &mut Tx<'_>, caller: &Caller, request: &skill::Add) -> Result<Added, Failure> {
    let plan = can_add(&request.folder, &request.entries)?;
    let before = tx.skill(plan.name())?;
    let difference = Difference::between(before.as_ref().map_or(&[], |skill| &skill.files), plan.files());
    let unchanged = difference.is_empty() && before.as_ref().is_some_and(|skill| skill.description == plan.description());
    if !unchanged {
        tx.save_skill(plan.name(), plan.description(), plan.files(), &caller.by())?;
    }
    let skill = require(tx, plan.name())?;
    Ok(added(skill, before.is_none(), unchanged, difference, &plan))
}

fn added(skill: Skill, is_new: bool, unchanged: bool, difference: Difference, plan: &SkillPlan) -> Added {
    let Difference { new, changed, removed } = difference;
    let left_out = plan.left_out().to_vec();
    Added { skill, is_new, unchanged, new_files: new, changed_files: changed, removed_files: removed, left_out }
}

/// In what the files of two versions differ, by path.
#[derive(Debug, Default)]
struct Difference {
    new: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
}

impl Difference {
    fn between(before: &[SkillFile], after: &[PlannedFile]) -> Self {
        let mut difference = Self::default();
        for file in after {
            match before.iter().find(|one| one.path == file.path) {
                None => difference.new.push(file.path.clone()),
                Some(one) if one.hash == BlobHash::of(&file.bytes) && one.executable == file.executable => {}
                Some(_) => difference.changed.push(file.path.clone()),
            }
        }
        let is_gone = |one: &&SkillFile| !after.iter().any(|file| file.path == one.path);
        difference.removed = before.iter().filter(is_gone).map(|one| one.path.clone()).collect();
        difference
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Lists skills; for an agent those that are on where it works.
///
/// # Errors
/// The place that was named is none the caller may see.
pub fn list(view: &View<'_>, caller: &Caller, request: &skill::List) -> Result<Skills, Failure> {
    let place = switches_of(view, caller, request.workspace.as_ref())?;
    let mut skills = Vec::new();
    for skill in view.skills()? {
        let on = place.as_ref().map(|place| view.is_skill_on(place.id, &skill.name)).transpose()?;
        if on == Some(true) || !is_agent(caller) {
            skills.push(SkillInfo { skill, on });
        }
    }
    Ok(Skills { place: place.as_ref().map(name), skills })
}

/// The workspace whose switches count; none when a person named none and stands in none.
fn switches_of(view: &View<'_>, caller: &Caller, named: Option<&PlaceRef>) -> Result<Option<Place>, Failure> {
    match keeper(view, caller, named) {
        Err(Failure::Refused(refusal)) if matches!(*refusal, Refusal::NoPlaceHere { .. }) => Ok(None),
        found => found.map(Some),
    }
}

fn is_agent(caller: &Caller) -> bool {
    matches!(caller.who, Who::Agent { .. })
}

/// What a skill is, and which of its files is to be read.
///
/// # Errors
/// It is not known or not on for an agent, or has no such file.
pub fn meant(view: &View<'_>, caller: &Caller, request: &skill::Load) -> Result<(Loaded, BlobHash), Failure> {
    let skill = require(view, &request.name)?;
    let place = switches_of(view, caller, request.workspace.as_ref())?;
    let on = place.as_ref().map(|place| view.is_skill_on(place.id, &skill.name)).transpose()?;
    if let Some(place) = &place {
        can_load(place, &skill.name, on == Some(true), is_agent(caller))?;
    }
    let path = request.file.clone().unwrap_or_else(|| SKILL_FILE.to_owned());
    let unknown = || Refusal::Unknown { what: What::SkillFile, given: path.clone() };
    let hash = skill.files.iter().find(|file| file.path == path).ok_or_else(unknown)?.hash;
    Ok((Loaded { skill, place: place.as_ref().map(name), on, path, text: None, bytes: None }, hash))
}

/// Switches a skill in a workspace.
///
/// # Errors
/// It is not known, or the place has no switches of its own or takes no writes.
pub fn switch(tx: &mut Tx<'_>, caller: &Caller, skill: &str, named: Option<&PlaceRef>, on: bool) -> Result<Switched, Failure> {
    let place = caller.place(tx, named)?;
    let parent = parent_of(tx, &place)?;
    can_write(&place, parent.as_ref())?;
    can_switch(&place, parent.as_ref(), skill)?;
    let skill = require(tx, skill)?.name;
    let unchanged = tx.is_skill_on(place.id, &skill)? == on;
    if !unchanged {
        tx.switch_skill(place.id, &skill, on)?;
    }
    Ok(Switched { place: name(&place), name: skill, on, unchanged })
}

/// What removing a skill would take.
///
/// # Errors
/// It is not known.
pub fn removal(view: &View<'_>, request: &skill::Remove) -> Result<Removed, Failure> {
    let skill = require(view, &request.name)?;
    let mut on_in = Vec::new();
    for place in view.places()? {
        if place.parent().is_none() && place.is_live() && view.is_skill_on(place.id, &skill.name)? {
            on_in.push(name(&place));
        }
    }
    on_in.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Removed { name: skill.name, files: u32::try_from(skill.files.len()).unwrap_or(u32::MAX), on_in, done: false })
}

/// Removes a skill.
///
/// # Errors
/// It is not known.
pub fn remove(tx: &mut Tx<'_>, caller: &Caller, request: &skill::Remove) -> Result<Removed, Failure> {
    let removed = removal(tx, request)?;
    tx.remove_skill(&removed.name, &caller.by())?;
    Ok(Removed { done: true, ..removed })
}

fn require(view: &View<'_>, skill: &str) -> Result<Skill, Failure> {
    let found = view.skill(skill)?;
    Ok(found.ok_or_else(|| Refusal::Unknown { what: What::Skill, given: skill.to_owned() })?)
}
