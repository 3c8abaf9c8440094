//! How far a long call is: a moving line on a terminal, plain lines otherwise, always on standard error.

use std::io::{IsTerminal as _, Write as _};

use frith_actors::call::Progress;
use frith_store::text::drawable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::environment;

/// Says one line on standard error.
pub fn say(line: &str) {
    // Nobody is left to tell that standard error is closed.
    let _ = writeln!(std::io::stderr(), "{}", drawable(line, true));
}

/// The story of one call while it runs.
pub struct Story {
    quiet: bool,
    bar: Option<ProgressBar>,
    last: Option<String>,
}

impl Story {
    /// A story that has not begun; a quiet one is never told.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: None, last: None }
    }

    /// What was being done last.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Tells one more step.
    pub fn tell(&mut self, progress: &Progress) {
        let what = drawable(&progress.what, false);
        let is_new = self.last.as_deref() != Some(what.as_str());
        if !self.quiet {
            if std::io::stderr().is_terminal() && !environment::is_dumb() {
                self.move_bar(&what, progress.part);
            } else if is_new && progress.part.is_none_or(|(done, all)| done == all) {
                // A story that cannot be written down is no reason to fail the call.
                let _ = writeln!(std::io::stderr(), "{what}");
            }
        }
        self.last = Some(what);
    }

    /// Ends the moving line.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn move_bar(&mut self, what: &str, part: Option<(u64, u64)>) {
        let bar = self.bar.get_or_insert_with(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        let template = if part.is_some() { "{bar:24} {percent:>3}% {wide_msg}" } else { "{spinner} {wide_msg}" };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        match part {
            Some((done, of)) => {
                bar.set_length(of);
                bar.set_position(done.min(of));
            }
            None => bar.tick(),
        }
        bar.set_message(what.to_owned());
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        self.end();
    }
}
