//! `--project` through the real command: what has a host's new worktrees adopted, entered into files of a repository and given
//! back to the byte. No host is on the machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use frith_tests::{Run, Sandbox, run::write_program};
use serde_json::{Value, json};

const CURSOR: &str = ".cursor/worktrees.json";
const DEVIN: &str = ".devin/hooks.json";
const WINDSURF: &str = ".windsurf/hooks.json";
const KILO: &str = ".kilo/setup-script";
const KILO_SH: &str = ".kilo/setup-script.sh";

/// A machine with a repository.
struct Repository {
    sandbox: Sandbox,
    top: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let top = sandbox.root().join("app");
        fs::create_dir(&top).unwrap();
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(&top).env("HOME", sandbox.root()).status().unwrap();
        assert!(made.success());
        Self { sandbox, top }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        files.iter().for_each(|(name, text)| repository.write(name, text));
        repository
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.top.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn frith(&self, line: &[&str]) -> Run {
        self.sandbox.call(line).dir(&self.top).run()
    }

    fn install(&self, hosts: &str) -> Run {
        self.frith(&["agents", "install", hosts, "--project"])
    }

    fn uninstall(&self, hosts: &str) -> Run {
        self.frith(&["agents", "uninstall", hosts, "--project"])
    }

    /// Every file and folder below the top but git's own.
    fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn walk(folder: &Path, into: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|it| it.file_name() != ".git") {
                let path = entry.path();
                let bytes = if path.is_dir() { None } else { Some(fs::read(&path).unwrap()) };
                if bytes.is_none() {
                    walk(&path, into);
                }
                into.insert(path, bytes);
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.top, &mut found);
        found
    }
}

/// Enters it twice and takes it out twice: the second time changes nothing, and in the end every byte is as it was.
fn check(hosts: &str, files: &[(&str, &str)]) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let repository = Repository::with(files);
    let before = repository.tree();
    let first = repository.install(hosts).ok();
    let entered = repository.tree();
    assert_ne!(entered, before, "{files:?}\n{}", first.transcript());
    let again = repository.install(hosts).ok();
    assert_eq!(repository.tree(), entered, "{files:?}\n{}", again.transcript());
    let out = repository.uninstall(hosts).ok();
    assert_eq!(repository.tree(), before, "{files:?}\n{}", out.transcript());
    let _ = repository.uninstall(hosts).ok();
    assert_eq!(repository.tree(), before);
    entered.into_iter().map(|(path, bytes)| (path.strip_prefix(&repository.top).unwrap().to_owned(), bytes)).collect()
}

fn text<'t>(tree: &'t BTreeMap<PathBuf, Option<Vec<u8>>>, name: &str) -> &'t str {
    std::str::from_utf8(tree[Path::new(name)].as_ref().unwrap()).unwrap()
}

#[test]
fn a_repository_is_entered_shown_and_given_back() {
    let repository = Repository::with(&[
        (CURSOR, "{\n  // ours\n  \"setup-worktree\": [\n    \"npm ci\"\n  ],\n  \"setup-worktree-windows\": \"setup.ps1\"\n}\n"),
        (KILO, "#!/bin/bash\nset -e\n"),
    ]);
    let before = repository.tree();
    let runs = [
        ["agents", "install", "cursor,kilo,devin", "--project", "--dry-run"].as_slice(),
        &["agents", "install", "cursor,kilo,devin", "--project"],
        &["agents", "install", "windsurf,devin", "--project"],
        &["agents", "uninstall", "windsurf,cursor,kilo", "--project", "--dry-run"],
        &["agents", "uninstall", "windsurf,cursor,kilo", "--project"],
        &["agents", "uninstall", "devin", "--project"],
    ]
    .map(|line| repository.frith(line).ok());
    insta::assert_snapshot!(repository.sandbox.transcript(&runs));
    assert_eq!(repository.tree(), before);
}

