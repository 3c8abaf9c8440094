//! Processes and terminals of this machine.
//!
//! `portable-pty` opens the terminal; the command is started by the standard library. `portable-pty`'s own start falls
//! back to the home folder when the given one is missing, closes the pipe through which a failed `exec` is reported,
//! and tells a signal by its description only: three things a launch must know exactly.
//!
//! Per terminal there are two descriptors and three tasks, no thread: reader, writer, and the *warden*, which alone
//! owns the child. The warden keeps the ended first process unreaped until its tree was swept, so that neither its process id
//! nor its group's can be given to a stranger meanwhile; then it reports the end, last of all output.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use portable_pty::{PtySize, native_pty_system};
use rustix::fs::{Access, OFlags, access};
use rustix::process::{self as unix, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::process_io::{InputQueue, Master, input_queue, read_all, write_all};
use super::process_table::ProcessTable;
use crate::env::process::{
    CommandError, EnvMark, InputRefused, Launch, Pending, Pid, ProbeError, ProcessEnd, ProcessFacts, ProcessHandle, ProcessOutput,
    ProcessRef, ProcessSignal, Processes, RunningProcess, StartError, TerminalSize, signal_until_gone,
};

/// Reads of output that may wait for the node before the agent is slowed.
const OUTPUT_WAITING: usize = 8;
/// How long the leftovers of an agent that ended may take to end when asked.
const LEFTOVER_PATIENCE: Duration = Duration::from_secs(1);
/// How long the leftovers may take to disappear once killed.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How long the last output is waited for when somebody out of reach still holds the terminal.
const DRAIN_PATIENCE: Duration = Duration::from_millis(300);
/// The end is told by a signal; it is looked for this often besides, in case another took the signal.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The processes of this machine, as this user may see and touch them.
#[derive(Clone, Debug)]
pub struct RealProcesses {
    table: ProcessTable,
}

impl RealProcesses {
    /// The door to this machine's processes.
    #[must_use]
    pub fn new() -> Self {
        Self { table: ProcessTable::of_this_system() }
    }
}

impl Default for RealProcesses {
    fn default() -> Self {
        Self::new()
    }
}

impl Processes for RealProcesses {
    fn find_command(&self, command: OsString, search_path: OsString) -> Pending<Result<PathBuf, CommandError>> {
        Box::pin(blocking(move || find_command(&command, &search_path)))
    }

    fn start(&self, launch: Launch, size: TerminalSize) -> Pending<Result<RunningProcess, StartError>> {
        let world = self.clone();
        Box::pin(async move {
            let ended = signal(SignalKind::child()).map_err(terminal_error)?;
            let table = world.table.clone();
            let mark = launch.mark();
            let started = blocking(move || start(table, &launch, size)).await?;
            run(world, started, mark, ended)
        })
    }

    fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
        self.table.facts(pid)
    }

    fn age(&self, process: &ProcessRef) -> Option<Duration> {
        self.table.age(process)
    }

    fn carries(&self, pid: Pid, mark: &EnvMark) -> bool {
        self.table.carries(pid, mark)
    }

    fn working_in(&self, folder: &Path) -> Result<Vec<ProcessFacts>, ProbeError> {
        self.table.working_in(folder)
    }

    fn tree(&self, roots: Vec<ProcessRef>, mark: Option<EnvMark>) -> Pending<Result<Vec<ProcessRef>, ProbeError>> {
        let table = self.table.clone();
        Box::pin(blocking(move || table.tree(&roots, mark.as_ref())))
    }

    fn signal(&self, processes: Vec<ProcessRef>, signal: ProcessSignal) -> Pending<()> {
        let table = self.table.clone();
        Box::pin(blocking(move || {
            for process in &processes {
                table.signal(process, signal);
            }
        }))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where blocking work of the processes' door is done")]
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn find_command(command: &OsStr, search_path: &OsStr) -> Result<PathBuf, CommandError> {
    let path = Path::new(command);
    if path.is_absolute() {
        return match is_executable(path) {
            true => Ok(path.to_owned()),
            false => Err(CommandError::NotExecutable { path: path.to_owned() }),
        };
    }
    if path.components().count() != 1 {
        return Err(CommandError::NotAbsolute { command: command.to_owned() });
    }
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(path))
        .find(|file| is_executable(file))
        .ok_or_else(|| CommandError::NotFound { command: command.to_owned(), search_path: search_path.to_owned() })
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

fn terminal_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StartError {
    StartError::Terminal(error.into())
}

/// A command just started, not yet attended by its tasks. Dropped like that, it is killed.
struct Started {
    leash: Leash,
    master: OwnedFd,
}

fn start(table: ProcessTable, launch: &Launch, size: TerminalSize) -> Result<Started, StartError> {
    let search_path = launch.env.iter().rev().find(|(name, _)| name == "PATH");
    let search_path = search_path.map_or(OsStr::new(""), |(_, value)| value);
    let path = find_command(&launch.command, search_path)?;
    if !launch.folder.is_dir() {
        return Err(StartError::FolderMissing { folder: launch.folder.clone() });
    }
    let (master, terminal) = open_terminal(size)?;
    let child = spawn(&path, launch, &terminal).map_err(|source| StartError::Spawn { path, source })?;
    let leash = Leash::hold(child, table)?;
    Ok(Started { leash, master })
}

/// Opens a terminal; answers the node's end, which never blocks, and the command's.
///
/// The node's end is copied out of the library, whose own writer types an end-of-file when it is dropped.
fn open_terminal(size: TerminalSize) -> Result<(OwnedFd, OwnedFd), StartError> {
    let size = PtySize { rows: size.rows(), cols: size.cols(), pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(terminal_error)?;
    let missing = || terminal_error(io::Error::from(io::ErrorKind::NotFound));
    let raw = pair.master.as_raw_fd().ok_or_else(missing)?;
    // SAFETY: the descriptor is open as long as `pair.master`, which outlives the copy made of it here.
    #[expect(unsafe_code, reason = "the library gives its descriptor as a bare number only")]
    let master = unsafe { BorrowedFd::borrow_raw(raw) };
    let master = master.try_clone_to_owned().map_err(terminal_error)?;
    rustix::io::ioctl_fionbio(&master, true).map_err(terminal_error)?;
    let name = pair.master.tty_name().ok_or_else(missing)?;
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).expect("an open flag fits the C int it is");
    let terminal = OpenOptions::new().read(true).write(true).custom_flags(no_control).open(name).map_err(terminal_error)?;
    Ok((master, terminal.into()))
}

fn spawn(path: &Path, launch: &Launch, terminal: &OwnedFd) -> io::Result<Child> {
    let end = || terminal.try_clone().map(Stdio::from);
    let mut command = Command::new(path);
    command
        .arg0(&launch.command)
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.folder)
        .stdin(end()?)
        .stdout(end()?)
        .stderr(end()?);
    // SAFETY: between fork and exec the closure makes two system calls and neither allocates nor takes a lock.
    #[expect(unsafe_code, reason = "nothing safe puts a child into a session with a terminal of its own")]
    unsafe {
        command.pre_exec(|| {
            unix::setsid()?;
            Ok(unix::ioctl_tiocsctty(rustix::stdio::stdin())?)
        })
    };
    command.spawn()
}

/// The hold on a child: whatever happens to it, the child is killed and reaped.
struct Leash {
    child: Option<Child>,
    process: ProcessRef,
}

impl Leash {
    fn hold(child: Child, table: ProcessTable) -> Result<Self, StartError> {
        let pid = Pid::new(child.id());
        let nameless = ProcessRef { pid: pid.get(), started: String::new() };
        let mut leash = Self { child: Some(child), process: nameless };
        // A child that ended at once may have no facts left; then no living process has its stamp, which is true.
        if let Some(row) = table.row(pid)? {
            leash.process = row.process;
        }
        Ok(leash)
    }

    fn unix_pid(&self) -> Option<unix::Pid> {
        self.child.as_ref().map(unix::Pid::from_child)
    }

    /// Whether it ended; it stays unreaped.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let look = |pid| unix::waitid(WaitId::Pid(pid), options);
        self.unix_pid().is_none_or(|pid| !matches!(look(pid), Ok(None) | Err(rustix::io::Errno::INTR)))
    }

    /// Signals it and its group in one go, so that nobody is born in between.
    fn signal_group(&self, signal: ProcessSignal) {
        let signals: &[unix::Signal] = match signal {
            ProcessSignal::Terminate => &[unix::Signal::TERM, unix::Signal::CONT],
            ProcessSignal::Kill => &[unix::Signal::KILL],
        };
        let Some(pid) = self.unix_pid() else {
            return;
        };
        for signal in signals {
            let _ = unix::kill_process_group(pid, *signal);
        }
    }

    fn reap(mut self) -> ProcessEnd {
        let mut child = self.child.take().expect("only reaping and dropping take the child");
        end_of(child.wait())
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.signal_group(ProcessSignal::Kill);
        if let Some(mut child) = self.child.take() {
            let name = format!("reap {}", child.id());
            let reaper = std::thread::Builder::new().name(name);
            let _ = reaper.spawn(move || child.wait());
        }
    }
}

