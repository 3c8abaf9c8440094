//! What may be said of a worktree before anything is done to it: what is not committed, whether its work is in the base and how
//! that is known, and what it holds.
//!
//! One verdict serves whoever lists, removes or sweeps, and it is computed from git whenever it is asked; only what two
//! commits say of each other is remembered, because that never changes. What cannot be answered counts against removing:
//! unreadable is not clean, unknown is not merged. Nothing is written to the repository.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use gix::ObjectId;

use super::inventory::{Checkout, Inventory, Standing};
use super::known::Known;
use super::merging::{Facts, Merging};
use super::nested;
use super::parallel;
use super::read::{self, Changes, Operation, Repository};
use super::reflog;
use super::sizes::{self, Sizes};
use super::submodules;
use super::watch::Watch;
use crate::model::Proof;

/// A branch's log that is longer is not read.
const LOG_BYTES: u64 = 16 << 20;
/// What is known of one checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// What is not committed; none when it cannot be read, which counts as changed. A submodule of a linked worktree with
    /// commits that are on no branch of a remote counts as one change more: they would go with the folder.
    pub changes: Option<Changes>,
    /// What git is in the middle of there.
    pub operation: Option<Operation>,
    /// How it is known that merging it would change nothing; none when it would, or nobody knows. The default branch and a
    /// checkout in the middle of an operation have no such proof.
    pub merged: Option<Proof>,
    /// Whether work was done on it since it began; unknown counts as none.
    pub has_own_commits: bool,
    /// How many of its commits the base does not contain; none when nobody knows.
    pub ahead: Option<u32>,
    /// Whether its commit is on a branch, a tag or another reference, so that it is not lost with the checkout.
    pub reachable: bool,
    /// What it holds, when asked for and there.
    pub sizes: Option<Sizes>,
    /// Other checkouts inside it, which would go with it: worktrees of this repository, and whatever else has a `.git` and is
    /// no submodule of it. Looked for together with sizes.
    pub nested: Vec<PathBuf>,
}

/// What is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// All but sizes.
    Verdict,
    /// Sizes, too.
    VerdictAndSizes,
}

impl Judged {
    /// Whether `git status` would list nothing.
    pub fn is_clean(&self) -> bool {
        self.changes.is_some_and(|changes| changes.total() == 0)
    }

    /// Whether it has done what it was made for: it has work of its own, all of it is in the base, and nothing else is there.
    pub fn is_finished(&self) -> bool {
        self.merged.is_some() && self.is_clean() && self.has_own_commits
    }
}

/// Judges checkouts of one repository, several at once. The answers come in the order of the checkouts; those that a stop left
/// out know nothing.
pub fn judge(inventory: &Inventory, checkouts: &[&Checkout], want: Want, known: &Known, watch: &mut dyn Watch) -> Vec<Judged> {
    let base = inventory.base.as_ref().and_then(|base| object_id(&base.commit));
    let begin = || Judge { inventory, known, base, merging: None };
    let judged = parallel::each(checkouts.len(), watch, begin, |judge, number, stop| judge.guarded(checkouts[number], want, stop));
    known.save();
    judged.into_iter().map(Option::unwrap_or_default).collect()
}

/// Measures folders that git knows nothing of, several at once.
pub fn measure(folders: &[PathBuf], watch: &mut dyn Watch) -> Vec<Option<Sizes>> {
    let one =
        |(): &mut (), number: usize, stop: &AtomicBool| sizes::measure(&folders[number], &|_| false, &|| stop.load(Ordering::Relaxed));
    parallel::each(folders.len(), watch, || (), one).into_iter().map(Option::flatten).collect()
}

/// One thread's view of the repository.
struct Judge<'a> {
    inventory: &'a Inventory,
    known: &'a Known,
    base: Option<ObjectId>,
    /// Opened when something is not known yet; nothing inside when that failed.
    merging: Option<Option<Merging>>,
}

