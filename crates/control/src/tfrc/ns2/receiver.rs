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
    use crate::tfrc::equation::Equation;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    fn config() -> Config {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };
        let equation = Equation::Full { clamp: true };
        Config { ns2: true, equation, ..Config::new(Profile::Rfc3448, flow) }
    }

    /// A packet of 1000 octets that left then, with a round-trip time of 100 ms and this note.
    fn packet(sequence: u64, millis: u64, note: Note) -> Arrival {
        Arrival {
            subflow: Subflow(0),
            sequence,
            size: DataSize::from_bytes(1000),
            ecn: Ecn::NotEct,
            tag: Some(note.tag()),
            sent: RemoteTimestamp::from_nanos(millis * 1_000_000),
            rtt: Some(TimeDelta::from_millis(100)),
            ends_frame: false,
        }
    }

    /// The sender's round is 1, its timeout 0.3 s, and the receiver need not hurry.
    const NOTE: Note = Note { round: 1, urgent: false, timeout: 3 };

    /// Packets that left 10 ms after each other and arrive after 50 ms, but for some; each report with the number that made it.
    fn receive(
        receiver: &mut SubflowReceiver,
        numbers: std::ops::Range<u64>,
        lost: &[u64],
        note: Note,
    ) -> Vec<(u64, PeerReport)> {
        let mut reports = Vec::new();
        for sequence in numbers.filter(|sequence| !lost.contains(sequence)) {
            let sent = 10 * sequence;
            receiver.on_arrival(at(sent as i64 + 50), &packet(sequence, sent, note));
            reports.extend(receiver.pending.take().map(|report| (sequence, report)));
        }
        reports
    }

    fn octets_a_second(report: &PeerReport) -> u64 {
        report.receive_rate.unwrap_or_default().as_bps() / 8
    }

    /// A report with the first packet, and one with the first that arrives a round-trip time or more after the last.
    #[test]
    fn a_report_comes_each_round_trip() {
        let mut receiver = SubflowReceiver::new(config());
        let reports = receive(&mut receiver, 0..31, &[], NOTE);
        let numbers: Vec<_> = reports.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(numbers, [0, 10, 20, 30]);
        // One packet in a round-trip time of 100 ms, then ten.
        let rates: Vec<_> = reports.iter().map(|(_, report)| octets_a_second(report)).collect();
        assert_eq!(rates, [10_000, 100_000, 100_000, 100_000]);
        for (_, report) in reports {
            assert_eq!(report.loss_event_rate, Some(Probability::ZERO));
            assert!(!report.new_loss_event);
        }
        // The backup timer is due 1.5 R after the last report, and has nothing to say where nothing arrived.
        assert_eq!(receiver.timer, Some(at(500)));
        receiver.handle_timeout(at(500));
        assert!(receiver.pending.is_none() && receiver.timer.is_none());
    }

    /// Two of ten packets arrive after a report: the backup timer reports them, over 150 ms.
    #[test]
    fn the_backup_timer_reports_what_arrived() {
        let mut receiver = SubflowReceiver::new(config());
        receive(&mut receiver, 0..3, &[], NOTE);
        assert_eq!(receiver.timer, Some(at(200)));
        receiver.handle_timeout(at(199));
        assert!(receiver.pending.is_none() && receiver.timer == Some(at(200)), "too early");
        receiver.handle_timeout(at(200));
        let report = receiver.pending.take().expect("a report");
        // 2/0.15 packets a second.
        assert_eq!(octets_a_second(&report), 13_333);
        assert_eq!(receiver.timer, Some(at(350)));
        // The next packet comes after the timer has rested, and starts it again.
        receiver.handle_timeout(at(350));
        assert!(receiver.pending.is_none() && receiver.timer.is_none());
        receiver.reported_at = Some(at(360));
        receiver.on_arrival(at(370), &packet(3, 320, NOTE));
        assert!(receiver.pending.is_none());
        assert_eq!(receiver.timer, Some(at(520)));
    }

    /// Until the sender has a round-trip time each packet asks for a report at once, and no timer runs.
    #[test]
    fn urgent_packets_are_reported_at_once() {
        let mut receiver = SubflowReceiver::new(config());
        let urgent = Note { round: 0, urgent: true, timeout: 0 };
        for sequence in 0..3 {
            let millis = 1000 * sequence;
            receiver
                .on_arrival(at(millis as i64), &Arrival { rtt: None, ..packet(sequence, millis, urgent) });
            // Nothing is known of the rate: one packet a second.
            let report = receiver.pending.take().expect("a report");
            assert_eq!(octets_a_second(&report), 1000);
            assert_eq!(receiver.timer, None);
        }
        receiver.on_arrival(at(3000), &Arrival { rtt: None, ..packet(3, 3000, NOTE) });
        assert!(receiver.pending.is_none(), "no hurry, and no round-trip time");
    }

    /// What arrived before the sender knew its round-trip time counts once it does: four packets in 100 ms.
    #[test]
    fn arrivals_before_the_first_round_trip_time_count() {
        let mut receiver = SubflowReceiver::new(config());
        for sequence in 0..3 {
            let millis = 10 * sequence;
            receiver.on_arrival(at(millis as i64), &Arrival { rtt: None, ..packet(sequence, millis, NOTE) });
        }
        assert!(receiver.pending.is_none());
        receiver.on_arrival(at(30), &packet(3, 30, NOTE));
        assert_eq!(octets_a_second(&receiver.pending.take().expect("a report")), 40_000);
    }

    /// `docs/models/ns2-profile.md`, "Receiver": 100 packets a second at R = 0.1 s and a timeout of 0.3 s. From 1/2 by halving
    /// steps: 0.25, 0.125, 0.0625, 0.03125, 0.015625 (88.6 packets a second), 0.0078125 (131.6), 3/256 (104.8, within 5 %).
    /// The interval is 256/3 = 85.3, rounded down.
    #[test]
    fn the_first_gap_inverts_the_equation() {
        let mut receiver = SubflowReceiver::new(config());
        let reports = receive(&mut receiver, 0..17, &[15], NOTE);
        let (sequence, report) = reports.last().expect("a report");
        assert_eq!(*sequence, 16, "at once");
        assert_eq!(report.loss_event_rate, Some(Probability::clamped(3.0 / 256.0)));
        assert!(report.new_loss_event);
        // Ten of the last eleven slots, 100 ms.
        assert_eq!(octets_a_second(report), 100_000);
        // Numbers 11 to 16 passed since the last report.
        let mut expected = History::new();
        expected.begin(85.0, 6.0);
        assert_eq!(receiver.history, expected);
        assert_eq!((receiver.event_round, receiver.event_at), (1, 0.16));
        // The next report is due a round-trip time later, and has 1/85 and no new event.
        let reports = receive(&mut receiver, 17..27, &[], NOTE);
        let (sequence, report) = reports.last().expect("a report");
        // The open interval counts: max(85, (85 + 16)/2).
        assert_eq!((*sequence, report.loss_event_rate), (26, Some(Probability::clamped(1.0 / 85.0))));
        assert!(!report.new_loss_event);
    }

    /// The timeout is the sender's, or else 4R; R is a second where none is known.
    #[test]
    fn the_inverse_goes_by_the_senders_timeout() {
        let inverse = |rate, rtt, timeout| {
            SubflowReceiver { rtt, timeout, ..SubflowReceiver::new(config()) }.inverse(rate)
        };
        // 3/16 gives 7.67 and 5/32 10.76, 11/64 9.07 and 21/128 9.88.
        assert_eq!(inverse(10.0, 0.1, 0.3), 21.0 / 128.0);
        assert_eq!(inverse(10.0, 0.1, 0.0), inverse(10.0, 0.1, 0.4));
        assert_ne!(inverse(10.0, 0.1, 0.0), inverse(10.0, 0.1, 0.3));
        // 9/64 gives 1.065, 19/128 0.970.
        assert_eq!(inverse(1.0, 0.0, 0.0), 19.0 / 128.0);
        // What no loss event rate gives is at the nearer end.
        assert_eq!(inverse(1e12, 0.1, 0.3), 1e-8);
        assert!(inverse(1e-9, 0.1, 0.3) > 0.999_999);
    }

    /// After the first event another one needs a packet that left more than R later, and a later round of the sender.
    #[test]
    fn an_event_needs_a_round_trip_and_a_round() {
        let later = Note { round: 2, ..NOTE };
        let mut receiver = SubflowReceiver::new(config());
        receive(&mut receiver, 0..17, &[15], NOTE);
        // Number 16, which showed the gap, left at 160 ms, and 25 less than R later.
        let reports = receive(&mut receiver, 17..28, &[18, 25], later);
        assert!(reports.iter().all(|(_, report)| !report.new_loss_event), "{reports:?}");
        assert_eq!(receiver.history.rate(), 1.0 / 85.0);
        let mut same_round = receiver.clone();
        same_round.event_round = 2;
        let reports = receive(&mut same_round, 28..31, &[29], later);
        assert!(reports.is_empty(), "{reports:?}");
        let reports = receive(&mut receiver, 28..31, &[29], later);
        assert_eq!(
            reports.iter().map(|(sequence, report)| (*sequence, report.new_loss_event)).collect::<Vec<_>>(),
            [(30, true)]
        );
        // 17 to 29, of which the last began the event, and the 6 from before.
        let mut expected = History::new();
        expected.begin(85.0, 6.0);
        expected.advance(12);
        expected.event();
        expected.advance(1);
        assert_eq!(receiver.history, expected);
        assert_eq!(receiver.event_round, 2);
        assert!((receiver.event_at - 0.29).abs() < 1e-9, "{}", receiver.event_at);
    }

    /// Which of the missing numbers begins the event: nominal times of departure are spread evenly between the neighbours'.
    #[test]
    fn the_first_number_beyond_a_round_trip_begins_the_event() {
        let walk = |rtt, event_at, missing| {
            let mut receiver = SubflowReceiver::new(config());
            (receiver.rtt, receiver.event_at, receiver.round) = (rtt, event_at, 1);
            receiver.history.begin(100.0, 20.0);
            // An eighth of a second between packets.
            let begun = receiver.walk(0.5, 0.5 + 0.125 * (missing + 1) as f64, missing);
            (begun, receiver.history, receiver.event_at)
        };
        let history = |before: u64, after: Option<u64>| {
            let mut history = History::new();
            history.begin(100.0, 20.0);
            history.advance(before);
            if let Some(after) = after {
                history.event();
                history.advance(after);
            }
            history
        };
        // Numbers at 0.625, 0.75 and 0.875 s. More than 0.5 s after 0.25 s is the last one, more than 0.4375 s the second.
        assert_eq!(walk(0.5, 0.25, 3), (true, history(2, Some(1)), 0.875));
        assert_eq!(walk(0.4375, 0.25, 3), (true, history(1, Some(2)), 0.75));
        // An event long ago: the first one.
        assert_eq!(walk(0.125, 0.0, 3), (true, history(0, Some(3)), 0.625));
        // None of them.
        assert_eq!(walk(0.625, 0.25, 3), (false, history(4, None), 0.25));
        assert_eq!(walk(0.125, 0.25, 0), (false, history(1, None), 0.25));
        // Packets that left at the same instant: none lies beyond.
        let mut receiver = SubflowReceiver::new(config());
        (receiver.rtt, receiver.event_at, receiver.round) = (0.5, 0.25, 1);
        assert!(!receiver.walk(0.5, 0.5, 3));
    }

    /// Packets that come late or twice are counted as received and change no interval; a forged number is ignored.
    #[test]
    fn late_and_forged_numbers_change_no_interval() {
        let mut receiver = SubflowReceiver::new(config());
        receive(&mut receiver, 0..5, &[], NOTE);
        let before = (receiver.history, receiver.highest);
        receiver.on_arrival(at(95), &packet(4, 40, Note { round: 9, ..NOTE }));
        receiver.on_arrival(at(95), &packet(2, 20, Note { round: 9, ..NOTE }));
        assert_eq!((receiver.history, receiver.highest, receiver.round), (before.0, before.1, 1));
        assert_eq!((receiver.received, receiver.passed), (6, 4));
        receiver.on_arrival(at(95), &packet((1 << 62) + 1, 20, NOTE));
        assert_eq!((receiver.highest, receiver.received), (before.1, 6));
        receiver.on_arrival(at(95), &packet(1 << 62, 20, NOTE));
        assert_eq!(
            receiver.highest.map(|(sequence, _)| sequence),
            Some(1 << 62),
            "the highest that is taken"
        );
    }

    /// The round is unwrapped: forward by less than half of its 512 values, else it is an old one.
    #[test]
    fn rounds_wrap() {
        let mut receiver = SubflowReceiver::new(config());
        let mut round = |sequence, round| {
            receiver.on_arrival(at(0), &packet(sequence, 0, Note { round, ..NOTE }));
            receiver.round
        };
        assert_eq!(round(0, 255), 255);
        assert_eq!(round(1, 510), 510);
        assert_eq!(round(2, 3), 515);
        assert_eq!(round(3, 2), 515, "an old one");
        // 515 + 256 = 771 has 259.
        assert_eq!(round(4, 259), 515, "half of them");
        assert_eq!(round(5, 258), 770);
    }

    /// A stated round-trip time is a minute at most; without one the last stands. Arrivals of two of them are remembered.
    #[test]
    fn what_is_remembered_is_bounded() {
        let mut receiver = SubflowReceiver::new(config());
        receiver.on_arrival(at(0), &Arrival { rtt: Some(TimeDelta::from_secs(61)), ..packet(0, 0, NOTE) });
        assert_eq!(receiver.rtt, 60.0);
        receiver.on_arrival(at(0), &Arrival { rtt: Some(TimeDelta::from_secs(-1)), ..packet(1, 0, NOTE) });
        assert_eq!((receiver.rtt, receiver.timer), (0.0, Some(at(90_000))));
        receiver.on_arrival(at(0), &packet(2, 0, NOTE));
        receiver.on_arrival(at(0), &Arrival { rtt: None, ..packet(3, 0, NOTE) });
        assert_eq!((receiver.rtt, receiver.timeout), (0.1, 0.3));
        receiver.on_arrival(at(200), &packet(4, 200, NOTE));
        assert_eq!(receiver.recent.len(), 5, "exactly two round-trip times");
        receiver.on_arrival(at(201), &packet(5, 201, NOTE));
        assert_eq!(receiver.recent.len(), 2);
        receiver.recent.extend(std::iter::repeat_n(at(201), MOST_RECENT - 2));
        receiver.on_arrival(at(201), &packet(6, 201, NOTE));
        assert_eq!(receiver.recent.len(), MOST_RECENT);
    }

    /// Each connection has a receiver of its own; the timer is the earliest of theirs, and reports are taken one by one.
    #[test]
    fn connections_are_served_in_turn() {
        let mut receiver = Ns2Receiver::new(config(), 2);
        assert_eq!(receiver.poll_timeout(), None);
        assert!(!receiver.has_report(at(0)));
        for (millis, subflow) in [(10, 1), (20, 0), (30, 2)] {
            let arrival = Arrival { subflow: Subflow(subflow), ..packet(0, 0, NOTE) };
            receiver.on_arrival(at(millis), &arrival);
        }
        assert_eq!(receiver.poll_timeout(), Some(at(160)), "1.5 R after the first");
        assert!(receiver.has_report(at(30)));
        let mut polled = || receiver.poll_report(at(30)).map(|(subflow, _)| subflow);
        assert_eq!([polled(), polled(), polled()], [Some(Subflow(0)), Some(Subflow(1)), None]);
        assert!(!receiver.has_report(at(30)));
        for millis in [40, 50] {
            receiver
                .on_arrival(at(millis), &Arrival { subflow: Subflow(1), ..packet(millis as u64, 0, NOTE) });
        }
        while receiver.poll_report(at(50)).is_some() {}
        receiver.on_arrival(at(60), &Arrival { subflow: Subflow(1), ..packet(51, 0, NOTE) });
        receiver.handle_timeout(at(300));
        assert_eq!(receiver.poll_report(at(300)).map(|(subflow, _)| subflow), Some(Subflow(1)));
        let mut alone = Ns2Receiver::new(config(), 1);
        alone.on_arrival(at(10), &packet(0, 0, NOTE));
        assert_eq!(alone.poll_timeout(), Some(at(160)));
    }

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
