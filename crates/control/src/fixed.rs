//! No control: a constant rate, for comparison.

use crate::allowance::Target;
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::feedback::{Feedback, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::info::{ControllerInfo, pair};
use crate::options;
use crate::options::{FEEDBACK_INTERVAL, OptionTable};
use crate::packet::Subflow;
use crate::signal::LocalSignal;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Sends at one rate whatever comes back: the limits' `start` unless `rate` is given, never outside the limits.
#[derive(Debug, Clone)]
pub struct Fixed {
    configured: Option<Bitrate>,
    rate: Bitrate,
    decisions: DecisionLog,
}

impl Fixed {
    const OPTIONS: OptionTable<Option<Bitrate>> = options! { |rate: &mut Option<Bitrate>, value|
        "rate" = "the flow's start rate", "a rate above zero such as 2 Mbit/s", "the constant wire rate":
            *rate = Some(value.within(Bitrate::from_bps(1)..=Bitrate::MAX)?);
    };

    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[Self::OPTIONS.group, FEEDBACK_INTERVAL.group],
        ..ControllerInfo::new("fixed", "no control, for comparison", |options, _| {
            let rate = options.read(&Self::OPTIONS, None)?;
            let interval = options.read(&FEEDBACK_INTERVAL, PeriodicFeedback::INTERVAL)?;
            Ok(pair(Self::new(rate), PeriodicFeedback::new(interval)))
        })
    };

    /// A controller at `rate`, or at the start rate of the limits.
    pub fn new(rate: Option<Bitrate>) -> Self {
        Self { configured: rate, rate: rate.unwrap_or(Bitrate::ZERO), decisions: DecisionLog::new() }
    }
}

impl LogsDecisions for Fixed {
    fn decided_rate(&self) -> Bitrate {
        self.rate
    }
}

impl RateController for Fixed {
    fn on_feedback(&mut self, _now: Timestamp, _feedback: &Feedback<'_>) {}

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        let LocalSignal::Limits { min, start, max } = signal else { return };
        let configured = self.configured.unwrap_or(start);
        let signal = Gauge::new("configured_rate", configured.as_bps_f64(), "bit/s");
        self.change(now, Reason::limits(signal, max), |fixed| fixed.rate = configured.max(min).min(max));
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn target(&self) -> Target {
        Target::new(self.rate)
    }

    fn phase(&self) -> &'static str {
        "fixed"
    }
}

/// The receiving half of a controller that computes nothing at the receiver: it only sets the pace at which
/// `session` reports packets.
#[derive(Debug, Clone)]
pub struct PeriodicFeedback {
    interval: TimeDelta,
    /// The tick behind the last report: ticks are an interval apart, whatever arrives when.
    tick: Option<Timestamp>,
    due: Option<Timestamp>,
    /// The subflows with arrivals to report, a bit each.
    subflows: [u64; 4],
}

impl PeriodicFeedback {
    /// The default interval.
    pub const INTERVAL: TimeDelta = TimeDelta::from_millis(100);

    /// Reports every `interval`, which is raised to 1 ms at least, while packets arrive.
    pub fn new(interval: TimeDelta) -> Self {
        Self { interval: interval.max(TimeDelta::from_millis(1)), tick: None, due: None, subflows: [0; 4] }
    }

    /// The first tick behind `now`; an interval from now where there was none before.
    fn next_tick(&self, now: Timestamp) -> Timestamp {
        match self.tick {
            Some(tick) if tick > now => tick,
            Some(tick) => {
                let missed = now.since(tick).as_nanos() / self.interval.as_nanos();
                tick + self.interval * (missed + 1)
            }
            None => now + self.interval,
        }
    }
}

impl Default for PeriodicFeedback {
    /// Every 100 ms.
    fn default() -> Self {
        Self::new(Self::INTERVAL)
    }
}

impl FeedbackSource for PeriodicFeedback {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        if self.due.is_none() {
            self.due = Some(self.next_tick(now));
        }
        let subflow = usize::from(arrival.subflow.0);
        self.subflows[subflow / 64] |= 1 << (subflow % 64);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn has_report(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let due = self.due.filter(|due| *due <= now)?;
        let Some(word) = self.subflows.iter().position(|word| *word != 0) else {
            self.tick = Some(due + self.interval);
            self.due = None;
            return None;
        };
        let subflow = word as u32 * 64 + self.subflows[word].trailing_zeros();
        self.subflows[word] &= self.subflows[word] - 1;
        Some((Subflow(subflow as u8), PeerReport::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    fn arrival(subflow: u8) -> Arrival {
        Arrival {
            subflow: Subflow(subflow),
            sequence: 0,
            size: DataSize::from_bytes(1000),
            ecn: Ecn::NotEct,
            tag: None,
            sent: RemoteTimestamp::from_nanos(0),
            rtt: None,
            ends_frame: false,
        }
    }

    #[test]
    fn ticks_are_an_interval_apart_whatever_arrives_when() {
        let at = |ms| Timestamp::ZERO + TimeDelta::from_millis(ms);
        let mut source = PeriodicFeedback::default();
        for (arrives, due) in [(10, 110), (117, 210), (209, 210), (211, 310), (555, 610), (710, 810)] {
            source.on_arrival(at(arrives), &arrival(0));
            assert_eq!(source.poll_timeout(), Some(at(due)), "{arrives} ms");
            if arrives != 117 {
                assert!(source.poll_report(at(due)).is_some() && source.poll_report(at(due)).is_none());
            }
        }
    }

    #[test]
    fn every_subflow_with_arrivals_is_reported_once_an_interval() {
        let mut source = PeriodicFeedback::default();
        for subflow in [200, 3, 3] {
            source.on_arrival(Timestamp::ZERO, &arrival(subflow));
        }
        let due = source.poll_timeout().unwrap();
        assert_eq!(source.poll_report(Timestamp::ZERO), None);
        let subflows: Vec<_> =
            std::iter::from_fn(|| source.poll_report(due)).map(|(subflow, _)| subflow.0).collect();
        assert_eq!(subflows, [3, 200]);
        assert_eq!(source.poll_timeout(), None);
    }
}
