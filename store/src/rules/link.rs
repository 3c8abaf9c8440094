//! Which agent a process belongs to, and which agent a host's session is (agents.md, "Hooks" and "Linking an MCP process").
//!
//! Processes are what the kernel tells of the caller and of those above it. What an environment says chooses only among the
//! agents that this leaves; nothing is ever guessed between two.

use crate::{
    hosts::{is_place_of_people, is_shell},
    id::{AgentId, Prefix},
    model::{Agent, ProcessRef},
    refusal::Refusal,
    text::PathText,
    time::Timestamp,
};

/// How many processes above a hook are kept of it, shells not counted.
pub const ANCESTORS_KEPT: usize = 3;

/// A process above another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Which.
    pub process: ProcessRef,
    /// What it runs.
    pub program: Program,
}

/// What a process runs, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A shell or a wrapper, which only starts others.
    Shell,
    /// What people work in, or this node: nothing above it belongs to a host.
    PlaceOfPeople,
    /// Anything else.
    Other,
}

impl Program {
    /// What a program of this name is. A name that is no text is none that is known.
    pub fn of(name: Option<&str>) -> Self {
        match name {
            Some(name) if is_shell(name) => Self::Shell,
            Some(name) if is_place_of_people(name) => Self::PlaceOfPeople,
            _ => Self::Other,
        }
    }
}

/// The process of the host that started what stands below this line, nearest first: the nearest that is no shell. Where that is
/// what people work in, no host started it.
pub fn host_process(line: &[Above]) -> Option<&ProcessRef> {
    let nearest = line.iter().find(|above| above.program != Program::Shell)?;
    (nearest.program == Program::Other).then_some(&nearest.process)
}

/// The processes above a hook by which its session is found again: shells, which many share, and what people work in do not count.
pub fn kept_ancestors(line: &[Above]) -> Vec<ProcessRef> {
    let below = line.iter().take_while(|above| above.program != Program::PlaceOfPeople);
    below.filter(|above| above.program == Program::Other).take(ANCESTORS_KEPT).map(|above| above.process.clone()).collect()
}

/// An agent that a node launched, as it stands above a hook.
#[derive(Debug, Clone, Copy)]
pub struct LaunchedAbove<'a> {
    /// The process in its terminal.
    pub terminal: &'a ProcessRef,
    /// The process whose sessions are its own, while that runs.
    pub bound: Option<&'a ProcessRef>,
    /// Whether the hook is of the host that it was launched as.
    pub is_same_host: bool,
}

/// The launched agent's own host process, when that is what the hook below this line comes from: the process in its terminal, or the
/// first host below it. Another host that was started inside is an agent of its own.
pub fn own_host_process<'a>(line: &'a [Above], launched: LaunchedAbove<'a>) -> Option<&'a ProcessRef> {
    let top = line.iter().position(|above| above.process == *launched.terminal)?;
    let hosts: Vec<&ProcessRef> = line[..=top].iter().filter(|above| above.program == Program::Other).map(|above| &above.process).collect();
    let Some(nearest) = hosts.first().copied() else { return Some(launched.terminal) };
    let is_own = match launched.bound {
        Some(bound) => nearest == bound,
        None => hosts.len() == 1 || launched.is_same_host,
    };
    is_own.then_some(nearest)
}

/// What is known of a session when an event of it comes.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The agent that it is.
    pub agent: &'a Agent,
    /// The process of its host, as it was recorded.
    pub process: Option<&'a ProcessRef>,
    /// Whether that may still run.
    pub lives: bool,
    /// When it was seen last; of one whose session ended, when that was.
    pub seen: Option<Timestamp>,
}

impl Known<'_> {
    /// Whether an event that was kept since this moment is older than the end.
    fn was_over(&self, since: Timestamp) -> bool {
        let launch = self.agent.ended.as_ref().filter(|_| self.agent.launch.is_some()).map(|end| end.at);
        self.agent.ended.is_some() && launch.max(self.seen).is_some_and(|end| since <= end)
    }

    fn is_elsewhere(&self, process: Option<&ProcessRef>) -> bool {
        self.agent.ended.is_none() && self.lives && self.process.is_some() && self.process != process
    }
}

