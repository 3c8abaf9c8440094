//! Deciding how a fork's folder comes to be. Touches nothing, runs nothing.
//!
//! What is no reason to refuse, since git has none either: an operation in progress in the parent's work tree (`HEAD` is
//! a commit in the middle of a rebase too, and the worktree starts at exactly that commit), a locked index (a new
//! worktree has its own), and uncommitted changes (they are not in it).

use std::io;
use std::path::{Path, PathBuf};

use super::change;
use super::error::{PlanError, Unfinished};
use super::home::{ForkFolder, SiblingKind};
use super::leftovers::Record;
use super::links::{self, Links};
use super::read::{self, Head, Operation, Repository};
use super::watch::{CommandLine, Limits};

/// How a fork's folder comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is there already.
    Reuse,
    /// A worktree on a branch made for it.
    NewBranch,
    /// A worktree on the fork's branch, which is left from a folder deleted by hand.
    ExistingBranch,
    /// A copy of a folder that is in no repository.
    Copy,
}

/// A decision how to make a fork's folder. Only [`plan`] makes one, only [`super::make`] carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPlan {
    pub(super) fork: ForkFolder,
    pub(super) source: PathBuf,
    pub(super) limits: Limits,
    pub(super) work: Work,
}

/// What is to be done, with what it was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    Reuse { start_in: PathBuf, worktree: Option<Reused> },
    Worktree(Worktree),
    Copy,
}

impl Work {
    /// Whether the same is to be done, though the parent may have moved on since: the commit planned is the one taken.
    pub(super) fn same_task(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Worktree(one), Self::Worktree(other)) => {
                let other = Worktree { base: one.base.clone(), operation: one.operation, ..other.clone() };
                *one == other
            }
            // What a killed making left is put right in between.
            (Self::Reuse { start_in: one, worktree: mine }, Self::Reuse { start_in: other, worktree }) => {
                one == other && mine.as_ref().map(|one| &one.common_dir) == worktree.as_ref().map(|one| &one.common_dir)
            }
            _ => self == other,
        }
    }
}

/// A finished worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reused {
    pub(super) common_dir: PathBuf,
    /// Git's record still names the place it was renamed from.
    pub(super) moved: bool,
    /// Its `HEAD`, in hex, unless it has none.
    pub(super) commit: Option<String>,
}

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worktree {
    /// The top of the work tree the parent's folder is in.
    pub(super) top: PathBuf,
    pub(super) common_dir: PathBuf,
    /// From the top to the folder the agent starts in.
    pub(super) subfolder: PathBuf,
    /// The commit, in hex.
    pub(super) base: String,
    pub(super) new_branch: bool,
    /// Git still has a record of the folder deleted by hand.
    pub(super) forget: bool,
    pub(super) operation: Option<Operation>,
}

impl FolderPlan {
    /// How the folder will come to be.
    pub fn way(&self) -> Way {
        match &self.work {
            Work::Reuse { .. } => Way::Reuse,
            Work::Copy => Way::Copy,
            Work::Worktree(one) if one.new_branch => Way::NewBranch,
            Work::Worktree(_) => Way::ExistingBranch,
        }
    }

    /// The fork's folder.
    pub fn folder(&self) -> PathBuf {
        self.fork.folder()
    }

    /// The parent's folder, without symbolic links.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The branch of a worktree to be made, without `refs/heads/`.
    pub fn branch(&self) -> Option<String> {
        matches!(self.work, Work::Worktree(_)).then(|| self.fork.branch())
    }

    /// The commit a worktree to be made starts at, in hex.
    pub fn base(&self) -> Option<&str> {
        match &self.work {
            Work::Worktree(one) => Some(&one.base),
            _ => None,
        }
    }

    /// What git is in the middle of where the parent works: worth telling, since the fork starts from there.
    pub fn parent_operation(&self) -> Option<Operation> {
        match &self.work {
            Work::Worktree(one) => one.operation,
            _ => None,
        }
    }

