//! Merging a fork back, as steps that a restart can finish or undo: decide, stop the agent, commit, folder.
//!
//! Until the commit nothing but the agent's end has happened; after it the merge is for ever, and a folder that is to go
//! is named in a durable step that the next start finishes.

use std::{future::Future, sync::Arc, time::Duration};

use frith_store::{
    docs::log::Fact,
    error::Failure,
    git::{FolderKind, FolderState},
    id::{AgentId, MachineId, PlaceId},
    model::{Agent, By, Checkout, CheckoutKind, Counts, Place, ProcessRef, Status},
    refusal::Refusal,
    rules::{
        merge::{Foreign, MergePlan, Strangers, after_the_stop, can_merge, is_stranger_in},
        named,
        seat::can_decide,
    },
    text::PathText,
    tx::Tx,
    view::View,
};
use ractor::{ActorRef, rpc::CallResult};
use serde::{Deserialize, Serialize};

use crate::{
    api::fork::{FolderFate, Merged, MergedFolder},
    call::Failed,
    caller::{mark, parent_of},
    ctx::Ctx,
    env::{
        process::{ProcessFacts, Processes},
        world::blocking,
    },
    fork::ForkMsg,
    roster::Member,
};

/// How long a merge waits for its agent to end.
pub const STOP_WAIT: Duration = Duration::from_secs(10);

/// What a merge was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The fork.
    pub fork: PlaceId,
    /// Who asks.
    pub by: By,
    /// Also remove its folder.
    pub delete_folder: bool,
    /// Only tell what would happen.
    pub dry_run: bool,
    /// The process that asks.
    pub caller: Option<u32>,
}

/// The durable step of a merge whose folder is to go.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FolderStep {
    /// The fork.
    pub fork: PlaceId,
    /// Its folder, as it was after the agent had ended.
    pub seen: FolderState,
}

impl FolderStep {
    /// What the keys of these steps begin with.
    pub const PREFIX: &[u8] = b"merge-folder/";

    fn key(fork: PlaceId) -> Vec<u8> {
        [Self::PREFIX, fork.as_bytes()].concat()
    }
}

/// How stopping the fork's agent went: none when it did not end in [`STOP_WAIT`]. A refusal says that there was none.
pub type Stop = Option<Result<Agent, Failed>>;

/// Merges a fork. `stop` stops its agent and waits until its end is on disk.
///
/// # Errors
/// What stands in the way; whether the agent was stopped is said.
pub async fn run<S: Future<Output = Stop> + Send>(
    ctx: &Ctx,
    asked: &Asked,
    stop: impl FnOnce(By) -> S + Send,
    fork: &ActorRef<ForkMsg>,
) -> Result<Merged, Failed> {
    let foreign = foreign(ctx, asked).await?;
    if let Some(left) = left_by_merge(ctx, asked).await? {
        return remove_left(ctx, asked, left, foreign, fork).await;
    }
    let (plan, names) = decide_now(ctx, asked.fork, foreign).await?;
    if asked.dry_run {
        return preview(ctx, asked, &plan, names).await;
    }
    ctx.env.faults.reached("merge.decided");
    if let Some(agent) = plan.stops() {
        stopped(stop(asked.by.clone()).await, &names, agent)?;
        ctx.env.faults.reached("merge.agent-stopped");
    }
    let (here, seen) = folder_here(ctx, &plan, asked, fork).await?;
    let Over { moved_tasks, schedules } = commit(ctx, asked, plan.stops().is_some(), seen.clone()).await?;
    ctx.env.faults.reached("merge.committed");
    let mut folders = kept(&plan, here.as_ref());
    if let (Some(checkout), Some(seen)) = (here, seen) {
        let fate = match is_other(&checkout, &seen) {
            Some(why) => keep(ctx, asked.fork, why).await?,
            None => remove(ctx, asked.fork, seen, fork).await?,
        };
        folders = vec![folder(ctx, &checkout, fate).await];
        ctx.env.faults.reached("merge.done");
    }
    Ok(Merged { moved_tasks, schedules, stopped_agent: plan.stops(), folders, done: true, ..names.answer() })
}

/// The two places of a merge.
struct Names {
    fork: Place,
    parent: Place,
}

impl Names {
    fn answer(&self) -> Merged {
        Merged {
            fork_id: self.fork.id,
            fork: self.fork.name.clone(),
            parent_id: self.parent.id,
            parent: self.parent.name.clone(),
            moved_tasks: 0,
            schedules: 0,
            stopped_agent: None,
            folders: vec![],
            done: false,
        }
    }
}

/// What goes over to the parent.
#[derive(Debug, Clone, Copy)]
struct Over {
    moved_tasks: u32,
    schedules: u32,
}

