//! Making worktrees.

use std::fs;

use frith_tests::{Host, Sandbox};

use crate::support::{added, cloned, committed, has_branch, lock_of, origin, path_of, push, row, transcript, worktree};

/// The path alone goes to standard output, so that a shell can go there.
#[test]
fn a_worktree_is_made_listed_told_of_and_removed() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let made = worktree(&sandbox, &repo, ["add", "T42", "login-form", "--owner", "ada"]).ok();
    let path = path_of(&made);
    assert_eq!(path, sandbox.home().join("worktrees/app-t42"));
    let quiet = worktree(&sandbox, &repo, ["add", "t43", "--owner", "ada", "--quiet"]).ok();
    let json = worktree(&sandbox, &repo, ["add", "t44", "--owner", "ada", "--json"]).ok();
    assert_eq!(json.json()["branch"], "t44");
    let listed = worktree(&sandbox, &path, ["list"]).ok();
    let fast = worktree(&sandbox, &repo, ["list", "--no-sizes"]).ok();
    let paths = worktree(&sandbox, &repo, ["list", "--quiet"]).ok();
    let there = worktree(&sandbox, &path, ["whoami"]).ok();
    let nowhere = sandbox.frith(["worktree", "whoami"]).ok();
    let lock = lock_of(&sandbox, &repo, &path).unwrap();
    assert!(lock.starts_with("ada | t42 | 20") && lock.matches(" | ").count() == 2, "{lock}");
    let removed = worktree(&sandbox, &repo, ["remove", "T43", "--owner", "ada"]).ok();
    assert!(!has_branch(&sandbox, &repo, "t43") && has_branch(&sandbox, &repo, "t42-login-form"));
    let runs = [&made, &quiet, &listed, &fast, &paths, &there, &nowhere, &removed];
    insta::assert_snapshot!(transcript(&sandbox, runs));
}

/// An agent needs to say nothing: whose it is follows from who calls.
#[test]
fn an_agents_worktree_is_its_own_whatever_it_says() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let mut claude = Host::begun(&sandbox, "claude", &repo);
    let id = claude.id();
    let made = claude.frith(["worktree", "add", "t1", "--owner", "somebody-else"]).ok();
    let path = path_of(&made);
    let lock = lock_of(&sandbox, &repo, &path).unwrap();
    assert!(lock.starts_with("claude") && lock.ends_with(&format!(" | agent {id}")), "{lock}");
    let shown = row(&sandbox, &repo, "app-t1");
    assert_eq!((shown["agent"].as_str(), shown["presence"].as_str()), (Some(&id[..]), Some("live")));
    let who = claude.frith(["worktree", "whoami"]).ok();
    let agent = sandbox.frith(["agents", "show", &id]).ok();
    assert!(agent.stdout.contains(&format!("worktrees  {} (t1)", path.display())), "{}", agent.transcript());
    let whoami = claude.frith(["agents", "whoami", "--json"]).ok().json();
    assert_eq!(whoami["worktrees"][0]["task"], "t1");
    insta::assert_snapshot!(transcript(&sandbox, [&made, &who]));
}

/// The base is what origin has now; where origin is away nothing is made until somebody says that an older one will do.
#[test]
fn a71_a_worktree_starts_at_what_origin_has_now_or_says_how_old_it_is() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let known = sandbox.git(&repo, &["rev-parse", "origin/main"]);
    let elsewhere = sandbox.root().join("elsewhere");
    sandbox.git(sandbox.root(), &["clone", "--quiet", origin(&sandbox).to_str().unwrap(), elsewhere.to_str().unwrap()]);
    sandbox.git(&elsewhere, &["config", "user.name", "Bo"]);
    sandbox.git(&elsewhere, &["config", "user.email", "bo@example.invalid"]);
    let newer = committed(&sandbox, &elsewhere, "newer");
    push(&sandbox, &elsewhere);
    assert_eq!(sandbox.git(&added(&sandbox, &repo, "t1"), &["rev-parse", "HEAD"]), newer);
    assert_ne!(newer, known);
    fs::rename(origin(&sandbox), sandbox.root().join("away.git")).unwrap();
    let refused = worktree(&sandbox, &repo, ["add", "t2", "--owner", "ada"]).ends_with(1);
    assert!(!has_branch(&sandbox, &repo, "t2") && !sandbox.home().join("worktrees/app-t2").exists());
    let offline = worktree(&sandbox, &repo, ["add", "t2", "--owner", "ada", "--offline"]).ok();
    assert_eq!(sandbox.git(&path_of(&offline), &["rev-parse", "HEAD"]), newer);
    let named = worktree(&sandbox, &repo, ["add", "t3", "--owner", "ada", "--base", &known]).ok();
    assert_eq!(sandbox.git(&path_of(&named), &["rev-parse", "HEAD"]), known);
    // What git says of an origin that is away differs from one version to the next.
    assert!(refused.stderr.starts_with("error: origin cannot be reached, so `origin/main` may be old: "), "{}", refused.stderr);
    assert!(refused.stderr.contains("\nhint: `--offline` takes the last commit of it that is known here\n"), "{}", refused.stderr);
    insta::assert_snapshot!(transcript(&sandbox, [&offline, &named]));
}

