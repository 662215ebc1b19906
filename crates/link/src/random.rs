//! Named streams of random numbers, the same bit for bit on every platform.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers that belongs to one part of one node.
///
/// The stream is chosen by the run's seed and the part's name, so adding a node leaves the draws of all others
/// alone. The name is hashed with 64-bit FNV-1a, xored with the seed, and expanded by SplitMix64 to the state of
/// xoshiro256++.
#[derive(Debug, Clone)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// The stream of the part called `name` in the run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ fnv1a(name.as_bytes())))
    }

    /// The stream of a `part` of the node called `name`.
    pub(crate) fn of_part(seed: u64, name: &str, part: &str) -> Self {
        Self::new(seed, &format!("{name}/{part}"))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A multiple of 2⁻⁵³, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [`low`, `high`).
    pub fn uniform_between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// True with probability `p`. Draws only where both answers are possible: 0 < `p` < 1.
    pub fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.uniform() < p)
    }

    /// Exponentially distributed with this `mean`, in the unit of `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Normally distributed; `deviation` is the standard deviation. Box and Muller's first value: two draws,
    /// always.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        mean + deviation * radius * libm::cos(angle)
    }

    /// Laplace distributed around zero; the standard deviation is √2 · `scale`.
    pub fn laplace(&mut self, scale: f64) -> f64 {
        let centred = self.uniform() - 0.5;
        // 1 − 2|u| lies in [0, 1]; its smallest step above zero is 2⁻⁵².
        let tail = libm::log((1.0 - 2.0 * centred.abs()).max(f64::EPSILON));
        if centred < 0.0 { scale * tail } else { -scale * tail }
    }
}

/// FNV-1a, 64 bit: offset basis 0xcbf29ce484222325, prime 0x100000001b3.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn mean_and_deviation(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / DRAWS as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn streams_are_their_own() {
        let draw = |seed, name| RandomStream::new(seed, name).bits();
        assert_eq!(draw(1, "access"), draw(1, "access"));
        assert_ne!(draw(1, "access"), draw(2, "access"));
        assert_ne!(draw(1, "access"), draw(1, "bottleneck"));
    }

    #[test]
    fn uniform_lies_in_the_half_open_interval() {
        let mut stream = RandomStream::new(7, "uniform");
        let (mean, deviation) = mean_and_deviation(|| {
            let value = stream.uniform();
            assert!((0.0..1.0).contains(&value));
            value
        });
        assert!((mean - 0.5).abs() < 0.003 && (deviation - 0.2887).abs() < 0.003, "{mean} {deviation}");
    }

    #[test]
    fn moments_of_the_distributions() {
        let mut stream = RandomStream::new(7, "moments");
        for (name, (mean, deviation), expected) in [
            ("exponential", mean_and_deviation(|| stream.exponential(3.0)), (3.0, 3.0)),
            ("normal", mean_and_deviation(|| stream.normal(10.0, 2.0)), (10.0, 2.0)),
            ("laplace", mean_and_deviation(|| stream.laplace(1.0)), (0.0, std::f64::consts::SQRT_2)),
            ("between", mean_and_deviation(|| stream.uniform_between(4.0, 10.0)), (7.0, 1.732)),
        ] {
            assert!((mean - expected.0).abs() < 0.03, "{name}: mean {mean}");
            assert!((deviation - expected.1).abs() < 0.03, "{name}: deviation {deviation}");
        }
    }

    #[test]
    fn certain_answers_draw_nothing() {
        let mut stream = RandomStream::new(1, "chance");
        let untouched = stream.clone().bits();
        assert!(stream.chance(1.0) && !stream.chance(0.0) && !stream.chance(f64::NAN));
        assert_eq!(stream.bits(), untouched);
        let hits = (0..DRAWS).filter(|_| stream.chance(0.25)).count() as f64;
        assert!((hits / DRAWS as f64 - 0.25).abs() < 0.005);
    }
}
