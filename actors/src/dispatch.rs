//! From an operation to its handler: reads on a view, writes in a transaction, and what a place alone decides to its actor.

mod agents;
mod attachment;
mod hooks;
mod mail;
mod places;
mod served;
mod shared;
mod tasks;
mod worktrees;

use frith_store::{
    error::Failure,
    id::{PlaceId, TaskId},
    refusal::Refusal,
    tx::Tx,
    view::View,
};
use ractor::{ActorRef, RpcReplyPort, rpc::CallResult};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::mpsc;

use crate::{
    api::Operation,
    backup,
    call::{Claims, Envelope, Failed, Progress},
    caller::{Asking, Caller, Identified, Who, identify},
    env::{
        process::{AGENT_VARIABLE, Pid},
        world::blocking,
    },
    hook::spool,
    local::server::{Answer, Answering, Answers},
    node::Node,
    place::PlaceMsg,
    registry,
    schedule::ScheduleMsg,
    status,
};

impl Answers for Node {
    fn call(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Answering<'_> {
        Box::pin(self.answer(peer, envelope, progress))
    }
}

impl Node {
    /// Answers one call. `peer` is the calling process as the kernel told.
    ///
    /// # Errors
    /// The refusal, or what broke.
    pub async fn answer(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Result<Answer, Failed> {
        match &envelope.operation {
            // What a hook tells and an MCP process asks is about whom they work for: they are nobody before it is answered.
            Operation::AgentEvent(event) => return self.hear(peer, event.clone()).await,
            Operation::AgentLink(asked) => return self.link(peer, &envelope, asked).await,
            Operation::AgentOffer(_) => return self.offer(peer, &envelope).await,
            _ => {}
        }
        let info = envelope.operation.info();
        let caller = match &envelope.claims.server {
            Some(server) => self.served(peer, &envelope, server).await?,
            None => {
                let Identified { who, linked_by, other } = self.who(peer, &envelope.claims).await?;
                Caller { who, linked_by, other, folder: envelope.folder.clone(), here: self.here(), is_exact: false }
            }
        };
        caller.may_ask(info)?;
        if let (Who::Person(name), Some(given)) = (&caller.who, &caller.other) {
            let what =
                format!("warning: `{AGENT_VARIABLE}` is `{given}`, which is no agent that this shell belongs to; this is done as {name}");
            // Whoever reads no progress is not warned.
            let _ = progress.try_send(Progress { what, part: None });
        }
        dispatch(self, caller, peer, envelope, progress).await
    }

    async fn who(&self, peer: Option<u32>, claims: &Claims) -> Result<Identified, Failed> {
        let (mut found, waits) = self.seen(peer, claims).await?;
        // A host whose first hook the node missed has an agent all the same: its event lies there, and was not heard yet.
        if waits && let Some(intake) = self.intake() {
            intake.take_in().await;
            (found, _) = self.seen(peer, claims).await?;
        }
        let ctx = self.ctx();
        match &mut found.who {
            Who::Agent { id, place, .. } => *place = registry::place_now(ctx, *id).await?,
            Who::OneOf { agents, places } => {
                places.clear();
                for agent in agents {
                    places.extend(registry::place_now(ctx, *agent).await?);
                }
            }
            Who::Person(_) | Who::Unplaced => {}
        }
        Ok(found)
    }

    /// Who a process is by what is known now, and whether something waits that might tell otherwise of a person.
    async fn seen(&self, peer: Option<u32>, claims: &Claims) -> Result<(Identified, bool), Failed> {
        let ctx = self.ctx();
        let there = ctx.roster.there();
        let own = ctx.env.itself.facts().pid;
        let asking = Asking { processes: &*ctx.env.processes, there: &there, claims, own, user: &ctx.env.user };
        // The system's table is memory: a look at it takes less than handing it to another thread.
        let found = identify(&asking, peer.map(Pid::new));
        if !matches!(found.who, Who::Person(_)) {
            return Ok((found, false));
        }
        let home = ctx.env.home.clone();
        let waits = blocking(&ctx.env.blocking, move || spool::holds_any(&home)).await.map_err(Failed::from_work)?;
        Ok((found, waits))
    }
}

/// One call on its way to its handler.
struct Call<'a> {
    node: &'a Node,
    caller: Caller,
    peer: Option<u32>,
    envelope: Envelope,
    progress: mpsc::Sender<Progress>,
}

