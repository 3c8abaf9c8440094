//! The face for agents: the operations as tools of an MCP server over standard input and output. It never decides; what a tool may
//! do is the node's answer to a call.
//!
//! A module uses only modules named before it.

pub mod schema;
mod words;
mod call;
mod result;
mod files;
pub mod tools;
mod skills;
mod transport;
mod agent_server;

pub use agent_server::{Serving, instructions, serve};
pub use call::Reach;
pub use words::TOOLS_OF_COMMANDS;
