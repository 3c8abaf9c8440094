//! Making a worktree for a task.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use frith_store::{
    docs::log::Fact,
    git::{AddError, Base, Inventory, MadeWorktree, NewWorktree},
    hosts::pools,
    model::Claim,
    refusal::{RootFault, WorktreeRefusal},
    rules::worktree::{Asker, LockText, WorktreeName, can_name},
    text::PathText,
    time::Timestamp,
};
use ractor::ActorRef;

use super::{
    WorktreesMsg,
    asked::{self, Asked, refused, unreadable},
    fetched,
};
use crate::{
    api::worktree::{Added, StartedAt},
    call::Failed,
    ctx::Ctx,
    env::world::blocking,
};

/// What is wanted of a new worktree.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// What it is for.
    pub task: String,
    /// A word more for its branch.
    pub slug: Option<String>,
    /// The revision it starts at; the latest of origin's default branch when absent.
    pub base: Option<String>,
    /// Whether the last known commit of origin will do.
    pub offline: bool,
    /// Whose it is, when a person asks.
    pub owner: Option<String>,
}

/// Makes a worktree, locked from its first moment, and records whose it is.
pub(super) async fn add(ctx: &Ctx, myself: &ActorRef<WorktreesMsg>, asked: Asked, wanted: Wanted) -> Result<Added, Failed> {
    if let Some(earlier) = asked.earlier(ctx).await? {
        return Ok(earlier);
    }
    let name = can_name(&wanted.task, wanted.slug.as_deref()).map_err(refused)?;
    let asker = asked.asker(ctx, wanted.owner.as_deref()).await?;
    let Some(owner) = asker.owner.clone() else { return Err(refused(WorktreeRefusal::NoOwner)) };
    let inventory = asked.inventory(ctx).await?;
    let base = start(ctx, myself, &asked, &wanted, &inventory).await?;
    let new = new_worktree(ctx, &inventory, &name, &owner, &asker, &base).await?;
    let made = make(ctx, &asked, new).await?;
    let history = asked::history(ctx, &inventory).await;
    let claim = Claim { history, ..claim(&inventory, &name, &owner, &asker, &made) };
    let mut notes: Vec<String> = made.notes.iter().map(ToString::to_string).collect();
    if !inventory.has_origin && wanted.base.is_none() {
        notes.push("the repository has no origin to ask for anything newer".to_owned());
    }
    let list = format!("{}-{}", inventory.name.to_string_lossy(), name.task());
    notes.extend(name_task_list(ctx, &made.path, list).await);
    let added =
        Added { path: claim.path.clone(), branch: made.branch, task: name.task().to_owned(), agent: asker.agent, owner, base, notes };
    record(ctx, &asked, claim, added).await
}

/// Where a worktree starts.
async fn start(
    ctx: &Ctx,
    myself: &ActorRef<WorktreesMsg>,
    asked: &Asked,
    wanted: &Wanted,
    inventory: &Inventory,
) -> Result<StartedAt, Failed> {
    if let Some(given) = &wanted.base {
        let (worktrees, common_dir, revision) = (ctx.env.worktrees.clone(), inventory.common_dir.clone(), given.clone());
        let found = blocking(&ctx.env.blocking, move || worktrees.resolve(&common_dir, &revision)).await.map_err(Failed::from_work)?;
        let commit = found.map_err(|error| refused(unreadable(&error)))?;
        let commit = commit.ok_or_else(|| refused(WorktreeRefusal::UnknownBase { given: given.clone() }))?;
        return Ok(StartedAt { name: given.clone(), commit, committed: None, fresh: true });
    }
    if !inventory.has_origin {
        return known_base(inventory.base.as_ref(), inventory, true);
    }
    let Some(branch) = &inventory.default_branch else {
        return Err(refused(WorktreeRefusal::NoDefaultBranch { repository: asked::repository(inventory) }));
    };
    match fetched(myself, branch).await {
        Ok(()) => known_base(asked.inventory(ctx).await?.base.as_ref(), inventory, true),
        Err(_) if wanted.offline => known_base(inventory.base.as_ref(), inventory, false),
        Err(why) => Err(refused(WorktreeRefusal::OriginAway { base: format!("origin/{branch}"), why })),
    }
}

fn known_base(base: Option<&Base>, inventory: &Inventory, fresh: bool) -> Result<StartedAt, Failed> {
    let base = base.ok_or_else(|| refused(WorktreeRefusal::NoCommit { repository: asked::repository(inventory) }))?;
    let committed = Some(Timestamp::from_ms(base.committed_ms));
    Ok(StartedAt { name: base.name.clone(), commit: base.commit.clone(), committed, fresh })
}

