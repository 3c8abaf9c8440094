//! Which schedules a task may have, and what becomes of the slots that have come (forks.md, "Task").

use super::{in_the_way, moves::holding_agent, seat::Decides};
use crate::{
    id::{PlaceId, TaskId},
    model::{Fired, Missed, Outcome, Place, RunOf, Schedule, Skip, Task},
    refusal::Refusal,
    schedule::{Expression, Timetable, Zone},
    time::Timestamp,
};

/// How late a slot may be noticed and still count as on time: a node looks at its clock at least every minute.
const ON_TIME_MS: u64 = 120_000;
/// The most slots that are counted one by one.
const COUNTED_MOST: usize = 100_000;

/// What somebody wants of a task's schedule; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Five fields.
    pub expression: Option<&'a str>,
    /// The name of a time zone.
    pub time_zone: Option<&'a str>,
    /// What becomes of missed slots.
    pub missed: Option<Missed>,
    /// Whether it pauses.
    pub paused: Option<bool>,
    /// Whether it goes.
    pub removed: bool,
}

/// A schedule that a task may get, or that it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulePlan(Option<Schedule>);

impl SchedulePlan {
    /// The schedule; none takes it away.
    pub fn into_schedule(self) -> Option<Schedule> {
        self.0
    }
}

/// Whether a task that does not exist yet may be a template. `here` is the machine's own time zone.
///
/// # Errors
/// The expression or the time zone is none.
pub fn can_begin(wanted: &Wanted<'_>, here: &str, now: Timestamp) -> Result<SchedulePlan, Refusal> {
    let expression = Expression::parse(wanted.expression.unwrap_or_default())?;
    let zone = zone_named(wanted.time_zone.unwrap_or(here))?;
    Ok(SchedulePlan(Some(Schedule {
        expression: expression.text().to_owned(),
        time_zone: zone.name().to_owned(),
        missed: wanted.missed.unwrap_or_default(),
        from: now,
        paused: None,
    })))
}

/// Whether a task's schedule may become as `wanted`. None when that changes nothing.
///
/// # Errors
/// It has no schedule and is given none, an agent has the task in hand, or a value is none.
pub fn can_schedule(task: &Task, wanted: &Wanted<'_>, here: &str, now: Timestamp) -> Result<Option<SchedulePlan>, Refusal> {
    if *wanted == Wanted::default() {
        return Ok(None);
    }
    let plan = match &task.schedule {
        None if wanted.expression.is_some() => match holding_agent(task) {
            Some(agent) => return Err(Refusal::ScheduleInHand { task: in_the_way(task), agent }),
            None => paused_as(can_begin(wanted, here, now)?, wanted, now),
        },
        None => return Err(Refusal::NoSchedule { task: in_the_way(task) }),
        Some(_) if wanted.removed => SchedulePlan(None),
        Some(old) => paused_as(changed(old, wanted, now)?, wanted, now),
    };
    Ok((plan.0 != task.schedule).then_some(plan))
}

fn changed(old: &Schedule, wanted: &Wanted<'_>, now: Timestamp) -> Result<SchedulePlan, Refusal> {
    let mut new = old.clone();
    if let Some(text) = wanted.expression {
        new.expression = Expression::parse(text)?.text().to_owned();
    }
    if let Some(name) = wanted.time_zone {
        new.time_zone = zone_named(name)?.name().to_owned();
    }
    new.missed = wanted.missed.unwrap_or(old.missed);
    if (&new.expression, &new.time_zone) != (&old.expression, &old.time_zone) {
        new.from = now;
    }
    Ok(SchedulePlan(Some(new)))
}

fn paused_as(plan: SchedulePlan, wanted: &Wanted<'_>, now: Timestamp) -> SchedulePlan {
    let apply = |mut schedule: Schedule| {
        match (wanted.paused, schedule.paused) {
            (Some(true), None) => schedule.paused = Some(now),
            (Some(false), Some(_)) => (schedule.paused, schedule.from) = (None, now),
            _ => {}
        }
        schedule
    };
    SchedulePlan(plan.0.map(apply))
}

