//! Skills: what a folder must be to become one, who may read it, and where it is switched (forks.md, "Workspace").

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};

use super::named;
use crate::{
    model::{FolderEntry, Found, Place},
    refusal::{Refusal, SKILL_FILE_MOST, SKILL_FILES_MOST, SkillFault},
    text::PathText,
};

/// The file that says what a skill is.
pub const SKILL_FILE: &str = "SKILL.md";
/// The most characters a skill's name may have.
const NAME_MOST: usize = 64;
/// The most characters a skill's description may have.
const DESCRIPTION_MOST: usize = 1_024;
/// The most bytes of a path in a skill.
const PATH_MOST: usize = 200;

/// A file of a skill before it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Where it stands in the skill's folder.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it can be run.
    pub executable: bool,
}

/// A skill that may be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPlan {
    name: String,
    description: String,
    files: Vec<PlannedFile>,
    left_out: Vec<String>,
}

impl SkillPlan {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it is of use.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its files, by path.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// What was hidden in the folder, and so left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

/// Whether what lies in a folder may become a skill. What is hidden is left out; a link is refused, wherever it leads.
///
/// # Errors
/// [`Refusal::BadSkill`] with what is wrong with the folder.
pub fn can_add(folder: &PathText, entries: &[FolderEntry]) -> Result<SkillPlan, Refusal> {
    let bad = |fault| Refusal::BadSkill { folder: folder.clone(), fault };
    let mut files: BTreeMap<String, PlannedFile> = BTreeMap::new();
    let mut left_out = Vec::new();
    for entry in entries {
        let path = path_of(&entry.path).ok_or_else(|| bad(SkillFault::OddPath(entry.path.clone())))?;
        match &entry.found {
            Found::Hidden => left_out.push(path),
            Found::Link => return Err(bad(SkillFault::Link(path))),
            Found::Special => return Err(bad(SkillFault::Special(path))),
            Found::File { bytes, .. } if bytes.len() > SKILL_FILE_MOST => return Err(bad(SkillFault::LongFile(path))),
            Found::File { bytes, executable } => {
                // Where the file system knows no case, the one would take the other's place.
                let file = PlannedFile { path: path.clone(), bytes: bytes.clone(), executable: *executable };
                if files.insert(path.to_lowercase(), file).is_some() {
                    return Err(bad(SkillFault::SamePath(path)));
                }
            }
        }
    }
    if files.len() > SKILL_FILES_MOST {
        return Err(bad(SkillFault::TooManyFiles));
    }
    let mut files: Vec<_> = files.into_values().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    left_out.sort_unstable();
    let file = files.iter().find(|file| file.path == SKILL_FILE).ok_or_else(|| bad(SkillFault::NoSkillFile))?;
    let text = std::str::from_utf8(&file.bytes).map_err(|_| bad(SkillFault::NoText))?;
    let (name, description) = front_matter(text).map_err(bad)?;
    Ok(SkillPlan { name, description, files, left_out })
}

/// A path in a skill as it is shown: parts that name something, joined by slashes.
fn path_of(path: &PathText) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.trim() == part && !part.contains('\\');
    let is_path = text.len() <= PATH_MOST && text.split('/').all(is_part) && !text.chars().any(char::is_control);
    is_path.then(|| text.to_owned())
}

/// The name and the description at the head of a skill's file.
fn front_matter(text: &str) -> Result<(String, String), SkillFault> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n").ok_or(SkillFault::NoHead)?;
    let end =
        rest.find("\n---").filter(|end| matches!(rest[end + 4..].chars().next(), None | Some('\n' | ' '))).ok_or(SkillFault::NoHead)?;
    let fields = fields(&rest[..=end]).map_err(SkillFault::Head)?;
    let name = fields.get("name").map(|name| name.trim()).unwrap_or_default();
    let description = fields.get("description").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default();
    if !is_name(name) {
        return Err(SkillFault::Name(name.to_owned()));
    }
    if description.is_empty() || description.chars().count() > DESCRIPTION_MOST {
        return Err(SkillFault::Description);
    }
    Ok((name.to_owned(), description))
}

/// Whether a skill may be called this: letters `a` to `z` and digits joined by single hyphens.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= NAME_MOST && name.split('-').all(is_word)
}

/// The fields of a YAML mapping whose values are plain texts; others are passed over. References are not followed, so no
/// text can grow.
fn fields(yaml: &str) -> Result<BTreeMap<String, String>, String> {
    let mut fields = BTreeMap::new();
    let (mut depth, mut key) = (0_usize, None);
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|error| error.info().to_owned())?;
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                // What is inside belongs to the key before it.
                if depth == 1 {
                    key = None;
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Scalar(text, ..) if depth == 1 => match key.take() {
                None => key = Some(text.into_owned()),
                Some(key) => drop(fields.insert(key, text.into_owned())),
            },
            Event::Alias(_) if depth == 1 => key = None,
            _ => {}
        }
    }
    Ok(fields)
}

/// Whether an agent of a place may read a skill: only one that is on there.
///
/// # Errors
/// [`Refusal::SkillOff`].
pub fn can_load(place: &Place, skill: &str, is_on: bool, is_agent: bool) -> Result<(), Refusal> {
    if is_on || !is_agent { Ok(()) } else { Err(Refusal::SkillOff { skill: skill.to_owned(), place: named(place) }) }
}

