//! Whether work was done on a branch since it began, from git's log of where the branch stood.
//!
//! A branch that was only made, reset, or brought forward has no work of its own, even when the base went on. Git's words for
//! what moved a branch are never translated.

use gix::ObjectId;
use gix::bstr::ByteSlice as _;

/// Whether a branch or a `HEAD` that now stands at `tip` has commits of its own. `on_line` tells whether the base itself once
/// was that commit, when that is known. What cannot be told counts as none.
pub(super) fn has_own_commits(log: Option<&[u8]>, tip: ObjectId, on_line: Option<bool>) -> bool {
    let off_line = on_line == Some(false);
    let Some(moves) = log.map(moves).filter(|moves| !moves.is_empty()) else { return off_line };
    let start = moves[0].began();
    let (mut began, mut own, mut ever) = (start, moves[0].is_work(), moves[0].is_work());
    for one in &moves[1..] {
        if one.is_work() {
            (own, ever) = (true, true);
        } else if one.is_unknown() {
            ever = true;
        } else if !one.is_forward() || !own {
            (began, own) = (one.new, false);
        }
    }
    // What a reset left of the work is told by the base: that one never stood there.
    (own && tip != began) || (ever && off_line && tip != start)
}

/// One line of the log.
struct Move<'a> {
    old: ObjectId,
    new: ObjectId,
    words: &'a [u8],
}

impl Move<'_> {
    /// Where the branch stood when the log began. A log that was cut short, or begun late, begins in the middle.
    fn began(&self) -> ObjectId {
        if self.old.is_null() && !self.is_work() { self.new } else { self.old }
    }

    /// Whether it made a commit.
    fn is_work(&self) -> bool {
        const WORK: [&[u8]; 7] = [b"commit", b"cherry-pick", b"revert", b"am", b"rebase", b"merge", b"pull"];
        !self.is_forward() && !self.is_start() && !self.is_onto_itself() && WORK.iter().any(|work| self.words.starts_with(work))
    }

    /// Whether it only went on to what was there already. The words of a commit may end like that, too.
    fn is_forward(&self) -> bool {
        const BROUGHT: [&[u8]; 3] = [b"pull", b"merge", b"fetch"];
        const REPLAYED: [&[u8]; 2] = [b"rebase", b"cherry-pick"];
        let begins = |with: &[&[u8]]| with.iter().any(|words| self.words.starts_with(words));
        self.words.rsplit_once_str(": ").is_some_and(|(what, how)| {
            how.eq_ignore_ascii_case(b"fast-forward") && (begins(&BROUGHT) || (begins(&REPLAYED) && !what.contains_str(": ")))
        })
    }

    /// A rebase begins by standing on what it goes onto.
    fn is_start(&self) -> bool {
        self.words.split_once_str(": ").is_some_and(|(what, how)| what.ends_with(b"(start)") && how.starts_with(b"checkout "))
    }

    /// A rebase of nothing ends at what it went onto.
    fn is_onto_itself(&self) -> bool {
        self.words.rsplit_once_str(" onto ").is_some_and(|(_, onto)| ObjectId::from_hex(onto).is_ok_and(|onto| onto == self.new))
    }

    /// Whether nothing of git's moved it.
    fn is_unknown(&self) -> bool {
        const PLACED: [&[u8]; 5] = [b"branch: ", b"Branch: ", b"reset: ", b"checkout: ", b"clone: "];
        let placed = PLACED.iter().any(|words| self.words.starts_with(words));
        !self.is_work() && !self.is_forward() && !self.is_start() && !self.is_onto_itself() && !placed
    }
}

/// The lines that tell of a move; a renamed branch stays where it is.
fn moves(log: &[u8]) -> Vec<Move<'_>> {
    log.lines().filter_map(parse).filter(|one| one.old != one.new).collect()
}

