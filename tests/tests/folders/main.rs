//! The folders of forks, made and removed with real repositories and a real file system.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

mod support;

mod making;
mod killed;
mod copying;
mod removing;
mod adding;
mod adding_killed;
mod including;
mod relocking;
mod taking;
mod tending;
