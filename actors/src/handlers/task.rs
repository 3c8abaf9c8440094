//! Tasks: adding, listing, changing, moving, and handing out the next one.

use std::collections::BTreeSet;

use frith_store::{
    docs::log::Fact,
    error::Failure,
    id::{CallId, MessageId, OpenToken, PlaceId, TaskId, TaskRef},
    model::{Assignee, HeldFor, HeldMessage, Place, Schedule, Status, Task},
    refusal::Refusal,
    rules::{
        in_the_way,
        moves::{Standing, can_change, can_move, can_stand_by},
        place::can_write,
        queue::{NextPlan, can_take},
        schedule::{SchedulePlan, Wanted, can_begin, can_schedule},
        seat::can_decide,
        task::{Side, Title, can_hold, can_say, can_set_status, can_title, position_first, position_now, reordered, with_note},
    },
    time::Timestamp,
    tx::{NewTask, TaskEdit, Tx},
    view::View,
};

use super::schedule;
use crate::{
    api::{task, workspace::PlaceName},
    caller::{Caller, Who, parent_of},
    fresh_context,
};

/// Every status: a list without a filter has them all.
const ALL: [Status; 6] = [Status::NotStarted, Status::Ongoing, Status::Blocked, Status::Completed, Status::Rejected, Status::Cron];

/// Fresh randomness for one write: drawn before it, since a write may not wait.
#[derive(Debug, Clone, Copy)]
pub struct Fresh {
    /// The id of what is made.
    pub id: [u8; 16],
    /// The token of what is opened.
    pub token: OpenToken,
}

/// Adds a task to a queue.
///
/// # Errors
/// The place takes no writes, or the title or body is none.
pub fn add(tx: &mut Tx<'_>, caller: &Caller, request: &task::Add, fresh: Fresh, zone: &str) -> Result<task::TaskInfo, Failure> {
    let place = caller.place(tx, request.workspace.as_ref())?;
    can_write(&place, parent_of(tx, &place)?.as_ref())?;
    if request.allow_all_commands {
        require_person(caller)?;
    }
    let title = can_title(&request.title)?;
    let body = request.body.clone().unwrap_or_default();
    can_hold(&body)?;
    let schedule = begun(request, zone, tx.now())?;
    let position = if request.first { position_first(first_position(tx, place.id)?, tx.now()) } else { position_now(tx.now()) };
    let id = TaskId::from_random(fresh.id);
    let new = NewTask {
        id,
        place: place.id,
        title: title.into_string(),
        body,
        assignee: request.assignee.unwrap_or(Assignee::Agent),
        position: Some(position),
        allow_all_commands: request.allow_all_commands,
        clear_context: request.clear_context,
        token: fresh.token,
        schedule,
    };
    tx.create_task(new, &caller.by())?;
    info(tx, id, &place, tx.now())
}

/// The schedule of a task that is to be a template.
fn begun(request: &task::Add, zone: &str, now: Timestamp) -> Result<Option<Schedule>, Refusal> {
    let Some(expression) = request.schedule.as_deref() else { return Ok(None) };
    let time_zone = request.time_zone.as_deref();
    let wanted = Wanted { expression: Some(expression), time_zone, missed: request.missed, ..Wanted::default() };
    Ok(can_begin(&wanted, zone, now)?.into_schedule())
}

/// What an agent may do is widened by people only.
fn require_person(caller: &Caller) -> Result<(), Refusal> {
    match caller.who {
        Who::Person(_) => Ok(()),
        _ => Err(Refusal::PersonsOnly { what: "let an agent run every command unasked".into() }),
    }
}

/// The tasks of a place in the order of its queue.
///
/// # Errors
/// The place is none the caller may see.
pub fn list(view: &View<'_>, caller: &Caller, request: &task::List, now: Timestamp) -> Result<task::Tasks, Failure> {
    let place = caller.place(view, request.workspace.as_ref())?;
    if request.deleted {
        return trash(view, &place, request);
    }
    let needle = request.grep.as_ref().map(|text| text.to_lowercase());
    let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
    let statuses: &[Status] = if request.status.is_empty() { &ALL } else { &request.status };
    let mut tasks = Vec::new();
    let mut more = 0;
    for task in view.task_stream(place.id, statuses)? {
        let task = task?;
        if needle.as_ref().is_some_and(|needle| !task.title.to_lowercase().contains(needle)) {
            continue;
        }
        if tasks.len() < limit { tasks.push(task) } else { more += 1 }
    }
    let templates = tasks.iter().filter(|task| task.schedule.is_some());
    let schedules = templates.map(|task| schedule::state(view, task, now)).filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok(task::Tasks { place: name(&place), tasks, more, schedules })
}

