//! Which checkouts there are, from wherever one asks, and how they stand.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use frith_store::git::{ReadError, Standing, inventory};
use frith_tests::worktrees::{Worktrees, commit, git, git_may_fail, write};

use crate::support::*;

#[test]
fn a_repository_is_listed_alike_from_each_of_its_checkouts() {
    let place = Worktrees::new(2);
    let (one, two) = (place.add("t1"), place.add("t2"));
    git(&place.main(), &["worktree", "lock", "--reason", "claude | t2 | 2026-01-01", two.to_str().unwrap()]);
    std::fs::create_dir(one.join("deep")).unwrap();
    let from_main = read(&place.main());
    let head = git(&place.main(), &["rev-parse", "origin/main"]);
    assert_eq!(from_main.name, "main");
    assert_eq!((from_main.default_branch.as_deref(), from_main.has_origin), (Some("main"), true));
    let base = from_main.base.as_ref().unwrap();
    assert_eq!((base.name.as_str(), &base.commit), ("origin/main", &head));
    assert_eq!(base.committed_ms, git(&one, &["log", "-1", "--format=%ct"]).parse::<i64>().unwrap() * 1000);
    let shown: Vec<_> =
        from_main.checkouts.iter().map(|one| (one.branch.as_deref().unwrap(), &one.standing, one.lock.as_deref())).collect();
    assert_eq!(
        shown,
        [("main", &Standing::Main, None), ("t1", &Standing::Linked, None), ("t2", &Standing::Linked, Some("claude | t2 | 2026-01-01"))]
    );
    for folder in [one.clone(), one.join("deep"), two] {
        let mut other = read(&folder);
        let current = other.current.replace(from_main.current.clone().unwrap()).unwrap();
        assert!(folder.canonicalize().unwrap().starts_with(current));
        assert_eq!(other, from_main, "from {folder:?}");
    }
    for below in ["deep", "not there", ""] {
        assert_eq!(from_main.around(&one.join(below)).unwrap().branch.as_deref(), Some("t1"));
    }
    assert_eq!(from_main.around(place.root()), None);
    assert!(from_main.is_default(&from_main.checkouts[0]) && !from_main.is_default(&from_main.checkouts[1]));
    assert_eq!(inventory(place.root()).unwrap(), None, "in no repository");
}

#[test]
fn a22_a_worktree_is_known_by_its_record_whatever_its_branch_is_called() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    let before = row(&read(&tree), &tree).id.clone().unwrap();
    git(&tree, &["branch", "-m", "renamed"]);
    let renamed = read(&tree);
    assert_eq!(row(&renamed, &tree).branch.as_deref(), Some("renamed"));
    assert_eq!(row(&renamed, &tree).id.as_ref(), Some(&before));
    git(&place.main(), &["worktree", "lock", tree.to_str().unwrap()]);
    git(&place.main(), &["worktree", "unlock", tree.to_str().unwrap()]);
    git(&place.main(), &["worktree", "move", tree.to_str().unwrap(), place.tree("moved").to_str().unwrap()]);
    assert_eq!(row(&read(&place.main()), &place.tree("moved")).id.as_ref(), Some(&before), "moved by git it stays itself");
    git(&place.main(), &["worktree", "remove", place.tree("moved").to_str().unwrap()]);
    place.add("t1");
    let after = row(&read(&tree), &tree).id.clone().unwrap();
    assert_eq!(after.record, before.record);
    assert_ne!(after.stamp, before.stamp, "a later one at the same place is another");
}

#[test]
fn a31_a_repository_that_never_says_it_is_not_bare_is_not() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    git(&place.main(), &["config", "--unset", "core.bare"]);
    for folder in [place.main(), tree.clone()] {
        let found = read(&folder);
        assert_eq!((found.main.as_deref(), found.checkouts.len()), (Some(place.main().canonicalize().unwrap().as_path()), 2));
        assert!(verdict(&folder, &tree).is_clean());
    }
}

