//! The entry by which a launched agent is told of frith's tools, and the rule of the project file: an agent must not find one
//! in its folder that lets it speak as another place.
//!
//! Pure: it writes nothing. An entry names the program, the host and the place, and never a secret.

use frith_store::{
    hosts::{self, Entry, Key},
    id::PlaceId,
    refusal::Refusal,
    text::PathText,
};
use serde_json::{Map, Value};

use crate::{
    env::folders::ProjectFile,
    install::{ground::PROGRAM, wanted::value_of},
    kinds::{EntryWithoutFile, Kind, filled},
    permission::GivenFile,
};

/// What a launch is given so that its agent has frith's tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryGiven {
    /// Arguments for its command line.
    pub args: Vec<String>,
    /// A variable for its environment.
    pub variable: Option<(String, String)>,
    /// What is written into its folder.
    pub file: Option<GivenFile>,
}

/// A launch that is to be told of frith's tools.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// The name of the kind, which is the host's.
    pub name: &'a str,
    /// The kind.
    pub kind: &'a Kind,
    /// The program that serves the tools.
    pub program: &'a str,
    /// The place the agent works in.
    pub place: PlaceId,
    /// Whether an entry may be written into its folder: a fork's, and into no file that is committed.
    pub may_write: bool,
}

/// What a launch is given; none when its kind can only be told by what is installed.
pub fn entry_given(telling: &Telling<'_>, variable: impl Fn(&str) -> Option<String>) -> Option<EntryGiven> {
    let (way, entry) = (telling.kind.entry.as_ref()?, hosts::host(telling.name)?.mcp.entry.known()?);
    let said = Value::Object(said(entry, telling));
    if let (true, Some(args), Some(file)) = (telling.may_write, &way.with_file, &telling.kind.project_file) {
        let file = GivenFile::Entry { file: file.path.clone(), key_path: file.key_path.clone(), entry: said.to_string() };
        return Some(EntryGiven { args: args.clone(), file: Some(file), variable: None });
    }
    let keys = keys(entry)?;
    Some(match way.without_file.as_ref()? {
        EntryWithoutFile::Document { args } => {
            EntryGiven { args: filled(args, &laid_over(Value::Null, &keys, said).to_string()), ..EntryGiven::default() }
        }
        EntryWithoutFile::Values { args } => {
            let values = said.as_object().into_iter().flatten().map(|(name, value)| format!("{}.{name}={value}", keys.join(".")));
            EntryGiven { args: values.flat_map(|value| filled(args, &value)).collect(), ..EntryGiven::default() }
        }
        EntryWithoutFile::Variable { name } => {
            let own = variable(name).map_or(Some(Value::Null), |text| parse(text.as_bytes()).filter(Value::is_object))?;
            EntryGiven { variable: Some((name.clone(), laid_over(own, &keys, said).to_string())), ..EntryGiven::default() }
        }
    })
}

/// What the entry says: a launched agent finds the program by its path, whatever its own `PATH` has.
fn said(entry: &Entry, telling: &Telling<'_>) -> Map<String, Value> {
    let place = telling.place.to_string();
    let arguments = ["mcp", "--host", telling.name, "--place", &place];
    entry.fields.iter().map(|(name, field)| ((*name).to_owned(), value_of(field, telling.program, &arguments))).collect()
}

/// The keys that lead to the entry; none where it is an element of a list.
fn keys(entry: &Entry) -> Option<Vec<&'static str>> {
    let key = |key: &Key| match key {
        Key::Name(name) => Some(*name),
        Key::Own => Some(PROGRAM),
        Key::Event | Key::List(_) | Key::Named(_) => None,
    };
    entry.at.iter().map(key).collect()
}

/// A document with the entry, and all else that it had.
fn laid_over(document: Value, keys: &[&str], said: Value) -> Value {
    let Some((first, rest)) = keys.split_first() else { return said };
    let mut object = if let Value::Object(object) = document { object } else { Map::new() };
    let below = object.remove(*first).unwrap_or_default();
    object.insert((*first).to_owned(), laid_over(below, rest, said));
    Value::Object(object)
}

/// Whether the frith entry in a project file, if there is one, is this place's own: entries are compared by the place
/// they name, never by command or token. A file that cannot be parsed names no place to any program that reads it.
///
/// # Errors
/// [`Refusal::ProjectFile`] when it speaks for another place, or for none in particular.
pub fn require_own(file: &ProjectFile, path: &PathText, bytes: &[u8], place: &PlaceId) -> Result<(), Refusal> {
    let Some(entry) = parse(bytes).and_then(|value| find(value, &file.key_path)) else { return Ok(()) };
    let speaks_for = place_argument(&entry);
    let is_own = speaks_for.as_deref().is_some_and(|named| named == place.to_string());
    if is_own {
        return Ok(());
    }
    let speaks_as = speaks_for.map_or_else(|| "whoever the repository's entry names".to_owned(), |named| format!("place {named}"));
    Err(Refusal::ProjectFile { file: path.clone(), speaks_as })
}

