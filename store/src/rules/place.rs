//! Names, settings and the life of workspaces (forks.md, "Workspace").

use super::named;
use crate::{
    id::{PlaceId, Prefix},
    model::{Place, PlaceKind, Settings},
    refusal::{NAME_MOST, NameFault, RULE_MOST, Refusal, RuleFault},
    text::{cut, drawable, kebab},
};

/// The name of the workspace that watches the others.
pub const SUPERVISOR: &str = "supervisor";

/// A name that a place may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeName(String);

impl FreeName {
    /// The name.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Whether a place may be called this; `holder` is the live place that has the name already.
///
/// # Errors
/// [`Refusal::BadName`] or [`Refusal::NameTaken`].
pub fn can_name(name: &str, holder: Option<&Place>) -> Result<FreeName, Refusal> {
    let name = name.trim();
    if let Some(fault) = name_fault(name) {
        return Err(Refusal::BadName { name: name.to_owned(), fault });
    }
    match holder {
        Some(place) => Err(Refusal::NameTaken { place: named(place) }),
        None => Ok(FreeName(name.to_owned())),
    }
}

fn name_fault(name: &str) -> Option<NameFault> {
    if name.is_empty() {
        Some(NameFault::Blank)
    } else if name.chars().count() > NAME_MOST {
        Some(NameFault::TooLong)
    } else if name == SUPERVISOR {
        Some(NameFault::Reserved)
    } else if kebab(name) != name {
        Some(NameFault::NotKebab)
    } else if reads_like_an_id(name) {
        Some(NameFault::LooksLikeAnId)
    } else {
        None
    }
}

/// Whether a name could be the beginning of an id: it would stand before it wherever one is typed. Words such as `facade`
/// have no digit and are no ids that anybody was shown.
fn reads_like_an_id(name: &str) -> bool {
    Prefix::parse(name).is_ok() && name.contains(|c: char| c.is_ascii_digit())
}

/// The first of `base`, `base-2`, `base-3` … that is not taken, cut so that the whole fits a name.
pub fn numbered(base: &str, is_taken: &dyn Fn(&str) -> bool) -> FreeName {
    let plain = cut(base, NAME_MOST).to_owned();
    if !is_taken(&plain) && name_fault(&plain).is_none() {
        return FreeName(plain);
    }
    // A number behind hexadecimal digits alone would read like an id.
    let reads_on = base.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let base = if reads_on { &format!("task-{base}") } else { base };
    let mut number = 2_u64;
    loop {
        let suffix = format!("-{number}");
        let name = format!("{}{suffix}", cut(base, NAME_MOST - suffix.len()));
        if !is_taken(&name) {
            return FreeName(name);
        }
        number += 1;
    }
}

/// Whether anything may be written into a place.
///
/// # Errors
/// It was merged, deleted or archived; each has its own refusal. `parent` is a fork's parent.
pub fn can_write(place: &Place, parent: Option<&Place>) -> Result<(), Refusal> {
    if let (Some(_), Some(parent)) = (&place.merged, parent) {
        return Err(Refusal::AlreadyMerged { fork: named(place), parent: named(parent) });
    }
    if place.deleted.is_some() {
        return Err(Refusal::InTrash { place: named(place) });
    }
    let frozen = if place.archived { Some(place) } else { parent.filter(|parent| parent.archived) };
    frozen.map_or(Ok(()), |place| Err(Refusal::Archived { place: named(place) }))
}

/// Settings that may be written to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPlan(Settings);

impl SettingsPlan {
    /// What to write: the place's own settings.
    pub fn into_settings(self) -> Settings {
        self.0
    }
}

/// Whether a place's settings may become `wanted`. A fork's are its parent's: the same values are accepted and
/// nothing is written.
///
/// # Errors
/// [`Refusal::Inherited`] names what a fork inherits and from whom.
pub fn can_set(place: &Place, parent: Option<&Place>, wanted: Settings) -> Result<Option<SettingsPlan>, Refusal> {
    let wanted = wanted.canonical();
    let Some(parent) = parent else {
        let changed = !place.settings.differing(&wanted).is_empty();
        return Ok(changed.then_some(SettingsPlan(wanted)));
    };
    let differing = parent.settings.differing(&wanted);
    if differing.is_empty() {
        return Ok(None);
    }
    let settings = differing.into_iter().map(|setting| setting.key().to_owned()).collect();
    Err(Refusal::Inherited { fork: named(place), parent: named(parent), settings })
}

/// What a place's permission rules become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowPlan {
    place: PlaceId,
    settings: Option<Settings>,
}

