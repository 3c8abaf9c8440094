//! A real node among processes that a test makes up: who calls and who hooks are told of is then as the test says, and needs no
//! process of its own. Everything but the table of processes and the clock is real.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use frith_actors::{
    api::{
        Operation, Request,
        agents::{Agents, Event, EventClass, Identity, Link, Noted, Sessions},
    },
    call::{Claims, Envelope, Failed},
    config::NodeConfig,
    env::{
        process::{
            CommandError, EnvMark, InputRefused, Launch, Pending, Pid, ProbeError, ProcessEnd, ProcessFacts, ProcessHandle, ProcessOutput,
            ProcessRef, ProcessSignal, Processes, RunningProcess, StartError, TerminalSize,
        },
        real::{self, Told, world::SystemClock},
        world::WallClock,
    },
    local::server::Answer,
    node::{self, Node},
};
use frith_net::key::MachineKey;
use frith_store::{error::StoreError, hosts, id::CallId, model::HostSession, refusal::Refusal, text::PathText, time::Timestamp};
use frith_tests::wait::PATIENCE;
use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
};

/// The number of a shell that a person works in.
pub const PERSON: u32 = 900;

/// The number of the first process that the node launches.
pub const LAUNCHED: u32 = 500;

/// Processes that a test makes up, by number: parent and program.
#[derive(Clone, Default)]
pub struct Table(Arc<Mutex<BTreeMap<u32, (u32, String)>>>);

impl Table {
    /// A process runs now.
    pub fn start(&self, pid: u32, parent: u32, program: &str) {
        self.lock().insert(pid, (parent, program.to_owned()));
    }

    /// A process is gone.
    pub fn end(&self, pid: u32) {
        self.lock().remove(&pid);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, (u32, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Processes for Table {
    fn find_command(&self, command: OsString, _: OsString) -> Pending<Result<PathBuf, CommandError>> {
        Box::pin(async move { Ok(command.into()) })
    }
    /// What is launched runs below this process, which is the node's, until it is signalled.
    fn start(&self, launch: Launch, _: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
        let (table, program) = (self.clone(), launch.command.to_string_lossy().into_owned());
        Box::pin(async move {
            let node = std::process::id();
            table.start(node, 1, "frith");
            let pid = (LAUNCHED..).find(|pid| !table.lock().contains_key(pid)).expect("numbers do not end");
            table.start(pid, node, &program);
            let (telling, output) = mpsc::channel(8);
            let process = ProcessRef { pid, started: format!("boot/{pid}") };
            Ok(RunningProcess { process, output, handle: Box::new(Hand { table, pid, telling }) })
        })
    }
    fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
        let found = self.lock().get(&pid.get()).cloned();
        Ok(found.map(|(parent, program)| ProcessFacts {
            process: ProcessRef { pid: pid.get(), started: format!("boot/{pid}") },
            parent: Some(Pid::new(parent)),
            session: 0,
            executable: program.into(),
        }))
    }
    fn tree(&self, _: Vec<ProcessRef>, _: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>> {
        Box::pin(async { Ok(vec![]) })
    }
    fn signal(&self, _: Vec<ProcessRef>, _: ProcessSignal) -> Pending<()> {
        Box::pin(async {})
    }
}

/// The hand on a process that was launched.
struct Hand {
    table: Table,
    pid: u32,
    telling: mpsc::Sender<ProcessOutput>,
}

impl ProcessHandle for Hand {
    fn write(&mut self, _: Vec<u8>) -> Result<(), InputRefused> {
        Ok(())
    }
    fn resize(&mut self, _: TerminalSize) -> std::io::Result<()> {
        Ok(())
    }
    fn signal(&mut self, _: ProcessSignal) {
        self.table.end(self.pid);
        // Whoever listened may be gone.
        let _ = self.telling.try_send(ProcessOutput::Ended(ProcessEnd::Signalled(15)));
    }
}

/// A clock that a test sets.
#[derive(Clone)]
struct Clock(Arc<AtomicI64>);

impl WallClock for Clock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::Relaxed))
    }
}

