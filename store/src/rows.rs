//! Rows: ordered keys and values in three tables, and the keys they stand under. What stores them is behind a trait, so
//! that views can also be built in memory and compared.

use std::{cell::RefCell, collections::BTreeMap, ops::Bound};

use serde::{Serialize, de::DeserializeOwned};

use crate::error::StoreError;

/// The three tables: views can be thrown away and built again from facts; local rows are this machine's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Documents: changes, frontiers, signatures, digests.
    Facts,
    /// What is derived from the facts.
    Views,
    /// Format, steps under way, replies to calls: never replicated.
    Local,
}

/// Whether a scan goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// To the next row.
    On,
    /// No further.
    Enough,
}

/// What a scan calls for each row, with its key and its value.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<Scan, StoreError>;

/// Rows that can be read.
pub trait Rows {
    /// The value under a key.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Visits the rows from `from` to before `to`, in the order of their keys. The visitor may read and must not write.
    ///
    /// # Errors
    /// The rows cannot be read, or the visitor fails.
    fn scan(&self, table: Table, from: Bound<&[u8]>, to: &[u8], visit: Visit<'_>) -> Result<(), StoreError>;
}

/// Rows that can be written. Writing goes through a shared reference, so one object serves reading and writing alike.
pub trait RowsMut: Rows {
    /// Sets the value under a key.
    ///
    /// # Errors
    /// The row cannot be written.
    fn put(&self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// The row cannot be removed.
    fn delete(&self, table: Table, key: &[u8]) -> Result<(), StoreError>;
}

/// A key under construction: the byte of its space, then fields whose bytes sort as their values do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of the space that this byte stands for.
    pub fn new(space: u8) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.push(space);
        Self(bytes)
    }

    /// With these bytes added.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// With a byte added.
    pub fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    /// With a number added.
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    /// With a number added that may be negative.
    pub fn signed(self, number: i64) -> Self {
        self.number(number.cast_unsigned() ^ (1 << 63))
    }

    /// The key so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The first key after all that begin with this one.
    pub fn end(&self) -> Vec<u8> {
        let mut end = self.0.clone();
        while let Some(last) = end.pop() {
            if last < u8::MAX {
                end.push(last + 1);
                break;
            }
        }
        end
    }
}

/// Visits every row whose key begins with `prefix`.
///
/// # Errors
/// The rows cannot be read, or the visitor fails.
pub fn scan_prefix(rows: &dyn Rows, table: Table, prefix: &Key, visit: Visit<'_>) -> Result<(), StoreError> {
    rows.scan(table, Bound::Included(prefix.as_slice()), &prefix.end(), visit)
}

/// The value under a key, decoded.
///
/// # Errors
/// The row cannot be read or decoded.
pub fn get_as<T: DeserializeOwned>(rows: &dyn Rows, table: Table, key: &Key, space: &'static str) -> Result<Option<T>, StoreError> {
    rows.get(table, key.as_slice())?.map(|value| decode(&value, space)).transpose()
}

/// Sets the value under a key.
///
/// # Errors
/// The value cannot be encoded, or the row cannot be written.
pub fn put_as<T: Serialize>(rows: &dyn RowsMut, table: Table, key: &Key, space: &'static str, value: &T) -> Result<(), StoreError> {
    let bytes = postcard::to_stdvec(value).map_err(|source| StoreError::Row { space, source })?;
    rows.put(table, key.as_slice(), &bytes)
}

/// Decodes a value. What follows it in the row is left for a reader that wants more.
///
/// # Errors
/// It is not what was expected.
pub fn decode<T: DeserializeOwned>(value: &[u8], space: &'static str) -> Result<T, StoreError> {
    postcard::take_from_bytes(value).map(|(value, _)| value).map_err(|source| StoreError::Row { space, source })
}

/// The 16 bytes of a key that begin at `at`.
///
/// # Errors
/// The key is shorter.
pub fn id_at(key: &[u8], at: usize, space: &'static str) -> Result<[u8; 16], StoreError> {
    let bytes = key.get(at..at + 16).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(StoreError::Row { space, source: postcard::Error::DeserializeUnexpectedEnd })
}

/// Views in memory over facts that lie elsewhere: what views should be, built without touching what they are.
pub struct MemoryViews<'a> {
    below: &'a dyn Rows,
    views: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl<'a> MemoryViews<'a> {
    /// No views yet, over the facts of `below`.
    pub fn over(below: &'a dyn Rows) -> Self {
        Self { below, views: RefCell::default() }
    }

    /// The rows that were written.
    pub fn into_views(self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.views.into_inner()
    }
}

impl Rows for MemoryViews<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match table {
            Table::Views => Ok(self.views.borrow().get(key).cloned()),
            Table::Facts | Table::Local => self.below.get(table, key),
        }
    }

    fn scan(&self, table: Table, from: Bound<&[u8]>, to: &[u8], visit: Visit<'_>) -> Result<(), StoreError> {
        if table != Table::Views {
            return self.below.scan(table, from, to, visit);
        }
        for (key, value) in self.views.borrow().range::<[u8], _>((from, Bound::Excluded(to))) {
            if visit(key, value)? == Scan::Enough {
                break;
            }
        }
        Ok(())
    }
}

impl RowsMut for MemoryViews<'_> {
    fn put(&self, table: Table, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        debug_assert_eq!(table, Table::Views, "facts are not written while views are built in memory");
        self.views.borrow_mut().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        debug_assert_eq!(table, Table::Views, "facts are not written while views are built in memory");
        self.views.borrow_mut().remove(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_their_bytes() {
        let numbers = [i64::MIN, -2, -1, 0, 1, 255, 256, i64::MAX];
        let keys: Vec<_> = numbers.iter().map(|n| Key::new(1).signed(*n).as_slice().to_vec()).collect();
        assert!(keys.is_sorted());
    }

    #[test]
    fn the_end_of_a_prefix_is_after_all_that_begin_with_it() {
        assert_eq!(Key::new(1).bytes(&[2, 0xff, 0xff]).end(), [1, 3]);
        assert_eq!(Key::new(1).byte(2).end(), [1, 3]);
    }
}
