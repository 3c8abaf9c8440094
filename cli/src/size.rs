//! Numbers of bytes as people read them.

/// A number of bytes in the unit in which it reads best.
pub fn bytes(number: u64) -> String {
    let mut rest = number;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while rest >= 10 * 1024 {
        let Some(next) = units.next() else { break };
        rest /= 1024;
        unit = next;
    }
    format!("{rest} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_two_digits_at_least() {
        assert_eq!([bytes(0), bytes(9000), bytes(20_000), bytes(35 << 20)], ["0 B", "9000 B", "19 KiB", "35 MiB"]);
    }
}
