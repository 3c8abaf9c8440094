//! Who calls, and what they may touch. Established from the kernel's word for the calling process, never from a field.

use frith_store::{
    error::{Failure, StoreError},
    id::{AgentId, MachineId, PlaceId, PlaceRef, Prefix},
    model::{By, HostSession, Place, PlaceKind, Task},
    refusal::Refusal,
    rules::{
        link::{Above, Program},
        moves::Standing,
        named,
    },
    text::PathText,
    view::View,
};

use crate::{
    api::{Askers, Effect, OperationInfo, agents::LinkedBy},
    call::Claims,
    env::process::{AGENT_VARIABLE, EnvMark, Pid, ProcessFacts, ProcessRef, Processes},
    roster::{Member, There},
};

/// How many processes above a caller are looked at.
const ANCESTORS: usize = 64;

/// The operations that speak for the caller itself: whoever names another agent in its environment is not answered as a person.
const FOR_ITSELF: &[&str] = &["whoami", "agent.statusSet", "agent.send", "agent.inbox"];

/// The operation that somebody may ask for who cannot be told: a host's script for a worktree that it has just made.
const NAMELESS: &str = "worktree.adopt";

/// What a launched agent's processes carry in their environment.
pub fn mark(agent: AgentId) -> EnvMark {
    EnvMark { name: AGENT_VARIABLE.into(), value: agent.to_string().into() }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A person, by user name.
    Person(String),
    /// An agent, and the place it works in.
    Agent {
        /// Its id.
        id: AgentId,
        /// Its place; none when its folder is in none, and then it sees none.
        place: Option<PlaceId>,
        /// Whether that is the supervisor workspace, whose agents see all.
        oversees: bool,
    },
    /// A process that cannot be placed: it only reads.
    Unplaced,
    /// One of several agents that share a process, and nothing tells which: it only reads.
    OneOf {
        /// Those agents.
        agents: Vec<AgentId>,
        /// The places they work in: nothing else is to be seen.
        places: Vec<PlaceId>,
    },
}

/// A caller with where it stands.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub who: Who,
    /// How that was told.
    pub linked_by: LinkedBy,
    /// The agent that its environment names and that it does not belong to.
    pub other: Option<String>,
    /// The folder it stands in.
    pub folder: Option<PathText>,
    /// The machine it calls on, which is this one.
    pub here: MachineId,
    /// Whether it is known that no sub-agent of it calls in its stead.
    pub is_exact: bool,
}

/// What callers are told apart by.
pub struct Asking<'a> {
    /// The processes of this machine.
    pub processes: &'a dyn Processes,
    /// The agents of this machine.
    pub there: &'a There,
    /// What the caller's environment says.
    pub claims: &'a Claims,
    /// This node's own process.
    pub own: u32,
    /// The user.
    pub user: &'a str,
}

/// Who was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// Who it is.
    pub who: Who,
    /// How that was told.
    pub linked_by: LinkedBy,
    /// The agent that the caller's environment names and that it does not belong to.
    pub other: Option<String>,
}

/// Tells who the process `pid` is: the agent whose process, or whose host's, is the caller or the nearest above it; one that was
/// launched and left its parents by the session of its terminal, and one that was started a moment ago by its token; else the person.
/// Where several agents share that process, what the environment says chooses among exactly those. What descends from this node and
/// is no known agent's cannot be placed, nor can what a living process of an agent that ended is above, nor what names a living agent
/// that it is not below.
pub fn identify(asking: &Asking<'_>, pid: Option<Pid>) -> Identified {
    let nobody = |who| Identified { who, linked_by: LinkedBy::Process, other: None };
    let Some(pid) = pid else { return nobody(Who::Unplaced) };
    let Ok(Some(itself)) = asking.processes.facts(pid) else { return nobody(Who::Unplaced) };
    let mut line: Vec<ProcessFacts> = std::iter::once(itself).chain(asking.processes.ancestors(pid, ANCESTORS)).collect();
    // A node that was started from an agent's shell is not that agent's: what it starts belongs to nobody above it.
    let node = line.iter().position(|facts| facts.process.pid == asking.own);
    line.truncate(node.map_or(line.len(), |at| at + 1));
    let (found, linked_by) = asking.found(&line);
    let other = asking.other(&line, &found);
    match found.as_slice() {
        [] if line.iter().any(|facts| facts.process.pid == asking.own || asking.there.former.contains(&facts.process)) => {
            nobody(Who::Unplaced)
        }
        [] => Identified { who: asking.without_agent(), other, ..nobody(Who::Unplaced) },
        [one] => Identified { who: agent(one), linked_by, other },
        several => match asking.chosen(several) {
            Some((one, linked_by)) => Identified { who: agent(one), linked_by, other },
            None => nobody(Who::OneOf {
                agents: several.iter().map(|member| member.id).collect(),
                places: several.iter().filter_map(|member| member.place).collect(),
            }),
        },
    }
}

