//! The real folders and git, over the store's git module.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use frith_store::{
    git::{self, FolderPlan, FolderState, ForkFolder, Limits, MadeFolder, MakeError, PlanError, RemoveError, Removed, Watch, Way, read},
    refusal::FolderFault,
    text::PathText,
};

use crate::env::folders::{Folders, ProjectFile};

/// The folders of this machine, with frith's own home among them.
#[derive(Debug, Clone)]
pub struct HomeFolders(pub PathBuf);

impl Folders for HomeFolders {
    fn look(&self, path: &Path) -> Result<PathText, FolderFault> {
        if !path.is_absolute() {
            return Err(FolderFault::Relative);
        }
        let real = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FolderFault::Gone,
            io::ErrorKind::NotADirectory => FolderFault::NotAFolder,
            _ => FolderFault::Unreadable,
        })?;
        if !real.is_dir() {
            return Err(FolderFault::NotAFolder);
        }
        std::fs::read_dir(&real).map_err(|_| FolderFault::Unreadable)?;
        let home = self.0.canonicalize().unwrap_or_else(|_| self.0.clone());
        if real.starts_with(home) { Err(FolderFault::Ours) } else { Ok(PathText::from(real.as_path())) }
    }

    fn plan(&self, source: &Path, fork: &str, limits: Limits) -> Result<FolderPlan, PlanError> {
        git::plan(source, &ForkFolder::new(&self.0, fork)?, limits)
    }

    fn project_file(&self, plan: &FolderPlan, file: &ProjectFile) -> Result<Option<(PathText, Vec<u8>)>, PlanError> {
        match plan.way() {
            Way::Reuse => Ok(on_disk(&plan.folder().join(below_top(plan)), &file.path)),
            Way::Copy if file.path == MCP_FILE => Ok(None),
            Way::Copy => Ok(on_disk(plan.source(), &file.path)),
            Way::NewBranch | Way::ExistingBranch => committed(plan, &file.path),
        }
    }

    fn project_file_in(&self, folder: &Path, file: &ProjectFile) -> Option<(PathText, Vec<u8>)> {
        on_disk(folder, &file.path)
    }

    fn make(&self, plan: &FolderPlan, watch: &mut dyn Watch) -> Result<MadeFolder, MakeError> {
        git::make(plan, watch)
    }

    fn seen(&self, fork: &str) -> Result<FolderState, RemoveError> {
        git::seen(&self.fork(fork)?)
    }

    fn repository(&self, folder: &Path) -> Option<read::RepositoryIdentity> {
        read::find(folder).ok()??.identity().ok()?
    }

    fn real(&self, folder: &Path) -> Option<PathText> {
        let real = folder.canonicalize().ok()?;
        real.is_dir().then(|| PathText::from(real.as_path()))
    }

    fn in_main_checkout(&self, folder: &Path) -> Option<PathText> {
        let repository = read::find(folder).ok()??;
        let below = folder.strip_prefix(repository.top()?).ok()?;
        let main: PathBuf = repository.main_top()?.join(below).components().collect();
        Some(PathText::from(main.as_path()))
    }

    fn uncommitted(&self, folder: &Path) -> Option<u64> {
        let repository = read::find(folder).ok()??;
        Some(repository.changes().ok()?.total() as u64)
    }

    fn remove(&self, fork: &str, seen: &FolderState, watch: &mut dyn Watch) -> Result<Removed, RemoveError> {
        git::remove(&self.fork(fork)?, seen, Limits::default(), watch)
    }

    fn sweep(&self, watch: &mut dyn Watch) {
        match git::sweep(&self.0, Limits::default(), watch) {
            Ok(swept) => {
                for (path, error) in swept.kept {
                    tracing::warn!(path = %path.display(), %error, "what an earlier node left half made could not be cleared away");
                }
            }
            Err(error) => tracing::warn!(%error, "the forks' folders cannot be looked at"),
        }
    }
}

/// The project file that a copy never has: it speaks for the folder it was copied from.
const MCP_FILE: &str = ".mcp.json";

impl HomeFolders {
    fn fork(&self, id: &str) -> Result<ForkFolder, RemoveError> {
        ForkFolder::new(&self.0, id).map_err(|_| RemoveError::NotAFolder { path: self.0.join("forks") })
    }
}

/// The most bytes of a project file; no program reads a larger one for a few entries.
const PROJECT_FILE_MOST: u64 = 1024 * 1024;

/// A regular file below a folder, links followed as the program that reads it would; none when it is something else.
fn on_disk(folder: &Path, file: &str) -> Option<(PathText, Vec<u8>)> {
    let path = folder.join(file);
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).ok()?);
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    opened.take(PROJECT_FILE_MOST).read_to_end(&mut bytes).ok()?;
    Some((PathText::from(path.as_path()), bytes))
}

/// The file as the planned worktree's commit has it, below the folder the agent starts in.
fn committed(plan: &FolderPlan, file: &str) -> Result<Option<(PathText, Vec<u8>)>, PlanError> {
    let Some(repository) = read::find(plan.source())? else { return Ok(None) };
    let path = below_top(plan).join(file);
    let bytes = repository.committed(&path)?;
    Ok(bytes.map(|bytes| (PathText::from(path.as_path()), bytes)))
}

/// The folder an agent starts in, below the top of its checkout.
fn below_top(plan: &FolderPlan) -> PathBuf {
    let repository = read::find(plan.source()).ok().flatten();
    let top = repository.as_ref().and_then(read::Repository::top);
    top.and_then(|top| plan.source().strip_prefix(top).ok()).map(Path::to_owned).unwrap_or_default()
}