/// `<old> <new> <who> <when> <zone>\t<words>`.
fn parse(line: &[u8]) -> Option<Move<'_>> {
    let (facts, words) = line.split_once_str("\t").unwrap_or((line, b""));
    let mut ids = facts.splitn_str(3, " ").map(|id| ObjectId::from_hex(id).ok());
    Some(Move { old: ids.next()??, new: ids.next()??, words: words.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log whose commits are named by one digit each.
    fn log(moves: &[(char, char, &str)]) -> Vec<u8> {
        let line = |(old, new, words): &(char, char, &str)| format!("{} {} Ada <a@b> 1 +0000\t{words}\n", id(*old), id(*new));
        moves.iter().map(line).collect::<String>().into_bytes()
    }

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
    }

    #[track_caller]
    fn check(moves: &[(char, char, &str)], tip: char, on_line: Option<bool>, expected: bool) {
        assert_eq!(has_own_commits(Some(&log(moves)), id(tip), on_line), expected, "{moves:?}");
    }

    #[test]
    fn a12_a_branch_that_only_stood_somewhere_has_no_work() {
        check(&[('0', '1', "branch: Created from origin/main")], '1', Some(true), false);
        check(&[('0', '1', "branch: Created from x")], '1', Some(false), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "pull origin main: Fast-forward")], '2', Some(true), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "merge origin/main: Fast-forward")], '2', Some(true), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "reset: moving to origin/main")], '2', Some(true), false);
        let onto = format!("rebase (finish): refs/heads/x onto {}", id('2'));
        check(&[('0', '1', "branch: Created"), ('1', '2', &onto)], '2', Some(true), false);
        check(&[('0', '1', ""), ('1', '2', "rebase (start): checkout main")], '2', Some(true), false);
        check(&[('0', '1', ""), ('1', '2', "pull --rebase origin main (start): checkout 2")], '2', Some(true), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "rebase: fast-forward")], '2', Some(true), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "commit: a"), ('2', '1', "reset: moving to HEAD~1")], '1', Some(true), false);
        check(&[('0', '1', "branch: Created"), ('1', '2', "commit: a"), ('2', '3', "reset: moving to main")], '3', Some(true), false);
    }

    #[test]
    fn a17_work_is_work_wherever_the_branch_went_after_it() {
        let created = ('0', '1', "branch: Created from origin/main");
        for words in [
            "commit: allow fast-forward",
            "commit: fast-forward",
            "commit (amend): a",
            "cherry-pick: sync: fast-forward",
            "rebase (pick): a",
            "revert: a",
            "am: a",
            "merge x: Merge made by the 'ort' strategy.",
        ] {
            check(&[created, ('1', '2', words)], '2', Some(false), true);
            check(&[created, ('1', '2', words)], '2', Some(true), true);
        }
        check(&[created, ('1', '2', "commit: a"), ('2', '3', "pull: Fast-forward")], '3', Some(true), true);
        check(&[created, ('1', '2', "commit: a"), ('2', '1', "reset: moving to HEAD~1"), ('1', '3', "commit: b")], '3', None, true);
        let onto = format!("rebase (finish): refs/heads/x onto {}", id('4'));
        check(&[created, ('1', '2', "commit: a"), ('2', '5', &onto)], '5', Some(false), true);
        check(&[created, ('1', '2', "commit: a"), ('2', '3', "commit: b"), ('3', '2', "reset: moving to HEAD~1")], '2', Some(false), true);
        check(&[created, ('1', '2', "commit: a"), ('2', '2', "Branch: renamed refs/heads/x to refs/heads/y")], '2', None, true);
    }

    #[test]
    fn what_a_log_does_not_tell_is_told_by_the_base() {
        assert!(has_own_commits(None, id('1'), Some(false)));
        assert!(!has_own_commits(None, id('1'), Some(true)));
        assert!(!has_own_commits(None, id('1'), None));
        assert!(!has_own_commits(Some(b"half a li"), id('1'), None));
        check(&[('1', '2', "commit: the log was cut short")], '2', None, true);
        check(&[('0', '1', ""), ('1', '2', "export from elsewhere")], '2', Some(false), true);
        check(&[('0', '1', ""), ('1', '2', "export from elsewhere")], '2', Some(true), false);
        check(&[('0', '1', "commit (initial): a")], '1', Some(true), true);
    }
}
