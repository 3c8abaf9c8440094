//! The dialect that the node's screen and every viewer's terminal understand alike.
//!
//! Whatever an agent writes is brought into it: sequences the screen does not know are translated or left out, so that
//! the screen and the terminals of viewers, early and late, cannot drift apart. Two things never reach a viewer:
//! *queries*, which the node answers itself, and writes to the clipboard. Reading the dialect again changes nothing that
//! it does, so a viewer's own machine puts what it was sent through it once more and need not trust the sender.

use std::collections::BTreeSet;
use std::mem;

use super::stream::{Unit, UnitStream};

/// A question that an agent asks its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    PrimaryAttributes,
    SecondaryAttributes,
    Version,
    Status,
    CursorPosition { is_private: bool },
    Mode { number: u16, is_private: bool },
    TextAreaSize,
    Capability,
    Setting,
}

/// What comes out of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// To be drawn, by whole units.
    Bytes(Vec<u8>),
    /// To be answered.
    Query(Query),
}

/// Brings output into the dialect and knows which modes it left the terminal in.
#[derive(Debug)]
pub struct Dialect {
    units: UnitStream,
    modes: Modes,
}

impl Default for Dialect {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect {
    /// A dialect for a terminal in its initial state.
    #[must_use]
    pub fn new() -> Self {
        Self { units: UnitStream::new(), modes: Modes::default() }
    }

    /// The part of `bytes`, and of what was held back before, that a viewer's terminal may be given.
    pub fn for_viewer(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.read(bytes, &mut |said| match said {
            Said::Bytes(mut bytes) => out.append(&mut bytes),
            Said::Query(_) => {}
        });
        out
    }

    /// Which modes the terminal is in.
    #[must_use]
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Reads the next output; bytes are given in as few pieces as queries between them allow.
    pub(super) fn read(&mut self, bytes: &[u8], give: &mut impl FnMut(Said)) {
        let mut out = Vec::new();
        let modes = &mut self.modes;
        self.units.push(bytes, &mut |unit| {
            if let Some(query) = translate(unit, modes, &mut out) {
                if !out.is_empty() {
                    give(Said::Bytes(mem::take(&mut out)));
                }
                give(Said::Query(query));
            }
        });
        if !out.is_empty() {
            give(Said::Bytes(out));
        }
    }
}

/// Appends what `unit` is in the dialect, or answers what it asks.
fn translate(unit: Unit<'_>, modes: &mut Modes, out: &mut Vec<u8>) -> Option<Query> {
    match unit {
        Unit::Text(text) => out.extend_from_slice(text),
        Unit::Escape(byte) => return escape(byte, modes, out),
        Unit::Control { inner, last } => return Control::parse(inner, last).and_then(|it| it.translate(modes, out)),
        Unit::OperatingSystem(inner) => operating_system(inner, modes, out),
        Unit::Device(inner) => {
            return match inner {
                [b'+', b'q', ..] => Some(Query::Capability),
                [b'$', b'q', ..] => Some(Query::Setting),
                _ => None,
            };
        }
    }
    None
}

fn escape(byte: u8, modes: &mut Modes, out: &mut Vec<u8>) -> Option<Query> {
    match byte {
        b'7' | b'8' | b'=' | b'>' | b'M' => out.extend([0x1b, byte]),
        b'D' => out.push(b'\n'),
        b'E' => out.extend(*b"\r\n"),
        b'Z' => return Some(Query::PrimaryAttributes),
        b'c' => {
            *modes = Modes::default();
            out.extend(*b"\x1bc");
        }
        _ => {}
    }
    None
}

/// Titles, links and notices pass. What writes or reads the clipboard, colours, files or the shell's marks does not.
fn operating_system(inner: &[u8], modes: &mut Modes, out: &mut Vec<u8>) {
    let number = inner.split(|byte| *byte == b';').next().unwrap_or_default();
    let text = inner.get(number.len() + 1..).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(text) else { return };
    let number = match number {
        b"0" | b"2" => {
            text.clone_into(&mut modes.title);
            "2"
        }
        b"8" => "8",
        b"9" => "9",
        b"777" => "777",
        _ => return,
    };
    if !text.contains(|character: char| character.is_control()) {
        out.extend(format!("\x1b]{number};{text}\x1b\\").bytes());
    }
}

/// A control sequence in its parts.
struct Control<'a> {
    /// `?`, `>`, `<` or `=` in front.
    prefix: Option<u8>,
    /// Numbers, `;` and `:`.
    params: &'a str,
    /// What stands before the last byte.
    intermediate: Option<u8>,
    last: u8,
}

