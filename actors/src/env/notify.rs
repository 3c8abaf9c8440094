//! The door to the person's desktop: short notes that something happened.

/// A note for the person at this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What happened, and where.
    pub title: String,
    /// What it happened to. Never the text of a task or a message.
    pub text: String,
}

/// Raises notes on this machine's desktop.
pub trait Notifier: Send + Sync {
    /// Raises a note, and waits for nothing: where there is no desktop, nobody is disturbed.
    fn raise(&self, note: Note);
}

/// A world without a desktop.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDesktop;

impl Notifier for NoDesktop {
    fn raise(&self, _note: Note) {}
}
