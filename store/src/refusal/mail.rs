//! Bounds of mail, and what would help when a message is refused.

use super::Refusal;

/// The most bytes of UTF-8 a message may have.
pub const MAIL_MOST: usize = 4_096;
/// The most messages an inbox returns at once.
pub const INBOX_MOST: u32 = 100;

impl Refusal {
    pub(super) fn mail_hint(&self) -> Option<String> {
        Some(match self {
            Self::LongMail { .. } => "put it into a file that the recipient can read, and name the file".into(),
            Self::OneOrAll => "name one (`frith agents send <to> <text>`), or leave it out and say `--all-live`".into(),
            Self::NoRecipient { .. } => {
                "`frith agents sessions` shows agents, `frith workspace list` places; a person is `user@machine`".into()
            }
            Self::RecipientEnded { successor: Some(agent), place: Some(place), .. } => {
                format!("agent {} works in `{}` now: `frith agents send {} <text>`", agent.short(), place.name, agent.short())
            }
            Self::RecipientEnded { place: Some(place), .. } => {
                format!("whoever works there next gets it: `frith agents send {} <text>`", place.name)
            }
            Self::RecipientEnded { .. } => "`frith agents sessions` shows those that have not".into(),
            Self::ToSubAgent { parent, .. } => format!("write to the one that it works for: `frith agents send {} <text>`", parent.short()),
            Self::ToItself => "name another: `frith agents sessions` shows them".into(),
            Self::NoSuchPerson { user: Some(user), machine, .. } => format!("its user is `{user}@{machine}`"),
            Self::NoSuchPerson { .. } => "a person is `user@machine`".into(),
            Self::NobodyElse => "`frith agents sessions` shows all there are, and a place or a person can be written to as well".into(),
            Self::OthersMailbox { .. } => "an agent reads its own, its sub-agents' and those of its place; a person reads any".into(),
            Self::SentAlone => "ask for them alone: `frith agents inbox --sent`".into(),
            Self::MessageSent { .. } => "`frith agents inbox --sent` shows how far it is".into(),
            Self::BadLimit { .. } => "say `--limit 100`, and run it again for the rest".into(),
            _ => return None,
        })
    }
}
