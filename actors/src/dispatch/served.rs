//! Calls that an MCP server passes on: whoever it works for is the caller, and nobody else ever is.
//!
//! A person is never found here. What cannot be linked is refused, since a server that counted as a person would let any agent
//! speak as one.

use frith_store::{
    id::{AgentId, PlaceId},
    refusal::Refusal,
    rules::named,
};

use super::{Answer, reply};
use crate::{
    api::agents::{LinkedBy, Offers},
    call::{Envelope, Failed, Server},
    caller::{Caller, Identified, Who},
    linking::{self, Wanted},
    node::Node,
    registry,
};

impl Node {
    /// The agent for which a server passes a call on: the main agent of the session, or the sub-agent of it that the host says calls.
    pub(super) async fn served(&self, peer: Option<u32>, envelope: &Envelope, server: &Server) -> Result<Caller, Failed> {
        let (main, linked_by) = self.main_agent(peer, envelope, server, false).await?;
        self.require_entered_for(main, server).await?;
        let calls = server.by.as_ref().and_then(|by| self.ctx().roster.caller_of(main, by));
        let (id, is_exact) = calls.map_or((main, false), |member| (member.id, true));
        self.hear_of(id);
        let place = registry::place_now(self.ctx(), id).await?;
        let oversees = self.ctx().roster.get(main).is_some_and(|member| member.oversees);
        let who = Who::Agent { id, place, oversees };
        Ok(Caller { who, linked_by, other: None, folder: envelope.folder.clone(), here: self.here(), is_exact })
    }

    /// A call is a sign of life, and of a host without hooks the only one.
    fn hear_of(&self, agent: AgentId) {
        let now = self.ctx().env.clock.now();
        if self.ctx().roster.see(agent, |member| member.sighting.at = member.sighting.at.max(now)) {
            self.saw(agent);
        }
    }

    /// What the processes above a server say of it, where that is an agent of its own host; else whom it is linked to. What its
    /// environment says only chooses among agents that are as near.
    async fn main_agent(
        &self,
        peer: Option<u32>,
        envelope: &Envelope,
        server: &Server,
        only_looks: bool,
    ) -> Result<(AgentId, LinkedBy), Failed> {
        let Identified { who, linked_by, .. } = self.who(peer, &envelope.claims).await?;
        if let Who::Agent { id, .. } = who
            && self.ctx().roster.get(id).is_some_and(|member| member.host == server.host)
        {
            return Ok((id, linked_by));
        }
        let wanted = Wanted { host: &server.host, folder: envelope.folder.as_ref(), claims: &envelope.claims, only_looks };
        let found = linking::link(self.ctx(), peer, &wanted).await?;
        Ok((found.agent, found.way))
    }

    /// An entry that names a place is for agents of that place, or of the one it was merged into: one that a repository carries
    /// along must not make an agent speak for another place.
    async fn require_entered_for(&self, agent: AgentId, server: &Server) -> Result<(), Failed> {
        let Some(entered) = server.place else { return Ok(()) };
        let own = registry::place_now(self.ctx(), agent).await?;
        let refused = self.ctx().db.read(move |view| {
            if view.place(entered)?.is_some() && Some(view.resolve(entered)?) == own {
                return Ok(None);
            }
            let own = own.map(|own| view.require_place(own)).transpose()?;
            Ok(Some(Refusal::OtherEntry { entered, own: own.as_ref().map(named) }))
        });
        refused.await?.map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// What a server has to offer. Until its session is known, the folder it was started in says which place it will be of.
    pub(super) async fn offer(&self, peer: Option<u32>, envelope: &Envelope) -> Result<Answer, Failed> {
        let server = envelope.claims.server.clone().unwrap_or_default();
        let agent = match self.main_agent(peer, envelope, &server, true).await {
            Ok((agent, _)) => Some(agent),
            Err(Failed::Refused(_)) => None,
            Err(broken) => return Err(broken),
        };
        let place = match agent {
            Some(agent) => registry::place_now(self.ctx(), agent).await?,
            None => self.place_around(envelope).await?,
        };
        let config = self.ctx().config.now();
        reply(&Offers { agent, agents: config.agents_enabled, place, worktrees: config.worktrees_enabled })
    }

    async fn place_around(&self, envelope: &Envelope) -> Result<Option<PlaceId>, Failed> {
        let whereabouts = registry::look(self.ctx(), envelope.folder.clone()).await;
        let here = self.here();
        Ok(self.ctx().db.read(move |view| Ok(whereabouts.place(view, here)?)).await?)
    }
}
