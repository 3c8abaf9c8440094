//! The node as a service of the system: its definition, where it lies, and the commands by which the system's manager is told.
//!
//! Each manager is a row; the text of each is made on every system, so that tests read both. Nothing here asks a node.

mod launchd;
mod notify;
mod systemd;

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use frith_store::id::BlobHash;

use crate::{
    environment,
    failure::{Failure, Told},
};

pub use notify::notify;

/// What a service is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name, which tells the home.
    pub name: String,
    /// The node's home.
    pub home: String,
    /// The program.
    pub program: String,
    /// Where commands are found, for agents that the node starts by itself.
    pub path: String,
}

/// A command line.
pub type Words = Vec<String>;

/// A manager of services.
pub struct Manager {
    /// What people call it.
    pub word: &'static str,
    /// Where a service's definition lies; none when the user has no folder.
    pub file: fn(name: &str) -> Option<PathBuf>,
    /// The definition.
    pub text: fn(&Service) -> String,
    /// Succeeds when the manager answers this user.
    probe: fn() -> Words,
    /// Makes a definition count from the next login on.
    enable: fn(name: &str) -> Vec<Words>,
    /// Starts the service, and returns once its node is up or has failed.
    start: fn(name: &str, file: &Path) -> Words,
    /// Takes it back before the definition goes, and after; a node that runs goes on.
    disable: fn(name: &str) -> [Vec<Words>; 2],
    /// Tells, among other things, the process of a service.
    process: fn(name: &str) -> Words,
    /// Tells whether services outlive the user's last session, and what makes them.
    lingers: Option<fn() -> (Words, &'static str)>,
}

/// How every definition begins that is ours to write anew and to remove.
const OURS: &str = "Written by `frith up --install-service`";

/// The manager of this system.
pub fn manager() -> &'static Manager {
    if cfg!(target_os = "macos") { &launchd::MANAGER } else { &systemd::MANAGER }
}

/// The service of a home: the usual one is called `frith`, each other by its home.
pub fn name_of(home: &Path) -> String {
    let usual = environment::user_folder().map(|folder| folder.join(".frith"));
    if usual.as_deref() == Some(home) {
        return "frith".into();
    }
    format!("frith-{}", &BlobHash::of(home.as_os_str().as_encoded_bytes()).to_string()[..8])
}

/// Where the definition of a home's service lies, if there is one of ours.
pub fn installed(home: &Path) -> Option<PathBuf> {
    let file = (manager().file)(&name_of(home))?;
    is_ours(&file).then_some(file)
}

/// The service that this program in this environment would be.
///
/// # Errors
/// A path cannot be written into a definition.
pub fn here(home: &Path) -> Result<Service, Failure> {
    let program = program()?;
    let path = environment::read("PATH").unwrap_or_default();
    let text = |what: &str, path: &Path| match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(Failure::Broken(Told::new(format!("the {what} `{}` is no plain text, as a service needs it", path.display())))),
    };
    Ok(Service {
        name: name_of(home),
        home: text("home", home)?,
        program: text("program", &program)?,
        path: text("search path", Path::new(&path))?,
    })
}

/// This program: under the name on the search path where that leads to it, since an upgrade keeps that name.
///
/// # Errors
/// The system does not tell.
pub fn program() -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| Failure::Broken(Told::because("the system does not tell which program this is", &error));
    let this = std::env::current_exe().map_err(failed)?;
    let real = fs::canonicalize(&this).unwrap_or_else(|_| this.clone());
    let named = environment::find_command("frith").filter(|named| fs::canonicalize(named).is_ok_and(|path| path == real));
    Ok(named.unwrap_or(this))
}

impl Manager {
    /// Checks that the manager answers this user.
    ///
    /// # Errors
    /// It does not, as in a container.
    pub fn require(&self) -> Result<(), Failure> {
        run(&(self.probe)()).map(drop).map_err(|fault| {
            let told = Told { facts: vec![format!("{} does not answer here", self.word), fault], hint: None };
            Failure::Broken(told.hint("without it run `frith up`; `frith up --install-service --dry-run` shows what would be installed"))
        })
    }