    /// What the making may take.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The git commands that will be run and shown, in order. None for a copy and for a folder that is there.
    pub fn lines(&self) -> Vec<CommandLine> {
        match &self.work {
            Work::Worktree(one) => vec![self.add(one).line(), change::check_out(&self.fork.staged()).line()],
            _ => Vec::new(),
        }
    }

    pub(super) fn add(&self, one: &Worktree) -> change::GitCommand {
        let (staged, branch) = (self.fork.staged(), self.fork.branch());
        if one.new_branch {
            change::add_new_branch(&one.top, &staged, &branch, &one.base)
        } else {
            change::add_existing_branch(&one.top, &staged, &branch)
        }
    }
}

/// Decides how the folder of `fork` comes to be from the parent's folder `source`.
pub fn plan(source: &Path, fork: &ForkFolder, limits: Limits) -> Result<FolderPlan, PlanError> {
    let source = real_source(source, fork)?;
    let repository = read::find(&source)?;
    let work = match standing(fork)? {
        Standing::Nothing => match &repository {
            Some(repository) => Work::Worktree(worktree(&source, repository, fork)?),
            None => Work::Copy,
        },
        Standing::Copy => Work::Reuse { start_in: fork.folder(), worktree: None },
        Standing::Worktree(reused) => {
            let subfolder = repository.as_ref().map_or(Path::new(""), |one| below_top(&source, one));
            let start_in = links::below(&fork.folder(), subfolder);
            if !start_in.is_dir() {
                return Err(PlanError::StartGone { folder: start_in });
            }
            Work::Reuse { start_in, worktree: Some(reused) }
        }
    };
    Ok(FolderPlan { fork: fork.clone(), source, limits, work })
}

fn real_source(source: &Path, fork: &ForkFolder) -> Result<PathBuf, PlanError> {
    let path = || source.to_path_buf();
    if !source.is_absolute() {
        return Err(PlanError::Relative { path: path() });
    }
    let real = source.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => PlanError::SourceGone { path: path() },
        io::ErrorKind::NotADirectory => PlanError::SourceNotAFolder { path: path() },
        _ => PlanError::SourceUnreadable { path: path(), source: error },
    })?;
    if !real.is_dir() {
        return Err(PlanError::SourceNotAFolder { path: path() });
    }
    if let Err(source) = std::fs::read_dir(&real) {
        return Err(PlanError::SourceUnreadable { path: path(), source });
    }
    if links::same(&real, fork.home()) || links::same(&real, &fork.forks()) {
        return Err(PlanError::SourceIsHome { path: path() });
    }
    Ok(real)
}

/// What stands at the fork's place.
enum Standing {
    Nothing,
    Copy,
    Worktree(Reused),
}

/// Only a rename puts a folder at a fork's place, so one that is there was whole once. What is asked here is whether git
/// still knows it. An empty folder is nothing: no making ends in one but the copy of an empty folder.
fn standing(fork: &ForkFolder) -> Result<Standing, PlanError> {
    let folder = fork.folder();
    let unreadable = |source| PlanError::TargetUnreadable { path: folder.clone(), source };
    let metadata = match folder.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_dir() {
        return Err(PlanError::TargetNotAFolder { path: folder });
    }
    if std::fs::read_dir(&folder).map_err(unreadable)?.next().is_none() {
        return Ok(Standing::Nothing);
    }
    let unfinished = |why| PlanError::NotFinished { path: folder.clone(), why };
    let (registered, moved) = match links::links(&folder).map_err(unreadable)? {
        Links::None => return Ok(Standing::Copy),
        Links::Dangling => return Err(unfinished(Unfinished::GitDataGone)),
        Links::Foreign(_) => return Err(unfinished(Unfinished::RegisteredElsewhere)),
        Links::Moved(registered) => (registered, true),
        Links::Whole(registered) => (registered, false),
    };
    if !registered.record.join("index").is_file() {
        return Err(unfinished(Unfinished::NeverCheckedOut));
    }
    let common_dir = links::common_dir(&registered.record).ok_or_else(|| unfinished(Unfinished::GitDataGone))?;
    let commit = read::of_git_dir(&registered.record)?.head()?.commit().map(str::to_owned);
    let common_dir = common_dir.canonicalize().map_err(unreadable)?;
    Ok(Standing::Worktree(Reused { common_dir, moved, commit }))
}

