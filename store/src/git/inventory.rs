//! Every checkout of one repository, as it stands on disk: the main one, the linked ones, those whose folder is gone or whose
//! data is broken, and the folders git has forgotten.
//!
//! One bad worktree never hides the others: what cannot be read of it is said in its own row. Nothing here judges, and
//! nothing writes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::error::ReadError;
use super::links::{self, Registered, absent};
use super::orphans;
use super::read::{self, Repository};
use crate::model::WorktreeId;

/// The checkouts of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The git folder that all of them share.
    pub common_dir: PathBuf,
    /// The repository's name: that of the main checkout's folder; of a bare one that of its git folder without `.git`, or of
    /// the folder around it when it is called `.git` or `.bare`.
    pub name: OsString,
    /// The top of the main checkout; none for a bare repository.
    pub main: Option<PathBuf>,
    /// The top of the checkout that was asked from; none in a bare repository.
    pub current: Option<PathBuf>,
    /// The branch that work is merged into: the one `origin/HEAD` names, else `main` or `master` if origin has it. Without an
    /// origin `main`, `master` or the one of `init.defaultBranch` if it is there, and only else that of the main `HEAD`, where
    /// anything may be checked out. That of a bare repository comes first, since nobody works on it.
    pub default_branch: Option<String>,
    /// Whether there is a remote called `origin`.
    pub has_origin: bool,
    /// What branches are compared with.
    pub base: Option<Base>,
    /// The main one first, then the linked ones in the order of git's records.
    pub checkouts: Vec<Checkout>,
    /// Folders whose `.git` file names a record of this repository that is gone.
    pub orphans: Vec<PathBuf>,
}

/// The default branch as origin was last seen to have it; without an origin as it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Its short name, such as `origin/main`.
    pub name: String,
    /// Its tip, in hex.
    pub commit: String,
    /// When that commit was made, in milliseconds.
    pub committed_ms: i64,
}

/// One checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The top of its folder, without symbolic links where it is there.
    pub path: PathBuf,
    /// By what it is known; none for the main one.
    pub id: Option<WorktreeId>,
    /// How it stands on disk.
    pub standing: Standing,
    /// Its branch, also while git is in the middle of rebasing or bisecting it; lossy.
    pub branch: Option<String>,
    /// The commit of its `HEAD`, in hex; none when unborn or unreadable.
    pub commit: Option<String>,
    /// Whether `HEAD` stands on the commit and not on the branch.
    pub detached: bool,
    /// The words of git's lock on it, empty when it has none.
    pub lock: Option<String>,
}

/// How a checkout stands on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The main one.
    Main,
    /// A linked one that git and its folder agree on.
    Linked,
    /// The folder is not there; git's record is.
    Gone,
    /// Its data does not fit together, in words.
    Broken(String),
}

/// Every checkout of the repository that a folder is in; `None` when it is in none.
pub fn inventory(folder: &Path) -> Result<Option<Inventory>, ReadError> {
    let Some(here) = read::find(folder)? else { return Ok(None) };
    if here.git_dir() == here.common_dir() {
        return all(&here, &here).map(Some);
    }
    all(&here, &read::of_git_dir(here.common_dir())?).map(Some)
}

impl Inventory {
    /// The deepest checkout around a path.
    pub fn around(&self, path: &Path) -> Option<&Checkout> {
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        self.checkouts.iter().filter(|one| path.starts_with(&one.path)).max_by_key(|one| one.path.components().count())
    }

    /// The other checkouts whose folders stand inside that of one.
    pub fn inside<'a>(&'a self, outer: &'a Checkout) -> impl Iterator<Item = &'a Checkout> {
        let stands = |one: &&Checkout| one.standing != Standing::Gone && one.path != outer.path;
        self.checkouts.iter().filter(stands).filter(|one| one.path.starts_with(&outer.path))
    }

    /// Whether a branch stays whatever becomes of the worktree that has it: it is the default one, or the main checkout's.
    pub fn keeps_branch(&self, branch: &str) -> bool {
        let mut main = self.checkouts.iter().filter(|one| one.standing == Standing::Main);
        self.default_branch.as_deref() == Some(branch) || main.any(|one| one.branch.as_deref() == Some(branch))
    }

    /// Whether it is the main checkout or has the default branch, so that nothing may be taken away from it.
    pub fn is_default(&self, checkout: &Checkout) -> bool {
        checkout.standing == Standing::Main || (checkout.branch.is_some() && checkout.branch == self.default_branch)
    }
}

