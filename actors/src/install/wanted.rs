//! What a host's files are to hold of ours, read from its row: the entry for our server, a hook for each event, and what has
//! to stand beside them. Nothing here looks at a file.

use std::path::PathBuf;

use frith_store::hosts::{ConfigFile, EntryShape, Format, HookEvent, Hooks, Host, Key, Mcp, Unit, Value as Field};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    edit::{Match, Step},
    install::{
        command,
        find::{Found, Variant},
        ground::{Ground, PROGRAM},
        skill,
    },
};

/// How long a host is told to wait for a hook, which is done long before.
const SECONDS: u32 = 5;

/// One thing of ours in a host's files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// The entry for the MCP server.
    Entry,
    /// The hook for this event.
    Hook(String),
    /// A value that hooks need beside them.
    Setting(String),
    /// A skill.
    Skill,
    /// What a host runs after it made a worktree.
    Adoption,
}

/// One thing that is to stand in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// What it is.
    pub what: What,
    /// In which file.
    pub file: PathBuf,
    /// How it looks there.
    pub form: Form,
}

/// How something looks in its file.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A value of a configuration file.
    Value {
        /// The file's format.
        format: Format,
        /// The steps to it; for a hook those to the list in which it is an element.
        at: Vec<Step>,
        /// What it says.
        value: Value,
    },
    /// A file that is ours alone.
    Whole {
        /// Its text.
        text: String,
        /// Whether it is a program.
        is_program: bool,
    },
}

/// Everything that is to be entered into the variants of a host that are here.
pub fn wanted(ground: &Ground<'_>, host: &Host, found: &Found) -> Vec<Wanted> {
    let mut all = entries(ground, host, &|file| found.variant(file.variant));
    all.extend(hooks(ground, host, &|file| found.variant(file.variant)));
    if found.is_here() {
        all.extend(skill(ground, host));
    }
    all
}

/// Everything that could have been entered, whether the host is here or not: what is looked for when it is taken out.
pub fn possible(ground: &Ground<'_>, host: &Host) -> Vec<Wanted> {
    let anything = Variant { name: None, by: PathBuf::new(), command: None, version: None, from_shell: false };
    let mut all = entries(ground, host, &|_| Some(&anything));
    all.extend(hooks(ground, host, &|_| Some(&anything)));
    all.extend(skill(ground, host));
    all.extend(former(ground, host));
    all
}

/// What an earlier version entered elsewhere, and nothing wants there any more.
pub fn former(ground: &Ground<'_>, host: &Host) -> Vec<Wanted> {
    let form = || Form::Whole { text: skill::TEXT.to_owned(), is_program: false };
    skill::former_files(ground, host).into_iter().map(|file| Wanted { what: What::Skill, file, form: form() }).collect()
}

type OfFile<'f> = &'f dyn Fn(&ConfigFile) -> Option<&'f Variant>;

fn entries(ground: &Ground<'_>, host: &Host, variant: OfFile<'_>) -> Vec<Wanted> {
    let Mcp { entry, files, .. } = &host.mcp;
    let Some(entry) = entry.known() else { return Vec::new() };
    let mut all = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (Some(variant), Some(path)) = (variant(file), ground.file(host.here, file)) else { continue };
        let format = *entry.formats.get(at).unwrap_or(&entry.formats[0]);
        let by_name = variant.from_shell && !file.for_application && ground.is_named();
        let program = if by_name { PROGRAM.to_owned() } else { ground.program.to_string_lossy().into_owned() };
        let fields = entry.fields.iter().filter(|(key, _)| !file.without.contains(key));
        let value =
            fields.map(|(key, field)| ((*key).to_owned(), value_of(field, &program, &["mcp", "--host", host.id]))).collect::<Map<_, _>>();
        let form = Form::Value { format, at: steps(entry.at, None), value: value.into() };
        all.push(Wanted { what: What::Entry, file: path, form });
    }
    all
}

fn skill(ground: &Ground<'_>, host: &Host) -> Option<Wanted> {
    let form = Form::Whole { text: skill::TEXT.to_owned(), is_program: false };
    Some(Wanted { what: What::Skill, file: skill::file(ground, host)?, form })
}

/// What a field of an entry says, for a program and the arguments that make it serve.
pub fn value_of(field: &Field, program: &str, arguments: &[&str]) -> Value {
    match field {
        Field::Program => program.into(),
        Field::Arguments => json!(arguments),
        Field::CommandLine => json!([&[program], arguments].concat()),
        Field::Own => PROGRAM.into(),
        Field::Text(text) => (*text).into(),
        Field::Number(number) => (*number).into(),
        Field::Flag(flag) => (*flag).into(),
        Field::List(list) => json!(list),
        Field::EmptyTable => json!({}),
    }
}

