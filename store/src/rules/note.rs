//! Notes: their names, their size, and what a save replaces (forks.md, "Workspace").

use crate::{
    id::VersionHash,
    model::{By, NoteHead},
    refusal::{NOTE_MOST, NOTE_NAME_MOST, NoteNameFault, Refusal, VersionNamed},
};

/// The note that is meant when none is named; it tells of the others.
pub const INDEX: &str = "memory.md";
const ENDING: &str = ".md";

/// A name that a note may have: words of `a-z0-9` joined by single hyphens, ending in `.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteName(String);

impl NoteName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The note that somebody means by a name: lower-cased, its words joined by hyphens, with the ending.
///
/// # Errors
/// Nothing is left of it, it is too long, or it has letters that a name cannot have.
pub fn can_call_note(given: &str) -> Result<NoteName, Refusal> {
    let bad = |fault| Refusal::BadNoteName { given: given.trim().to_owned(), fault };
    let lower = given.trim().to_lowercase();
    let stem = lower.strip_suffix(ENDING).unwrap_or(&lower);
    // A letter that went would make two names one.
    if stem.chars().any(|c| c.is_alphanumeric() && !c.is_ascii()) {
        return Err(bad(NoteNameFault::Letters));
    }
    let words: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name = words.join("-") + ENDING;
    match name.len() {
        _ if words.is_empty() => Err(bad(NoteNameFault::Blank)),
        length if length > NOTE_NAME_MOST => Err(bad(NoteNameFault::TooLong)),
        _ => Ok(NoteName(name)),
    }
}

/// Whether a text may be a note's: larger ones are refused and never cut.
///
/// # Errors
/// It is too long.
pub fn can_note(text: &str) -> Result<(), Refusal> {
    if text.len() > NOTE_MOST { Err(Refusal::LongNote { length: text.len() }) } else { Ok(()) }
}

/// What a save replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavePlan {
    replaces: Vec<VersionHash>,
    implied: bool,
}

impl SavePlan {
    /// The versions that the new one replaces, in order.
    pub fn replaces(&self) -> &[VersionHash] {
        &self.replaces
    }

    /// Whether the save named no base, and what was current was taken for it.
    pub fn is_implied(&self) -> bool {
        self.implied
    }
}

/// What a save by `by` replaces. `current` are the versions that none replaces, `bases` those it names. A person who names
/// none means what is current; an agent that names none may not have read what another wrote, so it only goes on from
/// nothing or from its own.
///
/// # Errors
/// It names no base, and there are several versions or one that an agent has to name.
pub fn can_save(name: &NoteName, current: &[NoteHead], bases: &[VersionHash], by: &By) -> Result<SavePlan, Refusal> {
    if !bases.is_empty() {
        return Ok(plan(bases.to_vec(), false));
    }
    match current {
        [] => Ok(plan(Vec::new(), false)),
        [one] if matches!(by, By::Person(_)) || one.by == *by => Ok(plan(vec![one.version], true)),
        [one] => Err(Refusal::NoBase { note: name.0.clone(), version: version_named(one) }),
        several => Err(Refusal::SeveralVersions { note: name.0.clone(), versions: several.iter().map(version_named).collect() }),
    }
}

fn plan(mut replaces: Vec<VersionHash>, implied: bool) -> SavePlan {
    replaces.sort_unstable();
    replaces.dedup();
    SavePlan { replaces, implied }
}

fn version_named(head: &NoteHead) -> VersionNamed {
    VersionNamed { version: head.version, by: head.by.clone(), at: head.at }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        id::{AgentId, MachineId},
        time::Timestamp,
    };

    fn head(n: u8, by: By) -> NoteHead {
        let version = VersionHash::from_bytes([n; 16]);
        NoteHead { version, by, machine: MachineId::from_bytes([1; 8]), at: Timestamp::default(), bytes: Some(1) }
    }

    fn agent(n: u8) -> By {
        By::Agent(AgentId::from_bytes([n; 16]))
    }

    #[test]
    fn a_name_becomes_words_with_hyphens_and_an_ending() {
        for (given, name) in [
            ("memory.md", "memory.md"),
            (" My Notes ", "my-notes.md"),
            ("a__b--C.MD", "a-b-c.md"),
            ("v1.2", "v1-2.md"),
            ("md", "md.md"),
            ("../../etc/passwd", "etc-passwd.md"),
        ] {
            assert_eq!(can_call_note(given).unwrap().as_str(), name, "{given}");
        }
        for (given, fault) in [
            ("", NoteNameFault::Blank),
            (".md", NoteNameFault::Blank),
            ("--", NoteNameFault::Blank),
            ("über", NoteNameFault::Letters),
            ("a-name-of-thirty-characters-xy.md", NoteNameFault::TooLong),
        ] {
            assert!(matches!(can_call_note(given), Err(Refusal::BadNoteName { fault: found, .. }) if found == fault), "{given}");
        }
        assert_eq!(can_call_note("a-name-of-29-characters-xxxxx").unwrap().as_str().len(), NOTE_NAME_MOST);
    }

    #[test]
    fn a_text_of_16_kib_is_kept_and_one_byte_more_is_refused() {
        assert!(can_note(&"x".repeat(NOTE_MOST)).is_ok());
        assert_eq!(can_note(&"x".repeat(NOTE_MOST + 1)), Err(Refusal::LongNote { length: NOTE_MOST + 1 }));
    }

    #[test]
    fn what_is_replaced_is_named_or_was_the_savers_to_replace() {
        let name = can_call_note(INDEX).unwrap();
        let (ada, mine, theirs) = (By::Person("ada".into()), agent(1), agent(2));
        assert!(can_save(&name, &[], &[], &mine).unwrap().replaces().is_empty());
        let current = [head(7, theirs.clone())];
        let implied = can_save(&name, &current, &[], &ada).unwrap();
        assert!(implied.is_implied() && implied.replaces() == [current[0].version]);
        assert!(can_save(&name, &current, &[], &theirs).unwrap().is_implied());
        assert!(matches!(can_save(&name, &current, &[], &mine), Err(Refusal::NoBase { .. })));
        let two = [head(7, theirs), head(8, ada.clone())];
        assert!(matches!(can_save(&name, &two, &[], &ada), Err(Refusal::SeveralVersions { versions, .. }) if versions.len() == 2));
        let bases = [two[1].version, two[0].version, two[1].version];
        assert_eq!(can_save(&name, &two, &bases, &mine).unwrap().replaces(), [two[0].version, two[1].version]);
    }

    proptest! {
        #[test]
        fn a_name_is_its_own_name_and_has_one_form(given in "\\PC{0,40}") {
            let Ok(name) = can_call_note(&given) else { return Ok(()) };
            let stem = name.as_str().strip_suffix(ENDING).unwrap();
            prop_assert!(name.as_str().len() <= NOTE_NAME_MOST);
            prop_assert!(stem.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())));
            prop_assert_eq!(can_call_note(name.as_str()).unwrap(), name);
        }
    }
}
