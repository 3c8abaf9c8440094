//! The commands that are installed for events to which a host wants a worktree made or removed, as the host's shell runs them:
//! with frith, without it, and with one that fails. Every shell of this machine that may be `/bin/sh` elsewhere runs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use frith_tests::{Sandbox, run::write_program};
use serde_json::{Value, json};

/// What came of a command.
#[derive(Debug)]
struct Done {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Done {
    /// It answered this path and nothing else.
    #[track_caller]
    fn made(&self, path: &Path) {
        assert_eq!((self.code, self.stdout.as_str()), (0, format!("{}\n", path.display()).as_str()), "{self:?}");
    }

    /// It failed, and nothing could be taken for an answer.
    #[track_caller]
    fn failed(&self) {
        assert!(self.code != 0 && self.stdout.is_empty() && !self.stderr.is_empty(), "{self:?}");
    }
}

/// A machine with claude's entries and a repository with one commit.
struct Machine {
    sandbox: Sandbox,
    top: PathBuf,
    shell: &'static str,
}

fn shells() -> Vec<&'static str> {
    let shells = ["/bin/sh", "/bin/dash", "/bin/bash"];
    shells.into_iter().filter(|shell| Path::new(shell).exists()).collect()
}

/// Does it on a machine of its own with each shell.
fn with_each_shell(name: &str, act: impl Fn(&Machine)) {
    for shell in shells() {
        let sandbox = Sandbox::new();
        write_program(&sandbox.root().join("bin/claude"), "#!/bin/sh\necho claude 1.2.3\n").unwrap();
        let _ = sandbox.call(["agents", "install", "claude"]).env("PATH", sandbox.root().join("bin")).run().ok();
        let top = sandbox.root().join(name);
        fs::create_dir(&top).unwrap();
        let machine = Machine { sandbox, top, shell };
        machine.git(&["init", "--quiet", "-b", "main"]);
        machine.git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        act(&machine);
    }
}

impl Machine {
    fn git_in(&self, folder: &Path, line: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(line).current_dir(folder);
        let done = command.env("HOME", self.sandbox.root()).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(done.status.success(), "{line:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    fn git(&self, line: &[&str]) -> String {
        self.git_in(&self.top, line)
    }

    fn worktree(&self, name: &str) -> PathBuf {
        self.top.join(".claude/worktrees").join(name)
    }

    /// Puts a program called `frith` before everything else on the search path.
    fn frith_is(&self, text: &str) {
        let program = self.sandbox.root().join("first/frith");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&program);
        write_program(&program, &format!("#!/bin/sh\ncat > '{}/said'\n{text}\n", self.sandbox.root().display())).unwrap();
    }

    /// The command of an event, run with a payload as claude runs it.
    fn run(&self, event: &str, folder: &Path, payload: &str) -> Done {
        let settings = fs::read_to_string(self.sandbox.root().join(".claude/settings.json")).unwrap();
        let settings: Value = serde_json::from_str(&settings).unwrap();
        let line = settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().replacen("/bin/sh", self.shell, 1);
        let path = format!("{}/first:/usr/local/bin:/usr/bin:/bin", self.sandbox.root().display());
        let mut command = Command::new(self.shell);
        command.args(["-c", &line]).current_dir(folder).env_clear().env("PATH", path).env("HOME", self.sandbox.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done { code: done.status.code().unwrap(), stdout: text(done.stdout), stderr: text(done.stderr) }
    }

    fn create_in(&self, folder: &Path, name: &str) -> Done {
        let payload = json!({"session_id": "s", "transcript_path": "/t", "cwd": folder, "hook_event_name": "WorktreeCreate", "name": name});
        self.run("WorktreeCreate", folder, &payload.to_string())
    }

    fn create(&self, name: &str) -> Done {
        self.create_in(&self.top, name)
    }

    fn remove_from(&self, folder: &Path, path: &Path) -> Done {
        let payload = json!({"session_id": "s", "cwd": path, "hook_event_name": "WorktreeRemove", "worktree_path": path});
        self.run("WorktreeRemove", folder, &payload.to_string())
    }

    fn remove(&self, path: &Path) -> Done {
        self.remove_from(&self.top, path)
    }

    /// Every path below the person's folder but git's own, frith's, and what the played one was told.
    fn paths(&self) -> BTreeSet<PathBuf> {
        fn walk(folder: &Path, into: &mut BTreeSet<PathBuf>) {
            for entry in fs::read_dir(folder)
                .unwrap()
                .map(Result::unwrap)
                .filter(|it| [".git", ".frith", "said"].iter().all(|own| it.file_name() != *own))
            {
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), into);
                }
                into.insert(entry.path());
            }
        }
        let mut found = BTreeSet::new();
        walk(self.sandbox.root(), &mut found);
        found
    }
}

