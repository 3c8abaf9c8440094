//! Taking a worktree over: by the agent that calls, for whoever it was made for, or for nobody yet.

use std::path::Path;

use frith_store::{
    docs::log::Fact,
    git::{Checkout, Inventory, RelockError, Standing},
    hosts::pools::{self, InPool},
    id::AgentId,
    model::{Claim, Presence},
    refusal::{Refusal, WorktreeRefusal},
    rules::worktree::{AdoptPlan, Adoptable, Asker, can_adopt},
    text::PathText,
};

use super::{
    asked::{self, Asked, asker_of, is_in, refused},
    facts::Known,
};
use crate::{
    api::worktree::Adopted,
    call::Failed,
    caller::Who,
    ctx::Ctx,
    env::{worktrees::Relock, world::blocking},
};

/// What is wanted of a worktree that is to be taken over.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The worktree, or a folder in it.
    pub path: PathText,
    /// What it is for.
    pub task: Option<String>,
    /// Whose it is, when a person says.
    pub owner: Option<String>,
    /// Whether it was named to be claimed, and gets git's lock in every pool.
    pub always_locks: bool,
    /// Whether a script of a host may be asking, which stands in the worktree and names none.
    pub may_be_script: bool,
}

/// Takes a worktree over.
pub(super) async fn adopt(ctx: &Ctx, asked: Asked, wanted: Wanted) -> Result<Adopted, Failed> {
    let path = asked.path(&wanted.path);
    bring_back(ctx, &asked, &path).await?;
    let inventory = asked::inventory(ctx, text(&path)).await?;
    let checkout = linked(&inventory, &path)?;
    let known = Known::read(ctx).await?;
    let pool = pool_of(ctx, &inventory, checkout).await?;
    let asker = match asked.asker(ctx, wanted.owner.as_deref()).await? {
        asker if is_named(&asked, &wanted, &known, &inventory, &pool, &asker) => asker,
        _ if !wanted.always_locks && pool.has_script => match made_for(ctx, &known, &inventory, checkout) {
            Some(agent) => asker_of(ctx, agent).await?,
            None => Asker::default(),
        },
        _ if wanted.always_locks => return Err(refused(WorktreeRefusal::NoOwner)),
        _ => return Err(refused(WorktreeRefusal::NoAgent { path: text(&checkout.path) })),
    };
    let plan = planned(ctx, &known, checkout, &pool, &wanted, &asker)?;
    carry_out(ctx, &asked, &inventory, checkout, &known, &pool, &plan, &asker).await
}

/// An orphan of the repository in which the caller stands is brought back under git first, when git can do that.
async fn bring_back(ctx: &Ctx, asked: &Asked, path: &Path) -> Result<(), Failed> {
    let Some(real) = asked::real(ctx, path.to_owned()).await else { return Ok(()) };
    // Whoever stands in no repository, or in the orphan itself, is told so by what follows.
    let Ok(around) = asked.inventory(ctx).await else { return Ok(()) };
    if !around.orphans.iter().any(|orphan| orphan == real.as_path()) {
        return Ok(());
    }
    let (worktrees, repository, orphan) = (ctx.env.worktrees.clone(), around.common_dir.clone(), real.as_path().to_owned());
    let mut watch = crate::fork::Watching::new(ctx, crate::fork::Cancel::default(), None);
    let repaired =
        blocking(&ctx.env.blocking, move || worktrees.repair(&repository, &orphan, &mut watch)).await.map_err(Failed::from_work)?;
    repaired.map_err(|error| refused(WorktreeRefusal::Failed { fact: error.to_string(), way_out: error.hint() }))
}

/// The linked worktree around a path.
fn linked<'i>(inventory: &'i Inventory, path: &Path) -> Result<&'i Checkout, Failed> {
    let found = inventory.around(path);
    match found {
        Some(checkout) => match &checkout.standing {
            Standing::Linked => Ok(checkout),
            Standing::Main => Err(refused(WorktreeRefusal::MainCheckout { path: text(&checkout.path) })),
            Standing::Gone => Err(refused(WorktreeRefusal::FolderGone { path: text(&checkout.path), locked: checkout.lock.is_some() })),
            Standing::Broken(fault) => Err(refused(WorktreeRefusal::Broken { path: text(&checkout.path), fault: fault.clone() })),
        },
        None => Err(refused(WorktreeRefusal::NoMatch { given: path.display().to_string() })),
    }
}

fn text(path: &Path) -> PathText {
    PathText::from(path)
}

/// The pool of a worktree; one below frith's own root is frith's.
pub(super) async fn pool_of(ctx: &Ctx, inventory: &Inventory, checkout: &Checkout) -> Result<InPool, Failed> {
    let (_, root) = asked::configured(ctx, inventory).await?;
    Ok(pool_in(ctx, &root, checkout))
}

/// The same, below a root that is known.
pub(super) fn pool_in(ctx: &Ctx, root: &Path, checkout: &Checkout) -> InPool {
    let own = |origin| InPool { origin, locks: true, has_script: false };
    match checkout.standing {
        Standing::Main => own(pools::MAIN),
        _ if is_in(&checkout.path, root) => own(pools::OWN),
        _ => pools::pool_of(&checkout.path, &|name| ctx.env.worktrees.variable(name)),
    }
}

/// Whether it is told who asks. Where a host runs a script for a new worktree, the script may stand below an agent of quite another
/// folder: one application has many windows.
fn is_named(asked: &Asked, wanted: &Wanted, known: &Known, inventory: &Inventory, pool: &InPool, asker: &Asker) -> bool {
    let Who::Agent { id, .. } = asked.caller.who else { return !asker.is_unknown() };
    let is_here = || known.working.iter().any(|(agent, at)| *agent == id && inventory.around(at.as_path()).is_some());
    !(pool.has_script && wanted.may_be_script) || is_here()
}

