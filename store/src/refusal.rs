//! Refusals: what a person or an agent is told when the answer is no.
//!
//! A refusal is a fact, what stands in the way, and beside it what would make the same request succeed. It is part of
//! the interface: its code and its data are stable, its sentence is for people.

mod hint;
mod hosts;
mod mail;
mod shared;
mod what;
mod worktree;

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, MIN_PREFIX, MachineId, MessageId, PlaceId, TaskId},
    model::Status,
    schedule::ScheduleFault,
    text::PathText,
    time::Timestamp,
};

pub use mail::{INBOX_MOST, MAIL_MOST};
pub use shared::{
    ATTACHMENT_MOST, ATTACHMENTS_MOST, AttachmentFault, NOTE_MOST, NOTE_NAME_MOST, NoteNameFault, SITE_NOTE_MOST, SKILL_FILE_MOST,
    SKILL_FILES_MOST, SkillFault, UrlFault, VersionNamed,
};
pub use what::What;
pub use worktree::{RootFault, TaskFault, WorktreeRefusal};

/// The most characters a place's name may have.
pub const NAME_MOST: usize = 128;
/// The most characters a task's title may have.
pub const TITLE_MOST: usize = 255;
/// The most bytes a text of any kind may have in one request.
pub const TEXT_MOST: usize = 1024 * 1024;

/// The most bytes a permission rule may have.
pub const RULE_MOST: usize = 1024;

/// The most characters that an agent may say of itself.
pub const STATUS_MOST: usize = 120;

/// A task that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskInTheWay {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
}

/// A place that stands in the way, or is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceNamed {
    /// Its id.
    pub id: PlaceId,
    /// Its name.
    pub name: String,
}

/// An agent that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentNamed {
    /// Its id.
    pub id: AgentId,
    /// The host it is a session of.
    pub host: String,
}

/// Why a name is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NameFault {
    /// Nothing but white space.
    Blank,
    /// More than [`NAME_MOST`] characters.
    TooLong,
    /// Something else than letters and digits joined by single hyphens.
    NotKebab,
    /// Kept for the workspace of the agent that watches the others.
    Reserved,
    /// It reads like an id, so a command could not tell which is meant.
    LooksLikeAnId,
}

/// Why a text is no permission rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleFault {
    /// Nothing but white space.
    Blank,
    /// More than [`RULE_MOST`] bytes.
    TooLong,
    /// It has characters that cannot be seen.
    Hidden,
    /// It is neither a tool's name nor one with brackets behind it.
    Shape,
}

impl std::fmt::Display for RuleFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blank => f.write_str("it is empty"),
            Self::TooLong => write!(f, "it has more than {RULE_MOST} bytes"),
            Self::Hidden => f.write_str("it has characters that cannot be seen"),
            Self::Shape => f.write_str("it is no tool's name, with or without what it may do in brackets"),
        }
    }
}

/// Why a folder cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FolderFault {
    /// It is not there.
    Gone,
    /// It is a file.
    NotAFolder,
    /// It cannot be read.
    Unreadable,
    /// It is not absolute.
    Relative,
    /// It lies inside frith's own folder.
    Ours,
    /// Another place has it on this machine.
    Taken(PlaceNamed),
}