impl AllowPlan {
    /// The place whose settings hold the rule: a fork's parent.
    pub fn place(&self) -> PlaceId {
        self.place
    }

    /// The settings to write; none when they are so already.
    pub fn into_settings(self) -> Option<Settings> {
        self.settings
    }
}

/// Whether a permission rule may be added to a place's, or taken from them; asked in a fork, to its parent's.
///
/// # Errors
/// The place takes no writes, the text is no rule, or the rule to be taken away is not there.
pub fn can_allow(place: &Place, parent: Option<&Place>, rule: &str, removes: bool) -> Result<AllowPlan, Refusal> {
    can_write(place, parent)?;
    let rule = can_be_rule(rule)?;
    let holder = parent.unwrap_or(place);
    let mut settings = holder.settings.clone().canonical();
    let has = settings.auto_allowed_tools.contains(&rule);
    if removes && !has {
        return Err(Refusal::NoSuchRule { place: named(holder), rule, rules: settings.auto_allowed_tools });
    }
    if has == removes {
        settings.auto_allowed_tools.retain(|known| *known != rule);
        if !removes {
            settings.auto_allowed_tools.push(rule);
        }
        return Ok(AllowPlan { place: holder.id, settings: Some(settings.canonical()) });
    }
    Ok(AllowPlan { place: holder.id, settings: None })
}

/// The rule that a text stands for: white space between its words does not matter.
///
/// # Errors
/// [`Refusal::BadRule`] when it is none.
pub fn can_be_rule(text: &str) -> Result<String, Refusal> {
    let rule = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fault = if rule.is_empty() {
        RuleFault::Blank
    } else if rule.len() > RULE_MOST {
        RuleFault::TooLong
    } else if drawable(&rule, false) != rule {
        RuleFault::Hidden
    } else if !is_shaped(&rule) {
        RuleFault::Shape
    } else {
        return Ok(rule);
    };
    Err(Refusal::BadRule { rule: cut_rule(&rule), fault })
}

/// Whether it is a tool's name, or one with what it may do in brackets behind it.
fn is_shaped(rule: &str) -> bool {
    let (tool, rest) = rule.split_once('(').map_or((rule, None), |(tool, rest)| (tool, Some(rest)));
    let is_name =
        tool.starts_with(|c: char| c.is_alphabetic() || c == '_') && tool.chars().all(|c| c.is_alphanumeric() || "_-.:*/".contains(c));
    is_name && rest.and_then(|rest| rest.strip_suffix(')')).map_or(rest.is_none(), |inside| !inside.is_empty() && is_balanced(inside))
}

