//! Which blobs a document names at present. It is looked for in the bytes of its values, so it holds for records of any
//! kind, and a value that lost to another of the same moment counts as well: it may win later. A note is an exception: what
//! its replaced versions said is not kept.

use std::collections::BTreeSet;

use super::{About, Document, Text, note::ends};
use crate::id::BlobHash;

/// The bits of a hash by which most of what is none is told at once.
const FILTER_BITS: usize = 22;
const HASH: usize = 32;

/// Hashes to look for among many bytes.
#[derive(Debug, Clone)]
pub struct Sought {
    hashes: BTreeSet<BlobHash>,
    filter: Vec<u64>,
}

impl Sought {
    /// Looks for these.
    pub fn new(hashes: impl IntoIterator<Item = BlobHash>) -> Self {
        let hashes: BTreeSet<BlobHash> = hashes.into_iter().collect();
        let mut filter = vec![0_u64; (1 << FILTER_BITS) / 64];
        for hash in &hashes {
            let bit = bit_of(hash.as_bytes());
            filter[bit / 64] |= 1 << (bit % 64);
        }
        Self { hashes, filter }
    }

    /// Whether any of them stands in these bytes.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.all_in(bytes).next().is_some()
    }

    /// Those of them that stand in these bytes.
    pub fn all_in<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = BlobHash> + 'a {
        let windows = bytes.windows(HASH).filter(|window| {
            let bit = bit_of(window);
            self.filter[bit / 64] >> (bit % 64) & 1 == 1
        });
        windows.filter_map(|window| window.try_into().ok().map(BlobHash::from_bytes)).filter(|hash| self.hashes.contains(hash))
    }
}

fn bit_of(bytes: &[u8]) -> usize {
    let first = bytes.iter().take(3).fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
    first >> (24 - FILTER_BITS)
}

impl Document {
    /// Adds to `found` the blobs among those that are sought which this document names.
    pub fn named(&self, sought: &Sought, found: &mut BTreeSet<BlobHash>) {
        if let Ok(About::Note { .. }) = self.about() {
            let texts = ends(self).ends.into_iter().filter_map(|version| version.record.text);
            found.extend(texts.filter_map(|text| match text {
                Text::Kept { hash, .. } => Some(hash),
                Text::Inline(_) => None,
            }));
            return;
        }
        self.each_value(&mut |bytes| found.extend(sought.all_in(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_sought_is_found_wherever_it_stands(seeds in prop::collection::vec(any::<u8>(), 1..20), before in 0_usize..40, after in 0_usize..40) {
            let hashes: Vec<_> = seeds.iter().map(|seed| BlobHash::of(&[*seed])).collect();
            let sought = Sought::new(hashes.iter().copied());
            for hash in &hashes {
                let bytes = [&vec![7; before][..], hash.as_bytes(), &vec![7; after]].concat();
                prop_assert_eq!(sought.all_in(&bytes).collect::<Vec<_>>(), vec![*hash]);
                prop_assert!(!sought.is_in(&bytes[..before + HASH - 1]));
            }
            prop_assert!(!sought.is_in(BlobHash::of(b"another").as_bytes()));
        }
    }
}
