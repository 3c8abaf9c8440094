//! Who calls, and what they may touch. Established from the kernel's word for the calling process, never from a field.

use frith_store::{
    error::{Failure, StoreError},
    id::{AgentId, MachineId, PlaceId, PlaceRef},
    model::{By, Place, PlaceKind, Task},
    refusal::Refusal,
    rules::{moves::Standing, named},
    text::PathText,
    view::View,
};

use crate::{
    api::{Askers, Effect, OperationInfo},
    env::process::{AGENT_VARIABLE, EnvMark, Pid, ProcessFacts, ProcessRef, Processes},
};

/// How many processes above a caller are looked at.
const ANCESTORS: usize = 64;

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
}

/// A caller with where it stands.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub who: Who,
    /// The folder it stands in.
    pub folder: Option<PathText>,
    /// The machine it calls on, which is this one.
    pub here: MachineId,
}

/// An agent of this machine that has not ended.
#[derive(Debug, Clone)]
pub struct RunningAgent {
    /// Its id.
    pub id: AgentId,
    /// Its place; none when its folder is in none.
    pub place: Option<PlaceId>,
    /// Whether that is the supervisor workspace.
    pub oversees: bool,
    /// Its process, once that is known.
    pub process: Option<ProcessRef>,
}

/// Tells who the process `pid` is: the agent whose process is the caller or the nearest above it, or whose mark the
/// caller carries, as one that was started a moment ago or that left its parents; else the person. What descends from
/// this node, `own`, and is no known agent's cannot be placed.
pub fn identify(processes: &dyn Processes, running: &[RunningAgent], pid: Option<Pid>, own: u32, user: &str) -> Who {
    let person = || Who::Person(user.to_owned());
    let Some(pid) = pid else { return Who::Unplaced };
    if running.is_empty() {
        return person();
    }
    let Ok(Some(itself)) = processes.facts(pid) else { return Who::Unplaced };
    let line: Vec<ProcessFacts> = std::iter::once(itself).chain(processes.ancestors(pid, ANCESTORS)).collect();
    let is_process = |agent: &&RunningAgent, facts: &ProcessFacts| agent.process.as_ref() == Some(&facts.process);
    let nearest = line.iter().find_map(|facts| running.iter().find(|agent| is_process(agent, facts)));
    match nearest.or_else(|| running.iter().find(|agent| processes.carries(pid, &mark(agent.id)))) {
        Some(agent) => Who::Agent { id: agent.id, place: agent.place, oversees: agent.oversees },
        None if line.iter().any(|facts| facts.process.pid == own) => Who::Unplaced,
        None => person(),
    }
}

