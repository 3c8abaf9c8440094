//! Time that passes, for those who may take only so much of it. It never goes backwards.

use std::time::{Duration, Instant};

/// When something began.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the door that tells how much time has passed")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How much is left until this long after the beginning; nothing when that has passed.
    pub fn left_of(&self, most: Duration) -> Duration {
        most.saturating_sub(self.0.elapsed())
    }
}
