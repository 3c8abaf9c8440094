//! Refusals about worktrees: the fact, and beside it what would make the request succeed.

use std::ffi::OsStr;

use serde::{Deserialize, Serialize};

use super::count;
use crate::{id::AgentId, shell, text::PathText};

/// Why something is not done to a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "each field is what its name says")]
pub enum WorktreeRefusal {
    /// The configuration says that there are none.
    #[error("worktrees are not enabled")]
    Disabled,
    /// The caller stands in no repository.
    #[error("`{folder}` is in no git repository")]
    NoRepository { folder: PathText },
    /// A worktree has an owner, and the caller is no agent.
    #[error("no agent calls, and no owner was named")]
    NoOwner,
    /// The text cannot name a task.
    #[error("`{given}` {fault}")]
    BadTask { given: String, fault: TaskFault },
    /// The text cannot name an owner.
    #[error("`{given}` is no owner: it may have printable ASCII without ` | ` only, and 1 to 100 characters")]
    BadOwner { given: String },
    /// A worktree would stand where something stands already.
    #[error("`{path}` is there already")]
    PathThere { path: PathText },
    /// A worktree would have a branch that exists.
    #[error("branch `{branch}` exists already{}", at.as_ref().map(|at| format!(" and is checked out at `{at}`")).unwrap_or_default())]
    BranchThere { branch: String, at: Option<PathText> },
    /// Worktrees cannot be made below this folder.
    #[error("worktrees cannot be made in `{root}`: {fault}")]
    BadRoot { root: PathText, fault: RootFault },
    /// Nothing is called so that a worktree could start from.
    #[error("`{given}` names no commit of this repository")]
    UnknownBase { given: String },
    /// The repository has nothing to start from.
    #[error("the repository `{repository}` has no commit yet")]
    NoCommit { repository: PathText },
    /// The origin could not be asked for its latest commit.
    #[error("origin cannot be reached, so `{base}` may be old: {why}")]
    OriginAway { base: String, why: String },
    /// The origin has no default branch that is known here.
    #[error("nothing tells which branch of origin is its default one")]
    NoDefaultBranch { repository: PathText },
    /// No worktree of the repository is meant.
    #[error("no worktree of this repository is at `{given}` or has it as its task")]
    NoMatch { given: String },
    /// Several worktrees of the repository may be meant.
    #[error("`{given}` may be {} worktrees: {}", paths.len(), paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "))]
    SeveralMatch { given: String, paths: Vec<PathText> },
    /// The main checkout is nobody's.
    #[error("`{path}` is the main checkout")]
    MainCheckout { path: PathText },
    /// The worktree has the default branch.
    #[error("`{path}` has the default branch `{branch}`")]
    DefaultBranch { path: PathText, branch: String },
    /// The caller stands in the worktree that is to go.
    #[error("this shell stands in `{path}`, which is to be removed")]
    StandsIn { path: PathText },
    /// The worktree's folder is gone, and git's record of it is left.
    #[error("the folder `{path}` is gone{}", if *locked { ", and its worktree is locked" } else { "" })]
    FolderGone { path: PathText, locked: bool },
    /// Git cannot read the worktree.
    #[error("the worktree `{path}` cannot be read: {fault}")]
    Broken { path: PathText, fault: String },
    /// The worktree has what no commit has.
    #[error("`{path}` has {}", match changes { Some(changes) => count(*changes, "uncommitted change"), None => "a state that cannot be read, which counts as changed".into() })]
    Dirty { path: PathText, changes: Option<usize> },
    /// The branch has commits that are not in the base.
    #[error("branch `{branch}` of `{path}` is not merged into `{base}`{}", ahead.map(|ahead| format!(": it is {} ahead", count(ahead as usize, "commit"))).unwrap_or_default())]
    Unmerged { path: PathText, branch: String, base: String, ahead: Option<u32> },
    /// The worktree is on no branch, and what it has is not in the base.
    #[error("`{path}` is on no branch, and its commit {commit} is not in `{base}`")]
    DetachedUnmerged { path: PathText, commit: String, base: String },
    /// Git is in the middle of something there.
    #[error("a {operation} is under way in `{path}`")]
    UnderWay { path: PathText, operation: String },
    /// The worktree is somebody else's.
    #[error("`{path}` is claimed by {owner}{}", agent.as_ref().map(|agent| format!(", agent {}", agent.short())).unwrap_or_default())]
    OtherOwner { path: PathText, owner: String, agent: Option<AgentId> },
    /// The worktree has a lock that says nothing frith understands.
    #[error("`{path}` is locked by somebody unknown{}", if words.is_empty() { String::new() } else { format!(" (`{words}`)") })]
    UnknownOwner { path: PathText, words: String },
    /// The worktree waits for the session of the host that made it.
    #[error("`{path}` waits for the agent that its host made it for")]
    Pending { path: PathText },
    /// Processes work in the worktree.
    #[error("{} in `{path}`: {}", if processes.len() == 1 { "a process works" } else { "processes work" }, processes.iter().map(|(pid, name)| format!("`{name}` ({pid})")).collect::<Vec<_>>().join(", "))]
    InUse { path: PathText, processes: Vec<(u32, String)> },
    /// Nothing tells what the worktree is for.
    #[error("nothing tells the task of `{path}`: it is on no branch")]
    NoTask { path: PathText },
    /// Without an agent only worktrees are adopted that a host's script may speak for.
    #[error("no agent calls, and `{path}` is in no pool whose host runs a script for it")]
    NoAgent { path: PathText },
    /// The worktree changed between the look and the act.
    #[error("`{path}` changed meanwhile: {what}")]
    Changed { path: PathText, what: String },
    /// Git, or the disk, did not do it.
    #[error("{fact}")]
    Failed { fact: String, way_out: Option<String> },
    /// Somebody who cannot be told may only give a worktree up that is nobody's, or finished.
    #[error("`{path}` is claimed by {owner}, and nothing tells who asks")]
    UnknownCaller { path: PathText, owner: String },
    /// A folder named for cleaning is none of the repository's worktrees.
    #[error("`{path}` is no worktree of this repository")]
    NotOfRepository { path: PathText },
}

