//! Messages: sent, taken back, read. What a message says is data: it stands in its frame, and whatever could draw is taken out.

use frith_actors::api::agents::{Inbox, LeftOut, Letter, Letters, SentMail, SentMessage, Unsent};
use frith_store::{
    model::{HeldFor, HeldMessage, MailState, Recipient},
    time::Timestamp,
};

use super::paper::Paper;

/// Messages that were sent: one line for each recipient.
pub fn sent(reply: &SentMail, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.messages.iter().for_each(|message| paper.line(message.id.to_string()));
    }
    for message in &reply.messages {
        paper.line(format!("{} to {}: {}", message.id.short(), message.recipient, how_far(message, paper)));
    }
    for LeftOut { agent, machine, since } in &reply.left_out {
        paper.line(format!("left out: {} on {machine}, unreachable since {}", agent.short(), paper.ago(*since)));
    }
}

fn how_far(message: &SentMessage, paper: &Paper) -> String {
    match (message.state, message.due) {
        (None, Some(due)) => format!("sent {}; take it back: frith agents unsend {}", in_seconds(due, paper), message.id.short()),
        (None, None) => "held back".into(),
        (Some(reached), _) => match message.unreachable_since {
            Some(since) => format!("{}, its machine unreachable since {}", state(reached), paper.ago(since)),
            None => state(reached).into(),
        },
    }
}

fn in_seconds(due: Timestamp, paper: &Paper) -> String {
    format!("in {} s", ((due.ms() - paper.look.now.ms()).max(0) + 999) / 1000)
}

fn state(state: MailState) -> &'static str {
    match state {
        MailState::Queued => "queued",
        MailState::OnItsMachine => "on its machine",
        MailState::Delivered => "delivered",
        MailState::Read => "read",
        MailState::RecipientEnded => "recipient ended",
        MailState::Expired => "expired",
    }
}

/// The messages of a mailbox, each in its frame; or those that the caller sent, in a table.
pub fn letters(reply: &Letters, asked: &Inbox, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.messages.iter().for_each(|letter| paper.line(letter.id.to_string()));
    }
    if reply.messages.is_empty() && reply.more == 0 {
        return paper.line(nothing(asked));
    }
    if asked.sent {
        let rows: Vec<_> = reply.messages.iter().map(|letter| sent_row(letter, paper)).collect();
        paper.table(["MESSAGE", "TO", "STATE", "SENT", "TASK", "TEXT"], rows);
    } else {
        for (at, letter) in reply.messages.iter().enumerate() {
            if at > 0 {
                paper.gap();
            }
            framed(letter, paper);
        }
    }
    if reply.more > 0 {
        paper.gap();
        let what = if asked.sent { "older" } else { "more unread" };
        paper.line(format!("… and {} {what}; `--limit` shows up to 100", reply.more));
    }
}

/// What there is none of.
fn nothing(asked: &Inbox) -> String {
    let about = asked.task.as_ref().map(|task| format!(" about task {}", task.0)).unwrap_or_default();
    match (&asked.mailbox, asked.sent, asked.unread) {
        (_, true, _) => format!("no message was sent from here{about}"),
        (Some(mailbox), _, true) => format!("no unread message in the mailbox of {}{about}", mailbox.0),
        (Some(mailbox), _, false) => format!("no message in the mailbox of {}{about}", mailbox.0),
        (None, _, true) => format!("no unread message{about}"),
        (None, _, false) => format!("no message{about}"),
    }
}

fn framed(letter: &Letter, paper: &mut Paper) {
    if let Some(read) = letter.read {
        paper.line(format!("(read {})", paper.ago(read)));
    }
    letter.framed.lines().for_each(|line| paper.line(line));
}

fn sent_row(letter: &Letter, paper: &Paper) -> [String; 6] {
    [
        letter.id.short(),
        letter.recipient.clone(),
        state(letter.state).into(),
        paper.ago(letter.sent),
        letter.task.map(|task| task.short()).unwrap_or_default(),
        letter.text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "),
    ]
}

/// A message that was taken back, and those that wait to be sent.
pub fn unsent(reply: &Unsent, paper: &mut Paper) {
    if paper.look.quiet {
        let ids = reply.unsent.iter().chain(reply.messages.iter().filter(|_| reply.unsent.is_none()));
        return ids.for_each(|message| paper.line(message.id.to_string()));
    }
    if let Some(message) = &reply.unsent {
        paper.line(format!("{} is taken back: {}", message.id.short(), to(message, reply)));
    } else if reply.messages.is_empty() {
        return paper.line("no message is held back");
    }
    if reply.messages.is_empty() {
        return;
    }
    let row = |message: &HeldMessage| [message.id.short(), in_seconds(message.due, paper), to(message, reply), message.text.clone()];
    let rows: Vec<_> = reply.messages.iter().map(row).collect();
    paper.table(["MESSAGE", "SENT", "TO", "TEXT"], rows);
}

