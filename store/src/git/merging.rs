//! Whether merging a commit into the base would change nothing, and how that is known.
//!
//! It is asked of git's objects alone, so an answer holds for ever for one pair of commits, where all objects are. Objects that a trial merge makes
//! stay in memory, and a person's merge drivers are programs, so none of them is run. What cannot be answered is no proof.

use std::collections::BTreeSet;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::merge::tree::TreatAsUnresolved;

use super::error::ReadError;
use super::patch::{self, Touched};
use super::read::{self, CLOCKS_DIFFER};
use crate::model::Proof;

/// What is known of one commit and one base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Facts {
    /// That merging would change nothing; none when it would, or nobody knows.
    pub(super) proof: Option<Proof>,
    /// How many commits the base does not contain; none when nobody knows.
    pub(super) ahead: Option<u32>,
    /// Whether the commit is one that the base itself once was; none when nobody knows.
    pub(super) on_line: Option<bool>,
}

/// How many commits of the base are looked at for one that does the same. Nobody waits for more.
const COMPARED_COMMITS: usize = 20_000;
/// How many commits are counted, and how many first parents followed.
const COUNTED_COMMITS: usize = 100_000;
/// What one thread keeps of objects it looked at.
const CACHED_BYTES: usize = 16 << 20;

/// Looks at commits of one repository, all against one base.
pub(super) struct Merging {
    repository: gix::Repository,
    base: ObjectId,
    line: FirstParents,
    /// What is missing may come at any time, and then answers are others.
    shallow: bool,
}

/// An answer, and whether it holds for ever.
pub(super) struct Found {
    pub(super) facts: Facts,
    pub(super) holds: bool,
}

impl Merging {
    /// Opens the repository for looking at it only.
    pub(super) fn new(common_dir: &Path, base: ObjectId) -> Result<Self, ReadError> {
        let mut repository = read::of_git_dir(common_dir)?.gix().clone().with_object_memory();
        repository.object_cache_size_if_unset(CACHED_BYTES);
        without_drivers(&mut repository);
        let shallow = repository.is_shallow().unwrap_or(true);
        Ok(Self { repository, base, line: FirstParents { seen: BTreeSet::new(), next: Some(base), since: i64::MAX }, shallow })
    }

    /// What is known of a commit. An error is no answer, and may be gone the next time.
    pub(super) fn facts(&mut self, tip: ObjectId) -> Result<Found, gix::Error> {
        // A shallow clone ends somewhere, and what it has is enough for the rest.
        let line = self.line.contains(&self.repository, tip);
        let holds = line.is_ok() && !self.shallow;
        Ok(Found { facts: Facts { proof: self.proof(tip)?, ahead: self.ahead(tip)?, on_line: line.unwrap_or(None) }, holds })
    }

    fn proof(&self, tip: ObjectId) -> Result<Option<Proof>, gix::Error> {
        let shared: Vec<ObjectId> = self.repository.merge_bases_many(self.base, &[tip])?.into_iter().map(gix::Id::detach).collect();
        let Some(&fork_point) = shared.first() else { return Ok(None) };
        if fork_point == tip {
            return Ok(Some(Proof::Ancestor));
        }
        let (base, branch, before) = (self.tree(self.base)?, self.tree(tip)?, self.tree(fork_point)?);
        if base == branch {
            return Ok(Some(Proof::SameTree));
        }
        let touched = patch::touched(&self.repository, before, branch)?;
        let merged = match self.by_paths(base, &touched)? {
            Merged::Unclear => self.by_trial(tip, base)?,
            _ if shared.len() > 1 => self.by_trial(tip, base)?,
            clear => clear,
        };
        match merged {
            Merged::SameAsBase => Ok(Some(Proof::AddsNothing)),
            Merged::Conflict if self.same_change(&shared, &touched)? => Ok(Some(Proof::SameChange)),
            _ => Ok(None),
        }
    }

    /// Answers without merging when no file was changed on both sides in two ways.
    fn by_paths(&self, base: ObjectId, touched: &[Touched]) -> Result<Merged, gix::Error> {
        let base = self.repository.find_tree(base)?;
        let mut brings = false;
        for one in touched {
            let here = base.lookup_entry(one.path.split_str("/"))?.map(|entry| (entry.mode(), entry.object_id()));
            if here == one.new {
                continue;
            }
            if here != one.old {
                return Ok(Merged::Unclear);
            }
            brings = true;
        }
        Ok(if brings { Merged::Otherwise } else { Merged::SameAsBase })
    }

