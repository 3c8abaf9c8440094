//! Forks: spun up, merged, and what a merge would take away.

use frith_actors::api::fork::{FolderFate, Merged, MergedFolder, SpunUp};
use frith_store::model::CheckoutKind;

use super::paper::{Paper, count};
use crate::shell::quoted;

/// A task that was given a fork and an agent.
pub fn spun_up(reply: &SpunUp, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.fork.id.to_string());
    }
    paper.line(format!("{} {}", reply.fork.id.short(), reply.fork.name));
    let agent = &reply.agent.agent;
    let again = if reply.continued { ", in the fork made before" } else { "" };
    paper.line(format!("task {} is there now, and agent {} ({}) starts on it{again}", reply.task.short(), agent.id.short(), agent.host));
    paper.line(format!("watch it: frith agents attach {}", reply.fork.name));
}

/// What merging a fork and removing its folder would do.
pub fn merge_question(reply: &Merged) -> String {
    let mut lines = vec![format!("fork `{}` is merged into `{}`, with {}", reply.fork, reply.parent, tasks(reply))];
    lines.extend(schedules(reply).map(|line| format!("  {line}")));
    lines.extend(reply.stopped_agent.map(|agent| format!("  agent {} is stopped", agent.short())));
    lines.extend(reply.folders.iter().map(|folder| format!("  {} is deleted{}", folder.path, lost(folder))));
    lines.join("\n")
}

fn lost(folder: &MergedFolder) -> String {
    let kept = if let CheckoutKind::Worktree { branch, .. } = &folder.kind { format!("; branch {branch} is kept") } else { String::new() };
    match folder.uncommitted {
        Some(0) => kept,
        Some(1) => format!(", and 1 uncommitted change in it goes{kept}"),
        Some(number) => format!(", and {number} uncommitted changes in it go{kept}"),
        None => format!(", and everything in it goes{kept}"),
    }
}

fn tasks(reply: &Merged) -> String {
    count(reply.moved_tasks.into(), "task")
}

/// Nothing holds a template back, so that its runs go on in the parent is said.
fn schedules(reply: &Merged) -> Option<String> {
    let go = if reply.schedules == 1 { "goes" } else { "go" };
    let parent = quoted(&reply.parent);
    (reply.schedules > 0)
        .then(|| format!("{} {go} on there: frith task list -w {parent} --status cron", count(reply.schedules.into(), "schedule")))
}

/// A fork that was merged, or would be.
pub fn merged(reply: &Merged, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.parent_id.to_string());
    }
    if !reply.done {
        paper.line(format!("fork {} would be merged into {}, with {}", reply.fork, reply.parent, tasks(reply)));
        if let Some(agent) = reply.stopped_agent {
            paper.line(format!("agent {} would be stopped", agent.short()));
        }
        return reply.folders.iter().for_each(|folder| {
            let fate = if folder.fate == FolderFate::ToBeRemoved { "deleted" } else { "kept" };
            let lost = if folder.fate == FolderFate::ToBeRemoved { lost(folder) } else { branch(&folder.kind) };
            paper.line(format!("folder {} would be {fate}{lost}", folder.path));
        });
    }
    paper.line(format!("{} {}: {} moved from {}", reply.parent_id.short(), reply.parent, tasks(reply), reply.fork));
    schedules(reply).into_iter().for_each(|line| paper.line(line));
    if let Some(agent) = reply.stopped_agent {
        paper.line(format!("agent {} was stopped", agent.short()));
    }
    for folder in &reply.folders {
        let (path, branch) = (&folder.path, branch(&folder.kind));
        paper.line(match &folder.fate {
            FolderFate::Kept => format!("folder kept: {path}{branch}"),
            FolderFate::Removed { tip: Some(tip) } => format!("folder removed: {path}{branch} kept at {}", tip.get(..8).unwrap_or(tip)),
            FolderFate::Removed { tip: None } => format!("folder removed: {path}"),
            FolderFate::KeptBecause(why) => format!("folder kept: {path}, because {why}"),
            FolderFate::Gone => format!("folder was gone already: {path}"),
            FolderFate::ToBeRemoved => format!("folder still there: {path}{branch}"),
        });
        if let CheckoutKind::Worktree { branch, .. } = &folder.kind {
            paper.line(format!("its commits are merged by git alone: git merge {branch}"));
        }
    }
}

fn branch(kind: &CheckoutKind) -> String {
    match kind {
        CheckoutKind::Worktree { branch, .. } => format!(", branch {branch}"),
        CheckoutKind::Copy => String::new(),
    }
}
