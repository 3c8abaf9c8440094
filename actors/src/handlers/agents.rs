//! Agents: listing, showing, and telling a caller who it is. Launching and stopping are the place's.

use frith_store::{
    error::Failure,
    id::{AgentRef, PlaceId},
    model::Agent,
    refusal::Refusal,
    tx::Tx,
    view::View,
};

use super::task::name;
use crate::{
    api::agents::{self, AgentInfo, Identity, LinkedBy, MachineName},
    caller::{Caller, Who},
};

/// Agents, those that run first.
///
/// # Errors
/// The rows cannot be read.
pub fn list(view: &View<'_>, request: &agents::Sessions) -> Result<agents::Agents, Failure> {
    let mut found: Vec<Agent> = view.agents()?.into_iter().filter(|agent| request.all || agent.ended.is_none()).collect();
    found.sort_by_key(|agent| (agent.ended.is_some(), std::cmp::Reverse(agent.started)));
    let agents = found.into_iter().map(|agent| info(view, agent)).collect::<Result<_, _>>()?;
    Ok(agents::Agents { agents })
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
    let last = view.agents_of(place)?.into_iter().max_by_key(|agent| agent.started);
    let place = view.require_place(place)?;
    Ok(last.ok_or_else(|| Refusal::NoAgent { place: frith_store::rules::named(&place) })?)
}

fn unknown(named: &AgentRef) -> Refusal {
    Refusal::Unknown { what: frith_store::refusal::What::Agent, given: named.0.clone() }
}

/// Everything a reply says of an agent. Who is attached is the terminal's to say.
///
/// # Errors
/// The rows cannot be read.
pub fn info(view: &View<'_>, agent: Agent) -> Result<AgentInfo, Failure> {
    // The place of an agent that ended long ago may be gone for good.
    let place = agent.place.map(|place| view.place(place)).transpose()?.flatten();
    Ok(AgentInfo { place: place.as_ref().map(name), machine: machine_name(view, &agent)?, attached: 0, attention: None, agent })
}

/// Takes back a message that is held back, or lists those that are.
///
/// # Errors
/// It is not known: it was sent, or taken back before.
pub fn unsend(tx: &mut Tx<'_>, request: &agents::Unsend) -> Result<agents::Unsent, Failure> {
    let unsent = request.message.as_ref().map(|named| tx.find_held(named)).transpose()?;
    if let Some(message) = &unsent {
        tx.release_message(message)?;
    }
    Ok(agents::Unsent { unsent, messages: tx.held_messages()? })
}

fn machine_name(view: &View<'_>, agent: &Agent) -> Result<String, Failure> {
    Ok(view.machine(agent.machine)?.map_or_else(|| agent.machine.short(), |machine| machine.name))
}

/// Which agent is calling.
///
/// # Errors
/// No agent is.
pub fn whoami(view: &View<'_>, caller: &Caller) -> Result<Identity, Failure> {
    let Who::Agent { id, place, .. } = caller.who else {
        return Err(Refusal::AgentsOnly { what: "ask who it is".into() }.into());
    };
    let agent = view.agent(id)?.ok_or_else(|| unknown(&AgentRef(id.to_string())))?;
    let place = place.map(|place| view.require_place(place)).transpose()?;
    let holds = view.held_by(&caller.by())?.into_iter().filter(|task| task.holder.as_ref().is_some_and(|holder| !holder.left));
    Ok(Identity {
        id,
        machine: MachineName { id: agent.machine, name: machine_name(view, &agent)? },
        host: agent.host,
        session: agent.session,
        parent: agent.parent,
        folder: agent.folder,
        place: place.as_ref().map(name),
        place_id: place.map(|place| place.id),
        holds: holds.map(|task| task.id).collect(),
        linked_by: LinkedBy::Process,
    })
}
