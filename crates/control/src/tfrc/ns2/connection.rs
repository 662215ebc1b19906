//! One sending connection of ns-2's TFRC.

use super::Note;
use crate::decision::{Gauge, Reason};
use crate::estimators::{DampedRtt, plausible_rtt};
use crate::feedback::{Fate, Feedback};
use crate::packet::SentPacket;
use crate::tfrc::config::Config;
use crate::tfrc::equation::TimeoutEstimator;
use seaway_units::{Bitrate, Probability, TimeDelta, Timestamp};

/// Bytes a second and seconds inside.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    config: Config,
    segment: f64,
    /// `X`, and the rate that slow start spreads its step from, by `step` a packet.
    rate: f64,
    old_rate: f64,
    step: f64,
    avoiding: bool,
    rtt: DampedRtt,
    timeout: TimeoutEstimator,
    round: u32,
    changed_at: Timestamp,
    /// Twice the reported receive rate; 0 for none.
    cap: f64,
    loss_event_rate: f64,
    sent_at: Option<Timestamp>,
    /// The rate the present pause was armed with: a new rate does not change it.
    armed: f64,
    /// The next packet leaves at once.
    at_once: bool,
    dry: bool,
    /// When the source last had nothing to send at its slot.
    limited_until: Option<Timestamp>,
    busy: bool,
    urgent: bool,
    /// The note on each packet, as it stands since the last report or timer.
    tag: u16,
    newest: Option<Timestamp>,
    nofeedback_at: Option<Timestamp>,
    feedback_interval: TimeDelta,
}

/// First rate whatever the packet, bytes a second (`InitRate_`).
const FIRST_RATE: f64 = 300.0;
/// No rate above this (`maxrate`), bytes a second.
const HIGHEST_RATE: f64 = 25e6;
/// Weight of the old round-trip time and of its root (`df_`).
const KEEP: f64 = 0.95;
/// Tolerance of ns-2's comparisons of times, seconds.
const TIE: f64 = 1e-9;
/// ns-2 may sink without bound; this is as low as a rate in bit/s can be.
const LEAST_RATE: f64 = 0.125;

impl Connection {
    pub(super) fn new(config: Config) -> Self {
        let mut connection = Self {
            segment: config.packet.as_bytes_f64().max(1.0),
            rate: FIRST_RATE,
            old_rate: 0.0,
            step: 0.0,
            avoiding: false,
            rtt: DampedRtt::new(KEEP, KEEP),
            timeout: config.timeout_estimator(),
            round: 0,
            changed_at: Timestamp::ZERO,
            cap: 0.0,
            loss_event_rate: 0.0,
            sent_at: None,
            armed: FIRST_RATE,
            at_once: false,
            dry: false,
            limited_until: None,
            busy: false,
            urgent: true,
            tag: 0,
            newest: None,
            nofeedback_at: None,
            feedback_interval: TimeDelta::ZERO,
            config,
        };
        connection.tag = connection.note().tag();
        connection
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    pub(super) const fn rtt(&self) -> Option<f64> {
        self.rtt.get()
    }

    pub(super) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.nofeedback_at
    }

