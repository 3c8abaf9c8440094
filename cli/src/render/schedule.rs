//! Schedules in words a person reads: when, in which time zone, what comes next and what became of the last slots.

use frith_actors::api::task::{ScheduleState, TaskDetail, Tasks};
use frith_store::{
    model::{Fired, Missed, Outcome, RunOf, Schedule, Skip, Task},
    schedule::{Expression, Zone},
    time::Timestamp,
};

use super::paper::{Paper, count};

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// The most times of a day that are listed one by one.
const TIMES_LISTED: usize = 6;

/// The templates of a list, with when each comes.
pub fn table(reply: &Tasks, paper: &mut Paper) {
    let row = |state: &ScheduleState| {
        let task = reply.tasks.iter().find(|task| task.id == state.task)?;
        let schedule = task.schedule.as_ref()?;
        let last = state.last_run.as_ref().map_or_else(|| "never".to_owned(), |run| paper.ago(run.slot));
        Some([task.id.short(), next_briefly(state, paper), last, when(schedule), schedule.time_zone.clone(), task.title.clone()])
    };
    let rows: Vec<_> = reply.schedules.iter().filter_map(row).collect();
    paper.table(["ID", "NEXT RUN", "LAST RUN", "SCHEDULE", "TIME ZONE", "TITLE"], rows);
}

/// When the next run comes, in a few words.
pub fn next_briefly(state: &ScheduleState, paper: &Paper) -> String {
    match (state.next_run, state.skips) {
        (Some(next), _) => paper.until(next),
        (None, Some(why)) => why.word().to_owned(),
        (None, None) => "no next run".to_owned(),
    }
}

/// The same where nothing says that it is about a next run.
pub fn next_in_a_list(state: &ScheduleState, paper: &Paper) -> String {
    let next = next_briefly(state, paper);
    if state.next_run.is_some() { format!("next run {next}") } else { next }
}

/// The facts of a template's schedule.
pub fn facts(task: &Task, state: Option<&ScheduleState>, paper: &Paper) -> Vec<(&'static str, String)> {
    let (Some(schedule), Some(state)) = (&task.schedule, state) else { return Vec::new() };
    let last = state.last_run.as_ref().map(|run| {
        let status = run.status.map(|status| format!(", {}", status.word())).unwrap_or_default();
        format!("{}, {}{status}", run.task.short(), clock(run.slot, &schedule.time_zone))
    });
    let missed = match schedule.missed {
        Missed::Skip => "skipped",
        Missed::Once => "the latest one runs",
    };
    vec![
        ("schedule", format!("{} ({})", when(schedule), schedule.expression)),
        ("time zone", schedule.time_zone.clone()),
        ("next run", next(schedule, state, paper)),
        ("last run", last.unwrap_or_else(|| "none yet".to_owned())),
        ("missed slots", missed.to_owned()),
        ("paused", schedule.paused.map(|since| paper.ago(since)).unwrap_or_default()),
    ]
}

fn next(schedule: &Schedule, state: &ScheduleState, paper: &Paper) -> String {
    match (state.next_run, state.skips) {
        (Some(next), _) => format!("{}, {}", clock(next, &schedule.time_zone), paper.until(next)),
        (None, Some(Skip::Paused)) => "none while it is paused".to_owned(),
        (None, Some(Skip::Archived)) => "none while its place is archived".to_owned(),
        (None, Some(Skip::Deleted)) => "none while its place is in the trash".to_owned(),
        (None, _) if state.unknown => "none: this frith does not know its time zone or does not understand it".to_owned(),
        (None, _) => "none".to_owned(),
    }
}

/// What a run is a run of.
pub fn run_of(run: &RunOf) -> String {
    format!("{}, {} UTC", run.template.short(), clock(run.slot, "UTC"))
}

/// What became of the latest slots.
pub fn slots(reply: &TaskDetail, paper: &mut Paper) {
    let Some(schedule) = reply.task.schedule.as_ref().filter(|_| !reply.slots.is_empty()) else { return };
    paper.gap();
    paper.heading("Slots");
    for (at, fired) in reply.slots.iter().enumerate() {
        let goes_on = at == 0 && reply.schedule.as_ref().and_then(|state| state.skips) == reason(fired);
        paper.line(format!("  {}  {}", clock(fired.slot, &schedule.time_zone), outcome(reply, fired, goes_on)));
    }
}

fn reason(fired: &Fired) -> Option<Skip> {
    match fired.outcome {
        Outcome::Skipped { why, .. } => Some(why),
        Outcome::Ran => None,
    }
}

fn outcome(reply: &TaskDetail, fired: &Fired, goes_on: bool) -> String {
    match fired.outcome {
        Outcome::Ran => format!("ran: {}", RunOf { template: reply.task.id, slot: fired.slot }.task().short()),
        Outcome::Skipped { why, .. } if goes_on => format!("skipped ({}), and all since", why.word()),
        Outcome::Skipped { why, slots: 1 } => format!("skipped ({})", why.word()),
        Outcome::Skipped { why, slots } => format!("skipped ({}), the last of {}", why.word(), count(slots.into(), "slot")),
    }
}

