//! The command that a host runs at its events, and how one of ours is known again.
//!
//! Hosts hand it to a shell, which may be any: `sh`, `fish`, `nu`. So what they get is a program, an option and one quoted
//! word, which every shell and every host that starts programs by itself takes alike; what has to be decided is decided by
//! `/bin/sh` inside that word. It uses our program on the search path, else the one that entered it, else none. The shell
//! outlives the program that it starts and succeeds whatever becomes of that, since a host shows or heeds a hook that fails.

use frith_store::hosts::{HookEvent, Instead};

use crate::install::{
    ground::{Ground, PROGRAM},
    launcher,
};

/// What may be wanted at an event.
const INSTEAD: [Option<Instead>; 3] = [None, Some(Instead::MakeWorktree), Some(Instead::RemoveWorktree)];

/// The command for an event of a host.
pub fn hook(ground: &Ground<'_>, host: &str, event: &HookEvent) -> String {
    line(host, event.name, event.instead, worded(&ground.program.to_string_lossy()).as_deref())
}

fn line(host: &str, event: &str, instead: Option<Instead>, program: Option<&str>) -> String {
    match instead {
        None => format!("/bin/sh -c '{}; exit 0'", choice(host, event, program, &str::to_owned)),
        Some(instead) => format!("/bin/sh -c '{}'", launcher::script(instead, |call| choice(host, event, program, call))),
    }
}

/// The same as a program of its own.
pub fn script(ground: &Ground<'_>, host: &str, event: &str) -> String {
    let program = ground.program.to_string_lossy();
    let program = worded(&program).unwrap_or_else(|| format!("'{}'", program.replace('\'', r"'\''")));
    let choice = choice(host, event, Some(&program), &str::to_owned);
    format!("#!/bin/sh\n# Entered by `frith agents install {host}`; `frith agents uninstall {host}` takes it away.\n{choice}\nexit 0\n")
}

/// The command for the shell of Windows: our program on the search path, else none, and always well.
pub fn powershell(host: &str, event: &str) -> String {
    format!("if (Get-Command {PROGRAM} -ErrorAction SilentlyContinue) {{ {} }}; exit 0", plain(PROGRAM, host, event))
}

/// The bare command of an event.
pub fn plain(program: &str, host: &str, event: &str) -> String {
    format!("{program} hook {event} --host {host}")
}

