//! Making and changing tasks.

use automerge::{
    AutomergeError,
    transaction::{Transactable as _, Transaction},
};

use super::{Tx, schedules::schedule_work};
use crate::{
    derive::FreshRecords,
    docs::{
        About, CHANGES_MOST, Document,
        attachment::AttachmentRecord,
        task::{self, Birth, HISTORY, HistoryRecord, Keyed, MESSAGES, MESSAGES_MOST, MessageRecord, Progress, ScheduleRecord, TaskState},
        trash::{Deletion, seen_in},
    },
    error::{DocumentFault, Failure, StoreError},
    facts,
    id::{OpenToken, PlaceId, TaskId},
    model::{Assignee, By, Schedule, Status},
    refusal::Refusal,
};

/// A task to make.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// Its place.
    pub place: PlaceId,
    /// Its title.
    pub title: String,
    /// Its body, Markdown.
    pub body: String,
    /// Who is to do it.
    pub assignee: Assignee,
    /// Its position in the queue; 0 when absent.
    pub position: Option<i64>,
    /// Whether the agent may run every command for it unasked.
    pub allow_all_commands: bool,
    /// Whether it asks for a fresh context.
    pub clear_context: Option<bool>,
    /// A fresh token, which opens it.
    pub token: OpenToken,
    /// When it makes runs, if it is to be a template.
    pub schedule: Option<Schedule>,
}

/// What to change of a task; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEdit {
    /// Its title.
    pub title: Option<String>,
    /// Its body.
    pub body: Option<String>,
    /// Who is to do it.
    pub assignee: Option<Assignee>,
    /// Its position in the queue.
    pub position: Option<i64>,
    /// Whether the agent may run every command for it unasked.
    pub allow_all_commands: Option<bool>,
    /// Whether it asks for a fresh context; `Some(None)` leaves it to the place.
    pub clear_context: Option<Option<bool>>,
    /// When it makes runs; `Some(None)` takes its schedule away.
    pub schedule: Option<Option<Schedule>>,
}

/// What a change does to the registers.
pub(super) type Work<'c> = Box<dyn FnOnce(&mut Transaction<'_>) -> Result<(), AutomergeError> + 'c>;

/// A change to a task's document before it is made.
pub(super) struct Change<'c> {
    /// What it does to the registers.
    pub(super) work: Work<'c>,
    /// What it adds to the history.
    pub(super) history: Option<HistoryRecord>,
    /// What it adds to the thread.
    pub(super) message: Option<MessageRecord>,
    /// Whether it changes the body.
    pub(super) body: bool,
    /// The file that it attaches.
    pub(super) attached: Option<Keyed<AttachmentRecord>>,
    /// Whether it takes a file away.
    pub(super) detaches: bool,
}

