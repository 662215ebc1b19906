//! TCP-friendly rate control: RFC 5348, its predecessor RFC 3448, and TFRC-SP (RFC 4828).
//!
//! `count` connections run side by side as subflows of one flow, each a whole TFRC with its own sequence space,
//! loss history and feedback (S003).

mod config;
mod data_limited;
mod equation;
mod extended;
mod loss_events;
mod nofeedback;
mod ns2;
mod receive_limit;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{Config, LossSide, Profile, Segment};
pub use equation::{Equation, RetransmitTimeout, TimeoutEstimator};
pub use extended::{Extended, Extension};
pub use ns2::{Ns2Receiver, Ns2Tfrc};
pub use receiver::TfrcReceiver;

pub(crate) use receiver::SubflowReceiver;
pub(crate) use sender::Weight;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::feedback::Feedback;
use crate::info::{ControllerInfo, Requirements, pair};
use crate::options;
use crate::options::OptionTable;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use seaway_units::{Bitrate, RateRange, Timestamp};
use sender::Connection;

/// The sending half of TFRC. It has a slow start of its own, so that of the limits `start` is not used.
#[derive(Debug, Clone)]
pub struct Tfrc {
    /// The open connections, then those that may be opened.
    all: Vec<Connection>,
    open: usize,
    limits: RateRange,
    decisions: DecisionLog,
}

impl Tfrc {
    const COUNT: OptionTable<u8> = options! { |count: &mut u8, value|
        "count" = "1", "1 to 64", "parallel connections, each a whole TFRC (S003)":
            *count = value.within(1..=64)?;
    };

    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[Config::OPTIONS.group, Self::COUNT.group],
        requirements: |options| Requirements {
            fates: options.is("loss", "sender"),
            frames: false,
            tags: options.is("profile", "ns2"),
            subflows: options.text("count").is_some_and(|count| count != "1"),
            ..Requirements::DEFAULT
        },
        ..ControllerInfo::new("tfrc", "RFC 5348, RFC 3448, RFC 4828; ns-2 2.35", |options, flow| {
            let count = options.read(&Self::COUNT, 1)?;
            let config = options.read(&Config::OPTIONS, Config::new(Profile::Rfc5348, flow))?;
            if config.ns2 {
                return Ok(pair(Ns2Tfrc::new(config, count), Ns2Receiver::new(config, count)));
            }
            Ok(pair(Self::new(config, count), TfrcReceiver::new(config, count)))
        })
    };

    /// `count` connections side by side, at least one.
    pub fn new(config: Config, count: u8) -> Self {
        Self::with_room(config, count, count)
    }

    /// `count` connections, and room for `most`.
    pub(crate) fn with_room(config: Config, count: u8, most: u8) -> Self {
        Self {
            all: vec![Connection::new(config); usize::from(most.max(count).max(1))],
            open: usize::from(count.max(1)),
            limits: RateRange::ALL,
            decisions: DecisionLog::new(),
        }
    }

    /// What the connections allow in all, before the limits.
    fn allowed(&self) -> Bitrate {
        Bitrate::from_bytes_per_second(self.connections().iter().map(Connection::send_rate).sum())
    }

    fn total(&self) -> Bitrate {
        self.limits.clamp(self.allowed())
    }

    fn connections(&self) -> &[Connection] {
        &self.all[..self.open]
    }

    fn connections_mut(&mut self) -> &mut [Connection] {
        &mut self.all[..self.open]
    }

    /// Opens or closes connections, those with the highest subflows, until there are `count`: at least one, and no
    /// more than there is room for.
    pub(crate) fn set_count(&mut self, count: u8) {
        let count = usize::from(count.max(1)).min(self.all.len());
        for closed in self.all.get_mut(self.open..count).unwrap_or_default() {
            closed.reopen();
        }
        self.open = count;
    }

    /// The weight of each connection from now on.
    pub(crate) fn set_weight(&mut self, weight: Weight) {
        for subflow in self.connections_mut() {
            subflow.set_weight(weight);
        }
    }

    /// What the equation gives the first connection, bytes a second: infinite before the first loss.
    pub(crate) fn equation_rate(&self) -> f64 {
        self.all[0].equation_rate
    }
}

impl LogsDecisions for Tfrc {
    fn decided_rate(&self) -> Bitrate {
        self.total()
    }
}

impl RateController for Tfrc {
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking { ecn: self.all[0].config.ecn, tag: None }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if let Some(subflow) = self.connections_mut().get_mut(usize::from(packet.subflow.0)) {
            subflow.on_sent(now, packet);
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.decide(now, |tfrc| {
            tfrc.connections_mut().get_mut(usize::from(feedback.subflow.0))?.on_feedback(now, feedback)
        });
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, max, .. } => self.decide(now, |tfrc| {
                tfrc.limits = RateRange::new(min, max);
                let allowed = Gauge::new("allowed_rate", tfrc.allowed().as_bps_f64(), "bit/s");
                Some(Reason::limits(allowed, max))
            }),
            LocalSignal::FeedbackInterval(interval) => {
                for subflow in &mut self.all {
                    subflow.feedback_interval(interval);
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for index in 0..self.open {
            self.decide(now, |tfrc| tfrc.all[index].handle_timeout(now));
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.connections().iter().filter_map(Connection::nofeedback_at).min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn subflows(&self) -> u8 {
        self.open as u8
    }

    fn allowance(&self, subflow: Subflow) -> Allowance {
        // What the encoders cannot use bounds the target, not the pace: a large frame leaves as fast as the network
        // was found to carry, which RFC 5348 section 8.2.1 bounds for a data-limited sender.
        let allowed = self.allowed();
        let pace =
            if self.limits.max == Bitrate::ZERO { Bitrate::ZERO } else { allowed.max(self.limits.min) };
        let factor = if allowed > Bitrate::ZERO { pace.as_bps_f64() / allowed.as_bps_f64() } else { 1.0 };
        self.connections()
            .get(usize::from(subflow.0))
            .map_or(Allowance::paced(Bitrate::ZERO), |subflow| subflow.allowance(factor))
    }

    fn target(&self) -> Target {
        Target::new(self.total())
    }

    fn phase(&self) -> &'static str {
        self.all[0].phase()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        let count = self.open as f64;
        let sum = |of: fn(&Connection) -> f64| self.connections().iter().map(of).sum::<f64>();
        visit(Gauge::new("subflows", count, ""));
        visit(Gauge::new("allowed_rate", sum(|subflow| subflow.rate) * 8.0, "bit/s"));
        visit(Gauge::new("loss_event_rate", sum(|subflow| subflow.loss_event_rate) / count, ""));
        if self.connections().iter().all(|subflow| subflow.rtt.get().is_some()) {
            visit(Gauge::new("rtt", sum(|subflow| subflow.rtt.get().unwrap_or(0.0)) / count, "s"));
            visit(Gauge::new("damping", sum(|subflow| subflow.rtt.damping()) / count, ""));
        }
        for (name, rate) in [
            ("equation_rate", sum(|subflow| subflow.equation_rate)),
            ("receive_rate", sum(|subflow| subflow.receive_rates.max())),
        ] {
            if rate.is_finite() {
                visit(Gauge::new(name, rate * 8.0, "bit/s"));
            }
        }
    }
}