    fn by_trial(&self, tip: ObjectId, base: ObjectId) -> Result<Merged, gix::Error> {
        let unresolved = TreatAsUnresolved::default();
        let options = self.repository.tree_merge_options()?.with_fail_on_conflict(Some(unresolved));
        let mut outcome = self.repository.merge_commits(self.base, tip, Default::default(), options.into())?.tree_merge;
        if outcome.failed_on_first_unresolved_conflict || outcome.has_unresolved_conflicts(unresolved) {
            return Ok(Merged::Conflict);
        }
        Ok(if outcome.tree.write()? == base { Merged::SameAsBase } else { Merged::Otherwise })
    }

    /// Whether a commit that came to the base after the branch left it does what the branch does.
    fn same_change(&self, shared: &[ObjectId], branch: &[Touched]) -> Result<bool, gix::Error> {
        let Some(first) = branch.first() else { return Ok(false) };
        let wanted = patch::id(&self.repository, branch)?;
        let walk = self.repository.rev_walk([self.base]).with_hidden(shared.iter().copied()).all()?;
        for (looked, commit) in walk.enumerate() {
            let commit = commit?;
            if looked == COMPARED_COMMITS {
                tracing::debug!(base = %self.base, "too many commits to compare");
                return Ok(false);
            }
            let Some(parent) = commit.parent_ids.first() else { continue };
            let (before, after) = (self.tree(*parent)?, self.tree(commit.id)?);
            if self.file(before, first)? == self.file(after, first)? {
                continue;
            }
            let touched = patch::touched(&self.repository, before, after)?;
            let same_paths = touched.iter().map(|one| &one.path).eq(branch.iter().map(|one| &one.path));
            if same_paths && patch::id(&self.repository, &touched)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn ahead(&self, tip: ObjectId) -> Result<Option<u32>, gix::Error> {
        let mut count = 0;
        for commit in self.repository.rev_walk([tip]).with_hidden([self.base]).all()? {
            commit?;
            count += 1;
            if count > COUNTED_COMMITS {
                return Ok(None);
            }
        }
        Ok(u32::try_from(count).ok())
    }

    fn tree(&self, commit: ObjectId) -> Result<ObjectId, gix::Error> {
        Ok(self.repository.find_commit(commit)?.tree_id()?.detach())
    }

    fn file(&self, tree: ObjectId, touched: &Touched) -> Result<Option<patch::File>, gix::Error> {
        let tree = self.repository.find_tree(tree)?;
        Ok(tree.lookup_entry(touched.path.split_str("/"))?.map(|entry| (entry.mode(), entry.object_id())))
    }
}

/// What merging a branch into the base would come to.
enum Merged {
    SameAsBase,
    Otherwise,
    Conflict,
    /// Only a trial merge can tell.
    Unclear,
}

/// What the base itself once was: its first parents, followed as far back as was asked so far.
struct FirstParents {
    seen: BTreeSet<ObjectId>,
    next: Option<ObjectId>,
    /// When the oldest one seen was made, in seconds.
    since: i64,
}

impl FirstParents {
    fn contains(&mut self, repository: &gix::Repository, commit: ObjectId) -> Result<Option<bool>, gix::Error> {
        let until = repository.find_commit(commit)?.time()?.seconds.saturating_sub(CLOCKS_DIFFER);
        while !self.seen.contains(&commit) && self.since >= until {
            let Some(next) = self.next else { return Ok(Some(false)) };
            if self.seen.len() == COUNTED_COMMITS {
                return Ok(None);
            }
            let found = repository.find_commit(next)?;
            self.since = found.time()?.seconds;
            self.seen.insert(next);
            self.next = found.parent_ids().next().map(gix::Id::detach);
        }
        Ok(Some(self.seen.contains(&commit)))
    }
}

/// Takes a person's merge drivers out of the configuration as it is used here.
fn without_drivers(repository: &mut gix::Repository) {
    let mut config = repository.config_snapshot_mut();
    let sections = config.sections_and_ids_by_name("merge").into_iter().flatten();
    let drivers: Vec<_> = sections.filter(|(section, _)| section.header().subsection_name().is_some()).map(|(_, id)| id).collect();
    for id in drivers {
        config.remove_section_by_id(id);
    }
}
