//! The terminal actor: it owns one agent's process and everything shown of it.
//!
//! Life: opened → starting → running → ended, or opened → ended where a stop came first or the start failed. The end comes
//! exactly once and is told once to the owner, to whoever asked to stop, and to every viewer. An ended terminal keeps its
//! last screen for viewers until its owner stops the actor.
//!
//! Starting and ending take long and are tasks; their outcome comes back as a message. Output comes as messages too, no
//! more of them at once than [`OUTPUT_AT_ONCE`], so a flood slows the agent and not the node. Whoever drops the actor,
//! kills it or sees it panic has ended the agent with it: the hand on the process kills its tree when dropped.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::core::TerminalCore;
use super::prompt::{Attention, Keys, Patterns, QUIET, Seen};
use super::queue::{Taken, ViewerQueue};
use super::viewers::{Look, ViewerFacts, ViewerId};
use super::wire::{TerminalEnd, ToViewer};
use crate::env::process::{
    InputRefused, Launch, ProcessEnd, ProcessHandle, ProcessOutput, ProcessRef, ProcessSignal, Processes, RunningProcess, StartError,
    TerminalSize,
};

/// Pieces of output that may wait for the actor.
const OUTPUT_AT_ONCE: usize = 4;

/// Between a line that is typed for the node and a look at what came of it.
const BEFORE_ENTER: Duration = Duration::from_millis(200);
/// How often it is looked for on the screen before it is sent unseen, or not at all.
const LOOKS_BEFORE_ENTER: u32 = 5;

/// The actor. Spawn it with [`TerminalArgs`].
pub struct Terminal;

/// What a terminal is made of.
pub struct TerminalArgs {
    /// The door to processes.
    pub processes: Arc<dyn Processes>,
    /// Its size until a viewer's counts.
    pub size: TerminalSize,
    /// What its screen is read by; none where nothing is known of its kind.
    pub patterns: Option<Patterns>,
    /// Told what its screen says, whenever that was read. A host's own word that it waits would be told here too.
    pub seen: watch::Sender<Seen>,
    /// Called once, when it ended. An actor that is killed or fails calls nothing: its supervisor learns of that.
    pub on_end: Box<dyn FnOnce(TerminalEnd) + Send>,
}

/// What can be asked of a terminal.
pub enum TerminalMessage {
    /// Draw a line of the node's own, as how the folder was made and which command starts. Also after the end.
    Line(String),
    /// Start the agent. Answered once it runs or cannot.
    Start(Box<Launch>, RpcReplyPort<Result<Started, TerminalError>>),
    /// Look at it.
    Attach(Look, RpcReplyPort<Viewing>),
    /// A viewer typed. Dropped, and its bell rung, where nobody reads it.
    Input(ViewerId, Vec<u8>),
    /// A viewer's terminal has another size.
    Resize(ViewerId, TerminalSize),
    /// A viewer goes.
    Detach(ViewerId),
    /// Type a line for the node and send it, if the agent waits at its prompt and nobody types. Answered when it was sent.
    Nudge(String, RpcReplyPort<Result<(), NotNow>>),
    /// Type for the node itself; it changes no size. Answered when it is queued, not when the agent has read it.
    Type(Vec<u8>, RpcReplyPort<Result<(), InputRefused>>),
    /// End it: ask, and kill after this long. Before a start it means that nothing ever starts. Answered at the end.
    Stop(Duration, RpcReplyPort<TerminalEnd>),
    /// The lines of the screen as text, without trailing blanks.
    Text(RpcReplyPort<String>),
    /// Who looks, in the order they came.
    Viewers(RpcReplyPort<Vec<ViewerFacts>>),
    /// What the actor's own tasks report.
    #[doc(hidden)]
    Report(Report),
}

/// An agent that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its process, to be written down before anything else, so that a survivor is found.
    pub process: ProcessRef,
}

/// Why nothing was typed to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNow {
    /// It does not wait at its prompt, or asks something there.
    NotAtPrompt,
    /// It started a moment ago, and may ask something yet: look again after this long.
    Starting(Duration),
    /// Somebody types, or has begun a line.
    SomebodyTypes,
    /// It does not read what is typed.
    NotRead,
}

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// It was stopped first.
    #[error("it was stopped before it started")]
    StoppedBeforeStart,
    /// A terminal runs one agent, once.
    #[error("its terminal has already been used")]
    AlreadyStarted,
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A report of a task; opaque to everybody else.
pub struct Report(Reported);

