//! Sweeping: every worktree of a repository by the list of decisions, each removed by the same guarded way as a single one.

use frith_store::{
    docs::log::Fact,
    git::{Checkout, Inventory, Judged, Order, Standing, Want},
    model::{Claimed, WorktreeId},
    refusal::WorktreeRefusal,
    rules::worktree::{Asker, Collected, Kept, Limits, LockText, Rest, can_collect},
    text::PathText,
    time::Timestamp,
};
use ractor::ActorRef;

use super::{
    WorktreesMsg,
    asked::{self, Asked, refused},
    facts::{Known, modified},
    remove::{failed, not_removed, refresh, told},
};
use crate::{
    api::worktree::{Gc, RemovedWorktree, Swept, SweptWorktree},
    call::Failed,
    ctx::Ctx,
    env::world::blocking,
    fork::{Cancel, Watching},
};

/// Tells what a sweep does with each worktree, and does it when that is wanted.
pub(super) async fn gc(ctx: &Ctx, myself: &ActorRef<WorktreesMsg>, asked: Asked, wanted: Gc) -> Result<Swept, Failed> {
    let asker = asked.asker(ctx, wanted.owner.as_deref()).await?;
    refresh(myself, &asked.inventory(ctx).await?).await;
    // Claims first: one that is made meanwhile is of a worktree that is not looked at.
    let known = Known::read(ctx).await?;
    let inventory = asked.inventory(ctx).await?;
    let sweep = Sweep { asked, asker, limits: Limits { idle_ms: wanted.idle_ms, stale_lock_ms: wanted.stale_lock_ms } };
    let is_there = |one: &Checkout| one.standing == Standing::Linked;
    let judged = sweep.asked.judged(ctx, &inventory, Want::VerdictAndSizes, is_there).await?;
    let missing: Vec<Claimed> = known.missing(&inventory).cloned().collect();
    let mut rows = rows(ctx, &sweep, &inventory, known, judged).await?;
    if wanted.yes {
        for (checkout, row) in inventory.checkouts.iter().zip(&mut rows) {
            let outcome = match row.decision {
                Collected::Keep(_) => continue,
                Collected::Forget => forget(ctx, &inventory, checkout).await.map(|()| None),
                Collected::Remove(_) => go(ctx, &sweep, &inventory, checkout).await.map(Some),
            };
            match outcome {
                Ok(removed) => row.removed = removed,
                Err(failed) => row.fault = Some(failed.to_string()),
            }
        }
    }
    for claimed in missing {
        rows.push(missing_row(ctx, claimed, wanted.yes).await);
    }
    Ok(Swept { worktrees: rows, done: wanted.yes })
}

/// What a sweep goes by.
#[derive(Clone)]
struct Sweep {
    asked: Asked,
    asker: Asker,
    limits: Limits,
}

/// What is decided of each checkout.
async fn rows(
    ctx: &Ctx,
    sweep: &Sweep,
    inventory: &Inventory,
    known: Known,
    judged: Vec<Option<Judged>>,
) -> Result<Vec<SweptWorktree>, Failed> {
    let (now, sweep, inventory) = (ctx.env.clock.now(), sweep.clone(), inventory.clone());
    let decided = blocking(&ctx.env.blocking, move || {
        let row = |(checkout, judged): (&Checkout, &Option<Judged>)| {
            let decision = decided(&sweep, &inventory, &known, checkout, judged.as_ref(), now);
            row(&known, checkout, judged.as_ref(), decision)
        };
        inventory.checkouts.iter().zip(&judged).map(row).collect()
    });
    decided.await.map_err(Failed::from_work)
}

/// A claim on what is there no more goes, if it still is the one that was seen; there is nothing else to do.
async fn missing_row(ctx: &Ctx, claimed: Claimed, goes: bool) -> SweptWorktree {
    let mut row = SweptWorktree {
        path: claimed.claim.path.clone(),
        branch: claimed.claim.branch.clone(),
        task: Some(claimed.claim.task.clone()),
        owner: claimed.claim.owner.clone(),
        decision: Collected::Forget,
        removed: None,
        fault: None,
        modified: None,
    };
    if goes {
        let released = ctx.db.write(move |tx| {
            let worktree = claimed.claim.worktree.clone();
            if tx.claim(claimed.machine, &worktree)?.as_ref() == Some(&claimed) {
                tx.append(Fact::WorktreeReleased { worktree })?;
            }
            Ok(())
        });
        row.fault = released.await.err().map(|failure| Failed::from(failure).to_string());
    }
    row
}