    pub(super) const fn phase(&self) -> &'static str {
        match (self.rtt.get(), self.avoiding) {
            (None, _) => "starting",
            (_, false) => "slow start",
            (_, true) => "congestion avoidance",
        }
    }

    /// What is written on each packet.
    pub(super) const fn tag(&self) -> u16 {
        self.tag
    }

    fn note(&self) -> Note {
        let timeout = self.rtt.get().map_or(0.0, |rtt| (self.timeout.get(rtt) * 10.0).round());
        let round = (self.round % u32::from(Note::ROUNDS)) as u16;
        Note { round, urgent: self.urgent, timeout: timeout.clamp(0.0, 63.0) as u16 }
    }

    /// The rate to pace with, scaled by `factor`.
    pub(super) fn pace(&self, factor: f64) -> Bitrate {
        if self.at_once && factor > 0.0 {
            Bitrate::MAX
        } else {
            Bitrate::from_bytes_per_second(self.armed * factor)
        }
    }

    pub(super) fn feedback_interval(&mut self, interval: TimeDelta) {
        self.feedback_interval = interval.clamp(TimeDelta::ZERO, TimeDelta::from_secs(60));
    }

    /// The send timer: a packet left, and the next pause is armed.
    pub(super) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if self.dry && self.slot().is_some_and(|slot| now > slot) {
            self.limited_until = Some(now);
        }
        self.dry = packet.backlog.is_zero();
        self.sent_at = Some(now);
        self.at_once = false;
        self.busy = true;
        if !self.avoiding && self.round > 2 && self.old_rate < self.rate {
            self.old_rate += self.step;
            self.armed = self.old_rate;
        } else {
            self.armed = self.rate * self.rtt.damping();
        }
        self.armed = self.armed.max(LEAST_RATE);
        if self.nofeedback_at.is_none() {
            self.restart(now, self.rate);
        }
    }

    fn slot(&self) -> Option<Timestamp> {
        self.sent_at.map(|at| at + TimeDelta::from_secs_f64(self.segment / self.armed))
    }

    fn is_data_limited(&self, now: Timestamp) -> bool {
        self.dry && self.slot().is_some_and(|slot| now > slot)
    }

    /// `max(2R, 2s/X)`, by the rate before this report's change.
    fn restart(&mut self, now: Timestamp, rate: f64) {
        let seconds = (2.0 * self.rtt.get().unwrap_or(0.0)).max(2.0 * self.segment / rate.max(LEAST_RATE));
        self.nofeedback_at =
            Some(now + TimeDelta::from_secs_f64(seconds.max(0.01)).max(self.feedback_interval * 2));
        self.busy = false;
    }

    pub(super) fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> Option<Reason> {
        // Arrivals between two reports, or in the next datagram of one, are no report.
        let receive_rate = feedback.peer.receive_rate?.as_bytes_per_second();
        let received = feedback.packets.iter().filter(|report| matches!(report.fate, Fate::Received { .. }));
        let newest = received.map(|report| report.sent.min(now)).max();
        if newest.is_some() && newest < self.newest {
            // Overtaken by a later one.
            return None;
        }
        self.newest = newest.or(self.newest);
        let sample = feedback.rtt.and_then(plausible_rtt)?;
        self.round += 1;
        self.urgent = false;
        self.cap = if self.round > 1 && receive_rate > 0.0 { 2.0 * receive_rate } else { 0.0 };
        self.timeout.update(sample);
        let rtt = self.rtt.update(sample);
        let former_loss = self.loss_event_rate;
        self.loss_event_rate = feedback.peer.loss_event_rate.map_or(former_loss, Probability::get);
        self.tag = self.note().tag();
        let equation = self.equation_rate(rtt);
        self.restart(now, self.rate);
        if !self.avoiding && self.loss_event_rate <= 0.0 {
            self.slow(now, rtt);
            self.at_once = true;
            let limit = Gauge::new("receive_limit", self.cap * 8.0, "bit/s");
            return Some(Reason::new("slow start", limit, 0.0));
        }
        if !self.avoiding {
            // Not limited by the receive rate in this report.
            self.avoiding = true;
            (self.rate, self.old_rate) = (equation, equation);
        } else if equation > self.rate {
            self.increase(now, rtt, equation);
        } else {
            self.rate = equation.min(self.cap.max(self.segment / rtt));
            self.changed_at = now;
        }
        self.rate = self.rate.max(LEAST_RATE);
        let rule = if self.loss_event_rate > former_loss { "loss event" } else { "equation" };
        let signal = Gauge::new("loss_event_rate", self.loss_event_rate, "");
        Some(Reason::new(rule, signal, former_loss))
    }

    fn equation_rate(&self, rtt: f64) -> f64 {
        if self.loss_event_rate <= 0.0 {
            return HIGHEST_RATE;
        }
        let packets = self.config.equation.packet_rate(self.loss_event_rate, rtt, self.timeout.get(rtt));
        (self.segment * packets).min(HIGHEST_RATE)
    }

    /// `n·s/R`: 4, 3 or 2 packets by their size.
    fn initial_rate(&self, rtt: f64) -> f64 {
        let packets = match self.segment {
            s if s <= 1095.0 => 4.0,
            s if s < 2190.0 => 3.0,
            _ => 2.0,
        };
        packets * self.segment / rtt
    }

    fn recently_limited(&self, now: Timestamp, rtt: f64) -> bool {
        let since = self.limited_until.map(|at| now.since(at).as_secs_f64());
        self.is_data_limited(now) || since.is_some_and(|since| since < 1.5 * rtt)
    }

    fn slow(&mut self, now: Timestamp, rtt: f64) {
        let initial = self.initial_rate(rtt);
        let open =
            self.round <= 2 || (self.cap > 0.0 && self.recently_limited(now, rtt) && self.cap < initial);
        let since = now.since(self.changed_at).as_secs_f64();
        if open {
            self.ramp(now, rtt, self.rate.max(initial));
        } else if self.cap <= 0.0 {
            self.old_rate = self.rate;
            (self.rate, self.step, self.changed_at) = (self.segment / rtt, 0.0, now);
        } else if self.rate < self.cap && since > rtt + TIE {
            self.ramp(now, rtt, (2.0 * self.rate).min(self.cap).max(self.segment / rtt));
        } else if self.rate > self.cap {
            (self.rate, self.old_rate) = (self.cap / 2.0, self.cap / 2.0);
            (self.step, self.changed_at) = (0.0, now);
        }
        self.rate = self.rate.clamp(LEAST_RATE, HIGHEST_RATE);
    }

    /// Raises the rate, the step spread over the packets of a round-trip time.
    fn ramp(&mut self, now: Timestamp, rtt: f64, rate: f64) {
        self.old_rate = self.rate;
        self.rate = rate;
        self.step = (self.rate - self.old_rate) / (self.rate * rtt / self.segment);
        self.changed_at = now;
    }

    /// At most a packet a round-trip time for each that passed, two at most.
    fn increase(&mut self, now: Timestamp, rtt: f64, equation: f64) {
        let passed = now.since(self.changed_at).as_secs_f64() / rtt;
        let mut limit = self.cap.max(self.segment / rtt);
        if self.recently_limited(now, rtt) {
            limit = self.cap.max(self.initial_rate(rtt));
        }
        self.rate = (self.rate + self.segment / rtt * passed.min(2.0)).min(limit).min(equation);
        self.changed_at = now;
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp) -> Option<Reason> {
        self.nofeedback_at.filter(|due| *due <= now)?;
        let before = self.rate;
        let initial = self.rtt.get().map_or(0.0, |rtt| self.initial_rate(rtt));
        let idle = !self.busy || self.is_data_limited(now);
        self.rate = match idle {
            false => self.rate / 2.0,
            true if self.rate > 2.0 * initial => self.rate / 2.0,
            true => self.rate.min(initial.max(LEAST_RATE)).max(self.rate.min(initial)),
        }
        .max(LEAST_RATE);
        self.urgent = true;
        self.round += 1;
        self.tag = self.note().tag();
        if !self.busy {
            // ns-2 goes on waking; nothing would come of it before the next packet.
            self.nofeedback_at = None;
        } else {
            self.restart(now, self.rate);
            self.at_once = !idle;
        }
        let waited = Gauge::new("rounds", f64::from(self.round), "");
        (self.rate != before).then_some(Reason::new("nofeedback timer", waited, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{PacketReport, PeerReport};
    use crate::info::FlowConfig;
    use crate::tfrc::config::Profile;
    use crate::tfrc::equation::{Equation, RetransmitTimeout};
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    /// As the option `profile=ns2` makes it.
    fn connection(packet: u64) -> Connection {
        let flow = FlowConfig { packet: DataSize::from_bytes(packet), ecn: Ecn::NotEct };
        Connection::new(Config {
            ns2: true,
            equation: Equation::Full { clamp: true },
            retransmit_timeout: RetransmitTimeout::Coarse,
            ..Config::new(Profile::Rfc3448, flow)
        })
    }

    /// A packet leaves; behind it waits `backlog`.
    fn send(connection: &mut Connection, millis: i64, backlog: u64) {
        let packet = SentPacket::new(0, DataSize::from_bytes(1000));
        connection.on_sent(at(millis), &SentPacket { backlog: DataSize::from_bytes(backlog), ..packet });
    }

    /// A report of a packet that left `rtt` ago.
    fn report_after(
        connection: &mut Connection,
        millis: i64,
        rtt: i64,
        loss: f64,
        receive_rate: u64,
    ) -> Option<Reason> {
        let fate = Fate::Received { at: Some(RemoteTimestamp::from_nanos(0)), ecn: Ecn::NotEct };
        let packet = SentPacket::new(0, DataSize::from_bytes(1000));
        let packets = [PacketReport { packet, sent: at(millis - rtt), fate }];
        let peer = PeerReport {
            loss_event_rate: Probability::new(loss),
            receive_rate: Some(Bitrate::from_bps(8 * receive_rate)),
            ..PeerReport::default()
        };
        let rtt = Some(TimeDelta::from_millis(rtt));
        let feedback =
            Feedback { subflow: crate::packet::Subflow(0), rtt, packets: &packets, requested: &[], peer };
        connection.on_feedback(at(millis), &feedback)
    }

    /// The same after 100 ms.
    fn report(connection: &mut Connection, millis: i64, loss: f64, receive_rate: u64) -> Option<Reason> {
        report_after(connection, millis, 100, loss, receive_rate)
    }

    /// Packets of 1000 octets, 100 ms, a packet that waits all the time: after two reports of 20 kB/s at 100 and 200 ms.
    fn answered() -> Connection {
        let mut connection = connection(1000);
        send(&mut connection, 0, 1000);
        report(&mut connection, 100, 0.0, 20_000);
        send(&mut connection, 100, 1000);
        report(&mut connection, 200, 0.0, 20_000);
        send(&mut connection, 200, 1000);
        connection
    }

    /// After its first loss event, at p = 0.01, R = 0.1 s and a timeout of 0.3 s:
    /// 1/(0.1 sqrt(0.02/3) + 0.3 * 3 sqrt(0.03/8) * 0.01 * 1.0032) = 114.707 packets a second.
    fn avoiding() -> Connection {
        let mut connection = answered();
        report(&mut connection, 300, 0.01, 200_000);
        assert!((connection.rate - 114_707.0).abs() < 1.0, "{}", connection.rate);
        send(&mut connection, 300, 1000);
        connection
    }

    /// What the loss event rate decided, and the one before it.
    fn decided(rule: &'static str, loss: f64, former: f64) -> Reason {
        Reason::new(rule, Gauge::new("loss_event_rate", loss, ""), former)
    }

    fn armed(connection: &Connection) -> f64 {
        connection.pace(1.0).as_bytes_per_second()
    }

    #[track_caller]
    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} and not {expected}");
    }

    /// `InitRate_` is 300 B/s, so the first pause of a packet of 1000 octets is 3.33 s and the timer's 6.67 s.
    #[test]
    fn the_first_packet_leaves_at_300_octets_a_second() {
        let mut connection = connection(1000);
        assert_eq!(
            (connection.phase(), connection.rtt(), connection.loss_event_rate()),
            ("starting", None, 0.0)
        );
        assert_eq!(connection.poll_timeout(), None, "nothing left");
        assert_close(armed(&connection), 300.0);
        assert_close(connection.pace(0.5).as_bytes_per_second(), 150.0);
        let first = Note { round: 0, urgent: true, timeout: 0 };
        assert_eq!(Note::parse(connection.tag()), first, "the receiver is to report at once");
        send(&mut connection, 1000, 1000);
        assert_close(armed(&connection), 300.0);
        let timer = TimeDelta::from_secs_f64(2.0 * 1000.0 / 300.0);
        assert_eq!(connection.poll_timeout(), Some(at(1000) + timer));
        // A later packet does not put it off.
        send(&mut connection, 4400, 1000);
        assert_eq!(connection.poll_timeout(), Some(at(1000) + timer));
    }

    /// `docs/models/ns2-profile.md`, "Sender": in the first two rounds X = max(X, 4s/R), at once.
    #[test]
    fn two_rounds_begin_at_four_packets_a_round_trip() {
        let mut connection = connection(1000);
        send(&mut connection, 0, 1000);
        let limit = |octets| Gauge::new("receive_limit", octets * 8.0, "bit/s");
        let reason = report(&mut connection, 100, 0.0, 10_000);
        assert_eq!(
            reason,
            Some(Reason::new("slow start", limit(0.0), 0.0)),
            "the first rate is of one packet"
        );
        assert_close(connection.rate(), 40_000.0);
        assert_eq!(connection.phase(), "slow start");
        assert_eq!(connection.rtt(), Some(0.1));
        // The coarse timeout is 0.3 s, and the receiver need not hurry.
        assert_eq!(Note::parse(connection.tag()), Note { round: 1, urgent: false, timeout: 3 });
        // A report in slow start sends a packet at once, unless nothing may be sent.
        assert_eq!(connection.pace(1.0), Bitrate::MAX);
        assert_eq!(connection.pace(0.0), Bitrate::ZERO);
        // The timer goes by the rate before the report: 2 * 1000 / 300 s.
        assert_eq!(connection.poll_timeout(), Some(at(100) + TimeDelta::from_secs_f64(2000.0 / 300.0)));
        send(&mut connection, 100, 1000);
        assert_close(armed(&connection), 40_000.0);
        // The second report: twice 10 kB/s would be less, and does not count yet.
        let reason = report(&mut connection, 200, 0.0, 10_000);
        assert_eq!(reason, Some(Reason::new("slow start", limit(20_000.0), 0.0)));
        assert_close(connection.rate(), 40_000.0);
        assert_eq!(connection.poll_timeout(), Some(at(400)), "2R from 200 ms");
    }

    /// 4, 3 or 2 packets, by RFC 3390's sizes.
    #[test]
    fn larger_packets_begin_with_fewer() {
        for (packet, packets) in [(1095, 4), (1096, 3), (2189, 3), (2190, 2), (9000, 2)] {
            let mut connection = connection(packet);
            send(&mut connection, 0, 1000);
            report(&mut connection, 100, 0.0, 0);
            assert_close(connection.rate(), (packets * packet * 10) as f64);
        }
    }

    /// X doubles where more than R has passed, and the step is spread over the packets of a round-trip time: 40 kB/s more over
    /// the eight of the new rate.
    #[test]
    fn a_doubling_is_spread_over_a_round_trip() {
        let mut connection = answered();
        report(&mut connection, 300, 0.0, 45_000);
        assert_close(connection.rate(), 40_000.0);
        report(&mut connection, 400, 0.0, 45_000);
        assert_close(connection.rate(), 80_000.0);
        for packet in 1..=8 {
            send(&mut connection, 400, 1000);
            assert_close(armed(&connection), 40_000.0 + 5_000.0 * f64::from(packet));
        }
        send(&mut connection, 400, 1000);
        assert_close(armed(&connection), 80_000.0);
        // Twice what arrives is less than twice the rate: 2 * 60 kB/s, two round-trip times later. Then 10 kB/s, cut to a half of twice.
        report(&mut connection, 600, 0.0, 60_000);
        assert_close(connection.rate(), 120_000.0);
        report(&mut connection, 700, 0.0, 10_000);
        assert_close(connection.rate(), 10_000.0);
        send(&mut connection, 700, 1000);
        assert_close(armed(&connection), 10_000.0);
        // That was a change: no doubling a round-trip time later, but one after two.
        report(&mut connection, 800, 0.0, 50_000);
        assert_close(connection.rate(), 10_000.0);
        report(&mut connection, 900, 0.0, 50_000);
        assert_close(connection.rate(), 20_000.0);
    }

    /// At R = 0.95 * 0.1 + 0.05 * 0.05 four packets a round-trip time are 41.0 kB/s, from the next packet on: the second round spreads nothing.
    #[test]
    fn the_second_round_spreads_nothing() {
        let mut connection = connection(1000);
        send(&mut connection, 0, 1000);
        report(&mut connection, 100, 0.0, 20_000);
        send(&mut connection, 100, 1000);
        report_after(&mut connection, 200, 50, 0.0, 20_000);
        assert_close(connection.rate(), 4000.0 / 0.0975);
        send(&mut connection, 200, 1000);
        let damping = 0.95 * 2f64.sqrt() + 0.05;
        assert!((armed(&connection) / (4000.0 / 0.0975 * damping) - 1.0).abs() < 1e-5);
    }

    /// 1000 B/s arrive, and then 800: a doubling goes to a packet a round-trip time at least.
    #[test]
    fn a_doubling_ends_at_a_packet_a_round_trip_or_above() {
        let mut connection = answered();
        report(&mut connection, 400, 0.0, 1000);
        assert_close(connection.rate(), 1000.0);
        report(&mut connection, 600, 0.0, 800);
        assert_close(connection.rate(), 10_000.0);
    }

    /// Exactly twice what arrives is no reason to change.
    #[test]
    fn a_rate_at_its_ceiling_stays() {
        let mut connection = answered();
        report(&mut connection, 400, 0.0, 20_000);
        assert_close(connection.rate(), 40_000.0);
        // One of the same packet is no earlier one.
        report(&mut connection, 400, 0.0, 20_000);
        assert_eq!(Note::parse(connection.tag()).round, 4);
        // A report that a later one overtook counts for nothing, nor does one without a round-trip time.
        assert!(report(&mut connection, 399, 0.0, 1000).is_none());
        assert!(report_after(&mut connection, 500, 0, 0.0, 1000).is_none());
        assert_close(connection.rate(), 40_000.0);
        assert_eq!(Note::parse(connection.tag()).round, 4);
        report(&mut connection, 700, 0.0, 1000);
        assert_close(connection.rate(), 1000.0);
    }

    /// Nothing arrives any more: a packet a round-trip time, and no spreading; the next doubling has to wait.
    #[test]
    fn where_nothing_arrives_one_packet_a_round_trip_leaves() {
        let mut connection = answered();
        report(&mut connection, 400, 0.0, 0);
        assert_close(connection.rate(), 10_000.0);
        send(&mut connection, 400, 1000);
        assert_close(armed(&connection), 10_000.0);
        report(&mut connection, 500, 0.0, 50_000);
        assert_close(connection.rate(), 10_000.0);
        report(&mut connection, 600, 0.0, 50_000);
        assert_close(connection.rate(), 20_000.0);
    }

    /// A source that had nothing to send at its slot is not held below the first rate by what arrived: `lastlimited_`, for 1.5 R.
    #[test]
    fn a_source_without_data_keeps_the_first_rate() {
        let limited = |idle: i64, slot: i64| {
            let mut connection = answered();
            // The pause of a packet at 40 kB/s is 25 ms.
            send(&mut connection, 300, 0);
            send(&mut connection, 300 + slot, 1000);
            report(&mut connection, 300 + slot + idle, 0.0, 10_000);
            connection.rate()
        };
        assert_close(limited(100, 26), 40_000.0);
        assert_close(limited(149, 26), 40_000.0);
        assert_close(limited(151, 26), 10_000.0);
        assert_close(limited(100, 25), 10_000.0);
        // It still waits for data.
        let mut connection = answered();
        send(&mut connection, 300, 0);
        report(&mut connection, 326, 0.0, 10_000);
        assert_close(connection.rate(), 40_000.0);
        let mut connection = answered();
        send(&mut connection, 300, 0);
        report(&mut connection, 325, 0.0, 10_000);
        assert_close(connection.rate(), 10_000.0);
        // Where nothing arrived at all it counts for nothing.
        let mut connection = answered();
        send(&mut connection, 300, 0);
        report(&mut connection, 326, 0.0, 0);
        assert_close(connection.rate(), 10_000.0);
        // Where twice what arrived is no less than the first rate, there is nothing to make up for.
        let mut connection = answered();
        send(&mut connection, 300, 0);
        report(&mut connection, 400, 0.0, 20_000);
        report(&mut connection, 450, 0.0, 30_000);
        assert_close(connection.rate(), 60_000.0);
    }

    /// The first loss event takes the equation's rate, whatever arrived: 114.7 packets a second at p = 0.01.
    #[test]
    fn the_first_loss_event_ends_slow_start() {
        let mut connection = answered();
        let reason = report(&mut connection, 300, 0.01, 10_000);
        assert_eq!(reason, Some(decided("loss event", 0.01, 0.0)));
        assert_eq!(connection.phase(), "congestion avoidance");
        assert!((connection.rate() - 114_707.0).abs() < 1.0, "{}", connection.rate());
        assert_eq!(connection.loss_event_rate(), 0.01);
        // No packet leaves at once.
        assert_ne!(connection.pace(1.0), Bitrate::MAX);
        send(&mut connection, 300, 1000);
        assert!((armed(&connection) - 114_707.0).abs() < 1.0);
    }

    /// A packet a round-trip time more for each that passed, two at most, no more than the equation and twice what arrives.
    #[test]
    fn the_rate_rises_by_a_packet_a_round_trip() {
        let rise = |passed: i64, receive_rate: u64, loss: f64| {
            let mut connection = avoiding();
            let before = connection.rate;
            connection.changed_at = at(300);
            let reason = report(&mut connection, 300 + passed, loss, receive_rate);
            assert_eq!(reason, Some(decided("equation", loss, 0.01)));
            (connection.rate - before, connection.changed_at)
        };
        let (half, changed_at) = rise(50, 200_000, 1e-4);
        assert!((half - 5_000.0).abs() < 1e-6 && changed_at == at(350), "{half}");
        assert!((rise(100, 200_000, 1e-4).0 - 10_000.0).abs() < 1e-6);
        assert!((rise(300, 200_000, 1e-4).0 - 20_000.0).abs() < 1e-6);
        // 60 kB/s arrive: at most 120.
        assert!((rise(100, 60_000, 1e-4).0 - (120_000.0 - 114_707.0)).abs() < 1.0);
        // The equation at p = 0.009: 1/(0.1 sqrt(0.006) + 0.9 sqrt(0.003375) * 0.009 * 1.002592) = 121.688 a second.
        assert!((rise(100, 200_000, 0.009).0 - (121_688.0 - 114_707.0)).abs() < 1.0);
    }

    /// X = min(equation, max(C, s/R)): at p = 0.02 the equation gives 76.2 packets a second.
    #[test]
    fn the_rate_falls_to_what_the_equation_and_the_receiver_say() {
        // 1/(0.1 sqrt(0.04/3) + 0.9 sqrt(0.0075) * 0.02 * 1.0128) = 1/(0.0115470 + 0.0015788).
        for (receive_rate, expected) in [(200_000, 76_186.0), (10_000, 20_000.0), (2_000, 10_000.0)] {
            let mut connection = avoiding();
            let reason = report(&mut connection, 400, 0.02, receive_rate);
            assert_eq!(reason, Some(decided("loss event", 0.02, 0.01)));
            assert!((connection.rate() / expected - 1.0).abs() < 1e-3, "{}", connection.rate());
            // It falls at once and rises from then on.
            let before = connection.rate();
            report(&mut connection, 450, 1e-4, 200_000);
            assert!((connection.rate() - before - 5_000.0).abs() < 1e-6, "{}", connection.rate());
        }
        // The same loss event rate is no new event.
        let mut connection = avoiding();
        let reason = report(&mut connection, 400, 0.01, 200_000);
        assert_eq!(reason, Some(decided("equation", 0.01, 0.01)));
        // A report without a loss event rate keeps the one there is, and p stays above none for ever.
        let mut connection = avoiding();
        report(&mut connection, 400, f64::NAN, 200_000);
        assert_eq!(connection.loss_event_rate(), 0.01);
    }

    /// A source without data is let up to the first rate, where twice what arrives is less.
    #[test]
    fn a_source_without_data_rises_to_the_first_rate() {
        let mut connection = avoiding();
        report(&mut connection, 400, 0.02, 2_000);
        send(&mut connection, 400, 0);
        // A packet's pause at 10 kB/s is 100 ms.
        report(&mut connection, 501, 1e-4, 2_000);
        assert!((connection.rate() - 20_100.0).abs() < 1e-6, "{}", connection.rate());
        let mut connection = avoiding();
        report(&mut connection, 400, 0.02, 2_000);
        send(&mut connection, 400, 1000);
        report(&mut connection, 501, 1e-4, 2_000);
        assert_close(connection.rate(), 10_000.0);
    }

    /// The pace is X · mean(√R)/√R: after 100 ms throughout one sample of 400 ms makes 0.95 √0.1 + 0.05 √0.4 of √0.4.
    #[test]
    fn a_longer_round_trip_slows_the_pace_at_once() {
        let mut connection = avoiding();
        report_after(&mut connection, 700, 400, 0.02, 200_000);
        // R = 0.95 * 0.1 + 0.05 * 0.4.
        assert!((connection.rtt().expect("a sample") - 0.115).abs() < 1e-9);
        let rate = connection.rate();
        send(&mut connection, 700, 1000);
        assert!((armed(&connection) / rate - (0.95 + 0.05 * 2.0) / 2.0).abs() < 1e-5);
        // A new rate does not move the pause that was armed.
        let armed_before = armed(&connection);
        report(&mut connection, 800, 0.1, 200_000);
        assert_eq!(armed(&connection), armed_before);
    }

    /// Without reports the rate halves after max(2R, 2s/X), a packet leaves at once, and reports are wanted at once.
    #[test]
    fn without_feedback_the_rate_halves() {
        let mut connection = answered();
        let due = at(400);
        assert_eq!(connection.poll_timeout(), Some(due));
        assert!(connection.handle_timeout(due - TimeDelta::from_nanos(1)).is_none());
        assert_close(connection.rate(), 40_000.0);
        let waited = Gauge::new("rounds", 3.0, "");
        assert_eq!(connection.handle_timeout(due), Some(Reason::new("nofeedback timer", waited, 0.0)));
        assert_close(connection.rate(), 20_000.0);
        assert_eq!(connection.pace(1.0), Bitrate::MAX);
        let note = Note::parse(connection.tag());
        assert!(note.urgent && note.round == 3, "{note:?}");
        assert_eq!(connection.poll_timeout(), Some(at(600)));
        // At 5 kB/s two packets take longer than two round-trip times.
        for (millis, rate) in [(600, 10_000.0), (800, 5_000.0)] {
            send(&mut connection, millis - 1, 1000);
            connection.handle_timeout(at(millis));
            assert_close(connection.rate(), rate);
        }
        assert_eq!(connection.poll_timeout(), Some(at(1200)), "2 * 1000 / 5000 s");
    }

    /// Where nothing was sent since the last report, an idle source falls to the first rate and no further, and the timer rests.
    #[test]
    fn an_idle_source_keeps_the_first_rate() {
        let mut connection = answered();
        report(&mut connection, 300, 0.0, 100_000);
        report(&mut connection, 400, 0.0, 100_000);
        assert_close(connection.rate(), 80_000.0);
        let timer = connection.poll_timeout().expect("a timer");
        assert!(connection.handle_timeout(timer).is_some());
        assert_close(connection.rate(), 40_000.0);
        assert_eq!(connection.poll_timeout(), None);
        assert!(connection.handle_timeout(at(5000)).is_none(), "it rests");
        // The next packet starts it again; and twice the first rate is not halved, but set to it.
        send(&mut connection, 5000, 0);
        assert_eq!(connection.poll_timeout(), Some(at(5200)));
        // Since 5025 it has had nothing to send.
        let reason = connection.handle_timeout(at(5200));
        assert!(reason.is_none(), "the rate is the first one");
        assert_close(connection.rate(), 40_000.0);
        assert_ne!(connection.pace(1.0), Bitrate::MAX, "nothing waits that could leave at once");
    }

    /// From above twice the first rate an idle source halves; from there on it falls to the first rate.
    #[test]
    fn an_idle_source_halves_towards_the_first_rate() {
        for (rate, expected) in
            [(100_000.0, 50_000.0), (80_000.0, 40_000.0), (70_000.0, 40_000.0), (30_000.0, 30_000.0)]
        {
            let mut connection = answered();
            report(&mut connection, 300, 0.0, 20_000);
            connection.rate = rate;
            connection.handle_timeout(at(500));
            assert_close(connection.rate(), expected);
        }
    }

    /// The timer waits for two intervals of the reports at least, and those are at most a minute.
    #[test]
    fn rare_reports_put_the_timer_off() {
        for (interval, expected) in [(50, 200), (300, 600), (-5, 200), (1_000_000, 120_000)] {
            let mut connection = answered();
            connection.feedback_interval(TimeDelta::from_millis(interval));
            report(&mut connection, 300, 0.0, 20_000);
            assert_eq!(connection.poll_timeout(), Some(at(300 + expected)));
        }
        // 10 ms at least: R = 1 ms, 40 000 packets a second.
        let mut connection = connection(10);
        send(&mut connection, 0, 1000);
        report_after(&mut connection, 1, 1, 0.0, 1_000_000);
        report_after(&mut connection, 2, 1, 0.0, 1_000_000);
        assert_close(connection.rate(), 40_000.0);
        assert_eq!(connection.poll_timeout(), Some(at(12)));
    }

    /// 25 MB/s at most (`maxrate`), and an eighth of an octet a second at least.
    #[test]
    fn the_rate_has_bounds() {
        let mut fast = connection(1000);
        send(&mut fast, 0, 1000);
        for round in 0..100 {
            report_after(&mut fast, 10 + 10 * round, 1, 0.0, 1_000_000_000);
        }
        assert_close(fast.rate(), 25e6);
        let mut fast = avoiding();
        for round in 0..3000 {
            report_after(&mut fast, 400 + round, 1, 1e-8, 1_000_000_000);
        }
        assert_close(fast.rate(), 25e6);
        let mut silent = answered();
        for round in 0..40 {
            let due = silent.poll_timeout().expect("a timer");
            silent.busy = true;
            silent.handle_timeout(due);
            assert_eq!(Note::parse(silent.tag()).round, 3 + round);
        }
        assert_eq!(silent.rate(), 0.125);
        silent.on_sent(at(1_000_000_000), &SentPacket::new(0, DataSize::from_bytes(1000)));
        assert_eq!(silent.pace(1.0).as_bps(), 1);
        // The note has the round modulo 512, and 6.3 s at most.
        silent.round = 511;
        silent.busy = true;
        silent.nofeedback_at = Some(at(0));
        silent.handle_timeout(at(0));
        assert_eq!(Note::parse(silent.tag()).round, 0);
        let mut long = connection(1000);
        report_after(&mut long, 50_000, 50_000, 0.0, 1000);
        assert_eq!(Note::parse(long.tag()).timeout, 63);
    }
}
