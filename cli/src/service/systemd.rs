//! systemd's user manager, on Linux.
//!
//! The node itself ends its agents, so only it is told to end; what is left after it is killed. A node that finds its home
//! taken by another one ends with 1, and is not started again: two would only take turns in failing.

use std::path::PathBuf;

use super::{Manager, OURS, Service, Words, words};
use crate::environment;

/// The row.
pub const MANAGER: Manager = Manager {
    word: "the user manager of systemd",
    file: |name| Some(folder()?.join(format!("{name}.service"))),
    text,
    probe: || words(&["systemctl", "--user", "show", "--property=Version"]),
    enable: |name| vec![reload(), systemctl(&["enable", name])],
    start: |name, _| systemctl(&["start", name]),
    disable: |name| [vec![systemctl(&["disable", name])], vec![reload()]],
    process: |name| systemctl(&["show", "--property=MainPID", name]),
    lingers: Some(|| {
        (
            words(&["loginctl", "show-user", "--property=Linger", &rustix::process::getuid().as_raw().to_string()]),
            "`loginctl enable-linger` keeps it running after you log out, and starts it with the machine",
        )
    }),
};

fn folder() -> Option<PathBuf> {
    let config = environment::read("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(config.or_else(|| Some(environment::user_folder()?.join(".config")))?.join("systemd/user"))
}

fn systemctl(line: &[&str]) -> Words {
    words(&[&["systemctl", "--user"], line].concat())
}

fn reload() -> Words {
    systemctl(&["daemon-reload"])
}

fn text(service: &Service) -> String {
    let Service { name, home, program, path } = service;
    format!(
        "\
# {OURS}, which writes it anew.
# Changes of your own belong beside it: systemctl --user edit {name}
[Unit]
Description=frith, the node of {description}
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart={program} up --foreground
Environment={home}
Environment={path}
WorkingDirectory=/
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=1
KillMode=mixed
OOMPolicy=continue
TimeoutStartSec=300
TimeoutStopSec=120

[Install]
WantedBy=default.target
",
        description = home.replace('%', "%%"),
        program = quoted(program).replace('$', "$$"),
        home = quoted(&format!("FRITH_HOME={home}")),
        path = quoted(&format!("PATH={path}")),
    )
}

/// A word as a unit has it: in quotes, with what would mean something else taken for what it is.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}
