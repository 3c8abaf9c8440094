//! Being in the trash. A deletion says what it had seen, so work that it had not seen takes the thing out again, on every
//! machine alike and whatever order the two arrive in.
//!
//! Nothing here reads a clock or removes anything: what was deleted is whole until its time is over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Text, Tip};
use crate::{id::Writer, model::By, time::Timestamp};

/// How many changes of each writer a document had.
pub type Seen = BTreeMap<Writer, u64>;

/// How many changes of each writer these tips stand for.
pub fn seen_in(tips: &BTreeMap<Writer, Tip>) -> Seen {
    tips.iter().map(|(writer, tip)| (*writer, tip.seq)).collect()
}

/// That a place was archived or deleted, as its document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retirement {
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub by: By,
    /// The [`Mark`]s of the place's tasks, as [`written`].
    pub seen: Text,
}

/// Stands for a task with everything that was known of it.
pub type Mark = [u8; 16];

/// Marks as a text.
pub fn written(marks: &[Mark]) -> String {
    marks.iter().map(|mark| uuid::Uuid::from_bytes(*mark).simple().to_string()).collect()
}

/// The marks in such a text, in order. What is none is left out: then the work it stood for counts as not seen, and shows.
pub fn read_marks(text: &str) -> Vec<Mark> {
    let words = text.as_bytes().chunks(32).filter_map(|word| uuid::Uuid::try_parse_ascii(word).ok());
    let mut marks: Vec<Mark> = words.map(uuid::Uuid::into_bytes).collect();
    marks.sort_unstable();
    marks
}

/// A task's deletion, as its document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// When.
    pub at: Timestamp,
    /// Who deleted it.
    pub by: By,
    /// What the task's document had, this deletion included, then each later part of its thread.
    pub seen: Vec<Seen>,
}

impl Deletion {
    /// The deletion that holds among the values that were written at once, given what each document has now: none when one
    /// of them takes the task back, or when something is there that none of the deletions had seen.
    pub fn standing(values: Vec<Option<Self>>, now: &[Seen]) -> Option<Self> {
        let deletions: Vec<Self> = values.into_iter().collect::<Option<_>>()?;
        let covers = |part: usize, writer: &Writer, number: u64| {
            deletions.iter().any(|deletion| deletion.seen.get(part).and_then(|seen| seen.get(writer)).is_some_and(|seen| *seen >= number))
        };
        let all_seen = now.iter().enumerate().all(|(part, writers)| writers.iter().all(|(writer, number)| covers(part, writer, *number)));
        deletions.into_iter().filter(|_| all_seen).max_by_key(|deletion| deletion.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MachineId;

    fn writer(n: u8) -> Writer {
        Writer::new(MachineId::from_bytes([n; 8]), [1; 8])
    }

    fn deletion(at: i64, seen: &[(u8, u64)]) -> Deletion {
        let seen = seen.iter().map(|(n, number)| (writer(*n), *number)).collect();
        Deletion { at: Timestamp::from_ms(at), by: By::Node, seen: vec![seen] }
    }

    fn now(writers: &[(u8, u64)]) -> Seen {
        writers.iter().map(|(n, number)| (writer(*n), *number)).collect()
    }

    #[test]
    fn work_that_a_deletion_had_not_seen_undoes_it() {
        let first = deletion(1, &[(1, 3), (2, 1)]);
        let stands = |writers: &[(u8, u64)]| Deletion::standing(vec![Some(first.clone())], &[now(writers)]).is_some();
        assert!(stands(&[(1, 3), (2, 1)]) && stands(&[(1, 3)]), "less than it had seen changes nothing");
        assert!(!stands(&[(1, 3), (2, 2)]), "a later change of a known writer");
        assert!(!stands(&[(1, 3), (3, 1)]), "a change of another writer");
        let with_part = [now(&[(1, 3)]), now(&[(2, 1)])];
        assert_eq!(Deletion::standing(vec![Some(first)], &with_part), None, "a message in a later part of the thread");
    }

    #[test]
    fn marks_survive_being_written_and_a_text_that_is_not_here_has_none() {
        let marks = [[7; 16], [1; 16]];
        assert_eq!(read_marks(&written(&marks)), [[1; 16], [7; 16]]);
        assert!(read_marks("[the text 0123 is not on this machine]").is_empty());
        assert!(read_marks("").is_empty());
    }

    #[test]
    fn two_deletions_at_once_stand_together_and_a_return_at_once_wins() {
        let (a, b) = (deletion(1, &[(1, 3)]), deletion(2, &[(1, 2), (2, 1)]));
        let both = [now(&[(1, 3), (2, 1)])];
        assert_eq!(Deletion::standing(vec![Some(a.clone()), Some(b.clone())], &both), Some(b));
        assert_eq!(Deletion::standing(vec![Some(a), None], &both), None);
        assert_eq!(Deletion::standing(vec![], &both), None);
    }
}
