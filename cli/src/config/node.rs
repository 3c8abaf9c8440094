//! From the configuration to what a node is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use frith_actors::{
    config::{Kind, NodeConfig, RulesWay, built_in_kinds},
    env::launch_env::EnvPattern,
    kinds::NUDGE,
    terminal::Patterns,
};
use toml_edit::Value;

use super::{Config, Source, keys, kind_of};
use crate::{
    environment,
    failure::{Failure, Told},
};

/// The values of the kinds that every node knows, by key.
pub(super) fn built_in() -> Vec<(String, Value)> {
    let fields = |name: String, kind: Kind| {
        let environment = kind.environment.iter().map(ToString::to_string).collect();
        let lists = [
            ("command", kind.command),
            ("args", kind.args),
            ("allow_all_args", kind.allow_all_args),
            ("models", kind.models),
            ("model_args", kind.model_args),
            ("efforts", kind.efforts),
            ("effort_args", kind.effort_args),
            ("environment", environment),
            ("busy", kind.busy),
            ("asks", kind.asks),
        ];
        let texts = [("ready", kind.ready), ("nudge", kind.nudge), ("clear", kind.clear)];
        let lists = lists.map(|(field, texts)| (field, Value::Array(texts.into_iter().collect())));
        let texts = texts.into_iter().filter_map(|(field, text)| Some((field, Value::from(text?))));
        lists.into_iter().chain(texts).map(move |(field, value)| (format!("launch.{name}.{field}"), value)).collect::<Vec<_>>()
    };
    built_in_kinds().into_iter().flat_map(|(name, kind)| fields(name, kind)).collect()
}

/// What a node of this configuration is told.
///
/// # Errors
/// [`Failure::Broken`] when a pattern of variables is none.
pub fn node_config(config: &Config) -> Result<NodeConfig, Failure> {
    let mut node = NodeConfig { kinds: kinds(config)?, ..NodeConfig::default() };
    if let Some(most) = config.get("node.max_agents").and_then(Value::as_integer).and_then(|most| usize::try_from(most).ok()) {
        node.max_agents = most;
    }
    if let Some(longest) = config.get("git.checkout_timeout").and_then(Value::as_str).and_then(keys::span) {
        node.checkout_timeout = longest;
    }
    if let Some(enabled) = config.get("agents.enabled").and_then(Value::as_bool) {
        node.agents_enabled = enabled;
    }
    if let Some(enabled) = config.get("worktree.enabled").and_then(Value::as_bool) {
        node.worktrees_enabled = enabled;
    }
    if let Some(idle) = config.get("agents.idle").and_then(Value::as_str).and_then(keys::span) {
        node.idle = idle;
    }
    if let Some(most) = config.get("agents.push_bytes").and_then(Value::as_integer).and_then(|most| usize::try_from(most).ok()) {
        node.push_bytes = most;
    }
    if let Some(enabled) = config.get("worktree.enabled").and_then(Value::as_bool) {
        node.worktrees_enabled = enabled;
    }
    if let Some(longest) = config.get("git.fetch_timeout").and_then(Value::as_str).and_then(keys::span) {
        node.fetch_timeout = longest;
    }
    node.worktree_root = worktree_root(config);
    node.skips_lfs = config.get("git.lfs").and_then(Value::as_str) == Some("skip");
    Ok(node)
}

/// Below which folder worktrees are made, where somebody says so: what nobody says is the node's own home, wherever that is.
fn worktree_root(config: &Config) -> Option<PathBuf> {
    let setting = config.settings.get("worktree.root").filter(|setting| setting.source != Source::Default)?;
    let text = setting.value.as_str()?;
    Some(match text.strip_prefix("~/") {
        Some(below) => environment::user_folder()?.join(below),
        None => PathBuf::from(text),
    })
}

/// Whether a node of the user root is not to start.
pub fn refuses_root(config: &Config) -> bool {
    config.get("node.root").and_then(Value::as_str) == Some("refuse")
}

fn kinds(config: &Config) -> Result<BTreeMap<String, Kind>, Failure> {
    let built_in = built_in_kinds();
    let names: BTreeSet<&str> = config.settings.keys().filter_map(|path| kind_of(path)).collect();
    names.into_iter().map(|name| Ok((name.to_owned(), kind(config, name, built_in.get(name).cloned().unwrap_or_default())?))).collect()
}

