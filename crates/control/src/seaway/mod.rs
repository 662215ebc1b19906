//! Our own controller: it keeps a short queue where it alone fills it, distinguishes loss of the channel from loss
//! of a full queue by a test, jitter from queueing, and other flows from a cell's swings. `docs/controllers/seaway.md` has the
//! equations and the reason of each loop.

mod competing;
mod config;
mod delay;
mod drain;
mod groups;
mod history;
mod jitter;
mod loops;
mod loss;
mod minimum;
mod others;
mod outage;
mod pace;
mod rate;
mod route;
mod scalable;
mod start;

pub use config::SeawayConfig;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::plausible_rtt;
use crate::feedback::{Fate, Feedback, PacketReport};
use crate::fixed::PeriodicFeedback;
use crate::info::{ControllerInfo, WeightOption, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options::FEEDBACK_INTERVAL;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use competing::Competing;
use config::{LEAST_RATE, LEAST_TARGET, TARGET_AT_1_MBPS};
use delay::{Arrival, DelayMeter, RoundTrip};
use drain::Drain;
use groups::{Groups, Pattern};
use history::{Departing, SendHistory};
use jitter::{JitterMeter, Volatility};
use loss::{Fates, LossTest, Overflow};
use outage::Outage;
use rate::RateBins;
use route::RouteTest;
use scalable::Scalable;
use seaway_units::{Bitrate, DataSize, Ecn, Probability, RateRange, RemoteTimestamp, TimeDelta, Timestamp};
use start::{Cut, Start};

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
    /// The target queue of this capacity on a path without jitter, s.
    plain_target: f64,
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
    /// Losses that cut the start short.
    cut: Cut,
    /// Whether the longest delays come with losses.
    overflow: Overflow,
    /// A bound on the target queue that overflows taught.
    queue_bound: f64,
    /// What it was when the last overflow was found.
    bound_before: f64,
    competing: Competing,
    route: RouteTest,
    groups: Groups,
    updated: Option<f64>,
    /// When a timer was last handled: in silence nothing else shows how late it is.
    expired: f64,
    /// When a wait of over 1 ms was last seen.
    last_waited: f64,
    /// When the queue was last seen empty, and until when less is sent to see it so.
    last_empty: f64,
    dip_until: f64,
    drain: Drain,
    outage: Outage,
    no_feedback: NoFeedbackTimer,
    /// A packet was reported to have arrived.
    has_arrived: bool,
    /// How often the peer reports was measured.
    is_interval_known: bool,
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
        let mut seaway = Self {
            config,
            origin: None,
            limits: RateRange { min: Bitrate::ZERO, max: Bitrate::MAX },
            interval: config.interval.as_secs_f64(),
            mode: Mode::Start(Start::new()),
            capacity: 300e3,
            plain_target: 0.0,
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
            cut: Cut::None,
            overflow: Overflow::new(),
            queue_bound: f64::INFINITY,
            bound_before: f64::INFINITY,
            competing: Competing::new(),
            route: RouteTest::new(),
            groups: Groups::new(),
            updated: None,
            expired: f64::NEG_INFINITY,
            last_waited: 0.0,
            last_empty: 0.0,
            dip_until: f64::NEG_INFINITY,
            drain: Drain::new(),
            outage: Outage::default(),
            has_arrived: false,
            is_interval_known: false,
            no_feedback: NoFeedbackTimer::default(),
            received: 0.0,
            marked: 0.0,
            leftover: 0.0,
            frame: 0.0,
            decisions: DecisionLog::new(),
        };
        seaway.clip();
        seaway
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

    /// After each change of the capacity.
    fn clip(&mut self) {
        self.capacity = self.capacity.min(2.5 * self.most_rate()).max(self.least_rate());
        let relative = libm::cbrt(1e6 * self.config.weight / self.capacity);
        self.plain_target = (TARGET_AT_1_MBPS * relative).max(LEAST_TARGET);
    }

    fn is_starting(&self) -> bool {
        matches!(self.mode, Mode::Start(_))
    }

    fn on_packet(&mut self, now: Timestamp, t: f64, report: &PacketReport) {
        let id = report.packet.id.0;
        self.history.on_report(id);
        let sent = self.seconds(report.sent);
        match report.fate {
            Fate::Received { at, ecn } => {
                self.has_arrived = true;
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
                self.outage.on_lost(t, id);
                let wait = self.delay.newest().map_or(0.0, |newest| newest.wait);
                let overflows = self.overflow.on_loss(t, wait);
                if overflows {
                    self.bound_before = self.queue_bound;
                }
                if overflows && matches!(self.mode, Mode::Delay) {
                    self.bound_queue(0.5);
                }
                if self.is_competing() {
                    self.competing.on_loss(t, wait, self.round_trip.smoothed);
                }
            }
            Fate::Late { at } => {
                self.fates.on_late(sent);
                self.outage.on_late();
                if self.overflow.on_late() {
                    self.queue_bound = self.bound_before;
                }
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
        let packet = self.history.get(id).copied();
        let is_newest = self.delay.newest().is_none_or(|newest| id > newest.id);
        let wait = self.delay.wait(now, at.transit_from(report.sent));
        let arrival = Arrival {
            id,
            sent,
            at: at.as_nanos() as f64 * 1e-9,
            size: report.packet.size.as_bytes_f64(),
            wait: packet.map_or(wait, |packet| packet.true_wait(wait, self.capacity)),
            predicted: packet.map_or(0.0, |packet| packet.wait()),
            grouped: packet.is_some_and(|packet| packet.grouped),
        };
        if let Some(pair) = self.delay.on_arrival(arrival) {
            if !self.drain.is_after_fall(t) {
                self.jitter.on_pair(t, &pair);
            }
            self.competing.others.interleaving.on_pair(t, &pair, self.loss);
            self.route.on_pair(&pair, arrival.size);
            if let Mode::Start(start) = &mut self.mode {
                start.on_pair(&pair);
            }
        }
        if is_newest && let Some(packet) = packet {
            self.route.on_arrival(sent, packet.before, packet.alone, wait);
        }
        self.overflow.on_arrival(arrival.wait);
        self.arrived.add(t, arrival.size);
        self.round_trip.on_packet(t, t - sent);
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
        let limit = self.round_trip.least + self.delay.queue + self.interval + self.outage_slack(t);
        let is_overdue =
            self.history.get(newest.id.saturating_add(3)).is_some_and(|packet| t - packet.at > limit);
        self.outage.is_on |= is_overdue && !self.is_starting();
    }

    /// Reports may be late by so much at `t`.
    fn outage_slack(&self, t: f64) -> f64 {
        self.tolerance() + self.outage.slack(t, self.loss_test.channel, self.volatility.degree())
    }

    fn outage_due(&self) -> Option<Timestamp> {
        let (origin, due) = self.origin.zip(self.outage.due)?;
        Some(origin + TimeDelta::from_secs_f64(due))
    }

    /// The latest time known.
    fn latest(&self) -> f64 {
        let departure = self.history.last_departure().unwrap_or(0.0);
        departure.max(self.updated.unwrap_or(0.0)).max(self.expired)
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
        let is_limited = packet.backlog == DataSize::ZERO;
        let departing = Departing { id: packet.id.0, size, grouped, is_limited };
        self.history.on_sent(t, departing, self.capacity);
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
        if self.received == 0.0 || self.delay.newest().is_none() {
            return;
        }
        if let Some(sample) = feedback.rtt.and_then(plausible_rtt) {
            self.round_trip.on_sample(t, sample);
        }
        let due = self.round_trip.least + self.delay.queue + 2.0 * self.interval + self.outage_slack(t);
        self.outage.restart(t + due);
        self.no_feedback.start(now, self.silence());
        self.update(now, t);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => self.set_limits(now, min, start, max),
            LocalSignal::Frame { size, .. } => self.frame = size.as_bytes_f64(),
            LocalSignal::Backlog { waiting, .. } => self.on_backlog(waiting),
            LocalSignal::FeedbackInterval(interval) => {
                self.is_interval_known = true;
                self.interval = interval.as_secs_f64().clamp(0.005, 1.0);
                self.no_feedback.set_feedback_interval(interval);
            }
            LocalSignal::RouteChanged => self.forget_path(),
            LocalSignal::Paused(_) | LocalSignal::LinkHint { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        self.expired = self.seconds(now);
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
            // Whatever left may be lost, the first packets of all too: only what still arrives can say more.
            self.outage.is_on |= self.history.in_flight() > 0.0;
            self.no_feedback.restart(now, TimeDelta::from_millis(500));
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        [self.outage_due(), self.no_feedback.due()].into_iter().flatten().min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        let t = self.latest();
        let rate = match self.pattern(t) {
            Pattern::Single => self.pace(t),
            _ if self.groups.is_inside() => 1e12,
            _ => self.pace(t) / self.groups.last(),
        };
        let in_flight = self.history.in_flight();
        let may_leave_anyway = in_flight <= 0.0 || self.outage.is_on;
        let least = if may_leave_anyway { self.config.packet } else { 0.0 };
        let window = (self.window(t) - in_flight).max(least);
        Allowance {
            credit: TimeDelta::from_micros(500),
            window: Some(DataSize::from_bytes(window as u64)),
            ..Allowance::paced(Bitrate::from_bps_f64(rate))
        }
    }

    fn is_competing(&self) -> bool {
        matches!(self.mode, Mode::Competing)
    }

    fn least_used(&self) -> f64 {
        // The capacity is measured from trains of packets, and holds while less is sent.
        0.45
    }

    fn target(&self) -> Target {
        let capacity = if self.is_competing() { self.competing_rate() } else { self.capacity };
        let capacity = capacity.max(self.least_of_tests(self.latest()));
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
        visit(Gauge::new("interleaving", self.competing.others.interleaving.auc, ""));
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
