//! Workspaces: their life, their settings, their folders, and what is refused.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, os::unix::fs::PermissionsExt as _};

use frith_tests::{Run, Sandbox};

#[test]
fn a_workspace_from_its_making_to_the_trash_and_back() {
    let sandbox = Sandbox::new();
    let folder = sandbox.repo("app").to_string_lossy().into_owned();
    let runs = [
        ["workspace", "create", "app", "--folder", &folder, "--description", "an app"].as_slice(),
        &["task", "add", "-w", "app", "one"],
        &["workspace", "list"],
        &["workspace", "show", "app"],
        &["workspace", "set", "app", "--name", "web"],
        &["workspace", "archive", "web"],
        &["task", "add", "-w", "web", "two"],
        &["workspace", "list"],
        &["workspace", "unarchive", "web"],
        &["workspace", "unarchive", "web"],
        &["workspace", "delete", "web", "--dry-run"],
        &["workspace", "delete", "web", "--yes"],
        &["workspace", "list"],
        &["workspace", "list", "--all"],
    ]
    .map(|args| sandbox.frith(args));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    let listed = sandbox.frith(["workspace", "list", "--all", "--json"]).ok().json();
    let web = listed["workspaces"].as_array().unwrap().iter().find(|place| place["name"] == "web").unwrap().clone();
    let _ = sandbox.frith(["workspace", "unarchive", web["id"].as_str().unwrap()]).ok();
    assert_eq!(sandbox.titles("web"), ["one"]);
}

#[test]
fn the_place_is_the_one_whose_folder_contains_the_current_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.workspace("app");
    let add = sandbox.call(["task", "add", "from within"]).dir(repo.join("src")).run().ok();
    assert_eq!(sandbox.titles("app"), ["from within"]);
    let sibling = sandbox.folder("app-evil");
    let outside = sandbox.call(["task", "list"]).dir(sibling).run().ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&add, &outside]));
}

#[test]
fn names_that_are_none_are_refused_in_their_own_words() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let long = "a".repeat(129);
    let names = ["", " ", "My App", "a--b", "-a", "app", "supervisor", "0123456789abcdef0123456789abcdef", &long, "../x", "a/b"];
    let runs: Vec<Run> = names.iter().map(|name| sandbox.frith(["workspace", "create", "--", name])).collect();
    assert!(runs.iter().all(|run| run.code == 1), "{}", sandbox.transcript(&runs));
    insta::assert_snapshot!(sandbox.transcript(&runs).replace(&long, "[129 a]"));
}

#[test]
fn folders_that_are_none_are_refused_in_their_own_words() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let file = sandbox.folder("plain").join("notes.txt");
    let gone = sandbox.root().join("gone");
    let ours = sandbox.home();
    let taken = sandbox.root().join("app");
    let mut runs: Vec<Run> = [&gone, &file, &ours, &taken]
        .map(|folder| sandbox.frith(["workspace", "create", "other", "--folder", folder.to_str().unwrap()]).ends_with(1))
        .into();
    runs.push(sandbox.frith(["workspace", "create", "--", ""]).ends_with(1));
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

/// Root reads every folder, so for root this checks what it can: that such a folder is taken.
#[test]
fn a_folder_that_cannot_be_read_is_refused() {
    let sandbox = Sandbox::new();
    let locked = sandbox.folder("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let readable = fs::read_dir(&locked).is_ok();
    let run = sandbox.frith(["workspace", "create", "locked", "--folder", locked.to_str().unwrap()]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run.code, i32::from(!readable), "{}", run.transcript());
    assert!(readable || run.stderr.contains("cannot be read"), "{}", run.transcript());
}

#[test]
fn a_folder_may_have_any_name_the_system_allows() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    for (number, name) in
        [b"with space".as_slice(), b"with\nnewline", "grün🌳".as_bytes(), b"no\xffutf8", b"-dash", b"$(touch x)"].iter().enumerate()
    {
        let folder = sandbox.root().join(OsStr::from_bytes(name));
        if fs::create_dir(&folder).is_err() {
            // Some file systems take UTF-8 only; there is nothing to ask about a folder that cannot be.
            continue;
        }
        fs::write(folder.join("file"), "x").unwrap();
        let place = format!("place-{number}");
        let create = [OsStr::new("workspace"), "create".as_ref(), place.as_ref(), "--folder".as_ref(), folder.as_os_str()];
        let _ = sandbox.frith(create).ok();
        let _ = sandbox.call(["task", "add", "inside"]).dir(&folder).run().ok();
        assert_eq!(sandbox.titles(&place), ["inside"]);
        let _ = sandbox.frith(["fork", "create", &place, "--name", &format!("side-{number}")]).ok();
        let _ = sandbox.frith(["agents", "launch", &format!("side-{number}"), "--kind", "idle"]).ok();
        let _ = sandbox.frith(["workspace", "show", &place]).ok();
    }
}

#[test]
fn settings_are_shown_and_a_bad_value_is_told() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let runs = [
        ["workspace", "set", "app", "--notifications", "task-finished,agent-ended", "--send-delay-seconds", "5"].as_slice(),
        &["workspace", "set", "app", "--clear-context", "true", "--allow-all-commands", "false"],
        &["workspace", "show", "app"],
        &["workspace", "set", "app", "--notifications", "nonsense"],
        &["workspace", "set", "app", "--clear-context", "perhaps"],
    ]
    .map(|args| sandbox.frith(args));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!((runs[3].code, runs[4].code), (2, 2));
}

#[test]
fn the_supervisor_workspace_is_there_from_the_start_and_stays() {
    let sandbox = Sandbox::new();
    let runs = [
        ["workspace", "list"].as_slice(),
        &["workspace", "delete", "supervisor", "--yes"],
        &["workspace", "archive", "supervisor"],
        &["workspace", "set", "supervisor", "--name", "boss"],
    ]
    .map(|args| sandbox.frith(args));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert!(runs[1..].iter().all(|run| run.code == 1));
}
