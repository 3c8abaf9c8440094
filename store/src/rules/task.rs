//! Titles, texts, statuses and positions of tasks (forks.md, "Task").

use crate::{
    model::{Status, Task},
    refusal::{Refusal, TEXT_MOST, TITLE_MOST},
};

/// How far apart two tasks stand that were added one after the other.
pub const GAP: i64 = 1 << 20;

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
/// [`Refusal::CronStatus`]: `cron` comes and goes with a schedule.
pub fn can_set_status(task: &Task, status: Status) -> Result<Option<StatusPlan>, Refusal> {
    if status == Status::Cron || task.status == Status::Cron {
        return Err(Refusal::CronStatus);
    }
    Ok((status != task.status).then_some(StatusPlan(status)))
}

/// The position right before the first of a queue.
pub fn position_first(first: Option<i64>) -> i64 {
    first.map_or(0, |first| first.saturating_sub(GAP))
}

/// The position behind the last of a queue.
pub fn position_last(last: Option<i64>) -> i64 {
    last.map_or(0, |last| last.saturating_add(GAP))
}

/// A position between two neighbours; none when they stand too close, and the queue has to be spread out first.
pub fn position_between(before: i64, after: i64) -> Option<i64> {
    let middle = before.midpoint(after);
    (before < middle && middle < after).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{place, task};

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
                if from == Status::Cron || to == Status::Cron {
                    assert_eq!(answer, Err(Refusal::CronStatus));
                } else {
                    assert_eq!(answer.unwrap().is_none(), from == to);
                }
            }
        }
    }

    #[test]
    fn positions_fit_between_until_they_are_next_to_each_other() {
        assert_eq!(position_between(0, GAP), Some(GAP / 2));
        assert_eq!(position_between(3, 4), None);
        assert!(position_first(Some(5)) < 5 && position_last(Some(5)) > 5);
    }
}
