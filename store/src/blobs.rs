//! Texts and attachments kept beside the store, each under the hash of its content. What is read has the hash it was
//! asked by, or is an error; nothing here decides what may be removed.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::StoreError,
    id::{BlobHash, UploadId},
};

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

    /// Reads the bytes with this hash without holding them, and says how many they are.
    ///
    /// # Errors
    /// They are not here, or are not what they were.
    fn check(&self, hash: BlobHash) -> Result<u64, StoreError> {
        self.get(hash).map(|bytes| bytes.len() as u64)
    }

    /// Up to `most` of the bytes with this hash, from `offset` on. They are what they were when [`Blobs::check`] last said so.
    ///
    /// # Errors
    /// They are not here.
    fn part(&self, hash: BlobHash, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        Ok(part_of(&self.get(hash)?, offset, most))
    }

    /// Takes a piece of a file on its way; the first has the offset 0, and one sent again replaces what came after it. False
    /// when pieces before it are missing.
    ///
    /// # Errors
    /// It could not be written.
    fn receive(&self, upload: UploadId, offset: u64, bytes: &[u8]) -> Result<bool, StoreError>;

    /// Ends a file's way: no piece is taken any more. When it returns what came is durable; its hash and length, or nothing
    /// when nothing came.
    ///
    /// # Errors
    /// It could not be made durable.
    fn complete(&self, upload: UploadId) -> Result<Option<(BlobHash, u64)>, StoreError>;

    /// Keeps a completed file under its hash, which [`Blobs::complete`] answered.
    ///
    /// # Errors
    /// It could not be made durable.
    fn adopt(&self, upload: UploadId, hash: BlobHash) -> Result<(), StoreError>;

    /// Forgets the files on their way that were on it at the last call too, and what interrupted writes left; with
    /// `all` every one.
    ///
    /// # Errors
    /// Something could not be removed.
    fn forget_uploads(&self, all: bool) -> Result<(), StoreError>;

    /// Every blob, in order of the hashes.
    ///
    /// # Errors
    /// They cannot be listed.
    fn list(&self) -> Result<Vec<BlobHash>, StoreError>;

    /// Removes a blob, if it is here.
    ///
    /// # Errors
    /// It could not be removed.
    fn remove(&self, hash: BlobHash) -> Result<(), StoreError>;
}

fn part_of(bytes: &[u8], offset: u64, most: usize) -> Vec<u8> {
    let from = usize::try_from(offset).map_or(bytes.len(), |from| from.min(bytes.len()));
    bytes[from..(from + most).min(bytes.len())].to_vec()
}

/// Blobs as files of a folder, spread over 256 folders by the first byte of their hash. A file on its way lies in a folder
/// of its own, where no hash ever leads.
#[derive(Debug)]
pub struct BlobFolder {
    root: PathBuf,
    /// What was on its way when uploads were last forgotten.
    seen: Mutex<Vec<PathBuf>>,
}

/// The folder of files on their way.
const INCOMING: &str = "incoming";
/// The ending of one that takes no more pieces.
const WHOLE: &str = ".whole";
/// How the name of a file begins that is being written.
const BEGUN: &str = ".new-";

impl BlobFolder {
    /// The blobs in this folder, which is made when the first one is kept.
    pub fn new(root: PathBuf) -> Self {
        Self { root, seen: Mutex::default() }
    }

    fn folder_and_path(&self, hash: BlobHash) -> (PathBuf, PathBuf) {
        let name = hash.to_string();
        let folder = self.root.join(&name[..2]);
        let path = folder.join(&name[2..]);
        (folder, path)
    }