impl<'a> Control<'a> {
    /// `None` for what no terminal would act on.
    fn parse(inner: &'a [u8], last: u8) -> Option<Self> {
        let (prefix, rest) = match inner.split_first() {
            Some((first @ b'<'..=b'?', rest)) => (Some(*first), rest),
            _ => (None, inner),
        };
        let (intermediate, rest) = match rest.split_last() {
            Some((last @ 0x20..=0x2f, rest)) => (Some(*last), rest),
            _ => (None, rest),
        };
        let is_param = |byte: &u8| matches!(byte, b'0'..=b';');
        let params = std::str::from_utf8(rest).ok().filter(|_| rest.iter().all(is_param))?;
        Some(Self { prefix, params, intermediate, last })
    }

    fn translate(&self, modes: &mut Modes, out: &mut Vec<u8>) -> Option<Query> {
        match (self.prefix, self.intermediate, self.last) {
            (None, None, b'@'..=b'H' | b'J'..=b'M' | b'P' | b'S' | b'T' | b'X' | b'`' | b'b' | b'd' | b'f' | b'm' | b'r') => {
                self.append(self.last, out);
            }
            (None, None, b'a') => self.append(b'C', out),
            (None, None, b'e') => self.append(b'B', out),
            (None, None, b's') if self.params.is_empty() => out.extend(*b"\x1b7"),
            (None, None, b'u') if self.params.is_empty() => out.extend(*b"\x1b8"),
            (Some(b'?'), None, b'J' | b'K') => self.append(self.last, out),
            (Some(b'?'), None, b'h') => self.private_modes(true, modes, out),
            (Some(b'?'), None, b'l') => self.private_modes(false, modes, out),
            (Some(b'<' | b'=' | b'>'), None, b'u') | (Some(b'>'), None, b'm') => {
                modes.keyboard(self);
                self.append(self.last, out);
            }
            (None, Some(b' '), b'q') => {
                modes.has_cursor_style = !matches!(self.params, "" | "0");
                self.append(self.last, out);
            }
            (None, Some(b'!'), b'p') => {
                out.extend(*b"\x1b[?25h\x1b[?1l\x1b>\x1b[m");
                modes.set(25, true);
                modes.set(1, false);
            }
            _ => return self.query(),
        }
        None
    }

    fn query(&self) -> Option<Query> {
        let number = self.params.parse().unwrap_or(0);
        Some(match (self.prefix, self.intermediate, self.last) {
            (None, None, b'c') if number == 0 => Query::PrimaryAttributes,
            (Some(b'>'), None, b'c') if number == 0 => Query::SecondaryAttributes,
            (Some(b'>'), None, b'q') if number == 0 => Query::Version,
            (None, None, b'n') if number == 5 => Query::Status,
            (None, None, b'n') if number == 6 => Query::CursorPosition { is_private: false },
            (Some(b'?'), None, b'n') if number == 6 => Query::CursorPosition { is_private: true },
            (None, Some(b'$'), b'p') => Query::Mode { number, is_private: false },
            (Some(b'?'), Some(b'$'), b'p') => Query::Mode { number, is_private: true },
            (None, None, b't') if number == 18 => Query::TextAreaSize,
            _ => return None,
        })
    }

    fn append(&self, last: u8, out: &mut Vec<u8>) {
        out.extend(*b"\x1b[");
        out.extend(self.prefix);
        out.extend(self.params.bytes());
        out.extend(self.intermediate);
        out.push(last);
    }

    /// The modes of one sequence pass one by one; those that only save and restore a cursor become just that.
    fn private_modes(&self, on: bool, modes: &mut Modes, out: &mut Vec<u8>) {
        for number in self.params.split(';').filter_map(|number| number.parse().ok()) {
            match number {
                47 | 1047 | 1049 => alternate_screen(on, modes, out),
                1048 => out.extend(if on { *b"\x1b7" } else { *b"\x1b8" }),
                _ if PASSING.contains(&number) => private_mode(number, on, modes, out),
                _ => {}
            }
        }
    }
}

