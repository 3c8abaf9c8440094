//! Attachments: what goes in comes out byte by byte, wherever its task went; what is damaged is never handed out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use frith_tests::{Run, Sandbox, wait_for};

/// A machine with a task in the workspace app; answers the task.
fn with_task() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "look at this");
    (sandbox, task)
}

/// The files below a folder, but those on their way.
fn blobs(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folders = fs::read_dir(sandbox.home().join("blobs")).into_iter().flatten().map(|entry| entry.unwrap().path());
    folders
        .filter(|path| !path.ends_with("incoming"))
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect()
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * at / 7 + at) as u8).collect()
}

#[test]
fn files_are_attached_shown_fetched_and_taken_away() {
    let (sandbox, task) = with_task();
    let root = sandbox.root();
    fs::write(root.join("build.log"), "line one\nline two\n").unwrap();
    fs::write(root.join("shot.png"), bytes(3000)).unwrap();
    fs::create_dir(root.join("out")).unwrap();
    let hash = |name: &str| {
        let shown = sandbox.show_task(&task);
        let all = shown["attachments"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["hash"].as_str().unwrap().to_owned()
    };
    let mut runs = vec![sandbox.frith(["task", "attach", &task, "build.log", "shot.png"]).ok()];
    let png = hash("shot.png");
    for line in [
        ["task", "attach", &task, "build.log"].as_slice(),
        &["task", "show", &task],
        &["task", "next", "-w", "app"],
        &["task", "attachment", &task, "build.log"],
        &["task", "attachment", &task, &png[..6], "-o", "out"],
        &["task", "attachment", &task, "shot.png", "-o", "out"],
        &["task", "attachment", &task, "shot.png", "-o", "out", "--force"],
        &["task", "attachment", &task, "shot.png", "--json", "-o", "other.png"],
        &["task", "detach", &task, "shot.png"],
        &["task", "detach", &task, "shot.png", "--yes"],
        &["task", "attachment", &task, "shot.png"],
    ] {
        runs.push(sandbox.frith(line));
    }
    insta::assert_snapshot!(sandbox.transcript(&runs).replace(&png[..6], "[6 OF HASH]"));
    assert_eq!(fs::read(root.join("out/shot.png")).unwrap(), bytes(3000));
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(root.join("other.png")).unwrap().permissions());
    let usual = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(root.join("shot.png")).unwrap().permissions());
    assert_eq!(mode, usual, "as any file of this user");
    let piped = sandbox.call(["task", "attachment", &task, "build.log"]).into_command().output().unwrap();
    assert_eq!(piped.stdout, b"line one\nline two\n");
}

#[test]
fn what_is_no_file_is_refused_in_its_own_words_and_nothing_is_attached() {
    let (sandbox, task) = with_task();
    let root = sandbox.root();
    fs::write(root.join("good"), "good").unwrap();
    fs::write(root.join("bell\u{7}"), "x").unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    fs::File::create(root.join("huge")).unwrap().set_len(25 * 1024 * 1024 + 1).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
    assert!(fifo.success());
    let done = sandbox.task("app", "done");
    let _ = sandbox.frith(["workspace", "create", "old"]).ok();
    let old = sandbox.task("old", "in an archive");
    let _ = sandbox.frith(["workspace", "archive", "old"]).ok();
    let commands: &[&[&str]] = &[
        &["task", "attach", &task, "good", "nowhere"],
        &["task", "attach", &task, "good", "folder"],
        &["task", "attach", &task, "fifo"],
        &["task", "attach", &task, "/dev/null"],
        &["task", "attach", &task, "huge"],
        &["task", "attach", &task, "bell\u{7}"],
        &["task", "attach", "00000000", "good"],
        &["task", "attach", &old, "good"],
        &["task", "attachment", &task, "good"],
        &["task", "attachment", &task, "abc"],
        &["task", "detach", &done, "good", "--yes"],
    ];
    let runs: Vec<Run> = commands.iter().map(|args| sandbox.frith(*args).ends_with(1)).collect();
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(sandbox.show_task(&task)["attachments"], serde_json::json!([]));
    assert!(blobs(&sandbox).is_empty());
}

