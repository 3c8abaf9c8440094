//! The service that keeps the node running.

use super::paper::Paper;
use crate::service_main::{Done, ServiceReply};

/// What was done about the service.
pub fn service(reply: &ServiceReply, paper: &mut Paper) {
    match (&reply.text, reply.done) {
        (Some(text), Done::Shown) => text.lines().for_each(|line| paper.line(line)),
        _ if paper.look.quiet => paper.line(&reply.name),
        (_, Done::Removed) => removed(reply, paper),
        (_, Done::Absent) => paper.line("no service is installed"),
        _ => installed(reply, paper),
    }
}

fn installed(reply: &ServiceReply, paper: &mut Paper) {
    let unchanged = if reply.done == Done::Unchanged { " (as it was)" } else { "" };
    paper.line(format!("service {} is installed: {}{unchanged}", reply.name, reply.file));
    if let (Some(text), Done::Written) = (&reply.text, reply.done) {
        paper.block(text);
    }
    match reply.beside {
        Some(pid) => paper
            .line(format!("the node that runs (process {pid}) goes on beside it: `frith down`, then `frith up` starts it as the service")),
        None => paper.line("the node runs as this service; `frith down` ends it until the next login or `frith up`"),
    }
    if let Some(hint) = &reply.linger_hint {
        paper.line(format!("note: {hint}"));
    }
}

fn removed(reply: &ServiceReply, paper: &mut Paper) {
    paper.line(format!("service {} is removed: {}", reply.name, reply.file));
    if let Some(pid) = reply.beside {
        paper.line(format!("the node that runs (process {pid}) goes on: `frith down` ends it"));
    }
}
