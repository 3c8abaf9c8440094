//! The system's table of processes: who runs, under whom, since when.
//!
//! Platform code in one place: `/proc` on Linux, `libproc` on macOS. It signals only a process whose start time it
//! has just compared, and never this process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::env::process::{EnvMark, Pid, ProbeError, ProcessFacts, ProcessRef, ProcessSignal};

/// One process of the table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) process: ProcessRef,
    pub(super) parent: u32,
    group: u32,
    session: u32,
    /// It ended and only waits for its parent to notice.
    pub(super) has_ended: bool,
}

impl Row {
    fn pid(&self) -> u32 {
        self.process.pid
    }

    fn is_led_by(&self, pid: u32) -> bool {
        self.session == pid || self.group == pid
    }
}

/// The way to the system's table.
#[derive(Clone, Debug)]
pub(super) struct ProcessTable {
    source: platform::Source,
}

impl ProcessTable {
    pub(super) fn of_this_system() -> Self {
        Self { source: platform::Source::of_this_system() }
    }

    /// The process with this id, also one that ended and was not reaped yet; `None` when there is none.
    pub(super) fn row(&self, pid: Pid) -> Result<Option<Row>, ProbeError> {
        self.source.row(pid.get()).map_err(|source| ProbeError { pid, source })
    }

    pub(super) fn facts(&self, pid: Pid) -> Result<Option<ProcessFacts>, ProbeError> {
        let row = self.row(pid)?.filter(|row| !row.has_ended);
        Ok(row.map(|row| ProcessFacts {
            executable: self.source.executable(pid.get()),
            session: row.session,
            parent: (row.parent != 0).then_some(Pid::new(row.parent)),
            process: row.process,
        }))
    }

    /// See [`Processes::tree`](crate::env::process::Processes::tree).
    pub(super) fn tree(&self, roots: &[ProcessRef], mark: Option<&EnvMark>) -> Result<Vec<ProcessRef>, ProbeError> {
        let probe = |source| ProbeError { pid: roots.first().map_or(Pid::new(0), |root| root.pid.into()), source };
        let own = std::process::id();
        let mut rows = self.source.rows().map_err(probe)?;
        rows.retain(|row| row.pid() != own && row.pid() > 1);
        let mut members = BTreeSet::new();
        for root in roots {
            let lives = rows.iter().any(|row| row.process == *root);
            let belongs = |row: &&Row| lives && (row.process == *root || row.is_led_by(root.pid));
            members.extend(rows.iter().filter(belongs).map(Row::pid));
        }
        members.extend(rows.iter().filter(|row| self.row_carries(row, mark)).map(Row::pid));
        add_descendants(&rows, &mut members);
        let alive = |row: &&Row| members.contains(&row.pid()) && !row.has_ended;
        Ok(rows.iter().filter(alive).map(|row| row.process.clone()).collect())
    }

    /// Signals the process if it is still the one named.
    ///
    /// Where the system has process descriptors nothing can take its id between the look and the signal; elsewhere a
    /// moment remains in which it could end and its id be given away.
    pub(super) fn signal(&self, process: &ProcessRef, signal: ProcessSignal) {
        let is_same = || matches!(self.row(process.pid.into()), Ok(Some(row)) if row.process == *process);
        let signals: &[Signal] = match signal {
            ProcessSignal::Terminate => &[Signal::TERM, Signal::CONT],
            ProcessSignal::Kill => &[Signal::KILL],
        };
        if process.pid != std::process::id() {
            platform::signal_if(process.pid, is_same, signals);
        }
    }

    /// See [`Processes::age`](crate::env::process::Processes::age).
    pub(super) fn age(&self, process: &ProcessRef) -> Option<Duration> {
        self.source.age(&process.started)
    }

    /// See [`Processes::carries`](crate::env::process::Processes::carries).
    pub(super) fn carries(&self, pid: Pid, mark: &EnvMark) -> bool {
        self.source.carries(pid.get(), mark)
    }

