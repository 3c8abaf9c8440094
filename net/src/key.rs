//! The machine's key: one Ed25519 key pair in a file that only its owner may read.
//!
//! The secret never leaves this module but into that file. Nothing here draws randomness: it is handed in.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use frith_store::{id::MachineId, text::PathText, tx::Signer};
use rustix::fs::OFlags;

use crate::error::{KEY_LENGTH, KeyError};

/// A machine's key pair.
pub struct MachineKey(SigningKey);

impl std::fmt::Debug for MachineKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MachineKey({})", self.machine())
    }
}

impl MachineKey {
    /// The key made of 32 secret bytes.
    pub fn from_secret(secret: &[u8; KEY_LENGTH]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The key in this file, if the file is there.
    ///
    /// # Errors
    /// [`KeyError`] when it is no ordinary file, is not the caller's alone, or holds no key.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyError> {
        let file = OpenOptions::new().read(true).custom_flags(as_given(OFlags::NOFOLLOW | OFlags::NONBLOCK)).open(path);
        match file {
            Ok(file) => read_secret(path, file).map(|secret| Some(Self::from_secret(&secret))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if is_link(&error) => Err(KeyError::NoFile { path: path.into() }),
            Err(error) => Err(failed(path, "read", error)),
        }
    }

    /// Writes the key made of `secret` into a new file: whole, on disk and with mode 0600, or not at all. The caller
    /// holds the home's lock, so no other process makes one meanwhile.
    ///
    /// # Errors
    /// [`KeyError::Io`], also when a file is there already: a key is never replaced.
    pub fn create(path: &Path, secret: &[u8; KEY_LENGTH]) -> Result<Self, KeyError> {
        let beside = path.with_extension("new");
        let written = write_secret(&beside, secret).and_then(|()| publish(&beside, path));
        written.map_err(|error| failed(path, "written", error))?;
        Ok(Self::from_secret(secret))
    }

    /// The machine whose key this is.
    pub fn machine(&self) -> MachineId {
        MachineId::of_key(&self.public())
    }

    /// The public half.
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }
}

impl Signer for MachineKey {
    fn public_key(&self) -> [u8; 32] {
        self.public()
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        ed25519_dalek::Signer::sign(&self.0, message).to_bytes()
    }
}

/// Whether `signature` is that of the machine with this public key under `message`; a weak key's never is.
pub fn is_signed_by(public_key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(public_key).is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
}

fn read_secret(path: &Path, file: File) -> Result<[u8; KEY_LENGTH], KeyError> {
    let facts = file.metadata().map_err(|error| failed(path, "read", error))?;
    let user = rustix::process::geteuid().as_raw();
    if !facts.is_file() {
        return Err(KeyError::NoFile { path: path.into() });
    }
    if facts.uid() != user {
        return Err(KeyError::Foreign { path: path.into(), owner: facts.uid(), user });
    }
    if facts.mode() & 0o077 != 0 {
        return Err(KeyError::Open { path: path.into(), mode: facts.mode() & 0o7777 });
    }
    let mut bytes = Vec::with_capacity(KEY_LENGTH + 1);
    file.take(KEY_LENGTH as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(path, "read", error))?;
    bytes.try_into().map_err(|_| KeyError::NoKey { path: path.into(), length: facts.len() })
}

fn write_secret(beside: &Path, secret: &[u8]) -> io::Result<()> {
    match std::fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(as_given(OFlags::NOFOLLOW)).open(beside)?;
    file.write_all(secret)?;
    file.sync_all()
}

fn publish(beside: &Path, path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(beside)?;
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(beside, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn as_given(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn failed(path: &Path, verb: &'static str, source: io::Error) -> KeyError {
    KeyError::Io { path: PathText::from(path), verb, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn home() -> (tempfile::TempDir, std::path::PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        (home, path)
    }

    #[test]
    fn a_key_is_made_once_and_read_back() {
        let (home, path) = home();
        assert!(MachineKey::load(&path).unwrap().is_none());
        let made = MachineKey::create(&path, &[7; 32]).unwrap();
        let read = MachineKey::load(&path).unwrap().unwrap();
        assert_eq!((made.public(), made.machine()), (read.public(), read.machine()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert!(matches!(MachineKey::create(&path, &[8; 32]), Err(KeyError::Io { .. })));
        assert_eq!(MachineKey::load(&path).unwrap().unwrap().public(), made.public());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_half_written_key_of_an_earlier_start_is_no_key() {
        let (_home, path) = home();
        fs::write(path.with_extension("new"), b"half").unwrap();
        assert!(MachineKey::load(&path).unwrap().is_none());
        MachineKey::create(&path, &[7; 32]).unwrap();
        assert!(MachineKey::load(&path).unwrap().is_some());
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_its_remedy() {
        let (_home, path) = home();
        MachineKey::create(&path, &[7; 32]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = MachineKey::load(&path).unwrap_err();
        assert!(matches!(error, KeyError::Open { mode: 0o640, .. }), "{error}");
        assert!(error.hint().unwrap().contains("chmod 600"));
    }

    #[test]
    fn a_link_a_folder_and_a_short_file_are_no_key() {
        let (home, path) = home();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(MachineKey::load(&path), Err(KeyError::NoFile { .. })));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(MachineKey::load(&path), Err(KeyError::NoFile { .. })));
        fs::remove_dir(&path).unwrap();
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap().write_all(b"short").unwrap();
        assert!(matches!(MachineKey::load(&path), Err(KeyError::NoKey { length: 5, .. })));
    }

    #[test]
    fn g03_making_a_key_follows_no_link_that_waits_for_it() {
        let (home, path) = home();
        let victim = home.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, path.with_extension("new")).unwrap();
        MachineKey::create(&path, &[7; 32]).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn only_the_owner_s_signature_counts() {
        let (one, two) = (MachineKey::from_secret(&[1; 32]), MachineKey::from_secret(&[2; 32]));
        let signature = one.sign(b"yes");
        assert!(is_signed_by(&one.public(), b"yes", &signature));
        assert!(!is_signed_by(&one.public(), b"no", &signature));
        assert!(!is_signed_by(&two.public(), b"yes", &signature));
    }
}