/// The steps of a row's keys; with an event's name in the place of its event.
fn steps(keys: &[Key], event: Option<&str>) -> Vec<Step> {
    let step = |key: &Key| match key {
        Key::Name(name) | Key::List(name) => Step::Key((*name).to_owned()),
        Key::Own => Step::Key(PROGRAM.to_owned()),
        Key::Event => Step::Key(event.unwrap_or_default().to_owned()),
        Key::Named(key) => Step::Item(Match::Field { key: (*key).to_owned(), is: PROGRAM.to_owned() }),
    };
    keys.iter().map(step).collect()
}

fn hooks(ground: &Ground<'_>, host: &Host, variant: OfFile<'_>) -> Vec<Wanted> {
    let known = host.hooks.known().filter(|hooks| hooks.installed);
    let Some((hooks, shape)) = known.and_then(|hooks| Some((hooks, *hooks.entry.known()?))) else { return Vec::new() };
    let mut all = Vec::new();
    for file in hooks.files.iter().filter(|file| variant(file).is_some()) {
        let Some(path) = ground.file(host.here, file) else { continue };
        let used = || hooks.events.iter().filter(|event| event.used);
        if shape == EntryShape::Scripts {
            all.extend(used().map(|event| script(ground, host, &path, event)));
            continue;
        }
        let (Some(format), Some(keys)) = (hooks.format.known(), hooks.at.known()) else { continue };
        let value = |what, at, value| Wanted { what, file: path.clone(), form: Form::Value { format: *format, at, value } };
        let beside = beside(shape, keys).map(|(key, at, it)| value(What::Setting(key.to_owned()), at, it));
        all.extend(beside);
        all.extend(used().map(|event| {
            let element = element(hooks, shape, event, &command::hook(ground, host.id, event), host.id);
            value(What::Hook(event.name.to_owned()), steps(keys, Some(event.name)), element)
        }));
    }
    all
}

/// What has to stand beside hooks of this shape: its key, the way to it, and its value where nothing is there yet.
fn beside(shape: EntryShape, keys: &[Key]) -> Option<(&'static str, Vec<Step>, Value)> {
    match shape {
        EntryShape::Commands | EntryShape::ShellCommands => Some(("version", vec![Step::Key("version".into())], 1.into())),
        EntryShape::SwitchedGroups => {
            let mut at = steps(&keys[..1], None);
            at.push(Step::Key("enabled".into()));
            Some(("enabled", at, true.into()))
        }
        _ => None,
    }
}

/// One element of a host's list of hooks.
fn element(hooks: &Hooks, shape: EntryShape, event: &HookEvent, command: &str, host: &str) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    match shape {
        EntryShape::Groups | EntryShape::GroupsWithoutMatcher | EntryShape::SwitchedGroups => {
            if let Some(matcher) = event.matcher {
                put("matcher", matcher.into());
            }
            let mut inner = Map::from_iter([("type".to_owned(), "command".into()), ("command".to_owned(), command.into())]);
            inner.extend(timeout(hooks, event));
            put("hooks", Value::Array(vec![inner.into()]));
        }
        EntryShape::Commands => put("command", command.into()),
        EntryShape::ShellCommands => {
            put("type", "command".into());
            put("bash", command.into());
            put("powershell", command::powershell(host, event.name).into());
            fields.extend(timeout(hooks, event));
        }
        EntryShape::Tables | EntryShape::NamedTables => {
            if shape == EntryShape::NamedTables {
                put("name", format!("{PROGRAM}-{}", event.name).into());
            }
            put("event", event.name.into());
            if let Some(matcher) = event.matcher {
                put("matcher", matcher.into());
            }
            put("command", command.into());
            fields.extend(timeout(hooks, event));
        }
        EntryShape::Flat => {
            if let Some(matcher) = event.matcher {
                put("match", matcher.into());
            }
            put("command", command.into());
            fields.extend(timeout(hooks, event));
        }
        EntryShape::Scripts => {}
    }
    fields.into()
}

fn timeout(hooks: &Hooks, event: &HookEvent) -> Option<(String, Value)> {
    let timeout = hooks.timeout.known()?;
    let seconds = event.seconds.unwrap_or(SECONDS);
    let number = match timeout.unit {
        Unit::Seconds => seconds,
        Unit::Milliseconds => seconds * 1_000,
    };
    Some((timeout.field.to_owned(), number.into()))
}

fn script(ground: &Ground<'_>, host: &Host, path: &std::path::Path, event: &HookEvent) -> Wanted {
    let file = PathBuf::from(path.to_string_lossy().replace("<Event>", event.name));
    let text = command::script(ground, host.id, event.name);
    Wanted { what: What::Hook(event.name.to_owned()), file, form: Form::Whole { text, is_program: true } }
}
