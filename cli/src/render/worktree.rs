//! Worktrees: made, taken over, listed, removed; who has which.

use frith_actors::api::worktree::{Added, Adopted, Elsewhere, InWorktree, RemovedWorktree, WorktreeInfo, WorktreeState, Worktrees};
use frith_store::{
    id::AgentId,
    model::{Presence, Proof},
    text::PathText,
};

use super::paper::{Paper, count};
use crate::{environment, shell::quoted, size};

/// How much of a commit is shown where it need not be typed.
const SHORT: usize = 8;

/// The story of a worktree that was made.
pub fn added(reply: &Added, paper: &mut Paper) {
    let base = &reply.base;
    let when = base.committed.map(|at| format!(", committed {}", paper.ago(at))).unwrap_or_default();
    let old = if base.fresh { "" } else { "; origin was not reached, so this may be old" };
    paper.line(format!("branch {} from {} at {}{when}{old}", reply.branch, base.name, short_commit(&base.commit)));
    paper.line(format!("claimed for {} as {}", reply.task, whose(&reply.owner, reply.agent)));
    reply.notes.iter().for_each(|note| paper.line(format!("note: {note}")));
}

/// The story of a worktree that was taken over, or of one that waits to be.
pub fn adopted(reply: &Adopted, paper: &mut Paper) {
    let task = &reply.task;
    if reply.pending {
        paper.line(format!("waits for its agent, for {task}: nothing tells yet who that is"));
        return paper.line("the next agent that starts there, or says `frith worktree adopt` there, has it");
    }
    let already = if reply.changed { "" } else { " already" };
    paper.line(format!("claimed{already} for {task} as {}", whose(reply.owner.as_deref().unwrap_or("nobody"), reply.agent)));
    if !reply.locked {
        paper.line(format!("without git's lock: {} removes old ones by itself", reply.origin));
    }
}

fn whose(owner: &str, agent: Option<AgentId>) -> String {
    owner.to_owned() + &agent.map(|agent| format!(", agent {}", agent.short())).unwrap_or_default()
}

fn short_commit(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// The worktrees of a repository in a table; below it what is odd, and what can be done.
pub fn listed(reply: &Worktrees, paper: &mut Paper) {
    let most = paper.look.width.map(|width| usize::from(width / 3).max(24));
    let rows: Vec<_> = reply.worktrees.iter().map(|row| cells(row, most, paper)).collect();
    paper.table(["WORKTREE", "BRANCH", "STATE", "OWNER", "AGENT", "ORIGIN", "SIZE", "CACHE", "CHANGED"], rows);
    paper.gap();
    paper.line(total(reply));
    advice(reply).iter().for_each(|line| paper.line(line));
    orphans(&reply.orphans, most, paper);
    elsewhere(&reply.elsewhere, most, paper);
}

fn cells(row: &WorktreeInfo, most: Option<usize>, paper: &Paper) -> [String; 9] {
    [
        format!("{} {}", if row.current { "*" } else { " " }, short_path(&row.path, most)),
        branch(row),
        state(row),
        owner(row),
        agent(row),
        origin(row),
        row.bytes.map(size::bytes).unwrap_or_default(),
        row.cache_bytes.filter(|bytes| *bytes > 0).map(size::bytes).unwrap_or_default(),
        row.modified.map(|at| paper.ago(at)).unwrap_or_default(),
    ]
}

fn branch(row: &WorktreeInfo) -> String {
    let doubled = if row.doubled { " (twice)" } else { "" };
    match (&row.branch, &row.commit) {
        (Some(branch), _) => format!("{branch}{doubled}"),
        (None, Some(commit)) => format!("none, at {}", short_commit(commit)),
        (None, None) => String::new(),
    }
}

/// The state in words, with how it is known.
fn state(row: &WorktreeInfo) -> String {
    let changes = || row.changes.filter(|changes| *changes > 0).map(|changes| count(u64::from(changes), "change"));
    match row.state {
        WorktreeState::Main => ["main".to_owned()].into_iter().chain(changes()).collect::<Vec<_>>().join(", "),
        WorktreeState::Stale if row.lock.is_some() => "folder gone, locked".into(),
        WorktreeState::Stale => "folder gone".into(),
        WorktreeState::Missing => "missing".into(),
        WorktreeState::Broken => "broken".into(),
        WorktreeState::Dirty => match (&row.operation, changes()) {
            (Some(operation), _) => format!("{operation} under way"),
            (None, Some(changes)) => format!("dirty, {changes}"),
            (None, None) => "dirty, unreadable".into(),
        },
        WorktreeState::Finished => format!("merged{}", row.proof.map(proof).unwrap_or_default()),
        WorktreeState::New => "new".into(),
        WorktreeState::Unmerged => "unmerged".to_owned() + &row.ahead.map(|ahead| format!(", {ahead} ahead")).unwrap_or_default(),
        WorktreeState::Orphan => "orphan".into(),
    }
}

/// How it is known that nothing of a branch would be lost, where that is more than that the base has its commits.
fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Ancestor => "",
        Proof::SameTree => " (same files)",
        Proof::AddsNothing => " (squash)",
        Proof::SameChange => " (squash, changed since)",
    }
}

