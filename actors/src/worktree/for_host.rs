//! Worktrees that a host's hooks ask for: one for a session or a sub-agent, and its end. The same guarded way as the commands.
//!
//! What goes wrong here goes to the hook, which says so to nobody but the person: the host then makes what it makes without frith.

use std::path::PathBuf;

use frith_store::{
    docs::log::Fact,
    git::{Checkout, Inventory, Standing, Want},
    id::{AgentId, CallId},
    model::{Claim, Claimed, HostSession},
    refusal::{Refusal, WorktreeRefusal},
    rules::worktree::{Asker, Hold, LockText},
    text::PathText,
    time::Timestamp,
};
use ractor::{ActorRef, rpc::CallResult};

use super::{
    WorktreesMsg, add,
    adopt::relock,
    asked::{self, Asked, asker_of, inventory},
    away,
    caches::shed,
    facts::Known,
    remove,
};
use crate::{
    api::worktree::{CleanedCache, EndForHost, ForHost, MadeForHost, RemovedWorktree},
    call::Failed,
    caller::Who,
    ctx::Ctx,
    env::world::blocking,
    fork::{Cancel, Watching},
};

/// The agent of a host's session, if it is there.
fn agent_of(ctx: &Ctx, host: &str, session: Option<&String>) -> Option<AgentId> {
    let session = HostSession { host: host.to_owned(), id: session.cloned(), sub_agent: None };
    ctx.roster.of_session(&session, None).map(|member| member.id)
}

/// Makes the worktree that a host's session asks for by a name of its own; the same name again is the same worktree.
///
/// # Errors
/// As those of adding one; a session that is not registered has none.
pub async fn make_for_host(ctx: &Ctx, actor: &ActorRef<WorktreesMsg>, asked: Asked, wanted: ForHost) -> Result<MadeForHost, Failed> {
    let agent = agent_of(ctx, &wanted.host, wanted.session.as_ref()).ok_or_else(|| Refusal::NotRegistered { host: wanted.host.clone() })?;
    let asked = speaking_for(ctx, asked, agent, wanted.folder.clone()).await?;
    let asker = asker_of(ctx, agent).await?;
    let task = as_task(&wanted.name);
    let inventory = asked.inventory(ctx).await?;
    let known = Known::read(ctx).await?;
    if let Some(path) = made_before(ctx, &inventory, &known, &asker, &task).await? {
        return Ok(MadeForHost { path });
    }
    let new = add::Wanted { task, ..add::Wanted::default() };
    match actor.call(|reply| WorktreesMsg::Add(asked, new, reply), None).await {
        Ok(CallResult::Success(added)) => Ok(MadeForHost { path: added?.path }),
        _ => Err(away()),
    }
}

/// What a host calls a worktree, as a task: what a task cannot have becomes a hyphen.
fn as_task(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    name.trim_matches(|c| "._-".contains(c)).to_lowercase()
}

/// The worktree that was made under this name before, if it is there and is the asker's still.
async fn made_before(ctx: &Ctx, inventory: &Inventory, known: &Known, asker: &Asker, task: &str) -> Result<Option<PathText>, Failed> {
    let (_, root) = asked::configured(ctx, inventory).await?;
    let place = add::place_of(&root, inventory, task);
    let is_it = |one: &&Checkout| {
        let is_for = one.lock.as_deref().and_then(LockText::read).is_some_and(|text| text.task == task);
        one.standing == Standing::Linked && one.path == place && is_for && known.hold(one, asker) == Hold::Yours
    };
    Ok(inventory.checkouts.iter().find(is_it).map(|one| PathText::from(one.path.as_path())))
}

/// The same call, asked by an agent that stands in a folder.
async fn speaking_for(ctx: &Ctx, asked: Asked, agent: AgentId, folder: PathText) -> Result<Asked, Failed> {
    let place = crate::registry::place_now(ctx, agent).await?;
    let mut caller = asked.caller;
    caller.who = Who::Agent { id: agent, place, oversees: false };
    Ok(Asked { caller, folder, ..asked })
}

