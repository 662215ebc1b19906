//! Rates.

use crate::text::{ParseError, Unit, display_scaled, parse_scaled};
use crate::{DataSize, TimeDelta};
use std::fmt;
use std::ops::Div;
use std::str::FromStr;

/// A rate in bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

/// A closed range of rates, `min <= max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RateRange {
    /// Lowest rate of the range.
    pub min: Bitrate,
    /// Highest rate of the range.
    pub max: Bitrate,
}

impl RateRange {
    /// Every rate.
    pub const ALL: Self = Self { min: Bitrate::ZERO, max: Bitrate::MAX };

    /// From `min` to `max`, which is raised to `min` where it is lower.
    pub fn new(min: Bitrate, max: Bitrate) -> Self {
        Self { min, max: max.max(min) }
    }
}

impl Bitrate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);
    /// The highest rate that can be written; stands for "not limited by rate".
    pub const MAX: Self = Self(u64::MAX);

    /// A rate in bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate in thousands of bit/s.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps.saturating_mul(1_000))
    }

    /// A rate in millions of bit/s.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }

    /// A rate in bit/s, rounded to the nearest; below zero and not-a-number become zero.
    pub fn from_bps_f64(bps: f64) -> Self {
        Self(crate::round::to_u64(bps))
    }

    /// A rate in octets per second, as the TFRC family counts.
    pub fn from_bytes_per_second(rate: f64) -> Self {
        Self::from_bps_f64(rate * 8.0)
    }

    /// bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// bit/s.
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Octets per second.
    pub fn as_bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// How long `size` takes at this rate, rounded up to a nanosecond so that a pacer never runs fast.
    /// `None` at rate zero: it takes for ever.
    pub fn time_to_send(self, size: DataSize) -> Option<TimeDelta> {
        if self.0 == 0 {
            return None;
        }
        // Almost always it fits into 64 bits, where division is several times as fast.
        let nanos = match size.as_bytes().checked_mul(8_000_000_000) {
            Some(bit_nanos) => u128::from(bit_nanos.div_ceil(self.0)),
            None => (u128::from(size.as_bytes()) * 8_000_000_000).div_ceil(u128::from(self.0)),
        };
        Some(TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
    }

    /// How much this rate carries in `span`, rounded down to an octet; nothing in a negative span.
    pub fn size_in(self, span: TimeDelta) -> DataSize {
        let nanos = span.as_nanos().max(0) as u64;
        let bytes = match self.0.checked_mul(nanos) {
            Some(bit_nanos) => u128::from(bit_nanos / 8_000_000_000),
            None => u128::from(self.0) * u128::from(nanos) / 8_000_000_000,
        };
        DataSize::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// This rate times `factor`, rounded to the nearest bit/s.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_bps_f64(self.0 as f64 * factor)
    }

    /// This rate less `other`, not below zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

arithmetic!(Bitrate(u64));

impl Div<u64> for Bitrate {
    type Output = Self;
    /// Rounds down.
    ///
    /// # Panics
    /// Where `divisor` is zero.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

const UNITS: &[Unit] =
    &[Unit("bit/s", 1.0), Unit("kbit/s", 1e3), Unit("Mbit/s", 1e6), Unit("Gbit/s", 1e9), Unit("B/s", 8.0)];
pub(crate) const EXPECTED: &str = "a rate such as \"2.5 Mbit/s\"";

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [Unit("Gbit/s", 1e9), Unit("Mbit/s", 1e6), Unit("kbit/s", 1e3), Unit("bit/s", 1.0)];
        display_scaled(f, self.0 as f64, &units, "bit/s")
    }
}

impl FromStr for Bitrate {
    type Err = ParseError;
    /// Reads `"2.5 Mbit/s"`, `"150kbit/s"`; a negative rate is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bps = parse_scaled(text, EXPECTED, UNITS)?;
        if bps < 0.0 { Err(ParseError::negative(text, EXPECTED)) } else { Ok(Self::from_bps_f64(bps)) }
    }
}

impl RateRange {
    /// The rate of the range that is nearest to `rate`.
    pub fn clamp(self, rate: Bitrate) -> Bitrate {
        rate.max(self.min).min(self.max)
    }
}

impl fmt::Display for RateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}

impl FromStr for RateRange {
    type Err = ParseError;
    /// Reads `"0.3..6 Mbit/s"`, `"300 kbit/s..6 Mbit/s"`; a unit may be left out on the left only.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "a range of rates such as \"0.3..6 Mbit/s\"";
        let malformed = || ParseError::malformed(text, EXPECTED);
        let (low, high) = text.split_once("..").ok_or_else(malformed)?;
        let max: Bitrate = high.parse()?;
        let min = if low.trim().parse::<f64>().is_ok() {
            let unit = high.trim().trim_start_matches(|c: char| c.is_ascii_digit() || ".+eE ".contains(c));
            format!("{low} {unit}").parse()?
        } else {
            low.parse()?
        };
        if min <= max { Ok(Self { min, max }) } else { Err(malformed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_times_time_is_size() {
        let rate = Bitrate::from_mbps(1);
        assert_eq!(rate.time_to_send(DataSize::from_bytes(125)), Some(TimeDelta::from_millis(1)));
        assert_eq!(rate.size_in(TimeDelta::from_millis(1)), DataSize::from_bytes(125));
        assert_eq!(DataSize::from_bytes(125).over(TimeDelta::from_millis(1)), Some(rate));
        assert_eq!(Bitrate::ZERO.time_to_send(DataSize::from_bytes(1)), None);
        assert_eq!(rate.size_in(TimeDelta::from_millis(-1)), DataSize::ZERO);
        assert_eq!(Bitrate::MAX.size_in(TimeDelta::MAX), DataSize::from_bytes(u64::MAX));
    }

    #[test]
    fn time_to_send_rounds_up() {
        let third = Bitrate::from_bps(3).time_to_send(DataSize::from_bytes(1));
        assert_eq!(third, Some(TimeDelta::from_nanos(2_666_666_667)));
    }

    #[test]
    fn text_form() {
        assert_eq!("2.5 Mbit/s".parse(), Ok(Bitrate::from_kbps(2500)));
        assert_eq!("150kbit/s".parse(), Ok(Bitrate::from_kbps(150)));
        assert_eq!(Bitrate::from_kbps(2500).to_string(), "2.5 Mbit/s");
        assert_eq!(Bitrate::ZERO.to_string(), "0 bit/s");
        for wrong in ["", "2.5", "Mbit/s", "1 Mbps", "-1 bit/s", "nan bit/s", "inf bit/s", "1e400 bit/s"] {
            assert!(wrong.parse::<Bitrate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn range_text_form() {
        let range = RateRange { min: Bitrate::from_kbps(300), max: Bitrate::from_mbps(6) };
        for text in ["0.3..6Mbit/s", "0.3 .. 6 Mbit/s", "300 kbit/s..6 Mbit/s"] {
            assert_eq!(text.parse(), Ok(range), "{text}");
        }
        assert_eq!(range.to_string().parse(), Ok(range));
        for wrong in ["6..0.3 Mbit/s", "0.3 Mbit/s", "0.3 Mbit/s..6", ".."] {
            assert!(wrong.parse::<RateRange>().is_err(), "{wrong}");
        }
    }
}
