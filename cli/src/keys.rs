//! The keys that detach: control and backslash, then `d`.
//!
//! Two keys, so that neither is lost to the agent: the first twice sends it once. With any other key after it nothing is sent,
//! since the first alone ends many a program. Control and backslash is what programs that only detach use; agents' interfaces leave it alone, and in a
//! raw terminal it sends no signal. `tmux`, `screen` and `docker` use keys that line editors need. The keys are known in
//! every form in which terminals tell them. What is pasted is never a key.

/// What becomes of what was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// It goes to the agent.
    Keys(Vec<u8>),
    /// The person wants to detach; these keys came before.
    Detach(Vec<u8>),
}

/// Watches what is typed for the keys that detach.
#[derive(Debug, Default)]
pub struct DetachKeys {
    /// The first key as it was told, held back until the next.
    first: Option<Vec<u8>>,
    is_pasting: bool,
}

/// What one key, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    First,
    Second,
    /// A key was let go. Some terminals tell.
    Release,
    PasteBegins,
    PasteEnds,
    Other,
}

impl DetachKeys {
    /// Takes what one read gave. Terminals write a key whole, so a key cut in two is none that detaches.
    pub fn read(&mut self, typed: &[u8]) -> Typed {
        let mut keys = Vec::new();
        let mut left = typed;
        while !left.is_empty() {
            let (key, length) = next_key(left);
            let (told, rest) = left.split_at(length);
            left = rest;
            match (key, self.first.take()) {
                (Key::PasteBegins | Key::PasteEnds, first) => {
                    self.is_pasting = key == Key::PasteBegins;
                    keys.extend(first.into_iter().flatten());
                    keys.extend_from_slice(told);
                }
                (_, None) if self.is_pasting => keys.extend_from_slice(told),
                (Key::First, None) => self.first = Some(told.to_vec()),
                (Key::First, Some(first)) => keys.extend(first),
                (Key::Second, Some(_)) => return Typed::Detach(keys),
                (Key::Release, Some(first)) => self.first = Some(first),
                (_, Some(_)) => {}
                (_, None) => keys.extend_from_slice(told),
            }
        }
        Typed::Keys(keys)
    }
}

/// The key that `typed` begins with, and how many bytes tell it.
fn next_key(typed: &[u8]) -> (Key, usize) {
    let Some(rest) = typed.strip_prefix(b"\x1b[") else {
        let key = match typed[0] {
            0x1c => Key::First,
            b'd' => Key::Second,
            _ => Key::Other,
        };
        return (key, 1);
    };
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return (Key::Other, 1);
    };
    let params = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    (told_as(params, rest[end]), end + 3)
}

/// The key behind a control sequence: `CSI code ; modifiers : event u`, or `CSI 27 ; modifiers ; code ~`.
fn told_as(params: &str, last: u8) -> Key {
    let parts: Vec<Vec<u32>> = params.split(';').map(|part| part.split(':').map(|number| number.parse().unwrap_or(0)).collect()).collect();
    let number = |part: usize, sub: usize| parts.get(part).and_then(|part| part.get(sub)).copied();
    let (code, modifiers) = match (last, number(0, 0)) {
        (b'~', Some(200)) => return Key::PasteBegins,
        (b'~', Some(201)) => return Key::PasteEnds,
        (b'u', Some(code)) => (code, number(1, 0).unwrap_or(1)),
        (b'~', Some(27)) => (number(2, 0).unwrap_or(0), number(1, 0).unwrap_or(1)),
        _ => return Key::Other,
    };
    if number(1, 1) == Some(3) {
        return Key::Release;
    }
    // Shift, alt, control and super, without the locks above them.
    match (code, modifiers.saturating_sub(1) & 0b1111) {
        (92, 0b0100) => Key::First,
        (100, 0) => Key::Second,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reads: &[&str]) -> Typed {
        let mut keys = DetachKeys::default();
        let mut all = Vec::new();
        for typed in reads {
            match keys.read(typed.as_bytes()) {
                Typed::Keys(some) => all.extend(some),
                Typed::Detach(some) => {
                    all.extend(some);
                    return Typed::Detach(all);
                }
            }
        }
        Typed::Keys(all)
    }

    fn keys(text: &str) -> Typed {
        Typed::Keys(text.into())
    }

    #[test]
    fn the_two_keys_detach_together_and_apart_and_after_others() {
        assert_eq!(read(&["\x1cd"]), Typed::Detach(vec![]));
        assert_eq!(read(&["ab\x1c", "dcd"]), Typed::Detach(b"ab".to_vec()));
    }

    #[test]
    fn neither_key_is_lost_to_the_agent() {
        assert_eq!(read(&["d"]), keys("d"));
        assert_eq!(read(&["\x1c\x1c"]), keys("\x1c"));
        assert_eq!(read(&["\x1c", "\x0ea"]), keys("a"), "a slip sends nothing");
        assert_eq!(read(&["\x1c\x1b[Aa"]), keys("a"));
        assert_eq!(read(&["\x1c\x1c", "d"]), keys("\x1cd"));
    }

    #[test]
    fn they_are_known_however_a_terminal_tells_them() {
        for told in ["\x1b[92;5ud", "\x1b[92;5:1u\x1b[92;5:3u\x1b[100u", "\x1b[27;5;92~d", "\x1b[92:124;133u\x1b[100;129u"] {
            assert_eq!(read(&[told]), Typed::Detach(vec![]), "{told:?}");
        }
        assert_eq!(read(&["\x1b[92;6ud"]), keys("\x1b[92;6ud"));
        assert_eq!(read(&["\x1b[92;5u\x1b[92;5u"]), keys("\x1b[92;5u"));
    }

    #[test]
    fn what_is_pasted_is_never_a_key() {
        let pasted = "\x1b[200~a\x1cd\x1b[201~";
        assert_eq!(read(&[pasted]), keys(pasted));
        assert_eq!(read(&["\x1b[200~a\x1c", "d\x1b[201~", "\x1cd"]), Typed::Detach(b"\x1b[200~a\x1cd\x1b[201~".to_vec()));
    }

    #[test]
    fn an_escape_key_goes_through_at_once() {
        assert_eq!(read(&["\x1b"]), keys("\x1b"));
        assert_eq!(read(&["\x1b[", "x"]), keys("\x1b[x"));
    }
}