#[test]
fn cursors_lists_come_back_to_the_byte_whatever_they_look_like() {
    for text in [
        "{}",
        "{}\n",
        "{\"setup-worktree\": []}",
        "{\"setup-worktree\": [\"npm ci\"], \"other\": 1}\n",
        "{\r\n\t\"setup-worktree-unix\": [\r\n\t\t\"npm ci\", // all of it\r\n\t],\r\n\t\"setup-worktree\": [],\r\n}\r\n",
        "\u{feff}{\n    /* a note */\n    \"z\": {\"a\": []},\n    \"setup-worktree-windows\": [\"npm ci\"],\n    \"setup-worktree\": [\n    ]\n}",
        "{\"setup-worktree-unix\":[\"a\",\"b\"],\"setup-worktree-windows\":[\"c\"],\"setup-worktree\":[\"d\"]}",
    ] {
        check("cursor", &[(CURSOR, text)]);
    }
    let made = check("cursor", &[]);
    insta::assert_snapshot!(self::text(&made, CURSOR), @r#"
    {
      "setup-worktree": [
        "/bin/sh -c '(command -v frith >/dev/null 2>&1 && frith worktree adopt </dev/null) || true'"
      ]
    }
    "#);
    let all = check("cursor", &[(CURSOR, "{\"setup-worktree-windows\": [\"w\"], \"setup-worktree-unix\": [\"u\"]}")]);
    let all: Value = serde_json::from_str(self::text(&all, CURSOR)).unwrap();
    assert!(all.get("setup-worktree").is_none(), "{all}");
    assert!(all["setup-worktree-unix"][1].as_str().unwrap().starts_with("/bin/sh -c"), "{all}");
    assert_eq!(all["setup-worktree-windows"], json!(["w", "cmd /d /c \"frith worktree adopt <nul & exit 0\""]));
}

#[test]
fn hooks_of_windsurf_and_devin_come_back_to_the_byte() {
    for text in [
        "{}",
        "{\n  \"hooks\": {}\n}\n",
        "{\"hooks\": {\"post_setup_worktree\": []}}",
        "\u{feff}{\r\n  // first\r\n  \"hooks\": {\r\n    \"post_setup_worktree\": [{\"command\": \"make\", \"show_output\": true}],\r\n    \"pre_run\": []\r\n  }\r\n}\r\n",
        "{\"z\": null, \"hooks\": {\"pre_run\": [{\"command\": \"x\"}],},}",
    ] {
        check("devin", &[(DEVIN, text)]);
        check("windsurf,devin", &[(DEVIN, text)]);
    }
    assert_eq!(check("windsurf", &[]).keys().filter(|path| path.extension().is_some()).collect::<Vec<_>>(), [Path::new(DEVIN)]);
}

#[test]
fn where_only_windsurfs_file_defines_hooks_the_other_is_never_made() {
    let text = "{\"hooks\": {\"pre_run\": []}}";
    let entered = check("devin", &[(WINDSURF, text)]);
    assert!(!entered.contains_key(Path::new(".devin")) && self::text(&entered, WINDSURF).contains("frith worktree adopt"));
    let entered = check("windsurf", &[(WINDSURF, text), (DEVIN, "{\"version\": 1}")]);
    assert_eq!(self::text(&entered, DEVIN), "{\"version\": 1}", "it would switch the other off");
    let entered = check("windsurf", &[(WINDSURF, text), (DEVIN, "{\"hooks\": {}}")]);
    assert_eq!(self::text(&entered, WINDSURF), text);
    let entered = check("windsurf", &[(WINDSURF, "{\"version\": 1}")]);
    assert!(entered.contains_key(Path::new(DEVIN)), "one without hooks is not read");
}

#[test]
fn the_entry_moves_to_the_file_that_is_read_now() {
    let repository = Repository::with(&[(WINDSURF, "{\"hooks\": {}}")]);
    let _ = repository.install("windsurf").ok();
    repository.write(DEVIN, "{\"hooks\": {\"pre_run\": []}}");
    let _ = repository.install("devin").ok();
    assert_eq!(repository.read(WINDSURF), "{\"hooks\": {}}");
    assert_eq!(repository.json(DEVIN)["hooks"]["post_setup_worktree"].as_array().unwrap().len(), 1);
}

#[test]
fn kilos_script_comes_back_to_the_byte() {
    for text in ["", "#!/bin/sh", "#!/bin/sh\n", "#!/usr/bin/env bash\r\nset -e\r\nmake\r\n", "npm ci", "\u{feff}# mine\n", "\n\n"] {
        check("kilo", &[(KILO, text)]);
        let entered = check("kilo", &[(KILO_SH, text)]);
        assert!(!entered.contains_key(Path::new(KILO)), "{entered:?}");
    }
    let made = check("kilo", &[]);
    insta::assert_snapshot!(self::text(&made, KILO), @r##"
    #!/bin/sh
    # >>> frith >>>
    (command -v frith >/dev/null 2>&1 && frith worktree adopt "${WORKTREE_PATH:-.}" </dev/null) || true
    # <<< frith <<<
    "##);
    let both = check("kilo", &[(KILO, "a\n"), (KILO_SH, "b\n")]);
    assert_eq!(self::text(&both, KILO_SH), "b\n");
}

#[test]
fn what_is_made_can_be_read_by_all_and_run_where_it_is_a_program() {
    let repository = Repository::new();
    let _ = repository.install("cursor,kilo").ok();
    let mode = |name: &str| fs::metadata(repository.top.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(CURSOR), mode(KILO)), (0o644, 0o755));
    assert!(!repository.tree().keys().any(|path| path.to_string_lossy().contains(".bak-")), "git is the undo");
}

#[test]
fn without_a_record_what_would_be_left_empty_goes() {
    let repository = Repository::with(&[(CURSOR, "{\n  \"other\": 1\n}\n")]);
    let before = repository.read(CURSOR);
    let _ = repository.install("cursor,kilo,devin").ok();
    fs::remove_file(repository.sandbox.home().join("installs.json")).unwrap();
    let _ = repository.uninstall("cursor,kilo,devin").ok();
    assert_eq!(repository.read(CURSOR), before);
    assert!(!repository.top.join(KILO).exists() && !repository.top.join(DEVIN).exists());
}

#[test]
fn what_somebody_added_to_a_file_that_was_made_stays() {
    let repository = Repository::new();
    let _ = repository.install("cursor,kilo").ok();
    repository.write(CURSOR, &repository.read(CURSOR).replace("{\n", "{\n  \"mine\": 1,\n"));
    repository.write(KILO, &(repository.read(KILO) + "make\n"));
    let _ = repository.uninstall("cursor,kilo").ok();
    assert_eq!(repository.json(CURSOR), json!({"mine": 1}));
    assert_eq!(repository.read(KILO), "#!/bin/sh\nmake\n");
}

#[test]
fn a_key_with_a_script_and_another_programs_script_are_left_with_a_note() {
    let text = "{\"setup-worktree\": \"setup.sh\"}";
    let repository = Repository::with(&[(CURSOR, text), (KILO, "#!/usr/bin/env python3\nprint()\n")]);
    let before = repository.tree();
    let run = repository.install("cursor,kilo").ok();
    assert!(run.stdout.contains("`setup-worktree` in") && run.stdout.contains("add to that script: /bin/sh -c"), "{}", run.transcript());
    assert!(run.stdout.contains("is no script of a shell"), "{}", run.transcript());
    assert_eq!(repository.tree(), before);
}

#[test]
fn what_somebody_wrote_for_the_same_is_not_doubled_and_stays() {
    let text = "{\"setup-worktree\": [\"frith worktree adopt --task x\"]}";
    let repository = Repository::with(&[(CURSOR, text), (KILO, "#!/bin/sh\nfrith worktree adopt\n")]);
    let before = repository.tree();
    let run = repository.install("cursor,kilo").ok();
    assert!(run.stdout.contains("was changed by somebody"), "{}", run.transcript());
    let _ = repository.uninstall("cursor,kilo").ok();
    assert_eq!(repository.tree(), before);
    let _ = repository.frith(&["agents", "uninstall", "cursor", "--project", "--yes"]).ok();
    assert!(!repository.top.join(CURSOR).exists());
}

#[test]
fn what_cannot_be_changed_is_told_with_its_file_and_stays() {
    for (host, name, text, fault) in [
        ("kilo", KILO, "#!/bin/sh\n# >>> frith >>>\nfrith worktree adopt\n", "line 2: the mark that ends"),
        ("cursor", CURSOR, "{\n  \"a\" 1\n}\n", "line 2"),
        ("cursor", CURSOR, "", "nothing is in it"),
        ("cursor", CURSOR, "{\"setup-worktree\": {}}", "a list"),
        ("devin", DEVIN, "{\"hooks\": []}", "an object"),
    ] {
        let repository = Repository::with(&[(name, text)]);
        for verb in ["install", "uninstall"] {
            let run = repository.frith(&["agents", verb, &format!("{host},kilo"), "--project"]);
            if verb == "uninstall" && fault == "a list" {
                assert_eq!(run.code, 0, "{}", run.transcript());
                continue;
            }
            let told =
                run.stderr.contains(&format!("`{host}` was left as it is")) && run.stderr.contains(name) && run.stderr.contains(fault);
            assert!(run.code == 2 && told, "{}", run.transcript());
        }
        assert_eq!(repository.read(name), text);
    }
}

#[test]
fn g06_a_link_out_of_the_repository_is_not_written_through() {
    let repository = Repository::new();
    let elsewhere = repository.sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("setup-script"), "mine\n").unwrap();
    symlink(&elsewhere, repository.top.join(".kilo")).unwrap();
    let run = repository.install("kilo").ends_with(2);
    assert!(run.stderr.contains("leads out of the repository"), "{}", run.transcript());
    assert_eq!(fs::read_to_string(elsewhere.join("setup-script")).unwrap(), "mine\n");
}