fn zone_named(name: &str) -> Result<Zone, Refusal> {
    Zone::named(name).ok_or_else(|| Refusal::UnknownTimeZone { given: name.to_owned() })
}

/// The slots of a schedule.
///
/// # Errors
/// This frith does not understand its expression, or does not know its time zone.
pub fn timetable(schedule: &Schedule) -> Result<Timetable, Refusal> {
    Ok(Timetable::new(Expression::parse(&schedule.expression)?, zone_named(&schedule.time_zone)?))
}

/// What is known of a template when its slots are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Template<'a> {
    /// The task.
    pub task: &'a Task,
    /// The place it stands in, merged forks followed to their parent.
    pub place: &'a Place,
    /// The parent of that place, when it is a fork.
    pub parent: Option<&'a Place>,
    /// The latest slot of which it is recorded what became of it.
    pub last: Option<&'a Fired>,
}

impl Template<'_> {
    /// Why its slots make no runs now.
    pub fn skips(&self) -> Option<Skip> {
        let archived = self.place.archived || self.parent.is_some_and(|parent| parent.archived);
        let paused = self.task.schedule.as_ref().is_some_and(|schedule| schedule.paused.is_some());
        let reasons = [(self.place.deleted.is_some(), Skip::Deleted), (archived, Skip::Archived), (paused, Skip::Paused)];
        reasons.iter().find(|(holds, _)| *holds).map(|(_, why)| *why)
    }

    /// The next slot that will make a run, as things stand.
    pub fn next_run(&self, now: Timestamp) -> Option<Timestamp> {
        let schedule = self.task.schedule.as_ref().filter(|_| self.skips().is_none())?;
        let done = self.last.map_or(schedule.from, |last| last.slot.max(schedule.from));
        timetable(schedule).ok()?.next_after(done.max(now))
    }
}

/// What becomes of the slots of a template that have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirePlan {
    template: TaskId,
    place: PlaceId,
    epoch: u64,
    outcomes: Vec<(Timestamp, Outcome)>,
    next: Option<Timestamp>,
}

impl FirePlan {
    /// The template.
    pub fn template(&self) -> TaskId {
        self.template
    }

    /// The place that its run is made in.
    pub fn place(&self) -> PlaceId {
        self.place
    }

    /// The epoch of the seat under which this was decided.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What to record, in order; a slot that ran makes a run.
    pub fn outcomes(&self) -> &[(Timestamp, Outcome)] {
        &self.outcomes
    }

    /// The run to make.
    pub fn run(&self) -> Option<RunOf> {
        let ran = self.outcomes.iter().find(|(_, outcome)| *outcome == Outcome::Ran);
        ran.map(|(slot, _)| RunOf { template: self.template, slot: *slot })
    }

    /// When to look again; none while only a change can bring something.
    pub fn next(&self) -> Option<Timestamp> {
        self.next
    }

    fn skip(&mut self, table: &Timetable, after: Timestamp, until: Timestamp, why: Skip) {
        let Some(last) = table.last_until(after, until) else { return };
        let slots = table.slots(after, until).take(COUNTED_MOST).count();
        self.outcomes.push((last, Outcome::Skipped { why, slots: u32::try_from(slots).unwrap_or(u32::MAX) }));
    }
}

/// When the slots of a template are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Now.
    pub now: Timestamp,
    /// Since when what has come is known and could not be recorded; now, when nothing was in the way. What was noticed on
    /// time stays so.
    pub noticed: Timestamp,
}

impl Look {
    /// The first look at what has come.
    pub fn at(now: Timestamp) -> Self {
        Self { now, noticed: now }
    }

