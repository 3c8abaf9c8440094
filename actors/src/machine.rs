//! The **machine** actor: this node's root. It starts a place's actor when it is first needed, starts one that failed
//! again, later each time, and stops them in order when the node ends. The same for the actors of agents.
//!
//! It decides nothing about a place. A crash loop is waited out and shown, never hidden.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use frith_store::{
    id::{AgentId, PlaceId},
    model::{By, Mailbox},
};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent, rpc::CallResult};

use tokio::time::Instant;

use crate::{
    agent::{AgentActor, AgentMsg},
    ctx::Ctx,
    env::process::ProcessEnd,
    held,
    mailbox::{MailboxActor, MailboxMsg},
    place::{PlaceActor, PlaceMsg},
    schedule::{ScheduleActor, ScheduleMsg},
    task::Owned,
    terminals::Terminals,
    worktree::{WorktreesActor, WorktreesMsg},
};

/// How long the first restart of a failed actor waits; each further one twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest a restart waits.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How many failures in a row are shown as a trouble.
const TROUBLE_AFTER: u32 = 3;

/// What the machine does.
pub enum MachineMsg {
    /// The actor of a place, started when it does not run; none while a failed one waits to be started again.
    Place(PlaceId, RpcReplyPort<Option<ActorRef<PlaceMsg>>>),
    /// The terminals of this machine.
    Terminals(RpcReplyPort<Terminals>),
    /// The actor of the schedules; none while it waits to be started again.
    Schedules(RpcReplyPort<Option<ActorRef<ScheduleMsg>>>),
    /// The actor of a mailbox, started when it does not run; none while a failed one waits to be started again.
    Mailbox(Mailbox, RpcReplyPort<Option<ActorRef<MailboxMsg>>>),
    /// The actor of a repository's worktrees, by its git folder, started when it does not run; none while it waits to be started again.
    Worktrees(PathBuf, RpcReplyPort<Option<ActorRef<WorktreesMsg>>>),
    /// The wait after the failure of a repository's actor is over. It is started again once somebody asks for it.
    WaitedForWorktrees(PathBuf),
    /// A terminal's process has ended.
    TerminalEnded {
        /// The agent's place.
        place: PlaceId,
        /// The agent.
        agent: AgentId,
        /// How.
        end: ProcessEnd,
    },
    /// What fails again and again, in words.
    Troubles(RpcReplyPort<Vec<String>>),
    /// Stops every agent, records each end, and answers how many there were.
    StopAgents(RpcReplyPort<u32>),
    /// Something was seen of an agent that is not written down, or it is to be looked after from now on.
    Saw(AgentId),
    /// The wait after a place's failure is over.
    Restart(PlaceId),
    /// The wait after the schedules' failure is over.
    RestartSchedules,
    /// The wait after a mailbox's failure is over. It is started again once somebody asks for it.
    WaitedFor(Mailbox),
    /// The wait after the failure of an agent's actor is over.
    RestartAgent(AgentId),
}

/// The actor.
pub struct Machine;

/// Its state.
pub struct MachineState {
    ctx: Ctx,
    terminals: Terminals,
    places: BTreeMap<PlaceId, SupervisedPlace>,
    schedules: Supervised<ScheduleMsg>,
    mailboxes: BTreeMap<Mailbox, Supervised<MailboxMsg>>,
    agents: BTreeMap<AgentId, Supervised<AgentMsg>>,
    worktrees: BTreeMap<PathBuf, Supervised<WorktreesMsg>>,
    stopping: Option<Owned>,
    _held: Owned,
}

/// An actor that is started again when it fails, later each time.
struct Supervised<M: ractor::Message> {
    actor: Option<ActorRef<M>>,
    started: Option<Instant>,
    failures: u32,
    last_fault: String,
    waiting: Option<Owned>,
}

impl<M: ractor::Message> Default for Supervised<M> {
    fn default() -> Self {
        Self { actor: None, started: None, failures: 0, last_fault: String::new(), waiting: None }
    }
}

#[derive(Default)]
struct SupervisedPlace {
    it: Supervised<PlaceMsg>,
    /// Ends of agents that the place has not been told yet.
    ends: Vec<(AgentId, ProcessEnd)>,
}