#[test]
fn it_goes_to_the_top_of_the_checkout_and_nowhere_without_one() {
    let repository = Repository::new();
    let below = repository.top.join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let line = ["agents", "install", "cursor", "--project"].as_slice();
    let _ = repository.sandbox.call(line).dir(&below).run().ok();
    assert!(repository.top.join(CURSOR).exists());
    let run = repository.sandbox.call(line).dir(repository.sandbox.root()).run().ends_with(1);
    assert!(run.stderr.contains("is in no checkout of a git repository"), "{}", run.transcript());
}

#[test]
fn a_dry_run_changes_nothing_at_all() {
    let repository = Repository::new();
    let run = repository.frith(&["agents", "install", "cursor,kilo,windsurf,devin", "--project", "--dry-run"]).ok();
    assert!(run.stdout.contains("would be installed") && run.stdout.contains("+# >>> frith >>>"), "{}", run.transcript());
    assert!(repository.tree().is_empty() && !repository.sandbox.home().exists());
}

#[test]
fn what_is_entered_runs_the_adoption_in_the_worktree_and_always_ends_well() {
    let repository = Repository::new();
    let _ = repository.install("cursor,devin,kilo").ok();
    let bin = repository.sandbox.root().join("other-bin");
    fs::create_dir(&bin).unwrap();
    let said = repository.sandbox.root().join("said");
    let worktree = repository.sandbox.root().join("a worktree");
    fs::create_dir(&worktree).unwrap();
    let listed = repository.json(CURSOR)["setup-worktree"][0].as_str().unwrap().to_owned();
    let table = repository.json(DEVIN)["hooks"]["post_setup_worktree"][0]["command"].as_str().unwrap().to_owned();
    let run = |mut command: Command| {
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let status = command.env_clear().env("PATH", path).env("WORKTREE_PATH", &worktree).current_dir(&worktree).status().unwrap();
        assert!(status.success());
    };
    let all = || {
        for line in [&listed, &table] {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            run(command);
        }
        run(Command::new(repository.top.join(KILO)));
    };
    all();
    write_program(&bin.join("frith"), &format!("#!/bin/sh\necho \"$PWD\" \"$@\" >> '{}'\nexit 3\n", said.display())).unwrap();
    all();
    let here = worktree.display();
    let expected = format!("{here} worktree adopt\n{here} worktree adopt\n{here} worktree adopt {here}\n");
    assert_eq!(fs::read_to_string(&said).unwrap(), expected);
}
