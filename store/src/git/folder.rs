//! Making a fork's folder after a plan: built beside its place, renamed in when whole.
//!
//! The process may die between any two steps. What then stands is either nothing at the fork's place, and a staging
//! folder that the next making or sweep takes back by its record, or a whole folder there. No cleaning happens on
//! unwinding: a failure is undone by the same code that undoes a killed making, so that code is the only one to trust.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::change;
use super::copy::copy_folder;
use super::delete::delete_tree;
use super::error::{GitError, MakeError, RemoveError};
use super::home::{self, ForkFolder, SiblingKind};
use super::leftovers::{self, Record, set_aside_if_dead, take_back};
use super::links::{self, Links};
use super::lock::{Lock, repository_lock};
use super::plan::{FolderPlan, Reused, Way, Work, Worktree, plan};
use super::read;
use super::watch::{Progress, Step, Undoing, Watch};

/// A fork's folder, whole and in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFolder {
    /// `<home>/forks/<fork id>`.
    pub path: PathBuf,
    /// Where the agent starts: the same sub-folder that the parent's folder is of its repository.
    pub start_in: PathBuf,
    /// How it came to be.
    pub way: Way,
    /// The fork's branch, without `refs/heads/`; none for a copy.
    pub branch: Option<String>,
    /// The commit its `HEAD` was at, in hex; none for a copy.
    pub commit: Option<String>,
}

/// Makes the folder. On an error nothing of this call is left, except after [`MakeError::Halted`].
pub fn make(plan: &FolderPlan, watch: &mut dyn Watch) -> Result<MadeFolder, MakeError> {
    let mut making = Making { plan, started: watch.elapsed(), placed: false, watch };
    match &plan.work {
        Work::Reuse { start_in, worktree } => making.reuse(start_in, worktree.as_ref()),
        Work::Worktree(one) => making.staged(|making, lock| making.worktree(one, lock)),
        Work::Copy => making.staged(|making, _lock| making.copy()),
    }
}

struct Making<'a> {
    plan: &'a FolderPlan,
    started: Duration,
    /// The finished folder stands at the fork's place, put there by this call.
    placed: bool,
    watch: &'a mut dyn Watch,
}

impl<'a> Making<'a> {
    fn reuse(&mut self, start_in: &Path, worktree: Option<&Reused>) -> Result<MadeFolder, MakeError> {
        self.clear_leftovers()?;
        self.still_as_planned()?;
        self.watch.progress(Progress::Reusing { folder: self.fork().folder() });
        if let Some(one) = worktree.filter(|one| one.moved) {
            let _lock = self.lock_repository(&one.common_dir)?;
            self.link(&one.common_dir)?;
        }
        Ok(MadeFolder {
            path: self.fork().folder(),
            start_in: start_in.to_path_buf(),
            way: Way::Reuse,
            branch: worktree.map(|_| self.fork().branch()),
            commit: worktree.and_then(|one| one.commit.clone()),
        })
    }

    /// Works in a staging folder and takes everything back if that fails.
    fn staged(&mut self, work: impl FnOnce(&mut Self, &Lock) -> Result<MadeFolder, MakeError>) -> Result<MadeFolder, MakeError> {
        self.clear_leftovers()?;
        self.step(Step::Stage)?;
        let lock = self.stage()?;
        let result = self.still_as_planned().and_then(|()| work(self, &lock));
        let result = if self.watch.cancelled() && result.is_ok() { Err(MakeError::Cancelled) } else { result };
        match result {
            Ok(made) => {
                self.step(Step::Unstage)?;
                delete_tree(&self.fork().staging()).map_err(self.io("deleted", &self.fork().staging()))?;
                Ok(made)
            }
            Err(halted @ MakeError::Halted { .. }) => Err(halted),
            Err(error) => {
                self.undo()?;
                Err(error)
            }
        }
    }

    /// Takes back what earlier makings of this fork left, before anything is begun.
    fn clear_leftovers(&mut self) -> Result<(), MakeError> {
        let fork = self.fork().clone();
        home::make_private(&fork.forks()).map_err(self.io("made", &fork.forks()))?;
        self.step(Step::SetAside)?;
        set_aside_if_dead(fork.own()).map_err(left(&fork.staging()))?;
        let left_before = fork.siblings().map_err(self.io("listed", &fork.forks()))?;
        for one in left_before.into_iter().filter(|one| one.kind != SiblingKind::Making) {
            let mut undoing = Undoing(&mut *self.watch);
            let done = match one.kind {
                SiblingKind::Trash => leftovers::finish_removal(fork.own(), &one.path, self.plan.limits, &mut undoing),
                _ => take_back(fork.own(), &one.path, self.plan.limits, &mut undoing),
            };
            match done {
                // Half deleted is out of the way already.
                Err(RemoveError::LeftInTrash { .. }) => {}
                other => other.map_err(left(&one.path))?,
            }
        }
        Ok(())
    }

