//! The command that a host runs at its events, and how one of ours is known again.
//!
//! Hosts hand it to a shell, which may be any: `sh`, `fish`, `nu`. So what they get is a program, an option and one quoted
//! word, which every shell and every host that starts programs by itself takes alike; what has to be decided is decided by
//! `/bin/sh` inside that word. It uses our program on the search path, else the one that entered it, else none, and succeeds
//! whatever happens, since a host shows or heeds a hook that fails.

use crate::install::ground::{Ground, PROGRAM};

/// The command for an event of a host.
pub fn hook(ground: &Ground<'_>, host: &str, event: &str) -> String {
    format!("/bin/sh -c '{}; exit 0'", tries(ground, host, event).join("; "))
}

/// The same as a program of its own.
pub fn script(ground: &Ground<'_>, host: &str, event: &str) -> String {
    let tries = tries(ground, host, event).join("\n");
    format!("#!/bin/sh\n# Entered by `frith agents install {host}`; `frith agents uninstall {host}` takes it away.\n{tries}\nexit 0\n")
}

/// The bare command of an event.
pub fn plain(program: &str, host: &str, event: &str) -> String {
    format!("{program} hook {event} --host {host}")
}

/// The ways to our program, the first that works replacing the shell: so the process above the hook is the host's own.
fn tries(ground: &Ground<'_>, host: &str, event: &str) -> Vec<String> {
    let mut tries = vec![format!("command -v {PROGRAM} >/dev/null && exec {}", plain(PROGRAM, host, event))];
    if let Some(program) = worded(&ground.program.to_string_lossy()) {
        tries.push(format!("test -x {program} && exec {}", plain(&program, host, event)));
    }
    tries
}

/// A path as a shell takes it inside a word in single quotes; none for one that no quotes make safe there.
fn worded(path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+@%:,=~".contains(c);
    if path.chars().all(is_plain) {
        return Some(path.to_owned());
    }
    let is_quotable = |c: char| is_plain(c) || " ()&;<>|*?#[]{}!^".contains(c);
    path.chars().all(is_quotable).then(|| format!("\"{path}\""))
}

/// Whether a command, or a program's text, is a hook of ours for this event of this host.
pub fn is_hook(text: &str, host: &str, event: &str) -> bool {
    let words = format!(" hook {event} --host {host}");
    text.match_indices(&words).any(|(at, _)| {
        let after = text[at + words.len()..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c)) && is_ours(last_word(&text[..at]))
    })
}

/// The programs of ours that a command may start.
pub fn programs<'t>(text: &'t str, host: &str, event: &str) -> Vec<&'t str> {
    let words = format!(" hook {event} --host {host}");
    text.match_indices(&words).map(|(at, _)| last_word(&text[..at])).filter(|word| is_ours(word)).collect()
}

/// The word at the end of a text, without the quotes around it; one in double quotes may have spaces.
fn last_word(text: &str) -> &str {
    if let Some(inside) = text.strip_suffix('"') {
        return inside.rsplit('"').next().unwrap_or(inside);
    }
    text.rsplit(|c: char| c.is_whitespace() || "'\";".contains(c)).next().unwrap_or(text)
}

/// Whether a program's path or name is ours.
pub fn is_ours(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name == PROGRAM || name.strip_prefix(PROGRAM).is_some_and(|rest| rest == ".exe" || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::ground::tests::{bare, program};
    use std::{path::Path, process::Command};

    fn at(user: &Path) -> String {
        hook(&bare(user, &|_| None), "claude", "SessionStart")
    }

    #[test]
    fn b17_the_command_is_words_that_every_shell_takes_alike() {
        insta::assert_snapshot!(at(Path::new("/home/ada")), @"/bin/sh -c 'command -v frith >/dev/null && exec frith hook SessionStart --host claude; test -x /home/ada/bin/frith && exec /home/ada/bin/frith hook SessionStart --host claude; exit 0'");
        for user in ["/home/ada", "/home/ada lovelace", "/home/it's ada", "/home/$ada"] {
            let command = at(Path::new(user));
            let (before, inside) = command.split_once(" -c '").unwrap();
            let inside = inside.strip_suffix('\'').unwrap();
            assert!(before == "/bin/sh" && !inside.contains(['\'', '$', '`', '\\', '\n']), "{command}");
        }
    }

    /// Runs a command as hosts do, with programs of ours that say which they are.
    fn run(user: &Path, search: &Path) -> (i32, String) {
        let done = Command::new("/bin/sh").arg("-c").arg(at(user)).env_clear().env("PATH", search).output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap())
    }

    #[test]
    fn b18_b40_it_finds_the_program_on_the_path_else_where_it_was_else_does_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("a (b) c");
        let search = folder.path().join("search");
        let put = |path: &Path, word: &str| {
            program(path);
            std::fs::write(path, format!("#!/bin/sh\necho {word} \"$@\"; exit 3\n")).unwrap();
        };
        assert_eq!(run(&user, &search), (0, String::new()));
        put(&user.join("bin/frith"), "there");
        assert_eq!(run(&user, &search).1, "there hook SessionStart --host claude\n");
        put(&search.join("frith"), "named");
        assert_eq!(run(&user, &search).1, "named hook SessionStart --host claude\n");
    }

    #[test]
    fn a_hook_of_ours_is_known_however_it_is_written() {
        let ours = |text: &str| is_hook(text, "claude", "Stop");
        for text in [
            "frith hook Stop --host claude",
            "/opt/frith/bin/frith hook Stop --host claude",
            "\"/home/a b/frith\" hook Stop --host claude",
            "/bin/sh -c 'exec frith hook Stop --host claude; exit 0'",
        ] {
            assert!(ours(text), "{text}");
        }
        for text in [
            "other hook Stop --host claude",
            "frith hook SubagentStop --host claude",
            "frith hook Stop --host claudette",
            "notfrith hook Stop --host claude",
            "frith hook StopAll --host claude",
        ] {
            assert!(!ours(text), "{text}");
        }
        assert_eq!(
            programs(&at(Path::new("/home/a b")).replace("SessionStart", "Stop"), "claude", "Stop"),
            ["frith", "/home/a b/bin/frith"]
        );
    }
}
