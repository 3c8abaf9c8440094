//! Removing one worktree. What is decided is decided with the repository's lock held, on what git says at that moment.

use std::path::{Path, PathBuf};

use frith_store::{
    docs::log::Fact,
    git::{Checkout, Gone, Inventory, Judged, Order, RemoveError, RemoveFailure, Standing},
    model::{Proof, WorktreeId},
    refusal::WorktreeRefusal,
    rules::worktree::{Asker, LockText, can_remove},
    text::PathText,
};
use ractor::ActorRef;

use super::{
    WorktreesMsg,
    asked::{self, Asked, refused},
    facts::Known,
    fetched,
};
use crate::{api::worktree::RemovedWorktree, call::Failed, ctx::Ctx, env::world::blocking};

/// What is wanted of a worktree that is to go.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its path, or the task it is for.
    pub worktree: PathText,
    /// A folder of the repository that is meant.
    pub around: PathText,
    /// Whether its branch stays.
    pub keep_branch: bool,
    /// Whether its branch stays when it is not merged, and goes when it is.
    pub keep_unmerged: bool,
    /// Whose it is, when a person says.
    pub owner: Option<String>,
    /// For whom it goes, when that is not the one who calls.
    pub asker: Option<Asker>,
}

/// Removes a worktree, and its branch when that is merged.
pub(super) async fn remove(ctx: &Ctx, myself: &ActorRef<WorktreesMsg>, asked: Asked, wanted: Wanted) -> Result<RemovedWorktree, Failed> {
    if let Some(earlier) = asked.earlier(ctx).await? {
        return Ok(earlier);
    }
    let asker = match &wanted.asker {
        Some(asker) => asker.clone(),
        None => asked.asker(ctx, wanted.owner.as_deref()).await?,
    };
    let path = asked.path(&wanted.worktree);
    let real = asked::real(ctx, path.clone()).await;
    let inventory = asked::inventory(ctx, wanted.around.clone()).await?;
    refresh(myself, &inventory).await;
    let known = Known::read(ctx).await?;
    let (at, id) = target(&inventory, &known, real.as_ref(), &path, &wanted.worktree)?;
    refuse_unreadable(&inventory, &known, &id, &asker, &asked)?;
    let how = How { keep_branch: wanted.keep_branch, keep_unmerged: wanted.keep_unmerged, asker };
    let (gone, proof) = take_away(ctx, &asked, &inventory, at, id.clone(), how).await?;
    let removed = told(gone, proof);
    let reply = removed.clone();
    let released = ctx.db.write_once(asked.call, move |tx| {
        tx.append(Fact::WorktreeReleased { worktree: id })?;
        Ok(reply)
    });
    if let Err(failure) = released.await {
        // The worktree is gone and its tip is to be told; what is left of the claim shows as missing.
        tracing::warn!(error = %Failed::from(failure), path = %removed.path, "the release of a worktree could not be recorded");
    }
    Ok(removed)
}

/// What cannot be looked into is told so before anything is locked for it.
fn refuse_unreadable(inventory: &Inventory, known: &Known, id: &WorktreeId, asker: &Asker, asked: &Asked) -> Result<(), Failed> {
    let one = inventory.checkouts.iter().find(|one| one.id.as_ref() == Some(id) && one.standing != Standing::Linked);
    let Some(one) = one else { return Ok(()) };
    let facts = known.facts(inventory, one, None, asker, asked.folder.as_path());
    can_remove(&facts, asker, false).map(drop).map_err(refused)
}

/// Brings what everything is compared with up to date; where origin is away, what is known of it decides, which can only keep more.
pub(super) async fn refresh(myself: &ActorRef<WorktreesMsg>, inventory: &Inventory) {
    if let Some(branch) = inventory.default_branch.as_deref().filter(|_| inventory.has_origin)
        && let Err(why) = fetched(myself, branch).await
    {
        tracing::debug!(why, "origin could not be asked, and what is known of it counts");
    }
}

/// How a worktree goes.
#[derive(Debug, Clone)]
struct How {
    keep_branch: bool,
    keep_unmerged: bool,
    asker: Asker,
}

