//! Facts about a repository, read without the `git` program. Nothing here changes anything, refreshed indexes included.
//!
//! Paths are bytes from end to end.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::sec::trust::DefaultForLevel as _;

use super::error::ReadError;
use super::links::{self, absent};
use super::origin;

/// How much clocks of those who commit may differ. In seconds.
pub(super) const CLOCKS_DIFFER: i64 = 86_400;

/// An open repository, seen from one of its work trees.
#[derive(Debug)]
pub struct Repository {
    inner: gix::Repository,
    top: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

/// By what clones and worktrees of one repository are known for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryIdentity {
    /// The commit that its history began with, in hex.
    pub root: String,
    /// Where it was cloned from, in one form for all spellings; none when it has no origin.
    pub origin: Option<String>,
}

/// Where `HEAD` stands. Commits are in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On a branch without a commit.
    Unborn,
    /// On a branch (without `refs/heads/`).
    Branch {
        /// Its short name, lossy.
        name: String,
        /// Its tip.
        commit: String,
    },
    /// On a commit, as in the middle of a rebase.
    Detached {
        /// The commit.
        commit: String,
    },
}

impl Head {
    /// The commit, unless there is none yet.
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Unborn => None,
            Self::Branch { commit, .. } | Self::Detached { commit } => Some(commit),
        }
    }
}

/// What git is in the middle of, in one work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `git rebase`.
    Rebase,
    /// `git am`.
    ApplyMailbox,
    /// `git merge`.
    Merge,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Operation {
    /// Git's own name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rebase => "rebase",
            Self::ApplyMailbox => "am",
            Self::Merge => "merge",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        }
    }
}

/// What `git status` would list. Ignored files do not count; a changed submodule counts as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tracked paths that differ from `HEAD`, staged or not.
    pub tracked: usize,
    /// Files git does not know.
    pub untracked: usize,
}

impl Changes {
    /// Both together.
    pub fn total(self) -> usize {
        self.tracked + self.untracked
    }
}

/// Finds the repository a folder belongs to: the deepest one around it, a submodule's or a linked worktree's own.
/// `None` when there is none. The answer never skips a broken repository to take one further up.
pub fn find(folder: &Path) -> Result<Option<Repository>, ReadError> {
    let folder = folder.canonicalize().map_err(|source| ReadError::Unreadable { path: folder.to_path_buf(), source })?;
    let Some(repository) = around(&folder)? else { return Ok(None) };
    match repository.top() {
        Some(top) if !folder.starts_with(top) || folder.starts_with(&repository.git_dir) => Err(ReadError::InsideGitData { path: folder }),
        _ => Ok(Some(repository)),
    }
}

/// Finds the repository of a folder as [`find`] does, and also when it is named by its git folder.
pub(super) fn find_or_named(folder: &Path) -> Result<Option<Repository>, ReadError> {
    let folder = folder.canonicalize().map_err(|source| ReadError::Unreadable { path: folder.to_path_buf(), source })?;
    match around(&folder)? {
        Some(repository) if folder == repository.git_dir || folder == repository.common_dir => Ok(Some(repository)),
        _ => find(&folder),
    }
}

/// The repository around a folder without symbolic links, if git would work in it.
fn around(folder: &Path) -> Result<Option<Repository>, ReadError> {
    let inner = match gix::ThreadSafeRepository::discover_opts(folder, Default::default(), options()) {
        Ok(found) => found.to_thread_local(),
        Err(error) if nothing_found(&error) => {
            refuse_broken_link(folder, None, None)?;
            return Ok(None);
        }
        Err(error) => return Err(unreadable(folder, error)),
    };
    refuse_broken_link(folder, inner.workdir(), Some(inner.git_dir()))?;
    let repository = Repository::new(inner)?;
    if repository.inner.git_dir_trust() != gix::sec::Trust::Full {
        return Err(ReadError::DubiousOwnership { path: repository.top.unwrap_or(repository.git_dir) });
    }
    Ok(Some(repository))
}

/// Opens the repository of a work tree, given its very top.
pub(super) fn of_work_tree(top: &Path) -> Result<Repository, ReadError> {
    of_git_dir(&top.join(".git"))
}

/// Opens the repository whose git folder this is, or the file that names it. Whose it is was asked when it was found.
pub(super) fn of_git_dir(git_dir: &Path) -> Result<Repository, ReadError> {
    let inner = gix::ThreadSafeRepository::open_opts(git_dir, options().full);
    Repository::new(inner.map_err(|error| unreadable(git_dir, error))?.to_thread_local())
}

