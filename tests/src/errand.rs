//! What a test asks of the host that it plays, one line of JSON each way over a socket, and the program that does it.
//!
//! The program is no shell and knows nothing of `frith`: it starts what it is told, below itself, as a host does.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::run::code_of;

/// What a host is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Errand {
    /// Run a program and tell what came of it.
    Run(Program),
    /// Start another host below this one, which reports to this socket.
    Fork(PathBuf),
    /// Start a server below this one, whose standard input and output are a connection to this socket.
    Serve(Program, PathBuf),
    /// End a host that was started so, and take note of its end.
    EndFork(u32),
}

/// A program to run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Where.
    pub folder: PathBuf,
    /// Variables besides the host's own.
    pub variables: BTreeMap<String, String>,
    /// What it reads.
    pub input: String,
    /// Whether what it reads never ends: its standard input stays open until it is gone.
    pub endless: bool,
    /// After how many µs it is killed, if it is there still.
    pub killed_after_us: Option<u64>,
}

/// What a host tells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Report {
    /// That it is there, with the number of its process.
    Here(u32),
    /// What came of a program.
    Ran {
        /// Its exit code; 128 and the signal's number when one ended it.
        code: i32,
        /// What it wrote to standard output.
        stdout: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// That it is done.
    Done,
}

/// Sends one line.
///
/// # Errors
/// Nobody reads it.
pub fn tell(stream: &UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(what)?;
    line.push('\n');
    let mut stream = stream;
    stream.write_all(line.as_bytes())
}

/// Reads one line; none when there are no more.
///
/// # Errors
/// It cannot be read, or says something else.
pub fn hear<T: DeserializeOwned>(stream: &mut BufReader<UnixStream>) -> io::Result<Option<T>> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

/// Is a host until whoever plays it is gone.
///
/// # Errors
/// Its socket is gone.
pub fn serve(socket: &Path) -> io::Result<()> {
    let stream = UnixStream::connect(socket)?;
    tell(&stream, &Report::Here(std::process::id()))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut forks = Vec::new();
    while let Some(errand) = hear(&mut lines)? {
        tell(&stream, &done(errand, &mut forks)?)?;
    }
    forks.iter_mut().try_for_each(end)
}

fn done(errand: Errand, forks: &mut Vec<Child>) -> io::Result<Report> {
    match errand {
        Errand::Run(program) => run(&program),
        Errand::Fork(socket) => {
            forks.push(Command::new(std::env::current_exe()?).arg(socket).spawn()?);
            Ok(Report::Done)
        }
        Errand::Serve(program, socket) => {
            forks.push(serving(&program, &socket)?);
            Ok(Report::Done)
        }
        Errand::EndFork(pid) => {
            forks.iter_mut().filter(|fork| fork.id() == pid).try_for_each(end)?;
            Ok(Report::Done)
        }
    }
}

/// Starts a server, which speaks over a connection that only it and the test hold.
fn serving(program: &Program, socket: &Path) -> io::Result<Child> {
    let [name, args @ ..] = program.words.as_slice() else { return Err(io::Error::other("no program is named")) };
    let stream = UnixStream::connect(socket)?;
    let mut command = Command::new(name);
    command.args(args).current_dir(&program.folder).envs(&program.variables);
    command.stdin(OwnedFd::from(stream.try_clone()?)).stdout(OwnedFd::from(stream)).spawn()
}

fn end(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// Runs a program to its end. What it writes goes into files: one that leaves a child behind holds nobody up.
fn run(program: &Program) -> io::Result<Report> {
    let [name, args @ ..] = program.words.as_slice() else { return Err(io::Error::other("no program is named")) };
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(name);
    command.args(args).current_dir(&program.folder).envs(&program.variables);
    command.stdin(Stdio::piped()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let kept = fed(child.stdin.take(), program);
    if let Some(us) = program.killed_after_us {
        std::thread::sleep(std::time::Duration::from_micros(us));
        child.kill()?;
    }
    let status = child.wait()?;
    drop(kept);
    let all = |file: &mut std::fs::File| {
        let mut bytes = Vec::new();
        io::Seek::rewind(file)?;
        file.read_to_end(&mut bytes)?;
        io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Report::Ran { code: code_of(status), stdout: all(&mut stdout)?, stderr: all(&mut stderr)? })
}

/// Gives a program what it reads, and answers the end to keep open where it is to have none.
fn fed(stdin: Option<ChildStdin>, program: &Program) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    // One that ends without reading is as good: hosts go on, too.
    let _ = stdin.write_all(program.input.as_bytes());
    program.endless.then_some(stdin)
}
