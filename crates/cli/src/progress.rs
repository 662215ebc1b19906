//! A progress bar on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seaway_units::TimeDelta;
use std::io::IsTerminal;

/// How far a command is, on standard error.
#[derive(Debug, Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that is full after `total` of virtual time.
    pub(crate) fn new(total: TimeDelta) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let template = if plain {
            "{bar:40} {percent:>3} %  {msg}  {eta} left"
        } else {
            "{bar:40.cyan} {percent:>3} %  {msg}  {eta} left"
        };
        let bar = ProgressBar::with_draw_target(Some(total.as_millis() as u64), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// So much more virtual time has passed.
    pub(crate) fn advance(&self, by: TimeDelta) {
        self.0.inc(by.as_millis() as u64);
        self.0.set_message(format!("{} s simulated", self.0.position() / 1000));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
