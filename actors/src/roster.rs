//! The roster: the agents of this machine that have not ended, launched and registered alike, with what was seen of each. Callers
//! are told apart by it, and an event of a session that is known touches nothing else.
//!
//! It is memory. What must survive is in the store before it is here; what was only seen is written down now and then.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use frith_store::{
    id::{AgentId, PlaceId},
    model::{Agent, EndHow, HostSession, ProcessRef, Sighting},
    text::PathText,
};
use tokio::sync::watch;

use crate::{api::agents::LinkedBy, call::CalledBy, env::process::LaunchToken};

/// An agent of this machine that has not ended.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its id.
    pub id: AgentId,
    /// The kind it was launched as, or the host it registered from.
    pub host: String,
    /// The agent whose sub-agent it is.
    pub parent: Option<AgentId>,
    /// Its place; none when its folder is in none.
    pub place: Option<PlaceId>,
    /// Whether that is the supervisor workspace.
    pub oversees: bool,
    /// Whether a node launched it.
    pub is_launched: bool,
    /// The process in its terminal, once that is known, of one that a node launched.
    pub terminal: Option<ProcessRef>,
    /// The secret in its environment, of one that this run of the node launched.
    pub token: Option<LaunchToken>,
    /// The session it is; the last of those it was.
    pub session: Option<HostSession>,
    /// The model it runs.
    pub model: Option<String>,
    /// The folder that its host told last, as it was told.
    pub told_folder: Option<PathText>,
    /// The folder of its repository's main checkout that stands for its own, when it works in a linked worktree.
    pub main_folder: Option<PathText>,
    /// What was seen of it.
    pub sighting: Sighting,
    /// Whether anything was: nothing is of one that was launched and has no hooks.
    pub is_sighted: bool,
    /// Whether it was told what it is and has.
    pub is_told: bool,
    /// What it was before, while its session said no more than that it starts: its end, and what was seen of it then.
    pub before: Option<Box<Before>>,
}

/// What an agent was before its session said that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// How it had ended.
    pub end: EndHow,
    /// What was seen of it.
    pub sighting: Option<Sighting>,
}

impl Member {
    /// One that is known from its record, and of which nothing was seen in this run.
    pub fn of(agent: &Agent, sighting: Option<Sighting>) -> Self {
        Self {
            id: agent.id,
            host: agent.host.clone(),
            parent: agent.parent,
            place: agent.place,
            oversees: false,
            is_launched: agent.launch.is_some(),
            terminal: agent.launch.as_ref().and_then(|launch| launch.process.clone()),
            token: None,
            session: agent.session.clone(),
            model: agent.model.clone(),
            told_folder: None,
            main_folder: None,
            is_sighted: sighting.is_some(),
            sighting: sighting.unwrap_or_default(),
            is_told: true,
            before: None,
        }
    }

    /// Whether this is the process in its terminal, or that of its host.
    pub fn is_process(&self, process: &ProcessRef) -> bool {
        self.terminal.as_ref() == Some(process) || self.sighting.process.as_ref() == Some(process)
    }

    /// Whether it is the main agent of its session.
    pub fn is_main(&self) -> bool {
        self.parent.is_none()
    }
}

/// The agents of this machine that have not ended. Cheap to clone.
#[derive(Clone)]
pub struct Roster {
    inner: Arc<Mutex<Inner>>,
    /// How many turns there were.
    turns: Arc<AtomicU64>,
    ends: watch::Sender<()>,
}

/// The place of a write in the order of those that say who is there. Whoever is told of two in another order keeps to it by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u64);

/// Of how many tool calls of a session it is known which of its agents makes them. A host calls a tool right after it told so.
const TOOL_USES_KEPT: usize = 64;

/// For how many turns it is known when an agent that ended was written of last; nobody is told of a write so late.
const TURNS_KEPT: u64 = 4096;

/// Who is there at one moment, by which callers are told apart.
#[derive(Debug, Clone, Default)]
pub struct There {
    /// The agents that have not ended.
    pub members: Vec<Arc<Member>>,
    /// Processes that were linked to agents that they are not below, and how.
    pub links: BTreeMap<ProcessRef, (AgentId, LinkedBy)>,
    /// Processes of agents that ended.
    pub former: BTreeSet<ProcessRef>,
}

