//! What a worktree holds: its files, its caches, and when something in it last changed.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use frith_store::git::{Known, Sizes, Want, judge, measure};
use frith_tests::worktrees::{Worktrees, commit, write};

use crate::support::*;

const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# made again at any time\n";

fn sizes(tree: &Path) -> Sizes {
    let inventory = read(tree);
    judge(&inventory, &[row(&inventory, tree)], Want::VerdictAndSizes, &Known::none(), &mut Nobody).remove(0).sizes.unwrap()
}

fn allocated(files: &[PathBuf]) -> u64 {
    files.iter().map(|file| file.metadata().unwrap().blocks() * 512).sum()
}

fn set_changed(file: &Path, at_ms: u64) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms)).unwrap();
}

#[test]
fn files_and_caches_are_told_apart() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    let (a, file) = (tree.join("a"), tree.join("src/part-0/file-0"));
    write(&tree, "target/CACHEDIR.TAG", TAG);
    write(&tree, "target/debug/out", &"x".repeat(20_000));
    write(&tree, "target/debug/nested/CACHEDIR.TAG", TAG);
    write(&tree, "build/CACHEDIR.TAG", "Signature: another\n");
    let cached = ["CACHEDIR.TAG", "debug/out", "debug/nested/CACHEDIR.TAG"].map(|name| tree.join("target").join(name));
    for (number, file) in [&a, &file, &cached[0], &cached[1], &cached[2], &tree.join("build/CACHEDIR.TAG")].into_iter().enumerate() {
        set_changed(file, 1_000_000 + number as u64);
    }
    set_changed(&cached[1], 5_000_000);
    let found = sizes(&tree);
    assert_eq!((found.files, found.bytes), (3, allocated(&[a, file, tree.join("build/CACHEDIR.TAG")])));
    assert_eq!((found.cache_bytes, found.newest_ms), (allocated(&cached), Some(5_000_000)));
    let cache = &found.caches[0];
    assert_eq!(
        (&cache.path, cache.bytes, cache.newest_ms),
        (&tree.canonicalize().unwrap().join("target"), found.cache_bytes, Some(5_000_000))
    );
    assert_eq!(found.caches.len(), 1, "a cache in a cache is part of it");
    assert_eq!(measure(&[tree.canonicalize().unwrap()], &mut Nobody), [Some(found)]);
}

#[test]
fn links_other_checkouts_and_git_itself_are_not_counted() {
    let place = Worktrees::new(1);
    let outside = place.root().join("outside");
    write(&outside, "large", &"x".repeat(100_000));
    let before = sizes(&place.main());
    symlink(&outside, place.main().join("link")).unwrap();
    symlink(outside.join("large"), place.main().join("file")).unwrap();
    write(&place.main(), ".claude/worktrees/x/.git", "gitdir: /nowhere\n");
    write(&place.main(), ".claude/worktrees/x/large", &"x".repeat(100_000));
    write(&place.main(), "clone/.git/HEAD", "");
    write(&place.main(), "clone/deep/large", &"x".repeat(100_000));
    let found = sizes(&place.main());
    let top = place.main().canonicalize().unwrap();
    assert_eq!(found.checkouts, [top.join(".claude/worktrees/x"), top.join("clone")]);
    let before = Sizes { checkouts: found.checkouts.clone(), ..before };
    assert_eq!(found, before);
    std::fs::hard_link(place.main().join("a"), place.main().join("again")).unwrap();
    assert_eq!(sizes(&place.main()), before, "a file with two names is one");
}

#[test]
fn what_git_tracks_is_no_cache_and_neither_is_a_worktree() {
    let place = Worktrees::new(1);
    write(&place.main(), "fixture/CACHEDIR.TAG", TAG);
    write(&place.main(), "CACHEDIR.TAG", TAG);
    commit(&place.main(), "a folder that looks like a cache");
    assert_eq!(sizes(&place.main()).caches, []);
}

#[test]
fn a_tagged_folder_with_a_checkout_in_it_is_no_cache() {
    let place = Worktrees::new(1);
    let tree = place.add("t1");
    write(&tree, "target/CACHEDIR.TAG", TAG);
    write(&tree, "target/out", "out");
    assert_eq!(sizes(&tree).caches.len(), 1);
    write(&tree, "target/deep/clone/.git/HEAD", "");
    let found = sizes(&tree);
    assert_eq!((found.caches, found.cache_bytes), (vec![], 0));
    assert_eq!(found.checkouts, [tree.canonicalize().unwrap().join("target/deep/clone")]);
    assert_eq!(found.files, 2 + 2, "its files count with all others");
}
