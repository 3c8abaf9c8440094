//! Skills and sites: the team's folders of instructions, on or off in each workspace, and the addresses it shares.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use frith_tests::{Run, Sandbox, run::write_program, wait_for};

const HEAD: &str = "---\nname: pdf-forms\ndescription: Fill forms in PDF files.\n---\n# How\nRun the script.\n";

/// A folder that is a skill.
fn skill(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.root().join("pdf-forms");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join("SKILL.md"), HEAD).unwrap();
    fs::write(folder.join("reference.md"), "# Fields\n").unwrap();
    write_program(&folder.join("scripts/fill.sh"), "#!/bin/sh\necho filled\n").unwrap();
    folder
}

#[test]
fn a_skill_is_added_switched_on_read_changed_and_removed() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let folder = skill(&sandbox);
    fs::create_dir(folder.join(".git")).unwrap();
    let mut runs = Vec::new();
    for line in [
        ["skill", "list"].as_slice(),
        &["skill", "add", "pdf-forms"],
        &["skill", "list", "-w", "app"],
        &["skill", "on", "pdf-forms", "-w", "app"],
        &["skill", "on", "pdf-forms", "-w", "app"],
        &["skill", "show", "pdf-forms", "-w", "app"],
        &["skill", "show", "pdf-forms", "--file", "scripts/fill.sh"],
        &["skill", "add", "pdf-forms"],
    ] {
        runs.push(sandbox.frith(line).ok());
    }
    fs::write(folder.join("SKILL.md"), HEAD.replace("Run the script.", "Run `scripts/fill.sh`.")).unwrap();
    fs::write(folder.join("more.md"), "more\n").unwrap();
    fs::remove_file(folder.join("reference.md")).unwrap();
    runs.push(sandbox.frith(["skill", "add", "pdf-forms"]).ok());
    runs.push(sandbox.frith(["skill", "remove", "pdf-forms"]).ends_with(1));
    runs.push(sandbox.frith(["skill", "remove", "pdf-forms", "--yes"]).ok());
    runs.push(sandbox.frith(["skill", "list", "-w", "app"]).ok());
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    runs.push(sandbox.frith(["skill", "list", "-w", "app"]).ok());
    runs.push(sandbox.frith(["skill", "off", "pdf-forms", "-w", "app"]).ok());
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn a_folder_that_is_no_skill_is_refused_in_its_own_words() {
    let sandbox = Sandbox::new();
    let folder = skill(&sandbox);
    let add = || sandbox.frith(["skill", "add", "pdf-forms"]).ends_with(1);
    let mut runs: Vec<Run> = ["nowhere", "pdf-forms/SKILL.md"].map(|path| sandbox.frith(["skill", "add", path]).ends_with(1)).into();
    for head in ["# How\n", "---\nname: pdf-forms\n---\n", "---\nname: Pdf Forms\ndescription: x\n---\n", "---\nname: a: b\n---\n"] {
        fs::write(folder.join("SKILL.md"), head).unwrap();
        runs.push(add());
    }
    fs::write(folder.join("SKILL.md"), [0xff, 0xfe]).unwrap();
    runs.push(add());
    fs::remove_file(folder.join("SKILL.md")).unwrap();
    runs.push(add());
    fs::write(folder.join("SKILL.md"), HEAD).unwrap();
    let odd = folder.join("odd");
    std::os::unix::fs::symlink("/etc/passwd", &odd).unwrap();
    runs.push(add());
    fs::remove_file(&odd).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&odd).status().unwrap().success());
    runs.push(add());
    fs::remove_file(&odd).unwrap();
    fs::write(&odd, vec![b'x'; 64 * 1024 + 1]).unwrap();
    runs.push(add());
    fs::remove_file(&odd).unwrap();
    fs::write(folder.join("bell\u{7}"), "x").unwrap();
    runs.push(add());
    fs::remove_file(folder.join("bell\u{7}")).unwrap();
    (0..62).for_each(|n| fs::write(folder.join(format!("f{n}")), "x").unwrap());
    runs.push(add());
    fs::remove_file(folder.join("f0")).unwrap();
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(sandbox.frith(["skill", "list", "--json"]).ok().json()["skills"], serde_json::json!([]));
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
}

