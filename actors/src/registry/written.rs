//! An event that says something new: decided and written in one transaction, then brought into memory.

use std::sync::Arc;

use frith_store::{
    error::{Failure, StoreError},
    id::AgentId,
    model::{Agent, EndHow, HostSession, Sighting},
    rules::link::{self, Known, Registering, can_register},
    tx::{Registration, Tx},
};

use super::{Heard, Incoming, whereabouts::Whereabouts};
use crate::{
    ctx::Ctx,
    env::process::{Life, Processes},
    roster::{Before, Member, Turn},
};

/// An event on its way into the store.
pub(super) struct Written {
    pub it: Incoming,
    pub whereabouts: Whereabouts,
    /// The agent that ends by it.
    pub over: Option<AgentId>,
    /// Agents that are what they were before.
    pub back: Vec<(AgentId, Before)>,
    /// Ids for whoever is new.
    pub fresh: [AgentId; 2],
    pub processes: Arc<dyn Processes>,
    /// What was seen of agents lies in memory.
    pub seen: Ctx,
}

/// What was written.
pub(super) enum Outcome {
    /// Nothing: the event is nobody's.
    Nobody,
    /// Nothing: it comes from another process than the agent, which is alive.
    Stranger(AgentId),
    /// Nothing: a launched agent ends with its process.
    Outlives,
    /// The end of these.
    Ended(Vec<AgentId>),
    /// What there is of these: the main agent, and the sub-agent it was of.
    There(Box<There>),
}

pub(super) struct There {
    main: Agent,
    sub: Option<Agent>,
    sightings: Vec<(AgentId, Sighting)>,
    before: Option<Box<Before>>,
    ended: Vec<AgentId>,
}

impl Written {
    pub(super) fn write(&self, tx: &mut Tx<'_>) -> Result<Outcome, Failure> {
        let it = &self.it;
        if let Some(launched) = it.launched
            && tx.agent(launched)?.is_none_or(|agent| agent.ended.is_some())
        {
            return Ok(Outcome::Outlives);
        }
        let known = self.known(tx)?;
        let record = known.as_ref().map(|(agent, sighting)| {
            let process = sighting.as_ref().and_then(|sighting| sighting.process.as_ref());
            let lives = process.is_some_and(|process| self.processes.life(process) != Life::Gone);
            Known { agent, process, lives, seen: sighting.as_ref().map(|sighting| sighting.at) }
        });
        let kept_since = it.was_kept.then_some(it.at);
        let told = link::Told { begins: it.begins(), process: it.process.as_ref(), launched: it.launched, kept_since };
        match can_register(&told, record.as_ref()) {
            Registering::Nobody => Ok(Outcome::Nobody),
            Registering::Stranger(agent) => Ok(Outcome::Stranger(agent)),
            Registering::There(agent) if !it.begins() => self.end(tx, agent),
            Registering::There(agent) => self.there(tx, agent, known, false),
            Registering::Again(agent) => self.there(tx, agent, known, true),
            Registering::New => self.there(tx, self.fresh[0], None, true),
        }
    }

    /// The agent of the session, with what was seen of it.
    fn known(&self, tx: &Tx<'_>) -> Result<Option<(Agent, Option<Sighting>)>, Failure> {
        let machine = tx.machine();
        if self.it.session.id.is_some() {
            let Some(agent) = tx.agent_of_session(machine, &self.it.session)? else { return Ok(None) };
            let sighting = self.sighting(tx, agent.id)?;
            return Ok(Some((agent, sighting)));
        }
        for agent in
            tx.live_agents()?.into_iter().filter(|agent| agent.machine == machine && agent.session.as_ref() == Some(&self.it.session))
        {
            let sighting = self.sighting(tx, agent.id)?;
            if sighting.as_ref().is_some_and(|sighting| sighting.process == self.it.process) {
                return Ok(Some((agent, sighting)));
            }
        }
        Ok(None)
    }

    fn sighting(&self, tx: &Tx<'_>, agent: AgentId) -> Result<Option<Sighting>, StoreError> {
        match self.seen.roster.get(agent).filter(|member| member.is_sighted) {
            Some(member) => Ok(Some(member.sighting.clone())),
            None => tx.sighting(agent),
        }
    }