impl Caller {
    /// How facts name the caller.
    pub fn by(&self) -> By {
        match &self.who {
            Who::Person(name) => By::Person(name.clone()),
            Who::Agent { id, .. } => By::Agent(*id),
            Who::Unplaced => By::Node,
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
        match (&self.who, info.askers) {
            (Who::Person(_), _) | (Who::Agent { .. }, Askers::Everyone) => Ok(()),
            (Who::Agent { oversees: true, .. }, Askers::Overseers) => Ok(()),
            (Who::Unplaced, Askers::Everyone) if info.effect == Effect::Reads => Ok(()),
            (Who::Unplaced, _) => Err(Refusal::UnplacedCaller),
            (Who::Agent { .. }, _) => Err(persons_only()),
        }
    }

    /// The place that is meant: the one named, else an agent's own, else the one whose folder the caller stands in.
    ///
    /// # Errors
    /// None is meant, or the caller may not touch it.
    pub fn place(&self, view: &View<'_>, named: Option<&PlaceRef>) -> Result<Place, Failure> {
        let id = match (named, &self.who) {
            (Some(named), _) => find(view, named)?,
            (None, Who::Agent { place: Some(place), .. }) => *place,
            (None, Who::Agent { place: None, .. }) => return Err(self.no_place()),
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

    /// Whether the caller may see and touch what is in a place: an agent only its own, a merged fork's being its
    /// parent's.
    ///
    /// # Errors
    /// [`Refusal::OutsidePlace`] for an agent that works elsewhere.
    pub fn may_touch(&self, view: &View<'_>, place: &Place) -> Result<(), Failure> {
        match self.who {
            Who::Agent { place: Some(own), .. } if !self.may_see(place.id) => {
                let own = view.require_place(own)?;
                Err(Refusal::OutsidePlace { place: named(&own) }.into())
            }
            Who::Agent { place: None, .. } if !self.may_see(place.id) => Err(self.no_place()),
            _ => Ok(()),
        }
    }

    /// Whether the caller may see a place of this id at all.
    pub fn may_see(&self, place: PlaceId) -> bool {
        !matches!(self.who, Who::Agent { place: own, oversees: false, .. } if own != Some(place))
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
    use std::{collections::BTreeMap, ffi::OsString, path::Path};

    use super::*;
    use crate::env::process::{CommandError, Launch, Pending, ProbeError, ProcessSignal, RunningProcess, StartError, TerminalSize};

    /// A table of processes: pid to parent and mark.
    struct Table(BTreeMap<u32, (u32, Option<AgentId>)>);

    impl Processes for Table {
        fn find_command(&self, command: OsString, _: OsString) -> Pending<Result<std::path::PathBuf, CommandError>> {
            Box::pin(async move { Ok(command.into()) })
        }
        fn start(&self, launch: Launch, _: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
            Box::pin(async move { Err(StartError::FolderMissing { folder: launch.folder }) })
        }
        fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
            let found = self.0.get(&pid.get());
            Ok(found.map(|(parent, _)| ProcessFacts {
                process: process(pid.get()),
                parent: Some(Pid::new(*parent)),
                executable: "x".into(),
            }))
        }
        fn carries(&self, pid: Pid, wanted: &EnvMark) -> bool {
            self.0.get(&pid.get()).and_then(|(_, agent)| *agent).is_some_and(|agent| mark(agent) == *wanted)
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

    fn process(pid: u32) -> ProcessRef {
        ProcessRef { pid, started: format!("boot/{pid}") }
    }

    fn agent(n: u8, process: Option<ProcessRef>) -> RunningAgent {
        RunningAgent { id: AgentId::from_bytes([n; 16]), place: Some(PlaceId::from_bytes([n; 16])), oversees: false, process }
    }

    /// 10 is the node, 20 and 30 are agents under it, 21 and 22 are below the first, 40 is a person's shell.
    fn table() -> Table {
        let marked = |n: u8| Some(AgentId::from_bytes([n; 16]));
        Table(BTreeMap::from([
            (10, (1, None)),
            (20, (10, marked(2))),
            (21, (20, None)),
            (22, (21, None)),
            (30, (10, marked(3))),
            (31, (1, marked(3))),
            (40, (1, None)),
            (41, (40, None)),
        ]))
    }

    fn who(running: &[RunningAgent], pid: Option<u32>) -> Who {
        identify(&table(), running, pid.map(Pid::new), 10, "ada")
    }

    fn is_agent(who: &Who, n: u8) -> bool {
        matches!(who, Who::Agent { id, .. } if *id == AgentId::from_bytes([n; 16]))
    }

    #[test]
    fn a_process_below_an_agent_is_that_agent_and_a_persons_shell_is_the_person() {
        let running = [agent(2, Some(process(20))), agent(3, Some(process(30)))];
        for (pid, n) in [(20, 2), (22, 2), (30, 3)] {
            assert!(is_agent(&who(&running, Some(pid)), n), "{pid}");
        }
        assert_eq!(who(&running, Some(41)), Who::Person("ada".into()));
    }

    #[test]
    fn the_mark_tells_an_agent_that_was_just_started_and_one_that_left_its_parents() {
        let running = [agent(2, None), agent(3, Some(process(30)))];
        assert!(is_agent(&who(&running, Some(20)), 2), "its process is not noted yet");
        assert!(is_agent(&who(&running, Some(31)), 3), "it belongs to nobody any more");
    }

    #[test]
    fn c31_a_recycled_pid_and_an_unknown_child_of_the_node_are_nobody() {
        let recycled = ProcessRef { pid: 40, started: "boot/39".into() };
        assert_eq!(who(&[agent(4, Some(recycled))], Some(41)), Who::Person("ada".into()));
        assert_eq!(who(&[agent(4, None)], Some(21)), Who::Unplaced, "below the node and of no known agent");
        assert_eq!(who(&[agent(4, None)], Some(99)), Who::Unplaced, "gone");
        assert_eq!(who(&[], None), Who::Unplaced);
    }

    #[test]
    fn an_unplaced_caller_reads_and_an_agent_is_kept_from_what_is_a_persons() {
        let caller = |who| Caller { who, folder: None, here: MachineId::from_bytes([1; 8]) };
        let info = |name: &str| crate::api::TABLE.iter().find(|info| info.name == name).unwrap();
        let agent = |oversees| Who::Agent { id: AgentId::from_bytes([2; 16]), place: Some(PlaceId::from_bytes([2; 16])), oversees };
        assert!(caller(Who::Unplaced).may_ask(info("task.list")).is_ok());
        assert_eq!(caller(Who::Unplaced).may_ask(info("task.next")), Err(Refusal::UnplacedCaller));
        assert!(caller(agent(false)).may_ask(info("task.next")).is_ok());
        assert!(matches!(caller(agent(false)).may_ask(info("workspace.fork")), Err(Refusal::PersonsOnly { .. })));
        assert!(caller(agent(true)).may_ask(info("workspace.fork")).is_ok());
        assert!(matches!(caller(agent(true)).may_ask(info("agent.attach")), Err(Refusal::PersonsOnly { .. })));
    }
}