    /// See [`Processes::working_in`](crate::env::process::Processes::working_in).
    pub(super) fn working_in(&self, folder: &Path) -> Result<Vec<ProcessFacts>, ProbeError> {
        let rows = self.source.rows().map_err(|source| ProbeError { pid: Pid::new(0), source })?;
        let inside = rows.iter().filter(|row| self.source.folder(row.pid()).is_some_and(|path| path.starts_with(folder)));
        let facts = inside.filter_map(|row| self.facts(row.process.pid.into()).transpose());
        facts.collect()
    }

    fn row_carries(&self, row: &Row, mark: Option<&EnvMark>) -> bool {
        mark.is_some_and(|mark| self.source.carries(row.pid(), mark))
    }
}

/// Adds everyone below a member, until nobody is new.
fn add_descendants(rows: &[Row], members: &mut BTreeSet<u32>) {
    loop {
        let is_new_child = |row: &&Row| members.contains(&row.parent) && !members.contains(&row.pid());
        let found: Vec<u32> = rows.iter().filter(is_new_child).map(Row::pid).collect();
        if found.is_empty() {
            return;
        }
        members.extend(found);
    }
}

fn process_ref(pid: u32, started: String) -> ProcessRef {
    ProcessRef { pid, started }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, OnceLock};

    use rustix::io::Errno;
    use rustix::process::{self, PidfdFlags};

    use super::*;

    /// In what unit the kernel tells start times, on every architecture.
    const TICKS_A_SECOND: u64 = 100;

    #[derive(Clone, Debug)]
    pub(super) struct Source {
        proc: PathBuf,
        /// The start of the system as it calls it, which stays while this process runs.
        boot: Arc<OnceLock<String>>,
    }

    impl Source {
        pub(super) fn of_this_system() -> Self {
            Self::at(Path::new("/proc"))
        }

        pub(super) fn at(proc: &Path) -> Self {
            Self { proc: proc.to_owned(), boot: Arc::default() }
        }

        pub(super) fn row(&self, pid: u32) -> io::Result<Option<Row>> {
            let boot = self.boot()?;
            match self.stat(pid) {
                Ok(stat) => Ok(Some(parse_stat(pid, &stat, boot)?)),
                Err(error) if is_gone(&error) => self.require_proc().map(|()| None),
                Err(error) => Err(error),
            }
        }

        pub(super) fn rows(&self) -> io::Result<Vec<Row>> {
            let boot = self.boot()?;
            let mut rows = Vec::new();
            for entry in fs::read_dir(&self.proc)? {
                let name = entry?.file_name();
                let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                match self.stat(pid) {
                    Ok(stat) => rows.push(parse_stat(pid, &stat, boot)?),
                    Err(error) if is_gone(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(rows)
        }

        /// The link to the executable is exact; the short name in the table is the fallback for processes of others.
        pub(super) fn executable(&self, pid: u32) -> OsString {
            let exe = fs::read_link(self.of(pid, "exe")).ok();
            let name = exe.as_ref().and_then(|exe| exe.file_name());
            if let Some(name) = name {
                let bytes = name.as_bytes();
                let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
                return OsString::from_vec(bytes.to_vec());
            }
            let short = fs::read(self.of(pid, "comm")).unwrap_or_default();
            OsString::from_vec(short.trim_ascii_end().to_vec())
        }

        pub(super) fn carries(&self, pid: u32, mark: &EnvMark) -> bool {
            let wanted = [mark.name.as_bytes(), b"=", mark.value.as_bytes()].concat();
            let env = fs::read(self.of(pid, "environ")).unwrap_or_default();
            env.split(|byte| *byte == 0).any(|entry| entry == wanted)
        }

        /// For how long what started then has run: both are told in time since the system's start.
        pub(super) fn age(&self, started: &str) -> Option<Duration> {
            let ticks: u64 = started.rsplit('/').next()?.parse().ok()?;
            let uptime = fs::read_to_string(self.proc.join("uptime")).ok()?;
            let uptime: f64 = uptime.split_ascii_whitespace().next()?.parse().ok()?;
            Duration::try_from_secs_f64(uptime).ok()?.checked_sub(Duration::from_millis(ticks * (1000 / TICKS_A_SECOND)))
        }

        /// The folder a process works in; none where the system does not tell, as for processes of other users.
        pub(super) fn folder(&self, pid: u32) -> Option<PathBuf> {
            fs::read_link(self.of(pid, "cwd")).ok()
        }

        fn of(&self, pid: u32, file: &str) -> PathBuf {
            self.proc.join(pid.to_string()).join(file)
        }

        /// The line of a process, read in one go: asking for the file's size first would tell nothing.
        fn stat(&self, pid: u32) -> io::Result<Vec<u8>> {
            let mut line = Vec::with_capacity(1024);
            fs::File::open(self.of(pid, "stat"))?.take(64 * 1024).read_to_end(&mut line)?;
            Ok(line)
        }

        fn boot(&self) -> io::Result<&str> {
            if let Some(boot) = self.boot.get() {
                return Ok(boot);
            }
            let text = fs::read_to_string(self.proc.join("sys/kernel/random/boot_id"))?;
            Ok(self.boot.get_or_init(|| text.trim().to_owned()))
        }

        /// Without a mounted `/proc` every process would look gone.
        fn require_proc(&self) -> io::Result<()> {
            fs::metadata(self.proc.join("self/stat")).map(drop)
        }
    }

    /// `ESRCH` comes when the process ends between opening its file and reading it.
    fn is_gone(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
    }

    /// Reads a line of proc_pid_stat(5). The name, second, may hold spaces and brackets, so counting starts behind it.
    pub(super) fn parse_stat(pid: u32, stat: &[u8], boot: &str) -> io::Result<Row> {
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        let behind_name = stat.iter().rposition(|byte| *byte == b')');
        let rest = &stat[behind_name.ok_or_else(malformed)? + 1..];
        let rest = std::str::from_utf8(rest).map_err(|_| malformed())?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied().ok_or_else(malformed);
        let number = |position: usize| field(position)?.parse().map_err(|_| malformed());
        Ok(Row {
            has_ended: matches!(field(3)?, "Z" | "X" | "x"),
            parent: number(4)?,
            group: number(5)?,
            session: number(6)?,
            process: process_ref(pid, format!("{boot}/{}", field(22)?)),
        })
    }

    pub(super) fn signal_if(pid: u32, is_same: impl Fn() -> bool, signals: &[Signal]) {
        let Some(pid) = i32::try_from(pid).ok().and_then(process::Pid::from_raw) else {
            return;
        };
        match process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) if is_same() => {
                for signal in signals {
                    let _ = process::pidfd_send_signal(&descriptor, *signal);
                }
            }
            Err(Errno::NOSYS) if is_same() => {
                for signal in signals {
                    let _ = process::kill_process(pid, *signal);
                }
            }
            _ => {}
        }
    }
}

