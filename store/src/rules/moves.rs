//! Moving tasks to another place, all or none (forks.md, "Task").

use super::in_the_way;
use crate::{
    id::{PlaceId, TaskId},
    model::{By, Place, Status, Task},
    refusal::Refusal,
    rules::place::can_write,
};

/// A task with the place it really stands in, merged forks followed to their parent.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The task.
    pub task: Task,
    /// Where it stands.
    pub place: Place,
    /// The parent of that place, when it is a fork.
    pub parent: Option<Place>,
}

/// Tasks that may be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovePlan {
    to: PlaceId,
    moving: Vec<(TaskId, PlaceId)>,
    unchanged: u32,
}

impl MovePlan {
    /// Where to.
    pub fn to(&self) -> PlaceId {
        self.to
    }

    /// The tasks that have to move, each with the place it leaves.
    pub fn moving(&self) -> &[(TaskId, PlaceId)] {
        &self.moving
    }

    /// How many stand there already.
    pub fn unchanged(&self) -> u32 {
        self.unchanged
    }
}

/// Whether these tasks may move to `to`; `to_parent` is its parent when it is a fork. A task named twice counts once.
///
/// # Errors
/// A place on either side takes no writes, or an agent has one of the tasks in hand and it is not forced.
pub fn can_move(tasks: &[Standing], to: &Place, to_parent: Option<&Place>, force: bool) -> Result<MovePlan, Refusal> {
    can_write(to, to_parent)?;
    let mut plan = MovePlan { to: to.id, moving: vec![], unchanged: 0 };
    for standing in tasks {
        if plan.moving.iter().any(|(task, _)| *task == standing.task.id) {
            continue;
        }
        if standing.place.id == to.id {
            plan.unchanged += 1;
            continue;
        }
        can_change(standing)?;
        if let (Some(agent), false) = (holding_agent(&standing.task), force) {
            return Err(Refusal::TaskHeld { task: in_the_way(&standing.task), agent });
        }
        plan.moving.push((standing.task.id, standing.place.id));
    }
    Ok(plan)
}

/// The live agent that has a task in hand.
pub fn holding_agent(task: &Task) -> Option<crate::id::AgentId> {
    let holder = task.holder.as_ref().filter(|holder| !holder.left && matches!(task.status, Status::Ongoing | Status::Blocked))?;
    match holder.by {
        By::Agent(agent) => Some(agent),
        By::Person(_) | By::Node => None,
    }
}

/// Whether a task may be spun up: not started, or blocked and in no agent's hands (forks.md, "Making a fork").
///
/// # Errors
/// [`Refusal::NotForSpinUp`], [`Refusal::TaskHeld`] or [`Refusal::TaskInTrash`].
pub fn can_spin_up(task: &Task) -> Result<(), Refusal> {
    not_in_trash(task)?;
    match (task.status, holding_agent(task)) {
        (Status::NotStarted | Status::Blocked, None) => Ok(()),
        (Status::Blocked, Some(agent)) => Err(Refusal::TaskHeld { task: in_the_way(task), agent }),
        _ => Err(Refusal::NotForSpinUp { task: in_the_way(task) }),
    }
}

/// Whether a task that stands next to another one in a queue may be placed by it.
///
/// # Errors
/// [`Refusal::OtherQueue`] when they stand in different places, [`Refusal::BesideItself`] when they are the same.
pub fn can_stand_by(task: &Standing, neighbour: &Standing) -> Result<(), Refusal> {
    if task.task.id == neighbour.task.id {
        return Err(Refusal::BesideItself { task: task.task.id });
    }
    not_in_trash(&neighbour.task)?;
    if task.place.id == neighbour.place.id { Ok(()) } else { Err(Refusal::OtherQueue { task: neighbour.task.id }) }
}

/// Whether a task may be written to where it stands.
///
/// # Errors
/// As [`can_write`], with the names of the place; or the task is in the trash.
pub fn can_change(standing: &Standing) -> Result<(), Refusal> {
    can_write(&standing.place, standing.parent.as_ref())?;
    not_in_trash(&standing.task)
}

fn not_in_trash(task: &Task) -> Result<(), Refusal> {
    if task.deleted.is_some() { Err(Refusal::TaskInTrash { task: in_the_way(task) }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{AgentId, CallId},
        model::Holder,
        rules::samples::{place, task},
        time::Timestamp,
    };

    fn standing(n: u8, place: &Place, status: Status) -> Standing {
        Standing { task: task(n, place, status), place: place.clone(), parent: None }
    }

    fn held(mut standing: Standing, left: bool) -> Standing {
        let by = By::Agent(AgentId::from_bytes([9; 16]));
        standing.task.holder = Some(Holder { by, since: Timestamp::default(), call: CallId::from_bytes([1; 16]), left });
        standing
    }

    #[test]
    fn one_held_task_keeps_all_of_them_where_they_are() {
        let (a, b) = (place(1, "a"), place(2, "b"));
        let tasks = [standing(1, &a, Status::NotStarted), held(standing(2, &a, Status::Ongoing), false)];
        assert!(matches!(can_move(&tasks, &b, None, false), Err(Refusal::TaskHeld { .. })));
        assert_eq!(can_move(&tasks, &b, None, true).unwrap().moving().len(), 2);
        let left = [held(standing(2, &a, Status::Ongoing), true)];
        assert_eq!(can_move(&left, &b, None, false).unwrap().moving().len(), 1);
    }

    #[test]
    fn moving_to_where_it_is_changes_nothing_and_twice_counts_once() {
        let (a, b) = (place(1, "a"), place(2, "b"));
        let tasks = [standing(1, &a, Status::Completed), standing(2, &b, Status::Ongoing), standing(1, &a, Status::Completed)];
        let plan = can_move(&tasks, &b, None, false).unwrap();
        assert_eq!((plan.moving().len(), plan.unchanged()), (1, 1));
    }

    #[test]
    fn an_archived_place_takes_and_gives_nothing() {
        let (a, b) = (place(1, "a"), Place { archived: true, ..place(2, "b") });
        assert!(matches!(can_move(&[standing(1, &a, Status::NotStarted)], &b, None, false), Err(Refusal::Archived { .. })));
        assert!(matches!(can_move(&[standing(1, &b, Status::NotStarted)], &a, None, false), Err(Refusal::Archived { .. })));
    }

    #[test]
    fn only_waiting_and_freely_blocked_tasks_are_spun_up() {
        let a = place(1, "a");
        for (status, word) in Status::ALL {
            let allowed = matches!(status, Status::NotStarted | Status::Blocked);
            assert_eq!(can_spin_up(&task(1, &a, status)).is_ok(), allowed, "{word}");
        }
        let blocked = held(standing(1, &a, Status::Blocked), false);
        assert!(matches!(can_spin_up(&blocked.task), Err(Refusal::TaskHeld { .. })));
    }
}
