//! TOML. What is put is a section of its own at the end of the text where it can be one, else a line behind those of its
//! table, else a member of an inline table or array. It never moves a section that is there.

use serde_json::{Map, Value};

use super::{
    EditError, Put, Step,
    brackets::Style,
    json::quoted,
    layout::{before_line_end, indentation, line_end},
    missing,
    splice::{Splice, spliced},
    toml_tree::{Node, Part, Statement, Way, brackets, cuts, parse, pieces, statements, walked},
    words,
};

/// What stands at a path.
pub fn read(text: &str, at: &[Step]) -> Result<Option<Value>, EditError> {
    let document = parse(text)?;
    Ok(walked(document.as_table(), at)?.found.map(Node::value))
}

/// The text with a value at a path.
pub fn put(text: Option<&str>, at: &[Step], value: &Value) -> Result<Put, EditError> {
    let source = text.unwrap_or_default();
    let document = parse(source)?;
    let way = walked(document.as_table(), at)?;
    let edit = Edit { text: source, at, value, statements: statements(source, document.as_table()) };
    let splices = match way.found {
        Some(found) => edit.replacing(found, &way.path)?,
        None => edit.adding(&way)?,
    };
    let new_containers = at.len() - way.containers.len();
    let made = if way.found.is_some() { 0 } else { new_containers + usize::from(text.is_none()) };
    Ok(Put { text: spliced(source, &splices), made })
}

/// The text without what stands at a path; none when a document that was made has nothing else.
pub fn take(text: &str, at: &[Step], mut made: usize) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    let mut way = walked(document.as_table(), at)?;
    if way.found.is_none() {
        return Ok(Some(text.to_owned()));
    }
    let statements = statements(text, document.as_table());
    while made > 0 && way.containers.len() > 1 && way.last_is_alone(text, &statements) {
        made -= 1;
        way.containers.pop();
        way.path.pop();
    }
    let splices = match way.containers.last() {
        Some((Node::Value(list), Some(member))) => brackets(list).ok_or_else(|| inexact(at))?.without(text, *member),
        _ => cuts(text, pieces(text, &statements, &way.path)),
    };
    let rest = spliced(text, &splices);
    let is_gone = made > 0 && way.containers.len() == 1 && rest.trim().is_empty();
    Ok((!is_gone).then_some(rest))
}

fn inexact(at: &[Step]) -> EditError {
    EditError::Inexact { at: words(at) }
}

/// One value that is to stand in a text.
struct Edit<'a> {
    text: &'a str,
    at: &'a [Step],
    value: &'a Value,
    statements: Vec<Statement>,
}