/// What a clock of a time zone shows; of UTC where the zone is not known.
fn clock(time: Timestamp, zone: &str) -> String {
    let known = Zone::named(zone).or_else(|| Zone::named("UTC")).and_then(|zone| zone.clock_at(time));
    known.map_or_else(|| time.to_string(), |clock| clock.strftime("%a %-d %b %Y %H:%M").to_string())
}

/// When a schedule comes, in words; the expression itself where this frith does not understand it.
fn when(schedule: &Schedule) -> String {
    Expression::parse(&schedule.expression).map_or_else(|_| schedule.expression.clone(), |expression| in_words(&expression))
}

fn in_words(expression: &Expression) -> String {
    let months: Vec<u8> = expression.months().values().collect();
    let in_months = if months.len() == 12 { String::new() } else { format!(" in {}", spans(&months, &|month| name(&MONTHS, month))) };
    let (days, times) = (days(expression), times(expression));
    if days.is_empty() { format!("{times}{in_months}") } else { format!("{days} {times}{in_months}") }
}

fn days(expression: &Expression) -> String {
    let mut weekdays: Vec<u8> = expression.weekdays().values().map(|day| if day == 0 { 7 } else { day }).collect();
    weekdays.sort_unstable();
    let by_week = || spans(&weekdays, &|day| name(&WEEKDAYS, day));
    let by_month = || format!("day {} of the month", spans(&expression.days().values().collect::<Vec<_>>(), &|day| day.to_string()));
    match (expression.days().is_any(), expression.weekdays().is_any()) {
        (true, true) if expression.hours().is_any() => String::new(),
        (true, true) => "every day".to_owned(),
        (true, false) => by_week(),
        (false, true) => by_month(),
        (false, false) => format!("{}, and {},", by_month(), by_week()),
    }
}

fn times(expression: &Expression) -> String {
    let (hours, minute): (Vec<u8>, u8) = (expression.hours().values().collect(), expression.minute());
    let time = |hour: u8| format!("{hour:02}:{minute:02}");
    if expression.hours().is_any() {
        return format!("every hour at minute {minute}");
    }
    if hours.len() <= TIMES_LISTED {
        return format!("at {}", listed(hours.into_iter().map(time).collect()));
    }
    match hours[..] {
        [first, .., last] if usize::from(last - first) + 1 == hours.len() => format!("every hour from {} to {}", time(first), time(last)),
        _ => format!("at {}", spans(&hours, &time)),
    }
}

/// The name of a value that counts from 1.
fn name(names: &[&str], value: u8) -> String {
    names.get(usize::from(value).wrapping_sub(1)).map_or_else(|| value.to_string(), |name| (*name).to_owned())
}

/// Values in order, three and more that follow each other as one span.
fn spans(values: &[u8], name: &dyn Fn(u8) -> String) -> String {
    let mut parts = Vec::new();
    for run in values.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [first, .., last] if run.len() > 2 => parts.push(format!("{} to {}", name(*first), name(*last))),
            few => parts.extend(few.iter().map(|value| name(*value))),
        }
    }
    listed(parts)
}

fn listed(mut parts: Vec<String>) -> String {
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_reads_as_a_person_would_say_it() {
        for (text, words) in [
            ("30 9 * * 1-5", "Monday to Friday at 09:30"),
            ("0 0 * * *", "every day at 00:00"),
            ("5 * * * *", "every hour at minute 5"),
            ("5 * * * sun", "Sunday every hour at minute 5"),
            ("0 8,20 1,15 * *", "day 1 and 15 of the month at 08:00 and 20:00"),
            ("0 12 13 * fri", "day 13 of the month, and Friday, at 12:00"),
            ("15 9-17 * * mon,sat,sun", "Monday, Saturday and Sunday every hour from 09:15 to 17:15"),
            ("0 6 * 1,6-8 *", "every day at 06:00 in January and June to August"),
            ("45 */2 * * *", "every day at 00:45, 02:45, 04:45, 06:45, 08:45, 10:45, 12:45, 14:45, 16:45, 18:45, 20:45 and 22:45"),
        ] {
            assert_eq!(in_words(&Expression::parse(text).unwrap()), words, "{text}");
        }
    }

    #[test]
    fn a_slot_is_told_by_the_clock_of_its_zone() {
        let slot = "2026-11-30T08:30:00Z".parse().unwrap();
        assert_eq!(clock(slot, "Europe/Berlin"), "Mon 30 Nov 2026 09:30");
        assert_eq!(clock(slot, "Mars/Olympus"), "Mon 30 Nov 2026 08:30");
    }
}
