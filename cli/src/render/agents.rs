//! Agents: launched, listed, shown, stopped, looked at; who is calling.

use std::collections::BTreeSet;

use frith_actors::{
    api::{
        agents::{AgentInfo, Agents, Attached, Identity, LinkedBy, StatusSet},
        worktree::Held,
    },
    env::process::ProcessEnd,
    terminal::{Attention, wire::TerminalEnd},
};
use frith_store::model::{Agent, EndHow, HostSession, Presence};

use super::paper::{Paper, by, count};
use crate::{shell::quoted, viewing::Outcome};

/// An agent that was launched.
pub fn launched(reply: &AgentInfo, paper: &mut Paper) {
    one_line(reply, paper);
    if !paper.look.quiet {
        paper.line(format!("watch it: frith agents attach {}", reply.agent.id.short()));
    }
}

/// An agent that was stopped.
pub fn stopped(reply: &AgentInfo, paper: &mut Paper) {
    one_line(reply, paper);
}

fn one_line(reply: &AgentInfo, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.agent.id.to_string());
    }
    let place = reply.place.as_ref().map(|place| format!(" in {}", place.name)).unwrap_or_default();
    paper.line(format!("{} {}{place}, {}", reply.agent.id.short(), reply.agent.host, presence(&reply.agent, paper)));
}

/// What became of a look at an agent's terminal, in one sentence.
pub fn look_ended(attached: &Attached, outcome: Outcome) -> String {
    let place = attached.place.as_ref().map(|place| format!(" in {}", place.name)).unwrap_or_default();
    let agent = format!("{}{place}", attached.agent.short());
    match outcome {
        Outcome::Ended(TerminalEnd::NeverStarted) => format!("{agent} never started"),
        Outcome::Ended(TerminalEnd::Process(end)) => format!("{agent} {}", ended(end)),
        Outcome::Detached | Outcome::Signalled(_) => format!("detached from {agent}"),
        Outcome::NodeGone => format!("the node closed the terminal of {agent}"),
    }
}

fn ended(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => how(&EndHow::Exited(code)),
        ProcessEnd::Signalled(signal) => how(&EndHow::Signalled(signal)),
        ProcessEnd::Unknown => "ended".into(),
    }
}

/// Agents in a table, sub-agents below theirs. Where none is in it, how many others there are.
pub fn sessions(reply: &Agents, ended: usize, paper: &mut Paper) {
    let all = with_sub_agents(&reply.agents, 0);
    if paper.look.quiet {
        return all.iter().for_each(|(_, info)| paper.line(info.agent.id.to_string()));
    }
    if all.is_empty() {
        return paper.line(match ended {
            0 => "no agent runs".to_owned(),
            number => format!("no agent runs; {} ended: frith agents sessions --all", count(number as u64, "other")),
        });
    }
    let here: BTreeSet<_> = all.iter().map(|(_, info)| info.agent.machine).collect();
    let rows = all.iter().map(|(depth, info)| row(*depth, info, paper));
    if here.len() > 1 {
        let rows: Vec<_> = rows.collect();
        return paper.table(["ID", "HOST", "STATE", "PLACE", "MACHINE", "DOES", "UNREAD", "STARTED"], rows);
    }
    let rows: Vec<_> =
        rows.map(|[id, host, state, place, _, does, unread, started]| [id, host, state, place, does, unread, started]).collect();
    paper.table(["ID", "HOST", "STATE", "PLACE", "DOES", "UNREAD", "STARTED"], rows);
}

/// Agents and their sub-agents, each with how many are above it.
fn with_sub_agents(agents: &[AgentInfo], depth: usize) -> Vec<(usize, &AgentInfo)> {
    agents.iter().flat_map(|info| [vec![(depth, info)], with_sub_agents(&info.sub_agents, depth + 1)].concat()).collect()
}

