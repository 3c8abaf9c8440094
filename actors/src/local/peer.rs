//! Who is at the other end of a local socket, as the kernel tells. The one place where systems differ in it.

use std::{io, os::unix::net::UnixStream};

/// The process at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub user: u32,
    /// Its number, where the system tells.
    pub pid: Option<u32>,
}

/// The user this process acts as.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Who is at the other end: of a listener, whoever made it listen.
///
/// # Errors
/// The socket is no longer connected.
#[cfg(target_os = "linux")]
pub fn of(stream: &UnixStream) -> io::Result<Peer> {
    let found = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(Peer { user: found.uid.as_raw(), pid: u32::try_from(found.pid.as_raw_nonzero().get()).ok() })
}

/// Who is at the other end: of a listener, whoever made it listen.
///
/// # Errors
/// The socket is no longer connected.
#[cfg(target_os = "macos")]
pub fn of(stream: &UnixStream) -> io::Result<Peer> {
    let (user, _) = nix::unistd::getpeereid(stream)?;
    let pid = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::LocalPeerPid).ok();
    Ok(Peer { user: user.as_raw(), pid: pid.and_then(|pid| u32::try_from(pid).ok()) })
}

/// Whether a process was stopped by a signal and waits for another to go on; false where the system does not tell.
#[cfg(target_os = "linux")]
pub fn is_stopped(pid: u32) -> bool {
    let row = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command's name, which may hold anything but ends with the last bracket.
    let state = row.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("T" | "t"))
}

/// Whether a process was stopped by a signal and waits for another to go on; false where the system does not tell.
#[cfg(target_os = "macos")]
pub fn is_stopped(pid: u32) -> bool {
    /// `SSTOP` of `sys/proc.h`.
    const STOPPED: u32 = 4;
    let facts = i32::try_from(pid).ok().and_then(|pid| libproc::proc_pid::pidinfo::<libproc::bsd_info::BSDInfo>(pid, 0).ok());
    facts.is_some_and(|facts| facts.pbi_status == STOPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_user_and_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(of(&one).unwrap(), Peer { user: own_user(), pid: Some(std::process::id()) });
    }
}
