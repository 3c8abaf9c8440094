//! What the tests of folders share: a home with a repository beside it, and a watch that follows, stops and halts.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
