//! The trash of tasks (forks.md, "Workspace"): what may go there, what may come back, when it is emptied.

use serde::{Deserialize, Serialize};

use super::{
    in_the_way,
    moves::{Standing, holding_agent},
    place::can_write,
};
use crate::{id::TaskId, refusal::Refusal, time::Timestamp};

/// Days that what was deleted stays in the trash.
pub const DAYS_IN_TRASH: u32 = 30;

/// Tasks that may go to the trash, or come back from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashPlan(Vec<TaskId>);

impl TrashPlan {
    /// The tasks, each once.
    pub fn tasks(&self) -> &[TaskId] {
        &self.0
    }
}

/// Whether these tasks may go to the trash, all or none.
///
/// # Errors
/// A place takes no writes, a task is in the trash already, or an agent has one in hand.
pub fn can_delete(tasks: &[Standing]) -> Result<TrashPlan, Refusal> {
    each(tasks, |standing| match (&standing.task.deleted, holding_agent(&standing.task)) {
        (Some(_), _) => Err(Refusal::TaskInTrash { task: in_the_way(&standing.task) }),
        (None, Some(agent)) => Err(Refusal::TaskHeld { task: in_the_way(&standing.task), agent }),
        (None, None) => Ok(()),
    })
}

/// Whether these tasks may come back from the trash, all or none.
///
/// # Errors
/// A place takes no writes, or a task is not in the trash.
pub fn can_restore(tasks: &[Standing]) -> Result<TrashPlan, Refusal> {
    each(tasks, |standing| match standing.task.deleted {
        Some(_) => Ok(()),
        None => Err(Refusal::TaskNotInTrash { task: in_the_way(&standing.task) }),
    })
}

fn each(tasks: &[Standing], check: impl Fn(&Standing) -> Result<(), Refusal>) -> Result<TrashPlan, Refusal> {
    let mut plan = TrashPlan(Vec::with_capacity(tasks.len()));
    for standing in tasks {
        can_write(&standing.place, standing.parent.as_ref())?;
        check(standing)?;
        if !plan.0.contains(&standing.task.id) {
            plan.0.push(standing.task.id);
        }
    }
    Ok(plan)
}

/// What was deleted before this moment may go for good.
pub fn emptied_before(now: Timestamp) -> Timestamp {
    Timestamp::from_ms(now.ms().saturating_sub(i64::from(DAYS_IN_TRASH) * DAY_MS))
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long after the look that found something due another look may find so too. A clock that is wrong for an evening
/// empties nothing.
const SECOND_LOOK_MS: i64 = 20 * 60 * 60 * 1000;

/// What this machine has noted of something in the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// When it was first seen there; anew after it was out of it.
    pub since: Timestamp,
    /// When it was first found that its days are over.
    pub due: Option<Timestamp>,
}

/// What comes of a look at something in the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It stays, and this is noted.
    Note(Noted),
    /// It goes for good.
    Purge,
}

/// Looks at something that was deleted at `deleted`: it goes when it was in the trash for its days, by the deletion's own
/// time and by what this machine saw of it, and a second look a day later says so too.
pub fn look(deleted: Timestamp, noted: Noted, now: Timestamp) -> Look {
    let noted = Noted { since: noted.since.min(now), ..noted };
    let over = |since: Timestamp| since < emptied_before(now);
    match noted.due {
        _ if !over(deleted) || !over(noted.since) => Look::Note(Noted { due: None, ..noted }),
        Some(due) if now.ms().saturating_sub(due.ms()) >= SECOND_LOOK_MS => Look::Purge,
        Some(_) => Look::Note(noted),
        None => Look::Note(Noted { due: Some(now), ..noted }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::AgentId,
        model::{By, Holder, Place, Status, Task, Trashed},
        rules::samples::{place, task},
    };

    fn standing(task: Task, place: &Place) -> Standing {
        Standing { task, place: place.clone(), parent: None }
    }

    fn trashed(task: Task) -> Task {
        Task { deleted: Some(Trashed { at: Timestamp::from_ms(1), by: By::Node }), ..task }
    }

    #[test]
    fn a_task_goes_once_and_comes_back_once() {
        let app = place(1, "app");
        let (here, gone) = (task(2, &app, Status::Completed), trashed(task(3, &app, Status::NotStarted)));
        let plan = can_delete(&[standing(here.clone(), &app), standing(here.clone(), &app)]).unwrap();
        assert_eq!(plan.tasks(), [here.id]);
        let all = [standing(here.clone(), &app), standing(gone.clone(), &app)];
        assert!(matches!(can_delete(&all), Err(Refusal::TaskInTrash { task }) if task.id == gone.id));
        assert!(matches!(can_restore(&all), Err(Refusal::TaskNotInTrash { task }) if task.id == here.id));
        assert_eq!(can_restore(&all[1..]).unwrap().tasks(), [gone.id]);
    }

    #[test]
    fn a_task_in_an_agents_hands_and_one_in_an_archived_place_stay() {
        let app = place(1, "app");
        let agent = AgentId::from_bytes([7; 16]);
        let holder =
            Holder { by: By::Agent(agent), since: Timestamp::default(), call: crate::id::CallId::from_bytes([1; 16]), left: false };
        let held = Task { holder: Some(holder), ..task(2, &app, Status::Ongoing) };
        assert!(matches!(can_delete(&[standing(held, &app)]), Err(Refusal::TaskHeld { agent: holder, .. }) if holder == agent));
        let archived = Place { archived: true, ..app };
        assert!(matches!(can_delete(&[standing(task(3, &archived, Status::NotStarted), &archived)]), Err(Refusal::Archived { .. })));
    }

    /// Looks once a day at something that was deleted on day 1, until it goes; answers on which day.
    fn goes_on(days: impl IntoIterator<Item = i64>) -> Option<i64> {
        let (mut noted, deleted) = (None, Timestamp::from_ms(DAY_MS));
        for day in days {
            let now = Timestamp::from_ms(day * DAY_MS);
            match look(deleted, noted.unwrap_or(Noted { since: now, due: None }), now) {
                Look::Note(now) => noted = Some(now),
                Look::Purge => return Some(day),
            }
        }
        None
    }

    #[test]
    fn what_was_deleted_goes_after_thirty_days_and_two_looks() {
        assert_eq!(goes_on(1..100), Some(33));
        assert_eq!(goes_on(60..100), Some(92), "what is seen late has its days from then on");
        assert_eq!(goes_on([1, 2, 3]), None);
    }

    #[test]
    fn a_clock_that_is_wrong_for_a_day_empties_nothing() {
        assert_eq!(goes_on([1, 2, 3_000, 3, 4]), None);
        assert_eq!(goes_on((1..5).chain([3_000]).chain(5..100)), Some(33));
    }
}
