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

    /// Does something this long after the beginning, beside whatever is done meanwhile; nothing when the process ended before.
    pub fn then_at(&self, most: Duration, then: impl FnOnce() + Send + 'static) {
        let left = self.left_of(most);
        // A system that has no more threads has no more patience either: whoever waits then waits as long as that takes.
        let _ = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(left);
            then();
        });
    }

    /// How much is left until this long after the beginning; nothing when that has passed.
    pub fn left_of(&self, most: Duration) -> Duration {
        most.saturating_sub(self.0.elapsed())
    }
}
