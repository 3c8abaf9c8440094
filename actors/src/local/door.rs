//! Where the socket of a home lies, and making it.
//!
//! It lies in the home. A home whose path is too long for a socket has it in a folder of the user's own elsewhere, and a
//! note in the home says where, so that processes with different environments agree. That folder must be the user's,
//! closed to others and no link, on both sides.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStringExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use super::{LocalError, lock::HomeLock, peer::own_user};

/// The most bytes of a socket's path, as the system's address has room for.
#[cfg(target_os = "linux")]
pub const PATH_MOST: usize = 107;
/// The most bytes of a socket's path, as the system's address has room for.
#[cfg(target_os = "macos")]
pub const PATH_MOST: usize = 103;

/// Where a short path may begin.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The user's runtime folder, if the system has one.
    pub runtime: Option<PathBuf>,
    /// The folder for temporary files.
    pub temporary: PathBuf,
}

/// The socket's path for one who wants to connect; none when the home's path is too long and no node has noted another.
///
/// # Errors
/// The noted folder is not only ours.
pub fn find(home: &Path) -> Result<Option<PathBuf>, LocalError> {
    let plain = home.join("node.sock");
    if fits(&plain) {
        return Ok(Some(plain));
    }
    let Some(noted) = read_note(&note_path(home)).map_err(|error| LocalError::io(&note_path(home), "read", error))? else {
        return Ok(None);
    };
    if let Some(folder) = noted.parent() {
        check_folder(folder)?;
    }
    Ok(Some(noted))
}

/// A socket that listens, with what is needed to take it away again.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    identity: (u64, u64),
}