fn all(here: &Repository, shared: &Repository) -> Result<Inventory, ReadError> {
    let common_dir = shared.common_dir().to_path_buf();
    let records = links::records(&common_dir);
    let records = records.map_err(|source| ReadError::Unreadable { path: common_dir.join("worktrees"), source })?;
    let main = shared.top().map(|top| main_checkout(shared, top));
    let linked = records.iter().filter_map(|record| linked_checkout(here, shared, record));
    let checkouts: Vec<Checkout> = main.into_iter().chain(linked).collect();
    let known: BTreeSet<&Path> = checkouts.iter().map(|one| one.path.as_path()).collect();
    let has_origin = shared.gix().config_snapshot().string("remote.origin.url").is_some();
    let default_branch = if has_origin { default_of_origin(shared) } else { default_without_origin(shared) };
    let base = default_branch.as_deref().and_then(|branch| base(shared, branch, has_origin));
    Ok(Inventory {
        name: name(shared.top(), &common_dir),
        main: shared.top().map(Path::to_path_buf),
        current: here.top().map(Path::to_path_buf),
        orphans: orphans::find(&common_dir, shared.top(), &known),
        common_dir,
        default_branch,
        has_origin,
        base,
        checkouts,
    })
}

fn name(main: Option<&Path>, common_dir: &Path) -> OsString {
    let named = |path: &Path| path.file_name().unwrap_or(OsStr::new("repository")).to_os_string();
    let Some(main) = main else {
        let own = named(common_dir);
        return match own.as_bytes() {
            b".git" | b".bare" => common_dir.parent().map_or(own, named),
            bytes => OsStr::from_bytes(bytes.strip_suffix(b".git").unwrap_or(bytes)).to_os_string(),
        };
    };
    named(main)
}

fn main_checkout(shared: &Repository, top: &Path) -> Checkout {
    let (stands, broken) = stands(shared, shared.common_dir());
    if let Some(words) = broken {
        tracing::warn!(path = %top.display(), words, "the main checkout's `HEAD` cannot be read");
    }
    Checkout {
        path: top.to_path_buf(),
        id: None,
        standing: Standing::Main,
        branch: stands.branch,
        commit: stands.commit,
        detached: stands.detached,
        lock: None,
    }
}

/// The row of a record. One without the name of its folder is only being made, or was left by a git that died doing so; git
/// itself does not list it either.
fn linked_checkout(here: &Repository, shared: &Repository, record: &Path) -> Option<Checkout> {
    let id = WorktreeId { record: record.into(), stamp: stamp(record) };
    let registered = match links::registered(record) {
        Ok(found) => found?,
        Err(error) => {
            let standing = Standing::Broken(format!("git's record of it cannot be read: {error}"));
            let path = record.to_path_buf();
            return Some(Checkout { path, id: Some(id), standing, branch: None, commit: None, detached: false, lock: None });
        }
    };
    let (path, standing) = place(here, &registered);
    let (stands, broken) = stands(shared, record);
    let standing = broken.filter(|_| standing == Standing::Linked).map_or(standing, Standing::Broken);
    Some(Checkout {
        path,
        id: Some(id),
        standing,
        branch: stands.branch,
        commit: stands.commit,
        detached: stands.detached,
        lock: registered.locked,
    })
}

fn stamp(record: &Path) -> i64 {
    let found = record.join("commondir").metadata();
    found.map_or(0, |found| found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
}

/// Where a worktree is, and how. One that was moved is found where it is only when it is the one asked from.
fn place(here: &Repository, registered: &Registered) -> (PathBuf, Standing) {
    let folder = settled(&registered.folder);
    match folder.metadata() {
        Ok(found) if !found.is_dir() => (folder, Standing::Broken("a file stands where its folder was".into())),
        Ok(_) => {
            let standing = agreement(&folder, &registered.record);
            (folder, standing)
        }
        Err(error) if absent(&error) => match here.top() {
            Some(top) if links::same(here.git_dir(), &registered.record) => (top.to_path_buf(), Standing::Linked),
            _ => (folder, Standing::Gone),
        },
        Err(error) => (folder, Standing::Broken(format!("its folder cannot be read: {error}"))),
    }
}

fn agreement(folder: &Path, record: &Path) -> Standing {
    match links::record_of(folder) {
        Ok(Some(target)) if links::same(&target, record) => Standing::Linked,
        Ok(Some(_)) => Standing::Broken("its `.git` file names another record".into()),
        Ok(None) => Standing::Broken("its folder has no `.git` file".into()),
        Err(error) => Standing::Broken(format!("its `.git` file cannot be read: {error}")),
    }
}

/// A path without symbolic links and `..`, as far as it is there.
pub(super) fn settled(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settled(parent).join(name),
        (Some(parent), None) => settled(parent).parent().map_or_else(|| path.to_path_buf(), Path::to_path_buf),
        (None, _) => path.to_path_buf(),
    }
}

