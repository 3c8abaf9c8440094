//! A list of a hundred worktrees with their verdicts, beside worktrunk's of the same: `cargo bench -p frith-tests --bench worktrees`.
//!
//! The program compared to is `wt` from PATH, or what `WT` names. Both answer what is not committed in each worktree, how far it is
//! from the base and whether its work is there. Warm is a run after another; cold is one for which nothing is remembered, with
//! the files themselves still in the system's memory. All verdicts are checked before anything is measured.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use frith_store::git::{Known, Progress, Want, Watch, inventory, judge};
use frith_tests::{
    Sandbox,
    figures::{compared, pairs, runs, time_of, told},
    worktrees::{Kind, Worktrees},
};

/// Files of the repository, all of which every worktree has.
const FILES: usize = 1_000;
/// A tenth of the worktrees.
const TENTH: usize = 10;
/// Pairs of warm and of cold lists.
const WARM: usize = 15;
const COLD: usize = 5;

fn main() {
    let (place, crowd) = Worktrees::crowd(FILES, TENTH);
    // Within the second in which its files were written git believes no index.
    thread::sleep(Duration::from_millis(1_100));
    place.settle(crowd.iter().map(|(tree, _)| tree.as_path()));
    check(&place, &crowd);
    within(&place);
    let sandbox = Sandbox::new();
    let wt = std::env::var_os("WT").unwrap_or_else(|| OsString::from("wt"));
    if Command::new(&wt).arg("--version").output().is_err() {
        println!("worktrunk is not there: cargo install worktrunk --version 0.67.0 --locked");
        return;
    }
    let theirs = |_| theirs(&wt, &sandbox, &place);
    let (short, whole): (&[&str], &[&str]) = (&["worktree", "list", "--no-sizes", "--json"], &["worktree", "list", "--json"]);
    // One of each before, so that all of them are warm.
    let _ = (ours(&sandbox, &place, short), ours(&sandbox, &place, whole), theirs(0));
    compared("worktree list --no-sizes, warm", &pairs(WARM, |_| ours(&sandbox, &place, short), theirs), "wt list, warm");
    compared("worktree list, with sizes, warm", &pairs(WARM, |_| ours(&sandbox, &place, whole), theirs), "wt list, warm");
    let cold = |_| {
        forget(&sandbox);
        ours(&sandbox, &place, short)
    };
    let their_cold = |round| {
        let _ = fs::remove_dir_all(place.main().join(".git/wt"));
        theirs(round)
    };
    compared("worktree list --no-sizes, cold, its node started by it", &pairs(COLD, cold, their_cold), "wt list, cold");
}

/// Every verdict is the one that belongs to its kind.
fn check(place: &Worktrees, crowd: &[(PathBuf, Kind)]) {
    let found = inventory(&place.main()).unwrap().unwrap();
    for (tree, kind) in crowd {
        let real = tree.canonicalize().unwrap();
        let row = found.checkouts.iter().find(|row| row.path == real).unwrap();
        let judged = judge(&found, &[row], Want::Verdict, &Known::none(), &mut Nobody).remove(0);
        assert!(kind.is_said_by(&judged), "{kind:?} {tree:?} {judged:?}");
    }
    println!("{} worktrees of {FILES} files: all verdicts right", crowd.len());
}

/// What the reading alone takes, in this process.
fn within(place: &Worktrees) {
    let file = place.root().join("merges");
    let list = |want| {
        let (_, time) = frith_tests::wait::timed(|| {
            let found = inventory(&place.main()).unwrap().unwrap();
            let rows: Vec<_> = found.checkouts.iter().collect();
            judge(&found, &rows, want, &Known::open(&file), &mut Nobody)
        });
        time
    };
    let cold = |_| {
        let _ = fs::remove_file(&file);
        list(Want::Verdict)
    };
    told("read in process, cold", &runs(COLD, cold));
    told("read in process, warm", &runs(WARM, |_| list(Want::Verdict)));
    told("read in process with sizes, warm", &runs(WARM, |_| list(Want::VerdictAndSizes)));
}

fn ours(sandbox: &Sandbox, place: &Worktrees, args: &[&str]) -> Duration {
    time_of(sandbox.call(args).dir(place.main()).into_command())
}

/// Somebody whom git knows by name, because some of what is compared to makes commits that it throws away.
fn theirs(wt: &OsString, sandbox: &Sandbox, place: &Worktrees) -> Duration {
    let mut command = Command::new(wt);
    command.args(["list", "--format=json"]).current_dir(place.main()).env("HOME", sandbox.root());
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@t");
    }
    time_of(command)
}

/// Ends the node and takes away what it remembers of commits.
fn forget(sandbox: &Sandbox) {
    sandbox.kill_node();
    remove_verdicts(&sandbox.home());
}

fn remove_verdicts(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains("verdicts")) {
            fs::remove_file(path).unwrap();
        }
    }
}

struct Nobody;

impl Watch for Nobody {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn progress(&mut self, _progress: Progress) {}
}
