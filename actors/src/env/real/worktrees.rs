//! The real worktrees, over the store's git module.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use frith_store::{
    git::{
        self, AddError, Checkout, GitError, Gone, Inventory, Judged, Known, Limits, MadeWorktree, NewWorktree, ReadError, RelockError,
        Removal, RemoveError, RemoveFailure, Sizes, Want, Watch,
    },
    refusal::WorktreeRefusal,
};

use crate::env::worktrees::{Decide, Relock, Shed, Worktrees};

/// The file in FRITH_HOME that keeps what was found out of commits: it may be deleted at any time.
const VERDICTS: &str = "verdicts";

/// The worktrees of this machine.
#[derive(Debug)]
pub struct HomeWorktrees {
    home: PathBuf,
    known: Known,
}

impl HomeWorktrees {
    /// Those that a node with this home sees.
    pub fn new(home: PathBuf) -> Self {
        let known = Known::open(&home.join(VERDICTS));
        Self { home, known }
    }
}

impl Worktrees for HomeWorktrees {
    fn inventory(&self, folder: &Path) -> Result<Option<Inventory>, ReadError> {
        git::inventory(folder)
    }

    fn judge(&self, inventory: &Inventory, which: &[usize], want: Want, watch: &mut dyn Watch) -> Vec<Judged> {
        let checkouts: Vec<&Checkout> = which.iter().filter_map(|n| inventory.checkouts.get(*n)).collect();
        git::judge(inventory, &checkouts, want, &self.known, watch)
    }

    fn measure(&self, folders: &[PathBuf], watch: &mut dyn Watch) -> Vec<Option<Sizes>> {
        git::measure(folders, watch)
    }

    fn fetch(&self, common_dir: &Path, branch: &str, longest: Duration, watch: &mut dyn Watch) -> Result<(), GitError> {
        git::fetch_default(common_dir, branch, longest, watch)
    }

    fn resolve(&self, common_dir: &Path, revision: &str) -> Result<Option<String>, ReadError> {
        git::resolve(common_dir, revision)
    }

    fn make(&self, new: &NewWorktree, watch: &mut dyn Watch) -> Result<MadeWorktree, AddError> {
        git::make_worktree(new, watch)
    }

    fn relock(&self, relock: Relock<'_>, limits: Limits, watch: &mut dyn Watch) -> Result<(), RelockError> {
        let Relock { common_dir, worktree, expected, new } = relock;
        git::relock(&self.home, common_dir, worktree, expected, new, limits, watch)
    }

    fn remove(&self, removal: &Removal, decide: Decide<'_>, watch: &mut dyn Watch) -> Result<Gone, RemoveFailure<WorktreeRefusal>> {
        git::remove_worktree(removal, decide, watch)
    }

    fn forget(&self, removal: &Removal, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        git::forget_worktree(&self.home, &removal.id, removal.limits, watch)
    }

    fn repair(&self, repository: &Path, orphan: &Path, watch: &mut dyn Watch) -> Result<(), RemoveError> {
        git::repair_worktree(&self.home, repository, orphan, Limits::default(), watch).map(drop)
    }

    fn shed(&self, shed: Shed<'_>, watch: &mut dyn Watch) -> Result<u64, RemoveError> {
        git::shed_cache(&self.home, shed.worktree, shed.cache, shed.unless_written_after.ms(), Limits::default(), watch)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn sweep(&self, watch: &mut dyn Watch) {
        match git::sweep_worktrees(&self.home, Limits::default(), watch) {
            Ok(swept) => {
                for (path, error) in swept.kept {
                    tracing::warn!(path = %path.display(), %error, "what an earlier node left of a worktree could not be cleared away");
                }
            }
            Err(error) => tracing::warn!(%error, "what an earlier node left of worktrees could not be looked at"),
        }
    }
}
