//! VTP, the video transport protocol (G. Yang, M. Gerla, M. Y. Sanadidi, "Adaptive video streaming in presence of
//! wireless errors", MMNS 2004), whose stable state S000 borrows.
//!
//! It grows as TCP's window does, by a packet each round-trip time. A loss while the trip time is low is the
//! channel's and changes nothing; a loss of congestion brings the rate down to what the receiver achieved, by less
//! than half and for longer, so that what is not sent equals what a TCP that halves would not send.
//!
//! S000 prints the growth (Eq. 15); the paper's abstract names achieved rate and loss discrimination. The bounds of
//! the discrimination, the filter of the achieved rate and the equal-area hold are from memory or derived, each an
//! option or named below.

use crate::allowance::Target;
use crate::buffer_aware::BufferReports;
use crate::controller::RateController;
use crate::decision::{DecisionLog, Gauge, LogsDecisions, Reason};
use crate::estimators::{Ewma, LossDiscriminator, Scheme, plausible_rtt};
use crate::feedback::{Fate, Feedback};
use crate::info::{ControllerInfo, FlowConfig, pair};
use crate::no_feedback::NoFeedbackTimer;
use crate::options;
use crate::options::OptionTable;
use crate::packet::SentPacket;
use crate::signal::LocalSignal;
use seaway_units::{Bitrate, RateRange, RemoteTimestamp, TimeDelta, Timestamp};

/// What can be set of [`Vtp`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VtpConfig {
    /// Size of a packet, bytes.
    pub packet: f64,
    /// Weight of the old achieved rate (`σ`); 11/13 is from memory.
    pub memory: f64,
    /// How losses of the channel are distinguished from those of congestion.
    pub discriminate: Scheme,
}

/// The sending half. All is computed here, from the fate of each packet.
#[derive(Debug, Clone)]
pub struct Vtp {
    config: VtpConfig,
    limits: RateRange,
    /// `R`, packets a second; `None` before the limits are known.
    rate: Option<f64>,
    rtt: Ewma,
    achieved: AchievedRate,
    verdicts: Verdicts,
    /// The last step of growth.
    grown_at: Option<Timestamp>,
    reduced_at: Option<Timestamp>,
    /// Round-trip times until it grows again.
    hold: f64,
    no_feedback: NoFeedbackTimer,
    decisions: DecisionLog,
}

/// Weight of the old round-trip time (RFC 6298); the abstract gives none.
const RTT_KEEP: f64 = 0.875;
/// Least rate, packets a second (ours).
const LEAST_RATE: f64 = 1.0;
/// Longest hold, round-trip times (ours).
const LONGEST_HOLD: f64 = 64.0;
/// Round-trip times without a report that halve the rate.
const SILENCE: f64 = 4.0;
/// Silence before the first round-trip time, seconds.
const FIRST_SILENCE: f64 = 2.0;
/// Growth after a longer pause counts this much of it, seconds: nothing was learnt meanwhile.
const LONGEST_STEP: f64 = 1.0;

