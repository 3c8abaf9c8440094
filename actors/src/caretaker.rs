//! What is done rarely, once when a node starts and then every day: the trash is emptied, mail that was read long ago goes,
//! permission rules are taken back whose file could not be changed when their agent ended, and what was seen of agents that ended
//! long ago goes.
//!
//! Each step decides again in its own transaction, so what was taken out of the trash meanwhile stays; and one thing that
//! cannot be taken away keeps no other from going.

use std::time::Duration;

use frith_store::{
    error::Failure,
    id::{PlaceId, TaskId},
};

use crate::{
    ctx::Ctx,
    given::take_back_left,
    handlers::trash::{Item, look_through, purge_place, purge_tasks},
    task::Owned,
};

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many tasks go in one transaction, so that a write that waits has its turn.
const AT_ONCE: usize = 100;

/// Takes care until it is dropped. The first look is over when this returns; what it found goes after that.
pub async fn take_care(ctx: Ctx) -> Owned {
    let mut due = look(&ctx).await;
    Owned::spawn(async move {
        loop {
            empty_trash(&ctx, due).await;
            bury_mail(&ctx).await;
            take_back_left(&ctx).await;
            forget_agents(&ctx).await;
            tokio::time::sleep(EVERY).await;
            due = look(&ctx).await;
        }
    })
}

async fn look(ctx: &Ctx) -> Vec<Item> {
    ctx.db.write(look_through).await.unwrap_or_else(|failure| {
        tracing::warn!(%failure, "the trash could not be looked through, which is tried again tomorrow");
        Vec::new()
    })
}

async fn empty_trash(ctx: &Ctx, due: Vec<Item>) {
    let tasks: Vec<TaskId> = due.iter().filter_map(|item| if let Item::Task(task) = item { Some(*task) } else { None }).collect();
    let places = due.iter().filter_map(|item| if let Item::Place(place) = item { Some(*place) } else { None });
    for some in tasks.chunks(AT_ONCE) {
        let some = some.to_vec();
        told(ctx.db.write(move |tx| purge_tasks(tx, &some)).await);
    }
    for place in places {
        told(empty(ctx, place).await);
    }
    if !due.is_empty() {
        tracing::info!(tasks = tasks.len(), places = due.len() - tasks.len(), "what was deleted long enough ago went for good");
    }
}

/// Takes a place away, some tasks at a time.
async fn empty(ctx: &Ctx, place: PlaceId) -> Result<(), Failure> {
    while ctx.db.write(move |tx| purge_place(tx, place, AT_ONCE)).await? {}
    Ok(())
}

/// Takes away what was read long ago, one segment of the outbox at a time.
async fn bury_mail(ctx: &Ctx) {
    let mut segments = 0;
    loop {
        match ctx.db.write(|tx| Ok(tx.bury_read_mail()?)).await {
            Ok(true) => segments += 1,
            Ok(false) => break,
            Err(failure) => {
                tracing::warn!(%failure, "mail that was read long ago could not be taken away, and stays until tomorrow");
                break;
            }
        }
    }
    if segments > 0 {
        tracing::info!(segments, "mail that was read long ago went for good");
    }
}

/// Forgets what was seen of agents that ended long ago.
async fn forget_agents(ctx: &Ctx) {
    match ctx.db.write(|tx| Ok(tx.forget_old_sightings()?)).await {
        Ok(0) => {}
        Ok(agents) => tracing::info!(agents, "what was seen of agents that ended long ago went"),
        Err(failure) => tracing::warn!(%failure, "what was seen of agents that ended long ago could not be taken away, and stays"),
    }
}

fn told(purged: Result<(), Failure>) {
    if let Err(failure) = purged {
        tracing::warn!(%failure, "something in the trash could not be taken away, and stays");
    }
}