fn owner(row: &WorktreeInfo) -> String {
    match (&row.owner, row.lock.as_deref()) {
        (Some(owner), _) => owner.clone(),
        (None, _) if row.pending => "waits for its agent".into(),
        (None, Some("")) => "unknown".into(),
        (None, Some(words)) => format!("unknown: {words}"),
        (None, None) => String::new(),
    }
}

/// The agent whose it is, and the one that is at work in it if that is another.
fn agent(row: &WorktreeInfo) -> String {
    let presence = row.presence.map(|presence| format!(" {}", self::presence(presence))).unwrap_or_default();
    let holder = row.agent.map(|agent| agent.short() + &presence);
    let session = row.session.filter(|session| Some(*session) != row.agent).map(|session| format!("{} in it", session.short()));
    holder.into_iter().chain(session).collect::<Vec<_>>().join(", ")
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Live => "live",
        Presence::Idle => "idle",
        Presence::Ended => "ended",
    }
}

/// What made it, where that is worth a word.
fn origin(row: &WorktreeInfo) -> String {
    if row.origin == "frith" || row.state == WorktreeState::Main { String::new() } else { row.origin.clone() }
}

fn total(reply: &Worktrees) -> String {
    let sum = |bytes: fn(&WorktreeInfo) -> Option<u64>| reply.worktrees.iter().filter_map(bytes).sum::<u64>();
    let (bytes, caches) = (sum(|row| row.bytes), sum(|row| row.cache_bytes));
    let sizes = match (bytes + caches, caches) {
        (0, _) => String::new(),
        (_, 0) => format!("; {}", size::bytes(bytes)),
        (all, _) => format!("; {}, {} of it build caches", size::bytes(all), size::bytes(caches)),
    };
    let base = reply.base.as_ref().map(|base| format!(", compared with {base}")).unwrap_or_default();
    format!("{} of {}{base}{sizes}", count(reply.worktrees.len() as u64, "worktree"), reply.repository)
}

/// A line for each oddity, with the command that does something about it.
fn advice(reply: &Worktrees) -> Vec<String> {
    let number = |state: WorktreeState| reply.worktrees.iter().filter(|row| row.state == state).count();
    let mut lines = Vec::new();
    if number(WorktreeState::Finished) + number(WorktreeState::Stale) > 0 {
        lines.push("`frith worktree gc` tells what can go".to_owned());
    }
    if number(WorktreeState::Missing) > 0 {
        lines.push("missing: claimed, and removed by somebody else since; a branch may be left".to_owned());
    }
    lines.extend(reply.worktrees.iter().filter_map(|row| Some(format!("{} cannot be read: {}", row.path, row.fault.as_ref()?))));
    let mut doubled: Vec<_> = reply.worktrees.iter().filter(|row| row.doubled).filter_map(|row| row.branch.as_deref()).collect();
    doubled.sort_unstable();
    doubled.dedup();
    lines.extend(doubled.iter().map(|branch| format!("branch {branch} is in two worktrees: a commit in one leaves the other behind")));
    lines
}

