//! What an agent's screen says of it: that it waits at its prompt, that it asks a person something, or that it works.
//!
//! Pure: text in, an answer out. It says nothing of a screen for which it has no pattern, and it never types.

use std::time::Duration;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::kinds::Kind;

/// How long a screen must stay as it is before it is read: while an agent works it draws on.
pub(super) const QUIET: Duration = Duration::from_millis(500);

/// How long after a person's last key nothing is typed for them.
const AFTER_KEYS: Duration = Duration::from_secs(5);

/// What an agent does, as far as its screen says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Attention {
    /// It works.
    Working,
    /// It waits at its prompt.
    AtPrompt,
    /// It asks something that only a person may answer.
    NeedsPerson,
}

/// What was read of a screen last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// What it says; none until it was read once, and where its kind has no patterns.
    pub attention: Option<Attention>,
    /// How often it was read.
    pub times: u64,
    /// How many times a person has typed into the terminal.
    pub keys: u64,
}

/// The patterns of a kind's screen.
#[derive(Debug, Clone)]
pub struct Patterns {
    ready: Option<Regex>,
    busy: Vec<Regex>,
    asks: Vec<Regex>,
    settles: Duration,
}

/// A pattern that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern")]
pub struct NoPattern {
    /// The pattern.
    pub pattern: String,
    #[source]
    source: regex::Error,
}

impl Patterns {
    /// The patterns of a kind.
    ///
    /// # Errors
    /// One of them is none.
    pub fn of(kind: &Kind) -> Result<Self, NoPattern> {
        let all = |patterns: &[String]| patterns.iter().map(|pattern| read(pattern)).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            ready: kind.ready.as_deref().map(read).transpose()?,
            busy: all(&kind.busy)?,
            asks: all(&kind.asks)?,
            settles: kind.settles,
        })
    }

    /// How long the first prompt after a start must stand before anything is typed.
    pub(super) fn settles(&self) -> Duration {
        self.settles
    }

    /// How many questions stand on a screen, those that were answered among them.
    pub(super) fn questions(&self, screen: &str) -> usize {
        self.asks.iter().map(|pattern| pattern.find_iter(screen).count()).sum()
    }

    /// What a screen says. A question that stands above the prompt was answered: what is lower on the screen is later.
    pub fn read(&self, screen: &str) -> Option<Attention> {
        let ready = self.ready.iter().filter_map(|pattern| last(pattern, screen)).max();
        let asked = self.asks.iter().filter_map(|pattern| last(pattern, screen)).max();
        match (asked, ready) {
            (Some(asked), ready) if ready.is_none_or(|ready| asked > ready) => Some(Attention::NeedsPerson),
            (_, Some(_)) if !self.busy.iter().any(|pattern| pattern.is_match(screen)) => Some(Attention::AtPrompt),
            _ if self.ready.is_none() && self.asks.is_empty() => None,
            _ => Some(Attention::Working),
        }
    }
}

fn read(pattern: &str) -> Result<Regex, NoPattern> {
    Regex::new(pattern).map_err(|source| NoPattern { pattern: pattern.to_owned(), source })
}

/// Where the last match begins.
fn last(pattern: &Regex, text: &str) -> Option<usize> {
    pattern.find_iter(text).last().map(|found| found.start())
}

/// What people typed lately: nothing is typed into the middle of a line of theirs.
#[derive(Debug, Default)]
pub(super) struct Keys {
    times: u64,
    last: Option<Instant>,
    /// A line was begun and neither sent nor thrown away.
    is_open: bool,
}

impl Keys {
    /// Takes note of keys. What a terminal tells by itself, as where its mouse is, begins no line.
    pub(super) fn note(&mut self, keys: &[u8], now: Instant) {
        self.times += 1;
        self.last = Some(now);
        let is_told = keys.starts_with(b"\x1b[") || keys.starts_with(b"\x1bO");
        for key in keys.iter().filter(|_| !is_told) {
            match key {
                b'\r' | b'\n' | 0x03 | 0x15 | 0x1b => self.is_open = false,
                0x20..=0x7e | 0x80.. => self.is_open = true,
                _ => {}
            }
        }
    }

    /// How many times somebody typed.
    pub(super) fn times(&self) -> u64 {
        self.times
    }