/// What an event does to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registering {
    /// It registers nobody.
    Nobody,
    /// It comes from another process than the session, which still runs there: nothing is touched.
    Stranger(AgentId),
    /// The session is that of this agent, and is where it was.
    There(AgentId),
    /// This agent is there again, or has this session from now on.
    Again(AgentId),
    /// A session that was never seen.
    New,
}

/// An event of a session.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// Whether it can begin one.
    pub begins: bool,
    /// The host process it comes from.
    pub process: Option<&'a ProcessRef>,
    /// The launched agent whose own that is.
    pub launched: Option<AgentId>,
    /// When it happened, if it is only heard now: its order among others is not that in which they are heard.
    pub kept_since: Option<Timestamp>,
}

/// What an event does to a session.
pub fn can_register(told: &Told<'_>, known: Option<&Known<'_>>) -> Registering {
    let Told { begins, process, launched, kept_since } = *told;
    match (launched, known) {
        (_, Some(known)) if kept_since.is_some_and(|since| known.was_over(since)) => Registering::Nobody,
        (Some(launched), Some(known)) if known.agent.id == launched => Registering::There(launched),
        (_, Some(known)) if known.is_elsewhere(process) => Registering::Stranger(known.agent.id),
        (None, Some(known)) if !begins && known.agent.ended.is_none() => Registering::There(known.agent.id),
        _ if !begins => Registering::Nobody,
        (Some(launched), _) => Registering::Again(launched),
        (None, Some(known)) if known.agent.launch.is_some() => Registering::New,
        (None, Some(known)) if known.agent.ended.is_some() || known.process != process => Registering::Again(known.agent.id),
        (None, Some(known)) => Registering::There(known.agent.id),
        (None, None) => Registering::New,
    }
}

/// An agent that an MCP process may be linked to: of its host, a main agent, live, and seen since the process started.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Which.
    pub agent: AgentId,
    /// The process of its host, unless that is gone.
    pub process: Option<ProcessRef>,
    /// The processes above its hooks.
    pub ancestors: Vec<ProcessRef>,
    /// Its folder, without symbolic links.
    pub folder: Option<PathText>,
}

/// An MCP process that asks whom it works for.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// The host that started it.
    pub host: &'a str,
    /// The launched agent whose host started it.
    pub launched: Option<AgentId>,
    /// The agent of the session that the host names in its environment.
    pub session: Option<AgentId>,
    /// The id that its environment gives, which chooses among several and does nothing else.
    pub claimed: Option<&'a str>,
    /// Whether a session that the environment names registers here when no hook did.
    pub registers: bool,
    /// Whether the host has no hooks, so that this process has a row of its own.
    pub is_hookless: bool,
    /// The other agents whose process is the one that such a row would be bound to.
    pub beside: &'a [AgentId],
    /// The processes above it, nearest first.
    pub line: &'a [Above],
    /// Its folder, without symbolic links.
    pub folder: Option<&'a PathText>,
    /// Whom it may be linked to.
    pub candidates: &'a [Candidate],
}

/// Whom an MCP process works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// The agent that a node launched.
    Launch(AgentId),
    /// The agent of the session in the environment.
    Session(AgentId),
    /// That session, which registers now.
    Registers,
    /// The agent with which it shares a process above both.
    Ancestor(AgentId),
    /// The only agent of its folder.
    Folder(AgentId),
    /// The one that its environment chose among those that are as near.
    Chosen(AgentId),
    /// An agent of its own, one for each process of its host.
    Own,
}

