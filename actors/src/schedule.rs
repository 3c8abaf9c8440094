//! The **schedule** actor: it knows when the next slot of each schedule comes, sleeps until then, and has what came of it
//! decided and recorded in one transaction.
//!
//! It decides nothing: the rule does, on the records as they are at that moment, so a slot that was thought due and is not
//! any more makes no run. It looks at the clock at least every minute, since a machine that slept or whose clock was set
//! tells nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use frith_store::{
    error::Failure,
    id::{MachineId, TaskId},
    time::Timestamp,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::{
    ctx::Ctx,
    handlers::schedule::{fire, next_look},
    task::Owned,
};

/// The longest it sleeps without a look at the clock.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How many templates share a transaction.
const FIRED_AT_ONCE: usize = 64;

/// What the actor is asked.
pub enum ScheduleMsg {
    /// This task may have got, changed or lost a schedule, or moved.
    Changed(TaskId),
    /// Something changed by which every schedule may be touched: a place was archived, merged or taken back.
    AllChanged,
    /// Time has passed.
    Look,
    /// How many schedules there are, and when the next slot comes.
    Next(RpcReplyPort<(u64, Option<Timestamp>)>),
}

/// The actor.
pub struct ScheduleActor;

/// When to look at which template. Those that only a change can bring to life are not in it.
#[derive(Default)]
struct Agenda {
    by_time: BTreeSet<(Timestamp, TaskId)>,
    by_task: BTreeMap<TaskId, Timestamp>,
    /// Since when what came of a template could not be recorded: its slot was noticed then, and not at the later try.
    noticed: BTreeMap<TaskId, Timestamp>,
}

impl Agenda {
    fn set(&mut self, task: TaskId, next: Option<Timestamp>) {
        if let Some(old) = self.by_task.remove(&task) {
            self.by_time.remove(&(old, task));
        }
        if let Some(next) = next {
            self.by_task.insert(task, next);
            self.by_time.insert((next, task));
        }
    }

    /// Notes that a template was due at `now` in vain, and is tried again at `later`.
    fn put_off(&mut self, task: TaskId, now: Timestamp, later: Timestamp) {
        self.noticed.entry(task).or_insert(now);
        self.set(task, Some(later));
    }

    /// Notes that what came of a template is recorded, and when it comes next.
    fn done(&mut self, task: TaskId, next: Option<Timestamp>) {
        self.noticed.remove(&task);
        self.set(task, next);
    }

    fn first(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(time, _)| *time)
    }

    fn due(&self, now: Timestamp) -> Vec<TaskId> {
        self.by_time.iter().take_while(|(time, _)| *time <= now).map(|(_, task)| *task).collect()
    }
}

/// Its state.
pub struct ScheduleState {
    ctx: Ctx,
    agenda: Agenda,
    waiting: Option<Owned>,
    /// What the clock showed when it was looked at last.
    seen: Timestamp,
}

impl Actor for ScheduleActor {
    type Msg = ScheduleMsg;
    type State = ScheduleState;
    type Arguments = Ctx;

    async fn pre_start(&self, myself: ActorRef<ScheduleMsg>, ctx: Ctx) -> Result<ScheduleState, ActorProcessingErr> {
        // The first look is a message like any other, so that a start waits for nothing.
        myself.cast(ScheduleMsg::AllChanged)?;
        let seen = ctx.env.clock.now();
        Ok(ScheduleState { ctx, agenda: Agenda::default(), waiting: None, seen })
    }

    async fn handle(
        &self,
        myself: ActorRef<ScheduleMsg>,
        message: ScheduleMsg,
        state: &mut ScheduleState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ScheduleMsg::Changed(task) => state.plan(vec![task]).await?,
            ScheduleMsg::AllChanged => state.plan_all().await?,
            ScheduleMsg::Look if state.is_set_back() => state.plan_all().await?,
            ScheduleMsg::Look => {}
            ScheduleMsg::Next(reply) => {
                let count = state.ctx.db.read(|view| Ok(view.scheduled()?.len() as u64)).await.map_err(broken)?;
                // One who went away hears nothing.
                let _ = reply.send((count, state.agenda.first()));
                return Ok(());
            }
        }
        state.fire_due().await?;
        state.wait(myself);
        Ok(())
    }
}

impl ScheduleState {
    /// Whether the clock was set back: what was planned by it would come too late.
    fn is_set_back(&mut self) -> bool {
        let now = self.ctx.env.clock.now();
        std::mem::replace(&mut self.seen, now) > now
    }

    /// Looks up when each template comes next.
    async fn plan_all(&mut self) -> Result<(), ActorProcessingErr> {
        let scheduled = self.ctx.db.read(|view| Ok(view.scheduled()?)).await.map_err(broken)?;
        // What was tried in vain is still noticed since then.
        self.agenda = Agenda { noticed: std::mem::take(&mut self.agenda.noticed), ..Agenda::default() };
        self.plan(scheduled).await
    }

