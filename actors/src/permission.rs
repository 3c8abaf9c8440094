//! Permission rules as each kind of agent takes them: entries of its file, arguments, lines of a file of frith's own.
//!
//! Pure: texts in, texts out. A rule is never made wider than it was said: what a kind cannot say is left out and told.

use std::fmt::Write as _;

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstObject, CstRootNode},
};

use crate::kinds::{RulesWay, filled};

/// What a launch is given of its place's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Arguments for its command line.
    pub args: Vec<String>,
    /// A variable for its environment.
    pub variable: Option<(String, String)>,
    /// What is written into its folder.
    pub file: Option<GivenFile>,
    /// The rules its kind cannot say.
    pub left_out: Vec<String>,
}

/// What is written into an agent's folder.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum GivenFile {
    /// Entries of a list in a JSON file.
    Entries {
        /// The file, below the folder.
        file: String,
        /// The keys that lead to the list.
        key_path: Vec<String>,
        /// The entries.
        rules: Vec<String>,
    },
    /// A file of frith's own, whole.
    Whole {
        /// The file, below the folder.
        file: String,
        /// What it holds.
        text: String,
    },
    /// The entry by which the agent is told of frith's tools, in a JSON file.
    Entry {
        /// The file, below the folder.
        file: String,
        /// The keys that lead to it.
        key_path: Vec<String>,
        /// What it says, as JSON.
        entry: String,
    },
}

impl GivenFile {
    /// The file, below the folder.
    pub fn file(&self) -> &str {
        match self {
            Self::Entries { file, .. } | Self::Whole { file, .. } | Self::Entry { file, .. } => file,
        }
    }
}

/// What a kind that takes rules like this is given of these.
pub fn given(way: Option<&RulesWay>, rules: &[String]) -> Given {
    if rules.is_empty() {
        return Given::default();
    }
    match way {
        None => Given { left_out: rules.to_vec(), ..Given::default() },
        Some(RulesWay::List { file, key_path }) => {
            let file = GivenFile::Entries { file: file.clone(), key_path: key_path.clone(), rules: rules.to_vec() };
            Given { file: Some(file), ..Given::default() }
        }
        Some(RulesWay::Arguments { args, command }) => arguments(args, command.as_deref(), rules),
        Some(RulesWay::CommandFile { file }) => command_file(file, rules),
        Some(RulesWay::CommandVariable { name }) => command_variable(name, rules),
    }
}

fn arguments(args: &[String], command: Option<&str>, rules: &[String]) -> Given {
    let mut given = Given::default();
    for rule in rules {
        let said = match (command, CommandRule::of(rule)) {
            (Some(form), Some(CommandRule { words, is_beginning: true })) => Some(form.replace("{}", &words.join(" "))),
            (Some(_), Some(_)) => None,
            _ => Some(rule.clone()),
        };
        match said {
            Some(said) => given.args.extend(filled(args, &said)),
            None => given.left_out.push(rule.clone()),
        }
    }
    given
}

fn command_file(file: &str, rules: &[String]) -> Given {
    let mut text = String::from("# Written by frith for the agent it launched here, and taken away when that ends.\n");
    let mut left_out = Vec::new();
    for rule in rules {
        match CommandRule::of(rule) {
            Some(CommandRule { words, is_beginning: true }) => {
                let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
                let _ = writeln!(text, "prefix_rule(pattern = [{}], decision = \"allow\")", words.join(", "));
            }
            _ => left_out.push(rule.clone()),
        }
    }
    let is_empty = left_out.len() == rules.len();
    let file = (!is_empty).then(|| GivenFile::Whole { file: file.to_owned(), text });
    Given { file, left_out, ..Given::default() }
}

fn command_variable(name: &str, rules: &[String]) -> Given {
    let mut commands = serde_json::Map::new();
    let mut left_out = Vec::new();
    for rule in rules {
        match CommandRule::of(rule) {
            Some(CommandRule { words, is_beginning }) => {
                let words = words.join(" ");
                commands.insert(words.clone(), "allow".into());
                if is_beginning {
                    commands.insert(format!("{words} *"), "allow".into());
                }
            }
            None => left_out.push(rule.clone()),
        }
    }
    let variable = (!commands.is_empty()).then(|| (name.to_owned(), serde_json::json!({ "bash": commands }).to_string()));
    Given { variable, left_out, ..Given::default() }
}