enum Reported {
    Started(Result<RunningProcess, StartError>),
    Output(Vec<u8>, OwnedSemaphorePermit),
    Ended(ProcessEnd),
    GraceOver,
    RepaintDue(ViewerId),
    QuietDue,
    EnterDue,
}

/// A terminal's state.
pub struct TerminalState {
    core: TerminalCore,
    phase: Phase,
    processes: Arc<dyn Processes>,
    on_end: Option<Box<dyn FnOnce(TerminalEnd) + Send>>,
    /// Whoever waits for the end.
    stopping: Vec<RpcReplyPort<TerminalEnd>>,
    patterns: Option<Patterns>,
    seen: watch::Sender<Seen>,
    keys: Keys,
    /// When its screen last changed, and whether it will be read for that.
    changed: Instant,
    is_to_be_read: bool,
    /// Since when it waits at its prompt, as far as was read.
    at_prompt: Option<Instant>,
    /// A line was sent to it before.
    is_nudged: bool,
    /// A line that was typed and not sent yet.
    unsent: Option<UnsentLine>,
    tasks: Tasks,
}

/// A line that was typed for the node and waits to be sent.
struct UnsentLine {
    reply: RpcReplyPort<Result<(), NotNow>>,
    /// How it begins, and how often that stood on the screen before.
    beginning: String,
    before: usize,
    /// How many questions stood there before.
    questions: usize,
    looks: u32,
}

enum Phase {
    Opened,
    Starting {
        reply: RpcReplyPort<Result<Started, TerminalError>>,
        /// A stop came meanwhile.
        is_stopped: bool,
    },
    Running(Box<dyn ProcessHandle>),
    Ended(TerminalEnd),
}

/// Tasks that end with the actor.
#[derive(Default)]
struct Tasks(Vec<JoinHandle<()>>);

