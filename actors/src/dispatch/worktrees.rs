//! Worktrees: each call goes to the actor of the repository that it is about.

use std::path::PathBuf;

use frith_store::{
    hosts::EventClass,
    id::AgentId,
    refusal::{Refusal, WorktreeRefusal},
    text::PathText,
};
use ractor::{ActorRef, RpcReplyPort, rpc::CallResult};
use serde::Serialize;

use super::{Call, hooks::HOST_WITHIN, reply};
use crate::{
    api::{
        Operation,
        agents::{Event, LinkedBy},
        worktree as api,
    },
    call::Failed,
    caller::{Caller, Who, above},
    env::process::Pid,
    intake,
    local::server::Answer,
    machine::MachineMsg,
    node::Node,
    registry::{From, Heard, Told},
    worktree::{self, Asked, WantedClaim, WantedGone, WantedNew, WorktreesMsg},
};

impl Call<'_> {
    pub(super) async fn worktree(self, operation: Operation) -> Result<Answer, Failed> {
        if !self.node.ctx().config.now().worktrees_enabled {
            return Err(worktree::disabled());
        }
        // What an agent left whose process is gone is its owner's, also when nobody has noted its end yet.
        self.node.look_for_agents().await?;
        match operation {
            Operation::WorktreeAdd(api::Add { task, slug, base, offline, owner }) => {
                let wanted = WantedNew { task, slug, base, offline, owner };
                self.of_repository(|asked, reply| WorktreesMsg::Add(asked, wanted, reply)).await
            }
            Operation::WorktreeAdopt(api::Adopt { path, task }) => {
                let may_be_script = path.is_none() && self.envelope.claims.server.is_none();
                let path = path.unwrap_or_else(|| PathText::from(std::path::Path::new(".")));
                self.adopt(WantedClaim { path, task, owner: None, always_locks: false, may_be_script }).await
            }
            Operation::WorktreeClaim(api::Claim { path, task, owner }) => {
                self.adopt(WantedClaim { path, task, owner, always_locks: true, may_be_script: false }).await
            }
            Operation::WorktreeRemove(request) => self.remove(request).await,
            Operation::WorktreeGc(request) => self.of_repository(|asked, reply| WorktreesMsg::Gc(asked, request, reply)).await,
            Operation::WorktreeClean(request) => self.of_repository(|asked, reply| WorktreesMsg::Clean(asked, request, reply)).await,
            Operation::WorktreeList(request) => reply(&worktree::list(self.node.ctx(), self.about_worktrees()?, request).await?),
            Operation::WorktreeWhoami(_) => reply(&worktree::whoami(self.node.ctx(), self.about_worktrees()?).await?),
            Operation::WorktreeForHost(request) => self.for_host(request).await,
            Operation::WorktreeEndForHost(request) => self.end_for_host(request).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    /// Where the caller stands. What a server's process stood in when it was started may be long gone: the folder that the host's
    /// hooks tell counts where they do.
    fn about_worktrees(&self) -> Result<Asked, Failed> {
        let told = || {
            let member = self.node.ctx().roster.get(self.caller.agent()?)?;
            member.told_folder.clone().or_else(|| member.sighting.folder.clone())
        };
        let folder =
            if self.envelope.claims.server.is_some() { told().or_else(|| self.caller.folder.clone()) } else { self.caller.folder.clone() };
        let gone = || WorktreeRefusal::Failed {
            fact: "the folder that this shell stands in is gone".to_owned(),
            way_out: Some("go elsewhere first: `cd`".to_owned()),
        };
        let folder = folder.ok_or_else(|| Refusal::from(gone()))?;
        Ok(Asked { caller: self.caller.clone(), call: self.envelope.call, folder, progress: Some(self.progress.clone()), exempt: vec![] })
    }

    async fn of_repository<T: Serialize + Send + 'static>(
        self,
        message: impl FnOnce(Asked, RpcReplyPort<Result<T, Failed>>) -> WorktreesMsg,
    ) -> Result<Answer, Failed> {
        let asked = self.about_worktrees()?;
        let actor = self.node.worktrees_around(&asked.folder).await?;
        reply(&ask(&actor, |port| message(asked, port)).await?)
    }

    async fn adopt(self, wanted: WantedClaim) -> Result<Answer, Failed> {
        let asked = self.about_worktrees()?;
        let path = PathText::from(asked.path(&wanted.path).as_path());
        let actor = match self.node.worktrees_around(&path).await {
            // What git has forgotten tells no repository by itself; where the caller stands may.
            Err(failed) => self.node.worktrees_around(&asked.folder).await.map_err(|_| failed)?,
            found => found?,
        };
        reply(&ask(&actor, |port| WorktreesMsg::Adopt(asked, wanted, port)).await?)
    }

    async fn remove(self, api::Remove { worktree, keep_branch, owner }: api::Remove) -> Result<Answer, Failed> {
        let asked = self.about_worktrees()?;
        let around = worktree::folder_of(self.node.ctx(), &asked, &worktree).await;
        let actor = self.node.worktrees_around(&around).await?;
        let wanted = WantedGone { worktree, around, keep_branch, keep_unmerged: false, owner, asker: None };
        reply(&ask(&actor, |port| WorktreesMsg::Remove(asked, wanted, port)).await?)
    }

    /// A worktree may be asked for before the session has said that it starts: then this is its first event.
    async fn for_host(self, request: api::ForHost) -> Result<Answer, Failed> {
        self.register(&request.host, request.session.as_ref(), &request.folder).await?;
        let asked = self.by_a_hook().await?;
        let actor = self.node.worktrees_around(&request.folder).await?;
        reply(&worktree::make_for_host(self.node.ctx(), &actor, asked, request).await?)
    }

    async fn end_for_host(self, request: api::EndForHost) -> Result<Answer, Failed> {
        if worktree::real_folder(self.node.ctx(), request.path.as_path().to_owned()).await.is_none() {
            return reply(&worktree::gone_already(request.path));
        }
        let asked = self.by_a_hook().await?;
        let actor = self.node.worktrees_around(&request.path).await?;
        reply(&worktree::end_for_host(self.node.ctx(), &actor, asked, request).await?)
    }

    /// The call of a hook, which waits for its answer with its host, told by whose process it stands below now.
    async fn by_a_hook(&self) -> Result<Asked, Failed> {
        let mut asked = Asked { exempt: self.line(), ..self.about_worktrees()? };
        asked.caller.who = self.node.who(self.peer, &self.envelope.claims).await?.who;
        Ok(asked)
    }

    async fn register(&self, host: &str, session: Option<&String>, folder: &PathText) -> Result<(), Failed> {
        let Some(peer) = self.peer else { return Ok(()) };
        let ctx = self.node.ctx();
        let line = above(&*ctx.env.processes, Pid::new(peer), ctx.env.itself.facts().pid);
        let event = Event {
            host: host.to_owned(),
            class: EventClass::Other,
            event: String::new(),
            session: session.cloned(),
            sub_agent: None,
            folder: Some(folder.clone()),
            model: None,
            activity: None,
            source: None,
            tool_use: None,
            takes_context: false,
        };
        let told = Told { event, from: From::Line(line), at: ctx.env.clock.now() };
        intake::hear(ctx, self.node.machine(), told).await?;
        Ok(())
    }

    /// The calling process and those above it: a hook, and the host that waits for it.
    fn line(&self) -> Vec<u32> {
        let Some(peer) = self.peer else { return Vec::new() };
        let above = self.node.ctx().env.processes.ancestors(Pid::new(peer), HOST_WITHIN);
        std::iter::once(peer).chain(above.iter().map(|facts| facts.process.pid)).collect()
    }
}

