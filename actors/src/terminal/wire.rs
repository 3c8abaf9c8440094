//! What is said between a viewer and the node while somebody is attached.
//!
//! Whatever carries it is not known here.  Both enums grow at their end only.

use serde::{Deserialize, Serialize};

use crate::env::process::{ProcessEnd, TerminalSize};

/// From a viewer to the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromViewer {
    /// Keys, in the bytes of the viewer's terminal.
    Input(Vec<u8>),
    /// The viewer's terminal has this size now.
    Resize(TerminalSize),
    /// The viewer goes. A connection that ends says the same.
    Detach,
}

/// From the node to a viewer: what it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToViewer {
    /// For the viewer's terminal, or text for one without.
    Output(Vec<u8>),
    /// The agent ended; nothing follows.
    Ended(TerminalEnd),
}

/// How what a terminal was for came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerminalEnd {
    /// Nothing ever started in it: it was stopped before, or the start failed.
    NeverStarted,
    /// What ran in it ended like this.
    Process(ProcessEnd),
}
