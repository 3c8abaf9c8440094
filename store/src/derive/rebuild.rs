//! All views anew, from all documents and logs.

use std::ops::Bound;

use super::Deriver;
use crate::{
    docs::{
        About,
        log::{ChainEnd, Fact, follow},
    },
    error::StoreError,
    facts,
    id::{DocId, MachineId},
    rows::{RowsMut, Scan, Table},
};

/// How many rows are removed at once when the views are cleared.
const CLEARED_AT_ONCE: usize = 4_096;

/// Derives every row again from nothing. A document that cannot be read is left out and reported, and the rest goes on.
/// `progress` is told how many documents of how many are done.
///
/// # Errors
/// The rows cannot be read or written.
pub fn rebuild(deriver: Deriver<'_>, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<(DocId, StoreError)>, StoreError> {
    let deriver = Deriver { follows: false, ..deriver };
    let documents = facts::documents(deriver.rows)?;
    let total = documents.len() as u64;
    let mut left_out = Vec::new();
    let mut logs: Vec<(MachineId, u64, DocId)> = Vec::new();
    for (done, (id, meta)) in (1..).zip(documents) {
        let derived = match meta.about {
            About::Log { machine, segment } => {
                logs.push((machine, segment, id));
                Ok(())
            }
            _ => facts::load(deriver.rows, id).and_then(|document| document.map_or(Ok(()), |document| deriver.document(&document))),
        };
        if let Err(error @ (StoreError::Document { .. } | StoreError::BrokenChain { .. })) = derived {
            left_out.push((id, error));
        } else {
            derived?;
        }
        progress(done, total);
    }
    logs.sort_unstable();
    for chunk in logs.chunk_by(|a, b| a.0 == b.0) {
        if let Err((id, error)) = follow_log(deriver, chunk) {
            left_out.push((id, error));
        }
    }
    Deriver { follows: true, ..deriver }.look_at_retired_places()?;
    Ok(left_out)
}

fn follow_log(deriver: Deriver<'_>, segments: &[(MachineId, u64, DocId)]) -> Result<(), (DocId, StoreError)> {
    let mut end = ChainEnd::default();
    for (machine, _, id) in segments {
        let entries = facts::load(deriver.rows, *id).and_then(|document| match document {
            Some(document) => follow::<Fact>(&document, &mut end),
            None => Ok(Vec::new()),
        });
        for (entry, hash) in entries.map_err(|error| (*id, error))? {
            deriver.entry(*machine, &entry, hash).map_err(|error| (*id, error))?;
        }
    }
    Ok(())
}

/// Removes every view row.
///
/// # Errors
/// The rows cannot be read or written.
pub fn clear(rows: &dyn RowsMut) -> Result<(), StoreError> {
    loop {
        let mut keys = Vec::new();
        rows.scan(Table::Views, Bound::Unbounded, &[u8::MAX], &mut |key, _| {
            keys.push(key.to_vec());
            Ok(if keys.len() < CLEARED_AT_ONCE { Scan::On } else { Scan::Enough })
        })?;
        for key in &keys {
            rows.delete(Table::Views, key)?;
        }
        if keys.len() < CLEARED_AT_ONCE {
            return Ok(());
        }
    }
}
