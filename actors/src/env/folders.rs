//! The door to folders and git: a place's folder, and the folders of forks. Everything here blocks.

use std::path::Path;

use frith_store::{
    git::{FolderPlan, FolderState, Limits, MadeFolder, MakeError, PlanError, RemoveError, Removed, Watch, read::RepositoryIdentity},
    refusal::FolderFault,
    text::PathText,
};

/// A file in a repository that names the MCP servers an agent there uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Its path below the folder the agent starts in.
    pub path: String,
    /// The keys that lead to frith's entry, outermost first. The file is JSON, comments allowed.
    pub key_path: Vec<String>,
}

/// Folders and git on this machine.
pub trait Folders: Send + Sync {
    /// Looks at a folder somebody chose: it must be there and readable. Answers with its path without symbolic links.
    ///
    /// # Errors
    /// Why it cannot be a place's folder.
    fn look(&self, path: &Path) -> Result<PathText, FolderFault>;

    /// Decides how the folder of a fork is made from its parent's.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn plan(&self, source: &Path, fork: &str, limits: Limits) -> Result<FolderPlan, PlanError>;

    /// The project file that an agent in the planned folder would find, with its bytes.
    ///
    /// # Errors
    /// It cannot be looked at.
    fn project_file(&self, plan: &FolderPlan, file: &ProjectFile) -> Result<Option<(PathText, Vec<u8>)>, PlanError>;

    /// The project file that an agent in a folder that is there finds, with its bytes.
    fn project_file_in(&self, folder: &Path, file: &ProjectFile) -> Option<(PathText, Vec<u8>)>;

    /// Makes a fork's folder.
    ///
    /// # Errors
    /// Why it was not made; nothing is left of it then.
    fn make(&self, plan: &FolderPlan, watch: &mut dyn Watch) -> Result<MadeFolder, MakeError>;

    /// What a fork's folder holds now.
    ///
    /// # Errors
    /// It cannot be looked at.
    fn seen(&self, fork: &str) -> Result<FolderState, RemoveError>;

    /// By what the repository of a folder is known; none when there is none, or it cannot be read.
    fn repository(&self, folder: &Path) -> Option<RepositoryIdentity>;

    /// A folder without symbolic links; none when it is not there.
    fn real(&self, folder: &Path) -> Option<PathText>;

    /// The folder in a repository's main checkout that stands for this one, which is in a linked worktree of it; none for any other.
    fn in_main_checkout(&self, folder: &Path) -> Option<PathText>;

    /// How many changes in a fork's folder are in no commit; none when that cannot be told.
    fn uncommitted(&self, folder: &Path) -> Option<u64>;

    /// Removes a fork's folder if it is still as it was seen.
    ///
    /// # Errors
    /// Why it was kept.
    fn remove(&self, fork: &str, seen: &FolderState, watch: &mut dyn Watch) -> Result<Removed, RemoveError>;

    /// Takes away what makings and removals that a node did not live to finish left behind.
    fn sweep(&self, watch: &mut dyn Watch);
}
