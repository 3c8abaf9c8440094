//! What must hold of a store at every moment, as named functions that tests, actors and the simulator share. The numbers are
//! those of the specification (data.md, "Invariants"). Each returns what it found wrong: an empty list is good.

use std::collections::{BTreeMap, BTreeSet};

use automerge::legacy::{Key as OpKey, ObjectId, OpId, OpType};
use serde::de::DeserializeOwned;

use crate::{
    blobs::Blobs,
    derive::{Deriver, rebuild},
    docs::{
        About, Document,
        log::{ChainEnd, Fact, follow},
        outbox::Outgoing,
        task::{OPEN, TaskState},
    },
    error::StoreError,
    facts::{self, Chain},
    id::{MachineId, TaskId},
    model::{By, Counts, Mail, MailEvent, MailHappened, Mailbox, Outcome, Recipient, Status, Task},
    rows::{MemoryViews, Rows, Scan, Table},
    time::Timestamp,
    view::{Space, TaskRow, View, holder_key, queue_key},
};

/// Something that should never be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the invariant; 0 for the agreement of views with facts, on which the others rest.
    pub invariant: u8,
    /// What was found.
    pub found: String,
}

fn violation(invariant: u8, found: String) -> Violation {
    Violation { invariant, found }
}

/// Everything below that concerns one store.
///
/// # Errors
/// The rows cannot be read.
pub fn all(view: &View<'_>, blobs: &dyn Blobs, machine: MachineId) -> Result<Vec<Violation>, StoreError> {
    let mut found = views_follow_from_facts(view, blobs)?;
    found.extend(each_task_has_one_place(view)?);
    found.extend(closed_when_every_opening_was_seen(view)?);
    found.extend(one_task_for_a_slot(view)?);
    found.extend(held_by_one(view)?);
    found.extend(mail_is_delivered_once(view)?);
    let machines: BTreeSet<_> = view.machines()?.into_iter().map(|machine| machine.id).chain([machine]).collect();
    for machine in machines {
        found.extend(log_is_a_chain(view, machine)?);
    }
    Ok(found)
}

/// Views kept up change by change are the views that documents and logs give anew.
///
/// # Errors
/// The rows cannot be read.
pub fn views_follow_from_facts(view: &View<'_>, blobs: &dyn Blobs) -> Result<Vec<Violation>, StoreError> {
    let fresh = MemoryViews::over(view.rows());
    let left_out = rebuild(Deriver::new(&fresh, blobs), &mut |_, _| {})?;
    let mut found: Vec<_> =
        left_out.into_iter().map(|(doc, error)| violation(0, format!("document {doc} cannot be read: {error}"))).collect();
    found.extend(differing(&rows_of(view.rows(), Table::Views)?, &fresh.into_views()).map(|row| violation(0, row)));
    Ok(found)
}

/// 1: each known task resolves to exactly one place that was not merged, and the index agrees.
///
/// # Errors
/// The rows cannot be read.
pub fn each_task_has_one_place(view: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    let mut indexed: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut counted = BTreeMap::new();
    for (key, row) in task_rows(view)? {
        let task = row.task;
        *indexed.entry(task.id).or_default() += 1;
        if task.deleted.is_none() {
            *counted.entry(task.place).or_insert_with(Counts::default).of_mut(task.status) += 1;
        }
        if key != queue_key(&task).as_slice() {
            found.push(violation(1, format!("task {} stands under a key that is not its own", task.id)));
        }
        let place = view.resolve(task.place)?;
        if view.place(place)?.is_none() {
            found.push(violation(1, format!("task {} is in place {place}, which is not known", task.id)));
        } else if view.merged(place)?.is_some() {
            found.push(violation(1, format!("task {} is in place {place}, which was merged", task.id)));
        }
    }
    for id in view.ids(&Space::Task.key(), Space::Task)?.into_iter().map(TaskId::from_bytes) {
        let times = indexed.remove(&id).unwrap_or_default();
        if times != 1 || view.task(id)?.is_none_or(|task| task.id != id) {
            found.push(violation(1, format!("task {id} stands in {times} queues")));
        }
    }
    found.extend(indexed.keys().map(|id| violation(1, format!("task {id} stands in a queue and is not found by its id"))));
    for (place, counts) in counted {
        if view.row::<Counts>(Space::Counts, place.as_bytes())?.unwrap_or_default() != counts {
            found.push(violation(1, format!("the tasks of place {place} are counted wrong")));
        }
    }
    Ok(found)
}

/// 4: two replicas with equal frontiers have equal views.
///
/// # Errors
/// The rows of one cannot be read.
pub fn equal_frontiers_have_equal_views(a: &View<'_>, b: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    for bucket in 0..=u8::MAX {
        if facts::bucket_digest(a.rows(), bucket)? != facts::bucket_digest(b.rows(), bucket)? {
            return Ok(Vec::new());
        }
    }
    let (a, b) = (rows_of(a.rows(), Table::Views)?, rows_of(b.rows(), Table::Views)?);
    Ok(differing(&a, &b).map(|row| violation(4, row)).collect())
}

