//! A sheet of text: lines, facts, tables that fit the terminal, and the words for times, sizes and people. It never shows
//! a control character that was not made here.

use std::io::{self, IsTerminal as _, Write as _};

use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width, presets};
use frith_store::{
    model::By,
    text::{PathText, drawable},
    time::Timestamp,
};

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

    /// A table that fits the terminal, each row on one line; nothing at all when it has no rows. The first column is an
    /// id, which is never cut. Where the terminal is narrow, columns go before what is in the others is cut.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.iter().map(|cell| drawable(cell, false)).collect()).collect();
        if rows.is_empty() {
            return;
        }
        let (head, rows) = without_unused(&head, rows);
        let all: Vec<usize> = (0..head.len()).collect();
        let mut table = drawn(&head, &rows, &all);
        if let Some(most) = self.look.width {
            let empty: Vec<bool> = all.iter().map(|at| rows.iter().all(|row| row[*at].is_empty())).collect();
            let columns = fitted(&head, &table.column_max_content_widths(), &empty, most);
            table = drawn(&head, &rows, &columns.iter().map(|(at, _)| *at).collect::<Vec<_>>());
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(most);
            for (column, (_, width)) in table.column_iter_mut().zip(columns) {
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + GAP)));
            }
        }
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

    /// How far ahead something is.
    pub fn until(&self, then: Timestamp) -> String {
        until(self.look.now, then)
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.look.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Between two columns.
const GAP: u16 = 2;
/// What a column that may be cut keeps as long as others can go.
const DECENT: u16 = 20;
/// What no cell has in it.
const NO_BLANK: char = '\0';
/// The columns that go on a narrow terminal, the least important first.
const EXPENDABLE: [&str; 13] =
    ["CHANGED", "TIME ZONE", "LAST RUN", "FOLDER", "WATCHED BY", "STARTED", "CACHE", "ORIGIN", "SIZE", "AGENT", "WITH", "TASKS", "OWNER"];
/// The columns that are there only where one of their cells says something.
const OCCASIONAL: [&str; 4] = ["ORIGIN", "SIZE", "CACHE", "AGENT"];
/// What is never cut, besides the first column.
const WHOLE: [&str; 1] = ["STATUS"];

/// The columns without those that are there only now and then, and not now.
fn without_unused<'h>(head: &[&'h str], rows: Vec<Vec<String>>) -> (Vec<&'h str>, Vec<Vec<String>>) {
    let is_used = |at: &usize| *at == 0 || !OCCASIONAL.contains(&head[*at]) || rows.iter().any(|row| !row[*at].is_empty());
    let used: Vec<usize> = (0..head.len()).filter(is_used).collect();
    let of_row = |row: &Vec<String>| used.iter().map(|at| row[*at].clone()).collect();
    (used.iter().map(|at| head[*at]).collect(), rows.iter().map(of_row).collect())
}

/// A table of some columns, each row on one line.
fn drawn(head: &[&str], rows: &[Vec<String>], columns: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_truncation_indicator("…");
    // What does not fit is cut wherever it ends: back to the last blank, hardly anything would be left of a command with few of them.
    table.set_delimiter(NO_BLANK);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|at| head[*at]));
    for row in rows {
        let mut row = Row::from(columns.iter().map(|at| row[*at].as_str()).collect::<Vec<_>>());
        row.max_height(1);
        table.add_row(row);
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, GAP));
    });
    table
}

/// Which columns a terminal has room for, and how wide each is.
fn fitted(head: &[&str], widths: &[u16], empty: &[bool], most: u16) -> Vec<(usize, u16)> {
    let is_whole = |at: usize| at == 0 || WHOLE.contains(&head[at]);
    let total = |widths: &mut dyn Iterator<Item = u16>| widths.map(|width| width + GAP).sum::<u16>().saturating_sub(GAP);
    let mut columns: Vec<(usize, u16)> = widths.iter().copied().enumerate().collect();
    if total(&mut columns.iter().map(|(_, width)| *width)) > most {
        columns.retain(|(at, _)| !empty[*at]);
    }
    for name in EXPENDABLE {
        let decent = |(at, width): &(usize, u16)| if is_whole(*at) { *width } else { (*width).min(DECENT) };
        if total(&mut columns.iter().map(decent)) <= most {
            break;
        }
        columns.retain(|(at, _)| *at == 0 || head[*at] != name);
    }
    while total(&mut columns.iter().map(|(_, width)| *width)) > most {
        let can_shrink = |(at, width): &&mut (usize, u16)| !is_whole(*at) && usize::from(*width) > head[*at].len();
        let Some(widest) = columns.iter_mut().filter(can_shrink).max_by_key(|(_, width)| *width) else { break };
        widest.1 -= 1;
    }
    columns
}

