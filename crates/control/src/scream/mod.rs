//! Self-clocked rate adaptation for multimedia: RFC 8298, and its successor's draft with L4S.

mod competing;
mod config;
mod flight;
mod receiver;
mod summary;
mod v1;
mod v2;

pub use config::{ScreamConfig, Version};
pub use receiver::ScreamFeedback;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{BaseDelay, Ewma, plausible_rtt};
use crate::feedback::{Fate, Feedback, PacketReport};
use crate::info::{ControllerInfo, FlowConfig, Kind, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::packet::{Marking, PacketId, SentPacket, Subflow};
use crate::signal::LocalSignal;
use config::FIRST_RTT;
use flight::Flight;
use seaway_units::{Bitrate, DataSize, Ecn, RateRange, TimeDelta, Timestamp};
use summary::FeedbackSummary;
use v1::V1;
use v2::V2;

/// The sending half of SCReAM: a window, and the encoder's rate that fits it. Both begin at their least; the
/// limits' `start` is not used.
#[derive(Debug, Clone)]
pub struct Scream {
    flow: FlowConfig,
    core: Core,
    limits: RateRange,
    flight: Flight,
    /// Fifty minima of ten seconds each (the authors' code).
    base: BaseDelay<50>,
    delay: f64,
    /// Seconds.
    rtt: Ewma,
    waiting: DataSize,
    oldest: TimeDelta,
    no_feedback: NoFeedbackTimer,
    /// How often the timer ran out, without feedback since.
    silences: u32,
    /// The newest packet, and the newest that silence gave up.
    newest: Option<PacketId>,
    written_off: Option<PacketId>,
    /// Version 1: when the encoder's rate is looked at again, and whether anything happened since.
    rate_at: Option<Timestamp>,
    active: bool,
    decisions: DecisionLog,
}

#[derive(Debug, Clone)]
enum Core {
    One(Box<V1>),
    Two(Box<V2>),
}

/// One of fifty parts of the history of base delay.
const BASE_BUCKET: TimeDelta = TimeDelta::from_secs(10);
/// Silence after which what is out is given up; again after twice as long, and so on to eight times (ours).
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
/// `RATE_ADJUST_INTERVAL`.
const RATE_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
/// A higher queueing delay is taken for an error and left out, s.
const LONGEST_DELAY: f64 = 60.0;

impl Scream {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        kind: Kind::Window,
        options: &[ScreamConfig::OPTIONS.group],
        ..ControllerInfo::new("scream", "RFC 8298; draft-ietf-ccwg-rfc8298bis-screamv2", |options, flow| {
            let config = options.read(&ScreamConfig::OPTIONS, ScreamConfig::new(Version::Two, flow))?;
            Ok(pair(Self::new(config, flow), ScreamFeedback::new(config.version)))
        })
    };

    /// A sender with the least window.
    pub fn new(config: ScreamConfig, flow: FlowConfig) -> Self {
        Self {
            flow: FlowConfig { ecn: config.ecn, ..flow },
            core: match config.version {
                Version::One => Core::One(Box::new(V1::new(config))),
                Version::Two => Core::Two(Box::new(V2::new(config))),
            },
            limits: RateRange::ALL,
            flight: Flight::new(),
            base: BaseDelay::new(BASE_BUCKET),
            delay: 0.0,
            rtt: Ewma::new(0.875),
            waiting: DataSize::ZERO,
            oldest: TimeDelta::ZERO,
            no_feedback: NoFeedbackTimer::default(),
            silences: 0,
            newest: None,
            written_off: None,
            rate_at: None,
            active: false,
            decisions: DecisionLog::new(),
        }
    }

    fn rate(&self) -> Bitrate {
        let rate = match &self.core {
            Core::One(v1) => v1.rate(),
            Core::Two(v2) => v2.rate(),
        };
        self.limits.clamp(Bitrate::from_bps_f64(rate))
    }

    /// Does something that names its cause.
    fn act(&mut self, now: Timestamp, act: impl FnOnce(&mut Self) -> &'static str) {
        self.decide(now, |scream| {
            let cause = act(scream);
            let delay = Gauge::new("queueing_delay", scream.delay, "s");
            Some(Reason::new(cause, delay, scream.delay_target()))
        });
    }

    fn delay_target(&self) -> f64 {
        match &self.core {
            Core::One(v1) => v1.delay_target(),
            Core::Two(v2) => v2.delay_target(),
        }
    }

    fn silence(&self) -> TimeDelta {
        let rtt = TimeDelta::from_secs_f64(self.rtt.get().unwrap_or(0.0));
        (self.no_feedback.at_least_two_reports(SILENCE) + rtt) * (1 << self.silences.min(3))
    }

    /// Sums up one feedback message.
    fn summary(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> FeedbackSummary {
        let mut newest: Option<&PacketReport> = None;
        let (mut received, mut lost, mut marked, mut marked_bytes) = (0, 0, 0, 0.0);
        let mut delays = (f64::INFINITY, 0.0_f64);
        for report in feedback.packets {
            match report.fate {
                Fate::Received { at, ecn } => {
                    received += 1;
                    if let Some(at) = at {
                        let delay = self.base.update(now, at.transit_from(report.sent)).as_secs_f64();
                        let delay = delay.min(LONGEST_DELAY);
                        delays = (delays.0.min(delay), delays.1.max(delay));
                    }
                    if ecn == Ecn::Ce {
                        marked += 1;
                        marked_bytes += report.packet.size.as_bytes_f64();
                    }
                    newest = newest.filter(|newest| newest.packet.id > report.packet.id).or(Some(report));
                }
                // What silence gave up was answered then.
                Fate::Lost => lost += u32::from(Some(report.packet.id) > self.written_off),
                Fate::Late { .. } => {}
            }
        }
        self.measure_rtt(feedback.rtt.or_else(|| newest.map(|newest| now.since(newest.sent))));
        let delay = newest.and_then(|newest| self.measure_delay(now, newest));
        let acked = newest.map_or(0.0, |newest| self.flight.advance(newest.packet.id));
        FeedbackSummary {
            now: now.as_secs_f64(),
            delay,
            delays,
            rtt: self.rtt.get().unwrap_or(FIRST_RTT),
            acked,
            acked_marked: marked_bytes.min(acked),
            flight: self.flight.bytes(),
            received,
            lost,
            marked,
        }
    }

    fn measure_rtt(&mut self, sample: Option<TimeDelta>) {
        if let Some(sample) = sample.and_then(plausible_rtt) {
            self.rtt.update(sample.max(0.001));
        }
    }

    fn measure_delay(&mut self, now: Timestamp, newest: &PacketReport) -> Option<f64> {
        let Fate::Received { at: Some(at), .. } = newest.fate else { return None };
        let delay = self.base.update(now, at.transit_from(newest.sent));
        self.delay = delay.as_secs_f64().min(LONGEST_DELAY);
        Some(self.delay)
    }

    fn give_up(&mut self, now: Timestamp) {
        self.flight.clear();
        self.written_off = self.newest;
        let (limits, rtt) = (self.limits, self.rtt.get());
        self.act(now, |scream| {
            match &mut scream.core {
                Core::One(v1) => v1.back_off(now.as_secs_f64(), limits),
                Core::Two(v2) => v2.back_off(now.as_secs_f64(), rtt, limits),
            }
            "no feedback"
        });
        // The next packet starts the timer again.
        self.no_feedback.stop();
        self.silences = self.silences.saturating_add(1);
    }
}

impl LogsDecisions for Scream {
    const LOGS_PHASES: bool = true;

    fn decided_rate(&self) -> Bitrate {
        self.rate()
    }
}

impl RateController for Scream {
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking { ecn: self.flow.ecn, tag: None }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.flight.on_sent(packet);
        self.newest = Some(packet.id);
        if self.no_feedback.due().is_none() {
            self.no_feedback.start(now, self.silence());
        }
        let flight = self.flight.bytes();
        match &mut self.core {
            Core::One(v1) => {
                v1.on_sent(now.as_secs_f64(), packet.size.as_bytes_f64(), flight);
                self.rate_at.get_or_insert(now + RATE_INTERVAL);
                self.active = true;
            }
            Core::Two(v2) => v2.on_sent(flight),
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        let seen = self.summary(now, feedback);
        if seen.received > 0 {
            self.silences = 0;
            self.no_feedback.stop();
            if seen.flight > 0.0 {
                self.no_feedback.start(now, self.silence());
            }
        }
        let limits = self.limits;
        self.act(now, |scream| match &mut scream.core {
            Core::One(v1) => v1.on_feedback(&seen, limits),
            Core::Two(v2) => {
                let (cause, drifted) = v2.on_feedback(&seen, limits);
                if drifted {
                    scream.base.reset();
                }
                cause
            }
        });
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, max, .. } => self.act(now, |scream| {
                scream.limits = RateRange::new(min, max);
                match &mut scream.core {
                    Core::One(v1) => v1.limit(scream.limits),
                    Core::Two(v2) => v2.limit(scream.rtt.get(), scream.limits),
                }
                "limits set"
            }),
            LocalSignal::Backlog { waiting, oldest } => {
                self.waiting = waiting;
                self.oldest = oldest.clamp(TimeDelta::ZERO, TimeDelta::from_secs(60));
            }
            LocalSignal::Frame { size, interval, .. } if interval > TimeDelta::ZERO => {
                let size = size.as_bytes_f64().min(1e9);
                let period = interval.as_secs_f64().clamp(0.001, 10.0);
                let (age, rtt, limits) = (self.oldest.as_secs_f64(), self.rtt.get(), self.limits);
                self.act(now, |scream| {
                    match &mut scream.core {
                        Core::One(v1) => v1.on_frame(size),
                        Core::Two(v2) => v2.on_frame(size, period, age, rtt, limits),
                    }
                    "frame size and send queue"
                });
            }
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            LocalSignal::RouteChanged => self.base.reset(),
            LocalSignal::Frame { .. } | LocalSignal::Paused(_) | LocalSignal::LinkHint { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.no_feedback.due().is_some_and(|due| due <= now) {
            self.give_up(now);
        }
        if self.rate_at.is_some_and(|due| due <= now) {
            self.rate_at = std::mem::take(&mut self.active).then(|| now + RATE_INTERVAL);
            let (limits, queue) = (self.limits, self.waiting.as_bytes_f64().min(1e9));
            self.act(now, |scream| {
                if let Core::One(v1) = &mut scream.core {
                    v1.adjust_rate(now.as_secs_f64(), queue, limits);
                }
                "rate adjustment"
            });
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        [self.no_feedback.due(), self.rate_at].into_iter().flatten().min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        if self.limits.max == Bitrate::ZERO {
            return Allowance::paced(Bitrate::ZERO);
        }
        let flight = self.flight.bytes();
        let (window, pace) = match &self.core {
            Core::One(v1) => (v1.send_window(flight), v1.pace(self.rtt.get())),
            Core::Two(v2) => (v2.send_window(flight), v2.pace(self.limits)),
        };
        // With nothing out one packet may always go.
        let least = if flight == 0.0 { self.flow.packet } else { DataSize::ZERO };
        let window = DataSize::from_bytes(window as u64).max(least);
        Allowance { window: Some(window), ..Allowance::paced(Bitrate::from_bps_f64(pace)) }
    }

    fn target(&self) -> Target {
        Target::new(self.rate())
    }

    fn phase(&self) -> &'static str {
        match &self.core {
            Core::One(v1) => v1.phase(),
            Core::Two(v2) => v2.phase(),
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("flight", self.flight.bytes(), "B"));
        visit(Gauge::new("queueing_delay", self.delay, "s"));
        visit(Gauge::new("delay_target", self.delay_target(), "s"));
        if let Some(rtt) = self.rtt.get() {
            visit(Gauge::new("rtt", rtt, "s"));
        }
        match &self.core {
            Core::One(v1) => v1.inspect(visit),
            Core::Two(v2) => v2.inspect(visit),
        }
    }
}
