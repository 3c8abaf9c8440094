//! Making a worktree for an agent: built beside its place, locked from its first moment, renamed in when whole.
//!
//! The process may die between any two steps. What then stands is either nothing at the place, and a staging folder that
//! the next making or sweep takes back by its record, or a whole worktree. Nothing of the repository's configuration is
//! written, and what others put at the place meanwhile is left as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::change::{self, GitCommand};
use super::delete::delete_tree;
use super::error::{GitError, ReadError, RemoveError};
use super::home::{self, OwnFolder, SiblingKind};
use super::include::{self, Included, LineFault, SkippedWhy};
use super::journal::{self, Doing};
use super::leftovers::{self, Record, Swept, set_aside_if_dead, take_back};
use super::links::{self, Links, Registered};
use super::lock::Lock;
use super::read::{self, Head};
use super::relock;
use super::site::{self, NewWorktree, Site};
use super::watch::{Limits, Progress, Step, Undoing, Watch};
use super::worktree_error::AddError;
use crate::model::WorktreeId;

/// A worktree, whole and in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    /// Where it stands, without symbolic links.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// Its commit, in hex.
    pub commit: String,
    /// Git's record of it.
    pub id: WorktreeId,
    /// What is worth saying about it.
    pub notes: Vec<MadeNote>,
}

/// Something about a new worktree that its agent may trip over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeNote {
    /// Folders of submodules that were left empty, as git leaves them; from the top.
    SubmodulesEmpty(Vec<PathBuf>),
    /// Files whose content is stored elsewhere and was not fetched.
    LfsSkipped {
        /// How many.
        files: usize,
    },
    /// `core.hooksPath` leads to a folder that is not there, so no hook runs.
    HooksPathEmpty(PathBuf),
    /// The repository's own `post-checkout` hook did not end well; the worktree is used all the same, as git does.
    HookFailed(String),
    /// Only a part of the files is checked out, as in the main checkout.
    Sparse,
    /// What was copied because `.worktreeinclude` names it.
    Included {
        /// Files and links.
        files: u64,
        /// Bytes of content.
        bytes: u64,
    },
    /// A line of `.worktreeinclude` that means nothing.
    IncludeLine {
        /// Counted from one.
        line: u32,
        /// What is wrong with it.
        what: LineFault,
    },
    /// A file that `.worktreeinclude` names and that was not copied; from the top.
    IncludeSkipped(PathBuf, SkippedWhy),
    /// How many more there were of these.
    IncludeSkippedMore(u64),
}

/// Makes the worktree. On an error nothing of this call is left, except after [`AddError::Halted`].
pub fn make_worktree(new: &NewWorktree, watch: &mut dyn Watch) -> Result<MadeWorktree, AddError> {
    let started = watch.elapsed();
    let own = site::place(new)?;
    clear_leftovers(&own, new.limits, watch)?;
    let site = site::site(own, new)?;
    Adding { new, site: &site, started, placed: false, watch }.run()
}

/// The commit that a revision of a repository stands for, in hex; `None` when there is none.
pub fn resolve(common_dir: &Path, revision: &str) -> Result<Option<String>, ReadError> {
    Ok(read::of_git_dir(common_dir)?.commit_of(revision))
}

/// Asks `origin` for its default branch, so that `origin/<branch>` is what it is there now.
pub fn fetch_default(common_dir: &Path, branch: &str, limit: Duration, watch: &mut dyn Watch) -> Result<(), GitError> {
    change::fetch(common_dir, branch).run_shown(limit, watch).map(drop)
}

/// Takes back, or finishes, what earlier calls left at this place.
fn clear_leftovers(own: &OwnFolder, limits: Limits, watch: &mut dyn Watch) -> Result<(), AddError> {
    let Some((own, doing)) = journal::line_of(own).map_err(io_error("looked at", own.home()))? else { return Ok(()) };
    step(watch, Step::SetAside)?;
    set_aside_if_dead(&own).map_err(left(&own.staging()))?;
    let mut swept = Swept::default();
    for sibling in own.siblings().map_err(io_error("listed", own.beside()))? {
        if sibling.kind == SiblingKind::Making {
            return Err(AddError::BeingMade { path: own.folder() });
        }
        swept.add(sibling, limits, &mut Undoing(watch)).map_err(left(own.beside()))?;
    }
    for (path, error) in swept.kept {
        match error {
            // Half deleted is out of the way already.
            RemoveError::LeftInTrash { .. } => {}
            error => return Err(left(&path)(error)),
        }
    }
    if let Doing::Relocking { stamp } = doing {
        relock::give_back(&own, stamp, limits, watch).map_err(left(&own.folder()))?;
    }
    journal::close(&own, doing).map_err(io_error("written", own.home()))
}

