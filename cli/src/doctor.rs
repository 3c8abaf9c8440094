//! What is wrong on this machine, each with the command that mends it. The work is bounded: a few files are looked at,
//! never a tree of them. Nothing is changed unless asked, and then only what loses nothing.

mod hosts;

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use frith_actors::{
    api::node::{Check, Status},
    local::{
        LocalError,
        client::Connection,
        door,
        lock::{HomeLock, Locked},
        peer::own_user,
    },
};
use frith_net::key::MachineKey;
use frith_store::{backend::file_backend_read_only, database::Database, error::StoreError};
use serde::Serialize;

use crate::{
    args::Doctor,
    ask::Run,
    config::{self, Config, keys},
    environment,
    failure::{Failure, Told},
    log, service, size, start,
};

/// The bytes below which a disk counts as nearly full.
const SPACE_LEAST: u64 = 500 << 20;
/// The bytes of rows kept while a store is only looked at.
const STORE_CACHE: usize = 1 << 20;
/// How long a command that is only asked for its version may take.
const VERSION_MOST: Duration = Duration::from_secs(5);
/// The oldest git whose worktrees work as frith needs them.
const GIT_LEAST: (u32, u32) = (2, 31);

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Good,
    /// Worth knowing.
    Odd,
    /// To be mended.
    Bad,
    /// Was to be mended, and is.
    Mended,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// How bad it is.
    pub state: State,
    /// What was found.
    pub fact: String,
    /// What mends it.
    pub mend: Option<String>,
}

/// Everything that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// In the order in which it was looked at.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// Whether anything is to be mended.
    pub fn has_bad(&self) -> bool {
        self.findings.iter().any(|finding| finding.state == State::Bad)
    }

    fn add(&mut self, what: &'static str, state: State, fact: impl Into<String>, mend: Option<String>) {
        self.findings.push(Finding { what, state, fact: fact.into(), mend });
    }

    fn good(&mut self, what: &'static str, fact: impl Into<String>) {
        self.add(what, State::Good, fact, None);
    }

    fn mended(&mut self, what: &'static str, fact: impl Into<String>) {
        self.add(what, State::Mended, fact, None);
    }

    fn bad(&mut self, what: &'static str, fact: impl Into<String>, mend: impl Into<String>) {
        self.add(what, State::Bad, fact, Some(mend.into()));
    }

    fn failure(&mut self, what: &'static str, failure: Failure) {
        match failure {
            Failure::Declined(told) | Failure::Broken(told) | Failure::Unreachable(told) => {
                self.add(what, State::Bad, told.facts.join(": "), told.hint);
            }
            Failure::Refused(refusal) => self.add(what, State::Bad, refusal.to_string(), refusal.hint()),
            Failure::CommandLine(_) | Failure::NoReader => {}
        }
    }
}

/// Looks at everything.
pub fn examine(run: &Run, args: &Doctor) -> Findings {
    let mut found = Findings { findings: Vec::new() };
    home(&run.home, args.fix, &mut found);
    key(&run.home, args.fix, &mut found);
    let config = configuration(run, args.fix, &mut found);
    node(run, args, &mut found);
    service(&run.home, &mut found);
    root(config.as_ref(), &mut found);
    space(&run.home, &mut found);
    git(&mut found);
    if let Some(config) = &config {
        kinds(config, &mut found);
    }
    hosts::examine(run, args.fix, &mut found);
    found
}

