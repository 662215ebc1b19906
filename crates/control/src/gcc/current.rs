//! libwebrtc's form: delay by trendline, loss by model, probes and application-limited regions.

use super::acked_rate::AckedRate;
use super::aimd::{Aimd, Input as AimdInput};
use super::alr::ApplicationLimited;
use super::arrival_group::{ArrivalGroups, Grouped};
use super::config::GccConfig;
use super::loss_based::{Input as LossInput, LossBased, LossState};
use super::overuse::Usage;
use super::probe_controller::{Permission, ProbeController, REGION_ENDED, State as ProbeState};
use super::probe_estimator::{Expected, ProbeEstimator, ProbePacket};
use super::trendline::Trendline;
use crate::allowance::Probe;
use crate::decision::{Gauge, Reason};
use crate::feedback::{Fate, PacketReport};
use crate::packet::{Content, SentPacket};
use seaway_units::{TimeDelta, Timestamp};

/// All parts together.
#[derive(Debug, Clone)]
pub(super) struct Current {
    config: GccConfig,
    groups: ArrivalGroups,
    trendline: Trendline,
    acked: AckedRate,
    aimd: Aimd,
    loss: LossBased,
    limited: ApplicationLimited,
    probes: ProbeController,
    probe_results: ProbeEstimator,
    /// The highest rate that probes proved lately, bit/s.
    proven: Option<(f64, Timestamp)>,
    /// When the first feedback came.
    first_feedback_at: Option<Timestamp>,
    /// bit/s.
    estimate: f64,
    /// What left before says nothing of loss: it was sent into an outage.
    counted_from: Timestamp,
}

/// So long after the first report a report without loss leaves all to the delay-based estimate.
const START_PHASE: TimeDelta = TimeDelta::from_secs(2);

/// What probes proved counts for so long.
const PROVEN_FOR: TimeDelta = TimeDelta::from_secs(60);

impl Current {
    pub(super) fn new(config: GccConfig, start: f64) -> Self {
        Self {
            config,
            groups: ArrivalGroups::default(),
            trendline: Trendline::new(),
            acked: AckedRate::default(),
            aimd: Aimd::new(start),
            loss: LossBased::new(config.loss_based, start),
            limited: ApplicationLimited::new(),
            probes: ProbeController::new(),
            probe_results: ProbeEstimator::default(),
            proven: None,
            first_feedback_at: None,
            estimate: start,
            counted_from: Timestamp::ZERO,
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.estimate
    }

    /// Begins at `rate`, with probes, on a path of which nothing is known.
    pub(super) fn start(&mut self, now: Timestamp, rate: f64, wanted: f64) {
        *self = Self { probes: self.probes, counted_from: now, ..Self::new(self.config, rate) };
        self.aimd.set(now, rate, "start");
        if self.config.probing {
            self.probes.start(now, rate, wanted);
        }
    }

    /// No feedback comes: the rate falls.
    pub(super) fn back_off(&mut self, now: Timestamp, rate: f64) {
        self.aimd.set(now, rate, "no feedback");
        self.loss = LossBased::new(self.config.loss_based, rate);
        self.estimate = rate;
    }

    pub(super) const fn expire(&mut self) {
        self.trendline.detector_mut().expire();
    }

    /// The path changed, or no feedback came for long.
    pub(super) fn forget_path(&mut self) {
        (self.groups, self.trendline) = (ArrivalGroups::default(), Trendline::new());
    }

    pub(super) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let media = packet.probe.is_none() && packet.content != Content::Padding;
        if media && self.limited.on_sent(now, packet.size, self.estimate) {
            self.loss.forget_observations();
        }
    }

    /// A report. `rtt` in ms, `most` and `wanted` in bit/s.
    pub(super) fn on_reports(
        &mut self,
        now: Timestamp,
        reports: &[PacketReport],
        rtt: f64,
        most: f64,
        wanted: f64,
    ) {
        let mut probed = None;
        for report in reports {
            probed = self.take(report).or(probed);
        }
        self.update_delay_based(now, rtt, probed.map(|rate| rate.min(most)));
        let proven = self.proven.filter(|(_, at)| now.since(*at) <= PROVEN_FOR);
        let proven =
            proven.filter(|_| self.limited.since().is_some()).map_or(f64::INFINITY, |(rate, _)| rate);
        let input =
            LossInput { acked: self.acked.get(), delay_based: self.aimd.rate(), most: most.min(proven) };
        self.estimate = self.loss.update(now, &input);
        let starting = now.since(*self.first_feedback_at.get_or_insert(now)) <= START_PHASE;
        if starting && !reports.iter().any(|report| report.fate == Fate::Lost) {
            self.loss.trust(self.aimd.rate());
            self.estimate = self.aimd.rate();
        }
        if self.config.probing {
            let state = self.probe_state(now, wanted);
            if let Some(rate) = probed {
                self.probes.on_result(now, rate, &state);
            }
            self.probes.update(now, &state);
        }
    }

