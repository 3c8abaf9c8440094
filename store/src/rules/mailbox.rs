//! In whose mailbox a message is (agents.md, "See and talk"): as a function of to whom it was sent, of what logs say of it, and
//! of the agent it is for. The same facts give the same answer, in whatever order they arrived.

use crate::{
    id::AgentId,
    model::{Agent, MailEvent, MailHappened, Mailbox, Recipient, Stage, Standing},
};

/// The agent on whose end and place it depends where a message is; none when nothing of an agent's changes it.
pub fn depends_on(to: &Recipient, events: &[MailEvent]) -> Option<AgentId> {
    if first_read(events).is_some() {
        return None;
    }
    match to {
        Recipient::Agent(agent) => takers(events).next().is_none().then_some(*agent),
        Recipient::Place(_) => takers(events).last(),
        Recipient::Person(_) => None,
    }
}

/// Where a message is. `events` are in order; `agent` is the record of the one that [`depends_on`] names, if it is known.
///
/// One that was sent to an agent is passed on once, after that agent ended in a place; one that was sent to a place goes back to
/// it for as long as whoever took it ends without reading it.
pub fn standing(to: &Recipient, events: &[MailEvent], agent: Option<&Agent>) -> Standing {
    let read = first_read(events);
    let (with, passed_from) = match read {
        Some((_, by)) => (Recipient::from(by.clone()), before(to, events, by)),
        None => unread_with(to, events, agent),
    };
    let delivered = events.iter().find(|event| is_delivered_to(event, &with)).map(|event| event.at);
    let stage = match (&read, delivered) {
        (Some(_), _) => Stage::Read,
        (None, Some(_)) => Stage::Pushed,
        (None, None) => Stage::Waiting,
    };
    Standing { with, passed_from, stage, delivered, read: read.map(|(event, _)| event.at), depends_on: depends_on(to, events) }
}

/// Whether an agent may take over what waits for whoever works in its place: the one that was launched there, where one was,
/// else any session's main agent that did not end.
pub fn may_take(agent: &Agent, launched_there: Option<AgentId>) -> bool {
    agent.ended.is_none() && agent.parent.is_none() && agent.place.is_some() && launched_there.is_none_or(|launched| launched == agent.id)
}

/// Whether an agent may have what was sent to one that ended: it is the next of the place only if it started when that one had
/// ended, or was launched there. One that worked beside it all the time is somebody else.
pub fn follows(agent: &Agent, ended: &Agent, launched_there: Option<AgentId>) -> bool {
    launched_there == Some(agent.id) || ended.ended.as_ref().is_none_or(|end| agent.started >= end.at)
}

fn unread_with(to: &Recipient, events: &[MailEvent], agent: Option<&Agent>) -> (Recipient, Option<AgentId>) {
    let ended = agent.filter(|agent| agent.ended.is_some());
    match to {
        Recipient::Agent(addressed) => match (takers(events).next(), ended.and_then(|agent| agent.place)) {
            (Some(taker), _) => (Recipient::Agent(taker), Some(*addressed)),
            (None, Some(place)) => (Recipient::Place(place), Some(*addressed)),
            (None, None) => (Recipient::Agent(*addressed), None),
        },
        Recipient::Place(place) => match (takers(events).last(), ended) {
            (Some(taker), Some(_)) => (Recipient::Place(*place), Some(taker)),
            (Some(taker), None) => (Recipient::Agent(taker), taker_before(events, taker)),
            (None, _) => (Recipient::Place(*place), None),
        },
        Recipient::Person(person) => (Recipient::Person(person.clone()), None),
    }
}

/// Who had a message before the one who read it.
fn before(to: &Recipient, events: &[MailEvent], reader: &Mailbox) -> Option<AgentId> {
    let Mailbox::Agent(reader) = reader else { return None };
    match to {
        Recipient::Agent(addressed) => (addressed != reader).then_some(*addressed),
        Recipient::Place(_) => taker_before(events, *reader),
        Recipient::Person(_) => None,
    }
}

fn takers(events: &[MailEvent]) -> impl DoubleEndedIterator<Item = AgentId> {
    events.iter().filter_map(|event| if let MailHappened::Took(agent) = event.what { Some(agent) } else { None })
}

fn taker_before(events: &[MailEvent], taker: AgentId) -> Option<AgentId> {
    let takers: Vec<AgentId> = takers(events).collect();
    let at = takers.iter().rposition(|agent| *agent == taker)?;
    takers[..at].iter().rev().find(|agent| **agent != taker).copied()
}

fn first_read(events: &[MailEvent]) -> Option<(&MailEvent, &Mailbox)> {
    events.iter().find_map(|event| match &event.what {
        MailHappened::Delivered { mailbox, read: true } => Some((event, mailbox)),
        _ => None,
    })
}

