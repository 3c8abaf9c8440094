//! The one place that runs the `git` program. Each function below is one command of ours; nothing else builds arguments.
//!
//! Every run has its own process group, no terminal, the C locale, a deadline, and settings that keep a person's
//! configuration from changing what our commands mean. No setting is ever written. `--force` is passed by `check_out` alone,
//! in a folder that the same call has just made and that git has checked nothing out into: there is nothing in it to lose.
//!
//! One thread serves a run: it polls the child's pipes, because a blocked reader could neither be stopped nor be late.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};

use super::error::GitError;
use super::read::misleads;
use super::watch::{CommandLine, Progress, Watch, pause};
use crate::shell;

/// What a person's configuration may not change about our commands. Given through the environment, so the command
/// line that is shown stays the one that matters, and inherited by no hook of theirs.
const SETTINGS: [(&str, &str); 12] = [
    // Hooks run once, by `post_checkout`, when the folder is where it stays.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("color.ui", "false"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
    ("checkout.guess", "false"),
    ("worktree.guessRemote", "false"),
    // A relative link would make git write `extensions.relativeWorktrees` into the shared configuration.
    ("worktree.useRelativePaths", "false"),
    ("branch.autoSetupRebase", "never"),
];

/// How long a run waits between two looks at the stop, while git prints nothing.
const TICK: Duration = Duration::from_millis(20);
/// How long an ended git may take to clean up after a polite signal, and its pipes to close after a rude one.
const GRACE: Duration = Duration::from_secs(5);
/// Lines kept to explain a failure.
const LAST_LINES: usize = 20;

/// A command that is ready to run.
#[derive(Debug)]
pub(super) struct GitCommand {
    folder: PathBuf,
    arguments: Vec<OsString>,
    plain: bool,
    /// Settings of this command alone, beside those of all.
    settings: Vec<(&'static str, &'static str)>,
    /// Variables of this command alone.
    variables: Vec<(&'static str, &'static str)>,
    holds: Option<File>,
}

/// Registers a worktree at `at` on a new branch that starts at `base` and follows nothing. Checks nothing out.
pub(super) fn add_new_branch(repository: &Path, at: &Path, branch: &str, base: &str) -> GitCommand {
    let options = ["worktree", "add", "--no-checkout", "--no-track", "-b", branch, "--"];
    GitCommand::new(repository, options).argument(at).argument(base)
}

/// Registers a worktree at `at` on a branch that exists. Checks nothing out.
pub(super) fn add_existing_branch(repository: &Path, at: &Path, branch: &str) -> GitCommand {
    GitCommand::new(repository, ["worktree", "add", "--no-checkout", "--"]).argument(at).argument(branch)
}

/// Registers a worktree as [`add_new_branch`] does, and locks it with these words in the same moment.
pub(super) fn add_locked(repository: &Path, at: &Path, branch: &str, base: &str, words: &str) -> GitCommand {
    let reason = format!("--reason={words}");
    let options = ["worktree", "add", "--no-checkout", "--no-track", "--lock", &reason, "-b", branch, "--"];
    GitCommand::new(repository, options).argument(at).argument(base)
}

/// Brings the remote-tracking branch of one branch of `origin` up to date, and nothing else: no tags, no submodules, no
/// `FETCH_HEAD`, and nobody is asked for a password.
pub(super) fn fetch(common_dir: &Path, branch: &str) -> GitCommand {
    let only = format!("+refs/heads/{branch}:refs/remotes/origin/{branch}");
    let options = ["--no-tags", "--no-prune", "--no-write-fetch-head", "--recurse-submodules=no", "--refmap=", "--progress"];
    let mut command = GitCommand::new(common_dir, ["fetch"]);
    command.arguments.extend(options.map(OsString::from));
    command.variables = vec![("GIT_ASKPASS", ""), ("SSH_ASKPASS_REQUIRE", "never")];
    command.argument("--").argument("origin").argument(&only)
}

/// Prints the tracked paths whose content is stored elsewhere, each ended by a zero byte.
pub(super) fn lfs_files(worktree: &Path) -> GitCommand {
    GitCommand::new(worktree, ["ls-files", "-z", "--", ":(attr:filter=lfs)"])
}