impl Actor for Machine {
    type Msg = MachineMsg;
    type State = MachineState;
    type Arguments = Ctx;

    async fn pre_start(&self, myself: ActorRef<MachineMsg>, ctx: Ctx) -> Result<MachineState, ActorProcessingErr> {
        let machine = myself.clone();
        let ended = move |place, agent, end| {
            // The machine is gone only when the node is, which has ended its agents itself.
            let _ = machine.cast(MachineMsg::TerminalEnded { place, agent, end });
        };
        let terminals = Terminals::new(myself.get_cell(), ended);
        let held = Owned::spawn(held::keep(ctx.clone()));
        Ok(MachineState {
            ctx,
            terminals,
            places: BTreeMap::new(),
            schedules: Supervised::default(),
            mailboxes: BTreeMap::new(),
            agents: BTreeMap::new(),
            worktrees: BTreeMap::new(),
            stopping: None,
            _held: held,
        })
    }

    async fn handle(&self, myself: ActorRef<MachineMsg>, message: MachineMsg, state: &mut MachineState) -> Result<(), ActorProcessingErr> {
        // A caller that went away hears nothing; nothing depends on its hearing.
        match message {
            MachineMsg::Place(id, reply) => drop(reply.send(state.place(&myself, id).await)),
            MachineMsg::Terminals(reply) => drop(reply.send(state.terminals.clone())),
            MachineMsg::Schedules(reply) => drop(reply.send(state.schedules(&myself).await)),
            MachineMsg::Mailbox(mailbox, reply) => drop(reply.send(state.mailbox(&myself, mailbox).await)),
            MachineMsg::WaitedFor(mailbox) => state.waited_for(&mailbox),
            MachineMsg::Worktrees(repository, reply) => drop(reply.send(state.worktrees(&myself, repository).await)),
            MachineMsg::WaitedForWorktrees(repository) => {
                if let Some(supervised) = state.worktrees.get_mut(&repository) {
                    supervised.waiting = None;
                }
            }
            MachineMsg::TerminalEnded { place, agent, end } => {
                state.places.entry(place).or_default().ends.push((agent, end));
                state.place(&myself, place).await;
            }
            MachineMsg::Troubles(reply) => drop(reply.send(state.troubles())),
            MachineMsg::StopAgents(reply) => state.stop_agents(reply),
            MachineMsg::Saw(agent) => state.saw(&myself, agent).await,
            MachineMsg::RestartAgent(agent) => {
                state.agents.entry(agent).or_default().waiting = None;
                state.saw(&myself, agent).await;
            }
            MachineMsg::Restart(id) => {
                state.places.entry(id).or_default().it.waiting = None;
                state.place(&myself, id).await;
            }
            MachineMsg::RestartSchedules => {
                state.schedules.waiting = None;
                state.schedules(&myself).await;
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<MachineMsg>,
        event: SupervisionEvent,
        state: &mut MachineState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, fault) => state.failed(&myself, &cell, &fault.to_string()),
            SupervisionEvent::ActorTerminated(cell, _, _) => state.forget(&cell),
            _ => {}
        }
        Ok(())
    }
}

impl MachineState {
    async fn place(&mut self, myself: &ActorRef<MachineMsg>, id: PlaceId) -> Option<ActorRef<PlaceMsg>> {
        let supervised = self.places.entry(id).or_default();
        if supervised.it.is_due() {
            let arguments = (self.ctx.clone(), self.terminals.clone(), id);
            match Actor::spawn_linked(None, PlaceActor, arguments, myself.get_cell()).await {
                Ok((actor, _)) => supervised.it.runs(actor),
                Err(fault) => supervised.it.fail(myself, &place_named(id), &fault.to_string(), MachineMsg::Restart(id)),
            }
        }
        supervised.tell_ends();
        supervised.it.actor.clone()
    }

