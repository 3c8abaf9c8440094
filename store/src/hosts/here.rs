//! How a host is found on a machine, and where its files lie there.

use super::Fact;

/// A host on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    /// What shows that it is installed, one for each of its variants. A folder of settings shows nothing: it stays when a
    /// host goes.
    pub signs: &'static [Signs],
    /// Variables that move its files.
    pub moved: &'static [Moved],
    /// The folder in which it looks for skills of the user's.
    pub skills: Fact<&'static str>,
    /// What in the files that hold its hooks switches all of them off.
    pub hooks_off: Option<Switch>,
    /// Fields that it writes below our entry by itself, as what a person allowed: nobody's change of the entry.
    pub adds_to_entry: &'static [&'static str],
}

/// A value with which a host runs no hook at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The keys that lead to it.
    pub at: &'static [&'static str],
    /// What it says then.
    pub off: bool,
}

/// What shows that one variant of a host is installed: any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// Which variant; none when the host has one.
    pub variant: Option<&'static str>,
    /// Commands on the search path, the usual one first.
    pub commands: &'static [&'static str],
    /// Programs and applications where they are put on Linux.
    pub linux: &'static [&'static str],
    /// The same on macOS.
    pub macos: &'static [&'static str],
    /// Extensions of an editor, by publisher and name.
    pub extensions: &'static [&'static str],
    /// Whether it is started from a shell only, so that what it starts has the search path of that shell.
    pub from_shell: bool,
}

/// A variable that stands for the beginning of a host's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The variable.
    pub variable: &'static str,
    /// The beginning of the paths that it moves.
    pub from: &'static str,
    /// What follows the variable in its place; empty for nothing.
    pub to: &'static str,
}

/// Where editors keep their extensions, below the user's folder.
pub const EXTENSION_FOLDERS: &[&str] = &[
    ".vscode/extensions",
    ".vscode-insiders/extensions",
    ".vscode-server/extensions",
    ".vscode-oss/extensions",
    ".cursor/extensions",
    ".windsurf/extensions",
];

impl Here {
    /// Found by these signs, with files that nothing moves.
    pub const fn by(signs: &'static [Signs]) -> Self {
        Self { signs, moved: &[], skills: Fact::Unchecked, hooks_off: None, adds_to_entry: &[] }
    }

    /// With files that these variables move.
    #[must_use]
    pub const fn moved(mut self, moved: &'static [Moved]) -> Self {
        self.moved = moved;
        self
    }

    /// That writes these fields below our entry.
    #[must_use]
    pub const fn adds_to_entry(mut self, fields: &'static [&'static str]) -> Self {
        self.adds_to_entry = fields;
        self
    }

    /// Whose hooks are switched off where the value at these keys says so.
    #[must_use]
    pub const fn hooks_off(mut self, at: &'static [&'static str], off: bool) -> Self {
        self.hooks_off = Some(Switch { at, off });
        self
    }

    /// With skills in this folder.
    #[must_use]
    pub const fn skills(mut self, folder: &'static str) -> Self {
        self.skills = Fact::Known(folder);
        self
    }
}

impl Signs {
    /// Started from a shell by one of these commands.
    pub const fn command(commands: &'static [&'static str]) -> Self {
        Self { variant: None, commands, linux: &[], macos: &[], extensions: &[], from_shell: true }
    }

    /// Started from a desktop, and by one of these commands where there are any.
    pub const fn application(commands: &'static [&'static str]) -> Self {
        Self { from_shell: false, ..Self::command(commands) }
    }

    /// Part of an editor, and started by one of these commands where there are any.
    pub const fn extension(commands: &'static [&'static str], extensions: &'static [&'static str]) -> Self {
        Self { extensions, ..Self::application(commands) }
    }

    /// Of this variant.
    #[must_use]
    pub const fn of(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }

    /// Put here on Linux.
    #[must_use]
    pub const fn linux(mut self, paths: &'static [&'static str]) -> Self {
        self.linux = paths;
        self
    }

    /// Put here on macOS.
    #[must_use]
    pub const fn macos(mut self, paths: &'static [&'static str]) -> Self {
        self.macos = paths;
        self
    }
}

impl Moved {
    /// A variable that stands for this folder.
    pub const fn folder(variable: &'static str, from: &'static str) -> Self {
        Self { variable, from, to: "" }
    }

    /// A variable that names the folder of this file.
    pub const fn file(variable: &'static str, from: &'static str, to: &'static str) -> Self {
        Self { variable, from, to }
    }
}
