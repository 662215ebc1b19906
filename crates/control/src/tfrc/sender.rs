//! The sending half of one TFRC connection (RFC 5348 section 4).

use super::config::{Config, LossSide, NOMINAL_SEGMENT, Profile, Segment};
use super::data_limited::DataLimited;
use super::equation::{LEAST_LOSS, TimeoutEstimator};
use super::receive_limit::ReceiveRates;
use super::receiver::SubflowReceiver;
use crate::allowance::Allowance;
use crate::decision::{Gauge, Reason};
use crate::estimators::{DampedRtt, plausible_rtt};
use crate::feedback::{Fate, Feedback, PeerReport};
use crate::feedback_source::Arrival;
use crate::packet::SentPacket;
use seaway_units::{Bitrate, Ecn, Probability, RemoteTimestamp, TimeDelta, Timestamp};

/// Longest pause between two packets (`t_mbi`), seconds.
pub(crate) const LONGEST_PAUSE: f64 = 64.0;
/// TFRC-SP's least pause between two packets, seconds (RFC 4828 section 3).
const LEAST_SP_PAUSE: f64 = 0.010;
/// Least nofeedback interval, seconds: below it the scheduling of either machine would be taken for congestion.
const LEAST_NOFEEDBACK: f64 = 0.010;
/// Nofeedback interval before the first round-trip time, seconds (RFC 5348 section 4.2).
const FIRST_NOFEEDBACK: f64 = 2.0;

/// One connection. Rates are bytes a second and times seconds inside, units at the border.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) config: Config,
    size: MeanSize,
    pub(crate) rtt: DampedRtt,
    timeout: TimeoutEstimator,
    /// Allowed rate (`X`).
    pub(crate) rate: f64,
    /// What the equation says (`X_Bps`), infinite before the first loss.
    pub(crate) equation_rate: f64,
    /// `p`.
    pub(crate) loss_event_rate: f64,
    /// `X_recv_set`.
    pub(crate) receive_rates: ReceiveRates,
    /// `tld`.
    doubled_at: Option<Timestamp>,
    started: bool,
    answered: bool,
    nofeedback_at: Option<Timestamp>,
    /// A packet left since the nofeedback timer was set.
    pub(crate) busy: bool,
    pub(crate) feedback_interval: TimeDelta,
    data_limited: DataLimited,
    /// When the newest packet of a report left.
    newest: Option<Timestamp>,
    last_slot: Option<Slot>,
    meter: SubflowReceiver,
    weight: Weight,
    /// Reports come from the peer, not from our own meter; until its silence has made the timer expire.
    peer_measures: bool,
}

/// What a connection weighs against one TFRC flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Weight {
    /// Itself.
    One,
    /// So many connections, by `n` times the rate of the equation (CTFRC, AIO-TFRC).
    Rate(f64),
    /// So many connections, by a loss event rate divided by `n²` (MULTFRC-LERD).
    Loss(f64),
    /// More or less than itself, by so many times the rate of the equation (UTFRC).
    Share(f64),
}

/// The nominal time of the packet sent last, and its size in bytes.
#[derive(Debug, Clone, Copy)]
struct Slot {
    due: Timestamp,
    size: f64,
}

impl Connection {
    pub(crate) fn new(config: Config) -> Self {
        Self::with_meter(config, SubflowReceiver::new(config))
    }

    /// Begins anew, in the same memory: it was closed, and another is opened in its place.
    pub(crate) fn reopen(&mut self) {
        self.meter.reopen();
        let meter = std::mem::replace(&mut self.meter, SubflowReceiver::hollow(self.config));
        let feedback_interval = self.feedback_interval;
        *self = Self { feedback_interval, ..Self::with_meter(self.config, meter) };
    }

