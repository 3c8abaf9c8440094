//! Installing into hosts: the entry for our MCP server, our hooks and our skill, entered into a host's own files and taken out
//! again to the byte.
//!
//! Which host takes what, where and how is read from its row; nothing here knows a host. It runs in the process of the command
//! and needs no node. What is to change is planned from texts (`plan`) and carried out file by file (`carry`).

pub mod file;
pub mod ground;
pub mod find;
mod launcher;
mod command;
mod skill;
pub mod wanted;
pub mod record;
pub mod ours;
pub mod plan;
pub mod carry;
mod block;
mod adoption;
pub mod repository;
pub mod look;

pub use carry::{FileDone, HostDone, How, Note, PartDone, Task, carry_out};
pub use ground::Ground;
pub use look::{HostState, Part, look};
pub use ours::State;
pub use plan::Act;
pub use wanted::What;
