//! The node in the foreground: home, lock, log, key, socket, store, then calls until somebody or something ends it.
//!
//! It ends its agents itself before it goes, whatever asked it to go, and takes away nothing that is another node's.

use std::{
    io::{self, Write as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use frith_actors::{
    call::{Envelope, Failed, Progress},
    config::Configured,
    env::real,
    local::{
        lock::{HomeLock, Locked},
        server::{Answering, Answers},
    },
    node::{Node, StartError},
};
use frith_net::{error::KEY_LENGTH, key::MachineKey};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::{
    args::Up,
    config, environment,
    failure::{Failure, Told},
    gate::{Gate, Watched},
    log, progress,
    restore::BEGUN,
    service,
    start::{self, Started},
};

/// How often the lock is tried before another node counts as there: a node that ends holds it a moment longer.
const LOCK_TRIES: u32 = 25;
/// Between two tries.
const LOCK_NAP: Duration = Duration::from_millis(20);

/// Runs the node until it ends.
///
/// # Errors
/// It could not be started. In the background the reason goes to whoever started it instead.
pub fn run(home: &Path, args: &Up) -> Result<(), Failure> {
    if args.detached {
        // Without a session of its own a node would end with the terminal it was started from. One that leads a group
        // already has one.
        let _ = rustix::process::setsid();
    }
    let outcome = begin(home, args).and_then(|ready| ready.serve(args.detached));
    match outcome {
        Err(Failure::Declined(told)) if args.r#yield => {
            progress::say(&told.facts.join(": "));
            Ok(())
        }
        Err(failure) if args.detached => {
            tell(&word_for(&failure));
            Err(failure)
        }
        outcome => outcome,
    }
}

fn word_for(failure: &Failure) -> Started {
    match failure {
        Failure::Declined(_) => Started::Taken,
        Failure::Broken(told) | Failure::Unreachable(told) => Started::Failed { facts: told.facts.clone(), hint: told.hint.clone() },
        Failure::Refused(refusal) => Started::Failed { facts: vec![refusal.to_string()], hint: refusal.hint() },
        Failure::CommandLine(error) => Started::Failed { facts: vec![error.to_string()], hint: None },
        Failure::NoReader => Started::Failed { facts: Vec::new(), hint: None },
    }
}

/// Tells whoever started us, and lets go of the pipe.
fn tell(word: &Started) {
    let bytes = postcard::to_stdvec(word).unwrap_or_default();
    // One who no longer listens is no reason to end.
    let _ = io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush());
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

/// Everything that a node needs before its runtime.
struct Ready<'a> {
    home: &'a Path,
    gate: Gate,
    key: MachineKey,
    config: Arc<dyn Configured>,
}

fn begin<'a>(home: &'a Path, args: &Up) -> Result<Ready<'a>, Failure> {
    start::make_home(home)?;
    let lock = lock(home)?;
    log::begin(home, !args.detached)?;
    let config = config::read(home, None, &args.set)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if rustix::process::geteuid().is_root() {
        if config::refuses_root(&config) {
            let told = Told::new("the node does not start as root, as `node.root` says");
            return Err(Failure::Broken(told.hint("run it as an ordinary user, or `frith config set node.root warn`")));
        }
        tracing::warn!("the node runs as root, and so does every agent it starts");
    }
    require_no_half_restore(home)?;
    let key = key(home)?;
    Ok(Ready { home, gate: Gate::open(home, lock)?, key, config: Arc::new(config::Live::read(home, &args.set)?) })
}

fn lock(home: &Path) -> Result<HomeLock, Failure> {
    let mut holder = None;
    for _ in 0..LOCK_TRIES {
        match HomeLock::take(home)? {
            Locked::Ours(lock) => return Ok(lock),
            Locked::Taken(pid) => holder = pid,
        }
        std::thread::sleep(LOCK_NAP);
    }
    let who = holder.map(|pid| format!(" (process {pid})")).unwrap_or_default();
    let told = Told::new(format!("a node{who} has the home `{}` already", home.display()));
    Err(Failure::Declined(told.hint("`frith status` shows it; `frith down` ends it")))
}

