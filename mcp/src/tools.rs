//! Tools, made from the table of operations: name, description, schemas and honest annotations.

use frith_actors::api::{Askers, Effect, OperationInfo, TABLE};
use serde::Serialize;
use serde_json::Value;

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// The schema of its structured answer.
    pub output_schema: Value,
    /// What it does to the world.
    pub annotations: Annotations,
}

/// Hints about what a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may take something away that cannot be brought back.
    pub destructive_hint: bool,
    /// Doing it again changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond the team.
    pub open_world_hint: bool,
}

impl From<Effect> for Annotations {
    fn from(effect: Effect) -> Self {
        Self {
            read_only_hint: effect == Effect::Reads,
            destructive_hint: effect == Effect::Destroys,
            idempotent_hint: matches!(effect, Effect::Reads | Effect::Updates),
            open_world_hint: false,
        }
    }
}

/// The tools of an agent of the supervisor workspace: every operation that an agent may ask for.
pub fn supervisor_tools() -> Vec<Tool> {
    TABLE.iter().filter(|info| info.askers != Askers::People).map(|info| tool(info, info.name.to_owned())).collect()
}

/// The tools of an agent in its own place. Dots become underscores, as most hosts would make them anyway.
pub fn agent_tools() -> Vec<Tool> {
    TABLE.iter().filter(|info| info.askers == Askers::Everyone).map(|info| tool(info, snake(info.name))).collect()
}

fn tool(info: &OperationInfo, name: String) -> Tool {
    let mut input_schema = (info.request_schema)().to_value();
    let description = take_text(&mut input_schema, "description");
    for key in ["title", "$schema"] {
        take_text(&mut input_schema, key);
    }
    Tool { name, description, input_schema, output_schema: (info.reply_schema)().to_value(), annotations: info.effect.into() }
}

fn take_text(schema: &mut Value, key: &str) -> String {
    let taken = schema.as_object_mut().and_then(|object| object.remove(key));
    taken.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// `task.updateStatus` as `task_update_status`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        match c {
            '.' => out.push('_'),
            upper if upper.is_ascii_uppercase() => {
                out.push('_');
                out.push(upper.to_ascii_lowercase());
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_the_tools_of_its_own_place_and_no_others() {
        let names: Vec<String> = agent_tools().into_iter().map(|tool| tool.name).collect();
        for name in ["task_next", "task_list", "task_get", "task_create", "task_update_status", "task_reply"] {
            assert!(names.iter().any(|known| known == name), "{name} is missing from {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("fork") || name.contains("move")), "{names:?}");
    }

    #[test]
    fn the_supervisor_forks_and_merges_and_no_tool_is_a_persons() {
        let names: Vec<String> = supervisor_tools().into_iter().map(|tool| tool.name).collect();
        assert!(names.contains(&"workspace.fork".to_owned()) && names.contains(&"workspace.mergeFork".to_owned()));
        assert!(!names.contains(&"agent.attach".to_owned()) && !names.contains(&"node.down".to_owned()));
    }

    #[test]
    fn every_tool_says_what_it_does_and_merging_is_no_harmless_thing() {
        for tool in supervisor_tools() {
            assert!(!tool.description.is_empty(), "{}", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        }
        let merge = supervisor_tools().into_iter().find(|tool| tool.name == "workspace.mergeFork").unwrap();
        assert!(merge.annotations.destructive_hint && !merge.annotations.read_only_hint);
    }
}