impl Repository {
    fn new(inner: gix::Repository) -> Result<Self, ReadError> {
        let real = |path: &Path| path.canonicalize().map_err(|source| ReadError::Unreadable { path: path.to_path_buf(), source });
        let git_dir = real(inner.git_dir())?;
        let common_dir = real(inner.common_dir())?;
        if let Some(storage) = inner.config_snapshot().string("extensions.refStorage").filter(|storage| *storage != "files") {
            return Err(ReadError::Unsupported { path: git_dir, extension: format!("extensions.refStorage = {storage}") });
        }
        // A linked worktree's folder may be gone while git's record of it is still there to be read.
        let top = inner.workdir().map(|top| real(top).unwrap_or_else(|_| top.to_path_buf()));
        Ok(Self { inner, top, git_dir, common_dir })
    }

    /// The library's own view of it.
    pub(super) fn gix(&self) -> &gix::Repository {
        &self.inner
    }

    /// The top of this work tree; none for a bare repository. Without symbolic links, as are the others.
    pub fn top(&self) -> Option<&Path> {
        self.top.as_deref()
    }

    /// The git folder of this work tree alone.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder all work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The top of the main work tree, of which this is a linked one; none for the main one itself, and where there is none.
    pub fn main_top(&self) -> Option<PathBuf> {
        if self.git_dir == self.common_dir {
            return None;
        }
        let main = self.inner.main_repo().ok()?;
        main.workdir()?.canonicalize().ok()
    }

    /// Whether there are no files to work on here. A repository that never says so is not bare.
    pub fn is_bare(&self) -> bool {
        self.top.is_none()
    }

    /// Where `HEAD` stands.
    pub fn head(&self) -> Result<Head, ReadError> {
        let mut head = self.inner.head().map_err(|error| self.broken(error))?;
        let name = head.referent_name().map(|name| name.shorten().to_string());
        let commit = head.try_peel_to_id().map_err(|error| self.broken(error))?.map(|id| id.to_string());
        Ok(match (name, commit) {
            (_, None) => Head::Unborn,
            (Some(name), Some(commit)) => Head::Branch { name, commit },
            (None, Some(commit)) => Head::Detached { commit },
        })
    }

    /// What git is in the middle of here.
    pub fn operation(&self) -> Option<Operation> {
        use gix::state::InProgress as State;
        Some(match self.inner.state()? {
            State::Rebase | State::RebaseInteractive | State::ApplyMailboxRebase => Operation::Rebase,
            State::ApplyMailbox => Operation::ApplyMailbox,
            State::Merge => Operation::Merge,
            State::CherryPick | State::CherryPickSequence => Operation::CherryPick,
            State::Revert | State::RevertSequence => Operation::Revert,
            State::Bisect => Operation::Bisect,
        })
    }

    /// Whether a git command is changing this work tree's index, or died while it did.
    pub fn index_locked(&self) -> bool {
        self.git_dir.join("index.lock").symlink_metadata().is_ok()
    }

    /// The folders of submodules the index names, from the top.
    pub fn submodules(&self) -> Result<Vec<PathBuf>, ReadError> {
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let links = index.entries().iter().filter(|entry| entry.mode == gix::index::entry::Mode::COMMIT);
        Ok(links.map(|entry| links::bytes_path(entry.path(&index)).to_path_buf()).collect())
    }

    /// The commit a branch points to, in hex; `None` when there is no such branch. `name` is without `refs/heads/`.
    pub fn branch_tip(&self, name: &str) -> Result<Option<String>, ReadError> {
        let full = format!("refs/heads/{name}");
        let found = self.inner.try_find_reference(full.as_str()).map_err(|error| self.broken(error))?;
        let Some(mut reference) = found else { return Ok(None) };
        reference.peel_to_id().map(|id| Some(id.to_string())).map_err(|error| self.broken(error))
    }

    /// The commit that a revision stands for, in hex; `None` when there is none.
    pub(super) fn commit_of(&self, revision: &str) -> Option<String> {
        let id = self.inner.rev_parse_single(revision).ok()?;
        let commit = id.object().ok()?.peel_to_commit().ok()?;
        Some(commit.id.to_string())
    }

