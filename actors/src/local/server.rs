//! The answering side of the local socket: one task for each connection, each bounded in number, size and patience.
//!
//! A call that has begun goes on when its caller goes away. What a call does is the business of who [`Answers`].

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use frith_net::{
    error::FrameError,
    frame::{self, Splitter},
};
use tokio::{
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinHandle, JoinSet},
    time::{MissedTickBehavior, interval_at, timeout},
};
use tracing::{debug, warn};

use super::{
    ALIVE_EVERY, ANSWER_MOST, REQUEST_MOST,
    hello::{Hello, PROTOCOL},
    peer::own_user,
};
use crate::{
    call::{Envelope, Failed, FromNode, Progress, ToNode},
    terminal::wire::{FromViewer, ToViewer},
};

/// What a call comes to, in time.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failed>> + Send + 'a>>;

/// Whoever answers calls.
pub trait Answers: Send + Sync + 'static {
    /// Answers one call. `peer` is the calling process as the kernel tells; progress is shown to the caller while this runs.
    fn call(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Answering<'_>;
}

/// What a call was answered with.
pub enum Answer {
    /// The reply, serialised.
    Reply(Vec<u8>),
    /// The reply, serialised, and who waits to hear whether the caller handed on what it holds.
    Handing {
        /// The reply.
        reply: Vec<u8>,
        /// Who waits.
        handed: Box<dyn Handed>,
    },
    /// The reply, serialised, and a terminal that the caller watches from now on.
    Terminal {
        /// What precedes the terminal's output.
        reply: Vec<u8>,
        /// What the viewer is shown.
        shown: Box<dyn Shown>,
        /// Where what the viewer does goes.
        typed: Box<dyn Typed>,
    },
}

/// What becomes of an answer that holds what may be handed out only once.
pub trait Handed: Send {
    /// Whether the caller said that it has written all of it to whoever it is for. False also when it went away without a word.
    fn written(self: Box<Self>, is_written: bool) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// What a viewer of a terminal is shown, piece by piece. A slow viewer is this side's business, never the terminal's.
pub trait Shown: Send {
    /// The next piece; none when there is nothing more. Nothing is lost when the future is dropped.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<ToViewer>> + Send + '_>>;
}

/// Where what a viewer types and resizes goes.
pub trait Typed: Send {
    /// Takes one piece; false when the terminal takes no more.
    fn take(&mut self, piece: FromViewer) -> Pin<Box<dyn Future<Output = bool> + Send + '_>>;
}

/// How much a server bears.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most connections at once; others wait.
    pub connections: usize,
    /// How long a connection may take to say what it wants.
    pub request: Duration,
    /// How long an answer may take to be read.
    pub answer: Duration,
    /// How often a call that is worked on shows a sign of life.
    pub alive: Duration,
    /// How long connections may go on once the server is to end.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            request: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            alive: ALIVE_EVERY,
            farewell: Duration::from_secs(2),
        }
    }
}

/// Serves connections until `end` is there, then lets those that are being answered finish.
pub async fn serve(listener: UnixListener, answers: Arc<dyn Answers>, limits: Limits, end: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    tokio::pin!(end);
    loop {
        let stream = tokio::select! {
            biased;
            () = &mut end => break,
            Some(done) = connections.join_next() => { report(done); continue }
            stream = accept(&listener, &places) => stream,
        };
        if let Some((stream, place)) = stream {
            let answers = Arc::clone(&answers);
            connections.spawn(async move {
                let _place = place;
                connection(stream, answers, limits).await
            });
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(limits.farewell, all).await.is_err() {
        debug!("connections were still open when the node ended");
    }
}

/// The next connection of this user, once there is a place for it.
async fn accept(listener: &UnixListener, places: &Arc<Semaphore>) -> Option<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            // Out of file descriptors, for one: the reason passes, and until then trying at once would spin.
            warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            return None;
        }
    };
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own_user() => Some((stream, place)),
        Ok(peer) => {
            warn!(user = peer.uid(), "a connection of another user was turned away");
            None
        }
        Err(error) => {
            debug!(%error, "a connection ended before it began");
            None
        }
    }
}

