//! Linking a process that a host started, as its MCP server, to the agent it works for: what the rules need, found; what they
//! answer, carried out (agents.md, "Linking an MCP process").

use std::sync::Arc;

use frith_store::{
    hosts::{self, AgentRow},
    id::AgentId,
    model::{HostSession, Presence, ProcessRef, Sighting},
    refusal::Refusal,
    rules::{
        link::{self, Above, Asking, Candidate, LaunchedAbove, Linked, host_process, own_host_process},
        presence::presence_of,
    },
    text::PathText,
    time::Timestamp,
    tx::Registration,
};

use crate::{
    api::{
        Operation,
        agents::{Link, LinkedBy},
    },
    call::{Claims, Envelope, Failed},
    caller::{above, is_session_of, named_session},
    ctx::Ctx,
    env::{
        process::{Life, Pid, ProcessFacts},
        world::blocking,
    },
    registry::{Whereabouts, look},
    roster::Member,
};

/// The agent that a process works for.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Which.
    pub agent: AgentId,
    /// How it was told.
    pub way: LinkedBy,
}

/// Links the calling process.
///
/// # Errors
/// It works for none that can be told, or the store broke.
pub async fn link(ctx: &Ctx, peer: Option<u32>, envelope: &Envelope) -> Result<Found, Failed> {
    let Operation::AgentLink(Link { host }) = &envelope.operation else { return Err(Refusal::Stale.into()) };
    let not_linked = || Failed::from(Refusal::NotLinked { host: host.clone() });
    let peer = peer.filter(|_| ctx.config.now().agents_enabled).ok_or_else(not_linked)?;
    let whereabouts = look(ctx, envelope.folder.clone()).await;
    let (shared, claims, host_name) = (ctx.clone(), envelope.claims.clone(), host.clone());
    let seen = blocking(&ctx.env.blocking, move || Sight::of(&shared, Pid::new(peer), &claims, &host_name));
    let Some(sight) = seen.await.map_err(Failed::from_work)? else { return Err(not_linked()) };
    let row = hosts::host(host).map_or(AgentRow::None, |host| host.agents);
    let session = named_session(&envelope.claims, host).cloned();
    let asking = Asking {
        host,
        launched: sight.launched,
        session: sight.session,
        registers: row == AgentRow::Environment && session.is_some(),
        is_hookless: row == AgentRow::Mcp,
        line: &sight.line,
        folder: whereabouts.folder.as_ref(),
        candidates: &sight.candidates,
    };
    let found = match link::link(&asking)? {
        Linked::Launch(agent) => Found { agent, way: LinkedBy::Launch },
        Linked::Session(agent) => Found { agent, way: LinkedBy::Session },
        Linked::Ancestor(agent) => Found { agent, way: LinkedBy::Ancestor },
        Linked::Folder(agent) => Found { agent, way: LinkedBy::Folder },
        Linked::Registers => {
            let session = session.ok_or_else(not_linked)?;
            Found { agent: register(ctx, session, &sight, whereabouts).await?, way: LinkedBy::Session }
        }
        Linked::Own => {
            let session = HostSession { host: host.clone(), id: None, sub_agent: None };
            Found { agent: register(ctx, session, &sight, whereabouts).await?, way: LinkedBy::Own }
        }
    };
    ctx.roster.link(sight.itself, found.agent);
    Ok(found)
}

/// What the kernel and the roster say of a process.
struct Sight {
    itself: ProcessRef,
    line: Vec<Above>,
    launched: Option<AgentId>,
    session: Option<AgentId>,
    candidates: Vec<Candidate>,
}

impl Sight {
    /// None when the process is gone.
    fn of(ctx: &Ctx, pid: Pid, claims: &Claims, host: &str) -> Option<Self> {
        let processes = &*ctx.env.processes;
        let facts = processes.facts(pid).ok()??;
        let line = above(processes, pid, ctx.env.itself.facts().pid);
        let members = ctx.roster.all();
        let now = ctx.env.clock.now().ms();
        let age = processes.age(&facts.process).and_then(|age| i64::try_from(age.as_millis()).ok());
        let since = age.map(|age| Timestamp::from_ms(now.saturating_sub(age)));
        let candidates = candidates(ctx, &members, host, since);
        let session = named_session(claims, host).and_then(|session| of_session(ctx, session, &line));
        Some(Self { launched: launched(ctx, &facts, &line, host), session, candidates, itself: facts.process, line })
    }
}

