//! Linking a process that a host started, as its MCP server, to the agent it works for: what the rules need, found; what they
//! answer, carried out (agents.md, "Linking an MCP process").

use std::sync::Arc;

use frith_store::{
    error::Failure,
    hosts::{self, AgentRow, Surface},
    id::AgentId,
    model::{Agent, HostSession, Presence, ProcessRef, Sighting},
    refusal::Refusal,
    rules::{
        link::{self, Above, Asking, Candidate, Known, LaunchedAbove, Linked, Registering, can_register, host_process, own_host_process},
        presence::presence_of,
    },
    text::PathText,
    time::Timestamp,
    tx::{Registration, Tx},
};

use crate::{
    api::agents::LinkedBy,
    call::{Claims, Failed},
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

/// An MCP process that asks for whom it works.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The host that it says it was started by.
    pub host: &'a str,
    /// Its folder.
    pub folder: Option<&'a PathText>,
    /// What its environment says.
    pub claims: &'a Claims,
    /// Whether it only wants to be told: nobody is registered, and the process is not remembered.
    pub only_looks: bool,
}

/// Links the calling process. Whoever only looks is told the same, and nothing is written.
///
/// # Errors
/// It works for none that can be told, or the store broke.
pub async fn link(ctx: &Ctx, peer: Option<u32>, wanted: &Wanted<'_>) -> Result<Found, Failed> {
    let Wanted { host, claims, only_looks, .. } = *wanted;
    let not_linked = || Failed::from(Refusal::NotLinked { host: host.to_owned() });
    let peer = peer.ok_or_else(not_linked)?;
    let whereabouts = look(ctx, wanted.folder.cloned()).await;
    let (shared, known, host_name) = (ctx.clone(), claims.clone(), host.to_owned());
    let seen = blocking(&ctx.env.blocking, move || Sight::of(&shared, Pid::new(peer), &known, &host_name));
    let Some(sight) = seen.await.map_err(Failed::from_work)? else { return Err(not_linked()) };
    if sight.launched.is_none() && !ctx.config.now().agents_enabled {
        return Err(not_linked());
    }
    let row = hosts::host(host).map_or(AgentRow::None, |host| host.agents);
    let session = named_session(claims, host).cloned();
    let asking = Asking {
        host,
        launched: sight.launched,
        session: sight.session,
        claimed: claims.agent.as_deref(),
        registers: row == AgentRow::Environment && session.is_some() && !sight.is_session_elsewhere && sight.beside.is_empty(),
        is_hookless: row == AgentRow::Mcp,
        beside: &sight.beside,
        line: &sight.line[..sight.own],
        folder: whereabouts.folder.as_ref(),
        candidates: &sight.candidates,
    };
    let (session, way) = match link::link(&asking)? {
        Linked::Registers => (session.ok_or_else(not_linked)?, LinkedBy::Session),
        Linked::Own => (own_session(host), LinkedBy::Own),
        Linked::Launch(agent) => return Ok(sight.found(ctx, agent, LinkedBy::Launch, only_looks)),
        Linked::Session(agent) => return Ok(sight.found(ctx, agent, LinkedBy::Session, only_looks)),
        Linked::Ancestor(agent) => return Ok(sight.found(ctx, agent, LinkedBy::Ancestor, only_looks)),
        Linked::Folder(agent) => return Ok(sight.found(ctx, agent, LinkedBy::Folder, only_looks)),
        Linked::Chosen(agent) => return Ok(sight.found(ctx, agent, LinkedBy::Variable, only_looks)),
    };
    if only_looks {
        let member = ctx.roster.of_session(&session, Some(&sight.bound));
        let agent = member.ok_or_else(|| Refusal::NotRegistered { host: host.to_owned() })?.id;
        return Ok(Found { agent, way });
    }
    Ok(Found { agent: register(ctx, session, sight, whereabouts).await?, way })
}

/// The session of a host that has no ids of them: its process tells it apart.
fn own_session(host: &str) -> HostSession {
    HostSession { host: host.to_owned(), id: None, sub_agent: None }
}

