//! Deleting build caches: folders whose program tagged them as such, and that nobody has used for a while.

use std::path::PathBuf;

use frith_store::{
    git::{Checkout, Standing, Want},
    refusal::WorktreeRefusal,
    text::PathText,
    time::Timestamp,
};

use super::asked::{Asked, is_in, refused};
use crate::{
    api::worktree::{Clean, Cleaned, CleanedCache},
    call::Failed,
    ctx::Ctx,
    env::{worktrees::Shed, world::blocking},
};

/// Tells which caches are idle, and deletes those when that is wanted.
pub(super) async fn clean(ctx: &Ctx, asked: Asked, wanted: Clean) -> Result<Cleaned, Failed> {
    let inventory = asked.inventory(ctx).await?;
    let named: Vec<PathBuf> = wanted.paths.iter().map(|path| asked.path(path)).collect();
    for path in &named {
        if inventory.around(path).is_none() {
            return Err(refused(WorktreeRefusal::NotOfRepository { path: PathText::from(path.as_path()) }));
        }
    }
    let is_named = |one: &Checkout| named.iter().any(|path| inventory.around(path).is_some_and(|found| found.path == one.path));
    let is_current = |one: &Checkout| is_in(asked.folder.as_path(), &one.path);
    let is_wanted = |one: &Checkout| {
        let is_there = matches!(one.standing, Standing::Linked | Standing::Main);
        is_there && if named.is_empty() { !is_current(one) } else { is_named(one) }
    };
    let judged = asked.judged(ctx, &inventory, Want::VerdictAndSizes, is_wanted).await?;
    let oldest = Timestamp::from_ms(ctx.env.clock.now().ms().saturating_sub(i64::try_from(wanted.idle_ms).unwrap_or(i64::MAX)));
    let mut caches = Vec::new();
    for (checkout, judged) in inventory.checkouts.iter().zip(judged) {
        for cache in judged.and_then(|judged| judged.sizes).into_iter().flat_map(|sizes| sizes.caches) {
            let modified = cache.newest_ms.map(Timestamp::from_ms);
            caches.push(CleanedCache {
                path: PathText::from(cache.path.as_path()),
                worktree: PathText::from(checkout.path.as_path()),
                bytes: cache.bytes,
                goes: modified.is_some_and(|modified| modified < oldest),
                modified,
                fault: None,
            });
        }
    }
    if wanted.yes {
        for cache in caches.iter_mut().filter(|cache| cache.goes) {
            shed(ctx, cache, oldest).await?;
        }
    }
    Ok(Cleaned { caches, done: wanted.yes })
}

/// Deletes a cache, or says in its row why it stays.
pub(super) async fn shed(ctx: &Ctx, row: &mut CleanedCache, unless_written_after: Timestamp) -> Result<(), Failed> {
    let (worktrees, worktree, cache) = (ctx.env.worktrees.clone(), row.worktree.clone(), row.path.clone());
    let mut watch = crate::fork::Watching::new(ctx, crate::fork::Cancel::default(), None);
    let deleted = blocking(&ctx.env.blocking, move || {
        let shed = Shed { worktree: worktree.as_path(), cache: cache.as_path(), unless_written_after };
        worktrees.shed(shed, &mut watch)
    });
    match deleted.await.map_err(Failed::from_work)? {
        Ok(bytes) => row.bytes = bytes,
        Err(error) => row.fault = Some(error.to_string()),
    }
    Ok(())
}
