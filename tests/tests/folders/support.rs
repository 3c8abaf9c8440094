//! What the tests of folders share: a home with a repository beside it, and a watch that follows, stops and halts.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use frith_store::git::NewWorktree;
use frith_store::git::{FolderPlan, ForkFolder, Limits, MadeFolder, PlanError, Progress, Step, Watch, make, plan};
use tempfile::TempDir;

/// What happens when a making looks whether it should stop.
pub type Look<'a> = Box<dyn Fn(&Follower<'a>) + 'a>;

/// A watch whose clock counts the looks at it, so no test depends on how fast the machine is.
#[derive(Default)]
pub struct Follower<'a> {
    pub looks: Cell<u64>,
    pub told: RefCell<Vec<Progress>>,
    pub steps: Vec<Step>,
    pub halt_before: Option<usize>,
    pub cancel_before: Option<usize>,
    pub cancelled: Cell<bool>,
    pub on_look: Option<Look<'a>>,
}

impl Watch for Follower<'_> {
    fn elapsed(&self) -> Duration {
        self.looks.set(self.looks.get() + 1);
        Duration::from_millis(self.looks.get())
    }

    fn cancelled(&self) -> bool {
        if let Some(look) = &self.on_look {
            look(self);
        }
        self.cancelled.get()
    }

    fn progress(&mut self, progress: Progress) {
        self.told.borrow_mut().push(progress);
    }

    fn step(&mut self, step: Step) -> ControlFlow<()> {
        let number = self.steps.len();
        self.steps.push(step);
        if self.cancel_before == Some(number) {
            self.cancelled.set(true);
        }
        if self.halt_before == Some(number) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A home, and a repository or folder beside it.
pub struct Place {
    pub temp: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("home")).unwrap();
        Self { temp }
    }

    /// A place with a repository of one commit: `a`, `sub/b`, and an executable.
    pub fn with_repository() -> Self {
        let place = Self::new();
        new_repository(&place.source());
        place
    }

    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    pub fn source(&self) -> PathBuf {
        self.temp.path().join("source")
    }

    pub fn fork(&self, id: &str) -> ForkFolder {
        ForkFolder::new(&self.home(), id).unwrap()
    }

    pub fn plan(&self, id: &str) -> Result<FolderPlan, PlanError> {
        plan(&self.source(), &self.fork(id), Limits::default())
    }

    pub fn make(&self, id: &str) -> MadeFolder {
        make(&self.plan(id).unwrap(), &mut Follower::default()).unwrap()
    }

    /// The names in `<home>/forks`.
    pub fn forks(&self) -> Vec<String> {
        names(&self.home().join("forks"))
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.source().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub fn new_repository(top: &Path) {
    std::fs::create_dir_all(top.join("sub")).unwrap();
    git(top, &["init", "-q", "-b", "main"]);
    std::fs::write(top.join("a"), "a\n").unwrap();
    std::fs::write(top.join("sub/b"), "b\n").unwrap();
    std::fs::write(top.join("run"), "#!/bin/sh\n").unwrap();
    set_mode(top.join("run"), 0o755);
    commit(top, "first");
}

pub fn commit(top: &Path, message: &str) -> String {
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "--allow-empty", "-m", message]);
    git(top, &["rev-parse", "HEAD"])
}

pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = git_may_fail(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn git_may_fail(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]);
    command.env("GIT_EDITOR", "true").args(arguments).output().unwrap()
}

pub fn worktrees(top: &Path) -> usize {
    git(top, &["worktree", "list", "--porcelain"]).lines().filter(|line| line.starts_with("worktree ")).count()
}

pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").or_else(|_| std::fs::metadata("/dev/fd")).is_ok_and(|me| me.uid() == 0)
}