fn agent(member: &Member) -> Who {
    Who::Agent { id: member.id, place: member.place, oversees: member.oversees }
}

impl<'a> Asking<'a> {
    /// The main agents that the caller may be.
    fn found(&self, line: &[ProcessFacts]) -> (Vec<&'a Member>, LinkedBy) {
        let nearest = line.iter().map(|facts| self.at(&facts.process)).find(|found| !found.is_empty());
        if let Some(found) = nearest {
            return (found, LinkedBy::Process);
        }
        let link = line.first().and_then(|itself| self.there.links.get(&itself.process));
        if let Some((member, way)) = link.and_then(|(agent, way)| Some((self.mains().find(|member| member.id == *agent)?, *way))) {
            return (vec![member], way);
        }
        if let Some(member) =
            line.first().and_then(|itself| self.mains().find(|member| is_session_of(self.processes, member, itself.session)))
        {
            return (vec![member], LinkedBy::Process);
        }
        let is_below_node = line.iter().any(|facts| facts.process.pid == self.own);
        let marked = |member: &&Member| {
            let pid = line.first().map(|itself| Pid::new(itself.process.pid));
            is_below_node && pid.zip(member.token.as_ref()).is_some_and(|(pid, token)| self.processes.carries(pid, &token.mark()))
        };
        (self.mains().find(marked).into_iter().collect(), LinkedBy::Launch)
    }

    fn mains(&self) -> impl Iterator<Item = &'a Member> {
        self.there.members.iter().map(|member| &**member).filter(|member| member.is_main())
    }

    fn at(&self, process: &ProcessRef) -> Vec<&'a Member> {
        self.mains().filter(|member| member.is_process(process)).collect()
    }

    /// The one that the environment chooses. The session that its host names wins: a session that was forked off another has that
    /// one's variable, and its own session.
    fn chosen(&self, among: &[&'a Member]) -> Option<(&'a Member, LinkedBy)> {
        let by_session = among.iter().find(|member| self.names_session(member));
        let by_id = || among.iter().find(|member| self.claims.agent.as_ref().is_some_and(|given| begins(given, member.id)));
        by_session.map(|member| (*member, LinkedBy::Session)).or_else(|| by_id().map(|member| (*member, LinkedBy::Variable)))
    }

    fn names_session(&self, member: &Member) -> bool {
        member.session.as_ref().is_some_and(|session| session.id.is_some() && self.claims.sessions.contains(session))
    }

    /// What the environment names, if none of the agents above the caller is that, nor a sub-agent of theirs, and the caller's own
    /// session does not say otherwise.
    fn other(&self, line: &[ProcessFacts], found: &[&Member]) -> Option<String> {
        let given = self.claims.agent.as_ref()?;
        let is_above =
            |member: &Member| found.iter().any(|one| one.id == member.id) || line.iter().any(|facts| member.is_process(&facts.process));
        let parent =
            |member: &Member| self.there.members.iter().find(|one| Some(one.id) == member.parent).is_some_and(|parent| is_above(parent));
        let is_own = self.there.members.iter().any(|member| begins(given, member.id) && (is_above(member) || parent(member)));
        let says_session = found.iter().any(|member| self.names_session(member));
        (!is_own && !says_session).then(|| given.clone())
    }

    /// Whom a caller is that is below no agent: nobody when it names a living one all the same, as one that copied its token.
    fn without_agent(&self) -> Who {
        let is_living = |given: &String| self.there.members.iter().any(|member| begins(given, member.id));
        let names_one = self.claims.agent.as_ref().is_some_and(is_living) || self.mains().any(|member| self.names_session(member));
        if names_one { Who::Unplaced } else { Who::Person(self.user.to_owned()) }
    }
}

