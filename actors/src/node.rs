//! The node: `Node::start` is the same call on a real machine and in a simulated world.
//!
//! It opens the store, ends what a node before it left behind, starts the machine actor, and answers calls.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
};

use frith_store::{
    error::{Failure, StoreError},
    id::{AgentId, MachineId, Prefix, TeamId},
    model::{By, EndHow, Mailbox, ProcessRef},
    time::Timestamp,
    tx::{Identity, Tx},
};
use ractor::{Actor, ActorRef, rpc::CallResult};
use tokio::sync::watch;

use crate::{
    agent,
    caller::mark,
    caretaker::take_care,
    config::Configured,
    ctx::Ctx,
    db::Db,
    env::{
        Env,
        process::end_survivor,
        world::{Purpose, blocking},
    },
    fork::{Cancel, Watching},
    given,
    intake::Intake,
    launch::record_end,
    machine::{Machine, MachineMsg},
    mailbox::{MailboxMsg, Pushed},
    merge::FolderStep,
    place::PlaceMsg,
    registry,
    roster::{Member, Roster},
    schedule::ScheduleMsg,
    task::Owned,
};

/// How long a recorded reply is kept for a retry of its call.
const CALLS_KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A request of the start itself was refused: a bug.
    #[error("the node's first records could not be written: {0}")]
    First(Box<frith_store::refusal::Refusal>),
    /// The root actor did not start.
    #[error("the machine actor did not start: {0}")]
    Actor(#[from] ractor::SpawnErr),
}

impl From<Failure> for StartError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::First(refusal),
            Failure::Broken(error) => Self::Store(error),
        }
    }
}

/// A running node. Cheap to clone.
#[derive(Clone)]
pub struct Node {
    ctx: Ctx,
    machine: ActorRef<MachineMsg>,
    started: Timestamp,
    down: Arc<watch::Sender<bool>>,
    _care: Arc<Owned>,
    /// Takes in what hooks kept; there once the node has started.
    intake: Arc<OnceLock<Intake>>,
}

impl Node {
    /// Starts a node.
    ///
    /// # Errors
    /// The store cannot be used, or the root actor did not start.
    pub async fn start(env: Env, config: Arc<dyn Configured>) -> Result<Self, StartError> {
        let db = open(&env).await?;
        let ctx = Ctx { env, db, config, roster: Roster::default(), held: Arc::default() };
        let (machine, _) = Actor::spawn(None, Machine, ctx.clone()).await?;
        tokio::spawn(ctx.db.keep_up());
        tokio::spawn(ctx.db.sweep_blobs());
        let care = Arc::new(take_care(ctx.clone()).await);
        let node = Self {
            started: ctx.env.clock.now(),
            ctx,
            machine,
            down: Arc::new(watch::Sender::new(false)),
            _care: care,
            intake: Arc::default(),
        };
        node.clear_up().await?;
        // Schedules come last, so that no run is made on what a crash left half done.
        node.schedules().await;
        Ok(node)
    }

    /// Ends the agents of a node that is gone, sweeps what it left half made, and finishes what it had begun.
    async fn clear_up(&self) -> Result<(), StartError> {
        let here = self.here();
        let left =
            self.ctx.db.read(move |view| Ok(view.live_agents()?.into_iter().filter(|agent| agent.machine == here).collect::<Vec<_>>()));
        for agent in left.await?.into_iter().filter(|agent| agent.launch.is_some()) {
            let process = agent.launch.as_ref().and_then(|launch| launch.process.clone());
            self.end_survivor(agent.id, process).await?;
        }
        given::take_back_all(&self.ctx).await?;
        let (folders, mut watching) = (self.ctx.env.folders.clone(), Watching::new(&self.ctx, Cancel::default(), None));
        if blocking(&self.ctx.env.blocking, move || folders.sweep(&mut watching)).await.is_err() {
            tracing::error!("sweeping the forks' folders failed");
        }
        let (worktrees, mut watching) = (self.ctx.env.worktrees.clone(), Watching::new(&self.ctx, Cancel::default(), None));
        if blocking(&self.ctx.env.blocking, move || worktrees.sweep(&mut watching)).await.is_err() {
            tracing::error!("sweeping what was left of worktrees failed");
        }
        let db = self.ctx.db.clone();
        if !matches!(blocking(&self.ctx.env.blocking, move || db.store().blobs().forget_uploads(true)).await, Ok(Ok(()))) {
            tracing::warn!("files that were on their way could not be forgotten");
        }
        let oldest = Timestamp::from_ms(self.ctx.env.clock.now().ms().saturating_sub(CALLS_KEPT_MS));
        self.ctx.db.write(move |tx| Ok(tx.forget_calls_before(oldest)?)).await?;
        self.finish_steps().await?;
        self.take_up_agents().await
    }

