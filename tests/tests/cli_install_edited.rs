//! What somebody changed of an installation, and files that cannot be written: nothing of theirs goes unasked, and no host is
//! left half done. Through the real command, into a played host's files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use frith_tests::{Run, Sandbox, run::write_program};
use serde_json::{Value, json};

fn with_claude() -> Sandbox {
    let sandbox = Sandbox::new();
    write_program(&sandbox.root().join("bin/claude"), "#!/bin/sh\necho claude 1.2.3\n").unwrap();
    sandbox
}

fn frith(sandbox: &Sandbox, line: &[&str]) -> Run {
    sandbox.call(line).env("PATH", sandbox.root().join("bin")).run()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Claude's own files, with what is in them.
fn files(sandbox: &Sandbox) -> BTreeMap<PathBuf, String> {
    let folders = ["", ".claude", ".claude/skills/worktrees"].map(|folder| sandbox.root().join(folder));
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).map(|path| (path.clone(), read(&path))).collect()
}

/// What a person may do to each thing of ours in claude's files, in one text of the file for another.
const EDITS: [(&str, &str, &str, &str); 3] = [
    (".claude.json", "\"--host\",", "\"--verbose\", \"--host\",", "the entry"),
    (".claude/settings.json", "/bin/sh -c '", "/bin/sh -c 'date >> /u/log; ", "the hook of `Stop`"),
    (".claude/skills/worktrees/SKILL.md", "# Worktrees, and", "# Mine: worktrees, and", "the skill"),
];

/// Edits one of claude's files by hand.
fn edit(sandbox: &Sandbox, (name, from, to, _): (&str, &str, &str, &str)) -> (PathBuf, String) {
    let path = sandbox.root().join(name);
    let text = read(&path);
    let edited = match name {
        ".claude.json" => {
            let mut json: Value = serde_json::from_str(&text).unwrap();
            json["mcpServers"]["frith"]["env"] = json!({"A": "1"});
            serde_json::to_string_pretty(&json).unwrap() + "\n"
        }
        _ => text.replace(from, to),
    };
    assert_ne!(text, edited);
    fs::write(&path, &edited).unwrap();
    (path, edited)
}

#[test]
fn what_somebody_changed_is_taken_out_only_with_a_yes_and_then_lies_in_a_backup() {
    for made in EDITS {
        for has_record in [true, false] {
            let sandbox = with_claude();
            let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
            let (path, edited) = edit(&sandbox, made);
            if !has_record {
                fs::remove_file(sandbox.home().join("installs.json")).unwrap();
            }
            for _ in 0..2 {
                let out = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
                assert!(out.stdout.contains(&format!("left: {} in {}", made.3, path.display())), "{}", out.transcript());
                assert_eq!(read(&path), edited, "{}", out.transcript());
            }
            let out = frith(&sandbox, &["agents", "uninstall", "claude", "--yes"]).ok();
            assert!(!path.exists() || !has_record && !read(&path).contains("frith"), "{}", out.transcript());
            let backup = files(&sandbox)
                .into_iter()
                .find(|(it, text)| it.to_string_lossy().starts_with(&format!("{}.bak-", path.display())) && *text == edited);
            assert!(backup.is_some(), "{}", out.transcript());
        }
    }
}

#[test]
fn what_somebody_changed_is_not_written_over_when_the_record_is_lost() {
    let sandbox = with_claude();
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    let edited: Vec<_> = EDITS.into_iter().map(|made| edit(&sandbox, made)).collect();
    fs::remove_file(sandbox.home().join("installs.json")).unwrap();
    for line in [["agents", "install", "claude"].as_slice(), &["doctor", "--fix"]] {
        let run = frith(&sandbox, line);
        edited.iter().for_each(|(path, text)| assert_eq!(&read(path), text, "{}", run.transcript()));
    }
    let _ = frith(&sandbox, &["down"]);
    let _ = frith(&sandbox, &["agents", "install", "claude", "--yes"]).ok();
    let listed = frith(&sandbox, &["agents", "list", "--json"]).ok().json();
    let parts = listed["hosts"][0]["parts"].as_array().unwrap();
    assert!(parts.len() > 5 && parts.iter().all(|part| part["state"] == "current"), "{listed:#}");
}

