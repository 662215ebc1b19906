//! Rate control by the receiver's buffer (S000).
//!
//! The receiver reports how full its buffer is, each round-trip time; the sender speeds up where it runs dry,
//! slows down where it runs over, and between the two grows as VTP does, by a packet each round-trip time.
//! What it holds is the pause between packets. It answers the receiver, not the network.

mod receiver;
mod state;

pub use receiver::BufferReports;
pub use state::{BufferState, GammaRule, Law};

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::plausible_rtt;
use crate::feedback::{BufferLevel, Fate, Feedback};
use crate::info::{ControllerInfo, ControllerPair, FlowConfig, Requirements, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options;
use crate::options::{OptionTable, Options};
use crate::packet::{SentPacket, Subflow};
use crate::signal::LocalSignal;
use crate::spec::SpecError;
use seaway_units::{Bitrate, RateRange, TimeDelta, Timestamp};
use state::LevelResponse;

/// What can be set of [`BufferAware`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BufferConfig {
    /// How the level becomes a state, and the state a rate.
    pub law: Law,
    /// Never pause longer than 20 ms between packets, though that forbids low rates.
    pub clamp_pause: bool,
    /// Time that one packet takes on the sender's first link (`t(S)`), seconds, where it is set.
    pub packet_time: Option<f64>,
    /// What the equivalent window of a stable buffer grows by each round-trip time, packets (the 1 of Eq. 15).
    pub growth: f64,
    /// Size of a packet (`S`), bytes.
    pub packet: f64,
}

/// The sending half.
#[derive(Debug, Clone)]
pub struct BufferAware {
    config: BufferConfig,
    limits: RateRange,
    /// Sending rate (`T`), packets a second; `None` before the limits are known.
    rate: Option<f64>,
    smoothed: SmoothedRtt,
    /// Buffer level at the last report.
    former: Option<BufferLevel>,
    state: BufferState,
    /// `t(S)` in seconds.
    packet_time: f64,
    /// When the newest packet of a report left.
    newest: Option<Timestamp>,
    no_feedback: NoFeedbackTimer,
    decisions: DecisionLog,
}

/// `SRTT` by S000's Eq. 17, which takes the sample before the present one.
#[derive(Debug, Clone, Copy, Default)]
struct SmoothedRtt {
    last_sample: Option<f64>,
    now: Option<f64>,
}

impl SmoothedRtt {
    /// Weight of the old value; S000 gives none. TFRC's, in the same role.
    const KEEP: f64 = 0.9;

    /// Takes a sample; answers with the value before and after.
    fn update(&mut self, sample: f64) -> (f64, f64) {
        let before = self.now.unwrap_or(sample);
        let after = Self::KEEP * before + (1.0 - Self::KEEP) * self.last_sample.unwrap_or(sample);
        (self.last_sample, self.now) = (Some(sample), Some(after));
        (before, after)
    }
}

/// Least and, where it is clamped, longest pause between packets, seconds (S000 section 4.3).
const LEAST_PAUSE: f64 = 0.001;
const LONGEST_PAUSE: f64 = 0.020;
/// Least rate, packets a second (ours).
const LEAST_RATE: f64 = 1.0;
/// Round-trip times without a report that count as an overflow, then one more each round-trip time.
const SILENCE: f64 = 4.0;
/// Silence before the first round-trip time that counts as an overflow, seconds.
const FIRST_SILENCE: f64 = 2.0;

/// Growth of the equivalent window where Eq. 15 counts round-trip times in seconds, and in milliseconds.
const PER_SECOND: f64 = 1.0;
const PER_MILLISECOND: f64 = 0.001;

impl BufferAware {
    pub(crate) const TYPE_1: ControllerInfo = ControllerInfo {
        options: &[BufferConfig::TREND.group, BufferConfig::OPTIONS.group],
        requirements: |_| Requirements { buffer: true, ..Requirements::DEFAULT },
        ..ControllerInfo::new("buffer-type1", "S000", |options, flow| {
            let config = options.read(&BufferConfig::TREND, BufferConfig::new(Law::TYPE_1, flow))?;
            Self::build(options, config)
        })
    };

    pub(crate) const TYPE_2: ControllerInfo = ControllerInfo {
        options: &[BufferConfig::OPTIONS.group],
        requirements: |_| Requirements { buffer: true, ..Requirements::DEFAULT },
        ..ControllerInfo::new("buffer-type2", "S000", |options, flow| {
            Self::build(options, BufferConfig::new(Law::TYPE_2, flow))
        })
    };

