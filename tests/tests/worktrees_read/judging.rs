//! Whether a worktree's work is in the base, how that is known, and whether anything else is there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use frith_store::git::{Known, Want, judge};
use frith_store::model::Proof;
use frith_tests::worktrees::{Worktrees, commit, git, write};

use crate::support::*;

/// A worktree with one commit that changes `a`.
fn with_work(place: &Worktrees, name: &str) -> std::path::PathBuf {
    let tree = place.add(name);
    write(&tree, "a", &format!("{name}\n"));
    commit(&tree, name);
    tree
}

#[test]
fn a17_work_that_was_squashed_is_found_and_how_is_told() {
    let place = Worktrees::new(12);
    let file = |number: usize| format!("src/part-0/file-{number}");
    let trees: Vec<_> = (0..10).map(|number| place.add(&format!("t{number}"))).collect();
    for (number, tree) in trees.iter().enumerate() {
        for step in 0..3 {
            write(tree, &file(number), &format!("{step}\n"));
            commit(tree, &format!("step {step}"));
        }
        assert_eq!((verdict(tree, tree).merged, verdict(tree, tree).ahead), (None, Some(3)));
        place.squash(&format!("t{number}"));
    }
    place.push();
    let told = |number: usize| verdict(&trees[number], &trees[number]);
    assert!((0..10).all(|number| told(number).merged == Some(Proof::AddsNothing)), "{:?}", told(0));
    write(&place.main(), &file(0), "otherwise\n");
    write(&place.main(), "unrelated", "");
    commit(&place.main(), "the base goes on");
    place.push();
    assert_eq!(told(0).merged, Some(Proof::SameChange), "the base changed the same lines later");
    assert!((1..10).all(|number| told(number).merged == Some(Proof::AddsNothing)));
    assert!((0..10).all(|number| told(number).is_finished()));
}

#[test]
fn each_way_into_the_base_has_its_proof() {
    let place = Worktrees::new(4);
    let (merged, same, rebased) = (with_work(&place, "merged"), with_work(&place, "same"), with_work(&place, "rebased"));
    git(&place.main(), &["merge", "-q", "--no-ff", "-m", "merge", "merged"]);
    place.push();
    assert_eq!(verdict(&merged, &merged).merged, Some(Proof::Ancestor));
    assert_eq!(verdict(&merged, &merged).ahead, Some(0));
    write(&place.main(), "a", "same\n");
    commit(&place.main(), "the same files by another way");
    place.push();
    assert_eq!(verdict(&same, &same).merged, Some(Proof::SameTree));
    write(&place.main(), "a", "a\n");
    write(&place.main(), "b", "b\n");
    commit(&place.main(), "on");
    git(&place.main(), &["cherry-pick", "rebased"]);
    write(&place.main(), "c", "c\n");
    commit(&place.main(), "and on");
    place.push();
    assert_eq!(verdict(&rebased, &rebased).merged, Some(Proof::AddsNothing));
}

#[test]
fn a_change_that_the_base_took_back_is_not_merged() {
    let place = Worktrees::new(1);
    let tree = with_work(&place, "t1");
    place.squash("t1");
    git(&place.main(), &["revert", "--no-edit", "HEAD"]);
    place.push();
    assert_eq!(verdict(&tree, &tree).merged, None, "merging it now would bring it again");
}

#[test]
fn a_file_that_the_base_renamed_is_followed() {
    let place = Worktrees::new(3);
    let tree = place.add("t1");
    let text = std::fs::read_to_string(tree.join("src/part-0/file-1")).unwrap();
    let changed = text.replace("line 3 ", "work ");
    write(&tree, "src/part-0/file-1", &changed);
    commit(&tree, "work");
    git(&place.main(), &["mv", "src/part-0/file-1", "elsewhere"]);
    commit(&place.main(), "moved");
    place.push();
    assert_eq!(verdict(&tree, &tree).merged, None);
    write(&place.main(), "elsewhere", &changed);
    commit(&place.main(), "the same work at its new place");
    place.push();
    assert_eq!(verdict(&tree, &tree).merged, Some(Proof::AddsNothing));
}

