//! Schedules of tasks, and the runs that they make.

use super::{
    Tx,
    tasks::{Change, Work},
};
use crate::{
    docs::{
        About, Document,
        log::Fact,
        task::{self, Birth, ScheduleRecord, TaskState},
    },
    error::{DocumentFault, Failure, StoreError},
    id::PlaceId,
    model::{By, Outcome, RunOf, Schedule, Status},
    rules::{schedule::FirePlan, task::position_now},
};

/// What a new schedule does to the registers that differ, and the status that the task gets by it, where that changes.
pub(super) fn schedule_work(
    document: &Document,
    state: &TaskState,
    new: Option<Schedule>,
) -> Result<(Work<'static>, Option<Status>), StoreError> {
    let record = |schedule: &Option<Schedule>| schedule.as_ref().map(ScheduleRecord::of);
    let (before, after) = (record(&state.schedule), record(&new));
    let bytes = after.as_ref().map(|record| document.encode(record)).transpose()?;
    let paused = new.as_ref().and_then(|schedule| schedule.paused);
    let pauses = state.schedule.as_ref().and_then(|schedule| schedule.paused) != paused || before.is_none();
    let becomes = match (&before, &after) {
        (None, Some(_)) => Some(Status::Cron),
        (Some(_), None) => Some(state.status_without_schedule()),
        _ => None,
    };
    let work: Work<'static> = Box::new(move |tx| {
        if before != after {
            task::set_schedule(tx, bytes)?;
        }
        if pauses { task::set_paused(tx, paused) } else { Ok(()) }
    });
    Ok((work, becomes))
}

impl Tx<'_> {
    /// Records what became of a template's slots, and makes the run that is due.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn fire(&mut self, plan: &FirePlan) -> Result<(), Failure> {
        let (template, place, epoch) = (plan.template(), plan.place(), plan.epoch());
        for (slot, outcome) in plan.outcomes().iter().copied() {
            if outcome == Outcome::Ran {
                self.create_run(RunOf { template, slot }, place)?;
            }
            self.append(Fact::Fired { template, place, epoch, slot, outcome })?;
        }
        Ok(())
    }

    /// Makes the run of a slot as its template is now, unless it is there. Its beginning is the same wherever it is made,
    /// and what follows is older than any later change of it, so making it late takes nothing back.
    fn create_run(&mut self, run: RunOf, place: PlaceId) -> Result<(), Failure> {
        if self.task(run.task())?.is_some() {
            return Ok(());
        }
        let template = self.document(&About::Task { task: run.template })?;
        let unknown = || StoreError::Document { doc: template.id(), fault: DocumentFault::Unknown };
        let state = TaskState::read(&template).ok_or_else(unknown)?;
        self.put_back(template.clone());
        let mut document = self.document_or_new(&About::Run { template: run.template, slot: run.slot })?;
        let birth = Birth {
            title: state.title,
            body: document.encode(&state.body)?,
            place,
            assignee: state.assignee,
            position: position_now(run.slot),
            at: self.now,
            by: document.encode(&By::Node)?,
            allow_all_commands: state.allow_all_commands,
            clear_context: state.clear_context,
            token: None,
            schedule: None,
            created: run.slot,
        };
        let mut change = Change::of(|tx| task::give_birth(tx, birth));
        change.history = Some(self.history_record(run.task(), Status::NotStarted, None, &By::Node)?);
        change.body = true;
        self.change_task(run.task(), &mut document, change)?;
        self.put_back(document);
        self.copy_attachments(run.template, run.task(), &By::Node)?;
        Ok(())
    }
}
