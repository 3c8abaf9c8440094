//! How a text is laid out: its line ends, its indentation. What is put into it follows.

/// The line end that most lines have.
pub fn line_end(text: &str) -> &'static str {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let windows = text.matches("\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// One level of indentation: that of the first line that has any.
pub fn unit(text: &str) -> &str {
    let indented = text.lines().map(indentation).zip(text.lines()).find(|(space, line)| !space.is_empty() && has_code(line));
    match indented {
        Some((space, _)) if space.starts_with('\t') => "\t",
        Some((space, _)) => space,
        None => "  ",
    }
}

/// Whether a line has something that is laid out; the second line of a comment often is set under its first.
fn has_code(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with(['*', '/', '#'])
}

/// The white space with which a line begins.
pub fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Where the line of a byte begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line of a byte ends, before its line end.
pub fn line_stop(text: &str, at: usize) -> usize {
    let stop = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if stop < text.len() && text[at..stop].ends_with('\r') { stop - 1 } else { stop }
}

/// Where a line end that ends at a byte begins; none when none does.
pub fn before_line_end(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].strip_suffix('\n')?;
    Some(before.strip_suffix('\r').unwrap_or(before).len())
}

/// The length of the line end with which a text begins; 0 when it begins with none.
pub fn line_end_length(rest: &str) -> usize {
    if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_line_ends_and_its_indentation() {
        assert_eq!((line_end("a\r\nb\r\nc\n"), line_end("a\nb\r\n"), line_end("")), ("\r\n", "\n", "\n"));
        assert_eq!(
            (unit("{\n\t\t\"a\""), unit("{\n    \"a\""), unit("/*\n * a\n */\n{\n   \"a\""), unit("{}")),
            ("\t", "    ", "   ", "  ")
        );
    }

    #[test]
    fn lines_are_found_with_either_end() {
        let text = "ab\r\ncd\n";
        assert_eq!((line_start(text, 5), line_stop(text, 4), line_stop(text, 0)), (4, 6, 2));
        assert_eq!((before_line_end(text, 4), before_line_end(text, 7), before_line_end(text, 3)), (Some(2), Some(6), None));
        assert_eq!((line_end_length("\r\n"), line_end_length("\n\n"), line_end_length("\r"), line_end_length("")), (2, 1, 0, 0));
    }
}
