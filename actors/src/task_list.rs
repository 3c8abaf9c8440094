//! Claude's task list of a worktree: one variable in the settings of that worktree alone, so that every session in it, and
//! only there, shares one list. Nothing else in the file changes, and the worktree stays clean.

use std::path::Path;

use frith_store::hosts::Format;
use serde_json::Value;

use crate::{
    edit::{self, EditError, Step},
    env::host_files::HostFiles,
};

/// The settings of one folder that are nobody else's, from its top.
const FILE: &str = ".claude/settings.local.json";
/// Where the name of the list stands in them.
const VARIABLE: [&str; 2] = ["env", "CLAUDE_CODE_TASK_LIST_ID"];

/// Why the list was not named. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskListFault {
    /// The repository has committed the file, and a change of it would be part of the work.
    #[error("`{FILE}` is committed in this repository")]
    Committed,
    /// The file names a list, or has something else where the name would stand.
    #[error("`{FILE}` has a task list already")]
    AlreadySet,
    /// The file is not what it should be.
    #[error("`{FILE}` is not valid JSON: {0}")]
    NotJson(String),
    /// It cannot be read or written, or git cannot be told to pass over it.
    #[error("`{FILE}` cannot be written: {0}")]
    Unwritable(String),
}

/// Names the task list of a worktree. Blocks.
///
/// # Errors
/// The file names one already, or cannot take it; nothing was changed.
pub fn name(files: &dyn HostFiles, worktree: &Path, list: &str) -> Result<(), TaskListFault> {
    let unwritable = |error: std::io::Error| TaskListFault::Unwritable(error.to_string());
    if files.is_committed(worktree, FILE).map_err(unwritable)? {
        return Err(TaskListFault::Committed);
    }
    let before = files.read(worktree, FILE).map_err(unwritable)?;
    let after = with(before.as_deref(), list)?;
    // A file that git would show, if only for a moment, makes the worktree one with changes.
    files.keep_out_of_git(worktree, FILE).map_err(unwritable)?;
    files.write(worktree, FILE, &after).map(drop).map_err(unwritable)
}

fn with(before: Option<&str>, list: &str) -> Result<String, TaskListFault> {
    let not_json = |error: EditError| TaskListFault::NotJson(error.to_string());
    if let Some(text) = before {
        // Claude reads plain JSON: comments would make it pass over the whole file.
        serde_json::from_str::<Value>(text).map_err(|error| TaskListFault::NotJson(error.to_string()))?;
    }
    let at = VARIABLE.map(|key| Step::Key(key.to_owned()));
    if edit::read(Format::Json, before, &at).map_err(not_json)?.is_some() {
        return Err(TaskListFault::AlreadySet);
    }
    Ok(edit::put(Format::Json, before, &at, &Value::from(list)).map_err(not_json)?.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_is_added_and_every_other_byte_stays() {
        let before = "{\r\n\t\"model\": \"x\",\r\n\t\"env\": {\r\n\t\t\"A\": \"1\"\r\n\t}\r\n}";
        let after = with(Some(before), "app-t1").unwrap();
        assert_eq!(
            after,
            "{\r\n\t\"model\": \"x\",\r\n\t\"env\": {\r\n\t\t\"A\": \"1\",\r\n\t\t\"CLAUDE_CODE_TASK_LIST_ID\": \"app-t1\"\r\n\t}\r\n}"
        );
        assert_eq!(with(Some(&after), "app-t2"), Err(TaskListFault::AlreadySet));
        let new: Value = serde_json::from_str(&with(None, "app-t1").unwrap()).unwrap();
        assert_eq!(new, serde_json::json!({"env": {"CLAUDE_CODE_TASK_LIST_ID": "app-t1"}}));
    }

    #[test]
    fn what_is_not_valid_json_is_not_touched() {
        for text in ["", "{", "{\"env\": }", "// comment\n{}", "{\"env\": 1}", "[]", "{\"env\": {\"CLAUDE_CODE_TASK_LIST_ID\": null},}"] {
            assert!(with(Some(text), "app-t1").is_err(), "{text}");
        }
    }
}
