//! Rate control by RTCP alone: LDA, LDA+ and a smoothed form, which S000 cites.
//!
//! Once an RTCP interval the sender knows the loss fraction, the round-trip time and, from short trains of packets,
//! the rate of the bottleneck, and steps its rate. LDA is by Sisalem and Schulzrinne ("The loss-delay based adjustment
//! algorithm", NOSSDAV 1998), LDA+ by Sisalem and Wolisz ("LDA+: TCP-friendly adaptation", NOSSDAV 2000), and
//! `lda-srtp` by Song, Chung and Shin ("SRTP: TCP-friendly congestion control for multimedia streaming", ICOIN 2002;
//! it is not the SRTP of RFC 3711).
//!
//! No primary text was at hand. S000 says that LDA takes round-trip time, loss and timeout from receiver reports and
//! computes the rate by Eq. 1, and that the third is alike and smooths. The rest is unverified, and the gains of the
//! smoothed form are ours: `docs/controllers/lda.md`.

mod bottleneck;
mod law;

pub use law::Law;

use crate::allowance::{Probe, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{Ewma, plausible_rtt};
use crate::feedback::{Fate, Feedback};
use crate::fixed::PeriodicFeedback;
use crate::info::{ControllerInfo, ControllerPair, FlowConfig, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options;
use crate::options::{FEEDBACK_INTERVAL, OptionTable, Options};
use crate::packet::{ProbeId, SentPacket, Subflow};
use crate::signal::LocalSignal;
use crate::spec::SpecError;
use bottleneck::Bottleneck;
use law::{Interval, State};
use seaway_units::{Bitrate, DataSize, RateRange, TimeDelta, Timestamp};

/// What can be set of [`LossDelay`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossDelayConfig {
    /// Which scheme.
    pub law: Law,
    /// From one step to the next: RFC 3550's least RTCP interval is 5 s.
    pub interval: TimeDelta,
    /// What the additive increase begins with (10 kbit/s, from memory).
    pub increase: Bitrate,
    /// Packets in a train that measures the bottleneck; none below two.
    pub train: u8,
    /// Size of a packet.
    pub packet: DataSize,
}

/// The sending half of all three.
#[derive(Debug, Clone)]
pub struct LossDelay {
    config: LossDelayConfig,
    limits: RateRange,
    /// `None` before the limits are known. Bytes a second.
    state: Option<State>,
    rtt: Ewma,
    bottleneck: Bottleneck,
    probes: u32,
    probe_at: Option<Timestamp>,
    begun: Option<Timestamp>,
    counted: Counted,
    no_feedback: NoFeedbackTimer,
    paused: bool,
    /// Something arrived since the last train.
    answered: bool,
    phase: &'static str,
    decisions: DecisionLog,
}

/// Sums over the reports of an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    received: u32,
    lost: u32,
    bytes: f64,
}

/// Weight of the old round-trip time (RFC 6298).
const RTT_KEEP: f64 = 0.875;
/// Intervals without a report that halve the rate, once more each interval (ours).
const SILENCE: i64 = 3;

impl LossDelay {
    pub(crate) const LDA: ControllerInfo = ControllerInfo {
        verified: false,
        options: &[
            LossDelayConfig::INTERVAL.group,
            LossDelayConfig::INCREASE.group,
            LossDelayConfig::DECREASE.group,
            FEEDBACK_INTERVAL.group,
        ],
        ..ControllerInfo::new("lda", "Sisalem and Schulzrinne 1998, as S000 cites it", |options, flow| {
            let config = LossDelayConfig::new(Law::Lda { decrease: 3.0 }, flow);
            let config = options.read(&LossDelayConfig::INCREASE, config)?;
            Self::build(options, options.read(&LossDelayConfig::DECREASE, config)?)
        })
    };

    pub(crate) const LDA_PLUS: ControllerInfo = ControllerInfo {
        verified: false,
        options: &[LossDelayConfig::INTERVAL.group, LossDelayConfig::INCREASE.group, FEEDBACK_INTERVAL.group],
        ..ControllerInfo::new("lda-plus", "Sisalem and Wolisz 2000", |options, flow| {
            let config = LossDelayConfig::new(Law::LdaPlus, flow);
            Self::build(options, options.read(&LossDelayConfig::INCREASE, config)?)
        })
    };

    pub(crate) const SMOOTHED: ControllerInfo = ControllerInfo {
        verified: false,
        options: &[
            LossDelayConfig::INTERVAL.group,
            LossDelayConfig::SMOOTHING.group,
            FEEDBACK_INTERVAL.group,
        ],
        ..ControllerInfo::new(
            "lda-srtp",
            "Song, Chung and Shin 2002, as S000 describes it",
            |options, flow| {
                let config = LossDelayConfig::new(Law::Smoothed { up: 0.25, down: 0.5, dead: 0.1 }, flow);
                Self::build(options, options.read(&LossDelayConfig::SMOOTHING, config)?)
            },
        )
    };

