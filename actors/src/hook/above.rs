//! The processes above a hook, as they are kept of an event that waits for a node: when that comes, the hook is long gone.

use frith_store::{
    model::ProcessRef,
    rules::link::{Above, Program, host_process, kept_ancestors},
};

use crate::env::{
    process::{Pid, ProcessFacts, Processes},
    real::process::RealProcesses,
};

/// How far up is looked.
const LOOK_MOST: usize = 16;

/// The process of the host that runs this hook, and the nearest processes above it that are no shells.
pub fn of_this_process() -> (Option<ProcessRef>, Vec<ProcessRef>) {
    let processes = RealProcesses::new();
    let facts = |pid: Pid| processes.facts(pid).ok().flatten();
    let parent = rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()).map(Pid::new);
    let above = std::iter::successors(parent.and_then(facts), |found| found.parent.and_then(facts));
    sorted(above.take(LOOK_MOST))
}

fn sorted(above: impl Iterator<Item = ProcessFacts>) -> (Option<ProcessRef>, Vec<ProcessRef>) {
    // What lost its parents is below the first process of the system, as everybody is.
    let is_first = |facts: &ProcessFacts| facts.process.pid == 1;
    let what = |facts: &ProcessFacts| if is_first(facts) { Program::PlaceOfPeople } else { Program::of(facts.executable.to_str()) };
    let line: Vec<_> = above.map(|facts| Above { program: what(&facts), process: facts.process }).collect();
    (host_process(&line).cloned(), kept_ancestors(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(programs: &[&str]) -> Vec<ProcessFacts> {
        let facts = |(at, program): (usize, &&str)| ProcessFacts {
            process: ProcessRef { pid: u32::try_from(at + 2).unwrap(), started: (*program).into() },
            parent: None,
            session: 0,
            executable: program.into(),
        };
        programs.iter().enumerate().map(facts).collect()
    }

    fn kept(programs: &[&str]) -> Vec<String> {
        let (host, kept) = sorted(line(programs).into_iter());
        assert_eq!(host.as_ref(), kept.first());
        kept.into_iter().map(|process| process.started).collect()
    }

    #[test]
    fn the_host_is_the_nearest_that_is_no_shell_below_where_people_work() {
        assert_eq!(kept(&["sh", "timeout", "node", "bash", "code", "x", "y"]), ["node", "code", "x"]);
        assert_eq!(kept(&["sh", "bash", "tmux", "node"]), Vec::<String>::new());
        assert_eq!(kept(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_hook_that_lost_its_host_is_below_nobody_who_started_it() {
        let mut above = line(&["sh", "some-init"]);
        above[1].process.pid = 1;
        assert_eq!(sorted(above.into_iter()), (None, vec![]));
    }

    #[test]
    fn a_test_has_somebody_above_it_or_runs_in_a_place_of_people() {
        let (host, kept) = of_this_process();
        assert_eq!(host.as_ref(), kept.first());
    }
}
