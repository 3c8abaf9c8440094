//! Reaching this machine's node, and starting it when none runs.
//!
//! Whoever starts one holds a lock meanwhile, so that many commands at once start one node. The node itself is this same
//! program in a session of its own; it tells over a pipe when all is up, or why it is not.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read},
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use frith_actors::local::{
    LocalError,
    client::Connection,
    door,
    lock::{HomeLock, Locked},
    peer::own_user,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
};
use serde::{Deserialize, Serialize};

use crate::{
    environment,
    failure::{Failure, Told},
    log, progress, service,
};

/// How long a node may take until it has told anything; a store of many gigabytes opens within it.
const START_MOST: Duration = Duration::from_secs(120);
/// After how long the wait for a node is worth a word.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at a lock that another process holds.
const NAP: Duration = Duration::from_millis(20);

/// What a node in the background tells whoever started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Started {
    /// It answers calls.
    Up,
    /// Another node has this home already.
    Taken,
    /// It did not start.
    Failed {
        /// The fact, then its causes.
        facts: Vec<String>,
        /// What would mend it.
        hint: Option<String>,
    },
}

/// The node's home, from the environment.
///
/// # Errors
/// Neither variable that names it is set.
pub fn home() -> Result<PathBuf, Failure> {
    environment::home().ok_or_else(|| {
        Failure::Broken(Told::new("neither `FRITH_HOME` nor `HOME` is set, so there is no place for the node").hint("set `FRITH_HOME`"))
    })
}

/// Makes the home, closed to others, and checks that it is the user's.
///
/// # Errors
/// It cannot be made or written, or belongs to somebody else.
pub fn make_home(home: &Path) -> Result<(), Failure> {
    let shown = home.display();
    let failed = |error: &io::Error| {
        let told = Told::because(format!("the node's home `{shown}` cannot be made"), error);
        Failure::Broken(told.hint("make it writable, or choose another with `FRITH_HOME`"))
    };
    match DirBuilder::new().mode(0o700).create(home) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&error)),
        _ => {}
    }
    let facts = fs::metadata(home).map_err(|error| failed(&error))?;
    require_folder(home)?;
    let user = own_user();
    if facts.uid() != user {
        let told = Told::new(format!("the node's home `{shown}` belongs to user {}, and this is user {user}", facts.uid()));
        return Err(Failure::Broken(told.hint("run frith as that user, or choose a home of your own with `FRITH_HOME`")));
    }
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(home, PermissionsExt::from_mode(0o700)).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// That no file is where the home should be.
fn require_folder(home: &Path) -> Result<(), Failure> {
    match fs::metadata(home) {
        Ok(facts) if !facts.is_dir() => {
            let told = Told::new(format!("the node's home `{}` is a file, and it has to be a folder", home.display()));
            Err(Failure::Broken(told.hint("move the file away, or choose another home with `FRITH_HOME`")))
        }
        _ => Ok(()),
    }
}

/// What this machine is called when nobody named it.
pub fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = frith_store::text::kebab(name.split('.').next().unwrap_or_default());
    if name.is_empty() { "machine".into() } else { name }
}

