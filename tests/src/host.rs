//! A host that a test plays: a process of its own below which the real `frith` runs as a hook, in an agent's shell, or as a
//! server would, with what that host puts around it.

use std::{
    collections::BTreeMap,
    io::BufReader,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use frith_store::hosts::{self, Says};
use serde_json::{Value, json};

use crate::{
    Sandbox,
    errand::{Errand, Program, Report, hear, tell},
    habits::{Habits, Holds, Variables},
    run::Run,
    wait::{PATIENCE, wait_for},
};

/// Where a host that is to be started reports.
pub struct Door {
    listener: UnixListener,
    /// The socket, which is the host's only argument.
    pub socket: PathBuf,
    number: usize,
}

impl Door {
    /// The next one of a sandbox.
    ///
    /// # Panics
    /// The socket cannot be made.
    pub fn of(sandbox: &Sandbox) -> Self {
        // Hosts that are started at once find out by binding which number is free.
        let bound = |number: usize| {
            let socket = sandbox.root().join(format!("run/host-{number}"));
            Some((UnixListener::bind(&socket).ok()?, socket, number))
        };
        let (listener, socket, number) = (1..1_000).find_map(bound).expect("a socket can be bound");
        listener.set_nonblocking(true).expect("a socket can be told not to block");
        Self { listener, socket, number }
    }

    /// Waits until the host is there, and answers it as a session of this host in a folder.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn open<'a>(self, sandbox: &'a Sandbox, host: &str, folder: &Path) -> Host<'a> {
        let (stream, _) = wait_for("the host reports", || self.listener.accept().ok());
        stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PATIENCE))).expect("a socket can be told to block");
        let lines = BufReader::new(stream.try_clone().expect("a socket can be opened twice"));
        let session = format!("{host}-session-{}", self.number);
        let exports = sandbox.root().join(format!("run/exports-{}", self.number));
        let mut host = Host {
            habits: Habits::of(host),
            sandbox,
            session: session.clone(),
            started_as: session,
            folder: folder.to_owned(),
            started_in: folder.to_owned(),
            exports,
            pid: 0,
            child: None,
            stream,
            lines,
        };
        let Report::Here(pid) = host.report() else { panic!("the host said something else first") };
        host.pid = pid;
        host
    }
}

