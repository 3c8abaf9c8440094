//! Where the first JSON value of a stream ends, told as its bytes come. What the value says is not looked at.

/// The byte order mark, which some systems put before a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How far the first value of a stream is.
#[derive(Debug, Default)]
pub struct FirstValue {
    state: State,
    /// How many objects and lists are open.
    depth: u64,
    /// How many bytes came before the value.
    before: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the value.
    #[default]
    Before,
    /// In an object or list, outside texts.
    Inside,
    /// In a text.
    Text,
    /// In a text, behind a backslash.
    Escaped,
    /// Behind the value.
    Behind,
    /// Something else than an object or a list came first.
    NoValue,
}

impl FirstValue {
    /// Takes in the next bytes; tells how many of them end the value, when they do.
    pub fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|byte| self.step(*byte)).map(|at| at + 1)
    }

    /// Takes one byte; whether it ends the value.
    fn step(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (State::Before, b' ' | b'\t' | b'\r' | b'\n') => State::Before,
            (State::Before, byte) if MARK.get(self.before) == Some(&byte) => {
                self.before += 1;
                State::Before
            }
            (State::Before | State::Inside, b'{' | b'[') => {
                self.depth += 1;
                State::Inside
            }
            (State::Before, _) => State::NoValue,
            (State::Inside, b'}' | b']') => {
                self.depth -= 1;
                if self.depth == 0 { State::Behind } else { State::Inside }
            }
            (State::Inside, b'"') => State::Text,
            (State::Text, b'"') => State::Inside,
            (State::Text, b'\\') => State::Escaped,
            (State::Escaped, _) => State::Text,
            (state, _) => state,
        };
        self.state == State::Behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where the value ends when the bytes come in pieces of `step`.
    fn end(bytes: &[u8], step: usize) -> Option<usize> {
        let mut value = FirstValue::default();
        let mut before = 0;
        for piece in bytes.chunks(step) {
            if let Some(at) = value.take(piece) {
                return Some(before + at);
            }
            before += piece.len();
        }
        None
    }

    #[test]
    fn b01_a_value_ends_at_its_last_bracket_whatever_follows() {
        let cases: [(&[u8], usize); 7] = [
            (b"{}", 2),
            (b"  {\"a\":[1,{\"b\":2}]}\n{}", 19),
            (b"[1]]", 3),
            (br#"{"a":"}\"}"}x"#, 12),
            (br#"{"a":"\\"}x"#, 10),
            (b"\xef\xbb\xbf {}", 6),
            (b"{\"a\":\"\xff\"}x", 9),
        ];
        for (bytes, wanted) in cases {
            for step in 1..=bytes.len() {
                assert_eq!(end(bytes, step), Some(wanted), "{:?}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn what_is_no_object_and_no_list_never_ends() {
        for bytes in [&b"true"[..], b"\"text\"", b"x{}", b"", b"   ", b"}"] {
            assert_eq!(end(bytes, 1), None);
        }
        let mut value = FirstValue::default();
        value.take(b" no");
        assert_eq!(value.state, State::NoValue);
    }

    proptest! {
        #[test]
        fn the_end_is_the_same_however_bytes_are_split(bytes in proptest::collection::vec(prop_oneof![
            Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b'\\'), any::<u8>()
        ], 0..200), step in 1_usize..20) {
            prop_assert_eq!(end(&bytes, step), end(&bytes, bytes.len().max(1)));
        }
    }
}