fn home(home: &Path, fix: bool, found: &mut Findings) {
    let shown = home.display();
    let facts = match fs::metadata(home) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return found.good("home", format!("`{shown}` is made at the first start"));
        }
        Err(error) => return found.bad("home", format!("`{shown}` cannot be read: {error}"), "choose another with `FRITH_HOME`"),
    };
    if !facts.is_dir() {
        return found.bad("home", format!("`{shown}` is no folder"), "move it away, or choose another with `FRITH_HOME`");
    }
    if facts.uid() != own_user() {
        return found.bad(
            "home",
            format!("`{shown}` belongs to user {}", facts.uid()),
            "run frith as that user, or choose another with `FRITH_HOME`",
        );
    }
    private("home", home, facts.mode(), 0o700, fix, found);
    for name in PRIVATE {
        let file = home.join(name);
        if let Ok(facts) = fs::symlink_metadata(&file)
            && !facts.is_symlink()
            && facts.mode() & 0o077 != 0
        {
            private("home", &file, facts.mode(), if facts.is_dir() { 0o700 } else { 0o600 }, fix, found);
        }
    }
}

/// What lies in a home and is nobody else's business. The configuration may be a link into a folder of dot-files, and a fork's
/// folder has the modes of its repository.
const PRIVATE: [&str; 12] = [
    "node.log",
    "node.log.1",
    "node.log.2",
    "node.log.3",
    "node.log.4",
    "node.log.5",
    "node.lock",
    "node.sock",
    "start.lock",
    "store.redb",
    "blobs",
    "http-token",
];

/// What must be closed to others.
fn private(what: &'static str, path: &Path, mode: u32, wanted: u32, fix: bool, found: &mut Findings) {
    let shown = path.display();
    if mode & 0o077 == 0 {
        return found.good(what, format!("`{shown}` is closed to others"));
    }
    if fix && fs::set_permissions(path, fs::Permissions::from_mode(wanted)).is_ok() {
        return found.mended(what, format!("`{shown}` was open to others and is closed"));
    }
    found.bad(what, format!("`{shown}` is open to others (mode {:04o})", mode & 0o7777), format!("chmod {wanted:o} {shown}"));
}

fn key(home: &Path, fix: bool, found: &mut Findings) {
    let path = home.join("key");
    if let Ok(facts) = fs::symlink_metadata(&path)
        && facts.is_file()
        && facts.mode() & 0o077 != 0
    {
        return private("key", &path, facts.mode(), 0o600, fix, found);
    }
    match MachineKey::load(&path) {
        Ok(Some(key)) => found.good("key", format!("this is machine {}", key.machine())),
        Ok(None) if home.join("store.redb").exists() => {
            found.bad(
                "key",
                format!("`{}` is gone, and there is a store that it wrote", path.display()),
                "put the key back where you have it, or move the store away and `frith restore <backup>`",
            );
        }
        Ok(None) => found.good("key", "made at the first start"),
        Err(error) => found.add("key", State::Bad, Told::of(&error).facts.join(": "), error.hint()),
    }
}

fn configuration(run: &Run, fix: bool, found: &mut Findings) -> Option<Config> {
    if fix {
        mend_configuration(&run.home, found);
    }
    for warning in config::misspelt_variables() {
        found.add("environment", State::Odd, warning, Some("unset it, or call it so".into()));
    }
    let folder = std::env::current_dir().ok();
    match config::read(&run.home, folder.as_deref(), &[]).and_then(|config| config::node_config(&config).map(|_| config)) {
        Ok(config) => {
            for warning in &config.warnings {
                found.add("configuration", State::Odd, warning.clone(), Some("`frith config path` names the file".into()));
            }
            if config.warnings.is_empty() {
                found.good("configuration", format!("`{}` is readable", config::path(&run.home).display()));
            }
            Some(config)
        }
        Err(failure) => {
            found.failure("configuration", failure);
            for key in config::edit::faults(&config::path(&run.home)) {
                found.bad("configuration", format!("`{key}` keeps the node from starting"), format!("frith config unset {key}"));
            }
            None
        }
    }
}

