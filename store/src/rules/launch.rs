//! Launching an agent in a place (forks.md, "Launching an agent").

use super::{named, place::can_write, seat::Decides};
use crate::{
    id::PlaceId,
    model::{Agent, Place},
    refusal::Refusal,
    text::PathText,
};

/// How many agents a machine runs, and may.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Agents that have not ended.
    pub running: usize,
    /// The most.
    pub limit: usize,
}

/// A launch that may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPlan {
    place: PlaceId,
    epoch: u64,
    folder: PathText,
    makes_folder: bool,
}

impl LaunchPlan {
    /// The place.
    pub fn place(&self) -> PlaceId {
        self.place
    }

    /// The epoch of the seat under which it is decided.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The folder to start in, or for a fork the parent's, from which its own is made.
    pub fn folder(&self) -> &PathText {
        &self.folder
    }

    /// Whether the place is a fork, whose folder is made from the parent's.
    pub fn makes_folder(&self) -> bool {
        self.makes_folder
    }
}

/// Whether an agent may be launched in `place`. `agent` is the one that has not ended there; `folder` is the place's, or
/// for a fork its parent's, on this machine.
///
/// # Errors
/// In this order: the place takes no writes; an agent is there; no folder was chosen; all slots are taken.
pub fn can_launch(
    place: &Place,
    parent: Option<&Place>,
    decides: Decides,
    agent: Option<&Agent>,
    folder: Option<&PathText>,
    slots: Slots,
) -> Result<LaunchPlan, Refusal> {
    can_write(place, parent)?;
    if let Some(agent) = agent {
        return Err(agent_runs(place, agent));
    }
    let Some(folder) = folder else {
        return Err(Refusal::NoFolder { place: named(parent.unwrap_or(place)) });
    };
    require_slot(slots)?;
    Ok(LaunchPlan { place: place.id, epoch: decides.epoch(), folder: folder.clone(), makes_folder: parent.is_some() })
}

/// The refusal that names the agent of a place.
pub fn agent_runs(place: &Place, agent: &Agent) -> Refusal {
    Refusal::AgentRuns { place: named(place), agent: agent.id, running: agent.is_running(), since: agent.started, machine: agent.machine }
}

/// Whether an agent could be launched in a fork of `parent` that is yet to be made: the parent's folder, when it could.
///
/// # Errors
/// No folder was chosen, or all slots are taken.
pub fn can_run_fork(parent: &Place, folder: Option<PathText>, slots: Slots) -> Result<PathText, Refusal> {
    let folder = folder.ok_or_else(|| Refusal::NoFolder { place: named(parent) })?;
    require_slot(slots)?;
    Ok(folder)
}

fn require_slot(slots: Slots) -> Result<(), Refusal> {
    if slots.running < slots.limit { Ok(()) } else { Err(Refusal::TooManyAgents { running: slots.running, limit: slots.limit }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Launched,
        rules::{
            samples::{HERE, agent, fork_of, place},
            seat::can_decide,
        },
    };

    fn launch(
        place: &Place,
        parent: Option<&Place>,
        here: Option<&Agent>,
        folder: Option<&str>,
        running: usize,
    ) -> Result<LaunchPlan, Refusal> {
        let folder = folder.map(|path| path.parse().unwrap());
        let decides = can_decide(place, HERE).unwrap();
        can_launch(place, parent, decides, here, folder.as_ref(), Slots { running, limit: 2 })
    }

    #[test]
    fn a_fork_without_a_folder_names_its_parent() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let refusal = launch(&fork, Some(&app), None, None, 0).unwrap_err();
        assert_eq!(refusal.to_string(), "`app` has no folder on this machine");
        assert!(launch(&fork, Some(&app), None, Some("/r"), 0).unwrap().makes_folder());
    }

    #[test]
    fn one_agent_a_place_and_the_refusal_says_whether_it_runs() {
        let app = place(1, "app");
        let mut here = agent(7, &app);
        assert!(matches!(launch(&app, None, Some(&here), Some("/r"), 0), Err(Refusal::AgentRuns { running: true, .. })));
        here.launch = here.launch.map(|launch| Launched { process: None, ..launch });
        assert!(matches!(launch(&app, None, Some(&here), Some("/r"), 0), Err(Refusal::AgentRuns { running: false, .. })));
    }

    #[test]
    fn e05_only_agents_that_have_not_ended_take_slots() {
        let app = place(1, "app");
        assert!(launch(&app, None, None, Some("/r"), 1).is_ok());
        assert_eq!(launch(&app, None, None, Some("/r"), 2), Err(Refusal::TooManyAgents { running: 2, limit: 2 }));
    }
}