impl Over {
    fn of(tasks: &Counts) -> Self {
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self { moved_tasks: number(tasks.total()), schedules: number(tasks.cron) }
    }
}

/// The folder here of a fork that was merged without it, and how many tasks went over then.
struct Left {
    names: Names,
    checkout: Checkout,
    moved_tasks: u32,
}

async fn left_by_merge(ctx: &Ctx, asked: &Asked) -> Result<Option<Left>, Failed> {
    let (here, id) = (ctx.db.store().machine(), asked.fork);
    if !asked.delete_folder {
        return Ok(None);
    }
    let found = ctx.db.read(move |view| {
        let fork = view.require_place(id)?;
        let Some(merged) = fork.merged.clone() else { return Ok(None) };
        let checkout = view.checkouts(id)?.into_iter().find(|one| one.machine == here && one.removed.is_none());
        let parent = view.require_place(merged.into)?;
        Ok(checkout.map(|checkout| Left { names: Names { fork, parent }, checkout, moved_tasks: merged.moved_tasks }))
    });
    Ok(found.await?)
}

/// Removes the folder that an earlier merge left.
async fn remove_left(ctx: &Ctx, asked: &Asked, left: Left, foreign: Option<Foreign>, fork: &ActorRef<ForkMsg>) -> Result<Merged, Failed> {
    let Left { names, checkout, moved_tasks } = left;
    if let Some(Foreign { pid, name }) = foreign {
        return Err(Refusal::ForeignProcess { fork: named(&names.fork), pid, name }.into());
    }
    let fate = if asked.dry_run {
        FolderFate::ToBeRemoved
    } else {
        let (id, seen) = (asked.fork, look(fork).await?);
        let noted = seen.clone();
        ctx.db.write(move |tx| note_folder(tx, id, Some(noted))).await?;
        remove(ctx, asked.fork, seen, fork).await?
    };
    let folders = vec![folder(ctx, &checkout, fate).await];
    Ok(Merged { moved_tasks, folders, done: !asked.dry_run, ..names.answer() })
}

async fn decide_now(ctx: &Ctx, fork: PlaceId, foreign: Option<Foreign>) -> Result<(MergePlan, Names), Failed> {
    let here = ctx.db.store().machine();
    let decided = ctx.db.read(move |view| {
        let plan = decide(view, here, fork, foreign.as_ref())?;
        let fork = view.require_place(plan.fork())?;
        let parent = view.require_place(plan.parent())?;
        Ok((plan, Names { fork, parent }))
    });
    Ok(decided.await?)
}

fn decide(view: &View<'_>, here: MachineId, fork: PlaceId, foreign: Option<&Foreign>) -> Result<MergePlan, Failure> {
    let place = view.require_place(fork)?;
    let parent = parent_of(view, &place)?;
    let decides = can_decide(&place, here)?;
    let unfinished = view.tasks(fork, &Status::UNFINISHED)?;
    let agent: Option<Agent> = view.agent_in(fork)?;
    let mut agents = view.live_agents()?;
    agents.retain(|agent| is_stranger_in(agent, fork));
    let strangers = Strangers { agents: &agents, process: foreign };
    Ok(can_merge(&place, parent.as_ref(), decides, &unfinished, agent.as_ref(), strangers, view.checkouts(fork)?)?)
}

/// A process in the fork's folder that no launch started: an agent of a kind this machine knows, or, when the folder is
/// to go, any process at all.
async fn foreign(ctx: &Ctx, asked: &Asked) -> Result<Option<Foreign>, Failed> {
    let id = asked.fork;
    let checkouts = ctx.db.read(move |view| Ok(view.checkouts(id)?)).await?;
    let here = ctx.db.store().machine();
    let Some(folder) = checkouts.into_iter().find(|one| one.machine == here && one.removed.is_none()) else { return Ok(None) };
    let look = Look {
        processes: ctx.env.processes.clone(),
        running: ctx.roster.launched(),
        commands: ctx.config.now().kinds.values().filter_map(|kind| kind.command.first().cloned()).collect(),
        any: asked.delete_folder,
        caller: asked.caller,
    };
    blocking(&ctx.env.blocking, move || look.find_in(&folder.path)).await.map_err(Failed::from_work)?.map_err(Into::into)
}

/// What tells a process that may stay in a fork's folder from one that stands in the way.
struct Look {
    processes: Arc<dyn Processes>,
    running: Vec<Arc<Member>>,
    commands: Vec<String>,
    any: bool,
    caller: Option<u32>,
}