/// Takes out the values that keep a node from starting. The file as it was stays beside it, so nothing is lost.
fn mend_configuration(home: &Path, found: &mut Findings) {
    let path = config::path(home);
    let faults = config::edit::faults(&path);
    if faults.is_empty() {
        return;
    }
    let aside = match config::edit::set_aside(&path) {
        Ok(aside) => aside,
        Err(error) => {
            return found.bad("configuration", format!("`{}` cannot be copied: {error}", path.display()), "make its folder writable");
        }
    };
    for key in faults {
        match config::edit::unset(&path, &key) {
            Ok(_) => found.mended(
                "configuration",
                format!("`{key}` had a value that is not accepted and was taken out; `{}` has it", aside.display()),
            ),
            Err(failure) => found.failure("configuration", failure),
        }
    }
}

fn node(run: &Run, args: &Doctor, found: &mut Findings) {
    let connection = match start::reach(&run.home) {
        Ok(None) => match start::reach_patiently(&run.home) {
            Ok(Some(connection)) => {
                found.mended("socket", "it was gone, and the node made it anew");
                Ok(Some(connection))
            }
            other => other,
        },
        other => other,
    };
    match connection {
        Ok(Some(mut connection)) => running(run, &mut connection, args, found),
        Ok(None) => no_node(run, args, found),
        Err(failure) => found.failure("node", failure),
    }
}

/// The most documents that are checked unasked: they take a second or two.
const CHECKED_UNASKED: u64 = 10_000;

fn running(run: &Run, connection: &mut Connection, args: &Doctor, found: &mut Findings) {
    let status = match run.ask_at(connection, Status {}) {
        Ok(status) => status,
        Err(failure) => return found.failure("node", failure),
    };
    found.good("node", format!("frith {} answers as process {}", status.version, status.pid));
    if status.binary_replaced {
        let mend = "frith down, then frith up";
        found.add("node", State::Odd, "its program was replaced while it runs; it goes on with the old one", Some(mend.into()));
    }
    for trouble in status.troubles {
        found.bad("node", trouble, "`frith logs` has the details");
    }
    let size = format!("{} documents in {}", status.documents, size::bytes(status.store_bytes));
    if status.documents > CHECKED_UNASKED && !args.thorough {
        return found.good("store", format!("{size}; `frith doctor --thorough` checks them all"));
    }
    let checked = start::reach(&run.home).and_then(|connection| connection.map(|mut node| run.ask_at(&mut node, Check {})).transpose());
    match checked {
        Ok(Some(checked)) if checked.found.is_empty() => found.good("store", format!("{size}, which all agree")),
        Ok(Some(checked)) => {
            for fault in checked.found {
                found.bad("store", fault, "frith restore <backup>, in another home; this one goes on without what is damaged");
            }
        }
        Ok(None) => found.good("store", size),
        Err(failure) => found.failure("store", failure),
    }
}

fn no_node(run: &Run, args: &Doctor, found: &mut Findings) {
    store(&run.home, found);
    match door::find(&run.home).err() {
        Some(error @ LocalError::UnsafeFolder { .. }) => return found.failure("node", error.into()),
        _ if args.fix && !found.has_bad() => {
            return match start::reach_or_start(&run.home, true) {
                Ok(_) => found.mended("node", "none ran, and one was started"),
                Err(failure) => found.failure("node", failure),
            };
        }
        _ => {}
    }
    let last = log::last_error(&run.home).map(|line| format!("; {line}")).unwrap_or_default();
    found.add("node", State::Odd, format!("none runs{last}"), Some("frith up".into()));
}

/// The store of a node that is down, opened for reading alone and left as it is. A node that starts meanwhile waits for
/// the lock.
fn store(home: &Path, found: &mut Findings) {
    let path = home.join("store.redb");
    if !fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file()) {
        return;
    }
    let Ok(Locked::Ours(_lock)) = HomeLock::take(home) else { return };
    let opened = file_backend_read_only(&path).and_then(|backend| Database::open_read_only(backend, path, STORE_CACHE)?.bytes());
    match opened {
        Ok(length) => found.good("store", size::bytes(length)),
        Err(error @ StoreError::NeedsRepair { .. }) => found.add("store", State::Odd, error.to_string(), error.hint()),
        Err(error) => found.add("store", State::Bad, Told::of(&error).facts.join(": "), error.hint()),
    }
}

