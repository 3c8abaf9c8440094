//! What a node is told about itself: limits, and the kinds of agent it can launch.
//!
//! Plain data. Where it comes from, and in which order sources win, is the command line's business.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::env::{folders::ProjectFile, launch_env::EnvPattern};

/// Where a node's configuration comes from. It may change while the node runs: each decision goes by what is said then.
pub trait Configured: Send + Sync {
    /// What is said now. It is asked within calls, so it takes no longer than to look at one small file.
    fn now(&self) -> Arc<NodeConfig>;
}

/// A configuration that never changes.
impl Configured for NodeConfig {
    fn now(&self) -> Arc<NodeConfig> {
        Arc::new(self.clone())
    }
}

/// A node's configuration.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// The most agents it runs at once.
    pub max_agents: usize,
    /// What it can launch, by name.
    pub kinds: BTreeMap<String, Kind>,
    /// The longest that making a fork's folder may take.
    pub checkout_timeout: Duration,
    /// How long an agent that is asked to end may take before it is killed.
    pub stop_grace: Duration,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self { max_agents: 16, kinds: built_in_kinds(), checkout_timeout: Duration::from_secs(30 * 60), stop_grace: Duration::from_secs(5) }
    }
}

/// One kind of agent: what runs when somebody launches it here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kind {
    /// The command and its fixed arguments.
    pub command: Vec<String>,
    /// More arguments, always given.
    pub args: Vec<String>,
    /// Arguments that let it run every command unasked; empty when it has none.
    pub allow_all_args: Vec<String>,
    /// The models it takes; a launch may name one of these only.
    pub models: Vec<String>,
    /// Arguments that choose a model, with `{}` for its name.
    pub model_args: Vec<String>,
    /// The efforts it takes.
    pub efforts: Vec<String>,
    /// Arguments that choose an effort, with `{}` for its name.
    pub effort_args: Vec<String>,
    /// Variables of the caller's environment that it gets beyond those every agent gets.
    pub environment: Vec<EnvPattern>,
    /// A pattern of its screen while it waits at its prompt.
    pub ready: Option<String>,
    /// The line typed when a task waits and it does not work.
    pub nudge: Option<String>,
    /// The line typed before a task that asks for a fresh context.
    pub clear: Option<String>,
    /// The file of a repository that says which tools it has.
    pub project_file: Option<ProjectFile>,
}

/// A row of the table of built-in kinds: name, models' flag, effort's flag, flag that allows all, variables, project file
/// with the key of its servers.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    Option<(&'static str, &'static str)>,
);

/// Facts of each product's own command line. Models and efforts are listed in the configuration: they change too often
/// to be built in.
const BUILT_IN: &[Row] = &[
    (
        "claude",
        &["--model", "{}"],
        &["--effort", "{}"],
        &["--dangerously-skip-permissions"],
        &["ANTHROPIC_*", "CLAUDE_*", "AWS_*", "GOOGLE_*", "IS_SANDBOX", "DISABLE_*"],
        Some((".mcp.json", "mcpServers")),
    ),
    (
        "codex",
        &["--model", "{}"],
        &["--config", "model_reasoning_effort={}"],
        &["--dangerously-bypass-approvals-and-sandbox"],
        &["OPENAI_*", "CODEX_*", "AZURE_*"],
        None,
    ),
    ("gemini", &["--model", "{}"], &[], &["--yolo"], &["GEMINI_*", "GOOGLE_*"], Some((".gemini/settings.json", "mcpServers"))),
    (
        "opencode",
        &["--model", "{}"],
        &[],
        &[],
        &["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*"],
        Some(("opencode.json", "mcp")),
    ),
    (
        "qwen",
        &["--model", "{}"],
        &[],
        &["--yolo"],
        &["QWEN_*", "DASHSCOPE_*", "OPENAI_*", "GEMINI_*"],
        Some((".qwen/settings.json", "mcpServers")),
    ),
];

/// The kinds every node knows; a configuration adds to them and changes them.
pub fn built_in_kinds() -> BTreeMap<String, Kind> {
    BUILT_IN.iter().map(built_in).collect()
}

fn built_in((name, model, effort, allow_all, environment, file): &Row) -> (String, Kind) {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let kind = Kind {
        command: vec![(*name).to_owned()],
        model_args: owned(model),
        effort_args: owned(effort),
        allow_all_args: owned(allow_all),
        environment: environment.iter().filter_map(|pattern| EnvPattern::parse(pattern).ok()).collect(),
        project_file: file.map(|(path, key)| ProjectFile { path: path.to_owned(), key_path: vec![key.to_owned(), "frith".to_owned()] }),
        ..Kind::default()
    };
    ((*name).to_owned(), kind)
}

impl Kind {
    /// The whole command line of a launch; `{}` in an option's arguments stands for what was chosen.
    pub fn command_line(&self, model: Option<&str>, effort: Option<&str>, allow_all: bool) -> Vec<String> {
        let fill = |args: &[String], value: &str| args.iter().map(|arg| arg.replace("{}", value)).collect::<Vec<_>>();
        let mut line = [self.command.as_slice(), self.args.as_slice()].concat();
        line.extend(model.map(|model| fill(&self.model_args, model)).unwrap_or_default());
        line.extend(effort.map(|effort| fill(&self.effort_args, effort)).unwrap_or_default());
        if allow_all {
            line.extend(self.allow_all_args.iter().cloned());
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kind_has_a_command_and_all_its_patterns_are_good() {
        let kinds = built_in_kinds();
        for (name, _, _, _, environment, _) in BUILT_IN {
            assert_eq!(kinds[*name].command, [*name]);
            assert_eq!(kinds[*name].environment.len(), environment.len(), "{name}");
        }
    }

    #[test]
    fn options_are_filled_into_the_command_line() {
        let mut kind = built_in_kinds()["codex"].clone();
        kind.args = vec!["--search".into()];
        let line = kind.command_line(Some("m"), Some("high"), true);
        assert_eq!(
            line,
            ["codex", "--search", "--model", "m", "--config", "model_reasoning_effort=high", "--dangerously-bypass-approvals-and-sandbox"]
        );
        assert_eq!(kind.command_line(None, None, false), ["codex", "--search"]);
    }
}
