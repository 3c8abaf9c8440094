//! Text and paths as data: names in kebab-case, paths of any bytes. Nothing here decides whether a text is allowed.

use std::{ffi::OsStr, fmt, os::unix::ffi::OsStrExt as _, path::Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as the bytes the system uses. In JSON it is text, with what is no UTF-8 replaced.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PathText(Vec<u8>);

impl PathText {
    /// The path of these bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes, as the system knows them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path, for use.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl std::str::FromStr for PathText {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.as_bytes().to_vec()))
    }
}

impl fmt::Display for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl fmt::Debug for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_path())
    }
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer).map(|text| Self(text.into_bytes()))
        } else {
            Vec::<u8>::deserialize(deserializer).map(Self)
        }
    }
}

impl schemars::JsonSchema for PathText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Path".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// The words of `text` in kebab-case: lower-cased, everything but letters and digits turned into single hyphens.
pub fn kebab(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// The first `most` characters of a kebab-case name, without a hyphen at the end.
pub fn cut(name: &str, most: usize) -> &str {
    let end = name.char_indices().nth(most).map_or(name.len(), |(at, _)| at);
    name[..end].trim_end_matches('-')
}

/// `text` without control characters, line ends and tabs kept when `lines` says so: safe to draw on a terminal.
pub fn drawable(text: &str, lines: bool) -> String {
    text.chars().filter(|c| !is_hidden(*c) || (lines && matches!(c, '\n' | '\t'))).collect()
}

fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_become_kebab_case() {
        for (text, name) in [("My App", "my-app"), ("  a--b__c ", "a-b-c"), ("Größe 2", "größe-2"), ("!!!", ""), ("-x-", "x")] {
            assert_eq!(kebab(text), name);
        }
    }

    #[test]
    fn a_path_keeps_any_byte() {
        let path = PathText::from_bytes(b"/a \n/\xff".to_vec());
        let stored = postcard::to_stdvec(&path).unwrap();
        assert_eq!(postcard::from_bytes::<PathText>(&stored).unwrap(), path);
        assert_eq!(serde_json::to_string(&path).unwrap(), "\"/a \\n/\u{fffd}\"");
    }

    #[test]
    fn nothing_drawn_can_move_the_cursor_or_turn_the_line() {
        assert_eq!(drawable("a\x1b[2Jb\r\n\u{202e}c\u{7}", false), "a[2Jbc");
        assert_eq!(drawable("a\n\tb", true), "a\n\tb");
    }

    proptest! {
        #[test]
        fn kebab_is_its_own_kebab(text in "\\PC{0,40}") {
            let name = kebab(&text);
            prop_assert_eq!(&kebab(&name), &name);
            prop_assert!(!name.contains("--") && !name.starts_with('-') && !name.ends_with('-'));
            prop_assert!(cut(&name, 7).chars().count() <= 7 && !cut(&name, 7).ends_with('-'));
        }
    }
}
