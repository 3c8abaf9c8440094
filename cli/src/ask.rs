//! Asking the node: one request out, its progress told, its reply back. Nothing is decided here.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use frith_actors::{
    api::{Operation, Request},
    call::{Claims, Envelope, FromNode, Progress},
    env::process::AGENT_VARIABLE,
    local::{LocalError, client::Connection},
};
use frith_store::{id::CallId, text::PathText};

use crate::{
    args::Global,
    environment,
    failure::{Failure, Told},
    progress::Story,
    start,
};

/// What every command of this run shares.
#[derive(Debug, Clone)]
pub struct Run {
    /// The flags that all commands take.
    pub global: Global,
    /// The node's home.
    pub home: PathBuf,
}

impl Run {
    /// Asks this machine's node, which is started when none runs.
    ///
    /// # Errors
    /// The node's refusal or failure, or that it could not be asked.
    pub fn ask<R: Request>(&self, request: R) -> Result<R::Reply, Failure> {
        let mut node = start::reach_or_start(&self.home, self.is_quiet())?;
        self.ask_at(&mut node, request)
    }

    /// Asks over a connection that is there.
    ///
    /// # Errors
    /// As [`Run::ask`].
    pub fn ask_at<R: Request>(&self, node: &mut Connection, request: R) -> Result<R::Reply, Failure> {
        node.call(envelope(request.into())?)?;
        let mut story = Story::new(self.is_quiet());
        let reply = wait(node, &mut story)?;
        postcard::from_bytes(&reply).map_err(|error| Failure::Broken(Told::because("the node's reply cannot be read", &error)))
    }

    /// Whether the story of getting the answer is not to be told.
    pub fn is_quiet(&self) -> bool {
        self.global.quiet
    }
}

/// The call around an operation.
///
/// # Errors
/// The system has no randomness.
pub fn envelope(operation: Operation) -> Result<Envelope, Failure> {
    let mut call = [0; 16];
    getrandom::fill(&mut call).map_err(|error| Failure::Broken(Told::because("no call can be named", &error)))?;
    let launches = matches!(operation, Operation::AgentLaunch(_) | Operation::ForkSpinUp(_));
    let draws = launches || (matches!(operation, Operation::AgentAttach(_)) && io::stdin().is_terminal());
    let environment = if launches { environment::all().collect() } else { Vec::new() };
    Ok(Envelope {
        call: CallId::from_random(call),
        folder: std::env::current_dir().ok().map(|folder| PathText::from(folder.as_path())),
        environment: environment.iter().map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into())).collect(),
        size: if draws { terminal_size() } else { None },
        claims: claims(),
        operation,
    })
}

/// What this process's environment says of the agent it belongs to.
pub fn claims() -> Claims {
    Claims {
        agent: environment::read(AGENT_VARIABLE).map(|id| id.to_string_lossy().into_owned()),
        sessions: environment::sessions(),
        server: None,
    }
}

fn terminal_size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Waits for the answer and tells how far it is. Once the node has told of progress, an interrupt says that it goes on.
///
/// # Errors
/// The node's refusal or failure, or that it cannot be understood.
pub fn wait(node: &mut Connection, story: &mut Story) -> Result<Vec<u8>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    loop {
        match node.read_until(|| interrupted.load(Ordering::Relaxed)) {
            Ok(FromNode::Answer(answer)) => return Ok(answer?),
            Ok(FromNode::Progress(progress)) => {
                if story.last().is_none() {
                    notice_interrupts(&interrupted)?;
                }
                story.tell(&progress);
            }
            Ok(FromNode::Terminal(_)) => return Err(Failure::Broken(Told::new("the node showed a terminal before it answered"))),
            Err(LocalError::Interrupted) => {
                story.end();
                return Err(goes_on(story));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn notice_interrupts(flag: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let noticed = signal_hook::flag::register(signal, Arc::clone(flag));
        noticed.map_err(|error| Failure::Broken(Told::because("interrupts cannot be noticed", &error)))?;
    }
    Ok(())
}

fn goes_on(story: &Story) -> Failure {
    let doing = story.last().map(|what| format!(" ({what})")).unwrap_or_default();
    let told = Told::new(format!("interrupted; the node goes on with it{doing}"));
    Failure::Broken(told.hint("`frith workspace list`, `frith agents sessions` and `frith worktree list` show what came of it"))
}

/// A step of the story that the command itself takes.
pub fn step(story: &mut Story, what: &str) {
    story.tell(&Progress { what: what.to_owned(), part: None });
}
