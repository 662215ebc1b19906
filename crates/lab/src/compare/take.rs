//! A run as it is kept: its summary, and what was filmed of it.

use crate::run::Outcome;
use crate::series::Reading;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seaway_control::Decision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run. Its text form is what a cache keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Take {
    /// Its summary, without timing.
    pub summary: Value,
    /// What was filmed, in the first run of a controller.
    pub footage: Option<Footage>,
}

/// What was seen and read over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Footage {
    /// The film, MP4 in base64 (RFC 4648).
    pub film: String,
    /// Readings, one each 0.1 s.
    pub lines: Vec<Line>,
    /// Instant of capture (s), PSNR of what was on the screen (dB), whether it was the picture itself.
    pub psnr: Vec<(f64, f64, bool)>,
    /// Why the rate changed.
    pub causes: Vec<Cause>,
}

/// A reading over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The flow or link.
    pub of: String,
    /// What: `received_rate`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// At 0.1 s, 0.2 s and so on; absent where there was none.
    pub values: Vec<Option<f64>>,
}

/// Why a rate changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Seconds of the run.
    pub at: f64,
    /// In words.
    pub cause: String,
    /// What was looked at.
    pub signal: String,
    /// What it was; absent where it is no number.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// What it was held against; absent where that is no number.
    pub threshold: Option<f64>,
    /// bit/s.
    pub before: u64,
    /// bit/s.
    pub after: u64,
    /// What the controller calls its state.
    pub phase: String,
    /// So many smaller changes in the same tenth of a second.
    pub more: u32,
}

/// Readings of the watched flow that are kept, of all a run has.
const OF_FLOW: &[&str] =
    &["received_rate", "sent_rate", "target_rate", "lost", "rtt", "backlog", "buffer", "receiver_buffer"];
const OF_LINK: &[&str] = &["capacity", "queue"];

impl Take {
    /// Of a run in which the flow of that name was watched.
    pub fn of(outcome: &Outcome, flow: &str) -> Self {
        let summary = serde_json::to_value(&outcome.summary).unwrap_or_default();
        let footage = outcome.recording.as_ref().map(|film| {
            let decisions = outcome.decisions.iter().find(|(name, _)| name == flow);
            Footage {
                film: STANDARD.encode(&film.mp4),
                lines: lines(outcome, flow),
                psnr: film
                    .scores
                    .iter()
                    .map(|score| {
                        (rounded(score.at.as_secs_f64()), rounded(score.psnr.get()), score.displayed)
                    })
                    .collect(),
                causes: decisions.map(|(_, decisions)| causes(decisions)).unwrap_or_default(),
            }
        });
        Self { summary, footage }
    }
}

impl Footage {
    /// The reading of that name of the flow or link.
    pub(super) fn line(&self, of: &str, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.of == of && line.name == name)
    }

    /// The link with the least mean capacity: where the flows meet.
    pub(super) fn bottleneck(&self) -> Option<&str> {
        let mean = |line: &Line| {
            let known = || line.values.iter().flatten();
            known().sum::<f64>() / known().count().max(1) as f64
        };
        let capacities = self.lines.iter().filter(|line| line.name == "capacity");
        capacities.min_by(|a, b| mean(a).total_cmp(&mean(b))).map(|line| line.of.as_str())
    }
}

fn lines(outcome: &Outcome, flow: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for Reading { at, flow: of, name, value, unit } in outcome.series.readings() {
        let wanted = if of == flow { OF_FLOW } else { OF_LINK };
        if !wanted.contains(&name) {
            continue;
        }
        let index = (at.as_secs_f64() * 10.0).round() as usize;
        let known = lines.iter().position(|line| line.of == of && line.name == name);
        let place = known.unwrap_or_else(|| {
            let values = Vec::new();
            lines.push(Line { of: of.to_owned(), name: name.to_owned(), unit: unit.to_owned(), values });
            lines.len() - 1
        });
        let values = &mut lines[place].values;
        values.resize(index.max(1), None);
        values[index.max(1) - 1] = Some(rounded(value));
    }
    lines
}

/// The largest change of each tenth of a second.
fn causes(decisions: &[Decision]) -> Vec<Cause> {
    let change = |before: u64, after: u64| (after as f64 - before as f64).abs() / before.max(1) as f64;
    let mut causes: Vec<Cause> = Vec::new();
    for decision in decisions {
        let cause = cause(decision);
        let tenth = |cause: &Cause| (cause.at * 10.0).floor();
        match causes.last_mut().filter(|last| tenth(last) == tenth(&cause)) {
            Some(last) if change(last.before, last.after) >= change(cause.before, cause.after) => {
                last.more += 1;
            }
            Some(last) => *last = Cause { more: last.more + 1, ..cause },
            None => causes.push(cause),
        }
    }
    causes
}

fn cause(decision: &Decision) -> Cause {
    let finite = |value: f64| value.is_finite().then(|| rounded(value));
    Cause {
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

/// To five digits: more would only be octets on the page.
fn rounded(value: f64) -> f64 {
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
        let found = causes(&decisions);
        let brief: Vec<_> = found.iter().map(|cause| (cause.at, cause.after, cause.more)).collect();
        assert_eq!(brief, [(0.13, 55_000, 2), (0.2, 50_000, 0)]);
        assert_eq!(found[0].threshold, None);
    }
}
