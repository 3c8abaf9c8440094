//! The operations: what may be asked of a node, each once.
//!
//! A request is the command's arguments, the tool's schema and the frame on the wire; its doc comments are the help.
//! Who asks is never a field: that travels beside the request and is established by the node.

pub mod agents;
pub mod attachment;
pub mod fork;
pub mod memory;
pub mod node;
pub mod piece;
pub mod site;
pub mod skill;
pub mod task;
pub mod workspace;
pub mod worktree;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A request, and what answers it.
pub trait Request: Serialize + DeserializeOwned + Into<Operation> {
    /// What answers it.
    type Reply: Serialize + DeserializeOwned + schemars::JsonSchema;
    /// Its name, as in `task.next`.
    const NAME: &'static str;
}

/// What an operation does to the world, told honestly to whoever plans to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds something; again adds another.
    Adds,
    /// Changes something; again changes nothing more.
    Updates,
    /// Takes something away, or cannot be taken back.
    Destroys,
}

/// Who may ask for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Askers {
    /// People, and agents within their own place.
    Everyone,
    /// People, and agents of the supervisor workspace.
    Overseers,
    /// People only.
    People,
}

/// Whose tool an operation is. What may be asked is more than what is worth a model's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Nobody's: it is a command alone.
    Nobody,
    /// Every agent's.
    Agents,
    /// Every agent's, where worktrees are enabled.
    Worktrees,
    /// That of agents that work in a place.
    Placed,
    /// That of the supervisor workspace's agents.
    Supervisors,
    /// That of agents that work in a place, and of the supervisor workspace's.
    PlacedAndSupervisors,
}

/// One row of the table of operations.
pub struct OperationInfo {
    /// Its name, as in `task.next`.
    pub name: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// Who may ask for it.
    pub askers: Askers,
    /// Whose tool it is.
    pub offered: Offered,
    /// Reads its request out of the arguments of a tool.
    pub from_arguments: fn(serde_json::Value) -> Result<Operation, serde_json::Error>,
    /// Its reply, from the wire, as it is told in JSON.
    pub reply_as_json: fn(&[u8]) -> Result<serde_json::Value, UnreadableReply>,
    /// The schema of its request.
    pub request_schema: fn() -> schemars::Schema,
    /// The schema of its reply.
    pub reply_schema: fn() -> schemars::Schema,
}

/// A reply could not be read, or not be told in JSON.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableReply {
    /// It is not what this operation answers.
    #[error("the node's reply cannot be read")]
    Wire(#[from] postcard::Error),
    /// It has no form in JSON.
    #[error("the node's reply cannot be told in JSON")]
    Json(#[from] serde_json::Error),
}

fn reply_as_json<T: Serialize + DeserializeOwned>(reply: &[u8]) -> Result<serde_json::Value, UnreadableReply> {
    Ok(serde_json::to_value(postcard::from_bytes::<T>(reply)?)?)
}

/// The operation of this name.
pub fn operation(name: &str) -> Option<&'static OperationInfo> {
    TABLE.iter().find(|info| info.name == name)
}

macro_rules! operations {
    ($($name:literal $variant:ident($request:ty) -> $reply:ty, $effect:ident, $askers:ident, $offered:ident;)+) => {
        /// Any request. Grows at the end only: a variant's place in this list is its number on the wire.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is documented by the request it holds")]
        pub enum Operation { $($variant($request)),+ }

        impl Operation {
            /// Its row in the table.
            pub fn info(&self) -> &'static OperationInfo {
                let name = match self { $(Self::$variant(_) => $name),+ };
                operation(name).expect("the table and the enum are written by one macro")
            }
        }

        /// Every operation.
        pub static TABLE: &[OperationInfo] = &[$(OperationInfo {
            name: $name,
            effect: Effect::$effect,
            askers: Askers::$askers,
            offered: Offered::$offered,
            from_arguments: |arguments| serde_json::from_value::<$request>(arguments).map(Operation::from),
            reply_as_json: reply_as_json::<$reply>,
            request_schema: || schemars::schema_for!($request),
            reply_schema: || schemars::schema_for!($reply),
        }),+];

        $(
            impl From<$request> for Operation {
                fn from(request: $request) -> Self { Self::$variant(request) }
            }
            impl Request for $request {
                type Reply = $reply;
                const NAME: &'static str = $name;
            }
        )+
    };
}

