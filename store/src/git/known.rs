//! What was found out of pairs of commits, kept in memory and in one file. It can be deleted at any time: what it holds is
//! found again, and a file that cannot be read holds nothing.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gix::ObjectId;

use super::merging::Facts;

/// What begins the file. Its number goes up when the way commits are compared changes, because then answers do.
const HEADER: &[u8] = b"frith merges 2\n";
/// How many pairs are kept; those not asked for the longest go first. About 100 bytes each.
const PAIRS: usize = 20_000;
/// A longer file is not ours.
const FILE_BYTES: u64 = 8 << 20;

/// A memory of what merging one commit into another would do.
#[derive(Debug)]
pub struct Known {
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pairs: BTreeMap<Pair, Remembered>,
    /// Goes up with every run that asks.
    run: u64,
    learned: bool,
}

/// Tip and base.
type Pair = (Vec<u8>, Vec<u8>);

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Remembered {
    facts: Facts,
    asked_in: u64,
}

impl Known {
    /// A memory that begins with what the file holds and is saved there.
    pub fn open(file: &Path) -> Self {
        let pairs = read(file).unwrap_or_default();
        let run = pairs.values().map(|one| one.asked_in).max().unwrap_or_default() + 1;
        Self { file: Some(file.to_path_buf()), state: Mutex::new(State { pairs, run, learned: false }) }
    }

    /// An empty memory that is never saved.
    pub fn none() -> Self {
        Self { file: None, state: Mutex::default() }
    }

    pub(super) fn get(&self, tip: ObjectId, base: ObjectId) -> Option<Facts> {
        let mut state = self.state();
        let run = state.run;
        let found = state.pairs.get_mut(&pair(tip, base))?;
        found.asked_in = run;
        Some(found.facts)
    }

    pub(super) fn learn(&self, tip: ObjectId, base: ObjectId, facts: Facts) {
        let mut state = self.state();
        let asked_in = state.run;
        state.pairs.insert(pair(tip, base), Remembered { facts, asked_in });
        state.learned = true;
    }

    /// Writes the file anew if something was learned. A failure costs only the time to find it out again.
    pub(super) fn save(&self) {
        let mut state = self.state();
        state.run += 1;
        if !std::mem::take(&mut state.learned) {
            return;
        }
        state.forget_oldest();
        let Some(file) = &self.file else { return };
        if let Err(error) = write(file, &state.pairs) {
            tracing::debug!(path = %file.display(), %error, "what merges would do is not kept");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_oldest(&mut self) {
        let Some(surplus) = self.pairs.len().checked_sub(PAIRS).filter(|surplus| *surplus > 0) else { return };
        let mut ages: Vec<u64> = self.pairs.values().map(|one| one.asked_in).collect();
        let (_, oldest_kept, _) = ages.select_nth_unstable(surplus);
        let oldest_kept = *oldest_kept;
        self.pairs.retain(|_, one| one.asked_in >= oldest_kept);
        while self.pairs.len() > PAIRS {
            self.pairs.pop_first();
        }
    }
}

fn pair(tip: ObjectId, base: ObjectId) -> Pair {
    (tip.as_slice().to_vec(), base.as_slice().to_vec())
}

fn read(file: &Path) -> Option<BTreeMap<Pair, Remembered>> {
    if file.metadata().ok()?.len() > FILE_BYTES {
        return None;
    }
    let bytes = std::fs::read(file).ok()?;
    let (sum, rest) = bytes.strip_prefix(HEADER)?.split_first_chunk::<32>()?;
    if blake3::hash(rest) != *sum {
        return None;
    }
    postcard::from_bytes(rest).ok()
}

/// Replaced whole and not synced: a file that a crash cut short is not believed.
fn write(file: &Path, pairs: &BTreeMap<Pair, Remembered>) -> std::io::Result<()> {
    let rest = postcard::to_stdvec(pairs).map_err(std::io::Error::other)?;
    let folder = file.parent().unwrap_or(file);
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(HEADER)?;
    new.write_all(blake3::hash(&rest).as_bytes())?;
    new.write_all(&rest)?;
    new.persist(file).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Proof;

    fn id(number: u32) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap()
    }

    fn facts(ahead: u32) -> Facts {
        Facts { proof: Some(Proof::AddsNothing), ahead: Some(ahead), on_line: Some(false) }
    }

    #[test]
    fn what_was_learned_is_known_in_the_next_run() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("merges");
        let known = Known::open(&file);
        assert_eq!(known.get(id(1), id(2)), None);
        known.save();
        assert!(!file.exists(), "nothing learned, nothing written");
        known.learn(id(1), id(2), facts(3));
        known.save();
        let again = Known::open(&file);
        assert_eq!((again.get(id(1), id(2)), again.get(id(2), id(1))), (Some(facts(3)), None));
    }

    #[test]
    fn a_file_that_is_not_whole_holds_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("merges");
        let known = Known::open(&file);
        known.learn(id(1), id(2), facts(3));
        known.save();
        let whole = std::fs::read(&file).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&file, &whole[..cut]).unwrap();
            assert_eq!(Known::open(&file).get(id(1), id(2)), None, "cut at {cut}");
            let mut changed = whole.clone();
            changed[cut] ^= 1;
            std::fs::write(&file, &changed).unwrap();
            assert_eq!(Known::open(&file).get(id(1), id(2)), None, "changed at {cut}");
        }
    }

    #[test]
    fn the_pairs_not_asked_for_longest_go_first() {
        let known = Known::none();
        let pairs = u32::try_from(PAIRS).unwrap();
        for number in 0..pairs {
            known.learn(id(number), id(0), facts(number));
        }
        known.save();
        assert!(known.get(id(7), id(0)).is_some());
        known.learn(id(pairs), id(0), facts(0));
        known.save();
        assert!(known.get(id(7), id(0)).is_some() && known.get(id(pairs), id(0)).is_some());
        assert!(known.state().pairs.len() <= PAIRS);
    }
}