impl Door {
    /// Makes the socket listen, in place of one that a node left behind: the lock proves that no node is there.
    ///
    /// # Errors
    /// No path is short enough, its folder is not only ours, or the system refuses.
    pub fn open(_lock: &HomeLock, home: &Path, elsewhere: &Elsewhere) -> Result<Self, LocalError> {
        let path = choose(home, elsewhere)?;
        let failed = |error| LocalError::io(&path, "made to listen", error);
        remove_left_behind(&path).map_err(failed)?;
        let listener = bind_closed(&path).map_err(failed)?;
        let identity = identity(&path).map_err(failed)?;
        Ok(Self { listener, path, identity })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The listening socket, for a runtime.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn listener(&self) -> io::Result<UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Whether its own socket still stands where it was made.
    pub fn is_there(&self) -> bool {
        identity(&self.path).is_ok_and(|now| now == self.identity)
    }

    /// Takes the socket away, unless another has taken its path since.
    pub fn close(self) {
        if self.is_there() {
            // Left behind, it does no harm: the next node replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let facts = path.symlink_metadata()?;
    Ok((facts.dev(), facts.ino()))
}

fn remove_left_behind(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Binds with a mask that lets nobody else in from the first moment. Some systems cannot change a socket's mode, and
/// with the mask and the closed folder nothing has to.
fn bind_closed(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    bound
}

fn choose(home: &Path, elsewhere: &Elsewhere) -> Result<PathBuf, LocalError> {
    let plain = home.join("node.sock");
    if fits(&plain) {
        return Ok(plain);
    }
    let path = short_path(home, elsewhere)?;
    write_note(&note_path(home), &path).map_err(|error| LocalError::io(&note_path(home), "written", error))?;
    Ok(path)
}

fn short_path(home: &Path, elsewhere: &Elsewhere) -> Result<PathBuf, LocalError> {
    let name = format!("{}.sock", &blake3::hash(home.as_os_str().as_encoded_bytes()).to_hex()[..16]);
    let runtime = elsewhere.runtime.iter().filter(|folder| folder.is_absolute() && folder.is_dir()).map(|folder| folder.join("frith"));
    let ours = format!("frith-{}", own_user());
    let temporary = [elsewhere.temporary.join(&ours), Path::new("/tmp").join(&ours)];
    let mut last = PathBuf::new();
    for folder in runtime.chain(temporary) {
        last = folder.join(&name);
        if fits(&last) {
            make_folder(&folder)?;
            return Ok(last);
        }
    }
    Err(LocalError::PathTooLong { length: last.as_os_str().len(), path: last.as_path().into(), most: PATH_MOST })
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= PATH_MOST
}

fn make_folder(folder: &Path) -> Result<(), LocalError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(LocalError::io(folder, "made", error)),
        _ => check_folder(folder),
    }
}

/// A folder in which nobody else can put a socket.
fn check_folder(folder: &Path) -> Result<(), LocalError> {
    let facts = folder.symlink_metadata().map_err(|error| LocalError::io(folder, "read", error))?;
    let fault = match () {
        () if !facts.is_dir() => "is no folder",
        () if facts.uid() != own_user() => "belongs to somebody else",
        () if facts.mode() & 0o077 != 0 => "is open to others",
        () => return Ok(()),
    };
    Err(LocalError::UnsafeFolder { folder: folder.into(), fault })
}

fn note_path(home: &Path) -> PathBuf {
    home.join("node.sock.path")
}

fn read_note(path: &Path) -> io::Result<Option<PathBuf>> {
    let file = match OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(PATH_MOST as u64).read_to_end(&mut bytes)?;
    let noted = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    Ok(noted.is_absolute().then_some(noted))
}

fn write_note(path: &Path, socket: &Path) -> io::Result<()> {
    let beside = path.with_extension("new");
    remove_left_behind(&beside)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(socket.as_os_str().as_encoded_bytes())?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::{super::lock::Locked, *};
    use std::os::unix::{fs::PermissionsExt as _, net::UnixStream};

    fn locked(home: &Path) -> HomeLock {
        match HomeLock::take(home).unwrap() {
            Locked::Ours(lock) => lock,
            Locked::Taken(_) => panic!("the home is new"),
        }
    }

    fn elsewhere(root: &Path) -> Elsewhere {
        Elsewhere { runtime: None, temporary: root.to_owned() }
    }

    fn long_home(root: &Path) -> PathBuf {
        let home = root.join("x".repeat(PATH_MOST));
        fs::create_dir(&home).unwrap();
        home
    }

    #[test]
    fn g02_the_socket_is_closed_to_others_from_its_first_moment() {
        let root = tempfile::tempdir().unwrap();
        let door = Door::open(&locked(root.path()), root.path(), &elsewhere(root.path())).unwrap();
        assert_eq!(fs::metadata(door.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(find(root.path()).unwrap().unwrap(), door.path());
    }

    #[test]
    fn a_home_with_a_long_path_has_its_socket_elsewhere_and_both_sides_agree() {
        let root = tempfile::tempdir_in("/tmp").unwrap();
        let home = long_home(root.path());
        assert_eq!(find(&home).unwrap(), None);
        let door = Door::open(&locked(&home), &home, &elsewhere(root.path())).unwrap();
        let found = find(&home).unwrap().unwrap();
        assert_eq!(found, door.path());
        assert!(found.starts_with(root.path().join(format!("frith-{}", own_user()))) && fits(&found));
        UnixStream::connect(found).unwrap();
    }

    #[test]
    fn g01_a_folder_elsewhere_that_is_a_link_or_open_to_others_is_refused_on_both_sides() {
        let root = tempfile::tempdir_in("/tmp").unwrap();
        let home = long_home(root.path());
        let lock = locked(&home);
        let ours = root.path().join(format!("frith-{}", own_user()));
        std::os::unix::fs::symlink(root.path(), &ours).unwrap();
        let open = || Door::open(&lock, &home, &elsewhere(root.path()));
        assert!(matches!(open(), Err(LocalError::UnsafeFolder { fault: "is no folder", .. })));
        fs::remove_file(&ours).unwrap();
        open().unwrap();
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(open(), Err(LocalError::UnsafeFolder { fault: "is open to others", .. })));
        assert!(matches!(find(&home), Err(LocalError::UnsafeFolder { .. })));
    }

    #[test]
    fn e07_a_node_takes_away_its_own_socket_and_never_its_successor_s() {
        let root = tempfile::tempdir().unwrap();
        let lock = locked(root.path());
        let first = Door::open(&lock, root.path(), &elsewhere(root.path())).unwrap();
        let second = Door::open(&lock, root.path(), &elsewhere(root.path())).unwrap();
        let path = second.path().to_owned();
        first.close();
        UnixStream::connect(&path).unwrap();
        second.close();
        assert!(!path.exists());
    }
}
