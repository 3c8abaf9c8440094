//! Removing a worktree: decided on what is found at that moment, and only by a rename.
//!
//! Under the repository's lock everything is read anew and the caller decides on it. Then the folder is renamed aside, looked
//! at once more where nobody finds it by its name, and brought back if anything is amiss: until then neither its lock nor
//! git's record of it is touched. Nothing is forced, nothing is deleted through a link, and the branch goes only from the tip
//! it was judged at. Its section of the configuration, if it has one, stays: the configuration is not ours.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::beside::{hidden_edits, mounted_below};
use super::change;
use super::delete::delete_tree;
use super::error::{ReadError, RemoveError};
use super::home::{self, OwnFolder};
use super::inventory::{Checkout, Inventory, Standing, inventory, settled};
use super::journal::{self, Doing};
use super::known::Known;
use super::leftovers::{self, Swept, io_error, step};
use super::links::{self, Links, Registered};
use super::nested;
use super::read;
use super::remove::{FolderState, refuse_changed, seen_at};
use super::verdict::{Judged, Want, judge};
use super::watch::{Limits, Step, Undoing, Watch};
use crate::model::WorktreeId;

/// A worktree that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// FRITH_HOME.
    pub home: PathBuf,
    /// Where the caller stands in the repository: any checkout, or its git folder.
    pub repository: PathBuf,
    /// Where the worktree stands.
    pub path: PathBuf,
    /// Which one is meant: never a later one at the same path.
    pub id: WorktreeId,
    /// How long it may take.
    pub limits: Limits,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Whether its branch goes too, if it still is where it was judged.
    pub delete_branch: bool,
}

/// A worktree that is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Where it stood.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`; none when it was on none.
    pub branch: Option<String>,
    /// The commit it was at, in hex: a deleted branch can be made again from it.
    pub tip: Option<String>,
    /// Whether the branch is gone.
    pub branch_deleted: bool,
    /// Why it is kept although it was to go.
    pub branch_fault: Option<String>,
    /// How much was in it.
    pub bytes: u64,
    /// What could not be deleted; the next sweep tries again.
    pub left_in_trash: Option<PathBuf>,
}

/// Why a worktree was not removed. It is there as before, except after `Halted`.
#[derive(Debug)]
pub enum RemoveFailure<R> {
    /// The caller's decision, on what was found.
    Refused(R),
    /// It could not be.
    Failed(RemoveError),
}

impl<R> From<RemoveError> for RemoveFailure<R> {
    fn from(error: RemoveError) -> Self {
        Self::Failed(error)
    }
}

/// Removes a worktree if `decide` says so on what is found under the repository's lock.
///
/// # Errors
/// The caller's refusal, or what went wrong; then the folder, its lock and git's record of it are as they were.
pub fn remove_worktree<R>(
    removal: &Removal,
    decide: &mut dyn FnMut(&Inventory, &Checkout, &Judged) -> Result<Order, R>,
    watch: &mut dyn Watch,
) -> Result<Gone, RemoveFailure<R>> {
    let path = settled(&removal.path);
    let home = removal.home.canonicalize().unwrap_or_else(|_| removal.home.clone());
    let own = OwnFolder::worktree(&home, &path).ok_or_else(|| RemoveError::NotAFolder { path: path.clone() })?;
    end_earlier(&own, removal.limits, watch)?;
    let registered = meant(&path, &removal.id)?;
    let common_dir = common_dir(&registered)?;
    let repository = leftovers::take_repository(&home, &common_dir, removal.limits, watch)?;
    let registered = meant(&path, &removal.id)?;
    let before = seen_at(&path, Some(&registered))?;
    let (order, mut gone, inside) = decided(removal, &path, decide, watch)?;
    refuse_what_is_beside(&path, &registered)?;
    refuse_nested(&path, &registered, inside)?;
    refuse_submodule_work(&path, &registered, removal.limits, watch)?;
    let own = own.with_lock(registered.locked.clone());
    let taking = Taking { own: &own, id: &removal.id, common_dir: &common_dir, registered: &registered, limits: removal.limits };
    let trash = taking.take(&before, watch)?;
    if order.delete_branch && gone.branch_fault.is_none() {
        taking.drop_branch(&mut gone, watch)?;
    }
    drop(repository);
    step(watch, Step::Delete)?;
    match delete_tree(&trash) {
        Ok(()) => journal::close(&own, Doing::Removing).map_err(io_error("written", &home))?,
        Err(error) => {
            tracing::warn!(%error, trash = %trash.display(), "not all of a removed worktree could be deleted");
            gone.left_in_trash = Some(trash);
        }
    }
    Ok(gone)
}