/// A host's process and the session it runs.
pub struct Host<'a> {
    sandbox: &'a Sandbox,
    habits: &'static Habits,
    /// The host's own id of its session, which a test may change as the host would.
    pub session: String,
    /// The session it was started with, which its servers go on to be told.
    started_as: String,
    /// The folder it works in now.
    pub folder: PathBuf,
    started_in: PathBuf,
    /// The file that its hooks may write exports into.
    pub exports: PathBuf,
    /// The number of its process.
    pub pid: u32,
    child: Option<Child>,
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl<'a> Host<'a> {
    /// Starts a host in a folder; its session has not begun.
    ///
    /// # Panics
    /// It cannot be started.
    #[track_caller]
    pub fn start(sandbox: &'a Sandbox, host: &str, folder: &Path) -> Self {
        let door = Door::of(sandbox);
        let mut command = sandbox.program("frith-test-host", [&door.socket]).dir(folder).into_command();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the host can be started");
        let mut host = door.open(sandbox, host, folder);
        host.child = Some(child);
        host
    }

    /// The same with its session begun, so that the node knows of it.
    ///
    /// # Panics
    /// It cannot be started, or never gets known.
    #[track_caller]
    pub fn begun(sandbox: &'a Sandbox, host: &str, folder: &Path) -> Self {
        let mut host = Self::start(sandbox, host, folder);
        host.get_known();
        host
    }

    /// Begins its session, so that the node knows of it.
    ///
    /// # Panics
    /// It never gets known.
    #[track_caller]
    pub fn get_known(&mut self) {
        let _ = self.begin().ok();
        // A hook that ran out of its time leaves its word behind for the node to take in.
        wait_for("the session is known", || (self.frith(["agents", "whoami", "--quiet"]).code == 0).then_some(()));
    }

    /// What a hook of this host says that has something to say: one that ran out of its time says nothing, and the next one does.
    ///
    /// # Panics
    /// None ever has.
    #[track_caller]
    pub fn told(&mut self, hook: impl Fn(&mut Self) -> Run) -> Run {
        wait_for("a hook has something to say", || Some(hook(self).ok()).filter(|run| run.stdout.len() > 4))
    }

    /// The host, as `--host` names it.
    pub fn name(&self) -> &'static str {
        self.habits.host
    }

    /// Its events.
    pub fn events(&self) -> Vec<&'static str> {
        let all = self.habits.events;
        let all = [all.start, all.prompt, all.before_tool, all.tool, all.stop, all.sub_start, all.sub_stop, all.end];
        all.into_iter().filter(|event| !event.is_empty()).collect()
    }

    /// Whether it tells of what a person says to it, and reads what is answered then.
    pub fn is_answered_at_prompts(&self) -> bool {
        let prompt = hosts::host(self.name()).and_then(|row| row.event(self.habits.events.prompt));
        prompt.is_some_and(|prompt| prompt.says == Says::Context)
    }

    /// Another host, started from this one.
    ///
    /// # Panics
    /// It cannot be started.
    #[track_caller]
    pub fn fork(&mut self, host: &str) -> Host<'a> {
        let door = Door::of(self.sandbox);
        self.send(&Errand::Fork(door.socket.clone()));
        let forked = door.open(self.sandbox, host, &self.folder);
        assert!(matches!(self.report(), Report::Done));
        forked
    }

    /// The hook at the start of a session.
    #[track_caller]
    pub fn begin(&mut self) -> Run {
        self.begin_as("startup")
    }

    /// The hook at the start of a session that starts for this reason, in the host's own word.
    #[track_caller]
    pub fn begin_as(&mut self, source: &str) -> Run {
        self.hook(self.habits.events.start, json!({ "source": source }))
    }

    /// The hook when a person said something.
    #[track_caller]
    pub fn prompt(&mut self) -> Run {
        self.hook(self.habits.events.prompt, json!({ "prompt": "go on", "text": "go on" }))
    }

    /// The hook when a tool ran this command.
    #[track_caller]
    pub fn tool(&mut self, command: &str) -> Run {
        self.hook(self.habits.events.tool, (self.habits.tool)(command))
    }

    /// The hook when the agent waits at its prompt.
    #[track_caller]
    pub fn stop(&mut self) -> Run {
        self.hook(self.habits.events.stop, json!({}))
    }

    /// The hook at the end of a session.
    #[track_caller]
    pub fn end_session(&mut self) -> Run {
        self.hook(self.habits.events.end, json!({ "reason": "other" }))
    }

    /// The hook when a sub-agent starts.
    #[track_caller]
    pub fn sub_start(&mut self, sub_agent: &str) -> Run {
        self.hook(self.habits.events.sub_start, json!({ "agent_id": sub_agent, "agent_type": "general-purpose" }))
    }

    /// The hook when a sub-agent is done.
    #[track_caller]
    pub fn sub_stop(&mut self, sub_agent: &str) -> Run {
        self.hook(self.habits.events.sub_stop, json!({ "agent_id": sub_agent, "agent_type": "general-purpose" }))
    }

    /// The hook of an event, with this besides what each payload of the host says.
    ///
    /// # Panics
    /// The host has no such event.
    #[track_caller]
    pub fn hook(&mut self, event: &str, besides: Value) -> Run {
        assert!(!event.is_empty(), "{} tells of no such event", self.habits.host);
        let mut payload = self.habits.payload(event, &self.session, &self.folder);
        let besides = besides.as_object().cloned().unwrap_or_default();
        payload.as_object_mut().expect("a payload is an object").extend(besides);
        let mut variables = self.holding(self.habits.in_hooks);
        if event == self.habits.events.start {
            variables.append(&mut self.holding(self.habits.in_first_hook));
        }
        self.hook_with(event, &payload.to_string(), variables, false)
    }

    /// The hook of an event with exactly this on standard input, which may never end.
    #[track_caller]
    pub fn hook_with(&mut self, event: &str, input: &str, variables: BTreeMap<String, String>, endless: bool) -> Run {
        let line = format!("frith hook {event} --host {}", self.habits.host);
        let words = ["sh", "-c", &line].map(str::to_owned).to_vec();
        self.run(Program { words, folder: self.folder.clone(), variables, input: input.to_owned(), endless, ..Program::default() }, &line)
    }

    /// `frith` in the agent's shell, with what its hooks exported.
    #[track_caller]
    pub fn frith<'w>(&mut self, args: impl IntoIterator<Item = &'w str>) -> Run {
        self.frith_with(args, &[])
    }

    /// A line in the agent's shell.
    #[track_caller]
    pub fn shell(&mut self, line: &str) -> Run {
        let words = ["sh", "-c", "if test -r \"$EXPORTS\"; then . \"$EXPORTS\"; fi; eval \"$LINE\""].map(str::to_owned).to_vec();
        let mut variables = self.holding(self.habits.in_shell);
        variables.insert("EXPORTS".into(), self.exports.to_string_lossy().into_owned());
        variables.insert("LINE".into(), line.to_owned());
        self.run(Program { words, folder: self.folder.clone(), variables, ..Program::default() }, line)
    }

    /// The same with these variables set by hand.
    #[track_caller]
    pub fn frith_with<'w>(&mut self, args: impl IntoIterator<Item = &'w str>, set: &[(&str, &str)]) -> Run {
        let args: Vec<&str> = args.into_iter().collect();
        let shell = ["sh", "-c", "if test -r \"$EXPORTS\"; then . \"$EXPORTS\"; fi; eval \"$SET\"; frith \"$@\"", "sh"];
        let words = shell.iter().chain(&args).map(|word| (*word).to_owned()).collect();
        let mut variables = self.holding(self.habits.in_shell);
        variables.insert("EXPORTS".into(), self.exports.to_string_lossy().into_owned());
        variables.insert("SET".into(), set.iter().map(|(name, value)| format!("export {name}='{value}'; ")).collect());
        let said = set.iter().map(|(name, value)| format!("{name}={} ", self.sandbox.redact(value))).collect::<String>();
        let line = said + &crate::run::line_of("frith", args.iter().copied());
        self.run(Program { words, folder: self.folder.clone(), variables, ..Program::default() }, &line)
    }

    /// `frith` as one of its MCP servers: without a shell, in the folder it was started in, told the session it was started with.
    #[track_caller]
    pub fn server<'w>(&mut self, args: impl IntoIterator<Item = &'w str>) -> Run {
        let args: Vec<&str> = args.into_iter().collect();
        let words = ["frith"].iter().chain(&args).map(|word| (*word).to_owned()).collect();
        let now = std::mem::replace(&mut self.session, self.started_as.clone());
        let variables = self.holding(self.habits.in_servers);
        self.session = now;
        let line = crate::run::line_of("frith", args.iter().copied());
        self.run(Program { words, folder: self.started_in.clone(), variables, ..Program::default() }, &line)
    }

    /// The same for a server that was started before the last hook of the session, after a tool: hosts start theirs early, and one
    /// works for no session that was not heard of since.
    #[track_caller]
    pub fn lasting_server<'w>(&mut self, args: impl IntoIterator<Item = &'w str>) -> Run {
        let args: Vec<&str> = args.into_iter().collect();
        let script = "(while ! test -e \"$GO\"; do sleep 0.02; done; rm \"$GO\"; exec frith \"$@\") & \
                      printf %s \"$PAYLOAD\" | env $IN_HOOKS frith hook \"$EVENT\" --host \"$HOST\" >/dev/null; : >\"$GO\"; wait $!";
        let words = ["sh", "-c", script, "sh"].iter().chain(&args).map(|word| (*word).to_owned()).collect();
        let event = self.habits.events.tool;
        let in_hooks = self.holding(self.habits.in_hooks).iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let payload = self.habits.payload(event, &self.session, &self.folder).to_string();
        let now = std::mem::replace(&mut self.session, self.started_as.clone());
        let mut variables = self.holding(self.habits.in_servers);
        self.session = now;
        let go = self.exports.with_extension("go").to_string_lossy().into_owned();
        let told =
            [("GO", go), ("PAYLOAD", payload), ("EVENT", event.to_owned()), ("HOST", self.habits.host.to_owned()), ("IN_HOOKS", in_hooks)];
        variables.extend(told.map(|(name, value)| (name.to_owned(), value)));
        let line = crate::run::line_of("frith", args.iter().copied());
        self.run(Program { words, folder: self.started_in.clone(), variables, ..Program::default() }, &line)
    }

    /// Starts `frith` as one of its MCP servers, and answers the connection that is its standard input and output.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn connect<'w>(&mut self, args: impl IntoIterator<Item = &'w str>, set: &[(&str, &str)]) -> UnixStream {
        let folder = self.started_in.clone();
        self.connect_in(args, set, &folder)
    }

    /// The same in another folder.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn connect_in<'w>(&mut self, args: impl IntoIterator<Item = &'w str>, set: &[(&str, &str)], folder: &Path) -> UnixStream {
        let words = std::iter::once("frith").chain(args).map(str::to_owned).collect();
        let now = std::mem::replace(&mut self.session, self.started_as.clone());
        let mut variables = self.holding(self.habits.in_servers);
        self.session = now;
        variables.extend(set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let door = Door::of(self.sandbox);
        self.send(&Errand::Serve(Program { words, folder: folder.to_owned(), variables, ..Program::default() }, door.socket.clone()));
        assert!(matches!(self.report(), Report::Done));
        let (stream, _) = wait_for("the server is there", || door.listener.accept().ok());
        stream.set_nonblocking(false).expect("a socket can be told to block");
        stream
    }

    /// Starts a program below the host that ends later, while the test goes on.
    #[track_caller]
    pub fn begin_run(&mut self, program: Program) {
        self.send(&Errand::Run(program));
    }

    /// What came of it.
    #[track_caller]
    pub fn end_run(&mut self, line: &str) -> Run {
        let Report::Ran { code, stdout, stderr } = self.report() else { panic!("the host ran nothing") };
        Run { at: self.habits.host.to_owned(), line: line.to_owned(), code, stdout, stderr }
    }

    /// Any program below the host.
    #[track_caller]
    pub fn run(&mut self, program: Program, line: &str) -> Run {
        self.begin_run(program);
        self.end_run(line)
    }

    /// The id that its hooks exported, or that its shell is told.
    ///
    /// # Panics
    /// It has none.
    #[track_caller]
    pub fn id(&mut self) -> String {
        self.frith(["agents", "whoami", "--quiet"]).ok().id()
    }

    /// Ends the process as a crash would, and waits until it is gone.
    ///
    /// # Panics
    /// It was started by another host, which has to take note of its end.
    #[track_caller]
    pub fn kill(mut self) {
        assert!(self.child.is_some(), "a host that another one started is ended by that one");
        self.reap();
    }

    /// Ends a host that this one started, and takes note of its end.
    #[track_caller]
    pub fn kill_fork(&mut self, forked: Host<'a>) {
        self.send(&Errand::EndFork(forked.pid));
        assert!(matches!(self.report(), Report::Done));
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            // One that has ended by itself is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn holding(&self, variables: Variables) -> BTreeMap<String, String> {
        let told = |holds: Holds| match holds {
            Holds::Session => self.session.clone(),
            Holds::Folder => self.started_in.to_string_lossy().into_owned(),
            Holds::Exports => self.exports.to_string_lossy().into_owned(),
            Holds::Text(text) => text.to_owned(),
        };
        variables.iter().map(|(name, holds)| ((*name).to_owned(), told(*holds))).collect()
    }

    #[track_caller]
    fn send(&mut self, errand: &Errand) {
        tell(&self.stream, errand).expect("the host is there");
    }

    #[track_caller]
    fn report(&mut self) -> Report {
        hear(&mut self.lines).ok().flatten().expect("the host answers")
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        // One that another host started ends by itself when nobody plays it any more.
        self.reap();
    }
}
