//! A node that a test plays: it listens where a home's node does, hears one hook, and answers as it is told to.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    thread::JoinHandle,
};

use frith_actors::{
    api::{
        Operation,
        agents::{Event, Noted},
    },
    call::{FromNode, ToNode},
    local::{ANSWER_MOST, REQUEST_MOST, hello::Hello},
};
use frith_net::frame::{self, Splitter};
use frith_tests::Sandbox;

/// What a node heard of a hook.
#[derive(Debug)]
pub struct Heard {
    /// What it was told.
    pub event: Event,
    /// Whether the hook said that the answer was written.
    pub is_written: bool,
}

/// Makes the home, as a node would have.
pub fn make_home(sandbox: &Sandbox) {
    fs::create_dir_all(sandbox.home()).expect("the home can be made");
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o700)).expect("the home is ours");
}

/// A socket where the home's node would listen.
pub fn listen(sandbox: &Sandbox) -> UnixListener {
    make_home(sandbox);
    UnixListener::bind(sandbox.home().join("node.sock")).expect("no node listens yet")
}

/// Answers one hook with this, and tells what was heard of it.
#[expect(clippy::disallowed_methods, reason = "a node that a test plays has a thread of its own")]
pub fn answering(sandbox: &Sandbox, noted: Noted) -> JoinHandle<Heard> {
    let listener = listen(sandbox);
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a hook comes");
        hear(stream, &noted)
    })
}

fn hear(mut stream: UnixStream, noted: &Noted) -> Heard {
    let mut splitter = Splitter::new(REQUEST_MOST);
    while Hello::take(&mut splitter).expect("a hook says hello").is_none() {
        splitter.fill(&mut stream).expect("a hook says hello");
    }
    let ToNode::Call(envelope) = next(&mut splitter, &mut stream).expect("a hook calls") else { panic!("a hook calls first") };
    let Operation::AgentEvent(event) = envelope.operation else { panic!("a hook tells an event") };
    let reply = postcard::to_stdvec(noted).expect("an answer has a form");
    let answer = frame::encode(&FromNode::Answer(Ok(reply)), ANSWER_MOST).expect("an answer fits");
    stream.write_all(&[Hello::ours().bytes(), answer].concat()).expect("a hook listens");
    let is_written = matches!(next(&mut splitter, &mut stream), Some(ToNode::Written));
    assert_eq!(stream.read(&mut [0]).unwrap_or_default(), 0, "a hook says nothing after that");
    Heard { event, is_written }
}

fn next(splitter: &mut Splitter, stream: &mut UnixStream) -> Option<ToNode> {
    loop {
        if let Some(frame) = splitter.next_frame().expect("a hook sends frames") {
            return Some(frame::decode(frame).expect("a hook sends what a node reads"));
        }
        splitter.fill(stream).ok()?;
    }
}
