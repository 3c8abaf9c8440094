//! How much a worktree holds, how much of that is caches of builds, and when something in it last changed.
//!
//! Links are not followed, and a folder with a `.git` of its own is another checkout: it is named and counts for nothing, and
//! what it stands in is no cache, whatever that says of itself. Bytes are those the
//! disk gives: what deleting would give back; a file with several names counts once. Only files tell the time, because taking
//! a cache away changes its folder.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// What begins the file that marks a folder as a cache.
const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
const TAG: &str = "CACHEDIR.TAG";

/// What a worktree holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Files outside caches.
    pub files: u64,
    /// What they take on the disk.
    pub bytes: u64,
    /// What the files in caches take.
    pub cache_bytes: u64,
    /// When a file last changed, those of caches counted, in milliseconds; none when part of it cannot be read.
    pub newest_ms: Option<i64>,
    /// Its caches, in the order of their paths.
    pub caches: Vec<Cache>,
    /// Folders in it with a `.git` of their own, its submodules among them, in the order of their paths.
    pub checkouts: Vec<PathBuf>,
}

/// A folder that says of itself that it can be made again, with a `CACHEDIR.TAG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Where it is.
    pub path: PathBuf,
    /// What its files take on the disk.
    pub bytes: u64,
    /// When one of them last changed, in milliseconds; none when part of it cannot be read.
    pub newest_ms: Option<i64>,
}

/// Whether a folder has the file that marks it as a cache.
pub(super) fn is_tagged(folder: &Path) -> bool {
    let tag = folder.join(TAG);
    // A pipe of that name would keep its reader waiting.
    if !tag.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut begin = [0; SIGNATURE.len()];
    File::open(tag).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == SIGNATURE
}

/// Measures the folder of a worktree. `is_tracked` tells of a folder, from the top, whether git knows files in it: such a
/// one is no cache, whatever it says. `stopped` ends the walk early, and then nothing is known.
pub(super) fn measure(top: &Path, is_tracked: &dyn Fn(&Path) -> bool, stopped: &dyn Fn() -> bool) -> Option<Sizes> {
    let mut walk = Walk { top, is_tracked, seen: BTreeSet::new(), checkouts: Vec::new() };
    let (mut all, mut source) = (Tally::default(), Tally::default());
    let mut caches = Vec::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if stopped() {
            return None;
        }
        if walk.is_cache(&folder) {
            let mut tally = Tally::default();
            let (mut within, met) = (vec![folder.clone()], walk.checkouts.len());
            while let Some(folder) = within.pop() {
                walk.folder(&folder, &mut within, &mut tally);
            }
            if walk.checkouts.len() > met {
                source.add(&tally);
                continue;
            }
            all.add(&tally);
            caches.push(Cache { path: folder, bytes: tally.bytes, newest_ms: tally.newest() });
        } else {
            walk.folder(&folder, &mut folders, &mut source);
        }
    }
    all.add(&source);
    caches.sort_by(|one, other| one.path.cmp(&other.path));
    let cache_bytes = caches.iter().map(|cache| cache.bytes).sum();
    walk.checkouts.sort();
    let Walk { checkouts, .. } = walk;
    Some(Sizes { files: source.files, bytes: source.bytes, cache_bytes, newest_ms: all.newest(), caches, checkouts })
}

struct Walk<'a> {
    top: &'a Path,
    is_tracked: &'a dyn Fn(&Path) -> bool,
    /// Files with several names, by device and number.
    seen: BTreeSet<(u64, u64)>,
    /// Folders with a `.git` of their own.
    checkouts: Vec<PathBuf>,
}

impl Walk<'_> {
    fn is_cache(&self, folder: &Path) -> bool {
        folder != self.top && is_tagged(folder) && folder.strip_prefix(self.top).is_ok_and(|below| !(self.is_tracked)(below))
    }

    /// Counts the files of one folder and adds its folders to those to come.
    fn folder(&mut self, folder: &Path, folders: &mut Vec<PathBuf>, tally: &mut Tally) {
        let before = folders.len();
        let Ok(entries) = std::fs::read_dir(folder) else { return tally.unreadable = true };
        let mut counted = Tally::default();
        for entry in entries {
            let Ok(entry) = entry else {
                counted.unreadable = true;
                continue;
            };
            let name = entry.file_name();
            if name == ".git" {
                if folder != self.top {
                    folders.truncate(before);
                    self.checkouts.push(folder.to_path_buf());
                    return;
                }
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(folder.join(name)),
                Ok(kind) if kind.is_file() => match entry.metadata() {
                    Ok(metadata) if metadata.nlink() == 1 || self.seen.insert((metadata.dev(), entry.ino())) => counted.file(&metadata),
                    // Whatever was deleted meanwhile is not there.
                    _ => {}
                },
                _ => {}
            }
        }
        tally.add(&counted);
    }
}

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    newest_ms: Option<i64>,
    unreadable: bool,
}

impl Tally {
    fn file(&mut self, metadata: &Metadata) {
        self.files += 1;
        self.bytes += metadata.blocks() * 512;
        let changed_ms = metadata.mtime().saturating_mul(1_000).saturating_add(metadata.mtime_nsec() / 1_000_000);
        self.newest_ms = self.newest_ms.max(Some(changed_ms));
    }

    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.newest_ms = self.newest_ms.max(other.newest_ms);
        self.unreadable |= other.unreadable;
    }

    fn newest(&self) -> Option<i64> {
        self.newest_ms.filter(|_| !self.unreadable)
    }
}
