//! The real desktop: D-Bus where it is spoken, `osascript` on macOS. A test has the notes written to a file instead.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::env::notify::{Note, Notifier};

/// The desktop of the user who runs the node.
#[derive(Debug, Clone)]
pub struct Desktop {
    runtime: tokio::runtime::Handle,
    /// That there is none was said already.
    has_failed: Arc<AtomicBool>,
}

impl Desktop {
    /// The desktop, reached from this runtime.
    pub fn new(runtime: tokio::runtime::Handle) -> Self {
        Self { runtime, has_failed: Arc::default() }
    }
}

impl Notifier for Desktop {
    fn raise(&self, note: Note) {
        let has_failed = Arc::clone(&self.has_failed);
        self.runtime.spawn(async move {
            if let Err(error) = show(note).await
                && !has_failed.swap(true, Ordering::Relaxed)
            {
                tracing::warn!(%error, "notifications reach no desktop; this is said once");
            }
        });
    }
}

#[cfg(not(target_os = "macos"))]
async fn show(note: Note) -> Result<(), notify_rust::error::Error> {
    notify_rust::Notification::new().appname("frith").summary(&note.title).body(&escaped(&note.text)).show_async().await.map(drop)
}

/// Desktops read a note's text as markup.
#[cfg(not(target_os = "macos"))]
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The words go in as arguments: nothing in them is read as a script.
#[cfg(target_os = "macos")]
async fn show(note: Note) -> io::Result<()> {
    const SCRIPT: &str = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run";
    let shown = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new("/usr/bin/osascript");
        command.args(["-e", SCRIPT, "--", &note.title, &note.text]).stdin(std::process::Stdio::null()).output()
    });
    let done = shown.await.map_err(io::Error::other)??;
    if done.status.success() { Ok(()) } else { Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned())) }
}

/// Writes notes to a file, one a line: a test's desktop.
#[derive(Debug, Clone)]
pub struct Recorded(pub PathBuf);

impl Recorded {
    fn write(&self, note: &Note) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.0)?;
        file.write_all(format!("{}: {}\n", note.title, note.text).as_bytes())
    }
}

impl Notifier for Recorded {
    fn raise(&self, note: Note) {
        if let Err(error) = self.write(&note) {
            tracing::warn!(%error, file = %self.0.display(), "a notification could not be recorded");
        }
    }
}
