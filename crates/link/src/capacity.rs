//! The rate of a link as a function of time: constant, steps, a table that repeats, and outages over any of them.

use seaway_units::{Bitrate, TimeDelta, Timestamp, earlier};
use std::sync::Arc;

/// A rate that holds from an instant on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateStep {
    /// The instant, counted from the clock's origin or from the start of the period.
    pub(crate) at: TimeDelta,
    /// The rate from then on.
    pub(crate) rate: Bitrate,
}

/// Rates over time. Built once, shared by every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// The rate before the first step.
    pub(crate) initial: Bitrate,
    /// Ordered by their instants.
    pub(crate) steps: Arc<[RateStep]>,
    /// After this time the steps begin again; above the last step's instant.
    pub(crate) period: Option<TimeDelta>,
    /// When the last step's measured time is over; zero where steps are not measured.
    pub(crate) end: TimeDelta,
}

impl Schedule {
    /// Steps from time zero on, of which there is at least one; the last ends at `end`.
    pub(crate) fn from_steps(steps: Vec<RateStep>, end: TimeDelta, repeats: bool) -> Self {
        let initial = steps.first().map_or(Bitrate::ZERO, |step| step.rate);
        Self { initial, steps: steps.into(), period: repeats.then_some(end), end }
    }

    /// The mean over the steps, each weighed by how long it holds.
    pub(crate) fn mean_rate(&self) -> Bitrate {
        let ends = self.steps.iter().skip(1).map(|step| step.at).chain([self.end]);
        let bit_seconds: f64 = self
            .steps
            .iter()
            .zip(ends)
            .map(|(step, end)| step.rate.as_bps_f64() * (end - step.at).as_secs_f64())
            .sum();
        Bitrate::from_bps_f64(bit_seconds / self.end.as_secs_f64())
    }
}

/// A walk along a [`Schedule`] with outages laid over it.
#[derive(Debug, Clone)]
pub(crate) struct Capacity {
    schedule: Schedule,
    rate: Bitrate,
    next_step: usize,
    period_start: Timestamp,
    outages: Outages,
}

impl Capacity {
    pub(crate) fn new(schedule: Schedule, outages: Outages) -> Self {
        let rate = schedule.initial;
        Self { schedule, rate, next_step: 0, period_start: Timestamp::ZERO, outages }
    }

    /// The present rate; zero in an outage.
    pub(crate) fn rate(&self) -> Bitrate {
        if self.outages.is_out() { Bitrate::ZERO } else { self.rate }
    }

    /// When the rate may change next.
    pub(crate) fn next_change(&self) -> Option<Timestamp> {
        earlier(self.step_at(), self.outages.next_change())
    }

    /// Takes the next change.
    pub(crate) fn change(&mut self) {
        let Some(at) = self.next_change() else { return };
        if self.step_at() == Some(at) {
            self.take_step();
        }
        if self.outages.next_change() == Some(at) {
            self.outages.change();
        }
    }

    fn step_at(&self) -> Option<Timestamp> {
        let steps = &self.schedule.steps;
        match steps.get(self.next_step) {
            Some(step) => Some(self.period_start + step.at),
            None => Some(self.period_start + self.schedule.period? + steps.first()?.at),
        }
    }

    fn take_step(&mut self) {
        if self.next_step == self.schedule.steps.len() {
            self.period_start += self.schedule.period.unwrap_or_default();
            self.next_step = 0;
        }
        self.rate = self.schedule.steps[self.next_step].rate;
        self.next_step += 1;
    }
}

/// Spans in which nothing is served; ordered, none touching another.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    spans: Arc<[(Timestamp, Timestamp)]>,
    /// Edges passed: twice the index of the span, one more inside it.
    passed: usize,
}

impl Outages {
    pub(crate) fn new(spans: Arc<[(Timestamp, Timestamp)]>) -> Self {
        Self { spans, passed: 0 }
    }

    pub(crate) fn is_out(&self) -> bool {
        self.passed % 2 == 1
    }

    pub(crate) fn next_change(&self) -> Option<Timestamp> {
        let (from, to) = *self.spans.get(self.passed / 2)?;
        Some(if self.is_out() { to } else { from })
    }

    pub(crate) fn change(&mut self) {
        self.passed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(capacity: &mut Capacity, changes: usize) -> Vec<(u64, u64)> {
        let step = |_| {
            let at = capacity.next_change()?;
            capacity.change();
            Some((at.as_nanos() / 1_000_000_000, capacity.rate().as_bps()))
        };
        (0..changes).map_while(step).collect()
    }

    fn schedule(period: Option<TimeDelta>) -> Schedule {
        let step = |at, rate| RateStep { at: TimeDelta::from_secs(at), rate: Bitrate::from_bps(rate) };
        Schedule {
            initial: Bitrate::from_bps(9),
            steps: Arc::from([step(1, 3), step(2, 5)]),
            period,
            end: TimeDelta::ZERO,
        }
    }

    fn outages(spans: &[(u64, u64)]) -> Outages {
        let at = |secs| Timestamp::from_nanos(secs * 1_000_000_000);
        Outages::new(spans.iter().map(|&(from, to)| (at(from), at(to))).collect())
    }

    #[test]
    fn steps_hold_to_the_next() {
        let mut capacity = Capacity::new(schedule(None), outages(&[]));
        assert_eq!(capacity.rate().as_bps(), 9);
        assert_eq!(walk(&mut capacity, 9), [(1, 3), (2, 5)]);
    }

    #[test]
    fn a_table_repeats() {
        let mut capacity = Capacity::new(schedule(Some(TimeDelta::from_secs(4))), outages(&[]));
        assert_eq!(walk(&mut capacity, 5), [(1, 3), (2, 5), (5, 3), (6, 5), (9, 3)]);
    }

    #[test]
    fn an_outage_hides_the_steps_below_it() {
        let mut capacity = Capacity::new(schedule(None), outages(&[(0, 1), (2, 4)]));
        assert_eq!(walk(&mut capacity, 9), [(0, 0), (1, 3), (2, 0), (4, 5)]);
    }
}