    /// The work tree that has a branch checked out, whether its folder still exists or not.
    pub fn checked_out_at(&self, branch: &str) -> Result<Option<PathBuf>, ReadError> {
        let wanted = format!("ref: refs/heads/{branch}");
        let stands_on = |git_dir: &Path| std::fs::read(git_dir.join("HEAD")).is_ok_and(|text| text.trim_end() == wanted.as_bytes());
        if stands_on(&self.common_dir) && !self.common_is_bare() {
            let main = self.common_dir.parent().unwrap_or(&self.common_dir);
            return Ok(Some(main.to_path_buf()));
        }
        let records = links::all_registered(&self.common_dir)
            .map_err(|source| ReadError::Unreadable { path: self.common_dir.join("worktrees"), source })?;
        Ok(records.into_iter().find(|one| stands_on(&one.record)).map(|one| one.folder))
    }

    /// The committed or staged bytes of a file, from the top; `None` when git does not track it. The commit is asked
    /// first: it is what a new worktree inherits.
    pub fn committed(&self, path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
        let mut found = None;
        if let Head::Branch { commit, .. } | Head::Detached { commit } = self.head()? {
            found = self.entry(&commit, path)?.filter(|entry| entry.1.is_blob_or_symlink()).map(|entry| entry.0);
        }
        if found.is_none() {
            let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
            found = index.entry_by_path(BStr::new(path.as_os_str().as_bytes())).map(|entry| entry.id);
        }
        let Some(id) = found else { return Ok(None) };
        let object = self.inner.find_object(id).map_err(|error| self.broken(error))?;
        Ok(Some(object.detach().data))
    }

    /// Whether a commit has a folder at this path, from the top. The top itself always counts.
    pub fn commit_has_folder(&self, commit: &str, path: &Path) -> Result<bool, ReadError> {
        if path.as_os_str().is_empty() {
            return Ok(true);
        }
        Ok(self.entry(commit, path)?.is_some_and(|(_, mode)| mode.is_tree()))
    }

    /// Whether git tracks anything in a folder, from the top.
    pub(super) fn tracks_below(&self, path: &Path) -> Result<bool, ReadError> {
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let mut prefix = BString::from(path.as_os_str().as_bytes());
        prefix.push(b'/');
        Ok(index.prefixed_entries(prefix.as_bstr()).is_some())
    }

    /// Whether a sparse checkout leaves nothing of a folder on disk. `false` where nothing is sparse.
    pub fn sparse_leaves_out(&self, path: &Path) -> Result<bool, ReadError> {
        let sparse = self.inner.config_snapshot().boolean("core.sparseCheckout").unwrap_or(false);
        if !sparse || path.as_os_str().is_empty() {
            return Ok(false);
        }
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let mut prefix = BString::from(path.as_os_str().as_bytes());
        prefix.push(b'/');
        let entries = index.prefixed_entries(prefix.as_bstr()).unwrap_or_default();
        Ok(entries.iter().all(|entry| entry.flags.contains(gix::index::entry::Flags::SKIP_WORKTREE)))
    }

    /// Whether git knows a file within a folder, from the top.
    pub(super) fn tracks_within(&self, folder: &Path) -> Result<bool, ReadError> {
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let mut prefix = BString::from(folder.as_os_str().as_bytes());
        prefix.push(b'/');
        Ok(index.prefixed_entries_range(prefix.as_bstr()).is_some())
    }

    /// Whether `HEAD`, a branch or the stash has a commit that no branch of a remote has.
    pub(super) fn has_unpushed(&self) -> Result<bool, ReadError> {
        let broken = |error| self.broken(error);
        let mut here: Vec<gix::ObjectId> =
            self.head()?.commit().and_then(|hex| gix::ObjectId::from_hex(hex.as_bytes()).ok()).into_iter().collect();
        let mut pushed = Vec::new();
        for reference in self.inner.references().map_err(broken)?.all().map_err(broken)?.flatten() {
            let name = reference.name().as_bstr().to_owned();
            let Ok(id) = reference.into_fully_peeled_id() else { continue };
            if name.starts_with(b"refs/remotes/") {
                pushed.push(id.detach());
            } else if name.starts_with(b"refs/heads/") || name == "refs/stash" {
                here.push(id.detach());
            }
        }
        let mut walk = self.inner.rev_walk(here).with_hidden(pushed).all().map_err(broken)?;
        Ok(walk.next().transpose().map_err(broken)?.is_some())
    }