    /// The last moment of which a slot is noticed too late.
    fn too_late(self) -> Timestamp {
        let on_time = i64::try_from(ON_TIME_MS).unwrap_or(i64::MAX);
        Timestamp::from_ms(self.noticed.min(self.now).ms().saturating_sub(on_time).saturating_sub(1))
    }
}

/// The slot that was recorded as the first of a time in which none makes a run, and why, unless the schedule has been
/// changed since: then its slots are others.
fn lasting(schedule: &Schedule, last: Option<&Fired>) -> Option<(Timestamp, Skip)> {
    match last {
        Some(Fired { slot, outcome: Outcome::Skipped { why, .. }, .. }) if why.lasts() && *slot > schedule.from => Some((*slot, *why)),
        _ => None,
    }
}

/// What becomes of a template's slots up to now. The latest one makes a run when it is noticed on time, and when it was
/// missed and the schedule says so; no other does. While a schedule is paused or its place takes no writes, the first slot
/// is recorded as skipped, and the others once that is over.
///
/// # Errors
/// The task has no schedule, or one that this frith does not understand.
pub fn can_fire(template: Template<'_>, decides: Decides, look: Look) -> Result<FirePlan, Refusal> {
    let (schedule, table, mut plan) = begin(template, decides)?;
    let (last, now) = (template.last, look.now);
    let mut done = last.map_or(schedule.from, |last| last.slot.max(schedule.from));
    if let Some((slot, why)) = lasting(schedule, last) {
        if template.skips() == Some(why) {
            return Ok(plan);
        }
        // When it ended nobody wrote down, but it was before this look: what comes on time from here on is not concerned.
        let until = look.too_late();
        plan.skip(&table, slot, until, why);
        done = done.max(until);
    }
    match (table.next_after(done), template.skips()) {
        (Some(first), Some(why)) if first <= now => plan.outcomes.push((first, Outcome::Skipped { why, slots: 1 })),
        (Some(first), None) if first <= now => come(&mut plan, &table, schedule, done, look),
        (next, _) => plan.next = next,
    }
    Ok(plan)
}

/// What is to be recorded before a template's schedule changes or goes: the slots of a time in which none makes a run, since
/// afterwards nothing tells any more when they were.
///
/// # Errors
/// As [`can_fire`].
pub fn can_close(template: Template<'_>, decides: Decides, now: Timestamp) -> Result<FirePlan, Refusal> {
    let (schedule, table, mut plan) = begin(template, decides)?;
    if let Some((slot, why)) = lasting(schedule, template.last) {
        plan.skip(&table, slot, now, why);
    }
    Ok(plan)
}

fn begin(template: Template<'_>, decides: Decides) -> Result<(&Schedule, Timetable, FirePlan), Refusal> {
    let Template { task, place, .. } = template;
    let schedule = task.schedule.as_ref().ok_or_else(|| Refusal::NoSchedule { task: in_the_way(task) })?;
    let plan = FirePlan { template: task.id, place: place.id, epoch: decides.epoch(), outcomes: vec![], next: None };
    Ok((schedule, timetable(schedule)?, plan))
}