/// Removes a worktree that a host is done with; its branch stays when it is not merged. One that is gone is done. When it stays, its
/// caches go all the same.
///
/// # Errors
/// As those of removing one.
pub async fn end_for_host(ctx: &Ctx, actor: &ActorRef<WorktreesMsg>, asked: Asked, wanted: EndForHost) -> Result<RemovedWorktree, Failed> {
    let inventory = inventory(ctx, wanted.path.clone()).await?;
    let known = Known::read(ctx).await?;
    let asker = match acting(ctx, &inventory, &known, &wanted) {
        Some(agent) => asker_of(ctx, agent).await?,
        None => Asker { agent: None, owner: Some(wanted.host.clone()) },
    };
    let removed = take_away(actor, asked, wanted.path.clone(), asker).await;
    if removed.is_err() {
        shed_all(ctx, &inventory, &wanted.path).await?;
    }
    removed
}

/// Who acts: the agent that has the worktree, if it is of the session that ends it, else that session's main agent.
fn acting(ctx: &Ctx, inventory: &Inventory, known: &Known, wanted: &EndForHost) -> Option<AgentId> {
    let main = agent_of(ctx, &wanted.host, wanted.session.as_ref());
    let holder = inventory.around(wanted.path.as_path()).and_then(|one| known.agent_of(one));
    let is_of_session =
        |agent: AgentId| Some(agent) == main || known.agents.get(&agent).is_some_and(|agent| main.is_some() && agent.parent == main);
    holder.filter(|holder| is_of_session(*holder)).or(main)
}

async fn take_away(actor: &ActorRef<WorktreesMsg>, asked: Asked, path: PathText, asker: Asker) -> Result<RemovedWorktree, Failed> {
    // Whoever the host speaks for stands in it until now, and goes back where it came from.
    let asked = Asked { folder: PathText::from(std::path::Path::new("/")), ..asked };
    let wanted = remove::Wanted { worktree: path, keep_branch: false, keep_unmerged: true, owner: None, asker: Some(asker) };
    match actor.call(|reply| WorktreesMsg::Remove(asked, wanted, reply), None).await {
        Ok(CallResult::Success(removed)) => removed,
        _ => Err(away()),
    }
}

async fn shed_all(ctx: &Ctx, inventory: &Inventory, path: &PathText) -> Result<(), Failed> {
    let Some(which) = inventory.checkouts.iter().position(|one| one.path == path.as_path() && one.standing == Standing::Linked) else {
        return Ok(());
    };
    let (worktrees, of) = (ctx.env.worktrees.clone(), inventory.clone());
    let mut watch = Watching::new(ctx, Cancel::default(), None);
    let judged = blocking(&ctx.env.blocking, move || worktrees.judge(&of, &[which], Want::VerdictAndSizes, &mut watch));
    let judged = judged.await.map_err(Failed::from_work)?;
    for cache in judged.into_iter().filter_map(|one| one.sizes).flat_map(|sizes| sizes.caches) {
        let mut row = CleanedCache {
            path: PathText::from(cache.path.as_path()),
            worktree: path.clone(),
            bytes: cache.bytes,
            modified: cache.newest_ms.map(Timestamp::from_ms),
            goes: true,
            fault: None,
        };
        shed(ctx, &mut row, ctx.env.clock.now()).await?;
    }
    Ok(())
}

/// Removes the worktree that was made for a sub-agent alone, which its host leaves behind when the sub-agent ends: one of its
/// session's that is named after it. What the rules of removing keep is kept.
pub async fn sub_agent_ended(ctx: &Ctx, actor: &ActorRef<WorktreesMsg>, asked: Asked, main: AgentId, sub_agent: &str, folder: PathText) {
    let outcome = remove_of_sub_agent(ctx, actor, asked, main, sub_agent, folder).await;
    match outcome {
        Ok(Some(removed)) => tracing::info!(path = %removed.path, "the worktree of a sub-agent that ended was removed"),
        Ok(None) => {}
        Err(failed) => tracing::info!(%failed, "the worktree of a sub-agent that ended stays"),
    }
}

