//! Figures of a place, read from its tasks, their histories and its agents.

use frith_store::{
    error::Failure,
    id::TaskId,
    model::Status,
    rules::stats::{Figures, Period},
    time::Timestamp,
    view::View,
};

use super::task::name;
use crate::{
    api::workspace::{PlaceStats, Stats},
    caller::Caller,
};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The figures of a place until `now`.
///
/// # Errors
/// The place is none the caller may see.
pub fn stats(view: &View<'_>, caller: &Caller, request: &Stats, now: Timestamp) -> Result<PlaceStats, Failure> {
    let asked = caller.place(view, request.place.as_ref())?;
    let place = view.require_place(view.resolve(asked.id)?)?;
    caller.may_touch(view, &place)?;
    let since = request.days.map(|days| Timestamp::from_ms(now.ms().saturating_sub(i64::from(days) * DAY_MS)));
    let period = Period { since, now };
    let (mut figures, mut messages) = (Figures::default(), 0);
    for task in view.task_stream(place.id, &Status::ALL.map(|(status, _)| status))? {
        let task = task?;
        messages += written(view, task.id, task.messages, period)?;
        if task.status != Status::Cron {
            figures.add(&view.history(task.id)?, period);
        }
    }
    let ran = agents(view, place.id, period)?;
    Ok(PlaceStats {
        since,
        tasks: view.counts(place.id)?,
        deleted: view.trash(place.id)?.len() as u64,
        closed: figures.closed,
        start_to_close: figures.start_to_close(),
        worked_ms: figures.worked_ms,
        blocked_ms: figures.blocked_ms,
        waiting_ms: figures.waiting_ms,
        messages,
        agents: ran.len() as u64,
        agents_ms: ran.into_iter().sum(),
        place: name(&place),
    })
}

/// How many messages were written to a task in the period: all of them are counted already.
fn written(view: &View<'_>, task: TaskId, all: u32, period: Period) -> Result<u64, Failure> {
    if period.since.is_none() || all == 0 {
        return Ok(all.into());
    }
    Ok(view.messages(task)?.iter().filter(|message| period.has(message.at)).count() as u64)
}

/// For how many milliseconds each agent of a place ran in the period, those that did.
fn agents(view: &View<'_>, place: frith_store::id::PlaceId, period: Period) -> Result<Vec<u64>, Failure> {
    let within = view.places_within(place)?;
    let all = view.agents()?.into_iter().filter(|agent| agent.place.is_some_and(|place| within.contains(&place)));
    let ran = all.filter_map(|agent| {
        let end = agent.ended.map_or(period.now, |end| end.at);
        period.since.is_none_or(|since| end >= since).then(|| period.ms_of(agent.started, end))
    });
    Ok(ran.collect())
}