    /// Whether a commit is reachable from a branch, a tag or another reference that all work trees share.
    pub(super) fn has_reference_to(&self, commit: gix::ObjectId) -> Result<bool, ReadError> {
        use gix::revision::walk::Sorting;
        use gix::traverse::commit::simple::CommitTimeOrder::NewestFirst;
        let broken = |error| self.broken(error);
        let references = self.inner.references().map_err(broken)?;
        let mut tips = BTreeSet::new();
        for reference in references.all().map_err(broken)?.flatten() {
            // A tag may well name a file.
            let Ok(id) = reference.into_fully_peeled_id() else { continue };
            if id.object().is_ok_and(|object| object.kind == gix::object::Kind::Commit) {
                tips.insert(id.detach());
            }
        }
        if tips.contains(&commit) {
            return Ok(true);
        }
        let made = self.inner.find_commit(commit).map_err(broken)?.time().map_err(broken)?.seconds;
        let sorting = Sorting::ByCommitTimeCutoff { order: NewestFirst, seconds: made.saturating_sub(CLOCKS_DIFFER) };
        let mut walk = self.inner.rev_walk(tips).sorting(sorting).all().map_err(broken)?;
        // What cannot be read on the way is no way to the commit.
        Ok(walk.any(|found| found.is_ok_and(|found| found.id == commit)))
    }

    /// Counts what is not committed, submodules looked into.
    pub fn changes(&self) -> Result<Changes, ReadError> {
        use gix::status::{Item, Submodule, UntrackedFiles, index_worktree};
        let broken = |error| self.broken(error);
        let mut inner = self.inner.clone();
        // A person may have untracked files left out of their own lists; they are lost with the folder all the same.
        if inner.config_snapshot().string("status.showUntrackedFiles").is_some() {
            inner.config_snapshot_mut().set_raw_value("status.showUntrackedFiles", "all").map_err(broken)?;
        }
        let submodules = Submodule::Given { ignore: gix::submodule::config::Ignore::None, check_dirty: true };
        let index = inner.index_or_empty().map_err(broken)?;
        let as_committed = self.is_as_committed(&index)?;
        let status = inner.status(gix::progress::Discard).map_err(broken)?;
        let status = status.untracked_files(UntrackedFiles::Files).index_worktree_submodules(submodules).index_worktree_rewrites(None);
        let items: Box<dyn Iterator<Item = Result<Item, gix::Error>>> = if as_committed || index.is_sparse() {
            let items = status.into_index_worktree_iter(None).map_err(broken)?;
            Box::new(items.map(|item| item.map(Item::IndexWorktree)))
        } else {
            Box::new(status.into_iter(None).map_err(broken)?)
        };
        let mut tracked = if index.is_sparse() && !as_committed { self.staged_in_sparse(&index)? } else { BTreeSet::new() };
        let mut untracked = 0;
        for item in items {
            match item.map_err(broken)? {
                Item::IndexWorktree(item) if item.summary().is_none() => {}
                Item::IndexWorktree(index_worktree::Item::DirectoryContents { .. }) => untracked += 1,
                item => {
                    tracked.insert(item.location().to_owned());
                }
            }
        }
        Ok(Changes { tracked: tracked.len(), untracked })
    }

    /// Whether git noted in the index that it holds exactly the files of `HEAD`. The note goes with the first path that is
    /// staged, so where it still is nothing need be compared.
    fn is_as_committed(&self, index: &gix::index::State) -> Result<bool, ReadError> {
        let whole = |noted: u32| index.is_sparse() || usize::try_from(noted).is_ok_and(|noted| noted == index.entries().len());
        let Some(noted) = index.tree().filter(|noted| noted.num_entries.is_some_and(whole)) else { return Ok(false) };
        let head = self.inner.head_tree_id_or_empty().map_err(|error| self.broken(error))?;
        Ok(noted.id == head)
    }