/// Whether a process of this session of the system belongs to a launched agent: a terminal's process leads its session, and its
/// number is taken for as long as one of them runs. Another process with that number leads another session.
pub fn is_session_of(processes: &dyn Processes, member: &Member, session: u32) -> bool {
    let leads = |terminal: &ProcessRef| match processes.facts(Pid::new(session)) {
        Ok(Some(facts)) => facts.process == *terminal,
        _ => true,
    };
    member.terminal.as_ref().is_some_and(|terminal| terminal.pid == session && leads(terminal))
}

fn begins(given: &str, id: AgentId) -> bool {
    Prefix::parse(given).is_ok_and(|prefix| prefix.matches(id.as_bytes()))
}

/// The processes above one, nearest first, with what each is. Nothing above this node belongs to a host.
pub fn above(processes: &dyn Processes, pid: Pid, own: u32) -> Vec<Above> {
    let what = |facts: &ProcessFacts| match facts.process.pid {
        // What lost its parents is below the first process of the system, as everybody is.
        1 => Program::PlaceOfPeople,
        pid if pid == own => Program::PlaceOfPeople,
        _ => Program::of(facts.executable.to_str()),
    };
    let line = processes.ancestors(pid, ANCESTORS);
    line.into_iter().map(|facts| Above { program: what(&facts), process: facts.process }).collect()
}

/// Whether a session that the environment names is one of this host.
pub fn named_session<'a>(claims: &'a Claims, host: &str) -> Option<&'a HostSession> {
    claims.sessions.iter().find(|session| session.host == host && session.id.is_some())
}

impl Caller {
    /// How facts name the caller.
    pub fn by(&self) -> By {
        match &self.who {
            Who::Person(name) => By::Person(name.clone()),
            Who::Agent { id, .. } => By::Agent(*id),
            Who::Unplaced | Who::OneOf { .. } => By::Node,
        }
    }

    /// The agent that calls, if one does.
    pub fn agent(&self) -> Option<AgentId> {
        if let Who::Agent { id, .. } = self.who { Some(id) } else { None }
    }

    /// Whether the caller is an agent of the supervisor workspace, which sees all.
    pub fn oversees(&self) -> bool {
        matches!(self.who, Who::Agent { oversees: true, .. })
    }

    /// Whether the caller may ask for this operation at all.
    ///
    /// # Errors
    /// The refusal that says who may.
    pub fn may_ask(&self, info: &OperationInfo) -> Result<(), Refusal> {
        let persons_only = || Refusal::PersonsOnly { what: format!("ask for `{}`", info.name) };
        if FOR_ITSELF.contains(&info.name) {
            self.require_itself()?;
        }
        match (&self.who, info.askers) {
            (Who::Person(_), _) | (Who::Agent { .. }, Askers::Everyone) => Ok(()),
            (Who::Agent { oversees: true, .. }, Askers::Overseers) => Ok(()),
            (Who::Unplaced | Who::OneOf { .. }, Askers::Everyone) if info.effect == Effect::Reads => Ok(()),
            // Nobody in particular may say that a worktree waits for its agent.
            (Who::Unplaced | Who::OneOf { .. }, Askers::Everyone) if info.name == NAMELESS => Ok(()),
            (Who::Unplaced, _) => Err(self.other_agent().unwrap_or(Refusal::UnplacedCaller)),
            (Who::OneOf { agents, .. }, _) => Err(Refusal::SeveralAgents { agents: agents.clone() }),
            (Who::Agent { .. }, _) => Err(persons_only()),
        }
    }

    /// What speaks for the caller is asked for by the agent that it is, and by a person whose environment names none.
    fn require_itself(&self) -> Result<(), Refusal> {
        match (&self.who, self.other_agent()) {
            (Who::OneOf { agents, .. }, _) => Err(Refusal::SeveralAgents { agents: agents.clone() }),
            (_, Some(refusal)) => Err(refusal),
            _ => Ok(()),
        }
    }

    fn other_agent(&self) -> Option<Refusal> {
        self.other.clone().map(|given| Refusal::OtherAgent { given })
    }

    /// The place that is meant: the one named, else an agent's own, else the one whose folder the caller stands in.
    ///
    /// # Errors
    /// None is meant, or the caller may not touch it.
    pub fn place(&self, view: &View<'_>, named: Option<&PlaceRef>) -> Result<Place, Failure> {
        let id = match (named, &self.who) {
            (Some(named), _) => find(view, named)?,
            (None, Who::Agent { place: Some(place), .. }) => *place,
            (None, Who::Agent { place: None, .. }) => return Err(self.no_own_place()),
            (None, _) => self.place_here(view)?,
        };
        let place = view.require_place(id)?;
        self.may_touch(view, &place)?;
        Ok(place)
    }

