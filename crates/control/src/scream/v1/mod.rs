//! RFC 8298: the congestion window.

mod media_rate;
mod trend;

use super::competing::DelayTarget;
use super::config::{LEAST_PACE, LEAST_WINDOW, ScreamConfig};
use super::flight::MaxFlight;
use super::summary::FeedbackSummary;
use crate::decision::Gauge;
use media_rate::{INTERVAL, MediaRate, Observed};
use seaway_units::RateRange;
use trend::Trend;

/// `MAX_BYTES_IN_FLIGHT_HEAD_ROOM`.
const HEADROOM: f64 = 1.1;
/// `GAIN`.
const GAIN: f64 = 1.0;
/// `BETA_LOSS` and `BETA_ECN`.
const LOSS_DECREASE: f64 = 0.8;
const MARK_DECREASE: f64 = 0.9;
/// `QDELAY_TREND_TH` and `QDELAY_TREND_LO`.
const TREND: f64 = 0.2;
/// `T_RESUME_FAST_INCREASE`, s.
const RESUME_FAST: f64 = 5.0;
/// The greatest flight is taken over this, s.
const FLIGHT_SPAN: f64 = 5.0;

/// Window and media rate. Sizes in octets, times in seconds.
#[derive(Debug, Clone)]
pub(super) struct V1 {
    config: ScreamConfig,
    window: f64,
    trend: Trend,
    target: DelayTarget,
    fast_increase: bool,
    calm_since: Option<f64>,
    reacted_at: Option<f64>,
    max_flight: MaxFlight,
    round_at: f64,
    lossy_round: bool,
    delay: f64,
    rate: MediaRate,
    rate_at: f64,
    marked: bool,
    transmitted: f64,
    acked: f64,
    media: Option<f64>,
}

impl V1 {
    pub(super) const fn new(config: ScreamConfig) -> Self {
        Self {
            config,
            window: LEAST_WINDOW,
            trend: Trend::new(),
            target: DelayTarget::new(config.delay_target_low, config.delay_target_high),
            fast_increase: true,
            calm_since: None,
            reacted_at: None,
            max_flight: MaxFlight::new(),
            round_at: 0.0,
            lossy_round: false,
            delay: 0.0,
            rate: MediaRate::new(),
            rate_at: 0.0,
            marked: false,
            transmitted: 0.0,
            acked: 0.0,
            media: None,
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate.get()
    }

    pub(super) fn limit(&mut self, limits: RateRange) {
        self.rate.limit(limits);
    }

    pub(super) fn on_sent(&mut self, now: f64, size: f64, flight: f64) {
        self.transmitted += size;
        self.max_flight.update(now, FLIGHT_SPAN, flight);
    }

    pub(super) fn on_frame(&mut self, size: f64) {
        self.media = Some(self.media.unwrap_or(0.0) + size);
    }

    /// The rules of RFC 8298 section 4.1.2 in their order; says which one acted.
    pub(super) fn on_feedback(&mut self, seen: &FeedbackSummary, limits: RateRange) -> &'static str {
        self.acked += seen.acked;
        if let Some(delay) = seen.delay {
            self.delay = delay;
            self.trend.update(seen.now, delay / self.target.get());
        }
        let may_react = self.reacted_at.is_none_or(|at| seen.now - at >= seen.rtt);
        self.count_round(seen);
        let cause = if seen.lost > 0 && may_react {
            self.cut(seen.now, LOSS_DECREASE);
            self.rate.decrease(limits);
            "loss event"
        } else if seen.marked > 0 && may_react {
            self.cut(seen.now, MARK_DECREASE);
            self.marked = true;
            "congestion mark"
        } else {
            self.grow(seen);
            self.resume_fast_increase(seen.now);
            if self.fast_increase { "fast increase" } else { "window increase" }
        };
        if let Some(delay) = seen.delay.filter(|_| self.config.competing) {
            self.target.update(delay);
        }
        cause
    }

    fn count_round(&mut self, seen: &FeedbackSummary) {
        self.lossy_round |= seen.lost > 0;
        if seen.now - self.round_at >= seen.rtt {
            self.target.on_round(std::mem::take(&mut self.lossy_round));
            self.round_at = seen.now;
        }
    }

    /// Loss, or a mark: once a round-trip time.
    fn cut(&mut self, now: f64, factor: f64) {
        self.reacted_at = Some(now);
        self.fast_increase = false;
        self.calm_since = None;
        self.rate.mark_congestion();
        self.window = (factor * self.window).max(LEAST_WINDOW);
    }

    fn grow(&mut self, seen: &FeedbackSummary) {
        if self.fast_increase && self.trend.get() >= TREND {
            self.fast_increase = false;
            self.calm_since = None;
        }
        if self.fast_increase {
            if 1.5 * seen.flight + seen.acked > self.window {
                self.window += seen.acked;
            }
            return;
        }
        let off = (self.target.get() - self.delay) / self.target.get();
        let mut change = GAIN * off * seen.acked * self.config.segment / self.window;
        if off > 0.0 && 1.25 * seen.flight + seen.acked <= self.window {
            change = 0.0;
        }
        let most = HEADROOM * self.max_flight.get();
        self.window = (self.window + change).min(most).max(LEAST_WINDOW);
    }

