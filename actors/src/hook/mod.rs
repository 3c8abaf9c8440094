//! What a host's hook runs: reading its payload, answering in the host's shape, and keeping an event while no node listens.
//!
//! Hosts differ in rows only (`frith_store::hosts`). Nothing here asks a node, decides what an agent is told, or ever waits
//! longer than it was given: a host must not come to harm by its hook.

pub mod above;
pub mod answer;
pub mod first_value;
pub mod json;
pub mod payload;
pub mod shell_file;
pub mod spool;
pub mod stream;
