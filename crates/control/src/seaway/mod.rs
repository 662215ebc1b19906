//! Our own controller: it keeps a short queue where it alone fills it, distinguishes loss of the channel from loss
//! of a full queue by a test, jitter from queueing, and other flows from a cell's swings. `docs/controllers/seaway.md` has the
//! equations and the reason of each loop.

mod competing;
mod config;
mod delay;
mod groups;
mod history;
mod jitter;
mod loss;
mod rate;
mod scalable;
mod start;

pub use config::SeawayConfig;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::plausible_rtt;
use crate::feedback::{Fate, Feedback, PacketReport};
use crate::fixed::PeriodicFeedback;
use crate::info::{ControllerInfo, WeightOption, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options::FEEDBACK_INTERVAL;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use competing::{Competing, Observed};
use config::{
    EMPTY_GAIN, FALL, LEAST_QUEUE_BOUND, LEAST_RATE, LEAST_TARGET, MOST_TOLERANCE, OBSERVER_GAIN, QUEUE_TIME,
    RISE, TARGET_AT_1_MBPS, TEST_RATE, TOLERANCE_GAIN, TOLERANCE_OF_OVERFLOWS, UNTOLERATED_JITTER,
};
use delay::{Arrival, DelayMeter, RoundTrip};
use groups::{Groups, Pattern};
use history::SendHistory;
use jitter::{JitterMeter, Volatility};
use loss::{Fates, LossTest, Overflow, Verdict};
use rate::RateBins;
use scalable::Scalable;
use seaway_units::{Bitrate, DataSize, Ecn, Probability, RateRange, RemoteTimestamp, TimeDelta, Timestamp};
use start::Start;

/// The sending half of `seaway`.
#[derive(Debug, Clone)]
pub struct Seaway {
    config: SeawayConfig,
    /// Time zero of the seconds below.
    origin: Option<Timestamp>,
    limits: RateRange,
    /// The peer's feedback interval, s.
    interval: f64,
    mode: Mode,
    /// Capacity as sent packets see it, loss of the channel included, bit/s.
    capacity: f64,
    history: SendHistory,
    delay: DelayMeter,
    round_trip: RoundTrip,
    jitter: JitterMeter,
    volatility: Volatility,
    sent: RateBins,
    arrived: RateBins,
    fates: Fates,
    /// The share of packets 0.4 to 6 s old that were lost.
    loss: f64,
    loss_test: LossTest,
    /// Whether the longest delays come with losses.
    overflow: Overflow,
    /// A bound on the target queue that overflows taught.
    queue_bound: f64,
    competing: Competing,
    groups: Groups,
    updated: Option<f64>,
    /// When a wait of over 1 ms was last seen.
    last_waited: f64,
    /// When the queue was last seen empty, and until when less is sent to see it so.
    last_empty: f64,
    dip_until: f64,
    outage: Outage,
    no_feedback: NoFeedbackTimer,
    /// Octets that the present report says arrived and were marked, by packets.
    received: f64,
    marked: f64,
    /// What an encoder left in the send queue, bytes.
    leftover: f64,
    frame: f64,
    decisions: DecisionLog,
}

#[derive(Debug, Clone)]
enum Mode {
    /// The rate doubles each loop delay.
    Start(Start),
    /// The queue is ours: it is kept at its target.
    Delay,
    /// Loss-based flows keep the queue full.
    Competing,
    /// The queue marks for scalable flows.
    Scalable(Scalable),
}

/// Reports are overdue: nothing arrives.
#[derive(Debug, Clone, Copy, Default)]
struct Outage {
    is_on: bool,
    due: Option<f64>,
}

impl Outage {
    /// Reports may be late by so much before it counts, s.
    const SLACK: f64 = 0.020;
    /// What is sent meanwhile, of the capacity.
    const RATE: f64 = 0.15;
}

impl Seaway {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[SeawayConfig::OPTIONS.group, FEEDBACK_INTERVAL.group],
        weight: Some(WeightOption { name: "weight", requires: None }),
        ..ControllerInfo::new("seaway", "docs/controllers/seaway.md", |options, flow| {
            let mut config = options.read(&SeawayConfig::OPTIONS, SeawayConfig::new(flow))?;
            config.interval = options.read(&FEEDBACK_INTERVAL, config.interval)?;
            Ok(pair(Self::new(config), PeriodicFeedback::new(config.interval)))
        })
    };

    /// A sender that begins at 300 kbit/s until the limits are known.
    pub fn new(config: SeawayConfig) -> Self {
        Self {
            config,
            origin: None,
            limits: RateRange { min: Bitrate::ZERO, max: Bitrate::MAX },
            interval: config.interval.as_secs_f64(),
            mode: Mode::Start(Start::new()),
            capacity: 300e3,
            history: SendHistory::new(),
            delay: DelayMeter::new(),
            round_trip: RoundTrip::new(),
            jitter: JitterMeter::new(),
            volatility: Volatility::new(),
            sent: RateBins::new(),
            arrived: RateBins::new(),
            fates: Fates::new(),
            loss: 0.0,
            loss_test: LossTest::new(),
            overflow: Overflow::new(),
            queue_bound: f64::INFINITY,
            competing: Competing::new(),
            groups: Groups::new(),
            updated: None,
            last_waited: 0.0,
            last_empty: 0.0,
            dip_until: f64::NEG_INFINITY,
            outage: Outage::default(),
            no_feedback: NoFeedbackTimer::default(),
            received: 0.0,
            marked: 0.0,
            leftover: 0.0,
            frame: 0.0,
            decisions: DecisionLog::new(),
        }
    }

    /// Begins at zero with the first input.
    fn seconds(&mut self, now: Timestamp) -> f64 {
        now.since(*self.origin.get_or_insert(now)).as_secs_f64()
    }

    fn least_rate(&self) -> f64 {
        self.limits.min.as_bps_f64().max(LEAST_RATE)
    }

    fn most_rate(&self) -> f64 {
        if self.limits.max == Bitrate::MAX { 1e12 } else { self.limits.max.as_bps_f64() }
    }

    fn clip(&mut self) {
        self.capacity = self.capacity.min(2.5 * self.most_rate()).max(self.least_rate());
    }

    fn is_starting(&self) -> bool {
        matches!(self.mode, Mode::Start(_))
    }

    fn is_competing(&self) -> bool {
        matches!(self.mode, Mode::Competing)
    }

    /// Jitter that the target queue leaves room for. A cell's swings are no jitter, and what reordering shows is not
    /// worth a queue where many packets leave within the delay filter's span.
    fn tolerance(&self) -> f64 {
        let is_queue = self.overflow.is_on(self.updated.unwrap_or(0.0));
        let most = if is_queue { TOLERANCE_OF_OVERFLOWS } else { MOST_TOLERANCE };
        let jitter = (TOLERANCE_GAIN * (self.jitter.raw() - UNTOLERATED_JITTER).max(0.0)).min(most);
        jitter * (1.0 - self.volatility.degree()) * (1.0 - 0.7 * self.reordering())
    }

    /// 1 where many packets overtake others and enough arrive in the delay filter's span that some come undelayed.
    fn reordering(&self) -> f64 {
        let in_span = self.capacity * config::DELAY_SPAN / (self.config.packet * 8.0);
        (4.0 * self.delay.reordered()).min(1.0) * ((in_span - 4.0) / 16.0).clamp(0.0, 1.0)
    }

    /// It falls with the rate: that alone makes flows of this kind fair to each other.
    fn target_queue(&self) -> f64 {
        let relative = libm::cbrt(1e6 * self.config.weight / self.capacity);
        let base = (TARGET_AT_1_MBPS * relative).max(LEAST_TARGET) + self.tolerance();
        base.min(self.queue_bound)
    }

    fn expected_wait(&self, t: f64) -> f64 {
        self.history.expected_wait(t, self.capacity).unwrap_or(self.delay.queue)
    }

    /// The pace at `t`, bit/s.
    fn pace(&self, t: f64) -> f64 {
        let cell = self.volatility.degree();
        let mut pace = match &self.mode {
            Mode::Competing => self.competing_rate(),
            Mode::Scalable(_) => {
                self.capacity * (1.0 + ((0.001 - self.expected_wait(t)) / QUEUE_TIME).clamp(-FALL, 0.0))
            }
            Mode::Start(_) | Mode::Delay => {
                let rise = if self.is_starting() { 0.0 } else { RISE };
                let time = QUEUE_TIME * (1.0 - 0.5 * cell);
                let missing = self.target_queue() - self.expected_wait(t);
                self.capacity * (1.0 + (missing / time).clamp(-FALL, rise))
            }
        };
        if t < self.dip_until || self.loss_test.is_running() {
            pace = pace.min(TEST_RATE * self.capacity);
        }
        if self.outage.is_on {
            pace = pace.min(Outage::RATE * (1.0 - 0.7 * cell) * self.capacity);
        }
        pace
    }

    fn competing_rate(&self) -> f64 {
        self.competing.rate(self.config.packet, self.round_trip.longest()).max(self.least_rate())
    }

    /// What may be in flight, bytes.
    fn window(&self) -> f64 {
        let rate = self.capacity / 8.0;
        let (least, cell) = (self.round_trip.least, self.volatility.degree());
        let window = match &self.mode {
            Mode::Competing => self.competing.window(self.config.packet),
            Mode::Scalable(_) => rate * (least + 0.7 * self.interval + 0.0015),
            Mode::Start(_) | Mode::Delay => {
                let jitter = 2.0 * (1.0 - cell) * self.jitter.raw();
                let queue = (2.0 - cell) * self.target_queue();
                let reports = (2.5 - 1.5 * cell) * self.interval;
                let window = rate * (least + reports + 0.030 * (1.0 - cell) + queue + jitter);
                if self.is_starting() { 2.0 * window } else { window }
            }
        };
        window.max(10.0 * self.config.packet.min(3000.0))
    }

    fn pattern(&self, t: f64) -> Pattern {
        let packet_time = |rate: f64| self.config.packet * 8.0 / rate;
        if self.is_competing() || self.competing.is_suspicious(t) {
            Pattern::Random(if packet_time(self.pace(t)) > 0.012 { 2 } else { 3 })
        } else if self.is_starting() {
            Pattern::Train
        } else if packet_time(self.capacity) > 0.005 {
            Pattern::SparsePairs
        } else {
            Pattern::Single
        }
    }

    fn on_packet(&mut self, now: Timestamp, t: f64, report: &PacketReport) {
        let id = report.packet.id.0;
        self.history.on_report(id);
        let sent = self.seconds(report.sent);
        match report.fate {
            Fate::Received { at, ecn } => {
                if !matches!(&self.mode, Mode::Scalable(scalable) if !scalable.counts(sent)) {
                    self.received += 1.0;
                    self.marked += f64::from(ecn == Ecn::Ce);
                }
                if let Some(at) = at {
                    self.on_arrival(now, t, report, sent, at);
                }
            }
            Fate::Lost => {
                self.fates.on_lost(sent);
                let wait = self.delay.newest().map_or(0.0, |newest| newest.wait);
                let overflows = self.overflow.on_loss(t, wait);
                if overflows && matches!(self.mode, Mode::Delay) {
                    self.bound_queue(0.5);
                }
                if self.is_competing() {
                    self.competing.on_loss(t, wait, self.round_trip.smoothed);
                }
            }
            Fate::Late { at } => {
                self.fates.on_late(sent);
                if let Some(at) = at {
                    self.on_arrival(now, t, report, sent, at);
                }
            }
        }
    }

    fn on_arrival(&mut self, now: Timestamp, t: f64, report: &PacketReport, sent: f64, at: RemoteTimestamp) {
        if self.is_competing() {
            self.delay.hold_base(now);
        }
        let id = report.packet.id.0;
        let packet = self.history.get(id);
        let arrival = Arrival {
            id,
            sent,
            at: at.as_nanos() as f64 * 1e-9,
            size: report.packet.size.as_bytes_f64(),
            wait: self.delay.wait(now, at.transit_from(report.sent)),
            predicted: packet.map_or(0.0, history::Sent::wait),
            grouped: packet.is_some_and(|packet| packet.grouped),
        };
        if let Some(pair) = self.delay.on_arrival(arrival) {
            self.jitter.on_pair(t, &pair);
            self.competing.interleaving.on_pair(t, &pair, self.loss);
            if let Mode::Start(start) = &mut self.mode {
                start.on_pair(&pair);
            }
        }
        self.overflow.on_arrival(arrival.wait);
        self.arrived.add(t, arrival.size);
        self.round_trip.on_packet(t, t - sent);
    }

    /// All loops, once a report.
    fn update(&mut self, now: Timestamp, t: f64) {
        let passed = self.updated.map_or(0.0, |at| (t - at).clamp(0.0, 0.25));
        self.updated = Some(t);
        self.delay.measure(self.jitter.get());
        self.jitter.update(t);
        self.overflow.fade(t);
        let mature = self.fates.between(t - 6.0, t - 0.4);
        self.loss = if mature.sent >= 20.0 { mature.ratio().min(0.9) } else { 0.0 };
        if self.delay.queue > 0.001 {
            self.last_waited = t;
        }
        let before = self.capacity;
        match self.mode {
            Mode::Start(_) => self.start(now, t, passed),
            Mode::Delay => self.keep_delay(now, t, passed),
            Mode::Competing => self.compete(now, t),
            Mode::Scalable(_) => self.respond_to_marks(now, t, passed),
        }
        self.look_for_marks(now, t);
        (self.received, self.marked) = (0.0, 0.0);
        self.relax_queue_bound(passed);
        self.clip();
        self.volatility.update(t, self.delay.queue, matches!(self.mode, Mode::Delay));
        self.continue_model(before);
        self.log_drift(now);
    }

    /// The queue model runs on from the packet that was measured best.
    fn continue_model(&mut self, before: f64) {
        let fell = self.capacity < 0.9 * before;
        if let Some((id, wait)) = self.delay.anchor {
            self.history.rebase(id, wait, self.capacity, fell);
            self.history.forget_before(id);
        }
        if fell {
            self.delay.accept_waits();
        }
    }

    fn start(&mut self, now: Timestamp, t: f64, passed: f64) {
        let packet = self.config.packet;
        let Mode::Start(start) = &self.mode else { return };
        let threshold = 0.004 + 4.0 * self.jitter.raw().min(0.050);
        let losses = self.fates.between(t - 0.31, t);
        let queue = Gauge::new("queue_delay", self.delay.queue, "s");
        if let Some(beyond) = self.delay.least_error_of_three().filter(|beyond| *beyond > threshold) {
            let reason = Reason::new("queue at the start", Gauge { value: beyond, ..queue }, threshold);
            self.leave_start(
                now,
                reason,
                self.delay.arrival_rate(self.jitter.get()).map(|rate| rate / (1.0 - self.loss)),
            );
        } else if losses.sent > 20.0 && losses.ratio() > 0.3 {
            let reason = Reason::new("loss at the start", Gauge::new("loss", losses.ratio(), ""), 0.3);
            let rate = self.arrived.rate(t, 0.1);
            self.leave_start(now, reason, Some(rate));
        } else if start.has_reached(self.capacity, packet) {
            self.leave_start(now, Reason::new("capacity of the packet trains", queue, threshold), None);
        } else {
            let growth = libm::pow(start.growth(self.capacity, packet), passed / self.loop_delay());
            let bound = 2.5 * self.sent.rate(t, 0.1).max(self.arrived.rate(t, 0.1)).max(300e3);
            self.capacity = (self.capacity * growth).min(bound.max(self.capacity));
            if self.capacity > 1.2 * self.most_rate() {
                self.leave_start(now, Reason::new("largest rate", queue, threshold), None);
            }
        }
    }

    fn leave_start(&mut self, now: Timestamp, reason: Reason, capacity: Option<f64>) {
        self.change(now, reason, |this| {
            this.capacity = capacity.unwrap_or(this.capacity);
            this.mode = Mode::Delay;
            this.clip();
        });
    }

    fn loop_delay(&self) -> f64 {
        self.round_trip.loop_delay(self.interval) + self.reordering() * self.jitter.get().min(0.060)
    }

    fn keep_delay(&mut self, now: Timestamp, t: f64, passed: f64) {
        self.observe_capacity(t, passed);
        self.fall_at_once(now, t);
        self.keep_base_true(t);
        self.test_loss(now, t);
        let seen = self.observed(t);
        if self.competing.finds_others(&seen, self.config.packet) {
            let auc = Gauge::new("interleaving", self.competing.interleaving.auc, "");
            self.change(now, Reason::new("foreign packets between ours", auc, 0.68), |this| {
                this.mode = Mode::Competing;
                this.competing.enter(&seen, this.config.packet);
            });
        }
    }

    /// What was sent is known, and delay shows what was served: the error of the prediction corrects the capacity.
    fn observe_capacity(&mut self, t: f64, passed: f64) {
        let (cell, loop_delay) = (self.volatility.degree(), self.loop_delay());
        let predicted = self.delay.queue - self.delay.error;
        let error = self.delay.error;
        // A millisecond where nothing was to wait is the service of one packet or the clock's grain.
        let error =
            if error > 0.0 && predicted < 0.001 { (error - 0.001).max(0.0) } else { error } / loop_delay;
        let mut gain = OBSERVER_GAIN * (1.0 + 1.5 * cell);
        if error < 0.0 && t - self.last_waited > loop_delay {
            gain *= EMPTY_GAIN;
        }
        let proven = self.loss_test.channel.min(self.loss);
        let bound = 1.5 * self.arrived.rate(t, 0.5) / (1.0 - proven);
        let may_grow = t > self.loss_test.hold_until
            && self.capacity < bound
            && !self.loss_test.is_unproven(&self.fates, t);
        if error > 0.0 || may_grow {
            self.capacity *= libm::exp((-gain * error * passed / loop_delay).clamp(-0.3, 0.3));
        }
    }

    /// A queue far above its target, or one that rises packet by packet: the capacity is what arrives.
    fn fall_at_once(&mut self, now: Timestamp, t: f64) {
        let (jitter, raw) = (self.jitter.get(), self.jitter.raw());
        let threshold = 2.0 * self.target_queue() + 0.004;
        if self.delay.queue <= threshold && !self.delay.rises_sharply(raw) {
            return;
        }
        self.delay.forget_rise();
        let Some(mut rate) = self.delay.arrival_rate(jitter) else { return };
        let cell = self.volatility.degree();
        if cell > 0.0 {
            rate = rate.max(0.75 * cell * self.arrived.rate(t, self.loop_delay().max(0.1)));
        }
        let capacity = rate / (1.0 - self.loss);
        if capacity < self.capacity {
            let queue = Gauge::new("queue_delay", self.delay.queue, "s");
            self.change(now, Reason::new("queue above its bound", queue, threshold), |this| {
                this.capacity = capacity;
                this.clip();
            });
        }
    }

    /// A queue that was not seen empty for 5 s may be a wrong base: less is sent for a moment.
    fn keep_base_true(&mut self, t: f64) {
        let target = self.target_queue();
        if self.delay.queue < (target / 4.0).max(0.0015) {
            self.last_empty = t;
        }
        if t - self.last_empty > 5.0 {
            self.dip_until = t + self.loop_delay() + 6.0 * target;
            self.last_empty = t;
        }
    }

    fn test_loss(&mut self, now: Timestamp, t: f64) {
        let verdict = self.loss_test.update(t, self.round_trip.smoothed, self.loss, &self.fates);
        if let Some(Verdict::FollowsRate(less)) = verdict {
            self.bound_queue(0.4);
            let fell = Gauge::new("loss_reduction", less, "");
            self.change(now, Reason::new("loss follows the rate", fell, 0.02), |this| {
                this.capacity *= 0.85;
                this.clip();
            });
        }
    }

    /// The queue overflows: the target is `share` of the longest wait at most.
    fn bound_queue(&mut self, share: f64) {
        self.queue_bound = self.queue_bound.min(share * self.delay.longest).max(LEAST_QUEUE_BOUND);
    }

    /// The bound of an overflow grows where the queue reaches it without loss, and is forgotten over ten minutes where
    /// it does not. Flows that share a short queue so find the same bound.
    fn relax_queue_bound(&mut self, passed: f64) {
        if !self.queue_bound.is_finite() {
            return;
        }
        let is_refuted = self.delay.queue > 0.9 * self.queue_bound && self.loss < 0.01;
        self.queue_bound *= libm::exp(passed / if is_refuted { 4.0 } else { 600.0 });
        if self.queue_bound > 1.0 || self.delay.queue > 4.0 * self.queue_bound + 0.004 {
            self.queue_bound = f64::INFINITY;
        }
    }

    fn observed(&mut self, t: f64) -> Observed {
        Observed {
            t,
            queue: self.delay.queue,
            target_queue: self.target_queue(),
            smoothed_rtt: self.round_trip.smoothed,
            least_rtt: self.round_trip.least,
            longest_rtt: self.round_trip.longest(),
            loop_delay: self.loop_delay(),
            interval: self.interval,
            received: self.received,
            arrival_rate: self.arrived.rate(t, 0.5),
            jitter: self.jitter.get(),
        }
    }

    fn compete(&mut self, now: Timestamp, t: f64) {
        let seen = self.observed(t);
        let reason = self.competing.update(&seen, self.config.packet);
        self.capacity = self.competing_rate();
        if let Some(cause) = reason {
            let queue = Gauge::new("queue_delay", seen.queue, "s");
            self.change(now, Reason::new(cause, queue, seen.target_queue), |this| {
                this.mode = Mode::Delay;
                this.capacity = this.arrived.rate(t, 0.3);
                this.last_empty = t;
                if cause == Competing::LONGER_PATH {
                    this.forget_path();
                }
                this.clip();
            });
        }
    }

    /// Delays are measured anew.
    fn forget_path(&mut self) {
        self.delay.reset();
        self.round_trip.reset();
    }

    /// Only an L4S queue marks packets of ECT(1) at all.
    fn look_for_marks(&mut self, now: Timestamp, t: f64) {
        if self.marked == 0.0 || self.config.ecn != Ecn::Ect1 || matches!(self.mode, Mode::Scalable(_)) {
            return;
        }
        let marked = Gauge::new("marked_packets", self.marked, "");
        self.change(now, Reason::new("first congestion marks", marked, 0.0), |this| {
            if this.is_starting() {
                this.capacity = this.arrived.rate(t, 0.1).max(0.5 * this.capacity);
            }
            this.mode = Mode::Scalable(Scalable::begin(t));
        });
    }

    fn respond_to_marks(&mut self, now: Timestamp, t: f64, passed: f64) {
        let (rtt, capacity, packet) = (self.round_trip.smoothed, self.capacity, self.config.packet);
        let counts = (self.received, self.marked);
        let sent = self.sent.rate(t, 0.5);
        let Mode::Scalable(scalable) = &mut self.mode else { return };
        let (capacity, is_cut) = scalable.update(t, passed, rtt, capacity, packet, counts);
        let capacity = if sent > 0.0 { capacity.min(1.5 * sent) } else { capacity };
        let (alpha, is_over) = (scalable.alpha(), scalable.is_over(t));
        let reason = Reason::new("congestion marks", Gauge::new("alpha", alpha, ""), 0.0);
        self.decide(now, |this| {
            this.capacity = capacity;
            this.clip();
            is_cut.then_some(reason)
        });
        if is_over {
            self.change(now, Reason::new("no marks for 10 s", Gauge::new("alpha", alpha, ""), 0.0), |this| {
                this.mode = Mode::Delay;
            });
        }
    }

    /// The observer moves the capacity with each report: a decision stands for each twentieth of it.
    fn log_drift(&mut self, now: Timestamp) {
        let (rate, logged) = (self.decided_rate(), self.decisions.rate());
        if (rate.as_bps_f64() - logged.as_bps_f64()).abs() < 0.05 * logged.as_bps_f64() {
            return;
        }
        self.decisions.push(Decision {
            at: now,
            cause: "capacity observed",
            signal: Gauge::new("queue_delay", self.delay.queue, "s"),
            threshold: self.target_queue(),
            before: logged,
            after: rate,
            phase: self.phase(),
        });
    }

    fn set_limits(&mut self, now: Timestamp, min: Bitrate, start: Bitrate, max: Bitrate) {
        let is_first = self.updated.is_none();
        self.change(now, Reason::limits(Gauge::new("capacity", self.capacity, "bit/s"), max), |this| {
            this.limits = RateRange::new(min, max);
            if is_first {
                this.capacity = start.as_bps_f64();
            }
            this.clip();
        });
    }

    fn silence(&self) -> TimeDelta {
        TimeDelta::from_secs_f64((4.0 * self.round_trip.smoothed).clamp(1.0, 10.0))
    }

    /// The third packet behind the newest that arrived is overdue: all behind it may be lost.
    fn look_for_outage(&mut self, t: f64) {
        let Some(newest) = self.delay.newest() else { return };
        let slack = self.interval + self.tolerance() + Outage::SLACK;
        let limit = self.round_trip.least + self.delay.queue + slack;
        let is_overdue =
            self.history.get(newest.id.saturating_add(3)).is_some_and(|packet| t - packet.at > limit);
        self.outage.is_on |= is_overdue && !self.is_starting();
    }

    fn outage_due(&self) -> Option<Timestamp> {
        let (origin, due) = self.origin.zip(self.outage.due)?;
        Some(origin + TimeDelta::from_secs_f64(due))
    }

    fn on_backlog(&mut self, waiting: DataSize) {
        self.leftover = (waiting.as_bytes_f64() - 1.05 * self.frame).max(0.0);
        self.frame = 0.0;
    }
}

