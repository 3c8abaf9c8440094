//! What is told of a worktree for a decision: what git and the disk say, and whose it is.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use frith_store::{
    error::Failure,
    git::{Checkout, Inventory, Judged, Standing, read::Operation},
    hosts::pools,
    id::{AgentId, MachineId},
    model::{Agent, Claim, Claimed, Presence, WorktreeId},
    refusal::WorktreeRefusal,
    rules::worktree::{Asker, Hold, LockText, RemovalFacts, Standing as Counted, hold},
    text::PathText,
    time::Timestamp,
};

use super::asked::{is_in, repository};
use crate::{
    call::Failed,
    ctx::Ctx,
    env::{process::Processes, worktrees::Worktrees, world::blocking},
    handlers::agents::presence_of,
    roster::Member,
};

/// What the store and the processes of this machine say of worktrees, at one moment.
pub(super) struct Known {
    /// The claims on this machine.
    pub claims: Vec<Claimed>,
    /// The agents of the claims, of locks, and of this machine that have not ended.
    pub agents: BTreeMap<AgentId, Agent>,
    /// Whether each is there.
    pub presence: BTreeMap<AgentId, Presence>,
    /// Where each of this machine's agents works, the one seen last first.
    pub working: Vec<(AgentId, PathText)>,
    here: MachineId,
    processes: Arc<dyn Processes>,
    worktrees: Arc<dyn Worktrees>,
    /// This node's process, whose folder says nothing.
    own: u32,
}

impl Known {
    /// Reads it.
    pub async fn read(ctx: &Ctx) -> Result<Self, Failed> {
        let again = ctx.clone();
        blocking(&ctx.env.blocking, move || Self::now(&again)).await.map_err(Failed::from_work)?.map_err(Failed::from)
    }

    /// The same, where blocking is allowed: what is decided with a lock in hand is decided on what is so then.
    pub fn now(ctx: &Ctx) -> Result<Self, Failure> {
        let eyes = ctx.eyes();
        let here = ctx.env.machine;
        let (claims, agents, presence) = ctx.db.store().read::<_, Failure>(move |view| {
            let claims = view.claims_on(here)?;
            let agents: BTreeMap<AgentId, Agent> = view.agents()?.into_iter().map(|agent| (agent.id, agent)).collect();
            let there = |agent: &Agent| Ok::<_, Failure>((agent.id, presence_of(view, agent, &eyes)?));
            let presence = agents.values().map(there).collect::<Result<_, _>>()?;
            Ok((claims, agents, presence))
        })?;
        let mut members = ctx.roster.all();
        members.sort_by_key(|member| std::cmp::Reverse(member.sighting.at));
        let started_in = |id: &AgentId| agents.get(id).and_then(|agent| agent.folder.clone());
        let at = |member: &Arc<Member>| Some((member.id, member.sighting.folder.clone().or_else(|| started_in(&member.id))?));
        let working = members.iter().filter_map(at).collect();
        Ok(Self {
            claims,
            agents,
            presence,
            working,
            here,
            processes: ctx.env.processes.clone(),
            worktrees: ctx.env.worktrees.clone(),
            own: ctx.env.itself.facts().pid,
        })
    }

    /// The same for whoever decides with git's lock in hand.
    pub fn for_decision(ctx: &Ctx) -> Result<Self, WorktreeRefusal> {
        Self::now(ctx).map_err(|failure| WorktreeRefusal::Failed { fact: Failed::from(failure).to_string(), way_out: None })
    }

    /// The claim on a worktree.
    pub fn claim(&self, id: Option<&WorktreeId>) -> Option<&Claim> {
        self.claimed(id).map(|claimed| &claimed.claim)
    }

    /// The same, with since when.
    pub fn claimed(&self, id: Option<&WorktreeId>) -> Option<&Claimed> {
        let id = id?;
        self.claims.iter().find(|claimed| claimed.claim.worktree == *id)
    }

    /// Claims on worktrees of a repository that are there no more, neither as folders nor in git's records: a host tidied its pool.
    pub fn missing<'k>(&'k self, inventory: &'k Inventory) -> impl Iterator<Item = &'k Claimed> {
        let repository = repository(inventory);
        let is_listed = |found: &Claimed| inventory.checkouts.iter().any(|one| one.id.as_ref() == Some(&found.claim.worktree));
        self.claims.iter().filter(move |found| found.claim.repository == repository && !is_listed(found))
    }