/// A restore that was cut short left a store without its name. An empty one begun in its place would hide that.
fn require_no_half_restore(home: &Path) -> Result<(), Failure> {
    let begun = home.join(BEGUN);
    if home.join("store.redb").exists() || !begun.exists() {
        return Ok(());
    }
    let told = Told::new(format!("a restore was cut short, and left `{}`", begun.display()));
    Err(Failure::Broken(told.hint("run `frith restore` again; or take that file away to begin anew")))
}

fn key(home: &Path) -> Result<MachineKey, Failure> {
    let path = home.join("key");
    let failed = |error: frith_net::error::KeyError| Failure::Broken(Told { hint: error.hint(), ..Told::of(&error) });
    if let Some(key) = MachineKey::load(&path).map_err(failed)? {
        return Ok(key);
    }
    let store = home.join("store.redb");
    if store.exists() {
        let told = Told::new(format!("the machine key `{}` is gone, and the store is of the machine whose key it was", path.display()));
        return Err(Failure::Broken(
            told.hint(format!("put the key back from a backup, or move `{}` away to begin anew", store.display())),
        ));
    }
    let mut secret = [0; KEY_LENGTH];
    getrandom::fill(&mut secret).map_err(|error| Failure::Broken(Told::because("no key can be made", &error)))?;
    MachineKey::create(&path, &secret).map_err(failed)
}

/// How far the node is.
#[derive(Clone)]
enum Phase {
    /// It opens its store.
    Starting,
    /// It answers.
    Up(Box<Node>),
    /// It did not start, for this reason.
    Failed(Failed),
}

/// The node to callers that may come before it is up.
struct Front(watch::Receiver<Phase>);

impl Answers for Front {
    fn call(&self, peer: Option<u32>, envelope: Envelope, progress: mpsc::Sender<Progress>) -> Answering<'_> {
        Box::pin(async move {
            let node = self.node(&progress).await?;
            node.answer(peer, envelope, progress).await
        })
    }
}

impl Front {
    async fn node(&self, progress: &mpsc::Sender<Progress>) -> Result<Node, Failed> {
        let mut phase = self.0.clone();
        loop {
            match &*phase.borrow_and_update() {
                Phase::Up(node) => return Ok((**node).clone()),
                Phase::Failed(failed) => return Err(failed.clone()),
                Phase::Starting => {}
            }
            // A caller that does not read its progress waits all the same.
            let _ = progress.try_send(Progress { what: "waiting for the node to open its store".into(), part: None });
            if phase.changed().await.is_err() {
                return Err(Failed::Broken { facts: vec!["the node ended before it was up".into()], hint: None });
            }
        }
    }
}

impl Ready<'_> {
    fn serve(self, detached: bool) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Broken(Told::because("the node has no threads", &error)))?;
        let Self { home, gate, key, config } = self;
        let outcome = runtime.block_on(live(home, gate, key, config, detached));
        // What still runs has lost its node; the store was closed by it.
        runtime.shutdown_timeout(Duration::from_secs(2));
        outcome
    }
}

async fn live(home: &Path, gate: Gate, key: MachineKey, config: Arc<dyn Configured>, detached: bool) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Broken(Told::because("the socket cannot be served", &error));
    let mut ends = Ends::listen().map_err(failed)?;
    let (phase, phases) = watch::channel(Phase::Starting);
    let (close, closed) = watch::channel(());
    let socket = gate.socket().to_owned();
    let mut gate = gate.serve(Arc::new(Front(phases)), closed).map_err(failed)?;
    let outcome = match begin_node(home, key, config).await {
        Ok(node) => {
            tracing::info!(machine = %node.here(), socket = %socket.display(), version = env!("CARGO_PKG_VERSION"), "the node is up");
            phase.send_replace(Phase::Up(Box::new(node.clone())));
            service::notify(&format!("READY=1\nSTATUS=machine {}", node.here().short()));
            if detached {
                tell(&Started::Up);
            } else {
                progress::say(&format!("the node is up: machine {}, socket {}", node.here().short(), socket.display()));
            }
            until_the_end(&node, &mut ends, &mut gate).await;
            Ok(())
        }
        Err(told) => {
            tracing::error!("the node did not start: {}", told.facts.join(": "));
            phase.send_replace(Phase::Failed(Failed::Broken { facts: told.facts.clone(), hint: told.hint.clone() }));
            Err(Failure::Broken(told))
        }
    };
    drop(close);
    if !gate.is_finished() {
        // It ends by itself within its limit.
        let _ = gate.await;
    }
    outcome
}

