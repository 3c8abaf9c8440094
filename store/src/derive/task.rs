//! The rows of a task: its record in its queue, its text, its thread and history, what is offered, held and counted.

use super::Deriver;
use crate::{
    docs::{
        About, Document, Text,
        attachment::{AttachmentRecord, attachments},
        task::{HistoryRecord, Keyed, MessageRecord, TaskState, history, messages},
        trash::{Deletion, seen_in},
    },
    error::StoreError,
    facts,
    id::{OpenToken, TaskId},
    model::{Attachment, By, Counts, Holder, Message, Status, StatusChange, Task, Trashed},
    rows::{Key, Scan, Table, decode, get_as, scan_prefix},
    time::Timestamp,
    view::{BodyRow, Offer, Space, TakenRow, TaskRow, holder_key, offer_key, queue_key},
};

/// What a change made here added, so that the rest of a long thread need not be read again.
#[derive(Debug, Default)]
pub(crate) struct FreshRecords {
    pub messages: Vec<Keyed<MessageRecord>>,
    pub history: Vec<Keyed<HistoryRecord>>,
    /// Whether the body changed.
    pub body: bool,
    /// What was attached.
    pub attached: Vec<Keyed<AttachmentRecord>>,
    /// Whether something was taken away, so that all that is attached has to be looked at.
    pub detaches: bool,
}