impl Edit<'_> {
    fn adding(&self, way: &Way<'_>) -> Result<Vec<Splice>, EditError> {
        let depth = way.containers.len() - 1;
        let rest = &self.at[depth..];
        let own_path = keys(&way.path);
        match (way.containers[depth].0, own_path) {
            (Node::Value(list), _) => self.member(list, rest),
            (Node::Table(table), Some(own)) if !table.is_dotted() => self.section_or_line(&own, rest, &way.path),
            (Node::Tables(_), Some(own)) => self.section_or_line(&own, rest, &way.path),
            (Node::Table(_), _) => self.line(&way.path, rest),
            (Node::Tables(_), None) => Err(inexact(self.at)),
        }
    }

    /// A member of an inline table or an array.
    fn member(&self, list: &toml_edit::Value, rest: &[Step]) -> Result<Vec<Splice>, EditError> {
        let (step, inner) = missing(rest, 0, self.value)?;
        let inner = self.inline(&inner)?;
        let member = match step {
            Step::Key(name) => format!("{} = {inner}", key(name)),
            Step::Item(_) => inner,
        };
        let style = Style { line_end: line_end(self.text), unit: super::layout::unit(self.text), space: " ", may_spread: false };
        let list = brackets(list).ok_or_else(|| inexact(self.at))?;
        Ok(list.room(self.text, style).filled(&member))
    }

    /// A section for an object; a line of its table for anything else.
    fn section_or_line(&self, own: &[&str], rest: &[Step], path: &[Part]) -> Result<Vec<Splice>, EditError> {
        let names = rest.iter().filter_map(|step| if let Step::Key(name) = step { Some(name.as_str()) } else { None });
        let names: Vec<&str> = own.iter().copied().chain(names).collect();
        let is_element = matches!(rest.last(), Some(Step::Item(_)));
        if rest[..rest.len() - 1].iter().any(|step| matches!(step, Step::Item(_))) {
            return Err(EditError::NotThere { at: words(self.at) });
        }
        let end = line_end(self.text);
        let section = match (self.value, is_element) {
            (Value::Object(object), true) => format!("[[{}]]{}", dotted(&names), self.lines(object, end)?),
            (Value::Object(object), false) => format!("[{}]{}", dotted(&names), self.lines(object, end)?),
            (_, true) if names.len() == own.len() => return Err(inexact(self.at)),
            _ if names.len() == own.len() + 1 => return self.line(path, rest),
            _ => {
                let (last, above) = names.split_last().ok_or_else(|| inexact(self.at))?;
                let value = if is_element { Value::Array(vec![self.value.clone()]) } else { self.value.clone() };
                let line = format!("{} = {}", key(last), self.inline(&value)?);
                if above.is_empty() { line } else { format!("[{}]{end}{line}", dotted(above)) }
            }
        };
        Ok(vec![appended(self.text, &section)])
    }

    /// A line behind the last one of its table, else behind its table's header. A table that has neither is named in a line
    /// of the document's own.
    fn line(&self, path: &[Part], rest: &[Step]) -> Result<Vec<Splice>, EditError> {
        let lines = || self.statements.iter().filter(|it| !it.is_header);
        let is_section = path.is_empty() || self.statements.iter().any(|it| it.is_header && it.path == path);
        let beside = if is_section {
            lines().rfind(|it| it.section == path).or_else(|| self.statements.iter().find(|it| it.is_header && it.path == path))
        } else {
            let dotted = lines().rfind(|it| it.path.starts_with(path) && path.starts_with(&it.section));
            dotted.or_else(|| lines().rfind(|it| it.section.is_empty()))
        };
        let section = beside.map_or(&[][..], |beside| &beside.section[..]);
        let mut names = keys(&path[section.len()..]).ok_or_else(|| inexact(self.at))?;
        let (Step::Key(first), inner) = missing(rest, 0, self.value)? else { return Err(inexact(self.at)) };
        names.push(first);
        let line = format!("{} = {}", dotted(&names), self.inline(&inner)?);
        let end = line_end(self.text);
        Ok(vec![match beside {
            Some(beside) => Splice::insert(beside.stop, format!("{end}{}{line}", indentation(&self.text[beside.start..]))),
            None => Splice::insert(0, format!("{line}{end}")),
        }])
    }

    /// Something else in the place of what stands at the path.
    fn replacing(&self, found: Node<'_>, path: &[Part]) -> Result<Vec<Splice>, EditError> {
        if let Node::Value(value) = found {
            let span = value.span().ok_or_else(|| inexact(self.at))?;
            return Ok(vec![Splice::replace(span, self.inline(self.value)?)]);
        }
        let header = self.statements.iter().find(|it| it.path.starts_with(path));
        let (Some(header), Value::Object(object)) = (header.filter(|it| it.is_header && it.path == path), self.value) else {
            return Err(inexact(self.at));
        };
        let lines = self.lines(object, line_end(self.text))?;
        let mut pieces = pieces(self.text, &self.statements, path).into_iter();
        let first = pieces.next().ok_or_else(|| inexact(self.at))?;
        let whole = Splice::replace(header.stop..first.end, lines);
        Ok([whole].into_iter().chain(pieces.map(Splice::cut)).collect())
    }

    fn lines(&self, object: &Map<String, Value>, end: &str) -> Result<String, EditError> {
        object.iter().map(|(name, value)| Ok(format!("{end}{} = {}", key(name), self.inline(value)?))).collect()
    }

    fn inline(&self, value: &Value) -> Result<String, EditError> {
        let list = |members: Result<Vec<String>, EditError>| members.map(|members| members.join(", "));
        match value {
            Value::String(text) => Ok(quoted(text).replace('\u{7f}', "\\u007f")),
            Value::Bool(it) => Ok(it.to_string()),
            Value::Number(number) if number.is_i64() || number.is_f64() => Ok(number.to_string()),
            Value::Number(_) | Value::Null => Err(EditError::NoSuchValue { at: words(self.at), value: value.to_string() }),
            Value::Array(array) => Ok(format!("[{}]", list(array.iter().map(|value| self.inline(value)).collect())?)),
            Value::Object(object) if object.is_empty() => Ok("{}".to_owned()),
            Value::Object(object) => {
                let member = |(name, value): (&String, &Value)| Ok(format!("{} = {}", key(name), self.inline(value)?));
                Ok(format!("{{ {} }}", list(object.iter().map(member).collect())?))
            }
        }
    }
}

