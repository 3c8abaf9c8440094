//! The processes of a sandbox, told by the home in their environment. It sees only what carries that home.

use std::{ffi::OsString, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// A process that works for a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its command and arguments, joined by blanks.
    pub command: String,
}

impl Process {
    /// Whether it is a node, and not a command or an agent.
    pub fn is_node(&self) -> bool {
        let mut words = self.command.split(' ');
        words.next().is_some_and(|program| program.ends_with("frith") || program.ends_with("frith-under-test"))
            && words.next() == Some("up")
            && self.command.contains("--foreground")
    }

    /// Sends it a signal; one that has ended meanwhile is as good.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.map(|pid| kill_process(pid, signal).ok());
    }
}

/// Every living process with this `FRITH_HOME` in its environment, this one excepted.
pub fn of_home(home: &Path) -> Vec<Process> {
    let mut mark = OsString::from("FRITH_HOME=");
    mark.push(home);
    let own = std::process::id();
    system::with_environment(&mark).into_iter().filter(|process| process.pid != own).collect()
}

#[cfg(target_os = "linux")]
mod system {
    use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

    use super::Process;

    pub fn with_environment(mark: &OsStr) -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| carries(*pid, mark)).filter_map(described).collect()
    }

    fn carries(pid: u32, mark: &OsStr) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }

    /// A process that has ended and waits to be collected has no command line.
    fn described(pid: u32) -> Option<Process> {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let command = words.join(" ").trim_end().to_owned();
        (!command.is_empty()).then_some(Process { pid, command })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::{ffi::OsStr, process::Command};

    use super::Process;

    pub fn with_environment(mark: &OsStr) -> Vec<Process> {
        let listed = Command::new("ps").args(["-axwwE", "-o", "pid=,command="]).output().map(|output| output.stdout).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let mark = mark.to_string_lossy();
        let marked = listed.lines().filter(|line| line.split(' ').any(|word| word == mark));
        marked
            .filter_map(|line| line.trim_start().split_once(' '))
            .filter_map(|(pid, command)| Some(Process { pid: pid.parse().ok()?, command: command.to_owned() }))
            .collect()
    }
}
