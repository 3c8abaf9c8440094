//! `status`: what the node says of itself, and what only this machine can say of the node.

use frith_actors::api::node::{NodeStatus, Status};
use frith_store::text::PathText;
use serde::Serialize;

use crate::{ask::Run, failure::Failure, service};

/// What is shown of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// What it says of itself.
    #[serde(flatten)]
    pub node: NodeStatus,
    /// The definition of the service that keeps it running, if it is installed as one.
    pub service: Option<PathText>,
}

/// Asks the node, which is started when none runs.
///
/// # Errors
/// It could not be started or asked.
pub fn ask(run: &Run) -> Result<Shown, Failure> {
    let node = run.ask(Status {})?;
    Ok(Shown { node, service: service::installed(&run.home).map(|file| file.as_path().into()) })
}
