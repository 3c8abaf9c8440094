//! All views anew, from all documents and logs.

use std::ops::Bound;

use serde::de::DeserializeOwned;

use super::Deriver;
use crate::{
    docs::{
        About,
        log::{ChainEnd, Entry, Fact, follow},
        outbox::Outgoing,
    },
    error::StoreError,
    facts::{self, Chain},
    id::{DocId, MachineId},
    rows::{RowsMut, Scan, Table},
};

/// A segment of a machine's chain.
type Segment = (MachineId, u64, DocId);

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
    let (mut logs, mut outboxes): (Vec<Segment>, Vec<Segment>) = Default::default();
    for (done, (id, meta)) in (1..).zip(documents) {
        let derived = match meta.about {
            About::Log { machine, segment } => {
                logs.push((machine, segment, id));
                Ok(())
            }
            About::Outbox { machine, segment } => {
                outboxes.push((machine, segment, id));
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
    let mut sent = |machine, entry: &Entry<Outgoing>, _| deriver.sent(machine, entry);
    follow_all(deriver.rows, Chain::Outbox, outboxes, &mut sent, &mut left_out);
    let mut said = |machine, entry: &Entry<Fact>, hash| deriver.entry(machine, entry, hash);
    follow_all(deriver.rows, Chain::Log, logs, &mut said, &mut left_out);
    Deriver { follows: true, ..deriver }.look_at_retired_places()?;
    Ok(left_out)
}

/// What is done with each entry of a chain, with its hash.
type Derive<'a, T> = &'a mut dyn FnMut(MachineId, &Entry<T>, [u8; 32]) -> Result<(), StoreError>;

/// Follows the chains of all machines. One that cannot be followed is left from there on, and the others go on.
fn follow_all<T: DeserializeOwned>(
    rows: &dyn RowsMut,
    chain: Chain,
    mut segments: Vec<Segment>,
    derive: Derive<'_, T>,
    left_out: &mut Vec<(DocId, StoreError)>,
) {
    segments.sort_unstable();
    for chunk in segments.chunk_by(|a, b| a.0 == b.0) {
        let mut end = ChainEnd::default();
        for segment in chunk {
            if let Err(error) = follow_segment(rows, chain, *segment, &mut end, derive) {
                left_out.push((segment.2, error));
                break;
            }
        }
    }
}

fn follow_segment<T: DeserializeOwned>(
    rows: &dyn RowsMut,
    chain: Chain,
    (machine, segment, id): Segment,
    end: &mut ChainEnd,
    derive: Derive<'_, T>,
) -> Result<(), StoreError> {
    let Some(document) = facts::load(rows, id)? else { return Ok(()) };
    *end = facts::skip_buried(rows, chain, machine, *end, segment)?.ok_or(StoreError::BrokenChain { number: end.entries })?;
    follow::<T>(&document, end)?.into_iter().try_for_each(|(entry, hash)| derive(machine, &entry, hash))
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
