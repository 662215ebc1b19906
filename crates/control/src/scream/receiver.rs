//! The receiving half, which only sets the feedback interval.

use super::config::Version;
use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use seaway_units::{TimeDelta, Timestamp};

/// Reports as often as SCReAM requires. Version 1: with the media rate, 2.5 to 50 a second. Version 2: at the end of
/// a frame, after more than 16 packets, and every 40 ms.
#[derive(Debug, Clone)]
pub struct ScreamFeedback {
    version: Version,
    last_report: Option<Timestamp>,
    interval: TimeDelta,
    packets: u32,
    bits: u64,
    due: Option<Timestamp>,
}

/// More packets than this are reported at once.
const PACKETS: u32 = 16;
const LONGEST: TimeDelta = TimeDelta::from_millis(40);
/// One report for so many bits (RFC 8298 section 4.2.1.1).
const BITS: f64 = 10_000.0;
const LEAST_RATE: f64 = 2.5;
const GREATEST_RATE: f64 = 50.0;

impl ScreamFeedback {
    /// For a sending half of that version.
    pub const fn new(version: Version) -> Self {
        Self { version, last_report: None, interval: LONGEST, packets: 0, bits: 0, due: None }
    }

    fn next_interval(&self, now: Timestamp) -> TimeDelta {
        let elapsed = self.last_report.map_or(0.0, |at| now.since(at).as_secs_f64());
        if self.version == Version::Two || elapsed <= 0.0 {
            return LONGEST;
        }
        let reports = (self.bits as f64 / elapsed / BITS).clamp(LEAST_RATE, GREATEST_RATE);
        TimeDelta::from_secs_f64(1.0 / reports)
    }
}

impl FeedbackSource for ScreamFeedback {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        // It is one connection; what else arrives is none of its own.
        if arrival.subflow != Subflow(0) {
            return;
        }
        self.packets = self.packets.saturating_add(1);
        self.bits = self.bits.saturating_add(arrival.size.as_bits());
        let at_once = self.version == Version::Two && (arrival.ends_frame || self.packets > PACKETS);
        let due = if at_once { now } else { self.last_report.unwrap_or(now) + self.interval };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn has_report(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)> {
        if !self.has_report(now) {
            return None;
        }
        self.interval = self.next_interval(now);
        self.last_report = Some(now);
        (self.due, self.packets, self.bits) = (None, 0, 0);
        Some((Subflow(0), PeerReport::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    fn reports(version: Version, packets: i64, gap: TimeDelta, ends_frame: bool) -> usize {
        let mut source = ScreamFeedback::new(version);
        let mut count = 0;
        for index in 0..packets {
            let now = Timestamp::ZERO + TimeDelta::from_secs(1) + gap * index;
            let arrival = Arrival {
                subflow: Subflow(0),
                sequence: index as u64,
                size: DataSize::from_bytes(1250),
                ecn: Ecn::NotEct,
                tag: None,
                sent: RemoteTimestamp::from_nanos(0),
                rtt: None,
                ends_frame,
            };
            source.on_arrival(now, &arrival);
            count += usize::from(source.poll_report(now).is_some());
        }
        count
    }

    #[test]
    fn pace() {
        let ms = TimeDelta::from_millis;
        assert_eq!(reports(Version::Two, 1700, TimeDelta::from_micros(10), false), 100, "17 packets each");
        assert_eq!(reports(Version::Two, 100, ms(100), true), 100);
        let slow = reports(Version::Two, 1000, ms(10), false);
        assert!((249..=251).contains(&slow), "{slow} in 10 s");
        // 100 kbit/s: 10 a second; 1 Mbit/s: 50.
        let slow = reports(Version::One, 100, ms(100), false);
        assert!((95..=101).contains(&slow), "{slow} in 10 s");
        let fast = reports(Version::One, 1000, ms(10), false);
        assert!((495..=505).contains(&fast), "{fast} in 10 s");
    }
}