/// The one live main agent of the pool's hosts that works in the main checkout.
fn made_for(ctx: &Ctx, known: &Known, inventory: &Inventory, checkout: &Checkout) -> Option<AgentId> {
    let hosts = pools::hosts_of(&checkout.path, &|name| ctx.env.worktrees.variable(name));
    let main = inventory.main.as_deref()?;
    let is_meant = |agent: AgentId, at: &PathText| {
        let Some(found) = known.agents.get(&agent) else { return false };
        let is_of_host = hosts.iter().any(|host| host.id == found.host);
        let is_live = known.presence.get(&agent) == Some(&Presence::Live);
        is_of_host && is_live && found.parent.is_none() && inventory.around(at.as_path()).is_some_and(|at| at.path == main)
    };
    let mut meant = known.working.iter().filter(|(agent, at)| is_meant(*agent, at)).map(|(agent, _)| *agent);
    meant.next().filter(|_| meant.next().is_none())
}

fn planned(ctx: &Ctx, known: &Known, checkout: &Checkout, pool: &InPool, wanted: &Wanted, asker: &Asker) -> Result<AdoptPlan, Failed> {
    let adoptable = Adoptable {
        path: text(&checkout.path),
        branch: checkout.branch.as_deref(),
        lock: checkout.lock.as_deref(),
        claimed_task: known.claim(checkout.id.as_ref()).map(|claim| claim.task.as_str()),
        hold: known.hold(checkout, asker),
        locks: wanted.always_locks || pool.locks,
    };
    can_adopt(&adoptable, wanted.task.as_deref(), asker, ctx.env.clock.now()).map_err(refused)
}

#[expect(clippy::too_many_arguments, reason = "what was read and what was decided belong to one moment")]
async fn carry_out(
    ctx: &Ctx,
    asked: &Asked,
    inventory: &Inventory,
    checkout: &Checkout,
    known: &Known,
    pool: &InPool,
    plan: &AdoptPlan,
    asker: &Asker,
) -> Result<Adopted, Failed> {
    let Some(id) = checkout.id.clone() else { return Err(refused(WorktreeRefusal::MainCheckout { path: text(&checkout.path) })) };
    let claim = Claim {
        worktree: id,
        path: text(&checkout.path),
        repository: asked::repository(inventory),
        branch: checkout.branch.clone(),
        task: plan.task().to_owned(),
        agent: asker.agent,
        owner: asker.owner.clone(),
        origin: pool.origin.to_owned(),
        history: asked::history(ctx, inventory).await,
    };
    let seen = known.claimed(Some(&claim.worktree)).cloned();
    let is_same = seen.as_ref().is_some_and(|seen| seen.claim == claim);
    let adopted = Adopted {
        path: claim.path.clone(),
        task: claim.task.clone(),
        origin: claim.origin.clone(),
        agent: claim.agent,
        owner: claim.owner.clone(),
        locked: plan.lock_after().is_some(),
        pending: claim.is_pending(),
        changed: !is_same || !plan.keeps_lock(),
    };
    relock(ctx, inventory, checkout, plan.lock_before(), plan.lock_after()).await?;
    let (path, here) = (claim.path.clone(), asked.caller.here);
    let recorded = ctx.db.write_once(asked.call, move |tx| {
        // Of two who take one over at once the second finds another claim than it was decided on.
        if tx.claim(here, &claim.worktree)? != seen {
            let what = "somebody else has just claimed it".to_owned();
            return Err(Refusal::from(WorktreeRefusal::Changed { path, what }).into());
        }
        if !is_same {
            tx.append(Fact::WorktreeClaimed { claim })?;
        }
        Ok(adopted)
    });
    match recorded.await {
        Ok(adopted) => Ok(adopted),
        Err(failure) => {
            // The lock is given back as it was: what the store did not take was not taken over.
            if let Err(error) = relock(ctx, inventory, checkout, plan.lock_after(), plan.lock_before()).await {
                tracing::warn!(%error, path = %checkout.path.display(), "a lock could not be given back");
            }
            Err(failure.into())
        }
    }
}

/// Changes git's lock, if it still is as it was.
pub(super) async fn relock(
    ctx: &Ctx,
    inventory: &Inventory,
    checkout: &Checkout,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Failed> {
    if before == after {
        return Ok(());
    }
    let (worktrees, common_dir, path) = (ctx.env.worktrees.clone(), inventory.common_dir.clone(), checkout.path.clone());
    let (expected, new) = (before.map(str::to_owned), after.map(str::to_owned));
    let limits = asked::limits(&ctx.config.now());
    let mut watch = crate::fork::Watching::new(ctx, crate::fork::Cancel::default(), None);
    let changed = blocking(&ctx.env.blocking, move || {
        let relock = Relock { common_dir: &common_dir, worktree: &path, expected: expected.as_deref(), new: new.as_deref() };
        worktrees.relock(relock, limits, &mut watch)
    });
    changed.await.map_err(Failed::from_work)?.map_err(|error| refused(not_locked(&error, &checkout.path)))
}

fn not_locked(error: &RelockError, path: &Path) -> WorktreeRefusal {
    match error {
        RelockError::Changed { .. } => WorktreeRefusal::Changed { path: text(path), what: "its lock is another one now".to_owned() },
        other => WorktreeRefusal::Failed { fact: other.to_string(), way_out: other.hint() },
    }
}
