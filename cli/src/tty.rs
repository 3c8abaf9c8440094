//! The caller's terminal: raw for a while, and always given back.
//!
//! Given back means: its settings as they were, and none of the modes left that an agent put it into. That happens at a
//! normal end, at an error, at a signal that ends the process, and at a panic in whatever thread; only a process that is
//! killed outright cannot. Nothing here knows a node.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    panic,
    sync::{Arc, Mutex, Once, PoisonError, Weak},
};

use frith_actors::env::process::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Keeps the title, and pushes what the screen shows up into what can be scrolled back to.
const ENTER: &str = "\x1b[22;0t\x1b[999;1H";
/// Takes the title back, and goes below what the screen shows.
const LEAVE: &str = "\x1b[23;0t\x1b[999;1H\r\n";

/// A terminal held raw. Dropping it gives it back.
#[derive(Debug)]
pub struct Tty(Arc<Held>);

#[derive(Debug)]
struct Held {
    input: OwnedFd,
    output: OwnedFd,
    usual: Termios,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What takes back the modes that were set since.
    leave_modes: String,
    is_raw: bool,
}

/// The terminals held by this process, for a panic to give back.
static HELD: Mutex<Vec<Weak<Held>>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

impl Tty {
    /// Makes the terminal raw whose keys are read from `input` and whose screen is written through `output`.
    ///
    /// # Errors
    /// When one of them is no terminal or the system refuses.
    pub fn hold(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Self> {
        let usual = tcgetattr(input)?;
        let rows = usize::from(tcgetwinsize(output)?.ws_row);
        let state = Mutex::new(State { leave_modes: String::new(), is_raw: false });
        let held = Arc::new(Held { input: input.try_clone_to_owned()?, output: output.try_clone_to_owned()?, usual, state });
        HOOK.call_once(|| {
            let tell = panic::take_hook();
            panic::set_hook(Box::new(move |facts| {
                give_all_back();
                tell(facts);
            }));
        });
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&held));
        let tty = Self(held);
        tty.make_raw()?;
        write_whole(&tty.0.output, (ENTER.to_owned() + &"\n".repeat(rows)).as_bytes())?;
        Ok(tty)
    }

    /// Makes it raw again, as after the process was stopped and continued.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn make_raw(&self) -> io::Result<()> {
        let mut raw = self.0.usual.clone();
        raw.make_raw();
        // Noted first: a panic between the two gives back a terminal that needs nothing, which does no harm.
        self.0.lock().is_raw = true;
        tcsetattr(&self.0.input, OptionalActions::Now, &raw)?;
        Ok(())
    }

    /// Notes what takes back the modes set so far.
    pub fn note_modes(&self, leave_modes: String) {
        self.0.lock().leave_modes = leave_modes;
    }

    /// Its size now; what the node takes for a size where the system tells none.
    #[must_use]
    pub fn size(&self) -> TerminalSize {
        size_of(self.0.output.as_fd()).unwrap_or(TerminalSize::DEFAULT)
    }

    /// Where keys are read.
    #[must_use]
    pub fn input(&self) -> BorrowedFd<'_> {
        self.0.input.as_fd()
    }

    /// Where the screen is written.
    #[must_use]
    pub fn output(&self) -> BorrowedFd<'_> {
        self.0.output.as_fd()
    }
}

/// The size of the terminal behind a descriptor; none where there is none or it does not know.
#[must_use]
pub fn size_of(terminal: BorrowedFd<'_>) -> Option<TerminalSize> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| TerminalSize::new(size.ws_row, size.ws_col))
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.0.give_back();
        HELD.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| held.strong_count() > 1);
    }
}

impl Held {
    /// A lock that a panic poisoned still knows what is to be given back.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once. The settings come first: writing may be impossible, and a terminal that is gone needs nothing.
    fn give_back(&self) {
        let leave_modes = {
            let mut state = self.lock();
            if !std::mem::take(&mut state.is_raw) {
                return;
            }
            state.leave_modes.clone()
        };
        let _ = tcsetattr(&self.input, OptionalActions::Now, &self.usual);
        // What was written last may have been cut short within a sequence, which this byte ends.
        let _ = write_whole(&self.output, format!("\x18{leave_modes}{LEAVE}").as_bytes());
    }
}

fn give_all_back() {
    // A panic while the list is held cannot wait for it; what it holds is dropped in unwinding.
    if let Ok(held) = HELD.try_lock() {
        held.iter().filter_map(Weak::upgrade).for_each(|held| held.give_back());
    }
}

fn write_whole(output: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        let count = rustix::io::retry_on_intr(|| rustix::io::write(output, left))?;
        left = &left[count..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::termios::LocalModes;
    use std::{fs::File, io::Read as _};

    /// A terminal: the end a command has, and the one a person's window has.
    fn terminal() -> (File, Box<dyn portable_pty::MasterPty>) {
        let size = portable_pty::PtySize { rows: 24, cols: 80, ..Default::default() };
        let pair = portable_pty::native_pty_system().openpty(size).unwrap();
        let path = pair.master.tty_name().unwrap();
        let own = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        (own, pair.master)
    }

    fn is_raw(terminal: &File) -> bool {
        !tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// What the window was sent, up to the last thing that giving back writes.
    fn sent(window: &dyn portable_pty::MasterPty) -> String {
        let mut reader = window.try_clone_reader().unwrap();
        let mut all = String::new();
        let mut buffer = [0; 1024];
        while !all.contains("\x1b[23;0t\x1b[999;1H\r") {
            let count = reader.read(&mut buffer).unwrap();
            all += &String::from_utf8_lossy(&buffer[..count]);
        }
        all
    }

    #[test]
    fn it_is_raw_while_held_and_given_back_after() {
        let (own, window) = terminal();
        let tty = Tty::hold(own.as_fd(), own.as_fd()).unwrap();
        assert!(is_raw(&own));
        assert_eq!(tty.size(), TerminalSize::new(24, 80));
        tty.note_modes("\x1b[?1049l".into());
        drop(tty);
        assert!(!is_raw(&own));
        assert!(sent(&*window).contains("\x1b[?1049l"));
    }

    /// In a process of its own, because a panic gives back every terminal of its process.
    #[test]
    fn a_panic_gives_it_back_before_it_is_told() {
        const ALONE: &str = "FRITH_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            alone.args(["--exact", "tty::tests::a_panic_gives_it_back_before_it_is_told"]).env(ALONE, "1");
            let done = alone.output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
            return;
        }
        let (own, window) = terminal();
        let tty = Tty::hold(own.as_fd(), own.as_fd()).unwrap();
        tty.note_modes("\x1b[?2004l".into());
        let other = std::thread::Builder::new().spawn(|| panic!("a thread elsewhere fails, as this test wants")).unwrap();
        other.join().unwrap_err();
        assert!(!is_raw(&own));
        assert!(sent(&*window).contains("\x1b[?2004l"));
        drop(tty);
    }

    #[test]
    fn what_is_no_terminal_cannot_be_held() {
        let null = File::open("/dev/null").unwrap();
        Tty::hold(null.as_fd(), null.as_fd()).unwrap_err();
        assert_eq!(size_of(null.as_fd()), None);
    }
}
