//! JSON, with comments and trailing commas where a text has them. Other freedoms that some parsers take are faults here,
//! since the host may not take them.

use std::borrow::Cow;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, ObjectPropName},
    common::{Range, Ranged as _},
    parse_to_ast,
};
use serde_json::{Map, Value};

use super::{
    EditError, Put, Span, Step,
    brackets::{Brackets, Comments, Style, has_comment},
    layout::{line_end, unit},
    missing, nested, not_parsed, other_shape,
    splice::{Splice, spliced},
};

/// What stands at a path.
pub fn read(text: &str, at: &[Step]) -> Result<Option<Value>, EditError> {
    let whole = paired(text);
    let root = parse(&whole)?;
    Ok(walked(&root, at)?.found.map(value_of))
}

/// The text with a value at a path.
pub fn put(text: Option<&str>, at: &[Step], value: &Value) -> Result<Put, EditError> {
    let Some(text) = text else {
        let looks = Looks { line_end: "\n", unit: "  ", colon: ": ", has_last_comma: false };
        return Ok(Put { text: format!("{}\n", looks.lines(&nested(at, value)?, "")), made: at.len() });
    };
    let whole = paired(text);
    let root = parse(&whole)?;
    let way = walked(&root, at)?;
    let mut looks = Looks::of(text, &root);
    if let Some(found) = way.found {
        let is_spread = text[..found.end()].contains('\n');
        let own = super::layout::indentation(&text[super::layout::line_start(text, found.start())..]);
        let new = if is_spread { looks.lines(value, own) } else { looks.line(value) };
        return Ok(Put { text: spliced(text, &[Splice::replace(span(found.range()), new)]), made: 0 });
    }
    let (depth, container) = (way.containers.len() - 1, way.containers[way.containers.len() - 1].0);
    let (step, inner) = missing(at, depth, value)?;
    let is_line = !text.trim().contains('\n') && depth > 0;
    let style = Style { line_end: looks.line_end, unit: looks.unit, space: looks.space(), may_spread: !is_line };
    let room = brackets(container).room(text, style);
    looks.has_last_comma = room.has_last_comma;
    let new = match &room.indentation {
        Some(indentation) => looks.lines(&inner, indentation),
        None => looks.line(&inner),
    };
    let member = match step {
        Step::Key(key) => format!("{}{}{new}", quoted(key), looks.colon),
        Step::Item(_) => new,
    };
    Ok(Put { text: spliced(text, &room.filled(&member)), made: at.len() - depth - 1 })
}

/// The text without what stands at a path; none when a document that was made has nothing else.
pub fn take(text: &str, at: &[Step], mut made: usize) -> Result<Option<String>, EditError> {
    let whole = paired(text);
    let root = parse(&whole)?;
    let mut way = walked(&root, at)?.containers;
    if way.len() < at.len() || way.last().is_none_or(|(_, member)| member.is_none()) {
        return Ok(Some(text.to_owned()));
    }
    let around = [0..root.start(), root.end()..text.len()];
    let has_more = around.into_iter().any(|span| has_comment(text, span, Comments::Slashes));
    while let Some((container, Some(member))) = way.pop() {
        let list = brackets(container);
        let is_needed = way.is_empty() && has_more;
        if made == 0 || is_needed || !list.holds_only(text, member) {
            return Ok(Some(spliced(text, &list.without(text, member))));
        }
        made -= 1;
    }
    Ok(None)
}

/// The containers on a way, each with the place of the member that the way goes on with, and what the way leads to.
struct Way<'a, 'b> {
    containers: Vec<(&'b ast::Value<'a>, Option<usize>)>,
    found: Option<&'b ast::Value<'a>>,
}

fn walked<'a, 'b>(root: &'b ast::Value<'a>, at: &[Step]) -> Result<Way<'a, 'b>, EditError> {
    let mut way = Way { containers: Vec::new(), found: Some(root) };
    for (depth, step) in at.iter().enumerate() {
        let Some(container) = way.found else { break };
        let member = match (step, container) {
            (Step::Key(key), ast::Value::Object(object)) => object.properties.iter().rposition(|property| name_of(&property.name) == key),
            (Step::Item(wanted), ast::Value::Array(array)) => array.elements.iter().position(|it| wanted.holds_for(&value_of(it))),
            (Step::Key(_), _) => return Err(other_shape(&at[..depth], "an object")),
            (Step::Item(_), _) => return Err(other_shape(&at[..depth], "a list")),
        };
        way.containers.push((container, member));
        way.found = member.and_then(|member| match container {
            ast::Value::Object(object) => object.properties.get(member).map(|property| &property.value),
            ast::Value::Array(array) => array.elements.get(member),
            _ => None,
        });
    }
    Ok(way)
}