#[cfg(target_os = "macos")]
mod platform {
    use libproc::bsd_info::BSDInfo;
    use libproc::proc_pid::{name, pidinfo, pidpath};
    use libproc::processes::{ProcFilter, pids_by_type};
    use rustix::io::Errno;
    use rustix::process;

    use super::*;

    /// `SZOMB` of `sys/proc.h`: ended, not reaped.
    const UNREAPED: u32 = 5;

    #[derive(Clone, Debug)]
    pub(super) struct Source;

    impl Source {
        pub(super) fn of_this_system() -> Self {
            Self
        }

        /// `libproc` gives its errors as text only, so whether a process is gone is asked with the empty signal.
        pub(super) fn row(&self, pid: u32) -> io::Result<Option<Row>> {
            let raw = i32::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
            if let Ok(info) = pidinfo::<BSDInfo>(raw, 0) {
                return Ok(Some(row_of(&info)));
            }
            let pid = process::Pid::from_raw(raw).ok_or(io::ErrorKind::InvalidInput)?;
            match process::test_kill_process(pid) {
                Err(Errno::SRCH) => Ok(None),
                Err(error) => Err(error.into()),
                Ok(()) if is_unreaped_child(pid) => Ok(None),
                Ok(()) => Err(io::ErrorKind::PermissionDenied.into()),
            }
        }

        pub(super) fn rows(&self) -> io::Result<Vec<Row>> {
            let pids = pids_by_type(ProcFilter::All)?;
            let info = |pid: u32| pidinfo::<BSDInfo>(i32::try_from(pid).ok()?, 0).ok();
            Ok(pids.into_iter().filter_map(info).map(|it| row_of(&it)).collect())
        }