/// The tasks of a place that are in the trash.
fn trash(view: &View<'_>, place: &Place, request: &task::List) -> Result<task::Tasks, Failure> {
    let needle = request.grep.as_ref().map(|text| text.to_lowercase());
    let mut tasks = view.trash(place.id)?;
    tasks.retain(|task| request.status.is_empty() || request.status.contains(&task.status));
    tasks.retain(|task| needle.as_ref().is_none_or(|needle| task.title.to_lowercase().contains(needle)));
    let more = tasks.len().saturating_sub(request.limit.map_or(usize::MAX, |limit| limit as usize));
    tasks.truncate(tasks.len() - more);
    Ok(task::Tasks { place: name(place), tasks, more: more as u64, schedules: Vec::new() })
}

/// A task whole.
///
/// # Errors
/// It is none the caller may see.
pub fn show(view: &View<'_>, caller: &Caller, request: &task::Show, now: Timestamp) -> Result<task::TaskDetail, Failure> {
    let standing = find(view, caller, &request.task)?;
    detail(view, standing, now)
}

/// Changes a task's texts, its place in the queue or its schedule.
///
/// # Errors
/// Nothing was named, the place takes no writes, or a new value is none.
pub fn edit(tx: &mut Tx<'_>, caller: &Caller, request: &task::Edit, zone: &str) -> Result<task::TaskInfo, Failure> {
    let standing = find(tx, caller, &request.task)?;
    can_change(&standing)?;
    let wanted = wanted(request);
    let schedule = can_schedule(&standing.task, &wanted, zone, tx.now())?;
    if request.allow_all_commands == Some(true) {
        require_person(caller)?;
    }
    let edit = TaskEdit {
        title: request.title.as_deref().map(can_title).transpose()?.map(Title::into_string),
        body: request.body.clone(),
        assignee: request.assignee,
        position: None,
        allow_all_commands: request.allow_all_commands,
        clear_context: request.clear_context.map(Some),
        schedule: schedule.map(SchedulePlan::into_schedule),
    };
    request.body.as_deref().map_or(Ok(()), can_hold)?;
    let reorders = request.first || request.before.is_some() || request.after.is_some();
    let edits = edit != TaskEdit::default();
    let closing = match &edit.schedule {
        Some(new) => schedule::closing(tx, &standing.task, new.as_ref(), tx.machine(), tx.now())?,
        None => None,
    };
    if !reorders && !edits && wanted == Wanted::default() {
        return Err(Refusal::NothingToChange.into());
    }
    reorder(tx, caller, request, &standing)?;
    if edits {
        tx.edit_task(standing.task.id, edit, &caller.by())?;
        closing.map_or(Ok(()), |plan| tx.fire(&plan))?;
    }
    info(tx, standing.task.id, &standing.place, tx.now())
}

/// What is asked of a task's schedule.
fn wanted(request: &task::Edit) -> Wanted<'_> {
    Wanted {
        expression: request.schedule.as_deref(),
        time_zone: request.time_zone.as_deref(),
        missed: request.missed,
        paused: if request.pause { Some(true) } else { request.resume.then_some(false) },
        removed: request.no_schedule,
    }
}

/// Puts a task where it was asked to stand in its queue.
fn reorder(tx: &mut Tx<'_>, caller: &Caller, request: &task::Edit, standing: &Standing) -> Result<(), Failure> {
    let place = standing.place.id;
    if request.first {
        let position = position_first(first_position(tx, place)?, tx.now());
        return tx.edit_task(standing.task.id, TaskEdit { position: Some(position), ..TaskEdit::default() }, &caller.by());
    }
    let (neighbour, side) = match (&request.before, &request.after) {
        (Some(before), _) => (before, Side::Before),
        (None, Some(after)) => (after, Side::After),
        (None, None) => return Ok(()),
    };
    let neighbour = find(tx, caller, neighbour)?;
    can_stand_by(standing, &neighbour)?;
    let queue: Vec<_> = tx.tasks(place, &ALL)?.into_iter().map(|task| (task.id, task.position)).collect();
    for (task, position) in reordered(&queue, standing.task.id, neighbour.task.id, side) {
        tx.edit_task(task, TaskEdit { position: Some(position), ..TaskEdit::default() }, &caller.by())?;
    }
    Ok(())
}