#[test]
fn what_stands_in_the_place_of_frith_s_is_left_and_the_doctor_says_what_is_missing_for_it() {
    let sandbox = with_claude();
    let path = sandbox.root().join(".claude.json");
    let foreign = "{\"mcpServers\": {\"frith\": {\"command\": \"own\"}}}\n";
    fs::write(&path, foreign).unwrap();
    let _ = frith(&sandbox, &["agents", "install", "claude", "--yes"]).ok();
    assert_eq!(read(&path), foreign);
    let told = frith(&sandbox, &["doctor"]).stdout;
    assert!(told.contains("what stands in the place of the entry is somebody else's, and frith's is not entered"), "{told}");
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(read(&path), foreign);
}

#[test]
fn a_host_of_which_one_file_may_not_be_written_keeps_all_of_them() {
    let sandbox = with_claude();
    let settings = sandbox.root().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{}").unwrap();
    let may_write = |mode| fs::set_permissions(&settings, fs::Permissions::from_mode(mode)).unwrap();
    for verb in ["install", "uninstall"] {
        let before = files(&sandbox);
        may_write(0o444);
        let run = frith(&sandbox, &["agents", verb, "claude"]).ends_with(2);
        assert!(
            run.stderr.contains("`claude` was left as it is") && run.stderr.contains("settings.json` is read-only"),
            "{}",
            run.transcript()
        );
        assert!(run.stderr.contains("no file of such a host was changed"), "{}", run.transcript());
        assert_eq!(files(&sandbox), before, "{verb}");
        may_write(0o644);
        let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    }
}

#[test]
fn a_host_that_talks_without_end_holds_nobody_up() {
    let sandbox = with_claude();
    write_program(&sandbox.root().join("bin/codex"), "#!/bin/sh\nwhile :; do echo on and on; done\n").unwrap();
    write_program(&sandbox.root().join("bin/gemini"), "#!/bin/sh\nwhile printf x; do /bin/sleep 0.05; done\n").unwrap();
    let listed = frith(&sandbox, &["agents", "list", "--json"]).ok().json();
    let versions: Vec<_> = listed["hosts"].as_array().unwrap().iter().map(|it| (it["host"].as_str().unwrap(), &it["version"])).collect();
    let of = |host: &str| versions.iter().find(|(id, _)| *id == host).unwrap().1;
    assert_eq!((of("claude"), of("codex"), of("gemini")), (&json!("1.2.3"), &json!(null), &json!(null)));
}

#[test]
fn a_record_that_is_damaged_is_put_aside_and_said() {
    let sandbox = with_claude();
    let _ = frith(&sandbox, &["agents", "install", "claude"]).ok();
    fs::write(sandbox.home().join("installs.json"), "{\"hosts\": ").unwrap();
    let run = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(run.stderr.contains("damaged; it is kept as `"), "{}", run.transcript());
    assert_eq!(read(&sandbox.home().join("installs.json.damaged")), "{\"hosts\": ");
}

/// The skill as an earlier version entered it, under another name.
const FORMER_SKILL: &str = include_str!("hooks/former-skill.md");

#[test]
fn a_skill_of_an_earlier_version_gives_way_and_goes_and_somebodys_of_that_name_stays() {
    let sandbox = with_claude();
    let [former, skill] = ["frith", "worktrees"].map(|name| sandbox.root().join(".claude/skills").join(name).join("SKILL.md"));
    let put = |text: &str| {
        fs::create_dir_all(former.parent().unwrap()).unwrap();
        fs::write(&former, text).unwrap();
    };
    put(FORMER_SKILL);
    let run = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(!former.exists() && skill.exists() && run.stdout.contains("removed the skill"), "{}", run.transcript());
    // One that comes back, as with a folder that is synchronised, is seen and mended.
    put(FORMER_SKILL);
    let told = frith(&sandbox, &["doctor"]);
    assert!(told.stdout.contains("`claude`: the skill stale"), "{}", told.transcript());
    let _ = frith(&sandbox, &["doctor", "--fix"]);
    assert!(!former.exists() && skill.exists());
    let _ = frith(&sandbox, &["down"]);
    put(FORMER_SKILL);
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert!(!former.exists() && !skill.exists());
    let own = "---\nname: frith\ndescription: mine\n---\n";
    put(own);
    let run = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(!run.stdout.contains("skills/frith"), "{}", run.transcript());
    let _ = frith(&sandbox, &["agents", "uninstall", "claude"]).ok();
    assert_eq!(read(&former), own);
    put(&FORMER_SKILL.replace("# Working", "# Mine: working"));
    let run = frith(&sandbox, &["agents", "install", "claude"]).ok();
    assert!(former.exists() && run.stdout.contains("left: the skill in"), "{}", run.transcript());
}
