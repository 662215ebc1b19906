//! Rows of time and rate become a schedule.

use crate::capacity::{RateStep, Schedule};
use crate::error::Error;
use seaway_units::{Bitrate, TimeDelta};

/// Rates that hold from row to row.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Instant since the first row, and rate. Rows of one instant stand side by side.
    rows: Vec<(TimeDelta, Bitrate)>,
    start: Option<f64>,
}

/// Longest trace, and longest time between two rows: a year.
pub(super) const LONGEST_SECS: f64 = 366.0 * 86_400.0;
/// The shortest trace: one that repeats costs time even on an idle link.
const SHORTEST: TimeDelta = TimeDelta::from_millis(1);
/// Highest rate, bit/s.
const HIGHEST_BPS: f64 = 1e12;

impl Rows {
    /// A row at `secs`, not before the row above.
    pub(super) fn push(&mut self, line: usize, secs: f64, bps: f64) -> Result<(), Error> {
        let start = *self.start.get_or_insert(secs);
        let since = secs - start;
        if !(0.0..=LONGEST_SECS).contains(&since) {
            return Err(Error::trace(line, secs, "a time not before the one above, all within a year"));
        }
        if !(0.0..=HIGHEST_BPS).contains(&bps) {
            return Err(Error::trace(line, format!("{bps} bit/s"), "a rate from 0 to 1 Tbit/s"));
        }
        let at = TimeDelta::from_secs_f64(since);
        if self.rows.last().is_some_and(|&(last, _)| at < last) {
            return Err(Error::trace(line, secs, "a time not before the one above, all within a year"));
        }
        self.rows.push((at, Bitrate::from_bps_f64(bps)));
        Ok(())
    }

    /// The schedule. The last row holds for `last` or, where that is not known, as long as the instant before it did
    /// (a second, if there is only one); rows of one instant share the time to the next evenly.
    pub(super) fn schedule(self, last: Option<TimeDelta>, repeats: bool) -> Result<Schedule, Error> {
        let Some(&(last_at, _)) = self.rows.last() else {
            return Err(Error::trace(1, "no rows", "at least one"));
        };
        if self.rows.iter().all(|&(_, rate)| rate == Bitrate::ZERO) {
            return Err(Error::trace(1, "no rate above zero", "a trace that carries something"));
        }
        let before = self.rows.iter().rev().map(|&(at, _)| at).find(|&at| at < last_at);
        let last = last.or(before.map(|before| last_at - before)).unwrap_or(TimeDelta::from_secs(1));
        let end = last_at + last;
        if end < SHORTEST {
            return Err(Error::trace(1, format!("{end} in all"), format!("a trace of at least {SHORTEST}")));
        }
        let mut steps = Vec::with_capacity(self.rows.len());
        for instant in self.rows.chunk_by(|a, b| a.0 == b.0) {
            let at = instant[0].0;
            let next = self.rows[steps.len() + instant.len()..].first().map_or(end, |&(at, _)| at);
            let share = (next - at) / instant.len() as i64;
            let of_instant =
                instant.iter().zip(0..).map(|(&(_, rate), n)| RateStep { at: at + share * n, rate });
            steps.extend(of_instant);
        }
        Ok(Schedule::from_steps(steps, end, repeats))
    }
}