fn first_position(view: &View<'_>, place: PlaceId) -> Result<Option<i64>, Failure> {
    Ok(view.tasks_limited(place, &ALL, 1)?.first().map(|task| task.position))
}

/// Sets a task's status.
///
/// # Errors
/// The place takes no writes, or the status is `cron`.
pub fn set_status(tx: &mut Tx<'_>, caller: &Caller, request: &task::SetStatus, fresh: Fresh) -> Result<task::TaskInfo, Failure> {
    let standing = find(tx, caller, &request.task)?;
    can_change(&standing)?;
    if let Some(plan) = can_set_status(&standing.task, request.status)? {
        tx.set_status(standing.task.id, plan.status(), fresh.token, &caller.by())?;
    }
    info(tx, standing.task.id, &standing.place, tx.now())
}

/// Moves tasks to another place, all or none.
///
/// # Errors
/// One of them may not move, so none does.
pub fn move_to(tx: &mut Tx<'_>, caller: &Caller, request: &task::Move) -> Result<task::MovedTasks, Failure> {
    let to = caller.place(tx, Some(&request.to))?;
    let to_parent = parent_of(tx, &to)?;
    let tasks = request.tasks.iter().map(|task| find(tx, caller, task)).collect::<Result<Vec<_>, _>>()?;
    let plan = can_move(&tasks, &to, to_parent.as_ref(), request.force)?;
    let mut moved = Vec::with_capacity(plan.moving().len());
    for (id, from) in plan.moving() {
        tx.move_task(*id, plan.to(), &caller.by())?;
        let title = tasks.iter().find(|standing| standing.task.id == *id).map(|standing| standing.task.title.clone());
        moved.push(task::MovedTask { id: *id, title: title.unwrap_or_default(), from: *from });
    }
    Ok(task::MovedTasks { place: name(&to), tasks: moved, unchanged: plan.unchanged() })
}

/// Adds a message to a task's thread. A person's is held back first where the place's settings say so.
///
/// # Errors
/// The place takes no writes, or the text is blank or too long.
pub fn reply(tx: &mut Tx<'_>, caller: &Caller, request: &task::Reply, id: [u8; 16]) -> Result<task::Replied, Failure> {
    let standing = find(tx, caller, &request.task)?;
    can_change(&standing)?;
    can_say(&request.text)?;
    let delay = match caller.who {
        Who::Person(_) => tx.effective_settings(&standing.place)?.send_delay_seconds,
        _ => 0,
    };
    let task = standing.task.id;
    let hold_back = |tx: &mut Tx<'_>| hold(tx, caller, HeldFor::Thread(task), &request.text, delay, MessageId::from_random(id));
    let held = if delay == 0 { None } else { Some(hold_back(tx)?) };
    if held.is_none() {
        tx.add_message(task, &request.text, &caller.by())?;
    }
    Ok(task::Replied { task, messages: require(tx, task)?.messages, held })
}

/// Holds a message back. One that was written later is never due before one that was written earlier.
///
/// # Errors
/// It could not be written.
pub fn hold(tx: &mut Tx<'_>, caller: &Caller, to: HeldFor, text: &str, delay: u32, id: MessageId) -> Result<HeldMessage, Failure> {
    let now = tx.now();
    let due = Timestamp::from_ms(now.ms().saturating_add(i64::from(delay) * 1000));
    let before = tx.held_messages()?.into_iter().filter(|message| message.to == to).map(|message| message.due).max();
    // Of two that are due at one moment, the order of their ids would decide.
    let due = before.map_or(due, |before| due.max(Timestamp::from_ms(before.ms() + 1)));
    let message = HeldMessage { id, by: caller.by(), written: now, due, to, text: text.to_owned() };
    tx.hold_message(&message)?;
    Ok(message)
}

