//! Reach: the machine's key, and the frames in which processes and machines speak.
//!
//! This crate never knows what a fork is for. A module uses only modules named before it.

pub mod error;
pub mod frame;
pub mod key;
