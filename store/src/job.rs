//! Jobs: pieces of work that share a transaction, each of which learns how it ended once that is durable.

use crate::{
    error::{Failure, StoreError},
    time::Timestamp,
    tx::Tx,
};

/// One piece of work of a batch.
pub trait Job: Send {
    /// The time at which it happens.
    fn now(&self) -> Timestamp;
    /// Decides, then writes. Called once. A job that refuses has written nothing.
    ///
    /// # Errors
    /// [`Undone::Refused`] with the answer kept inside; [`Undone::Broken`] when something could not be read or written.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Undone>;
    /// Told how it ended, after what it wrote is durable: with an error, nothing was written.
    fn finish(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// Why a job wrote nothing.
#[derive(Debug)]
pub enum Undone {
    /// It was refused.
    Refused,
    /// Something broke.
    Broken(StoreError),
}

/// A job made of what it does and what is done with its answer.
pub fn job<T: Send + 'static>(
    now: Timestamp,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    done: impl FnOnce(Result<T, Failure>) + Send + 'static,
) -> Box<dyn Job> {
    Box::new(Work { now, work: Some(work), done, answer: None })
}

struct Work<T, W, D> {
    now: Timestamp,
    work: Option<W>,
    done: D,
    answer: Option<Result<T, Failure>>,
}

impl<T, W, D> Job for Work<T, W, D>
where
    T: Send,
    W: FnOnce(&mut Tx<'_>) -> Result<T, Failure> + Send,
    D: FnOnce(Result<T, Failure>) + Send,
{
    fn now(&self) -> Timestamp {
        self.now
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Undone> {
        let work = self.work.take().expect("a job is run once");
        let answer = work(tx);
        let outcome = match &answer {
            Ok(_) => Ok(()),
            Err(Failure::Refused(_)) => Err(Undone::Refused),
            Err(Failure::Broken(error)) => Err(Undone::Broken(error.clone())),
        };
        self.answer = Some(answer);
        outcome
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match outcome {
            Ok(()) => self.answer.unwrap_or(Err(Failure::Broken(StoreError::Interrupted))),
            Err(error) => Err(Failure::Broken(error)),
        };
        (self.done)(answer);
    }
}
