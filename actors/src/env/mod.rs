//! The doors of the world: every trait through which the node reaches outside itself, one small file each.
//!
//! A node is built from an environment and nothing else, so the simulator can put models in these places.
//! This module declares doors and pure helpers of theirs; it never opens one: only `real` does.

pub mod launch_env;
pub mod process;
pub mod real;
