//! Tasks that an actor owns: they end with it.

use std::future::Future;

use tokio::task::JoinHandle;

/// A spawned task that is aborted when its owner lets go of it.
#[derive(Debug)]
pub struct Owned(JoinHandle<()>);

impl Owned {
    /// Spawns a task.
    pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }

    /// Whether it is over.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}
