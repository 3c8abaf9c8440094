//! The asking side of the local socket for one who must not wait, such as a hook: one call, and every step of it ends when the
//! time is over. A node that is stopped, busy, of another protocol or not there is nobody, and nobody is the answer.

use std::{
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::Path,
    time::Duration,
};

use frith_net::frame::{self, Splitter};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio},
    net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType, connect, recv, send, socket},
};

use super::{
    ANSWER_MOST, REQUEST_MOST,
    hello::{Hello, PROTOCOL},
    peer,
};
use crate::{
    call::{Envelope, Failed, FromNode, ToNode},
    env::real::stopwatch::Stopwatch,
};

/// How much is read at once: more than most answers have.
const STEP: usize = 4 * 1024;

/// A call that may take until a moment, over a connection of its own.
pub struct Brief<'a> {
    stream: UnixStream,
    watch: &'a Stopwatch,
    until: Duration,
}

impl<'a> Brief<'a> {
    /// Connects to the caller's own node; none when that is not possible at once.
    pub fn open(path: &Path, watch: &'a Stopwatch, until: Duration) -> Option<Self> {
        let address = SocketAddrUnix::new(path).ok()?;
        let end = socket(AddressFamily::UNIX, SocketType::STREAM, None).ok()?;
        fcntl_setfd(&end, FdFlags::CLOEXEC).ok()?;
        ioctl_fionbio(&end, true).ok()?;
        connect(&end, &address).ok()?;
        let stream = UnixStream::from(end);
        let is_ours = peer::of(&stream).is_ok_and(|peer| peer.user == peer::own_user());
        is_ours.then_some(Self { stream, watch, until })
    }

    /// Asks, and waits for the answer as long as there is time. None when there is none: the call may have been heard all the same.
    pub fn ask(&self, envelope: Envelope) -> Option<Result<Vec<u8>, Failed>> {
        let mut bytes = Hello::ours().bytes();
        bytes.extend(frame::encode(&ToNode::Call(Box::new(envelope)), REQUEST_MOST).ok()?);
        // One who closed at once may have said why before, and that it is nobody shows in reading.
        self.send(&bytes);
        let mut splitter = Splitter::new(ANSWER_MOST);
        let theirs = loop {
            match Hello::take(&mut splitter).ok()? {
                Some(theirs) => break theirs,
                None => self.fill(&mut splitter)?,
            }
        };
        if theirs.protocol != PROTOCOL {
            return None;
        }
        loop {
            match splitter.next_frame().ok()? {
                None => self.fill(&mut splitter)?,
                Some([]) => {}
                Some(frame) => match frame::decode(frame).ok()? {
                    FromNode::Answer(answer) => return Some(answer),
                    FromNode::Progress(_) => {}
                    FromNode::Terminal(_) => return None,
                },
            }
        }
    }

    /// Says that what the answer held was handed on. Nothing is waited for, also not whether it was heard.
    pub fn written(&self) {
        if let Ok(bytes) = frame::encode(&ToNode::Written, REQUEST_MOST) {
            self.send(&bytes);
        }
    }

    fn send(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match send(&self.stream, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.is_ready(PollFlags::OUT) => {}
                Err(_) => return,
            }
        }
    }

    /// Takes in what comes next; none when nothing more comes in time.
    fn fill(&self, splitter: &mut Splitter) -> Option<()> {
        let mut bytes = [0; STEP];
        loop {
            if !self.is_ready(PollFlags::IN) {
                return None;
            }
            match recv(&self.stream, &mut bytes[..], rustix::net::RecvFlags::empty()) {
                Ok((0, _)) => return None,
                Ok((read, _)) => {
                    splitter.push(&bytes[..read]);
                    return Some(());
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return None,
            }
        }
    }

    fn is_ready(&self, wanted: PollFlags) -> bool {
        let mut asked = [PollFd::from_borrowed_fd(self.stream.as_fd(), wanted)];
        loop {
            let Ok(most) = Timespec::try_from(self.watch.left_of(self.until)) else { return false };
            match poll(&mut asked, Some(&most)) {
                Err(Errno::INTR) => {}
                found => return matches!(found, Ok(1..)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::node::Status, call::Claims};
    use frith_store::id::CallId;
    use std::{
        io::{Read as _, Write as _},
        os::unix::net::UnixListener,
    };

    const SHORT: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(60);

    fn envelope() -> Envelope {
        Envelope {
            call: CallId::from_random([3; 16]),
            folder: None,
            environment: Vec::new(),
            size: None,
            claims: Claims::default(),
            operation: Status {}.into(),
        }
    }

    /// What is asked of a node that does this with each connection, and whether the time was over before the answer.
    fn asked(until: Duration, node: impl FnOnce(UnixListener) + Send) -> (Option<Result<Vec<u8>, Failed>>, bool) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let watch = Stopwatch::start();
        std::thread::scope(|scope| {
            scope.spawn(move || node(listener));
            let answer = Brief::open(&path, &watch, until).and_then(|brief| brief.ask(envelope()));
            (answer, watch.left_of(until).is_zero())
        })
    }

    #[test]
    fn an_answer_that_comes_in_pieces_behind_signs_of_life_is_heard() {
        let (answer, _) = asked(LONG, |listener| {
            let mut side = listener.accept().unwrap().0;
            let answer = frame::encode(&FromNode::Answer(Ok(vec![7])), ANSWER_MOST).unwrap();
            let bytes = [Hello::ours().bytes(), vec![0; 4], answer].concat();
            bytes.chunks(3).for_each(|piece| side.write_all(piece).unwrap());
            let _ = side.read_to_end(&mut Vec::new());
        });
        assert_eq!(answer.unwrap().unwrap(), [7]);
    }

    #[test]
    fn b05_a_node_that_accepts_and_says_nothing_is_left_in_time() {
        let (answer, is_over) = asked(SHORT, |listener| {
            let mut side = listener.accept().unwrap().0;
            let _ = side.read_to_end(&mut Vec::new());
        });
        assert!(answer.is_none() && is_over);
    }

    #[test]
    fn b05_a_socket_whose_node_never_accepts_is_left_in_time_also_when_many_wait() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        let listener = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let watch = Stopwatch::start();
        let calls: Vec<_> = (0..8).map(|_| Brief::open(&path, &watch, SHORT)).collect();
        assert!(calls[0].as_ref().is_some_and(|call| call.ask(envelope()).is_none()));
    }

    #[test]
    fn b05_a_dead_socket_and_none_are_nobody_at_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        let watch = Stopwatch::start();
        assert!(Brief::open(&path, &watch, LONG).is_none());
        drop(UnixListener::bind(&path).unwrap());
        assert!(Brief::open(&path, &watch, LONG).is_none());
        assert!(Brief::open(&home.path().join("x".repeat(200)), &watch, LONG).is_none());
    }

    #[test]
    fn a_node_of_another_protocol_and_what_is_no_node_are_nobody() {
        for bytes in [Hello { protocol: PROTOCOL + 1, version: "9".into() }.bytes(), b"HTTP/1.1 200 OK".to_vec(), Vec::new()] {
            let (answer, is_over) = asked(LONG, move |listener| listener.accept().unwrap().0.write_all(&bytes).unwrap());
            assert!(answer.is_none() && !is_over);
        }
    }
}
