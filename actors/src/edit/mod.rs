//! Texts of configuration files, changed in one place without touching another byte.
//!
//! Pure: texts in, texts out. A text is parsed for where things stand, and what changes is cut out of it or put into it
//! there; it is never written anew from what was parsed. What is put follows the text's own indentation and line ends, and
//! can be taken back to the byte: a put that could not is refused.

mod brackets;
mod json;
mod layout;
mod splice;
mod toml;
mod toml_tree;
mod yaml;
mod yaml_tree;
mod yaml_write;

use std::ops::Range;

use frith_store::hosts::Format;
use serde_json::Value;

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The value of this key, which may hold a dot.
    Key(String),
    /// The first element of a list for which this holds; where none does, a last step may add one at the end.
    Item(Match),
}

/// What tells one element of a list from the others.
#[derive(Debug, Clone, PartialEq)]
pub enum Match {
    /// Its value for a key is this text.
    Field {
        /// The key.
        key: String,
        /// The text.
        is: String,
    },
    /// It is equal to this value, in whatever order keys stand.
    Equal(Value),
}

impl Match {
    /// Whether it holds for an element.
    pub fn holds_for(&self, element: &Value) -> bool {
        match self {
            Self::Field { key, is } => element.get(key).and_then(Value::as_str) == Some(is),
            Self::Equal(value) => element == value,
        }
    }
}

/// A text that something was put into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The text.
    pub text: String,
    /// How many of the containers on the way did not exist and were made; the document is one where there was no file.
    pub made: usize,
}

/// Why a text cannot be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not of its format.
    #[error("line {line}, column {column}: {fault}")]
    NotParsed {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there.
        fault: String,
    },
    /// What should be an object or a list is something else.
    #[error("`{at}` is something else than {wanted}")]
    OtherShape {
        /// The keys that lead there.
        at: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A step leads to nothing, and only a value could be made there.
    #[error("nothing stands at `{at}`, and it cannot be made")]
    NotThere {
        /// The keys that lead there.
        at: String,
    },
    /// The format has no such value.
    #[error("`{at}` cannot hold `{value}` in this format")]
    NoSuchValue {
        /// The keys that lead there.
        at: String,
        /// The value, as JSON.
        value: String,
    },
    /// It could not be taken back to the byte.
    #[error("`{at}` cannot be changed without changing more of the text")]
    Inexact {
        /// The keys that lead there.
        at: String,
    },
    /// Files of this format have no text that could be changed.
    #[error("an executable file is no text to change")]
    NoText,
}

/// What stands at a path; none when nothing does, or when there is no file.
///
/// # Errors
/// The text is not of its format, or a step meets a value of another shape.
pub fn read(format: Format, text: Option<&str>, at: &[Step]) -> Result<Option<Value>, EditError> {
    let Some(text) = text else { return Ok(None) };
    match format {
        Format::Json | Format::Jsonc => json::read(body(text), at),
        Format::Toml => toml::read(body(text), at),
        Format::Yaml => yaml::read(body(text), at),
        Format::Executables => Err(EditError::NoText),
    }
}

/// The text with this value at a path, every other byte as it was. No text stands for a file that is not there.
///
/// # Errors
/// The text is not of its format, the path leads through something else or cannot be made, or what was put could not be
/// taken back to the byte.
pub fn put(format: Format, text: Option<&str>, at: &[Step], value: &Value) -> Result<Put, EditError> {
    let there = read(format, text, at)?;
    if let (Some(text), Some(there)) = (text, &there)
        && there == value
    {
        return Ok(Put { text: text.to_owned(), made: 0 });
    }
    require_way(at, value)?;
    let put = changed(format, text, at, value)?;
    if holds(format, text, at, value, &put, there.is_some()).unwrap_or(false) {
        return Ok(put);
    }
    Err(EditError::Inexact { at: words(at) })
}

/// Whether a put did what it should and nothing else, and comes back to the byte where nothing stood before. An error is a
/// text that cannot be read any more.
fn holds(format: Format, text: Option<&str>, at: &[Step], value: &Value, put: &Put, was_there: bool) -> Result<bool, EditError> {
    let comes_back = was_there || take(format, Some(&put.text), at, put.made)?.as_deref() == text;
    // A member of JSON stands between tokens and changes no other; lines can change what is said in lines beside them.
    let is_alone = matches!(format, Format::Json | Format::Jsonc) || {
        let mut before = read(format, text, &[])?.unwrap_or_default();
        set(&mut before, at, value);
        read(format, Some(&put.text), &[])?.as_ref() == Some(&before)
    };
    Ok(comes_back && is_alone && read(format, Some(&put.text), at)?.as_ref() == Some(value))
}

