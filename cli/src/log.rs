//! The node's log: one file of bounded size with a few before it, closed to others. Message bodies, prompts, tokens and
//! keystrokes are never written: nobody logs them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::fs::OFlags;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{
    environment,
    failure::{Failure, Told},
};

/// The bytes at which a new file is begun.
const SIZE_MOST: u64 = 4 << 20;
/// How many files before the current one are kept.
const KEPT: usize = 5;
/// How much of the end of a log is looked at.
const TAIL_MOST: u64 = 1 << 20;

/// The log of a home.
pub fn path(home: &Path) -> PathBuf {
    home.join("node.log")
}

/// Begins logging into the home's log; `also_here` writes to standard error too.
///
/// # Errors
/// The log cannot be written.
pub fn begin(home: &Path, also_here: bool) -> Result<(), Failure> {
    let log = Rotating::open(path(home), SIZE_MOST).map_err(|error| Failure::Broken(cannot_write(home, &error)))?;
    let filter = environment::read("FRITH_LOG").and_then(|text| text.into_string().ok()).unwrap_or_else(|| "info".into());
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| Failure::Broken(Told::because(format!("`FRITH_LOG={filter}` is no filter"), &error)))?;
    let writer = Writer { log: Mutex::new(log), also_here };
    let built = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(writer).finish();
    // A second node in one process exists in tests alone; the first log goes on.
    let _ = tracing::subscriber::set_global_default(built);
    Ok(())
}

/// That the log cannot be written.
pub fn cannot_write(home: &Path, error: &io::Error) -> Told {
    Told::because(format!("the log `{}` cannot be written", path(home).display()), error)
        .hint("it must be an ordinary file of yours, in a folder you may write")
}

/// The last line of the log that tells of an error.
pub fn last_error(home: &Path) -> Option<String> {
    let tail = tail(&path(home)).ok()?;
    let line = tail.lines().rev().find(|line| line.contains(" ERROR ") || line.contains("panicked at"))?;
    Some(format!("the log's last error: {}", line.trim()))
}

/// The last lines of a log, whole ones.
///
/// # Errors
/// It cannot be read.
pub fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let tail = tail(path)?;
    let lines: Vec<_> = tail.lines().map(str::to_owned).collect();
    Ok(lines[lines.len().saturating_sub(count)..].to_vec())
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = open_to_read(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MOST)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MOST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_cut = length > TAIL_MOST;
    Ok(if is_cut { text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default() } else { text })
}

/// Opens a log without waiting for one who writes, should it be a pipe.
fn open_to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    ordinary(file)
}

fn ordinary(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("no ordinary file")) }
}

/// A log that is being followed: what is added to it, also when a new file is begun meanwhile.
pub struct Following {
    path: PathBuf,
    file: File,
    at: u64,
}

impl Following {
    /// Follows a log from its end.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn from_end(path: &Path) -> io::Result<Self> {
        let file = open_to_read(path)?;
        let at = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, at })
    }

    /// What was added since the last look.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = self.rest()?;
        let newer = fs::metadata(&self.path).ok().zip(self.file.metadata().ok()).filter(|(now, then)| now.ino() != then.ino());
        if newer.is_some() {
            self.file = open_to_read(&self.path)?;
            self.at = 0;
            bytes.extend(self.rest()?);
        }
        Ok(bytes)
    }

    fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.at))?;
        self.at += self.file.read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
}

/// A file that begins anew when it is large.
struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    most: u64,
}

impl Rotating {
    fn open(path: PathBuf, most: u64) -> io::Result<Self> {
        let file = open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size, most })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + line.len() as u64 > self.most {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.size += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..KEPT).rev() {
            rename(&self.numbered(number), &self.numbered(number + 1))?;
        }
        rename(&self.path, &self.numbered(1))?;
        self.file = open(&self.path)?;
        self.size = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    ordinary(OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?)
}

struct Writer {
    log: Mutex<Rotating>,
    also_here: bool,
}

/// One line on its way into the log.
struct Line<'a>(&'a Writer);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.also_here {
            // The log itself has the line, so a closed terminal loses nothing.
            let _ = io::stderr().write_all(line);
        }
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner).write(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Writer {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_log_stays_within_its_size_and_keeps_a_few_files() {
        let home = tempfile::tempdir().unwrap();
        let mut log = Rotating::open(path(home.path()), 100).unwrap();
        for number in 0..100 {
            log.write(format!("line {number:03} {}\n", "x".repeat(20)).as_bytes()).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), KEPT + 1);
        for name in names {
            let facts = fs::metadata(home.path().join(name)).unwrap();
            assert!(facts.len() <= 100 && facts.permissions().mode() & 0o777 == 0o600);
        }
        assert_eq!(last_lines(&path(home.path()), 1).unwrap()[0].get(..8), Some("line 099"));
    }

    #[test]
    fn g03_a_log_that_is_a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let victim = home.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, path(home.path())).unwrap();
        assert!(Rotating::open(path(home.path()), 100).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn following_goes_on_over_a_new_file() {
        let home = tempfile::tempdir().unwrap();
        let mut log = Rotating::open(path(home.path()), 10).unwrap();
        log.write(b"old\n").unwrap();
        let mut following = Following::from_end(&path(home.path())).unwrap();
        log.write(b"one\n").unwrap();
        assert_eq!(following.more().unwrap(), b"one\n");
        log.write(b"two\n").unwrap();
        log.write(b"three\n").unwrap();
        assert_eq!(following.more().unwrap(), b"two\nthree\n");
        assert_eq!(following.more().unwrap(), b"");
    }

    #[test]
    fn the_last_error_is_found_among_other_lines() {
        let home = tempfile::tempdir().unwrap();
        fs::write(path(home.path()), "a  INFO x: up\nb ERROR x: broken\nc  INFO x: down\n").unwrap();
        assert_eq!(last_error(home.path()).as_deref(), Some("the log's last error: b ERROR x: broken"));
    }
}
