//! Percentiles, distributions and confidence intervals.

use schemars::JsonSchema;
use serde::Serialize;

/// The value that `percent` of the others do not exceed, by the nearest rank: always one that occurred.
/// `sorted` ascends. `None` where it is empty.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).or(sorted.last()).copied()
}

/// Mean, percentiles (nearest rank) and maximum of a set of values.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 in 100 do not exceed it.
    pub p95: f64,
    /// 99 in 100 do not exceed it.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Distribution {
    /// Of `values`, which it sorts. `None` where there are none.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let at = |percent| percentile(values, percent);
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: at(50.0)?,
            p95: at(95.0)?,
            p99: at(99.0)?,
            max: *values.last()?,
        })
    }
}

/// A mean of independent runs and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; `None` from a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
}

impl Estimate {
    /// From one value a run, by Student's distribution. `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let ci95 = (values.len() > 1)
            .then(|| student_t(values.len() - 1) * (squares / (count - 1.0)).sqrt() / count.sqrt());
        Some(Self { mean, ci95 })
    }
}

/// The two-sided 95 % point of Student's distribution.
fn student_t(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157,
        2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922,
        2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831,
        2.048_407, 2.045_230, 2.042_272,
    ];
    if let Some(&point) = degrees_of_freedom.checked_sub(1).and_then(|index| TABLE.get(index)) {
        return point;
    }
    // Abramowitz and Stegun 26.7.5: an expansion about the normal distribution, exact to 1e-6 from here on.
    let (z, n) = (1.959_963_985_f64, degrees_of_freedom as f64);
    let (z3, z5) = (z * z * z, z * z * z * z * z);
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_rank() {
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        let at = |percent| percentile(&sorted, percent).unwrap();
        assert_eq!(
            [at(0.0), at(5.0), at(30.0), at(40.0), at(50.0), at(100.0)],
            [15.0, 15.0, 20.0, 20.0, 35.0, 50.0]
        );
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn distribution() {
        let mut values: Vec<_> = (1..=100).rev().map(f64::from).collect();
        let found = Distribution::of(&mut values).unwrap();
        assert_eq!(found, Distribution { mean: 50.5, p50: 50.0, p95: 95.0, p99: 99.0, max: 100.0 });
        assert_eq!(Distribution::of(&mut []), None);
    }

    #[test]
    fn interval_of_five_runs() {
        // s = sqrt(2.5), t(4) = 2.776445: 2.776445 * sqrt(2.5 / 5)
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.ci95.unwrap() - 1.963_243).abs() < 1e-5);
        assert_eq!(Estimate::of(&[7.0]), Some(Estimate { mean: 7.0, ci95: None }));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn student_points_of_the_tables() {
        for (degrees, point) in
            [(1, 12.706), (10, 2.228), (30, 2.042), (31, 2.0395), (60, 2.0003), (120, 1.9799)]
        {
            assert!((student_t(degrees) - point).abs() < 1e-3, "{degrees}: {}", student_t(degrees));
        }
    }

    proptest! {
        #[test]
        fn a_percentile_occurred(mut values in prop::collection::vec(-1e9_f64..1e9, 1..100), percent in 0.0_f64..100.0) {
            values.sort_unstable_by(f64::total_cmp);
            let found = percentile(&values, percent).unwrap();
            let below = values.iter().filter(|&&value| value <= found).count() as f64;
            prop_assert!(values.contains(&found) && below / values.len() as f64 * 100.0 >= percent - 1e-9);
        }
    }
}