    fn build(options: &Options<'_>, config: LossDelayConfig) -> Result<ControllerPair, SpecError> {
        let config = options.read(&LossDelayConfig::INTERVAL, config)?;
        let interval = options.read(&FEEDBACK_INTERVAL, PeriodicFeedback::INTERVAL)?;
        Ok(pair(Self::new(config), PeriodicFeedback::new(interval)))
    }

    /// Before any report.
    pub fn new(config: LossDelayConfig) -> Self {
        Self {
            limits: RateRange::ALL,
            state: None,
            rtt: Ewma::new(RTT_KEEP),
            bottleneck: Bottleneck::default(),
            probes: 0,
            probe_at: None,
            begun: None,
            counted: Counted::default(),
            no_feedback: NoFeedbackTimer::default(),
            paused: false,
            answered: false,
            phase: "starting",
            decisions: DecisionLog::new(),
            config,
        }
    }

    fn allowed(&self) -> Bitrate {
        self.limits.clamp(Bitrate::from_bytes_per_second(self.state.map_or(0.0, |state| state.rate)))
    }

    /// The state with a rate that the next step can start from: a packet a second at least (ours), and inside the
    /// limits unless these forbid to send.
    fn bounded(&self, state: State) -> State {
        let least = self.limits.min.as_bytes_per_second().max(self.config.packet.as_bytes_f64());
        let most = self.limits.max.as_bytes_per_second();
        let most = if most > 0.0 { most.max(least) } else { f64::INFINITY };
        State { rate: state.rate.clamp(least, most), ..state }
    }

    fn count(&mut self, feedback: &Feedback<'_>) {
        for report in feedback.packets {
            let counted = &mut self.counted;
            let size = report.packet.size.as_bytes_f64();
            match report.fate {
                Fate::Received { at, .. } => {
                    counted.received = counted.received.saturating_add(1);
                    counted.bytes += size;
                    if let (Some(id), Some(at)) = (report.packet.probe, at) {
                        self.bottleneck.on_arrival(id, at, size);
                    }
                }
                Fate::Lost => counted.lost = counted.lost.saturating_add(1),
                Fate::Late { .. } => {
                    counted.lost = counted.lost.saturating_sub(1);
                    counted.received = counted.received.saturating_add(1);
                    counted.bytes += size;
                }
            }
        }
    }

    /// The interval is over: one step.
    fn step(&mut self, now: Timestamp, length: f64, rtt: f64) {
        let Counted { received, lost, bytes } = std::mem::take(&mut self.counted);
        self.begun = Some(now);
        self.bottleneck.close(self.config.train);
        let (Some(state), Some(loss)) = (self.state, loss_fraction(received, lost)) else { return };
        // What arrives shows that the bottleneck carries as much.
        let bottleneck = self.bottleneck.get().map_or(f64::INFINITY, |rate| rate.max(bytes / length));
        let packet = self.config.packet.as_bytes_f64().max(1.0);
        let interval = Interval { length, loss, rtt, bottleneck, packet };
        let next = self.config.law.step(state, self.config.increase.as_bytes_per_second(), &interval);
        let next = self.bounded(next);
        self.phase = if loss > 0.0 { "loss" } else { "increase" };
        let rule = match (loss > 0.0, next.rate < state.rate) {
            (false, _) => "interval without loss",
            (true, true) => "loss fraction",
            (true, false) => "rate of the equation",
        };
        let reason = Reason::new(rule, Gauge::new("loss_fraction", loss, ""), 0.0);
        self.change(now, reason, |this| this.state = Some(next));
    }
}

/// `l`, where anything is known.
fn loss_fraction(received: u32, lost: u32) -> Option<f64> {
    let known = f64::from(received) + f64::from(lost);
    (known > 0.0).then(|| f64::from(lost) / known)
}

impl LogsDecisions for LossDelay {
    fn decided_rate(&self) -> Bitrate {
        self.allowed()
    }
}