/// A connection to the running node; none when no node runs.
///
/// # Errors
/// A node, or something else, is there and cannot be spoken with.
pub fn reach(home: &Path) -> Result<Option<Connection>, Failure> {
    require_folder(home)?;
    let Some(socket) = door::find(home)? else { return Ok(None) };
    match Connection::open(&socket) {
        Ok(connection) => Ok(Some(connection)),
        Err(LocalError::NoNode { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// As [`reach`], and waits for a node that has the home and does not listen yet, or not any more: it opens its socket by itself.
///
/// # Errors
/// As [`reach`], and when it goes on not listening.
pub fn reach_patiently(home: &Path) -> Result<Option<Connection>, Failure> {
    if let Some(connection) = reach(home)? {
        return Ok(Some(connection));
    }
    if !home.exists() || matches!(HomeLock::take(home)?, Locked::Ours(_)) {
        return Ok(None);
    }
    again(home).map(Some)
}

/// A connection to the node, which is started when none runs.
///
/// # Errors
/// It could not be started or reached, with its own reason where it told one.
pub fn reach_or_start(home: &Path, quiet: bool) -> Result<Connection, Failure> {
    if let Some(connection) = reach(home)? {
        return Ok(connection);
    }
    make_home(home)?;
    let Some(_lock) = lock_or_reach(home)? else { return again(home) };
    if let Some(connection) = reach(home)? {
        return Ok(connection);
    }
    if started_by_service(home, quiet) {
        return again(home);
    }
    let mut child = spawn(home)?;
    match wait_for_word(&mut child, quiet) {
        Some(Started::Up | Started::Taken) => again(home),
        Some(Started::Failed { facts, hint }) => {
            Err(Failure::Broken(Told { facts: [vec!["the node did not start".to_owned()], facts].concat(), hint }))
        }
        None => Err(no_word(home, &mut child)),
    }
}

/// The lock for starting a node; none when a node can be reached meanwhile.
fn lock_or_reach(home: &Path) -> Result<Option<HomeLock>, Failure> {
    for _ in 0..START_MOST.as_millis() / NAP.as_millis() {
        match HomeLock::take_to_start(home)? {
            Locked::Ours(lock) => return Ok(Some(lock)),
            Locked::Taken(_) if reach(home)?.is_some() => return Ok(None),
            Locked::Taken(_) => std::thread::sleep(NAP),
        }
    }
    let told = Told::new("another process has been starting the node for too long");
    Err(Failure::Unreachable(told.hint("`frith logs` may say why")))
}

/// A connection to a node that is there, or about to be: another process may be between its lock and its socket.
fn again(home: &Path) -> Result<Connection, Failure> {
    for _ in 0..Duration::from_secs(10).as_millis() / NAP.as_millis() {
        if let Some(connection) = reach(home)? {
            return Ok(connection);
        }
        std::thread::sleep(NAP);
    }
    let told = Told::new("a node has this home and does not listen");
    Err(Failure::Unreachable(told.hint("`frith doctor` looks into it")))
}

/// Starts the node as the service that it is installed as. Where that fails it is started as any other.
fn started_by_service(home: &Path, quiet: bool) -> bool {
    let Some(file) = service::installed(home) else { return false };
    match service::manager().start(&service::name_of(home), &file) {
        Ok(()) => true,
        Err(_) if quiet => false,
        Err(failure) => {
            progress::say(&format!("warning: {}; starting the node without its service", failure.fact()));
            false
        }
    }
}

/// Starts this same program as a node that outlives us.
fn spawn(home: &Path) -> Result<Child, Failure> {
    let failed = |error: &io::Error| Failure::Broken(Told::because("the node could not be started", error));
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let log = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(log::path(home));
    let log = log.map_err(|error| Failure::Broken(log::cannot_write(home, &error)))?;
    let mut command = Command::new(program);
    command.args(["up", "--foreground", "--detached"]).current_dir("/").env("FRITH_HOME", home);
    // A node that an agent's shell happens to start is nobody's agent.
    command.env_remove(frith_actors::env::process::AGENT_VARIABLE);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    command.spawn().map_err(|error| failed(&error))
}

/// What the node tells; none when it ended or took too long without a word.
fn wait_for_word(child: &mut Child, quiet: bool) -> Option<Started> {
    let pipe = child.stdout.take()?;
    let mut is_told = quiet;
    let said = read_all(pipe, START_MOST, || {
        if !std::mem::replace(&mut is_told, true) {
            progress::say("waiting for the node to open its store");
        }
    });
    postcard::from_bytes(&said?).ok()
}

/// Everything that comes over a pipe until its end; none when that takes too long or fails.
pub fn read_within(pipe: impl Read + AsFd, most: Duration) -> Option<Vec<u8>> {
    read_all(pipe, most, || {})
}

/// Everything that comes over a pipe until its end; none when that is not there at this time, is too much, or fails.
pub fn read_until(mut pipe: impl Read + AsFd, until: i64, most: usize) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    let mut chunk = [0; 4096];
    while said.len() <= most {
        let left = until.saturating_sub(environment::now().ms()).max(0);
        if !is_readable(&pipe, Duration::from_millis(left.unsigned_abs())) {
            if left == 0 {
                return None;
            }
            continue;
        }
        match pipe.read(&mut chunk) {
            Ok(0) => return Some(said),
            Ok(count) => said.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    None
}

fn read_all(mut pipe: impl Read + AsFd, most: Duration, mut when_slow: impl FnMut()) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    let mut chunk = [0; 4096];
    let mut waited = Duration::ZERO;
    while waited < most {
        if !is_readable(&pipe, PATIENCE) {
            waited += PATIENCE;
            when_slow();
            continue;
        }
        match pipe.read(&mut chunk) {
            Ok(0) => return Some(said),
            Ok(count) => said.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    None
}

/// Whether something can be read; a pipe that cannot be watched is read at once.
fn is_readable(pipe: &impl AsFd, within: Duration) -> bool {
    let mut waiting = [PollFd::new(pipe, PollFlags::IN)];
    let within = Timespec { tv_sec: within.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: within.subsec_nanos().into() };
    match poll(&mut waiting, Some(&within)) {
        Ok(ready) => ready > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

fn no_word(home: &Path, child: &mut Child) -> Failure {
    let ended = child.try_wait().ok().flatten();
    let fact = match ended {
        Some(status) => format!("the node ended at once ({status})"),
        None => format!("the node said nothing for {} seconds", START_MOST.as_secs()),
    };
    let mut told = Told::new(fact);
    told.facts.extend(log::last_error(home));
    let told = told.hint("`frith logs` has the details; `frith up --foreground` shows them here");
    // One that ended is known to be broken; one that is silent may still come.
    if ended.is_some() { Failure::Broken(told) } else { Failure::Unreachable(told) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_made_closed_and_an_open_one_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        make_home(&home).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home), 0o700);
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        make_home(&home).unwrap();
        assert_eq!(mode(&home), 0o700);
    }

    #[test]
    fn a_home_that_cannot_be_made_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let Err(Failure::Broken(told)) = make_home(&file.join("home")) else { panic!("a file has no folders") };
        assert!(told.hint.unwrap().contains("FRITH_HOME"));
    }

    #[test]
    fn no_socket_and_one_left_behind_are_both_no_node() {
        let home = tempfile::tempdir().unwrap();
        assert!(reach(home.path()).unwrap().is_none());
        drop(std::os::unix::net::UnixListener::bind(home.path().join("node.sock")).unwrap());
        assert!(reach(home.path()).unwrap().is_none());
    }
}