fn is_delivered_to(event: &MailEvent, with: &Recipient) -> bool {
    matches!(&event.what, MailHappened::Delivered { mailbox, .. } if Recipient::from(mailbox.clone()) == *with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{MachineId, PlaceId},
        model::{AgentEnd, EndHow},
        rules::samples,
        time::Timestamp,
    };

    fn a() -> AgentId {
        AgentId::from_bytes([1; 16])
    }

    fn b() -> AgentId {
        AgentId::from_bytes([2; 16])
    }

    fn place() -> PlaceId {
        PlaceId::from_bytes([9; 16])
    }

    fn agent(n: u8, ended: bool) -> Agent {
        let mut agent = samples::agent(n, &samples::place(9, "app"));
        agent.ended = ended.then(|| AgentEnd { at: Timestamp::from_ms(50), how: EndHow::SessionOver });
        agent
    }

    fn events(what: &[MailHappened]) -> Vec<MailEvent> {
        let event = |(number, what): (u64, &MailHappened)| MailEvent {
            at: Timestamp::from_ms(number as i64),
            machine: MachineId::from_bytes([1; 8]),
            number,
            what: what.clone(),
        };
        (0..).zip(what).map(event).collect()
    }

    fn to(agent: AgentId, read: bool) -> MailHappened {
        MailHappened::Delivered { mailbox: Mailbox::Agent(agent), read }
    }

    fn with(to: &Recipient, happened: &[MailHappened], record: Option<Agent>) -> (Recipient, Option<AgentId>, Stage) {
        let Standing { with, passed_from, stage, .. } = standing(to, &events(happened), record.as_ref());
        (with, passed_from, stage)
    }

    #[test]
    fn mail_for_an_agent_is_its_own_until_it_ends_in_a_place_and_again_when_it_comes_back() {
        let mail = Recipient::Agent(a());
        assert_eq!(with(&mail, &[], None), (mail.clone(), None, Stage::Waiting), "not even known yet");
        assert_eq!(with(&mail, &[to(a(), false)], Some(agent(1, false))), (mail.clone(), None, Stage::Pushed));
        let left = (Recipient::Place(place()), Some(a()), Stage::Waiting);
        assert_eq!(with(&mail, &[to(a(), false)], Some(agent(1, true))), left, "pushed is not read");
        let nowhere = Agent { place: None, ..agent(1, true) };
        assert_eq!(with(&mail, &[], Some(nowhere)), (mail, None, Stage::Waiting));
    }

    #[test]
    fn c07_mail_for_an_ended_agent_is_passed_on_once() {
        let mail = Recipient::Agent(a());
        let taken = [to(a(), false), MailHappened::Took(b())];
        assert_eq!(with(&mail, &taken, None), (Recipient::Agent(b()), Some(a()), Stage::Waiting));
        assert_eq!(depends_on(&mail, &events(&taken)), None, "also when the second ends, or the first comes back");
        let read = [MailHappened::Took(b()), to(b(), true)];
        assert_eq!(with(&mail, &read, None), (Recipient::Agent(b()), Some(a()), Stage::Read));
    }

    #[test]
    fn mail_for_a_place_goes_back_to_it_when_its_taker_ends_without_reading() {
        let mail = Recipient::Place(place());
        assert_eq!(with(&mail, &[], None), (mail.clone(), None, Stage::Waiting));
        let taken = [MailHappened::Took(a()), to(a(), false)];
        assert_eq!(with(&mail, &taken, Some(agent(1, false))), (Recipient::Agent(a()), None, Stage::Pushed));
        assert_eq!(with(&mail, &taken, Some(agent(1, true))), (mail.clone(), Some(a()), Stage::Waiting));
        let again = [MailHappened::Took(a()), to(a(), false), MailHappened::Took(b())];
        assert_eq!(with(&mail, &again, Some(agent(2, false))), (Recipient::Agent(b()), Some(a()), Stage::Waiting));
        let read = [MailHappened::Took(a()), MailHappened::Took(b()), to(b(), true)];
        assert_eq!(with(&mail, &read, None), (Recipient::Agent(b()), Some(a()), Stage::Read));
        assert_eq!(depends_on(&mail, &events(&read)), None);
    }

    #[test]
    fn the_launched_agent_of_a_place_takes_before_any_other() {
        let launched = agent(1, false);
        let other = Agent { launch: None, ..agent(2, false) };
        assert!(may_take(&launched, Some(a())) && !may_take(&other, Some(a())) && may_take(&other, None));
        assert!(!may_take(&agent(2, true), None), "ended");
        assert!(!may_take(&Agent { parent: Some(a()), ..other.clone() }, None), "a sub-agent");
        assert!(!may_take(&Agent { place: None, ..other }, None));
    }

    #[test]
    fn what_an_ended_agent_left_is_for_one_that_came_after_it_or_was_launched_there() {
        let left = agent(1, true);
        let started = |n, ms| Agent { launch: None, started: Timestamp::from_ms(ms), ..agent(n, false) };
        assert!(!follows(&started(2, 49), &left, None), "it worked beside it");
        assert!(follows(&started(2, 50), &left, None), "it began as the other ended");
        assert!(follows(&started(2, 49), &left, Some(b())), "it was launched there");
        assert!(!follows(&started(3, 49), &left, Some(b())));
    }
}
