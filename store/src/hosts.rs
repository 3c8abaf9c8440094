//! Hosts as data: what is known of each coding-agent product, one row each, and which programs are no host.
//!
//! Variation between hosts is a row here and nowhere else: no other code matches on a host's name. `store/hosts.json` is
//! the same knowledge as it was collected; a test compares the two. Rows are constants, so finding one costs a few
//! comparisons and reads no file.

pub mod config;
pub mod environment;
pub mod fact;
pub mod here;
pub mod hooks;
pub mod programs;
pub mod worktrees;
mod rows;
pub mod pools;

pub use config::{ConfigFile, Entry, Format, Key, Mcp, Value};
pub use environment::{CallerKey, Environment, Seen};
pub use fact::{Fact, Source};
pub use here::{EXTENSION_FOLDERS, Here, Moved, Signs, Switch};
pub use hooks::{
    Answer, Context, EntryShape, EventClass, EventName, Extra, Field, Folder, HookEvent, Hooks, Input, Instead, Payload, Permission, Says,
    Step, Timeout, Trust, Unit,
};
pub use programs::{is_place_of_people, is_shell};
pub use worktrees::{Adopt, Pool, PostCreate, PostCreateEntry, Worktrees};

/// One coding-agent product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The word that names it in commands and records.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// In which forms it exists.
    pub surfaces: &'static [Surface],
    /// How an agent of it comes to be known.
    pub agents: AgentRow,
    /// How it is found on a machine, and where its files lie there.
    pub here: &'static Here,
    /// How it is told of an MCP server.
    pub mcp: Mcp,
    /// Its hooks; `None` when it has none.
    pub hooks: Fact<Hooks>,
    /// Functions of its plugins through which a plugin could tell what hooks tell; empty when hooks do or nothing does.
    pub plugin_functions: &'static [&'static str],
    /// What it puts into environments.
    pub environment: Environment,
    /// What it does with worktrees of its own.
    pub worktrees: Worktrees,
    /// What is said of it and was not seen to be so, in words.
    pub unverified: &'static [&'static str],
    /// Facts that nobody looked up at its maker, by their names in `hosts.json` or in words.
    pub not_looked_up: &'static [&'static str],
    /// Where its facts were looked up: a page or a package of its maker, of which version. What nobody looked up is handed down.
    pub looked_up: &'static [&'static str],
}

/// A form in which a host exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// A command of a shell.
    Cli,
    /// An application.
    App,
    /// An application for the desktop beside a command.
    Desktop,
    /// An editor.
    Ide,
    /// A part of somebody else's editor.
    Extension,
}

/// How an agent of a host comes to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentRow {
    /// Its hooks tell.
    Hooks,
    /// Its MCP process tells.
    Mcp,
    /// The session's id in the environment of its MCP process tells.
    Environment,
    /// Nothing tells.
    None,
}

/// Every host, in the order of `hosts.json`.
pub fn all() -> &'static [&'static Host] {
    rows::ALL
}

/// The host of this id.
pub fn host(id: &str) -> Option<&'static Host> {
    rows::ALL.iter().copied().find(|host| host.id == id)
}

/// The host to which an environment attributes a hook, whatever the hook's command says; most environments name none.
pub fn attributed(is_set: impl Fn(&str) -> bool) -> Option<&'static Host> {
    rows::ALL.iter().copied().find(|host| host.environment.attributes.known().is_some_and(|variable| is_set(variable)))
}

impl Host {
    /// What is known of one of its hook events; an event that is not listed is none that says anything.
    pub fn event(&self, name: &str) -> Option<&'static HookEvent> {
        self.hooks.known()?.events.iter().find(|event| event.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_finds_its_own_row() {
        assert_eq!(all().len(), 36);
        for row in all() {
            assert_eq!(host(row.id).map(|found| found.id), Some(row.id));
        }
        assert_eq!(host("other"), None);
        assert_eq!(host("Claude"), None);
    }

    #[test]
    fn a_hook_that_another_host_imported_is_attributed_to_that_one() {
        assert_eq!(attributed(|name| name == "GROK_HOOK_EVENT").map(|host| host.id), Some("grok"));
        assert_eq!(attributed(|name| name == "CONTINUE_PROJECT_DIR").map(|host| host.id), Some("continue"));
        assert_eq!(attributed(|_| false), None);
    }

    #[test]
    fn each_host_that_hooks_register_has_events_that_start_it_or_show_it_at_work() {
        for row in all().iter().filter(|row| row.agents == AgentRow::Hooks) {
            let hooks = row.hooks.known().unwrap_or_else(|| panic!("{} has no hooks", row.id));
            assert!(hooks.installed && hooks.events.iter().any(|event| event.used), "{}", row.id);
            assert!(hooks.payload.is_known() && hooks.answer.is_known(), "{}", row.id);
        }
    }

    #[test]
    fn no_event_after_which_a_session_waits_or_ends_takes_context() {
        use EventClass::{End, Stop, SubStop};
        for row in all() {
            for event in row.hooks.known().map_or(&[][..], |hooks| hooks.events) {
                let waits = matches!(event.class, Stop | End | SubStop);
                assert!(!(waits && event.says == Says::Context), "{} {}", row.id, event.name);
            }
        }
    }

    #[test]
    fn an_event_stands_once_in_a_row() {
        for row in all() {
            let mut names: Vec<_> = row.hooks.known().map_or(&[][..], |hooks| hooks.events).iter().map(|event| event.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", row.id);
        }
    }
}
