//! Registration: from what a host's hook tells to the agent that its session is (agents.md, "The id" and "Hooks").
//!
//! An event of a session that is known, is where it was and says nothing new is taken in within memory. Everything else is decided
//! and written in one transaction, so the same session is never two agents, and is in memory only after that.

mod there;
mod whereabouts;
mod written;

use std::sync::Arc;

use frith_store::{
    error::Failure,
    id::{AgentId, PlaceId},
    model::{HostSession, ProcessRef, Sighting},
    rules::link::{Above, LaunchedAbove, host_process, kept_ancestors, own_host_process},
    time::Timestamp,
};

use self::written::Written;
use crate::{
    api::agents::{Event, EventClass},
    ctx::Ctx,
    env::process::Life,
    roster::{Before, Member},
};

pub use self::{
    there::{end_gone, end_if_gone, place_now, take_up},
    whereabouts::{Whereabouts, look},
};

/// The word with which hosts say that a session follows another one whose context was cleared.
const CLEARED: &str = "clear";

/// An event, with what stood above the hook that told it.
#[derive(Debug, Clone)]
pub struct Told {
    /// What it told.
    pub event: Event,
    /// What stood above the hook.
    pub from: From,
    /// When.
    pub at: Timestamp,
}

/// What stood above a hook.
#[derive(Debug, Clone)]
pub enum From {
    /// The processes, nearest first: the hook waits for its answer.
    Line(Vec<Above>),
    /// What the hook itself noted of them while no node listened.
    Noted {
        /// The process of its host.
        process: ProcessRef,
        /// The first processes above it.
        ancestors: Vec<ProcessRef>,
    },
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The agent that it was of: a sub-agent when it was of one.
    pub agent: AgentId,
    /// Its place.
    pub place: Option<PlaceId>,
    /// Whether it is to be told now what it is and has.
    pub is_to_be_told: bool,
    /// Whether something was seen that is not written down, and nobody was told to.
    pub is_unwritten: bool,
}

/// Takes an event in. None when it registers nobody, is a stranger's, or ended somebody.
///
/// # Errors
/// The store broke.
pub async fn take_in(ctx: &Ctx, told: Told) -> Result<Option<Heard>, Failure> {
    let Some(incoming) = Incoming::of(ctx, told) else { return Ok(None) };
    match incoming.quickly(ctx) {
        Some(heard) => Ok(Some(heard)),
        None => incoming.thoroughly(ctx).await,
    }
}

/// An event with the session and the process that it is of.
struct Incoming {
    event: Event,
    at: Timestamp,
    /// The session's main agent, as the host names it.
    session: HostSession,
    process: Option<ProcessRef>,
    ancestors: Vec<ProcessRef>,
    /// The launched agent whose own host tells it.
    launched: Option<AgentId>,
    /// Whether it was kept until now, so that what was heard before may have happened after it.
    was_kept: bool,
}

impl Incoming {
    /// None where no host started the hook, and where the host has no ids of sessions and its process is not known: nothing tells its
    /// sessions apart then.
    fn of(ctx: &Ctx, told: Told) -> Option<Self> {
        let Told { event, from, at } = told;
        let session = HostSession { host: event.host.clone(), id: event.session.clone(), sub_agent: None };
        let was_kept = matches!(from, From::Noted { .. });
        let (process, ancestors, launched) = match from {
            From::Line(line) => {
                let own = launched_above(ctx, &event, &line);
                let process = own.as_ref().map(|(_, process)| process.clone()).or_else(|| host_process(&line).cloned());
                if process.is_none() && !line.is_empty() {
                    return None;
                }
                (process, kept_ancestors(&line), own.map(|(agent, _)| agent))
            }
            From::Noted { process, ancestors } => {
                let launched = ctx.roster.launched().iter().find(|member| member.is_process(&process)).map(|member| member.id);
                (Some(process), ancestors, launched)
            }
        };
        let is_known = session.id.is_some() || process.is_some();
        is_known.then_some(Self { event, at, session, process, ancestors, launched, was_kept })
    }

    fn sub_session(&self) -> Option<HostSession> {
        let sub_agent = self.event.sub_agent.clone()?;
        Some(HostSession { sub_agent: Some(sub_agent), ..self.session.clone() })
    }

    fn begins(&self) -> bool {
        !matches!(self.event.class, EventClass::End | EventClass::SubStop)
    }

    fn starts(&self) -> bool {
        self.event.class == EventClass::Start
    }

    fn clears(&self) -> bool {
        self.starts() && self.event.source.as_deref() == Some(CLEARED)
    }

    /// Takes the event in within memory, if it says nothing new.
    fn quickly(&self, ctx: &Ctx) -> Option<Heard> {
        if !self.begins() || self.clears() {
            return None;
        }
        let main = ctx.roster.of_session(&self.session, self.process.as_ref())?;
        let is_its_own = self.launched.map_or(!main.is_launched, |launched| launched == main.id);
        if !is_its_own || main.sighting.process != self.process {
            return None;
        }
        let agent = match self.sub_session() {
            Some(session) => ctx.roster.of_session(&session, None)?,
            None => main.clone(),
        };
        let says_folder = self.event.folder.is_some() && self.event.folder != agent.told_folder;
        let says_model = self.event.model.is_some() && self.event.model != agent.model;
        if says_folder || says_model {
            return None;
        }
        if agent.id != main.id {
            ctx.roster.see(main.id, |main| main.sighting.at = main.sighting.at.max(self.at));
        }
        Some(self.see(ctx, &agent))
    }

