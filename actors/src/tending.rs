//! Tending a running agent: a task or a message that waits is told to one that waits at its prompt, and a question that it asks
//! is told to people. Nothing is ever typed into a question, into work, or into a line that somebody began.
//!
//! It wakes when the screen was read or something was written, and not by itself, but to offer a task again. It never ends
//! an agent, however long that waits.

use std::time::Duration;

use frith_store::{
    error::Failure,
    id::{AgentId, PlaceId, TaskId},
    model::{By, Notice, Recipient, Stage, Status, Task},
    view::View,
};
use tokio::{sync::watch, time::Instant};

use crate::{
    ctx::Ctx,
    fresh_context, given,
    kinds::{Kind, MAIL_NUDGE},
    notice::{self, Event},
    terminal::{Attention, NotNow, Seen},
    terminals::{self, TerminalRef, Terminals},
};

/// How long a task that was told is left before it is told again; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// How long the node waits while somebody types.
const WHILE_TYPING: Duration = Duration::from_secs(5);
/// How long an agent may take to be at its prompt again after its context was cleared.
const CLEARING: Duration = Duration::from_secs(20);

/// An agent that is tended.
pub struct Tending {
    /// The node.
    pub ctx: Ctx,
    /// Its terminal is one of these.
    pub terminals: Terminals,
    /// Where it works.
    pub place: PlaceId,
    /// The agent.
    pub agent: AgentId,
}

/// A task that an agent was told of and has not taken.
#[derive(Debug, Clone, Copy)]
struct Offered {
    task: TaskId,
    times: u32,
    again: Instant,
}

/// How many messages came for an agent: into its mailbox, and into its place where they wait for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Arrived {
    own: u64,
    in_place: u64,
}

/// What waits in an agent's place: how much, and how much of it the agent did not send itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct InPlace {
    all: u64,
    others: u64,
}

/// What an agent was told of, and what was found in its place when it was looked there last.
#[derive(Debug, Clone, Copy, Default)]
struct ToldOf {
    arrived: Arrived,
    in_place: InPlace,
}

impl ToldOf {
    /// Takes note of what there is now: what is taken over or taken away is there no more. Answers whether anything is new.
    fn lower(&mut self, now: Arrived) -> bool {
        self.arrived.own = self.arrived.own.min(now.own);
        self.arrived.in_place = self.arrived.in_place.min(now.in_place);
        now != self.arrived
    }
}

/// The mail of an agent: the kind that it was launched as, what came, and whether anything was never handed out.
struct MailOf {
    host: String,
    arrived: Arrived,
    in_place: InPlace,
    waits: bool,
}

/// A question on the screen: what was there when it was asked.
#[derive(Debug, Clone)]
struct Question {
    keys: u64,
    rules: Option<Vec<String>>,
}

/// Tends an agent until its terminal is gone.
pub async fn tend(tending: Tending) {
    let (Some(terminal), Some(mut seeing)) = (tending.terminals.get(tending.agent), tending.terminals.seen(tending.agent)) else { return };
    let mut written = tending.ctx.db.written();
    let (mut offered, mut told_of, mut question) = (None, ToldOf::default(), None);
    loop {
        let seen = *seeing.borrow_and_update();
        written.mark_unchanged();
        tending.question(&mut question, seen).await;
        let at_prompt = seen.attention == Some(Attention::AtPrompt);
        let again = if at_prompt { tending.speak(&terminal, &mut seeing, &mut offered, &mut told_of).await } else { None };
        tokio::select! {
            biased;
            changed = seeing.changed() => if changed.is_err() { return },
            changed = written.changed(), if at_prompt => if changed.is_err() { return },
            () = tokio::time::sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
        }
    }
}

/// A task that waits for an agent, and whether its context is to be cleared before.
struct Waiting {
    task: Task,
    clears: bool,
}

impl Tending {
    /// Tells the agent of a task that waits for it, else of a message. Answers when to look again, where that follows from nothing
    /// that happens.
    async fn speak(
        &self,
        terminal: &TerminalRef,
        seeing: &mut watch::Receiver<Seen>,
        offered: &mut Option<Offered>,
        told_of: &mut ToldOf,
    ) -> Option<Instant> {
        let before = offered.map(|offered| offered.again);
        let task = self.offer(terminal, seeing, offered).await;
        if offered.map(|offered| offered.again) != before {
            return task;
        }
        let message = self.tell_of_mail(terminal, told_of).await;
        task.into_iter().chain(message).min()
    }