operations! {
    "node.status" NodeStatus(node::Status) -> node::NodeStatus, Reads, Everyone, Nobody;
    "node.down" NodeDown(node::Down) -> node::Stopped, Destroys, People, Nobody;
    "workspace.create" WorkspaceCreate(workspace::Create) -> workspace::PlaceInfo, Adds, Overseers, Nobody;
    "workspace.list" WorkspaceList(workspace::List) -> workspace::Places, Reads, Everyone, Supervisors;
    "workspace.get" WorkspaceShow(workspace::Show) -> workspace::PlaceInfo, Reads, Everyone, Supervisors;
    "workspace.set" WorkspaceSet(workspace::Set) -> workspace::PlaceInfo, Updates, People, Nobody;
    "workspace.archive" WorkspaceArchive(workspace::Archive) -> workspace::PlaceInfo, Updates, People, Nobody;
    "workspace.unarchive" WorkspaceUnarchive(workspace::Unarchive) -> workspace::PlaceInfo, Updates, People, Nobody;
    "workspace.delete" WorkspaceDelete(workspace::Delete) -> workspace::Deleted, Destroys, People, Nobody;
    "workspace.fork" ForkCreate(fork::Create) -> workspace::PlaceInfo, Adds, Overseers, Supervisors;
    "workspace.spinUp" ForkSpinUp(fork::SpinUp) -> fork::SpunUp, Adds, Overseers, Nobody;
    "workspace.mergeFork" ForkMerge(fork::Merge) -> fork::Merged, Destroys, Overseers, Supervisors;
    "task.create" TaskAdd(task::Add) -> task::TaskInfo, Adds, Everyone, PlacedAndSupervisors;
    "task.list" TaskList(task::List) -> task::Tasks, Reads, Everyone, PlacedAndSupervisors;
    "task.get" TaskShow(task::Show) -> task::TaskDetail, Reads, Everyone, PlacedAndSupervisors;
    "task.edit" TaskEdit(task::Edit) -> task::TaskInfo, Updates, Everyone, Nobody;
    "task.updateStatus" TaskStatus(task::SetStatus) -> task::TaskInfo, Updates, Everyone, PlacedAndSupervisors;
    "task.move" TaskMove(task::Move) -> task::MovedTasks, Updates, Overseers, Supervisors;
    "task.reply" TaskReply(task::Reply) -> task::Replied, Adds, Everyone, PlacedAndSupervisors;
    "task.next" TaskNext(task::Next) -> task::TaskDetail, Updates, Everyone, Placed;
    "agent.launch" AgentLaunch(agents::Launch) -> agents::AgentInfo, Adds, Overseers, Supervisors;
    "agent.stop" AgentStop(agents::Stop) -> agents::AgentInfo, Destroys, Overseers, Supervisors;
    "agent.attach" AgentAttach(agents::Attach) -> agents::Attached, Reads, People, Nobody;
    "agents.list" AgentSessions(agents::Sessions) -> agents::Agents, Reads, Everyone, Agents;
    "agent.show" AgentShow(agents::Show) -> agents::AgentInfo, Reads, Everyone, Agents;
    "whoami" AgentWhoami(agents::Whoami) -> agents::Identity, Reads, Everyone, Agents;
    "memory.list" MemoryList(memory::List) -> memory::Notes, Reads, Everyone, Placed;
    "memory.load" MemoryLoad(memory::Load) -> memory::Note, Reads, Everyone, Placed;
    "memory.save" MemorySave(memory::Save) -> memory::Saved, Updates, Everyone, Placed;
    "memory.delete" MemoryDelete(memory::Delete) -> memory::Saved, Destroys, Everyone, Placed;
    "node.backup" NodeBackup(node::Backup) -> node::BackedUp, Adds, People, Nobody;
    "node.check" NodeCheck(node::Check) -> node::Checked, Reads, People, Nobody;
    "attachment.send" AttachmentSend(attachment::Send) -> attachment::Received, Updates, Everyone, Nobody;
    "task.attach" TaskAttach(attachment::Attach) -> attachment::Attached, Updates, Everyone, Nobody;
    "attachment.get" AttachmentGet(attachment::Get) -> attachment::Part, Reads, Everyone, Placed;
    "attachment.remove" AttachmentRemove(attachment::Remove) -> attachment::Removed, Destroys, People, Nobody;
    "task.delete" TaskDelete(task::Delete) -> task::DeletedTasks, Destroys, People, Nobody;
    "task.restore" TaskRestore(task::Restore) -> task::RestoredTasks, Updates, People, Nobody;
    "workspace.stats" WorkspaceStats(workspace::Stats) -> workspace::PlaceStats, Reads, Everyone, Nobody;
    "workspace.allow" WorkspaceAllow(workspace::Allow) -> workspace::PlaceInfo, Updates, People, Nobody;
    "agent.unsend" AgentUnsend(agents::Unsend) -> agents::Unsent, Destroys, People, Nobody;
    "skill.add" SkillAdd(skill::Add) -> skill::Added, Updates, People, Nobody;
    "skill.list" SkillList(skill::List) -> skill::Skills, Reads, Everyone, Nobody;
    "skill.load" SkillLoad(skill::Load) -> skill::Loaded, Reads, Everyone, Placed;
    "skill.on" SkillOn(skill::On) -> skill::Switched, Updates, People, Nobody;
    "skill.off" SkillOff(skill::Off) -> skill::Switched, Updates, People, Nobody;
    "skill.remove" SkillRemove(skill::Remove) -> skill::Removed, Destroys, People, Nobody;
    "site.add" SiteAdd(site::Add) -> site::SiteChange, Updates, People, Nobody;
    "site.list" SiteList(site::List) -> site::Sites, Reads, Everyone, Placed;
    "site.remove" SiteRemove(site::Remove) -> site::SiteChange, Destroys, People, Nobody;
    "agent.send" AgentSend(agents::Send) -> agents::SentMail, Adds, Everyone, Agents;
    "agent.inbox" AgentInbox(agents::Inbox) -> agents::Letters, Updates, Everyone, Agents;
    "agent.event" AgentEvent(agents::Event) -> agents::Noted, Updates, Everyone, Nobody;
    "agent.link" AgentLink(agents::Link) -> agents::Identity, Updates, Everyone, Nobody;
    "agent.statusSet" AgentSetStatus(agents::SetStatus) -> agents::StatusSet, Updates, Everyone, Agents;
    "agent.offer" AgentOffer(agents::Offer) -> agents::Offers, Reads, Everyone, Nobody;
    "worktree.add" WorktreeAdd(worktree::Add) -> worktree::Added, Adds, Everyone, Worktrees;
    "worktree.adopt" WorktreeAdopt(worktree::Adopt) -> worktree::Adopted, Updates, Everyone, Worktrees;
    "worktree.claim" WorktreeClaim(worktree::Claim) -> worktree::Adopted, Updates, Everyone, Nobody;
    "worktree.list" WorktreeList(worktree::List) -> worktree::Worktrees, Reads, Everyone, Worktrees;
    "worktree.remove" WorktreeRemove(worktree::Remove) -> worktree::RemovedWorktree, Destroys, Everyone, Worktrees;
    "worktree.gc" WorktreeGc(worktree::Gc) -> worktree::Swept, Destroys, Everyone, Nobody;
    "worktree.clean" WorktreeClean(worktree::Clean) -> worktree::Cleaned, Destroys, Everyone, Nobody;
    "worktree.whoami" WorktreeWhoami(worktree::Whoami) -> worktree::InWorktree, Reads, Everyone, Nobody;
    "worktree.forHost" WorktreeForHost(worktree::ForHost) -> worktree::MadeForHost, Adds, Everyone, Nobody;
    "worktree.endForHost" WorktreeEndForHost(worktree::EndForHost) -> worktree::RemovedWorktree, Destroys, Everyone, Nobody;
}

/// Reads a path argument whatever bytes it has.
pub(crate) fn path_argument() -> impl clap::builder::TypedValueParser<Value = frith_store::text::PathText> {
    use clap::builder::TypedValueParser as _;
    clap::builder::OsStringValueParser::new().map(|path| frith_store::text::PathText::from(std::path::Path::new(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_operations_differ_only_in_dots_and_underscores() {
        let mut names: Vec<_> = TABLE.iter().map(|info| info.name.replace('.', "_")).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_operation_describes_itself_and_each_of_its_fields() {
        for info in TABLE {
            let schema = (info.request_schema)();
            let schema = schema.as_object().unwrap();
            assert!(schema.get("description").is_some(), "{} says nothing of itself", info.name);
            for (field, value) in schema.get("properties").and_then(|p| p.as_object()).into_iter().flatten() {
                assert!(value.get("description").is_some(), "{}: `{field}` says nothing of itself", info.name);
            }
        }
    }
}