        pub(super) fn executable(&self, pid: u32) -> OsString {
            let raw = i32::try_from(pid).unwrap_or(-1);
            let path = pidpath(raw).unwrap_or_default();
            match std::path::Path::new(&path).file_name() {
                Some(name) => name.to_owned(),
                None => name(raw).unwrap_or_default().into(),
            }
        }

        /// The folder a process works in; none where the system does not tell, as for processes of other users.
        pub(super) fn folder(&self, pid: u32) -> Option<std::path::PathBuf> {
            libproc::proc_pid::pidcwd(i32::try_from(pid).ok()?).ok()
        }

        /// For how long what started then has run.
        pub(super) fn age(&self, started: &str) -> Option<Duration> {
            let (seconds, micros) = started.split_once('.')?;
            let started = Duration::new(seconds.parse().ok()?, micros.parse::<u32>().ok()?.checked_mul(1000)?);
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.checked_sub(started)
        }

        /// The environment of another process is not readable by safe code here, so no process is said to carry a mark.
        pub(super) fn carries(&self, _pid: u32, _mark: &EnvMark) -> bool {
            false
        }
    }

    fn row_of(info: &BSDInfo) -> Row {
        let raw = i32::try_from(info.pbi_pid).ok();
        let session = raw.and_then(process::Pid::from_raw).and_then(|pid| process::getsid(Some(pid)).ok());
        let started = format!("{}.{:06}", info.pbi_start_tvsec, info.pbi_start_tvusec);
        Row {
            has_ended: info.pbi_status == UNREAPED,
            parent: info.pbi_ppid,
            group: info.pbi_pgid,
            session: session.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs()),
            process: process_ref(info.pbi_pid, started),
        }
    }

    /// A child of this node that ended and was not reaped yet still takes the empty signal but has no facts.
    fn is_unreaped_child(pid: process::Pid) -> bool {
        use process::{WaitId, WaitIdOptions};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(process::waitid(WaitId::Pid(pid), options), Ok(Some(_)))
    }

    pub(super) fn signal_if(pid: u32, is_same: impl Fn() -> bool, signals: &[Signal]) {
        let Some(pid) = i32::try_from(pid).ok().and_then(process::Pid::from_raw) else {
            return;
        };
        for signal in signals {
            if is_same() {
                let _ = process::kill_process(pid, *signal);
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn table_at(proc: &std::path::Path) -> ProcessTable {
        ProcessTable { source: platform::Source::at(proc) }
    }

    /// A `/proc` that holds only what a test puts into it.
    fn fake_proc() -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(proc.path().join("sys/kernel/random")).unwrap();
        std::fs::write(proc.path().join("sys/kernel/random/boot_id"), "boot\n").unwrap();
        std::fs::create_dir(proc.path().join("self")).unwrap();
        std::fs::write(proc.path().join("self/stat"), "").unwrap();
        proc
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_obstacle() {
        let line = b"7 (a) b (c) S 3 5 6 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9977 0 0\n";
        let row = platform::parse_stat(7, line, "boot").unwrap();
        assert_eq!((row.parent, row.group, row.session), (3, 5, 6));
        assert_eq!(row.process.started, "boot/9977");
    }

    #[test]
    fn e22_a_failed_probe_is_an_error_and_not_an_absence() {
        let proc = fake_proc();
        let table = table_at(proc.path());
        assert!(table.row(Pid::new(7)).unwrap().is_none());
        std::fs::create_dir_all(proc.path().join("8/stat")).unwrap();
        table.row(Pid::new(8)).unwrap_err();
        table.tree(&[process_ref(8, "boot/1".into())], None).unwrap_err();
    }

    #[test]
    fn e22_without_the_table_nothing_is_known() {
        let empty = tempfile::tempdir().unwrap();
        let table = table_at(empty.path());
        table.row(Pid::new(1)).unwrap_err();
    }

    #[test]
    fn this_process_is_found_under_its_own_name_and_parent() {
        let table = ProcessTable::of_this_system();
        let facts = table.facts(Pid::new(std::process::id())).unwrap().unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(Some(facts.executable.as_os_str()), own.file_name());
        assert_eq!(facts.parent, Some(Pid::new(std::os::unix::process::parent_id())));
    }
}
