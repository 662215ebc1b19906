//! Changes of delay that no queue of ours makes: jitter, and the swings of a cell.

use super::delay::Pair;
use super::rate::whole;
use std::collections::VecDeque;

/// Jitter of the path: a third of the 99.7th percentile of the change of delay between packets that left within 6 ms
/// of each other. Rises at once and decays over 20 s, faster where it is far above what is seen: a single step of a
/// quarter of a second, which may be forged, is nearly forgotten after a minute.
#[derive(Debug, Clone)]
pub(super) struct JitterMeter {
    /// A histogram a second, over logarithmic bins; their sum, and all that it counts.
    histograms: [[u16; Self::BINS]; Self::SECONDS],
    sum: [u32; Self::BINS],
    total: u32,
    second: i64,
    value: f64,
    /// What it was when each of these seconds began.
    values: [f64; Self::SECONDS],
    updated: f64,
    /// How much later the second of two packets comes that leave back to back: its service.
    service: Option<f64>,
}

impl JitterMeter {
    const BINS: usize = 64;
    const SECONDS: usize = 8;
    /// The first bin, s; the last is 8000 times it.
    const LEAST: f64 = 1e-4;
    /// ln 8000.
    const LOG_RANGE: f64 = 8.987_196_820_661_973;
    const QUANTILE: f64 = 0.997;
    const DECAY: f64 = 20.0;
    /// Above so many times what is seen it decays faster, by as much as it is above.
    const FAR: f64 = 4.0;
    /// Steps of this size are no jitter: packets are served one at a time.
    const NOISE: f64 = 0.000_65;

    pub(super) const fn new() -> Self {
        Self {
            histograms: [[0; Self::BINS]; Self::SECONDS],
            sum: [0; Self::BINS],
            total: 0,
            second: 0,
            value: 0.0,
            values: [0.0; Self::SECONDS],
            updated: 0.0,
            service: None,
        }
    }

    /// The jitter as it was measured.
    pub(super) const fn raw(&self) -> f64 {
        self.value
    }

    /// The jitter less what is noise.
    pub(super) fn get(&self) -> f64 {
        (self.value - Self::NOISE).max(0.0)
    }

    pub(super) fn on_pair(&mut self, t: f64, pair: &Pair) {
        if pair.gap >= 0.006 {
            return;
        }
        let step = if pair.is_back_to_back() { self.beyond_service(pair.step) } else { pair.step.abs() };
        self.add(t, step);
    }

    /// Follows the usual step slowly: what is beyond it is jitter.
    fn beyond_service(&mut self, step: f64) -> f64 {
        let service = self.service.unwrap_or(step.max(0.0));
        let beyond = step - service;
        self.service = Some((service + beyond.clamp(-0.0005, 0.0005)).max(0.0));
        beyond.abs().min(step.abs())
    }

    fn bin(step: f64) -> usize {
        let octaves = libm::log(step.max(Self::LEAST) / Self::LEAST) / Self::LOG_RANGE;
        (octaves * (Self::BINS - 1) as f64).clamp(0.0, (Self::BINS - 1) as f64) as usize
    }

    /// The middle of a bin.
    fn value_of(bin: usize) -> f64 {
        Self::LEAST * libm::exp((bin as f64 + 0.5) / (Self::BINS - 1) as f64 * Self::LOG_RANGE)
    }

    fn add(&mut self, t: f64, step: f64) {
        let second = whole(t, 1.0);
        let oldest = self.second.max(second - Self::SECONDS as i64);
        for passed in oldest + 1..=second {
            let slot = passed.rem_euclid(Self::SECONDS as i64) as usize;
            self.forget(slot);
            self.values[slot] = self.value;
        }
        self.second = self.second.max(second);
        let bin = Self::bin(step);
        let count = &mut self.histograms[second.rem_euclid(Self::SECONDS as i64) as usize][bin];
        let added = u16::from(*count < u16::MAX);
        *count += added;
        self.sum[bin] += u32::from(added);
        self.total += u32::from(added);
    }

