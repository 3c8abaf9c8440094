//! What an installation stands on: the user's folder, the search path, the variables, and the program that is entered.
//!
//! It is told by whoever runs the command; nothing here reads the environment of this process.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use frith_store::{
    hosts::{ConfigFile, Here},
    time::Timestamp,
};

use crate::env::world::Faults;

/// This machine, as far as hosts are concerned.
pub struct Ground<'a> {
    /// The user's folder.
    pub user: PathBuf,
    /// Where commands are found, in order.
    pub search: Vec<PathBuf>,
    /// A variable of the environment, if it is set to something.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// This program, by the path that an upgrade keeps.
    pub program: PathBuf,
    /// Where everything of the node lies.
    pub home: PathBuf,
    /// Now.
    pub now: Timestamp,
    /// How many backups of a file are kept.
    pub backups: usize,
    /// Where a test ends the process.
    pub faults: &'a dyn Faults,
}

/// The name by which the program is entered where it is on the search path.
pub const PROGRAM: &str = "frith";

impl Ground<'_> {
    /// The command of this name as the search path finds it.
    pub fn command(&self, name: &str) -> Option<PathBuf> {
        self.search.iter().filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// Whether the name alone leads to this program.
    pub fn is_named(&self) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        self.command(PROGRAM).is_some_and(|named| named == self.program || real(&named).is_some_and(|it| real(&self.program) == Some(it)))
    }

    /// Whether a program that an entry names is there: by its whole path, or on the search path by its name.
    pub fn runs(&self, program: &str) -> bool {
        if Path::new(program).is_absolute() { is_program(Path::new(program)) } else { self.command(program).is_some() }
    }

    /// Whether the node's home is the one that a host started anywhere uses.
    pub fn is_usual_home(&self) -> bool {
        self.home == self.user.join(".frith")
    }

    /// Where a file of a host lies on this system; none when its path is not known, or is a repository's.
    pub fn file(&self, here: &Here, file: &ConfigFile) -> Option<PathBuf> {
        let path = if cfg!(target_os = "macos") { file.macos } else { file.linux };
        self.path(here, path).or_else(|| self.path(here, file.otherwise?))
    }

    /// A path of a row on this machine: moved by the host's variables, with the user's folder for `~`. None for one with a
    /// variable that is not set, and for one that is not absolute then.
    pub fn path(&self, here: &Here, path: &str) -> Option<PathBuf> {
        for moved in here.moved {
            let Some(rest) = below(path, moved.from) else { continue };
            if let Some(folder) = (self.variable)(moved.variable).map(PathBuf::from).filter(|folder| folder.is_absolute()) {
                return Some(joined(joined(folder, moved.to), rest));
            }
        }
        if let Some(rest) = below(path, "~") {
            return Some(joined(self.user.clone(), rest));
        }
        if let Some(rest) = path.strip_prefix('$') {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let folder = (self.variable)(name).map(PathBuf::from).filter(|folder| folder.is_absolute())?;
            return Some(joined(folder, rest));
        }
        Some(PathBuf::from(path)).filter(|path| path.is_absolute())
    }
}

/// What follows this beginning of a path, component by component.
fn below<'p>(path: &'p str, beginning: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(beginning)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

fn joined(folder: PathBuf, rest: &str) -> PathBuf {
    if rest.is_empty() { folder } else { folder.join(rest) }
}

/// Whether a path is a file that may be run.
pub fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use frith_store::hosts;
    use std::os::unix::fs::PermissionsExt as _;

    /// A machine whose user has this folder and nothing else.
    pub fn bare<'a>(user: &Path, variable: &'a dyn Fn(&str) -> Option<OsString>) -> Ground<'a> {
        Ground {
            user: user.to_owned(),
            search: vec![user.join("bin")],
            variable,
            program: user.join("bin/frith"),
            home: user.join(".frith"),
            now: Timestamp::from_ms(1_700_000_000_000),
            backups: 5,
            faults: &crate::env::world::NoFaults,
        }
    }

    /// Puts a program there that does nothing.
    pub fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn file(ground: &Ground<'_>, host: &str, at: usize) -> Option<PathBuf> {
        let host = hosts::host(host).unwrap();
        ground.file(host.here, &host.mcp.files[at])
    }

    #[test]
    fn a_file_lies_where_the_hosts_variables_say() {
        let nothing = |_: &str| None;
        let ground = bare(Path::new("/u"), &nothing);
        assert_eq!(file(&ground, "codex", 0), Some("/u/.codex/config.toml".into()));
        assert_eq!(file(&ground, "crush", 0), Some("/u/.config/crush/crush.json".into()));
        assert_eq!(file(&ground, "claude", 0), Some("/u/.claude.json".into()));
        let moved = |name: &str| Some(format!("/m/{name}").into());
        let ground = bare(Path::new("/u"), &moved);
        assert_eq!(file(&ground, "codex", 0), Some("/m/CODEX_HOME/config.toml".into()));
        assert_eq!(file(&ground, "gemini", 0), Some("/m/GEMINI_CLI_HOME/.gemini/settings.json".into()));
        assert_eq!(file(&ground, "claude", 0), Some("/m/CLAUDE_CONFIG_DIR/.claude.json".into()));
        assert_eq!(file(&ground, "crush", 0), Some("/m/CRUSH_GLOBAL_CONFIG/crush.json".into()));
        assert_eq!(file(&ground, "cursor", 0), Some("/u/.cursor/mcp.json".into()), "nothing moves it");
    }

    #[test]
    fn a_variable_that_is_no_whole_path_moves_nothing() {
        let relative = |_: &str| Some("somewhere".into());
        let ground = bare(Path::new("/u"), &relative);
        assert_eq!(file(&ground, "codex", 0), Some("/u/.codex/config.toml".into()));
        assert_eq!(file(&ground, "crush", 0), Some("/u/.config/crush/crush.json".into()));
    }

    #[test]
    fn the_name_counts_where_it_leads_to_this_program() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = |_: &str| None;
        let mut ground = bare(folder.path(), &nothing);
        assert!(!ground.is_named());
        program(&ground.program);
        assert!(ground.is_named() && ground.runs("frith") && !ground.runs("frith2"));
        ground.program = folder.path().join("elsewhere/frith");
        program(&ground.program);
        assert!(!ground.is_named(), "another program has the name");
    }
}
