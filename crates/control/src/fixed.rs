//! No control: a constant rate, for comparison.

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, DecisionLog, Gauge};
use crate::feedback::{Feedback, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::{Lane, SentPacket};
use crate::registry::{ControllerInfo, Kind, OptionInfo};
use crate::signal::LocalSignal;
use seaway_units::{Bitrate, Probability, TimeDelta, Timestamp};

/// Sends at one rate whatever comes back: the limits' `start` unless `rate` is given, never outside the limits.
#[derive(Debug, Clone)]
pub struct Fixed {
    asked: Option<Bitrate>,
    rate: Bitrate,
    decisions: DecisionLog,
}

impl Fixed {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        name: "fixed",
        source: "no control, for comparison",
        kind: Kind::Rate,
        options: &[OptionInfo {
            name: "rate",
            default: "the flow's start rate",
            range: "a rate above zero such as 2 Mbit/s",
            about: "the constant wire rate",
        }],
        build: |options, _setting| {
            let rate = options.take_if("rate", |rate| *rate > Bitrate::ZERO)?;
            Ok((Self::new(rate).into(), FixedFeedback::default().into()))
        },
    };

    /// A controller at `rate`, or at the start rate of the limits.
    pub fn new(rate: Option<Bitrate>) -> Self {
        Self { asked: rate, rate: rate.unwrap_or(Bitrate::ZERO), decisions: DecisionLog::new() }
    }
}

impl RateController for Fixed {
    fn on_sent(&mut self, _now: Timestamp, _packet: &SentPacket) {}

    fn on_feedback(&mut self, _now: Timestamp, _feedback: &Feedback<'_>) {}

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        let LocalSignal::Limits { min, start, max } = signal else { return };
        let before = self.rate;
        self.rate = self.asked.unwrap_or(start).max(min).min(max);
        if before != self.rate {
            self.decisions.push(Decision {
                at: now,
                cause: "limits set",
                signal: Gauge::new("asked_rate", self.asked.unwrap_or(start).as_bps_f64(), "bit/s"),
                threshold: max.as_bps_f64(),
                before,
                after: self.rate,
                phase: self.phase(),
            });
        }
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop()
    }

    fn allowance(&self, _lane: Lane) -> Allowance {
        Allowance::paced(self.rate)
    }

    fn target(&self) -> Target {
        Target { rate: self.rate, channel_loss: Probability::ZERO }
    }

    fn phase(&self) -> &'static str {
        "fixed"
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("rate", self.rate.as_bps_f64(), "bit/s"));
    }
}

/// The receiving half of a controller that computes nothing at the receiver: it only sets the pace at which
/// `session` reports packets.
#[derive(Debug, Clone)]
pub struct FixedFeedback {
    interval: TimeDelta,
    due: Option<Timestamp>,
}

impl FixedFeedback {
    /// Reports every `interval`, which is raised to 1 ms at least, while packets arrive.
    pub fn new(interval: TimeDelta) -> Self {
        Self { interval: interval.max(TimeDelta::from_millis(1)), due: None }
    }
}

impl Default for FixedFeedback {
    /// Every 100 ms.
    fn default() -> Self {
        Self::new(TimeDelta::from_millis(100))
    }
}

impl FeedbackSource for FixedFeedback {
    fn on_arrival(&mut self, now: Timestamp, _arrival: &Arrival) {
        self.due.get_or_insert(now + self.interval);
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<PeerReport> {
        self.due.take_if(|due| *due <= now).map(|_| PeerReport::default())
    }
}
