//! Installing into hosts: their own files, changed by a person's command.
//!
//! It runs in the process of the command and needs no node.

pub mod file;