impl Judge<'_> {
    /// A repository that makes the library fail where it never should costs its own verdict alone.
    fn guarded(&mut self, checkout: &Checkout, want: Want, stop: &AtomicBool) -> Judged {
        let judged = std::panic::catch_unwind(AssertUnwindSafe(|| self.checkout(checkout, want, stop)));
        judged.unwrap_or_else(|_| {
            tracing::warn!(path = %checkout.path.display(), "a worktree cannot be judged");
            self.merging = None;
            Judged::default()
        })
    }

    fn checkout(&mut self, checkout: &Checkout, want: Want, stop: &AtomicBool) -> Judged {
        let repository = open(checkout);
        let operation = repository.as_ref().and_then(Repository::operation);
        let tip = checkout.commit.as_deref().and_then(object_id);
        let facts = tip.map(|tip| self.facts(tip)).unwrap_or_default();
        // In the middle of an operation `HEAD` may be anywhere, and the branch is elsewhere.
        let settled = operation.is_none() && checkout.detached == checkout.branch.is_none() && !self.inventory.is_default(checkout);
        let own = |tip| reflog::has_own_commits(self.log(checkout).as_deref(), tip, facts.on_line);
        let sizes = if want == Want::VerdictAndSizes { sizes_of(checkout, repository.as_ref(), stop) } else { None };
        Judged {
            nested: sizes.as_ref().map_or_else(Vec::new, |sizes| self.nested(checkout, sizes, repository.as_ref())),
            sizes,
            changes: repository.as_ref().and_then(|repository| changes(repository, checkout.standing == Standing::Linked)),
            operation,
            merged: facts.proof.filter(|_| settled),
            has_own_commits: settled && tip.is_some_and(own),
            ahead: facts.ahead,
            reachable: !checkout.detached || facts.proof == Some(Proof::Ancestor) || tip.is_some_and(|tip| self.is_on_reference(tip)),
        }
    }

    fn facts(&mut self, tip: ObjectId) -> Facts {
        let Some(base) = self.base else { return Facts::default() };
        if let Some(facts) = self.known.get(tip, base) {
            return facts;
        }
        let common_dir = &self.inventory.common_dir;
        let merging = self.merging.get_or_insert_with(|| {
            Merging::new(common_dir, base)
                .inspect_err(|error| tracing::debug!(%error, "the repository cannot be compared with its base"))
                .ok()
        });
        let Some(merging) = merging else { return Facts::default() };
        match merging.facts(tip) {
            Ok(found) => {
                if found.holds {
                    self.known.learn(tip, base, found.facts);
                }
                found.facts
            }
            Err(error) => {
                tracing::debug!(%tip, %base, %error, "commits cannot be compared");
                Facts::default()
            }
        }
    }

    /// What the walk for the sizes met and the index does not name, what is in submodules, where that walk does not go, and
    /// what the inventory knows.
    fn nested(&self, checkout: &Checkout, sizes: &Sizes, repository: Option<&Repository>) -> Vec<PathBuf> {
        let top = checkout.path.as_path();
        let named = repository.and_then(|repository| repository.submodules().ok()).unwrap_or_default();
        let named: BTreeSet<PathBuf> = named.into_iter().map(|below| top.join(below)).collect();
        let (submodules, mut found): (Vec<_>, Vec<_>) = sizes.checkouts.iter().cloned().partition(|folder| named.contains(folder));
        for folder in submodules {
            let inner = read::of_work_tree(&folder).and_then(|submodule| submodule.submodules()).unwrap_or_default();
            let within = nested::within(&folder, &mut inner.into_iter().collect()).unwrap_or_default();
            found.extend(within.into_iter().map(|below| folder.join(below)));
        }
        found.extend(self.inventory.inside(checkout).map(|one| one.path.clone()));
        found.sort();
        found.dedup();
        found
    }

    /// Git's log of where the branch stood; of a detached `HEAD`, of where that one did.
    fn log(&self, checkout: &Checkout) -> Option<Vec<u8>> {
        let file = match (&checkout.branch, &checkout.id) {
            (Some(branch), _) => self.inventory.common_dir.join("logs/refs/heads").join(branch),
            (None, Some(id)) => id.record.as_path().join("logs/HEAD"),
            (None, None) => return None,
        };
        file.metadata().ok().filter(|found| found.is_file() && found.len() <= LOG_BYTES)?;
        std::fs::read(file).ok()
    }

    fn is_on_reference(&self, commit: ObjectId) -> bool {
        let found = read::of_git_dir(&self.inventory.common_dir).and_then(|repository| repository.has_reference_to(commit));
        found.unwrap_or_else(|error| {
            tracing::debug!(%commit, %error, "references cannot be read");
            false
        })
    }
}

/// The repository as seen from a checkout whose folder can be looked into.
fn open(checkout: &Checkout) -> Option<Repository> {
    if !matches!(checkout.standing, Standing::Main | Standing::Linked) {
        return None;
    }
    let opened = read::of_work_tree(&checkout.path);
    opened.inspect_err(|error| tracing::debug!(path = %checkout.path.display(), %error, "a worktree cannot be opened")).ok()
}

fn changes(repository: &Repository, linked: bool) -> Option<Changes> {
    let found = repository.changes().and_then(|changes| {
        let unpushed = if linked { submodules::unpushed(repository)? } else { 0 };
        Ok(Changes { tracked: changes.tracked + unpushed, ..changes })
    });
    found.inspect_err(|error| tracing::debug!(%error, "what is not committed cannot be read")).ok()
}

/// What a checkout holds. Where git's index cannot be read nothing is taken for a cache.
fn sizes_of(checkout: &Checkout, repository: Option<&Repository>, stop: &AtomicBool) -> Option<Sizes> {
    if !checkout.path.is_dir() || checkout.standing == Standing::Gone {
        return None;
    }
    let is_tracked = |below: &Path| repository.is_none_or(|repository| repository.tracks_within(below).unwrap_or(true));
    sizes::measure(&checkout.path, &is_tracked, &|| stop.load(Ordering::Relaxed))
}

fn object_id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}