/// Reads everything anew and asks. With the answer come the repository's other checkouts that stand in this one.
fn decided<R>(
    removal: &Removal,
    path: &Path,
    decide: &mut dyn FnMut(&Inventory, &Checkout, &Judged) -> Result<Order, R>,
    watch: &mut dyn Watch,
) -> Result<(Order, Gone, Vec<PathBuf>), RemoveFailure<R>> {
    let replaced = || RemoveError::Replaced { folder: path.to_path_buf() };
    let found = match inventory(&removal.repository) {
        Err(ReadError::InsideGitData { .. }) => inventory(path),
        other => other,
    };
    let found = found.map_err(RemoveError::from)?.ok_or_else(replaced)?;
    let checkout = found.checkouts.iter().find(|one| one.id.as_ref() == Some(&removal.id) && one.path == path);
    let checkout = checkout.filter(|one| one.standing == Standing::Linked).ok_or_else(replaced)?;
    let judged = judge(&found, &[checkout], Want::VerdictAndSizes, &Known::none(), watch);
    let judged = judged.into_iter().next().ok_or_else(replaced)?;
    let order = decide(&found, checkout, &judged).map_err(RemoveFailure::Refused)?;
    let kept = checkout.branch.as_ref().filter(|branch| order.delete_branch && found.keeps_branch(branch));
    let gone = Gone {
        path: path.to_path_buf(),
        branch: checkout.branch.clone(),
        tip: checkout.commit.clone(),
        branch_deleted: false,
        branch_fault: kept.map(|branch| format!("`{branch}` is the default branch or that of the main checkout")),
        bytes: judged.sizes.as_ref().map_or(0, |sizes| sizes.bytes.saturating_add(sizes.cache_bytes)),
        left_in_trash: None,
    };
    Ok((order, gone, found.inside(checkout).map(|one| one.path.clone()).collect()))
}

/// Finishes what an earlier removal of this folder began, or brings it back.
pub(super) fn end_earlier(own: &OwnFolder, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let Some((own, doing)) = journal::line_of(own).map_err(io_error("looked at", own.home()))? else { return Ok(()) };
    let mut swept = Swept::default();
    for sibling in own.siblings().map_err(io_error("listed", own.beside()))? {
        swept.add(sibling, limits, &mut Undoing(watch))?;
    }
    if let Doing::Relocking { stamp } = doing {
        super::relock::give_back(&own, stamp, limits, watch)?;
    }
    journal::close(&own, doing).map_err(io_error("written", own.home()))
}

/// Git's record of the folder, if it is the one that is meant and both lead to each other.
fn meant(path: &Path, id: &WorktreeId) -> Result<Registered, RemoveError> {
    match links::links(path).map_err(io_error("looked at", path))? {
        Links::Whole(registered) if is_meant(&registered, id) => Ok(registered),
        _ => Err(RemoveError::Replaced { folder: path.to_path_buf() }),
    }
}

/// Records are compared as folders, since git may spell them in more than one way.
pub(super) fn is_meant(registered: &Registered, id: &WorktreeId) -> bool {
    let stamp = links::identity(&registered.record).map_or(0, |found| found.stamp);
    stamp == id.stamp && links::same(&registered.record, links::bytes_path(id.record.as_bytes()))
}

pub(super) fn common_dir(registered: &Registered) -> Result<PathBuf, RemoveError> {
    let common_dir = links::common_dir(&registered.record).unwrap_or(&registered.record);
    common_dir.canonicalize().map_err(io_error("looked at", common_dir))
}

/// What neither commits nor status tell of and would go all the same.
fn refuse_what_is_beside(path: &Path, registered: &Registered) -> Result<(), RemoveError> {
    let folder = || path.to_path_buf();
    let mounts = mounted_below(path).map_err(io_error("looked at", path))?;
    if !mounts.is_empty() {
        return Err(RemoveError::Mounted { folder: folder(), mounts });
    }
    let files = hidden_edits(&read::of_git_dir(&registered.record)?)?;
    if !files.is_empty() {
        return Err(RemoveError::HiddenEdits { folder: folder(), files });
    }
    Ok(())
}

/// Refuses where other checkouts stand in a worktree. One that comes later is found by the second look, as all that is new.
fn refuse_nested(path: &Path, registered: &Registered, known: Vec<PathBuf>) -> Result<(), RemoveError> {
    let mut submodules = read::of_git_dir(&registered.record)?.submodules()?.into_iter().collect();
    let found = nested::within(path, &mut submodules).map_err(io_error("looked through", path))?;
    let nested: BTreeSet<PathBuf> = found.into_iter().map(|below| path.join(below)).chain(known).collect();
    if nested.is_empty() {
        return Ok(());
    }
    let nested = nested.into_iter().collect();
    Err(RemoveError::Nested { folder: path.to_path_buf(), nested })
}