impl<'c> Change<'c> {
    pub(super) fn of(work: impl FnOnce(&mut Transaction<'_>) -> Result<(), AutomergeError> + 'c) -> Self {
        Self { work: Box::new(work), history: None, message: None, body: false, attached: None, detaches: false }
    }
}

impl Tx<'_> {
    /// Makes a task.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn create_task(&mut self, new: NewTask, by: &By) -> Result<(), StoreError> {
        let body = self.text(&new.body)?;
        let mut document = self.document_or_new(&About::Task { task: new.id })?;
        let birth = Birth {
            title: new.title,
            body: document.encode(&body)?,
            place: new.place,
            assignee: new.assignee,
            position: new.position.unwrap_or_default(),
            at: self.now,
            by: document.encode(by)?,
            allow_all_commands: new.allow_all_commands,
            clear_context: new.clear_context,
            token: Some(new.token),
            schedule: new.schedule.as_ref().map(|schedule| document.encode(&ScheduleRecord::of(schedule))).transpose()?,
            created: self.now,
        };
        let status = if new.schedule.is_some() { Status::Cron } else { Status::NotStarted };
        let mut change = Change::of(|tx| task::give_birth(tx, birth));
        change.history = Some(self.history_record(new.id, status, None, by)?);
        change.body = true;
        self.change_task(new.id, &mut document, change)?;
        self.put_back(document);
        Ok(())
    }

    /// Changes a task's registers.
    ///
    /// # Errors
    /// Refused when its document has as many changes as it may; else something could not be written.
    pub fn edit_task(&mut self, id: TaskId, edit: TaskEdit, by: &By) -> Result<(), Failure> {
        self.require_room(id)?;
        let body = edit.body.as_deref().map(|body| self.text(body)).transpose()?;
        let mut document = self.document(&About::Task { task: id })?;
        let body = body.map(|body| document.encode(&body)).transpose()?;
        let has_body = body.is_some();
        let state = state_of(&document)?;
        let schedule = edit.schedule.map(|schedule| schedule_work(&document, &state, schedule)).transpose()?;
        let becomes = schedule.as_ref().and_then(|(_, becomes)| *becomes);
        let mut change = Change::of(|tx| {
            edit.title.map_or(Ok(()), |title| task::set_title(tx, title))?;
            body.map_or(Ok(()), |body| task::set_body(tx, body))?;
            edit.assignee.map_or(Ok(()), |assignee| task::set_assignee(tx, assignee))?;
            edit.position.map_or(Ok(()), |position| task::set_position(tx, position))?;
            edit.allow_all_commands.map_or(Ok(()), |allow| task::set_allow_all(tx, allow))?;
            edit.clear_context.map_or(Ok(()), |clear| task::set_clear_context(tx, clear))?;
            schedule.map_or(Ok(()), |(work, _)| work(tx))
        });
        change.body = has_body;
        change.history = becomes.map(|status| self.history_record(id, status, None, by)).transpose()?;
        self.change_task(id, &mut document, change)?;
        self.put_back(document);
        Ok(())
    }

    /// Sets a task's status. Opening a closed task, and setting any to ongoing, puts `token`, a fresh one; closing deletes
    /// exactly the tokens this machine sees. Whoever has it in hand keeps it while it is ongoing or blocked.
    ///
    /// # Errors
    /// Refused when its document has as many changes as it may and this does not close it; else something could not be written.
    pub fn set_status(&mut self, id: TaskId, status: Status, token: OpenToken, by: &By) -> Result<(), Failure> {
        if !status.is_finished() {
            self.require_room(id)?;
        }
        let mut document = self.document(&About::Task { task: id })?;
        let state = state_of(&document)?;
        let taken = matches!(status, Status::Ongoing | Status::Blocked).then(|| state.taken()).flatten();
        let mut change = self.status_change(&document, &state, status, taken, token)?;
        change.history = Some(self.history_record(id, status, None, by)?);
        self.change_task(id, &mut document, change)?;
        self.put_back(document);
        Ok(())
    }

    /// Moves a task to another place, with its thread and history. To where it is already, nothing changes.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn move_task(&mut self, id: TaskId, to: PlaceId, by: &By) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task: id })?;
        let state = state_of(&document)?;
        let from = state.place;
        if from != to {
            let mut change = Change::of(move |tx| task::set_place(tx, from, to));
            change.history = Some(self.history_record(id, state.status(), Some(to), by)?);
            self.change_task(id, &mut document, change)?;
        }
        self.put_back(document);
        Ok(())
    }

    /// Puts a task into the trash. What is written to it elsewhere and was not seen here takes it out again.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn delete_task(&mut self, id: TaskId, by: &By) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task: id })?;
        let mut seen = vec![seen_in(document.tips())];
        let writer = self.writer();
        seen[0].insert(writer, document.next_seq(writer));
        seen.extend(self.thread_parts(id)?);
        let deletion = document.encode(&Deletion { at: self.now, by: by.clone(), seen })?;
        self.change_task(id, &mut document, Change::of(|tx| task::set_deleted(tx, Some(deletion))))?;
        self.put_back(document);
        Ok(())
    }

    /// Takes a task out of the trash.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn restore_task(&mut self, id: TaskId) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task: id })?;
        self.change_task(id, &mut document, Change::of(|tx| task::set_deleted(tx, None)))?;
        self.put_back(document);
        Ok(())
    }

    /// Adds a message to a task's thread.
    ///
    /// # Errors
    /// Refused when its document has as many changes as it may; else something could not be written.
    pub fn add_message(&mut self, id: TaskId, text: &str, by: &By) -> Result<(), Failure> {
        let text = self.text(text)?;
        let (counter, messages) = self.task_row(id)?.map_or((0, 0), |row| (row.counter, row.task.messages));
        let message = MessageRecord { counter: counter + 1, by: by.clone(), at: self.now, text };
        if messages >= MESSAGES_MOST {
            return Ok(self.add_to_later_part(id, messages / MESSAGES_MOST, message)?);
        }
        self.require_room(id)?;
        let mut document = self.document(&About::Task { task: id })?;
        let mut change = Change::of(|_| Ok(()));
        change.message = Some(message);
        self.change_task(id, &mut document, change)?;
        self.put_back(document);
        Ok(())
    }

    /// Says in the task's own register by which taking it is in hand, and makes it ongoing.
    pub(super) fn take_in_hand(&mut self, id: TaskId, token: OpenToken, by: &By) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task: id })?;
        let state = state_of(&document)?;
        let mut change = self.status_change(&document, &state, Status::Ongoing, Some(token), token)?;
        if state.status() != Status::Ongoing || state.taken().is_some() {
            change.history = Some(self.history_record(id, Status::Ongoing, None, by)?);
        }
        self.change_task(id, &mut document, change)?;
        self.put_back(document);
        Ok(())
    }

    /// Says in the task's own register that nobody has it in hand; an ongoing one waits in the queue again.
    pub(super) fn give_back(&mut self, id: TaskId) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task: id })?;
        let state = state_of(&document)?;
        if state.taken().is_some() {
            let status = if state.status() == Status::Ongoing { Status::NotStarted } else { state.status() };
            let progress = document.encode(&Progress { status, taken: None })?;
            let mut change = Change::of(|tx| task::set_progress(tx, progress));
            change.history = Some(self.history_record(id, status, None, &By::Node)?);
            self.change_task(id, &mut document, change)?;
        }
        self.put_back(document);
        Ok(())
    }

    fn status_change(
        &self,
        document: &Document,
        state: &TaskState,
        status: Status,
        taken: Option<OpenToken>,
        token: OpenToken,
    ) -> Result<Change<'static>, StoreError> {
        if status.is_finished() {
            return Ok(Change::of(move |tx| task::close(tx, status)));
        }
        let progress = document.encode(&Progress { status, taken })?;
        let opens = state.open.is_empty() || status == Status::Ongoing;
        Ok(Change::of(move |tx| {
            if opens {
                task::open(tx, token)?;
            }
            task::set_progress(tx, progress)
        }))
    }

    /// Makes a change to a task's document, with its rows.
    pub(super) fn change_task(&mut self, id: TaskId, document: &mut Document, change: Change<'_>) -> Result<(), StoreError> {
        let about = About::Task { task: id };
        let (writer, now) = (self.writer(), self.now);
        let seq = document.next_seq(writer);
        let history = change.history.as_ref().map(|record| document.encode(record)).transpose()?;
        let message = change.message.as_ref().map(|record| document.encode(record)).transpose()?;
        let raw = document.edit(writer, now, |tx, seq| {
            (change.work)(tx)?;
            history.map_or(Ok(()), |record| task::add_record(tx, HISTORY, writer, seq, record))?;
            message.map_or(Ok(()), |record| task::add_record(tx, MESSAGES, writer, seq, record))?;
            if tx.pending_ops() > 0 { task::touch(tx, now) } else { Ok(()) }
        })?;
        if raw.is_none() {
            return Ok(());
        }
        self.keep(&about, document, raw)?;
        let fresh = FreshRecords {
            messages: change.message.into_iter().map(|record| Keyed { writer, seq, record }).collect(),
            history: change.history.into_iter().map(|record| Keyed { writer, seq, record }).collect(),
            body: change.body,
            attached: change.attached.into_iter().collect(),
            detaches: change.detaches,
        };
        self.deriver().task(id, document, Some(fresh))
    }

    fn add_to_later_part(&mut self, task: TaskId, part: u32, message: MessageRecord) -> Result<(), StoreError> {
        let about = About::Thread { task, part };
        let (writer, now) = (self.writer(), self.now);
        let mut document = self.document_or_new(&about)?;
        let seq = document.next_seq(writer);
        let bytes = document.encode(&message)?;
        let raw = document.edit(writer, now, |tx, seq| task::add_record(tx, MESSAGES, writer, seq, bytes))?;
        self.keep(&about, &document, raw)?;
        self.deriver().thread(task, &document, Some(vec![Keyed { writer, seq, record: message }]))?;
        self.put_back(document);
        Ok(())
    }

    pub(super) fn history_record(
        &self,
        id: TaskId,
        status: Status,
        moved_to: Option<PlaceId>,
        by: &By,
    ) -> Result<HistoryRecord, StoreError> {
        let counter = self.task_row(id)?.map_or(0, |row| row.counter) + 1;
        Ok(HistoryRecord { counter, status, moved_to, by: by.clone(), at: self.now })
    }

    fn require_room(&self, id: TaskId) -> Result<(), Failure> {
        let changes = facts::meta(self.rows, About::Task { task: id }.doc_id())?.map_or(0, |meta| meta.changes);
        if changes >= CHANGES_MOST { Err(Refusal::DocumentFull { changes }.into()) } else { Ok(()) }
    }
}

fn state_of(document: &Document) -> Result<TaskState, StoreError> {
    TaskState::read(document).ok_or(StoreError::Document { doc: document.id(), fault: DocumentFault::Unknown })
}
