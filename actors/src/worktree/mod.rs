//! The **worktrees** actor, one for each repository that somebody works with: it owns what is under way there, so that a caller that
//! goes away leaves nothing half done, and asks origin once for all who wait for it.
//!
//! It decides nothing and remembers no verdict. Who has git's lock on the repository is told by a lock file, which other processes
//! heed too; whose a worktree is, by git's own lock and by claims in the store.

mod add;
mod adopt;
mod asked;
mod caches;
mod facts;
mod for_host;
mod gc;
mod list;
mod remove;

use std::{collections::VecDeque, path::PathBuf, time::Duration};

use frith_store::{git::GitError, refusal::Refusal};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use crate::{
    api::worktree::{Added, Adopted, Cleaned, RemovedWorktree, Swept},
    call::Failed,
    ctx::Ctx,
    env::world::blocking,
    fork::Watching,
    task::Owned,
};

pub use asked::{Asked, folder_of, named_repository, real as real_folder};
pub use for_host::{complete_pending, disabled, end_for_host, gone_already, make_for_host, own_call, sub_agent_ended};
pub use list::{list, whoami};

/// How long nobody may have asked before a repository's actor ends.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// What is asked of a repository's worktrees.
pub enum WorktreesMsg {
    /// Make one.
    Add(Asked, add::Wanted, RpcReplyPort<Result<Added, Failed>>),
    /// Take one over.
    Adopt(Asked, adopt::Wanted, RpcReplyPort<Result<Adopted, Failed>>),
    /// Remove one.
    Remove(Asked, remove::Wanted, RpcReplyPort<Result<RemovedWorktree, Failed>>),
    /// Sweep.
    Gc(Asked, crate::api::worktree::Gc, RpcReplyPort<Result<Swept, Failed>>),
    /// Delete caches.
    Clean(Asked, crate::api::worktree::Clean, RpcReplyPort<Result<Cleaned, Failed>>),
    /// Ask origin for the latest commit of this branch.
    Fetch(String, RpcReplyPort<Result<(), String>>),
    /// Origin answered, or did not.
    Fetched(Result<(), String>),
    /// Time to look whether anybody still asks.
    Look,
}

pub use add::Wanted as WantedNew;
pub use adopt::Wanted as WantedClaim;
pub use remove::Wanted as WantedGone;

/// The actor.
pub struct WorktreesActor;

/// Its state.
pub struct WorktreesState {
    ctx: Ctx,
    common_dir: PathBuf,
    under_way: Vec<Owned>,
    fetching: Option<Fetching>,
    /// Those that asked while origin was being asked for somebody else: what it says then may be older than their asking.
    next: VecDeque<(String, RpcReplyPort<Result<(), String>>)>,
    used: Instant,
    _looks: Owned,
}

/// Origin is being asked.
struct Fetching {
    branch: String,
    waiting: Vec<RpcReplyPort<Result<(), String>>>,
    _task: Owned,
}

impl Actor for WorktreesActor {
    type Msg = WorktreesMsg;
    type State = WorktreesState;
    type Arguments = (Ctx, PathBuf);