/// Removes a worktree by the rule, asked under the repository's lock.
async fn take_away(
    ctx: &Ctx,
    asked: &Asked,
    inventory: &Inventory,
    path: PathBuf,
    id: WorktreeId,
    how: How,
) -> Result<(Gone, Option<Proof>), Failed> {
    let removal = asked::removal(ctx, inventory, path.clone(), id);
    let (mut watch, _passes) = asked.watch(ctx);
    let (worktrees, stands_in, exempt) = (ctx.env.worktrees.clone(), asked.folder.clone(), asked.exempt.clone());
    let now = ctx.clone();
    let removed = blocking(&ctx.env.blocking, move || {
        let mut proof = None;
        let mut decide = |inventory: &Inventory, checkout: &Checkout, judged: &Judged| {
            let known = Known::for_decision(&now)?;
            let mut facts = known.facts(inventory, checkout, Some(judged), &how.asker, stands_in.as_path());
            facts.processes = known.processes_in(&checkout.path, &exempt)?;
            let keeps = how.keep_branch || how.keep_unmerged && facts.merged.is_none();
            let plan = can_remove(&facts, &how.asker, keeps)?;
            proof = plan.proof();
            Ok(Order { delete_branch: plan.deletes_branch() })
        };
        let gone = worktrees.remove(&removal, &mut decide, &mut watch);
        gone.map(|gone| (gone, proof))
    });
    removed.await.map_err(Failed::from_work)?.map_err(|failure| refused(not_removed(failure, &path)))
}

pub(super) fn not_removed(failure: RemoveFailure<WorktreeRefusal>, path: &Path) -> WorktreeRefusal {
    match failure {
        RemoveFailure::Refused(refusal) => refusal,
        RemoveFailure::Failed(error) => failed(&error, path),
    }
}

pub(super) fn failed(error: &RemoveError, path: &Path) -> WorktreeRefusal {
    match error {
        RemoveError::Changed { what, .. } | RemoveError::ChangedMeanwhile { what, .. } => {
            WorktreeRefusal::Changed { path: PathText::from(path), what: what.join(", ") }
        }
        other => WorktreeRefusal::Failed { fact: other.to_string(), way_out: other.hint() },
    }
}

/// What is told of a worktree that is gone.
pub(super) fn told(gone: Gone, proof: Option<Proof>) -> RemovedWorktree {
    RemovedWorktree {
        path: PathText::from(gone.path.as_path()),
        branch: gone.branch,
        tip: gone.tip,
        branch_deleted: gone.branch_deleted,
        branch_fault: gone.branch_fault,
        proof,
        left: gone.left_in_trash.as_deref().map(PathText::from),
        was_gone: false,
    }
}

/// The worktree that is meant: the one at a path that is there, else the one whose task it is.
fn target(
    inventory: &Inventory,
    known: &Known,
    real: Option<&PathText>,
    path: &Path,
    given: &PathText,
) -> Result<(PathBuf, WorktreeId), Failed> {
    let given = given.to_string();
    let by_path = real.and_then(|real| inventory.checkouts.iter().find(|one| one.path == real.as_path()));
    let found: Vec<&Checkout> = match by_path {
        Some(found) => vec![found],
        None => inventory.checkouts.iter().filter(|one| one.path == path || is_for(one, known, &given)).collect(),
    };
    match found.as_slice() {
        [] => Err(refused(WorktreeRefusal::NoMatch { given })),
        [one] => match &one.id {
            Some(id) => Ok((one.path.clone(), id.clone())),
            None => Err(refused(WorktreeRefusal::MainCheckout { path: PathText::from(one.path.as_path()) })),
        },
        several => {
            let paths = several.iter().map(|one| PathText::from(one.path.as_path())).collect();
            Err(refused(WorktreeRefusal::SeveralMatch { given, paths }))
        }
    }
}

/// Whether a worktree is for a task: its lock or a claim says so, or its branch is called so, alone or before a hyphen.
fn is_for(checkout: &Checkout, known: &Known, task: &str) -> bool {
    let task = task.to_lowercase();
    let is_task = |named: &str| named.to_lowercase() == task;
    let by_lock = checkout.lock.as_deref().and_then(LockText::read);
    let by_claim = known.claim(checkout.id.as_ref());
    let by_branch = checkout.branch.as_ref().is_some_and(|branch| {
        let branch = branch.to_lowercase();
        branch == task || branch.strip_prefix(&task).is_some_and(|rest| rest.starts_with('-'))
    });
    checkout.id.is_some()
        && (by_lock.is_some_and(|text| is_task(&text.task)) || by_claim.is_some_and(|claim| is_task(&claim.task)) || by_branch)
}
