//! The rows on disk: redb behind [`Rows`]. A failure to write closes the file, and the next use opens it again.

use std::{
    cell::RefCell,
    io,
    ops::Bound,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use redb::{ReadableDatabase as _, ReadableTable as _, StorageBackend, TableDefinition};

use crate::{
    backend::Shared,
    error::StoreError,
    rows::{Rows, RowsMut, Scan, Table, Visit},
};

type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

const FACTS: Definition = TableDefinition::new("facts");
const VIEWS: Definition = TableDefinition::new("views");
const LOCAL: Definition = TableDefinition::new("local");

/// One file of rows.
pub struct Database {
    path: PathBuf,
    cache_bytes: usize,
    backend: Arc<dyn StorageBackend>,
    writable: bool,
    slot: RwLock<Slot>,
}

enum Slot {
    Open(File),
    /// A read or a write failed; the next use opens the file again.
    Failed,
    Closed,
}

enum File {
    Writable(redb::Database),
    ReadOnly(redb::ReadOnlyDatabase),
}

impl Database {
    /// Opens the rows in `backend`, or begins them when it is empty. `path` is what people know it as.
    ///
    /// # Errors
    /// The file is damaged, in use, or cannot be read or written.
    pub fn open(backend: Arc<dyn StorageBackend>, path: PathBuf, cache_bytes: usize) -> Result<Self, StoreError> {
        Self::open_as(backend, path, cache_bytes, true)
    }

    /// Opens the rows in `backend` without writing to it.
    ///
    /// # Errors
    /// The file is damaged, in use, or was not closed cleanly.
    pub fn open_read_only(backend: Arc<dyn StorageBackend>, path: PathBuf, cache_bytes: usize) -> Result<Self, StoreError> {
        Self::open_as(backend, path, cache_bytes, false)
    }

    fn open_as(backend: Arc<dyn StorageBackend>, path: PathBuf, cache_bytes: usize, writable: bool) -> Result<Self, StoreError> {
        let database = Self { path, cache_bytes, backend, writable, slot: RwLock::new(Slot::Failed) };
        let file = database.open_file()?;
        *database.slot.write().unwrap_or_else(PoisonError::into_inner) = Slot::Open(file);
        Ok(database)
    }

    /// What people know the file as.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file in bytes.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        self.backend.len().map_err(|error| StoreError::from_io("read its length", error))
    }

    /// The rows as they are now, and stay for the reader.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn begin_read(&self) -> Result<ReadRows, StoreError> {
        self.try_begin_read().or_else(|_| {
            self.close_failed();
            self.try_begin_read()
        })
    }

    fn try_begin_read(&self) -> Result<ReadRows, StoreError> {
        let transaction = self.with_file(|file| {
            match file {
                File::Writable(database) => database.begin_read(),
                File::ReadOnly(database) => database.begin_read(),
            }
            .map_err(|error| self.storage_error(redb::Error::from(error)))
        })?;
        let open = |table| transaction.open_table(table).map_err(|error| self.storage_error(redb::Error::from(error)));
        Ok(ReadRows { path: self.path.clone(), tables: [open(FACTS)?, open(VIEWS)?, open(LOCAL)?] })
    }

    /// Runs `work` in one write transaction, and makes it durable when `work` asks for it.
    ///
    /// # Errors
    /// What `work` failed with, or that the transaction could not be begun or made durable; then nothing was written.
    pub fn write<T>(&self, work: impl FnOnce(&WriteRows<'_>) -> Result<(T, Keep), StoreError>) -> Result<T, StoreError> {
        let transaction = self.with_file(|file| match file {
            File::Writable(database) => database.begin_write().map_err(|error| self.storage_error(redb::Error::from(error))),
            File::ReadOnly(_) => Err(StoreError::ReadOnly { path: self.path.clone() }),
        })?;
        let outcome = self.work_in(&transaction, work);
        let ended = match &outcome {
            Ok((_, Keep::Commit)) => transaction.commit().map_err(|error| self.storage_error(redb::Error::from(error))),
            Ok((_, Keep::Nothing)) | Err(_) => transaction.abort().map_err(|error| self.storage_error(redb::Error::from(error))),
        };
        let outcome = outcome.and_then(|(answer, _)| ended.map(|()| answer));
        if outcome.as_ref().is_err_and(may_have_failed_the_file) {
            self.close_failed();
        }
        outcome
    }

    /// Writes down what an opening after a crash would otherwise have to find out by reading the whole file. It costs a
    /// write, so it is for when nothing waits; the next write makes it out of date.
    ///
    /// # Errors
    /// It could not be made durable.
    pub fn settle(&self) -> Result<(), StoreError> {
        let settled = self.with_file(|file| {
            let File::Writable(database) = file else { return Ok(()) };
            let settle = || -> Result<(), redb::Error> {
                let mut transaction = database.begin_write()?;
                transaction.set_quick_repair(true);
                Ok(transaction.commit()?)
            };
            settle().map_err(|error| self.storage_error(error))
        });
        if settled.is_err() {
            self.close_failed();
        }
        settled
    }

    /// How many bytes of the file hold nothing. Looks at every page, so it is for when nothing waits.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn spare(&self) -> Result<u64, StoreError> {
        self.with_file(|file| {
            let File::Writable(database) = file else { return Ok(0) };
            let look = || -> Result<u64, redb::Error> {
                let transaction = database.begin_write()?;
                let spare = transaction.stats()?.fragmented_bytes();
                transaction.abort()?;
                Ok(spare)
            };
            look().map_err(|error| self.storage_error(error))
        })
    }

    /// Moves what is in use to the front of the file and gives the rest back to the disk. Everybody waits meanwhile; while
    /// somebody reads or writes nothing is done. Answers whether it was.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn shrink(&self) -> Result<bool, StoreError> {
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        let Slot::Open(File::Writable(database)) = &mut *slot else { return Ok(false) };
        let shrunk = database.compact();
        match shrunk {
            Ok(_) => Ok(true),
            Err(redb::CompactionError::Storage(error)) => {
                *slot = Slot::Failed;
                Err(self.storage_error(error.into()))
            }
            Err(_) => Ok(false),
        }
    }

    /// Closes the file cleanly, so that the next opening has nothing to mend.
    ///
    /// # Errors
    /// The last writes could not be made durable.
    pub fn close(&self) -> Result<(), StoreError> {
        let slot = std::mem::replace(&mut *self.slot.write().unwrap_or_else(PoisonError::into_inner), Slot::Closed);
        match slot {
            Slot::Open(File::Writable(database)) => database.close().map_err(|error| self.storage_error(redb::Error::from(error))),
            Slot::Open(File::ReadOnly(database)) => database.close().map_err(|error| self.storage_error(redb::Error::from(error))),
            Slot::Failed | Slot::Closed => Ok(()),
        }
    }

    fn work_in<T>(
        &self,
        transaction: &redb::WriteTransaction,
        work: impl FnOnce(&WriteRows<'_>) -> Result<(T, Keep), StoreError>,
    ) -> Result<(T, Keep), StoreError> {
        let open = |table| match transaction.open_table(table) {
            Ok(table) => Ok(RefCell::new(table)),
            Err(error) => Err(self.storage_error(redb::Error::from(error))),
        };
        work(&WriteRows { path: &self.path, tables: [open(FACTS)?, open(VIEWS)?, open(LOCAL)?] })
    }

    fn with_file<T>(&self, run: impl FnOnce(&File) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if let Slot::Open(file) = &*self.slot.read().unwrap_or_else(PoisonError::into_inner) {
            return run(file);
        }
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        if let Slot::Failed = &*slot {
            *slot = Slot::Open(self.open_file()?);
        }
        match &*slot {
            Slot::Open(file) => run(file),
            Slot::Failed | Slot::Closed => Err(StoreError::Closed),
        }
    }

    fn close_failed(&self) {
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        if let Slot::Open(_) = &*slot {
            *slot = Slot::Failed;
        }
    }

    fn open_file(&self) -> Result<File, StoreError> {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(self.cache_bytes);
        let backend = Shared(Arc::clone(&self.backend));
        if !self.writable {
            return guarded(&self.path, || builder.open_read_only_with_backend(backend)).map(File::ReadOnly);
        }
        let database = guarded(&self.path, || builder.create_with_backend(backend))?;
        self.begin_tables(&database)?;
        Ok(File::Writable(database))
    }

    fn begin_tables(&self, database: &redb::Database) -> Result<(), StoreError> {
        let there = || -> Result<bool, redb::Error> { Ok(database.begin_read()?.list_tables()?.count() >= 3) };
        if there().map_err(|error| self.storage_error(error))? {
            return Ok(());
        }
        let create = || -> Result<(), redb::Error> {
            let transaction = database.begin_write()?;
            for table in [FACTS, VIEWS, LOCAL] {
                transaction.open_table(table)?;
            }
            Ok(transaction.commit()?)
        };
        create().map_err(|error| self.storage_error(error))
    }

    fn storage_error(&self, error: redb::Error) -> StoreError {
        storage_error(&self.path, error)
    }
}

