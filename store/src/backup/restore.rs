//! A store made from a backup, on a disk that has none: rows, texts and attachments, views derived anew, this machine in the
//! place of the one that made the backup, and then every invariant. Until all of it holds nothing has the store's name.

use std::{
    io::{Read, Seek},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use super::{BackupError, Reader, read::Record};
use crate::{
    database::{Database, Keep},
    error::{Failure, StoreError},
    id::MachineId,
    migrate::FORMAT,
    open::{Disk, Identity, Options, Store},
    rows::{RowsMut as _, Table},
    rules::restore::can_replace,
    time::Timestamp,
    tx::{Folders, Restored},
    view::{View, is_backed_up},
};

/// How many rows are written in one transaction.
const ROWS_AT_ONCE: usize = 8_192;
/// How many bytes of rows are written in one transaction at most.
const BYTES_AT_ONCE: usize = 32 * 1024 * 1024;

/// The machine that goes on.
pub struct Here<'a> {
    /// Where the store will lie.
    pub disk: Disk,
    /// Who writes it.
    pub identity: Identity,
    /// The machine's name.
    pub name: String,
    /// Now.
    pub now: Timestamp,
    /// Whether a place can work in this folder.
    pub is_place: &'a dyn Fn(&Path) -> bool,
    /// Whether this is where this node would have made a fork's folder, and one is there.
    pub is_fork: &'a dyn Fn(&Path) -> bool,
}

/// Makes a store on an empty disk from a backup, and checks it. Answers what came of it, and the configuration that the backup
/// holds. `watch` is told what is done, and how much of how much.
///
/// # Errors
/// The backup is damaged or contradicts itself, its machine was not alone in its team, or the disk failed. What was written by
/// then is no store.
pub fn restore<R: Read + Seek>(
    reader: &mut Reader<R>,
    here: Here<'_>,
    options: Options,
    watch: &mut dyn FnMut(&'static str, u64, u64),
) -> Result<(Restored, Option<Vec<u8>>), BackupError> {
    // Bytes that a hostile hand wrote and hashed can still bring a decoder of documents to its knees.
    let worked = catch_unwind(AssertUnwindSafe(|| work(reader, here, options, watch)));
    worked.unwrap_or(Err(BackupError::Damaged { fault: "its documents cannot be read" }))
}

fn work<R: Read + Seek>(
    reader: &mut Reader<R>,
    here: Here<'_>,
    options: Options,
    watch: &mut dyn FnMut(&'static str, u64, u64),
) -> Result<(Restored, Option<Vec<u8>>), BackupError> {
    let (gone, found) = (reader.header().machine, reader.header().format);
    if found > FORMAT {
        return Err(StoreError::Newer { found, known: FORMAT }.into());
    }
    let config = unpack(reader, &here.disk, &options, watch)?;
    watch("deriving what follows from the documents", 0, 0);
    let Here { disk, identity, name, now, is_place, is_fork } = here;
    let store = Store::open(disk, identity, options)?;
    let folders = store.read(|view| look(view, gone, is_place, is_fork))?;
    let restored = replace(&store, gone, name, now, folders)?;
    watch("checking that everything agrees", 0, 0);
    let found = store.check()?;
    let count = found.len();
    if let Some(first) = found.into_iter().next() {
        return Err(BackupError::Broken { count, first });
    }
    store.close()?;
    Ok((restored, config))
}

/// Writes rows and files as they are in the backup.
fn unpack<R: Read + Seek>(
    reader: &mut Reader<R>,
    disk: &Disk,
    options: &Options,
    watch: &mut dyn FnMut(&'static str, u64, u64),
) -> Result<Option<Vec<u8>>, BackupError> {
    let database = Database::open(Arc::clone(&disk.backend), options.path.clone(), options.cache_bytes)?;
    let all = reader.figures().rows + reader.figures().files;
    let (mut batch, mut config, mut done) = (Batch::default(), None, 0);
    reader.records(|record| {
        done += 1;
        match record {
            Record::Fact { key, value } => batch.add(Table::Facts, key, value),
            Record::Local { key, value } if is_backed_up(&key) => batch.add(Table::Local, key, value),
            Record::Local { .. } => {}
            Record::File(bytes) => drop(disk.blobs.put(&bytes)?),
            Record::Config(text) => config = Some(text),
        }
        if batch.is_full() {
            batch.write(&database)?;
            watch("unpacking", done, all);
        }
        Ok(())
    })?;
    batch.write(&database)?;
    database.close()?;
    Ok(config)
}

#[derive(Default)]
struct Batch {
    rows: Vec<(Table, Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.rows.push((table, key, value));
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    fn write(&mut self, database: &Database) -> Result<(), StoreError> {
        let Self { rows, .. } = std::mem::take(self);
        database.write(|table| {
            rows.iter().try_for_each(|(space, key, value)| table.put(*space, key, value))?;
            Ok(((), Keep::Commit))
        })
    }
}

fn replace(store: &Store, gone: MachineId, name: String, now: Timestamp, folders: Folders) -> Result<Restored, BackupError> {
    let restored = store.write(now, move |tx| {
        let team = tx.team()?.ok_or(StoreError::Row { space: "team", source: postcard::Error::DeserializeUnexpectedEnd })?;
        let plan = can_replace(&tx.members()?, gone, tx.machine())?;
        Ok(tx.replace_machine(&plan, team, &name, &folders)?)
    });
    restored.map_err(|failure| match failure {
        Failure::Refused(refusal) => BackupError::Refused(refusal),
        Failure::Broken(error) => error.into(),
    })
}

/// Which of the folders that the machine had are here.
fn look(
    view: &View<'_>,
    gone: MachineId,
    is_place: &dyn Fn(&Path) -> bool,
    is_fork: &dyn Fn(&Path) -> bool,
) -> Result<Folders, StoreError> {
    let mut folders = Folders::default();
    let here = view.folders(gone)?.into_iter().map(|(_, folder)| folder).filter(|folder| is_place(folder.as_path()));
    folders.places.extend(here);
    for place in view.places()? {
        let paths = view.checkouts(place.id)?.into_iter().filter(|checkout| checkout.machine == gone).map(|checkout| checkout.path);
        folders.forks.extend(paths.filter(|path| is_fork(path.as_path())));
    }
    Ok(folders)
}
