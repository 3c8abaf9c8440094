//! Schedules: how one stands, when it is to be looked at, and what is recorded when its slots have come.

use frith_store::{
    error::{Failure, StoreError},
    id::{MachineId, TaskId},
    model::{By, Fired, Place, RunOf, Schedule, Task},
    rules::{
        schedule::{FirePlan, Look, Template, can_close, can_fire, timetable},
        seat::can_decide,
    },
    time::Timestamp,
    tx::{TaskEdit, Tx},
    view::View,
};

use crate::{
    api::task::{LastRun, ScheduleState},
    caller::parent_of,
};

/// Slots further ahead of the clock than this were recorded while it was wrong, and do not count.
const AHEAD_MOST_MS: i64 = 24 * 60 * 60 * 1000;

/// How a task's schedule stands; none without one.
///
/// # Errors
/// The rows cannot be read.
pub fn state(view: &View<'_>, task: &Task, now: Timestamp) -> Result<Option<ScheduleState>, Failure> {
    let (Some(schedule), Some(known)) = (&task.schedule, Known::read(view, task.id, now)?) else { return Ok(None) };
    let last_run = match view.last_run(task.id)? {
        Some(fired) => {
            let run = RunOf { template: task.id, slot: fired.slot }.task();
            Some(LastRun { task: run, slot: fired.slot, status: view.task(run)?.map(|run| run.status) })
        }
        None => None,
    };
    let (template, unknown) = (known.template(), timetable(schedule).is_err());
    Ok(Some(ScheduleState { task: task.id, next_run: template.next_run(now), last_run, skips: template.skips(), unknown }))
}

/// When a template is to be looked at again: now, when there is something to record.
///
/// # Errors
/// The rows cannot be read.
pub fn next_look(view: &View<'_>, task: TaskId, here: MachineId, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let plan = Known::read(view, task, now)?.and_then(|known| known.plan(here, Look::at(now)));
    Ok(plan.and_then(|plan| if plan.outcomes().is_empty() { plan.next() } else { Some(now) }))
}

/// Lets a template that was in the trash go on from now: what passed meanwhile was not missed.
///
/// # Errors
/// Something could not be written.
pub fn goes_on(tx: &mut Tx<'_>, id: TaskId, by: &By) -> Result<(), Failure> {
    let Some(schedule) = tx.task(id)?.and_then(|task| task.schedule) else { return Ok(()) };
    let schedule = Some(Some(Schedule { from: tx.now(), ..schedule }));
    match tx.edit_task(id, TaskEdit { schedule, ..TaskEdit::default() }, by) {
        // A document that takes no more changes keeps the schedule that it has.
        Err(Failure::Refused(_)) => Ok(()),
        done => done,
    }
}

/// What is to be recorded of a template's slots before its schedule becomes another or goes; none when this machine does not
/// decide, or nothing is open.
///
/// # Errors
/// The rows cannot be read.
pub fn closing(view: &View<'_>, task: &Task, new: Option<&Schedule>, here: MachineId, now: Timestamp) -> Result<Option<FirePlan>, Failure> {
    let from = |schedule: &Schedule| schedule.from;
    if task.schedule.as_ref().map(from) == new.map(from) {
        return Ok(None);
    }
    let known = Known::read(view, task.id, now)?;
    Ok(known.and_then(|known| can_close(known.template(), can_decide(&known.place, here).ok()?, now).ok()))
}

/// Records what came of a template's slots, and makes the run that is due. `noticed` is when it was tried in vain first.
/// Answers when to look again.
///
/// # Errors
/// Something could not be written.
pub fn fire(tx: &mut Tx<'_>, task: TaskId, here: MachineId, noticed: Option<Timestamp>) -> Result<Option<Timestamp>, Failure> {
    let now = tx.now();
    let look = Look { now, noticed: noticed.unwrap_or(now) };
    let Some(plan) = Known::read(tx, task, now)?.and_then(|known| known.plan(here, look)) else { return Ok(None) };
    tx.fire(&plan)?;
    if let Some(run) = plan.run() {
        tracing::info!(template = %task, run = %run.task(), slot = %run.slot, "a schedule made its run");
    }
    Ok(plan.next())
}

/// A template with what its slots depend on.
pub struct Known {
    task: Task,
    place: Place,
    parent: Option<Place>,
    last: Option<Fired>,
}

impl Known {
    /// Reads it; none when the task has no schedule, or its place has not arrived.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn read(view: &View<'_>, id: TaskId, now: Timestamp) -> Result<Option<Self>, StoreError> {
        let Some(task) = view.task(id)?.filter(|task| task.schedule.is_some() && task.deleted.is_none()) else { return Ok(None) };
        let Some(place) = view.place(view.resolve(task.place)?)? else { return Ok(None) };
        let parent = parent_of(view, &place)?;
        let until = Timestamp::from_ms(now.ms().saturating_add(AHEAD_MOST_MS));
        let last = view.fired(id, until, 1)?.into_iter().next();
        Ok(Some(Self { task, place, parent, last }))
    }

    /// As the rules take it.
    pub fn template(&self) -> Template<'_> {
        Template { task: &self.task, place: &self.place, parent: self.parent.as_ref(), last: self.last.as_ref() }
    }

    /// What is to be done now, if this machine decides and understands the schedule.
    fn plan(&self, here: MachineId, look: Look) -> Option<FirePlan> {
        let decided = can_decide(&self.place, here).and_then(|decides| can_fire(self.template(), decides, look));
        decided.inspect_err(|refusal| tracing::debug!(task = %self.task.id, %refusal, "a schedule is left alone")).ok()
    }
}