fn orphans(rows: &[WorktreeInfo], most: Option<usize>, paper: &mut Paper) {
    if rows.is_empty() {
        return;
    }
    paper.gap();
    paper.heading("Folders that git has forgotten");
    paper.table(
        ["FOLDER", "SIZE", "CHANGED"],
        rows.iter()
            .map(|row| {
                let changed = row.modified.map(|at| paper.ago(at)).unwrap_or_default();
                [short_path(&row.path, most), row.bytes.map(size::bytes).unwrap_or_default(), changed]
            })
            .collect::<Vec<_>>(),
    );
    paper.line("`git worktree repair <folder>`, run in the main checkout, brings one back that was moved; frith deletes none of them");
}

fn elsewhere(rows: &[Elsewhere], most: Option<usize>, paper: &mut Paper) {
    if rows.is_empty() {
        return;
    }
    paper.gap();
    paper.heading("On other machines");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let owner = row.owner.clone().unwrap_or_else(|| "waits for its agent".into());
            let agent = row.agent.map(|agent| agent.short()).unwrap_or_default();
            let path = short_path(&row.path, most);
            [row.machine_name.clone(), path, row.branch.clone().unwrap_or_default(), row.task.clone(), owner, agent, paper.ago(row.claimed)]
        })
        .collect();
    paper.table(["MACHINE", "WORKTREE", "BRANCH", "TASK", "OWNER", "AGENT", "CLAIMED"], rows);
}

/// A path as a table has room for it: below the home, and where it is long by its last names, which are whole.
pub(super) fn short_path(path: &PathText, most: Option<usize>) -> String {
    let home = environment::user_folder();
    let below = home.as_deref().filter(|home| home.parent().is_some()).and_then(|home| path.as_path().strip_prefix(home).ok());
    let text = below.map_or_else(|| path.to_string(), |below| format!("~/{}", below.display()));
    let fits = |text: &str, most: usize| text.chars().count() <= most;
    match most {
        Some(most) if !fits(&text, most) => {
            let ends: Vec<&str> = text.match_indices('/').map(|(at, _)| &text[at..]).collect();
            let end = ends.iter().find(|end| fits(end, most - 1)).or(ends.last());
            end.map_or(text.clone(), |end| format!("…{end}"))
        }
        _ => text,
    }
}

/// A worktree that was removed, and how its work is brought back.
pub fn removed(reply: &RemovedWorktree, paper: &mut Paper) {
    if paper.look.quiet {
        return paper.line(reply.path.to_string());
    }
    if reply.was_gone {
        return paper.line(format!("{} was gone already", reply.path));
    }
    paper.line(format!("{} is removed", reply.path));
    what_is_left(reply).iter().for_each(|line| paper.line(line));
}

/// What became of the branch of a worktree that was removed, with the commit it was at, and what could not be deleted.
pub(super) fn what_is_left(reply: &RemovedWorktree) -> Vec<String> {
    let tip = reply.tip.as_deref().unwrap_or_default();
    let mut lines = Vec::new();
    match (&reply.branch, &reply.branch_fault) {
        (Some(branch), _) if reply.branch_deleted => {
            let proof = reply.proof.map(proof).unwrap_or_default();
            lines.push(format!("branch {branch} is deleted: merged{proof}"));
            lines.push(format!("bring it back: git branch {} {tip}", quoted(branch)));
        }
        (Some(branch), Some(fault)) => lines.push(format!("branch {branch} stays at {tip}: {fault}")),
        (Some(branch), None) if tip.is_empty() => lines.push(format!("branch {branch} had no commit")),
        (Some(branch), None) => lines.push(format!("branch {branch} stays at {tip}")),
        (None, _) if tip.is_empty() => {}
        (None, _) => lines.push(format!("it was at {tip}, on no branch")),
    }
    lines.extend(reply.left.as_ref().map(|left| format!("not all of it could be deleted; the rest is at {left}")));
    lines
}

