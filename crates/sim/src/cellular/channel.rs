//! What a user could be sent in a TTI were the cell its own.

use seaway_link::{Nominal, RandomStream, Trace, TraceWalk};
use seaway_units::{Bitrate, Decibels, TimeDelta, Timestamp};
use std::f64::consts::TAU;

/// Transmission time interval.
pub(super) const TTI: TimeDelta = TimeDelta::from_millis(1);
/// From one report of the channel's quality to the next; the rate holds between them. Reading: a usual period.
pub(super) const REPORT: u64 = 5;
/// Plane waves of a branch.
const WAVES: usize = 8;
/// Branches that are combined: two antennas.
const BRANCHES: usize = 2;
/// RFC 8869 section 3.1's 3GPP cases are at 2 GHz.
const CARRIER_HZ: f64 = 2e9;
const LIGHT: f64 = 299_792_458.0;

/// How the radio channel of a user behaves.
#[derive(Debug, Clone)]
pub enum Radio {
    /// A recording: what it says is what the whole cell would carry for this user.
    Trace(Trace),
    /// Rayleigh fading with two branches, mapped by Shannon's formula to a rate with this mean.
    Fading(Fading),
}

/// Flat fading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// Mean over all fades.
    pub mean: Bitrate,
    /// Mean signal to noise; the lower, the deeper the rate falls in a fade.
    pub snr: Decibels,
    /// Of the user, in metres a second; at zero the channel stands still at its mean.
    pub speed: f64,
}

impl Radio {
    /// What limits of a queue in time refer to.
    pub(super) fn nominal(&self) -> Nominal {
        Nominal { rate: self.mean_rate(), delay: TTI }
    }

    /// What would be valid where it is not.
    pub(super) fn check(&self) -> Result<(), String> {
        let (least, most) = (Bitrate::from_kbps(1), Bitrate::from_mbps(100_000));
        let mean = self.mean_rate();
        if !(least..=most).contains(&mean) {
            return Err(format!("found {mean} in the mean: expected {least} to {most}"));
        }
        match self {
            Self::Fading(fading) if !(-30.0..=60.0).contains(&fading.snr.get()) => {
                Err(format!("found a signal to noise ratio of {}: expected -30 dB to 60 dB", fading.snr))
            }
            _ => Ok(()),
        }
    }

    /// Over a long time.
    pub fn mean_rate(&self) -> Bitrate {
        match self {
            Self::Trace(trace) => trace.mean_rate(),
            Self::Fading(fading) => fading.mean,
        }
    }
}

/// The channel of one user in one direction: octets a TTI, report by report. It is a function of time alone, whatever
/// is sent.
#[derive(Debug, Clone)]
pub(super) enum Channel {
    Trace(Box<TraceWalk>),
    Still(f64),
    Fading(Box<Rayleigh>),
}

#[derive(Debug, Clone)]
pub(super) struct Rayleigh {
    /// Angular Doppler shift and phase of each wave.
    waves: [[(f64, f64); WAVES]; BRANCHES],
    snr: f64,
    /// Octets a TTI for a bit/s/Hz of Shannon's formula.
    scale: f64,
}

impl Channel {
    pub(super) fn new(radio: &Radio, mut random: RandomStream) -> Self {
        let fading = match radio {
            Radio::Trace(trace) => return Self::Trace(Box::new(trace.walk())),
            Radio::Fading(fading) => fading,
        };
        let mean = fading.mean.as_bytes_per_second() * TTI.as_secs_f64();
        let doppler = TAU * fading.speed / LIGHT * CARRIER_HZ;
        if doppler <= 0.0 {
            return Self::Still(mean);
        }
        let mut branch = || {
            let turn = random.uniform();
            std::array::from_fn(|wave| {
                let angle = TAU * (wave as f64 + turn) / WAVES as f64;
                (doppler * libm::cos(angle), TAU * random.uniform())
            })
        };
        let snr = fading.snr.ratio();
        let waves = std::array::from_fn(|_| branch());
        Self::Fading(Box::new(Rayleigh { waves, snr, scale: mean / mean_efficiency(snr) }))
    }

