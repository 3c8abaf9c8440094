//! Forks: their names, their folders, and every refusal on the way.

use std::{fs, os::unix::fs::symlink};

use frith_tests::{Run, Sandbox};

/// Runs these commands, each of which must be refused.
fn refusals<const N: usize>(sandbox: &Sandbox, commands: [&[&str]; N]) -> Vec<Run> {
    commands.iter().map(|args| sandbox.frith(*args).ends_with(1)).collect()
}

#[test]
fn a_fork_takes_a_name_nobody_has_and_stands_under_its_parent() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["workspace", "set", "app", "--icon", "🌳", "--description", "an app"]).ok();
    let runs = [
        ["fork", "create", "app"].as_slice(),
        &["fork", "create", "app"],
        &["fork", "create", "app", "--name", "side"],
        &["workspace", "list"],
        &["workspace", "show", "side"],
    ]
    .map(|args| sandbox.frith(args).ok());
    insta::assert_snapshot!(sandbox.transcript(&runs));
    let fork = sandbox.show_place("app-fork");
    assert_eq!((fork["icon"].as_str(), fork["description"].as_str()), (Some("🌳"), Some("an app")));
    let long = "a".repeat(128);
    let _ = sandbox.frith(["workspace", "create", &long]).ok();
    let fork = sandbox.frith(["fork", "create", &long]).ok();
    assert_eq!(fork.stdout.trim().rsplit(' ').next().map(str::len), Some(128), "{}", fork.stdout);
}

#[test]
fn what_cannot_be_forked_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["workspace", "create", "old"]).ok();
    let _ = sandbox.frith(["workspace", "archive", "old"]).ok();
    let runs = refusals(
        &sandbox,
        [
            &["fork", "create", "nosuch"],
            &["fork", "create", "side"],
            &["fork", "create", "supervisor"],
            &["fork", "create", "old"],
            &["fork", "create", "app", "--name", "No Name"],
            &["fork", "create", "app", "--name", "side"],
            &["fork", "create"],
        ],
    );
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn a_fork_is_neither_deleted_nor_archived_nor_is_what_has_forks() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let folder = sandbox.folder("other").to_string_lossy().into_owned();
    let runs = refusals(
        &sandbox,
        [
            &["workspace", "delete", "side", "--yes"],
            &["workspace", "archive", "side"],
            &["workspace", "delete", "app", "--yes"],
            &["workspace", "archive", "app"],
            &["workspace", "set", "side", "--folder", &folder],
            &["fork", "merge", "app", "--yes"],
            &["fork", "merge", "nosuch", "--yes"],
        ],
    );
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn a_forks_settings_are_its_parents() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let runs = [
        ["workspace", "set", "app", "--self-learning-note", "note what you learn", "--auto-allowed-tools", "Read, Bash(ls)"].as_slice(),
        &["workspace", "show", "side"],
        &["workspace", "set", "side", "--self-learning-note", "another"],
        &["workspace", "set", "side", "--self-learning-note", "note what you learn"],
        &["workspace", "set", "side"],
    ]
    .map(|args| sandbox.frith(args));
    assert_eq!(runs.each_ref().map(|run| run.code), [0, 0, 1, 0, 1], "{}", sandbox.transcript(&runs));
    insta::assert_snapshot!(sandbox.transcript(&runs));
}

#[test]
fn a_merge_is_refused_while_tasks_are_unfinished_and_names_them() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let task = sandbox.task("side", "half done");
    let _ = sandbox.task("side", "not begun");
    let _ = sandbox.frith(["task", "status", &task, "ongoing"]).ok();
    let refused = sandbox.frith(["fork", "merge", "side", "--yes"]).ends_with(1);
    let as_data = sandbox.frith(["fork", "merge", "side", "--yes", "--json"]).ends_with(1);
    assert!(as_data.stdout.contains(&task) || as_data.stderr.contains(&task), "{}", as_data.transcript());
    insta::assert_snapshot!(sandbox.transcript([&refused]));
}

#[test]
fn a_merged_fork_says_where_its_tasks_are() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let fork = sandbox.frith(["fork", "create", "app", "--name", "side", "--quiet"]).ok().id();
    let task = sandbox.task("side", "done");
    let _ = sandbox.frith(["task", "reply", &task, "it works"]).ok();
    let _ = sandbox.frith(["task", "status", &task, "completed"]).ok();
    let merge = sandbox.frith(["fork", "merge", "side", "--yes"]).ok();
    let show = sandbox.frith(["task", "show", &task]).ok();
    let again = sandbox.frith(["fork", "merge", &fork, "--yes"]).ends_with(1);
    let late = sandbox.frith(["task", "add", "-w", &fork, "late"]);
    insta::assert_snapshot!(sandbox.transcript([&merge, &show, &again, &late]));
    assert_eq!(sandbox.show_task(&task)["place"]["name"], "app");
    assert_eq!(sandbox.show_task(&task)["thread"][0]["text"], "it works");
}