/// Links an MCP process, in this order: what launched it, the environment, a shared ancestor, the folder, a row of its own.
///
/// # Errors
/// Several are as near, none is, or the process is provably below no session.
pub fn link(asking: &Asking<'_>) -> Result<Linked, Refusal> {
    if let Some(agent) = asking.launched {
        return Ok(Linked::Launch(agent));
    }
    if let Some(agent) = asking.session {
        return Ok(Linked::Session(agent));
    }
    if asking.registers {
        return Ok(Linked::Registers);
    }
    match by_ancestor(asking).as_slice() {
        [] => {}
        [one] => return Ok(Linked::Ancestor(*one)),
        several => return chosen(asking, several),
    }
    match by_folder(asking).as_slice() {
        [] => {}
        [one] => return Ok(Linked::Folder(*one)),
        several => return chosen(asking, several),
    }
    if asking.is_hookless {
        return if asking.beside.is_empty() { Ok(Linked::Own) } else { chosen(asking, asking.beside) };
    }
    let host = asking.host.to_owned();
    let could_tell = !asking.line.is_empty() && asking.candidates.iter().any(|candidate| !candidate.ancestors.is_empty());
    Err(if could_tell { Refusal::OutsideSessions { host } } else { Refusal::NotLinked { host } })
}

/// The one of these, and of no others, that the environment names.
fn chosen(asking: &Asking<'_>, among: &[AgentId]) -> Result<Linked, Refusal> {
    let prefix = asking.claimed.and_then(|given| Prefix::parse(given).ok());
    let mut meant = among.iter().filter(|agent| prefix.as_ref().is_some_and(|prefix| prefix.matches(agent.as_bytes())));
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok(Linked::Chosen(*one)),
        _ => Err(Refusal::SeveralAgents { agents: among.to_vec() }),
    }
}

