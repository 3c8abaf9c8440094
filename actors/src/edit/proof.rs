//! What must hold of every edit, whatever the format: asked of generated texts by each format's own tests.

use frith_store::hosts::Format;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{EditError, Match, Step, layout::line_start, put, read, take};

/// Keys, also odd ones.
pub const KEYS: &[&str] = &["frith", "mcpServers", "amp.mcpServers", "a", "b c", "ü", "say \"hi\"", "back\\slash", "", "1", "true", "-"];

/// A path of these keys.
pub fn keys(keys: &[&str]) -> Vec<Step> {
    keys.iter().map(|key| Step::Key((*key).to_owned())).collect()
}

/// The path to our element of the list that these keys lead to.
pub fn element(keys_to_it: &[&str]) -> Vec<Step> {
    [keys(keys_to_it), vec![Step::Item(Match::Field { key: "name".into(), is: "frith".into() })]].concat()
}

/// A path of keys, short ones more often, now and then to an element.
pub fn path() -> impl Strategy<Value = Vec<Step>> {
    let key = proptest::sample::select(KEYS).prop_map(|key| Step::Key(key.to_owned()));
    (proptest::collection::vec(key, 1..4), proptest::bool::weighted(0.3)).prop_map(|(mut path, to_element)| {
        if to_element {
            path.push(Step::Item(Match::Field { key: "name".into(), is: "frith".into() }));
        }
        path
    })
}

/// A value that has a telling name where it is an object, and no null, which not every format has.
pub fn value() -> impl Strategy<Value = Value> {
    let single = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            "",
            "true",
            "null",
            "1.5",
            "a: b",
            "# no",
            "- x",
            "ü\n\"",
            "\t",
            "~",
            "'",
            "C:\\x",
            "x\r\ny",
            "\u{7f}\u{1}"
        ])
        .prop_map(Value::from),
    ];
    let inner = single.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(KEYS), inner), 0..3).prop_map(object),
        ]
    });
    prop_oneof![
        2 => proptest::collection::vec((proptest::sample::select(KEYS), inner.clone()), 0..4).prop_map(object),
        1 => Just(json!({"command": "frith", "args": ["mcp", "--host", "x"], "env": {"A": "b"}})),
        1 => inner,
    ]
}

fn object(members: Vec<(&str, Value)>) -> Value {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}

/// The value made into one that the path's last step finds again.
pub fn fitted(path: &[Step], value: Value) -> Value {
    match (path.last(), value) {
        (Some(Step::Item(Match::Field { key, is })), Value::Object(mut object)) => {
            object.insert(key.clone(), Value::from(is.clone()));
            object.into()
        }
        (Some(Step::Item(Match::Field { key, is })), _) => json!({ key: is }),
        (_, value) => value,
    }
}

/// What a put must keep, asked of one text: it comes back to the byte, twice is once, what was put is there, and everything
/// else says what it said. Answers whether it was put.
pub fn check(format: Format, text: Option<&str>, at: &[Step], value: &Value) -> bool {
    let there = match read(format, text, at) {
        Err(EditError::OtherShape { .. }) => return false,
        there => there.unwrap(),
    };
    let put = match super::put(format, text, at, value) {
        Err(EditError::Inexact { .. } | EditError::NotThere { .. } | EditError::OtherShape { .. }) => {
            // The reasons are the format's own, and its tests say which are good ones.
            return false;
        }
        put => put.unwrap_or_else(|error| panic!("{error}: {text:?} {at:?}")),
    };
    let seen = format!("{text:?}\n{:?}\n{at:?} {value}", put.text);
    assert_eq!(read(format, Some(&put.text), at).unwrap().as_ref(), Some(value), "{seen}");
    let again = super::put(format, Some(&put.text), at, value).unwrap();
    assert_eq!((again.text.as_str(), again.made), (put.text.as_str(), 0), "{seen}");
    if there.is_none() {
        assert_eq!(take(format, Some(&put.text), at, put.made).unwrap().as_deref(), text, "{seen}");
        let mut whole = read(format, Some(&put.text), &[]).unwrap().unwrap();
        remove(&mut whole, at, put.made);
        let before = read(format, text, &[]).unwrap().unwrap_or_else(|| whole.clone());
        assert_eq!(hollowed(whole), hollowed(before), "{seen}");
    }
    true
}

/// The value with nothing in the place of what is empty: a key without a value becomes a container when it gets something.
fn hollowed(value: Value) -> Value {
    match value {
        Value::Object(object) if object.is_empty() => Value::Null,
        Value::Array(list) if list.is_empty() => Value::Null,
        Value::Object(object) => object.into_iter().map(|(key, value)| (key, hollowed(value))).collect::<serde_json::Map<_, _>>().into(),
        Value::Array(list) => list.into_iter().map(hollowed).collect(),
        single => single,
    }
}

