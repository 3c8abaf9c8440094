//! Looking at an agent's terminal from here: keys go there, its screen comes here, until somebody ends it.
//!
//! With a terminal it is raw and the agent's interface fills it. Without one, because keys or screen are a file or a
//! pipe, nothing is typed and the agent's text is printed line by line until the agent ends: that is what scripts want.
//!
//! One loop waits for everything at once, without a thread. What the screen is not yet ready to take is not read from the
//! node either; the node then skips for this viewer and slows nobody. What the node sends is put through the dialect once
//! more, so that not even a node that lies gets at the clipboard or asks the terminal something.

use std::{
    collections::VecDeque,
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use frith_actors::{
    call::{FromNode, ToNode},
    env::process::TerminalSize,
    local::{LocalError, client::Connection},
    terminal::{
        Dialect, Modes,
        wire::{FromViewer, TerminalEnd, ToViewer},
    },
};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};

use crate::{
    keys::{DetachKeys, Typed},
    tty::Tty,
};

/// The most written to the screen at once: what a terminal that is ready takes without waiting.
const WRITE_AT_ONCE: usize = 256;

/// How a look at a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The agent ended.
    Ended(TerminalEnd),
    /// The person detached, or whoever read the screen or typed the keys went away; the agent goes on.
    Detached,
    /// The node closed the terminal without an end: it is gone, or gave this viewer up.
    NodeGone,
    /// This signal asked the command to end; the agent goes on.
    Signalled(i32),
}

/// The way to the terminal that is looked at.
pub trait Link: AsFd {
    /// Says something to the terminal.
    ///
    /// # Errors
    /// When the node is gone.
    fn say(&mut self, piece: FromViewer) -> Result<(), LocalError>;

    /// The next piece, if it has come already.
    ///
    /// # Errors
    /// When the node is gone or what it says cannot be read.
    fn held(&mut self) -> Result<Option<ToViewer>, LocalError>;

    /// Takes in what has come, after the descriptor was ready.
    ///
    /// # Errors
    /// When the node is gone.
    fn take_in(&mut self) -> Result<(), LocalError>;
}

impl Link for Connection {
    fn say(&mut self, piece: FromViewer) -> Result<(), LocalError> {
        self.send(&ToNode::Terminal(piece))
    }

    fn held(&mut self) -> Result<Option<ToViewer>, LocalError> {
        loop {
            match self.read_held()? {
                Some(FromNode::Terminal(piece)) => return Ok(Some(piece)),
                Some(FromNode::Progress(_)) => {}
                Some(FromNode::Answer(_)) => return Err(LocalError::Lost),
                None => return Ok(None),
            }
        }
    }

    fn take_in(&mut self) -> Result<(), LocalError> {
        Self::take_in(self)
    }
}

/// Fills a terminal with what is looked at, until that ends or the person detaches. The terminal stays held: its owner
/// gives it back by dropping it.
///
/// # Errors
/// When the node cannot be understood, or signals cannot be noticed.
pub fn look(link: &mut dyn Link, tty: &Tty) -> Result<Outcome, LookError> {
    let signals = Signals::notice(&[SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGINT]).map_err(LookError::Signals)?;
    let screen = Screen { shown: VecDeque::new(), dialect: Dialect::new(), noted: Modes::default(), tty: Some(tty) };
    let size = Some(tty.size());
    Look { link, signals: Some(signals), screen, keys: DetachKeys::default(), size, end: None }.run(tty.output(), Some(tty.input()))
}

/// Prints the text of what is looked at to `output` until that ends or nobody reads it.
///
/// # Errors
/// When the node cannot be understood.
pub fn follow(link: &mut dyn Link, output: BorrowedFd<'_>) -> Result<Outcome, LookError> {
    let screen = Screen { shown: VecDeque::new(), dialect: Dialect::new(), noted: Modes::default(), tty: None };
    Look { link, signals: None, screen, keys: DetachKeys::default(), size: None, end: None }.run(output, None)
}