    /// Tells the agent that a message waits for it, once for each that comes; what it says is never typed.
    async fn tell_of_mail(&self, terminal: &TerminalRef, told_of: &mut ToldOf) -> Option<Instant> {
        let (agent, config) = (self.agent, self.ctx.config.now());
        if !config.agents_enabled {
            return None;
        }
        let before = told_of.in_place;
        let read = self.ctx.db.read(move |view| mail_of(view, agent, before)).await;
        let mail = read.map_err(|failure| tracing::warn!(%agent, %failure, "what waits in a mailbox could not be read")).ok()??;
        told_of.in_place = mail.in_place;
        let is_new = told_of.lower(mail.arrived) && mail.waits;
        if !is_new || config.kinds.get(&mail.host).is_none_or(|kind| kind.nudge.is_none()) {
            return None;
        }
        match terminals::nudge(terminal, MAIL_NUDGE.to_owned()).await {
            Ok(()) => {
                tracing::info!(%agent, "an agent at its prompt was told of a message");
                told_of.arrived = mail.arrived;
                None
            }
            Err(not_now) => again_after(not_now, Instant::now()),
        }
    }

    /// Tells the agent of the task that waits for it, if one does. Answers when to look again, where that follows from
    /// nothing that happens.
    async fn offer(&self, terminal: &TerminalRef, seeing: &mut watch::Receiver<Seen>, offered: &mut Option<Offered>) -> Option<Instant> {
        let (kind, waiting) = self.waiting().await?;
        let nudge = kind.nudge.clone()?;
        let before = offered.filter(|before| before.task == waiting.task.id);
        let now = Instant::now();
        if let Some(before) = before.filter(|before| now < before.again) {
            return Some(before.again);
        }
        if waiting.clears
            && let Some(line) = kind.clear.clone()
        {
            match self.clear(terminal, seeing, line, waiting.task.id).await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(not_now) => return again_after(not_now, now),
            }
        }
        match terminals::nudge(terminal, nudge).await {
            Ok(()) => {
                let times = before.map_or(0, |before| before.times + 1);
                let again = Instant::now() + pause(times);
                tracing::info!(agent = %self.agent, task = %waiting.task.id, times, "an agent at its prompt was told of a task");
                *offered = Some(Offered { task: waiting.task.id, times, again });
                Some(again)
            }
            Err(not_now) => again_after(not_now, now),
        }
    }

    /// The task that waits, with the agent's kind; none while the agent has one in hand.
    async fn waiting(&self) -> Option<(Kind, Waiting)> {
        let (place, agent) = (self.place, self.agent);
        let read = self.ctx.db.read(move |view| waiting(view, place, agent)).await;
        let (host, waiting) =
            read.map_err(|failure| tracing::warn!(%agent, %failure, "what waits for an agent could not be read")).ok()??;
        let kind = self.ctx.config.now().kinds.get(&host).cloned()?;
        Some((kind, waiting))
    }

    /// Clears the agent's context, once for a task: that it was is written down before the task is told. Answers whether the
    /// agent is at its prompt again.
    async fn clear(&self, terminal: &TerminalRef, seeing: &mut watch::Receiver<Seen>, line: String, task: TaskId) -> Result<bool, NotNow> {
        terminals::nudge(terminal, line).await?;
        let times = seeing.borrow_and_update().times;
        let agent = self.agent;
        if let Err(failure) = self.ctx.db.write(move |tx| Ok(fresh_context::note_cleared(tx, agent, task)?)).await {
            tracing::error!(%agent, %failure, "that an agent's context was cleared could not be written down");
            return Ok(false);
        }
        let is_back = |seen: &Seen| seen.times > times && seen.attention == Some(Attention::AtPrompt);
        Ok(matches!(tokio::time::timeout(CLEARING, seeing.wait_for(is_back)).await, Ok(Ok(_))))
    }

    /// Follows a question on the screen: people are told of it, and a rule that one of them allowed in answer to it is the
    /// parent's from then on. What an agent writes into that file itself is nobody's word.
    async fn question(&self, question: &mut Option<Question>, seen: Seen) {
        match (question.clone(), seen.attention) {
            (None, Some(Attention::NeedsPerson)) => {
                let what = format!("agent {} asks something: frith agents attach {}", self.agent.short(), self.agent.short());
                notice::raise(&self.ctx, Event { place: self.place, notice: Notice::TaskWaiting, by: Some(By::Agent(self.agent)), what });
                *question = Some(Question { keys: seen.keys, rules: given::in_file(&self.ctx, self.agent).await });
            }
            (Some(asked), attention) if attention != Some(Attention::NeedsPerson) => {
                *question = None;
                if seen.keys > asked.keys
                    && let Some(before) = asked.rules
                {
                    self.take_up_rules(&before).await;
                }
            }
            _ => {}
        }
    }

    async fn take_up_rules(&self, before: &[String]) {
        let Some(now) = given::in_file(&self.ctx, self.agent).await else { return };
        let new: Vec<String> = now.into_iter().filter(|rule| !before.contains(rule)).collect();
        if new.is_empty() {
            return;
        }
        let count = new.len();
        match given::allow_in_fork(&self.ctx, self.place, new).await {
            Ok(true) => tracing::info!(agent = %self.agent, count, "a person allowed rules in a fork, and they are its parent's now"),
            Ok(false) => {}
            Err(failure) => tracing::warn!(agent = %self.agent, %failure, "rules that a person allowed in a fork stay in its folder alone"),
        }
    }
}

