//! Worktrees that a host's hooks ask for: one for a session or a sub-agent, and its end. The same guarded way as the commands.
//!
//! What goes wrong here goes to the hook, which says so to nobody but the person: the host then makes what it makes without frith.

use frith_store::{
    git::{Checkout, Inventory, Standing, Want},
    id::{AgentId, CallId},
    model::{Claim, HostSession},
    refusal::{Refusal, WorktreeRefusal},
    rules::worktree::{Asker, Hold, LockText},
    text::PathText,
    time::Timestamp,
};
use ractor::{ActorRef, rpc::CallResult};

use super::{
    WorktreesMsg, add, adopt,
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

/// Makes the worktree that a host's session asks for by a name of its own; the same name again is the same worktree. The hook stands
/// below the host of that session, or nothing is made.
///
/// # Errors
/// As those of adding one; a session that is not registered has none, nor has one of another process.
pub async fn make_for_host(ctx: &Ctx, actor: &ActorRef<WorktreesMsg>, asked: Asked, wanted: ForHost) -> Result<MadeForHost, Failed> {
    let not_registered = || Refusal::NotRegistered { host: wanted.host.clone() };
    let agent = agent_of(ctx, &wanted.host, wanted.session.as_ref()).filter(|agent| is_from(&asked, *agent)).ok_or_else(not_registered)?;
    let asked = speaking_for(ctx, asked, agent, wanted.folder.clone()).await?;
    let task = as_task(&wanted.name);
    if let Some(path) = made_before(ctx, &asked, agent, &task).await? {
        return Ok(MadeForHost { path });
    }
    let new = add::Wanted { task: task.clone(), ..add::Wanted::default() };
    let by_itself = asked.clone();
    let added = match actor.call(|reply| WorktreesMsg::Add(asked, new, reply), None).await {
        Ok(CallResult::Success(added)) => added,
        _ => Err(away()),
    };
    match added {
        Ok(added) => Ok(MadeForHost { path: added.path }),
        // Of two that ask under one name at once the second finds what the first one made.
        Err(failed) => made_before(ctx, &by_itself, agent, &task).await?.map(|path| MadeForHost { path }).ok_or(failed),
    }
}

/// Whether a call comes from below the process of an agent: the agent is the caller, or one of those that may be.
fn is_from(asked: &Asked, agent: AgentId) -> bool {
    match &asked.caller.who {
        Who::Agent { id, .. } => *id == agent,
        Who::OneOf { agents, .. } => agents.contains(&agent),
        Who::Person(_) | Who::Unplaced => false,
    }
}

/// What a host calls a worktree, as a task: what a task cannot have becomes a hyphen.
fn as_task(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    name.trim_matches(|c| "._-".contains(c)).to_lowercase()
}

/// The worktree that was made under this name before, if it is there and is the asker's still: taken over, where one that ended left it.
async fn made_before(ctx: &Ctx, asked: &Asked, agent: AgentId, task: &str) -> Result<Option<PathText>, Failed> {
    let known = Known::read(ctx).await?;
    let (inventory, asker) = (asked.inventory(ctx).await?, asker_of(ctx, agent).await?);
    let (_, root) = asked::configured(ctx, &inventory).await?;
    let place = add::place_of(&root, &inventory, task);
    let is_it = |one: &&Checkout| {
        let is_for = one.lock.as_deref().and_then(LockText::read).is_some_and(|text| text.task == task);
        one.standing == Standing::Linked && one.path == place && is_for && known.hold(one, &asker) == Hold::Yours
    };
    let Some(one) = inventory.checkouts.iter().find(is_it) else { return Ok(None) };
    let path = PathText::from(one.path.as_path());
    take_over(ctx, asked, path.clone()).await?;
    Ok(Some(path))
}

/// Takes a worktree over for the agent that asks; one that is its own already stays as it is.
async fn take_over(ctx: &Ctx, asked: &Asked, path: PathText) -> Result<(), Failed> {
    let wanted = adopt::Wanted { path, task: None, owner: None, always_locks: false, may_be_script: false };
    let asked = Asked { call: own_call(ctx), progress: None, ..asked.clone() };
    adopt::adopt(ctx, asked, wanted).await.map(drop)
}

/// The same call, asked by an agent that stands in a folder.
async fn speaking_for(ctx: &Ctx, asked: Asked, agent: AgentId, folder: PathText) -> Result<Asked, Failed> {
    let place = crate::registry::place_now(ctx, agent).await?;
    let mut caller = asked.caller;
    caller.who = Who::Agent { id: agent, place, oversees: false };
    Ok(Asked { caller, folder, ..asked })
}

/// Removes a worktree that a host is done with; its branch stays when it is not merged. One that is gone is done. When it stays for
/// what is in it, its caches go all the same.
///
/// # Errors
/// As those of removing one.
pub async fn end_for_host(ctx: &Ctx, actor: &ActorRef<WorktreesMsg>, asked: Asked, wanted: EndForHost) -> Result<RemovedWorktree, Failed> {
    let inventory = inventory(ctx, wanted.path.clone()).await?;
    let known = Known::read(ctx).await?;
    let asker = match acting(ctx, &asked, &inventory, &known, &wanted) {
        Some(agent) => asker_of(ctx, agent).await?,
        None => Asker::default(),
    };
    let removed = take_away(actor, asked, wanted.path.clone(), asker).await;
    if removed.as_ref().err().is_some_and(stays_for_its_content)
        && let Err(failed) = shed_all(ctx, &inventory, &wanted.path).await
    {
        tracing::info!(%failed, path = %wanted.path, "the caches of a worktree that stays could not be deleted");
    }
    removed
}

/// Whether a worktree stays for what is in it, and not since somebody has it or works in it.
fn stays_for_its_content(failed: &Failed) -> bool {
    use WorktreeRefusal::{DetachedUnmerged, Dirty, UnderWay, Unmerged};
    let Failed::Refused(refusal) = failed else { return false };
    matches!(**refusal, Refusal::Worktree(Dirty { .. } | Unmerged { .. } | DetachedUnmerged { .. } | UnderWay { .. }))
}

/// Who acts: the agent that has the worktree, if it is of the session that ends it, else that session's main agent.
fn acting(ctx: &Ctx, asked: &Asked, inventory: &Inventory, known: &Known, wanted: &EndForHost) -> Option<AgentId> {
    let main = agent_of(ctx, &wanted.host, wanted.session.as_ref()).filter(|main| is_from(asked, *main));
    let holder = at(inventory, &wanted.path).and_then(|one| known.agent_of(one));
    let is_of_session =
        |agent: AgentId| Some(agent) == main || known.agents.get(&agent).is_some_and(|agent| main.is_some() && agent.parent == main);
    holder.filter(|holder| is_of_session(*holder)).or(main)
}

/// The checkout at a path.
fn at<'i>(inventory: &'i Inventory, path: &PathText) -> Option<&'i Checkout> {
    inventory.checkouts.iter().find(|one| inventory.current.as_ref() == Some(&one.path) || one.path == path.as_path())
}

