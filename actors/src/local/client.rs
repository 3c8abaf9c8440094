//! The asking side of the local socket: blocking, without a runtime or a thread, so that a command costs little.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
};

use frith_net::{
    error::FrameError,
    frame::{self, Splitter},
};

use super::{
    ANSWER_MOST, HELLO_MOST, LocalError, REQUEST_MOST, SILENCE_MOST,
    hello::{Hello, PROTOCOL},
    peer::{self, Peer},
};
use crate::call::{Envelope, FromNode, ToNode};

/// A connection to this machine's node.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    socket: PathBuf,
    splitter: Splitter,
    peer: Peer,
    theirs: Option<Hello>,
    /// Whether our own hello was sent.
    greeted: bool,
}

impl Connection {
    /// Connects, and checks that it is the caller's own node that listens.
    ///
    /// # Errors
    /// [`LocalError::NoNode`] when nothing listens; [`LocalError::Foreign`]; [`LocalError::Io`].
    pub fn open(socket: &Path) -> Result<Self, LocalError> {
        let stream = connect(socket)?;
        let failed = |error| LocalError::io(socket, "connected to", error);
        let peer = peer::of(&stream).map_err(failed)?;
        let user = peer::own_user();
        if peer.user != user {
            return Err(LocalError::Foreign { socket: socket.into(), owner: peer.user, user });
        }
        stream.set_read_timeout(Some(HELLO_MOST)).map_err(failed)?;
        stream.set_write_timeout(Some(SILENCE_MOST)).map_err(failed)?;
        Ok(Self { stream, socket: socket.to_owned(), splitter: Splitter::new(ANSWER_MOST), peer, theirs: None, greeted: false })
    }

    /// The node's process.
    pub fn node(&self) -> Peer {
        self.peer
    }

    /// Sends hello and call together: one way there, one way back. After a greeting it sends the call alone.
    ///
    /// # Errors
    /// The call is too long. A connection that ends shows when the answer is read, together with what the node said.
    pub fn call(&mut self, envelope: Envelope) -> Result<(), LocalError> {
        let mut bytes = self.own_hello();
        bytes.extend(frame::encode(&ToNode::Call(Box::new(envelope)), REQUEST_MOST).map_err(LocalError::Frame)?);
        self.begin(&bytes)
    }

    /// Says hello and waits for the node's, without a call.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub fn greet(&mut self) -> Result<Hello, LocalError> {
        let hello = self.own_hello();
        self.begin(&hello)?;
        loop {
            if self.met()? {
                return Ok(self.theirs.clone().unwrap_or_else(Hello::ours));
            }
            self.fill(false)?;
        }
    }

    /// Sends a further frame, after an attach was answered.
    ///
    /// # Errors
    /// The connection ended.
    pub fn send(&mut self, message: &ToNode) -> Result<(), LocalError> {
        let bytes = frame::encode(message, REQUEST_MOST).map_err(LocalError::Frame)?;
        frame::write(&mut self.stream, &bytes).map_err(|error| self.frame_error(error))
    }

    /// The next thing the node says. A signal in between is no failure.
    ///
    /// # Errors
    /// [`LocalError::OtherProtocol`] and [`LocalError::NotFrith`] before anything else; [`LocalError::Silent`] when the node
    /// has not even said that it is at work; [`LocalError::Lost`]; [`LocalError::Frame`].
    pub fn read(&mut self) -> Result<FromNode, LocalError> {
        self.read_until(|| false)
    }

    /// As [`Connection::read`], but a signal ends it when `stop` says so.
    ///
    /// # Errors
    /// As [`Connection::read`], and [`LocalError::Interrupted`].
    pub fn read_until(&mut self, stop: impl Fn() -> bool) -> Result<FromNode, LocalError> {
        loop {
            if let Some(message) = self.read_held()? {
                return Ok(message);
            }
            if stop() {
                return Err(LocalError::Interrupted);
            }
            self.fill(true)?;
        }
    }

    /// The next thing the node has said, if it is here already.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub fn read_held(&mut self) -> Result<Option<FromNode>, LocalError> {
        if !self.met()? {
            return Ok(None);
        }
        loop {
            match self.splitter.next_frame() {
                Ok(Some([])) => {}
                Ok(Some(payload)) => return frame::decode(payload).map(Some).map_err(LocalError::Frame),
                Ok(None) => return Ok(None),
                Err(error) => return Err(LocalError::Frame(error)),
            }
        }
    }

    /// Takes in what has come, waiting for at least a byte of it.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub fn take_in(&mut self) -> Result<(), LocalError> {
        self.fill(false)
    }

    /// Our hello, which is said once.
    fn own_hello(&mut self) -> Vec<u8> {
        if std::mem::replace(&mut self.greeted, true) { Vec::new() } else { Hello::ours().bytes() }
    }

    /// Sends the first bytes. One who closed at once may have said why before, so that shows in reading.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), LocalError> {
        match frame::write(&mut self.stream, bytes) {
            Err(FrameError::Io(error)) if is_closed(&error) => Ok(()),
            done => done.map_err(|error| self.frame_error(error)),
        }
    }

    fn fill(&mut self, back_at_a_signal: bool) -> Result<(), LocalError> {
        let filled = if back_at_a_signal { self.splitter.fill_once(&mut self.stream) } else { self.splitter.fill(&mut self.stream) };
        match filled {
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            done => done.map_err(|error| self.frame_error(error)),
        }
    }

    /// Whether the node has said hello, and one that this side understands.
    fn met(&mut self) -> Result<bool, LocalError> {
        if self.theirs.is_some() {
            return Ok(true);
        }
        let hello = Hello::take(&mut self.splitter).map_err(|_| LocalError::NotFrith { socket: self.socket.as_path().into() })?;
        match hello {
            None => Ok(false),
            Some(theirs) if theirs.protocol != PROTOCOL => {
                Err(LocalError::OtherProtocol { theirs, ours: Hello::ours().version, pid: self.peer.pid })
            }
            Some(theirs) => {
                self.theirs = Some(theirs);
                // The one that was set before was enough for a hello, so setting it worked.
                let _ = self.stream.set_read_timeout(Some(SILENCE_MOST));
                Ok(true)
            }
        }
    }

    fn silent(&self) -> LocalError {
        match self.peer.pid {
            Some(pid) if peer::is_stopped(pid) => LocalError::Stopped { pid },
            pid => {
                let patience = if self.theirs.is_some() { SILENCE_MOST } else { HELLO_MOST };
                LocalError::Silent { pid, seconds: patience.as_secs() }
            }
        }
    }

    fn frame_error(&self, error: FrameError) -> LocalError {
        match error {
            FrameError::Closed | FrameError::Cut => LocalError::Lost,
            FrameError::Io(error) if is_closed(&error) => LocalError::Lost,
            FrameError::Io(error) if is_timeout(&error) => self.silent(),
            error => LocalError::Frame(error),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn connect(socket: &Path) -> Result<UnixStream, LocalError> {
    loop {
        return match UnixStream::connect(socket) {
            Ok(stream) => Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                Err(LocalError::NoNode { socket: socket.into() })
            }
            Err(error) => Err(LocalError::io(socket, "connected to", error)),
        };
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