fn again_after(not_now: NotNow, now: Instant) -> Option<Instant> {
    match not_now {
        NotNow::SomebodyTypes => Some(now + WHILE_TYPING),
        NotNow::Starting(rest) => Some(now + rest),
        NotNow::NotAtPrompt | NotNow::NotRead => None,
    }
}

fn pause(times: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(times)).min(LONGEST_PAUSE)
}

/// What waits for an agent in its place, with the kind the agent was launched as.
fn waiting(view: &View<'_>, place: PlaceId, agent: AgentId) -> Result<Option<(String, Waiting)>, Failure> {
    let place = view.require_place(place)?;
    let Some(record) = view.agent(agent)?.filter(|record| record.ended.is_none()) else { return Ok(None) };
    let candidates = view.next_candidates(place.id, &By::Agent(agent))?;
    if candidates.held.iter().any(|task| task.status == Status::Ongoing) {
        return Ok(None);
    }
    let Some(task) = candidates.left.into_iter().next().or(candidates.waiting) else { return Ok(None) };
    let clears = fresh_context::is_wanted(view, &place, &task)? && !fresh_context::was_made(view, agent, task.id)?;
    Ok(Some((record.host, Waiting { task, clears })))
}

/// The mail of an agent that has not ended. What waits in its place is read only where another number of messages does than before.
fn mail_of(view: &View<'_>, agent: AgentId, before: InPlace) -> Result<Option<MailOf>, Failure> {
    let Some(record) = view.agent(agent)?.filter(|record| record.ended.is_none()) else { return Ok(None) };
    let own = view.mail_counts(&Recipient::Agent(agent))?;
    let places = record.place.map(|place| view.mail_places(view.resolve(place)?)).transpose()?.unwrap_or_default();
    let mut all = 0;
    for place in &places {
        all += view.mail_counts(&Recipient::Place(*place))?.waiting;
    }
    let in_place = if all == before.all { before } else { InPlace { all, others: from_others(view, &places, agent)? } };
    let arrived = Arrived { own: own.all(), in_place: in_place.others };
    Ok(Some(MailOf { host: record.host, arrived, in_place, waits: own.waiting + in_place.others > 0 }))
}

fn from_others(view: &View<'_>, places: &[PlaceId], agent: AgentId) -> Result<u64, Failure> {
    let mut others = 0;
    for place in places {
        view.each_mail_in(&Recipient::Place(*place), Stage::Waiting, &mut |placed| {
            others += u64::from(placed.mail.from != By::Agent(agent));
            Ok(true)
        })?;
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_after_others_were_taken_away_is_new() {
        let mut told = ToldOf { arrived: Arrived { own: 600, in_place: 2 }, ..ToldOf::default() };
        assert!(!told.lower(Arrived { own: 600, in_place: 2 }));
        assert!(!told.lower(Arrived { own: 88, in_place: 0 }), "a segment of an outbox was taken away");
        assert!(told.lower(Arrived { own: 89, in_place: 0 }));
        assert!(told.lower(Arrived { own: 88, in_place: 1 }));
    }

    #[test]
    fn a_task_is_told_again_later_each_time_and_never_given_up() {
        let pauses: Vec<u64> = [0, 1, 2, 5, 40].iter().map(|times| pause(*times).as_secs()).collect();
        assert_eq!(pauses, [30, 60, 120, 900, 900]);
    }
}