    /// Whose a worktree is, as the asker sees it.
    pub fn hold(&self, checkout: &Checkout, asker: &Asker) -> Hold {
        let is_locked_there = || pools::pool_of(&checkout.path, &|name| self.worktrees.variable(name)).locks;
        let claim = self.claim(checkout.id.as_ref()).map(|claim| Counted { claim, counts_alone: !is_locked_there() });
        hold(checkout.lock.as_deref(), claim, asker, &|agent| self.has_ended(agent))
    }

    /// Whether an agent of this machine provably ended: one that is not known did not, and of another machine's nobody here knows.
    pub fn has_ended(&self, agent: AgentId) -> bool {
        self.agents.get(&agent).is_some_and(|agent| agent.machine == self.here && agent.ended.is_some())
    }

    /// The agent whose a worktree is: its lock names it, else a claim.
    pub fn agent_of(&self, checkout: &Checkout) -> Option<AgentId> {
        let by_lock = checkout.lock.as_deref().and_then(LockText::read).and_then(|text| text.agent_id());
        by_lock.or_else(|| self.claim(checkout.id.as_ref()).and_then(|claim| claim.agent))
    }

    /// Whether a live agent has a worktree, or works in it.
    pub fn has_live_agent(&self, checkout: &Checkout) -> bool {
        let is_live = |agent: AgentId| self.presence.get(&agent) == Some(&Presence::Live);
        self.agent_of(checkout).is_some_and(is_live) || self.sessions_in(&checkout.path).into_iter().any(is_live)
    }

    /// The agents that work in a folder, the one seen last first.
    pub fn sessions_in(&self, folder: &Path) -> Vec<AgentId> {
        let inside = self.working.iter().filter(|(_, at)| at.as_path().starts_with(folder));
        inside.map(|(agent, _)| *agent).collect()
    }

    /// The processes that stand in a folder, but for those that wait for the answer.
    ///
    /// # Errors
    /// The table of processes cannot be read: then nobody knows that there is none.
    pub fn processes_in(&self, folder: &Path, exempt: &[u32]) -> Result<Vec<(u32, String)>, WorktreeRefusal> {
        let found = self.processes.working_in(folder).map_err(|error| WorktreeRefusal::Failed {
            fact: format!("it cannot be told whether a process works in `{}`: {error}", folder.display()),
            way_out: None,
        })?;
        let others = found.into_iter().filter(|facts| facts.process.pid != self.own && !exempt.contains(&facts.process.pid));
        Ok(others.map(|facts| (facts.process.pid, name_of(&facts.executable))).collect())
    }

    /// What a removal is decided on.
    pub fn facts(
        &self,
        inventory: &Inventory,
        checkout: &Checkout,
        judged: Option<&Judged>,
        asker: &Asker,
        stands_in: &Path,
    ) -> RemovalFacts {
        let (gone, broken) = match &checkout.standing {
            Standing::Gone => (Some(checkout.lock.is_some()), None),
            Standing::Broken(fault) => (None, Some(fault.clone())),
            Standing::Main | Standing::Linked => (None, None),
        };
        RemovalFacts {
            path: PathText::from(checkout.path.as_path()),
            is_main: checkout.standing == Standing::Main,
            has_default_branch: inventory.is_default(checkout),
            gone,
            broken,
            branch: checkout.branch.clone(),
            commit: checkout.commit.clone(),
            operation: judged.and_then(|judged| judged.operation).map(Operation::name),
            changes: judged.and_then(|judged| judged.changes).map(|changes| changes.total()),
            merged: judged.and_then(|judged| judged.merged),
            has_own_commits: judged.is_some_and(|judged| judged.has_own_commits),
            ahead: judged.and_then(|judged| judged.ahead),
            base: base_name(inventory),
            hold: self.hold(checkout, asker),
            is_stood_in: is_in(stands_in, &checkout.path),
            processes: Vec::new(),
        }
    }
}

/// What worktrees are compared with, in words.
pub(super) fn base_name(inventory: &Inventory) -> String {
    inventory.base.as_ref().map_or_else(|| "the default branch".to_owned(), |base| base.name.clone())
}

fn name_of(executable: &std::ffi::OsStr) -> String {
    let path = PathBuf::from(executable);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "a process".to_owned())
}

/// When something in a worktree was written last.
pub(super) fn modified(judged: &Judged) -> Option<Timestamp> {
    judged.sizes.as_ref().and_then(|sizes| sizes.newest_ms).map(Timestamp::from_ms)
}