fn row(depth: usize, info: &AgentInfo, paper: &Paper) -> [String; 8] {
    [
        "  ".repeat(depth) + &info.agent.id.short(),
        info.agent.host.clone(),
        state_and_when(info, paper) + &watched(info),
        works_in(info),
        info.machine.clone(),
        does(info),
        if info.unread == 0 { String::new() } else { info.unread.to_string() },
        paper.ago(info.agent.started),
    ]
}

/// The place an agent works in, and the tasks of the worktrees it has.
fn works_in(info: &AgentInfo) -> String {
    let place = info.place.as_ref().map(|place| place.name.clone()).unwrap_or_default();
    let tasks = info.worktrees.iter().map(|held| held.task.as_str()).collect::<Vec<_>>().join(", ");
    if tasks.is_empty() { place } else { format!("{place} ({tasks})").trim_start().to_owned() }
}

/// What an agent says of itself, then what it did last.
fn does(info: &AgentInfo) -> String {
    match (&info.status, &info.activity) {
        (Some(status), Some(activity)) => format!("{status} ({activity})"),
        (status, activity) => status.as_ref().or(activity.as_ref()).cloned().unwrap_or_default(),
    }
}

fn watched(info: &AgentInfo) -> String {
    if info.attached == 0 { String::new() } else { format!(", watched by {}", info.attached) }
}

/// What an agent does, where its screen or its hooks say so, else whether it is there.
pub(super) fn state(info: &AgentInfo, paper: &Paper) -> String {
    match (info.presence, info.attention) {
        (Presence::Ended, _) => presence(&info.agent, paper),
        (_, Some(Attention::NeedsPerson)) => "needs a person".into(),
        (Presence::Idle, _) => "idle".into(),
        (Presence::Live, Some(Attention::AtPrompt)) => "at its prompt".into(),
        (Presence::Live, Some(Attention::Working)) => "working".into(),
        (Presence::Live, None) if info.agent.is_running() => "live".into(),
        (Presence::Live, None) => presence(&info.agent, paper),
    }
}

/// The same, and when something was heard last of one that did not end.
fn state_and_when(info: &AgentInfo, paper: &Paper) -> String {
    let seen = info.seen.filter(|_| info.presence != Presence::Ended);
    state(info, paper) + &seen.map(|seen| format!(", {}", paper.ago(seen))).unwrap_or_default()
}

fn way_to(info: &AgentInfo) -> String {
    match info.attention {
        Some(Attention::NeedsPerson) => format!("; answer it: frith agents attach {}", info.agent.id.short()),
        _ => String::new(),
    }
}

fn presence(agent: &Agent, paper: &Paper) -> String {
    match &agent.ended {
        None if agent.is_running() => "running".into(),
        None => "starting".into(),
        Some(end) => format!("{}, {}", how(&end.how), paper.ago(end.at)),
    }
}

fn how(how: &EndHow) -> String {
    match how {
        EndHow::Exited(0) => "finished".into(),
        EndHow::Exited(code) => format!("exited with {code}"),
        EndHow::Signalled(signal) => format!("ended by signal {signal}"),
        EndHow::Stopped(who) => format!("stopped by {}", by(who)),
        EndHow::NotStarted(why) => format!("not started ({why})"),
        EndHow::Lost => "lost with its node".into(),
        EndHow::SessionOver => "session over".into(),
        EndHow::Gone => "process gone".into(),
    }
}

