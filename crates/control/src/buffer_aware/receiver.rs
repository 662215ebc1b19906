//! The receiving half of buffer-aware control.

use crate::feedback::{BufferLevel, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use seaway_units::{TimeDelta, Timestamp};

/// Reports the level of the buffer once at the start, then each round-trip time.
#[derive(Debug, Clone, Default)]
pub struct BufferReports {
    level: Option<BufferLevel>,
    rtt: Option<TimeDelta>,
    timer: Option<Timestamp>,
    /// Reports since the last arrival.
    quiet: u8,
    due: bool,
    reported: Option<Timestamp>,
}

impl BufferReports {
    const LEAST: TimeDelta = TimeDelta::from_millis(1);
    const LONGEST: TimeDelta = TimeDelta::from_secs(60);
    /// From the first report to the next where no round-trip time comes.
    const AGAIN: TimeDelta = TimeDelta::from_millis(100);
    /// Reports without an arrival while the buffer drains.
    const MOST_QUIET: u8 = 100;
}

impl FeedbackSource for BufferReports {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        self.rtt = arrival.rtt.map(|rtt| rtt.clamp(Self::LEAST, Self::LONGEST)).or(self.rtt);
        self.quiet = 0;
        match (self.rtt, self.timer) {
            (Some(rtt), None) => {
                self.due = true;
                self.timer = Some(now + rtt);
            }
            // The sender does not know the round-trip time yet: the first report may have been lost.
            (None, _) if self.reported.is_none_or(|at| now.since(at) >= Self::AGAIN) => {
                self.due = true;
                self.reported = Some(now);
            }
            _ => {}
        }
    }

    fn on_buffer(&mut self, _now: Timestamp, level: BufferLevel) {
        self.level = Some(BufferLevel { held: level.held.min(level.capacity), ..level });
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        // A buffer that drains without arrivals is reported, but not for ever.
        let draining = self.level.is_some_and(|level| !level.held.is_zero());
        self.due = self.quiet == 0 || (draining && self.quiet < Self::MOST_QUIET);
        self.timer = if self.due { self.rtt.map(|rtt| now + rtt) } else { None };
        self.quiet = self.quiet.saturating_add(1);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.timer
    }

    fn has_report(&self, _now: Timestamp) -> bool {
        self.due
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let report = PeerReport { buffer: self.level, ..PeerReport::default() };
        std::mem::take(&mut self.due).then_some((Subflow(0), report))
    }
}
