//! The **place** actor: one place whose seat is here. Its mailbox serialises what must not happen twice: launching and
//! stopping the place's agent, and merging.
//!
//! A handler decides and returns; what takes long is a task the actor owns, whose outcome comes back as a message. What
//! must survive lies in the store, so an actor that fails starts again where it was.

use std::time::Duration;

use frith_store::{
    id::{AgentId, PlaceId},
    model::{Agent, By, EndHow, Notice, Place},
    refusal::Refusal,
    rules::{launch::agent_runs, named},
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, rpc::CallResult};
use tokio::sync::mpsc;

use crate::{
    api::fork::Merged,
    call::{Failed, Progress},
    ctx::Ctx,
    env::process::ProcessEnd,
    fork::{Cancel, Fork, ForkMsg},
    given,
    launch::{self, Carrying, NotLaunched, record_end},
    merge::{self, FolderStep},
    notice::{self, Event},
    task::Owned,
    tending::{self, Tending},
    terminals::{self, Terminals},
};

/// How long a place in which nothing happens is kept ready.
const IDLE: Duration = Duration::from_secs(300);

/// How long a failed write of an agent's end waits before it is tried again.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// What a place does.
pub enum PlaceMsg {
    /// Launches an agent.
    Launch {
        /// What was asked.
        asked: Box<launch::Asked>,
        /// Hears how far it is.
        progress: mpsc::Sender<Progress>,
        /// The agent, once its process runs.
        reply: RpcReplyPort<Result<AgentId, Failed>>,
    },
    /// A launch is over.
    LaunchOver(Result<AgentId, NotLaunched>),
    /// Stops the agent, and answers once its end is on disk.
    Stop {
        /// Who asks.
        by: By,
        /// The agent that is meant; none for whichever runs.
        agent: Option<AgentId>,
        /// The agent, ended.
        reply: RpcReplyPort<Result<Agent, Failed>>,
    },
    /// The agent's process has ended.
    Ended(AgentId, ProcessEnd),
    /// The end of an agent is to be written down, again when it could not be.
    End(AgentId, EndHow),
    /// Merges the fork.
    Merge {
        /// What was asked.
        asked: Box<merge::Asked>,
        /// What it did.
        reply: RpcReplyPort<Result<Merged, Failed>>,
    },
    /// Finishes the removal of a merged fork's folder where a node that ended left off.
    FinishRemoval(Box<FolderStep>),
    /// A merge, or the end of one, is over.
    MergeOver,
    /// The settings of the place, or of its parent, changed.
    SettingsChanged,
    /// Nothing was asked since this many messages.
    Idle(u64),
}

/// What the place's agent is doing.
enum AgentState {
    None,
    Launching(Launching),
    Running(AgentId),
}

struct Launching {
    cancel: Cancel,
    reply: RpcReplyPort<Result<AgentId, Failed>>,
    /// Processes that ended meanwhile: the one being started, or one before it.
    ended: Vec<(AgentId, ProcessEnd)>,
    _task: Owned,
}

/// The actor.
pub struct PlaceActor;

/// What it was started with, and what it is in the middle of.
pub struct PlaceState {
    ctx: Ctx,
    terminals: Terminals,
    place: Place,
    fork: Option<ActorRef<ForkMsg>>,
    agent: AgentState,
    /// Who asked for the agent's stop.
    stop: Option<By>,
    stopping: Vec<RpcReplyPort<Result<Agent, Failed>>>,
    ending: Option<Owned>,
    merging: Option<Owned>,
    /// Tells the running agent of tasks, and people of what it asks.
    tending: Option<Owned>,
    /// How many messages were handled, but for those that ask whether it is idle.
    handled: u64,
    idle_noted: u64,
}

impl Actor for PlaceActor {
    type Msg = PlaceMsg;
    type State = PlaceState;
    type Arguments = (Ctx, Terminals, PlaceId);

    async fn pre_start(
        &self,
        myself: ActorRef<PlaceMsg>,
        (ctx, terminals, id): (Ctx, Terminals, PlaceId),
    ) -> Result<PlaceState, ActorProcessingErr> {
        let place = ctx.db.read(move |view| view.require_place(id)).await?;
        let fork = match place.parent() {
            Some(_) => Some(spawn_fork(&ctx, id, &myself).await?),
            None => None,
        };
        let mut state = PlaceState {
            ctx,
            terminals,
            place,
            fork,
            agent: AgentState::None,
            stop: None,
            stopping: vec![],
            ending: None,
            merging: None,
            tending: None,
            handled: 0,
            idle_noted: 0,
        };
        state.take_up().await?;
        Ok(state)
    }