fn brackets(container: &ast::Value<'_>) -> Brackets {
    let members = match container {
        ast::Value::Object(object) => object.properties.iter().map(|property| span(property.range)).collect(),
        ast::Value::Array(array) => array.elements.iter().map(|element| span(element.range())).collect(),
        _ => Vec::new(),
    };
    Brackets { open: container.start() + 1, close: container.end() - 1, members, comments: Comments::Slashes }
}

fn span(range: Range) -> Span {
    range.start..range.end
}

/// The text with an escape of the same length for each half of a pair that stands alone, which JSON allows and no text of ours
/// can hold. Only what is read is changed by it: what is written is cut out of the text as it was.
fn paired(text: &str) -> Cow<'_, str> {
    let mut paired = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(next) = text[at..].find('\\') {
        at += next;
        let second = || unit_at(text, at + 6).filter(|unit| (0xdc00..0xe000).contains(unit));
        at += match unit_at(text, at) {
            Some(0xd800..0xdc00) if second().is_some() => 12,
            Some(0xd800..0xe000) => {
                paired.to_mut().replace_range(at..at + 6, "\\ufffd");
                6
            }
            // A backslash, and what it stands before.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    paired
}

/// The unit of UTF-16 that an escape at this byte names.
fn unit_at(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

fn parse(text: &str) -> Result<ast::Value<'_>, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| not_parsed(text, error.range().start, &error.kind().to_string()))?;
    parsed.value.ok_or_else(|| not_parsed(text, text.len(), "nothing is in it"))
}

fn value_of(node: &ast::Value<'_>) -> Value {
    match node {
        ast::Value::StringLit(text) => Value::String(text.value.to_string()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| Value::String(number.value.to_owned())),
        ast::Value::BooleanLit(it) => Value::Bool(it.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(value_of).collect(),
        ast::Value::Object(object) => {
            let members = object.properties.iter().map(|property| (name_of(&property.name).to_owned(), value_of(&property.value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn name_of<'b>(name: &'b ObjectPropName<'_>) -> &'b str {
    match name {
        ObjectPropName::String(name) => &name.value,
        ObjectPropName::Word(name) => name.value,
    }
}

/// A text in quotes, as every parser of JSON reads it.
pub fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// How the text's own values look.
struct Looks<'a> {
    line_end: &'a str,
    unit: &'a str,
    colon: &'a str,
    has_last_comma: bool,
}

impl<'a> Looks<'a> {
    fn of(text: &'a str, root: &ast::Value<'_>) -> Self {
        let first = match root {
            ast::Value::Object(object) => object.properties.first(),
            _ => None,
        };
        let colon = first.map(|property| &text[property.name.range().end..property.value.start()]);
        let colon = colon.filter(|colon| matches!(*colon, ":" | ": " | " : ")).unwrap_or(": ");
        Self { line_end: line_end(text), unit: unit(text), colon, has_last_comma: false }
    }

    /// What stands behind a comma in a line.
    fn space(&self) -> &'static str {
        if self.colon.ends_with(' ') { " " } else { "" }
    }

    /// A value over as many lines as it has members, as hosts write theirs.
    fn lines(&self, value: &Value, indentation: &str) -> String {
        let inner = format!("{indentation}{}", self.unit);
        let (open, members, close): (_, Vec<String>, _) = match value {
            Value::Object(object) => {
                let member = |(key, value): (&String, &Value)| format!("{inner}{}{}{}", quoted(key), self.colon, self.lines(value, &inner));
                ('{', object.iter().map(member).collect(), '}')
            }
            Value::Array(array) => ('[', array.iter().map(|value| format!("{inner}{}", self.lines(value, &inner))).collect(), ']'),
            single => return single.to_string(),
        };
        if members.is_empty() {
            return format!("{open}{close}");
        }
        let comma = if self.has_last_comma { "," } else { "" };
        let end = self.line_end;
        format!("{open}{end}{}{comma}{end}{indentation}{close}", members.join(&format!(",{end}")))
    }

    /// A value in one line.
    fn line(&self, value: &Value) -> String {
        let comma = format!(",{}", self.space());
        match value {
            Value::Object(object) => {
                let member = |(key, value): (&String, &Value)| format!("{}{}{}", quoted(key), self.colon, self.line(value));
                format!("{{{}}}", object.iter().map(member).collect::<Vec<_>>().join(&comma))
            }
            Value::Array(array) => format!("[{}]", array.iter().map(|value| self.line(value)).collect::<Vec<_>>().join(&comma)),
            single => single.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use frith_store::hosts::Format::{Json, Jsonc};
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        super::{
            Match,
            proof::{self, keys},
            put, read, take,
        },
        *,
    };

    fn entry() -> Value {
        json!({"command": "frith", "args": ["mcp"]})
    }

    /// Puts the entry and looks that it comes back.
    fn with(text: &str, at: &[&str]) -> String {
        assert!(proof::check(Json, Some(text), &keys(at), &entry()), "{text}");
        put(Json, Some(text), &keys(at), &entry()).unwrap().text
    }

    #[test]
    fn a_new_member_looks_like_its_neighbours() {
        insta::assert_snapshot!(with("{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n", &["mcpServers", "frith"]), @r#"
        {
          "mcpServers": {
            "a": {},
            "frith": {
              "command": "frith",
              "args": [
                "mcp"
              ]
            }
          }
        }
        "#);
        insta::assert_snapshot!(with("{\n\t\"model\": \"x\", // mine\n\t// the end\n}\n", &["mcpServers", "frith"]), @r#"
        {
        	"model": "x", // mine
        	"mcpServers": {
        		"frith": {
        			"command": "frith",
        			"args": [
        				"mcp",
        			],
        		},
        	},
        	// the end
        }
        "#);
        insta::assert_snapshot!(with("{\n    \"servers\": {\n    },\n    \"z\": [1, 2]\n}", &["servers", "frith"]), @r#"
        {
            "servers": {

                "frith": {
                    "command": "frith",
                    "args": [
                        "mcp"
                    ]
                }
            },
            "z": [1, 2]
        }
        "#);
    }

    #[test]
    fn a_first_member_looks_as_others_would() {
        insta::assert_snapshot!(with("{\n  // nothing yet\n}", &["frith"]), @r#"
        {
          // nothing yet
          "frith": {
            "command": "frith",
            "args": [
              "mcp"
            ]
          }
        }
        "#);
        insta::assert_snapshot!(with("{}", &["mcp", "frith"]), @r#"
        {
          "mcp": {
            "frith": {
              "command": "frith",
              "args": [
                "mcp"
              ]
            }
          }
        }
        "#);
        insta::assert_snapshot!(with("{\"a\":1,\"mcpServers\":{}}", &["mcpServers", "frith"]), @r#"{"a":1,"mcpServers":{"frith":{"command":"frith","args":["mcp"]}}}"#);
        insta::assert_snapshot!(with("{\"a\": {\"b\": 1}}", &["a", "frith"]), @r#"{"a": {"b": 1, "frith": {"command": "frith", "args": ["mcp"]}}}"#);
    }

    #[test]
    fn a_file_that_is_not_there_begins_with_the_entry_and_ends_without_it() {
        let put = put(Json, None, &keys(&["mcp", "frith"]), &entry()).unwrap();
        insta::assert_snapshot!(put.text, @r#"
        {
          "mcp": {
            "frith": {
              "command": "frith",
              "args": [
                "mcp"
              ]
            }
          }
        }
        "#);
        assert_eq!(put.made, 2);
        assert_eq!(take(Json, Some(&put.text), &keys(&["mcp", "frith"]), 2).unwrap(), None);
        let noted = format!("// kept\n{}", put.text);
        assert_eq!(take(Json, Some(&noted), &keys(&["mcp", "frith"]), 2).unwrap().unwrap(), "// kept\n{}\n");
    }

    #[test]
    fn b24_a_list_of_others_keeps_its_order_and_loses_only_ours() {
        let text = "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"command\": \"mine\" }] }\n    ]\n  }\n}\n";
        let ours = json!({"hooks": [{"command": "frith hook Stop"}]});
        let at = [keys(&["hooks", "Stop"]), vec![Step::Item(Match::Equal(ours.clone()))]].concat();
        assert!(proof::check(Json, Some(text), &at, &ours));
        let added = put(Json, Some(text), &at, &ours).unwrap();
        insta::assert_snapshot!(added.text, @r#"
        {
          "hooks": {
            "Stop": [
              { "hooks": [{ "command": "mine" }] },
              {
                "hooks": [
                  {
                    "command": "frith hook Stop"
                  }
                ]
              }
            ]
          }
        }
        "#);
        let theirs = added.text.replace("\n    ]\n  }", ",\n      {}\n    ]\n  }");
        assert_eq!(take(Json, Some(&theirs), &at, 0).unwrap().unwrap(), text.replace("\n    ]\n", ",\n      {}\n    ]\n"));
    }

    #[test]
    fn a_container_that_somebody_else_uses_now_stays() {
        let put = put(Json, Some("{}"), &keys(&["mcp", "frith"]), &entry()).unwrap();
        let used = super::super::put(Json, Some(&put.text), &keys(&["mcp", "other"]), &json!(1)).unwrap();
        let left = take(Json, Some(&used.text), &keys(&["mcp", "frith"]), put.made).unwrap().unwrap();
        assert_eq!(left, "{\n  \"mcp\": {\n    \"other\": 1\n  }\n}");
    }

    #[test]
    fn a_value_that_is_another_is_replaced_where_it_stands() {
        let text = "{\r\n  \"a\": {\"b\": 1}, // kept\r\n  \"c\": 2\r\n}";
        let put = put(Json, Some(text), &keys(&["a"]), &entry()).unwrap();
        assert_eq!(
            put.text,
            text.replace("{\"b\": 1}", "{\r\n    \"command\": \"frith\",\r\n    \"args\": [\r\n      \"mcp\"\r\n    ]\r\n  }")
        );
    }

    #[test]
    fn the_last_of_two_values_of_a_key_is_the_one_that_parsers_take() {
        let text = "{\"a\": {\"x\": 1}, \"a\": {\"y\": 2}}";
        assert_eq!(read(Json, Some(text), &keys(&["a"])).unwrap(), Some(json!({"y": 2})));
        assert!(proof::check(Json, Some(text), &keys(&["a", "frith"]), &entry()));
    }

    #[test]
    fn b20_what_is_no_json_is_told_with_its_place() {
        let fault = |text: &str| put(Json, Some(text), &keys(&["a"]), &entry()).unwrap_err().to_string();
        assert_eq!(fault("{\n  \"a\": 1,\n  oops\n}"), "line 3, column 3: expected string for object property");
        for text in
            ["", " \n", "\u{feff}", "{", "{} {}", "{\"a\": 1 \"b\": 2}", "{'a': 1}", "{\"a\": +1}", "// only\n", "{a: 1}", "{\"a\": tru}"]
        {
            assert!(matches!(put(Json, Some(text), &keys(&["a"]), &entry()), Err(EditError::NotParsed { .. })), "{text:?}");
            assert!(matches!(take(Json, Some(text), &keys(&["a"]), 1), Err(EditError::NotParsed { .. })), "{text:?}");
        }
        assert!(fault(&"[".repeat(100_000)).contains("nesting depth"));
        assert_eq!(fault("[]"), "`the document` is something else than an object");
        let inner = put(Json, Some("{\"a\": {\"b\": null}}"), &keys(&["a", "b", "c"]), &entry()).unwrap_err();
        assert_eq!(inner.to_string(), "`a.b` is something else than an object");
    }

    #[test]
    fn a_step_to_an_element_that_is_not_there_is_no_way() {
        let at = [keys(&["a"]), vec![Step::Item(Match::Field { key: "b".into(), is: "c".into() })], keys(&["d"])].concat();
        let fault = put(Json, Some("{\"a\": []}"), &at, &entry()).unwrap_err();
        assert_eq!(fault.to_string(), "nothing stands at `a[].d`, and it cannot be made");
        assert!(proof::check(Json, Some("{\"a\": [ { \"b\": \"c\" } ]}"), &at, &entry()));
    }

    fn space() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "",
            "",
            "",
            " ",
            "\n",
            "\r\n",
            "\t",
            "\n  ",
            "\n    ",
            "\r\n\t",
            "\n\n",
            " \n ",
            "\r",
            " // c\n",
            "/* x */",
            " // d  \r\n  ",
            "\n// \"e\": 1,\n",
            "/*\n*/\n",
            "//\r",
        ])
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::sample::select(proof::KEYS).prop_map(quoted),
            proptest::sample::select(vec!["\"\\u0066rith\"", "\"\\u00fc\"", "\"\\/\"", "\"//\"", "\"\\ud83d\\ude00\"", "\"a,}\""])
                .prop_map(str::to_owned),
        ]
    }

    /// Members with anything that may stand between them, and perhaps a last comma.
    fn listed(open: char, members: impl Strategy<Value = String>, close: char) -> impl Strategy<Value = String> {
        let members = proptest::collection::vec((space(), members, space()), 0..4);
        (members, proptest::bool::weighted(0.3), space(), space()).prop_map(move |(members, last_comma, inner, end)| {
            let joined: Vec<_> = members.iter().map(|(before, member, behind)| format!("{before}{member}{behind}")).collect();
            let comma = if last_comma && !joined.is_empty() { "," } else { "" };
            format!("{open}{inner}{}{comma}{end}{close}", joined.join(","))
        })
    }

    fn document() -> impl Strategy<Value = String> {
        let single =
            proptest::sample::select(vec!["1", "-0.5e3", "true", "null", "\"x\"", "\"\\n//\"", "{}", "[]", "12345678901234567890"]);
        let value = single.prop_map(str::to_owned).prop_recursive(3, 24, 4, |inner| {
            let member = (key(), space(), space(), inner.clone()).prop_map(|(key, a, b, value)| format!("{key}{a}:{b}{value}"));
            prop_oneof![3 => listed('{', member, '}'), 1 => listed('[', inner, ']')]
        });
        let member = (key(), value.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        let root = prop_oneof![4 => listed('{', member, '}'), 1 => value];
        (proptest::bool::weighted(0.2), space(), root, space())
            .prop_map(|(mark, a, root, b)| format!("{}{a}{root}{b}", if mark { "\u{feff}" } else { "" }))
    }

    /// What hosts write: indented, with either line end, perhaps with a comment here and there.
    fn tidy_document() -> impl Strategy<Value = String> {
        (proof::value(), proptest::sample::select(vec!["\t", "  ", "    "]), any::<bool>(), any::<bool>()).prop_map(
            |(value, unit, windows, noted)| {
                let value = if value.is_object() { value } else { json!({"mcpServers": value}) };
                let looks = Looks { line_end: if windows { "\r\n" } else { "\n" }, unit, colon: ": ", has_last_comma: noted };
                let text = looks.lines(&value, "");
                if noted && text.contains('\n') { text.replacen('{', "{ // first", 1).replacen(",\n", ", // noted\n", 2) } else { text }
            },
        )
    }

    proptest! {
        #[test]
        fn any_text_comes_back_to_the_byte(text in prop_oneof![document(), tidy_document()], at in proof::path(), value in proof::value()) {
            let value = proof::fitted(&at, value);
            let is_open = matches!(read(Jsonc, Some(&text), &at), Ok(None));
            prop_assert!(proof::check(Jsonc, Some(&text), &at, &value) || !is_open, "{:?} {:?}", text, put(Jsonc, Some(&text), &at, &value));
            prop_assert!(proof::check(Json, None, &at, &value));
        }

        #[test]
        fn what_somebody_writes_elsewhere_stays(text in prop_oneof![document(), tidy_document()], at in proof::path(), value in proof::value(), place in any::<prop::sample::Index>(), note in proptest::sample::select(vec![" ", "\n", "/* e */", "// f\n", "x"])) {
            proof::check_beside(Jsonc, &text, &at, &proof::fitted(&at, value), place, note);
        }

        #[test]
        fn who_was_first_may_go_first(text in prop_oneof![document(), tidy_document()], ours in proof::path(), theirs in proof::path(), value in proof::value()) {
            proof::check_two(Jsonc, &text, &ours, &theirs, &value);
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\[\\]{}:,/*\" a1\n\r\u{feff}]{0,24}", at in proof::path()) {
            let _ = put(Json, Some(&text), &at, &entry());
            let _ = take(Json, Some(&text), &at, 2);
        }
    }
}