#[derive(Default)]
struct Inner {
    members: BTreeMap<AgentId, Arc<Member>>,
    /// Every session that leads to a member, also those it had before.
    sessions: BTreeMap<HostSession, AgentId>,
    /// Processes that were linked to a member they are not below.
    linked: BTreeMap<ProcessRef, (AgentId, LinkedBy)>,
    /// Processes of agents that ended: whatever still runs below them is no person's.
    former: BTreeSet<ProcessRef>,
    /// Those of which something was seen that is not written down.
    unwritten: BTreeSet<AgentId>,
    /// The write by which each is what it is here.
    written: BTreeMap<AgentId, Turn>,
    /// The last tool calls of each session, by its main agent: the host's ids of them, and which of its agents makes each.
    tool_uses: BTreeMap<AgentId, VecDeque<(String, AgentId)>>,
}

impl Inner {
    /// Whether nothing that was written later of an agent is here already.
    fn is_next(&mut self, agent: AgentId, turn: Turn) -> bool {
        let is_next = self.written.get(&agent).is_none_or(|last| *last < turn);
        if is_next {
            self.written.insert(agent, turn);
        }
        is_next
    }

    fn insert(&mut self, member: Member) {
        if let Some(process) = &member.sighting.process {
            self.former.remove(process);
        }
        if let Some(session) = member.session.clone().filter(|session| session.id.is_some()) {
            self.sessions.insert(session, member.id);
        }
        self.members.insert(member.id, Arc::new(member));
    }

    fn remove(&mut self, agent: AgentId) {
        let Self { members, sessions, linked, former, unwritten, written, tool_uses } = self;
        let own = members.get(&agent).filter(|member| member.is_main());
        former.extend(own.into_iter().flat_map(|member| [&member.terminal, &member.sighting.process]).flatten().cloned());
        former.extend(linked.iter().filter(|(_, (id, _))| *id == agent).map(|(process, _)| process.clone()));
        members.retain(|id, member| *id != agent && member.parent != Some(agent));
        sessions.retain(|_, id| members.contains_key(id));
        linked.retain(|_, (id, _)| members.contains_key(id));
        unwritten.retain(|id| members.contains_key(id));
        tool_uses.retain(|id, _| members.contains_key(id));
        let last = written.values().max().map_or(0, |turn| turn.0);
        written.retain(|id, turn| members.contains_key(id) || turn.0 + TURNS_KEPT > last);
    }
}

impl Default for Roster {
    fn default() -> Self {
        Self { inner: Arc::default(), turns: Arc::default(), ends: watch::Sender::new(()) }
    }
}