    fn place_here(&self, view: &View<'_>) -> Result<PlaceId, Failure> {
        let Some(folder) = &self.folder else { return Err(self.no_place()) };
        view.place_with_folder(folder.as_path(), self.here)?.ok_or_else(|| self.no_place())
    }

    fn no_place(&self) -> Failure {
        Refusal::NoPlaceHere { folder: self.folder.clone().unwrap_or_default() }.into()
    }

    fn no_own_place(&self) -> Failure {
        Refusal::NoOwnPlace { folder: self.folder.clone().unwrap_or_default() }.into()
    }

    /// Whether the caller may see and touch what is in a place: an agent only its own, a merged fork's being its
    /// parent's; one of several only theirs.
    ///
    /// # Errors
    /// [`Refusal::OutsidePlace`] for an agent that works elsewhere, [`Refusal::SeveralAgents`] for one of several that do.
    pub fn may_touch(&self, view: &View<'_>, place: &Place) -> Result<(), Failure> {
        match &self.who {
            Who::OneOf { agents, .. } if !self.may_see(place.id) => Err(Refusal::SeveralAgents { agents: agents.clone() }.into()),
            Who::Agent { place: Some(own), .. } if !self.may_see(place.id) => {
                let own = view.require_place(*own)?;
                Err(Refusal::OutsidePlace { place: named(&own) }.into())
            }
            Who::Agent { place: None, .. } if !self.may_see(place.id) => Err(self.no_own_place()),
            _ => Ok(()),
        }
    }

    /// Whether the caller may see a place of this id at all.
    pub fn may_see(&self, place: PlaceId) -> bool {
        match &self.who {
            Who::Agent { place: own, oversees, .. } => *oversees || *own == Some(place),
            Who::OneOf { places, .. } => places.contains(&place),
            Who::Person(_) | Who::Unplaced => true,
        }
    }

    /// A task with the place it really stands in, if the caller may touch it.
    ///
    /// # Errors
    /// The caller may not, or the task's place is not known.
    pub fn standing(&self, view: &View<'_>, task: Task) -> Result<Standing, Failure> {
        let place = view.require_place(view.resolve(task.place)?)?;
        self.may_touch(view, &place)?;
        let parent = parent_of(view, &place)?;
        Ok(Standing { task, place, parent })
    }
}

/// The place that is named. A name that no live place has, and one in the trash or a merged fork had, is answered with
/// what became of it.
fn find(view: &View<'_>, named_as: &PlaceRef) -> Result<PlaceId, Failure> {
    let unknown = match view.find_place(named_as) {
        Err(Failure::Refused(refusal)) if matches!(*refusal, Refusal::Unknown { .. }) => refusal,
        found => return found,
    };
    let gone = view.places()?.into_iter().filter(|place| place.name == named_as.0 && !place.is_live());
    let Some(place) = gone.max_by_key(|place| place.deleted.or(place.merged.as_ref().map(|merged| merged.at))) else {
        return Err(unknown.into());
    };
    Err(match &place.merged {
        Some(merged) => Refusal::AlreadyMerged { fork: named(&place), parent: named(&view.require_place(merged.into)?) }.into(),
        None => Refusal::InTrash { place: named(&place) }.into(),
    })
}

