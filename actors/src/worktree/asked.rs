//! Who asks something of worktrees, from where, and in which repository.

use std::path::{Path, PathBuf};

use frith_store::{
    git::{Checkout, Inventory, Judged, Limits, ReadError, Removal, Want},
    id::{AgentId, CallId},
    model::{Agent, WorktreeId},
    refusal::{Refusal, WorktreeRefusal},
    rules::worktree::{Asker, can_own},
    text::PathText,
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::{
    call::{Failed, Progress},
    caller::{Caller, Who},
    config::NodeConfig,
    ctx::Ctx,
    env::world::blocking,
    fork::{Cancel, Told, Watching},
    task::Owned,
};

/// A call about worktrees.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Who asks.
    pub caller: Caller,
    /// The call.
    pub call: CallId,
    /// Where the caller stands.
    pub folder: PathText,
    /// Who hears how far it is; none where nobody listens.
    pub progress: Option<mpsc::Sender<Progress>>,
    /// Processes that wait for the answer, and so keep no worktree from going.
    pub exempt: Vec<u32>,
}

impl Asked {
    /// A path that was named, from where the caller stands.
    pub fn path(&self, named: &PathText) -> PathBuf {
        self.folder.as_path().join(named.as_path())
    }

    /// The repository in which the caller stands, and everything that stands in it.
    ///
    /// # Errors
    /// Refused where there is none, or it cannot be read.
    pub async fn inventory(&self, ctx: &Ctx) -> Result<Inventory, Failed> {
        inventory(ctx, self.folder.clone()).await
    }

    /// What was answered to the same call before, if it was.
    ///
    /// # Errors
    /// The store broke, or its answer is of another kind.
    pub async fn earlier<T: DeserializeOwned>(&self, ctx: &Ctx) -> Result<Option<T>, Failed> {
        let call = self.call;
        let earlier = ctx.db.read(move |view| Ok(view.recorded_call(call)?)).await?;
        let read = |bytes: Vec<u8>| postcard::from_bytes(&bytes);
        earlier.map(read).transpose().map_err(|error| Failed::broken_by("the recorded answer cannot be read", &error))
    }

    /// What git and the disk say of the checkouts of an inventory that are wanted; none of the others.
    ///
    /// # Errors
    /// The work was lost.
    pub async fn judged(
        &self,
        ctx: &Ctx,
        inventory: &Inventory,
        want: Want,
        is_wanted: impl Fn(&Checkout) -> bool,
    ) -> Result<Vec<Option<Judged>>, Failed> {
        let which: Vec<usize> = inventory.checkouts.iter().enumerate().filter(|(_, one)| is_wanted(one)).map(|(n, _)| n).collect();
        let (worktrees, of, asked_for) = (ctx.env.worktrees.clone(), inventory.clone(), which.clone());
        let (mut watch, _passes) = self.watch(ctx);
        let found = blocking(&ctx.env.blocking, move || worktrees.judge(&of, &asked_for, want, &mut watch));
        let mut judged: Vec<Option<Judged>> = inventory.checkouts.iter().map(|_| None).collect();
        for (n, one) in which.into_iter().zip(found.await.map_err(Failed::from_work)?) {
            judged[n] = Some(one);
        }
        Ok(judged)
    }

    /// A watch that tells the caller how far the work is. The task that passes it on has to be kept.
    pub fn watch(&self, ctx: &Ctx) -> (Watching, Option<Owned>) {
        let Some(progress) = self.progress.clone() else { return (Watching::new(ctx, Cancel::default(), None), None) };
        let (told, mut tells) = mpsc::unbounded_channel();
        let passes = Owned::spawn(async move {
            while let Some(told) = tells.recv().await {
                if let Told::Progress(part) = told {
                    // Whoever reads no progress misses it.
                    let _ = progress.try_send(part);
                }
            }
        });
        (Watching::new(ctx, Cancel::default(), Some(told)), Some(passes))
    }

    /// Who asks, as it matters for whose a worktree is: an agent by its session, whatever it says; a person by what it says.
    ///
    /// # Errors
    /// The words cannot name an owner, or the store broke.
    pub async fn asker(&self, ctx: &Ctx, owner: Option<&str>) -> Result<Asker, Failed> {
        match &self.caller.who {
            Who::Agent { id, .. } => asker_of(ctx, *id).await,
            Who::Person(_) => Ok(Asker { agent: None, owner: owner.map(can_own).transpose().map_err(Refusal::from)? }),
            Who::Unplaced | Who::OneOf { .. } => Ok(Asker::default()),
        }
    }
}

/// An agent as one who asks: in words it is its host and its model.
pub(super) async fn asker_of(ctx: &Ctx, id: AgentId) -> Result<Asker, Failed> {
    let agent = ctx.db.read(move |view| view.require_agent(id)).await?;
    Ok(Asker { agent: Some(id), owner: Some(owner_of(&agent)) })
}

