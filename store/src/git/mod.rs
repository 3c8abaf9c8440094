//! Git repositories and the folders of forks on this machine's disk.
//!
//! Reading uses gix and changes nothing; changing runs the `git` program, from `change` alone. Everything is
//! synchronous and may take long: callers run it where blocking is allowed and hand in a [`Watch`], through which it is
//! stopped, followed, and given its clock. Nothing here knows what a task or an agent is, and nothing decides whether a
//! fork may be made or removed: that is the rules' part.
//!
//! The modules, each using only those before it: `watch` `error` `worktree_error` show, watch and fail; `home` `lock`
//! `links` `journal` `origin` are names, locks, git's links on disk, what is being done and addresses; `read` and `change`
//! are git itself; `orphans` and `inventory` are the checkouts of a repository, `patch` `merging` `known` `reflog` whether their
//! work is in the base, `submodules` what would be lost in those, `nested` the checkouts inside one, `sizes` what they hold, and `verdict` all of that
//! together, looked at in `parallel`; `delete` and `leftovers` take back; `plan` decides how a folder is made, `copy` and
//! `folder` make it, `remove` removes it. For
//! worktrees that agents work in, `site` decides where one may stand, `relock` locks it anew, `include` and `add` make it,
//! `take` removes it, `tend` looks after what is left of one, and `sweep` goes through what killed calls left.

mod watch;
mod error;
mod worktree_error;
mod home;
mod lock;
mod links;
mod journal;
mod origin;
pub mod read;
mod change;
mod orphans;
mod inventory;
mod patch;
mod merging;
mod known;
mod reflog;
mod submodules;
mod nested;
mod sizes;
mod parallel;
mod verdict;
mod beside;
mod delete;
mod leftovers;
mod plan;
mod copy;
mod folder;
mod remove;
mod site;
mod include;
mod relock;
mod add;
mod notes;
mod take;
mod tend;
mod sweep;

pub use crate::shell::command_line;
pub use add::{MadeNote, MadeWorktree, fetch_default, make_worktree, resolve};
pub use error::{GitError, MakeError, PlanError, ReadError, RemoveError, Unfinished};
pub use folder::{MadeFolder, make};
pub use home::ForkFolder;
pub use include::{LineFault, SkippedWhy};
pub use inventory::{Base, Checkout, Inventory, Standing, inventory};
pub use known::Known;
pub use leftovers::{Swept, sweep};
pub use plan::{FolderPlan, Way, plan};
pub use relock::relock;
pub use remove::{FolderKind, FolderState, Removed, remove, seen};
pub use site::NewWorktree;
pub use sizes::{Cache, Sizes};
pub use sweep::sweep_worktrees;
pub use take::{Gone, Order, Removal, RemoveFailure, remove_worktree};
pub use tend::{forget_worktree, repair_worktree, shed_cache};
pub use verdict::{Judged, Want, judge, measure};
pub use watch::{CommandLine, Counts, Limits, Progress, Step, Watch};
pub use worktree_error::{AddError, RelockError};
