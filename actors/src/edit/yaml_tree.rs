//! A YAML document as a tree of what stands where, in bytes.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Number, Value};

use super::{
    EditError,
    layout::{before_line_end, line_start},
    not_parsed,
};

/// How deep a document may be nested; what hosts keep is not.
const DEEPEST: usize = 128;

/// A document.
#[derive(Debug, Default)]
pub struct Document {
    /// What it holds; none when it is empty.
    pub root: Option<Node>,
    /// Behind the `---` with which it begins, if it does.
    pub begin: Option<usize>,
}

/// Something in a document.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// The column of its first byte in characters, from 0.
    pub column: usize,
    /// Behind the bracket that opens it, where it stands between brackets of its own.
    pub open: Option<usize>,
    /// Whether it has an anchor or a tag.
    pub is_anchored: bool,
}

/// What a node is.
#[derive(Debug)]
pub enum Kind {
    /// A text, number, truth value or nothing.
    Scalar {
        /// What it says.
        text: String,
        /// Whether it has neither quotes nor a tag, so that it may be something else than a text.
        is_plain: bool,
        /// Whether it stands in lines of its own.
        is_block: bool,
    },
    /// Pairs in order.
    Mapping(Vec<(Node, Node)>),
    /// Items in order.
    Sequence(Vec<Node>),
    /// What stands for something else.
    Alias,
}

impl Node {
    /// Whether nothing is written there.
    pub fn is_vacant(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, is_plain: true, .. } if text.is_empty()) && !self.is_anchored
    }

    /// Whether it stands between brackets of its own.
    pub fn is_flow(&self) -> bool {
        self.open.is_some()
    }

    /// The column of its dash, for an item that stands first in its line.
    pub fn dash(&self, text: &str) -> Option<usize> {
        let before = &text[line_start(text, self.start)..self.start];
        let spaces = before.len() - before.trim_start_matches(' ').len();
        let is_dash = before[spaces..].strip_prefix('-').is_some_and(|rest| rest.trim_matches([' ', '\t']).is_empty());
        is_dash.then_some(spaces)
    }

    /// It as a key.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Scalar { text, .. } => text.clone(),
            _ => self.value().to_string(),
        }
    }

    /// Its value. An alias is a text that no text of a document equals.
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar { text, is_plain: true, .. } => plain_value(text),
            Kind::Scalar { text, .. } => Value::String(text.clone()),
            Kind::Mapping(pairs) => Value::Object(pairs.iter().map(|(key, value)| (key.name(), value.value())).collect::<Map<_, _>>()),
            Kind::Sequence(items) => items.iter().map(Self::value).collect(),
            Kind::Alias => Value::String("\u{0}alias".to_owned()),
        }
    }

    fn visit(&self, look: &mut impl FnMut(&Self)) {
        look(self);
        match &self.kind {
            Kind::Mapping(pairs) => pairs.iter().for_each(|(key, value)| {
                key.visit(look);
                value.visit(look);
            }),
            Kind::Sequence(items) => items.iter().for_each(|item| item.visit(look)),
            Kind::Scalar { .. } | Kind::Alias => {}
        }
    }
}

fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let is_number = text.trim_start_matches(['-', '+']).starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
    let number = whole.or_else(|| is_number.then(|| text.parse().ok()).flatten().and_then(Number::from_f64));
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

impl Document {
    /// The columns by which a mapping in a mapping is set in; 2 where there is none.
    pub fn unit(&self) -> usize {
        let column = |inner: &Node| if let Kind::Mapping(pairs) = &inner.kind { Some(pairs.first()?.0.column) } else { None };
        self.first_step(column).filter(|step| *step > 0).unwrap_or(2)
    }

    /// The columns by which a list in a mapping is set in, which may be none; 2 where there is none.
    pub fn list_indentation(&self, text: &str) -> usize {
        let column = |inner: &Node| if let Kind::Sequence(items) = &inner.kind { items.first()?.dash(text) } else { None };
        self.first_step(column).unwrap_or(2)
    }

    fn first_step(&self, column: impl Fn(&Node) -> Option<usize>) -> Option<usize> {
        let mut found = None;
        let mut look = |node: &Node| {
            let Kind::Mapping(pairs) = &node.kind else { return };
            for (key, value) in pairs.iter().filter(|(_, value)| !value.is_flow()) {
                found = found.or_else(|| column(value)?.checked_sub(key.column));
            }
        };
        if let Some(root) = &self.root {
            root.visit(&mut look);
        }
        found
    }
}

