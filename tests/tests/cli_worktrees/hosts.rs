//! Worktrees between hosts: each its own, all in one list, and one that waits goes to exactly one agent.

use std::path::{Path, PathBuf};

use frith_tests::{Host, Run, Sandbox, mcp::Client, wait_for};
use serde_json::json;

use crate::support::{cloned, committed, lock_of, path_of, row, squashed, transcript, worktree};

/// A worktree in cursor's pool, as cursor makes one.
fn of_cursor(sandbox: &Sandbox, repo: &Path, name: &str) -> PathBuf {
    let tree = sandbox.root().join(".cursor/worktrees/app").join(name);
    sandbox.git(repo, &["worktree", "add", "--quiet", "--no-track", "-b", name, tree.to_str().unwrap(), "origin/main"]);
    tree
}

/// What cursor's script runs in a new worktree: nobody in particular.
#[track_caller]
fn script(sandbox: &Sandbox, tree: &Path) -> Run {
    worktree(sandbox, tree, ["adopt"]).ok()
}

#[test]
fn agents_of_two_hosts_have_a_worktree_each_and_talk_about_it() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let made = claude.frith(["worktree", "add", "t1", "parser"]).ok();
    let own = path_of(&made);
    let pool = of_cursor(&sandbox, &repo, "t2-lexer");
    let mut cursor = Host::begun(&sandbox, "cursor", &repo);
    let adopted = cursor.frith(["worktree", "adopt", pool.to_str().unwrap()]).ok();
    assert_eq!(path_of(&adopted), pool);
    assert_eq!(lock_of(&sandbox, &repo, &pool), None, "its host removes old ones, and git's lock is not put into its way");
    let listed = claude.frith(["worktree", "list"]).ok();
    let (claude_id, cursor_id) = (claude.id(), cursor.id());
    let foreign = claude.frith(["worktree", "remove", pool.to_str().unwrap()]).ends_with(1);
    let asked = claude.frith(["agents", "send", &cursor_id[..8], "may t2-lexer go?"]).ok();
    let read = cursor.frith(["agents", "inbox"]).ok();
    assert!(read.stdout.contains("> may t2-lexer go?"), "{}", read.transcript());
    let answered = cursor.frith(["agents", "send", &claude_id[..8], "soon"]).ok();
    let _ = committed(&sandbox, &own, "parser");
    squashed(&sandbox, &repo, "t1-parser");
    let gone = [claude.frith(["worktree", "remove", "t1"]).ok(), cursor.frith(["worktree", "remove", "t2"]).ok()];
    let left = worktree(&sandbox, &repo, ["list"]).ok();
    let runs = [&made, &adopted, &listed, &foreign, &asked, &answered].into_iter().chain(&gone).chain([&left]);
    insta::assert_snapshot!(transcript(&sandbox, runs));
}

/// A host's script knows nobody: what it says waits for whoever starts there next.
#[test]
fn a_claim_that_waits_is_completed_by_the_next_session_and_by_that_one_alone() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = of_cursor(&sandbox, &repo, "t1");
    let waits = script(&sandbox, &tree);
    let again = script(&sandbox, &tree);
    let shown = worktree(&sandbox, &repo, ["list"]).ok();
    let refused = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ends_with(1);
    let mut one = Host::start(&sandbox, "cursor", &tree);
    let mut two = Host::start(&sandbox, "cursor", &tree);
    std::thread::scope(|scope| {
        scope.spawn(|| one.get_known());
        scope.spawn(|| two.get_known());
    });
    let ids = [one.id(), two.id()];
    let holder = wait_for("one of them has it", || row(&sandbox, &repo, "t1")["agent"].as_str().map(str::to_owned));
    assert!(ids.contains(&holder), "{holder} is none of {ids:?}");
    let held = [&mut one, &mut two].map(|host| host.frith(["worktree", "whoami", "--json"]).ok().json()["held"].as_array().map(Vec::len));
    assert_eq!(held.iter().flatten().sum::<usize>(), 1, "{held:?}");
    insta::assert_snapshot!(transcript(&sandbox, [&waits, &again, &shown, &refused]));
}

