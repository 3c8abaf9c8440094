//! Agents: launched, listed, shown, stopped, looked at.

use frith_actors::{
    api::agents::{AgentInfo, Agents, Attached, Identity, LinkedBy, Unsent},
    env::process::ProcessEnd,
    terminal::{Attention, wire::TerminalEnd},
};
use frith_store::model::{Agent, EndHow, HeldFor, HeldMessage};

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

/// Agents in a table. Where none is in it, how many others there are.
pub fn sessions(reply: &Agents, ended: usize, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.agents.iter().for_each(|info| paper.line(info.agent.id.to_string()));
    }
    if reply.agents.is_empty() {
        return paper.line(match ended {
            0 => "no agent runs".to_owned(),
            number => format!("no agent runs; {} ended: frith agents sessions --all", count(number as u64, "other")),
        });
    }
    let rows: Vec<_> = reply.agents.iter().map(|info| row(info, paper)).collect();
    paper.table(["ID", "KIND", "PLACE", "STARTED", "STATE"], rows);
}

fn row(info: &AgentInfo, paper: &Paper) -> [String; 5] {
    let place = info.place.as_ref().map(|place| place.name.clone()).unwrap_or_default();
    [info.agent.id.short(), info.agent.host.clone(), place, paper.ago(info.agent.started), state(info, paper) + &watched(info)]
}

fn watched(info: &AgentInfo) -> String {
    if info.attached == 0 { String::new() } else { format!(", watched by {}", info.attached) }
}

/// What an agent does, where its screen says so, else whether it runs.
pub(super) fn state(info: &AgentInfo, paper: &Paper) -> String {
    match info.attention {
        Some(Attention::NeedsPerson) => "needs a person".into(),
        Some(Attention::AtPrompt) => "at its prompt".into(),
        Some(Attention::Working) => "working".into(),
        None => presence(&info.agent, paper),
    }
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
        EndHow::Gone => "its process is gone".into(),
    }
}

/// A message that was taken back, and those that wait to be sent.
pub fn unsent(reply: &Unsent, paper: &mut Paper) {
    if paper.look.quiet {
        let ids = reply.unsent.iter().chain(reply.messages.iter().filter(|_| reply.unsent.is_none()));
        return ids.for_each(|message| paper.line(message.id.to_string()));
    }
    if let Some(message) = &reply.unsent {
        paper.line(format!("{} is taken back: {}", message.id.short(), to(message)));
    } else if reply.messages.is_empty() {
        return paper.line("no message is held back");
    }
    if reply.messages.is_empty() {
        return;
    }
    let in_seconds = |message: &HeldMessage| format!("in {} s", ((message.due.ms() - paper.look.now.ms()).max(0) + 999) / 1000);
    let rows: Vec<_> =
        reply.messages.iter().map(|message| [message.id.short(), in_seconds(message), to(message), message.text.clone()]).collect();
    paper.table(["MESSAGE", "SENT", "TO", "TEXT"], rows);
}

fn to(message: &HeldMessage) -> String {
    match message.to {
        HeldFor::Thread(task) => format!("task {}", task.short()),
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
    paper.heading(&format!("{} {}", agent.host, agent.id.short()));
    paper.facts(&[
        ("id", agent.id.to_string()),
        ("place", reply.place.as_ref().map(|place| place.name.clone()).unwrap_or_default()),
        ("machine", reply.machine.clone()),
        ("folder", agent.folder.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("state", state(reply, paper) + &watched(reply) + &way_to(reply)),
        ("started", paper.ago(agent.started)),
        ("asked for by", launch.map(|launch| by(&launch.by)).unwrap_or_default()),
        ("command", command.unwrap_or_default()),
        ("model", launch.and_then(|launch| launch.model.clone()).unwrap_or_default()),
        ("effort", launch.and_then(|launch| launch.effort.clone()).unwrap_or_default()),
        ("process", launch.and_then(|launch| launch.process.as_ref()).map(|process| process.pid.to_string()).unwrap_or_default()),
    ]);
}

/// Which agent is calling.
pub fn whoami(reply: &Identity, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.id.to_string());
    }
    paper.facts(&[
        ("id", reply.id.to_string()),
        ("kind", reply.host.clone()),
        ("place", reply.place.as_ref().map(|place| place.name.clone()).unwrap_or_default()),
        ("machine", reply.machine.name.clone()),
        ("tasks", reply.holds.iter().map(frith_store::id::TaskId::short).collect::<Vec<_>>().join(", ")),
        ("linked by", linked_by(reply.linked_by).into()),
    ]);
}

fn linked_by(way: LinkedBy) -> &'static str {
    match way {
        LinkedBy::Process => "process",
        LinkedBy::Launch => "launch",
        LinkedBy::Variable => "FRITH_AGENT_ID",
        LinkedBy::Session => "session",
        LinkedBy::Ancestor => "ancestor",
        LinkedBy::Folder => "folder",
        LinkedBy::Own => "own",
    }
}
