//! A note's document: every version that was saved, each naming those it replaces. What counts are the versions that none
//! replaces, so two saves of one base both stay, whatever the order they arrive in. A version is never changed or removed.

use std::collections::BTreeSet;

use automerge::{AutomergeError, transaction::Transaction};
use serde::{Deserialize, Serialize};

use super::{Document, Text, add_to_map, parse_record_key};
use crate::{
    id::{DocId, VersionHash, Writer},
    model::By,
    time::Timestamp,
};

pub(crate) const VERSIONS: &str = "v";

/// The most versions in one part of a note; later ones go to documents of their own, as many in each.
pub const VERSIONS_MOST: u64 = 500;

/// A version as the document holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The versions that it replaces, in order of their hashes.
    pub replaces: Vec<VersionHash>,
    /// Who saved it.
    pub by: By,
    /// When.
    pub at: Timestamp,
    /// What it says; none when it deletes the note.
    pub text: Option<Text>,
}

/// A version with its hash and who wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its hash, by which later ones name it.
    pub hash: VersionHash,
    /// The machine and run that wrote it.
    pub writer: Writer,
    /// The record.
    pub record: VersionRecord,
}

/// What one part of a note says to the whole: its versions that none of its own replaces, and what it replaces of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The versions that none in this part replaces, in order of their hashes.
    pub ends: Vec<Version>,
    /// The versions that are replaced here and are not of this part, or have not arrived.
    pub outside: BTreeSet<VersionHash>,
}

/// The versions in one part of a note, in order of their hashes.
pub fn versions(document: &Document) -> Vec<Version> {
    let Some(map) = document.map(VERSIONS) else { return Vec::new() };
    let version = |key: String| {
        let ((writer, seq), bytes) = (parse_record_key(&key)?, map.bytes(&key)?);
        let record = postcard::from_bytes(&bytes).ok()?;
        Some(Version { hash: version_hash(document.id(), writer, seq, &bytes), writer, record })
    };
    let mut versions: Vec<_> = map.keys().filter_map(version).collect();
    versions.sort_by_key(|version| version.hash);
    versions
}

/// What one part of a note says to the whole.
pub fn ends(document: &Document) -> Ends {
    let versions = versions(document);
    let mut outside: BTreeSet<VersionHash> = versions.iter().flat_map(|version| version.record.replaces.iter().copied()).collect();
    let (inside, ends): (Vec<_>, Vec<_>) = versions.into_iter().partition(|version| outside.contains(&version.hash));
    for version in inside {
        outside.remove(&version.hash);
    }
    Ends { ends, outside }
}

/// The hash of a version: of where it stands and of all that it says, so no two are alike even with equal texts.
pub fn version_hash(doc: DocId, writer: Writer, seq: u64, record: &[u8]) -> VersionHash {
    let mut hasher = blake3::Hasher::new_derive_key("frith note version 1");
    hasher.update(doc.as_bytes());
    hasher.update(writer.as_bytes());
    hasher.update(&seq.to_be_bytes());
    hasher.update(record);
    let hash = hasher.finalize();
    VersionHash::from_bytes(std::array::from_fn(|i| hash.as_bytes()[i]))
}