fn to(message: &HeldMessage, reply: &Unsent) -> String {
    match &message.to {
        HeldFor::Thread(task) => format!("task {}", task.short()),
        HeldFor::Mail { to: Recipient::Agent(agent), .. } => format!("agent {}", agent.short()),
        HeldFor::Mail { to: Recipient::Place(place), .. } => {
            reply.places.iter().find(|one| one.id == *place).map_or_else(|| place.short(), |one| one.name.clone())
        }
        HeldFor::Mail { to: Recipient::Person(person), .. } => person.clone(),
    }
}

#[cfg(test)]
mod tests {
    use frith_actors::api::agents::Unsent;
    use frith_store::{
        id::{AgentId, MessageId, PlaceId, TaskId},
        model::By,
    };

    use super::*;
    use crate::render::Look;

    const NOW: i64 = 1_796_000_000_000;

    fn ago(minutes: i64) -> Timestamp {
        Timestamp::from_ms(NOW - minutes * 60_000)
    }

    fn drawn(draw: impl FnOnce(&mut Paper)) -> String {
        let mut paper = Paper::new(Look { quiet: false, colour: false, width: Some(90), now: Timestamp::from_ms(NOW) });
        draw(&mut paper);
        paper.text()
    }

    fn agent(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    fn message(n: u8, to: Recipient, recipient: &str) -> SentMessage {
        let id = MessageId::from_bytes([n; 16]);
        SentMessage { id, to, recipient: recipient.into(), state: Some(MailState::OnItsMachine), due: None, unreachable_since: None }
    }

    fn letter(n: u8, text: &str) -> Letter {
        let id = MessageId::from_bytes([n; 16]);
        Letter {
            id,
            from: By::Agent(agent(9)),
            host: "codex".into(),
            machine: "oak".into(),
            to: Recipient::Agent(agent(2)),
            recipient: "02020202".into(),
            passed_from: None,
            task: None,
            sent: ago(n.into()),
            delivered: None,
            read: None,
            state: MailState::Delivered,
            text: text.into(),
            framed: format!("message {}\n> {text}\nend of message {}", id.short(), id.short()),
        }
    }

    #[test]
    fn what_was_sent_is_one_line_for_each_recipient() {
        let place = Recipient::Place(PlaceId::from_bytes([3; 16]));
        let held = SentMessage { state: None, due: Some(ago(-1)), ..message(3, Recipient::Person("ada@oak".into()), "ada@oak") };
        let away = SentMessage {
            state: Some(MailState::Queued),
            unreachable_since: Some(ago(7)),
            ..message(4, Recipient::Agent(agent(4)), "04040404")
        };
        let reply = SentMail {
            messages: vec![message(1, Recipient::Agent(agent(2)), "02020202"), message(2, place, "app"), held, away],
            left_out: vec![LeftOut { agent: agent(8), machine: "elm\u{1b}[2J".into(), since: ago(60) }],
        };
        insta::assert_snapshot!(drawn(|paper| sent(&reply, paper)));
    }

    #[test]
    fn a_mailbox_shows_frames_and_marks_what_was_read_already() {
        let read = Letter { read: Some(ago(5)), ..letter(30, "the build is green") };
        let reply = Letters { messages: vec![read, letter(20, "one\n> two\u{1b}[2J"), letter(10, "three")], more: 4 };
        insta::assert_snapshot!(drawn(|paper| letters(&reply, &Inbox::default(), paper)));
    }

    #[test]
    fn what_one_sent_is_a_table_with_how_far_each_is() {
        let states = [MailState::Queued, MailState::Read, MailState::RecipientEnded, MailState::Expired];
        let task = Some(TaskId::from_bytes([7; 16]));
        let row = |(n, state): (u8, &MailState)| Letter { state: *state, task, ..letter(n, "the build\n\n  is green \u{202e} again") };
        let reply = Letters { messages: (1..).zip(&states).map(row).collect(), more: 0 };
        insta::assert_snapshot!(drawn(|paper| letters(&reply, &Inbox { sent: true, ..Inbox::default() }, paper)));
    }

    #[test]
    fn an_empty_mailbox_says_what_there_is_none_of() {
        let none = Letters { messages: Vec::new(), more: 0 };
        let asked = |mailbox: Option<&str>, unread, sent, task: Option<&str>| Inbox {
            mailbox: mailbox.map(|mailbox| mailbox.parse().unwrap()),
            unread,
            sent,
            task: task.map(|task| task.parse().unwrap()),
            limit: None,
        };
        let cases = [
            asked(None, false, false, None),
            asked(None, true, false, Some("77c0")),
            asked(Some("app"), false, false, None),
            asked(Some("app"), true, false, None),
            asked(None, false, true, None),
        ];
        let told = cases.map(|asked| drawn(|paper| letters(&none, &asked, paper)));
        insta::assert_snapshot!(told.concat());
    }

    #[test]
    fn nothing_held_back_is_said_to_be_so() {
        assert_eq!(
            drawn(|paper| unsent(&Unsent { unsent: None, messages: Vec::new(), places: Vec::new() }, paper)),
            "no message is held back\n"
        );
    }
}
