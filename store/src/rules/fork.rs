//! Making forks (forks.md, "Making a fork").

use super::{
    named,
    place::{FreeName, can_name, can_write, numbered},
};
use crate::{
    id::PlaceId,
    model::{Place, PlaceKind, Task},
    refusal::{NAME_MOST, Refusal},
    text::{cut, kebab},
};

/// A fork that may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPlan {
    parent: PlaceId,
    name: String,
    description: String,
    icon: String,
}

impl ForkPlan {
    /// The workspace it is made from.
    pub fn parent(&self) -> PlaceId {
        self.parent
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description and the icon, copied from the parent.
    pub fn looks(&self) -> (&str, &str) {
        (&self.description, &self.icon)
    }
}

/// What a fork is to be called.
#[derive(Debug, Clone, Copy)]
pub enum ForkName<'a> {
    /// As somebody asked.
    Asked(&'a str),
    /// After its parent.
    AfterParent,
    /// After the task it is made for.
    AfterTask(&'a Task),
}

/// Whether `place` can be forked, and what the fork is called. `grandparent` is the parent of `place` when it is itself
/// a fork; `holder` finds the live place that has a name.
///
/// # Errors
/// In this order: it is a fork, the supervisor workspace, or takes no writes; the name is bad or taken.
pub fn can_fork(
    place: &Place,
    grandparent: Option<&Place>,
    name: ForkName<'_>,
    holder: &dyn Fn(&str) -> Option<Place>,
) -> Result<ForkPlan, Refusal> {
    can_be_forked(place, grandparent)?;
    let free = |base: &str| numbered(base, &|name| holder(name).is_some());
    let name = match name {
        ForkName::Asked(name) => can_name(name, holder(name.trim()).as_ref())?,
        ForkName::AfterParent => free(&default_name(&place.name)),
        ForkName::AfterTask(task) => free(&task_name(&task.title)),
    };
    Ok(plan(place, name))
}

/// Whether `place` can be forked at all.
///
/// # Errors
/// It is a fork, the supervisor workspace, or takes no writes.
pub fn can_be_forked(place: &Place, grandparent: Option<&Place>) -> Result<(), Refusal> {
    if let Some(parent) = grandparent {
        return Err(Refusal::ForkOfFork { fork: named(place), parent: named(parent) });
    }
    if place.kind == PlaceKind::Supervisor {
        return Err(Refusal::Supervisor { verb: "forked".into() });
    }
    can_write(place, None)
}

fn plan(place: &Place, name: FreeName) -> ForkPlan {
    ForkPlan { parent: place.id, name: name.into_string(), description: place.description.clone(), icon: place.icon.clone() }
}

fn default_name(parent: &str) -> String {
    const SUFFIX: &str = "-fork";
    match cut(&kebab(parent), NAME_MOST - SUFFIX.len()) {
        "" => "fork".into(),
        name => format!("{name}{SUFFIX}"),
    }
}

fn task_name(title: &str) -> String {
    match cut(&kebab(title), NAME_MOST) {
        "" => "spin-up".into(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{fork_of, place, task};

    fn fork_name(parent: &str, name: ForkName<'_>, taken: &[&str]) -> Result<String, Refusal> {
        let holder = |name: &str| taken.contains(&name).then(|| place(9, name));
        can_fork(&place(1, parent), None, name, &holder).map(|plan| plan.name().to_owned())
    }

    #[test]
    fn the_default_name_follows_the_parent_and_counts_up() {
        assert_eq!(fork_name("my-app", ForkName::AfterParent, &[]).unwrap(), "my-app-fork");
        assert_eq!(fork_name("my-app", ForkName::AfterParent, &["my-app-fork", "my-app-fork-2"]).unwrap(), "my-app-fork-3");
        assert_eq!(fork_name("!!!", ForkName::AfterParent, &[]).unwrap(), "fork");
        let long = format!("{}-{}", "a".repeat(122), "b".repeat(5));
        let name = fork_name(&long, ForkName::AfterParent, &[]).unwrap();
        assert_eq!(name, format!("{}-fork", "a".repeat(122)));
    }

    #[test]
    fn a_spun_up_fork_is_named_after_its_task() {
        let task = Task { title: "Fix the Größe!".into(), ..task(1, &place(1, "a"), crate::model::Status::NotStarted) };
        assert_eq!(fork_name("a", ForkName::AfterTask(&task), &[]).unwrap(), "fix-the-größe");
        let nothing = Task { title: "???".into(), ..task.clone() };
        assert_eq!(fork_name("a", ForkName::AfterTask(&nothing), &[]).unwrap(), "spin-up");
        let reserved = Task { title: "Supervisor".into(), ..task };
        assert_eq!(fork_name("a", ForkName::AfterTask(&reserved), &[]).unwrap(), "supervisor-2");
    }

    #[test]
    fn refusals_come_in_their_order() {
        let app = place(1, "app");
        let fork = Place { archived: true, ..fork_of(&app, 2, "app-fork") };
        let bad = ForkName::Asked("Not Kebab");
        let none = |_: &str| None;
        assert!(matches!(can_fork(&fork, Some(&app), bad, &none), Err(Refusal::ForkOfFork { .. })));
        let watcher = Place { kind: PlaceKind::Supervisor, archived: true, ..place(3, "supervisor") };
        assert!(matches!(can_fork(&watcher, None, bad, &none), Err(Refusal::Supervisor { .. })));
        let archived = Place { archived: true, ..app.clone() };
        assert!(matches!(can_fork(&archived, None, bad, &none), Err(Refusal::Archived { .. })));
        assert!(matches!(can_fork(&app, None, bad, &none), Err(Refusal::BadName { .. })));
        assert!(matches!(fork_name("app", ForkName::Asked("x"), &["x"]), Err(Refusal::NameTaken { .. })));
    }
}