/// Reads a document.
///
/// # Errors
/// It is no YAML, or more than one document.
pub fn parse(text: &str) -> Result<Document, EditError> {
    if let Some(at) = lone_return(text) {
        return Err(not_parsed(text, at, "a carriage return stands without a line feed"));
    }
    let places = Places::of(text);
    let failed = |error: ScanError| not_parsed(text, places.byte(*error.marker()), error.info());
    let mut building = Building { text, places: &places, document: Document::default(), open: Vec::new(), has_begun: false };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(failed)?;
        building.take_in(event, span)?;
    }
    Ok(building.document)
}

fn lone_return(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().position(|(at, byte)| *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
}

/// Where each character begins; none when each is one byte.
struct Places {
    starts: Option<Vec<usize>>,
    length: usize,
}

impl Places {
    fn of(text: &str) -> Self {
        let starts = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self { starts, length: text.len() }
    }

    fn byte(&self, marker: Marker) -> usize {
        match &self.starts {
            None => marker.index().min(self.length),
            Some(starts) => starts.get(marker.index()).copied().unwrap_or(self.length),
        }
    }
}

struct Building<'a> {
    text: &'a str,
    places: &'a Places,
    document: Document,
    /// Containers that are not closed, each with a key that waits for its value.
    open: Vec<(Node, Option<Node>)>,
    has_begun: bool,
}

impl Building<'_> {
    fn take_in(&mut self, event: Event<'_>, span: saphyr_parser::Span) -> Result<(), EditError> {
        let (start, end) = (self.places.byte(span.start), self.places.byte(span.end));
        // The span of a bracket takes the white space behind it in.
        let end_of_words = start + self.text[start..end].trim_end().len();
        let open = self.text[start..end_of_words].ends_with(['{', '[']).then_some(end_of_words);
        let node = |kind, is_anchored| Node { kind, start, end, column: span.start.col(), open, is_anchored };
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) if self.has_begun => {
                return Err(not_parsed(self.text, start, "a second document begins here"));
            }
            Event::DocumentStart(is_explicit) => {
                self.has_begun = true;
                self.document.begin = is_explicit.then_some(end);
            }
            Event::Alias(_) => self.add(Node { open: None, ..node(Kind::Alias, false) }),
            Event::Scalar(text, style, anchor, tag) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let end = match () {
                    () if is_block => self.block_end(&text, end),
                    () if text.is_empty() && is_plain && anchor == 0 => start,
                    () => end,
                };
                let kind = Kind::Scalar { text: text.into_owned(), is_plain, is_block };
                self.add(Node { open: None, end, ..node(kind, anchor > 0 || tag.is_some()) });
            }
            Event::SequenceStart(anchor, tag) => self.open(node(Kind::Sequence(Vec::new()), anchor > 0 || tag.is_some()))?,
            Event::MappingStart(anchor, tag) => self.open(node(Kind::Mapping(Vec::new()), anchor > 0 || tag.is_some()))?,
            Event::SequenceEnd | Event::MappingEnd => self.close(end_of_words),
        }
        Ok(())
    }

    /// Where the last line of a block scalar ends. Blank lines behind it are its own only where it kept them.
    fn block_end(&self, says: &str, end: usize) -> usize {
        let kept = says.ends_with("\n\n").then(|| before_line_end(self.text, end)).flatten();
        kept.unwrap_or_else(|| self.text[..end].trim_end().len())
    }

    fn open(&mut self, node: Node) -> Result<(), EditError> {
        if self.open.len() >= DEEPEST {
            return Err(not_parsed(self.text, node.start, "it is nested too deep"));
        }
        self.open.push((node, None));
        Ok(())
    }

    fn close(&mut self, end: usize) {
        let Some((mut node, _)) = self.open.pop() else { return };
        let last = match &node.kind {
            Kind::Mapping(pairs) => pairs.last().map(|(key, value)| if value.is_vacant() { key.end } else { value.end }),
            Kind::Sequence(items) => items.last().map(|item| item.end),
            Kind::Scalar { .. } | Kind::Alias => None,
        };
        node.end = if node.is_flow() { end } else { last.unwrap_or(node.start) };
        self.add(node);
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.document.root = Some(node),
            Some((Node { kind: Kind::Sequence(items), .. }, _)) => items.push(node),
            Some((Node { kind: Kind::Mapping(pairs), .. }, key)) => match key.take() {
                None => *key = Some(node),
                Some(key) => pairs.push((key, node)),
            },
            Some(_) => {}
        }
    }
}
