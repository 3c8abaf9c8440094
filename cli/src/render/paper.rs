//! A sheet of text: lines, facts, tables that fit the terminal, and the words for times, sizes and people. It never shows
//! a control character that was not made here.

use std::io::{self, IsTerminal as _, Write as _};

use comfy_table::{ContentArrangement, Row, Table, presets};
use frith_store::{model::By, text::drawable, time::Timestamp};

use crate::{
    args::{Colour, Global},
    environment,
    failure::{Failure, Told},
};

/// How the answer is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Ids and nothing else.
    pub quiet: bool,
    /// Colours.
    pub colour: bool,
    /// The terminal's columns; none when nothing has to fit.
    pub width: Option<u16>,
    /// Now, for how long ago something was.
    pub now: Timestamp,
}

impl Look {
    /// How this run's answer is to look.
    pub fn of(global: &Global) -> Self {
        let terminal = io::stdout().is_terminal();
        let colour = wants_colour(global.color, terminal);
        let width = terminal.then(|| rustix::termios::tcgetwinsize(io::stdout()).ok()).flatten().map(|size| size.ws_col);
        Self { quiet: global.quiet, colour, width: width.filter(|width| *width > 0), now: environment::now() }
    }
}

/// Whether text on a stream is coloured.
pub fn wants_colour(colour: Colour, terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !environment::is_plain(),
    }
}

/// An answer while it is being written.
#[derive(Debug)]
pub struct Paper {
    /// How it looks.
    pub look: Look,
    text: String,
}

impl Paper {
    /// An empty sheet.
    pub fn new(look: Look) -> Self {
        Self { look, text: String::new() }
    }

    /// What was written.
    pub fn text(self) -> String {
        self.text
    }

    /// A line; its control characters go.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(drawable(text.as_ref(), false).trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        let text = drawable(text, false);
        let painted = self.paint(&text, "1");
        self.text.push_str(&painted);
        self.text.push('\n');
    }

    /// Several lines, each moved in by two.
    pub fn block(&mut self, text: &str) {
        for line in drawable(text, true).lines() {
            self.text.push_str(format!("  {line}").trim_end());
            self.text.push('\n');
        }
    }

    /// Rows of a name and a value; a row whose value is empty is left out.
    pub fn facts(&mut self, rows: &[(&str, String)]) {
        let rows: Vec<_> = rows.iter().filter(|(_, value)| !value.is_empty()).collect();
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in rows {
            let padding = " ".repeat(width - name.len() + 2);
            let name = self.paint(name, "2");
            let value = drawable(value, false);
            self.text.push_str(format!("{name}{padding}{value}").trim_end());
            self.text.push('\n');
        }
    }

    /// A table that fits the terminal, each row on one line; nothing at all when it has no rows.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_truncation_indicator("…").set_header(head);
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| drawable(cell, false)).collect();
            let mut row = Row::from(cells);
            row.max_height(1);
            table.add_row(row);
        }
        if table.is_empty() {
            return;
        }
        match self.look.width {
            Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
        for (at, line) in table.lines().enumerate() {
            let line = if at == 0 { self.paint(line.trim_end(), "2") } else { line.trim_end().to_owned() };
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// How long ago something was.
    pub fn ago(&self, then: Timestamp) -> String {
        ago(self.look.now, then)
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.look.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The steps in which people count time: up to how many seconds, seconds of one, word.
const STEPS: [(u64, u64, &str); 3] = [(3600, 60, "min"), (48 * 3600, 3600, "h"), (60 * 86400, 86400, "days")];

fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.ms_since(then) / 1000;
    if seconds < 60 {
        return "just now".into();
    }
    let step = STEPS.iter().find(|(most, _, _)| seconds < *most);
    step.map_or_else(|| then.to_string().chars().take(10).collect(), |(_, one, word)| format!("{} {word} ago", seconds / one))
}

/// Who did something.
pub fn by(by: &By) -> String {
    match by {
        By::Person(name) => name.clone(),
        By::Agent(agent) => format!("agent {}", agent.short()),
        By::Node => "the node".into(),
    }
}

/// A number of things.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A number of bytes in the unit in which it reads best.
pub fn bytes(number: u64) -> String {
    let mut rest = number;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while rest >= 10 * 1024 {
        let Some(next) = units.next() else { break };
        rest /= 1024;
        unit = next;
    }
    format!("{rest} {unit}")
}

/// Writes an answer to standard output.
///
/// # Errors
/// [`Failure::NoReader`] when whoever read it went away; [`Failure::Broken`].
pub fn put(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::NoReader),
        done => done.map_err(|error| Failure::Broken(Told::because("the answer could not be written", &error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_unit_that_reads_best() {
        let now = Timestamp::from_ms(1_796_000_000_000);
        let cases = [
            (0, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (7200, "2 h ago"),
            (3 * 86400, "3 days ago"),
            (90 * 86400, "2026-09-01"),
        ];
        for (seconds, text) in cases {
            assert_eq!(ago(now, Timestamp::from_ms(now.ms() - seconds * 1000)), text);
        }
        assert_eq!(ago(now, Timestamp::from_ms(now.ms() + 9000)), "just now");
    }

    #[test]
    fn a_table_fits_the_terminal_and_draws_no_foreign_sequence() {
        let look = Look { quiet: false, colour: false, width: Some(30), now: Timestamp::from_ms(0) };
        let mut paper = Paper::new(look);
        let long = "a title that is far longer than the terminal is wide\x1b[2J\nand more";
        paper.table(["ID", "TITLE"], [["0a1b2c3d".to_owned(), long.to_owned()], ["ffffffff".to_owned(), "short".to_owned()]]);
        let text = paper.text();
        assert!(text.lines().all(|line| line.chars().count() <= 30) && text.lines().count() == 3, "{text}");
        assert!(!text.contains('\x1b') && text.contains('…'), "{text}");
    }

    #[test]
    fn sizes_keep_two_digits_at_least() {
        assert_eq!([bytes(0), bytes(9000), bytes(20_000), bytes(35 << 20)], ["0 B", "9000 B", "19 KiB", "35 MiB"]);
    }
}