#[test]
fn switches_are_a_workspaces_and_a_fork_has_its_parents() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    skill(&sandbox);
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["workspace", "create", "old"]).ok();
    let _ = sandbox.frith(["workspace", "archive", "old"]).ok();
    let runs = [
        ["skill", "on", "pdf-forms", "-w", "side"].as_slice(),
        &["skill", "off", "pdf-forms", "-w", "side"],
        &["skill", "on", "nosuch", "-w", "app"],
        &["skill", "on", "pdf-forms", "-w", "old"],
        &["skill", "on", "pdf-forms"],
        &["skill", "show", "nosuch"],
        &["skill", "show", "pdf-forms", "--file", "../../etc/passwd"],
        &["skill", "remove", "nosuch", "--yes"],
        &["skill", "on", "pdf-forms", "-w", "app"],
        &["skill", "list", "-w", "side"],
    ]
    .map(|line| sandbox.frith(line));
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

/// The agent reads what is on where it works, and changes nothing.
#[test]
fn an_agent_reads_the_skills_and_sites_of_its_place_and_switches_none() {
    let sandbox = Sandbox::new();
    sandbox.config(concat!(
        "[launch.reader]\ncommand = [\"sh\", \"-c\", \"",
        "{ frith skill list; frith skill show pdf-forms --file scripts/fill.sh; frith site list; } > read; ",
        "{ frith skill show other; frith skill on other; frith skill add pdf-forms; frith site add https://example.org; } 2> refused; ",
        "touch done; exec cat\"]\n"
    ));
    sandbox.workspace("app");
    let folder = skill(&sandbox);
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    fs::write(folder.join("SKILL.md"), HEAD.replace("pdf-forms", "other")).unwrap();
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    let _ = sandbox.frith(["skill", "on", "pdf-forms", "-w", "app"]).ok();
    let _ = sandbox.frith(["site", "add", "https://example.org/board", "--note", "the board", "-w", "app"]).ok();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "reader"]).ok();
    let folder = PathBuf::from(sandbox.show_place("side")["folder"].as_str().unwrap());
    wait_for("the agent is done", || folder.join("done").exists().then_some(()));
    let told = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    insta::assert_snapshot!(sandbox.redact(&[told("read"), told("refused")].join("\n")));
}

#[test]
fn the_files_of_a_skill_keep_what_they_are() {
    let sandbox = Sandbox::new();
    let folder = skill(&sandbox);
    fs::write(folder.join("form.pdf"), [0xff, 0x00, 0x25, 0x50]).unwrap();
    let _ = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    let shown = sandbox.call(["skill", "show", "pdf-forms", "--file", "form.pdf"]).into_command().output().unwrap();
    assert_eq!(shown.stdout, [0xff, 0x00, 0x25, 0x50]);
    let json = sandbox.frith(["skill", "show", "pdf-forms", "--file", "form.pdf", "--json"]).ok().json();
    assert_eq!((&json["text"], &json["bytes"]), (&serde_json::Value::Null, &serde_json::json!("/wAlUA==")));
    let script = json["skill"]["files"].as_array().unwrap().iter().find(|file| file["path"] == "scripts/fill.sh").unwrap().clone();
    assert_eq!(script["executable"], true);
    fs::set_permissions(folder.join("scripts/fill.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    let again = sandbox.frith(["skill", "add", "pdf-forms"]).ok();
    assert!(again.stdout.contains("changed  scripts/fill.sh"), "{}", again.transcript());
}

#[test]
fn sites_are_shared_with_forks_once_each_and_without_passwords() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let long = "x".repeat(1_025);
    let runs = [
        ["site", "list", "-w", "app"].as_slice(),
        &["site", "add", "https://Example.org/board", "--note", "the\n board", "-w", "app"],
        &["site", "add", "https://example.org:443/board", "-w", "app"],
        &["site", "add", "https://example.org/board", "--note", "the team's board", "-w", "side"],
        &["site", "add", "http://localhost:3000", "-w", "side"],
        &["site", "list", "-w", "app"],
        &["site", "remove", "https://example.org/board", "-w", "side"],
        &["site", "remove", "https://example.org/board", "-w", "app"],
        &["site", "add", "example.org", "-w", "app"],
        &["site", "add", "javascript:alert(1)", "-w", "app"],
        &["site", "add", "https://ada:secret@example.org/x", "-w", "app"],
        &["site", "add", "https://:80", "-w", "app"],
        &["site", "add", "https://example.org/a b", "-w", "app"],
        &["site", "add", "https://example.org", "--note", &long, "-w", "app"],
        &["site", "list", "-w", "side"],
    ]
    .map(|line| sandbox.frith(line));
    insta::assert_snapshot!(sandbox.transcript(&runs).replace(&long, "[1025 x]"));
    assert!(!runs.iter().any(|run| run.stderr.contains("secret")), "a password is never repeated");
}
