//! Fresh contexts: which tasks ask for one, and for which of them an agent's context was cleared.
//!
//! That it was is written down before the task is told, so it happens once for a task. Nothing here types.

use frith_store::{
    error::{Failure, StoreError},
    id::{AgentId, TaskId},
    model::{Place, Task},
    tx::Tx,
    view::View,
};

/// What the keys of the marks begin with.
const CLEARED: &[u8] = b"cleared/";

fn key(agent: AgentId, task: TaskId) -> Vec<u8> {
    [CLEARED, agent.as_bytes(), task.as_bytes()].concat()
}

/// Whether a task asks for a fresh context: itself, or because its place's tasks do.
///
/// # Errors
/// The rows cannot be read.
pub fn is_wanted(view: &View<'_>, place: &Place, task: &Task) -> Result<bool, Failure> {
    match task.clear_context {
        Some(wants) => Ok(wants),
        None => Ok(view.effective_settings(place)?.clear_context),
    }
}

/// Whether an agent's context was cleared for a task.
///
/// # Errors
/// The rows cannot be read.
pub fn was_made(view: &View<'_>, agent: AgentId, task: TaskId) -> Result<bool, StoreError> {
    Ok(view.step(&key(agent, task))?.is_some())
}

/// Writes down that an agent's context was cleared for a task.
///
/// # Errors
/// The row cannot be written.
pub fn note_cleared(tx: &mut Tx<'_>, agent: AgentId, task: TaskId) -> Result<(), StoreError> {
    tx.set_step(&key(agent, task), &[])
}

/// Forgets for which tasks the context of an agent was cleared that has ended.
///
/// # Errors
/// The rows cannot be read or removed.
pub fn forget(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    for (key, _) in tx.steps_of(&[CLEARED, agent.as_bytes()].concat())? {
        tx.clear_step(&key)?;
    }
    Ok(())
}
