//! What somebody enters into a host for its hooks, as `docs/hosts.md` and `README.md` show it. Everything is read from the host's
//! row; nothing is entered anywhere.

use std::fmt::Write as _;

use frith_store::hosts::{EntryShape, EventClass, Format, HookEvent, Hooks, Host, Key, Trust, Unit};

/// How long a host is told to wait for a hook, which is done long before.
const SECONDS: u32 = 5;

/// The part of the page that says, for each host with hooks, which file and what.
pub fn section<'a>(hosts: impl Iterator<Item = &'a Host>) -> String {
    let mut text = String::from(
        "\n## Entering hooks\n\nOne entry for each event that is to be entered (below). The first of each host is shown; another has its own event's \
         name\nin both places, and where the table of events has a pattern behind the tick, that as `matcher`. What a file holds besides stays as it \
         is.\n`frith` has to be on the search path (`PATH`) of the host, which for an application may not be that of your shell: else write its whole\n\
         path. A person types none of these commands: typed into a shell, one registers nobody.\n",
    );
    for host in hosts {
        let Some((hooks, shape)) = host.hooks.known().filter(|hooks| hooks.installed).and_then(|hooks| Some((hooks, hooks.entry.known()?)))
        else {
            continue;
        };
        let Some(event) = hooks.events.iter().find(|event| event.used && event.class == EventClass::Start) else { continue };
        let files: Vec<_> = hooks.files.iter().map(|file| format!("`{}`", file.linux)).collect();
        let trust = match hooks.trust {
            Trust::Free => "",
            Trust::Review(_) => "; nothing of it runs before a person has reviewed it in the host",
            Trust::Folder => "; it runs only in folders that are trusted in the host",
        };
        let (kind, words) = match hooks.format.known() {
            Some(Format::Toml) => ("toml", "TOML"),
            Some(Format::Executables) => ("sh", "an executable script for each event, named like it"),
            _ => ("json", "JSON"),
        };
        let entry = entry(host, hooks, *shape, event);
        write!(text, "\n**{}** (`{}`): {}, {words}{trust}.\n\n```{kind}\n{entry}\n```\n", host.name, host.id, files.join(", "))
            .expect("a text takes what is written");
    }
    text
}

/// All that is entered for a host whose entries are groups, as one file that has nothing else.
pub fn whole(host: &Host) -> String {
    let Some(hooks) = host.hooks.known() else { return String::new() };
    // What a host wants done at an event is done by the command that is installed, which is more than a line to be typed.
    let used = hooks.events.iter().filter(|event| event.used && event.instead.is_none());
    let lines: Vec<_> = used.map(|event| format!("    \"{}\": [{}]", event.name, group(host, hooks, event))).collect();
    format!("{{\n  \"hooks\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
}

fn entry(host: &Host, hooks: &Hooks, shape: EntryShape, event: &HookEvent) -> String {
    let (name, command, timeout) = (event.name, command(host, event), timeout(hooks));
    let table = |named: &str| {
        let (field, number) = timeout.unwrap_or_default();
        format!("[[{}]]\n{named}event = \"{name}\"\ncommand = \"{command}\"\n{field} = {number}", way(hooks).join("."))
    };
    match shape {
        EntryShape::Groups | EntryShape::GroupsWithoutMatcher => within(&way(hooks), name, &group(host, hooks, event), ""),
        EntryShape::SwitchedGroups => within(&way(hooks), name, &group(host, hooks, event), "\"enabled\": true, "),
        EntryShape::Commands => {
            let inner = within(&way(hooks), name, &format!("{{\"command\": \"{command}\"}}"), "");
            inner.replacen('{', "{\"version\": 1, ", 1)
        }
        EntryShape::ShellCommands => {
            let one = format!("{{\"type\": \"command\", \"bash\": \"{command}\", \"powershell\": \"{command}\"{}}}", json_timeout(hooks));
            within(&way(hooks), name, &one, "").replacen('{', "{\"version\": 1, ", 1)
        }
        EntryShape::Tables => table(""),
        EntryShape::NamedTables => table(&format!("name = \"frith-{name}\"\n")),
        EntryShape::Flat => within(&way(hooks), name, &format!("{{\"command\": \"{command}\"{}}}", json_timeout(hooks)), ""),
        EntryShape::Scripts => format!("#!/bin/sh\n{command}\nexit 0"),
    }
}

fn command(host: &Host, event: &HookEvent) -> String {
    format!("frith hook {} --host {}", event.name, host.id)
}

fn group(host: &Host, hooks: &Hooks, event: &HookEvent) -> String {
    let matcher = event.matcher.map(|matcher| format!("\"matcher\": \"{matcher}\", ")).unwrap_or_default();
    format!("{{{matcher}\"hooks\": [{{\"type\": \"command\", \"command\": \"{}\"{}}}]}}", command(host, event), json_timeout(hooks))
}

fn timeout(hooks: &Hooks) -> Option<(&'static str, u32)> {
    hooks.timeout.known().map(|timeout| match timeout.unit {
        Unit::Seconds => (timeout.field, SECONDS),
        Unit::Milliseconds => (timeout.field, SECONDS * 1_000),
    })
}

fn json_timeout(hooks: &Hooks) -> String {
    timeout(hooks).map(|(field, number)| format!(", \"{field}\": {number}")).unwrap_or_default()
}

/// The names on the way to an entry, without the event's.
fn way(hooks: &Hooks) -> Vec<&'static str> {
    let name = |key: &Key| match key {
        Key::Name(name) | Key::List(name) | Key::Named(name) => Some(*name),
        Key::Own | Key::Event => None,
    };
    hooks.at.known().into_iter().flat_map(|keys| keys.iter().filter_map(name)).collect()
}

/// A list with one element below the event's name, inside the objects that lead there; `beside` stands in the outermost of those.
fn within(way: &[&str], event: &str, element: &str, beside: &str) -> String {
    let list = format!("{{\"{event}\": [{element}]}}");
    way.iter().enumerate().rev().fold(list, |inner, (depth, name)| {
        let inner = if depth == 0 { inner.replacen('{', &format!("{{{beside}"), 1) } else { inner };
        format!("{{\"{name}\": {inner}}}")
    })
}
