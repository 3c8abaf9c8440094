//! A person at a terminal: a command that runs in one, what its screen has shown, and what is typed into it.

use std::{
    io::{Read as _, Write},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::wait::wait_for;

/// A command in a terminal.
pub struct Viewer {
    child: Box<dyn Child + Send + Sync>,
    /// Opened by the first key: when it is closed it types the end of input, which closing a window does not.
    keys: Option<Box<dyn Write + Send>>,
    terminal: Box<dyn MasterPty + Send>,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Viewer {
    /// Runs a command in a terminal of this many columns and rows.
    ///
    /// # Panics
    /// There is no terminal to be had, or the command cannot be started.
    #[track_caller]
    pub fn open(command: &Command, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("the system has a terminal left");
        let child = pair.slave.spawn_command(in_terminal(command)).expect("the command can be started");
        let mut screen = pair.master.try_clone_reader().expect("a terminal can be read");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&shown);
        let reading = thread::Builder::new().spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut buffer) {
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..length]);
            }
        });
        drop(reading.expect("a thread can be started"));
        Self { child, keys: None, terminal: pair.master, shown }
    }

    /// Everything the screen was sent so far, as text.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until the screen was sent this text.
    ///
    /// # Panics
    /// It never was.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let seen = crate::wait::wait_within(crate::wait::PATIENCE, || self.shown().contains(text).then_some(()));
        assert!(seen.is_some(), "the screen never showed `{text}`, but this:\n{}", self.shown());
    }

    /// Waits until the screen was sent this text, wherever it was wrapped.
    ///
    /// # Panics
    /// It never was.
    #[track_caller]
    pub fn wait_for_wrapped(&self, text: &str) {
        let wanted = run_together(text);
        let seen = crate::wait::wait_within(crate::wait::PATIENCE, || run_together(&self.shown()).contains(&wanted).then_some(()));
        assert!(seen.is_some(), "the screen never showed `{text}`, but this:\n{}", self.shown());
    }

    /// Types.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn type_in(&mut self, keys: &str) {
        let terminal = &self.terminal;
        let typed = self.keys.get_or_insert_with(|| terminal.take_writer().expect("a terminal takes keys"));
        typed.write_all(keys.as_bytes()).and_then(|()| typed.flush()).expect("the terminal takes keys");
    }

    /// Makes the terminal as large as this.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.terminal.resize(size(columns, rows)).expect("the terminal can be resized");
    }

    /// The settings of the terminal, in the words of `stty`; none when they cannot be read.
    pub fn is_cooked(&self) -> Option<bool> {
        use rustix::termios::LocalModes;
        let terminal = self.terminal.get_termios()?;
        let canonical = terminal.local_flags.bits() & LocalModes::ICANON.bits();
        Some(canonical != 0)
    }

    /// Waits for the command's end and answers its exit code.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn end(mut self) -> u32 {
        wait_for("the end of the command in the terminal", || self.child.try_wait().expect("a child of ours can be waited for")).exit_code()
    }

    /// Closes the terminal, as closing a window does. Nothing was typed into it.
    pub fn close(self) {
        drop(self);
    }
}

/// The text without blanks, line ends and what moves the cursor.
fn run_together(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| "[]()?;=>".contains(c) || c.is_ascii_digit()));
    let rest = rest.map(|part| part.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(part));
    rest.fold(first, |text, part| text + part).split_whitespace().collect()
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn in_terminal(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    for (name, value) in command.get_envs() {
        builder.env(name, value.unwrap_or_default());
    }
    if let Some(folder) = command.get_current_dir() {
        builder.cwd(folder);
    }
    builder
}
