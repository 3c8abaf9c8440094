//! What waits for one viewer, bounded.
//!
//! A viewer that falls behind loses what waits and is given the screen as it is once it has read everything: it skips,
//! and nobody waits for it. The queue knows neither screen nor actor; it only says that a repaint is due.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::wire::TerminalEnd;

/// How much may wait for a viewer before it counts as behind.
const LIMIT: usize = 256 * 1024;
/// The most that is handed out at once.
const HAND_OUT: usize = 64 * 1024;

/// One viewer's queue, shared by who fills and who empties it.
#[derive(Debug, Default)]
pub(super) struct ViewerQueue {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// A repaint not yet handed out. It goes first, and also a viewer that is behind again gets it: under a flood it
    /// would otherwise see nothing.
    repaint: Option<Vec<u8>>,
    pieces: VecDeque<Arc<[u8]>>,
    length: usize,
    /// What comes is not queued: a repaint will hold it.
    is_behind: bool,
    /// Somebody was told that the repaint is due.
    is_asked: bool,
    end: Option<TerminalEnd>,
    is_closed: bool,
}

/// What a viewer finds in its queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Bytes(Vec<u8>),
    /// Everything was read and the rest skipped: ask for a repaint. Said once.
    RepaintDue,
    Ended(TerminalEnd),
    Closed,
    Nothing,
}

impl ViewerQueue {
    /// Queues output, by whole units.
    pub(super) fn push(&self, piece: &Arc<[u8]>) {
        self.change(|inner| {
            if inner.is_behind {
                return;
            }
            if inner.length + piece.len() > LIMIT {
                inner.fall_behind();
                return;
            }
            inner.length += piece.len();
            inner.pieces.push_back(Arc::clone(piece));
        });
    }

    /// Drops what waits; a repaint is due. One that was asked for and not yet given stays asked for.
    pub(super) fn fall_behind(&self) {
        self.change(Inner::fall_behind);
    }

    /// Gives a viewer that is behind, or new, the state from which it goes on.
    pub(super) fn repaint(&self, bytes: Vec<u8>) {
        self.change(|inner| {
            inner.repaint = Some(bytes);
            inner.pieces.clear();
            inner.length = 0;
            inner.is_behind = false;
            inner.is_asked = false;
        });
    }

    /// Nothing comes after this. A repaint may.
    pub(super) fn end(&self, end: TerminalEnd) {
        self.change(|inner| inner.end = Some(end));
    }

    /// The terminal is gone.
    pub(super) fn close(&self) {
        self.change(|inner| inner.is_closed = true);
    }

    /// What is next. The end is handed out once, then the queue is closed.
    pub(super) fn take(&self) -> Taken {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(repaint) = inner.repaint.take() {
            return Taken::Bytes(repaint);
        }
        if !inner.pieces.is_empty() {
            return Taken::Bytes(inner.hand_out());
        }
        if inner.is_behind && !inner.is_closed {
            let is_first = !std::mem::replace(&mut inner.is_asked, true);
            return if is_first { Taken::RepaintDue } else { Taken::Nothing };
        }
        if let Some(end) = inner.end.take() {
            inner.is_closed = true;
            return Taken::Ended(end);
        }
        if inner.is_closed { Taken::Closed } else { Taken::Nothing }
    }

    /// Waits until something changed since the last look.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

impl Inner {
    fn fall_behind(&mut self) {
        self.pieces.clear();
        self.length = 0;
        self.is_behind = true;
    }

    fn hand_out(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.pieces.pop_front() {
            bytes.extend_from_slice(&piece);
            if self.pieces.front().is_some_and(|next| bytes.len() + next.len() > HAND_OUT) {
                break;
            }
        }
        self.length = self.length.saturating_sub(bytes.len());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::process::ProcessEnd;

    fn piece(length: usize) -> Arc<[u8]> {
        vec![b'x'; length].into()
    }

    #[test]
    fn a_viewer_that_falls_behind_skips_to_a_repaint_it_asks_for_once() {
        let queue = ViewerQueue::default();
        for _ in 0..100 {
            queue.push(&piece(16 * 1024));
        }
        assert_eq!(queue.take(), Taken::RepaintDue);
        assert_eq!(queue.take(), Taken::Nothing);
        queue.push(&piece(1));
        queue.repaint(b"screen".to_vec());
        queue.push(&piece(1));
        assert_eq!(queue.take(), Taken::Bytes(b"screen".to_vec()));
        assert_eq!(queue.take(), Taken::Bytes(b"x".to_vec()));
        assert_eq!(queue.take(), Taken::Nothing);
    }

    #[test]
    fn a_viewer_sees_something_under_a_flood() {
        let queue = ViewerQueue::default();
        queue.fall_behind();
        assert_eq!(queue.take(), Taken::RepaintDue);
        queue.repaint(b"screen".to_vec());
        queue.fall_behind();
        assert_eq!(queue.take(), Taken::Bytes(b"screen".to_vec()));
        assert_eq!(queue.take(), Taken::RepaintDue);
    }

    #[test]
    fn the_end_comes_last_and_once() {
        let end = TerminalEnd::Process(ProcessEnd::Exited(0));
        let queue = ViewerQueue::default();
        queue.push(&piece(2));
        queue.fall_behind();
        queue.end(end);
        assert_eq!(queue.take(), Taken::RepaintDue);
        queue.repaint(b"last".to_vec());
        assert_eq!(queue.take(), Taken::Bytes(b"last".to_vec()));
        assert_eq!(queue.take(), Taken::Ended(end));
        assert_eq!(queue.take(), Taken::Closed);
    }

    #[test]
    fn what_waits_is_bounded_and_comes_in_order() {
        let queue = ViewerQueue::default();
        for number in 0..3_u8 {
            queue.push(&vec![number; 40 * 1024].into());
        }
        for number in 0..3_u8 {
            assert_eq!(queue.take(), Taken::Bytes(vec![number; 40 * 1024]));
        }
        queue.close();
        assert_eq!(queue.take(), Taken::Closed);
    }
}