#[test]
fn without_an_origin_a_worktree_starts_where_the_default_branch_is_and_says_so() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let made = worktree(&sandbox, &repo, ["add", "t1", "--owner", "ada"]).ok();
    assert_eq!(sandbox.git(&path_of(&made), &["rev-parse", "HEAD"]), sandbox.git(&repo, &["rev-parse", "main"]));
    insta::assert_snapshot!(transcript(&sandbox, [&made]));
}

/// What stands in the worktree's own folder, in a submodule or below it, is about that repository and no other.
#[test]
fn a23_the_repository_is_the_one_around_the_folder_that_one_stands_in() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let first = added(&sandbox, &repo, "t1");
    let from_within = worktree(&sandbox, &first.join("src"), ["add", "t2", "--owner", "ada"]).ok();
    assert_eq!(path_of(&from_within), sandbox.home().join("worktrees/app-t2"));
    let library = sandbox.repo("library");
    sandbox.git(&repo, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]);
    let of_submodule = worktree(&sandbox, &repo.join("lib"), ["add", "t3", "--owner", "ada"]).ok();
    let origin = sandbox.git(&path_of(&of_submodule), &["remote", "get-url", "origin"]);
    assert_eq!(origin, library.to_string_lossy());
    assert!(!has_branch(&sandbox, &repo, "t3"));
}

/// Where worktrees are made: outside of every checkout, and never in a folder that is emptied now and then.
#[test]
fn a55_a_root_inside_a_checkout_is_refused_and_one_below_the_home_is_taken() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let set = |root: &str| drop(sandbox.frith(["config", "set", "worktree.root", root]).ok());
    set(repo.join("trees").to_str().unwrap());
    let inside = worktree(&sandbox, &repo, ["add", "t1", "--owner", "ada"]).ends_with(1);
    set("~/trees");
    let below = worktree(&sandbox, &repo, ["add", "t1", "--owner", "ada"]).ok();
    assert_eq!(path_of(&below), sandbox.root().join("trees/app-t1"));
    fs::write(repo.join(".frith.toml"), "[worktree]\nroot = \"~/of-app\"\nenabled = false\n").unwrap();
    let of_repository = worktree(&sandbox, &repo, ["add", "t2", "--owner", "ada"]).ok();
    assert_eq!(path_of(&of_repository), sandbox.root().join("of-app/app-t2"));
    insta::assert_snapshot!(transcript(&sandbox, [&inside]));
}

/// A task is one however it is written, and what cannot be one is refused before anything is made.
#[test]
fn a63_a_task_is_found_again_however_it_was_written() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = added(&sandbox, &repo, "A12");
    let runs = [
        worktree(&sandbox, &repo, ["add", "A/12 x", "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, &repo, ["add", "a12", "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, &repo, ["remove", "a1", "--owner", "ada"]).ends_with(1),
        worktree(&sandbox, &repo, ["remove", "a12", "--owner", "ada"]).ok(),
    ];
    insta::assert_snapshot!(transcript(&sandbox, &runs));
}

#[test]
fn several_that_are_asked_for_at_once_are_all_made() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = sandbox.frith(["up"]).ok();
    let add = |n: u32| sandbox.call(["worktree", "add", &format!("t{n}"), "--owner", "ada"]).dir(&repo).spawn();
    let running: Vec<_> = (0..6).map(add).collect();
    let paths: std::collections::BTreeSet<_> = running.into_iter().map(|one| path_of(&one.end().ok())).collect();
    assert!(paths.len() == 6 && paths.iter().all(|path| path.join("README").exists()), "{paths:?}");
}
