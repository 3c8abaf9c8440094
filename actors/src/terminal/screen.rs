//! What the agent's terminal shows: the screen, bounded scrollback, and how to show it to somebody who comes late.
//!
//! It is drawn on by whole units of the dialect only. A *repaint* brings a terminal of the same size, in whatever
//! state, into exactly this state, so that all later output means the same there. A *picture* shows the screen on a
//! terminal of another size, and only shows it. Nothing here knows a viewer or a process.

use std::fmt::Write;
use std::num::NonZeroU16;

use vt100::Parser;

use super::dialect::{Modes, Query};
use crate::env::process::TerminalSize;

/// Lines above the screen that are kept.
const SCROLLBACK: usize = 1000;

/// The screen.
pub(super) struct Screen {
    parser: Parser,
}

impl Screen {
    pub(super) fn new(size: TerminalSize) -> Self {
        let (rows, cols) = non_zero(size);
        Self { parser: Parser::new(rows, cols, SCROLLBACK) }
    }

    pub(super) fn size(&self) -> TerminalSize {
        let (rows, cols) = self.parser.screen().size();
        TerminalSize::new(rows.get(), cols.get())
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        let (rows, cols) = non_zero(size);
        self.parser.set_size(rows, cols);
    }

    /// Draws whole units.
    pub(super) fn draw(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// The lines of the screen without trailing blanks, and without the empty ones at its end.
    pub(super) fn text(&self) -> String {
        let (_, cols) = self.parser.screen().size();
        let rows = self.parser.screen().rows(0, cols.get());
        joined(rows)
    }

    /// Scrollback and screen, each line ended, as somebody sees it who has no terminal.
    pub(super) fn text_with_scrollback(&self) -> String {
        let mut screen = self.parser.screen().clone();
        let mut lines = self.scrollback(|screen, count| {
            let (_, cols) = screen.size();
            screen.rows(0, cols.get()).take(count).collect()
        });
        screen.set_scrollback(0);
        let (_, cols) = screen.size();
        lines.extend(screen.rows(0, cols.get()));
        let text = joined(lines.into_iter());
        if text.is_empty() { text } else { text + "\n" }
    }

    /// What a terminal answers to `query`.
    pub(super) fn answer(&self, query: Query, modes: &Modes) -> String {
        let size = self.size();
        match query {
            Query::PrimaryAttributes => "\x1b[?62;22c".into(),
            Query::SecondaryAttributes => "\x1b[>41;300;0c".into(),
            Query::Version => format!("\x1bP>|frith({})\x1b\\", env!("CARGO_PKG_VERSION")),
            Query::Status => "\x1b[0n".into(),
            Query::CursorPosition { is_private } => {
                let (row, col) = self.parser.screen().cursor_position();
                let mark = if is_private { "?" } else { "" };
                format!("\x1b[{mark}{};{}R", row + 1, (col + 1).min(size.cols()))
            }
            Query::Mode { number, is_private } => {
                let state = match modes.private(number).filter(|_| is_private) {
                    Some(true) => 1,
                    Some(false) => 2,
                    None => 0,
                };
                let mark = if is_private { "?" } else { "" };
                format!("\x1b[{mark}{number};{state}$y")
            }
            Query::TextAreaSize => format!("\x1b[8;{};{}t", size.rows(), size.cols()),
            Query::Capability => "\x1bP0+r\x1b\\".into(),
            Query::Setting => "\x1bP0$r\x1b\\".into(),
        }
    }

    /// Brings a terminal of this size, in any state, to where this one is. With `scrollback` the lines above the screen
    /// come too, for a terminal that has none of them yet.
    pub(super) fn repaint(&self, modes: &Modes, scrollback: bool) -> Vec<u8> {
        let mut out = String::from(PREPARE);
        if scrollback {
            self.scroll_in(&mut out);
        }
        let mut screen = self.parser.screen().clone();
        screen.clear_scrollback();
        if screen.alternate_screen() {
            let primary = after(&screen, "\x1b[?47l");
            paint(&primary, &mut out);
            Hidden::of(&primary).go_to_saved(&mut out);
            out += "\x1b[?1049h";
        }
        paint(&screen, &mut out);
        finish(&screen, modes, &mut out);
        out.into_bytes()
    }

    /// Shows the part of the screen around the cursor that a terminal of `size` has room for, and puts its modes right.
    pub(super) fn picture(&self, modes: &Modes, size: TerminalSize) -> Vec<u8> {
        let screen = self.parser.screen();
        let (row, col) = screen.cursor_position();
        let (rows, cols) = (size.rows().min(self.size().rows()), size.cols().min(self.size().cols()));
        let first = (row + 1).saturating_sub(rows);
        let mut out = String::from(PREPARE);
        if screen.alternate_screen() {
            out += "\x1b[?1049h";
        }
        for row in first..first + rows {
            // A wide character that is cut would go to the next line there.
            let is_cut = screen.cell(row, cols - 1).is_some_and(vt100::Cell::is_wide);
            let line = screen.rows_formatted(0, cols - u16::from(is_cut)).nth(row.into()).unwrap_or_default();
            let _ = write!(out, "\x1b[{};1H\x1b[m{line}", row - first + 1);
        }
        let _ = write!(out, "\x1b[m\x1b[{};{}H", row - first + 1, (col + 1).min(cols));
        let cursor = if screen.hide_cursor() { "\x1b[?25l" } else { "\x1b[?25h" };
        out += cursor;
        out += &screen.input_mode_formatted();
        out += &modes.beyond_screen();
        out += "\x1b[?2026l";
        out.into_bytes()
    }

    /// Prints the lines above the screen and pushes them above the screen of whoever reads this.
    fn scroll_in(&self, out: &mut String) {
        let lines = self.scrollback(|screen, count| {
            let (_, cols) = screen.size();
            screen.rows_formatted(0, cols.get()).take(count).collect()
        });
        for line in &lines {
            let _ = write!(out, "\x1b[m{line}\x1b[m\r\n");
        }
        if !lines.is_empty() {
            out.extend(std::iter::repeat_n("\r\n", usize::from(self.size().rows()) - 1));
        }
    }

    /// What `read` says of each screenful above the screen, oldest first.
    fn scrollback(&self, read: impl Fn(&vt100::Screen, usize) -> Vec<String>) -> Vec<String> {
        let mut screen = self.parser.screen().clone();
        if screen.alternate_screen() {
            screen = after(&screen, "\x1b[?47l");
        }
        let page = usize::from(self.size().rows());
        let mut lines = Vec::new();
        let mut above = screen.scrollback_len();
        while above > 0 {
            screen.set_scrollback(above);
            let count = above.min(page);
            lines.append(&mut read(&screen, count));
            above -= count;
        }
        lines
    }
}

/// Begins as one change, from no known state: the usual screen without margins, nothing on it, no mode set. The first
/// byte ends a sequence that may be half written.
const PREPARE: &str = "\x18\x1b[?2026h\x1b]8;;\x1b\\\x1b[?1049l\x1b[?6l\x1b[r\x1b[m\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\
                       \x1b[?1005l\x1b[?1006l\x1b[0 q\x1b[H\x1b[2J";

fn paint(screen: &vt100::Screen, out: &mut String) {
    *out += &screen.contents_formatted();
}

/// Margins, saved cursor, cursor and modes: everything a picture does not show.
fn finish(screen: &vt100::Screen, modes: &Modes, out: &mut String) {
    let hidden = Hidden::of(screen);
    hidden.go_to_saved(out);
    let _ = write!(out, "\x1b7\x1b[{};{}r", hidden.top + 1, hidden.bottom + 1);
    hidden.go(screen, out);
    *out += &screen.input_mode_formatted();
    *out += &modes.beyond_screen();
    *out += "\x1b[?2026l";
}

/// What the screen keeps but tells only by what it does.
struct Hidden {
    /// The rows that scroll, both counted from 0.
    top: u16,
    bottom: u16,
    /// Whether rows are counted from `top`.
    has_origin: bool,
    /// The screen as it is once the saved cursor is taken back.
    restored: vt100::Screen,
    is_saved_with_origin: bool,
}

impl Hidden {
    fn of(screen: &vt100::Screen) -> Self {
        let restored = after(screen, "\x1b8");
        let (top, _) = after(screen, "\x1b[?6h\x1b[H").cursor_position();
        let (bottom, _) = after(screen, "\x1b[?6h\x1b[9999;1H").cursor_position();
        Self { top, bottom, has_origin: has_origin(screen), is_saved_with_origin: has_origin(&restored), restored }
    }