impl RateController for Seaway {
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking { ecn: self.config.ecn, tag: None }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let t = self.seconds(now);
        let size = packet.size.as_bytes_f64();
        let pattern = self.pattern(t);
        let grouped = pattern != Pattern::Single && self.groups.is_inside();
        self.history.on_sent(packet.id.0, t, size, grouped, self.capacity);
        self.groups.on_sent(pattern);
        self.sent.add(t, size);
        self.fates.on_sent(t);
        let silence = self.silence();
        self.no_feedback.on_sent(now, || silence);
        self.look_for_outage(t);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let t = self.seconds(now);
        for report in feedback.packets {
            self.on_packet(now, t, report);
        }
        let Some(newest) = self.delay.newest().filter(|_| self.received > 0.0) else { return };
        let sample = feedback.rtt.or(Some(TimeDelta::from_secs_f64(t - newest.sent)));
        if let Some(sample) = sample.and_then(plausible_rtt) {
            self.round_trip.on_sample(t, sample);
        }
        let slack = self.tolerance() + Outage::SLACK;
        let due = t + self.round_trip.least + self.delay.queue + 2.0 * self.interval + slack;
        self.outage = Outage { is_on: false, due: Some(due) };
        self.no_feedback.start(now, self.silence());
        self.update(now, t);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => self.set_limits(now, min, start, max),
            LocalSignal::Frame { size, .. } => self.frame = size.as_bytes_f64(),
            LocalSignal::Backlog { waiting, .. } => self.on_backlog(waiting),
            LocalSignal::FeedbackInterval(interval) => {
                self.interval = interval.as_secs_f64().clamp(0.005, 1.0);
                self.no_feedback.set_feedback_interval(interval);
            }
            LocalSignal::RouteChanged => self.forget_path(),
            LocalSignal::Paused(_) | LocalSignal::LinkHint { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.outage_due().is_some_and(|due| due <= now) {
            self.outage.due = None;
            self.outage.is_on |= self.history.in_flight() > 0.0 && !self.is_starting();
        }
        if self.no_feedback.expired(now) {
            let waited = Gauge::new("round_trip_time", self.round_trip.smoothed, "s");
            self.change(now, Reason::new("no feedback", waited, self.silence().as_secs_f64()), |this| {
                this.capacity *= 0.5;
                this.clip();
            });
            self.no_feedback.restart(now, TimeDelta::from_millis(500));
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let outage =
            self.origin.zip(self.outage.due).map(|(origin, due)| origin + TimeDelta::from_secs_f64(due));
        [outage, self.no_feedback.due()].into_iter().flatten().min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        let t = self.history.last_departure().unwrap_or(0.0).max(self.updated.unwrap_or(0.0));
        let rate = match self.pattern(t) {
            Pattern::Single => self.pace(t),
            _ if self.groups.is_inside() => 1e12,
            _ => self.pace(t) / self.groups.last(),
        };
        let in_flight = self.history.in_flight();
        let may_leave_anyway = in_flight <= 0.0 || self.outage.is_on;
        let least = if may_leave_anyway { self.config.packet } else { 0.0 };
        let window = (self.window() - in_flight).max(least);
        Allowance {
            rate: Bitrate::from_bps_f64(rate),
            gap: TimeDelta::ZERO,
            credit: TimeDelta::from_micros(500),
            window: Some(DataSize::from_bytes(window as u64)),
        }
    }

    fn target(&self) -> Target {
        let capacity = if self.is_competing() { self.competing_rate() } else { self.capacity };
        let surplus = if self.is_starting() { 1.0 } else { 1.04 };
        let drain = (self.leftover * 8.0 / 0.2).min(0.5 * capacity);
        let rate = Bitrate::from_bps_f64(surplus * capacity - drain);
        Target { rate: self.limits.clamp(rate), channel_loss: Probability::clamped(self.loss_test.channel) }
    }

    fn phase(&self) -> &'static str {
        match self.mode {
            Mode::Start(_) => "start",
            Mode::Delay => "delay",
            Mode::Competing => "competing",
            Mode::Scalable(_) => "scalable",
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("capacity", self.capacity, "bit/s"));
        visit(Gauge::new("queue_delay", self.delay.queue * 1e3, "ms"));
        visit(Gauge::new("target_queue", self.target_queue() * 1e3, "ms"));
        visit(Gauge::new("prediction_error", self.delay.error * 1e3, "ms"));
        visit(Gauge::new("jitter", self.jitter.raw() * 1e3, "ms"));
        visit(Gauge::new("volatility", self.volatility.degree(), ""));
        visit(Gauge::new("reordered", self.delay.reordered(), ""));
        visit(Gauge::new("loss", self.loss, ""));
        visit(Gauge::new("channel_loss", self.loss_test.channel, ""));
        visit(Gauge::new("interleaving", self.competing.interleaving.auc, ""));
        visit(Gauge::new("window", self.competing.window_packets(), "packets"));
        visit(Gauge::new("rtt", self.round_trip.smoothed * 1e3, "ms"));
        visit(Gauge::new("least_rtt", self.round_trip.least * 1e3, "ms"));
    }
}

impl LogsDecisions for Seaway {
    const LOGS_PHASES: bool = true;

    fn decided_rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.capacity)
    }
}