/// A rule about commands of the shell.
#[derive(Debug, PartialEq, Eq)]
struct CommandRule {
    words: Vec<String>,
    /// Whether more words may follow.
    is_beginning: bool,
}

impl CommandRule {
    /// Reads `Bash(git status *)`, `Bash(git status:*)` and `Bash(git status)`. A rule with a pattern elsewhere, or with
    /// quotes, is none that can be told in words.
    fn of(rule: &str) -> Option<Self> {
        let inner = ["Bash(", "Shell(", "run_shell_command("].iter().find_map(|start| rule.strip_prefix(start))?.strip_suffix(')')?;
        let beginning = inner.strip_suffix(":*").or_else(|| inner.strip_suffix(" *"));
        let text = beginning.unwrap_or(inner);
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let is_plain = !words.is_empty() && !text.contains(['*', '?', '"', '\'', '\\', '$', '`', ';', '&', '|', '<', '>', '(', ')']);
        is_plain.then_some(Self { words, is_beginning: beginning.is_some() })
    }
}

/// Why a file cannot take rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntriesFault {
    /// It is no JSON.
    #[error("line {line}: {fault}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        fault: String,
    },
    /// What should be an object or a list is something else.
    #[error("`{key}` is something else than {wanted}")]
    OtherShape {
        /// The key.
        key: String,
        /// What it should be.
        wanted: &'static str,
    },
}

/// The texts in a list of a JSON file; none where it has no such list. An empty text stands for a file that is not there.
///
/// # Errors
/// It is no JSON.
pub fn entries(text: &str, key_path: &[String]) -> Result<Vec<String>, EntriesFault> {
    let Some(root) = parse(text)? else { return Ok(vec![]) };
    let mut object = root.object_value();
    let Some((last, above)) = key_path.split_last() else { return Ok(vec![]) };
    for key in above {
        object = object.and_then(|object| object.object_value(key));
    }
    let list = object.and_then(|object| object.array_value(last));
    Ok(list.map(|list| texts(&list)).unwrap_or_default())
}

/// The text with these entries in its list, and which of them were not there. Everything else in it stays as it is.
///
/// # Errors
/// It is no JSON, or has something else where the list should be.
pub fn with_entries(text: &str, key_path: &[String], wanted: &[String]) -> Result<(String, Vec<String>), EntriesFault> {
    let (mark, text) = split_mark(text);
    let there = entries(text, key_path)?;
    let missing: Vec<String> = wanted.iter().filter(|rule| !there.contains(rule)).cloned().collect();
    if missing.is_empty() {
        return Ok((format!("{mark}{text}"), missing));
    }
    let is_new = text.trim().is_empty();
    let root = parse(if is_new { "{}\n" } else { text })?.ok_or_else(|| other_shape("the file", "an object"))?;
    let object = root.object_value().ok_or_else(|| other_shape("the file", "an object"))?;
    let list = list_at(&object, key_path)?;
    for rule in &missing {
        list.append(CstInputValue::String(rule.clone()));
    }
    Ok((format!("{mark}{root}"), missing))
}

/// The text without these entries of its list. Everything else in it stays as it is.
///
/// # Errors
/// It is no JSON.
pub fn without_entries(text: &str, key_path: &[String], unwanted: &[String]) -> Result<String, EntriesFault> {
    let (mark, text) = split_mark(text);
    let (Some(root), Some((last, above))) = (parse(text)?, key_path.split_last()) else { return Ok(format!("{mark}{text}")) };
    let mut object = root.object_value();
    for key in above {
        object = object.and_then(|object| object.object_value(key));
    }
    if let Some(list) = object.and_then(|object| object.array_value(last)) {
        for element in list.elements() {
            let is_unwanted = element.as_string_lit().and_then(|text| text.decoded_value().ok()).is_some_and(|it| unwanted.contains(&it));
            if is_unwanted {
                element.remove();
            }
        }
    }
    Ok(format!("{mark}{root}"))
}

fn list_at(object: &CstObject, key_path: &[String]) -> Result<CstArray, EntriesFault> {
    let mut object = object.clone();
    let Some((last, above)) = key_path.split_last() else { return Err(other_shape("", "a list")) };
    for key in above {
        object = object.object_value_or_create(key).ok_or_else(|| other_shape(key, "an object"))?;
    }
    object.array_value_or_create(last).ok_or_else(|| other_shape(last, "a list"))
}

fn other_shape(key: &str, wanted: &'static str) -> EntriesFault {
    EntriesFault::OtherShape { key: key.to_owned(), wanted }
}

