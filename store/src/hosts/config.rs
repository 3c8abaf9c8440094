//! A host's configuration files, and the entry by which it learns of an MCP server.

use super::{Fact, Source};

/// How a host is told of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mcp {
    /// The entry; `None` when the host takes none.
    pub entry: Fact<Entry>,
    /// The user's files, one for each variant of the host.
    pub files: &'static [ConfigFile],
    /// Files of a repository that hold the same, the usual one first.
    pub repository_files: Fact<&'static [&'static str]>,
    /// Variables that move the user's files.
    pub path_variables: Fact<&'static [&'static str]>,
    /// How this is known.
    pub source: Source,
}

/// An entry for an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The format of each of the host's files, or the one of all of them.
    pub formats: &'static [Format],
    /// Where the entry stands.
    pub at: &'static [Key],
    /// What it says, in order.
    pub fields: &'static [(&'static str, Value)],
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// No text: one executable file for each event.
    Executables,
}

/// A step on the way to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The value of this key, which may hold a dot.
    Name(&'static str),
    /// The value of the key that is our own name.
    Own,
    /// The value of the key that is the event's name.
    Event,
    /// The list under this key, of which our entry is an element.
    List(&'static str),
    /// The element whose value for this key is our own name.
    Named(&'static str),
}

/// A value in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The program: its name, or its absolute path where the file wants that.
    Program,
    /// The arguments that make it serve this host.
    Arguments,
    /// Program and arguments in one list.
    CommandLine,
    /// Our own name.
    Own,
    /// A text.
    Text(&'static str),
    /// A number.
    Number(u32),
    /// A truth value.
    Flag(bool),
    /// A list of texts.
    List(&'static [&'static str]),
    /// A table without anything in it.
    EmptyTable,
}

/// A file of the user's, or of a repository where its path is relative. `~`, variables and `<…>` stand for what differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigFile {
    /// For which variant of the host; none when it has one.
    pub variant: Option<&'static str>,
    /// Its path on Linux.
    pub linux: &'static str,
    /// Its path on macOS.
    pub macos: &'static str,
    /// Its path on Windows.
    pub windows: Fact<&'static str>,
    /// The path that holds where a variable in the others is not set.
    pub otherwise: Option<&'static str>,
    /// Whether an entry in it names the program by its absolute path, as for an application that is not started from a shell.
    pub for_application: bool,
    /// Fields of the entry that are not in this file.
    pub without: &'static [&'static str],
}

impl ConfigFile {
    /// The same below the user's folder on Linux and macOS.
    pub const fn new(path: &'static str, windows: &'static str) -> Self {
        Self {
            variant: None,
            linux: path,
            macos: path,
            windows: Fact::Known(windows),
            otherwise: None,
            for_application: false,
            without: &[],
        }
    }

    /// One whose path on macOS is this.
    #[must_use]
    pub const fn on_macos(mut self, path: &'static str) -> Self {
        self.macos = path;
        self
    }

    /// One of this variant.
    #[must_use]
    pub const fn of(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }

    /// One whose path on Windows is not known, for this reason.
    #[must_use]
    pub const fn not_on_windows(mut self, why: Fact<&'static str>) -> Self {
        self.windows = why;
        self
    }

    /// One that lies here where the variable in its path is not set.
    #[must_use]
    pub const fn otherwise(mut self, path: &'static str) -> Self {
        self.otherwise = Some(path);
        self
    }

    /// One whose entry has none of these fields.
    #[must_use]
    pub const fn without(mut self, fields: &'static [&'static str]) -> Self {
        self.without = fields;
        self
    }

    /// One that an application reads.
    #[must_use]
    pub const fn for_application(mut self) -> Self {
        self.for_application = true;
        self
    }
}
