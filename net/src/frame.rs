//! Frames: a length of four bytes, highest first, then that many bytes of postcard.
//!
//! A frame never claims memory before its bytes have arrived, and never more than its stream's bound. What a frame
//! holds is the business of whoever sends it.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::error::FrameError;

/// The most bytes a frame between machines may have.
pub const PEER_MOST: usize = 64 * 1024;
/// The bytes of a frame's length.
const HEAD: usize = 4;
/// How much is read at once.
const STEP: usize = 64 * 1024;

/// Makes the frame of a value, head and all.
///
/// # Errors
/// [`FrameError::TooLong`] when it would have more than `most` bytes; [`FrameError::Malformed`] when it has no postcard form.
pub fn encode<T: Serialize>(value: &T, most: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = postcard::to_extend(value, vec![0; HEAD]).map_err(FrameError::Malformed)?;
    let length = bytes.len() - HEAD;
    let head = u32::try_from(length).ok().filter(|_| length <= most).ok_or(FrameError::TooLong { length, most })?;
    bytes[..HEAD].copy_from_slice(&head.to_be_bytes());
    Ok(bytes)
}

/// Reads the value of a frame without its head, to the last byte.
///
/// # Errors
/// [`FrameError::Malformed`] and [`FrameError::LeftOver`].
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, FrameError> {
    let (value, rest) = postcard::take_from_bytes(payload).map_err(FrameError::Malformed)?;
    if rest.is_empty() { Ok(value) } else { Err(FrameError::LeftOver(rest.len())) }
}

/// Bytes of a stream as they arrive, cut into frames.
#[derive(Debug)]
pub struct Splitter {
    most: usize,
    bytes: Vec<u8>,
    /// Where the first byte not yet handed out stands.
    from: usize,
}

