//! The terminals of this machine's agents, by agent. They belong to the machine, not to a place or a viewer: a place
//! that fails and starts again, or a viewer that goes away, changes nothing for an agent.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use frith_store::{
    id::{AgentId, PlaceId},
    model::ProcessRef,
};
use ractor::{Actor, ActorCell, ActorRef, rpc::CallResult};
use tokio::sync::watch;

use crate::{
    ctx::Ctx,
    env::process::{Launch, ProcessEnd, TerminalSize},
    local::server::{Shown, Typed},
    task::Owned,
    terminal::{
        Look, NotNow, Patterns, Seen, Started, Terminal, TerminalArgs, TerminalError, TerminalMessage, Viewing,
        wire::{FromViewer, TerminalEnd, ToViewer},
    },
};

/// A terminal, to talk to.
pub type TerminalRef = ActorRef<TerminalMessage>;

/// The terminals of this machine's agents.
#[derive(Clone)]
pub struct Terminals {
    machine: ActorCell,
    ended: Arc<dyn Fn(PlaceId, AgentId, ProcessEnd) + Send + Sync>,
    open: Arc<Mutex<BTreeMap<AgentId, Open>>>,
}

/// A terminal that is open, and what was read of its screen last.
#[derive(Clone)]
struct Open {
    terminal: TerminalRef,
    seen: watch::Receiver<Seen>,
}

impl Terminals {
    /// No terminals yet; those opened are linked to `machine`, and the ends of their processes are told to `ended`.
    pub fn new(machine: ActorCell, ended: impl Fn(PlaceId, AgentId, ProcessEnd) + Send + Sync + 'static) -> Self {
        Self { machine, ended: Arc::new(ended), open: Arc::default() }
    }

    /// Opens a terminal for an agent of a place, whose screen is read by these patterns. Its process's end is told once.
    ///
    /// # Errors
    /// The actor could not be started.
    pub async fn open(
        &self,
        ctx: &Ctx,
        place: PlaceId,
        agent: AgentId,
        size: TerminalSize,
        patterns: Option<Patterns>,
    ) -> Result<TerminalRef, ractor::SpawnErr> {
        let told = Arc::clone(&self.ended);
        let on_end = Box::new(move |end| {
            if let TerminalEnd::Process(end) = end {
                told(place, agent, end);
            }
        });
        let (telling, seen) = watch::channel(Seen::default());
        let arguments = TerminalArgs { processes: ctx.env.processes.clone(), size, patterns, seen: telling, on_end };
        let (terminal, _) = Actor::spawn_linked(None, Terminal, arguments, self.machine.clone()).await?;
        self.lock().insert(agent, Open { terminal: terminal.clone(), seen });
        Ok(terminal)
    }

    /// An agent's terminal, also after its end while somebody may still want to see the last screen.
    pub fn get(&self, agent: AgentId) -> Option<TerminalRef> {
        self.lock().get(&agent).map(|open| open.terminal.clone())
    }

    /// What is read of an agent's screen, as it changes.
    pub fn seen(&self, agent: AgentId) -> Option<watch::Receiver<Seen>> {
        self.lock().get(&agent).map(|open| open.seen.clone())
    }

    /// Closes a terminal whose agent has ended.
    pub fn close(&self, agent: AgentId) {
        if let Some(open) = self.lock().remove(&agent) {
            open.terminal.stop(None);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<AgentId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Draws a line of the node's own. A terminal that is gone shows nothing.
pub fn opening_line(terminal: &TerminalRef, text: &str) {
    let _ = terminal.cast(TerminalMessage::Line(text.to_owned()));
}

/// Starts an agent's process; none when the terminal is gone.
pub async fn start(terminal: &TerminalRef, launch: Launch) -> Option<Result<ProcessRef, TerminalError>> {
    match terminal.call(|reply| TerminalMessage::Start(Box::new(launch), reply), None).await {
        Ok(CallResult::Success(outcome)) => Some(outcome.map(|Started { process }| process)),
        _ => None,
    }
}

/// Asks an agent to end, and kills it after `grace`. The end is told as any other.
pub fn ask_to_end(terminal: &TerminalRef, grace: Duration) -> Owned {
    let terminal = terminal.clone();
    Owned::spawn(async move {
        // A terminal that is gone has ended its process.
        let _ = terminal.call(|reply| TerminalMessage::Stop(grace, reply), None).await;
    })
}

/// The lines of the screen that say something.
pub async fn screen(terminal: &TerminalRef) -> Vec<String> {
    match terminal.call(TerminalMessage::Text, None).await {
        Ok(CallResult::Success(text)) => text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        _ => vec![],
    }
}

/// Types a line to an agent that waits at its prompt; a terminal that is gone reads nothing.
///
/// # Errors
/// Why nothing was typed.
pub async fn nudge(terminal: &TerminalRef, line: String) -> Result<(), NotNow> {
    match terminal.call(|reply| TerminalMessage::Nudge(line, reply), None).await {
        Ok(CallResult::Success(outcome)) => outcome,
        _ => Err(NotNow::NotRead),
    }
}

/// How many look at a terminal.
pub async fn attached(terminal: &TerminalRef) -> u32 {
    match terminal.call(TerminalMessage::Viewers, None).await {
        Ok(CallResult::Success(viewers)) => u32::try_from(viewers.len()).unwrap_or(u32::MAX),
        _ => 0,
    }
}

/// Looks at a terminal; none when it is gone. What is typed is dropped when the viewer only watches.
pub async fn attach(terminal: &TerminalRef, look: Look, read_only: bool) -> Option<(Box<dyn Shown>, Box<dyn Typed>)> {
    match terminal.call(|reply| TerminalMessage::Attach(look, reply), None).await {
        Ok(CallResult::Success(viewing)) => {
            let typing = Typing { terminal: terminal.clone(), viewer: viewing.viewer(), read_only };
            Some((Box::new(Watching(viewing)), Box::new(typing)))
        }
        _ => None,
    }
}

struct Watching(Viewing);

impl Shown for Watching {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<ToViewer>> + Send + '_>> {
        Box::pin(self.0.next())
    }
}

struct Typing {
    terminal: TerminalRef,
    viewer: crate::terminal::ViewerId,
    read_only: bool,
}

impl Typed for Typing {
    fn take(&mut self, piece: FromViewer) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let message = match piece {
            FromViewer::Input(_) if self.read_only => None,
            FromViewer::Input(keys) => Some(TerminalMessage::Input(self.viewer, keys)),
            FromViewer::Resize(size) => Some(TerminalMessage::Resize(self.viewer, size)),
            FromViewer::Detach => Some(TerminalMessage::Detach(self.viewer)),
        };
        let taken = message.is_none_or(|message| self.terminal.cast(message).is_ok());
        Box::pin(async move { taken })
    }
}
