//! One task: its record, its text, its thread and its history.

use super::{BodyRow, Space, TaskRow, View};
use crate::{
    docs::{
        About,
        trash::{Seen, seen_in},
    },
    error::{Failure, StoreError},
    facts,
    id::TaskId,
    model::{Attachment, By, Message, StatusChange, Task},
    refusal::{Refusal, What},
    rows::{Table, decode},
};

impl View<'_> {
    /// A task.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn task(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.task_row(id)?.map(|row| row.task))
    }

    /// A task that has to be there.
    ///
    /// # Errors
    /// Refused when it is not known.
    pub fn require_task(&self, id: TaskId) -> Result<Task, Failure> {
        Ok(self.task(id)?.ok_or_else(|| Refusal::Unknown { what: What::Task, given: id.to_string() })?)
    }

    /// A task's body.
    ///
    /// # Errors
    /// The rows cannot be read, or the text was not on this machine when it was last looked for.
    pub fn body(&self, id: TaskId) -> Result<String, StoreError> {
        match self.row(Space::Body, id.as_bytes())? {
            None => Ok(String::new()),
            Some(BodyRow::Text(text)) => Ok(text),
            Some(BodyRow::Missing { hash, damaged }) => Err(StoreError::Blob { hash, damaged }),
        }
    }

    /// A task's thread, in order.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn messages(&self, id: TaskId) -> Result<Vec<Message>, StoreError> {
        self.values(&Space::Message.key().bytes(id.as_bytes()), Space::Message)
    }

    /// A task's changes of status and place, in order.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn history(&self, id: TaskId) -> Result<Vec<StatusChange>, StoreError> {
        self.values(&Space::History.key().bytes(id.as_bytes()), Space::History)
    }

    /// What is attached to a task, in the order in which it was.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn attachments(&self, id: TaskId) -> Result<Vec<Attachment>, StoreError> {
        self.values(&Space::Attachment.key().bytes(id.as_bytes()), Space::Attachment)
    }

    /// The tasks that somebody has in hand, in every place, by id; also those that were left.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn held_by(&self, by: &By) -> Result<Vec<Task>, StoreError> {
        let ids = self.ids(&super::holder_key(by)?, Space::Held)?;
        ids.into_iter().map(|id| self.task(TaskId::from_bytes(id))).filter_map(Result::transpose).collect()
    }

    /// What each later part of a task's thread has.
    pub(crate) fn thread_parts(&self, task: TaskId) -> Result<Vec<Seen>, StoreError> {
        let mut parts = Vec::new();
        for part in 1.. {
            let tips = facts::frontier(self.rows, About::Thread { task, part }.doc_id())?;
            if tips.is_empty() {
                break;
            }
            parts.push(seen_in(&tips));
        }
        Ok(parts)
    }

    pub(crate) fn task_row(&self, id: TaskId) -> Result<Option<TaskRow>, StoreError> {
        let pointer = self.rows.get(Table::Views, Space::Task.key().bytes(id.as_bytes()).as_slice())?;
        let Some(pointer) = pointer else { return Ok(None) };
        let row = self.rows.get(Table::Views, &pointer)?;
        row.map(|row| decode(&row, Space::Queue.word())).transpose()
    }
}
