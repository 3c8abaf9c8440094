//! A repository with an origin, and worktrees of it in every state.

use std::{
    fs,
    path::{Path, PathBuf},
};

use frith_tests::{Run, Sandbox};

/// These runs one after another, without what git tells of its progress, which differs from one version to the next, and without the
/// unit of a size, which depends on the blocks of the disk.
pub fn transcript<'a>(sandbox: &Sandbox, runs: impl IntoIterator<Item = &'a Run>) -> String {
    let is_progress = |line: &&str| ["! git ", "! Preparing worktree", "! HEAD is now at"].iter().any(|start| line.starts_with(start));
    let shown = sandbox.transcript(runs).replace("[N] KiB", "[N] B");
    shown.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// A repository `app` whose `main` is that of its origin, `app.git`, on a machine whose node runs.
pub fn cloned(sandbox: &Sandbox) -> PathBuf {
    let repo = sandbox.repo("app");
    sandbox.git(sandbox.root(), &["init", "--quiet", "--bare", "--initial-branch", "main", "app.git"]);
    let origin = origin(sandbox);
    sandbox.git(&repo, &["remote", "add", "origin", origin.to_str().unwrap()]);
    push(sandbox, &repo);
    sandbox.git(&repo, &["remote", "set-head", "origin", "main"]);
    // Hooks start no node.
    let _ = sandbox.frith(["up"]).ok();
    repo
}

pub fn origin(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("app.git")
}

pub fn push(sandbox: &Sandbox, repo: &Path) {
    sandbox.git(repo, &["push", "--quiet", "origin", "main"]);
}

/// A command about worktrees, run in a folder.
#[track_caller]
pub fn worktree<'w>(sandbox: &Sandbox, folder: &Path, args: impl IntoIterator<Item = &'w str>) -> Run {
    sandbox.call(["worktree"].into_iter().chain(args)).dir(folder).run()
}

/// Where the answer says that a worktree stands.
pub fn path_of(run: &Run) -> PathBuf {
    PathBuf::from(run.stdout.trim_end_matches('\n'))
}

/// A worktree of ada's for a task.
#[track_caller]
pub fn added(sandbox: &Sandbox, repo: &Path, task: &str) -> PathBuf {
    path_of(&worktree(sandbox, repo, ["add", task, "--owner", "ada"]).ok())
}

/// A worktree that somebody made with git alone, on a branch of its name.
pub fn made(sandbox: &Sandbox, repo: &Path, name: &str) -> PathBuf {
    let path = sandbox.root().join("trees").join(name);
    sandbox.git(repo, &["worktree", "add", "--quiet", "--no-track", "-b", name, path.to_str().unwrap(), "origin/main"]);
    path
}

/// Commits a file of a worktree, and answers the commit.
#[track_caller]
pub fn committed(sandbox: &Sandbox, worktree: &Path, file: &str) -> String {
    fs::write(worktree.join(file), format!("{file}\n")).unwrap();
    sandbox.commit(worktree, file);
    sandbox.git(worktree, &["rev-parse", "HEAD"])
}

/// Brings a branch to origin's `main` as one commit of its own.
#[track_caller]
pub fn squashed(sandbox: &Sandbox, repo: &Path, branch: &str) {
    sandbox.git(repo, &["merge", "--quiet", "--squash", branch]);
    sandbox.git(repo, &["commit", "--quiet", "--message", &format!("{branch}, squashed")]);
    push(sandbox, repo);
}

/// A worktree of ada's whose work is in origin's `main`.
#[track_caller]
pub fn finished(sandbox: &Sandbox, repo: &Path, task: &str) -> PathBuf {
    let path = added(sandbox, repo, task);
    let _ = committed(sandbox, &path, task);
    squashed(sandbox, repo, task);
    path
}

/// The rows of `worktree list`, by the last name of each path.
#[track_caller]
pub fn row(sandbox: &Sandbox, repo: &Path, name: &str) -> serde_json::Value {
    let listed = worktree(sandbox, repo, ["list", "--json"]).ok().json();
    let rows = listed["worktrees"].as_array().cloned().unwrap_or_default();
    let is_it = |row: &serde_json::Value| Path::new(row["path"].as_str().unwrap_or_default()).ends_with(name);
    rows.into_iter().find(is_it).unwrap_or_else(|| panic!("`{name}` is not listed: {listed}"))
}

/// Whether a branch is there.
pub fn has_branch(sandbox: &Sandbox, repo: &Path, branch: &str) -> bool {
    !sandbox.git(repo, &["branch", "--list", branch]).is_empty()
}

/// The words of git's lock on a worktree; none when it has none.
pub fn lock_of(sandbox: &Sandbox, repo: &Path, worktree: &Path) -> Option<String> {
    let listed = sandbox.git(repo, &["worktree", "list", "--porcelain"]);
    let block = listed.split("\n\n").find(|block| block.lines().next() == Some(&format!("worktree {}", worktree.display())))?;
    block.lines().find_map(|line| line.strip_prefix("locked")).map(|words| words.trim().to_owned())
}
