//! Sweeping: each line of the list by which a worktree goes or stays, and build caches.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use frith_tests::{Host, Run, Sandbox};

use crate::support::{added, cloned, committed, finished, has_branch, made, path_of, push, squashed, transcript, worktree};

/// What a sweep decides of a worktree, by the last name of its path.
fn decided(run: &Run, name: &str) -> serde_json::Value {
    let rows = run.json()["worktrees"].as_array().cloned().unwrap_or_default();
    let is_it = |row: &serde_json::Value| Path::new(row["path"].as_str().unwrap_or_default()).ends_with(name);
    rows.into_iter().find(is_it).unwrap_or_else(|| panic!("no `{name}` in\n{}", run.transcript()))["decision"].clone()
}

fn keep(why: &str) -> serde_json::Value {
    serde_json::json!({ "keep": why })
}

fn remove(why: &str) -> serde_json::Value {
    serde_json::json!({ "remove": why })
}

/// Worktrees of which each is decided by another line.
fn one_for_each_line(sandbox: &Sandbox, repo: &Path) -> PathBuf {
    let current = added(sandbox, repo, "current");
    let pending = sandbox.root().join(".cursor/worktrees/app/pending");
    sandbox.git(repo, &["worktree", "add", "--quiet", "--no-track", "-b", "pending", pending.to_str().unwrap(), "origin/main"]);
    assert_eq!(worktree(sandbox, &pending, ["adopt", "--json"]).ok().json()["pending"], true);
    let _ = finished(sandbox, repo, "finished");
    let _ = added(sandbox, repo, "locked");
    let gone = made(sandbox, repo, "gone");
    fs::remove_dir_all(gone).unwrap();
    let away = added(sandbox, repo, "away");
    fs::remove_dir_all(away).unwrap();
    fs::write(made(sandbox, repo, "dirty").join("new"), "no commit has it\n").unwrap();
    let _ = committed(sandbox, &made(sandbox, repo, "unmerged"), "work");
    let _ = made(sandbox, repo, "broken");
    let _ = made(sandbox, repo, "unused");
    current
}

#[test]
fn every_line_decides_in_its_turn_and_each_row_says_why() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let current = one_for_each_line(&sandbox, &repo);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let _ = claude.frith(["worktree", "add", "live"]).ok();
    let mut sleeper = Command::new("sleep").arg("600").current_dir(made(&sandbox, &repo, "busy")).spawn().unwrap();
    // Last: the next worktree that is made would have git mend it.
    fs::write(sandbox.root().join("trees/broken/.git"), "gitdir: /no/such/folder\n").unwrap();
    let sweep = |args: &[&'static str]| worktree(&sandbox, &current, ["gc"].into_iter().chain(args.iter().copied())).ok();
    let at_once = sweep(&["--idle", "0s", "--json"]);
    let a_day = sweep(&["--json"]);
    let expected = [
        ("app", keep("main"), keep("main")),
        ("app-current", keep("current"), keep("current")),
        ("pending", keep("pending"), keep("pending")),
        ("app-finished", remove("finished"), keep("finishedLately")),
        ("app-live", keep("liveAgent"), keep("liveAgent")),
        ("app-locked", keep("foreignLock"), keep("foreignLock")),
        ("gone", serde_json::json!("forget"), serde_json::json!("forget")),
        ("app-away", keep("goneButLocked"), keep("goneButLocked")),
        ("dirty", keep("dirty"), keep("dirty")),
        ("unmerged", keep("unmerged"), keep("unmerged")),
        ("broken", keep("broken"), keep("broken")),
        ("unused", remove("unused"), keep("usedLately")),
        ("busy", keep("inUse"), keep("usedLately")),
    ];
    for (name, at_once_is, a_day_is) in expected {
        assert_eq!((decided(&at_once, name), decided(&a_day, name)), (at_once_is, a_day_is), "{name}");
    }
    let abandoned = sweep(&["--idle", "0s", "--stale-lock", "0s", "--json"]);
    assert_eq!(decided(&abandoned, "app-locked"), remove("abandoned"));
    let dry = sweep(&["--idle", "0s"]);
    assert!(has_branch(&sandbox, &repo, "finished") && has_branch(&sandbox, &repo, "unused"), "nothing goes without a yes");
    let done = sweep(&["--idle", "0s", "--yes"]);
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
    let left = worktree(&sandbox, &repo, ["list"]).ok();
    assert!(!has_branch(&sandbox, &repo, "finished") && has_branch(&sandbox, &repo, "gone"));
    insta::assert_snapshot!(transcript(&sandbox, [&dry, &done, &left]));
}