/// Puts a value into what a text says, with the containers that it needs.
fn set(whole: &mut Value, at: &[Step], value: &Value) {
    let Some((first, rest)) = at.split_first() else { return whole.clone_from(value) };
    match first {
        Step::Key(key) => {
            if whole.is_null() {
                *whole = Value::Object(serde_json::Map::new());
            }
            if let Value::Object(object) = whole {
                set(object.entry(key).or_insert(Value::Null), rest, value);
            }
        }
        Step::Item(wanted) => {
            if whole.is_null() {
                *whole = Value::Array(Vec::new());
            }
            let Value::Array(list) = whole else { return };
            let place = list.iter().position(|it| wanted.holds_for(it)).unwrap_or(list.len());
            if place == list.len() {
                list.push(Value::Null);
            }
            set(&mut list[place], rest, value);
        }
    }
}

/// The text without what stands at a path, and without the innermost `made` containers on the way as far as nothing is left
/// in them: the text before [`put`] if nothing else changed. None when nothing is left of a document that was made.
/// Several puts are taken back in the reverse order.
///
/// # Errors
/// The text is not of its format, or a step meets a value of another shape.
pub fn take(format: Format, text: Option<&str>, at: &[Step], made: usize) -> Result<Option<String>, EditError> {
    let Some(text) = text else { return Ok(None) };
    let taken = match format {
        Format::Json | Format::Jsonc => json::take(body(text), at, made)?,
        Format::Toml => toml::take(body(text), at, made)?,
        Format::Yaml => yaml::take(body(text), at, made)?,
        Format::Executables => return Err(EditError::NoText),
    };
    Ok(taken.map(|taken| format!("{}{taken}", mark(text))))
}

fn changed(format: Format, text: Option<&str>, at: &[Step], value: &Value) -> Result<Put, EditError> {
    let mut put = match format {
        Format::Json | Format::Jsonc => json::put(text.map(body), at, value)?,
        Format::Toml => toml::put(text.map(body), at, value)?,
        Format::Yaml => yaml::put(text.map(body), at, value)?,
        Format::Executables => return Err(EditError::NoText),
    };
    put.text.insert_str(0, text.map_or("", mark));
    Ok(put)
}

/// The byte order mark of a text, which is no part of what it says.
fn mark(text: &str) -> &str {
    &text[..text.len() - body(text).len()]
}

fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Only the last step may add an element, and the element must be one that the step finds again.
fn require_way(at: &[Step], value: &Value) -> Result<(), EditError> {
    match at.last() {
        None => Err(EditError::NotThere { at: words(at) }),
        Some(Step::Item(wanted)) if !wanted.holds_for(value) => Err(EditError::NotThere { at: words(at) }),
        Some(_) => Ok(()),
    }
}

/// The first step of a path that leads to nothing, and what is to stand there.
fn missing<'a>(at: &'a [Step], depth: usize, value: &Value) -> Result<(&'a Step, Value), EditError> {
    let (step, rest) = (&at[depth], &at[depth + 1..]);
    if matches!(step, Step::Item(_)) && !rest.is_empty() {
        return Err(EditError::NotThere { at: words(at) });
    }
    Ok((step, nested(rest, value)?))
}

/// The value with the containers that the steps to it need around it.
fn nested(steps: &[Step], value: &Value) -> Result<Value, EditError> {
    let Some((first, rest)) = steps.split_first() else { return Ok(value.clone()) };
    let inner = nested(rest, value)?;
    match first {
        Step::Key(key) => Ok(Value::Object([(key.clone(), inner)].into_iter().collect())),
        Step::Item(_) if rest.is_empty() => Ok(Value::Array(vec![inner])),
        Step::Item(_) => Err(EditError::NotThere { at: words(steps) }),
    }
}

/// A path for people.
fn words(at: &[Step]) -> String {
    let mut words = String::new();
    for step in at {
        match step {
            Step::Key(key) if words.is_empty() => words.push_str(key),
            Step::Key(key) => words.extend([".", key]),
            Step::Item(_) => words.push_str("[]"),
        }
    }
    if words.is_empty() { "the document".to_owned() } else { words }
}

fn other_shape(at: &[Step], wanted: &'static str) -> EditError {
    EditError::OtherShape { at: words(at), wanted }
}

/// A fault at a byte of a text, with its line and column.
fn not_parsed(text: &str, at: usize, fault: &str) -> EditError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let mut letters = fault.chars();
    let fault = letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    EditError::NotParsed { line, column: before[line_start..].chars().count() + 1, fault }
}

/// Where something stands in a text, in bytes.
type Span = Range<usize>;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod proof;