/// Terminals differ in where the cursor, the margins and what rows count from are after a change of screens; here the
/// other screen begins without margins at its top, and the usual one goes on without margins where it was left.
fn alternate_screen(on: bool, modes: &mut Modes, out: &mut Vec<u8>) {
    modes.set(1049, on);
    modes.set(6, false);
    if on {
        out.extend(*b"\x1b[?1049h\x1b[?6l\x1b[r");
    } else {
        out.extend(*b"\x1b[r\x1b[?1049l\x1b7\x1b[r\x1b8");
    }
}

fn private_mode(number: u16, on: bool, modes: &mut Modes, out: &mut Vec<u8>) {
    modes.set(number, on);
    out.extend(set_mode(number, on).bytes());
}

fn set_mode(number: u16, on: bool) -> String {
    format!("\x1b[?{number}{}", if on { 'h' } else { 'l' })
}

/// Private modes that pass. Others would change how viewers' terminals draw, and the screen would not know.
const PASSING: [u16; 16] = [1, 6, 9, 12, 25, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004, 2026];
/// Of these, what the node's screen does not keep.
const BEYOND_SCREEN: [u16; 5] = [12, 1004, 1007, 1015, 1016];
/// Modes that the terminal of a person who looks away must not be left in, in the order to leave them.
const TO_LEAVE: [u16; 15] = [2026, 1000, 1002, 1003, 9, 1004, 1005, 1006, 1015, 1016, 2004, 1, 6, 12, 1049];

/// The modes that output left a terminal in, as far as a late viewer must be given them or a leaving one relieved of
/// them. Where a mode is set by nothing it is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    on: BTreeSet<u16>,
    is_cursor_hidden: bool,
    has_cursor_style: bool,
    /// The sequences that changed how keys are told, not yet taken back, oldest first.
    keyboard: Vec<String>,
    title: String,
}

impl Modes {
    fn set(&mut self, number: u16, on: bool) {
        match (number, on) {
            (25, _) => self.is_cursor_hidden = !on,
            (_, true) => drop(self.on.insert(number)),
            (_, false) => drop(self.on.remove(&number)),
        }
    }

    /// Kitty's stack of keyboard flags, and xterm's other keys. At most 16 changes are kept, as terminals do.
    fn keyboard(&mut self, control: &Control<'_>) {
        let first = control.params.split([';', ':']).next().unwrap_or_default();
        let mut sequence = Vec::new();
        control.append(control.last, &mut sequence);
        let sequence = String::from_utf8(sequence).unwrap_or_default();
        match control.prefix {
            Some(b'<') => {
                let count = first.parse::<usize>().unwrap_or(1).max(1);
                let kept = self.keyboard.len().saturating_sub(count);
                self.keyboard.truncate(kept);
            }
            _ if self.keyboard.len() < 16 => self.keyboard.push(sequence),
            _ => {}
        }
    }

    /// What the node's screen says nothing about, for a terminal that may be in any mode.
    pub(super) fn beyond_screen(&self) -> String {
        let mode = |number: &u16| set_mode(*number, self.on.contains(number));
        let mut out: String = BEYOND_SCREEN.iter().map(mode).collect();
        if !self.keyboard.is_empty() {
            out += LEAVE_KEYBOARD;
            out.extend(self.keyboard.iter().map(String::as_str));
        }
        if !self.title.is_empty() {
            out += &format!("\x1b]2;{}\x1b\\", self.title);
        }
        out
    }

    /// Whether a private mode is on; `None` for one that is not known.
    pub(super) fn private(&self, number: u16) -> Option<bool> {
        match number {
            25 => Some(!self.is_cursor_hidden),
            47 | 1047 | 1049 => Some(self.on.contains(&1049)),
            _ => PASSING.contains(&number).then(|| self.on.contains(&number)),
        }
    }

    /// The sequences that give a terminal back in its usual state; none where nothing was changed.
    ///
    /// What is on its screen stays. Left out is what cannot be asked back: its title.
    #[must_use]
    pub fn leave(&self) -> String {
        let is_on = |number: &&u16| self.on.contains(*number);
        let mut out = String::new();
        if !self.keyboard.is_empty() {
            out += LEAVE_KEYBOARD;
        }
        out.extend(TO_LEAVE.iter().filter(is_on).map(|number| set_mode(*number, false)));
        out += "\x1b]8;;\x1b\\\x1b[m\x1b>";
        if self.has_cursor_style {
            out += "\x1b[0 q";
        }
        out += "\x1b7\x1b[r\x1b8\x1b[?25h";
        out
    }
}

