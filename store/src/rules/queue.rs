//! Which task is handed out next (forks.md, "Task"): what the caller holds, then what was left, then what waits.

use crate::{
    id::{CallId, TaskId},
    model::{By, Place, Status, Task},
    refusal::Refusal,
    rules::{named, seat::Decides},
};

/// What handing out the next task comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPlan {
    /// The caller has this one already: nothing is written.
    Held(TaskId),
    /// The caller takes this one.
    Take(Take),
}

/// That a caller takes a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    task: TaskId,
    epoch: u64,
}

impl Take {
    /// The task.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// The epoch of the seat under which it is handed out.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Picks the task for `caller`. `held` are the tasks it has in hand in this queue; `left` those whose holder ended;
/// `waiting` is the first one that is not started, for agents, and in nobody's hands.
///
/// An agent is given again what it holds. A person may hold several, so a person gets a held one again only by the
/// same call.
///
/// # Errors
/// [`Refusal::QueueEmpty`] when there is nothing to hand out.
pub fn can_take(
    place: &Place,
    decides: Decides,
    caller: &By,
    call: CallId,
    held: &[Task],
    left: &[Task],
    waiting: Option<&Task>,
) -> Result<NextPlan, Refusal> {
    if let Some(task) = held.iter().find(|task| holds(task, caller, call)) {
        return Ok(NextPlan::Held(task.id));
    }
    let left = left.iter().find(|task| is_left(task));
    let task = left.or(waiting).ok_or_else(|| Refusal::QueueEmpty { place: named(place) })?;
    Ok(NextPlan::Take(Take { task: task.id, epoch: decides.epoch() }))
}

fn holds(task: &Task, caller: &By, call: CallId) -> bool {
    task.holder.as_ref().is_some_and(|holder| {
        let again = matches!(caller, By::Agent(_)) && task.status == Status::Ongoing;
        !holder.left && holder.by == *caller && (again || holder.call == call)
    })
}

fn is_left(task: &Task) -> bool {
    task.status == Status::Ongoing && task.holder.as_ref().is_some_and(|holder| holder.left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::AgentId,
        model::Holder,
        rules::{
            samples::{HERE, place, task},
            seat::can_decide,
        },
        time::Timestamp,
    };

    fn held_by(n: u8, by: &By, call: u8, left: bool) -> Task {
        let holder = Holder { by: by.clone(), since: Timestamp::default(), call: CallId::from_bytes([call; 16]), left };
        Task { holder: Some(holder), ..task(n, &place(1, "app"), Status::Ongoing) }
    }

    fn take(caller: &By, call: u8, held: &[Task], waiting: Option<&Task>) -> Result<NextPlan, Refusal> {
        let place = place(1, "app");
        let decides = can_decide(&place, HERE).unwrap();
        can_take(&place, decides, caller, CallId::from_bytes([call; 16]), held, held, waiting)
    }

    #[test]
    fn an_agent_gets_again_what_it_holds_whatever_the_call() {
        let agent = By::Agent(AgentId::from_bytes([5; 16]));
        let held = [held_by(1, &agent, 1, false)];
        assert_eq!(take(&agent, 2, &held, None), Ok(NextPlan::Held(held[0].id)));
    }

    #[test]
    fn a_person_gets_another_one_unless_the_call_is_the_same() {
        let person = By::Person("ada".into());
        let held = [held_by(1, &person, 1, false)];
        let waiting = task(2, &place(1, "app"), Status::NotStarted);
        assert_eq!(take(&person, 1, &held, Some(&waiting)), Ok(NextPlan::Held(held[0].id)));
        assert!(matches!(take(&person, 2, &held, Some(&waiting)), Ok(NextPlan::Take(take)) if take.task() == waiting.id));
    }

    #[test]
    fn d08_what_an_ended_holder_left_comes_before_what_waits() {
        let gone = By::Agent(AgentId::from_bytes([5; 16]));
        let held = [held_by(1, &gone, 1, true)];
        let waiting = task(2, &place(1, "app"), Status::NotStarted);
        let caller = By::Agent(AgentId::from_bytes([6; 16]));
        assert!(matches!(take(&caller, 2, &held, Some(&waiting)), Ok(NextPlan::Take(take)) if take.task() == held[0].id));
    }

    #[test]
    fn d04_what_a_live_holder_has_is_never_offered() {
        let other = By::Agent(AgentId::from_bytes([5; 16]));
        let held = [held_by(1, &other, 1, false)];
        let caller = By::Agent(AgentId::from_bytes([6; 16]));
        assert!(matches!(take(&caller, 2, &held, None), Err(Refusal::QueueEmpty { .. })));
    }
}
