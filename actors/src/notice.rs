//! Notifications: what happens in a place that wants to be told of it raises a note on this machine's desktop.
//!
//! Only the place's home raises them, and never for what a person did: who did it knows. A note has a task's title or an
//! agent's kind, never the text of a task or a message.

use frith_store::{
    error::Failure,
    id::PlaceId,
    model::{By, Notice},
    text::drawable,
    view::View,
};

use crate::{ctx::Ctx, env::notify::Note};

/// The most characters of a note's text.
const TEXT_MOST: usize = 120;

/// Something that happened in a place.
#[derive(Debug, Clone)]
pub struct Event {
    /// The place.
    pub place: PlaceId,
    /// What kind of thing it is.
    pub notice: Notice,
    /// Who did it, where somebody did.
    pub by: Option<By>,
    /// What it happened to, in a few words.
    pub what: String,
}

/// Raises a note if the place wants one. What comes of it is nobody's concern.
pub fn raise(ctx: &Ctx, event: Event) {
    if matches!(event.by, Some(By::Person(_))) {
        return;
    }
    let ctx = ctx.clone();
    tokio::spawn(async move {
        let here = ctx.db.store().machine();
        match ctx.db.read(move |view| note(view, here, &event)).await {
            Ok(Some(note)) => ctx.env.notifier.raise(note),
            Ok(None) => {}
            Err(failure) => tracing::warn!(%failure, "whether a notification is wanted could not be read"),
        }
    });
}

/// Raises a note that a person has mail, if it is this machine's own person.
pub fn raise_for_person(ctx: &Ctx, person: String, what: String) {
    let ctx = ctx.clone();
    tokio::spawn(async move {
        let (here, user) = (ctx.db.store().machine(), ctx.env.user.to_string());
        let name = ctx.db.read(move |view| Ok(view.machine(here)?.map(|machine| machine.name))).await;
        match name {
            Ok(Some(name)) if frith_store::rules::mail::person(&user, &name) == person => {
                ctx.env.notifier.raise(Note { title: words(Notice::Mail).into(), text: short(&what) });
            }
            Ok(_) => {}
            Err(failure) => tracing::warn!(%failure, "whether a message is for this machine's person could not be read"),
        }
    });
}

fn note(view: &View<'_>, here: frith_store::id::MachineId, event: &Event) -> Result<Option<Note>, Failure> {
    let place = view.require_place(event.place)?;
    let wanted = view.effective_settings(&place)?.notifications.contains(&event.notice);
    if !wanted || place.seat.home != here {
        return Ok(None);
    }
    Ok(Some(Note { title: short(&format!("{}: {}", place.name, words(event.notice))), text: short(&event.what) }))
}

fn words(notice: Notice) -> &'static str {
    match notice {
        Notice::TaskFinished => "task finished",
        Notice::TaskWaiting => "somebody is waited for",
        Notice::LaunchRefused => "launch refused",
        Notice::AgentEnded => "agent ended",
        Notice::MergeDone => "fork merged",
        Notice::Mail => "mail",
    }
}

fn short(text: &str) -> String {
    let text = drawable(&text.split_whitespace().collect::<Vec<_>>().join(" "), false);
    match text.char_indices().nth(TEXT_MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_short_and_cannot_move_a_cursor() {
        assert_eq!(short("a\u{1b}[2J\n b"), "a[2J b");
        assert_eq!(short(&"x".repeat(500)).chars().count(), TEXT_MOST + 1);
    }
}