/// Those that share the nearest ancestor that any shares.
fn by_ancestor(asking: &Asking<'_>) -> Vec<AgentId> {
    let shares =
        |candidate: &Candidate, above: &ProcessRef| candidate.process.as_ref() == Some(above) || candidate.ancestors.contains(above);
    let kept = kept_ancestors(asking.line);
    let at = |above: &ProcessRef| asking.candidates.iter().filter(|it| shares(it, above)).map(|it| it.agent).collect::<Vec<_>>();
    kept.iter().map(at).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Those of the same folder. One whose host's process runs, and not above the asking one, is somebody else's.
fn by_folder(asking: &Asking<'_>) -> Vec<AgentId> {
    let is_elsewhere = |candidate: &&Candidate| {
        let above = |process: &ProcessRef| asking.line.iter().any(|above| above.process == *process);
        candidate.process.as_ref().is_some_and(|process| !above(process)) && !asking.line.is_empty()
    };
    let is_there = |candidate: &&Candidate| asking.folder.is_some() && candidate.folder.as_ref() == asking.folder;
    asking.candidates.iter().filter(is_there).filter(|candidate| !is_elsewhere(candidate)).map(|candidate| candidate.agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{AgentEnd, EndHow},
        rules::samples::{agent, place},
    };

    fn process(pid: u32) -> ProcessRef {
        ProcessRef { pid, started: format!("boot/{pid}") }
    }

    /// A line of processes: `s7` is a shell, `p1` is what people work in, `9` anything else.
    fn line(text: &str) -> Vec<Above> {
        let above = |word: &str| {
            let (program, digits) = match word.split_at(1) {
                ("s", pid) => (Program::Shell, pid),
                ("p", pid) => (Program::PlaceOfPeople, pid),
                _ => (Program::Other, word),
            };
            Above { process: process(digits.parse().unwrap()), program }
        };
        text.split_whitespace().map(above).collect()
    }

    #[test]
    fn the_host_is_the_nearest_that_is_no_shell_and_none_where_people_work() {
        let host = |text: &str| host_process(&line(text)).map(|process| process.pid);
        assert_eq!(host("s4 s3 2 s5 p1"), Some(2));
        assert_eq!(host("s4 p3 2"), None, "a person's shell in a terminal that a host started");
        assert_eq!(host("s4 s3"), None);
        assert_eq!(host(""), None);
    }

    #[test]
    fn shells_that_many_share_and_what_people_work_in_are_not_kept_of_a_hook() {
        let kept = |text: &str| kept_ancestors(&line(text)).iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(kept("s9 8 s7 6 5 4 p1"), [8, 6, 5]);
        assert_eq!(kept("8 s7 p6 5"), [8]);
    }

    fn own(text: &str, terminal: u32, bound: Option<u32>, is_same_host: bool) -> Option<u32> {
        let (terminal, bound) = (process(terminal), bound.map(process));
        let launched = LaunchedAbove { terminal: &terminal, bound: bound.as_ref(), is_same_host };
        own_host_process(&line(text), launched).map(|process| process.pid)
    }

    #[test]
    fn a_launched_agents_own_host_is_its_process_or_the_first_host_below_it() {
        assert_eq!(own("s9 5 p1", 5, None, true), Some(5));
        assert_eq!(own("s9 7 s5 p1", 5, None, false), Some(7), "launched through a shell");
        assert_eq!(own("s9 s5 p1", 5, None, false), Some(5), "a shell is what was launched");
        assert_eq!(own("s9 7 5 p1", 5, None, true), Some(7), "a program that starts the host proper");
        assert_eq!(own("s9 7 p1", 5, None, true), None, "it is not below it");
    }

    #[test]
    fn another_host_inside_a_launched_agent_is_an_agent_of_its_own() {
        assert_eq!(own("s9 7 s6 5 p1", 5, None, false), None);
        assert_eq!(own("s9 7 s6 5 p1", 5, Some(5), true), None, "a second session of the same host, in a process of its own");
        assert_eq!(own("s9 5 p1", 5, Some(5), true), Some(5));
        assert_eq!(own("s9 8 s7 6 s5 p1", 5, Some(6), false), None);
    }

    fn ended() -> Option<AgentEnd> {
        Some(AgentEnd { at: Timestamp::default(), how: EndHow::SessionOver })
    }

    fn registered(n: u8) -> Agent {
        Agent { launch: None, ..agent(n, &place(1, "app")) }
    }

    fn registering(begins: bool, from: Option<u32>, launched: Option<u8>, known: Option<(&Agent, Option<u32>, bool)>) -> Registering {
        let (from, recorded) = (from.map(process), known.and_then(|(_, pid, _)| pid).map(process));
        let known = known.map(|(agent, _, lives)| Known { agent, process: recorded.as_ref(), lives, seen: None });
        let launched = launched.map(|n| AgentId::from_bytes([n; 16]));
        can_register(&Told { begins, process: from.as_ref(), launched, kept_since: None }, known.as_ref())
    }

    fn id(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    #[test]
    fn the_first_event_registers_each_later_one_finds_it_and_an_end_registers_nobody() {
        let known = registered(2);
        assert_eq!(registering(true, Some(7), None, None), Registering::New);
        assert_eq!(registering(true, Some(7), None, Some((&known, Some(7), true))), Registering::There(id(2)));
        assert_eq!(registering(false, Some(7), None, Some((&known, Some(7), true))), Registering::There(id(2)));
        assert_eq!(registering(false, Some(7), None, None), Registering::Nobody);
        assert_eq!(registering(false, Some(7), Some(3), None), Registering::Nobody);
        let ended = Agent { ended: ended(), ..known };
        assert_eq!(registering(false, Some(7), None, Some((&ended, Some(7), true))), Registering::Nobody);
    }

    #[test]
    fn a_session_that_ended_is_there_again_with_its_id_wherever_it_was_resumed() {
        let over = Agent { ended: ended(), ..registered(2) };
        assert_eq!(registering(true, Some(8), None, Some((&over, Some(7), true))), Registering::Again(id(2)));
        let known = registered(2);
        assert_eq!(registering(true, Some(8), None, Some((&known, Some(7), false))), Registering::Again(id(2)), "its process is gone");
        assert_eq!(registering(true, Some(8), None, Some((&known, None, false))), Registering::Again(id(2)), "it was not known");
    }

    #[test]
    fn a_session_that_runs_elsewhere_is_not_touched() {
        let known = registered(2);
        for (begins, from) in [(true, Some(8)), (false, Some(8)), (true, None)] {
            assert_eq!(registering(begins, from, None, Some((&known, Some(7), true))), Registering::Stranger(id(2)));
        }
        assert_eq!(registering(true, Some(8), Some(3), Some((&known, Some(7), true))), Registering::Stranger(id(2)));
    }

    #[test]
    fn sessions_in_a_launched_agents_own_host_are_that_agent() {
        let (launched, over) = (agent(3, &place(1, "app")), Agent { ended: ended(), ..registered(2) });
        assert_eq!(registering(true, Some(7), Some(3), None), Registering::Again(id(3)));
        assert_eq!(registering(true, Some(7), Some(3), Some((&over, Some(5), false))), Registering::Again(id(3)));
        assert_eq!(registering(true, Some(7), Some(3), Some((&launched, Some(7), true))), Registering::There(id(3)));
        let gone = Agent { ended: ended(), ..launched };
        assert_eq!(registering(true, Some(9), None, Some((&gone, Some(7), false))), Registering::New, "a launch ends with its process");
    }

    #[test]
    fn what_was_kept_since_before_an_end_brings_nobody_back() {
        let at = Timestamp::from_ms;
        let kept = |agent: &Agent, seen: Option<i64>, since: i64| {
            let process = process(7);
            let known = Known { agent, process: Some(&process), lives: true, seen: seen.map(at) };
            can_register(&Told { begins: true, process: Some(&process), launched: None, kept_since: Some(at(since)) }, Some(&known))
        };
        let end = Some(AgentEnd { at: at(9), how: EndHow::SessionOver });
        let over = Agent { ended: end.clone(), ..registered(2) };
        assert_eq!((kept(&over, Some(5), 4), kept(&over, Some(5), 5)), (Registering::Nobody, Registering::Nobody));
        assert_eq!(kept(&over, Some(5), 6), Registering::Again(id(2)), "its end was heard later than it was");
        assert_eq!(kept(&registered(2), Some(5), 4), Registering::There(id(2)));
        let launched = Agent { ended: end, ..agent(3, &place(1, "app")) };
        assert_eq!((kept(&launched, None, 9), kept(&launched, None, 10)), (Registering::Nobody, Registering::New));
    }

    fn candidate(n: u8, process_of: Option<u32>, ancestors: &[u32], folder: &str) -> Candidate {
        let ancestors = ancestors.iter().copied().map(process).collect();
        Candidate { agent: id(n), process: process_of.map(process), ancestors, folder: Some(folder.parse().unwrap()) }
    }

    fn linked(text: &str, folder: &str, candidates: &[Candidate], change: impl FnOnce(&mut Asking<'_>)) -> Result<Linked, Refusal> {
        let (line, folder) = (line(text), folder.parse().unwrap());
        let mut asking = Asking {
            host: "some",
            launched: None,
            session: None,
            claimed: None,
            registers: false,
            is_hookless: false,
            beside: &[],
            line: &line,
            folder: Some(&folder),
            candidates,
        };
        change(&mut asking);
        link(&asking)
    }

    #[test]
    fn what_launched_it_wins_over_the_environment_and_that_over_all_else() {
        let near = [candidate(2, Some(7), &[7], "/a")];
        assert_eq!(linked("7 p1", "/a", &near, |it| (it.launched, it.session) = (Some(id(4)), Some(id(5)))), Ok(Linked::Launch(id(4))));
        assert_eq!(linked("7 p1", "/a", &near, |it| (it.session, it.registers) = (Some(id(5)), true)), Ok(Linked::Session(id(5))));
        assert_eq!(linked("7 p1", "/a", &near, |it| it.registers = true), Ok(Linked::Registers));
        assert_eq!(linked("7 p1", "/a", &near, |it| it.is_hookless = true), Ok(Linked::Ancestor(id(2))));
    }

    #[test]
    fn the_nearest_shared_ancestor_wins_and_a_tie_is_not_broken_by_the_folder() {
        let (near, far) = (candidate(2, Some(7), &[7, 5], "/b"), candidate(3, Some(8), &[8, 5], "/a"));
        assert_eq!(linked("7 5 p1", "/a", &[near.clone(), far.clone()], |_| ()), Ok(Linked::Ancestor(id(2))));
        let tie = linked("9 5 p1", "/a", &[near, far], |_| ());
        assert_eq!(tie, Err(Refusal::SeveralAgents { agents: vec![id(2), id(3)] }));
    }

    #[test]
    fn the_environment_chooses_among_those_that_are_as_near_and_among_no_others() {
        let (near, far) = (candidate(2, Some(7), &[7, 5], "/b"), candidate(3, Some(8), &[8, 5], "/a"));
        let (two, three, four): (&str, &str, &str) = (id(2).short().leak(), id(3).to_string().leak(), id(4).to_string().leak());
        let both = [near, far];
        assert_eq!(linked("9 5 p1", "/a", &both, |it| it.claimed = Some(two)), Ok(Linked::Chosen(id(2))));
        assert_eq!(linked("7 5 p1", "/a", &both, |it| it.claimed = Some(three)), Ok(Linked::Ancestor(id(2))), "one is nearer");
        let tie = Err(Refusal::SeveralAgents { agents: vec![id(2), id(3)] });
        for given in [four, "02", "no id"] {
            assert_eq!(linked("9 5 p1", "/a", &both, |it| it.claimed = Some(given)), tie, "{given}");
        }
    }

    #[test]
    fn a_host_without_hooks_gets_no_row_in_the_process_of_another_agent() {
        let (others, two, three): (&[AgentId], &str, &str) = (vec![id(2)].leak(), id(2).short().leak(), id(3).short().leak());
        let within = |claimed: Option<&'static str>| {
            linked("9 p1", "/a", &[], |it| {
                it.is_hookless = true;
                it.beside = others;
                it.claimed = claimed;
            })
        };
        assert_eq!(within(None), Err(Refusal::SeveralAgents { agents: vec![id(2)] }));
        assert_eq!(within(Some(three)), Err(Refusal::SeveralAgents { agents: vec![id(2)] }));
        assert_eq!(within(Some(two)), Ok(Linked::Chosen(id(2))));
    }

    #[test]
    fn a_shell_above_two_hosts_links_neither() {
        let other = [candidate(2, Some(7), &[7], "/a")];
        assert_eq!(linked("9 s4 p1", "/b", &other, |_| ()), Err(Refusal::OutsideSessions { host: "some".into() }));
    }

    #[test]
    fn the_folder_links_to_the_only_agent_whose_process_is_not_known() {
        let (one, two) = (candidate(2, None, &[], "/a"), candidate(3, None, &[], "/a"));
        assert_eq!(linked("9 p1", "/a", std::slice::from_ref(&one), |_| ()), Ok(Linked::Folder(id(2))));
        assert_eq!(linked("9 p1", "/a", &[one.clone(), two], |_| ()), Err(Refusal::SeveralAgents { agents: vec![id(2), id(3)] }));
        assert_eq!(linked("9 p1", "/b", &[one], |_| ()), Err(Refusal::NotLinked { host: "some".into() }));
        let elsewhere = [candidate(2, Some(7), &[7], "/a")];
        assert_eq!(linked("9 p1", "/a", &elsewhere, |_| ()), Err(Refusal::OutsideSessions { host: "some".into() }));
    }

    #[test]
    fn a_host_without_hooks_has_a_row_of_its_own_and_one_with_hooks_never() {
        assert_eq!(linked("9 p1", "/a", &[], |it| it.is_hookless = true), Ok(Linked::Own));
        assert_eq!(linked("9 p1", "/a", &[], |_| ()), Err(Refusal::NotLinked { host: "some".into() }));
    }

    #[test]
    fn c32_one_process_for_all_sessions_of_an_application_is_outside_or_ambiguous_and_never_one_of_them() {
        let sessions = [candidate(2, Some(7), &[7, 5], "/a"), candidate(3, Some(8), &[8, 5], "/b")];
        assert_eq!(linked("6 p1", "/", &sessions, |_| ()), Err(Refusal::OutsideSessions { host: "some".into() }));
        let below = linked("5 p1", "/", &sessions, |_| ());
        assert_eq!(below, Err(Refusal::SeveralAgents { agents: vec![id(2), id(3)] }));
    }
}