    fn open(&self, hash: BlobHash) -> Result<fs::File, StoreError> {
        fs::File::open(self.folder_and_path(hash).1).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Blob { hash, damaged: false },
            _ => StoreError::from_io("read a text", error),
        })
    }

    fn incoming(&self, upload: UploadId) -> PathBuf {
        self.root.join(INCOMING).join(upload.to_string())
    }

    fn whole(&self, upload: UploadId) -> PathBuf {
        self.root.join(INCOMING).join(format!("{upload}{WHOLE}"))
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
        private_folder(&folder).map_err(|error| StoreError::from_io("make a folder for a text", error))?;
        write_whole(&folder, &path, bytes).map_err(|error| StoreError::from_io("keep a text", error))?;
        sync_folder(&folder)?;
        sync_folder(&self.root)?;
        Ok(hash)
    }

    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.open(hash)?.read_to_end(&mut bytes).map_err(|error| StoreError::from_io("read a text", error))?;
        if BlobHash::of(&bytes) != hash {
            return Err(StoreError::Blob { hash, damaged: true });
        }
        Ok(bytes)
    }

    fn check(&self, hash: BlobHash) -> Result<u64, StoreError> {
        let (found, length) = BlobHash::of_reader(self.open(hash)?).map_err(|error| StoreError::from_io("read an attachment", error))?;
        if found == hash { Ok(length) } else { Err(StoreError::Blob { hash, damaged: true }) }
    }

    fn part(&self, hash: BlobHash, offset: u64, most: usize) -> Result<Vec<u8>, StoreError> {
        let mut file = self.open(hash)?;
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(most as u64).read_to_end(&mut bytes));
        read.map_err(|error| StoreError::from_io("read an attachment", error))?;
        Ok(bytes)
    }

    fn receive(&self, upload: UploadId, offset: u64, bytes: &[u8]) -> Result<bool, StoreError> {
        let received = || {
            let path = self.incoming(upload);
            if offset == 0 {
                private_folder(&self.root.join(INCOMING))?;
            }
            let opened = fs::OpenOptions::new().write(true).create(offset == 0).truncate(false).open(&path);
            let mut file = match opened {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                opened => opened?,
            };
            if file.metadata()?.len() < offset {
                return Ok(false);
            }
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)?;
            Ok(true)
        };
        received().map_err(|error: io::Error| StoreError::from_io("keep an attachment", error))
    }

    fn complete(&self, upload: UploadId) -> Result<Option<(BlobHash, u64)>, StoreError> {
        let completed = || {
            let whole = self.whole(upload);
            match fs::rename(self.incoming(upload), &whole) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let file = match fs::OpenOptions::new().read(true).write(true).open(&whole) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            file.sync_all()?;
            BlobHash::of_reader(file).map(Some)
        };
        completed().map_err(|error: io::Error| StoreError::from_io("keep an attachment", error))
    }

    fn adopt(&self, upload: UploadId, hash: BlobHash) -> Result<(), StoreError> {
        let (folder, path) = self.folder_and_path(hash);
        let renamed = private_folder(&folder).and_then(|()| fs::rename(self.whole(upload), &path));
        renamed.map_err(|error| StoreError::from_io("keep an attachment", error))?;
        sync_folder(&folder)?;
        sync_folder(&self.root)
    }

    fn forget_uploads(&self, all: bool) -> Result<(), StoreError> {
        let there = files_of(&self.root.join(INCOMING))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (old, new): (Vec<_>, Vec<_>) = there.into_iter().partition(|path| all || seen.contains(path));
        *seen = new;
        old.iter().try_for_each(|path| remove_file(path))?;
        if !all {
            return Ok(());
        }
        for folder in folders_of(&self.root)? {
            let begun = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(BEGUN.as_bytes()));
            files_of(&folder)?.iter().filter(|path| begun(path)).try_for_each(|path| remove_file(path))?;
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        let mut found = Vec::new();
        for folder in folders_of(&self.root)? {
            let files = files_of(&folder)?;
            found.extend(files.iter().filter_map(|path| name_of(path)).filter(|hash| self.folder_and_path(*hash).0 == folder));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        remove_file(&self.folder_and_path(hash).1)
    }
}

/// The hash that the names of a file and its folder spell, exactly as it is written here.
/// Makes a folder that nobody else can look into, with those above it.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn name_of(path: &Path) -> Option<BlobHash> {
    let (folder, file) = (path.parent()?.file_name()?.to_str()?, path.file_name()?.to_str()?);
    let name = format!("{folder}{file}");
    let hash: BlobHash = name.parse().ok()?;
    (hash.to_string() == name).then_some(hash)
}

/// The folders for hashes, of which there are 256 at most.
fn folders_of(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 2) && path.is_dir();
    Ok(entries(root)?.into_iter().filter(is_ours).collect())
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    Ok(entries(folder)?.into_iter().filter(is_file).collect())
}

/// What lies in a folder; nothing in one that is not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let read = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    match read() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        read => read.map_err(|error: io::Error| StoreError::from_io("list the texts", error)),
    }
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::from_io("remove a text", error)),
        _ => Ok(()),
    }
}

/// Blobs in memory, for a world without a disk.
#[derive(Debug, Default)]
pub struct MemoryBlobs(Mutex<InMemory>);

/// What [`MemoryBlobs`] hold; also for other disks that are models.
#[derive(Debug, Clone, Default)]
pub struct InMemory {
    /// The blobs.
    pub blobs: BTreeMap<BlobHash, Vec<u8>>,
    /// Files on their way, and whether they take no more pieces.
    pub uploads: BTreeMap<UploadId, (Vec<u8>, bool)>,
}

impl InMemory {
    /// As [`Blobs::receive`].
    pub fn receive(&mut self, upload: UploadId, offset: u64, bytes: &[u8]) -> bool {
        if offset == 0 {
            self.uploads.entry(upload).or_default();
        }
        let Some((held, false)) = self.uploads.get_mut(&upload) else { return false };
        let Some(offset) = usize::try_from(offset).ok().filter(|offset| *offset <= held.len()) else { return false };
        held.truncate(offset);
        held.extend_from_slice(bytes);
        true
    }

    /// As [`Blobs::complete`].
    pub fn complete(&mut self, upload: UploadId) -> Option<(BlobHash, u64)> {
        let (held, whole) = self.uploads.get_mut(&upload)?;
        *whole = true;
        Some((BlobHash::of(held), held.len() as u64))
    }

