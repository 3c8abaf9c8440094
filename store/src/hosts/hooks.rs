//! A host's hooks: where they are entered, what each event means, where its payload holds what, and what it takes back.

use serde::{Deserialize, Serialize};

use super::{ConfigFile, Fact, Format, Key, Source};

/// A host's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hooks {
    /// Whether ours are installed into it.
    pub installed: bool,
    /// The user's files that hold them, one for each variant of the host.
    pub files: &'static [ConfigFile],
    /// The format of those files.
    pub format: Fact<Format>,
    /// Where an entry stands.
    pub at: Fact<&'static [Key]>,
    /// What an entry looks like.
    pub entry: Fact<EntryShape>,
    /// How an entry says how long a hook may take.
    pub timeout: Fact<Timeout>,
    /// Whether the host's events are known to be all of those in `events` that say so.
    pub vendor_events: Fact<()>,
    /// The events of which something is known.
    pub events: &'static [HookEvent],
    /// Where a payload holds what.
    pub payload: Fact<Payload>,
    /// What is answered.
    pub answer: Fact<Answer>,
    /// What has to happen before an entry is obeyed.
    pub trust: Trust,
    /// How this is known.
    pub source: Source,
}

/// One event of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// The host's own name for it.
    pub name: &'static str,
    /// What it means to us.
    pub class: EventClass,
    /// What may be answered to it.
    pub says: Says,
    /// Whether the host's maker names it.
    pub documented: bool,
    /// Whether it is installed.
    pub used: bool,
    /// What the host wants done at it, and would do itself without a hook.
    pub instead: Option<Instead>,
    /// For how many seconds the host waits for it; none for as long as for any other.
    pub seconds: Option<u32>,
    /// Which of its occasions are installed, in the host's own pattern; none for all of them without a pattern.
    pub matcher: Option<&'static str>,
}

/// What an event means to us. New ones are added at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EventClass {
    /// A session started, or goes on after it was resumed or cleared.
    Start,
    /// Something was typed.
    Prompt,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has run.
    Tool,
    /// The agent waits at its prompt.
    Stop,
    /// The session ended.
    End,
    /// A sub-agent started.
    SubStart,
    /// A sub-agent ended.
    SubStop,
    /// Something else, which shows that the session lives.
    Other,
}

/// What a host wants done at an event. A hook that does not do it leaves the host without, so the command that is installed does
/// what the host would have done where frith does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// A worktree made, whose path is the answer.
    MakeWorktree,
    /// A worktree removed.
    RemoveWorktree,
}

/// What may be answered to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// Context for the model.
    Context,
    /// Nothing that means anything.
    Nothing,
    /// A path instead of an object; where there is none, an object would do harm.
    Path,
}

/// How an entry for a hook looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryShape {
    /// Groups, each with a matcher and a list of commands.
    Groups,
    /// Groups with a list of commands and no matcher.
    GroupsWithoutMatcher,
    /// Groups below a switch that turns all of them on.
    SwitchedGroups,
    /// A version, and a list of commands for each event.
    Commands,
    /// A version, and for each event a list with a command for each kind of shell.
    ShellCommands,
    /// A list of tables that name event, matcher, command and timeout.
    Tables,
    /// A list of tables that name themselves, event, command and timeout.
    NamedTables,
    /// A list of tables with match, command and timeout.
    Flat,
    /// One executable script for each event.
    Scripts,
}

/// How an entry says how long a hook may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// In which unit.
    pub unit: Unit,
    /// In which field.
    pub field: &'static str,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// What has to happen before a host obeys an entry for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing that is known of.
    Free,
    /// A person reviews each new entry, by this command in a session; until then it is skipped without a word.
    Review(&'static str),
    /// The folder was trusted.
    Folder,
}

/// A step from a value to one inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The value of this key.
    Key(&'static str),
    /// The first element.
    First,
}

/// Where a value is found: the first of these ways on which there is one.
pub type Field = Fact<&'static [&'static [Step]]>;

/// Where a payload holds what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// Whether fields that the host's own notes do not name were taken over from its family.
    pub assumed: bool,
    /// The host's own id of the session.
    pub session: Field,
    /// The folder the session works in.
    pub folder: Fact<Folder>,
    /// The event's name.
    pub event: Fact<EventName>,
    /// The tool's name.
    pub tool: Field,
    /// The name of a tool whose events carry none.
    pub nameless_tool: Option<&'static str>,
    /// What the tool is given.
    pub input: Fact<Input>,
    /// What the tool answered.
    pub response: Field,
    /// Which use of a tool it is.
    pub tool_use: Field,
    /// What a person said.
    pub prompt: Field,
    /// The model.
    pub model: Field,
    /// Whether only a session's start tells the model.
    pub model_at_start_only: bool,
    /// Which sub-agent of the session it is.
    pub sub_agent: Field,
    /// Why a session started.
    pub start_source: Field,
    /// The session's transcript.
    pub transcript: Field,
    /// Further fields.
    pub extras: &'static [(Extra, &'static str)],
}

