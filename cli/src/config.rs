//! The configuration: defaults, then the home's file, then the repository's file, then variables, then flags; the last
//! that says something counts. An unknown key is a warning; a value that is not accepted is an error with its line.

pub mod edit;
pub mod keys;
mod live;
mod node;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::{Serialize, Serializer};
use toml_edit::{Document, Item, Value};

use self::keys::{KEYS, Key, Shape};
use crate::{
    environment,
    failure::{Failure, Told},
    progress,
};

pub use live::Live;
pub use node::{node_config, refuses_root};

/// The configuration file of a repository, in its top folder.
const REPOSITORY_FILE: &str = ".frith.toml";
/// The most bytes of a configuration file.
const FILE_MOST: u64 = 1 << 20;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// A file, at this line.
    File(PathBuf, usize),
    /// A repository's file, at this line.
    Repository(PathBuf, usize),
    /// A variable of the environment.
    Variable(String),
    /// A flag of the command.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) | Self::Repository(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag => f.write_str("--set"),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value, and where it comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// The value.
    #[serde(serialize_with = "as_json")]
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
}

/// What counts, and what was found odd on the way.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Config {
    /// Every value, by its key.
    pub settings: BTreeMap<String, Setting>,
    /// What was ignored, and why, in words.
    pub warnings: Vec<String>,
}

fn as_json<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Boolean(switch) => switch.value().serialize(serializer),
        Value::Integer(number) => number.value().serialize(serializer),
        Value::String(text) => text.value().serialize(serializer),
        value => keys::texts(value).unwrap_or_default().serialize(serializer),
    }
}

/// The home's configuration file.
pub fn path(home: &Path) -> PathBuf {
    home.join("config.toml")
}

/// Reads everything that counts for a command run in `folder`.
///
/// # Errors
/// [`Failure::Broken`] when a file cannot be read or a value is not accepted.
pub fn read(home: &Path, folder: Option<&Path>, flags: &[String]) -> Result<Config, Failure> {
    let mut config = Config::default();
    config.add_defaults();
    config.add_file(&path(home))?;
    if let Some(file) = folder.and_then(repository_file) {
        config.add_repository(&file)?;
    }
    config.add_variables(environment::all().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))))?;
    config.add_flags(flags)?;
    config.leave_out_kinds();
    Ok(config)
}

/// What counts of the text of one file, over what is built in.
fn of_text(path: &Path, text: &str) -> Result<Config, Failure> {
    let mut config = Config::default();
    config.add_defaults();
    config.add_text(path, text)?;
    Ok(config)
}

