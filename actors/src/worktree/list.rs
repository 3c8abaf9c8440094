//! Listing: every worktree of a repository with whose it is and in which state; orphans; those of other machines.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use frith_store::{
    git::{Checkout, Inventory, Judged, Sizes, Standing, Want, read::Operation},
    hosts::pools,
    id::MachineId,
    model::{Claimed, Machine},
    rules::worktree::LockText,
    text::PathText,
    time::Timestamp,
};

use super::{
    adopt::pool_in,
    asked::{self, Asked, inventory},
    facts::{Known, modified},
};
use crate::{
    api::{
        agents::MachineName,
        worktree::{Elsewhere, InWorktree, List, WorktreeInfo, WorktreeState, Worktrees},
    },
    call::Failed,
    ctx::Ctx,
    env::world::blocking,
    handlers,
};

/// Lists the worktrees of the repository the caller is in.
///
/// # Errors
/// The caller is in none, or it cannot be read.
pub async fn list(ctx: &Ctx, asked: Asked, wanted: List) -> Result<Worktrees, Failed> {
    // Claims first: one that is made meanwhile is of a worktree that is not looked at.
    let known = Known::read(ctx).await?;
    let inventory = asked.inventory(ctx).await?;
    let (_, root) = asked::configured(ctx, &inventory).await?;
    let want = if wanted.no_sizes { Want::Verdict } else { Want::VerdictAndSizes };
    let is_there = |one: &Checkout| matches!(one.standing, Standing::Linked | Standing::Main);
    let judged = asked.judged(ctx, &inventory, want, is_there).await?;
    let (now, of) = (ctx.clone(), inventory.clone());
    let (mut watch, _passes) = asked.watch(ctx);
    let rows = blocking(&ctx.env.blocking, move || {
        let mut rows = rows(&now, &of, &known, &judged, &root);
        rows.extend(missing(&of, &known));
        let sizes = if want == Want::Verdict { Vec::new() } else { now.env.worktrees.measure(&of.orphans, &mut watch) };
        (rows, orphans(&of.orphans, sizes))
    });
    let (worktrees, orphans) = rows.await.map_err(Failed::from_work)?;
    let repository = asked::repository(&inventory);
    let elsewhere = if wanted.all { elsewhere(ctx, &asked, &inventory).await? } else { Vec::new() };
    Ok(Worktrees { repository, base: inventory.base.as_ref().map(|base| base.name.clone()), worktrees, orphans, elsewhere })
}

fn rows(ctx: &Ctx, inventory: &Inventory, known: &Known, judged: &[Option<Judged>], root: &Path) -> Vec<WorktreeInfo> {
    let doubled = doubled(inventory);
    let row = |(checkout, judged): (&Checkout, &Option<Judged>)| WorktreeInfo {
        origin: pool_in(ctx, root, checkout).origin.to_owned(),
        doubled: checkout.branch.as_ref().is_some_and(|branch| doubled.contains(branch)),
        ..row(inventory, checkout, judged.as_ref(), known)
    };
    inventory.checkouts.iter().zip(judged).map(row).collect()
}

fn orphans(paths: &[PathBuf], sizes: Vec<Option<Sizes>>) -> Vec<WorktreeInfo> {
    let sizes = sizes.into_iter().chain(std::iter::repeat(None));
    let row = |(path, sizes): (&PathBuf, Option<Sizes>)| WorktreeInfo {
        bytes: sizes.as_ref().map(|sizes| sizes.bytes),
        cache_bytes: sizes.as_ref().map(|sizes| sizes.cache_bytes),
        modified: sizes.and_then(|sizes| sizes.newest_ms).map(Timestamp::from_ms),
        ..bare(PathText::from(path.as_path()), WorktreeState::Orphan)
    };
    paths.iter().zip(sizes).map(row).collect()
}

/// Branches that more than one worktree has checked out.
fn doubled(inventory: &Inventory) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for branch in inventory.checkouts.iter().filter_map(|one| one.branch.as_deref()) {
        *seen.entry(branch).or_default() += 1;
    }
    seen.into_iter().filter(|(_, times)| *times > 1).map(|(branch, _)| branch.to_owned()).collect()
}

fn row(inventory: &Inventory, checkout: &Checkout, judged: Option<&Judged>, known: &Known) -> WorktreeInfo {
    let claim = known.claim(checkout.id.as_ref());
    let lock = checkout.lock.as_deref().map(LockText::read);
    let text = lock.as_ref().and_then(Option::as_ref);
    let is_unknown = matches!(lock, Some(None));
    let agent = known.agent_of(checkout);
    let sizes = judged.and_then(|judged| judged.sizes.as_ref());
    WorktreeInfo {
        path: PathText::from(checkout.path.as_path()),
        branch: checkout.branch.clone(),
        commit: checkout.commit.clone(),
        state: state(inventory, checkout, judged),
        proof: judged.and_then(|judged| judged.merged),
        ahead: judged.and_then(|judged| judged.ahead),
        changes: judged.and_then(|judged| judged.changes).and_then(|changes| u32::try_from(changes.total()).ok()),
        operation: judged.and_then(|judged| judged.operation).map(Operation::name).map(str::to_owned),
        fault: if let Standing::Broken(fault) = &checkout.standing { Some(fault.clone()) } else { None },
        current: inventory.current.as_ref() == Some(&checkout.path),
        doubled: false,
        origin: String::new(),
        task: text.map(|text| text.task.clone()).or_else(|| claim.map(|claim| claim.task.clone())),
        owner: text.map(|text| text.owner.clone()).or_else(|| claim.and_then(|claim| claim.owner.clone()).filter(|_| !is_unknown)),
        lock: checkout.lock.clone(),
        pending: claim.is_some_and(|claim| claim.is_pending() && checkout.lock.is_none()),
        agent,
        presence: agent.and_then(|agent| known.presence.get(&agent).copied()),
        session: known.sessions_in(&checkout.path).first().copied(),
        bytes: sizes.map(|sizes| sizes.bytes),
        cache_bytes: sizes.map(|sizes| sizes.cache_bytes),
        modified: judged.and_then(modified),
    }
}