async fn remove_of_sub_agent(
    ctx: &Ctx,
    actor: &ActorRef<WorktreesMsg>,
    asked: Asked,
    main: AgentId,
    sub_agent: &str,
    folder: PathText,
) -> Result<Option<RemovedWorktree>, Failed> {
    let inventory = inventory(ctx, folder.clone()).await?;
    let known = Known::read(ctx).await?;
    let Some(one) = inventory.around(folder.as_path()).filter(|one| one.standing == Standing::Linked) else { return Ok(None) };
    let Some(claim) = known.claim(one.id.as_ref()).filter(|claim| is_made_for(claim, main, sub_agent)) else { return Ok(None) };
    let path = claim.path.clone();
    let asker = asker_of(ctx, main).await?;
    take_away(actor, asked, path, asker).await.map(Some)
}

fn is_made_for(claim: &Claim, main: AgentId, sub_agent: &str) -> bool {
    let sub_agent = as_task(sub_agent);
    claim.agent == Some(main) && !sub_agent.is_empty() && claim.task.ends_with(&sub_agent)
}

/// Completes the claim that waits for an agent in the folder in which one has just started. Of several that start at once one gets it.
///
/// # Errors
/// The store broke, or git did.
pub async fn complete_pending(ctx: &Ctx, agent: AgentId, folder: PathText) -> Result<Option<PathBuf>, Failed> {
    let here = ctx.env.machine;
    let within = folder.clone();
    let waits = ctx.db.read(move |view| Ok(view.claims_on(here)?.into_iter().find(|found| is_waiting_in(found, &within))));
    let Some(found) = waits.await? else { return Ok(None) };
    let asker = asker_of(ctx, agent).await?;
    let (worktree, owner) = (found.claim.worktree.clone(), asker.owner.clone());
    let taken = ctx.db.write(move |tx| {
        let Some(now) = tx.claim(here, &worktree)?.filter(|now| now.claim.is_pending()) else { return Ok(None) };
        let claim = Claim { agent: Some(agent), owner, ..now.claim };
        tx.append(Fact::WorktreeClaimed { claim: claim.clone() })?;
        Ok(Some(claim))
    });
    let Some(claim) = taken.await? else { return Ok(None) };
    lock_completed(ctx, &claim, &asker).await?;
    Ok(Some(claim.path.as_path().to_owned()))
}

fn is_waiting_in(found: &Claimed, folder: &PathText) -> bool {
    found.claim.is_pending() && folder.as_path().starts_with(found.claim.path.as_path())
}

/// A worktree in a pool that is not tidied by its host has its lock from now on.
async fn lock_completed(ctx: &Ctx, claim: &Claim, asker: &Asker) -> Result<(), Failed> {
    let inventory = inventory(ctx, claim.path.clone()).await?;
    let Some(one) = inventory.checkouts.iter().find(|one| one.id.as_ref() == Some(&claim.worktree)) else { return Ok(()) };
    let pool = super::adopt::pool_of(ctx, &inventory, one).await?;
    match (&asker.owner, &one.lock) {
        (Some(owner), None) if pool.locks => {
            let words = LockText::new(owner, &claim.task, ctx.env.clock.now(), asker.agent).to_string();
            relock(ctx, &inventory, one, None, Some(&words)).await
        }
        _ => Ok(()),
    }
}

/// The answer of a removal when there is nothing to remove.
pub fn gone_already(path: PathText) -> RemovedWorktree {
    RemovedWorktree { path, branch: None, tip: None, branch_deleted: false, branch_fault: None, proof: None, left: None, was_gone: true }
}

/// What a hook's call is known by, when nobody made it: one that a node makes by itself.
pub fn own_call(ctx: &Ctx) -> CallId {
    CallId::from_random(ctx.fresh_id())
}

/// The refusal that worktrees are switched off.
pub fn disabled() -> Failed {
    Refusal::from(WorktreeRefusal::Disabled).into()
}
