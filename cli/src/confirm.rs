//! Asking the person before something goes that cannot be brought back.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use frith_store::text::drawable;

use crate::failure::{Failure, Told};

/// Says what will happen and asks whether it may; `yes` answers for the person.
///
/// # Errors
/// [`Failure::Declined`] when the person says no, and when there is nobody to ask.
pub fn ask(what: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let what = drawable(what, true);
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let told = Told::new(format!("not done without a yes: {what}"));
        return Err(Failure::Declined(told.hint("say it with `--yes`, or run this on a terminal to be asked")));
    }
    let mut said = String::new();
    let asked = write!(io::stderr(), "{what}\nDo it? [y/N] ").and_then(|()| io::stderr().flush());
    asked.and_then(|()| io::stdin().lock().read_line(&mut said)).map_err(|error| Failure::Broken(Told::of(&error)))?;
    if is_yes(&said) { Ok(()) } else { Err(Failure::Declined(Told::new("nothing was done"))) }
}

fn is_yes(said: &str) -> bool {
    matches!(said.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (said, yes) in [("y\n", true), ("YES\n", true), ("\n", false), ("", false), ("no\n", false), ("yep\n", false)] {
            assert_eq!(is_yes(said), yes, "{said:?}");
        }
    }
}