fn report(done: Result<Result<(), FrameError>, JoinError>) {
    match done {
        Ok(Ok(()) | Err(FrameError::Closed)) => {}
        Ok(Err(error)) => debug!(%error, "a connection ended early"),
        Err(error) => tracing::error!(%error, "a connection's task failed"),
    }
}

/// One connection, from hello to its end.
struct Session {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    splitter: Splitter,
    limits: Limits,
}

async fn connection(stream: UnixStream, answers: Arc<dyn Answers>, limits: Limits) -> Result<(), FrameError> {
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(|pid| u32::try_from(pid).ok());
    let (read, write) = stream.into_split();
    let mut session = Session { read, write, splitter: Splitter::new(REQUEST_MOST), limits };
    session.put(&Hello::ours().bytes()).await?;
    let envelope = match timeout(limits.request, session.request()).await {
        Ok(Ok(Some(envelope))) => envelope,
        Ok(Ok(None)) => return Ok(()),
        Ok(Err(error @ (FrameError::Malformed(_) | FrameError::LeftOver(_) | FrameError::TooLong { .. }))) => {
            return session.say(&FromNode::Answer(Err(unreadable(&error)))).await;
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return Err(FrameError::Io(std::io::ErrorKind::TimedOut.into())),
    };
    let (progress, mut told) = mpsc::channel(32);
    let mut call: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move { answers.call(peer, *envelope, progress).await });
    // What needs nobody else, as most of what hooks tell, is answered without a task of its own.
    let begun = poll_fn(|context| Poll::Ready(catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))))).await;
    let outcome = match begun {
        Ok(Poll::Ready(outcome)) => {
            while let Ok(progress) = told.try_recv() {
                session.say(&FromNode::Progress(progress)).await?;
            }
            outcome
        }
        Ok(Poll::Pending) => session.wait(tokio::spawn(call), told).await?,
        Err(_) => Err(lost(true)),
    };
    match outcome {
        Ok(Answer::Reply(reply)) => session.answer(Ok(reply)).await,
        Ok(Answer::Handing { reply, handed }) => session.hand(reply, handed).await,
        Ok(Answer::Terminal { reply, shown, typed }) => {
            session.answer(Ok(reply)).await?;
            session.terminal(shown, typed).await
        }
        Err(failed) => session.answer(Err(failed)).await,
    }
}

fn unreadable(error: &FrameError) -> Failed {
    Failed::Broken { facts: vec!["the request cannot be read".into(), error.to_string()], hint: None }
}

impl Session {
    /// The call that the other side makes; none when it speaks another protocol, which it knows from our hello.
    async fn request(&mut self) -> Result<Option<Box<Envelope>>, FrameError> {
        let hello = loop {
            match Hello::take(&mut self.splitter) {
                Ok(Some(hello)) => break hello,
                Ok(None) => self.fill().await?,
                Err(_) => return Ok(None),
            }
        };
        if hello.protocol != PROTOCOL {
            debug!(protocol = hello.protocol, version = hello.version, "a caller speaks another protocol");
            return Ok(None);
        }
        match self.message().await? {
            ToNode::Call(envelope) => Ok(Some(envelope)),
            ToNode::Terminal(_) | ToNode::Written => Ok(None),
        }
    }

    async fn message(&mut self) -> Result<ToNode, FrameError> {
        loop {
            if let Some(payload) = self.splitter.next_frame()? {
                return frame::decode(payload);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), FrameError> {
        self.splitter.fill_async(&mut self.read).await
    }

    /// Waits for the call's outcome, telling how far it is and that it is alive.
    async fn wait(
        &mut self,
        mut call: JoinHandle<Result<Answer, Failed>>,
        mut told: mpsc::Receiver<Progress>,
    ) -> Result<Result<Answer, Failed>, FrameError> {
        let mut alive = interval_at(tokio::time::Instant::now() + self.limits.alive, self.limits.alive);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(progress) = told.recv() => self.say(&FromNode::Progress(progress)).await?,
                done = &mut call => return Ok(done.unwrap_or_else(|error| Err(lost(error.is_panic())))),
                early = self.splitter.fill_async(&mut self.read) => {
                    early?;
                    if self.splitter.peek().len() > REQUEST_MOST {
                        return Err(FrameError::TooLong { length: self.splitter.peek().len(), most: REQUEST_MOST });
                    }
                }
                _ = alive.tick() => self.put(&[0; 4]).await?,
            }
        }
    }

