//! The terminal of a launched agent: one actor that owns the agent's process, its screen and everybody who looks.
//!
//! The terminal opens before the agent exists, shows how its folder was made, runs the agent, and keeps its last screen
//! after the end until its owner drops it. It belongs to no connection: viewers come and go, the agent stays. It never
//! decides whether an agent may start, and never knows a place, a socket or a store.

pub mod actor;
mod core;
mod dialect;
mod prompt;
mod queue;
mod screen;
mod stream;
mod viewers;
pub mod wire;

pub use actor::{NotNow, Started, Terminal, TerminalArgs, TerminalError, TerminalMessage, Viewing};
pub use dialect::{Dialect, Modes};
pub use prompt::{Attention, NoPattern, Patterns, Seen};
pub use viewers::{Look, ViewerFacts, ViewerId};
