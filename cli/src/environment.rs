//! Every variable of the environment that the program reads, and the clock by which people are told times.
//!
//! A variable that is set to nothing counts as not set. Configuration reads its own variables by name through here.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use frith_actors::env::{process::AGENT_VARIABLE, real::world::SystemClock, world::WallClock as _};
use frith_store::{
    hosts::{self, AgentRow, Host},
    model::HostSession,
    time::Timestamp,
};

/// The variables, each with what it is for. Those of the configuration are derived from its keys and not listed, and those in which
/// hosts name their sessions stand in the hosts' rows.
pub const VARIABLES: &[(&str, &str)] = &[
    ("FRITH_HOME", "where everything of the node lies, instead of ~/.frith"),
    ("FRITH_LOG", "what is logged, as in `debug` or `frith_actors=trace`, instead of `info`"),
    ("FRITH_FAULT", "the point at which a node under test ends itself"),
    ("FRITH_CLOCK", "the time that a node or a command under test takes for the one at its start"),
    ("FRITH_NOTICES", "the file to which a node under test writes notifications instead of raising them"),
    ("HOME", "the user's folder"),
    ("PATH", "where commands are found"),
    ("USER", "the user's name, under which what they do is recorded"),
    ("LOGNAME", "the same, where `USER` is not set"),
    ("NO_COLOR", "set to anything: no colours"),
    ("TERM", "`dumb`: no colours and no moving progress"),
    ("XDG_RUNTIME_DIR", "where the socket lies when the home's path is too long"),
    ("XDG_CONFIG_HOME", "where the definition of the service lies, instead of below ~/.config"),
    ("NOTIFY_SOCKET", "where a service manager is told that the node is up"),
    ("TMPDIR", "where the socket lies when there is no runtime folder either"),
];

/// The variables in which hosts name their sessions, with the host: first those that say so by nothing else.
fn session_variables() -> impl Iterator<Item = (&'static Host, &'static str)> {
    let named = || hosts::all().iter().filter_map(|host| Some((*host, *host.environment.session.known()?)));
    let is_only_way = |(host, _): &(&Host, &str)| host.agents == AgentRow::Environment;
    named().filter(is_only_way).chain(named().filter(move |row| !is_only_way(row)))
}

/// The sessions that hosts name in the environment of this process.
pub fn sessions() -> Vec<HostSession> {
    let session = |(host, variable): (&Host, &str)| {
        let id = read(variable)?.into_string().ok()?;
        Some(HostSession { host: host.id.to_owned(), id: Some(id), sub_agent: None })
    };
    session_variables().filter_map(session).collect()
}

/// Whether this variable means something to frith: to this program, or to one that it started.
pub fn is_known(name: &str) -> bool {
    name == AGENT_VARIABLE || VARIABLES.iter().any(|(known, _)| *known == name)
}

/// One variable, if it is set to something.
pub fn read(name: &str) -> Option<OsString> {
    let is_listed = || VARIABLES.iter().any(|(known, _)| *known == name) || session_variables().any(|(_, known)| known == name);
    debug_assert!(name.starts_with("FRITH_") || is_listed(), "`{name}` is not listed");
    env::var_os(name).filter(|value| !value.is_empty())
}

/// One variable of a host, by what its row calls it.
pub fn of_host(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Where everything of the node lies: an absolute path; none when neither `FRITH_HOME` nor `HOME` is set.
pub fn home() -> Option<PathBuf> {
    let chosen = read("FRITH_HOME").map(PathBuf::from);
    let home = chosen.or_else(|| Some(user_folder()?.join(".frith")))?;
    std::path::absolute(home).ok()
}

/// The user's folder.
pub fn user_folder() -> Option<PathBuf> {
    read("HOME").map(PathBuf::from)
}

/// The whole environment, for an agent that is to be launched from it.
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os()
}

/// Whether colours are unwanted.
pub fn is_plain() -> bool {
    read("NO_COLOR").is_some() || is_dumb()
}

/// Whether the terminal cannot move its cursor.
pub fn is_dumb() -> bool {
    read("TERM").is_some_and(|term| term == "dumb")
}

/// The command of this name as the search path finds it.
pub fn find_command(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_command(path));
    }
    find_command_in(&read("PATH")?, name)
}

fn find_command_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(|path| is_command(path))
}

fn is_command(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Now, by this machine's clock.
pub fn now() -> Timestamp {
    clock().now()
}

/// This machine's clock, set to another time where a test wants it so.
pub fn clock() -> SystemClock {
    let set = read("FRITH_CLOCK").and_then(|text| text.to_str()?.parse().ok());
    set.map_or_else(SystemClock::default, SystemClock::set_to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_command_is_an_executable_file_on_an_absolute_part_of_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "").unwrap();
        let path = env::join_paths([Path::new("."), Path::new("/nowhere"), folder.path()]).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find_command_in(&path, "tool"), None);
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_command_in(&path, "tool"), Some(tool));
    }
}
