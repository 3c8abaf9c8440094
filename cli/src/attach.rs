//! Attaching: asks the node for an agent's terminal, and looks at it until that ends.

use std::{io, os::fd::AsFd as _};

use frith_actors::api::agents::{Attach, Attached};

use crate::{
    ask::{Run, envelope, wait},
    failure::{Failure, Told},
    progress::Story,
    start,
    tty::Tty,
    viewing::{LookError, Outcome, follow, look},
};

/// Looks at an agent's terminal: through this one where keys and screen are a terminal, else as lines of text.
///
/// # Errors
/// The node's refusal, or that it cannot be asked or understood. The terminal was given back before.
pub fn attach(run: &Run, request: Attach) -> Result<(Attached, Outcome), Failure> {
    let mut node = start::reach_or_start(&run.home, run.is_quiet())?;
    let envelope = envelope(request.into())?;
    // The node was told a size exactly where this command has a terminal to fill.
    let has_terminal = envelope.size.is_some();
    node.call(envelope)?;
    let mut story = Story::new(run.is_quiet());
    let reply = wait(&mut node, &mut story)?;
    story.end();
    let attached = postcard::from_bytes(&reply);
    let attached = attached.map_err(|error| Failure::Broken(Told::because("the node's reply cannot be read", &error)))?;
    let outcome = if has_terminal {
        let tty = Tty::hold(io::stdin().as_fd(), io::stdout().as_fd());
        let tty = tty.map_err(|error| Failure::Broken(Told::because("the terminal cannot be used", &error)))?;
        look(&mut node, &tty)
    } else {
        follow(&mut node, io::stdout().as_fd())
    };
    Ok((attached, outcome?))
}

impl From<LookError> for Failure {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Node(error) => error.into(),
            error => Self::Broken(Told::of(&error)),
        }
    }
}