/// What the kernel and the roster say of a process.
struct Sight {
    itself: ProcessRef,
    line: Vec<Above>,
    /// How many of those above it may stand for it: what is below an agent of another host is below that one, whoever else is above.
    own: usize,
    launched: Option<AgentId>,
    session: Option<AgentId>,
    /// Whether the session that the environment names runs in another process.
    is_session_elsewhere: bool,
    /// The process that an agent would have that is registered for this one.
    bound: ProcessRef,
    /// The other agents that have it.
    beside: Vec<AgentId>,
    candidates: Vec<Candidate>,
}

impl Sight {
    /// None when the process is gone.
    fn of(ctx: &Ctx, pid: Pid, claims: &Claims, host: &str) -> Option<Self> {
        let processes = &*ctx.env.processes;
        let facts = processes.facts(pid).ok()??;
        let line = above(processes, pid, ctx.env.itself.facts().pid);
        forget_gone(ctx);
        let members = ctx.roster.all();
        let now = ctx.env.clock.now().ms();
        let age = processes.age(&facts.process).and_then(|age| i64::try_from(age.as_millis()).ok());
        let since = age.map(|age| Timestamp::from_ms(now.saturating_sub(age)));
        let candidates = candidates(ctx, &members, host, since);
        let named = named_session(claims, host).and_then(|session| ctx.roster.of_session(session, None));
        let is_elsewhere = |process: &ProcessRef| line.iter().all(|above| above.process != *process) && *process != facts.process;
        let elsewhere = named.as_ref().and_then(|member| member.sighting.process.as_ref()).filter(|process| is_elsewhere(process));
        let bound = bound(host, &line, &facts.process).clone();
        let is_anothers = |above: &Above| members.iter().any(|it| it.is_main() && it.host != host && it.is_process(&above.process));
        let own = line.iter().position(is_anothers).unwrap_or(line.len());
        let is_beside =
            |member: &&Arc<Member>| member.is_main() && member.is_process(&bound) && member.session.as_ref() != Some(&own_session(host));
        let beside = members.iter().filter(is_beside).map(|member| member.id).collect();
        Some(Self {
            launched: launched(ctx, &facts, &line, host),
            // A value that was left over from a session in another process is none.
            session: named.as_ref().filter(|_| elsewhere.is_none()).map(|member| member.id),
            is_session_elsewhere: elsewhere.is_some_and(|process| processes.life(process) != Life::Gone),
            bound,
            beside,
            candidates,
            itself: facts.process,
            line,
            own,
        })
    }

    /// Keeps in mind for whom the process works, where the processes above it do not tell that again.
    fn found(self, ctx: &Ctx, agent: AgentId, way: LinkedBy, only_looks: bool) -> Found {
        let is_its = |process: &ProcessRef| ctx.roster.get(agent).is_some_and(|member| member.is_process(process));
        let is_told = way == LinkedBy::Launch || is_its(&self.itself) || self.line.iter().any(|above| is_its(&above.process));
        if !only_looks && !is_told {
            ctx.roster.link(self.itself, agent, way);
        }
        Found { agent, way }
    }
}

/// Processes that are gone are linked to nobody.
fn forget_gone(ctx: &Ctx) {
    let gone: Vec<_> = ctx.roster.links().into_keys().filter(|process| ctx.env.processes.life(process) == Life::Gone).collect();
    if !gone.is_empty() {
        ctx.roster.unlink(&gone);
    }
}

/// The process that stands for an agent that no hook tells of: the host's. An editor and an application are the process of all
/// that is opened in them, also of a person's shells, and there it is the asking one.
fn bound<'a>(host: &str, line: &'a [Above], itself: &'a ProcessRef) -> &'a ProcessRef {
    if is_shared(host) { itself } else { host_process(line).unwrap_or(itself) }
}

fn is_shared(host: &str) -> bool {
    let surfaces = hosts::host(host).map_or(&[][..], |host| host.surfaces);
    surfaces.iter().any(|surface| matches!(surface, Surface::Ide | Surface::App | Surface::Extension))
}

