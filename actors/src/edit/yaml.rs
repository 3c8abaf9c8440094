//! YAML, one document. What is put is a run of whole lines behind the last one of its mapping or list, or a member between
//! flow brackets. It follows no reference: what an alias stands for is not looked into.

use serde_json::Value;

use super::{
    EditError, Put, Span, Step,
    brackets::{Brackets, Comments, Style},
    layout::{before_line_end, line_end, line_end_length, line_start, line_stop},
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
    let writer = Writer { line_end: line_end(source), unit: document.unit(), list_indentation: document.list_indentation(source) };
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
    let splices = match spot.node.filter(|node| node.is_flow()) {
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
        let in_flow = spot.in_flow || spot.node.is_some_and(|node| node.is_flow());
        spot = Spot { node: None, key: next.and_then(|(key, _)| key), begin: None, in_flow, member: None };
    }
    Ok(way)
}

impl Spot<'_> {
    /// Whether the container has one member, and nothing but white space between its key and that member.
    fn holds_only_member(&self, text: &str) -> bool {
        let (Some(node), Some(member)) = (self.node, self.member) else { return false };
        if node.is_flow() {
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
        (Some(node), _) if node.is_flow() => {
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
                Kind::Sequence(items) => items.first()?.dash(text)?,
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

/// The lines of a member of a block, with the line end before them.
fn lines_of(text: &str, spot: &Spot<'_>, member: usize) -> Option<Span> {
    let (start, end) = match &spot.node?.kind {
        Kind::Mapping(entries) => {
            let (key, value) = &entries[member];
            let start = line_start(text, key.start);
            (text[start..key.start].trim_matches(' ').is_empty().then_some(start)?, key.end.max(value.end))
        }
        Kind::Sequence(items) => (items[member].dash(text).map(|_| line_start(text, items[member].start))?, items[member].end),
        Kind::Scalar { .. } | Kind::Alias => return None,
    };
    let stop = line_stop(text, end);
    match before_line_end(text, start) {
        Some(before) => Some(before..stop),
        None => Some(start..stop + line_end_length(&text[stop..])),
    }
}

/// Another value in the place of one: in its own lines where it has any, else where it stands.
fn replacing(text: &str, found: &Node, spot: &Spot<'_>, writer: &Writer<'_>, value: &Value) -> Option<Splice> {
    let in_flow = spot.in_flow || spot.node.is_some_and(|node| node.is_flow());
    if found.is_vacant() || found.is_anchored {
        return None;
    }
    if in_flow || found.is_flow() || matches!(found.kind, Kind::Scalar { is_block: false, .. }) {
        return Some(Splice::replace(found.start..found.end, writer.flow(value)));
    }
    match (&spot.node?.kind, spot.member?) {
        (Kind::Mapping(entries), member) => {
            let key = &entries[member].0;
            Some(Splice::replace(key.end..found.end, writer.value_behind_key(value, key.column)))
        }
        (Kind::Sequence(_), _) => {
            let column = found.dash(text)?;
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
    Brackets { open: node.open.unwrap_or(node.start), close: node.end - 1, members, comments: Comments::Hash }
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

#[cfg(test)]
mod tests {
    use frith_store::hosts::Format::Yaml;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        super::{
            Match,
            proof::{self, element, keys},
            put, read, take,
        },
        *,
    };

    fn entry() -> Value {
        json!({"enabled": true, "name": "frith", "args": ["mcp", "--host"], "timeout": 300, "description": "", "envs": {}})
    }

    /// Puts the entry and looks that it comes back.
    fn with(text: &str, at: &[Step]) -> String {
        assert!(proof::check(Yaml, Some(text), at, &entry()), "{text} {:?}", put(Yaml, Some(text), at, &entry()));
        put(Yaml, Some(text), at, &entry()).unwrap().text
    }

    #[test]
    fn an_entry_of_a_mapping_follows_its_neighbours() {
        let at = keys(&["extensions", "frith"]);
        insta::assert_snapshot!(with("# mine\nextensions:\n    developer:\n        enabled: true # why\n    # the end\nz: 1\n", &at), @r#"
        # mine
        extensions:
            developer:
                enabled: true # why
            frith:
                enabled: true
                name: frith
                args:
                  - mcp
                  - --host
                timeout: 300
                description: ""
                envs: {}
            # the end
        z: 1
        "#);
        insta::assert_snapshot!(with("extensions: # none\nz:\n- a\n", &at), @r#"
        extensions: # none
          frith:
            enabled: true
            name: frith
            args:
            - mcp
            - --host
            timeout: 300
            description: ""
            envs: {}
        z:
        - a
        "#);
        insta::assert_snapshot!(with("extensions: {}\n", &at), @r#"extensions: {frith: {enabled: true, name: frith, args: [mcp, --host], timeout: 300, description: "", envs: {}}}"#);
        insta::assert_snapshot!(with("z: |\n  text\n\n# tail\n", &at), @r#"
        z: |
          text
        extensions:
          frith:
            enabled: true
            name: frith
            args:
              - mcp
              - --host
            timeout: 300
            description: ""
            envs: {}

        # tail
        "#);
    }

    #[test]
    fn an_element_of_a_list_follows_those_that_are_there() {
        let at = element(&["mcpServers"]);
        insta::assert_snapshot!(with("mcpServers:\n  - name: a\n    command: b\nz: 1\n", &at), @r#"
        mcpServers:
          - name: a
            command: b
          - enabled: true
            name: frith
            args:
              - mcp
              - --host
            timeout: 300
            description: ""
            envs: {}
        z: 1
        "#);
        insta::assert_snapshot!(with("mcpServers:\n- name: a\n", &at), @r#"
        mcpServers:
        - name: a
        - enabled: true
          name: frith
          args:
          - mcp
          - --host
          timeout: 300
          description: ""
          envs: {}
        "#);
        insta::assert_snapshot!(with("mcpServers: [{name: a}]", &at), @r#"mcpServers: [{name: a}, {enabled: true, name: frith, args: [mcp, --host], timeout: 300, description: "", envs: {}}]"#);
        insta::assert_snapshot!(with("models:\n- a\n", &at), @r#"
        models:
        - a
        mcpServers:
        - enabled: true
          name: frith
          args:
          - mcp
          - --host
          timeout: 300
          description: ""
          envs: {}
        "#);
    }

    #[test]
    fn a_document_without_anything_gets_the_entry_and_loses_it() {
        let at = keys(&["extensions", "frith"]);
        insta::assert_snapshot!(with("", &at), @r#"
        extensions:
          frith:
            enabled: true
            name: frith
            args:
              - mcp
              - --host
            timeout: 300
            description: ""
            envs: {}
        "#);
        assert!(with("# only\r\n", &at).starts_with("# only\r\nextensions:\r\n  frith:\r\n    enabled: true\r\n"));
        assert!(with("%YAML 1.2\n---\n# only\n", &at).starts_with("%YAML 1.2\n---\nextensions:\n"));
        assert!(with("---\n...\n", &at).ends_with("envs: {}\n...\n"));
        let put = put(Yaml, None, &at, &entry()).unwrap();
        assert_eq!((put.made, take(Yaml, Some(&put.text), &at, 2).unwrap()), (2, None));
    }

    #[test]
    fn a_container_that_somebody_else_uses_now_stays() {
        let at = keys(&["extensions", "frith"]);
        let put = put(Yaml, Some("a: 1\n"), &at, &json!(true)).unwrap();
        let used = format!("{}  other: 2\n", put.text);
        assert_eq!(take(Yaml, Some(&used), &at, put.made).unwrap().unwrap(), "a: 1\nextensions:\n  other: 2\n");
    }

    #[test]
    fn a_value_that_is_another_is_replaced_where_it_stands() {
        let text = "a:\n  frith:\n    old: 1 # gone\n\n  b: 2 # kept\nl:\n  - name: frith\n    x: |\n      y\n# kept\n";
        let new = json!({"name": "frith"});
        assert_eq!(put(Yaml, Some(text), &keys(&["a", "frith"]), &new).unwrap().text, text.replace("old: 1", "name: frith"));
        assert_eq!(put(Yaml, Some(text), &element(&["l"]), &new).unwrap().text, text.replace("\n    x: |\n      y", ""));
        assert_eq!(put(Yaml, Some(text), &keys(&["a", "b"]), &json!("y")).unwrap().text, text.replace("2", "\"y\""));
    }

    #[test]
    fn b20_what_is_no_yaml_is_told_with_its_place() {
        let fault = |text: &str| put(Yaml, Some(text), &keys(&["a", "b"]), &json!(1)).unwrap_err().to_string();
        assert_eq!(fault("x: 1\na:\n\tb: 1\n"), "line 3, column 2: tabs disallowed within this context (block indentation)");
        assert_eq!(fault("a: [1\nb: 2\n"), "line 2, column 2: illegal placement of ':' indicator");
        assert_eq!(fault("a: 1\n---\nb: 2\n"), "line 2, column 1: a second document begins here");
        assert_eq!(fault("a: 1\rb: 2\n"), "line 1, column 5: a carriage return stands without a line feed");
        assert_eq!(fault("a: 1\n"), "`a` is something else than an object");
        assert_eq!(fault("a: &x\n  b: 1\nc: *x\na: *x\n"), "`a` is something else than an object");
        assert_eq!(fault(&"[".repeat(100_000)), "line 1, column 256: recursion limit exceeded");
    }

    /// Entries of a document's own mapping; a draw of them that says a key twice is drawn again.
    const ENTRIES: &[&str] = &[
        "model: gpt-5 # mine",
        "\"quo.ted\": 1",
        "extensions:\n  developer:\n    enabled: true\n  # tail\n  memory: {a: 1}",
        "extensions:",
        "extensions: {}",
        "mcpServers:\n  - name: a\n    command: x",
        "mcpServers:\n- name: b\n- c",
        "mcpServers: []",
        "mcpServers:\n  - name: frith",
        "text: |\n  # no comment\n  - a",
        "keep: |+\n  x\n\n",
        "fold: >-\n  a\n\n  b",
        "a: {b: [1, 2], c}",
        "a: [ {name: z}, # first\n  x ]",
        "a:\n    b:\n        c: 1",
        "b: &anchor\n  c: d",
        "c: *anchor",
        "'ü': \"\\u00fc\"",
        "plain: a\n  b\n  c",
        "? complex\n: 1",
        "list:\n- - 1\n  - 2\n- a: 1\n  b: 2",
        "frith: ~",
        "frith: null",
        "t: !!str 1",
        "d: 2020-01-01",
        "b:\n  - \n  - 1",
        "e: 'it''s'",
    ];

    fn document() -> impl Strategy<Value = String> {
        let entries = proptest::collection::vec((proptest::sample::select(ENTRIES), gap()), 0..5);
        let ends = proptest::sample::select(vec!["\n", "\n", "\r\n", "mixed"]);
        let begins = proptest::sample::select(vec!["", "", "", "---\n", "%YAML 1.2\n---\n", "--- # c\n"]);
        (begins, gap(), entries, ends, any::<bool>(), proptest::bool::weighted(0.2))
            .prop_map(|(begin, first, entries, end, has_last, mark)| {
                let mut text = format!("{begin}{first}");
                for (entry, gap) in &entries {
                    text.extend([entry, "\n", gap]);
                }
                let text = if has_last { &text[..] } else { text.trim_end_matches('\n') };
                let text = match end {
                    "mixed" => text.replacen('\n', "\r\n", 2),
                    end => text.replace('\n', end),
                };
                format!("{}{text}", if mark { "\u{feff}" } else { "" })
            })
            .prop_filter("it says a key twice", |text| {
                parse(text.trim_start_matches('\u{feff}')).is_ok_and(|document| says_once(&document))
            })
    }

    fn says_once(document: &Document) -> bool {
        let Some(Node { kind: Kind::Mapping(pairs), .. }) = &document.root else { return true };
        let names: std::collections::BTreeSet<_> = pairs.iter().map(|(key, _)| key.name()).collect();
        names.len() == pairs.len()
    }

    fn gap() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec!["", "", "", "\n", "\n\n", "# noted\n", "  # frith: {}\n", "\t\n", " \n"])
    }

    fn path() -> impl Strategy<Value = Vec<Step>> {
        let names = vec!["extensions", "mcpServers", "frith", "a", "b", "c", "list", "quo.ted", "x y", "text", "keep", "true"];
        let key = proptest::sample::select(names).prop_map(|key| Step::Key(key.to_owned()));
        (proptest::collection::vec(key, 1..4), proptest::bool::weighted(0.4)).prop_map(|(mut path, to_element)| {
            path.extend(to_element.then(|| Step::Item(Match::Field { key: "name".into(), is: "frith".into() })));
            path
        })
    }

    proptest! {
        #[test]
        fn any_text_comes_back_to_the_byte(text in document(), at in path(), value in proof::value()) {
            let value = proof::fitted(&at, value);
            let is_open = matches!(read(Yaml, Some(&text), &at), Ok(None));
            // A mapping that begins with a marked key has no column to write at, and blank lines at the end that a text keeps
            // would lose their last one. A key without a value between brackets has no place for one.
            let is_hidden = text.contains("? complex")
                || text.contains("keep: |+") && !text.ends_with('\n')
                || text.contains(", c}") && at.starts_with(&keys(&["a", "c"]));
            prop_assert!(proof::check(Yaml, Some(&text), &at, &value) || !is_open || is_hidden, "{:?}", put(Yaml, Some(&text), &at, &value));
            prop_assert!(proof::check(Yaml, None, &at, &value));
        }

        #[test]
        fn what_somebody_writes_elsewhere_stays(text in document(), at in path(), value in proof::value(), place in any::<prop::sample::Index>(), note in proptest::sample::select(vec![" ", "\n", " # e\n", "\n# f\n", "x"])) {
            proof::check_beside(Yaml, &text, &at, &proof::fitted(&at, value), place, note);
        }

        #[test]
        fn who_was_first_may_go_first(text in document(), ours in path(), theirs in path(), value in proof::value()) {
            proof::check_two(Yaml, &text, &ours, &theirs, &value);
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\[\\]{}:?,#\"'|>&* a1\n\r-]{0,24}", at in path()) {
            let _ = put(Yaml, Some(&text), &at, &entry());
            let _ = take(Yaml, Some(&text), &at, 2);
        }
    }
}
