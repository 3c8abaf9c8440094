//! How hosts behave towards what they start, as measured or documented: which events they tell of, in which shape, and with
//! which variables. Rows of data for the hosts of tests; the product has its own table, and these two never see each other.

use std::{fs, path::Path};

use serde_json::{Value, json};

/// What a host calls the events that tests play; empty where it has none.
#[derive(Debug, Clone, Copy)]
pub struct Events {
    /// A session starts.
    pub start: &'static str,
    /// A person said something.
    pub prompt: &'static str,
    /// A tool is about to run.
    pub before_tool: &'static str,
    /// A tool has run.
    pub tool: &'static str,
    /// The agent waits at its prompt.
    pub stop: &'static str,
    /// The session is over.
    pub end: &'static str,
    /// A sub-agent starts.
    pub sub_start: &'static str,
    /// A sub-agent is done.
    pub sub_stop: &'static str,
}

/// What a variable holds.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// The host's own id of the session.
    Session,
    /// The folder that the session started in.
    Folder,
    /// The file that hooks may write exports into.
    Exports,
    /// This.
    Text(&'static str),
}

/// Variables.
pub type Variables = &'static [(&'static str, Holds)];

/// How one host behaves.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// The host, as `--host` names it.
    pub host: &'static str,
    /// Its events.
    pub events: Events,
    /// The fields in which payloads tell the session, the folder and the event.
    pub fields: Fields,
    /// What a payload says of a tool that ran this command.
    pub tool: fn(&str) -> Value,
    /// What its hooks find in their environment.
    pub in_hooks: Variables,
    /// The same of the hook at a session's start, besides.
    pub in_first_hook: Variables,
    /// What the agent's shell finds.
    pub in_shell: Variables,
    /// What its MCP servers find.
    pub in_servers: Variables,
}

/// The fields in which payloads tell what all of them do.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// The session.
    pub session: &'static str,
    /// The folder.
    pub folder: &'static str,
    /// Whether that is a list with the folder first.
    pub folders: bool,
    /// The event; none where only the command line tells.
    pub event: Option<&'static str>,
}

impl Habits {
    /// Those of this host.
    ///
    /// # Panics
    /// There is no row for it.
    #[track_caller]
    pub fn of(host: &str) -> &'static Self {
        let found = ROWS.iter().find(|row| row.host == host);
        found.unwrap_or_else(|| panic!("no row tells how `{host}` behaves"))
    }

    /// A payload of an event as the main agent of a session in a folder causes it: as it was measured, where it was.
    pub fn payload(&self, event: &str, session: &str, folder: &Path) -> Value {
        let folder = folder.to_string_lossy();
        let mut payload = self.measured(event);
        for sub_agents in ["agent_id", "agent_type", "agentName"] {
            payload.as_object_mut().map(|payload| payload.shift_remove(sub_agents));
        }
        if payload.get("cwd").is_some() {
            payload["cwd"] = json!(folder);
        }
        payload[self.fields.session] = json!(session);
        payload[self.fields.folder] = if self.fields.folders { json!([folder]) } else { json!(folder) };
        if let Some(field) = self.fields.event {
            payload[field] = json!(event);
        }
        payload
    }

    fn measured(&self, event: &str) -> Value {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks").join(self.host).join(format!("{event}.json"));
        let text = fs::read_to_string(fixture).unwrap_or_default();
        serde_json::from_str(&text).ok().filter(Value::is_object).unwrap_or_else(|| json!({}))
    }
}

const CLAUDES: Fields = Fields { session: "session_id", folder: "cwd", folders: false, event: Some("hook_event_name") };

const CLAUDES_EVENTS: Events = Events {
    start: "SessionStart",
    prompt: "UserPromptSubmit",
    before_tool: "PreToolUse",
    tool: "PostToolUse",
    stop: "Stop",
    end: "SessionEnd",
    sub_start: "SubagentStart",
    sub_stop: "SubagentStop",
};

fn claudes_tool(command: &str) -> Value {
    json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": { "stdout": "", "stderr": "" } })
}