#[test]
fn a_bare_repository_has_worktrees_and_no_main_one() {
    let place = Worktrees::new(1);
    let project = place.root().join("project");
    std::fs::create_dir(&project).unwrap();
    git(&project, &["clone", "-q", "--bare", "../origin.git", ".bare"]);
    std::fs::write(project.join(".git"), "gitdir: ./.bare\n").unwrap();
    git(&project, &["worktree", "add", "-q", "-b", "t1", "t1", "main"]);
    git(&project, &["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    for folder in [project.clone(), project.join(".bare"), project.join("t1")] {
        let found = read(&folder);
        assert_eq!((found.name.to_str(), found.main.as_ref()), (Some("project"), None), "from {folder:?}");
        assert_eq!(found.current.is_some(), folder.ends_with("t1"));
        assert_eq!(found.checkouts.iter().map(|one| one.branch.as_deref()).collect::<Vec<_>>(), [Some("t1")]);
        let told = (found.has_origin, found.default_branch.as_deref(), found.base);
        assert_eq!(told, (true, Some("main"), None), "origin was never fetched from");
    }
    git(&project, &["fetch", "-q", "origin"]);
    assert_eq!(read(&project).base.unwrap().name, "origin/main");
    let named = place.root().join("origin.git");
    git(&named, &["remote", "remove", "origin"]);
    assert_eq!((read(&named).name.to_str(), read(&named).base.unwrap().name.as_str()), (Some("origin"), "main"));
}

#[test]
fn a20_without_an_origin_the_default_branch_is_not_what_the_main_checkout_stands_on() {
    let place = Worktrees::new(1);
    git(&place.main(), &["remote", "remove", "origin"]);
    git(&place.main(), &["switch", "-q", "-c", "wip"]);
    commit(&place.main(), "on");
    let tree = place.tree("default");
    git(&place.main(), &["worktree", "add", "-q", tree.to_str().unwrap(), "main"]);
    let found = read(&place.main());
    assert_eq!((found.has_origin, found.default_branch.as_deref()), (false, Some("main")));
    assert!(found.is_default(row(&found, &tree)) && found.keeps_branch("main") && found.keeps_branch("wip"));
    assert_eq!((verdict(&tree, &tree).is_finished(), found.base.unwrap().name.as_str()), (false, "main"));
    git(&tree, &["branch", "-q", "-m", "main", "trunk"]);
    assert_eq!(read(&place.main()).default_branch.as_deref(), Some("wip"), "nothing tells of another");
    git(&place.main(), &["config", "init.defaultBranch", "trunk"]);
    assert_eq!(read(&place.main()).default_branch.as_deref(), Some("trunk"));
    git(&tree, &["branch", "-q", "-m", "trunk", "master"]);
    assert_eq!(read(&place.main()).base.unwrap().name, "master");
}

#[test]
fn a_default_branch_that_origin_does_not_name_is_found_by_its_usual_names() {
    let place = Worktrees::new(1);
    git(&place.main(), &["remote", "set-head", "origin", "--delete"]);
    assert_eq!(read(&place.main()).default_branch.as_deref(), Some("main"));
    git(&place.main(), &["push", "-q", "origin", "main:trunk"]);
    git(&place.main(), &["remote", "set-head", "origin", "trunk"]);
    assert_eq!(read(&place.main()).base.unwrap().name, "origin/trunk");
    git(&place.main(), &["update-ref", "-d", "refs/remotes/origin/trunk"]);
    assert_eq!(read(&place.main()).base.unwrap().name, "origin/main", "a name that leads nowhere is none");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let place = Worktrees::new(1);
    let top = place.root().join("outer");
    git(place.root(), &["init", "-q", "-b", "main", "outer"]);
    git(&top, &["submodule", "--quiet", "add", place.origin().to_str().unwrap(), "inner"]);
    commit(&top, "with a submodule");
    let inner = read(&top.join("inner"));
    assert_eq!((inner.name.to_str(), inner.checkouts.len()), (Some("inner"), 1));
    assert_eq!(inner.main, Some(top.join("inner").canonicalize().unwrap()));
    assert_eq!(inner.base.unwrap().name, "origin/main");
    git(&top.join("inner"), &["worktree", "add", "-q", "-b", "t1", place.tree("t1").to_str().unwrap()]);
    assert_eq!(read(&place.tree("t1")).main, inner.main);
}

#[test]
fn a32_a_detached_worktree_is_told_by_its_path_and_its_commit() {
    let place = Worktrees::new(1);
    let tree = place.tree("loose");
    git(&place.main(), &["worktree", "add", "-q", "--detach", tree.to_str().unwrap(), "origin/main"]);
    let found = read(&place.main());
    let one = row(&found, &tree);
    assert_eq!((one.branch.as_deref(), one.detached), (None, true));
    assert_eq!(one.commit, found.base.as_ref().map(|base| base.commit.clone()));
    assert!(verdict(&tree, &tree).reachable);
    let commit = commit(&tree, "only here");
    assert_eq!(row(&read(&tree), &tree).commit, Some(commit.clone()));
    assert!(!verdict(&tree, &tree).reachable, "on no reference");
    git(&place.main(), &["tag", "kept", &commit]);
    assert!(verdict(&tree, &tree).reachable);
    frith_tests::worktrees::commit(&tree, "and after it");
    assert!(!verdict(&tree, &tree).reachable);
    git(&place.main(), &["branch", "kept", "HEAD"]);
    git(&tree, &["branch", "-q", "-f", "kept"]);
    git(&tree, &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(verdict(&tree, &tree).reachable, "an ancestor of a branch is on it");
}

#[test]
fn a33_one_bad_worktree_hides_no_other() {
    let place = Worktrees::new(1);
    for number in 0..12 {
        place.add(&format!("t{number:02}"));
    }
    let record = |name: &str| place.main().join(".git/worktrees").join(name);
    git(&place.tree("t00"), &["switch", "-q", "--orphan", "nothing"]);
    std::fs::write(record("t01").join("HEAD"), "").unwrap();
    std::fs::write(record("t02").join("HEAD"), "ref: refs/heads/../../x\n").unwrap();
    std::fs::remove_dir_all(place.tree("t03")).unwrap();
    std::fs::write(place.tree("t04").join(".git"), "gitdir: /nowhere\n").unwrap();
    std::fs::remove_file(place.tree("t05").join(".git")).unwrap();
    std::fs::write(record("t06").join("index"), "garbage").unwrap();
    std::fs::write(record("t07").join("index.lock"), "").unwrap();
    std::fs::remove_file(record("t08").join("commondir")).unwrap();
    std::fs::write(record("t09").join("gitdir"), "").unwrap();
    std::fs::create_dir(record("t98")).unwrap();
    std::fs::write(record("t99"), "a file").unwrap();
    let found = read(&place.main());
    let known: Vec<_> = found.checkouts.iter().collect();
    let judged =
        frith_store::git::judge(&found, &known, frith_store::git::Want::VerdictAndSizes, &frith_store::git::Known::none(), &mut Nobody);
    let told = |name: &str| {
        let number = found.checkouts.iter().position(|one| one.path.ends_with(name)).unwrap_or_else(|| panic!("{name} in {found:#?}"));
        (&found.checkouts[number], &judged[number])
    };
    let broken = |name: &str| matches!(told(name).0.standing, Standing::Broken(_)) && !told(name).1.is_clean();
    let (unborn, verdict) = told("t00");
    assert_eq!((unborn.branch.as_deref(), &unborn.commit, &unborn.standing), (Some("nothing"), &None, &Standing::Linked));
    assert_eq!((verdict.is_clean(), verdict.merged, verdict.is_finished()), (true, None, false), "{verdict:?}");
    assert!(broken("t01") && broken("t02") && broken("t04") && broken("t05"), "{found:#?}");
    assert_eq!((&told("t03").0.standing, told("t03").1.changes, &told("t03").1.sizes), (&Standing::Gone, None, &None));
    assert_eq!((&told("t06").0.standing, told("t06").1.changes), (&Standing::Linked, None), "an index that cannot be read is not clean");
    assert!(told("t07").1.is_clean(), "a locked index can be read");
    assert_eq!((told("t08").0.id.as_ref().unwrap().stamp, told("t08").1.is_finished()), (0, false));
    assert!(!found.checkouts.iter().any(|one| one.path.ends_with("t09")), "a record that is only begun is no worktree yet");
    assert!(told("t10").1.is_clean() && told("t11").1.is_clean());
    assert_eq!(found.checkouts.len(), 1 + 11);
}

#[test]
fn a35_what_git_is_in_the_middle_of_is_named_and_nothing_is_proved_by_it() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    write(&tree, "a", "ours\n");
    commit(&tree, "ours");
    write(&place.main(), "a", "theirs\n");
    commit(&place.main(), "theirs");
    place.push();
    assert_eq!(verdict(&tree, &tree).operation, None);
    git_may_fail(&tree, &["rebase", "origin/main"]);
    let found = read(&tree);
    let one = row(&found, &tree);
    assert_eq!((one.branch.as_deref(), one.detached), (Some("t1"), true), "the branch that is rebased");
    assert_eq!(one.commit, found.base.as_ref().map(|base| base.commit.clone()));
    let judged = verdict(&tree, &tree);
    assert_eq!(judged.operation.map(|operation| operation.name()), Some("rebase"));
    git(&tree, &["checkout", "-q", "--theirs", "a"]);
    git(&tree, &["reset", "-q", "--hard"]);
    let judged = verdict(&tree, &tree);
    assert_eq!((judged.is_clean(), judged.merged, judged.is_finished()), (true, None, false), "half way it stands on the base itself");
    git(&tree, &["rebase", "--abort"]);
    git(&tree, &["bisect", "start"]);
    git(&tree, &["checkout", "-q", "origin/main~1"]);
    let judged = verdict(&tree, &tree);
    assert_eq!((row(&read(&tree), &tree).branch.as_deref(), judged.merged), (Some("t1"), None));
    assert_eq!(judged.operation.map(|operation| operation.name()), Some("bisect"));
}

#[test]
fn a36_a_branch_that_is_checked_out_twice_is_two_rows() {
    let place = Worktrees::new(1);
    let (one, again) = (place.add("t1"), place.tree("again"));
    git(&place.main(), &["worktree", "add", "-q", "-f", again.to_str().unwrap(), "t1"]);
    let found = read(&place.main());
    let both = found.checkouts.iter().filter(|one| one.branch.as_deref() == Some("t1")).count();
    assert_eq!(both, 2);
    assert_ne!(row(&found, &one).id, row(&found, &again).id);
}

#[test]
fn a39_a_persons_configuration_changes_no_word_of_it() {
    let place = Worktrees::new(2);
    let tree = place.add("t1");
    write(&tree, "a", "work\n");
    commit(&tree, "work");
    place.squash("t1");
    place.push();
    let before = (read(&tree), verdict(&tree, &tree));
    for (key, value) in [
        ("log.showSignature", "true"),
        ("color.ui", "always"),
        ("color.status", "always"),
        ("status.short", "true"),
        ("status.branch", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "false"),
        ("core.fsmonitor", "true"),
        ("core.quotePath", "true"),
        ("core.hooksPath", "/nowhere"),
        ("submodule.recurse", "true"),
        ("diff.noprefix", "true"),
        ("diff.ignoreSubmodules", "all"),
        ("merge.conflictStyle", "diff3"),
        ("merge.ours.driver", "false"),
        ("worktree.useRelativePaths", "true"),
    ] {
        git(&place.main(), &["config", key, value]);
    }
    assert_eq!((read(&tree), verdict(&tree, &tree)), before);
    assert!(before.1.is_finished());
    write(&tree, "new", "");
    assert!(!verdict(&tree, &tree).is_clean(), "what a person has left out of their own lists is lost all the same");
}

#[test]
fn any_byte_may_be_in_a_path() {
    let place = Worktrees::new(1);
    let odd = place.root().join("odd \n place");
    let tree = odd.join(OsStr::from_bytes(if cfg!(target_os = "linux") { b"with\xff space\nand line" } else { b"with space\nand line" }));
    std::fs::create_dir(&odd).unwrap();
    let mut command = std::process::Command::new("git");
    command.current_dir(place.main()).args(["worktree", "add", "-q", "-b", "odd"]).arg(&tree);
    assert!(command.status().unwrap().success());
    for folder in [place.main(), tree.clone()] {
        let found = read(&folder);
        assert_eq!(row(&found, &tree).standing, Standing::Linked);
        assert_eq!(found.around(&tree), Some(row(&found, &tree)));
        assert!(verdict(&folder, &tree).is_clean());
    }
}

#[test]
fn links_of_every_kind_lead_to_the_same_worktree() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    let record = place.main().join(".git/worktrees/t1");
    std::fs::write(record.join("gitdir"), "../../../../trees/t1/.git\n").unwrap();
    std::fs::write(tree.join(".git"), "gitdir: ../../main/.git/worktrees/t1\n").unwrap();
    assert_eq!(row(&read(&place.main()), &tree).standing, Standing::Linked, "relative");
    assert_eq!(read(&tree).current, Some(tree.canonicalize().unwrap()));
    std::fs::remove_dir_all(place.tree("gone")).ok();
    let away = place.root().join("away");
    std::fs::rename(&tree, &away).unwrap();
    std::fs::write(away.join(".git"), format!("gitdir: {}\n", record.display())).unwrap();
    assert_eq!(row(&read(&place.main()), &tree).standing, Standing::Gone, "moved by hand");
    let inside = read(&away);
    assert_eq!((row(&inside, &away).standing.clone(), inside.current.as_deref()), (Standing::Linked, away.canonicalize().ok().as_deref()));
    symlink(&away, place.root().join("link")).unwrap();
    assert_eq!(read(&place.root().join("link")), inside);
}

