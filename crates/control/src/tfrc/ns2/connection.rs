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