    fn take(&mut self, report: &PacketReport) -> Option<f64> {
        let packet = report.packet;
        let (at, lost) = match report.fate {
            Fate::Received { at, .. } => (at, false),
            Fate::Lost => (None, true),
            Fate::Late { .. } => return None,
        };
        if report.sent >= self.counted_from {
            self.loss.count(report.sent, packet.size.as_bytes_f64(), lost);
        }
        let at = at?;
        self.acked.update(at, packet.size);
        match self.groups.push(report.sent, at) {
            Grouped::Quiet => {}
            Grouped::Delta(delta) => {
                self.trendline.update(&delta);
            }
            Grouped::Jump => self.trendline = Trendline::new(),
        }
        let id = packet.probe?;
        self.probe_results.on_packet(&ProbePacket { id, size: packet.size, sent: report.sent, received: at })
    }

    fn update_delay_based(&mut self, now: Timestamp, rtt: f64, probed: Option<f64>) {
        let usage = self.trendline.detector().usage();
        let proven = probed
            .filter(|rate| self.proven.is_none_or(|(best, at)| *rate >= best || now.since(at) > PROVEN_FOR));
        if let Some(rate) = proven {
            self.proven = Some((rate, now));
        }
        match probed {
            Some(rate) if usage != Usage::Over => self.aimd.on_probe(now, rate),
            _ => {
                // What the application left unused says nothing of the link: over-use there, by a probe or by
                // others, reduces from the present rate (libwebrtc's option AlrLimitedBackoff).
                let limited = usage == Usage::Over && self.limited.since().is_some();
                let acked = if limited { Some(self.aimd.rate()) } else { self.acked.get() };
                self.aimd.update(now, &AimdInput { usage, acked, rtt });
            }
        }
    }

    fn probe_state(&self, now: Timestamp, wanted: f64) -> ProbeState {
        let permission = match (self.trendline.detector().usage(), self.loss.state()) {
            (Usage::Over, _) | (_, LossState::Decreasing) => Permission::Denied,
            (_, LossState::Increasing) => Permission::LossLimited,
            (_, LossState::DelayBased) => Permission::Free,
        };
        ProbeState {
            estimate: self.estimate,
            wanted,
            limited_since: self.limited.since(),
            limited_lately: self.limited.lately(now, REGION_ENDED),
            permission,
        }
    }

    pub(super) fn poll_probe(&mut self) -> Option<Probe> {
        let probe = self.probes.poll()?;
        // A probe cannot be smaller than its packets.
        let size = probe.size.max(self.config.packet * u64::from(probe.packets));
        self.probe_results.expect(Expected { id: probe.id, size, packets: probe.packets });
        Some(Probe { size, ..probe })
    }

    pub(super) fn phase(&self) -> &'static str {
        match self.loss.state() {
            LossState::DelayBased => self.aimd.phase(),
            LossState::Increasing => "loss limited, increase",
            LossState::Decreasing => "loss limited",
        }
    }

    /// What limits the rate: cause, signal and threshold.
    pub(super) fn reason(&self) -> Reason {
        if self.loss.state() == LossState::DelayBased {
            let signal = Gauge::new("modified_trend", self.trendline.modified(), "ms");
            Reason::new(self.aimd.cause(), signal, self.trendline.detector().threshold())
        } else {
            let signal = Gauge::new("mean_loss", self.loss.mean_loss(), "");
            Reason::new("loss the path does not explain", signal, self.loss.inherent_loss())
        }
    }

    pub(super) fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("delay_based_rate", self.aimd.rate(), "bit/s"));
        visit(Gauge::new("modified_trend", self.trendline.modified(), "ms"));
        visit(Gauge::new("threshold", self.trendline.detector().threshold(), "ms"));
        visit(Gauge::new("mean_loss", self.loss.mean_loss(), ""));
        visit(Gauge::new("inherent_loss", self.loss.inherent_loss(), ""));
        visit(Gauge::new("application_limited", f64::from(u8::from(self.limited.since().is_some())), ""));
        if let Some(rate) = self.acked.get() {
            visit(Gauge::new("acked_rate", rate, "bit/s"));
        }
    }

    pub(super) const fn inherent_loss(&self) -> f64 {
        self.loss.inherent_loss()
    }
}