    /// The sessions of hosts go on without a node: those that still run are there, and what they told meanwhile is taken in.
    async fn take_up_agents(&self) -> Result<(), StartError> {
        registry::take_up(&self.ctx).await?;
        self.ctx.roster.all().iter().for_each(|member| self.saw(member.id));
        let intake = Intake::start(self.ctx.clone(), self.machine.clone()).await;
        // There is none before: a node starts once.
        let _ = self.intake.set(intake);
        Ok(registry::end_gone(&self.ctx).await?)
    }

    /// Has an agent looked after.
    pub(crate) fn saw(&self, agent: AgentId) {
        // A node whose machine is gone ends, and writes down itself what was seen.
        let _ = self.machine.cast(MachineMsg::Saw(agent));
    }

    /// What takes in what hooks kept; none while the node is only starting.
    pub(crate) fn intake(&self) -> Option<&Intake> {
        self.intake.get()
    }

    /// Finds out which agents are still there, before they are told of.
    ///
    /// # Errors
    /// The store broke.
    pub(crate) async fn look_for_agents(&self) -> Result<(), Failure> {
        if let Some(intake) = self.intake() {
            intake.take_in().await;
        }
        registry::end_gone(&self.ctx).await
    }

    /// As [`Node::look_for_agents`], where the agents that this names are all that count: the others are not looked at.
    ///
    /// # Errors
    /// The store broke.
    pub(crate) async fn look_for_named(&self, given: &str) -> Result<(), Failure> {
        if let Some(intake) = self.intake() {
            intake.take_in().await;
        }
        let named = |member: &Arc<Member>| Prefix::parse(given).is_ok_and(|prefix| prefix.matches(member.id.as_bytes()));
        let members: Vec<_> = self.ctx.roster.all().into_iter().filter(named).collect();
        if members.is_empty() {
            return registry::end_gone(&self.ctx).await;
        }
        for member in members {
            registry::end_if_gone(&self.ctx, member.id).await?;
        }
        Ok(())
    }

    async fn end_survivor(&self, agent: AgentId, process: Option<ProcessRef>) -> Result<(), StartError> {
        let grace = self.ctx.config.now().stop_grace;
        match end_survivor(&*self.ctx.env.processes, process, Some(mark(agent)), grace).await {
            Ok(end) => {
                tracing::info!(%agent, ?end, "an agent of an earlier node was ended");
                record_end(&self.ctx, agent, EndHow::Lost).await?;
            }
            Err(error) => tracing::error!(%agent, %error, "an agent of an earlier node may still run, and its place stays taken"),
        }
        Ok(())
    }

    async fn finish_steps(&self) -> Result<(), StartError> {
        let steps = self.ctx.db.read(|view| Ok(view.steps()?)).await?;
        for (_, bytes) in steps.into_iter().filter(|(key, _)| key.starts_with(FolderStep::PREFIX)) {
            let Ok(step) = postcard::from_bytes::<FolderStep>(&bytes) else {
                tracing::error!("a step of a merge cannot be read and is left");
                continue;
            };
            if let Some(place) = self.place(step.fork).await {
                let _ = place.cast(PlaceMsg::FinishRemoval(Box::new(step)));
            }
        }
        Ok(())
    }

    /// Stops every agent and records each end. Answers how many there were.
    pub async fn stop_agents(&self) -> u32 {
        let stopped = self.machine.call(MachineMsg::StopAgents, Some(self.ctx.config.now().stop_grace * 4)).await;
        if let Ok(CallResult::Success(agents)) = stopped { agents } else { 0 }
    }

    /// Stops every agent, then the node. Answers how many agents there were.
    pub async fn stop(&self) -> u32 {
        let agents = self.stop_agents().await;
        agent::write_all(&self.ctx).await;
        if self.machine.stop_and_wait(None, Some(self.ctx.config.now().stop_grace)).await.is_err() {
            tracing::warn!("the machine actor did not stop in time");
        }
        let db = self.ctx.db.clone();
        if !matches!(blocking(&self.ctx.env.blocking, move || db.store().settle()).await, Ok(Ok(()))) {
            tracing::warn!("the store could not be prepared for its next opening, which will take longer");
        }
        agents
    }

