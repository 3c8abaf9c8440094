//! What is left of a worktree or piles up in one: records of folders that are gone, folders whose record moved, and build
//! caches. Each is checked again before it is touched.

use std::path::{Path, PathBuf};

use super::change;
use super::delete::delete_tree;
use super::error::RemoveError;
use super::home::{self, OwnFolder};
use super::inventory::settled;
use super::journal::{self, Doing};
use super::leftovers::{self, io_error, step};
use super::links::{self, Links};
use super::read;
use super::sizes;
use super::take::{common_dir, end_earlier, is_meant, refuse_submodule_work};
use super::watch::{Limits, Step, Watch};
use crate::model::WorktreeId;

/// Drops git's record of a worktree whose folder is gone and that nobody locked; nothing else is touched.
///
/// # Errors
/// The folder is there, or it is locked: its disk may only be away.
pub fn forget_worktree(home: &Path, id: &WorktreeId, limits: Limits, watch: &mut dyn Watch) -> Result<(), RemoveError> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    let record = links::bytes_path(id.record.as_bytes());
    let found = || links::registered(record).map_err(io_error("looked at", record));
    let replaced = || RemoveError::Replaced { folder: record.to_path_buf() };
    let common_dir = common_dir(&found()?.ok_or_else(replaced)?)?;
    let _repository = leftovers::take_repository(&home, &common_dir, limits, watch)?;
    let registered = found()?.filter(|one| is_meant(one, id)).ok_or_else(replaced)?;
    let folder = settled(&registered.folder);
    if folder.symlink_metadata().is_ok() {
        return Err(RemoveError::NotGone { folder });
    }
    if let Some(reason) = registered.locked.clone() {
        return Err(RemoveError::Locked { folder, reason });
    }
    refuse_submodule_work(&folder, &registered, limits, watch)?;
    step(watch, Step::Forget)?;
    change::forget(&common_dir, &folder).run(limits.quick, watch)?;
    if record.symlink_metadata().is_ok() {
        return Err(RemoveError::ChangedMeanwhile { folder, what: vec!["git kept its record of it".into()] });
    }
    Ok(())
}

/// Makes an orphan a worktree again: when its repository was moved, or it was, git's record of it only has to be led to it.
///
/// # Errors
/// There is no record of its name, or that belongs to a worktree that stands elsewhere.
pub fn repair_worktree(
    home: &Path,
    repository: &Path,
    folder: &Path,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<WorktreeId, RemoveError> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    let folder = settled(folder);
    let gone = || RemoveError::RecordGone { folder: folder.clone() };
    let shared = read::find_or_named(repository)?.ok_or_else(gone)?;
    let common_dir = shared.common_dir();
    let _repository = leftovers::take_repository(&home, common_dir, limits, watch)?;
    let named = links::record_of(&folder).map_err(io_error("looked at", &folder))?.ok_or_else(gone)?;
    let record = common_dir.join("worktrees").join(named.file_name().ok_or_else(gone)?);
    let registered = links::registered(&record).map_err(io_error("looked at", &record))?.ok_or_else(gone)?;
    let stands = settled(&registered.folder);
    if stands != folder && stands.join(".git").symlink_metadata().is_ok() {
        return Err(gone());
    }
    step(watch, Step::Link)?;
    // Git also looks at every other worktree and fails when one of those is beyond mending; what counts are the links.
    let repaired = change::repair(common_dir, &folder).run(limits.quick, watch);
    match links::links(&folder).map_err(io_error("looked at", &folder))? {
        Links::Whole(one) if links::same(&one.record, &record) => links::identity(&record).map_err(io_error("looked at", &record)),
        _ => Err(repaired.map_or_else(RemoveError::from, |_| gone())),
    }
}

/// Deletes a build cache in a checkout that nothing was written to since `idle_since_ms`, in milliseconds since 1970, and
/// returns how many bytes it held.
///
/// # Errors
/// It is not one: without its tag, with tracked files, reached through a link, or in use.
pub fn shed_cache(
    home: &Path,
    checkout: &Path,
    cache: &Path,
    idle_since_ms: i64,
    limits: Limits,
    watch: &mut dyn Watch,
) -> Result<u64, RemoveError> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    let checkout = settled(checkout);
    let not_one = |why| RemoveError::NotACache { folder: cache.to_path_buf(), why };
    let below = require_within(&checkout, cache).ok_or_else(|| not_one("it is not a folder inside the checkout"))?;
    let own = OwnFolder::worktree(&home, &checkout).ok_or_else(|| not_one("its checkout is a root"))?;
    end_earlier(&own, limits, watch)?;
    let repository = read::of_work_tree(&checkout)?;
    let _repository = leftovers::take_repository(&home, repository.common_dir(), limits, watch)?;
    if repository.tracks_below(&below)? {
        return Err(not_one("git tracks files in it"));
    }
    let bytes = require_idle(cache, cache, idle_since_ms)?;
    if !journal::note(&own, Doing::Removing).map_err(io_error("written", &home))? {
        return Err(not_one("its checkout is being made"));
    }
    step(watch, Step::SetAside)?;
    let trash = home::set_aside(&own, cache, "trash").map_err(io_error("renamed", cache))?;
    if let Err(error) = require_idle(&trash, cache, idle_since_ms) {
        home::rename_new(&trash, cache).map_err(io_error("renamed back", &trash))?;
        journal::close(&own, Doing::Removing).map_err(io_error("written", &home))?;
        return Err(error);
    }
    step(watch, Step::Delete)?;
    delete_tree(&trash).map_err(|source| RemoveError::LeftInTrash { trash: trash.clone(), source })?;
    journal::close(&own, Doing::Removing).map_err(io_error("written", &home))?;
    Ok(bytes)
}

/// The cache's path from the top of its checkout, when no link is on the way.
fn require_within(checkout: &Path, cache: &Path) -> Option<PathBuf> {
    let real = cache.canonicalize().ok().filter(|real| real.is_dir())?;
    let is_link = cache.symlink_metadata().ok()?.is_symlink();
    let below = real.strip_prefix(checkout).ok().filter(|below| !below.as_os_str().is_empty())?;
    let through = below.ancestors().any(|part| checkout.join(part).symlink_metadata().is_ok_and(|found| found.is_symlink()));
    (!is_link && !through).then(|| below.to_path_buf())
}

/// How much a cache holds that nobody writes to, `at` the place where it is now.
fn require_idle(at: &Path, cache: &Path, idle_since_ms: i64) -> Result<u64, RemoveError> {
    let not_one = |why| RemoveError::NotACache { folder: cache.to_path_buf(), why };
    if !sizes::is_tagged(at) {
        return Err(not_one("it has no `CACHEDIR.TAG`"));
    }
    if has_checkout(at) {
        return Err(not_one("a checkout is in it"));
    }
    let measured = sizes::measure(at, &|_| false, &|| false).ok_or_else(|| not_one("it cannot be read"))?;
    match measured.newest_ms {
        Some(newest) if newest <= idle_since_ms => Ok(measured.bytes.saturating_add(measured.cache_bytes)),
        Some(_) => Err(not_one("something was written to it just now")),
        None => Err(not_one("nobody knows when it was written to")),
    }
}

/// Whether work may be in it: a folder that cannot be looked into counts as one with some.
fn has_checkout(top: &Path) -> bool {
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
        let Ok(entries) = std::fs::read_dir(&folder) else { return true };
        folders.extend(entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    false
}
