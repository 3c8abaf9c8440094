//! The keys of the configuration: what each is for, what it accepts, what counts when nothing is said.

use frith_actors::env::launch_env::EnvPattern;
use toml_edit::Value;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its path, as in `node.max_agents`; `launch.*` stands for every kind.
    pub path: &'static str,
    /// What it accepts.
    pub shape: Shape,
    /// What counts when nothing is said, as in the file; empty when nothing does.
    pub default: &'static str,
    /// Whether a repository's own file may set it: it comes with a clone, so only what does no harm.
    pub from_repository: bool,
    /// What it is for.
    pub what: &'static str,
}

/// What a key accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Switch,
    /// A whole number between these two.
    Count(i64, i64),
    /// A number with its unit, as in `20s`, `30m`, `2h`.
    Span,
    /// An absolute path, or one that begins with `~/`.
    Folder,
    /// A path below the home, as a repository may name one.
    FolderBelowHome,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `auto` or an address with its port.
    Listen,
    /// A loopback address with its port.
    Loopback,
    /// Any text.
    Text,
    /// A path below another folder.
    Below,
    /// A list of texts.
    Texts,
    /// A list of texts with at least one.
    SomeTexts,
    /// A list of names of variables, each with a `*` at its start or end or without one.
    Variables,
}

const fn key(path: &'static str, shape: Shape, default: &'static str, what: &'static str) -> Key {
    Key { path, shape, default, from_repository: false, what }
}

const fn harmless(path: &'static str, shape: Shape, default: &'static str, what: &'static str) -> Key {
    Key { path, shape, default, from_repository: true, what }
}

const ASK: Shape = Shape::Word(&["ask", "never", "members"]);

/// Every key, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key("agents.enabled", Shape::Switch, "true", "whether sessions of coding agents are registered"),
    key("agents.idle", Shape::Span, "\"30m\"", "after how long without a sign of life an agent counts as idle"),
    key("agents.push_bytes", Shape::Count(0, 65536), "1024", "the most bytes of messages pushed to an agent at once"),
    key("worktree.enabled", Shape::Switch, "true", "whether there are worktrees: their commands, tools and hooks"),
    harmless("worktree.root", Shape::Folder, "\"~/.frith/worktrees\"", "below which folder worktrees are made"),
    key("node.listen", Shape::Listen, "\"auto\"", "where other machines reach this one (no effect yet)"),
    key("node.http", Shape::Loopback, "\"127.0.0.1:7678\"", "where agents on this machine reach the node over HTTP (no effect yet)"),
    key("node.max_agents", Shape::Count(1, 1000), "16", "the most agents this machine runs at once"),
    key("node.root", Shape::Word(&["warn", "refuse"]), "\"warn\"", "whether a node of the user root starts"),
    key("node.peers", Shape::Texts, "[]", "addresses of other machines to try (no effect yet)"),
    key("node.discovery", Shape::Switch, "false", "whether other machines are looked for on the local network (no effect yet)"),
    key("remote.launch", ASK, "\"ask\"", "whether other machines may launch agents here (no effect yet)"),
    key("remote.attach", ASK, "\"never\"", "whether other machines may type into terminals here (no effect yet)"),
    key("remote.widen", ASK, "\"never\"", "whether other machines may widen what agents here may do (no effect yet)"),
    key("install.backup_files", Shape::Count(0, 1000), "5", "how many backups of a host's file are kept"),
    key("git.fetch_timeout", Shape::Span, "\"20s\"", "the longest that asking origin may take"),
    key("git.checkout_timeout", Shape::Span, "\"30m\"", "the longest making a worktree or a fork's folder may take"),
    harmless("git.lfs", Shape::Word(&["smudge", "skip"]), "\"smudge\"", "whether a new worktree gets the files of git-lfs"),
    key("launch.*.command", Shape::SomeTexts, "", "the command of this kind of agent, with its fixed arguments"),
    key("launch.*.args", Shape::Texts, "[]", "arguments it always gets"),
    key("launch.*.allow_all_args", Shape::Texts, "[]", "arguments that let it run every command unasked"),
    key("launch.*.models", Shape::Texts, "[]", "the models it takes"),
    key("launch.*.model_args", Shape::Texts, "[]", "arguments that choose a model, with {} for its name"),
    key("launch.*.efforts", Shape::Texts, "[]", "the efforts it takes"),
    key("launch.*.effort_args", Shape::Texts, "[]", "arguments that choose an effort, with {} for its name"),
    key("launch.*.environment", Shape::Variables, "[]", "variables of the caller's environment it gets besides, as in `OPENAI_*`"),
    key("launch.*.ready", Shape::Text, "", "a pattern of its screen while it waits at its prompt"),
    key("launch.*.busy", Shape::Texts, "[]", "patterns of its screen while it works, though its prompt may be shown"),
    key("launch.*.asks", Shape::Texts, "[]", "patterns of its screen while it asks a person something: nothing is typed then"),
    key("launch.*.settles", Shape::Span, "", "how long its first prompt must stand before anything is typed"),
    key("launch.*.nudge", Shape::Text, "", "the line typed when a task waits and it does not work"),
    key("launch.*.clear", Shape::Text, "", "the line typed before a task that asks for a fresh context"),
    key("launch.*.rules_args", Shape::Texts, "[]", "arguments that give it a permission rule, with {} for the rule"),
    key("launch.*.rules_file", Shape::Below, "", "the JSON file of its folder that has its permission rules"),
    key("launch.*.rules_key", Shape::Texts, "[]", "the keys that lead to the list of rules in that file"),
];