/// Succeeds when git can fetch such content.
pub(super) fn has_lfs(worktree: &Path) -> GitCommand {
    GitCommand::new(worktree, ["lfs", "version"])
}

/// Checks out all files of `HEAD` in a fresh worktree, printing how far it is. `--force` is right here and only here:
/// the worktree has no files yet, and without it git takes the missing ones for deletions to keep.
pub(super) fn check_out(worktree: &Path) -> GitCommand {
    GitCommand::new(worktree, ["checkout", "--force", "--progress", "--no-recurse-submodules"])
}

/// Makes git's record of a worktree that was renamed name its new place.
pub(super) fn repair(repository: &Path, worktree: &Path) -> GitCommand {
    GitCommand::new(repository, ["worktree", "repair", "--"]).argument(worktree)
}

/// Drops git's record of a worktree whose folder is gone. Git refuses if the record is locked, and also if the folder
/// is back with changes in it.
pub(super) fn forget(repository: &Path, worktree: &Path) -> GitCommand {
    GitCommand::new(repository, ["worktree", "remove", "--"]).argument(worktree)
}

/// Locks a worktree with these words. Git refuses if it is locked.
pub(super) fn lock(repository: &Path, worktree: &Path, words: &str) -> GitCommand {
    let reason = format!("--reason={words}");
    GitCommand::new(repository, ["worktree", "lock", &reason, "--"]).argument(worktree)
}

/// Takes off a worktree's lock.
pub(super) fn unlock(repository: &Path, worktree: &Path) -> GitCommand {
    GitCommand::new(repository, ["worktree", "unlock", "--"]).argument(worktree)
}

/// Deletes a branch if its tip still is the commit named.
pub(super) fn delete_branch(repository: &Path, branch: &str, tip: &str) -> GitCommand {
    let reference = format!("refs/heads/{branch}");
    GitCommand::new(repository, ["update-ref", "-d", "--end-of-options"]).argument(&reference).argument(tip)
}

/// Prints one reference that contains a commit, or nothing.
pub(super) fn reference_with(repository: &Path, commit: &str) -> GitCommand {
    let contains = format!("--contains={commit}");
    GitCommand::new(repository, ["for-each-ref", "--count=1", "--format=%(refname)"]).argument(&contains)
}

/// Prints one commit of a repository that none of its remotes is known to have, or nothing: of its branches, its `HEAD`, and
/// what was stashed in it.
pub(super) fn unpushed(repository: &Path) -> GitCommand {
    let of = ["HEAD", "--branches", "--glob=refs/stash", "--not", "--remotes"];
    let mut command = GitCommand::new(repository, ["rev-list", "--max-count=1"]);
    command.arguments.extend(of.map(OsString::from));
    command
}

/// Runs the repository's own hook as `git worktree add` does after a checkout.
pub(super) fn post_checkout(worktree: &Path, commit: &str) -> GitCommand {
    let nothing = "0".repeat(commit.len());
    let command = GitCommand::new(worktree, ["hook", "run", "--ignore-missing", "post-checkout", "--"]);
    GitCommand { plain: true, ..command.argument(&nothing).argument(commit).argument("1") }
}

impl GitCommand {
    fn new<const N: usize>(folder: &Path, arguments: [&str; N]) -> Self {
        let arguments = arguments.into_iter().map(OsString::from).collect();
        Self { folder: folder.to_path_buf(), arguments, plain: false, settings: Vec::new(), variables: Vec::new(), holds: None }
    }

    /// Leaves the files that stand for content stored elsewhere as they are. Without the program that fetches such content
    /// its filter must not be asked, since git takes its absence for a failure.
    pub(super) fn without_lfs(mut self) -> Self {
        self.settings = vec![("filter.lfs.process", ""), ("filter.lfs.smudge", ""), ("filter.lfs.required", "false")];
        self
    }

    /// Has the program that fetches such content leave those files as they are.
    pub(super) fn skipping_lfs(mut self) -> Self {
        self.variables = vec![("GIT_LFS_SKIP_SMUDGE", "1")];
        self
    }