/// The steps in which people count time: up to how many seconds, seconds of one, word.
const STEPS: [(u64, u64, &str); 3] = [(3600, 60, "min"), (48 * 3600, 3600, "h"), (60 * 86400, 86400, "days")];

fn until(now: Timestamp, then: Timestamp) -> String {
    let seconds = then.ms_since(now) / 1000;
    if seconds < 60 {
        return "in less than a minute".into();
    }
    let step = STEPS.iter().find(|(most, _, _)| seconds < *most);
    step.map_or_else(|| then.to_string().chars().take(10).collect(), |(_, one, word)| format!("in {} {word}", seconds / one))
}

fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.ms_since(then) / 1000;
    if seconds < 60 {
        return "just now".into();
    }
    let step = STEPS.iter().find(|(most, _, _)| seconds < *most);
    step.map_or_else(|| then.to_string().chars().take(10).collect(), |(_, one, word)| format!("{} {word} ago", seconds / one))
}

/// A span of time, in the two units that read best.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    let of = |number: u64, unit: &str| if number == 0 { String::new() } else { format!(" {number} {unit}") };
    let text = match seconds {
        0 => "under 1 s".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min{}", seconds / 60, of(seconds % 60, "s")),
        3_600..86_400 => format!("{} h{}", seconds / 3_600, of(seconds % 3_600 / 60, "min")),
        _ => format!("{} d{}", seconds / 86_400, of(seconds % 86_400 / 3_600, "h")),
    };
    if ms == 0 { "none".into() } else { text }
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

/// Writes an answer to standard output.
///
/// # Errors
/// [`Failure::NoReader`] when whoever read it went away; [`Failure::Broken`].
pub fn put(text: &str) -> Result<(), Failure> {
    put_bytes(text.as_bytes())
}

fn put_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::NoReader),
        done => done.map_err(|error| Failure::Broken(Told::because("the answer could not be written", &error))),
    }
}

/// Writes paths to standard output, one on each line, byte for byte; what could draw is taken out on a terminal only.
///
/// # Errors
/// As [`put`].
pub fn put_paths<'p>(paths: impl IntoIterator<Item = &'p PathText>) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal();
    let shown = |path: &PathText| if is_terminal { drawable(&path.to_string(), false).into_bytes() } else { path.as_bytes().to_vec() };
    let lines: Vec<u8> = paths.into_iter().flat_map(|path| [shown(path), b"\n".to_vec()].concat()).collect();
    put_bytes(&lines)
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
    fn spans_are_told_in_two_units() {
        let cases =
            [(0, "none"), (900, "under 1 s"), (59_000, "59 s"), (60_000, "1 min"), (3_661_000, "1 h 1 min"), (90_000_000, "1 d 1 h")];
        for (ms, text) in cases {
            assert_eq!(span(ms), text);
        }
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
    fn a_narrow_terminal_loses_columns_before_ids_are_cut() {
        let look = Look { quiet: false, colour: false, width: Some(40), now: Timestamp::from_ms(0) };
        let mut paper = Paper::new(look);
        let row = |id: &str, title: &str| [id, "notstarted", "", "12 min ago", title].map(str::to_owned);
        paper.table(
            ["ID", "STATUS", "WITH", "CHANGED", "TITLE"],
            [row("0a1b2c3d", "A title that is too long for it"), row("ffffffff", "Short")],
        );
        insta::assert_snapshot!(paper.text(), @r"
        ID        STATUS      TITLE
        0a1b2c3d  notstarted  A title that is t…
        ffffffff  notstarted  Short
        ");
    }
}
