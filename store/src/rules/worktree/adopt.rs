//! Taking a worktree over that somebody else, mostly a host, has made.

use super::{
    lock::{Asker, Hold, LockText},
    name::can_name,
};
use crate::{refusal::WorktreeRefusal, text::PathText, time::Timestamp};

/// A linked worktree as it stands, for whoever wants to take it over.
#[derive(Debug, Clone)]
pub struct Adoptable<'a> {
    /// Where it stands.
    pub path: PathText,
    /// Its branch; none when it is on none.
    pub branch: Option<&'a str>,
    /// The words of git's lock.
    pub lock: Option<&'a str>,
    /// The task of the claim on it.
    pub claimed_task: Option<&'a str>,
    /// Whose it is.
    pub hold: Hold,
    /// Whether a worktree that is taken over here gets git's lock.
    pub locks: bool,
}

/// A decision to take a worktree over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptPlan {
    task: String,
    before: Option<String>,
    after: Option<String>,
}

impl AdoptPlan {
    /// What it is for.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The words of the lock that it has to have still.
    pub fn lock_before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// The words of the lock that it gets.
    pub fn lock_after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Whether git's lock stays as it is.
    pub fn keeps_lock(&self) -> bool {
        self.before == self.after
    }
}

/// Whether a worktree may be taken over: nobody else may have it. Who calls is told already; one that nothing is known of gets the
/// pending claim only, and no lock.
///
/// # Errors
/// It is somebody else's, or nothing tells what it is for.
pub fn can_adopt(worktree: &Adoptable<'_>, task: Option<&str>, asker: &Asker, now: Timestamp) -> Result<AdoptPlan, WorktreeRefusal> {
    let path = || worktree.path.clone();
    match &worktree.hold {
        Hold::Other { owner, agent } => return Err(WorktreeRefusal::OtherOwner { path: path(), owner: owner.clone(), agent: *agent }),
        Hold::Unknown { words } => return Err(WorktreeRefusal::UnknownOwner { path: path(), words: words.clone() }),
        Hold::Free | Hold::Pending | Hold::Yours => {}
    }
    let before = worktree.lock.map(str::to_owned);
    let text = before.as_deref().and_then(LockText::read);
    let said = task.map(|task| can_name(task, None)).transpose()?.map(|name| name.task().to_owned());
    let found = said.or_else(|| text.as_ref().map(|text| text.task.clone())).or_else(|| worktree.claimed_task.map(str::to_owned));
    let found = found.or_else(|| worktree.branch.and_then(first_segment));
    let task = found.filter(|task| !task.is_empty()).ok_or_else(|| WorktreeRefusal::NoTask { path: path() })?;
    let after = match &asker.owner {
        // One that has the asker's lock gets the asker's own in every pool: an old one would speak for whoever put it.
        Some(owner) if worktree.locks || before.is_some() => {
            let is_same = |old: &LockText| old.owner == *owner && old.task == task && old.agent_id() == asker.agent;
            match text {
                Some(old) if is_same(&old) => before.clone(),
                _ => Some(LockText::new(owner, &task, now, asker.agent).to_string()),
            }
        }
        _ => before.clone(),
    };
    Ok(AdoptPlan { task, before, after })
}

/// The task that a branch tells: its last part up to a hyphen, if that can name one.
fn first_segment(branch: &str) -> Option<String> {
    let last = branch.rsplit('/').next().unwrap_or(branch);
    let first = last.split('-').next().unwrap_or(last);
    can_name(first, None).ok().map(|name| name.task().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;

    const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

    fn asker() -> Asker {
        Asker { agent: Some(AgentId::from_bytes([1; 16])), owner: Some("claude".into()) }
    }

    fn free(branch: Option<&'static str>) -> Adoptable<'static> {
        Adoptable { path: "/w".parse().unwrap(), branch, lock: None, claimed_task: None, hold: Hold::Free, locks: true }
    }

    #[test]
    fn the_task_is_what_is_said_else_the_locks_else_the_branchs_first_segment() {
        let task = |worktree: &Adoptable<'_>, said: Option<&str>| can_adopt(worktree, said, &asker(), NOW).unwrap().task().to_owned();
        let locked = Adoptable { lock: Some("claude | old | 2026-01-01"), hold: Hold::Yours, ..free(Some("fix-login")) };
        assert_eq!(task(&locked, Some("t9")), "t9");
        assert_eq!(task(&locked, None), "old");
        assert_eq!(task(&free(Some("T42-login-form")), None), "t42");
        assert_eq!(task(&free(Some("ada/t42-login")), None), "t42");
        assert!(matches!(can_adopt(&free(None), None, &asker(), NOW), Err(WorktreeRefusal::NoTask { .. })));
        assert_eq!(task(&Adoptable { claimed_task: Some("t7"), ..free(None) }, None), "t7");
    }

    #[test]
    fn again_changes_nothing_and_another_pool_is_never_locked() {
        let first = can_adopt(&free(Some("t1")), None, &asker(), NOW).unwrap();
        let words = first.lock_after().unwrap().to_owned();
        assert!(!first.keeps_lock());
        let held = Adoptable { lock: Some(&words), hold: Hold::Yours, ..free(Some("t1")) };
        let later = Timestamp::from_ms(NOW.ms() + 90_000_000);
        assert!(can_adopt(&held, None, &asker(), later).unwrap().keeps_lock());
        let capped = can_adopt(&Adoptable { locks: false, ..free(Some("t1")) }, None, &asker(), NOW).unwrap();
        assert!(capped.keeps_lock() && capped.lock_after().is_none());
        assert!(can_adopt(&free(Some("t1")), None, &Asker::default(), NOW).unwrap().keeps_lock());
    }

    #[test]
    fn what_could_not_stand_in_a_lock_names_no_task() {
        for said in ["fix | login", " ", "A/12 x"] {
            assert!(matches!(can_adopt(&free(Some("t1")), Some(said), &asker(), NOW), Err(WorktreeRefusal::BadTask { .. })), "{said}");
        }
        assert!(matches!(can_adopt(&free(Some("übung-1")), None, &asker(), NOW), Err(WorktreeRefusal::NoTask { .. })));
    }

    #[test]
    fn a_lock_that_an_ended_agent_left_is_replaced_in_every_pool() {
        let left = LockText::new("claude", "t1", NOW, Some(AgentId::from_bytes([9; 16]))).to_string();
        let held = Adoptable { lock: Some(&left), hold: Hold::Yours, locks: false, ..free(Some("t1")) };
        let plan = can_adopt(&held, None, &asker(), NOW).unwrap();
        assert_eq!(LockText::read(plan.lock_after().unwrap()).unwrap().agent_id(), asker().agent);
    }

    #[test]
    fn a70_what_somebody_else_has_is_never_taken() {
        let other = Adoptable { hold: Hold::Other { owner: "codex".into(), agent: None }, ..free(Some("t1")) };
        assert!(matches!(can_adopt(&other, Some("t1"), &asker(), NOW), Err(WorktreeRefusal::OtherOwner { .. })));
        let unknown = Adoptable { hold: Hold::Unknown { words: "mine".into() }, ..free(Some("t1")) };
        assert!(matches!(can_adopt(&unknown, Some("t1"), &asker(), NOW), Err(WorktreeRefusal::UnknownOwner { .. })));
    }
}
