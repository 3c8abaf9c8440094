//! Worktrees: the path is the answer of whatever makes or takes over one, so that a shell can go there; the rest is its story.

use std::process::ExitCode;

use frith_actors::api::{Request, worktree as api};
use frith_store::text::PathText;

use super::{Done, YES, answer, show};
use crate::{
    args::Worktree,
    ask::Run,
    progress,
    render::{self, Look, Paper},
};

pub(super) fn worktree(run: &Run, verb: Worktree) -> Done {
    match verb {
        Worktree::Add(request) => stands(run, request, |added| &added.path, render::worktree_added),
        Worktree::Adopt(request) => stands(run, request, |adopted| &adopted.path, render::worktree_adopted),
        Worktree::Claim(request) => stands(run, request, |adopted| &adopted.path, render::worktree_adopted),
        Worktree::List(request) => list(run, request),
        Worktree::Remove(request) => answer(run, request, render::worktree_removed),
        Worktree::Gc(args) => gc(run, args.request(run.global.yes)),
        Worktree::Clean(args) => clean(run, args.request(run.global.yes)),
        Worktree::Whoami(request) => answer(run, request, render::worktree_whoami),
    }
}

/// Asks for a worktree: where it stands goes to standard output alone, byte for byte.
fn stands<R: Request>(run: &Run, request: R, path: impl FnOnce(&R::Reply) -> &PathText, story: impl FnOnce(&R::Reply, &mut Paper)) -> Done {
    let reply = run.ask(request)?;
    if run.global.json {
        return show(run, &reply, story);
    }
    if !run.is_quiet() {
        let mut paper = Paper::new(Look::of(&run.global));
        story(&reply, &mut paper);
        progress::say(paper.text().trim_end());
    }
    render::put_paths([path(&reply)]).map(|()| YES)
}

fn list(run: &Run, request: api::List) -> Done {
    let reply = run.ask(request)?;
    if run.is_quiet() && !run.global.json {
        return render::put_paths(reply.worktrees.iter().map(|row| &row.path)).map(|()| YES);
    }
    show(run, &reply, render::worktrees)
}

/// What failed for one is told in its row, and by the code; the others went on.
fn gc(run: &Run, request: api::Gc) -> Done {
    let swept = run.ask(request)?;
    show(run, &swept, render::worktrees_swept)?;
    Ok(ExitCode::from(u8::from(swept.worktrees.iter().any(|row| row.fault.is_some()))))
}

fn clean(run: &Run, request: api::Clean) -> Done {
    let cleaned = run.ask(request)?;
    show(run, &cleaned, render::caches_cleaned)?;
    Ok(ExitCode::from(u8::from(cleaned.caches.iter().any(|cache| cache.fault.is_some()))))
}
