//! On/off schedules of flows.

use seaway_link::RandomStream;
use seaway_units::{TimeDelta, Timestamp};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// The spans in which a flow is on, in order, `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OnOffSchedule {
    spans: Vec<(Timestamp, Timestamp)>,
}

impl OnOffSchedule {
    /// On from `start` to `end`, but for the pauses, `[from, to)`, in order.
    pub(crate) fn new(start: Timestamp, end: Timestamp, pauses: &[(TimeDelta, TimeDelta)]) -> Self {
        let mut spans = Vec::new();
        let mut from = start;
        for &(silent, again) in pauses {
            spans.push((from, (Timestamp::ZERO + silent).min(end)));
            from = from.max(Timestamp::ZERO + again);
        }
        spans.push((from, end));
        spans.retain(|(from, to)| from < to);
        Self { spans }
    }

    /// The first instant at or after `now` at which the flow is on.
    pub(crate) fn next_on(&self, now: Timestamp) -> Option<Timestamp> {
        self.spans.iter().find(|(_, to)| now < *to).map(|&(from, _)| from.max(now))
    }

    /// Whether the flow is on at `now`.
    pub(crate) fn is_on(&self, now: Timestamp) -> bool {
        self.next_on(now) == Some(now)
    }

    /// The next instant after `now` at which it changes.
    pub(crate) fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        self.spans.iter().flat_map(|&(from, to)| [from, to]).find(|&at| at > now)
    }

    /// From the first instant it is on to the last.
    pub(crate) fn extent(&self) -> (Timestamp, Timestamp) {
        let first = self.spans.first().map_or(Timestamp::ZERO, |span| span.0);
        (first, self.spans.last().map_or(first, |span| span.1))
    }
}

/// When a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At an instant of the run.
    At(TimeDelta),
    /// Drawn uniformly, from the flow's own stream of random numbers.
    Uniform(TimeDelta, TimeDelta),
}

impl Start {
    /// The instant in a run; `stream` has the random numbers of one that is drawn.
    pub(crate) fn instant(self, stream: impl FnOnce() -> RandomStream) -> Timestamp {
        let span = match self {
            Self::At(at) => at,
            Self::Uniform(from, to) => from + (to - from).mul_f64(stream().uniform()),
        };
        Timestamp::ZERO + span
    }

    /// The earliest it can be.
    pub const fn earliest(self) -> TimeDelta {
        match self {
            Self::At(at) | Self::Uniform(at, _) => at,
        }
    }

    /// The latest it can be.
    pub const fn latest(self) -> TimeDelta {
        match self {
            Self::At(at) | Self::Uniform(_, at) => at,
        }
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StartVisitor;
        impl<'de> Visitor<'de> for StartVisitor {
            type Value = Start;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"5 s\", or { uniform = [\"0 s\", \"5 s\"] }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Start, E> {
                text.parse().map(Start::At).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Start, A::Error> {
                match map.next_key::<String>()?.as_deref() {
                    Some("uniform") => {
                        let (from, to) = map.next_value()?;
                        Ok(Start::Uniform(from, to))
                    }
                    Some(other) => Err(A::Error::unknown_field(other, &["uniform"])),
                    None => Err(A::Error::missing_field("uniform")),
                }
            }
        }
        deserializer.deserialize_any(StartVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scenario, Text};

    #[test]
    fn pauses_cut_the_flow() {
        let text = r#"
            schema = 1
            name = "t"
            duration = "10 s"
            link = [{ name = "l", from = "a", to = "b", both = true, rate = "1 Mbit/s", queue = { kind = "drop-tail", packets = 9 } }]
            flow = [{ kind = "udp", from = "a", to = "b", rate = "1 kbit/s", start = "1 s", stop = "9 s", pause = [["2 s", "3 s"], ["8 s", "12 s"]] }]
        "#;
        let scenario = Scenario::parse(Text::alone("t", text), &[]).unwrap();
        let schedule = scenario.flows[0].schedule(1, scenario.duration);
        let at = |secs: u64| Timestamp::from_nanos(secs * 1_000_000_000);
        assert_eq!(schedule.spans, [(at(1), at(2)), (at(3), at(8))]);
        assert_eq!(schedule.next_on(at(2)), Some(at(3)));
        assert_eq!(schedule.next_on(at(4)), Some(at(4)));
        assert_eq!(schedule.next_on(at(8)), None);
        assert!(schedule.is_on(at(1)) && !schedule.is_on(at(2)));
        assert_eq!(schedule.next_change(at(1)), Some(at(2)));
        assert_eq!(schedule.extent(), (at(1), at(8)));
    }
}
