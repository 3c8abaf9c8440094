//! What of ours stands in a file, and how it stands there. Pure: texts in, findings out.

use frith_store::hosts;
use serde::Serialize;
use serde_json::Value;

use crate::{
    edit::{self, EditError, Match, Step},
    install::{
        command,
        record::Piece,
        skill,
        wanted::{Form, Wanted, What},
    },
};

/// What is known beside a file's text.
pub struct Basis<'b> {
    /// The host whose file it is.
    pub host: &'b str,
    /// What was entered into the file, in that order.
    pub recorded: &'b [Piece],
    /// Whether a program that an entry names is there.
    pub runs: &'b dyn Fn(&str) -> bool,
}

/// How something of ours stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It does not.
    Missing,
    /// As it should.
    Current,
    /// As an earlier version entered it, or with a program that is not there any more.
    Stale,
    /// Somebody changed it.
    Edited,
    /// Something of somebody else's stands in its place.
    Foreign,
    /// More than once.
    Doubled,
}

impl State {
    /// Whether it is of ours and nobody changed it.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Current | Self::Stale | Self::Doubled)
    }
}

/// Something of ours, with the way to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The steps to it.
    pub at: Vec<Step>,
    /// What stands there.
    pub value: Value,
    /// How it stands there by itself.
    pub state: State,
}

/// What of one wanted thing stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// How it stands there.
    pub state: State,
    /// Where; the one to be kept first.
    pub places: Vec<Place>,
}

impl Basis<'_> {
    /// What was entered as this, if anything was.
    pub fn recorded(&self, what: &What) -> Option<&Piece> {
        self.recorded.iter().find(|piece| piece.what == *what)
    }

    fn is_as_recorded(&self, what: &What, value: &Value) -> bool {
        self.recorded(what).is_some_and(|piece| piece.value == *value)
    }
}

/// How one wanted thing stands in its file; no text stands for a file that is not there.
///
/// # Errors
/// The text is not of its format, or has something else where the host's settings lead to ours.
pub fn standing(text: Option<&str>, wanted: &Wanted, basis: &Basis<'_>) -> Result<Standing, EditError> {
    match (&wanted.form, &wanted.what) {
        (Form::Whole { text: whole, .. }, what) => Ok(whole_file(text, whole, what, basis)),
        (Form::Value { format, at, value }, What::Hook(event)) => {
            let list = edit::read(*format, text, at)?;
            Ok(hook(list.as_ref(), at, value, event, &wanted.what, basis))
        }
        (Form::Value { format, at, value }, what) => {
            let there = edit::read(*format, text, at)?;
            Ok(single(there, at, value, what, basis))
        }
    }
}

fn whole_file(text: Option<&str>, wanted: &str, what: &What, basis: &Basis<'_>) -> Standing {
    let state = match text {
        None => State::Missing,
        Some(text) if text == wanted => State::Current,
        Some(text) if basis.is_as_recorded(what, &text.into()) || *what == What::Skill && skill::is_former(text) => State::Stale,
        Some(text) if !is_marked(text, what, basis) => State::Foreign,
        // Without a record nothing tells an earlier version's text from one that somebody changed.
        Some(_) => State::Edited,
    };
    let places = text.map(|text| Place { at: Vec::new(), value: text.into(), state }).into_iter();
    Standing { state, places: places.filter(|_| state != State::Foreign).collect() }
}

/// What every file that is ours alone says of itself.
pub const MARK: &str = "ntered by `frith agents install";

fn is_marked(text: &str, what: &What, basis: &Basis<'_>) -> bool {
    text.contains(MARK) || matches!(what, What::Hook(event) if command::is_hook(text, basis.host, event) && text.lines().count() <= 4)
}

fn single(there: Option<Value>, at: &[Step], wanted: &Value, what: &What, basis: &Basis<'_>) -> Standing {
    let Some(there) = there else { return Standing { state: State::Missing, places: Vec::new() } };
    let said = without_host_adds(&there, basis.host);
    let state = match what {
        _ if said == *wanted => State::Current,
        What::Entry if serves(&said, basis.host) => {
            let same = |word: &str, wanted: &str| command::is_ours(word) && command::is_ours(wanted);
            of_ours(&said, wanted, &same, &|word| vec![word], what, basis)
        }
        _ => State::Foreign,
    };
    Standing { state, places: vec![Place { at: at.to_vec(), value: there, state }] }
}

/// An entry with what its host has written below the one that is there.
pub fn with_host_adds(entry: &Value, there: Option<&Value>, host: &str) -> Value {
    let adds = hosts::host(host).map_or(&[][..], |host| host.here.adds_to_entry);
    let mut entry = entry.clone();
    if let (Value::Object(fields), Some(Value::Object(there))) = (&mut entry, there) {
        fields.extend(there.iter().filter(|(key, _)| adds.contains(&key.as_str())).map(|(key, value)| (key.clone(), value.clone())));
    }
    entry
}