/// Whether every bracket that is closed was opened in it, and the other way about.
fn is_balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0_u32, |depth, c| match c {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

/// As much of a text as a sentence can show.
fn cut_rule(rule: &str) -> String {
    drawable(&rule.chars().take(40).collect::<String>(), false)
}

/// That a workspace may be archived or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetirePlan(());

/// Whether a workspace may be `verb` ("archived" or "deleted"); `forks` are its live forks.
///
/// # Errors
/// It is a fork, has forks, or is the supervisor workspace.
pub fn can_retire(place: &Place, forks: &[Place], verb: &str) -> Result<RetirePlan, Refusal> {
    if place.deleted.is_some() {
        return Err(Refusal::InTrash { place: named(place) });
    }
    match place.kind {
        PlaceKind::Fork { .. } => return Err(Refusal::ForkStays { fork: named(place), verb: verb.into() }),
        PlaceKind::Supervisor => return Err(Refusal::Supervisor { verb: verb.into() }),
        PlaceKind::Workspace => {}
    }
    if forks.is_empty() {
        return Ok(RetirePlan(()));
    }
    Err(Refusal::HasForks { place: named(place), verb: verb.into(), forks: forks.iter().map(named).collect() })
}

/// Whether a workspace may be made writable or taken out of the trash; `holder` has its name meanwhile.
///
/// # Errors
/// It is neither archived nor deleted, or its name was taken.
pub fn can_revive(place: &Place, holder: Option<&Place>) -> Result<RetirePlan, Refusal> {
    if !place.archived && place.deleted.is_none() && place.revived.is_none() {
        return Err(Refusal::NotArchived { place: named(place) });
    }
    match holder.filter(|holder| holder.id != place.id) {
        Some(holder) => Err(Refusal::NameTaken { place: named(holder) }),
        None => Ok(RetirePlan(())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Notice,
        rules::samples::{fork_of, place},
        time::Timestamp,
    };
    use proptest::prelude::*;

    #[test]
    fn bad_names_have_their_own_faults() {
        let long = "a".repeat(129);
        for (name, fault) in [
            ("  ", NameFault::Blank),
            (long.as_str(), NameFault::TooLong),
            ("My App", NameFault::NotKebab),
            ("a--b", NameFault::NotKebab),
            ("a\nb", NameFault::NotKebab),
            ("supervisor", NameFault::Reserved),
            ("0123456789abcdef0123456789abcdef", NameFault::LooksLikeAnId),
            ("93a4bee0", NameFault::LooksLikeAnId),
            ("2026-11-30", NameFault::LooksLikeAnId),
        ] {
            assert!(matches!(can_name(name, None), Err(Refusal::BadName { fault: found, .. }) if found == fault), "{name}");
        }
        for name in ["größe-2", "facade", "v2", "a-1"] {
            assert_eq!(can_name(&format!(" {name} "), None).unwrap().into_string(), name);
        }
        assert!(matches!(can_name("app", Some(&place(1, "app"))), Err(Refusal::NameTaken { .. })));
    }

    #[test]
    fn a_fork_takes_back_the_values_it_was_given_and_no_others() {
        let mut parent = place(1, "app");
        parent.settings.auto_allowed_tools = vec!["Bash(git *)".into()];
        parent.settings = parent.settings.canonical();
        let fork = fork_of(&parent, 2, "app-fork");
        let mut same = parent.settings.clone();
        same.auto_allowed_tools = vec![" Bash(git   *) ".into(), String::new()];
        assert_eq!(can_set(&fork, Some(&parent), same), Ok(None));
        let other = Settings { notifications: vec![Notice::Mail], ..parent.settings.clone() };
        let refusal = can_set(&fork, Some(&parent), other).unwrap_err();
        assert_eq!(refusal.to_string(), "`app-fork` inherits notifications from `app`");
    }

    #[test]
    fn a_rule_asked_for_in_a_fork_is_its_parents_and_is_there_once() {
        let mut app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let plan = can_allow(&fork, Some(&app), " Bash(git   status *) ", false).unwrap();
        assert_eq!(plan.place(), app.id);
        app.settings = plan.into_settings().unwrap();
        assert_eq!(app.settings.auto_allowed_tools, ["Bash(git status *)"]);
        assert_eq!(can_allow(&app, None, "Bash(git status *)", false).unwrap().into_settings(), None);
        let plan = can_allow(&fork, Some(&app), "Bash(git status *)", true).unwrap();
        assert_eq!(plan.into_settings().unwrap().auto_allowed_tools, Vec::<String>::new());
        assert!(matches!(can_allow(&app, None, "Read", true), Err(Refusal::NoSuchRule { .. })));
    }

    #[test]
    fn what_cannot_be_read_whole_is_no_rule() {
        for (text, fault) in
            [("  ", RuleFault::Blank), (&"x".repeat(RULE_MOST + 1), RuleFault::TooLong), ("Bash(\u{1b}[2J)", RuleFault::Hidden)]
        {
            assert!(matches!(can_be_rule(text), Err(Refusal::BadRule { fault: found, .. }) if found == fault), "{text}");
        }
    }

    #[test]
    fn a_fork_and_a_workspace_with_forks_stay() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        assert!(matches!(can_retire(&fork, &[], "deleted"), Err(Refusal::ForkStays { .. })));
        let refusal = can_retire(&app, &[fork], "archived").unwrap_err();
        assert_eq!(refusal.to_string(), "`app` cannot be archived: it has 1 fork (`app-fork`)");
        assert!(can_retire(&app, &[], "archived").is_ok());
    }

    #[test]
    fn what_is_archived_deleted_or_merged_takes_no_writes() {
        let app = place(1, "app");
        let fork = fork_of(&app, 2, "app-fork");
        let archived = Place { archived: true, ..app.clone() };
        assert!(matches!(can_write(&archived, None), Err(Refusal::Archived { .. })));
        assert!(matches!(can_write(&fork, Some(&archived)), Err(Refusal::Archived { .. })));
        let deleted = Place { deleted: Some(Timestamp::default()), ..app.clone() };
        assert!(matches!(can_write(&deleted, None), Err(Refusal::InTrash { .. })));
        assert_eq!(can_write(&fork, Some(&app)), Ok(()));
    }

    proptest! {
        #[test]
        fn a_numbered_name_is_always_one_a_place_may_have(base in "[a-zé0-9]{1,9}(-[a-z0-9]{1,60}){0,3}", taken in 0_u64..40) {
            let last = std::cell::Cell::new(0);
            let name = numbered(&base, &|_| { last.set(last.get() + 1); last.get() <= taken }).into_string();
            prop_assert!(can_name(&name, None).is_ok(), "{}", name);
        }
    }
}
