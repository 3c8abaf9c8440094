//! How measurements are taken and printed: in pairs that take turns with what they are compared to, so that what else the
//! machine does falls on both. Nothing here judges.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::process::Command;
use std::time::Duration;

use crate::wait::timed;

/// The sorted times of some runs.
pub struct Times(Vec<Duration>);

impl Times {
    /// The median in ms.
    pub fn median(&self) -> f64 {
        self.at(50)
    }

    /// The time in ms that this many percent of runs did not exceed.
    pub fn at(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100].as_secs_f64() * 1e3
    }
}

/// Runs two pieces of work in turns.
pub fn pairs(count: usize, mut one: impl FnMut(usize) -> Duration, mut other: impl FnMut(usize) -> Duration) -> (Times, Times) {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..count {
        times.0.push(one(round));
        times.1.push(other(round));
    }
    times.0.sort();
    times.1.sort();
    (Times(times.0), Times(times.1))
}

/// Runs one piece of work again and again.
pub fn runs(count: usize, mut work: impl FnMut(usize) -> Duration) -> Times {
    let mut times: Vec<_> = (0..count).map(&mut work).collect();
    times.sort();
    Times(times)
}

/// Prints the times of one.
pub fn told(what: &str, times: &Times) {
    println!("{what:<64} median {:>9.2} ms   p95 {:>9.2} ms", times.median(), times.at(95));
}

/// Prints the times of both and what is between them.
pub fn compared(what: &str, (ours, theirs): &(Times, Times), other: &str) {
    told(what, ours);
    told(other, theirs);
    println!(
        "{:<64} {:.2} times, {:+.2} ms",
        "  the ratio and the difference of the medians",
        ours.median() / theirs.median(),
        ours.median() - theirs.median()
    );
}

/// The time a command takes that must succeed.
///
/// # Panics
/// It fails.
pub fn time_of(mut command: Command) -> Duration {
    let (output, time) = timed(|| command.output().unwrap());
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    time
}