    async fn handle(&self, myself: ActorRef<PlaceMsg>, message: PlaceMsg, state: &mut PlaceState) -> Result<(), ActorProcessingErr> {
        state.handled += u64::from(!matches!(message, PlaceMsg::Idle(_)));
        if matches!(message, PlaceMsg::Launch { .. } | PlaceMsg::Stop { .. } | PlaceMsg::Merge { .. }) {
            state.look_again().await?;
        }
        match message {
            PlaceMsg::Launch { asked, progress, reply } => state.launch(&myself, asked, progress, reply).await,
            PlaceMsg::LaunchOver(outcome) => state.launch_over(&myself, outcome).await?,
            PlaceMsg::Stop { by, agent, reply } => state.stop(by, agent, reply),
            PlaceMsg::Ended(agent, end) => state.ended(&myself, agent, end).await?,
            PlaceMsg::End(agent, how) => state.end(&myself, agent, how).await?,
            PlaceMsg::Merge { asked, reply } => state.merge(&myself, asked, reply),
            PlaceMsg::FinishRemoval(step) => state.finish_removal(&myself, *step),
            PlaceMsg::MergeOver => state.merging = None,
            PlaceMsg::SettingsChanged => state.settings_changed().await,
            PlaceMsg::Idle(handled) => state.stop_if_idle(&myself, handled),
        }
        state.note_idle(&myself);
        Ok(())
    }
}

async fn spawn_fork(ctx: &Ctx, id: PlaceId, myself: &ActorRef<PlaceMsg>) -> Result<ActorRef<ForkMsg>, SpawnErr> {
    let (fork, _) = Actor::spawn_linked(None, Fork, (ctx.clone(), id.to_string()), myself.get_cell()).await?;
    Ok(fork)
}

async fn stop_agent(place: &ActorRef<PlaceMsg>, by: By) -> merge::Stop {
    match place.call(|reply| PlaceMsg::Stop { by, agent: None, reply }, Some(merge::STOP_WAIT)).await {
        Ok(CallResult::Success(stopped)) => Some(stopped),
        _ => None,
    }
}

impl PlaceState {
    /// Finds the agent that an earlier run of this actor had started. One that is recorded and runs nowhere was lost.
    async fn take_up(&mut self) -> Result<(), ActorProcessingErr> {
        let id = self.place.id;
        let Some(agent) = self.ctx.db.read(move |view| Ok(view.agent_in(id)?)).await? else { return Ok(()) };
        if self.ctx.roster.is_running(agent.id) {
            self.agent = AgentState::Running(agent.id);
            self.tend(agent.id);
        } else {
            self.terminals.close(agent.id);
            record_end(&self.ctx, agent.id, EndHow::Lost).await?;
        }
        Ok(())
    }

    /// Takes note of what changed in the place's record, as its name.
    async fn look_again(&mut self) -> Result<(), ActorProcessingErr> {
        let id = self.place.id;
        self.place = self.ctx.db.read(move |view| view.require_place(id)).await?;
        Ok(())
    }

    fn is_idle(&self) -> bool {
        matches!(self.agent, AgentState::None) && self.merging.is_none()
    }

    fn note_idle(&mut self, myself: &ActorRef<PlaceMsg>) {
        if self.is_idle() && self.idle_noted != self.handled {
            self.idle_noted = self.handled;
            let handled = self.handled;
            myself.send_after(IDLE, move || PlaceMsg::Idle(handled));
        }
    }

    fn stop_if_idle(&self, myself: &ActorRef<PlaceMsg>, handled: u64) {
        if self.is_idle() && self.handled == handled {
            myself.stop(Some("idle".into()));
        }
    }

    async fn launch(
        &mut self,
        myself: &ActorRef<PlaceMsg>,
        asked: Box<launch::Asked>,
        progress: mpsc::Sender<Progress>,
        reply: RpcReplyPort<Result<AgentId, Failed>>,
    ) {
        if let Some(refusal) = self.busy().or(self.agent_here().await) {
            let _ = reply.send(Err(refusal.into()));
            return;
        }
        self.forget_last_agent().await;
        given::take_back_left(&self.ctx).await;
        let cancel = Cancel::default();
        let carrying = Carrying {
            ctx: self.ctx.clone(),
            place: self.place.clone(),
            fork: self.fork.clone(),
            terminals: self.terminals.clone(),
            cancel: cancel.clone(),
            progress,
        };
        let myself = myself.clone();
        let task = Owned::spawn(async move {
            let outcome = launch::run(&carrying, &asked).await;
            // An actor that is gone has its task ended with it.
            let _ = myself.cast(PlaceMsg::LaunchOver(outcome));
        });
        self.agent = AgentState::Launching(Launching { cancel, reply, ended: vec![], _task: task });
    }

