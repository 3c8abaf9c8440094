//! Carrying bytes between a pseudo-terminal and the node, without a thread of its own.
//!
//! Reading and writing are two tasks, so that a flood of output never keeps a key press from the agent. Both end when
//! the terminal's other end is closed; neither looks at what it carries.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::env::process::{InputRefused, ProcessOutput};

/// The node's end of a terminal.
pub(super) type Master = Arc<AsyncFd<OwnedFd>>;

/// How much typed input may wait for an agent that does not read.
const INPUT_LIMIT: usize = 1024 * 1024;
/// The most that one read takes.
const READ_SIZE: usize = 16 * 1024;

/// Hands over what the terminal says until nobody holds its other end or nobody listens.
pub(super) async fn read_all(master: Master, output: mpsc::Sender<ProcessOutput>) {
    let mut buffer = vec![0; READ_SIZE];
    loop {
        let read = read_some(&master, &mut buffer).await;
        let Some(count) = read.ok().filter(|count| *count > 0) else {
            return;
        };
        let bytes = ProcessOutput::Bytes(buffer[..count].to_vec());
        if output.send(bytes).await.is_err() {
            return;
        }
    }
}

async fn read_some(master: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        let mut ready = master.readable().await?;
        let read = ready.try_io(|fd| {
            let read = || rustix::io::read(fd.get_ref(), &mut *buffer);
            Ok(rustix::io::retry_on_intr(read)?)
        });
        if let Ok(result) = read {
            return result;
        }
        // Waiting for readiness does not yield by itself, and a closed terminal is always ready.
        tokio::task::yield_now().await;
    }
}

/// The sending half of what is typed; it counts what waits.
pub(super) struct InputQueue {
    items: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// The receiving half.
pub(super) struct InputItems {
    items: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn input_queue() -> (InputQueue, InputItems) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let queue = InputQueue { items: sender, waiting: Arc::clone(&waiting) };
    let items = InputItems { items: receiver, waiting };
    (queue, items)
}

impl InputQueue {
    pub(super) fn push(&self, bytes: Vec<u8>) -> Result<(), InputRefused> {
        let length = bytes.len();
        if self.waiting.load(Ordering::Relaxed) + length > INPUT_LIMIT {
            return Err(InputRefused::Full);
        }
        self.waiting.fetch_add(length, Ordering::Relaxed);
        self.items.send(bytes).map_err(|_| InputRefused::Ended)
    }
}

/// Types what is queued, each item whole, until the terminal or the queue is closed.
pub(super) async fn write_all(master: Master, mut input: InputItems) {
    while let Some(bytes) = input.items.recv().await {
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            let Ok(count) = write_some(&master, left).await else {
                return;
            };
            left = &left[count..];
        }
        input.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
    }
}

/// A terminal whose other end is closed says "later" to every write where its buffer is full, and is ready all the same.
async fn write_some(master: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<usize> {
    loop {
        let mut ready = master.writable().await?;
        if ready.ready().is_write_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let write = || rustix::io::write(master.get_ref(), bytes);
        let written = ready.try_io(|_| Ok(rustix::io::retry_on_intr(write)?));
        if let Ok(result) = written {
            return result;
        }
    }
}