#[test]
fn more_than_what_the_base_took_is_not_merged() {
    let place = Worktrees::new(2);
    let tree = with_work(&place, "t1");
    place.squash("t1");
    write(&place.main(), "a", "later\n");
    commit(&place.main(), "later");
    place.push();
    assert_eq!(verdict(&tree, &tree).merged, Some(Proof::SameChange));
    write(&tree, "b", "one more file\n");
    commit(&tree, "more");
    assert_eq!(verdict(&tree, &tree).merged, None);
    git(&tree, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&tree, "a", "t1\nand a line more\n");
    commit(&tree, "more in the same file");
    assert_eq!(verdict(&tree, &tree).merged, None);
}

#[test]
fn a17_the_same_line_changed_at_another_place_is_not_merged() {
    let place = Worktrees::new(1);
    let file = |a: &str, b: &str| format!("a:\n  on: {a}\n1\n2\n3\n4\n5\n6\n7\nb:\n  on: {b}\n");
    let on_main = |a: &str, b: &str| {
        write(&place.main(), "f", &file(a, b));
        commit(&place.main(), "on");
        place.push();
    };
    on_main("no", "no");
    let tree = place.add("t1");
    write(&tree, "f", &file("yes", "no"));
    commit(&tree, "work");
    on_main("no", "yes");
    on_main("maybe", "yes");
    assert_eq!(verdict(&tree, &tree).merged, None, "the base did it elsewhere");
    on_main("no", "yes");
    on_main("yes", "yes");
    on_main("maybe", "yes");
    assert_eq!(verdict(&tree, &tree).merged, Some(Proof::SameChange), "the base did it there");
}

#[test]
fn histories_with_nothing_in_common_are_not_merged() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    git(&tree, &["switch", "-q", "--orphan", "other"]);
    write(&tree, "a", "a\n");
    commit(&tree, "another beginning");
    let judged = verdict(&tree, &tree);
    assert_eq!((judged.merged, judged.is_finished()), (None, false), "{judged:?}");
}

#[test]
fn a_shallow_clone_answers_with_what_it_has() {
    let place = Worktrees::new(1);
    for number in 0..3 {
        write(&place.main(), "b", &format!("{number}\n"));
        commit(&place.main(), "on");
    }
    place.push();
    let shallow = place.root().join("shallow");
    git(place.root(), &["clone", "-q", "--depth", "1", &format!("file://{}", place.origin().display()), "shallow"]);
    let tree = place.tree("t1");
    git(&shallow, &["worktree", "add", "-q", "--no-track", "-b", "t1", tree.to_str().unwrap(), "origin/main"]);
    assert!(!verdict(&tree, &tree).is_finished());
    write(&tree, "a", "work\n");
    commit(&tree, "work");
    let judged = verdict(&tree, &tree);
    assert_eq!((judged.merged, judged.ahead), (None, Some(1)));
    git(&shallow, &["merge", "-q", "--squash", "t1"]);
    write(&shallow, "b", "and more\n");
    commit(&shallow, "squashed");
    git(&shallow, &["push", "-q", "origin", "main"]);
    assert!(verdict(&tree, &tree).is_finished());
}

#[test]
fn nothing_is_learned_from_a_shallow_clone() {
    let place = Worktrees::new(1);
    let fork_point = git(&place.main(), &["rev-parse", "HEAD"]);
    for step in ["on", "and on"] {
        write(&place.main(), "b", step);
        commit(&place.main(), step);
    }
    place.push();
    git(&place.main(), &["push", "-q", "origin", &format!("{fork_point}:refs/heads/t1")]);
    let clone = place.root().join("shallow");
    let from = format!("file://{}", place.origin().display());
    git(place.root(), &["clone", "-q", "--depth", "1", "--no-single-branch", &from, "shallow"]);
    let tree = place.tree("t1");
    git(&clone, &["worktree", "add", "-q", tree.to_str().unwrap(), "t1"]);
    let file = place.root().join("merges");
    let merged = || {
        let found = read(&tree);
        judge(&found, &[row(&found, &tree)], Want::Verdict, &Known::open(&file), &mut Nobody).remove(0).merged
    };
    assert_eq!((merged(), file.exists()), (None, false));
    git(&clone, &["fetch", "-q", "--unshallow"]);
    assert_eq!((merged(), file.exists()), (Some(Proof::Ancestor), true), "asked again once it can be told");
}

