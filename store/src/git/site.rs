//! Where a new worktree may stand, decided by looking alone.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::error::ReadError;
use super::home::OwnFolder;
use super::links::{self, absent};
use super::read::{self, Repository};
use super::watch::Limits;
use super::worktree_error::AddError;

/// What the system empties from time to time, beside the folder its environment names.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// FRITH_HOME.
    pub home: PathBuf,
    /// The folder that worktrees stand in; made when it is missing.
    pub root: PathBuf,
    /// Any checkout of the repository, or its git folder.
    pub repository: PathBuf,
    /// The worktree's own name in the root.
    pub directory: OsString,
    /// The branch to make, without `refs/heads/`.
    pub branch: String,
    /// The commit it starts at, in hex.
    pub base: String,
    /// The words of git's lock.
    pub lock: String,
    /// How long it may take.
    pub limits: Limits,
    /// Whether files whose content is stored elsewhere stay as they are.
    pub skip_lfs: bool,
    /// The checkout whose `.worktreeinclude` names ignored files to copy.
    pub include_from: Option<PathBuf>,
}

/// A place where nothing stands yet, and the repository that is to have a worktree there.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) own: OwnFolder,
    pub(super) common_dir: PathBuf,
    /// Where git is run: the main work tree, from which it takes over what is checked out of a sparse one.
    pub(super) runs_in: PathBuf,
    /// The root, without symbolic links; it may have to be made.
    pub(super) root: PathBuf,
}

/// The place that a worktree is to have, if it is one by name.
pub(super) fn place(new: &NewWorktree) -> Result<OwnFolder, AddError> {
    let name = plain_name(&new.directory)?;
    let root = real_root(&new.root)?;
    let home = new.home.canonicalize().unwrap_or_else(|_| new.home.clone());
    let own = OwnFolder::worktree(&home, &root.join(name)).ok_or_else(|| AddError::RootNotPlain { root: root.clone() })?;
    Ok(own.with_lock(Some(new.lock.trim().to_owned())))
}

/// Decides that the worktree may stand there. Nothing is touched.
pub(super) fn site(own: OwnFolder, new: &NewWorktree) -> Result<Site, AddError> {
    if gix::refs::FullName::try_from(format!("refs/heads/{}", new.branch)).is_err() {
        return Err(AddError::BadBranch { branch: new.branch.clone() });
    }
    let repository = repository(&new.repository)?;
    let root = own.within().to_path_buf();
    refuse_temporary(&root, &repository)?;
    refuse_inside_worktree(&root)?;
    let runs_in = main_top(&repository).unwrap_or_else(|| repository.common_dir().to_path_buf());
    let site = Site { own, common_dir: repository.common_dir().to_path_buf(), runs_in, root };
    refuse_taken(&site, new)?;
    Ok(site)
}

/// Whether the place, the branch and the commit are as they must be. Asked again when nobody else may change them.
pub(super) fn refuse_taken(site: &Site, new: &NewWorktree) -> Result<(), AddError> {
    let path = site.own.folder();
    match path.symlink_metadata() {
        Ok(_) => return Err(AddError::PathExists { path }),
        Err(error) if absent(&error) => {}
        Err(source) => return Err(AddError::Io { doing: "looked at", path, source }),
    }
    let registered = links::all_registered(&site.common_dir);
    let registered = registered.map_err(|source| AddError::Io { doing: "looked at", path: site.common_dir.clone(), source })?;
    if let Some(one) = registered.into_iter().find(|one| one.folder == path) {
        return Err(AddError::StillRegistered { path, locked: one.locked });
    }
    let repository = read::of_git_dir(&site.common_dir)?;
    if let Some(tip) = repository.branch_tip(&new.branch)? {
        let checked_out = repository.checked_out_at(&new.branch)?;
        return Err(AddError::BranchExists { branch: new.branch.clone(), tip, checked_out });
    }
    if repository.commit_of(&new.base).as_ref() != Some(&new.base) {
        return Err(AddError::BaseUnknown { base: new.base.clone() });
    }
    Ok(())
}

/// The repository of a checkout, or the one whose git folder this is.
pub(super) fn repository(folder: &Path) -> Result<Repository, AddError> {
    read::find_or_named(folder)?.ok_or_else(|| AddError::NoRepository { folder: folder.to_path_buf() })
}

fn main_top(repository: &Repository) -> Option<PathBuf> {
    let top = if repository.git_dir() == repository.common_dir() { repository.top().map(Path::to_path_buf) } else { repository.main_top() };
    top.filter(|top| top.is_dir())
}

fn plain_name(name: &OsStr) -> Result<&OsStr, AddError> {
    let bad = || AddError::BadDirectory { name: name.to_owned() };
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(bad()),
    }
}

/// The root without symbolic links, through the deepest folder of it that is there.
fn real_root(root: &Path) -> Result<PathBuf, AddError> {
    if root.as_os_str().is_empty() {
        return Err(AddError::RootEmpty);
    }
    if !root.is_absolute() || root.components().any(|part| part == Component::ParentDir) {
        return Err(AddError::RootNotPlain { root: root.to_path_buf() });
    }
    real(root).map_err(|source| AddError::Io { doing: "looked at", path: root.to_path_buf(), source })
}

fn real(path: &Path) -> std::io::Result<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut there = path;
    loop {
        match there.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            // A link to nowhere is there, so nothing can be made in its place.
            Err(error) if !absent(&error) || there.symlink_metadata().is_ok() => return Err(error),
            Err(error) => match (there.parent(), there.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    there = parent;
                }
                _ => return Err(error),
            },
        }
    }
}

/// A root for temporary files is right only for a repository that is there itself.
fn refuse_temporary(root: &Path, repository: &Repository) -> Result<(), AddError> {
    let named = std::env::temp_dir();
    for temporary in TEMPORARY.iter().map(Path::new).chain([named.as_path()]) {
        let Ok(temporary) = temporary.canonicalize() else { continue };
        if temporary.parent().is_some() && root.starts_with(&temporary) && !repository.common_dir().starts_with(&temporary) {
            return Err(AddError::RootTemporary { root: root.to_path_buf(), temporary });
        }
    }
    Ok(())
}

fn refuse_inside_worktree(root: &Path) -> Result<(), AddError> {
    let there = root.ancestors().find(|folder| folder.is_dir()).unwrap_or(root);
    let inside = |worktree: PathBuf| AddError::RootInsideWorktree { root: root.to_path_buf(), worktree };
    match read::find(there) {
        Ok(None) => Ok(()),
        Ok(Some(repository)) => repository.top().map_or(Ok(()), |top| Err(inside(top.to_path_buf()))),
        Err(ReadError::DubiousOwnership { path }) => Err(inside(path)),
        Err(ReadError::InsideGitData { path }) => Err(inside(path)),
        Err(error) => Err(error.into()),
    }
}
