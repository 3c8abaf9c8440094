//! Values written as YAML, in lines or between brackets.

use serde_json::{Map, Value};

/// How a document's own values look.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The line end.
    pub line_end: &'a str,
    /// The columns by which a mapping in a mapping is set in.
    pub unit: usize,
    /// The columns by which a list in a mapping is set in.
    pub list_indentation: usize,
}

impl Writer<'_> {
    /// A key with its value, of which the first line begins at a column that is not written.
    pub fn entry(&self, key: &str, value: &Value, column: usize) -> String {
        format!("{}{}", scalar(key), self.value_behind_key(value, column))
    }

    /// What stands behind a key at a column, the colon with it.
    pub fn value_behind_key(&self, value: &Value, column: usize) -> String {
        match value {
            Value::Object(object) if !object.is_empty() => {
                let inner = column + self.unit;
                format!(":{}{}", self.new_line(inner), self.entries(object, inner))
            }
            Value::Array(array) if !array.is_empty() => {
                let inner = column + self.list_indentation;
                let items: Vec<_> = array.iter().map(|item| self.item(item, inner)).collect();
                format!(":{}{}", self.new_line(inner), items.join(&self.new_line(inner)))
            }
            other => format!(": {}", self.flow(other)),
        }
    }

    /// An item with its dash, which stands at a column that is not written.
    pub fn item(&self, value: &Value, column: usize) -> String {
        match value {
            Value::Object(object) if !object.is_empty() => format!("- {}", self.entries(object, column + 2)),
            other => format!("- {}", self.flow(other)),
        }
    }

    fn entries(&self, object: &Map<String, Value>, column: usize) -> String {
        let entries: Vec<_> = object.iter().map(|(key, value)| self.entry(key, value, column)).collect();
        entries.join(&self.new_line(column))
    }

    fn new_line(&self, column: usize) -> String {
        format!("{}{}", self.line_end, " ".repeat(column))
    }

    /// A value in one line.
    pub fn flow(&self, value: &Value) -> String {
        match value {
            Value::String(text) => scalar(text),
            Value::Array(array) => format!("[{}]", array.iter().map(|value| self.flow(value)).collect::<Vec<_>>().join(", ")),
            Value::Object(object) => {
                let pair = |(key, value): (&String, &Value)| format!("{}: {}", self.flow_key(key), self.flow(value));
                format!("{{{}}}", object.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        }
    }

    /// A key between brackets.
    pub fn flow_key(&self, key: &str) -> String {
        scalar(key)
    }
}

/// Words that some parsers take for something else than a text.
const TAKEN: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A text, without quotes where every parser reads it as that text.
fn scalar(text: &str) -> String {
    let is_word = |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '_'));
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
        && is_word(text.strip_prefix("--").unwrap_or(text))
        && !TAKEN.iter().any(|taken| taken.eq_ignore_ascii_case(text));
    if is_plain { text.to_owned() } else { escaped(text) }
}

/// A text in quotes. Characters that end a line for some parser, or are no text for one, are told by their numbers.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in super::json::quoted(text).chars() {
        match letter {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => out.push(letter),
        }
    }
    out
}
