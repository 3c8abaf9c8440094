//! Waiting for a fact. Nothing here waits for a time to pass: a test that would is wrong.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The longest a fact may take on a busy machine before a test calls it missing.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often a fact is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A point in time after which a test gives up.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// This far from now.
    pub fn after(span: Duration) -> Self {
        Self(now() + span)
    }

    /// Whether it has come.
    pub fn is_past(self) -> bool {
        now() >= self.0
    }
}

/// The time a piece of work takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let done = work();
    (done, start.elapsed())
}

#[expect(clippy::disallowed_methods, reason = "tests stand outside the node and measure it with the system's clock")]
fn now() -> Instant {
    Instant::now()
}

/// Looks for a fact until it is there.
///
/// # Panics
/// It is not there after [`PATIENCE`].
#[track_caller]
pub fn wait_for<T>(fact: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, look).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain for this: {fact}"))
}

/// Looks for a fact until it is there or the time is over.
pub fn wait_within<T>(span: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Deadline::after(span);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if deadline.is_past() {
            return None;
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_that_comes_is_found_and_one_that_does_not_is_given_up() {
        let mut looks = 0;
        let found = wait_within(PATIENCE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
        assert_eq!(wait_within(Duration::ZERO, || None::<()>), None);
    }
}
