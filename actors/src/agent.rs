//! The **agent** actor, one for each agent of this machine of which something is seen: it writes down what was, now and then, and
//! looks whether the process of a registered one still runs.
//!
//! What is seen is in the roster at once; nobody waits for this actor. It never ends an agent that a node launched: that ends with
//! its process.

use std::time::Duration;

use frith_store::{error::Failure, id::AgentId};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{ctx::Ctx, registry};

/// How long what was seen may be in memory alone.
const WRITE_AFTER: Duration = Duration::from_secs(5);
/// How often it is looked whether an agent is still there.
const LOOK_EVERY: Duration = Duration::from_secs(20);
/// At how many looks in a row nothing may have been seen of a launched agent before its actor ends.
const QUIET_LOOKS: u32 = 15;

/// What an agent's actor does.
pub enum AgentMsg {
    /// Something was seen of it.
    Saw,
    /// Time to write that down.
    Write,
    /// Time to look whether it is still there.
    Look,
}

/// The actor.
pub struct AgentActor;

/// Its state.
pub struct AgentState {
    ctx: Ctx,
    agent: AgentId,
    is_writing: bool,
    quiet: u32,
}

impl Actor for AgentActor {
    type Msg = AgentMsg;
    type State = AgentState;
    type Arguments = (Ctx, AgentId);

    async fn pre_start(&self, myself: ActorRef<AgentMsg>, (ctx, agent): (Ctx, AgentId)) -> Result<AgentState, ActorProcessingErr> {
        myself.send_after(LOOK_EVERY, || AgentMsg::Look);
        Ok(AgentState { ctx, agent, is_writing: false, quiet: 0 })
    }

    async fn handle(&self, myself: ActorRef<AgentMsg>, message: AgentMsg, state: &mut AgentState) -> Result<(), ActorProcessingErr> {
        match message {
            AgentMsg::Saw => state.saw(&myself),
            AgentMsg::Write => {
                state.is_writing = false;
                state.write().await;
            }
            AgentMsg::Look => state.look(&myself).await,
        }
        Ok(())
    }
}

impl AgentState {
    fn saw(&mut self, myself: &ActorRef<AgentMsg>) {
        self.quiet = 0;
        if !self.is_writing {
            self.is_writing = true;
            myself.send_after(WRITE_AFTER, || AgentMsg::Write);
        }
    }

    /// What cannot be written waits for what is seen next.
    async fn write(&self) {
        let (agent, Some(seen)) = (self.agent, self.ctx.roster.take_unwritten(self.agent)) else { return };
        if let Err(failure) = self.ctx.db.write(move |tx| Ok(tx.note_sighting(agent, &seen)?)).await {
            tracing::warn!(%agent, %failure, "when an agent was seen last could not be written down");
            self.ctx.roster.see(agent, |_| ());
        }
    }

    async fn look(&mut self, myself: &ActorRef<AgentMsg>) {
        if let Err(failure) = self.bring_up_to_date().await {
            tracing::warn!(agent = %self.agent, %failure, "whether an agent is still there could not be written down");
        }
        let Some(member) = self.ctx.roster.get(self.agent) else { return myself.stop(Some("ended".into())) };
        self.quiet += 1;
        if member.is_launched && self.quiet > QUIET_LOOKS && !self.is_writing {
            return myself.stop(Some("idle".into()));
        }
        myself.send_after(LOOK_EVERY, || AgentMsg::Look);
    }

    async fn bring_up_to_date(&self) -> Result<(), Failure> {
        registry::end_if_gone(&self.ctx, self.agent).await?;
        registry::place_now(&self.ctx, self.agent).await.map(drop)
    }
}

/// Writes down what was seen of any agent: this is the node's end.
pub async fn write_all(ctx: &Ctx) {
    let seen: Vec<_> = ctx.roster.unwritten().into_iter().filter_map(|agent| Some((agent, ctx.roster.take_unwritten(agent)?))).collect();
    let written = ctx.db.write(move |tx| Ok(seen.iter().try_for_each(|(agent, seen)| tx.note_sighting(*agent, seen))?));
    if let Err(failure) = written.await {
        tracing::warn!(%failure, "when agents were seen last could not be written down");
    }
}