fn service(home: &Path, found: &mut Findings) {
    let mend = || Some("frith up --install-service".into());
    match (service::installed(home), service::here(home)) {
        (None, _) => found.good("service", "none is installed; `frith up --install-service` keeps the node running for good"),
        (Some(file), Ok(here)) if fs::read_to_string(&file).is_ok_and(|text| is_same_service(&text, &(service::manager().text)(&here))) => {
            found.good("service", format!("`{}` is as it should be", file.display()));
        }
        (Some(file), Ok(_)) => {
            let fact = format!("`{}` is of another program or home than this command's", file.display());
            found.add("service", State::Odd, fact, mend());
        }
        (Some(_), Err(failure)) => found.failure("service", failure),
    }
}

/// Whether two definitions of the service are the same but for the search path, which is that of the shell that installed it.
fn is_same_service(one: &str, other: &str) -> bool {
    let without_path = |text: &str| {
        let mut after_key = false;
        let kept = text.lines().filter(|line| {
            let skip = after_key || line.contains("PATH=") || line.contains("<key>PATH</key>");
            after_key = line.contains("<key>PATH</key>");
            !skip
        });
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    without_path(one) == without_path(other)
}

fn root(config: Option<&Config>, found: &mut Findings) {
    if own_user() != 0 {
        return;
    }
    let refuses = config.is_some_and(config::refuses_root);
    let fact =
        if refuses { "frith runs as root, and `node.root` refuses that" } else { "frith runs as root, and so does every agent it starts" };
    found.add("root", if refuses { State::Bad } else { State::Odd }, fact, Some("run frith as an ordinary user".into()));
}

fn space(home: &Path, found: &mut Findings) {
    let Some(there) = home.ancestors().find(|folder| folder.exists()) else { return };
    match rustix::fs::statvfs(there) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let fact = format!("{} are free at `{}`", size::bytes(free), there.display());
            if free < SPACE_LEAST { found.bad("disk", fact, "free some space") } else { found.good("disk", fact) }
        }
        Err(error) => found.add("disk", State::Odd, format!("its free space cannot be told: {error}"), None),
    }
}

fn git(found: &mut Findings) {
    let Some(program) = environment::find_command("git") else {
        return found.bad("git", "it is not on the search path, and forks of repositories need it", "install git");
    };
    match version(&program) {
        Some((text, numbers)) if numbers >= GIT_LEAST => found.good("git", text),
        Some((text, _)) => found.bad("git", format!("{text} is older than {}.{}", GIT_LEAST.0, GIT_LEAST.1), "update git"),
        None => found.bad("git", format!("`{}` does not tell its version", program.display()), "reinstall git"),
    }
}

/// What `git --version` says, within a bounded time.
fn version(program: &Path) -> Option<(String, (u32, u32))> {
    let mut child =
        Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let pipe = child.stdout.take()?;
    let said = start::read_within(pipe, VERSION_MOST);
    // Whether it ends by itself does not matter once it has said all or too little.
    let _ = child.kill();
    let _ = child.wait();
    let text = String::from_utf8_lossy(&said?).trim().to_owned();
    let mut numbers = text.split_whitespace().find_map(|word| word.split_once('.'))?.1.split('.');
    let major = text.split_whitespace().find_map(|word| word.split('.').next()?.parse().ok())?;
    Some((text.clone(), (major, numbers.next()?.parse().ok()?)))
}