impl Config {
    /// The value of a key.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.settings.get(path).map(|setting| &setting.value)
    }

    /// The value of a key that somebody named.
    ///
    /// # Errors
    /// The key is not known, or nothing counts for it.
    pub fn setting(&self, path: &str) -> Result<&Setting, Failure> {
        match (self.settings.get(path), keys::find(path)) {
            (Some(setting), _) => Ok(setting),
            (None, Some(_)) => {
                Err(Failure::Broken(Told::new(format!("`{path}` is not set")).hint(format!("`frith config set {path} <value>`"))))
            }
            (None, None) => Err(unknown(path)),
        }
    }

    /// Prints the warnings to standard error.
    pub fn warn(&self) {
        for warning in &self.warnings {
            progress::say(&format!("warning: {warning}"));
        }
    }

    fn add_defaults(&mut self) {
        for key in KEYS.iter().filter(|key| !key.path.contains('*')) {
            let value: Value = key.default.parse().expect("a test reads every default");
            self.settings.insert(key.path.to_owned(), Setting { value, source: Source::Default });
        }
        for (path, value) in node::built_in() {
            self.settings.insert(path, Setting { value, source: Source::Default });
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(text) = read_text(path)? else { return Ok(()) };
        self.add_text(path, &text)
    }

    fn add_text(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        for (key, value, line) in leaves(path, text)? {
            let place = format!("`{}` line {line}", path.display());
            self.add(&key, value, Source::File(path.to_owned(), line), &place)?;
        }
        Ok(())
    }

    /// A repository's file comes with a clone: it sets what does no harm, and nothing in it is an error.
    fn add_repository(&mut self, path: &Path) -> Result<(), Failure> {
        let read = read_text(path).and_then(|text| text.map(|text| leaves(path, &text)).transpose());
        let found = match read {
            Ok(found) => found.unwrap_or_default(),
            Err(failure) => {
                self.warnings.push(format!("`{}` is ignored: {}", path.display(), first_fact(&failure)));
                return Ok(());
            }
        };
        for (key, value, line) in found {
            let place = format!("`{}` line {line}", path.display());
            let Some(known) = keys::find(&key).filter(|known| known.from_repository) else {
                self.warnings.push(format!("{place}: a repository may not set `{key}`, so it is ignored"));
                continue;
            };
            let shape = if known.shape == Shape::Folder { Shape::FolderBelowHome } else { known.shape };
            if shape.accepts(&value) {
                self.settings.insert(key, Setting { value, source: Source::Repository(path.to_owned(), line) });
            } else {
                self.warnings.push(format!("{place}: `{key}` is ignored, since a repository may set {} only", shape.accepted()));
            }
        }
        Ok(())
    }

    fn add_variables(&mut self, variables: impl Iterator<Item = (String, String)>) -> Result<(), Failure> {
        let mut variables: Vec<_> = variables.filter(|(name, text)| name.starts_with("FRITH_") && !text.is_empty()).collect();
        variables.sort();
        for (name, text) in variables {
            let Some((path, key)) = key_of_variable(&name) else { continue };
            let place = format!("variable `{name}`");
            self.add(&path, key.shape.read(&text), Source::Variable(name), &place)?;
        }
        Ok(())
    }

    fn add_flags(&mut self, flags: &[String]) -> Result<(), Failure> {
        for flag in flags {
            let Some((path, text)) = flag.split_once('=') else {
                return Err(Failure::Broken(Told::new(format!("`--set {flag}` names no value")).hint("write it as `--set key=value`")));
            };
            let key = keys::find(path).ok_or_else(|| unknown(path))?;
            self.add(path, key.shape.read(text), Source::Flag, "`--set`")?;
        }
        Ok(())
    }

    fn add(&mut self, path: &str, value: Value, source: Source, place: &str) -> Result<(), Failure> {
        let Some(key) = keys::find(path) else {
            if let Some(below) = keys::below(path) {
                let fact = format!("{place}: `{path}` is {}, and a table belongs there", value.to_string().trim());
                let kind = path.strip_prefix("launch.").unwrap_or("<kind>");
                let hint = format!("it takes a table with keys of its own, such as `{}`", below.path.replace('*', kind));
                return Err(Failure::Broken(Told::new(fact).hint(hint)));
            }
            let near = keys::nearest(path).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.warnings.push(format!("{place}: the key `{path}` is not known{near}"));
            return Ok(());
        };
        if !key.shape.accepts(&value) {
            // A kind without one of its variables says itself what it lacks; a node that does not start helps nobody.
            if key.shape == Shape::Variables && matches!(source, Source::File(..)) {
                let accepted = key.shape.accepted();
                self.warnings.push(format!("{place}: `{path}` is {} and is ignored: it takes {accepted}", value.to_string().trim()));
                return Ok(());
            }
            return Err(not_accepted(path, &value, key, place));
        }
        self.settings.insert(path.to_owned(), Setting { value, source });
        Ok(())
    }

    /// A kind without a command can launch nothing. It is left out alone: everything else goes on.
    fn leave_out_kinds(&mut self) {
        let kinds: BTreeSet<String> = self.settings.keys().filter_map(|path| kind_of(path)).map(str::to_owned).collect();
        for kind in kinds.into_iter().filter(|kind| !self.has_command(kind)).collect::<Vec<_>>() {
            let is_of_it = |path: &str| kind_of(path) == Some(kind.as_str());
            let source =
                self.settings.iter().find(|(path, _)| is_of_it(path)).map(|(path, setting)| format!("`{path}` in {}", setting.source));
            self.warnings.push(format!(
                "kind `{kind}` is left out, since it has no `command` ({}); `frith config set launch.{kind}.command '[\"{kind}\"]'` gives it one",
                source.unwrap_or_default()
            ));
            self.settings.retain(|path, _| !is_of_it(path));
        }
    }

    fn has_command(&self, kind: &str) -> bool {
        self.settings.contains_key(&format!("launch.{kind}.command"))
    }
}

