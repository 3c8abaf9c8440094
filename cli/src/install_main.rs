//! `frith agents install`, `uninstall` and `list`: which hosts are meant, and what becomes of each. It runs in this process and
//! asks no node.

use std::{
    env,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use frith_actors::{
    env::real::world::FaultAt,
    install::{self, Ground, HostDone, HostState, How, Task, file, record},
};
use frith_store::{
    hosts::{self, Host},
    refusal::Refusal,
};
use serde::Serialize;

use crate::{
    args::{AgentsInstall, AgentsList, AgentsUninstall},
    ask::Run,
    config, environment,
    failure::{Failure, Told},
    progress, service, start,
};

/// For how many milliseconds the versions of hosts are waited for; a slow one is not told.
const VERSION_MOST: i64 = 2_000;
/// The most that a host may say to tell its version.
const VERSION_BYTES: usize = 64 * 1024;

/// What became of hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether it was to be taken out.
    pub taken_out: bool,
    /// The hosts.
    pub hosts: Vec<HostDone>,
    /// Hosts that were passed over, each with the reason.
    pub passed_over: Vec<PassedOver>,
}

/// A host that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PassedOver {
    /// Its id.
    pub host: &'static str,
    /// Why.
    pub why: WhyNot,
}

/// Why a host was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WhyNot {
    /// It is not on this machine.
    NotHere,
    /// It takes no entry for an MCP server.
    TakesNothing,
}

/// Hosts as they stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The hosts.
    pub hosts: Vec<HostState>,
    /// How many more there are that are not on this machine.
    pub elsewhere: usize,
}

impl Done {
    /// The failure of the hosts with which it was not done to the end, if any is.
    pub fn failure(&self) -> Option<Failure> {
        let become_of = |it: &HostDone| if it.is_changed() { "was changed in part" } else { "was left as it is" };
        let fact = |it: &HostDone| Some(format!("`{}` {}: {}", it.host, become_of(it), it.fault.as_ref()?));
        let facts: Vec<_> = self.hosts.iter().filter_map(fact).collect();
        let in_part = self.hosts.iter().any(|it| it.fault.is_some() && it.is_changed());
        let hint = if in_part {
            "mend the file, or make it readable and writable, and run this again: it does what is still to be done"
        } else {
            "mend the file, or make it readable and writable, and run this again: no file of such a host was changed"
        };
        (!facts.is_empty()).then(|| Failure::Broken(Told { facts, hint: Some(hint.into()) }))
    }
}

/// Enters ours into hosts.
///
/// # Errors
/// A host is unknown, not here or takes nothing; then nothing was written. What goes wrong with one host is in the answer.
pub fn install(run: &Run, args: &AgentsInstall) -> Result<Done, Failure> {
    with_ground(run, |ground| {
        let (meant, passed_over) = if args.all { all_here(ground) } else { (named_here(ground, &args.hosts)?, Vec::new()) };
        let hosts = carry_out(run, ground, &meant, Task::Enter, args.dry_run)?;
        Ok(Done { dry_run: args.dry_run, taken_out: false, hosts, passed_over })
    })
}

/// Takes ours out of hosts.
///
/// # Errors
/// A host is unknown; then nothing was written. What goes wrong with one host is in the answer.
pub fn uninstall(run: &Run, args: &AgentsUninstall) -> Result<Done, Failure> {
    with_ground(run, |ground| {
        let record = recorded(ground)?;
        let has_ours = |host: &&'static Host| {
            let state = install::look(ground, host, &record);
            state.has_any() || state.installed == Some(true) || !state.faults.is_empty() && state.installed.is_some()
        };
        let meant = if args.all { hosts::all().iter().copied().filter(has_ours).collect() } else { known(&args.hosts)? };
        let hosts = carry_out(run, ground, &meant, Task::TakeOut, args.dry_run)?;
        Ok(Done { dry_run: args.dry_run, taken_out: true, hosts, passed_over: Vec::new() })
    })
}