#[test]
fn a_plain_folder_gives_a_copy_without_what_is_frith_s_own() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let folder = sandbox.folder("plain");
    fs::create_dir(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/deep.txt"), "deep").unwrap();
    fs::write(folder.join(".mcp.json"), "{}").unwrap();
    fs::write(folder.join(".frith.toml"), "").unwrap();
    symlink("notes.txt", folder.join("link")).unwrap();
    let _ = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
    let _ = sandbox.frith(["workspace", "create", "plain", "--folder", folder.to_str().unwrap()]).ok();
    let _ = sandbox.frith(["fork", "create", "plain", "--name", "side"]).ok();
    let launch = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let copy = sandbox.show_place("side")["folder"].as_str().unwrap().to_owned();
    let mut names: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".mcp.json");
    names.sort();
    assert_eq!(names, ["link", "notes.txt", "sub"]);
    assert_eq!(fs::read_link(format!("{copy}/link")).unwrap().to_str(), Some("notes.txt"));
    let merge = sandbox.frith(["fork", "merge", "side", "--delete-folder", "--yes"]).ok();
    insta::assert_snapshot!(sandbox.transcript([&launch, &merge]));
    assert!(!fs::exists(&copy).unwrap() && folder.join("notes.txt").exists());
}

#[test]
fn a_fork_starts_in_the_sub_folder_its_parent_has() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.repo("app");
    let _ = sandbox.frith(["workspace", "create", "app", "--folder", repo.join("src").to_str().unwrap()]).ok();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let agents = sandbox.frith(["agents", "sessions", "--json"]).ok().json();
    let folder = agents["agents"][0]["agent"]["folder"].as_str().unwrap().to_owned();
    assert!(folder.ends_with("/src") && fs::exists(format!("{folder}/lib.txt")).unwrap(), "{folder}");
}

#[test]
fn a_repository_that_no_worktree_can_be_made_of_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let launch = |name: &str, folder: &std::path::Path| {
        let _ = sandbox.frith(["workspace", "create", name, "--folder", folder.to_str().unwrap()]).ok();
        let _ = sandbox.frith(["fork", "create", name, "--name", &format!("{name}-side")]).ok();
        sandbox.frith(["agents", "launch", &format!("{name}-side"), "--kind", "idle"]).ends_with(1)
    };
    let empty = sandbox.folder("empty");
    sandbox.git(&empty, &["init", "--quiet", "--initial-branch", "main"]);
    let bare = sandbox.root().join("bare");
    sandbox.git(sandbox.root(), &["init", "--quiet", "--bare", "bare"]);
    let runs = [launch("empty", &empty), launch("bare", &bare)];
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(fs::read_dir(sandbox.home().join("forks")).map_or(0, |entries| entries.count()), 0);
}

#[test]
fn a_fork_can_be_made_of_a_repository_in_the_middle_of_something() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    fs::write(repo.join(".git/index.lock"), "").unwrap();
    fs::create_dir(repo.join(".git/rebase-merge")).unwrap();
    fs::write(repo.join(".git/rebase-merge/head-name"), "refs/heads/main\n").unwrap();
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    assert!(repo.join(".git/index.lock").exists(), "somebody else's lock is left alone");
}

#[test]
fn a_committed_project_file_that_speaks_for_the_parent_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.claude]\ncommand = [\"cat\"]\n");
    let repo = sandbox.workspace("app");
    let parent = sandbox.show_place("app")["id"].as_str().unwrap().to_owned();
    let entry = format!(r#"{{"mcpServers": {{"frith": {{"command": "frith", "args": ["mcp", "--place", "{parent}"]}}}}}}"#);
    fs::write(repo.join(".mcp.json"), entry).unwrap();
    sandbox.commit(&repo, "an entry");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let launch = sandbox.frith(["agents", "launch", "side", "--kind", "claude"]).ends_with(1);
    insta::assert_snapshot!(sandbox.transcript([&launch]));
}

#[test]
fn a_folder_deleted_by_hand_is_made_again_on_its_branch() {
    let sandbox = Sandbox::new();
    sandbox.script_kind();
    let repo = sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    let folder = std::path::PathBuf::from(sandbox.show_place("side")["folder"].as_str().unwrap());
    fs::write(folder.join("work.txt"), "work").unwrap();
    sandbox.commit(&folder, "work");
    let _ = sandbox.frith(["agents", "stop", "side"]).ok();
    fs::remove_dir_all(&folder).unwrap();
    let _ = sandbox.frith(["agents", "launch", "side", "--kind", "idle"]).ok();
    assert_eq!(fs::read_to_string(folder.join("work.txt")).unwrap(), "work");
    assert_eq!(sandbox.git(&repo, &["branch", "--list", "frith/*"]).lines().count(), 1);
}

#[test]
fn a_question_without_a_terminal_needs_a_yes() {
    let sandbox = Sandbox::new();
    sandbox.workspace("app");
    let _ = sandbox.frith(["fork", "create", "app", "--name", "side"]).ok();
    let runs = [
        sandbox.frith(["fork", "merge", "side", "--delete-folder"]),
        sandbox.frith(["workspace", "delete", "app"]),
        sandbox.frith(["fork", "merge", "side", "--dry-run"]),
    ];
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(sandbox.show_place("side")["merged"], serde_json::Value::Null);
}
