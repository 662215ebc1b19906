//! Filters of marks and delay before version 2 reacts (screamv2 section 4.2.1).

use super::VIRTUAL_RTT;

/// `L4S_AVG_G_UP` and the factor that stands for `L4S_AVG_G_DOWN`.
const MARK_GAIN: f64 = 1.0 / 8.0;
const MARK_FADE: f64 = 127.0 / 128.0;
/// Between updates, s, or a shorter round-trip time.
const MARK_INTERVAL: f64 = 0.01;
/// `QDELAY_AVG_G`.
const DELAY_GAIN: f64 = 0.25;
/// `QDELAY_MIN_MAX_AVG_G`, `QDELAY_DEV_AVG_G`, `QDELAY_DEV_THRESHOLD` in s.
const SPREAD_FADE: f64 = 1.0 / 16.0;
const DEVIATION_GAIN: f64 = 1.0 / 32.0;
const DEVIATION_THRESHOLD: f64 = 0.01;

/// `l4s_alpha`: the share of marked packets. It follows peaks.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkShare {
    share: f64,
    updated_at: f64,
    marked: u32,
    delivered: u32,
}

impl MarkShare {
    pub(super) const fn new() -> Self {
        Self { share: 0.0, updated_at: 0.0, marked: 0, delivered: 0 }
    }

    pub(super) fn update(&mut self, now: f64, rtt: f64, delivered: u32, marked: u32) {
        self.delivered = self.delivered.saturating_add(delivered);
        self.marked = self.marked.saturating_add(marked);
        if now - self.updated_at < MARK_INTERVAL.min(rtt) || self.delivered == 0 {
            return;
        }
        self.take(f64::from(self.marked) / f64::from(self.delivered));
        (self.marked, self.delivered, self.updated_at) = (0, 0, now);
    }

    fn take(&mut self, marked: f64) {
        if marked >= self.share {
            self.share += MARK_GAIN * (marked - self.share);
        } else {
            self.share *= MARK_FADE;
        }
    }

    pub(super) const fn get(&self) -> f64 {
        self.share
    }
}

/// Queueing delay: falls at once, rises smoothly; and how much it jitters. Seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) latest: f64,
    average: f64,
    updated_at: f64,
    /// `qdelay_max`, `qdelay_min` and the smoothed distance between them.
    most: f64,
    least: f64,
    deviation: f64,
}

impl Delay {
    pub(super) const fn new(target: f64) -> Self {
        Self { latest: 0.0, average: 0.0, updated_at: 0.0, most: target, least: 0.0, deviation: 0.0 }
    }

    /// The least and the greatest delay of the packets of a message.
    pub(super) fn spread(&mut self, target: f64, (least, most): (f64, f64)) {
        self.most = self.most.max(most).min(target);
        self.least = self.least.min(least);
    }

    /// The newest packet's delay.
    pub(super) fn update(&mut self, now: f64, rtt: f64, sample: f64) {
        self.latest = sample;
        if sample < self.average {
            self.average = sample;
        }
        if now - self.updated_at >= VIRTUAL_RTT.min(rtt) {
            self.updated_at = now;
            self.average += DELAY_GAIN * (sample - self.average);
            self.most *= 1.0 - SPREAD_FADE;
            self.least = (1.0 - SPREAD_FADE) * self.least + SPREAD_FADE * self.most;
            self.deviation += DEVIATION_GAIN * ((self.most - self.least) - self.deviation);
        }
    }

    /// `qdelay_avg`.
    pub(super) const fn average(&self) -> f64 {
        self.average
    }

    /// 1 on a calm path, 0 where delay jitters by 10 ms.
    pub(super) fn calm(&self) -> f64 {
        (1.0 - self.deviation / DEVIATION_THRESHOLD).clamp(0.0, 1.0)
    }

    #[cfg(test)]
    pub(super) const fn set(&mut self, delay: f64) {
        (self.latest, self.average) = (delay, delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// screamv2 section 4.2.1.1, worked.
    #[test]
    fn mark_share_follows_peaks() {
        let mut share = MarkShare::new();
        for (marked, expected) in [
            (0.5, 0.0625),
            (0.0, 0.062012),
            (0.0, 0.061527),
            (0.2, 0.078836),
            (0.05, 0.078220),
            (0.05, 0.077609),
        ] {
            share.take(marked);
            assert!((share.get() - expected).abs() < 5e-7, "{}", share.get());
        }
    }

    #[test]
    fn delay_falls_at_once_and_rises_by_quarters() {
        let mut delay = Delay::new(0.06);
        delay.update(1.0, 0.05, 0.04);
        assert!((delay.average() - 0.01).abs() < 1e-12);
        delay.update(1.01, 0.05, 0.08);
        assert!((delay.average() - 0.01).abs() < 1e-12, "not within a virtual round-trip time");
        delay.update(1.03, 0.05, 0.05);
        assert!((delay.average() - 0.02).abs() < 1e-12);
        delay.update(1.04, 0.05, 0.005);
        assert!((delay.average() - 0.005).abs() < 1e-12);
    }

    #[test]
    fn jitter_shows() {
        let run = |low: f64, high: f64| {
            let mut delay = Delay::new(0.06);
            for step in 0..2000 {
                let sample = if step % 2 == 0 { low } else { high };
                delay.spread(0.06, (sample, sample));
                delay.update(1.0 + 0.03 * f64::from(step), 0.05, sample);
            }
            delay.calm()
        };
        assert!(run(0.005, 0.005) > 0.9);
        assert!(run(0.0, 0.04) < 0.1);
    }
}
