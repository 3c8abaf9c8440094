//! The door to git worktrees: what stands on this machine's disk, and what changes it. Everything here blocks.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use frith_store::{
    git::{
        AddError, Checkout, GitError, Gone, Inventory, Judged, Limits, MadeWorktree, NewWorktree, Order, ReadError, RelockError, Removal,
        RemoveError, RemoveFailure, Sizes, Want, Watch,
    },
    refusal::WorktreeRefusal,
    time::Timestamp,
};

/// Asked at the moment of removing, with the repository's lock held.
pub type Decide<'a> = &'a mut dyn FnMut(&Inventory, &Checkout, &Judged) -> Result<Order, WorktreeRefusal>;

/// Git's lock on a worktree, as it has to be and as it becomes; none is no lock.
#[derive(Debug, Clone, Copy)]
pub struct Relock<'a> {
    /// The git folder that all worktrees of the repository share.
    pub common_dir: &'a Path,
    /// The worktree.
    pub worktree: &'a Path,
    /// The words it has to have still.
    pub expected: Option<&'a str>,
    /// The words it gets.
    pub new: Option<&'a str>,
}

/// A build cache that is to go.
#[derive(Debug, Clone, Copy)]
pub struct Shed<'a> {
    /// The worktree it is in.
    pub worktree: &'a Path,
    /// The cache.
    pub cache: &'a Path,
    /// It stays if anything in it was written after this.
    pub unless_written_after: Timestamp,
}

/// Worktrees on this machine.
pub trait Worktrees: Send + Sync {
    /// Every checkout of the repository a folder is in; none when it is in none.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn inventory(&self, folder: &Path) -> Result<Option<Inventory>, ReadError>;

    /// What git and the disk say of some checkouts, by their places in the inventory.
    fn judge(&self, inventory: &Inventory, which: &[usize], want: Want, watch: &mut dyn Watch) -> Vec<Judged>;

    /// How much folders hold that git knows nothing of; none of those that cannot be read.
    fn measure(&self, folders: &[PathBuf], watch: &mut dyn Watch) -> Vec<Option<Sizes>>;

    /// Brings the latest commit of a branch of origin.
    ///
    /// # Errors
    /// Origin could not be asked in time.
    fn fetch(&self, common_dir: &Path, branch: &str, longest: Duration, watch: &mut dyn Watch) -> Result<(), GitError>;

    /// The commit that a revision names, in hex.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn resolve(&self, common_dir: &Path, revision: &str) -> Result<Option<String>, ReadError>;

    /// Makes a worktree.
    ///
    /// # Errors
    /// Why it was not made; nothing of it is left then.
    fn make(&self, new: &NewWorktree, watch: &mut dyn Watch) -> Result<MadeWorktree, AddError>;

    /// Changes git's lock on a worktree.
    ///
    /// # Errors
    /// It was another one than expected, or git did not; it is as it was.
    fn relock(&self, relock: Relock<'_>, limits: Limits, watch: &mut dyn Watch) -> Result<(), RelockError>;

    /// Removes a worktree, if what is decided at that moment allows it.
    ///
    /// # Errors
    /// Why it stays.
    fn remove(&self, removal: &Removal, decide: Decide<'_>, watch: &mut dyn Watch) -> Result<Gone, RemoveFailure<WorktreeRefusal>>;

    /// Drops git's record of a worktree whose folder is gone.
    ///
    /// # Errors
    /// Why it stays.
    fn forget(&self, removal: &Removal, watch: &mut dyn Watch) -> Result<(), RemoveError>;

    /// Brings an orphan back under git, when git can.
    ///
    /// # Errors
    /// Why it cannot.
    fn repair(&self, repository: &Path, orphan: &Path, watch: &mut dyn Watch) -> Result<(), RemoveError>;

    /// Deletes a build cache, and answers how many bytes it had.
    ///
    /// # Errors
    /// Why it stays, as when it was used meanwhile.
    fn shed(&self, shed: Shed<'_>, watch: &mut dyn Watch) -> Result<u64, RemoveError>;

    /// A variable of this node's environment, by which some hosts move their pools.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Finishes, or takes back, what a node did not live to finish.
    fn sweep(&self, watch: &mut dyn Watch);
}
