//! Large texts of which a part is told from the whole.

/// How many times a text says its number.
const LINES: usize = 20_000;

/// A text that says this number in each of its lines.
pub fn numbered(number: u64) -> String {
    format!("{number}\n").repeat(LINES)
}

/// The number of such a text; none when it is not whole.
pub fn number_of(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let number = text.lines().next()?.parse().ok()?;
    (text == numbered(number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_and_a_mixture_are_no_text() {
        let (one, two) = (numbered(1), numbered(2));
        assert_eq!((number_of(one.as_bytes()), number_of(b"")), (Some(1), None));
        assert_eq!(number_of(&one.as_bytes()[..one.len() - 2]), None);
        assert_eq!(number_of(format!("{}{}", &one[..one.len() / 2], &two[two.len() / 2..]).as_bytes()), None);
    }
}
