//! Hosts and what was entered into them.

use std::collections::BTreeSet;

use frith_actors::install::{Act, FileDone, HostDone, HostState, Note, Part, State, What};

use super::paper::{Paper, count};
use crate::install_main::{Done, Listed, WhyNot};

/// What became of hosts.
pub fn hosts_done(done: &Done, paper: &mut Paper) {
    let whole = done.hosts.iter().filter(|host| host.fault.is_none());
    if paper.look.quiet {
        return whole.filter(|host| host.is_changed()).for_each(|host| paper.line(host.host));
    }
    for host in done.hosts.iter().filter(|host| host.fault.is_none() || host.is_changed()) {
        host_done(host, done, paper);
    }
    if done.hosts.is_empty() {
        paper.line(if done.taken_out {
            "no host has anything of frith's"
        } else {
            "no host that takes an entry was found on this machine"
        });
    }
    passed_over(done, paper);
}

fn host_done(host: &HostDone, done: &Done, paper: &mut Paper) {
    let verb = match (done.taken_out, done.dry_run, host.is_changed()) {
        (false, ..) if host.fault.is_some() => "installed in part",
        (true, ..) if host.fault.is_some() => "taken out in part",
        (false, false, true) => "installed",
        (true, false, true) => "taken out",
        (false, true, true) => "would be installed",
        (true, true, true) => "would be taken out",
        (false, _, false) => "as it was",
        (true, _, false) => "has nothing to take out",
    };
    paper.line(format!("{}: {verb}", host.host));
    for file in &host.files {
        file_done(file, done.dry_run, paper);
    }
    for left in left(host) {
        paper.line(left);
    }
    for note in &host.notes {
        paper.line(format!("  note: {}", words(note, host)));
    }
}

fn file_done(file: &FileDone, dry_run: bool, paper: &mut Paper) {
    if let (Some(diff), true) = (&file.diff, dry_run) {
        return paper.block(diff);
    }
    let changed = |act: Act| file.parts.iter().filter(|part| part.act == act).map(|part| &part.what).collect::<Vec<_>>();
    let told = [("added", Act::Added), ("renewed", Act::Replaced), ("removed", Act::Removed)].map(|(word, act)| (word, changed(act)));
    let told: Vec<_> = told.iter().filter(|(_, what)| !what.is_empty()).map(|(word, what)| format!("{word} {}", parts(what))).collect();
    if !told.is_empty() {
        let backup = file.backup.as_ref().map(|path| format!("; before: {path}")).unwrap_or_default();
        paper.line(format!("  {}: {}{backup}", file.file, told.join(", ")));
    }
}

/// Things in few words: hooks are counted.
fn parts(what: &[&What]) -> String {
    let hooks = what.iter().filter(|it| matches!(it, What::Hook(_))).count();
    let mut words = Vec::new();
    if what.contains(&&What::Entry) {
        words.push("the entry".to_owned());
    }
    if hooks > 0 {
        words.push(count(hooks as u64, "hook"));
    }
    for it in what {
        match it {
            What::Setting(key) => words.push(format!("`{key}`")),
            What::Skill => words.push("the skill".to_owned()),
            What::Adoption => words.push("the command that adopts a new worktree".to_owned()),
            What::Entry | What::Hook(_) => {}
        }
    }
    words.join(", ")
}

/// What was left as somebody wants it.
fn left(host: &HostDone) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &host.files {
        for part in &file.parts {
            let what = one(&part.what);
            match part.act {
                Act::LeftEdited => {
                    lines.push(format!("  left: {what} in {} was changed by somebody; `--yes` does it all the same", file.file))
                }
                Act::LeftForeign => lines.push(format!("  left: {what} in {} is not frith's", file.file)),
                _ => {}
            }
        }
    }
    lines
}

fn one(what: &What) -> String {
    match what {
        What::Entry => "the entry".into(),
        What::Hook(event) => format!("the hook of `{event}`"),
        What::Setting(key) => format!("`{key}`"),
        What::Skill => "the skill".into(),
        What::Adoption => "the command that adopts a new worktree".into(),
    }
}

