//! Worktrees: how one may be called, whose it is, and whether it may be taken over or go away.
//!
//! What is told here of a worktree was read at the moment of asking; nothing is decided on what was remembered.

mod adopt;
mod gc;
mod lock;
mod name;
mod remove;

pub use adopt::{AdoptPlan, Adoptable, can_adopt};
pub use gc::{Collected, Kept, Limits, Reason, Rest, can_collect};
pub use lock::{Asker, Hold, LockText, Standing, can_own, hold};
pub use name::{WorktreeName, can_name};
pub use remove::{RemovalFacts, RemovalPlan, can_remove};
