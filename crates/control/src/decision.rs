//! Why a rate or a phase changed.

use crate::controller::RateController;
use seaway_units::{Bitrate, Timestamp};
use std::collections::VecDeque;

/// A named internal value of a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gauge {
    /// What it is: `"loss_event_rate"`.
    pub name: &'static str,
    /// The value in `unit`.
    pub value: f64,
    /// `"s"`, `"ms"`, `"bit/s"`, `"B"`, or empty for a pure number.
    pub unit: &'static str,
}

impl Gauge {
    /// A value.
    pub const fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { name, value, unit }
    }
}

/// Why a rate or a phase changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// The rule that fired: `"loss event"`, `"slow start doubling"`.
    pub cause: &'static str,
    /// What it looked at.
    pub signal: Gauge,
    /// What it compared with, in the signal's unit.
    pub threshold: f64,
    /// The rate before.
    pub before: Bitrate,
    /// The rate after.
    pub after: Bitrate,
    /// The phase from now on.
    pub phase: &'static str,
}

/// The rule behind a change, what it looked at and what it compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reason {
    cause: &'static str,
    signal: Gauge,
    threshold: f64,
}

impl Reason {
    pub(crate) const fn new(cause: &'static str, signal: Gauge, threshold: f64) -> Self {
        Self { cause, signal, threshold }
    }

    /// New [limits](crate::LocalSignal::Limits), of which `signal` is looked at.
    pub(crate) fn limits(signal: Gauge, max: Bitrate) -> Self {
        Self::new("limits set", signal, max.as_bps_f64())
    }
}

/// A controller that logs how its rate changes.
pub(crate) trait LogsDecisions: RateController + Sized {
    /// A change of phase is logged even where the rate stays.
    const LOGS_PHASES: bool = false;

    /// The rate that decisions are about.
    fn decided_rate(&self) -> Bitrate;

    /// Does something for a reason, and logs what became of the rate.
    fn change(&mut self, now: Timestamp, reason: Reason, act: impl FnOnce(&mut Self)) {
        self.decide(now, |this| {
            act(this);
            Some(reason)
        });
    }

    /// Does something that gives its reason, if it has one, and logs what became of the rate.
    fn decide(&mut self, now: Timestamp, act: impl FnOnce(&mut Self) -> Option<Reason>) {
        let (before, phase_before) = (self.decided_rate(), self.phase());
        let Some(Reason { cause, signal, threshold }) = act(self) else { return };
        let (after, phase) = (self.decided_rate(), self.phase());
        if before != after || Self::LOGS_PHASES && phase != phase_before {
            let decision = Decision { at: now, cause, signal, threshold, before, after, phase };
            self.decision_log().into_iter().for_each(|log| log.push(decision));
        }
    }
}

/// The bounded log behind [`RateController::poll_decision`]: the newest decisions are counted and dropped while it is
/// full.
#[derive(Debug, Clone)]
pub struct DecisionLog {
    ring: VecDeque<Decision>,
    dropped: u64,
    /// The rate that the newest led to.
    rate: Bitrate,
}

impl DecisionLog {
    const CAPACITY: usize = 32;

    /// An empty log. All the memory it will ever use is taken here.
    pub fn new() -> Self {
        Self { ring: VecDeque::with_capacity(Self::CAPACITY), dropped: 0, rate: Bitrate::ZERO }
    }

    /// Notes a decision, or counts it where the log is full.
    pub fn push(&mut self, decision: Decision) {
        self.rate = decision.after;
        if self.ring.len() < Self::CAPACITY {
            self.ring.push_back(decision);
        } else {
            self.dropped += 1;
        }
    }

    /// The oldest decision that was not read.
    pub fn pop(&mut self) -> Option<Decision> {
        self.ring.pop_front()
    }

    /// The rate after the newest, zero before the first.
    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// How many were dropped unread since the start.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Default for DecisionLog {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_decisions_are_bounded_and_counted() {
        let decision = Decision {
            at: Timestamp::ZERO,
            cause: "test",
            signal: Gauge::new("none", 0.0, ""),
            threshold: 0.0,
            before: Bitrate::ZERO,
            after: Bitrate::ZERO,
            phase: "test",
        };
        let mut log = DecisionLog::new();
        for _ in 0..DecisionLog::CAPACITY + 3 {
            log.push(decision);
        }
        assert_eq!(log.dropped(), 3);
        assert_eq!(std::iter::from_fn(|| log.pop()).count(), DecisionLog::CAPACITY);
    }
}
