//! Merging a fork back (forks.md, "Merging a fork back").

use super::{in_the_way, named, seat::Decides};
use crate::{
    id::{AgentId, PlaceId},
    model::{Agent, Checkout, Place, Task},
    refusal::{AgentNamed, Refusal},
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

/// Those who work in a fork and that no launch of ours started.
#[derive(Debug, Clone, Copy, Default)]
pub struct Strangers<'a> {
    /// The agents of sessions that somebody else started there, and that did not end.
    pub agents: &'a [Agent],
    /// A process in its folder.
    pub process: Option<&'a Foreign>,
}

impl Strangers<'_> {
    fn stay_out_of(self, fork: &Place) -> Result<(), Refusal> {
        if !self.agents.is_empty() {
            let agents = self.agents.iter().map(|agent| AgentNamed { id: agent.id, host: agent.host.clone() }).collect();
            return Err(Refusal::ForeignAgents { fork: named(fork), agents, stopped: false });
        }
        match self.process {
            Some(process) => Err(Refusal::ForeignProcess { fork: named(fork), pid: process.pid, name: process.name.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether an agent works in a fork though no launch put it there. Sub-agents come and go with theirs.
pub fn is_stranger_in(agent: &Agent, fork: PlaceId) -> bool {
    agent.place == Some(fork) && agent.launch.is_none() && agent.parent.is_none() && agent.ended.is_none()
}

/// Whether a fork may be merged. Touches nothing: it is decided before the agent is stopped and again when the merge
/// is committed. `unfinished` are its tasks that are neither finished nor templates.
///
/// # Errors
/// In this order: it is no fork, was merged before, an agent or a process that we did not launch works
/// there, tasks are unfinished.
pub fn can_merge(
    fork: &Place,
    parent: Option<&Place>,
    decides: Decides,
    unfinished: &[Task],
    agent: Option<&Agent>,
    strangers: Strangers<'_>,
    folders: Vec<Checkout>,
) -> Result<MergePlan, Refusal> {
    let Some(parent) = parent else {
        return Err(Refusal::NotAFork { place: named(fork) });
    };
    if fork.merged.is_some() {
        return Err(Refusal::AlreadyMerged { fork: named(fork), parent: named(parent) });
    }
    strangers.stay_out_of(fork)?;
    if !unfinished.is_empty() {
        return Err(Refusal::Unfinished { fork: named(fork), tasks: unfinished.iter().map(in_the_way).collect() });
    }
    let folders = folders.into_iter().filter(|folder| folder.removed.is_none()).collect();
    Ok(MergePlan { fork: fork.id, parent: parent.id, epoch: decides.epoch(), stops: agent.map(|agent| agent.id), folders })
}

/// The refusal for a merge whose agent was stopped, with what came in between.
pub fn after_the_stop(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::ForeignAgents { fork, agents, .. } => Refusal::ForeignAgents { fork, agents, stopped: true },
        Refusal::Unfinished { fork, tasks } => Refusal::OpenedMeanwhile { fork, tasks },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{AgentEnd, EndHow, Status},
        rules::{
            samples::{HERE, agent, fork_of, place, task},
            seat::can_decide,
        },
        time::Timestamp,
    };

    #[test]
    fn unfinished_tasks_and_foreign_processes_stand_in_the_way() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let decides = can_decide(&fork, HERE).unwrap();
        let open = [task(1, &fork, Status::Blocked)];
        let merge = |unfinished: &[Task], process| {
            can_merge(&fork, Some(&app), decides, unfinished, None, Strangers { process, agents: &[] }, vec![])
        };
        assert!(matches!(merge(&open, None), Err(Refusal::Unfinished { tasks, .. }) if tasks.len() == 1));
        let shell = Foreign { pid: 7, name: "vim".into() };
        assert!(matches!(merge(&open, Some(&shell)), Err(Refusal::ForeignProcess { pid: 7, .. })));
        assert!(merge(&[], None).is_ok());
    }

    #[test]
    fn a_workspace_is_no_fork_and_a_merged_fork_says_so() {
        let app = place(1, "app");
        let decides = can_decide(&app, HERE).unwrap();
        assert!(matches!(can_merge(&app, None, decides, &[], None, Strangers::default(), vec![]), Err(Refusal::NotAFork { .. })));
    }

    #[test]
    fn the_plan_names_the_agent_to_stop() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let here = agent(7, &fork);
        let plan = can_merge(&fork, Some(&app), can_decide(&fork, HERE).unwrap(), &[], Some(&here), Strangers::default(), vec![]).unwrap();
        assert_eq!(plan.stops(), Some(here.id));
    }

    #[test]
    fn an_agent_that_no_launch_put_there_stands_in_the_way_and_is_named() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let other = Agent { launch: None, ..agent(7, &fork) };
        assert!(is_stranger_in(&other, fork.id) && !is_stranger_in(&other, app.id) && !is_stranger_in(&agent(8, &fork), fork.id));
        assert!(!is_stranger_in(&Agent { parent: Some(other.id), ..other.clone() }, fork.id), "its sub-agents go with it");
        let ended = AgentEnd { at: Timestamp::from_ms(5), how: EndHow::SessionOver };
        assert!(!is_stranger_in(&Agent { ended: Some(ended), ..other.clone() }, fork.id));
        let (agents, shell) = ([other], Foreign { pid: 7, name: "vim".into() });
        let strangers = Strangers { agents: &agents, process: Some(&shell) };
        let refused = can_merge(&fork, Some(&app), can_decide(&fork, HERE).unwrap(), &[], None, strangers, vec![]).unwrap_err();
        let named = "agent 07070707 (script), which frith did not launch, works in fork `app-fork`";
        assert_eq!(refused.to_string(), named);
        assert_eq!(after_the_stop(refused).to_string(), format!("{named}; the fork's own agent was stopped, and the fork stays"));
    }
}
