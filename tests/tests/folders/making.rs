//! Worktrees: what is planned, what is refused, and what is made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use frith_store::git::{ForkFolder, Limits, MakeError, PlanError, Progress, ReadError, Unfinished, Way, make, plan, read, remove, seen};

use crate::support::*;

#[test]
fn a_worktree_on_a_new_branch_at_head() {
    let place = Place::with_repository();
    place.write("a", "uncommitted\n");
    let head = git(&place.source(), &["rev-parse", "HEAD"]);
    let plan = place.plan("f1").unwrap();
    assert_eq!((plan.way(), plan.base()), (Way::NewBranch, Some(head.as_str())));
    assert_eq!(place.forks(), [""; 0], "a plan touches nothing");
    let lines: Vec<_> = plan.lines().into_iter().map(|line| line.text).collect();
    let mut follower = Follower::default();
    let made = make(&plan, &mut follower).unwrap();
    assert_whole(&place, &made);
    assert_eq!((made.way, made.branch.as_deref(), made.commit), (Way::NewBranch, Some("frith/fork-f1"), Some(head)));
    assert_eq!(made.start_in, made.path);
    assert_eq!(std::fs::metadata(made.path.join("run")).unwrap().mode() & 0o111, 0o111);
    assert_eq!(std::fs::metadata(place.home().join("forks")).unwrap().mode() & 0o777, 0o700);
    let told = follower.told.into_inner();
    let shown: Vec<_> = told.iter().filter_map(|one| if let Progress::Command(line) = one { Some(&line.text) } else { None }).collect();
    assert_eq!(shown, lines.iter().collect::<Vec<_>>());
    assert!(lines[0].starts_with("git worktree add --no-checkout --no-track -b frith/fork-f1 -- /"), "{lines:?}");
    assert!(told.contains(&Progress::Output { line: "Updating files: 100% (3/3), done.".into(), percent: Some(100) }), "{told:?}");
    assert_eq!(names(&place.source().join(".git/worktrees")), ["f1"]);
}

