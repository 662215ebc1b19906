//! Time series and rate changes of a flow, as pages show them: a value each 0.1 s, five significant digits.

use crate::run::Outcome;
use crate::series::Reading;
use seaway_control::Decision;
use serde::{Deserialize, Serialize};

/// The time series of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The flow or link.
    pub of: String,
    /// The quantity: `received_rate`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// At 0.1 s, 0.2 s and so on; absent where it has no value.
    pub values: Vec<Option<f64>>,
}

/// A rate change and its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateChange {
    /// Seconds of the run.
    pub at: f64,
    /// In words.
    pub cause: String,
    /// The signal that caused it.
    pub signal: String,
    /// The signal's value; absent where it is not finite.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// The threshold it was compared with; absent where it is not finite.
    pub threshold: Option<f64>,
    /// bit/s.
    pub before: u64,
    /// bit/s.
    pub after: u64,
    /// The controller's phase.
    pub phase: String,
    /// The number of smaller changes in the same tenth of a second.
    pub more: u32,
}

/// The series of the flow that are kept.
const OF_FLOW: &[&str] =
    &["received_rate", "sent_rate", "target_rate", "lost", "rtt", "backlog", "buffer", "receiver_buffer"];
/// The series of links that are kept.
const OF_LINK: &[&str] = &["capacity", "queue"];

/// The series of the flow of that name and of all links, as far as pages show them.
pub fn traces(outcome: &Outcome, flow: &str) -> Vec<Trace> {
    let mut traces: Vec<Trace> = Vec::new();
    for Reading { at, flow: of, name, value, unit } in outcome.series.readings() {
        let wanted = if of == flow { OF_FLOW } else { OF_LINK };
        if !wanted.contains(&name) {
            continue;
        }
        let index = (at.as_secs_f64() * 10.0).round() as usize;
        let known = traces.iter().position(|trace| trace.of == of && trace.name == name);
        let place = known.unwrap_or_else(|| {
            let values = Vec::new();
            traces.push(Trace { of: of.to_owned(), name: name.to_owned(), unit: unit.to_owned(), values });
            traces.len() - 1
        });
        let values = &mut traces[place].values;
        values.resize(index.max(1), None);
        values[index.max(1) - 1] = Some(rounded(value));
    }
    traces
}

/// The link with the lowest mean capacity.
pub fn bottleneck(traces: &[Trace]) -> Option<&str> {
    let mean = |trace: &Trace| {
        let known = || trace.values.iter().flatten();
        known().sum::<f64>() / known().count().max(1) as f64
    };
    let capacities = traces.iter().filter(|trace| trace.name == "capacity");
    capacities.min_by(|a, b| mean(a).total_cmp(&mean(b))).map(|trace| trace.of.as_str())
}

/// The largest change of each tenth of a second.
pub fn rate_changes(decisions: &[Decision]) -> Vec<RateChange> {
    let extent = |before: u64, after: u64| (after as f64 - before as f64).abs() / before.max(1) as f64;
    let mut changes: Vec<RateChange> = Vec::new();
    for decision in decisions {
        let change = rate_change(decision);
        let tenth = |change: &RateChange| (change.at * 10.0).floor();
        match changes.last_mut().filter(|last| tenth(last) == tenth(&change)) {
            Some(last) if extent(last.before, last.after) >= extent(change.before, change.after) => {
                last.more += 1;
            }
            Some(last) => *last = RateChange { more: last.more + 1, ..change },
            None => changes.push(change),
        }
    }
    changes
}

fn rate_change(decision: &Decision) -> RateChange {
    let finite = |value: f64| value.is_finite().then(|| rounded(value));
    RateChange {
        at: (decision.at.as_secs_f64() * 1e3).round() / 1e3,
        cause: decision.cause.to_owned(),
        signal: decision.signal.name.to_owned(),
        value: finite(decision.signal.value),
        unit: decision.signal.unit.to_owned(),
        threshold: finite(decision.threshold),
        before: decision.before.as_bps(),
        after: decision.after.as_bps(),
        phase: decision.phase.to_owned(),
        more: 0,
    }
}

/// Rounds to five significant digits, which keeps the page small.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let places = 4.0 - libm::floor(libm::log10(value.abs()));
    let scale = libm::pow(10.0, places.clamp(-300.0, 300.0));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::Gauge;
    use seaway_units::{Bitrate, TimeDelta, Timestamp};

    #[test]
    fn five_digits() {
        let pairs =
            [(1_234_567.0, 1_234_600.0), (0.001_234_56, 0.001_234_6), (-41.123_456, -41.123), (0.0, 0.0)];
        for (value, expected) in pairs {
            assert!(
                (rounded(value) - expected).abs() <= 1e-12 * expected.abs(),
                "{value} {}",
                rounded(value)
            );
        }
    }

    #[test]
    fn the_largest_change_of_a_tenth_is_kept() {
        let decision = |millis, before, after| Decision {
            at: Timestamp::ZERO + TimeDelta::from_millis(millis),
            cause: "loss event",
            signal: Gauge::new("p", 0.1, ""),
            threshold: f64::INFINITY,
            before: Bitrate::from_kbps(before),
            after: Bitrate::from_kbps(after),
            phase: "steady",
        };
        let decisions =
            [decision(110, 100, 110), decision(130, 110, 55), decision(199, 55, 54), decision(200, 54, 50)];
        let found = rate_changes(&decisions);
        let brief: Vec<_> = found.iter().map(|cause| (cause.at, cause.after, cause.more)).collect();
        assert_eq!(brief, [(0.13, 55_000, 2), (0.2, 50_000, 0)]);
        assert_eq!(found[0].threshold, None);
    }
}
