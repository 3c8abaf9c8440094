//! Members put into a bracketed list and taken out of it: objects and arrays of JSON, inline tables and arrays of TOML, flow
//! collections of YAML.
//!
//! What stands before a new member tells what it was put into, so that taking it out needs nothing but the text:
//! into an empty list without anything between its brackets it goes with one line end before it, into one that had white
//! space it goes with two line ends or with a space. It never touches a comment.

use super::{
    Span,
    layout::{before_line_end, indentation, line_start},
    splice::Splice,
};

/// How comments look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    /// `// to the end of the line` and `/* between */`.
    Slashes,
    /// `# to the end of the line`.
    Hash,
}

/// A bracketed list in a text.
#[derive(Debug, Clone)]
pub struct Brackets {
    /// Behind its opening bracket.
    pub open: usize,
    /// Before its closing bracket.
    pub close: usize,
    /// Its members in order.
    pub members: Vec<Span>,
    /// How comments in it look.
    pub comments: Comments,
}

/// How members of a list are laid out.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// The line end.
    pub line_end: &'a str,
    /// One level of indentation.
    pub unit: &'a str,
    /// What stands between members in one line.
    pub space: &'a str,
    /// Whether an empty list may be spread over lines.
    pub may_spread: bool,
}

/// Where a new member goes.
#[derive(Debug)]
pub struct Room {
    /// A comma that the member before needs.
    comma: Option<usize>,
    at: usize,
    before: String,
    after: String,
    /// The new member's indentation; none when it goes into a line.
    pub indentation: Option<String>,
    /// Whether members of this list end with a comma, also the last.
    pub has_last_comma: bool,
}

impl Room {
    /// The changes that put a member there.
    pub fn filled(self, member: &str) -> Vec<Splice> {
        let comma = if self.has_last_comma { "," } else { "" };
        let member = Splice::insert(self.at, format!("{}{member}{comma}{}", self.before, self.after));
        self.comma.map(|at| Splice::insert(at, ",")).into_iter().chain([member]).collect()
    }
}

impl Brackets {
    /// Where a new last member goes.
    pub fn room(&self, text: &str, style: Style<'_>) -> Room {
        match self.members.last() {
            Some(last) => self.room_behind(text, last, style),
            None => self.room_in_empty(text, style),
        }
    }

    fn room_behind(&self, text: &str, last: &Span, style: Style<'_>) -> Room {
        let tokens = self.tokens(text, last.end, self.close);
        let comma = tokens.iter().find(|token| token.kind == Kind::Comma);
        let mut at = comma.map_or(last.end, |comma| comma.span.end);
        let mut in_line_comment = false;
        for comment in tokens.iter().filter(|token| token.kind != Kind::Comma) {
            if comment.span.start >= at && !text[at..comment.span.start].contains(['\n', '\r']) {
                (at, in_line_comment) = (comment.span.end, comment.kind == Kind::LineComment);
            }
        }
        let before_last = &text[self.previous_end(text, self.members.len() - 1)..last.start];
        let spread = before_last.contains('\n') || in_line_comment;
        let indentation = spread.then(|| self.indentation(text, Some(last.start), style));
        let has_space = self.members.len() > 1 && before_last.trim().is_empty();
        let space = if has_space { before_last } else { style.space };
        let before = indentation.as_ref().map_or_else(|| space.to_owned(), |indentation| format!("{}{indentation}", style.line_end));
        Room { comma: comma.is_none().then_some(last.end), at, before, after: String::new(), indentation, has_last_comma: comma.is_some() }
    }

    fn room_in_empty(&self, text: &str, style: Style<'_>) -> Room {
        let inside = &text[self.open..self.close];
        let comment = self.tokens(text, self.open, self.close).pop();
        let outer = indentation(&text[line_start(text, self.open)..self.open]).to_owned();
        let spread = if inside.is_empty() { style.may_spread } else { inside.contains(['\n', '\r']) };
        let lines = match &comment {
            None if !inside.is_empty() => 2,
            _ => 1,
        };
        let member = self.indentation(text, comment.as_ref().map(|comment| comment.span.start), style);
        let (before, after) = if spread {
            let after = if inside.is_empty() { format!("{}{outer}", style.line_end) } else { String::new() };
            (format!("{}{member}", style.line_end.repeat(lines)), after)
        } else {
            (if inside.is_empty() { String::new() } else { " ".to_owned() }, String::new())
        };
        Room {
            comma: None,
            at: comment.map_or(self.open, |comment| comment.span.end),
            before,
            after,
            indentation: spread.then_some(member),
            has_last_comma: false,
        }
    }

