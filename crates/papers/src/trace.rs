//! Time series of a flow or a link, and their statistics.

use crate::runner::Failure;
use seaway_lab::Outcome;
use seaway_report::summary::FlowSummary;

/// A quantity over time: seconds and values.
pub(crate) type Trace = Vec<(f64, f64)>;

/// The series of that name; empty where the run has none.
pub(crate) fn trace(outcome: &Outcome, subject: &str, name: &str) -> Trace {
    let readings =
        outcome.series.readings().filter(|reading| reading.flow == subject && reading.name == name);
    readings.map(|reading| (reading.at.as_secs_f64(), reading.value)).collect()
}

/// The values from `from` to `to`, seconds, the end left out.
pub(crate) fn between(trace: &[(f64, f64)], from: f64, to: f64) -> Vec<f64> {
    trace.iter().filter(|(time, _)| (from..to).contains(time)).map(|&(_, value)| value).collect()
}

/// Its means over spans of `width` seconds, each at its end.
pub(crate) fn binned(trace: &[(f64, f64)], width: f64) -> Trace {
    // A sample at the end of a span belongs to the time before.
    let bin = |time: f64| ((time - 1e-6) / width).floor();
    let bins = trace.chunk_by(|a, b| bin(a.0) == bin(b.0));
    bins.map(|part| ((bin(part[0].0) + 1.0) * width, mean_of(part.iter().map(|point| point.1)))).collect()
}

/// The same with its values multiplied.
pub(crate) fn scaled(trace: Trace, factor: f64) -> Trace {
    trace.into_iter().map(|(time, value)| (time, value * factor)).collect()
}

/// When the integral of a rate reaches `total`, in proportion within a reading; `None`: never.
pub(crate) fn time_of(rates: &[(f64, f64)], total: f64) -> Option<f64> {
    let (mut sum, mut last) = (0.0, 0.0);
    for &(time, rate) in rates {
        let piece = rate * (time - last);
        if sum + piece >= total {
            return Some(last + (time - last) * (total - sum) / piece);
        }
        (sum, last) = (sum + piece, time);
    }
    None
}

/// Arithmetic; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied())
}

fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Standard deviation of all of them.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    mean_of(values.iter().map(|value| (value - mean) * (value - mean))).sqrt()
}

/// Pearson's coefficient; NaN where one does not vary.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let covariance = mean_of(pairs.iter().map(|(a, b)| (a - mean_x) * (b - mean_y)));
    covariance / (deviation(&x) * deviation(&y))
}

/// Between how many neighbours `holds`.
pub(crate) fn pairs_that(values: &[f64], holds: impl Fn(f64, f64) -> bool) -> usize {
    values.windows(2).filter(|pair| holds(pair[0], pair[1])).count()
}

/// The flow of that name.
pub(crate) fn flow<'o>(outcome: &'o Outcome, name: &str) -> Result<&'o FlowSummary, Failure> {
    outcome.summary.flows.iter().find(|flow| flow.name == name).ok_or(Failure::Absent("flow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_integrals() {
        let rates: Trace = (1..=20).map(|tenth| (f64::from(tenth) / 10.0, f64::from(tenth))).collect();
        assert_eq!(binned(&rates, 1.0), [(1.0, 5.5), (2.0, 15.5)]);
        assert_eq!(between(&rates, 0.35, 0.55), [4.0, 5.0]);
        // 0.1 + 0.2 + 0.3 after three tenths; half of the fourth's 0.4 on top.
        assert!((time_of(&rates, 0.8).unwrap() - 0.35).abs() < 1e-9);
        assert_eq!(time_of(&rates, 22.0), None);
    }

    #[test]
    fn statistics() {
        assert_eq!(deviation(&[1.0, 3.0]), 1.0);
        assert!((correlation(&[(1.0, 4.0), (2.0, 2.0), (3.0, 0.0)]) + 1.0).abs() < 1e-12);
        assert_eq!(pairs_that(&[1.0, 2.0, 2.0], |a, b| b > a), 1);
    }
}
