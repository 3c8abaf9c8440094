//! Proof from outside: what tests share. The sandbox a command runs in, and the checker of the project's own rules.
//!
//! Nothing here is part of the product, and nothing here reaches outside the folders it makes.

pub mod tidy;
