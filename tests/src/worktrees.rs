//! A repository with an origin and many worktrees, each of a kind whose verdict is known beforehand.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use frith_store::git::Judged;
use frith_store::model::Proof;
use tempfile::TempDir;

/// What a worktree of the crowd is, and with it what must be said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Squash-merged, and the base changed the same lines later.
    SquashedThenChanged,
    /// Squash-merged.
    Squashed,
    /// Merged by a merge commit.
    Merged,
    /// With commits that the base does not have.
    Unmerged,
    /// With changes that are not committed.
    Dirty,
    /// Made and never worked in.
    Untouched,
}

impl Kind {
    /// Whether this is what must be said of such a worktree.
    pub fn is_said_by(self, judged: &Judged) -> bool {
        let said = (judged.merged, judged.is_clean(), judged.has_own_commits, judged.is_finished());
        said == match self {
            Self::SquashedThenChanged => (Some(Proof::SameChange), true, true, true),
            Self::Squashed => (Some(Proof::AddsNothing), true, true, true),
            Self::Merged => (Some(Proof::Ancestor), true, true, true),
            Self::Unmerged => (None, true, true, false),
            Self::Dirty => (Some(Proof::Ancestor), false, false, false),
            Self::Untouched => (Some(Proof::Ancestor), true, false, false),
        }
    }
}

/// The kinds and how many tenths of a crowd each has.
const CROWD: [(Kind, usize); 6] =
    [(Kind::SquashedThenChanged, 1), (Kind::Squashed, 1), (Kind::Merged, 1), (Kind::Unmerged, 3), (Kind::Dirty, 2), (Kind::Untouched, 2)];

/// A clone in `main`, its bare origin in `origin.git`, and linked worktrees in `trees`.
pub struct Worktrees {
    temp: TempDir,
}

impl Worktrees {
    /// A repository of one commit with as many files as asked, and `a`.
    pub fn new(files: usize) -> Self {
        let made = Self { temp: tempfile::tempdir().unwrap() };
        let top = made.main();
        std::fs::create_dir_all(&top).unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        for number in 0..files {
            write(&top, &format!("src/part-{}/file-{number}", number / 50), &text(number));
        }
        write(&top, "a", "a\n");
        commit(&top, "first");
        git(made.root(), &["clone", "-q", "--bare", "main", "origin.git"]);
        git(&top, &["remote", "add", "origin", made.origin().to_str().unwrap()]);
        git(&top, &["fetch", "-q", "origin"]);
        git(&top, &["remote", "set-head", "origin", "main"]);
        made
    }

    /// The same with worktrees of every kind, ten times `tenth` in all. File `n` of the repository is the `n`th worktree's.
    pub fn crowd(files: usize, tenth: usize) -> (Self, Vec<(PathBuf, Kind)>) {
        let made = Self::new(files.max(10 * tenth));
        let kinds = CROWD.iter().flat_map(|(kind, tenths)| std::iter::repeat_n(*kind, tenths * tenth));
        let crowd = kinds.enumerate().map(|(number, kind)| (made.one(number, kind), kind)).collect();
        made.change_again(tenth);
        git(&made.main(), &["push", "-q", "origin", "main"]);
        git(&made.main(), &["gc", "-q"]);
        (made, crowd)
    }

    /// Has git look at every worktree, as it does all the time while somebody works: it notes in each index what it saw.
    pub fn settle<'a>(&self, trees: impl IntoIterator<Item = &'a Path>) {
        for tree in trees.into_iter().map(Path::to_path_buf).chain([self.main()]) {
            git(&tree, &["status", "--short"]);
        }
    }

    fn one(&self, number: usize, kind: Kind) -> PathBuf {
        let (name, file) = (format!("t{number}"), format!("src/part-{}/file-{number}", number / 50));
        let tree = self.add(&name);
        let works = matches!(kind, Kind::SquashedThenChanged | Kind::Squashed | Kind::Merged | Kind::Unmerged);
        for step in 0..if works { 2 } else { 0 } {
            write(&tree, &file, &text(number).replace("line 3 ", &format!("work {step} ")));
            commit(&tree, &format!("{name}: step {step}"));
        }
        match kind {
            Kind::SquashedThenChanged | Kind::Squashed => self.squash(&name),
            Kind::Merged => drop(git(&self.main(), &["merge", "-q", "--no-ff", "-m", &name, &name])),
            Kind::Dirty if number.is_multiple_of(2) => write(&tree, &file, "changed\n"),
            Kind::Dirty => write(&tree, "new", "untracked\n"),
            Kind::Unmerged | Kind::Untouched => {}
        }
        tree
    }

    /// The base changes what it took from the first worktrees.
    fn change_again(&self, tenth: usize) {
        for number in 0..tenth {
            write(&self.main(), &format!("src/part-{}/file-{number}", number / 50), &text(number).replace("line 3 ", "later "));
        }
        commit(&self.main(), "later");
    }

    /// Where everything is.
    pub fn root(&self) -> &Path {
        self.temp.path()
    }

    /// The bare repository that everything is pushed to.
    pub fn origin(&self) -> PathBuf {
        self.root().join("origin.git")
    }

    /// The top of the main checkout.
    pub fn main(&self) -> PathBuf {
        self.root().join("main")
    }

    /// The top of a linked worktree.
    pub fn tree(&self, name: &str) -> PathBuf {
        self.root().join("trees").join(name)
    }

    /// Makes a worktree on a new branch of its name at origin's default branch.
    pub fn add(&self, name: &str) -> PathBuf {
        let tree = self.tree(name);
        git(&self.main(), &["worktree", "add", "-q", "--no-track", "-b", name, tree.to_str().unwrap(), "origin/main"]);
        tree
    }

    /// Merges a branch into the main checkout's as one commit.
    pub fn squash(&self, branch: &str) {
        git(&self.main(), &["merge", "-q", "--squash", branch]);
        git(&self.main(), &["commit", "-q", "-m", &format!("{branch}, squashed")]);
    }

    /// Brings the main checkout's branch to origin, and with it what is known of it.
    pub fn push(&self) {
        git(&self.main(), &["push", "-q", "origin", "main"]);
    }
}

fn text(number: usize) -> String {
    (0..20).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "line {line} of file {number}");
        text
    })
}

/// Writes a file below a folder, with the folders it needs.
pub fn write(top: &Path, name: &str, text: &str) {
    let path = top.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Commits everything and returns the commit.
pub fn commit(top: &Path, message: &str) -> String {
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "--allow-empty", "-m", message]);
    git(top, &["rev-parse", "HEAD"])
}

/// Runs git, which must succeed, and returns what it printed.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = git_may_fail(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs git as somebody with no configuration but a name.
pub fn git_may_fail(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    command.args(arguments).output().unwrap()
}
