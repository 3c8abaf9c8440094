//! What is wrong with what was entered into hosts: gone, stale, doubled, or of no effect.

use std::collections::BTreeSet;

use frith_actors::{
    api::agents::Sessions,
    install::{self, Ground, HostState, How, State as Stands, Task, What, record},
};
use frith_store::hosts::{self, Host, Trust};

use super::{Findings, State};
use crate::{ask::Run, install_main, start};

/// Looks at the hosts that have something of ours, or had.
pub fn examine(run: &Run, fix: bool, found: &mut Findings) {
    let looked = install_main::with_ground(run, |ground| {
        let record = install_main::recorded(ground)?;
        let states = hosts::all().iter().map(|host| (*host, install::look(ground, host, &record)));
        let ours: Vec<_> = states.filter(|(_, state)| state.has_any() || state.installed == Some(true)).collect();
        let heard = if ours.is_empty() { None } else { heard_of(run) };
        for (host, state) in ours {
            one(ground, host, state, heard.as_ref(), fix, found);
        }
        Ok(())
    });
    if let Err(failure) = looked {
        found.failure("hosts", failure);
    }
}

/// The hosts of which the node ever heard a session; none when no node runs that could tell.
fn heard_of(run: &Run) -> Option<BTreeSet<String>> {
    let mut node = start::reach(&run.home).ok()??;
    let sessions = run.ask_at(&mut node, Sessions { all: true, machine: None }).ok()?;
    Some(sessions.agents.into_iter().map(|info| info.agent.host).collect())
}

fn one(ground: &Ground<'_>, host: &'static Host, state: HostState, heard: Option<&BTreeSet<String>>, fix: bool, found: &mut Findings) {
    let id = host.id;
    for fault in &state.faults {
        found.bad("hosts", format!("`{id}`: {fault}"), "mend the file; frith changes nothing in it before");
    }
    let is_edited = state.in_state(Stands::Edited).next().is_some();
    if state.installed == Some(false) && is_edited && state.parts.iter().all(|part| !part.state.is_whole()) {
        let fact = format!("`{id}` was taken out, and {} changed by somebody was left", stand(&state, &[Stands::Edited]));
        return found.add("hosts", State::Odd, fact, Some(format!("frith agents uninstall {id} --yes")));
    }
    if state.installed == Some(false) {
        return found.add(
            "hosts",
            State::Odd,
            format!(
                "`{id}` was taken out, and {} there again",
                stand(&state, &[Stands::Current, Stands::Stale, Stands::Edited, Stands::Doubled])
            ),
            Some(format!("frith agents uninstall {id}")),
        );
    }
    if state.found.is_empty() {
        let fact = format!("`{id}` is not on this machine any more, and its files still have what was entered");
        return found.add("hosts", State::Odd, fact, Some(format!("frith agents uninstall {id}")));
    }
    for off in &state.hooks_off {
        let fact = format!("`{id}`: its hooks are switched off by `{}` in {}, so none of them runs", off.key, off.file);
        found.add("hosts", State::Odd, fact, Some(format!("take `{}` out of that file: until then nothing is pushed", off.key)));
    }
    let broken = broken(&state);
    if !broken.is_empty() {
        return mend(ground, host, &state, &broken, fix, found);
    }
    if is_edited {
        let fact = format!("`{id}`: {} changed by somebody", stand(&state, &[Stands::Edited]));
        found.add("hosts", State::Odd, fact, Some(format!("frith agents install {id} --yes")));
    }
    if state.in_state(Stands::Foreign).next().is_some() {
        let fact = format!(
            "`{id}`: what stands in the place of {} is somebody else's, and frith's is not entered",
            stand(&state, &[Stands::Foreign])
        );
        let mend = format!("rename that or take it out, then frith agents install {id}");
        found.add("hosts", State::Odd, fact, Some(mend));
    }
    whole(host, &state, heard, found);
}

/// What is to be mended. What is missing is that only where a person installed it.
fn broken(state: &HostState) -> Vec<Stands> {
    let counts = |stands: &Stands| *stands != Stands::Missing || state.installed == Some(true);
    let broken = [Stands::Missing, Stands::Stale, Stands::Doubled].into_iter().filter(counts);
    broken.filter(|stands| state.in_state(*stands).next().is_some()).collect()
}

fn mend(ground: &Ground<'_>, host: &'static Host, state: &HostState, broken: &[Stands], fix: bool, found: &mut Findings) {
    let id = host.id;
    let told: Vec<_> = broken.iter().map(|stands| stand(state, &[*stands]) + " " + word(*stands)).collect();
    let fact = format!("`{id}`: {}", told.join(", "));
    if !fix {
        return found.bad("hosts", fact, "frith doctor --fix");
    }
    let how = How { dry_run: false, replace: false, standing_only: state.installed != Some(true) };
    let done = record::hold(&ground.home).map(|mut held| install::carry_out(ground, host, Task::Enter, how, &mut held));
    match done {
        Ok(done) => match done.fault {
            None => found.mended("hosts", format!("{fact}; entered anew")),
            Some(fault) => found.bad("hosts", format!("{fact}; {fault}"), "mend the file, then frith doctor --fix"),
        },
        Err(error) => found.bad("hosts", format!("{fact}; {error}"), format!("make `{}` writable", ground.home.display())),
    }
}

fn word(stands: Stands) -> &'static str {
    match stands {
        Stands::Missing => "missing",
        Stands::Stale => "stale: it names a program that is gone, or is of another version",
        Stands::Doubled => "entered twice",
        Stands::Current => "current",
        Stands::Edited => "edited",
        Stands::Foreign => "somebody else's",
    }
}

/// Names what stands so: the entry, the skill, and how many hooks.
fn stand(state: &HostState, so: &[Stands]) -> String {
    let parts: Vec<_> = state.parts.iter().filter(|part| so.contains(&part.state)).collect();
    let hooks = parts.iter().filter(|part| matches!(part.what, What::Hook(_))).count();
    let mut words = Vec::new();
    if parts.iter().any(|part| part.what == What::Entry) {
        words.push("the entry".to_owned());
    }
    if hooks > 0 {
        words.push(format!("{hooks} hook{}", if hooks == 1 { "" } else { "s" }));
    }
    if parts.iter().any(|part| part.what == What::Skill) {
        words.push("the skill".to_owned());
    }
    if words.is_empty() { "something of frith's".into() } else { words.join(", ") }
}

/// A host where all stands as it should: whether it works is known once a session was heard of.
fn whole(host: &Host, state: &HostState, heard: Option<&BTreeSet<String>>, found: &mut Findings) {
    let fact = format!("`{}`: {} entered", host.id, stand(state, &[Stands::Current]));
    let is_silent = state.takes_hooks && heard.is_some_and(|heard| !heard.contains(host.id));
    match host.hooks.known().map(|hooks| hooks.trust) {
        Some(Trust::Review(command)) if is_silent => {
            let mend = format!("start {} and review the hooks there ({command}): until then none runs, and nothing is pushed", host.name);
            found.add("hosts", State::Odd, format!("{fact}, and no session was heard of"), Some(mend));
        }
        Some(Trust::Folder) if is_silent => {
            let mend = format!("start {} in a folder that you trust in it: in others no hook runs, and nothing is pushed", host.name);
            found.add("hosts", State::Odd, format!("{fact}, and no session was heard of"), Some(mend));
        }
        _ if is_silent => found.good("hosts", format!("{fact}; no session was heard of yet")),
        _ => found.good("hosts", fact),
    }
}
