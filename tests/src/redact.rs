//! What differs from run to run, replaced by what it is: ids, times, paths, process numbers.
//!
//! The same id gets the same name throughout, so a transcript still shows which is which.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::{Captures, Regex};

/// Replaces what differs, and remembers which id it gave which name.
#[derive(Debug, Default)]
pub struct Redactor {
    ids: BTreeMap<String, usize>,
    paths: Vec<(String, String)>,
    machines: Vec<Regex>,
}

/// A pattern for an id: whole with or without hyphens, or its first 8 characters.
static ID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})\b"));

/// Patterns for everything else, in the order they are tried.
static OTHERS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"(?m)^! warning: the node runs as root.*\n|^warning: the node runs as root.*\n|^note  root: .*\n      mend: .*\n", ""),
        (r"(?m)^! Updating files: .*\n|^! waiting for the node to open its store\n", ""),
        (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "[TIME]"),
        (r"\b(?:just now|now|(?:\d+(?:ms|s|m|h|d)? ?)+(?:ms|s|m|min|h|seconds?|minutes?|hours?)? ago)\b", "[AGO]"),
        (r"\b(process|pid|node) \d+\b", "$1 [PID]"),
        (r#"("pid"|"started"|"position"): -?\d+"#, "$1: [NUMBER]"),
        (r"disk: \S+ \S+ are free", "disk: [SIZE] are free"),
        (r"\b\d+ bytes", "[N] bytes"),
        (r"git version \S+", "git version [N]"),
        (r"\b(\d+(?:\.\d+)?) ?(ms|KiB|MiB|GiB|kB|MB|B)\b", "[N] $2"),
        (r"(?m)[ \t]+$", ""),
        (r"(\S)[ \t]{2,}", "$1  "),
    ]
    .map(|(text, name)| (pattern(text), name))
    .into()
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this table are good")
}

/// Spans of time, as figures have them.
static SPAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:none|under 1 s|(?:\d+ (?:s|min|h|d) ?)+)(?:\b|$)"));

/// The text without the spans of time in it.
pub fn spans(text: &str) -> String {
    SPAN.replace_all(text, "[SPAN]").into_owned()
}

/// How long something is held back still.
static SECONDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bin \d+ s\b"));

/// The text without how long something is held back still.
pub fn seconds(text: &str) -> String {
    SECONDS.replace_all(text, "in [N] s").into_owned()
}

impl Redactor {
    /// Paths that begin with `real` are shown with `name` in its stead.
    pub fn path(&mut self, real: &str, name: &str) {
        self.paths.push((real.to_owned(), name.to_owned()));
    }

    /// A machine's name is shown as `[MACHINE]` where one stands: at the begin of a line before its id, after `home`, in JSON, in the
    /// header of a message, behind a person.
    pub fn machine(&mut self, name: &str) {
        let name = regex::escape(name);
        self.machines.push(pattern(&format!(r#"(?m)(^|home +|machine +|"machine": "|on |on `)({name})($| \[ID|"|:| at |`)"#)));
        self.machines.push(pattern(&format!(r"(\b(?:ada|bo)@)({name})(\b)")));
    }

    /// The text without what differs.
    pub fn redact(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (real, name) in &self.paths {
            text = text.replace(real, name);
        }
        let ids = &mut self.ids;
        let mut text = ID.replace_all(&text, |found: &Captures<'_>| name_of(ids, &found[0])).into_owned();
        for (pattern, name) in OTHERS.iter() {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        for machine in &self.machines {
            text = machine.replace_all(&text, "$1[MACHINE]$3").into_owned();
        }
        text
    }
}

fn name_of(ids: &mut BTreeMap<String, usize>, id: &str) -> String {
    let short: String = id.chars().take(8).collect();
    let next = ids.len() + 1;
    let number = ids.entry(short).or_insert(next);
    if id.len() > 8 { format!("[ID{number} WHOLE]") } else { format!("[ID{number}]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_keeps_its_name_whether_short_or_whole() {
        let mut redactor = Redactor::default();
        assert_eq!(redactor.redact("3f9c2a17  x, 00aa11bb"), "[ID1]  x, [ID2]");
        assert_eq!(redactor.redact("00aa11bb-1111-4222-8333-444455556666 app"), "[ID2 WHOLE] app");
    }

    #[test]
    fn times_paths_and_padding_go_and_words_stay() {
        let mut redactor = Redactor::default();
        redactor.path("/tmp/x1", "~");
        assert_eq!(redactor.redact("/tmp/x1/app  \t  3s ago   \nup since 2026-01-02T03:04:05.678Z"), "~/app  [AGO]\nup since [TIME]");
        assert_eq!(redactor.redact("10 tasks, process 4711 runs"), "10 tasks, process [PID] runs");
    }
}
