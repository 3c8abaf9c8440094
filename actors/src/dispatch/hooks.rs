//! What is asked from below a host: what its hooks tell, and for whom an MCP process of it works.

use std::{future::Future, pin::Pin};

use frith_store::{hosts, id::AgentId};

use super::{Answer, reply, serialised};
use crate::{
    api::agents::{Event, EventClass, Identity, Link, Noted},
    call::{Envelope, Failed},
    caller::above,
    env::process::Pid,
    handlers,
    hook::payload,
    intake,
    linking::{self, Wanted},
    local::server::Handed,
    mailbox::Pushed,
    node::Node,
    push::PUSH_MOST,
    registry::{From, Heard, Told},
    roster::Roster,
};

impl Node {
    /// Takes in what a hook tells. Whoever is told nothing may be known or not: a hook that lies learns nothing by it.
    pub(super) async fn hear(&self, peer: Option<u32>, event: Event) -> Result<Answer, Failed> {
        let event = payload::checked(event).filter(|_| self.ctx().config.now().agents_enabled);
        let (Some(peer), Some(event)) = (peer, event) else { return reply(&Noted::default()) };
        // The system's table is memory: a look at it takes less than handing it to another thread.
        let line = above(&*self.ctx().env.processes, Pid::new(peer), self.ctx().env.itself.facts().pid);
        // A hook that gave up waiting keeps what it tells by itself, and nobody can say any more what it stood below.
        if line.is_empty() {
            return reply(&Noted::default());
        }
        let waits = std::iter::once(peer).chain(line.iter().take(HOST_WITHIN).map(|above| above.process.pid)).collect();
        let from = From::Line(line);
        let told = event.clone();
        let (class, takes_context, names_shell_file) = (event.class, event.takes_context, names_shell_file(&event));
        let heard = intake::hear(self.ctx(), self.machine(), Told { event, from, at: self.ctx().env.clock.now() }).await?;
        self.follow(&told, heard.as_ref(), waits);
        let Some(heard) = heard else {
            return reply(&Noted::default());
        };
        if class == EventClass::Stop {
            return reply(&Noted::default());
        }
        let agent = names_shell_file.then_some(heard.agent);
        let context = heard.is_to_be_told.then(|| introduction(&heard, self.ctx().config.now().worktrees_enabled));
        let pushes = takes_context && matches!(class, EventClass::Prompt | EventClass::Tool);
        let room = PUSH_MOST - context.as_ref().map_or(0, |context| context.len() + 2);
        let pushed = if pushes { self.collect_mail(heard.agent, room).await } else { None };
        if context.is_none() && pushed.is_none() {
            return reply(&Noted { agent, context: None, confirm: false });
        }
        let (mail, handed) = pushed.map(|Pushed { text, handed }| (text, handed)).unzip();
        let (roster, introduced) = (self.ctx().roster.clone(), context.is_some().then_some(heard.agent));
        let context = Some(context.into_iter().chain(mail).collect::<Vec<_>>().join("\n\n"));
        let reply = serialised(&Noted { agent, context, confirm: true })?;
        Ok(Answer::Handing { reply, handed: Box::new(Said { roster, introduced, mail: handed }) })
    }

    /// Tells an MCP process for whom it works.
    pub(super) async fn link(&self, peer: Option<u32>, envelope: &Envelope, asked: &Link) -> Result<Answer, Failed> {
        let wanted = Wanted { host: &asked.host, folder: envelope.folder.as_ref(), claims: &envelope.claims, only_looks: asked.look };
        let linked = linking::link(self.ctx(), peer, &wanted).await?;
        self.saw(linked.agent);
        let (here, agent, way) = (self.here(), linked.agent, linked.way);
        let identity: Identity = self.ctx().db.read(move |view| handlers::agents::identity(view, here, agent, way)).await?;
        reply(&identity)
    }
}

/// Within how many processes above a hook its host is: shells of the host's and of the entry stand between.
pub(super) const HOST_WITHIN: usize = 3;

/// What an agent is told, on its way: whoever is not known to have heard what it is is told again.
struct Said {
    roster: Roster,
    /// The agent that is told what it is.
    introduced: Option<AgentId>,
    mail: Option<Box<dyn Handed>>,
}

impl Handed for Said {
    fn written(self: Box<Self>, is_written: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if let Some(agent) = self.introduced.filter(|_| is_written) {
                self.roster.change(agent, |member| member.is_told = true);
            }
            if let Some(mail) = self.mail {
                mail.written(is_written).await;
            }
        })
    }
}

/// Whether the host of a session that starts has a file in which its shells are told variables.
fn names_shell_file(event: &Event) -> bool {
    let host = hosts::host(&event.host);
    event.class == EventClass::Start && host.is_some_and(|host| host.environment.shell_file.is_known())
}

/// What an agent is told as it starts. It stays the same byte for byte but for the id, so that hosts' caches of prompts hold.
/// It names the tools that there are, which an agent's shell has as commands: in a place those of its tasks too.
fn introduction(heard: &Heard, has_worktrees: bool) -> String {
    let families = [
        (true, "`agent_*` (other agents and messages)", "`frith agents`"),
        (has_worktrees, "`worktree_*` (git worktrees, one owner each)", "`frith worktree`"),
        (heard.place.is_some(), "`task_*` (the tasks of this place)", "`frith task`"),
    ];
    let there = || families.iter().filter(|(is_there, ..)| *is_there);
    let (tools, commands) = (listed(there().map(|(_, tools, _)| *tools)), listed(there().map(|(.., command)| *command)));
    format!("You are agent {} in frith. Its tools are {tools}; your shell has {commands}. `agent_inbox` reads your messages.", heard.agent)
}

/// Words as a sentence lists them.
fn listed<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<_> = words.collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