#[test]
fn an_orphan_is_a_folder_whose_record_is_gone() {
    let place = Worktrees::new(1);
    let (lost, kept) = (place.add("lost"), place.add("kept"));
    let hidden = place.main().join(".claude/worktrees/x");
    git(&place.main(), &["worktree", "add", "-q", "-b", "x", hidden.to_str().unwrap()]);
    std::fs::create_dir_all(place.tree("plain")).unwrap();
    std::fs::create_dir_all(place.tree("other")).unwrap();
    std::fs::write(place.tree("other/.git"), "gitdir: /elsewhere/.git/worktrees/other\n").unwrap();
    assert_eq!(read(&kept).orphans, [""; 0].map(std::path::PathBuf::from));
    for name in ["lost", "x"] {
        std::fs::remove_dir_all(place.main().join(".git/worktrees").join(name)).unwrap();
    }
    let expected: Vec<_> = [&hidden, &lost].into_iter().map(|one| one.canonicalize().unwrap()).collect();
    assert_eq!(read(&kept).orphans, expected);
    assert!(matches!(inventory(&lost), Err(ReadError::BrokenLink { .. })), "from inside it there is nothing to list");
    std::fs::remove_dir_all(place.main().join(".git/worktrees")).unwrap();
    assert_eq!(read(&place.main()).orphans, expected[..1], "those beside no known worktree are not searched for");
}

