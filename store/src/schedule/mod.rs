//! Schedules: five fields with a fixed minute, and the moments they name in a time zone (forks.md, "Task").
//!
//! The rules of time zones are those that are compiled in, so that a slot follows from expression and zone alone. Nothing
//! here reads a clock or a disk.

mod expression;
mod timetable;

pub use expression::{Expression, Field, Part, ScheduleFault};
pub use timetable::{Timetable, Zone, zone_names};
