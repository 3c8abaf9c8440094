//! Proof from outside: what tests share. The sandbox a command runs in, and the checker of the project's own rules.
//!
//! Nothing here is part of the product, and nothing here reaches outside the folders it makes.

pub mod tidy;
pub mod wait;
pub mod processes;
pub mod redact;
pub mod run;
pub mod errand;
pub mod habits;
pub mod viewer;
pub mod sandbox;
pub mod host;
pub mod mcp;
pub mod seed;
pub mod signer;
pub mod texts;
pub mod figures;
pub mod worktrees;

pub use host::Host;
pub use run::Run;
pub use sandbox::Sandbox;
pub use viewer::Viewer;
pub use wait::wait_for;