impl Tasks {
    fn add(&mut self, task: JoinHandle<()>) {
        self.0.retain(|task| !task.is_finished());
        self.0.push(task);
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Actor for Terminal {
    type Msg = TerminalMessage;
    type State = TerminalState;
    type Arguments = TerminalArgs;

    async fn pre_start(&self, _myself: ActorRef<TerminalMessage>, args: TerminalArgs) -> Result<TerminalState, ActorProcessingErr> {
        Ok(TerminalState {
            core: TerminalCore::new(args.size),
            phase: Phase::Opened,
            processes: args.processes,
            on_end: Some(args.on_end),
            stopping: Vec::new(),
            patterns: args.patterns,
            seen: args.seen,
            keys: Keys::default(),
            changed: Instant::now(),
            is_to_be_read: false,
            at_prompt: None,
            is_nudged: false,
            unsent: None,
            tasks: Tasks::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<TerminalMessage>,
        message: TerminalMessage,
        state: &mut TerminalState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            TerminalMessage::Line(line) => state.core.line(&line),
            TerminalMessage::Start(launch, reply) => state.start(&myself, *launch, reply),
            TerminalMessage::Attach(look, reply) => state.attach(&myself, look, reply),
            TerminalMessage::Input(viewer, keys) => state.input(viewer, keys),
            TerminalMessage::Resize(viewer, size) => {
                let resized = state.core.viewer_resized(viewer, size);
                state.resize(resized);
            }
            TerminalMessage::Detach(viewer) => {
                let resized = state.core.detach(viewer);
                state.resize(resized);
            }
            TerminalMessage::Nudge(line, reply) => state.nudge(&myself, line, reply),
            TerminalMessage::Type(bytes, reply) => answer(reply, state.write(bytes)),
            TerminalMessage::Stop(grace, reply) => state.stop(&myself, grace, reply),
            TerminalMessage::Text(reply) => answer(reply, state.core.text()),
            TerminalMessage::Viewers(reply) => answer(reply, state.core.viewers(Instant::now())),
            TerminalMessage::Report(Report(report)) => state.report(&myself, report),
        }
        Ok(())
    }
}

/// Whoever asked may be gone; that is no concern of the terminal's.
fn answer<T>(reply: RpcReplyPort<T>, value: T) {
    let _ = reply.send(value);
}

impl TerminalState {
    fn start(&mut self, myself: &ActorRef<TerminalMessage>, launch: Launch, reply: RpcReplyPort<Result<Started, TerminalError>>) {
        match self.phase {
            Phase::Opened => {}
            Phase::Ended(TerminalEnd::NeverStarted) => return answer(reply, Err(TerminalError::StoppedBeforeStart)),
            _ => return answer(reply, Err(TerminalError::AlreadyStarted)),
        }
        self.phase = Phase::Starting { reply, is_stopped: false };
        let starting = self.processes.start(launch, self.core.size());
        let myself = myself.clone();
        self.tasks.add(tokio::spawn(async move { report(&myself, Reported::Started(starting.await)) }));
    }

    fn report(&mut self, myself: &ActorRef<TerminalMessage>, report: Reported) {
        match report {
            Reported::Started(outcome) => self.started(myself, outcome),
            Reported::Output(bytes, _taken) => {
                let answers = self.core.output(&bytes);
                self.read_when_quiet(myself);
                if !answers.is_empty() && self.write(answers).is_err() {
                    tracing::debug!("an agent that does not read asked its terminal something");
                }
            }
            Reported::Ended(end) => self.end(TerminalEnd::Process(end)),
            Reported::GraceOver => {
                if let Phase::Running(handle) = &mut self.phase {
                    handle.signal(ProcessSignal::Kill);
                }
            }
            Reported::RepaintDue(viewer) => self.core.repaint(viewer),
            Reported::QuietDue => self.read_if_quiet(myself),
            Reported::EnterDue => self.send_line(myself),
        }
    }

    fn started(&mut self, myself: &ActorRef<TerminalMessage>, outcome: Result<RunningProcess, StartError>) {
        let Phase::Starting { reply, is_stopped } = mem::replace(&mut self.phase, Phase::Opened) else {
            return;
        };
        match outcome {
            // Dropping what started ends it.
            Ok(running) if is_stopped => {
                drop(running);
                self.end(TerminalEnd::NeverStarted);
                answer(reply, Err(TerminalError::StoppedBeforeStart));
            }
            Ok(running) => {
                let process = running.process.clone();
                self.run(myself, running);
                answer(reply, Ok(Started { process }));
            }
            Err(error) => {
                self.core.line(&error.to_string());
                self.end(TerminalEnd::NeverStarted);
                answer(reply, Err(if is_stopped { TerminalError::StoppedBeforeStart } else { error.into() }));
            }
        }
    }

    fn run(&mut self, myself: &ActorRef<TerminalMessage>, running: RunningProcess) {
        let RunningProcess { output, mut handle, .. } = running;
        // A viewer may have changed the size while the agent was starting.
        if let Err(error) = handle.resize(self.core.size()) {
            tracing::debug!(%error, "the terminal keeps the size it was opened with");
        }
        self.phase = Phase::Running(handle);
        self.tasks.add(tokio::spawn(pump(myself.clone(), output)));
    }

    fn attach(&mut self, myself: &ActorRef<TerminalMessage>, look: Look, reply: RpcReplyPort<Viewing>) {
        let (viewer, queue, resized) = self.core.attach(look, Instant::now());
        self.resize(resized);
        answer(reply, Viewing { viewer, queue, terminal: myself.clone() });
    }

    /// The size follows who typed, whether or not the agent reads it.
    fn input(&mut self, viewer: ViewerId, keys: Vec<u8>) {
        self.keys.note(&keys, Instant::now());
        let resized = self.core.typed(viewer, &keys);
        self.resize(resized);
        if self.write(keys).is_err() {
            self.core.ring(viewer);
        }
    }

    /// Its screen changed, and is read once it stays as it is.
    fn read_when_quiet(&mut self, myself: &ActorRef<TerminalMessage>) {
        self.changed = Instant::now();
        if self.patterns.is_some() && !mem::replace(&mut self.is_to_be_read, true) {
            self.read_at(myself, self.changed + QUIET);
        }
    }

    fn read_at(&mut self, myself: &ActorRef<TerminalMessage>, at: Instant) {
        let myself = myself.clone();
        self.tasks.add(tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            report(&myself, Reported::QuietDue);
        }));
    }

    fn read_if_quiet(&mut self, myself: &ActorRef<TerminalMessage>) {
        let quiet = self.changed + QUIET;
        if Instant::now() < quiet {
            return self.read_at(myself, quiet);
        }
        self.is_to_be_read = false;
        let (attention, keys) = (self.attention(), self.keys.times());
        self.at_prompt = if attention == Some(Attention::AtPrompt) { self.at_prompt.or(Some(self.changed)) } else { None };
        self.seen.send_modify(|seen| *seen = Seen { attention, times: seen.times + 1, keys });
    }

    fn attention(&self) -> Option<Attention> {
        self.patterns.as_ref().and_then(|patterns| patterns.read(&self.core.text()))
    }

    /// What was read before may be old, so the screen is read again.
    fn nudge(&mut self, myself: &ActorRef<TerminalMessage>, line: String, reply: RpcReplyPort<Result<(), NotNow>>) {
        let may_type = self.may_type(Instant::now());
        let beginning: String = line.chars().take(16).collect();
        let before = self.core.text().matches(&beginning).count();
        let questions = self.questions();
        let typed = may_type.and_then(|()| self.write(line.into_bytes()).map_err(|_| NotNow::NotRead));
        if let Err(not_now) = typed {
            return answer(reply, Err(not_now));
        }
        // Until the line is sent, nothing else is typed.
        self.is_to_be_read = true;
        self.unsent = Some(UnsentLine { reply, beginning, before, questions, looks: 0 });
        self.send_soon(myself);
    }

    fn may_type(&self, now: Instant) -> Result<(), NotNow> {
        if self.is_to_be_read || self.attention() != Some(Attention::AtPrompt) {
            return Err(NotNow::NotAtPrompt);
        }
        if !self.keys.allow(now) {
            return Err(NotNow::SomebodyTypes);
        }
        let settles = self.patterns.as_ref().map(Patterns::settles).filter(|_| !self.is_nudged).unwrap_or_default();
        let stood = self.at_prompt.map_or(Duration::ZERO, |since| now.duration_since(since));
        if stood < settles { Err(NotNow::Starting(settles - stood)) } else { Ok(()) }
    }

    fn questions(&self) -> usize {
        self.patterns.as_ref().map(|patterns| patterns.questions(&self.core.text())).unwrap_or_default()
    }

    fn send_soon(&mut self, myself: &ActorRef<TerminalMessage>) {
        let myself = myself.clone();
        self.tasks.add(tokio::spawn(async move {
            tokio::time::sleep(BEFORE_ENTER).await;
            report(&myself, Reported::EnterDue);
        }));
    }

    /// The line and its end come apart: a program that gets both at once takes them for pasted text, and a question may
    /// have come up meanwhile, which the end would answer. So the line is sent once it is seen to stand at the prompt, or
    /// where nothing else is shown either, as by a program that shows no keys.
    fn send_line(&mut self, myself: &ActorRef<TerminalMessage>) {
        let Some(mut line) = self.unsent.take() else { return };
        let is_asked = self.questions() > line.questions;
        let is_shown = self.core.text().matches(&line.beginning).count() > line.before;
        line.looks += 1;
        let is_late = line.looks >= LOOKS_BEFORE_ENTER;
        let may_send = !is_asked && (is_shown || (is_late && self.attention() == Some(Attention::AtPrompt)));
        if !may_send && !is_late && !is_asked {
            self.unsent = Some(line);
            return self.send_soon(myself);
        }
        let sent = if may_send { self.write(b"\r".to_vec()).map_err(|_| NotNow::NotRead) } else { Err(NotNow::NotAtPrompt) };
        self.is_nudged |= sent.is_ok();
        answer(line.reply, sent);
        self.is_to_be_read = false;
        self.read_when_quiet(myself);
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<(), InputRefused> {
        match &mut self.phase {
            Phase::Running(handle) => handle.write(bytes),
            _ => Err(InputRefused::Ended),
        }
    }

    fn resize(&mut self, resized: Option<TerminalSize>) {
        if let (Phase::Running(handle), Some(size)) = (&mut self.phase, resized)
            && let Err(error) = handle.resize(size)
        {
            tracing::warn!(%error, "the agent's terminal cannot be resized");
        }
    }

    fn stop(&mut self, myself: &ActorRef<TerminalMessage>, grace: Duration, reply: RpcReplyPort<TerminalEnd>) {
        match &mut self.phase {
            Phase::Ended(end) => return answer(reply, *end),
            Phase::Opened => {
                self.stopping.push(reply);
                return self.end(TerminalEnd::NeverStarted);
            }
            Phase::Starting { is_stopped, .. } => *is_stopped = true,
            Phase::Running(handle) => {
                handle.signal(ProcessSignal::Terminate);
                let myself = myself.clone();
                self.tasks.add(tokio::spawn(async move {
                    tokio::time::sleep(grace).await;
                    report(&myself, Reported::GraceOver);
                }));
            }
        }
        self.stopping.push(reply);
    }

    /// Dropping the phase before closes the agent's terminal; the screen stays.
    fn end(&mut self, end: TerminalEnd) {
        self.phase = Phase::Ended(end);
        self.core.end(end);
        if let Some(on_end) = self.on_end.take() {
            on_end(end);
        }
        for reply in self.stopping.drain(..) {
            answer(reply, end);
        }
    }
}

/// An actor that is gone has nothing to be told.
fn report(actor: &ActorRef<TerminalMessage>, reported: Reported) {
    let _ = actor.cast(TerminalMessage::Report(Report(reported)));
}

/// Hands the agent's output to the actor, and at last its end.
async fn pump(actor: ActorRef<TerminalMessage>, mut output: mpsc::Receiver<ProcessOutput>) {
    let room = Arc::new(Semaphore::new(OUTPUT_AT_ONCE));
    loop {
        match output.recv().await {
            Some(ProcessOutput::Bytes(bytes)) => {
                let permit = Arc::clone(&room).acquire_owned().await.expect("nobody closes the semaphore");
                report(&actor, Reported::Output(bytes, permit));
            }
            Some(ProcessOutput::Ended(end)) => return report(&actor, Reported::Ended(end)),
            None => return report(&actor, Reported::Ended(ProcessEnd::Unknown)),
        }
    }
}

/// One viewer's look at a terminal. Dropping it detaches.
pub struct Viewing {
    viewer: ViewerId,
    queue: Arc<ViewerQueue>,
    terminal: ActorRef<TerminalMessage>,
}

impl Viewing {
    /// Who this is for the terminal.
    #[must_use]
    pub fn viewer(&self) -> ViewerId {
        self.viewer
    }

    /// The terminal looked at.
    #[must_use]
    pub fn terminal(&self) -> &ActorRef<TerminalMessage> {
        &self.terminal
    }

    /// What to show next: at first the screen, then what changes it, at last the end. `None` when nothing follows: after
    /// the end, or without one where the terminal itself is gone. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<ToViewer> {
        loop {
            match self.queue.take() {
                Taken::Bytes(bytes) => return Some(ToViewer::Output(bytes)),
                Taken::Ended(end) => return Some(ToViewer::Ended(end)),
                Taken::Closed => return None,
                Taken::RepaintDue => report(&self.terminal, Reported::RepaintDue(self.viewer)),
                Taken::Nothing => self.queue.changed().await,
            }
        }
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.terminal.cast(TerminalMessage::Detach(self.viewer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::process::{CommandError, EnvMark, Life, Pending, Pid, ProbeError, ProcessFacts};
    use crate::env::real::process::RealProcesses;
    use std::ffi::OsString;
    use std::path::PathBuf;
    use tokio::sync::{Notify, oneshot};

    const GRACE: Duration = Duration::from_secs(5);

    fn script(script: &str) -> Box<Launch> {
        Box::new(Launch {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("TERM".into(), "xterm-256color".into())],
            folder: std::env::temp_dir(),
        })
    }

    struct Bench {
        terminal: ActorRef<TerminalMessage>,
        ends: mpsc::UnboundedReceiver<TerminalEnd>,
    }

    impl Bench {
        async fn new() -> Self {
            Self::over(Arc::new(RealProcesses::new())).await
        }

        async fn over(processes: Arc<dyn Processes>) -> Self {
            Self::reading(processes, None).await.0
        }

        async fn reading(processes: Arc<dyn Processes>, patterns: Option<Patterns>) -> (Self, watch::Receiver<Seen>) {
            let (told, ends) = mpsc::unbounded_channel();
            let on_end = Box::new(move |end| told.send(end).unwrap());
            let (seen, seeing) = watch::channel(Seen::default());
            let args = TerminalArgs { processes, size: TerminalSize::DEFAULT, patterns, seen, on_end };
            let (terminal, _) = Actor::spawn(None, Terminal, args).await.unwrap();
            (Self { terminal, ends }, seeing)
        }

        async fn ask<T: Send + 'static>(&self, message: impl FnOnce(RpcReplyPort<T>) -> TerminalMessage) -> T {
            self.terminal.call(message, None).await.unwrap().unwrap()
        }

        async fn start(&self, text: &str) -> Result<Started, TerminalError> {
            let launch = script(text);
            self.ask(|reply| TerminalMessage::Start(launch, reply)).await
        }

        async fn attach(&self, look: Look) -> Viewing {
            self.ask(|reply| TerminalMessage::Attach(look, reply)).await
        }

        async fn stop(&self, grace: Duration) -> TerminalEnd {
            self.ask(|reply| TerminalMessage::Stop(grace, reply)).await
        }

        fn type_as(&self, viewing: &Viewing, keys: &str) {
            self.terminal.cast(TerminalMessage::Input(viewing.viewer(), keys.into())).unwrap();
        }

        /// Waits until the screen holds `wanted`; a look at what comes is what it waits for.
        async fn await_text(&self, viewing: &mut Viewing, wanted: &str) -> String {
            loop {
                let text = self.ask(TerminalMessage::Text).await;
                if text.contains(wanted) {
                    return text;
                }
                let next = viewing.next().await;
                assert!(matches!(next, Some(ToViewer::Output(_))), "{next:?} came before `{wanted}`, after {text:?}");
            }
        }
    }

    async fn followed_to_end(viewing: &mut Viewing) -> (String, Option<TerminalEnd>) {
        let mut text = String::new();
        loop {
            match viewing.next().await {
                Some(ToViewer::Output(bytes)) => text += std::str::from_utf8(&bytes).unwrap(),
                Some(ToViewer::Ended(end)) => return (text, Some(end)),
                None => return (text, None),
            }
        }
    }

    fn is_alive(started: &Started) -> bool {
        RealProcesses::new().life(&started.process) == Life::Alive
    }

    #[tokio::test]
    async fn the_making_of_the_folder_the_command_and_the_agent_are_seen_in_order() {
        let mut bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        bench.terminal.cast(TerminalMessage::Line("git worktree add x".into())).unwrap();
        bench.terminal.cast(TerminalMessage::Line("sh -c ...".into())).unwrap();
        bench.start("echo working; exit 4").await.unwrap();
        let (text, end) = followed_to_end(&mut viewing).await;
        assert_eq!(text, "git worktree add x\nsh -c ...\nworking\n");
        let exited = TerminalEnd::Process(ProcessEnd::Exited(4));
        assert_eq!(end, Some(exited));
        assert_eq!(viewing.next().await, None);
        assert_eq!(bench.ends.recv().await, Some(exited));
        assert_eq!(bench.stop(GRACE).await, exited);
        let late = followed_to_end(&mut bench.attach(Look::Follow).await).await;
        assert_eq!(late, (text, Some(exited)));
        assert!(bench.ends.is_empty());
    }

    #[tokio::test]
    async fn e20_a_stop_ends_the_tree_and_is_told_once() {
        let mut bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        let started = bench.start("echo go; sleep 1000 | cat").await.unwrap();
        bench.await_text(&mut viewing, "go").await;
        let ended = TerminalEnd::Process(ProcessEnd::Signalled(15));
        let (one, other) = tokio::join!(bench.stop(GRACE), bench.stop(GRACE));
        assert_eq!((one, other), (ended, ended));
        assert!(!is_alive(&started));
        assert_eq!(bench.ends.recv().await, Some(ended));
        assert!(bench.ends.is_empty());
    }

    #[tokio::test]
    async fn e20_who_does_not_end_in_its_grace_is_killed() {
        let bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        bench.start("trap '' TERM; echo go; while :; do sleep 1000; done").await.unwrap();
        bench.await_text(&mut viewing, "go").await;
        let end = bench.stop(Duration::from_millis(10)).await;
        assert_eq!(end, TerminalEnd::Process(ProcessEnd::Signalled(9)));
    }

    #[tokio::test]
    async fn e03_viewers_come_and_go_and_the_agent_stays() {
        let bench = Bench::new().await;
        let started = bench.start("stty -echo; echo ready; while read line; do echo \"<$line>\"; done").await.unwrap();
        for round in 0..20 {
            let mut viewing = bench.attach(Look::Terminal(TerminalSize::new(24, 80))).await;
            bench.await_text(&mut viewing, "ready").await;
            bench.type_as(&viewing, &format!("round {round}\n"));
            bench.await_text(&mut viewing, &format!("<round {round}>")).await;
        }
        assert!(is_alive(&started));
        assert_eq!(bench.ask(TerminalMessage::Viewers).await, []);
        bench.stop(GRACE).await;
    }

    #[tokio::test]
    async fn the_agent_learns_the_size_of_who_types() {
        let bench = Bench::new().await;
        let size = TerminalSize::new;
        let mut first = bench.attach(Look::Terminal(size(30, 100))).await;
        let second = bench.attach(Look::Terminal(size(20, 60))).await;
        bench.start("stty -echo; while read line; do stty size; done").await.unwrap();
        bench.type_as(&first, "\n");
        bench.await_text(&mut first, "30 100").await;
        bench.type_as(&second, "\n");
        bench.await_text(&mut first, "20 60").await;
        let viewers = bench.ask(TerminalMessage::Viewers).await;
        assert_eq!(viewers.iter().map(|viewer| viewer.is_sizing).collect::<Vec<_>>(), [false, true]);
        drop(second);
        bench.type_as(&first, "\n");
        bench.await_text(&mut first, "30 100\n20 60\n30 100").await;
        bench.stop(GRACE).await;
    }

    #[tokio::test]
    async fn an_agent_is_answered_what_it_asks_its_terminal_while_nobody_looks() {
        let bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        let script = "stty raw -echo; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; sleep 1000";
        bench.start(script).await.unwrap();
        bench.await_text(&mut viewing, "033   [   1   ;   1   R").await;
        bench.stop(Duration::ZERO).await;
    }

    #[tokio::test]
    async fn c24_text_of_the_node_reaches_the_agent_whatever_viewers_do() {
        let bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Terminal(TerminalSize::new(10, 40))).await;
        let typed = bench.ask(|reply| TerminalMessage::Type(b"early".to_vec(), reply)).await;
        assert_eq!(typed, Err(InputRefused::Ended));
        bench.start("stty -echo; echo ready; read line; echo \"<$line>\"; sleep 1000").await.unwrap();
        bench.await_text(&mut viewing, "ready").await;
        let typed = bench.ask(|reply| TerminalMessage::Type(b"next task\n".to_vec(), reply)).await;
        assert_eq!(typed, Ok(()));
        bench.await_text(&mut viewing, "<next task>").await;
        bench.stop(Duration::ZERO).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_flood_reaches_nobody_late_and_ends_when_told() {
        let bench = Bench::new().await;
        let _idle = bench.attach(Look::Terminal(TerminalSize::DEFAULT)).await;
        let mut viewing = bench.attach(Look::Terminal(TerminalSize::new(10, 40))).await;
        bench.start("yes").await.unwrap();
        bench.await_text(&mut viewing, "y\ny\ny").await;
        for _ in 0..10 {
            assert!(matches!(viewing.next().await, Some(ToViewer::Output(_))));
        }
        let end = bench.stop(GRACE).await;
        assert_eq!(end, TerminalEnd::Process(ProcessEnd::Signalled(15)));
    }

    #[tokio::test]
    async fn a_start_that_fails_is_said_to_the_owner_and_to_viewers() {
        let mut bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        let launch = Box::new(Launch { command: "no-such-agent".into(), ..*script("") });
        let error = bench.ask(|reply| TerminalMessage::Start(launch, reply)).await.unwrap_err();
        assert!(matches!(error, TerminalError::Start(StartError::Command(_))), "{error:?}");
        let (text, end) = followed_to_end(&mut viewing).await;
        assert_eq!(text, format!("{error}\n"));
        assert_eq!(end, Some(TerminalEnd::NeverStarted));
        assert_eq!(bench.ends.recv().await, Some(TerminalEnd::NeverStarted));
    }

    #[tokio::test]
    async fn a_stop_before_the_start_means_that_nothing_ever_starts() {
        let mut bench = Bench::over(Arc::new(Never)).await;
        assert_eq!(bench.stop(GRACE).await, TerminalEnd::NeverStarted);
        let error = bench.start("exit").await.unwrap_err();
        assert!(matches!(error, TerminalError::StoppedBeforeStart), "{error:?}");
        assert_eq!(bench.ends.recv().await, Some(TerminalEnd::NeverStarted));
        assert!(bench.ends.is_empty());
    }

    #[tokio::test]
    async fn a_stop_during_the_start_ends_what_started() {
        let held = Arc::new(Held { world: RealProcesses::new(), is_asked: Notify::new(), go_on: Notify::new() });
        let mut bench = Bench::over(Arc::new(Arc::clone(&held))).await;
        let (reply, outcome) = oneshot::channel();
        bench.terminal.cast(TerminalMessage::Start(script("sleep 1000"), reply.into())).unwrap();
        held.is_asked.notified().await;
        let (reply, stopped) = oneshot::channel();
        bench.terminal.cast(TerminalMessage::Stop(GRACE, reply.into())).unwrap();
        held.go_on.notify_one();
        assert!(matches!(outcome.await.unwrap(), Err(TerminalError::StoppedBeforeStart)));
        assert_eq!(stopped.await.unwrap(), TerminalEnd::NeverStarted);
        assert_eq!(bench.ends.recv().await, Some(TerminalEnd::NeverStarted));
        assert!(bench.ends.is_empty());
    }

    #[tokio::test]
    async fn e18_killing_the_actor_ends_the_agent_and_closes_every_view() {
        let bench = Bench::new().await;
        let mut viewing = bench.attach(Look::Follow).await;
        let started = bench.start("echo go; sleep 1000 | cat").await.unwrap();
        bench.await_text(&mut viewing, "go").await;
        bench.terminal.kill();
        assert_eq!(followed_to_end(&mut viewing).await.1, None);
        let mut looks = tokio::time::interval(Duration::from_millis(5));
        while is_alive(&started) {
            looks.tick().await;
        }
    }

    /// A world in which nothing may start.
    struct Never;

    /// The real world with a start that waits to be let on.
    struct Held {
        world: RealProcesses,
        is_asked: Notify,
        go_on: Notify,
    }

    impl Processes for Arc<Held> {
        fn find_command(&self, command: OsString, search_path: OsString) -> Pending<Result<PathBuf, CommandError>> {
            self.world.find_command(command, search_path)
        }

        fn start(&self, launch: Launch, size: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
            let held = Arc::clone(self);
            Box::pin(async move {
                held.is_asked.notify_one();
                held.go_on.notified().await;
                held.world.start(launch, size).await
            })
        }

        fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
            self.world.facts(pid)
        }

        fn tree(&self, roots: Vec<ProcessRef>, mark: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>> {
            self.world.tree(roots, mark)
        }

        fn signal(&self, processes: Vec<ProcessRef>, signal: ProcessSignal) -> Pending<()> {
            self.world.signal(processes, signal)
        }
    }

    impl Processes for Never {
        fn find_command(&self, _: OsString, _: OsString) -> Pending<Result<PathBuf, CommandError>> {
            unreachable!("nothing is looked for")
        }

        fn start(&self, _: Launch, _: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
            unreachable!("nothing is started")
        }

        fn facts(&self, _: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
            Ok(None)
        }

        fn tree(&self, _: Vec<ProcessRef>, _: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn signal(&self, _: Vec<ProcessRef>, _: ProcessSignal) -> Pending<()> {
            Box::pin(async {})
        }
    }

    async fn until(seeing: &mut watch::Receiver<Seen>, attention: Attention) {
        seeing.wait_for(|seen| seen.attention == Some(attention)).await.unwrap();
    }

    fn prompting() -> Patterns {
        let kind = crate::kinds::Kind {
            ready: Some("(?m)^ready>$".into()),
            asks: vec![r"allow\? \[y/n\]".into()],
            ..crate::kinds::Kind::default()
        };
        Patterns::of(&kind).unwrap()
    }

    #[tokio::test]
    async fn a_line_is_typed_at_the_prompt_and_never_into_a_question_or_work() {
        let (bench, mut seeing) = Bench::reading(Arc::new(RealProcesses::new()), Some(prompting())).await;
        let bench = &bench;
        let nudge = |line: &'static str| bench.ask(move |reply| TerminalMessage::Nudge(line.to_owned(), reply));
        assert_eq!(nudge("early").await, Err(NotNow::NotAtPrompt));
        bench.start("stty -echo; echo 'allow? [y/n]'; read a; echo 'ready>'; read b; echo \"$a, $b\"; sleep 60").await.unwrap();
        until(&mut seeing, Attention::NeedsPerson).await;
        assert_eq!(nudge("into a question").await, Err(NotNow::NotAtPrompt));
        let mut viewing = bench.attach(Look::Follow).await;
        bench.type_as(&viewing, "y\r");
        until(&mut seeing, Attention::AtPrompt).await;
        assert_eq!(nudge("too soon after keys").await, Err(NotNow::SomebodyTypes));
        assert!(seeing.borrow().keys > 0);
        while let Err(not_now) = nudge("a task waits").await {
            assert_eq!(not_now, NotNow::SomebodyTypes);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(nudge("at once again").await, Err(NotNow::NotAtPrompt));
        bench.await_text(&mut viewing, "y, a task waits").await;
        until(&mut seeing, Attention::AtPrompt).await;
    }

    /// As one that shows its prompt and then asks whether its folder is trusted.
    #[tokio::test]
    async fn a_line_whose_prompt_becomes_a_question_is_not_sent() {
        let (bench, mut seeing) = Bench::reading(Arc::new(RealProcesses::new()), Some(prompting())).await;
        let script = "stty -icanon -echo; echo 'ready>'; head -c 1 >/dev/null; echo 'allow? [y/n]'; while c=$(head -c 1 | od -An -c); do echo \"key $c\"; done";
        bench.start(script).await.unwrap();
        until(&mut seeing, Attention::AtPrompt).await;
        let nudged = bench.ask(|reply| TerminalMessage::Nudge("a task waits".into(), reply)).await;
        assert_eq!(nudged, Err(NotNow::NotAtPrompt));
        until(&mut seeing, Attention::NeedsPerson).await;
        let text = bench.ask(TerminalMessage::Text).await;
        assert!(!text.contains("\\n") && !text.contains("\\r"), "{text}");
    }
}
