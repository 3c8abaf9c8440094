//! Agents: listing, showing, and telling a caller who it is. Launching and stopping are the place's.

use std::collections::{BTreeMap, BTreeSet};

use frith_store::{
    error::Failure,
    id::{AgentId, AgentRef, MachineId, MessageRef, PlaceId},
    model::{Agent, By, HeldFor, HeldMessage, Presence, Recipient, Sighting},
    refusal::Refusal,
    rules::presence::{can_say, is_forgotten, presence},
    time::Timestamp,
    tx::Tx,
    view::{Placed, View},
};

use super::task::name;
use crate::{
    api::{
        agents::{self, AgentInfo, Identity, LinkedBy, MachineName},
        worktree::Held,
    },
    caller::{Caller, Who},
    terminal::Attention,
};

/// By what agents are looked at: now, and what this machine has seen of its own.
#[derive(Debug, Clone)]
pub struct Eyes {
    /// Now.
    pub now: Timestamp,
    /// After how many milliseconds without a sign of life an agent is idle.
    pub idle_ms: u64,
    /// What was seen of agents of this machine since its node started; what was seen before is in the store.
    pub seen: BTreeMap<AgentId, Sighting>,
}

/// Agents, those that did not end first.
///
/// # Errors
/// The machine that is named is not known, or the rows cannot be read.
pub fn list(view: &View<'_>, request: &agents::Sessions, eyes: &Eyes) -> Result<agents::Agents, Failure> {
    let machine = request.machine.as_ref().map(|named| view.find_machine(named)).transpose()?;
    let is_wanted = |agent: &Agent| (request.all || agent.ended.is_none()) && machine.is_none_or(|machine| machine == agent.machine);
    let mut found = view.agents()?;
    found.retain(|agent| is_wanted(agent) && !is_forgotten(agent.ended.as_ref(), eyes.now));
    found.sort_by_key(|agent| (agent.ended.is_some(), std::cmp::Reverse(agent.started)));
    let there: BTreeSet<AgentId> = found.iter().map(|agent| agent.id).collect();
    let (below, above): (Vec<_>, Vec<_>) = found.into_iter().partition(|agent| agent.parent.is_some_and(|parent| there.contains(&parent)));
    let mut below = by_parent(below);
    let agents = above.into_iter().map(|agent| with_sub_agents(view, agent, &mut below, eyes)).collect::<Result<_, _>>()?;
    Ok(agents::Agents { agents })
}

fn by_parent(agents: Vec<Agent>) -> BTreeMap<AgentId, Vec<Agent>> {
    let mut below: BTreeMap<AgentId, Vec<Agent>> = BTreeMap::new();
    for agent in agents {
        if let Some(parent) = agent.parent {
            below.entry(parent).or_default().push(agent);
        }
    }
    below
}

fn with_sub_agents(view: &View<'_>, agent: Agent, below: &mut BTreeMap<AgentId, Vec<Agent>>, eyes: &Eyes) -> Result<AgentInfo, Failure> {
    let its = below.remove(&agent.id).unwrap_or_default();
    let mut info = info(view, agent, eyes)?;
    info.sub_agents = its.into_iter().map(|agent| with_sub_agents(view, agent, below, eyes)).collect::<Result<_, _>>()?;
    Ok(info)
}

/// One agent with its sub-agents, also ended ones.
///
/// # Errors
/// The rows cannot be read.
pub fn whole(view: &View<'_>, agent: Agent, eyes: &Eyes) -> Result<AgentInfo, Failure> {
    let mut below = by_parent(view.agents()?);
    with_sub_agents(view, agent, &mut below, eyes)
}

/// One agent, by its id or the place it works in.
///
/// # Errors
/// Nothing is meant, or several things are.
pub fn find(view: &View<'_>, named: &AgentRef) -> Result<Agent, Failure> {
    let place = frith_store::id::PlaceRef(named.0.clone());
    let by_name = view.places_named(&named.0)?;
    if !by_name.is_empty() {
        return in_place(view, view.find_place(&place)?);
    }
    match view.find_agent(named) {
        Ok(id) => Ok(view.agent(id)?.ok_or_else(|| unknown(named))?),
        Err(Failure::Refused(refusal)) if matches!(*refusal, Refusal::Unknown { .. }) => match view.find_place(&place) {
            Ok(id) => in_place(view, id),
            Err(_) => Err(refusal.into()),
        },
        Err(other) => Err(other),
    }
}