    async fn answer(&mut self, answer: Result<Vec<u8>, Failed>) -> Result<(), FrameError> {
        let length = answer.as_ref().map_or(0, Vec::len);
        match self.say(&FromNode::Answer(answer)).await {
            Err(FrameError::TooLong { most, .. }) => {
                let facts = vec![format!("the answer has {length} bytes, and {most} is the most")];
                self.say(&FromNode::Answer(Err(Failed::Broken { facts, hint: Some("ask for less at once: `--limit`".into()) }))).await
            }
            done => done,
        }
    }

    /// Answers, and tells who waits for it whether the caller handed the answer on. Who waits is told in every case.
    async fn hand(mut self, reply: Vec<u8>, handed: Box<dyn Handed>) -> Result<(), FrameError> {
        let told = async {
            self.answer(Ok(reply)).await?;
            match timeout(self.limits.answer, self.message()).await {
                Ok(message) => Ok(matches!(message?, ToNode::Written)),
                Err(_) => Ok(false),
            }
        };
        let told: Result<bool, FrameError> = told.await;
        handed.written(matches!(told, Ok(true))).await;
        told.map(drop)
    }

    /// Shows the terminal and takes what is typed until either side ends. Typing goes on while the viewer is slow to read.
    async fn terminal(self, mut shown: Box<dyn Shown>, mut typed: Box<dyn Typed>) -> Result<(), FrameError> {
        let Self { mut read, mut write, mut splitter, .. } = self;
        let from_viewer = async {
            loop {
                while let Some(payload) = splitter.next_frame()? {
                    let ToNode::Terminal(piece) = frame::decode(payload)? else { return Ok(()) };
                    if !typed.take(piece).await {
                        return Ok(());
                    }
                }
                splitter.fill_async(&mut read).await?;
            }
        };
        let to_viewer = async {
            while let Some(piece) = shown.next().await {
                frame::write_async(&mut write, &frame::encode(&FromNode::Terminal(piece), ANSWER_MOST)?).await?;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            done = from_viewer => done,
            done = to_viewer => done,
        }
    }

    async fn say(&mut self, message: &FromNode) -> Result<(), FrameError> {
        let bytes = frame::encode(message, ANSWER_MOST)?;
        self.put(&bytes).await
    }

    async fn put(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let written = timeout(self.limits.answer, frame::write_async(&mut self.write, bytes)).await;
        written.unwrap_or_else(|_| Err(FrameError::Io(std::io::ErrorKind::TimedOut.into())))
    }
}

/// The call's own task ended without an outcome: it panicked, or the node is ending.
fn lost(is_panic: bool) -> Failed {
    let fact = if is_panic { "the node failed while it worked on this" } else { "the node ended while it worked on this" };
    Failed::Broken { facts: vec![fact.into()], hint: Some("`frith logs` has the details".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::{Operation, node},
        call::Claims,
        local::{
            LocalError,
            client::Connection,
            door::{Door, Elsewhere, find},
            lock::{HomeLock, Locked},
        },
    };
    use frith_store::id::CallId;
    use std::{
        io::{Read as _, Write as _},
        os::unix::net::UnixStream as Blocking,
        path::Path,
    };
    use tokio::sync::oneshot;

    /// Answers with the caller's process; tells two steps first, and shows a terminal to whoever attaches.
    struct Echo;

    impl Answers for Echo {
        fn call(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Answering<'_> {
            Box::pin(async move {
                if matches!(envelope.operation, Operation::NodeCheck(_)) {
                    panic!("as a fault of ours would");
                }
                for step in 1..=2 {
                    let told = Progress { what: "working".into(), part: Some((step, 2)) };
                    progress.send(told).await.unwrap();
                }
                match envelope.operation {
                    Operation::AgentAttach(_) => {
                        let (to, from) = mpsc::channel(4);
                        Ok(Answer::Terminal { reply: vec![1], shown: Box::new(Mirror(from)), typed: Box::new(Glass(to)) })
                    }
                    Operation::NodeDown(_) => std::future::pending().await,
                    _ => Ok(Answer::Reply(postcard::to_stdvec(&peer).unwrap())),
                }
            })
        }
    }

    struct Mirror(mpsc::Receiver<FromViewer>);
    struct Glass(mpsc::Sender<FromViewer>);

    impl Shown for Mirror {
        fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<ToViewer>> + Send + '_>> {
            Box::pin(async {
                let FromViewer::Input(bytes) = self.0.recv().await? else { return None };
                Some(ToViewer::Output(bytes))
            })
        }
    }

    impl Typed for Glass {
        fn take(&mut self, piece: FromViewer) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
            Box::pin(async move { self.0.send(piece).await.is_ok() })
        }
    }