    /// Waits until somebody asks the node to end.
    pub fn asked_down(&self) -> impl Future<Output = ()> + use<> {
        let mut down = self.down.subscribe();
        async move {
            // The sender lives as long as the node.
            let _ = down.wait_for(|asked| *asked).await;
        }
    }

    pub(crate) fn ask_down(&self) {
        self.down.send_replace(true);
    }

    pub(crate) fn ctx(&self) -> &Ctx {
        &self.ctx
    }

    pub(crate) fn machine(&self) -> &ActorRef<MachineMsg> {
        &self.machine
    }

    /// This machine.
    pub fn here(&self) -> MachineId {
        self.ctx.db.store().machine()
    }

    pub(crate) fn started(&self) -> Timestamp {
        self.started
    }

    /// The actor of a mailbox; none while a failed one waits to be started again.
    pub(crate) async fn mailbox(&self, mailbox: Mailbox) -> Option<ActorRef<MailboxMsg>> {
        match self.machine.call(|reply| MachineMsg::Mailbox(mailbox, reply), None).await {
            Ok(CallResult::Success(mailbox)) => mailbox,
            _ => None,
        }
    }

    /// What is to be pushed to an agent within so many bytes, and who waits to hear whether it was written to it.
    pub async fn collect_mail(&self, agent: AgentId, room: usize) -> Option<Pushed> {
        let config = self.ctx.config.now();
        if !config.agents_enabled {
            return None;
        }
        let room = room.min(config.push_bytes);
        // One that ends since nobody used it for long may end just when it is asked.
        for _ in 0..2 {
            let mailbox = self.mailbox(Mailbox::Agent(agent)).await?;
            if let Ok(CallResult::Success(pushed)) = mailbox.call(|reply| MailboxMsg::Push(room, reply), None).await {
                return pushed;
            }
        }
        None
    }

    async fn schedules(&self) -> Option<ActorRef<ScheduleMsg>> {
        match self.machine.call(MachineMsg::Schedules, None).await {
            Ok(CallResult::Success(schedules)) => schedules,
            _ => None,
        }
    }

    /// Tells the schedules what may have touched them. An actor that is started again looks at everything itself.
    pub(crate) async fn tell_schedules(&self, message: ScheduleMsg) {
        if let Some(schedules) = self.schedules().await {
            let _ = schedules.cast(message);
        }
    }

    /// How many schedules there are, and when the next slot comes.
    pub(crate) async fn next_slot(&self) -> (u64, Option<Timestamp>) {
        let Some(schedules) = self.schedules().await else { return (0, None) };
        match schedules.call(ScheduleMsg::Next, None).await {
            Ok(CallResult::Success(next)) => next,
            _ => (0, None),
        }
    }

    pub(crate) async fn place(&self, id: frith_store::id::PlaceId) -> Option<ActorRef<PlaceMsg>> {
        match self.machine.call(|reply| MachineMsg::Place(id, reply), None).await {
            Ok(CallResult::Success(place)) => place,
            _ => None,
        }
    }
}

async fn open(env: &Env) -> Result<Db, StartError> {
    let incarnation = env.random.bytes(Purpose::Incarnation);
    let identity = Identity { machine: env.machine, incarnation, signer: env.signer.clone() };
    let (disk, faults) = (env.disk.clone(), env.faults.clone());
    let opened = blocking(&env.blocking, move || {
        faults.reached("store.opening");
        disk.open_store(identity)
    })
    .await;
    let store = opened.map_err(|_| StoreError::Interrupted)??;
    let db = Db::new(store, env.clock.clone(), env.blocking.clone());
    let (team, name) = (env.random.bytes(Purpose::Ids), env.machine_name.to_string());
    db.write(move |tx| Ok(found(tx, TeamId::from_random(team), &name)?)).await?;
    Ok(db)
}

/// Founds a team on a machine that is in none.
fn found(tx: &mut Tx<'_>, team: TeamId, machine_name: &str) -> Result<(), StoreError> {
    match tx.team()? {
        Some(_) if tx.machines()?.iter().any(|machine| machine.id == tx.machine()) => Ok(()),
        Some(_) => Err(StoreError::OtherKey { key: tx.machine() }),
        None => tx.found_team(team, machine_name, &By::Node),
    }
}
