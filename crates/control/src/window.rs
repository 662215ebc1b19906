//! The TCP window without retransmission (S002 section 3.3, on RFC 2001, RFC 5681 and RFC 6298).

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{RetransmissionTimer, plausible_rtt};
use crate::feedback::{Fate, Feedback, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::info::{ControllerInfo, FlowConfig, Kind, pair};
use crate::options;
use crate::options::{OptionTable, Options, find_named};
use crate::packet::{Marking, PacketId, SentPacket, Subflow};
use crate::signal::LocalSignal;
use crate::spec::{ControlSpec, SpecError};
use seaway_units::{Bitrate, DataSize, Ecn, RateRange, TimeDelta, Timestamp};

/// What can be set of [`Window`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowConfig {
    /// `SMSS`, bytes: the largest packet, and the first window.
    pub segment: f64,
    /// Stop only at a full window, as S002 says: the last packet may exceed it.
    pub literal_gate: bool,
    /// A loss halves the window, as in RFC 2001, not what is in flight.
    pub halve_window: bool,
    /// Begin again with the first window after a pause (RFC 5681 section 4.1).
    pub restart: bool,
    /// Codepoint on its packets.
    pub ecn: Ecn,
}

/// TCP's window, counted in bytes. What was lost is not sent again by itself: only what the receiver requests.
#[derive(Debug, Clone)]
pub struct Window {
    config: WindowConfig,
    limits: RateRange,
    /// `cwnd`, `ssthresh` and what is out, bytes.
    window: f64,
    threshold: f64,
    flight: f64,
    timer: RetransmissionTimer,
    feedback_interval: TimeDelta,
    timeout_at: Option<Timestamp>,
    /// When a pause will have been so long that the window starts again.
    restart_at: Option<Timestamp>,
    newest: Option<PacketId>,
    /// Packets up to here were given up by a timeout.
    written_off: Option<PacketId>,
    /// The window was cut; not again before something later is acknowledged.
    recover: Option<PacketId>,
    decisions: DecisionLog,
}

/// `ssthresh` before the first loss, bytes (RFC 2001 section 1).
const FIRST_THRESHOLD: f64 = 65_535.0;

