//! RTP media clocks (RFC 3550 section 5.1).

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

const NANOS: u64 = 1_000_000_000;

/// A stream's map from our clock to its media timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaClock {
    /// Ticks a second.
    pub rate: u32,
    /// The timestamp of the clock's origin; random, so that no two sessions agree (RFC 3550 section 5.1).
    pub offset: u32,
}

impl MediaClock {
    /// The media timestamp of an instant: the last tick at or before it.
    pub fn timestamp(self, at: Timestamp) -> u32 {
        self.offset.wrapping_add(ticks(at, self.rate) as u32)
    }
}

/// Whole ticks since the clock's origin.
pub(crate) fn ticks(at: Timestamp, rate: u32) -> u64 {
    let (seconds, nanos) = (at.as_nanos() / NANOS, at.as_nanos() % NANOS);
    seconds * u64::from(rate) + nanos * u64::from(rate) / NANOS
}

/// A signed span of media ticks as time, saturating.
pub(crate) fn ticks_to_span(ticks: i64, rate: u32) -> TimeDelta {
    let (rate, nanos) = (i64::from(rate), NANOS as i64);
    let whole = (ticks / rate).saturating_mul(nanos);
    TimeDelta::from_nanos(whole.saturating_add(ticks % rate * nanos / rate))
}

/// What a sender report says: this instant of the sender's clock has this media timestamp (RFC 3550 section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockMapping {
    pub(crate) at: RemoteTimestamp,
    pub(crate) timestamp: u32,
    /// Ticks a second.
    pub(crate) rate: u32,
}

impl ClockMapping {
    /// The instant of a media timestamp less than half a turn away: 6.6 hours at 90 kHz.
    pub(crate) fn instant_of(self, timestamp: u32) -> RemoteTimestamp {
        self.at + ticks_to_span(i64::from(timestamp.wrapping_sub(self.timestamp) as i32), self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_finds_the_capture_instant_to_a_tick() {
        for rate in [90_000, 48_000, 44_100, 8_000] {
            let clock = MediaClock { rate, offset: u32::MAX - 10 };
            let report = Timestamp::from_nanos(5_000_000_000);
            let at = RemoteTimestamp::from_nanos(report.as_nanos());
            let mapping = ClockMapping { at, timestamp: clock.timestamp(report), rate };
            for nanos in [0, 33_333_333, 4_999_999_999, 7_000_000_001] {
                let found = mapping.instant_of(clock.timestamp(Timestamp::from_nanos(nanos)));
                let error = found - RemoteTimestamp::from_nanos(nanos);
                assert!(error.abs() <= ticks_to_span(1, rate) + TimeDelta::from_nanos(2), "{nanos}: {error}");
            }
        }
        assert_eq!(ticks_to_span(90_000, 90_000), TimeDelta::from_secs(1));
        assert_eq!(ticks_to_span(-9, 90_000), TimeDelta::from_micros(-100));
    }
}
