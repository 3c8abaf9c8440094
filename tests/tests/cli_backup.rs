//! `backup` and `restore` through the real binary: taken while others write, restored on a machine with nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use frith_net::key::MachineKey;
use frith_store::{
    blobs::BlobFolder,
    open::{Disk, Identity, Options, Store, file_backend},
};
use frith_tests::{Run, Sandbox, processes, wait_for};

/// A second home on the same disk, without anything.
struct Elsewhere<'a> {
    sandbox: &'a Sandbox,
    home: PathBuf,
}

impl<'a> Elsewhere<'a> {
    fn new(sandbox: &'a Sandbox, name: &str) -> Self {
        Self { sandbox, home: sandbox.root().join(name) }
    }

    fn frith(&self, args: &[&str]) -> Run {
        self.sandbox.call(args).env("FRITH_HOME", &self.home).run()
    }

    fn titles(&self, place: &str) -> Vec<String> {
        let listed = self.frith(&["task", "list", "-w", place, "--json"]).ok().json();
        listed["tasks"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends its node, and opens the store as that node would.
    fn check(&self) {
        self.end();
        let key = MachineKey::load(&self.home.join("key")).unwrap().unwrap();
        let store = self.home.join("store.redb");
        let disk = Disk { backend: file_backend(&store).unwrap(), blobs: Arc::new(BlobFolder::new(self.home.join("blobs"))) };
        let identity = Identity { machine: key.machine(), incarnation: [1; 8], signer: Arc::new(key) };
        assert_eq!(Store::open(disk, identity, Options::at(&store)).unwrap().check().unwrap(), []);
    }

    fn end(&self) {
        let _ = self.frith(&["down"]).ok();
        wait_for("its node ended", || processes::of_home(&self.home).is_empty().then_some(()));
    }
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        self.frith(&["down"]);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_backup_is_written_shown_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    sandbox.workspace("web");
    let task = sandbox.task("app", "kept");
    let _ = sandbox.call(["task", "reply", &task, "-"]).input(&"a long text\n".repeat(500)).run().ok();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let file = sandbox.root().join("frith.backup");
    let written = sandbox.frith(["backup", text(&file)]).ok();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let looked = sandbox.frith(["restore", text(&file), "--dry-run"]).ok();
    fs::rename(sandbox.root().join("web"), sandbox.root().join("moved")).unwrap();
    let other = Elsewhere::new(&sandbox, "other");
    let restored = other.frith(&["restore", text(&file)]).ok();
    insta::assert_snapshot!(sandbox.transcript([&written, &looked, &restored]));
    assert_eq!(other.titles("app"), ["kept"]);
    let shown = other.frith(&["task", "show", &task, "--json"]).ok().json();
    assert_eq!(shown["thread"][0]["text"].as_str().unwrap().len(), 500 * "a long text\n".len());
    let agents = other.frith(&["agents", "sessions", "--all", "--json"]).ok().json();
    assert!(agents["agents"][0]["agent"]["ended"]["how"] == "lost", "{agents}");
    assert_ne!(fs::read(other.home.join("key")).unwrap(), fs::read(sandbox.home().join("key")).unwrap());
    assert_eq!(fs::read(other.home.join("config.toml")).unwrap(), fs::read(sandbox.home().join("config.toml")).unwrap());
    // The restored machine decides: it launches, merges and deletes.
    let _ = other.frith(&["agents", "launch", "app", "--kind", "idle"]).ok();
    let _ = other.frith(&["fork", "merge", "side", "--yes"]).ok();
    let _ = other.frith(&["workspace", "create", "third"]).ok();
    other.check();
}

#[test]
fn f20_a_backup_under_load_is_a_state_that_was_true_at_one_moment() {
    let sandbox = Sandbox::new();
    for place in ["first", "second"] {
        let _ = sandbox.frith(["workspace", "create", place]).ok();
    }
    let (stop, pairs) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (files, acknowledged) = std::thread::scope(|scope| {
        // Each writes into one place and then into the other, so at any moment the first is ahead by at most one for each.
        for writer in 0..3 {
            let (sandbox, stop, pairs) = (&sandbox, &stop, &pairs);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    for place in ["first", "second"] {
                        let title = format!("{writer}-{number}");
                        let body = "text ".repeat(if number % 2 == 0 { 10 } else { 400 });
                        let _ = sandbox.call(["task", "add", "-w", place, &title, "--body", "-"]).input(&body).run().ok();
                    }
                    pairs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut taken = (Vec::new(), Vec::new());
        for round in 1..=3 {
            wait_for("writers are at work", || (pairs.load(Ordering::Relaxed) >= 4 * round).then_some(()));
            let before: BTreeSet<String> = sandbox.titles("second").into_iter().collect();
            let file = sandbox.root().join(format!("{round}.backup"));
            let _ = sandbox.frith(["backup", text(&file)]).ok();
            taken.0.push(file);
            taken.1.push(before);
        }
        stop.store(true, Ordering::Relaxed);
        taken
    });
    for (round, (file, before)) in files.iter().zip(acknowledged).enumerate() {
        let other = Elsewhere::new(&sandbox, &format!("other-{round}"));
        let _ = other.frith(&["restore", text(file)]).ok();
        let [first, second] = ["first", "second"].map(|place| other.titles(place).into_iter().collect::<BTreeSet<_>>());
        assert!(before.is_subset(&second), "what was acknowledged before is there");
        assert!(second.is_subset(&first), "nothing is there without what came before it");
        assert!(first.difference(&second).count() <= 3, "each writer is ahead by one at most");
        for title in &second {
            let (writer, number) = title.split_once('-').unwrap();
            let number: u32 = number.parse().unwrap();
            assert!(number == 0 || second.contains(&format!("{writer}-{}", number - 1)), "{title} and not the one before");
        }
        other.check();
    }
}

#[test]
fn a_restore_is_refused_where_a_store_is_and_changes_nothing_when_the_backup_is_bad() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let file = sandbox.root().join("b");
    let _ = sandbox.frith(["backup", text(&file)]).ok();
    let whole = fs::read(&file).unwrap();
    let over = sandbox.frith(["backup", text(&file)]).ends_with(1);
    let there = sandbox.frith(["restore", text(&file)]).ends_with(1);
    let other = Elsewhere::new(&sandbox, "other");
    let mut runs = vec![over, there];
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let mut later = whole.clone();
    later[19] = 9;
    for (name, bytes) in [("cut", whole[..whole.len() - 9].to_vec()), ("flipped", flipped), ("later", later), ("notes", b"notes".to_vec())]
    {
        let bad = sandbox.root().join(name);
        fs::write(&bad, bytes).unwrap();
        runs.push(other.frith(&["restore", text(&bad)]).ends_with(2));
    }
    runs.push(other.frith(&["restore", text(&sandbox.root().join("nowhere"))]).ends_with(2));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    let _ = sandbox.frith(["backup", text(&file), "--force"]).ok();
    assert!(!other.home.join("store.redb").exists() && !other.home.join("key").exists());
    let _ = other.frith(&["restore", text(&file)]).ok();
    assert_eq!(other.frith(&["workspace", "list", "--json"]).ok().json()["workspaces"][0]["name"], "app");
}

#[test]
fn a_store_that_was_lost_comes_back_beside_what_is_left_of_its_home() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    let file = sandbox.root().join("b");
    let _ = sandbox.frith(["backup", text(&file)]).ok();
    let _ = sandbox.frith(["down"]).ok();
    sandbox.wait_for_no_node();
    let key = fs::read(sandbox.home().join("key")).unwrap();
    fs::rename(sandbox.home().join("store.redb"), sandbox.root().join("broken")).unwrap();
    sandbox.config("# changed since\n[launch.idle]\ncommand = [\"cat\"]\n");
    let restored = sandbox.frith(["restore", text(&file)]).ok();
    insta::assert_snapshot!(sandbox.transcript([&restored]));
    assert_eq!(fs::read(sandbox.home().join("key.before-restore-0")).unwrap(), key);
    assert!(fs::read_to_string(sandbox.home().join("config.toml")).unwrap().starts_with("# changed since"));
    // The fork's folder is where it was, so it goes on there, and can be taken away.
    let folder = sandbox.show_place("side")["folder"].as_str().unwrap().to_owned();
    assert!(Path::new(&folder).is_dir());
    let _ = sandbox.frith(["fork", "merge", "side", "--delete-folder", "--yes"]).ok();
    assert!(!Path::new(&folder).exists());
}

/// The store under its name is the last thing a restore makes, so what a cut left over is never taken for a fresh home.
#[test]
fn a_restore_that_was_cut_short_is_told_and_can_be_run_again() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.task("app", "one");
    let file = sandbox.root().join("b.frith").to_string_lossy().into_owned();
    let _ = sandbox.frith(["backup", &file]).ok();
    let there = Elsewhere::new(&sandbox, "there");
    let _ = there.frith(&["restore", &file, "--yes"]).ok();
    fs::rename(there.home.join("store.redb"), there.home.join("store.redb.new")).unwrap();
    let refused = there.frith(&["task", "list", "-w", "app"]);
    assert!(refused.code != 0 && refused.stderr.contains("a restore was cut short"), "{}", refused.transcript());
    let _ = there.frith(&["restore", &file, "--yes"]).ok();
    assert_eq!(there.titles("app"), ["one"]);
}