impl Deriver<'_> {
    /// Derives a task's rows: those that `fresh` names, or all when it is absent.
    pub(crate) fn task(&self, task: TaskId, document: &Document, fresh: Option<FreshRecords>) -> Result<(), StoreError> {
        let Some(state) = TaskState::read(document) else { return Ok(()) };
        let old = self.view().task_row(task)?;
        let known = if fresh.is_some() { old.as_ref().map(Thread::of) } else { None };
        let whole =
            || FreshRecords { messages: messages(document), history: history(document), body: true, attached: Vec::new(), detaches: true };
        let fresh = fresh.unwrap_or_else(whole);
        self.messages(task, &fresh.messages)?;
        self.history(task, &fresh.history)?;
        if fresh.body {
            self.body(task, &state.body)?;
        }
        if fresh.detaches {
            self.delete_all(&Space::Attachment.key().bytes(task.as_bytes()))?;
            self.attachments(task, &attachments(document))?;
        } else {
            self.attachments(task, &fresh.attached)?;
        }
        let thread = match known {
            Some(thread) => thread.with(&fresh),
            None => self.thread_so_far(task)?,
        };
        let row = self.assemble(document, task, state, thread)?;
        self.replace(old, row)
    }

    /// Derives what a later part of a thread adds to its task: the messages in `fresh`, or all when it is absent.
    pub(crate) fn thread(&self, task: TaskId, document: &Document, fresh: Option<Vec<Keyed<MessageRecord>>>) -> Result<(), StoreError> {
        let whole = fresh.is_none();
        let fresh = FreshRecords { messages: fresh.unwrap_or_else(|| messages(document)), ..FreshRecords::default() };
        self.messages(task, &fresh.messages)?;
        let Some(old) = self.view().task_row(task)? else { return Ok(()) };
        let thread = if whole { self.thread_so_far(task)? } else { Thread::of(&old).with(&fresh) };
        let mut row = old.clone();
        if row.task.deleted.is_some() {
            row.task.deleted = self.still_deleted(task)?;
            row.task.holder = if row.task.deleted.is_some() { None } else { self.holder_by(row.taken)? };
        }
        row.task.messages = thread.messages;
        row.task.changed = row.task.changed.max(thread.latest);
        (row.counter, row.latest) = (thread.counter, thread.latest);
        self.replace(Some(old), row)
    }

    /// Derives who has the task in hand again, after a taking or the taker's end or return became known.
    pub(super) fn holder(&self, task: TaskId) -> Result<(), StoreError> {
        let Some(old) = self.view().task_row(task)? else { return Ok(()) };
        let mut row = old.clone();
        if row.task.deleted.is_none() {
            row.task.holder = self.holder_by(row.taken)?;
        }
        // No document changed, so nothing that depends on one has to be looked at.
        if old == row { Ok(()) } else { self.exchange_rows(Some(old), &row) }
    }

    fn assemble(&self, document: &Document, id: TaskId, state: TaskState, thread: Thread) -> Result<TaskRow, StoreError> {
        let (status, taken) = (state.status(), state.taken());
        let deleted = self.deleted(document, id, state.deletions)?;
        let task = Task {
            id,
            title: state.title,
            status,
            place: state.place,
            assignee: state.assignee,
            position: state.position,
            created: state.created,
            created_by: state.created_by,
            changed: state.changed.max(thread.latest),
            holder: if deleted.is_some() { None } else { self.holder_by(taken)? },
            messages: thread.messages,
            allow_all_commands: state.allow_all_commands,
            clear_context: state.clear_context,
            moved_from: state.moved_from,
            schedule: state.schedule,
            run_of: state.run_of,
            deleted,
        };
        Ok(TaskRow { task, open: state.open, taken, counter: thread.counter, latest: thread.latest })
    }

    /// Whether a task is in the trash: its deletion had seen all there is.
    fn deleted(&self, document: &Document, id: TaskId, deletions: Vec<Option<Deletion>>) -> Result<Option<Trashed>, StoreError> {
        if deletions.is_empty() {
            return Ok(None);
        }
        let mut now = vec![seen_in(document.tips())];
        now.extend(self.view().thread_parts(id)?);
        Ok(Deletion::standing(deletions, &now).map(|deletion| Trashed { at: deletion.at, by: deletion.by }))
    }

    /// The same after a later part of the thread got a message.
    fn still_deleted(&self, id: TaskId) -> Result<Option<Trashed>, StoreError> {
        let Some(document) = facts::load(self.rows, About::Task { task: id }.doc_id())? else { return Ok(None) };
        let deletions = TaskState::read(&document).map(|state| state.deletions).unwrap_or_default();
        self.deleted(&document, id, deletions)
    }

    fn holder_by(&self, taken: Option<OpenToken>) -> Result<Option<Holder>, StoreError> {
        let Some(token) = taken else { return Ok(None) };
        let key = Space::Taken.key().bytes(token.as_bytes());
        let Some(TakenRow { holder: by, since, call, .. }) = get_as(self.rows, Table::Views, &key, Space::Taken.word())? else {
            return Ok(None);
        };
        let left = match by {
            By::Agent(agent) => self.view().agent(agent)?.is_some_and(|agent| agent.ended.is_some()),
            By::Person(_) | By::Node => false,
        };
        Ok(Some(Holder { by, since, call, left }))
    }

    /// Puts a task's record in the place of the one before, with everything that is found by it.
    fn replace(&self, old: Option<TaskRow>, new: TaskRow) -> Result<(), StoreError> {
        let task = new.task.id;
        let places = [Some(new.task.place), old.as_ref().map(|old| old.task.place).filter(|place| *place != new.task.place)];
        if old.as_ref() != Some(&new) {
            self.exchange_rows(old, &new)?;
        }
        places.into_iter().flatten().try_for_each(|place| self.look_at_task(self.view().resolve(place)?, task))
    }

    fn exchange_rows(&self, old: Option<TaskRow>, new: &TaskRow) -> Result<(), StoreError> {
        let key = queue_key(&new.task);
        let before = old.as_ref().map(|old| queue_key(&old.task));
        if before.as_ref() != Some(&key) {
            before.map_or(Ok(()), |before| self.delete(&before))?;
            self.rows.put(Table::Views, Space::Task.key().bytes(new.task.id.as_bytes()).as_slice(), key.as_slice())?;
        }
        self.put(Space::Queue, &key, new)?;
        let old = old.map(|row| row.task);
        self.exchange(old.as_ref().and_then(offered), offered(&new.task))?;
        self.exchange(held(old.as_ref())?, held(Some(&new.task))?)?;
        self.exchange(old.as_ref().and_then(scheduled), scheduled(&new.task))?;
        self.count(old.as_ref(), Some(&new.task))
    }

    /// Takes a task out of everything by which it is found beside its own row.
    pub(super) fn leave(&self, task: &Task) -> Result<(), StoreError> {
        self.exchange(offered(task), None)?;
        self.exchange(held(Some(task))?, None)?;
        self.exchange(scheduled(task), None)?;
        self.count(Some(task), None)
    }

    fn exchange(&self, old: Option<Key>, new: Option<Key>) -> Result<(), StoreError> {
        if old == new {
            return Ok(());
        }
        old.map_or(Ok(()), |key| self.delete(&key))?;
        new.map_or(Ok(()), |key| self.mark(&key))
    }

    fn count(&self, old: Option<&Task>, new: Option<&Task>) -> Result<(), StoreError> {
        let counted = |task: &Task| task.deleted.is_none().then_some((task.place, task.status));
        if old.and_then(counted) == new.and_then(counted) {
            return Ok(());
        }
        let changes = [old.map(|task| (task, false)), new.map(|task| (task, true))];
        for (task, add) in changes.into_iter().flatten().filter(|(task, _)| task.deleted.is_none()) {
            let key = Space::Counts.key().bytes(task.place.as_bytes());
            let mut counts: Counts = get_as(self.rows, Table::Views, &key, Space::Counts.word())?.unwrap_or_default();
            let number = counts.of_mut(task.status);
            *number = if add { *number + 1 } else { number.saturating_sub(1) };
            if counts == Counts::default() { self.delete(&key)? } else { self.put(Space::Counts, &key, &counts)? }
        }
        Ok(())
    }

    fn messages(&self, task: TaskId, messages: &[Keyed<MessageRecord>]) -> Result<(), StoreError> {
        for Keyed { writer, seq, record } in messages {
            let key = Space::Message.key().bytes(task.as_bytes()).number(record.counter).bytes(writer.as_bytes()).number(*seq);
            let text = self.text_or_notice(&record.text);
            let message = Message { by: record.by.clone(), machine: writer.machine(), at: record.at, text };
            self.put(Space::Message, &key, &message)?;
        }
        Ok(())
    }

    fn history(&self, task: TaskId, history: &[Keyed<HistoryRecord>]) -> Result<(), StoreError> {
        for Keyed { writer, seq, record } in history {
            let key = Space::History.key().bytes(task.as_bytes()).number(record.counter).bytes(writer.as_bytes()).number(*seq);
            let HistoryRecord { status, moved_to, by, at, .. } = record.clone();
            self.put(Space::History, &key, &StatusChange { status, moved_to, by, machine: writer.machine(), at })?;
        }
        Ok(())
    }

    fn body(&self, task: TaskId, body: &Text) -> Result<(), StoreError> {
        let key = Space::Body.key().bytes(task.as_bytes());
        match self.text(body) {
            BodyRow::Text(text) if text.is_empty() => self.delete(&key),
            row => self.put(Space::Body, &key, &row),
        }
    }

    fn attachments(&self, task: TaskId, attached: &[Keyed<AttachmentRecord>]) -> Result<(), StoreError> {
        for Keyed { writer, seq, record } in attached {
            let AttachmentRecord::Here { name, hash, size, by, at } = record.clone() else { continue };
            let key = Space::Attachment.key().bytes(task.as_bytes()).signed(at.ms()).bytes(writer.as_bytes()).number(*seq);
            self.put(Space::Attachment, &key, &Attachment { name, hash, size, by, machine: writer.machine(), at })?;
        }
        Ok(())
    }

    /// A text, or in its place a sentence that says it is not here.
    pub(super) fn text_or_notice(&self, text: &Text) -> String {
        match self.text(text) {
            BodyRow::Text(text) => text,
            BodyRow::Missing { hash, .. } => format!("[the text {hash} is not on this machine]"),
        }
    }

    /// One text that is gone must not take the rest of the views with it.
    pub(super) fn text(&self, text: &Text) -> BodyRow {
        let hash = match text {
            Text::Inline(text) => return BodyRow::Text(text.clone()),
            Text::Kept { hash, .. } => *hash,
        };
        match self.blobs.get(hash) {
            Ok(bytes) => BodyRow::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Err(StoreError::Blob { damaged: true, .. }) => BodyRow::Missing { hash, damaged: true },
            Err(_) => BodyRow::Missing { hash, damaged: false },
        }
    }

    /// What the rows that are there say of the thread.
    fn thread_so_far(&self, task: TaskId) -> Result<Thread, StoreError> {
        let mut thread = Thread::default();
        for space in [Space::Message, Space::History] {
            scan_prefix(self.rows, Table::Views, &space.key().bytes(task.as_bytes()), &mut |key, value| {
                let counter = key.get(17..25).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
                thread.counter = thread.counter.max(counter);
                if space == Space::Message {
                    let message: Message = decode(value, space.word())?;
                    thread.messages += 1;
                    thread.latest = thread.latest.max(message.at);
                }
                Ok(Scan::On)
            })?;
        }
        Ok(thread)
    }
}

