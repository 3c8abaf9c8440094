//! The trash: tasks that go there, come back, and after their days go for good with the places that were deleted.

use frith_store::{
    error::Failure,
    id::{PlaceId, TaskId, TaskRef},
    model::Task,
    rules::{
        moves::Standing,
        trash::{DAYS_IN_TRASH, can_delete, can_restore},
    },
    time::Timestamp,
    tx::Tx,
    view::View,
};

use super::{schedule, task::find};
use crate::{api::task, caller::Caller};

/// What deleting tasks would take; decided again when it is done.
///
/// # Errors
/// One of them may not go, so none does.
pub fn deletion(view: &View<'_>, caller: &Caller, request: &task::Delete) -> Result<task::DeletedTasks, Failure> {
    let plan = can_delete(&standings(view, caller, &request.tasks)?)?;
    Ok(task::DeletedTasks { tasks: records(view, plan.tasks())?, days_in_trash: DAYS_IN_TRASH, done: false })
}

/// Puts tasks into the trash.
///
/// # Errors
/// As [`deletion`].
pub fn delete(tx: &mut Tx<'_>, caller: &Caller, request: &task::Delete) -> Result<task::DeletedTasks, Failure> {
    let plan = can_delete(&standings(tx, caller, &request.tasks)?)?;
    for id in plan.tasks() {
        tx.delete_task(*id, &caller.by())?;
    }
    Ok(task::DeletedTasks { tasks: records(tx, plan.tasks())?, days_in_trash: DAYS_IN_TRASH, done: true })
}

/// Takes tasks out of the trash.
///
/// # Errors
/// One of them is not there, or its place takes no writes, so none comes back.
pub fn restore(tx: &mut Tx<'_>, caller: &Caller, request: &task::Restore) -> Result<task::RestoredTasks, Failure> {
    let plan = can_restore(&standings(tx, caller, &request.tasks)?)?;
    for id in plan.tasks() {
        tx.restore_task(*id)?;
        schedule::goes_on(tx, *id, &caller.by())?;
    }
    Ok(task::RestoredTasks { tasks: records(tx, plan.tasks())? })
}

fn standings(view: &View<'_>, caller: &Caller, named: &[TaskRef]) -> Result<Vec<Standing>, Failure> {
    named.iter().map(|task| find(view, caller, task)).collect()
}

fn records(view: &View<'_>, tasks: &[TaskId]) -> Result<Vec<Task>, Failure> {
    tasks.iter().map(|id| view.require_task(*id)).collect()
}

/// Takes those of these tasks away for good that are in the trash since before `before`, or whose place `place` is.
///
/// # Errors
/// The store broke.
pub fn purge_tasks(tx: &mut Tx<'_>, tasks: &[TaskId], place: Option<PlaceId>, before: Timestamp) -> Result<(), Failure> {
    if place.map_or(Ok(false), |place| is_over(tx, place, before).map(|over| !over))? {
        return Ok(());
    }
    for id in tasks {
        let Some(task) = tx.task(*id)? else { continue };
        let own = task.deleted.is_some_and(|trashed| trashed.at < before);
        let with_place = place.map_or(Ok(false), |place| Ok::<_, Failure>(tx.resolve(task.place)? == place))?;
        if own || with_place {
            tx.purge_task(*id)?;
        }
    }
    Ok(())
}

/// Takes a place away for good that is in the trash since before `before` and has no task any more.
///
/// # Errors
/// The store broke.
pub fn purge_place(tx: &mut Tx<'_>, place: PlaceId, before: Timestamp) -> Result<(), Failure> {
    if is_over(tx, place, before)? && tx.all_tasks(place)?.is_empty() {
        tx.purge_place(place)?;
    }
    Ok(())
}

fn is_over(view: &View<'_>, place: PlaceId, before: Timestamp) -> Result<bool, Failure> {
    Ok(view.place(place)?.is_some_and(|place| place.deleted.is_some_and(|at| at < before)))
}
