//! The hooks at which a host wants a worktree made or removed. The answer is one path, or nothing; that it was not done shows by
//! the code the process ends with, by which the command that is installed decides what to do itself.
//!
//! Unlike the others these hooks take the time that git takes, and may fail. They never start a node: without one they fail, and
//! so they do where worktrees are not kept.

use std::{
    io::{IsTerminal as _, stdin, stdout},
    os::fd::AsFd as _,
    panic::catch_unwind,
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use frith_actors::{
    api::{
        Request,
        worktree::{EndForHost, ForHost},
    },
    call::{Claims, Envelope, Failed},
    env::real::stopwatch::Stopwatch,
    hook::{
        payload::{self, Parsed},
        stream,
    },
    local::{brief::Brief, door},
};
use frith_store::{
    hosts::{Extra, HookEvent, Host, Instead},
    id::CallId,
    refusal::{Refusal, WorktreeRefusal},
    text::PathText,
};

use crate::{
    environment,
    failure::{Failure, Told},
    render,
};

/// Until when a host's stream is read.
const READ_UNTIL: Duration = Duration::from_secs(5);
/// How much of a payload is kept.
const KEPT_MOST: usize = 8 * 1024 * 1024;
/// How long before the host would give up this process does.
const BEFORE_END: Duration = Duration::from_secs(5);
/// How long a host waits that does not say.
const SECONDS: u32 = 60;

/// Does what the host wants at an event of its.
pub fn carry_out(host: &'static Host, event: &'static HookEvent, instead: Instead) -> ExitCode {
    if stdin().is_terminal() {
        render::hook_to_a_person();
        return ExitCode::FAILURE;
    }
    let done = catch_unwind(|| answer(host, event, instead));
    let done = done.unwrap_or_else(|_| Err(Failure::Broken(Told::new("the hook failed within itself"))));
    done.map_or_else(|failure| failure.report(false, false), |()| ExitCode::SUCCESS)
}

fn answer(host: &'static Host, event: &'static HookEvent, instead: Instead) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let bytes = stream::read_value(stdin().as_fd(), &watch, READ_UNTIL, KEPT_MOST);
    let text = String::from_utf8_lossy(&bytes);
    let parsed = payload::read(host, event.name, &text, &environment::of_host).ok_or_else(|| unread("session"))?;
    let node = Node::find(&parsed, &watch, event)?;
    // It may be the first that is heard of the session, whose agent the worktree is to be.
    node.ask(parsed.event.clone())?;
    let extra = |which, what| payload::extra(host, which, &text).ok_or_else(|| unread(what));
    let (host, session) = (host.id.to_owned(), parsed.event.session.clone());
    match instead {
        Instead::MakeWorktree => {
            let name = extra(Extra::WorktreeCreate, "name of a worktree")?;
            let made = node.ask(ForHost { host, session, folder: node.folder.clone(), name })?;
            written(&made.path, &watch, node.until)
        }
        Instead::RemoveWorktree => {
            let path = PathBuf::from(extra(Extra::WorktreeRemove, "path of a worktree")?);
            match node.ask(EndForHost { host, session, path: path.as_path().into() }) {
                // What is not there is removed, also where it stood in no repository that could be read any more.
                Err(Failure::Refused(_) | Failure::Broken(_)) if path.symlink_metadata().is_err() => Ok(()),
                ended => ended.map(drop),
            }
        }
    }
}

fn unread(what: &str) -> Failure {
    Failure::Broken(Told::new(format!("the payload tells no {what}")))
}

/// Hands the path to the host, which takes the last line of what it reads for it and waits for ever for one that is not there.
fn written(path: &PathText, watch: &Stopwatch, until: Duration) -> Result<(), Failure> {
    let bytes = path.as_bytes();
    if bytes.contains(&b'\n') || !path.as_path().is_absolute() || !path.as_path().is_dir() {
        return Err(Failure::Broken(Told::new(format!("`{path}` is no path that could be answered"))));
    }
    let line = [bytes, b"\n"].concat();
    if stream::write_all(stdout().as_fd(), &line, watch, until) { Ok(()) } else { Err(Failure::NoReader) }
}

/// The node that runs, and until when it is waited for.
struct Node<'w> {
    socket: PathBuf,
    folder: PathText,
    watch: &'w Stopwatch,
    until: Duration,
}

impl<'w> Node<'w> {
    fn find(parsed: &Parsed<'_>, watch: &'w Stopwatch, event: &HookEvent) -> Result<Self, Failure> {
        let here = || std::env::current_dir().ok().map(|folder| folder.as_path().into());
        let folder = parsed.event.folder.clone().or_else(here).ok_or_else(|| unread("folder"))?;
        let socket = environment::home().and_then(|home| door::find(&home).ok().flatten()).ok_or_else(nobody)?;
        let most = Duration::from_secs(event.seconds.unwrap_or(SECONDS).into());
        Ok(Self { socket, folder, watch, until: most.saturating_sub(BEFORE_END) })
    }

    fn ask<R: Request>(&self, request: R) -> Result<R::Reply, Failure> {
        let mut call = [0; 16];
        getrandom::fill(&mut call).map_err(|error| Failure::Broken(Told::because("the system gives no random number", &error)))?;
        let envelope = Envelope {
            call: CallId::from_random(call),
            folder: Some(self.folder.clone()),
            environment: Vec::new(),
            size: None,
            claims: Claims::default(),
            operation: request.into(),
        };
        match Brief::open(&self.socket, self.watch, self.until).and_then(|node| node.ask(envelope)) {
            Some(Ok(reply)) => {
                postcard::from_bytes(&reply).map_err(|error| Failure::Broken(Told::because("the node's reply cannot be read", &error)))
            }
            Some(Err(Failed::Refused(refusal))) if matches!(*refusal, Refusal::Worktree(WorktreeRefusal::Disabled)) => {
                Err(Failure::Unreachable(Told::of(&*refusal)))
            }
            Some(Err(failed)) => Err(failed.into()),
            None => Err(nobody()),
        }
    }
}

fn nobody() -> Failure {
    Failure::Unreachable(Told::new("no node answers").hint("`frith up` starts one"))
}