fn end_of(status: io::Result<ExitStatus>) -> ProcessEnd {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => ProcessEnd::Exited(code),
            (None, Some(signal)) => ProcessEnd::Signalled(signal),
            (None, None) => ProcessEnd::Unknown,
        },
        Err(_) => ProcessEnd::Unknown,
    }
}

/// Sets the tasks of a started command going.
fn run(world: RealProcesses, started: Started, mark: Option<EnvMark>, ended: SignalStream) -> Result<RunningProcess, StartError> {
    let Started { leash, master } = started;
    // SAFETY: the descriptor is owned by the value given away here, which nothing replaces or closes before its drop.
    #[expect(unsafe_code, reason = "the runtime asks for this promise of whoever registers a descriptor")]
    let master = unsafe { AsyncFd::register(master) };
    let master: Master = Arc::new(master.map_err(|error| terminal_error(io::Error::from(error)))?);
    let (input, items) = input_queue();
    let (output, outputs) = mpsc::channel(OUTPUT_WAITING);
    let (commands, orders) = mpsc::unbounded_channel();
    let process = leash.process.clone();
    let warden = Warden {
        world,
        known: BTreeSet::from([process.clone()]),
        reader: tokio::spawn(read_all(Arc::clone(&master), output.clone())),
        writer: tokio::spawn(write_all(Arc::clone(&master), items)),
        leash: Some(leash),
        mark,
        orders,
        ended,
        output,
    };
    tokio::spawn(warden.attend());
    Ok(RunningProcess { process, output: outputs, handle: Box::new(Handle { master, input, commands }) })
}