/// Hands out the next task: what the caller holds, else what was left, else the first that waits. `cleared_kinds` are those
/// whose context the node clears before it tells an agent of a task that asks for a fresh one.
///
/// # Errors
/// Nothing waits, another machine decides, or the task waits for a fresh context.
pub fn next(
    tx: &mut Tx<'_>,
    caller: &Caller,
    request: &task::Next,
    call: CallId,
    fresh: Fresh,
    cleared_kinds: &[String],
) -> Result<task::TaskDetail, Failure> {
    let place = caller.place(tx, request.workspace.as_ref())?;
    can_write(&place, parent_of(tx, &place)?.as_ref())?;
    let decides = can_decide(&place, caller.here)?;
    let by = caller.by();
    let candidates = tx.next_candidates(place.id, &by)?;
    let id = match can_take(&place, decides, &by, call, &candidates.held, &candidates.left, candidates.waiting.as_ref())? {
        NextPlan::Held(id) => id,
        NextPlan::Take(take) => {
            require_context(tx, caller, &place, take.task(), cleared_kinds)?;
            tx.append(Fact::Taken { task: take.task(), place: place.id, epoch: take.epoch(), holder: by, call, token: fresh.token })?;
            take.task()
        }
    };
    let (standing, now) = (caller.standing(tx, require(tx, id)?)?, tx.now());
    let mut detail = detail(tx, standing, now)?;
    if matches!(caller.who, Who::Agent { .. }) {
        let note = tx.effective_settings(&place)?.self_learning_note;
        detail.body = with_note(&detail.body, &note, parent_of(tx, &place)?.as_ref().map_or(&place.name, |parent| &parent.name));
    }
    Ok(detail)
}

/// A task that asks for a fresh context is handed to an agent whose context the node can clear only once that was done.
fn require_context(view: &View<'_>, caller: &Caller, place: &Place, task: TaskId, cleared_kinds: &[String]) -> Result<(), Failure> {
    let Who::Agent { id, .. } = caller.who else { return Ok(()) };
    let task = require(view, task)?;
    let is_cleared_kind = view.agent(id)?.is_some_and(|agent| cleared_kinds.contains(&agent.host));
    if !is_cleared_kind || !fresh_context::is_wanted(view, place, &task)? || fresh_context::was_made(view, id, task.id)? {
        return Ok(());
    }
    Err(Refusal::AwaitsFreshContext { task: in_the_way(&task), agent: id }.into())
}

/// A task that somebody named, with the place it stands in.
///
/// # Errors
/// It is not known, or the caller may not touch it.
pub fn find(view: &View<'_>, caller: &Caller, named: &TaskRef) -> Result<Standing, Failure> {
    let id = view.find_task(named)?;
    caller.standing(view, require(view, id)?)
}

fn require(view: &View<'_>, id: TaskId) -> Result<Task, Failure> {
    let unknown = || Refusal::Unknown { what: frith_store::refusal::What::Task, given: id.to_string() };
    Ok(view.task(id)?.ok_or_else(unknown)?)
}

fn info(view: &View<'_>, id: TaskId, place: &Place, now: Timestamp) -> Result<task::TaskInfo, Failure> {
    let task = require(view, id)?;
    Ok(task::TaskInfo { schedule: schedule::state(view, &task, now)?, task, place: name(place) })
}

/// How many slots a task is shown with.
const SLOTS_SHOWN: usize = 10;

fn detail(view: &View<'_>, standing: Standing, now: Timestamp) -> Result<task::TaskDetail, Failure> {
    let id = standing.task.id;
    let history = view.history(id)?;
    let named: BTreeSet<PlaceId> = history.iter().filter_map(|change| change.moved_to).collect();
    let places = named.into_iter().filter_map(|place| view.place(place).transpose());
    Ok(task::TaskDetail {
        place: name(&standing.place),
        body: view.body(id)?,
        thread: view.messages(id)?,
        places: places.map(|place| place.map(|place| name(&place))).collect::<Result<_, _>>()?,
        history,
        attachments: view.attachments(id)?,
        schedule: schedule::state(view, &standing.task, now)?,
        slots: view.fired(id, Timestamp::from_ms(i64::MAX), SLOTS_SHOWN)?,
        task: standing.task,
    })
}

/// How a reply names a place.
pub fn name(place: &Place) -> PlaceName {
    PlaceName { id: place.id, name: place.name.clone() }
}