/// Who calls, and which worktrees it has.
pub fn whoami(reply: &InWorktree, paper: &mut Paper) {
    let agent = reply.agent.as_ref().map(|info| &info.agent);
    if paper.look.quiet {
        return paper.line(agent.map(|agent| agent.id.to_string()).unwrap_or_default());
    }
    let model = agent.and_then(|agent| agent.model.as_ref()).map(|model| format!(" / {model}")).unwrap_or_default();
    let path = |path: &Option<PathText>| path.as_ref().map(ToString::to_string).unwrap_or_default();
    paper.facts(&[
        ("agent", agent.map_or_else(|| "none: a person".into(), |agent| format!("{} ({}{model})", agent.id, agent.host))),
        ("machine", reply.machine.name.clone()),
        ("root", reply.root.to_string()),
        ("repository", path(&reply.repository)),
        ("worktree", path(&reply.worktree)),
    ]);
    if reply.held.is_empty() {
        return;
    }
    paper.gap();
    paper.heading("Yours");
    let held = reply.held.iter().map(|held| {
        let state = if held.missing { "folder gone" } else { "" };
        [held.path.to_string(), held.branch.clone().unwrap_or_default(), held.task.clone(), state.to_owned()]
    });
    let held: Vec<_> = held.collect();
    if held.iter().all(|[.., state]| state.is_empty()) {
        return paper.table(["WORKTREE", "BRANCH", "TASK"], held.into_iter().map(|[path, branch, task, _]| [path, branch, task]));
    }
    paper.table(["WORKTREE", "BRANCH", "TASK", "STATE"], held);
}

#[cfg(test)]
mod tests {
    use frith_actors::api::{
        agents::MachineName,
        worktree::{Held, StartedAt},
    };
    use frith_store::{id::MachineId, time::Timestamp};

    use super::*;
    use crate::render::Look;

    const NOW: i64 = 1_796_000_000_000;

    fn ago(hours: i64) -> Timestamp {
        Timestamp::from_ms(NOW - hours * 3_600_000)
    }

    fn drawn(width: Option<u16>, draw: impl FnOnce(&mut Paper)) -> String {
        let mut paper = Paper::new(Look { quiet: false, colour: false, width, now: Timestamp::from_ms(NOW) });
        draw(&mut paper);
        paper.text()
    }

    fn claude() -> AgentId {
        AgentId::from_bytes([0x3f; 16])
    }

    fn row(name: &str, state: WorktreeState) -> WorktreeInfo {
        WorktreeInfo {
            path: format!("/srv/ada/.frith/worktrees/app-{name}").parse().unwrap(),
            branch: Some(name.into()),
            commit: Some("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00".into()),
            state,
            proof: None,
            ahead: None,
            changes: Some(0),
            operation: None,
            fault: None,
            current: false,
            doubled: false,
            origin: "frith".into(),
            task: Some(name.into()),
            owner: None,
            lock: None,
            pending: false,
            agent: None,
            presence: None,
            session: None,
            bytes: Some(35 << 20),
            cache_bytes: Some(0),
            modified: Some(ago(3)),
        }
    }

    fn of_claude(row: WorktreeInfo, presence: Presence) -> WorktreeInfo {
        let lock = Some("claude / opus | t42 | 2026-11-29".into());
        WorktreeInfo { owner: Some("claude / opus".into()), lock, agent: Some(claude()), presence: Some(presence), ..row }
    }

