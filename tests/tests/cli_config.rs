//! The configuration and the environment as people get them wrong: told where, told what is accepted, and no more in the way
//! than it has to be.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use frith_tests::Sandbox;

#[test]
fn a_value_where_a_table_belongs_is_told_with_file_and_line() {
    let sandbox = Sandbox::new();
    sandbox.config("# mine\nnode = 3\n");
    let run = sandbox.frith(["config", "show"]).ends_with(2);
    sandbox.config("[launch]\nmine = \"my-agent\"\n");
    let kind = sandbox.frith(["up"]).ends_with(2);
    insta::assert_snapshot!(sandbox.transcript([&run, &kind]));
}

#[test]
fn a_pattern_of_variables_that_is_none_does_not_keep_the_node_from_starting() {
    let sandbox = Sandbox::new();
    sandbox.config("[launch.mine]\ncommand = [\"cat\"]\nenvironment = [\"MY_*_KEY\"]\n");
    let up = sandbox.frith(["workspace", "create", "app"]).ok();
    let shown = sandbox.frith(["config", "get", "launch.mine.command"]).ok();
    let set = sandbox.frith(["config", "set", "launch.mine.environment", "[\"*\"]"]).ends_with(2);
    insta::assert_snapshot!(sandbox.transcript([&up, &shown, &set]));
    assert!(sandbox.log().contains("line 3: `launch.mine.environment`"), "{}", sandbox.log());
    let doctor = sandbox.frith(["doctor"]);
    assert!(doctor.stdout.contains("note  configuration: ") && doctor.stdout.contains("line 3"), "{}", doctor.transcript());
}

#[test]
fn a_key_is_unset_and_what_counts_then_is_told() {
    let sandbox = Sandbox::new();
    sandbox.config("[node]\nmax_agents = 3 # few\n");
    let runs = [
        ["config", "unset", "node.max_agents"].as_slice(),
        &["config", "unset", "node.max_agents"],
        &["config", "unset", "node.max_agent"],
        &["config", "get", "node.max_agents"],
    ]
    .map(|line| sandbox.frith(line));
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(fs::read_to_string(sandbox.home().join("config.toml")).unwrap(), "");
    // It also takes out what keeps the node from starting.
    sandbox.config("[node]\nmax_agents = \"many\"\n");
    let _ = sandbox.frith(["up"]).ends_with(2);
    let _ = sandbox.frith(["config", "unset", "node.max_agents"]).ok();
    let _ = sandbox.frith(["up"]).ok();
}

#[test]
fn a_variable_that_is_nearly_one_of_ours_is_told_by_every_command() {
    let sandbox = Sandbox::new();
    let wrong = sandbox.call(["workspace", "create", "app"]).env("FRITH_HOEM", "/elsewhere").env("FRITH_MINE", "1").run().ok();
    let quiet = sandbox.call(["workspace", "list", "--quiet"]).env("FRITH_HOEM", "/elsewhere").run().ok();
    insta::assert_snapshot!(sandbox.transcript([&wrong, &quiet]));
}

#[test]
fn a_home_that_is_a_file_is_told_by_every_command() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("file");
    fs::write(&file, "mine").unwrap();
    let run = |line: &[&str]| sandbox.call(line).env("FRITH_HOME", &file).run();
    let runs = [["status"].as_slice(), &["workspace", "list"], &["down"], &["up", "--foreground"], &["config", "set", "git.lfs", "skip"]]
        .map(|line| run(line).ends_with(2));
    let doctor = run(&["doctor"]).ends_with(1);
    assert!(doctor.stdout.contains("is no folder"), "{}", doctor.transcript());
    insta::assert_snapshot!(sandbox.transcript(&runs));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_folder_that_is_no_text_is_whole_in_json_and_harmless_on_a_terminal() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join(OsStr::from_bytes(b"caf\xe9"));
    if fs::create_dir(&folder).is_err() {
        // A file system that takes text alone has no such folder.
        return;
    }
    let _ = sandbox.frith([OsStr::new("workspace"), "create".as_ref(), "app".as_ref(), "--folder".as_ref(), folder.as_ref()]).ok();
    let told = sandbox.show_place("app")["folder"].as_str().unwrap().to_owned();
    assert_eq!(told, format!("file://{}/caf%E9", sandbox.root().display()));
    let shown = sandbox.frith(["workspace", "show", "app"]).ok();
    assert!(shown.stdout.contains("caf\u{fffd}"), "{}", shown.transcript());
}
