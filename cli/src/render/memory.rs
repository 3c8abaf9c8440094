//! Notes: listed, read, saved. What a note says is data: it is shown moved in, below who saved it and when.

use frith_actors::api::memory::{Note, Notes, Saved};
use frith_store::model::{NoteHead, NoteInfo, NoteVersion};

use super::paper::{Paper, by, count};
use crate::shell::quoted;

/// The notes of a workspace.
pub fn notes(reply: &Notes, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.notes.iter().for_each(|note| paper.line(&note.name));
    }
    if reply.notes.is_empty() {
        let place = &reply.place.name;
        return paper.line(format!("no notes in {place}; write one: frith memory set -w {} memory.md \"<text>\"", quoted(place)));
    }
    let rows: Vec<_> = reply.notes.iter().map(|note| row(note, paper)).collect();
    paper.table(["NAME", "VERSION", "SIZE", "SAVED", "BY"], rows);
}

fn row(note: &NoteInfo, paper: &Paper) -> [String; 5] {
    let texts = || note.versions.iter().filter(|version| version.bytes.is_some());
    let joined = |of: fn(&NoteHead) -> String| texts().map(of).collect::<Vec<_>>().join(", ");
    let size = texts().filter_map(|version| version.bytes).sum::<u64>();
    let latest = note.versions.last().map(|version| paper.ago(version.at));
    [
        note.name.clone(),
        joined(|version| version.version.short()),
        count(size, "byte"),
        latest.unwrap_or_default(),
        joined(|version| by(&version.by)),
    ]
}

/// That a note is empty since nobody ever wrote it.
pub fn no_note(reply: &Note) -> String {
    format!("{} was never written in {}; it is empty", reply.name, reply.place.name)
}

/// A note: each version that counts.
pub fn note(reply: &Note, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.versions.iter().for_each(|version| paper.line(version.version.to_string()));
    }
    let place = &reply.place.name;
    match reply.versions.as_slice() {
        [] => return,
        [NoteVersion { text: None, by: who, at, .. }] => {
            return paper.line(format!("{} was deleted in {place} by {}, {}; it is empty", reply.name, by(who), paper.ago(*at)));
        }
        [_] => paper.line(format!("{} of {place}", reply.name)),
        several => {
            let bases: Vec<_> = several.iter().map(|version| version.version.short()).collect();
            paper.line(format!("{} of {place} has {} versions that none replaces", reply.name, several.len()));
            paper.line(format!("replace them by one: frith memory set {} - --base {}", reply.name, bases.join(",")));
        }
    }
    for version in &reply.versions {
        paper.gap();
        paper.heading(&format!("version {}, by {}, {}", version.version.short(), by(&version.by), paper.ago(version.at)));
        match &version.text {
            Some(text) => paper.block(text),
            None => paper.line("  (deleted)"),
        }
    }
}

/// What deleting a note would do.
pub fn note_deletion_question(reply: &Note) -> String {
    let versions: Vec<_> =
        reply.versions.iter().map(|version| format!("version {} by {}", version.version.short(), by(&version.by))).collect();
    format!("`{}` of `{}` is deleted: {}", reply.name, reply.place.name, versions.join(" and "))
}

/// A note that was saved or deleted.
pub fn saved(reply: &Saved, deletes: bool, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.version.iter().for_each(|version| paper.line(version.to_string()));
    }
    let done = match (&reply.version, deletes, reply.unchanged) {
        (None, ..) => return paper.line(format!("{} is not there in {}", reply.name, reply.place.name)),
        (Some(_), true, false) => "deleted".to_owned(),
        (Some(_), true, true) => "deleted already".to_owned(),
        (Some(version), false, false) => format!("saved as version {}", version.short()),
        (Some(version), false, true) => format!("says so already, in version {}", version.short()),
    };
    let implied = if reply.implied { ", which was current" } else { "" };
    let over: Vec<_> = reply.replaced.iter().map(|head| told(head, paper)).collect();
    let over = if over.is_empty() { String::new() } else { format!(", over {}{implied}", over.join(" and ")) };
    paper.line(format!("{} of {}: {done}{over}", reply.name, reply.place.name));
    for head in &reply.beside {
        paper.line(format!("beside it stands {}: frith memory get {}", told(head, paper), reply.name));
    }
}

fn told(head: &NoteHead, paper: &Paper) -> String {
    let kind = if head.bytes.is_some() { "version" } else { "deletion" };
    format!("{kind} {} by {} ({})", head.version.short(), by(&head.by), paper.ago(head.at))
}
