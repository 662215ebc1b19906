//! The encoder's rate (RFC 8298 section 4.1.3).

use super::super::config::LEAST_RATE;
use seaway_units::RateRange;

/// `RAMP_UP_SPEED`, bit/s each second.
const RAMP_UP: f64 = 200e3;
/// `RATE_ADJUST_INTERVAL`, s.
pub(super) const INTERVAL: f64 = 0.2;
/// `BETA_R`.
const DECREASE: f64 = 0.9;
/// `PRE_CONGESTION_GUARD`.
const GUARD: f64 = 0.1;
/// `TX_QUEUE_SIZE_FACTOR`.
const QUEUE_FACTOR: f64 = 1.0;
/// `RTP_QDELAY_TH`, s, and `TARGET_RATE_SCALE_RTP_QDELAY`.
const QUEUE_DELAY: f64 = 0.02;
const QUEUE_SCALE: f64 = 0.95;
/// Samples of the media rate over ten seconds.
const MEDIAN_SAMPLES: usize = 50;

/// Adjusts `target_bitrate`.
#[derive(Debug, Clone)]
pub(super) struct MediaRate {
    /// bit/s.
    target: f64,
    last_max: f64,
    history: [f64; MEDIAN_SAMPLES],
    len: usize,
    next: usize,
}

/// What was measured over 200 ms. Rates in bit/s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) transmitted: f64,
    pub(super) acked: f64,
    pub(super) media: f64,
    /// Of the send queue, bits.
    pub(super) queue: f64,
    pub(super) trend: f64,
    pub(super) trend_memory: f64,
    pub(super) fast_increase: bool,
}

impl MediaRate {
    pub(super) const fn new() -> Self {
        Self { target: LEAST_RATE, last_max: 1.0, history: [0.0; MEDIAN_SAMPLES], len: 0, next: 0 }
    }

    pub(super) const fn get(&self) -> f64 {
        self.target
    }

    pub(super) fn limit(&mut self, limits: RateRange) {
        let (min, max) = (limits.min.as_bps_f64(), limits.max.as_bps_f64());
        self.target = self.target.min(max).max(min).max(LEAST_RATE);
    }

    /// Congestion was detected: this is what the path could not carry.
    pub(super) const fn mark_congestion(&mut self) {
        self.last_max = self.target.max(1.0);
    }

    /// Loss or marks: a tenth less.
    pub(super) fn decrease(&mut self, limits: RateRange) {
        self.target *= DECREASE;
        self.limit(limits);
    }

    /// Without either, every 200 ms.
    pub(super) fn update(&mut self, observed: &Observed, limits: RateRange) {
        let current = observed.transmitted.max(observed.acked);
        let step = RAMP_UP.min(self.target / 2.0) * INTERVAL;
        if observed.fast_increase {
            self.target += step * self.scale();
        } else {
            // As RFC 8298 prints it: an absolute rate, that almost always saturates at the step.
            let change = current * (1.0 - GUARD * observed.trend) - QUEUE_FACTOR * observed.queue;
            self.target += if change > 0.0 { (change * self.scale()).min(step) } else { change };
            if observed.queue > QUEUE_DELAY * current {
                self.target *= QUEUE_SCALE;
            }
        }
        self.history[self.next] = observed.media;
        self.next = (self.next + 1) % MEDIAN_SAMPLES;
        self.len = (self.len + 1).min(MEDIAN_SAMPLES);
        let most = current.max(observed.media).max(self.median());
        if most > 0.0 {
            self.target = self.target.min(most * (2.0 - observed.trend_memory));
        }
        self.limit(limits);
    }

    /// Slower near the rate at which congestion was last detected.
    fn scale(&self) -> f64 {
        let distance = 4.0 * (self.target - self.last_max) / self.last_max;
        (distance * distance).clamp(0.2, 1.0)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.history;
        let sorted = &mut sorted[..self.len];
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(self.len / 2).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Bitrate;

    const LIMITS: RateRange = RateRange { min: Bitrate::ZERO, max: Bitrate::from_mbps(10) };
    const CLEAN: Observed = Observed {
        transmitted: 1e6,
        acked: 1e6,
        media: 1e6,
        queue: 0.0,
        trend: 0.0,
        trend_memory: 0.0,
        fast_increase: true,
    };

    fn at(target: f64, last_max: f64) -> MediaRate {
        MediaRate { target, last_max, ..MediaRate::new() }
    }

    /// RFC 8298 section 4.1.3, worked.
    #[test]
    fn scale_and_step() {
        for (last_max, scale) in [(1.1e6, 0.2), (2e6, 1.0), (1.0, 1.0)] {
            assert!((at(1e6, last_max).scale() - scale).abs() < 1e-12);
        }
        let mut rate = at(1e6, 1.1e6);
        rate.update(&CLEAN, LIMITS);
        assert!((rate.get() - 1_008_000.0).abs() < 1e-6);
    }

    #[test]
    fn queue_and_limits() {
        let mut rate = at(1e6, 1.1e6);
        rate.update(&Observed { queue: 30e3, fast_increase: false, ..CLEAN }, LIMITS);
        assert!((rate.get() - 0.95 * (1e6 + 40e3)).abs() < 1e-6, "the step, then the queue: {}", rate.get());
        let mut rate = at(3e6, 1.0);
        rate.update(&Observed { trend_memory: 0.5, ..CLEAN }, LIMITS);
        assert!((rate.get() - 1.5e6).abs() < 1e-6, "1.5 times what passes");
        rate.decrease(LIMITS);
        assert!((rate.get() - 1.35e6).abs() < 1e-6);
    }
}