    /// Tells an agent's actor that something was seen of it; it is started when it does not run.
    async fn saw(&mut self, myself: &ActorRef<MachineMsg>, agent: AgentId) {
        let supervised = self.agents.entry(agent).or_default();
        if supervised.is_due() {
            match Actor::spawn_linked(None, AgentActor, (self.ctx.clone(), agent), myself.get_cell()).await {
                Ok((actor, _)) => supervised.runs(actor),
                Err(fault) => supervised.fail(myself, &agent_named(agent), &fault.to_string(), MachineMsg::RestartAgent(agent)),
            }
        }
        // One that failed is told again when it was started again.
        let _ = supervised.actor.as_ref().map(|actor| actor.cast(AgentMsg::Saw));
    }

    async fn schedules(&mut self, myself: &ActorRef<MachineMsg>) -> Option<ActorRef<ScheduleMsg>> {
        if self.schedules.is_due() {
            match Actor::spawn_linked(None, ScheduleActor, self.ctx.clone(), myself.get_cell()).await {
                Ok((actor, _)) => self.schedules.runs(actor),
                Err(fault) => self.schedules.fail(myself, SCHEDULES, &fault.to_string(), MachineMsg::RestartSchedules),
            }
        }
        self.schedules.actor.clone()
    }

    async fn mailbox(&mut self, myself: &ActorRef<MachineMsg>, mailbox: Mailbox) -> Option<ActorRef<MailboxMsg>> {
        let supervised = self.mailboxes.entry(mailbox.clone()).or_default();
        if supervised.is_due() {
            match Actor::spawn_linked(None, MailboxActor, (self.ctx.db.clone(), mailbox.clone()), myself.get_cell()).await {
                Ok((actor, _)) => supervised.runs(actor),
                Err(fault) => supervised.fail(myself, MAILBOX, &fault.to_string(), MachineMsg::WaitedFor(mailbox)),
            }
        }
        supervised.actor.clone()
    }

    async fn worktrees(&mut self, myself: &ActorRef<MachineMsg>, repository: PathBuf) -> Option<ActorRef<WorktreesMsg>> {
        let supervised = self.worktrees.entry(repository.clone()).or_default();
        if supervised.is_due() {
            match Actor::spawn_linked(None, WorktreesActor, (self.ctx.clone(), repository.clone()), myself.get_cell()).await {
                Ok((actor, _)) => supervised.runs(actor),
                Err(fault) => supervised.fail(myself, WORKTREES, &fault.to_string(), MachineMsg::WaitedForWorktrees(repository)),
            }
        }
        supervised.actor.clone()
    }

    fn waited_for(&mut self, mailbox: &Mailbox) {
        if let Some(supervised) = self.mailboxes.get_mut(mailbox) {
            supervised.waiting = None;
        }
    }

    fn failed(&mut self, myself: &ActorRef<MachineMsg>, cell: &ActorCell, fault: &str) {
        if self.schedules.is(cell) {
            return self.schedules.fail(myself, SCHEDULES, fault, MachineMsg::RestartSchedules);
        }
        if let Some((mailbox, supervised)) = self.mailboxes.iter_mut().find(|(_, supervised)| supervised.is(cell)) {
            return supervised.fail(myself, MAILBOX, fault, MachineMsg::WaitedFor(mailbox.clone()));
        }
        if let Some((agent, supervised)) = self.agents.iter_mut().find(|(_, supervised)| supervised.is(cell)) {
            return supervised.fail(myself, &agent_named(*agent), fault, MachineMsg::RestartAgent(*agent));
        }
        if let Some((repository, supervised)) = self.worktrees.iter_mut().find(|(_, supervised)| supervised.is(cell)) {
            return supervised.fail(myself, WORKTREES, fault, MachineMsg::WaitedForWorktrees(repository.clone()));
        }
        let found = self.places.iter_mut().find(|(_, supervised)| supervised.it.is(cell));
        match found {
            Some((id, supervised)) => supervised.it.fail(myself, &place_named(*id), fault, MachineMsg::Restart(*id)),
            None => tracing::error!(fault, "a terminal failed, and its agent ended with it"),
        }
    }

    fn forget(&mut self, cell: &ActorCell) {
        for supervised in self.places.values_mut().filter(|supervised| supervised.it.is(cell)) {
            supervised.it.actor = None;
        }
        if self.schedules.is(cell) {
            self.schedules.actor = None;
        }
        // One that ended because nobody used it for long leaves nothing behind.
        self.mailboxes.retain(|_, supervised| !supervised.is(cell));
        self.agents.retain(|_, supervised| !supervised.is(cell));
        self.worktrees.retain(|_, supervised| !supervised.is(cell));
    }