    /// The capacity fell by now: packets that left at the old rate came at the new one, and their delay rose step by step.
    /// That is no jitter.
    pub(super) fn forget_fall(&mut self) {
        let slot = |second: i64| second.rem_euclid(Self::SECONDS as i64) as usize;
        let before = self.second - 1;
        self.forget(slot(before));
        self.forget(slot(self.second));
        self.value = self.value.min(self.values[slot(before)]);
    }

    fn forget(&mut self, second: usize) {
        for (sum, count) in self.sum.iter_mut().zip(&mut self.histograms[second]) {
            let count = u32::from(std::mem::take(count));
            *sum -= count;
            self.total -= count;
        }
    }

    /// The percentile; the largest step while there are few.
    fn percentile(&self) -> f64 {
        let quantile = if self.total < 20 { 1.0 } else { Self::QUANTILE };
        let wanted = (f64::from(self.total) * quantile) as u32;
        let (mut passed, mut largest) = (0, None);
        for (bin, count) in self.sum.iter().enumerate() {
            passed += count;
            if *count > 0 {
                largest = Some(bin);
            }
            if passed > wanted {
                break;
            }
        }
        largest.map_or(0.0, Self::value_of)
    }

    pub(super) fn update(&mut self, t: f64) {
        let passed = (t - self.updated).max(0.0);
        self.updated = t;
        let present = (self.percentile() / 3.0).max(Self::LEAST);
        let decay = Self::DECAY / (self.value / (Self::FAR * present)).max(1.0);
        self.value = present.max(self.value * libm::exp(-passed / decay));
    }
}

/// How fast the queue swings: the mean over 8 s of its change in 0.3 s, a second. The queue of a fixed link under this
/// controller hardly moves; that of a cell does, whatever is sent.
#[derive(Debug, Clone)]
pub(super) struct Volatility {
    /// The queue of the last 0.3 s.
    queue: VecDeque<(f64, f64)>,
    /// Swings in all and their number, by seconds.
    swings: [(f64, f64); Self::SECONDS],
    second: i64,
    degree: f64,
}

impl Volatility {
    const LAG: f64 = 0.3;
    const SECONDS: usize = 8;
    const MOST: usize = 512;
    const FEWEST: f64 = 50.0;

    pub(super) const fn new() -> Self {
        Self { queue: VecDeque::new(), swings: [(0.0, 0.0); Self::SECONDS], second: 0, degree: 0.0 }
    }

    /// 0 on a path of fixed capacity, 1 on a cell.
    pub(super) const fn degree(&self) -> f64 {
        self.degree
    }

    /// `is_ours`: the queue is kept by our own loops, and its swings are the path's.
    pub(super) fn update(&mut self, t: f64, queue: f64, is_ours: bool) {
        self.queue.push_back((t, queue));
        while self.queue.len() > 1 && self.queue[1].0 <= t - Self::LAG || self.queue.len() > Self::MOST {
            self.queue.pop_front();
        }
        let (at, before) = self.queue[0];
        if !is_ours || t - at < Self::LAG - 0.01 {
            return;
        }
        let second = whole(t, 1.0);
        for passed in self.second.max(second - Self::SECONDS as i64) + 1..=second {
            self.swings[passed.rem_euclid(Self::SECONDS as i64) as usize] = (0.0, 0.0);
        }
        self.second = self.second.max(second);
        let (sum, count) = &mut self.swings[second.rem_euclid(Self::SECONDS as i64) as usize];
        *sum += (queue - before).abs() / Self::LAG;
        *count += 1.0;
        let (sum, count) =
            self.swings.iter().fold((0.0, 0.0), |all, second| (all.0 + second.0, all.1 + second.1));
        self.degree = if count < Self::FEWEST { 0.0 } else { ((sum / count - 0.055) / 0.02).clamp(0.0, 1.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of 0.8 s, as a forged report makes it, among steps of 1 ms.
    #[test]
    fn one_large_step_is_forgotten_in_a_minute() {
        let mut meter = JitterMeter::new();
        meter.add(1.0, 0.8);
        meter.update(1.0);
        assert!(meter.raw() > 0.25, "{}", meter.raw());
        for step in 0..6000 {
            let t = 1.0 + f64::from(step) / 100.0;
            meter.add(t, 0.001);
            meter.update(t);
        }
        assert!(meter.raw() < 2.0 * 0.001 / 3.0, "{}", meter.raw());
    }
}
