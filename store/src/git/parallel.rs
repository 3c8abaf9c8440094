//! Looks at many folders at once, with a few threads that end before the call does.
//!
//! The calling thread looks at nothing itself: the watch belongs to it alone, and a stop must be heard while every other one is
//! busy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::watch::Watch;

/// How many threads look at once, on however many processors: the disk is shared, and others work, too.
const THREADS: usize = 8;
/// How often the watch is asked whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// Does `count` pieces of work and returns what came of each; nothing of those that a stop left out. Every thread begins with
/// what `begin` gives it, and can see whether it should stop.
pub(super) fn each<'a, B, T: Send>(
    count: usize,
    watch: &mut dyn Watch,
    begin: impl Fn() -> B + Sync,
    work: impl Fn(&mut B, usize, &AtomicBool) -> T + Sync + 'a,
) -> Vec<Option<T>> {
    let mut done: Vec<Option<T>> = std::iter::repeat_with(|| None).take(count).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS).min(count);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for sender in vec![sender; threads] {
            let (next, stop, begin, work) = (&next, &stop, &begin, &work);
            scope.spawn(move || {
                let mut own = begin();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || stop.load(Ordering::Relaxed) || sender.send((number, work(&mut own, number, stop))).is_err() {
                        return;
                    }
                }
            });
        }
        loop {
            match receiver.recv_timeout(TICK) {
                Ok((number, one)) => done[number] = Some(one),
                Err(RecvTimeoutError::Timeout) => stop.store(watch.cancelled(), Ordering::Relaxed),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
    done
}