#[test]
fn a12_a_fresh_branch_is_never_finished() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    let fresh = |why: &str| {
        let judged = verdict(&tree, &tree);
        assert_eq!((judged.merged, judged.has_own_commits, judged.is_finished()), (Some(Proof::Ancestor), false, false), "{why}");
    };
    fresh("at the base");
    write(&place.main(), "b", "");
    commit(&place.main(), "on");
    place.push();
    fresh("the base went on");
    git(&tree, &["merge", "-q", "--ff-only", "origin/main"]);
    fresh("brought forward");
    write(&place.main(), "c", "");
    commit(&place.main(), "on");
    place.push();
    git(&tree, &["rebase", "-q", "origin/main"]);
    fresh("rebased without a commit");
    std::fs::remove_file(place.main().join(".git/logs/refs/heads/t1")).unwrap();
    fresh("without a log");
    write(&tree, "a", "work\n");
    assert!(!verdict(&tree, &tree).is_clean());
}

#[test]
fn a12_a_detached_worktree_that_was_only_brought_forward_is_not_finished() {
    let place = Worktrees::new(1);
    let tree = place.tree("loose");
    git(&place.main(), &["worktree", "add", "-q", "--detach", tree.to_str().unwrap(), "main"]);
    write(&place.main(), "b", "");
    commit(&place.main(), "on");
    place.push();
    git(&tree, &["rebase", "-q", "origin/main"]);
    let judged = verdict(&tree, &tree);
    assert_eq!((judged.merged, judged.has_own_commits), (Some(Proof::Ancestor), false));
    write(&tree, "a", "work\n");
    commit(&tree, "work");
    write(&place.main(), "c", "");
    commit(&place.main(), "on");
    place.push();
    git(&tree, &["rebase", "-q", "origin/main"]);
    git(&tree, &["push", "-q", "origin", "HEAD:main"]);
    assert!(verdict(&tree, &tree).is_finished(), "what was rebased with work is work");
}

#[test]
fn work_that_the_base_was_brought_forward_to_is_finished() {
    let place = Worktrees::new(1);
    let tree = with_work(&place, "t1");
    git(&place.main(), &["merge", "-q", "--ff-only", "t1"]);
    place.push();
    assert!(verdict(&tree, &tree).is_finished(), "the base's own line has the branch's commits now");
}

#[test]
fn a19_the_base_is_what_origin_was_last_seen_to_have() {
    let place = Worktrees::new(1);
    let tree = with_work(&place, "t1");
    let other = place.root().join("other");
    git(place.root(), &["clone", "-q", "origin.git", "other"]);
    git(&tree, &["push", "-q", "origin", "t1"]);
    git(&other, &["fetch", "-q", "origin"]);
    git(&other, &["merge", "-q", "--squash", "origin/t1"]);
    commit(&other, "squashed elsewhere");
    git(&other, &["push", "-q", "origin", "main"]);
    assert_eq!(verdict(&tree, &tree).merged, None, "not seen yet");
    git(&tree, &["fetch", "-q", "origin"]);
    assert_eq!(verdict(&tree, &tree).merged, Some(Proof::SameTree), "the local branch is behind and counts for nothing");
    git(&place.main(), &["merge", "-q", "--no-ff", "-m", "local only", "t1"]);
    let second = place.add("t2");
    write(&second, "b", "");
    commit(&second, "more");
    git(&place.main(), &["merge", "-q", "--no-ff", "-m", "local only", "t2"]);
    assert_eq!(verdict(&second, &second).merged, None, "merged into the local branch alone");
}

#[test]
fn a20_the_default_branch_is_never_finished() {
    let place = Worktrees::new(1);
    git(&place.main(), &["switch", "-q", "-c", "work"]);
    let tree = place.tree("default");
    git(&place.main(), &["worktree", "add", "-q", tree.to_str().unwrap(), "main"]);
    commit(&tree, "on the default branch");
    git(&tree, &["push", "-q", "origin", "main"]);
    let found = read(&tree);
    assert!(found.is_default(row(&found, &tree)) && found.is_default(row(&found, &place.main())));
    for one in [tree, place.main()] {
        let judged = verdict(&one, &one);
        assert_eq!((judged.merged, judged.is_finished()), (None, false), "{judged:?}");
    }
}

#[test]
fn a45_a46_a_sparse_worktree_is_clean_and_its_own_changes_are_not() {
    let place = Worktrees::new(120);
    let tree = place.add("t1");
    for cone in [true, false] {
        git(&tree, &["sparse-checkout", "set", if cone { "--cone" } else { "--no-cone" }, "src/part-1"]);
        assert!(!tree.join("src/part-0").exists());
        assert!(verdict(&tree, &tree).is_clean(), "what is left out is not deleted");
        write(&tree, "src/part-1/file-60", "changed\n");
        assert_eq!(verdict(&tree, &tree).changes.unwrap().tracked, 1);
        git(&tree, &["restore", "src/part-1/file-60"]);
        git(&tree, &["sparse-checkout", "disable"]);
    }
    git(&tree, &["sparse-checkout", "set", "--cone", "--sparse-index", "src/part-1"]);
    assert!(verdict(&tree, &tree).is_clean());
}

