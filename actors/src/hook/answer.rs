//! What is written to a host: one JSON object in the shape of its row, or nothing where an object would do harm.

use frith_store::hosts::{Context, EventClass, HookEvent, Host, Says};

/// Whether the host's answers can hold context at all; one that wants it inside the prompt needs the prompt.
pub fn can_hold_context(host: &Host, has_prompt: bool) -> bool {
    match shape_of(host) {
        Some(Context::Nested { .. } | Context::Flat { .. }) => true,
        Some(Context::Prompt { .. }) => has_prompt,
        Some(Context::Text) | None => false,
    }
}

/// The bytes to write for an event: the context where the event takes one, an empty object where there is nothing to say,
/// no byte where the host would take any for something else.
pub fn shape(host: &Host, event: &str, context: Option<&str>, prompt: Option<&str>) -> Vec<u8> {
    let Some(row) = host.event(event) else { return nothing(host) };
    match (row.says, context) {
        (Says::Path, _) => Vec::new(),
        (Says::Context, Some(context)) => with_context(host, row, context, prompt).unwrap_or_else(|| nothing(host)),
        _ => nothing(host),
    }
}

/// What says nothing: an object for a host that reads objects.
fn nothing(host: &Host) -> Vec<u8> {
    let answer = host.hooks.known().and_then(|hooks| hooks.answer.known());
    if answer.is_some_and(|answer| !answer.quiet) { b"{}".to_vec() } else { Vec::new() }
}

fn shape_of(host: &Host) -> Option<&Context> {
    host.hooks.known()?.answer.known()?.context.known()
}

fn with_context(host: &Host, event: &HookEvent, context: &str, prompt: Option<&str>) -> Option<Vec<u8>> {
    let object = match shape_of(host)? {
        Context::Nested { outer, event: name, field } => {
            let said = name.map(|name| format!("{}:{},", text(name), text(event.name))).unwrap_or_default();
            format!("{{{}:{{{said}{}:{}}}}}", text(outer), text(field), text(context))
        }
        Context::Flat { field } => format!("{{{}:{}}}", text(field), text(context)),
        Context::Prompt { field } => {
            let prompt = prompt.filter(|_| event.class == EventClass::Prompt)?;
            format!("{{{}:{}}}", text(field), text(&format!("{prompt}\n\n{context}")))
        }
        Context::Text => return None,
    };
    Some(object.into_bytes())
}

/// A text as JSON.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use frith_store::hosts;
    use serde_json::{Value, json};

    fn said(host: &str, event: &str, context: Option<&str>) -> String {
        String::from_utf8(shape(hosts::host(host).unwrap(), event, context, Some("do it"))).unwrap()
    }

    #[test]
    fn b13_each_family_gets_its_shape() {
        let hostile = "a\"b\n</x>\u{1}é";
        let cases = [
            (
                "claude",
                "UserPromptSubmit",
                json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": hostile}}),
            ),
            ("gemini", "AfterTool", json!({"hookSpecificOutput": {"additionalContext": hostile}})),
            ("cursor", "postToolUse", json!({"additional_context": hostile})),
            ("copilot", "postToolUse", json!({"additionalContext": hostile})),
            ("cline", "PostToolUse", json!({"context": hostile})),
            (
                "qwen",
                "PostToolUseFailure",
                json!({"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": hostile}}),
            ),
            ("codewhale", "message_submit", json!({"text": format!("do it\n\n{hostile}")})),
        ];
        for (host, event, wanted) in cases {
            assert_eq!(serde_json::from_str::<Value>(&said(host, event, Some(hostile))).unwrap(), wanted, "{host}");
            assert_eq!(said(host, event, None), "{}");
        }
    }

    #[test]
    fn an_event_that_takes_no_context_never_gets_one() {
        let cases = [
            ("claude", "Stop"),
            ("claude", "SessionEnd"),
            ("claude", "SubagentStop"),
            ("claude", "NoSuchEvent"),
            ("cursor", "beforeSubmitPrompt"),
            ("windsurf", "post_run_command"),
            ("codewhale", "session_start"),
            ("copilot", "userPromptSubmitted"),
        ];
        for (host, event) in cases {
            assert_eq!(said(host, event, Some("mail")), "{}", "{host} {event}");
        }
    }

    #[test]
    fn where_an_object_would_do_harm_nothing_is_written() {
        assert_eq!(said("claude", "WorktreeCreate", Some("mail")), "", "an object on this event hangs its host");
        assert_eq!(said("kiro", "agentSpawn", Some("mail")), "", "this host would show an object to its model");
        assert_eq!(said("reasonix", "PreCompact", None), "", "this host would summarize by an object");
        assert_eq!(said("kimi", "UserPromptSubmit", None), "", "and this one would show it to its model");
        assert_eq!(said("kimi", "PostToolUse", Some("mail")), "", "nor is anything read after a tool");
        assert_eq!(said("kimi", "UserPromptSubmit", Some("mail")), r#"{"message":"mail"}"#);
        assert_eq!(said("crush", "PreToolUse", None), "");
    }

    #[test]
    fn a_prompt_that_is_not_known_is_not_rewritten() {
        let host = hosts::host("codewhale").unwrap();
        assert_eq!(shape(host, "message_submit", Some("mail"), None), b"{}");
    }

    #[test]
    fn every_answer_of_every_host_is_an_object_with_the_event_s_own_name_or_nothing() {
        for host in hosts::all() {
            for event in host.hooks.known().map_or(&[][..], |hooks| hooks.events) {
                let bytes = shape(host, event.name, Some("mail"), Some("do it"));
                if bytes.is_empty() {
                    continue;
                }
                let answer: Value = serde_json::from_slice(&bytes).unwrap();
                assert!(answer.is_object());
                if let Some(name) = answer.pointer("/hookSpecificOutput/hookEventName") {
                    assert_eq!(name, event.name);
                }
                assert_eq!(bytes != b"{}", event.says == Says::Context && can_hold_context(host, true), "{} {}", host.id, event.name);
            }
        }
    }
}
