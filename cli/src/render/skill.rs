//! Skills: added, listed, shown, switched, removed.

use frith_actors::api::skill::{Added, Loaded, Removed, SkillInfo, Skills, Switched};
use frith_store::model::SkillFile;

use super::paper::{Paper, by, count};
use crate::size;

/// A skill that was added.
pub fn skill_added(reply: &Added, paper: &mut Paper) {
    let name = &reply.skill.name;
    if paper.look.quiet {
        return paper.line(name);
    }
    let files = count(reply.skill.files.len() as u64, "file");
    paper.line(match (reply.is_new, reply.unchanged) {
        (true, _) => format!("{name} added, {files}; switch it on: frith skill on {name} -w <workspace>"),
        (false, true) => format!("{name} is there already as it is, {files}"),
        (false, false) => format!("{name}: a new version, {files}"),
    });
    if !reply.is_new {
        for (word, paths) in [("new", &reply.new_files), ("changed", &reply.changed_files), ("removed", &reply.removed_files)] {
            paths.iter().for_each(|path| paper.line(format!("  {word}  {path}")));
        }
    }
    reply.left_out.iter().for_each(|path| paper.line(format!("  left out, hidden  {path}")));
}

/// Skills of the team.
pub fn skills(reply: &Skills, paper: &mut Paper) {
    if paper.look.quiet {
        return reply.skills.iter().for_each(|info| paper.line(&info.skill.name));
    }
    if reply.skills.is_empty() {
        return paper.line("no skills; add one: frith skill add <folder>");
    }
    let head = reply.place.as_ref().map_or_else(|| "ON".to_owned(), |place| format!("IN {}", place.name));
    let rows: Vec<_> = reply.skills.iter().map(row).collect();
    paper.table(["NAME", &head, "FILES", "DESCRIPTION"], rows);
}

fn row(info: &SkillInfo) -> [String; 4] {
    let skill = &info.skill;
    [skill.name.clone(), switch(info.on).to_owned(), skill.files.len().to_string(), skill.description.clone()]
}

fn switch(on: Option<bool>) -> &'static str {
    match on {
        Some(true) => "on",
        Some(false) => "off",
        None => "",
    }
}

/// A skill whole, with its `SKILL.md`.
pub fn skill(reply: &Loaded, paper: &mut Paper) {
    let skill = &reply.skill;
    if paper.look.quiet {
        return paper.line(&skill.name);
    }
    paper.heading(&skill.name);
    let place = reply.place.as_ref().map(|place| format!("{} in {}", switch(reply.on), place.name));
    paper.facts(&[
        ("about", skill.description.clone()),
        ("added", format!("{} by {}", paper.ago(skill.at), by(&skill.by))),
        ("switch", place.unwrap_or_default()),
    ]);
    paper.gap();
    paper.heading("Files");
    skill.files.iter().for_each(|one| paper.line(file(one)));
    if let Some(text) = &reply.text {
        paper.gap();
        paper.heading(&reply.path);
        paper.block(text);
    }
}

fn file(file: &SkillFile) -> String {
    let mark = if file.executable { ", can be run" } else { "" };
    format!("  {}, {}{mark}", file.path, size::bytes(file.size))
}

/// A switch that was set.
pub fn skill_switched(reply: &Switched, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(&reply.name);
    }
    let already = if reply.unchanged { " already" } else { "" };
    paper.line(format!("{} is {} in {}{already}", reply.name, switch(Some(reply.on)), reply.place.name));
}

/// What removing a skill would do.
pub fn skill_removal_question(reply: &Removed) -> String {
    let places: Vec<_> = reply.on_in.iter().map(|place| format!("`{}`", place.name)).collect();
    let on = if places.is_empty() { "on nowhere".to_owned() } else { format!("on in {}", places.join(", ")) };
    format!("the skill `{}` with {}, {on}, is removed from the team", reply.name, count(reply.files.into(), "file"))
}

/// A skill that was removed, or would be.
pub fn skill_removed(reply: &Removed, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(&reply.name);
    }
    if !reply.done {
        return paper.line(skill_removal_question(reply));
    }
    paper.line(format!("{} is removed", reply.name));
}
