//! Mail: what a message may say, to whom it may go, who may read a mailbox, and how far a message is (agents.md, "See and talk").

use crate::{
    id::{AgentId, MachineId},
    model::{Agent, Mail, MailState, Recipient, Stage, Standing},
    refusal::{INBOX_MOST, MAIL_MOST, PlaceNamed, Refusal},
    text::drawable,
    time::Timestamp,
};

/// How many messages an inbox shows unless it is told.
pub const INBOX_USUAL: u32 = 20;
/// How long a message that was read is shown, and how long a recipient may be gone before its message counts as expired.
pub const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// What a message says, as it may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(String);

impl Body {
    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// What a message may say: the text without control characters but line ends and tabs. It is never cut.
///
/// # Errors
/// Nothing is left of it, or it is too long.
pub fn can_send(text: &str) -> Result<Body, Refusal> {
    let body: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    match body.len() {
        _ if drawable(&body, false).trim().is_empty() => Err(Refusal::BlankText),
        length if length > MAIL_MOST => Err(Refusal::LongMail { length }),
        _ => Ok(Body(body)),
    }
}

/// How many messages an inbox returns.
///
/// # Errors
/// The number is not from 1 to [`INBOX_MOST`].
pub fn can_limit(limit: Option<u32>) -> Result<usize, Refusal> {
    match limit.unwrap_or(INBOX_USUAL) {
        given if (1..=INBOX_MOST).contains(&given) => Ok(given as usize),
        given => Err(Refusal::BadLimit { given }),
    }
}

/// Whether a message may go to an agent: to any that did not end, but not to the one that sends it, nor to a sub-agent: callers are
/// told apart by their process, which is its parent's, so it could not read it. `place` is the place the agent works in, with the
/// agent that is there now.
///
/// # Errors
/// [`Refusal::ToItself`], [`Refusal::ToSubAgent`], or [`Refusal::RecipientEnded`] with who could get it instead.
pub fn can_reach(to: &Agent, sender: Option<AgentId>, place: Option<(PlaceNamed, Option<AgentId>)>) -> Result<Recipient, Refusal> {
    if to.ended.is_some() {
        let (place, successor) = place.map_or((None, None), |(place, there)| (Some(place), there));
        return Err(Refusal::RecipientEnded { agent: to.id, place, successor: successor.filter(|agent| Some(*agent) != sender) });
    }
    if sender == Some(to.id) {
        return Err(Refusal::ToItself);
    }
    if let Some(parent) = to.parent {
        return Err(Refusal::ToSubAgent { agent: to.id, parent });
    }
    Ok(Recipient::Agent(to.id))
}

/// Whether mail for a person may be left: on a machine of somebody else's for anybody, on this one for its own user.
///
/// # Errors
/// [`Refusal::NoSuchPerson`] for another user of this machine.
pub fn can_leave_for(user: &str, machine: (MachineId, &str), here: MachineId, user_here: &str) -> Result<Recipient, Refusal> {
    let (id, name) = machine;
    if user.is_empty() || (id == here && user != user_here) {
        return Err(Refusal::NoSuchPerson {
            given: user.to_owned(),
            machine: name.to_owned(),
            user: (id == here).then(|| user_here.to_owned()),
        });
    }
    Ok(Recipient::Person(person(user, name)))
}

/// How a person is addressed.
pub fn person(user: &str, machine: &str) -> String {
    format!("{user}@{machine}")
}

/// Those of a repository's live agents that a message to all goes to: all but the sender.
///
/// # Errors
/// [`Refusal::NobodyElse`] when there is none.
pub fn can_reach_all(live: impl IntoIterator<Item = AgentId>, sender: Option<AgentId>) -> Result<Vec<AgentId>, Refusal> {
    let others: Vec<AgentId> = live.into_iter().filter(|agent| Some(*agent) != sender).collect();
    if others.is_empty() { Err(Refusal::NobodyElse) } else { Ok(others) }
}

/// Whether somebody may look into an agent's mailbox: a person into any, an agent into its own, into those of its sub-agents and
/// of the agents of its place.
///
/// # Errors
/// [`Refusal::OthersMailbox`].
pub fn can_look_into(mailbox: &Agent, reader: Option<&Agent>) -> Result<(), Refusal> {
    let Some(reader) = reader else { return Ok(()) };
    let same_place = reader.place.is_some() && reader.place == mailbox.place;
    if mailbox.id == reader.id || mailbox.parent == Some(reader.id) || same_place {
        Ok(())
    } else {
        Err(Refusal::OthersMailbox { agent: mailbox.id })
    }
}

/// How far a message is, as its sender is told. `recipient` is the agent that it was sent to, if it was sent to one, and `machine`
/// the machine of whoever it was sent to.
pub fn state(mail: &Mail, at: &Standing, recipient: Option<&Agent>, machine: MachineId, here: MachineId, now: Timestamp) -> MailState {
    let is_with_it = matches!(&mail.to, Recipient::Agent(agent) if Recipient::Agent(*agent) == at.with || at.passed_from == Some(*agent));
    let ended = recipient.filter(|_| is_with_it).and_then(|agent| agent.ended.as_ref());
    let is_passed_on = matches!((&mail.to, &at.with), (Recipient::Agent(to), Recipient::Agent(with)) if to != with);
    match (at.stage, ended) {
        (Stage::Read, _) => MailState::Read,
        (_, Some(end)) if !is_passed_on && now.ms_since(end.at) > KEPT_MS => MailState::Expired,
        (Stage::Waiting, Some(_)) if !is_passed_on => MailState::RecipientEnded,
        (Stage::Pushed, _) => MailState::Delivered,
        (Stage::Waiting, _) if machine == here => MailState::OnItsMachine,
        (Stage::Waiting, _) => MailState::Queued,
    }
}

/// Whether what was sent can be asked for so: it is of no mailbox, and whether others read it says each message.
///
/// # Errors
/// [`Refusal::SentAlone`].
pub fn can_list_sent(names_mailbox: bool, unread: bool) -> Result<(), Refusal> {
    if names_mailbox || unread { Err(Refusal::SentAlone) } else { Ok(()) }
}

/// Whether a message is shown whatever became of it: it was sent so lately that it cannot have been read long ago.
pub fn is_surely_shown(sent: Timestamp, now: Timestamp) -> bool {
    now.ms_since(sent) <= KEPT_MS
}

/// Whether a message that was read is still shown.
pub fn is_shown(at: &Standing, now: Timestamp) -> bool {
    at.read.is_none_or(|read| now.ms_since(read) <= KEPT_MS)
}

/// Whether nobody needs a message any more: it was read long ago. One that was not read is never dropped.
pub fn is_done_with(at: &Standing, now: Timestamp) -> bool {
    at.read.is_some() && !is_shown(at, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::MessageId,
        model::{AgentEnd, By, EndHow, OutboxEntry},
        rules::samples::{self, HERE},
    };
    use proptest::prelude::*;

    #[test]
    fn a_message_of_4096_bytes_is_sent_whole_and_one_of_4097_not_at_all() {
        let most = "ü".repeat(MAIL_MOST / 2);
        assert_eq!(can_send(&most).unwrap().into_string(), most);
        assert_eq!(can_send(&format!("{most}x")), Err(Refusal::LongMail { length: MAIL_MOST + 1 }));
        for blank in ["", " \n\t ", "\u{7}\u{1b}", "\u{202e}\u{2066}"] {
            assert_eq!(can_send(blank), Err(Refusal::BlankText), "{blank:?}");
        }
        assert_eq!(can_send("a\r\nb\tc\u{1b}[2J\u{85}").unwrap().into_string(), "a\nb\tc[2J");
    }

    proptest! {
        #[test]
        fn c25_what_is_sent_has_no_control_character_and_nothing_else_is_lost(text in "(?s).{0,200}") {
            if let Ok(body) = can_send(&text) {
                let body = body.into_string();
                prop_assert!(body.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
                let kept: String = text.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect();
                prop_assert_eq!(kept, body);
            }
        }
    }

    #[test]
    fn an_inbox_returns_from_one_to_a_hundred() {
        assert_eq!((can_limit(None), can_limit(Some(1)), can_limit(Some(100))), (Ok(20), Ok(1), Ok(100)));
        for given in [0, 101] {
            assert_eq!(can_limit(Some(given)), Err(Refusal::BadLimit { given }));
        }
    }

    fn ended(agent: Agent) -> Agent {
        Agent { ended: Some(AgentEnd { at: Timestamp::from_ms(1_000), how: EndHow::SessionOver }), ..agent }
    }

    #[test]
    fn c07_an_ended_agent_is_refused_with_its_successor_and_nobody_writes_to_itself() {
        let place = samples::place(9, "app");
        let (one, two) = (samples::agent(1, &place), samples::agent(2, &place));
        assert_eq!(can_reach(&one, Some(two.id), None), Ok(Recipient::Agent(one.id)));
        assert_eq!(can_reach(&one, Some(one.id), None), Err(Refusal::ToItself));
        let sub = Agent { parent: Some(one.id), ..two.clone() };
        assert_eq!(can_reach(&sub, None, None), Err(Refusal::ToSubAgent { agent: two.id, parent: one.id }));
        let named = crate::rules::named(&place);
        let refused = can_reach(&ended(one.clone()), None, Some((named.clone(), Some(two.id))));
        assert_eq!(refused, Err(Refusal::RecipientEnded { agent: one.id, place: Some(named.clone()), successor: Some(two.id) }));
        let alone = can_reach(&ended(one.clone()), Some(two.id), Some((named.clone(), Some(two.id))));
        assert_eq!(alone, Err(Refusal::RecipientEnded { agent: one.id, place: Some(named), successor: None }), "not itself");
    }

    #[test]
    fn a_person_is_a_user_of_a_known_machine_and_here_only_its_own() {
        let there = MachineId::from_bytes([8; 8]);
        assert_eq!(can_leave_for("ada", (HERE, "oak"), HERE, "ada"), Ok(Recipient::Person("ada@oak".into())));
        assert_eq!(can_leave_for("bo", (there, "elm"), HERE, "ada"), Ok(Recipient::Person("bo@elm".into())));
        assert!(matches!(can_leave_for("bo", (HERE, "oak"), HERE, "ada"), Err(Refusal::NoSuchPerson { user: Some(_), .. })));
        assert!(matches!(can_leave_for("", (there, "elm"), HERE, "ada"), Err(Refusal::NoSuchPerson { user: None, .. })));
    }

    #[test]
    fn c03_an_agent_looks_into_its_own_mailbox_its_sub_agents_and_those_of_its_place() {
        let (here, there) = (samples::place(9, "app"), samples::place(8, "lib"));
        let (me, beside, other) = (samples::agent(1, &here), samples::agent(2, &here), samples::agent(3, &there));
        let mine = Agent { parent: Some(me.id), place: None, ..samples::agent(4, &there) };
        for seen in [&me, &beside, &mine] {
            assert_eq!(can_look_into(seen, Some(&me)), Ok(()));
        }
        assert_eq!(can_look_into(&other, Some(&me)), Err(Refusal::OthersMailbox { agent: other.id }));
        assert_eq!(can_look_into(&other, None), Ok(()), "a person");
        let homeless = Agent { place: None, ..me.clone() };
        assert!(can_look_into(&Agent { place: None, ..other }, Some(&homeless)).is_err(), "no place is no common place");
    }

    #[test]
    fn c16_a_sender_is_told_how_far_its_message_is() {
        let place = samples::place(9, "app");
        let to = samples::agent(1, &place);
        let mail = Mail {
            id: MessageId::from_bytes([1; 16]),
            entry: OutboxEntry { machine: HERE, number: 0 },
            from: By::Node,
            to: Recipient::Agent(to.id),
            task: None,
            text: "hello".into(),
            sent: Timestamp::default(),
        };
        let at = |with: Recipient, passed_from, stage| Standing { with, passed_from, stage, delivered: None, read: None, depends_on: None };
        let its = |stage| at(Recipient::Agent(to.id), None, stage);
        let (soon, late) = (Timestamp::from_ms(2_000), Timestamp::from_ms(2_000 + KEPT_MS as i64));
        let there = MachineId::from_bytes([8; 8]);
        let gone = ended(to.clone());
        let left = at(Recipient::Place(place.id), Some(to.id), Stage::Waiting);
        assert_eq!(state(&mail, &its(Stage::Waiting), Some(&to), HERE, HERE, late), MailState::OnItsMachine);
        assert_eq!(state(&mail, &its(Stage::Waiting), Some(&to), there, HERE, late), MailState::Queued);
        assert_eq!(state(&mail, &its(Stage::Pushed), Some(&to), HERE, HERE, late), MailState::Delivered);
        assert_eq!(state(&mail, &its(Stage::Read), Some(&gone), HERE, HERE, late), MailState::Read);
        assert_eq!(state(&mail, &left, Some(&gone), HERE, HERE, soon), MailState::RecipientEnded);
        assert_eq!(state(&mail, &left, Some(&gone), HERE, HERE, late), MailState::Expired);
        let passed = at(Recipient::Agent(AgentId::from_bytes([2; 16])), Some(to.id), Stage::Waiting);
        assert_eq!(state(&mail, &passed, Some(&gone), HERE, HERE, late), MailState::OnItsMachine);
    }

    #[test]
    fn what_was_sent_is_listed_without_a_mailbox_and_all_of_it() {
        assert_eq!(can_list_sent(false, false), Ok(()));
        for (names_mailbox, unread) in [(true, false), (false, true), (true, true)] {
            assert_eq!(can_list_sent(names_mailbox, unread), Err(Refusal::SentAlone));
        }
    }

    #[test]
    fn what_was_read_is_shown_for_thirty_days_and_what_was_not_for_ever() {
        let at = |read| Standing {
            with: Recipient::Person("ada@oak".into()),
            passed_from: None,
            stage: Stage::Read,
            delivered: None,
            read,
            depends_on: None,
        };
        let read = at(Some(Timestamp::from_ms(0)));
        let (day_30, later) = (Timestamp::from_ms(KEPT_MS as i64), Timestamp::from_ms(KEPT_MS as i64 + 1));
        assert!(is_shown(&read, day_30) && !is_done_with(&read, day_30));
        assert!(!is_shown(&read, later) && is_done_with(&read, later));
        let unread = at(None);
        assert!(is_shown(&unread, Timestamp::from_ms(i64::MAX)) && !is_done_with(&unread, Timestamp::from_ms(i64::MAX)));
    }
}
