//! Worktrees as people and agents meet them: each command, each refusal, each line by which a sweep decides.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod adding;
mod gc;
mod hosts;
mod odd;
mod refused;
mod removing;
mod support;
mod taking_over;
