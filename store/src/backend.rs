//! Where the rows' file comes from: a file of this system, or whatever stands in for one.

use std::{fs, io, ops::Bound, path::Path, sync::Arc};

use redb::StorageBackend;

use crate::error::StoreError;

/// The file of a store, made with mode 0600 when it is not there.
///
/// # Errors
/// It cannot be opened for writing, or is no file.
pub fn file_backend(path: &Path) -> Result<Arc<dyn StorageBackend>, StoreError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    backend_of(path, file)
}

/// The file of a store that may not be written.
///
/// # Errors
/// It is not there or cannot be read.
pub fn file_backend_read_only(path: &Path) -> Result<Arc<dyn StorageBackend>, StoreError> {
    backend_of(path, fs::File::open(path))
}

fn backend_of(path: &Path, file: io::Result<fs::File>) -> Result<Arc<dyn StorageBackend>, StoreError> {
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path: path.to_owned() },
        _ => StoreError::from_io("open its file", error),
    })?;
    let backend = redb::backends::FileBackend::new(file);
    Ok(Arc::new(backend.map_err(|error| StoreError::from_io("open its file", io::Error::other(error)))?))
}

/// The backend, shared by one opening of the file after another.
#[derive(Debug)]
pub(crate) struct Shared(pub Arc<dyn StorageBackend>);

impl StorageBackend for Shared {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> Result<(), io::Error> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.write(offset, data)
    }
    fn close(&self) -> Result<(), io::Error> {
        self.0.close()
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, redb::BackendError> {
        self.0.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, redb::BackendError> {
        self.0.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.0.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.0.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.0.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, redb::BackendError> {
        self.0.query_lock_range(start, end)
    }
}
