//! Worktrees for agents: made whole, locked, and with everything else as it was.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use frith_store::git::{AddError, GitError, MadeNote, Progress, ReadError, Step, fetch_default, make_worktree, resolve};

use crate::support::*;

#[test]
fn a_worktree_is_whole_locked_and_follows_nothing() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let mut follower = Follower::default();
    let made = make_worktree(&place.new_worktree("t1"), &mut follower).unwrap();
    assert_eq!((made.path.as_path(), made.branch.as_str()), (place.root().join("source-t1").as_path(), "t1"));
    assert_eq!(made.commit, git(&place.source(), &["rev-parse", "main"]));
    assert_added(&place, "t1");
    assert_eq!(made.notes, []);
    let record = place.source().canonicalize().unwrap().join(".git/worktrees/source-t1");
    assert_eq!(made.id.record.as_bytes(), record.as_os_str().as_bytes());
    assert_ne!(made.id.stamp, 0);
    assert_eq!(config(&place.source()), before);
    assert_eq!(names(&place.root()), ["source-t1"]);
    assert_eq!(names(&place.home()), ["locks", "worktrees"]);
    assert_eq!(names(&place.home().join("worktrees")), [""; 0]);
}

#[test]
fn a72_a_new_branch_follows_nothing_even_if_told_to() {
    let place = Place::with_repository();
    let origin = place.temp.path().join("origin.git");
    git(&place.source(), &["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    git(&place.source(), &["remote", "add", "origin", origin.to_str().unwrap()]);
    git(&place.source(), &["config", "branch.autoSetupMerge", "always"]);
    git(&place.source(), &["config", "push.default", "upstream"]);
    let before = config(&place.source());
    fetch_default(&place.source().join(".git"), "main", Duration::from_secs(60), &mut Follower::default()).unwrap();
    let base = resolve(&place.source().join(".git"), "origin/main").unwrap().unwrap();
    let made = make_worktree(&NewWorktree { base, ..place.new_worktree("t1") }, &mut Follower::default()).unwrap();
    assert!(!git_may_fail(&made.path, &["rev-parse", "@{upstream}"]).status.success());
    commit(&made.path, "work");
    assert!(!git_may_fail(&made.path, &["push"]).status.success(), "a plain push goes nowhere");
    assert_eq!(config(&place.source()), before);
}

#[test]
fn a71_a_fetch_brings_the_default_branch_and_nothing_else() {
    let place = Place::with_repository();
    let (upstream, clone) = (place.temp.path().join("upstream"), place.temp.path().join("clone"));
    new_repository(&upstream);
    git(place.temp.path(), &["clone", "-q", upstream.to_str().unwrap(), clone.to_str().unwrap()]);
    let tip = commit(&upstream, "newer");
    git(&upstream, &["branch", "other"]);
    git(&upstream, &["tag", "v1"]);
    git(&clone, &["config", "fetch.prune", "true"]);
    git(&clone, &["update-ref", "refs/remotes/origin/gone", "HEAD"]);
    let (before, refs) = (config(&clone), git(&clone, &["for-each-ref", "--format=%(refname)"]));
    fetch_default(&clone.join(".git"), "main", Duration::from_secs(60), &mut Follower::default()).unwrap();
    assert_eq!(resolve(&clone.join(".git"), "origin/main").unwrap(), Some(tip));
    assert_eq!(resolve(&clone.join(".git"), "no-such-thing").unwrap(), None);
    assert_eq!(git(&clone, &["for-each-ref", "--format=%(refname)"]), refs);
    assert_eq!((config(&clone), clone.join(".git/FETCH_HEAD").exists()), (before, false));
    std::fs::rename(&upstream, place.temp.path().join("away")).unwrap();
    let error = fetch_default(&clone.join(".git"), "main", Duration::from_secs(60), &mut Follower::default()).unwrap_err();
    assert!(matches!(error, GitError::Refused { .. }), "{error}");
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_touched() {
    let place = Place::with_repository();
    let (source, root) = (place.source(), place.root());
    git(&source, &["branch", "taken"]);
    for name in ["source-file", "source-folder", "source-link"] {
        std::fs::create_dir_all(&root).unwrap();
        match name {
            "source-file" => std::fs::write(root.join(name), "x").unwrap(),
            "source-folder" => std::fs::create_dir(root.join(name)).unwrap(),
            _ => symlink("nowhere", root.join(name)).unwrap(),
        }
    }
    let good = || place.new_worktree("t1");
    let refused = |new: NewWorktree| make_worktree(&new, &mut Follower::default()).unwrap_err();
    for task in ["file", "folder", "link"] {
        assert!(matches!(refused(place.new_worktree(task)), AddError::PathExists { .. }), "{task}");
    }
    assert!(matches!(refused(NewWorktree { branch: "taken".into(), ..good() }), AddError::BranchExists { .. }));
    let main = refused(NewWorktree { branch: "main".into(), ..good() });
    assert!(main.to_string().contains("checked out at"), "{main}");
    assert!(matches!(refused(NewWorktree { base: "0".repeat(40), ..good() }), AddError::BaseUnknown { .. }));
    assert!(matches!(refused(NewWorktree { base: "main".into(), ..good() }), AddError::BaseUnknown { .. }));
    assert!(matches!(refused(NewWorktree { root: "".into(), ..good() }), AddError::RootEmpty));
    for root in ["relative", "/a/../b"] {
        assert!(matches!(refused(NewWorktree { root: root.into(), ..good() }), AddError::RootNotPlain { .. }), "{root}");
    }
    for root in [source.join("sub/deep"), source.join(".git/worktrees"), source.clone()] {
        assert!(matches!(refused(NewWorktree { root: root.clone(), ..good() }), AddError::RootInsideWorktree { .. }), "{root:?}");
    }
    for name in ["", ".", "..", "a/b", "/a", "a/", "../a"] {
        assert!(matches!(refused(NewWorktree { directory: name.into(), ..good() }), AddError::BadDirectory { .. }), "{name}");
    }
    assert!(matches!(refused(NewWorktree { repository: place.home(), ..good() }), AddError::NoRepository { .. }));
    for branch in ["a..b", "", "a.lock", "a b"] {
        assert!(matches!(refused(NewWorktree { branch: branch.into(), ..good() }), AddError::BadBranch { .. }), "{branch}");
    }
    assert!(matches!(refused(NewWorktree { branch: "-x".into(), ..good() }), AddError::Git(_)), "git has the last word");
    assert_eq!((names(&root), worktrees(&source)), (vec!["source-file".into(), "source-folder".into(), "source-link".into()], 1));
    assert_eq!(git(&source, &["branch", "--format=%(refname:short)"]), "main\ntaken");
}

#[test]
fn a_root_that_is_emptied_is_refused_unless_the_repository_is_there_too() {
    let place = Place::with_repository();
    let scratch = place.temp.path().join("scratch");
    new_repository(&scratch.join("there"));
    let run = |root: &Path, repository: &Path| {
        let mut maker = crate::adding_killed::another_process(&place, "t1");
        maker.env("TMPDIR", &scratch).env("FRITH_TEST_ROOT", root).env("FRITH_TEST_REPOSITORY", repository);
        maker.status().unwrap().success()
    };
    assert!(!run(&scratch.join("root"), &place.source()));
    assert!(!scratch.join("root").exists(), "a refusal makes no folder");
    assert!(run(&scratch.join("root"), &scratch.join("there")));
}

#[test]
fn a_record_of_a_folder_that_is_gone_is_not_taken_over() {
    let place = Place::with_repository();
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    std::fs::remove_dir_all(&made.path).unwrap();
    let again = || make_worktree(&NewWorktree { branch: "other".into(), ..place.new_worktree("t1") }, &mut Follower::default());
    let refused = again().unwrap_err();
    assert!(matches!(&refused, AddError::StillRegistered { locked: Some(words), .. } if *words == lock_of("t1")), "{refused}");
    git(&place.source(), &["worktree", "unlock", made.path.to_str().unwrap()]);
    assert!(matches!(again().unwrap_err(), AddError::StillRegistered { locked: None, .. }));
    git(&place.source(), &["worktree", "prune"]);
    again().unwrap();
}

#[test]
fn a22_a_name_used_again_starts_from_the_base_it_is_given() {
    let place = Place::with_repository();
    let first = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    git(&first.path, &["branch", "-q", "-m", "renamed"]);
    git(&place.source(), &["worktree", "unlock", first.path.to_str().unwrap()]);
    git(&place.source(), &["worktree", "remove", first.path.to_str().unwrap()]);
    let tip = commit(&place.source(), "second");
    let again = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert_eq!((again.commit.as_str(), again.id.record == first.id.record), (tip.as_str(), true));
    assert_ne!(again.id, first.id, "a later record of the same name is another");
}

#[test]
fn a40_configuration_is_as_found_in_every_kind_of_repository() {
    type Kind = (&'static str, fn(&Path));
    let kinds: [Kind; 9] = [
        ("plain", |_| ()),
        ("sparse", |top| drop(git(top, &["sparse-checkout", "set", "sub"]))),
        ("sparse without per-worktree configuration", |top| {
            git(top, &["config", "core.sparseCheckout", "true"]);
            std::fs::write(top.join(".git/info/sparse-checkout"), "/sub/\n").unwrap();
            git(top, &["read-tree", "-mu", "HEAD"]);
        }),
        ("relative", |top| drop(git(top, &["config", "worktree.useRelativePaths", "true"]))),
        ("hooks", |top| drop(git(top, &["config", "core.hooksPath", ".husky/_"]))),
        ("recursing", |top| drop(git(top, &["config", "submodule.recurse", "true"]))),
        ("watched", |top| drop(git(top, &["config", "core.fsmonitor", "true"]))),
        ("unset", |top| drop(git(top, &["config", "--unset", "core.bare"]))),
        ("tracking", |top| drop(git(top, &["config", "branch.autoSetupMerge", "inherit"]))),
    ];
    for (kind, prepare) in kinds {
        let place = Place::with_repository();
        prepare(&place.source());
        let before = config(&place.source());
        let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(config(&place.source()), before, "{kind}");
        assert_eq!(git(&made.path, &["status", "--porcelain"]), "", "{kind}");
        let uses_own = git_may_fail(&place.source(), &["config", "extensions.worktreeConfig"]).status.success();
        let record = place.source().join(".git/worktrees/source-t1");
        assert_eq!(record.join("config.worktree").exists(), uses_own, "{kind}: only where the repository has it already");
        assert_eq!(made.path.join("a").exists(), !kind.contains("without"), "{kind}");
        assert!(made.path.join("sub/b").exists(), "{kind}");
    }
}

#[test]
fn a_bare_repository_has_worktrees_too() {
    let place = Place::with_repository();
    let bare = place.temp.path().join("project/.bare");
    git(&place.source(), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    std::fs::write(place.temp.path().join("project/.git"), "gitdir: ./.bare\n").unwrap();
    let before = std::fs::read(bare.join("config")).unwrap();
    let root = place.temp.path().join("project");
    let new = NewWorktree { repository: bare.clone(), root: root.clone(), ..place.new_worktree("t1") };
    let made = make_worktree(&new, &mut Follower::default()).unwrap();
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(bare.join("config")).unwrap(), before);
    assert_eq!(names(&root), [".bare", ".git", "source-t1"]);
    let second = NewWorktree { repository: made.path, root, ..place.new_worktree("t2") };
    make_worktree(&second, &mut Follower::default()).unwrap();
}

#[test]
fn a45_a_sparse_checkout_stays_sparse() {
    let place = Place::with_repository();
    place.write("other/c", "c\n");
    commit(&place.source(), "other");
    git(&place.source(), &["sparse-checkout", "set", "--cone", "--sparse-index", "sub"]);
    let first = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert!(first.notes.contains(&MadeNote::Sparse), "{:?}", first.notes);
    assert_eq!(names(&first.path), [".git", "a", "run", "sub"]);
    let from_inside = NewWorktree { repository: first.path.join("sub"), ..place.new_worktree("t2") };
    let second = make_worktree(&from_inside, &mut Follower::default()).unwrap();
    assert_eq!((names(&second.path), git(&second.path, &["status", "--porcelain"])), (names(&first.path), String::new()));
}

/// A repository with another as a submodule at `inner`, with relative links as git makes them.
fn with_submodule() -> Place {
    let place = Place::with_repository();
    new_repository(&place.temp.path().join("library"));
    git(&place.source(), &["submodule", "add", "-q", "../library", "inner"]);
    commit(&place.source(), "submodule");
    place
}

#[test]
fn a24_submodules_left_empty_are_named() {
    let place = with_submodule();
    git(&place.source(), &["config", "submodule.recurse", "true"]);
    let before = config(&place.source());
    let mut follower = Follower::default();
    let made = make_worktree(&place.new_worktree("t1"), &mut follower).unwrap();
    assert_eq!(made.notes, [MadeNote::SubmodulesEmpty(vec!["inner".into()])]);
    assert!(follower.told.borrow().contains(&Progress::SubmodulesEmpty { count: 1 }));
    assert_eq!((names(&made.path.join("inner")), config(&place.source())), (vec![], before));
    git(&made.path, &["submodule", "update", "-q", "--init"]);
    assert!(made.path.join("inner/a").exists(), "it can be filled");
}

#[test]
fn a23_from_inside_a_submodule_the_worktree_is_of_the_submodule() {
    let place = with_submodule();
    let inner = place.source().join("inner");
    let base = git(&inner, &["rev-parse", "HEAD"]);
    let before = (config(&place.source()), std::fs::read(place.source().join(".git/modules/inner/config")).unwrap());
    let new = NewWorktree { repository: inner.join("sub"), directory: "inner-t1".into(), base, ..place.new_worktree("t1") };
    let made = make_worktree(&new, &mut Follower::default()).unwrap();
    assert_eq!(made.notes, []);
    assert_eq!(git(&made.path, &["rev-parse", "--show-toplevel"]), made.path.to_str().unwrap());
    assert_eq!((names(&made.path), git(&made.path, &["status", "--porcelain"])), (names(&inner), String::new()));
    assert_eq!((worktrees(&place.source()), worktrees(&inner)), (1, 2));
    assert_eq!(git(&place.source(), &["status", "--porcelain"]), "");
    assert_eq!((config(&place.source()), std::fs::read(place.source().join(".git/modules/inner/config")).unwrap()), before);
}

#[test]
fn a25_a_failing_checkout_is_taken_back_with_branch_and_record_and_gits_words() {
    let place = Place::with_repository();
    git(&place.source(), &["config", "filter.bad.smudge", "echo out of order >&2; false"]);
    git(&place.source(), &["config", "filter.bad.required", "true"]);
    git(&place.source(), &["config", "filter.bad.clean", "cat"]);
    place.write(".gitattributes", "bad filter=bad\n");
    place.write("bad", "bad\n");
    commit(&place.source(), "bad");
    let error = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap_err();
    assert!(matches!(error, AddError::Git(_)) && error.hint().unwrap().contains("out of order"), "{error}");
    assert_nothing_left(&place, "t1");
    assert!(!place.root().exists(), "the root was made by this call");
}

#[test]
fn a41_hooks_that_lead_nowhere_are_named() {
    let place = Place::with_repository();
    git(&place.source(), &["config", "core.hooksPath", "hooks/_"]);
    place.write("hooks/_/pre-commit", "#!/bin/sh\n");
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert_eq!(made.notes, [MadeNote::HooksPathEmpty(made.path.join("hooks/_"))]);
    assert_eq!(git(&made.path, &["config", "core.hooksPath"]), "hooks/_");
    commit(&place.source(), "the hooks");
    let made = make_worktree(&place.new_worktree("t2"), &mut Follower::default()).unwrap();
    assert_eq!(made.notes, []);
}

#[test]
fn the_post_checkout_hook_runs_once_where_the_worktree_stays() {
    let place = Place::with_repository();
    let hook = place.source().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let log = place.temp.path().join("log");
    std::fs::write(&hook, format!("#!/bin/sh\n{{ pwd -P; echo \"$@\"; }} >> '{}'\nexit 3\n", log.display())).unwrap();
    set_mode(&hook, 0o755);
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert!(matches!(&made.notes[..], [MadeNote::HookFailed(words)] if words.contains("exit code 3")), "{:?}", made.notes);
    let expected = format!("{}\n{} {} 1\n", made.path.display(), "0".repeat(40), made.commit);
    assert_eq!(std::fs::read_to_string(log).unwrap(), expected);
    assert_added(&place, "t1");
}

#[test]
fn content_stored_elsewhere_is_left_out_where_nothing_can_fetch_it() {
    let place = Place::with_repository();
    place.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    place.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    commit(&place.source(), "big");
    let plain = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    assert_eq!(plain.notes, [MadeNote::LfsSkipped { files: 1 }], "git is told of no way to fetch it");
    git(&place.source(), &["config", "filter.lfs.process", "frith-no-such-program filter-process"]);
    git(&place.source(), &["config", "filter.lfs.smudge", "frith-no-such-program smudge -- %f"]);
    git(&place.source(), &["config", "filter.lfs.clean", "cat"]);
    git(&place.source(), &["config", "filter.lfs.required", "true"]);
    let before = config(&place.source());
    let mut maker = crate::adding_killed::another_process(&place, "t2");
    let only_git = place.temp.path().join("bin");
    std::fs::create_dir(&only_git).unwrap();
    let git_itself = std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|folder| folder.join("git")).find(|path| path.is_file());
    symlink(git_itself.unwrap(), only_git.join("git")).unwrap();
    assert!(maker.env("PATH", &only_git).env("FRITH_TEST_NOTE", "LfsSkipped { files: 1 }").status().unwrap().success());
    assert_eq!(std::fs::read_to_string(place.root().join("source-t2/big.bin")).unwrap().lines().count(), 3);
    assert_eq!(config(&place.source()), before);
}

#[test]
fn a43_a_repository_of_another_user_is_refused_by_name() {
    if !is_root() {
        return;
    }
    let place = Place::with_repository();
    for path in [place.source(), place.source().join(".git")] {
        std::os::unix::fs::chown(path, Some(12345), Some(12345)).unwrap();
    }
    for repository in [place.source(), place.source().join(".git")] {
        let new = NewWorktree { repository, base: "0".repeat(40), ..place.new_worktree_from("t1", "") };
        let refused = make_worktree(&new, &mut Follower::default()).unwrap_err();
        assert!(matches!(refused, AddError::Read(ReadError::DubiousOwnership { .. })), "{refused}");
        assert!(refused.hint().unwrap().contains("safe.directory"));
    }
}

#[test]
fn a61_paths_may_hold_any_byte() {
    for name in [&b"with space"[..], b"new\nline", b"not \xff utf-8", "üñí".as_bytes(), b"-dash", b".dot", b"a..b", b"x.lock"] {
        let place = Place::new();
        let name = OsStr::from_bytes(name);
        let source = place.temp.path().join(name);
        if std::fs::create_dir(&source).is_err() {
            // This file system knows only some names.
            continue;
        }
        new_repository(&source);
        let mut directory = OsString::from(name);
        directory.push("-t1");
        let root = place.root().join(name);
        let base = git(&source, &["rev-parse", "HEAD"]);
        let new = NewWorktree { repository: source.clone(), root: root.clone(), directory, ..place.new_worktree_from("t1", &base) };
        let made = make_worktree(&new, &mut Follower::default()).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        assert_eq!((git(&made.path, &["status", "--porcelain"]), worktrees(&source)), (String::new(), 2), "{name:?}");
        assert_eq!(made.path.parent().unwrap(), root.canonicalize().unwrap());
        for number in 0.. {
            let new = NewWorktree { branch: "t2".into(), directory: "t2".into(), ..new.clone() };
            let mut follower = Follower { cancel_before: Some(number), ..Follower::default() };
            match make_worktree(&new, &mut follower) {
                Err(AddError::Cancelled) => assert_eq!((worktrees(&source), root.join("t2").exists()), (2, false), "{name:?}"),
                other => {
                    other.unwrap();
                    break;
                }
            }
        }
    }
}

#[test]
fn a73_no_identity_is_needed_and_none_is_written() {
    let place = Place::with_repository();
    let before = config(&place.source());
    let mut maker = crate::adding_killed::another_process(&place, "t1");
    maker.env("HOME", place.temp.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("EMAIL");
    assert!(maker.status().unwrap().success());
    assert_added(&place, "t1");
    let identity = Command::new("git").current_dir(place.root().join("source-t1")).args(["config", "--local", "user.name"]).output();
    assert!(!identity.unwrap().status.success());
    assert_eq!(config(&place.source()), before);
}

#[test]
fn the_fault_that_led_to_an_undo_is_told() {
    let place = Place::with_repository();
    let staging = place.root().join(".frith-worktrees/source-t1.making");
    let look: Look<'_> = Box::new(|follower| {
        if follower.steps.last() == Some(&Step::CheckOut) && !follower.cancelled.replace(true) {
            std::fs::remove_dir_all(&staging).unwrap();
        }
    });
    let mut follower = Follower { on_look: Some(look), ..Follower::default() };
    let error = make_worktree(&place.new_worktree("t1"), &mut follower).unwrap_err();
    assert!(matches!(error, AddError::Cancelled), "{error}");
}
