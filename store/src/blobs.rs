//! Texts and attachments kept beside the store, each under the hash of its content. What is read has the hash it was
//! asked by, or is an error; nothing here decides what may be removed.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{error::StoreError, id::BlobHash};

/// Where blobs are kept.
pub trait Blobs: Send + Sync {
    /// Keeps these bytes. When it returns they are durable.
    ///
    /// # Errors
    /// They could not be made durable.
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError>;

    /// The bytes with this hash.
    ///
    /// # Errors
    /// They are not here, or are not what they were.
    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError>;

    /// The hash of everything that is here, in order.
    ///
    /// # Errors
    /// It cannot be listed.
    fn list(&self) -> Result<Vec<BlobHash>, StoreError>;
}

/// Blobs as files of a folder, spread over 256 folders by the first byte of their hash.
#[derive(Debug, Clone)]
pub struct BlobFolder {
    root: PathBuf,
}

impl BlobFolder {
    /// The blobs in this folder, which is made when the first one is kept.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn folder_and_path(&self, hash: BlobHash) -> (PathBuf, PathBuf) {
        let name = hash.to_string();
        let folder = self.root.join(&name[..2]);
        let path = folder.join(&name[2..]);
        (folder, path)
    }
}

impl Blobs for BlobFolder {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let hash = BlobHash::of(bytes);
        let (folder, path) = self.folder_and_path(hash);
        if fs::read(&path).is_ok_and(|there| there == bytes) {
            sync_folder(&folder)?;
            return Ok(hash);
        }
        fs::create_dir_all(&folder).map_err(|error| StoreError::from_io("make a folder for a text", error))?;
        write_whole(&folder, &path, bytes).map_err(|error| StoreError::from_io("keep a text", error))?;
        sync_folder(&folder)?;
        sync_folder(&self.root)?;
        Ok(hash)
    }

    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        let bytes = match fs::read(self.folder_and_path(hash).1) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(StoreError::Blob { hash, damaged: false }),
            Err(error) => return Err(StoreError::from_io("read a text", error)),
        };
        if BlobHash::of(&bytes) != hash {
            return Err(StoreError::Blob { hash, damaged: true });
        }
        Ok(bytes)
    }

    fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        let mut found = Vec::new();
        for folder in names_in(&self.root)?.into_iter().filter(|name| name.len() == 2) {
            for name in names_in(&self.root.join(&folder))? {
                // What is on its way to its name has another one until then.
                found.extend(format!("{folder}{name}").parse::<BlobHash>());
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The names in a folder, as far as they are text; none where there is no folder.
fn names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |error| StoreError::from_io("list its texts", error);
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
        Ok(entries) => {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).map_err(failed));
            names.filter_map(Result::transpose).collect()
        }
    }
}

/// Blobs in memory, for a world without a disk.
#[derive(Debug, Default)]
pub struct MemoryBlobs(Mutex<BTreeMap<BlobHash, Vec<u8>>>);

impl Blobs for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let hash = BlobHash::of(bytes);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, bytes.to_vec());
        Ok(hash)
    }

    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        let blobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blobs.get(&hash).cloned().ok_or(StoreError::Blob { hash, damaged: false })
    }

    fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect())
    }
}

/// The file appears under its name with all its bytes or not at all.
fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| StoreError::from_io("keep a text", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_comes_back_and_is_kept_once() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(home.path().join("blobs"));
        let hash = blobs.put(b"text").unwrap();
        assert_eq!(blobs.put(b"text").unwrap(), hash);
        assert_eq!(blobs.get(hash).unwrap(), b"text");
        let (folder, _) = blobs.folder_and_path(hash);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        assert_eq!(blobs.list().unwrap(), [hash]);
    }

    #[test]
    fn a_missing_and_a_damaged_blob_are_told_apart_and_putting_it_again_mends_it() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(home.path().into());
        let hash = BlobHash::of(b"text");
        assert!(matches!(blobs.get(hash), Err(StoreError::Blob { damaged: false, .. })));
        blobs.put(b"text").unwrap();
        fs::write(blobs.folder_and_path(hash).1, b"tex").unwrap();
        assert!(matches!(blobs.get(hash), Err(StoreError::Blob { damaged: true, .. })));
        blobs.put(b"text").unwrap();
        assert_eq!(blobs.get(hash).unwrap(), b"text");
    }
}
