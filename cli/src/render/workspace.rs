//! Workspaces and forks as places: made, listed, shown, deleted.

use frith_actors::api::workspace::{AgentHere, Deleted, PlaceInfo, PlaceStats, Places};
use frith_store::model::{CheckoutKind, Counts, Notice, PlaceKind, Revived, Settings, Status, Work};

use super::paper::{Paper, by, count, span};

/// A place that was made or changed.
pub fn made(reply: &PlaceInfo, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    paper.line(format!("{} {}", reply.id.short(), reply.label));
}

/// A place with what became of it.
pub fn place_is(reply: &PlaceInfo, what: &str, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    paper.line(format!("{} {}: {what}", reply.id.short(), reply.label));
}

/// Workspaces, each followed by its forks.
pub fn places(reply: &Places, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.workspaces.iter().for_each(|place| paper.line(place.id.to_string()));
    }
    let rows: Vec<_> = reply.workspaces.iter().map(row).collect();
    paper.table(["ID", "NAME", "TASKS", "AGENT", "FOLDER"], rows);
}

fn row(place: &PlaceInfo) -> [String; 5] {
    let folder = place.folder.as_ref().map(ToString::to_string).unwrap_or_default();
    [place.id.short(), format!("{}{}", marked_name(place), state(place)), tasks(&place.tasks), agent(place.agent.as_ref()), folder]
}

fn marked_name(place: &PlaceInfo) -> String {
    let icon = if place.icon.is_empty() { String::new() } else { format!("{} ", place.icon) };
    let mark = if matches!(place.kind, PlaceKind::Fork { .. }) { "└ " } else { "" };
    format!("{mark}{icon}{}", place.label)
}

fn state(place: &PlaceInfo) -> &'static str {
    match place {
        PlaceInfo { merged: Some(_), .. } => " (merged)",
        PlaceInfo { deleted: Some(_), .. } => " (deleted)",
        PlaceInfo { archived: true, .. } => " (archived)",
        PlaceInfo { revived: Some(_), .. } => " (back: new work)",
        _ => "",
    }
}

fn tasks(counts: &Counts) -> String {
    let mut counts = *counts;
    let parts: Vec<_> = Status::ALL
        .iter()
        .filter_map(|(status, word)| {
            let number = *counts.of_mut(*status);
            (number > 0).then(|| format!("{number} {word}"))
        })
        .collect();
    if parts.is_empty() { "none".into() } else { parts.join(", ") }
}

fn agent(agent: Option<&AgentHere>) -> String {
    agent.map_or_else(String::new, |agent| format!("{} {}{}", agent.kind, agent.id.short(), if agent.running { "" } else { " (starting)" }))
}

/// One place whole.
pub fn place(reply: &PlaceInfo, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    paper.heading(&format!("{}{}", marked_name(reply).trim_start_matches("└ "), state(reply)));
    let merged = reply.merged.as_ref().map(|merged| {
        format!(
            "into {}, {} by {}, {} moved",
            merged.into.short(),
            paper.ago(merged.at),
            by(&merged.by),
            count(merged.moved_tasks.into(), "task")
        )
    });
    paper.facts(&[
        ("id", reply.id.to_string()),
        ("kind", kind(reply)),
        ("about", reply.description.clone()),
        ("created", format!("{} by {}", paper.ago(reply.created), by(&reply.created_by))),
        ("home", reply.home.name.clone()),
        ("folder", folder(reply)),
        ("merged", merged.unwrap_or_default()),
        ("deleted", reply.deleted.map(|at| paper.ago(at)).unwrap_or_default()),
        ("back", reply.revived.as_ref().map(|revived| back(revived, paper)).unwrap_or_default()),
        ("forks", reply.forks.iter().map(|fork| fork.name.clone()).collect::<Vec<_>>().join(", ")),
        ("tasks", tasks(&reply.tasks)),
        ("agent", agent(reply.agent.as_ref())),
    ]);
    checkouts(reply, paper);
    settings(reply, paper);
}

fn back(revived: &Revived, paper: &Paper) -> String {
    let work = match revived.work {
        Work::Fork(fork) => format!("fork {}", fork.short()),
        Work::Task(task) => format!("task {}", task.short()),
    };
    format!("archived or deleted {} by {}, who did not know of {work}", paper.ago(revived.retired), by(&revived.by))
}

