//! Reading and writing the streams that a host gave its hook, never longer than there is time.
//!
//! A stream may never end, come in pieces, be closed or be full. Descriptors are shared with the host, so their modes stay as
//! they are; each read and write is asked for first and then cannot block.

use std::{os::fd::BorrowedFd, time::Duration};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read, write},
    pipe::PIPE_BUF,
};

use super::first_value::FirstValue;
use crate::env::real::stopwatch::Stopwatch;

/// How much is read at first, which is more than most payloads have.
const FIRST: usize = 8 * 1024;
/// How much is read at once later.
const STEP: usize = 64 * 1024;

/// Reads to the end of the first JSON value, to the end of the stream, or until the time is over. At most `most` bytes are
/// kept; what comes behind is read all the same, so that the host is not stopped in its writing.
pub fn read_value(stream: BorrowedFd<'_>, watch: &Stopwatch, until: Duration, most: usize) -> Vec<u8> {
    let mut kept = Vec::with_capacity(FIRST);
    let mut value = FirstValue::default();
    let mut beyond = Vec::new();
    while is_ready(stream, PollFlags::IN, watch.left_of(until)) {
        let into = if kept.len() < most { &mut kept } else { &mut beyond };
        let had = into.len();
        if into.capacity() == had {
            into.reserve(STEP);
        }
        match read(stream, spare_capacity(into)) {
            Ok(0) => break,
            Ok(_) if value.take(&into[had..]).is_some() => {
                drain(stream, watch, until);
                break;
            }
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => beyond.clear(),
            Err(_) => break,
        }
    }
    kept.truncate(most);
    kept
}

/// Reads what is there behind the value, such as a line's end.
fn drain(stream: BorrowedFd<'_>, watch: &Stopwatch, until: Duration) {
    let mut rest = [0; 512];
    while !watch.left_of(until).is_zero() && is_ready(stream, PollFlags::IN, Duration::ZERO) {
        if !matches!(read(stream, &mut rest[..]), Ok(1..)) {
            return;
        }
    }
}

/// Writes all of it, in pieces that a pipe with room takes at once; whether it was. Nothing is tried once the time is over or nobody reads any more.
pub fn write_all(stream: BorrowedFd<'_>, mut bytes: &[u8], watch: &Stopwatch, until: Duration) -> bool {
    while !bytes.is_empty() {
        if !is_ready(stream, PollFlags::OUT, watch.left_of(until)) {
            return false;
        }
        match write(stream, &bytes[..bytes.len().min(PIPE_BUF)]) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Waits until the stream is ready, or broken, which reading or writing tells. False when the time is over first.
fn is_ready(stream: BorrowedFd<'_>, wanted: PollFlags, most: Duration) -> bool {
    let Ok(most) = Timespec::try_from(most) else { return false };
    let mut asked = [PollFd::from_borrowed_fd(stream, wanted)];
    loop {
        match poll(&mut asked, Some(&most)) {
            Err(Errno::INTR) => {}
            found => return matches!(found, Ok(1..)) && !asked[0].revents().contains(PollFlags::NVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write as _, os::fd::AsFd as _};

    const SOON: Duration = Duration::from_millis(150);
    const LONG: Duration = Duration::from_secs(60);

    fn read_from(end: &impl std::os::fd::AsFd, most: usize) -> Vec<u8> {
        read_value(end.as_fd(), &Stopwatch::start(), LONG, most)
    }

    #[test]
    fn b01_b02_a_value_is_read_from_a_stream_that_stays_open_in_one_piece_or_many() {
        let value = br#"{"session_id":"s","prompt":"a } b"}"#;
        for step in [1, 7, value.len()] {
            let (end, mut other) = std::io::pipe().unwrap();
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    value.chunks(step).for_each(|piece| other.write_all(piece).unwrap());
                    other
                });
                assert_eq!(read_from(&end, 1000), value);
                drop(writer.join());
            });
        }
    }

    #[test]
    fn b04_a_host_that_writes_more_than_is_kept_writes_all_of_it() {
        let (end, mut other) = std::io::pipe().unwrap();
        let text = format!("{{\"session_id\":\"s\",\"x\":\"{}\"}}\n", "y".repeat(1 << 20));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| other.write_all(text.as_bytes()));
            let kept = read_from(&end, 1 << 16);
            assert_eq!(kept, &text.as_bytes()[..1 << 16]);
            writer.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_stream_that_says_nothing_is_left_when_the_time_is_over() {
        let (end, _other) = std::io::pipe().unwrap();
        let watch = Stopwatch::start();
        assert_eq!(read_value(end.as_fd(), &watch, SOON, 100), b"");
        assert_eq!(watch.left_of(SOON), Duration::ZERO);
    }

    #[test]
    fn a_stream_that_ends_or_is_no_value_gives_what_it_had() {
        let (end, mut other) = std::io::pipe().unwrap();
        other.write_all(b"no value {").unwrap();
        drop(other);
        assert_eq!(read_from(&end, 100), b"no value {");
    }

    #[test]
    fn writing_ends_when_nobody_reads_and_when_the_time_is_over() {
        let (end, other) = std::io::pipe().unwrap();
        let watch = Stopwatch::start();
        assert!(write_all(other.as_fd(), b"{}", &watch, LONG));
        assert!(!write_all(other.as_fd(), &vec![b' '; 1 << 20], &watch, SOON), "the pipe is full");
        drop(end);
        assert!(!write_all(other.as_fd(), b"{}", &watch, LONG));
    }
}
