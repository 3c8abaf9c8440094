//! The trash: tasks that go there, come back, and after their days go for good with the places that were deleted.

use std::collections::BTreeMap;

use frith_store::{
    error::Failure,
    id::{PlaceId, TaskId, TaskRef},
    model::{HeldFor, Task},
    rules::{
        moves::Standing,
        trash::{DAYS_IN_TRASH, Look, Noted, can_delete, can_restore, emptied_before, look},
    },
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
        send_held(tx, *id)?;
        tx.delete_task(*id, &caller.by())?;
    }
    Ok(task::DeletedTasks { tasks: records(tx, plan.tasks())?, days_in_trash: DAYS_IN_TRASH, done: true })
}

/// A reply that was acknowledged and is held back goes along with its thread, and comes back with it.
fn send_held(tx: &mut Tx<'_>, task: TaskId) -> Result<(), Failure> {
    for message in tx.held_messages()?.into_iter().filter(|message| message.to == HeldFor::Thread(task)) {
        tx.add_message(task, &message.text, &message.by)?;
        tx.release_message(&message)?;
    }
    Ok(())
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

/// What is in the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A task.
    Task(TaskId),
    /// A place, with all its tasks.
    Place(PlaceId),
}

impl Item {
    fn key(self) -> Vec<u8> {
        match self {
            Self::Task(id) => [&[1], &id.as_bytes()[..]].concat(),
            Self::Place(id) => [&[2], &id.as_bytes()[..]].concat(),
        }
    }
}

/// Looks at everything in the trash, notes what there is to note, and answers what goes for good.
///
/// # Errors
/// The store broke.
pub fn look_through(tx: &mut Tx<'_>) -> Result<Vec<Item>, Failure> {
    let now = tx.now();
    let tasks = tx.tasks_deleted_before(emptied_before(now))?.into_iter().map(|(id, at)| (Item::Task(id), at, at));
    let places = tx.places_deleted()?.into_iter().map(|(id, at)| (Item::Place(id), at, now));
    let mut notes: BTreeMap<Vec<u8>, Noted> = tx.trash_notes()?.into_iter().collect();
    let mut due = Vec::new();
    for (item, deleted, since) in tasks.chain(places) {
        let known = notes.remove(&item.key());
        match look(deleted, known.unwrap_or(Noted { since, due: None }), now) {
            Look::Purge => due.push(item),
            Look::Note(noted) if known != Some(noted) => tx.note_trash(&item.key(), Some(noted))?,
            Look::Note(_) => {}
        }
    }
    // What is left was taken out of the trash.
    notes.keys().try_for_each(|key| tx.note_trash(key, None))?;
    Ok(due)
}

/// Takes those of these tasks away for good that are still in the trash.
///
/// # Errors
/// The store broke.
pub fn purge_tasks(tx: &mut Tx<'_>, tasks: &[TaskId]) -> Result<(), Failure> {
    for id in tasks {
        if tx.task(*id)?.is_some_and(|task| task.deleted.is_some()) {
            tx.purge_task(*id)?;
            tx.note_trash(&Item::Task(*id).key(), None)?;
        }
    }
    Ok(())
}

/// Takes the first so many tasks of a place away for good, and then the place, if it is still in the trash. Answers whether
/// there is more of it.
///
/// # Errors
/// The store broke.
pub fn purge_place(tx: &mut Tx<'_>, place: PlaceId, most: usize) -> Result<bool, Failure> {
    if tx.place(place)?.is_none_or(|place| place.deleted.is_none()) {
        return Ok(false);
    }
    let tasks = tx.some_tasks(place, most + 1)?;
    for task in tasks.iter().take(most) {
        tx.purge_task(*task)?;
    }
    if tasks.len() <= most {
        tx.purge_place(place)?;
        tx.note_trash(&Item::Place(place).key(), None)?;
    }
    Ok(tasks.len() > most)
}
