//! The project-file rule: an agent must not find a file in its folder that lets it speak as another place.

use frith_store::{id::PlaceId, refusal::Refusal, text::PathText};
use serde_json::Value;

use crate::env::folders::ProjectFile;

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
}