impl Look {
    fn find_in(&self, folder: &PathText) -> Result<Option<Foreign>, Refusal> {
        // What the system does not tell cannot stand in the way.
        for facts in self.processes.working_in(folder.as_path()).unwrap_or_default() {
            if self.is_callers(&facts) {
                if self.any {
                    return Err(Refusal::StandsInFolder { folder: folder.clone() });
                }
            } else if !self.is_launched(&facts) && (self.any || self.is_agent(&facts)) {
                let name = facts.executable.to_string_lossy().into_owned();
                return Ok(Some(Foreign { pid: facts.process.pid, name }));
            }
        }
        Ok(None)
    }

    fn line(&self, pid: u32) -> impl Iterator<Item = ProcessRef> {
        let own = self.processes.facts(pid.into()).ok().flatten();
        own.into_iter().chain(self.processes.ancestors(pid.into(), 64)).map(|facts| facts.process)
    }

    fn is_callers(&self, facts: &ProcessFacts) -> bool {
        self.caller.is_some_and(|caller| self.line(caller).any(|process| process == facts.process))
    }

    fn is_launched(&self, facts: &ProcessFacts) -> bool {
        let is_agents = |process: &ProcessRef| self.running.iter().any(|agent| agent.terminal.as_ref() == Some(process));
        let is_marked = || self.running.iter().any(|agent| self.processes.carries(facts.process.pid.into(), &mark(agent.id)));
        self.line(facts.process.pid).any(|process| is_agents(&process)) || is_marked()
    }

    fn is_agent(&self, facts: &ProcessFacts) -> bool {
        let name = facts.executable.to_string_lossy();
        self.commands.iter().any(|command| command.rsplit('/').next() == Some(&*name))
    }
}

async fn preview(ctx: &Ctx, asked: &Asked, plan: &MergePlan, names: Names) -> Result<Merged, Failed> {
    let fork = asked.fork;
    let tasks = ctx.db.read(move |view| Ok(view.counts(fork)?)).await?;
    let mut folders = Vec::new();
    for checkout in plan.folders() {
        let fate = if asked.delete_folder { FolderFate::ToBeRemoved } else { FolderFate::Kept };
        folders.push(folder(ctx, checkout, fate).await);
    }
    let Over { moved_tasks, schedules } = Over::of(&tasks);
    Ok(Merged { moved_tasks, schedules, stopped_agent: plan.stops(), folders, done: false, ..names.answer() })
}

fn stopped(stop: Stop, names: &Names, agent: AgentId) -> Result<(), Failed> {
    match stop {
        Some(Ok(_) | Err(Failed::Refused(_))) => Ok(()),
        Some(Err(broken)) => Err(broken),
        None => Err(Refusal::StillStopping { place: named(&names.fork), agent }.into()),
    }
}

async fn look(fork: &ActorRef<ForkMsg>) -> Result<FolderState, Failed> {
    match fork.call(ForkMsg::Look, None).await {
        Ok(CallResult::Success(Ok(state))) => Ok(state),
        Ok(CallResult::Success(Err(fault))) => {
            Err(Refusal::ForkFolderFault { code: "look".into(), fact: fault.to_string(), way_out: keep_hint() }.into())
        }
        _ => {
            Err(Refusal::ForkFolderFault { code: "look".into(), fact: "looking at the fork's folder failed".into(), way_out: keep_hint() }
                .into())
        }
    }
}

fn keep_hint() -> Option<String> {
    Some("merge without `--delete-folder`, and delete the folder by hand".into())
}

/// Decides once more and merges, in one transaction.
async fn commit(ctx: &Ctx, asked: &Asked, stopped: bool, seen: Option<FolderState>) -> Result<Over, Failed> {
    let (here, fork, by) = (ctx.db.store().machine(), asked.fork, asked.by.clone());
    let committed = ctx.db.write(move |tx| {
        let plan = decide(tx, here, fork, None).map_err(|failure| match failure {
            Failure::Refused(refusal) if stopped => Failure::from(after_the_stop(*refusal)),
            other => other,
        })?;
        if let Some(agent) = plan.stops() {
            let place = tx.require_place(fork)?;
            return Err(Refusal::StillStopping { place: named(&place), agent }.into());
        }
        let over = Over::of(&tx.counts(fork)?);
        tx.append(Fact::Merge { fork, parent: plan.parent(), epoch: plan.epoch(), by, moved: over.moved_tasks })?;
        note_folder(tx, fork, seen)?;
        Ok(over)
    });
    Ok(committed.await?)
}

fn note_folder(tx: &mut Tx<'_>, fork: PlaceId, seen: Option<FolderState>) -> Result<(), Failure> {
    let Some(seen) = seen else { return Ok(()) };
    let step = postcard::to_stdvec(&FolderStep { fork, seen });
    let step = step.map_err(|source| frith_store::error::StoreError::Row { space: "steps", source })?;
    Ok(tx.set_step(&FolderStep::key(fork), &step)?)
}