#[test]
fn without_frith_a_worktree_is_made_as_the_host_makes_it_and_used_again() {
    with_each_shell("it's \"an\" $(touch pwned) app", |machine| {
        let path = machine.worktree("feat1");
        machine.create("feat1").made(&path);
        assert_eq!(machine.git_in(&path, &["symbolic-ref", "--short", "HEAD"]), "worktree-feat1");
        let _ = machine.git_in(&path, &["commit", "--quiet", "--allow-empty", "-m", "work"]);
        let work = machine.git_in(&path, &["rev-parse", "HEAD"]);
        machine.create("feat1").made(&path);
        assert_eq!(machine.git_in(&path, &["rev-parse", "HEAD"]), work);
        // The folder went, the branch with its commit is still there.
        let _ = machine.git(&["worktree", "remove", path.to_str().unwrap()]);
        machine.create("feat1").made(&path);
        assert_eq!(machine.git_in(&path, &["rev-parse", "HEAD"]), work);
        machine.create("a/b").made(&machine.worktree("a+b"));
        assert_eq!(machine.git(&["rev-parse", "worktree-a+b"]), machine.git(&["rev-parse", "main"]));
        machine.create_in(&path, "inner").made(&machine.worktree("inner"));
        assert!(!machine.top.join("pwned").exists());
    });
}

#[test]
fn it_begins_at_what_origin_says_else_at_the_sessions_commit() {
    with_each_shell("app", |machine| {
        let first = machine.git(&["rev-parse", "HEAD"]);
        let _ = machine.git(&["update-ref", "refs/remotes/origin/main", &first]);
        let _ = machine.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        let _ = machine.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
        machine.create("one").made(&machine.worktree("one"));
        assert_eq!(machine.git(&["rev-parse", "worktree-one"]), first);
        let _ = machine.git(&["symbolic-ref", "--delete", "refs/remotes/origin/HEAD"]);
        machine.create("two").made(&machine.worktree("two"));
        assert_eq!(machine.git(&["rev-parse", "worktree-two"]), machine.git(&["rev-parse", "main"]));
    });
}

#[test]
fn b15_a_path_is_printed_only_where_frith_answers_one_well_and_exactly_one() {
    with_each_shell("app", |machine| {
        let ours = machine.sandbox.root().join("ours");
        fs::create_dir(&ours).unwrap();
        machine.frith_is(&format!("echo \"$*\" >&2; echo '{}'", ours.display()));
        let done = machine.create("feat1");
        done.made(&ours);
        assert!(done.stderr.contains("hook WorktreeCreate --host claude"), "{done:?}");
        assert!(fs::read_to_string(machine.sandbox.root().join("said")).unwrap().contains("\"name\":\"feat1\""));
        for (at, text) in [
            format!("echo '{}'; exit 1", ours.display()),
            "echo '{}'".to_owned(),
            "echo /no/such/folder".to_owned(),
            "echo ours".to_owned(),
            "exit 0".to_owned(),
            "kill -9 $$".to_owned(),
            format!("printf 'hello\\n%s\\n' '{}'", ours.display()),
        ]
        .iter()
        .enumerate()
        {
            machine.frith_is(text);
            machine.create(&format!("w{at}")).made(&machine.worktree(&format!("w{at}")));
        }
        machine.frith_is("exit 1");
        let _ = machine.git(&["worktree", "add", "--quiet", "-b", "worktree-taken", "../elsewhere"]);
        machine.create("taken").failed();
        fs::create_dir_all(machine.worktree("other")).unwrap();
        machine.create("other").failed();
    });
}