/// Lists hosts, with the versions that those here tell.
///
/// # Errors
/// The user's folder is not known.
pub fn list(run: &Run, args: &AgentsList) -> Result<Listed, Failure> {
    with_ground(run, |ground| {
        let record = recorded(ground)?;
        let all: Vec<_> = hosts::all().iter().map(|host| install::look(ground, host, &record)).collect();
        let is_shown = |state: &HostState| args.all || !state.found.is_empty() || state.has_any() || state.installed == Some(true);
        let (mut shown, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_shown);
        tell_versions(&mut shown);
        Ok(Listed { hosts: shown, elsewhere: others.len() })
    })
}

/// Does something with what this process's environment says of the machine.
///
/// # Errors
/// The user's folder is not known, or what is done fails.
pub fn with_ground<T>(run: &Run, act: impl FnOnce(&Ground<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    let user = environment::user_folder().filter(|folder| folder.is_absolute());
    let no_user = || Failure::Broken(Told::new("`HOME` is not set, so no host's files can be found").hint("set `HOME` to your folder"));
    let search = environment::read("PATH").unwrap_or_default();
    let ground = Ground {
        user: user.ok_or_else(no_user)?,
        search: env::split_paths(&search).collect(),
        variable: &environment::of_host,
        program: service::program()?,
        home: run.home.clone(),
        now: environment::now(),
        backups: backups(run),
        faults: &FaultAt(environment::read("FRITH_FAULT").and_then(|point| point.into_string().ok())),
    };
    act(&ground)
}

/// How many backups are kept; a configuration that cannot be read is told by other commands.
fn backups(run: &Run) -> usize {
    let config = config::read(&run.home, None, &[]).ok();
    let kept = config.and_then(|config| config.setting("install.backup_files").ok()?.value.as_integer());
    kept.and_then(|kept| kept.try_into().ok()).unwrap_or(file::BACKUPS)
}

/// The hosts of these ids, each once.
///
/// # Errors
/// A host is unknown.
pub fn known(ids: &[String]) -> Result<Vec<&'static Host>, Failure> {
    let mut meant: Vec<&'static Host> = Vec::new();
    for id in ids.iter().map(|id| id.trim()).filter(|id| !id.is_empty()) {
        let host = hosts::host(id).ok_or_else(|| unknown(id))?;
        if meant.iter().all(|it| it.id != host.id) {
            meant.push(host);
        }
    }
    Ok(meant)
}

fn unknown(given: &str) -> Failure {
    let given_low = given.to_lowercase();
    let likeness = |id: &str| (strsim::jaro_winkler(id, &given_low) * 1000.0) as u32;
    let nearest = hosts::all().iter().map(|host| host.id).max_by_key(|id| likeness(id)).filter(|id| likeness(id) > 800);
    Failure::Refused(Box::new(Refusal::UnknownHost { given: given.to_owned(), nearest: nearest.map(str::to_owned) }))
}

/// The hosts of these ids, all of which take an entry and are on this machine.
fn named_here(ground: &Ground<'_>, ids: &[String]) -> Result<Vec<&'static Host>, Failure> {
    let meant = known(ids)?;
    let refuse = |refusal| Err(Failure::Refused(Box::new(refusal)));
    if let Some(host) = meant.iter().find(|host| !host.mcp.entry.is_known()) {
        return refuse(Refusal::HostTakesNothing { host: host.id.to_owned() });
    }
    let away: Vec<_> = meant.iter().filter(|host| !install::find::find(ground, host).is_here()).map(|host| host.id.to_owned()).collect();
    if away.is_empty() { Ok(meant) } else { refuse(Refusal::HostsNotHere { hosts: away }) }
}

/// The hosts that are on this machine and take an entry, and why the others are passed over.
fn all_here(ground: &Ground<'_>) -> (Vec<&'static Host>, Vec<PassedOver>) {
    let (mut meant, mut passed_over) = (Vec::new(), Vec::new());
    for host in hosts::all() {
        let is_here = install::find::find(ground, host).is_here();
        match (is_here, host.mcp.entry.is_known()) {
            (true, true) => meant.push(*host),
            (true, false) => passed_over.push(PassedOver { host: host.id, why: WhyNot::TakesNothing }),
            (false, _) => passed_over.push(PassedOver { host: host.id, why: WhyNot::NotHere }),
        }
    }
    (meant, passed_over)
}

fn carry_out(run: &Run, ground: &Ground<'_>, hosts: &[&'static Host], task: Task, dry_run: bool) -> Result<Vec<HostDone>, Failure> {
    let how = How { dry_run, replace: run.global.yes, standing_only: false };
    if hosts.is_empty() && !dry_run {
        return Ok(Vec::new());
    }
    let mut held = held(ground, dry_run)?;
    Ok(hosts.iter().map(|host| install::carry_out(ground, host, task, how, &mut held)).collect())
}