    fn resume_fast_increase(&mut self, now: f64) {
        if self.fast_increase {
            return;
        }
        if self.trend.get() >= TREND {
            self.calm_since = None;
        } else if now - *self.calm_since.get_or_insert(now) > RESUME_FAST {
            self.fast_increase = true;
        }
    }

    /// No feedback comes: the window falls.
    pub(super) fn back_off(&mut self, now: f64, limits: RateRange) {
        self.cut(now, LOSS_DECREASE);
        self.rate.decrease(limits);
    }

    /// RFC 8298 section 4.1.3, every 200 ms; `queue` in octets.
    pub(super) fn adjust_rate(&mut self, now: f64, queue: f64, limits: RateRange) {
        let elapsed = (now - self.rate_at).clamp(INTERVAL, 10.0 * INTERVAL);
        self.rate_at = now;
        let per_second = 8.0 / elapsed;
        let transmitted = std::mem::take(&mut self.transmitted) * per_second;
        let acked = std::mem::take(&mut self.acked) * per_second;
        let media = self.media.as_mut().map_or(transmitted, |bytes| std::mem::take(bytes) * per_second);
        if std::mem::take(&mut self.marked) {
            self.rate.decrease(limits);
            return;
        }
        let observed = Observed {
            transmitted,
            acked,
            media,
            queue: 8.0 * queue,
            trend: self.trend.get(),
            trend_memory: self.trend.memory(),
            fast_increase: self.fast_increase,
        };
        self.rate.update(&observed, limits);
    }

    /// `send_wnd`: what may leave now.
    pub(super) fn send_window(&self, flight: f64) -> f64 {
        let spare = if self.delay <= self.target.get() { self.config.segment } else { 0.0 };
        (self.window + spare - flight).max(0.0)
    }

    pub(super) fn pace(&self, rtt: Option<f64>) -> f64 {
        let rate = rtt.map_or_else(|| self.rate.get(), |rtt| 8.0 * self.window / rtt);
        rate.max(LEAST_PACE)
    }

    pub(super) const fn phase(&self) -> &'static str {
        if self.fast_increase { "fast increase" } else { "congestion avoidance" }
    }

    pub(super) const fn delay_target(&self) -> f64 {
        self.target.get()
    }

    pub(super) fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("window", self.window, "B"));
        visit(Gauge::new("delay_trend", self.trend.get(), ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::scream::config::Version;
    use seaway_units::{Bitrate, DataSize, Ecn};

    const LIMITS: RateRange = RateRange { min: Bitrate::ZERO, max: Bitrate::from_mbps(10) };

    fn v1() -> V1 {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };
        let mut v1 = V1::new(ScreamConfig::new(Version::One, flow));
        (v1.window, v1.fast_increase) = (20_000.0, false);
        v1.max_flight.update(1.0, FLIGHT_SPAN, 50_000.0);
        v1
    }

    fn seen(now: f64, delay: f64, flight: f64) -> FeedbackSummary {
        FeedbackSummary {
            now,
            delay: Some(delay),
            delays: (delay, delay),
            rtt: 0.1,
            acked: 5000.0,
            acked_marked: 0.0,
            flight,
            received: 5,
            lost: 0,
            marked: 0,
        }
    }

    /// RFC 8298 section 4.1.2.2, worked: target 100 ms, window 20 kB, 5 kB acknowledged.
    #[test]
    fn window_steps() {
        for (delay, flight, expected) in
            [(0.05, 14_000.0, 125.0), (0.15, 14_000.0, -125.0), (0.05, 12_000.0, 0.0)]
        {
            let mut v1 = v1();
            v1.on_feedback(&seen(1.0, delay, flight), LIMITS);
            assert!((v1.window - 20_000.0 - expected).abs() < 1e-9, "{delay} s, {flight} B: {}", v1.window);
        }
    }

    /// RFC 8298 section 4.1.2.2: a loss or a mark counts once a round-trip time.
    #[test]
    fn cuts_once_a_round_trip_time() {
        let mut v1 = v1();
        for now in [1.0, 1.05, 1.099] {
            v1.on_feedback(&FeedbackSummary { lost: 1, acked: 0.0, ..seen(now, 0.2, 14_000.0) }, LIMITS);
            assert!((v1.window - 16_000.0).abs() < 1e-9);
        }
        v1.on_feedback(&FeedbackSummary { marked: 1, ..seen(1.1, 0.2, 14_000.0) }, LIMITS);
        assert!((v1.window - 14_400.0).abs() < 1e-9);
    }

    /// RFC 8298 section 4.1.2.2: in fast increase the window grows by what is acknowledged while it is used.
    #[test]
    fn fast_increase() {
        let mut v1 = v1();
        v1.fast_increase = true;
        v1.on_feedback(&seen(1.0, 0.0, 14_000.0), LIMITS);
        assert_eq!(v1.window, 25_000.0);
        v1.on_feedback(&seen(1.01, 0.0, 10_000.0), LIMITS);
        assert_eq!(v1.window, 25_000.0);
        // Delay that rises steadily ends it.
        for step in 0..40 {
            v1.on_feedback(&seen(1.1 + 0.05 * f64::from(step), 0.004 * f64::from(step), 20_000.0), LIMITS);
        }
        assert_eq!(v1.phase(), "congestion avoidance");
    }
}