fn state(inventory: &Inventory, checkout: &Checkout, judged: Option<&Judged>) -> WorktreeState {
    match (&checkout.standing, judged) {
        (Standing::Main, _) => WorktreeState::Main,
        (Standing::Gone, _) => WorktreeState::Stale,
        (Standing::Broken(_), _) => WorktreeState::Broken,
        (Standing::Linked, Some(judged)) if !judged.is_clean() => WorktreeState::Dirty,
        (Standing::Linked, _) if inventory.is_default(checkout) => WorktreeState::Main,
        (Standing::Linked, Some(judged)) if judged.is_finished() => WorktreeState::Finished,
        (Standing::Linked, Some(judged)) if judged.merged.is_some() || checkout.commit.is_none() => WorktreeState::New,
        (Standing::Linked, _) => WorktreeState::Unmerged,
    }
}

/// Claims on worktrees that are not there any more, neither as a folder nor in git's records: a pool of a host was tidied.
fn missing(inventory: &Inventory, known: &Known) -> Vec<WorktreeInfo> {
    let rows = known.missing(inventory).map(|found| {
        let claim = &found.claim;
        WorktreeInfo {
            branch: claim.branch.clone(),
            origin: claim.origin.clone(),
            task: Some(claim.task.clone()),
            owner: claim.owner.clone(),
            pending: claim.is_pending(),
            agent: claim.agent,
            presence: claim.agent.and_then(|agent| known.presence.get(&agent).copied()),
            ..bare(claim.path.clone(), WorktreeState::Missing)
        }
    });
    rows.collect()
}

/// A worktree of which nothing is told but where and what it is.
fn bare(path: PathText, state: WorktreeState) -> WorktreeInfo {
    WorktreeInfo {
        path,
        branch: None,
        commit: None,
        state,
        proof: None,
        ahead: None,
        changes: None,
        operation: None,
        fault: None,
        current: false,
        doubled: false,
        origin: pools::OTHER.to_owned(),
        task: None,
        owner: None,
        lock: None,
        pending: false,
        agent: None,
        presence: None,
        session: None,
        bytes: None,
        cache_bytes: None,
        modified: None,
    }
}

/// The claims of other machines on worktrees of clones of the same repository.
async fn elsewhere(ctx: &Ctx, asked: &Asked, inventory: &Inventory) -> Result<Vec<Elsewhere>, Failed> {
    let here = asked.caller.here;
    let Some(history) = asked::history(ctx, inventory).await else { return Ok(Vec::new()) };
    let found = ctx.db.read(move |view| {
        let machines: BTreeMap<MachineId, Machine> = view.members()?.into_iter().map(|machine| (machine.id, machine)).collect();
        let others = view.claims()?.into_iter().filter(|found| found.machine != here && found.claim.history.as_ref() == Some(&history));
        Ok(others.filter_map(|found| Some(there(machines.get(&found.machine)?, found))).collect())
    });
    Ok(found.await?)
}

fn there(machine: &Machine, found: Claimed) -> Elsewhere {
    let claim = found.claim;
    Elsewhere {
        machine: machine.id,
        machine_name: machine.name.clone(),
        path: claim.path,
        branch: claim.branch,
        task: claim.task,
        origin: claim.origin,
        agent: claim.agent,
        owner: claim.owner,
        claimed: found.at,
    }
}

/// Tells who calls, where it is, and which worktrees it has. It works anywhere.
///
/// # Errors
/// The store broke.
pub async fn whoami(ctx: &Ctx, asked: Asked) -> Result<InWorktree, Failed> {
    let around = inventory(ctx, asked.folder.clone()).await.ok();
    let root = match &around {
        Some(inventory) => asked::configured(ctx, inventory).await?.1,
        None => asked::root(ctx, &ctx.config.now()),
    };
    let (caller, eyes) = (asked.caller.clone(), ctx.eyes());
    let (agent, machine, mut held) = ctx
        .db
        .read(move |view| {
            let name = view.machine(caller.here)?.map(|machine| machine.name).unwrap_or_default();
            let machine = MachineName { id: caller.here, name };
            let Some(agent) = caller.agent() else { return Ok((None, machine, Vec::new())) };
            let info = handlers::agents::info(view, view.require_agent(agent)?, &eyes)?;
            Ok((Some(info), machine, handlers::agents::worktrees_of(view, caller.here, agent)?))
        })
        .await?;
    for one in &mut held {
        one.missing = asked::real(ctx, one.path.as_path().to_owned()).await.is_none();
    }
    let current = around.as_ref().and_then(|inventory| {
        let current = inventory.current.as_deref()?;
        inventory.checkouts.iter().find(|one| one.path == current && one.standing != Standing::Main)
    });
    Ok(InWorktree {
        agent,
        machine,
        root: PathText::from(root.as_path()),
        repository: around.as_ref().map(asked::repository),
        worktree: current.map(|one| PathText::from(one.path.as_path())),
        held,
    })
}