/// Why a look broke off.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The node could not be understood.
    #[error(transparent)]
    Node(#[from] LocalError),
    /// Signals cannot be noticed.
    #[error("signals cannot be noticed")]
    Signals(#[source] io::Error),
    /// The system would not wait.
    #[error("the terminal cannot be waited for")]
    Wait(#[source] io::Error),
}

struct Look<'a> {
    link: &'a mut dyn Link,
    signals: Option<Signals>,
    screen: Screen<'a>,
    keys: DetachKeys,
    /// The size the node knows.
    size: Option<TerminalSize>,
    /// The end that is told once everything before it was shown.
    end: Option<Outcome>,
}

/// What there may be to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Signals,
    Keys,
    Screen,
    Node,
}

impl Look<'_> {
    fn run(mut self, output: BorrowedFd<'_>, input: Option<BorrowedFd<'_>>) -> Result<Outcome, LookError> {
        loop {
            self.take_held();
            if let Some(end) = self.end.filter(|_| self.screen.shown.is_empty()) {
                return Ok(end);
            }
            let outcome = match self.wait(output, input).map_err(LookError::Wait)? {
                Some(Ready::Signals) => self.signalled(),
                Some(Ready::Keys) => input.and_then(|input| self.typed(input)),
                Some(Ready::Screen) => self.screen.write(output),
                Some(Ready::Node) => self.node_spoke()?,
                None => None,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    /// Takes pieces as long as the screen has nothing left to show.
    fn take_held(&mut self) {
        while self.end.is_none() && self.screen.shown.is_empty() {
            match self.link.held() {
                Ok(Some(ToViewer::Output(bytes))) => self.screen.show(&bytes),
                Ok(Some(ToViewer::Ended(end))) => self.end = Some(Outcome::Ended(end)),
                Ok(None) => return,
                Err(_) => self.end = Some(Outcome::NodeGone),
            }
        }
    }

    /// Waits for the first thing to do, the most urgent first. What is not wanted is not waited for at all: a node that
    /// hung up would be ready for ever.
    fn wait(&self, output: BorrowedFd<'_>, input: Option<BorrowedFd<'_>>) -> io::Result<Option<Ready>> {
        let is_full = !self.screen.shown.is_empty();
        let node = self.link.as_fd();
        let mut kinds = Vec::new();
        let mut waiting = Vec::new();
        if let Some(signals) = &self.signals {
            kinds.push(Ready::Signals);
            waiting.push(PollFd::new(&signals.woken, PollFlags::IN));
        }
        if let Some(input) = input {
            kinds.push(Ready::Keys);
            waiting.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
        }
        kinds.push(Ready::Screen);
        waiting.push(PollFd::from_borrowed_fd(output, if is_full { PollFlags::OUT } else { PollFlags::empty() }));
        if !is_full {
            kinds.push(Ready::Node);
            waiting.push(PollFd::from_borrowed_fd(node, PollFlags::IN));
        }
        rustix::io::retry_on_intr(|| poll(&mut waiting, None))?;
        let first = waiting.iter().position(|fd| !fd.revents().is_empty());
        Ok(first.map(|place| kinds[place]))
    }

    /// Whatever the node said before it went is still shown.
    fn node_spoke(&mut self) -> Result<Option<Outcome>, LookError> {
        match self.link.take_in() {
            Ok(()) => {}
            Err(LocalError::Lost | LocalError::Silent { .. }) => {
                self.take_held();
                self.end = self.end.or(Some(Outcome::NodeGone));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    fn typed(&mut self, input: BorrowedFd<'_>) -> Option<Outcome> {
        let mut buffer = [0; 4096];
        let count = match rustix::io::read(input, &mut buffer) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return None,
            Err(_) => 0,
        };
        if count == 0 {
            return Some(Outcome::Detached);
        }
        let (keys, is_detaching) = match self.keys.read(&buffer[..count]) {
            Typed::Keys(keys) => (keys, false),
            Typed::Detach(keys) => (keys, true),
        };
        if !keys.is_empty() {
            self.tell_new_size();
            self.say(FromViewer::Input(keys));
        }
        if !is_detaching {
            return None;
        }
        self.say(FromViewer::Detach);
        Some(Outcome::Detached)
    }

    fn signalled(&mut self) -> Option<Outcome> {
        let signals = self.signals.as_ref()?;
        signals.clear();
        if let Some(ending) = [SIGTERM, SIGHUP, SIGINT].into_iter().find(|signal| signals.came(*signal)) {
            return Some(Outcome::Signalled(ending));
        }
        let is_continued = signals.came(SIGCONT);
        let is_resized = signals.came(SIGWINCH);
        let tty = self.screen.tty?;
        // Another may have used the terminal while this was stopped; a size, even the same, brings a repaint.
        if is_continued && tty.make_raw().is_err() {
            return Some(Outcome::Detached);
        }
        if is_continued || is_resized {
            self.tell_size(tty.size());
        }
        None
    }

    /// What is typed after a change of size is typed at the new one, also when the signal of the change comes later.
    fn tell_new_size(&mut self) {
        let now = self.screen.tty.map(Tty::size);
        if let Some(size) = now.filter(|now| self.size != Some(*now)) {
            self.tell_size(size);
        }
    }

    fn tell_size(&mut self, size: TerminalSize) {
        self.size = Some(size);
        self.say(FromViewer::Resize(size));
    }

    /// A node that cannot be told anything has still said what it said: that is read on.
    fn say(&mut self, piece: FromViewer) {
        let _ = self.link.say(piece);
    }
}

/// What is to be shown, and how.
struct Screen<'a> {
    shown: VecDeque<u8>,
    dialect: Dialect,
    noted: Modes,
    /// The terminal it is; without one, text is printed.
    tty: Option<&'a Tty>,
}

impl Screen<'_> {
    fn show(&mut self, bytes: &[u8]) {
        let Some(tty) = self.tty else {
            let text = String::from_utf8_lossy(bytes);
            let is_text = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
            self.shown.extend(text.chars().filter(is_text).collect::<String>().bytes());
            return;
        };
        self.shown.extend(self.dialect.for_viewer(bytes));
        // Noted before it is written, so that nothing is set that would not be taken back.
        if *self.dialect.modes() != self.noted {
            self.noted = self.dialect.modes().clone();
            tty.note_modes(self.noted.leave());
        }
    }

    /// Writes a little. A screen that takes no more has nobody before it.
    fn write(&mut self, output: BorrowedFd<'_>) -> Option<Outcome> {
        let (next, _) = self.shown.as_slices();
        if next.is_empty() {
            return Some(Outcome::Detached);
        }
        match rustix::io::write(output, &next[..next.len().min(WRITE_AT_ONCE)]) {
            Ok(count) => drop(self.shown.drain(..count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return Some(Outcome::Detached),
        }
        None
    }
}

/// Signals, as something to wait for.
struct Signals {
    woken: UnixStream,
    flags: Vec<(i32, Arc<AtomicBool>)>,
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    fn notice(numbers: &[i32]) -> io::Result<Self> {
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let mut signals = Self { woken, flags: Vec::new(), ids: Vec::new() };
        for number in numbers {
            // The flag is set before the wake-up is written: actions run in the order they were registered.
            let flag = Arc::new(AtomicBool::new(false));
            signals.ids.push(signal_hook::flag::register(*number, Arc::clone(&flag))?);
            signals.ids.push(signal_hook::low_level::pipe::register(*number, waker.try_clone()?)?);
            signals.flags.push((*number, flag));
        }
        Ok(signals)
    }

    fn clear(&self) {
        let mut buffer = [0; 64];
        while matches!((&self.woken).read(&mut buffer), Ok(1..)) {}
    }

    /// Whether the signal came since the last time it was asked.
    fn came(&self, number: i32) -> bool {
        self.flags.iter().any(|(of_flag, flag)| *of_flag == number && flag.swap(false, Ordering::Relaxed))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frith_actors::env::process::ProcessEnd;
    use frith_net::frame::{self, Splitter};
    use std::{
        fs::File,
        thread::{self, JoinHandle},
    };

    const MOST: usize = 1024 * 1024;

    /// A link whose other end a test holds.
    struct Wire {
        stream: UnixStream,
        splitter: Splitter,
    }

    impl AsFd for Wire {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.stream.as_fd()
        }
    }

    impl Link for Wire {
        fn say(&mut self, piece: FromViewer) -> Result<(), LocalError> {
            let bytes = frame::encode(&piece, MOST).map_err(LocalError::Frame)?;
            frame::write(&mut self.stream, &bytes).map_err(LocalError::Frame)
        }

        fn held(&mut self) -> Result<Option<ToViewer>, LocalError> {
            let payload = self.splitter.next_frame().map_err(LocalError::Frame)?;
            payload.map(frame::decode).transpose().map_err(LocalError::Frame)
        }

        fn take_in(&mut self) -> Result<(), LocalError> {
            self.splitter.fill(&mut self.stream).map_err(|_| LocalError::Lost)
        }
    }

    fn wire() -> (Wire, Node) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Wire { stream: ours, splitter: Splitter::new(MOST) }, Node { stream: theirs, splitter: Splitter::new(MOST) })
    }

    /// The node's end.
    struct Node {
        stream: UnixStream,
        splitter: Splitter,
    }

    impl Node {
        fn show(&mut self, text: &str) {
            self.send(&ToViewer::Output(text.into()));
        }

        fn send(&mut self, piece: &ToViewer) {
            frame::write(&mut self.stream, &frame::encode(piece, MOST).unwrap()).unwrap();
        }

        fn hear(&mut self) -> FromViewer {
            loop {
                if let Some(payload) = self.splitter.next_frame().unwrap() {
                    return frame::decode(payload).unwrap();
                }
                self.splitter.fill(&mut self.stream).unwrap();
            }
        }

        /// The next keys; sizes, which any test's signal brings, are passed over.
        fn hear_keys(&mut self) -> Vec<u8> {
            loop {
                match self.hear() {
                    FromViewer::Input(keys) => return keys,
                    FromViewer::Resize(_) => {}
                    FromViewer::Detach => panic!("detached"),
                }
            }
        }
    }

    /// A person's window with a look in it.
    struct Window {
        master: Box<dyn portable_pty::MasterPty>,
        keys: Box<dyn io::Write>,
        screen: Box<dyn io::Read>,
        seen: String,
        look: JoinHandle<Result<Outcome, LookError>>,
    }

    impl Window {
        fn open(mut link: Wire) -> Self {
            let size = portable_pty::PtySize { rows: 24, cols: 80, ..Default::default() };
            let pair = portable_pty::native_pty_system().openpty(size).unwrap();
            let own = File::options().read(true).write(true).open(pair.master.tty_name().unwrap()).unwrap();
            let look = thread::Builder::new().spawn(move || {
                let tty = Tty::hold(own.as_fd(), own.as_fd()).unwrap();
                look(&mut link, &tty)
            });
            let keys = pair.master.take_writer().unwrap();
            let screen = pair.master.try_clone_reader().unwrap();
            Self { master: pair.master, keys, screen, seen: String::new(), look: look.unwrap() }
        }

        fn wait_for(&mut self, text: &str) {
            let mut buffer = [0; 4096];
            while !self.seen.contains(text) {
                let count = self.screen.read(&mut buffer).unwrap();
                assert!(count > 0, "`{text}` never came, but {:?}", self.seen);
                self.seen += &String::from_utf8_lossy(&buffer[..count]);
            }
        }

        fn press(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
        }

        /// The outcome, once the terminal was given back.
        fn outcome(mut self) -> (Outcome, String) {
            self.wait_for("\x1b[23;0t\x1b[999;1H\r");
            let flags = self.master.get_termios().unwrap().local_flags.bits();
            assert_ne!(flags & rustix::termios::LocalModes::ICANON.bits(), 0, "the terminal is still raw");
            (self.look.join().unwrap().unwrap(), self.seen)
        }
    }

    #[test]
    fn the_agents_screen_comes_here_and_keys_go_there_until_its_end() {
        let (link, mut node) = wire();
        let mut window = Window::open(link);
        node.show("\x1b[?1049h\x1b[?2004hhello");
        window.wait_for("hello");
        window.press("yes\x03");
        assert_eq!(node.hear_keys(), b"yes\x03");
        let end = TerminalEnd::Process(ProcessEnd::Exited(0));
        node.send(&ToViewer::Ended(end));
        let (outcome, seen) = window.outcome();
        assert_eq!(outcome, Outcome::Ended(end));
        let left = seen.split("hello").last().unwrap();
        assert!(left.contains("\x1b[?2004l") && left.contains("\x1b[?1049l"), "{left:?}");
    }

    #[test]
    fn the_keys_that_detach_leave_the_agent_alone() {
        let (link, mut node) = wire();
        let mut window = Window::open(link);
        node.show("ready");
        window.wait_for("ready");
        window.press("a\x1cd");
        assert_eq!(node.hear_keys(), b"a");
        while !matches!(node.hear(), FromViewer::Detach) {}
        assert_eq!(window.outcome().0, Outcome::Detached);
    }

    #[test]
    fn a_node_that_dies_is_noticed_and_the_terminal_given_back() {
        let (link, mut node) = wire();
        let window = Window::open(link);
        node.show("\x1b[?1003h\x1b[?25l\x1b[>1ulast words");
        drop(node);
        let (outcome, seen) = window.outcome();
        assert_eq!(outcome, Outcome::NodeGone);
        let left = seen.split("last words").last().unwrap();
        for mode in ["\x1b[?1003l", "\x1b[?25h", "\x1b[<99u"] {
            assert!(left.contains(mode), "{mode:?} is missing in {left:?}");
        }
    }

    #[test]
    fn a_new_size_is_told() {
        let (link, mut node) = wire();
        let mut window = Window::open(link);
        node.show("ready");
        window.wait_for("ready");
        window.master.resize(portable_pty::PtySize { rows: 40, cols: 100, ..Default::default() }).unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::WINCH).unwrap();
        while node.hear() != FromViewer::Resize(TerminalSize::new(40, 100)) {}
        drop(node);
        assert_eq!(window.outcome().0, Outcome::NodeGone);
    }

    #[test]
    fn a_node_that_lies_gets_neither_the_clipboard_nor_an_answer() {
        let (link, mut node) = wire();
        let window = Window::open(link);
        node.show("one\x1b]52;c;aGk=\x07\x1b[6n\x1b]11;?\x07two");
        drop(node);
        assert!(window.outcome().1.contains("onetwo"));
    }

    #[test]
    fn who_has_no_terminal_gets_the_text_until_the_end() {
        let (mut link, mut node) = wire();
        let (mut reader, writer) = io::pipe().unwrap();
        node.show("one\n\x1b]0;x\x07two\n");
        let end = TerminalEnd::Process(ProcessEnd::Signalled(15));
        node.send(&ToViewer::Ended(end));
        assert_eq!(follow(&mut link, writer.as_fd()).unwrap(), Outcome::Ended(end));
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\n]0;xtwo\n");
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_look() {
        let (mut link, _node) = wire();
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(follow(&mut link, writer.as_fd()).unwrap(), Outcome::Detached);
    }
}
