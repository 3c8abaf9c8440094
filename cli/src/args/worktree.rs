//! The arguments of what concerns worktrees. Spans of time are the command line's own words; a request has milliseconds.

use clap::{Args, Subcommand};
use frith_actors::api::worktree;

use crate::config::keys::span;

/// What can be done with worktrees.
#[derive(Debug, Subcommand)]
pub enum Worktree {
    #[command(
        long_about = "Make a worktree for a task, on a branch of its own, locked as yours.\n\nIt stands below `worktree.root`, as `<repository>-<task>`, and starts at the latest commit of origin's default branch, which is asked for first. Nothing else in the repository changes. The path is all that is written to standard output.",
        after_help = "Example, in an agent's shell:\n  cd \"$(frith worktree add t42 login-form)\"\n  frith worktree add t43 --base v1.2\n\nIn your own shell say whose it is:\n  frith worktree add t44 --owner ada"
    )]
    Add(worktree::Add),
    #[command(
        long_about = "Take over a worktree that a host made; its folder stays where it is.\n\nIt gets git's lock with your name, but for the pools whose host removes old worktrees by itself. Again changes nothing. A host's script may run it for a session that nobody knows yet: the worktree then waits for the next agent that starts there.",
        after_help = "Example, in an agent's shell, in the worktree:\n  frith worktree adopt\n  frith worktree adopt ~/.cursor/worktrees/app/x1 --task t42"
    )]
    Adopt(worktree::Adopt),
    #[command(after_help = "Example:\n  frith worktree claim ~/src/app-t42 --owner ada\n  frith worktree claim ../app-t42 --task t42")]
    Claim(worktree::Claim),
    #[command(
        visible_alias = "ls",
        long_about = "List the worktrees of this repository: whose, in which state, how large, how old.\n\nmerged      its work is in the base, nothing in it is without a commit: `gc` removes it\nnew         no commit of its own yet\nunmerged    it has commits that the base has not\ndirty       something in it is in no commit\nfolder gone git remembers it, and its folder is not there\nmissing     it was claimed, and both are gone\nbroken      git cannot read it",
        after_help = "Example:\n  frith worktree list\n  frith worktree list --all --json"
    )]
    List(worktree::List),
    #[command(
        visible_alias = "rm",
        long_about = "Remove a clean worktree of yours, and its branch when that is merged.\n\nWhat is in no commit is never lost, whoever asks: there is no flag for it. The answer names the commit its branch was at.",
        after_help = "Example:\n  frith worktree remove t42\n  frith worktree remove ~/.frith/worktrees/app-t42 --keep-branch"
    )]
    Remove(worktree::Remove),
    #[command(
        long_about = "Sweep finished and forgotten worktrees; only tells what it would do until `--yes`.\n\nThe first that fits decides: the main checkout, the one you stand in and one that waits for its agent stay; finished ones go; what a live agent or somebody else has stays, until a lock is old and nothing would be lost; what is dirty or unmerged stays, whatever its age.",
        after_help = "Example:\n  frith worktree gc\n  frith worktree gc --yes\n  frith worktree gc --idle 3d --stale-lock 30d --yes"
    )]
    Gc(WorktreeGc),
    #[command(
        long_about = "Delete idle build caches in worktrees; only tells what it would do until `--yes`.\n\nA build cache is a folder whose program put a `CACHEDIR.TAG` into it, as cargo does with `target`.",
        after_help = "Example:\n  frith worktree clean\n  frith worktree clean --idle 7d --yes\n  frith worktree clean ../app-t42 --yes"
    )]
    Clean(WorktreeClean),
    #[command(after_help = "Example:\n  frith worktree whoami")]
    Whoami(worktree::Whoami),
}

/// Sweep finished and forgotten worktrees; only tells what it would do until `--yes`.
#[derive(Debug, Clone, Args)]
pub struct WorktreeGc {
    /// What is asked for.
    #[command(flatten)]
    pub request: worktree::Gc,
    /// Leave alone what was written to more lately than this, such as `90m`, `24h` or `3d`.
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = milliseconds)]
    pub idle: u64,
    /// Leave alone what somebody else locked and was written to more lately than this.
    #[arg(long, value_name = "SPAN", default_value = "7d", value_parser = milliseconds)]
    pub stale_lock: u64,
}

impl WorktreeGc {
    /// The request, done or only tried.
    pub fn request(self, yes: bool) -> worktree::Gc {
        worktree::Gc { yes, idle_ms: self.idle, stale_lock_ms: self.stale_lock, ..self.request }
    }
}

/// Delete idle build caches in worktrees; only tells what it would do until `--yes`.
#[derive(Debug, Clone, Args)]
pub struct WorktreeClean {
    /// What is asked for.
    #[command(flatten)]
    pub request: worktree::Clean,
    /// Leave alone what was written to more lately than this, such as `90m`, `24h` or `3d`.
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = milliseconds)]
    pub idle: u64,
}

impl WorktreeClean {
    /// The request, done or only tried.
    pub fn request(self, yes: bool) -> worktree::Clean {
        worktree::Clean { yes, idle_ms: self.idle, ..self.request }
    }
}

/// A span of time in milliseconds; none at all is one, too.
fn milliseconds(text: &str) -> Result<u64, String> {
    let none = matches!(text, "0" | "0s" | "0m" | "0h" | "0d").then_some(0);
    let given = || u64::try_from(span(text)?.as_millis()).ok();
    none.or_else(given).ok_or_else(|| "it takes a number with its unit, such as `90m`, `24h` or `3d`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_become_milliseconds_and_what_is_none_says_what_would_be() {
        assert_eq!(milliseconds("24h"), Ok(worktree::IDLE_MS));
        assert_eq!(milliseconds("7d"), Ok(worktree::STALE_LOCK_MS));
        assert_eq!(milliseconds("0s"), Ok(0));
        for text in ["", "24", "1w", "-1h", "99999999999999d"] {
            assert!(milliseconds(text).unwrap_err().contains("`24h`"), "{text}");
        }
    }
}
