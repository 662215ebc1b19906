//! draft-ietf-ccwg-rfc8298bis-screamv2: the reference window with L4S.

mod output;
mod reference_window;
mod signals;

use super::competing::DelayTarget;
use super::config::{FIRST_RTT, LEAST_RATE, ScreamConfig};
use super::summary::FeedbackSummary;
use crate::decision::Gauge;
use output::Encoder;
use reference_window::{Congestion, Path, ReferenceWindow};
use seaway_units::{Ecn, RateRange};
use signals::{Delay, MarkShare};

/// `VIRTUAL_RTT`, s.
const VIRTUAL_RTT: f64 = 0.025;
/// `REF_WND_OVERHEAD_MIN` and what a calm path adds to reach `REF_WND_OVERHEAD_MAX`.
const OVERHEAD_MIN: f64 = 1.5;
const OVERHEAD_CALM: f64 = 1.5;
/// `LOSS_RATE_THRESHOLD`, its `POLICER` form, and `BETA_LOSS_POLICER`.
const RARE_LOSS: f64 = 0.01;
const POLICER_LOSS: f64 = 0.1;
const POLICER_DECREASE: f64 = 0.9;
const POLICER_GROWTH: f64 = 1.001;
/// Below this part of the delay target loss is no sign of a queue.
const LOW_DELAY: f64 = 0.25;
/// `QDELAY_MIN_AVG_ALPHA`.
const DRIFT_GAIN: f64 = 1.0 / 256.0;
/// After a drift was found the rate is halved for so many round-trip times, or so long, s.
const DRIFT_ROUNDS: f64 = 5.0;
const DRIFT_PAUSE: f64 = 0.2;

/// Window and rates. Sizes in octets, times in seconds.
#[derive(Debug, Clone)]
pub(super) struct V2 {
    config: ScreamConfig,
    window: ReferenceWindow,
    marks: MarkShare,
    delay: Delay,
    target: DelayTarget,
    encoder: Encoder,
    loss_seen: bool,
    mark_seen: bool,
    /// EWMA of lost packets.
    loss_rate: f64,
    /// The window that a policer lets pass.
    policed: f64,
    round: Round,
    drained_until: f64,
    rate: f64,
}

/// The present round trip.
#[derive(Debug, Clone, Copy)]
struct Round {
    since: f64,
    flight: f64,
    flight_before: f64,
    lossy: bool,
    least_delay: f64,
    /// The least delay of round trips, averaged: above nothing but a clock that drifts.
    standing: f64,
}