fn in_place(view: &View<'_>, place: PlaceId) -> Result<Agent, Failure> {
    if let Some(agent) = view.agent_in(place)? {
        return Ok(agent);
    }
    let last = view.agents_of(place)?.into_iter().max_by_key(|agent| (agent.ended.is_none(), agent.started));
    let place = view.require_place(place)?;
    Ok(last.ok_or_else(|| Refusal::NoAgent { place: frith_store::rules::named(&place) })?)
}

fn unknown(named: &AgentRef) -> Refusal {
    Refusal::Unknown { what: frith_store::refusal::What::Agent, given: named.0.clone() }
}

/// Whether an agent is there, by what was seen of it.
///
/// # Errors
/// The rows cannot be read.
pub fn presence_of(view: &View<'_>, agent: &Agent, eyes: &Eyes) -> Result<Presence, Failure> {
    let seen = match eyes.seen.get(&agent.id) {
        Some(sighting) => Some(sighting.at),
        None if agent.ended.is_some() => None,
        None => view.sighting(agent.id)?.map(|sighting| sighting.at),
    };
    let seen = seen.or_else(|| agent.launch.is_none().then_some(agent.started));
    Ok(presence(agent, seen, eyes.now, eyes.idle_ms))
}

/// Everything a reply says of an agent but its sub-agents. Who is attached is the terminal's to say.
///
/// # Errors
/// The rows cannot be read.
pub fn info(view: &View<'_>, agent: Agent, eyes: &Eyes) -> Result<AgentInfo, Failure> {
    // The place of an agent that ended long ago may be gone for good.
    let place = agent.place.map(|place| view.place(place)).transpose()?.flatten();
    let sighting = match eyes.seen.get(&agent.id) {
        Some(sighting) => Some(sighting.clone()),
        None => view.sighting(agent.id)?,
    };
    let seen = sighting.as_ref().map(|sighting| sighting.at).or_else(|| agent.launch.is_none().then_some(agent.started));
    let sighting = sighting.unwrap_or_default();
    let agent = Agent { folder: sighting.folder.clone().filter(|_| agent.launch.is_none()).or(agent.folder), ..agent };
    let at_prompt = sighting.at_prompt.filter(|_| agent.ended.is_none());
    Ok(AgentInfo {
        place: place.as_ref().map(name),
        machine: machine_name(view, &agent)?,
        attached: 0,
        attention: at_prompt.map(|waits| if waits { Attention::AtPrompt } else { Attention::Working }),
        presence: presence(&agent, seen, eyes.now, eyes.idle_ms),
        seen,
        activity: sighting.activity,
        status: sighting.status,
        unread: view.mail_counts(&Recipient::Agent(agent.id))?.unread(),
        sub_agents: vec![],
        worktrees: worktrees_of(view, agent.machine, agent.id)?,
        agent,
    })
}

/// Takes back a message that is held back, or lists those that are.
///
/// # Errors
/// It was sent already, or is not known, as one that was taken back before.
pub fn unsend(tx: &mut Tx<'_>, request: &agents::Unsend) -> Result<agents::Unsent, Failure> {
    let unsent = request.message.as_ref().map(|named| find_held(tx, named)).transpose()?;
    if let Some(message) = &unsent {
        tx.release_message(message)?;
    }
    let messages = tx.held_messages()?;
    let meant = unsent.iter().chain(&messages).filter_map(|message| match message.to {
        HeldFor::Mail { to: Recipient::Place(place), .. } => Some(place),
        _ => None,
    });
    let places = meant.collect::<BTreeSet<_>>().into_iter().filter_map(|place| tx.place(place).transpose());
    let places = places.map(|place| place.map(|place| name(&place))).collect::<Result<_, _>>()?;
    Ok(agents::Unsent { unsent, messages, places })
}