async fn dispatch(
    node: &Node,
    caller: Caller,
    peer: Option<u32>,
    envelope: Envelope,
    progress: mpsc::Sender<Progress>,
) -> Result<Answer, Failed> {
    use Operation as Op;
    let call = Call { node, caller, peer, envelope, progress };
    match call.envelope.operation.clone() {
        of_node @ (Op::NodeStatus(_) | Op::NodeDown(_) | Op::NodeCheck(_) | Op::NodeBackup(_)) => call.of_node(of_node).await,
        workspace @ (Op::WorkspaceCreate(_)
        | Op::WorkspaceList(_)
        | Op::WorkspaceShow(_)
        | Op::WorkspaceSet(_)
        | Op::WorkspaceArchive(_)
        | Op::WorkspaceUnarchive(_)
        | Op::WorkspaceDelete(_)
        | Op::WorkspaceAllow(_)
        | Op::WorkspaceStats(_)) => call.workspace(workspace).await,
        fork @ (Op::ForkCreate(_) | Op::ForkSpinUp(_) | Op::ForkMerge(_)) => call.fork(fork).await,
        task @ (Op::TaskAdd(_)
        | Op::TaskList(_)
        | Op::TaskShow(_)
        | Op::TaskEdit(_)
        | Op::TaskStatus(_)
        | Op::TaskMove(_)
        | Op::TaskReply(_)
        | Op::TaskNext(_)
        | Op::TaskDelete(_)
        | Op::TaskRestore(_)) => call.task(task).await,
        Op::AgentEvent(_) | Op::AgentLink(_) | Op::AgentOffer(_) => Err(Refusal::Stale.into()),
        agent @ (Op::AgentLaunch(_)
        | Op::AgentStop(_)
        | Op::AgentAttach(_)
        | Op::AgentSessions(_)
        | Op::AgentShow(_)
        | Op::AgentWhoami(_)
        | Op::AgentUnsend(_)
        | Op::AgentSetStatus(_)) => call.agent(agent).await,
        mail @ (Op::AgentSend(_) | Op::AgentInbox(_)) => call.mail(mail).await,
        attachment @ (Op::AttachmentSend(_) | Op::TaskAttach(_) | Op::AttachmentGet(_) | Op::AttachmentRemove(_)) => {
            call.attachment(attachment).await
        }
        shared @ (Op::MemoryList(_)
        | Op::MemoryLoad(_)
        | Op::MemorySave(_)
        | Op::MemoryDelete(_)
        | Op::SkillAdd(_)
        | Op::SkillList(_)
        | Op::SkillLoad(_)
        | Op::SkillOn(_)
        | Op::SkillOff(_)
        | Op::SkillRemove(_)
        | Op::SiteAdd(_)
        | Op::SiteList(_)
        | Op::SiteRemove(_)) => call.shared(shared).await,
        worktree => call.worktree(worktree).await,
    }
}

fn reply<T: Serialize>(value: &T) -> Result<Answer, Failed> {
    serialised(value).map(Answer::Reply)
}

fn serialised<T: Serialize>(value: &T) -> Result<Vec<u8>, Failed> {
    postcard::to_stdvec(value).map_err(|error| Failed::broken_by("the reply could not be written down", &error))
}

impl Call<'_> {
    async fn read<T: Serialize + Send + 'static>(
        self,
        read: impl FnOnce(&View<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let caller = self.caller;
        reply(&self.node.ctx().db.read(move |view| read(view, &caller)).await?)
    }

    async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let caller = self.caller;
        reply(&self.node.ctx().db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?)
    }

    /// As [`Self::write`]; the schedules are told which tasks it may have touched.
    async fn write_touching<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        touched: impl FnOnce(&T) -> Vec<TaskId>,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let (node, caller) = (self.node, self.caller);
        let answer = node.ctx().db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?;
        for task in touched(&answer) {
            node.tell_schedules(ScheduleMsg::Changed(task)).await;
        }
        reply(&answer)
    }

    /// As [`Self::write`] of something that every schedule of a place depends on.
    async fn write_place<T: Serialize + DeserializeOwned + Send + 'static>(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let node = self.node;
        let answer = self.write(write).await?;
        node.tell_schedules(ScheduleMsg::AllChanged).await;
        Ok(answer)
    }

    async fn of_node(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::NodeStatus(_) => reply(&status::status(self.node, &self.caller).await?),
            Operation::NodeDown(_) => reply(&status::down(self.node).await?),
            Operation::NodeCheck(_) => reply(&status::check(self.node).await?),
            Operation::NodeBackup(request) => reply(&backup::back_up(self.node, request, self.caller.folder, self.progress).await?),
            _ => Err(Refusal::Stale.into()),
        }
    }

    /// Asks a place's actor, and waits for its answer however long that takes.
    async fn ask<T: Send + 'static>(
        &self,
        place: PlaceId,
        message: impl FnOnce(RpcReplyPort<Result<T, Failed>>) -> PlaceMsg,
    ) -> Result<T, Failed> {
        let actor: Option<ActorRef<PlaceMsg>> = self.node.place(place).await;
        let asked = match actor {
            Some(actor) => actor.call(message, None).await.ok(),
            None => None,
        };
        match asked {
            Some(CallResult::Success(answer)) => answer,
            _ => Err(self.failing(place).await),
        }
    }

    async fn failing(&self, place: PlaceId) -> Failed {
        let found = self.node.ctx().db.read(move |view| view.require_place(place)).await;
        match found {
            Ok(place) => {
                let place = frith_store::rules::named(&place);
                Refusal::Busy { place, what: "its actor failed and is being started again; `frith status` shows why".into() }.into()
            }
            Err(failure) => failure.into(),
        }
    }
}