/// 5: a task is closed when, and only when, every token that ever opened it was deleted by a change that had seen it.
///
/// # Errors
/// The rows cannot be read.
pub fn closed_when_every_opening_was_seen(view: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    for (doc, meta) in facts::documents(view.rows())? {
        let Some(id) = meta.about.task() else { continue };
        let document = match facts::load(view.rows(), doc) {
            // One that cannot be read is told of where views are compared.
            Ok(None) | Err(StoreError::Document { .. }) => continue,
            Ok(Some(document)) => document,
            Err(error) => return Err(error),
        };
        if TaskState::read(&document).is_none() {
            continue;
        }
        let status = view.task(id)?.map(|task| task.status);
        // A template is neither: its schedule comes before what its tokens say.
        if status == Some(Status::Cron) {
            continue;
        }
        let closed = status.is_some_and(Status::is_finished);
        if closed != unseen_openings(&document)?.is_empty() {
            let word = if closed { "closed though an opening was not seen" } else { "open though every opening was seen" };
            found.push(violation(5, format!("task {id} is {word}")));
        }
    }
    Ok(found)
}

/// 9: a slot of a schedule has one task, whose id follows from both, and what is said to have run did.
///
/// # Errors
/// The rows cannot be read.
pub fn one_task_for_a_slot(view: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    let mut runs = BTreeSet::new();
    for (_, TaskRow { task, .. }) in task_rows(view)? {
        let Some(run) = task.run_of else { continue };
        if run.task() != task.id || !runs.insert((run.template, run.slot)) {
            found.push(violation(9, format!("task {} is a second run of {} for {}", task.id, run.template, run.slot)));
        }
    }
    for template in view.scheduled()? {
        for fired in view.fired(template, Timestamp::from_ms(i64::MAX), usize::MAX)? {
            if fired.outcome == Outcome::Ran && facts::meta(view.rows(), About::Run { template, slot: fired.slot }.doc_id())?.is_none() {
                found.push(violation(9, format!("the run of {template} for {} was recorded and is not there", fired.slot)));
            }
        }
    }
    Ok(found)
}

/// 14: a task is in the hands of at most one, who finds it among what it holds; and of nobody while it is not in work.
///
/// # Errors
/// The rows cannot be read.
pub fn held_by_one(view: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    let mut holders: BTreeMap<[u8; 16], usize> = BTreeMap::new();
    for rest in view.keys(&Space::Held.key())? {
        *holders.entry(crate::rows::id_at(&rest, 16, Space::Held.word())?).or_default() += 1;
    }
    for (_, TaskRow { task, .. }) in task_rows(view)? {
        let holders = holders.remove(task.id.as_bytes()).unwrap_or_default();
        if holders != usize::from(task.holder.is_some()) {
            found.push(violation(14, format!("task {} is in the hands of {holders}", task.id)));
        }
        if let Some(fault) = holder_fault(view, &task)? {
            found.push(violation(14, format!("task {} {fault}", task.id)));
        }
    }
    found.extend(holders.keys().map(|id| violation(14, format!("task {} is held and not known", TaskId::from_bytes(*id)))));
    Ok(found)
}

/// The log and the outbox of a machine are unbroken chains, over what was buried of them, and each ends where the next entry
/// will go on.
///
/// # Errors
/// The rows cannot be read.
pub fn log_is_a_chain(view: &View<'_>, machine: MachineId) -> Result<Vec<Violation>, StoreError> {
    let log = is_a_chain::<Fact>(view, Chain::Log, machine, |segment| About::Log { machine, segment })?;
    let outbox = is_a_chain::<Outgoing>(view, Chain::Outbox, machine, |segment| About::Outbox { machine, segment })?;
    Ok(log.into_iter().chain(outbox).map(|found| violation(0, found)).collect())
}

fn is_a_chain<T: DeserializeOwned>(
    view: &View<'_>,
    chain: Chain,
    machine: MachineId,
    about: impl Fn(u64) -> About,
) -> Result<Option<String>, StoreError> {
    let recorded = facts::chain_end(view.rows(), chain, machine)?;
    let mut end = ChainEnd::default();
    for segment in 0..=recorded.segment() {
        if let Some(beyond) = facts::beyond(view.rows(), chain, machine, segment)? {
            end = beyond.end;
            continue;
        }
        let document = match facts::load(view.rows(), about(segment).doc_id()) {
            Ok(Some(document)) => document,
            Ok(None) => break,
            Err(error @ StoreError::Document { .. }) => return Ok(Some(error.to_string())),
            Err(error) => return Err(error),
        };
        if let Err(error) = follow::<T>(&document, &mut end) {
            return Ok(Some(error.to_string()));
        }
    }
    Ok((end != recorded).then(|| format!("the {chain:?} of {machine} ends elsewhere than recorded")))
}

