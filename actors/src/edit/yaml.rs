//! YAML, one document. What is put is a run of whole lines behind the last one of its mapping or list, or a member between
//! flow brackets. It follows no reference: what an alias stands for is not looked into.

use serde_json::Value;

use super::{
    EditError, Put, Span, Step,
    brackets::{Brackets, Comments, Style},
    layout::{before_line_end, line_end, line_start, line_stop},
    missing, other_shape,
    splice::{Splice, spliced},
    words,
    yaml_tree::{Document, Kind, Node, parse},
    yaml_write::Writer,
};

/// What stands at a path.
pub fn read(text: &str, at: &[Step]) -> Result<Option<Value>, EditError> {
    let document = parse(text)?;
    Ok(walked(&document, at)?.found.map(Node::value))
}

/// The text with a value at a path.
pub fn put(text: Option<&str>, at: &[Step], value: &Value) -> Result<Put, EditError> {
    let source = text.unwrap_or_default();
    let document = parse(source)?;
    let way = walked(&document, at)?;
    let writer = Writer { line_end: line_end(source), unit: document.unit(source), list_indentation: document.list_indentation() };
    if let (Some(found), Some(spot)) = (way.found, way.spots.last()) {
        let splice = replacing(source, found, spot, &writer, value).ok_or_else(|| inexact(at))?;
        return Ok(Put { text: spliced(source, &[splice]), made: 0 });
    }
    let depth = way.spots.len() - 1;
    let (step, inner) = missing(at, depth, value)?;
    let splices = adding(source, &way.spots[depth], step, &inner, &writer).ok_or_else(|| inexact(at))?;
    Ok(Put { text: spliced(source, &splices), made: at.len() - depth - 1 + usize::from(text.is_none()) })
}

/// The text without what stands at a path; none when a document that was made has nothing else.
pub fn take(text: &str, at: &[Step], mut made: usize) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    let mut way = walked(&document, at)?;
    if way.found.is_none() {
        return Ok(Some(text.to_owned()));
    }
    while made > 0 && way.spots.len() > 1 && way.spots.last().is_some_and(|spot| spot.holds_only_member(text)) {
        made -= 1;
        way.spots.pop();
    }
    let spot = way.spots.last().ok_or_else(|| inexact(at))?;
    let member = spot.member.ok_or_else(|| inexact(at))?;
    let splices = match spot.node.filter(|node| node.is_flow) {
        Some(node) => brackets(text, node).without(text, member),
        None => vec![Splice::cut(lines_of(text, spot, member).ok_or_else(|| inexact(at))?)],
    };
    let rest = spliced(text, &splices);
    let is_gone = made > 0 && way.spots.len() == 1 && rest.trim().is_empty();
    Ok((!is_gone).then_some(rest))
}

fn inexact(at: &[Step]) -> EditError {
    EditError::Inexact { at: words(at) }
}

/// A container on a way, or a place where one could be.
#[derive(Clone, Copy)]
struct Spot<'a> {
    /// The container; none where nothing stands yet.
    node: Option<&'a Node>,
    /// The key whose value it is, and that key's column.
    key: Option<&'a Node>,
    /// Where its document begins in words, behind `---`.
    begin: Option<usize>,
    in_flow: bool,
    /// The member that the way goes on with.
    member: Option<usize>,
}

struct Way<'a> {
    spots: Vec<Spot<'a>>,
    found: Option<&'a Node>,
}

fn walked<'a>(document: &'a Document, at: &[Step]) -> Result<Way<'a>, EditError> {
    let root = document.root.as_ref();
    let mut way = Way { spots: Vec::new(), found: root };
    let mut spot = Spot { node: root, key: None, begin: document.begin, in_flow: false, member: None };
    for (depth, step) in at.iter().enumerate() {
        if depth > 0 && way.found.is_none() {
            break;
        }
        let wanted = if matches!(step, Step::Key(_)) { "an object" } else { "a list" };
        spot.node = way.found.filter(|node| !node.is_vacant());
        let next = match (step, spot.node.map(|node| &node.kind)) {
            (_, None) => None,
            (Step::Key(key), Some(Kind::Mapping(entries))) => {
                spot.member = entries.iter().rposition(|(name, _)| name.name() == *key);
                spot.member.map(|member| (Some(&entries[member].0), &entries[member].1))
            }
            (Step::Item(wanted), Some(Kind::Sequence(items))) => {
                spot.member = items.iter().position(|item| wanted.holds_for(&item.value()));
                spot.member.map(|member| (None, &items[member]))
            }
            _ => return Err(other_shape(&at[..depth], wanted)),
        };
        way.spots.push(spot);
        way.found = next.map(|(_, node)| node);
        let in_flow = spot.in_flow || spot.node.is_some_and(|node| node.is_flow);
        spot = Spot { node: None, key: next.and_then(|(key, _)| key), begin: None, in_flow, member: None };
    }
    Ok(way)
}

impl Spot<'_> {
    /// Whether the container has one member, and nothing but white space between its key and that member.
    fn holds_only_member(&self, text: &str) -> bool {
        let (Some(node), Some(member)) = (self.node, self.member) else { return false };
        if node.is_flow {
            let around = self.key.map_or("", |key| &text[key.end..node.start]);
            return around.trim() == ":" && brackets(text, node).holds_only(text, member);
        }
        let start = match &node.kind {
            Kind::Mapping(entries) if entries.len() == 1 => entries[0].0.start,
            Kind::Sequence(items) if items.len() == 1 => line_start(text, items[0].start),
            _ => return false,
        };
        self.key.and_then(|key| text.get(key.end..start)).is_some_and(|between| between.trim() == ":")
    }
}