    /// The staged paths of an index that stands for whole folders by one entry each, which gix does not compare.
    fn staged_in_sparse(&self, index: &gix::index::File) -> Result<BTreeSet<BString>, ReadError> {
        let tree = self.inner.head_tree_id_or_empty().map_err(|error| self.broken(error))?;
        let head = self.inner.index_from_tree(&tree).map_err(|error| self.broken(error))?;
        let tree = tree.object().and_then(gix::Object::peel_to_tree).map_err(|error| self.broken(error))?;
        let (mut staged, mut folders) = (BTreeSet::new(), BTreeSet::new());
        for entry in index.entries() {
            let path = entry.path(index);
            let same = if entry.mode == gix::index::entry::Mode::DIR {
                folders.insert(path);
                let names = path.trim_end_with(|char| char == '/').split(|byte| *byte == b'/');
                let found = tree.lookup_entry(names).map_err(|error| self.broken(error))?;
                found.is_some_and(|found| found.object_id() == entry.id)
            } else {
                head.entry_by_path(path).is_some_and(|found| (found.id, found.mode) == (entry.id, entry.mode))
            };
            if !same {
                staged.insert(path.to_owned());
            }
        }
        for path in head.entries().iter().map(|entry| entry.path(&head)) {
            let within = |folders: &BTreeSet<&BStr>| path.find_iter("/").any(|slash| folders.contains(&path[..=slash].as_bstr()));
            if index.entry_by_path(path).is_none() && !within(&folders) {
                staged.insert(path.to_owned());
            }
        }
        Ok(staged)
    }

    /// By what clones and worktrees of one repository are known for one; none before its first commit.
    pub fn identity(&self) -> Result<Option<RepositoryIdentity>, ReadError> {
        let Some(commit) = self.head()?.commit().map(str::to_owned) else { return Ok(None) };
        let tip = gix::ObjectId::from_hex(commit.as_bytes()).map_err(|error| self.broken(error))?;
        let walk = self.inner.rev_walk([tip]).first_parent_only().all().map_err(|error| self.broken(error))?;
        let root = walk.last().transpose().map_err(|error| self.broken(error))?.map_or(tip, |commit| commit.id);
        let origin = self.inner.config_snapshot().string("remote.origin.url").and_then(|address| origin::normalised(&address));
        Ok(Some(RepositoryIdentity { root: root.to_string(), origin }))
    }

    /// The folder of hooks that the configuration names, when it names one. A relative path starts at the top of the work
    /// tree the hook runs in.
    pub(super) fn hooks_path(&self) -> Option<PathBuf> {
        let path = self.inner.config_snapshot().trusted_path("core.hooksPath").ok().flatten()?;
        Some(self.top.as_deref().unwrap_or(&self.git_dir).join(path))
    }

    /// Whether git is told how to fetch content that is stored elsewhere.
    pub(super) fn has_lfs_filter(&self) -> bool {
        let config = self.inner.config_snapshot();
        ["filter.lfs.process", "filter.lfs.smudge"].iter().any(|key| config.string(*key).is_some_and(|value| !value.is_empty()))
    }

    /// Whether only a part of the files is checked out.
    pub(super) fn is_sparse(&self) -> bool {
        self.inner.config_snapshot().boolean("core.sparseCheckout").unwrap_or(false)
    }

    /// Whether git passes over a file that it does not know, from the top.
    pub fn ignores(&self, path: &Path) -> Result<bool, ReadError> {
        self.ignored()?.is_ignored(path)
    }

    /// What git ignores in this work tree.
    pub(super) fn ignored(&self) -> Result<Ignored<'_>, ReadError> {
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
        let stack = self.inner.excludes(&index, None, source).map_err(|error| self.broken(error))?;
        Ok(Ignored { repository: self, index, stack })
    }

    /// The file of the `post-checkout` hook, when the repository has one that git would run.
    pub fn post_checkout_hook(&self) -> Option<PathBuf> {
        let hook = self.hooks_path().unwrap_or_else(|| self.common_dir.join("hooks")).join("post-checkout");
        hook.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0).then_some(hook)
    }

    /// What the index holds, as a digest that a mere refresh of file times does not change.
    pub(super) fn index_digest(&self) -> Result<[u8; 32], ReadError> {
        let index = self.inner.index_or_empty().map_err(|error| self.broken(error))?;
        let mut hash = blake3::Hasher::new();
        for entry in index.entries() {
            hash.update(entry.path(&index)).update(&[0]).update(entry.id.as_slice());
            hash.update(&entry.mode.bits().to_le_bytes()).update(&[entry.stage_raw() as u8]);
        }
        Ok(*hash.finalize().as_bytes())
    }

    fn entry(&self, commit: &str, path: &Path) -> Result<Option<(gix::ObjectId, gix::objs::tree::EntryMode)>, ReadError> {
        let broken = |error| self.broken(error);
        let id = gix::ObjectId::from_hex(commit.as_bytes()).map_err(broken)?;
        let tree = self.inner.find_object(id).map_err(broken)?.peel_to_tree().map_err(broken)?;
        let names = path.components().map(|name| name.as_os_str().as_bytes());
        let entry = tree.lookup_entry(names).map_err(broken)?;
        Ok(entry.map(|entry| (entry.object_id(), entry.mode())))
    }

    fn common_is_bare(&self) -> bool {
        self.common_dir.file_name() != Some(".git".as_ref()) || self.inner.config_snapshot().boolean("core.bare") == Some(true)
    }

    fn broken(&self, error: gix::Error) -> ReadError {
        unreadable(self.top.as_deref().unwrap_or(&self.git_dir), error)
    }
}

