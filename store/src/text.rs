//! Text and paths as data: names in kebab-case, paths of any bytes. Nothing here decides whether a text is allowed.

use std::{ffi::OsStr, fmt, os::unix::ffi::OsStrExt as _, path::Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as the bytes the system uses. In JSON it is text; one that is no UTF-8 is a `file://` address there, with its other
/// bytes as `%` and two digits, so that nothing of it is lost.
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
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.serialize_str(&address(&self.0)),
        }
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Ok(Self(bytes_of_address(&text).unwrap_or_else(|| text.into_bytes())))
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

/// How the address of a path begins that has bytes which are no text.
const SCHEME: &str = "file://";

fn address(path: &[u8]) -> String {
    use std::fmt::Write as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.iter().fold(SCHEME.to_owned(), |mut text, byte| {
        if plain(*byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// The path of an address; none when it is none.
fn bytes_of_address(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.strip_prefix(SCHEME)?.as_bytes();
    let mut bytes = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(bytes)
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

/// JSON that says the same with nothing in it that a terminal would not draw: what is in a text stands there by its number. Line
/// ends stay, since those of a text are escaped already.
pub fn undrawable_escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) && c != '\n' {
            // All of them are below U+FFFF, so one number is enough.
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
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
        let json = serde_json::to_string(&path).unwrap();
        assert_eq!(json, "\"file:///a%20%0A/%FF\"");
        assert_eq!(serde_json::from_str::<PathText>(&json).unwrap(), path);
        let plain: PathText = "/a b/ü".parse().unwrap();
        assert_eq!(serde_json::to_string(&plain).unwrap(), "\"/a b/ü\"");
    }

    #[test]
    fn nothing_drawn_can_move_the_cursor_or_turn_the_line() {
        assert_eq!(drawable("a\x1b[2Jb\r\n\u{202e}c\u{7}", false), "a[2Jbc");
        assert_eq!(drawable("a\n\tb", true), "a\n\tb");
        let text = "a\x1b\u{9b}\u{7f}\u{202e}\n\"\u{1f332}";
        let json = undrawable_escaped(&serde_json::to_string_pretty(&[text]).unwrap());
        assert!(!json.contains(is_hidden_but_line_ends) && serde_json::from_str::<[String; 1]>(&json).unwrap()[0] == text, "{json}");
    }

    fn is_hidden_but_line_ends(c: char) -> bool {
        is_hidden(c) && c != '\n'
    }

    proptest! {
        #[test]
        fn every_path_comes_back_from_json(below in proptest::collection::vec(any::<u8>(), 0..20)) {
            let path = PathText::from_bytes([b"/".to_vec(), below].concat());
            let json = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<PathText>(&json).unwrap(), path);
        }

        #[test]
        fn kebab_is_its_own_kebab(text in "\\PC{0,40}") {
            let name = kebab(&text);
            prop_assert_eq!(&kebab(&name), &name);
            prop_assert!(!name.contains("--") && !name.starts_with('-') && !name.ends_with('-'));
            prop_assert!(cut(&name, 7).chars().count() <= 7 && !cut(&name, 7).ends_with('-'));
        }
    }
}