fn decided(sweep: &Sweep, inventory: &Inventory, known: &Known, checkout: &Checkout, judged: Option<&Judged>, now: Timestamp) -> Collected {
    let asked = &sweep.asked;
    let mut facts = known.facts(inventory, checkout, judged, &sweep.asker, asked.folder.as_path());
    if checkout.standing == Standing::Linked {
        match known.processes_in(&checkout.path, &asked.exempt) {
            Ok(processes) => facts.processes = processes,
            Err(_) => return Collected::Keep(Kept::InUse),
        }
    }
    let rest = Rest {
        is_current: facts.is_stood_in && checkout.standing != Standing::Gone,
        has_live_agent: known.has_live_agent(checkout),
        untouched_ms: judged.and_then(modified).map(|modified| now.ms_since(modified)),
    };
    can_collect(&facts, &rest, sweep.limits)
}

fn row(known: &Known, checkout: &Checkout, judged: Option<&Judged>, decision: Collected) -> SweptWorktree {
    let (by_lock, owner) = checkout.lock.as_deref().and_then(LockText::read).map(|text| (text.task, text.owner)).unzip();
    SweptWorktree {
        path: PathText::from(checkout.path.as_path()),
        branch: checkout.branch.clone(),
        task: by_lock.or_else(|| known.claim(checkout.id.as_ref()).map(|claim| claim.task.clone())),
        owner,
        decision,
        removed: None,
        fault: None,
        modified: judged.and_then(modified),
    }
}

/// Removes a worktree if the list still says so with the repository's lock held, on everything read anew.
async fn go(ctx: &Ctx, sweep: &Sweep, inventory: &Inventory, checkout: &Checkout) -> Result<RemovedWorktree, Failed> {
    let Some(id) = checkout.id.clone() else { return Err(refused(WorktreeRefusal::MainCheckout { path: text(checkout) })) };
    let removal = asked::removal(ctx, inventory, checkout.path.clone(), id.clone());
    let (mut watch, _passes) = sweep.asked.watch(ctx);
    let (again, sweep, path) = (ctx.clone(), sweep.clone(), checkout.path.clone());
    let removed = blocking(&ctx.env.blocking, move || {
        let mut proof = None;
        let mut decide = |inventory: &Inventory, checkout: &Checkout, judged: &Judged| {
            let known = Known::for_decision(&again)?;
            match decided(&sweep, inventory, &known, checkout, Some(judged), again.env.clock.now()) {
                Collected::Remove(_) => {
                    proof = judged.merged;
                    Ok(Order { delete_branch: takes_branch(&known, checkout, judged) })
                }
                _ => Err(WorktreeRefusal::Changed { path: text(checkout), what: "it is not to go any more".to_owned() }),
            }
        };
        again.env.worktrees.remove(&removal, &mut decide, &mut watch).map(|gone| (gone, proof))
    });
    let (gone, proof) = removed.await.map_err(Failed::from_work)?.map_err(|failure| refused(not_removed(failure, &path)))?;
    released(ctx, id).await;
    Ok(told(gone, proof))
}

/// Whether the branch goes with its worktree: it has to be merged, and to have done something or be one that frith keeps. A branch
/// that somebody made with git alone and never used is theirs.
fn takes_branch(known: &Known, checkout: &Checkout, judged: &Judged) -> bool {
    let is_kept = checkout.lock.as_deref().and_then(LockText::read).is_some() || known.claim(checkout.id.as_ref()).is_some();
    checkout.branch.is_some() && judged.merged.is_some() && (judged.has_own_commits || is_kept)
}

async fn forget(ctx: &Ctx, inventory: &Inventory, checkout: &Checkout) -> Result<(), Failed> {
    let Some(id) = checkout.id.clone() else { return Ok(()) };
    let removal = asked::removal(ctx, inventory, checkout.path.clone(), id.clone());
    let worktrees = ctx.env.worktrees.clone();
    let mut watch = Watching::new(ctx, Cancel::default(), None);
    let gone = blocking(&ctx.env.blocking, move || worktrees.forget(&removal, &mut watch)).await.map_err(Failed::from_work)?;
    gone.map_err(|error| refused(failed(&error, &checkout.path)))?;
    released(ctx, id).await;
    Ok(())
}

/// Records that a worktree is nobody's. It is gone whether that can be recorded or not.
async fn released(ctx: &Ctx, worktree: WorktreeId) {
    if let Err(failure) = ctx.db.write(move |tx| Ok(tx.append(Fact::WorktreeReleased { worktree })?)).await {
        tracing::warn!(error = %Failed::from(failure), "the release of a worktree could not be recorded");
    }
}

fn text(checkout: &Checkout) -> PathText {
    PathText::from(checkout.path.as_path())
}
