//! Events of hooks on their way in: told by a hook that waits for its answer, or kept by one that found no node. The latter are taken
//! in one after the other by a task of their own, now and then and whenever somebody is to be told of agents.

use std::{path::PathBuf, time::Duration};

use frith_store::error::Failure;
use ractor::ActorRef;
use tokio::sync::{mpsc, oneshot};

use crate::{
    ctx::Ctx,
    env::world::blocking,
    hook::spool::{self, Spooled},
    machine::MachineMsg,
    registry::{self, From, Heard, Told},
    task::Owned,
};

/// How often it is looked for events that were kept.
const EVERY: Duration = Duration::from_secs(60);

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
        take_in_all(&ctx, &machine).await;
        let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(16);
        let task = Owned::spawn(async move {
            loop {
                let waits = tokio::select! {
                    biased;
                    Some(waits) = asked.recv() => Some(waits),
                    () = tokio::time::sleep(EVERY) => None,
                };
                take_in_all(&ctx, &machine).await;
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

/// Each event's file goes only once it is recorded. What cannot be recorded now is found again.
async fn take_in_all(ctx: &Ctx, machine: &ActorRef<MachineMsg>) {
    let home = ctx.env.home.clone();
    let kept = match blocking(&ctx.env.blocking, move || spool::take_all(&home)).await {
        Ok(Ok(kept)) => kept,
        Ok(Err(error)) => return tracing::warn!(%error, "what hooks told while no node listened could not be read"),
        Err(lost) => return tracing::error!(%lost, "what hooks told while no node listened could not be read"),
    };
    for (file, spooled) in kept {
        if let Err(failure) = take_in(ctx, machine, spooled).await {
            return tracing::warn!(%failure, "what a hook told while no node listened could not be recorded, and waits");
        }
        forget(ctx, file).await;
    }
}

async fn take_in(ctx: &Ctx, machine: &ActorRef<MachineMsg>, spooled: Spooled) -> Result<(), Failure> {
    if !ctx.config.now().agents_enabled {
        return Ok(());
    }
    let Spooled { at, mut event, process, ancestors, .. } = spooled;
    // What no host started registers nobody.
    let Some(process) = process else { return Ok(()) };
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