/// An answer of no, with everything that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum Refusal {
    /// The id has too few characters.
    #[error("`{given}` is too short to name {}: at least {MIN_PREFIX} characters are needed", what.with_article())]
    TooShort { what: What, given: String },
    /// No such thing is known.
    #[error("no {what} `{given}` is known")]
    Unknown { what: What, given: String },
    /// Several things are meant.
    #[error("`{given}` names {} {what}s: {}", ids.len(), ids.join(", "))]
    Ambiguous { what: What, given: String, ids: Vec<String> },
    /// No place was named and the current folder belongs to none.
    #[error("no place was named, and no place has the folder `{folder}`")]
    NoPlaceHere { folder: PathText },
    /// The name cannot be a place's.
    #[error("{}", name_fault(name, *fault))]
    BadName { name: String, fault: NameFault },
    /// A place has that name.
    #[error("the name `{}` is taken by place {}", place.name, place.id.short())]
    NameTaken { place: PlaceNamed },
    /// The place is read-only.
    #[error("`{}` is archived and read-only", place.name)]
    Archived { place: PlaceNamed },
    /// The place is not archived.
    #[error("`{}` is not archived", place.name)]
    NotArchived { place: PlaceNamed },
    /// The place is in the trash.
    #[error("`{}` was deleted and is in the trash", place.name)]
    InTrash { place: PlaceNamed },
    /// The fork was merged before.
    #[error("fork `{}` was merged into `{}`", fork.name, parent.name)]
    AlreadyMerged { fork: PlaceNamed, parent: PlaceNamed },
    /// Forks cannot be forked.
    #[error("`{}` is itself a fork of `{}`, and forks cannot be forked", fork.name, parent.name)]
    ForkOfFork { fork: PlaceNamed, parent: PlaceNamed },
    /// The supervisor workspace is special.
    #[error("the supervisor workspace cannot be {verb}")]
    Supervisor { verb: String },
    /// A fork is neither deleted nor archived.
    #[error("fork `{}` cannot be {verb}: merging is how a fork ends", fork.name)]
    ForkStays { fork: PlaceNamed, verb: String },
    /// A workspace with forks is neither deleted nor archived.
    #[error("`{}` cannot be {verb}: it has {} ({})", place.name, count(forks.len(), "fork"), names(forks))]
    HasForks { place: PlaceNamed, verb: String, forks: Vec<PlaceNamed> },
    /// A fork has no values of its own for these settings.
    #[error("`{}` inherits {} from `{}`", fork.name, settings.join(", "), parent.name)]
    Inherited { fork: PlaceNamed, parent: PlaceNamed, settings: Vec<String> },
    /// The folder cannot be a place's.
    #[error("{}", folder_fault(path, fault))]
    BadFolder { path: PathText, fault: FolderFault },
    /// A fork's folder is made by launching its agent.
    #[error("the folder of fork `{}` is made at its first launch and cannot be chosen", fork.name)]
    ForkFolder { fork: PlaceNamed },
    /// Nothing was asked to change.
    #[error("nothing to change was named")]
    NothingToChange,
    /// A task's title is blank.
    #[error("a task needs a title")]
    BlankTitle,
    /// A task's title is too long.
    #[error("the title has {length} characters, and {TITLE_MOST} is the most")]
    LongTitle { length: usize },
    /// A text that must say something is blank.
    #[error("the text is empty")]
    BlankText,
    /// A text is too long.
    #[error("the text has {length} bytes, and {TEXT_MOST} is the most")]
    LongText { length: usize },
    /// `cron` comes only with a schedule.
    #[error("`cron` is no status to set: a task gets it with a schedule and loses it with the schedule")]
    CronStatus,
    /// No task waits in the queue.
    #[error("no task waits in `{}`", place.name)]
    QueueEmpty { place: PlaceNamed },
    /// An agent has the task in hand.
    #[error("task {} `{}` is in the hands of agent {}", task.id.short(), task.title, agent.short())]
    TaskHeld { task: TaskInTheWay, agent: AgentId },
    /// The task's status rules spinning it up out.
    #[error("task {} `{}` is {}: only a task that is not started, or blocked and in nobody's hands, can be spun up", task.id.short(), task.title, task.status.word())]
    NotForSpinUp { task: TaskInTheWay },
    /// Only an agent's place has a queue it works.
    #[error("agent {} is {} in `{}` since {since}", agent.short(), if *running { "running" } else { "starting" }, place.name)]
    AgentRuns { place: PlaceNamed, agent: AgentId, running: bool, since: Timestamp, machine: MachineId },
    /// Nothing runs in the place.
    #[error("no agent runs in `{}`", place.name)]
    NoAgent { place: PlaceNamed },
    /// The agent ended.
    #[error("agent {} has ended", agent.short())]
    AgentEnded { agent: AgentId },
    /// The agent was not launched by frith, so there is no terminal.
    #[error("agent {} has no terminal of frith's", agent.short())]
    NoTerminal { agent: AgentId },
    /// The place's parent has no folder on the machine.
    #[error("`{}` has no folder on this machine", place.name)]
    NoFolder { place: PlaceNamed },
    /// No such kind is configured.
    #[error("this machine knows no kind `{kind}` of agent")]
    UnknownKind { kind: String, known: Vec<String> },
    /// The kind's command is not there.
    #[error("the command `{command}` of kind `{kind}` is not on the search path")]
    NoCommand { kind: String, command: String },
    /// The kind has no such model, effort or flag.
    #[error("kind `{kind}` has no {option} `{given}`")]
    UnknownOption { kind: String, option: String, given: String, known: Vec<String> },
    /// The machine runs as many agents as it may.
    #[error("this machine runs {}, and {limit} is the most", count(*running, "agent"))]
    TooManyAgents { running: usize, limit: usize },
    /// The fork's folder cannot be made or used.
    #[error("{fact}")]
    ForkFolderFault { code: String, fact: String, way_out: Option<String> },
    /// The repository commits a project file that speaks for another place.
    #[error("the repository commits `{file}` with an entry `frith` that is not this fork's: an agent there would speak as {speaks_as}")]
    ProjectFile { file: PathText, speaks_as: String },
    /// A project file of the folder cannot be read.
    #[error("`{file}` cannot be read as {format}: {fault}")]
    ProjectFileBroken { file: PathText, format: String, fault: String },
    /// The launch was stopped before the agent started.
    #[error("agent {} was stopped before it started", agent.short())]
    StoppedBeforeStart { agent: AgentId },
    /// The agent could not be started.
    #[error("the agent could not be started: {fact}")]
    NotStarted { fact: String },
    /// The place is no fork.
    #[error("`{}` is no fork", place.name)]
    NotAFork { place: PlaceNamed },
    /// Unfinished tasks stand in the way of the merge.
    #[error("fork `{}` has {}: {}", fork.name, count(tasks.len(), "unfinished task"), titles(tasks))]
    Unfinished { fork: PlaceNamed, tasks: Vec<TaskInTheWay> },
    /// A task was opened while the agent was being stopped.
    #[error("the agent of fork `{}` was stopped, but {} opened meanwhile: {}; the fork stays", fork.name, count(tasks.len(), "task"), titles(tasks))]
    OpenedMeanwhile { fork: PlaceNamed, tasks: Vec<TaskInTheWay> },
    /// A process that frith did not launch works in the fork's folder.
    #[error("process {pid} ({name}), which frith did not launch, works in the folder of fork `{}`", fork.name)]
    ForeignProcess { fork: PlaceNamed, pid: u32, name: String },
    /// The agent did not end in time.
    #[error("agent {} of `{}` is still stopping", agent.short(), place.name)]
    StillStopping { place: PlaceNamed, agent: AgentId },
    /// A launch or a merge of the place is under way.
    #[error("`{}` is busy: {what}", place.name)]
    Busy { place: PlaceNamed, what: String },
    /// The records changed since the decision was made.
    #[error("the state changed since this was decided")]
    Stale,
    /// Another machine decides for the place.
    #[error("machine {} decides for `{}`, and it is not reachable", home.short(), place.name)]
    HomeAway { place: PlaceNamed, home: MachineId },
    /// An agent asked for something outside its own place.
    #[error("an agent sees only its own place, which is `{}`", place.name)]
    OutsidePlace { place: PlaceNamed },
    /// Only a person may.
    #[error("only a person may {what}")]
    PersonsOnly { what: String },
    /// Only an agent can.
    #[error("only an agent can {what}, and no agent is calling")]
    AgentsOnly { what: String },
    /// The caller's process could not be found, so it may only read.
    #[error("the calling process could not be identified, so it may only read")]
    UnplacedCaller,
    /// The task to stand before or after is in another place, or is the task itself.
    #[error("task {} stands in another queue", task.short())]
    OtherQueue { task: TaskId },
    /// No kind was named and none can be told from what was launched before.
    #[error("no kind of agent was named, and none was launched here before")]
    NoKind { known: Vec<String> },
    /// The machine that is to do it is not this one, and no other is in reach.
    #[error("machine {} is not reachable", machine.short())]
    MachineAway { machine: MachineId },
    /// The fork was made and the task moved, and the last step was refused.
    #[error("fork `{}` was made and task {} is in it, but its agent was not launched: {why}", fork.name, task.short())]
    SpunUpWithoutAgent { fork: PlaceNamed, task: TaskId, why: Box<Refusal> },
    /// The agent started, and failed within a moment.
    #[error("agent {} {how} as soon as it had started{}", agent.short(), last_words(said))]
    EndedAtOnce { agent: AgentId, how: String, said: Vec<String> },
    /// A task cannot stand beside itself.
    #[error("task {} cannot stand beside itself", task.short())]
    BesideItself { task: TaskId },
    /// The caller stands in the folder that is to go.
    #[error("this shell stands in `{folder}`, which is to be deleted")]
    StandsInFolder { folder: PathText },
    /// The document has as many changes as it may, and only closing and moving are left.
    #[error("the task has {changes} changes, and no more can be added")]
    DocumentFull { changes: u64 },
    /// A note cannot be called so.
    #[error("{}", shared::note_name_fault(given, *fault))]
    BadNoteName { given: String, fault: NoteNameFault },
    /// A note is too long.
    #[error("the note has {length} bytes, and {NOTE_MOST} is the most")]
    LongNote { length: usize },
    /// An agent's save names no base, and somebody else's version is current.
    #[error("`{note}` was saved by {} as version {}, and this names no base", shared::who(&version.by), version.version.short())]
    NoBase { note: String, version: VersionNamed },
    /// A save names no base, and several versions are current.
    #[error("`{note}` has {} versions that none replaces: {}", versions.len(), shared::versions(versions))]
    SeveralVersions { note: String, versions: Vec<VersionNamed> },
    /// A backup would be written over a file that is there.
    #[error("`{path}` is there already")]
    FileThere { path: PathText },
    /// A backup would be restored into a home that has a store.
    #[error("there is a store already: `{path}`")]
    StoreThere { path: PathText },
    /// A backup is of a machine that had others in its team.
    #[error("the backup is of a machine in a team with {}", count(machines.len(), "other machine"))]
    OtherMembers { machines: Vec<MachineId> },
    /// A file cannot be attached.
    #[error("{}", shared::attachment_fault(name, *fault))]
    BadAttachment { name: String, fault: AttachmentFault },
    /// A file did not arrive whole, as when the node ended on the way.
    #[error("`{name}` did not arrive whole, so nothing was attached")]
    UploadLost { name: String },
    /// The text is no schedule.
    #[error("{fault}")]
    BadSchedule { fault: ScheduleFault },
    /// No time zone has this name.
    #[error("no time zone `{given}` is known")]
    UnknownTimeZone { given: String },
    /// The task has no schedule.
    #[error("task {} `{}` has no schedule", task.id.short(), task.title)]
    NoSchedule { task: TaskInTheWay },
    /// A schedule's template has no status to set.
    #[error("task {} `{}` is the template of a schedule: its status goes only with the schedule", task.id.short(), task.title)]
    IsTemplate { task: TaskInTheWay },
    /// An agent has the task in hand, so it cannot become a template.
    #[error("task {} `{}` is in the hands of agent {} and cannot become a template", task.id.short(), task.title, agent.short())]
    ScheduleInHand { task: TaskInTheWay, agent: AgentId },
    /// The task was deleted.
    #[error("task {} `{}` is in the trash", task.id.short(), task.title)]
    TaskInTrash { task: TaskInTheWay },
    /// The task was not deleted.
    #[error("task {} `{}` is not in the trash", task.id.short(), task.title)]
    TaskNotInTrash { task: TaskInTheWay },
    /// The text cannot be a permission rule.
    #[error("`{rule}` is no permission rule: {fault}")]
    BadRule { rule: String, fault: RuleFault },
    /// The place has no such permission rule.
    #[error("`{}` has no permission rule `{rule}`", place.name)]
    NoSuchRule { place: PlaceNamed, rule: String, rules: Vec<String> },
    /// The permission rules of the place could not be given to the agent.
    #[error("the permission rules of `{}` cannot be written to `{file}`: {fault}", place.name)]
    RulesNotWritten { place: PlaceNamed, file: PathText, fault: String },
    /// A task asks for a context that only the node can make.
    #[error("task {} `{}` asks for a fresh context, and is handed over once agent {} waits at its prompt", task.id.short(), task.title, agent.short())]
    AwaitsFreshContext { task: TaskInTheWay, agent: AgentId },
    /// A folder cannot be a skill.
    #[error("{}", shared::skill_fault(folder, fault))]
    BadSkill { folder: PathText, fault: SkillFault },
    /// An agent asked for a skill that is not on where it works.
    #[error("the skill `{skill}` is not on in `{}`", place.name)]
    SkillOff { skill: String, place: PlaceNamed },
    /// A fork has no switches of its own.
    #[error("`{}` has the skills of `{}`, and none of its own to switch", fork.name, parent.name)]
    SkillSwitch { fork: PlaceNamed, parent: PlaceNamed, skill: String },
    /// An address cannot be a site's.
    #[error("{}", shared::url_fault(url, *fault))]
    BadUrl { url: String, fault: UrlFault },
    /// The note of a site is too long.
    #[error("the note of a site has {length} bytes, and {SITE_NOTE_MOST} is the most")]
    LongSiteNote { length: usize },
    /// A task would have too many files.
    #[error("task {} `{}` has {there} of {ATTACHMENTS_MOST} attachments, and {added} more would be too many", task.id.short(), task.title)]
    TooManyAttachments { task: TaskInTheWay, there: usize, added: usize },
    /// What an agent says of itself is too long.
    #[error("the status has {length} characters, and {STATUS_MOST} is the most")]
    LongStatus { length: usize },
    /// The environment names an agent that the caller does not belong to.
    #[error("`FRITH_AGENT_ID` is `{given}`, and this process belongs to no such agent")]
    OtherAgent { given: String },
    /// Several agents work where the caller is.
    #[error("{} {} where this process is, and nothing tells which of them it works for: {}", count(agents.len(), "agent"), if agents.len() == 1 { "is" } else { "are" }, short_ids(agents))]
    SeveralAgents { agents: Vec<AgentId> },
    /// No agent can be told for the caller.
    #[error("not linked to an agent session: no session of `{host}` that frith knows of is near this process")]
    NotLinked { host: String },
    /// The caller is provably in no agent's session.
    #[error(
        "not linked to an agent session: this process is below no session of `{host}`, as one that an application starts once for all its sessions"
    )]
    OutsideSessions { host: String },
    /// An agent without a place of its own asked for one.
    #[error("an agent sees only its own place, and no place has its folder `{folder}`")]
    NoOwnPlace { folder: PathText },
    /// A message is too long to be sent.
    #[error("the message has {length} bytes, and {MAIL_MOST} is the most")]
    LongMail { length: usize },
    /// Nobody was named to whom a message goes, or both somebody and all.
    #[error("a message goes to one recipient, or to all live agents")]
    OneOrAll,
    /// Nothing and nobody is called so.
    #[error("`{given}` is no agent, no place and no person")]
    NoRecipient { given: String },
    /// The agent that a message was for ended.
    #[error("agent {} has ended", agent.short())]
    RecipientEnded { agent: AgentId, place: Option<PlaceNamed>, successor: Option<AgentId> },
    /// An agent writes to itself.
    #[error("a message from an agent to itself goes nowhere")]
    ToItself,
    /// Nobody of that name reads mail on the machine.
    #[error("`{given}` reads no mail on `{machine}`")]
    NoSuchPerson { given: String, machine: String, user: Option<String> },
    /// A message to all has no recipient.
    #[error("no other agent of this repository is live")]
    NobodyElse,
    /// An agent asked for a mailbox that it may not look into.
    #[error("the mailbox of agent {} is not this agent's to read", agent.short())]
    OthersMailbox { agent: AgentId },
    /// A limit is out of its bounds.
    #[error("{given} is no number of messages from 1 to {INBOX_MOST}")]
    BadLimit { given: u32 },
    /// An agent that no node launched is its host's to end.
    #[error("agent {} is a session of `{host}` that frith did not launch", agent.short())]
    NotLaunched { agent: AgentId, host: String },
    /// Asked whom a process works for that would have an agent of its own, and has none yet.
    #[error("no agent is registered yet for this process of `{host}`, which has none but its own")]
    NotRegistered { host: String },
    /// A sub-agent reads no mailbox of its own.
    #[error("agent {} is a sub-agent of {}, and reads no messages itself", agent.short(), parent.short())]
    ToSubAgent { agent: AgentId, parent: AgentId },
    /// What one sent was asked for together with a mailbox, or with what is unread.
    #[error("the messages that one sent are of no mailbox, and are listed whether read or not")]
    SentAlone,
    /// Agents that frith did not launch work in the fork.
    #[error("{}, which frith did not launch, work{} in fork `{}`{}", agents_named(agents), if agents.len() == 1 { "s" } else { "" }, fork.name, if *stopped { "; the fork's own agent was stopped, and the fork stays" } else { "" })]
    ForeignAgents { fork: PlaceNamed, agents: Vec<AgentNamed>, stopped: bool },
    /// A message is on its way, or there, and is not held back.
    #[error("message {} to {recipient} was sent and cannot be taken back", message.short())]
    MessageSent { message: MessageId, recipient: String },
    /// An MCP server's entry names another place than its agent works in.
    #[error("this MCP server was entered for place {}, and its agent works in {}", entered.short(), own.as_ref().map_or("no place".into(), |own| format!("`{}`", own.name)))]
    OtherEntry { entered: PlaceId, own: Option<PlaceNamed> },
    /// No host is called so.
    #[error("no host is called `{given}`")]
    UnknownHost { given: String, nearest: Option<String> },
    /// Hosts are not on this machine.
    #[error("{}", hosts::not_here(hosts))]
    HostsNotHere { hosts: Vec<String> },
    /// A host takes no entry.
    #[error("`{host}` takes no entry for an MCP server")]
    HostTakesNothing { host: String },
    /// A host runs nothing after it made a worktree.
    #[error("`{host}` runs nothing of a repository's after it made a worktree")]
    NoProjectEntry { host: String, others: Vec<String> },
    /// Something about a worktree.
    #[error(transparent)]
    Worktree(WorktreeRefusal),
}

