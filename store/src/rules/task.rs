//! Titles, texts, statuses and positions of tasks (forks.md, "Task").

use super::in_the_way;
use crate::{
    id::TaskId,
    model::{Status, Task},
    refusal::{Refusal, TEXT_MOST, TITLE_MOST},
    time::Timestamp,
};

/// The room there is between two tasks that were made a millisecond apart.
const ROOM: u32 = 20;

/// A title that a task may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title(String);

impl Title {
    /// The title.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Whether a task may have this title. Line ends and other white space become single spaces.
///
/// # Errors
/// It is blank or too long.
pub fn can_title(title: &str) -> Result<Title, Refusal> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.chars().count() {
        0 => Err(Refusal::BlankTitle),
        length if length > TITLE_MOST => Err(Refusal::LongTitle { length }),
        _ => Ok(Title(title)),
    }
}

/// Whether a text may be a message.
///
/// # Errors
/// It is blank or too long.
pub fn can_say(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(Refusal::BlankText) } else { can_hold(text) }
}

/// Whether a text may be a task's body.
///
/// # Errors
/// It is too long.
pub fn can_hold(text: &str) -> Result<(), Refusal> {
    if text.len() > TEXT_MOST { Err(Refusal::LongText { length: text.len() }) } else { Ok(()) }
}

/// A task's text as an agent is handed it: with its place's note behind it, once, and with whose note that is. The same
/// text and note make the same bytes.
pub fn with_note(body: &str, note: &str, place: &str) -> String {
    if note.trim().is_empty() || body.contains(note) {
        return body.to_owned();
    }
    let gap = if body.is_empty() { "" } else { "\n\n" };
    format!("{}{gap}---\nFrom the settings of `{place}`, for every task here:\n\n{note}\n", body.trim_end())
}

/// A change of status that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusPlan(Status);

impl StatusPlan {
    /// The status to set.
    pub fn status(self) -> Status {
        self.0
    }
}

/// Whether a task may get this status: any of the five may follow any other. None when it has it already.
///
/// # Errors
/// [`Refusal::CronStatus`] and [`Refusal::IsTemplate`]: `cron` comes and goes with a schedule.
pub fn can_set_status(task: &Task, status: Status) -> Result<Option<StatusPlan>, Refusal> {
    if task.status == Status::Cron {
        return Err(Refusal::IsTemplate { task: in_the_way(task) });
    }
    if status == Status::Cron {
        return Err(Refusal::CronStatus);
    }
    Ok((status != task.status).then_some(StatusPlan(status)))
}

/// The position of a task made now: behind all that were made before, with room between.
pub fn position_now(now: Timestamp) -> i64 {
    now.ms() << ROOM
}

/// The position before the first of a queue.
pub fn position_first(first: Option<i64>, now: Timestamp) -> i64 {
    first.map_or_else(|| position_now(now), |first| first.saturating_sub(1 << ROOM))
}

/// The side of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Right before it.
    Before,
    /// Right after it.
    After,
}

/// The positions that put `moving` right beside `neighbour`: of the moving task alone where there is room, else also of
/// the fewest others around that make room. `queue` is in order and may have the moving task in it.
pub fn reordered(queue: &[(TaskId, i64)], moving: TaskId, neighbour: TaskId, side: Side) -> Vec<(TaskId, i64)> {
    let mut order: Vec<(TaskId, i64)> = queue.iter().copied().filter(|(task, _)| *task != moving).collect();
    let Some(at) = order.iter().position(|(task, _)| *task == neighbour) else { return vec![] };
    let at = if side == Side::Before { at } else { at + 1 };
    order.insert(at, (moving, 0));
    let (mut from, mut to) = (at, at + 1);
    loop {
        let low = from.checked_sub(1).map(|before| order[before].1);
        let high = order.get(to).map(|after| after.1);
        if let Some(spread) = spread(&order[from..to], low, high) {
            return spread;
        }
        (from, to) = (from.saturating_sub(1), (to + 1).min(order.len()));
    }
}