impl Window {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        kind: Kind::Window,
        options: &[WindowConfig::OPTIONS.group],
        ..ControllerInfo::new(
            "window",
            "S002 section 3.3 on RFC 2001, RFC 5681, RFC 6298",
            |options, flow| {
                let config = options.read(&WindowConfig::OPTIONS, WindowConfig::new(flow))?;
                Ok(pair(Self::new(config), PerPacketFeedback::default()))
            },
        )
    };

    /// The configuration of `spec`, for packets of `flow`.
    ///
    /// # Errors
    /// Another controller, an unknown option, or a value out of its range.
    pub fn configure(spec: &ControlSpec, flow: FlowConfig) -> Result<WindowConfig, SpecError> {
        let info = &Self::INFO;
        find_named(std::slice::from_ref(info), |info| info.name, "controller of this transport", &spec.name)?;
        Options::new(spec, info.name, info.options)?.read(&WindowConfig::OPTIONS, WindowConfig::new(flow))
    }

    /// An empty window of one segment.
    pub fn new(config: WindowConfig) -> Self {
        Self {
            window: config.segment,
            config,
            limits: RateRange::ALL,
            threshold: FIRST_THRESHOLD,
            flight: 0.0,
            timer: RetransmissionTimer::new(),
            feedback_interval: TimeDelta::ZERO,
            timeout_at: None,
            restart_at: None,
            newest: None,
            written_off: None,
            recover: None,
            decisions: DecisionLog::new(),
        }
    }

    /// What left and is neither acknowledged nor taken for lost.
    pub fn flight(&self) -> DataSize {
        DataSize::from_bytes(self.flight as u64)
    }

    /// `RTO`, or two of the peer's feedback intervals.
    fn timeout(&self) -> TimeDelta {
        self.timer.timeout().max(self.feedback_interval * 2)
    }

    /// A window each round-trip time; a packet each timeout before that is known.
    fn rate(&self) -> Bitrate {
        let rtt = self.timer.rtt().unwrap_or_else(|| self.timer.timeout().as_secs_f64());
        self.limits.clamp(Bitrate::from_bytes_per_second(self.window / rtt))
    }

    /// `acked` bytes were named for the first time (RFC 5681 section 3.1).
    fn grow(&mut self, now: Timestamp, acked: f64) {
        let segment = self.config.segment;
        let acked = acked.min(segment);
        let signal = Gauge::new("acked", acked, "B");
        if self.window < self.threshold {
            self.change(now, Reason::new("slow start", signal, 0.0), |this| this.window += acked);
        } else {
            let step = (segment * acked / self.window).max(1.0);
            self.change(now, Reason::new("congestion avoidance", signal, 0.0), |this| this.window += step);
        }
    }

    /// A loss, a request for a repair or a mark while acknowledgements keep coming: half, once a window.
    fn cut(&mut self, now: Timestamp, cause: &'static str, lost: f64) {
        if self.recover.is_some() {
            return;
        }
        self.recover = self.newest;
        let signal = Gauge::new("lost", lost, "B");
        self.change(now, Reason::new(cause, signal, 0.0), |this| {
            let base = if this.config.halve_window { this.window } else { this.flight };
            this.threshold = (base / 2.0).max(2.0 * this.config.segment);
            this.window = this.threshold;
        });
    }

    /// Whether feedback about `id` still means anything: it was sent, and not given up.
    fn is_out(&self, id: PacketId) -> bool {
        self.newest.is_some_and(|newest| id <= newest) && self.written_off.is_none_or(|gone| id > gone)
    }

    fn restart_timer(&mut self, now: Timestamp) {
        self.timeout_at = (self.flight > 0.0).then(|| now + self.timeout());
    }
}

impl LogsDecisions for Window {
    fn decided_rate(&self) -> Bitrate {
        self.rate()
    }
}

