//! `up --install-service` and `up --uninstall-service`: the node kept running by the system's own manager.
//!
//! A node that runs is never ended by either: installing takes it over at its next start, uninstalling leaves it alone.

use frith_store::text::PathText;
use serde::Serialize;

use crate::{
    args::Up,
    ask::Run,
    failure::{Failure, Told},
    service::{self, Manager},
    start,
};

/// What was done about the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReply {
    /// Its name.
    pub name: String,
    /// Where its definition lies.
    pub file: PathText,
    /// The definition; none when it was taken away.
    pub text: Option<String>,
    /// What was done.
    pub done: Done,
    /// The node that goes on outside the service.
    pub beside: Option<u32>,
    /// What makes it outlive the last session, where it does not.
    pub linger_hint: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// Nothing: it was only shown.
    Shown,
    /// The definition was written.
    Written,
    /// It was there already, as it should be.
    Unchanged,
    /// It was taken away.
    Removed,
    /// There was none.
    Absent,
}

/// Installs or removes the service of the home.
///
/// # Errors
/// The manager does not answer or says no, or a file cannot be written.
pub fn run(run: &Run, args: &Up) -> Result<ServiceReply, Failure> {
    let manager = service::manager();
    let name = service::name_of(&run.home);
    let file = (manager.file)(&name).ok_or_else(|| Failure::Broken(Told::new("there is no folder for services").hint("set `HOME`")))?;
    let reply = ServiceReply { name, file: file.as_path().into(), text: None, done: Done::Absent, beside: None, linger_hint: None };
    if args.uninstall_service { remove(run, manager, reply) } else { install(run, manager, reply, args.dry_run) }
}

fn install(run: &Run, manager: &Manager, reply: ServiceReply, dry_run: bool) -> Result<ServiceReply, Failure> {
    let text = (manager.text)(&service::here(&run.home)?);
    if dry_run {
        return Ok(ServiceReply { text: Some(text), done: Done::Shown, ..reply });
    }
    manager.require()?;
    start::make_home(&run.home)?;
    let file = reply.file.as_path().to_owned();
    let done = if service::write(&file, &text)? { Done::Written } else { Done::Unchanged };
    manager.enable(&reply.name)?;
    let beside = match start::reach(&run.home)? {
        Some(node) => node.node().pid,
        None => manager.start(&reply.name, &file).map(|()| None)?,
    };
    let beside = beside.filter(|pid| !manager.runs(&reply.name, *pid));
    Ok(ServiceReply { text: Some(text), done, beside, linger_hint: manager.linger_hint().map(str::to_owned), ..reply })
}

fn remove(run: &Run, manager: &Manager, reply: ServiceReply) -> Result<ServiceReply, Failure> {
    let Some(file) = service::installed(&run.home) else { return Ok(reply) };
    manager.require()?;
    manager.remove(&reply.name, &file)?;
    let beside = start::reach(&run.home)?.and_then(|node| node.node().pid);
    Ok(ServiceReply { done: Done::Removed, beside, ..reply })
}
