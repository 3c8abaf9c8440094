//! What breaks on the way to another process or machine. Each error is a fact; its hint is data beside it.

use std::io;

use frith_store::text::PathText;

/// A frame could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side closed the stream between two frames.
    #[error("the other side closed the connection")]
    Closed,
    /// The other side closed the stream within a frame.
    #[error("the connection ended within a frame")]
    Cut,
    /// The frame says it is larger than this stream allows.
    #[error("a frame of {length} bytes, and {most} is the most")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The most bytes a frame may have.
        most: usize,
    },
    /// The frame's bytes are not what was expected in it.
    #[error("a frame that cannot be read")]
    Malformed(#[source] postcard::Error),
    /// The frame has more bytes than what was read from it.
    #[error("a frame with {0} bytes left over")]
    LeftOver(usize),
    /// The stream itself failed.
    #[error("the connection failed")]
    Io(#[from] io::Error),
}

/// The machine's key could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("the machine key `{path}` cannot be {verb}")]
    Io {
        /// The key's file.
        path: PathText,
        /// What was tried: read, written.
        verb: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Others than its owner may read it.
    #[error("the machine key `{path}` has mode {mode:04o}, so others may read it")]
    Open {
        /// The key's file.
        path: PathText,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("the machine key `{path}` belongs to user {owner}, and this is user {user}")]
    Foreign {
        /// The key's file.
        path: PathText,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        user: u32,
    },
    /// It is a link, a folder or a device.
    #[error("the machine key `{path}` is no ordinary file")]
    NoFile {
        /// The key's file.
        path: PathText,
    },
    /// It does not hold a key.
    #[error("the machine key `{path}` has {length} bytes, and a key has {KEY_LENGTH}")]
    NoKey {
        /// The key's file.
        path: PathText,
        /// Its length in bytes.
        length: u64,
    },
}

/// The bytes of a secret key.
pub const KEY_LENGTH: usize = 32;

impl KeyError {
    /// What would mend it, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open { path, .. } => Some(format!("`chmod 600 {path}`, if nobody else can have read it")),
            Self::Foreign { path, .. } => Some(format!("run frith as the user whose key it is, or `chown` `{path}`")),
            Self::NoFile { path } | Self::NoKey { path, .. } => {
                Some(format!("put the key back from a backup; moving `{path}` away makes this a new machine"))
            }
            Self::Io { .. } => None,
        }
    }
}