    /// An end that was kept while no node listened does not end what was there later.
    fn end(&self, tx: &mut Tx<'_>, main: AgentId) -> Result<Outcome, Failure> {
        if self.sighting(tx, main)?.is_some_and(|sighting| sighting.at > self.it.at) {
            return Ok(Outcome::Nobody);
        }
        if let Some(session) = self.it.sub_session() {
            let sub = tx.agent_of_session(tx.machine(), &session)?.filter(|sub| sub.ended.is_none());
            return sub.map_or(Ok(Outcome::Nobody), |sub| self.end_session(tx, sub.id));
        }
        if tx.require_agent(main)?.launch.is_some() {
            return Ok(Outcome::Outlives);
        }
        self.end_session(tx, main)
    }

    /// What was seen last of a session is its end, and when that was: it may have been kept since.
    fn end_session(&self, tx: &mut Tx<'_>, agent: AgentId) -> Result<Outcome, Failure> {
        if let Some(mut sighting) = self.sighting(tx, agent)? {
            sighting.at = sighting.at.max(self.it.at);
            tx.note_sighting(agent, &sighting)?;
        }
        Ok(Outcome::Ended(tx.end_agent(agent, &EndHow::SessionOver)?))
    }

    fn there(&self, tx: &mut Tx<'_>, main: AgentId, known: Option<(Agent, Option<Sighting>)>, is_new: bool) -> Result<Outcome, Failure> {
        let mut ended = Vec::new();
        if let Some(agent) = &self.over {
            ended.extend(tx.end_agent(*agent, &EndHow::SessionOver)?);
        }
        for (agent, before) in &self.back {
            if let Some(sighting) = &before.sighting {
                tx.note_sighting(*agent, sighting)?;
            }
            ended.extend(tx.end_agent(*agent, &before.end)?);
        }
        let before = self.before(main, known.as_ref(), is_new);
        let mut sightings = vec![self.main(tx, main, is_new)?];
        let sub = self.sub(tx, main)?;
        let sub = sub.map(|(id, sighting)| {
            sightings.push((id, sighting));
            tx.require_agent(id)
        });
        Ok(Outcome::There(Box::new(There { main: tx.require_agent(main)?, sub: sub.transpose()?, sightings, before, ended })))
    }

    /// What an agent was before this event, when all that its session says by it is that it starts.
    fn before(&self, main: AgentId, known: Option<&(Agent, Option<Sighting>)>, is_new: bool) -> Option<Box<Before>> {
        if !is_new || !self.it.starts() || self.it.launched.is_some() {
            return None;
        }
        let known = known.filter(|(agent, _)| agent.id == main);
        Some(Box::new(match known {
            None => Before { end: EndHow::SessionOver, sighting: None },
            Some((agent, sighting)) => {
                let end = agent.ended.as_ref().map_or(EndHow::Gone, |end| end.how.clone());
                Before { end, sighting: sighting.clone() }
            }
        }))
    }

    /// Registers the main agent if anything is new of it, and answers what is seen of it now.
    fn main(&self, tx: &mut Tx<'_>, id: AgentId, is_new: bool) -> Result<(AgentId, Sighting), Failure> {
        let it = &self.it;
        let known = tx.agent(id)?;
        let mut sighting = self.sighting(tx, id)?.unwrap_or_default();
        let is_elsewhere = sighting.process != it.process;
        sighting.process.clone_from(&it.process);
        let is_main = it.event.sub_agent.is_none();
        if is_main {
            it.sight(&mut sighting);
        } else {
            sighting.at = sighting.at.max(it.at);
        }
        let says = is_main || known.is_none();
        let whereabouts = if says { self.whereabouts.clone() } else { Whereabouts::default() };
        let registration = self.registration(tx, id, it.session.clone(), None, &whereabouts, says)?;
        sighting.folder = whereabouts.folder.or(sighting.folder);
        if is_new || is_elsewhere || is_told_apart(known.as_ref(), &registration) {
            tx.register(registration, &sighting)?;
        } else {
            tx.note_sighting(id, &sighting)?;
        }
        Ok((id, sighting))
    }

