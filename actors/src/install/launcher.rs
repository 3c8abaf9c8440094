//! The command of an event to which a host wants something done that it would do itself without a hook: make a worktree, or
//! remove one. A host that gets no path for the first one fails, or hangs, so where frith does not do it the command does what
//! the host would have done.
//!
//! As the other commands (`command`) it is one word in single quotes for `/bin/sh`: no single quote is in it, and no backslash
//! before another. The payload can be read once only, so the shell keeps it. What a payload names is taken by expansion alone,
//! which runs nothing, and as a name only letters, digits and three marks, so that it leads nowhere else. Standard output has the
//! path or nothing.

use frith_store::hosts::Instead;

/// What is run for the event: `choice` makes the way to our program around the calls of it that `call` makes.
pub fn script(instead: Instead, choice: impl Fn(&dyn Fn(&str) -> String) -> String) -> String {
    match instead {
        Instead::MakeWorktree => {
            let ours = choice(&|call| format!("p=$(printf %s \"$i\" | {call}) || p="));
            format!("i=$(cat); p=; {ours}; {MADE}; {FAIL}; {NAME}; {FOLDER}; {PLACE}; {MAKE}")
        }
        Instead::RemoveWorktree => {
            let ours = choice(&|call| format!("o=$(printf %s \"$i\" | {call}); s=$?"));
            format!("i=$(cat); o=; s=3; {ours}; {ENDED}; {FAIL}; {PATH}; {REMOVE}")
        }
    }
}

/// A path of ours is the answer. An earlier version answers an object, which is none.
const MADE: &str = "case $p in /*) if test -d \"$p\"; then printf \"%s\\n\" \"$p\"; exit 0; fi;; esac";
/// How the shell ends that can do nothing. Its language is set so that a range of letters is those of ASCII.
const FAIL: &str = "LC_ALL=C; unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; f() { printf \"%s\\n\" \"$1\" >&2; exit 1; }";
/// The name that the host gives. Only a key stands before a colon, and the quotes in a text have a backslash before them.
const NAME: &str = "case $i in *\\\"name\\\":*) ;; *) f \"the host names no worktree\";; esac; \
n=${i#*\\\"name\\\":}; n=${n# }; case $n in \\\"*) ;; *) f \"the host names no worktree\";; esac; n=${n#\\\"}; n=${n%%\\\"*}; \
case $n in \"\"|.*|-*|/*|*/|*//*|*/.*|*..*|*.|*.lock|*[!A-Za-z0-9._/-]*) f \"the host names no worktree that can be made\";; esac";
/// The folder of the session, else this process's: one that is written with a backslash is not found.
const FOLDER: &str = "c=${i#*\\\"cwd\\\":}; c=${c#*\\\"}; c=${c%%\\\"*}; case $c in /*) test -d \"$c\" || c=.;; *) c=.;; esac";
/// Where it is made: below the main checkout, through no link of the repository's.
const PLACE: &str = "g=$(git -C \"$c\" rev-parse --path-format=absolute --git-common-dir) || exit 1; \
case $g in */.git) t=${g%/.git};; *) t=$(git -C \"$c\" rev-parse --show-toplevel) || exit 1;; esac; \
b=$n; while case $b in */*) ;; *) false;; esac; do b=${b%%/*}+${b#*/}; done; \
d=$t/.claude/worktrees/$b; b=worktree-$b; \
for l in \"$t/.claude\" \"$t/.claude/worktrees\" \"$d\"; do if test -h \"$l\"; then f \"a link stands where the worktree would be\"; fi; done";
/// One of that name that is there is used again, and so is its branch.
const MAKE: &str = "if test -e \"$d\"; then \
test -f \"$d/.git\" && test \"$(git -C \"$d\" rev-parse --path-format=absolute --git-common-dir)\" = \"$g\" || f \"something else stands where the worktree would be\"; \
elif git -C \"$c\" show-ref -q --verify \"refs/heads/$b\"; then git -C \"$c\" worktree add \"$d\" \"$b\" >&2 || exit 1; \
else h=$(git -C \"$c\" rev-parse -q --verify \"refs/remotes/origin/HEAD^{commit}\") || h=HEAD; \
git -C \"$c\" worktree add --no-track -b \"$b\" \"$d\" \"$h\" >&2 || exit 1; fi; printf \"%s\\n\" \"$d\"";
/// Ours removed it, or said why it does not. Where nobody of ours answers (3), or one that knows nothing of it, git is asked.
const ENDED: &str = "case $s:$o in 0:) exit 0;; 0:*|3:*|126:*|127:*) ;; *) exit 1;; esac";
/// The worktree; one that is gone is none any more, and a path that is written with a backslash is not known.
const PATH: &str = "case $i in *\\\"worktree_path\\\":*) ;; *) f \"the host names no worktree\";; esac; \
p=${i#*\\\"worktree_path\\\":}; p=${p# }; case $p in \\\"*) ;; *) f \"the host names no worktree\";; esac; p=${p#\\\"}; p=${p%%\\\"*}; k=$(printf \"\\134\"); \
case $p in *\"$k\"*) f \"the path of the worktree cannot be read\";; /*) ;; *) f \"the host names no worktree\";; esac; \
test -e \"$p\" || test -h \"$p\" || exit 0";
/// Never forced, and the branch stays.
const REMOVE: &str = "g=$(git -C \"$p\" rev-parse --path-format=absolute --git-common-dir) || exit 1; \
git -C \"$g\" worktree remove \"$p\" >&2 || exit 1";
