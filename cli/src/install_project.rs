//! `frith agents install --project` and `uninstall --project`: into the repository of the current folder what has a host's new
//! worktrees adopted. It runs in this process, asks no node, and needs none of the hosts on this machine: the files are for
//! everybody who has the repository.

use std::{env, path::PathBuf};

use frith_actors::install::{How, Task, repository};
use frith_store::{
    git::read,
    hosts::{self, Host},
    refusal::Refusal,
};

use crate::{
    args::{AgentsInstall, AgentsUninstall},
    ask::Run,
    failure::{Failure, Told},
    install_main::{self, Done},
};

/// Enters it for hosts.
///
/// # Errors
/// A host is unknown or runs nothing of a repository's, or the folder is in no checkout; then nothing was written. What goes
/// wrong with one host is in the answer.
pub fn install(run: &Run, args: &AgentsInstall) -> Result<Done, Failure> {
    carry_out(run, &args.hosts, Task::Enter, args.dry_run)
}

/// Takes it out for hosts.
///
/// # Errors
/// As [`install`].
pub fn uninstall(run: &Run, args: &AgentsUninstall) -> Result<Done, Failure> {
    carry_out(run, &args.hosts, Task::TakeOut, args.dry_run)
}

fn carry_out(run: &Run, ids: &[String], task: Task, dry_run: bool) -> Result<Done, Failure> {
    let meant = install_main::known(ids)?;
    if let Some(host) = meant.iter().find(|host| !takes(host)) {
        let others = hosts::all().iter().filter(|host| takes(host)).map(|host| host.id.to_owned()).collect();
        return Err(Failure::Refused(Box::new(Refusal::NoProjectEntry { host: host.id.to_owned(), others })));
    }
    let top = top()?;
    install_main::with_ground(run, |ground| {
        let how = How { dry_run, replace: run.global.yes, standing_only: false };
        let mut held = install_main::held(ground, dry_run)?;
        let hosts = meant.iter().map(|host| repository::carry_out(ground, &top, host, task, how, &mut held)).collect();
        Ok(Done { dry_run, taken_out: task == Task::TakeOut, hosts, passed_over: Vec::new() })
    })
}

fn takes(host: &Host) -> bool {
    host.worktrees.post_create.is_known()
}

/// The top of the checkout that the current folder is in.
fn top() -> Result<PathBuf, Failure> {
    let here = env::current_dir().map_err(|error| Failure::Broken(Told::because("the current folder is gone", &error)))?;
    let found = read::find(&here).map_err(|error| Failure::Broken(Told::because("the repository cannot be read", &error)))?;
    let top = found.and_then(|repository| repository.top().map(PathBuf::from));
    top.ok_or_else(|| {
        let told = Told::new(format!("`{}` is in no checkout of a git repository", here.display()));
        Failure::Declined(told.hint("`cd` into one: what a host runs after it made a worktree is kept in its repository"))
    })
}