#[test]
fn a26_what_is_staged_untracked_or_in_a_submodule_is_not_clean() {
    let place = Worktrees::new(1);
    git(&place.main(), &["submodule", "--quiet", "add", place.origin().to_str().unwrap(), "inner"]);
    write(&place.main(), ".gitignore", "ignored\n");
    commit(&place.main(), "with a submodule");
    place.push();
    let tree = place.add("t1");
    git(&tree, &["submodule", "--quiet", "update", "--init"]);
    let counts = || verdict(&tree, &tree).changes.map(|changes| (changes.tracked, changes.untracked));
    write(&tree, "ignored", "");
    assert_eq!(counts(), Some((0, 0)));
    write(&tree, "inner/a", "changed\n");
    assert_eq!(counts(), Some((1, 0)), "looked into");
    git(&tree.join("inner"), &["checkout", "-q", "a"]);
    assert_eq!(counts(), Some((0, 0)));
    git(&tree.join("inner"), &["switch", "-q", "-c", "own"]);
    commit(&tree.join("inner"), "nowhere else");
    git(&tree.join("inner"), &["switch", "-q", "--detach", "HEAD~1"]);
    assert_eq!(counts(), Some((1, 0)), "a commit that would go with the folder");
    git(&tree.join("inner"), &["push", "-q", "origin", "own"]);
    assert_eq!(counts(), Some((0, 0)));
    write(&tree, "new", "");
    assert_eq!(counts(), Some((0, 1)));
    git(&tree, &["add", "new"]);
    assert_eq!(counts(), Some((1, 0)));
}

#[test]
fn nothing_is_written_by_reading() {
    let place = Worktrees::new(3);
    let tree = with_work(&place, "t1");
    write(&tree, "src/part-0/file-0", "merge me\n");
    commit(&tree, "two files");
    write(&place.main(), "src/part-0/file-1", "elsewhere\n");
    write(&place.main(), "a", "conflict\n");
    commit(&place.main(), "needs a trial merge");
    place.push();
    std::fs::File::options().write(true).open(tree.join("a")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let before = contents(&place.main().join(".git"));
    let _ = verdict(&tree, &tree);
    assert_eq!(contents(&place.main().join(".git")), before);
}

/// Every file below a folder with its bytes, links and times left out.
fn contents(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (std::collections::BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

#[test]
fn a_persons_merge_drivers_and_filters_are_not_run() {
    let place = Worktrees::new(3);
    let ran = place.root().join("ran");
    let program = place.root().join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&place.main(), ".gitattributes", "a merge=own\n");
    commit(&place.main(), "attributes");
    place.push();
    git(&place.main(), &["config", "merge.own.driver", &format!("{} %A %O %B", program.display())]);
    let tree = place.add("t1");
    write(&tree, "a", "a\nours\n");
    commit(&tree, "ours");
    write(&place.main(), "a", "theirs\na\n");
    commit(&place.main(), "theirs");
    place.push();
    assert_eq!(verdict(&tree, &tree).merged, None);
    assert!(!ran.exists());
}

#[test]
fn a_crowd_of_worktrees_gets_every_verdict_right() {
    let (place, crowd) = Worktrees::crowd(60, 2);
    let known = Known::open(&place.root().join("merges"));
    for round in ["cold", "remembered"] {
        let found = read(&place.main());
        let rows: Vec<_> = crowd.iter().map(|(tree, _)| row(&found, tree)).collect();
        let judged = judge(&found, &rows, Want::Verdict, &known, &mut Nobody);
        for ((tree, kind), one) in crowd.iter().zip(&judged) {
            assert!(kind.is_said_by(one), "{round}: {kind:?} {tree:?} {one:?}");
        }
    }
    let file = std::fs::read(place.root().join("merges")).unwrap();
    let again = Known::open(&place.root().join("merges"));
    let found = read(&place.main());
    let rows: Vec<_> = found.checkouts.iter().collect();
    judge(&found, &rows, Want::Verdict, &again, &mut Nobody);
    assert!(std::fs::read(place.root().join("merges")).unwrap().len() >= file.len());
}