/// One agent whole.
pub fn show_agent(reply: &AgentInfo, paper: &mut Paper) {
    let agent = &reply.agent;
    if paper.look.quiet {
        return paper.line(agent.id.to_string());
    }
    let launch = agent.launch.as_ref();
    let command = launch.map(|launch| launch.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    let model = agent.model.clone().or_else(|| launch.and_then(|launch| launch.model.clone()));
    let process = launch.and_then(|launch| launch.process.as_ref()).map(|process| process.pid.to_string());
    paper.heading(&format!("{} {}", agent.host, agent.id.short()));
    paper.facts(&[
        ("id", agent.id.to_string()),
        ("session", agent.session.as_ref().map(session).unwrap_or_default()),
        ("sub-agent of", agent.parent.map(|parent| parent.short()).unwrap_or_default()),
        ("place", reply.place.as_ref().map(|place| place.name.clone()).unwrap_or_default()),
        ("machine", reply.machine.clone()),
        ("folder", agent.folder.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("state", state_and_when(reply, paper) + &watched(reply) + &way_to(reply)),
        ("says", reply.status.clone().unwrap_or_default()),
        ("does", reply.activity.clone().unwrap_or_default()),
        ("unread", unread(reply)),
        ("worktrees", worktrees(&reply.worktrees)),
        ("started", paper.ago(agent.started)),
        ("asked for by", launch.map(|launch| by(&launch.by)).unwrap_or_default()),
        ("command", command.unwrap_or_default()),
        ("model", model.unwrap_or_default()),
        ("effort", launch.and_then(|launch| launch.effort.clone()).unwrap_or_default()),
        ("process", process.unwrap_or_default()),
    ]);
    if !reply.sub_agents.is_empty() {
        paper.gap();
        paper.heading("Sub-agents");
        let below = with_sub_agents(&reply.sub_agents, 0);
        let rows: Vec<_> = below.iter().map(|(depth, info)| row(*depth, info, paper)).collect();
        let rows = rows.into_iter().map(|[id, host, state, _, _, does, unread, started]| [id, host, state, does, unread, started]);
        paper.table(["ID", "HOST", "STATE", "DOES", "UNREAD", "STARTED"], rows);
    }
}

fn session(session: &HostSession) -> String {
    let id = session.id.clone().unwrap_or_else(|| "without an id".into());
    match &session.sub_agent {
        Some(sub_agent) => format!("{id}, sub-agent {sub_agent}"),
        None => id,
    }
}

fn unread(info: &AgentInfo) -> String {
    match info.unread {
        0 => String::new(),
        number => format!("{}: frith agents inbox {}", count(number, "message"), info.agent.id.short()),
    }
}

/// Which agent is calling.
pub fn whoami(reply: &Identity, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    paper.facts(&[
        ("id", reply.id.to_string()),
        ("host", reply.host.clone()),
        ("session", reply.session.as_ref().map(session).unwrap_or_default()),
        ("sub-agent of", reply.parent.map(|parent| parent.short()).unwrap_or_default()),
        ("place", reply.place.as_ref().map(|place| place.name.clone()).unwrap_or_default()),
        ("folder", reply.folder.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("machine", reply.machine.name.clone()),
        ("worktrees", worktrees(&reply.worktrees)),
        ("tasks", reply.holds.iter().map(frith_store::id::TaskId::short).collect::<Vec<_>>().join(", ")),
        ("linked by", linked_by(reply.linked_by).into()),
    ]);
}

/// What an agent says of itself now.
pub fn status_set(reply: &StatusSet, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.agent.to_string());
    }
    paper.line(match &reply.status {
        Some(status) => format!("{}: {status}", reply.agent.short()),
        None => format!("{} says nothing of itself", reply.agent.short()),
    });
}

/// Worktrees that one has, each with its task.
fn worktrees(held: &[Held]) -> String {
    held.iter().map(|held| format!("{} ({})", held.path, held.task)).collect::<Vec<_>>().join(", ")
}

fn linked_by(way: LinkedBy) -> &'static str {
    match way {
        LinkedBy::Process => "process: the agent's own, or one that it started",
        LinkedBy::Launch => "launch: the mark that its node gave it",
        LinkedBy::Variable => "FRITH_AGENT_ID, which chose among the agents of this process",
        LinkedBy::Session => "session: the one that its host names in the environment",
        LinkedBy::Ancestor => "ancestor: a process above this one and above its hooks",
        LinkedBy::Folder => "folder: it is the only one of its host here",
        LinkedBy::Own => "own: its host has no hooks",
    }
}
