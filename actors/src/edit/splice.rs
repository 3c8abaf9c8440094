//! Changes of a text by its bytes. It knows no format.

use super::Span;

/// A piece of a text and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub cut: Span,
    /// What comes there.
    pub insert: String,
}

impl Splice {
    /// Something new at a byte.
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { cut: at..at, insert: text.into() }
    }

    /// Something gone.
    pub fn cut(cut: Span) -> Self {
        Self { cut, insert: String::new() }
    }

    /// Something in the place of something else.
    pub fn replace(cut: Span, text: impl Into<String>) -> Self {
        Self { cut, insert: text.into() }
    }
}

/// The text with these changes, which do not overlap and stand in the text's order.
pub fn spliced(text: &str, splices: &[Splice]) -> String {
    let added: usize = splices.iter().map(|splice| splice.insert.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for splice in splices {
        out.push_str(&text[done..splice.cut.start]);
        out.push_str(&splice.insert);
        done = splice.cut.end;
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_leave_what_stands_between_them() {
        let splices = [Splice::insert(0, "<"), Splice::cut(1..2), Splice::replace(3..4, "ö"), Splice::insert(5, ">")];
        assert_eq!(spliced("abcde", &splices), "<acöe>");
        assert_eq!(spliced("abc", &[]), "abc");
    }
}
