//! What every command has in common: help, JSON, quiet, colour, exit codes, completions, man pages, configuration.

use std::{collections::BTreeSet, fs, path::Path};

use frith_tests::{Sandbox, tidy::Tree};

#[test]
fn help_shows_every_command() {
    let sandbox = Sandbox::new();
    let nouns = [[].as_slice(), &["workspace"], &["fork"], &["task"], &["agents"], &["config"]];
    let runs: Vec<_> = nouns.iter().map(|noun| sandbox.frith(noun.iter().chain(&["--help"])).ok()).collect();
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert!(sandbox.nodes().is_empty(), "help needs no node");
}

#[test]
fn json_is_camel_case_with_lists_under_their_plural() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    sandbox.task("app", "one");
    let task = sandbox.frith(["task", "list", "-w", "app", "--json"]).ok();
    let agents = sandbox.frith(["agents", "sessions", "--json"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&task, &agents]));
    assert!(sandbox.show_place("app")["forkOfId"].is_null(), "asked, and there is none");
    let refused = sandbox.frith(["task", "show", "00000000", "--json"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&refused]));
}

#[test]
fn quiet_is_the_whole_id_alone() {
    let sandbox = Sandbox::new();
    let run = sandbox.frith(["workspace", "create", "app", "--quiet"]).ok();
    assert_eq!((run.stdout.trim_end().len(), run.stderr.as_str()), (36, ""));
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let sandbox = Sandbox::new();
    let colored = |args: &[&str]| sandbox.frith(args).stderr.contains('\u{1b}');
    assert!(!colored(&["task", "show", "00000000"]));
    assert!(colored(&["--color", "always", "task", "show", "00000000"]));
}

#[test]
fn a_command_line_that_is_wrong_exits_with_2_and_names_the_nearest() {
    let sandbox = Sandbox::new();
    let runs = [["taks"].as_slice(), &["task", "lst"], &["task", "add"], &["task", "list", "--stats"]]
        .map(|args| sandbox.frith(args).ends_with(2));
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

/// Another process has the home and does not listen: what a node is between its lock and its socket, for too long.
#[test]
fn a_node_that_cannot_be_reached_exits_with_3() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    sandbox.kill_node();
    let lock = fs::File::open(sandbox.home().join("node.lock")).unwrap();
    lock.try_lock().unwrap();
    let run = sandbox.frith(["workspace", "list"]).ends_with(3);
    insta::assert_snapshot!(sandbox.transcript([&run]));
    drop(lock);
    let _ = sandbox.frith(["workspace", "list"]).ok();
}

#[test]
fn completions_and_man_pages_are_written() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = sandbox.frith(["completions", shell]).ok();
        assert!(run.stdout.contains("spin-up"), "{shell}");
    }
    let run = sandbox.frith(["man", "fork", "spin-up"]).ok();
    assert!(run.stdout.contains(".TH") && run.stdout.contains("\\-\\-kind"), "{}", run.stdout);
    let _ = sandbox.frith(["man", "--dir", "man1"]).ok();
    assert!(sandbox.root().join("man1/frith-task-next.1").is_file());
}

#[test]
fn configuration_says_where_it_comes_from_and_what_is_wrong_with_it() {
    let sandbox = Sandbox::new();
    sandbox.config("[node]\nmax_agent = 3\n");
    let unknown = sandbox.frith(["config", "show"]).ok();
    sandbox.config("[node]\nmax_agents = \"many\"\n");
    let bad = sandbox.frith(["config", "show"]);
    sandbox.config("[node]\nmax_agents = 3\n");
    let runs = [
        ["config", "show", "--sources"].as_slice(),
        &["config", "get", "node.max_agents"],
        &["config", "set", "node.max_agents", "5"],
        &["config", "get", "node.max_agents"],
        &["config", "set", "node.max_agents", "many"],
        &["config", "get", "node.nosuch"],
        &["config", "path"],
    ]
    .map(|args| sandbox.frith(args));
    insta::assert_snapshot!(sandbox.transcript([&unknown, &bad].into_iter().chain(&runs)));
    assert_eq!(bad.code, 2);
}

#[test]
fn a_repositorys_file_sets_only_what_is_harmless() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    fs::write(repo.join(".frith.toml"), "[git]\nlfs = \"skip\"\n[launch.claude]\ncommand = [\"evil\"]\n").unwrap();
    let run = sandbox.call(["config", "show", "--sources"]).dir(&repo).run().ok();
    assert!(run.stderr.contains("launch") && !run.stdout.contains("evil"), "{}", run.transcript());
}

#[test]
fn doctor_says_what_is_wrong_and_what_mends_it() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let well = sandbox.frith(["doctor"]);
    insta::assert_snapshot!(sandbox.transcript([&well]));
}

/// The commands that hints, messages and documents name, as `noun verb`.
fn promised_commands() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace");
    let tree = Tree::read(root).expect("the sources can be read");
    let rust = tree.rust().filter(|file| !file.is_below("tests")).map(|file| file.product.with_strings.as_str());
    let pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].iter().filter_map(|page| tree.file(page)).map(|file| file.text.as_str());
    rust.chain(pages).flat_map(|text| text.split("`frith ").skip(1)).filter_map(noun_and_verb).collect()
}

fn noun_and_verb(text: &str) -> Option<String> {
    let mut words = text.split(['`', ' ', '\n', '|', ':', '"']);
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.is_empty() && !word.starts_with('-');
    let noun = words.next().filter(is_word)?;
    let has_verbs = ["workspace", "fork", "task", "agents", "config"].contains(&noun);
    let verb = words.next().filter(is_word).filter(|_| has_verbs);
    Some(verb.map_or_else(|| noun.to_owned(), |verb| format!("{noun} {verb}")))
}

#[test]
fn every_command_that_a_hint_or_a_page_names_is_there() {
    let sandbox = Sandbox::new();
    let promised = promised_commands();
    assert!(promised.len() > 15, "{promised:?}");
    let is_there = |command: &String| sandbox.frith(command.split(' ').chain(["--help"])).code == 0;
    let missing: Vec<_> = promised.iter().filter(|command| !is_there(command)).collect();
    assert!(missing.is_empty(), "no such commands: {missing:?}");
}
