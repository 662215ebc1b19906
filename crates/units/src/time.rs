//! Instants and spans, integer nanoseconds.

use crate::text::{ParseError, Unit, display_scaled, parse_scaled};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Neg, Sub};
use std::str::FromStr;

/// An instant on the local clock: nanoseconds since its origin, which lasts 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

/// An instant on the peer's clock. It can only be compared with another of the same clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RemoteTimestamp(u64);

/// Arrival on the peer's clock less departure on ours. The clocks have no common origin, so a single value
/// says nothing; the difference of two is a change of delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Transit(i64);

/// A signed span of time in nanoseconds. "Never" is `None`, not a value of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeDelta(i64);

impl Timestamp {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);

    /// The instant `nanos` after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero where `earlier` lies ahead.
    pub fn since(self, earlier: Self) -> TimeDelta {
        TimeDelta(i64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(i64::MAX))
    }
}

/// The earlier of two instants of which either may be absent.
#[inline]
pub fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl RemoteTimestamp {
    /// The instant `nanos` after the origin of the peer's clock.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin of the peer's clock.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Arrival at this instant of a packet that left at `departure` on our clock.
    pub fn transit_from(self, departure: Timestamp) -> Transit {
        Transit(signed_difference(self.0, departure.0))
    }
}

impl TimeDelta {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span that can be written, 292 years.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// A span of `secs` seconds, rounded to the nearest nanosecond; not-a-number becomes zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(crate::round::to_i64(secs * 1e9))
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole microseconds, rounded towards zero.
    pub const fn as_micros(self) -> i64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded towards zero.
    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000_000
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True below zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The span without its sign.
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// This span times `factor`, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(crate::round::to_i64(self.0 as f64 * factor))
    }

    /// This span as a multiple of `unit`; infinite or not-a-number where `unit` is zero.
    pub fn ratio(self, unit: Self) -> f64 {
        self.0 as f64 / unit.0 as f64
    }
}

/// Saturating, never the least of all. In the lower half of the range, where all clocks are, nothing can overflow.
#[inline]
fn signed_difference(a: u64, b: u64) -> i64 {
    let difference = a.wrapping_sub(b) as i64;
    if (a | b) >> 63 == 0 {
        return difference;
    }
    match (a >= b, difference >= 0) {
        (true, false) => i64::MAX,
        (false, true) => -i64::MAX,
        _ => difference.max(-i64::MAX),
    }
}

/// Saturating. In the lower half of the range, where all clocks are, one comparison excludes overflow.
#[inline]
fn shifted(instant: u64, span: i64) -> u64 {
    let sum = instant.wrapping_add_signed(span);
    if (instant | sum) >> 63 == 0 { sum } else { instant.saturating_add_signed(span) }
}

macro_rules! instant {
    ($name:ident) => {
        impl Add<TimeDelta> for $name {
            type Output = Self;
            fn add(self, span: TimeDelta) -> Self {
                Self(shifted(self.0, span.0))
            }
        }

        impl AddAssign<TimeDelta> for $name {
            fn add_assign(&mut self, span: TimeDelta) {
                *self = *self + span;
            }
        }

        impl Sub<TimeDelta> for $name {
            type Output = Self;
            fn sub(self, span: TimeDelta) -> Self {
                Self(shifted(self.0, span.0.saturating_neg()))
            }
        }

        impl Sub for $name {
            type Output = TimeDelta;
            fn sub(self, earlier: Self) -> TimeDelta {
                TimeDelta(signed_difference(self.0, earlier.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
            }
        }
    };
}

instant!(Timestamp);
instant!(RemoteTimestamp);

impl Add<TimeDelta> for Transit {
    type Output = Self;
    fn add(self, span: TimeDelta) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Transit {
    type Output = TimeDelta;
    fn sub(self, earlier: Self) -> TimeDelta {
        TimeDelta(self.0.saturating_sub(earlier.0))
    }
}

arithmetic!(TimeDelta(i64));

impl Neg for TimeDelta {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Div<i64> for TimeDelta {
    type Output = Self;
    /// Rounds towards zero.
    ///
    /// # Panics
    /// Where `divisor` is zero.
    fn div(self, divisor: i64) -> Self {
        Self(self.0.saturating_div(divisor))
    }
}

const UNITS: &[Unit] =
    &[Unit("s", 1e9), Unit("ms", 1e6), Unit("us", 1e3), Unit("µs", 1e3), Unit("ns", 1.0), Unit("min", 60e9)];

pub(crate) const EXPECTED: &str = "a time such as \"40 ms\"";

impl fmt::Display for TimeDelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [Unit("s", 1e9), Unit("ms", 1e6), Unit("µs", 1e3), Unit("ns", 1.0)];
        display_scaled(f, self.0 as f64, &units, "s")
    }
}

impl FromStr for TimeDelta {
    type Err = ParseError;
    /// Reads `"40 ms"`, `"1.5s"`, `"-5 us"`, `"2 min"`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_scaled(text, EXPECTED, UNITS).map(|nanos| Self(nanos.round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_spans_saturate() {
        let early = Timestamp::from_nanos(5);
        assert_eq!(early - TimeDelta::from_secs(1), Timestamp::ZERO);
        assert_eq!((early - Timestamp::from_nanos(9)).as_nanos(), -4);
        assert_eq!(early.since(Timestamp::from_nanos(9)), TimeDelta::ZERO);
        assert_eq!(Timestamp::from_nanos(u64::MAX) - Timestamp::ZERO, TimeDelta::MAX);
        assert_eq!(TimeDelta::MAX + TimeDelta::from_secs(1), TimeDelta::MAX);
        assert_eq!(TimeDelta::from_secs(i64::MAX), TimeDelta::MAX);
        assert_eq!(TimeDelta::from_secs_f64(f64::NAN), TimeDelta::ZERO);
    }

    #[test]
    fn transit_differences_ignore_the_clocks_origins() {
        let far = |nanos: u64| RemoteTimestamp::from_nanos(1_000_000_000_000 + nanos);
        let first = far(50).transit_from(Timestamp::from_nanos(10));
        let second = far(95).transit_from(Timestamp::from_nanos(40));
        assert_eq!((second - first).as_nanos(), 15);
    }

    #[test]
    fn text_form() {
        for (text, nanos) in [
            ("40 ms", 40_000_000),
            ("1.5s", 1_500_000_000),
            ("-5 us", -5_000),
            ("0 s", 0),
            ("2 min", 120_000_000_000),
        ] {
            assert_eq!(text.parse::<TimeDelta>().unwrap().as_nanos(), nanos, "{text}");
        }
        assert_eq!(TimeDelta::from_millis(40).to_string(), "40 ms");
        assert_eq!(TimeDelta::from_micros(1500).to_string(), "1.5 ms");
        assert_eq!(TimeDelta::ZERO.to_string(), "0 s");
        let error = "40".parse::<TimeDelta>().unwrap_err().to_string();
        assert_eq!(error, "\"40\" has no unit: expected a time such as \"40 ms\" (s, ms, us, µs, ns, min)");
    }
}
