//! Whose a worktree is: the words of git's lock, and a claim in the store.

use crate::{id::AgentId, model::Claim, refusal::WorktreeRefusal, time::Timestamp};

/// What stands between two fields.
const BAR: &str = " | ";
/// How the field begins that names an agent.
const AGENT: &str = "agent ";
/// The most characters an owner may have.
const OWNER_MOST: usize = 100;

/// The words of a lock that frith, or its like, put on a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockText {
    /// Who it is, in words.
    pub owner: String,
    /// What it is for.
    pub task: String,
    /// The day it was locked, `YYYY-MM-DD` in UTC.
    pub date: String,
    /// The agent, as the second version of the words names it. The word of another program's agent is kept as it is.
    pub agent: Option<String>,
}

impl LockText {
    /// The words for a worktree that is locked now.
    pub fn new(owner: &str, task: &str, now: Timestamp, agent: Option<AgentId>) -> Self {
        let date = now.to_string().chars().take(10).collect();
        Self { owner: owner.to_owned(), task: task.to_owned(), date, agent: agent.map(|agent| agent.to_string()) }
    }

    /// Reads the words of a lock; none when they are no such words, which then hold against everyone.
    pub fn read(words: &str) -> Option<Self> {
        let fields: Vec<&str> = words.trim().split(BAR).map(str::trim).collect();
        if fields.iter().any(|field| field.is_empty()) {
            return None;
        }
        let (owner, task, date, agent) = match fields.as_slice() {
            [owner, task, date] => (owner, task, date, None),
            [owner, task, date, agent] => {
                let word = agent.strip_prefix(AGENT)?.trim();
                let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
                (owner, task, date, Some(is_word.then(|| word.to_owned())?))
            }
            _ => return None,
        };
        Some(Self { owner: (*owner).to_owned(), task: (*task).to_owned(), date: (*date).to_owned(), agent })
    }

    /// The agent, when it is one that frith could have named.
    pub fn agent_id(&self) -> Option<AgentId> {
        self.agent.as_deref()?.parse().ok()
    }
}

impl std::fmt::Display for LockText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{BAR}{}{BAR}{}", self.owner, self.task, self.date)?;
        self.agent.as_ref().map_or(Ok(()), |agent| write!(f, "{BAR}{AGENT}{agent}"))
    }
}

/// An owner in words, as a person gives it.
///
/// # Errors
/// The words could not stand in a lock.
pub fn can_own(given: &str) -> Result<String, WorktreeRefusal> {
    let owner = given.trim();
    let is_plain = owner.chars().all(|c| c.is_ascii_graphic() || c == ' ') && !owner.contains(BAR);
    let stands_alone = !owner.starts_with("| ") && !owner.ends_with(" |") && owner != "|";
    if is_plain && stands_alone && !owner.is_empty() && owner.len() <= OWNER_MOST {
        Ok(owner.to_owned())
    } else {
        Err(WorktreeRefusal::BadOwner { given: given.to_owned() })
    }
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asker {
    /// The agent that it is.
    pub agent: Option<AgentId>,
    /// Who it is in words; none for somebody who named no owner.
    pub owner: Option<String>,
}

impl Asker {
    /// Whether nothing tells who it is.
    pub fn is_unknown(&self) -> bool {
        self.agent.is_none() && self.owner.is_none()
    }
}

/// Whose a worktree is, as one sees it who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Nobody's.
    Free,
    /// It waits for the agent that its host made it for.
    Pending,
    /// The asker's.
    Yours,
    /// Somebody else's.
    Other {
        /// Who it is, in words.
        owner: String,
        /// The agent, where that is known.
        agent: Option<AgentId>,
    },
    /// It has a lock whose words say nothing.
    Unknown {
        /// The words.
        words: String,
    },
}

impl Hold {
    /// Whether it holds against the asker.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Other { .. } | Self::Unknown { .. })
    }
}

/// A claim on a worktree, and what it is worth there.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Whether it counts without git's lock: where a taken over one gets a lock, one that was taken off gave the worktree up.
    pub counts_alone: bool,
}

