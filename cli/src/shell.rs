//! Words as a person's shell reads them. Nothing here, and nothing of frith, runs a shell.

/// A word as a shell reads it back, whatever is in it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
    let plain = !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain);
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g14_a_word_comes_back_from_a_shell_as_it_was() {
        for word in ["plain", "a b", "$(touch x)", "it's", "", "~root", "`id`"] {
            let done = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output().unwrap();
            assert_eq!(String::from_utf8(done.stdout).unwrap(), word);
        }
        assert_eq!(quoted("my-app"), "my-app");
    }
}