/// A further field of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// The name for a worktree that is to be made.
    WorktreeCreate,
    /// The path of a worktree that is to be removed.
    WorktreeRemove,
    /// One round of the model.
    Generation,
    /// One turn of a person and the agent.
    Turn,
    /// Something else.
    Other,
}

/// Where a payload tells the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folder {
    /// The ways to it.
    pub paths: &'static [&'static [Step]],
    /// The variable that tells it where the payload does not.
    pub variable: Option<&'static str>,
}

/// Where an event's name is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventName {
    /// In this field.
    Field(&'static str),
    /// In this variable, else in this field.
    VariableOrField(&'static str, &'static str),
    /// In the hook's own arguments only.
    Argument,
}

/// Where a payload tells what a tool is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The ways to it.
    pub paths: &'static [&'static [Step]],
    /// Whether it may be a text that holds the object.
    pub may_be_encoded: bool,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// How context is given.
    pub context: Fact<Context>,
    /// How a use of a tool is allowed or refused.
    pub permission: Fact<Permission>,
    /// The field, below its outer ones, that replaces what a tool is given.
    pub rewrite_input: Fact<&'static [&'static str]>,
    /// The field that replaces what a tool answered.
    pub replace_result: Fact<&'static str>,
    /// Whether nothing at all is written where there is nothing to say, since the host takes any byte for context.
    pub quiet: bool,
}

/// How context is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// `{"<outer>": {"<event>": <the event's name>, "<field>": <context>}}`.
    Nested {
        /// The key of the inner object.
        outer: &'static str,
        /// The key of the event's name, which must be the event's.
        event: Option<&'static str>,
        /// The key of the context.
        field: &'static str,
    },
    /// `{"<field>": <context>}`.
    Flat {
        /// The key of the context.
        field: &'static str,
    },
    /// `{"<field>": <prompt, an empty line, context>}`: the prompt is rewritten.
    Prompt {
        /// The key of the prompt.
        field: &'static str,
    },
    /// Whatever is written is taken as text. We write objects only, so nothing is given.
    Text,
}

/// How a use of a tool is allowed or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// A decision and its reason inside `hookSpecificOutput`, before a tool.
    NestedDecision,
    /// A decision and its reason.
    Decision,
    /// A permission object, before a tool.
    Object,
    /// `deny` and a reason.
    Deny,
    /// `cancel` and a message.
    Cancel,
    /// Exit code 2.
    ExitCode,
}

impl HookEvent {
    /// An event of this name and meaning, to which nothing is answered.
    pub const fn new(name: &'static str, class: EventClass) -> Self {
        Self { name, class, says: Says::Nothing, documented: false, used: false, instead: None, seconds: None, matcher: None }
    }

    /// To which context may be answered.
    #[must_use]
    pub const fn takes_context(mut self) -> Self {
        self.says = Says::Context;
        self
    }

    /// To which a path is answered.
    #[must_use]
    pub const fn takes_path(mut self) -> Self {
        self.says = Says::Path;
        self
    }

    /// That the host's maker names.
    #[must_use]
    pub const fn documented(mut self) -> Self {
        self.documented = true;
        self
    }

    /// That is installed.
    #[must_use]
    pub const fn used(mut self) -> Self {
        self.used = true;
        self
    }

    /// At which the host wants this done, within so many seconds.
    #[must_use]
    pub const fn instead(mut self, instead: Instead, seconds: u32) -> Self {
        self.instead = Some(instead);
        self.seconds = Some(seconds);
        self
    }

    /// That is installed for these occasions.
    #[must_use]
    pub const fn used_for(mut self, matcher: &'static str) -> Self {
        self.matcher = Some(matcher);
        self.used()
    }
}

impl Payload {
    /// One of which no field is known, for this reason.
    pub const fn blank(why: Field) -> Self {
        let (folder, event, input) = match why {
            Fact::Unchecked => (Fact::Unchecked, Fact::Unchecked, Fact::Unchecked),
            Fact::Undocumented => (Fact::Undocumented, Fact::Undocumented, Fact::Undocumented),
            Fact::Known(_) | Fact::None => (Fact::None, Fact::None, Fact::None),
        };
        Self {
            assumed: false,
            session: why,
            folder,
            event,
            tool: why,
            nameless_tool: None,
            input,
            response: why,
            tool_use: why,
            prompt: why,
            model: why,
            model_at_start_only: false,
            sub_agent: why,
            start_source: why,
            transcript: why,
            extras: &[],
        }
    }
}