    fn troubles(&self) -> Vec<String> {
        let places = self.places.iter().filter_map(|(id, supervised)| supervised.it.trouble(&place_named(*id)));
        let mailboxes = self.mailboxes.values().filter_map(|supervised| supervised.trouble(MAILBOX));
        let agents = self.agents.iter().filter_map(|(id, supervised)| supervised.trouble(&agent_named(*id)));
        let worktrees = self.worktrees.values().filter_map(|supervised| supervised.trouble(WORKTREES));
        places.chain(self.schedules.trouble(SCHEDULES)).chain(mailboxes).chain(agents).chain(worktrees).collect()
    }

    /// Asks all agents to end at once, and answers when all have. A task of its own waits, since their ends come through
    /// this actor's mailbox.
    fn stop_agents(&mut self, reply: RpcReplyPort<u32>) {
        let actors: Vec<_> = self.places.values().filter_map(|supervised| supervised.it.actor.clone()).collect();
        let wait = Some(self.ctx.config.now().stop_grace * 3);
        self.stopping = Some(Owned::spawn(async move {
            let stop = |actor: ActorRef<PlaceMsg>| async move {
                actor.call(|reply| PlaceMsg::Stop { by: By::Node, agent: None, reply }, wait).await
            };
            let ends: Vec<_> = actors.into_iter().map(|actor| tokio::spawn(stop(actor))).collect();
            let mut stopped = 0;
            for end in ends {
                if matches!(end.await, Ok(Ok(CallResult::Success(Ok(_))))) {
                    stopped += 1;
                }
            }
            let _ = reply.send(stopped);
        }));
    }
}

/// What the schedules' actor is called.
const SCHEDULES: &str = "the schedules";
/// What the actor of any repository's worktrees is called.
const WORKTREES: &str = "the worktrees of a repository";
/// What any mailbox's actor is called.
const MAILBOX: &str = "a mailbox";

fn agent_named(id: AgentId) -> String {
    format!("agent {}", id.short())
}

fn place_named(id: PlaceId) -> String {
    format!("place {}", id.short())
}

impl SupervisedPlace {
    fn tell_ends(&mut self) {
        let Some(actor) = &self.it.actor else { return };
        // One that cannot be told has failed, and is told again when it was started again.
        self.ends.retain(|(agent, end)| actor.cast(PlaceMsg::Ended(*agent, *end)).is_err());
    }
}

impl<M: ractor::Message> Supervised<M> {
    fn is(&self, cell: &ActorCell) -> bool {
        self.actor.as_ref().is_some_and(|actor| actor.get_id() == cell.get_id())
    }

    /// Whether it is to be started now.
    fn is_due(&self) -> bool {
        self.actor.is_none() && self.waiting.is_none()
    }

    /// Whether it has run for so long that what failed before is over, as it is counted when it fails again.
    fn is_well(&self) -> bool {
        self.actor.is_some() && self.started.is_some_and(|started| started.elapsed() > LONGEST_WAIT)
    }

    fn runs(&mut self, actor: ActorRef<M>) {
        self.actor = Some(actor);
        self.started = Some(Instant::now());
    }

    fn trouble(&self, what: &str) -> Option<String> {
        (self.failures >= TROUBLE_AFTER && !self.is_well())
            .then(|| format!("{what} failed {} times, last: {}", self.failures, self.last_fault))
    }

    fn fail(&mut self, myself: &ActorRef<MachineMsg>, what: &str, fault: &str, again: MachineMsg) {
        tracing::error!(what, fault, failures = self.failures, "an actor failed");
        self.actor = None;
        if self.started.take().is_some_and(|started| started.elapsed() > LONGEST_WAIT) {
            self.failures = 0;
        }
        self.failures += 1;
        self.last_fault = fault.to_owned();
        let wait = (FIRST_WAIT * 2_u32.saturating_pow(self.failures.min(16) - 1)).min(LONGEST_WAIT);
        let myself = myself.clone();
        self.waiting = Some(Owned::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = myself.cast(again);
        }));
    }
}