#[test]
fn a_task_has_a_hundred_attachments_and_no_more() {
    let (sandbox, task) = with_task();
    let names: Vec<String> = (0..101).map(|n| format!("{n:03}.txt")).collect();
    names.iter().for_each(|name| fs::write(sandbox.root().join(name), name).unwrap());
    let attach = |names: &[String]| sandbox.frith(["task", "attach", &task].into_iter().chain(names.iter().map(String::as_str)));
    let _ = attach(&names[..99]).ok();
    let refused = attach(&names[98..]).ends_with(1);
    let _ = attach(&names[..100]).ok();
    let again = attach(&names[100..]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&again]));
    assert!(refused.stderr.contains("has 99 of 100 attachments, and 2 more would be too many"), "{}", refused.transcript());
    let shown = sandbox.show_task(&task);
    let there: Vec<_> = shown["attachments"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(there, names[..100]);
}

#[test]
fn two_files_of_one_name_are_both_kept_and_told_apart_by_their_hashes() {
    let (sandbox, task) = with_task();
    for text in ["first", "second"] {
        fs::write(sandbox.root().join("notes.txt"), text).unwrap();
        let _ = sandbox.frith(["task", "attach", &task, "notes.txt"]).ok();
    }
    let ambiguous = sandbox.frith(["task", "attachment", &task, "notes.txt"]).ends_with(1);
    let shown = sandbox.show_task(&task);
    for (at, text) in ["first", "second"].iter().enumerate() {
        let hash = shown["attachments"][at]["hash"].as_str().unwrap();
        assert!(ambiguous.stderr.contains(hash), "{}", ambiguous.transcript());
        assert_eq!(sandbox.frith(["task", "attachment", &task, hash]).ok().stdout, *text);
    }
}

#[test]
fn the_largest_file_comes_back_as_it_was_after_its_task_moved_and_its_fork_was_merged() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    sandbox.workspace("web");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let task = sandbox.task("side", "big");
    let most = bytes(25 * 1024 * 1024);
    fs::write(sandbox.root().join("big.bin"), &most).unwrap();
    let _ = sandbox.frith(["task", "attach", &task, "big.bin"]).ok();
    let comes_back = |when: &str| {
        let _ = sandbox.frith(["task", "attachment", &task, "big.bin", "-o", "back.bin", "--force"]).ok();
        assert!(fs::read(sandbox.root().join("back.bin")).unwrap() == most, "{when}");
    };
    comes_back("at once");
    let _ = sandbox.frith(["task", "status", &task, "completed"]).ok();
    let _ = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    comes_back("after the merge");
    let _ = sandbox.frith(["task", "move", &task, "--to", "web"]).ok();
    sandbox.kill_node();
    comes_back("after the move and the node's end");
    assert_eq!(fs::read_dir(sandbox.home().join("blobs/incoming")).unwrap().count(), 0, "nothing is left on its way");
}

#[test]
fn a_damaged_file_is_told_and_never_handed_out_and_attaching_it_again_mends_it() {
    let (sandbox, task) = with_task();
    let file = sandbox.root().join("notes.txt");
    fs::write(&file, bytes(10_000)).unwrap();
    let _ = sandbox.frith(["task", "attach", &task, "notes.txt"]).ok();
    let [blob] = blobs(&sandbox).try_into().unwrap();
    let mut broken = bytes(10_000);
    broken[5000] ^= 1;
    fs::write(&blob, broken).unwrap();
    let to_stdout = sandbox.frith(["task", "attachment", &task, "notes.txt"]).ends_with(2);
    let to_file = sandbox.frith(["task", "attachment", &task, "notes.txt", "-o", "back"]).ends_with(2);
    assert!(to_stdout.stdout.is_empty() && !sandbox.root().join("back").exists());
    fs::remove_file(&blob).unwrap();
    let gone = sandbox.frith(["task", "attachment", &task, "notes.txt"]).ends_with(2);
    let transcript = sandbox.transcript([&to_stdout, &to_file, &gone]);
    let hash = blob.parent().unwrap().file_name().unwrap().to_string_lossy() + blob.file_name().unwrap().to_string_lossy();
    insta::assert_snapshot!(transcript.replace(&*hash, "[HASH]"));
    let _ = sandbox.frith(["task", "attach", &task, "notes.txt"]).ok();
    let _ = sandbox.frith(["task", "attachment", &task, "notes.txt", "-o", "back"]).ok();
    assert_eq!(fs::read(sandbox.root().join("back")).unwrap(), bytes(10_000));
}