/// The parent of a fork.
///
/// # Errors
/// The rows cannot be read.
pub fn parent_of(view: &View<'_>, place: &Place) -> Result<Option<Place>, StoreError> {
    match place.kind {
        PlaceKind::Fork { parent } => view.place(parent),
        PlaceKind::Workspace | PlaceKind::Supervisor => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc};

    use frith_store::{
        model::{Agent, Sighting},
        time::Timestamp,
    };

    use super::*;
    use crate::env::process::{
        CommandError, Launch, LaunchToken, Pending, ProbeError, ProcessSignal, RunningProcess, StartError, TerminalSize,
    };

    /// A process of a table: its parent, the session of the system that it is in, and whose token it carries.
    struct Row(u32, u32, Option<u8>);

    /// A table of processes, by number.
    struct Table(BTreeMap<u32, Row>);

    impl Processes for Table {
        fn find_command(&self, command: OsString, _: OsString) -> Pending<Result<std::path::PathBuf, CommandError>> {
            Box::pin(async move { Ok(command.into()) })
        }
        fn start(&self, launch: Launch, _: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
            Box::pin(async move { Err(StartError::FolderMissing { folder: launch.folder }) })
        }
        fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
            let found = self.0.get(&pid.get());
            Ok(found.map(|Row(parent, session, _)| ProcessFacts {
                process: process(pid.get()),
                parent: Some(Pid::new(*parent)),
                session: *session,
                executable: "x".into(),
            }))
        }
        fn carries(&self, pid: Pid, wanted: &EnvMark) -> bool {
            self.0.get(&pid.get()).and_then(|Row(.., marked)| *marked).is_some_and(|n| token(n).mark() == *wanted)
        }
        fn working_in(&self, _: &Path) -> Result<Vec<ProcessFacts>, ProbeError> {
            Ok(vec![])
        }
        fn tree(&self, _: Vec<ProcessRef>, _: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>> {
            Box::pin(async { Ok(vec![]) })
        }
        fn signal(&self, _: Vec<ProcessRef>, _: ProcessSignal) -> Pending<()> {
            Box::pin(async {})
        }
    }

    fn id(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    fn process(pid: u32) -> ProcessRef {
        ProcessRef { pid, started: format!("boot/{pid}") }
    }

    fn member(n: u8) -> Member {
        let agent = Agent {
            id: id(n),
            host: "claude".into(),
            model: None,
            session: Some(session(&format!("s-{n}"))),
            parent: None,
            machine: MachineId::from_bytes([1; 8]),
            place: Some(PlaceId::from_bytes([n; 16])),
            folder: None,
            started: Timestamp::default(),
            ended: None,
            launch: None,
        };
        Member::of(&agent, None)
    }

    fn launched(n: u8, terminal: Option<u32>) -> Member {
        Member { is_launched: true, terminal: terminal.map(process), token: Some(token(n)), ..member(n) }
    }

    fn token(n: u8) -> LaunchToken {
        LaunchToken::from_random([n; 32])
    }

    fn registered(n: u8, pid: u32) -> Member {
        Member { sighting: Sighting { process: Some(process(pid)), ..Sighting::default() }, ..member(n) }
    }

    fn session(id: &str) -> HostSession {
        HostSession { host: "claude".into(), id: Some(id.into()), sub_agent: None }
    }

    /// 10 is the node, 20 and 30 are agents in terminals under it, 21 and 22 are below the first; 31 left its parents within the
    /// second's terminal, 32 has its token and nothing else. 40 is a person's shell, 50 a host that was started from it, 51 its shell.
    fn table() -> Table {
        Table(BTreeMap::from([
            (10, Row(1, 10, None)),
            (20, Row(10, 20, Some(2))),
            (21, Row(20, 20, None)),
            (22, Row(21, 20, None)),
            (30, Row(10, 30, Some(3))),
            (31, Row(1, 30, Some(3))),
            (32, Row(1, 32, Some(3))),
            (40, Row(1, 40, None)),
            (41, Row(40, 40, None)),
            (50, Row(40, 40, None)),
            (51, Row(50, 40, None)),
        ]))
    }

    fn asked(members: Vec<Member>, pid: Option<u32>, claims: &Claims) -> Identified {
        asked_after(members, &[], pid, claims)
    }

    /// The same where agents had these processes that ended.
    fn asked_after(members: Vec<Member>, former: &[u32], pid: Option<u32>, claims: &Claims) -> Identified {
        let there = There {
            members: members.into_iter().map(Arc::new).collect(),
            links: BTreeMap::from([(process(41), (id(9), LinkedBy::Folder))]),
            former: former.iter().copied().map(process).collect(),
        };
        identify(&Asking { processes: &table(), there: &there, claims, own: 10, user: "ada" }, pid.map(Pid::new))
    }

    fn who(members: Vec<Member>, pid: u32) -> Who {
        asked(members, Some(pid), &Claims::default()).who
    }

    fn claiming(agent: Option<String>, sessions: &[&str]) -> Claims {
        Claims { agent, server: None, sessions: sessions.iter().map(|id| session(id)).collect() }
    }

    fn is_agent(who: &Who, n: u8) -> bool {
        matches!(who, Who::Agent { id: found, .. } if *found == id(n))
    }

    fn ada() -> Who {
        Who::Person("ada".into())
    }

    #[test]
    fn a_process_below_an_agent_is_that_agent_and_the_shell_it_was_started_from_is_the_persons() {
        let members = || vec![launched(2, Some(20)), launched(3, Some(30)), registered(5, 50)];
        for (pid, n) in [(20, 2), (22, 2), (30, 3), (50, 5), (51, 5)] {
            assert!(is_agent(&who(members(), pid), n), "{pid}");
        }
        assert_eq!(who(members(), 40), ada());
    }

    #[test]
    fn an_agent_that_was_just_started_is_known_by_its_token_and_one_that_left_its_parents_by_its_terminal() {
        let members = || vec![launched(2, None), launched(3, Some(30))];
        assert!(is_agent(&who(members(), 20), 2), "its process is not noted yet");
        assert!(is_agent(&who(members(), 31), 3), "it belongs to nobody any more");
    }

    #[test]
    fn c31_a_recycled_pid_a_copied_token_and_an_unknown_child_of_the_node_are_no_agent() {
        let recycled = ProcessRef { pid: 40, started: "boot/39".into() };
        assert_eq!(who(vec![Member { terminal: Some(recycled), ..launched(4, None) }], 41), ada());
        assert_eq!(who(vec![launched(3, Some(30))], 32), ada(), "the token counts below the node alone");
        let other = Member { token: Some(token(9)), ..launched(2, None) };
        assert_eq!(who(vec![other], 20), Who::Unplaced, "its id is no secret, and makes nobody it");
        assert_eq!(who(vec![launched(4, None)], 21), Who::Unplaced, "below the node and of no known agent");
        assert_eq!(who(vec![launched(4, None)], 99), Who::Unplaced, "gone");
        assert_eq!(who(vec![], 21), Who::Unplaced, "there is no agent at all");
        assert_eq!(asked(vec![], None, &Claims::default()).who, Who::Unplaced);
    }

    #[test]
    fn c31_what_runs_below_the_process_of_an_agent_that_ended_is_no_person() {
        let after = |members, pid| asked_after(members, &[50, 41], Some(pid), &Claims::default()).who;
        assert_eq!((after(vec![], 51), after(vec![], 50)), (Who::Unplaced, Who::Unplaced));
        assert_eq!(after(vec![], 41), Who::Unplaced, "a server that was linked to it");
        assert_eq!(after(vec![], 40), ada(), "the shell that its host was started from");
        assert!(is_agent(&after(vec![registered(5, 50)], 51), 5), "the next session in that process takes over");
    }

    #[test]
    fn c31_a_node_that_was_started_from_an_agents_shell_gives_its_children_to_nobody() {
        let (processes, claims) = (table(), Claims::default());
        let there = There { members: vec![Arc::new(registered(2, 20))], ..There::default() };
        let asking = Asking { processes: &processes, there: &there, claims: &claims, own: 21, user: "ada" };
        assert_eq!(identify(&asking, Some(Pid::new(22))).who, Who::Unplaced);
        assert!(is_agent(&identify(&Asking { own: 10, ..asking }, Some(Pid::new(22))).who, 2));
    }

    #[test]
    fn c31_whoever_names_an_agent_that_is_not_above_it_is_nobody_or_told_so() {
        let members = || vec![registered(5, 50), registered(6, 22)];
        let beside = asked(members(), Some(40), &claiming(Some(id(5).to_string()), &[]));
        assert_eq!((beside.who, beside.other), (Who::Unplaced, Some(id(5).to_string())));
        let unknown = asked(members(), Some(40), &claiming(Some("ffff".into()), &[]));
        assert_eq!((unknown.who, unknown.other), (ada(), Some("ffff".into())));
        let nobody_lives = asked(vec![], Some(40), &claiming(Some("ffff".into()), &[]));
        assert_eq!((nobody_lives.who, nobody_lives.other), (ada(), Some("ffff".into())));
        let anothers = asked(members(), Some(51), &claiming(Some(id(6).to_string()), &[]));
        assert!(is_agent(&anothers.who, 5) && anothers.other.is_some(), "the kernel's word counts, and the claim is refused");
    }

    #[test]
    fn what_an_agent_inherits_from_one_above_it_is_no_claim() {
        let members = vec![registered(2, 20), registered(3, 21)];
        let inner = asked(members, Some(22), &claiming(Some(id(2).short()), &[]));
        assert!(is_agent(&inner.who, 3) && inner.other.is_none());
    }

    #[test]
    fn c02_of_several_agents_in_one_process_only_the_environment_chooses_and_without_it_none_is_taken() {
        let members = || vec![registered(5, 50), registered(6, 50)];
        let place = |n| PlaceId::from_bytes([n; 16]);
        let neither = Who::OneOf { agents: vec![id(5), id(6)], places: vec![place(5), place(6)] };
        assert_eq!(who(members(), 51), neither);
        assert!(caller(neither.clone()).may_see(place(5)) && !caller(neither.clone()).may_see(place(7)));
        let by_id = asked(members(), Some(51), &claiming(Some(id(6).short()), &[]));
        assert!(is_agent(&by_id.who, 6) && by_id.linked_by == LinkedBy::Variable);
        let by_session = asked(members(), Some(51), &claiming(None, &["s-5"]));
        assert!(is_agent(&by_session.who, 5) && by_session.linked_by == LinkedBy::Session);
        let others = asked(members(), Some(51), &claiming(None, &["s-9"]));
        assert_eq!(others.who, neither);
    }

    #[test]
    fn a_forked_session_has_its_originals_variable_and_is_itself() {
        let members = || vec![registered(5, 50), registered(6, 50), registered(7, 22)];
        let beside = asked(members(), Some(51), &claiming(Some(id(5).to_string()), &["s-6"]));
        assert!(is_agent(&beside.who, 6), "both in one process");
        let elsewhere = asked(vec![registered(5, 50), registered(7, 22)], Some(51), &claiming(Some(id(7).to_string()), &["s-5"]));
        assert!(is_agent(&elsewhere.who, 5) && elsewhere.other.is_none(), "the original runs elsewhere");
    }

    #[test]
    fn a_process_that_was_linked_to_an_agent_is_that_agent() {
        let linked = asked(vec![Member { is_told: true, ..registered(9, 22) }], Some(41), &Claims::default());
        assert!(is_agent(&linked.who, 9));
        assert_eq!(linked.linked_by, LinkedBy::Folder);
    }

    fn caller(who: Who) -> Caller {
        Caller { who, linked_by: LinkedBy::Process, other: None, folder: None, here: MachineId::from_bytes([1; 8]), is_exact: false }
    }

    fn info(name: &str) -> &'static OperationInfo {
        crate::api::TABLE.iter().find(|info| info.name == name).unwrap()
    }

    #[test]
    fn an_unplaced_caller_reads_and_an_agent_is_kept_from_what_is_a_persons() {
        let agent = |oversees| Who::Agent { id: id(2), place: Some(PlaceId::from_bytes([2; 16])), oversees };
        assert!(caller(Who::Unplaced).may_ask(info("task.list")).is_ok());
        assert_eq!(caller(Who::Unplaced).may_ask(info("task.next")), Err(Refusal::UnplacedCaller));
        assert!(caller(agent(false)).may_ask(info("task.next")).is_ok());
        assert!(matches!(caller(agent(false)).may_ask(info("workspace.fork")), Err(Refusal::PersonsOnly { .. })));
        assert!(caller(agent(true)).may_ask(info("workspace.fork")).is_ok());
        assert!(matches!(caller(agent(true)).may_ask(info("agent.attach")), Err(Refusal::PersonsOnly { .. })));
    }

    #[test]
    fn g01_nobody_speaks_for_an_agent_that_it_is_not() {
        let one_of = caller(Who::OneOf { agents: vec![id(2), id(3)], places: vec![] });
        assert!(one_of.may_ask(info("task.list")).is_ok());
        for name in ["task.next", "whoami", "agent.statusSet"] {
            assert_eq!(one_of.may_ask(info(name)), Err(Refusal::SeveralAgents { agents: vec![id(2), id(3)] }), "{name}");
        }
        for who in [ada(), Who::Unplaced] {
            let other = Caller { other: Some("abcd".into()), ..caller(who) };
            assert_eq!(other.may_ask(info("whoami")), Err(Refusal::OtherAgent { given: "abcd".into() }));
        }
        let person = Caller { other: Some("abcd".into()), ..caller(ada()) };
        assert!(person.may_ask(info("workspace.fork")).is_ok(), "what is a person's stays theirs");
    }

    #[test]
    fn every_operation_that_speaks_for_its_caller_is_in_the_table() {
        for name in FOR_ITSELF {
            assert!(crate::api::TABLE.iter().any(|info| info.name == *name), "{name}");
        }
    }
}