/// Git keeps the data of a worktree's own submodules with its record of the worktree, and deletes it with that.
pub(super) fn refuse_submodule_work(
    path: &Path,
    registered: &Registered,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<(), RemoveError> {
    let mut data = git_folders(&registered.record.join("modules"));
    if path.is_dir() {
        let below = read::of_git_dir(&registered.record)?.submodules()?;
        data.extend(below.into_iter().map(|below| path.join(below)).filter(|folder| folder.join(".git").is_dir()));
    }
    for folder in data {
        let commit = change::unpushed(&folder).run(limits.quick, watch)?;
        if !commit.is_empty() {
            let commit = String::from_utf8_lossy(&commit).trim().to_owned();
            return Err(RemoveError::SubmoduleWork { folder, commit });
        }
    }
    Ok(())
}

/// Every git folder below another: a submodule's name may have slashes in it, and it may have submodules itself.
fn git_folders(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![top.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
            folders.push(folder.join("modules"));
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    found
}

/// One removal that was decided, with the repository's lock held.
struct Taking<'a> {
    own: &'a OwnFolder,
    id: &'a WorktreeId,
    common_dir: &'a Path,
    registered: &'a Registered,
    limits: Limits,
}

impl Taking<'_> {
    /// Renames the folder away, looks once more, and has git forget it. On an error it is back.
    fn take(&self, before: &FolderState, watch: &mut dyn Watch) -> Result<PathBuf, RemoveError> {
        let (own, folder) = (self.own, self.own.folder());
        if !journal::note(own, Doing::Removing).map_err(io_error("written", own.home()))? {
            return Err(RemoveError::Busy { repository: self.common_dir.to_path_buf() });
        }
        step(watch, Step::SetAside)?;
        let leaving = match home::set_aside(own, &folder, "leaving") {
            Ok(leaving) => leaving,
            Err(source) => {
                self.close()?;
                return Err(io_error("renamed", &folder)(source));
            }
        };
        if let Err(error) = self.look_again(&leaving, before) {
            self.bring_back(&leaving)?;
            return Err(error);
        }
        step(watch, Step::Decide)?;
        let trash = home::set_aside(own, &leaving, "trash").map_err(io_error("renamed", &leaving))?;
        step(watch, Step::Forget)?;
        match self.forget(watch) {
            Ok(()) => Ok(trash),
            Err(halted @ RemoveError::Halted { .. }) => Err(halted),
            Err(error) => {
                self.bring_back(&trash)?;
                self.lock_again(watch)?;
                Err(error)
            }
        }
    }

    fn look_again(&self, leaving: &Path, before: &FolderState) -> Result<(), RemoveError> {
        let folder = self.own.folder();
        let amiss = |what: String| RemoveError::ChangedMeanwhile { folder: folder.clone(), what: vec![what] };
        refuse_changed(&folder, leaving, Some(self.registered), before).map_err(|error| match error {
            RemoveError::Changed { folder, what } => RemoveError::ChangedMeanwhile { folder, what },
            other => other,
        })?;
        let now = links::registered(&self.registered.record).map_err(io_error("looked at", &self.registered.record))?;
        match now {
            Some(now) if now.locked != self.registered.locked => Err(amiss("its lock is another".into())),
            Some(now) if is_meant(&now, self.id) => Ok(()),
            _ => Err(amiss("git's record of it is another".into())),
        }
    }

    fn forget(&self, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        let folder = self.own.folder();
        if self.registered.locked.is_some() {
            change::unlock(self.common_dir, &folder).run(self.limits.quick, &mut Undoing(watch))?;
        }
        change::forget(self.common_dir, &folder).run(self.limits.quick, &mut Undoing(watch))?;
        if self.registered.record.symlink_metadata().is_ok() {
            return Err(RemoveError::ChangedMeanwhile { folder, what: vec!["git kept its record of it".into()] });
        }
        Ok(())
    }

    fn bring_back(&self, aside: &Path) -> Result<(), RemoveError> {
        home::rename_new(aside, &self.own.folder()).map_err(io_error("renamed back", aside))?;
        self.close()
    }

    fn lock_again(&self, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        let Some(words) = self.own.lock() else { return Ok(()) };
        let now = links::registered(&self.registered.record).map_err(io_error("looked at", &self.registered.record))?;
        if now.is_some_and(|now| now.locked.is_none()) {
            change::lock(self.common_dir, &self.own.folder(), words).run(self.limits.quick, &mut Undoing(watch))?;
        }
        Ok(())
    }

    fn close(&self) -> Result<(), RemoveError> {
        journal::close(self.own, Doing::Removing).map_err(io_error("written", self.own.home()))
    }

    /// Deletes the branch from the tip it was judged at, unless another work tree has it.
    fn drop_branch(&self, gone: &mut Gone, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        let (Some(branch), Some(tip)) = (&gone.branch, &gone.tip) else { return Ok(()) };
        step(watch, Step::DropBranch)?;
        match read::of_git_dir(self.common_dir)?.checked_out_at(branch)? {
            Some(folder) => gone.branch_fault = Some(format!("it is checked out at `{}`", folder.display())),
            None => match change::delete_branch(self.common_dir, branch, tip).run(self.limits.quick, &mut Undoing(watch)) {
                Ok(_) => gone.branch_deleted = true,
                Err(error) => gone.branch_fault = Some(error.to_string()),
            },
        }
        Ok(())
    }
}
