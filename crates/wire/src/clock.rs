//! Clocks as packets carry them: NTP format and wrapping microseconds.

use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};

/// A time in NTP format: seconds and 2^-32 of a second, 32 bits each (RFC 3550 section 4). The origin is the
/// sender's own; only times of one clock are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NtpTime(u64);

impl NtpTime {
    /// The 64 bits as they are sent.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits as they are sent.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// An instant of the local clock, counted from that clock's origin, modulo 2^32 s; rounded up to the next
    /// 2^-32 s, so that the way back loses nothing.
    pub const fn from_timestamp(at: Timestamp) -> Self {
        let nanos = at.as_nanos();
        let fraction = ((nanos % 1_000_000_000) << 32).div_ceil(1_000_000_000);
        Self(((nanos / 1_000_000_000) << 32) + fraction)
    }

    /// The same instant on the peer's clock, in whole nanoseconds from its origin.
    pub const fn to_remote(self) -> RemoteTimestamp {
        let nanos = ((self.0 & 0xFFFF_FFFF) * 1_000_000_000) >> 32;
        RemoteTimestamp::from_nanos((self.0 >> 32) * 1_000_000_000 + nanos)
    }

    /// The middle 32 bits.
    pub const fn short(self) -> NtpShort {
        NtpShort((self.0 >> 16) as u32)
    }
}

/// The middle 32 bits of an [`NtpTime`]: units of 2^-16 s, wraps after 18.2 hours. Also a span in that unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NtpShort(u32);

impl NtpShort {
    /// The 32 bits as they are sent.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The 32 bits as they are sent.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// A span, rounded down; 0 below zero and 65 536 s less 2^-16 s at most.
    pub fn from_span(span: TimeDelta) -> Self {
        let units = (i128::from(span.as_nanos()) << 16) / 1_000_000_000;
        Self(units.clamp(0, i128::from(u32::MAX)) as u32)
    }

    /// This value taken as a span.
    pub const fn to_span(self) -> TimeDelta {
        TimeDelta::from_nanos((self.0 as i64 * 1_000_000_000) >> 16)
    }

    /// Time passed since `earlier`, modulo 2^16 s; negative where `earlier` is less than half of that ahead.
    pub const fn since(self, earlier: Self) -> TimeDelta {
        let units = self.0.wrapping_sub(earlier.0) as i32;
        TimeDelta::from_nanos((units as i64 * 1_000_000_000) >> 16)
    }
}

/// The low 32 bits of a clock that counts microseconds: wraps after 4294.967 s (RFC 5348 section 3.2.1 leaves
/// unit and width to the protocol).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MicrosClock(u32);

impl MicrosClock {
    /// The 32 bits as they are sent.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The 32 bits as they are sent.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// An instant of the local clock, rounded down to a microsecond.
    pub const fn from_timestamp(at: Timestamp) -> Self {
        Self((at.as_nanos() / 1_000) as u32)
    }

    /// Time passed since `earlier`; negative where `earlier` is less than half a turn ahead.
    pub const fn since(self, earlier: Self) -> TimeDelta {
        TimeDelta::from_micros(self.0.wrapping_sub(earlier.0) as i32 as i64)
    }

    /// The instant of this clock that is nearest to `near`, in nanoseconds from the origin.
    pub fn unwrap_near(self, near: u64) -> u64 {
        let micros = near / 1_000;
        let ahead = i64::from(self.0.wrapping_sub(micros as u32) as i32);
        micros.saturating_add_signed(ahead).saturating_mul(1_000)
    }
}

/// A span in whole microseconds as 32 bits; 0 below zero, saturating.
pub(crate) fn span_micros(span: TimeDelta) -> u32 {
    u32::try_from(span.as_micros().max(0)).unwrap_or(u32::MAX)
}

/// A span that may be unknown: zero means unknown, a known one is at least a microsecond.
pub(crate) fn optional_micros(span: Option<TimeDelta>) -> u32 {
    span.map_or(0, |span| span_micros(span).max(1))
}

/// The way back of [`optional_micros`].
pub(crate) fn micros_or_unknown(bits: u32) -> Option<TimeDelta> {
    (bits != 0).then(|| TimeDelta::from_micros(i64::from(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntp_keeps_nanoseconds() {
        for nanos in [0, 1, 999_999_999, 1_000_000_000, 1_234_567_890_123_456_789] {
            let ntp = NtpTime::from_timestamp(Timestamp::from_nanos(nanos));
            assert_eq!(ntp.to_remote().as_nanos(), nanos);
        }
        assert_eq!(NtpTime::from_timestamp(Timestamp::from_nanos(1_500_000_000)).bits(), 0x1_8000_0000);
        assert_eq!(NtpTime::from_bits(0x1122_3344_5566_7788).short().bits(), 0x3344_5566);
        assert!(NtpTime::from_bits(u64::MAX).to_remote().as_nanos() < 4_294_967_296_000_000_000);
    }

    #[test]
    fn short_differences_wrap() {
        let late = NtpShort::from_bits(0x8000);
        let early = NtpShort::from_bits(0xFFFF_8000);
        assert_eq!(late.since(early), TimeDelta::from_secs(1));
        assert_eq!(early.since(late), TimeDelta::from_secs(-1));
        assert_eq!(NtpShort::from_span(TimeDelta::from_secs(5)).bits(), 0x5_0000);
        assert_eq!(NtpShort::from_span(TimeDelta::from_secs(-5)).bits(), 0);
        assert_eq!(NtpShort::from_span(TimeDelta::MAX).bits(), u32::MAX);
        assert_eq!(NtpShort::from_bits(0x5_4000).to_span(), TimeDelta::from_millis(5_250));
    }

    #[test]
    fn microseconds_wrap() {
        let turn = (1u64 << 32) * 1_000;
        let before = MicrosClock::from_timestamp(Timestamp::from_nanos(turn - 7_000));
        let after = MicrosClock::from_timestamp(Timestamp::from_nanos(turn + 3_999));
        assert_eq!(after.bits(), 3);
        assert_eq!(after.since(before), TimeDelta::from_micros(10));
        assert_eq!(before.since(after), TimeDelta::from_micros(-10));
        assert_eq!(before.unwrap_near(turn + 3_999), turn - 7_000);
        assert_eq!(after.unwrap_near(turn - 7_000), turn + 3_000);
        assert_eq!(before.unwrap_near(0), 0, "not before the origin");
    }
}