    /// As [`Blobs::adopt`].
    pub fn adopt(&mut self, upload: UploadId, hash: BlobHash) {
        if let Some((held, _)) = self.uploads.remove(&upload) {
            self.blobs.insert(hash, held);
        }
    }
}

impl MemoryBlobs {
    fn lock(&self) -> MutexGuard<'_, InMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blobs for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let hash = BlobHash::of(bytes);
        self.lock().blobs.insert(hash, bytes.to_vec());
        Ok(hash)
    }

    fn get(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        self.lock().blobs.get(&hash).cloned().ok_or(StoreError::Blob { hash, damaged: false })
    }

    fn receive(&self, upload: UploadId, offset: u64, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.lock().receive(upload, offset, bytes))
    }

    fn complete(&self, upload: UploadId) -> Result<Option<(BlobHash, u64)>, StoreError> {
        Ok(self.lock().complete(upload))
    }

    fn adopt(&self, upload: UploadId, hash: BlobHash) -> Result<(), StoreError> {
        self.lock().adopt(upload, hash);
        Ok(())
    }

    fn forget_uploads(&self, _all: bool) -> Result<(), StoreError> {
        self.lock().uploads.clear();
        Ok(())
    }

    fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        Ok(self.lock().blobs.keys().copied().collect())
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        self.lock().blobs.remove(&hash);
        Ok(())
    }
}

/// The file appears under its name with all its bytes or not at all.
fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(BEGUN).tempfile_in(folder)?;
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
        assert!(matches!(blobs.check(hash), Err(StoreError::Blob { damaged: true, .. })));
        blobs.put(b"text").unwrap();
        assert_eq!(blobs.get(hash).unwrap(), b"text");
    }

    fn upload(n: u8) -> UploadId {
        UploadId::from_bytes([n; 16])
    }

    /// What holds of every kind of blobs.
    fn files_arrive_in_pieces(blobs: &dyn Blobs) {
        assert!(!blobs.receive(upload(1), 4, b"late").unwrap(), "its beginning is missing");
        assert!(blobs.receive(upload(1), 0, b"abcd").unwrap());
        assert!(blobs.receive(upload(1), 4, b"XXXX").unwrap());
        assert!(blobs.receive(upload(1), 4, b"ef").unwrap(), "a piece again replaces what came after it");
        assert!(!blobs.receive(upload(1), 7, b"h").unwrap(), "a piece before it is missing");
        let (hash, length) = blobs.complete(upload(1)).unwrap().unwrap();
        assert_eq!((hash, length), (BlobHash::of(b"abcdef"), 6));
        assert!(!blobs.receive(upload(1), 6, b"g").unwrap(), "it is complete");
        assert_eq!(blobs.complete(upload(1)).unwrap(), Some((hash, length)), "and stays so");
        blobs.adopt(upload(1), hash).unwrap();
        assert_eq!(blobs.complete(upload(1)).unwrap(), None);
        assert_eq!((blobs.get(hash).unwrap(), blobs.check(hash).unwrap()), (b"abcdef".to_vec(), 6));
        assert_eq!(blobs.part(hash, 2, 3).unwrap(), b"cde");
        assert_eq!(blobs.part(hash, 9, 3).unwrap(), b"");
        assert_eq!(blobs.list().unwrap(), [hash]);
        blobs.remove(hash).unwrap();
        blobs.remove(hash).unwrap();
        assert!(blobs.list().unwrap().is_empty());
    }

    #[test]
    fn files_arrive_in_pieces_in_a_folder_and_in_memory() {
        let home = tempfile::tempdir().unwrap();
        files_arrive_in_pieces(&BlobFolder::new(home.path().join("blobs")));
        files_arrive_in_pieces(&MemoryBlobs::default());
    }

    #[test]
    fn what_was_left_on_its_way_goes_and_only_what_a_hash_names_is_listed() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(home.path().into());
        let hash = blobs.put(b"text").unwrap();
        let (folder, path) = blobs.folder_and_path(hash);
        fs::write(folder.join(".new-left"), "x").unwrap();
        fs::write(folder.join("README"), "x").unwrap();
        fs::write(path.with_file_name(path.file_name().unwrap().to_str().unwrap().to_uppercase()), "x").unwrap();
        blobs.receive(upload(1), 0, b"old").unwrap();
        blobs.forget_uploads(false).unwrap();
        blobs.receive(upload(2), 0, b"new").unwrap();
        blobs.forget_uploads(false).unwrap();
        assert!(!blobs.incoming(upload(1)).exists() && blobs.incoming(upload(2)).exists());
        blobs.forget_uploads(true).unwrap();
        assert!(!blobs.incoming(upload(2)).exists() && !folder.join(".new-left").exists());
        assert!(folder.join("README").exists());
        assert_eq!(blobs.list().unwrap(), [hash]);
    }
}
