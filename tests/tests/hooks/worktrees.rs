//! The hooks at which a host wants a worktree made or removed, with the real node and without one.

use std::{fs, path::Path};

use frith_tests::{Sandbox, run::Run};
use serde_json::json;

fn create(sandbox: &Sandbox, folder: &Path, name: &str) -> Run {
    let payload = json!({"session_id": "s-1", "cwd": folder, "hook_event_name": "WorktreeCreate", "name": name});
    sandbox.call(["hook", "WorktreeCreate", "--host", "claude"]).dir(folder).input(&payload.to_string()).run()
}

fn remove(sandbox: &Sandbox, path: &Path) -> Run {
    let payload = json!({"session_id": "s-1", "cwd": "/", "hook_event_name": "WorktreeRemove", "worktree_path": path});
    sandbox.call(["hook", "WorktreeRemove", "--host", "claude"]).dir("/").input(&payload.to_string()).run()
}

/// It failed with this code, and said why where only a person reads it.
#[track_caller]
fn failed(run: &Run, code: i32) {
    assert!(run.code == code && run.stdout.is_empty() && run.stderr.starts_with("error: "), "{}", run.transcript());
}

#[test]
fn a_host_gets_one_path_and_the_same_for_the_same_name_and_gives_it_back() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    let repo = sandbox.repo("app");
    let made = create(&sandbox, &repo, "feat1").ok();
    let path = Path::new(made.stdout.strip_suffix('\n').expect("it is a line"));
    assert!(path.is_absolute() && path.join(".git").is_file() && !made.stdout.trim_end().contains('\n'), "{}", made.transcript());
    assert_eq!(create(&sandbox, &repo, "feat1").ok().stdout, made.stdout);
    fs::write(path.join("draft"), "").expect("the worktree is there");
    failed(&remove(&sandbox, path), 1);
    assert!(path.join("draft").exists());
    fs::remove_file(path.join("draft")).expect("it is there");
    assert_eq!(remove(&sandbox, path).ok().stdout, "");
    assert!(!path.exists());
    assert_eq!(remove(&sandbox, path).ok().stdout, "", "b16: what is gone is removed");
}

#[test]
fn b15_what_cannot_be_made_fails_with_nothing_that_could_be_taken_for_a_path() {
    let sandbox = Sandbox::new();
    let _ = sandbox.frith(["up"]).ok();
    let repo = sandbox.repo("app");
    let _ = sandbox.git(&repo, &["branch", "taken"]);
    failed(&create(&sandbox, &repo, "taken"), 1);
    failed(&create(&sandbox, &repo, "../.."), 1);
    failed(&create(&sandbox, sandbox.root(), "feat1"), 1);
    failed(&remove(&sandbox, &repo), 1);
    let unread = sandbox.call(["hook", "WorktreeCreate", "--host", "claude"]).input("{\"session_id\": \"s-1\"}").run();
    failed(&unread, 2);
    failed(&sandbox.call(["hook", "WorktreeCreate", "--host", "claude"]).input("no json").run(), 2);
}

#[test]
fn without_a_node_and_where_worktrees_are_not_kept_nobody_answers() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    failed(&create(&sandbox, &repo, "feat1"), 3);
    failed(&remove(&sandbox, &repo), 3);
    assert!(sandbox.nodes().is_empty(), "a hook starts none");
    sandbox.config("[worktree]\nenabled = false\n");
    let _ = sandbox.frith(["up"]).ok();
    failed(&create(&sandbox, &repo, "feat1"), 3);
    failed(&remove(&sandbox, &repo), 3);
    assert_eq!(sandbox.git(&repo, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}