    fn every_kind() -> Vec<WorktreeInfo> {
        let cursors = "/srv/ada/.cursor/worktrees/app/x1".parse().unwrap();
        let other = AgentId::from_bytes([0x77; 16]);
        vec![
            WorktreeInfo {
                path: "/srv/ada/app".parse().unwrap(),
                origin: "main".into(),
                changes: Some(2),
                ..row("main", WorktreeState::Main)
            },
            WorktreeInfo {
                proof: Some(Proof::AddsNothing),
                cache_bytes: Some(1 << 30),
                ..of_claude(row("t42-login", WorktreeState::Finished), Presence::Ended)
            },
            WorktreeInfo { current: true, ..of_claude(row("t43", WorktreeState::New), Presence::Live) },
            WorktreeInfo { changes: Some(3), session: Some(other), ..of_claude(row("t44", WorktreeState::Dirty), Presence::Idle) },
            WorktreeInfo { changes: None, lock: Some("mine, hands off".into()), ..row("t45", WorktreeState::Dirty) },
            WorktreeInfo { ahead: Some(2), doubled: true, ..row("t46", WorktreeState::Unmerged) },
            WorktreeInfo { path: cursors, origin: "cursor".into(), pending: true, doubled: true, ..row("t46", WorktreeState::New) },
            WorktreeInfo { branch: None, operation: Some("rebase".into()), ..row("t47", WorktreeState::Dirty) },
            WorktreeInfo { lock: Some(String::new()), bytes: None, modified: None, ..row("t48", WorktreeState::Stale) },
            WorktreeInfo { bytes: None, modified: None, ..row("t49", WorktreeState::Missing) },
            WorktreeInfo { fault: Some("its `.git` is no file".into()), ..row("t50", WorktreeState::Broken) },
        ]
    }

    fn worktrees() -> Worktrees {
        let orphan = WorktreeInfo { branch: None, commit: None, ..row("old", WorktreeState::Orphan) };
        let elsewhere = Elsewhere {
            machine: MachineId::from_bytes([0xbb; 8]),
            machine_name: "elm".into(),
            path: "/srv/bo/.frith/worktrees/app-t9".parse().unwrap(),
            branch: Some("t9".into()),
            task: "t9".into(),
            origin: "frith".into(),
            agent: Some(claude()),
            owner: Some("codex".into()),
            claimed: ago(50),
        };
        Worktrees {
            repository: "/srv/ada/app".parse().unwrap(),
            base: Some("origin/main".into()),
            worktrees: every_kind(),
            orphans: vec![orphan],
            elsewhere: vec![elsewhere],
        }
    }

    #[test]
    fn every_state_is_told_in_words_on_any_terminal() {
        let [unlimited, wide, narrow] = [None, Some(150), Some(72)].map(|width| {
            let text = drawn(width, |paper| listed(&worktrees(), paper));
            let table = text.split("\n\n").next().unwrap_or_default();
            assert!(width.is_none_or(|width| table.lines().all(|line| line.chars().count() <= usize::from(width))), "{text}");
            text
        });
        insta::assert_snapshot!("worktree_list_unlimited", unlimited);
        insta::assert_snapshot!("worktree_list_wide", wide);
        insta::assert_snapshot!("worktree_list_narrow", narrow);
    }

    #[test]
    fn what_nobody_asked_for_has_no_column() {
        let bare = |row| WorktreeInfo { bytes: None, cache_bytes: None, modified: None, ..row };
        let reply = Worktrees {
            base: None,
            worktrees: vec![bare(row("main", WorktreeState::Main)), bare(row("t1", WorktreeState::New))],
            orphans: vec![],
            elsewhere: vec![],
            ..worktrees()
        };
        insta::assert_snapshot!("worktree_list_no_sizes", drawn(None, |paper| listed(&reply, paper)));
    }

    #[test]
    fn an_odd_path_draws_nothing_and_keeps_its_line() {
        let odd = |bytes: &[u8]| PathText::from_bytes(bytes.to_vec());
        let paths = [odd(b"/w/two words"), odd(b"/w/\x1b[2Jclear\nnew"), odd(b"/w/\xff\xfe"), odd("/w/übung".as_bytes())];
        let rows = paths.into_iter().map(|path| WorktreeInfo { path, ..row("t1", WorktreeState::New) }).collect();
        let reply = Worktrees { worktrees: rows, orphans: vec![], elsewhere: vec![], ..worktrees() };
        insta::assert_snapshot!("worktree_list_odd", drawn(Some(80), |paper| listed(&reply, paper)));
    }