/// A section at the end of the text, a line apart from what is before it. It stands before the text's last line end, so
/// that a text without one stays without.
fn appended(text: &str, section: &str) -> Splice {
    let end = line_end(text);
    if text.is_empty() {
        return Splice::insert(0, format!("{section}{end}"));
    }
    Splice::insert(before_line_end(text, text.len()).unwrap_or(text.len()), format!("{end}{end}{section}"))
}

/// A path of keys; none when it leads through an element, which no header can name.
fn keys(path: &[Part]) -> Option<Vec<&str>> {
    path.iter().map(|part| if let Part::Key(name) = part { Some(name.as_str()) } else { None }).collect()
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_bare { name.to_owned() } else { quoted(name).replace('\u{7f}', "\\u007f") }
}

fn dotted(names: &[&str]) -> String {
    names.iter().map(|name| key(name)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use frith_store::hosts::Format::Toml;
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
        json!({"command": "frith", "args": ["mcp"], "env": {"A B": "c"}})
    }

    /// Puts a value and looks that it comes back.
    fn with(text: &str, at: &[Step], value: &Value) -> String {
        assert!(proof::check(Toml, Some(text), at, value), "{text} {:?}", put(Toml, Some(text), at, value));
        put(Toml, Some(text), at, value).unwrap().text
    }

    #[test]
    fn an_entry_is_a_section_at_the_end() {
        let at = keys(&["mcp_servers", "frith"]);
        insta::assert_snapshot!(with("model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n", &at, &entry()), @r#"
        model = "x" # mine

        [mcp_servers.other]
        command = "y"

        [mcp_servers.frith]
        command = "frith"
        args = ["mcp"]
        env = { "A B" = "c" }
        "#);
        insta::assert_snapshot!(with("", &at, &entry()), @r#"
        [mcp_servers.frith]
        command = "frith"
        args = ["mcp"]
        env = { "A B" = "c" }
        "#);
        insta::assert_snapshot!(with("# nothing yet", &at, &entry()), @r#"
        # nothing yet

        [mcp_servers.frith]
        command = "frith"
        args = ["mcp"]
        env = { "A B" = "c" }
        "#);
        assert!(
            with("a = 1\r\n", &at, &entry())
                .ends_with("a = 1\r\n\r\n[mcp_servers.frith]\r\ncommand = \"frith\"\r\nargs = [\"mcp\"]\r\nenv = { \"A B\" = \"c\" }\r\n")
        );
    }

    #[test]
    fn an_entry_goes_where_its_neighbours_are() {
        let at = keys(&["mcp_servers", "frith"]);
        insta::assert_snapshot!(with("mcp_servers = { other = { command = \"y\" } }\n", &at, &entry()), @r#"mcp_servers = { other = { command = "y" }, frith = { command = "frith", args = ["mcp"], env = { "A B" = "c" } } }"#);
        insta::assert_snapshot!(with("mcp_servers.other.command = \"y\"\nz = 1\n", &at, &entry()), @r#"
        mcp_servers.other.command = "y"
        mcp_servers.frith = { command = "frith", args = ["mcp"], env = { "A B" = "c" } }
        z = 1
        "#);
        insta::assert_snapshot!(with("[x]\n  mcp_servers.other = {}\n\n[z]\n", &keys(&["x", "mcp_servers", "frith"]), &json!({"a": 1})), @r#"
        [x]
          mcp_servers.other = {}
          mcp_servers.frith = { a = 1 }

        [z]
        "#);
    }

    #[test]
    fn a_single_value_is_a_line_of_its_table() {
        insta::assert_snapshot!(with("[features]\n  a = true # mine\n\n[z]\n", &keys(&["features", "hooks"]), &json!(true)), @r#"
        [features]
          a = true # mine
          hooks = true

        [z]
        "#);
        insta::assert_snapshot!(with("[features] # mine\n[z]\n", &keys(&["features", "hooks"]), &json!(true)), @r#"
        [features] # mine
        hooks = true
        [z]
        "#);
        insta::assert_snapshot!(with("# mine\n[z]\n", &keys(&["features", "hooks"]), &json!(true)), @r#"
        # mine
        [z]

        [features]
        hooks = true
        "#);
        insta::assert_snapshot!(with("# mine\n[z]\n", &keys(&["hooks"]), &json!(1.5)), @r#"
        hooks = 1.5
        # mine
        [z]
        "#);
        insta::assert_snapshot!(with("[features.x]\ny = 1\n", &keys(&["features", "hooks"]), &json!("a\"\n")), @r#"
        features.hooks = "a\"\n"
        [features.x]
        y = 1
        "#);
    }

    #[test]
    fn an_element_follows_those_that_are_there() {
        let ours = json!({"name": "frith", "event": "Stop"});
        insta::assert_snapshot!(with("[[hooks]]\nname = \"mine\"\n\n[z]\na = 1\n", &element(&["hooks"]), &ours), @r#"
        [[hooks]]
        name = "mine"

        [z]
        a = 1

        [[hooks]]
        name = "frith"
        event = "Stop"
        "#);
        insta::assert_snapshot!(with("[hooks]\non = true\n", &element(&["hooks", "hooks"]), &ours), @r#"
        [hooks]
        on = true

        [[hooks.hooks]]
        name = "frith"
        event = "Stop"
        "#);
        insta::assert_snapshot!(with("hooks = [\n  { name = \"mine\" }, # first\n]\n", &element(&["hooks"]), &ours), @r#"
        hooks = [
          { name = "mine" }, # first
          { name = "frith", event = "Stop" },
        ]
        "#);
        insta::assert_snapshot!(with("a = 1", &element(&["hooks"]), &ours), @r#"
        a = 1

        [[hooks]]
        name = "frith"
        event = "Stop"
        "#);
    }

    #[test]
    fn what_its_user_made_of_an_entry_is_taken_whole() {
        let text = "a = 1\n\n[mcp_servers.frith]\ncommand = \"frith\"\n# theirs\n\n[z]\nb = 2\n\n[mcp_servers.frith.env]\nC = \"d\"\n";
        let taken = take(Toml, Some(text), &keys(&["mcp_servers", "frith"]), 1).unwrap().unwrap();
        assert_eq!(taken, "a = 1\n# theirs\n\n[z]\nb = 2\n");
    }

    #[test]
    fn a_section_that_somebody_else_uses_now_stays() {
        let at = keys(&["features", "hooks"]);
        let put = put(Toml, Some("a = 1\n"), &at, &json!(true)).unwrap();
        let used = format!("{}other = 1\n", put.text);
        assert_eq!(take(Toml, Some(&used), &at, put.made).unwrap().unwrap(), "a = 1\n\n[features]\nother = 1\n");
    }

    #[test]
    fn a_value_that_is_another_is_replaced_where_it_stands() {
        let text = "[mcp_servers.frith] # kept\ncommand = \"old\"\n\n[mcp_servers.frith.env]\nA = \"b\"\n\n[z]\na = 1 # kept\n";
        insta::assert_snapshot!(put(Toml, Some(text), &keys(&["mcp_servers", "frith"]), &json!({"command": "new"})).unwrap().text, @r#"
        [mcp_servers.frith] # kept
        command = "new"

        [z]
        a = 1 # kept
        "#);
        assert!(put(Toml, Some(text), &keys(&["z", "a"]), &json!(2)).unwrap().text.ends_with("a = 2 # kept\n"));
    }

    #[test]
    fn a_file_that_is_not_there_begins_with_the_entry_and_ends_without_it() {
        for (at, made) in [(keys(&["mcp_servers", "frith"]), 2), (keys(&["frith"]), 1), (element(&["hooks"]), 2)] {
            let value = proof::fitted(&at, json!({"command": "frith"}));
            let put = put(Toml, None, &at, &value).unwrap();
            assert_eq!(put.made, made);
            assert_eq!(take(Toml, Some(&put.text), &at, made).unwrap(), None);
            let noted = format!("# kept\n{}", put.text);
            assert_eq!(take(Toml, Some(&noted), &at, made).unwrap().unwrap().trim_end(), "# kept");
        }
    }

    #[test]
    fn b20_what_is_no_toml_is_told_with_its_place() {
        let fault = |text: &str| put(Toml, Some(text), &keys(&["a", "b"]), &json!(1)).unwrap_err().to_string();
        assert_eq!(fault("x = 1\ny = = 2\n"), "line 2, column 5: extra `=`, expected nothing");
        assert_eq!(fault("a = 1"), "`a` is something else than an object");
        assert!(fault("x = 1\nx = 2\n").starts_with("line 2, column 1: duplicate key"));
        let null = put(Toml, Some(""), &keys(&["a"]), &Value::Null).unwrap_err();
        assert_eq!(null.to_string(), "`a` cannot hold `null` in this format");
    }

    /// Things that may stand at the top, and sections; a draw of them that repeats itself is no TOML and is drawn again.
    const LINES: &[&str] = &[
        "model = \"x\" # mine",
        "\"quo.ted\" = 1",
        "a.b.c = true",
        "a.b.d = 1_000",
        "list = [ 1, 2, # two\n  3,\n]",
        "servers = { x = { command = \"y\" } }",
        "empty = {}",
        "arr = []",
        "hooks = [ ]",
        "text = \"\"\"\n[no.header]\nx = 1\n\"\"\"",
        "day = 2020-01-01",
        "\"\\u0066rith\" = 1",
        "'lit' = '\\'",
        "features = { a = 1, b = [2] }",
        "mcp_servers.other.command = \"z\"",
        "a = { b.c = 1 }",
        "frith = [ { name = \"mine\" } ]",
        "n = -0.5e3",
    ];
    const SECTIONS: &[&str] = &[
        "[features]\nhooks = true",
        "[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  \"y\", # why\n]",
        "[mcp_servers.other.env]\nA = \"b\"",
        "[[hooks]]\nevent = \"a\"\nname = \"z\"",
        "[[hooks]]\nname = \"y\"\nargs = []",
        "[hooks.sub]\nx = 1",
        "[profiles.\"a b\"]\nmodel = 'o'",
        "[empty]",
        "[ a . \"b\" ]  # spaced\n  k.l = 1",
        "[mcp_servers]\nx.y = 1",
        "[hooks.state.\"/x:Stop\"]\ntrusted_hash = \"sha\"",
        "[features]",
        "[frith.a]\nb = 1",
        "[[a.b]]\nc = 1",
    ];

    fn document() -> impl Strategy<Value = String> {
        let lines = proptest::collection::vec((proptest::sample::select(LINES), gap()), 0..4);
        let sections = proptest::collection::vec((proptest::sample::select(SECTIONS), gap()), 0..5);
        let ends = proptest::sample::select(vec!["\n", "\n", "\r\n", "mixed"]);
        (lines, gap(), sections, ends, any::<bool>(), proptest::bool::weighted(0.2))
            .prop_map(|(lines, first, sections, end, has_last, mark)| {
                let mut text = first.to_owned();
                for (statement, gap) in lines.iter().chain(&sections) {
                    text.extend([statement, "\n", gap]);
                }
                let text = if has_last { &text[..] } else { text.trim_end_matches('\n') };
                let text = match end {
                    "mixed" => text.replacen('\n', "\r\n", 2),
                    end => text.replace('\n', end),
                };
                format!("{}{text}", if mark { "\u{feff}" } else { "" })
            })
            .prop_filter("it repeats itself", |text| parse(text.trim_start_matches('\u{feff}')).is_ok())
    }

    fn gap() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec!["", "", "", "\n", "\n\n", "# noted\n", "\n  # [mcp_servers.frith]\n", "\t\n"])
    }

    fn path() -> impl Strategy<Value = Vec<Step>> {
        let names =
            vec!["mcp_servers", "frith", "features", "hooks", "a", "b", "servers", "empty", "arr", "quo.ted", "other", "x y", "list"];
        let key = proptest::sample::select(names).prop_map(|key| Step::Key(key.to_owned()));
        (proptest::collection::vec(key, 1..4), proptest::bool::weighted(0.3)).prop_map(|(mut path, to_element)| {
            path.extend(to_element.then(|| Step::Item(Match::Field { key: "name".into(), is: "frith".into() })));
            path
        })
    }

    proptest! {
        #[test]
        fn any_text_comes_back_to_the_byte(text in document(), at in path(), value in proof::value()) {
            let value = proof::fitted(&at, value);
            // A key with a dot inside an inline table hides where its neighbours end.
            let is_hidden = text.contains("{ b.c = 1 }") && at[0] == Step::Key("a".into());
            let is_open = matches!(read(Toml, Some(&text), &at), Ok(None));
            prop_assert!(proof::check(Toml, Some(&text), &at, &value) || !is_open || is_hidden, "{:?}", put(Toml, Some(&text), &at, &value));
            prop_assert!(proof::check(Toml, None, &at, &value));
        }

        #[test]
        fn what_somebody_writes_elsewhere_stays(text in document(), at in path(), value in proof::value(), place in any::<prop::sample::Index>(), note in proptest::sample::select(vec![" ", "\n", "# e\n", "\n# f\n", "x"])) {
            proof::check_beside(Toml, &text, &at, &proof::fitted(&at, value), place, note);
        }

        #[test]
        fn who_was_first_may_go_first(text in document(), ours in path(), theirs in path(), value in proof::value()) {
            proof::check_two(Toml, &text, &ours, &theirs, &value);
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\[\\]{}=,.#\"' a1\n\r\u{feff}]{0,24}", at in path()) {
            let _ = put(Toml, Some(&text), &at, &entry());
            let _ = take(Toml, Some(&text), &at, 2);
        }
    }
}