    /// Looks up when these templates come next. One that cannot be read keeps no other from its run, and is left alone until
    /// it changes.
    async fn plan(&mut self, tasks: Vec<TaskId>) -> Result<(), ActorProcessingErr> {
        let (here, now) = (self.here(), self.ctx.env.clock.now());
        let planned = self.ctx.db.read(move |view| {
            let next = |task| match next_look(view, task, here, now) {
                Ok(next) => (task, next),
                Err(error) => {
                    tracing::error!(%task, %error, "a schedule cannot be read, and makes no runs until its task changes");
                    (task, None)
                }
            };
            Ok::<_, Failure>(tasks.into_iter().map(next).collect::<Vec<_>>())
        });
        for (task, next) in planned.await.map_err(broken)? {
            self.agenda.set(task, next);
        }
        Ok(())
    }

    /// Fires what is due, and notes when each comes next. A template that cannot be read keeps no other from its run.
    async fn fire_due(&mut self) -> Result<(), ActorProcessingErr> {
        let now = self.ctx.env.clock.now();
        let due = self.agenda.due(now);
        for group in due.chunks(FIRED_AT_ONCE) {
            self.ctx.env.faults.reached("schedule.due");
            match self.fire(group.to_vec()).await {
                Ok(()) => {}
                Err(_) if group.len() > 1 => {
                    for task in group {
                        self.fire_alone(*task, now).await;
                    }
                }
                Err(error) => self.put_off(group[0], now, &error),
            }
            self.ctx.env.faults.reached("schedule.fired");
        }
        Ok(())
    }

    async fn fire_alone(&mut self, task: TaskId, now: Timestamp) {
        if let Err(error) = self.fire(vec![task]).await {
            self.put_off(task, now, &error);
        }
    }

    async fn fire(&mut self, tasks: Vec<TaskId>) -> Result<(), Failure> {
        let here = self.here();
        let tasks: Vec<_> = tasks.into_iter().map(|task| (task, self.agenda.noticed.get(&task).copied())).collect();
        let fired = self.ctx.db.write(move |tx| {
            let fire = |(task, noticed)| Ok((task, fire(tx, task, here, noticed)?));
            tasks.into_iter().map(fire).collect::<Result<Vec<_>, _>>()
        });
        for (task, next) in fired.await? {
            self.agenda.done(task, next);
        }
        Ok(())
    }

    /// What could not be written is tried again at the next look at the clock, as noticed when it was tried first: a slot is
    /// not lost by a full disk, however long that lasts, as long as the node does.
    fn put_off(&mut self, task: TaskId, now: Timestamp, error: &Failure) {
        tracing::error!(%task, %error, "what came of a schedule could not be recorded, and is tried again");
        let later = self.ctx.env.clock.now().ms().saturating_add(i64::try_from(LOOK_EVERY.as_millis()).unwrap_or(i64::MAX));
        self.agenda.put_off(task, now, Timestamp::from_ms(later));
    }

    fn wait(&mut self, myself: ActorRef<ScheduleMsg>) {
        let Some(first) = self.agenda.first() else {
            self.waiting = None;
            return;
        };
        let until = Duration::from_millis(first.ms_since(self.ctx.env.clock.now()));
        self.waiting = Some(Owned::spawn(async move {
            tokio::time::sleep(until.min(LOOK_EVERY)).await;
            let _ = myself.cast(ScheduleMsg::Look);
        }));
    }

    fn here(&self) -> MachineId {
        self.ctx.db.store().machine()
    }
}

fn broken(failure: Failure) -> ActorProcessingErr {
    Box::new(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agenda_tells_the_next_time_and_who_is_due_then() {
        let (task, at) = (|n: u8| TaskId::from_bytes([n; 16]), Timestamp::from_ms);
        let mut agenda = Agenda::default();
        for (n, time) in [(1, 30), (2, 10), (3, 20)] {
            agenda.set(task(n), Some(at(time)));
        }
        assert_eq!((agenda.first(), agenda.due(at(20))), (Some(at(10)), vec![task(2), task(3)]));
        agenda.set(task(2), Some(at(40)));
        agenda.set(task(3), None);
        assert_eq!((agenda.first(), agenda.due(at(29))), (Some(at(30)), vec![]));
    }

    #[test]
    fn what_is_put_off_is_noticed_since_the_first_try_until_it_is_recorded() {
        let (task, at) = (TaskId::from_bytes([1; 16]), Timestamp::from_ms);
        let mut agenda = Agenda::default();
        agenda.set(task, Some(at(10)));
        for (now, later) in [(10, 70), (70, 130)] {
            agenda.put_off(task, at(now), at(later));
            assert_eq!((agenda.noticed.get(&task), agenda.first()), (Some(&at(10)), Some(at(later))));
        }
        agenda.done(task, Some(at(200)));
        assert_eq!((agenda.noticed.get(&task), agenda.first()), (None, Some(at(200))));
    }
}
