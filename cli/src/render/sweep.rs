//! Sweeps of worktrees and of their caches: what goes, what stays, and why, for each.

use frith_actors::api::worktree::{Cleaned, CleanedCache, Collected, Kept, Reason, RemovedWorktree, Swept, SweptWorktree};

use super::{
    paper::{Paper, count},
    worktree::{short_path, what_is_left},
};
use crate::size;

/// What a sweep did with each worktree, or would do.
pub fn swept(reply: &Swept, paper: &mut Paper) {
    let goes = |row: &&SweptWorktree| !matches!(row.decision, Collected::Keep(_));
    if paper.look.quiet {
        return reply.worktrees.iter().filter(goes).for_each(|row| paper.line(row.path.to_string()));
    }
    let most = paper.look.width.map(|width| usize::from(width / 3).max(24));
    let (going, staying): (Vec<_>, Vec<_>) = reply.worktrees.iter().partition(goes);
    let cells = |row: &&SweptWorktree| {
        let changed = row.modified.map(|at| paper.ago(at)).unwrap_or_default();
        [
            short_path(&row.path, most),
            row.branch.clone().unwrap_or_default(),
            what(row, reply.done).to_owned(),
            why(row).to_owned(),
            changed,
        ]
    };
    let rows: Vec<_> = going.iter().chain(&staying).map(cells).collect();
    paper.table(["WORKTREE", "BRANCH", "WHAT", "WHY", "CHANGED"], rows);
    paper.gap();
    paper.line(summary(&going, reply));
    for row in going {
        details(row).iter().for_each(|line| paper.line(line));
    }
}

fn what(row: &SweptWorktree, done: bool) -> &'static str {
    match (row.decision, done) {
        _ if row.fault.is_some() => "failed",
        (Collected::Keep(_), true) => "kept",
        (Collected::Keep(_), false) => "keep",
        (Collected::Remove(_), true) => "removed",
        (Collected::Remove(_), false) => "remove",
        (Collected::Forget, true) => "forgotten",
        (Collected::Forget, false) => "forget",
    }
}

fn why(row: &SweptWorktree) -> String {
    let why = match row.decision {
        Collected::Keep(Kept::ForeignLock) => match &row.owner {
            Some(owner) => return format!("claimed by {owner}"),
            None => "locked by somebody unknown",
        },
        Collected::Keep(kept) => why_kept(kept),
        Collected::Remove(Reason::Finished) => "its work is in the base",
        Collected::Remove(Reason::Abandoned) => "its lock is old, and nothing would be lost",
        Collected::Remove(Reason::Unused) => "nobody has it, and nothing would be lost",
        Collected::Forget => "its folder is gone",
    };
    why.to_owned()
}

fn why_kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Main => "everything is compared with it",
        Kept::Current => "you stand in it",
        Kept::Pending => "it waits for its agent",
        Kept::FinishedLately => "finished, and written to lately",
        Kept::LiveAgent => "a live agent has it, or works in it",
        Kept::ForeignLock => "somebody else locked it",
        Kept::GoneButLocked => "its folder is gone, and it is locked",
        Kept::Broken => "git cannot read it",
        Kept::Dirty => "something in it is in no commit",
        Kept::UnderWay => "git is in the middle of something there",
        Kept::Unmerged => "it has commits that the base has not",
        Kept::UsedLately => "written to lately",
        Kept::InUse => "a process works in it",
    }
}

fn summary(going: &[&SweptWorktree], reply: &Swept) -> String {
    let stays = reply.worktrees.len() - going.len();
    let failed = going.iter().filter(|row| row.fault.is_some()).count();
    let gone = going.len() - failed;
    match (reply.done, going.len(), failed) {
        (_, 0, _) => format!("nothing can go; {stays} stay{}", if stays == 1 { "s" } else { "" }),
        (false, number, _) => format!("{} would go, {stays} would stay; `--yes` does it", count(number as u64, "worktree")),
        (true, _, 0) => format!("{} went, {stays} stayed", count(gone as u64, "worktree")),
        (true, _, failed) => format!("{} went, {stays} stayed, {failed} failed", count(gone as u64, "worktree")),
    }
}

/// What is worth a line of one that went: how its branch is brought back, or why it did not go.
fn details(row: &SweptWorktree) -> Vec<String> {
    let fault = row.fault.as_ref().map(|fault| format!("{}: {fault}", row.path));
    let left = row.removed.as_ref().map(|removed: &RemovedWorktree| what_is_left(removed)).unwrap_or_default();
    fault.into_iter().chain(left).collect()
}

/// Build caches that were deleted, or would be.
pub fn cleaned(reply: &Cleaned, paper: &mut Paper) {
    let goes = |cache: &&CleanedCache| cache.goes;
    if paper.look.quiet {
        return reply.caches.iter().filter(goes).for_each(|cache| paper.line(cache.path.to_string()));
    }
    if reply.caches.is_empty() {
        return paper.line("no build cache is in these worktrees");
    }
    let most = paper.look.width.map(|width| usize::from(width / 2).max(24));
    let (going, staying): (Vec<_>, Vec<_>) = reply.caches.iter().partition(goes);
    let cells = |cache: &&CleanedCache| {
        let changed = cache.modified.map(|at| paper.ago(at)).unwrap_or_default();
        [short_path(&cache.path, most), size::bytes(cache.bytes), shed(cache, reply.done).to_owned(), changed]
    };
    let rows: Vec<_> = going.iter().chain(&staying).map(cells).collect();
    paper.table(["CACHE", "SIZE", "WHAT", "CHANGED"], rows);
    paper.gap();
    paper.line(cleaned_summary(&going, staying.len(), reply.done));
    for cache in going {
        cache.fault.iter().for_each(|fault| paper.line(format!("{}: {fault}", cache.path)));
    }
}

