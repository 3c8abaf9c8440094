//! Blobs that nothing points to any more: replaced texts, files that were taken away, what purged tasks had. Each is
//! noticed, waits, and is removed once it has waited long enough; naming it again in between begins its time anew.
//!
//! What points to a blob is looked for in the values of documents themselves, whatever kind of record they are: a record
//! that is invented later is looked through as well. When in doubt a blob stays.

use std::collections::BTreeSet;

use crate::{
    database::Keep,
    docs::Sought,
    error::StoreError,
    facts,
    id::BlobHash,
    open::Store,
    rows::{Rows, RowsMut, Scan, Table, get_as, put_as, scan_prefix},
    time::Timestamp,
    view::{LocalSpace, unused_key},
};

/// Days a blob stays after the first look that found nothing pointing to it.
pub const DAYS_KEPT: i64 = 30;
const KEPT_MS: i64 = DAYS_KEPT * 24 * 60 * 60 * 1000;
/// How many are removed before a request has its turn.
const REMOVED_AT_ONCE: usize = 64;
const WORD: &str = "unused texts";

/// What a sweep came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Blobs that something points to.
    pub used: usize,
    /// Blobs that wait for their time.
    pub waiting: usize,
    /// Blobs that were removed.
    pub removed: usize,
}

impl Store {
    /// Looks for blobs that nothing points to, and removes those that were found so for [`DAYS_KEPT`] days. It reads every
    /// document, so it is for once a day; where there are no blobs it costs nothing. While a backup is written nothing is
    /// removed.
    ///
    /// # Errors
    /// A document or the disk cannot be read; then nothing is removed.
    pub fn sweep_blobs(&self, now: Timestamp) -> Result<Swept, StoreError> {
        let there: BTreeSet<BlobHash> = self.blobs().list()?.into_iter().collect();
        if there.is_empty() {
            return Ok(Swept::default());
        }
        let used = self.read(|view| used(view.rows(), &there))?;
        let unused: BTreeSet<BlobHash> = there.difference(&used).copied().collect();
        let due = self.exclusively(|rows| note(rows, &unused, now))?;
        let removed = self.remove_unused(&due, now)?;
        Ok(Swept { used: used.len(), waiting: unused.len() - removed, removed })
    }

    fn remove_unused(&self, due: &[BlobHash], now: Timestamp) -> Result<usize, StoreError> {
        let Ok(_nobody_reads) = self.blob_pins().try_write() else { return Ok(0) };
        let mut removed = 0;
        for some in due.chunks(REMOVED_AT_ONCE) {
            removed += self.exclusively(|rows| {
                let mut removed = 0;
                for hash in some {
                    // Whoever named it since then has taken its row away.
                    if is_due(rows, *hash, now)? {
                        self.blobs().remove(*hash)?;
                        forget(rows, *hash)?;
                        removed += 1;
                    }
                }
                Ok((removed, if removed > 0 { Keep::Commit } else { Keep::Nothing }))
            })?;
        }
        Ok(removed)
    }
}

/// The blobs among these that the present state of any document names.
fn used(rows: &dyn Rows, there: &BTreeSet<BlobHash>) -> Result<BTreeSet<BlobHash>, StoreError> {
    let sought = Sought::new(there.iter().copied());
    let mut used = BTreeSet::new();
    for (doc, _) in facts::documents(rows)? {
        if !facts::may_name(rows, doc, &sought)? {
            continue;
        }
        if let Some(document) = facts::load(rows, doc)? {
            document.named(&sought, &mut used);
        }
    }
    Ok(used)
}

/// Writes down which blobs are unused since when, and answers those whose time has come.
fn note(rows: &dyn RowsMut, unused: &BTreeSet<BlobHash>, now: Timestamp) -> Result<(Vec<BlobHash>, Keep), StoreError> {
    let known = known(rows)?;
    let mut keep = Keep::Nothing;
    for hash in known.iter().filter(|hash| !unused.contains(hash)) {
        forget(rows, *hash)?;
        keep = Keep::Commit;
    }
    for hash in unused.iter().filter(|hash| !known.contains(hash)) {
        put_as(rows, Table::Local, &unused_key(*hash), WORD, &now)?;
        keep = Keep::Commit;
    }
    let mut due = Vec::new();
    for hash in unused {
        if is_due(rows, *hash, now)? {
            due.push(*hash);
        }
    }
    Ok((due, keep))
}

/// A clock that went back makes a blob wait longer and never shorter.
fn is_due(rows: &dyn Rows, hash: BlobHash, now: Timestamp) -> Result<bool, StoreError> {
    let since: Option<Timestamp> = get_as(rows, Table::Local, &unused_key(hash), WORD)?;
    Ok(since.is_some_and(|since| now.ms().saturating_sub(since.ms()) >= KEPT_MS))
}

fn known(rows: &dyn Rows) -> Result<BTreeSet<BlobHash>, StoreError> {
    let mut known = BTreeSet::new();
    scan_prefix(rows, Table::Local, &LocalSpace::Unused.key(), &mut |key, _| {
        known.extend(<[u8; 32]>::try_from(&key[1..]).ok().map(BlobHash::from_bytes));
        Ok(Scan::On)
    })?;
    Ok(known)
}

fn forget(rows: &dyn RowsMut, hash: BlobHash) -> Result<(), StoreError> {
    rows.delete(Table::Local, unused_key(hash).as_slice())
}