    fn build(options: &Options<'_>, config: BufferConfig) -> Result<ControllerPair, SpecError> {
        let config = options.read(&BufferConfig::OPTIONS, config)?;
        Ok(pair(Self::new(config), BufferReports::default()))
    }

    /// Before any report.
    pub fn new(config: BufferConfig) -> Self {
        Self {
            limits: RateRange::ALL,
            rate: None,
            smoothed: SmoothedRtt::default(),
            former: None,
            state: BufferState::Underflow,
            packet_time: config.packet_time.unwrap_or(0.0),
            newest: None,
            no_feedback: NoFeedbackTimer::default(),
            decisions: DecisionLog::new(),
            config,
        }
    }

    fn packets(&self, rate: Bitrate) -> f64 {
        rate.as_bytes_per_second() / self.config.packet
    }

    /// `T` inside the limits, packets a second; 0 where the limits forbid to send.
    fn packet_rate(&self) -> f64 {
        let highest = self.packets(self.limits.max);
        let lowest = self.packets(self.limits.min).max(LEAST_RATE);
        self.rate.unwrap_or(LEAST_RATE).max(lowest).min(highest)
    }

    /// `IPD`, seconds (S000 Eq. 13 inverted).
    fn pause(&self, rate: f64) -> f64 {
        let pause = (1.0 / rate - self.packet_time).max(LEAST_PAUSE);
        if self.config.clamp_pause { pause.min(LONGEST_PAUSE) } else { pause }
    }

    /// What the pause amounts to (S000 Eq. 11).
    fn reached(&self) -> Bitrate {
        let rate = self.packet_rate();
        let reached = if rate > 0.0 { 1.0 / (self.packet_time + self.pause(rate)) } else { 0.0 };
        self.limits.clamp(Bitrate::from_bytes_per_second(reached * self.config.packet))
    }

    fn on_level(&mut self, now: Timestamp, level: BufferLevel, before: f64, after: f64) {
        // Another capacity is another buffer, whose level does not continue the trend.
        let former = self.former.filter(|former| former.capacity == level.capacity).unwrap_or(level);
        self.former = Some(level);
        let rate = self.packet_rate();
        let arriving = self.arriving(after);
        let LevelResponse { state, rate, threshold, looked_at } =
            self.config.law.step(level, former, arriving, |state, gamma| match state {
                // VTP's equivalent window: a packet more each round-trip time, counted in seconds.
                BufferState::Stable => (rate * before + self.config.growth) / after.max(0.001),
                BufferState::Underflow | BufferState::Overflow => rate * gamma,
            });
        let signal = Gauge::new("buffer", looked_at, "B");
        self.state = state;
        self.change(now, Reason::new(state.rule(), signal, threshold), |this| {
            this.rate = Some(rate);
            this.rate = Some(this.packet_rate());
        });
    }

    /// What a round-trip time of `rtt` seconds brings, bytes.
    fn arriving(&self, rtt: f64) -> f64 {
        (self.packet_rate() * self.config.packet * rtt).max(self.config.packet)
    }

    /// So many round-trip times, or what stands for them before the first.
    fn wait(&self, round_trips: f64) -> TimeDelta {
        let seconds = self.smoothed.now.map_or(FIRST_SILENCE, |rtt| (round_trips * rtt).max(0.01));
        TimeDelta::from_secs_f64(seconds)
    }
}

impl LogsDecisions for BufferAware {
    fn decided_rate(&self) -> Bitrate {
        self.reached()
    }
}

impl RateController for BufferAware {
    fn on_sent(&mut self, now: Timestamp, _packet: &SentPacket) {
        let wait = self.wait(SILENCE);
        self.no_feedback.on_sent(now, || wait);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let received = feedback.packets.iter().filter(|report| matches!(report.fate, Fate::Received { .. }));
        if let Some(newest) = received.map(|report| report.sent.min(now)).max() {
            if self.newest.is_some_and(|known| newest < known) {
                // Overtaken by a later one.
                return;
            }
            self.newest = Some(newest);
        }
        let Some(sample) = feedback.rtt.and_then(plausible_rtt).or(self.smoothed.last_sample) else { return };
        let (before, after) = self.smoothed.update(sample);
        self.no_feedback.start(now, self.wait(SILENCE));
        if let Some(level) = feedback.peer.buffer {
            self.on_level(now, level, before, after);
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, start, max } => {
                let signal = Gauge::new("start_rate", start.as_bps_f64(), "bit/s");
                self.change(now, Reason::limits(signal, max), |this| {
                    this.limits = RateRange::new(min, max);
                    this.rate = this.rate.or(Some(this.packets(start)));
                });
            }
            LocalSignal::LinkHint { rate, .. }
                if rate > Bitrate::ZERO && self.config.packet_time.is_none() =>
            {
                let hint = Gauge::new("link_rate", rate.as_bps_f64(), "bit/s");
                self.change(now, Reason::new("first hop's rate", hint, 0.0), |this| {
                    this.packet_time = (this.config.packet / rate.as_bytes_per_second()).min(1.0);
                });
            }
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if !self.no_feedback.expired(now) {
            return;
        }
        let waited = Gauge::new("round_trips_of_silence", SILENCE, "");
        self.change(now, Reason::new("no report", waited, SILENCE), |this| {
            this.rate = Some(this.packet_rate() * this.config.law.silence());
            this.rate = Some(this.packet_rate());
        });
        self.no_feedback.restart(now, self.wait(1.0));
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.no_feedback.due()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        let rate = self.packet_rate();
        if rate <= 0.0 {
            return Allowance::paced(Bitrate::ZERO);
        }
        let gap = TimeDelta::from_secs_f64(self.packet_time + self.pause(rate));
        Allowance { gap, ..Allowance::paced(Bitrate::MAX) }
    }