fn kind(config: &Config, name: &str, built_in: Kind) -> Result<Kind, Failure> {
    let value = |field: &str| config.get(&format!("launch.{name}.{field}"));
    let texts = |field: &str| value(field).and_then(keys::texts).unwrap_or_default();
    let text = |field: &str, built_in: Option<String>| value(field).and_then(Value::as_str).map(str::to_owned).or(built_in);
    let kind = Kind {
        command: texts("command"),
        args: texts("args"),
        allow_all_args: texts("allow_all_args"),
        models: texts("models"),
        model_args: texts("model_args"),
        efforts: texts("efforts"),
        effort_args: texts("effort_args"),
        environment: texts("environment").iter().map(|pattern| read_pattern(name, pattern)).collect::<Result<_, _>>()?,
        ready: text("ready", built_in.ready),
        nudge: text("nudge", built_in.nudge).or_else(|| value("ready").map(|_| NUDGE.to_owned())),
        busy: texts("busy"),
        asks: texts("asks"),
        clear: text("clear", built_in.clear),
        settles: value("settles").and_then(Value::as_str).and_then(keys::span).unwrap_or(built_in.settles),
        project_file: built_in.project_file,
        rules: rules(&texts("rules_args"), text("rules_file", None), texts("rules_key")).or(built_in.rules),
        entry: built_in.entry,
    };
    match Patterns::of(&kind) {
        Ok(_) => Ok(kind),
        Err(error) => Err(Failure::Broken(Told::because(format!("a pattern of `launch.{name}` is not accepted"), &error))),
    }
}

/// How a kind takes permission rules, where its configuration says so.
fn rules(args: &[String], file: Option<String>, key_path: Vec<String>) -> Option<RulesWay> {
    match file {
        _ if !args.is_empty() => Some(RulesWay::Arguments { args: args.to_vec(), command: None }),
        Some(file) if !key_path.is_empty() => Some(RulesWay::List { file, key_path }),
        _ => None,
    }
}

fn read_pattern(kind: &str, pattern: &str) -> Result<EnvPattern, Failure> {
    EnvPattern::parse(pattern)
        .map_err(|error| Failure::Broken(Told::because(format!("`launch.{kind}.environment` is not accepted"), &error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;

    fn configured(rows: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        config.add_defaults();
        for (path, text) in rows {
            config.settings.insert((*path).to_owned(), Setting { value: text.parse().unwrap(), source: Source::Flag });
        }
        config
    }

    #[test]
    fn a_kind_keeps_what_is_built_in_and_changes_what_is_said() {
        let node = node_config(&configured(&[("launch.claude.args", "[\"-v\"]"), ("launch.mine.command", "[\"m\", \"x\"]")])).unwrap();
        let claude = &node.kinds["claude"];
        assert_eq!((claude.command.as_slice(), claude.args.as_slice()), (&["claude".to_owned()][..], &["-v".to_owned()][..]));
        assert_eq!(claude.project_file, built_in_kinds()["claude"].project_file);
        assert_eq!(node.kinds["mine"].command, ["m", "x"]);
        assert_eq!(node.kinds.len(), built_in_kinds().len() + 1);
    }

    #[test]
    fn nothing_said_is_what_every_node_knows() {
        let node = node_config(&configured(&[])).unwrap();
        assert_eq!(node.kinds, built_in_kinds());
        assert_eq!(node.max_agents, NodeConfig::default().max_agents);
        assert_eq!(node.checkout_timeout, NodeConfig::default().checkout_timeout);
    }

    #[test]
    fn limits_and_the_word_for_root_come_through() {
        let config = configured(&[("node.max_agents", "2"), ("git.checkout_timeout", "\"5m\""), ("node.root", "\"refuse\"")]);
        let agents = node_config(&configured(&[("agents.enabled", "false"), ("agents.idle", "\"2h\"")])).unwrap();
        assert_eq!((agents.agents_enabled, agents.idle.as_secs()), (false, 7200));
        let node = node_config(&config).unwrap();
        assert_eq!((node.max_agents, node.checkout_timeout.as_secs()), (2, 300));
        assert!(refuses_root(&config));
    }

    #[test]
    fn where_worktrees_are_made_is_the_nodes_own_matter_until_somebody_says_so() {
        let node = node_config(&configured(&[])).unwrap();
        assert!(node.worktrees_enabled && node.worktree_root.is_none() && !node.skips_lfs);
        assert_eq!(node.fetch_timeout.as_secs(), 20);
        let said = configured(&[
            ("worktree.enabled", "false"),
            ("worktree.root", "\"/srv/trees\""),
            ("git.fetch_timeout", "\"3s\""),
            ("git.lfs", "\"skip\""),
        ]);
        let node = node_config(&said).unwrap();
        assert!(!node.worktrees_enabled && node.skips_lfs);
        assert_eq!((node.worktree_root, node.fetch_timeout.as_secs()), (Some("/srv/trees".into()), 3));
        let below = node_config(&configured(&[("worktree.root", "\"~/trees\"")])).unwrap();
        assert_eq!(below.worktree_root, environment::user_folder().map(|home| home.join("trees")));
    }
}
