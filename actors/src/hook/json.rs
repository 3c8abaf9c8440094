//! Single fields of a JSON object, borrowed from its text. The rest is passed over and never becomes values, so a payload
//! that holds a megabyte costs one look at each byte.

use std::{borrow::Cow, fmt};

use frith_store::hosts::Step;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// An object's keys with their values' text, in order. Of an object that breaks off, what came before that is here.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Reads the object at the beginning of `text`; none when there is none.
    pub fn read(text: &'a str) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
        let mut entries = Vec::with_capacity(16);
        let read = reader.deserialize_map(Entries(&mut entries));
        (read.is_ok() || !entries.is_empty()).then_some(Self(entries))
    }

    /// The text of the value at the end of this path.
    pub fn find(&self, path: &[Step]) -> Option<&'a str> {
        let (Step::Key(key), rest) = path.split_first()? else { return None };
        walk(self.value(key)?, rest)
    }

    /// The text of this key's value: of the last one, should it come twice.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(found, _)| found == key).map(|(_, value)| value.get())
    }
}

fn walk<'a>(value: &'a str, path: &[Step]) -> Option<&'a str> {
    let Some((step, rest)) = path.split_first() else { return Some(value) };
    let inner = match step {
        Step::Key(key) => Object::read(value)?.value(key)?,
        Step::First => serde_json::from_str::<First<'a>>(value).ok()?.0?.get(),
    };
    walk(inner, rest)
}

/// What a text value says; none for anything else.
pub fn text(value: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(value).ok().map(|text| text.0)
}

/// What a text value says, or the texts of a list in a row.
pub fn words(value: &str) -> Option<Cow<'_, str>> {
    text(value).or_else(|| Some(serde_json::from_str::<Vec<String>>(value).ok()?.join(" ").into()))
}

/// A text, borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}

/// Puts an object's entries where they stay, whatever becomes of the object.
struct Entries<'b, 'a>(&'b mut Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Visitor<'de> for Entries<'_, 'de> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            self.0.push((key.0, value));
        }
        Ok(())
    }
}

/// The first element of a list, if it has one.
struct First<'a>(Option<&'a RawValue>);

impl<'de> Deserialize<'de> for First<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = First<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{First as Head, Key};

    #[test]
    fn a_field_is_found_on_its_path() {
        let object = Object::read(r#"{"a":{"b":[{"c":"x\n"},2]},"d":["p","q"],"a\u0062":1}"#).unwrap();
        assert_eq!(text(object.find(&[Key("a"), Key("b"), Head, Key("c")]).unwrap()).unwrap(), "x\n");
        assert_eq!(object.find(&[Key("a"), Key("x")]), None);
        assert_eq!(object.find(&[Key("d"), Key("x")]), None);
        assert_eq!(object.find(&[]), None);
        assert_eq!(object.value("ab"), Some("1"));
        assert_eq!(words(object.value("d").unwrap()).unwrap(), "p q");
    }

    #[test]
    fn what_came_before_an_object_broke_off_is_known() {
        let object = Object::read(r#"{"session_id":"s","cwd":"/r","tool_response":{"stdout":"..."#).unwrap();
        assert_eq!(object.value("session_id"), Some("\"s\""));
        assert_eq!(object.value("tool_response"), None);
        for text in ["", "[]", "nothing", "{", "{1:2}"] {
            assert!(Object::read(text).is_none_or(|object| object.0.is_empty()), "{text}");
        }
    }

    #[test]
    fn a_deep_object_is_no_danger() {
        let deep = format!("{{\"a\":{}{},\"b\":\"x\"}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Object::read(&deep).unwrap().value("b"), Some("\"x\""));
    }
}