fn words(note: &Note, host: &HostDone) -> String {
    match note {
        Note::Review(command) => format!("{} runs a new hook only after you have reviewed it there (in a session: {command})", host.name),
        Note::TrustedFolder => format!("{} runs hooks, and starts servers, only in folders that you trust in it", host.name),
        Note::Restart => "sessions that run already go on without it until they are started anew".into(),
        Note::NoHooks => "no hooks: its agents are known while its server runs, and read their messages with `agent_inbox`".into(),
        Note::OtherHome(home) => format!("what was entered names no home: start {} with FRITH_HOME={home} to use this one", host.name),
        Note::ByPath(path) => format!("`frith` on the search path is not this program, so {path} is entered"),
        Note::Unverified(facts) => format!("not verified: {}", facts.join("; ")),
        Note::BySearchPath => "it names no path of this machine: `frith` has to be on the search path of whoever makes the worktree".into(),
        Note::SharedWith(others) => format!("the entry is that of {} too", others.join(", ")),
        Note::ByHand { file, key: Some(key), line } => {
            format!("`{key}` in {file} names a script, which stays as it is; add to that script: {line}")
        }
        Note::ByHand { file, key: None, line } => format!("{file} is no script of a shell, so it stays as it is; have it run: {line}"),
    }
}

fn passed_over(done: &Done, paper: &mut Paper) {
    let of = |why: WhyNot| done.passed_over.iter().filter(|it| it.why == why).map(|it| it.host).collect::<Vec<_>>().join(", ");
    let (nothing, away) = (of(WhyNot::TakesNothing), of(WhyNot::NotHere));
    if !nothing.is_empty() {
        paper.line(format!("passed over, since it takes no entry: {nothing}"));
    }
    if !away.is_empty() {
        paper.line(format!("not on this machine: {away}"));
    }
}

/// Hosts as they stand.
pub fn hosts(listed: &Listed, paper: &mut Paper) {
    if paper.look.quiet {
        return listed.hosts.iter().for_each(|state| paper.line(state.host));
    }
    let rows = listed.hosts.iter().map(|state| {
        let found = if state.found.is_empty() { "no".to_owned() } else { state.version.clone().unwrap_or_else(|| "yes".into()) };
        [state.host.to_owned(), state.name.to_owned(), found, stands(state, &What::Entry), hooks(state), stands(state, &What::Skill)]
    });
    paper.table(["HOST", "NAME", "FOUND", "ENTRY", "HOOKS", "SKILL"], rows.collect::<Vec<_>>());
    for state in &listed.hosts {
        details(state, paper);
    }
    if listed.hosts.is_empty() {
        paper.line("no host was found on this machine");
    }
    if listed.elsewhere > 0 {
        paper.line(format!("{} not on this machine: frith agents list --all", count(listed.elsewhere as u64, "host")));
    }
}

fn stands(state: &HostState, what: &What) -> String {
    let here: Vec<_> = state.parts.iter().filter(|part| part.what == *what).collect();
    match (what, state.takes_entry) {
        (What::Entry, false) => "takes none".into(),
        _ => summed(&here, state),
    }
}

fn hooks(state: &HostState) -> String {
    let here: Vec<_> = state.parts.iter().filter(|part| matches!(part.what, What::Hook(_))).collect();
    if !state.takes_hooks { "none".into() } else { summed(&here, state) }
}

/// How several things stand: in one word where all stand alike.
fn summed(parts: &[&Part], state: &HostState) -> String {
    let states: BTreeSet<_> = parts.iter().map(|part| part.state).collect();
    let mut words: Vec<_> = states.iter().map(|it| word(*it, state)).collect();
    if let [only] = words.as_slice() {
        return (*only).to_owned();
    }
    words.retain(|word| *word != "current");
    words.join(", ")
}

fn word(stands: State, host: &HostState) -> &'static str {
    match stands {
        State::Missing if host.installed == Some(true) => "missing",
        State::Missing => "no",
        State::Current => "current",
        State::Stale => "stale",
        State::Edited => "edited",
        State::Foreign => "somebody else's",
        State::Doubled => "doubled",
    }
}

fn details(state: &HostState, paper: &mut Paper) {
    for fault in &state.faults {
        paper.line(format!("{}: {fault}", state.host));
    }
    for off in &state.hooks_off {
        paper.line(format!("{}: its hooks are switched off by `{}` in {}, so none of them runs", state.host, off.key, off.file));
    }
    if !state.unverified.is_empty() && (!state.found.is_empty() || state.has_any()) {
        paper.line(format!("{}: not verified: {}", state.host, state.unverified.join("; ")));
    }
}