/// The way to our program, called so: by its name, else by this path. The shell is never replaced by it, so what follows is reached.
fn choice(host: &str, event: &str, program: Option<&str>, call: &dyn Fn(&str) -> String) -> String {
    let called = |program: &str| call(&plain(program, host, event));
    let by_path = program.map(|program| format!("elif test -x {program}; then {}; ", called(program))).unwrap_or_default();
    format!("if command -v {PROGRAM} >/dev/null; then {}; {by_path}fi", called(PROGRAM))
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

/// Whether a command differs from the wanted one in its program and in nothing else.
pub fn is_alike(text: &str, wanted: &str, host: &str, event: &str) -> bool {
    let program = |text: &str| programs(text, host, event).last().and_then(|program| worded(program));
    let is_line =
        |text: &str, instead| text == line(host, event, instead, None) || text == line(host, event, instead, program(text).as_deref());
    let is_plain = |text: &str| program(text).is_some_and(|program| text == plain(&program, host, event));
    INSTEAD.into_iter().any(|instead| is_line(text, instead) && is_line(wanted, instead)) || is_plain(text) && is_plain(wanted)
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
    use frith_store::hosts;
    use std::{
        io::Write as _,
        path::Path,
        process::{Command, Stdio},
    };

    fn at(user: &Path) -> String {
        hook(&bare(user, &|_| None), "claude", hosts::host("claude").unwrap().event("SessionStart").unwrap())
    }

    #[test]
    fn b17_the_command_is_words_that_every_shell_takes_alike() {
        insta::assert_snapshot!(at(Path::new("/home/ada")), @"/bin/sh -c 'if command -v frith >/dev/null; then frith hook SessionStart --host claude; elif test -x /home/ada/bin/frith; then /home/ada/bin/frith hook SessionStart --host claude; fi; exit 0'");
        for user in ["/home/ada", "/home/ada lovelace", "/home/it's ada", "/home/$ada"] {
            let command = at(Path::new(user));
            let (before, inside) = command.split_once(" -c '").unwrap();
            let inside = inside.strip_suffix('\'').unwrap();
            assert!(before == "/bin/sh" && !inside.contains(['\'', '$', '`', '\\', '\n']), "{command}");
        }
    }

    #[test]
    fn b17_a_command_for_a_worktree_is_one_word_for_every_shell_and_differs_in_its_program_alone() {
        let command = |user: &str, event: &str| {
            hook(&bare(Path::new(user), &|_| None), "claude", hosts::host("claude").unwrap().event(event).unwrap())
        };
        for event in ["WorktreeCreate", "WorktreeRemove"] {
            for user in ["/home/ada", "/home/ada lovelace", "/home/it's ada", "/home/$ada"] {
                let text = command(user, event);
                let inside = text.strip_prefix("/bin/sh -c '").and_then(|text| text.strip_suffix('\'')).unwrap();
                assert!(!inside.contains('\'') && !inside.contains("\\\\") && !inside.contains('\n'), "{text}");
                assert!(is_hook(&text, "claude", event) && is_alike(&text, &command("/home/ada", event), "claude", event), "{text}");
            }
        }
        assert!(!is_alike(&command("/u", "WorktreeCreate"), &at(Path::new("/u")), "claude", "WorktreeCreate"));
    }

    /// The shells of this machine that may run what is `/bin/sh` elsewhere.
    fn shells() -> Vec<&'static str> {
        let shells = ["/bin/sh", "/bin/dash", "/usr/bin/dash", "/bin/bash", "/usr/bin/bash"];
        shells.into_iter().filter(|shell| Path::new(shell).exists()).collect()
    }

    /// Runs what hosts are given, with a word for it to read and programs of ours that say which they are.
    fn run(mut command: Command, search: &Path) -> (i32, String) {
        command.env_clear().env("PATH", search).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may be gone before.
        let _ = child.stdin.take().unwrap().write_all(b"event\n");
        let done = child.wait_with_output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap())
    }

    /// The command for an event, handed to a shell by a host and run in another.
    fn commands(user: &Path) -> Vec<Command> {
        let given = |shell: &str| {
            let mut command = Command::new(shell);
            command.arg("-c").arg(at(user).replacen("/bin/sh", shell, 1));
            command
        };
        shells().into_iter().map(given).collect()
    }

    /// The program for an event, run by each shell.
    fn scripts(user: &Path) -> Vec<Command> {
        let script = script(&bare(user, &|_| None), "cline", "TaskStart");
        let file = user.parent().unwrap().join("TaskStart");
        std::fs::write(&file, script).unwrap();
        let given = |shell: &str| {
            let mut command = Command::new(shell);
            command.arg(&file);
            command
        };
        shells().into_iter().map(given).collect()
    }

    fn put(path: &Path, text: &str) {
        program(path);
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn b18_b40_it_finds_the_program_on_the_path_else_where_it_was_else_does_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("a (b) c");
        let search = folder.path().join("search");
        let says = |word: &str| format!("#!/bin/sh\nread -r line; echo {word} $line \"$@\"; exit 2\n");
        let all = |expected: &str| commands(&user).into_iter().for_each(|it| assert_eq!(run(it, &search), (0, expected.to_owned())));
        all("");
        put(&user.join("bin/frith"), &says("there"));
        all("there event hook SessionStart --host claude\n");
        put(&search.join("frith"), &says("named"));
        all("named event hook SessionStart --host claude\n");
    }

    #[test]
    fn b18_a_hook_succeeds_whatever_becomes_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        for (at, name) in ["ada", "a (b) c", "it's \"ada\" & $x"].iter().enumerate() {
            let user = folder.path().join(at.to_string()).join(name);
            let search = folder.path().join("search").join(name);
            for text in ["#!/bin/sh\nexit 2\n", "#!/no/such/shell\n", "\u{7f}ELF broken", "#!/bin/sh\nkill -9 $$\n"] {
                for place in [user.join("bin/frith"), search.join("frith")] {
                    put(&place, text);
                    let all = commands(&user).into_iter().chain(scripts(&user));
                    all.for_each(|it| assert_eq!(run(it, &search).0, 0, "{}: {text}", place.display()));
                    std::fs::remove_file(&place).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_script_finds_a_program_whatever_its_path_holds() {
        let folder = tempfile::tempdir().unwrap();
        for (at, name) in ["ada", "a (b) c", "it's \"ada\" & $x"].iter().enumerate() {
            let user = folder.path().join(at.to_string()).join(name);
            put(&user.join("bin/frith"), "#!/bin/sh\nread -r line; echo $line \"$@\"; exit 2\n");
            for script in scripts(&user) {
                assert_eq!(run(script, folder.path()), (0, "event hook TaskStart --host cline\n".to_owned()), "{name}");
            }
        }
    }

    #[test]
    fn a_command_that_somebody_changed_is_not_alike() {
        let wanted = at(Path::new("/home/ada")).replace("SessionStart", "Stop");
        let alike = |text: &str, wanted: &str| is_alike(text, wanted, "claude", "Stop");
        for user in ["/home/ada", "/opt", "/home/ada lovelace", "/home/it's ada"] {
            assert!(alike(&at(Path::new(user)).replace("SessionStart", "Stop"), &wanted), "{user}");
        }
        assert!(alike("\"/home/a b/frith\" hook Stop --host claude", "frith hook Stop --host claude"));
        for text in [
            &wanted.replace("exit 0", "exit 1"),
            &format!("sleep 1; {wanted}"),
            &format!("{wanted} | tee x"),
            "frith hook Stop --host claude",
        ] {
            assert!(is_hook(text, "claude", "Stop") && !alike(text, &wanted), "{text}");
        }
        assert!(!alike("A=1 frith hook Stop --host claude", "frith hook Stop --host claude"));
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
