//! Agents and machines.

use super::{ReplacedRow, Space, View, session_key};
use crate::{
    error::{Failure, StoreError},
    id::{AgentId, MachineId, PlaceId},
    model::{Agent, HostSession, Machine},
    refusal::{Refusal, What},
    rows::{Table, get_as},
};

impl View<'_> {
    /// An agent, also an ended one.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        self.row(Space::Agent, id.as_bytes())
    }

    /// An agent that has to be known.
    ///
    /// # Errors
    /// Refused when it is not known.
    pub fn require_agent(&self, id: AgentId) -> Result<Agent, Failure> {
        Ok(self.agent(id)?.ok_or_else(|| Refusal::Unknown { what: What::Agent, given: id.to_string() })?)
    }

    /// The agent that a host's session on a machine is, also an ended one.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn agent_of_session(&self, machine: MachineId, session: &HostSession) -> Result<Option<Agent>, StoreError> {
        let id: Option<AgentId> = get_as(self.rows, Table::Views, &session_key(machine, session)?, Space::Session.word())?;
        id.map(|id| self.agent(id)).transpose().map(Option::flatten)
    }

    /// The sub-agents of an agent, also ended ones, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn sub_agents(&self, of: AgentId) -> Result<Vec<Agent>, StoreError> {
        let mut agents = self.agents()?;
        agents.retain(|agent| agent.parent == Some(of));
        Ok(agents)
    }

    /// Every agent, also ended ones, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn agents(&self) -> Result<Vec<Agent>, StoreError> {
        self.values(&Space::Agent.key(), Space::Agent)
    }

    /// The agents that did not end, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn live_agents(&self) -> Result<Vec<Agent>, StoreError> {
        let ids = self.ids(&Space::LiveAgent.key(), Space::LiveAgent)?;
        ids.into_iter().map(|id| self.agent(AgentId::from_bytes(id))).filter_map(Result::transpose).collect()
    }

    /// The agent that was launched in a place and did not end.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn agent_in(&self, place: PlaceId) -> Result<Option<Agent>, StoreError> {
        let ids = self.ids(&Space::AgentIn.key().bytes(place.as_bytes()), Space::AgentIn)?;
        ids.first().map(|id| self.agent(AgentId::from_bytes(*id))).transpose().map(Option::flatten)
    }

    /// Every agent of a place, also ended ones, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn agents_of(&self, place: PlaceId) -> Result<Vec<Agent>, StoreError> {
        let mut agents = self.agents()?;
        agents.retain(|agent| agent.place == Some(place));
        Ok(agents)
    }

    /// A machine of the team.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn machine(&self, id: MachineId) -> Result<Option<Machine>, StoreError> {
        self.row(Space::Machine, id.as_bytes())
    }

    /// The machines of the team, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn machines(&self) -> Result<Vec<Machine>, StoreError> {
        self.values(&Space::Machine.key(), Space::Machine)
    }

    /// The machines of the team in whose place no other goes on, by id.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn members(&self) -> Result<Vec<Machine>, StoreError> {
        let mut members = Vec::new();
        for machine in self.machines()? {
            if self.replaced(machine.id)?.is_none() {
                members.push(machine);
            }
        }
        Ok(members)
    }

    /// The machine that goes on in the place of this one, if one does.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn successor(&self, machine: MachineId) -> Result<Option<MachineId>, StoreError> {
        Ok(self.replaced(machine)?.map(|row| row.by))
    }

    pub(crate) fn replaced(&self, machine: MachineId) -> Result<Option<ReplacedRow>, StoreError> {
        self.row(Space::Replaced, machine.as_bytes())
    }
}
