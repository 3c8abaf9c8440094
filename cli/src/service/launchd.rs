//! launchd, on macOS. It starts a job again that ended badly and has no code that forbids it, so a node that finds its home
//! taken ends well here.

use super::{Manager, OURS, Service, words};
use crate::environment;

/// The row.
pub const MANAGER: Manager = Manager {
    word: "launchd",
    file: |name| Some(environment::user_folder()?.join("Library/LaunchAgents").join(format!("{}.plist", label(name)))),
    text,
    probe: || words(&["launchctl", "print", &domain()]),
    enable: |_| Vec::new(),
    start: |_, file| words(&["launchctl", "bootstrap", &domain(), &file.to_string_lossy()]),
    // Taking the job out would end the node: without its file it is gone at the next login.
    disable: |_| [Vec::new(), Vec::new()],
    process: |name| words(&["launchctl", "print", &format!("{}/{}", domain(), label(name))]),
    lingers: None,
};

fn label(name: &str) -> String {
    format!("dev.{name}.node")
}

fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn text(service: &Service) -> String {
    let Service { name, home, program, path } = service;
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!-- {OURS}, which writes it anew. -->
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>up</string>
    <string>--foreground</string>
    <string>--yield</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>FRITH_HOME</key><string>{home}</string>
    <key>PATH</key><string>{path}</string>
  </dict>
  <key>WorkingDirectory</key><string>/</string>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key><false/>
  </dict>
  <key>ProcessType</key><string>Interactive</string>
  <key>ExitTimeOut</key><integer>120</integer>
</dict>
</plist>
",
        label = escaped(&label(name)),
        program = escaped(program),
        home = escaped(home),
        path = escaped(path),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