    fn envelope(operation: impl Into<Operation>) -> Envelope {
        Envelope {
            call: CallId::from_random([3; 16]),
            folder: None,
            environment: Vec::new(),
            size: None,
            claims: Claims::default(),
            operation: operation.into(),
        }
    }

    fn quick() -> Limits {
        Limits { request: Duration::from_millis(200), alive: Duration::from_millis(5), connections: 4, ..Limits::default() }
    }

    /// Runs `client` against a server in a home of its own.
    fn served(client: impl FnOnce(&Path) + Send) {
        let home = tempfile::tempdir().unwrap();
        let Locked::Ours(lock) = HomeLock::take(home.path()).unwrap() else { panic!("the home is new") };
        let elsewhere = Elsewhere { runtime: None, temporary: home.path().to_owned() };
        let door = Door::open(&lock, home.path(), &elsewhere).unwrap();
        let listener = door.listener().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let listener = UnixListener::from_std(listener).unwrap();
                    serve(listener, Arc::new(Echo), quick(), async { drop(ended.await) }).await;
                });
            });
            let _end = end;
            client(&find(home.path()).unwrap().unwrap());
        });
        door.close();
    }

    fn attach() -> Envelope {
        envelope(crate::api::agents::Attach { agent: frith_store::id::AgentRef("abcd".into()), read_only: false })
    }

    #[test]
    fn a_call_has_progress_and_one_answer_and_the_caller_is_known() {
        served(|socket| {
            let mut node = Connection::open(socket).unwrap();
            assert_eq!(node.greet().unwrap(), Hello::ours());
            node.call(envelope(node::Status {})).unwrap();
            assert!(matches!(node.read().unwrap(), FromNode::Progress(Progress { part: Some((1, 2)), .. })));
            assert!(matches!(node.read().unwrap(), FromNode::Progress(Progress { part: Some((2, 2)), .. })));
            let FromNode::Answer(Ok(reply)) = node.read().unwrap() else { panic!("an answer was due") };
            assert_eq!(postcard::from_bytes::<Option<u32>>(&reply).unwrap(), Some(std::process::id()));
            assert!(matches!(node.read(), Err(LocalError::Lost)));
        });
    }

    #[test]
    fn a_call_that_panics_at_once_is_answered_and_the_next_one_too() {
        served(|socket| {
            for _ in 0..2 {
                let mut node = Connection::open(socket).unwrap();
                node.call(envelope(node::Check {})).unwrap();
                let FromNode::Answer(Err(Failed::Broken { facts, .. })) = node.read().unwrap() else { panic!("an answer was due") };
                assert_eq!(facts, ["the node failed while it worked on this"]);
            }
        });
    }

    #[test]
    fn after_an_attach_frames_go_both_ways() {
        served(|socket| {
            let mut node = Connection::open(socket).unwrap();
            node.call(attach()).unwrap();
            while !matches!(node.read().unwrap(), FromNode::Answer(Ok(_))) {}
            for text in [b"one".to_vec(), b"two".to_vec()] {
                node.send(&ToNode::Terminal(FromViewer::Input(text.clone()))).unwrap();
                assert!(matches!(node.read().unwrap(), FromNode::Terminal(ToViewer::Output(shown)) if shown == text));
            }
        });
    }

    #[test]
    fn e15_a_long_call_shows_signs_of_life_and_can_be_interrupted() {
        served(|socket| {
            let mut node = Connection::open(socket).unwrap();
            node.call(envelope(node::Down {})).unwrap();
            let rounds = std::cell::Cell::new(0);
            let tired = || {
                rounds.set(rounds.get() + 1);
                rounds.get() > 10
            };
            while let Ok(FromNode::Progress(_)) = node.read_until(tired) {}
            assert!(rounds.get() > 10, "frames without bytes must have come");
        });
    }

    #[test]
    fn a_node_of_another_protocol_is_told_from_both_sides() {
        for (protocol, words) in [(0, "the node is the older one"), (7, "this command is the older one")] {
            let home = tempfile::tempdir().unwrap();
            let socket = home.path().join("s");
            let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            let mut node = Connection::open(&socket).unwrap();
            let (mut side, _) = listener.accept().unwrap();
            side.write_all(&Hello { protocol, version: "9.9.9".into() }.bytes()).unwrap();
            drop(side);
            node.call(envelope(node::Status {})).unwrap();
            let error = node.read().unwrap_err();
            assert!(error.to_string().starts_with("the node is frith 9.9.9"), "{error}");
            assert!(error.hint().unwrap().contains(words) && error.is_unreachable());
        }
    }

    #[test]
    fn a_command_of_another_protocol_gets_our_hello_and_no_answer() {
        served(|socket| {
            let mut stream = Blocking::connect(socket).unwrap();
            stream.write_all(&Hello { protocol: 9, version: "9".into() }.bytes()).unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            assert_eq!(said, Hello::ours().bytes());
        });
    }

    #[test]
    fn what_is_no_node_is_told_so() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("s");
        assert!(matches!(Connection::open(&socket), Err(LocalError::NoNode { .. })));
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut node = Connection::open(&socket).unwrap();
        listener.accept().unwrap().0.write_all(b"HTTP/1.1 200").unwrap();
        assert!(matches!(node.greet(), Err(LocalError::NotFrith { .. })));
        drop(listener);
        assert!(matches!(Connection::open(&socket), Err(LocalError::NoNode { .. })), "left behind by a dead node");
    }

    #[test]
    fn g04_a_request_that_claims_a_gigabyte_is_refused_at_once() {
        served(|socket| {
            let mut stream = Blocking::connect(socket).unwrap();
            stream.write_all(&Hello::ours().bytes()).unwrap();
            stream.write_all(&(1u32 << 30).to_be_bytes()).unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            let text = String::from_utf8_lossy(&said);
            assert!(text.contains("a frame of 1073741824 bytes"), "{text}");
        });
    }

    #[test]
    fn silent_callers_are_let_go_and_others_are_served_after_them() {
        served(|socket| {
            let silent: Vec<_> = (0..4).map(|_| Blocking::connect(socket).unwrap()).collect();
            let mut node = Connection::open(socket).unwrap();
            assert_eq!(node.greet().unwrap(), Hello::ours());
            for mut stream in silent {
                let mut said = Vec::new();
                stream.read_to_end(&mut said).unwrap();
                assert_eq!(said, Hello::ours().bytes());
            }
        });
    }

    #[test]
    fn a_request_that_cannot_be_read_is_answered_with_why() {
        served(|socket| {
            let mut stream = Blocking::connect(socket).unwrap();
            stream.write_all(&Hello::ours().bytes()).unwrap();
            stream.write_all(&[0, 0, 0, 2, 0, 0xff]).unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            assert!(String::from_utf8_lossy(&said).contains("the request cannot be read"));
        });
    }

    #[test]
    fn another_user_s_node_is_not_asked() {
        if own_user() != 0 {
            return;
        }
        let home = tempfile::tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let socket = home.path().join("s");
        let script = "import socket,sys,os\nos.setuid(65534)\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nprint(flush=True)\ninput()";
        let Ok(mut other) = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(&socket)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
        else {
            return;
        };
        let mut ready = [0];
        other.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(matches!(Connection::open(&socket), Err(LocalError::Foreign { owner: 65534, user: 0, .. })));
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