/// Whose a worktree is: its lock says so, and where it has none a claim may. What an agent left that ended is its owner's.
pub fn hold(lock: Option<&str>, claim: Option<Standing<'_>>, asker: &Asker, has_ended: &dyn Fn(AgentId) -> bool) -> Hold {
    let (owner, agent, is_named) = match (lock, claim) {
        (Some(words), _) => match LockText::read(words) {
            Some(text) => (text.owner.clone(), text.agent_id(), text.agent.is_some()),
            None => return Hold::Unknown { words: words.to_owned() },
        },
        (None, None) => return Hold::Free,
        (None, Some(Standing { claim, .. })) if claim.is_pending() => return Hold::Pending,
        (None, Some(Standing { counts_alone: false, .. })) => return Hold::Free,
        (None, Some(Standing { claim, .. })) => (claim.owner.clone().unwrap_or_default(), claim.agent, claim.agent.is_some()),
    };
    let is_asker = agent.is_some() && agent == asker.agent;
    let speaks_for_owner = !is_named || agent.is_some_and(has_ended);
    let is_owner = speaks_for_owner && asker.owner.as_ref().is_some_and(|asking| *asking == owner);
    if is_asker || is_owner { Hold::Yours } else { Hold::Other { owner, agent } }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::WorktreeId;

    const DAY: Timestamp = Timestamp::from_ms(1_700_000_000_000);

    fn agent(n: u8) -> AgentId {
        AgentId::from_bytes([n; 16])
    }

    fn asker(n: u8) -> Asker {
        Asker { agent: Some(agent(n)), owner: Some("claude / opus".into()) }
    }

    fn claim(agent: Option<AgentId>) -> Claim {
        Claim {
            worktree: WorktreeId { record: "/app/.git/worktrees/t".parse().unwrap(), stamp: 1 },
            path: "/w/app-t".parse().unwrap(),
            repository: "/app".parse().unwrap(),
            branch: None,
            task: "t".into(),
            owner: agent.map(|_| "claude / opus".into()),
            agent,
            origin: "frith".into(),
            history: None,
        }
    }

    #[test]
    fn words_have_three_fields_or_four() {
        let text = LockText::new("claude / opus", "t1", DAY, Some(agent(1)));
        assert_eq!(text.to_string(), "claude / opus | t1 | 2023-11-14 | agent 01010101-0101-0101-0101-010101010101");
        assert_eq!(LockText::new("ada", "t1", DAY, None).to_string(), "ada | t1 | 2023-11-14");
        assert_eq!(LockText::read("  ada |  t1 | 2026-01-02 ").unwrap().owner, "ada");
        for nothing in
            ["", "mine", "a | b", "a |  | c", "a | b | c | d", "a | b | c | agent ", "a | b | c | agent x y", "a | b | c | agent x | e"]
        {
            assert_eq!(LockText::read(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_lock_is_yours_by_your_id_or_without_one_by_your_words() {
        let alive = |_| false;
        let lock = |owner: &str, n: Option<u8>| LockText::new(owner, "t", DAY, n.map(agent)).to_string();
        let of = |words: &str, asker: &Asker| hold(Some(words), None, asker, &alive);
        assert_eq!(of(&lock("whoever", Some(1)), &asker(1)), Hold::Yours);
        assert!(of(&lock("claude / opus", Some(2)), &asker(1)).is_foreign());
        assert_eq!(of(&lock("claude / opus", None), &asker(1)), Hold::Yours);
        assert!(of(&lock("codex", None), &asker(1)).is_foreign());
        assert!(of("hands off", &asker(1)).is_foreign() && of("", &asker(1)).is_foreign());
        assert!(of(&lock("ada", None), &Asker::default()).is_foreign());
    }

    #[test]
    fn a53_what_an_agent_left_that_ended_is_its_owners_and_not_nobodys() {
        let words = LockText::new("claude / opus", "t", DAY, Some(agent(2))).to_string();
        let ended = |id| id == agent(2);
        assert_eq!(hold(Some(&words), None, &asker(1), &ended), Hold::Yours);
        let codex = Asker { agent: Some(agent(3)), owner: Some("codex".into()) };
        assert!(hold(Some(&words), None, &codex, &ended).is_foreign());
        let foreign = "claude / opus | t | 2026-01-02 | agent someone-elses";
        assert!(hold(Some(foreign), None, &asker(1), &|_| true).is_foreign(), "of whom nothing is known did not provably end");
    }

    #[test]
    fn a_claim_counts_where_there_is_no_lock_and_none_is_put() {
        let alive = |_| false;
        let of = |claim: &Claim, counts_alone| hold(None, Some(Standing { claim, counts_alone }), &asker(1), &alive);
        assert_eq!(hold(None, None, &asker(1), &alive), Hold::Free);
        assert_eq!(of(&claim(None), true), Hold::Pending);
        assert_eq!(of(&claim(None), false), Hold::Pending);
        assert_eq!(of(&claim(Some(agent(1))), true), Hold::Yours);
        assert!(of(&claim(Some(agent(2))), true).is_foreign());
        assert_eq!(of(&claim(Some(agent(2))), false), Hold::Free, "its lock was taken off");
        let lock = LockText::new("codex", "t", DAY, Some(agent(3))).to_string();
        let own = claim(Some(agent(1)));
        assert!(hold(Some(&lock), Some(Standing { claim: &own, counts_alone: true }), &asker(1), &alive).is_foreign());
    }

    #[test]
    fn an_owner_is_words_that_can_stand_in_a_lock() {
        assert_eq!(can_own(" claude / opus ").unwrap(), "claude / opus");
        for bad in ["", "  ", "a | b", "a\nb", "é", "| a", "a |", &"x".repeat(101)] {
            assert!(can_own(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(owner in "[ -~]{1,60}", task in "[a-z0-9][a-z0-9._-]{0,20}", n in proptest::option::of(0_u8..4)) {
            if let Ok(owner) = can_own(&owner) {
                let text = LockText::new(&owner, &task, DAY, n.map(agent));
                prop_assert_eq!(LockText::read(&text.to_string()), Some(text));
            }
        }
    }
}
