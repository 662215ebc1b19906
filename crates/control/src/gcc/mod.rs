//! Google congestion control: libwebrtc's present form, and draft-ietf-rmcat-gcc-02.

mod acked_rate;
mod aimd;
mod alr;
mod arrival_group;
mod config;
mod current;
mod draft;
mod kalman;
mod link_capacity;
mod loss_based;
mod overuse;
mod probe_controller;
mod probe_estimator;
mod trendline;

pub use config::{GccConfig, Variant};
pub use loss_based::LossBasedConfig;

use crate::allowance::{Allowance, Probe, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{Ewma, plausible_rtt};
use crate::feedback::{Fate, Feedback};
use crate::fixed::PeriodicFeedback;
use crate::info::{ControllerInfo, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options::FEEDBACK_INTERVAL;
use crate::packet::{SentPacket, Subflow};
use crate::signal::LocalSignal;
use current::Current;
use draft::Draft;
use seaway_units::{Bitrate, Probability, RateRange, TimeDelta, Timestamp};

/// The sending half of GCC; all is computed here, from the fate of each packet.
#[derive(Debug, Clone)]
pub struct Gcc {
    form: Form,
    limits: Option<RateRange>,
    /// A bound that the receiver set (REMB).
    /// With the time it came.
    peer_limit: Option<(Bitrate, Timestamp)>,
    /// ms.
    rtt: Ewma,
    last_feedback: Option<Timestamp>,
    no_feedback: NoFeedbackTimer,
    /// The timer ran out and no feedback came since.
    silenced: bool,
    decisions: DecisionLog,
}

#[derive(Debug, Clone)]
enum Form {
    Current(Box<Current>),
    Draft(Box<Draft>),
}

/// The start rate where the limits give none (libwebrtc), bit/s.
const START: f64 = 300e3;
/// The round-trip time before the first sample (libwebrtc), ms.
const FIRST_RTT: f64 = 200.0;
/// Feedback comes this often, at least (draft section 3: up to 100 ms to save overhead).
const FEEDBACK: TimeDelta = TimeDelta::from_millis(50);
/// Without feedback for so long a verdict of over-use expires (libwebrtc),
const VERDICT: TimeDelta = TimeDelta::from_millis(500);
/// and after so long all that was learnt of delay (libwebrtc's stream timeout).
const STREAM: TimeDelta = TimeDelta::from_secs(2);
/// Silence after which the rate falls by a fifth, and again after each half of it (ours: libwebrtc closes its
/// congestion window).
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
const SILENCE_STEP: f64 = 0.8;
/// A limit of the peer that is not repeated holds for so long (ours: receivers repeat theirs each second; libwebrtc keeps
/// the last one for ever).
const PEER_LIMIT: TimeDelta = TimeDelta::from_secs(10);
/// How much of the past a paced burst may make up for (`burst_time`, draft section 3).
const BURST: TimeDelta = TimeDelta::from_millis(5);

impl Gcc {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[GccConfig::OPTIONS.group, FEEDBACK_INTERVAL.group],
        ..ControllerInfo::new(
            "gcc",
            "draft-ietf-rmcat-gcc-02; libwebrtc as of January 2026",
            |options, flow| {
                let config = options.read(&GccConfig::OPTIONS, GccConfig::new(Variant::Current, flow))?;
                let interval = options.read(&FEEDBACK_INTERVAL, FEEDBACK)?;
                Ok(pair(Self::new(config), PeriodicFeedback::new(interval)))
            },
        )
    };

    /// A sender at 300 kbit/s until the limits say otherwise.
    pub fn new(config: GccConfig) -> Self {
        Self {
            form: match config.variant {
                Variant::Current => Form::Current(Box::new(Current::new(config, START))),
                Variant::Draft => Form::Draft(Box::new(Draft::new(config.kalman_gain60, START))),
            },
            limits: None,
            peer_limit: None,
            rtt: Ewma::new(0.875),
            last_feedback: None,
            no_feedback: NoFeedbackTimer::default(),
            silenced: false,
            decisions: DecisionLog::new(),
        }
    }

    /// What the estimators say, bit/s.
    fn estimate(&self) -> f64 {
        match &self.form {
            Form::Current(current) => current.rate(),
            Form::Draft(draft) => draft.rate(),
        }
    }

    fn rate(&self) -> Bitrate {
        let rate = Bitrate::from_bps_f64(self.estimate())
            .min(self.peer_limit.map_or(Bitrate::MAX, |(limit, _)| limit));
        self.limits.map_or(rate, |limits| limits.clamp(rate))
    }

    /// What the encoders could use, bit/s.
    fn most(&self) -> f64 {
        self.limits.map_or(f64::INFINITY, |limits| limits.max.as_bps_f64().max(config::LEAST_RATE))
    }

    fn rtt(&self) -> f64 {
        self.rtt.get().unwrap_or(FIRST_RTT)
    }

    /// Why the estimators changed the rate.
    fn reason(&self) -> Reason {
        match &self.form {
            Form::Current(current) => current.reason(),
            Form::Draft(draft) => {
                let kalman = draft.kalman();
                let signal = Gauge::new("delay_gradient", kalman.signal(), "ms");
                Reason::new(draft.cause(), signal, kalman.detector().threshold())
            }
        }
    }

    /// The largest round-trip time of the report, the peer's holding time taken off where it is known.
    fn measure_rtt(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let received = feedback.packets.iter().filter(|report| matches!(report.fate, Fate::Received { .. }));
        let sample = feedback.rtt.or_else(|| received.map(|report| now.since(report.sent)).max());
        if let Some(sample) = sample.and_then(plausible_rtt) {
            self.rtt.update(sample * 1e3);
        }
    }

    /// Feedback comes after a pause: forgets what is too old.
    fn age(&mut self, now: Timestamp) {
        let pause = self.last_feedback.replace(now).map_or(TimeDelta::ZERO, |at| now.since(at));
        let rtt = TimeDelta::from_secs_f64(self.rtt() / 1e3);
        let (expired, forgotten) = (pause > VERDICT.max(rtt), pause > STREAM);
        match &mut self.form {
            _ if forgotten => self.forget_path(),
            Form::Current(current) if expired => current.expire(),
            Form::Draft(draft) if expired => draft.expire(),
            _ => {}
        }
    }

    /// Forgets the delays of the former path.
    fn forget_path(&mut self) {
        match &mut self.form {
            Form::Current(current) => current.forget_path(),
            Form::Draft(draft) => draft.forget_path(),
        }
    }

    fn start(&mut self, now: Timestamp, rate: f64) {
        let wanted = self.most();
        match &mut self.form {
            Form::Current(current) => current.start(now, rate, wanted),
            Form::Draft(draft) => draft.set(rate, "start"),
        }
    }

    fn silence(&self) -> TimeDelta {
        self.no_feedback.at_least_two_reports(SILENCE) + TimeDelta::from_secs_f64(self.rtt() / 1e3)
    }

    fn estimate_from(&mut self, now: Timestamp, feedback: &Feedback<'_>, answered: bool) {
        // That packets are given up for lost is no answer.
        if answered {
            self.age(now);
            if std::mem::take(&mut self.silenced) {
                // What answers after silence may be another path.
                self.forget_path();
                self.start(now, self.estimate());
            }
        }
        let (rtt, most) = (self.rtt(), self.most());
        match &mut self.form {
            Form::Current(current) => current.on_reports(now, feedback.packets, rtt, most, most),
            Form::Draft(draft) => {
                for report in feedback.packets {
                    match report.fate {
                        Fate::Received { at, .. } => draft.on_received(report.sent, at, report.packet.size),
                        Fate::Lost => draft.on_lost(),
                        Fate::Late { .. } => {}
                    }
                }
                draft.update(now, rtt, most);
            }
        }
    }
}

impl LogsDecisions for Gcc {
    const LOGS_PHASES: bool = true;

    fn decided_rate(&self) -> Bitrate {
        self.rate()
    }
}

impl RateController for Gcc {
    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if self.no_feedback.due().is_none() {
            self.no_feedback.start(now, self.silence());
        }
        if let Form::Current(current) = &mut self.form {
            current.on_sent(now, packet);
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.measure_rtt(now, feedback);
        if let Some(limit) = feedback.peer.limit {
            let signal = Gauge::new("peer_limit", limit.as_bps_f64(), "bit/s");
            let reason = Reason::new("limit of the peer", signal, 0.0);
            self.change(now, reason, |gcc| gcc.peer_limit = Some((limit, now)));
        } else if self.peer_limit.is_some_and(|(_, at)| now.since(at) > PEER_LIMIT) {
            let age = Gauge::new("peer_limit_age", PEER_LIMIT.as_secs_f64(), "s");
            let reason = Reason::new("limit of the peer expired", age, PEER_LIMIT.as_secs_f64());
            self.change(now, reason, |gcc| gcc.peer_limit = None);
        }
        let answered = feedback.packets.iter().any(|report| matches!(report.fate, Fate::Received { .. }));
        if answered {
            self.no_feedback.stop();
        }
        if !feedback.packets.is_empty() {
            self.decide(now, |gcc| {
                gcc.estimate_from(now, feedback, answered);
                Some(gcc.reason())
            });
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => {
                let signal = Gauge::new("start_rate", start.as_bps_f64(), "bit/s");
                self.change(now, Reason::limits(signal, max), |gcc| {
                    let first = gcc.limits.replace(RateRange::new(min, max)).is_none();
                    if first {
                        gcc.start(now, start.max(min).min(max).as_bps_f64().max(config::LEAST_RATE));
                    }
                });
            }
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            LocalSignal::Paused(_) => self.no_feedback.stop(),
            LocalSignal::RouteChanged => self.forget_path(),
            LocalSignal::Backlog { .. } | LocalSignal::Frame { .. } | LocalSignal::LinkHint { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.no_feedback.due().is_none_or(|due| due > now) {
            return;
        }
        self.silenced = true;
        let waited = Gauge::new("silence", self.silence().as_secs_f64(), "s");
        let before = self.rate();
        self.change(now, Reason::new("no feedback", waited, waited.value), |gcc| {
            let least = gcc.limits.map_or(0.0, |limits| limits.min.as_bps_f64()).max(config::LEAST_RATE);
            let rate = (SILENCE_STEP * gcc.estimate().min(gcc.most())).max(least);
            match &mut gcc.form {
                Form::Current(current) => current.back_off(now, rate),
                Form::Draft(draft) => draft.set(rate, "no feedback"),
            }
        });
        // At the least rate there is nothing left to do; the next packet starts the timer again.
        self.no_feedback.stop();
        if self.rate() < before {
            self.no_feedback.start(now, SILENCE / 2);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.no_feedback.due()
    }

    fn poll_probe(&mut self, _now: Timestamp) -> Option<Probe> {
        match &mut self.form {
            Form::Current(current) => current.poll_probe(),
            Form::Draft(_) => None,
        }
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        Allowance { credit: BURST, ..Allowance::paced(self.rate()) }
    }

    fn target(&self) -> Target {
        let channel_loss = match &self.form {
            Form::Current(current) => Probability::clamped(current.inherent_loss()),
            Form::Draft(_) => Probability::ZERO,
        };
        Target { rate: self.rate(), channel_loss }
    }

    fn phase(&self) -> &'static str {
        match &self.form {
            Form::Current(current) => current.phase(),
            Form::Draft(draft) => draft.phase(),
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("rtt", self.rtt(), "ms"));
        visit(Gauge::new("estimate", self.estimate(), "bit/s"));
        match &self.form {
            Form::Current(current) => current.inspect(visit),
            Form::Draft(draft) => {
                visit(Gauge::new("delay_gradient", draft.kalman().signal(), "ms"));
                visit(Gauge::new("threshold", draft.kalman().detector().threshold(), "ms"));
            }
        }
    }
}