/// What a task's record keeps of its thread and history.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    counter: u64,
    messages: u32,
    latest: Timestamp,
}

impl Thread {
    fn of(row: &TaskRow) -> Self {
        Self { counter: row.counter, messages: row.task.messages, latest: row.latest }
    }

    fn with(mut self, fresh: &FreshRecords) -> Self {
        for Keyed { record, .. } in &fresh.messages {
            self.messages += 1;
            self.counter = self.counter.max(record.counter);
            self.latest = self.latest.max(record.at);
        }
        for Keyed { record, .. } in &fresh.history {
            self.counter = self.counter.max(record.counter);
        }
        self
    }
}

fn offered(task: &Task) -> Option<Key> {
    if task.deleted.is_some() {
        return None;
    }
    match (&task.holder, task.status) {
        (Some(holder), _) => holder.left.then(|| offer_key(task, Offer::Left)),
        (None, Status::NotStarted) if task.assignee == crate::model::Assignee::Agent => Some(offer_key(task, Offer::Waiting)),
        (None, _) => None,
    }
}

fn scheduled(task: &Task) -> Option<Key> {
    task.schedule.as_ref().filter(|_| task.deleted.is_none()).map(|_| Space::Scheduled.key().bytes(task.id.as_bytes()))
}

fn held(task: Option<&Task>) -> Result<Option<Key>, StoreError> {
    let Some((task, holder)) = task.and_then(|task| Some((task, task.holder.as_ref()?))) else { return Ok(None) };
    Ok(Some(holder_key(&holder.by)?.bytes(task.id.as_bytes())))
}
