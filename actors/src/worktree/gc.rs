//! Sweeping: every worktree of a repository by the list of decisions, each removed by the same guarded way as a single one.

use frith_store::{
    docs::log::Fact,
    git::{Checkout, Inventory, Judged, Removal, Standing, Want},
    model::Claim,
    refusal::WorktreeRefusal,
    rules::worktree::{Asker, Collected, Limits, LockText, Rest, can_collect},
    text::PathText,
    time::Timestamp,
};
use ractor::ActorRef;

use super::{
    WorktreesMsg,
    asked::{self, Asked, is_in, refused},
    facts::{Known, modified},
    remove::{failed, not_removed, refresh, told},
};
use crate::{
    api::worktree::{Gc, RemovedWorktree, Swept, SweptWorktree},
    call::Failed,
    ctx::Ctx,
    env::world::blocking,
};

/// Tells what a sweep does with each worktree, and does it when that is wanted.
pub(super) async fn gc(ctx: &Ctx, myself: &ActorRef<WorktreesMsg>, asked: Asked, wanted: Gc) -> Result<Swept, Failed> {
    let asker = asked.asker(ctx, wanted.owner.as_deref()).await?;
    let inventory = asked.inventory(ctx).await?;
    refresh(myself, &inventory).await;
    let inventory = asked.inventory(ctx).await?;
    let limits = Limits { idle_ms: wanted.idle_ms, stale_lock_ms: wanted.stale_lock_ms };
    let judged = judged(ctx, &asked, &inventory).await?;
    let known = Known::read(ctx).await?;
    let mut rows = Vec::new();
    for (checkout, judged) in inventory.checkouts.iter().zip(&judged) {
        let looked = Looked { judged: judged.as_ref(), untouched_ms: untouched_ms(ctx, judged.as_ref()) };
        let decision = decided(&asked, &inventory, &known, checkout, looked, &asker, limits);
        rows.push((checkout, row(&known, checkout, judged.as_ref(), decision)));
    }
    if wanted.yes {
        for (checkout, row) in &mut rows {
            let outcome = match row.decision {
                Collected::Keep(_) => continue,
                Collected::Forget => forget(ctx, &inventory, checkout).await.map(|()| None),
                Collected::Remove(_) => go(ctx, &asked, &inventory, checkout, row.modified, &asker, limits).await.map(Some),
            };
            match outcome {
                Ok(removed) => row.removed = removed,
                Err(failed) => row.fault = Some(failed.to_string()),
            }
        }
    }
    let mut worktrees: Vec<SweptWorktree> = rows.into_iter().map(|(_, row)| row).collect();
    worktrees.extend(known.missing(&inventory).map(|found| missing_row(&found.claim)));
    if wanted.yes {
        for id in known.missing(&inventory).map(|found| found.claim.worktree.clone()) {
            released(ctx, id).await?;
        }
    }
    Ok(Swept { worktrees, done: wanted.yes })
}

/// A claim on what is there no more goes; there is nothing else to do.
fn missing_row(claim: &Claim) -> SweptWorktree {
    SweptWorktree {
        path: claim.path.clone(),
        branch: claim.branch.clone(),
        task: Some(claim.task.clone()),
        decision: Collected::Forget,
        removed: None,
        fault: None,
        modified: None,
    }
}

/// What git and the disk say of each checkout that can be read; none of the others.
async fn judged(ctx: &Ctx, asked: &Asked, inventory: &Inventory) -> Result<Vec<Option<Judged>>, Failed> {
    let is_there = |one: &Checkout| one.standing == Standing::Linked;
    let which: Vec<usize> = inventory.checkouts.iter().enumerate().filter(|(_, one)| is_there(one)).map(|(n, _)| n).collect();
    let (worktrees, inventory_of) = (ctx.env.worktrees.clone(), inventory.clone());
    let (mut watch, _passes) = asked.watch(ctx);
    let asked_for = which.clone();
    let found = blocking(&ctx.env.blocking, move || worktrees.judge(&inventory_of, &asked_for, Want::VerdictAndSizes, &mut watch));
    let mut judged: Vec<Option<Judged>> = inventory.checkouts.iter().map(|_| None).collect();
    for (n, one) in which.into_iter().zip(found.await.map_err(Failed::from_work)?) {
        judged[n] = Some(one);
    }
    Ok(judged)
}

/// What git and the disk say of a worktree.
#[derive(Clone, Copy)]
struct Looked<'a> {
    judged: Option<&'a Judged>,
    untouched_ms: Option<u64>,
}

fn untouched_ms(ctx: &Ctx, judged: Option<&Judged>) -> Option<u64> {
    judged.and_then(modified).map(|modified| ctx.env.clock.now().ms_since(modified))
}

