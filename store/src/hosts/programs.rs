//! Programs that are no host, though a host's process may stand below or above them.
//!
//! A shell or a wrapper between a host and what it runs is passed over when the host's process is looked for. Where
//! people work is where looking ends: what stands there is never an agent.

/// Shells, and programs that only start another and then wait for it or become it.
const SHELLS: &[&str] = &[
    "ash",
    "bash",
    "busybox",
    "cmd",
    "cmd.exe",
    "csh",
    "dash",
    "elvish",
    "env",
    "fish",
    "ionice",
    "ksh",
    "ksh93",
    "mksh",
    "nice",
    "nohup",
    "nu",
    "oksh",
    "osh",
    "powershell",
    "powershell.exe",
    "pwsh",
    "pwsh.exe",
    "rbash",
    "sh",
    "setsid",
    "stdbuf",
    "tcsh",
    "time",
    "timeout",
    "unbuffer",
    "xargs",
    "xonsh",
    "yash",
    "ysh",
    "zsh",
];

/// The first processes of a system, of a login and of a terminal, and what takes a person to another user's shell.
const PLACES_OF_PEOPLE: &[&str] = &[
    "Hyper",
    "Terminal",
    "WindowsTerminal",
    "agetty",
    "alacritty",
    "byobu",
    "conhost",
    "containerd-shim",
    "containerd-shim-runc-v2",
    "cron",
    "crond",
    "docker-init",
    "doas",
    "dtach",
    "foot",
    "footclient",
    "getty",
    "ghostty",
    "gnome-terminal",
    "gnome-terminal-server",
    "guake",
    "init",
    "iTerm2",
    "kgx",
    "kitty",
    "konsole",
    "launchd",
    "login",
    "lxterminal",
    "mate-terminal",
    "mosh-server",
    "ptyxis",
    "ptyxis-agent",
    "qterminal",
    "rio",
    "runuser",
    "rxvt",
    "screen",
    "script",
    "sshd",
    "sshd-auth",
    "sshd-session",
    "st",
    "su",
    "sudo",
    "sudo-rs",
    "systemd",
    "tabby",
    "terminator",
    "terminology",
    "tilda",
    "tilix",
    "tini",
    "tmux",
    "tmux: server",
    "urxvt",
    "urxvtd",
    "wezterm",
    "wezterm-gui",
    "xfce4-terminal",
    "xterm",
    "yakuake",
    "zellij",
];

/// Whether a program of this name is a shell or a wrapper, which is passed over.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name.strip_prefix('-').unwrap_or(name))
}

/// Whether a program of this name is where people work, so that it is no agent's host.
pub fn is_place_of_people(name: &str) -> bool {
    PLACES_OF_PEOPLE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_wrappers_and_places_of_people_are_told_from_hosts() {
        for shell in ["sh", "bash", "dash", "zsh", "-zsh", "fish", "ksh", "nu", "pwsh", "busybox", "timeout", "env", "nice", "nohup"] {
            assert!(is_shell(shell) && !is_place_of_people(shell), "{shell}");
        }
        for place in ["init", "systemd", "launchd", "sshd", "login", "tmux", "screen", "zellij", "kitty", "su", "sudo", "script"] {
            assert!(is_place_of_people(place) && !is_shell(place), "{place}");
        }
        for host in ["node", "claude", "codex", "opencode", "python3", "frith", "bun"] {
            assert!(!is_shell(host) && !is_place_of_people(host), "{host}");
        }
    }

    #[test]
    fn a_program_stands_in_one_list_once() {
        let mut all: Vec<_> = SHELLS.iter().chain(PLACES_OF_PEOPLE).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
