//! Network-assisted dynamic adaptation: RFC 8698, and the older draft that ns3-rmcat and S004 ran.

mod aggregate;
mod config;
mod draft;
mod equation;
mod losses;
mod receiver;
#[cfg(test)]
mod tests;
mod window;

pub use config::{NadaConfig, RatioClock, Side, Variant};
pub use receiver::NadaReceiver;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{RecentMin, plausible_rtt};
use crate::feedback::{Fate, Feedback, PacketReport};
use crate::fixed::PeriodicFeedback;
use crate::info::{ControllerInfo, WeightOption, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options::FEEDBACK_INTERVAL;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use aggregate::{Aggregator, Observed, Signal};
use config::{LEAST_RATE, LONGEST_RTT, TAPS, UNKNOWN_MAX};
use draft::DraftHistory;
use equation::Gradual;
use seaway_units::{Bitrate, DataSize, Ecn, RateRange, TimeDelta, Timestamp};

/// The sending half of NADA (RFC 8698 section 4.3). It begins at the limits' `min`, as the RFC says; `start` is
/// not used.
#[derive(Debug, Clone)]
pub struct Nada {
    config: NadaConfig,
    aggregation: SenderAggregation,
    limits: RateRange,
    /// `r_ref`, bit/s.
    rate: f64,
    /// `x_prev`, ms.
    previous: f64,
    /// The last signal, to be shown.
    signal: Option<Signal>,
    /// The receiver computes the signal.
    peer_computes: bool,
    updated_at: Option<Timestamp>,
    /// The last 15 samples, ms.
    rtt: RecentMin<TAPS>,
    backlog: DataSize,
    no_feedback: NoFeedbackTimer,
    /// Resumed after a pause and not updated since: the draft begins again at the least rate.
    resumed: bool,
    /// What it allows and what encoders may have, as of the last input: both are read with each packet.
    allowed: Bitrate,
    target: Bitrate,
    decisions: DecisionLog,
}

/// Congestion signals aggregated at the sender.
#[derive(Debug, Clone)]
enum SenderAggregation {
    Rfc8698(Box<Aggregator>),
    Draft(Box<DraftHistory>),
}

/// Without a report for so many intervals the rate is halved each interval (ours: RFC 8698 leaves it open).
const SILENCE: i64 = 8;

impl Nada {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[NadaConfig::OPTIONS.group, FEEDBACK_INTERVAL.group],
        weight: Some(WeightOption { name: "prio", requires: None }),
        ..ControllerInfo::new(
            "nada",
            "RFC 8698; draft-ietf-rmcat-nada-05 as in ns3-rmcat (S004)",
            |options, flow| {
                let mut config =
                    options.read(&NadaConfig::OPTIONS, NadaConfig::new(Variant::Rfc8698, flow))?;
                config.interval = options.read(&FEEDBACK_INTERVAL, config.interval)?;
                let sender = Self::new(config);
                Ok(match config.side {
                    Side::Receiver => pair(sender, NadaReceiver::new(config)),
                    Side::Sender => pair(sender, PeriodicFeedback::new(config.interval)),
                })
            },
        )
    };

    /// A sender at the RFC's least rate, 150 kbit/s until the limits are known.
    pub fn new(config: NadaConfig) -> Self {
        let limits = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_bps_f64(UNKNOWN_MAX) };
        let mut nada = Self {
            config,
            aggregation: match config.variant {
                Variant::Rfc8698 => SenderAggregation::Rfc8698(Box::new(Aggregator::new(config))),
                Variant::Draft => SenderAggregation::Draft(Box::new(DraftHistory::new(config))),
            },
            limits,
            rate: limits.min.as_bps_f64(),
            previous: 0.0,
            signal: None,
            peer_computes: false,
            updated_at: None,
            rtt: RecentMin::new(),
            backlog: DataSize::ZERO,
            no_feedback: NoFeedbackTimer::default(),
            resumed: false,
            allowed: Bitrate::ZERO,
            target: Bitrate::ZERO,
            decisions: DecisionLog::new(),
        };
        nada.settle();
        nada
    }

    /// After each input that may change it: what follows from the rate.
    fn settle(&mut self) {
        let (reference, shaping) = (self.reference(), self.shaping());
        self.allowed = (reference + shaping).min(self.limits.max);
        self.target = reference.saturating_sub(shaping).max(self.limits.min);
    }

    /// `RMAX`.
    fn most(&self) -> f64 {
        if self.limits.max == Bitrate::MAX { UNKNOWN_MAX } else { self.limits.max.as_bps_f64() }
    }

    /// `r_ref` inside the limits.
    fn reference(&self) -> Bitrate {
        let rate = if self.resumed { self.limits.min } else { Bitrate::from_bps_f64(self.rate) };
        self.limits.clamp(rate)
    }

    /// What rate shaping adds to the sending rate and takes off the encoder's. ns3-rmcat has it off.
    fn shaping(&self) -> Bitrate {
        match self.config.variant {
            Variant::Rfc8698 => {
                let rate = self.reference().as_bps_f64();
                Bitrate::from_bps_f64(equation::shaping(rate, self.backlog.as_bytes_f64()))
            }
            Variant::Draft => Bitrate::ZERO,
        }
    }

    fn clip(&mut self) {
        self.rate = self.rate.min(self.most()).max(self.limits.min.as_bps_f64()).max(LEAST_RATE);
    }

    /// A report or a batch of packets led to a new signal (RFC 8698 section 4.3).
    fn update(&mut self, now: Timestamp, signal: Signal) {
        let signal = Signal { delay: signal.delay.clamp(0.0, self.config.ceiling), ..signal };
        let interval = self.updated_at.map_or(TimeDelta::ZERO, |at| now.since(at));
        let step = Gradual {
            signal: signal.delay,
            previous: self.previous,
            weight: self.config.priority * self.config.reference_delay * self.most(),
            // Longer silence is for the nofeedback rule.
            interval: interval.min(self.config.interval * SILENCE).as_millis_f64(),
            longest_rtt: self.longest_rtt(),
        };
        self.decide(now, |nada| {
            let reason =
                if signal.ramp_up { nada.ramp_up(signal) } else { nada.update_gradually(signal, step) };
            nada.clip();
            nada.previous = signal.delay;
            nada.signal = Some(signal);
            nada.updated_at = Some(now);
            nada.resumed = false;
            Some(reason)
        });
    }

    /// `TAU`, an upper bound of the round-trip time. Where the path is longer it is the round-trip time itself, so that it stays one (ours).
    fn longest_rtt(&self) -> f64 {
        match self.config.variant {
            Variant::Rfc8698 => LONGEST_RTT.max(self.rtt.get().unwrap_or(0.0)),
            Variant::Draft => LONGEST_RTT,
        }
    }

    fn ramp_up(&mut self, signal: Signal) -> Reason {
        let interval = self.config.interval.as_millis_f64();
        let step = equation::ramp_up_step(self.rtt.get().unwrap_or(0.0), interval);
        let before = self.rate;
        self.rate = self.rate.max((1.0 + step) * signal.receive_rate);
        let receive_rate = Gauge::new("receive_rate", signal.receive_rate, "bit/s");
        Reason::new("accelerated ramp-up", receive_rate, before)
    }

    fn update_gradually(&mut self, signal: Signal, step: Gradual) -> Reason {
        let balance = step.balance(self.rate);
        self.rate = step.apply(self.rate);
        Reason::new("gradual update", Gauge::new("congestion_signal", signal.delay, "ms"), balance)
    }

    /// RFC 8698 section 4.2 at the sender: packets first, then an update where one is due. Half an interval of
    /// leniency, as in ns3-rmcat: a report that comes a little early is not passed over.
    fn aggregate(&mut self, now: Timestamp, packets: &[PacketReport]) {
        for report in packets {
            let Some(packet) = observed(report) else { continue };
            match &mut self.aggregation {
                SenderAggregation::Rfc8698(aggregator) => {
                    let rtt = self.rtt.get().map(|ms| TimeDelta::from_secs_f64(ms / 1e3));
                    aggregator.on_matched(now, &Observed { rtt, ..packet });
                }
                SenderAggregation::Draft(history) => {
                    history.on_packet(&packet);
                    // It looks after every packet, and so may act on the first of a batch.
                    self.update_when_due(now, self.config.interval);
                }
            }
        }
        self.update_when_due(now, self.config.interval / 2);
    }

    fn update_when_due(&mut self, now: Timestamp, after: TimeDelta) {
        if self.updated_at.is_some_and(|at| now.since(at) < after) {
            return;
        }
        let signal = match &mut self.aggregation {
            SenderAggregation::Rfc8698(aggregator) => aggregator.newest_signal(),
            SenderAggregation::Draft(history) => Some(history.signal()),
        };
        if let Some(signal) = signal {
            self.update(now, signal);
        }
    }

    /// RFC 8698 leaves the method open: the report's arrival less the departure of the newest packet it names, the
    /// peer's holding time taken off where it is known. ns3-rmcat leaves the holding time in, packet by packet.
    fn measure_rtt(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let received = feedback.packets.iter().filter(|report| matches!(report.fate, Fate::Received { .. }));
        let elapsed = |report: &PacketReport| now.since(report.sent);
        match self.config.variant {
            Variant::Draft => {
                for sample in received.map(elapsed).filter_map(plausible_rtt) {
                    self.rtt.push(sample * 1e3);
                }
            }
            Variant::Rfc8698 => {
                let sample = feedback.rtt.or_else(|| received.map(elapsed).next_back());
                if let Some(sample) = sample.and_then(plausible_rtt) {
                    self.rtt.push(sample * 1e3);
                }
            }
        }
    }

    fn silence(&self) -> TimeDelta {
        let rtt = TimeDelta::from_secs_f64(self.rtt.get().unwrap_or(0.0) / 1e3);
        self.no_feedback.at_least_two_reports(self.config.interval * SILENCE) + rtt
    }

    fn set_limits(&mut self, now: Timestamp, min: Bitrate, max: Bitrate) {
        self.decide(now, |nada| {
            nada.limits = RateRange::new(min, max);
            if nada.signal.is_none() {
                // RFC 8698 section 4.3: at first the rate is RMIN.
                nada.rate = min.as_bps_f64();
            }
            let signal = Gauge::new("reference_rate", nada.rate, "bit/s");
            nada.clip();
            Some(Reason::limits(signal, max))
        });
    }
}