/// What git ignores in one work tree. Paths are from its top.
pub(super) struct Ignored<'r> {
    repository: &'r Repository,
    index: gix::worktree::Index,
    stack: gix::AttributeStack<'r>,
}

impl Ignored<'_> {
    /// Whether git knows the file already, checked out or not.
    pub(super) fn is_tracked(&self, path: &Path) -> bool {
        self.index.entry_by_path(BStr::new(path.as_os_str().as_bytes())).is_some()
    }

    /// Whether git passes over a file that it does not know.
    pub(super) fn is_ignored(&mut self, path: &Path) -> Result<bool, ReadError> {
        let found = self.stack.at_path(path, Some(gix::index::entry::Mode::FILE)).map_err(|error| self.repository.broken(error))?;
        Ok(found.is_excluded())
    }
}

/// Variables of ours that git may see although they begin with `GIT_`: where its configuration and its parts are.
const KEPT: [&str; 9] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    // How content and commits are fetched, where a person's machine needs it.
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_LFS_SKIP_SMUDGE",
];

/// Whether a variable of ours would lead git to another repository, index or configuration, as those do that a git hook
/// is started with.
pub(super) fn misleads(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == *kept)
}

/// How repositories are opened: by their folder alone.
fn options() -> gix::sec::trust::Mapping<gix::open::Options> {
    use gix::open::{Options, Permissions, permissions::Environment};
    let mut permissions = Permissions::all();
    if std::env::vars_os().any(|(name, _)| misleads(&name)) {
        let deny = gix::sec::Permission::Deny;
        permissions.env = Environment { git_prefix: deny, objects: deny, ..permissions.env };
    }
    // To the second, every file of a fresh worktree could have changed since its index was written, and would be read.
    let open = |level| Options::default_for_level(level).permissions(permissions).config_overrides(["gitoxide.core.useNsec=true"]);
    gix::sec::trust::Mapping { full: open(gix::sec::Trust::Full), reduced: open(gix::sec::Trust::Reduced) }
}

pub(super) fn unreadable(path: &Path, error: gix::Error) -> ReadError {
    ReadError::Repository { path: path.to_path_buf(), source: Box::new(error) }
}

fn nothing_found(error: &gix::Error) -> bool {
    use gix::discover::upwards::Error;
    error.downcast_any_ref::<Error>().is_some_and(|error| !matches!(error, Error::NoTrustedGitRepository { .. }))
}

/// A `.git` file between the folder and the repository found above it that leads nowhere. Git stops there, and so do
/// we: the repository further up is another one. One that leads to a bare repository leads somewhere.
fn refuse_broken_link(folder: &Path, top: Option<&Path>, git_dir: Option<&Path>) -> Result<(), ReadError> {
    let leads_there = |folder: &Path| {
        let target = links::record_of(folder).ok().flatten();
        target.zip(git_dir).is_some_and(|(target, git_dir)| links::same(&target, git_dir))
    };
    for folder in folder.ancestors().take_while(|folder| Some(*folder) != top) {
        let dot_git = folder.join(".git");
        match dot_git.symlink_metadata() {
            Ok(metadata) if metadata.is_file() && leads_there(folder) => return Ok(()),
            Ok(metadata) if metadata.is_file() => return Err(ReadError::BrokenLink { path: dot_git }),
            Ok(_) => {}
            Err(error) if absent(&error) => {}
            Err(source) => return Err(ReadError::Unreadable { path: dot_git, source }),
        }
    }
    Ok(())
}
