//! The local socket: how a process of this machine asks its node.
//!
//! Both sides first say a hello whose form never changes, so that two versions that do not understand each other can
//! say which of them is to be updated. Then come frames: one call, its progress, one answer; after an attach, what the
//! terminal shows and what is typed. A frame without bytes says that the node is still at it. Who calls is read from
//! the kernel and never from a frame. Nothing here decides whether a call is allowed.

pub mod brief;
pub mod client;
pub mod door;
pub mod hello;
pub mod lock;
pub mod peer;
pub mod server;

use std::{io, path::Path, time::Duration};

use frith_net::error::FrameError;
use frith_store::text::PathText;

use self::hello::{Hello, PROTOCOL};

/// The most bytes of a request.
pub const REQUEST_MOST: usize = 16 * 1024 * 1024;
/// The most bytes of an answer.
pub const ANSWER_MOST: usize = 64 * 1024 * 1024;
/// How often a node that works on a call says so.
pub const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// How long a node may be silent before it counts as not answering.
pub const SILENCE_MOST: Duration = Duration::from_secs(30);
/// How long a node may take to say hello, which it does before anything else and without work.
pub const HELLO_MOST: Duration = Duration::from_secs(10);

/// The node could not be asked, or its answer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Nothing listens: no node runs for this home.
    #[error("no node listens at `{socket}`")]
    NoNode {
        /// Where it would listen.
        socket: PathText,
    },
    /// The socket belongs to somebody else.
    #[error("the node at `{socket}` runs as user {owner}, and this is user {user}")]
    Foreign {
        /// The socket.
        socket: PathText,
        /// Whose process listens.
        owner: u32,
        /// Who asks.
        user: u32,
    },
    /// The folder of the socket is not only ours.
    #[error("the folder `{folder}` of the node's socket {fault}")]
    UnsafeFolder {
        /// The folder.
        folder: PathText,
        /// What is wrong with it, as the end of a sentence.
        fault: &'static str,
    },
    /// No path is short enough for a socket.
    #[error("the socket path `{path}` has {length} bytes, and {most} is the most")]
    PathTooLong {
        /// The shortest path that was found.
        path: PathText,
        /// Its length in bytes.
        length: usize,
        /// The most the system takes.
        most: usize,
    },
    /// What listens is no node.
    #[error("what listens at `{socket}` is no frith node")]
    NotFrith {
        /// The socket.
        socket: PathText,
    },
    /// The two sides speak different protocols.
    #[error("the node is frith {} (protocol {}), and this is frith {ours} (protocol {PROTOCOL})", theirs.version, theirs.protocol)]
    OtherProtocol {
        /// What the node said.
        theirs: Hello,
        /// This side's version.
        ours: String,
        /// The node's process, where the system tells.
        pid: Option<u32>,
    },
    /// The node says nothing.
    #[error("the node has said nothing for {seconds} seconds")]
    Silent {
        /// The node's process, where the system tells.
        pid: Option<u32>,
        /// For how long.
        seconds: u64,
    },
    /// The node was stopped by a signal, and says nothing until it is let go on.
    #[error("the node (process {pid}) is stopped, so it says nothing")]
    Stopped {
        /// The node's process.
        pid: u32,
    },
    /// The connection ended before the answer.
    #[error("the node ended the connection before it answered")]
    Lost,
    /// A signal asked this process to end while it waited.
    #[error("interrupted")]
    Interrupted,
    /// A frame could not be sent or read.
    #[error("the node could not be spoken with")]
    Frame(#[source] FrameError),
    /// The system failed.
    #[error("`{path}` could not be {verb}")]
    Io {
        /// The file, folder or socket.
        path: PathText,
        /// What was tried.
        verb: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl LocalError {
    /// What would mend it, where something would.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoNode { .. } => "`frith up` starts it".into(),
            Self::Foreign { .. } => "run frith as that user, or choose a home of your own with `FRITH_HOME`".into(),
            Self::UnsafeFolder { folder, .. } => format!("make `{folder}` a folder of yours with mode 0700, or remove it"),
            Self::PathTooLong { .. } => "choose a shorter home with `FRITH_HOME`, or set `XDG_RUNTIME_DIR`".into(),
            Self::NotFrith { socket } => format!("end what listens there, then remove `{socket}`"),
            Self::OtherProtocol { theirs, .. } if theirs.protocol < PROTOCOL => {
                "the node is the older one: `frith down`, then `frith up` starts this version".into()
            }
            Self::OtherProtocol { .. } => "this command is the older one: update it, or run the one the node was started from".into(),
            Self::Stopped { pid } => format!("`kill -CONT {pid}` lets it go on"),
            Self::Silent { pid: Some(pid), .. } => format!("`frith logs` may say why; if it hangs, end process {pid}"),
            Self::Silent { pid: None, .. } | Self::Lost => "`frith logs` may say why".into(),
            Self::Interrupted | Self::Frame(_) | Self::Io { .. } => return None,
        })
    }

    /// Whether no node could be asked at all, in contrast to one that was asked and broke.
    pub fn is_unreachable(&self) -> bool {
        !matches!(self, Self::Frame(_) | Self::Interrupted | Self::Lost)
    }

    fn io(path: &Path, verb: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.into(), verb, source }
    }
}
