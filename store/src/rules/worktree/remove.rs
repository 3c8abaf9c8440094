//! Whether a worktree may be removed. There is no way around a refusal: no force, no flag.

use super::lock::{Asker, Hold};
use crate::{model::Proof, refusal::WorktreeRefusal, text::PathText};

/// A worktree as git and the disk tell of it at the moment of asking.
#[derive(Debug, Clone)]
pub struct RemovalFacts {
    /// Where it stands.
    pub path: PathText,
    /// Whether it is the main checkout.
    pub is_main: bool,
    /// Whether it has the default branch.
    pub has_default_branch: bool,
    /// Whether its folder is gone; then, whether git's record of it is locked.
    pub gone: Option<bool>,
    /// Why git cannot read it, when it cannot.
    pub broken: Option<String>,
    /// Its branch; none when it is on none.
    pub branch: Option<String>,
    /// Its commit, in hex.
    pub commit: Option<String>,
    /// What git is in the middle of there.
    pub operation: Option<&'static str>,
    /// How many changes are in no commit; none when that cannot be told.
    pub changes: Option<usize>,
    /// How it is known that its commits are in the base.
    pub merged: Option<Proof>,
    /// Whether any of its commits was made there.
    pub has_own_commits: bool,
    /// How many commits it is ahead of the base.
    pub ahead: Option<u32>,
    /// What it is compared with, in words.
    pub base: String,
    /// Whose it is.
    pub hold: Hold,
    /// Whether the asker stands in it.
    pub is_stood_in: bool,
    /// Other processes in it.
    pub processes: Vec<(u32, String)>,
}

impl RemovalFacts {
    /// Whether nothing in it is without a commit.
    pub fn is_clean(&self) -> bool {
        self.changes == Some(0) && self.operation.is_none()
    }

    /// Whether the work in it is done: merged, clean, and of its own.
    pub fn is_finished(&self) -> bool {
        self.merged.is_some() && self.is_clean() && self.has_own_commits && !self.has_default_branch
    }
}

/// A decision to remove a worktree, with what it was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalPlan {
    deletes_branch: bool,
    proof: Option<Proof>,
}

impl RemovalPlan {
    /// Whether its branch goes with it.
    pub fn deletes_branch(&self) -> bool {
        self.deletes_branch
    }

    /// How it is known that nothing is lost with the branch.
    pub fn proof(&self) -> Option<Proof> {
        self.proof
    }
}

/// Whether a worktree may be removed, in the order in which it is told.
///
/// # Errors
/// What stands in the way.
pub fn can_remove(facts: &RemovalFacts, asker: &Asker, keep_branch: bool) -> Result<RemovalPlan, WorktreeRefusal> {
    refuse_standing(facts)?;
    refuse_held(facts, asker)?;
    refuse_loss(facts, keep_branch)?;
    if !facts.processes.is_empty() {
        return Err(WorktreeRefusal::InUse { path: facts.path.clone(), processes: facts.processes.clone() });
    }
    let deletes_branch = facts.merged.is_some() && facts.branch.is_some() && !keep_branch;
    Ok(RemovalPlan { deletes_branch, proof: facts.merged })
}

fn refuse_standing(facts: &RemovalFacts) -> Result<(), WorktreeRefusal> {
    let path = || facts.path.clone();
    match facts {
        _ if facts.is_main => Err(WorktreeRefusal::MainCheckout { path: path() }),
        RemovalFacts { gone: Some(locked), .. } => Err(WorktreeRefusal::FolderGone { path: path(), locked: *locked }),
        RemovalFacts { broken: Some(fault), .. } => Err(WorktreeRefusal::Broken { path: path(), fault: fault.clone() }),
        RemovalFacts { has_default_branch: true, branch, .. } => {
            Err(WorktreeRefusal::DefaultBranch { path: path(), branch: branch.clone().unwrap_or_default() })
        }
        _ if facts.is_stood_in => Err(WorktreeRefusal::StandsIn { path: path() }),
        _ => Ok(()),
    }
}

fn refuse_held(facts: &RemovalFacts, asker: &Asker) -> Result<(), WorktreeRefusal> {
    let path = || facts.path.clone();
    match &facts.hold {
        _ if facts.is_finished() => Ok(()),
        Hold::Free | Hold::Yours => Ok(()),
        Hold::Pending => Err(WorktreeRefusal::Pending { path: path() }),
        Hold::Unknown { words } => Err(WorktreeRefusal::UnknownOwner { path: path(), words: words.clone() }),
        Hold::Other { owner, .. } if asker.is_unknown() => Err(WorktreeRefusal::UnknownCaller { path: path(), owner: owner.clone() }),
        Hold::Other { owner, agent } => Err(WorktreeRefusal::OtherOwner { path: path(), owner: owner.clone(), agent: *agent }),
    }
}