/// Takes a value away, with the containers that were made for it.
fn remove(whole: &mut Value, at: &[Step], made: usize) {
    let keep = at.len().saturating_sub(made);
    let Some((last, above)) = at[..keep].split_last() else { return *whole = Value::Null };
    let mut inner = whole;
    for step in above {
        inner = match step {
            Step::Key(key) => &mut inner[key],
            Step::Item(wanted) => inner.as_array_mut().unwrap().iter_mut().find(|it| wanted.holds_for(it)).unwrap(),
        };
    }
    match (last, inner) {
        (Step::Key(key), Value::Object(object)) => drop(object.shift_remove(key)),
        (Step::Item(_), Value::Array(array)) => drop(array.pop()),
        (step, other) => panic!("{step:?} in {other}"),
    }
}

/// Somebody writes `note` at a place of the text that the put did not touch: taking back leaves that edit as if nothing had
/// been put.
pub fn check_beside(format: Format, text: &str, at: &[Step], value: &Value, place: prop::sample::Index, note: &str) {
    if !matches!(read(format, Some(text), at), Ok(None)) {
        return;
    }
    let Ok(done) = put(format, Some(text), at, value) else { return };
    let (before, after) = (text.as_bytes(), done.text.as_bytes());
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let same_behind = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    // Where what was put begins like what follows it, only what is outside of both readings is beside it.
    let (left, right) = (same.min(text.len() - same_behind), same.max(text.len() - same_behind));
    let at_byte = place.index(text.len() + 1);
    let (is_before, is_behind) = (at_byte < left, at_byte > right);
    let is_before_mark = at_byte == 0 && text.starts_with('\u{feff}');
    if !text.is_char_boundary(at_byte) || is_before_mark || !(is_before || is_behind) {
        return;
    }
    // A line end inside a comment gives the rest of the comment a meaning.
    let line = &text[line_start(text, at_byte)..at_byte];
    let is_in_comment = line.contains("//") || line.contains('#');
    // A word of its own may go on with what stands before it, whatever that is.
    if (note.contains('\n') && is_in_comment) || (note == "x" && line.trim_end() == "") {
        return;
    }
    let moved = if is_before { at_byte } else { at_byte + done.text.len() - text.len() };
    let with = |text: &str, at: usize| format!("{}{note}{}", &text[..at], &text[at..]);
    let (edited, both) = (with(text, at_byte), with(&done.text, moved));
    let is_read = read(format, Some(&edited), at) == Ok(None) && read(format, Some(&both), at).is_ok_and(|it| it.as_ref() == Some(value));
    // An edit that turns a comment into something said may give a comma to what had none, or a line to another key.
    let keys = |text: &str| read(format, Some(text), &[]).map(|it| it.and_then(|it| Some(it.as_object()?.len())));
    let says_the_same = match note {
        "x" => keys(&edited).is_ok() && keys(&edited) == keys(text),
        _ => read(format, Some(&edited), &[]) == read(format, Some(text), &[]),
    };
    if is_read && says_the_same {
        let taken = take(format, Some(&both), at, done.made).unwrap_or_else(|error| panic!("{error}: {text:?} {both:?}"));
        assert_eq!(taken.as_deref(), Some(edited.as_str()), "{text:?}\n{both:?}\n{at:?}");
    }
}

/// Something of somebody else's is put in behind ours, and ours is taken first: the text comes back all the same. Ways that
/// share a container that was made are left out, since it belongs to whoever made it; so are texts without anything, in
/// which what comes second sets itself off from what comes first.
pub fn check_two(format: Format, text: &str, ours: &[Step], theirs: &[Step], value: &Value) {
    let shared = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let stands = |at: &[Step]| read(format, Some(text), at);
    let is_apart = !text.trim_matches('\u{feff}').is_empty()
        && shared < ours.len()
        && shared < theirs.len()
        && matches!(stands(&ours[..shared]), Ok(Some(_)));
    if !is_apart || stands(ours) != Ok(None) || stands(theirs) != Ok(None) {
        return;
    }
    let (ours_value, theirs_value) = (fitted(ours, value.clone()), fitted(theirs, value.clone()));
    let Ok(first) = put(format, Some(text), ours, &ours_value) else { return };
    let Ok(both) = put(format, Some(&first.text), theirs, &theirs_value) else { return };
    let Ok(left) = take(format, Some(&both.text), ours, first.made) else { return };
    assert_eq!(read(format, left.as_deref(), theirs).unwrap(), Some(theirs_value), "{text:?}\n{:?}\n{left:?}", both.text);
    let back = take(format, left.as_deref(), theirs, both.made).unwrap();
    assert_eq!(back.as_deref(), Some(text), "{:?}\n{left:?}\n{ours:?} {theirs:?}", both.text);
}