/// However old it is.
#[test]
fn a04_age_takes_neither_what_is_dirty_nor_a_commit_that_nothing_else_reaches() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let dirty = made(&sandbox, &repo, "dirty");
    fs::write(dirty.join("README"), "changed\n").unwrap();
    let detached = made(&sandbox, &repo, "detached");
    sandbox.git(&detached, &["switch", "--quiet", "--detach"]);
    let tip = committed(&sandbox, &detached, "work");
    for tree in [&dirty, &detached] {
        let _ = sandbox.shell("find . -exec touch -h -t 202001010000 {} +", tree).run().ok();
    }
    let swept = worktree(&sandbox, &repo, ["gc", "--yes"]).ok();
    assert_eq!(sandbox.git(&detached, &["rev-parse", "HEAD"]), tip);
    assert!(dirty.exists());
    let refused = [
        worktree(&sandbox, &repo, ["remove", dirty.to_str().unwrap(), "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, &repo, ["remove", detached.to_str().unwrap(), "--owner", "ada"]).ends_with(1),
    ];
    insta::assert_snapshot!(transcript(&sandbox, [&swept].into_iter().chain(&refused)));
}

/// A branch without a commit of its own is in the base at every moment, and is no finished work.
#[test]
fn a12_a_fresh_branch_is_never_finished_also_when_the_base_moved_on() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let (clean, edited) = (added(&sandbox, &repo, "t1"), added(&sandbox, &repo, "t3"));
    fs::write(edited.join("README"), "an app that is being written\n").unwrap();
    let _ = committed(&sandbox, &repo, "meanwhile");
    push(&sandbox, &repo);
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s"]).ok();
    assert!(clean.exists() && fs::read_to_string(edited.join("README")).unwrap().contains("being written"));
    insta::assert_snapshot!(transcript(&sandbox, [&listed, &swept]));
}

/// Locks of agents that were killed hold as those of anybody, until they are old and nothing would be lost.
#[test]
fn a53_what_killed_agents_left_goes_once_its_locks_are_old() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut agents: Vec<_> = (0..4).map(|_| Host::begun(&sandbox, "codex", &repo)).collect();
    let trees: Vec<_> =
        agents.iter_mut().enumerate().map(|(n, one)| path_of(&one.frith(["worktree", "add", &format!("t{n}")]).ok())).collect();
    let _ = committed(&sandbox, &trees[0], "work");
    let ids: Vec<_> = agents.iter_mut().map(Host::id).collect();
    agents.into_iter().for_each(Host::kill);
    ids.iter().for_each(|id| sandbox.wait_for_presence(id, "ended"));
    let soon = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s"]).ok();
    assert!(trees.iter().all(|tree| tree.exists()), "{}", soon.transcript());
    let later = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s"]).ok();
    assert_eq!(trees.iter().map(|tree| tree.exists()).collect::<Vec<_>>(), [true, false, false, false], "{}", later.transcript());
    insta::assert_snapshot!(transcript(&sandbox, [&soon, &later]));
}

/// One that cannot go stops none of the others, and the code says that not all is well.
#[test]
fn what_fails_for_one_is_told_and_the_others_go() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = finished(&sandbox, &repo, "t1");
    let stubborn = added(&sandbox, &repo, "t2");
    let _ = committed(&sandbox, &stubborn, "t2");
    squashed(&sandbox, &repo, "t2");
    // While git's own lock of its branches is there, no branch goes.
    fs::write(repo.join(".git/refs/heads/t2.lock"), "").unwrap();
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--json"]);
    let rows = swept.json()["worktrees"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| rows.iter().find(|row| row["task"] == name).cloned().unwrap_or_default();
    assert_eq!(of("t1")["removed"]["branchDeleted"], true, "{}", swept.transcript());
    let (fault, kept) = (of("t2")["fault"].clone(), of("t2")["removed"]["branchFault"].clone());
    assert!(fault.is_string() || kept.is_string(), "{}", swept.transcript());
    assert_eq!(swept.code, i32::from(fault.is_string()), "{}", swept.transcript());
    assert!(has_branch(&sandbox, &repo, "t2"));
}

/// A cache is a folder whose program says so; everything else in a worktree stays.
#[test]
fn caches_that_nobody_used_for_a_while_are_deleted_and_nothing_else() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = added(&sandbox, &repo, "t1");
    fs::write(repo.join(".git/info/exclude"), "target\nbuild\n").unwrap();
    let tagged = tree.join("target");
    for folder in [&tagged, &tree.join("build")] {
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/object"), [0; 4096]).unwrap();
    }
    fs::write(tagged.join("CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
    let none = worktree(&sandbox, &tree, ["clean"]).ok();
    let lately = worktree(&sandbox, &repo, ["clean", "--yes"]).ok();
    assert!(tagged.exists());
    let dry = worktree(&sandbox, &repo, ["clean", "--idle", "0s"]).ok();
    assert!(tagged.exists());
    let done = worktree(&sandbox, &repo, ["clean", tree.to_str().unwrap(), "--idle", "0s", "--yes"]).ok();
    assert!(!tagged.exists() && tree.join("build/deep/object").exists() && tree.join("README").exists());
    let elsewhere = worktree(&sandbox, &repo, ["clean", "/", "--yes"]).ends_with(1);
    insta::assert_snapshot!(transcript(&sandbox, [&none, &lately, &dry, &done, &elsewhere]));
}