/// What is wrong with a task's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is what its sentence says")]
pub enum TaskFault {
    Empty,
    Beginning,
    Characters,
    Dots,
    Ending,
    TooLong,
    LooksLikeACommit,
}

impl std::fmt::Display for TaskFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "names no task: it is empty",
            Self::Beginning => "begins with neither a letter nor a digit",
            Self::Characters => "has other characters than letters, digits, `.`, `_` and `-`",
            Self::Dots => "has two dots in a row",
            Self::Ending => "ends with `.` or `.lock`",
            Self::TooLong => "is longer than 80 characters",
            Self::LooksLikeACommit => "reads like a commit, which git takes for no branch",
        })
    }
}

/// Why worktrees are not made below a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is what its sentence says")]
pub enum RootFault {
    Empty,
    Relative,
    Temporary,
    InsideWorktree(PathText),
}

impl std::fmt::Display for RootFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Relative => f.write_str("it is no absolute path"),
            Self::Temporary => f.write_str("what is in a temporary folder goes without a word"),
            Self::InsideWorktree(top) => write!(f, "it lies inside the checkout `{top}`"),
        }
    }
}

impl WorktreeRefusal {
    /// What would make the request succeed, where something would.
    pub fn hint(&self) -> Option<String> {
        self.making_hint().or_else(|| self.owning_hint()).or_else(|| self.removing_hint())
    }

    fn making_hint(&self) -> Option<String> {
        Some(match self {
            Self::Disabled => "`frith config set worktree.enabled true`".into(),
            Self::NoRepository { .. } => "run it inside the repository that is meant".into(),
            Self::NoOwner => "run it in an agent's shell, or say whose it is: `--owner <name>`".into(),
            Self::BadTask { .. } => "a task is such as `fix-login`, `t42` or `v1.2`".into(),
            Self::BadOwner { .. } => "say a name such as `ada`, or `claude / opus`".into(),
            Self::PathThere { .. } => "choose another task; `frith worktree list` shows whose that is".into(),
            Self::BranchThere { at: Some(at), .. } => format!("choose another task, or work where the branch is: `{at}`"),
            Self::BranchThere { branch, .. } => {
                let branch = shell::line([OsStr::new(branch)]);
                format!("choose another task or slug, or delete the branch if nothing needs it: `git branch -d {branch}`")
            }
            Self::BadRoot { .. } => "`frith config set worktree.root <folder>` names another".into(),
            Self::UnknownBase { .. } => "`git branch --all` shows what there is".into(),
            Self::NoCommit { .. } => "commit something first".into(),
            Self::OriginAway { .. } => "`--offline` takes the last commit of it that is known here".into(),
            Self::NoDefaultBranch { .. } => "`git remote set-head origin --auto` asks origin; or say `--base <revision>`".into(),
            _ => return None,
        })
    }