/// In a pool that its host tidies there is no lock of git's that would tell two apart who come at once.
#[test]
fn of_two_agents_that_take_one_worktree_over_at_once_one_has_it() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let (mut one, mut two) = (Host::begun(&sandbox, "cursor", &repo), Host::begun(&sandbox, "cursor", &repo));
    for round in 0..6 {
        let tree = of_cursor(&sandbox, &repo, &format!("t{round}"));
        let path = tree.to_str().unwrap();
        let runs = std::thread::scope(|scope| {
            let first = scope.spawn(|| one.frith(["worktree", "adopt", path]));
            let second = scope.spawn(|| two.frith(["worktree", "adopt", path]));
            [first.join().unwrap(), second.join().unwrap()]
        });
        let told: Vec<i32> = runs.iter().map(|run| run.code).collect();
        assert!(told == [0, 1] || told == [1, 0], "{}", sandbox.transcript(&runs));
        let winner = if told[0] == 0 { one.id() } else { two.id() };
        assert_eq!(row(&sandbox, &repo, &format!("t{round}"))["agent"], winner.as_str());
    }
}

/// With one agent of the pool's host in the main checkout there is no doubt for whom its script speaks.
#[test]
fn a_script_of_a_host_speaks_for_its_only_agent_and_for_none_of_several() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut cursor = Host::begun(&sandbox, "cursor", &repo);
    let _claude = Host::begun(&sandbox, "claude", &repo);
    let (first, second) = (of_cursor(&sandbox, &repo, "t1"), of_cursor(&sandbox, &repo, "t2"));
    let bound = script(&sandbox, &first);
    assert_eq!(row(&sandbox, &repo, "t1")["agent"], cursor.id().as_str(), "{}", bound.transcript());
    let _other = Host::begun(&sandbox, "cursor", &repo);
    let _ = script(&sandbox, &second);
    let waits = row(&sandbox, &repo, "t2");
    assert_eq!((waits["pending"].as_bool(), waits["agent"].is_null()), (Some(true), true));
    assert_eq!(lock_of(&sandbox, &repo, &second), None);
}

/// A pool is tidied by its host, which tells nobody.
#[test]
fn a_claimed_worktree_that_its_host_took_away_is_missing() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let tree = of_cursor(&sandbox, &repo, "t1");
    let mut cursor = Host::begun(&sandbox, "cursor", &tree);
    let _ = cursor.frith(["worktree", "adopt"]).ok();
    sandbox.git(&repo, &["worktree", "remove", tree.to_str().unwrap()]);
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    assert_eq!(row(&sandbox, &repo, "t1")["state"], "missing");
    insta::assert_snapshot!(transcript(&sandbox, [&listed]));
}

/// The server stands in a folder of its own all its life; the session's hooks tell where the agent is.
#[test]
fn a66_a_tool_asked_from_a_folder_that_is_gone_is_refused_and_never_empty() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let client = Client::over(claude.connect(["mcp", "--host", "claude"], &[]));
    let tree = PathBuf::from(client.ok("worktree_add", json!({ "task": "t1" }))["path"].as_str().unwrap());
    claude.folder.clone_from(&tree);
    wait_for("the hook is heard", || {
        let _ = claude.prompt().ok();
        let rows = client.ok("worktree_list", json!({}))["worktrees"].as_array().cloned().unwrap_or_default();
        rows.iter().any(|row| row["current"] == true && Path::new(row["path"].as_str().unwrap_or_default()) == tree).then_some(())
    });
    let own = client.refused("worktree_remove", json!({ "worktree": "t1" }));
    assert!(own.contains("this shell stands in"), "{own}");
    std::fs::remove_dir_all(&tree).unwrap();
    let said = client.refused("worktree_list", json!({}));
    assert!(said.contains("app-t1"), "{said}");
}

/// Words of a person's own for whose it is are no tool's business.
#[test]
fn tools_do_what_their_commands_do() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let client = Client::over(claude.connect(["mcp", "--host", "claude"], &[]));
    let added = client.ok("worktree_add", json!({ "task": "t1", "slug": "parser" }));
    assert_eq!((added["branch"].as_str(), added["agent"].as_str()), (Some("t1-parser"), Some(&claude.id()[..])));
    let tree = crate::support::made(&sandbox, &repo, "t2");
    let adopted = client.ok("worktree_adopt", json!({ "path": tree }));
    assert_eq!((adopted["task"].as_str(), adopted["locked"].as_bool()), (Some("t2"), Some(true)));
    assert_eq!(client.ok("worktree_list", json!({ "noSizes": true }))["worktrees"].as_array().map(Vec::len), Some(3));
    let refused = client.refused("worktree_remove", json!({ "worktree": "t9" }));
    assert!(refused.contains("`worktree_list` shows them"), "{refused}");
    assert_eq!(client.ok("worktree_remove", json!({ "worktree": "t1" }))["branchDeleted"], true);
    assert_eq!(client.ok("worktree_remove", json!({ "worktree": tree, "keepBranch": true }))["branchDeleted"], false);
}
