//! The node's way in, kept open: its socket is made anew when somebody took it away, and so is its lock file.
//!
//! The lock that is held proves that this is the node of the home, so what stands in the socket's place is nobody's. A home that
//! is gone has no way in, and nothing written there would stay: then the node is told to end.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use frith_actors::local::{
    door::{Door, Elsewhere},
    lock::{HomeLock, Locked},
    server::{self, Answers, Limits},
};
use tokio::{
    net::UnixListener,
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

use crate::environment;

/// How often it is looked whether the way in is open. One look costs as much as two file names.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// After how many looks that found no home it counts as gone, and not as on its way back.
const GONE_AFTER: u32 = 3;
/// How many sockets that were taken away go on for those who are connected.
const OLD_MOST: usize = 8;

/// The lock and the socket of a home.
pub struct Gate {
    home: PathBuf,
    identity: (u64, u64),
    lock: HomeLock,
    door: Door,
}

/// How the looking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// The node ends.
    Closed,
    /// The home is gone.
    HomeGone,
}

impl Gate {
    /// Makes the socket of a home whose lock is held.
    ///
    /// # Errors
    /// The socket cannot be made, or the home cannot be looked at.
    pub fn open(home: &Path, lock: HomeLock) -> Result<Self, frith_actors::local::LocalError> {
        let door = Door::open(&lock, home, &elsewhere())?;
        let identity = identity(home).unwrap_or_default();
        Ok(Self { home: home.to_owned(), identity, lock, door })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        self.door.path()
    }

    /// Serves whoever comes until the other end of `closed` is dropped, and sees to it that there is a way to come.
    ///
    /// # Errors
    /// The socket cannot be served at all.
    pub fn serve(mut self, answers: Arc<dyn Answers>, closed: watch::Receiver<()>) -> io::Result<JoinHandle<Watched>> {
        let first = self.listen(&answers, &closed)?;
        Ok(tokio::spawn(async move {
            let mut serving = vec![first];
            let watched = self.keep_open(&answers, closed, &mut serving).await;
            for server in serving {
                match watched {
                    // Each ends by itself within its limit.
                    Watched::Closed => drop(server.await),
                    Watched::HomeGone => server.abort(),
                }
            }
            self.door.close();
            watched
        }))
    }

    fn listen(&self, answers: &Arc<dyn Answers>, closed: &watch::Receiver<()>) -> io::Result<JoinHandle<()>> {
        let listener = UnixListener::from_std(self.door.listener()?)?;
        Ok(tokio::spawn(server::serve(listener, Arc::clone(answers), Limits::default(), ended(closed.clone()))))
    }

    async fn keep_open(
        &mut self,
        answers: &Arc<dyn Answers>,
        mut closed: watch::Receiver<()>,
        serving: &mut Vec<JoinHandle<()>>,
    ) -> Watched {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gone = 0;
        loop {
            tokio::select! {
                biased;
                _ = closed.changed() => return Watched::Closed,
                _ = looks.tick() => {}
            }
            if identity(&self.home) != Some(self.identity) {
                gone += 1;
                if gone == GONE_AFTER {
                    tracing::error!(home = %self.home.display(), "the home is gone");
                    return Watched::HomeGone;
                }
                continue;
            }
            gone = 0;
            if let Err(error) = self.mend(answers, &closed, serving) {
                tracing::warn!(%error, "the way in could not be opened again");
            }
        }
    }

    /// Makes anew what was taken away.
    fn mend(
        &mut self,
        answers: &Arc<dyn Answers>,
        closed: &watch::Receiver<()>,
        serving: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), frith_actors::local::LocalError> {
        if !self.lock.is_of(&self.home) {
            match HomeLock::take(&self.home)? {
                Locked::Ours(lock) => {
                    tracing::warn!("the lock file was taken away and is made anew");
                    self.lock = lock;
                }
                // Whoever has it finds the store in use, and goes.
                Locked::Taken(_) => return Ok(()),
            }
        }
        if self.door.is_there() {
            return Ok(());
        }
        let door = Door::open(&self.lock, &self.home, &elsewhere())?;
        tracing::warn!(socket = %door.path().display(), "the socket was taken away and is made anew");
        self.door = door;
        match self.listen(answers, closed) {
            Ok(server) => serving.push(server),
            Err(error) => tracing::error!(%error, "the socket cannot be served"),
        }
        if serving.len() > OLD_MOST {
            serving.remove(0).abort();
        }
        Ok(())
    }
}

fn elsewhere() -> Elsewhere {
    Elsewhere { runtime: environment::read("XDG_RUNTIME_DIR").map(Into::into), temporary: std::env::temp_dir() }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

async fn ended(mut closed: watch::Receiver<()>) {
    // Nothing is ever sent: the channel's end is the word.
    let _ = closed.changed().await;
}
