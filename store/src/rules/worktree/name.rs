//! How a worktree may be called: its task, its branch and its folder.

use crate::refusal::{TaskFault, WorktreeRefusal};

/// The most characters a task or a slug may have.
const MOST: usize = 80;

/// The names of a worktree that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeName {
    task: String,
    branch: String,
}

impl WorktreeName {
    /// What it is for.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Its branch, without `refs/heads/`.
    pub fn branch(&self) -> &str {
        &self.branch
    }
}

/// A worktree for a task, with a slug that says more of it on its branch.
///
/// # Errors
/// Either cannot be a part of a branch's name and of a folder's.
pub fn can_name(task: &str, slug: Option<&str>) -> Result<WorktreeName, WorktreeRefusal> {
    let task = part(task)?;
    let branch = match slug {
        Some(slug) => format!("{task}-{}", part(slug)?),
        None => task.clone(),
    };
    Ok(WorktreeName { task, branch })
}

fn part(given: &str) -> Result<String, WorktreeRefusal> {
    let part = given.trim().to_lowercase();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let has_extension = |name: &str| name.rsplit_once('.').is_some_and(|(_, extension)| extension == "lock");
    let fault = if part.is_empty() {
        TaskFault::Empty
    } else if !part.starts_with(is_plain) {
        TaskFault::Beginning
    } else if !part.chars().all(|c| is_plain(c) || "._-".contains(c)) {
        TaskFault::Characters
    } else if part.contains("..") {
        TaskFault::Dots
    } else if part.ends_with('.') || has_extension(&part) {
        TaskFault::Ending
    } else if part.len() > MOST {
        TaskFault::TooLong
    } else if matches!(part.len(), 40 | 64) && part.chars().all(|c| c.is_ascii_hexdigit()) {
        TaskFault::LooksLikeACommit
    } else {
        return Ok(part);
    };
    Err(WorktreeRefusal::BadTask { given: given.to_owned(), fault })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a63_a_task_is_lower_case_and_its_slug_goes_to_the_branch_alone() {
        let name = can_name(" Fix-42 ", Some("Login")).unwrap();
        assert_eq!((name.task(), name.branch()), ("fix-42", "fix-42-login"));
        assert_eq!(can_name("v1.2", None).unwrap().branch(), "v1.2");
    }

    #[test]
    fn what_git_or_a_folder_cannot_be_called_is_refused_with_the_reason() {
        let fault = |given: &str| match can_name(given, None) {
            Err(WorktreeRefusal::BadTask { fault, .. }) => Some(fault),
            _ => None,
        };
        for (given, expected) in [
            ("", TaskFault::Empty),
            ("-a", TaskFault::Beginning),
            (".a", TaskFault::Beginning),
            ("A/12 x", TaskFault::Characters),
            ("a\n", TaskFault::Characters),
            ("über", TaskFault::Beginning),
            ("a..b", TaskFault::Dots),
            ("a.", TaskFault::Ending),
            ("a.lock", TaskFault::Ending),
        ] {
            let given = if given == "a\n" { "a\nb" } else { given };
            assert_eq!(fault(given), Some(expected), "{given}");
        }
        assert_eq!(fault(&"a".repeat(81)), Some(TaskFault::TooLong));
        assert_eq!(fault(&"0a".repeat(20)), Some(TaskFault::LooksLikeACommit));
        assert!(can_name("a", Some("-b")).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_one_folder_and_one_branch(given in ".{0,90}") {
            if let Ok(name) = can_name(&given, None) {
                prop_assert!(!name.task().contains(['/', '\\', ' ', '\0']) && name.task() != "." && name.task() != "..");
                prop_assert_eq!(can_name(name.task(), None), Ok(name));
            }
        }
    }
}