/// 8: no message is handed to one mailbox twice, and to none that it was not in; what one sends to a mailbox is pushed there in
/// that order, and nothing of it is passed over.
///
/// # Errors
/// The rows cannot be read.
pub fn mail_is_delivered_once(view: &View<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    let mut pushed: BTreeMap<(Recipient, By, MachineId), Option<MailEvent>> = BTreeMap::new();
    for (entry, mail) in view.all_mail()? {
        let events = view.mail_events(entry)?;
        found.extend(ledger_faults(&mail, &events).map(|fault| violation(8, format!("message {} {fault}", mail.id))));
        if events.iter().any(|event| matches!(event.what, MailHappened::Took(_))) {
            continue;
        }
        // The latest moment by which all that was sent before had been handed out; none while something was not.
        let before = pushed.entry((mail.to.clone(), mail.from.clone(), entry.machine)).or_insert(Some(MailEvent::first()));
        let first = events.first().cloned();
        let is_push = |event: &MailEvent| matches!(event.what, MailHappened::Delivered { read: false, .. });
        if let Some(push) = events.iter().find(|event| is_push(event))
            && before.as_ref().is_none_or(|before| before.is_after(push))
        {
            found.push(violation(8, format!("message {} was pushed before one that was sent earlier", mail.id)));
        }
        *before = before.take().zip(first).map(|(before, first)| if before.is_after(&first) { before } else { first });
    }
    Ok(found)
}

/// What is wrong with what logs say of one message.
fn ledger_faults<'a>(mail: &'a Mail, events: &'a [MailEvent]) -> impl Iterator<Item = &'static str> + use<'a> {
    let mut told: BTreeSet<(&Mailbox, bool)> = BTreeSet::new();
    let mut has: BTreeSet<Recipient> = BTreeSet::from([mail.to.clone()]);
    events.iter().filter_map(move |event| match &event.what {
        MailHappened::Took(agent) => {
            has.insert(Recipient::Agent(*agent));
            None
        }
        MailHappened::Delivered { mailbox, .. } if !has.contains(&Recipient::from(mailbox.clone())) => {
            Some("was handed out of a mailbox that it was not in")
        }
        MailHappened::Delivered { mailbox, read } => {
            let again = told.contains(&(mailbox, true)) || !told.insert((mailbox, *read));
            again.then_some("was handed out twice")
        }
    })
}

fn holder_fault(view: &View<'_>, task: &Task) -> Result<Option<&'static str>, StoreError> {
    let Some(holder) = &task.holder else { return Ok(None) };
    let in_work = matches!(task.status, Status::Ongoing | Status::Blocked);
    let key = holder_key(&holder.by)?.bytes(task.id.as_bytes());
    Ok(match view.rows().get(Table::Views, key.as_slice())? {
        _ if !in_work => Some("is in somebody's hands and not in work"),
        None => Some("is not among what its holder holds"),
        Some(_) => None,
    })
}

fn task_rows(view: &View<'_>) -> Result<Vec<(Vec<u8>, TaskRow)>, StoreError> {
    let mut rows = Vec::new();
    for space in [Space::Queue, Space::Trash] {
        crate::rows::scan_prefix(view.rows(), Table::Views, &space.key(), &mut |key, value| {
            rows.push((key.to_vec(), crate::rows::decode(value, space.word())?));
            Ok(Scan::On)
        })?;
    }
    Ok(rows)
}

/// The tokens that no deletion names, from the changes themselves and not from what Automerge makes of them.
fn unseen_openings(document: &Document) -> Result<BTreeSet<String>, StoreError> {
    let mut map = None;
    let (mut put, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for change in document.decoded() {
        for (op, number) in change.operations.iter().zip(change.start_op.get()..) {
            let OpKey::Map(key) = &op.key else { continue };
            let id = OpId(number, change.actor_id.clone());
            match &op.action {
                OpType::Make(_) if op.obj == ObjectId::Root && key == OPEN => map = Some(ObjectId::Id(id)),
                OpType::Put(_) if Some(&op.obj) == map.as_ref() => drop(put.insert(id, key.to_string())),
                OpType::Delete if Some(&op.obj) == map.as_ref() => seen.extend(op.pred.iter().cloned()),
                _ => {}
            }
        }
    }
    Ok(put.into_iter().filter(|(id, _)| !seen.contains(id)).map(|(_, token)| token).collect())
}

type RowMap = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows_of(rows: &dyn Rows, table: Table) -> Result<RowMap, StoreError> {
    let mut all = BTreeMap::new();
    rows.scan(table, std::ops::Bound::Unbounded, &[u8::MAX], &mut |key, value| {
        all.insert(key.to_vec(), value.to_vec());
        Ok(Scan::On)
    })?;
    Ok(all)
}

fn differing<'a>(a: &'a RowMap, b: &'a RowMap) -> impl Iterator<Item = String> + 'a {
    let keys: BTreeSet<_> = a.keys().chain(b.keys()).filter(|key| a.get(*key) != b.get(*key)).collect();
    keys.into_iter().map(move |key| {
        let side = |rows: &RowMap| rows.get(key).map_or("absent".to_owned(), |value| format!("{} bytes", value.len()));
        format!("row {} of space {} is {} here and {} there", hex(key), key.first().unwrap_or(&0), side(a), side(b))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every row of a table, for a test that compares two stores.
///
/// # Errors
/// The rows cannot be read.
pub fn table(view: &View<'_>, table: Table) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, StoreError> {
    rows_of(view.rows(), table)
}