    /// Puts cursor and attributes to where they were saved. There are no margins yet, so rows count from the top either way.
    fn go_to_saved(&self, out: &mut String) {
        *out += if self.is_saved_with_origin { "\x1b[?6h" } else { "\x1b[?6l" };
        go_to(&self.restored, counted_from(0), out);
    }

    /// Puts cursor and attributes to where they are in `screen`, with the margins set.
    fn go(&self, screen: &vt100::Screen, out: &mut String) {
        let (row, _) = screen.cursor_position();
        match self.has_origin {
            false => {
                *out += "\x1b[?6l";
                go_to(screen, counted_from(0), out);
            }
            true if (self.top..=self.bottom).contains(&row) => {
                *out += "\x1b[?6h";
                go_to(screen, counted_from(self.top), out);
            }
            // A row beyond the margins is reached by this sequence only, which the screen counts from its top always.
            true => {
                *out += "\x1b[?6h";
                go_to(screen, |row, col| format!("\x1b[{}d\x1b[{}G", row + 1, col + 1), out);
            }
        }
        *out += if screen.hide_cursor() { "\x1b[?25l" } else { "\x1b[?25h" };
    }
}

/// Goes to a row and column, rows counted from the row `top`.
fn counted_from(top: u16) -> impl Fn(u16, u16) -> String {
    move |row, col| format!("\x1b[{};{}H", (row + 1).saturating_sub(top), col + 1)
}

/// Puts cursor and attributes to where they are in `screen`. Behind the last column, where the next character goes to the
/// next line, the cursor gets only by writing the last one again.
fn go_to(screen: &vt100::Screen, place: impl Fn(u16, u16) -> String, out: &mut String) {
    let (row, col) = screen.cursor_position();
    let cols = screen.size().1.get();
    if col < cols {
        *out += &place(row, col);
    } else {
        let is_second_half = screen.cell(row, cols - 1).is_some_and(vt100::Cell::is_wide_continuation);
        let start = if is_second_half { cols - 2 } else { cols - 1 };
        let last = screen.rows_formatted(start, cols - start).nth(row.into()).unwrap_or_default();
        let _ = write!(out, "\x1b[m{}{last}", place(row, start));
        if !screen.cell(row, start).is_some_and(vt100::Cell::has_contents) {
            out.push(' ');
        }
    }
    *out += &screen.attributes_formatted();
}

/// With rows 2 and 3 as margins, home is row 2 only where rows are counted from the margin.
fn has_origin(screen: &vt100::Screen) -> bool {
    after(screen, "\x1b[2;3r\x1b[H").cursor_position().0 == 1
}

/// What `screen` would be after `output`.
fn after(screen: &vt100::Screen, output: &str) -> vt100::Screen {
    let (rows, cols) = screen.size();
    let mut parser = Parser::new(rows, cols, 0);
    *parser.screen_mut() = screen.clone();
    parser.process(output.as_bytes());
    parser.screen().clone()
}

fn joined(rows: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for row in rows {
        text += row.trim_end();
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

fn non_zero(size: TerminalSize) -> (NonZeroU16, NonZeroU16) {
    let one = NonZeroU16::MIN;
    (NonZeroU16::new(size.rows()).unwrap_or(one), NonZeroU16::new(size.cols()).unwrap_or(one))
}