impl RateController for Window {
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking { ecn: self.config.ecn, tag: None }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.newest = self.newest.max(Some(packet.id));
        self.flight += packet.size.as_bytes_f64();
        if self.timeout_at.is_none() {
            self.restart_timer(now);
        }
        self.restart_at = self.config.restart.then(|| now + self.timeout());
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if let Some(sample) = feedback.rtt.and_then(plausible_rtt) {
            self.timer.sample(sample);
        }
        let (mut lost, mut marked, mut acked_any) = (0.0, false, false);
        for report in feedback.packets {
            let (id, size) = (report.packet.id, report.packet.size.as_bytes_f64());
            match report.fate {
                _ if !self.is_out(id) => {}
                Fate::Received { ecn, .. } => {
                    if self.recover.is_some_and(|recover| id > recover) {
                        self.recover = None;
                    }
                    marked |= ecn == Ecn::Ce;
                    acked_any = true;
                    self.flight = (self.flight - size).max(0.0);
                    self.grow(now, size);
                }
                Fate::Lost => lost += size,
                // It left flight when it was called lost.
                Fate::Late { .. } => {}
            }
        }
        let requested = feedback.requested.iter().any(|id| self.is_out(*id));
        if lost > 0.0 {
            self.cut(now, "loss", lost);
        } else if requested {
            self.cut(now, "repair requested", 0.0);
        } else if marked {
            self.cut(now, "congestion mark", 0.0);
        }
        self.flight = (self.flight - lost).max(0.0);
        if acked_any || self.flight == 0.0 {
            self.restart_timer(now);
        }
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        match signal {
            LocalSignal::Limits { min, max, .. } => {
                let window = Gauge::new("window", self.window, "B");
                self.change(now, Reason::new("limits set", window, 0.0), |this| {
                    this.limits = RateRange::new(min, max);
                });
            }
            LocalSignal::FeedbackInterval(interval) => {
                self.feedback_interval = interval.clamp(TimeDelta::ZERO, TimeDelta::from_secs(60));
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.timeout_at.is_some_and(|at| at <= now) {
            // Everything out is given up, and nothing is sent again.
            let waited = Gauge::new("retransmission_timeout", self.timeout().as_secs_f64(), "s");
            self.change(now, Reason::new("retransmission timeout", waited, 0.0), |this| {
                this.threshold = (this.flight / 2.0).max(2.0 * this.config.segment);
                this.window = this.config.segment;
            });
            self.timer.back_off();
            self.flight = 0.0;
            (self.written_off, self.recover) = (self.newest, None);
            self.timeout_at = None;
        }
        if self.restart_at.is_some_and(|at| at <= now) {
            self.restart_at = None;
            let first = self.config.segment;
            let window = Gauge::new("window", self.window, "B");
            self.change(now, Reason::new("restart after a pause", window, first), |this| {
                this.window = this.window.min(first);
            });
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        [self.timeout_at, self.restart_at].into_iter().flatten().min()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn allowance(&self, _subflow: Subflow) -> Allowance {
        let room = (self.window - self.flight).max(0.0);
        let segment = self.config.segment;
        let one = self.flight == 0.0 || (self.config.literal_gate && room > 0.0);
        let window = if one { room.max(segment) } else { room };
        Allowance { window: Some(DataSize::from_bytes(window as u64)), ..Allowance::paced(self.limits.max) }
    }

    fn target(&self) -> Target {
        Target::new(self.rate())
    }

    fn phase(&self) -> &'static str {
        if self.window < self.threshold { "slow start" } else { "congestion avoidance" }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("window", self.window, "B"));
        visit(Gauge::new("threshold", self.threshold, "B"));
        visit(Gauge::new("flight", self.flight, "B"));
        visit(Gauge::new("retransmission_timeout", self.timer.timeout().as_secs_f64(), "s"));
        if let Some(rtt) = self.timer.rtt() {
            visit(Gauge::new("rtt", rtt, "s"));
        }
    }
}

impl WindowConfig {
    const OPTIONS: OptionTable<Self> = options! { |config: &mut WindowConfig, value|
        "smss" = "the flow's largest packet", "a size from 40 B to 64 kB (S002: 512 B)",
            "segment size: the first window, and the step of congestion avoidance":
            config.segment = value
                .within(DataSize::from_bytes(40)..=DataSize::from_bytes(64_000))?
                .as_bytes_f64();
        "gate" = "exact", "exact or literal",
            "literal: stop only at a full window, so that the last packet may exceed it (S002)":
            config.literal_gate = value.choose(&[("exact", false), ("literal", true)])?;
        "halve" = "flight", "flight or window",
            "what a loss halves: flight (RFC 5681) or window (RFC 2001)":
            config.halve_window = value.choose(&[("flight", false), ("window", true)])?;
        "restart" = "on", "on or off", "begin again with the first window after a pause longer than the timeout":
            config.restart = value.switch()?;
    };

    /// Segments of the flow's largest packet.
    pub fn new(flow: FlowConfig) -> Self {
        Self {
            segment: flow.packet.as_bytes_f64().max(1.0),
            literal_gate: false,
            halve_window: false,
            restart: true,
            ecn: flow.ecn,
        }
    }
}

/// The receiving half of a window: an acknowledgement for every packet, at once.
#[derive(Debug, Clone, Default)]
pub struct PerPacketFeedback {
    due: Option<Subflow>,
}

impl FeedbackSource for PerPacketFeedback {
    fn on_arrival(&mut self, _now: Timestamp, arrival: &Arrival) {
        self.due = Some(arrival.subflow);
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        self.due.take().map(|subflow| (subflow, PeerReport::default()))
    }
}

#[cfg(test)]
mod tests;
