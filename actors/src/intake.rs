//! Events of hooks on their way in: told by a hook that waits for its answer, or kept by one that found no node. The latter are taken
//! in one after the other by a task of their own, now and then and whenever somebody is to be told of agents.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use frith_store::{error::Failure, model::ProcessRef};
use ractor::ActorRef;
use tokio::sync::{mpsc, oneshot};

use crate::{
    ctx::Ctx,
    env::world::blocking,
    hook::{
        payload,
        spool::{self, Spooled},
    },
    machine::MachineMsg,
    registry::{self, From, Heard, Told},
    task::Owned,
};

/// How often it is looked for events that were kept.
const EVERY: Duration = Duration::from_secs(60);
/// After how many of these times an event that cannot be recorded is put aside.
const TRIES_MOST: u32 = 5;

/// Takes an event in, and has what was seen by it written down in a while.
///
/// # Errors
/// The store broke.
pub async fn hear(ctx: &Ctx, machine: &ActorRef<MachineMsg>, told: Told) -> Result<Option<Heard>, Failure> {
    let heard = registry::take_in(ctx, told).await?;
    if let Some(heard) = heard.as_ref().filter(|heard| heard.is_unwritten) {
        // A node whose machine is gone ends, and writes down itself what was seen.
        let _ = machine.cast(MachineMsg::Saw(heard.agent));
    }
    Ok(heard)
}

/// The task that takes in what was kept.
pub struct Intake {
    ask: mpsc::Sender<oneshot::Sender<()>>,
    _task: Owned,
}

impl Intake {
    /// Takes in now what was kept, and goes on until it is dropped.
    pub async fn start(ctx: Ctx, machine: ActorRef<MachineMsg>) -> Self {
        let mut tries = Tries::default();
        take_in_all(&ctx, &machine, &mut tries, true).await;
        let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(16);
        let task = Owned::spawn(async move {
            loop {
                let waits = tokio::select! {
                    biased;
                    Some(waits) = asked.recv() => Some(waits),
                    () = tokio::time::sleep(EVERY) => None,
                };
                take_in_all(&ctx, &machine, &mut tries, waits.is_none()).await;
                // Whoever waited may have gone away.
                let _ = waits.map(|waits| waits.send(()));
            }
        });
        Self { ask, _task: task }
    }

    /// Waits until all that was kept before is taken in.
    pub async fn take_in(&self) {
        let (done, is_done) = oneshot::channel();
        if self.ask.send(done).await.is_ok() {
            // The task ends only with the node.
            let _ = is_done.await;
        }
    }
}

/// Each event's file goes only once it is recorded. What cannot be recorded now is found again, and keeps nobody else waiting.
async fn take_in_all(ctx: &Ctx, machine: &ActorRef<MachineMsg>, tries: &mut Tries, is_due: bool) {
    let home = ctx.env.home.clone();
    let kept = match blocking(&ctx.env.blocking, move || spool::take_all(&home)).await {
        Ok(Ok(kept)) => kept,
        Ok(Err(error)) => return tracing::warn!(%error, "what hooks told while no node listened could not be read"),
        Err(lost) => return tracing::error!(%lost, "what hooks told while no node listened could not be read"),
    };
    tries.begin();
    for (file, spooled) in kept {
        let whose = Whose::of(&spooled);
        if tries.waits(&whose) {
            continue;
        }
        let Err(failure) = take_in(ctx, machine, spooled).await else {
            forget(ctx, file).await;
            continue;
        };
        tracing::warn!(%failure, "what a hook told while no node listened could not be recorded, and waits");
        if tries.failed(whose, &file, is_due) {
            put_aside(ctx, file).await;
        }
    }
}

/// The session that an event is of, or the process where the host tells no session.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Whose(String, Option<String>, Option<ProcessRef>);

impl Whose {
    fn of(spooled: &Spooled) -> Self {
        let event = &spooled.event;
        let process = spooled.process.clone().filter(|_| event.session.is_none());
        Self(event.host.clone(), event.session.clone(), process)
    }
}

/// Events that could not be recorded. What a session told later waits for what it told before; other sessions do not.
#[derive(Debug, Default)]
struct Tries {
    waiting: BTreeSet<Whose>,
    failed: BTreeMap<PathBuf, u32>,
}

impl Tries {
    /// Everything is tried once more.
    fn begin(&mut self) {
        self.waiting.clear();
    }

    fn waits(&self, whose: &Whose) -> bool {
        self.waiting.contains(whose)
    }

    /// An event could not be recorded. Answers whether it has been tried for long enough; only tries that were due count.
    fn failed(&mut self, whose: Whose, file: &Path, is_due: bool) -> bool {
        self.waiting.insert(whose);
        let tries = self.failed.entry(file.to_owned()).or_default();
        *tries += u32::from(is_due);
        let is_hopeless = *tries >= TRIES_MOST;
        if is_hopeless {
            self.failed.remove(file);
        }
        is_hopeless
    }
}

async fn take_in(ctx: &Ctx, machine: &ActorRef<MachineMsg>, spooled: Spooled) -> Result<(), Failure> {
    if !ctx.config.now().agents_enabled {
        return Ok(());
    }
    let Spooled { at, event, process, ancestors, .. } = spooled;
    // What no host started registers nobody, nor does what no host says.
    let (Some(process), Some(mut event)) = (process, payload::checked(event)) else { return Ok(()) };
    // Nobody waits for the answer any more: what the agent is to be told is said at its next event.
    event.takes_context = false;
    hear(ctx, machine, Told { event, from: From::Noted { process, ancestors }, at }).await.map(drop)
}

async fn forget(ctx: &Ctx, file: PathBuf) {
    let removed = blocking(&ctx.env.blocking, move || std::fs::remove_file(file)).await;
    if !matches!(removed, Ok(Ok(()))) {
        tracing::warn!("what a hook told and is recorded could not be taken away, and is taken in again");
    }
}

async fn put_aside(ctx: &Ctx, file: PathBuf) {
    let home = ctx.env.home.clone();
    let put = blocking(&ctx.env.blocking, move || spool::give_up(&home, &file)).await;
    if !matches!(put, Ok(Ok(()))) {
        tracing::warn!("what a hook told and cannot be recorded could not be put aside, and is tried again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(session: &str) -> Whose {
        Whose("claude".into(), Some(session.into()), None)
    }

    #[test]
    fn an_event_that_cannot_be_recorded_holds_up_its_own_session_alone_and_is_put_aside_in_the_end() {
        let (mut tries, file) = (Tries::default(), Path::new("taken/a-0"));
        for round in 1..=TRIES_MOST {
            tries.begin();
            assert!(!tries.waits(&whose("a")));
            assert!(!tries.failed(whose("a"), file, false), "whoever asks makes no try of it that counts");
            assert_eq!(tries.failed(whose("a"), file, true), round == TRIES_MOST);
            assert!(tries.waits(&whose("a")) && !tries.waits(&whose("b")));
        }
        assert!(!tries.failed(whose("a"), file, true), "the name may be that of another event by now");
    }
}