impl Vtp {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[VtpConfig::OPTIONS.group],
        ..ControllerInfo::new(
            "vtp",
            "Yang, Gerla and Sanadidi 2004 by its abstract and S000 Eq. 15; the rest is our interpretation",
            |options, flow| {
                let config = options.read(&VtpConfig::OPTIONS, VtpConfig::new(flow))?;
                Ok(pair(Self::new(config), BufferReports::default()))
            },
        )
    };

    /// Before any report.
    pub fn new(config: VtpConfig) -> Self {
        Self {
            limits: RateRange::ALL,
            rate: None,
            rtt: Ewma::new(RTT_KEEP),
            achieved: AchievedRate::new(config.memory),
            verdicts: Verdicts::new(config.discriminate),
            grown_at: None,
            reduced_at: None,
            hold: 0.0,
            no_feedback: NoFeedbackTimer::default(),
            decisions: DecisionLog::new(),
            config,
        }
    }

    fn packets(&self, rate: Bitrate) -> f64 {
        rate.as_bytes_per_second() / self.config.packet
    }

    /// `R` inside the limits, packets a second; 0 where the limits forbid to send.
    fn packet_rate(&self) -> f64 {
        let lowest = self.packets(self.limits.min).max(LEAST_RATE);
        self.rate.unwrap_or(LEAST_RATE).max(lowest).min(self.packets(self.limits.max))
    }

    fn allowed(&self) -> Bitrate {
        self.limits.clamp(Bitrate::from_bytes_per_second(self.packet_rate() * self.config.packet))
    }

    /// Takes what arrived; whether something was lost to congestion.
    fn observe(&mut self, now: Timestamp, feedback: &Feedback<'_>, rtt: f64) -> bool {
        for report in feedback.packets {
            let Fate::Received { at, .. } = report.fate else { continue };
            let at = Timestamp::from_nanos(at.map_or(now.as_nanos(), RemoteTimestamp::as_nanos));
            self.achieved.on_arrival(at, report.packet.size.as_bytes_f64() / self.config.packet, rtt);
            let sent = RemoteTimestamp::from_nanos(report.sent.as_nanos());
            self.verdicts.on_arrival(at, report.packet.sequence, sent);
        }
        let mut lost = feedback.packets.iter().filter(|report| report.fate == Fate::Lost);
        lost.any(|report| !self.verdicts.on_channel(report.packet.sequence))
    }

    /// Less, for longer: to the achieved rate but not below half, and then no growth for a while.
    fn reduce(&mut self, now: Timestamp, rtt: f64) {
        let window = self.packet_rate() * rtt;
        let achieved = self.achieved.get().unwrap_or(0.0);
        let by = (window - (achieved * rtt).max(window / 2.0)).max(1.0);
        self.reduced_at = Some(now);
        self.hold = hold(window, by);
        let signal = Gauge::new("achieved_rate", achieved * self.config.packet * 8.0, "bit/s");
        let reason = Reason::new("congestion loss", signal, self.allowed().as_bps_f64());
        self.change(now, reason, |this| {
            this.rate = Some((window - by) / rtt);
            this.rate = Some(this.packet_rate());
        });
    }

    /// A packet more each round-trip time (S000 Eq. 15), whatever the time between reports.
    fn grow(&mut self, now: Timestamp, before: f64, after: f64) {
        let since = self.grown_at.map_or(0.0, |at| now.since(at).as_secs_f64()).min(LONGEST_STEP);
        self.grown_at = Some(now);
        if self.hold > 0.0 {
            self.hold -= since / after;
            return;
        }
        let rate = (self.packet_rate() * before + since / after) / after;
        let signal = Gauge::new("rtt", after, "s");
        self.change(now, Reason::new("a packet each round-trip time", signal, before), |this| {
            this.rate = Some(rate);
            this.rate = Some(this.packet_rate());
        });
    }

    /// Without feedback for so long the rate is halved.
    fn no_feedback_wait(&self) -> TimeDelta {
        let seconds = self.rtt.get().map_or(FIRST_SILENCE, |rtt| (SILENCE * rtt).max(0.01));
        TimeDelta::from_secs_f64(seconds)
    }
}

/// How long not to grow after a window of `window` packets was reduced by `by`, round-trip times: until what was
/// not sent equals the `window² / 8` packets of a TCP that halves and grows back (the derivation is ours).
fn hold(window: f64, by: f64) -> f64 {
    ((window * window / 8.0 - by * by / 2.0) / by).clamp(0.0, LONGEST_HOLD)
}

impl LogsDecisions for Vtp {
    fn decided_rate(&self) -> Bitrate {
        self.allowed()
    }
}

impl RateController for Vtp {
    fn on_sent(&mut self, now: Timestamp, _packet: &SentPacket) {
        let wait = self.no_feedback_wait();
        self.no_feedback.on_sent(now, || wait);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if !feedback.packets.iter().any(|report| matches!(report.fate, Fate::Received { .. })) {
            return;
        }
        let Some(sample) = feedback.rtt.and_then(plausible_rtt).or(self.rtt.get()) else { return };
        let before = self.rtt.get().unwrap_or(sample);
        let after = self.rtt.update(sample);
        self.no_feedback.start(now, self.no_feedback_wait());
        let congested = self.observe(now, feedback, after);
        let lately = self.reduced_at.is_some_and(|at| now.since(at).as_secs_f64() < after);
        if congested && !lately {
            self.reduce(now, after);
            self.grown_at = Some(now);
        } else {
            self.grow(now, before, after);
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
            LocalSignal::FeedbackInterval(interval) => self.no_feedback.set_feedback_interval(interval),
            LocalSignal::RouteChanged => self.verdicts = Verdicts::new(self.config.discriminate),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if !self.no_feedback.expired(now) {
            return;
        }
        let waited = Gauge::new("round_trips_of_silence", SILENCE, "");
        self.change(now, Reason::new("no report", waited, SILENCE), |this| {
            this.rate = Some(this.packet_rate() / 2.0);
            this.rate = Some(this.packet_rate());
        });
        self.no_feedback.restart(now, self.no_feedback_wait());
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.no_feedback.due()
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.decisions)
    }

    fn target(&self) -> Target {
        Target::new(self.allowed())
    }

    fn phase(&self) -> &'static str {
        if self.hold > 0.0 { "hold" } else { "increase" }
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("packet_rate", self.packet_rate(), "1/s"));
        if let Some(achieved) = self.achieved.get() {
            visit(Gauge::new("achieved_rate", achieved * self.config.packet * 8.0, "bit/s"));
        }
        if let Some(rtt) = self.rtt.get() {
            visit(Gauge::new("rtt", rtt, "s"));
        }
    }
}

impl VtpConfig {
    const OPTIONS: OptionTable<Self> = options! { |config: &mut VtpConfig, value|
        "discriminate" = "vtp", "biaz, mbiaz, spike, vtp, zigzag, zbs or trend",
            "how losses of the channel are distinguished from those of congestion":
            config.discriminate = value.read()?;
        "memory" = "11/13", "0 to 0.99", "weight of the old achieved rate":
            config.memory = value.within(0.0..=0.99)?;
    };