impl V2 {
    pub(super) const fn new(config: ScreamConfig) -> Self {
        let low = config.delay_target_low;
        Self {
            config,
            window: ReferenceWindow::new(config.segment),
            marks: MarkShare::new(),
            delay: Delay::new(low),
            target: DelayTarget::new(low, config.delay_target_high),
            encoder: Encoder::NONE,
            loss_seen: false,
            mark_seen: false,
            loss_rate: 0.0,
            policed: f64::INFINITY,
            round: Round {
                since: 0.0,
                flight: 0.0,
                flight_before: 0.0,
                lossy: false,
                least_delay: f64::INFINITY,
                standing: 0.0,
            },
            drained_until: 0.0,
            rate: LEAST_RATE,
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn on_sent(&mut self, flight: f64) {
        self.round.flight = self.round.flight.max(flight);
    }

    /// A frame of `size` octets each `period` s; the oldest packet waits for `age` s.
    pub(super) fn on_frame(&mut self, size: f64, period: f64, age: f64, rtt: Option<f64>, limits: RateRange) {
        self.encoder.on_frame(size, period, self.rate, age);
        self.limit(rtt, limits);
    }

    /// The steps of screamv2 section 4.2 in their order; says which one acted. True with it where a standing
    /// queue of the clocks was found: the delay history is invalid then.
    pub(super) fn on_feedback(&mut self, seen: &FeedbackSummary, limits: RateRange) -> (&'static str, bool) {
        self.marks.update(seen.now, seen.rtt, seen.received, seen.marked);
        if let Some(delay) = seen.delay {
            self.delay.spread(self.target.get(), seen.delays);
            self.delay.update(seen.now, seen.rtt, delay);
            self.round.least_delay = self.round.least_delay.min(delay);
        }
        self.count_losses(seen);
        if self.loss_seen || self.mark_seen {
            self.window.on_congestion(seen.now);
        }
        let path = self.path(seen);
        let scale = self.window.scale();
        let congestion = self.congestion().filter(|_| self.window.may_react(seen.now, seen.rtt));
        if let Some(congestion) = congestion {
            self.reduce(congestion, scale, &path);
        }
        // What the window carries by itself: a `min` near `max` must not keep it at its least.
        if self.encoder.target(&self.window, seen.rtt) < limits.max.as_bps_f64() {
            self.window.grow((seen.acked - seen.acked_marked).max(0.0), scale, &path);
        }
        self.window.size = self.window.size.min(self.policed);
        if let Some(delay) = seen.delay.filter(|_| self.config.competing) {
            self.target.update(delay);
        }
        let drifted = self.count_round(seen);
        self.limit(Some(seen.rtt), limits);
        if seen.now < self.drained_until {
            self.rate = (self.rate / 2.0).max(limits.min.as_bps_f64()).max(LEAST_RATE);
        }
        let cause = match congestion {
            _ if drifted => "clock drift",
            Some(Congestion::Loss) => "loss",
            Some(Congestion::Marks { .. } | Congestion::ClassicMark) => "congestion marks",
            Some(Congestion::Delay { .. }) => "queueing delay",
            None => "window increase",
        };
        (cause, drifted)
    }

    fn count_losses(&mut self, seen: &FeedbackSummary) {
        // As the authors' code, a loss that is let pass is no congestion at all.
        self.loss_seen |= seen.lost > 0 && !self.lets_loss_pass();
        self.mark_seen |= seen.marked > 0;
        self.round.lossy |= seen.lost > 0;
        let gain = (RARE_LOSS / 4.0).min(self.config.segment / (2.0 * self.window.size));
        let fade = libm::pow(1.0 - gain, f64::from(seen.received));
        self.loss_rate *= fade;
        for _ in 0..seen.lost.min(1000) {
            self.loss_rate += gain * (1.0 - self.loss_rate);
        }
    }

    /// Loss while it is rare and comes without delay (optional in screamv2).
    fn lets_loss_pass(&self) -> bool {
        let queue = self.delay.average() > LOW_DELAY * self.target.get();
        self.config.loss_filter && self.loss_rate <= RARE_LOSS && !queue
    }

    fn path(&self, seen: &FeedbackSummary) -> Path {
        Path {
            now: seen.now,
            rtt: seen.rtt,
            delay: self.delay.latest,
            delay_target: self.target.get(),
            calm: self.calm(),
            flight: self.round.flight,
            flight_before: self.round.flight_before,
        }
    }

    fn calm(&self) -> f64 {
        if self.config.jitter { self.delay.calm() } else { 1.0 }
    }

    /// The first of the three signals that applies.
    fn congestion(&self) -> Option<Congestion> {
        if self.loss_seen {
            Some(Congestion::Loss)
        } else if self.mark_seen && self.config.ecn == Ecn::Ect1 {
            Some(Congestion::Marks { share: self.marks.get() })
        } else if self.mark_seen {
            Some(Congestion::ClassicMark)
        } else {
            let average = self.delay.average();
            (average > self.target.get() / 2.0).then_some(Congestion::Delay { average })
        }
    }

    fn reduce(&mut self, congestion: Congestion, scale: f64, path: &Path) {
        let before = self.window.size;
        self.window.reduce(congestion, scale, path);
        let queue = self.delay.average() >= LOW_DELAY * self.target.get();
        let policed = matches!(congestion, Congestion::Loss) && self.loss_rate > POLICER_LOSS && !queue;
        if self.config.policer && policed {
            self.policed = POLICER_DECREASE * before;
        }
        (self.loss_seen, self.mark_seen) = (false, false);
    }

    /// Once a round-trip time. True where the clocks drift.
    fn count_round(&mut self, seen: &FeedbackSummary) -> bool {
        if seen.now - self.round.since < seen.rtt {
            return false;
        }
        self.target.on_round(self.round.lossy);
        self.policed *= POLICER_GROWTH;
        let least = if self.round.least_delay.is_finite() { self.round.least_delay } else { 0.0 };
        let standing = (1.0 - DRIFT_GAIN) * self.round.standing + DRIFT_GAIN * least;
        let drifted = standing > LOW_DELAY * self.target.get();
        if drifted {
            self.drained_until = seen.now + (DRIFT_ROUNDS * seen.rtt).max(DRIFT_PAUSE);
        }
        self.round = Round {
            since: seen.now,
            flight: seen.flight,
            flight_before: self.round.flight,
            lossy: false,
            least_delay: f64::INFINITY,
            standing: if drifted { 0.0 } else { standing },
        };
        drifted
    }

    /// No feedback comes: the window falls.
    pub(super) fn back_off(&mut self, now: f64, rtt: Option<f64>, limits: RateRange) {
        let rtt = rtt.unwrap_or(FIRST_RTT);
        self.window.on_congestion(now);
        let path = Path {
            now,
            rtt,
            delay: self.delay.latest,
            delay_target: self.target.get(),
            calm: 1.0,
            flight: 0.0,
            flight_before: 0.0,
        };
        self.window.reduce(Congestion::Loss, self.window.scale(), &path);
        self.limit(Some(rtt), limits);
    }

    pub(super) fn limit(&mut self, rtt: Option<f64>, limits: RateRange) {
        let rtt = rtt.unwrap_or(FIRST_RTT);
        let rate = self.encoder.target(&self.window, rtt);
        let (min, max) = (limits.min.as_bps_f64(), limits.max.as_bps_f64());
        self.rate = rate.min(max).max(min).max(LEAST_RATE);
    }

    /// What may leave now.
    pub(super) fn send_window(&self, flight: f64) -> f64 {
        ((OVERHEAD_MIN + OVERHEAD_CALM * self.calm()) * self.window.size - flight).max(0.0)
    }

    pub(super) fn pace(&self, limits: RateRange) -> f64 {
        output::pace(self.rate, limits.max.as_bps_f64())
    }

    pub(super) const fn phase(&self) -> &'static str {
        if self.loss_seen || self.mark_seen { "congestion" } else { "increase" }
    }

    pub(super) const fn delay_target(&self) -> f64 {
        self.target.get()
    }

    pub(super) fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("reference_window", self.window.size, "B"));
        visit(Gauge::new("mark_share", self.marks.get(), ""));
        visit(Gauge::new("average_delay", self.delay.average(), "s"));
        visit(Gauge::new("loss_rate", self.loss_rate, ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::scream::config::Version;
    use seaway_units::{Bitrate, DataSize};

    const LIMITS: RateRange = RateRange { min: Bitrate::ZERO, max: Bitrate::from_mbps(50) };

    fn v2() -> V2 {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };
        let mut v2 = V2::new(ScreamConfig::new(Version::Two, flow));
        v2.window.size = 30_000.0;
        v2
    }

    fn seen(now: f64, lost: u32) -> FeedbackSummary {
        FeedbackSummary {
            now,
            delay: Some(0.0),
            delays: (0.0, 0.0),
            rtt: 0.05,
            acked: 0.0,
            acked_marked: 0.0,
            flight: 30_000.0,
            received: 10,
            lost,
            marked: 0,
        }
    }

    /// screamv2 section 4.2.1.2: loss goes before delay, and each only once a virtual round-trip time.
    #[test]
    fn one_reaction() {
        let mut v2 = v2();
        v2.delay.set(0.06);
        let full = FeedbackSummary { delay: Some(0.06), ..seen(1.0, 1) };
        assert_eq!(v2.on_feedback(&full, LIMITS).0, "loss");
        assert!((v2.window.size - 21_000.0).abs() < 1.0);
        let again = FeedbackSummary { delay: Some(0.06), ..seen(1.01, 1) };
        assert_eq!(v2.on_feedback(&again, LIMITS).0, "window increase");
        assert!((v2.window.size - 21_000.0).abs() < 1.0);
        let later = FeedbackSummary { delay: Some(0.06), ..seen(1.03, 0) };
        assert_eq!(v2.on_feedback(&later, LIMITS).0, "loss", "it was remembered");
    }

    /// screamv2's filter: rare loss without delay passes.
    #[test]
    fn loss_filter() {
        let mut v2 = v2();
        assert_eq!(v2.on_feedback(&seen(1.0, 1), LIMITS).0, "window increase");
        for step in 0..40 {
            v2.on_feedback(&seen(2.0 + 0.1 * f64::from(step), 3), LIMITS);
        }
        assert!(v2.loss_rate > RARE_LOSS && v2.window.size < 30_000.0, "{}", v2.loss_rate);
    }

    /// screamv2 on clock drift: a standing delay resets the history and halves the rate for a while.
    #[test]
    fn drift() {
        let mut v2 = v2();
        let drifted = (0..1000).find(|step| {
            let standing = FeedbackSummary { delay: Some(0.02), ..seen(1.0 + 0.06 * f64::from(*step), 0) };
            v2.on_feedback(&standing, LIMITS).1
        });
        // 0.02 (1 - (255/256)^n) passes 0.015 at n = 355.
        assert!((350..360).contains(&drifted.unwrap()), "{drifted:?}");
    }
}
