//! The **machine** actor: this node's root. It starts a place's actor when it is first needed, starts one that failed
//! again, later each time, and stops them in order when the node ends.
//!
//! It decides nothing about a place. A crash loop is waited out and shown, never hidden.

use std::{collections::BTreeMap, time::Duration};

use frith_store::{
    id::{AgentId, PlaceId},
    model::By,
};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent, rpc::CallResult};

use tokio::time::Instant;

use crate::{
    ctx::Ctx,
    env::process::ProcessEnd,
    place::{PlaceActor, PlaceMsg},
    task::Owned,
    terminals::Terminals,
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
    /// The wait after a failure is over.
    Restart(PlaceId),
}

/// The actor.
pub struct Machine;

/// Its state.
pub struct MachineState {
    ctx: Ctx,
    terminals: Terminals,
    places: BTreeMap<PlaceId, Supervised>,
    stopping: Option<Owned>,
}

#[derive(Default)]
struct Supervised {
    actor: Option<ActorRef<PlaceMsg>>,
    started: Option<Instant>,
    failures: u32,
    last_fault: String,
    waiting: Option<Owned>,
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
        Ok(MachineState { ctx, terminals: Terminals::new(myself.get_cell(), ended), places: BTreeMap::new(), stopping: None })
    }

    async fn handle(&self, myself: ActorRef<MachineMsg>, message: MachineMsg, state: &mut MachineState) -> Result<(), ActorProcessingErr> {
        // A caller that went away hears nothing; nothing depends on its hearing.
        match message {
            MachineMsg::Place(id, reply) => drop(reply.send(state.place(&myself, id).await)),
            MachineMsg::Terminals(reply) => drop(reply.send(state.terminals.clone())),
            MachineMsg::TerminalEnded { place, agent, end } => {
                state.places.entry(place).or_default().ends.push((agent, end));
                state.place(&myself, place).await;
            }
            MachineMsg::Troubles(reply) => drop(reply.send(state.troubles())),
            MachineMsg::StopAgents(reply) => state.stop_agents(reply),
            MachineMsg::Restart(id) => {
                state.places.entry(id).or_default().waiting = None;
                state.place(&myself, id).await;
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
        if supervised.actor.is_none() && supervised.waiting.is_none() {
            let arguments = (self.ctx.clone(), self.terminals.clone(), id);
            match Actor::spawn_linked(None, PlaceActor, arguments, myself.get_cell()).await {
                Ok((actor, _)) => supervised.runs(actor),
                Err(fault) => supervised.fail(myself, id, &fault.to_string()),
            }
        }
        supervised.tell_ends();
        supervised.actor.clone()
    }

    fn failed(&mut self, myself: &ActorRef<MachineMsg>, cell: &ActorCell, fault: &str) {
        let found = self.places.iter_mut().find(|(_, supervised)| supervised.is(cell));
        match found {
            Some((id, supervised)) => supervised.fail(myself, *id, fault),
            None => tracing::error!(fault, "a terminal failed, and its agent ended with it"),
        }
    }

    fn forget(&mut self, cell: &ActorCell) {
        for supervised in self.places.values_mut().filter(|supervised| supervised.is(cell)) {
            supervised.actor = None;
        }
    }

    fn troubles(&self) -> Vec<String> {
        let looping = self.places.iter().filter(|(_, supervised)| supervised.failures >= TROUBLE_AFTER);
        looping.map(|(id, it)| format!("place {} failed {} times, last: {}", id.short(), it.failures, it.last_fault)).collect()
    }

    /// Asks all agents to end at once, and answers when all have. A task of its own waits, since their ends come through
    /// this actor's mailbox.
    fn stop_agents(&mut self, reply: RpcReplyPort<u32>) {
        let actors: Vec<_> = self.places.values().filter_map(|supervised| supervised.actor.clone()).collect();
        let wait = Some(self.ctx.config.now().stop_grace * 3);
        self.stopping = Some(Owned::spawn(async move {
            let stop = |actor: ActorRef<PlaceMsg>| async move { actor.call(|reply| PlaceMsg::Stop { by: By::Node, reply }, wait).await };
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

impl Supervised {
    fn is(&self, cell: &ActorCell) -> bool {
        self.actor.as_ref().is_some_and(|actor| actor.get_id() == cell.get_id())
    }

    fn runs(&mut self, actor: ActorRef<PlaceMsg>) {
        self.actor = Some(actor);
        self.started = Some(Instant::now());
    }

    fn tell_ends(&mut self) {
        let Some(actor) = &self.actor else { return };
        // One that cannot be told has failed, and is told again when it was started again.
        self.ends.retain(|(agent, end)| actor.cast(PlaceMsg::Ended(*agent, *end)).is_err());
    }

    fn fail(&mut self, myself: &ActorRef<MachineMsg>, id: PlaceId, fault: &str) {
        tracing::error!(place = %id, fault, failures = self.failures, "the actor of a place failed");
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
            let _ = myself.cast(MachineMsg::Restart(id));
        }));
    }
}
