//! The rate of each programme: by the schedule, and of what several share.

use super::branch::{Branch, Work};
use super::{LiveShaper, Programs, RateShare};
use crate::shape::Target;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Rates of several programmes are divided anew so often.
pub(super) const DIVISION: TimeDelta = TimeDelta::from_secs(1);
/// What of the work of a second counts in the next.
const MEMORY: f64 = 0.6;
/// Rates that differ by less stay: a change ends the windows.
const SLIGHT_CHANGE: f64 = 0.02;

impl LiveShaper {
    /// The time since the first packet that is shaped.
    pub(super) fn time(&self, now: Timestamp) -> TimeDelta {
        self.started.map_or(TimeDelta::ZERO, |started| now.since(started))
    }

    /// Sets the target that the schedule has now.
    pub(super) fn follow_schedule(&mut self, now: Timestamp) {
        let target = self.schedule.at(self.time(now));
        if target == self.config.shaper.target {
            return;
        }
        self.config.shaper.target = target;
        match self.shared_rate() {
            // Each gets its share of the new rate, until the next division.
            Some(rate) => {
                let (sum, count) = (self.rates.iter().sum::<u64>() as f64, self.rates.len() as f64);
                let share = |&old: &u64| if sum > 0.0 { rate * old as f64 / sum } else { rate / count };
                let rates: Vec<f64> = self.rates.iter().map(share).collect();
                self.give(&rates);
            }
            None => self.branches.iter_mut().for_each(|branch| branch.set_target(target)),
        }
    }

    /// The rate in bit/s that several programmes share.
    pub(super) fn shared_rate(&self) -> Option<f64> {
        match (self.config.programs, self.config.shaper.target) {
            (Programs::All, Target::Rate(rate)) => Some(rate.as_bps_f64()),
            _ => None,
        }
    }

    /// Divides the rate among several programmes once a second.
    pub(super) fn divide(&mut self, now: Timestamp) {
        let Some(rate) = self.shared_rate() else { return };
        if self.branches.is_empty() {
            return;
        }
        let last = *self.divided.get_or_insert(now);
        if now.since(last) < DIVISION {
            return;
        }
        self.divided = Some(now);
        self.work_seconds = MEMORY * self.work_seconds + now.since(last).as_secs_f64();
        for (sum, branch) in self.work.iter_mut().zip(&mut self.branches) {
            sum.forget(MEMORY);
            sum.add(branch.take_work());
        }
        if self.note_silence(now) {
            self.share_equally(rate);
            return;
        }
        let has_begun = |(work, branch): (&Work, &Branch)| work.bits_in > 0 || branch.is_silent;
        if self.work.iter().zip(&self.branches).all(has_begun)
            && self.work.iter().any(|work| work.bits_in > 0)
        {
            let rates = self.share.divide(rate, &self.work, self.work_seconds);
            let changes =
                |(new, old): (&f64, &u64)| (new / (*old as f64).max(1.0) - 1.0).abs() > SLIGHT_CHANGE;
            if rates.iter().zip(&self.rates).any(changes) {
                self.give(&rates);
            }
        }
    }

    /// Marks the programmes whose packets do not come; true where those of one come again.
    fn note_silence(&mut self, now: Timestamp) -> bool {
        let mut comes_again = false;
        for branch in &mut self.branches {
            let was_silent =
                std::mem::replace(&mut branch.is_silent, self.search.is_silent(now, &branch.program));
            comes_again |= was_silent && !branch.is_silent;
        }
        comes_again
    }

    /// Begins to share: how hard they are to code is not known yet.
    pub(super) fn share_equally(&mut self, rate: f64) {
        let count = self.branches.len();
        (self.share, self.work_seconds) = (RateShare::default(), 0.0);
        self.work = vec![Work::default(); count];
        self.give(&vec![rate / count.max(1) as f64; count]);
    }

    fn give(&mut self, rates: &[f64]) {
        self.rates = rates.iter().map(|&rate| rate as u64).collect();
        for (branch, &rate) in self.branches.iter_mut().zip(&self.rates) {
            branch.set_target(Target::Rate(Bitrate::from_bps(rate)));
        }
    }
}
