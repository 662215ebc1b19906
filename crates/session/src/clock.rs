//! The 90 kHz clock of video timestamps (RFC 3550 section 5.1).

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// Ticks of 1/90 000 s in 100 microseconds.
const TICKS_PER_100_MICROS: u64 = 9;
const NANOS_PER_100_MICROS: u64 = 100_000;

/// A sender's map from its clock to media timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaClock {
    /// The timestamp of the clock's origin; random, so that no two sessions agree (RFC 3550 section 5.1).
    pub(crate) offset: u32,
}

impl MediaClock {
    /// The media timestamp of an instant: the last tick at or before it.
    pub fn timestamp(self, at: Timestamp) -> u32 {
        self.offset.wrapping_add(ticks(at) as u32)
    }
}

/// The earlier of two instants of which either may be absent.
#[inline]
pub(crate) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Whole ticks since the clock's origin.
pub(crate) fn ticks(at: Timestamp) -> u64 {
    let (whole, rest) = (at.as_nanos() / NANOS_PER_100_MICROS, at.as_nanos() % NANOS_PER_100_MICROS);
    whole * TICKS_PER_100_MICROS + rest * TICKS_PER_100_MICROS / NANOS_PER_100_MICROS
}

/// A signed span of media ticks as time, saturating.
pub(crate) fn ticks_to_span(ticks: i64) -> TimeDelta {
    let scaled = ticks.saturating_mul(NANOS_PER_100_MICROS as i64);
    TimeDelta::from_nanos(scaled / TICKS_PER_100_MICROS as i64)
}

/// What a sender report says: this instant has this media timestamp (RFC 3550 section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockMapping {
    pub(crate) at: RemoteTimestamp,
    pub(crate) timestamp: u32,
}

impl ClockMapping {
    /// The instant of a media timestamp less than half a turn away, 6.6 hours.
    pub(crate) fn instant_of(self, timestamp: u32) -> RemoteTimestamp {
        self.at + ticks_to_span(i64::from(timestamp.wrapping_sub(self.timestamp) as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_finds_the_capture_instant_to_a_tick() {
        let clock = MediaClock { offset: u32::MAX - 10 };
        let report = Timestamp::from_nanos(5_000_000_000);
        let mapping = ClockMapping {
            at: RemoteTimestamp::from_nanos(report.as_nanos()),
            timestamp: clock.timestamp(report),
        };
        for nanos in [0, 33_333_333, 4_999_999_999, 7_000_000_001] {
            let found = mapping.instant_of(clock.timestamp(Timestamp::from_nanos(nanos)));
            let error = found - RemoteTimestamp::from_nanos(nanos);
            assert!(error.abs() < TimeDelta::from_micros(12), "{nanos}: {error}");
        }
        assert_eq!(ticks_to_span(90_000), TimeDelta::from_secs(1));
        assert_eq!(ticks_to_span(-9), TimeDelta::from_micros(-100));
    }
}