impl Roster {
    /// The next turn. To be asked for within a write, which are done one after the other.
    pub fn turn(&self) -> Turn {
        Turn(self.turns.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// An agent is being started, or was there before this node.
    pub fn insert(&self, member: Member) {
        self.lock().insert(member);
    }

    /// A write registered an agent. One that was ended by a later write is not there any more.
    pub fn register(&self, turn: Turn, member: Member) {
        let mut inner = self.lock();
        if inner.is_next(member.id, turn) {
            inner.insert(member);
        }
    }

    /// The process in a launched agent's terminal runs now.
    pub fn started(&self, agent: AgentId, process: ProcessRef) {
        self.change(agent, |member| member.terminal = Some(process));
    }

    /// Whether a launched agent's process runs.
    pub fn is_running(&self, agent: AgentId) -> bool {
        self.get(agent).is_some_and(|member| member.terminal.is_some())
    }

    /// An agent has ended, and its sub-agents with it. Its processes stay known until they are gone.
    pub fn remove(&self, agent: AgentId) {
        self.lock().remove(agent);
    }

    /// A write ended an agent, and its sub-agents with it. One that a later write registered again is there.
    pub fn end(&self, turn: Turn, agent: AgentId) {
        let mut inner = self.lock();
        if inner.is_next(agent, turn) {
            inner.remove(agent);
        }
    }

    /// An end is on disk.
    pub fn end_recorded(&self) {
        self.ends.send_replace(());
    }

    /// Changes whenever an end is on disk.
    pub fn ends(&self) -> watch::Receiver<()> {
        self.ends.subscribe()
    }

    /// One of them.
    pub fn get(&self, agent: AgentId) -> Option<Arc<Member>> {
        self.lock().members.get(&agent).cloned()
    }

    /// The agent that a session is; one whose host has no ids of sessions is found by its process.
    pub fn of_session(&self, session: &HostSession, process: Option<&ProcessRef>) -> Option<Arc<Member>> {
        let inner = self.lock();
        if session.id.is_some() {
            return inner.sessions.get(session).and_then(|id| inner.members.get(id)).cloned();
        }
        let process = process?;
        inner
            .members
            .values()
            .find(|member| member.session.as_ref() == Some(session) && member.sighting.process.as_ref() == Some(process))
            .cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Member>> {
        self.lock().members.values().cloned().collect()
    }

    /// All that callers are told apart by, as it is at one moment.
    pub fn there(&self) -> There {
        let inner = self.lock();
        There { members: inner.members.values().cloned().collect(), links: inner.linked.clone(), former: inner.former.clone() }
    }

    /// The processes of agents that ended.
    pub fn former(&self) -> Vec<ProcessRef> {
        self.lock().former.iter().cloned().collect()
    }

    /// These are processes of agents that ended before.
    pub fn keep_former(&self, processes: impl IntoIterator<Item = ProcessRef>) {
        self.lock().former.extend(processes);
    }

    /// These processes are gone.
    pub fn forget_former(&self, gone: &[ProcessRef]) {
        self.lock().former.retain(|process| !gone.contains(process));
    }

    /// Those that nodes launched.
    pub fn launched(&self) -> Vec<Arc<Member>> {
        self.lock().members.values().filter(|member| member.is_launched).cloned().collect()
    }

    /// Changes what is known of one. Answers it as it is then.
    pub fn change(&self, agent: AgentId, change: impl FnOnce(&mut Member)) -> Option<Arc<Member>> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&agent)?;
        change(Arc::make_mut(member));
        Some(Arc::clone(member))
    }

    /// Something was seen of one. Answers whether all that was seen before is written down, so that whoever writes it is to be told.
    pub fn see(&self, agent: AgentId, change: impl FnOnce(&mut Member)) -> bool {
        let changed = self.change(agent, |member| {
            change(member);
            member.is_sighted = true;
        });
        changed.is_some() && self.lock().unwritten.insert(agent)
    }

    /// What was seen of one and is not written down; it counts as written from now on.
    pub fn take_unwritten(&self, agent: AgentId) -> Option<Sighting> {
        let mut inner = self.lock();
        let is_unwritten = inner.unwritten.remove(&agent);
        is_unwritten.then(|| inner.members.get(&agent).map(|member| member.sighting.clone())).flatten()
    }

    /// Those of which something was seen that is not written down.
    pub fn unwritten(&self) -> Vec<AgentId> {
        self.lock().unwritten.iter().copied().collect()
    }

    /// What was seen of each.
    pub fn sightings(&self) -> BTreeMap<AgentId, Sighting> {
        let inner = self.lock();
        inner.members.values().filter(|member| member.is_sighted).map(|member| (member.id, member.sighting.clone())).collect()
    }

    /// A process was linked to an agent that it is not below, in this way.
    pub fn link(&self, process: ProcessRef, agent: AgentId, way: LinkedBy) {
        self.lock().linked.insert(process, (agent, way));
    }

    /// An agent is about to make the tool call with this id of its host.
    pub fn begin_tool_use(&self, agent: AgentId, tool_use: &str) {
        let mut inner = self.lock();
        let Some(main) = inner.members.get(&agent).map(|member| member.parent.unwrap_or(agent)) else { return };
        let uses = inner.tool_uses.entry(main).or_default();
        uses.retain(|(known, _)| known != tool_use);
        if uses.len() == TOOL_USES_KEPT {
            uses.pop_front();
        }
        uses.push_back((tool_use.to_owned(), agent));
    }

    /// The agent of a session that calls, the main agent or a sub-agent of it; none where that is not known.
    pub fn caller_of(&self, main: AgentId, by: &CalledBy) -> Option<Arc<Member>> {
        let inner = self.lock();
        let id = match by {
            CalledBy::ToolUse(tool_use) => inner.tool_uses.get(&main)?.iter().rev().find(|(known, _)| known == tool_use).map(|it| it.1),
            CalledBy::Agent(named) => {
                let is_named = |member: &&Arc<Member>| {
                    let session = member.session.as_ref();
                    match member.parent {
                        None => member.id == main && session.is_some_and(|session| session.id.as_ref() == Some(named)),
                        Some(parent) => parent == main && session.is_some_and(|session| session.sub_agent.as_ref() == Some(named)),
                    }
                };
                inner.members.values().find(is_named).map(|member| member.id)
            }
        };
        inner.members.get(&id?).filter(|member| member.id == main || member.parent == Some(main)).cloned()
    }

    /// Processes that were linked are gone.
    pub fn unlink(&self, gone: &[ProcessRef]) {
        self.lock().linked.retain(|process, _| !gone.contains(process));
    }

    /// Which processes are linked to agents that they are not below, and how that was told.
    pub fn links(&self) -> BTreeMap<ProcessRef, (AgentId, LinkedBy)> {
        self.lock().linked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use frith_store::{id::MachineId, time::Timestamp};

    use super::*;

    fn id(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    fn process() -> ProcessRef {
        ProcessRef { pid: 7, started: "boot/7".into() }
    }

    fn member(n: u8) -> Member {
        let agent = Agent {
            id: id(n),
            host: "claude".into(),
            model: None,
            session: None,
            parent: None,
            machine: MachineId::from_bytes([1; 8]),
            place: None,
            folder: None,
            started: Timestamp::default(),
            ended: None,
            launch: None,
        };
        Member::of(&agent, Some(Sighting { process: Some(process()), ..Sighting::default() }))
    }

    #[test]
    fn who_is_there_follows_the_order_of_the_writes_and_not_that_in_which_they_are_told() {
        let roster = Roster::default();
        let [registered, ended, resumed, over] = [(); 4].map(|()| roster.turn());
        roster.end(ended, id(2));
        roster.register(registered, member(2));
        assert!(roster.get(id(2)).is_none(), "its end was written later");
        roster.register(resumed, member(2));
        roster.end(ended, id(2));
        assert!(roster.get(id(2)).is_some(), "it was there again after that");
        roster.end(over, id(2));
        assert!(roster.get(id(2)).is_none());
    }

    #[test]
    fn a_tool_call_is_that_of_the_agent_that_its_hook_told_of_and_of_nobody_elses_session() {
        let roster = Roster::default();
        roster.insert(member(2));
        roster.insert(Member { parent: Some(id(2)), ..member(3) });
        roster.insert(member(4));
        let caller = |main: u8, tool_use: &str| roster.caller_of(id(main), &CalledBy::ToolUse(tool_use.into())).map(|member| member.id);
        roster.begin_tool_use(id(3), "toolu_1");
        roster.begin_tool_use(id(2), "toolu_2");
        assert_eq!((caller(2, "toolu_1"), caller(2, "toolu_2"), caller(2, "toolu_3")), (Some(id(3)), Some(id(2)), None));
        assert_eq!(caller(4, "toolu_1"), None);
        for number in 0..TOOL_USES_KEPT {
            roster.begin_tool_use(id(2), &format!("later_{number}"));
        }
        assert_eq!(caller(2, "toolu_1"), None, "only the last ones are known");
    }

    #[test]
    fn the_process_of_an_agent_that_ended_is_known_until_another_has_it_or_it_is_gone() {
        let roster = Roster::default();
        roster.insert(member(2));
        roster.remove(id(2));
        assert_eq!(roster.former(), [process()]);
        roster.insert(member(3));
        assert_eq!(roster.former(), []);
        roster.remove(id(3));
        roster.forget_former(&[process()]);
        assert_eq!(roster.former(), []);
    }
}