/// A byte order mark is no part of the JSON, and stays.
fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

fn parse(text: &str) -> Result<Option<CstRootNode>, EntriesFault> {
    let (_, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parsed = CstRootNode::parse(text, &ParseOptions::default());
    parsed.map(Some).map_err(|error| EntriesFault::NotJson { line: error.line_display(), fault: error.kind().to_string() })
}

fn texts(list: &CstArray) -> Vec<String> {
    list.elements().iter().filter_map(|element| element.as_string_lit()?.decoded_value().ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::built_in_kinds;

    fn path() -> Vec<String> {
        ["permissions", "allow"].map(str::to_owned).to_vec()
    }

    fn rules(rules: &[&str]) -> Vec<String> {
        rules.iter().map(|rule| (*rule).to_owned()).collect()
    }

    fn of(kind: &str, said: &[&str]) -> Given {
        given(built_in_kinds()[kind].rules.as_ref(), &rules(said))
    }

    #[test]
    fn each_built_in_kind_is_given_rules_its_own_way_and_none_is_widened() {
        let said = ["Bash(git status *)", "Bash(npm test)", "Read"];
        insta::assert_debug_snapshot!(["claude", "codex", "gemini", "opencode", "qwen"].map(|kind| (kind, of(kind, &said))));
    }

    #[test]
    fn what_no_words_can_say_is_left_out() {
        for rule in ["Bash(git * main)", "Bash(rm \"a b\")", "Bash()", "Bash(*)", "Read(//etc/**)"] {
            assert_eq!(of("codex", &[rule]).left_out, [rule]);
        }
        assert_eq!(given(None, &rules(&["Read"])).left_out, ["Read"]);
        assert_eq!(given(None, &[]), Given::default());
    }

    #[test]
    fn entries_are_added_and_taken_back_and_nothing_else_moves() {
        let texts = [
            "{\n  // mine\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\n      \"Read\", // kept\n    ],\n  },\n}\n",
            "{\"permissions\":{\"allow\":[\"Read\"],\"deny\":[\"Bash(rm *)\"]}}",
            "\u{feff}{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Read\"\r\n\t\t]\r\n\t}\r\n}\r\n",
        ];
        for text in texts {
            let (added, new) = with_entries(text, &path(), &rules(&["Read", "Bash(git status *)"])).unwrap();
            assert_eq!(new, ["Bash(git status *)"]);
            assert_eq!(entries(&added, &path()).unwrap(), ["Read", "Bash(git status *)"], "{added}");
            let again = with_entries(&added, &path(), &new).unwrap();
            assert_eq!(again, (added.clone(), vec![]));
            assert_eq!(entries(&without_entries(&added, &path(), &new).unwrap(), &path()).unwrap(), ["Read"]);
        }
    }

    #[test]
    fn a_file_that_is_not_there_begins_with_the_list() {
        let (text, new) = with_entries("", &path(), &rules(&["Read"])).unwrap();
        assert_eq!(
            (serde_json::from_str::<serde_json::Value>(&text).unwrap(), new),
            (serde_json::json!({"permissions": {"allow": ["Read"]}}), rules(&["Read"]))
        );
    }

    #[test]
    fn what_cannot_take_a_list_is_said_with_its_line() {
        let fault = |text: &str| with_entries(text, &path(), &rules(&["Read"])).unwrap_err().to_string();
        assert!(fault("{\n  \"a\": 1,\n  oops!\n}").starts_with("line 3: "), "{}", fault("{\n  \"a\": 1,\n  oops!\n}"));
        assert_eq!(fault("{\"permissions\": []}"), "`permissions` is something else than an object");
        assert_eq!(fault("{\"permissions\": {\"allow\": {}}}"), "`allow` is something else than a list");
        assert_eq!(fault("[]"), "`the file` is something else than an object");
    }

    proptest! {
        #[test]
        fn entries_of_any_text_come_back_as_they_are(said in proptest::collection::btree_set("[^\u{0}]{1,12}", 1..4)) {
            let said: Vec<String> = said.into_iter().collect();
            let (text, new) = with_entries("{\"a\": 1}", &path(), &said).unwrap();
            prop_assert_eq!(&entries(&text, &path()).unwrap(), &new);
            let back = without_entries(&text, &path(), &new).unwrap();
            prop_assert!(entries(&back, &path()).unwrap().is_empty());
        }
    }
}