/// The launched agent whose own host started this, by the kernel's word alone: its mark may be a copy.
fn launched(ctx: &Ctx, itself: &ProcessFacts, line: &[Above], host: &str) -> Option<AgentId> {
    let place = |member: &Arc<Member>| line.iter().position(|above| member.terminal.as_ref() == Some(&above.process));
    let members = ctx.roster.launched();
    if let Some(member) = members.iter().filter(|member| place(member).is_some()).min_by_key(|member| place(member)) {
        let bound = member.sighting.process.as_ref().filter(|process| ctx.env.processes.life(process) != Life::Gone);
        let launched = LaunchedAbove { terminal: member.terminal.as_ref()?, bound, is_same_host: member.host == host };
        return own_host_process(line, launched).map(|_| member.id);
    }
    members.iter().find(|member| is_session_of(&*ctx.env.processes, member, itself.session)).map(|member| member.id)
}

/// The agent of a session that the environment names. A value that was left over from a session in another process is none.
fn of_session(ctx: &Ctx, session: &HostSession, line: &[Above]) -> Option<AgentId> {
    let member = ctx.roster.of_session(session, None)?;
    let process = member.sighting.process.as_ref();
    let is_elsewhere = process.is_some_and(|process| line.iter().all(|above| above.process != *process));
    (!is_elsewhere).then_some(member.id)
}

fn candidates(ctx: &Ctx, members: &[Arc<Member>], host: &str, since: Option<Timestamp>) -> Vec<Candidate> {
    let eyes = ctx.eyes();
    let is_candidate = |member: &&Arc<Member>| {
        let seen = member.sighting.at;
        let is_live = presence_of(Some(seen), eyes.now, eyes.idle_ms) == Presence::Live;
        member.host == host && member.is_main() && !member.is_launched && is_live && since.is_none_or(|since| seen >= since)
    };
    let candidate = |member: &Arc<Member>| Candidate {
        agent: member.id,
        process: member.sighting.process.clone().filter(|process| ctx.env.processes.life(process) != Life::Gone),
        ancestors: member.sighting.ancestors.clone(),
        folder: member.sighting.folder.clone(),
    };
    members.iter().filter(is_candidate).map(candidate).collect()
}

/// Registers the session of a process that no hook tells of: one agent for each process of the host, however many servers it starts.
async fn register(ctx: &Ctx, session: HostSession, sight: &Sight, whereabouts: Whereabouts) -> Result<AgentId, Failed> {
    let process = host_process(&sight.line).unwrap_or(&sight.itself).clone();
    let sighting = Sighting {
        at: ctx.env.clock.now(),
        folder: whereabouts.folder.clone(),
        process: Some(process.clone()),
        ancestors: link::kept_ancestors(&sight.line),
        ..Sighting::default()
    };
    let fresh = AgentId::from_random(ctx.fresh_id());
    let (here, main_folder) = (ctx.db.store().machine(), whereabouts.main_folder.clone());
    let written = ctx.db.write(move |tx| {
        let of_machine = tx.live_agents()?.into_iter().filter(|agent| agent.machine == here && agent.session.as_ref() == Some(&session));
        for agent in of_machine {
            if tx.sighting(agent.id)?.is_some_and(|known| known.process.as_ref() == Some(&process)) {
                return Ok((agent, sighting));
            }
        }
        let place = whereabouts.place(tx, here)?;
        let folder: Option<PathText> = whereabouts.folder;
        let known = if session.id.is_some() { tx.agent_of_session(here, &session)? } else { None };
        let agent = known.filter(|agent| agent.launch.is_none()).map_or(fresh, |agent| agent.id);
        tx.register(Registration { agent, session, parent: None, model: None, folder, place }, &sighting)?;
        Ok((tx.require_agent(agent)?, sighting))
    });
    let (record, sighting) = written.await?;
    if ctx.roster.get(record.id).is_none() {
        ctx.roster.insert(Member { main_folder, is_told: false, ..Member::of(&record, Some(sighting)) });
    }
    ctx.roster.see(record.id, |member| member.sighting.at = ctx.env.clock.now());
    Ok(record.id)
}