    fn busy(&self) -> Option<Refusal> {
        let what = match (&self.agent, &self.merging) {
            (_, Some(_)) => "it is being merged",
            (AgentState::Launching(_), None) => "an agent is being launched there",
            _ => return None,
        };
        Some(Refusal::Busy { place: named(&self.place), what: what.to_owned() })
    }

    /// The refusal of a second agent: the one that runs stays what this actor knows of.
    async fn agent_here(&self) -> Option<Refusal> {
        let AgentState::Running(id) = self.agent else { return None };
        let agent = self.ctx.db.read(move |view| Ok(view.agent(id)?)).await.ok().flatten()?;
        Some(agent_runs(&self.place, &agent))
    }

    /// Closes the terminals of agents that ended here: their last screens were kept until now.
    async fn forget_last_agent(&self) {
        let id = self.place.id;
        let ended = self.ctx.db.read(move |view| Ok(view.agents_of(id)?)).await.unwrap_or_default();
        for agent in ended.iter().filter(|agent| agent.ended.is_some()) {
            self.terminals.close(agent.id);
        }
    }

    async fn launch_over(&mut self, myself: &ActorRef<PlaceMsg>, outcome: Result<AgentId, NotLaunched>) -> Result<(), ActorProcessingErr> {
        let AgentState::Launching(launching) = std::mem::replace(&mut self.agent, AgentState::None) else { return Ok(()) };
        let answer = match outcome {
            Ok(agent) => {
                self.runs(agent);
                Ok(agent)
            }
            Err(NotLaunched { agent, failed }) => {
                self.did_not_start(myself, agent, &failed).await?;
                Err(failed)
            }
        };
        // Whoever asked may have gone away: the agent is listed.
        let _ = launching.reply.send(answer);
        for (agent, end) in launching.ended {
            self.ended(myself, agent, end).await?;
        }
        Ok(())
    }

    fn tend(&mut self, agent: AgentId) {
        let tending = Tending { ctx: self.ctx.clone(), terminals: self.terminals.clone(), place: self.place.id, agent };
        self.tending = Some(Owned::spawn(tending::tend(tending)));
    }

    async fn settings_changed(&self) {
        if let AgentState::Running(agent) = self.agent {
            given::renew(&self.ctx, &self.place, agent).await;
        }
    }

    fn runs(&mut self, agent: AgentId) {
        self.agent = AgentState::Running(agent);
        self.tend(agent);
        if self.stop.is_some() {
            self.ask_to_end(agent);
        }
    }

    async fn did_not_start(
        &mut self,
        myself: &ActorRef<PlaceMsg>,
        agent: Option<AgentId>,
        failed: &Failed,
    ) -> Result<(), ActorProcessingErr> {
        let Some(agent) = agent else {
            self.answer_stops(Err(failed.clone()));
            return Ok(());
        };
        let how = self.stop.clone().map_or_else(|| EndHow::NotStarted(failed.to_string()), EndHow::Stopped);
        self.end(myself, agent, how).await
    }

    fn stop(&mut self, by: By, meant: Option<AgentId>, reply: RpcReplyPort<Result<Agent, Failed>>) {
        let is_here = |meant: &AgentId| match &self.agent {
            AgentState::None => false,
            AgentState::Launching(_) => true,
            AgentState::Running(running) => running == meant,
        };
        if let Some(agent) = meant.filter(|meant| !is_here(meant)) {
            let _ = reply.send(Err(Refusal::AgentEnded { agent }.into()));
            return;
        }
        match &self.agent {
            AgentState::None => {
                let _ = reply.send(Err(Refusal::NoAgent { place: named(&self.place) }.into()));
                return;
            }
            AgentState::Launching(launching) => launching.cancel.cancel(),
            AgentState::Running(agent) => {
                let agent = *agent;
                self.ask_to_end(agent);
            }
        }
        self.stop.get_or_insert(by);
        self.stopping.push(reply);
    }

