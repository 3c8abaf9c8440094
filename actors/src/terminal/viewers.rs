//! Who looks at a terminal, and whose size counts.
//!
//! The size is that of the viewer who typed last; until somebody typed, that of the first. One that goes leaves it to
//! who typed last among those that stay. With nobody there it stays as it is, and who only follows never counts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::queue::ViewerQueue;
use super::wire::TerminalEnd;
use crate::env::process::TerminalSize;

/// How somebody looks at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Through a terminal of this size: it gets the screen and what changes it, and its size may become the agent's.
    Terminal(TerminalSize),
    /// Without a terminal: it gets plain lines of text, first what is there, then what comes. It has no say in sizes.
    Follow,
}

/// A viewer of one terminal; never given twice there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewerId(u64);

/// Somebody who is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewerFacts {
    /// Which viewer.
    pub viewer: ViewerId,
    /// How it looks.
    pub look: Look,
    /// For how long it has been attached.
    pub attached_for: Duration,
    /// Whether its size is the terminal's.
    pub is_sizing: bool,
}

/// One viewer and what waits for it.
pub(super) struct Viewer {
    pub(super) id: ViewerId,
    pub(super) look: Look,
    pub(super) queue: Arc<ViewerQueue>,
    /// When it last typed, in a count of its own; 0 for never.
    typed: u64,
    since: Instant,
}

/// Everybody who looks, in the order they came.
#[derive(Default)]
pub(super) struct Viewers {
    all: Vec<Viewer>,
    next_id: u64,
    typed: u64,
}

impl Viewers {
    pub(super) fn add(&mut self, look: Look, since: Instant) -> (ViewerId, Arc<ViewerQueue>) {
        self.next_id += 1;
        let id = ViewerId(self.next_id);
        let queue = Arc::new(ViewerQueue::default());
        self.all.push(Viewer { id, look, queue: Arc::clone(&queue), typed: 0, since });
        (id, queue)
    }

    pub(super) fn remove(&mut self, id: ViewerId) {
        self.all.retain(|viewer| {
            let goes = viewer.id == id;
            if goes {
                viewer.queue.close();
            }
            !goes
        });
    }

    pub(super) fn get(&self, id: ViewerId) -> Option<&Viewer> {
        self.all.iter().find(|viewer| viewer.id == id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Viewer> {
        self.all.iter()
    }

    pub(super) fn type_in(&mut self, id: ViewerId) {
        self.typed += 1;
        if let Some(viewer) = self.all.iter_mut().find(|viewer| viewer.id == id) {
            viewer.typed = self.typed;
        }
    }

    pub(super) fn resize(&mut self, id: ViewerId, size: TerminalSize) {
        let viewer = self.all.iter_mut().find(|viewer| viewer.id == id);
        if let Some(Viewer { look: Look::Terminal(of_viewer), .. }) = viewer {
            *of_viewer = size;
        }
    }

    /// The viewer whose size counts, and that size.
    pub(super) fn sizing(&self) -> Option<(ViewerId, TerminalSize)> {
        let mut sizing: Option<(&Viewer, TerminalSize)> = None;
        for viewer in &self.all {
            let Look::Terminal(size) = viewer.look else { continue };
            if sizing.is_none_or(|(first, _)| viewer.typed > first.typed) {
                sizing = Some((viewer, size));
            }
        }
        sizing.map(|(viewer, size)| (viewer.id, size))
    }

    pub(super) fn facts(&self, now: Instant) -> Vec<ViewerFacts> {
        let sizing = self.sizing().map(|(id, _)| id);
        let facts = |viewer: &Viewer| ViewerFacts {
            viewer: viewer.id,
            look: viewer.look,
            attached_for: now.duration_since(viewer.since),
            is_sizing: sizing == Some(viewer.id),
        };
        self.all.iter().map(facts).collect()
    }

    pub(super) fn end(&self, end: TerminalEnd) {
        self.all.iter().for_each(|viewer| viewer.queue.end(end));
    }
}

/// Viewers of a terminal that is gone find their queues closed.
impl Drop for Viewers {
    fn drop(&mut self) {
        self.all.iter().for_each(|viewer| viewer.queue.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(cols: u16) -> TerminalSize {
        TerminalSize::new(24, cols)
    }

    fn cols(viewers: &Viewers) -> Option<u16> {
        viewers.sizing().map(|(_, size)| size.cols())
    }

    #[test]
    fn the_size_is_that_of_who_typed_last_and_of_the_first_until_then() {
        let now = Instant::now();
        let mut viewers = Viewers::default();
        assert_eq!(cols(&viewers), None);
        let (follower, _) = viewers.add(Look::Follow, now);
        assert_eq!(cols(&viewers), None);
        let (first, _) = viewers.add(Look::Terminal(size(81)), now);
        let (second, _) = viewers.add(Look::Terminal(size(82)), now);
        let (third, _) = viewers.add(Look::Terminal(size(83)), now);
        assert_eq!(cols(&viewers), Some(81));
        viewers.type_in(third);
        viewers.type_in(second);
        viewers.type_in(follower);
        assert_eq!(cols(&viewers), Some(82));
        viewers.resize(second, size(92));
        viewers.resize(first, size(91));
        assert_eq!(cols(&viewers), Some(92));
        viewers.remove(second);
        assert_eq!(cols(&viewers), Some(83));
        viewers.remove(third);
        assert_eq!(cols(&viewers), Some(91));
        viewers.remove(first);
        assert_eq!(cols(&viewers), None);
    }
}