    fn stage(&self) -> Result<Lock, MakeError> {
        let fork = self.fork();
        let staging = fork.staging();
        let lock = leftovers::stage(fork.own()).map_err(self.io("made", &staging))?;
        lock.ok_or_else(|| MakeError::BeingMade { folder: fork.folder() })
    }

    /// A plan is good as long as planning again gives the same task. Asked with the staging folder taken, so that no other
    /// making of this fork is between this and what follows.
    fn still_as_planned(&self) -> Result<(), MakeError> {
        match plan(&self.plan.source, self.fork(), self.plan.limits) {
            Ok(again) if again.work.same_task(&self.plan.work) => Ok(()),
            _ => Err(MakeError::Stale { folder: self.fork().folder() }),
        }
    }

    fn worktree(&mut self, one: &Worktree, lock: &Lock) -> Result<MadeFolder, MakeError> {
        let (staging, staged) = (self.fork().staging(), self.fork().staged());
        self.step(Step::Record)?;
        let record = Record::new(&one.common_dir, &self.fork().branch(), &one.base, one.new_branch);
        record.write(&staging).map_err(self.io("written", &staging))?;
        let holding = || lock.share().map_err(self.io("shared", &staging));
        let (first, second) = (holding()?, holding()?);
        {
            let _lock = self.lock_repository(&one.common_dir)?;
            if one.forget {
                self.step(Step::Forget)?;
                leftovers::forget_gone(self.plan.fork.own(), &one.common_dir, self.plan.limits, &mut Undoing(&mut *self.watch))
                    .map_err(left(&self.fork().folder()))?;
            }
            self.step(Step::Register)?;
            self.git(self.plan.add(one).holding(first))?;
        }
        self.step(Step::CheckOut)?;
        self.git(change::check_out(&staged).holding(second))?;
        if !staged.join(&one.subfolder).is_dir() {
            return Err(MakeError::StartMissing { folder: one.subfolder.clone() });
        }
        self.place_worktree(one)?;
        self.finish_worktree(one)
    }

    fn place_worktree(&mut self, one: &Worktree) -> Result<(), MakeError> {
        let _lock = self.lock_repository(&one.common_dir)?;
        self.place()?;
        self.link(&one.common_dir)
    }

    /// What needs the folder where it stays.
    fn finish_worktree(&mut self, one: &Worktree) -> Result<MadeFolder, MakeError> {
        let path = self.fork().folder();
        let repository = read::of_work_tree(&path)?;
        let commit = repository.head()?.commit().map(str::to_owned);
        let submodules = repository.submodules()?.len();
        if submodules > 0 {
            self.watch.progress(Progress::SubmodulesEmpty { count: submodules });
        }
        if let (Some(_), Some(commit)) = (repository.post_checkout_hook(), &commit) {
            self.step(Step::Hook)?;
            match self.git(change::post_checkout(&path, commit)) {
                Err(MakeError::Git(error @ GitError::Refused { .. })) => {
                    self.watch.progress(Progress::HookFailed { reason: error.to_string() });
                }
                other => other?,
            }
        }
        let start_in = links::below(&path, &one.subfolder);
        Ok(MadeFolder { path, start_in, way: self.plan.way(), branch: self.plan.branch(), commit })
    }

    fn copy(&mut self) -> Result<MadeFolder, MakeError> {
        let (fork, source) = (self.fork().clone(), self.plan.source.clone());
        let path = fork.folder();
        self.step(Step::Copy)?;
        self.watch.progress(Progress::Copying { from: source.clone(), to: path.clone() });
        let own = [fork.home().to_path_buf(), fork.forks(), fork.staging()];
        let until = self.started.saturating_add(self.plan.limits.making);
        let (attributes, _) = copy_folder(&source, &fork.staged(), &own, until, self.watch).map_err(|error| self.timed(error))?;
        self.place()?;
        attributes.give(&path).map_err(self.io("given its mode", &path))?;
        Ok(MadeFolder { start_in: path.clone(), path, way: Way::Copy, branch: None, commit: None })
    }

