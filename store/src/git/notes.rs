//! What is worth saying of a new worktree, in words.

use std::fmt;
use std::path::PathBuf;

use super::add::MadeNote;
use super::include::{LineFault, SkippedWhy};

/// How many paths a sentence names before it says how many more there are.
const NAMED: usize = 5;

impl fmt::Display for MadeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SubmodulesEmpty(paths) => write!(f, "{} left empty: {}", are(paths.len(), "submodule"), named(paths)),
            Self::LfsSkipped { files } => write!(f, "{} only as the pointers that git-lfs keeps", are(*files, "file")),
            Self::HooksPathEmpty(path) => {
                write!(f, "`core.hooksPath` leads to `{}`, which is not there, so no git hook runs", path.display())
            }
            Self::HookFailed(why) => write!(f, "the repository's post-checkout hook failed: {why}"),
            Self::Sparse => f.write_str("only a part of the files is checked out, as in the main checkout"),
            Self::Included { files, bytes } => {
                let files = if *files == 1 { "1 ignored file was".to_owned() } else { format!("{files} ignored files were") };
                write!(f, "{files} copied as `.worktreeinclude` says, {bytes} bytes")
            }
            Self::IncludeLine { line, what } => write!(f, "`.worktreeinclude` line {line} means nothing: {what}"),
            Self::IncludeSkipped(path, why) => write!(f, "`{}` was not copied: {why}", path.display()),
            Self::IncludeSkippedMore(count) => write!(f, "{count} more were not copied"),
        }
    }
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bracket => "it has a `[` without its `]`",
            Self::Backslash => "it ends with a `\\` that stands before nothing",
            Self::LeadsOut => "it has a `..`, which would lead out of the repository",
        })
    }
}

impl fmt::Display for SkippedWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotIgnored => "git does not ignore it",
            Self::NotIgnoredThere => "git would not ignore it in the new worktree",
            Self::Exists => "something of that name is there",
            Self::Link => "a link on the way leads elsewhere",
            Self::Checkout => "it is a checkout of its own",
            Self::Special => "it is a socket, a FIFO or a device",
            Self::Speaks => "it speaks for the agent of the folder it is in",
            Self::Unreadable(why) => return write!(f, "it cannot be read: {why}"),
        })
    }
}

fn are(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun} is") } else { format!("{count} {noun}s are") }
}

fn named(paths: &[PathBuf]) -> String {
    let mut named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{}`", path.display())).collect();
    if paths.len() > NAMED {
        named.push(format!("{} more", paths.len() - NAMED));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_is_a_sentence() {
        let said = |note: MadeNote| note.to_string();
        assert_eq!(said(MadeNote::SubmodulesEmpty(vec!["sub".into()])), "1 submodule is left empty: `sub`");
        let six = (0..6).map(|n| format!("s{n}").into()).collect();
        assert!(said(MadeNote::SubmodulesEmpty(six)).ends_with("`s4`, 1 more"));
        assert_eq!(
            said(MadeNote::IncludeLine { line: 3, what: LineFault::Bracket }),
            "`.worktreeinclude` line 3 means nothing: it has a `[` without its `]`"
        );
        assert_eq!(
            said(MadeNote::IncludeSkipped("a.sock".into(), SkippedWhy::Special)),
            "`a.sock` was not copied: it is a socket, a FIFO or a device"
        );
    }
}
