//! The status line of a live session at the bottom of a terminal; nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// The line on the terminal, which messages must not run into.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The line; it is taken away on drop.
#[derive(Debug)]
pub(crate) struct StatusLine(());

impl StatusLine {
    /// A line, where standard error is a terminal.
    pub(crate) fn on_terminal() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        // What is longer than the terminal is wide is cut.
        line.set_style(ProgressStyle::with_template("{wide_msg}").ok()?);
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        Some(Self(()))
    }

    /// Replaces its text.
    pub(crate) fn set(&self, text: String) {
        if let Some(line) = &*SHOWN.lock().unwrap_or_else(PoisonError::into_inner) {
            line.set_message(text);
            line.tick();
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        let line = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
        line.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Prints on standard error while the line is away.
pub(crate) fn beside(print: impl FnOnce()) {
    match &*SHOWN.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(line) => line.suspend(print),
        None => print(),
    }
}
