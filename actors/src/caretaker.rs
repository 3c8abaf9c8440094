//! What is done rarely: once when a node starts, and then every day. So far that is emptying the trash.
//!
//! Each step decides again in its own transaction, so what was taken out of the trash meanwhile stays.

use std::time::Duration;

use frith_store::{
    error::Failure,
    id::{PlaceId, TaskId},
    rules::trash::emptied_before,
    time::Timestamp,
};

use crate::{ctx::Ctx, handlers::trash, task::Owned};

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many tasks go in one transaction, so that a write that waits has its turn.
const AT_ONCE: usize = 100;

/// Takes care until it is dropped.
pub fn take_care(ctx: Ctx) -> Owned {
    Owned::spawn(async move {
        loop {
            match empty_trash(&ctx).await {
                Ok((0, 0)) => {}
                Ok((tasks, places)) => tracing::info!(tasks, places, "what was deleted long enough ago went for good"),
                Err(failure) => tracing::warn!(%failure, "the trash could not be emptied, and is tried again tomorrow"),
            }
            tokio::time::sleep(EVERY).await;
        }
    })
}

/// Takes everything away that was deleted long enough ago. Answers how many tasks and places.
///
/// # Errors
/// The store broke.
pub async fn empty_trash(ctx: &Ctx) -> Result<(usize, usize), Failure> {
    let before = emptied_before(ctx.db.now());
    let due = ctx.db.read(move |view| Ok((view.tasks_deleted_before(before)?, view.places_deleted_before(before)?)));
    let (tasks, places) = due.await?;
    let mut purged = tasks.len();
    purge(ctx, tasks, None, before).await?;
    for place in &places {
        let place = *place;
        let tasks = ctx.db.read(move |view| Ok(view.all_tasks(place)?)).await?;
        purged += tasks.len();
        purge(ctx, tasks, Some(place), before).await?;
        ctx.db.write(move |tx| trash::purge_place(tx, place, before)).await?;
    }
    Ok((purged, places.len()))
}

async fn purge(ctx: &Ctx, tasks: Vec<TaskId>, place: Option<PlaceId>, before: Timestamp) -> Result<(), Failure> {
    for tasks in tasks.chunks(AT_ONCE) {
        let tasks = tasks.to_vec();
        ctx.db.write(move |tx| trash::purge_tasks(tx, &tasks, place, before)).await?;
    }
    Ok(())
}