fn find_held(view: &View<'_>, named: &MessageRef) -> Result<HeldMessage, Failure> {
    view.find_held(named).or_else(|unknown| {
        let sent = view.find_mail(named).ok().map(|id| view.mail(id)).transpose()?.flatten();
        let Some(Placed { mail, .. }) = sent else { return Err(unknown) };
        Err(Refusal::MessageSent { message: mail.id, recipient: recipient_in_words(view, &mail.to)? }.into())
    })
}

/// To whom a message goes, as people name it.
///
/// # Errors
/// The rows cannot be read.
pub fn recipient_in_words(view: &View<'_>, to: &Recipient) -> Result<String, Failure> {
    Ok(match to {
        Recipient::Agent(agent) => agent.short(),
        Recipient::Place(place) => match view.place(*place)? {
            Some(place) => view.label(&place)?,
            None => place.short(),
        },
        Recipient::Person(person) => person.clone(),
    })
}

fn machine_name(view: &View<'_>, agent: &Agent) -> Result<String, Failure> {
    Ok(view.machine(agent.machine)?.map_or_else(|| agent.machine.short(), |machine| machine.name))
}

/// Which agent is calling.
///
/// # Errors
/// No agent is.
pub fn whoami(view: &View<'_>, caller: &Caller) -> Result<Identity, Failure> {
    match &caller.who {
        Who::Agent { id, .. } => {
            Ok(Identity { stands_for_sub_agents: !caller.is_exact, ..identity(view, caller.here, *id, caller.linked_by)? })
        }
        Who::Person(_) => Err(Refusal::AgentsOnly { what: "ask who it is".into() }.into()),
        Who::Unplaced => Err(Refusal::UnplacedCaller.into()),
        Who::OneOf { agents, .. } => Err(Refusal::SeveralAgents { agents: agents.clone() }.into()),
    }
}

/// What an agent is told of itself.
///
/// # Errors
/// It is not known, or the rows cannot be read.
pub fn identity(view: &View<'_>, here: MachineId, id: AgentId, linked_by: LinkedBy) -> Result<Identity, Failure> {
    let agent = view.require_agent(id)?;
    let folder = view.sighting(id)?.filter(|_| agent.machine == here).and_then(|sighting| sighting.folder);
    let place = agent.place.map(|place| view.require_place(place)).transpose()?;
    let held = view.held_by(&By::Agent(id))?;
    let holds = held.into_iter().filter(|task| task.holder.as_ref().is_some_and(|holder| !holder.left));
    Ok(Identity {
        id,
        machine: MachineName { id: agent.machine, name: machine_name(view, &agent)? },
        host: agent.host,
        session: agent.session,
        parent: agent.parent,
        folder: folder.or(agent.folder),
        place: place.as_ref().map(name),
        place_id: place.map(|place| place.id),
        holds: holds.map(|task| task.id).collect(),
        linked_by,
        stands_for_sub_agents: true,
        worktrees: worktrees_of(view, here, id)?,
    })
}

/// The worktrees that an agent has on a machine. Whether they still stand is the disk's to say.
///
/// # Errors
/// The rows cannot be read.
pub fn worktrees_of(view: &View<'_>, here: MachineId, agent: AgentId) -> Result<Vec<Held>, Failure> {
    let own = view.claims_on(here)?.into_iter().map(|found| found.claim).filter(|claim| claim.agent == Some(agent));
    Ok(own.map(|claim| Held { path: claim.path, task: claim.task, branch: claim.branch, missing: false }).collect())
}

/// What an agent says of itself, cleaned.
///
/// # Errors
/// No agent is calling, or it is too long.
pub fn can_set_status(caller: &Caller, request: &agents::SetStatus) -> Result<(AgentId, Option<String>), Refusal> {
    let Who::Agent { id, .. } = caller.who else {
        return Err(Refusal::AgentsOnly { what: "say what it is busy with".into() });
    };
    Ok((id, can_say(&request.status)?))
}