/// Positions for a run of tasks strictly between two others, evenly; none when they do not fit.
fn spread(run: &[(TaskId, i64)], low: Option<i64>, high: Option<i64>) -> Option<Vec<(TaskId, i64)>> {
    let steps = i64::try_from(run.len()).ok()? + 1;
    let room = steps << ROOM;
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low.saturating_add(room)),
        (None, Some(high)) => (high.saturating_sub(room), high),
        (None, None) => (0, room),
    };
    let step = high.checked_sub(low)? / steps;
    let place = |(n, (task, _)): (i64, &(TaskId, i64))| (*task, low + n * step);
    (step > 0).then(|| (1..).zip(run).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{place, task};
    use proptest::prelude::*;

    #[test]
    fn the_note_is_appended_once_and_says_whose_it_is() {
        let once = with_note("do it", "write down what you learnt", "app");
        assert_eq!(once, "do it\n\n---\nFrom the settings of `app`, for every task here:\n\nwrite down what you learnt\n");
        assert_eq!(with_note(&once, "write down what you learnt", "app"), once);
        assert_eq!(with_note("do it", " ", "app"), "do it");
        assert!(with_note("", "note", "app").starts_with("---\n"));
    }

    #[test]
    fn a_title_has_1_to_255_characters_on_one_line() {
        assert_eq!(can_title(" a\n b ").unwrap().into_string(), "a b");
        assert_eq!(can_title(" \n\t"), Err(Refusal::BlankTitle));
        assert!(can_title(&"é".repeat(255)).is_ok());
        assert_eq!(can_title(&"é".repeat(256)), Err(Refusal::LongTitle { length: 256 }));
    }

    #[test]
    fn any_status_follows_any_other_but_cron() {
        let app = place(1, "app");
        for (from, _) in Status::ALL {
            for (to, _) in Status::ALL {
                let answer = can_set_status(&task(1, &app, from), to);
                match (from, to) {
                    (Status::Cron, _) => assert!(matches!(answer, Err(Refusal::IsTemplate { .. }))),
                    (_, Status::Cron) => assert_eq!(answer, Err(Refusal::CronStatus)),
                    _ => assert_eq!(answer.unwrap().is_none(), from == to),
                }
            }
        }
    }

    #[test]
    fn only_the_moved_task_changes_where_there_is_room() {
        let id = |n: u8| TaskId::from_bytes([n; 16]);
        let queue = [(id(1), 100), (id(2), 200), (id(3), 300)];
        assert_eq!(reordered(&queue, id(3), id(2), Side::Before), [(id(3), 150)]);
        assert_eq!(reordered(&queue, id(1), id(2), Side::After), [(id(1), 250)]);
        assert!(reordered(&queue, id(1), id(9), Side::After).is_empty());
    }

    proptest! {
        #[test]
        fn a_reordered_queue_has_the_task_beside_its_neighbour_and_the_rest_in_order(
            gaps in prop::collection::vec(0_i64..4, 2..20), moving: prop::sample::Index, neighbour: prop::sample::Index, before: bool,
        ) {
            let mut position = 0;
            let mut queue: Vec<(TaskId, i64)> = (0..).zip(&gaps).map(|(n, gap)| { position += gap; (TaskId::from_bytes([n; 16]), position) }).collect();
            let (moving, neighbour) = (queue[moving.index(queue.len())].0, queue[neighbour.index(queue.len())].0);
            prop_assume!(moving != neighbour);
            let mut wanted: Vec<TaskId> = queue.iter().map(|(task, _)| *task).filter(|task| *task != moving).collect();
            let at = wanted.iter().position(|task| *task == neighbour).unwrap();
            wanted.insert(if before { at } else { at + 1 }, moving);
            let side = if before { Side::Before } else { Side::After };
            for (task, position) in reordered(&queue, moving, neighbour, side) {
                queue.iter_mut().find(|(id, _)| *id == task).unwrap().1 = position;
            }
            queue.sort_by_key(|(task, position)| (*position, *task));
            prop_assert_eq!(queue.into_iter().map(|(task, _)| task).collect::<Vec<_>>(), wanted);
        }
    }
}