    fn ask_to_end(&mut self, agent: AgentId) {
        self.ending = self.terminals.get(agent).map(|terminal| terminals::ask_to_end(&terminal, self.ctx.config.now().stop_grace));
    }

    async fn ended(&mut self, myself: &ActorRef<PlaceMsg>, agent: AgentId, end: ProcessEnd) -> Result<(), ActorProcessingErr> {
        if let AgentState::Launching(launching) = &mut self.agent {
            launching.ended.push((agent, end));
            return Ok(());
        }
        self.tending = None;
        let how = match (self.stop.clone(), end) {
            (Some(by), _) => EndHow::Stopped(by),
            (None, ProcessEnd::Exited(code)) => EndHow::Exited(code),
            (None, ProcessEnd::Signalled(signal)) => EndHow::Signalled(signal),
            (None, ProcessEnd::Unknown) => EndHow::Lost,
        };
        if matches!(self.agent, AgentState::Running(running) if running == agent) {
            self.agent = AgentState::None;
        }
        self.end(myself, agent, how).await
    }

    async fn end(&mut self, myself: &ActorRef<PlaceMsg>, agent: AgentId, how: EndHow) -> Result<(), ActorProcessingErr> {
        if let Err(failure) = record_end(&self.ctx, agent, how.clone()).await {
            tracing::error!(%agent, %failure, "the end of an agent could not be written down, and is tried again");
            self.answer_stops(Err(failure.into()));
            myself.send_after(WRITE_AGAIN, move || PlaceMsg::End(agent, how));
            return Ok(());
        }
        given::take_back(&self.ctx, agent).await;
        let record = self.ctx.db.read(move |view| Ok(view.agent(agent)?)).await?;
        self.tell_of_end(record.as_ref());
        let missing = || Failed::from(Refusal::NoAgent { place: named(&self.place) });
        let answer = record.ok_or_else(missing);
        self.answer_stops(answer);
        Ok(())
    }

    fn tell_of_end(&self, agent: Option<&Agent>) {
        let Some((agent, end)) = agent.and_then(|agent| Some((agent, agent.ended.as_ref()?))) else { return };
        let by = match &end.how {
            EndHow::Stopped(by) => Some(by.clone()),
            _ => None,
        };
        let how = end.how.failure().map(|how| format!(" {how}")).unwrap_or_default();
        let what = format!("{} {}{how}", agent.host, agent.id.short());
        notice::raise(&self.ctx, Event { place: self.place.id, notice: Notice::AgentEnded, by, what });
    }

    fn answer_stops(&mut self, answer: Result<Agent, Failed>) {
        self.stop = None;
        self.ending = None;
        for reply in self.stopping.drain(..) {
            // Whoever asked may have gone away; the agent has ended all the same.
            let _ = reply.send(answer.clone());
        }
    }

    fn merge(&mut self, myself: &ActorRef<PlaceMsg>, asked: Box<merge::Asked>, reply: RpcReplyPort<Result<Merged, Failed>>) {
        let refusal = self.busy().or_else(|| self.fork.is_none().then(|| Refusal::NotAFork { place: named(&self.place) }));
        let (Some(fork), None) = (self.fork.clone(), &refusal) else {
            let _ = reply.send(Err(refusal.unwrap_or(Refusal::Stale).into()));
            return;
        };
        let (ctx, myself) = (self.ctx.clone(), myself.clone());
        self.merging = Some(Owned::spawn(async move {
            let stop = |by| stop_agent(&myself, by);
            let outcome = merge::run(&ctx, &asked, stop, &fork).await;
            let _ = myself.cast(PlaceMsg::MergeOver);
            // Whoever asked may have gone away; running it again tells what became of it.
            let _ = reply.send(outcome);
        }));
    }

    fn finish_removal(&mut self, myself: &ActorRef<PlaceMsg>, step: FolderStep) {
        let Some(fork) = self.fork.clone() else { return };
        let (ctx, myself) = (self.ctx.clone(), myself.clone());
        self.merging = Some(Owned::spawn(async move {
            match merge::remove(&ctx, step.fork, step.seen, &fork).await {
                Ok(fate) => tracing::info!(fork = %step.fork, ?fate, "finished the removal of a merged fork's folder"),
                Err(error) => tracing::warn!(fork = %step.fork, %error, "a merged fork's folder could not be removed"),
            }
            let _ = myself.cast(PlaceMsg::MergeOver);
        }));
    }
}
