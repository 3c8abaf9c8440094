//! Tasks: made, listed, shown, handed out, moved.

use frith_actors::api::task::{DeletedTasks, MovedTasks, Replied, RestoredTasks, ScheduleState, TaskDetail, TaskInfo, Tasks};
use frith_store::{
    id::PlaceId,
    model::{Assignee, By, Message, Task},
};

use super::{
    attachment::attachments,
    paper::{Paper, by, count},
    schedule,
};
use crate::shell::quoted;

/// A task that was made or changed.
pub fn added(reply: &TaskInfo, paper: &mut Paper) {
    let id = &reply.task.id;
    if paper.look.quiet {
        return paper.line(id.to_string());
    }
    paper.line(format!("{} {}", id.short(), reply.task.title));
}

/// A task with what became of it.
pub fn task_is(reply: &TaskInfo, what: &str, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.task.id.to_string());
    }
    let next = reply.schedule.as_ref().map(|state| format!(", {}", schedule::next_in_a_list(state, paper)));
    paper.line(format!("{} {}: {what}{}", reply.task.id.short(), reply.task.title, next.unwrap_or_default()));
}

/// The tasks of a place: all of them, or those that were asked for.
pub fn tasks(reply: &Tasks, filtered: bool, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.tasks.iter().for_each(|task| paper.line(task.id.to_string()));
    }
    if reply.tasks.is_empty() {
        let place = &reply.place.name;
        return paper.line(match filtered {
            true => format!("no such task in {place}"),
            false => format!("no tasks in {place}; add one: frith task add -w {} \"<title>\"", quoted(place)),
        });
    }
    if reply.tasks.iter().all(|task| task.schedule.is_some()) {
        schedule::table(reply, paper);
    } else {
        let state = |task: &Task| reply.schedules.iter().find(|state| state.task == task.id);
        let rows: Vec<_> = reply.tasks.iter().map(|task| row(task, state(task), paper)).collect();
        paper.table(["ID", "STATUS", "WITH", "CHANGED", "TITLE"], rows);
    }
    if reply.more > 0 {
        paper.line(format!("and {} more", reply.more));
    }
}

fn row(task: &Task, schedule: Option<&ScheduleState>, paper: &Paper) -> [String; 5] {
    let with = schedule.map_or_else(|| with(task), |state| schedule::next_in_a_list(state, paper));
    [task.id.short(), task.status.word().to_owned(), with, paper.ago(task.changed), task.title.clone()]
}

/// The tasks of a place that are in the trash.
pub fn trash(reply: &Tasks, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.tasks.iter().for_each(|task| paper.line(task.id.to_string()));
    }
    if reply.tasks.is_empty() {
        return paper.line(format!("no such task in the trash of {}", reply.place.name));
    }
    let rows: Vec<_> = reply.tasks.iter().map(|task| trash_row(task, paper)).collect();
    paper.table(["ID", "STATUS", "BY", "DELETED", "TITLE"], rows);
    if reply.more > 0 {
        paper.line(format!("and {} more", reply.more));
    }
}

fn trash_row(task: &Task, paper: &Paper) -> [String; 5] {
    let (who, when) = task.deleted.as_ref().map(|trashed| (short(&trashed.by), paper.ago(trashed.at))).unwrap_or_default();
    [task.id.short(), task.status.word().to_owned(), who, when, task.title.clone()]
}

/// What deleting tasks would do.
pub fn delete_tasks_question(reply: &DeletedTasks) -> String {
    let titles: Vec<_> = reply.tasks.iter().map(|task| format!("{} `{}`", task.id.short(), task.title)).collect();
    let go = if titles.len() == 1 { "goes to the trash and comes" } else { "go to the trash and come" };
    format!("{} {go} back with `frith task restore` within {} days", titles.join(", "), reply.days_in_trash)
}

/// Tasks that went to the trash, or would.
pub fn deleted_tasks(reply: &DeletedTasks, paper: &mut Paper) {
    if !reply.done && !paper.look.quiet {
        return paper.line(delete_tasks_question(reply));
    }
    listed(&reply.tasks, "in the trash", paper);
    if let (Some(first), false) = (reply.tasks.first(), paper.look.quiet) {
        paper.line(format!("take back within {} days: frith task restore {}", reply.days_in_trash, first.id.short()));
    }
}

/// Tasks that came back from the trash.
pub fn restored_tasks(reply: &RestoredTasks, paper: &mut Paper) {
    listed(&reply.tasks, "taken back", paper);
}