    /// Octets a TTI in the report period that begins with TTI `first`. Periods are read in order.
    pub(super) fn octets(&mut self, first: u64) -> f64 {
        match self {
            Self::Still(mean) => *mean,
            Self::Trace(walk) => {
                let end = Timestamp::ZERO + TTI * (first + REPORT) as i64;
                walk.carried(end).as_bytes_f64() / REPORT as f64
            }
            Self::Fading(rayleigh) => rayleigh.octets(first as f64 * TTI.as_secs_f64()),
        }
    }
}

impl Rayleigh {
    fn octets(&self, at: f64) -> f64 {
        self.scale * libm::log2(1.0 + self.snr * self.gain(at))
    }

    /// Power of the sum of the waves, combined over the branches; its mean is 1.
    fn gain(&self, at: f64) -> f64 {
        let power = |branch: &[(f64, f64); WAVES]| {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (shift, phase) in branch {
                let (sine, cosine) = libm::sincos(shift * at + phase);
                real += cosine;
                imaginary += sine;
            }
            (real * real + imaginary * imaginary) / WAVES as f64
        };
        self.waves.iter().map(power).sum::<f64>() / BRANCHES as f64
    }
}

/// The mean of log2(1 + snr·g) where g is the mean of two exponentials: density 4·g·exp(−2g). By Simpson's rule.
fn mean_efficiency(snr: f64) -> f64 {
    const STEPS: usize = 1000;
    const END: f64 = 15.0;
    let width = END / STEPS as f64;
    let value = |step: usize| {
        let gain = step as f64 * width;
        let weight = match step {
            0 | STEPS => 1.0,
            step if step % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * 4.0 * gain * libm::exp(-2.0 * gain) * libm::log2(1.0 + snr * gain)
    };
    (0..=STEPS).map(value).sum::<f64>() * width / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fading(speed: f64, snr: f64) -> Radio {
        Radio::Fading(Fading { mean: Bitrate::from_mbps(8), snr: Decibels::new(snr), speed })
    }

    fn rates(radio: &Radio, seed: u64, reports: u64) -> Vec<f64> {
        let mut channel = Channel::new(radio, RandomStream::new(seed, "channel"));
        (0..reports).map(|report| channel.octets(report * REPORT)).collect()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        (mean, (squares / values.len() as f64).sqrt())
    }

    #[test]
    fn the_mean_is_as_asked_and_fades_deepen_with_noise() {
        let of = |snr| {
            let all: Vec<f64> =
                (0..40).flat_map(|seed| rates(&fading(30.0 / 3.6, snr), seed, 2000)).collect();
            mean_and_deviation(&all)
        };
        let ((high, calm), (low, rough)) = (of(20.0), of(0.0));
        assert!((high / 1000.0 - 1.0).abs() < 0.02 && (low / 1000.0 - 1.0).abs() < 0.02, "{high} {low}");
        assert!(calm < 200.0 && rough > 400.0, "{calm} {rough}");
    }

    #[test]
    fn a_slow_user_fades_slowly() {
        let change = |kmh: f64| {
            let rates = rates(&fading(kmh / 3.6, 10.0), 3, 4000);
            rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / 4000.0
        };
        assert!(change(30.0) > 5.0 * change(3.0), "{} {}", change(30.0), change(3.0));
        assert_eq!(rates(&fading(0.0, 10.0), 1, 3), [1000.0; 3]);
    }

    #[test]
    fn a_trace_is_carried_whole() {
        let trace = Trace::parse("1\n2\n7\n10\n", None, true).unwrap();
        let rates = rates(&Radio::Trace(trace), 1, 4);
        // 3000 octets in the first 5 ms, 1500 in the second; the last at 10 ms belongs to the third.
        assert_eq!(rates, [600.0, 300.0, 900.0, 300.0]);
    }
}