#[test]
fn a43_a_repository_of_another_user_is_refused_by_name() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    if std::os::unix::fs::chown(place.main().join(".git"), Some(54321), None).is_err() {
        return; // Only root can give folders away.
    }
    for folder in [place.main(), tree] {
        let refused = inventory(&folder).unwrap_err();
        assert!(refused.to_string().contains("safe.directory") || matches!(refused, ReadError::Repository { .. }), "{refused}");
    }
    let refused = inventory(&place.main()).unwrap_err();
    assert!(refused.hint().unwrap().contains("safe.directory"));
}

#[test]
fn a52_two_hundred_worktrees_are_one_list() {
    let place = Worktrees::new(1);
    let first = place.add("t0");
    let records = place.main().join(".git/worktrees");
    for number in 1..200 {
        let (record, tree) = (records.join(format!("t{number}")), place.tree(&format!("t{number}")));
        std::fs::create_dir(&record).unwrap();
        std::fs::create_dir(&tree).unwrap();
        for name in ["commondir", "HEAD", "index"] {
            std::fs::copy(records.join("t0").join(name), record.join(name)).unwrap();
        }
        std::fs::write(record.join("gitdir"), format!("{}/.git\n", tree.display())).unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", record.display())).unwrap();
        std::fs::create_dir_all(tree.join("src/part-0")).unwrap();
        for name in ["a", "src/part-0/file-0"] {
            std::fs::copy(first.join(name), tree.join(name)).unwrap();
        }
    }
    let found = read(&first);
    assert_eq!(found.checkouts.len(), 201);
    let known: Vec<_> = found.checkouts.iter().collect();
    let judged =
        frith_store::git::judge(&found, &known, frith_store::git::Want::VerdictAndSizes, &frith_store::git::Known::none(), &mut Nobody);
    assert!(judged.iter().all(|one| one.is_clean() && one.sizes.is_some()), "{judged:#?}");
}
