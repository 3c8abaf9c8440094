//! Messages that are held back. What a message says is data, and whatever could draw is taken out.

use frith_actors::api::agents::Unsent;
use frith_store::{
    model::{HeldFor, HeldMessage, Recipient},
    time::Timestamp,
};

use super::paper::Paper;

/// A message that was taken back, and those that wait to be sent.
pub fn unsent(reply: &Unsent, paper: &mut Paper) {
    if paper.look.quiet {
        let ids = reply.unsent.iter().chain(reply.messages.iter().filter(|_| reply.unsent.is_none()));
        return ids.for_each(|message| paper.line(message.id.to_string()));
    }
    if let Some(message) = &reply.unsent {
        paper.line(format!("{} is taken back: {}", message.id.short(), to(message)));
    } else if reply.messages.is_empty() {
        return paper.line("no message is held back");
    }
    if reply.messages.is_empty() {
        return;
    }
    let row = |message: &HeldMessage| [message.id.short(), in_seconds(message.due, paper), to(message), message.text.clone()];
    let rows: Vec<_> = reply.messages.iter().map(row).collect();
    paper.table(["MESSAGE", "SENT", "TO", "TEXT"], rows);
}

fn to(message: &HeldMessage) -> String {
    match &message.to {
        HeldFor::Thread(task) => format!("task {}", task.short()),
        HeldFor::Mail { to: Recipient::Agent(agent), .. } => format!("agent {}", agent.short()),
        HeldFor::Mail { to: Recipient::Place(place), .. } => format!("place {}", place.short()),
        HeldFor::Mail { to: Recipient::Person(person), .. } => person.clone(),
    }
}

fn in_seconds(due: Timestamp, paper: &Paper) -> String {
    format!("in {} s", ((due.ms() - paper.look.now.ms()).max(0) + 999) / 1000)
}