    fn place(&mut self) -> Result<(), MakeError> {
        self.step(Step::Place)?;
        let (staged, folder) = (self.fork().staged(), self.fork().folder());
        // An empty folder at the fork's place counts as nothing.
        let _ = std::fs::remove_dir(&folder);
        match home::rename_new(&staged, &folder) {
            Err(error) if folder.symlink_metadata().is_ok() => {
                tracing::debug!(%error, "the fork's place was taken meanwhile");
                Err(MakeError::Stale { folder })
            }
            other => other.map_err(self.io("renamed to its place", &staged)),
        }?;
        self.placed = true;
        Ok(())
    }

    fn link(&mut self, common_dir: &Path) -> Result<(), MakeError> {
        let fork = self.fork().clone();
        leftovers::mend(fork.own(), common_dir, self.plan.limits, self.watch).map_err(|error| match error {
            RemoveError::Git(error) => self.timed(error.into()),
            other => left(&fork.folder())(other),
        })?;
        match links::links(&fork.folder()) {
            Ok(Links::Whole(_)) => Ok(()),
            _ => Err(MakeError::LinksWrong { folder: fork.folder() }),
        }
    }

    /// Undoes this call the way a killed one is undone. A folder already in its place goes back first.
    fn undo(&mut self) -> Result<(), MakeError> {
        let fork = self.fork().clone();
        self.step(Step::SetAside)?;
        if self.placed {
            home::rename_new(&fork.folder(), &fork.staged()).map_err(self.io("renamed", &fork.folder()))?;
        }
        let unmade = home::set_aside(fork.own(), &fork.staging(), "unmade").map_err(self.io("renamed", &fork.staging()))?;
        match take_back(fork.own(), &unmade, self.plan.limits, &mut Undoing(&mut *self.watch)) {
            Err(RemoveError::Halted { step }) => Err(MakeError::Halted { step }),
            Err(error) => {
                // The failure that led here is the one to tell; the next making or sweep tries this again.
                tracing::warn!(%error, unmade = %unmade.display(), "a failed making could not be taken back");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn lock_repository(&mut self, common_dir: &Path) -> Result<Lock, MakeError> {
        let failed = self.io("locked", common_dir);
        let path = repository_lock(self.fork().home(), common_dir).map_err(&failed)?;
        let mut told = false;
        Lock::take(&path, || {
            if !std::mem::replace(&mut told, true) {
                self.watch.progress(Progress::Waiting { repository: common_dir.to_path_buf() });
            }
            match self.remaining() {
                _ if self.watch.cancelled() => Err(Waited(MakeError::Cancelled)),
                Duration::ZERO => Err(Waited(self.late())),
                _ => Ok(()),
            }
        })
        .map_err(|Waited(error)| match error {
            MakeError::Io { source, .. } => failed(source),
            other => other,
        })
    }

    fn git(&mut self, command: change::GitCommand) -> Result<(), MakeError> {
        if self.watch.cancelled() {
            return Err(MakeError::Cancelled);
        }
        let limit = self.remaining();
        let run = command.run_shown(limit, self.watch);
        run.map(drop).map_err(|error| self.timed(error.into()))
    }

    fn remaining(&self) -> Duration {
        self.plan.limits.making.saturating_sub(self.watch.elapsed().saturating_sub(self.started))
    }

    /// One limit holds for the whole making, so that one is named, not what a step had left of it.
    fn timed(&self, error: MakeError) -> MakeError {
        match error {
            MakeError::TimedOut { .. } | MakeError::Git(GitError::TimedOut { .. }) => self.late(),
            other => other,
        }
    }

    fn late(&self) -> MakeError {
        MakeError::TimedOut { allowed: self.plan.limits.making }
    }

    fn step(&mut self, step: Step) -> Result<(), MakeError> {
        if self.watch.step(step).is_break() { Err(MakeError::Halted { step }) } else { Ok(()) }
    }

    fn fork(&self) -> &'a ForkFolder {
        &self.plan.fork
    }

    fn io(&self, doing: &'static str, path: &Path) -> impl Fn(io::Error) -> MakeError + use<> {
        let path = path.to_path_buf();
        move |source| MakeError::Io { doing, path: path.clone(), source }
    }
}

/// What ends the waiting for a lock.
struct Waited(MakeError);

impl From<io::Error> for Waited {
    fn from(source: io::Error) -> Self {
        Self(MakeError::Io { doing: "locked", path: PathBuf::new(), source })
    }
}

fn left(path: &Path) -> impl Fn(RemoveError) -> MakeError + use<> {
    let path = path.to_path_buf();
    move |error| match error {
        RemoveError::Halted { step } => MakeError::Halted { step },
        RemoveError::Git(GitError::Cancelled { .. }) => MakeError::Cancelled,
        source => MakeError::Leftover { path: path.clone(), source: Box::new(source) },
    }
}
