//! Probabilities and ratios.

use std::fmt;

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// It never happens.
    pub const ZERO: Self = Self(0.0);
    /// It always happens.
    pub const ONE: Self = Self(1.0);

    /// `None` outside 0..=1 and for not-a-number.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The nearest probability; not-a-number becomes zero.
    pub fn clamped(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// `part` of `whole`, clamped; zero where `whole` is zero.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 { Self::ZERO } else { Self::clamped(part as f64 / whole as f64) }
    }

    /// The number, 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The probability of the contrary.
    pub fn complement(self) -> Self {
        Self(1.0 - self.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_inside_zero_and_one() {
        assert_eq!(Probability::new(1.1), None);
        assert_eq!(Probability::new(f64::NAN), None);
        assert_eq!(Probability::clamped(f64::NAN), Probability::ZERO);
        assert_eq!(Probability::clamped(7.0), Probability::ONE);
        assert_eq!(Probability::of(1, 4).get(), 0.25);
        assert_eq!(Probability::of(1, 0), Probability::ZERO);
    }
}