/// Where a `HEAD` stands.
#[derive(Default)]
struct Stands {
    branch: Option<String>,
    commit: Option<String>,
    detached: bool,
}

/// Reads the `HEAD` of one git folder; the words say why it cannot be.
fn stands(shared: &Repository, git_dir: &Path) -> (Stands, Option<String>) {
    let broken = |words: String| (Stands::default(), Some(words));
    let text = match std::fs::read(git_dir.join("HEAD")) {
        Ok(text) => text,
        Err(error) => return broken(format!("its `HEAD` cannot be read: {error}")),
    };
    let text = text.trim_end();
    let Some(name) = text.strip_prefix(b"ref: ") else {
        return match gix::ObjectId::from_hex(text) {
            Ok(id) => (Stands { branch: under_way(git_dir), commit: Some(id.to_string()), detached: true }, None),
            Err(_) => broken("its `HEAD` names neither a branch nor a commit".into()),
        };
    };
    let branch = name.strip_prefix(b"refs/heads/").map(|short| short.to_str_lossy().into_owned());
    match tip(shared, name) {
        Ok(commit) => (Stands { branch, commit, detached: false }, None),
        Err(error) => (Stands { branch, commit: None, detached: false }, Some(format!("its branch cannot be read: {error}"))),
    }
}

/// The branch that a rebase or a bisection took `HEAD` away from.
fn under_way(git_dir: &Path) -> Option<String> {
    let read = |name: &str| std::fs::read(git_dir.join(name)).ok();
    let short = |text: Vec<u8>| text.trim().strip_prefix(b"refs/heads/").map(|name| name.to_str_lossy().into_owned());
    let rebased = read("rebase-merge/head-name").or_else(|| read("rebase-apply/head-name")).and_then(short);
    rebased.or_else(|| {
        let name = read("BISECT_START")?.trim().to_str_lossy().into_owned();
        gix::ObjectId::from_hex(name.as_bytes()).is_err().then_some(name)
    })
}

/// The commit of a reference, in hex.
fn tip(shared: &Repository, name: &[u8]) -> Result<Option<String>, gix::Error> {
    let Some(mut found) = shared.gix().try_find_reference(name.as_bstr())? else { return Ok(None) };
    Ok(Some(found.peel_to_id()?.to_string()))
}

fn default_of_origin(shared: &Repository) -> Option<String> {
    let has = |branch: &str| tip(shared, format!("refs/remotes/origin/{branch}").as_bytes()).is_ok_and(|tip| tip.is_some());
    let head = shared.gix().try_find_reference("refs/remotes/origin/HEAD").ok().flatten();
    let named = head.and_then(|head| {
        let name = head.target().try_name()?.as_bstr().to_str_lossy().into_owned();
        name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
    });
    let seen = named.into_iter().chain(["main".to_owned(), "master".to_owned()]).find(|branch| has(branch));
    // A bare clone has an origin and no branches of it until it is told to fetch them; its own `HEAD` is what origin's was.
    seen.or_else(|| shared.is_bare().then(|| default_without_origin(shared)).flatten())
}

fn default_without_origin(shared: &Repository) -> Option<String> {
    let has = |branch: &str| tip(shared, format!("refs/heads/{branch}").as_bytes()).is_ok_and(|tip| tip.is_some());
    let of_main = stands(shared, shared.common_dir()).0.branch;
    let configured = shared.gix().config_snapshot().string("init.defaultBranch").map(|name| name.to_str_lossy().into_owned());
    let usual = ["main".to_owned(), "master".to_owned()].into_iter().chain(configured);
    let first = of_main.clone().filter(|_| shared.is_bare());
    // The `HEAD` of a bare repository may well name a branch that nobody ever made.
    first.into_iter().chain(usual).chain(of_main.clone()).find(|branch| has(branch)).or(of_main)
}

fn base(shared: &Repository, branch: &str, has_origin: bool) -> Option<Base> {
    let (name, full) = match has_origin {
        true => (format!("origin/{branch}"), format!("refs/remotes/origin/{branch}")),
        false => (branch.to_owned(), format!("refs/heads/{branch}")),
    };
    let commit = tip(shared, full.as_bytes()).ok().flatten()?;
    let found = shared.gix().find_commit(gix::ObjectId::from_hex(commit.as_bytes()).ok()?).ok()?;
    let committed_ms = found.time().ok()?.seconds.saturating_mul(1_000);
    Some(Base { name, commit, committed_ms })
}
