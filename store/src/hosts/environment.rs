//! What a host puts into the environments of what it starts, and beside the calls it makes of their tools.

use super::{Fact, Source};

/// A host's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Environment {
    /// The variable that holds the host's own id of the session.
    pub session: Fact<&'static str>,
    /// In which environments it stands.
    pub visible_in: &'static [Seen],
    /// Further variables that the host sets.
    pub others: &'static [&'static str],
    /// The variable that names a file whose lines its shells read, at a session's start.
    pub shell_file: Fact<&'static str>,
    /// The variable that says that a hook is this host's, also one that was installed for another host.
    pub attributes: Fact<&'static str>,
    /// What tells beside a call of an MCP tool which of the session's agents makes it.
    pub caller: Fact<CallerKey>,
    /// How this is known.
    pub source: Source,
}

/// A key of the `_meta` of a call of an MCP tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKey {
    /// It holds the id of the tool call, which a hook told of before with the sub-agent that makes it.
    ToolUse(&'static str),
    /// It holds the id of the sub-agent, or of the session when its main agent calls.
    Agent(&'static str),
}

/// An environment that a host makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// That of the shell in which its agent runs commands.
    Shell,
    /// That of its hooks.
    Hooks,
    /// That of MCP servers that it starts.
    Mcp,
}

impl Environment {
    /// One in which nothing is set, known so from here.
    pub const fn empty(source: Source) -> Self {
        let session = match source {
            Source::Nobody => Fact::Unchecked,
            _ => Fact::None,
        };
        Self { session, visible_in: &[], others: &[], shell_file: Fact::None, attributes: Fact::None, caller: Fact::None, source }
    }

    /// With the session's id in this variable, in these environments.
    #[must_use]
    pub const fn session(mut self, variable: &'static str, visible_in: &'static [Seen]) -> Self {
        self.session = Fact::Known(variable);
        self.visible_in = visible_in;
        self
    }

    /// With these further variables.
    #[must_use]
    pub const fn others(mut self, variables: &'static [&'static str]) -> Self {
        self.others = variables;
        self
    }

    /// With a file for its shells, named by this variable.
    #[must_use]
    pub const fn shell_file(mut self, variable: &'static str) -> Self {
        self.shell_file = Fact::Known(variable);
        self
    }

    /// With a key that tells which of its agents calls.
    #[must_use]
    pub const fn caller(mut self, key: CallerKey) -> Self {
        self.caller = Fact::Known(key);
        self
    }

    /// With a variable that marks its hooks.
    #[must_use]
    pub const fn attributes(mut self, variable: &'static str) -> Self {
        self.attributes = Fact::Known(variable);
        self
    }
}
