//! Cuts a terminal's output into units: text, escapes, control sequences, strings.
//!
//! A unit comes out whole or not at all, however the bytes were cut on their way, so what is fed with units can be
//! looked at between any two of them: a viewer that joins there never sees the second half of a sequence. Text comes
//! out as valid UTF-8 without C1 controls, and in line-drawing mode already as the lines it means. Nothing is
//! interpreted further here; memory is bounded whatever comes.

/// The longest control sequence that is kept; longer ones do nothing on any terminal.
const SEQUENCE_LIMIT: usize = 256;
/// The longest string (title, link, query) that is kept; a longer one is dropped whole.
const STRING_LIMIT: usize = 4096;

const ESC: u8 = 0x1b;

/// One whole piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit<'a> {
    /// Characters, and the controls that act by themselves (newline, tab, bell and so on).
    Text(&'a [u8]),
    /// `ESC` and this byte.
    Escape(u8),
    /// `ESC [`, then these bytes: parameters and intermediates, and the final one.
    Control { inner: &'a [u8], last: u8 },
    /// `ESC ]`, these bytes, and an end.
    OperatingSystem(&'a [u8]),
    /// `ESC P`, these bytes, and an end.
    Device(&'a [u8]),
}

/// Where the last byte left the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// Behind `ESC` and an intermediate, which is this.
    Intermediate(u8),
    Control,
    String(Kind),
    /// Behind an `ESC` within a string, which its end begins with.
    StringEscape(Kind),
}

/// Which string it is, by how it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OperatingSystem,
    Device,
    /// `SOS`, `PM`, `APC`: nothing in them is of use here.
    Other,
}

/// The cutter. It holds what is not whole yet.
#[derive(Debug)]
pub(super) struct UnitStream {
    state: State,
    /// Text ready to go out.
    text: Vec<u8>,
    /// In text the beginning of a character, else the beginning of a sequence or string.
    partial: Vec<u8>,
    is_too_long: bool,
    charsets: Charsets,
}

impl UnitStream {
    pub(super) fn new() -> Self {
        Self { state: State::Ground, text: Vec::new(), partial: Vec::new(), is_too_long: false, charsets: Charsets::default() }
    }

    /// Takes the next bytes and gives out every unit they complete.
    pub(super) fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(Unit<'_>)) {
        let mut left = bytes;
        while let Some((&byte, rest)) = left.split_first() {
            if self.state == State::Ground && byte >= 0x20 && byte != 0x7f {
                let is_text = |byte: &u8| *byte >= 0x20 && *byte != 0x7f;
                let end = left.iter().position(|byte| !is_text(byte)).unwrap_or(left.len());
                self.characters(&left[..end]);
                left = &left[end..];
            } else {
                self.step(byte, give);
                left = rest;
            }
        }
        self.flush(give);
    }

    fn flush(&mut self, give: &mut impl FnMut(Unit<'_>)) {
        if !self.text.is_empty() {
            give(Unit::Text(&self.text));
            self.text.clear();
        }
    }

    fn characters(&mut self, bytes: &[u8]) {
        if self.partial.is_empty() {
            self.partial = self.charsets.append_text(&mut self.text, bytes).to_vec();
            return;
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        self.partial = self.charsets.append_text(&mut self.text, &whole).to_vec();
    }

    fn step(&mut self, byte: u8, give: &mut impl FnMut(Unit<'_>)) {
        match (self.state, byte) {
            (State::String(kind), _) => self.in_string(kind, byte, give),
            (State::StringEscape(kind), b'\\') => self.end_string(kind, give),
            (State::StringEscape(kind), _) => {
                self.end_string(kind, give);
                self.state = State::Escape;
                self.step(byte, give);
            }
            (_, ESC) => self.begin(State::Escape),
            (_, 0x18 | 0x1a) => self.begin(State::Ground),
            (_, 0x00..=0x1f) => self.control_character(byte),
            (State::Ground, _) => self.partial.clear(),
            (State::Escape, _) => self.in_escape(byte, give),
            (State::Intermediate(designated), 0x30..=0x7e) => {
                self.charsets.designate(designated, byte);
                self.begin(State::Ground);
            }
            (State::Intermediate(_), _) => {}
            (State::Control, _) => self.in_control(byte, give),
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.partial.clear();
        self.is_too_long = false;
    }

    /// A control character acts at once, also within a sequence, and leaves that as it is.
    fn control_character(&mut self, byte: u8) {
        if self.state == State::Ground {
            self.partial.clear();
        }
        match byte {
            0x07..=0x0d => self.text.push(byte),
            0x0e => self.charsets.is_shifted = true,
            0x0f => self.charsets.is_shifted = false,
            _ => {}
        }
    }

    fn in_escape(&mut self, byte: u8, give: &mut impl FnMut(Unit<'_>)) {
        match byte {
            b'[' => self.begin(State::Control),
            b']' => self.begin(State::String(Kind::OperatingSystem)),
            b'P' => self.begin(State::String(Kind::Device)),
            b'X' | b'^' | b'_' => self.begin(State::String(Kind::Other)),
            0x20..=0x2f => self.begin(State::Intermediate(byte)),
            0x30..=0x7e => {
                self.begin(State::Ground);
                if byte == b'c' {
                    self.charsets = Charsets::default();
                }
                self.flush(give);
                give(Unit::Escape(byte));
            }
            _ => {}
        }
    }

    fn in_control(&mut self, byte: u8, give: &mut impl FnMut(Unit<'_>)) {
        match byte {
            0x20..=0x3f => self.keep(byte, SEQUENCE_LIMIT),
            0x40..=0x7e => {
                self.flush(give);
                if !self.is_too_long {
                    give(Unit::Control { inner: &self.partial, last: byte });
                }
                self.begin(State::Ground);
            }
            _ => {}
        }
    }

    fn in_string(&mut self, kind: Kind, byte: u8, give: &mut impl FnMut(Unit<'_>)) {
        match byte {
            0x07 if kind == Kind::OperatingSystem => self.end_string(kind, give),
            0x18 | 0x1a => self.begin(State::Ground),
            ESC => self.state = State::StringEscape(kind),
            0x00..=0x1f | 0x7f => {}
            _ => self.keep(byte, STRING_LIMIT),
        }
    }

    fn end_string(&mut self, kind: Kind, give: &mut impl FnMut(Unit<'_>)) {
        self.flush(give);
        if !self.is_too_long {
            match kind {
                Kind::OperatingSystem => give(Unit::OperatingSystem(&self.partial)),
                Kind::Device => give(Unit::Device(&self.partial)),
                Kind::Other => {}
            }
        }
        self.begin(State::Ground);
    }

    fn keep(&mut self, byte: u8, limit: usize) {
        if self.partial.len() < limit {
            self.partial.push(byte);
        } else {
            self.is_too_long = true;
        }
    }
}

/// Which characters the plain letters stand for.
#[derive(Debug, Default)]
struct Charsets {
    /// Whether each of the two sets is the one for drawing lines.
    draws_lines: [bool; 2],
    is_shifted: bool,
}

impl Charsets {
    /// `ESC ( 0` chooses lines for the first set, `ESC ) 0` for the second; any other choice means letters.
    fn designate(&mut self, designated: u8, set: u8) {
        match designated {
            b'(' => self.draws_lines[0] = set == b'0',
            b')' => self.draws_lines[1] = set == b'0',
            _ => {}
        }
    }

    /// Appends the characters of `bytes`; answers the beginning of one at their end that is not whole yet.
    fn append_text<'a>(&self, text: &mut Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid();
            if self.draws_lines[usize::from(self.is_shifted)] || valid.contains(is_c1) {
                let kept = valid.chars().filter(|character| !is_c1(*character));
                let drawn: String = kept.map(|character| self.drawn(character)).collect();
                text.extend_from_slice(drawn.as_bytes());
            } else {
                text.extend_from_slice(valid.as_bytes());
            }
            let invalid = chunk.invalid();
            let is_last = std::ptr::eq(invalid.as_ptr_range().end, bytes.as_ptr_range().end);
            if is_last && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                return invalid;
            }
        }
        &[]
    }

    fn drawn(&self, character: char) -> char {
        const LINES: [char; 31] = [
            '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│',
            '≤', '≥', 'π', '≠', '£', '·',
        ];
        let place = u32::from(character).wrapping_sub(0x60);
        let line = usize::try_from(place).ok().and_then(|place| LINES.get(place));
        match line {
            Some(line) if self.draws_lines[usize::from(self.is_shifted)] => *line,
            _ => character,
        }
    }
}

/// The 8-bit controls, which some terminals obey also as characters.
fn is_c1(character: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The units of `chunks` in a readable form, adjacent texts joined.
    fn units(chunks: &[&[u8]]) -> Vec<String> {
        let mut stream = UnitStream::new();
        let mut units: Vec<String> = Vec::new();
        for chunk in chunks {
            stream.push(chunk, &mut |unit| match unit {
                Unit::Text(text) => match units.last_mut().filter(|last| last.starts_with("text ")) {
                    Some(last) => last.push_str(std::str::from_utf8(text).unwrap()),
                    None => units.push(format!("text {}", std::str::from_utf8(text).unwrap())),
                },
                Unit::Escape(byte) => units.push(format!("esc {}", byte as char)),
                Unit::Control { inner, last } => units.push(format!("csi {}{}", String::from_utf8_lossy(inner), last as char)),
                Unit::OperatingSystem(inner) => units.push(format!("osc {}", String::from_utf8_lossy(inner))),
                Unit::Device(inner) => units.push(format!("dcs {}", String::from_utf8_lossy(inner))),
            });
        }
        units
    }

    #[test]
    fn each_kind_of_unit_comes_out_whole() {
        let output = b"a\x1b[1;31mb\x1b]0;title\x07\x1b7\x1bP+q54\x1b\\\x1b_ignored\x1b\\c\r\n";
        let got = units(&[output]);
        assert_eq!(got, ["text a", "csi 1;31m", "text b", "osc 0;title", "esc 7", "dcs +q54", "text c\r\n"]);
    }

    #[test]
    fn nothing_unfinished_comes_out() {
        assert_eq!(units(&[b"a\x1b[1;3"]), ["text a"]);
        assert_eq!(units(&[b"\x1b]0;tit"]), Vec::<String>::new());
        assert_eq!(units(&["ä".as_bytes()[..1].as_ref()]), Vec::<String>::new());
        assert_eq!(units(&[&"ä".as_bytes()[..1], &"ä".as_bytes()[1..]]), ["text ä"]);
    }

    #[test]
    fn a_sequence_that_is_cut_off_by_another_is_dropped_but_its_controls_acted() {
        assert_eq!(units(&[b"\x1b[1\n;2\x1b[3mx"]), ["text \n", "csi 3m", "text x"]);
        assert_eq!(units(&[b"\x1b]0;a\x1b[3mx"]), ["osc 0;a", "csi 3m", "text x"]);
        assert_eq!(units(&[b"\x1b[1\x18x"]), ["text x"]);
    }

    #[test]
    fn what_is_no_text_is_dropped_from_text() {
        assert_eq!(units(&[b"a\xff\xc3(b\x7f\x00c"]), ["text a(bc"]);
        assert_eq!(units(&["a\u{9b}31mb".as_bytes()]), ["text a31mb"]);
    }

    #[test]
    fn a_string_without_end_is_dropped_and_not_kept() {
        let long = vec![b'x'; 10_000];
        let mut stream = UnitStream::new();
        stream.push(b"\x1b]52;c;", &mut |_| panic!("nothing is whole"));
        stream.push(&long, &mut |_| panic!("nothing is whole"));
        assert!(stream.partial.len() <= STRING_LIMIT);
        assert_eq!(units(&[b"\x1b]0;", &long, b"\x07after"]), ["text after"]);
    }

    #[test]
    fn line_drawing_comes_out_as_lines() {
        assert_eq!(units(&[b"\x1b(0lqk\x1b(Blqk"]), ["text ┌─┐lqk"]);
        assert_eq!(units(&[b"\x1b)0q\x0eq\x0fq"]), ["text q─q"]);
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_changes_nothing(
            bytes in proptest::collection::vec(prop_oneof![Just(0x1b_u8), Just(b'['), Just(b']'), any::<u8>()], 0..200),
            cut in 0_usize..200,
        ) {
            let cut = cut.min(bytes.len());
            let whole = units(&[&bytes]);
            let halves = units(&[&bytes[..cut], &bytes[cut..]]);
            let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&whole, &halves);
            prop_assert_eq!(&whole, &units(&bytewise));
        }
    }
}