async fn take_away(actor: &ActorRef<WorktreesMsg>, asked: Asked, path: PathText, asker: Asker) -> Result<RemovedWorktree, Failed> {
    // Whoever the host speaks for stands in it until now, and goes back where it came from.
    let asked = Asked { folder: PathText::from(std::path::Path::new("/")), ..asked };
    let wanted =
        remove::Wanted { around: path.clone(), worktree: path, keep_branch: false, keep_unmerged: true, owner: None, asker: Some(asker) };
    match actor.call(|reply| WorktreesMsg::Remove(asked, wanted, reply), None).await {
        Ok(CallResult::Success(removed)) => removed,
        _ => Err(away()),
    }
}

async fn shed_all(ctx: &Ctx, inventory: &Inventory, path: &PathText) -> Result<(), Failed> {
    let is_it = |one: &Checkout| at(inventory, path).is_some_and(|found| found.path == one.path) && one.standing == Standing::Linked;
    let Some(which) = inventory.checkouts.iter().position(is_it) else { return Ok(()) };
    let (worktrees, of) = (ctx.env.worktrees.clone(), inventory.clone());
    let mut watch = Watching::new(ctx, Cancel::default(), None);
    let judged = blocking(&ctx.env.blocking, move || worktrees.judge(&of, &[which], Want::VerdictAndSizes, &mut watch));
    let judged = judged.await.map_err(Failed::from_work)?;
    for cache in judged.into_iter().filter_map(|one| one.sizes).flat_map(|sizes| sizes.caches) {
        let mut row = CleanedCache {
            path: PathText::from(cache.path.as_path()),
            worktree: PathText::from(inventory.checkouts[which].path.as_path()),
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
    let is_around = |one: &&Checkout| inventory.current.as_ref() == Some(&one.path) && one.standing == Standing::Linked;
    let Some(one) = inventory.checkouts.iter().find(is_around) else { return Ok(None) };
    let Some(claim) = known.claim(one.id.as_ref()).filter(|claim| is_made_for(claim, main, sub_agent)) else { return Ok(None) };
    let path = claim.path.clone();
    let asker = asker_of(ctx, main).await?;
    take_away(actor, asked, path, asker).await.map(Some)
}

fn is_made_for(claim: &Claim, main: AgentId, sub_agent: &str) -> bool {
    let sub_agent = as_task(sub_agent);
    let before = claim.task.strip_suffix(sub_agent.as_str());
    claim.agent == Some(main) && !sub_agent.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('-'))
}

/// Completes the claim that waits for an agent in the folder in which one has just started. Of several that start at once one gets it.
///
/// # Errors
/// The store broke, or git did, or somebody else has it.
pub async fn complete_pending(ctx: &Ctx, asked: Asked) -> Result<(), Failed> {
    let here = ctx.env.machine;
    let waiting =
        ctx.db.read(move |view| Ok(view.claims_on(here)?.into_iter().filter(|found| found.claim.is_pending()).collect::<Vec<_>>()));
    let waiting = waiting.await?;
    if waiting.is_empty() {
        return Ok(());
    }
    let inventory = asked.inventory(ctx).await?;
    let is_around = |one: &&Checkout| inventory.current.as_ref() == Some(&one.path);
    let Some(one) = inventory.checkouts.iter().find(is_around) else { return Ok(()) };
    if waiting.iter().any(|found| Some(&found.claim.worktree) == one.id.as_ref()) {
        take_over(ctx, &asked, PathText::from(one.path.as_path())).await?;
    }
    Ok(())
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