#[test]
fn a_file_that_is_written_to_on_the_way_is_not_attached() {
    let (sandbox, task) = with_task();
    let path = sandbox.root().join("growing.log");
    fs::write(&path, bytes(8 * 1024 * 1024)).unwrap();
    let ended = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            while !ended.load(Ordering::Relaxed) {
                file.write_all(b"more\n").unwrap();
                std::thread::yield_now();
            }
        });
        let run = sandbox.frith(["task", "attach", &task, "growing.log"]);
        ended.store(true, Ordering::Relaxed);
        run
    });
    assert!(run.code == 1 && run.stderr.contains("changed while it was read"), "{}", run.transcript());
    assert_eq!(sandbox.show_task(&task)["attachments"], serde_json::json!([]));
}

#[test]
fn an_agent_attaches_to_its_own_task_and_reads_what_is_there_and_takes_nothing_away() {
    let (sandbox, _) = with_task();
    sandbox.config(concat!(
        "[launch.worker]\ncommand = [\"sh\", \"-c\", \"",
        "task=$(frith task next -q); frith task attachment $task brief.md > brief; echo found > result; ",
        "frith task attach $task result; frith task detach $task brief.md --yes 2> refused; touch done; exec cat\"]\n"
    ));
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let task = sandbox.task("side", "work");
    fs::write(sandbox.root().join("brief.md"), "the brief\n").unwrap();
    let _ = sandbox.frith(["task", "attach", &task, "brief.md"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "worker"]).ok();
    let folder = PathBuf::from(sandbox.show_place("side")["folder"].as_str().unwrap());
    wait_for("the agent is done", || folder.join("done").exists().then_some(()));
    let told = |name: &str| fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    assert_eq!(told("brief"), "the brief\n");
    assert!(told("refused").contains("only a person may"), "{}", told("refused"));
    let shown = sandbox.show_task(&task);
    let by: Vec<_> = shown["attachments"].as_array().unwrap().iter().map(|one| one["by"].to_string()).collect();
    assert!(by.len() == 2 && by[1].contains("agent"), "{by:?}");
}

#[test]
fn only_a_regular_file_is_written_over() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "one");
    let file = sandbox.folder("files").join("notes.txt").to_string_lossy().into_owned();
    let _ = sandbox.frith(["task", "attach", &task, &file]).ok();
    let fifo = sandbox.root().join("fifo").to_string_lossy().into_owned();
    assert!(sandbox.shell(&format!("mkfifo {fifo}"), sandbox.root()).run().code == 0);
    let refused = sandbox.frith(["task", "attachment", &task, "notes.txt", "-o", &fifo, "--force"]).ends_with(1);
    assert!(refused.stderr.contains("no regular file"), "{}", refused.transcript());
    let backup = sandbox.frith(["backup", &fifo, "--force"]);
    assert!(backup.code != 0 && backup.stderr.contains("no regular file"), "{}", backup.transcript());
    let restore = sandbox.frith(["restore", &fifo, "--dry-run"]);
    assert!(restore.code != 0 && restore.stderr.contains("no regular file"), "{}", restore.transcript());
}

#[test]
fn a_damaged_and_a_missing_attachment_are_found_by_doctor() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let task = sandbox.task("app", "one");
    let file = sandbox.folder("files").join("notes.txt").to_string_lossy().into_owned();
    let _ = sandbox.frith(["task", "attach", &task, &file]).ok();
    let well = sandbox.frith(["doctor", "--thorough"]).ok();
    assert!(!well.stdout.contains("damaged"), "{}", well.transcript());
    let hash = sandbox.show_task(&task)["attachments"][0]["hash"].as_str().unwrap().to_owned();
    let found = sandbox.shell(&format!("find .frith/blobs -type f -name '*{}*'", &hash[8..20]), sandbox.root()).run().ok();
    std::fs::remove_file(sandbox.root().join(found.stdout.trim())).unwrap();
    let told = sandbox.frith(["doctor", "--thorough"]).ends_with(1);
    assert!(told.stdout.contains("attachment `notes.txt` of task"), "{}", told.transcript());
}
