//! Every refusal about worktrees, as a person meets it: the fact, the hint, the exit code.

use std::{collections::BTreeSet, fs, path::Path};

use frith_tests::{Host, Run, Sandbox};

use crate::support::{added, cloned, committed, made, transcript, worktree};

/// Refusals that the other tests here show, or that nothing brings about while a test looks.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Disabled", "odd: switched off"),
    ("BadRoot", "adding: a55"),
    ("OriginAway", "adding: a71"),
    ("SeveralMatch", "removing: a36"),
    ("DefaultBranch", "removing: a20"),
    ("StandsIn", "removing: a65"),
    ("DetachedUnmerged", "gc: a04"),
    ("OtherOwner", "taking_over: a70"),
    ("Pending", "hosts: a claim that waits"),
    ("InUse", "removing: the number of a process is in it"),
    ("NoTask", "taking_over: a32"),
    ("NotOfRepository", "gc: caches"),
    ("Changed", "a worktree that changes between the look and the act; the tests of folders have it"),
    ("Failed", "odd: a43; git, or the disk, does not do it"),
];

fn refused(sandbox: &Sandbox, folder: &Path, line: &[&str]) -> (Run, String) {
    let run = worktree(sandbox, folder, line.iter().copied()).ends_with(1);
    let told = worktree(sandbox, folder, line.iter().copied().chain(["--json"])).ends_with(1);
    let told: serde_json::Value = serde_json::from_str(told.stderr.lines().last().unwrap()).unwrap();
    let code = told["error"]["code"].as_str().unwrap();
    (run, code.strip_prefix("worktree").unwrap_or_else(|| panic!("`{code}` is about something else")).to_owned())
}

fn every_refusal() -> BTreeSet<String> {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/refusal/worktree.rs")).unwrap();
    let body = source.split("pub enum WorktreeRefusal {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let indented = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = indented.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    variants.map(|line| line.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

#[test]
fn every_refusal_says_what_stands_in_the_way_and_what_would_help() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let outside = sandbox.folder("outside");
    let empty = sandbox.root().join("empty");
    fs::create_dir(&empty).unwrap();
    sandbox.git(&empty, &["init", "--quiet", "--initial-branch", "main"]);
    let headless = sandbox.repo("headless");
    sandbox.git(&headless, &["switch", "--quiet", "-c", "trunk"]);
    sandbox.git(&headless, &["branch", "--quiet", "-D", "main"]);
    sandbox.git(&headless, &["remote", "add", "origin", "/no/such/origin"]);
    let free = made(&sandbox, &repo, "free");
    let unmerged = added(&sandbox, &repo, "unmerged");
    let _ = committed(&sandbox, &unmerged, "work");
    fs::write(added(&sandbox, &repo, "dirty").join("new"), "no commit has it\n").unwrap();
    let rebased = added(&sandbox, &repo, "rebased");
    let _ = committed(&sandbox, &rebased, "work");
    let _ = sandbox.shell("GIT_SEQUENCE_EDITOR='sed -i.bak s/^pick/edit/' git rebase --quiet -i HEAD~1", &rebased).run().ok();
    fs::remove_dir_all(added(&sandbox, &repo, "gone")).unwrap();
    let locked = made(&sandbox, &repo, "locked");
    sandbox.git(&repo, &["worktree", "lock", "--reason", "hands off", locked.to_str().unwrap()]);
    let _ = added(&sandbox, &repo, "held");
    fs::create_dir_all(sandbox.home().join("worktrees/app-there")).unwrap();
    sandbox.git(&repo, &["branch", "taken", "main"]);
    // Last: the next worktree that is made would have git mend it.
    fs::write(added(&sandbox, &repo, "broken").join(".git"), "gitdir: /no/such/folder\n").unwrap();
    let free = free.to_str().unwrap();
    let lines: &[(&Path, &[&str])] = &[
        (&outside, &["list"]),
        (&repo, &["add", "t1"]),
        (&repo, &["add", "--owner", "ada", "not a task"]),
        (&repo, &["add", "--owner", "ada", "a..b"]),
        (&repo, &["add", "--owner", "a | b", "t1"]),
        (&repo, &["add", "--owner", "ada", "there"]),
        (&repo, &["add", "--owner", "ada", "taken"]),
        (&repo, &["add", "--owner", "ada", "t1", "--base", "nothing-is-called-so"]),
        (&empty, &["add", "--owner", "ada", "t1"]),
        (&headless, &["add", "--owner", "ada", "t1"]),
        (&repo, &["adopt"]),
        (&repo, &["adopt", free]),
        (&repo, &["claim", free]),
        (&repo, &["claim", locked.to_str().unwrap(), "--owner", "ada"]),
        (&repo, &["remove", "no-such-task", "--owner", "ada"]),
        (&repo, &["remove", "held"]),
        (&repo, &["remove", "unmerged", "--owner", "ada"]),
        (&repo, &["remove", "dirty", "--owner", "ada"]),
        (&repo, &["remove", "rebased", "--owner", "ada"]),
        (&repo, &["remove", "gone", "--owner", "ada"]),
        (&repo, &["remove", "broken", "--owner", "ada"]),
    ];
    let (runs, codes): (Vec<_>, BTreeSet<_>) = lines.iter().map(|(folder, line)| refused(&sandbox, folder, line)).unzip();
    insta::assert_snapshot!(transcript(&sandbox, &runs));
    let known: BTreeSet<_> = codes.into_iter().chain(ELSEWHERE.iter().map(|(name, _)| (*name).to_owned())).collect();
    let unseen: Vec<_> = every_refusal().difference(&known).cloned().collect();
    assert!(unseen.is_empty(), "no command is refused so: {unseen:?}");
    assert!(ELSEWHERE.iter().all(|(name, _)| every_refusal().contains(*name)));
}

/// What a program is told has the refusal's own fields, as for every other refusal.
#[test]
fn as_json_a_refusal_has_what_stands_in_the_way_as_data() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    fs::write(tree.join("new"), "no commit has it\n").unwrap();
    let told = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada", "--json"]).ends_with(1);
    let told: serde_json::Value = serde_json::from_str(told.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((told["error"]["code"].as_str(), told["error"]["data"]["changes"].as_u64()), (Some("worktreeDirty"), Some(1)));
}

/// From an agent's shell a name that is claimed counts for nothing, also when something is to go.
#[test]
fn an_agent_speaks_for_nobody_else() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let refused = claude.frith(["worktree", "remove", "t1", "--owner", "ada"]).ends_with(1);
    assert!(tree.exists() && refused.stderr.contains("is claimed by ada"), "{}", refused.transcript());
}