impl Splitter {
    /// A splitter whose frames have at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { most, bytes: Vec::new(), from: 0 }
    }

    /// Takes in bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.make_room();
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes that wait.
    pub fn peek(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    /// Takes exactly `count` bytes that are no frame, once they are there.
    pub fn take(&mut self, count: usize) -> Option<&[u8]> {
        let until = self.from.checked_add(count).filter(|until| *until <= self.bytes.len())?;
        let taken = self.from..until;
        self.from = until;
        Some(&self.bytes[taken])
    }

    /// The next whole frame without its head, if it is there.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] as soon as the head says so.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let Some(head) = self.bytes[self.from..].first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if length > self.most {
            return Err(FrameError::TooLong { length, most: self.most });
        }
        if self.bytes.len() - self.from - HEAD < length {
            return Ok(None);
        }
        self.from += HEAD;
        Ok(self.take(length))
    }

    /// Whether no byte waits: the stream may end here.
    pub fn is_empty(&self) -> bool {
        self.from == self.bytes.len()
    }

    /// Reads once from a blocking stream; a signal in between is no failure.
    ///
    /// # Errors
    /// [`FrameError::Closed`] or [`FrameError::Cut`] at its end; [`FrameError::Io`].
    pub fn fill(&mut self, stream: &mut impl Read) -> Result<(), FrameError> {
        loop {
            match self.fill_once(stream) {
                Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// Reads once from a blocking stream and tells of a signal too.
    ///
    /// # Errors
    /// As [`Splitter::fill`], and [`io::ErrorKind::Interrupted`].
    pub fn fill_once(&mut self, stream: &mut impl Read) -> Result<(), FrameError> {
        self.make_room();
        let had = self.bytes.len();
        self.bytes.resize(had + STEP, 0);
        let read = stream.read(&mut self.bytes[had..]);
        self.bytes.truncate(had + *read.as_ref().unwrap_or(&0));
        self.more(read?)
    }

    /// Reads once from a stream. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// As [`Splitter::fill`].
    pub async fn fill_async(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<(), FrameError> {
        self.make_room();
        self.bytes.reserve(STEP);
        let read = stream.read_buf(&mut self.bytes).await?;
        self.more(read)
    }

    fn more(&self, read: usize) -> Result<(), FrameError> {
        match read {
            0 if self.is_empty() => Err(FrameError::Closed),
            0 => Err(FrameError::Cut),
            _ => Ok(()),
        }
    }

    fn make_room(&mut self) {
        if self.from > 0 {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
    }
}

/// Writes bytes of frames whole; a signal in between is no failure.
///
/// # Errors
/// [`FrameError::Io`].
pub fn write(stream: &mut impl Write, frames: &[u8]) -> Result<(), FrameError> {
    stream.write_all(frames)?;
    Ok(stream.flush()?)
}

/// Writes bytes of frames whole.
///
/// # Errors
/// [`FrameError::Io`].
pub async fn write_async(stream: &mut (impl AsyncWrite + Unpin), frames: &[u8]) -> Result<(), FrameError> {
    stream.write_all(frames).await?;
    Ok(stream.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream that gives a few bytes at a time and is interrupted before each.
    struct Halting {
        bytes: Vec<u8>,
        step: usize,
        interrupt: bool,
    }

    impl Read for Halting {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.step.min(into.len()).min(self.bytes.len());
            into[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes.drain(..count);
            Ok(count)
        }
    }

    fn read_all(stream: &mut impl Read, most: usize) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut splitter = Splitter::new(most);
        let mut frames = Vec::new();
        loop {
            while let Some(frame) = splitter.next_frame()? {
                frames.push(frame.to_vec());
            }
            match splitter.fill(stream) {
                Ok(()) => {}
                Err(FrameError::Closed) => return Ok(frames),
                Err(error) => return Err(error),
            }
        }
    }

    #[test]
    fn e14_a_storm_of_signals_is_no_failure() {
        let bytes = encode(&"patience".to_owned(), 100).unwrap();
        let mut stream = Halting { bytes, step: 1, interrupt: false };
        let frames = read_all(&mut stream, 100).unwrap();
        assert_eq!(decode::<String>(&frames[0]).unwrap(), "patience");
    }

    #[test]
    fn g04_a_frame_that_claims_a_gigabyte_is_refused_at_its_head() {
        let mut splitter = Splitter::new(PEER_MOST);
        splitter.push(&(1u32 << 30).to_be_bytes());
        assert!(matches!(splitter.next_frame(), Err(FrameError::TooLong { length: 0x4000_0000, most: PEER_MOST })));
        assert!(matches!(encode(&vec![0u8; 50], 50), Err(FrameError::TooLong { length: 51, most: 50 })));
    }

    #[test]
    fn a_claim_within_the_bound_takes_no_memory_before_its_bytes_come() {
        let mut splitter = Splitter::new(1 << 30);
        splitter.push(&(1u32 << 30).to_be_bytes());
        assert!(splitter.next_frame().unwrap().is_none());
        assert!(splitter.bytes.capacity() < 2 * STEP);
    }

    #[test]
    fn a_stream_that_ends_within_a_frame_says_so() {
        let mut bytes = encode(&7u64, 10).unwrap();
        bytes.push(0);
        assert!(matches!(read_all(&mut bytes.as_slice(), 10), Err(FrameError::Cut)));
    }

    #[test]
    fn bytes_left_over_in_a_frame_are_an_error() {
        assert!(matches!(decode::<u8>(&[1, 2]), Err(FrameError::LeftOver(1))));
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8), step in 1usize..90
        ) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| encode(value, 1000).unwrap()).collect();
            let frames = read_all(&mut Halting { bytes, step, interrupt: true }, 1000).unwrap();
            let back: Vec<Vec<u8>> = frames.iter().map(|frame| decode(frame).unwrap()).collect();
            prop_assert_eq!(back, values);
        }

        #[test]
        fn hostile_bytes_end_in_an_error_or_in_bounded_frames(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(frames) = read_all(&mut bytes.as_slice(), 64) {
                for frame in frames {
                    prop_assert!(frame.len() <= 64);
                    let _ = decode::<Vec<(String, Option<u64>)>>(&frame);
                }
            }
        }

        #[test]
        fn a_blocking_and_an_asynchronous_reader_agree(bytes in prop::collection::vec(0u8..12, 0..200)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let by_async = runtime.block_on(async {
                let (mut stream, mut splitter, mut frames) = (bytes.as_slice(), Splitter::new(64), Vec::new());
                loop {
                    while let Some(frame) = splitter.next_frame().map_err(|e| e.to_string())? {
                        frames.push(frame.to_vec());
                    }
                    match splitter.fill_async(&mut stream).await {
                        Ok(()) => {}
                        Err(FrameError::Closed) => return Ok(frames),
                        Err(error) => return Err(error.to_string()),
                    }
                }
            });
            prop_assert_eq!(read_all(&mut bytes.as_slice(), 64).map_err(|e| e.to_string()), by_async);
        }
    }
}
