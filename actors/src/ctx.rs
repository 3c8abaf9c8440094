//! What every actor of a node shares: the world, the store, the configuration, and which agents run here.

use std::sync::Arc;

use frith_store::id::OpenToken;
use tokio::sync::Notify;

use crate::{
    config::Configured,
    db::Db,
    env::{Env, world::Purpose},
    handlers::{agents::Eyes, task::Fresh},
    roster::Roster,
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
    pub roster: Roster,
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
        Eyes { now: self.env.clock.now(), idle_ms, seen: self.roster.sightings() }
    }

    /// Randomness for one write to a task.
    pub fn fresh(&self) -> Fresh {
        Fresh { id: self.fresh_id(), token: OpenToken::from_random(self.env.random.bytes(Purpose::Tokens)) }
    }
}