struct Adding<'a> {
    new: &'a NewWorktree,
    site: &'a Site,
    started: Duration,
    /// The finished folder stands at its place, put there by this call.
    placed: bool,
    watch: &'a mut dyn Watch,
}

impl Adding<'_> {
    /// Works in a staging folder and takes everything back if that fails.
    fn run(&mut self) -> Result<MadeWorktree, AddError> {
        let own = &self.site.own;
        self.step(Step::Stage)?;
        let made_root = make_root(&self.site.root)?;
        let noted = journal::note(own, Doing::Making).map_err(io_error("written", own.home()))?;
        let staged = if noted { leftovers::stage(own).map_err(io_error("made", &own.staging()))? } else { None };
        let lock = staged.ok_or_else(|| AddError::BeingMade { path: own.folder() })?;
        match self.build(&lock) {
            Ok(made) => {
                self.step(Step::Unstage)?;
                let done = delete_tree(&own.staging()).and_then(|()| journal::close(own, Doing::Making));
                if let Err(error) = done {
                    // The worktree is whole; the next sweep clears what is left beside it.
                    tracing::warn!(%error, staging = %own.staging().display(), "what a making worked in could not be deleted");
                }
                Ok(made)
            }
            Err(halted @ AddError::Halted { .. }) => Err(halted),
            Err(error) => {
                match self.undo() {
                    Err(halted @ AddError::Halted { .. }) => return Err(halted),
                    // The failure that led here is the one to tell; the next making or sweep tries this again.
                    Err(error) => tracing::warn!(%error, place = %own.folder().display(), "a failed making could not be taken back"),
                    Ok(()) => {}
                }
                // Others may have put something there by now.
                made_root.iter().all(|folder| std::fs::remove_dir(folder).is_ok());
                Err(error)
            }
        }
    }

    fn build(&mut self, lock: &Lock) -> Result<MadeWorktree, AddError> {
        let staged = self.site.own.staged();
        self.register(lock)?;
        self.step(Step::CheckOut)?;
        let mut notes = Vec::new();
        notes.extend(self.check_out(&staged, lock)?);
        notes.extend(self.include(&staged)?);
        if self.watch.cancelled() {
            return Err(AddError::Cancelled);
        }
        let registered = self.place()?;
        self.finish(&registered, notes)
    }

    /// Under the repository's lock: what was decided still holds, then git's record and the branch come to be at once.
    fn register(&mut self, lock: &Lock) -> Result<(), AddError> {
        let Site { own, common_dir, runs_in, .. } = self.site;
        let new = self.new;
        let _repository = self.lock_repository()?;
        site::refuse_taken(self.site, new)?;
        self.step(Step::Record)?;
        let record = Record::new(common_dir, &new.branch, &new.base, true);
        record.write(&own.staging()).map_err(io_error("written", &own.staging()))?;
        self.step(Step::Register)?;
        let add = change::add_locked(runs_in, &own.staged(), &new.branch, &new.base, &new.lock);
        self.git(add.holding(self.share(lock)?))
    }

    fn check_out(&mut self, staged: &Path, lock: &Lock) -> Result<Vec<MadeNote>, AddError> {
        let repository = read::of_work_tree(staged)?;
        let mut command = change::check_out(staged).holding(self.share(lock)?);
        let filtered = repository.has_lfs_filter();
        let mut fetched = filtered && !self.new.skip_lfs;
        if filtered && change::has_lfs(staged).run(self.new.limits.quick, self.watch).is_err() {
            (command, fetched) = (command.without_lfs(), false);
        } else if self.new.skip_lfs {
            command = command.skipping_lfs();
        }
        self.git(command)?;
        let mut notes = Vec::new();
        if repository.is_sparse() {
            notes.push(MadeNote::Sparse);
        }
        if !fetched && (filtered || speaks_of_lfs(staged, &self.site.common_dir)) {
            let listed = change::lfs_files(staged).run(self.remaining(), self.watch).map_err(|error| self.timed(error.into()))?;
            let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let files = names.filter(|name| staged.join(links::bytes_path(name)).symlink_metadata().is_ok()).count();
            notes.extend((files > 0).then_some(MadeNote::LfsSkipped { files }));
        }
        Ok(notes)
    }

    fn include(&mut self, staged: &Path) -> Result<Vec<MadeNote>, AddError> {
        let Some(from) = self.new.include_from.as_deref() else { return Ok(Vec::new()) };
        self.step(Step::Include)?;
        let until = self.started.saturating_add(self.new.limits.making);
        let own = [self.site.own.home().to_path_buf(), self.site.own.beside().to_path_buf()];
        let included = include::include(from, staged, &own, until, self.watch).map_err(|error| self.timed(error.into()))?;
        Ok(included.map(notes_of).unwrap_or_default())
    }

    /// Renames the whole worktree to its place, if that is still free, and has git's record name it.
    fn place(&mut self) -> Result<Registered, AddError> {
        let Site { own, common_dir, .. } = self.site;
        let (staged, path) = (own.staged(), own.folder());
        let _repository = self.lock_repository()?;
        self.step(Step::Place)?;
        match home::rename_new(&staged, &path) {
            Err(_) if path.symlink_metadata().is_ok() => return Err(AddError::PathExists { path }),
            other => other.map_err(io_error("renamed to its place", &staged))?,
        }
        self.placed = true;
        leftovers::mend(own, common_dir, self.new.limits, self.watch).map_err(|error| match error {
            RemoveError::Git(error) => self.timed(error.into()),
            other => left(&path)(other),
        })?;
        match links::links(&path) {
            Ok(Links::Whole(registered)) => Ok(registered),
            _ => Err(AddError::NotAsAsked { path, what: "its links do not lead to each other" }),
        }
    }

    /// What needs the worktree where it stays. From here on it is whole, and nothing takes it back any more.
    fn finish(&mut self, registered: &Registered, mut notes: Vec<MadeNote>) -> Result<MadeWorktree, AddError> {
        let path = self.site.own.folder();
        let wrong = |what| AddError::NotAsAsked { path: path.clone(), what };
        let repository = read::of_work_tree(&path)?;
        match repository.head()? {
            Head::Branch { name, commit } if name == self.new.branch && commit == self.new.base => {}
            _ => return Err(wrong("it is on another branch or commit")),
        }
        if registered.locked.as_deref() != Some(self.new.lock.trim()) {
            return Err(wrong("it has another lock"));
        }
        let id = links::identity(&registered.record).map_err(io_error("looked at", &registered.record))?;
        let empty: Vec<_> = repository.submodules()?.into_iter().filter(|below| !path.join(below).join(".git").exists()).collect();
        if !empty.is_empty() {
            self.watch.progress(Progress::SubmodulesEmpty { count: empty.len() });
            notes.push(MadeNote::SubmodulesEmpty(empty));
        }
        notes.extend(repository.hooks_path().filter(|hooks| !hooks.is_dir()).map(MadeNote::HooksPathEmpty));
        if repository.post_checkout_hook().is_some() {
            self.step(Step::Hook)?;
            notes.extend(self.hook(&path));
        }
        Ok(MadeWorktree { path, branch: self.new.branch.clone(), commit: self.new.base.clone(), id, notes })
    }

    fn hook(&mut self, path: &Path) -> Option<MadeNote> {
        let error = self.git(change::post_checkout(path, &self.new.base)).err()?;
        self.watch.progress(Progress::HookFailed { reason: error.to_string() });
        Some(MadeNote::HookFailed(error.to_string()))
    }

    /// Undoes this call the way a killed one is undone. A worktree already in its place goes back first.
    fn undo(&mut self) -> Result<(), AddError> {
        let own = &self.site.own;
        self.step(Step::SetAside)?;
        if self.placed {
            home::rename_new(&own.folder(), &own.staged()).map_err(io_error("renamed", &own.folder()))?;
        }
        let unmade = home::set_aside(own, &own.staging(), "unmade").map_err(io_error("renamed", &own.staging()))?;
        take_back(own, &unmade, self.new.limits, &mut Undoing(&mut *self.watch)).map_err(left(&unmade))?;
        journal::close(own, Doing::Making).map_err(io_error("written", own.home()))
    }

    fn lock_repository(&mut self) -> Result<Lock, AddError> {
        let limits = Limits { making: self.remaining(), ..self.new.limits };
        match leftovers::take_repository(self.site.own.home(), &self.site.common_dir, limits, self.watch) {
            Err(RemoveError::Busy { .. }) if self.watch.cancelled() => Err(AddError::Cancelled),
            Err(RemoveError::Busy { .. }) => Err(self.late()),
            other => other.map_err(left(&self.site.common_dir)),
        }
    }

    fn share(&self, lock: &Lock) -> Result<std::fs::File, AddError> {
        lock.share().map_err(io_error("shared", &self.site.own.staging()))
    }

    fn git(&mut self, command: GitCommand) -> Result<(), AddError> {
        if self.watch.cancelled() {
            return Err(AddError::Cancelled);
        }
        let limit = self.remaining();
        command.run_shown(limit, self.watch).map(drop).map_err(|error| self.timed(error.into()))
    }

    fn remaining(&self) -> Duration {
        self.new.limits.making.saturating_sub(self.watch.elapsed().saturating_sub(self.started))
    }

    /// One limit holds for the whole making, so that one is named, not what a step had left of it.
    fn timed(&self, error: AddError) -> AddError {
        match error {
            AddError::TimedOut { .. } | AddError::Git(GitError::TimedOut { .. }) => self.late(),
            other => other,
        }
    }

    fn late(&self) -> AddError {
        AddError::TimedOut { allowed: self.new.limits.making }
    }

    fn step(&mut self, next: Step) -> Result<(), AddError> {
        step(self.watch, next)
    }
}