    fn with_meter(config: Config, meter: SubflowReceiver) -> Self {
        let size = MeanSize::new(&config);
        Self {
            rate: size.segment,
            size,
            rtt: DampedRtt::new(0.9, 0.9),
            timeout: config.timeout_estimator(),
            equation_rate: f64::INFINITY,
            loss_event_rate: 0.0,
            receive_rates: ReceiveRates::unlimited(Timestamp::ZERO),
            doubled_at: None,
            started: false,
            answered: false,
            nofeedback_at: None,
            busy: false,
            feedback_interval: TimeDelta::ZERO,
            data_limited: DataLimited::default(),
            newest: None,
            last_slot: None,
            meter,
            weight: Weight::One,
            peer_measures: false,
            config,
        }
    }

    pub(crate) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if !self.started {
            self.started = true;
            self.meter.begin_at(now, packet.sequence);
            self.receive_rates = ReceiveRates::unlimited(now);
            self.nofeedback_at = Some(now + TimeDelta::from_secs_f64(FIRST_NOFEEDBACK));
        } else if self.nofeedback_at.is_none() {
            self.nofeedback_at = Some(now + self.nofeedback_interval());
        }
        self.busy = true;
        let size = packet.size.as_bytes_f64();
        self.size.update(size, self.loss_event_rate);
        if self.use_slot(now, size) {
            self.data_limited.not_limited(now);
        }
    }

    /// Takes the slot of a packet that leaves now; whether that used up the allowance (RFC 5348 section 8.2.1).
    fn use_slot(&mut self, now: Timestamp, size: f64) -> bool {
        let credit = self.credit();
        let next = self.last_slot.map(|slot| slot.due + self.spacing(slot.size));
        let due = next.unwrap_or(now).max(now - credit).min(now);
        self.last_slot = Some(Slot { due, size });
        // Without credit an unused slot is gone: there was nothing to send.
        let missed =
            credit == TimeDelta::ZERO && next.is_some_and(|next| now.since(next) >= self.spacing(size));
        due + self.spacing(size) > now && !missed
    }

    /// From a packet of `size` bytes to the next (`t_ipi`).
    fn spacing(&self, size: f64) -> TimeDelta {
        let rate = self.instant_rate();
        TimeDelta::from_secs_f64(self.gap(rate).unwrap_or(size / rate))
    }

    /// The pause between packets in seconds where that, not the rate, is what is held.
    fn gap(&self, rate: f64) -> Option<f64> {
        let even = self.size.mean() / rate;
        match self.config.segment {
            _ if self.config.small_packets => Some(even.max(LEAST_SP_PAUSE)),
            // S003: s_i cancels out of s_i / X_i, so that the pause is R f(p).
            Segment::PerPacket => Some(even),
            Segment::Mean | Segment::Fixed(_) => None,
        }
    }

    fn credit(&self) -> TimeDelta {
        let rtt = if self.config.small_packets { None } else { self.rtt.get() };
        TimeDelta::from_secs_f64(rtt.unwrap_or(0.0) * self.config.credit)
    }

    /// The rate to pace with (`X_inst`).
    pub(crate) fn instant_rate(&self) -> f64 {
        if !self.config.damping {
            return self.rate;
        }
        let damped = self.rate * self.rtt.damping();
        match self.config.profile {
            Profile::Rfc5348 => damped.max(self.least_rate()),
            Profile::Rfc3448 => damped,
        }
    }

    /// What the connection sends at when it has enough to send.
    pub(crate) fn send_rate(&self) -> f64 {
        let rate = self.instant_rate();
        self.gap(rate).map_or(rate, |gap| self.size.mean() / gap)
    }

    /// The allowance with the rate changed by `factor`.
    pub(crate) fn allowance(&self, factor: f64) -> Allowance {
        let rate = self.instant_rate() * factor;
        let (rate, gap) = match self.gap(rate) {
            Some(gap) => (Bitrate::MAX, TimeDelta::from_secs_f64(gap)),
            None => (Bitrate::from_bytes_per_second(rate), TimeDelta::ZERO),
        };
        Allowance { gap, credit: self.credit(), ..Allowance::paced(rate) }
    }

    pub(crate) fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> Option<Reason> {
        let report = self.report(now, feedback)?;
        let newest = self.newest_departure(now, feedback);
        if self.newest.is_some_and(|known| newest < known) {
            // Overtaken by a later one.
            return None;
        }
        self.newest = Some(newest);
        let sample = feedback.rtt.and_then(plausible_rtt);
        if let Some(sample) = sample {
            self.rtt.update(sample);
            self.timeout.update(sample);
        }
        let rtt = self.rtt.get()?;
        let timeout = self.nofeedback_interval();
        let first = !self.answered;
        self.answered = true;
        let receive_rate = report.receive_rate.map_or(0.0, Bitrate::as_bytes_per_second);
        let loss_event_rate = report.loss_event_rate.map_or(0.0, Probability::get) / self.loss_divisor();
        let worse = report.new_loss_event || loss_event_rate > self.loss_event_rate;
        // Once there was a loss, a rate rounded to 0 must not bring slow start back.
        let least = if self.loss_event_rate > 0.0 { LEAST_LOSS } else { 0.0 };
        let before = self.loss_event_rate;
        self.loss_event_rate = loss_event_rate.max(least);
        let limit = match self.config.profile {
            Profile::Rfc5348 => self.receive_limit(now, newest, rtt, receive_rate, first, worse),
            Profile::Rfc3448 => {
                self.receive_rates = ReceiveRates::only(receive_rate, now);
                2.0 * receive_rate
            }
        };
        let cause = if first && self.config.profile == Profile::Rfc5348 {
            self.rate = self.initial_rate(rtt);
            self.doubled_at = Some(now);
            self.solve(rtt);
            Some(Reason::new("first round-trip time", Gauge::new("rtt", rtt, "s"), 0.0))
        } else {
            self.update_rate(now, rtt, limit, before)
        };
        self.restart_nofeedback(now, timeout);
        cause
    }

    /// Step 4 of RFC 5348 section 4.3: the bound that the receive rate sets.
    fn receive_limit(
        &mut self,
        now: Timestamp,
        newest: Timestamp,
        rtt: f64,
        receive_rate: f64,
        first: bool,
        worse: bool,
    ) -> f64 {
        let limited = self.data_limited.on_feedback(now, newest, rtt);
        if first || receive_rate <= 0.0 {
            // The very first report has nothing to measure yet.
            return 2.0 * self.receive_rates.max();
        }
        if limited && worse {
            self.receive_rates.halve_and_maximize(receive_rate, now);
            return self.receive_rates.max();
        }
        if limited {
            self.receive_rates.maximize(receive_rate, now);
        } else {
            self.receive_rates.update(receive_rate, now, rtt);
        }
        2.0 * self.receive_rates.max()
    }

    fn solve(&mut self, rtt: f64) {
        if self.loss_event_rate > 0.0 {
            let t_rto = self.timeout.get(rtt);
            let (j, p) = (self.meter.losses_per_event(), self.loss_event_rate);
            let packets = self.config.equation.packet_rate_losing(j, p, rtt, t_rto);
            let times = match self.weight {
                Weight::Share(share) => share,
                // Our own meter sees the whole flow, not the virtual one: then the weight is 1.
                Weight::Rate(n) if self.peer_measures => n,
                Weight::Rate(_) | Weight::Loss(_) | Weight::One => 1.0,
            };
            self.equation_rate = times * self.size.segment * packets;
        }
    }

    /// Step 5 of RFC 5348 section 4.3.
    fn update_rate(&mut self, now: Timestamp, rtt: f64, limit: f64, former_loss: f64) -> Option<Reason> {
        self.solve(rtt);
        if self.loss_event_rate > 0.0 {
            self.rate = self.equation_rate.min(limit).max(self.least_rate());
            return Some(self.explain(limit, former_loss));
        }
        let due = self.doubled_at.is_none_or(|at| now.since(at).as_secs_f64() >= rtt);
        if !due {
            return None;
        }
        let doubled = 2.0 * self.rate;
        self.doubled_at = Some(now);
        self.rate = doubled.min(limit).max(self.initial_rate(rtt));
        Some(if limit < doubled {
            Reason::new(
                "receive rate limit",
                Gauge::new("receive_limit", limit * 8.0, "bit/s"),
                doubled * 8.0,
            )
        } else {
            Reason::new("slow start doubling", Gauge::new("loss_event_rate", 0.0, ""), 0.0)
        })
    }

    /// The connection stands for something else from now on: the rate follows at once.
    pub(crate) fn set_weight(&mut self, weight: Weight) {
        let divided = self.loss_divisor();
        self.weight = weight;
        let Some(rtt) = self.rtt.get().filter(|_| self.loss_event_rate > 0.0) else { return };
        self.loss_event_rate = (self.loss_event_rate * divided / self.loss_divisor()).clamp(LEAST_LOSS, 1.0);
        self.solve(rtt);
        self.rate = self.equation_rate.min(2.0 * self.receive_rates.max()).max(self.least_rate());
    }

    fn loss_divisor(&self) -> f64 {
        if let Weight::Loss(n) = self.weight { n * n } else { 1.0 }
    }

    fn explain(&self, limit: f64, former_loss: f64) -> Reason {
        if self.rate > self.equation_rate.min(limit) {
            let signal = Gauge::new("equation_rate", self.equation_rate * 8.0, "bit/s");
            Reason::new("longest pause", signal, self.least_rate() * 8.0)
        } else if limit < self.equation_rate {
            Reason::new(
                "receive rate limit",
                Gauge::new("receive_limit", limit * 8.0, "bit/s"),
                self.equation_rate * 8.0,
            )
        } else {
            let loss = Gauge::new("loss_event_rate", self.loss_event_rate, "");
            Reason::new(
                if self.loss_event_rate > former_loss { "loss event" } else { "equation" },
                loss,
                former_loss,
            )
        }
    }

    /// `s / t_mbi`.
    pub(crate) fn least_rate(&self) -> f64 {
        self.size.segment / LONGEST_PAUSE
    }

    /// What slow start begins with and never falls below (`W_init / R`).
    pub(crate) fn initial_rate(&self, rtt: f64) -> f64 {
        match self.config.profile {
            Profile::Rfc5348 => initial_window(self.size.segment) / rtt,
            Profile::Rfc3448 => self.size.segment / rtt,
        }
    }

    /// When `newest`, the last packet in a report, left.
    fn newest_departure(&self, now: Timestamp, feedback: &Feedback<'_>) -> Timestamp {
        let received = feedback.packets.iter().filter(|report| matches!(report.fate, Fate::Received { .. }));
        let reported = received.map(|report| report.sent).max();
        let reckoned = feedback.rtt.map_or(now, |rtt| now - rtt);
        reported.unwrap_or(reckoned.max(self.newest.unwrap_or_default())).min(now)
    }

    /// The peer's measurement, or our own from the fate of the packets.
    fn report(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> Option<PeerReport> {
        if self.config.loss == LossSide::Receiver {
            if feedback.peer.loss_event_rate.is_some() && feedback.peer.receive_rate.is_some() {
                self.peer_measures = true;
                return Some(feedback.peer);
            }
            if self.peer_measures {
                // Arrivals between two reports, or in the next datagram of one: no report of their own.
                return None;
            }
        }
        let rtt = self.rtt.get().map(TimeDelta::from_secs_f64).or(feedback.rtt);
        let mut last = None;
        for report in feedback.packets {
            let (at, ecn) = match report.fate {
                Fate::Received { at, ecn } => (at, ecn),
                Fate::Late { at } => (at, Ecn::NotEct),
                Fate::Lost => continue,
            };
            let at = Timestamp::from_nanos(at.map_or(now.as_nanos(), RemoteTimestamp::as_nanos));
            let SentPacket { subflow, sequence, size, .. } = report.packet;
            let sent = RemoteTimestamp::from_nanos(report.sent.as_nanos());
            let arrival = Arrival { subflow, sequence, size, ecn, tag: None, sent, rtt, ends_frame: false };
            self.meter.take(at, &arrival);
            last = last.max(Some(at));
        }
        last.map(|at| self.meter.sample(at))
    }

    /// `max(4R, 2s/X)`; twice the peer's interval too, since between two reports silence says nothing.
    pub(crate) fn nofeedback_interval(&self) -> TimeDelta {
        let two_packets = 2.0 * self.size.segment / self.rate;
        let seconds = self.rtt.get().map_or(two_packets, |rtt| two_packets.max(4.0 * rtt));
        TimeDelta::from_secs_f64(seconds.max(LEAST_NOFEEDBACK)).max(self.feedback_interval * 2)
    }

    pub(crate) fn restart_nofeedback(&mut self, now: Timestamp, interval: TimeDelta) {
        self.nofeedback_at = Some(now + interval);
        self.busy = false;
    }

    /// The sender is idle and as slow as silence makes it: the timer waits for the next packet.
    pub(crate) const fn stop_nofeedback(&mut self) {
        self.nofeedback_at = None;
    }

    /// After a silent period the peer may have been replaced by one that does not measure loss, so measure it here again.
    pub(crate) const fn forget_peer(&mut self) {
        self.peer_measures = false;
    }

    pub(crate) const fn nofeedback_at(&self) -> Option<Timestamp> {
        self.nofeedback_at
    }

    pub(crate) fn feedback_interval(&mut self, interval: TimeDelta) {
        self.feedback_interval = interval.max(TimeDelta::ZERO);
        if let (Some(at), Some(newest)) = (self.nofeedback_at, self.newest) {
            self.nofeedback_at = Some(at.max(newest + self.feedback_interval * 2));
        }
    }

    pub(crate) fn phase(&self) -> &'static str {
        match (self.rtt.get(), self.loss_event_rate > 0.0) {
            (None, _) => "starting",
            (_, false) => "slow start",
            (_, true) => "congestion avoidance",
        }
    }
}

