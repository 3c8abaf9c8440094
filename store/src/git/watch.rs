//! How a long operation on a folder is watched from outside: its clock, its stop, what it tells, and where it stands.
//!
//! Nothing here decides. The module has no clock of its own, so that a simulated node gives it a simulated one.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// What the caller gives to an operation that takes long. Asked often, so every method should be quick.
pub trait Watch {
    /// Time since some fixed moment; never goes back.
    fn elapsed(&self) -> Duration;

    /// Whether the operation should stop and take back what it did.
    fn cancelled(&self) -> bool;

    /// Something worth showing happened.
    fn progress(&mut self, progress: Progress);

    /// Called before every step. `Break` ends the operation on the spot with nothing taken back, as the end of the
    /// process would; this is where a test places its faults.
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        let _ = step;
        ControlFlow::Continue(())
    }
}

/// What a person looking at the fork's terminal is told while its folder is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A command is started, as one would type it in a shell in this folder.
    Command(CommandLine),
    /// A line the command printed, without control characters; `percent` when it counts something.
    Output {
        /// The line.
        line: String,
        /// 0 to 100.
        percent: Option<u8>,
    },
    /// The repository is being changed by another call; this one waits.
    Waiting {
        /// The folder all worktrees of the repository share.
        repository: PathBuf,
    },
    /// A copy begins.
    Copying {
        /// The parent's folder.
        from: PathBuf,
        /// The fork's folder.
        to: PathBuf,
    },
    /// How far the copy is.
    Copied(Counts),
    /// The fork has a folder already and it is used as it is.
    Reusing {
        /// The fork's folder.
        folder: PathBuf,
    },
    /// Folders of submodules that were left empty, as git leaves them.
    SubmodulesEmpty {
        /// How many.
        count: usize,
    },
    /// The repository's own `post-checkout` hook failed; the folder is used all the same, as git does.
    HookFailed {
        /// The error in words.
        reason: String,
    },
}

/// A command as one would type it, for showing only: it is never parsed or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Where it runs.
    pub folder: PathBuf,
    /// Program and arguments, quoted for a shell where they need it.
    pub text: String,
}

/// What a copy did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files, hard links among them included.
    pub files: u64,
    /// Folders, the top one not counted.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Sockets, FIFOs and devices left out.
    pub special: u64,
    /// Entries that were gone when their turn came.
    pub vanished: u64,
    /// `.git` links of nested worktrees left out, because they lead to the original's git data.
    pub git_links: u64,
}

/// The steps of making and removing a folder, in the order they are taken. `Watch::step` hears of each before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The staging folder is made.
    Stage,
    /// What is about to be changed is written into the staging folder.
    Record,
    /// Git's record of an earlier folder, deleted by hand, is dropped.
    Forget,
    /// The worktree is registered with git.
    Register,
    /// Its files are checked out.
    CheckOut,
    /// The folder is copied.
    Copy,
    /// Ignored files that a new worktree is to have are copied into it.
    Include,
    /// The finished folder is renamed to its place.
    Place,
    /// Git's link back to the folder is brought up to date.
    Link,
    /// The repository's `post-checkout` hook runs.
    Hook,
    /// The staging folder, by now empty, is deleted.
    Unstage,
    /// What a failed or killed call left is renamed out of the way.
    SetAside,
    /// The branch it made is deleted.
    DropBranch,
    /// A folder set aside is deleted.
    Delete,
    /// A worktree's lock is taken off.
    Unlock,
    /// A worktree is locked.
    Lock,
    /// What was looked at once more is given up for deletion.
    Decide,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Making a folder, waiting for the repository included.
    pub making: Duration,
    /// One quick git command, and removing git's record of a folder.
    pub quick: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { making: Duration::from_secs(30 * 60), quick: Duration::from_secs(60) }
    }
}

/// The watch of work that takes something back: it can be neither stopped nor late, or it would leave things half undone.
pub(super) struct Undoing<'a>(pub(super) &'a mut dyn Watch);

impl Watch for Undoing<'_> {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn progress(&mut self, _progress: Progress) {}

    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.0.step(step)
    }
}

/// Waits without a clock of our own; shorter when a signal arrives.
pub(super) fn pause(time: Duration) {
    let time = rustix::event::Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() };
    // An interrupted wait is only a shorter one: every caller loops.
    let _ = rustix::event::poll(&mut [], Some(&time));
}
