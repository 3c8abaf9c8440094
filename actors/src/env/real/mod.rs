//! The real world behind the doors: the one place where threads, clocks, processes and files of this machine are touched.
//!
//! It never decides anything: what to start, whom to end and when is said by its callers.

pub mod process;
mod process_io;
mod process_table;
