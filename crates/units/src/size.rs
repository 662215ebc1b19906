//! Amounts of data.

use crate::text::{ParseError, Unit, display_scaled, parse_scaled};
use crate::{Bitrate, TimeDelta};
use std::fmt;
use std::str::FromStr;

/// An amount of data in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DataSize(u64);

impl DataSize {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest amount that can be written; stands for "not limited".
    pub const MAX: Self = Self(u64::MAX);

    /// An amount in octets.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The size of something in memory.
    pub const fn of(bytes: &[u8]) -> Self {
        Self(bytes.len() as u64)
    }

    /// Octets.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Octets.
    pub fn as_bytes_f64(self) -> f64 {
        self.0 as f64
    }

    /// Bits, saturating.
    pub const fn as_bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// The rate that carries this amount in `span`, rounded to the nearest bit/s. `None` unless `span` is
    /// above zero.
    pub fn over(self, span: TimeDelta) -> Option<Bitrate> {
        let nanos = u64::try_from(span.as_nanos()).ok().filter(|&nanos| nanos > 0)?;
        // Almost always it fits into 64 bits, where division is several times as fast.
        let bit_nanos = self.0.checked_mul(8_000_000_000).and_then(|bits| bits.checked_add(nanos / 2));
        let bps = match bit_nanos {
            Some(bit_nanos) => u128::from(bit_nanos / nanos),
            None => (u128::from(self.0) * 8_000_000_000 + u128::from(nanos / 2)) / u128::from(nanos),
        };
        Some(Bitrate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    }

    /// This amount less `other`, not below zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// True for nothing at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

arithmetic!(DataSize(u64));

const UNITS: &[Unit] = &[Unit("B", 1.0), Unit("kB", 1e3), Unit("MB", 1e6), Unit("GB", 1e9)];
pub(crate) const EXPECTED: &str = "a size such as \"1000 B\"";

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0)];
        display_scaled(f, self.0 as f64, &units, "B")
    }
}

impl FromStr for DataSize {
    type Err = ParseError;
    /// Reads `"1000 B"`, `"50 kB"`; a fraction of an octet and a negative size are refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = parse_scaled(text, EXPECTED, UNITS)?;
        if bytes < 0.0 {
            Err(ParseError::negative(text, EXPECTED))
        } else if (bytes - bytes.round()).abs() > 1e-6 {
            Err(ParseError::malformed(text, EXPECTED))
        } else {
            Ok(Self(bytes.round() as u64))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_needs_time() {
        assert_eq!(DataSize::from_bytes(1).over(TimeDelta::ZERO), None);
        assert_eq!(DataSize::from_bytes(1).over(TimeDelta::from_secs(-1)), None);
        assert_eq!(DataSize::from_bytes(1).over(TimeDelta::from_secs(3)), Some(Bitrate::from_bps(3)));
    }

    #[test]
    fn text_form() {
        assert_eq!("1000 B".parse(), Ok(DataSize::from_bytes(1000)));
        assert_eq!("1.5 kB".parse(), Ok(DataSize::from_bytes(1500)));
        assert_eq!(DataSize::from_bytes(1500).to_string(), "1.5 kB");
        assert_eq!(DataSize::ZERO.to_string(), "0 B");
        for wrong in ["1000", "0.5 B", "-1 B", "1 KiB"] {
            assert!(wrong.parse::<DataSize>().is_err(), "{wrong}");
        }
    }
}