/// Whether a transaction wrote anything that should stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What was written becomes durable.
    Commit,
    /// Nothing was written.
    Nothing,
}

/// The rows of one moment.
pub struct ReadRows {
    path: PathBuf,
    tables: [redb::ReadOnlyTable<&'static [u8], &'static [u8]>; 3],
}

/// The rows of the open write transaction.
pub struct WriteRows<'t> {
    path: &'t Path,
    tables: [RefCell<redb::Table<'t, &'static [u8], &'static [u8]>>; 3],
}

impl Rows for ReadRows {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.tables[table as usize].get(key).map_err(|error| storage_error(&self.path, error.into()))?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    fn scan(&self, table: Table, from: Bound<&[u8]>, to: &[u8], visit: Visit<'_>) -> Result<(), StoreError> {
        scan(&self.path, &self.tables[table as usize], from, to, visit)
    }
}

impl Rows for WriteRows<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let table = self.tables[table as usize].borrow();
        let value = table.get(key).map_err(|error| storage_error(self.path, error.into()))?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    fn scan(&self, table: Table, from: Bound<&[u8]>, to: &[u8], visit: Visit<'_>) -> Result<(), StoreError> {
        scan(self.path, &*self.tables[table as usize].borrow(), from, to, visit)
    }
}

impl RowsMut for WriteRows<'_> {
    fn put(&self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let mut table = self.tables[table as usize].borrow_mut();
        table.insert(key, value).map_err(|error| storage_error(self.path, error.into()))?;
        Ok(())
    }

    fn delete(&self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        let mut table = self.tables[table as usize].borrow_mut();
        table.remove(key).map_err(|error| storage_error(self.path, error.into()))?;
        Ok(())
    }
}