    /// The indentation of something in the list that stands first in its line, else one level more than the list's line.
    fn indentation(&self, text: &str, beside: Option<usize>, style: Style<'_>) -> String {
        let own = beside.map(|at| &text[line_start(text, at)..at]).filter(|before| before.trim_matches([' ', '\t']).is_empty());
        let is_inside = beside.is_some_and(|at| line_start(text, at) >= self.open);
        match own.filter(|_| is_inside) {
            Some(own) => own.to_owned(),
            None => format!("{}{}", indentation(&text[line_start(text, self.open)..self.open]), style.unit),
        }
    }

    /// The changes that take a member out.
    pub fn without(&self, text: &str, member: usize) -> Vec<Splice> {
        let own = &self.members[member];
        let gap = self.previous_end(text, member)..own.start;
        let start = self.gap_start(text, gap.clone());
        let next = self.members.get(member + 1).map_or(self.close, |next| next.start);
        let behind = self.tokens(text, own.end, next);
        let comma = behind.iter().find(|token| token.kind == Kind::Comma).map(|comma| comma.span.clone());
        let mut splices = Vec::new();
        if comma.is_none() && member > 0 {
            let between = self.tokens(text, self.members[member - 1].end, own.start);
            let before = between.iter().find(|token| token.kind == Kind::Comma);
            splices.extend(before.map(|comma| Splice::cut(comma.span.clone())));
        }
        if splices.last().is_some_and(|before| before.cut.end == start) {
            splices.pop();
            splices.push(Splice::cut(start - 1..own.end));
        } else {
            splices.push(Splice::cut(start..own.end));
        }
        splices.extend(comma.map(Splice::cut));
        if let Some(rest) = self.made_by_put(text, gap, splices.last().map_or(own.end, |last| last.cut.end)) {
            splices.push(Splice::cut(rest));
        }
        splices
    }

    /// Where what a put writes before a member begins; white space that somebody else left before it stays.
    fn gap_start(&self, text: &str, gap: Span) -> usize {
        let is_first = gap.start == self.open;
        match before_line_end(text, line_start(text, gap.end)).filter(|start| *start >= gap.start) {
            Some(line) if is_first && self.members.len() == 1 => {
                before_line_end(text, line).filter(|start| *start >= gap.start).unwrap_or(line)
            }
            Some(line) => line,
            None if is_first => gap.end - usize::from(text[gap].ends_with(' ')),
            None => gap.start,
        }
    }

    /// The white space before the closing bracket, when what is taken out made it: an only member behind one line end.
    fn made_by_put(&self, text: &str, before: Span, end: usize) -> Option<Span> {
        let is_only = self.members.len() == 1 && before.start == self.open;
        let is_spread = text[before].bytes().filter(|byte| *byte == b'\n').count() == 1;
        (is_only && is_spread && text[end..self.close].trim().is_empty()).then_some(end..self.close)
    }

    /// Whether a list holds this member and nothing else, no comment either.
    pub fn holds_only(&self, text: &str, member: usize) -> bool {
        let own = &self.members[member];
        let around = [self.open..own.start, own.end..self.close];
        let has_comment =
            around.into_iter().any(|span| self.tokens(text, span.start, span.end).iter().any(|token| token.kind != Kind::Comma));
        self.members.len() == 1 && !has_comment
    }

    /// Where the last thing before a member ends: a bracket, a comma, a comment.
    fn previous_end(&self, text: &str, member: usize) -> usize {
        let from = if member == 0 { self.open } else { self.members[member - 1].end };
        self.tokens(text, from, self.members[member].start).last().map_or(from, |token| token.span.end)
    }

    fn tokens(&self, text: &str, from: usize, to: usize) -> Vec<Token> {
        tokens(text, from..to, self.comments)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comma,
    LineComment,
    BlockComment,
}

#[derive(Debug)]
struct Token {
    kind: Kind,
    span: Span,
}

/// Commas and comments in a piece of a text that has nothing else but white space.
fn tokens(text: &str, within: Span, comments: Comments) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), within.start);
    while at < within.end {
        let rest = &bytes[at..within.end];
        let token = match (comments, rest) {
            (_, [b',', ..]) => Some((Kind::Comma, 1)),
            (Comments::Slashes, [b'/', b'/', ..]) | (Comments::Hash, [b'#', ..]) => Some((Kind::LineComment, to_line_end(rest))),
            (Comments::Slashes, [b'/', b'*', ..]) => Some((Kind::BlockComment, to_comment_end(rest))),
            _ => None,
        };
        let length = token.map_or(1, |(_, length)| length);
        found.extend(token.map(|(kind, length)| Token { kind, span: at..at + length }));
        at += length;
    }
    found
}

fn to_line_end(rest: &[u8]) -> usize {
    rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
}

fn to_comment_end(rest: &[u8]) -> usize {
    rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4)
}

/// Whether a piece of a text has a comment.
pub fn has_comment(text: &str, within: Span, comments: Comments) -> bool {
    tokens(text, within, comments).iter().any(|token| token.kind != Kind::Comma)
}
