//! The node: every actor, the environment it lives in, and the operations that may be asked of it.

pub mod env;
pub mod api;
