//! A TOML document as what stands where: its values, its headers and the lines between them, in bytes.

use serde_json::{Map, Number, Value};
use toml_edit::{ArrayOfTables, Document, InlineTable, Item, Table};

use super::{
    EditError, Span, Step,
    brackets::{Brackets, Comments},
    layout::{before_line_end, line_end_length, line_start, line_stop},
    not_parsed, other_shape,
    splice::Splice,
};

/// Reads a document.
///
/// # Errors
/// It is no TOML.
pub fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| not_parsed(text, error.span().map_or(0, |span| span.start), error.message()))
}

/// A part of a document that something can stand in.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// A table of sections or of lines.
    Table(&'a Table),
    /// A list of sections.
    Tables(&'a ArrayOfTables),
    /// What stands behind an equals sign.
    Value(&'a toml_edit::Value),
}

impl<'a> Node<'a> {
    fn of(item: &'a Item) -> Option<Self> {
        match item {
            Item::None => None,
            Item::Value(value) => Some(Self::Value(value)),
            Item::Table(table) => Some(Self::Table(table)),
            Item::ArrayOfTables(tables) => Some(Self::Tables(tables)),
        }
    }

    /// Its value.
    pub fn value(self) -> Value {
        match self {
            Self::Table(table) => table_value(table),
            Self::Tables(tables) => tables.iter().map(table_value).collect(),
            Self::Value(value) => inline_value(value),
        }
    }

    /// The member that a step leads to, and its place; none when the step does not fit.
    fn member(self, step: &Step) -> Option<Option<(usize, Self)>> {
        let keyed = |keys: &mut dyn Iterator<Item = (&'a str, &'a Item)>, wanted: &str| {
            keys.enumerate().find_map(|(place, (key, item))| (key == wanted).then(|| Some((place, Self::of(item)?))).flatten())
        };
        match (step, self) {
            (Step::Key(key), Self::Table(table)) => Some(keyed(&mut table.iter(), key)),
            (Step::Key(key), Self::Value(toml_edit::Value::InlineTable(table))) => {
                Some(table.iter().enumerate().find_map(|(place, (name, value))| (name == key).then_some((place, Self::Value(value)))))
            }
            (Step::Item(wanted), Self::Tables(tables)) => Some(
                tables.iter().enumerate().find(|(_, it)| wanted.holds_for(&table_value(it))).map(|(place, it)| (place, Self::Table(it))),
            ),
            (Step::Item(wanted), Self::Value(toml_edit::Value::Array(list))) => Some(
                list.iter().enumerate().find(|(_, it)| wanted.holds_for(&inline_value(it))).map(|(place, it)| (place, Self::Value(it))),
            ),
            _ => None,
        }
    }
}

fn table_value(table: &Table) -> Value {
    let members = table.iter().filter_map(|(key, item)| Some((key.to_owned(), Node::of(item)?.value())));
    Value::Object(members.collect::<Map<_, _>>())
}

fn inline_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or_else(|| Value::String(number.value().to_string()), Value::Number)
        }
        toml_edit::Value::Boolean(it) => Value::Bool(*it.value()),
        toml_edit::Value::Datetime(moment) => Value::String(moment.value().to_string()),
        toml_edit::Value::Array(list) => list.iter().map(inline_value).collect(),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), inline_value(value))).collect::<Map<_, _>>())
        }
    }
}

/// A step of a way that was gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// To the value of a key.
    Key(String),
    /// To the element at this place.
    Place(usize),
}

/// The containers on a way, each with the place of the member that the way goes on with, and what the way leads to.
pub struct Way<'a> {
    /// The containers.
    pub containers: Vec<(Node<'a>, Option<usize>)>,
    /// The steps that led to something.
    pub path: Vec<Part>,
    /// What the way leads to.
    pub found: Option<Node<'a>>,
}

/// Goes the steps as far as they lead to something.
///
/// # Errors
/// A step meets a value of another shape.
pub fn walked<'a>(root: &'a Table, at: &[Step]) -> Result<Way<'a>, EditError> {
    let mut way = Way { containers: Vec::new(), path: Vec::new(), found: Some(Node::Table(root)) };
    for (depth, step) in at.iter().enumerate() {
        let Some(container) = way.found else { break };
        let wanted = if matches!(step, Step::Key(_)) { "an object" } else { "a list" };
        let member = container.member(step).ok_or_else(|| other_shape(&at[..depth], wanted))?;
        way.containers.push((container, member.map(|(place, _)| place)));
        way.path.extend(member.map(|(place, _)| match step {
            Step::Key(key) => Part::Key(key.clone()),
            Step::Item(_) => Part::Place(place),
        }));
        way.found = member.map(|(_, node)| node);
    }
    Ok(way)
}