/// A finished worktree that git and the file system agree on, with nothing left beside it.
pub fn assert_whole(place: &Place, made: &MadeFolder) {
    assert_eq!(std::fs::read_to_string(made.path.join("a")).unwrap(), "a\n");
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(git(&made.path, &["rev-parse", "--show-toplevel"]), made.path.to_str().unwrap());
    assert_eq!(git(&made.path, &["symbolic-ref", "--short", "HEAD"]), *made.branch.as_ref().unwrap());
    assert!(git(&place.source(), &["worktree", "list", "--porcelain"]).contains(&format!("worktree {}\n", made.path.display())));
    assert!(place.forks().iter().all(|name| !name.contains('.')), "{:?}", place.forks());
    let records = place.source().join(".git/worktrees");
    assert!(names(&records).iter().all(|name| !records.join(name).join("locked").exists()));
}

/// Runs `attempt` with a fault before its first step, its second, and so on, until one runs to its end.
pub fn at_every_step(mut attempt: impl FnMut(usize, &mut Follower<'_>) -> bool) -> usize {
    for number in 0.. {
        let mut follower = Follower { halt_before: Some(number), ..Follower::default() };
        if !attempt(number, &mut follower) {
            return number;
        }
    }
    unreachable!("an operation has an end")
}

/// Path, mode, content or target, and modification time.
pub type Entry = (PathBuf, u32, Vec<u8>, (i64, i64));

/// Everything below a folder that a copy keeps.
pub fn inventory(folder: &Path) -> Vec<Entry> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_symlink() => std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
                kind if kind.is_file() => std::fs::read(&path).unwrap(),
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                _ => continue,
            };
            let below = path.strip_prefix(folder).unwrap().to_path_buf();
            found.push((below, metadata.mode(), content, (metadata.mtime(), metadata.mtime_nsec())));
        }
    }
    found.sort();
    found
}

/// The words of the lock of a task's worktree.
pub fn lock_of(task: &str) -> String {
    format!("host / model | {task} | 2026-01-02 | agent 0b8f0000-0000-4000-8000-000000000001")
}

impl Place {
    /// Where worktrees for agents stand.
    pub fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    /// A worktree for a task, from the tip of the repository's branch.
    pub fn new_worktree(&self, task: &str) -> NewWorktree {
        self.new_worktree_from(task, &git(&self.source(), &["rev-parse", "HEAD"]))
    }

    pub fn new_worktree_from(&self, task: &str, base: &str) -> NewWorktree {
        NewWorktree {
            home: self.home(),
            root: self.temp.path().canonicalize().unwrap().join("root"),
            repository: self.source(),
            directory: format!("source-{task}").into(),
            branch: task.into(),
            base: base.into(),
            lock: lock_of(task),
            limits: Limits::default(),
            skip_lfs: false,
            include_from: None,
        }
    }
}

/// What a repository's configuration is, in all its files.
pub fn config(top: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let files = [".git/config", ".git/config.worktree", ".git/info/exclude", ".git/info/attributes", ".git/info/sparse-checkout"];
    files.iter().map(|file| ((*file).to_owned(), std::fs::read(top.join(file)).ok())).collect()
}

/// A finished worktree for a task that git and the file system agree on, with nothing left beside it.
pub fn assert_added(place: &Place, task: &str) {
    let path = place.root().canonicalize().unwrap().join(format!("source-{task}"));
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert_eq!(git(&path, &["rev-parse", "--show-toplevel"]), path.to_str().unwrap());
    assert_eq!(git(&path, &["symbolic-ref", "--short", "HEAD"]), task);
    let listed = git(&place.source(), &["worktree", "list", "--porcelain"]);
    let row = listed.split("\n\n").find(|row| row.starts_with(&format!("worktree {}\n", path.display())));
    assert!(row.is_some_and(|row| row.ends_with(&format!("locked {}", lock_of(task)))), "{listed}");
    assert!(!place.root().join(".frith-worktrees").exists());
}

/// Neither folder, record nor branch of a task, and nothing beside.
pub fn assert_nothing_left(place: &Place, task: &str) {
    assert!(!place.root().join(format!("source-{task}")).exists());
    assert!(!place.root().join(".frith-worktrees").exists());
    assert_eq!(git(&place.source(), &["branch", "--list", task]), "");
    assert!(names(&place.source().join(".git/worktrees")).iter().all(|name| !name.starts_with(&format!("source-{task}"))));
    assert_eq!(names(&place.home().join("worktrees")), [""; 0]);
}