fn parse(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    jsonc_parser::parse_to_serde_value(text.trim_start_matches('\u{feff}'), &jsonc_parser::ParseOptions::default()).ok()
}

fn find(mut value: Value, key_path: &[String]) -> Option<Value> {
    for key in key_path {
        value = value.as_object_mut()?.remove(key)?;
    }
    Some(value)
}

/// What follows `--place` among the entry's words, wherever they stand.
fn place_argument(entry: &Value) -> Option<String> {
    let words = ["command", "args"].into_iter().filter_map(|key| entry.get(key)).flat_map(|value| match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        Value::String(word) => vec![word.as_str()],
        _ => vec![],
    });
    let words: Vec<&str> = words.collect();
    let at = words.iter().position(|word| *word == "--place" || word.starts_with("--place="))?;
    match words[at].strip_prefix("--place=") {
        Some(named) => Some(named.to_owned()),
        None => words.get(at + 1).map(|word| (*word).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), Refusal> {
        let file = ProjectFile { path: ".mcp.json".into(), key_path: vec!["mcpServers".into(), "frith".into()] };
        require_own(&file, &".mcp.json".parse().unwrap(), text.as_bytes(), &PlaceId::from_bytes([1; 16]))
    }

    fn entry(args: &str) -> String {
        format!("// kept\n{{\"mcpServers\": {{\"frith\": {{\"command\": \"frith\", \"args\": [{args}],}}, \"other\": {{}}}}}}")
    }

    #[test]
    fn only_an_entry_for_this_fork_passes() {
        let own = PlaceId::from_bytes([1; 16]);
        for args in [format!("\"mcp\", \"--place\", \"{own}\""), format!("\"--place={own}\"")] {
            assert_eq!(check(&entry(&args)), Ok(()), "{args}");
        }
        let other = PlaceId::from_bytes([2; 16]);
        assert!(matches!(check(&entry(&format!("\"--place\", \"{other}\""))), Err(Refusal::ProjectFile { .. })));
        assert!(matches!(check(&entry("\"mcp\"")), Err(Refusal::ProjectFile { .. })));
    }

    #[test]
    fn files_without_an_entry_of_ours_pass() {
        for text in ["", "{}", "not json", "{\"mcpServers\": {\"other\": {}}}", "[1]"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    fn given(name: &str, may_write: bool, variable: Option<&str>) -> Option<EntryGiven> {
        let kinds = crate::kinds::built_in_kinds();
        let telling = Telling { name, kind: &kinds[name], program: "/opt/fr ith/frith", place: PlaceId::from_bytes([1; 16]), may_write };
        entry_given(&telling, |_| variable.map(str::to_owned))
    }

    #[test]
    fn each_built_in_kind_is_told_of_the_tools_its_own_way() {
        let names = ["claude", "codex", "gemini", "opencode", "qwen"];
        insta::assert_debug_snapshot!(names.map(|name| (name, given(name, true, None), given(name, false, None))));
    }

    #[test]
    fn what_is_written_passes_the_rule_of_the_project_file() {
        for (name, kind) in crate::kinds::built_in_kinds() {
            let Some(GivenFile::Entry { key_path, entry, .. }) = given(&name, true, None).unwrap().file else { continue };
            let keys: Vec<&str> = key_path.iter().map(String::as_str).collect();
            let text = laid_over(Value::Null, &keys, serde_json::from_str(&entry).unwrap()).to_string();
            let file = kind.project_file.unwrap();
            assert_eq!(require_own(&file, &"x".parse().unwrap(), text.as_bytes(), &PlaceId::from_bytes([1; 16])), Ok(()), "{name}");
            assert!(require_own(&file, &"x".parse().unwrap(), text.as_bytes(), &PlaceId::from_bytes([2; 16])).is_err(), "{name}");
        }
    }

    #[test]
    fn what_a_person_has_in_the_variable_stays_and_what_is_no_document_is_left_alone() {
        let theirs = r#"{"theme": "x", "mcp": {"other": {"type": "remote"}}}"#;
        let (_, text) = given("opencode", false, Some(theirs)).unwrap().variable.unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&document["theme"], &document["mcp"]["other"]["type"]), (&"x".into(), &"remote".into()));
        assert_eq!(document["mcp"]["frith"]["command"][1], "mcp");
        assert_eq!(given("opencode", false, Some("[]")), None);
    }
}
