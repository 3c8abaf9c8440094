//! Skills as resources: `skill://<name>/<path>` is a file of a skill that is on where the agent works.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use frith_actors::{
    api::skill::{List, Load},
    call::Failed,
};
use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};

use crate::{call::Asker, words::in_tools};

/// How an address of a skill's file begins.
const SCHEME: &str = "skill://";
/// The file that each skill has.
const FIRST: &str = "SKILL.md";

/// The first file of each skill that is on; none for a process that works for no agent, or in no place.
pub async fn list(asker: &Asker) -> Vec<Resource> {
    let listed = asker.ask_for(List::default(), None).await;
    let skills = listed.map(|listed| listed.skills).unwrap_or_default();
    let resource = |name: &str, description: &str| {
        Resource::new(format!("{SCHEME}{name}/{FIRST}"), name).with_description(description).with_mime_type("text/markdown")
    };
    skills.iter().map(|info| resource(&info.skill.name, &info.skill.description)).collect()
}

/// How the other files are named.
pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{name}}/{{+path}}"), "skill").with_description("A file of a skill; its SKILL.md names them.")
}

/// Reads one.
///
/// # Errors
/// The address names none that is on, or the node failed.
pub async fn read(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (name, path) = parts(uri).ok_or_else(|| ErrorData::resource_not_found(format!("`{uri}` is no file of a skill"), None))?;
    let load = Load { name: name.to_owned(), file: Some(path.to_owned()), workspace: None };
    let loaded = asker.ask_for(load, None).await.map_err(unread)?;
    let contents = match (loaded.text, loaded.bytes) {
        (Some(text), _) => {
            ResourceContents::text(text, uri).with_mime_type(if path.ends_with(".md") { "text/markdown" } else { "text/plain" })
        }
        (None, bytes) => ResourceContents::blob(STANDARD.encode(bytes.unwrap_or_default().0), uri),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn parts(uri: &str) -> Option<(&str, &str)> {
    let (name, path) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    (!name.is_empty() && !path.is_empty()).then_some((name, path))
}

fn unread(failed: Failed) -> ErrorData {
    match failed {
        Failed::Refused(refusal) => {
            let hint = refusal.hint().map(|hint| format!("; {}", in_tools(&hint))).unwrap_or_default();
            ErrorData::resource_not_found(format!("{refusal}{hint}"), None)
        }
        Failed::Broken { facts, .. } => ErrorData::internal_error(facts.join(": "), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_skill_and_a_file_of_it() {
        assert_eq!(parts("skill://pdf/SKILL.md"), Some(("pdf", "SKILL.md")));
        assert_eq!(parts("skill://pdf/a/b.txt"), Some(("pdf", "a/b.txt")));
        for none in ["skill://pdf", "skill:///x", "skill://pdf/", "file://pdf/x"] {
            assert_eq!(parts(none), None, "{none}");
        }
    }
}