/// After these redb answers nothing more until its file is opened again.
fn may_have_failed_the_file(error: &StoreError) -> bool {
    use StoreError::{Corrupt, Full, Interrupted, Io, ReadOnly};
    matches!(error, Io { .. } | Full | Interrupted | Corrupt { .. } | ReadOnly { .. })
}

fn scan(
    path: &Path,
    table: &impl redb::ReadableTable<&'static [u8], &'static [u8]>,
    from: Bound<&[u8]>,
    to: &[u8],
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    let range = table.range::<&[u8]>((from, Bound::Excluded(to))).map_err(|error| storage_error(path, error.into()))?;
    for row in range {
        let (key, value) = row.map_err(|error| storage_error(path, error.into()))?;
        if visit(key.value(), value.value())? == Scan::Enough {
            break;
        }
    }
    Ok(())
}

/// Opens a file that may hold anything: redb panics on some damage, and that is damage too.
fn guarded<T>(path: &Path, open: impl FnOnce() -> Result<T, redb::DatabaseError>) -> Result<T, StoreError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(open)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(redb::DatabaseError::RepairAborted)) => Err(StoreError::NeedsRepair { path: path.to_owned() }),
        Ok(Err(error)) => Err(storage_error(path, error.into())),
        Err(_) => Err(corrupt(path, "its pages contradict each other")),
    }
}

fn storage_error(path: &Path, error: redb::Error) -> StoreError {
    match error {
        redb::Error::Io(error) => io_error(path, error),
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => StoreError::InUse { path: path.to_owned() },
        redb::Error::PreviousIo | redb::Error::DatabaseClosed | redb::Error::LockPoisoned(_) => StoreError::Interrupted,
        redb::Error::Corrupted(fault) => corrupt(path, &fault),
        other => corrupt(path, &other.to_string()),
    }
}

fn io_error(path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData => corrupt(path, &error.to_string()),
        io::ErrorKind::UnexpectedEof => corrupt(path, "the file is shorter than it says"),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => StoreError::ReadOnly { path: path.to_owned() },
        _ => StoreError::from_io("read or write its file", error),
    }
}

fn corrupt(path: &Path, fault: &str) -> StoreError {
    StoreError::Corrupt { path: path.to_owned(), fault: fault.to_owned() }
}