/// The launched agent whose own host started this, by the kernel's word: what it carries may be a copy, and counts only below
/// this node while the process in the agent's terminal is not known yet.
fn launched(ctx: &Ctx, itself: &ProcessFacts, line: &[Above], host: &str) -> Option<AgentId> {
    let place = |member: &Arc<Member>| line.iter().position(|above| member.terminal.as_ref() == Some(&above.process));
    let members = ctx.roster.launched();
    if let Some(member) = members.iter().filter(|member| place(member).is_some()).min_by_key(|member| place(member)) {
        let bound = member.sighting.process.as_ref().filter(|process| ctx.env.processes.life(process) != Life::Gone);
        let launched = LaunchedAbove { terminal: member.terminal.as_ref()?, bound, is_same_host: member.host == host };
        return own_host_process(line, launched).map(|_| member.id);
    }
    let in_session = members.iter().find(|member| is_session_of(&*ctx.env.processes, member, itself.session));
    let own = ctx.env.itself.facts().pid;
    let is_below_node = line.iter().any(|above| above.process.pid == own);
    let begins = |member: &&Arc<Member>| {
        let token = member.token.as_ref().filter(|_| is_below_node && member.terminal.is_none() && member.host == host);
        token.is_some_and(|token| ctx.env.processes.carries(Pid::new(itself.process.pid), &token.mark()))
    };
    in_session.or_else(|| members.iter().find(begins)).map(|member| member.id)
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
/// A session that runs in another process is left there.
async fn register(ctx: &Ctx, session: HostSession, sight: Sight, whereabouts: Whereabouts) -> Result<AgentId, Failed> {
    let host = session.host.clone();
    let ancestors = if is_shared(&host) { Vec::new() } else { link::kept_ancestors(&sight.line) };
    let (fresh, shared, bound) = (AgentId::from_random(ctx.fresh_id()), ctx.clone(), sight.bound);
    let main_folder = whereabouts.main_folder.clone();
    let written = ctx.db.write(move |tx| {
        let known = known(tx, &session, &bound)?;
        let process = known.as_ref().and_then(|(_, sighting)| sighting.process.as_ref());
        let lives = process.is_some_and(|process| shared.env.processes.life(process) != Life::Gone);
        let record = known.as_ref().map(|(agent, _)| Known { agent, process, lives, seen: None });
        let told = link::Told { begins: true, process: Some(&bound), launched: None, kept_since: None };
        let (agent, is_there) = match can_register(&told, record.as_ref()) {
            Registering::There(agent) => (agent, true),
            Registering::Again(agent) => (agent, false),
            Registering::New => (fresh, false),
            Registering::Stranger(_) | Registering::Nobody => return Err(Refusal::NotLinked { host: session.host.clone() }.into()),
        };
        let before = shared.roster.get(agent).map(|member| member.sighting.clone());
        let before = before.or_else(|| known.filter(|(known, _)| known.id == agent).map(|(_, sighting)| sighting)).unwrap_or_default();
        let folder = whereabouts.folder.clone().or_else(|| before.folder.clone());
        let sighting = Sighting { at: shared.env.clock.now(), folder, process: Some(bound), ancestors, ..before };
        if is_there {
            tx.note_sighting(agent, &sighting)?;
        } else {
            let (place, folder) = (whereabouts.place(tx, tx.machine())?, whereabouts.folder);
            tx.register(Registration { agent, session, parent: None, model: None, folder, place }, &sighting)?;
        }
        Ok((tx.require_agent(agent)?, sighting, shared.roster.turn()))
    });
    let (record, sighting, turn) = written.await?;
    let known = ctx.roster.get(record.id);
    let member = Member { main_folder, is_told: known.is_some_and(|known| known.is_told), ..Member::of(&record, Some(sighting)) };
    ctx.roster.register(turn, member);
    Ok(record.id)
}

/// The agent of a session, with what was seen of it; that of a host without ids of sessions is the one with this process.
fn known(tx: &Tx<'_>, session: &HostSession, bound: &ProcessRef) -> Result<Option<(Agent, Sighting)>, Failure> {
    let here = tx.machine();
    if session.id.is_some() {
        let Some(agent) = tx.agent_of_session(here, session)? else { return Ok(None) };
        let sighting = tx.sighting(agent.id)?.unwrap_or_default();
        return Ok(Some((agent, sighting)));
    }
    for agent in tx.live_agents()?.into_iter().filter(|agent| agent.machine == here && agent.session.as_ref() == Some(session)) {
        let sighting = tx.sighting(agent.id)?.unwrap_or_default();
        if sighting.process.as_ref() == Some(bound) {
            return Ok(Some((agent, sighting)));
        }
    }
    Ok(None)
}
