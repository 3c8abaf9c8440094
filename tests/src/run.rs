//! One run of a command, as a person sees it: exit code, standard output, standard error.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use crate::wait::{PATIENCE, wait_within};

/// A command about to run in a sandbox.
#[derive(Debug)]
pub struct Call {
    command: Command,
    line: String,
    input: Vec<u8>,
    patience: Duration,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// In which host's shell; empty for a person's.
    pub at: String,
    /// The command line, as it would be typed.
    pub line: String,
    /// The exit code; 128 and the signal's number when one ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A command that runs beside the test.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub child: Child,
    line: String,
    stdout: File,
    stderr: File,
    patience: Duration,
}

impl Call {
    /// A call of `program` with these arguments, in this folder and with this environment only.
    pub fn new<'a>(program: &Path, args: &[&OsStr], folder: &Path, environment: impl IntoIterator<Item = (&'a str, PathBuf)>) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).env_clear();
        for (name, value) in environment {
            command.env(name, value);
        }
        let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        let line = line_of("frith", words.iter().map(AsRef::as_ref));
        Self { command, line, input: Vec::new(), patience: PATIENCE }
    }

    /// Shown as this line in a transcript.
    #[must_use]
    pub fn shown_as(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    /// Runs in this folder.
    #[must_use]
    pub fn dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With this variable in its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With this on standard input.
    #[must_use]
    pub fn input(mut self, text: &str) -> Self {
        self.input = text.as_bytes().to_vec();
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// It cannot be started.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        let file = || tempfile::tempfile().expect("a temporary file can be made");
        let (stdout, stderr, mut stdin) = (file(), file(), file());
        stdin.write_all(&self.input).and_then(|()| stdin.rewind()).expect("a temporary file can be written");
        let copy = |file: &File| Stdio::from(file.try_clone().expect("a file can be opened twice"));
        let started = self.command.stdin(stdin).stdout(copy(&stdout)).stderr(copy(&stderr)).spawn();
        let child = started.unwrap_or_else(|error| panic!("`{}` cannot be started: {error}", self.line));
        Running { child, line: self.line, stdout, stderr, patience: self.patience }
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// It cannot be started, or does not end.
    #[track_caller]
    pub fn run(self) -> Run {
        self.spawn().end()
    }

    /// The command itself, for what a [`Run`] cannot tell.
    pub fn into_command(self) -> Command {
        self.command
    }
}

impl Running {
    /// Waits for its end.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn end(mut self) -> Run {
        let ended = wait_within(self.patience, || self.child.try_wait().expect("a child of ours can be waited for"));
        let (stdout, stderr) = (all_of(&mut self.stdout), all_of(&mut self.stderr));
        let Some(status) = ended else {
            // It ends with the test: nobody looks at what came of killing it.
            let _ = self.child.kill();
            panic!("`{}` does not end; so far it said:\n{stdout}{stderr}", self.line);
        };
        Run { at: String::new(), line: self.line, code: code_of(status), stdout, stderr }
    }
}

fn all_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A program's exit code; 128 and the signal's number when one ended it.
pub fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

impl Run {
    /// This run, which must have been answered with yes.
    ///
    /// # Panics
    /// It was not.
    #[must_use]
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "\n{}", self.transcript());
        self
    }

    /// This run, which must have ended with this code.
    ///
    /// # Panics
    /// It ended with another.
    #[must_use]
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n{}", self.transcript());
        self
    }

    /// What it answered with `--json`.
    ///
    /// # Panics
    /// It is no JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{}", self.transcript()))
    }

    /// The first word of its answer, which is the id of what it made.
    ///
    /// # Panics
    /// It answered nothing.
    #[track_caller]
    pub fn id(&self) -> String {
        self.stdout.split_whitespace().next().unwrap_or_else(|| panic!("no answer:\n{}", self.transcript())).to_owned()
    }

    /// The whole run as a person sees it; standard error is marked with `! `.
    pub fn transcript(&self) -> String {
        let mut text = format!("{}$ {}\n{}", self.at, self.line, self.stdout);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for line in self.stderr.lines() {
            text.push_str(&format!("! {line}\n"));
        }
        if self.code != 0 {
            text.push_str(&format!("[exit {}]\n", self.code));
        }
        text
    }
}

/// A command line as it would be typed into a shell.
pub fn line_of<'w>(program: &str, args: impl IntoIterator<Item = &'w str>) -> String {
    [program.to_owned()].into_iter().chain(args.into_iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

/// A word as it would be typed into a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=@".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Writes a file that can be run.
///
/// # Errors
/// The file cannot be written.
pub fn write_program(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}
