//! Taking worktrees over: those of hosts and those that are named, by agents and by people.

use frith_tests::{Host, Sandbox};

use crate::support::{added, cloned, lock_of, made, path_of, row, transcript, worktree};

#[test]
fn a_worktree_is_claimed_by_name_and_again_changes_nothing() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = made(&sandbox, &repo, "t1-login");
    let below = tree.join("src");
    let claim = |task: &[&str]| {
        let args = ["claim", below.to_str().unwrap(), "--owner", "ada"].into_iter().chain(task.iter().copied());
        worktree(&sandbox, &repo, args).ok()
    };
    let first = claim(&[]);
    assert_eq!(path_of(&first), tree);
    let words = lock_of(&sandbox, &repo, &tree).unwrap();
    assert!(words.starts_with("ada | t1 | "), "{words}");
    let again = claim(&[]);
    assert_eq!(lock_of(&sandbox, &repo, &tree).as_deref(), Some(&words[..]));
    let other = claim(&["--task", "t9"]);
    assert!(lock_of(&sandbox, &repo, &tree).unwrap().starts_with("ada | t9 | "));
    let stranger = worktree(&sandbox, &repo, ["claim", tree.to_str().unwrap(), "--owner", "bo"]).ends_with(1);
    let found = worktree(&sandbox, &repo, ["remove", "t9", "--owner", "ada"]).ok();
    insta::assert_snapshot!(transcript(&sandbox, [&first, &again, &other, &stranger, &found]));
}

/// What git locked by hand says nothing that frith understands, and holds against everyone.
#[test]
fn a_lock_with_other_words_is_nobodys_to_take() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = made(&sandbox, &repo, "t1");
    sandbox.git(&repo, &["worktree", "lock", "--reason", "mine, hands off", tree.to_str().unwrap()]);
    let claim = worktree(&sandbox, &repo, ["claim", tree.to_str().unwrap(), "--owner", "ada"]).ends_with(1);
    let remove = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    assert_eq!(lock_of(&sandbox, &repo, &tree).as_deref(), Some("mine, hands off"));
    assert!(row(&sandbox, &repo, "t1")["owner"].is_null());
    insta::assert_snapshot!(transcript(&sandbox, [&claim, &remove]));
}

/// One worktree has one agent. Another that comes later is told whose it is, and whom to ask.
#[test]
fn a70_of_two_agents_one_has_the_worktree_and_the_other_takes_nothing_away() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = made(&sandbox, &repo, "t1");
    let mut claude = Host::begun(&sandbox, "claude", &tree);
    let mut codex = Host::begun(&sandbox, "codex", &tree);
    let _ = sandbox.redact(&claude.id());
    let first = claude.frith(["worktree", "adopt"]).ok();
    let second = codex.frith(["worktree", "adopt"]).ends_with(1);
    codex.folder = repo.clone();
    let removal = codex.frith(["worktree", "remove", "t1"]).ends_with(1);
    let _ = codex.end_session().ok();
    assert!(tree.exists() && lock_of(&sandbox, &repo, &tree).is_some());
    insta::assert_snapshot!(transcript(&sandbox, [&first, &second, &removal]));
}

/// On no branch nothing tells the task, so it has to be said; from then on it is known by its path and by that task.
#[test]
fn a32_a_worktree_on_no_branch_is_taken_over_listed_and_removed() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = sandbox.root().join("trees/d1");
    sandbox.git(&repo, &["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap(), "origin/main"]);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let silent = claude.frith(["worktree", "adopt", tree.to_str().unwrap()]).ends_with(1);
    let named = claude.frith(["worktree", "adopt", tree.to_str().unwrap(), "--task", "t1"]).ok();
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    let removed = claude.frith(["worktree", "remove", tree.to_str().unwrap()]).ok();
    assert!(!tree.exists());
    insta::assert_snapshot!(transcript(&sandbox, [&silent, &named, &listed, &removed]));
}

/// A claim is on the worktree, not on its branch's name; and a task that is asked for again starts at what the base is then.
#[test]
fn a22_a_renamed_branch_keeps_its_owner_and_a_task_that_comes_again_starts_anew() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = crate::support::finished(&sandbox, &repo, "t1");
    sandbox.git(&tree, &["branch", "-m", "renamed"]);
    let shown = row(&sandbox, &repo, "app-t1");
    assert_eq!((shown["owner"].as_str(), shown["task"].as_str(), shown["state"].as_str()), (Some("ada"), Some("t1"), Some("finished")));
    let removed = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    assert!(removed.stdout.contains("branch renamed is deleted: merged (same files)"), "{}", removed.transcript());
    let again = added(&sandbox, &repo, "t1");
    assert_eq!(sandbox.git(&again, &["rev-parse", "HEAD"]), sandbox.git(&repo, &["rev-parse", "origin/main"]));
}