/// What becomes of slots that have come and that nothing keeps from making a run.
fn come(plan: &mut FirePlan, table: &Timetable, schedule: &Schedule, done: Timestamp, look: Look) {
    let now = look.now;
    plan.next = table.next_after(now);
    let Some(latest) = table.last_until(done, now) else { return };
    if latest <= look.too_late() && schedule.missed == Missed::Skip {
        return plan.skip(table, done, now, Skip::Missed);
    }
    plan.skip(table, done, Timestamp::from_ms(latest.ms() - 1), Skip::Missed);
    plan.outcomes.push((latest, Outcome::Ran));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{AgentId, CallId, MachineId},
        model::{By, Holder, Status},
        rules::{
            samples::{HERE, place, task},
            seat::can_decide,
        },
    };

    fn at(text: &str) -> Timestamp {
        format!("2026-06-{text}:00Z").parse().unwrap()
    }

    /// A template with a slot at 9:30 of each day in UTC, made on the 1st at midnight.
    fn daily(missed: Missed) -> Task {
        let wanted = Wanted { expression: Some("30 9 * * *"), missed: Some(missed), ..Wanted::default() };
        let schedule = can_begin(&wanted, "UTC", at("01T00:00")).unwrap().into_schedule();
        Task { schedule, ..task(1, &place(1, "app"), Status::Cron) }
    }

    fn fired(slot: Timestamp, outcome: Outcome) -> Fired {
        Fired { slot, outcome, machine: HERE, at: slot }
    }

    fn skipped(why: Skip, slots: u32) -> Outcome {
        Outcome::Skipped { why, slots }
    }

    fn fire(task: &Task, place: &Place, last: Option<&Fired>, now: Timestamp) -> FirePlan {
        looked(task, place, last, Look::at(now))
    }

    fn looked(task: &Task, place: &Place, last: Option<&Fired>, look: Look) -> FirePlan {
        can_fire(Template { task, place, parent: None, last }, can_decide(place, HERE).unwrap(), look).unwrap()
    }

    /// What is recorded before the schedule of a task becomes as wanted, and the task afterwards.
    fn change(task: &Task, last: &Fired, wanted: &Wanted<'_>, now: &str) -> (Vec<(Timestamp, Outcome)>, Task) {
        let place = place(1, "app");
        let template = Template { task, place: &place, parent: None, last: Some(last) };
        let closed = can_close(template, can_decide(&place, HERE).unwrap(), at(now)).unwrap().outcomes;
        let schedule = can_schedule(task, wanted, "UTC", at(now)).unwrap().unwrap().into_schedule();
        (closed, Task { schedule, ..task.clone() })
    }

    /// A template that was paused on the first day, with the record of its first slot.
    fn paused_daily(missed: Missed) -> (Task, Fired) {
        let mut task = daily(missed);
        let pause = Wanted { paused: Some(true), ..Wanted::default() };
        task.schedule = can_schedule(&task, &pause, "UTC", at("01T08:00")).unwrap().unwrap().into_schedule();
        (task, fired(at("01T09:30"), skipped(Skip::Paused, 1)))
    }

    fn outcomes(task: &Task, last: Option<Fired>, now: &str) -> Vec<(Timestamp, Outcome)> {
        fire(task, &place(1, "app"), last.as_ref(), at(now)).outcomes
    }

    #[test]
    fn a_slot_makes_a_run_when_it_has_come_and_no_sooner() {
        let (task, app) = (daily(Missed::Skip), place(1, "app"));
        let early = fire(&task, &app, None, at("01T09:29"));
        assert_eq!((early.outcomes(), early.next()), (&[][..], Some(at("01T09:30"))));
        let due = fire(&task, &app, None, at("01T09:31"));
        assert_eq!((due.outcomes(), due.next()), (&[(at("01T09:30"), Outcome::Ran)][..], Some(at("02T09:30"))));
        assert_eq!(due.run(), Some(RunOf { template: task.id, slot: at("01T09:30") }));
        let again = fire(&task, &app, Some(&fired(at("01T09:30"), Outcome::Ran)), at("01T09:31"));
        assert_eq!((again.run(), again.next()), (None, Some(at("02T09:30"))));
    }

    #[test]
    fn missed_slots_are_skipped_or_the_latest_runs_as_the_schedule_says() {
        let missed = |slots| skipped(Skip::Missed, slots);
        assert_eq!(outcomes(&daily(Missed::Skip), None, "04T12:00"), [(at("04T09:30"), missed(4))]);
        assert_eq!(outcomes(&daily(Missed::Once), None, "04T12:00"), [(at("03T09:30"), missed(3)), (at("04T09:30"), Outcome::Ran)]);
        assert_eq!(outcomes(&daily(Missed::Skip), None, "02T09:30"), [(at("01T09:30"), missed(1)), (at("02T09:30"), Outcome::Ran)]);
    }

    #[test]
    fn d14_a_paused_schedule_skips_and_says_so_and_what_passed_meanwhile_is_not_missed() {
        let (task, last) = paused_daily(Missed::Once);
        assert_eq!(outcomes(&task, None, "01T09:30"), [(last.slot, last.outcome)]);
        let goes_on = fire(&task, &place(1, "app"), Some(&last), at("03T12:00"));
        assert_eq!((goes_on.outcomes(), goes_on.next()), (&[][..], None), "a long pause costs nothing");
        let resume = Wanted { paused: Some(false), ..Wanted::default() };
        let (closed, task) = change(&task, &last, &resume, "03T12:00");
        assert_eq!(closed, [(at("03T09:30"), skipped(Skip::Paused, 2))]);
        for last in [last, fired(closed[0].0, closed[0].1)] {
            assert_eq!(outcomes(&task, Some(last.clone()), "03T12:00"), []);
            assert_eq!(outcomes(&task, Some(last), "04T09:30"), [(at("04T09:30"), Outcome::Ran)]);
        }
    }

    #[test]
    fn what_passed_without_a_schedule_or_by_another_one_is_not_said_to_have_been_paused() {
        let (task, last) = paused_daily(Missed::Skip);
        let (closed, without) = change(&task, &last, &Wanted { removed: true, ..Wanted::default() }, "02T12:00");
        assert_eq!(closed, [(at("02T09:30"), skipped(Skip::Paused, 1))]);
        let again = Wanted { expression: Some("30 9 * * *"), ..Wanted::default() };
        let schedule = can_schedule(&without, &again, "UTC", at("05T12:00")).unwrap().unwrap().into_schedule();
        let with = Task { schedule, ..without };
        assert_eq!(outcomes(&with, Some(last.clone()), "05T12:00"), []);
        assert_eq!(outcomes(&with, Some(last.clone()), "06T09:30"), [(at("06T09:30"), Outcome::Ran)]);

        let hourly = Wanted { expression: Some("0 * * * *"), ..Wanted::default() };
        let (closed, edited) = change(&task, &last, &hourly, "03T11:30");
        assert_eq!(closed, [(at("03T09:30"), skipped(Skip::Paused, 2))]);
        let last = fired(closed[0].0, closed[0].1);
        assert_eq!(outcomes(&edited, Some(last.clone()), "03T12:00"), [(at("03T12:00"), skipped(Skip::Paused, 1))]);
        let (closed, resumed) = change(&edited, &last, &Wanted { paused: Some(false), ..Wanted::default() }, "03T11:45");
        assert_eq!((closed, outcomes(&resumed, Some(last), "03T12:00")), (vec![], vec![(at("03T12:00"), Outcome::Ran)]));
    }

    #[test]
    fn a_slot_that_was_noticed_on_time_runs_however_late_it_can_be_recorded() {
        let (task, app) = (daily(Missed::Skip), place(1, "app"));
        let late = |noticed, now| looked(&task, &app, None, Look { now: at(now), noticed: at(noticed) }).outcomes;
        assert_eq!(late("01T09:31", "01T13:00"), [(at("01T09:30"), Outcome::Ran)]);
        assert_eq!(late("01T09:33", "01T13:00"), [(at("01T09:30"), skipped(Skip::Missed, 1))]);
        assert_eq!(late("01T09:31", "02T13:00"), [(at("01T09:30"), skipped(Skip::Missed, 1)), (at("02T09:30"), Outcome::Ran)]);
    }

    #[test]
    fn an_archived_place_skips_and_goes_on_when_it_is_back() {
        let task = daily(Missed::Once);
        let archived = Place { archived: true, ..place(1, "app") };
        let plan = fire(&task, &archived, None, at("01T09:30"));
        assert_eq!(plan.outcomes(), [(at("01T09:30"), skipped(Skip::Archived, 1))]);
        let last = fired(at("01T09:30"), skipped(Skip::Archived, 1));
        assert_eq!(outcomes(&task, Some(last.clone()), "03T12:00"), [(at("03T09:30"), skipped(Skip::Archived, 2))]);
        for why in [Skip::Archived, Skip::Deleted] {
            let last = fired(at("03T09:30"), skipped(why, 2));
            assert_eq!(outcomes(&task, Some(last.clone()), "04T09:29"), []);
            assert_eq!(outcomes(&task, Some(last), "04T09:31"), [(at("04T09:30"), Outcome::Ran)], "the next slot after the return");
        }
        let both = [(at("03T09:30"), skipped(Skip::Archived, 2)), (at("04T09:30"), Outcome::Ran)];
        assert_eq!(outcomes(&task, Some(last), "04T09:31"), both, "a return at a slot");
        let gone = Place { deleted: Some(at("01T00:00")), ..place(1, "app") };
        assert_eq!(fire(&task, &gone, None, at("01T09:30")).outcomes(), [(at("01T09:30"), skipped(Skip::Deleted, 1))]);
    }

    #[test]
    fn a_clock_that_goes_back_repeats_nothing() {
        let last = fired(at("02T09:30"), Outcome::Ran);
        assert!(outcomes(&daily(Missed::Once), Some(last), "01T09:31").is_empty());
    }

    #[test]
    fn only_what_was_named_changes_and_new_times_count_from_now() {
        let task = daily(Missed::Skip);
        let change = |wanted: Wanted<'_>| can_schedule(&task, &wanted, "Europe/Berlin", at("05T00:00")).unwrap();
        let zone = change(Wanted { time_zone: Some("asia/tokyo"), ..Wanted::default() }).unwrap().into_schedule().unwrap();
        assert_eq!((zone.time_zone.as_str(), zone.expression.as_str(), zone.from), ("Asia/Tokyo", "30 9 * * *", at("05T00:00")));
        let missed = change(Wanted { missed: Some(Missed::Once), ..Wanted::default() }).unwrap().into_schedule().unwrap();
        assert_eq!((missed.missed, missed.from), (Missed::Once, at("01T00:00")));
        assert_eq!(change(Wanted { removed: true, ..Wanted::default() }).unwrap().into_schedule(), None);
        for same in [Wanted { paused: Some(false), ..Wanted::default() }, Wanted { expression: Some("30  9 * * *"), ..Wanted::default() }] {
            assert_eq!(change(same), None);
        }
    }

    #[test]
    fn a_task_without_a_schedule_is_given_one_only_when_no_agent_has_it() {
        let app = place(1, "app");
        let mut held = task(2, &app, Status::Ongoing);
        let pause = Wanted { paused: Some(true), ..Wanted::default() };
        assert!(matches!(can_schedule(&held, &pause, "UTC", at("01T00:00")), Err(Refusal::NoSchedule { .. })));
        let by = By::Agent(AgentId::from_bytes([5; 16]));
        held.holder = Some(Holder { by, since: at("01T00:00"), call: CallId::from_bytes([1; 16]), left: false });
        let new = Wanted { expression: Some("0 0 * * *"), ..Wanted::default() };
        assert!(matches!(can_schedule(&held, &new, "UTC", at("01T00:00")), Err(Refusal::ScheduleInHand { .. })));
        held.holder = None;
        assert!(can_schedule(&held, &new, "Europe/Berlin", at("01T00:00")).unwrap().is_some());
        let nowhere = Wanted { time_zone: Some("Berlin"), ..new };
        assert!(matches!(can_schedule(&held, &nowhere, "UTC", at("01T00:00")), Err(Refusal::UnknownTimeZone { .. })));
    }

    #[test]
    fn only_the_home_fires() {
        let elsewhere = can_decide(&place(1, "app"), MachineId::from_bytes([2; 8]));
        assert!(matches!(elsewhere, Err(Refusal::HomeAway { .. })));
    }
}
