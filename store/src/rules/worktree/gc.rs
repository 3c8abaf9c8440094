//! Which worktrees a sweep takes away, and why it keeps the others. Age alone is never a reason.

use serde::{Deserialize, Serialize};

use super::{
    lock::{Asker, Hold},
    remove::{RemovalFacts, can_remove},
};

/// How long a worktree is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One that nobody is at work in, in milliseconds.
    pub idle_ms: u64,
    /// One that has somebody else's lock.
    pub stale_lock_ms: u64,
}

/// What else is told of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Whether the one who asks stands in it.
    pub is_current: bool,
    /// Whether an agent that has it, or works in it, is live.
    pub has_live_agent: bool,
    /// For how long nothing in it was written; none when that cannot be read.
    pub untouched_ms: Option<u64>,
}

/// Why a worktree stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Kept {
    /// It is the main checkout, or has the default branch.
    Main,
    /// The one who asks stands in it.
    Current,
    /// It waits for its agent.
    Pending,
    /// It is finished, and was written to not long ago.
    FinishedLately,
    /// A live agent has it, or works in it.
    LiveAgent,
    /// It has somebody else's lock.
    ForeignLock,
    /// Its folder is gone and it is locked: perhaps its disk is away.
    GoneButLocked,
    /// Git cannot read it.
    Broken,
    /// Something in it is in no commit, or that cannot be told.
    Dirty,
    /// Git is in the middle of something there.
    UnderWay,
    /// It has commits that are not in the base.
    Unmerged,
    /// It was written to not long ago.
    UsedLately,
    /// A process works in it.
    InUse,
}

/// Why a worktree goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// Its work is in the base.
    Finished,
    /// Whoever locked it has not been there for long, and nothing in it would be lost.
    Abandoned,
    /// Nobody has it, nothing in it would be lost, and nobody was there for a while.
    Unused,
}

/// What a sweep does with a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Collected {
    /// Nothing.
    Keep(Kept),
    /// It is removed.
    Remove(Reason),
    /// Its folder is gone, and git's record of it is dropped.
    Forget,
}

/// What a sweep does with a worktree: the first line that fits. Whoever does it asks again at that moment.
pub fn can_collect(facts: &RemovalFacts, rest: &Rest, limits: Limits) -> Collected {
    let untouched_for = |ms: u64| rest.untouched_ms.is_some_and(|untouched| untouched > ms);
    let is_foreign = facts.hold.is_foreign();
    let keep = Collected::Keep;
    if facts.is_main || facts.has_default_branch && facts.gone.is_none() {
        keep(Kept::Main)
    } else if rest.is_current {
        keep(Kept::Current)
    } else if facts.hold == Hold::Pending {
        keep(Kept::Pending)
    } else if facts.is_finished() && (rest.has_live_agent || is_foreign) {
        if untouched_for(limits.idle_ms) { going(facts, Reason::Finished) } else { keep(Kept::FinishedLately) }
    } else if rest.has_live_agent {
        keep(Kept::LiveAgent)
    } else if let Some(locked) = facts.gone {
        if locked || is_foreign { keep(Kept::GoneButLocked) } else { Collected::Forget }
    } else if is_foreign {
        let is_old = untouched_for(limits.idle_ms.max(limits.stale_lock_ms));
        let is_lossless = facts.merged.is_some() && facts.is_clean();
        if is_lossless && is_old { going(facts, Reason::Abandoned) } else { keep(Kept::ForeignLock) }
    } else if facts.broken.is_some() {
        keep(Kept::Broken)
    } else if facts.operation.is_some() {
        keep(Kept::UnderWay)
    } else if !facts.is_clean() {
        keep(Kept::Dirty)
    } else if facts.merged.is_none() {
        keep(Kept::Unmerged)
    } else if !untouched_for(limits.idle_ms) {
        keep(Kept::UsedLately)
    } else {
        going(facts, if facts.is_finished() { Reason::Finished } else { Reason::Unused })
    }
}