struct Handle {
    master: Master,
    input: InputQueue,
    commands: mpsc::UnboundedSender<ProcessSignal>,
}

impl ProcessHandle for Handle {
    fn write(&mut self, bytes: Vec<u8>) -> Result<(), InputRefused> {
        self.input.push(bytes)
    }

    fn resize(&mut self, size: TerminalSize) -> io::Result<()> {
        let size = rustix::termios::Winsize { ws_row: size.rows(), ws_col: size.cols(), ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(self.master.get_ref(), size)?)
    }

    /// The warden is gone only after the end, when there is nobody to signal.
    fn signal(&mut self, signal: ProcessSignal) {
        let _ = self.commands.send(signal);
    }
}

/// Attends one child from its start to its end.
struct Warden {
    world: RealProcesses,
    leash: Option<Leash>,
    /// Everyone ever seen in the tree: a child whose parent ended is found by nothing else.
    known: BTreeSet<ProcessRef>,
    /// What tells those of them that left their parents.
    mark: Option<EnvMark>,
    orders: mpsc::UnboundedReceiver<ProcessSignal>,
    ended: SignalStream,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    output: mpsc::Sender<ProcessOutput>,
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

impl Warden {
    async fn attend(mut self) {
        self.await_end().await;
        self.sweep().await;
        if tokio::time::timeout(DRAIN_PATIENCE, &mut self.reader).await.is_err() {
            tracing::debug!(pid = self.pid(), "the terminal is held open by a process out of reach");
        }
        let leash = self.leash.take().expect("the leash is held until the end");
        let end = ProcessOutput::Ended(leash.reap());
        let _ = self.output.send(end).await;
    }

    fn pid(&self) -> u32 {
        self.leash().process.pid
    }

    fn leash(&self) -> &Leash {
        self.leash.as_ref().expect("the leash is held until the end")
    }

