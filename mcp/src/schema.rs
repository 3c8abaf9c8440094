//! Schemas as models are shown them: what says nothing to a model costs tokens in each of its sessions, and is left out.
//!
//! A field of a request says by `x-tool` that it is no argument of a tool (`never`), one of the supervisor's alone (`supervisors`),
//! or one that a tool cannot do without although a command can (`required`).

use serde_json::{Map, Value, json};

/// A schema's object.
pub type Schema = Map<String, Value>;

/// Whose tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of an agent in its own place.
    Agents,
    /// Those of an agent of the supervisor workspace.
    Supervisors,
}

/// What says nothing to a model.
const NOISE: &[&str] = &["$schema", "title", "format", "default", "x-tool", "minimum", "contentEncoding"];

/// The schema of a tool's arguments, from that of its request.
pub fn arguments(request: &Value, whose: Whose) -> Schema {
    let none = Map::new();
    let definitions = request["$defs"].as_object().unwrap_or(&none);
    let (mut properties, mut required) = (Map::new(), names(&request["required"]));
    for (name, field) in request["properties"].as_object().unwrap_or(&none) {
        match (field["x-tool"].as_str(), whose) {
            (Some("never"), _) | (Some("supervisors"), Whose::Agents) => {
                required.retain(|known| known != name);
                continue;
            }
            (Some("required"), _) if !required.contains(name) => required.push(name.clone()),
            _ => {}
        }
        let mut field = plain(field, definitions);
        if says_only(&field, name) {
            field.as_object_mut().map(|field| field.remove("description"));
        }
        properties.insert(name.clone(), field);
    }
    let mut schema = Map::from_iter([("type".into(), json!("object")), ("properties".into(), properties.into())]);
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema
}

/// The schema of a tool's structured answer: its fields, which are there whatever they hold. What they hold is seen in the answer
/// itself, and to tell it of each would cost a model more than all the rest.
pub fn answer(reply: &Value) -> Schema {
    let fields: Vec<&String> = reply["properties"].as_object().into_iter().flat_map(Map::keys).collect();
    Map::from_iter([("type".into(), json!("object")), ("required".into(), json!(fields))])
}

/// Whether a field's description says no more than its name does.
fn says_only(field: &Value, name: &str) -> bool {
    field["description"].as_str().is_some_and(|text| text == format!("The {name}.") || text == format!("Its {name}."))
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// A schema without references, alternatives to nothing, and noise.
fn plain(schema: &Value, definitions: &Schema) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let meant = referred(object, definitions).or_else(|| alternative(object));
    let mut merged = meant.and_then(|meant| plain(meant, definitions).as_object().cloned()).unwrap_or_default();
    if merged.contains_key("type") {
        // What a type says of itself is said of the field that has it.
        merged.remove("description");
    }
    let beside = object.iter().filter(|(key, _)| !["$ref", "anyOf", "oneOf"].contains(&key.as_str()));
    for (key, value) in beside.filter(|(key, _)| !NOISE.contains(&key.as_str())) {
        let value = match key.as_str() {
            "type" => without_null(value),
            "items" => plain(value, definitions),
            _ => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    if let Some(words) = words(object) {
        merged.insert("type".into(), json!("string"));
        merged.insert("enum".into(), words);
    }
    merged.into()
}

fn referred<'a>(object: &Schema, definitions: &'a Schema) -> Option<&'a Value> {
    definitions.get(object.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?)
}

/// What there is beside nothing.
fn alternative(object: &Schema) -> Option<&Value> {
    object.get("anyOf")?.as_array()?.iter().find(|one| one["type"] != "null")
}

fn without_null(kind: &Value) -> Value {
    let some = kind.as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null"));
    some.unwrap_or(kind).clone()
}

/// The words of an enumeration that says something of each.
fn words(object: &Schema) -> Option<Value> {
    let words: Option<Vec<Value>> = object.get("oneOf")?.as_array()?.iter().map(|one| one.get("const").cloned()).collect();
    words.map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Value {
        json!({
            "$schema": "x", "title": "Add", "description": "Add.", "type": "object", "required": ["hidden"],
            "properties": {
                "title": { "type": "string", "description": "On one line.", "default": "", "x-tool": "required" },
                "status": { "anyOf": [{ "$ref": "#/$defs/Status" }, { "type": "null" }], "description": "Which." },
                "task": { "$ref": "#/$defs/TaskRef", "description": "The task." },
                "limit": { "type": ["integer", "null"], "format": "uint32", "minimum": 0 },
                "hidden": { "type": "string", "x-tool": "never" },
                "workspace": { "type": "string", "x-tool": "supervisors" },
            },
            "$defs": {
                "Status": { "description": "A status.", "oneOf": [{ "const": "on", "description": "On." }, { "const": "off" }] },
                "TaskRef": { "description": "A task, named.", "type": "string" },
            },
        })
    }

    #[test]
    fn arguments_say_what_a_model_needs_and_nothing_else() {
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "On one line." },
                "status": { "type": "string", "enum": ["on", "off"], "description": "Which." },
                "task": { "type": "string" },
                "limit": { "type": "integer" },
            },
            "required": ["title"],
        });
        assert_eq!(Value::from(arguments(&request(), Whose::Agents)), expected);
        assert!(arguments(&request(), Whose::Supervisors)["properties"].get("workspace").is_some());
    }

    #[test]
    fn an_answer_tells_its_own_fields() {
        let reply = json!({ "properties": { "task": { "type": "object" }, "place": {} } });
        assert_eq!(Value::from(answer(&reply)), json!({ "type": "object", "required": ["task", "place"] }));
    }
}