/// Takes back every change of how keys are told, also any not kept.
const LEAVE_KEYBOARD: &str = "\x1b[<99u\x1b[=0;1u\x1b[>4m";

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str) -> Vec<Said> {
        let mut said = Vec::new();
        Dialect::new().read(output.as_bytes(), &mut |one| said.push(one));
        said
    }

    fn shown(output: &str) -> String {
        String::from_utf8(Dialect::new().for_viewer(output.as_bytes())).unwrap()
    }

    #[test]
    fn what_everybody_understands_passes_unchanged() {
        let output = "a\r\n\x1b[1;31mb\x1b[2J\x1b[4;5H\x1b7\x1b8\x1b[?25l\x1b[2 q\x1b[>1u\x1b[?2026h\x1b]8;;http://x\x1b\\";
        assert_eq!(shown(output), output);
    }

    #[test]
    fn what_the_screen_does_not_know_is_translated_or_left_out() {
        assert_eq!(shown("\x1b[s\x1b[u\x1bD\x1bE"), "\x1b7\x1b8\n\r\n");
        assert_eq!(shown("\x1b[?1049;25;7h"), "\x1b[?1049h\x1b[?6l\x1b[r\x1b[?25h");
        assert_eq!(shown("\x1b[?47h\x1b[?1048l"), "\x1b[?1049h\x1b[?6l\x1b[r\x1b8");
        assert_eq!(shown("\x1b[4h\x1b#8\x1bH\x1b[5i\x1b[8;1;1t\x1b%@\x1b n"), "");
    }

    #[test]
    fn the_clipboard_is_neither_written_nor_read() {
        assert_eq!(shown("a\x1b]52;c;aGk=\x07\x1b]52;c;?\x1b\\\x1b]1337;Copy=x:\x07b"), "ab");
    }

    #[test]
    fn queries_are_asked_of_the_node_and_never_of_a_viewer() {
        let output = "a\x1b[6nb\x1b[c\x1b[>c\x1b[>q\x1b[5n\x1b[?6n\x1b[?2026$p\x1b[18t\x1bP+q544e\x1b\\\x1bP$qm\x1b\\";
        let text = |text: &str| Said::Bytes(text.into());
        let want = vec![
            text("a"),
            Said::Query(Query::CursorPosition { is_private: false }),
            text("b"),
            Said::Query(Query::PrimaryAttributes),
            Said::Query(Query::SecondaryAttributes),
            Said::Query(Query::Version),
            Said::Query(Query::Status),
            Said::Query(Query::CursorPosition { is_private: true }),
            Said::Query(Query::Mode { number: 2026, is_private: true }),
            Said::Query(Query::TextAreaSize),
            Said::Query(Query::Capability),
            Said::Query(Query::Setting),
        ];
        assert_eq!(said(output), want);
        assert_eq!(shown("\x1b[?u\x1b]11;?\x07\x1b]4;1;?\x07\x1b[14t\x1b[?1;1;0S\x1b_Gi=1\x1b\\"), "");
    }

    #[test]
    fn reading_it_again_changes_nothing() {
        let once = shown("\x1b[?25;2004h\x1b[s\x1b(0q\x1b(B\x1b]0;t\x07\x1b[1m\x1b[6n\x1b[=5;1u\x1b[!p\u{9b}");
        assert_eq!(shown(&once), once);
    }

    #[test]
    fn a_terminal_is_left_without_any_mode_it_was_put_into() {
        let mut dialect = Dialect::new();
        dialect.for_viewer(b"\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?25l\x1b[>1u\x1b[5 q");
        let leave = dialect.modes().leave();
        for wanted in ["\x1b[?1049l", "\x1b[?1000l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?25h", "\x1b[<99u", "\x1b[0 q"] {
            assert!(leave.contains(wanted), "{wanted:?} is missing in {leave:?}");
        }
        dialect.for_viewer(leave.as_bytes());
        let left = dialect.modes();
        assert!(left.on.is_empty() && !left.is_cursor_hidden, "{left:?}");
        assert!(!Modes::default().leave().contains("1049"));
    }
}
