//! Agents: their registration, their end, and what this machine has seen of them.

use super::Tx;
use crate::{
    docs::log::Fact,
    error::StoreError,
    id::{AgentId, PlaceId},
    model::{EndHow, HostSession, Sighting},
    rules::presence::is_forgotten,
    text::PathText,
};

/// A session that registers, or one that had and is there again.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The agent that it is.
    pub agent: AgentId,
    /// The session.
    pub session: HostSession,
    /// The agent whose sub-agent it is.
    pub parent: Option<AgentId>,
    /// The model it runs; none where nothing is said of it now.
    pub model: Option<String>,
    /// Where it works; none where nothing is said of it now.
    pub folder: Option<PathText>,
    /// The place of that folder.
    pub place: Option<PlaceId>,
}

impl Tx<'_> {
    /// Registers a session: whatever ended its agent before counts no more.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn register(&mut self, registration: Registration, sighting: &Sighting) -> Result<(), StoreError> {
        let agent = registration.agent;
        self.move_agent(registration)?;
        self.note_sighting(agent, sighting)
    }

    /// Records where a registered agent works now.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn move_agent(&mut self, registration: Registration) -> Result<(), StoreError> {
        let Registration { agent, session, parent, model, folder, place } = registration;
        self.append(Fact::Registered { agent, session, parent, model, folder, place })
    }

    /// Ends an agent and its sub-agents, those of them that have not ended. Answers which did.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn end_agent(&mut self, agent: AgentId, how: &EndHow) -> Result<Vec<AgentId>, StoreError> {
        let there = self.live_agents()?;
        let its = there.iter().filter(|one| one.id == agent || one.parent == Some(agent)).map(|one| one.id);
        let its: Vec<AgentId> = its.collect();
        for one in &its {
            self.append(Fact::End { agent: *one, how: how.clone() })?;
        }
        Ok(its)
    }

    /// Forgets what was seen of agents that ended long ago.
    ///
    /// # Errors
    /// The rows cannot be read or removed.
    pub fn forget_old_sightings(&mut self) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        for id in self.sighted()? {
            let agent = self.agent(id)?;
            if agent.is_none_or(|agent| is_forgotten(agent.ended.as_ref(), self.now())) {
                self.forget_sighting(id)?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }
}
