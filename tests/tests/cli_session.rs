//! The session that the README shows: run as it stands there, and compared line by line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{collections::BTreeMap, fs, path::Path};

use frith_tests::{Host, Run, Sandbox, redact::Redactor};

/// What detaches a viewer: control and backslash, then `d`.
const DETACH: &str = "\x1cd";

/// A command of the README and what it says there.
struct Shown {
    /// In which host's shell; empty for a person's.
    at: String,
    command: String,
    output: String,
}

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap()
}

/// The commands of every `console` block below a heading.
fn session(readme: &str, heading: &str) -> Vec<Shown> {
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("README has no `{heading}`"));
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap());
    let mut shown: Vec<Shown> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        let prompt = line.split_once("$ ").filter(|(at, _)| at.chars().all(|c| c.is_ascii_lowercase()));
        match (prompt, shown.last_mut()) {
            (Some((at, command)), _) => shown.push(Shown { at: at.to_owned(), command: command.to_owned(), output: String::new() }),
            (None, Some(last)) => last.output.push_str(&format!("{line}\n")),
            (None, None) => panic!("output before any command: {line}"),
        }
    }
    shown
}

/// Ids as the README shows them, and as they are in this run.
#[derive(Default)]
struct Ids(BTreeMap<String, String>);

impl Ids {
    /// Learns from two texts that differ in ids only.
    fn learn(&mut self, shown: &str, real: &str) {
        self.0.extend(ids_in(shown).into_iter().zip(ids_in(real)));
    }

    fn real(&self, command: &str) -> String {
        // A whole id begins with its short one, so the longer goes first.
        let mut ids: Vec<_> = self.0.iter().collect();
        ids.sort_by_key(|(shown, _)| std::cmp::Reverse(shown.len()));
        ids.iter().fold(command.to_owned(), |text, (shown, real)| text.replace(*shown, real))
    }
}

/// Whole ids and short ones, in order.
fn ids_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || ('a'..='f').contains(&c) || c == '-'));
    let ids = words.map(|word| word.trim_start_matches("f-").trim_matches('-')).filter(|word| word.len() == 8 || word.len() == 36);
    ids.map(str::to_owned).collect()
}

/// What stays on a terminal of a run: progress is gone when the answer comes.
fn seen(run: &Run) -> String {
    let kept = |line: &&str| ["error: ", "hint: ", "  because: "].iter().any(|start| line.starts_with(start));
    let told = run.stderr.lines().filter(kept).map(|line| format!("{line}\n"));
    told.chain([run.stdout.clone()]).collect()
}

fn play(sandbox: &Sandbox, heading: &str, hosts: &mut [Host<'_>]) {
    let mut folder = sandbox.root().to_path_buf();
    let mut ids = Ids::default();
    let (mut expected, mut real) = (Redactor::default(), Redactor::default());
    real.path(&sandbox.root().to_string_lossy(), "~");
    real.machine(&rustix::system::uname().nodename().to_string_lossy());
    expected.machine("oak");
    for shown in session(&readme(), heading) {
        let command = ids.real(&shown.command);
        if let Some(to) = command.strip_prefix("cd ") {
            folder = folder.join(to);
        } else if command.contains("agents attach") {
            watch(sandbox, &folder, &command, &shown.output, &ids);
        } else {
            let run = match hosts.iter_mut().find(|host| host.name() == shown.at) {
                Some(host) => host.shell(&command),
                None => sandbox.shell(&command, &folder).run(),
            };
            ids.learn(&shown.output, &seen(&run));
            // The unit of a size depends on the blocks of the disk.
            let plain = |text: String| text.replace("[N] KiB", "[N] B");
            let (wanted, got) = (plain(expected.redact(&shown.output)), plain(real.redact(&seen(&run))));
            assert_eq!(got.trim_end(), wanted.trim_end(), "README shows something else of `{}`", shown.command);
        }
    }
}

/// Waits for each line on the screen, then detaches. What the README leaves out of a line it shows as three dots.
fn watch(sandbox: &Sandbox, folder: &Path, command: &str, output: &str, ids: &Ids) {
    let words: Vec<_> = command.split(' ').skip(1).collect();
    let mut viewer = sandbox.view_in(words, folder);
    let output = ids.real(output).replace("~/", &format!("{}/", sandbox.root().display()));
    for part in output.lines().flat_map(|line| line.split('…')) {
        viewer.wait_for_wrapped(part);
    }
    viewer.type_in(DETACH);
    assert_eq!(viewer.end(), 0, "{command}");
}

#[test]
fn the_readme_shows_a_session_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.repo("app");
    play(&sandbox, "A session", &mut []);
}

#[test]
fn the_readme_shows_two_agents_that_talk() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut hosts = ["claude", "codex"].map(|host| Host::begun(&sandbox, host, &repo));
    play(&sandbox, "Two agents that talk", &mut hosts);
}

#[test]
fn the_readme_shows_a_worktree_for_a_task() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let mut hosts = [Host::begun(&sandbox, "claude", &repo)];
    play(&sandbox, "A worktree for a task", &mut hosts);
}
