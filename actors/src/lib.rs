//! The node: every actor, the environment it lives in, and the operations that may be asked of it.
//!
//! A module uses only modules named before it.

pub mod env;
pub mod kinds;
pub mod config;
pub mod terminal;
pub mod api;
pub mod frame;
pub mod push;
pub mod call;
pub mod hook;
pub mod local;
pub mod task;
pub mod db;
pub mod roster;
pub mod caller;
mod fresh_context;
pub mod handlers;
pub mod ctx;
pub mod registry;
pub mod linking;
pub mod notice;
pub mod held;
pub mod permission;
pub mod edit;
pub mod task_list;
pub mod install;
mod given;
pub mod fork;
mod entry;
pub mod terminals;
pub mod launch;
mod tending;
pub mod merge;
pub mod place;
pub mod schedule;
pub mod mailbox;
pub mod agent;
pub mod worktree;
pub mod machine;
mod intake;
mod caretaker;
pub mod node;
pub mod status;
pub mod backup;
pub mod dispatch;
