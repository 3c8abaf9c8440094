//! What a host does with git worktrees of its own.

use super::{Fact, Source};

/// A host's worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worktrees {
    /// What it offers, in words.
    pub native: Fact<&'static str>,
    /// The folder in which it makes them.
    pub pool: Fact<Pool>,
    /// How many it keeps.
    pub cap: Fact<u32>,
    /// What an adopted one is labelled with.
    pub origin: Fact<&'static str>,
    /// Whether it removes old ones by itself.
    pub evicts: bool,
    /// Whether adopting one locks it.
    pub locks_on_adopt: Fact<bool>,
    /// How one is taken over.
    pub adopt: Adopt,
    /// What runs once it has made one.
    pub post_create: Fact<PostCreate>,
    /// How this is known.
    pub source: Source,
}

/// A folder of worktrees; `<…>` stands for what differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Its path, relative to a repository or absolute.
    pub path: &'static str,
    /// The folder that holds where a variable in the path is not set.
    pub otherwise: Option<&'static str>,
}

/// How a worktree comes under an agent of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopt {
    /// Its agent takes over one that the host made.
    Tool,
    /// The same, and an entry in the repository may do it when the host makes one.
    ToolOrPostCreate,
    /// Its agent makes one, since the host makes none.
    Add,
    /// Only by the command, taking over one that the host made.
    Command,
    /// Only by the command.
    CommandOnly,
}

/// What a host runs after it made a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostCreate {
    /// Files of the repository that may name it: the first, unless only a later one is there.
    pub files: &'static [&'static str],
    /// Keys on the way to it, or among which the system chooses; `None` when the file is no table.
    pub keys: Fact<&'static [&'static str]>,
    /// Which of the keys is for commands of Windows.
    pub windows: Option<&'static str>,
    /// How an entry is made.
    pub entry: PostCreateEntry,
    /// Variables that tell it where it runs.
    pub variables: &'static [&'static str],
    /// Which of the variables names the new worktree; none where it runs there.
    pub worktree: Option<&'static str>,
    /// How this is known.
    pub source: Source,
}

/// How an entry for after the making of a worktree looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostCreateEntry {
    /// One more command in each list of commands that is there; a value may also be a text, the path of a script, which no command is added to.
    ListedCommand,
    /// A table with the command.
    CommandTable,
    /// Marked lines in a script, below its first.
    MarkedLines,
}

impl Worktrees {
    /// None of its own: an agent makes one. `pool` says how sure that is.
    pub const fn without(native: Fact<&'static str>, pool: Fact<Pool>, source: Source) -> Self {
        let (cap, origin, locks_on_adopt) = match pool {
            Fact::Unchecked => (Fact::Unchecked, Fact::Unchecked, Fact::Unchecked),
            Fact::Undocumented => (Fact::Undocumented, Fact::Undocumented, Fact::Undocumented),
            Fact::Known(_) | Fact::None => (Fact::None, Fact::None, Fact::None),
        };
        Self { native, pool, cap, origin, evicts: false, locks_on_adopt, adopt: Adopt::Add, post_create: Fact::None, source }
    }

    /// In this pool, whose adopted worktrees get this label and a lock.
    pub const fn pooled(native: &'static str, path: &'static str, origin: &'static str, source: Source) -> Self {
        Self {
            native: Fact::Known(native),
            pool: Fact::Known(Pool { path, otherwise: None }),
            cap: Fact::None,
            origin: Fact::Known(origin),
            evicts: false,
            locks_on_adopt: Fact::Known(true),
            adopt: Adopt::Tool,
            post_create: Fact::None,
            source,
        }
    }

    /// Somewhere nobody has found, so an adopted one is of no known origin.
    pub const fn somewhere(native: Fact<&'static str>, pool: Fact<Pool>, source: Source) -> Self {
        let adopted = Self::without(native, pool, source);
        Self { origin: Fact::Known("other"), locks_on_adopt: Fact::Known(true), adopt: Adopt::Tool, ..adopted }
    }

    /// With this folder where the variable in the pool's path is not set.
    #[must_use]
    pub const fn otherwise(mut self, folder: &'static str) -> Self {
        if let Fact::Known(pool) = self.pool {
            self.pool = Fact::Known(Pool { otherwise: Some(folder), ..pool });
        }
        self
    }

    /// Of which the host keeps this many and removes the rest, so that a lock would be in its way.
    #[must_use]
    pub const fn evicted_above(mut self, cap: u32) -> Self {
        self.cap = Fact::Known(cap);
        self.evicts = true;
        self.locks_on_adopt = Fact::Known(false);
        self
    }

    /// Taken over in this way.
    #[must_use]
    pub const fn adopted_by(mut self, adopt: Adopt) -> Self {
        self.adopt = adopt;
        self
    }

    /// With something that runs after one was made; then an entry may adopt it.
    #[must_use]
    pub const fn post_create(mut self, post_create: PostCreate) -> Self {
        self.post_create = Fact::Known(post_create);
        self.adopt = Adopt::ToolOrPostCreate;
        self
    }
}