#[test]
fn a_hostile_name_makes_nothing_and_runs_nothing() {
    with_each_shell("app", |machine| {
        let before = machine.paths();
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "/tmp/x",
            "-f",
            "--force",
            "a b",
            "a\"b",
            "a'b",
            "a\\b",
            "$(touch pwned)",
            "`touch pwned`",
            "a;touch pwned",
            "a\nb",
            "a\tb",
            "a\u{1b}b",
            "é",
            "*",
            "~",
            ".git",
            "a/.git",
            "a//b",
            "a/",
            "a.lock",
            "a.",
            "a\",\"name\":\"b",
            "${HOME}",
        ] {
            machine.create(name).failed();
            assert_eq!(machine.paths(), before, "{name:?}");
        }
        for payload in
            ["", "{}", "no json", "{\"name\":1}", "{\"name\":", "{\"title\":\"name\"}", "{\"name\":null}", "{\"name\":1,\"x\":\"y\"}"]
        {
            machine.run("WorktreeCreate", &machine.top, payload).failed();
            assert_eq!(machine.paths(), before, "{payload:?}");
        }
        let nested = "{\"cwd\":\"/x\\\",\\\"name\\\":\\\"evil\",\"hook_event_name\":\"WorktreeCreate\",\"name\": \"good\"}";
        machine.run("WorktreeCreate", &machine.top, nested).made(&machine.worktree("good"));
    });
}

#[test]
fn nothing_is_made_through_a_link_or_outside_a_repository() {
    with_each_shell("app", |machine| {
        let elsewhere = machine.sandbox.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        machine.create_in(&elsewhere, "feat1").failed();
        symlink(&elsewhere, machine.top.join(".claude")).unwrap();
        machine.create("feat1").failed();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    });
}

#[test]
fn b16_without_frith_a_worktree_is_removed_unforced_and_one_that_is_gone_is_removed() {
    with_each_shell("app", |machine| {
        let path = machine.worktree("feat1");
        machine.create("feat1").made(&path);
        fs::write(path.join("draft"), "").unwrap();
        machine.remove(&path).failed();
        assert!(path.join("draft").exists());
        fs::remove_file(path.join("draft")).unwrap();
        for folder in [Path::new("/"), &machine.top] {
            let done = machine.remove_from(folder, &path);
            assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
            assert!(!path.exists());
        }
        assert_eq!(machine.git(&["branch", "--list", "worktree-feat1", "--format", "%(refname:short)"]), "worktree-feat1");
    });
}

#[test]
fn what_frith_refuses_to_remove_stays_and_where_nobody_answers_git_is_asked() {
    with_each_shell("app", |machine| {
        let path = machine.worktree("feat1");
        machine.create("feat1").made(&path);
        for text in ["echo 'it is dirty' >&2; exit 1", "echo x >&2; exit 2", "echo x >&2; kill -9 $$"] {
            machine.frith_is(text);
            machine.remove(&path).failed();
            assert!(path.exists(), "{text}");
        }
        machine.frith_is("exit 0");
        assert_eq!(machine.remove(&path).code, 0);
        assert!(path.exists(), "frith says what became of it");
        for text in ["exit 3", "echo '{}'"] {
            machine.frith_is("exit 1");
            machine.create("feat1").made(&path);
            machine.frith_is(text);
            let done = machine.remove(&path);
            assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
            assert!(!path.exists(), "{text}");
        }
    });
}

#[test]
fn a_hostile_path_removes_nothing() {
    with_each_shell("app", |machine| {
        machine.frith_is("exit 3");
        let plain = machine.sandbox.root().join("plain");
        fs::create_dir(&plain).unwrap();
        let odd = machine.sandbox.root().join("a \"quoted\" one");
        let _ = machine.git(&["worktree", "add", "--quiet", "-b", "odd", odd.to_str().unwrap()]);
        let before = machine.paths();
        for path in [machine.top.as_path(), &plain, &odd, Path::new("relative"), Path::new("--force")] {
            machine.remove(path).failed();
            assert_eq!(machine.paths(), before, "{}", path.display());
        }
        for payload in ["", "{}", "{\"worktree_path\":3}", "{\"worktree_path\":3,\"x\":\"/\"}"] {
            machine.run("WorktreeRemove", &machine.top, payload).failed();
        }
        assert_eq!(machine.paths(), before);
    });
}
