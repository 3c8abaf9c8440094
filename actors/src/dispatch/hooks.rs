//! What is asked from below a host: what its hooks tell, and for whom an MCP process of it works.

use frith_store::hosts;

use super::{Answer, reply, serialised};
use crate::{
    api::agents::{Event, EventClass, Identity, Noted},
    call::{Envelope, Failed},
    caller::above,
    env::{process::Pid, world::blocking},
    handlers, intake, linking,
    mailbox::Pushed,
    node::Node,
    registry::{From, Heard, Told},
};

/// The most bytes that an agent is told at once: hosts cut what is longer than 10,000 characters.
const CONTEXT_MOST: usize = 9_500;

impl Node {
    /// Takes in what a hook tells. Whoever is told nothing may be known or not: a hook that lies learns nothing by it.
    pub(super) async fn hear(&self, peer: Option<u32>, event: Event) -> Result<Answer, Failed> {
        let Some(peer) = peer.filter(|_| self.ctx().config.now().agents_enabled) else { return reply(&Noted::default()) };
        let (processes, own) = (self.ctx().env.processes.clone(), self.ctx().env.itself.facts().pid);
        let line = blocking(&self.ctx().env.blocking, move || above(&*processes, Pid::new(peer), own));
        let line = line.await.map_err(Failed::from_work)?;
        // A hook that gave up waiting keeps what it tells by itself, and nobody can say any more what it stood below.
        if line.is_empty() {
            return reply(&Noted::default());
        }
        let from = From::Line(line);
        let (class, takes_context, names_shell_file) = (event.class, event.takes_context, names_shell_file(&event));
        let Some(heard) = intake::hear(self.ctx(), self.machine(), Told { event, from, at: self.ctx().env.clock.now() }).await? else {
            return reply(&Noted::default());
        };
        if class == EventClass::Stop {
            return reply(&Noted::default());
        }
        let agent = names_shell_file.then_some(heard.agent);
        let context = heard.is_to_be_told.then(|| introduction(&heard));
        let pushes = takes_context && matches!(class, EventClass::Prompt | EventClass::Tool);
        let room = CONTEXT_MOST - context.as_ref().map_or(0, |context| context.len() + 2);
        match if pushes { self.collect_mail(heard.agent, room).await } else { None } {
            None => reply(&Noted { agent, context, confirm: false }),
            Some(Pushed { text, handed }) => {
                let context = Some(context.into_iter().chain([text]).collect::<Vec<_>>().join("\n\n"));
                Ok(Answer::Handing { reply: serialised(&Noted { agent, context, confirm: true })?, handed })
            }
        }
    }

    /// Tells an MCP process for whom it works.
    pub(super) async fn link(&self, peer: Option<u32>, envelope: &Envelope) -> Result<Answer, Failed> {
        let linked = linking::link(self.ctx(), peer, envelope).await?;
        self.saw(linked.agent);
        let (here, agent, way) = (self.here(), linked.agent, linked.way);
        let identity: Identity = self.ctx().db.read(move |view| handlers::agents::identity(view, here, agent, way)).await?;
        reply(&identity)
    }
}

/// Whether the host of a session that starts has a file in which its shells are told variables.
fn names_shell_file(event: &Event) -> bool {
    let host = hosts::host(&event.host);
    event.class == EventClass::Start && host.is_some_and(|host| host.environment.shell_file.is_known())
}

/// What an agent is told as it starts. It stays the same byte for byte but for the id, so that hosts' caches of prompts hold.
fn introduction(heard: &Heard) -> String {
    let tasks = if heard.place.is_some() { ", task_* (the tasks of this place)" } else { "" };
    format!(
        "You are agent {} in frith. Tools: agent_* (other agents and messages), worktree_* (worktrees){tasks}. agent_inbox reads your messages.",
        heard.agent
    )
}