/// Why what stands at a fork's place is not the folder that was made for it.
fn is_other(checkout: &Checkout, seen: &FolderState) -> Option<String> {
    let was_worktree = matches!(checkout.kind, CheckoutKind::Worktree { .. });
    (was_worktree && seen.kind() == FolderKind::Copy).then(|| "what stands there is no worktree of this fork any more".to_owned())
}

async fn keep(ctx: &Ctx, fork: PlaceId, why: String) -> Result<FolderFate, Failed> {
    ctx.db.write(move |tx| Ok(tx.clear_step(&FolderStep::key(fork))?)).await?;
    Ok(FolderFate::KeptBecause(why))
}

/// Removes the folder of a merged fork and records what became of it; also where a node that ended meanwhile left off.
///
/// # Errors
/// The store broke.
pub async fn remove(ctx: &Ctx, fork_id: PlaceId, seen: FolderState, fork: &ActorRef<ForkMsg>) -> Result<FolderFate, Failed> {
    let removed = fork.call(|reply| ForkMsg::Remove { seen: Box::new(seen), reply }, None).await;
    let fate = match removed {
        Ok(CallResult::Success(Ok(removed))) if removed.kind == FolderKind::Gone => FolderFate::Gone,
        Ok(CallResult::Success(Ok(removed))) => FolderFate::Removed { tip: removed.branch.map(|(_, tip)| tip) },
        Ok(CallResult::Success(Err(fault))) => FolderFate::KeptBecause(fault.to_string()),
        _ => FolderFate::KeptBecause("removing it failed".into()),
    };
    ctx.env.faults.reached("merge.folder-removed");
    let is_gone = matches!(fate, FolderFate::Removed { .. } | FolderFate::Gone);
    ctx.db
        .write(move |tx| {
            if is_gone {
                tx.append(Fact::CheckoutRemoved { fork: fork_id })?;
            }
            Ok(tx.clear_step(&FolderStep::key(fork_id))?)
        })
        .await?;
    Ok(fate)
}

/// The fork's folder here with what it holds, when it is to go. One that a node did not live to record is found where
/// every fork's folder stands.
async fn folder_here(
    ctx: &Ctx,
    plan: &MergePlan,
    asked: &Asked,
    fork: &ActorRef<ForkMsg>,
) -> Result<(Option<Checkout>, Option<FolderState>), Failed> {
    let here = ctx.db.store().machine();
    let recorded = plan.folders().iter().find(|checkout| checkout.machine == here).cloned();
    if recorded.is_some() && !asked.delete_folder {
        return Ok((recorded, None));
    }
    let seen = match look(fork).await {
        Ok(seen) => seen,
        Err(_) if !asked.delete_folder => return Ok((recorded, None)),
        Err(failed) => return Err(failed),
    };
    let found = (seen.kind() != FolderKind::Gone).then(|| unrecorded(ctx, asked.fork, seen.kind()));
    let checkout = recorded.or(found);
    let seen = (asked.delete_folder && checkout.is_some()).then_some(seen);
    Ok((checkout, seen))
}

fn unrecorded(ctx: &Ctx, fork: PlaceId, kind: FolderKind) -> Checkout {
    let path = PathText::from(ctx.env.home.join("forks").join(fork.to_string()).as_path());
    let kind = match kind {
        FolderKind::Worktree => CheckoutKind::Worktree { branch: format!("frith/fork-{fork}"), base: String::new() },
        FolderKind::Copy | FolderKind::Gone => CheckoutKind::Copy,
    };
    Checkout { fork, machine: ctx.db.store().machine(), start_in: path.clone(), path, kind, made: ctx.db.now(), removed: None }
}

fn kept(plan: &MergePlan, here: Option<&Checkout>) -> Vec<MergedFolder> {
    let folder = |checkout: &Checkout| MergedFolder {
        machine: checkout.machine,
        path: checkout.path.clone(),
        kind: checkout.kind.clone(),
        uncommitted: None,
        fate: FolderFate::Kept,
    };
    let found = here.filter(|found| plan.folders().iter().all(|one| one.machine != found.machine));
    plan.folders().iter().chain(found).map(folder).collect()
}

async fn folder(ctx: &Ctx, checkout: &Checkout, fate: FolderFate) -> MergedFolder {
    let (folders, path) = (ctx.env.folders.clone(), checkout.path.clone());
    let counts = checkout.machine == ctx.db.store().machine() && matches!(fate, FolderFate::Kept | FolderFate::ToBeRemoved);
    let uncommitted =
        if counts { blocking(&ctx.env.blocking, move || folders.uncommitted(path.as_path())).await.ok().flatten() } else { None };
    MergedFolder { machine: checkout.machine, path: checkout.path.clone(), kind: checkout.kind.clone(), uncommitted, fate }
}