/// Whether skills are switched in a place: a fork has its parent's switches.
///
/// # Errors
/// [`Refusal::SkillSwitch`] names the parent.
pub fn can_switch(place: &Place, parent: Option<&Place>, skill: &str) -> Result<(), Refusal> {
    match parent {
        None => Ok(()),
        Some(parent) => Err(Refusal::SkillSwitch { fork: named(place), parent: named(parent), skill: skill.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::samples::{fork_of, place};

    fn file(path: &str, text: &str) -> FolderEntry {
        FolderEntry { path: path.parse().unwrap(), found: Found::File { bytes: text.as_bytes().to_vec(), executable: false } }
    }

    fn head(head: &str) -> FolderEntry {
        file(SKILL_FILE, &format!("---\n{head}\n---\n# How\n"))
    }

    fn added(entries: &[FolderEntry]) -> Result<SkillPlan, SkillFault> {
        can_add(&"/skills/x".parse().unwrap(), entries).map_err(|refusal| match refusal {
            Refusal::BadSkill { fault, .. } => fault,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_head_is_read_as_yaml_whatever_else_it_has() {
        for (text, description) in [
            ("name: pdf-forms\ndescription: Fills forms.", "Fills forms."),
            ("description: \"Fills: forms\"\nname: 'pdf-forms'", "Fills: forms"),
            ("name: pdf-forms\ndescription: >\n  Fills\n  forms.\nallowed-tools: [a, b]", "Fills forms."),
            ("metadata:\n  name: other\n  description: other\nname: pdf-forms\ndescription: x # a comment", "x"),
            ("list:\n- name: other\nname: pdf-forms\ndescription: x", "x"),
        ] {
            let plan = added(&[head(text)]).unwrap();
            assert_eq!((plan.name(), plan.description()), ("pdf-forms", description), "{text}");
        }
        let windows = file(SKILL_FILE, "\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\n");
        assert_eq!(added(&[windows]).unwrap().name(), "a");
    }

    #[test]
    fn a_head_that_says_too_little_is_refused() {
        for text in ["name: a", "description: b\nname: Not A Name", "name: a--b\ndescription: b", "a", "name: [a]\ndescription: b"] {
            assert!(added(&[head(text)]).is_err(), "{text}");
        }
        assert_eq!(added(&[file(SKILL_FILE, "# How")]), Err(SkillFault::NoHead));
        assert_eq!(added(&[file(SKILL_FILE, "---\nname: a\n")]), Err(SkillFault::NoHead));
        assert!(matches!(added(&[head("name: a\ndescription: b: c")]), Err(SkillFault::Head(_))));
        let long = format!("name: a\ndescription: {}", "x".repeat(DESCRIPTION_MOST + 1));
        assert_eq!(added(&[head(&long)]), Err(SkillFault::Description));
        assert_eq!(added(&[file("README.md", "x")]), Err(SkillFault::NoSkillFile));
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nname: *a\ndescription: b";
        assert!(added(&[head(bomb)]).is_err(), "references are not followed");
    }

    #[test]
    fn what_is_hidden_is_left_out_and_what_is_odd_is_refused() {
        let good = head("name: a\ndescription: b");
        let hidden = FolderEntry { path: ".git".parse().unwrap(), found: Found::Hidden };
        let plan = added(&[good.clone(), file("scripts/run.sh", "x"), hidden]).unwrap();
        assert_eq!(plan.files().iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["SKILL.md", "scripts/run.sh"]);
        assert_eq!(plan.left_out(), [".git"]);
        for path in ["../x", "a/../../x", "/etc/passwd", "a//b", "a\\b", "a\nb", " a", ""] {
            assert!(matches!(added(&[good.clone(), file(path, "x")]), Err(SkillFault::OddPath(_))), "{path:?}");
        }
        let bytes = FolderEntry { path: PathText::from_bytes(vec![0xff]), found: Found::Hidden };
        assert!(matches!(added(&[good.clone(), bytes]), Err(SkillFault::OddPath(_))));
        let link = FolderEntry { path: "link".parse().unwrap(), found: Found::Link };
        assert_eq!(added(&[good.clone(), link]), Err(SkillFault::Link("link".into())));
        assert_eq!(added(&[good.clone(), file("A", "x"), file("a", "y")]), Err(SkillFault::SamePath("a".into())));
        assert_eq!(added(&[good.clone(), file("big", &"x".repeat(SKILL_FILE_MOST + 1))]), Err(SkillFault::LongFile("big".into())));
        let many = |count: usize| (1..count).map(|n| file(&format!("f{n}"), "x")).chain([good.clone()]).collect::<Vec<_>>();
        assert_eq!(added(&many(SKILL_FILES_MOST)).unwrap().files().len(), SKILL_FILES_MOST);
        assert_eq!(added(&many(SKILL_FILES_MOST + 1)), Err(SkillFault::TooManyFiles));
    }

    #[test]
    fn agents_read_what_is_on_and_a_fork_has_no_switches() {
        let app = place(1, "app");
        assert!(can_load(&app, "a", false, false).is_ok() && can_load(&app, "a", true, true).is_ok());
        assert!(matches!(can_load(&app, "a", false, true), Err(Refusal::SkillOff { .. })));
        assert!(can_switch(&app, None, "a").is_ok());
        let refusal = can_switch(&fork_of(&app, 2, "side"), Some(&app), "a").unwrap_err();
        assert!(refusal.to_string().contains("app") && refusal.hint().unwrap().contains("app"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_of_a_head_fail_otherwise_than_by_refusing(text in "\\PC{0,60}", lines in "[a-z:\\-\\[\\]{}&*>|\"' \n]{0,60}") {
            for text in [format!("---\n{text}\n---\n"), format!("---\n{lines}\n---\n"), lines] {
                if let Ok((name, description)) = front_matter(&text) {
                    prop_assert!(is_name(&name) && !description.is_empty());
                }
            }
        }
    }
}
