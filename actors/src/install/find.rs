//! Which hosts are on this machine: by their programs, applications and extensions, never by a folder of settings that one
//! left behind.

use std::path::{Path, PathBuf};

use frith_store::hosts::{EXTENSION_FOLDERS, Host, Signs};

use super::ground::{Ground, is_program};

/// A host as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The variants that are here, each with what shows it.
    pub variants: Vec<Variant>,
}

/// A variant of a host that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Which one; none when the host has one.
    pub name: Option<&'static str>,
    /// What shows it: a program, an application, or the folder of an extension.
    pub by: PathBuf,
    /// The command that tells its version: one that is not known to open a window.
    pub command: Option<PathBuf>,
    /// The version that the folder of an extension names.
    pub version: Option<String>,
    /// Whether it is started from a shell only.
    pub from_shell: bool,
}

impl Found {
    /// Whether the host is here at all.
    pub fn is_here(&self) -> bool {
        !self.variants.is_empty()
    }

    /// The variant to which a file of the host belongs, if that is here.
    pub fn variant(&self, of_file: Option<&str>) -> Option<&Variant> {
        match of_file {
            None => self.variants.first(),
            Some(wanted) => self.variants.iter().find(|variant| variant.name.is_none_or(|name| name == wanted)),
        }
    }
}

/// Looks for a host.
pub fn find(ground: &Ground<'_>, host: &Host) -> Found {
    Found { variants: host.here.signs.iter().filter_map(|signs| variant(ground, host, signs)).collect() }
}

fn variant(ground: &Ground<'_>, host: &Host, signs: &Signs) -> Option<Variant> {
    let made = |by: PathBuf, command: Option<PathBuf>, version| Variant {
        name: signs.variant,
        by,
        command,
        version,
        from_shell: signs.from_shell,
    };
    if let Some(command) = signs.commands.iter().find_map(|name| ground.command(name)) {
        return Some(made(command.clone(), Some(command), None));
    }
    let places = if cfg!(target_os = "macos") { signs.macos } else { signs.linux };
    let mut places = places.iter().filter_map(|path| ground.path(host.here, path));
    if let Some(place) = places.find(|path| is_program(path) || is_application(path)) {
        let command = (signs.from_shell && is_program(&place)).then(|| place.clone());
        return Some(made(place, command, None));
    }
    let (folder, version) = signs.extensions.iter().find_map(|name| extension(&ground.user, name))?;
    Some(made(folder, None, Some(version)))
}

/// Whether a path is the folder of an application, as macOS has them.
fn is_application(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "app") && path.join("Contents").is_dir()
}

/// The folder of an extension in one of the editors, and its version: the latest, as its editor takes it.
fn extension(user: &Path, name: &str) -> Option<(PathBuf, String)> {
    let mut found: Vec<_> = EXTENSION_FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(user.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(Result::ok))
        .filter_map(|entry| Some((entry.path(), version_of(entry.file_name().to_str()?, name)?)))
        .filter(|(folder, _)| folder.join("package.json").is_file())
        .collect();
    found.sort_by_key(|(_, version)| numbers(version));
    found.pop()
}

/// The version in the name of an extension's folder, `<publisher>.<name>-<version>[-<platform>]`.
fn version_of(folder: &str, extension: &str) -> Option<String> {
    let beginning = folder.get(..extension.len()).filter(|it| it.eq_ignore_ascii_case(extension))?;
    let version = folder[beginning.len()..].strip_prefix('-')?.split('-').next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::ground::tests::{bare, program};
    use frith_store::hosts;

    #[test]
    fn a_host_is_here_by_its_program_and_not_by_a_folder_that_it_left() {
        let folder = tempfile::tempdir().unwrap();
        let ground = bare(folder.path(), &|_| None);
        let claude = hosts::host("claude").unwrap();
        std::fs::create_dir_all(folder.path().join(".claude")).unwrap();
        std::fs::write(folder.path().join(".claude.json"), "{}").unwrap();
        assert!(!find(&ground, claude).is_here());
        program(&folder.path().join("bin/claude"));
        let found = find(&ground, claude);
        assert_eq!(found.variants.iter().map(|variant| variant.name).collect::<Vec<_>>(), [Some("cli")]);
        assert!(found.variant(Some("desktop")).is_none() && found.variant(None).is_some());
    }

    #[test]
    fn a_program_that_is_on_no_search_path_is_found_where_its_installer_puts_it() {
        let folder = tempfile::tempdir().unwrap();
        let ground = bare(folder.path(), &|_| None);
        program(&folder.path().join(".local/bin/claude"));
        let found = find(&ground, hosts::host("claude").unwrap());
        assert_eq!(found.variants[0].command, Some(folder.path().join(".local/bin/claude")));
    }

    #[test]
    fn an_extension_tells_its_version_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let ground = bare(folder.path(), &|_| None);
        let roo = hosts::host("roo").unwrap();
        for version in ["3.9.2", "3.10.0-linux-x64"] {
            let extension = folder.path().join(format!(".vscode/extensions/RooVeterinaryInc.roo-cline-{version}"));
            std::fs::create_dir_all(&extension).unwrap();
            assert!(!find(&ground, roo).variants.iter().any(|it| it.version.as_deref() == version.split('-').next()), "an empty folder");
            std::fs::write(extension.join("package.json"), "{}").unwrap();
        }
        assert_eq!(find(&ground, roo).variants[0].version.as_deref(), Some("3.10.0"));
        assert_eq!(version_of("continue.continue-theme-1.0.0", "continue.continue"), None);
    }
}
