//! Exponentially weighted moving average.

/// An average in which every new sample takes part of the old value's place. The first sample is taken whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ewma {
    keep: f64,
    value: Option<f64>,
}

impl Ewma {
    /// An empty average that keeps `keep` of the old value at each sample, from 0 to 1.
    pub const fn new(keep: f64) -> Self {
        Self { keep, value: None }
    }

    /// Takes a sample and gives the new average.
    pub fn update(&mut self, sample: f64) -> f64 {
        self.update_keeping(self.keep, sample)
    }

    /// Takes a sample with a weight of its own for the old value.
    pub fn update_keeping(&mut self, keep: f64, sample: f64) -> f64 {
        let value = self.value.map_or(sample, |old| keep * old + (1.0 - keep) * sample);
        self.value = Some(value);
        value
    }

    /// The average, if there was a sample.
    pub const fn get(&self) -> Option<f64> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_whole_then_weighted() {
        let mut average = Ewma::new(0.9);
        assert_eq!(average.get(), None);
        assert_eq!(average.update(10.0), 10.0);
        assert!((average.update(20.0) - 11.0).abs() < 1e-12);
    }
}