/// An entry without what its host writes below it by itself.
fn without_host_adds(entry: &Value, host: &str) -> Value {
    let adds = hosts::host(host).map_or(&[][..], |host| host.here.adds_to_entry);
    match entry {
        Value::Object(fields) => {
            let own = fields.iter().filter(|(key, _)| !adds.contains(&key.as_str()));
            Value::Object(own.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        other => other.clone(),
    }
}

/// How something of ours stands that is not what is wanted: stale where nothing but the program differs and is gone.
fn of_ours(
    there: &Value,
    wanted: &Value,
    same: &dyn Fn(&str, &str) -> bool,
    programs: &dyn for<'t> Fn(&'t str) -> Vec<&'t str>,
    what: &What,
    basis: &Basis<'_>,
) -> State {
    let mut differing = Vec::new();
    if renamed(there, wanted, same, &mut differing) == *wanted {
        let runs = |text: &String| programs(text).into_iter().any(|program| (basis.runs)(program));
        return if differing.iter().all(runs) { State::Current } else { State::Stale };
    }
    if basis.is_as_recorded(what, there) { State::Stale } else { State::Edited }
}

/// A value in which texts that mean the same as the wanted ones are those; the differing ones are collected.
fn renamed(there: &Value, wanted: &Value, same: &dyn Fn(&str, &str) -> bool, differing: &mut Vec<String>) -> Value {
    match (there, wanted) {
        (Value::String(text), Value::String(other)) if text != other && same(text, other) => {
            differing.push(text.clone());
            wanted.clone()
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter().zip(others).map(|(item, other)| renamed(item, other, same, differing)).collect()
        }
        (Value::Object(fields), Value::Object(others)) => {
            let field = |(key, value): (&String, &Value)| {
                let value = others.get(key).map_or_else(|| value.clone(), |other| renamed(value, other, same, differing));
                (key.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        _ => there.clone(),
    }
}

/// Whether an entry starts a program of ours as the server of this host.
fn serves(entry: &Value, host: &str) -> bool {
    let Some(fields) = entry.as_object() else { return false };
    let words: Vec<&str> = fields
        .values()
        .flat_map(|value| match value {
            Value::String(word) => vec![word.as_str()],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        })
        .collect();
    words.iter().any(|word| command::is_ours(word)) && words.windows(3).any(|three| three == ["mcp", "--host", host])
}

fn hook(list: Option<&Value>, at: &[Step], wanted: &Value, event: &str, what: &What, basis: &Basis<'_>) -> Standing {
    let elements = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_ours = |text: &str| command::is_hook(text, basis.host, event);
    let state = |there: &Value, wanted: &Value| hook_state(there, wanted, event, what, basis);
    let mut found: Vec<Place> = Vec::new();
    for element in elements {
        let beside = |way: &[Step]| [at, &[item(element)], way].concat();
        let inner = element.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ours: Vec<_> = inner.iter().filter(|it| has_text(it, &is_ours)).collect();
        if !ours.is_empty() && ours.len() < inner.len() {
            // Somebody put another hook into our group, or ours into theirs: only ours is ours.
            let wanted = wanted.get("hooks").and_then(|hooks| hooks.get(0)).unwrap_or(wanted);
            found.extend(ours.into_iter().map(|it| Place {
                at: beside(&[Step::Key("hooks".into()), item(it)]),
                value: it.clone(),
                state: state(it, wanted),
            }));
        } else if has_text(element, &is_ours) {
            found.push(Place { at: beside(&[]), value: element.clone(), state: state(element, wanted) });
        }
    }
    found.sort_by_key(|place| place.state != State::Current);
    let state = match found.as_slice() {
        [] => State::Missing,
        [place] => place.state,
        _ => State::Doubled,
    };
    Standing { state, places: found }
}

fn hook_state(there: &Value, wanted: &Value, event: &str, what: &What, basis: &Basis<'_>) -> State {
    if there == wanted {
        return State::Current;
    }
    let host = basis.host;
    let same = |text: &str, wanted: &str| command::is_alike(text, wanted, host, event);
    of_ours(there, wanted, &same, &|text| command::programs(text, host, event), what, basis)
}

fn item(element: &Value) -> Step {
    Step::Item(Match::Equal(element.clone()))
}

/// Whether a text for which this holds is anywhere in a value.
fn has_text(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, holds)),
        Value::Object(fields) => fields.values().any(|field| has_text(field, holds)),
        _ => false,
    }
}