fn decided(
    asked: &Asked,
    inventory: &Inventory,
    known: &Known,
    checkout: &Checkout,
    looked: Looked<'_>,
    asker: &Asker,
    limits: Limits,
) -> Collected {
    let mut facts = known.facts(inventory, checkout, looked.judged, asker, asked.folder.as_path());
    facts.processes = if checkout.standing == Standing::Linked { known.processes_in(&checkout.path, &asked.exempt) } else { Vec::new() };
    let rest = Rest {
        is_current: is_in(asked.folder.as_path(), &checkout.path) && checkout.standing != Standing::Gone,
        has_live_agent: known.has_live_agent(checkout),
        untouched_ms: looked.untouched_ms,
    };
    can_collect(&facts, &rest, limits)
}

fn row(known: &Known, checkout: &Checkout, judged: Option<&Judged>, decision: Collected) -> SweptWorktree {
    let by_lock = checkout.lock.as_deref().and_then(LockText::read).map(|text| text.task);
    SweptWorktree {
        path: PathText::from(checkout.path.as_path()),
        branch: checkout.branch.clone(),
        task: by_lock.or_else(|| known.claim(checkout.id.as_ref()).map(|claim| claim.task.clone())),
        decision,
        removed: None,
        fault: None,
        modified: judged.and_then(modified),
    }
}

/// Removes a worktree if the list still says so with the repository's lock held, on everything read anew but its age.
async fn go(
    ctx: &Ctx,
    asked: &Asked,
    inventory: &Inventory,
    checkout: &Checkout,
    modified: Option<Timestamp>,
    asker: &Asker,
    limits: Limits,
) -> Result<RemovedWorktree, Failed> {
    let Some(id) = checkout.id.clone() else { return Err(refused(WorktreeRefusal::MainCheckout { path: text(checkout) })) };
    let known = Known::read(ctx).await?;
    let removal = removal(ctx, inventory, checkout, id.clone());
    let (mut watch, _passes) = asked.watch(ctx);
    let untouched_ms = modified.map(|modified| ctx.env.clock.now().ms_since(modified));
    let (worktrees, again, asker, path) = (ctx.env.worktrees.clone(), asked.clone(), asker.clone(), checkout.path.clone());
    let removed = blocking(&ctx.env.blocking, move || {
        let mut proof = None;
        let mut decide = |inventory: &Inventory, checkout: &Checkout, judged: &Judged| {
            let looked = Looked { judged: Some(judged), untouched_ms };
            match decided(&again, inventory, &known, checkout, looked, &asker, limits) {
                Collected::Remove(_) => {
                    proof = judged.merged;
                    Ok(frith_store::git::Order { delete_branch: judged.merged.is_some() && checkout.branch.is_some() })
                }
                _ => Err(WorktreeRefusal::Changed { path: text(checkout), what: "it is not to go any more".to_owned() }),
            }
        };
        worktrees.remove(&removal, &mut decide, &mut watch).map(|gone| (gone, proof))
    });
    let (gone, proof) = removed.await.map_err(Failed::from_work)?.map_err(|failure| refused(not_removed(failure, &path)))?;
    released(ctx, id).await?;
    Ok(told(gone, proof))
}

fn removal(ctx: &Ctx, inventory: &Inventory, checkout: &Checkout, id: frith_store::model::WorktreeId) -> Removal {
    Removal {
        home: ctx.env.home.to_path_buf(),
        repository: inventory.common_dir.clone(),
        path: checkout.path.clone(),
        id,
        limits: asked::limits(&ctx.config.now()),
    }
}

async fn forget(ctx: &Ctx, inventory: &Inventory, checkout: &Checkout) -> Result<(), Failed> {
    let Some(id) = checkout.id.clone() else { return Ok(()) };
    let removal = removal(ctx, inventory, checkout, id.clone());
    let worktrees = ctx.env.worktrees.clone();
    let mut watch = crate::fork::Watching::new(ctx, crate::fork::Cancel::default(), None);
    let gone = blocking(&ctx.env.blocking, move || worktrees.forget(&removal, &mut watch)).await.map_err(Failed::from_work)?;
    gone.map_err(|error| refused(failed(&error, &checkout.path)))?;
    released(ctx, id).await
}

async fn released(ctx: &Ctx, worktree: frith_store::model::WorktreeId) -> Result<(), Failed> {
    let released = ctx.db.write(move |tx| Ok(tx.append(Fact::WorktreeReleased { worktree })?));
    Ok(released.await?)
}

fn text(checkout: &Checkout) -> PathText {
    PathText::from(checkout.path.as_path())
}