    fn see(&self, ctx: &Ctx, agent: &Member) -> Heard {
        if let Some(tool_use) = self.event.tool_use.as_ref().filter(|_| self.event.class == EventClass::BeforeTool) {
            ctx.roster.begin_tool_use(agent.id, tool_use);
        }
        let is_to_be_told = self.tells(agent.is_told);
        let is_unwritten = ctx.roster.see(agent.id, |member| {
            self.sight(&mut member.sighting);
            if !self.starts() {
                member.before = None;
            }
        });
        Heard { agent: agent.id, place: agent.place, is_to_be_told, is_unwritten }
    }

    /// Whether an agent is told what it is: as it starts, and once if that could not be said then.
    fn tells(&self, is_told: bool) -> bool {
        let starts = matches!(self.event.class, EventClass::Start | EventClass::SubStart);
        self.event.takes_context && (starts || !is_told)
    }

    /// What is seen by this event. What it does not say stays as it was, and so does what was seen after it.
    fn sight(&self, sighting: &mut Sighting) {
        if self.was_kept && sighting.at > self.at {
            return;
        }
        sighting.at = sighting.at.max(self.at);
        if let Some(activity) = &self.event.activity {
            sighting.activity = Some(activity.clone());
        }
        match self.event.class {
            EventClass::Stop => sighting.at_prompt = Some(true),
            EventClass::Prompt | EventClass::BeforeTool | EventClass::Tool => sighting.at_prompt = Some(false),
            _ => {}
        }
        if !self.ancestors.is_empty() {
            sighting.ancestors.clone_from(&self.ancestors);
        }
    }

    async fn thoroughly(self, ctx: &Ctx) -> Result<Option<Heard>, Failure> {
        let whereabouts = look(ctx, self.event.folder.clone()).await;
        let written = Written {
            whereabouts: whereabouts.clone(),
            over: self.cleared(ctx),
            back: self.only_started(ctx),
            fresh: [AgentId::from_random(ctx.fresh_id()), AgentId::from_random(ctx.fresh_id())],
            processes: ctx.env.processes.clone(),
            seen: ctx.clone(),
            it: self,
        };
        let (outcome, turn, written) = ctx
            .db
            .write(move |tx| {
                let outcome = written.write(tx)?;
                Ok((outcome, written.seen.roster.turn(), written))
            })
            .await?;
        Ok(written.note(ctx, turn, outcome))
    }

    /// The agent whose session this one follows in its process. Of several nothing tells which it is, and the end of its session does.
    fn cleared(&self, ctx: &Ctx) -> Option<AgentId> {
        let mut beside = self.beside(ctx).filter(|member| self.clears() && !member.is_launched);
        beside.next().filter(|_| beside.next().is_none()).map(|member| member.id)
    }

    /// The agents whose sessions only said that they start, in whose process this one goes on without having said so: what started
    /// was this one, under the id of the session it was forked off.
    fn only_started(&self, ctx: &Ctx) -> Vec<(AgentId, Before)> {
        if self.starts() || !self.begins() || ctx.roster.of_session(&self.session, self.process.as_ref()).is_some() {
            return vec![];
        }
        self.beside(ctx).filter_map(|member| Some((member.id, *member.before.clone()?))).collect()
    }

    /// The main agents of other sessions of the host in the same process, of which nothing was seen after this.
    fn beside(&self, ctx: &Ctx) -> impl Iterator<Item = Arc<Member>> {
        let (session, process, before) = (self.session.clone(), self.process.clone(), self.was_kept.then_some(self.at));
        let members = if process.is_some() { ctx.roster.all() } else { vec![] };
        members.into_iter().filter(move |member| {
            let is_other = member.session.as_ref() != Some(&session) && member.host == session.host;
            let is_older = before.is_none_or(|before| member.sighting.at <= before);
            member.is_main() && is_other && is_older && member.sighting.process == process
        })
    }
}

/// The nearest launched agent above a hook, with its host process, if the hook is of its own host.
fn launched_above(ctx: &Ctx, event: &Event, line: &[Above]) -> Option<(AgentId, ProcessRef)> {
    let place = |member: &Arc<Member>| line.iter().position(|above| member.terminal.as_ref() == Some(&above.process));
    let launched = ctx.roster.launched();
    let member = launched.iter().filter(|member| place(member).is_some()).min_by_key(|member| place(member))?;
    let bound = member.sighting.process.as_ref().filter(|process| ctx.env.processes.life(process) != Life::Gone);
    let launched = LaunchedAbove { terminal: member.terminal.as_ref()?, bound, is_same_host: member.host == event.host };
    own_host_process(line, launched).map(|process| (member.id, process.clone()))
}