/// The key of this path; a kind's name stands where the table has `*`.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches(key.path, path))
}

/// A key of the table that belongs at this path, where a table does.
pub fn below(path: &str) -> Option<&'static Key> {
    let is_below = |key: &&Key| {
        let (mut pattern, names) = (key.path.split('.'), path.split('.'));
        names.zip(&mut pattern).all(|(name, part)| part == "*" || part == name) && key.path.split('.').count() > path.split('.').count()
    };
    KEYS.iter().find(is_below)
}

fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, after)) => {
            path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).is_some_and(|kind| !kind.is_empty() && !kind.contains('.'))
        }
    }
}

/// Whether a running node goes by this key's new value at once; for the others it has to start anew.
pub fn is_live(path: &str) -> bool {
    path == "node.max_agents" || ["agents.", "launch.", "git.", "worktree."].iter().any(|part| path.starts_with(part))
}

/// The known key that an unknown one is most like, if it is like any.
pub fn nearest(path: &str) -> Option<String> {
    let kind = path.strip_prefix("launch.").and_then(|rest| rest.split_once('.')).map(|(kind, _)| kind);
    let candidates = KEYS.iter().filter_map(|key| match key.path.contains('*') {
        true => kind.map(|kind| key.path.replace('*', kind)),
        false => Some(key.path.to_owned()),
    });
    // The beginning of a key means that key: `env` is short for `environment` and like nothing else.
    let scored = candidates.map(|known| (if known.starts_with(path) { 1.0 } else { strsim::jaro_winkler(path, &known) }, known));
    scored.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

impl Shape {
    /// What it accepts, as the end of a sentence.
    pub fn accepted(self) -> String {
        match self {
            Self::Switch => "true or false".into(),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Span => "a number with its unit, such as \"20s\", \"30m\" or \"2h\"".into(),
            Self::Folder => "an absolute path, or one that begins with ~/".into(),
            Self::FolderBelowHome => "a path that begins with ~/ and stays below it".into(),
            Self::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
            Self::Listen => "\"auto\", or an address with its port such as \"0.0.0.0:7677\"".into(),
            Self::Loopback => "a loopback address with its port, such as \"127.0.0.1:7678\"".into(),
            Self::Text => "a text".into(),
            Self::Below => "a path that stays below the folder, such as \".mine/settings.json\"".into(),
            Self::Texts => "a list of texts, such as [\"one\", \"two\"]".into(),
            Self::SomeTexts => "a list of texts with at least one, such as [\"claude\"]".into(),
            Self::Variables => "a list of names of variables, each with a `*` at its start or end at most, such as [\"OPENAI_*\"]".into(),
        }
    }

    /// Whether it accepts this value.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Switch => value.is_bool(),
            Self::Count(least, most) => value.as_integer().is_some_and(|number| (least..=most).contains(&number)),
            Self::Texts => texts(value).is_some(),
            Self::SomeTexts => texts(value).is_some_and(|texts| texts.first().is_some_and(|text| !text.is_empty())),
            Self::Variables => texts(value).is_some_and(|texts| texts.iter().all(|text| EnvPattern::parse(text).is_ok())),
            _ => value.as_str().is_some_and(|text| self.accepts_text(text)),
        }
    }

    fn accepts_text(self, text: &str) -> bool {
        match self {
            Self::Span => span(text).is_some(),
            Self::Folder => text.starts_with('/') || text.starts_with("~/"),
            Self::FolderBelowHome => text.starts_with("~/") && !text.split('/').any(|part| part == ".."),
            Self::Word(words) => words.contains(&text),
            Self::Below => !text.is_empty() && !text.starts_with(['/', '~']) && !text.split('/').any(|part| part == ".."),
            Self::Listen => text == "auto" || text.parse::<std::net::SocketAddr>().is_ok(),
            Self::Loopback => text.parse::<std::net::SocketAddr>().is_ok_and(|address| address.ip().is_loopback()),
            _ => true,
        }
    }

    /// The value that a bare text stands for: as in the file, or a word for a text.
    pub fn read(self, text: &str) -> Value {
        let written = text.parse::<Value>().ok().filter(|value| self.accepts(value));
        written.unwrap_or_else(|| Value::from(text))
    }
}

