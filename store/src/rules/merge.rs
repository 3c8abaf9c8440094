//! Merging a fork back (forks.md, "Merging a fork back").

use super::{in_the_way, named, seat::Decides};
use crate::{
    id::{AgentId, PlaceId},
    model::{Agent, Checkout, Place, Task},
    refusal::Refusal,
};

/// A merge that may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePlan {
    fork: PlaceId,
    parent: PlaceId,
    epoch: u64,
    stops: Option<AgentId>,
    folders: Vec<Checkout>,
}

impl MergePlan {
    /// The fork.
    pub fn fork(&self) -> PlaceId {
        self.fork
    }

    /// Where its tasks go.
    pub fn parent(&self) -> PlaceId {
        self.parent
    }

    /// The epoch of the seat under which it is decided.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The agent that has to end first.
    pub fn stops(&self) -> Option<AgentId> {
        self.stops
    }

    /// The fork's folders that still stand.
    pub fn folders(&self) -> &[Checkout] {
        &self.folders
    }
}

/// A process in a fork's folder that no launch of ours started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Its number.
    pub pid: u32,
    /// What it runs.
    pub name: String,
}

/// Whether a fork may be merged. Touches nothing: it is decided before the agent is stopped and again when the merge
/// is committed. `unfinished` are its tasks that are neither finished nor templates.
///
/// # Errors
/// In this order: it is no fork, was merged before, somebody else's process works in its folder, tasks are unfinished.
pub fn can_merge(
    fork: &Place,
    parent: Option<&Place>,
    decides: Decides,
    unfinished: &[Task],
    agent: Option<&Agent>,
    foreign: Option<&Foreign>,
    folders: Vec<Checkout>,
) -> Result<MergePlan, Refusal> {
    let Some(parent) = parent else {
        return Err(Refusal::NotAFork { place: named(fork) });
    };
    if fork.merged.is_some() {
        return Err(Refusal::AlreadyMerged { fork: named(fork), parent: named(parent) });
    }
    if let Some(process) = foreign {
        return Err(Refusal::ForeignProcess { fork: named(fork), pid: process.pid, name: process.name.clone() });
    }
    if !unfinished.is_empty() {
        return Err(Refusal::Unfinished { fork: named(fork), tasks: unfinished.iter().map(in_the_way).collect() });
    }
    let folders = folders.into_iter().filter(|folder| folder.removed.is_none()).collect();
    Ok(MergePlan { fork: fork.id, parent: parent.id, epoch: decides.epoch(), stops: agent.map(|agent| agent.id), folders })
}

/// The refusal for a merge whose agent was stopped and whose tasks were opened meanwhile.
pub fn opened_meanwhile(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Unfinished { fork, tasks } => Refusal::OpenedMeanwhile { fork, tasks },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Status,
        rules::{
            samples::{HERE, agent, fork_of, place, task},
            seat::can_decide,
        },
    };

    #[test]
    fn unfinished_tasks_and_foreign_processes_stand_in_the_way() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let decides = can_decide(&fork, HERE).unwrap();
        let open = [task(1, &fork, Status::Blocked)];
        let merge = |unfinished: &[Task], foreign| can_merge(&fork, Some(&app), decides, unfinished, None, foreign, vec![]);
        assert!(matches!(merge(&open, None), Err(Refusal::Unfinished { tasks, .. }) if tasks.len() == 1));
        let shell = Foreign { pid: 7, name: "vim".into() };
        assert!(matches!(merge(&open, Some(&shell)), Err(Refusal::ForeignProcess { pid: 7, .. })));
        assert!(merge(&[], None).is_ok());
    }

    #[test]
    fn a_workspace_is_no_fork_and_a_merged_fork_says_so() {
        let app = place(1, "app");
        let decides = can_decide(&app, HERE).unwrap();
        assert!(matches!(can_merge(&app, None, decides, &[], None, None, vec![]), Err(Refusal::NotAFork { .. })));
    }

    #[test]
    fn the_plan_names_the_agent_to_stop() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let here = agent(7, &fork);
        let plan = can_merge(&fork, Some(&app), can_decide(&fork, HERE).unwrap(), &[], Some(&here), None, vec![]).unwrap();
        assert_eq!(plan.stops(), Some(here.id));
    }
}
