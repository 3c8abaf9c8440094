//! Whether an agent is there, for how long one that ended is spoken of, and what it may say of itself.

use crate::{
    model::{Agent, AgentEnd, Presence},
    refusal::{Refusal, STATUS_MOST},
    time::Timestamp,
};

/// For how long an agent that ended is listed, and what this machine alone knows of it is kept.
pub const ENDED_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Whether an agent is there. One that nothing was ever heard of is one that a node launched and whose process alone speaks for it.
pub fn presence(agent: &Agent, seen: Option<Timestamp>, now: Timestamp, idle_ms: u64) -> Presence {
    if agent.ended.is_some() { Presence::Ended } else { presence_of(seen, now, idle_ms) }
}

/// The same of one that has not ended.
pub fn presence_of(seen: Option<Timestamp>, now: Timestamp, idle_ms: u64) -> Presence {
    match seen {
        Some(seen) if now.ms_since(seen) > idle_ms => Presence::Idle,
        _ => Presence::Live,
    }
}

/// Whether an end is so long ago that its agent is not spoken of any more.
pub fn is_forgotten(ended: Option<&AgentEnd>, now: Timestamp) -> bool {
    ended.is_some_and(|end| now.ms_since(end.at) >= ENDED_KEPT_MS)
}

/// What an agent says of itself, as one line without control characters; none when it says nothing.
///
/// # Errors
/// It is too long, and nothing of it is cut.
pub fn can_say(status: &str) -> Result<Option<String>, Refusal> {
    let line: String = status.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let line = line.trim();
    match line.chars().count() {
        0 => Ok(None),
        length if length > STATUS_MOST => Err(Refusal::LongStatus { length }),
        _ => Ok(Some(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::EndHow,
        rules::samples::{agent, place},
    };

    const IDLE: u64 = 1_800_000;

    #[test]
    fn an_agent_is_live_for_exactly_so_long_as_idle_says() {
        let agent = agent(1, &place(1, "app"));
        let at = Timestamp::from_ms;
        assert_eq!(presence(&agent, Some(at(0)), at(1_800_000), IDLE), Presence::Live);
        assert_eq!(presence(&agent, Some(at(0)), at(1_800_001), IDLE), Presence::Idle);
        assert_eq!(presence(&agent, Some(at(9)), at(0), IDLE), Presence::Live, "a clock that was set back makes nobody idle");
        assert_eq!(presence(&agent, None, at(i64::MAX), IDLE), Presence::Live);
    }

    #[test]
    fn an_end_outweighs_what_was_seen_and_is_spoken_of_for_a_month() {
        let mut agent = agent(1, &place(1, "app"));
        let (end, month) = (Timestamp::from_ms(5), 30 * 24 * 60 * 60 * 1000);
        agent.ended = Some(AgentEnd { at: end, how: EndHow::SessionOver });
        assert_eq!(presence(&agent, Some(end), end, IDLE), Presence::Ended);
        assert!(!is_forgotten(agent.ended.as_ref(), Timestamp::from_ms(4 + month)));
        assert!(is_forgotten(agent.ended.as_ref(), Timestamp::from_ms(5 + month)));
        assert!(!is_forgotten(None, Timestamp::from_ms(i64::MAX)));
    }

    #[test]
    fn a_status_is_one_clean_line_that_is_refused_and_never_cut() {
        assert_eq!(can_say("  on\tthe \u{1b}[31mparser\n ").unwrap().as_deref(), Some("on the [31mparser"));
        assert_eq!(can_say(" \u{7} ").unwrap(), None);
        assert!(can_say(&"ü".repeat(120)).unwrap().is_some());
        assert_eq!(can_say(&"ü".repeat(121)), Err(Refusal::LongStatus { length: 121 }));
    }
}
