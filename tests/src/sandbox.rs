//! A machine of one's own for each test: home, folders, git identity, configuration, node. All of it ends with the test.
//!
//! It lies under a short path, because a socket's path must be short. It never touches the home of whoever runs it.

use std::{
    ffi::OsStr,
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{
    processes::{self, Process},
    redact::Redactor,
    run::{Call, Run, write_program},
    viewer::Viewer,
    wait::{PATIENCE, wait_for, wait_within},
};

/// A fresh home with everything a command needs. Its node and agents are ended when it is dropped, also by a panic.
pub struct Sandbox {
    root: PathBuf,
    redactor: Mutex<Redactor>,
    // Dropped last, after the processes that work in it were ended.
    _folder: TempDir,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// A machine that frith was never used on.
    ///
    /// # Panics
    /// There is no room for it, or the binary under test was not built.
    pub fn new() -> Self {
        let short = Path::new("/tmp");
        let parent = if short.is_dir() { short.to_path_buf() } else { std::env::temp_dir() };
        Self::below(&parent)
    }

    /// The same in a folder of this parent.
    ///
    /// # Panics
    /// As [`Sandbox::new`].
    pub fn below(parent: &Path) -> Self {
        let made = tempfile::Builder::new().prefix("fr").rand_bytes(6).tempdir_in(parent).expect("a folder can be made");
        let root = made.path().canonicalize().expect("the folder is there");
        for folder in ["bin", "run", "tmp"] {
            fs::create_dir(root.join(folder)).expect("the folder is new and empty");
        }
        std::os::unix::fs::symlink(built("frith-under-test"), root.join("bin/frith")).expect("the folder is new and empty");
        let mut redactor = Redactor::default();
        redactor.path(&root.to_string_lossy(), "~");
        redactor.machine(&rustix::system::uname().nodename().to_string_lossy());
        Self { root, redactor: Mutex::new(redactor), _folder: made }
    }

    /// The person's home folder, in which everything lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where everything of the node lies.
    pub fn home(&self) -> PathBuf {
        self.root.join(".frith")
    }

    /// Writes `config.toml`.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn config(&self, text: &str) {
        fs::create_dir_all(self.home()).expect("the home can be made");
        let private = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
        fs::set_permissions(self.home(), private).expect("the home is ours");
        fs::write(self.home().join("config.toml"), text).expect("the configuration can be written");
    }

    /// Adds a kind of agent called `script`: a real program that works its queue through `frith`, then waits to be typed to.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn script_kind(&self) {
        let program = self.root.join("bin/script-agent");
        write_program(&program, include_str!("script-agent.sh")).expect("the program can be written");
        self.config(
            "[launch.script]\ncommand = [\"script-agent\"]\n\n[launch.idle]\ncommand = [\"sh\", \"-c\", \"echo ready; exec cat\"]\n",
        );
    }

    /// Adds a kind of agent called `prompt`, which waits at a prompt until it is told of a task, and one called `asking`,
    /// which asks a question before it does.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn prompt_kinds(&self) {
        let program = self.root.join("bin/prompt-agent");
        write_program(&program, include_str!("prompt-agent.sh")).expect("the program can be written");
        let kind = |name: &str, args: &str| {
            format!(
                "[launch.{name}]\ncommand = [\"prompt-agent\"{args}]\nready = '(?m)^ready>$'\nasks = ['allow\\? \\[y/n\\]']\n\
                 nudge = \"go on\"\nclear = \"/clear\"\nrules_file = \".prompt/settings.json\"\nrules_key = [\"permissions\", \"allow\"]\n"
            )
        };
        self.config(&(kind("prompt", "") + &kind("asking", ", \"ask\"")));
    }

    /// Waits until an agent's screen says this of it.
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn wait_for_attention(&self, agent: &str, attention: &str) {
        wait_for(&format!("agent {agent} is {attention}"), || {
            (self.frith(["agents", "show", agent, "--json"]).ok().json()["attention"] == attention).then_some(())
        });
    }

    /// The person of this machine, as messages are addressed to them.
    ///
    /// # Panics
    /// The node does not say its machine's name.
    #[track_caller]
    pub fn person(&self) -> String {
        let status = self.frith(["status", "--json"]).ok().json();
        format!("ada@{}", status["node"]["name"].as_str().or(status["name"].as_str()).expect("a node has a name"))
    }

    /// Waits until an agent is live, idle or ended.
    ///
    /// # Panics
    /// It never is.
    #[track_caller]
    pub fn wait_for_presence(&self, agent: &str, presence: &str) {
        wait_for(&format!("agent {agent} is {presence}"), || {
            (self.frith(["agents", "show", agent, "--json"]).ok().json()["presence"] == presence).then_some(())
        });
    }

    /// A folder with one file.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder).expect("the folder can be made");
        fs::write(folder.join("notes.txt"), "one\n").expect("the folder is ours");
        folder
    }

    /// A git repository with one commit on `main`, and an identity of its own.
    ///
    /// # Panics
    /// `git` does not work.
    pub fn repo(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir_all(folder.join("src")).expect("the folder can be made");
        fs::write(folder.join("README"), "an app\n").expect("the folder is ours");
        fs::write(folder.join("src/lib.txt"), "code\n").expect("the folder is ours");
        self.git(&folder, &["init", "--quiet", "--initial-branch", "main"]);
        self.git(&folder, &["config", "user.name", "Ada"]);
        self.git(&folder, &["config", "user.email", "ada@example.invalid"]);
        self.commit(&folder, "first");
        folder
    }

    /// Commits everything in a repository.
    ///
    /// # Panics
    /// `git` does not work.
    pub fn commit(&self, folder: &Path, message: &str) {
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--message", message]);
    }

    /// What `git` answers in a folder.
    ///
    /// # Panics
    /// It fails.
    #[track_caller]
    pub fn git(&self, folder: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).env_clear().envs(self.environment());
        let done = command.output().expect("git can be started");
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    /// Runs `frith` in the person's home folder.
    #[track_caller]
    pub fn frith<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.call(args).run()
    }

    /// A call of `frith`, to say more about before it runs.
    pub fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call {
        self.call_of(&self.root.join("bin/frith"), args)
    }

    /// A call of a program that stands beside the tests.
    ///
    /// # Panics
    /// It was not built.
    pub fn program<A: AsRef<OsStr>>(&self, name: &str, args: impl IntoIterator<Item = A>) -> Call {
        self.call_of(&built(name), args)
    }

    /// Where a program lies that stands beside the tests.
    ///
    /// # Panics
    /// It was not built.
    pub fn program_path(&self, name: &str) -> PathBuf {
        built(name)
    }

    fn call_of<A: AsRef<OsStr>>(&self, program: &Path, args: impl IntoIterator<Item = A>) -> Call {
        let args: Vec<A> = args.into_iter().collect();
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        Call::new(program, &args, &self.root, self.environment())
    }

    /// Makes a repository and a workspace of this name for it; answers the repository.
    #[track_caller]
    pub fn workspace(&self, name: &str) -> PathBuf {
        let repo = self.repo(name);
        let _ = self.frith([OsStr::new("workspace"), "create".as_ref(), name.as_ref(), "--folder".as_ref(), repo.as_ref()]).ok();
        repo
    }

    /// Adds a task to a place and answers its whole id.
    #[track_caller]
    pub fn task(&self, place: &str, title: &str) -> String {
        self.frith(["task", "add", "--quiet", "-w", place, title]).ok().id()
    }

    /// A task as `task show --json` tells it.
    #[track_caller]
    pub fn show_task(&self, task: &str) -> serde_json::Value {
        self.frith(["task", "show", task, "--json"]).ok().json()
    }

    /// A place as `workspace show --json` tells it.
    #[track_caller]
    pub fn show_place(&self, place: &str) -> serde_json::Value {
        self.frith(["workspace", "show", place, "--json"]).ok().json()
    }

    /// The titles of a place's tasks, in the order of its queue.
    #[track_caller]
    pub fn titles(&self, place: &str) -> Vec<String> {
        let listed = self.frith(["task", "list", "-w", place, "--json"]).ok().json();
        let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
        tasks.iter().map(|task| task["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until a task has this status.
    ///
    /// # Panics
    /// It does not get it.
    #[track_caller]
    pub fn wait_for_status(&self, task: &str, status: &str) {
        wait_for(&format!("task {task} is {status}"), || (self.show_task(task)["task"]["status"] == status).then_some(()));
    }

    /// Waits until an agent runs in a place, and answers it.
    ///
    /// # Panics
    /// None does.
    #[track_caller]
    pub fn wait_for_agent(&self, place: &str) -> serde_json::Value {
        wait_for(&format!("an agent runs in {place}"), || {
            let agent = self.show_place(place)["agent"].clone();
            (agent["running"] == true).then_some(agent)
        })
    }

    /// A line of a shell, in this folder.
    pub fn shell(&self, line: &str, folder: &Path) -> Call {
        Call::new(Path::new("/bin/sh"), &["-c".as_ref(), line.as_ref()], folder, self.environment()).shown_as(line)
    }

    /// Runs `frith` in a terminal.
    #[track_caller]
    pub fn view<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Viewer {
        self.view_in(args, &self.root)
    }

    /// Runs `frith` in a terminal, in this folder.
    #[track_caller]
    pub fn view_in<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, folder: &Path) -> Viewer {
        Viewer::open(&self.call(args).dir(folder).env("TERM", "xterm-256color").into_command(), 100, 30)
    }

    /// Nothing of whoever runs the tests but their programs.
    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut path = self.root.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let below = |name: &str| self.root.join(name);
        vec![
            ("PATH", path.into()),
            ("HOME", self.root.clone()),
            ("FRITH_HOME", self.home()),
            ("XDG_RUNTIME_DIR", below("run")),
            ("XDG_CONFIG_HOME", below(".config")),
            ("XDG_DATA_HOME", below(".local/share")),
            ("XDG_STATE_HOME", below(".local/state")),
            ("XDG_CACHE_HOME", below(".cache")),
            ("TMPDIR", below("tmp")),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("USER", "ada".into()),
            ("SHELL", "/bin/sh".into()),
            ("TERM", "dumb".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("COLUMNS", "120".into()),
        ]
    }

    /// Text without what differs from run to run; an id keeps its name throughout the sandbox.
    pub fn redact(&self, text: &str) -> String {
        self.redactor.lock().unwrap_or_else(PoisonError::into_inner).redact(text)
    }

    /// These runs one after another as a person saw them, without what differs.
    pub fn transcript<'a>(&self, runs: impl IntoIterator<Item = &'a Run>) -> String {
        let runs: Vec<_> = runs.into_iter().map(Run::transcript).collect();
        self.redact(&runs.join("\n"))
    }

    /// Every process that works for this home, agents and commands too.
    pub fn processes(&self) -> Vec<Process> {
        processes::of_home(&self.home())
    }

    /// The nodes of this home: one, or none.
    pub fn nodes(&self) -> Vec<Process> {
        self.processes().into_iter().filter(Process::is_node).collect()
    }

    /// Ends the node as a power cut would, and waits until it is gone.
    ///
    /// # Panics
    /// It does not go.
    #[track_caller]
    pub fn kill_node(&self) {
        self.signal_node(Signal::KILL);
        self.wait_for_no_node();
    }

    /// Sends the node a signal.
    pub fn signal_node(&self, signal: Signal) {
        self.nodes().iter().for_each(|node| node.signal(signal));
    }

    /// Waits until no node runs.
    ///
    /// # Panics
    /// One does.
    #[track_caller]
    pub fn wait_for_no_node(&self) {
        // A process that ends loses its name before it closes its socket.
        let is_deaf = || UnixStream::connect(self.home().join("node.sock")).is_err();
        wait_for("the end of the node", || (self.nodes().is_empty() && is_deaf()).then_some(()));
    }

    /// What the node has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home().join("node.log")).unwrap_or_default()
    }

    /// Ends everything that works for this home.
    fn end_all(&self) {
        let gone = wait_within(PATIENCE, || {
            let left = self.processes();
            left.iter().for_each(|process| process.signal(Signal::KILL));
            left.is_empty().then_some(())
        });
        assert!(gone.is_some() || thread::panicking(), "these processes do not end: {:?}", self.processes());
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if thread::panicking() {
            tell_of_failure(&self.log());
        }
        self.end_all();
    }
}

#[expect(clippy::print_stderr, reason = "the runner shows it beside the failed test")]
fn tell_of_failure(log: &str) {
    let lines: Vec<_> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(40)..];
    eprintln!("the node logged last:\n{}", last.join("\n"));
}

/// A program of this crate, which stands beside the tests: `target/<profile>/<name>`.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it lies");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.expect("cargo builds the programs of this crate before it runs its tests")
}
