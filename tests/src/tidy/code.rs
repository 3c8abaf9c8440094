//! Rust source with its comments and strings told apart from its code. It knows no grammar beyond that.

/// A source file in two readings of equal length and equal lines.
#[derive(Debug, Clone)]
pub struct Code {
    /// Comments blanked; strings kept.
    pub with_strings: String,
    /// Comments and the contents of strings blanked.
    pub bare: String,
}

impl Code {
    /// Reads a source file.
    pub fn read(source: &str) -> Self {
        let mut reader = Reader { rest: source, with_strings: String::new(), bare: String::new() };
        while !reader.rest.is_empty() {
            reader.step();
        }
        Self { with_strings: reader.with_strings, bare: reader.bare }
    }

    /// The same without the tests at its foot.
    pub fn before_tests(&self) -> Self {
        let end = self.bare.find("#[cfg(test)]").unwrap_or(self.bare.len());
        Self { with_strings: self.with_strings[..end].to_owned(), bare: self.bare[..end].to_owned() }
    }
}

/// The number of the line that a byte stands on, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The end of the block that opens at or after `at`: the byte behind its closing brace.
pub fn block_end(bare: &str, at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in bare.bytes().enumerate().skip(at) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(offset + 1),
            b'}' => depth -= 1,
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

struct Reader<'a> {
    rest: &'a str,
    with_strings: String,
    bare: String,
}

impl Reader<'_> {
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end, false, false);
        } else if self.rest.starts_with("/*") {
            let end = comment_end(self.rest);
            self.take(end, false, false);
        } else if let Some((open, end)) = string_bounds(self.rest, self.after_word()) {
            self.take(open, true, true);
            self.take(end - open, true, false);
        } else if let Some(end) = char_end(self.rest) {
            self.take(end, true, false);
        } else {
            let end = self.rest.chars().next().map_or(0, char::len_utf8);
            self.take(end, true, true);
        }
    }

    /// Whether the last thing read was part of a word, so that an `r` or `b` now does not open a string.
    fn after_word(&self) -> bool {
        self.bare.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    }

    fn take(&mut self, length: usize, in_strings: bool, in_bare: bool) {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.with_strings.push_str(&if in_strings { taken.to_owned() } else { blank(taken) });
        self.bare.push_str(&if in_bare { taken.to_owned() } else { blank(taken) });
    }
}

/// As many bytes of nothing, with the line ends kept.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

fn comment_end(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Where the contents of a string that begins here begin, and where it ends, its closing quote taken in.
fn string_bounds(text: &str, after_word: bool) -> Option<(usize, usize)> {
    let prefix = if after_word { 0 } else { text.bytes().take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).take(2).count() };
    let raw = text[..prefix].contains('r');
    let hashes = if raw { text[prefix..].bytes().take_while(|byte| *byte == b'#').count() } else { 0 };
    let open = prefix + hashes + 1;
    if text.as_bytes().get(open - 1) != Some(&b'"') {
        return None;
    }
    if raw {
        let close = format!("\"{}", "#".repeat(hashes));
        return Some((open, text[open..].find(&close).map_or(text.len(), |at| open + at + close.len())));
    }
    Some((open, open + plain_string_length(&text[open..])))
}

fn plain_string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal that begins here; a lifetime is none.
fn char_end(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if inner.starts_with('\\') {
        return inner[2..].find('\'').map(|at| at + 4);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(first + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_apart_from_code() {
        let source = "a(\"x // { \\\" y\"); // b\n/* { /* } */ */ c('{', '\\'', b\"}\", r#\"\"}\"#); fn d<'a>() {}\n";
        let code = Code::read(source);
        assert_eq!(code.bare.len(), source.len());
        assert_eq!(code.bare.matches(['{', '}']).collect::<String>(), "{}");
        assert!(code.with_strings.contains("x // {") && !code.with_strings.contains("// b"));
        assert!(!code.bare.contains("// b") && code.bare.contains("fn d<'a>()"));
    }

    #[test]
    fn a_block_ends_where_its_brace_closes() {
        let bare = "fn a() { if b { c } } fn d();";
        assert_eq!(block_end(bare, 0), Some(21));
        assert_eq!(block_end(bare, 21), None);
    }

    #[test]
    fn what_stands_below_the_tests_is_not_read() {
        let code = Code::read("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }").before_tests();
        assert!(code.bare.contains("fn a") && !code.bare.contains("fn b"));
    }
}
