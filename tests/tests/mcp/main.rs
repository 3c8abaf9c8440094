//! `frith mcp` below hosts that the test plays, spoken to by a client that nobody here wrote.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod life;
mod linked;
mod tools;
