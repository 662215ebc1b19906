//! TFRC as ns-2 2.35 runs it, for comparison with figures that ns-2 made. It is no better protocol.
//!
//! Packets carry the round, the urgent flag and the coarse timeout in their tag.

mod connection;
mod history;
mod receiver;

pub use receiver::Ns2Receiver;

use super::config::Config;
use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::feedback::Feedback;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use connection::Connection;
use seaway_units::{Bitrate, RateRange, Timestamp};

/// The sending half, `count` connections side by side.
#[derive(Debug, Clone)]
pub struct Ns2Tfrc {
    subflows: Vec<Connection>,
    limits: RateRange,
    /// What the connections may send together. It changes with reports and timers, never with a packet.
    allowed: Bitrate,
    decisions: DecisionLog,
}

/// What a packet carries for the receiving half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Note {
    /// Reports so far, modulo 512.
    round: u16,
    /// A report is wanted at once.
    urgent: bool,
    /// `t_RTO` in tenths of a second, at most 6.3 s; 0 where there is none yet.
    timeout: u16,
}

impl Note {
    const ROUNDS: u16 = 512;

    const fn tag(self) -> u16 {
        (self.round % Self::ROUNDS) << 7 | (self.urgent as u16) << 6 | self.timeout
    }

    const fn parse(tag: u16) -> Self {
        Self { round: tag >> 7, urgent: tag & 0x40 != 0, timeout: tag & 0x3F }
    }
}

impl Ns2Tfrc {
    /// `count` connections, at least one.
    pub fn new(config: Config, count: u8) -> Self {
        let subflows = vec![Connection::new(config); usize::from(count.max(1))];
        Self { allowed: allowed(&subflows), subflows, limits: RateRange::ALL, decisions: DecisionLog::new() }
    }

    fn total(&self) -> Bitrate {
        self.limits.clamp(self.allowed)
    }

    /// Does something to the connections, and logs what became of the rate.
    fn update(&mut self, now: Timestamp, act: impl FnOnce(&mut Self) -> Option<Reason>) {
        self.decide(now, |tfrc| {
            let reason = act(tfrc);
            tfrc.allowed = allowed(&tfrc.subflows);
            reason
        });
    }
}

impl LogsDecisions for Ns2Tfrc {
    fn decided_rate(&self) -> Bitrate {
        self.total()
    }
}

impl RateController for Ns2Tfrc {
    fn marking(&mut self, _now: Timestamp, next: &SentPacket) -> Marking {
        let tag = self.subflows.get(usize::from(next.subflow.0)).map(Connection::tag);
        Marking { tag, ..Marking::default() }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if let Some(subflow) = self.subflows.get_mut(usize::from(packet.subflow.0)) {
            subflow.on_sent(now, packet);
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.update(now, |tfrc| {
            tfrc.subflows.get_mut(usize::from(feedback.subflow.0))?.on_feedback(now, feedback)
        });
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, max, .. } => self.update(now, |tfrc| {
                tfrc.limits = RateRange::new(min, max);
                let allowed = Gauge::new("allowed_rate", tfrc.allowed.as_bps_f64(), "bit/s");
                Some(Reason::limits(allowed, max))
            }),
            LocalSignal::FeedbackInterval(interval) => {
                for subflow in &mut self.subflows {
                    subflow.feedback_interval(interval);
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for index in 0..self.subflows.len() {
            self.update(now, |tfrc| tfrc.subflows[index].handle_timeout(now));
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.subflows.iter().filter_map(Connection::poll_timeout).min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn subflows(&self) -> u8 {
        self.subflows.len() as u8
    }

    fn allowance(&self, subflow: Subflow) -> Allowance {
        // As for the other profiles, what the encoders cannot use bounds the target, not the pace.
        let allowed = self.allowed;
        let pace =
            if self.limits.max == Bitrate::ZERO { Bitrate::ZERO } else { allowed.max(self.limits.min) };
        let is_scaled = pace != allowed && allowed > Bitrate::ZERO;
        let factor = if is_scaled { pace.as_bps_f64() / allowed.as_bps_f64() } else { 1.0 };
        let subflow = self.subflows.get(usize::from(subflow.0));
        subflow.map_or(Allowance::paced(Bitrate::ZERO), |subflow| Allowance::paced(subflow.pace(factor)))
    }

    fn target(&self) -> Target {
        Target::new(self.total())
    }

    fn phase(&self) -> &'static str {
        self.subflows[0].phase()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        let count = self.subflows.len() as f64;
        visit(Gauge::new("subflows", count, ""));
        visit(Gauge::new("allowed_rate", self.allowed.as_bps_f64(), "bit/s"));
        let loss: f64 = self.subflows.iter().map(Connection::loss_event_rate).sum();
        visit(Gauge::new("loss_event_rate", loss / count, ""));
        if let Some(rtt) = self.subflows[0].rtt() {
            visit(Gauge::new("rtt", rtt, "s"));
        }
    }
}

fn allowed(subflows: &[Connection]) -> Bitrate {
    Bitrate::from_bytes_per_second(subflows.iter().map(Connection::rate).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_fits_the_tag() {
        for (round, urgent, timeout) in [(0, false, 0), (511, true, 63), (300, false, 3)] {
            let note = Note { round, urgent, timeout };
            assert_eq!(Note::parse(note.tag()), note);
        }
    }
}