    #[test]
    fn a_long_path_is_known_by_its_last_names() {
        let short = |path: &str, most| short_path(&path.parse().unwrap(), most);
        assert_eq!(short("/srv/app", Some(24)), "/srv/app");
        assert_eq!(short("/srv/ada/.codex/worktrees/7f/app", Some(24)), "…/worktrees/7f/app");
        assert_eq!(short("/srv/ada/.codex/worktrees/7f/app", None), "/srv/ada/.codex/worktrees/7f/app");
        let long = "a-name-that-is-longer-than-there-is-room-for";
        assert_eq!(short(&format!("/srv/{long}"), Some(24)), format!("…/{long}"));
        let home = environment::user_folder().unwrap().join("x/y");
        assert_eq!(short_path(&home.as_path().into(), None), "~/x/y");
    }

    #[test]
    fn what_was_made_or_taken_over_says_from_where_and_as_whose() {
        let base = StartedAt {
            name: "origin/main".into(),
            commit: "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00".into(),
            committed: Some(ago(72)),
            fresh: false,
        };
        let made = Added {
            path: "/w/app-t1".parse().unwrap(),
            branch: "t1-login".into(),
            task: "t1".into(),
            agent: Some(claude()),
            owner: "claude / opus".into(),
            base: base.clone(),
            notes: vec!["the submodule `lib` is empty".into()],
        };
        let fresh = Added {
            agent: None,
            owner: "ada".into(),
            base: StartedAt { fresh: true, committed: None, ..base },
            notes: vec![],
            ..made.clone()
        };
        let taken = Adopted {
            path: "/w/x1".parse().unwrap(),
            task: "t1".into(),
            origin: "cursor".into(),
            agent: Some(claude()),
            owner: Some("cursor".into()),
            locked: false,
            pending: false,
            changed: true,
        };
        let texts = [
            drawn(None, |paper| added(&made, paper)),
            drawn(None, |paper| added(&fresh, paper)),
            drawn(None, |paper| adopted(&taken, paper)),
            drawn(None, |paper| adopted(&Adopted { locked: true, changed: false, ..taken.clone() }, paper)),
            drawn(None, |paper| adopted(&Adopted { agent: None, owner: None, pending: true, ..taken.clone() }, paper)),
        ];
        insta::assert_snapshot!("worktree_stories", texts.join("\n"));
    }

    #[test]
    fn what_was_removed_can_be_brought_back() {
        let gone = RemovedWorktree {
            path: "/w/app-t1".parse().unwrap(),
            branch: Some("t1 login".into()),
            tip: Some("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00".into()),
            branch_deleted: true,
            branch_fault: None,
            proof: Some(Proof::SameChange),
            left: None,
            was_gone: false,
        };
        let kept = RemovedWorktree { branch_deleted: false, ..gone.clone() };
        let texts = [
            gone.clone(),
            kept.clone(),
            RemovedWorktree { branch_fault: Some("it moved meanwhile".into()), ..kept.clone() },
            RemovedWorktree { branch: None, left: Some("/w/.trash/1".parse().unwrap()), ..kept.clone() },
            RemovedWorktree { tip: None, ..kept },
            RemovedWorktree { was_gone: true, ..gone },
        ];
        insta::assert_snapshot!("worktree_remove", texts.map(|reply| drawn(None, |paper| removed(&reply, paper))).join("\n"));
    }

    #[test]
    fn who_calls_and_what_it_has() {
        let held = |name: &str, missing| Held { path: format!("/w/app-{name}").parse().unwrap(), task: name.into(), branch: None, missing };
        let reply = InWorktree {
            agent: None,
            machine: MachineName { id: MachineId::from_bytes([0xaa; 8]), name: "oak".into() },
            root: "/srv/ada/.frith/worktrees".parse().unwrap(),
            repository: Some("/srv/ada/app".parse().unwrap()),
            worktree: None,
            held: vec![held("t1", false), held("t2", true)],
        };
        insta::assert_snapshot!("worktree_whoami", drawn(None, |paper| whoami(&reply, paper)));
    }
}