fn listed(tasks: &[Task], what: &str, paper: &mut Paper) {
    for task in tasks {
        paper.line(if paper.look.quiet { task.id.to_string() } else { format!("{} {}: {what}", task.id.short(), task.title) });
    }
}

/// Who has a task, or who is to do it.
fn with(task: &Task) -> String {
    match (&task.holder, task.assignee) {
        (Some(holder), _) if holder.left => format!("left by {}", short(&holder.by)),
        (Some(holder), _) => short(&holder.by),
        (None, Assignee::Person) => "for a person".into(),
        (None, Assignee::Agent) => String::new(),
    }
}

fn short(who: &By) -> String {
    if let By::Agent(agent) = who { agent.short() } else { by(who) }
}

/// A task whole.
pub fn show_task(reply: &TaskDetail, paper: &mut Paper) {
    let task = &reply.task;
    if paper.look.quiet {
        return paper.line(task.id.to_string());
    }
    paper.heading(&task.title);
    let mut facts = vec![
        ("id", task.id.to_string()),
        ("place", reply.place.name.clone()),
        ("status", task.status.word().to_owned()),
        (
            "deleted",
            task.deleted
                .as_ref()
                .map(|it| format!("{} by {}; take it back: frith task restore {}", paper.ago(it.at), by(&it.by), task.id.short()))
                .unwrap_or_default(),
        ),
        ("with", with(task)),
        ("created", format!("{} by {}", paper.ago(task.created), by(&task.created_by))),
        ("changed", paper.ago(task.changed)),
        ("allowed", if task.allow_all_commands { "every command".into() } else { String::new() }),
        ("context", if task.clear_context == Some(true) { "fresh".into() } else { String::new() }),
        ("run of", task.run_of.as_ref().map(schedule::run_of).unwrap_or_default()),
    ];
    facts.extend(schedule::facts(task, reply.schedule.as_ref(), paper));
    paper.facts(&facts);
    if !reply.body.is_empty() {
        paper.gap();
        paper.block(&reply.body);
    }
    attachments(&reply.attachments, paper);
    thread(&reply.thread, paper);
    schedule::slots(reply, paper);
    history(reply, paper);
}

fn thread(messages: &[Message], paper: &mut Paper) {
    for message in messages {
        paper.gap();
        paper.heading(&format!("{}, {}", by(&message.by), paper.ago(message.at)));
        paper.block(&message.text);
    }
}

fn history(reply: &TaskDetail, paper: &mut Paper) {
    if reply.history.is_empty() {
        return;
    }
    let named = |id: PlaceId| reply.places.iter().find(|place| place.id == id).map_or_else(|| id.short(), |place| place.name.clone());
    paper.gap();
    paper.heading("History");
    for change in &reply.history {
        let what = match change.moved_to {
            Some(place) => format!("moved to {}", named(place)),
            None => change.status.word().to_owned(),
        };
        paper.line(format!("  {what}, by {}, {}", by(&change.by), paper.ago(change.at)));
    }
}

/// The task that was handed out: its title and text, as whoever is to do it reads them.
pub fn next(reply: &TaskDetail, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.task.id.to_string());
    }
    paper.line(format!("{} {}", reply.task.id.short(), reply.task.title));
    if !reply.body.is_empty() {
        paper.gap();
        paper.block(&reply.body);
    }
    attachments(&reply.attachments, paper);
    thread(&reply.thread, paper);
}

/// Tasks that were moved.
pub fn moved(reply: &MovedTasks, paper: &mut Paper) {
    for task in &reply.tasks {
        paper.line(if paper.look.quiet { task.id.to_string() } else { format!("{} {}", task.id.short(), task.title) });
    }
    if paper.look.quiet {
        return;
    }
    let there = if reply.unchanged > 0 { format!(" ({} there already)", reply.unchanged) } else { String::new() };
    paper.line(format!("{} moved to {}{there}", count(reply.tasks.len() as u64, "task"), reply.place.name));
}

/// A message that was added.
pub fn replied(reply: &Replied, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.held.as_ref().map_or_else(|| reply.task.to_string(), |held| held.id.to_string()));
    }
    if let Some(held) = &reply.held {
        let seconds = (held.due.ms() - held.written.ms() + 999) / 1000;
        return paper.line(format!("{} is sent in {seconds} s; take it back: frith agents unsend {}", held.id.short(), held.id.short()));
    }
    paper.line(format!("{} has {}", reply.task.short(), count(reply.messages.into(), "message")));
}