fn refuse_loss(facts: &RemovalFacts, keep_branch: bool) -> Result<(), WorktreeRefusal> {
    let (path, base) = (|| facts.path.clone(), || facts.base.clone());
    if let Some(operation) = facts.operation {
        return Err(WorktreeRefusal::UnderWay { path: path(), operation: operation.to_owned() });
    }
    if facts.changes != Some(0) {
        return Err(WorktreeRefusal::Dirty { path: path(), changes: facts.changes });
    }
    match (&facts.branch, facts.merged) {
        (_, Some(_)) => Ok(()),
        // A branch without a commit has nothing to lose.
        (Some(_), None) if facts.commit.is_none() || keep_branch => Ok(()),
        (Some(branch), None) => Err(WorktreeRefusal::Unmerged { path: path(), branch: branch.clone(), base: base(), ahead: facts.ahead }),
        (None, None) => {
            Err(WorktreeRefusal::DetachedUnmerged { path: path(), commit: facts.commit.clone().unwrap_or_default(), base: base() })
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::id::AgentId;

    pub fn finished() -> RemovalFacts {
        RemovalFacts {
            path: "/w/app-t".parse().unwrap(),
            is_main: false,
            has_default_branch: false,
            gone: None,
            broken: None,
            branch: Some("t".into()),
            commit: Some("c0ffee".into()),
            operation: None,
            changes: Some(0),
            merged: Some(Proof::AddsNothing),
            has_own_commits: true,
            ahead: Some(2),
            base: "origin/main".into(),
            hold: Hold::Yours,
            is_stood_in: false,
            processes: vec![],
        }
    }

    fn foreign() -> Hold {
        Hold::Other { owner: "codex".into(), agent: Some(AgentId::from_bytes([2; 16])) }
    }

    fn asker() -> Asker {
        Asker { agent: Some(AgentId::from_bytes([1; 16])), owner: Some("claude".into()) }
    }

    fn refused(facts: &RemovalFacts) -> String {
        let refusal = can_remove(facts, &asker(), false).unwrap_err();
        crate::refusal::Refusal::Worktree(refusal).code()
    }

    #[test]
    fn a_finished_one_goes_with_its_branch_whoever_has_it() {
        assert!(can_remove(&finished(), &asker(), false).unwrap().deletes_branch());
        assert!(!can_remove(&finished(), &asker(), true).unwrap().deletes_branch());
        for hold in [foreign(), Hold::Unknown { words: "x".into() }, Hold::Free] {
            assert!(can_remove(&RemovalFacts { hold, ..finished() }, &Asker::default(), false).is_ok());
        }
    }

    #[test]
    fn a16_each_thing_in_the_way_is_told_before_anything_is_done() {
        let cases: [(RemovalFacts, &str); 12] = [
            (RemovalFacts { is_main: true, ..finished() }, "worktreeMainCheckout"),
            (RemovalFacts { has_default_branch: true, ..finished() }, "worktreeDefaultBranch"),
            (RemovalFacts { gone: Some(true), ..finished() }, "worktreeFolderGone"),
            (RemovalFacts { broken: Some("x".into()), ..finished() }, "worktreeBroken"),
            (RemovalFacts { is_stood_in: true, ..finished() }, "worktreeStandsIn"),
            (RemovalFacts { hold: foreign(), changes: Some(1), ..finished() }, "worktreeOtherOwner"),
            (RemovalFacts { hold: Hold::Pending, has_own_commits: false, ..finished() }, "worktreePending"),
            (RemovalFacts { operation: Some("rebase"), ..finished() }, "worktreeUnderWay"),
            (RemovalFacts { changes: Some(3), ..finished() }, "worktreeDirty"),
            (RemovalFacts { changes: None, ..finished() }, "worktreeDirty"),
            (RemovalFacts { merged: None, ..finished() }, "worktreeUnmerged"),
            (RemovalFacts { merged: None, branch: None, ..finished() }, "worktreeDetachedUnmerged"),
        ];
        for (facts, code) in cases {
            assert_eq!(refused(&facts), code);
        }
        assert_eq!(refused(&RemovalFacts { processes: vec![(7, "cargo".into())], ..finished() }), "worktreeInUse");
    }

    #[test]
    fn a02_an_unmerged_branch_goes_only_if_it_stays() {
        let unmerged = RemovalFacts { merged: None, ..finished() };
        assert!(!can_remove(&unmerged, &asker(), true).unwrap().deletes_branch());
        let detached = RemovalFacts { branch: None, ..unmerged };
        assert!(can_remove(&detached, &asker(), true).is_err(), "what is on no branch has none that could stay");
    }

    #[test]
    fn a12_a_fresh_one_is_not_finished_so_only_its_owner_removes_it() {
        let fresh = RemovalFacts { has_own_commits: false, hold: foreign(), ..finished() };
        assert_eq!(refused(&fresh), "worktreeOtherOwner");
        assert!(can_remove(&RemovalFacts { hold: Hold::Yours, ..fresh }, &asker(), false).is_ok());
    }

    #[test]
    fn whoever_cannot_be_told_removes_what_is_free_or_finished() {
        let held = RemovalFacts { hold: foreign(), has_own_commits: false, ..finished() };
        assert!(matches!(can_remove(&held, &Asker::default(), false), Err(WorktreeRefusal::UnknownCaller { .. })));
        assert!(can_remove(&RemovalFacts { hold: Hold::Free, ..held }, &Asker::default(), false).is_ok());
    }
}
