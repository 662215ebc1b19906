//! Whether queueing delay is about to grow (RFC 8298 section 4.1.2.1).

/// Autocorrelation of the delay over its target.
#[derive(Debug, Clone)]
pub(in crate::scream) struct Trend {
    updated_at: Option<f64>,
    average: f64,
    /// Newest first.
    history: [f64; Self::SAMPLES],
    trend: f64,
    memory: f64,
}

impl Trend {
    const SAMPLES: usize = 20;
    /// Between samples, s.
    const INTERVAL: f64 = 0.05;
    /// `QDELAY_WEIGHT`.
    const WEIGHT: f64 = 0.1;
    const FADE: f64 = 0.99;

    pub(super) const fn new() -> Self {
        Self { updated_at: None, average: 0.0, history: [0.0; Self::SAMPLES], trend: 0.0, memory: 0.0 }
    }

    /// `fraction` of the target is queueing delay now.
    pub(super) fn update(&mut self, now: f64, fraction: f64) {
        if self.updated_at.is_some_and(|at| now - at < Self::INTERVAL) {
            return;
        }
        self.updated_at = Some(now);
        self.average = (1.0 - Self::WEIGHT) * self.average + Self::WEIGHT * fraction;
        self.history.copy_within(..Self::SAMPLES - 1, 1);
        self.history[0] = fraction;
        self.trend = (coefficient(&self.history) * self.average).clamp(0.0, 1.0);
        self.memory = (Self::FADE * self.memory).max(self.trend);
    }

    /// `qdelay_trend`, from 0 to 1.
    pub(super) const fn get(&self) -> f64 {
        self.trend
    }

    /// `qdelay_trend_mem`: it fades slowly.
    pub(super) const fn memory(&self) -> f64 {
        self.memory
    }
}

/// Autocorrelation at a lag of one, over that at none.
fn coefficient(samples: &[f64]) -> f64 {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let lagged: f64 = samples.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let none: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    if none > 0.0 { lagged / none } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8298 section 4.1.2.1, worked on twenty samples.
    #[test]
    fn coefficients() {
        let of = |sample: fn(usize) -> f64| coefficient(&std::array::from_fn::<f64, 20, _>(sample));
        assert!((of(|index| index as f64) - 0.85).abs() < 5e-4);
        assert!((of(|index| (index % 2) as f64) + 0.95).abs() < 5e-4);
        assert!((of(|index| f64::from(u8::from(index == 19))) + 0.0026).abs() < 5e-5);
        assert_eq!(of(|_| 3.0), 0.0);
    }
}
