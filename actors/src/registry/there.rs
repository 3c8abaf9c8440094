//! Who of the registered is still there, and where: taken up when a node starts, ended when the process of the host is gone, moved
//! when the place of the folder is another one.

use std::collections::BTreeSet;

use frith_store::{
    error::Failure,
    id::{AgentId, PlaceId},
    model::{EndHow, ProcessRef},
    tx::Registration,
};

use super::whereabouts::{Whereabouts, look};
use crate::{
    ctx::Ctx,
    env::{process::Life, world::blocking},
    roster::Member,
};

/// Takes up the registered agents of this machine that had not ended when its last node did. Whether each still runs is to be found
/// out after it.
///
/// # Errors
/// The store broke.
pub async fn take_up(ctx: &Ctx) -> Result<(), Failure> {
    let here = ctx.db.store().machine();
    let read = ctx.db.read(move |view| {
        let there = view.live_agents()?.into_iter().filter(|agent| agent.machine == here && agent.launch.is_none());
        there.map(|agent| Ok((view.sighting(agent.id)?, agent))).collect::<Result<Vec<_>, Failure>>()
    });
    for (sighting, agent) in read.await? {
        let folder = sighting.as_ref().and_then(|sighting| sighting.folder.clone());
        let main_folder = look(ctx, folder).await.main_folder;
        ctx.roster.insert(Member { main_folder, ..Member::of(&agent, sighting) });
    }
    take_up_former(ctx).await
}

/// The processes of agents that ended may live on, and what runs below them is as little a person's as before.
async fn take_up_former(ctx: &Ctx) -> Result<(), Failure> {
    let seen = ctx.db.read(|view| Ok(view.sighted()?.into_iter().map(|id| view.sighting(id)).collect::<Result<Vec<_>, _>>()?));
    let there: BTreeSet<_> = ctx.roster.all().iter().filter_map(|member| member.sighting.process.clone()).collect();
    let processes = seen.await?.into_iter().flatten().filter_map(|sighting| sighting.process);
    ctx.roster.keep_former(processes.filter(|process| !there.contains(process)));
    forget_gone(ctx).await;
    Ok(())
}

/// Forgets the processes of ended agents that are gone too.
async fn forget_gone(ctx: &Ctx) {
    let (former, table) = (ctx.roster.former(), ctx.env.processes.clone());
    if former.is_empty() {
        return;
    }
    let looked =
        blocking(&ctx.env.blocking, move || former.into_iter().filter(|process| table.life(process) == Life::Gone).collect::<Vec<_>>());
    // What could not be looked at is looked at again.
    ctx.roster.forget_former(&looked.await.unwrap_or_default());
}

/// Ends the registered agents whose host's process is provably gone.
///
/// # Errors
/// The store broke.
pub async fn end_gone(ctx: &Ctx) -> Result<(), Failure> {
    let members = ctx.roster.all();
    forget_gone(ctx).await;
    end_those_gone(ctx, members.iter().filter_map(|member| process_to_look_at(member)).collect()).await
}

/// Ends a registered agent, if its host's process is provably gone.
///
/// # Errors
/// The store broke.
pub async fn end_if_gone(ctx: &Ctx, agent: AgentId) -> Result<(), Failure> {
    let member = ctx.roster.get(agent);
    forget_gone(ctx).await;
    end_those_gone(ctx, member.iter().filter_map(|member| process_to_look_at(member)).collect()).await
}

/// The process whose end is an agent's: sub-agents end with theirs, and launched agents as their terminals tell.
fn process_to_look_at(member: &Member) -> Option<(AgentId, ProcessRef)> {
    let speaks = !member.is_launched && member.is_main();
    member.sighting.process.clone().filter(|_| speaks).map(|process| (member.id, process))
}

async fn end_those_gone(ctx: &Ctx, processes: Vec<(AgentId, ProcessRef)>) -> Result<(), Failure> {
    if processes.is_empty() {
        return Ok(());
    }
    let table = ctx.env.processes.clone();
    let looked = blocking(&ctx.env.blocking, move || {
        processes.into_iter().filter(|(_, process)| table.life(process) == Life::Gone).collect::<Vec<_>>()
    });
    for (agent, process) in looked.await.unwrap_or_default() {
        end_of(ctx, agent, process).await?;
    }
    Ok(())
}

/// Ends an agent whose process is gone, unless its session was resumed in another one meanwhile.
async fn end_of(ctx: &Ctx, agent: AgentId, process: ProcessRef) -> Result<(), Failure> {
    let seen = ctx.roster.get(agent).map(|member| member.sighting.clone());
    let roster = ctx.roster.clone();
    let ended = ctx.db.write(move |tx| {
        let turn = roster.turn();
        if tx.agent(agent)?.is_none_or(|agent| agent.ended.is_some()) {
            return Ok((vec![agent], turn));
        }
        if tx.sighting(agent)?.is_none_or(|sighting| sighting.process.as_ref() != Some(&process)) {
            return Ok((vec![], turn));
        }
        if let Some(seen) = seen.filter(|seen| seen.process.as_ref() == Some(&process)) {
            tx.note_sighting(agent, &seen)?;
        }
        Ok((tx.end_agent(agent, &EndHow::Gone)?, turn))
    });
    let (ended, turn) = ended.await?;
    for agent in ended {
        tracing::info!(%agent, "an agent ended: the process of its host is gone");
        ctx.roster.end(turn, agent);
    }
    ctx.roster.end_recorded();
    Ok(())
}

/// The place of an agent as it is now: a registered one follows its folder, and a place may have come there, or gone.
///
/// # Errors
/// The store broke.
pub async fn place_now(ctx: &Ctx, agent: AgentId) -> Result<Option<PlaceId>, Failure> {
    let Some(member) = ctx.roster.get(agent) else { return Ok(None) };
    let (false, Some(folder), Some(session)) = (member.is_launched, &member.sighting.folder, &member.session) else {
        return Ok(member.place);
    };
    let whereabouts = Whereabouts { folder: Some(folder.clone()), main_folder: member.main_folder.clone() };
    let here = ctx.db.store().machine();
    let now = whereabouts.clone();
    let place = ctx.db.read(move |view| Ok(now.place(view, here)?)).await?;
    if place != member.place {
        let (session, parent, folder) = (session.clone(), member.parent, whereabouts.folder);
        let moved = Registration { agent, session, parent, model: None, folder, place };
        let moved = ctx.db.write(move |tx| {
            let is_there = tx.agent(agent)?.is_some_and(|agent| agent.ended.is_none());
            if is_there {
                tx.move_agent(moved)?;
            }
            Ok(())
        });
        moved.await?;
        ctx.roster.change(agent, |member| member.place = place);
    }
    Ok(place)
}
