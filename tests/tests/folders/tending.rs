//! Records of folders that are gone, orphans, and build caches.

use std::os::unix::fs::symlink;

use frith_store::git::{Limits, RemoveError, forget_worktree, make_worktree, repair_worktree, shed_cache};

use crate::support::*;

#[test]
fn a13_a_record_is_dropped_only_when_its_folder_is_gone_and_nobody_locked_it() {
    let place = Place::with_repository();
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    let forget = || forget_worktree(&place.home(), &made.id, Limits::default(), &mut Follower::default());
    assert!(matches!(forget(), Err(RemoveError::NotGone { .. })));
    let away = place.temp.path().join("unmounted");
    std::fs::rename(&made.path, &away).unwrap();
    let locked = forget().unwrap_err();
    assert!(matches!(&locked, RemoveError::Locked { reason, .. } if *reason == lock_of("t1")), "{locked}");
    git(&place.source(), &["worktree", "unlock", made.path.to_str().unwrap()]);
    std::fs::rename(&away, &made.path).unwrap();
    assert!(matches!(forget(), Err(RemoveError::NotGone { .. })));
    std::fs::remove_dir_all(&made.path).unwrap();
    let before = config(&place.source());
    forget().unwrap();
    assert_eq!((worktrees(&place.source()), git(&place.source(), &["branch", "--list", "t1"])), (1, "t1".into()));
    assert_eq!(config(&place.source()), before);
    assert!(forget().is_err());
}

#[test]
fn a69_a_moved_root_or_repository_is_led_together_again() {
    let place = Place::with_repository();
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    let other = make_worktree(&place.new_worktree("t2"), &mut Follower::default()).unwrap();
    let (moved_root, moved) = (place.temp.path().join("elsewhere"), place.temp.path().join("moved"));
    std::fs::rename(place.root(), &moved_root).unwrap();
    std::fs::rename(place.source(), &moved).unwrap();
    let before = config(&moved);
    let folder = moved_root.join("source-t1");
    let id = repair_worktree(&place.home(), &moved, &folder, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(id.stamp, made.id.stamp);
    assert_eq!((git(&folder, &["status", "--porcelain"]), config(&moved)), (String::new(), before));
    let second = moved_root.join("source-t2");
    repair_worktree(&place.home(), &moved, &second, Limits::default(), &mut Follower::default()).unwrap();
    assert_eq!(git(&second, &["rev-parse", "HEAD"]), other.commit);

    // A copy is no worktree, and must not take the record of the one it was copied from.
    let copy = place.temp.path().join("source-t1");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(folder.join(".git"), copy.join(".git")).unwrap();
    let refused = repair_worktree(&place.home(), &moved, &copy, Limits::default(), &mut Follower::default()).unwrap_err();
    assert!(matches!(refused, RemoveError::RecordGone { .. }), "{refused}");
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
}

#[test]
fn a_cache_is_deleted_only_when_it_is_one_and_idle() {
    let place = Place::with_repository();
    place.write(".gitignore", "target\nlinked\n");
    commit(&place.source(), "ignore");
    let cache = place.source().join("target");
    place.write("target/deep/object", "0123456789");
    let shed = |cache: &std::path::Path, idle_since_ms: i64| {
        shed_cache(&place.home(), &place.source(), cache, idle_since_ms, Limits::default(), &mut Follower::default())
    };
    let refused = |cache: &std::path::Path, since: i64, words: &str| {
        let error = shed(cache, since).unwrap_err();
        assert!(matches!(&error, RemoveError::NotACache { .. }) && error.to_string().contains(words), "{error}");
    };
    refused(&cache, i64::MAX, "CACHEDIR.TAG");
    place.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    refused(&cache, 0, "just now");
    refused(&place.source(), i64::MAX, "inside the checkout");
    refused(&place.home(), i64::MAX, "inside the checkout");
    symlink(&cache, place.source().join("linked")).unwrap();
    refused(&place.source().join("linked"), i64::MAX, "inside the checkout");
    git(&place.source(), &["init", "-q", "target/deep"]);
    refused(&cache, i64::MAX, "a checkout is in it");
    std::fs::remove_dir_all(cache.join("deep/.git")).unwrap();
    git(&place.source(), &["add", "-f", "target/deep/object"]);
    refused(&cache, i64::MAX, "tracks files");
    git(&place.source(), &["rm", "-q", "--cached", "target/deep/object"]);
    assert!(shed(&cache, i64::MAX).unwrap() >= 10);
    assert!(!cache.exists() && !place.temp.path().join(".frith-worktrees").exists());
    assert_eq!(git(&place.source(), &["status", "--porcelain"]), "");
}

#[test]
fn a_task_list_is_named_in_the_worktrees_own_settings_and_git_shows_nothing_of_it() {
    use frith_actors::{env::real::host_files::Disk, task_list};
    let place = Place::with_repository();
    let made = make_worktree(&place.new_worktree("t1"), &mut Follower::default()).unwrap();
    let configured = std::fs::read(place.source().join(".git/config")).unwrap();
    task_list::name(&Disk, &made.path, "source-t1").unwrap();
    let file = made.path.join(".claude/settings.local.json");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("\"CLAUDE_CODE_TASK_LIST_ID\": \"source-t1\""), "{written}");
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(place.source().join(".git/config")).unwrap(), configured);
    assert_eq!(task_list::name(&Disk, &made.path, "other"), Err(task_list::TaskListFault::AlreadySet));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);

    place.write(".gitignore", ".claude/\n");
    commit(&place.source(), "ignored");
    let listed = std::fs::read(place.source().join(".git/info/exclude")).ok();
    let made = make_worktree(&place.new_worktree("t2"), &mut Follower::default()).unwrap();
    task_list::name(&Disk, &made.path, "source-t2").unwrap();
    assert_eq!(std::fs::read(place.source().join(".git/info/exclude")).ok(), listed, "what git ignores anyway is not listed");
    place.write(".claude/settings.local.json", "{}");
    git(&place.source(), &["add", "-f", ".claude/settings.local.json"]);
    commit(&place.source(), "committed");
    let made = make_worktree(&place.new_worktree("t3"), &mut Follower::default()).unwrap();
    assert_eq!(task_list::name(&Disk, &made.path, "source-t3"), Err(task_list::TaskListFault::Committed));
}
