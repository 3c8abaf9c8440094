//! Facts: the records of a team, the rules over them, the documents that hold them, and disk and git.
//!
//! This crate never knows a socket, a runtime or a person's terminal. A module uses only modules named before it.

mod shell;
pub mod id;
pub mod text;
pub mod time;
pub mod hosts;
pub mod schedule;
pub mod model;
pub mod refusal;
pub mod rules;
pub mod error;
pub mod docs;
pub mod rows;
pub mod backend;
pub mod database;
pub mod blobs;
pub mod facts;
pub mod view;
pub mod derive;
pub mod tx;
pub mod job;
pub mod invariants;
pub mod migrate;
pub mod open;
pub mod sweep;
pub mod backup;
pub mod git;