    async fn pre_start(
        &self,
        myself: ActorRef<WorktreesMsg>,
        (ctx, common_dir): (Ctx, PathBuf),
    ) -> Result<WorktreesState, ActorProcessingErr> {
        let looks = Owned::spawn(async move {
            loop {
                tokio::time::sleep(IDLE).await;
                if myself.cast(WorktreesMsg::Look).is_err() {
                    return;
                }
            }
        });
        Ok(WorktreesState {
            ctx,
            common_dir,
            under_way: Vec::new(),
            fetching: None,
            next: VecDeque::new(),
            used: Instant::now(),
            _looks: looks,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<WorktreesMsg>,
        message: WorktreesMsg,
        state: &mut WorktreesState,
    ) -> Result<(), ActorProcessingErr> {
        let ctx = state.ctx.clone();
        if !matches!(message, WorktreesMsg::Look) {
            state.used = Instant::now();
        }
        match message {
            WorktreesMsg::Add(asked, wanted, reply) => {
                state.own(async move { drop(reply.send(add::add(&ctx, &myself, asked, wanted).await)) });
            }
            WorktreesMsg::Adopt(asked, wanted, reply) => {
                state.own(async move { drop(reply.send(adopt::adopt(&ctx, asked, wanted).await)) })
            }
            WorktreesMsg::Remove(asked, wanted, reply) => {
                state.own(async move { drop(reply.send(remove::remove(&ctx, &myself, asked, wanted).await)) });
            }
            WorktreesMsg::Gc(asked, wanted, reply) => {
                state.own(async move { drop(reply.send(gc::gc(&ctx, &myself, asked, wanted).await)) })
            }
            WorktreesMsg::Clean(asked, wanted, reply) => {
                state.own(async move { drop(reply.send(caches::clean(&ctx, asked, wanted).await)) });
            }
            WorktreesMsg::Fetch(branch, reply) => state.fetch(&myself, branch, reply),
            WorktreesMsg::Fetched(outcome) => state.fetched(&myself, &outcome),
            WorktreesMsg::Look => state.look(&myself),
        }
        Ok(())
    }
}

impl WorktreesState {
    /// Carries something out that goes on though its caller goes away.
    fn own(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.under_way.retain(|task| !task.is_finished());
        self.under_way.push(Owned::spawn(work));
    }

    /// Asks origin. One answer serves all who asked before it was asked for.
    fn fetch(&mut self, myself: &ActorRef<WorktreesMsg>, branch: String, reply: RpcReplyPort<Result<(), String>>) {
        self.next.push_back((branch, reply));
        if self.fetching.is_none() {
            self.fetch_next(myself);
        }
    }

    fn fetch_next(&mut self, myself: &ActorRef<WorktreesMsg>) {
        let Some((branch, first)) = self.next.pop_front() else { return };
        let (same, other) = std::mem::take(&mut self.next).into_iter().partition(|(asked, _)| *asked == branch);
        self.next = other;
        let same: VecDeque<(String, _)> = same;
        let waiting = std::iter::once(first).chain(same.into_iter().map(|(_, reply)| reply)).collect();
        let (ctx, common_dir, wanted, myself) = (self.ctx.clone(), self.common_dir.clone(), branch.clone(), myself.clone());
        let task = Owned::spawn(async move {
            let longest = ctx.config.now().fetch_timeout;
            let mut watch = Watching::new(&ctx, crate::fork::Cancel::default(), None);
            let worktrees = ctx.env.worktrees.clone();
            let asked = move || worktrees.fetch(&common_dir, &wanted, longest, &mut watch).map_err(|error| why_away(&error));
            let outcome = blocking(&ctx.env.blocking, asked).await.unwrap_or_else(|lost| Err(lost.to_string()));
            // An actor that ended meanwhile is asked anew.
            let _ = myself.cast(WorktreesMsg::Fetched(outcome));
        });
        self.fetching = Some(Fetching { branch, waiting, _task: task });
    }

    fn fetched(&mut self, myself: &ActorRef<WorktreesMsg>, outcome: &Result<(), String>) {
        if let Some(Fetching { branch, waiting, .. }) = self.fetching.take() {
            tracing::debug!(branch, ok = outcome.is_ok(), "origin was asked");
            for reply in waiting {
                let _ = reply.send(outcome.clone());
            }
        }
        self.fetch_next(myself);
    }

    fn look(&mut self, myself: &ActorRef<WorktreesMsg>) {
        self.under_way.retain(|task| !task.is_finished());
        if self.under_way.is_empty() && self.fetching.is_none() && self.used.elapsed() >= IDLE {
            myself.stop(None);
        }
    }
}

/// Why origin did not answer, in git's first words about it.
fn why_away(error: &GitError) -> String {
    let fatal = |lines: &[String]| lines.iter().find_map(|line| line.strip_prefix("fatal: ").map(str::to_owned));
    match error {
        GitError::Refused { lines, .. } => fatal(lines).unwrap_or_else(|| error.to_string()),
        other => other.to_string(),
    }
}

/// Asks origin for the latest of a branch, with all others who do; a reason when it does not answer.
async fn fetched(actor: &ActorRef<WorktreesMsg>, branch: &str) -> Result<(), String> {
    use ractor::rpc::CallResult;
    match actor.call(|reply| WorktreesMsg::Fetch(branch.to_owned(), reply), None).await {
        Ok(CallResult::Success(outcome)) => outcome,
        _ => Err("the node is ending".to_owned()),
    }
}

/// The refusal that a repository's actor is away, which is started again at the next call.
pub fn away() -> Failed {
    Refusal::Stale.into()
}
