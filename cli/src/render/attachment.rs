//! Files attached to tasks: listed, attached, fetched, taken away.

use frith_actors::api::attachment::{Attached, Removed};
use frith_store::model::Attachment;

use super::paper::{Paper, by, count};
use crate::{attachments::Fetched, size};

/// The attachments of a task, as part of it.
pub fn attachments(attachments: &[Attachment], paper: &mut Paper) {
    if attachments.is_empty() {
        return;
    }
    paper.gap();
    paper.heading("Attachments");
    for one in attachments {
        paper.line(format!("  {}, {}, by {}, {}", named(one), size::bytes(one.size), by(&one.by), paper.ago(one.at)));
    }
}

fn named(attachment: &Attachment) -> String {
    format!("{} {}", attachment.hash.short(), attachment.name)
}

/// Files that were attached.
pub fn attached(reply: &Attached, paper: &mut Paper) {
    for one in &reply.attachments {
        paper.line(if paper.look.quiet { one.hash.to_string() } else { format!("{}, {}", named(one), size::bytes(one.size)) });
    }
    if paper.look.quiet {
        return;
    }
    let there = if reply.unchanged > 0 { format!(" ({} there already)", reply.unchanged) } else { String::new() };
    paper.line(format!("{} attached to {}{there}", count(reply.attachments.len() as u64, "file"), reply.task.short()));
}

/// An attachment that was written to a file.
pub fn fetched(reply: &Fetched, paper: &mut Paper) {
    let Some(file) = &reply.file else { return };
    if paper.look.quiet {
        return paper.line(file.to_string());
    }
    paper.line(format!("{}: written to {file}", named(&reply.attachment)));
}

/// What taking an attachment away would do.
pub fn detach_question(reply: &Removed) -> String {
    let one = &reply.attachment;
    format!("`{}` ({}, {}) is taken away from task {}", one.name, one.hash.short(), size::bytes(one.size), reply.task.short())
}

/// An attachment that was taken away, or would be.
pub fn detached(reply: &Removed, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.attachment.hash.to_string());
    }
    if !reply.done {
        return paper.line(detach_question(reply));
    }
    paper.line(format!("{} is no longer attached to {}", named(&reply.attachment), reply.task.short()));
}
