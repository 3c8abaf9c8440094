//! Asking the node: each call of a tool is one call of the local socket of this machine's node, which says who calls. Nothing is kept
//! between two calls, so a server outlives its node, and two servers of one session are the same agent.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use frith_actors::{
    api::{Operation, Request},
    call::{CalledBy, Claims, Envelope, Failed, FromNode, Server, ToNode},
    env::{
        real::stopwatch::Stopwatch,
        world::{Blocking, Purpose, Random, blocking},
    },
    local::{LocalError, client::Connection},
};
use frith_store::{
    id::{CallId, PlaceId},
    text::PathText,
};
use rmcp::model::RequestId;

/// The longest that a call may take: some hosts give up after a minute, whatever they are told.
pub const LONGEST: Duration = Duration::from_secs(45);

/// The way to this machine's node.
pub trait Reach: Send + Sync {
    /// A connection to the node, which is started when none runs.
    ///
    /// # Errors
    /// It cannot be started, or not be spoken with.
    fn started(&self) -> Result<Connection, Failed>;

    /// A connection to the node that runs; none when none does.
    ///
    /// # Errors
    /// What is there cannot be spoken with.
    fn running(&self) -> Result<Option<Connection>, Failed>;
}

/// This machine's node, as an MCP server asks it.
#[derive(Clone)]
pub struct Asker {
    /// How it is reached.
    pub reach: Arc<dyn Reach>,
    /// Where that and the waiting is done.
    pub blocking: Arc<dyn Blocking>,
    /// What calls are named by.
    pub random: Arc<dyn Random>,
    /// What the environment of this process says.
    pub claims: Claims,
    /// The host that started it.
    pub host: &'static str,
    /// The place that it was entered for.
    pub place: Option<PlaceId>,
}

/// A reply, and the connection over which the node may wait to hear that it was handed on.
pub struct Answered {
    /// The reply as it is on the wire.
    pub reply: Vec<u8>,
    /// The connection; when it ends first, what was handed out counts as not delivered.
    pub connection: Connection,
}

impl Asker {
    /// Asks for an operation on behalf of the agent that this process works for.
    ///
    /// # Errors
    /// The node's refusal or failure, that it could not be asked, or that it took too long.
    pub async fn ask(&self, operation: Operation, by: Option<CalledBy>) -> Result<Answered, Failed> {
        let envelope = self.envelope(operation, by);
        let reach = Arc::clone(&self.reach);
        let watch = Stopwatch::start();
        let asked = blocking(&self.blocking, move || exchange(&*reach, &envelope, &watch));
        match tokio::time::timeout(LONGEST, asked).await {
            Ok(answered) => answered.map_err(Failed::from_work)?,
            Err(_) => Err(too_long()),
        }
    }

    /// Asks the node that runs; one that was ended is not started for this.
    ///
    /// # Errors
    /// As [`Asker::ask`], and that no node runs.
    pub async fn look<R: Request>(&self, request: R) -> Result<R::Reply, Failed> {
        let (envelope, reach) = (self.envelope(request.into(), None), Arc::clone(&self.reach));
        let watch = Stopwatch::start();
        let asked = blocking(&self.blocking, move || {
            let none = || Failed::Broken { facts: vec!["no node runs".to_owned()], hint: None };
            once(reach.running()?.ok_or_else(none)?, envelope, &watch).map_err(unanswered)?
        });
        let answered = asked.await.map_err(Failed::from_work)??;
        read::<R>(&answered)
    }

    /// The same with the reply read.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub async fn ask_for<R: Request>(&self, request: R, by: Option<CalledBy>) -> Result<R::Reply, Failed> {
        read::<R>(&self.ask(request.into(), by).await?)
    }

    fn envelope(&self, operation: Operation, by: Option<CalledBy>) -> Envelope {
        let server = Server { host: self.host.to_owned(), place: self.place, by };
        Envelope {
            call: CallId::from_random(self.random.bytes(Purpose::Ids)),
            folder: std::env::current_dir().ok().map(|folder| PathText::from(folder.as_path())),
            environment: Vec::new(),
            size: None,
            claims: Claims { server: Some(server), ..self.claims.clone() },
            operation,
        }
    }
}