async fn begin_node(home: &Path, key: MachineKey, config: Arc<dyn Configured>) -> Result<Node, Told> {
    let told = real::Told {
        home,
        user: &user_name(),
        machine_name: &start::machine_name(),
        key,
        runtime: tokio::runtime::Handle::current(),
        fault: environment::read("FRITH_FAULT").and_then(|point| point.into_string().ok()),
        clock: environment::clock(),
        notices: environment::read("FRITH_NOTICES").map(Into::into),
    };
    let env = real::env(told).map_err(|error| Told::because("the system does not tell what the node needs", &error))?;
    Node::start(env, config).await.map_err(|error| {
        let hint = if let StartError::Store(error) = &error { error.hint() } else { None };
        Told { hint, ..Told::of(&error) }
    })
}

async fn until_the_end(node: &Node, ends: &mut Ends, gate: &mut JoinHandle<Watched>) {
    let asked = node.asked_down();
    tokio::pin!(asked);
    let why = tokio::select! {
        biased;
        () = &mut asked => "asked to",
        signal = ends.next() => signal,
        _ = gate => "its home is gone",
    };
    service::notify("STOPPING=1");
    let agents = node.stop().await;
    tracing::info!(why, agents, "the node ends");
    if why != "asked to" && agents > 0 {
        progress::say(&format!("{agents} agents were stopped"));
    }
}

/// The signals that end a node.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl Ends {
    fn listen() -> io::Result<Self> {
        let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())?, hang_up })
    }

    async fn next(&mut self) -> &'static str {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.terminate.recv() => "terminated",
            _ = self.interrupt.recv() => "interrupted",
            _ = hang_up => "hung up",
        }
    }
}

/// Whether this process was started to outlive its terminal, as `nohup` does it: that stays so.
#[cfg(target_os = "linux")]
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Whether this process was started to outlive its terminal, as `nohup` does it: that stays so.
#[cfg(target_os = "macos")]
fn ignores_hang_up() -> bool {
    use nix::libc::{SIG_IGN, SIGHUP, sigaction};
    let mut now = std::mem::MaybeUninit::<sigaction>::uninit();
    #[expect(unsafe_code, reason = "no safe call tells how a signal is handled without changing it")]
    // SAFETY: without a new action the call only writes the present one, and a result of 0 says that it did.
    unsafe {
        nix::libc::sigaction(SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0 && now.assume_init().sa_sigaction == SIG_IGN
    }
}

fn user_name() -> String {
    let number = rustix::process::geteuid().as_raw();
    let named = environment::read("USER").or_else(|| environment::read("LOGNAME")).and_then(|name| name.into_string().ok());
    named.or_else(|| user_in(&std::fs::read_to_string("/etc/passwd").ok()?, number)).unwrap_or_else(|| format!("user {number}"))
}

/// The name of a user in the system's list of them: name, password, number, and more, with colons between.
fn user_in(list: &str, number: u32) -> Option<String> {
    let mut rows = list.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let row = rows.find(|row| row.get(2).and_then(|text| text.parse().ok()) == Some(number))?;
    row.first().map(|name| (*name).to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let list = "# users\nroot:x:0:0::/root:/bin/sh\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n";
        assert_eq!(user_in(list, 1000).as_deref(), Some("ada"));
        assert_eq!(user_in(list, 1), None);
    }

    #[test]
    fn what_keeps_a_node_from_starting_comes_to_whoever_started_it() {
        let told = Told::new("the disk is full").hint("free some space");
        let word = word_for(&Failure::Broken(told.clone()));
        let bytes = postcard::to_stdvec(&word).unwrap();
        assert_eq!(postcard::from_bytes::<Started>(&bytes).unwrap(), Started::Failed { facts: told.facts, hint: told.hint });
        assert_eq!(word_for(&Failure::Declined(Told::new("another"))), Started::Taken);
    }
}