#[test]
fn again_is_a_reuse_and_the_agent_starts_where_the_parent_does() {
    let place = Place::with_repository();
    let fork = place.fork("f1");
    let source = place.source().join("sub");
    let first = make(&plan(&source, &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    assert_eq!(first.start_in, first.path.join("sub"));
    std::fs::write(first.path.join("sub/new"), "work").unwrap();
    let again = plan(&source, &fork, Limits::default()).unwrap();
    assert_eq!(again.way(), Way::Reuse);
    let mut follower = Follower::default();
    let made = make(&again, &mut follower).unwrap();
    assert_eq!((made.way, made.branch, made.start_in), (Way::Reuse, first.branch, first.start_in));
    assert_eq!(follower.told.into_inner(), [Progress::Reusing { folder: first.path.clone() }]);
    assert_eq!(std::fs::read_to_string(first.path.join("sub/new")).unwrap(), "work");
}

#[test]
fn a67_a_reused_folder_without_its_start_is_refused() {
    let place = Place::with_repository();
    let fork = place.fork("f1");
    let source = place.source().join("sub");
    let made = make(&plan(&source, &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    std::fs::remove_dir_all(&made.start_in).unwrap();
    let refused = plan(&source, &fork, Limits::default()).unwrap_err();
    assert!(matches!(&refused, PlanError::StartGone { folder } if *folder == made.start_in), "{refused}");
}

#[test]
fn what_cannot_be_forked_is_refused_before_anything_is_touched() {
    let place = Place::new();
    let temp = place.temp.path().to_path_buf();
    let try_plan = |source: &Path| plan(source, &place.fork("f1"), Limits::default()).unwrap_err();
    assert!(matches!(try_plan(Path::new("source")), PlanError::Relative { .. }));
    assert!(matches!(try_plan(&temp.join("none")), PlanError::SourceGone { .. }));
    std::fs::write(temp.join("file"), "").unwrap();
    assert!(matches!(try_plan(&temp.join("file")), PlanError::SourceNotAFolder { .. }));
    assert!(matches!(try_plan(&temp.join("file/below")), PlanError::SourceNotAFolder { .. }));
    assert!(matches!(try_plan(&place.home()), PlanError::SourceIsHome { .. }));
    git(&temp, &["init", "-q", "empty"]);
    assert!(matches!(try_plan(&temp.join("empty")), PlanError::NoCommit { .. }));
    if git_may_fail(&temp, &["init", "-q", "--ref-format=reftable", "tables"]).status.success() {
        commit(&temp.join("tables"), "first");
        let refused = try_plan(&temp.join("tables"));
        assert!(matches!(refused, PlanError::Repository(ReadError::Unsupported { .. })), "{refused}");
    }
    git(&temp, &["init", "-q", "--bare", "bare.git"]);
    assert!(matches!(try_plan(&temp.join("bare.git")), PlanError::Bare { .. }));
    assert!(matches!(try_plan(&temp.join("bare.git/refs")), PlanError::Bare { .. }));
    assert!(matches!(try_plan(&temp.join("empty/.git/refs")), PlanError::Repository(ReadError::InsideGitData { .. })));
    new_repository(&place.source());
    place.write("untracked/file", "");
    let refused = try_plan(&place.source().join("untracked"));
    assert!(matches!(&refused, PlanError::SubfolderNotCommitted { folder, .. } if folder == Path::new("untracked")), "{refused}");
    std::fs::create_dir(temp.join("broken")).unwrap();
    std::fs::write(temp.join("broken/.git"), "gitdir: /nowhere\n").unwrap();
    assert!(matches!(try_plan(&temp.join("broken")), PlanError::Repository(ReadError::BrokenLink { .. })));
    std::fs::create_dir(place.source().join("broken")).unwrap();
    std::fs::write(place.source().join("broken/.git"), "gitdir: /nowhere\n").unwrap();
    let refused = try_plan(&place.source().join("broken"));
    assert!(matches!(refused, PlanError::Repository(ReadError::BrokenLink { .. })), "never the repository further up");
    assert!(refused.hint().is_some());
    assert_eq!(names(&place.home()), [""; 0]);
}

#[test]
fn what_stands_at_the_place_is_not_taken_for_a_finished_folder() {
    let place = Place::with_repository();
    let target = place.fork("f1").folder();
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::write(&target, "").unwrap();
    assert!(matches!(place.plan("f1"), Err(PlanError::TargetNotAFolder { .. })));
    std::fs::remove_file(&target).unwrap();
    symlink(place.source(), &target).unwrap();
    assert!(matches!(place.plan("f1"), Err(PlanError::TargetNotAFolder { .. })));
    std::fs::remove_file(&target).unwrap();
    std::fs::create_dir(&target).unwrap();
    assert_eq!(place.plan("f1").unwrap().way(), Way::NewBranch, "an empty folder is nothing");
    let made = place.make("f1");
    std::fs::remove_file(place.source().join(".git/worktrees/f1/index")).unwrap();
    assert!(matches!(place.plan("f1"), Err(PlanError::NotFinished { why: Unfinished::NeverCheckedOut, .. })));
    std::fs::remove_dir_all(place.source().join(".git/worktrees/f1")).unwrap();
    assert!(matches!(place.plan("f1"), Err(PlanError::NotFinished { why: Unfinished::GitDataGone, .. })));
    assert!(made.path.join("a").exists());
    if !is_root() {
        let forks = place.home().join("forks");
        set_mode(&forks, 0);
        assert!(matches!(place.plan("f2"), Err(PlanError::TargetUnreadable { .. })));
        set_mode(&forks, 0o700);
    }
}

#[test]
fn a35_an_operation_in_progress_is_named_and_the_fork_starts_at_head() {
    let place = Place::with_repository();
    let top = place.source();
    git(&top, &["switch", "-q", "-c", "other"]);
    place.write("a", "other\n");
    let other = commit(&top, "other");
    git(&top, &["switch", "-q", "main"]);
    place.write("a", "main\n");
    commit(&top, "main");
    let operation = || read::find(&top).unwrap().unwrap().operation().map(read::Operation::name);
    assert_eq!(operation(), None);
    for (begin, end, name) in [
        (vec!["merge", "other"], vec!["merge", "--abort"], "merge"),
        (vec!["cherry-pick", "other"], vec!["cherry-pick", "--abort"], "cherry-pick"),
        (vec!["revert", "HEAD~1", "--no-commit"], vec!["revert", "--abort"], "revert"),
        (vec!["bisect", "start"], vec!["bisect", "reset"], "bisect"),
        (vec!["rebase", "other"], vec!["rebase", "--abort"], "rebase"),
    ] {
        git_may_fail(&top, &begin);
        assert_eq!(operation(), Some(name));
        if name == "rebase" {
            std::fs::write(top.join(".git/index.lock"), "").unwrap();
            assert!(read::find(&top).unwrap().unwrap().index_locked());
            let plan = place.plan("f1").unwrap();
            assert_eq!(plan.parent_operation().map(read::Operation::name), Some("rebase"));
            let made = make(&plan, &mut Follower::default()).unwrap();
            assert_eq!(made.commit.as_deref(), Some(other.as_str()), "HEAD is the commit rebased onto");
            assert!(top.join(".git/index.lock").exists(), "the parent's lock is the parent's");
            std::fs::remove_file(top.join(".git/index.lock")).unwrap();
        }
        git(&top, &end);
    }
}

#[test]
fn odd_names_survive_from_end_to_end() {
    let place = Place::new();
    for (number, name) in [&b"a b"[..], b"new\nline", b"it's", b"-f", b"no\xffutf8", "\u{1b}[31mümlaut".as_bytes()].iter().enumerate() {
        let top = place.temp.path().join(OsStr::from_bytes(name));
        if std::fs::create_dir(&top).is_err() {
            continue; // The file system takes only UTF-8.
        }
        new_repository(&top);
        std::fs::write(top.join(OsStr::from_bytes(b"odd\n\xfe")), "odd").unwrap_or_default();
        commit(&top, "odd");
        let home = top.join(OsStr::from_bytes(b"home \n"));
        std::fs::create_dir(&home).unwrap();
        let fork = ForkFolder::new(&home, &format!("f{number}")).unwrap();
        let mut follower = Follower::default();
        let made = make(&plan(&top, &fork, Limits::default()).unwrap(), &mut follower).unwrap();
        assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
        for line in follower.told.into_inner() {
            if let Progress::Command(line) = line {
                assert!(!line.text.contains(char::is_control), "{:?}", line.text);
            }
        }
        let state = seen(&fork).unwrap();
        remove(&fork, &state, Limits::default(), &mut Follower::default()).unwrap();
        assert_eq!(worktrees(&top), 1);
        assert!(!made.path.exists());
    }
}

#[test]
fn a40_a44_a72_the_shared_configuration_is_left_as_found() {
    let place = Place::with_repository();
    let top = place.source();
    for (key, value) in [
        ("core.hooksPath", ".husky/_"),
        ("branch.autoSetupMerge", "always"),
        ("branch.autoSetupRebase", "always"),
        ("worktree.useRelativePaths", "true"),
        ("push.default", "upstream"),
    ] {
        git(&top, &["config", key, value]);
    }
    git(&top, &["remote", "add", "origin", top.to_str().unwrap()]);
    git(&top, &["fetch", "-q", "origin"]);
    git(&top, &["branch", "-q", "--set-upstream-to=origin/main"]);
    let config = std::fs::read(top.join(".git/config")).unwrap();
    let made = place.make("f1");
    let unchanged = || std::fs::read(top.join(".git/config")).unwrap() == config;
    assert!(unchanged());
    assert!(!git_may_fail(&made.path, &["rev-parse", "@{upstream}"]).status.success(), "a push has no place to go by itself");
    assert!(!top.join(".git/worktrees/f1/config.worktree").exists());
    remove(&place.fork("f1"), &seen(&place.fork("f1")).unwrap(), Limits::default(), &mut Follower::default()).unwrap();
    assert!(unchanged());
    assert!(make(&place.plan("f2").unwrap(), &mut Follower { cancel_before: Some(5), ..Follower::default() }).is_err());
    assert!(unchanged());
}

#[test]
fn a39_a_persons_configuration_does_not_change_what_is_made() {
    let place = Place::with_repository();
    let top = place.source();
    let script = place.temp.path().join("fsmonitor");
    std::fs::write(&script, "#!/bin/sh\nexit 1\n").unwrap();
    for (key, value) in [
        ("color.ui", "always"),
        ("log.showSignature", "true"),
        ("status.short", "true"),
        ("status.showUntrackedFiles", "no"),
        ("submodule.recurse", "true"),
        ("checkout.guess", "true"),
        ("worktree.guessRemote", "true"),
        ("core.quotePath", "true"),
        ("core.fsmonitor", script.to_str().unwrap()),
        ("alias.worktree", "!false"),
        ("advice.detachedHead", "true"),
        ("core.pager", "false"),
    ] {
        git(&top, &["config", key, value]);
    }
    git(&top, &["tag", "frith/fork-f1"]);
    let mut follower = Follower::default();
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    assert!(made.path.join("a").exists());
    std::fs::write(made.path.join("untracked"), "").unwrap();
    let changes = read::find(&made.path).unwrap().unwrap().changes().unwrap();
    assert_eq!((changes.tracked, changes.untracked), (0, 1));
}

#[test]
fn hooks_run_once_and_where_the_folder_stays() {
    let place = Place::with_repository();
    let hook = place.source().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\npwd >> ran\necho \"$@\" >> ran\nexit 3\n").unwrap();
    set_mode(&hook, 0o755);
    let mut follower = Follower::default();
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    let head = made.commit.unwrap();
    let expected = format!("{}\n{} {head} 1\n", made.path.display(), "0".repeat(40));
    assert_eq!(std::fs::read_to_string(made.path.join("ran")).unwrap(), expected);
    let told = follower.told.into_inner();
    assert!(told.iter().any(|one| matches!(one, Progress::HookFailed { reason } if reason.contains("exit code 3"))), "{told:?}");
}

#[test]
fn a45_sparse_checkouts_stay_sparse() {
    let place = Place::with_repository();
    let top = place.source();
    place.write("left/out", "x");
    place.write("kept/in", "x");
    commit(&top, "more");
    git(&top, &["sparse-checkout", "set", "--cone", "--sparse-index", "kept"]);
    let config = std::fs::read(top.join(".git/config")).unwrap();
    let made = place.make("f1");
    assert_eq!(names(&made.path), [".git", "a", "kept", "run"]);
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(read::find(&made.path).unwrap().unwrap().changes().unwrap().total(), 0);
    assert_eq!(std::fs::read(top.join(".git/config")).unwrap(), config);
    place.write("left/untracked", "x");
    let refused = plan(&top.join("left"), &place.fork("f2"), Limits::default()).unwrap_err();
    assert!(matches!(refused, PlanError::SubfolderSparse { .. }), "{refused}");
    let made = make(&plan(&top.join("kept"), &place.fork("f2"), Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    assert!(made.start_in.join("in").exists());
    let state = seen(&place.fork("f2")).unwrap();
    remove(&place.fork("f2"), &state, Limits::default(), &mut Follower::default()).unwrap();
}

#[test]
fn submodules_are_repositories_of_their_own_and_are_left_empty() {
    let place = Place::with_repository();
    let library = place.temp.path().join("library");
    new_repository(&library);
    git(&place.source(), &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]);
    commit(&place.source(), "submodule");
    let mut follower = Follower::default();
    let made = make(&place.plan("f1").unwrap(), &mut follower).unwrap();
    assert_eq!(names(&made.path.join("lib")), [""; 0]);
    assert!(follower.told.into_inner().contains(&Progress::SubmodulesEmpty { count: 1 }));
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");

    let module = place.source().join("lib");
    let repository = read::find(&module.join("sub")).unwrap().unwrap();
    assert_eq!(repository.top(), Some(module.canonicalize().unwrap().as_path()), "the submodule's repository, not the outer one");
    let fork = place.fork("f2");
    let inner = make(&plan(&module.join("sub"), &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    assert_eq!(git(&inner.path, &["rev-parse", "--show-toplevel"]), inner.path.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(inner.start_in.join("b")).unwrap(), "b\n");
    remove(&fork, &seen(&fork).unwrap(), Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(worktrees(&module), 1);

    std::fs::write(module.join("a"), "changed").unwrap();
    std::fs::write(module.join("new"), "new").unwrap();
    let changes = read::find(&place.source()).unwrap().unwrap().changes().unwrap();
    assert_eq!((changes.tracked, changes.untracked), (1, 0));
}

#[test]
fn a64_every_spelling_is_the_same_repository() {
    let place = Place::with_repository();
    symlink(place.source(), place.temp.path().join("link")).unwrap();
    let spellings = [place.temp.path().join("link/sub/.."), place.temp.path().join("link"), place.source().join("sub/../../source")];
    for (number, spelling) in spellings.iter().enumerate() {
        let plan = plan(spelling, &place.fork(&format!("f{number}")), Limits::default()).unwrap();
        assert_eq!(plan.source(), place.source().canonicalize().unwrap());
        let made = make(&plan, &mut Follower::default()).unwrap();
        assert_eq!(made.start_in, made.path);
    }
    assert_eq!(names(&place.home().join("locks")).len(), 2, "one lock for the forks, one for the repository");
    let linked = place.fork("f0").folder();
    let made = make(&plan(&linked, &place.fork("f9"), Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    assert_whole(&place, &made);
    assert_eq!(names(&place.home().join("locks")).len(), 2, "a linked worktree is the same repository");
}

#[test]
fn a43_a_foreign_owner_is_named() {
    if !is_root() {
        return; // Only root can give a repository away.
    }
    let place = Place::with_repository();
    for path in [place.source(), place.source().join(".git")] {
        std::os::unix::fs::chown(path, Some(12345), None).unwrap();
    }
    let refused = place.plan("f1").unwrap_err();
    assert!(matches!(&refused, PlanError::Repository(ReadError::DubiousOwnership { .. })), "{refused}");
    assert!(refused.hint().unwrap().contains("safe.directory"));
}

#[test]
fn a_folder_deleted_by_hand_comes_back_on_its_branch() {
    let place = Place::with_repository();
    let made = place.make("f1");
    std::fs::write(made.path.join("more"), "work").unwrap();
    let work = commit(&made.path, "work");
    std::fs::remove_dir_all(&made.path).unwrap();
    let again = place.plan("f1").unwrap();
    assert_eq!((again.way(), again.base()), (Way::ExistingBranch, Some(work.as_str())));
    let made = make(&again, &mut Follower::default()).unwrap();
    assert_whole(&place, &made);
    assert!(made.path.join("more").exists());

    std::fs::remove_dir_all(&made.path).unwrap();
    git(&place.source(), &["worktree", "prune"]);
    assert_whole(&place, &place.make("f1"));

    std::fs::remove_dir_all(&made.path).unwrap();
    git(&place.source(), &["worktree", "lock", "--reason", "on a stick", made.path.to_str().unwrap()]);
    let refused = place.plan("f1").unwrap_err();
    assert!(matches!(&refused, PlanError::GoneButLocked { reason, .. } if reason == "on a stick"), "{refused}");
    git(&place.source(), &["worktree", "unlock", made.path.to_str().unwrap()]);
    git(&place.source(), &["worktree", "prune"]);

    let elsewhere = place.temp.path().join("elsewhere");
    git(&place.source(), &["worktree", "add", "-q", elsewhere.to_str().unwrap(), "frith/fork-f1"]);
    let refused = place.plan("f1").unwrap_err();
    assert!(matches!(&refused, PlanError::BranchInUse { folder, .. } if folder.ends_with("elsewhere")), "{refused}");
    git(&place.source(), &["worktree", "remove", elsewhere.to_str().unwrap()]);
    git(&place.source(), &["switch", "-q", "frith/fork-f1"]);
    assert!(matches!(place.plan("f1"), Err(PlanError::BranchInUse { .. })));
}

#[test]
fn a69_a_home_that_moved_is_linked_again() {
    let place = Place::with_repository();
    place.make("f1");
    std::fs::rename(place.home(), place.temp.path().join("home2")).unwrap();
    let fork = ForkFolder::new(&place.temp.path().join("home2"), "f1").unwrap();
    let made = make(&plan(&place.source(), &fork, Limits::default()).unwrap(), &mut Follower::default()).unwrap();
    assert_eq!(made.way, Way::Reuse);
    assert!(git(&place.source(), &["worktree", "list", "--porcelain"]).contains(made.path.to_str().unwrap()));
    assert_eq!(git(&made.path, &["rev-parse", "--git-path", "HEAD"]), place.source().join(".git/worktrees/f1/HEAD").to_str().unwrap());
}

#[test]
fn a_plan_that_is_out_of_date_is_refused() {
    let place = Place::with_repository();
    let old = place.plan("f1").unwrap();
    place.make("f1");
    assert!(matches!(make(&old, &mut Follower::default()), Err(MakeError::Stale { .. })));
    let planned = place.plan("f2").unwrap();
    commit(&place.source(), "the parent goes on");
    let made = make(&planned, &mut Follower::default()).unwrap();
    assert_eq!(made.commit.as_deref(), planned.base(), "the commit planned is the one taken");
}

#[test]
fn facts_about_a_repository() {
    let place = Place::with_repository();
    let top = place.source();
    place.write(".mcp.json", "committed");
    place.write(".gitignore", "ignored\n");
    let head = commit(&top, "mcp");
    git(&top, &["config", "--unset", "core.bare"]);
    let repository = read::find(&top.join("sub")).unwrap().unwrap();
    assert!(!repository.is_bare(), "a31: not said is not bare");
    assert_eq!(repository.head().unwrap(), read::Head::Branch { name: "main".into(), commit: head.clone() });
    assert_eq!((repository.branch_tip("main").unwrap(), repository.branch_tip("none").unwrap()), (Some(head), None));
    assert_eq!(repository.committed(Path::new(".mcp.json")).unwrap().as_deref(), Some(&b"committed"[..]));
    assert_eq!(repository.committed(Path::new("sub")).unwrap(), None);
    place.write("staged", "staged");
    git(&top, &["add", "staged"]);
    place.write("staged", "and changed");
    place.write("a", "changed");
    place.write("ignored", "x");
    place.write("new/one", "x");
    place.write("new/two", "x");
    let repository = read::find(&top).unwrap().unwrap();
    assert_eq!(repository.committed(Path::new("staged")).unwrap().as_deref(), Some(&b"staged"[..]));
    assert_eq!(repository.committed(Path::new("new/one")).unwrap(), None);
    let changes = repository.changes().unwrap();
    assert_eq!((changes.tracked, changes.untracked, changes.total()), (2, 2, 4));
    assert!(read::find(place.temp.path()).unwrap().is_none());
}
