//! One line in the file that a host's shells read, which names the agent to them. Nothing that fails here is told: the agent
//! is found without it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use frith_store::id::AgentId;
use rustix::{fs::OFlags, io::Errno};

use crate::env::process::AGENT_VARIABLE;

/// The most of the file that is looked at.
const LOOK_MOST: u64 = 256 * 1024;

/// Appends the line that names the agent, unless it is there.
///
/// # Errors
/// The file cannot be read or written, or is no file. A link to nothing is not followed.
pub fn name_agent(file: &Path, agent: AgentId) -> io::Result<()> {
    let line = format!("export {AGENT_VARIABLE}={agent}");
    let mut file = open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    (&file).take(LOOK_MOST).read_to_end(&mut text)?;
    if text.split(|byte| *byte == b'\n').any(|found| found == line.as_bytes()) {
        return Ok(());
    }
    let begin = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{begin}{line}\n").as_bytes())
}

/// Opens the file, made where it is not there. One behind a link has to be there.
fn open(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    let flags = |flags: OFlags| flags.bits().cast_signed();
    match options.clone().create(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK)).open(file) {
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => options.custom_flags(flags(OFlags::NONBLOCK)).open(file),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn agent(byte: u8) -> AgentId {
        AgentId::from_random([byte; 16])
    }

    fn line(byte: u8) -> String {
        format!("export FRITH_AGENT_ID={}\n", agent(byte))
    }

    #[test]
    fn the_line_is_appended_once_and_what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hook-0.sh");
        name_agent(&file, agent(1)).unwrap();
        name_agent(&file, agent(1)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), line(1));
        std::fs::write(&file, "export A=1").unwrap();
        name_agent(&file, agent(1)).unwrap();
        name_agent(&file, agent(2)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("export A=1\n{}{}", line(1), line(2)));
    }

    #[test]
    fn a_link_to_a_file_is_followed_and_one_to_nothing_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        symlink(&target, &link).unwrap();
        name_agent(&link, agent(1)).unwrap_err();
        assert!(!target.exists());
        std::fs::write(&target, "").unwrap();
        name_agent(&link, agent(1)).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), line(1));
    }

    #[test]
    fn what_is_no_file_is_let_be_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        name_agent(folder.path(), agent(1)).unwrap_err();
        name_agent(&folder.path().join("none/here"), agent(1)).unwrap_err();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        name_agent(&pipe, agent(1)).unwrap_err();
    }
}
