//! Which pool a worktree stands in, told by its path: what made it, and what that means for whoever takes it over.

use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path},
};

use super::{Fact, Host, rows};

/// Pools of products that are no hosts themselves, with their labels.
const OTHERS: &[(&str, &str)] = &[("conductor/workspaces", "conductor")];

/// The label of a worktree that frith made.
pub const OWN: &str = "frith";
/// The label of the main checkout.
pub const MAIN: &str = "main";
/// The label of what nothing is known of.
pub const OTHER: &str = "other";

/// A pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InPool {
    /// What a worktree in it is labelled with.
    pub origin: &'static str,
    /// Whether one that is taken over gets git's lock: not where its host removes old ones by itself.
    pub locks: bool,
    /// Whether its hosts run a script of the repository after they made one.
    pub has_script: bool,
}

impl InPool {
    const UNKNOWN: Self = Self { origin: OTHER, locks: true, has_script: false };
}

/// The pool a path is in. `variable` answers variables of the environment, by which some hosts move theirs.
pub fn pool_of(path: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> InPool {
    let own = rows::ALL.iter().find(|host| is_in_pool_of(host, path, variable));
    if let Some(host) = own {
        let worktrees = &host.worktrees;
        return InPool {
            origin: worktrees.origin.known().copied().unwrap_or(OTHER),
            locks: !worktrees.evicts,
            has_script: worktrees.post_create.is_known(),
        };
    }
    let other = OTHERS.iter().find(|(pool, _)| has_components(path, Path::new(pool)));
    other.map_or(InPool::UNKNOWN, |(_, origin)| InPool { origin, ..InPool::UNKNOWN })
}

/// The hosts whose pool a path is in.
pub fn hosts_of(path: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<&'static Host> {
    rows::ALL.iter().copied().filter(|host| is_in_pool_of(host, path, variable)).collect()
}

fn is_in_pool_of(host: &Host, path: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let Fact::Known(pool) = host.worktrees.pool else { return false };
    let fixed = pool.path.split('<').next().unwrap_or(pool.path).trim_end_matches('/');
    let usual = [Some(fixed), pool.otherwise].into_iter().flatten();
    usual.into_iter().any(|pool| match pool.strip_prefix('$') {
        Some(moved) => {
            let (name, below) = moved.split_once('/').unwrap_or((moved, ""));
            let folder = variable(name).filter(|folder| Path::new(folder).is_absolute());
            folder.is_some_and(|folder| is_below(path, &Path::new(&folder).join(below)))
        }
        None => has_components(path, Path::new(pool.trim_start_matches("~/"))),
    })
}

fn is_below(path: &Path, folder: &Path) -> bool {
    path != folder && path.starts_with(folder)
}

/// Whether these names follow one another in a path, with something below them.
fn has_components(path: &Path, pool: &Path) -> bool {
    let names = |path: &'_ Path| -> Vec<OsString> { path.components().filter_map(name).map(OsStr::to_owned).collect() };
    let (path, pool) = (names(path), names(pool));
    !pool.is_empty() && path.len() > pool.len() && path[..path.len() - 1].windows(pool.len()).any(|window| window == pool.as_slice())
}

fn name(component: Component<'_>) -> Option<&OsStr> {
    if let Component::Normal(name) = component { Some(name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, origin: &str, locks: bool) {
        let variable = |name: &str| (name == "CODEX_HOME").then(|| OsString::from("/var/codex"));
        let found = pool_of(Path::new(path), &variable);
        assert_eq!((found.origin, found.locks), (origin, locks), "{path}");
    }

    #[test]
    fn an_origin_is_told_by_whole_names_in_the_path() {
        check("/home/ada/.cursor/worktrees/app/x1", "cursor", false);
        check("/home/ada/.windsurf/worktrees/app", "windsurf", false);
        check("/var/codex/worktrees/7f/app", "codex", false);
        check("/home/ada/.codex/worktrees/7f/app", "codex", false);
        check("/src/app/.claude/worktrees/feat", "claude", true);
        check("/src/app/.kilo/worktrees/feat", "kilo", true);
        check("/home/ada/conductor/workspaces/app/oslo", "conductor", true);
        check("/home/ada/.grok/worktrees/app/x", "other", true);
        check("/src/app-feat", "other", true);
        check("/src/my.cursor/worktrees/app", "other", true);
        check("/src/.cursor/other/worktrees/app", "other", true);
        check("/home/ada/.cursor/worktrees", "other", true);
    }

    #[test]
    fn three_pools_are_capped_and_three_hosts_run_scripts_for_theirs() {
        let none = |_: &str| None;
        for (path, script) in
            [(".cursor/worktrees/a/b", true), (".kilo/worktrees/a", true), (".windsurf/worktrees/a", true), (".claude/worktrees/a", false)]
        {
            assert_eq!(pool_of(&Path::new("/x").join(path), &none).has_script, script, "{path}");
        }
        let of = |path: &str| hosts_of(Path::new(path), &none).into_iter().map(|host| host.id).collect::<Vec<_>>();
        let mut windsurf = of("/home/ada/.windsurf/worktrees/app");
        windsurf.sort_unstable();
        assert_eq!(windsurf, ["devin", "windsurf"]);
    }
}
