//! Tools, made from the table of operations: name, description, schemas and honest annotations.

use frith_actors::api::{Effect, Offered, OperationInfo, TABLE, attachment, operation};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::Value;

use crate::{
    files::Fetched,
    schema::{self, Whose},
};

/// Which tools an agent is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Those that see other agents and talk to them.
    pub agents: bool,
    /// Those of the place it works in.
    pub placed: bool,
    /// Those of worktrees.
    pub worktrees: bool,
}

impl Shown {
    /// All of them.
    pub const ALL: Self = Self { agents: true, placed: true, worktrees: true };
}

/// The tools of an agent in its own place. Dots become underscores, as most hosts would make them anyway.
pub fn agent_tools(shown: Shown) -> Vec<Tool> {
    let is_shown = |info: &&OperationInfo| match info.offered {
        Offered::Agents => shown.agents,
        Offered::Worktrees => shown.worktrees,
        Offered::Placed | Offered::PlacedAndSupervisors => shown.placed,
        Offered::Supervisors | Offered::Nobody => false,
    };
    TABLE.iter().filter(is_shown).map(|info| tool(info, snake(info.name), Whose::Agents)).collect()
}

/// The tools of an agent of the supervisor workspace.
pub fn supervisor_tools() -> Vec<Tool> {
    let is_shown = |info: &&OperationInfo| matches!(info.offered, Offered::Supervisors | Offered::PlacedAndSupervisors);
    TABLE.iter().filter(is_shown).map(|info| tool(info, info.name.to_owned(), Whose::Supervisors)).collect()
}

/// The operation that an agent's tool asks for.
pub fn asked_by(tool: &str) -> Option<&'static OperationInfo> {
    let is_agents = |info: &&OperationInfo| {
        matches!(info.offered, Offered::Agents | Offered::Worktrees | Offered::Placed | Offered::PlacedAndSupervisors)
    };
    TABLE.iter().filter(is_agents).find(|info| snake(info.name) == tool)
}

/// The arguments that an agent's tool takes.
pub fn takes(info: &OperationInfo) -> Vec<String> {
    let schema = schema::arguments(&(info.request_schema)().to_value(), Whose::Agents);
    schema["properties"].as_object().map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// Whether an operation is the one whose answer is a file.
pub fn is_file(info: &OperationInfo) -> bool {
    operation(<attachment::Get as frith_actors::api::Request>::NAME).is_some_and(|get| std::ptr::eq(get, info))
}

fn tool(info: &OperationInfo, name: String, whose: Whose) -> Tool {
    let request = (info.request_schema)().to_value();
    let reply = if is_file(info) { schemars::schema_for!(Fetched) } else { (info.reply_schema)() };
    let description = request["description"].as_str().unwrap_or_default().to_owned();
    Tool::new(name, description, schema::arguments(&request, whose))
        .with_raw_output_schema(schema::answer(&Value::from(reply)).into())
        .with_annotations(annotations(info.effect))
}

/// What a tool does to the world, as far as that is not what a host takes for granted of one that says nothing.
fn annotations(effect: Effect) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(false);
    match effect {
        Effect::Reads => hints.read_only(true),
        Effect::Adds => hints.destructive(false),
        Effect::Updates => hints.destructive(false).idempotent(true),
        Effect::Destroys => hints.destructive(true),
    }
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

    fn names(tools: Vec<Tool>) -> Vec<String> {
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    #[test]
    fn an_agent_gets_the_tools_of_the_specification_and_no_others() {
        let mut all = names(agent_tools(Shown::ALL));
        all.sort_unstable();
        let expected = [
            "agent_inbox",
            "agent_send",
            "agent_show",
            "agent_status_set",
            "agents_list",
            "attachment_get",
            "memory_delete",
            "memory_list",
            "memory_load",
            "memory_save",
            "site_list",
            "skill_load",
            "task_create",
            "task_get",
            "task_list",
            "task_next",
            "task_reply",
            "task_update_status",
            "whoami",
            "worktree_add",
            "worktree_adopt",
            "worktree_list",
            "worktree_remove",
        ];
        assert_eq!(all, expected);
        let shown = |shown: Shown| names(agent_tools(shown));
        assert!(shown(Shown { agents: false, ..Shown::ALL }).iter().all(|name| !name.starts_with("agent")));
        assert!(shown(Shown { worktrees: false, ..Shown::ALL }).iter().all(|name| !name.starts_with("worktree")));
        let unplaced = shown(Shown { placed: false, worktrees: false, ..Shown::ALL });
        assert!(unplaced.iter().all(|name| name.starts_with("agent") || name == "whoami"));
    }

    #[test]
    fn hints_name_tools_that_there_are() {
        for (command, tool) in crate::TOOLS_OF_COMMANDS {
            assert!(asked_by(tool).is_some(), "`{command}` is told to be `{tool}`");
        }
    }

    #[test]
    fn the_supervisor_forks_and_merges_and_no_tool_is_a_persons() {
        let names = names(supervisor_tools());
        assert!(names.contains(&"workspace.fork".to_owned()) && names.contains(&"workspace.mergeFork".to_owned()));
        assert!(!names.contains(&"agent.attach".to_owned()) && !names.contains(&"node.down".to_owned()));
    }

    #[test]
    fn no_tool_and_no_argument_names_who_calls() {
        for tool in agent_tools(Shown::ALL) {
            let arguments: Vec<String> = tool.input_schema["properties"].as_object().unwrap().keys().cloned().collect();
            let callers = ["from", "sender", "owner", "caller", "me", "workspace"];
            assert!(!arguments.iter().any(|name| callers.contains(&name.as_str())), "{}: {arguments:?}", tool.name);
        }
    }

    #[test]
    fn every_tool_says_what_it_does_and_what_a_change_does() {
        for tool in agent_tools(Shown::ALL).into_iter().chain(supervisor_tools()) {
            assert!(tool.description.is_some_and(|text| !text.is_empty()), "{}", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert!(tool.output_schema.is_some(), "{}", tool.name);
        }
        let merge = supervisor_tools().into_iter().find(|tool| tool.name == "workspace.mergeFork").unwrap().annotations.unwrap();
        assert_eq!((merge.destructive_hint, merge.read_only_hint), (Some(true), None));
    }
}
