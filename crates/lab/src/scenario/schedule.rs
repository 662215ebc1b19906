//! On/off schedules of flows.

use crate::scenario::flow::{Flow, Start};
use seaway_link::RandomStream;
use seaway_units::{TimeDelta, Timestamp};

/// The spans in which a flow is on, in order, `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OnOffSchedule {
    spans: Vec<(Timestamp, Timestamp)>,
}

impl OnOffSchedule {
    /// The schedule of `flow`. A random start is drawn from the flow's own stream of the run's `seed`.
    pub(crate) fn new(flow: &Flow, seed: u64, duration: TimeDelta) -> Self {
        let instant = |span| Timestamp::ZERO + span;
        let start = match flow.start {
            Start::At(at) => instant(at),
            Start::Uniform(from, to) => {
                let mut stream = RandomStream::new(seed, &format!("{}/start", flow.name));
                instant(from + (to - from).mul_f64(stream.uniform()))
            }
        };
        let end = instant(flow.stop.unwrap_or(duration));
        let mut spans = Vec::new();
        let mut from = start;
        for &(silent, again) in &flow.pause {
            spans.push((from, instant(silent).min(end)));
            from = from.max(instant(again));
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
        let schedule = OnOffSchedule::new(&scenario.flows[0], 1, scenario.duration);
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
