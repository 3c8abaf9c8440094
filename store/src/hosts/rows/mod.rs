//! The rows, in files by what kind of hooks the hosts have, and what hosts of one family share.

mod flat;
mod here;
mod nested;
mod unused;
mod without;

use super::{Answer, Context, EventName, Fact, Fact::Known, Folder, Host, Input, Payload, Permission, Step::Key};

/// Every host, in the order of `hosts.json`.
pub(super) static ALL: &[&Host] = &[
    &nested::CLAUDE,
    &flat::CURSOR,
    &nested::CODEX,
    &unused::WINDSURF,
    &nested::DEVIN,
    &without::KILO,
    &unused::GROK,
    &without::MIMO,
    &without::OMP,
    &unused::ANTIGRAVITY,
    &without::OPENCODE,
    &without::PI,
    &nested::ZCODE,
    &nested::KIMI,
    &flat::COPILOT,
    &unused::VSCODE,
    &nested::COMMANDCODE,
    &nested::GEMINI,
    &flat::CLINE,
    &without::ROO,
    &without::JUNIE,
    &unused::DROID,
    &unused::KIRO,
    &without::AMP,
    &without::WARP,
    &unused::CRUSH,
    &unused::OPENHANDS,
    &unused::AUGMENT,
    &unused::REASONIX,
    &nested::QWEN,
    &nested::CODEBUDDY,
    &without::GOOSE,
    &without::CONTINUE,
    &flat::CODEWHALE,
    &without::AIDER,
    &without::ZED,
];

/// The fields that the first host of the family has and most others took over.
const CLAUDE_PAYLOAD: Payload = Payload {
    assumed: false,
    session: Known(&[&[Key("session_id")]]),
    folder: Known(Folder { paths: &[&[Key("cwd")]], variable: None }),
    event: Known(EventName::Field("hook_event_name")),
    tool: Known(&[&[Key("tool_name")]]),
    nameless_tool: None,
    input: Known(Input { paths: &[&[Key("tool_input")]], may_be_encoded: false }),
    response: Known(&[&[Key("tool_response")]]),
    tool_use: Fact::Undocumented,
    prompt: Known(&[&[Key("prompt")]]),
    model: Fact::Undocumented,
    model_at_start_only: false,
    sub_agent: Fact::Undocumented,
    start_source: Fact::Undocumented,
    transcript: Known(&[&[Key("transcript_path")]]),
    extras: &[],
};

/// The answer that the first host of the family takes and most others took over.
const CLAUDE_ANSWER: Answer = Answer {
    context: Known(Context::Nested { outer: "hookSpecificOutput", event: Some("hookEventName"), field: "additionalContext" }),
    permission: Known(Permission::NestedDecision),
    rewrite_input: Known(&["hookSpecificOutput", "updatedInput"]),
    replace_result: Fact::None,
    quiet: false,
};
