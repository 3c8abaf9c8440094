//! Tasks: what touches a schedule is told to the schedules.

use frith_store::{
    id::TaskId,
    model::{Notice, Status},
    refusal::Refusal,
};

use super::{Call, reply};
use crate::{
    api::{
        Operation,
        task::{self, DeletedTasks, MovedTasks, RestoredTasks, TaskInfo},
    },
    call::Failed,
    handlers::{self, task::Fresh},
    local::server::Answer,
    notice::{self, Event},
};

impl Call<'_> {
    pub(super) async fn task(self, operation: Operation) -> Result<Answer, Failed> {
        use handlers::{task, trash};
        let (fresh, call, now) = (self.node.ctx().fresh(), self.envelope.call, self.node.ctx().env.clock.now());
        match operation {
            Operation::TaskAdd(request) => {
                let zone = self.zone(request.schedule.as_ref());
                self.write_touching(template_in, move |tx, caller| task::add(tx, caller, &request, fresh, &zone)).await
            }
            Operation::TaskList(request) => self.read(move |view, caller| task::list(view, caller, &request, now)).await,
            Operation::TaskShow(request) => self.read(move |view, caller| task::show(view, caller, &request, now)).await,
            Operation::TaskEdit(request) => {
                let zone = self.zone(request.schedule.as_ref());
                self.write_touching(|edited: &TaskInfo| vec![edited.task.id], move |tx, caller| task::edit(tx, caller, &request, &zone))
                    .await
            }
            Operation::TaskStatus(request) => self.set_status(request, fresh).await,
            Operation::TaskMove(request) => self.write_touching(tasks_in, move |tx, caller| task::move_to(tx, caller, &request)).await,
            Operation::TaskDelete(request) if request.dry_run => {
                self.read(move |view, caller| trash::deletion(view, caller, &request)).await
            }
            Operation::TaskDelete(request) => self.write_touching(deleted_in, move |tx, caller| trash::delete(tx, caller, &request)).await,
            Operation::TaskRestore(request) => {
                self.write_touching(restored_in, move |tx, caller| trash::restore(tx, caller, &request)).await
            }
            Operation::TaskReply(request) => {
                let held = self.node.ctx().held.clone();
                let answer = self.write(move |tx, caller| task::reply(tx, caller, &request, fresh.id)).await;
                held.notify_one();
                answer
            }
            Operation::TaskNext(request) => {
                let kinds = &self.node.ctx().config.now().kinds;
                let cleared: Vec<String> = kinds.iter().filter(|(_, kind)| kind.can_be_cleared()).map(|(name, _)| name.clone()).collect();
                self.write(move |tx, caller| task::next(tx, caller, &request, call, fresh, &cleared)).await
            }
            _ => Err(Refusal::Stale.into()),
        }
    }

    /// This machine's time zone, where it is needed.
    fn zone(&self, schedule: Option<&String>) -> String {
        schedule.map(|_| self.node.ctx().env.clock.time_zone()).unwrap_or_default()
    }

    async fn set_status(self, request: task::SetStatus, fresh: Fresh) -> Result<Answer, Failed> {
        let (caller, by) = (self.caller.clone(), self.caller.by());
        let ctx = self.node.ctx();
        let set = ctx.db.write_once(self.envelope.call, move |tx| handlers::task::set_status(tx, &caller, &request, fresh)).await?;
        let notice = match set.task.status {
            status if status.is_finished() => Some(Notice::TaskFinished),
            Status::Blocked => Some(Notice::TaskWaiting),
            _ => None,
        };
        if let Some(notice) = notice {
            let what = format!("{} {}: {}", set.task.id.short(), set.task.title, set.task.status.word());
            notice::raise(ctx, Event { place: set.place.id, notice, by: Some(by), what });
        }
        reply(&set)
    }
}

/// The template that was made, if it is one.
fn template_in(added: &TaskInfo) -> Vec<TaskId> {
    added.schedule.iter().map(|schedule| schedule.task).collect()
}

fn tasks_in(moved: &MovedTasks) -> Vec<TaskId> {
    moved.tasks.iter().map(|task| task.id).collect()
}

fn deleted_in(deleted: &DeletedTasks) -> Vec<TaskId> {
    deleted.tasks.iter().map(|task| task.id).collect()
}

fn restored_in(restored: &RestoredTasks) -> Vec<TaskId> {
    restored.tasks.iter().map(|task| task.id).collect()
}
