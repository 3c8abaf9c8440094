//! Worktrees as they are read: which there are, how they stand, and what is said of them, with real repositories.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

mod support;

mod listing;
mod judging;
mod measuring;