/// A sweep does nothing that the removal of one would refuse for what is in it; only whose it is was weighed already.
fn going(facts: &RemovalFacts, reason: Reason) -> Collected {
    let asked = RemovalFacts { hold: Hold::Free, ..facts.clone() };
    match can_remove(&asked, &Asker::default(), false) {
        Ok(_) => Collected::Remove(reason),
        Err(crate::refusal::WorktreeRefusal::InUse { .. }) => Collected::Keep(Kept::InUse),
        Err(_) => Collected::Keep(Kept::Dirty),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::remove::tests::finished, *};

    const LIMITS: Limits = Limits { idle_ms: 1_000, stale_lock_ms: 10_000 };

    fn rest(untouched_ms: u64) -> Rest {
        Rest { is_current: false, has_live_agent: false, untouched_ms: Some(untouched_ms) }
    }

    fn foreign() -> Hold {
        Hold::Other { owner: "codex".into(), agent: None }
    }

    fn away() -> RemovalFacts {
        RemovalFacts { gone: Some(false), changes: None, merged: None, has_own_commits: false, ..finished() }
    }

    fn fresh() -> RemovalFacts {
        RemovalFacts { has_own_commits: false, ..finished() }
    }

    #[test]
    fn every_line_of_the_list_decides_in_its_turn() {
        let live = Rest { has_live_agent: true, ..rest(2_000) };
        let keep = Collected::Keep;
        let cases: [(RemovalFacts, Rest, Collected); 21] = [
            (RemovalFacts { is_main: true, ..finished() }, rest(99_999), keep(Kept::Main)),
            (RemovalFacts { has_default_branch: true, ..finished() }, rest(99_999), keep(Kept::Main)),
            (finished(), Rest { is_current: true, ..rest(99_999) }, keep(Kept::Current)),
            (RemovalFacts { hold: Hold::Pending, ..finished() }, rest(99_999), keep(Kept::Pending)),
            (finished(), live, Collected::Remove(Reason::Finished)),
            (finished(), Rest { untouched_ms: Some(1_000), ..live }, keep(Kept::FinishedLately)),
            (RemovalFacts { hold: foreign(), ..finished() }, rest(2_000), Collected::Remove(Reason::Finished)),
            (RemovalFacts { hold: foreign(), ..finished() }, rest(500), keep(Kept::FinishedLately)),
            (fresh(), live, keep(Kept::LiveAgent)),
            (RemovalFacts { hold: foreign(), ..fresh() }, rest(10_001), Collected::Remove(Reason::Abandoned)),
            (RemovalFacts { hold: foreign(), ..fresh() }, rest(10_000), keep(Kept::ForeignLock)),
            (RemovalFacts { hold: foreign(), changes: Some(1), ..finished() }, rest(99_999), keep(Kept::ForeignLock)),
            (away(), rest(0), Collected::Forget),
            (RemovalFacts { gone: Some(true), ..away() }, rest(99_999), keep(Kept::GoneButLocked)),
            (RemovalFacts { gone: Some(false), hold: foreign(), ..away() }, rest(99_999), keep(Kept::GoneButLocked)),
            (away(), live, keep(Kept::LiveAgent)),
            (RemovalFacts { changes: None, ..finished() }, rest(99_999), keep(Kept::Dirty)),
            (RemovalFacts { operation: Some("rebase"), ..finished() }, rest(99_999), keep(Kept::UnderWay)),
            (RemovalFacts { merged: None, ..finished() }, rest(99_999), keep(Kept::Unmerged)),
            (fresh(), rest(900), keep(Kept::UsedLately)),
            (fresh(), rest(2_000), Collected::Remove(Reason::Unused)),
        ];
        for (n, (facts, rest, expected)) in cases.into_iter().enumerate() {
            assert_eq!(can_collect(&facts, &rest, LIMITS), expected, "case {n}");
        }
    }

    #[test]
    fn a04_age_is_never_enough_and_an_unreadable_age_is_never_old() {
        let unreadable = Rest { untouched_ms: None, ..rest(0) };
        for facts in [finished(), fresh(), RemovalFacts { hold: foreign(), ..fresh() }] {
            assert!(matches!(can_collect(&facts, &unreadable, LIMITS), Collected::Keep(_)));
        }
        let detached = RemovalFacts { branch: None, merged: None, ..finished() };
        assert_eq!(can_collect(&detached, &rest(u64::MAX), LIMITS), Collected::Keep(Kept::Unmerged));
    }

    #[test]
    fn a20_the_default_branch_is_never_a_candidate() {
        let facts = RemovalFacts { has_default_branch: true, hold: Hold::Free, ..finished() };
        assert_eq!(can_collect(&facts, &rest(u64::MAX), LIMITS), Collected::Keep(Kept::Main));
    }

    #[test]
    fn what_is_in_use_stays_however_finished() {
        let facts = RemovalFacts { processes: vec![(7, "cargo".into())], ..finished() };
        assert_eq!(can_collect(&facts, &rest(2_000), LIMITS), Collected::Keep(Kept::InUse));
    }
}