/// What a report says of a packet that arrived; its `at` is its departure.
fn observed(report: &PacketReport) -> Option<Observed> {
    let Fate::Received { at: Some(at), ecn } = report.fate else { return None };
    Some(Observed {
        at: report.sent,
        sequence: report.packet.sequence,
        size: report.packet.size,
        marked: ecn == Ecn::Ce,
        transit: at.transit_from(report.sent),
        rtt: None,
    })
}

impl LogsDecisions for Nada {
    const LOGS_PHASES: bool = true;

    fn decided_rate(&self) -> Bitrate {
        self.reference()
    }
}

impl RateController for Nada {
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking { ecn: self.config.ecn, tag: None }
    }

    fn on_sent(&mut self, now: Timestamp, _packet: &SentPacket) {
        if self.no_feedback.due().is_none() {
            self.no_feedback.start(now, self.silence());
        }
        self.updated_at.get_or_insert(now);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.measure_rtt(now, feedback);
        let computed = feedback.peer.congestion.filter(|_| self.config.side == Side::Receiver);
        if let Some(congestion) = computed {
            self.peer_computes = true;
            self.no_feedback.stop();
            let signal = Signal {
                delay: congestion.delay.as_millis_f64(),
                ramp_up: congestion.ramp_up,
                receive_rate: feedback.peer.receive_rate.unwrap_or(Bitrate::ZERO).as_bps_f64(),
            };
            self.update(now, signal);
        } else if !self.peer_computes && !feedback.packets.is_empty() {
            self.no_feedback.stop();
            self.aggregate(now, feedback.packets);
        }
        self.settle();
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, max, .. } => self.set_limits(now, min, max),
            LocalSignal::Backlog { waiting, .. } => self.backlog = waiting,
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            LocalSignal::Paused(paused) => {
                self.no_feedback.stop();
                let rate = Gauge::new("reference_rate", self.rate, "bit/s");
                self.change(now, Reason::new("resumed", rate, 0.0), |nada| {
                    nada.resumed = !paused && nada.config.variant == Variant::Draft;
                });
            }
            LocalSignal::RouteChanged => {
                self.rtt.clear();
                match &mut self.aggregation {
                    SenderAggregation::Rfc8698(aggregator) => aggregator.forget_base(),
                    SenderAggregation::Draft(history) => history.forget_base(),
                }
            }
            LocalSignal::Frame { .. } | LocalSignal::LinkHint { .. } => return,
        }
        self.settle();
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        let Some(due) = self.no_feedback.due().filter(|due| *due <= now) else { return };
        let before = self.reference();
        let silence = self.silence().as_secs_f64();
        let waited = Reason::new("no feedback", Gauge::new("silence", silence, "s"), silence);
        self.change(now, waited, |nada| {
            nada.rate /= 2.0;
            nada.clip();
        });
        // At the least rate there is nothing left to do; the next packet starts the timer again.
        self.no_feedback.stop();
        if self.reference() != before {
            self.no_feedback.start(due.max(now), self.config.interval);
        }
        self.settle();
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.no_feedback.due()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        Allowance::paced(self.allowed)
    }

    fn target(&self) -> Target {
        Target::new(self.target)
    }

    fn phase(&self) -> &'static str {
        match self.signal {
            Some(Signal { ramp_up: false, .. }) => "gradual update",
            _ => "accelerated ramp-up",
        }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("reference_rate", self.rate, "bit/s"));
        if let Some(signal) = self.signal {
            visit(Gauge::new("congestion_signal", signal.delay, "ms"));
            visit(Gauge::new("receive_rate", signal.receive_rate, "bit/s"));
        }
        if let Some(rtt) = self.rtt.get() {
            visit(Gauge::new("rtt", rtt, "ms"));
        }
        if !self.peer_computes {
            let ratio = match &self.aggregation {
                SenderAggregation::Rfc8698(aggregator) => aggregator.loss_ratio(),
                SenderAggregation::Draft(history) => history.loss_ratio(),
            };
            visit(Gauge::new("loss_ratio", ratio, ""));
        }
    }
}
