//! Handlers: find the records, ask a rule, carry out its plan, answer. Each runs inside one transaction and never waits.

pub mod schedule;
pub mod task;
pub mod stats;
pub mod trash;
pub mod workspace;
pub mod fork;
pub mod agents;
pub mod memory;
pub mod attachment;
pub mod skill;
pub mod site;
pub mod mail;
