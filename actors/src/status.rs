//! What a node says of itself.

use std::collections::BTreeSet;

use frith_store::{error::StoreError, id::AgentId, open::Store, text::PathText};
use ractor::rpc::CallResult;

use crate::{
    api::{
        agents::{AgentInfo, Sessions},
        node::{Checked, NodeStatus, Peer, Stopped},
    },
    call::Failed,
    caller::Caller,
    env::world::blocking,
    handlers,
    machine::MachineMsg,
    node::Node,
    terminals::{self, Terminals},
};

/// Version, machine, agents, store, troubles, and how much mail the one who asks has not read.
///
/// # Errors
/// The store broke.
pub async fn status(node: &Node, caller: &Caller) -> Result<NodeStatus, Failed> {
    let (ctx, here, caller) = (node.ctx(), node.here(), caller.clone());
    let eyes = ctx.eyes();
    let (agents, places, name, team, peers, unsent, unread) = ctx
        .db
        .read(move |view| {
            let agents = handlers::agents::list(view, &Sessions::default(), &eyes)?.agents;
            let places = view.places()?.into_iter().filter(frith_store::model::Place::is_live).count() as u64;
            let members = view.members()?.into_iter().filter(|machine| machine.id != here);
            let peers = members.map(|machine| Peer { machine: machine.id, name: machine.name }).collect();
            let (name, unsent) = (view.machine(here)?.map(|machine| machine.name).unwrap_or_default(), view.held_messages()?.len() as u64);
            // Who cannot be told has no mailbox, and is told of the node all the same.
            let own = handlers::mail::own_mailbox(view, &caller).ok();
            let unread = own.map(|mailbox| view.mail_counts(&mailbox.into())).transpose()?.map_or(0, |counts| counts.unread());
            Ok((agents, places, name, view.team()?, peers, unsent, unread))
        })
        .await?;
    let stats = ctx.db.store().stats()?;
    let troubles = match node.machine().call(MachineMsg::Troubles, None).await {
        Ok(CallResult::Success(troubles)) => troubles,
        _ => vec!["the machine actor does not answer".to_owned()],
    };
    let (schedules, next_run) = node.next_slot().await;
    let facts = ctx.env.itself.facts();
    Ok(NodeStatus {
        machine: here,
        name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: facts.pid,
        started: node.started(),
        home: PathText::from(&*ctx.env.home),
        binary_replaced: facts.binary_replaced,
        root: facts.root,
        agents: with_viewers(node, agents).await,
        max_agents: u32::try_from(ctx.config.now().max_agents).unwrap_or(u32::MAX),
        places,
        documents: stats.documents,
        store_bytes: stats.bytes,
        troubles,
        team,
        peers,
        schedules,
        next_run,
        store_given_back: stats.given_back,
        unsent,
        unread,
    })
}

/// Checks every invariant of the store.
///
/// # Errors
/// The store broke.
pub async fn check(node: &Node) -> Result<Checked, Failed> {
    let (db, blocked) = (node.ctx().db.clone(), node.ctx().env.blocking.clone());
    let checked = blocking(&blocked, move || {
        let found = db.store().check()?.into_iter().map(|violation| violation.found);
        Ok::<_, StoreError>((db.store().stats()?.documents, found.chain(damaged_files(db.store())?).collect()))
    });
    let (documents, found) = checked.await.map_err(Failed::from_work)??;
    Ok(Checked { documents, found })
}

/// The long texts and files that are damaged, and the attachments that are not there.
fn damaged_files(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let mut there = BTreeSet::new();
    for hash in store.blobs().list()? {
        match store.blobs().get(hash) {
            Ok(_) => drop(there.insert(hash)),
            Err(StoreError::Blob { .. }) => found.push(format!("the text or file {hash} is damaged: put it back from a backup")),
            Err(error) => return Err(error),
        }
    }
    store.read(|view| {
        for place in view.places()? {
            for task in view.all_tasks(place.id)? {
                let gone = view.attachments(task)?.into_iter().filter(|file| !there.contains(&file.hash));
                found.extend(gone.map(|file| format!("attachment `{}` of task {} is gone or damaged", file.name, task.short())));
            }
        }
        Ok(found)
    })
}

/// Stops every agent, then lets the node end.
///
/// # Errors
/// None yet; the signature is that of every answer.
pub async fn down(node: &Node) -> Result<Stopped, Failed> {
    let agents = node.stop_agents().await;
    node.ask_down();
    Ok(Stopped { pid: node.ctx().env.itself.facts().pid, agents })
}

/// One agent, with how many people watch it.
///
/// # Errors
/// It is not known.
pub async fn agent(node: &Node, id: AgentId) -> Result<AgentInfo, Failed> {
    let named = frith_store::id::AgentRef(id.to_string());
    let eyes = node.ctx().eyes();
    let info = node.ctx().db.read(move |view| handlers::agents::whole(view, handlers::agents::find(view, &named)?, &eyes)).await?;
    Ok(with_viewers(node, vec![info]).await.swap_remove(0))
}

/// The same agents, each with how many people watch it and what its screen says.
pub async fn with_viewers(node: &Node, mut agents: Vec<AgentInfo>) -> Vec<AgentInfo> {
    let Some(terminals) = open_terminals(node).await else { return agents };
    for info in &mut agents {
        if let Some(terminal) = terminals.get(info.agent.id) {
            info.attached = terminals::attached(&terminal).await;
            let on_screen = terminals.seen(info.agent.id).filter(|_| info.agent.ended.is_none()).and_then(|seen| seen.borrow().attention);
            info.attention = on_screen.or(info.attention);
        }
    }
    agents
}

/// The terminals of this machine; none once the node ends.
pub async fn open_terminals(node: &Node) -> Option<Terminals> {
    match node.machine().call(MachineMsg::Terminals, None).await {
        Ok(CallResult::Success(terminals)) => Some(terminals),
        _ => None,
    }
}