    fn target(&self) -> Target {
        Target::new(self.reached())
    }

    fn phase(&self) -> &'static str {
        self.state.name()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("packet_rate", self.packet_rate(), "1/s"));
        if self.packet_rate() > 0.0 {
            visit(Gauge::new("pause", self.pause(self.packet_rate()), "s"));
        }
        if let Some(rtt) = self.smoothed.now {
            visit(Gauge::new("rtt", rtt, "s"));
        }
        if let Some(level) = self.former {
            let (capacity, rtt) = (level.capacity.as_bytes_f64(), self.smoothed.now.unwrap_or(0.0));
            let (low, high) = self.config.law.thresholds(capacity, self.arriving(rtt));
            visit(Gauge::new("buffer", level.held.as_bytes_f64(), "B"));
            visit(Gauge::new("buffer_low", low, "B"));
            visit(Gauge::new("buffer_high", high, "B"));
        }
    }
}

impl BufferConfig {
    const TREND: OptionTable<Self> = options! { |config: &mut BufferConfig, value|
        "gamma" = "literal", "literal or adverse",
            "which trend of the buffer takes the stronger step: S000's section 4.4 or its prose":
            config.law.rule =
                value.choose(&[("literal", GammaRule::Literal), ("adverse", GammaRule::Adverse)])?;
        "predict" = "on", "on or off", "classify the predicted level, not the present one":
            config.law.predict = value.switch()?;
    };
    const OPTIONS: OptionTable<Self> = options! { |config: &mut BufferConfig, value|
        "dynamic" = "off", "on or off",
            "keep room for what arrives in a round-trip time below the upper threshold":
            config.law.dynamic = value.switch()?;
        "clamp" = "off", "on or off", "pause at most 20 ms between packets":
            config.clamp_pause = value.switch()?;
        "low" = "0.2", "0 to 1", "part of the buffer below which it runs dry (B_L)":
            config.law.low = value.within(0.0..=1.0)?;
        "high" = "0.9", "0 to 1", "part of the buffer from which on it runs over (B_H); S000's alpha is the rest":
            config.law.high = value.within(0.0..=1.0)?;
        "gamma1" = "1.2", "1 to 2", "multiplier of the rate where the buffer runs dry; 0.1 more where the trend takes the stronger step":
            config.law.dry = value.within(1.0..=2.0)?;
        "gamma2" = "0.9", "0.2 to 1", "multiplier where it runs over; 0.1 less where the trend takes the stronger step":
            config.law.over = value.within(0.2..=1.0)?;
        "packet_time" = "from the first hop's rate, else 0 s", "0 s to 1 s",
            "time that a packet takes on the sender's first link":
            config.packet_time =
                Some(value.within(TimeDelta::ZERO..=TimeDelta::from_secs(1))?.as_secs_f64());
        "rtt" = "s", "s or ms",
            "unit of Eq. 15's round-trip times: in a stable buffer the window grows by a packet each, or by a thousandth":
            config.growth = value.choose(&[("s", PER_SECOND), ("ms", PER_MILLISECOND)])?;
    }
    .shared_as("Receiver buffer");

    /// Defaults for a flow.
    pub fn new(law: Law, flow: FlowConfig) -> Self {
        let packet = flow.packet.as_bytes_f64().max(1.0);
        Self { law, clamp_pause: false, packet_time: None, growth: PER_SECOND, packet }
    }
}

#[cfg(test)]
mod tests;