async fn ask<T: Send + 'static>(
    actor: &ActorRef<WorktreesMsg>,
    message: impl FnOnce(RpcReplyPort<Result<T, Failed>>) -> WorktreesMsg,
) -> Result<T, Failed> {
    match actor.call(message, None).await {
        Ok(CallResult::Success(answer)) => answer,
        _ => Err(worktree::away()),
    }
}

impl Node {
    /// The actor of the repository that a folder is in.
    pub(super) async fn worktrees_around(&self, folder: &PathText) -> Result<ActorRef<WorktreesMsg>, Failed> {
        let common_dir = worktree::named_repository(self.ctx(), folder).await?;
        self.worktrees(common_dir).await.ok_or_else(worktree::away)
    }

    async fn worktrees(&self, common_dir: PathBuf) -> Option<ActorRef<WorktreesMsg>> {
        match self.machine().call(|reply| MachineMsg::Worktrees(common_dir, reply), None).await {
            Ok(CallResult::Success(actor)) => actor,
            _ => None,
        }
    }

    /// What follows from an event for worktrees, beside the answer to its hook: a session that starts in one that waits for it has
    /// it, and one that was made for a sub-agent goes with it. `line` are the hook and the processes above it, which keep nothing.
    pub(super) fn follow(&self, event: &Event, heard: Option<&Heard>, line: Vec<u32>) {
        let config = self.ctx().config.now();
        let (Some(folder), true) = (event.folder.clone(), config.worktrees_enabled) else { return };
        let starts = matches!(event.class, EventClass::Start | EventClass::Prompt);
        if let Some(heard) = heard.filter(|_| starts) {
            let (ctx, asked) = (self.ctx().clone(), self.asked_by_itself(heard.agent, folder, line));
            tokio::spawn(async move {
                if let Err(failed) = worktree::complete_pending(&ctx, asked).await {
                    tracing::info!(%failed, "a claim that waited was not completed");
                }
            });
        } else if let (EventClass::SubStop, Some(sub_agent)) = (event.class, event.sub_agent.clone()) {
            let session = frith_store::model::HostSession { host: event.host.clone(), id: event.session.clone(), sub_agent: None };
            let Some(main) = self.ctx().roster.of_session(&session, None) else { return };
            self.remove_of_sub_agent(self.asked_by_itself(main.id, folder, line), main.id, sub_agent);
        }
    }

    /// What the node asks by itself for an agent that stands in a folder.
    fn asked_by_itself(&self, agent: AgentId, folder: PathText, exempt: Vec<u32>) -> Asked {
        let who = Who::Agent { id: agent, place: None, oversees: false };
        let here = self.here();
        let caller = Caller { who, linked_by: LinkedBy::Process, other: None, folder: Some(folder.clone()), here, is_exact: false };
        Asked { caller, call: worktree::own_call(self.ctx()), folder, progress: None, exempt }
    }

    fn remove_of_sub_agent(&self, asked: Asked, main: AgentId, sub_agent: String) {
        let (ctx, machine, folder) = (self.ctx().clone(), self.machine().clone(), asked.folder.clone());
        tokio::spawn(async move {
            let Ok(common_dir) = worktree::named_repository(&ctx, &folder).await else { return };
            let Ok(CallResult::Success(Some(actor))) = machine.call(|reply| MachineMsg::Worktrees(common_dir, reply), None).await else {
                return;
            };
            worktree::sub_agent_ended(&ctx, &actor, asked, main, &sub_agent, folder).await;
        });
    }
}