    /// Makes a definition count.
    ///
    /// # Errors
    /// The manager said no.
    pub fn enable(&self, name: &str) -> Result<(), Failure> {
        (self.enable)(name).iter().try_for_each(told)
    }

    /// Starts the service, and waits until its node is up.
    ///
    /// # Errors
    /// The manager said no.
    pub fn start(&self, name: &str, file: &Path) -> Result<(), Failure> {
        told(&(self.start)(name, file))
    }

    /// Takes a service back and removes its definition. A node that runs goes on.
    ///
    /// # Errors
    /// The manager said no, or the file cannot be removed.
    pub fn remove(&self, name: &str, file: &Path) -> Result<(), Failure> {
        let [before, after] = (self.disable)(name);
        before.iter().try_for_each(told)?;
        fs::remove_file(file).map_err(|error| cannot_write(file, &error))?;
        after.iter().try_for_each(told)
    }

    /// Whether this process is the service's.
    pub fn runs(&self, name: &str, pid: u32) -> bool {
        let numbers = |said: &str| said.split(|c: char| !c.is_ascii_digit()).any(|number| number.parse() == Ok(pid));
        run(&(self.process)(name)).is_ok_and(|said| numbers(&said))
    }

    /// What makes services outlive the user's last session, where they do not.
    pub fn linger_hint(&self) -> Option<&'static str> {
        let (words, hint) = self.lingers?();
        run(&words).is_ok_and(|said| said.trim().ends_with("no")).then_some(hint)
    }
}

/// Whether a definition is one of ours.
fn is_ours(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(OURS))
}

/// Writes a definition, unless it says so already. Answers whether it was written.
///
/// # Errors
/// It cannot be written, or somebody else's is there.
pub fn write(file: &Path, text: &str) -> Result<bool, Failure> {
    if fs::read_to_string(file).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    if file.symlink_metadata().is_ok() && !is_ours(file) {
        let told = Told::new(format!("`{}` is there, and frith did not write it", file.display()));
        return Err(Failure::Declined(told.hint("move it away first")));
    }
    put(file, text).map_err(|error| cannot_write(file, &error))?;
    Ok(true)
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    Failure::Broken(Told::because(format!("`{}` cannot be written", file.display()), error))
}

/// The file appears with all its text or not at all.
fn put(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(beside, file)
}

fn told(words: &Words) -> Result<(), Failure> {
    run(words).map(drop).map_err(|fault| Failure::Broken(Told { facts: vec![format!("`{}` failed", words.join(" ")), fault], hint: None }))
}

/// Runs a command of the manager; what it said, or why it failed.
fn run(words: &Words) -> Result<String, String> {
    let (program, args) = words.split_first().ok_or("no command")?;
    let program = environment::find_command(program).ok_or_else(|| format!("`{program}` is not on the search path"))?;
    let done = Command::new(program).args(args).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match (done.status.success(), text(&done.stderr)) {
        (true, _) => Ok(text(&done.stdout)),
        (false, said) if said.is_empty() => Err(done.status.to_string()),
        (false, said) => Err(said),
    }
}

fn words(line: &[&str]) -> Words {
    line.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            name: "frith".into(),
            home: "/home/ada/my $home 100%/.frith".into(),
            program: "/opt/frith \"2\"/bin/frith".into(),
            path: "/home/ada/.cargo/bin:/usr/bin".into(),
        }
    }

    #[test]
    fn definitions_say_what_a_node_needs_and_nothing_of_the_environment_else() {
        insta::assert_snapshot!("systemd", (systemd::MANAGER.text)(&service()));
        insta::assert_snapshot!("launchd", (launchd::MANAGER.text)(&service()));
    }

    #[test]
    fn a_definition_is_written_once_and_never_over_somebody_else_s() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/frith.service");
        let text = (systemd::MANAGER.text)(&service());
        assert!(write(&file, &text).unwrap() && !write(&file, &text).unwrap());
        assert!(write(&file, &text.replace("/opt", "/usr")).unwrap());
        fs::write(&file, "[Service]\nExecStart=mine\n").unwrap();
        assert!(write(&file, &text).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "[Service]\nExecStart=mine\n");
    }
}