/// A node among made-up processes, in a home of its own.
pub struct World {
    /// The processes.
    pub processes: Table,
    node: Option<Node>,
    clock: Clock,
    config: NodeConfig,
    calls: AtomicI64,
    /// The node has a runtime of its own, which ends with it.
    runtime: Option<Runtime>,
    folder: TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

impl World {
    /// A node that was never there before, and a person's shell.
    ///
    /// # Panics
    /// It does not start.
    pub async fn new() -> Self {
        Self::with(NodeConfig::default()).await
    }

    /// The same with a configuration.
    ///
    /// # Panics
    /// It does not start.
    pub async fn with(config: NodeConfig) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (processes, clock) = (Table::default(), Clock(Arc::new(AtomicI64::new(1_700_000_000_000))));
        processes.start(1, 0, "systemd");
        processes.start(PERSON - 1, 1, "tmux: server");
        processes.start(PERSON, PERSON - 1, "bash");
        let (runtime, node) = start(&folder, &processes, &clock, &config).await;
        Self { processes, node: Some(node), clock, config, calls: AtomicI64::new(1), runtime: Some(runtime), folder }
    }

    /// Ends the node as it is told to, and starts another.
    ///
    /// # Panics
    /// It does not start.
    pub async fn restart(&mut self) {
        let node = self.node.take().expect("a world has a node");
        node.stop().await;
        drop(node);
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
        let (runtime, node) = start(&self.folder, &self.processes, &self.clock, &self.config).await;
        (self.runtime, self.node) = (Some(runtime), Some(node));
    }

    /// Lets time go by.
    pub fn wait(&self, time: Duration) {
        self.clock.0.fetch_add(i64::try_from(time.as_millis()).expect("tests wait for days at most"), Ordering::Relaxed);
    }

    /// The home of its node.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A folder of this world, without symbolic links, made if it is not there.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).and_then(|()| folder.canonicalize()).expect("a folder can be made")
    }

    /// A host's process, started from a person's shell, and one of its hooks: the number of the second is the first's and one more.
    pub fn host(&self, pid: u32) -> u32 {
        self.processes.start(pid, PERSON, "the-host");
        self.processes.start(pid + 1, pid, "frith");
        pid + 1
    }

    /// Asks as a process does.
    ///
    /// # Errors
    /// The refusal, or what broke.
    pub async fn ask<R: Request>(&self, pid: u32, request: R) -> Result<R::Reply, Failed> {
        self.ask_with(pid, Path::new("/"), Claims::default(), request).await
    }

    /// The same from a folder, with what the environment says.
    ///
    /// # Errors
    /// The refusal, or what broke.
    pub async fn ask_with<R: Request>(&self, pid: u32, folder: &Path, claims: Claims, request: R) -> Result<R::Reply, Failed> {
        let bytes = self.answer(pid, folder, claims, request.into()).await?;
        Ok(postcard::from_bytes(&bytes).expect("a reply can be read"))
    }

    /// The answer to any operation, as it goes over the socket.
    ///
    /// # Errors
    /// The refusal, or what broke.
    pub async fn answer(&self, pid: u32, folder: &Path, claims: Claims, operation: Operation) -> Result<Vec<u8>, Failed> {
        self.answer_to(pid, folder, claims, operation, true).await
    }

    async fn answer_to(&self, pid: u32, folder: &Path, claims: Claims, operation: Operation, stays: bool) -> Result<Vec<u8>, Failed> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = u128::from(number.unsigned_abs()).to_be_bytes();
        let folder = Some(PathText::from(folder));
        let envelope = Envelope { call: CallId::from_random(call), folder, environment: vec![], size: None, claims, operation };
        let (progress, _heard) = mpsc::channel(8);
        match self.node.as_ref().expect("a world has a node").answer(Some(pid), envelope, progress).await? {
            Answer::Reply(reply) | Answer::Terminal { reply, .. } => Ok(reply),
            Answer::Handing { reply, handed } => {
                handed.written(stays).await;
                Ok(reply)
            }
        }
    }

    /// What a hook is told that tells this.
    ///
    /// # Panics
    /// Something broke.
    pub async fn hook(&self, pid: u32, event: Event) -> Noted {
        self.ask(pid, event).await.expect("a hook is always answered")
    }

    /// The same for a hook that is gone before it hands on what it is told.
    ///
    /// # Panics
    /// Something broke.
    pub async fn hook_that_ends(&self, pid: u32, event: Event) -> Noted {
        let told = self.answer_to(pid, Path::new("/"), Claims::default(), event.into(), false).await;
        postcard::from_bytes(&told.expect("a hook is always answered")).expect("a reply can be read")
    }

    /// Links an MCP process.
    ///
    /// # Errors
    /// The refusal.
    pub async fn link(&self, pid: u32, host: &str, folder: &Path, claims: Claims) -> Result<Identity, Refusal> {
        self.linked(pid, folder, claims, Link { host: host.to_owned(), look: false }).await
    }

    /// What linking an MCP process would answer.
    ///
    /// # Errors
    /// The refusal.
    pub async fn look(&self, pid: u32, host: &str, folder: &Path) -> Result<Identity, Refusal> {
        self.linked(pid, folder, claims(None, &[]), Link { host: host.to_owned(), look: true }).await
    }

    async fn linked(&self, pid: u32, folder: &Path, claims: Claims, link: Link) -> Result<Identity, Refusal> {
        match self.ask_with(pid, folder, claims, link).await {
            Ok(identity) => Ok(identity),
            Err(Failed::Refused(refusal)) => Err(*refusal),
            Err(broken) => panic!("something broke: {broken}"),
        }
    }

    /// The agents, also ended ones if so wanted.
    ///
    /// # Panics
    /// Something broke.
    pub async fn agents(&self, all: bool) -> Agents {
        self.ask(PERSON, Sessions { all, machine: None }).await.expect("agents can be listed")
    }
}