/// The figures of a place.
pub fn stats(reply: &PlaceStats, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.place.id.to_string());
    }
    let since = reply.since.map_or_else(|| "since it was made".to_owned(), |at| format!("since {}", paper.ago(at)));
    paper.heading(&format!("{}, {since}", reply.place.name));
    let trash = if reply.deleted == 0 { String::new() } else { count(reply.deleted, "task") };
    let spread = reply.start_to_close.map(|it| {
        let of = count(it.count, "started task");
        format!("median {} (fastest {}, slowest {}; {of})", span(it.p50_ms), span(it.min_ms), span(it.max_ms))
    });
    let ran = if reply.agents == 0 { "none".into() } else { format!("{}, {} in all", reply.agents, span(reply.agents_ms)) };
    paper.facts(&[
        ("tasks", tasks(&reply.tasks)),
        ("in the trash", trash),
        ("closed", reply.closed.to_string()),
        ("start to close", spread.unwrap_or_default()),
        ("worked on", span(reply.worked_ms)),
        ("blocked", span(reply.blocked_ms)),
        ("waiting", span(reply.waiting_ms)),
        ("messages", reply.messages.to_string()),
        ("agents", ran),
    ]);
}

fn kind(place: &PlaceInfo) -> String {
    match place.kind {
        PlaceKind::Workspace => "workspace".into(),
        PlaceKind::Supervisor => "supervisor workspace".into(),
        PlaceKind::Fork { parent } => format!("fork of {}", place.fork_of.clone().unwrap_or_else(|| parent.short())),
    }
}

fn folder(place: &PlaceInfo) -> String {
    match (&place.folder, place.kind) {
        (Some(folder), _) => folder.to_string(),
        (None, PlaceKind::Fork { .. }) => "none yet: its first launch makes it".into(),
        (None, _) => format!("none on this machine: `frith workspace set {} --folder <path>`", place.name),
    }
}

fn checkouts(place: &PlaceInfo, paper: &mut Paper) {
    for checkout in &place.checkouts {
        let how = match &checkout.kind {
            CheckoutKind::Worktree { branch, .. } => format!("worktree on branch {branch}"),
            CheckoutKind::Copy => "copy".into(),
        };
        let gone = checkout.removed.map(|at| format!(", removed {}", paper.ago(at))).unwrap_or_default();
        paper.line(format!("  {how} on machine {}, made {}{gone}", checkout.machine.short(), paper.ago(checkout.made)));
    }
}

fn settings(place: &PlaceInfo, paper: &mut Paper) {
    let Settings { notifications, auto_allowed_tools, allow_all_commands, clear_context, self_learning_note, send_delay_seconds } =
        &place.settings;
    let events: Vec<_> =
        notifications.iter().filter_map(|event| Notice::ALL.iter().find(|(known, _)| known == event).map(|(_, word)| *word)).collect();
    let yes = |set: bool| if set { "yes".to_owned() } else { String::new() };
    let delay = if *send_delay_seconds == 0 { String::new() } else { format!("{send_delay_seconds} s") };
    let rows = [
        ("notifications", events.join(", ")),
        ("auto-allowed tools", auto_allowed_tools.join(", ")),
        ("allow all commands", yes(*allow_all_commands)),
        ("clear context", yes(*clear_context)),
        ("self-learning note", self_learning_note.clone()),
        ("send delay", delay),
    ];
    if rows.iter().all(|(_, value)| value.is_empty()) {
        return;
    }
    paper.gap();
    let from = place.settings_from.as_ref().map(|parent| format!(" (inherited from {})", parent.name));
    paper.heading(&format!("Settings{}", from.unwrap_or_default()));
    paper.facts(&rows);
}

/// A permission rule that a workspace's agents were given, or that was taken away.
pub fn allowed(reply: &PlaceInfo, rule: &str, removed: bool, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_now = if removed { "not allowed any more" } else { "allowed" };
    paper.line(format!("{} {}: {rule} is {is_now}", reply.id.short(), reply.name));
}

/// What deleting a place would do.
pub fn delete_question(reply: &Deleted) -> String {
    let tasks = count(reply.tasks.total(), "task");
    format!("`{}` with {tasks} goes to the trash and can be taken back for {} days", reply.name, reply.days_in_trash)
}

/// A place that went to the trash, or would.
pub fn deleted(reply: &Deleted, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    if !reply.done {
        return paper.line(delete_question(reply));
    }
    paper.line(format!("{} {} is in the trash with {}", reply.id.short(), reply.name, count(reply.tasks.total(), "task")));
    paper.line(format!("take it back within {} days: frith workspace unarchive {}", reply.days_in_trash, reply.id.short()));
}