/// The owner of what an agent has, in words that can stand in a lock.
fn owner_of(agent: &Agent) -> String {
    let plain = |text: &str| -> String {
        let kept: String = text.chars().filter(|c| (c.is_ascii_graphic() || *c == ' ') && *c != '|').take(40).collect();
        kept.trim().to_owned()
    };
    let host = plain(&agent.host);
    let model = agent.model.as_deref().map(plain).filter(|model| !model.is_empty());
    model.map_or(host.clone(), |model| format!("{host} / {model}"))
}

/// The repository of a folder, and everything that stands in it.
pub(super) async fn inventory(ctx: &Ctx, folder: PathText) -> Result<Inventory, Failed> {
    let worktrees = ctx.env.worktrees.clone();
    let asked = folder.clone();
    let found = blocking(&ctx.env.blocking, move || worktrees.inventory(asked.as_path())).await.map_err(Failed::from_work)?;
    match found {
        Ok(Some(inventory)) => Ok(inventory),
        Ok(None) => Err(refused(WorktreeRefusal::NoRepository { folder })),
        Err(error) => Err(refused(unreadable(&error))),
    }
}

/// A folder without symbolic links; none where it is not there.
pub async fn real(ctx: &Ctx, folder: PathBuf) -> Option<PathText> {
    let folders = ctx.env.folders.clone();
    blocking(&ctx.env.blocking, move || folders.real(&folder)).await.ok().flatten()
}

/// The commit with which the history of a repository began, by which its clones on other machines are known.
pub(super) async fn history(ctx: &Ctx, inventory: &Inventory) -> Option<String> {
    let (folders, top) = (ctx.env.folders.clone(), inventory.main.clone().or_else(|| inventory.current.clone())?);
    let found = blocking(&ctx.env.blocking, move || folders.repository(&top)).await.ok().flatten();
    found.map(|identity| identity.root)
}

/// The folder that says which repository a named worktree is of: the worktree itself, where the name is the path of one that is
/// there, wherever the caller stands; else where the caller stands.
pub async fn folder_of(ctx: &Ctx, asked: &Asked, named: &PathText) -> PathText {
    if let Some(real) = real(ctx, asked.path(named)).await
        && let Ok(found) = inventory(ctx, real.clone()).await
        && found.checkouts.iter().any(|one| one.path == real.as_path())
    {
        return real;
    }
    asked.folder.clone()
}

/// The git folder that all worktrees share of the repository a folder is in: by this an actor is found.
///
/// # Errors
/// As [`Asked::inventory`].
pub async fn named_repository(ctx: &Ctx, folder: &PathText) -> Result<PathBuf, Failed> {
    Ok(inventory(ctx, folder.clone()).await?.common_dir)
}

/// How a repository is named to people: by its main checkout.
pub(super) fn repository(inventory: &Inventory) -> PathText {
    PathText::from(inventory.main.as_deref().unwrap_or(&inventory.common_dir))
}

pub(super) fn refused(refusal: WorktreeRefusal) -> Failed {
    Refusal::from(refusal).into()
}

pub(super) fn unreadable(error: &ReadError) -> WorktreeRefusal {
    WorktreeRefusal::Failed { fact: error.to_string(), way_out: error.hint() }
}

/// What a making or a removal may take.
pub(super) fn limits(config: &NodeConfig) -> Limits {
    Limits { making: config.checkout_timeout, ..Limits::default() }
}

/// The removal of a worktree, or of what git remembers of it.
pub(super) fn removal(ctx: &Ctx, inventory: &Inventory, path: PathBuf, id: WorktreeId) -> Removal {
    let (home, repository) = (ctx.env.home.to_path_buf(), inventory.common_dir.clone());
    Removal { home, repository, path, id, limits: limits(&ctx.config.now()) }
}

/// The configuration that holds in a repository, and the folder below which its worktrees are made.
pub(super) async fn configured(ctx: &Ctx, inventory: &Inventory) -> Result<(std::sync::Arc<NodeConfig>, PathBuf), Failed> {
    let top = inventory.main.clone().or_else(|| inventory.current.clone());
    let config = ctx.config.clone();
    let found = blocking(&ctx.env.blocking, move || config.in_repository(top.as_deref())).await.map_err(Failed::from_work)?;
    let root = root(ctx, &found);
    Ok((found, root))
}

/// Below which folder worktrees are made.
pub(super) fn root(ctx: &Ctx, config: &NodeConfig) -> PathBuf {
    config.worktree_root.clone().unwrap_or_else(|| ctx.env.home.join("worktrees"))
}

/// Whether a folder is another one, or lies in it.
pub(super) fn is_in(folder: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(folder).starts_with(real(other))
}