fn adding(text: &str, spot: &Spot<'_>, step: &Step, inner: &Value, writer: &Writer<'_>) -> Option<Vec<Splice>> {
    let member = |column: usize| match step {
        Step::Key(key) => writer.entry(key, inner, column),
        Step::Item(_) => writer.item(inner, column),
    };
    let behind = |end: usize, column: usize| {
        let line = format!("{}{}{}", writer.line_end, " ".repeat(column), member(column));
        Some(vec![Splice::insert(line_stop(text, end), line)])
    };
    match (spot.node, spot.key) {
        (Some(node), _) if node.is_flow => {
            let style = Style { line_end: writer.line_end, unit: "  ", space: " ", may_spread: false };
            let member = match step {
                Step::Key(key) => format!("{}: {}", writer.flow_key(key), writer.flow(inner)),
                Step::Item(_) => writer.flow(inner),
            };
            Some(brackets(text, node).room(text, style).filled(&member))
        }
        _ if spot.in_flow => None,
        (Some(node), _) => {
            let column = match &node.kind {
                Kind::Mapping(entries) => entries.first()?.0.column,
                Kind::Sequence(items) => dash(text, items.first()?)?,
                Kind::Scalar { .. } | Kind::Alias => return None,
            };
            behind(node.end, column)
        }
        (None, Some(key)) => {
            let deeper = if matches!(step, Step::Item(_)) { writer.list_indentation } else { writer.unit };
            let has_more = text[key.end..line_stop(text, key.end)].trim_start().strip_prefix(':')?.trim_start();
            (has_more.is_empty() || has_more.starts_with('#')).then(|| behind(key.end, key.column + deeper))?
        }
        (None, None) => Some(vec![match spot.begin {
            Some(begin) => Splice::insert(line_stop(text, begin), format!("{}{}", writer.line_end, member(0))),
            None if text.is_empty() => Splice::insert(0, format!("{}{}", member(0), writer.line_end)),
            None => Splice::insert(before_line_end(text, text.len()).unwrap_or(text.len()), format!("{}{}", writer.line_end, member(0))),
        }]),
    }
}

/// The column of the dash of an item that stands first in its line.
fn dash(text: &str, item: &Node) -> Option<usize> {
    let before = &text[line_start(text, item.start)..item.start];
    let spaces = before.len() - before.trim_start_matches(' ').len();
    let is_dash = before[spaces..].strip_prefix('-').is_some_and(|rest| rest.trim_matches([' ', '\t']).is_empty());
    is_dash.then_some(spaces)
}

/// The lines of a member of a block, with the line end before them.
fn lines_of(text: &str, spot: &Spot<'_>, member: usize) -> Option<Span> {
    let (start, end) = match &spot.node?.kind {
        Kind::Mapping(entries) => {
            let (key, value) = &entries[member];
            let start = line_start(text, key.start);
            (text[start..key.start].trim_matches(' ').is_empty().then_some(start)?, key.end.max(value.end))
        }
        Kind::Sequence(items) => (dash(text, &items[member]).map(|_| line_start(text, items[member].start))?, items[member].end),
        Kind::Scalar { .. } | Kind::Alias => return None,
    };
    let stop = line_stop(text, end);
    match before_line_end(text, start) {
        Some(before) => Some(before..stop),
        None => Some(start..stop + line_end_length(&text[stop..])),
    }
}

fn line_end_length(rest: &str) -> usize {
    if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) }
}

/// Another value in the place of one: in its own lines where it has any, else where it stands.
fn replacing(text: &str, found: &Node, spot: &Spot<'_>, writer: &Writer<'_>, value: &Value) -> Option<Splice> {
    let in_flow = spot.in_flow || spot.node.is_some_and(|node| node.is_flow);
    if found.is_vacant() || found.is_anchored {
        return None;
    }
    if in_flow || found.is_flow || matches!(found.kind, Kind::Scalar { is_block: false, .. }) {
        return Some(Splice::replace(found.start..found.end, writer.flow(value)));
    }
    match (&spot.node?.kind, spot.member?) {
        (Kind::Mapping(entries), member) => {
            let key = &entries[member].0;
            Some(Splice::replace(key.end..found.end, writer.value_behind_key(value, key.column)))
        }
        (Kind::Sequence(_), _) => {
            let column = dash(text, found)?;
            Some(Splice::replace(line_start(text, found.start) + column..found.end, writer.item(value, column)))
        }
        (Kind::Scalar { .. } | Kind::Alias, _) => None,
    }
}

fn brackets(text: &str, node: &Node) -> Brackets {
    let members = match &node.kind {
        Kind::Mapping(entries) => entries.iter().map(|(key, value)| key.start..pair_end(text, key, value)).collect(),
        Kind::Sequence(items) => items.iter().map(|item| item.start..item.end).collect(),
        Kind::Scalar { .. } | Kind::Alias => Vec::new(),
    };
    Brackets { open: node.start + 1, close: node.end - 1, members, comments: Comments::Hash }
}

/// Where a pair between flow brackets ends; its colon belongs to it when no value follows.
fn pair_end(text: &str, key: &Node, value: &Node) -> usize {
    if !value.is_vacant() {
        return value.end;
    }
    let rest = &text[key.end..];
    let colon = rest.trim_start();
    if colon.starts_with(':') { key.end + rest.len() - colon.len() + 1 } else { key.end }
}