    /// The same for the sub-agent that the event is of.
    fn sub(&self, tx: &mut Tx<'_>, parent: AgentId) -> Result<Option<(AgentId, Sighting)>, Failure> {
        let Some(session) = self.it.sub_session() else { return Ok(None) };
        let known = tx.agent_of_session(tx.machine(), &session)?.filter(|sub| sub.parent == Some(parent));
        let id = known.as_ref().map_or(self.fresh[1], |sub| sub.id);
        let mut sighting = self.sighting(tx, id)?.unwrap_or_default();
        self.it.sight(&mut sighting);
        let registration = self.registration(tx, id, session, Some(parent), &self.whereabouts, true)?;
        sighting.folder = self.whereabouts.folder.clone().or(sighting.folder);
        let is_new = known.as_ref().is_none_or(|sub| sub.ended.is_some());
        if is_new || is_told_apart(known.as_ref(), &registration) {
            tx.register(registration, &sighting)?;
        } else {
            tx.note_sighting(id, &sighting)?;
        }
        Ok(Some((id, sighting)))
    }

    fn registration(
        &self,
        tx: &Tx<'_>,
        agent: AgentId,
        session: HostSession,
        parent: Option<AgentId>,
        whereabouts: &Whereabouts,
        says: bool,
    ) -> Result<Registration, StoreError> {
        let place = whereabouts.place(tx, tx.machine())?;
        let model = self.it.event.model.clone().filter(|_| says);
        Ok(Registration { agent, session, parent, model, folder: whereabouts.folder.clone(), place })
    }

    /// Brings what is in memory in line with what was written.
    pub(super) fn note(self, ctx: &Ctx, turn: Turn, outcome: Outcome) -> Option<Heard> {
        let there = match outcome {
            Outcome::Nobody | Outcome::Outlives => return None,
            Outcome::Stranger(agent) => {
                let (host, event) = (&self.it.event.host, &self.it.event.event);
                tracing::warn!(%agent, host, event, "a hook speaks for a session that runs in another process, and is not believed");
                return None;
            }
            Outcome::Ended(agents) => {
                agents.iter().for_each(|agent| ctx.roster.end(turn, *agent));
                ctx.roster.end_recorded();
                return None;
            }
            Outcome::There(there) => *there,
        };
        let There { main, sub, sightings, before, ended } = there;
        ended.iter().for_each(|agent| ctx.roster.end(turn, *agent));
        let agent = sub.as_ref().map_or(main.id, |sub| sub.id);
        let mut before = before;
        for (record, (_, sighting)) in [Some(main), sub].into_iter().flatten().zip(sightings) {
            self.enlist(ctx, turn, &record, sighting, before.take());
        }
        let member = ctx.roster.get(agent)?;
        tracing::info!(%agent, host = member.host, place = ?member.place, "an agent is there");
        Some(self.it.see(ctx, &member))
    }

    fn enlist(&self, ctx: &Ctx, turn: Turn, record: &Agent, sighting: Sighting, before: Option<Box<Before>>) {
        let known = ctx.roster.get(record.id);
        let is_the_one = record.session.as_ref().is_some_and(|session| session.sub_agent == self.it.event.sub_agent);
        let tells = known.is_none() || (is_the_one && self.whereabouts.folder.is_some());
        let main_folder = if tells { &self.whereabouts.main_folder } else { &known.as_ref().and_then(|known| known.main_folder.clone()) };
        let told = self.it.event.folder.clone().filter(|_| is_the_one);
        let member = Member {
            oversees: known.as_ref().is_some_and(|known| known.oversees),
            terminal: known.as_ref().map_or_else(|| Member::of(record, None).terminal, |known| known.terminal.clone()),
            main_folder: main_folder.clone(),
            told_folder: told.or_else(|| known.as_ref().and_then(|known| known.told_folder.clone())),
            is_told: known.as_ref().is_some_and(|known| known.is_told),
            before: before.or_else(|| known.as_ref().and_then(|known| known.before.clone())),
            ..Member::of(record, Some(sighting))
        };
        ctx.roster.register(turn, member);
    }
}

/// Whether a registration says what the record does not.
fn is_told_apart(known: Option<&Agent>, said: &Registration) -> bool {
    let Some(known) = known else { return true };
    let moved = known.launch.is_none() && said.folder.is_some() && said.place != known.place;
    let session = known.launch.is_none() && known.session.as_ref() != Some(&said.session);
    moved || session || (said.model.is_some() && said.model != known.model)
}
