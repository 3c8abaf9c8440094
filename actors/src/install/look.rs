//! How hosts stand on this machine: found or not, and what of ours is in their files. It only looks.

use std::{collections::BTreeSet, path::PathBuf};

use frith_store::{hosts::Host, text::PathText};
use serde::Serialize;

use crate::edit::{self, Step};
use crate::install::{
    file,
    find::{Found, find},
    ground::Ground,
    ours::{Basis, State, standing},
    record::Record,
    wanted::{self, Wanted, What},
};

/// How a host stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostState {
    /// Its id.
    pub host: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What shows that it is here, for each variant that is.
    pub found: Vec<PathText>,
    /// Its version; none when it does not tell.
    pub version: Option<String>,
    /// Whether it takes an entry of ours.
    pub takes_entry: bool,
    /// Whether hooks of ours are for it.
    pub takes_hooks: bool,
    /// Whether a person had it installed; none when nobody ever did.
    pub installed: Option<bool>,
    /// What is to stand in its files, or stands there.
    pub parts: Vec<Part>,
    /// What switches its hooks off, where hooks of ours stand.
    pub hooks_off: Vec<HooksOff>,
    /// Files that cannot be looked into.
    pub faults: Vec<String>,
    /// What is said of it and was not seen to be so.
    pub unverified: &'static [&'static str],
    /// The command that tells its version.
    #[serde(skip)]
    pub command: Option<PathBuf>,
}

/// A value that switches all hooks of a host off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HooksOff {
    /// In which file.
    pub file: PathText,
    /// Its keys, with dots between them.
    pub key: String,
}

/// One thing of ours, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// What it is.
    pub what: What,
    /// In which file.
    pub file: PathText,
    /// How it stands there.
    pub state: State,
}

impl HostState {
    /// Whether anything of ours stands in its files.
    pub fn has_any(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part.state, State::Missing | State::Foreign))
    }

    /// The parts in this state.
    pub fn in_state(&self, state: State) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.state == state)
    }
}

/// Looks at a host.
pub fn look(ground: &Ground<'_>, host: &'static Host, record: &Record) -> HostState {
    let found = find(ground, host);
    let mut state = HostState {
        host: host.id,
        name: host.name,
        found: found.variants.iter().map(|variant| variant.by.as_path().into()).collect(),
        version: found.variants.iter().find_map(|variant| variant.version.clone()),
        takes_entry: host.mcp.entry.is_known(),
        takes_hooks: host.hooks.known().is_some_and(|hooks| hooks.installed),
        installed: record.hosts.get(host.id).map(|entered| entered.installed),
        parts: Vec::new(),
        hooks_off: Vec::new(),
        faults: Vec::new(),
        unverified: host.unverified,
        command: found.variants.iter().find_map(|variant| variant.command.clone()),
    };
    let due = due(ground, host, &found);
    let own: BTreeSet<PathBuf> = due.iter().map(|(it, _)| it.file.clone()).collect();
    for (it, is_due) in due {
        let it = where_entered(it, host, record, &own);
        match part(ground, host, &it, record) {
            Ok(State::Missing | State::Foreign) if !is_due => {}
            Ok(stands) => state.parts.push(Part { what: it.what, file: it.file.as_path().into(), state: stands }),
            Err(fault) if !state.faults.contains(&fault) => state.faults.push(fault),
            Err(_) => {}
        }
    }
    state.hooks_off = hooks_off(host, &state.parts);
    state
}

/// What switches hooks off in the files in which some of ours stand. A file that cannot be looked into was told already.
fn hooks_off(host: &Host, parts: &[Part]) -> Vec<HooksOff> {
    let known = host.hooks.known().and_then(|hooks| Some((host.here.hooks_off?, *hooks.format.known()?)));
    let Some((switch, format)) = known else { return Vec::new() };
    let stands = |part: &&Part| matches!(part.what, What::Hook(_)) && !matches!(part.state, State::Missing | State::Foreign);
    let files: BTreeSet<&PathText> = parts.iter().filter(stands).map(|part| &part.file).collect();
    let at: Vec<_> = switch.at.iter().map(|key| Step::Key((*key).to_owned())).collect();
    let is_off = |file: &&PathText| {
        let text = file::look(file.as_path()).ok().and_then(|seen| String::from_utf8(seen.bytes?).ok());
        edit::read(format, text.as_deref(), &at).is_ok_and(|value| value == Some(switch.off.into()))
    };
    files.into_iter().filter(is_off).map(|file| HooksOff { file: file.clone(), key: switch.at.join(".") }).collect()
}

/// What could stand in a host's files, and whether it is to, since its variant is here.
fn due(ground: &Ground<'_>, host: &Host, found: &Found) -> Vec<(Wanted, bool)> {
    let wanted = wanted::wanted(ground, host, found);
    let is_due = |it: &Wanted| wanted.iter().any(|other| other.what == it.what && other.file == it.file);
    let others: Vec<_> = wanted::possible(ground, host).into_iter().filter(|it| !is_due(it)).collect();
    wanted.into_iter().map(|it| (it, true)).chain(others.into_iter().map(|it| (it, false))).collect()
}

/// The same where it was entered: a variable that moved the host's files then may not be set now.
fn where_entered(it: Wanted, host: &Host, record: &Record, own: &BTreeSet<PathBuf>) -> Wanted {
    let entered = record.hosts.get(host.id).filter(|entered| entered.file(&it.file).is_none());
    let files = entered.map_or(&[][..], |entered| &entered.files).iter().filter(|file| !own.contains(file.file.as_path()));
    let moved = files.into_iter().find(|file| file.pieces.iter().any(|piece| piece.what == it.what));
    let file = moved.map(|moved| moved.file.as_path().to_owned());
    Wanted { file: file.unwrap_or_else(|| it.file.clone()), ..it }
}

fn part(ground: &Ground<'_>, host: &Host, wanted: &Wanted, record: &Record) -> Result<State, String> {
    let seen = file::look(&wanted.file).map_err(|error| error.to_string())?;
    let shown = wanted.file.display();
    let text = seen.bytes.map(String::from_utf8).transpose().map_err(|_| format!("`{shown}`: it is no UTF-8 text"))?;
    let entered = record.hosts.get(host.id).and_then(|entered| entered.file(&wanted.file));
    let recorded = entered.map_or(&[][..], |file| &file.pieces);
    let basis = Basis { host: host.id, recorded, runs: &|program| ground.runs(program) };
    let stands = standing(text.as_deref(), wanted, &basis).map_err(|error| format!("`{shown}`: {error}"))?;
    Ok(stands.state)
}
