//! Telling the manager that started this process how far it is: one datagram to the socket that it named. Without one there is
//! nobody to tell.

use std::{ffi::OsStr, io, os::unix::net::UnixDatagram, path::Path};

use crate::environment;

/// Tells the manager, as `READY=1`. One that does not listen is no reason to stop.
pub fn notify(state: &str) {
    if let Some(socket) = environment::read("NOTIFY_SOCKET")
        && let Err(error) = send(&socket, state)
    {
        tracing::warn!(%error, "the service manager could not be told `{state}`");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let from = UnixDatagram::unbound()?;
    match socket.as_encoded_bytes().split_first() {
        Some((b'@', name)) => send_to_name(&from, name, state),
        _ => from.send_to(state.as_bytes(), Path::new(socket)).map(drop),
    }
}

/// A socket that has a name and no file, as Linux alone knows them.
#[cfg(target_os = "linux")]
fn send_to_name(from: &UnixDatagram, name: &[u8], state: &str) -> io::Result<()> {
    use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};
    from.send_to_addr(state.as_bytes(), &SocketAddr::from_abstract_name(name)?).map(drop)
}

/// A socket that has a name and no file, as Linux alone knows them.
#[cfg(target_os = "macos")]
fn send_to_name(_: &UnixDatagram, _: &[u8], _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
