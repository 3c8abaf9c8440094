//! Answers as a host takes them: structured content is the serialised reply, text is what a model reads best.

use frith_actors::{
    api::{OperationInfo, Request as _, agents::Inbox},
    call::Failed,
};
use frith_store::refusal::Refusal;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

use crate::words::in_tools;

/// The key under which a refusal's code and data stand, for programs.
const REFUSAL_KEY: &str = "frith/refusal";

/// The answer to a tool. `sends`: the messages in it are those that the agent itself has sent.
pub fn answered(info: &OperationInfo, reply: Value, sends: bool) -> CallToolResult {
    let text = match info.name {
        Inbox::NAME => letters(&reply, sends),
        _ => compact(&reply).to_string(),
    };
    with_structure(vec![ContentBlock::text(text)], reply)
}

/// This content, with what it says as data.
pub fn with_structure(content: Vec<ContentBlock>, reply: Value) -> CallToolResult {
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(reply);
    result
}

/// Messages in their frames, as they are pushed; those that the agent sent with what became of each.
fn letters(reply: &Value, sends: bool) -> String {
    let word = |letter: &Value, name: &str| letter[name].as_str().unwrap_or_default().to_owned();
    let told = |letter: &Value| match sends {
        true => format!("to {}, {}: {}", word(letter, "recipient"), word(letter, "state"), Value::from(word(letter, "text"))),
        false => word(letter, "framed"),
    };
    let frames = reply["messages"].as_array().into_iter().flatten().map(told);
    let more = reply["more"].as_u64().filter(|more| *more > 0).map(|more| format!("… and {more} more"));
    let text = frames.chain(more).collect::<Vec<_>>().join("\n");
    if text.is_empty() { "no messages".to_owned() } else { text }
}

/// What there is, without what there is not: a model learns nothing from a field that is null or a list that is empty.
fn compact(value: &Value) -> Value {
    let Value::Object(fields) = value else { return within(value) };
    // A list that was asked for is told also when nothing is in it.
    let there = fields.iter().map(|(name, field)| (name.clone(), within(field))).filter(|(_, field)| !field.is_null());
    Value::Object(there.collect())
}

fn within(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.iter().map(|(name, field)| (name.clone(), within(field))).filter(|(_, field)| !is_nothing(field));
            Value::Object(there.collect())
        }
        Value::Array(items) => items.iter().map(within).collect(),
        other => other.clone(),
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// A refusal or a failure, in the words of the command: an error of the tool, which the model reads.
pub fn failed(failed: &Failed) -> CallToolResult {
    let (facts, hint) = match failed {
        Failed::Refused(refusal) => (vec![refusal.to_string()], refusal.hint()),
        Failed::Broken { facts, hint } => (facts.clone(), hint.clone()),
    };
    let hint = if is_unlinked(failed) { hint } else { hint.map(|hint| in_tools(&hint)) };
    let mut result = wrong(&facts.join(": "), hint.as_deref());
    if let Failed::Refused(refusal) = failed {
        let data = serde_json::to_value(refusal).ok().and_then(|value| value.as_object()?.values().next().cloned());
        let about = json!({ "code": refusal.code(), "data": data });
        result.meta = Some(MetaObject(Map::from_iter([(REFUSAL_KEY.to_owned(), about)])));
    }
    result
}

/// Whether no tool works: then the agent's shell is what is left.
fn is_unlinked(failed: &Failed) -> bool {
    let Failed::Refused(refusal) = failed else { return false };
    matches!(
        **refusal,
        Refusal::NotLinked { .. }
            | Refusal::NotRegistered { .. }
            | Refusal::OutsideSessions { .. }
            | Refusal::SeveralAgents { .. }
            | Refusal::OtherEntry { .. }
    )
}

/// An error of the tool: the fact, then what would mend it.
pub fn wrong(fact: &str, hint: Option<&str>) -> CallToolResult {
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(format!("error: {fact}{hint}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_not_told_what_there_is_not() {
        let reply = json!({ "task": { "id": 1, "holder": null, "done": false, "attachments": [] }, "thread": [], "slots": [null] });
        assert_eq!(compact(&reply).to_string(), r#"{"task":{"id":1,"done":false},"thread":[],"slots":[null]}"#);
    }

    #[test]
    fn messages_are_read_in_their_frames() {
        let reply = json!({ "messages": [{ "framed": "[one]\n> a" }, { "framed": "[two]\n> b" }], "more": 3 });
        assert_eq!(letters(&reply, false), "[one]\n> a\n[two]\n> b\n… and 3 more");
        assert_eq!(letters(&json!({ "messages": [], "more": 0 }), true), "no messages");
        let sent = json!({ "messages": [{ "recipient": "3fa92b1c", "state": "read", "text": "a\nb", "framed": "[x]" }], "more": 0 });
        assert_eq!(letters(&sent, true), "to 3fa92b1c, read: \"a\\nb\"");
    }
}