    fn owning_hint(&self) -> Option<String> {
        Some(match self {
            Self::NoMatch { .. } => "`frith worktree list` shows them".into(),
            Self::SeveralMatch { .. } => "name one by its path".into(),
            Self::MainCheckout { .. } => "`frith worktree add <task>` makes a worktree beside it".into(),
            Self::OtherOwner { agent: Some(agent), .. } => format!("ask for it: `frith agents send {} <text>`", agent.short()),
            Self::OtherOwner { owner, .. } => format!("whoever that is can do it: `--owner '{owner}'`"),
            Self::UnknownOwner { path, .. } => format!("if nobody needs it: `git worktree unlock {}`", quoted(path)),
            Self::UnknownCaller { .. } => "run it in the shell of the agent that has it, or say `--owner <name>`".into(),
            Self::Pending { .. } => "the next agent that starts there, or says `frith worktree adopt` there, has it".into(),
            Self::NoTask { .. } => "say what it is for: `--task <task>`".into(),
            Self::NoAgent { path } => {
                format!("run it in an agent's shell, or say whose it is: `frith worktree claim {} --owner <name>`", quoted(path))
            }
            Self::NotOfRepository { .. } => "`frith worktree list` shows those it has".into(),
            _ => return None,
        })
    }

    fn removing_hint(&self) -> Option<String> {
        Some(match self {
            Self::DefaultBranch { .. } => "it stays: everything else is compared with it".into(),
            Self::StandsIn { .. } => "go to another checkout of the repository first".into(),
            Self::FolderGone { locked: true, path } => {
                format!("if it does not come back: `git worktree unlock {}`, then `frith worktree gc`", quoted(path))
            }
            Self::FolderGone { .. } => "`frith worktree gc --yes` drops what git remembers of it".into(),
            Self::Broken { path, .. } => format!("`git worktree repair {}`, run in the main checkout, mends a moved one", quoted(path)),
            Self::Dirty { path, .. } => format!("commit it, or take it away: `git -C {} status` shows it", quoted(path)),
            Self::Unmerged { .. } => "merge it first, or keep the branch: `--keep-branch`".into(),
            Self::DetachedUnmerged { path, .. } => format!("keep it on a branch: `git -C {} switch -c <branch>`", quoted(path)),
            Self::UnderWay { path, operation } => {
                let end = if operation == "bisect" { "reset" } else { "--abort" };
                format!("finish it, or call it off: `git -C {} {operation} {end}`", quoted(path))
            }
            Self::InUse { .. } => "end it first".into(),
            Self::Changed { .. } => "look at it, then ask again".into(),
            Self::Failed { way_out, .. } => return way_out.clone(),
            _ => return None,
        })
    }
}

/// A path as a shell reads it back.
fn quoted(path: &PathText) -> String {
    shell::quoted(path.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_can_be_typed_whatever_the_path_is() {
        let path: PathText = "/it's here".parse().unwrap();
        let dirty = WorktreeRefusal::Dirty { path: path.clone(), changes: Some(1) };
        assert_eq!(dirty.hint().unwrap(), r"commit it, or take it away: `git -C '/it'\''s here' status` shows it");
        let unknown = WorktreeRefusal::UnknownOwner { path: path.clone(), words: String::new() };
        assert_eq!(unknown.hint().unwrap(), r"if nobody needs it: `git worktree unlock '/it'\''s here'`");
        let unknown = WorktreeRefusal::UnknownOwner { path: "/plain".parse().unwrap(), words: String::new() };
        assert!(unknown.hint().unwrap().ends_with("`git worktree unlock /plain`"));
    }

    #[test]
    fn a35_an_operation_is_called_off_as_git_does_it() {
        let hint = |operation: &str| {
            let path = "/x".parse().unwrap();
            WorktreeRefusal::UnderWay { path, operation: operation.into() }.hint().unwrap()
        };
        assert!(hint("bisect").ends_with("`git -C /x bisect reset`"));
        assert!(hint("rebase").ends_with("`git -C /x rebase --abort`"));
    }
}
