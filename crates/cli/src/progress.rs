//! A progress bar on a terminal, nothing elsewhere.

use crate::interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seaway_units::TimeDelta;
use std::io::IsTerminal;
use std::ops::ControlFlow;

/// How far a command is, on standard error.
#[derive(Debug, Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that is full after `total` of virtual time.
    pub(crate) fn new(total: TimeDelta) -> Self {
        Self::with(Some(total.as_millis() as u64), "{msg}  {eta} left")
    }

    /// A bar that is full after so many bytes; without an end where their number is not known.
    pub(crate) fn of_bytes(total: Option<u64>) -> Self {
        match total {
            Some(_) => Self::with(total, "{bytes} of {total_bytes}, {bytes_per_sec}  {eta} left"),
            None => Self::with(None, "{bytes}, {bytes_per_sec}"),
        }
    }

    /// A bar that is full after so many steps.
    pub(crate) fn of_steps(total: u64) -> Self {
        Self::with(Some(total), "{msg}")
    }

    /// The next step begins; the one before is done.
    pub(crate) fn step(&self, name: &'static str) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        self.0.set_message(name);
        self.0.tick();
    }

    /// A count of pictures.
    pub(crate) fn of_pictures() -> Self {
        Self::with(None, "{pos} pictures")
    }

    fn with(total: Option<u64>, what: &str) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let bar = if plain { "{bar:40} {percent:>3} %" } else { "{bar:40.cyan} {percent:>3} %" };
        let template = if total.is_some() { format!("{bar}  {what}") } else { what.to_owned() };
        let bar = ProgressBar::with_draw_target(total, target);
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Advances by virtual time. Breaks off after a signal.
    pub(crate) fn simulated(&self, by: TimeDelta) -> ControlFlow<()> {
        self.0.inc(by.as_millis() as u64);
        self.0.set_message(format!("{} s simulated", self.0.position() / 1000));
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// So many more bytes were read.
    pub(crate) fn read(&self, bytes: usize) {
        self.0.inc(bytes as u64);
    }

    /// One more picture is done.
    pub(crate) fn next_picture(&self) {
        self.0.inc(1);
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