/// The kind that a key belongs to.
fn kind_of(path: &str) -> Option<&str> {
    path.strip_prefix("launch.")?.split_once('.').map(|(kind, _)| kind)
}

/// The key that a variable sets: `FRITH_`, then the path in capitals with `_` for every dot and hyphen.
fn key_of_variable(name: &str) -> Option<(String, &'static Key)> {
    let upper = |path: &str| path.replace(['.', '-'], "_").to_uppercase();
    let rest = name.strip_prefix("FRITH_")?;
    KEYS.iter().find_map(|key| match key.path.split_once('*') {
        None => (upper(key.path) == rest).then(|| (key.path.to_owned(), key)),
        Some((before, after)) => {
            let kind = rest.strip_prefix(&upper(before))?.strip_suffix(&upper(after)).filter(|kind| !kind.is_empty())?;
            Some((key.path.replace('*', &kind.to_lowercase()), key))
        }
    })
}

/// What is wrong with the variables that begin with `FRITH_` and mean nothing: those that are like one that does.
pub fn misspelt_variables() -> Vec<String> {
    let names = environment::all().filter_map(|(name, _)| name.into_string().ok());
    let mut found: Vec<_> = names.filter_map(|name| nearest_variable(&name).map(|near| (name, near))).collect();
    found.sort();
    found.into_iter().map(|(name, near)| format!("variable `{name}` is not known; did you mean `{near}`?")).collect()
}

/// The variable that an unknown one is most like, if it is like any.
fn nearest_variable(name: &str) -> Option<String> {
    let rest = name.strip_prefix("FRITH_")?;
    if environment::is_known(name) || key_of_variable(name).is_some() {
        return None;
    }
    let of_keys = KEYS.iter().filter(|key| !key.path.contains('*')).map(|key| key.path.replace(['.', '-'], "_").to_uppercase());
    let others = environment::VARIABLES.iter().filter_map(|(name, _)| Some(name.strip_prefix("FRITH_")?.to_owned()));
    let scored = of_keys.chain(others).map(|known| (strsim::jaro_winkler(rest, &known), known));
    let near = scored.filter(|(score, _)| *score > 0.88).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, known)| format!("FRITH_{known}"))
}

fn unknown(path: &str) -> Failure {
    let told = Told::new(format!("the key `{path}` is not known"));
    Failure::Broken(match keys::nearest(path) {
        Some(near) => told.hint(format!("did you mean `{near}`?")),
        None => told.hint("`frith config show` lists the keys"),
    })
}

fn not_accepted(path: &str, value: &Value, key: &Key, place: &str) -> Failure {
    let fact = format!("{place}: `{path}` is {}, which is not accepted", value.to_string().trim());
    Failure::Broken(Told::new(fact).hint(format!("it takes {}", key.shape.accepted())))
}

fn first_fact(failure: &Failure) -> String {
    match failure {
        Failure::Broken(told) => told.facts.join(": "),
        _ => String::new(),
    }
}

/// The repository's file for a folder: in the nearest folder above it that is a repository's top.
fn repository_file(folder: &Path) -> Option<PathBuf> {
    let top = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    Some(top.join(REPOSITORY_FILE)).filter(|file| file.exists())
}

fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| Failure::Broken(Told::because(format!("`{}` cannot be read", path.display()), &error));
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(facts) if !facts.is_file() || facts.len() > FILE_MOST => {
            Err(Failure::Broken(Told::new(format!("`{}` is no file of at most {FILE_MOST} bytes", path.display()))))
        }
        Ok(_) => fs::read_to_string(path).map(Some).map_err(failed),
    }
}

/// Every value of a file with its path and its line.
fn leaves(path: &Path, text: &str) -> Result<Vec<(String, Value, usize)>, Failure> {
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let fact = format!("`{}` line {line} is no TOML: {}", path.display(), error.message().trim());
        Failure::Broken(Told::new(fact).hint("`frith config path` names the file to mend"))
    })?;
    let mut found = Vec::new();
    walk(document.as_item(), String::new(), text, &mut found);
    Ok(found)
}

