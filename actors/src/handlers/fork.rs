//! Forks: making one, and giving a task one of its own.

use frith_store::{
    error::Failure,
    id::{PlaceId, PlaceRef, TaskId},
    model::{Place, PlaceKind},
    refusal::Refusal,
    rules::{
        fork::{ForkName, ForkPlan, can_be_forked, can_fork},
        moves::{Standing, can_move, can_spin_up},
    },
    tx::{NewPlace, Tx},
    view::View,
};

use serde::{Deserialize, Serialize};

use super::{task, workspace};
use crate::{
    api::{fork, workspace::PlaceInfo},
    caller::{Caller, parent_of},
};

/// Makes a fork of a workspace.
///
/// # Errors
/// The workspace cannot be forked, or the name is bad or taken.
pub fn create(tx: &mut Tx<'_>, caller: &Caller, request: &fork::Create, id: [u8; 16]) -> Result<PlaceInfo, Failure> {
    let place = caller.place(tx, request.workspace_id.as_ref())?;
    let name = request.name.as_deref().map_or(ForkName::AfterParent, ForkName::Asked);
    let plan = fork_plan(tx, &place, name)?;
    let fork = make(tx, caller, &plan, None, id)?;
    workspace::info(tx, caller.here, &fork)
}

fn fork_plan(view: &View<'_>, place: &Place, name: ForkName<'_>) -> Result<ForkPlan, Failure> {
    let holder = |name: &str| workspace::live_named(view, name).ok().flatten();
    Ok(can_fork(place, parent_of(view, place)?.as_ref(), name, &holder)?)
}

fn make(tx: &mut Tx<'_>, caller: &Caller, plan: &ForkPlan, task: Option<TaskId>, id: [u8; 16]) -> Result<Place, Failure> {
    let id = PlaceId::from_random(id);
    let (description, icon) = plan.looks();
    let new = NewPlace {
        id,
        kind: PlaceKind::Fork { parent: plan.parent() },
        name: plan.name().to_owned(),
        description: description.to_owned(),
        icon: icon.to_owned(),
        folder: None,
        spun_up_for: task,
    };
    tx.create_place(new, &caller.by())?;
    tx.require_place(id)
}

/// The fork somebody wants merged, also one that was merged before: its name is free again, and still found here.
///
/// # Errors
/// Nothing is meant, or the caller may not touch it.
pub fn find(view: &View<'_>, caller: &Caller, named: &PlaceRef) -> Result<Place, Failure> {
    match caller.place(view, Some(named)) {
        Err(Failure::Refused(refusal)) => match *refusal {
            Refusal::AlreadyMerged { fork, .. } => view.require_place(fork.id),
            other => Err(other.into()),
        },
        found => found,
    }
}

/// The fork a task was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskFork {
    /// The fork, with the task in it.
    pub fork: PlaceId,
    /// Its name.
    pub name: String,
    /// The task.
    pub task: TaskId,
    /// Whether an earlier try had made it.
    pub continued: bool,
}

/// What spinning a task up starts from, before anything is made.
///
/// # Errors
/// The task may not be spun up, or its place cannot be forked.
pub fn spin_up_from(view: &View<'_>, caller: &Caller, request: &fork::SpinUp) -> Result<Place, Failure> {
    let standing = task::find(view, caller, &request.task)?;
    if let Some(parent) = begun(&standing) {
        return Ok(parent);
    }
    can_spin_up(&standing.task)?;
    can_be_forked(&standing.place, standing.parent.as_ref())?;
    Ok(standing.place)
}

/// The parent, when the task stands already in the fork that was made for it.
fn begun(standing: &Standing) -> Option<Place> {
    (standing.place.spun_up_for == Some(standing.task.id)).then(|| standing.parent.clone()).flatten()
}

/// Makes the fork of a task and moves the task into it; what an earlier try left is used again.
///
/// # Errors
/// As [`spin_up_from`].
pub fn fork_for_task(tx: &mut Tx<'_>, caller: &Caller, request: &fork::SpinUp, id: [u8; 16]) -> Result<TaskFork, Failure> {
    let standing = task::find(tx, caller, &request.task)?;
    let task = standing.task.id;
    if begun(&standing).is_some() {
        return Ok(TaskFork { fork: standing.place.id, name: standing.place.name, task, continued: true });
    }
    spin_up_from(tx, caller, request)?;
    let earlier = tx.forks_of(standing.place.id)?.into_iter().find(|fork| fork.is_live() && fork.spun_up_for == Some(task));
    let continued = earlier.is_some();
    let fork = match earlier {
        Some(fork) => fork,
        None => make(tx, caller, &fork_plan(tx, &standing.place, ForkName::AfterTask(&standing.task))?, Some(task), id)?,
    };
    let parent = standing.place.clone();
    let plan = can_move(&[standing], &fork, Some(&parent), false)?;
    for (task, _) in plan.moving() {
        tx.move_task(*task, plan.to(), &caller.by())?;
    }
    Ok(TaskFork { fork: fork.id, name: fork.name, task, continued })
}