    /// Carries out orders until the first process ended. A handle that was dropped is the order to kill.
    async fn await_end(&mut self) {
        let mut is_held = true;
        while !self.leash().has_ended() {
            tokio::select! {
                biased;
                order = self.orders.recv(), if is_held => {
                    is_held = order.is_some();
                    self.signal(order.unwrap_or(ProcessSignal::Kill)).await;
                }
                _ = self.ended.recv() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// The tree is looked at before the signal: what left the group is findable only while its parent lives.
    async fn signal(&mut self, signal: ProcessSignal) {
        let roots = self.known.iter().cloned().collect();
        let tree = self.world.tree(roots, self.mark.clone()).await;
        let tree = tree.unwrap_or_else(|error| {
            tracing::warn!(%error, "only the process group is signalled");
            Vec::new()
        });
        self.known.extend(tree.iter().cloned());
        self.leash().signal_group(signal);
        let first = self.leash().process.clone();
        let others = tree.into_iter().filter(|process| *process != first);
        self.world.signal(others.collect(), signal).await;
    }

    /// Ends what the first process left behind. Unreaped, that one keeps the group's number from being used again.
    async fn sweep(&mut self) {
        use ProcessSignal::{Kill, Terminate};
        for (signal, patience) in [(Terminate, LEFTOVER_PATIENCE), (Kill, KILL_PATIENCE)] {
            let known = &mut self.known;
            match signal_until_gone(&self.world, known, self.mark.clone(), signal, patience).await {
                Ok(None) => return,
                Ok(Some(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, "only the process group is swept");
                    self.leash().signal_group(Kill);
                    return;
                }
            }
        }
        tracing::warn!(pid = self.pid(), "a process of an agent that ended does not end");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::process::{Life, SurvivorEnd, end_survivor};

    fn launch(script: &str) -> Launch {
        Launch {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            folder: std::env::temp_dir(),
        }
    }

    async fn start(launch: Launch) -> Result<RunningProcess, StartError> {
        let world = RealProcesses::new();
        world.start(launch, TerminalSize::DEFAULT).await
    }

    /// Reads until the output holds `wanted`.
    async fn read_until(running: &mut RunningProcess, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            match running.output.recv().await {
                Some(ProcessOutput::Bytes(bytes)) => text += &String::from_utf8_lossy(&bytes),
                other => panic!("{other:?} came before `{wanted}`, after {text:?}"),
            }
        }
        text
    }

    async fn read_to_end(running: &mut RunningProcess) -> (String, ProcessEnd) {
        let mut text = String::new();
        loop {
            match running.output.recv().await {
                Some(ProcessOutput::Bytes(bytes)) => text += &String::from_utf8_lossy(&bytes),
                Some(ProcessOutput::Ended(end)) => return (text, end),
                None => panic!("no end was told after {text:?}"),
            }
        }
    }

    async fn tree_of(process: &ProcessRef) -> Vec<ProcessRef> {
        let world = RealProcesses::new();
        world.tree(vec![process.clone()], None).await.unwrap()
    }

    #[tokio::test]
    async fn output_comes_whole_and_then_the_exit_code() {
        let mut running = start(launch("printf one; printf two; exit 7")).await.unwrap();
        let (text, end) = read_to_end(&mut running).await;
        assert_eq!(text, "onetwo");
        assert_eq!(end, ProcessEnd::Exited(7));
        assert_eq!(running.output.recv().await, None);
    }

    #[tokio::test]
    async fn e20_terminating_ends_the_whole_tree_and_says_by_which_signal() {
        let mut running = start(launch("echo go; sleep 1000 | cat")).await.unwrap();
        read_until(&mut running, "go").await;
        running.handle.signal(ProcessSignal::Terminate);
        let (_, end) = read_to_end(&mut running).await;
        assert_eq!(end, ProcessEnd::Signalled(15));
        assert_eq!(tree_of(&running.process).await, []);
    }

    #[tokio::test]
    async fn e20_who_ignores_asking_is_killed() {
        let script = "trap '' TERM; echo go; while :; do sleep 1000; done";
        let mut running = start(launch(script)).await.unwrap();
        read_until(&mut running, "go").await;
        running.handle.signal(ProcessSignal::Kill);
        let (_, end) = read_to_end(&mut running).await;
        assert_eq!(end, ProcessEnd::Signalled(9));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn e20_a_child_that_left_the_session_ends_too() {
        let script = "setsid sh -c 'echo child $$; exec sleep 1000' & wait";
        let mut running = start(launch(script)).await.unwrap();
        let text = read_until(&mut running, "\n").await;
        let pid = text.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let child = RealProcesses::new().facts(Pid::new(pid)).unwrap().unwrap();
        running.handle.signal(ProcessSignal::Terminate);
        read_to_end(&mut running).await;
        assert_eq!(RealProcesses::new().life(&child.process), Life::Gone);
    }

    #[tokio::test]
    async fn what_an_agent_leaves_behind_when_it_ends_is_ended() {
        let script = "trap '' HUP; sleep 1000 & echo $!; exit 3";
        let mut running = start(launch(script)).await.unwrap();
        let (text, end) = read_to_end(&mut running).await;
        assert_eq!(end, ProcessEnd::Exited(3));
        let pid = Pid::new(text.trim().parse().unwrap());
        assert_eq!(RealProcesses::new().facts(pid).unwrap(), None);
    }

    #[tokio::test]
    async fn dropping_the_handle_ends_the_tree() {
        let mut running = start(launch("echo go; sleep 1000 | cat")).await.unwrap();
        read_until(&mut running, "go").await;
        let process = running.process.clone();
        drop(running.handle);
        while running.output.recv().await.is_some() {}
        assert_eq!(RealProcesses::new().life(&process), Life::Gone);
    }

    #[tokio::test]
    async fn e17_nothing_of_the_node_is_inherited() {
        let mut launch = launch("env");
        launch.env.push(("ONLY".into(), "this".into()));
        let mut running = start(launch).await.unwrap();
        let (text, _) = read_to_end(&mut running).await;
        // A shell adds these by itself.
        let own = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
        let is_given = |line: &&str| !own.iter().any(|name| line.starts_with(name));
        let lines: Vec<&str> = text.lines().filter(is_given).collect();
        assert_eq!(lines, ["PATH=/usr/local/bin:/usr/bin:/bin", "ONLY=this"]);
    }

    #[tokio::test]
    async fn e27_g14_a_command_of_the_callers_path_runs_without_a_shell() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("an agent");
        std::fs::write(&agent, "#!/bin/sh\nprintf '<%s>' \"$@\"\n").unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        let launch = Launch {
            command: "an agent".into(),
            args: vec!["$(touch x)".into(), "; exit 1".into(), "*".into()],
            env: vec![("SHELL".into(), "/usr/bin/fish".into()), ("PATH".into(), folder.path().into())],
            folder: folder.path().to_owned(),
        };
        let mut running = start(launch).await.unwrap();
        let (text, end) = read_to_end(&mut running).await;
        assert_eq!(text, "<$(touch x)><; exit 1><*>");
        assert_eq!(end, ProcessEnd::Exited(0));
        assert!(!folder.path().join("x").exists());
    }

    #[tokio::test]
    async fn e27_a_missing_command_is_said_before_anything_starts() {
        let mut absent = launch("");
        absent.command = "no-such-agent".into();
        let error = start(absent).await.err().unwrap();
        insta::assert_snapshot!(error, @"`no-such-agent` is not on the search path `/usr/local/bin:/usr/bin:/bin`");
        let mut relative = launch("");
        relative.command = "bin/agent".into();
        let error = start(relative).await.err().unwrap();
        insta::assert_snapshot!(error, @"`bin/agent` is neither a bare name nor an absolute path");
    }

    #[tokio::test]
    async fn a_file_the_system_cannot_run_is_an_error_and_not_an_end() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("agent");
        std::fs::write(&agent, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        let mut broken = launch("");
        broken.command = agent.into();
        let error = start(broken).await.err().unwrap();
        assert!(matches!(error, StartError::Spawn { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_missing_folder_starts_nothing_elsewhere() {
        let mut lost = launch("pwd");
        lost.folder = "/no/such/folder".into();
        let error = start(lost).await.err().unwrap();
        assert!(matches!(error, StartError::FolderMissing { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn what_is_typed_arrives_in_order_and_the_size_is_known() {
        let script = "stty -echo; echo go; read a; read b; echo \"[$b $a]\"; read c; stty size";
        let mut running = start(launch(script)).await.unwrap();
        read_until(&mut running, "go").await;
        running.handle.write(b"first\n".to_vec()).unwrap();
        running.handle.write(b"second\n".to_vec()).unwrap();
        read_until(&mut running, "[second first]").await;
        running.handle.resize(TerminalSize::new(33, 111)).unwrap();
        running.handle.write(b"\n".to_vec()).unwrap();
        let (text, _) = read_to_end(&mut running).await;
        assert!(text.contains("33 111"), "{text:?}");
    }

    #[tokio::test]
    async fn an_agent_that_does_not_read_never_fills_the_node() {
        let mut running = start(launch("stty raw -echo; echo go; sleep 1000")).await.unwrap();
        read_until(&mut running, "go").await;
        let chunk = vec![b'x'; 300 * 1024];
        let mut results = (0..5).map(|_| running.handle.write(chunk.clone()));
        assert!(results.any(|result| result == Err(InputRefused::Full)));
        running.handle.signal(ProcessSignal::Kill);
        read_to_end(&mut running).await;
    }

    #[tokio::test]
    async fn a_flood_nobody_reads_stops_the_agent_and_not_the_node() {
        let mut running = start(launch("yes")).await.unwrap();
        read_until(&mut running, "y\r\ny\r\n").await;
        running.handle.signal(ProcessSignal::Terminate);
        let (_, end) = read_to_end(&mut running).await;
        assert_eq!(end, ProcessEnd::Signalled(15));
    }

    /// A process in a session of its own that no warden attends, as a crashed node leaves one.
    fn survivor(script: &str, mark: &EnvMark) -> (Child, ProcessRef) {
        let mut command = Command::new("setsid");
        command.args(["--wait", "sh", "-c", script]).stdout(Stdio::piped());
        command.env(&mark.name, &mark.value);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut output = io::BufReader::new(child.stdout.take().unwrap());
        io::BufRead::read_line(&mut output, &mut line).unwrap();
        let pid = Pid::new(line.trim().parse().unwrap());
        let facts = RealProcesses::new().facts(pid).unwrap();
        let nameless = ProcessRef { pid: pid.get(), started: String::new() };
        (child, facts.map_or(nameless, |facts| facts.process))
    }

    fn mark() -> EnvMark {
        EnvMark { name: "FRITH_TEST_MARK".into(), value: format!("{:?}", std::thread::current().id()).into() }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn e25_a_survivor_is_found_by_id_and_start_time_and_ended() {
        let world = RealProcesses::new();
        let (mut child, process) = survivor("echo $$; sleep 1000 | cat", &mark());
        assert_eq!(world.life(&process), Life::Alive);
        let grace = Duration::from_secs(5);
        let end = end_survivor(&world, Some(process.clone()), None, grace).await.unwrap();
        assert_eq!(end, SurvivorEnd::Terminated);
        assert_eq!(world.life(&process), Life::Gone);
        child.wait().unwrap();
        let again = end_survivor(&world, Some(process), None, grace).await.unwrap();
        assert_eq!(again, SurvivorEnd::WasGone);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn e25_a_survivor_that_ignores_asking_is_killed() {
        let world = RealProcesses::new();
        let script = "trap '' TERM; echo $$; while :; do sleep 1000; done";
        let (mut child, process) = survivor(script, &mark());
        let grace = Duration::from_millis(50);
        let end = end_survivor(&world, Some(process.clone()), None, grace).await.unwrap();
        assert_eq!(end, SurvivorEnd::Killed);
        assert_eq!(world.life(&process), Life::Gone);
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn e25_a_recycled_id_is_never_touched() {
        let world = RealProcesses::new();
        let (mut child, process) = survivor("echo $$; exec sleep 1000", &mark());
        let recycled = ProcessRef { pid: process.pid, started: "an earlier boot/1".into() };
        let end = end_survivor(&world, Some(recycled.clone()), None, Duration::ZERO).await.unwrap();
        assert_eq!(end, SurvivorEnd::WasGone);
        world.signal(vec![recycled], ProcessSignal::Kill).await;
        assert_eq!(world.life(&process), Life::Alive);
        world.signal(vec![process], ProcessSignal::Kill).await;
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn e25_children_of_a_survivor_that_ended_are_known_by_their_mark() {
        let world = RealProcesses::new();
        let script = "sleep 1000 >/dev/null & echo $$";
        let (mut child, process) = survivor(script, &mark());
        child.wait().unwrap();
        let unmarked = world.tree(vec![process.clone()], None).await.unwrap();
        assert_eq!(unmarked, []);
        let grace = Duration::from_secs(5);
        let end = end_survivor(&world, Some(process), Some(mark()), grace).await.unwrap();
        assert_eq!(end, SurvivorEnd::Terminated);
    }

    #[test]
    fn ancestors_are_nearest_first() {
        let world = RealProcesses::new();
        let own = Pid::new(std::process::id());
        let above = world.ancestors(own, 2);
        let parent = Pid::new(std::os::unix::process::parent_id());
        assert_eq!(above.first().map(|facts| facts.process.pid), Some(parent.get()));
        assert!(above.len() <= 2);
    }
}
