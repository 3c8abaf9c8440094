//! What is odd on a disk: paths of any bytes, folders that git forgot, repositories of somebody else.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use frith_tests::Sandbox;

use crate::support::{added, cloned, made, path_of, transcript, worktree};

#[test]
fn g06_a_path_of_any_bytes_is_the_answer_byte_for_byte() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let odd = sandbox.root().join(OsStr::from_bytes("two words\nand \u{1b}[2J übung".as_bytes()));
    sandbox.git(&repo, &["worktree", "add", "--quiet", "-b", "t1", odd.to_str().unwrap(), "origin/main"]);
    let claimed = sandbox.call([OsStr::new("worktree"), "claim".as_ref(), odd.as_ref(), "--owner".as_ref(), "ada".as_ref()]);
    assert_eq!(path_of(&claimed.dir(&repo).run().ok()), odd);
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    assert!(!listed.stdout.contains('\u{1b}') && listed.stdout.lines().any(|line| line.contains("two words")), "{}", listed.transcript());
    let _ = worktree(&sandbox, &repo, ["remove", "t1", "--owner", "ada"]).ok();
    assert!(!odd.exists());
}

/// Git's record of it is gone, so nothing tells what it was: it is shown, and nobody deletes it.
#[test]
fn d23_a_folder_that_git_has_forgotten_is_listed_and_never_swept() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let (orphan, _beside) = (added(&sandbox, &repo, "t1"), added(&sandbox, &repo, "t2"));
    fs::remove_dir_all(repo.join(".git/worktrees/app-t1")).unwrap();
    let listed = worktree(&sandbox, &repo, ["list"]).ok();
    let swept = worktree(&sandbox, &repo, ["gc", "--yes", "--idle", "0s", "--stale-lock", "0s"]).ok();
    assert!(orphan.join("README").exists());
    let refused = worktree(&sandbox, &repo, ["add", "t1", "again", "--owner", "ada"]).ends_with(1);
    insta::assert_snapshot!(transcript(&sandbox, [&listed, &swept, &refused]));
}

/// Git says which setting would let it, and frith passes that on and changes nothing by itself.
#[test]
fn a43_a_repository_of_somebody_else_is_told_by_the_setting_that_would_allow_it() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = sandbox.frith(["up"]).ok();
    let Ok(()) =
        std::os::unix::fs::chown(repo.join(".git"), Some(12_345), None).and_then(|()| std::os::unix::fs::chown(&repo, Some(12_345), None))
    else {
        // Only root can give a folder away.
        return;
    };
    let refused = worktree(&sandbox, &repo, ["add", "t1", "--owner", "ada"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("safe.directory"), "{}", refused.transcript());
    assert!(!sandbox.root().join(".gitconfig").exists());
}

#[test]
fn a_repository_without_worktrees_and_one_with_a_broken_one_are_listed() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let alone = worktree(&sandbox, &repo, ["list"]).ok();
    let broken = made(&sandbox, &repo, "t1");
    fs::write(broken.join(".git"), "gitdir: /no/such/folder\n").unwrap();
    let with_broken = worktree(&sandbox, &repo, ["list"]).ok();
    let all = worktree(&sandbox, &repo, ["list", "--all"]).ok();
    insta::assert_snapshot!(transcript(&sandbox, [&alone, &with_broken, &all]));
}

#[test]
fn where_worktrees_are_switched_off_every_command_says_so() {
    let sandbox = Sandbox::new();
    let repo = cloned(&sandbox);
    let _ = sandbox.frith(["config", "set", "worktree.enabled", "false"]).ok();
    let lines: [&[&str]; 8] =
        [&["add", "t1", "--owner", "ada"], &["adopt"], &["claim", "."], &["list"], &["remove", "t1"], &["gc"], &["clean"], &["whoami"]];
    let runs = lines.map(|line| worktree(&sandbox, &repo, line.iter().copied()).ends_with(1));
    assert!(runs.iter().all(|run| run.stderr == runs[0].stderr), "{}", sandbox.transcript(&runs));
    insta::assert_snapshot!(transcript(&sandbox, &runs[..1]));
}