/// Starts a node, once the one before it has let go of the store.
async fn start(folder: &TempDir, processes: &Table, clock: &Clock, config: &NodeConfig) -> (Runtime, Node) {
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home).expect("a folder can be made");
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads can be started");
        let told = Told {
            home: &home,
            user: "ada",
            machine_name: "oak",
            key: MachineKey::from_secret(&[7; 32]),
            runtime: runtime.handle().clone(),
            fault: None,
            clock: SystemClock::default(),
            notices: Some(folder.path().join("notices")),
        };
        let mut env = real::env(told).expect("the system tells of this process");
        env.processes = Arc::new(processes.clone());
        env.clock = Arc::new(clock.clone());
        match runtime.spawn(Node::start(env, Arc::new(config.clone()))).await.expect("it does not panic") {
            Ok(node) => return (runtime, node),
            Err(node::StartError::Store(StoreError::InUse { .. })) if tokio::time::Instant::now() < deadline => {
                runtime.shutdown_background();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("a node does not start: {error}"),
        }
    }
}

/// An event of a session of `claude`, in a folder.
pub fn event(class: EventClass, session: &str, folder: &Path) -> Event {
    let hooks = hosts::host("claude").and_then(|host| host.hooks.known());
    let name = hooks.and_then(|hooks| hooks.events.iter().find(|event| event.class == class)).map(|event| event.name);
    Event {
        host: "claude".into(),
        class,
        event: name.unwrap_or("SomethingElse").into(),
        session: Some(session.into()),
        sub_agent: None,
        folder: Some(PathText::from(folder)),
        model: None,
        activity: None,
        source: None,
        tool_use: None,
        takes_context: matches!(class, EventClass::Start | EventClass::SubStart | EventClass::Prompt | EventClass::Tool),
    }
}

/// What an environment says that names a session of a host, and perhaps an agent.
pub fn claims(agent: Option<String>, sessions: &[(&str, &str)]) -> Claims {
    let session = |(host, id): &(&str, &str)| HostSession { host: (*host).into(), id: Some((*id).into()), sub_agent: None };
    Claims { agent, server: None, sessions: sessions.iter().map(session).collect() }
}