fn notes_of(included: Included) -> Vec<MadeNote> {
    let Included { files, bytes, lines, skipped, more } = included;
    let mut notes: Vec<_> = lines.into_iter().map(|(line, what)| MadeNote::IncludeLine { line, what }).collect();
    notes.extend(skipped.into_iter().map(|(path, why)| MadeNote::IncludeSkipped(path, why)));
    notes.extend((more > 0).then_some(MadeNote::IncludeSkippedMore(more)));
    notes.extend((files > 0).then_some(MadeNote::Included { files, bytes }));
    notes
}

/// Makes the root and returns what was made of it, the deepest first.
fn make_root(root: &Path) -> Result<Vec<PathBuf>, AddError> {
    let missing: Vec<_> = root.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).map(Path::to_path_buf).collect();
    std::fs::create_dir_all(root).map_err(io_error("made", root))?;
    Ok(missing)
}

/// Whether the attributes at the top say that content is stored elsewhere.
fn speaks_of_lfs(worktree: &Path, common_dir: &Path) -> bool {
    let files = [worktree.join(".gitattributes"), common_dir.join("info/attributes")];
    let said = |text: Vec<u8>| text.windows(b"filter=lfs".len()).any(|part| part == b"filter=lfs");
    files.iter().any(|file| std::fs::read(file).is_ok_and(said))
}

fn step(watch: &mut dyn Watch, step: Step) -> Result<(), AddError> {
    if watch.step(step).is_break() { Err(AddError::Halted { step }) } else { Ok(()) }
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> AddError + use<> {
    let path = path.to_path_buf();
    move |source| AddError::Io { doing, path: path.clone(), source }
}

fn left(path: &Path) -> impl Fn(RemoveError) -> AddError + use<> {
    let path = path.to_path_buf();
    move |error| match error {
        RemoveError::Halted { step } => AddError::Halted { step },
        RemoveError::Git(GitError::Cancelled { .. }) => AddError::Cancelled,
        source => AddError::Leftover { path: path.clone(), source: Box::new(source) },
    }
}
