//! Writers of a host's file that are ended at any moment, that meet, and that have no room: the file is whole, and what was
//! said to be written is in it.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use frith_tests::texts;

/// How many writers are ended at moments of their own.
const KILLED: u64 = 60;
/// The latest such moment after the start of a writing, in µs: about what one writing takes.
const LATEST_US: u64 = 4_000;

fn writer() -> Command {
    Command::new(env!("CARGO_BIN_EXE_frith-test-writer"))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    (folder, file)
}

/// The number of the file's text, which is whole.
fn number(file: &Path) -> u64 {
    texts::number_of(&fs::read(file).unwrap()).expect("the file is whole")
}

/// The names beside the file that are not backups of it; every backup is whole.
fn others(file: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (backups, others): (BTreeSet<_>, BTreeSet<_>) = names.partition(|name| name.contains(".bak-"));
    // Five stay, and each of two writers in a row that were cut off before they looked leaves one more.
    assert!(backups.len() <= 7, "{backups:?}");
    for backup in &backups {
        number(&file.with_file_name(backup));
    }
    others
}

#[test]
fn a_writer_that_is_killed_at_any_moment_leaves_a_whole_file() {
    let (_folder, file) = folder();
    for round in 0..KILLED {
        let mut child = writer().args(["count".as_ref(), file.as_os_str()]).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        let first: u64 = told.next().unwrap().unwrap().parse().unwrap();
        // The moment is chosen, not waited for.
        std::thread::sleep(Duration::from_micros(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % LATEST_US));
        child.kill().unwrap();
        child.wait().unwrap();
        let last = told.map_while(Result::ok).filter_map(|line| line.parse().ok()).last().unwrap_or(first);
        let there = number(&file);
        assert!(there == last || there == last + 1, "{last} was written, {there} is there");
        others(&file);
    }
    let one_more = writer().args(["count".as_ref(), file.as_os_str()]).env("FRITH_FAULT", "install.renamed").status().unwrap();
    assert!(!one_more.success());
    assert_eq!(others(&file), BTreeSet::from(["settings.json".to_owned()]));
}

#[test]
fn a_writer_that_is_killed_at_each_point_leaves_the_file_as_it_was_or_as_it_should_be() {
    let (_folder, file) = folder();
    fs::write(&file, texts::numbered(1)).unwrap();
    for (point, there) in [("install.backed_up", 1), ("install.beside", 1), ("install.renamed", 2), ("install.backed_up", 2)] {
        let ended = writer().args(["count".as_ref(), file.as_os_str()]).env("FRITH_FAULT", point).status().unwrap();
        assert_eq!((ended.code(), number(&file)), (None, there), "{point}");
    }
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let (_folder, file) = folder();
    let add = |word: &str| writer().args(["add", file.to_str().unwrap(), word, "25"]).spawn().unwrap();
    for mut child in ["a", "b", "c"].map(add) {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(&file).unwrap();
    let lines: BTreeSet<_> = text.lines().collect();
    assert_eq!((lines.len(), text.lines().count()), (75, 75));
}

#[test]
fn a_text_for_which_there_is_no_room_leaves_the_file_as_it_was() {
    let (_folder, file) = folder();
    fs::write(&file, "small\n").unwrap();
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" add \"$1\" \"$2\" 1";
    let large = "x".repeat(100_000);
    let program = env!("CARGO_BIN_EXE_frith-test-writer");
    let run = Command::new("sh").args(["-c", script, program, file.to_str().unwrap(), &large]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains("written"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "small\n");
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}