async fn new_worktree(
    ctx: &Ctx,
    inventory: &Inventory,
    name: &WorktreeName,
    owner: &str,
    asker: &Asker,
    base: &StartedAt,
) -> Result<NewWorktree, Failed> {
    let (config, root) = asked::configured(ctx, inventory).await?;
    Ok(NewWorktree {
        home: ctx.env.home.to_path_buf(),
        root,
        repository: inventory.common_dir.clone(),
        directory: directory(inventory, name.task()),
        branch: name.branch().to_owned(),
        base: base.commit.clone(),
        lock: LockText::new(owner, name.task(), ctx.env.clock.now(), asker.agent).to_string(),
        limits: asked::limits(&config),
        skip_lfs: config.skips_lfs,
        include_from: inventory.main.clone(),
    })
}

async fn make(ctx: &Ctx, asked: &Asked, new: NewWorktree) -> Result<MadeWorktree, Failed> {
    let (mut watch, _passes) = asked.watch(ctx);
    let worktrees = ctx.env.worktrees.clone();
    let made = blocking(&ctx.env.blocking, move || worktrees.make(&new, &mut watch)).await.map_err(Failed::from_work)?;
    made.map_err(|error| refused(not_made(&error)))
}

/// Why a worktree was not made, for whoever asked.
fn not_made(error: &AddError) -> WorktreeRefusal {
    match error {
        AddError::PathExists { path } => WorktreeRefusal::PathThere { path: text(path) },
        AddError::BranchExists { branch, checked_out, .. } => {
            WorktreeRefusal::BranchThere { branch: branch.clone(), at: checked_out.as_deref().map(text) }
        }
        AddError::RootEmpty => WorktreeRefusal::BadRoot { root: PathText::default(), fault: RootFault::Empty },
        AddError::RootNotPlain { root } => WorktreeRefusal::BadRoot { root: text(root), fault: RootFault::Relative },
        AddError::RootTemporary { root, .. } => WorktreeRefusal::BadRoot { root: text(root), fault: RootFault::Temporary },
        AddError::RootInsideWorktree { root, worktree } => {
            WorktreeRefusal::BadRoot { root: text(root), fault: RootFault::InsideWorktree(text(worktree)) }
        }
        other => WorktreeRefusal::Failed { fact: other.to_string(), way_out: other.hint() },
    }
}

/// Names the list of tasks that sessions in the worktree share; answers why not in words.
async fn name_task_list(ctx: &Ctx, worktree: &Path, list: String) -> Option<String> {
    let (files, worktree) = (ctx.env.host_files.clone(), worktree.to_owned());
    let named = blocking(&ctx.env.blocking, move || crate::task_list::name(&*files, &worktree, &list));
    named.await.ok()?.err().map(|fault| format!("no task list is named: {fault}"))
}

fn text(path: &Path) -> PathText {
    PathText::from(path)
}

fn claim(inventory: &Inventory, name: &WorktreeName, owner: &str, asker: &Asker, made: &MadeWorktree) -> Claim {
    Claim {
        worktree: made.id.clone(),
        path: text(&made.path),
        repository: asked::repository(inventory),
        branch: Some(made.branch.clone()),
        task: name.task().to_owned(),
        agent: asker.agent,
        owner: Some(owner.to_owned()),
        origin: pools::OWN.to_owned(),
        history: None,
    }
}

/// Records the claim. The worktree stands, locked in the caller's name, so a store that fails does not take it back.
async fn record(ctx: &Ctx, asked: &Asked, claim: Claim, mut added: Added) -> Result<Added, Failed> {
    let reply = added.clone();
    let recorded = ctx.db.write_once(asked.call, move |tx| {
        tx.append(Fact::WorktreeClaimed { claim })?;
        Ok(reply)
    });
    if let Err(failure) = recorded.await {
        tracing::warn!(error = %Failed::from(failure), path = %added.path, "a claim could not be recorded");
        added.notes.push("the claim could not be recorded; the worktree has its lock".to_owned());
    }
    Ok(added)
}

/// The name of a worktree's folder below the root.
fn directory(inventory: &Inventory, task: &str) -> OsString {
    let mut directory = inventory.name.clone();
    directory.push("-");
    directory.push(task);
    directory
}

/// Where the worktree for a task stands, once it is made.
pub(super) fn place_of(root: &Path, inventory: &Inventory, task: &str) -> PathBuf {
    root.join(directory(inventory, task))
}