fn shed(cache: &CleanedCache, done: bool) -> &'static str {
    match (cache.goes, done) {
        _ if cache.fault.is_some() => "failed",
        (true, true) => "deleted",
        (true, false) => "delete",
        (false, true) => "kept: used lately",
        (false, false) => "keep: used lately",
    }
}

fn cleaned_summary(going: &[&CleanedCache], stays: usize, done: bool) -> String {
    let gone: Vec<_> = going.iter().filter(|cache| cache.fault.is_none()).collect();
    let (number, bytes) = (count(gone.len() as u64, "cache"), size::bytes(gone.iter().map(|cache| cache.bytes).sum()));
    match (done, going.len() - gone.len()) {
        _ if going.is_empty() => format!("nothing can go; {stays} stay"),
        (false, _) => format!("{number}, {bytes}, would go; `--yes` does it"),
        (true, 0) => format!("{number} went, {bytes}"),
        (true, failed) => format!("{number} went, {bytes}; {failed} failed"),
    }
}

#[cfg(test)]
mod tests {
    use frith_store::time::Timestamp;

    use super::*;
    use crate::render::Look;

    const NOW: i64 = 1_796_000_000_000;
    const EVERY_KEPT: [Kept; 13] = [
        Kept::Main,
        Kept::Current,
        Kept::Pending,
        Kept::FinishedLately,
        Kept::LiveAgent,
        Kept::ForeignLock,
        Kept::GoneButLocked,
        Kept::Broken,
        Kept::Dirty,
        Kept::UnderWay,
        Kept::Unmerged,
        Kept::UsedLately,
        Kept::InUse,
    ];

    fn drawn(width: Option<u16>, draw: impl FnOnce(&mut Paper)) -> String {
        let mut paper = Paper::new(Look { quiet: false, colour: false, width, now: Timestamp::from_ms(NOW) });
        draw(&mut paper);
        paper.text()
    }

    fn row(n: usize, decision: Collected) -> SweptWorktree {
        SweptWorktree {
            path: format!("/w/app-t{n}").parse().unwrap(),
            branch: Some(format!("t{n}")),
            task: None,
            owner: Some("ada".into()),
            decision,
            removed: None,
            fault: None,
            modified: Some(Timestamp::from_ms(NOW - 60 * 3_600_000)),
        }
    }

    fn rows() -> Vec<SweptWorktree> {
        let gone = [
            Collected::Remove(Reason::Finished),
            Collected::Remove(Reason::Abandoned),
            Collected::Remove(Reason::Unused),
            Collected::Forget,
        ];
        EVERY_KEPT.into_iter().map(Collected::Keep).chain(gone).enumerate().map(|(n, decision)| row(n, decision)).collect()
    }

    #[test]
    fn each_worktree_has_its_reason_and_those_that_go_come_first() {
        let would = Swept { worktrees: rows(), done: false };
        insta::assert_snapshot!("worktree_gc", drawn(None, |paper| swept(&would, paper)));
        insta::assert_snapshot!("worktree_gc_narrow", drawn(Some(60), |paper| swept(&would, paper)));
        let none = Swept { worktrees: rows().into_iter().take(2).collect(), done: true };
        assert!(drawn(None, |paper| swept(&none, paper)).ends_with("\nnothing can go; 2 stay\n"));
    }

    #[test]
    fn what_went_can_be_brought_back_and_what_failed_says_why() {
        let gone = |n: usize| RemovedWorktree {
            path: format!("/w/app-t{n}").parse().unwrap(),
            branch: Some(format!("t{n}")),
            tip: Some("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00".into()),
            branch_deleted: true,
            branch_fault: None,
            proof: Some(frith_store::model::Proof::Ancestor),
            left: None,
            was_gone: false,
        };
        let worktrees = rows().into_iter().enumerate().map(|(n, row)| match row.decision {
            Collected::Remove(Reason::Unused) => SweptWorktree { fault: Some("`/w/app-t15` changed meanwhile".into()), ..row },
            Collected::Remove(_) => SweptWorktree { removed: Some(gone(n)), ..row },
            _ => row,
        });
        let done = Swept { worktrees: worktrees.skip(11).collect(), done: true };
        insta::assert_snapshot!("worktree_gc_done", drawn(None, |paper| swept(&done, paper)));
    }

    #[test]
    fn caches_have_their_sizes_and_what_becomes_of_them() {
        let cache = |n: u64, goes| CleanedCache {
            path: format!("/w/app-t{n}/target").parse().unwrap(),
            worktree: format!("/w/app-t{n}").parse().unwrap(),
            bytes: n << 28,
            modified: Some(Timestamp::from_ms(NOW - 60 * 3_600_000)),
            goes,
            fault: None,
        };
        let caches = vec![cache(1, false), cache(2, true), CleanedCache { fault: Some("permission denied".into()), ..cache(3, true) }];
        let would = Cleaned { caches: caches[..2].to_vec(), done: false };
        let texts = [would, Cleaned { caches, done: true }, Cleaned { caches: vec![], done: true }];
        insta::assert_snapshot!("worktree_clean", texts.map(|reply| drawn(None, |paper| cleaned(&reply, paper))).join("\n"));
    }
}