impl Way<'_> {
    /// Whether the last container holds nothing else than what the way leads to, and would be gone whole with it.
    pub fn last_is_alone(&self, text: &str, statements: &[Statement]) -> bool {
        match self.containers.last() {
            Some((Node::Value(list), Some(member))) => brackets(list).is_some_and(|list| list.holds_only(text, *member)),
            Some((Node::Tables(tables), _)) => tables.len() == 1,
            Some((Node::Table(table), _)) => {
                let own = &self.path[..self.path.len() - 1];
                let header = statements.iter().find(|it| it.is_header && it.path == own);
                let first = statements.iter().find(|it| it.path.starts_with(&self.path)).map_or(0, |it| it.start);
                let is_plain = |header: &Statement| text.get(header.code_end..first).is_none_or(|between| between.trim().is_empty());
                table.len() == 1 && header.is_none_or(is_plain)
            }
            _ => false,
        }
    }
}

/// A header or a line with a key, which is all that a document consists of beside comments.
#[derive(Debug)]
pub struct Statement {
    /// Whether it is a header.
    pub is_header: bool,
    /// The path of what it says something of.
    pub path: Vec<Part>,
    /// The path of the header above it; its own for a header.
    pub section: Vec<Part>,
    /// Where its first line begins.
    pub start: usize,
    /// Where it ends, before a comment behind it.
    pub code_end: usize,
    /// Where its last line ends, before the line end.
    pub stop: usize,
}

/// A document's statements in the order in which they stand.
pub fn statements(text: &str, root: &Table) -> Vec<Statement> {
    let mut found = Vec::new();
    collect(text, root, &[], &[], &mut found);
    found.sort_by_key(|statement| statement.start);
    found
}

fn collect(text: &str, table: &Table, path: &[Part], section: &[Part], found: &mut Vec<Statement>) {
    let statement = |is_header, path: &[Part], section: &[Part], start, end| Statement {
        is_header,
        path: path.to_vec(),
        section: section.to_vec(),
        start: line_start(text, start),
        code_end: end,
        stop: line_stop(text, end),
    };
    for (key, item) in table {
        let path = [path, &[Part::Key(key.to_owned())]].concat();
        match item {
            Item::None => {}
            Item::Value(value) => {
                let key = table.key(key).and_then(toml_edit::Key::span);
                if let (Some(key), Some(value)) = (key, value.span()) {
                    found.push(statement(false, &path, section, key.start, value.end));
                }
            }
            Item::Table(inner) if inner.is_dotted() => collect(text, inner, &path, section, found),
            Item::Table(inner) => {
                let header = inner.span().filter(|_| !inner.is_implicit());
                found.extend(header.map(|span| statement(true, &path, &path, span.start, span.end)));
                collect(text, inner, &path, &path, found);
            }
            Item::ArrayOfTables(tables) => {
                for (place, inner) in tables.iter().enumerate() {
                    let path = [&path[..], &[Part::Place(place)]].concat();
                    found.extend(inner.span().map(|span| statement(true, &path, &path, span.start, span.end)));
                    collect(text, inner, &path, &path, found);
                }
            }
        }
    }
}

/// Everything that says something below a path, with the line ends that set it off.
pub fn pieces(text: &str, statements: &[Statement], path: &[Part]) -> Vec<Span> {
    let mut pieces: Vec<Span> = Vec::new();
    for own in statements.iter().filter(|it| it.path.starts_with(path)) {
        match pieces.last_mut() {
            Some(last) if !own.is_header && own.section.starts_with(path) => last.end = own.stop,
            _ => pieces.push(set_off(text, own)),
        }
    }
    pieces
}

/// The same as what is cut out: with the line ends behind it where nothing stands before it.
pub fn cuts(text: &str, mut pieces: Vec<Span>) -> Vec<Splice> {
    for piece in pieces.iter_mut().filter(|piece| piece.start == 0 && !text.starts_with(['\r', '\n'])) {
        piece.end += line_end_length(&text[piece.end..]);
    }
    pieces.into_iter().map(Splice::cut).collect()
}

fn set_off(text: &str, statement: &Statement) -> Span {
    let line = before_line_end(text, statement.start).unwrap_or(statement.start);
    let start = if statement.is_header { before_line_end(text, line).unwrap_or(line) } else { line };
    start..statement.stop
}

/// The brackets of an inline table or array; none where keys with dots hide which member is which.
pub fn brackets(value: &toml_edit::Value) -> Option<Brackets> {
    let span = value.span()?;
    let members = match value {
        toml_edit::Value::Array(list) => list.iter().map(toml_edit::Value::span).collect::<Option<_>>()?,
        toml_edit::Value::InlineTable(table) => inline_members(table)?,
        _ => return None,
    };
    Some(Brackets { open: span.start + 1, close: span.end - 1, members, comments: Comments::Hash })
}

fn inline_members(table: &InlineTable) -> Option<Vec<Span>> {
    let is_dotted = |value: &toml_edit::Value| value.as_inline_table().is_some_and(InlineTable::is_dotted);
    table.iter().map(|(name, value)| (!is_dotted(value)).then_some(table.key(name)?.span()?.start..value.span()?.end)).collect()
}