/// `W_init` of RFC 5348 section 4.2, bytes.
fn initial_window(segment: f64) -> f64 {
    (4.0 * segment).min((2.0 * segment).max(4380.0))
}

/// The segment size and the mean size of packets, bytes.
#[derive(Debug, Clone, Copy)]
struct MeanSize {
    /// `s`.
    segment: f64,
    mean: f64,
    packets: u32,
    follows: bool,
}

impl MeanSize {
    /// Packets in the mean at least.
    const LEAST: u32 = 64;

    fn new(config: &Config) -> Self {
        let largest = config.packet.as_bytes_f64().max(1.0);
        let segment = match config.segment {
            // The rate counts headers, which is what RFC 4828 takes off the rate of data: the nominal segment's
            // rate times s_true / (s_true + H) in data is that rate itself on the wire.
            _ if config.small_packets => NOMINAL_SEGMENT,
            Segment::Fixed(size) => size.as_bytes_f64(),
            Segment::Mean | Segment::PerPacket => largest,
        };
        let follows = !config.small_packets && !matches!(config.segment, Segment::Fixed(_));
        Self { segment, mean: largest, packets: 0, follows }
    }

    const fn mean(&self) -> f64 {
        self.mean
    }

    /// A packet left. The mean is over four loss intervals at least (RFC 5348 section 4.1).
    fn update(&mut self, size: f64, loss_event_rate: f64) {
        self.packets = (self.packets + 1).min(Self::LEAST);
        let settled = self.packets == Self::LEAST && loss_event_rate > 0.0;
        let all = 1.0 / f64::from(self.packets);
        let newest = if settled { all.min(loss_event_rate / 4.0) } else { all };
        self.mean += newest * (size.max(1.0) - self.mean);
        if self.follows {
            self.segment = self.mean;
        }
    }
}
