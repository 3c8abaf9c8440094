//! Marked lines in a script of somebody's: put below its first line, found again by their marks, and taken out to the byte.
//!
//! Pure: texts in, texts out. Nothing here knows what the lines do.

use std::ops::Range;

/// The line above ours.
const BEGIN: &str = "# >>> frith >>>";
/// The line below ours.
const END: &str = "# <<< frith <<<";
/// The first line of a script that is made.
const FIRST: &str = "#!/bin/sh\n";
/// The programs that read such lines as `sh` does.
const SHELLS: &[&str] = &["sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"];

/// Marked lines in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The bytes that go with them.
    span: Range<usize>,
    /// What stands between the marks, with `\n` for each line's end.
    pub inside: String,
}

/// The mark below some lines is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoEnd {
    /// The line of the mark above them, from 1.
    pub line: usize,
}

/// Whether the lines would be read as a shell's; a script without a first line that says otherwise is one.
pub fn is_of_a_shell(text: &str) -> bool {
    let Some(words) = body(text).strip_prefix("#!") else { return true };
    let mut words = words.lines().next().unwrap_or_default().split_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let first = words.next().map(name).unwrap_or_default();
    let program = if first == "env" { words.find(|word| !word.starts_with('-')).map(name).unwrap_or_default() } else { first };
    SHELLS.contains(&program.as_str())
}

/// The blocks of a script, in order.
///
/// # Errors
/// The mark below one is missing.
pub fn blocks(text: &str) -> Result<Vec<Block>, NoEnd> {
    let (mut found, mut begun, mut at) = (Vec::new(), None::<(usize, usize, String)>, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let lead = if at == 0 { line.len() - body(line).len() } else { 0 };
        let word = line[lead..].trim();
        match (&mut begun, word) {
            (Some((_, began, _)), BEGIN) => return Err(NoEnd { line: *began }),
            (None, BEGIN) => begun = Some((at + lead, number + 1, String::new())),
            (Some((start, _, inside)), END) => {
                let span = whole(text, *start, at + line.len());
                found.push(Block { span, inside: std::mem::take(inside) });
                begun = None;
            }
            (Some((.., inside)), _) => inside.extend([line.trim_end_matches(['\r', '\n']), "\n"]),
            (None, _) => {}
        }
        at += line.len();
    }
    begun.map_or(Ok(found), |(_, line, _)| Err(NoEnd { line }))
}

/// The script with a marked line below its first.
pub fn put(text: Option<&str>, line: &str) -> String {
    let Some(text) = text else { return format!("{FIRST}{BEGIN}\n{line}\n{END}\n") };
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = format!("{BEGIN}{end}{line}{end}{END}");
    let mark = text.len() - body(text).len();
    let at = if body(text).starts_with("#!") { text.find('\n').map_or(text.len(), |at| at + 1) } else { mark };
    let (before, after) = text.split_at(at);
    match before.ends_with('\n') || at == mark {
        true => format!("{before}{lines}{end}{after}"),
        // The first line is the last one too, and has no end of its own.
        false => format!("{before}{end}{lines}"),
    }
}

/// The script without a block of it.
pub fn without(text: &str, block: &Block) -> String {
    [&text[..block.span.start], &text[block.span.end..]].concat()
}

/// Whether a script has a line with these words that runs.
pub fn runs(text: &str, words: &str) -> bool {
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(words))
}

/// Whether nothing but what is put into a script that is made is left of one.
pub fn is_bare(text: &str) -> bool {
    text.is_empty() || text == FIRST
}

/// The bytes that were put with a block: at the end of a text without a line's end, that of the line before is one of them.
fn whole(text: &str, start: usize, end: usize) -> Range<usize> {
    if text[..end].ends_with('\n') {
        return start..end;
    }
    text[..start].strip_suffix('\n').unwrap_or(&text[..start]).len()..end
}

fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn back(text: &str) -> String {
        let put = put(Some(text), "x");
        let blocks = blocks(&put).unwrap();
        assert_eq!(blocks.len(), 1, "{put:?}");
        assert_eq!(blocks[0].inside, "x\n", "{put:?}");
        without(&put, &blocks[0])
    }

    #[test]
    fn lines_stand_below_the_first_and_go_to_the_byte() {
        for text in
            ["#!/bin/sh\nset -e\n", "#!/bin/sh", "", "\n", "set -e\n", "#!/bin/bash\r\nset -e\r\n", "\u{feff}#!/bin/sh\n", "\u{feff}x"]
        {
            assert_eq!(back(text), text, "{text:?}");
        }
        assert_eq!(put(Some("#!/bin/sh\nset -e\n"), "x"), "#!/bin/sh\n# >>> frith >>>\nx\n# <<< frith <<<\nset -e\n");
        assert_eq!(put(None, "x"), "#!/bin/sh\n# >>> frith >>>\nx\n# <<< frith <<<\n");
    }

    proptest! {
        #[test]
        fn any_script_comes_back(text in "(#!/bin/sh)?[\\r\\n a#]{0,12}") {
            prop_assert_eq!(back(&text), text);
        }
    }

    #[test]
    fn a_mark_without_its_end_is_told_by_its_line() {
        assert_eq!(blocks("#!/bin/sh\n# >>> frith >>>\nx\n"), Err(NoEnd { line: 2 }));
        assert_eq!(blocks("# >>> frith >>>\n# >>> frith >>>\n# <<< frith <<<\n"), Err(NoEnd { line: 1 }));
        assert_eq!(blocks("# <<< frith <<<\n"), Ok(vec![]));
    }

    #[test]
    fn what_another_program_runs_is_no_script_of_a_shell() {
        for text in ["", "echo\n", "#!/bin/sh\n", "#!/usr/bin/env bash\n", "#!/usr/bin/env -S zsh -e\n", "#! /bin/dash -e\n"] {
            assert!(is_of_a_shell(text), "{text:?}");
        }
        for text in ["#!/usr/bin/env python3\n", "#!/usr/bin/fish\n", "#!\n", "#!/usr/bin/env\n"] {
            assert!(!is_of_a_shell(text), "{text:?}");
        }
    }
}