/// The record, held against other commands unless nothing is to be written.
///
/// # Errors
/// It cannot be used.
pub fn held(ground: &Ground<'_>, dry_run: bool) -> Result<record::Held, Failure> {
    if dry_run {
        return record::look(&ground.home).map_err(|error| no_record(ground, &error));
    }
    start::make_home(&ground.home)?;
    let held = record::hold(&ground.home).map_err(|error| no_record(ground, &error))?;
    if let Some(aside) = &held.aside {
        progress::say(&format!("warning: the record of what was entered was damaged; it is kept as `{}`", aside.display()));
    }
    Ok(held)
}

/// What was entered, as the record tells.
///
/// # Errors
/// There may be a record, and it cannot be read.
pub fn recorded(ground: &Ground<'_>) -> Result<record::Record, Failure> {
    record::read(&ground.home).map_err(|error| no_record(ground, &error))
}

fn no_record(ground: &Ground<'_>, error: &std::io::Error) -> Failure {
    let fact = format!("the record `{}` cannot be used", record::file(&ground.home).display());
    Failure::Broken(Told::because(fact, error).hint("make it readable and writable; without it nothing is changed"))
}

/// Asks the hosts that are commands for their versions, all at once and within one time.
fn tell_versions(states: &mut [HostState]) {
    let asked: Vec<_> =
        states.iter().map(|state| state.command.as_ref().filter(|_| state.version.is_none()).and_then(ask_version)).collect();
    let until = environment::now().ms().saturating_add(VERSION_MOST);
    for (state, child) in states.iter_mut().zip(asked) {
        if let Some(version) = child.and_then(|child| read_version(child, until)) {
            state.version = Some(version);
        }
    }
}

fn ask_version(command: &PathBuf) -> Option<Child> {
    // A group of its own, so that what it starts ends with it.
    Command::new(command).process_group(0).arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
}

fn read_version(mut child: Child, until: i64) -> Option<String> {
    let said = child.stdout.take().and_then(|pipe| start::read_until(pipe, until, VERSION_BYTES));
    // Whether it ends by itself does not matter once it has said all, too little or too much.
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(&child), rustix::process::Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
    version_in(&String::from_utf8_lossy(&said?))
}

/// The first word that is a version.
fn version_in(said: &str) -> Option<String> {
    let words = said.split(|c: char| c.is_whitespace() || "(),/@".contains(c)).map(|word| word.strip_prefix('v').unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.') && word.len() <= 40;
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_word_that_looks_like_one() {
        for (said, version) in [
            ("2.1.197 (Claude Code)\n", Some("2.1.197")),
            ("codex-cli 0.171.0\n", Some("0.171.0")),
            ("v1.18.33", Some("1.18.33")),
            ("goose\n", None),
            ("", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said:?}");
        }
    }

    #[test]
    fn an_unknown_host_is_told_what_was_meant() {
        let refusal = |given: &str| match unknown(given) {
            Failure::Refused(refusal) => *refusal,
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal("Claude"), Refusal::UnknownHost { given: "Claude".into(), nearest: Some("claude".into()) });
        assert_eq!(refusal("zzz"), Refusal::UnknownHost { given: "zzz".into(), nearest: None });
    }
}
