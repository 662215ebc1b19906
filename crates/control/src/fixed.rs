//! No control: a constant rate, for comparison.

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, DecisionLog, Gauge};
use crate::feedback::{Feedback, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::{Lane, SentPacket};
use crate::registry::{ControllerInfo, Kind, OptionInfo, pace};
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
        options: &[
            OptionInfo {
                name: "rate",
                default: "the flow's start rate",
                range: "a rate above zero such as 2 Mbit/s",
                about: "the constant wire rate",
            },
            pace("100 ms"),
        ],
        build: |options, _setting| {
            let rate = options.take_if("rate", |rate| *rate > Bitrate::ZERO)?;
            let source = options.pace()?.map_or_else(FixedFeedback::default, FixedFeedback::new);
            Ok((Self::new(rate).into(), source.into()))
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
    /// The lanes with news, a bit each.
    lanes: [u64; 4],
}

impl FixedFeedback {
    /// Reports every `interval`, which is raised to 1 ms at least, while packets arrive.
    pub fn new(interval: TimeDelta) -> Self {
        Self { interval: interval.max(TimeDelta::from_millis(1)), due: None, lanes: [0; 4] }
    }
}

impl Default for FixedFeedback {
    /// Every 100 ms.
    fn default() -> Self {
        Self::new(TimeDelta::from_millis(100))
    }
}

impl FeedbackSource for FixedFeedback {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        self.due.get_or_insert(now + self.interval);
        let lane = usize::from(arrival.lane.0);
        self.lanes[lane / 64] |= 1 << (lane % 64);
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<(Lane, PeerReport)> {
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        let Some(word) = self.lanes.iter().position(|word| *word != 0) else {
            self.due = None;
            return None;
        };
        let lane = word as u32 * 64 + self.lanes[word].trailing_zeros();
        self.lanes[word] &= self.lanes[word] - 1;
        Some((Lane(lane as u8), PeerReport::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    #[test]
    fn every_lane_with_news_is_reported_once_an_interval() {
        let arrival = |lane| Arrival {
            lane: Lane(lane),
            sequence: 0,
            size: DataSize::from_bytes(1000),
            ecn: Ecn::NotEct,
            tag: None,
            sent: RemoteTimestamp::from_nanos(0),
            rtt: None,
            ends_frame: false,
        };
        let mut source = FixedFeedback::default();
        for lane in [200, 3, 3] {
            source.on_arrival(Timestamp::ZERO, &arrival(lane));
        }
        let due = source.poll_timeout().unwrap();
        assert_eq!(source.poll_report(Timestamp::ZERO), None);
        let lanes: Vec<_> = std::iter::from_fn(|| source.poll_report(due)).map(|(lane, _)| lane.0).collect();
        assert_eq!(lanes, [3, 200]);
        assert_eq!(source.poll_timeout(), None);
    }
}
