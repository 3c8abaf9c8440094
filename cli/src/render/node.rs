//! The node itself: status, its end, what the doctor found, where the configuration comes from.

use frith_actors::{
    api::node::{NodeStatus, Stopped},
    terminal::Attention,
};

use super::{
    agents::state,
    paper::{Paper, count},
};
use crate::{
    config::{Config, keys},
    doctor::{Findings, State},
    quickstart::Quickstarted,
    shell::quoted,
    size::bytes,
    status::Shown,
};

/// What a node says of itself.
pub fn status(shown: &Shown, paper: &mut Paper) {
    let reply = &shown.node;
    if paper.look.quiet {
        return paper.line(reply.machine.to_string());
    }
    paper.heading(&format!("{} {}", reply.name, reply.machine.short()));
    paper.facts(&[
        ("node", format!("frith {}, process {}, started {}", reply.version, reply.pid, paper.ago(reply.started))),
        ("home", reply.home.to_string()),
        ("team", team(reply)),
        ("service", shown.service.as_ref().map_or("not installed".into(), ToString::to_string)),
        ("agents", agents_here(reply)),
        ("places", reply.places.to_string()),
        ("schedules", schedules(reply, paper)),
        ("unsent", unsent(reply)),
        ("mail", mail(reply)),
        ("store", store(reply)),
    ]);
    for info in reply.agents.iter().filter(|info| info.attention == Some(Attention::NeedsPerson)) {
        paper.line(format!("agent {} needs a person: frith agents attach {}", info.agent.id.short(), info.agent.id.short()));
    }
    for warning in warnings(reply) {
        paper.line(format!("warning: {warning}"));
    }
    if !reply.agents.is_empty() {
        paper.gap();
        paper.table(["AGENT", "KIND", "PLACE", "STARTED", "STATE", "FOLDER", "WATCHED BY"], agents(reply, paper));
    }
}

/// Only what a node launched counts against the most it runs at once.
fn agents_here(reply: &NodeStatus) -> String {
    let launched = reply.agents.iter().filter(|info| info.agent.launch.is_some()).count();
    let others = reply.agents.len() - launched;
    let others = if others == 0 { String::new() } else { format!("; {} of hosts", count(others as u64, "session")) };
    format!("{launched} of at most {}{others}", reply.max_agents)
}

fn unsent(reply: &NodeStatus) -> String {
    if reply.unsent == 0 { String::new() } else { format!("{}, held back", count(reply.unsent, "message")) }
}

fn mail(reply: &NodeStatus) -> String {
    if reply.unread == 0 { String::new() } else { format!("{} unread: frith agents inbox", reply.unread) }
}

fn store(reply: &NodeStatus) -> String {
    let size = format!("{}, {}", count(reply.documents, "document"), bytes(reply.store_bytes));
    if reply.store_given_back == 0 { size } else { format!("{size}; {} given back to the disk", bytes(reply.store_given_back)) }
}

/// The team by its id, and the other machines in it.
fn team(reply: &NodeStatus) -> String {
    let id = reply.team.map(|team| team.short()).unwrap_or_default();
    let names: Vec<_> = reply.peers.iter().map(|peer| format!("{} {}", peer.name, peer.machine.short())).collect();
    if names.is_empty() { format!("{id}, alone") } else { format!("{id}, with {}", names.join(", ")) }
}

fn schedules(reply: &NodeStatus, paper: &Paper) -> String {
    match (reply.schedules, reply.next_run) {
        (0, _) => String::new(),
        (number, Some(next)) => format!("{number}, next run {}", paper.until(next)),
        (number, None) => format!("{number}, no run to come"),
    }
}

fn warnings(reply: &NodeStatus) -> Vec<String> {
    let mut warnings = reply.troubles.clone();
    if reply.binary_replaced {
        warnings.push("the node's program was replaced while it runs; `frith down`, then `frith up` starts the new one".into());
    }
    if reply.root {
        warnings.push("the node runs as root, and so does every agent it starts".into());
    }
    warnings
}

fn agents(reply: &NodeStatus, paper: &Paper) -> Vec<[String; 7]> {
    let row = |info: &frith_actors::api::agents::AgentInfo| {
        [
            info.agent.id.short(),
            info.agent.host.clone(),
            info.place.as_ref().map(|place| place.name.clone()).unwrap_or_default(),
            paper.ago(info.agent.started),
            state(info, paper),
            info.agent.folder.as_ref().map(ToString::to_string).unwrap_or_default(),
            if info.attached == 0 { "nobody".into() } else { info.attached.to_string() },
        ]
    };
    reply.agents.iter().map(row).collect()
}

/// A node that stopped; none when none ran.
pub fn down(reply: Option<&Stopped>, paper: &mut Paper) {
    match reply {
        _ if paper.look.quiet => {}
        Some(stopped) => paper.line(format!("the node is down; {} stopped", count(stopped.agents.into(), "agent"))),
        None => paper.line("no node runs"),
    }
}

/// What was looked at, and what mends it.
pub fn doctor(found: &Findings, paper: &mut Paper) {
    for finding in &found.findings {
        if paper.look.quiet && finding.state == State::Good {
            continue;
        }
        let word = match finding.state {
            State::Good => "good",
            State::Odd => "note",
            State::Bad => "BAD ",
            State::Mended => "done",
        };
        paper.line(format!("{word}  {}: {}", finding.what, finding.fact));
        if let Some(mend) = &finding.mend {
            paper.line(format!("      mend: {mend}"));
        }
    }
}

/// What quickstart found and made.
pub fn quickstart(reply: &Quickstarted, paper: &mut Paper) {
    let place = &reply.workspace;
    if paper.look.quiet {
        return paper.line(place.id.to_string());
    }
    paper.line(format!("{} {}{}", place.id.short(), place.name, if reply.made { "" } else { " (there already)" }));
    paper.gap();
    let kinds = if reply.kinds.is_empty() { "none found on the search path".to_owned() } else { reply.kinds.join(", ") };
    paper.facts(&[
        ("folder", place.folder.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("node", format!("machine {}, process {}", reply.node.machine.short(), reply.node.pid)),
        ("home", reply.node.home.to_string()),
        ("configuration", reply.config.to_string()),
        ("log", reply.log.to_string()),
        ("kinds of agent", kinds),
    ]);
    for warning in warnings(&reply.node) {
        paper.line(format!("warning: {warning}"));
    }
    paper.gap();
    paper.heading("Next:");
    for command in &reply.next {
        paper.line(format!("  {command}"));
    }
    paper.gap();
    paper.line("An agent that you start yourself joins through its hooks: frith agents install --all");
    if reply.kinds.is_empty() {
        paper.gap();
        paper.line("Any command can be an agent: frith config set launch.<name>.command '[\"<your agent command>\"]'");
        paper.line(format!("and then: frith agents launch {} --kind <name>", quoted(&place.name)));
    }
}

/// Every value that counts, with what it is for or where it comes from.
pub fn settings(config: &Config, sources: bool, paper: &mut Paper) {
    for (path, setting) in &config.settings {
        let what = keys::find(path).map_or("", |key| key.what);
        let note = if sources { setting.source.to_string() } else { what.to_owned() };
        paper.line(format!("{path} = {}  # {note}", setting.value.to_string().trim()));
    }
}
