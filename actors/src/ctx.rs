//! What every actor of a node shares: the world, the store, the configuration, and which agents run here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use frith_store::{
    id::{AgentId, OpenToken},
    model::ProcessRef,
};

use tokio::sync::{Notify, watch};

use crate::{
    caller::RunningAgent,
    config::Configured,
    db::Db,
    env::{Env, world::Purpose},
    handlers::{agents::Eyes, task::Fresh},
};

/// What every actor of a node shares.
#[derive(Clone)]
pub struct Ctx {
    /// The world.
    pub env: Env,
    /// The store.
    pub db: Db,
    /// The configuration, as it is whenever it is asked.
    pub config: Arc<dyn Configured>,
    /// The agents of this machine that have not ended.
    pub running: Running,
    /// Told when a message is held back, or not any more.
    pub held: Arc<Notify>,
}

impl Ctx {
    /// 16 random bytes for an id.
    pub fn fresh_id(&self) -> [u8; 16] {
        self.env.random.bytes(Purpose::Ids)
    }

    /// By what agents are looked at now.
    pub fn eyes(&self) -> Eyes {
        let idle_ms = u64::try_from(self.config.now().idle.as_millis()).unwrap_or(u64::MAX);
        Eyes { now: self.env.clock.now(), idle_ms, seen: BTreeMap::new() }
    }

    /// Randomness for one write to a task.
    pub fn fresh(&self) -> Fresh {
        Fresh { id: self.fresh_id(), token: OpenToken::from_random(self.env.random.bytes(Purpose::Tokens)) }
    }
}

/// The agents of this machine that have not ended, by which callers are told apart.
#[derive(Clone)]
pub struct Running {
    agents: Arc<Mutex<BTreeMap<AgentId, RunningAgent>>>,
    ends: watch::Sender<()>,
}

impl Default for Running {
    fn default() -> Self {
        Self { agents: Arc::default(), ends: watch::Sender::new(()) }
    }
}

impl Running {
    /// An agent is being started.
    pub fn insert(&self, agent: RunningAgent) {
        self.lock().insert(agent.id, agent);
    }

    /// An agent's process runs now.
    pub fn started(&self, agent: AgentId, process: ProcessRef) {
        if let Some(agent) = self.lock().get_mut(&agent) {
            agent.process = Some(process);
        }
    }

    /// Whether an agent's process runs.
    pub fn is_running(&self, agent: AgentId) -> bool {
        self.lock().get(&agent).is_some_and(|agent| agent.process.is_some())
    }

    /// An agent's process has ended.
    pub fn remove(&self, agent: AgentId) {
        self.lock().remove(&agent);
    }

    /// An end is on disk.
    pub fn end_recorded(&self) {
        self.ends.send_replace(());
    }

    /// Changes whenever an end is on disk.
    pub fn ends(&self) -> watch::Receiver<()> {
        self.ends.subscribe()
    }

    /// All of them.
    pub fn all(&self) -> Vec<RunningAgent> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<AgentId, RunningAgent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