impl From<WorktreeRefusal> for Refusal {
    fn from(refusal: WorktreeRefusal) -> Self {
        Self::Worktree(refusal)
    }
}

impl From<ScheduleFault> for Refusal {
    fn from(fault: ScheduleFault) -> Self {
        Self::BadSchedule { fault }
    }
}

impl Refusal {
    /// The stable word for this refusal: the first word of its JSON form.
    pub fn code(&self) -> String {
        match self {
            Self::Worktree(refusal) => {
                let word = code_of(refusal);
                let (first, rest) = word.split_at(word.len().min(1));
                format!("worktree{}{rest}", first.to_ascii_uppercase())
            }
            other => code_of(other),
        }
    }
}

fn code_of(refusal: &impl Serialize) -> String {
    match serde_json::to_value(refusal) {
        Ok(serde_json::Value::Object(object)) => object.keys().next().cloned().unwrap_or_default(),
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn name_fault(name: &str, fault: NameFault) -> String {
    match fault {
        NameFault::Blank => "a place needs a name".into(),
        NameFault::TooLong => format!("the name has {} characters, and {NAME_MOST} is the most", name.chars().count()),
        NameFault::NotKebab => format!("`{name}` is not in kebab-case"),
        NameFault::Reserved => format!("the name `{name}` is kept for the supervisor workspace"),
        NameFault::LooksLikeAnId => format!("`{name}` reads like an id"),
    }
}

fn folder_fault(path: &PathText, fault: &FolderFault) -> String {
    match fault {
        FolderFault::Gone => format!("folder `{path}` is not there"),
        FolderFault::NotAFolder => format!("`{path}` is a file, not a folder"),
        FolderFault::Unreadable => format!("folder `{path}` cannot be read"),
        FolderFault::Relative => format!("`{path}` is not an absolute path"),
        FolderFault::Ours => format!("`{path}` lies inside frith's own folder"),
        FolderFault::Taken(place) => format!("folder `{path}` is the folder of `{}` already", place.name),
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn names(places: &[PlaceNamed]) -> String {
    places.iter().map(|place| format!("`{}`", place.name)).collect::<Vec<_>>().join(", ")
}

fn agents_named(agents: &[AgentNamed]) -> String {
    let named = agents.iter().map(|agent| format!("{} ({})", agent.id.short(), agent.host)).collect::<Vec<_>>().join(", ");
    format!("agent{} {named}", if agents.len() == 1 { "" } else { "s" })
}

fn short_ids(agents: &[AgentId]) -> String {
    agents.iter().map(AgentId::short).collect::<Vec<_>>().join(", ")
}

fn last_words(said: &[String]) -> String {
    said.last().map(|line| format!("; it said: {line}")).unwrap_or_default()
}

/// How many tasks a sentence names before it says how many more there are.
const TITLES_SHOWN: usize = 5;

fn titles(tasks: &[TaskInTheWay]) -> String {
    let mut shown: Vec<_> =
        tasks.iter().take(TITLES_SHOWN).map(|task| format!("{} `{}` ({})", task.id.short(), task.title, task.status.word())).collect();
    if tasks.len() > TITLES_SHOWN {
        shown.push(format!("and {} more", tasks.len() - TITLES_SHOWN));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_a_stable_code_and_survives_both_encodings() {
        let refusal = Refusal::QueueEmpty { place: PlaceNamed { id: PlaceId::from_bytes([1; 16]), name: "app".into() } };
        assert_eq!(refusal.code(), "queueEmpty");
        assert_eq!(Refusal::Stale.code(), "stale");
        let wire = postcard::to_stdvec(&refusal).unwrap();
        assert_eq!(postcard::from_bytes::<Refusal>(&wire).unwrap(), refusal);
        let json = serde_json::to_string(&refusal).unwrap();
        assert_eq!(serde_json::from_str::<Refusal>(&json).unwrap(), refusal);
    }

    #[test]
    fn a_long_list_of_tasks_is_cut_in_the_sentence_only() {
        let task = |n: u8| TaskInTheWay { id: TaskId::from_bytes([n; 16]), title: format!("t{n}"), status: Status::Ongoing };
        let fork = PlaceNamed { id: PlaceId::from_bytes([9; 16]), name: "f".into() };
        let one = Refusal::Unfinished { fork: fork.clone(), tasks: vec![task(1)] };
        assert_eq!(one.to_string(), "fork `f` has 1 unfinished task: 01010101 `t1` (ongoing)");
        let many = Refusal::Unfinished { fork, tasks: (0..9).map(task).collect() };
        assert!(many.to_string().ends_with("`t4` (ongoing), and 4 more"));
    }
}
