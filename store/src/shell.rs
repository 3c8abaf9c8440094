//! Words of a command line as a person would type them. For showing only: nothing here is ever run by a shell.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path quoted for a POSIX shell.
pub(crate) fn quoted(path: &Path) -> String {
    quoted_word(path.as_os_str())
}

/// Program and arguments in one line, as one would type them in a shell. For showing only.
pub fn command_line(words: &[String]) -> String {
    line(words.iter().map(OsStr::new))
}

/// Program and arguments in one line.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> String {
    words.into_iter().map(quoted_word).collect::<Vec<_>>().join(" ")
}

/// Plain words stay as they are; what a terminal would act on, or what is no UTF-8, is spelled in `$'…'`, so that
/// showing a hostile file name does nothing.
fn quoted_word(word: &OsStr) -> String {
    let Some(text) = word.to_str().filter(|text| !text.contains(char::is_control)) else {
        return escaped(word.as_bytes());
    };
    let plain = |char: char| char.is_alphanumeric() || "/._-+=:@%,~".contains(char);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('~') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::from("$'");
    for &byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\'' => text.push_str("\\'"),
            b'\\' => text.push_str("\\\\"),
            0x20..0x7f => text.push(char::from(byte)),
            _ => write!(text, "\\x{byte:02x}").expect("writing to a string never fails"),
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_what_needs_it() {
        let word = |bytes: &[u8]| quoted_word(OsStr::from_bytes(bytes));
        assert_eq!(word(b"/home/a/forks/x-1"), "/home/a/forks/x-1");
        assert_eq!(word(b""), "''");
        assert_eq!(word(b"a b"), "'a b'");
        assert_eq!(word(b"it's"), r"'it'\''s'");
        assert_eq!(word(b"a\nb\x1b[31m\xff"), r"$'a\nb\x1b[31m\xff'");
        assert_eq!(word(b"~"), "'~'");
    }
}