/// Adds a version; `record` are the bytes of a [`VersionRecord`].
pub(crate) fn add_version(tx: &mut Transaction<'_>, writer: Writer, seq: u64, record: Vec<u8>) -> Result<(), AutomergeError> {
    add_to_map(tx, VERSIONS, writer, seq, record)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        docs::{About, RawChange},
        id::{MachineId, PlaceId},
    };

    const REPLICAS: usize = 4;

    /// One thing a replica does: a save of some of what it sees as current, or taking in what another one has.
    #[derive(Debug, Clone)]
    enum Step {
        Save { replica: usize, bases: u8, stale: bool, deletes: bool },
        Fetch { from: usize, to: usize },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let save = (0..REPLICAS, any::<u8>(), any::<bool>(), any::<bool>()).prop_map(|(replica, bases, stale, deletes)| Step::Save {
            replica,
            bases,
            stale,
            deletes,
        });
        let fetch = (0..REPLICAS, 0..REPLICAS).prop_map(|(from, to)| Step::Fetch { from, to });
        prop::collection::vec(prop_oneof![2 => save, 1 => fetch], 1..40)
    }

    fn about() -> About {
        About::Note { place: PlaceId::from_bytes([1; 16]), name: "memory.md".into(), part: 0 }
    }

    fn writer(replica: usize) -> Writer {
        Writer::new(MachineId::from_bytes([replica as u8; 8]), [1; 8])
    }

    fn save(document: &mut Document, replica: usize, replaces: Vec<VersionHash>, text: Option<String>) -> (RawChange, VersionHash) {
        let record = VersionRecord { replaces, by: By::Node, at: Timestamp::from_ms(1), text: text.map(Text::Inline) };
        let bytes = document.encode(&record).unwrap();
        let hash = version_hash(document.id(), writer(replica), document.next_seq(writer(replica)), &bytes);
        let change = document.edit(writer(replica), Timestamp::from_ms(1), |tx, seq| add_version(tx, writer(replica), seq, bytes));
        (change.unwrap().unwrap(), hash)
    }

    /// A version of the model: what it replaced, beside the change that carries it.
    struct Saved {
        change: RawChange,
        hash: VersionHash,
        replaces: Vec<VersionHash>,
        known: [bool; REPLICAS],
    }

    /// What a replica should see as current: what none of the versions it knows replaces.
    fn current(saved: &[Saved], replica: usize) -> BTreeSet<VersionHash> {
        let known = || saved.iter().filter(|one| one.known[replica]);
        let replaced: BTreeSet<_> = known().flat_map(|one| &one.replaces).copied().collect();
        known().map(|one| one.hash).filter(|hash| !replaced.contains(hash)).collect()
    }

    fn shown(document: &Document) -> BTreeSet<VersionHash> {
        ends(document).ends.iter().map(|version| version.hash).collect()
    }

    proptest! {
        #[test]
        fn no_version_goes_unless_another_replaces_it_whatever_the_order(steps in steps(), order in any::<prop::sample::Index>()) {
            let (born, _) = Document::born(&about()).unwrap();
            let mut replicas = vec![born.clone(); REPLICAS];
            let mut saved: Vec<Saved> = Vec::new();
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Save { replica, bases, stale, deletes } => {
                        let known: Vec<_> = saved.iter().filter(|one| one.known[replica]).map(|one| one.hash).collect();
                        let from = if stale { known } else { current(&saved, replica).into_iter().collect() };
                        let replaces: Vec<_> = from.into_iter().enumerate().filter(|(n, _)| bases >> (n % 8) & 1 == 1).map(|(_, hash)| hash).collect();
                        let text = (!deletes).then(|| format!("text {at}"));
                        let (change, hash) = save(&mut replicas[replica], replica, replaces.clone(), text);
                        saved.push(Saved { change, hash, replaces, known: std::array::from_fn(|one| one == replica) });
                    }
                    Step::Fetch { from, to } => {
                        for one in saved.iter_mut().filter(|one| one.known[from] && !one.known[to]) {
                            replicas[to].apply(std::iter::once(one.change.bytes.as_slice())).unwrap();
                            one.known[to] = true;
                        }
                    }
                }
            }
            for (replica, document) in replicas.iter().enumerate() {
                prop_assert_eq!(shown(document), current(&saved, replica));
            }
            saved.iter_mut().for_each(|one| one.known[0] = true);
            let start = order.index(saved.len().max(1));
            let mut late = born;
            let (before, after) = saved.split_at(start.min(saved.len()));
            late.apply(after.iter().rev().chain(before).map(|one| one.change.bytes.as_slice())).unwrap();
            late.apply(saved.iter().map(|one| one.change.bytes.as_slice())).unwrap();
            prop_assert_eq!(shown(&late), current(&saved, 0));
            prop_assert_eq!(versions(&late).len(), saved.len(), "every version that was saved is there");
        }
    }

    #[test]
    fn two_saves_of_one_base_both_stay_until_one_replaces_both() {
        let (mut here, _) = Document::born(&about()).unwrap();
        let (base_change, base) = save(&mut here, 0, vec![], Some("base".into()));
        let mut there = Document::born(&about()).unwrap().0;
        there.apply(std::iter::once(base_change.bytes.as_slice())).unwrap();
        let (_, one) = save(&mut here, 0, vec![base], Some("one".into()));
        let (change, two) = save(&mut there, 1, vec![base], None);
        here.apply(std::iter::once(change.bytes.as_slice())).unwrap();
        assert_eq!(shown(&here), BTreeSet::from([one, two]), "a delete takes no save with it that it did not see");
        let (_, three) = save(&mut here, 0, vec![one, two], Some("three".into()));
        assert_eq!(shown(&here), BTreeSet::from([three]));
    }
}
