//! What a hook says in words: to the agent in its answer, and to a person who runs one by hand.

use std::io::{Write as _, stderr};

use frith_store::text::{PathText, drawable};

/// The most characters of a path in a sentence for an agent.
const PATH_MOST: usize = 300;

/// That the folder of the agent's session is gone.
pub fn folder_gone(folder: Option<&PathText>) -> String {
    let which = folder.map(|folder| {
        let path: String = drawable(&folder.to_string(), false).chars().take(PATH_MOST).collect();
        format!(" `{path}`")
    });
    format!(
        "frith: the folder{} that this session works in is gone; commands fail there, so work in one that exists",
        which.unwrap_or_default()
    )
}

/// Tells a person what this command is. There is nobody to tell when that cannot be written.
pub fn hook_to_a_person() {
    let _ = writeln!(stderr(), "`frith hook` is run by a host, which writes one JSON object to its standard input; nothing was read");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_s_name_cannot_break_out_of_its_sentence_and_is_cut() {
        let named = |path: &str| folder_gone(Some(&std::path::Path::new(path).into()));
        assert_eq!(
            named("/a\nb"),
            "frith: the folder `/ab` that this session works in is gone; commands fail there, so work in one that exists"
        );
        assert!(named(&format!("/{}", "x".repeat(4000))).chars().count() < 420);
        assert!(folder_gone(None).starts_with("frith: the folder that this session"));
    }
}