/// A node that ended before it answered is asked once more, or the one that follows it: a call sent again is the same call.
fn exchange(reach: &dyn Reach, envelope: &Envelope, watch: &Stopwatch) -> Result<Answered, Failed> {
    match once(reach.started()?, envelope.clone(), watch) {
        Err(LocalError::Lost) => once(reach.started()?, envelope.clone(), watch),
        answered => answered,
    }
    .map_err(unanswered)?
}

/// Nobody waits any more once a call took too long: its connection and its thread are free then, however long the node works on.
fn once(mut connection: Connection, envelope: Envelope, watch: &Stopwatch) -> Result<Result<Answered, Failed>, LocalError> {
    connection.call(envelope)?;
    loop {
        match connection.read_until(|| watch.left_of(LONGEST).is_zero())? {
            FromNode::Answer(answer) => return Ok(answer.map(|reply| Answered { reply, connection })),
            // A model is not told of progress.
            FromNode::Progress(_) => {}
            FromNode::Terminal(_) => return Err(LocalError::Lost),
        }
    }
}

fn too_long() -> Failed {
    Failed::Broken {
        facts: vec![format!("the node has not answered within {} seconds, and goes on with it", LONGEST.as_secs())],
        hint: Some("look what came of it before you call this again".to_owned()),
    }
}

fn unanswered(error: LocalError) -> Failed {
    if matches!(error, LocalError::Interrupted) {
        return too_long();
    }
    let facts = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source()).map(ToString::to_string);
    Failed::Broken { facts: facts.collect(), hint: error.hint() }
}

fn read<R: Request>(answered: &Answered) -> Result<R::Reply, Failed> {
    postcard::from_bytes(&answered.reply).map_err(|error| Failed::broken_by("the node's reply cannot be read", &error))
}

/// What tells one request of a host from the others: the number 7 and the text "7" are two.
pub fn told_apart(request: &RequestId) -> String {
    format!("{request:?}")
}

/// Connections whose answers are on their way to the host, by the host's ids of its requests.
#[derive(Clone, Default)]
pub struct Handing(Arc<Mutex<BTreeMap<String, Connection>>>);

impl Handing {
    /// An answer is given to be written.
    pub fn begin(&self, request: String, connection: Connection) {
        self.lock().insert(request, connection);
    }

    /// The answer was written to the host, and the node is told so; or it was not, and what it held is put back.
    pub fn end(&self, request: &str, is_written: bool) {
        let connection = self.lock().remove(request);
        if let Some(mut connection) = connection.filter(|_| is_written) {
            // A node that is gone counts it as not delivered, and hands it out again.
            let _ = connection.send(&ToNode::Written);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frith_actors::{api::agents::Whoami, env::real::world::SystemRandom};

    /// Work that is never done.
    struct Never(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

    struct Nowhere;

    impl Reach for Nowhere {
        fn started(&self) -> Result<Connection, Failed> {
            panic!("the work is never done")
        }
        fn running(&self) -> Result<Option<Connection>, Failed> {
            Ok(None)
        }
    }

    impl Blocking for Never {
        fn run(&self, work: Box<dyn FnOnce() + Send>) {
            self.0.lock().unwrap().push(work);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn b36_a_call_that_takes_too_long_is_answered_before_a_host_gives_up() {
        let asker = Asker {
            reach: Arc::new(Nowhere),
            blocking: Arc::new(Never(Mutex::default())),
            random: Arc::new(SystemRandom),
            claims: Claims::default(),
            host: "claude",
            place: None,
        };
        let asked = tokio::time::Instant::now();
        let Err(Failed::Broken { facts, .. }) = asker.ask(Whoami {}.into(), None).await else { panic!("nothing answers") };
        assert!(facts[0].contains("has not answered"), "{facts:?}");
        assert!(asked.elapsed() <= Duration::from_secs(46));
    }
}
