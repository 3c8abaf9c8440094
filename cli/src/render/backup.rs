//! Backups: what was written, what is in one, what was made of it.

use frith_actors::api::node::BackedUp;
use frith_store::backup::Contents;

use super::paper::{Paper, count};
use crate::{
    restore::{ConfigFate, Made, PlaceFolder, Restored},
    shell::quoted,
    size::bytes,
};

/// A backup that was written.
pub fn backed_up(reply: &BackedUp, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.file.to_string());
    }
    paper.line(format!("{}: {}", reply.file, bytes(reply.bytes)));
    paper.facts(&[
        ("holds", holds(&reply.contents, reply.files) + if reply.config { ", the configuration" } else { "" }),
        ("damaged", damaged(reply.left_out)),
        ("not in it", "the machine's key; folders of workspaces and forks, whose branches are in your repositories".into()),
        ("restore it", format!("frith restore {}", quoted(&reply.file.to_string()))),
    ]);
}

fn damaged(left_out: u64) -> String {
    if left_out == 0 { String::new() } else { format!("{}, not in it: frith doctor", count(left_out, "long text")) }
}

fn holds(contents: &Contents, files: u64) -> String {
    let parts = [
        (contents.workspaces, "workspace"),
        (contents.forks, "fork"),
        (contents.tasks, "task"),
        (contents.documents, "document"),
        (files, "long text"),
    ];
    parts.map(|(number, noun)| count(number, noun)).join(", ")
}

/// What a backup holds, and what was made of it.
pub fn restored(reply: &Restored, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.store.as_ref().map_or(reply.from, |made| made.machine).to_string());
    }
    match &reply.store {
        None => paper.heading(&format!("{} {}", reply.from_name, reply.from.short())),
        Some(made) => paper.heading(&format!("{} {}", made.name, made.machine.short())),
    }
    paper.facts(&[
        ("backup", format!("{}, made {} by frith {}", reply.file, paper.ago(reply.made), reply.frith)),
        ("holds", holds(&reply.contents, reply.files)),
    ]);
    match &reply.store {
        None => paper.line("it is whole; nothing was changed"),
        Some(made) => what_was_made(reply, made, paper),
    }
}

fn what_was_made(reply: &Restored, made: &Made, paper: &mut Paper) {
    paper.line(format!("this machine goes on in the place of machine {}, under a new key", reply.from.short()));
    if let Some(aside) = &made.key_set_aside {
        paper.line(format!("the key that was here lies in {aside}"));
    }
    if made.agents > 0 {
        paper.line(format!("{} ran when the backup was made and counts as ended", count(made.agents, "agent")));
    }
    match made.config {
        ConfigFate::Restored => paper.line("the configuration was restored"),
        ConfigFate::Kept => paper.line("the configuration that is here stays; that of the backup was left out"),
        ConfigFate::None => {}
    }
    for PlaceFolder { place, folder } in &made.kept {
        paper.line(format!("folder kept: {} {folder}", place.name));
    }
    for PlaceFolder { place, folder } in &made.missing {
        paper.line(format!("folder not here: {} {folder}; `frith workspace set {} --folder <path>` gives it one", place.name, place.name));
    }
    for fork in &made.forks {
        paper.line(format!("fork folder not here: {}; its next launch makes it anew", fork.name));
    }
}