    fn argument(mut self, argument: &(impl AsRef<OsStr> + ?Sized)) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Gives git a locked file to hold for as long as it lives, even if this process does not.
    pub(super) fn holding(mut self, lock: File) -> Self {
        self.holds = Some(lock);
        self
    }

    /// The command as one would type it.
    pub(super) fn line(&self) -> CommandLine {
        let words = self.arguments.iter().map(OsString::as_os_str);
        CommandLine { folder: self.folder.clone(), text: shell::line([OsStr::new("git")].into_iter().chain(words)) }
    }

    /// Runs it and tells the watch that it starts and what it prints. Returns what it wrote to its standard output.
    pub(super) fn run_shown(self, limit: Duration, watch: &mut dyn Watch) -> Result<Vec<u8>, GitError> {
        watch.progress(Progress::Command(self.line()));
        self.run_with(limit, watch, true)
    }

    /// Runs it without a word.
    pub(super) fn run(self, limit: Duration, watch: &mut dyn Watch) -> Result<Vec<u8>, GitError> {
        self.run_with(limit, watch, false)
    }

    fn run_with(self, limit: Duration, watch: &mut dyn Watch, shown: bool) -> Result<Vec<u8>, GitError> {
        let command = self.line().text;
        let child = self.start().map_err(|source| GitError::NotStarted { source })?;
        let started = watch.elapsed();
        let mut run = match Run::new(child, shown) {
            Ok(run) => run,
            Err(source) => return Err(GitError::Stream { command, source }),
        };
        loop {
            match run.turn(watch) {
                Ok(Some(status)) => return run.outcome(status, command),
                Ok(None) => {}
                Err(source) => {
                    run.end();
                    return Err(GitError::Stream { command, source });
                }
            }
            if watch.cancelled() {
                run.end();
                return Err(GitError::Cancelled { command });
            }
            if watch.elapsed().saturating_sub(started) >= limit {
                run.end();
                return Err(GitError::TimedOut { command, allowed: limit });
            }
        }
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| misleads(name)) {
            command.env_remove(name);
        }
        if !self.plain {
            command.env("LC_ALL", "C").env_remove("LANGUAGE").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_PROGRESS_DELAY", "0");
            command.env("GIT_CONFIG_COUNT", (SETTINGS.len() + self.settings.len()).to_string());
            for (index, (key, value)) in SETTINGS.iter().chain(&self.settings).enumerate() {
                command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
            }
        }
        let stdin = self.holds.as_ref().map(File::try_clone).transpose()?;
        command
            .current_dir(&self.folder)
            .args(&self.arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .envs(self.variables.iter().copied())
            .process_group(0)
            .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

/// A git that runs, with what it printed so far.
struct Run {
    child: Child,
    stdout: Option<File>,
    stderr: Option<File>,
    output: Vec<u8>,
    lines: Lines,
}

impl Run {
    fn new(mut child: Child, shown: bool) -> io::Result<Self> {
        let stdout = child.stdout.take().map(|pipe| unblocked(OwnedFd::from(pipe))).transpose()?;
        let stderr = child.stderr.take().map(|pipe| unblocked(OwnedFd::from(pipe))).transpose()?;
        Ok(Self { child, stdout, stderr, output: Vec::new(), lines: Lines { shown, ..Lines::default() } })
    }

    /// Waits a moment for output or the end. The status comes once git has ended, whoever still holds its pipes.
    fn turn(&mut self, watch: &mut dyn Watch) -> io::Result<Option<ExitStatus>> {
        // Both pipes close just before git ends, so the last wait is a short one.
        let open = self.stdout.is_some() || self.stderr.is_some();
        self.wait(if open { TICK } else { Duration::from_millis(1) })?;
        let ended = self.child.try_wait()?;
        drain(&mut self.stdout, |bytes| self.output.extend_from_slice(bytes))?;
        drain(&mut self.stderr, |bytes| self.lines.take(bytes, watch))?;
        Ok(ended)
    }

    fn wait(&self, time: Duration) -> io::Result<()> {
        let pipes = [&self.stdout, &self.stderr].into_iter().flatten();
        let mut polled: Vec<_> = pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        match rustix::event::poll(&mut polled, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn outcome(mut self, status: ExitStatus, command: String) -> Result<Vec<u8>, GitError> {
        if status.success() {
            return Ok(self.output);
        }
        self.lines.finish();
        Err(GitError::Refused { command, code: status.code(), lines: self.lines.last.into() })
    }

    /// Ends the whole group: first so that git can take its lock files away, then for good. Filters that hold the pipes
    /// open are not waited for longer than the grace.
    fn end(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            // The group is gone if this fails, and that is what is wanted.
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), signal);
            let mut waited = Duration::ZERO;
            while waited < GRACE {
                let _ = drain(&mut self.stdout, |_| ());
                let _ = drain(&mut self.stderr, |_| ());
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                pause(Duration::from_millis(5));
                waited += Duration::from_millis(5);
            }
        }
    }
}

fn unblocked(pipe: OwnedFd) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(pipe.as_fd())?;
    rustix::fs::fcntl_setfl(pipe.as_fd(), flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(File::from(pipe))
}

/// Reads what is there and closes the pipe at its end.
fn drain(pipe: &mut Option<File>, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = [0; 8192];
    while let Some(file) = pipe {
        match file.read(&mut buffer) {
            Ok(0) => *pipe = None,
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Standard error cut into lines: git ends a progress line with a carriage return and the last one with a line feed.
#[derive(Default)]
struct Lines {
    shown: bool,
    begun: Vec<u8>,
    last: VecDeque<String>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], watch: &mut dyn Watch) {
        for &byte in bytes {
            if !matches!(byte, b'\n' | b'\r') {
                self.begun.push(byte);
            } else if let Some(line) = self.finish()
                && self.shown
            {
                watch.progress(Progress::Output { percent: percent(&line), line });
            }
        }
    }

    fn finish(&mut self) -> Option<String> {
        let line = printable(&std::mem::take(&mut self.begun));
        if line.is_empty() {
            return None;
        }
        if self.last.len() == LAST_LINES {
            self.last.pop_front();
        }
        if percent(&line).is_none() {
            self.last.push_back(line.clone());
        }
        Some(line)
    }
}

/// A line without what a terminal would act on: file names and filters' messages come from anyone.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|char| !char.is_control() || *char == '\t').collect::<String>().trim_end().to_owned()
}

/// The number before the percent sign of a progress line such as `Updating files:  43% (860/2000)`.
fn percent(line: &str) -> Option<u8> {
    let (before, after) = line.split_once('%')?;
    let number = before.rsplit([' ', ':']).next()?;
    after.starts_with(" (").then(|| number.parse().ok().filter(|number| *number <= 100)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_percents_of_progress_lines_only() {
        assert_eq!(percent("Updating files:  43% (860/2000)"), Some(43));
        assert_eq!(percent("Updating files: 100% (2000/2000), done."), Some(100));
        assert_eq!(percent("warning: 100% wrong"), None);
        assert_eq!(percent("Preparing worktree"), None);
    }

    #[test]
    fn shown_lines_carry_no_terminal_codes() {
        assert_eq!(printable(b"a\x1b[31mb\tc\xff "), "a[31mb\tc\u{fffd}");
    }

    #[test]
    fn a39_no_name_becomes_an_option() {
        let odd = Path::new("/x/-f");
        let text = |command: GitCommand| command.line().text;
        assert_eq!(
            text(add_new_branch(odd, odd, "frith/fork-1", "abc")),
            "git worktree add --no-checkout --no-track -b frith/fork-1 -- /x/-f abc"
        );
        assert_eq!(text(forget(odd, odd)), "git worktree remove -- /x/-f");
        assert_eq!(
            text(add_locked(odd, odd, "-b", "abc", "-x | y")),
            "git worktree add --no-checkout --no-track --lock '--reason=-x | y' -b -b -- /x/-f abc"
        );
        assert!(text(fetch(odd, "-x")).ends_with(" -- origin +refs/heads/-x:refs/remotes/origin/-x"));
        assert!(misleads(OsStr::new("GIT_DIR")) && misleads(OsStr::new("GIT_CONFIG_PARAMETERS")));
        assert!(!misleads(OsStr::new("GIT_CONFIG_GLOBAL")) && !misleads(OsStr::new("HOME")));
    }
}
