//! Rules: records in, a plan or a refusal out. Pure: no rule reads a clock, a disk or a document.
//!
//! A plan has one constructor, its rule, and remembers what it was based on. Whatever carries something out accepts
//! plans only, so nothing can be done that no rule allowed.

pub mod attachment;
pub mod fork;
pub mod launch;
pub mod mail;
pub mod mailbox;
pub mod link;
pub mod merge;
pub mod moves;
pub mod note;
pub mod place;
pub mod presence;
pub mod queue;
pub mod restore;
pub mod schedule;
pub mod seat;
pub mod stats;
pub mod site;
pub mod skill;
pub mod task;
pub mod trash;
pub mod worktree;

use crate::{
    model::{Place, Task},
    refusal::{PlaceNamed, TaskInTheWay},
};

/// How a refusal names a place.
pub fn named(place: &Place) -> PlaceNamed {
    PlaceNamed { id: place.id, name: place.name.clone() }
}

/// How a refusal names a task.
pub fn in_the_way(task: &Task) -> TaskInTheWay {
    TaskInTheWay { id: task.id, title: task.title.clone(), status: task.status }
}

#[cfg(test)]
pub(crate) mod samples {
    use crate::{
        id::{AgentId, MachineId, PlaceId, TaskId},
        model::{Agent, Assignee, By, Launched, Place, PlaceKind, ProcessRef, Seat, Settings, Status, Task},
        time::Timestamp,
    };

    pub const HERE: MachineId = MachineId::from_bytes([1; 8]);

    pub fn place(n: u8, name: &str) -> Place {
        Place {
            id: PlaceId::from_bytes([n; 16]),
            name: name.into(),
            kind: PlaceKind::Workspace,
            description: String::new(),
            icon: String::new(),
            archived: false,
            deleted: None,
            created: Timestamp::default(),
            created_by: By::Node,
            settings: Settings::default(),
            seat: Seat { epoch: 1, home: HERE, electorate: vec![HERE] },
            merged: None,
            spun_up_for: None,
            revived: None,
        }
    }

    pub fn fork_of(parent: &Place, n: u8, name: &str) -> Place {
        Place { kind: PlaceKind::Fork { parent: parent.id }, ..place(n, name) }
    }

    pub fn task(n: u8, place: &Place, status: Status) -> Task {
        Task {
            id: TaskId::from_bytes([n; 16]),
            title: format!("task {n}"),
            status,
            place: place.id,
            assignee: Assignee::Agent,
            position: i64::from(n),
            created: Timestamp::from_ms(i64::from(n)),
            created_by: By::Node,
            changed: Timestamp::default(),
            holder: None,
            messages: 0,
            allow_all_commands: false,
            clear_context: None,
            moved_from: None,
            schedule: None,
            run_of: None,
            deleted: None,
        }
    }

    pub fn agent(n: u8, place: &Place) -> Agent {
        Agent {
            model: None,
            session: None,
            parent: None,
            id: AgentId::from_bytes([n; 16]),
            host: "script".into(),
            machine: HERE,
            place: Some(place.id),
            folder: None,
            started: Timestamp::default(),
            ended: None,
            launch: Some(Launched {
                epoch: 1,
                by: By::Node,
                command: vec![],
                model: None,
                effort: None,
                process: Some(ProcessRef { pid: 7, started: "7".into() }),
            }),
        }
    }
}