impl RateController for LossDelay {
    fn on_sent(&mut self, now: Timestamp, _packet: &SentPacket) {
        self.no_feedback.on_sent(now, || self.config.interval * SILENCE);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.count(feedback);
        if !feedback.packets.iter().any(|report| matches!(report.fate, Fate::Received { .. })) {
            return;
        }
        self.no_feedback.start(now, self.config.interval * SILENCE);
        self.answered = true;
        if let Some(sample) = feedback.rtt.and_then(plausible_rtt) {
            self.rtt.update(sample);
        }
        let Some(rtt) = self.rtt.get() else { return };
        let begun = *self.begun.get_or_insert(now);
        let elapsed = now.since(begun);
        if elapsed >= self.config.interval {
            // A pause is no longer interval: nothing was learnt in it.
            let length = elapsed.min(self.config.interval * 2);
            self.step(now, length.as_secs_f64(), rtt);
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => {
                let signal = Gauge::new("start_rate", start.as_bps_f64(), "bit/s");
                self.change(now, Reason::limits(signal, max), |this| {
                    this.limits = RateRange::new(min, max);
                    let increase = this.config.increase.as_bytes_per_second();
                    let first = State { rate: start.as_bytes_per_second(), increase };
                    this.state = Some(this.bounded(this.state.unwrap_or(first)));
                });
            }
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            LocalSignal::RouteChanged => self.bottleneck = Bottleneck::default(),
            LocalSignal::Paused(paused) => self.paused = paused,
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if !self.no_feedback.expired(now) {
            return;
        }
        let silent = Gauge::new("intervals_of_silence", SILENCE as f64, "");
        self.phase = "silence";
        self.change(now, Reason::new("no report", silent, SILENCE as f64), |this| {
            let halved = this.state.map(|state| State { rate: state.rate / 2.0, ..state });
            this.state = halved.map(|state| this.bounded(state));
        });
        self.no_feedback.restart(now, self.config.interval);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.no_feedback.due()
    }

    fn poll_probe(&mut self, now: Timestamp) -> Option<Probe> {
        let packets = self.config.train;
        let wanted = packets >= 2 && self.answered && !self.paused && self.allowed() > Bitrate::ZERO;
        if !wanted || self.rtt.get().is_none() || self.probe_at.is_some_and(|at| at > now) {
            return None;
        }
        self.probe_at = Some(now + self.config.interval);
        self.answered = false;
        let id = ProbeId(self.probes);
        self.probes = self.probes.wrapping_add(1);
        // At the access speed: whatever the first link carries.
        let size = self.config.packet * u64::from(packets);
        Some(Probe { id, subflow: Subflow(0), rate: Bitrate::MAX, size, packets })
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn target(&self) -> Target {
        Target::new(self.allowed())
    }

    fn phase(&self) -> &'static str {
        self.phase
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("rate", self.allowed().as_bps_f64(), "bit/s"));
        if let Some(rtt) = self.rtt.get() {
            visit(Gauge::new("rtt", rtt, "s"));
        }
        if let Some(bottleneck) = self.bottleneck.get() {
            visit(Gauge::new("bottleneck_rate", bottleneck * 8.0, "bit/s"));
        }
    }
}

impl LossDelayConfig {
    const INTERVAL: OptionTable<Self> = options! { |config: &mut LossDelayConfig, value|
        "interval" = "5 s", "100 ms to 60 s", "from one step to the next, an RTCP interval":
            config.interval = value.within(TimeDelta::from_millis(100)..=TimeDelta::from_secs(60))?;
    }
    .shared_as("RTCP interval");
    const INCREASE: OptionTable<Self> = options! { |config: &mut LossDelayConfig, value|
        "increase" = "10 kbit/s", "1 kbit/s to 10 Mbit/s", "the first additive increase, each interval":
            config.increase = value.within(Bitrate::from_kbps(1)..=Bitrate::from_mbps(10))?;
        "train" = "6", "0 to 20",
            "packets sent at once to measure the bottleneck, once an interval; 0 or 1: none":
            config.train = value.within(0..=20)?;
    }
    .shared_as("Additive increase");
    const DECREASE: OptionTable<Self> = options! { |config: &mut LossDelayConfig, value|
        "decrease" = "3", "1 to 10", "how many times the loss fraction is taken off the rate (R_f)":
            config.law = Law::Lda { decrease: value.within(1.0..=10.0)? };
    };
    const SMOOTHING: OptionTable<Self> = options! { |config: &mut LossDelayConfig, value|
        "up" = "0.25", "0.01 to 1", "part of the way up to the equation's rate":
            if let Law::Smoothed { up, .. } = &mut config.law { *up = value.within(0.01..=1.0)?; };
        "down" = "0.5", "0.01 to 1", "part of the way down to it":
            if let Law::Smoothed { down, .. } = &mut config.law { *down = value.within(0.01..=1.0)?; };
        "dead" = "0.1", "0 to 0.9", "deviations up to this part change nothing":
            if let Law::Smoothed { dead, .. } = &mut config.law { *dead = value.within(0.0..=0.9)?; };
    };

    /// Defaults for a flow.
    pub const fn new(law: Law, flow: FlowConfig) -> Self {
        Self {
            law,
            interval: TimeDelta::from_secs(5),
            increase: Bitrate::from_kbps(10),
            train: match law {
                // The equation needs no bottleneck.
                Law::Smoothed { .. } => 0,
                Law::Lda { .. } | Law::LdaPlus => 6,
            },
            packet: flow.packet,
        }
    }
}