fn walk(item: &Item, path: String, text: &str, found: &mut Vec<(String, Value, usize)>) {
    if let Some(table) = item.as_table_like() {
        for (name, item) in table.iter() {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            walk(item, path, text, found);
        }
    } else if let Some(value) = item.as_value() {
        let line = value.span().map_or(1, |span| line_of(text, span.start));
        found.push((path, value.clone().decorated("", ""), line));
    } else {
        found.push((path, Value::from("a list of tables"), 1));
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        file: &'static str,
        repository: &'static str,
        variables: &'static [(&'static str, &'static str)],
        flags: &'static [&'static str],
    }

    fn case(file: &'static str) -> Case {
        Case { file, repository: "", variables: &[], flags: &[] }
    }

    fn resolve(case: &Case) -> Result<Config, Failure> {
        let home = tempfile::tempdir().unwrap();
        let repository = home.path().join(".frith.toml");
        fs::write(path(home.path()), case.file).unwrap();
        fs::write(&repository, case.repository).unwrap();
        let mut config = Config::default();
        config.add_defaults();
        config.add_file(&path(home.path()))?;
        config.add_repository(&repository)?;
        config.add_variables(case.variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))?;
        config.add_flags(&case.flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>())?;
        config.leave_out_kinds();
        Ok(config)
    }

    fn value(config: &Config, key: &str) -> String {
        config.get(key).map(|value| value.to_string().trim().to_owned()).unwrap_or_default()
    }

    #[test]
    fn the_last_that_says_something_counts() {
        let file = "[node]\nmax_agents = 2\n[git]\nlfs = \"skip\"";
        let cases = [
            (case(""), "node.max_agents", "16", "default"),
            (case(file), "node.max_agents", "2", "config.toml:2"),
            (Case { variables: &[("FRITH_NODE_MAX_AGENTS", "3")], ..case(file) }, "node.max_agents", "3", "FRITH_NODE_MAX_AGENTS"),
            (
                Case { variables: &[("FRITH_NODE_MAX_AGENTS", "3")], flags: &["node.max_agents=4"], ..case(file) },
                "node.max_agents",
                "4",
                "--set",
            ),
            (Case { repository: "[git]\nlfs = \"smudge\"", ..case(file) }, "git.lfs", "\"smudge\"", ".frith.toml:2"),
            (Case { variables: &[("FRITH_LAUNCH_MINE_COMMAND", "[\"m\"]")], ..case("") }, "launch.mine.command", "[\"m\"]", "FRITH_LAUNCH"),
            (case("[launch.claude]\nargs = [\"-v\"]"), "launch.claude.command", "[\"claude\"]", "default"),
        ];
        for (case, key, expected, source) in cases {
            let config = resolve(&case).unwrap();
            assert_eq!(value(&config, key), expected, "{key}");
            assert!(config.settings[key].source.to_string().contains(source), "{key}: {}", config.settings[key].source);
            assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        }
    }

    #[test]
    fn an_unknown_key_is_a_warning_that_names_the_nearest() {
        let config = resolve(&case("[node]\nmax_agent = 2")).unwrap();
        assert!(config.warnings[0].ends_with("line 2: the key `node.max_agent` is not known; did you mean `node.max_agents`?"));
        assert_eq!(value(&config, "node.max_agents"), "16");
    }

    #[test]
    fn a_kind_without_a_command_is_left_out_and_nothing_else_is() {
        let config = resolve(&case("[launch.mine]\nargs = []\nmodels = [\"a\"]\n[node]\nmax_agents = 2")).unwrap();
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(
            config.warnings[0].contains("kind `mine` is left out") && config.warnings[0].contains("config.toml:2"),
            "{:?}",
            config.warnings
        );
        assert!(config.get("launch.mine.args").is_none());
        assert_eq!(value(&config, "node.max_agents"), "2");
        assert!(!node_config(&config).unwrap().kinds.contains_key("mine"));
    }

    #[test]
    fn a_value_that_is_not_accepted_names_file_line_and_what_is() {
        let cases = [
            ("\n[node]\nmax_agents = \"many\"", "line 3: `node.max_agents` is \"many\"", "a whole number from 1 to 1000"),
            ("[git]\nlfs = \"maybe\"", "line 2: `git.lfs` is \"maybe\"", "\"smudge\" or \"skip\""),
            ("node = 3", "line 1: `node` is 3, and a table belongs there", "such as `node.listen`"),
            ("[launch]\nmine = \"m\"", "line 2: `launch.mine` is \"m\", and a table belongs there", "`launch.mine.command`"),
            ("[node\n", "line 1 is no TOML", "names the file"),
            ("[node]\nhttp = \"0.0.0.0:1\"", "line 2: `node.http`", "a loopback address"),
        ];
        for (file, fact, hint) in cases {
            match resolve(&case(file)) {
                Err(Failure::Broken(told)) => {
                    assert!(told.facts[0].contains(fact), "{:?}", told.facts);
                    assert!(told.hint.as_deref().unwrap_or_default().contains(hint), "{:?}", told.hint);
                }
                other => panic!("{file}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_pattern_of_variables_that_is_none_is_told_with_its_line_and_stops_nothing() {
        let config = resolve(&case("[launch.claude]\nargs = [\"-v\"]\nenvironment = [\"A*B*C\"]")).unwrap();
        assert!(config.warnings[0].contains("config.toml` line 3: `launch.claude.environment` is [\"A*B*C\"] and is ignored"));
        assert_eq!(value(&config, "launch.claude.args"), "[\"-v\"]");
        assert_eq!(config.settings["launch.claude.environment"].source, Source::Default);
        node_config(&config).unwrap();
    }

    #[test]
    fn a_variable_that_is_nearly_one_of_ours_is_told_and_others_are_not() {
        for (name, near) in [("FRITH_HOEM", "FRITH_HOME"), ("FRITH_NODE_MAX_AGENT", "FRITH_NODE_MAX_AGENTS"), ("FRITH_LOGS", "FRITH_LOG")] {
            assert_eq!(nearest_variable(name).as_deref(), Some(near), "{name}");
        }
        for name in ["FRITH_HOME", "FRITH_AGENT_ID", "FRITH_NODE_MAX_AGENTS", "FRITH_LAUNCH_MINE_COMMAND", "FRITH_CI_IMAGE", "HOEM"] {
            assert_eq!(nearest_variable(name), None, "{name}");
        }
    }

    #[test]
    fn a_repository_sets_only_what_does_no_harm_and_breaks_nothing() {
        let harmful = [
            "[launch.claude]\ncommand = [\"rm\"]",
            "[node]\nmax_agents = 999",
            "[worktree]\nroot = \"/etc\"",
            "[worktree]\nroot = \"~/../x\"",
            "[git]\nlfs = 3",
            "not toml",
        ];
        for repository in harmful {
            let config = resolve(&Case { repository, ..case("") }).unwrap();
            assert_eq!(config.warnings.len(), 1, "{repository}");
            assert!(config.settings.values().all(|setting| setting.source == Source::Default), "{repository}");
        }
        let config = resolve(&Case { repository: "[worktree]\nroot = \"~/wt\"", ..case("") }).unwrap();
        assert_eq!(value(&config, "worktree.root"), "\"~/wt\"");
    }

    /// Every key of the table, with a value it takes: a repository's file changes those that are harmless and no other.
    #[test]
    fn each_key_is_harmless_in_a_repository_or_ignored_there() {
        for key in KEYS {
            let path = key.path.replace('*', "claude");
            let text = match (key.shape, key.path) {
                (_, "worktree.root") => "\"~/wt\"".to_owned(),
                (Shape::SomeTexts | Shape::Texts | Shape::Variables, _) => "[\"EVIL\"]".to_owned(),
                (Shape::Text, _) => "\"evil\"".to_owned(),
                _ => key.default.to_owned(),
            };
            let home = tempfile::tempdir().unwrap();
            let repository = home.path().join(".frith.toml");
            fs::write(&repository, format!("{path} = {text}\n")).unwrap();
            let mut config = Config::default();
            config.add_defaults();
            config.add_repository(&repository).unwrap();
            let from_there = config.settings.values().filter(|setting| matches!(setting.source, Source::Repository(..))).count();
            assert_eq!((from_there, config.warnings.len()), if key.from_repository { (1, 0) } else { (0, 1) }, "{path}");
        }
    }

    #[test]
    fn a_flag_must_name_a_known_key_and_a_value() {
        for flags in [&["node.max_agents"] as &'static [&str], &["node.max_agent=1"], &["node.max_agents=x"]] {
            assert!(matches!(resolve(&Case { flags, ..case("") }), Err(Failure::Broken(_))), "{flags:?}");
        }
    }
}