fn kinds(config: &Config, found: &mut Findings) {
    let commands = config.settings.iter().filter_map(|(path, setting)| {
        let kind = path.strip_prefix("launch.")?.strip_suffix(".command")?;
        Some((kind, keys::texts(&setting.value)?.first()?.clone(), setting.source == config::Source::Default))
    });
    let (there, missing): (Vec<_>, Vec<_>) = commands.partition(|(_, command, _)| environment::find_command(command).is_some());
    let names: Vec<_> = there.iter().map(|(kind, _, _)| *kind).collect();
    if names.is_empty() {
        let mend = "install a coding agent, or name one: frith config set launch.<kind>.command '[\"<command>\"]'";
        found.add("agents", State::Odd, "no kind's command is on the search path", Some(mend.into()));
    } else {
        found.good("agents", format!("can be launched: {}", names.join(", ")));
    }
    for (kind, command, _) in missing.iter().filter(|(_, _, built_in)| !built_in) {
        let mend = format!("install it, or frith config set launch.{kind}.command '[\"<command>\"]'");
        found.bad("agents", format!("`{command}`, the command of kind `{kind}`, is not on the search path"), mend);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Global;

    fn run(home: &Path) -> Run {
        Run { global: Global { quiet: true, ..Global::default() }, home: home.to_owned() }
    }

    fn bad(found: &Findings) -> Vec<&str> {
        found.findings.iter().filter(|finding| finding.state == State::Bad).map(|finding| finding.what).collect()
    }

    #[test]
    fn an_open_home_and_key_are_found_and_mended_when_asked() {
        let home = tempfile::tempdir().unwrap();
        MachineKey::create(&home.path().join("key"), &[1; 32]).unwrap();
        fs::set_permissions(home.path().join("key"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let found = examine(&run(home.path()), &Doctor::default());
        assert!(bad(&found).starts_with(&["home", "key"]), "{found:?}");
        assert!(found.findings.iter().all(|finding| matches!(finding.state, State::Good | State::Mended) || finding.mend.is_some()));
        let mended = examine(&run(home.path()), &Doctor { fix: true, ..Doctor::default() });
        assert!(!bad(&mended).contains(&"home") && !bad(&mended).contains(&"key"), "{mended:?}");
    }

    #[test]
    fn a_lost_key_beside_a_store_is_found() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(home.path().join("store.redb"), "").unwrap();
        assert!(bad(&examine(&run(home.path()), &Doctor { fix: true, ..Doctor::default() })).contains(&"key"));
    }

    #[test]
    fn an_unreadable_configuration_is_found_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        fs::write(config::path(home.path()), "[node]\nmax_agents = 0").unwrap();
        let found = examine(&run(home.path()), &Doctor::default());
        let finding = found.findings.iter().find(|finding| finding.what == "configuration").unwrap();
        assert!(finding.state == State::Bad && finding.fact.contains("line 2"), "{finding:?}");
    }

    #[test]
    fn a_damaged_store_is_bad_while_no_node_runs() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("store.redb"), "no store at all").unwrap();
        let found = examine(&run(home.path()), &Doctor::default());
        let finding = found.findings.iter().find(|finding| finding.what == "store").unwrap();
        assert!(finding.state == State::Bad && finding.mend.is_some(), "{finding:?}");
        assert_eq!(fs::read_to_string(home.path().join("store.redb")).unwrap(), "no store at all");
    }

    #[test]
    fn e30_pipes_where_files_belong_keep_nobody_waiting() {
        let home = tempfile::tempdir().unwrap();
        for name in ["key", "node.log", "config.toml", "node.sock"] {
            let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(home.path().join(name)).status().unwrap();
            assert!(made.success());
        }
        let found = examine(&run(home.path()), &Doctor::default());
        assert!(["key", "configuration"].iter().all(|what| bad(&found).contains(what)), "{found:?}");
    }

    #[test]
    fn nothing_of_frith_at_all_is_nothing_bad_about_home_and_key() {
        let root = tempfile::tempdir().unwrap();
        let found = examine(&run(&root.path().join("home")), &Doctor::default());
        assert!(!bad(&found).contains(&"home") && !bad(&found).contains(&"key"));
    }
}
