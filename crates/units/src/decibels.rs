//! Power ratios on a logarithmic scale.

use crate::text::{ParseError, Unit, parse_scaled};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// Ten times the decimal logarithm of a power ratio. Infinite where the ratio is.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Decibels(f64);

impl Decibels {
    /// A level in dB.
    pub const fn new(value: f64) -> Self {
        Self(value)
    }

    /// The level of a power ratio.
    pub fn from_ratio(ratio: f64) -> Self {
        Self(10.0 * libm::log10(ratio))
    }

    /// dB.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The power ratio.
    pub fn ratio(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
}

impl Add for Decibels {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Decibels {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

pub(crate) const EXPECTED: &str = "a level such as \"46.7 dB\"";

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        f.write_str(" dB")
    }
}

impl FromStr for Decibels {
    type Err = ParseError;
    /// Reads `"46.6777 dB"`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_scaled(text, EXPECTED, &[Unit("dB", 1.0)]).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_and_level() {
        assert_eq!(Decibels::from_ratio(100.0), Decibels::new(20.0));
        assert!((Decibels::new(3.0).ratio() - 1.995_262_314_968_879_6).abs() < 1e-15);
        assert_eq!("46.6777 dB".parse(), Ok(Decibels::new(46.6777)));
    }
}
