//! The format of a store. Every older one is brought to the present one when it is opened; a newer one is left as it is and
//! refused. Views have a version of their own and are built anew when it differs.

use crate::{
    error::StoreError,
    rows::{RowsMut, Table, get_as, put_as},
    view::{LocalSpace, VIEWS},
};

/// The format this program writes.
pub const FORMAT: u32 = 4;

/// Brings a store of one format to the next.
type Step = fn(&dyn RowsMut) -> Result<(), StoreError>;

/// The step from format `n` to `n + 1` stands at `n - 1`.
const STEPS: [Step; FORMAT as usize - 1] = [more_kinds, more_kinds, more_kinds];

/// Formats 2 to 4 have more kinds of documents, facts and local rows; what was written before stays as it is.
fn more_kinds(_rows: &dyn RowsMut) -> Result<(), StoreError> {
    Ok(())
}

/// What had to be done to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its format before; none when the store is new.
    pub format: Option<u32>,
    /// Whether its views are of another version and have to be built anew.
    pub stale_views: bool,
}

/// Looks at the format of a store without writing.
///
/// # Errors
/// A later frith wrote the store, or its rows cannot be read.
pub fn look(rows: &dyn crate::rows::Rows) -> Result<Found, StoreError> {
    let format: Option<u32> = get_as(rows, Table::Local, &LocalSpace::Format.key(), "format")?;
    let views: Option<u32> = get_as(rows, Table::Local, &LocalSpace::Views.key(), "format")?;
    match format {
        Some(found) if found > FORMAT => Err(StoreError::Newer { found, known: FORMAT }),
        _ => Ok(Found { format, stale_views: views != Some(VIEWS) }),
    }
}

impl Found {
    /// Whether anything has to be written before the store can be used.
    pub fn is_current(&self) -> bool {
        self.format == Some(FORMAT) && !self.stale_views
    }
}

/// Brings a store to the present format; building views anew is the caller's.
///
/// # Errors
/// The rows cannot be read or written.
pub fn migrate(rows: &dyn RowsMut, found: Found) -> Result<(), StoreError> {
    migrate_by(&STEPS, rows, found.format)?;
    put_as(rows, Table::Local, &LocalSpace::Format.key(), "format", &FORMAT)?;
    put_as(rows, Table::Local, &LocalSpace::Views.key(), "format", &VIEWS)
}

fn migrate_by(steps: &[Step], rows: &dyn RowsMut, format: Option<u32>) -> Result<(), StoreError> {
    let done = format.map_or(steps.len(), |format| format.saturating_sub(1) as usize);
    steps.iter().skip(done).try_for_each(|step| step(rows))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;
    use crate::rows::{MemoryViews, Rows, Visit};

    struct Nothing;

    impl Rows for Nothing {
        fn get(&self, _: Table, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(None)
        }
        fn scan(&self, _: Table, _: Bound<&[u8]>, _: &[u8], _: Visit<'_>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn mark(rows: &dyn RowsMut, step: u8) -> Result<(), StoreError> {
        let mut trace = rows.get(Table::Views, b"trace")?.unwrap_or_default();
        trace.push(step);
        rows.put(Table::Views, b"trace", &trace)
    }

    fn steps_from(format: Option<u32>) -> Vec<u8> {
        let steps: [Step; 3] = [|rows| mark(rows, 1), |rows| mark(rows, 2), |rows| mark(rows, 3)];
        let rows = MemoryViews::over(&Nothing);
        migrate_by(&steps, &rows, format).unwrap();
        rows.get(Table::Views, b"trace").unwrap().unwrap_or_default()
    }

    #[test]
    fn each_older_format_takes_the_steps_that_it_lacks_and_a_new_store_none() {
        assert_eq!(steps_from(Some(1)), [1, 2, 3]);
        assert_eq!(steps_from(Some(3)), [3]);
        assert!(steps_from(Some(4)).is_empty() && steps_from(None).is_empty());
    }
}
