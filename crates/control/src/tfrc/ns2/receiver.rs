//! The receiving half of ns-2's TFRC.

use super::Note;
use super::history::History;
use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use crate::tfrc::config::Config;
use seaway_units::{Bitrate, Probability, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// One receiver a connection.
#[derive(Debug, Clone)]
pub struct Ns2Receiver {
    subflows: Vec<SubflowReceiver>,
}

impl Ns2Receiver {
    /// For `subflows` connections; what arrives by another is ignored.
    pub fn new(config: Config, subflows: u8) -> Self {
        Self { subflows: vec![SubflowReceiver::new(config); usize::from(subflows)] }
    }
}

impl FeedbackSource for Ns2Receiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        if let Some(subflow) = self.subflows.get_mut(usize::from(arrival.subflow.0)) {
            subflow.on_arrival(now, arrival);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for subflow in &mut self.subflows {
            subflow.handle_timeout(now);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Timestamp> {
        match &self.subflows[..] {
            [subflow] => subflow.timer,
            subflows => subflows.iter().filter_map(|subflow| subflow.timer).min(),
        }
    }

    fn has_report(&self, _now: Timestamp) -> bool {
        self.subflows.iter().any(|subflow| subflow.pending.is_some())
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let due = |(index, subflow): (usize, &mut SubflowReceiver)| {
            Some((Subflow(index as u8), subflow.pending.take()?))
        };
        self.subflows.iter_mut().enumerate().find_map(due)
    }
}

#[derive(Debug, Clone)]
struct SubflowReceiver {
    config: Config,
    history: History,
    /// The newest packet: its number and when it left, seconds on the sender's clock.
    highest: Option<(u64, f64)>,
    rtt: f64,
    timeout: f64,
    /// The sender's rounds, unwrapped; and the round of the last loss event.
    round: u64,
    event_round: u64,
    /// When the packet that began the last event left.
    event_at: f64,
    /// Arrivals of the last two round-trip times: the estimate may grow before they are counted.
    recent: VecDeque<Timestamp>,
    /// Since the last report: packets received, numbers passed.
    received: u64,
    passed: u64,
    bytes: f64,
    packets: u64,
    reported_at: Option<Timestamp>,
    timer: Option<Timestamp>,
    new_event: bool,
    pending: Option<PeerReport>,
}

/// Arrivals that are remembered for the rate of a report within a round-trip time of the last, at most (`hsz`). With fewer
/// a fast and long path would report less than arrives, and the sender would follow.
const MOST_RECENT: usize = 100_000;
/// Losses of one gap that may begin events: more than the history holds.
const MOST_EVENTS: u64 = 16;
/// A higher number is forged.
const HIGHEST_SEQUENCE: u64 = 1 << 62;

impl SubflowReceiver {
    fn new(config: Config) -> Self {
        Self {
            config,
            history: History::new(),
            highest: None,
            rtt: 0.0,
            timeout: 0.0,
            round: 0,
            event_round: 0,
            event_at: f64::NEG_INFINITY,
            recent: VecDeque::with_capacity(1024),
            received: 0,
            passed: 0,
            bytes: 0.0,
            packets: 0,
            reported_at: None,
            timer: None,
            new_event: false,
            pending: None,
        }
    }

    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        let sequence = arrival.sequence;
        if sequence > HIGHEST_SEQUENCE {
            return;
        }
        self.received += 1;
        self.packets += 1;
        self.bytes += arrival.size.as_bytes_f64();
        self.remember(now);
        let sent = arrival.sent.as_nanos() as f64 / 1e9;
        let (newest, newest_sent) = self.highest.unwrap_or((sequence.wrapping_sub(1), sent));
        if self.highest.is_some() && sequence <= newest {
            // A gap that was judged stays.
            return;
        }
        let note = Note::parse(arrival.tag.unwrap_or(0));
        self.rtt = arrival.rtt.map_or(self.rtt, |rtt| rtt.as_secs_f64().clamp(0.0, 60.0));
        self.timeout = f64::from(note.timeout) / 10.0;
        let ahead = note.round.wrapping_sub((self.round % u64::from(Note::ROUNDS)) as u16) % Note::ROUNDS;
        if ahead < Note::ROUNDS / 2 {
            self.round += u64::from(ahead);
        }
        self.highest = Some((sequence, sent));
        let missing = sequence.wrapping_sub(newest).wrapping_sub(1);
        let first_gap = missing > 0 && self.history.is_empty();
        let mut event = false;
        let mut rate = None;
        if first_gap {
            let p = self.inverse(self.receive_rate(now));
            self.passed = self.passed.saturating_add(missing + 1);
            self.history.begin((1.0 / p).floor(), self.passed as f64);
            (self.event_at, self.event_round) = (sent, self.round);
            rate = Some(p);
        } else {
            event = self.walk(newest_sent, sent, missing);
            self.passed = self.passed.saturating_add(missing + 1);
        }
        self.new_event |= event || first_gap;
        let since = self.reported_at.map(|at| now.since(at).as_secs_f64());
        let round_trip = self.rtt > 0.0 && since.is_none_or(|since| since >= self.rtt - 1e-9);
        if event || note.urgent || first_gap || round_trip {
            self.report(now, rate);
        } else if self.timer.is_none() {
            self.restart(now);
        }
    }

    fn remember(&mut self, now: Timestamp) {
        let kept = if self.rtt > 0.0 { 2.0 * self.rtt } else { f64::INFINITY };
        let is_old = |at: &Timestamp| now.since(*at).as_secs_f64() > kept;
        while self.recent.len() == MOST_RECENT || self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
    }

    /// Goes through `missing` numbers, then the one that arrived; whether an event began.
    fn walk(&mut self, before: f64, after: f64, missing: u64) -> bool {
        if missing == 0 {
            self.history.advance(1);
            return false;
        }
        let step = (after - before) / (missing as f64 + 1.0);
        let (mut index, mut begun) = (0, 0);
        while index < missing && begun < MOST_EVENTS && self.round > self.event_round {
            // The first number whose nominal time of departure is more than a round-trip time after the event's.
            let skip = ((self.event_at + self.rtt - before) / step).floor().max(0.0);
            let first = if skip.is_finite() { (skip as u64).max(index) } else { missing };
            if first >= missing {
                break;
            }
            self.history.advance(first - index);
            self.history.event();
            self.event_at = before + step * (first as f64 + 1.0);
            self.event_round = self.round;
            index = first + 1;
            begun += 1;
        }
        self.history.advance(missing - index + 1);
        begun > 0
    }

    /// The loss event rate at which the equation gives about `rate` packets a second: ns-2's coarse bisection.
    fn inverse(&self, rate: f64) -> f64 {
        let (mut p, mut step) = (0.5, 0.25);
        let rtt = if self.rtt > 0.0 { self.rtt } else { 1.0 };
        let t_rto = if self.timeout > 0.0 { self.timeout } else { 4.0 * rtt };
        for _ in 0..30 {
            let given = self.config.equation.packet_rate(p, rtt, t_rto);
            if (given - rate).abs() <= 0.05 * rate {
                break;
            }
            p += if given > rate { step } else { -step };
            step /= 2.0;
        }
        p.clamp(1e-8, 1.0)
    }

    /// Packets a second.
    fn receive_rate(&self, now: Timestamp) -> f64 {
        let since = self.reported_at.map_or(0.0, |at| now.since(at).as_secs_f64());
        if self.rtt > 0.0 && since >= self.rtt - 1e-9 && self.received > 0 {
            return self.received as f64 / since;
        }
        let newest = self.recent.back().copied().unwrap_or(now);
        let within = self.recent.iter().rev().take_while(|at| newest.since(**at).as_secs_f64() <= self.rtt);
        match within.count() {
            count if self.rtt > 0.0 && count > 0 => count as f64 / self.rtt,
            _ => 1.0,
        }
    }

    /// Reports, with the loss event rate `p` where it was not found by the history.
    fn report(&mut self, now: Timestamp, p: Option<f64>) {
        let rate = self.receive_rate(now) * self.bytes / self.packets.max(1) as f64;
        let p = p.unwrap_or_else(|| self.history.rate());
        self.pending = Some(PeerReport {
            loss_event_rate: Some(Probability::clamped(p)),
            new_loss_event: self.new_event,
            receive_rate: Some(Bitrate::from_bytes_per_second(rate)),
            ..PeerReport::default()
        });
        self.reported_at = Some(now);
        (self.received, self.passed, self.new_event) = (0, 0, false);
        self.restart(now);
    }

    /// The backup timer.
    fn restart(&mut self, now: Timestamp) {
        let wait = TimeDelta::from_secs_f64(1.5 * self.rtt);
        self.timer = (wait > TimeDelta::ZERO).then(|| now + wait.max(TimeDelta::from_millis(1)));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        if self.received > 0 {
            self.report(now, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::tfrc::config::Profile;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    /// 12 500 packets a second, 2500 in a round-trip time of 200 ms: a loss between two reports makes a report of that
    /// rate, not of a part of it (ns-2's `est_thput` counts all arrivals of the last round-trip time).
    #[test]
    fn a_report_between_two_counts_the_whole_round_trip() {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };
        let mut receiver = SubflowReceiver::new(Config::new(Profile::Rfc3448, flow));
        let mut reports = Vec::new();
        for sequence in (0..20_000).filter(|&sequence| sequence != 13_700) {
            let arrival = Arrival {
                subflow: Subflow(0),
                sequence,
                size: DataSize::from_bytes(1000),
                ecn: Ecn::NotEct,
                tag: Some(Note { round: 7, urgent: false, timeout: 3 }.tag()),
                sent: RemoteTimestamp::from_nanos(sequence * 80_000),
                rtt: Some(TimeDelta::from_millis(200)),
                ends_frame: false,
            };
            receiver.on_arrival(Timestamp::from_nanos(100_000_000 + sequence * 80_000), &arrival);
            reports.extend(receiver.pending.take().map(|report| (sequence, report)));
        }
        let (_, at_loss) = reports.iter().find(|(sequence, _)| *sequence == 13_701).unwrap();
        let rate = at_loss.receive_rate.unwrap().as_bps_f64();
        assert!((rate / 100e6 - 1.0).abs() < 1e-3, "{rate}");
        assert!(receiver.recent.len() <= 5002, "{}", receiver.recent.len());
    }
}