    /// Whether the node may type now.
    pub(super) fn allow(&self, now: Instant) -> bool {
        !self.is_open && self.last.is_none_or(|last| now.duration_since(last) >= AFTER_KEYS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::built_in_kinds;

    fn of(kind: &str, screen: &str) -> Option<Attention> {
        Patterns::of(&built_in_kinds()[kind]).unwrap().read(screen)
    }

    #[test]
    fn every_built_in_pattern_is_one() {
        for (name, kind) in built_in_kinds() {
            assert!(Patterns::of(&kind).is_ok(), "{name}");
        }
    }

    /// Screens as the products of the versions in the table of kinds drew them, cut to what matters.
    #[test]
    fn the_screens_of_the_built_in_kinds_are_read_right() {
        use Attention::{AtPrompt, NeedsPerson, Working};
        let rule = "────────────";
        let cases = [
            ("claude", format!("{rule}\n❯\n{rule}\n  ? for shortcuts · ← for agents"), AtPrompt),
            ("claude", format!("❯ hello\n✻ Retrying in 2s\n{rule}\n❯\n{rule}\n  esc to interrupt · ← for agents"), Working),
            (
                "claude",
                format!(
                    "{rule}\n Quick safety check: Is this a project you created or one you trust?\n ❯ 1. Yes, I trust this folder\n   2. No, exit\n Enter to confirm · Esc to cancel"
                ),
                NeedsPerson,
            ),
            ("claude", format!("Do you want to proceed?\n❯ 1. Yes\n{rule}\n❯\n{rule}\n  ? for shortcuts"), AtPrompt),
            ("claude", format!("{rule}\n❯ half a line\n{rule}\n  ? for shortcuts"), Working),
            ("codex", "  >_ OpenAI Codex\n› Ask Codex to do anything\n  gpt default · /repo\n  ? for shortcuts".into(), AtPrompt),
            ("codex", "› hello\n◦ Working (1s • esc to interrupt)\n› Ask Codex to do anything".into(), Working),
            (
                "codex",
                "  Trust this folder? Codex can read, edit, and run files here\n› 1. Trust and continue\n  enter continue · esc back"
                    .into(),
                NeedsPerson,
            ),
            ("gemini", " Shift+Tab to accept edits\n >   Type your message or @path/to/file\n workspace".into(), AtPrompt),
            ("gemini", " ⠦ Thinking... (esc to cancel, 2s)\n >   Type your message or @path/to/file".into(), Working),
            ("gemini", "│ Do you trust the files in this folder?\n│ ● 1. Trust folder (repo)\n│   3. Don't trust".into(), NeedsPerson),
            (
                "gemini",
                "│ Do you trust the files in this folder?\n│ ● 1. Trust folder (repo)\n >   Type your message or @path/to/file".into(),
                AtPrompt,
            ),
            ("opencode", " ┃  Ask anything…\n   tab agents  ctrl+p commands".into(), AtPrompt),
            ("opencode", " ■■⬝⬝  esc interrupt    tab agents  ctrl+p commands".into(), Working),
            ("qwen", ">   Type your message or @path/to/file\n  ? for shortcuts".into(), AtPrompt),
            ("qwen", "  ⠴ Finding a pun... (2s · esc to cancel)\n>   Type your message or @path/to/file".into(), Working),
        ];
        for (kind, screen, attention) in cases {
            assert_eq!(of(kind, &screen), Some(attention), "{kind}:\n{screen}");
        }
    }

    #[test]
    fn a_kind_without_patterns_says_nothing_of_itself() {
        assert_eq!(Patterns::of(&Kind::default()).unwrap().read("$ "), None);
    }

    #[test]
    fn nothing_is_typed_into_a_line_that_somebody_began() {
        let now = Instant::now();
        let later = now + AFTER_KEYS;
        let mut keys = Keys::default();
        assert!(keys.allow(now));
        keys.note(b"\x1b[<35;1;1M", now);
        assert!(!keys.allow(now) && keys.allow(later));
        keys.note(b"hal", now);
        assert!(!keys.allow(later + AFTER_KEYS));
        keys.note(b"f\r", later);
        assert!(!keys.allow(later) && keys.allow(later + AFTER_KEYS));
    }
}