/// The texts of a list of texts.
pub fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|entry| entry.as_str().map(str::to_owned)).collect()
}

const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86400)];

/// The time a text such as `30m` stands for: more than none, and at most a year.
pub fn span(text: &str) -> Option<std::time::Duration> {
    let (unit, seconds) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let all = number.checked_mul(*seconds)?;
    (1..=366 * 86400).contains(&all).then(|| std::time::Duration::from_secs(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_accepted_by_its_own_key() {
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            let value: Value = key.default.parse().unwrap();
            assert!(key.shape.accepts(&value), "{}", key.path);
        }
    }

    #[test]
    fn each_shape_accepts_what_it_says_and_nothing_else() {
        let cases: &[(Shape, &[&str], &[&str])] = &[
            (Shape::Switch, &["true"], &["\"true\"", "1"]),
            (Shape::Count(1, 9), &["1", "9"], &["0", "10", "1.5", "\"1\""]),
            (
                Shape::Span,
                &["\"20s\"", "\"2h\"", "\"1d\""],
                &["20", "\"20\"", "\"0s\"", "\"-1s\"", "\"1y\"", "\"99999999999999999h\"", "\"\""],
            ),
            (Shape::Folder, &["\"/a b\"", "\"~/x\""], &["\"a\"", "\"~x\"", "3"]),
            (Shape::FolderBelowHome, &["\"~/x/y\""], &["\"/x\"", "\"~/../y\""]),
            (Shape::Word(&["a", "b"]), &["\"a\""], &["\"c\"", "true"]),
            (Shape::Below, &["\"a/b\""], &["\"\"", "\"/a\"", "\"a/../../b\"", "\"~/a\""]),
            (Shape::Listen, &["\"auto\"", "\"[::]:1\""], &["\"here\"", "\"1.2.3.4\""]),
            (Shape::Loopback, &["\"127.0.0.1:1\"", "\"[::1]:1\""], &["\"0.0.0.0:1\""]),
            (Shape::Texts, &["[]", "[\"a\"]"], &["\"a\"", "[1]"]),
            (Shape::SomeTexts, &["[\"a\", \"b\"]"], &["[]", "[\"\"]"]),
            (Shape::Variables, &["[]", "[\"A_*\", \"*_B\", \"C\"]"], &["[\"*\"]", "[\"A*B\"]", "[\"A=B\"]", "\"A\""]),
        ];
        for (shape, good, bad) in cases {
            for text in *good {
                assert!(shape.accepts(&text.parse().unwrap()), "{shape:?} {text}");
            }
            for text in *bad {
                assert!(!shape.accepts(&text.parse().unwrap()), "{shape:?} {text}");
            }
        }
    }

    #[test]
    fn a_bare_word_is_a_text_and_a_number_stays_one() {
        assert_eq!(Shape::Span.read("30m").as_str(), Some("30m"));
        assert_eq!(Shape::Count(0, 9).read("4").as_integer(), Some(4));
        assert_eq!(Shape::Text.read("true").as_str(), Some("true"));
        assert_eq!(texts(&Shape::Texts.read("[\"a\"]")), Some(vec!["a".into()]));
    }

    #[test]
    fn a_table_is_told_from_a_key_and_from_what_is_neither() {
        for table in ["node", "launch", "launch.mine"] {
            assert!(below(table).is_some(), "{table}");
        }
        for other in ["node.max_agents", "launch.mine.command", "nodes", "node.max", "launch.mine.command.x"] {
            assert!(below(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_nearest_key_is_named_where_one_is_near() {
        assert_eq!(nearest("node.max_agent").as_deref(), Some("node.max_agents"));
        assert_eq!(nearest("launch.mine.comand").as_deref(), Some("launch.mine.command"));
        assert_eq!(nearest("launch.mine.env").as_deref(), Some("launch.mine.environment"));
        assert_eq!(nearest("zzz"), None);
    }
}
