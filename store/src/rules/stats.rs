//! Figures of a place, from the histories of its tasks and the hours of its agents (forks.md, "workspace stats"). A merged
//! fork's tasks and agents are its parent's, so they count there.

use serde::{Deserialize, Serialize};

use crate::{
    model::{Status, StatusChange},
    time::Timestamp,
};

/// The part of time that figures are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Where it begins; with the first fact when absent.
    pub since: Option<Timestamp>,
    /// Where it ends: now.
    pub now: Timestamp,
}

impl Period {
    /// The milliseconds of a span that lie in the period.
    pub fn ms_of(&self, from: Timestamp, to: Timestamp) -> u64 {
        let from = self.since.map_or(from, |since| from.max(since));
        to.min(self.now).ms_since(from)
    }

    /// Whether something happened in the period.
    pub fn has(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && at <= self.now
    }
}

/// What the tasks of a place took, added up task by task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Milliseconds in which tasks were worked on.
    pub worked_ms: u64,
    /// Milliseconds in which tasks were blocked.
    pub blocked_ms: u64,
    /// Milliseconds in which tasks waited to be started.
    pub waiting_ms: u64,
    /// How many tasks were closed in the period, and are.
    pub closed: u64,
    /// For each of those that had been started, the milliseconds from its first start to its close.
    start_to_close: Vec<u64>,
}

/// How long something took, over many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// Over how many.
    pub count: u64,
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: u64,
    /// The shortest, in milliseconds.
    pub min_ms: u64,
    /// The longest, in milliseconds.
    pub max_ms: u64,
}

impl Figures {
    /// Adds a task by its history, oldest change first.
    pub fn add(&mut self, history: &[StatusChange], period: Period) {
        let ends = history.iter().skip(1).map(|change| change.at).chain([period.now]);
        for (change, end) in history.iter().zip(ends) {
            let ms = period.ms_of(change.at, end);
            match change.status {
                Status::Ongoing => self.worked_ms += ms,
                Status::Blocked => self.blocked_ms += ms,
                Status::NotStarted => self.waiting_ms += ms,
                Status::Completed | Status::Rejected | Status::Cron => {}
            }
        }
        self.add_closing(history, period);
    }

    fn add_closing(&mut self, history: &[StatusChange], period: Period) {
        // A move of a closed task is a change too, and no second closing.
        let closing = history.iter().rev().take_while(|change| change.status.is_finished()).last();
        let Some(closed) = closing.map(|change| change.at).filter(|at| period.has(*at)) else { return };
        self.closed += 1;
        let started = history.iter().find(|change| change.status == Status::Ongoing);
        self.start_to_close.extend(started.map(|change| closed.ms_since(change.at)));
    }

    /// The time from start to close; none when nothing that was started was closed.
    pub fn start_to_close(&self) -> Option<Spread> {
        let mut sorted = self.start_to_close.clone();
        sorted.sort_unstable();
        let (min_ms, max_ms) = (*sorted.first()?, *sorted.last()?);
        Some(Spread { count: sorted.len() as u64, p50_ms: sorted[(sorted.len() - 1) / 2], min_ms, max_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{MachineId, PlaceId},
        model::By,
    };

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn history(changes: &[(Status, i64)]) -> Vec<StatusChange> {
        let change = |(status, ms): &(Status, i64)| StatusChange {
            status: *status,
            moved_to: None,
            by: By::Node,
            machine: MachineId::from_bytes([1; 8]),
            at: at(*ms),
        };
        changes.iter().map(change).collect()
    }

    const WORKED: &[(Status, i64)] =
        &[(Status::NotStarted, 0), (Status::Ongoing, 10), (Status::Blocked, 30), (Status::Ongoing, 35), (Status::Completed, 40)];

    #[test]
    fn time_is_told_apart_by_status() {
        let mut figures = Figures::default();
        let all = Period { since: None, now: at(100) };
        figures.add(&history(WORKED), all);
        figures.add(&history(&[(Status::NotStarted, 90)]), all);
        assert_eq!((figures.waiting_ms, figures.worked_ms, figures.blocked_ms, figures.closed), (20, 25, 5, 1));
        assert_eq!(figures.start_to_close(), Some(Spread { count: 1, p50_ms: 30, min_ms: 30, max_ms: 30 }));
    }

    #[test]
    fn a_period_cuts_what_lies_before_it() {
        let mut figures = Figures::default();
        figures.add(&history(WORKED), Period { since: Some(at(33)), now: at(38) });
        assert_eq!((figures.waiting_ms, figures.worked_ms, figures.blocked_ms, figures.closed), (0, 3, 2, 0));
    }

    #[test]
    fn a_task_opened_again_counts_to_its_last_close_and_a_move_is_none() {
        let mut figures = Figures::default();
        let mut moved = history(&[(Status::Ongoing, 1), (Status::Rejected, 2), (Status::Ongoing, 5), (Status::Completed, 9)]);
        moved.push(StatusChange { moved_to: Some(PlaceId::from_bytes([1; 16])), at: at(50), ..moved[3].clone() });
        figures.add(&moved, Period { since: None, now: at(60) });
        assert_eq!(figures.start_to_close().unwrap().max_ms, 8);
        assert_eq!(figures.worked_ms, 5);
    }

    #[test]
    fn half_took_no_longer_than_the_median() {
        let spread = |took: &[u64]| Figures { start_to_close: took.to_vec(), ..Figures::default() }.start_to_close();
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3, 1, 2]).unwrap().p50_ms, 2);
        assert_eq!(spread(&[4, 3, 1, 2]).unwrap(), Spread { count: 4, p50_ms: 2, min_ms: 1, max_ms: 4 });
    }
}