    /// Defaults for a flow.
    pub fn new(flow: FlowConfig) -> Self {
        let packet = flow.packet.as_bytes_f64().max(1.0);
        Self { packet, memory: 11.0 / 13.0, discriminate: Scheme::VTP }
    }
}

/// `AR`: what arrived, over a round-trip time and twenty packets at least, packets a second.
#[derive(Debug, Clone, Copy)]
struct AchievedRate {
    memory: f64,
    value: Option<f64>,
    former_sample: f64,
    begun: Option<Timestamp>,
    arrived: f64,
    packets: u32,
}

impl AchievedRate {
    /// Packets in a sample at least.
    const LEAST: u32 = 20;

    const fn new(memory: f64) -> Self {
        Self { memory, value: None, former_sample: 0.0, begun: None, arrived: 0.0, packets: 0 }
    }

    const fn get(&self) -> Option<f64> {
        self.value
    }

    fn on_arrival(&mut self, at: Timestamp, size: f64, rtt: f64) {
        let begun = *self.begun.get_or_insert(at);
        let elapsed = at.since(begun).as_secs_f64();
        if !(0.0..=60.0).contains(&elapsed) {
            // The peer's clock jumped.
            *self = Self { begun: Some(at), arrived: 0.0, packets: 0, ..*self };
            return;
        }
        self.arrived += size;
        self.packets += 1;
        if elapsed >= rtt && self.packets > Self::LEAST {
            // The first packet opened the interval: its own octets came before it.
            let sample = (self.arrived - size.min(self.arrived)).max(0.0) / elapsed;
            self.take(sample);
            *self = Self { begun: Some(at), arrived: 0.0, packets: 0, ..*self };
        }
    }

    fn take(&mut self, sample: f64) {
        let middle = (sample + if self.value.is_some() { self.former_sample } else { sample }) / 2.0;
        self.value = Some(self.value.map_or(middle, |old| self.memory * old + (1.0 - self.memory) * middle));
        self.former_sample = sample;
    }
}

/// The verdicts on the latest gaps, until their packets are reported lost.
#[derive(Debug, Clone)]
struct Verdicts {
    discriminator: LossDiscriminator,
    newest: Option<u64>,
    /// The number that ended the gap, and whether it was the channel's.
    gaps: [Option<(u64, bool)>; Self::KEPT],
    next: usize,
}

impl Verdicts {
    const KEPT: usize = 32;

    const fn new(scheme: Scheme) -> Self {
        let discriminator = LossDiscriminator::new(scheme);
        Self { discriminator, newest: None, gaps: [None; Self::KEPT], next: 0 }
    }

    fn on_arrival(&mut self, at: Timestamp, sequence: u64, sent: RemoteTimestamp) {
        let on_channel = self.discriminator.on_arrival(at, sequence, sent);
        if self.newest.is_some_and(|newest| sequence > newest.saturating_add(1)) {
            self.gaps[self.next] = Some((sequence, on_channel));
            self.next = (self.next + 1) % Self::KEPT;
        }
        self.newest = self.newest.max(Some(sequence));
    }

    /// Whether the channel lost `sequence`: the verdict on its gap; without one, congestion lost it.
    fn on_channel(&self, sequence: u64) -> bool {
        let above = self.gaps.iter().flatten().filter(|(ended_by, _)| *ended_by > sequence);
        above.min().is_some_and(|(_, on_channel)| *on_channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/models/loss-discrimination.md`, section "VTP": a window of 20 reduced by 1, 5, 10 holds 49.5, 7.5, 0
    /// round-trip times.
    #[test]
    fn deficits_are_equal() {
        for (by, round_trips) in [(1.0, 49.5), (5.0, 7.5), (10.0, 0.0)] {
            assert!((hold(20.0, by) - round_trips).abs() < 1e-12, "{by}");
        }
        assert_eq!(hold(1000.0, 1.0), LONGEST_HOLD);
    }

    /// `docs/models/loss-discrimination.md`, section "VTP": AR = σ AR + (1 - σ)(sample + sample before)/2 with σ =
    /// 11/13.
    #[test]
    fn achieved_rate_is_filtered() {
        let mut achieved = AchievedRate::new(11.0 / 13.0);
        achieved.take(100.0);
        assert_eq!(achieved.get(), Some(100.0));
        achieved.take(139.0);
        assert!((achieved.get().unwrap() - (1100.0 + 2.0 * 119.5) / 13.0).abs() < 1e-12);
    }

    /// Twenty packets 10 ms apart and a round-trip time of 50 ms: 100 packets a second.
    #[test]
    fn achieved_rate_counts_arrivals() {
        let mut achieved = AchievedRate::new(11.0 / 13.0);
        for packet in 0..=20 {
            assert_eq!(achieved.get(), None);
            achieved.on_arrival(Timestamp::from_nanos(packet * 10_000_000), 1.0, 0.05);
        }
        assert!((achieved.get().unwrap() - 100.0).abs() < 1e-9);
    }
}