fn worktree(source: &Path, repository: &Repository, fork: &ForkFolder) -> Result<Worktree, PlanError> {
    let Some(top) = repository.top() else {
        return Err(PlanError::Bare { repository: repository.git_dir().to_path_buf() });
    };
    let (existing, forget) = branch_left(repository, fork)?;
    let new_branch = existing.is_none();
    let base = match (existing, repository.head()?) {
        (Some(tip), _) => tip,
        (None, Head::Branch { commit, .. } | Head::Detached { commit }) => commit,
        (None, Head::Unborn) => return Err(PlanError::NoCommit { repository: top.to_path_buf() }),
    };
    let subfolder = below_top(source, repository).to_path_buf();
    if !repository.commit_has_folder(&base, &subfolder)? {
        return Err(PlanError::SubfolderNotCommitted { folder: subfolder, commit: base });
    }
    if repository.sparse_leaves_out(&subfolder)? {
        return Err(PlanError::SubfolderSparse { folder: subfolder });
    }
    Ok(Worktree {
        top: top.to_path_buf(),
        common_dir: repository.common_dir().to_path_buf(),
        subfolder,
        base,
        new_branch,
        forget,
        operation: repository.operation(),
    })
}

/// The tip of the fork's branch if there is one to check out again, and whether git still has a record of the folder
/// that had it. A branch that a killed making began is none: it is taken back before anything is made.
fn branch_left(repository: &Repository, fork: &ForkFolder) -> Result<(Option<String>, bool), PlanError> {
    let branch = fork.branch();
    let registered = links::all_registered(repository.common_dir()).map_err(|source| read_error(repository.common_dir(), source))?;
    let gone = registered.iter().find(|one| one.folder == fork.folder());
    if let Some((gone, reason)) = gone.and_then(|gone| gone.locked.as_ref().map(|reason| (gone, reason))) {
        return Err(PlanError::GoneButLocked { folder: gone.folder.clone(), reason: reason.clone() });
    }
    let Some(tip) = repository.branch_tip(&branch)? else { return Ok((None, gone.is_some())) };
    if begun_by_killed_making(repository, fork, &tip) {
        return Ok((None, gone.is_some()));
    }
    match repository.checked_out_at(&branch)? {
        Some(folder) if folder != fork.folder() && folder != fork.staged() => Err(PlanError::BranchInUse { branch, folder }),
        _ => Ok((Some(tip), gone.is_some())),
    }
}

fn begun_by_killed_making(repository: &Repository, fork: &ForkFolder, tip: &str) -> bool {
    let left = fork.siblings().unwrap_or_default().into_iter().filter(|one| one.kind != SiblingKind::Trash);
    left.filter_map(|one| Record::read(&one.path)).any(|record| {
        record.new_branch
            && record.base == tip
            && record.branch == fork.branch()
            && record.common_dir() == repository.common_dir()
            && repository.checked_out_at(&record.branch).is_ok_and(|at| at.is_none_or(|at| at == fork.staged() || at == fork.folder()))
    })
}

fn below_top<'a>(source: &'a Path, repository: &Repository) -> &'a Path {
    repository.top().and_then(|top| source.strip_prefix(top).ok()).unwrap_or(Path::new(""))
}

fn read_error(path: &Path, source: io::Error) -> PlanError {
    super::error::ReadError::Unreadable { path: path.to_path_buf(), source }.into()
}
