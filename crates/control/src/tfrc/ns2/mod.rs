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
    use crate::feedback::{Fate, PacketReport, PeerReport};
    use crate::info::FlowConfig;
    use crate::tfrc::config::Profile;
    use seaway_units::{DataSize, Ecn, Probability, TimeDelta};

    #[test]
    fn note_fits_the_tag() {
        for (round, urgent, timeout) in [(0, false, 0), (511, true, 63), (300, false, 3)] {
            let note = Note { round, urgent, timeout };
            assert_eq!(Note::parse(note.tag()), note);
        }
    }

    #[test]
    fn rounds_are_counted_modulo_512() {
        assert_eq!(Note { round: 513, urgent: false, timeout: 0 }.tag(), 1 << 7);
        assert_eq!(Note { round: 0, urgent: true, timeout: 0 }.tag(), 1 << 6);
    }

    const PACKET: DataSize = DataSize::from_bytes(1000);

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    /// Two connections, each with a report of its first packet: 4 packets in 100 ms, 320 kbit/s.
    fn two() -> Ns2Tfrc {
        let flow = FlowConfig { packet: PACKET, ecn: Ecn::NotEct };
        let mut tfrc = Ns2Tfrc::new(Config::new(Profile::Rfc3448, flow), 2);
        assert_eq!(tfrc.poll_timeout(), None);
        assert_eq!(tfrc.target().rate, Bitrate::from_bps(4800), "300 B/s each");
        for subflow in [0, 1].map(Subflow) {
            send(&mut tfrc, 10 * i64::from(subflow.0), subflow);
            report(&mut tfrc, 100 + 10 * i64::from(subflow.0), subflow, 0.0);
        }
        tfrc
    }

    fn send(tfrc: &mut Ns2Tfrc, millis: i64, subflow: Subflow) {
        tfrc.on_sent(at(millis), &SentPacket { subflow, backlog: PACKET, ..SentPacket::new(0, PACKET) });
    }

    fn report(tfrc: &mut Ns2Tfrc, millis: i64, subflow: Subflow, loss: f64) {
        let fate = Fate::Received { at: None, ecn: Ecn::NotEct };
        let packets = [PacketReport { packet: SentPacket::new(0, PACKET), sent: at(millis - 100), fate }];
        let peer = PeerReport {
            loss_event_rate: Probability::new(loss),
            receive_rate: Some(Bitrate::from_kbps(800)),
            ..PeerReport::default()
        };
        let rtt = Some(TimeDelta::from_millis(100));
        tfrc.on_feedback(at(millis), &Feedback { subflow, rtt, packets: &packets, requested: &[], peer });
    }

    fn limits(tfrc: &mut Ns2Tfrc, min: u64, max: u64) {
        let (min, max) = (Bitrate::from_kbps(min), Bitrate::from_kbps(max));
        tfrc.on_signal(at(200), LocalSignal::Limits { min, start: min, max });
    }

    #[test]
    fn connections_add_up() {
        let mut tfrc = two();
        assert_eq!((tfrc.subflows(), tfrc.phase()), (2, "slow start"));
        assert_eq!(tfrc.target().rate, Bitrate::from_kbps(640));
        // Each one has its own timer, and packets carry what their own connection says.
        assert_eq!(tfrc.poll_timeout(), Some(at(100) + TimeDelta::from_secs_f64(2000.0 / 300.0)));
        let note = |tfrc: &mut Ns2Tfrc, subflow| {
            let next = SentPacket { subflow: Subflow(subflow), ..SentPacket::new(0, PACKET) };
            tfrc.marking(at(120), &next).tag.map(Note::parse)
        };
        // t_RTO = 4R without the option `profile=ns2`.
        let answered = Note { round: 1, urgent: false, timeout: 4 };
        assert_eq!([0, 1, 2].map(|subflow| note(&mut tfrc, subflow)), [Some(answered), Some(answered), None]);
        report(&mut tfrc, 200, Subflow(1), 0.01);
        assert_eq!(note(&mut tfrc, 1).map(|note| note.round), Some(2));
        assert_eq!(tfrc.phase(), "slow start", "that of the first");
        // The second is at the equation's rate for p = 0.01, R = 0.1 s and a timeout of 0.4 s: 112.332 packets a second.
        let mut gauges = Vec::new();
        tfrc.inspect(&mut |gauge| gauges.push((gauge.name, gauge.value)));
        for ((name, value), expected) in gauges.into_iter().zip([
            ("subflows", 2.0),
            ("allowed_rate", 320_000.0 + 898_658.0),
            ("loss_event_rate", 0.005),
            ("rtt", 0.1),
        ]) {
            assert!(name == expected.0 && (value / expected.1 - 1.0).abs() < 1e-5, "{name} {value}");
        }
        let log = tfrc.decision_log().expect("a log");
        let decisions: Vec<_> = std::iter::from_fn(|| log.pop())
            .map(|decision| (decision.cause, decision.before.as_bps()))
            .collect();
        assert_eq!(decisions, [("slow start", 4800), ("slow start", 322_400), ("loss event", 640_000)]);
    }

    /// Timers of all connections are looked at, and each halves its own rate.
    #[test]
    fn each_timer_halves_its_own_connection() {
        let mut tfrc = two();
        [0, 1].map(Subflow).into_iter().for_each(|subflow| send(&mut tfrc, 120, subflow));
        let first = tfrc.poll_timeout().expect("a timer");
        tfrc.handle_timeout(first);
        assert_eq!(tfrc.target().rate, Bitrate::from_kbps(480));
        tfrc.handle_timeout(first + TimeDelta::from_millis(10));
        assert_eq!(tfrc.target().rate, Bitrate::from_kbps(320));
    }

    /// The limits bound the target. Of the pace only the lower one counts, in the parts of the connections, and a limit of none.
    #[test]
    fn limits_bound_the_target_and_not_the_pace() {
        let mut tfrc = two();
        [0, 1].map(Subflow).into_iter().for_each(|subflow| send(&mut tfrc, 120, subflow));
        let pace =
            |tfrc: &Ns2Tfrc| [0, 1, 2].map(|subflow| tfrc.allowance(Subflow(subflow)).rate.as_bps() / 1000);
        assert_eq!(pace(&tfrc), [320, 320, 0]);
        limits(&mut tfrc, 0, 500);
        assert_eq!((tfrc.target().rate, pace(&tfrc)), (Bitrate::from_kbps(500), [320, 320, 0]));
        limits(&mut tfrc, 1280, 2000);
        assert_eq!((tfrc.target().rate, pace(&tfrc)), (Bitrate::from_kbps(1280), [640, 640, 0]));
        limits(&mut tfrc, 0, 0);
        assert_eq!((tfrc.target().rate, pace(&tfrc)), (Bitrate::ZERO, [0, 0, 0]));
        let log = tfrc.decision_log().expect("a log");
        let causes: Vec<_> = std::iter::from_fn(|| log.pop()).map(|decision| decision.cause).collect();
        assert_eq!(causes, ["slow start", "slow start", "limits set", "limits set", "limits set"]);
        // Rare reports put the timers of all connections off.
        tfrc.on_signal(at(200), LocalSignal::FeedbackInterval(TimeDelta::from_secs(20)));
        [0, 1].map(Subflow).into_iter().for_each(|subflow| report(&mut tfrc, 300, subflow, 0.0));
        assert_eq!(tfrc.poll_timeout(), Some(at(40_300)));
    }
}
