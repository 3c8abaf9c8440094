//! The **fork** actor: one fork's folder on this machine. Its mailbox serialises making, looking and removing, so a folder
//! is never removed while it is made.
//!
//! It decides nothing: it carries out a folder plan, and removes only what is as it was seen.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use frith_store::git::{CommandLine, FolderPlan, FolderState, MadeFolder, MakeError, Progress as Made, RemoveError, Removed, Step, Watch};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::mpsc;

use crate::{
    call::Progress,
    ctx::Ctx,
    env::world::{WorkLost, blocking},
};

/// What stops the making of a folder.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What the fork actor does.
pub enum ForkMsg {
    /// Makes the folder. What happens is told line by line.
    Make {
        /// What was decided.
        plan: Box<FolderPlan>,
        /// Stops it.
        cancel: Cancel,
        /// Where lines go, for the terminal and whoever waits.
        told: mpsc::UnboundedSender<Told>,
        /// The folder, or why there is none.
        reply: RpcReplyPort<Result<MadeFolder, MakeFault>>,
    },
    /// Looks at the folder as it is now.
    Look(RpcReplyPort<Result<FolderState, LookFault>>),
    /// Removes the folder if it is still as it was seen.
    Remove {
        /// As it was seen.
        seen: Box<FolderState>,
        /// What was removed, or why it was kept.
        reply: RpcReplyPort<Result<Removed, LookFault>>,
    },
}

/// One thing to tell while a folder is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A line for the terminal.
    Line(String),
    /// How far it is, for whoever waits.
    Progress(Progress),
}

/// Why a folder was not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeFault {
    /// It could not be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The work was lost.
    #[error(transparent)]
    Lost(#[from] WorkLost),
}

/// Why a folder could not be looked at or removed.
#[derive(Debug, thiserror::Error)]
pub enum LookFault {
    /// It was kept.
    #[error(transparent)]
    Remove(#[from] RemoveError),
    /// The work was lost.
    #[error(transparent)]
    Lost(#[from] WorkLost),
}

/// The actor.
pub struct Fork;

/// What it was started with.
pub struct ForkState {
    ctx: Ctx,
    fork: String,
}

impl Actor for Fork {
    type Msg = ForkMsg;
    type State = ForkState;
    type Arguments = (Ctx, String);

    async fn pre_start(&self, _: ActorRef<ForkMsg>, (ctx, fork): (Ctx, String)) -> Result<ForkState, ActorProcessingErr> {
        Ok(ForkState { ctx, fork })
    }

    async fn handle(&self, _: ActorRef<ForkMsg>, message: ForkMsg, state: &mut ForkState) -> Result<(), ActorProcessingErr> {
        // A caller that went away hears nothing, and the folder is as it is.
        match message {
            ForkMsg::Make { plan, cancel, told, reply } => drop(reply.send(state.make(*plan, cancel, told).await)),
            ForkMsg::Look(reply) => drop(reply.send(state.look().await)),
            ForkMsg::Remove { seen, reply } => drop(reply.send(state.remove(*seen).await)),
        }
        Ok(())
    }
}

impl ForkState {
    async fn make(&self, plan: FolderPlan, cancel: Cancel, told: mpsc::UnboundedSender<Told>) -> Result<MadeFolder, MakeFault> {
        let mut watch = Watching::new(&self.ctx, cancel, Some(told));
        let folders = Arc::clone(&self.ctx.env.folders);
        Ok(blocking(&self.ctx.env.blocking, move || folders.make(&plan, &mut watch)).await??)
    }

    async fn look(&self) -> Result<FolderState, LookFault> {
        let (folders, fork) = (Arc::clone(&self.ctx.env.folders), self.fork.clone());
        Ok(blocking(&self.ctx.env.blocking, move || folders.seen(&fork)).await??)
    }

    async fn remove(&self, seen: FolderState) -> Result<Removed, LookFault> {
        let mut watch = Watching::new(&self.ctx, Cancel::default(), None);
        let (folders, fork) = (Arc::clone(&self.ctx.env.folders), self.fork.clone());
        Ok(blocking(&self.ctx.env.blocking, move || folders.remove(&fork, &seen, &mut watch)).await??)
    }
}

/// Follows work on a folder: its clock, its stop, what it tells, and the points at which a test may end the node.
pub struct Watching {
    ctx: Ctx,
    began: tokio::time::Instant,
    cancel: Cancel,
    told: Option<mpsc::UnboundedSender<Told>>,
}

impl Watching {
    /// Follows from now.
    pub fn new(ctx: &Ctx, cancel: Cancel, told: Option<mpsc::UnboundedSender<Told>>) -> Self {
        Self { ctx: ctx.clone(), began: tokio::time::Instant::now(), cancel, told }
    }

    fn tell(&self, told: Told) {
        if let Some(sender) = &self.told {
            // Who listened went away; the work goes on.
            let _ = sender.send(told);
        }
    }

    fn line(&self, text: impl Into<String>) {
        self.tell(Told::Line(text.into()));
    }

    fn part(&self, what: &str, part: Option<(u64, u64)>) {
        self.tell(Told::Progress(Progress { what: what.to_owned(), part }));
    }
}

impl Watch for Watching {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn progress(&mut self, progress: Made) {
        match progress {
            Made::Command(CommandLine { folder, text }) => {
                self.part(&text, None);
                self.line(format!("{}$ {text}", folder.display()));
            }
            Made::Output { line, percent } => {
                self.part(&line, percent.map(|percent| (percent.into(), 100)));
                self.line(line);
            }
            Made::Copying { from, to } => {
                let line = format!("copying {} to {}, which is in no git repository", from.display(), to.display());
                self.part(&line, None);
                self.line(line);
            }
            Made::Copied(counts) => self.part(&format!("copied {} files, {} bytes", counts.files, counts.bytes), None),
            Made::Reusing { folder } => self.line(format!("using the folder this fork has: {}", folder.display())),
            Made::Waiting { repository } => self.line(format!("waiting for another change of {}", repository.display())),
            Made::SubmodulesEmpty { count } => self.line(format!("{count} submodules were left empty, as git leaves them")),
            Made::HookFailed { reason } => self.line(format!("the repository's post-checkout hook failed: {reason}")),
        }
    }

    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.ctx.env.faults.reached(fault_point(step));
        ControlFlow::Continue(())
    }
}

fn fault_point(step: Step) -> &'static str {
    match step {
        Step::Stage => "folder.stage",
        Step::Record => "folder.record",
        Step::Forget => "folder.forget",
        Step::Register => "folder.register",
        Step::CheckOut => "folder.check-out",
        Step::Copy => "folder.copy",
        Step::Include => "folder.include",
        Step::Place => "folder.place",
        Step::Link => "folder.link",
        Step::Hook => "folder.hook",
        Step::Unstage => "folder.unstage",
        Step::SetAside => "folder.set-aside",
        Step::DropBranch => "folder.drop-branch",
        Step::Delete => "folder.delete",
        Step::Unlock => "folder.unlock",
        Step::Lock => "folder.lock",
        Step::Decide => "folder.decide",
    }
}
