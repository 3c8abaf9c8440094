//! A store that cannot be used says so, offers the way out and deletes nothing; a full or read-only disk is told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use frith_tests::{Sandbox, wait_for};

fn stopped_with_a_task() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    sandbox.task("app", "kept");
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    sandbox
}

#[test]
fn a_store_that_is_no_store_is_told_and_left_alone() {
    let sandbox = stopped_with_a_task();
    let store = sandbox.home().join("store.redb");
    let whole = fs::read(&store).unwrap();
    for (name, broken) in [("empty of sense", vec![7; 4096]), ("cut", whole[..whole.len() / 3].to_vec())] {
        fs::write(&store, &broken).unwrap();
        let run = sandbox.frith(["task", "list", "-w", "app"]);
        assert!(run.code >= 2 && run.stderr.contains("hint: "), "{name}: {}", run.transcript());
        assert_eq!(fs::read(&store).unwrap(), broken, "{name}: it was changed");
        assert!(!run.stderr.contains("panicked"), "{name}: {}", run.transcript());
        sandbox.wait_for_no_node();
    }
    fs::write(&store, &whole).unwrap();
    assert_eq!(sandbox.titles("app"), ["kept"]);
}

#[test]
fn a_damaged_middle_never_gives_a_wrong_answer() {
    let sandbox = stopped_with_a_task();
    let store = sandbox.home().join("store.redb");
    let whole = fs::read(&store).unwrap();
    for at in [0, 64, 4096, whole.len() / 2, whole.len() - 4096] {
        let mut broken = whole.clone();
        broken[at..at + 64].fill(0xa5);
        fs::write(&store, &broken).unwrap();
        let run = sandbox.frith(["task", "list", "-w", "app", "--json"]);
        let right = run.code == 0 && run.json()["tasks"][0]["title"] == "kept";
        assert!(right || run.code >= 2, "damage at {at}: {}", run.transcript());
        let _ = sandbox.frith(["down"]);
        sandbox.wait_for_no_node();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_told() {
    let sandbox = Sandbox::new();
    // A file where the home should be stops everybody; root writes into a folder whatever its mode.
    fs::write(sandbox.home(), "").unwrap();
    let as_file = sandbox.frith(["workspace", "list"]);
    fs::remove_file(sandbox.home()).unwrap();
    insta::assert_snapshot!(sandbox.transcript([&as_file]));
    assert!(as_file.code >= 2, "{}", as_file.transcript());
    fs::create_dir(sandbox.home()).unwrap();
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o500)).unwrap();
    let writable = fs::write(sandbox.home().join("probe"), "").is_ok();
    let locked = sandbox.frith(["workspace", "list"]);
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(writable || locked.code >= 2, "{}", locked.transcript());
    assert!(!locked.stderr.contains("panicked"), "{}", locked.transcript());
}

#[test]
fn a_home_too_deep_for_a_socket_works_through_a_short_path() {
    let sandbox = Sandbox::new();
    let deep = sandbox.root().join("d".repeat(60)).join("e".repeat(60));
    fs::create_dir_all(&deep).unwrap();
    let home = deep.join(".frith");
    let call = |args: &[&str]| sandbox.call(args).env("FRITH_HOME", &home).run();
    let _ = call(&["workspace", "create", "app"]).ok();
    let _ = call(&["task", "add", "-w", "app", "one"]).ok();
    let _ = call(&["down"]).ok();
    wait_for("its node ended", || frith_tests::processes::of_home(&home).is_empty().then_some(()));
}

/// Where a store keeps its format, and where the version of its views.
const FORMAT: &[u8] = &[1];
const VIEWS: &[u8] = &[2];

/// Writes one of a stopped store's rows about itself.
fn set_row(store: &Path, key: &[u8], number: u8) {
    let database = redb::Database::open(store).unwrap();
    let writing = database.begin_write().unwrap();
    let rows: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("local");
    assert!(writing.open_table(rows).unwrap().insert(key, [number].as_slice()).unwrap().is_some(), "the row was there before");
    writing.commit().unwrap();
}

/// Every row of a stopped store.
fn rows(store: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    use redb::{ReadableDatabase as _, ReadableTable as _};
    let database = redb::Database::open(store).unwrap();
    let reading = database.begin_read().unwrap();
    let of = |name| reading.open_table(redb::TableDefinition::<&[u8], &[u8]>::new(name)).unwrap();
    let copied = |table: redb::ReadOnlyTable<&[u8], &[u8]>| {
        let rows = table.iter().unwrap().map(Result::unwrap);
        rows.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())).collect::<Vec<_>>()
    };
    ["facts", "views", "local"].map(of).into_iter().flat_map(copied).collect()
}

#[test]
fn a_store_of_a_later_frith_is_left_as_it_is() {
    let sandbox = stopped_with_a_task();
    let store = sandbox.home().join("store.redb");
    set_row(&store, FORMAT, 99);
    let before = rows(&store);
    let run = sandbox.frith(["task", "list", "-w", "app"]);
    assert!(run.code >= 2, "{}", run.transcript());
    insta::assert_snapshot!(sandbox.transcript([&run]));
    assert!(rows(&store) == before, "it was changed");
    set_row(&store, FORMAT, 1);
    assert_eq!(sandbox.titles("app"), ["kept"]);
}

#[test]
fn a_store_with_older_views_gets_them_built_anew() {
    let sandbox = stopped_with_a_task();
    let store = sandbox.home().join("store.redb");
    set_row(&store, VIEWS, 0);
    let database = redb::Database::open(&store).unwrap();
    let writing = database.begin_write().unwrap();
    let views: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("views");
    writing.open_table(views).unwrap().retain(|_, _| false).unwrap();
    writing.commit().unwrap();
    drop(database);
    assert_eq!(sandbox.titles("app"), ["kept"]);
    assert_eq!(sandbox.show_place("app")["tasks"]["notstarted"], 1);
}

/// A file system of a megabyte or two when this user may mount one; else a limit on the size of any file, which fails
/// writes at the same place with another error.
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home()).unwrap();
    let mounted = Tmpfs::mount(&sandbox.home());
    let limit = if mounted.is_some() { "" } else { "trap '' XFSZ; ulimit -f 6000; " };
    let _ = sandbox.shell(&format!("{limit}exec frith up"), sandbox.root()).run().ok();
    let _ = sandbox.frith(["workspace", "create", "app"]).ok();
    let body = "z".repeat(200_000);
    let mut added = Vec::new();
    let failed = loop {
        let title = format!("task {}", added.len());
        let run = sandbox.call(["task", "add", "-w", "app", &title, "--body", "-"]).input(&format!("{title}{body}")).run();
        if run.code != 0 {
            break run;
        }
        added.push(title);
        assert!(added.len() < 200, "the disk never fills");
    };
    assert!(failed.code >= 2 && !failed.stderr.contains("panicked"), "{}", failed.transcript());
    assert!(failed.stderr.contains("hint: "), "{}", failed.transcript());
    assert_eq!(sandbox.titles("app"), added, "what was acknowledged is there, and reading still works");
    let _ = sandbox.frith(["down"]);
    sandbox.wait_for_no_node();
    drop(mounted);
}

/// A small file system in memory, taken away when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"]).arg(at);
        mount.output().ok().filter(|done| done.status.success()).map(|_| Self(at.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}
