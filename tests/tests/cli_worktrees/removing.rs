//! Removing worktrees: what is there at that moment decides, and nothing that is in no commit is ever lost.

use std::{fs, process::Command};

use frith_tests::{Host, Sandbox};

use crate::support::{added, cloned, committed, finished, has_branch, made, push, transcript, worktree};

/// What was seen of an earlier worktree of the same name, or before a node's restart, counts for nothing.
#[test]
fn a01_what_is_in_a_worktree_is_looked_at_when_it_is_to_go() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = added(&sandbox, &repo, "t1");
    let _ = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    let tree = added(&sandbox, &repo, "t1");
    let _ = worktree(&sandbox, &repo, ["list"]).ok();
    (0..5).for_each(|n| drop(committed(&sandbox, &tree, &format!("work-{n}"))));
    let refused = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    sandbox.kill_node();
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s", "--owner", "ada"]).ok();
    assert!(tree.join("work-4").exists() && has_branch(&sandbox, &repo, "t1"));
    let kept = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada", "--keep-branch"]).ok();
    assert!(!tree.exists() && has_branch(&sandbox, &repo, "t1"));
    insta::assert_snapshot!(transcript(&sandbox, [&refused, &swept, &kept]));
}

/// The commit that is named brings the work back.
#[test]
fn a_merged_branch_goes_with_its_worktree_and_can_be_brought_back() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = finished(&sandbox, &repo, "t1");
    let tip = sandbox.git(&tree, &["rev-parse", "HEAD"]);
    let removed = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    let back = removed.stdout.lines().find_map(|line| line.strip_prefix("bring it back: ")).unwrap();
    let _ = sandbox.shell(back, &repo).run().ok();
    assert_eq!(sandbox.git(&repo, &["rev-parse", "t1"]), tip);
    let json = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada", "--json"]).ends_with(1);
    assert!(json.stderr.contains("\"code\":\"worktreeNoMatch\""), "{}", json.stderr);
    insta::assert_snapshot!(transcript(&sandbox, [&removed]));
}

/// Others' worktrees go when all is merged and nothing is lost, whoever asks; before that they do not.
#[test]
fn somebody_elses_worktree_goes_only_when_it_is_finished() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = added(&sandbox, &repo, "t1");
    let _ = finished(&sandbox, &repo, "t2");
    let runs = [
        worktree(&sandbox, &repo, ["remove", "t1", "--owner", "bo"]).ends_with(1),
        worktree(&sandbox, &repo, ["remove", "t1"]).ends_with(1),
        worktree(&sandbox, &repo, ["remove", "t2", "--owner", "bo"]).ok(),
    ];
    insta::assert_snapshot!(transcript(&sandbox, &runs));
}

#[test]
fn a65_nobody_removes_the_folder_under_their_own_feet_and_a_dead_one_is_told_plainly() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    let within = worktree(&sandbox, &tree.join("src"), ["remove", "t1", "--owner", "ada"]).ends_with(1);
    assert!(tree.exists());
    let dead = sandbox.shell("rm -rf ../app-t1; frith worktree list; frith worktree whoami", &tree).run();
    assert!(!tree.exists());
    insta::assert_snapshot!(transcript(&sandbox, [&within, &dead]));
}

/// The default branch is in itself, and no reason to remove what has it checked out.
#[test]
fn a20_the_default_branch_and_the_main_checkout_are_never_removed() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    sandbox.git(&repo, &["switch", "--quiet", "-c", "aside"]);
    let tree = sandbox.root().join("trees/main");
    sandbox.git(&repo, &["worktree", "add", "--quiet", tree.to_str().unwrap(), "main"]);
    let runs = [
        worktree(&sandbox, sandbox.root(), ["remove", tree.to_str().unwrap(), "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, sandbox.root(), ["remove", repo.to_str().unwrap(), "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s"]).ok(),
    ];
    assert!(tree.exists() && repo.exists());
    insta::assert_snapshot!(transcript(&sandbox, &runs));
}

/// Which of two is meant cannot be told, so neither goes.
#[test]
fn a36_a_branch_in_two_worktrees_is_flagged_and_names_neither() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let one = made(&sandbox, &repo, "t1");
    let two = sandbox.root().join("trees/again");
    sandbox.git(&repo, &["worktree", "add", "--quiet", "--force", two.to_str().unwrap(), "t1"]);
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    let refused = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    assert!(one.exists() && two.exists());
    insta::assert_snapshot!(transcript(&sandbox, [&listed, &refused]));
}

/// A disk that is away is no reason to forget what stands on it.
#[test]
fn a13_a_lock_counts_also_while_its_folder_is_away() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    let away = sandbox.root().join("unmounted");
    fs::rename(&tree, &away).unwrap();
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    let removed = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s", "--owner", "ada"]).ok();
    fs::rename(&away, &tree).unwrap();
    assert!(has_branch(&sandbox, &repo, "t1"));
    let back = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    insta::assert_snapshot!(transcript(&sandbox, [&listed, &removed, &swept, &back]));
}

/// A process that works in it is named, by its number and what it is.
#[test]
fn a_worktree_in_which_somebody_works_stays() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    let mut sleeper = Command::new("sleep").arg("600").current_dir(&tree).spawn().unwrap();
    let refused = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    assert!(refused.stderr.contains(&format!("`sleep` ({})", sleeper.id())), "{}", refused.transcript());
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
    let _ = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
}

/// What is compared with is what origin has when it is to go, not what was known of it.
#[test]
fn a_merge_on_origin_that_nobody_fetched_counts() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    let tip = committed(&sandbox, &tree, "work");
    sandbox.git(&tree, &["push", "--quiet", "origin", "t1"]);
    sandbox.git(&crate::support::origin(&sandbox), &["update-ref", "refs/heads/main", &tip]);
    sandbox.git(&repo, &["update-ref", "refs/remotes/origin/main", "main"]);
    let _ = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    assert!(!has_branch(&sandbox, &repo, "t1"));
    assert_eq!(sandbox.git(&repo, &["rev-parse", "origin/main"]), tip);
}

/// An agent that ended left its work behind; its host's next agent may go on with it, and nobody loses it.
#[test]
fn a02_what_an_agent_committed_outlives_it() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let tree = crate::support::path_of(&claude.frith(["worktree", "add", "t1"]).ok());
    let tip = committed(&sandbox, &tree, "work");
    let id = claude.id();
    claude.kill();
    sandbox.wait_for_presence(&id, "ended");
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s"]).ok();
    assert_eq!(sandbox.git(&repo, &["rev-parse", "t1"]), tip);
    push(&sandbox, &repo);
    insta::assert_snapshot!(transcript(&sandbox, [&swept]));
}