/// One row for each host.
const ROWS: &[Habits] = &[
    Habits {
        host: "claude",
        events: CLAUDES_EVENTS,
        fields: CLAUDES,
        tool: claudes_tool,
        in_hooks: &[
            ("CLAUDECODE", Holds::Text("1")),
            ("CLAUDE_CODE_SESSION_ID", Holds::Session),
            ("CLAUDE_PROJECT_DIR", Holds::Folder),
            ("AI_AGENT", Holds::Text("claude-code_2-1-197_harness")),
        ],
        in_first_hook: &[("CLAUDE_ENV_FILE", Holds::Exports)],
        in_shell: &[
            ("CLAUDECODE", Holds::Text("1")),
            ("CLAUDE_CODE_SESSION_ID", Holds::Session),
            ("AI_AGENT", Holds::Text("claude-code_2-1-197_agent")),
        ],
        in_servers: &[("CLAUDECODE", Holds::Text("1")), ("CLAUDE_CODE_SESSION_ID", Holds::Session), ("CLAUDE_PROJECT_DIR", Holds::Folder)],
    },
    Habits {
        host: "codex",
        events: CLAUDES_EVENTS,
        fields: CLAUDES,
        tool: |command| json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": "", "model": "gpt-5-codex" }),
        in_hooks: &[],
        in_first_hook: &[],
        in_shell: &[("CODEX_SESSION_ID", Holds::Session), ("CODEX_THREAD_ID", Holds::Session)],
        in_servers: &[],
    },
    Habits {
        host: "gemini",
        events: Events {
            start: "SessionStart",
            prompt: "BeforeAgent",
            before_tool: "BeforeTool",
            tool: "AfterTool",
            stop: "AfterAgent",
            end: "SessionEnd",
            sub_start: "",
            sub_stop: "",
        },
        fields: CLAUDES,
        tool: |command| json!({ "tool_name": "run_shell_command", "tool_input": { "command": command }, "tool_response": { "llmContent": "" } }),
        in_hooks: &[
            ("GEMINI_SESSION_ID", Holds::Session),
            ("GEMINI_PROJECT_DIR", Holds::Folder),
            ("GEMINI_CWD", Holds::Folder),
            ("CLAUDE_PROJECT_DIR", Holds::Folder),
        ],
        in_first_hook: &[],
        in_shell: &[("GEMINI_CLI", Holds::Text("1"))],
        in_servers: &[("GEMINI_CLI", Holds::Text("1"))],
    },
    Habits {
        host: "qwen",
        events: CLAUDES_EVENTS,
        fields: CLAUDES,
        tool: claudes_tool,
        in_hooks: &[("QWEN_PROJECT_DIR", Holds::Folder), ("GEMINI_PROJECT_DIR", Holds::Folder), ("CLAUDE_PROJECT_DIR", Holds::Folder)],
        in_first_hook: &[],
        in_shell: &[("QWEN_CODE", Holds::Text("1"))],
        in_servers: &[],
    },
    Habits {
        host: "cursor",
        events: Events {
            start: "sessionStart",
            prompt: "",
            before_tool: "preToolUse",
            tool: "postToolUse",
            stop: "stop",
            end: "sessionEnd",
            sub_start: "subagentStart",
            sub_stop: "subagentStop",
        },
        fields: Fields { session: "conversation_id", folder: "workspace_roots", folders: true, event: Some("hook_event_name") },
        tool: |command| json!({ "tool_name": "Shell", "tool_input": { "command": command }, "tool_output": "", "model": "auto" }),
        in_hooks: &[],
        in_first_hook: &[],
        in_shell: &[],
        in_servers: &[],
    },
    Habits {
        host: "copilot",
        events: Events {
            start: "sessionStart",
            prompt: "userPromptSubmitted",
            before_tool: "preToolUse",
            tool: "postToolUse",
            stop: "agentStop",
            end: "sessionEnd",
            sub_start: "subagentStart",
            sub_stop: "subagentStop",
        },
        fields: Fields { session: "sessionId", folder: "cwd", folders: false, event: None },
        tool: |command| json!({ "toolName": "bash", "toolArgs": json!({ "command": command }).to_string(), "toolResult": {} }),
        in_hooks: &[],
        in_first_hook: &[],
        in_shell: &[],
        in_servers: &[],
    },
    Habits {
        host: "cline",
        events: Events {
            start: "TaskStart",
            prompt: "UserPromptSubmit",
            before_tool: "PreToolUse",
            tool: "PostToolUse",
            stop: "",
            end: "TaskCancel",
            sub_start: "",
            sub_stop: "",
        },
        fields: Fields { session: "taskId", folder: "workspaceRoots", folders: true, event: None },
        tool: |command| {
            json!({
                "hookName": "tool_result",
                "tool_result": { "name": "execute_command", "input": { "command": command }, "output": "" },
                "postToolUse": { "toolName": "execute_command", "parameters": { "command": command }, "result": "" },
            })
        },
        in_hooks: &[],
        in_first_hook: &[],
        in_shell: &[],
        in_servers: &[],
    },
    Habits {
        host: "codewhale",
        events: Events {
            start: "session_start",
            prompt: "message_submit",
            before_tool: "tool_call_before",
            tool: "tool_call_after",
            stop: "",
            end: "session_end",
            sub_start: "",
            sub_stop: "",
        },
        fields: Fields { session: "session_id", folder: "workspace", folders: false, event: Some("event") },
        tool: |_| json!({ "model": "deepseek", "mode": "agent", "total_tokens": 7 }),
        in_hooks: &[("DEEPSEEK_SESSION_ID", Holds::Session), ("DEEPSEEK_WORKSPACE", Holds::Folder)],
        in_first_hook: &[],
        in_shell: &[],
        in_servers: &[],
    },
    Habits {
        host: "grok",
        events: CLAUDES_EVENTS,
        fields: Fields { session: "sessionId", folder: "cwd", folders: false, event: Some("hookEventName") },
        tool: |command| json!({ "toolName": "bash", "toolInput": { "command": command }, "toolResponse": "" }),
        in_hooks: &[("GROK_SESSION_ID", Holds::Session), ("GROK_WORKSPACE_ROOT", Holds::Folder)],
        in_first_hook: &[],
        in_shell: &[("GROK_SESSION_ID", Holds::Session)],
        in_servers: &[("GROK_SESSION_ID", Holds::Session)],
    },
    Habits {
        host: "goose",
        events: Events { start: "", prompt: "", before_tool: "", tool: "", stop: "", end: "", sub_start: "", sub_stop: "" },
        fields: CLAUDES,
        tool: |_| Value::Null,
        in_hooks: &[],
        in_first_hook: &[],
        in_shell: &[],
        in_servers: &[],
    },
];
